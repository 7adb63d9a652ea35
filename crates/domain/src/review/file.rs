//! `qr-PHASE.json`: a review as a file beside the plan, for those who read files. It follows the review and is gone
//! when the review is complete.

use serde_json::json;

use super::loop_state::Review;

/// The phases a plan is reviewed in.
pub const PHASES: [&str; 5] = [
    "plan-design",
    "plan-code",
    "plan-docs",
    "impl-code",
    "impl-docs",
];

/// Says whether a word is one of the phases.
#[must_use]
pub fn is_phase(word: &str) -> bool {
    PHASES.contains(&word)
}

/// Returns the text of the file.
#[must_use]
pub fn render_file(phase: &str, review: &Review) -> String {
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
