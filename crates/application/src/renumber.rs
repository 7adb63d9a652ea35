//! Renumber a ticket: another id for it and for the tickets below it, with their folders and every
//! reference in plan files, as one operation.
//!
//! The nodes stay the same ones: history, comments, claims and progress are kept, and an approval
//! where the text is the same apart from formatting. Other levels have no ids to choose; their files
//! are moved, and the scan follows.

use std::collections::{HashMap, HashSet};

use domain::duplicate_ids::{SharedIdFile, id_of_alias, label_files};
use domain::ids::{NodeId, OperationId};
use domain::node::{Node, NodeName};
use domain::observation::{ObservedContent, OwningNode};
use domain::operation::Verb;
use domain::ports::{FileReadResult, FolderEntryKind, PlanFiles, Snapshot};
use domain::profile::{FilePattern, Level};
use domain::renumber::{IdChange, follow_ancestor_id, rewrite_own_id, rewrite_references};
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::claim_node::carry_renamed_claims;
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, hash_request};
use crate::locate::{find_node, load_node, load_node_path, load_parent, reject_extra_words};
use crate::observe::{build_planned_operation, with_observed_files};
use crate::scan::{ScanResult, ScanScope};
use crate::ticket_ids::{choose_root_id, list_taken_ids, next_child_id};
use crate::transitions::collect_transitions;
use crate::views::TransitionView;

/// Maximum number of files in the folder of a ticket that is renumbered.
const MAX_MOVED_FILES: usize = 2_000;

/// Request of [`renumber_node`].
#[derive(Clone, Debug)]
pub struct RenumberRequest {
    pub node: Vec<String>,
    /// The new id; by default the next free one.
    pub id: Option<String>,
    /// Whether only to list what would change.
    pub dry_run: bool,
}

/// Outcome of [`renumber_node`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RenumberOutcome {
    pub success: bool,
    pub dry_run: bool,
    /// The node's path before.
    pub was: String,
    /// The node's id now.
    pub id: String,
    /// Every id that changed, the node's own first.
    pub ids: Vec<IdChangeView>,
    /// Files that were moved with their folder.
    pub moved_files: Vec<MovedFile>,
    /// Other plan files with references that were changed.
    pub changed_files: Vec<String>,
    pub changed_entities: Vec<TransitionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// An id before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IdChangeView {
    pub was: String,
    pub id: String,
}

/// A file before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MovedFile {
    pub was: String,
    pub path: String,
}

/// A ticket that gets another id.
struct RenumberedNode {
    node: Node,
    change: IdChange,
    new_path: String,
    /// The folder of its files before and after, with the trailing slash.
    old_folder: String,
    new_folder: String,
}

/// The level of a node, and the pattern of its files.
#[derive(Clone, Copy)]
struct TicketFiles<'p> {
    level: &'p Level,
    pattern: &'p FilePattern,
}

/// Gives a ticket another id, and the tickets below it whose ids continue its own.
///
/// # Errors
/// When there is no such ticket, the id is in use, or a file cannot be moved.
pub fn renumber_node(
    ctx: &Context<'_>,
    request: &RenumberRequest,
) -> Result<RenumberOutcome, Failure> {
    let asked = (!request.dry_run).then(|| hash_request(&("renumber", request)));
    with_observed_files(ctx, ScanScope::Everything, asked, |planned, tx| {
        let (id, rest) = find_node(ctx, &*tx, &request.node)?;
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let was = load_node_path(&*tx, &node)?;
        let files = find_ticket_files(ctx, &node)?;
        let renumbered = choose_ids(ctx, &*tx, files, &node, request.id.as_deref())?;
        // Nothing planned here is written: only the given files are, after the commit.
        let trial = PlannedFiles::new(ctx, None);
        let target = if request.dry_run { &trial } else { planned };
        let moved_files = plan_moved_files(ctx, target, &renumbered)?;
        let changed_files = plan_references(ctx, &*tx, target, &renumbered)?;
        let items = load_items(&*tx, &renumbered)?;
        let labels = label_remaining(&*tx, &node, &renumbered)?;
        let operation = build_planned_operation(ctx, tx, target, Verb::Renumber, |seen| {
            keep_identities(seen, &renumbered, &items);
            seen.renames.extend(labels);
            Ok(())
        })?;
        let mut operation =
            operation.unwrap_or_else(|| ctx.new_operation(Verb::Renumber, String::new()));
        let new_id = renumbered[0].change.new.clone();
        operation.summary = format!("renumber {was} to {new_id}");
        let changed = collect_transitions(&*tx, &operation.facts, None)?;
        let operation = match request.dry_run {
            true => None,
            false => {
                let id = planned.record_operation(tx, operation)?;
                carry_renamed_claims(ctx, &*tx)?;
                Some(id)
            }
        };
        let to_view = |one: &RenumberedNode| IdChangeView {
            was: one.node.alias.clone(),
            id: one.change.new.clone(),
        };
        Ok(RenumberOutcome {
            success: true,
            dry_run: request.dry_run,
            was,
            id: new_id,
            ids: renumbered.iter().map(to_view).collect(),
            moved_files,
            changed_files,
            changed_entities: changed
                .reinstated
                .into_iter()
                .chain(changed.stale)
                .collect(),
            operation,
        })
    })
}

/// Returns the level and file pattern of a node whose id can be chosen.
fn find_ticket_files<'p>(ctx: &Context<'p>, node: &Node) -> Result<TicketFiles<'p>, Failure> {
    let level = ctx
        .find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level))
        .filter(|level| level.is_flat());
    match level.and_then(|level| Some((level, level.file.as_ref()?))) {
        Some((level, pattern)) if node.path.is_some() => Ok(TicketFiles { level, pattern }),
        _ => {
            let what = format!(
                "`{}` is a {}, and its id follows from its file",
                node.alias, node.level
            );
            let file = node.path.as_deref().unwrap_or("FILE");
            Err(Failure::invalid(what)
                .with_step(format!("git mv {file} …   # its node follows the file")))
        }
    }
}

/// Chooses the new ids: the given or the next free one, and those of the tickets below that follow.
fn choose_ids(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    files: TicketFiles<'_>,
    node: &Node,
    wanted: Option<&str>,
) -> Result<Vec<RenumberedNode>, Failure> {
    let taken = list_taken_ids(ctx, state, files.level)?;
    let parent = load_parent(state, node)?;
    let id = match (wanted, parent) {
        (Some(wanted), _) => parse_wanted_id(files.level, wanted)?,
        (None, Some(parent)) => next_child_id(id_of_alias(&parent.alias), &taken),
        (None, None) => choose_root_id(ctx.policy.ids, &taken),
    };
    let old = id_of_alias(&node.alias).to_owned();
    let is_ticket = |other: &Node| (&other.profile, &other.level) == (&node.profile, &node.level);
    let mut nodes = state.nodes_outside(&[domain::trail::PROFILE])?;
    nodes.retain(is_ticket);
    let tree = Tree::new(nodes);
    let mut renumbered = Vec::new();
    for one in tree.subtree_preorder(node.id) {
        let new = match one.id == node.id {
            true => Some(id.clone()),
            false => follow_ancestor_id(&one.alias, &old, &id),
        };
        let Some(new) = new else { continue };
        if taken.contains(&new) {
            let what = format!("the id `{new}` is in use, here or on another branch");
            return Err(Failure::conflict(what)
                .with_step(format!("tl renumber {}   # the next free id", node.alias)));
        }
        renumbered.push(locate_entry(files.pattern, one, new)?);
    }
    Ok(renumbered)
}

fn parse_wanted_id(level: &Level, wanted: &str) -> Result<String, Failure> {
    let read = level.alias.parse_exact_alias(wanted, &level.numbers);
    read.map(|read| read.alias).ok_or_else(|| {
        let what = format!(
            "`{wanted}` is not an id of a {}: expected {}",
            level.name,
            level.alias.example_alias()
        );
        Failure::invalid(what)
    })
}

/// Finds the folder of a ticket, and its name with the new id.
fn locate_entry(
    pattern: &FilePattern,
    node: &Node,
    new: String,
) -> Result<RenumberedNode, Failure> {
    let path = node.path.clone().unwrap_or_default();
    let above = match pattern.listing_folder("") {
        folder if folder.is_empty() => folder,
        folder => format!("{folder}/"),
    };
    let below = path.strip_prefix(&above).unwrap_or(&path);
    let old_entry = below.split('/').next().unwrap_or_default().to_owned();
    let Some(new_entry) = pattern.rename_entry(&old_entry, &new) else {
        let what = format!("`{path}` does not fit the pattern of its level");
        return Err(Failure::invalid(what));
    };
    Ok(RenumberedNode {
        new_path: pattern.file_at("", &new_entry, &new),
        old_folder: format!("{above}{old_entry}/"),
        new_folder: format!("{above}{new_entry}/"),
        change: IdChange {
            // As others name it: of two tickets with one id, references mean the first.
            old: node.alias.clone(),
            new,
            old_entry,
            new_entry,
        },
        node: node.clone(),
    })
}

/// Plans the new folders with their files, and the removal of the old ones.
fn plan_moved_files(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    renumbered: &[RenumberedNode],
) -> Result<Vec<MovedFile>, Failure> {
    let changes: Vec<IdChange> = renumbered.iter().map(|one| one.change.clone()).collect();
    let mut moved = Vec::new();
    for one in renumbered {
        let plan_file = one.node.path.as_deref().unwrap_or_default();
        let mut files = vec![plan_file.to_owned()];
        if plan_file.starts_with(&one.old_folder) {
            files = list_files_below(ctx, one.old_folder.trim_end_matches('/'))?;
        }
        for was in files {
            let mut text = read_movable_file(ctx, &was, one)?;
            let path = match was == plan_file {
                true => {
                    text = rewrite_own_id(&text, id_of_alias(&one.node.alias), &one.change.new);
                    one.new_path.clone()
                }
                false => was.replacen(&one.old_folder, &one.new_folder, 1),
            };
            // Backups are copies of what was; everything else is rewritten.
            if was.ends_with(".md") && !was.contains("/backups/") {
                text = rewrite_references(&text, &changes);
            }
            planned.create_file(&path, &text)?;
            planned.put_file(&was, None)?;
            moved.push(MovedFile { was, path });
        }
    }
    Ok(moved)
}

/// Lists the files in a folder and below it.
fn list_files_below(ctx: &Context<'_>, folder: &str) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in ctx.files.list_folder(&folder) {
            let path = format!("{folder}/{}", entry.name);
            match entry.kind {
                FolderEntryKind::Folder => folders.push(path),
                FolderEntryKind::File | FolderEntryKind::Other => files.push(path),
            }
        }
        if files.len() + folders.len() > MAX_MOVED_FILES {
            let what = format!("`{folder}` has more than {MAX_MOVED_FILES} files");
            return Err(
                Failure::refused(what).with_step("move the folder by hand; its ticket follows")
            );
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file that is moved with its folder. One that is not text could not be written again.
fn read_movable_file(
    ctx: &Context<'_>,
    path: &str,
    one: &RenumberedNode,
) -> Result<String, Failure> {
    let why = match ctx.files.read_file(path, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => return Ok(text),
        FileReadResult::Missing => "it is gone".to_owned(),
        FileReadResult::Unreadable { why, .. } => why,
    };
    let (old, new) = (&one.old_folder, &one.new_folder);
    Err(
        Failure::refused(format!("`{path}` cannot be moved: {why}")).with_step(format!(
            "git mv {} {}   # the ticket follows its folder; references are changed by hand",
            old.trim_end_matches('/'),
            new.trim_end_matches('/')
        )),
    )
}

/// Plans the references in all other plan files. Returns the files that change.
fn plan_references(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    planned: &PlannedFiles<'_>,
    renumbered: &[RenumberedNode],
) -> Result<Vec<String>, Failure> {
    let changes: Vec<IdChange> = renumbered.iter().map(|one| one.change.clone()).collect();
    let moved: HashSet<NodeId> = renumbered.iter().map(|one| one.node.id).collect();
    let mut changed = Vec::new();
    for node in state.nodes_outside(&[domain::trail::PROFILE])? {
        let Some(path) = node.path.filter(|_| !moved.contains(&node.id)) else {
            continue;
        };
        // From the file: the stored text may be masked.
        let read = ctx.files.read_file(&path, ctx.policy.max_plan_bytes);
        let FileReadResult::Text { text, .. } = read else {
            continue;
        };
        let rewritten = rewrite_references(&text, &changes);
        if rewritten != text {
            planned.put_file(&path, Some(&rewritten))?;
            changed.push(path);
        }
    }
    Ok(changed)
}

/// Loads the items (scenarios) of the tickets that are renumbered.
fn load_items(state: &dyn Snapshot, renumbered: &[RenumberedNode]) -> Result<Vec<Node>, Failure> {
    let mut items = Vec::new();
    for one in renumbered {
        let children = state.load_children(one.node.id)?;
        items.extend(children.into_iter().filter(|child| child.path.is_none()));
    }
    Ok(items)
}

/// Labels the tickets that shared the old id: the first of those that are left has it alone.
fn label_remaining(
    state: &dyn Snapshot,
    node: &Node,
    renumbered: &[RenumberedNode],
) -> Result<Vec<(NodeId, NodeName)>, Failure> {
    let id = id_of_alias(&node.alias);
    let mut left = state.nodes_outside(&[domain::trail::PROFILE])?;
    left.retain(|other| {
        (&other.profile, &other.level) == (&node.profile, &node.level)
            && id_of_alias(&other.alias) == id
            && !renumbered.iter().any(|one| one.node.id == other.id)
    });
    let files: Vec<SharedIdFile<'_>> = left
        .iter()
        .map(|other| SharedIdFile {
            path: other.path.as_deref().unwrap_or_default(),
            is_recorded: true,
        })
        .collect();
    let labels = label_files(id, &files, &HashSet::new());
    let renames = left.iter().zip(labels);
    Ok(renames
        .filter(|(other, label)| other.alias != *label)
        .map(|(other, alias)| {
            let name = NodeName {
                alias,
                ..other.name()
            };
            (other.id, name)
        })
        .collect())
}

/// Turns the new tickets that the scan of the planned files found into the renumbered ones.
fn keep_identities(seen: &mut ScanResult, renumbered: &[RenumberedNode], items: &[Node]) {
    let mut ids: HashMap<NodeId, NodeId> = HashMap::new();
    for sighting in &mut seen.sightings {
        let OwningNode::New(new) = &sighting.place else {
            continue;
        };
        let path = new.path.as_deref();
        let ticket = renumbered
            .iter()
            .find(|one| path == Some(one.new_path.as_str()));
        if let Some(one) = ticket {
            let after = NodeName {
                alias: new.alias.clone(),
                order: new.order,
                path: new.path.clone(),
            };
            seen.renames.push((one.node.id, after));
            seen.moves.push((one.node.id, new.parent));
            ids.insert(new.id, one.node.id);
            sighting.place = OwningNode::Known(one.node.id);
            continue;
        }
        let parent = new.parent.and_then(|parent| ids.get(&parent));
        let is_same = |item: &&Node| {
            item.parent.as_ref() == parent && item.alias == new.alias && item.level == new.level
        };
        if let Some(item) = items.iter().find(is_same).filter(|_| parent.is_some()) {
            ids.insert(new.id, item.id);
            sighting.place = OwningNode::Known(item.id);
        }
    }
    let kept: HashSet<NodeId> = ids.values().copied().collect();
    seen.sightings.retain(|sighting| {
        sighting.found != ObservedContent::Missing || !kept.contains(&sighting.place.node_id())
    });
    for (id, ..) in &mut seen.stamps {
        *id = ids.get(id).copied().unwrap_or(*id);
    }
    let parents: HashMap<NodeId, Option<NodeId>> = seen
        .nodes
        .iter()
        .map(|node| (node.id, node.parent))
        .collect();
    for (_, parent) in &mut seen.moves {
        *parent = parent.map(|parent| ids.get(&parent).copied().unwrap_or(parent));
    }
    // Nobody moves below another ticket: the same parents have other ids.
    seen.moves
        .retain(|(node, parent)| parents.get(node).is_none_or(|before| before != parent));
}
