//! Detection: what the calls of a session show, and what of it is worth telling. Never blocks.
//!
//! Counters are kept after each tool call; signals follow from them, from the trail and from the time, by thresholds
//! that are policy.

mod counters;
mod keywords;
mod signals;
mod tool_use;

pub use counters::{Counters, PREFIX, Seen, Uses};
pub use keywords::{STUCK_WORDS, stuck_words};
pub use signals::{Signal, SignalKind, Surroundings, detect};
pub use tool_use::{ToolUse, classify};

/// Says whether two texts say nearly the same: `percent` of their pairs of letters agree.
#[must_use]
pub fn is_similar(a: &str, b: &str, percent: u8) -> bool {
    let even = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    let (a, b) = (even(a), even(b));
    !a.is_empty() && strsim::sorensen_dice(&a, &b) * 100.0 >= f64::from(percent)
}
