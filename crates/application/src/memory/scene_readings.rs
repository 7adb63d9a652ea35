//! Applies what was read in a scene's text to the memory, together with the readings of all other scenes.

use domain::fact::Fact;
use domain::generation::update::{
    CommittedScene, SceneReading, project_readings, record_scene_entry,
};
use domain::generation::verdict::SceneVerdict;
use domain::ids::{NodeId, VersionHash};
use domain::memory::StoryMemory;
use domain::ports::Snapshot;
use domain::record;
use domain::tree::Tree;

use crate::failure::Failure;

/// A text that was read.
pub(crate) struct ReadScene {
    pub(crate) node: NodeId,
    pub(crate) version: VersionHash,
    pub(crate) claims: SceneVerdict,
}

/// Puts a reading in place of the earlier one of its scene and projects the memory again. Returns the facts
/// that record the reading; those of the memory are in the memory.
pub(crate) fn apply_reading(
    state: &dyn Snapshot,
    tree: &Tree,
    memory: &mut StoryMemory,
    read: ReadScene,
    kept: CommittedScene<'_>,
) -> Result<Option<Fact>, Failure> {
    let before = load_readings(state, tree)?;
    let scene = record_scene_entry(memory, &read.claims, kept);
    let reading = SceneReading {
        node: read.node,
        scene,
        version: read.version,
        // Findings are the review's; only claims are projected.
        claims: SceneVerdict {
            findings: Vec::new(),
            ..read.claims
        },
    };
    let known = before.iter().find(|it| it.node == read.node).cloned();
    let mut readings: Vec<SceneReading> = before
        .iter()
        .filter(|it| it.node != read.node)
        .cloned()
        .collect();
    readings.push(reading.clone());
    sort_by_plan(&mut readings, tree);
    project_readings(memory, &before, &readings, kept.tick);
    Ok(record::record_changed_fact(
        &SceneReading::record_key(read.node),
        known.as_ref(),
        Some(&reading),
    ))
}

/// Returns all readings in the order of the plan.
fn load_readings(state: &dyn Snapshot, tree: &Tree) -> Result<Vec<SceneReading>, Failure> {
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
