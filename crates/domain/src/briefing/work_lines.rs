//! Lines of a briefing about the work on tickets: where the session is, what is expected next, which
//! gate is open.

use super::{BriefingLine, LineSeverity};
use crate::text::{clean_line, count_with_noun};

/// The work's part of a briefing.
#[derive(Clone, Debug, Default)]
pub struct WorkBriefing {
    /// `017 › 017a › threshold-gate [green] 1/3 · 234/400 loc`; `None` if the session is nowhere.
    pub position: Option<String>,
    /// The title of the ticket.
    pub title: Option<String>,
    /// The phase the ticket is in.
    pub phase: Option<String>,
    /// The phases it goes through.
    pub phases: Option<TicketPhases>,
    /// The next commit or command.
    pub expected_next: Option<String>,
    /// Why the next edit would be blocked, and what clears it.
    pub open_gates: Vec<(String, String)>,
    /// Tickets that were entered and are not complete, if the session is nowhere.
    pub in_progress: Vec<TicketInProgress>,
    /// Path and title of tickets that can be worked on, if the session is nowhere.
    pub ready: Vec<(String, String)>,
    /// Number of tickets that are not complete, ready or not.
    pub open_tickets: usize,
    /// Number of uncommitted files and the branch, if there is no ticket for them.
    pub uncovered: Option<(usize, Option<String>)>,
}

/// The phases that a ticket of a work level goes through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TicketPhases {
    /// `patch`, `task`, `feature` …
    pub level: String,
    pub names: Vec<String>,
}

/// A ticket that was begun and left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketInProgress {
    pub path: String,
    /// As a position: `017 › threshold-gate [green] 1/3 · 234/400 loc`.
    pub position: String,
    pub title: Option<String>,
}

/// Maximum number of ready tickets, and of tickets in progress, that are listed.
const MAX_LISTED_TICKETS: usize = 3;

/// Returns the lines about the work.
pub(super) fn collect_work_lines(work: &WorkBriefing) -> Vec<BriefingLine> {
    let line = |why: &str, text: String| BriefingLine::new("work", LineSeverity::Must, why, text);
    let mut lines = Vec::new();
    // With a position the opening line says where the session is.
    if work.position.is_none() {
        lines.push(line("the first step", render_first_step(work)));
    }
    let phase = work.phase.as_ref().map(|phase| format!("Phase: {phase}."));
    let expected = work
        .expected_next
        .as_ref()
        .map(|next| format!("Expected next: {}", clean_line(next)));
    let parts: Vec<String> = phase.into_iter().chain(expected).collect();
    if !parts.is_empty() {
        lines.push(line("what is expected next", parts.join(" ")));
    }
    for (why, clears) in &work.open_gates {
        let text = format!("Blocked now: {}. Clears it: {clears}", clean_line(why));
        lines.push(line("a gate is open", text));
    }
    lines
}

/// Renders what a session without a ticket does first: goes on with what was left, before it begins
/// something else.
fn render_first_step(work: &WorkBriefing) -> String {
    let progress = work.in_progress.iter().map(|one| {
        let title = one.title.as_ref();
        let title = title.map(|title| format!(" “{}”", clean_line(title)));
        format!("{}{}", one.position, title.unwrap_or_default())
    });
    let ready = work
        .ready
        .iter()
        .map(|(id, title)| format!("{id} “{}”", clean_line(title)));
    let first = work.in_progress.first().map(|one| &one.path);
    if let Some(path) = first.or(work.ready.first().map(|(path, _)| path)) {
        let parts = [
            render_listed("In progress", progress.collect()),
            render_listed("Ready", ready.collect()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        return format!(
            "No ticket is in focus. {}. Next: tl focus enter {path}",
            parts.join(". ")
        );
    }
    match &work.uncovered {
        // Too many to find the ready ones here.
        _ if work.open_tickets > 0 => format!(
            "No ticket is in focus; {}. Next: tl next",
            count_with_noun(work.open_tickets, "ticket is open", "tickets are open")
        ),
        Some((files, branch)) if *files > 0 => {
            let place = branch
                .as_ref()
                .map(|branch| format!(" on `{}`", clean_line(branch)))
                .unwrap_or_default();
            format!(
                "{} changed{place}, and there is no ticket. Next: tl ticket new \"what it is for\"",
                count_with_noun(*files, "file", "files")
            )
        }
        _ => "There is no open ticket. Next: tl ticket new \"what is wanted\"".to_owned(),
    }
}

/// Renders the first of some tickets, and how many there are beyond them.
fn render_listed(label: &str, tickets: Vec<String>) -> Option<String> {
    let more = match tickets.len().saturating_sub(MAX_LISTED_TICKETS) {
        0 => String::new(),
        more => format!(" and {more} more (`tl next`)"),
    };
    let listed: Vec<String> = tickets.into_iter().take(MAX_LISTED_TICKETS).collect();
    (!listed.is_empty()).then(|| format!("{label}: {}{more}", listed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{TicketInProgress, WorkBriefing, collect_work_lines};

    fn text(work: &WorkBriefing) -> String {
        let lines: Vec<String> = collect_work_lines(work)
            .into_iter()
            .map(|line| line.text)
            .collect();
        lines.join("\n")
    }

    #[test]
    fn a_session_without_a_ticket_gets_the_first_step() {
        let empty = WorkBriefing::default();
        assert!(text(&empty).contains("tl ticket new"), "{}", text(&empty));
        let changed = WorkBriefing {
            uncovered: Some((3, Some("search".to_owned()))),
            ..WorkBriefing::default()
        };
        assert_eq!(
            text(&changed),
            "3 files changed on `search`, and there is no ticket. Next: tl ticket new \"what it is for\""
        );
        let ready = WorkBriefing {
            ready: (1..=5)
                .map(|number| (format!("00{number}"), "A title".to_owned()))
                .collect(),
            ..changed
        };
        assert_eq!(
            text(&ready),
            "No ticket is in focus. Ready: 001 “A title”, 002 “A title”, 003 “A title” and 2 more (`tl next`). Next: tl focus enter 001"
        );
        let left = WorkBriefing {
            in_progress: vec![TicketInProgress {
                path: "017".to_owned(),
                position: "017 › threshold-gate [green] 1/3 · 12/400 loc".to_owned(),
                title: Some("A gate".to_owned()),
            }],
            ready: vec![("002".to_owned(), "A title".to_owned())],
            ..WorkBriefing::default()
        };
        assert_eq!(
            text(&left),
            "No ticket is in focus. In progress: 017 › threshold-gate [green] 1/3 · 12/400 loc “A gate”. Ready: 002 “A title”. Next: tl focus enter 017"
        );
        let open = WorkBriefing {
            open_tickets: 4,
            ..WorkBriefing::default()
        };
        assert_eq!(
            text(&open),
            "No ticket is in focus; 4 tickets are open. Next: tl next"
        );
    }

    #[test]
    fn a_session_on_a_ticket_reads_phase_next_step_and_gate() {
        let work = WorkBriefing {
            position: Some("017 [implement]".to_owned()),
            phase: Some("implement".to_owned()),
            expected_next: Some("test: a threshold".to_owned()),
            open_gates: vec![(
                "420 changed lines are not committed".to_owned(),
                "a commit".to_owned(),
            )],
            ..WorkBriefing::default()
        };
        assert_eq!(
            text(&work),
            "Phase: implement. Expected next: test: a threshold\n\
             Blocked now: 420 changed lines are not committed. Clears it: a commit"
        );
    }
}
