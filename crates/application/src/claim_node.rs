//! Claims: lease a node to this session, release it, and list the active leases.
//!
//! A lease is extended by the session's heartbeat. A claim also covers the nodes below it.

use domain::ids::{NodeId, OperationId};
use domain::node::Node;
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::record;
use domain::time::Timestamp;
use domain::work::claim::{Claim, ClaimRefused, activity_key, claim_key};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::locate::{load_ancestors, load_node, load_node_path, reject_extra_words};
use crate::observe::with_observed_node;

/// A claim.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClaimView {
    pub node: String,
    pub session: String,
    pub token: u64,
    pub since: Timestamp,
    pub until: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
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
    with_observed_node(ctx, node, |tx, id, rest| {
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
    if let Some((_, claim)) = find_holder(ctx, &*tx, node)? {
        return Err(held_claim_failure(path, &claim));
    }
    // Both directions conflict: a claim covers a subtree, so a lease inside it would have two
    // holders.
    if let Some((below, claim)) = find_holder_below(ctx, &*tx, node)? {
        return Err(held_claim_failure(&load_node_path(&*tx, &below)?, &claim));
    }
    let now = read_store_time(ctx, &*tx)?;
    let before = record::read_record::<Claim>(&*tx, &claim_key(node.id))?;
    let own = before
        .as_ref()
        .filter(|claim| claim.session == ctx.session && is_claim_active(ctx, &*tx, claim, now));
    let until = Timestamp::from_millis(now.as_millis().saturating_add(lease_millis(ctx)));
    // A fencing token. Operation numbers only grow, so a later claim always has a higher one;
    // renewing keeps it, so that the holder's own requests stay valid.
    let token = own.map_or(tx.next_operation_id()?.0, |claim| claim.token);
    let since = own.map_or(now, |claim| claim.since);
    let after = Claim {
        session: ctx.session.clone(),
        token,
        since,
        until,
    };
    let mut operation =
        ctx.new_operation(Verb::Claim, format!("{path} is claimed by {}", ctx.session));
    operation.facts.extend(record::record_changed_fact(
        &claim_key(node.id),
        before.as_ref(),
        Some(&after),
    ));
    let operation = tx.record_operation(operation)?;
    Ok(ClaimView {
        node: path.to_owned(),
        session: after.session,
        token,
        since,
        until,
        operation: Some(operation),
    })
}

/// Releases a node.
///
/// # Errors
/// When this session does not hold it; a person may release anything.
pub fn release_node(ctx: &Context<'_>, request: &ReleaseRequest) -> Result<ClaimView, Failure> {
    with_observed_node(ctx, &request.node, |tx, id, rest| {
        reject_extra_words(rest)?;
        let path = load_node_path(&*tx, &load_node(&*tx, id)?)?;
        let Some(before) = record::read_record::<Claim>(&*tx, &claim_key(id))? else {
            return Err(claim_failure(&ClaimRefused::NotClaimed { node: path }));
        };
        // A person may release any claim: a crashed session would otherwise block its node until
        // the lease ends.
        if before.session != ctx.session && !ctx.actor.is_human() {
            return Err(claim_failure(&ClaimRefused::NotYours {
                node: path,
                holder: before.session,
            }));
        }
        // Protects against a late release: the same session may have lost the lease and claimed the
        // node again.
        if let Some(given) = request.token.filter(|given| *given != before.token) {
            return Err(claim_failure(&ClaimRefused::OldToken {
                node: path,
                given,
                token: before.token,
            }));
        }
        let mut operation = ctx.new_operation(Verb::Claim, format!("{path} is released"));
        operation.facts.extend(record::record_changed_fact::<Claim>(
            &claim_key(id),
            Some(&before),
            None,
        ));
        let operation = tx.record_operation(operation)?;
        let Claim {
            session,
            token,
            since,
            until,
        } = before;
        Ok(ClaimView {
            node: path,
            session,
            token,
            since,
            until,
            operation: Some(operation),
        })
    })
}

/// Returns every active claim, by node.
///
/// # Errors
/// When the state cannot be read.
pub fn list_claims(ctx: &Context<'_>) -> Result<Vec<ClaimView>, Failure> {
    let state = ctx.store.begin_read()?;
    let mut found = Vec::new();
    for (id, claim) in list_active_claims(ctx, &*state)? {
        let Some(node) = state.load_node(id)? else {
            continue;
        };
        found.push(ClaimView {
            node: load_node_path(&*state, &node)?,
            session: claim.session,
            token: claim.token,
            since: claim.since,
            until: claim.until,
            operation: None,
        });
    }
    Ok(found)
}

/// Returns the active claims.
pub(crate) fn list_active_claims(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<(NodeId, Claim)>, Failure> {
    let all = record::read_records::<Claim>(state, "")?;
    // Most projects have no claims; on a shared database the time is a query of its own.
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let now = read_store_time(ctx, state)?;
    let holding = all
        .into_iter()
        .filter(|(_, claim)| is_claim_active(ctx, state, claim, now));
    Ok(holding
        // A key that is not a number was written by another version; it cannot block a node here.
        .filter_map(|(key, claim)| Some((NodeId(key.parse().ok()?), claim)))
        .collect())
}

/// Returns the store's clock where machines share a store, because their own clocks may differ.
fn read_store_time(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Timestamp, Failure> {
    Ok(state.store_time()?.unwrap_or_else(|| ctx.clock.now()))
}

/// Whether a claim is active: its lease runs, or its session was active within the lease time.
fn is_claim_active(ctx: &Context<'_>, state: &dyn Snapshot, claim: &Claim, now: Timestamp) -> bool {
    // A missing or unreadable heartbeat counts as none; the lease itself still applies.
    let heard = state
        .load_note(&activity_key(&claim.session))
        .ok()
        .flatten()
        .and_then(|text| text.parse().ok());
    claim.is_active(now, heard.map(Timestamp::from_millis), lease_millis(ctx))
}

/// Whether a session was active within the lease time. A session that crashed sends no end, but is
/// silent from then on.
pub(crate) fn is_session_live(ctx: &Context<'_>, state: &dyn Snapshot, session: &str) -> bool {
    let heard: Option<i64> = state
        .load_note(&activity_key(session))
        .ok()
        .flatten()
        .and_then(|text| text.parse().ok());
    let now = read_store_time(ctx, state).unwrap_or_else(|_| ctx.clock.now());
    heard.is_some_and(|heard| now.as_millis() - heard <= lease_millis(ctx))
}

/// Returns the lease time in milliseconds.
fn lease_millis(ctx: &Context<'_>) -> i64 {
    i64::try_from(ctx.policy.claim_lease_minutes.saturating_mul(60_000)).unwrap_or(i64::MAX)
}

/// Returns the claim of another session on a node or one of its ancestors.
pub(crate) fn find_holder(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<(NodeId, Claim)>, Failure> {
    let claims: Vec<_> = list_active_claims(ctx, state)?
        .into_iter()
        .filter(|(_, claim)| claim.session != ctx.session)
        .collect();
    if claims.is_empty() {
        return Ok(None);
    }
    let above: Vec<NodeId> = load_ancestors(state, node)?
        .iter()
        .map(|node| node.id)
        .collect();
    Ok(claims
        .into_iter()
        .find(|(id, _)| *id == node.id || above.contains(id)))
}

/// Returns the claim of another session on a descendant of a node.
fn find_holder_below(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<(Node, Claim)>, Failure> {
    for (id, claim) in list_active_claims(ctx, state)? {
        if claim.session == ctx.session {
            continue;
        }
        let Some(claimed) = state.load_node(id)? else {
            continue;
        };
        if load_ancestors(state, &claimed)?
            .iter()
            .any(|above| above.id == node.id)
        {
            return Ok(Some((claimed, claim)));
        }
    }
    Ok(None)
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

/// Builds the refusal for a node held by another session.
fn held_claim_failure(node: &str, claim: &Claim) -> Failure {
    let refusal = ClaimRefused::Held {
        node: node.to_owned(),
        holder: claim.session.clone(),
        until: claim.until,
    };
    claim_failure(&refusal)
}

fn claim_failure(refusal: &ClaimRefused) -> Failure {
    let failure = Failure::new(FailureKind::Refused, refusal.to_string());
    match refusal {
        ClaimRefused::Held { .. } => failure.with_step("tl next   # unclaimed work"),
        ClaimRefused::NotClaimed { node } => failure.with_step(format!("tl claim {node}")),
        ClaimRefused::NotYours { .. } | ClaimRefused::OldToken { .. } => {
            failure.with_step("tl claim --list")
        }
    }
}
