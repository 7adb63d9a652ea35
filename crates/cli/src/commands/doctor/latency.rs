//! Hook latencies and faults per host, from the ledger.

use std::path::Path;

use domain::host_event::Host;
use domain::time::Timestamp;
use serde::Serialize;

use super::probe::PROBE_SESSION;
use crate::hook_ledger::{HookLedgerLine, HookOutcome, LedgerFile};

/// Hook statistics of one host.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HookLatency {
    pub(crate) host: Host,
    pub(crate) events: usize,
    pub(crate) p50_micros: u64,
    pub(crate) p99_micros: u64,
    pub(crate) blocks: usize,
    pub(crate) faults: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_fault: Option<LastFault>,
}

/// The most recent internal error.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct LastFault {
    pub(crate) at: Timestamp,
    pub(crate) message: String,
}

/// Computes the statistics of all hosts in the ledger.
pub(crate) fn compute_latencies(root: &Path) -> Vec<HookLatency> {
    let lines = LedgerFile::in_project(root).read_lines();
    Host::ALL
        .into_iter()
        .filter_map(|host| latency_of_host(host, &lines))
        .collect()
}

fn latency_of_host(host: Host, lines: &[HookLedgerLine]) -> Option<HookLatency> {
    // Probes of `tl host doctor` are excluded: they pass the fast path and would lower the percentiles.
    let lines: Vec<&HookLedgerLine> = lines
        .iter()
        .filter(|line| {
            line.host == host && line.outcome != HookOutcome::Off && line.session != PROBE_SESSION
        })
        .collect();
    let mut micros: Vec<u64> = lines.iter().map(|line| line.micros).collect();
    micros.sort_unstable();
    let number = |outcome: HookOutcome| lines.iter().filter(|line| line.outcome == outcome).count();
    Some(HookLatency {
        host,
        events: lines.len(),
        // Without events there is no percentile, and the host is left out.
        p50_micros: nearest_rank_percentile(&micros, 50)?,
        p99_micros: nearest_rank_percentile(&micros, 99)?,
        blocks: number(HookOutcome::Block),
        faults: number(HookOutcome::Fault),
        last_fault: lines.iter().rev().find_map(|line| {
            Some(LastFault {
                at: Timestamp::from_millis(line.at),
                message: line.fault.clone()?,
            })
        }),
    })
}

/// Returns the nearest-rank percentile.
fn nearest_rank_percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}
