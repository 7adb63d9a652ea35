//! Tools for characters, locations and relationships.

use serde_json::{Map, Value, json};

use super::FieldForm::{Id, Number, Text, Texts};
use super::{
    TickStage, TickTool, ToolField, list_argument, number_argument, optional_argument,
    text_argument,
};
use crate::memory::{Character, Entry, EntryKind, Location, Relationship, RelationshipEvent};

const NAME_FIELD: ToolField = ToolField::required_field("name", Text(80), "");
const DESCRIPTION_FIELD: ToolField = ToolField::required_field("description", Text(1_200), "");

pub(super) const CHARACTER_GENERATE: TickTool = TickTool {
    name: "character.generate",
    // The text is part of the recorded prompts in `crates/cli/tests/tapes`.
    about: "Adds a new character. Only for somebody who is not there yet.", // vocabulary: quoted
    fields: &[
        NAME_FIELD,
        ToolField::required_field("role", Text(80), ""),
        DESCRIPTION_FIELD,
        ToolField::optional_field("traits", Texts, ""),
        ToolField::optional_field("goals", Texts, ""),
    ],
    run: |stage, args| {
        let name = text_argument(args, "name");
        require_new_name(stage, EntryKind::Character, &name)?;
        let entry = Character {
            role: text_argument(args, "role"),
            text: text_argument(args, "description"),
            traits: list_argument(args, "traits"),
            goals: list_argument(args, "goals"),
            created_tick: stage.tick,
            name: name.clone(),
            ..Character::default()
        };
        let id = stage.memory.add_entry(Entry::Character(entry));
        Ok(json!({ "id": id, "name": name }))
    },
};

pub(super) const LOCATION_GENERATE: TickTool = TickTool {
    name: "location.generate",
    about: "Adds a new location.",
    fields: &[
        NAME_FIELD,
        DESCRIPTION_FIELD,
        ToolField::optional_field("atmosphere", Text(200), ""),
        ToolField::optional_field("features", Texts, ""),
    ],
    run: |stage, args| {
        let name = text_argument(args, "name");
        require_new_name(stage, EntryKind::Location, &name)?;
        let entry = Location {
            text: text_argument(args, "description"),
            atmosphere: text_argument(args, "atmosphere"),
            features: list_argument(args, "features"),
            created_tick: stage.tick,
            name: name.clone(),
            ..Location::default()
        };
        let id = stage.memory.add_entry(Entry::Location(entry));
        Ok(json!({ "id": id, "name": name }))
    },
};

/// Refuses a name that is in use: a duplicate is a planner that forgot, not a second person.
fn require_new_name(stage: &TickStage<'_>, kind: EntryKind, name: &str) -> Result<(), String> {
    match stage.memory.resolve_id(kind, name) {
        Some(id) => Err(format!("there is a {kind} called `{name}` already: {id}")),
        None => Ok(()),
    }
}

const CHARACTER_A: ToolField =
    ToolField::required_field("character_a", Id(EntryKind::Character), "");
const CHARACTER_B: ToolField =
    ToolField::required_field("character_b", Id(EntryKind::Character), "");
const INTENSITY: ToolField = ToolField::optional_field("intensity", Number(0, 10), "");

pub(super) const RELATIONSHIP_CREATE: TickTool = TickTool {
    name: "relationship.create",
    about: "Ties two characters that have no relationship yet. Each has its own view of it.",
    fields: &[
        CHARACTER_A,
        CHARACTER_B,
        ToolField::required_field("relationship_type", Text(80), "mentor, rival, siblings"),
        ToolField::required_field("perspective_a", Text(300), "how a sees b"),
        ToolField::required_field("perspective_b", Text(300), "how b sees a"),
        ToolField::optional_field("status", Text(40), "close, strained, broken"),
        INTENSITY,
    ],
    run: |stage, args| {
        let (one, other) = read_character_pair(args)?;
        // One tie for each pair: a second one would split their history and let the views
        // contradict.
        if let Some(tie) = stage
            .memory
            .relationships()
            .find(|tie| tie.is_between(&one, &other))
        {
            return Err(format!(
                "{one} and {other} have a relationship already: {}",
                tie.id
            ));
        }
        let entry = Relationship {
            character_a: one,
            character_b: other,
            relationship_type: text_argument(args, "relationship_type"),
            // Neutral defaults: the planner is asked for what only it can know.
            status: optional_argument(args, "status").unwrap_or_else(|| "new".to_owned()),
            intensity: read_intensity(args).unwrap_or(5),
            perspective_a: text_argument(args, "perspective_a"),
            perspective_b: text_argument(args, "perspective_b"),
            ..Relationship::default()
        };
        Ok(json!({ "id": stage.memory.add_entry(Entry::Relationship(entry)) }))
    },
};

pub(super) const RELATIONSHIP_UPDATE: TickTool = TickTool {
    name: "relationship.update",
    about: "Changes a relationship; what happened goes into its history.",
    fields: &[
        CHARACTER_A,
        CHARACTER_B,
        ToolField::required_field("event", Text(300), "what happened between them"),
        ToolField::optional_field("status", Text(40), ""),
        INTENSITY,
        ToolField::optional_field("scene_id", Id(EntryKind::Scene), "where it happened"),
    ],
    run: |stage, args| {
        let (one, other) = read_character_pair(args)?;
        let found = stage
            .memory
            .relationships()
            .find(|tie| tie.is_between(&one, &other))
            .cloned();
        let mut tie = found.ok_or_else(|| {
            format!("{one} and {other} have no relationship; relationship.create makes one")
        })?;
        tie.status = optional_argument(args, "status").unwrap_or(tie.status);
        tie.intensity = read_intensity(args).unwrap_or(tie.intensity);
        // What was given, not what results: an event that left the intensity alone must not read as
        // one that set it.
        tie.history.push(RelationshipEvent {
            tick: stage.tick,
            scene: optional_argument(args, "scene_id"),
            event: text_argument(args, "event"),
            status: optional_argument(args, "status"),
            intensity: read_intensity(args),
        });
        let result = json!({ "id": tie.id, "status": tie.status, "intensity": tie.intensity });
        stage.memory.put_entry(Entry::Relationship(tie));
        Ok(result)
    },
};

pub(super) const RELATIONSHIP_QUERY: TickTool = TickTool {
    name: "relationship.query",
    about: "Returns the relationships of a character.",
    fields: &[
        ToolField::required_field("character_id", Id(EntryKind::Character), ""),
        ToolField::optional_field("status_filter", Text(40), "only with this status"),
    ],
    run: |stage, args| {
        let (character, status) = (
            text_argument(args, "character_id"),
            optional_argument(args, "status_filter"),
        );
        let found: Vec<Value> = stage
            .memory
            .relationships()
            .filter(|tie| status.as_ref().is_none_or(|status| tie.status.eq_ignore_ascii_case(status)))
            .filter_map(|tie| {
                let side = tie.perspective_of(&character)?;
                Some(json!({
                    "id": tie.id, "other": side.other, "other_name": stage.memory.display_name(side.other),
                    "relationship_type": tie.relationship_type, "status": tie.status, "intensity": tie.intensity,
                    "view": side.view, "last_event": tie.history.last().map(|event| event.event.as_str()),
                }))
            })
            .collect();
        Ok(json!({ "relationships": found }))
    },
};

fn read_character_pair(args: &Map<String, Value>) -> Result<(String, String), String> {
    let (one, other) = (
        text_argument(args, "character_a"),
        text_argument(args, "character_b"),
    );
    if one == other {
        Err(format!("`character_a` and `character_b` are both {one}"))
    } else {
        Ok((one, other))
    }
}

fn read_intensity(args: &Map<String, Value>) -> Option<u8> {
    number_argument(args, "intensity").and_then(|number| u8::try_from(number).ok())
}
