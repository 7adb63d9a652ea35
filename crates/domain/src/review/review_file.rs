//! Renders `qr-PHASE.json`: a review as a file beside the plan, for tools that read files.
//!
//! Derived from the review and never read back; it is deleted when the review completes.

use serde_json::json;

use super::loop_state::Review;

/// Phases in which a plan is reviewed.
pub const REVIEW_PHASES: [&str; 5] = [
    "plan-design",
    "plan-code",
    "plan-docs",
    "impl-code",
    "impl-docs",
];

/// Whether a word is one of the phases.
#[must_use]
pub fn is_review_phase(word: &str) -> bool {
    REVIEW_PHASES.contains(&word)
}

/// Renders the file's text.
#[must_use]
pub fn render_review_file(phase: &str, review: &Review) -> String {
    let value = json!({
        "schema_version": "1.0",
        "phase": phase,
        "state": review.state,
        "iteration": review.iteration,
        "items": review.items,
    });
    let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.push('\n');
    text
}
