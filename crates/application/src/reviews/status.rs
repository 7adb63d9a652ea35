//! Shows a review, and the checks that wait for a person.

use domain::record;
use domain::review::{Item, LoopState, Review};
use serde::Serialize;

use super::desk::{ReviewView, meant, review_of};
use crate::context::Context;
use crate::failure::Failure;

/// Returns a review.
///
/// # Errors
/// When the subject has no review.
pub fn status(ctx: &Context<'_>, of: Option<&str>) -> Result<ReviewView, Failure> {
    let state = ctx.store.read()?;
    let subject = meant(ctx, &*state, of, None)?.subject;
    Ok(ReviewView::of(&review_of(&*state, &subject)?))
}

/// Returns every review, those that wait for a person first.
///
/// # Errors
/// When the state cannot be read.
pub fn list(ctx: &Context<'_>) -> Result<Vec<ReviewView>, Failure> {
    let state = ctx.store.read()?;
    let reviews = record::read_all::<Review>(&*state, "")?;
    let mut views: Vec<ReviewView> = reviews
        .iter()
        .map(|(_, review)| ReviewView::of(review))
        .collect();
    // `false` sorts first: reviews that wait for a person, then open ones, then complete ones.
    views.sort_by_key(|view| (view.escalated.is_empty(), view.state == LoopState::Complete));
    Ok(views)
}

/// A check that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub struct EscalatedItem {
    pub subject: String,
    pub item: Item,
}

/// Returns the checks that wait for a person, in all reviews.
///
/// # Errors
/// When the state cannot be read.
pub fn escalated(ctx: &Context<'_>) -> Result<Vec<EscalatedItem>, Failure> {
    let state = ctx.store.read()?;
    let reviews = record::read_all::<Review>(&*state, "")?;
    let waiting = reviews.into_iter().flat_map(|(subject, review)| {
        let items: Vec<Item> = review.escalated().into_iter().cloned().collect();
        items.into_iter().map(move |item| EscalatedItem {
            subject: subject.clone(),
            item,
        })
    });
    Ok(waiting.collect())
}
