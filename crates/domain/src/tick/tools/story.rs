//! Tools for searching the memory, querying written scenes, and opening and closing loops.

use serde_json::{Value, json};

use super::{Field, Form, Stage, Tool, given, number, text, texts};
use crate::memory::{Entry, EntryKind, Importance, LoopStatus, OpenLoop};
use crate::search::{Query, occurrences, text_of, words};

const KINDS: &[&str] = &[
    "character",
    "location",
    "relationship",
    "scene",
    "loop",
    "lore",
    "fact",
];
const LIMIT: Field = Field {
    name: "limit",
    form: Form::Number(1, 20),
    required: false,
    about: "",
};
/// Maximum number of characters of an entry's text in a result.
const EXCERPT: usize = 400;
/// Minimum similarity at which two loops count as duplicates.
const SAME_LOOP: f64 = 0.95;

pub(super) const MEMORY_SEARCH: Tool = Tool {
    name: "memory.search",
    about: "Finds what the story remembers by words.",
    fields: &[
        Field {
            name: "query",
            form: Form::Text(200),
            required: true,
            about: "",
        },
        Field {
            name: "entity_types",
            form: Form::Choices(KINDS),
            required: false,
            about: "all when not given",
        },
        LIMIT,
    ],
    run: |stage, args| {
        let query = text(args, "query");
        let mut kinds: Vec<EntryKind> = texts(args, "entity_types")
            .iter()
            .filter_map(|word| EntryKind::of_word(word))
            .collect();
        if kinds.is_empty() {
            kinds = EntryKind::ALL.to_vec();
        }
        let most = number(args, "limit")
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(5);
        let mut ids = (stage.world.search)(&kinds, &query, most)?;
        // After the index, whose order is the better one.
        ids.extend(new_ones(stage, &kinds, &query));
        let mut found: Vec<&Entry> = Vec::new();
        for entry in ids.iter().filter_map(|id| stage.memory.get(id)) {
            if !found.contains(&entry) && found.len() < most {
                found.push(entry);
            }
        }
        let results: Vec<Value> = found
            .into_iter()
            .map(|entry| {
                let excerpt: String = entry.text().chars().take(EXCERPT).collect();
                json!({ "id": entry.id(), "kind": entry.kind().word(), "name": entry.name(), "text": excerpt })
            })
            .collect();
        Ok(json!({ "results": results }))
    },
};

/// Searches the entries that this tick added, which are not indexed yet.
fn new_ones(stage: &Stage<'_>, kinds: &[EntryKind], query: &str) -> Vec<String> {
    let query = Query::read(query);
    let matches = |entry: &Entry| {
        let words = words(&text_of(entry.kind().word(), &entry.value()));
        query
            .phrases
            .iter()
            .any(|phrase| occurrences(phrase, &words) > 0)
    };
    let changed = stage.memory.changed().filter_map(|(_, entry)| entry);
    changed
        .filter(|entry| kinds.contains(&entry.kind()) && matches(entry))
        .map(|entry| entry.id().to_owned())
        .collect()
}

const IMPORTANCES: &[&str] = &["low", "medium", "high", "critical"];

pub(super) const LOOP_OPEN: Tool = Tool {
    name: "loop.open",
    about: "Notes something the reader is going to wait for.",
    fields: &[
        Field {
            name: "description",
            form: Form::Text(300),
            required: true,
            about: "",
        },
        Field {
            name: "importance",
            form: Form::Choice(IMPORTANCES),
            required: false,
            about: "",
        },
        Field {
            name: "category",
            form: Form::Text(40),
            required: false,
            about: "mystery, goal, promise, threat",
        },
        Field {
            name: "scene_id",
            form: Form::Id(EntryKind::Scene),
            required: false,
            about: "where it was opened",
        },
        Field {
            name: "due_in",
            form: Form::Number(1, 200),
            required: false,
            about: "ticks until it should be paid off",
        },
    ],
    run: |stage, args| {
        let description = text(args, "description");
        let new = sorted(&description);
        // Planners forget what they opened; near-duplicates would crowd out the prompt.
        let alike = |it: &&OpenLoop| it.status.is_open() && is_alike(&sorted(&it.text), &new);
        if let Some(known) = stage.memory.loops().find(alike) {
            return Err(format!("this loop is already open: {}", known.id));
        }
        let importance = match text(args, "importance").as_str() {
            "low" => Importance::Low,
            "high" => Importance::High,
            "critical" => Importance::Critical,
            _ => Importance::Medium,
        };
        let entry = OpenLoop {
            importance,
            category: text(args, "category"),
            created_in_scene: given(args, "scene_id"),
            created_tick: stage.tick,
            due_tick: number(args, "due_in").map(|ticks| stage.tick + ticks),
            text: description,
            ..OpenLoop::default()
        };
        Ok(json!({ "id": stage.memory.add(Entry::Loop(entry)) }))
    },
};

/// Whether two texts differ only in a letter or two. Different digits make them different: door 3
/// is not door 9.
fn is_alike(one: &str, other: &str) -> bool {
    let digits = |text: &str| {
        text.chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
    };
    // The length bound comes first: Levenshtein is quadratic, and most pairs differ so much in
    // length that they cannot reach the threshold.
    let (short, long) = (
        one.len().min(other.len()) as f64,
        one.len().max(other.len()) as f64,
    );
    short >= SAME_LOOP * long
        && digits(one) == digits(other)
        && strsim::normalized_levenshtein(one, other) >= SAME_LOOP
}

/// Returns the words of a text in sorted order, to compare them without regard to word order.
fn sorted(text: &str) -> String {
    let mut words = words(text);
    words.sort();
    words.join(" ")
}

pub(super) const LOOP_CLOSE: Tool = Tool {
    name: "loop.close",
    about: "Closes an open loop. Resolved needs the written scene and its very words that settle it.",
    fields: &[
        Field {
            name: "loop_id",
            form: Form::Id(EntryKind::Loop),
            required: true,
            about: "",
        },
        Field {
            name: "outcome",
            form: Form::Choice(&["resolved", "abandoned"]),
            required: true,
            about: "",
        },
        Field {
            name: "reason",
            form: Form::Text(300),
            required: true,
            about: "",
        },
        Field {
            name: "scene_id",
            form: Form::Id(EntryKind::Scene),
            required: false,
            about: "",
        },
        Field {
            name: "evidence",
            form: Form::Text(400),
            required: false,
            about: "words quoted from the scene",
        },
    ],
    run: |stage, args| {
        let id = text(args, "loop_id");
        let Some(Entry::Loop(mut it)) = stage.memory.get(&id).cloned() else {
            return Err(format!("there is no loop {id}"));
        };
        if !it.status.is_open() {
            return Err(format!("{id} is {} already", it.status.word()));
        }
        it.status = LoopStatus::Abandoned;
        if text(args, "outcome") == "resolved" {
            let (Some(scene), Some(quote)) = (given(args, "scene_id"), given(args, "evidence"))
            else {
                return Err(format!(
                    "{id} can only be resolved with `scene_id` and `evidence`, words of that scene"
                ));
            };
            let Some(Entry::Scene(written)) = stage.memory.get(&scene) else {
                return Err(format!("there is no scene {scene}"));
            };
            let prose = written
                .node
                .as_deref()
                .and_then(|node| (stage.world.prose)(node));
            // A planner's claim is not enough: models report loops as resolved that no scene
            // mentions.
            if !prose.is_some_and(|prose| quotes(&prose, &quote)) {
                return Err(format!(
                    "`evidence` is not a quote from {scene}; quote its words"
                ));
            }
            it.status = LoopStatus::Resolved;
            it.closed_in_scene = Some(scene);
            it.evidence = Some(quote);
        }
        it.reason = Some(text(args, "reason"));
        let result = json!({ "id": id, "status": it.status.word() });
        stage.memory.put(Entry::Loop(it));
        Ok(result)
    },
};

/// Whether a text contains the words of a quote in sequence, ignoring punctuation and case.
#[must_use]
pub(crate) fn quotes(text: &str, quote: &str) -> bool {
    // By words: models change quotation marks, dashes and line breaks when they quote.
    let (text, quote) = (words(text), words(quote));
    !quote.is_empty() && text.windows(quote.len()).any(|window| window == quote)
}

pub(super) const SCENE_QUERY: Tool = Tool {
    name: "scene.query",
    about: "Returns scenes that were written, the newest first.",
    fields: &[
        Field {
            name: "character_id",
            form: Form::Id(EntryKind::Character),
            required: false,
            about: "",
        },
        Field {
            name: "location_id",
            form: Form::Id(EntryKind::Location),
            required: false,
            about: "",
        },
        LIMIT,
    ],
    run: |stage, args| {
        let (character, location) = (given(args, "character_id"), given(args, "location_id"));
        let most = number(args, "limit")
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(5);
        let scenes: Vec<Value> = stage
            .memory
            .scenes()
            .rev()
            .filter(|scene| {
                character.as_ref().is_none_or(|id| scene.pov.as_ref() == Some(id) || scene.characters.contains(id))
            })
            .filter(|scene| location.is_none() || scene.location == location)
            .take(most)
            .map(|scene| json!({ "id": scene.id, "title": scene.title, "tick": scene.tick, "summary": scene.summary }))
            .collect();
        Ok(json!({ "scenes": scenes }))
    },
};
