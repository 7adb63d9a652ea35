//! Entry types of a story's memory, and the ids that people and models refer to them by.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::named_enum::named_enum;

named_enum! {
    /// A kind of entry. Its name is also the kind of its records.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum EntryKind {
        Character = "character",
        Location = "location",
        Relationship = "relationship",
        Scene = "scene",
        Loop = "loop",
        Lore = "lore",
        Fact = "fact",
    }
}

impl EntryKind {
    /// Returns the directory of its files, below `memory/`.
    #[must_use]
    pub fn folder_name(self) -> &'static str {
        match self {
            Self::Character => "characters",
            Self::Location => "locations",
            Self::Relationship => "relationships",
            Self::Scene => "scenes",
            Self::Loop => "loops",
            Self::Lore => "lore",
            Self::Fact => "facts",
        }
    }

    /// Returns the letters that its ids start with.
    #[must_use]
    pub fn id_prefix(self) -> &'static str {
        match self {
            Self::Character => "C",
            Self::Location => "L",
            Self::Relationship => "R",
            Self::Scene => "S",
            // Two letters, because L is a location. `parse_id` compares the whole prefix.
            Self::Loop => "OL",
            // W for world; L is taken.
            Self::Lore => "W",
            Self::Fact => "F",
        }
    }

    /// Returns the id with this number. Scenes count from 1 and are written with three digits, the
    /// rest from 0.
    #[must_use]
    pub fn format_id(self, number: u32) -> String {
        match self {
            // Padded, so that a directory lists the scenes in order.
            Self::Scene => format!("S{number:03}"),
            _ => format!("{}{number}", self.id_prefix()),
        }
    }

    /// Returns the number of the first entry.
    #[must_use]
    pub fn first_number(self) -> u32 {
        u32::from(self == Self::Scene)
    }

    /// Parses an id, ignoring case and leading zeros: `c0`, `C000`, `s1`. Models write all of
    /// these.
    #[must_use]
    pub fn parse_id(id: &str) -> Option<(Self, u32)> {
        let id = id.trim();
        let at = id.find(|c: char| c.is_ascii_digit())?;
        let (prefix, digits) = id.split_at_checked(at)?;
        let kind = Self::ALL
            .into_iter()
            .find(|kind| kind.id_prefix().eq_ignore_ascii_case(prefix))?;
        // Nine digits always fit a `u32`; leading zeros beyond that are not an id anyone writes.
        if digits.len() > 9 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some((kind, digits.parse().ok()?))
    }

    /// Parses a kind's name, singular or plural: `character`, `characters`.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let word = word.trim().to_lowercase();
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == word || kind.folder_name() == word)
    }
}

/// Replaces the ids of entries in a text by what `name_of` returns; an id without a name stays.
#[must_use]
pub fn name_ids_in(
    text: &str,
    mut name_of: impl FnMut(EntryKind, &str) -> Option<String>,
) -> String {
    let mut named = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        // As ids are written in records; `c0` in prose is a word.
        let name = EntryKind::parse_id(word)
            .filter(|(kind, number)| kind.format_id(*number) == word)
            .and_then(|(kind, _)| name_of(kind, word));
        match name {
            Some(name) => {
                named.push_str(&name);
                named.push_str(piece.strip_prefix(word).unwrap_or_default());
            }
            None => named.push_str(piece),
        }
    }
    named
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Declares an entry type: exactly these fields in its record and file, plus `id` and `text`.
macro_rules! entry {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident : $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        // People edit these files: a misspelled field is an error, not a silently lost value. A
        // missing one has its default, so that files stay short.
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            pub id: String,
            $($(#[$field_doc])* #[serde(skip_serializing_if = "is_empty")] pub $field: $type,)+
            /// Prose for people: the body of its file.
            #[serde(skip_serializing_if = "is_empty")]
            pub text: String,
        }
    };
}

entry! {
    /// A character of the story.
    Character {
        name: String,
        /// Other names, by which plans may call them.
        aliases: Vec<String>,
        role: String,
        traits: Vec<String>,
        goals: Vec<String>,
        emotional_state: Option<String>,
        /// Id of their current location.
        location: Option<String>,
        /// Facts they have witnessed.
        knows: Vec<String>,
        created_tick: u64,
        /// The first scene that names them, if nobody but its text introduced them.
        read_in: Option<String>,
    }
}

entry! {
    /// A place of the story.
    Location {
        name: String,
        /// Other names, by which plans may call it.
        aliases: Vec<String>,
        atmosphere: String,
        features: Vec<String>,
        created_tick: u64,
        /// The first scene that names it, if nobody but its text introduced it.
        read_in: Option<String>,
    }
}

entry! {
    /// A relationship of two characters, with each one's view of the other.
    Relationship {
        character_a: String,
        character_b: String,
        relationship_type: String,
        /// `close`, `strained`, `broken` …
        status: String,
        /// From 0 to 10.
        intensity: u8,
        perspective_a: String,
        perspective_b: String,
        history: Vec<RelationshipEvent>,
    }
}

entry! {
    /// A written scene. Plans and drafts are not scenes.
    Scene {
        title: String,
        tick: u64,
        /// The node it was written from.
        node: Option<String>,
        pov: Option<String>,
        location: Option<String>,
        characters: Vec<String>,
        /// What happens, the most important first.
        summary: Vec<String>,
        words: u64,
    }
}

entry! {
    /// Something the reader waits for, described by its text.
    OpenLoop {
        importance: Importance,
        category: String,
        status: LoopStatus,
        created_in_scene: Option<String>,
        /// Quote of the scene that opened it, if it was read there.
        quote: Option<String>,
        created_tick: u64,
        /// The tick by which it should be paid off.
        due_tick: Option<u64>,
        closed_in_scene: Option<String>,
        /// The scene whose text advanced or resolved it.
        moved_in_scene: Option<String>,
        /// Why it was closed.
        reason: Option<String>,
        /// Quote of the scene that shows it.
        evidence: Option<String>,
    }
}

entry! {
    /// A rule or a part of the story's world.
    Lore { name: String, category: String }
}

entry! {
    /// A statement that is true from one scene to another.
    StoryFact {
        subject: String,
        predicate: String,
        object: String,
        valid_from: Option<String>,
        valid_to: Option<String>,
        truth: Truth,
        /// Quote of the scene it was extracted from.
        quote: Option<String>,
        /// Hash of the text that was read.
        version: Option<String>,
    }
}

/// One event in a relationship's history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RelationshipEvent {
    pub tick: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<String>,
    pub event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intensity: Option<u8>,
}

named_enum! {
    /// How much an open loop matters.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Importance {
        Low = "low",
        #[default]
        Medium = "medium",
        High = "high",
        Critical = "critical",
    }
}

named_enum! {
    /// Status of an open loop.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum LoopStatus {
        #[default]
        Open = "open",
        /// A scene advanced it without resolving it.
        Advanced = "advanced",
        Resolved = "resolved",
        Abandoned = "abandoned",
        /// Its due tick passed.
        Expired = "expired",
    }
}

impl LoopStatus {
    /// Whether the reader still waits for it.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Advanced)
    }
}

impl OpenLoop {
    /// Returns the loop without what scenes did to it.
    #[must_use]
    pub fn without_moves(self) -> Self {
        Self {
            status: LoopStatus::Open,
            closed_in_scene: None,
            moved_in_scene: None,
            reason: None,
            evidence: None,
            ..self
        }
    }
}

/// Whether a fact is canon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truth {
    #[default]
    Canon,
    /// Another fact contradicts it: kept, but not used in prompts.
    Disputed,
    /// It contradicts another fact, and a person meant it so: both hold.
    Intended,
}

/// A field whose empty value is omitted from records and files.
trait Empty {
    fn holds_nothing(&self) -> bool;
}

fn is_empty<T: Empty>(value: &T) -> bool {
    value.holds_nothing()
}

impl Empty for String {
    fn holds_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<T> Empty for Vec<T> {
    fn holds_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<T> Empty for Option<T> {
    fn holds_nothing(&self) -> bool {
        self.is_none()
    }
}

macro_rules! always_written {
    ($($type:ty),+) => { $(impl Empty for $type { fn holds_nothing(&self) -> bool { false } })+ };
}
// Zero and the default variants are values, not absences: a reader of a file sees that an intensity
// is 0 instead of guessing.
always_written!(u64, u8, Importance, LoopStatus, Truth);

/// Any entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Character(Character),
    Location(Location),
    Relationship(Relationship),
    Scene(Scene),
    Loop(OpenLoop),
    Lore(Lore),
    Fact(StoryFact),
}

/// Evaluates an expression with the inner struct of any entry.
macro_rules! each {
    ($entry:expr, $it:ident => $value:expr) => {
        match $entry {
            Entry::Character($it) => $value,
            Entry::Location($it) => $value,
            Entry::Relationship($it) => $value,
            Entry::Scene($it) => $value,
            Entry::Loop($it) => $value,
            Entry::Lore($it) => $value,
            Entry::Fact($it) => $value,
        }
    };
}

/// Why a value is not a valid entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEntry {
    #[error("`{0}` is not a memory id: expected one like C0, L0, R0, S001, OL0, W0 or F0")]
    Id(String),
    #[error("{0}")]
    Shape(String),
    #[error("a {kind} needs {what}")]
    Lacks { kind: EntryKind, what: &'static str },
    #[error("{id}: intensity is {found}, expected 0 to 10")]
    Intensity { id: String, found: u8 },
}

/// Returns why a value is not an entry. Serde lists the known fields of an unknown one; the nearest is added for
/// people who mistyped.
fn shape_error(error: serde_json::Error) -> InvalidEntry {
    InvalidEntry::Shape(crate::suggest::with_suggestion(&error.to_string()))
}

impl Entry {
    /// Parses and validates an entry of a kind from its record.
    ///
    /// # Errors
    /// When the value has another shape or lacks a required field.
    pub fn from_value(kind: EntryKind, value: Value) -> Result<Self, InvalidEntry> {
        let entry = Self::deserialize_as(kind, value);
        entry.map_err(shape_error)?.validate_fields()
    }

    /// As [`Self::from_value`], for a record's JSON text. Without a tree of values in between it takes half
    /// the time, which counts when a whole memory is loaded.
    ///
    /// # Errors
    /// As [`Self::from_value`], and when the text is not JSON.
    pub fn from_json(kind: EntryKind, text: &str) -> Result<Self, InvalidEntry> {
        let mut json = serde_json::Deserializer::from_str(text);
        let entry = Self::deserialize_as(kind, &mut json);
        let entry = entry.and_then(|entry| json.end().map(|()| entry));
        entry.map_err(shape_error)?.validate_fields()
    }

    fn deserialize_as<'de, D: Deserializer<'de>>(
        kind: EntryKind,
        from: D,
    ) -> Result<Self, D::Error> {
        Ok(match kind {
            EntryKind::Character => Self::Character(Deserialize::deserialize(from)?),
            EntryKind::Location => Self::Location(Deserialize::deserialize(from)?),
            EntryKind::Relationship => Self::Relationship(Deserialize::deserialize(from)?),
            EntryKind::Scene => Self::Scene(Deserialize::deserialize(from)?),
            EntryKind::Loop => Self::Loop(Deserialize::deserialize(from)?),
            EntryKind::Lore => Self::Lore(Deserialize::deserialize(from)?),
            EntryKind::Fact => Self::Fact(Deserialize::deserialize(from)?),
        })
    }

    /// Validates what the types cannot express.
    fn validate_fields(self) -> Result<Self, InvalidEntry> {
        // Fields are optional for serde, so that files stay short; the few that an entry is useless
        // without are required here.
        let lacks = |what| {
            Err(InvalidEntry::Lacks {
                kind: self.kind(),
                what,
            })
        };
        match &self {
            Self::Character(it) if it.name.trim().is_empty() => lacks("a name"),
            Self::Location(it) if it.name.trim().is_empty() => lacks("a name"),
            Self::Lore(it) if it.name.trim().is_empty() => lacks("a name"),
            Self::Loop(it) if it.text.trim().is_empty() => {
                lacks("a text that describes what is open")
            }
            Self::Fact(it) if it.subject.trim().is_empty() || it.predicate.trim().is_empty() => {
                lacks("a subject and a predicate")
            }
            Self::Relationship(it) if it.character_a.is_empty() || it.character_b.is_empty() => {
                lacks("`character_a` and `character_b`")
            }
            Self::Relationship(it) if it.character_a == it.character_b => {
                lacks("two different characters")
            }
            Self::Relationship(it) if it.intensity > 10 => Err(InvalidEntry::Intensity {
                id: it.id.clone(),
                found: it.intensity,
            }),
            // Scenes have no required field: the program writes them, never a person from scratch.
            _ => Ok(self),
        }
    }

    /// Returns the entry as a record.
    ///
    /// # Panics
    /// Never: entries are plain data.
    #[must_use]
    pub fn to_value(&self) -> Value {
        // Only a map with keys that are not strings could fail here, and no entry has one.
        each!(self, it => serde_json::to_value(it)).expect("BUG: an entry is plain data")
    }

    /// Returns its kind.
    #[must_use]
    pub fn kind(&self) -> EntryKind {
        match self {
            Self::Character(_) => EntryKind::Character,
            Self::Location(_) => EntryKind::Location,
            Self::Relationship(_) => EntryKind::Relationship,
            Self::Scene(_) => EntryKind::Scene,
            Self::Loop(_) => EntryKind::Loop,
            Self::Lore(_) => EntryKind::Lore,
            Self::Fact(_) => EntryKind::Fact,
        }
    }

    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> &str {
        each!(self, it => &it.id)
    }

    /// Returns its fields as YAML in declaration order, without the text.
    pub(super) fn yaml_fields(&self) -> String {
        let mut bare = self.clone();
        // The text is the file's body; an empty one is skipped by the serializer.
        each!(&mut bare, it => it.text.clear());
        each!(&bare, it => serde_saphyr::to_string(it)).expect("BUG: an entry is plain data")
    }

    /// Returns the entry under another id.
    #[must_use]
    pub(super) fn with_id(mut self, id: String) -> Self {
        each!(&mut self, it => it.id = id);
        self
    }

    /// Returns its prose.
    #[must_use]
    pub fn text(&self) -> &str {
        each!(self, it => &it.text)
    }

    /// Returns the other names of a character or a location.
    #[must_use]
    pub fn other_names(&self) -> &[String] {
        match self {
            Self::Character(it) => &it.aliases,
            Self::Location(it) => &it.aliases,
            _ => &[],
        }
    }

    /// Returns its display name for lists.
    #[must_use]
    pub fn name(&self) -> String {
        // Loops and facts have no title; a list shows the beginning of what they say.
        let short = |text: &str| {
            let line = text.lines().next().unwrap_or_default();
            let cut: String = line.chars().take(80).collect();
            if cut.len() < line.len() {
                format!("{cut}…")
            } else {
                cut
            }
        };
        match self {
            Self::Character(it) => it.name.clone(),
            Self::Location(it) => it.name.clone(),
            Self::Lore(it) => it.name.clone(),
            Self::Scene(it) => it.title.clone(),
            Self::Relationship(it) => format!(
                "{} – {}: {}",
                it.character_a, it.character_b, it.relationship_type
            ),
            Self::Loop(it) => short(&it.text),
            Self::Fact(it) => short(&format!("{} {} {}", it.subject, it.predicate, it.object)),
        }
    }
}

/// One side's view of a relationship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Perspective<'a> {
    pub other: &'a str,
    pub view: &'a str,
}

impl Relationship {
    /// Returns the view of `character`, if it is one of the two.
    #[must_use]
    pub fn perspective_of(&self, character: &str) -> Option<Perspective<'_>> {
        if self.character_a == character {
            Some(Perspective {
                other: &self.character_b,
                view: &self.perspective_a,
            })
        } else if self.character_b == character {
            Some(Perspective {
                other: &self.character_a,
                view: &self.perspective_b,
            })
        } else {
            None
        }
    }

    /// Whether it is between these two, in either order.
    #[must_use]
    pub fn is_between(&self, one: &str, other: &str) -> bool {
        self.perspective_of(one)
            .is_some_and(|side| side.other == other)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_the_same_from_json_and_from_a_value() {
        for (kind, value) in [
            (
                EntryKind::Fact,
                json!({ "id": "F0", "subject": "C0", "predicate": "eyes", "object": "“gray”\n" }),
            ),
            (
                EntryKind::Loop,
                json!({ "id": "OL0", "text": "Who?", "importance": "high" }),
            ),
            (EntryKind::Scene, json!({ "id": "S001", "words": 900 })),
            (EntryKind::Character, json!({ "id": "C0", "aliases": [] })),
            (EntryKind::Location, json!({ "id": "L0", "nmae": "Hall" })),
        ] {
            let text = value.to_string();
            let (from_json, from_value) = (
                Entry::from_json(kind, &text),
                Entry::from_value(kind, value),
            );
            assert_eq!(from_json.is_ok(), from_value.is_ok(), "{text}");
            assert_eq!(from_json.ok(), from_value.ok(), "{text}");
        }
        let half = r#"{ "id": "S001" } {"#;
        assert!(Entry::from_json(EntryKind::Scene, half).is_err());
    }
}
