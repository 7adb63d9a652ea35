//! Sessions at work, as cards: what each does, waits for or is blocked by, and where.
//!
//! Put together from the live sessions, claims, positions, waits, trails, blocked steps and the log; a
//! session known from several of them is one card. The rule for its state is
//! `domain::session_activity`.

use domain::ids::Principal;
use domain::node::{Node, Progress, Status};
use domain::ports::Snapshot;
use domain::record;
use domain::session_activity::{ActivityFacts, ActivityState, judge_activity};
use domain::time::Timestamp;
use domain::work::focus::Focus;
use serde::Serialize;

use crate::claim_node::list_active_claims;
use crate::context::Context;
use crate::coordination::load_live_sessions;
use crate::failure::Failure;
use crate::open_gates::{BlockedStep, OpenGate, list_open_gates};
use crate::open_waits::list_open_waits;
use crate::project_status::needs_decision;
use crate::sessions::list_sessions::list_sessions;
use crate::sessions::list_signals::{SessionSignal, list_signals};
use crate::tree_cache::CachedTree;
use crate::views::OperationView;

/// Number of operations in which the last one of each session is looked for.
const SEARCHED_OPERATIONS: usize = 300;
/// Maximum number of cards.
const MAX_CARDS: usize = 60;
/// Maximum number of files on a card.
const MAX_FILES: usize = 8;

/// A session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionCard {
    pub session: String,
    pub host: Option<String>,
    pub state: ActivityState,
    /// Since when it is in this state, as far as it is known.
    pub since: Option<Timestamp>,
    pub last_heard: Option<Timestamp>,
    /// The plan it works on.
    pub plan: Option<CardPlan>,
    /// The plan to decide about, so that it can go on.
    pub waits_for: Option<CardPlan>,
    /// Since when it waits for a decision, as its command or tool reports.
    pub waits_since: Option<Timestamp>,
    pub blocked_by: Option<OpenGate>,
    /// What its trail says: the aim, and the present action.
    pub aim: Option<String>,
    pub action: Option<String>,
    pub holds: Vec<HeldPlan>,
    /// Its worktree, if that is another one, and the branch there.
    pub worktree: Option<String>,
    pub branch: Option<String>,
    /// The files it changed last.
    pub files: Vec<String>,
    pub signals: Vec<SessionSignal>,
    pub last_operation: Option<OperationView>,
}

/// A plan on a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CardPlan {
    pub path: String,
    pub name: String,
    pub status: Status,
    pub progress: Progress,
}

/// A plan that a session holds, and the end of the lease.
#[derive(Clone, Debug, Serialize)]
pub struct HeldPlan {
    pub path: String,
    pub until: Timestamp,
}

/// Returns the sessions, those that need a person first.
///
/// # Errors
/// When the state cannot be read.
pub fn show_sessions(
    ctx: &Context<'_>,
    known: &CachedTree,
    blocked: &[BlockedStep],
) -> Result<Vec<SessionCard>, Failure> {
    let mut cards = CardList::default();
    let has_trail = domain::trail::has_trail_profile(ctx.profiles);
    if has_trail {
        // Before the snapshot below: a store gives one at a time.
        for session in list_sessions(ctx)? {
            // Sessions without a name would all share one card.
            if session.name.is_empty() {
                continue;
            }
            let card = cards.find_card(&session.name, None);
            card.host = Some(session.host).filter(|host| !host.is_empty());
            (card.aim, card.action) = (session.trajectory, session.cursor);
            card.note_activity(session.updated);
        }
        for signal in list_signals(ctx)? {
            let card = cards.find_card(&signal.session.clone(), None);
            card.signals.push(signal);
        }
    }
    let state = ctx.store.begin_read()?;
    cards.add_live_sessions(ctx, &*state, known)?;
    cards.add_positions(&*state, known)?;
    for gate in list_open_gates(known, blocked, ctx.clock.now()) {
        let card = cards.find_card(&gate.session.clone(), None);
        card.host.get_or_insert(gate.host.clone());
        card.note_activity(gate.at);
        // The latest one is first.
        card.blocked_by.get_or_insert(gate);
    }
    cards.add_waits(ctx, &*state, known)?;
    cards.add_operations(&*state)?;
    let now = ctx.clock.now();
    for card in &mut cards.list {
        card.judge_state(known, now);
    }
    let mut list = cards.list;
    list.retain(|card| !card.is_empty());
    list.sort_by_key(|card| (card.state, std::cmp::Reverse(card.last_heard)));
    list.truncate(MAX_CARDS);
    Ok(list)
}

#[derive(Default)]
struct CardList {
    list: Vec<SessionCard>,
}

impl CardList {
    /// Returns the card of a session in a worktree, which is this one without a name.
    fn find_card(&mut self, session: &str, worktree: Option<&str>) -> &mut SessionCard {
        // Sessions of other worktrees may have the same name.
        let is_same =
            |card: &SessionCard| card.session == session && card.worktree.as_deref() == worktree;
        let place = match self.list.iter().position(is_same) {
            Some(place) => place,
            None => {
                self.list
                    .push(SessionCard::new(session, worktree.map(str::to_owned)));
                self.list.len() - 1
            }
        };
        &mut self.list[place]
    }

    fn add_live_sessions(
        &mut self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        known: &CachedTree,
    ) -> Result<(), Failure> {
        for live in load_live_sessions(ctx, state)? {
            let is_elsewhere = live.worktree.describe_place().is_some();
            let folder = is_elsewhere.then_some(live.worktree.folder.as_str());
            let card = self.find_card(&live.session, folder);
            card.branch = live.worktree.branch.clone();
            card.files = live.touched.iter().take(MAX_FILES).cloned().collect();
            card.note_activity(live.heard);
            if let Some(focus) = &live.focus {
                card.plan = find_plan(known, &focus.path);
            }
        }
        for held in list_active_claims(ctx, state)? {
            let is_elsewhere = held.worktree.describe_place().is_some();
            let folder = is_elsewhere.then_some(held.worktree.folder.as_str());
            let card = self.find_card(&held.claim.session, folder);
            // The branch of the live session is newer than that of its claim.
            card.branch = card.branch.take().or(held.worktree.branch.clone());
            card.note_activity(held.heard.unwrap_or(held.claim.since));
            card.holds.push(HeldPlan {
                path: held.node.path,
                until: held.claim.until,
            });
        }
        Ok(())
    }

    fn add_positions(&mut self, state: &dyn Snapshot, known: &CachedTree) -> Result<(), Failure> {
        for (session, focus) in record::read_records::<Focus>(state, "")? {
            let cursor = focus.cursor().and_then(|id| known.tree.get(id));
            if let (false, Some(node)) = (session.is_empty(), cursor) {
                let card = self.find_card(&session, None);
                // Only where the live session did not say it: this record is of this worktree and
                // may be older.
                card.plan
                    .get_or_insert_with(|| CardPlan::from_node(known, node));
            }
        }
        Ok(())
    }

    /// Adds the sessions that wait for a decision, with the plan to decide about.
    fn add_waits(
        &mut self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        known: &CachedTree,
    ) -> Result<(), Failure> {
        for wait in list_open_waits(ctx, state)? {
            let Some(node) = known.tree.get(wait.node) else {
                continue;
            };
            let card = self.find_card(&wait.session, None);
            card.host.get_or_insert(wait.host);
            card.note_activity(wait.since);
            card.waits_since.get_or_insert(wait.since);
            let decided = find_undecided(ctx, known, node).unwrap_or(node);
            card.waits_for
                .get_or_insert_with(|| CardPlan::from_node(known, decided));
        }
        Ok(())
    }

    /// Adds the last operation of each session.
    fn add_operations(&mut self, state: &dyn Snapshot) -> Result<(), Failure> {
        for head in state.operation_heads(None, SEARCHED_OPERATIONS)? {
            let Principal::Agent { host, session } = &head.by else {
                continue;
            };
            // The log names every session there ever was; only those known from elsewhere get a
            // card.
            let Some(card) = self.list.iter_mut().find(|card| card.session == *session) else {
                continue;
            };
            card.host.get_or_insert(host.clone());
            if card.last_operation.is_none() {
                card.note_activity(head.at);
                card.last_operation = Some(OperationView::from_head(state, head)?);
            }
        }
        Ok(())
    }
}

impl SessionCard {
    fn new(session: &str, worktree: Option<String>) -> Self {
        Self {
            session: session.to_owned(),
            host: None,
            state: ActivityState::Gone,
            since: None,
            last_heard: None,
            plan: None,
            waits_for: None,
            waits_since: None,
            blocked_by: None,
            aim: None,
            action: None,
            holds: Vec::new(),
            worktree,
            branch: None,
            files: Vec::new(),
            signals: Vec::new(),
            last_operation: None,
        }
    }

    fn note_activity(&mut self, at: Timestamp) {
        self.last_heard = self.last_heard.max(Some(at));
    }

    /// Whether nothing is known but a name, as of a terminal that once looked.
    fn is_empty(&self) -> bool {
        self.plan.is_none()
            && self.aim.is_none()
            && self.holds.is_empty()
            && self.files.is_empty()
            && self.blocked_by.is_none()
            && self.waits_since.is_none()
            && self.last_operation.is_none()
    }

    fn judge_state(&mut self, known: &CachedTree, now: Timestamp) {
        let blocked = self.blocked_by.as_ref();
        if let Some(plan) = blocked.and_then(|gate| gate.waits_for.as_ref()) {
            self.waits_for = self.waits_for.take().or(find_plan(known, &plan.path));
        }
        let facts = ActivityFacts {
            last_heard: self.last_heard,
            blocked_at: self.blocked_by.as_ref().map(|gate| gate.at),
            has_open_decision: self.waits_for.is_some(),
            waits_since: self.waits_since,
        };
        (self.state, self.since) = judge_activity(&facts, now);
    }
}

impl CardPlan {
    fn from_node(known: &CachedTree, node: &Node) -> Self {
        Self {
            path: known.tree.alias_path(node),
            name: node
                .description
                .title
                .clone()
                .unwrap_or_else(|| node.alias.clone()),
            status: node.status(),
            progress: node.progress,
        }
    }
}

fn find_plan(known: &CachedTree, path: &str) -> Option<CardPlan> {
    let node = known.find_by_path(path)?;
    Some(CardPlan::from_node(known, node))
}

/// Returns the topmost plan at or above a node that a person has to decide about.
pub(crate) fn find_undecided<'t>(
    ctx: &Context<'_>,
    known: &'t CachedTree,
    node: &'t Node,
) -> Option<&'t Node> {
    let mut lineage = vec![node];
    lineage.extend(known.tree.ancestors(node));
    lineage
        .into_iter()
        // Topmost first: a plan below an undecided one cannot be decided yet.
        .rev()
        .find(|node| needs_decision(ctx, &known.tree, node))
}
