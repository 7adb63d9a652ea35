//! Take operations that were decided elsewhere, by a working copy of this very history, or refuse them with the reason.
//!
//! Whoever sends them was let in with a token; nothing they say about themselves is believed. Operations must follow the
//! last one here, be in a name the sender may use and within what they may do, fit the state, and leave every status as
//! the rules would. All of them are kept, or none.

use domain::access::{Admitted, Scope, names_newly, needed_for};
use domain::approval::Approval;
use domain::exchange::{LineHead, MOST_MILLIS_OFF, Receipt, Sending};
use domain::fact::Fact;
use domain::ids::{NodeId, OperationId};
use domain::node::Content;
use domain::operation::{Operation, Verb};
use domain::ports::{NewOperation, SHARED_NOTES, Snapshot, StoreFault, Transaction};
use domain::record::Recorded;
use domain::secrets::{MaskedText, find_secrets, mask_operation};
use domain::time::Timestamp;
use domain::trust_policy::TrustPolicy;
use domain::version::canonical_hash;
use serde_json::Value;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::record_policy::deciding_policy;
use crate::settle::unsettled;

/// More notes than that nobody has to share at once.
const MOST_NOTES: usize = 100;

/// Keeps operations, given as lines of a journal, if they may be kept.
///
/// # Errors
/// When they are not the sender's to make, or do not fit.
pub fn accept_operations(
    ctx: &Context<'_>,
    admitted: &Admitted,
    sending: &Sending,
    lines: &[String],
) -> Result<Receipt, Failure> {
    if !admitted.scope.covers(Scope::Agent) {
        return Err(
            Failure::new(FailureKind::Refused, "this token may only look")
                .step("ask for another one: tl token create"),
        );
    }
    let read = lines
        .iter()
        .map(|line| read(line))
        .collect::<Result<Vec<_>, _>>()?;
    // Who is too late anyway need not wait for the right to write, and keeps nobody from it.
    if let Some(receipt) = too_late(&*ctx.store.read()?, sending, &read)? {
        return Ok(receipt);
    }
    let mut tx = ctx.store.write()?;
    if let Some(receipt) = too_late(&*tx, sending, &read)? {
        return Ok(receipt);
    }
    let now = tx.now()?.unwrap_or_else(|| ctx.clock.now());
    for (line, LineHead { op: operation, .. }) in lines.iter().zip(&read) {
        check_words(ctx, &*tx, admitted, operation, now)?;
        check_secrets(&*tx, operation, line)?;
        tx.record_line(line)?;
        check_outcome(ctx, &*tx, operation)?;
    }
    keep_notes(&mut *tx, sending, now)?;
    let head = tx.head()?;
    tx.commit()?;
    Ok(Receipt::Kept { head })
}

/// Returns what became of operations that cannot be kept now: they are kept already, or others are, or the history is another.
fn too_late(
    state: &dyn Snapshot,
    sending: &Sending,
    sent: &[LineHead<Operation>],
) -> Result<Option<Receipt>, StoreFault> {
    if state.chain_hash(sending.after)? != Some(sending.hash) {
        // Not further than we are: another history. Further: what we had was put back to an earlier state.
        return Ok(Some(Receipt::Diverged {
            after: sending.after,
        }));
    }
    let head = state.head()?;
    // Notes alone have no place in the history.
    if head == sending.after || sent.is_empty() {
        return Ok(None);
    }
    let kept = are_kept(state, sending.after, sent)?;
    Ok(Some(if kept {
        Receipt::Kept { head }
    } else {
        Receipt::Overtaken { head }
    }))
}

fn read(line: &str) -> Result<LineHead<Operation>, Failure> {
    serde_json::from_str(line).map_err(|error| {
        Failure::new(
            FailureKind::Invalid,
            format!("an operation cannot be read: {error}"),
        )
    })
}

/// Says whether these very operations follow `after` already: an answer that got lost is asked for again.
fn are_kept(
    state: &dyn Snapshot,
    after: OperationId,
    sent: &[LineHead<Operation>],
) -> Result<bool, StoreFault> {
    let mut place = after;
    for one in sent {
        place = place.next();
        if state.chain_hash(place)? != Some(one.hash) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn refuse(operation: &Operation, why: impl std::fmt::Display) -> Failure {
    Failure::new(
        FailureKind::Refused,
        format!(
            "operation {} ({}): {why}",
            operation.id,
            operation.verb.word()
        ),
    )
}

/// Checks what can be said of an operation before it is applied.
fn check_words(
    ctx: &Context<'_>,
    state: &dyn Transaction,
    admitted: &Admitted,
    operation: &Operation,
    now: Timestamp,
) -> Result<(), Failure> {
    let Admitted { principal, .. } = admitted;
    let by = &operation.by;
    let reach = admitted.reach_as(by).ok_or_else(|| {
        refuse(
            operation,
            format!("it says it is by `{by}`, but the token is that of `{principal}`"),
        )
    })?;
    let needed = needed_for(operation);
    if !reach.covers(needed) {
        let why = format!(
            "this is a person's word: `{by}` with this token may do what scope `{reach}` allows, not `{needed}`"
        );
        return Err(refuse(operation, why).step("ask a person to decide it"));
    }
    if let Some(other) = names_newly(operation)
        .into_iter()
        .find(|other| other.is_human() && other != by)
    {
        return Err(refuse(
            operation,
            format!("it speaks in the name of `{other}`"),
        ));
    }
    if operation.verb == Verb::Policy || operation.facts.iter().any(changes_policy) {
        return Err(refuse(
            operation,
            "the policy is the server's: a working copy can only be stricter",
        )
        .step("ask who runs the server to change it there"));
    }
    let policy = deciding_policy(ctx, state)?.approval;
    for (node, approval) in new_approvals(operation) {
        if !policy.accepts(&approval.by) {
            let why = format!(
                "only a person may approve here (policy.approval is `human`), and this is {}",
                approval.by
            );
            return Err(refuse(operation, why).step("ask a person to decide it"));
        }
        if approval.by != *by && !was_there_before(state, operation, node, approval)? {
            return Err(refuse(
                operation,
                format!("it approves in the name of `{}`", approval.by),
            ));
        }
    }
    let off = operation.at.as_millis().saturating_sub(now.as_millis());
    if off.saturating_abs() > MOST_MILLIS_OFF {
        let why = format!("it is dated {}, but it is {now} here", operation.at);
        return Err(refuse(operation, why).step("set the clock of that machine right"));
    }
    check_numbers(state, operation)
}

fn changes_policy(fact: &Fact) -> bool {
    matches!(fact, Fact::RecordChanged { record, .. } if record.kind == <TrustPolicy as Recorded>::KIND)
}

/// New nodes get the next numbers; only what was there before comes back under its own.
fn check_numbers(state: &dyn Transaction, operation: &Operation) -> Result<(), Failure> {
    let added = operation.facts.iter().filter_map(|fact| match fact {
        Fact::NodeAdded { node } => Some(node.id),
        _ => None,
    });
    let mut next = state.next_node()?;
    for id in added {
        if id > next {
            return Err(refuse(
                operation,
                format!("the next new node is {next}, not {id}"),
            ));
        }
        if id == next {
            next = NodeId(
                next.0
                    .checked_add(1)
                    .ok_or_else(|| refuse(operation, "there are no more numbers"))?,
            );
        }
    }
    Ok(())
}

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

/// Whoever undoes something brings back what others said: exactly what the undone operations took away.
fn was_there_before(
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
        let Some(undone) = state.operation(id)? else {
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

/// Secrets are masked where an operation is made: what comes unmasked is from a program that is too old to do it, and is
/// not kept, because everybody who follows the history would get a copy.
fn check_secrets(
    state: &dyn Transaction,
    operation: &Operation,
    line: &str,
) -> Result<(), Failure> {
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
        false => Err(
            refuse(operation, format!("it holds {masked}, which is not stored")).step(
                "update tl on the machine that sent it: it masks secrets before they are sent",
            ),
        ),
    }
}

/// Checks what an operation has made of the state.
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
    let wrong = unsettled(ctx, tx, &operation.facts, operation.at)?;
    let Some(group) = wrong.first() else {
        return Ok(());
    };
    let node = group.nodes.first().copied().unwrap_or(NodeId(0));
    let name = tx
        .node(node)?
        .map_or_else(|| node.to_string(), |node| node.alias);
    let why = format!(
        "it leaves `{name}` as `{}`, but by the rules it is `{}`",
        group.before.status, group.after.status
    );
    Err(refuse(operation, why)
        .step("use the same policy.cascade in .throughline/config.toml as the server"))
}

/// A text must be there, and be what it is said to be: approvals are bound to it.
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
    let Some(text) = tx.text(*version)? else {
        return Err(refuse(
            operation,
            format!("the text {} did not come with it", version.short()),
        ));
    };
    // Of a text with secrets only the masked one is sent: its hashes are those of the real text, which stays where it is.
    if MaskedText::read(tx, *version)?.is_some() {
        return Ok(());
    }
    let Some(node) = tx.node(id)? else {
        return Ok(());
    };
    let level = ctx
        .profile(&node.profile)
        .and_then(|profile| profile.level(&node.level));
    let as_level = level.map(|level| level.read_text(&text).0);
    if *canonical == canonical_hash(&text) || Some(*canonical) == as_level {
        return Ok(());
    }
    Err(refuse(
        operation,
        format!(
            "the text of `{}` is not the one it is said to be",
            node.alias
        ),
    ))
}

fn keep_notes(tx: &mut dyn Transaction, sending: &Sending, now: Timestamp) -> Result<(), Failure> {
    let shared = |key: &str| SHARED_NOTES.iter().any(|prefix| key.starts_with(prefix));
    for note in sending
        .notes
        .iter()
        .take(MOST_NOTES)
        .filter(|note| shared(&note.key))
    {
        // When somebody was heard of, by the clock here: nobody is heard of in the future.
        let heard = note
            .body
            .parse::<i64>()
            .ok()
            .map(|heard| heard.min(now.as_millis()));
        let known = tx
            .note(&note.key)?
            .and_then(|body| body.parse::<i64>().ok());
        if let Some(heard) = heard.filter(|heard| known.is_none_or(|known| known < *heard)) {
            tx.keep_note(&note.key, Some(&heard.to_string()), now)?;
        }
    }
    Ok(())
}
