//! Identity of characters and places: merges two entries that are one, and splits one that is two.
//!
//! What texts say about them is in their readings, which are changed along and projected again.

use super::{Character, Entry, EntryKind, Location, Relationship, StoryMemory};
use crate::generation::reading::SceneReading;
use crate::generation::verdict::SceneVerdict;
use crate::search::split_words;

/// Why two entries cannot be merged, or one cannot be split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityRefused {
    #[error("`{0}` cannot be merged with itself")]
    Same(String),
    #[error(
        "`{one}` is a {first}, `{other}` is a {second}: only two characters or two locations can be merged"
    )]
    Kinds {
        one: String,
        first: EntryKind,
        other: String,
        second: EntryKind,
    },
    #[error("`{0}` is neither a character nor a location")]
    NotNamed(String),
    #[error("`{0}` is the whole name of this entry: name the other person by another one")]
    WholeName(String),
    #[error("`{0}` is the name of {1} already")]
    Taken(String, String),
    #[error("`{0}` was never called `{1}`: neither the entry nor a text has that name")]
    NoSuchName(String, String),
}

/// Merges `gone` into `kept`: names, knowledge, relationships, scenes and facts. The entry `gone` is removed.
///
/// # Errors
/// [`IdentityRefused`]; nothing is changed then.
pub fn merge_entries(
    memory: &mut StoryMemory,
    readings: &mut [SceneReading],
    kept: &str,
    gone: &str,
) -> Result<(), IdentityRefused> {
    if kept == gone {
        return Err(IdentityRefused::Same(kept.to_owned()));
    }
    let merged = match (memory.get(kept), memory.get(gone)) {
        (Some(Entry::Character(one)), Some(Entry::Character(other))) => {
            Entry::Character(merge_characters(one.clone(), other))
        }
        (Some(Entry::Location(one)), Some(Entry::Location(other))) => {
            Entry::Location(merge_locations(one.clone(), other))
        }
        (Some(one), Some(other)) => {
            return Err(IdentityRefused::Kinds {
                one: kept.to_owned(),
                first: one.kind(),
                other: gone.to_owned(),
                second: other.kind(),
            });
        }
        _ => return Err(IdentityRefused::NotNamed(gone.to_owned())),
    };
    // Everything that can be refused was checked above: from here on the memory changes.
    memory.put_entry(merged);
    memory.remove_entry(gone);
    replace_references(memory, gone, kept);
    for reading in readings {
        // Earlier readings too: a text that is restored brings its claims back.
        let earlier = reading.earlier.iter_mut().map(|it| &mut it.claims);
        for claims in std::iter::once(&mut reading.claims).chain(earlier) {
            replace_in_claims(claims, gone, kept);
        }
    }
    Ok(())
}

/// Adds the names, aliases and lists of another character.
fn merge_characters(one: Character, other: &Character) -> Character {
    let mut merged = one;
    add_missing(
        // The other name stays findable: texts go on using it.
        &mut merged.aliases,
        std::iter::once(&other.name).chain(&other.aliases),
    );
    let name = merged.name.clone();
    merged.aliases.retain(|alias| *alias != name);
    add_missing(&mut merged.traits, &other.traits);
    add_missing(&mut merged.goals, &other.goals);
    add_missing(&mut merged.knows, &other.knows);
    let fill = |into: &mut String, from: &String| {
        if into.is_empty() {
            into.clone_from(from);
        }
    };
    fill(&mut merged.role, &other.role);
    merged.emotional_state = merged.emotional_state.or(other.emotional_state.clone());
    merged.location = merged.location.or(other.location.clone());
    merged.text = join_texts(&merged.text, &other.text);
    merged
}

fn merge_locations(one: Location, other: &Location) -> Location {
    let mut merged = one;
    add_missing(
        &mut merged.aliases,
        std::iter::once(&other.name).chain(&other.aliases),
    );
    let name = merged.name.clone();
    merged.aliases.retain(|alias| *alias != name);
    add_missing(&mut merged.features, &other.features);
    if merged.atmosphere.is_empty() {
        merged.atmosphere.clone_from(&other.atmosphere);
    }
    merged.text = join_texts(&merged.text, &other.text);
    merged
}

fn add_missing<'a>(list: &mut Vec<String>, more: impl IntoIterator<Item = &'a String>) {
    for item in more {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}

fn join_texts(one: &str, other: &str) -> String {
    let parts = [one.trim(), other.trim()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// Lets every entry refer to `to` instead of `from`.
fn replace_references(memory: &mut StoryMemory, from: &str, to: &str) {
    let replace = |id: &mut String| {
        if id == from {
            to.clone_into(id);
        }
    };
    let all: Vec<Entry> = memory.all_entries().cloned().collect();
    let mut ties: Vec<Relationship> = Vec::new();
    for mut entry in all {
        match &mut entry {
            Entry::Relationship(tie) => {
                replace(&mut tie.character_a);
                replace(&mut tie.character_b);
                keep_one_tie(memory, &mut ties, tie.clone());
                continue;
            }
            Entry::Scene(scene) => {
                scene.pov.iter_mut().for_each(replace);
                scene.location.iter_mut().for_each(replace);
                scene.characters.iter_mut().for_each(replace);
                let all = std::mem::take(&mut scene.characters);
                add_missing(&mut scene.characters, &all);
            }
            Entry::Fact(fact) => {
                replace(&mut fact.subject);
                replace(&mut fact.object);
            }
            Entry::Character(it) => it.location.iter_mut().for_each(replace),
            Entry::Location(_) | Entry::Loop(_) | Entry::Lore(_) => {}
        }
        memory.put_entry(entry);
    }
}

/// Keeps one relationship for each two characters: the later one's history is added to the first.
fn keep_one_tie(memory: &mut StoryMemory, ties: &mut Vec<Relationship>, tie: Relationship) {
    // The two are one person now, and nobody has a relationship with themselves.
    if tie.character_a == tie.character_b {
        memory.remove_entry(&tie.id);
        return;
    }
    let known = ties
        .iter_mut()
        .find(|it| it.is_between(&tie.character_a, &tie.character_b));
    match known {
        Some(known) => {
            memory.remove_entry(&tie.id);
            known.history.extend(tie.history);
            known.history.sort_by_key(|event| event.tick);
            memory.put_entry(Entry::Relationship(known.clone()));
        }
        None => {
            memory.put_entry(Entry::Relationship(tie.clone()));
            ties.push(tie);
        }
    }
}

fn replace_in_claims(claims: &mut SceneVerdict, from: &str, to: &str) {
    let replace = |id: &mut String| {
        if id == from {
            to.clone_into(id);
        }
    };
    claims.characters.iter_mut().for_each(replace);
    for fact in &mut claims.facts {
        replace(&mut fact.subject);
        replace(&mut fact.object);
    }
}

/// Splits a name off a character or a place: it becomes an entry of its own, and what readings said about
/// it by that name follows. Returns the id of the new entry.
///
/// # Errors
/// [`IdentityRefused`]; nothing is changed then.
pub fn split_entry(
    memory: &mut StoryMemory,
    readings: &mut [SceneReading],
    id: &str,
    name: &str,
) -> Result<String, IdentityRefused> {
    let name = name.trim();
    let is_name = |known: &str| known.to_lowercase() == name.to_lowercase();
    let taken = memory.all_entries().find(|entry| {
        let is_other = entry.id() != id;
        let named = matches!(entry.kind(), EntryKind::Character | EntryKind::Location);
        is_other && named && is_name(&entry.name())
    });
    if let Some(taken) = taken {
        return Err(IdentityRefused::Taken(
            name.to_owned(),
            taken.id().to_owned(),
        ));
    }
    let mut entry = memory
        .get(id)
        .cloned()
        .ok_or_else(|| IdentityRefused::NotNamed(id.to_owned()))?;
    if is_name(&entry.name()) || name.is_empty() {
        return Err(IdentityRefused::WholeName(name.to_owned()));
    }
    let is_word_of = |words: Vec<String>| split_words(name).iter().all(|it| words.contains(it));
    let is_known = entry.other_names().iter().any(|alias| is_name(alias))
        || is_word_of(split_words(&entry.name()))
        || readings
            .iter()
            .any(|reading| is_word_of(reading.found.names.clone()));
    if !is_known {
        return Err(IdentityRefused::NoSuchName(id.to_owned(), name.to_owned()));
    }
    let new = match &mut entry {
        Entry::Character(it) => {
            it.aliases.retain(|alias| !is_name(alias));
            Entry::Character(Character {
                name: name.to_owned(),
                created_tick: it.created_tick,
                // A person decided that there are two: neither goes with a text.
                ..Character::default()
            })
        }
        Entry::Location(it) => {
            it.aliases.retain(|alias| !is_name(alias));
            Entry::Location(Location {
                name: name.to_owned(),
                created_tick: it.created_tick,
                ..Location::default()
            })
        }
        _ => return Err(IdentityRefused::NotNamed(id.to_owned())),
    };
    let whole = entry.name();
    memory.put_entry(entry);
    let new_id = memory.add_entry(new);
    for reading in readings {
        let names = reading.found.names.clone();
        let earlier = reading.earlier.iter_mut().map(|it| &mut it.claims);
        for claims in std::iter::once(&mut reading.claims).chain(earlier) {
            split_claims(claims, (id, &whole), (&new_id, name), &names);
        }
    }
    Ok(new_id)
}

/// Gives the new entry what is said about it by its name.
fn split_claims(
    claims: &mut SceneVerdict,
    (old, old_name): (&str, &str),
    (new, new_name): (&str, &str),
    names: &[String],
) {
    let names_it = |text: &str, name: &str| {
        let words = split_words(text);
        split_words(name).iter().any(|part| words.contains(part))
    };
    // A sentence with both names does not say whom it is about, so it stays with the entry that had
    // it.
    let is_new = |quote: &str| names_it(quote, new_name) && !names_it(quote, old_name);
    for fact in &mut claims.facts {
        if fact.subject == old && is_new(&fact.quote) {
            new.clone_into(&mut fact.subject);
        }
        if fact.object == old && is_new(&fact.quote) {
            new.clone_into(&mut fact.object);
        }
    }
    let said = names.join(" ");
    if claims.characters.iter().any(|it| it == old) && names_it(&said, new_name) {
        if !names_it(&said, old_name) {
            claims.characters.retain(|it| it != old);
        }
        claims.characters.push(new.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::generation::rule_reader::RuleReading;
    use crate::generation::update::project_readings;
    use crate::generation::verdict::NewFact;
    use crate::ids::{NodeId, VersionHash};

    fn story() -> StoryMemory {
        let entry = |kind, value| Entry::from_value(kind, value).unwrap();
        StoryMemory::new([
            entry(
                EntryKind::Character,
                json!({ "id": "C0", "name": "Elena Vasquez" }),
            ),
            entry(
                EntryKind::Character,
                json!({ "id": "C1", "name": "Marcus" }),
            ),
            entry(
                EntryKind::Character,
                json!({ "id": "C2", "name": "Lena", "goals": ["the map"] }),
            ),
            entry(
                EntryKind::Relationship,
                json!({ "id": "R0", "character_a": "C0", "character_b": "C1" }),
            ),
            entry(
                EntryKind::Relationship,
                json!({ "id": "R1", "character_a": "C1", "character_b": "C2", "history": [{ "tick": 2, "event": "quarrel" }] }),
            ),
            entry(
                EntryKind::Relationship,
                json!({ "id": "R2", "character_a": "C0", "character_b": "C2" }),
            ),
            entry(
                EntryKind::Scene,
                json!({ "id": "S001", "node": "scene-0101" }),
            ),
        ])
    }

    fn reading() -> SceneReading {
        let claims = SceneVerdict {
            characters: vec!["C2".to_owned()],
            facts: vec![NewFact {
                subject: "C2".to_owned(),
                predicate: "eyes".to_owned(),
                object: "green".to_owned(),
                quote: "Lena had green eyes".to_owned(),
            }],
            ..SceneVerdict::default()
        };
        let found = RuleReading {
            names: vec!["lena".to_owned()],
            ..RuleReading::default()
        };
        SceneReading::read_by_rules(
            NodeId(1),
            "S001".to_owned(),
            VersionHash::of_bytes(b""),
            found,
        )
        .with_verdict(claims, "model".to_owned(), false, |_| true)
    }

    #[test]
    fn two_entries_of_one_person_become_one_and_can_be_split_again() {
        let mut memory = story();
        let mut readings = [reading()];
        project_readings(&mut memory, &[], &readings, 1);
        let before = readings.clone();
        merge_entries(&mut memory, &mut readings, "C0", "C2").unwrap();
        project_readings(&mut memory, &before, &readings, 1);
        assert_eq!(
            memory.facts().next().map(|it| it.subject.as_str()),
            Some("C0")
        );
        let Some(Entry::Character(elena)) = memory.get("C0") else {
            panic!("Elena is gone")
        };
        assert_eq!(
            (&elena.aliases[..], &elena.goals[..]),
            (&["Lena".to_owned()][..], &["the map".to_owned()][..])
        );
        assert_eq!(elena.knows.len(), 1);
        let ties: Vec<_> = memory
            .relationships()
            .map(|it| (it.id.as_str(), it.history.len()))
            .collect();
        assert_eq!(
            ties,
            [("R0", 1)],
            "one relationship for each two, none with oneself"
        );

        let before = readings.clone();
        let lena = split_entry(&mut memory, &mut readings, "C0", "Lena").unwrap();
        project_readings(&mut memory, &before, &readings, 1);
        assert_eq!(
            memory.facts().next().map(|it| it.subject.clone()),
            Some(lena)
        );
        let Some(Entry::Scene(scene)) = memory.get("S001") else {
            panic!("the scene is gone")
        };
        assert_eq!(scene.characters.len(), 1, "{scene:?}");
    }

    #[test]
    fn what_is_not_one_person_cannot_be_merged() {
        let mut memory = story();
        assert!(merge_entries(&mut memory, &mut [], "C0", "C0").is_err());
        assert!(merge_entries(&mut memory, &mut [], "C0", "S001").is_err());
        assert!(split_entry(&mut memory, &mut [], "C0", "Elena Vasquez").is_err());
        assert!(split_entry(&mut memory, &mut [], "C0", "Marcus").is_err());
        // Defect: a person was made of any word.
        assert_eq!(
            split_entry(&mut memory, &mut [], "C0", "Wladimir"),
            Err(IdentityRefused::NoSuchName(
                "C0".to_owned(),
                "Wladimir".to_owned()
            ))
        );
        assert!(split_entry(&mut memory, &mut [], "C0", "Vasquez").is_ok());
    }
}
