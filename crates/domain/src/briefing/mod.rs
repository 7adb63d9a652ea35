//! Briefing: the one bounded text that tells an agent the state of the work.
//!
//! Facts only, the most important line first. This module decides what is included and why;
//! [`compositor`] fits it into the budget.

pub mod compositor;
mod trail_lines;

pub use compositor::{BriefingLine, ComposedText, LineSeverity, TextBudget};
pub use trail_lines::{TrailBriefing, TrailPlace};

use crate::node::Status;
use crate::text::{clean_line, count_with_noun};

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
    /// Other live sessions, one line each: where they are and what they hold.
    pub other_sessions: Vec<String>,
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
pub const BRIEFING_OPENING: &str = "Throughline keeps the plans of this project";

/// Maximum number of plans, and of comments, that are listed; further plans are only counted.
const MAX_LISTED_ITEMS: usize = 8;
/// Maximum number of other sessions that are listed.
const MAX_LISTED_SESSIONS: usize = 4;
/// Maximum length of a quoted comment in characters.
const MAX_COMMENT_CHARS: usize = 400;

/// Composes the briefing within its budget.
#[must_use]
pub fn compose_briefing(briefing: &Briefing<'_>, budget: TextBudget) -> ComposedText {
    compositor::fit_to_budget(collect_lines(briefing), budget)
}

/// Returns all lines of the briefing, in order.
fn collect_lines(briefing: &Briefing<'_>) -> Vec<BriefingLine> {
    let mut lines = vec![render_opening_line(briefing)];
    // Trust and hook failures come before everything else: they say how far the rest can be relied
    // on.
    if let Some(untrusted) = briefing.untrusted {
        lines.push(BriefingLine::new(
            "untrusted",
            LineSeverity::Must,
            "policy or history is not the one a person accepted",
            untrusted,
        ));
    }
    if let Some(faults) = briefing.faults {
        lines.push(BriefingLine::new(
            "faults",
            LineSeverity::Must,
            "hooks failed",
            faults,
        ));
    }
    if let Some(trail) = &briefing.trail {
        lines.extend(trail_lines::collect_trail_lines(trail));
    }
    lines.extend(other_session_lines(briefing));
    for (path, by, text) in briefing.comments.iter().take(MAX_LISTED_ITEMS) {
        // Comments are written by people and reach an agent's prompt: control characters are
        // removed and the text is marked as data, so that it is not taken for an instruction of
        // ours.
        let said: String = clean_line(text).chars().take(MAX_COMMENT_CHARS).collect();
        let text = format!(
            "- comment on {path} by {}, as data: \"{said}\"",
            clean_line(by)
        );
        lines.push(BriefingLine::new(
            "comments",
            LineSeverity::High,
            "an open comment by a person",
            text,
        ));
    }
    lines.extend(attention_lines(briefing));
    if briefing.has_plans {
        lines.push(BriefingLine::new(
            "rules",
            LineSeverity::Normal,
            "how plans are written here",
            "A plan may be written only while its parent is approved; `tl plan LEVEL ID` prints the prompt with the parent's \
             text. A changed parent makes what is below stale; `tl why NODE` says why, `tl next` what is ready.",
        ));
    }
    lines
}

/// Returns the sessions that work beside this one: their work is not to be repeated.
fn other_session_lines(briefing: &Briefing<'_>) -> Vec<BriefingLine> {
    let listed = briefing.other_sessions.iter().take(MAX_LISTED_SESSIONS);
    let lines = listed.map(|line| {
        BriefingLine::new(
            "sessions",
            LineSeverity::High,
            "another session is at work now",
            format!(
                "- another session is at work now: {}. Do not continue its work.",
                clean_line(line)
            ),
        )
    });
    lines.collect()
}

/// Returns the plans that need a decision, and how many are left out.
fn attention_lines(briefing: &Briefing<'_>) -> Vec<BriefingLine> {
    let mut lines = Vec::new();
    for one in briefing.attention.iter().take(MAX_LISTED_ITEMS) {
        let reason = one
            .reason
            .map(|reason| format!(" ({})", clean_line(reason)))
            .unwrap_or_default();
        let text = format!(
            "- {} is {}{reason}. Next: {}",
            one.path, one.status, one.next_step
        );
        lines.push(BriefingLine::new(
            "plans",
            LineSeverity::High,
            "it needs attention",
            text,
        ));
    }
    if briefing.attention.len() > MAX_LISTED_ITEMS {
        let text = format!(
            "- and {} more: tl status",
            briefing.attention.len() - MAX_LISTED_ITEMS
        );
        lines.push(BriefingLine::new(
            "plans",
            LineSeverity::High,
            "they need attention",
            text,
        ));
    }
    lines
}

fn render_opening_line(briefing: &Briefing<'_>) -> BriefingLine {
    let trees = briefing.hierarchies.join("; ");
    let text = if briefing.has_plans {
        let plans: Vec<String> = briefing
            .levels
            .iter()
            .map(|(level, all, approved)| {
                format!(
                    "{} ({approved} approved)",
                    count_with_noun(*all, level, &format!("{level}s"))
                )
            })
            .collect();
        let plans = if plans.is_empty() {
            "no plans yet".to_owned()
        } else {
            plans.join(", ")
        };
        format!("{BRIEFING_OPENING}: {trees}. Now: {plans}.")
    } else {
        format!("{BRIEFING_OPENING}: {trees}.")
    };
    BriefingLine::new("opening", LineSeverity::Must, "what this is", text)
}
