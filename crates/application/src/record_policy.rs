//! Record the trust policy in the history, and judge every status by it.
//!
//! Statuses are stored for speed, and the policy decides whose approvals count for them. So a
//! change of policy is an operation that holds the old and the new values together with every
//! status that changes.

use domain::fact::Fact;
use domain::ids::{OperationId, Principal};
use domain::operation::Verb;
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::{Snapshot, StoreFault};
use domain::record;
use domain::trust_policy::{POLICY_RECORD, TrustPolicy};

use crate::context::Context;
use crate::failure::Failure;
use crate::status_cascade::cascade_statuses;

/// Returns the recorded policy, where there is one.
///
/// # Errors
/// [`StoreFault`].
pub fn load_recorded_policy(state: &dyn Snapshot) -> Result<Option<TrustPolicy>, StoreFault> {
    record::read_record(state, POLICY_RECORD)
}

/// Returns whose approvals count for a status: the stricter of this process's policy and the
/// recorded one, because a server that runs for weeks may have loaded an older policy.
pub(crate) fn resolve_judging_policy(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    facts: &[Fact],
) -> Result<ApprovalPolicy, StoreFault> {
    // The operation that changes the policy is judged by the new one.
    for fact in facts {
        if let Fact::RecordChanged {
            record,
            after: Some(after),
            ..
        } = fact
            && record.kind == <TrustPolicy as record::Recorded>::KIND
        {
            return serde_json::from_value::<TrustPolicy>(after.clone())
                .map(|policy| policy.approval)
                .map_err(|error| StoreFault::DoesNotFit {
                    what: error.to_string(),
                });
        }
    }
    let recorded =
        load_recorded_policy(state)?.map_or(ApprovalPolicy::Anyone, |policy| policy.approval);
    Ok(recorded.max(ctx.judged_by))
}

/// Returns the policy an approval is decided by, never looser than the recorded one.
pub(crate) fn resolve_deciding_policy(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Policy, StoreFault> {
    let recorded =
        load_recorded_policy(state)?.map_or(ApprovalPolicy::Anyone, |policy| policy.approval);
    Ok(Policy {
        approval: ctx.policy.approval.max(recorded),
        ..ctx.policy.clone()
    })
}

/// The origin of a policy change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyOrigin {
    /// `config.toml` is stricter, or differs where nothing is protected.
    File,
    /// A person accepted looser values.
    Accepted,
}

/// Records the policy in force, unless it is recorded already; returns the operation.
///
/// A state that never had another policy than `anyone` has no such record.
///
/// # Errors
/// When the state cannot be written.
pub fn record_policy(
    ctx: &Context<'_>,
    policy: &TrustPolicy,
    origin: PolicyOrigin,
) -> Result<Option<OperationId>, Failure> {
    let differs = |recorded: Option<&TrustPolicy>| match recorded {
        Some(recorded) if origin == PolicyOrigin::Accepted => recorded != policy,
        Some(recorded) => recorded.differs_from(policy),
        None => policy.approval != ApprovalPolicy::Anyone,
    };
    // Called without knowing whether anything changed, so the common case must not take the write
    // lock. It is checked again under the lock.
    if !differs(load_recorded_policy(&*ctx.store.begin_read()?)?.as_ref()) {
        return Ok(None);
    }
    let mut tx = ctx.store.begin_write()?;
    let before = load_recorded_policy(&*tx)?;
    if !differs(before.as_ref()) {
        return Ok(None);
    }
    let now = ctx.clock.now();
    let mut facts = Vec::new();
    facts.extend(record::record_changed_fact(
        POLICY_RECORD,
        before.as_ref(),
        Some(policy),
    ));
    // A change to the same value makes the cascade judge every tree. It also rewrites the rows of
    // earlier versions, which do not say whether a person approved.
    for node in tx.all_nodes()? {
        let by_no_person = node
            .approval
            .as_ref()
            .is_some_and(|approval| !approval.by.is_human());
        if node.parent.is_none() || by_no_person {
            let (before, after) = (node.approval.clone(), node.approval);
            facts.push(Fact::ApprovalChanged {
                node: node.id,
                before,
                after,
            });
        }
    }
    cascade_statuses(ctx, &*tx, &mut facts, &[], now, None)?;
    let shown = before
        .clone()
        .unwrap_or_else(|| TrustPolicy::from_policy(&Policy::default()));
    let changes: Vec<String> = shown
        .changes_to(policy)
        .iter()
        .map(ToString::to_string)
        .collect();
    let summary = match changes.as_slice() {
        [] => "the rules of profiles".to_owned(),
        changes => changes.join(", "),
    };
    let mut operation = ctx.new_operation(Verb::Policy, summary);
    operation.at = now;
    // A stricter file takes effect with the next command of any user, who did not decide it.
    if origin == PolicyOrigin::File {
        operation.by = Principal::System;
    }
    operation.facts = facts;
    let id = tx.record_operation(operation)?;
    tx.commit()?;
    Ok(Some(id))
}
