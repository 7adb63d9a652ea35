//! Tools for searching the memory, querying written scenes, and opening and closing loops.

use serde_json::{Value, json};

use super::FieldForm::{Choice, Choices, Id, Number, Text};
use super::{
    LIMIT_FIELD, TickStage, TickTool, ToolField, limit_argument, list_argument, number_argument,
    optional_argument, text_argument,
};
use crate::memory::{Entry, EntryKind, Importance, LoopStatus, OpenLoop};
use crate::search::{SearchQuery, count_occurrences, searchable_text, split_words};

const ENTRY_KINDS: &[&str] = &[
    "character",
    "location",
    "relationship",
    "scene",
    "loop",
    "lore",
    "fact",
];
/// Maximum number of characters of an entry's text in a result.
const MAX_EXCERPT_CHARS: usize = 400;
/// Minimum similarity at which two loops count as duplicates.
const MIN_LOOP_SIMILARITY: f64 = 0.95;

pub(super) const MEMORY_SEARCH: TickTool = TickTool {
    name: "memory.search",
    about: "Finds what the story remembers by words.",
    fields: &[
        ToolField::required_field("query", Text(200), ""),
        ToolField::optional_field("entity_types", Choices(ENTRY_KINDS), "all when not given"),
        LIMIT_FIELD,
    ],
    run: |stage, args| {
        let query = text_argument(args, "query");
        let mut kinds: Vec<EntryKind> = list_argument(args, "entity_types")
            .iter()
            .filter_map(|word| EntryKind::from_word(word))
            .collect();
        if kinds.is_empty() {
            kinds = EntryKind::ALL.to_vec();
        }
        let limit = limit_argument(args, 5);
        let mut ids = (stage.world.search)(&kinds, &query, limit)?;
        // After the index, whose order is the better one.
        ids.extend(search_unindexed(stage, &kinds, &query));
        let mut found: Vec<&Entry> = Vec::new();
        for entry in ids.iter().filter_map(|id| stage.memory.get(id)) {
            if !found.contains(&entry) && found.len() < limit {
                found.push(entry);
            }
        }
        let results: Vec<Value> = found
            .into_iter()
            .map(|entry| {
                let excerpt: String = entry.text().chars().take(MAX_EXCERPT_CHARS).collect();
                json!({ "id": entry.id(), "kind": entry.kind().as_str(), "name": entry.name(), "text": excerpt })
            })
            .collect();
        Ok(json!({ "results": results }))
    },
};

/// Searches the entries that this tick added, which are not indexed yet.
fn search_unindexed(stage: &TickStage<'_>, kinds: &[EntryKind], query: &str) -> Vec<String> {
    let query = SearchQuery::parse_query(query);
    let matches = |entry: &Entry| {
        let words = split_words(&searchable_text(entry.kind().as_str(), &entry.to_value()));
        query
            .phrases
            .iter()
            .any(|phrase| count_occurrences(phrase, &words) > 0)
    };
    let changed = stage
        .memory
        .changed_entries()
        .filter_map(|(_, entry)| entry);
    changed
        .filter(|entry| kinds.contains(&entry.kind()) && matches(entry))
        .map(|entry| entry.id().to_owned())
        .collect()
}

const IMPORTANCES: &[&str] = &["low", "medium", "high", "critical"];

pub(super) const LOOP_OPEN: TickTool = TickTool {
    name: "loop.open",
    about: "Notes something the reader is going to wait for.",
    fields: &[
        ToolField::required_field("description", Text(300), ""),
        ToolField::optional_field("importance", Choice(IMPORTANCES), ""),
        ToolField::optional_field("category", Text(40), "mystery, goal, promise, threat"),
        ToolField::optional_field("scene_id", Id(EntryKind::Scene), "where it was opened"),
        ToolField::optional_field(
            "due_in",
            Number(1, 200),
            "ticks until it should be paid off",
        ),
    ],
    run: |stage, args| {
        let description = text_argument(args, "description");
        let new = sort_words(&description);
        // Planners forget what they opened; near-duplicates would crowd out the prompt.
        let alike =
            |it: &&OpenLoop| it.status.is_open() && is_similar_loop(&sort_words(&it.text), &new);
        if let Some(known) = stage.memory.loops().find(alike) {
            return Err(format!("this loop is already open: {}", known.id));
        }
        let importance = match text_argument(args, "importance").as_str() {
            "low" => Importance::Low,
            "high" => Importance::High,
            "critical" => Importance::Critical,
            _ => Importance::Medium,
        };
        let entry = OpenLoop {
            importance,
            category: text_argument(args, "category"),
            created_in_scene: optional_argument(args, "scene_id"),
            created_tick: stage.tick,
            due_tick: number_argument(args, "due_in").map(|ticks| stage.tick + ticks),
            text: description,
            ..OpenLoop::default()
        };
        Ok(json!({ "id": stage.memory.add_entry(Entry::Loop(entry)) }))
    },
};

/// Whether two texts differ only in a letter or two. Different digits make them different: door 3
/// is not door 9.
fn is_similar_loop(one: &str, other: &str) -> bool {
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
    short >= MIN_LOOP_SIMILARITY * long
        && digits(one) == digits(other)
        && strsim::normalized_levenshtein(one, other) >= MIN_LOOP_SIMILARITY
}

/// Returns the words of a text in sorted order, to compare them without regard to word order.
fn sort_words(text: &str) -> String {
    let mut words = split_words(text);
    words.sort();
    words.join(" ")
}

pub(super) const LOOP_CLOSE: TickTool = TickTool {
    name: "loop.close",
    about: "Closes an open loop. Resolved needs the written scene and its very words that settle it.",
    fields: &[
        ToolField::required_field("loop_id", Id(EntryKind::Loop), ""),
        ToolField::required_field("outcome", Choice(&["resolved", "abandoned"]), ""),
        ToolField::required_field("reason", Text(300), ""),
        ToolField::optional_field("scene_id", Id(EntryKind::Scene), ""),
        ToolField::optional_field("evidence", Text(400), "words quoted from the scene"),
    ],
    run: |stage, args| {
        let id = text_argument(args, "loop_id");
        let Some(Entry::Loop(mut it)) = stage.memory.get(&id).cloned() else {
            return Err(format!("there is no loop {id}"));
        };
        if !it.status.is_open() {
            return Err(format!("{id} is {} already", it.status.as_str()));
        }
        it.status = LoopStatus::Abandoned;
        if text_argument(args, "outcome") == "resolved" {
            let (Some(scene), Some(quote)) = (
                optional_argument(args, "scene_id"),
                optional_argument(args, "evidence"),
            ) else {
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
            if !prose.is_some_and(|prose| contains_quote(&prose, &quote)) {
                return Err(format!(
                    "`evidence` is not a quote from {scene}; quote its words"
                ));
            }
            it.status = LoopStatus::Resolved;
            it.closed_in_scene = Some(scene);
            it.evidence = Some(quote);
        }
        it.reason = Some(text_argument(args, "reason"));
        let result = json!({ "id": id, "status": it.status.as_str() });
        stage.memory.put_entry(Entry::Loop(it));
        Ok(result)
    },
};

/// Whether a text contains the words of a quote in sequence, ignoring punctuation and case.
#[must_use]
pub(crate) fn contains_quote(text: &str, quote: &str) -> bool {
    // By words: models change quotation marks, dashes and line breaks when they quote.
    let (text, quote) = (split_words(text), split_words(quote));
    !quote.is_empty() && text.windows(quote.len()).any(|window| window == quote)
}

pub(super) const SCENE_QUERY: TickTool = TickTool {
    name: "scene.query",
    about: "Returns scenes that were written, the newest first.",
    fields: &[
        ToolField::optional_field("character_id", Id(EntryKind::Character), ""),
        ToolField::optional_field("location_id", Id(EntryKind::Location), ""),
        LIMIT_FIELD,
    ],
    run: |stage, args| {
        let (character, location) = (
            optional_argument(args, "character_id"),
            optional_argument(args, "location_id"),
        );
        let limit = limit_argument(args, 5);
        let scenes: Vec<Value> = stage
            .memory
            .scenes()
            .rev()
            .filter(|scene| {
                character.as_ref().is_none_or(|id| scene.pov.as_ref() == Some(id) || scene.characters.contains(id))
            })
            .filter(|scene| location.is_none() || scene.location == location)
            .take(limit)
            .map(|scene| json!({ "id": scene.id, "title": scene.title, "tick": scene.tick, "summary": scene.summary }))
            .collect();
        Ok(json!({ "scenes": scenes }))
    },
};
