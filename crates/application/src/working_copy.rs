//! Working copy of a shared state: how its files differ, and what of it a reader or a writer sees.
//!
//! On a team server or a shared database the text of a plan is the one that was submitted. A
//! working copy's own texts are laid over the shared state for its reader, in memory; an observation
//! is never recorded there. A file that is missing here, or has a text the plan had before, says
//! only that this copy is behind: both are listed, and neither changes a status.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::{Digest32, NodeId, OperationId, VersionHash};
use domain::node::{Content, Node};
use domain::observation::{NewNode, ObservedContent, ObservedFile, OwningNode};
use domain::operation::{Channel, Verb};
use domain::ports::{Snapshot, StoreFault, Transaction};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::{Context, Notice};
use crate::failure::{Failure, FailureKind};
use crate::file_writes::PlannedFiles;
use crate::locate::{find_node, load_node_path};
use crate::observe::{derive_operation, record_sightings};
use crate::overlay::{FIRST_NEW_NODE, Overlay};
use crate::scan::{ScanResult, ScanScope, scan_plan_files};

/// Note of a local state that another working copy has sent operations to.
pub(crate) const SHARED_NOTE: &str = "team/receives";

/// Minimum number of new file stamps that are worth the write lock.
const MIN_STAMPS_TO_WRITE: usize = 32;

/// How a plan of this working copy differs from the shared state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceKind {
    /// The shared state does not have the plan.
    New,
    /// A text the plan never had.
    Changed,
    /// A text the plan had before: this copy is behind.
    Outdated,
    /// There is no file here.
    Missing,
    /// The file cannot be read as a plan.
    Unreadable,
}

impl DifferenceKind {
    /// Returns the word for it in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Outdated => "outdated",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
        }
    }

    /// Whether it is a text of this copy that the others do not have yet.
    pub(crate) fn is_own_text(self) -> bool {
        matches!(self, Self::New | Self::Changed)
    }

    /// Whether the reader of this copy sees it over the shared state.
    fn is_laid_over(self) -> bool {
        matches!(self, Self::New | Self::Changed | Self::Unreadable)
    }
}

/// A plan of this working copy that differs from the shared state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CopyDifference {
    /// Path of the node.
    pub node: String,
    pub kind: DifferenceKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Returns the commands that bring this working copy and the shared state together.
#[must_use]
pub fn describe_next_step(differences: &[CopyDifference]) -> String {
    let is_behind = |one: &&CopyDifference| {
        matches!(one.kind, DifferenceKind::Outdated | DifferenceKind::Missing)
    };
    match differences.iter().filter(is_behind).count() {
        0 => "tl submit".to_owned(),
        all if all == differences.len() => "git pull".to_owned(),
        some => format!("tl submit; {some} only behind: git pull"),
    }
}

/// Returns how this working copy differs from the shared state, for an edge that shows the shared
/// state itself; none where the state is not shared.
pub(crate) fn find_copy_differences(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<CopyDifference>, Failure> {
    if !is_state_shared(ctx, state)? {
        return Ok(Vec::new());
    }
    let seen = scan_plan_files(ctx, state, ScanScope::Everything, NodeId(FIRST_NEW_NODE))?;
    let kinds = classify_sightings(state, &seen)?;
    Ok(describe_sightings(state, &seen, &kinds)?)
}

/// Whether other working copies share this state, so that nothing is recorded by looking.
pub(crate) fn is_state_shared(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<bool, StoreFault> {
    // The note is read last: engines that are always shared need no query for it.
    Ok(ctx.store.is_shared() || state.load_note(SHARED_NOTE)?.is_some())
}

/// Whether this edge shows the shared state itself, without the texts of the copy it runs on.
///
/// A dashboard is looked at by people whose files are elsewhere, and two dashboards on two copies
/// have to show the same.
pub(crate) fn shows_shared_state(ctx: &Context<'_>) -> bool {
    ctx.channel == Channel::Web
}

/// Returns the snapshot with the texts of this working copy laid over it.
pub(crate) fn overlay_copy<'s>(
    ctx: &Context<'s>,
    snapshot: Box<dyn Snapshot + 's>,
    mut seen: ScanResult,
) -> Result<Box<dyn Snapshot + 's>, Failure> {
    let kinds = classify_sightings(&*snapshot, &seen)?;
    // Set before the dashboard leaves: it shows the shared state, but says how the copy it runs on
    // differs.
    ctx.set_copy_differences(describe_sightings(&*snapshot, &seen, &kinds)?);
    if shows_shared_state(ctx) {
        return Ok(snapshot);
    }
    let snapshot = save_stamps(ctx, snapshot, &seen)?;
    let keep = |index: usize| kinds[index].is_some_and(DifferenceKind::is_laid_over);
    let mut taken = BTreeSet::new();
    keep_sightings(&mut seen, keep, |new| local_node_id(new, &mut taken));
    let mut overlay = Overlay::new(snapshot);
    if let Some((_, operation)) = derive_operation(ctx, &mut overlay, &seen, Verb::Observe)? {
        overlay.record_operation(operation)?;
        return Ok(Box::new(overlay));
    }
    Ok(overlay.into_base())
}

/// Caches the stamps of files that are as recorded, so that the next scan does not read them.
fn save_stamps<'s>(
    ctx: &Context<'s>,
    snapshot: Box<dyn Snapshot + 's>,
    seen: &ScanResult,
) -> Result<Box<dyn Snapshot + 's>, Failure> {
    // A stamp beside another text than the recorded one proves nothing at the next scan.
    let differing: BTreeSet<NodeId> = seen.sightings.iter().map(owner_id).collect();
    let stamps: Vec<_> = seen
        .stamps
        .iter()
        .filter(|(id, ..)| !differing.contains(id))
        .copied()
        .collect();
    if stamps.len() < MIN_STAMPS_TO_WRITE {
        return Ok(snapshot);
    }
    // Stamps belong to this working copy and are no operation. A state that cannot be written is
    // read without them.
    drop(snapshot);
    if let Ok(mut tx) = ctx.store.begin_write() {
        let _ = tx.save_file_stamps(&stamps).and_then(|()| tx.commit());
    }
    Ok(ctx.store.begin_read()?)
}

/// Returns the id of a node that only this copy has: the same for the same file at every look.
fn local_node_id(new: &NewNode, taken: &mut BTreeSet<u32>) -> NodeId {
    let name = format!(
        "{} {:?} {:?} {}",
        new.profile, new.parent, new.path, new.alias
    );
    let digest = Digest32::of_bytes(name.as_bytes());
    let [a, b, c, d, ..] = digest.0;
    let mut id = FIRST_NEW_NODE + u32::from_be_bytes([a, b, c, d]) % FIRST_NEW_NODE;
    while !taken.insert(id) {
        id = FIRST_NEW_NODE + (id - FIRST_NEW_NODE + 1) % FIRST_NEW_NODE;
    }
    NodeId(id)
}

/// Returns what each sighting of a scan says about the copy; `None` for the recorded text.
pub(crate) fn classify_sightings(
    state: &dyn Snapshot,
    seen: &ScanResult,
) -> Result<Vec<Option<DifferenceKind>>, StoreFault> {
    seen.sightings
        .iter()
        .map(|sighting| classify_sighting(state, sighting))
        .collect()
}

fn classify_sighting(
    state: &dyn Snapshot,
    sighting: &ObservedFile,
) -> Result<Option<DifferenceKind>, StoreFault> {
    let kind = match (&sighting.place, &sighting.found) {
        (_, ObservedContent::Unreadable { .. }) => DifferenceKind::Unreadable,
        (OwningNode::New(_) | OwningNode::Returned(_), _) => DifferenceKind::New,
        (OwningNode::Known(_), ObservedContent::Missing) => DifferenceKind::Missing,
        (OwningNode::Known(id), ObservedContent::Text { version, .. }) => {
            let recorded = state.load_node(*id)?.map(|node| node.content);
            // The recorded text, described otherwise by another version of the program: two of them
            // would change it back and forth.
            if recorded.as_ref().and_then(Content::version_hash) == Some(*version) {
                return Ok(None);
            }
            // A text that the team had before and has replaced since.
            match state.load_version(*id, *version)? {
                Some(_) => DifferenceKind::Outdated,
                None => DifferenceKind::Changed,
            }
        }
    };
    Ok(Some(kind))
}

/// Returns the differences of a scan by node, without those of items in a file that is listed.
pub(crate) fn describe_sightings(
    state: &dyn Snapshot,
    seen: &ScanResult,
    kinds: &[Option<DifferenceKind>],
) -> Result<Vec<CopyDifference>, StoreFault> {
    let names = SightingNames::of_scan(seen);
    let mut found = Vec::new();
    for (sighting, kind) in seen.sightings.iter().zip(kinds) {
        let Some(kind) = *kind else { continue };
        let (node, file) = match &sighting.place {
            OwningNode::Known(id) => match state.load_node(*id)? {
                Some(node) => (load_node_path(state, &node)?, node.path),
                None => continue,
            },
            // A folder without a plan of its own is only there for those below it.
            OwningNode::New(_) if sighting.found == ObservedContent::Missing => continue,
            OwningNode::New(new) => (names.path_of(state, new)?, new.path.clone()),
            OwningNode::Returned(node) => (load_node_path(state, node)?, node.path.clone()),
        };
        found.push(CopyDifference { node, kind, file });
    }
    // The order of a scan follows the folders, and missing files come last.
    found.sort_by(|one, other| one.node.cmp(&other.node));
    Ok(found)
}

/// The names of nodes that only a scan knows.
pub(crate) struct SightingNames<'s> {
    new: BTreeMap<NodeId, &'s NewNode>,
}

impl<'s> SightingNames<'s> {
    pub(crate) fn of_scan(seen: &'s ScanResult) -> Self {
        let new = seen.sightings.iter().filter_map(|one| match &one.place {
            OwningNode::New(new) => Some((new.id, new)),
            OwningNode::Known(_) | OwningNode::Returned(_) => None,
        });
        Self { new: new.collect() }
    }

    /// Returns the path of a new node.
    pub(crate) fn path_of(
        &self,
        state: &dyn Snapshot,
        new: &NewNode,
    ) -> Result<String, StoreFault> {
        let mut parts = vec![new.alias.clone()];
        let mut above = new.parent;
        while let Some(id) = above {
            let Some(parent) = self.new.get(&id) else {
                if let Some(node) = state.load_node(id)? {
                    parts.push(load_node_path(state, &node)?);
                }
                break;
            };
            parts.push(parent.alias.clone());
            above = parent.parent;
        }
        parts.reverse();
        Ok(parts.join("/"))
    }

    /// Returns a node's parent, which may be new as well.
    pub(crate) fn parent_of(
        &self,
        state: &dyn Snapshot,
        id: NodeId,
    ) -> Result<Option<NodeId>, StoreFault> {
        match self.new.get(&id) {
            Some(new) => Ok(new.parent),
            None => Ok(state.load_node(id)?.and_then(|node| node.parent)),
        }
    }
}

/// Returns the node a sighting is about.
pub(crate) fn owner_id(sighting: &ObservedFile) -> NodeId {
    sighting.place.node_id()
}

/// Drops the sightings that `keep` does not want, and gives the remaining new nodes their ids.
///
/// New parents of kept nodes are kept too: without them a node would have no place.
pub(crate) fn keep_sightings(
    seen: &mut ScanResult,
    keep: impl Fn(usize) -> bool,
    mut next_id: impl FnMut(&NewNode) -> NodeId,
) {
    let wanted: BTreeSet<NodeId> = seen
        .sightings
        .iter()
        .enumerate()
        .filter(|(index, _)| keep(*index))
        .map(|(_, sighting)| owner_id(sighting))
        .collect();
    // Where a kept node was moved to has to be there as well.
    let mut needed: BTreeSet<NodeId> = seen
        .moves
        .iter()
        .filter(|(node, _)| wanted.contains(node))
        .filter_map(|(_, after)| *after)
        .collect();
    let mut kept = vec![false; seen.sightings.len()];
    // From the end, because a parent is listed before its children.
    for (index, sighting) in seen.sightings.iter().enumerate().rev() {
        let is_needed = match &sighting.place {
            OwningNode::New(_) | OwningNode::Returned(_) => {
                needed.contains(&sighting.place.node_id())
            }
            OwningNode::Known(_) => false,
        };
        kept[index] = is_needed || keep(index);
        if let (true, OwningNode::New(new)) = (kept[index], &sighting.place) {
            needed.extend(new.parent);
        }
    }
    let mut ids: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    let mut index = 0;
    let mut versions: BTreeSet<VersionHash> = BTreeSet::new();
    let mut changed: BTreeSet<NodeId> = BTreeSet::new();
    seen.sightings.retain_mut(|sighting| {
        index += 1;
        if !kept[index - 1] {
            return false;
        }
        if let OwningNode::New(new) = &mut sighting.place {
            // The parent has its id already, for the same reason.
            new.parent = new.parent.map(|id| ids.get(&id).copied().unwrap_or(id));
            let id = next_id(new);
            ids.insert(std::mem::replace(&mut new.id, id), id);
        }
        changed.insert(owner_id(sighting));
        if let ObservedContent::Text { version, .. } = &sighting.found {
            versions.insert(*version);
        }
        true
    });
    // A text that is not kept must not reach the shared store.
    seen.texts
        .retain(|text| versions.contains(&VersionHash::of_bytes(text.as_bytes())));
    seen.moves.retain(|(node, _)| changed.contains(node));
    seen.renames.retain(|(node, _)| changed.contains(node));
    for (_, after) in &mut seen.moves {
        *after = after.map(|id| ids.get(&id).copied().unwrap_or(id));
    }
    seen.stamps
        .retain(|(id, ..)| id.0 < FIRST_NEW_NODE || ids.contains_key(id));
    for (id, ..) in &mut seen.stamps {
        *id = ids.get(id).copied().unwrap_or(*id);
    }
}

/// Returns a numbering of new nodes that continues the store's.
pub(crate) fn sequential_ids(
    tx: &dyn Transaction,
) -> Result<impl FnMut(&NewNode) -> NodeId + use<>, StoreFault> {
    let mut next = tx.next_node_id()?.0;
    Ok(move |_: &NewNode| {
        let id = NodeId(next);
        next = next.saturating_add(1);
        id
    })
}

/// Records the kept sightings as this copy's submission.
pub(crate) fn record_submission(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    mut seen: ScanResult,
    keep: impl Fn(usize) -> bool,
) -> Result<Option<OperationId>, Failure> {
    // The scan numbered new nodes from `FIRST_NEW_NODE` on; in the store they get the next ids of
    // the store, allocated in this transaction.
    let numbers = sequential_ids(tx)?;
    keep_sightings(&mut seen, keep, numbers);
    let operation = record_sightings(ctx, tx, &seen, Verb::Submit)?;
    let mut stamps = Vec::with_capacity(seen.stamps.len());
    for (id, stamp, version) in seen.stamps {
        // The operation may have left a sighting out, and a stamp without its node would be left
        // behind.
        if tx.load_node(id)?.is_some() {
            stamps.push((id, stamp, version));
        }
    }
    tx.save_file_stamps(&stamps)?;
    Ok(operation)
}

/// Submits this copy's texts of a node and its ancestors, before a decision about the node.
///
/// What cannot be submitted (outdated, missing, unreadable) is left in the context for
/// [`refuse_differing_copy`].
pub(crate) fn submit_lineage(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    id: NodeId,
) -> Result<Option<OperationId>, Failure> {
    // Decided in a dashboard: on the text that was shown there, which is the shared one.
    if shows_shared_state(ctx) {
        ctx.set_copy_differences(Vec::new());
        return Ok(None);
    }
    let seen = scan_plan_files(ctx, &*tx, ScanScope::Lineage(id), NodeId(FIRST_NEW_NODE))?;
    let kinds = classify_sightings(&*tx, &seen)?;
    let mut lineage = vec![id];
    let mut above = tx.load_node(id)?.and_then(|node| node.parent);
    while let Some(parent) = above {
        lineage.push(parent);
        above = tx.load_node(parent)?.and_then(|node| node.parent);
    }
    let mut about = Vec::with_capacity(seen.sightings.len());
    for sighting in &seen.sightings {
        about.push(is_about(&*tx, sighting, &lineage)?);
    }
    let differences: Vec<_> = kinds
        .iter()
        .zip(&about)
        .map(|(kind, about)| kind.filter(|kind| *about && !kind.is_own_text()))
        .collect();
    ctx.set_copy_differences(describe_sightings(&*tx, &seen, &differences)?);
    record_submission(ctx, tx, seen, |index| {
        about[index] && kinds[index].is_some_and(DifferenceKind::is_own_text)
    })
}

/// Whether a sighting is about one of these nodes: it, or an item in its file.
fn is_about(
    state: &dyn Snapshot,
    sighting: &ObservedFile,
    nodes: &[NodeId],
) -> Result<bool, StoreFault> {
    let (id, parent, path) = match &sighting.place {
        OwningNode::New(new) => (new.id, new.parent, new.path.clone()),
        OwningNode::Returned(node) => (node.id, node.parent, node.path.clone()),
        OwningNode::Known(id) => match state.load_node(*id)? {
            Some(Node { parent, path, .. }) => (*id, parent, path),
            None => return Ok(false),
        },
    };
    Ok(nodes.contains(&id) || (path.is_none() && parent.is_some_and(|id| nodes.contains(&id))))
}

/// Submits a plan that only this copy has, with its new parents, so that something can be recorded
/// about it.
pub(crate) fn submit_new_node(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    words: &[String],
) -> Result<Option<OperationId>, Failure> {
    if shows_shared_state(ctx) {
        return Ok(None);
    }
    let seen = scan_plan_files(ctx, &*tx, ScanScope::Everything, NodeId(FIRST_NEW_NODE))?;
    let Some(wanted) = find_new_node(ctx, &*tx, &seen, words)? else {
        return Ok(None);
    };
    let mut about = Vec::with_capacity(seen.sightings.len());
    for sighting in &seen.sightings {
        // New nodes alone: a recorded one above it may differ as well, and its text is not
        // submitted without being named.
        about.push(
            matches!(sighting.place, OwningNode::New(_)) && is_about(&*tx, sighting, &[wanted])?,
        );
    }
    record_submission(ctx, tx, seen, |index| about[index])
}

/// Returns the new node of a scan that is named by these words.
pub(crate) fn find_new_node(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    seen: &ScanResult,
    words: &[String],
) -> Result<Option<NodeId>, Failure> {
    let (reference, _) = domain::node_reference::NodeReference::parse_words(words, ctx.profiles)?;
    let names = SightingNames::of_scan(seen);
    let mut ids = Vec::new();
    let mut paths = Vec::new();
    for new in names.new.values() {
        ids.push(new.id);
        paths.push(names.path_of(state, new)?);
    }
    match reference.pick_matching_path(&paths, Vec::new) {
        Ok(index) => Ok(Some(ids[index])),
        // Not an error here: the caller reports the name against the recorded nodes, which have the
        // better suggestions.
        Err(domain::node_reference::Unresolved::NotFound { .. }) => Ok(None),
        Err(unresolved) => Err(unresolved.into()),
    }
}

/// Submits the plan that is named by these words, as before a decision about it.
pub(crate) fn submit_named(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    words: &[String],
) -> Result<(), Failure> {
    match find_node(ctx, &*tx, words) {
        Ok((id, _)) => submit_lineage(ctx, tx, id)?,
        Err(failure) if failure.kind == FailureKind::NotFound => submit_new_node(ctx, tx, words)?,
        Err(failure) => return Err(failure),
    };
    Ok(())
}

/// Keeps only the sightings of planned files: other differences of this copy are not part of the
/// operation.
pub(crate) fn keep_planned(
    tx: &dyn Transaction,
    seen: &mut ScanResult,
    planned: &PlannedFiles<'_>,
) -> Result<(), Failure> {
    let mut owners: Vec<NodeId> = Vec::new();
    let mut keep = Vec::with_capacity(seen.sightings.len());
    for sighting in &seen.sightings {
        let (parent, path) = match &sighting.place {
            OwningNode::New(new) => (new.parent, new.path.clone()),
            OwningNode::Returned(node) => (node.parent, node.path.clone()),
            OwningNode::Known(id) => match tx.load_node(*id)? {
                Some(node) => (node.parent, node.path),
                None => (None, None),
            },
        };
        // An item has no file of its own; it lies in one beside its parent's.
        let is_kept = match path {
            Some(path) => planned.is_planned(&path),
            None => parent.is_some_and(|id| owners.contains(&id)),
        };
        if is_kept {
            owners.push(owner_id(sighting));
        }
        keep.push(is_kept);
    }
    let numbers = sequential_ids(tx)?;
    keep_sightings(seen, |index| keep[index], numbers);
    Ok(())
}

/// Returns the recorded nodes whose file differs in this copy of a shared state.
pub(crate) fn find_differing_nodes(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<BTreeMap<NodeId, DifferenceKind>, Failure> {
    if !is_state_shared(ctx, state)? || shows_shared_state(ctx) {
        return Ok(BTreeMap::new());
    }
    let seen = scan_plan_files(ctx, state, ScanScope::Everything, NodeId(FIRST_NEW_NODE))?;
    let kinds = classify_sightings(state, &seen)?;
    let differing = seen.sightings.iter().zip(kinds);
    Ok(differing
        .filter_map(|(sighting, kind)| Some((owner_id(sighting), kind?)))
        .collect())
}

/// Refuses to overwrite this copy's own text of a node, which nobody else has yet.
pub(crate) fn refuse_overwriting(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: NodeId,
) -> Result<(), Failure> {
    if !is_state_shared(ctx, state)? || shows_shared_state(ctx) {
        return Ok(());
    }
    let seen = scan_plan_files(ctx, state, ScanScope::Lineage(id), NodeId(FIRST_NEW_NODE))?;
    let kinds = classify_sightings(state, &seen)?;
    let is_own = seen.sightings.iter().zip(kinds).any(|(sighting, kind)| {
        sighting.place == OwningNode::Known(id) && kind == Some(DifferenceKind::Changed)
    });
    // An outdated text may be overwritten: the team has it as a version.
    let Some(node) = state.load_node(id)?.filter(|_| is_own) else {
        return Ok(());
    };
    let path = load_node_path(state, &node)?;
    Err(Failure::conflict(format!(
        "your copy of `{path}` has a text that was not submitted and would be overwritten"
    ))
    .with_step(format!("tl submit {path}")))
}

/// Refuses a decision about a text that the caller has not seen: this copy's file of the node or of
/// an ancestor is missing, unreadable or older than the shared text.
pub(crate) fn refuse_differing_copy(ctx: &Context<'_>, was_shown: bool) -> Result<(), Failure> {
    let differences = ctx.copy_differences();
    let Some(first) = differences.first() else {
        return Ok(());
    };
    let CopyDifference { node, kind, .. } = first;
    let what = match kind {
        DifferenceKind::Outdated => {
            format!("your copy of `{node}` is older than the team's text")
        }
        DifferenceKind::Missing => format!("your copy has no file of `{node}`"),
        DifferenceKind::New | DifferenceKind::Changed | DifferenceKind::Unreadable => {
            format!("your copy of `{node}` cannot be read")
        }
    };
    // The versions that were shown are compared in the transaction: the caller knows the text.
    if was_shown {
        ctx.push_notice(Notice::CopyBehind { what });
        return Ok(());
    }
    Err(Failure::conflict(format!("{what}; nothing was decided"))
        .with_step("git pull   # to get the team's text")
        .with_step(format!("tl submit {node}   # to make your copy the team's")))
}
