//! Reads texts of scenes into the memory, together with the readings of all other scenes.

use domain::consistency::list_facet_names;
use domain::fact::Fact;
use domain::generation::reading::{RULES_READER, SceneReading};
use domain::generation::rule_reader::{RuleReading, SceneText, read_by_rules};
use domain::generation::update::{CommittedScene, project_readings, record_scene_entry};
use domain::generation::verdict::SceneVerdict;
use domain::ids::{NodeId, VersionHash};
use domain::memory::{EntryKind, StoryMemory};
use domain::node::Node;
use domain::ports::Snapshot;
use domain::record;
use domain::search::split_words;
use domain::tick::{TickState, offline};
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::Failure;
use crate::tick::story_state::find_named_point_of_view;

/// The text of a scene, as it is now.
pub(crate) struct SceneChange {
    pub(crate) node: NodeId,
    /// `None` if there is no text any more.
    pub(crate) text: Option<String>,
    /// What a judge read in it.
    pub(crate) judged: Option<JudgedText>,
}

/// What a judge read in a text.
pub(crate) struct JudgedText {
    pub(crate) claims: SceneVerdict,
    pub(crate) reader: String,
    /// Whether a person accepted what contradicts earlier facts.
    pub(crate) is_accepted: bool,
}

/// Reads the changed texts and projects the memory again. Returns the facts that record the readings;
/// those of the memory are in the memory.
pub(crate) fn apply_changes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    memory: &mut StoryMemory,
    changes: Vec<SceneChange>,
) -> Result<Vec<Fact>, Failure> {
    // All readings and not only the changed ones: a fact may rest on an earlier scene, so the
    // memory is projected from the whole story.
    let before = load_readings(state, tree)?;
    let tick = record::read_record::<TickState>(state, TickState::KEY)?
        .unwrap_or_default()
        .current_tick;
    let mut readings = before.clone();
    for change in changes {
        let known = readings.iter().position(|it| it.node == change.node);
        let known = known.map(|at| readings.swap_remove(at));
        readings.extend(read_change(ctx, state, tree, memory, change, known, tick)?);
    }
    // In the order of the plan, whichever scene was read last: the same texts have to give the same
    // memory.
    sort_by_plan(&mut readings, tree);
    project_readings(memory, &before, &readings, tick);
    Ok(reading_facts(&before, &readings))
}

/// Returns the facts that record changed readings.
pub(super) fn reading_facts(before: &[SceneReading], after: &[SceneReading]) -> Vec<Fact> {
    let known: std::collections::HashMap<NodeId, &SceneReading> =
        before.iter().map(|it| (it.node, it)).collect();
    let changed = after.iter().filter_map(|it| {
        let was = known.get(&it.node).copied();
        if was == Some(it) {
            return None;
        }
        record::record_changed_fact(&SceneReading::record_key(it.node), was, Some(it))
    });
    changed.collect()
}

/// Returns the new reading of one scene; `None` if it has neither a text nor an earlier reading.
fn read_change(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    memory: &mut StoryMemory,
    change: SceneChange,
    known: Option<SceneReading>,
    tick: u64,
) -> Result<Option<SceneReading>, Failure> {
    let (Some(text), Some(node)) = (change.text, tree.get(change.node)) else {
        // The reading stays, marked as gone: it has the id of the scene and what a judge read, for
        // the case that the text returns.
        return Ok(known.map(|known| known.without_text()));
    };
    let path = tree.alias_path(node);
    let kept = CommittedScene {
        path: &path,
        title: node.description.title.as_deref().unwrap_or(&path),
        // A text that a judge read with its commit is of this tick; an edit does not move the scene in time.
        tick: (change.judged.is_some() || known.is_none()).then_some(tick),
        words: split_words(&text).len(),
    };
    let known_id = known.as_ref().map(|known| known.scene.clone());
    let scene = record_scene_entry(memory, kept, known_id.as_deref());
    let version = VersionHash::of_bytes(text.as_bytes());
    let found = read_scene_by_rules(ctx, state, tree, node, &text)?;
    let read = match known {
        Some(known) => SceneReading {
            scene,
            ..known.follow_edit(version, &text, found)
        },
        None => SceneReading::read_by_rules(node.id, scene, version, found),
    };
    let Some(judged) = change.judged else {
        return Ok(Some(read));
    };
    let is_placeholder = judged.reader == offline::PLANNER_NAME;
    // Whom the memory does not have yet the judge could not choose.
    let is_known = |name: &str| memory.resolve_id(EntryKind::Character, name).is_some();
    let mut read = read.with_verdict(judged.claims, judged.reader, judged.is_accepted, is_known);
    // A placeholder was put together by rules; no judge read it.
    if is_placeholder {
        RULES_READER.clone_into(&mut read.reader);
        read.judged = None;
    }
    Ok(Some(read))
}

/// Reads a text by rules, with what its blueprint says about cast and places.
fn read_scene_by_rules(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    node: &Node,
    text: &str,
) -> Result<RuleReading, Failure> {
    let blueprint = node
        .content
        .version_hash()
        .map(|version| state.load_text(version))
        .transpose()?
        .flatten()
        .unwrap_or_default();
    let profile = ctx.find_profile(&node.profile);
    let names = |facet: &str| {
        profile.map_or_else(Vec::new, |profile| {
            list_facet_names(profile, facet, &blueprint)
        })
    };
    let pov = find_named_point_of_view(state, tree, node)?;
    Ok(read_by_rules(SceneText {
        text,
        blueprint: &blueprint,
        characters: &names("characters"),
        locations: &names("locations"),
        pov: pov.as_deref(),
    }))
}

/// Returns all readings in the order of the plan.
pub(super) fn load_readings(
    state: &dyn Snapshot,
    tree: &Tree,
) -> Result<Vec<SceneReading>, Failure> {
    let mut readings: Vec<SceneReading> = record::read_records::<SceneReading>(state, "")?
        .into_iter()
        .map(|(_, reading)| reading)
        .collect();
    sort_by_plan(&mut readings, tree);
    Ok(readings)
}

/// Sorts readings by the order of their nodes. Those of nodes that are gone come first: their scenes were
/// written, and nothing says after which.
fn sort_by_plan(readings: &mut [SceneReading], tree: &Tree) {
    let order: std::collections::HashMap<NodeId, usize> = tree
        .all_preorder()
        .into_iter()
        .enumerate()
        .map(|(at, node)| (node.id, at))
        .collect();
    readings.sort_by_key(|reading| order.get(&reading.node).copied());
}
