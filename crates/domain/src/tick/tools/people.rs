//! Tools for characters, locations and relationships.

use serde_json::{Map, Value, json};

use super::{
    FieldForm, TickStage, TickTool, ToolField, list_argument, number_argument, optional_argument,
    text_argument,
};
use crate::memory::{Character, Entry, EntryKind, Location, Relationship, RelationshipEvent};

const NAME_FIELD: ToolField = ToolField {
    name: "name",
    form: FieldForm::Text(80),
    required: true,
    about: "",
};
const DESCRIPTION_FIELD: ToolField = ToolField {
    name: "description",
    form: FieldForm::Text(1_200),
    required: true,
    about: "",
};

pub(super) const CHARACTER_GENERATE: TickTool = TickTool {
    name: "character.generate",
    // The text is part of the recorded prompts in `crates/cli/tests/tapes`.
    about: "Adds a new character. Only for somebody who is not there yet.", // vocabulary: quoted
    fields: &[
        NAME_FIELD,
        ToolField {
            name: "role",
            form: FieldForm::Text(80),
            required: true,
            about: "",
        },
        DESCRIPTION_FIELD,
        ToolField {
            name: "traits",
            form: FieldForm::Texts,
            required: false,
            about: "",
        },
        ToolField {
            name: "goals",
            form: FieldForm::Texts,
            required: false,
            about: "",
        },
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
        ToolField {
            name: "atmosphere",
            form: FieldForm::Text(200),
            required: false,
            about: "",
        },
        ToolField {
            name: "features",
            form: FieldForm::Texts,
            required: false,
            about: "",
        },
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

const CHARACTER_A: ToolField = ToolField {
    name: "character_a",
    form: FieldForm::Id(EntryKind::Character),
    required: true,
    about: "",
};
const CHARACTER_B: ToolField = ToolField {
    name: "character_b",
    form: FieldForm::Id(EntryKind::Character),
    required: true,
    about: "",
};
const INTENSITY: ToolField = ToolField {
    name: "intensity",
    form: FieldForm::Number(0, 10),
    required: false,
    about: "",
};

pub(super) const RELATIONSHIP_CREATE: TickTool = TickTool {
    name: "relationship.create",
    about: "Ties two characters that have no relationship yet. Each has its own view of it.",
    fields: &[
        CHARACTER_A,
        CHARACTER_B,
        ToolField {
            name: "relationship_type",
            form: FieldForm::Text(80),
            required: true,
            about: "mentor, rival, siblings",
        },
        ToolField {
            name: "perspective_a",
            form: FieldForm::Text(300),
            required: true,
            about: "how a sees b",
        },
        ToolField {
            name: "perspective_b",
            form: FieldForm::Text(300),
            required: true,
            about: "how b sees a",
        },
        ToolField {
            name: "status",
            form: FieldForm::Text(40),
            required: false,
            about: "close, strained, broken",
        },
        INTENSITY,
    ],
    run: |stage, args| {
        let (one, other) = read_character_pair(args)?;
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
        ToolField {
            name: "event",
            form: FieldForm::Text(300),
            required: true,
            about: "what happened between them",
        },
        ToolField {
            name: "status",
            form: FieldForm::Text(40),
            required: false,
            about: "",
        },
        INTENSITY,
        ToolField {
            name: "scene_id",
            form: FieldForm::Id(EntryKind::Scene),
            required: false,
            about: "where it happened",
        },
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
        ToolField {
            name: "character_id",
            form: FieldForm::Id(EntryKind::Character),
            required: true,
            about: "",
        },
        ToolField {
            name: "status_filter",
            form: FieldForm::Text(40),
            required: false,
            about: "only with this status",
        },
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
