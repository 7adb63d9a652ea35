//! Offline planner: deterministic rules instead of a model.
//!
//! It invents nothing: whatever it introduces is named in the plan files. It exists so that the
//! loop can be run, tried out and tested anywhere, and knows nothing about good stories.

use serde_json::{Value, json};

use super::context::StoryView;
use super::tools::PlanNode;
use crate::memory::{Character, EntryKind, StoryMemory};
use crate::search::split_words;

/// Planner name in the records of its ticks.
pub const PLANNER_NAME: &str = "offline";

/// Characters and locations that the plan files name, in order of appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedInPlan {
    pub characters: Vec<String>,
    pub locations: Vec<String>,
}

/// Returns the plan for the next tick. Deterministic: the same state gives the same plan.
#[must_use]
pub fn plan_offline(story: &StoryView<'_>, named: &NamedInPlan) -> Value {
    let memory = story.memory;
    let tick = story.tick;
    let open: Vec<&PlanNode> = story
        .nodes
        .iter()
        .filter(|node| node.is_written && node.progress != "complete")
        .collect();
    // Round robin over the open nodes: without progress on a node, the next tick takes another one.
    let turn = usize::try_from(tick.saturating_sub(1)).unwrap_or(0);
    let node = open.get(turn % open.len().max(1)).copied();
    let subject = node.map(|node| {
        format!(
            "{} ({})",
            node.title.as_deref().unwrap_or(&node.path),
            node.path
        )
    });
    let mut actions = Vec::new();
    let (pov, introduced) = choose_point_of_view(story, named, &mut actions);
    let place = choose_setting(memory, named, &mut actions);
    // One step at a time: a plan that introduces a character leaves relationships to a later tick.
    match introduced {
        true => {}
        false => plan_relationship(memory, pov.as_deref(), tick, &mut actions),
    }
    plan_memory(memory, subject.as_deref(), tick, &mut actions);
    let about = subject.unwrap_or_else(|| "what is still open".to_owned());
    let waited = memory
        .open_loops()
        .first()
        .map(|it| it.text.replace('\n', " "));
    let intention = match &waited {
        Some(waited) => format!("Take up {about}; keep in mind: {waited}"),
        None => format!("Take up {about}"),
    };
    let mut plan = json!({
        "rationale": "Made by rules, without a model: the next open part of the plan, and what the plan names but the memory lacks.",
        // Below the 500 of the schema, which this planner has to obey like any other.
        "scene_intention": intention.chars().take(480).collect::<String>(),
        "actions": actions,
        "expected_outcomes": [format!("{about} is prepared to be written")],
    });
    if let Some(pov) = pov {
        plan["pov_character"] = json!(pov);
    }
    if let Some(place) = place {
        plan["target_location"] = json!(place);
    }
    plan
}

/// Chooses the point-of-view character, and introduces the next character that the plan names.
fn choose_point_of_view(
    story: &StoryView<'_>,
    named: &NamedInPlan,
    actions: &mut Vec<Value>,
) -> (Option<String>, bool) {
    let memory = story.memory;
    let missing = named
        .characters
        .iter()
        .find(|name| !is_known(memory, EntryKind::Character, name));
    // An empty memory gets a stand-in, because a scene needs a point of view.
    let nobody = memory.characters().next().is_none();
    let stand_in = "The protagonist".to_owned();
    let Some(name) = missing.or(nobody.then_some(&stand_in)) else {
        return (story.active_character().map(|it| it.id.clone()), false);
    };
    let index = actions.len();
    actions.push(json!({
        "tool": "character.generate",
        "args": { "name": name, "role": if nobody { "protagonist" } else { "character of the plan" },
                  "description": "Named in the plan; nothing more is known yet." },
        "reason": "the plan names them, the memory does not",
    }));
    let active = story.active_character().map(|it| it.id.clone());
    (active.or_else(|| Some(format!("${index}.id"))), true)
}

/// Whether the memory has an entry for a name of the plan: under this name, an alias or a part of either.
fn is_known(memory: &StoryMemory, kind: EntryKind, name: &str) -> bool {
    let words = split_words(name);
    let is_part = |known: &str| {
        let parts = split_words(known);
        !parts.is_empty() && parts.iter().all(|part| words.contains(part))
    };
    memory.resolve_id(kind, name).is_some()
        || memory.entries_of_kind(kind).any(|it| is_part(&it.name()))
}

fn choose_setting(
    memory: &StoryMemory,
    named: &NamedInPlan,
    actions: &mut Vec<Value>,
) -> Option<String> {
    // One new location per tick, so that the story meets them one by one.
    let missing = named
        .locations
        .iter()
        .find(|name| !is_known(memory, EntryKind::Location, name));
    let Some(name) = missing else {
        return memory.locations().next().map(|it| it.id.clone());
    };
    let index = actions.len();
    actions.push(json!({
        "tool": "location.generate",
        "args": { "name": name, "description": "Named in the plan; nothing more is known yet." },
        "reason": "the plan names it, the memory does not",
    }));
    Some(format!("${index}.id"))
}

/// Creates a relationship between unrelated characters, or queries an existing one.
fn plan_relationship(memory: &StoryMemory, pov: Option<&str>, tick: u64, actions: &mut Vec<Value>) {
    let Some(pov) = pov else { return };
    let tied = |other: &Character| {
        memory
            .relationships()
            .any(|tie| tie.is_between(pov, &other.id))
    };
    let others: Vec<&Character> = memory.characters().filter(|it| it.id != pov).collect();
    if let Some(other) = others.iter().find(|other| !tied(other)) {
        actions.push(json!({
            "tool": "relationship.create",
            "args": { "character_a": pov, "character_b": other.id, "relationship_type": "in the same story",
                      "perspective_a": "not known yet", "perspective_b": "not known yet" },
            "reason": "both are there, nothing is between them yet",
        }));
        return;
    }
    let turn = usize::try_from(tick).unwrap_or(0);
    if let Some(other) = others.get(turn % others.len().max(1)) {
        actions.push(
            json!({ "tool": "relationship.query", "args": { "character_id": other.id },
                             "reason": "to know how things stand" }),
        );
    }
}

/// Opens a loop for a node that has none, or searches what is known about it.
fn plan_memory(memory: &StoryMemory, subject: Option<&str>, tick: u64, actions: &mut Vec<Value>) {
    let Some(subject) = subject else { return };
    let description: String = format!("How does {subject} turn out?")
        .chars()
        .take(280)
        .collect();
    // Compared with closed loops as well, or a settled question would be asked again.
    if memory.loops().any(|it| it.text == description) {
        let words: String = subject.chars().take(120).collect();
        actions
            .push(json!({ "tool": "memory.search", "args": { "query": words, "limit": 3 }, "reason": "to recall it" }));
    } else {
        actions.push(json!({
            "tool": "loop.open",
            "args": { "description": description, "category": "plan", "importance": if tick == 1 { "high" } else { "medium" } },
            "reason": "the plan promises it",
        }));
    }
}
