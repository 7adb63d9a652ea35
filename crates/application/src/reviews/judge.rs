//! Records a verdict on a check.

use domain::review::CheckVerdict;

use super::review_change::{ItemOutcome, ReviewChange, change_review, load_review, review_actor};
use crate::context::Context;
use crate::failure::Failure;

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
            let said = review_actor(ctx);
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
            Ok(ReviewChange {
                before: Some(before),
                after: review,
                summary,
                verdict: None,
                value: (),
            })
        },
    )?;
    ItemOutcome::from_review(review, &request.item, operation)
}
