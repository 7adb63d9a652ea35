//! Updates the memory from a committed scene. Drafts never reach the memory.

use super::continuity;
use super::record::Generation;
use super::verdict::{AdvancedLoop, NewFact, NewLoop};
use crate::memory::{
    Entry, EntryKind, Importance, LoopStatus, OpenLoop, Scene, StoryFact, StoryMemory, Truth,
};

/// Facts about a committed scene besides its text.
#[derive(Clone, Copy, Debug)]
pub struct CommittedScene<'a> {
    pub title: &'a str,
    pub tick: u64,
    pub words: usize,
}

/// Records a scene and the proven claims of its judge in the memory, and returns the scene's id.
pub fn record_committed_scene(
    memory: &mut StoryMemory,
    generation: &Generation,
    blueprint: &str,
    kept: CommittedScene<'_>,
) -> String {
    let CommittedScene { title, tick, words } = kept;
    let pov = continuity::find_point_of_view(blueprint, memory).map(|it| it.id.clone());
    let verdict = generation.verdict.clone().unwrap_or_default();
    let known = memory
        .scenes()
        .find(|scene| scene.node.as_deref() == Some(generation.scene.as_str()))
        .cloned();
    let characters: Vec<String> = verdict
        .characters
        .iter()
        .filter_map(|id| memory.resolve_id(EntryKind::Character, id))
        .collect();
    let scene = Scene {
        id: known
            .as_ref()
            .map(|scene| scene.id.clone())
            .unwrap_or_default(),
        title: title.to_owned(),
        tick,
        node: Some(generation.scene.clone()),
        pov: pov.or_else(|| characters.first().cloned()),
        characters: characters.clone(),
        summary: verdict.summary,
        words: words as u64,
        ..known.clone().unwrap_or_default()
    };
    // A rewritten scene keeps its id, because facts and loops refer to it.
    let id = if known.is_some() {
        let id = scene.id.clone();
        memory.put_entry(Entry::Scene(scene));
        id
    } else {
        memory.add_entry(Entry::Scene(scene))
    };
    let learnt = record_facts(memory, verdict.facts, &id);
    // Only the characters who were present know the new facts from now on.
    for id in &characters {
        if let Some(Entry::Character(mut it)) = memory.get(id).cloned() {
            it.knows.extend(learnt.iter().cloned());
            memory.put_entry(Entry::Character(it));
        }
    }
    advance_loops(memory, verdict.loops, &id);
    add_loops(memory, verdict.new_loops, &id, tick);
    id
}

/// Adds the facts of a scene, and returns the ids of the new ones.
fn record_facts(memory: &mut StoryMemory, facts: Vec<NewFact>, scene: &str) -> Vec<String> {
    let mut learnt = Vec::new();
    for new in facts {
        // A judge writes names or ids. A subject that is no character, such as a ship, keeps its
        // words.
        let subject = memory
            .resolve_id(EntryKind::Character, &new.subject)
            .unwrap_or(new.subject);
        let same = |fact: &&StoryFact| {
            fact.subject == subject
                && fact.predicate.eq_ignore_ascii_case(&new.predicate)
                && fact.valid_to.is_none()
        };
        let earlier = memory.facts().find(same).cloned();
        let agrees = earlier
            .as_ref()
            .is_some_and(|fact| fact.object.eq_ignore_ascii_case(&new.object));
        if agrees {
            continue;
        }
        // A fact that contradicts an earlier one is not canon until a person says so; which of the
        // two is the mistake cannot be computed.
        let truth = if earlier.is_some() {
            Truth::Disputed
        } else {
            Truth::Canon
        };
        let fact = memory.add_entry(Entry::Fact(StoryFact {
            subject,
            predicate: new.predicate,
            object: new.object,
            valid_from: Some(scene.to_owned()),
            truth,
            quote: Some(new.quote),
            ..StoryFact::default()
        }));
        learnt.push(fact);
    }
    learnt
}

/// Advances or resolves the loops that a scene moved.
fn advance_loops(memory: &mut StoryMemory, moves: Vec<AdvancedLoop>, scene: &str) {
    for moved in moves {
        let Some(Entry::Loop(mut it)) = memory.get(&moved.loop_id).cloned() else {
            continue;
        };
        // A loop that was closed meanwhile is not reopened by a judge that saw an older list.
        if !it.status.is_open() {
            continue;
        }
        it.status = LoopStatus::Advanced;
        it.evidence = Some(moved.quote);
        it.reason = Some(moved.reason);
        if moved.outcome == "resolved" {
            it.status = LoopStatus::Resolved;
            it.closed_in_scene = Some(scene.to_owned());
        }
        memory.put_entry(Entry::Loop(it));
    }
}

/// Adds the loops that a scene opened.
fn add_loops(memory: &mut StoryMemory, loops: Vec<NewLoop>, scene: &str, tick: u64) {
    for new in loops {
        // A resumed or repeated commit must not add the same loop twice.
        if memory.loops().any(|it| it.text == new.description) {
            continue;
        }
        let importance = match new.importance.as_str() {
            "low" => Importance::Low,
            "high" => Importance::High,
            "critical" => Importance::Critical,
            _ => Importance::Medium,
        };
        let text = new.description;
        let created_in_scene = Some(scene.to_owned());
        memory.add_entry(Entry::Loop(OpenLoop {
            importance,
            text,
            created_in_scene,
            created_tick: tick,
            ..OpenLoop::default()
        }));
    }
}
