//! Resolves the files a tool call names to plans and their nodes.

use domain::approval::UndecidedPlan;
use domain::host_event::{FileEffect, HostEvent};
use domain::ids::NodeId;
use domain::node::{Node, Status};
use domain::plan_document::{DocumentRecord, split_document_path};
use domain::ports::{PlanFiles, Snapshot, StoreFault};
use domain::profile::{PlanPlace, Profile, locate_items, locate_plan};
use domain::record;

use crate::locate::load_parent;
use crate::scan::ScanScope;

/// A plan file that a tool call touches.
#[derive(Clone, Debug)]
pub struct TouchedPlan<'p> {
    /// Relative to the project, links followed.
    pub file: String,
    pub place: PlanPlace<'p>,
    pub effect: FileEffect,
}

/// Returns the plans a tool call touches. Resolves paths on disk, never reads the store.
#[must_use]
pub fn touched_plans<'p>(
    files: &dyn PlanFiles,
    profiles: &'p [Profile],
    event: &HostEvent,
) -> Vec<TouchedPlan<'p>> {
    let Some(call) = event.happening.tool_call() else {
        return Vec::new();
    };
    let directory = event.directory.as_deref();
    let plan_at = |path: &str, effect: &FileEffect| {
        let file = files.resolve_path(directory, path)?;
        let place = locate_plan(profiles, &file)?;
        Some(TouchedPlan {
            file,
            place,
            effect: effect.clone(),
        })
    };
    let mut found: Vec<TouchedPlan<'p>> = call
        .touches
        .iter()
        .filter_map(|touch| plan_at(&touch.path, &touch.effect))
        .collect();
    if let Some(line) = call.shell_line() {
        let written = line.written_files();
        found.extend(
            written
                .iter()
                .filter_map(|(path, effect)| plan_at(path, effect)),
        );
        // A host without a read tool reads with the shell (`cat`), so a file that a command names
        // counts as read; otherwise `read-before-write` would block every later edit.
        let is_written = |word: &str| written.iter().any(|(path, _)| *path == word);
        found.extend(
            path_like_words(call.command.as_deref().unwrap_or_default())
                .filter(|word| !is_written(word))
                .filter_map(|word| plan_at(word, &FileEffect::Read)),
        );
    }
    found
}

/// Returns the changed files of a tool call that are not plans, relative to the project.
#[must_use]
pub fn touched_files(
    files: &dyn PlanFiles,
    profiles: &[Profile],
    event: &HostEvent,
) -> Vec<String> {
    let Some(call) = event.happening.tool_call() else {
        return Vec::new();
    };
    let line = call.shell_line().unwrap_or_default();
    let by_command = line.written_files().into_iter();
    let by_tool = call
        .touches
        .iter()
        .map(|touch| (touch.path.as_str(), touch.effect.clone()));
    by_tool
        .chain(by_command)
        .filter(|(_, effect)| effect.modifies_file())
        .filter_map(|(path, _)| files.resolve_path(event.directory.as_deref(), path))
        .filter(|file| locate_plan(profiles, file).is_none())
        .collect()
}

/// Returns the plans whose items are in files that a call changes.
pub(super) fn touched_item_plans<'p>(
    profiles: &'p [Profile],
    files: &[String],
) -> Vec<PlanPlace<'p>> {
    files
        .iter()
        .filter_map(|file| locate_items(profiles, file))
        .collect()
}

/// Returns the recorded nodes of the plan documents whose `plan.json` a call changes.
pub(super) fn touched_documents(
    state: &dyn Snapshot,
    files: &[String],
) -> Result<Vec<NodeId>, StoreFault> {
    let mut found = Vec::new();
    for id in files.iter().filter_map(|file| document_of_plan_file(file)) {
        if let Some(record) = record::read_record::<DocumentRecord>(state, id)?
            && !found.contains(&record.node)
        {
            found.push(record.node);
        }
    }
    Ok(found)
}

/// Returns the document whose `plan.json` a file is.
pub(super) fn document_of_plan_file(file: &str) -> Option<&str> {
    let (id, name) = split_document_path(file)?;
    (name == "plan.json").then_some(id)
}

/// Returns the words of a command line or a prompt that may be paths of plans.
pub(super) fn path_like_words(text: &str) -> impl Iterator<Item = &str> {
    let separators = |c: char| c.is_whitespace() || "'\"`;|&<>()=,".contains(c);
    let words = text.split(separators);
    // A word without a slash or a dot is a program, an option or text. The limits bound the work
    // for a command line with a whole document in it: every word left costs a path resolution.
    words
        .filter(|word| word.contains(['/', '.']) && word.len() < 512)
        .take(256)
}

/// A plan's node and its parent, as recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedPlan {
    pub(crate) node: Option<Node>,
    pub(crate) parent: Option<Node>,
    /// The uppermost plan above the node that is not approved.
    pub(crate) undecided: Option<UndecidedPlan>,
}

/// Finds the node of a plan file's place, and its parent.
pub(crate) fn find_recorded(
    state: &dyn Snapshot,
    place: &PlanPlace<'_>,
) -> Result<RecordedPlan, StoreFault> {
    let mut found = RecordedPlan::default();
    for (depth, alias) in place.aliases.iter().enumerate() {
        let candidates = match (depth, &found.node) {
            (0, _) => state.nodes_by_alias(alias)?,
            (_, Some(above)) => state.children_by_alias(above.id, alias)?,
            (_, None) => return Ok(RecordedPlan::default()),
        };
        // In a flat level (tickets) the path says nothing about the parent; the front matter does.
        let flat = place.level.is_flat();
        let fits = |node: &Node| {
            node.profile == place.profile.name && (depth > 0 || flat || node.parent.is_none())
        };
        found.parent = found.node.take();
        found.node = candidates.into_iter().find(fits);
        if let (None, Some(parent)) = (&found.undecided, &found.parent) {
            found.undecided = describe_undecided(place, depth, parent);
        }
    }
    if place.level.is_flat()
        && let Some(node) = &found.node
    {
        found.parent = load_parent(state, node)?;
    }
    Ok(found)
}

/// Returns the plan at the first `depth` aliases of a place if it waits for a decision.
fn describe_undecided(place: &PlanPlace<'_>, depth: usize, node: &Node) -> Option<UndecidedPlan> {
    let level = place.profile.find_level(&node.level);
    // A level without files has nothing to approve by itself.
    let is_asked = level.is_none_or(|level| level.file.is_some());
    let path = || place.aliases.get(..depth).unwrap_or_default().join("/");
    (is_asked && node.status() != Status::Approved).then(|| UndecidedPlan {
        path: path(),
        status: node.status(),
    })
}

/// Returns the smallest scan scope that shows what happens to a plan.
pub(super) fn scan_scope_of(
    state: &dyn Snapshot,
    place: &PlanPlace<'_>,
) -> Result<ScanScope, StoreFault> {
    let found = find_recorded(state, place)?;
    Ok(match (found.node, found.parent) {
        (Some(node), _) => ScanScope::Lineage(node.id),
        (None, Some(parent)) => ScanScope::Lineage(parent.id),
        // The parent itself may have been written a moment ago and be unknown yet.
        (None, None) => ScanScope::Everything,
    })
}
