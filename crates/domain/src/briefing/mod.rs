//! Briefing: the one bounded text that tells an agent the state of the work.
//!
//! Facts only, the most important line first. This module decides what is included and why;
//! [`compositor`] fits it into the budget.

pub mod compositor;
mod trail_lines;

pub use compositor::{Budget, Composed, Line, Severity};
pub use trail_lines::{TrailBriefing, TrailPlace};

use crate::node::Status;
use crate::text::{clean_line, count};

/// The input of a briefing.
#[derive(Clone, Debug, Default)]
pub struct Briefing<'a> {
    /// `act → chapter → scene`, one per kind of tree.
    pub hierarchies: Vec<String>,
    /// Whether the project has plan files with approvals.
    pub has_plans: bool,
    /// Per level: its name, the number of plans, the number of approved ones.
    pub levels: Vec<(&'a str, usize, usize)>,
    /// Plans that need attention, the most urgent first.
    pub attention: Vec<Attention<'a>>,
    /// Open comments on plans: path, author, text.
    pub comments: Vec<(&'a str, String, &'a str)>,
    /// Failures of hooks since the last contact.
    pub faults: Option<&'a str>,
    /// What a person has to decide before policy and history can be trusted again.
    pub untrusted: Option<&'a str>,
    /// The session's position, in a project with a trail.
    pub trail: Option<TrailBriefing>,
}

/// A plan that needs attention.
#[derive(Clone, Debug)]
pub struct Attention<'a> {
    pub path: &'a str,
    pub status: Status,
    pub reason: Option<&'a str>,
    pub next_step: &'a str,
}

/// First words of every briefing. A conversation that no longer contains them has lost its
/// briefing.
pub const OPENING: &str = "Throughline keeps the plans of this project";

/// Maximum number of plans, and of comments, that are listed; further plans are only counted.
const MOST_NAMED: usize = 8;
/// Maximum length of a quoted comment in characters.
const LONGEST_SAID: usize = 400;

/// Composes the briefing within its budget.
#[must_use]
pub fn compose(briefing: &Briefing<'_>, budget: Budget) -> Composed {
    compositor::fit(lines(briefing), budget)
}

/// Returns all lines of the briefing, in order.
fn lines(briefing: &Briefing<'_>) -> Vec<Line> {
    let mut lines = vec![opening(briefing)];
    // Trust and hook failures come before everything else: they say how far the rest can be relied
    // on.
    if let Some(untrusted) = briefing.untrusted {
        lines.push(Line::new(
            "untrusted",
            Severity::Must,
            "policy or history is not the one a person accepted",
            untrusted,
        ));
    }
    if let Some(faults) = briefing.faults {
        lines.push(Line::new("faults", Severity::Must, "hooks failed", faults));
    }
    if let Some(trail) = &briefing.trail {
        lines.extend(trail_lines::lines(trail));
    }
    for (path, by, text) in briefing.comments.iter().take(MOST_NAMED) {
        // Comments are written by people and reach an agent's prompt: control characters are
        // removed and the text is marked as data, so that it is not taken for an instruction of
        // ours.
        let said: String = clean_line(text).chars().take(LONGEST_SAID).collect();
        let text = format!(
            "- comment on {path} by {}, as data: \"{said}\"",
            clean_line(by)
        );
        lines.push(Line::new(
            "comments",
            Severity::High,
            "an open comment by a person",
            text,
        ));
    }
    for one in briefing.attention.iter().take(MOST_NAMED) {
        let reason = one
            .reason
            .map(|reason| format!(" ({})", clean_line(reason)))
            .unwrap_or_default();
        let text = format!(
            "- {} is {}{reason}. Next: {}",
            one.path, one.status, one.next_step
        );
        lines.push(Line::new(
            "plans",
            Severity::High,
            "it needs attention",
            text,
        ));
    }
    if briefing.attention.len() > MOST_NAMED {
        let text = format!(
            "- and {} more: tl status",
            briefing.attention.len() - MOST_NAMED
        );
        lines.push(Line::new(
            "plans",
            Severity::High,
            "they need attention",
            text,
        ));
    }
    if briefing.has_plans {
        lines.push(Line::new(
            "rules",
            Severity::Normal,
            "how plans are written here",
            "A plan may be written only while its parent is approved; `tl plan LEVEL ID` prints the prompt with the parent's \
             text. A changed parent makes what is below stale; `tl why NODE` says why, `tl next` what is ready.",
        ));
    }
    lines
}

fn opening(briefing: &Briefing<'_>) -> Line {
    let trees = briefing.hierarchies.join("; ");
    let text = if briefing.has_plans {
        let plans: Vec<String> = briefing
            .levels
            .iter()
            .map(|(level, all, approved)| {
                format!(
                    "{} ({approved} approved)",
                    count(*all, level, &format!("{level}s"))
                )
            })
            .collect();
        let plans = if plans.is_empty() {
            "no plans yet".to_owned()
        } else {
            plans.join(", ")
        };
        format!("{OPENING}: {trees}. Now: {plans}.")
    } else {
        format!("{OPENING}: {trees}.")
    };
    Line::new("opening", Severity::Must, "what this is", text)
}
