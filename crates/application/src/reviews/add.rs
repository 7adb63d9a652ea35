//! Adds a check to a review; the first one starts it.

use domain::ids::Principal;
use domain::record;
use domain::review::{CheckSeverity, LoopState, Review};

use super::review_change::{ItemOutcome, ReviewChange, change_review, review_actor};
use crate::context::Context;
use crate::failure::Failure;

/// Request to add a check.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// The subject; without it, the phase of the current workflow step.
    pub of: Option<String>,
    pub scope: String,
    pub check: String,
    pub severity: CheckSeverity,
    /// The authors of the reviewed work, if no workflow records them.
    pub authors: Vec<Principal>,
}

/// Adds a check. A complete review starts over.
///
/// # Errors
/// When the role may not, or the check is empty.
pub fn add_check(ctx: &Context<'_>, request: &CheckRequest) -> Result<ItemOutcome, Failure> {
    let (id, review, operation) = change_review(
        ctx,
        request.of.as_deref(),
        "review add",
        request,
        |tx, meant| {
            let before = record::read_record::<Review>(tx, &meant.subject)?;
            let mut review = match before
                .clone()
                // A new check after the conclusion is a new round; reopening would mix its verdicts
                // with old ones.
                .filter(|review| review.state != LoopState::Complete)
            {
                Some(review) => review,
                None => {
                    Review::start_review(&meant.subject, meant.authors.clone(), &ctx.policy.review)
                }
            };
            // Authors are only ever added: dropping one would let them judge their own work.
            for author in request.authors.iter().chain(&meant.authors) {
                if !review.authors.contains(author) {
                    review.authors.push(author.clone());
                }
            }
            let said = review_actor(ctx);
            let id = review.add_check(
                &request.scope,
                &request.check,
                request.severity,
                said,
                &ctx.policy.review,
            )?;
            let summary = format!("check {id} of {}: {}", meant.subject, request.severity);
            Ok(ReviewChange {
                before,
                after: review,
                summary,
                verdict: None,
                value: id,
            })
        },
    )?;
    ItemOutcome::from_review(review, &id, operation)
}
