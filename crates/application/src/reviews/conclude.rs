//! Concludes an iteration of a review that no workflow drives.

use domain::decision::ReviewVerdict;
use domain::ids::OperationId;
use domain::review::IterationOutcome;
use serde::Serialize;

use super::review_change::{ReviewChange, change_review, load_review, review_actor, select_review};
use crate::context::Context;
use crate::failure::Failure;
use crate::workflows;

/// The conclusion of an iteration.
#[derive(Clone, Debug, Serialize)]
pub struct ConcludedReview {
    pub success: bool,
    pub subject: String,
    #[serde(flatten)]
    pub concluded: IterationOutcome,
    pub operation: OperationId,
}

/// Concludes the current iteration; `iteration` is the one that was shown, if any.
///
/// # Errors
/// When a check has no verdict, another iteration was shown, or a workflow's gate concludes this
/// review.
pub fn conclude_iteration(
    ctx: &Context<'_>,
    of: Option<&str>,
    iteration: Option<u32>,
) -> Result<ConcludedReview, Failure> {
    let state = ctx.store.begin_read()?;
    let subject = select_review(ctx, &*state, of, None)?.subject;
    if let Some((about, _)) = subject.rsplit_once('/')
        // Concluding here would leave the workflow at a gate whose review is already complete.
        && !workflows::active_runs(&*state, about)?.is_empty()
    {
        let what = format!("`{subject}` is concluded by its workflow's gate");
        return Err(Failure::refused(what)
            .with_step(format!("tl flow pass --for {about}"))
            .with_step(format!("tl flow fail --for {about}")));
    }
    drop(state);
    let (concluded, review, operation) = change_review(
        ctx,
        Some(&subject),
        "review verdict",
        &"conclude",
        |tx, meant| {
            let before = load_review(tx, &meant.subject)?;
            // A decision made on an outdated page must not end an iteration that its author has not
            // seen.
            before.check_iteration(iteration)?;
            let mut review = before.clone();
            let concluded = review.conclude_iteration(review_actor(ctx), &ctx.policy.review)?;
            let summary = format!(
                "conclude iteration {} of {}",
                before.iteration, meant.subject
            );
            let verdict = ReviewVerdict::from_conclusion(&review, before.iteration, &concluded);
            Ok(ReviewChange {
                before: Some(before),
                after: review,
                summary,
                verdict: Some(verdict),
                value: concluded,
            })
        },
    )?;
    Ok(ConcludedReview {
        success: true,
        subject: review.subject,
        concluded,
        operation,
    })
}
