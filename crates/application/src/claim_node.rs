//! Claims: lease a node to this session, release it, and list the active leases.
//!
//! A lease is extended by the session's heartbeat. A claim also covers the nodes below it.

use domain::ids::{NodeId, OperationId};
use domain::node::Node;
use domain::operation::Verb;
use domain::ports::{Snapshot, Transaction};
use domain::record;
use domain::time::Timestamp;
use domain::work::claim::{Claim, ClaimRefused, heard_key, key};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::locate::{ancestors, get, nothing_left, path_of};
use crate::observe::with_node;

/// A claim.
#[derive(Clone, Debug, Serialize)]
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
    with_node(ctx, node, |tx, id, rest| {
        nothing_left(rest)?;
        let node = get(&*tx, id)?;
        let path = path_of(&*tx, &node)?;
        take(ctx, tx, &node, &path)
    })
}

/// Claims a node in a running transaction.
pub(crate) fn take(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    node: &Node,
    path: &str,
) -> Result<ClaimView, Failure> {
    if let Some((_, claim)) = holder(ctx, &*tx, node)? {
        return Err(held(path, &claim));
    }
    // Both directions conflict: a claim covers a subtree, so a lease inside it would have two
    // holders.
    if let Some((below, claim)) = holder_below(ctx, &*tx, node)? {
        return Err(held(&path_of(&*tx, &below)?, &claim));
    }
    let now = agreed_time(ctx, &*tx)?;
    let before = record::read::<Claim>(&*tx, &key(node.id))?;
    let own = before
        .as_ref()
        .filter(|claim| claim.session == ctx.session && claim_holds(ctx, &*tx, claim, now));
    let until = Timestamp::from_millis(now.as_millis().saturating_add(lease_ms(ctx)));
    // A fencing token. Operation numbers only grow, so a later claim always has a higher one;
    // renewing keeps it, so that the holder's own requests stay valid.
    let token = own.map_or(tx.next_operation()?.0, |claim| claim.token);
    let since = own.map_or(now, |claim| claim.since);
    let after = Claim {
        session: ctx.session.clone(),
        token,
        since,
        until,
    };
    let mut operation = ctx.operation(Verb::Claim, format!("{path} is claimed by {}", ctx.session));
    operation.facts.extend(record::changed(
        &key(node.id),
        before.as_ref(),
        Some(&after),
    ));
    let operation = tx.record(operation)?;
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
    with_node(ctx, &request.node, |tx, id, rest| {
        nothing_left(rest)?;
        let path = path_of(&*tx, &get(&*tx, id)?)?;
        let Some(before) = record::read::<Claim>(&*tx, &key(id))? else {
            return Err(refused(&ClaimRefused::NotClaimed { node: path }));
        };
        // A person may release any claim: a crashed session would otherwise block its node until
        // the lease ends.
        if before.session != ctx.session && !ctx.actor.is_human() {
            return Err(refused(&ClaimRefused::NotYours {
                node: path,
                holder: before.session,
            }));
        }
        // Protects against a late release: the same session may have lost the lease and claimed the
        // node again.
        if let Some(given) = request.token.filter(|given| *given != before.token) {
            return Err(refused(&ClaimRefused::OldToken {
                node: path,
                given,
                token: before.token,
            }));
        }
        let mut operation = ctx.operation(Verb::Claim, format!("{path} is released"));
        operation
            .facts
            .extend(record::changed::<Claim>(&key(id), Some(&before), None));
        let operation = tx.record(operation)?;
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
    let state = ctx.store.read()?;
    let mut found = Vec::new();
    for (id, claim) in holding(ctx, &*state)? {
        let Some(node) = state.node(id)? else {
            continue;
        };
        found.push(ClaimView {
            node: path_of(&*state, &node)?,
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
pub(crate) fn holding(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<(NodeId, Claim)>, Failure> {
    let all = record::read_all::<Claim>(state, "")?;
    // Most projects have no claims; on a shared database the time is a query of its own.
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let now = agreed_time(ctx, state)?;
    let holding = all
        .into_iter()
        .filter(|(_, claim)| claim_holds(ctx, state, claim, now));
    Ok(holding
        // A key that is not a number was written by another version; it cannot block a node here.
        .filter_map(|(key, claim)| Some((NodeId(key.parse().ok()?), claim)))
        .collect())
}

/// Returns the store's clock where machines share a store, because their own clocks may differ.
fn agreed_time(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Timestamp, Failure> {
    Ok(state.now()?.unwrap_or_else(|| ctx.clock.now()))
}

/// Whether a claim is active: its lease runs, or its session was active within the lease time.
fn claim_holds(ctx: &Context<'_>, state: &dyn Snapshot, claim: &Claim, now: Timestamp) -> bool {
    // A missing or unreadable heartbeat counts as none; the lease itself still applies.
    let heard = state
        .note(&heard_key(&claim.session))
        .ok()
        .flatten()
        .and_then(|text| text.parse().ok());
    claim.holds(now, heard.map(Timestamp::from_millis), lease_ms(ctx))
}

/// Returns the lease time in milliseconds.
fn lease_ms(ctx: &Context<'_>) -> i64 {
    i64::try_from(ctx.policy.claim_lease_minutes.saturating_mul(60_000)).unwrap_or(i64::MAX)
}

/// Returns the claim of another session on a node or one of its ancestors.
pub(crate) fn holder(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<(NodeId, Claim)>, Failure> {
    let claims: Vec<_> = holding(ctx, state)?
        .into_iter()
        .filter(|(_, claim)| claim.session != ctx.session)
        .collect();
    if claims.is_empty() {
        return Ok(None);
    }
    let above: Vec<NodeId> = ancestors(state, node)?.iter().map(|node| node.id).collect();
    Ok(claims
        .into_iter()
        .find(|(id, _)| *id == node.id || above.contains(id)))
}

/// Returns the claim of another session on a descendant of a node.
fn holder_below(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<(Node, Claim)>, Failure> {
    for (id, claim) in holding(ctx, state)? {
        if claim.session == ctx.session {
            continue;
        }
        let Some(claimed) = state.node(id)? else {
            continue;
        };
        if ancestors(state, &claimed)?
            .iter()
            .any(|above| above.id == node.id)
        {
            return Ok(Some((claimed, claim)));
        }
    }
    Ok(None)
}

/// Records a heartbeat of this session, which extends its leases; at most one per minute.
pub(crate) fn hear(ctx: &Context<'_>, tx: &mut dyn Transaction) -> Result<(), Failure> {
    let now = agreed_time(ctx, &*tx)?;
    let key = heard_key(&ctx.session);
    let heard: Option<i64> = tx.note(&key)?.and_then(|text| text.parse().ok());
    // Hooks call this for every tool call; a write each time would make every tool call a commit. A
    // minute is short against the lease.
    if heard.is_none_or(|heard| now.as_millis() - heard > 60_000) {
        tx.keep_note(&key, Some(&now.as_millis().to_string()), now)?;
    }
    Ok(())
}

/// Builds the refusal for a node held by another session.
fn held(node: &str, claim: &Claim) -> Failure {
    let refusal = ClaimRefused::Held {
        node: node.to_owned(),
        holder: claim.session.clone(),
        until: claim.until,
    };
    refused(&refusal)
}

fn refused(refusal: &ClaimRefused) -> Failure {
    let failure = Failure::new(FailureKind::Refused, refusal.to_string());
    match refusal {
        ClaimRefused::Held { .. } => failure.step("tl next   # unclaimed work"),
        ClaimRefused::NotClaimed { node } => failure.step(format!("tl claim {node}")),
        ClaimRefused::NotYours { .. } | ClaimRefused::OldToken { .. } => {
            failure.step("tl claim --list")
        }
    }
}
