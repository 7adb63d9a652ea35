//! Shows a review, and the checks that wait for a person.

use domain::record;
use domain::review::{LoopState, Review, ReviewItem};
use serde::Serialize;

use super::review_change::{ReviewView, load_review, select_review};
use crate::context::Context;
use crate::failure::Failure;

/// Returns a review.
///
/// # Errors
/// When the subject has no review.
pub fn show_review(ctx: &Context<'_>, of: Option<&str>) -> Result<ReviewView, Failure> {
    let state = ctx.store.begin_read()?;
    let subject = select_review(ctx, &*state, of, None)?.subject;
    Ok(ReviewView::from_review(&load_review(&*state, &subject)?))
}

/// Returns every review, those that wait for a person first.
///
/// # Errors
/// When the state cannot be read.
pub fn list_reviews(ctx: &Context<'_>) -> Result<Vec<ReviewView>, Failure> {
    let state = ctx.store.begin_read()?;
    let reviews = record::read_records::<Review>(&*state, "")?;
    let mut views: Vec<ReviewView> = reviews
        .iter()
        .map(|(_, review)| ReviewView::from_review(review))
        .collect();
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
