//! Records a verdict on a check.

use domain::review::{CheckVerdict, ReviewActor};

use super::review_change::{ItemOutcome, change_review, load_review};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// Request to record a verdict.
#[derive(Clone, Debug)]
pub struct VerdictRequest {
    pub of: Option<String>,
    pub item: String,
    pub verdict: CheckVerdict,
    /// The version of the check that was judged.
    pub version: Option<u64>,
    /// The cost of the verdict, in the unit of the budget.
    pub cost: u64,
}

/// Records a verdict.
///
/// # Errors
/// When the role or the author may not, or the check changed meanwhile.
pub fn record_verdict(ctx: &Context<'_>, request: &VerdictRequest) -> Result<ItemOutcome, Failure> {
    let ((), review, operation) = change_review(
        ctx,
        request.of.as_deref(),
        "review verdict",
        request,
        |tx, meant| {
            // Loaded inside the transaction: two reviewers may judge different checks at the same
            // time.
            let before = load_review(tx, &meant.subject)?;
            let mut review = before.clone();
            let said = ReviewActor {
                by: &ctx.actor,
                at: ctx.clock.now(),
            };
            let (verdict, policy) = (request.verdict.clone(), &ctx.policy.review);
            review.record_verdict(
                &request.item,
                verdict,
                request.version,
                request.cost,
                said,
                policy,
            )?;
            let word = match request.verdict {
                CheckVerdict::Pass => "PASS",
                CheckVerdict::Fail { .. } => "FAIL",
            };
            let summary = format!("{word} {} of {}", request.item, meant.subject);
            Ok((Some(before), review, summary, ()))
        },
    )?;
    let item = review.find_item(&request.item).cloned();
    let item = item.ok_or_else(|| Failure::new(FailureKind::Internal, "the check is gone"))?;
    Ok(ItemOutcome {
        success: true,
        subject: review.subject,
        item,
        operation,
    })
}
