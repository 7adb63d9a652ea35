//! Accepts a finding as it is: a person's decision, recorded with its reason.

use domain::decision::ReviewVerdict;

use super::review_change::{ItemOutcome, ReviewChange, change_review, load_review, review_actor};
use crate::context::Context;
use crate::failure::Failure;

/// Accepts a finding; `version` is that of the check that was shown, if any.
///
/// # Errors
/// When the actor is not a person, there is no reason, nothing failed, or the check was judged
/// meanwhile.
pub fn accept_finding(
    ctx: &Context<'_>,
    of: Option<&str>,
    item: &str,
    reason: &str,
    version: Option<u64>,
) -> Result<ItemOutcome, Failure> {
    // For an agent the role check would come first and name the role it lacks. Only a person may
    // accept, whatever the role, so an agent is checked as a reviewer and gets that reason instead.
    let command = if ctx.actor.is_human() {
        "review accept"
    } else {
        "review verdict"
    };
    let ((), review, operation) = change_review(ctx, of, command, &(item, reason), |tx, meant| {
        let before = load_review(tx, &meant.subject)?;
        let mut review = before.clone();
        review.check_version(item, version)?;
        review.accept_finding(item, reason, review_actor(ctx))?;
        let summary = format!("accept {item} of {}: {}", meant.subject, reason.trim());
        Ok(ReviewChange {
            before: Some(before),
            verdict: Some(ReviewVerdict::from_acceptance(&review, item)),
            after: review,
            summary,
            value: (),
        })
    })?;
    ItemOutcome::from_review(review, item, operation)
}
