//! Detection: derives signals from a session's tool calls. Signals never block.
//!
//! Counters are updated after each tool call; signals are computed from them, the trail and the
//! time, with thresholds that are policy.

mod counters;
mod keywords;
mod signals;
mod tool_use;

pub use counters::{CountedCall, SessionCounters, ToolUseCounts};
pub use keywords::{STUCK_WORDS, find_stuck_words};
pub use signals::{Signal, SignalContext, SignalKind, detect_session_signals};
pub use tool_use::{ToolUse, classify_tool_call};

/// Whether two texts are nearly the same: their Sørensen-Dice coefficient over letter pairs is at
/// least `percent`.
#[must_use]
pub fn is_similar(a: &str, b: &str, percent: u8) -> bool {
    // Case and spacing are no difference in meaning, but would lower the score of short texts a
    // lot.
    let even = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    let (a, b) = (even(a), even(b));
    // Two empty texts would be identical, which is not a repetition.
    !a.is_empty() && strsim::sorensen_dice(&a, &b) * 100.0 >= f64::from(percent)
}
