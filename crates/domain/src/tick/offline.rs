//! Offline planner: deterministic rules instead of a model.
//!
//! It invents nothing: whatever it introduces is named in the plan files. It exists so that the
//! loop can be run, tried out and tested anywhere, and knows nothing about good stories.

use serde_json::{Value, json};

use super::context::StoryView;
use super::tools::PlanNode;
use crate::memory::{Character, EntryKind, OpenLoop, StoryMemory};
use crate::search::split_words;

/// Planner name in the records of its ticks.
pub const PLANNER_NAME: &str = "offline";

/// Characters and locations that the plan files name, in order of appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedInPlan {
    pub characters: Vec<String>,
    pub locations: Vec<String>,
}

/// Maximum number of loops that one plan closes.
const MAX_CLOSED_LOOPS: usize = 3;

/// Returns the plan for the next tick; `None` if the book is written and nothing of the plan is open.
/// Deterministic: the same state gives the same plan.
#[must_use]
pub fn plan_offline(
    story: &StoryView<'_>,
    named: &NamedInPlan,
    prose: &dyn Fn(&str) -> Option<String>,
) -> Option<Value> {
    let (memory, tick) = (story.memory, story.tick);
    let subject = choose_node(story).map(describe_node);
    let mut actions = Vec::new();
    close_loops(story, prose, &mut actions);
    let (pov, introduced) = choose_point_of_view(story, named, &mut actions);
    let place = choose_setting(memory, named, &mut actions);
    // A plan that has no node to write yet still introduces its people and places.
    let has_nodes = story.nodes.iter().any(|node| node.is_written);
    if subject.is_none() && actions.is_empty() && has_nodes {
        return None;
    }
    // One step at a time: a plan that introduces a character leaves relationships to a later tick.
    if !introduced {
        plan_relationship(memory, pov.as_deref(), tick, &mut actions);
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
    Some(plan)
}

/// Chooses the first open node that no tick has taken up, so that every blueprint has its turn; then they
/// take turns.
fn choose_node<'a>(story: &StoryView<'a>) -> Option<&'a PlanNode> {
    let open: Vec<&PlanNode> = story
        .nodes
        .iter()
        .filter(|node| node.is_written && node.progress != "complete")
        .collect();
    // The loop it opens is the mark that a tick has taken the node up.
    let is_new = |node: &&&PlanNode| {
        let question = ask_about(&describe_node(node));
        !story.memory.loops().any(|it| it.text == question)
    };
    let turn = usize::try_from(story.tick.saturating_sub(1)).unwrap_or(0);
    let in_turn = || open.get(turn % open.len().max(1));
    open.iter().find(is_new).or_else(in_turn).copied()
}

/// Returns a node as plans name it.
fn describe_node(node: &PlanNode) -> String {
    format!(
        "{} ({})",
        node.title.as_deref().unwrap_or(&node.path),
        node.path
    )
}

/// Returns the question that a node opens.
fn ask_about(subject: &str) -> String {
    format!("How does {subject} turn out?")
        .chars()
        .take(280)
        .collect()
}

/// Closes the questions of nodes that are written, with the last sentence of their text.
fn close_loops(
    story: &StoryView<'_>,
    prose: &dyn Fn(&str) -> Option<String>,
    actions: &mut Vec<Value>,
) {
    let written = story
        .nodes
        .iter()
        .filter(|node| node.is_written && node.progress == "complete");
    for node in written {
        let question = ask_about(&describe_node(node));
        let is_asked = |it: &&&OpenLoop| it.text == question;
        let open = story.memory.open_loops();
        let Some(asked) = open.iter().find(is_asked) else {
            continue;
        };
        let scene = story
            .memory
            .scenes()
            .find(|scene| scene.node.as_deref() == Some(&node.path));
        let last = prose(&node.path).and_then(|text| last_sentence(&text));
        // `loop.close` has to quote a committed scene; without one the loop stays open.
        let (Some(scene), Some(evidence)) = (scene, last) else {
            continue;
        };
        actions.push(json!({
            "tool": "loop.close",
            "args": { "loop_id": asked.id, "outcome": "resolved", "reason": "the scene is written",
                      "scene_id": scene.id, "evidence": evidence },
            "reason": "its scene is written",
        }));
        if actions.len() >= MAX_CLOSED_LOOPS {
            break;
        }
    }
}

/// Returns the last sentence of a text.
fn last_sentence(text: &str) -> Option<String> {
    let mut sentences = text.split(['.', '!', '?', '…', '\n']).map(str::trim);
    let last = sentences.rfind(|it| !split_words(it).is_empty())?;
    Some(last.chars().take(380).collect())
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
    // The new character has no id before the plan runs: `$N.id` is the result of action N.
    (active.or_else(|| Some(format!("${index}.id"))), true)
}

/// Whether the memory has an entry for a name of the plan: under this name, an alias or a part of either.
fn is_known(memory: &StoryMemory, kind: EntryKind, name: &str) -> bool {
    let words = split_words(name);
    // The plan may give the full name of someone the memory knows by a part of it.
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
    let description = ask_about(subject);
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
