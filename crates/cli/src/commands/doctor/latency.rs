//! Hook latencies and faults per host, from the ledger.

use std::path::Path;

use domain::host_event::Host;
use domain::time::Timestamp;
use serde::Serialize;

use super::probe::SESSION;
use crate::hook_ledger::{Ledger, Line, Outcome};

/// Hook statistics of one host.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Latency {
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
pub(crate) fn latencies(root: &Path) -> Vec<Latency> {
    let lines = Ledger::in_project(root).lines();
    Host::ALL
        .into_iter()
        .filter_map(|host| of(host, &lines))
        .collect()
}

fn of(host: Host, lines: &[Line]) -> Option<Latency> {
    // Probes of `tl doctor` are excluded: they pass the fast path and would lower the percentiles.
    let lines: Vec<&Line> = lines
        .iter()
        .filter(|line| line.host == host && line.outcome != Outcome::Off && line.session != SESSION)
        .collect();
    let mut micros: Vec<u64> = lines.iter().map(|line| line.micros).collect();
    micros.sort_unstable();
    let number = |outcome: Outcome| lines.iter().filter(|line| line.outcome == outcome).count();
    Some(Latency {
        host,
        events: lines.len(),
        p50_micros: percentile(&micros, 50)?,
        p99_micros: percentile(&micros, 99)?,
        blocks: number(Outcome::Block),
        faults: number(Outcome::Fault),
        last_fault: lines.iter().rev().find_map(|line| {
            Some(LastFault {
                at: Timestamp::from_millis(line.at),
                message: line.fault.clone()?,
            })
        }),
    })
}

/// Returns the nearest-rank percentile.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}
