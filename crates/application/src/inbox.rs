//! The review inbox: every plan that waits for a person, grouped by what caused it.
//!
//! The one query for pending decisions. [`count_pending_decisions`], which feeds the header, title
//! and icon of every page, and the lists of [`load_inbox`] both rest on [`list_waiting_plans`], so
//! that no number contradicts another.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::approval::{Condemnation, ObjectionKind};
use domain::calling_session::SHELL_SESSION;
use domain::ids::NodeId;
use domain::node::{Node, Status};
use domain::notification::WaitingItem;
use domain::time::Timestamp;
use domain::tree::Tree;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::open_gates::{BlockedStep, OpenGate, list_open_gates};
use crate::open_waits::list_open_waits;
use crate::project_status::needs_decision;
use crate::reviews::status::{EscalatedItem, list_escalated};
use crate::show_sessions::find_undecided;
use crate::tree_cache::CachedTree;
use crate::views::ChangeRequestView;

/// Maximum number of plans listed in a group; the group tells its size.
pub const MAX_GROUP_ITEMS: usize = 100;

/// The pending decisions of a working copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PendingDecisions {
    /// Plans that can be decided now, and findings of reviews that only a person can.
    pub count: usize,
    /// The checked-out branch; `None` without a repository or with a detached HEAD.
    pub branch: Option<String>,
    /// Whether a profile of the project has plans from which prose is written.
    pub has_prose: bool,
}

/// A plan, by path and title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanName {
    pub path: String,
    pub entity_id: String,
    pub title: Option<String>,
}

impl PlanName {
    pub(crate) fn of_node(tree: &Tree, node: &Node) -> Self {
        Self {
            path: tree.alias_path(node),
            entity_id: node.alias.clone(),
            title: node.description.title.clone(),
        }
    }

    /// Returns the title, or the id of a plan without one.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.entity_id)
    }
}

/// A plan that waits for a decision.
#[derive(Clone, Debug, Serialize)]
pub struct InboxItem {
    #[serde(flatten)]
    pub plan: PlanName,
    pub entity_type: String,
    pub status: Status,
    /// Whether an earlier text of it was approved: then the difference is what is decided about.
    pub was_approved: bool,
    /// When it began to wait.
    pub since: Timestamp,
    /// The undecided plans below it, per level: they follow this decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<LevelCount>,
    /// Sessions that cannot go on until this is decided: a gate stopped them, or they wait for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<StoppedSession>,
}

/// A session that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoppedSession {
    pub host: String,
    pub session: String,
    pub at: Timestamp,
}

/// Why plans wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitCause {
    /// A plan changed after its approval: it waits itself, or those below it do.
    Changed,
    /// Plans that were never approved.
    New,
    /// Plans whose file is missing or unreadable.
    Unusable,
}

/// Number of plans of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelCount {
    pub level: String,
    pub count: usize,
}

/// Plans that wait for the same reason.
#[derive(Clone, Debug, Serialize)]
pub struct InboxGroup {
    pub cause: WaitCause,
    /// The plan that changed, or the parent of new plans.
    pub origin: Option<PlanName>,
    /// The plans that can be decided now, what stops a session first, then in the order of the tree.
    pub items: Vec<InboxItem>,
    /// Number of them, where the list is limited.
    pub total: usize,
    /// What the cause touches, per level: the plans that wait, and those below that follow them.
    pub touched: Vec<LevelCount>,
}

impl InboxGroup {
    /// Returns the key of the group in addresses.
    #[must_use]
    pub fn group_key(&self) -> String {
        let origin = self.origin.as_ref().map_or("", |plan| plan.path.as_str());
        match self.cause {
            WaitCause::Changed => format!("changed:{origin}"),
            WaitCause::New => format!("new:{origin}"),
            WaitCause::Unusable => "unusable:".to_owned(),
        }
    }

    fn is_stopping(&self) -> bool {
        self.items.iter().any(|item| !item.stopped.is_empty())
    }
}

/// Everything that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub struct InboxView {
    /// Number of decisions: plans and findings.
    pub count: usize,
    pub groups: Vec<InboxGroup>,
    /// Review findings that a person has to decide.
    pub findings: Vec<EscalatedItem>,
    /// Sessions stopped by something else than a plan that waits.
    pub stopped: Vec<OpenGate>,
    /// Plans whose text was rejected, or of which changes are requested: the agent's turn.
    pub returned: Vec<ReturnedItem>,
    /// Number of plans in the project.
    pub plans: usize,
}

/// A plan that was sent back to the agent.
#[derive(Clone, Debug, Serialize)]
pub struct ReturnedItem {
    #[serde(flatten)]
    pub plan: PlanName,
    #[serde(flatten)]
    pub request: ChangeRequestView,
    /// Whether the text was rejected; otherwise changes of it were requested.
    #[serde(rename = "rejected")]
    pub is_rejected: bool,
}

impl InboxView {
    /// Returns the items of all groups, in the order of the queue.
    pub fn queue_items(&self) -> impl Iterator<Item = &InboxItem> {
        self.groups.iter().flat_map(|group| &group.items)
    }
}

/// Counts the pending decisions in a cached tree that is up to date: those that [`load_inbox`] lists.
///
/// # Errors
/// When the state cannot be read.
pub fn count_pending_decisions(
    ctx: &Context<'_>,
    known: &CachedTree,
) -> Result<PendingDecisions, Failure> {
    Ok(PendingDecisions {
        count: list_waiting_plans(ctx, known).count() + list_escalated(ctx)?.len(),
        branch: ctx.git.current_branch(),
        has_prose: ctx
            .profiles
            .iter()
            .any(|profile| profile.levels.iter().any(|level| level.output.is_some())),
    })
}

/// Returns the inbox, from a cached tree that is up to date.
///
/// # Errors
/// When the state cannot be read.
pub fn load_inbox(
    ctx: &Context<'_>,
    known: &CachedTree,
    blocked: &[BlockedStep],
) -> Result<InboxView, Failure> {
    let findings = list_escalated(ctx)?;
    let waiting: Vec<&Node> = list_waiting_plans(ctx, known).collect();
    let mut stopped = list_open_gates(known, blocked, ctx.clock.now());
    let sessions = list_stopped_sessions(ctx, known, &waiting, &mut stopped)?;
    let mut groups = group_by_cause(known, &waiting, &sessions);
    // A stable sort: what stops an agent comes first, the rest stays in the order of the tree.
    groups.sort_by_key(|group| (!group.is_stopping(), group.cause));
    Ok(InboxView {
        count: waiting.len() + findings.len(),
        groups,
        findings,
        stopped,
        returned: list_returned(known),
        plans: list_plans(known).count(),
    })
}

/// Sessions that cannot go on, by the plan to decide about.
type StoppedSessions = HashMap<NodeId, Vec<StoppedSession>>;

/// Returns the sessions that the waiting plans hold up, and takes their gates out of `gates`: shown twice,
/// one session would look like two.
fn list_stopped_sessions(
    ctx: &Context<'_>,
    known: &CachedTree,
    waiting: &[&Node],
    gates: &mut Vec<OpenGate>,
) -> Result<StoppedSessions, Failure> {
    let queue: HashSet<NodeId> = waiting.iter().map(|node| node.id).collect();
    let mut sessions = StoppedSessions::new();
    let state = ctx.store.begin_read()?;
    for wait in list_open_waits(ctx, &*state)? {
        let node = known.tree.get(wait.node);
        let decided = node.and_then(|node| find_undecided(ctx, known, node));
        if let Some(node) = decided.filter(|node| queue.contains(&node.id)) {
            sessions.entry(node.id).or_default().push(StoppedSession {
                host: wait.host,
                session: wait.session,
                at: wait.since,
            });
        }
    }
    gates.retain(|gate| {
        let waits_for = gate.waits_for.as_ref();
        let node = waits_for.and_then(|plan| known.find_by_path(&plan.path));
        let Some(node) = node.filter(|node| queue.contains(&node.id)) else {
            return true;
        };
        let stopped = sessions.entry(node.id).or_default();
        // A session that a gate stopped and that waits since is one session.
        if stopped.iter().all(|known| known.session != gate.session) {
            stopped.push(StoppedSession::from_gate(gate));
        }
        false
    });
    Ok(sessions)
}

/// Prefix of the key of a review's finding; other items are plans.
const REVIEW_KEY_PREFIX: &str = "review ";

/// Whether an item of [`list_waiting_items`] is a finding of a review.
#[must_use]
pub fn is_review_item(item: &WaitingItem) -> bool {
    item.key.starts_with(REVIEW_KEY_PREFIX)
}

/// Returns the subject and the check of an item that is a finding.
#[must_use]
pub fn finding_of_item(item: &WaitingItem) -> Option<(&str, &str)> {
    item.key.strip_prefix(REVIEW_KEY_PREFIX)?.rsplit_once(' ')
}

/// Lists what [`count_pending_decisions`] counts, for notifications.
///
/// # Errors
/// When the state cannot be read.
pub fn list_waiting_items(
    ctx: &Context<'_>,
    known: &CachedTree,
) -> Result<Vec<WaitingItem>, Failure> {
    let plans = list_waiting_plans(ctx, known).map(|node| {
        // With the version: an edited plan is a new question, and its message is due again.
        let version = node.content.version_hash();
        WaitingItem {
            // The status too: an approved text that became stale is another question.
            key: format!("{} {} {version:?}", node.id, node.status()),
            path: known.tree.alias_path(node),
            title: node.description.title.clone(),
            status: node.status().to_string(),
        }
    });
    let findings = list_escalated(ctx)?.into_iter().map(|one| WaitingItem {
        key: format!("{REVIEW_KEY_PREFIX}{} {}", one.subject, one.item.id),
        path: one.subject,
        title: Some(one.item.check),
        status: "review finding".to_owned(),
    });
    Ok(plans.chain(findings).collect())
}

impl StoppedSession {
    /// Returns the host, or the session of a command that no host started.
    #[must_use]
    pub fn display_name(&self) -> &str {
        match self.host.as_str() {
            "" | SHELL_SESSION => &self.session,
            host => host,
        }
    }

    fn from_gate(gate: &OpenGate) -> Self {
        Self {
            host: gate.host.clone(),
            session: gate.session.clone(),
            at: gate.at,
        }
    }
}

/// Returns the objection with which a plan went back to the agent: its text was rejected, or changes of
/// it were requested.
fn returned_objection(node: &Node) -> Option<&Condemnation> {
    node.objection_to_text()
        .filter(|objection| objection.kind != ObjectionKind::RevalidationRequired)
}

fn list_returned(known: &CachedTree) -> Vec<ReturnedItem> {
    let returned = list_plans(known).filter_map(|node| Some((node, returned_objection(node)?)));
    returned
        .map(|(node, objection)| ReturnedItem {
            plan: PlanName::of_node(&known.tree, node),
            request: ChangeRequestView::from_objection(objection),
            is_rejected: objection.kind == ObjectionKind::Rejected,
        })
        .collect()
}

/// Returns every planned node. The trail is no planned work.
fn list_plans(known: &CachedTree) -> impl Iterator<Item = &Node> {
    let nodes = known.order.iter().filter_map(|id| known.tree.get(*id));
    nodes.filter(|node| node.profile != domain::trail::PROFILE)
}

/// Returns the plans that can be decided now, in the order of the tree.
fn list_waiting_plans<'t>(
    ctx: &'t Context<'_>,
    known: &'t CachedTree,
) -> impl Iterator<Item = &'t Node> {
    // A rejected text is decided: the agent writes the next one, which waits again.
    list_plans(known).filter(|node| {
        returned_objection(node).is_none()
            && !is_below_unusable(&known.tree, node)
            && needs_decision(ctx, &known.tree, node)
    })
}

/// Whether a plan is invalid because one above it is: that one needs attention.
fn is_below_unusable(tree: &Tree, node: &Node) -> bool {
    node.status() == Status::Invalid
        && tree
            .parent_of(node)
            .is_some_and(|parent| parent.status() == Status::Invalid)
}

/// The cause of a waiting plan, and the plan it comes from.
fn cause_of(node: &Node) -> (WaitCause, Option<NodeId>) {
    match node.status() {
        Status::Invalid => (WaitCause::Unusable, None),
        // The ancestor that changed; without a recorded cause, the parent.
        Status::RequiresRevalidation => {
            let origin = node.standing.cause.as_ref().map(|cause| cause.origin);
            (WaitCause::Changed, origin.or(node.parent))
        }
        // A draft with an approval is an edited plan: the person decides about the difference.
        _ if node.approval.is_some() => (WaitCause::Changed, Some(node.id)),
        _ => (WaitCause::New, node.parent),
    }
}

fn group_by_cause(
    known: &CachedTree,
    waiting: &[&Node],
    sessions: &StoppedSessions,
) -> Vec<InboxGroup> {
    let tree = &known.tree;
    let mut order: Vec<(WaitCause, Option<NodeId>)> = Vec::new();
    let mut members: HashMap<(WaitCause, Option<NodeId>), Vec<&Node>> = HashMap::new();
    for node in waiting {
        let key = cause_of(node);
        members
            .entry(key)
            .or_insert_with(|| {
                order.push(key);
                Vec::new()
            })
            .push(node);
    }
    let below = list_stale_by_origin(known);
    let groups = order.into_iter().map(|key @ (cause, origin)| {
        let mut plans = members.remove(&key).unwrap_or_default();
        // First what an agent waits for: at the end of a long group nobody would see it.
        plans.sort_by_key(|node| !sessions.contains_key(&node.id));
        let touched = match cause {
            WaitCause::Changed => {
                let stale = origin.and_then(|origin| below.get(&origin));
                count_levels(&list_touched(
                    tree,
                    &plans,
                    stale.map_or(&[], Vec::as_slice),
                ))
            }
            WaitCause::New | WaitCause::Unusable => count_levels(&plans),
        };
        InboxGroup {
            cause,
            origin: origin
                .and_then(|id| tree.get(id))
                .map(|node| PlanName::of_node(tree, node)),
            total: plans.len(),
            items: plans
                .iter()
                .take(MAX_GROUP_ITEMS)
                .map(|node| describe_item(tree, node, sessions))
                .collect(),
            touched,
        }
    });
    groups.collect()
}

/// Returns the stale plans that wait, and those below that a decision about these settles. Below a plan that was
/// sent back to the agent, nothing is settled.
fn list_touched<'t>(tree: &Tree, waiting: &[&'t Node], stale: &[&'t Node]) -> Vec<&'t Node> {
    let waiting: HashSet<NodeId> = waiting.iter().map(|node| node.id).collect();
    let is_touched = |node: &&&Node| {
        let mut lineage = tree.ancestors(node).into_iter().chain([**node]);
        lineage.any(|above| waiting.contains(&above.id))
    };
    stale.iter().filter(is_touched).copied().collect()
}

/// Returns the stale plans by the plan whose change made them stale.
fn list_stale_by_origin(known: &CachedTree) -> BTreeMap<NodeId, Vec<&Node>> {
    let mut stale: BTreeMap<NodeId, Vec<&Node>> = BTreeMap::new();
    for node in list_plans(known) {
        if node.status() == Status::RequiresRevalidation
            && let (_, Some(origin)) = cause_of(node)
        {
            stale.entry(origin).or_default().push(node);
        }
    }
    stale
}

/// Counts plans per level, in the order in which the levels appear.
fn count_levels(plans: &[&Node]) -> Vec<LevelCount> {
    let mut counts: Vec<LevelCount> = Vec::new();
    for node in plans {
        match counts.iter_mut().find(|known| known.level == node.level) {
            Some(known) => known.count += 1,
            None => counts.push(LevelCount {
                level: node.level.clone(),
                count: 1,
            }),
        }
    }
    counts
}

fn describe_item(tree: &Tree, node: &Node, sessions: &StoppedSessions) -> InboxItem {
    InboxItem {
        plan: PlanName::of_node(tree, node),
        entity_type: node.level.clone(),
        status: node.status(),
        was_approved: node.approval.is_some(),
        // A status that never changed has no time of its own.
        since: node.standing.since.unwrap_or(node.updated_at),
        below: count_levels(&list_undecided_below(tree, node)),
        stopped: sessions.get(&node.id).cloned().unwrap_or_default(),
    }
}

fn list_undecided_below<'t>(tree: &'t Tree, node: &Node) -> Vec<&'t Node> {
    let below = tree.subtree_preorder(node.id).into_iter();
    below
        .filter(|other| other.id != node.id && other.status() != Status::Approved)
        .collect()
}
