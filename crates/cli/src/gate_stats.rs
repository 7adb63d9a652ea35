//! Gate statistics and hook latencies, from the hook ledger and the operation log.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use application::history::recorded_history;
use application::open_gates::Blocked;
use application::{Context, Failure};
use domain::operation::Verb;
use domain::time::Timestamp;
use web::{GateReport, HookLedger, HostLatency};

use crate::commands::hook_latencies;
use crate::hook_ledger::{Ledger, Outcome};

/// Hook ledger of a project, for the dashboard.
pub(crate) struct Hooks {
    pub(crate) root: PathBuf,
}

impl HookLedger for Hooks {
    fn report(&self, ctx: &Context<'_>) -> Result<GateReport, Failure> {
        report(ctx, &self.root)
    }

    fn blocked(&self) -> Vec<Blocked> {
        let mut found: Vec<Blocked> = Vec::new();
        for line in Ledger::in_project(&self.root).latest() {
            match (line.gate, line.outcome) {
                (Some(gate), Outcome::Block) => found.push(Blocked {
                    at: Timestamp::from_millis(line.at),
                    host: line.host.word().to_owned(),
                    session: line.session,
                    gate,
                    plan: line.plan,
                    heeded: false,
                }),
                (None, Outcome::Pass | Outcome::Context) if line.event == "tool-about-to-run" => {
                    let same = found
                        // The session's next allowed call shows that it did something else instead.
                        .iter_mut()
                        .filter(|block| block.session == line.session);
                    same.for_each(|block| block.heeded = true);
                }
                _ => {}
            }
        }
        found
    }
}

/// Computes the gate statistics of a project.
///
/// # Errors
/// When the state cannot be read.
pub(crate) fn report(ctx: &Context<'_>, root: &Path) -> Result<GateReport, Failure> {
    let mut report = GateReport::default();
    let mut seen = HashSet::new();
    // Blocks that were not followed by an allowed call yet, by session, gate and plan.
    let mut open: HashSet<(String, String, Option<String>)> = HashSet::new();
    for line in Ledger::in_project(root).lines() {
        // Some hosts fire twice for one call; it counts once.
        if line.call.is_some()
            && !seen.insert((line.session.clone(), line.call.clone(), line.event.clone()))
        {
            continue;
        }
        report.events += 1;
        report.faults += usize::from(line.outcome == Outcome::Fault);
        match (line.gate, line.outcome) {
            (Some(gate), outcome) => {
                let counts = report.gates.entry(gate.clone()).or_default();
                counts.fires += 1;
                if outcome == Outcome::Block {
                    counts.blocks += 1;
                    open.insert((line.session, gate, line.plan));
                } else {
                    counts.warnings += 1;
                }
            }
            // The session did something else that was allowed: the block was effective, a "catch".
            (None, Outcome::Pass | Outcome::Context) if line.event == "tool-about-to-run" => {
                for (_, gate, _) in open.extract_if(|(session, ..)| *session == line.session) {
                    report.gates.entry(gate).or_default().catches += 1;
                }
            }
            (None, _) => {}
        }
    }
    // Overrides are operations, not hook events, so they are counted from the log.
    for operation in recorded_history(ctx, usize::MAX, None)? {
        if operation.verb == Verb::Override
            && let Some(gate) = operation.summary.split_whitespace().nth(1)
        {
            report.gates.entry(gate.to_owned()).or_default().overrides += 1;
        }
    }
    let host = |host: crate::commands::Latency| HostLatency {
        host: host.host.word().to_owned(),
        events: host.events,
        p50_micros: host.p50_micros,
        p99_micros: host.p99_micros,
        blocks: host.blocks,
        faults: host.faults,
    };
    report.hosts = hook_latencies(root).into_iter().map(host).collect();
    Ok(report)
}
