//! Change the shape of a tree: add, insert, move, rename, renumber, split, merge or remove plans, as
//! one operation with its files.
//!
//! The planner is `domain::shape`. This gathers the tree, the files and the texts, plans the writes,
//! and adds what is attached to the changed nodes by name (`attached.rs`). A preview takes the same
//! way and records nothing.

mod attached;
mod broken_needs;
mod choices;
mod moved_evidence;
mod path_records;
mod resolve;
mod shape_files;
mod ticket_shape;

use std::collections::HashMap;

use domain::duplicate_ids::id_of_alias;
use domain::fact::Fact;
use domain::front_matter::{remove_keys, set_key};
use domain::ids::{NodeId, OperationId, VersionHash};
use domain::node::{Node, NodeStatus, Progress, Status};
use domain::observation::ObservedContent;
use domain::operation::Verb;
use domain::policy::SignaturePolicy;
use domain::ports::{Snapshot, Transaction};
use domain::profile::{Level, Profile};
use domain::shape::{
    AddedNode, FileMoves, Layout, ReferenceRewriter, ShapeContext, ShapeRefused, ShapeRequest,
    ShapeTexts, apply_layout, compose_new_text, decide_shape_facts, list_split_points, merge_texts,
    plan_layout, split_text,
};
use domain::shell_line::quote_word;
use domain::time::Timestamp;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use self::attached::{AttachedChanges, ShapedPlans};
pub use self::broken_needs::BrokenNeedView;
use self::broken_needs::list_broken_needs;
pub use self::choices::{ShapeChoices, list_shape_choices};
use self::resolve::ResolvedChange;
use self::shape_files::ShapeFiles;
pub(crate) use self::shape_files::list_files_below;
use self::ticket_shape::try_change_tickets;
use crate::claim_node::{carry_renamed_claims, refuse_claim_of_other};
use crate::completion::follow_reopened;
use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::duplicate_ids::relabel_remaining;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, hash_request};
use crate::left_work::{follow_left_work, follow_removed_work};
use crate::observe::{load_plan_tree, with_observed_files};
use crate::precise_cascade::rebind_relied_sections;
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;
use crate::transitions::collect_transitions;
use crate::views::{MOVED_FROM, TransitionView};
use crate::working_copy::refuse_overwriting;

/// A change of shape, as it is asked for.
#[derive(Clone, Debug)]
pub enum ShapeChange {
    /// A new plan at the end of its parent.
    Add {
        level: String,
        under: Option<String>,
        /// A name instead of the next number: `prologue`.
        name: Option<String>,
        title: Option<String>,
    },
    /// A new plan at the place of an existing one, or after it.
    Insert {
        place: Vec<String>,
        under: Option<String>,
        after: bool,
        title: Option<String>,
    },
    Move {
        node: Vec<String>,
        target: MoveTarget,
    },
    /// Another number, id or name; by default the next free id.
    Renumber {
        node: Vec<String>,
        id: Option<String>,
    },
    /// The children of a plan are numbered without gaps.
    CloseGaps {
        node: Vec<String>,
    },
    Split {
        node: Vec<String>,
        /// The heading or the line at which the second part begins.
        at: String,
        title: Option<String>,
        /// The first child that goes to the second part.
        children_from: Option<String>,
    },
    /// Child tickets with these titles.
    SplitInto {
        node: Vec<String>,
        titles: Vec<String>,
    },
    Merge {
        node: Vec<String>,
        into: Vec<String>,
    },
    Remove {
        node: Vec<String>,
    },
}

/// Where a plan is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveTarget {
    Before(String),
    After(String),
    /// To the end of a parent; without a name, to the top.
    Under(Option<String>),
}

/// Request of [`change_shape`].
#[derive(Clone, Debug)]
pub struct ChangeShapeRequest {
    pub change: ShapeChange,
    /// Whether only to list what would change.
    pub dry_run: bool,
}

/// Outcome of [`change_shape`].
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ShapeOutcome {
    pub success: bool,
    pub dry_run: bool,
    /// One line: `insert act-1/chapter-04`.
    pub summary: String,
    /// The path of the changed node before; none if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// The new or changed node now; none if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Its alias.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its plan file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Nodes with another path, by their paths.
    pub renamed: Vec<RenamedView>,
    pub removed: Vec<String>,
    pub created_files: Vec<String>,
    pub moved_files: Vec<MovedFileView>,
    /// Plan files with other references or another text.
    pub changed_files: Vec<String>,
    pub removed_files: Vec<String>,
    /// Files that stay in the folder of a plan that is moved or removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_files: Vec<LeftFileView>,
    /// Plans that need a removed one, which no other plan replaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken_needs: Vec<BrokenNeedView>,
    pub changed_entities: Vec<TransitionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

impl ShapeOutcome {
    /// Whether everything was as it should be already, such as numbers without gaps.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        self.renamed.is_empty()
            && self.removed.is_empty()
            && self.created_files.is_empty()
            && self.moved_files.is_empty()
            && self.changed_files.is_empty()
            && self.removed_files.is_empty()
            && self.changed_entities.is_empty()
    }
}

/// The path of a node before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RenamedView {
    pub was: String,
    pub path: String,
}

/// A file that stays although its plan goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftFileView {
    pub path: String,
    pub reason: String,
}

/// A file before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MovedFileView {
    pub was: String,
    pub path: String,
}

/// Changes the shape of a tree.
///
/// # Errors
/// When a node is unknown, the profile or the tree does not allow the change, or a file is in the
/// way.
pub fn change_shape(
    ctx: &Context<'_>,
    request: &ChangeShapeRequest,
) -> Result<ShapeOutcome, Failure> {
    if let Some(done) = try_change_tickets(ctx, request)? {
        return Ok(done);
    }
    // A preview records nothing that a repeated request could find.
    let asked = (!request.dry_run).then(|| hash_request(&("shape", request)));
    with_observed_files(ctx, ScanScope::Everything, asked, |planned, tx| {
        let tree = load_plan_tree(&*tx)?;
        let resolved = resolve::resolve_change(ctx, &*tx, &tree, &request.change)?;
        refuse_claimed(ctx, &*tx, &tree, &resolved.request)?;
        // A preview plans into a list of its own that is dropped: the same checks on occupied paths
        // apply, and nothing is written after the transaction.
        let trial = PlannedFiles::new(ctx, None);
        let target = if request.dry_run { &trial } else { planned };
        let prepared = prepare_change(ctx, tx, &tree, &resolved, target, request.dry_run)?;
        let changed = collect_transitions_after(&*tx, &prepared)?;
        let mut outcome = prepared.to_outcome(&tree, &resolved, changed);
        let (after, layout) = (&prepared.after, &prepared.layout);
        outcome.broken_needs = list_broken_needs(&tree, after, layout, ctx.profiles);
        outcome.dry_run = request.dry_run;
        // An empty operation would be the one that the next plain undo takes back.
        if request.dry_run || outcome.changes_nothing() {
            return Ok(outcome);
        }
        let verb = match request.change {
            ShapeChange::Renumber { .. } | ShapeChange::CloseGaps { .. } => Verb::Renumber,
            _ => Verb::Reshape,
        };
        let mut operation = ctx.new_operation(verb, outcome.summary.clone());
        operation.at = prepared.now;
        operation.facts = prepared.facts;
        operation.texts = prepared.texts;
        let id = record_with_decisions(ctx, planned, tx, operation)?;
        // After the operation: the claims are compared with the names that the transaction has now.
        carry_renamed_claims(ctx, &*tx)?;
        prepared.attached.register_memory(ctx, tx)?;
        outcome.operation = Some(id);
        Ok(outcome)
    })
}

/// Refuses to take apart or remove a plan that another session holds.
fn refuse_claimed(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    request: &ShapeRequest,
) -> Result<(), Failure> {
    // Only changes that end or divide a plan. A move or a new number keeps the node, and its claim
    // follows it.
    let top = match request {
        ShapeRequest::Split { node, .. }
        | ShapeRequest::Merge { node, .. }
        | ShapeRequest::Remove { node } => *node,
        _ => return Ok(()),
    };
    for node in tree.subtree_preorder(top) {
        refuse_claim_of_other(ctx, state, node)?;
    }
    Ok(())
}

/// Everything a change needs before it is recorded.
struct PreparedChange {
    now: Timestamp,
    layout: Layout,
    after: Tree,
    files: ShapeFiles,
    facts: Vec<Fact>,
    texts: Vec<String>,
    attached: AttachedChanges,
}

/// Plans the layout, the files and the facts.
fn prepare_change(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    tree: &Tree,
    resolved: &ResolvedChange<'_>,
    planned: &PlannedFiles<'_>,
    is_preview: bool,
) -> Result<PreparedChange, Failure> {
    let now = ctx.clock.now();
    let shape = ShapeContext {
        tree,
        profile: resolved.profile,
        next_id: tx.next_node_id()?,
    };
    let layout = plan_layout(shape, &resolved.request)
        .map_err(|refused| refuse_layout(tree, &resolved.request, refused))?;
    resolved.refuse_taken(&layout)?;
    let mut moves = FileMoves::from_layout(tree, resolved.profile, &layout);
    // Before the references: a link to a file that is left has to lead there.
    let mut files = ShapeFiles::gather(ctx, &mut moves)?;
    let after = apply_layout(tree, &layout, new_node(&layout, now));
    let rewriter = ReferenceRewriter::new(tree, &after, ctx.profiles, &layout, &moves);
    let mut texts = NewTexts::default();
    // Every plan of the project, not only the changed ones: any text may name a node whose path
    // changes.
    for node in tree.nodes().filter(|node| node.path.is_some()) {
        let shape = (&layout, &after);
        rewrite_plan(ctx, &*tx, node, shape, &rewriter, &mut files, &mut texts)?;
    }
    // After the references are rewritten, because a split and a merge start from the rewritten
    // texts.
    let trees = (tree, &after);
    compose_texts(
        ctx, trees, resolved, &layout, &rewriter, &mut files, &mut texts,
    )?;
    files.plan_writes(planned)?;
    let shape_texts = ShapeTexts {
        rewritten: texts.rewritten,
        reworded: texts.reworded,
        added: texts.added,
        // A signature is for exactly the signed text, and under `human` only a person's change of
        // shape may speak for a person's approval.
        carries_rewritten: ctx.policy.approval.accepts_approval_by(&ctx.actor)
            && ctx.policy.signatures == SignaturePolicy::Off,
    };
    let mut facts = decide_shape_facts(tree, &layout, &shape_texts, now);
    follow_reopened(ctx, &*tx, &mut facts)?;
    follow_left_work(ctx, &*tx, &texts.all, &mut facts)?;
    follow_removed_work(ctx, &*tx, layout.replaced, &mut facts)?;
    facts.extend(relabel_remaining(ctx, tree, &layout));
    rebind_relied_sections(ctx, &*tx, tree, &after, &texts.all, &mut facts)?;
    // Gathering imports edits of the memory's files into the state, which a preview must not do.
    let attached = match is_preview {
        true => AttachedChanges::default(),
        false => {
            let change = ShapedPlans {
                tree,
                after: &after,
                layout: &layout,
                moves: &moves,
                files: &files,
                planned,
            };
            AttachedChanges::gather(ctx, tx, &change, &shape_texts, now)?
        }
    };
    facts.extend(attached.facts());
    // Last: a status follows from all facts before it, the carried approvals included.
    let note = describe_former_parent(tree, &resolved.request, &layout);
    cascade_statuses(ctx, &*tx, &mut facts, &texts.all, now, note.as_deref())?;
    Ok(PreparedChange {
        now,
        layout,
        after,
        files,
        facts,
        texts: texts.all,
        attached,
    })
}

/// Maximum number of headings that are offered to split a plan at.
const MAX_OFFERED_HEADINGS: usize = 4;

/// Returns the refusal of a split with the headings at which the plan can be split.
fn refuse_split_point(path: &str, text: &str, refused: ShapeRefused) -> Failure {
    let mut failure = Failure::from(refused);
    let points = list_split_points(text);
    let points = points.iter().take(MAX_OFFERED_HEADINGS);
    let steps = points.map(|heading| format!("tl split {path} --at {}", quote_word(heading)));
    failure.next_steps = steps.collect();
    if failure.next_steps.is_empty() {
        failure.next_steps.push(format!("tl show {path}"));
    }
    failure
}

/// Returns the refusal of a layout. A name that is taken is named with its parent: alone it may mean
/// several plans.
fn refuse_layout(tree: &Tree, request: &ShapeRequest, refused: ShapeRefused) -> Failure {
    let parent = match request {
        ShapeRequest::Insert { place, .. } => place.parent,
        ShapeRequest::Rename { node, .. } => tree.get(*node).and_then(|node| node.parent),
        _ => None,
    };
    match (refused, parent.and_then(|parent| tree.get(parent))) {
        (ShapeRefused::Taken { alias }, Some(parent)) => ShapeRefused::Taken {
            alias: format!("{}/{alias}", tree.alias_path(parent)),
        }
        .into(),
        (refused, _) => refused.into(),
    }
}

/// Describes where a plan was moved from, if it is below another parent now.
fn describe_former_parent(tree: &Tree, request: &ShapeRequest, layout: &Layout) -> Option<String> {
    let ShapeRequest::Move { node, .. } = request else {
        return None;
    };
    let mut changes = layout.changes.iter();
    let moved = changes.find(|change| change.node == *node)?;
    let former = moved
        .parent_before
        .filter(|_| moved.parent_before != moved.parent_after);
    let former = tree.alias_path(tree.get(former?)?);
    Some(format!("{MOVED_FROM} `{former}`"))
}

/// The texts that change.
#[derive(Default)]
struct NewTexts {
    rewritten: HashMap<NodeId, ObservedContent>,
    reworded: HashMap<NodeId, ObservedContent>,
    added: Option<ObservedContent>,
    /// Texts of removed plans with their references rewritten, for a merge.
    removed: HashMap<NodeId, String>,
    /// Texts for the store.
    all: Vec<String>,
}

impl NewTexts {
    /// Reads a new text as the scan will.
    fn observe(&mut self, profile: &Profile, level: &Level, text: &str) -> ObservedContent {
        let (canonical, description) = profile.read_text(level, text);
        self.all.push(text.to_owned());
        ObservedContent::Text {
            version: VersionHash::of_bytes(text.as_bytes()),
            canonical,
            description,
        }
    }
}

/// Rewrites the references in one plan.
fn rewrite_plan(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    (layout, after): (&Layout, &Tree),
    rewriter: &ReferenceRewriter<'_>,
    files: &mut ShapeFiles,
    texts: &mut NewTexts,
) -> Result<(), Failure> {
    let path = node.path.as_deref().unwrap_or_default();
    let profile = ctx.find_profile(&node.profile);
    let level = profile.and_then(|profile| Some((profile, profile.find_level(&node.level)?)));
    // Not a plan here: its profile is off, or its file is missing or unreadable.
    let (Some((profile, level)), Some(text)) = (level, files.read_text(ctx, path)) else {
        return Ok(());
    };
    let target = files.target_of(path);
    let mut rewritten = rewriter.rewrite_text(node.id, &text, path, &target);
    if level.is_flat() {
        rewritten = name_new_parent(node, layout, after, rewritten);
    }
    if layout.removed.contains(&node.id) {
        texts.removed.insert(node.id, rewritten);
        return Ok(());
    }
    if rewritten != text {
        // On a shared state the file may hold an edit that was not submitted.
        refuse_overwriting(ctx, state, node.id)?;
        let found = texts.observe(profile, level, &rewritten);
        texts.rewritten.insert(node.id, found);
        files.write_text(path, &target, rewritten);
    }
    Ok(())
}

/// Returns the text of a plan whose front matter names its parent, if that is another one.
fn name_new_parent(node: &Node, layout: &Layout, after: &Tree, text: String) -> String {
    let mut changes = layout.changes.iter();
    let is_moved =
        changes.any(|change| change.node == node.id && change.parent_before != change.parent_after);
    let parent = after.get(node.id).and_then(|node| after.parent_of(node));
    match (is_moved, parent) {
        (false, _) => text,
        (true, Some(parent)) => set_key(&text, "parent", &format!("'{}'", parent.alias)),
        (true, None) => remove_keys(&text, &["parent".to_owned()]),
    }
}

/// Returns the text of a new plan with its place in the front matter: plans of a flat level are in one
/// folder, and the scan knows their parents from their texts alone.
fn name_place(added: &AddedNode, after: &Tree, text: &str) -> String {
    let text = set_key(text, "id", &format!("'{}'", added.name.alias));
    match added.parent.and_then(|parent| after.get(parent)) {
        Some(parent) => set_key(
            &text,
            "parent",
            &format!("'{}'", id_of_alias(&parent.alias)),
        ),
        None => text,
    }
}

/// Composes the texts of a new, split or merged plan.
fn compose_texts(
    ctx: &Context<'_>,
    (tree, after): (&Tree, &Tree),
    resolved: &ResolvedChange<'_>,
    layout: &Layout,
    rewriter: &ReferenceRewriter<'_>,
    files: &mut ShapeFiles,
    texts: &mut NewTexts,
) -> Result<(), Failure> {
    if let Some(added) = &layout.added {
        let level = find_level(resolved.profile, &added.level)?;
        let path = added.name.path.clone().unwrap_or_default();
        let sibling = find_numbered_sibling(tree, level, added.parent);
        let sibling = sibling.and_then(|node| {
            let text = files.read_text(ctx, node.path.as_deref()?)?;
            Some((node.alias.clone(), text))
        });
        let sibling = sibling
            .as_ref()
            .map(|(alias, text)| (alias.as_str(), text.as_str()));
        let title = resolved.title.as_deref();
        let mut text = compose_new_text(level, &added.name.alias, title, sibling);
        if level.is_flat() {
            text = name_place(added, after, &text);
        }
        if let (ShapeRequest::Split { node, .. }, Some(at)) =
            (&resolved.request, &resolved.split_at)
        {
            let node = tree.get(*node).ok_or_else(|| missing(*node))?;
            let was = node.path.clone().unwrap_or_default();
            let whole = files.current_text(ctx, &was);
            let (first, second) = split_text(&whole, at)
                .map_err(|refused| refuse_split_point(&tree.alias_path(node), &whole, refused))?;
            let heading = text.lines().next().unwrap_or_default();
            text = match title {
                // The second part begins with a heading of its own kind already.
                None if second.starts_with("# ") => second.to_owned(),
                _ => format!("{heading}\n\n{second}"),
            };
            let first = first.to_owned();
            let found = texts.observe(resolved.profile, level, &first);
            // A shortened text is not "the same with other references", so its approval is not
            // carried to it.
            texts.rewritten.remove(&node.id);
            texts.reworded.insert(node.id, found);
            let target = files.target_of(&was);
            files.write_text(&was, &target, first);
        }
        texts.added = Some(texts.observe(resolved.profile, level, &text));
        files.create_file(&path, text)?;
    }
    if let Some((old, new)) = layout.replaced {
        let node = after.get(new).ok_or_else(|| missing(new))?;
        let level = find_level(resolved.profile, &node.level)?;
        let was = tree.get(new).and_then(|node| node.path.clone());
        let was = was.unwrap_or_default();
        let other = texts.removed.get(&old).cloned().unwrap_or_default();
        let text = merge_texts(&files.current_text(ctx, &was), &other, |name| {
            rewriter.is_need_of_itself(new, name)
        });
        let found = texts.observe(resolved.profile, level, &text);
        // As after a split: nobody approved the merged text.
        texts.rewritten.remove(&new);
        texts.reworded.insert(new, found);
        let target = files.target_of(&was);
        files.write_text(&was, &target, text);
        files.merge_outputs(ctx, level, tree, old, new);
    }
    Ok(())
}

/// Returns a sibling with a number, whose heading a new plan imitates.
fn find_numbered_sibling<'t>(
    tree: &'t Tree,
    level: &Level,
    parent: Option<NodeId>,
) -> Option<&'t Node> {
    let is_numbered =
        |node: &&Node| node.level == level.name && level.number_of(&node.alias).is_some();
    let mut near = tree
        .nodes()
        .filter(is_numbered)
        .filter(|it| it.parent == parent);
    // In an empty parent the heading of any other plan of the level is the better example.
    near.next().or_else(|| tree.nodes().find(is_numbered))
}

fn find_level<'p>(profile: &'p Profile, name: &str) -> Result<&'p Level, Failure> {
    let found = profile.find_level(name);
    found.ok_or_else(|| Failure::invalid(format!("the profile has no level `{name}`")))
}

fn missing(id: NodeId) -> Failure {
    Failure::unavailable(format!("node {id} is missing"))
}

/// Returns the new node of a layout, as far as names depend on it.
fn new_node(layout: &Layout, now: Timestamp) -> Option<Node> {
    let added = layout.added.as_ref()?;
    Some(Node {
        id: added.id,
        parent: added.parent,
        profile: added.profile.clone(),
        level: added.level.clone(),
        alias: added.name.alias.clone(),
        order: added.name.order,
        path: added.name.path.clone(),
        description: domain::node::Description::default(),
        content: domain::node::Content::Missing,
        approval: None,
        condemnation: None,
        progress: Progress::Pending,
        standing: NodeStatus::without_cause(Status::Draft),
        created_at: now,
        updated_at: now,
    })
}

/// Returns the statuses that change, by the paths the nodes have afterwards.
fn collect_transitions_after(
    state: &dyn Snapshot,
    prepared: &PreparedChange,
) -> Result<Vec<TransitionView>, Failure> {
    // Transitions are described from the state before the operation, which has no node of that id.
    let is_known = |id: &NodeId| prepared.layout.added.as_ref().is_none_or(|it| it.id != *id);
    let known: Vec<Fact> = prepared
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::StandingsChanged { groups } => Some(Fact::StandingsChanged {
                groups: groups
                    .iter()
                    .cloned()
                    .map(|mut group| {
                        group.nodes.retain(is_known);
                        group
                    })
                    .collect(),
            }),
            _ => None,
        })
        .collect();
    let found = collect_transitions(state, &known, None)?;
    Ok(found.reinstated.into_iter().chain(found.stale).collect())
}

impl PreparedChange {
    fn to_outcome(
        &self,
        tree: &Tree,
        resolved: &ResolvedChange<'_>,
        changed_entities: Vec<TransitionView>,
    ) -> ShapeOutcome {
        let path_of = |tree: &Tree, id: NodeId| tree.get(id).map(|node| tree.alias_path(node));
        let renamed: Vec<RenamedView> = tree
            .all_preorder()
            .into_iter()
            .filter_map(|node| {
                let was = tree.alias_path(node);
                let path = path_of(&self.after, node.id)?;
                (was != path).then_some(RenamedView { was, path })
            })
            .collect();
        let subject = match (&self.layout.added, &resolved.subject) {
            (Some(added), _) => Some(added.id),
            (None, subject) => *subject,
        };
        let node = subject.and_then(|id| self.after.get(id));
        let removed = self.layout.removed.iter().rev();
        ShapeOutcome {
            success: true,
            dry_run: false,
            summary: resolved.summarise(tree, &self.after, &self.layout),
            was: resolved.subject.and_then(|id| path_of(tree, id)),
            node: node.map(|node| self.after.alias_path(node)),
            id: node.map(|node| node.alias.clone()),
            file: node.and_then(|node| node.path.clone()),
            renamed,
            removed: removed.filter_map(|id| path_of(tree, *id)).collect(),
            created_files: self.files.created_files(),
            moved_files: self.files.moved_files(),
            changed_files: self.files.changed_files(),
            removed_files: self.files.removed_files(),
            left_files: self.files.left_files(),
            broken_needs: Vec::new(),
            changed_entities,
            operation: None,
        }
    }
}
