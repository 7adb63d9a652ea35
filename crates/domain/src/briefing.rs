//! What an agent is told about where the work stands. Facts only; the most important line first.

use crate::node::Status;
use crate::planning_prompt::{clean_line, count};

/// What a briefing is made of.
#[derive(Clone, Debug, Default)]
pub struct Briefing<'a> {
    /// `act → chapter → scene`, one per kind of tree.
    pub hierarchies: Vec<String>,
    /// Level, how many plans it has, how many of them are approved.
    pub levels: Vec<(&'a str, usize, usize)>,
    /// What needs someone, the most urgent first.
    pub attention: Vec<Attention<'a>>,
    /// What went wrong in hooks since the last contact.
    pub faults: Option<&'a str>,
}

/// A plan that needs someone.
#[derive(Clone, Debug)]
pub struct Attention<'a> {
    pub path: &'a str,
    pub status: Status,
    pub reason: Option<&'a str>,
    pub next_step: &'a str,
}

/// What every briefing begins with: a conversation without it has lost it.
pub const OPENING: &str = "Throughline keeps the plans of this project";

/// So many plans are named; the rest is counted.
const MOST_NAMED: usize = 8;

/// Returns the briefing.
#[must_use]
pub fn compose(briefing: &Briefing<'_>) -> String {
    let mut lines = Vec::new();
    let plans: Vec<String> = briefing
        .levels
        .iter()
        .map(|(level, all, approved)| format!("{} ({approved} approved)", count(*all, level, &plural(level))))
        .collect();
    let plans = if plans.is_empty() { "no plans yet".to_owned() } else { plans.join(", ") };
    lines.push(format!("{OPENING}: {}. Now: {plans}.", briefing.hierarchies.join("; ")));
    if let Some(faults) = briefing.faults {
        lines.push(faults.to_owned());
    }
    for one in briefing.attention.iter().take(MOST_NAMED) {
        let reason = one.reason.map(|reason| format!(" ({})", clean_line(reason))).unwrap_or_default();
        lines.push(format!("- {} is {}{reason}. Next: {}", one.path, one.status, one.next_step));
    }
    if briefing.attention.len() > MOST_NAMED {
        lines.push(format!("- and {} more: tl status", briefing.attention.len() - MOST_NAMED));
    }
    lines.push(
        "A plan may be written only while its parent is approved; `tl plan LEVEL ID` prints the prompt with the parent's \
         text. A changed parent makes what is below stale; `tl why NODE` says why, `tl next` what is ready."
            .to_owned(),
    );
    lines.join("\n")
}

fn plural(level: &str) -> String {
    format!("{level}s")
}
