//! Accept operations pushed by a working copy of the same history, or refuse them with the reason.
//!
//! The sender is authenticated by a token; its claims about itself are not trusted. Operations must
//! follow the last one here, name a principal the token may act as, stay within its scope, apply to
//! the state, and leave every status as the rules derive it. All of them are stored, or none.

use domain::approval::Approval;
use domain::authorization::{
    AuthenticatedPrincipal, Scope, newly_named_principals, required_scope,
};
use domain::fact::Fact;
use domain::ids::{NodeId, OperationId};
use domain::node::Content;
use domain::operation::{Operation, Verb};
use domain::ports::{NewOperation, SHARED_NOTE_PREFIXES, Snapshot, StoreFault, Transaction};
use domain::record::Recorded;
use domain::secrets::{MaskedText, find_secrets, mask_operation};
use domain::sync_protocol::{JournalLineHead, MAX_CLOCK_SKEW_MS, PushHeader, PushOutcome};
use domain::time::Timestamp;
use domain::trust_policy::TrustPolicy;
use domain::version::canonical_hash;
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;
use crate::record_policy::resolve_deciding_policy;
use crate::status_cascade::find_wrong_statuses;
use crate::working_copy::{SHARED_NOTE, is_state_shared};

/// Maximum number of shared notes accepted at once.
const MAX_NOTES: usize = 100;

/// Stores operations, given as journal lines, if the sender may make them.
///
/// # Errors
/// When the sender is not authorized for them, or they do not apply.
pub fn accept_operations(
    ctx: &Context<'_>,
    admitted: &AuthenticatedPrincipal,
    sending: &PushHeader,
    lines: &[String],
) -> Result<PushOutcome, Failure> {
    if !admitted.scope.is_sufficient_for(Scope::Agent) {
        return Err(Failure::refused("this token is read-only")
            .with_step("ask for another one: tl team token create"));
    }
    let read = lines
        .iter()
        .map(|line| parse_line(line))
        .collect::<Result<Vec<_>, _>>()?;
    // A stale sender is answered without the write lock. When every replica that lost the race
    // waited for it, a server at a hundred commits a second fell behind and did not recover.
    if let Some(receipt) = detect_conflict(&*ctx.store.begin_read()?, sending, &read)? {
        return Ok(receipt);
    }
    // Checked again under the lock: another sender may have been first.
    let mut tx = ctx.store.begin_write()?;
    if let Some(receipt) = detect_conflict(&*tx, sending, &read)? {
        return Ok(receipt);
    }
    // The clock of a shared database, if there is one: the servers in front of it may disagree.
    let now = tx.store_time()?.unwrap_or_else(|| ctx.clock.now());
    for (line, JournalLineHead { op: operation, .. }) in lines.iter().zip(&read) {
        check_authorization(ctx, &*tx, admitted, operation, now)?;
        check_secrets(&*tx, operation, line)?;
        // Recorded as the sent bytes, so that the hash chain of the sender and of the server stay
        // equal. Checks of the resulting state come after; an error drops the transaction.
        tx.record_journal_line(line)?;
        check_outcome(ctx, &*tx, operation)?;
    }
    save_notes(&mut *tx, sending, now)?;
    // From now on the files beside this state are those of one working copy among several.
    if !lines.is_empty() && !is_state_shared(ctx, &*tx)? {
        tx.save_note(SHARED_NOTE, Some(""), now)?;
    }
    let head = tx.last_operation_id()?;
    tx.commit()?;
    Ok(PushOutcome::Kept { head })
}

/// Returns the receipt for operations that cannot be stored now: they are stored already, others
/// were first (conflict), or the histories diverged.
fn detect_conflict(
    state: &dyn Snapshot,
    sending: &PushHeader,
    sent: &[JournalLineHead<Operation>],
) -> Result<Option<PushOutcome>, StoreFault> {
    if state.chain_hash(sending.after)? != Some(sending.hash) {
        // The sender is behind or level with us: another history. It is ahead: our state was
        // restored from an earlier backup.
        return Ok(Some(PushOutcome::Diverged {
            after: sending.after,
        }));
    }
    let head = state.last_operation_id()?;
    // Notes are not part of the history, so they cannot conflict.
    if head == sending.after || sent.is_empty() {
        return Ok(None);
    }
    let kept = are_already_kept(state, sending.after, sent)?;
    Ok(Some(if kept {
        PushOutcome::Kept { head }
    } else {
        PushOutcome::Conflict { head }
    }))
}

/// Parses one journal line.
fn parse_line(line: &str) -> Result<JournalLineHead<Operation>, Failure> {
    serde_json::from_str(line)
        .map_err(|error| Failure::invalid(format!("an operation cannot be parsed: {error}")))
}

/// Whether exactly these operations follow `after` already: the sender lost our answer and asks
/// again.
fn are_already_kept(
    state: &dyn Snapshot,
    after: OperationId,
    sent: &[JournalLineHead<Operation>],
) -> Result<bool, StoreFault> {
    let mut place = after;
    for one in sent {
        place = place.next_id();
        if state.chain_hash(place)? != Some(one.hash) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Builds the refusal of an operation.
fn refuse_operation(operation: &Operation, why: impl std::fmt::Display) -> Failure {
    Failure::refused(format!(
        "operation {} ({}): {why}",
        operation.id,
        operation.verb.as_str()
    ))
}

/// Checks authorization, policy and date of an operation before it is applied.
fn check_authorization(
    ctx: &Context<'_>,
    state: &dyn Transaction,
    admitted: &AuthenticatedPrincipal,
    operation: &Operation,
    now: Timestamp,
) -> Result<(), Failure> {
    let AuthenticatedPrincipal { principal, .. } = admitted;
    let by = &operation.by;
    let reach = admitted.scope_acting_as(by).ok_or_else(|| {
        refuse_operation(
            operation,
            format!("it says it is by `{by}`, but the token is that of `{principal}`"),
        )
    })?;
    let needed = required_scope(operation);
    if !reach.is_sufficient_for(needed) {
        let why = format!(
            "only a person may decide this: `{by}` with this token has scope `{reach}`, and it needs `{needed}`"
        );
        return Err(refuse_operation(operation, why).with_step("ask a person to decide it"));
    }
    // Records may name a principal inside. Without this check a token could attribute a comment or
    // a verdict to another person.
    if let Some(other) = newly_named_principals(operation)
        .into_iter()
        .find(|other| other.is_human() && other != by)
    {
        return Err(refuse_operation(
            operation,
            format!("it acts in the name of `{other}`"),
        ));
    }
    if operation.verb == Verb::Policy || operation.facts.iter().any(changes_policy) {
        return Err(refuse_operation(
            operation,
            "the policy is set on the server; a working copy can only be stricter",
        )
        .with_step("ask the administrator of the server to change it there"));
    }
    let policy = resolve_deciding_policy(ctx, state)?.approval;
    for (node, approval) in new_approvals(operation) {
        if !policy.accepts_approval_by(&approval.by) {
            let why = format!(
                "only a person may approve here (policy.approval is `human`), and this is {}",
                approval.by
            );
            return Err(refuse_operation(operation, why).with_step("ask a person to decide it"));
        }
        if approval.by != *by && !is_restored_approval(state, operation, node, approval)? {
            return Err(refuse_operation(
                operation,
                format!("it approves in the name of `{}`", approval.by),
            ));
        }
    }
    // People read these dates, and leases and the log compare them across machines.
    let off = operation.at.as_millis().saturating_sub(now.as_millis());
    if off.saturating_abs() > MAX_CLOCK_SKEW_MS {
        let why = format!("it is dated {}, but it is {now} here", operation.at);
        return Err(refuse_operation(operation, why).with_step("correct the clock of that machine"));
    }
    check_node_ids(state, operation)
}

/// Whether a fact changes the trust policy.
fn changes_policy(fact: &Fact) -> bool {
    matches!(fact, Fact::RecordChanged { record, .. } if record.kind == <TrustPolicy as Recorded>::KIND)
}

/// Checks that new nodes get the next free ids; only restored nodes return under their own.
fn check_node_ids(state: &dyn Transaction, operation: &Operation) -> Result<(), Failure> {
    let added = operation.facts.iter().filter_map(|fact| match fact {
        Fact::NodeAdded { node } => Some(node.id),
        _ => None,
    });
    let mut next = state.next_node_id()?;
    for id in added {
        if id > next {
            return Err(refuse_operation(
                operation,
                format!("the next new node is {next}, not {id}"),
            ));
        }
        if id == next {
            next = NodeId(
                next.0
                    .checked_add(1)
                    .ok_or_else(|| refuse_operation(operation, "node ids are exhausted"))?,
            );
        }
    }
    Ok(())
}

/// Returns the approvals an operation adds.
fn new_approvals(operation: &Operation) -> impl Iterator<Item = (NodeId, &Approval)> {
    operation.facts.iter().filter_map(|fact| match fact {
        Fact::ApprovalChanged {
            node,
            before,
            after: Some(after),
        } if before.as_ref() != Some(after) => Some((*node, after)),
        Fact::NodeAdded { node } => node.approval.as_ref().map(|approval| (node.id, approval)),
        _ => None,
    })
}

/// Whether an approval by another principal only restores one that the undone operations removed.
fn is_restored_approval(
    state: &dyn Snapshot,
    operation: &Operation,
    wanted: NodeId,
    approval: &Approval,
) -> Result<bool, Failure> {
    if operation.verb != Verb::Undo {
        return Ok(false);
    }
    let undone = operation.facts.iter().filter_map(|fact| match fact {
        Fact::UndoneChanged { operation, .. } => Some(*operation),
        _ => None,
    });
    for id in undone {
        let Some(undone) = state.load_operation(id)? else {
            continue;
        };
        let took_away = undone.facts.iter().any(|fact| match fact {
            Fact::ApprovalChanged { node, before, .. } => {
                *node == wanted && before.as_ref() == Some(approval)
            }
            Fact::NodeRemoved { node } => {
                node.id == wanted && node.approval.as_ref() == Some(approval)
            }
            _ => false,
        });
        if took_away {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses unmasked secrets. They are masked where an operation is made, so these come from an
/// outdated program; stored, they would be copied to every replica.
fn check_secrets(
    state: &dyn Transaction,
    operation: &Operation,
    line: &str,
) -> Result<(), Failure> {
    // One scan of the raw line settles nearly every operation; the exact check below parses and
    // masks it.
    if find_secrets(line).is_empty() {
        return Ok(());
    }
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    let texts = line["texts"]
        .as_object()
        .into_iter()
        .flat_map(|texts| texts.values());
    let mut sent = NewOperation {
        at: operation.at,
        by: operation.by.clone(),
        channel: operation.channel,
        verb: operation.verb,
        summary: operation.summary.clone(),
        key: None,
        facts: operation.facts.clone(),
        texts: texts
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect(),
    };
    let masked = mask_operation(&mut sent, state)?;
    match masked.is_empty() {
        true => Ok(()),
        false => Err(refuse_operation(
            operation,
            format!("it holds {masked}, which is not stored"),
        )
        .with_step("update tl on the machine that sent it: it masks secrets before they are sent")),
    }
}

/// Checks the state that an operation results in.
fn check_outcome(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    operation: &Operation,
) -> Result<(), Failure> {
    for fact in &operation.facts {
        let (node, content) = match fact {
            Fact::NodeAdded { node } => (node.id, &node.content),
            Fact::ContentChanged { node, after, .. } => (*node, after),
            _ => continue,
        };
        check_text(ctx, tx, operation, node, content)?;
    }
    // The sender derived the statuses itself. Deriving them again here is what keeps a modified
    // client from pushing `approved`.
    let wrong = find_wrong_statuses(ctx, tx, &operation.facts, operation.at)?;
    let Some(group) = wrong.first() else {
        return Ok(());
    };
    let node = group.nodes.first().copied().unwrap_or(NodeId(0));
    let name = tx
        .load_node(node)?
        .map_or_else(|| node.to_string(), |node| node.alias);
    let why = format!(
        "it leaves `{name}` as `{}`, but by the rules it is `{}`",
        group.before.status, group.after.status
    );
    Err(refuse_operation(operation, why)
        .with_step("use the same policy.cascade in .throughline/config.toml as the server"))
}

/// Checks that a text is present and has the hashes it claims: approvals are bound to them.
fn check_text(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    operation: &Operation,
    id: NodeId,
    content: &Content,
) -> Result<(), Failure> {
    let Content::Text {
        version, canonical, ..
    } = content
    else {
        return Ok(());
    };
    let Some(text) = tx.load_text(*version)? else {
        return Err(refuse_operation(
            operation,
            format!("the text {} is missing", version.short_hex()),
        ));
    };
    // A text with secrets is sent masked under the hashes of the original, which stays on the
    // sender's machine. They cannot be verified here.
    if MaskedText::read_record(tx, *version)?.is_some() {
        return Ok(());
    }
    let Some(node) = tx.load_node(id)? else {
        return Ok(());
    };
    let level = ctx
        .find_profile(&node.profile)
        .and_then(|profile| profile.find_level(&node.level));
    // The canonical hash of a level with state keys ignores them, so that progress does not end an
    // approval; plain texts are hashed whole.
    let as_level = level.map(|level| level.read_text(&text).0);
    if *canonical == canonical_hash(&text) || Some(*canonical) == as_level {
        return Ok(());
    }
    Err(refuse_operation(
        operation,
        format!("hash mismatch in the text of `{}`", node.alias),
    ))
}

/// Saves the shared notes: when each session was last active.
fn save_notes(
    tx: &mut dyn Transaction,
    sending: &PushHeader,
    now: Timestamp,
) -> Result<(), Failure> {
    let shared = |key: &str| {
        SHARED_NOTE_PREFIXES
            .iter()
            .any(|prefix| key.starts_with(prefix))
    };
    for note in sending
        .notes
        .iter()
        .take(MAX_NOTES)
        .filter(|note| shared(&note.key))
    {
        // Limited to our present time: a sender with a fast clock could otherwise hold its claims
        // for hours.
        let heard = note
            .body
            .parse::<i64>()
            .ok()
            .map(|heard| heard.min(now.as_millis()));
        let known = tx
            .load_note(&note.key)?
            .and_then(|body| body.parse::<i64>().ok());
        if let Some(heard) = heard.filter(|heard| known.is_none_or(|known| known < *heard)) {
            tx.save_note(&note.key, Some(&heard.to_string()), now)?;
        }
    }
    Ok(())
}
