//! Tools for characters, locations and relationships.

use serde_json::{Map, Value, json};

use super::{Field, Form, Stage, Tool, given, number, text, texts};
use crate::memory::{Character, Entry, EntryKind, Location, Relationship, RelationshipEvent};

const NAME: Field = Field {
    name: "name",
    form: Form::Text(80),
    required: true,
    about: "",
};
const DESCRIPTION: Field = Field {
    name: "description",
    form: Form::Text(1_200),
    required: true,
    about: "",
};

pub(super) const CHARACTER_GENERATE: Tool = Tool {
    name: "character.generate",
    about: "Adds a new character. Only for somebody who is not there yet.",
    fields: &[
        NAME,
        Field {
            name: "role",
            form: Form::Text(80),
            required: true,
            about: "",
        },
        DESCRIPTION,
        Field {
            name: "traits",
            form: Form::Texts,
            required: false,
            about: "",
        },
        Field {
            name: "goals",
            form: Form::Texts,
            required: false,
            about: "",
        },
    ],
    run: |stage, args| {
        let name = text(args, "name");
        is_new(stage, EntryKind::Character, &name)?;
        let entry = Character {
            role: text(args, "role"),
            text: text(args, "description"),
            traits: texts(args, "traits"),
            goals: texts(args, "goals"),
            created_tick: stage.tick,
            name: name.clone(),
            ..Character::default()
        };
        let id = stage.memory.add(Entry::Character(entry));
        Ok(json!({ "id": id, "name": name }))
    },
};

pub(super) const LOCATION_GENERATE: Tool = Tool {
    name: "location.generate",
    about: "Adds a new location.",
    fields: &[
        NAME,
        DESCRIPTION,
        Field {
            name: "atmosphere",
            form: Form::Text(200),
            required: false,
            about: "",
        },
        Field {
            name: "features",
            form: Form::Texts,
            required: false,
            about: "",
        },
    ],
    run: |stage, args| {
        let name = text(args, "name");
        is_new(stage, EntryKind::Location, &name)?;
        let entry = Location {
            text: text(args, "description"),
            atmosphere: text(args, "atmosphere"),
            features: texts(args, "features"),
            created_tick: stage.tick,
            name: name.clone(),
            ..Location::default()
        };
        let id = stage.memory.add(Entry::Location(entry));
        Ok(json!({ "id": id, "name": name }))
    },
};

/// Refuses a name that is in use: a duplicate is a planner that forgot, not a second person.
fn is_new(stage: &Stage<'_>, kind: EntryKind, name: &str) -> Result<(), String> {
    match stage.memory.meant(kind, name) {
        Some(id) => Err(format!("there is a {kind} called `{name}` already: {id}")),
        None => Ok(()),
    }
}

const CHARACTER_A: Field = Field {
    name: "character_a",
    form: Form::Id(EntryKind::Character),
    required: true,
    about: "",
};
const CHARACTER_B: Field = Field {
    name: "character_b",
    form: Form::Id(EntryKind::Character),
    required: true,
    about: "",
};
const INTENSITY: Field = Field {
    name: "intensity",
    form: Form::Number(0, 10),
    required: false,
    about: "",
};

pub(super) const RELATIONSHIP_CREATE: Tool = Tool {
    name: "relationship.create",
    about: "Ties two characters that have no relationship yet. Each has its own view of it.",
    fields: &[
        CHARACTER_A,
        CHARACTER_B,
        Field {
            name: "relationship_type",
            form: Form::Text(80),
            required: true,
            about: "mentor, rival, siblings",
        },
        Field {
            name: "perspective_a",
            form: Form::Text(300),
            required: true,
            about: "how a sees b",
        },
        Field {
            name: "perspective_b",
            form: Form::Text(300),
            required: true,
            about: "how b sees a",
        },
        Field {
            name: "status",
            form: Form::Text(40),
            required: false,
            about: "close, strained, broken",
        },
        INTENSITY,
    ],
    run: |stage, args| {
        let (one, other) = two(args)?;
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
            relationship_type: text(args, "relationship_type"),
            // Neutral defaults: the planner is asked for what only it can know.
            status: given(args, "status").unwrap_or_else(|| "new".to_owned()),
            intensity: intensity(args).unwrap_or(5),
            perspective_a: text(args, "perspective_a"),
            perspective_b: text(args, "perspective_b"),
            ..Relationship::default()
        };
        Ok(json!({ "id": stage.memory.add(Entry::Relationship(entry)) }))
    },
};

pub(super) const RELATIONSHIP_UPDATE: Tool = Tool {
    name: "relationship.update",
    about: "Changes a relationship; what happened goes into its history.",
    fields: &[
        CHARACTER_A,
        CHARACTER_B,
        Field {
            name: "event",
            form: Form::Text(300),
            required: true,
            about: "what happened between them",
        },
        Field {
            name: "status",
            form: Form::Text(40),
            required: false,
            about: "",
        },
        INTENSITY,
        Field {
            name: "scene_id",
            form: Form::Id(EntryKind::Scene),
            required: false,
            about: "where it happened",
        },
    ],
    run: |stage, args| {
        let (one, other) = two(args)?;
        let found = stage
            .memory
            .relationships()
            .find(|tie| tie.is_between(&one, &other))
            .cloned();
        let mut tie = found.ok_or_else(|| {
            format!("{one} and {other} have no relationship; relationship.create makes one")
        })?;
        tie.status = given(args, "status").unwrap_or(tie.status);
        tie.intensity = intensity(args).unwrap_or(tie.intensity);
        // What was given, not what results: an event that left the intensity alone must not read as
        // one that set it.
        tie.history.push(RelationshipEvent {
            tick: stage.tick,
            scene: given(args, "scene_id"),
            event: text(args, "event"),
            status: given(args, "status"),
            intensity: intensity(args),
        });
        let result = json!({ "id": tie.id, "status": tie.status, "intensity": tie.intensity });
        stage.memory.put(Entry::Relationship(tie));
        Ok(result)
    },
};

pub(super) const RELATIONSHIP_QUERY: Tool = Tool {
    name: "relationship.query",
    about: "Returns the relationships of a character.",
    fields: &[
        Field {
            name: "character_id",
            form: Form::Id(EntryKind::Character),
            required: true,
            about: "",
        },
        Field {
            name: "status_filter",
            form: Form::Text(40),
            required: false,
            about: "only with this status",
        },
    ],
    run: |stage, args| {
        let (character, status) = (text(args, "character_id"), given(args, "status_filter"));
        let found: Vec<Value> = stage
            .memory
            .relationships()
            .filter(|tie| status.as_ref().is_none_or(|status| tie.status.eq_ignore_ascii_case(status)))
            .filter_map(|tie| {
                let side = tie.seen_by(&character)?;
                Some(json!({
                    "id": tie.id, "other": side.other, "other_name": stage.memory.name_of(side.other),
                    "relationship_type": tie.relationship_type, "status": tie.status, "intensity": tie.intensity,
                    "view": side.view, "last_event": tie.history.last().map(|event| event.event.as_str()),
                }))
            })
            .collect();
        Ok(json!({ "relationships": found }))
    },
};

fn two(args: &Map<String, Value>) -> Result<(String, String), String> {
    let (one, other) = (text(args, "character_a"), text(args, "character_b"));
    if one == other {
        Err(format!("`character_a` and `character_b` are both {one}"))
    } else {
        Ok((one, other))
    }
}

fn intensity(args: &Map<String, Value>) -> Option<u8> {
    number(args, "intensity").and_then(|number| u8::try_from(number).ok())
}
