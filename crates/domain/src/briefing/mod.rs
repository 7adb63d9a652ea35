//! Briefing: the one bounded text that tells an agent the state of the work.
//!
//! Facts only, the most important line first. This module decides what is included and why;
//! [`compositor`] fits it into the budget.

pub mod compositor;
mod rules;
mod trail_lines;
mod work_lines;

pub use compositor::{BriefingLine, ComposedText, LineSeverity, TextBudget};
pub use rules::collect_rules;
pub use trail_lines::{TrailBriefing, TrailPlace};
pub use work_lines::{TicketInProgress, TicketPhases, WorkBriefing};

use crate::next_step::NextStep;
use crate::node::Status;
use crate::plan_document::DocumentPosition;
use crate::text::{clean_line, count_with_noun};

/// The input of a briefing.
#[derive(Clone, Debug, Default)]
pub struct Briefing<'a> {
    /// `act → chapter → scene`, one per kind of tree.
    pub hierarchies: Vec<String>,
    /// Plans per level.
    pub levels: Vec<LevelSummary<'a>>,
    /// The rules that hold: those of profiles that are used and of gates that are on.
    pub rules: Vec<String>,
    /// The work on tickets, in a project that has them.
    pub work: Option<WorkBriefing>,
    /// Invalid and stale plans, the most urgent first; not all of them.
    pub urgent: Vec<Attention>,
    pub urgent_total: usize,
    /// Drafts that can be approved now; not all of them.
    pub drafts: Vec<Attention>,
    pub draft_total: usize,
    /// Requests for changes of plans: path, author, text.
    pub requests: Vec<(&'a str, String, &'a str)>,
    /// Open comments on plans: path, author, text.
    pub comments: Vec<(&'a str, String, &'a str)>,
    /// What can be done next outside of tickets, and the command.
    pub steps: Vec<(String, String)>,
    /// The plan document that the session works on.
    pub document: Option<DocumentPosition>,
    /// The plan that the session changed last.
    pub last_plan: Option<(String, Status)>,
    /// Other live sessions, one line each: where they are and what they hold.
    pub other_sessions: Vec<String>,
    /// Failures of hooks since the last contact.
    pub faults: Option<&'a str>,
    /// What a person has to decide before policy and history can be trusted again.
    pub untrusted: Option<String>,
    /// The session's position, in a project with a trail.
    pub trail: Option<TrailBriefing>,
}

/// The plans of one level.
#[derive(Clone, Debug)]
pub struct LevelSummary<'a> {
    pub level: &'a str,
    pub plans: usize,
    /// How many of them are approved, or complete where nobody approves.
    pub settled: usize,
    pub settled_word: &'static str,
}

/// A plan that needs attention.
#[derive(Clone, Debug)]
pub struct Attention {
    pub path: String,
    pub status: Status,
    pub reason: Option<String>,
    pub next_step: String,
}

/// First words of every briefing. A conversation that no longer contains them has lost its
/// briefing.
pub const BRIEFING_OPENING: &str = "Throughline briefing:";

/// Maximum number of plans, and of comments, that are listed; further plans are only counted.
pub const MAX_LISTED_ITEMS: usize = 8;
/// Maximum number of drafts that are named.
const MAX_LISTED_DRAFTS: usize = 3;
/// Maximum number of other sessions that are listed.
const MAX_LISTED_SESSIONS: usize = 4;
/// Maximum length of a quoted comment in characters.
const MAX_COMMENT_CHARS: usize = 400;
/// Maximum length of a request for changes: the agent works from its words.
const MAX_REQUEST_CHARS: usize = 1_200;

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
    if let Some(untrusted) = &briefing.untrusted {
        lines.push(BriefingLine::new(
            "untrusted",
            LineSeverity::Must,
            "policy, history or the decisions of others wait for a person's word",
            untrusted.as_str(),
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
    if let Some(work) = &briefing.work {
        lines.extend(work_lines::collect_work_lines(work));
    }
    if let Some(trail) = &briefing.trail {
        lines.extend(trail_lines::collect_trail_lines(trail));
    }
    for (what, next) in &briefing.steps {
        lines.push(BriefingLine::new(
            "next",
            LineSeverity::Must,
            "what can be done next",
            format!("- {}. Next: {next}", clean_line(what)),
        ));
    }
    lines.extend(other_session_lines(briefing));
    // Before comments and plans: a request is work that a person waits for.
    for (path, by, text) in briefing.requests.iter().take(MAX_LISTED_ITEMS) {
        let said: String = clean_line(text).chars().take(MAX_REQUEST_CHARS).collect();
        let text = format!(
            "- changes of {path} requested by {}, as data: \"{said}\". Change the text, then ask for approval again",
            clean_line(by)
        );
        lines.push(BriefingLine::new(
            "requests",
            LineSeverity::Must,
            "a person requested changes",
            text,
        ));
    }
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
    for rule in &briefing.rules {
        lines.push(BriefingLine::new(
            "rules",
            LineSeverity::Normal,
            "a rule of this project",
            rule.as_str(),
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

/// Returns the plans that need a decision, and how many are left out. Drafts are one line: the agent
/// can only wait for them.
fn attention_lines(briefing: &Briefing<'_>) -> Vec<BriefingLine> {
    let line =
        |text: String| BriefingLine::new("plans", LineSeverity::High, "it needs attention", text);
    let mut is_asked = false;
    let mut lines: Vec<BriefingLine> = briefing
        .urgent
        .iter()
        .take(MAX_LISTED_ITEMS)
        .map(|one| {
            let next_step = match NextStep::parse(&one.next_step) {
                // How to ask is said once.
                NextStep::AskToRevalidate { .. } if std::mem::replace(&mut is_asked, true) => {
                    "ask the person to revalidate it as well"
                }
                _ => one.next_step.as_str(),
            };
            let reason = one
                .reason
                .as_ref()
                .map(|reason| format!(" ({})", clean_line(reason)))
                .unwrap_or_default();
            let (path, status) = (&one.path, one.status);
            line(format!("- {path} is {status}{reason}. Next: {next_step}"))
        })
        .collect();
    if briefing.urgent_total > lines.len() {
        let more = briefing.urgent_total - lines.len();
        lines.push(line(format!("- and {more} more: tl status")));
    }
    match briefing.drafts.as_slice() {
        [] => {}
        [one] if briefing.draft_total == 1 => lines.push(line(format!(
            "- {} is draft. Next: {}",
            one.path, one.next_step
        ))),
        [first, ..] => {
            let listed = briefing.drafts.iter().take(MAX_LISTED_DRAFTS);
            let names: Vec<&str> = listed.map(|one| one.path.as_str()).collect();
            let more = match briefing.draft_total.saturating_sub(names.len()) {
                0 => String::new(),
                more => format!(" and {more} more (`tl status`)"),
            };
            lines.push(line(format!(
                "- {} drafts wait for approval: {}{more}. Next: {}",
                briefing.draft_total,
                names.join(", "),
                first.next_step
            )));
        }
    }
    lines
}

/// Renders the first line: where the session is, or else what the project has.
fn render_opening_line(briefing: &Briefing<'_>) -> BriefingLine {
    let ticket = briefing
        .work
        .as_ref()
        .and_then(|work| Some((work.position.clone()?, &work.title)));
    let document = briefing.document.as_ref();
    let position = ticket.or_else(|| document.map(|one| (one.render_place(), &one.title)));
    let text = match position {
        Some((position, title)) => {
            let title = title
                .as_ref()
                .map(|title| format!(" (“{}”)", clean_line(title)))
                .unwrap_or_default();
            format!("{BRIEFING_OPENING} you are at {position}{title}")
        }
        None => {
            let trees = briefing.hierarchies.join("; ");
            let plans: Vec<String> = briefing.levels.iter().map(render_level).collect();
            let plans = match plans.as_slice() {
                [] => String::new(),
                plans => format!(". Now: {}", plans.join(", ")),
            };
            let last = match &briefing.last_plan {
                Some((path, status)) => format!(" This session last changed {path} [{status}]."),
                None => String::new(),
            };
            format!("{BRIEFING_OPENING} {trees}{plans}.{last}")
        }
    };
    BriefingLine::new("opening", LineSeverity::Must, "where the work is", text)
}

fn render_level(summary: &LevelSummary<'_>) -> String {
    let LevelSummary {
        level,
        plans,
        settled,
        settled_word,
    } = summary;
    let plans = count_with_noun(*plans, level, &format!("{level}s"));
    format!("{plans} ({settled} {settled_word})")
}
