//! Records a verdict on a check.

use domain::review::{Said, Verdict};

use super::desk::{ItemOutcome, change, review_of};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// Request to record a verdict.
#[derive(Clone, Debug)]
pub struct VerdictRequest {
    pub of: Option<String>,
    pub item: String,
    pub verdict: Verdict,
    /// The version of the check that was judged.
    pub version: Option<u64>,
    /// The cost of the verdict, in the unit of the budget.
    pub cost: u64,
}

/// Records a verdict.
///
/// # Errors
/// When the role or the author may not, or the check changed meanwhile.
pub fn judge(ctx: &Context<'_>, request: &VerdictRequest) -> Result<ItemOutcome, Failure> {
    let ((), review, operation) = change(
        ctx,
        request.of.as_deref(),
        "review verdict",
        request,
        |tx, meant| {
            // Loaded inside the transaction: two reviewers may judge different checks at the same
            // time.
            let before = review_of(tx, &meant.subject)?;
            let mut review = before.clone();
            let said = Said {
                by: &ctx.actor,
                at: ctx.clock.now(),
            };
            let (verdict, policy) = (request.verdict.clone(), &ctx.policy.review);
            review.judge(
                &request.item,
                verdict,
                request.version,
                request.cost,
                said,
                policy,
            )?;
            let word = match request.verdict {
                Verdict::Pass => "PASS",
                Verdict::Fail { .. } => "FAIL",
            };
            let summary = format!("{word} {} of {}", request.item, meant.subject);
            Ok((Some(before), review, summary, ()))
        },
    )?;
    let item = review.item(&request.item).cloned();
    let item = item.ok_or_else(|| Failure::new(FailureKind::Internal, "the check is gone"))?;
    Ok(ItemOutcome {
        success: true,
        subject: review.subject,
        item,
        operation,
    })
}
