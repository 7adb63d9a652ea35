//! Shows a review, and the checks that wait for a person.

use domain::record;
use domain::review::{LoopState, Review, ReviewItem};
use serde::Serialize;

use super::review_change::{ReviewView, load_verdicts, missing_review, select_review};
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_then_read;
use crate::scan::ScanScope;

/// Returns a review.
///
/// # Errors
/// When the subject has no review.
pub fn show_review(ctx: &Context<'_>, of: Option<&str>) -> Result<ReviewView, Failure> {
    // Scanned first: a verdict may have come with a pull.
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let subject = select_review(ctx, &*state, of, None)?.subject;
    let verdicts = load_verdicts(&*state)?.remove(&subject);
    match (record::read_record::<Review>(&*state, &subject)?, verdicts) {
        (None, Some(verdicts)) => Ok(ReviewView::from_verdicts(subject, verdicts)),
        (None, None) => Err(missing_review(&subject)),
        (Some(review), verdicts) => Ok(ReviewView::from_review(
            &review,
            verdicts.unwrap_or_default(),
        )),
    }
}

/// Returns every review, those that wait for a person first.
///
/// # Errors
/// When the state cannot be read.
pub fn list_reviews(ctx: &Context<'_>) -> Result<Vec<ReviewView>, Failure> {
    let state = ctx.store.begin_read()?;
    let reviews = record::read_records::<Review>(&*state, "")?;
    let mut verdicts = load_verdicts(&*state)?;
    let mut views: Vec<ReviewView> = reviews
        .iter()
        .map(|(subject, review)| {
            ReviewView::from_review(review, verdicts.remove(subject).unwrap_or_default())
        })
        .collect();
    let received = verdicts.into_iter();
    views.extend(received.map(|(subject, given)| ReviewView::from_verdicts(subject, given)));
    // `false` sorts first: reviews that wait for a person, then open ones, then complete ones.
    views.sort_by_key(|view| (view.escalated.is_empty(), view.state == LoopState::Complete));
    Ok(views)
}

/// A check that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub struct EscalatedItem {
    pub subject: String,
    pub item: ReviewItem,
}

/// Returns the checks that wait for a person, in all reviews.
///
/// # Errors
/// When the state cannot be read.
pub fn list_escalated(ctx: &Context<'_>) -> Result<Vec<EscalatedItem>, Failure> {
    let state = ctx.store.begin_read()?;
    let reviews = record::read_records::<Review>(&*state, "")?;
    let waiting = reviews.into_iter().flat_map(|(subject, review)| {
        let items: Vec<ReviewItem> = review.escalated_items().into_iter().cloned().collect();
        items.into_iter().map(move |item| EscalatedItem {
            subject: subject.clone(),
            item,
        })
    });
    Ok(waiting.collect())
}
