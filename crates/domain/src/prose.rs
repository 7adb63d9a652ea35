//! The output of a plan (prose, an answer): what it was written from, and how long it is meant to be.

use serde::{Deserialize, Serialize};

use crate::front_matter::parse_front_matter;
use crate::node::{Node, ParentVersion, Status};
use crate::record::Recorded;

/// Key of the front matter with the number of words of prose a plan aims at.
const TARGET_KEY: &str = "target";

/// The version of the plan that an output was written from, by node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProseBasis {
    pub plan: ParentVersion,
}

impl Recorded for ProseBasis {
    const KIND: &'static str = "prose";
}

/// Returns why an output no longer follows from its plan, if it does not.
#[must_use]
pub fn find_stale_reason(node: &Node, basis: Option<ProseBasis>) -> Option<String> {
    if node.status() != Status::Approved {
        return Some(format!("its plan is {}", node.status()));
    }
    // By canonical hash, as the cascade judges: a reformatted plan is the same plan.
    let now = node.content.as_parent_version()?;
    let is_other = basis.is_some_and(|basis| basis.plan.canonical != now.canonical);
    is_other.then(|| "its plan was changed and approved again since it was written".to_owned())
}

/// Returns the number of words of prose that a plan aims at, by `target` in its front matter.
#[must_use]
pub fn find_word_target(plan: &str) -> Option<u64> {
    parse_target(&parse_front_matter(plan).get_text(TARGET_KEY)?)
}

/// Parses a number of words: `1500`, `1,500`, `90k`.
fn parse_target(text: &str) -> Option<u64> {
    let text: String = text
        .trim()
        .chars()
        .filter(|c| !matches!(c, ',' | '_' | '\'' | ' ' | '\u{a0}'))
        .collect();
    match text.strip_suffix(['k', 'K']) {
        Some(thousands) => thousands.parse::<u64>().ok()?.checked_mul(1_000),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::find_word_target;

    #[test]
    fn targets_are_numbers_as_people_write_them() {
        for (text, expected) in [
            ("1500", Some(1500)),
            ("1,500", Some(1500)),
            ("90k", Some(90_000)),
            ("90 000", Some(90_000)),
            ("many", None),
        ] {
            let plan = format!("---\ntarget: {text}\n---\n# One\n");
            assert_eq!(find_word_target(&plan), expected, "{text}");
        }
        assert_eq!(find_word_target("# One\n"), None);
    }
}
