//! Claims: lease a node to this session, release it, and list the active leases.
//!
//! A lease is extended by the session's heartbeat. A claim also covers the nodes below it.
//!
//! In a git repository the coordination of its worktrees decides, inside its own write transaction:
//! what it says wins over every record. The operation in the history of this worktree is written
//! after it. A process killed between the two leaves a claim without an operation, which its
//! session renews by claiming again and which expires otherwise; or a released node whose history
//! still shows the claim, which nobody reads.

use domain::fact::Fact;
use domain::ids::OperationId;
use domain::node::Node;
use domain::operation::Verb;
use domain::plan_document::MILESTONES_PROFILE;
use domain::policy::GateMode;
use domain::ports::{ClaimChange, HeldClaim, NodeKey, Snapshot, Transaction};
use domain::record::{self, Recorded};
use domain::time::Timestamp;
use domain::work::claim::{
    self, Claim, ClaimRefused, ClaimRequest, activity_key, claim_key, decide_claim, decide_release,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::{Context, Notice};
use crate::coordination::{
    change_coordination, keep_unshared, load_claims, load_node_key, load_overlaps,
    load_recorded_claims,
};
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::{with_observed_node, with_recorded_node};
use crate::plan_documents::reconcile::list_completed;

/// A claim.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClaimView {
    pub node: String,
    pub session: String,
    pub token: u64,
    pub since: Timestamp,
    pub until: Timestamp,
    /// The worktree its session works in, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The branch that is checked out there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Other live sessions that work on the same node or its file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overlaps: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

impl ClaimView {
    fn from_claim(node: String, claim: Claim) -> Self {
        Self {
            node,
            session: claim.session,
            token: claim.token,
            since: claim.since,
            until: claim.until,
            worktree: None,
            branch: None,
            overlaps: Vec::new(),
            operation: None,
        }
    }
}

/// Request of [`release_node`].
#[derive(Clone, Debug)]
pub struct ReleaseRequest {
    pub node: Vec<String>,
    /// If given, only the claim with this token is released.
    pub token: Option<u64>,
}

/// Claims a node and everything below it for this session.
///
/// # Errors
/// When another session holds it, an ancestor or a descendant.
pub fn claim_node(ctx: &Context<'_>, node: &[String]) -> Result<ClaimView, Failure> {
    with_recorded_node(ctx, node, |tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        claim_within(ctx, tx, &node, &path)
    })
}

/// Claims a node in a running transaction.
pub(crate) fn claim_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    node: &Node,
    path: &str,
) -> Result<ClaimView, Failure> {
    refuse_duplicate(ctx, &*tx, node)?;
    let key = load_node_key(&*tx, node)?;
    let claim = decide_and_take(ctx, &*tx, &key)?.map_err(|refused| claim_failure(&refused))?;
    let before = record::read_record::<Claim>(&*tx, &claim_key(node.id))?;
    let mut operation =
        ctx.new_operation(Verb::Claim, format!("{path} is claimed by {}", ctx.session));
    operation.facts.extend(record::record_changed_fact(
        &claim_key(node.id),
        before.as_ref(),
        Some(&claim),
    ));
    let operation = tx.record_operation(operation)?;
    let files: Vec<String> = node.path.iter().cloned().collect();
    // Reported and not refused: only a claim excludes others, and an overlap may be with a session
    // that is about to end.
    let overlaps = load_overlaps(ctx, &*tx, &files, Some(&key))?;
    Ok(ClaimView {
        operation: Some(operation),
        overlaps: overlaps
            .iter()
            .map(domain::work::overlap::Overlap::render_sentence)
            .collect(),
        ..ClaimView::from_claim(path.to_owned(), claim)
    })
}

/// Decides about a claim where it is kept: in the coordination, or in the records of the store,
/// whose write lock this transaction holds.
fn decide_and_take(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    key: &NodeKey,
) -> Result<Result<Claim, ClaimRefused>, Failure> {
    let now = read_store_time(ctx, tx)?;
    // A fencing token: higher than every one before it. Operation numbers grow too, so that the
    // token of a claim made here stays the highest if the coordination is lost.
    let operation = tx.next_operation_id()?.0;
    let recorded = load_recorded_claims(tx)?;
    let request = |next_token: u64| ClaimRequest {
        node: key,
        session: &ctx.session,
        now,
        lease_ms: lease_millis(ctx),
        next_token,
    };
    let mut decided = None;
    let shared = change_coordination(ctx, |coordination| {
        // Decided inside the coordination's lock, on what is held at that moment: between two reads
        // another worktree could take the node (law 5).
        coordination.change_claims(&mut |held, token| {
            let mut all = recorded.clone();
            keep_unshared(&mut all);
            all.extend_from_slice(held);
            let outcome = decide_claim(&all, &request(token.max(operation)));
            let outcome = outcome.map(|claim| Claim {
                shared: true,
                ..claim
            });
            let change = match &outcome {
                Ok(claim) => ClaimChange::Put(key.clone(), claim.clone()),
                Err(_) => ClaimChange::Keep,
            };
            decided = Some(outcome);
            change
        })
    })?;
    match (shared, decided) {
        (Some(()), Some(outcome)) => Ok(outcome),
        // No coordination to decide: without git, or where the store itself is shared, the records
        // are the truth and this transaction holds their lock.
        _ => Ok(decide_claim(&recorded, &request(operation))),
    }
}

/// Releases a node.
///
/// # Errors
/// When this session does not hold it; a person may release anything.
pub fn release_node(ctx: &Context<'_>, request: &ReleaseRequest) -> Result<ClaimView, Failure> {
    with_observed_node(ctx, &request.node, |tx, id, rest| {
        reject_extra_words(rest)?;
        let key = load_node_key(&*tx, &load_node(&*tx, id)?)?;
        let asked = claim::ReleaseRequest {
            node: &key,
            session: &ctx.session,
            by_person: ctx.actor.is_human(),
            token: request.token,
        };
        let before = record::read_record::<Claim>(&*tx, &claim_key(id))?;
        let is_own = |claim: &&Claim| claim.shared && claim.session == ctx.session;
        let released = match (decide_and_release(ctx, &*tx, &asked)?, &before) {
            (Ok(released), _) => released.claim,
            // Released by a process that was interrupted before it recorded that.
            (Err(ClaimRefused::NotClaimed { .. }), Some(claim)) if is_own(&claim) => claim.clone(),
            (Err(refused), _) => return Err(claim_failure(&refused)),
        };
        let mut operation = ctx.new_operation(Verb::Claim, format!("{} is released", key.path));
        operation.facts.extend(record::record_changed_fact::<Claim>(
            &claim_key(id),
            before.as_ref(),
            None,
        ));
        let operation = tx.record_operation(operation)?;
        Ok(ClaimView {
            operation: Some(operation),
            ..ClaimView::from_claim(key.path, released)
        })
    })
}

/// Ends the claims on the milestones of plan documents that these facts complete, and returns the facts.
///
/// Not with the milestone: until the branches are merged, its claim is what keeps the other worktrees from
/// carrying it out again.
pub(crate) fn release_ended_document(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    facts: &[Fact],
) -> Result<Vec<Fact>, Failure> {
    let mut released = Vec::new();
    for id in list_completed(facts) {
        let is_document = |node: &Node| node.profile == MILESTONES_PROFILE && node.parent.is_none();
        let Some(document) = tx.load_node(id)?.filter(is_document) else {
            continue;
        };
        for milestone in tx.load_children(document.id)? {
            let key = load_node_key(tx, &milestone)?;
            let asked = claim::ReleaseRequest {
                node: &key,
                session: &ctx.session,
                // Regardless of the holder: nothing is left to exclude others from.
                by_person: true,
                token: None,
            };
            if decide_and_release(ctx, tx, &asked)?.is_err() {
                continue;
            }
            let key = claim_key(milestone.id);
            let before = record::read_record::<Claim>(tx, &key)?;
            released.extend(record::record_changed_fact::<Claim>(
                &key,
                before.as_ref(),
                None,
            ));
        }
    }
    Ok(released)
}

/// Decides about a release where the claim is kept.
fn decide_and_release(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    asked: &claim::ReleaseRequest<'_>,
) -> Result<Result<HeldClaim, ClaimRefused>, Failure> {
    let recorded = load_recorded_claims(tx)?;
    let mut decided = None;
    let shared = change_coordination(ctx, |coordination| {
        coordination.change_claims(&mut |held, _| {
            let mut all = held.to_vec();
            let mut unshared = recorded.clone();
            keep_unshared(&mut unshared);
            all.extend(unshared);
            let outcome = decide_release(&all, asked).cloned();
            let change = match &outcome {
                // A claim from before the coordination exists only as a record, which the operation
                // removes.
                Ok(released) if released.claim.shared => ClaimChange::Remove(released.node.clone()),
                _ => ClaimChange::Keep,
            };
            decided = Some(outcome);
            change
        })
    })?;
    match (shared, decided) {
        (Some(()), Some(outcome)) => Ok(outcome),
        _ => Ok(decide_release(&recorded, asked).cloned()),
    }
}

/// Applies an undo of claims to the coordination: a claim that was undone ends, a release that was
/// undone is claimed again if the node is still free.
pub(crate) fn follow_undone_claims(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    facts: &[Fact],
) -> Result<(), Failure> {
    for fact in facts {
        let Fact::RecordChanged {
            record,
            before,
            after,
        } = fact
        else {
            continue;
        };
        let id = record.key.parse().ok().map(domain::ids::NodeId);
        let (true, Some(id)) = (record.kind == Claim::KIND, id) else {
            continue;
        };
        let Some(node) = tx.load_node(id)? else {
            continue;
        };
        let key = load_node_key(tx, &node)?;
        let parse = |body: &Option<serde_json::Value>| -> Option<Claim> {
            serde_json::from_value(body.clone()?).ok()
        };
        let (before, after) = (parse(before), parse(after).filter(|claim| claim.shared));
        let (now, lease_ms) = (ctx.clock.now(), lease_millis(ctx));
        change_coordination(ctx, |coordination| {
            coordination.change_claims(&mut |held, next_token| {
                let same = |claim: &Claim| {
                    held.iter().any(|one| {
                        one.node == key
                            && one.claim.session == claim.session
                            && one.claim.token == claim.token
                    })
                };
                match (&before, &after) {
                    (Some(before), None) if same(before) => ClaimChange::Remove(key.clone()),
                    (None, Some(after)) => {
                        let request = ClaimRequest {
                            node: &key,
                            session: &after.session,
                            now,
                            lease_ms,
                            next_token,
                        };
                        match decide_claim(held, &request) {
                            // With the token and times of the undone release: the session that held
                            // it still knows that token.
                            Ok(_) => ClaimChange::Put(key.clone(), after.clone()),
                            Err(_) => ClaimChange::Keep,
                        }
                    }
                    _ => ClaimChange::Keep,
                }
            })
        })?;
    }
    Ok(())
}

/// Whether facts may change the path of a node, by which the worktrees name its claim.
pub(crate) fn may_rename_nodes(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| {
        matches!(
            fact,
            // A plan that was absent may return under another name.
            Fact::NodeRenamed { .. } | Fact::NodeMoved { .. } | Fact::NodeAdded { .. }
        )
    })
}

/// Carries the claims of this working tree to the present names of their nodes, after an operation
/// that may have renamed some, or a node above them.
///
/// Only claims made here: in another working tree the plan still has its former name.
pub(crate) fn carry_renamed_claims(ctx: &Context<'_>, tx: &dyn Transaction) -> Result<(), Failure> {
    if !ctx.coordination.is_shared() {
        return Ok(());
    }
    for recorded in load_recorded_claims(tx)? {
        if !recorded.claim.shared {
            continue;
        }
        change_coordination(ctx, |coordination| {
            coordination.change_claims(&mut |held, _| decide_rename(held, &recorded))
        })?;
    }
    Ok(())
}

/// Decides where the claim of a node belongs whose name may have changed.
fn decide_rename(held: &[HeldClaim], recorded: &HeldClaim) -> ClaimChange {
    let is_same = |one: &&HeldClaim| {
        one.worktree.is_own()
            && one.claim.session == recorded.claim.session
            && one.claim.token == recorded.claim.token
    };
    // Another session may hold the new name already, in a worktree where it is another plan. Its
    // claim stays; ours expires under its former name.
    let is_taken = held.iter().any(|one| one.node == recorded.node);
    match held.iter().find(is_same) {
        Some(found) if !is_taken => ClaimChange::Rename {
            from: found.node.clone(),
            to: recorded.node.clone(),
            claim: found.claim.clone(),
        },
        _ => ClaimChange::Keep,
    }
}

/// Returns every active claim, by node.
///
/// # Errors
/// When the state cannot be read.
pub fn list_claims(ctx: &Context<'_>) -> Result<Vec<ClaimView>, Failure> {
    let state = ctx.store.begin_read()?;
    let found = list_active_claims(ctx, &*state)?.into_iter().map(|held| {
        let elsewhere = held.worktree.describe_place().is_some();
        ClaimView {
            worktree: elsewhere.then_some(held.worktree.folder),
            branch: held.worktree.branch.filter(|_| elsewhere),
            ..ClaimView::from_claim(held.node.path, held.claim)
        }
    });
    Ok(found.collect())
}

/// Returns the active claims, in all worktrees.
pub(crate) fn list_active_claims(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<HeldClaim>, Failure> {
    let mut claims = load_claims(ctx, state)?;
    // Most projects have no claims; on a shared database the time is a query of its own.
    if claims.is_empty() {
        return Ok(claims);
    }
    let (now, lease_ms) = (read_store_time(ctx, state)?, lease_millis(ctx));
    claims.retain(|held| held.is_active(now, lease_ms));
    Ok(claims)
}

/// Returns the store's clock where machines share a store, because their own clocks may differ.
pub(crate) fn read_store_time(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Timestamp, Failure> {
    Ok(state.store_time()?.unwrap_or_else(|| ctx.clock.now()))
}

/// Whether a session was active within the lease time. A session that crashed sends no end, but is
/// silent from then on.
pub(crate) fn is_session_live(ctx: &Context<'_>, state: &dyn Snapshot, session: &str) -> bool {
    let heard: Option<i64> = state
        .load_note(&activity_key(session))
        .ok()
        .flatten()
        .and_then(|text| text.parse().ok());
    // Where the store's clock cannot be read, ours decides: this only says whose lines count, and
    // must not fail a hook.
    let now = read_store_time(ctx, state).unwrap_or_else(|_| ctx.clock.now());
    heard.is_some_and(|heard| now.as_millis() - heard <= lease_millis(ctx))
}

/// Returns the lease time in milliseconds.
fn lease_millis(ctx: &Context<'_>) -> i64 {
    i64::try_from(ctx.policy.claim_lease_minutes.saturating_mul(60_000)).unwrap_or(i64::MAX)
}

/// Refuses a change that ends or divides a node which another session holds, or one above it.
pub(crate) fn refuse_claim_of_other(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<(), Failure> {
    let Some(held) = find_holder(ctx, state, node)? else {
        return Ok(());
    };
    let what = format!(
        "`{}` is claimed by another session ({})",
        held.node.path, held.claim.session
    );
    Err(Failure::refused(what).with_step(format!(
        "tl release {}   # in that session, or by a person",
        held.node.path
    )))
}

/// Refuses to change the progress, phase or size of a node that another session holds, or one above it, as
/// the `claim` gate refuses to write it.
///
/// A milestone may be taken for a session of its own, in the name of which no tool but those of the flow
/// speaks; so within its worktree it is not refused.
pub(crate) fn refuse_claimed_change(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<(), Failure> {
    if node.profile == MILESTONES_PROFILE {
        let held = find_holder(ctx, state, node)?;
        if held.is_none_or(|held| held.worktree.describe_place().is_none()) {
            return Ok(());
        }
    }
    match ctx.policy.gates.claim {
        GateMode::Off => Ok(()),
        GateMode::Block => refuse_claim_of_other(ctx, state, node),
        GateMode::Warn => {
            if let Err(refused) = refuse_claim_of_other(ctx, state, node) {
                ctx.push_notice(Notice::WorkLeft {
                    why: refused.message,
                });
            }
            Ok(())
        }
    }
}

/// Returns the claim of another session on a node or one of its ancestors.
pub(crate) fn find_holder(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<HeldClaim>, Failure> {
    let mut claims = list_active_claims(ctx, state)?;
    claims.retain(|held| !held.is_held_by(&ctx.session));
    if claims.is_empty() {
        return Ok(None);
    }
    let key = load_node_key(state, node)?;
    Ok(claims.into_iter().find(|held| held.node.covers(&key)))
}

/// Records a heartbeat of this session, which extends its leases; at most one per minute.
pub(crate) fn record_heartbeat(ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
    let now = read_store_time(ctx, &*tx)?;
    let key = activity_key(&ctx.session);
    let heard: Option<i64> = tx.load_note(&key)?.and_then(|text| text.parse().ok());
    // Hooks call this for every tool call; a write each time would make every tool call a commit. A
    // minute is short against the lease.
    if heard.is_none_or(|heard| now.as_millis() - heard > 60_000) {
        tx.save_note(&key, Some(&now.as_millis().to_string()), now)?;
    }
    Ok(())
}

fn claim_failure(refusal: &ClaimRefused) -> Failure {
    let failure = Failure::refused(refusal.to_string());
    match refusal {
        ClaimRefused::Held { .. } => failure.with_step("tl next   # unclaimed work"),
        ClaimRefused::NotClaimed { node } => failure.with_step(format!("tl claim {node}")),
        ClaimRefused::NotYours { .. } | ClaimRefused::OldToken { .. } => {
            failure.with_step("tl claim --list")
        }
    }
}
