//! Gate statistics and hook latencies, from the hook ledger and the operation log.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use application::history::list_recorded_history;
use application::open_gates::BlockedStep;
use application::{Context, Failure};
use domain::gates::{LedgerStep, count_incidents};
use domain::operation::Verb;
use domain::time::Timestamp;
use web::{GateReport, HookLedger, HostLatency};

use crate::commands::hook_latencies;
use crate::hook_ledger::{HookOutcome, LedgerFile};

/// Hook ledger of a project, for the dashboard.
pub(crate) struct ProjectHookLedger {
    pub(crate) root: PathBuf,
}

impl HookLedger for ProjectHookLedger {
    fn report(&self, ctx: &Context<'_>) -> Result<GateReport, Failure> {
        compute_gate_report(ctx, &self.root)
    }

    fn blocked(&self) -> Vec<BlockedStep> {
        let mut found: Vec<BlockedStep> = Vec::new();
        for line in LedgerFile::in_project(&self.root).read_latest_lines() {
            match (line.gate, line.outcome) {
                (Some(gate), HookOutcome::Block) => found.push(BlockedStep {
                    at: Timestamp::from_millis(line.at),
                    host: line.host.as_str().to_owned(),
                    session: line.session,
                    gate,
                    plan: line.plan,
                    heeded: false,
                }),
                (None, HookOutcome::Pass | HookOutcome::Context)
                    if line.event == "tool-about-to-run" =>
                {
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
pub(crate) fn compute_gate_report(ctx: &Context<'_>, root: &Path) -> Result<GateReport, Failure> {
    let mut report = GateReport::default();
    let mut seen = HashSet::new();
    // Blocks that were not followed by an allowed call yet, by session, gate and plan.
    let mut open: HashSet<(String, String, Option<String>)> = HashSet::new();
    let lines = LedgerFile::in_project(root).read_lines();
    let steps = lines.iter().map(|line| LedgerStep {
        session: &line.session,
        blocked_by: line
            .gate
            .as_deref()
            .filter(|_| line.outcome == HookOutcome::Block),
        did: line.did.as_deref(),
    });
    for (gate, counted) in count_incidents(steps) {
        let counts = report.gates.entry(gate.to_owned()).or_default();
        counts.incidents = counted.incidents;
        counts.followed = counted.followed;
    }
    for line in lines {
        // Some hosts fire twice for one call; it counts once.
        if line.call.is_some()
            && !seen.insert((line.session.clone(), line.call.clone(), line.event.clone()))
        {
            continue;
        }
        report.events += 1;
        report.faults += usize::from(line.outcome == HookOutcome::Fault);
        match (line.gate, line.outcome) {
            (Some(gate), outcome) => {
                let counts = report.gates.entry(gate.clone()).or_default();
                counts.fires += 1;
                if outcome == HookOutcome::Block {
                    counts.blocks += 1;
                    open.insert((line.session, gate, line.plan));
                } else {
                    counts.warnings += 1;
                }
            }
            // The session did something else that was allowed: the block was effective, a "catch".
            (None, HookOutcome::Pass | HookOutcome::Context)
                if line.event == "tool-about-to-run" =>
            {
                for (_, gate, _) in open.extract_if(|(session, ..)| *session == line.session) {
                    report.gates.entry(gate).or_default().catches += 1;
                }
            }
            (None, _) => {}
        }
    }
    // Overrides are operations, not hook events, so they are counted from the log.
    for operation in list_recorded_history(ctx, usize::MAX, None)? {
        if operation.verb == Verb::Override
            && let Some(gate) = operation.summary.split_whitespace().nth(1)
        {
            report.gates.entry(gate.to_owned()).or_default().overrides += 1;
        }
    }
    let host = |host: crate::commands::HookLatency| HostLatency {
        host: host.host.as_str().to_owned(),
        events: host.events,
        p50_micros: host.p50_micros,
        p99_micros: host.p99_micros,
        blocks: host.blocks,
        faults: host.faults,
    };
    report.hosts = hook_latencies(root).into_iter().map(host).collect();
    Ok(report)
}
