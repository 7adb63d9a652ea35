//! Request metrics in the Prometheus text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Class of a route, the label of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RouteClass {
    Mcp,
    Api,
    Action,
    Page,
    Asset,
    Health,
}

impl RouteClass {
    /// Returns the class of a path. Paths as labels would make one time series per plan.
    pub(crate) fn from_path(path: &str) -> Self {
        let first = path
            .trim_start_matches('/')
            .split('/')
            .next()
            .unwrap_or_default();
        match first {
            "mcp" => Self::Mcp,
            "api" => Self::Api,
            "do" => Self::Action,
            "assets" => Self::Asset,
            // One class: the three differ in path only, and probes would drown the other series.
            "healthz" | "readyz" | "metrics" => Self::Health,
            _ => Self::Page,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Api => "api",
            Self::Action => "action",
            Self::Page => "page",
            Self::Asset => "asset",
            Self::Health => "health",
        }
    }
}

/// Upper bounds of the histogram's buckets, in milliseconds.
const BUCKET_BOUNDS_MILLIS: [u64; 11] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000];

#[derive(Clone, Copy, Default)]
struct LatencyHistogram {
    /// Cumulative count per bucket, as Prometheus expects.
    up_to: [u64; BUCKET_BOUNDS_MILLIS.len()],
    number: u64,
    sum: Duration,
}

#[derive(Default)]
struct ResponseCounts {
    by_status: BTreeMap<(RouteClass, u16), u64>,
    times: BTreeMap<RouteClass, LatencyHistogram>,
}

/// Counters of one server process.
#[derive(Default)]
pub(crate) struct Metrics {
    answers: Mutex<ResponseCounts>,
    pub(crate) streams: AtomicI64,
    pub(crate) limited: AtomicU64,
}

/// Metrics that other parts of the process count.
pub(crate) struct ExternalMetrics {
    pub(crate) head: Option<u64>,
    pub(crate) store_waits: (u64, Duration),
    pub(crate) audit_lost: u64,
}

impl Metrics {
    /// Counts a response; for a stream, when it begins.
    pub(crate) fn record_response(&self, class: RouteClass, status: u16, took: Duration) {
        // One short lock per response; the histogram has eleven buckets, so no atomics are needed.
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.by_status.entry((class, status)).or_default() += 1;
        let times = answers.times.entry(class).or_default();
        // Buckets are cumulative: a fast response counts in all of them.
        for (count, end) in times.up_to.iter_mut().zip(BUCKET_BOUNDS_MILLIS) {
            *count += u64::from(took <= Duration::from_millis(end));
        }
        times.number += 1;
        times.sum += took;
    }

    /// Renders all metrics.
    pub(crate) fn render_prometheus(&self, external: &ExternalMetrics) -> String {
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "# HELP throughline_{name} {help}\n# TYPE throughline_{name} {kind}"
            );
            out.push_str(samples);
        };
        // Rendered into strings first, so that the lock is held as short as possible and every
        // family stays in one block, as the format requires.
        let (mut requests, mut seconds) = (String::new(), String::new());
        {
            let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            for ((class, status), number) in &answers.by_status {
                // Class and status only: every further label multiplies the series.
                let labels = format!("class=\"{}\",status=\"{status}\"", class.as_str());
                let _ = writeln!(
                    requests,
                    "throughline_http_requests_total{{{labels}}} {number}"
                );
            }
            for (class, times) in &answers.times {
                let name = "throughline_http_request_duration_seconds";
                let class = format!("class=\"{}\"", class.as_str());
                for (end, count) in BUCKET_BOUNDS_MILLIS.iter().zip(times.up_to) {
                    let end = Duration::from_millis(*end).as_secs_f64();
                    let _ = writeln!(seconds, "{name}_bucket{{{class},le=\"{end}\"}} {count}");
                }
                let _ = writeln!(
                    seconds,
                    "{name}_bucket{{{class},le=\"+Inf\"}} {}",
                    times.number
                );
                let _ = writeln!(seconds, "{name}_sum{{{class}}} {}", times.sum.as_secs_f64());
                let _ = writeln!(seconds, "{name}_count{{{class}}} {}", times.number);
            }
        }
        family(
            "http_requests_total",
            "counter",
            "HTTP responses by route class and status.",
            &requests,
        );
        family(
            "http_request_duration_seconds",
            "histogram",
            "Time to the start of the response.",
            &seconds,
        );
        let one =
            |name: &str, value: &dyn std::fmt::Display| format!("throughline_{name} {value}\n");
        let streams = self.streams.load(Relaxed);
        family(
            "event_streams",
            "gauge",
            "Open event streams.",
            &one("event_streams", &streams),
        );
        let limited = self.limited.load(Relaxed);
        family(
            "rate_limited_total",
            "counter",
            "Requests rejected by a rate limit.",
            &one("rate_limited_total", &limited),
        );
        let lost = external.audit_lost;
        family(
            "audit_lost_total",
            "counter",
            "Audit log entries lost because the queue was full or could not be written.",
            &one("audit_lost_total", &lost),
        );
        // Left out while the database is down: a gauge of 0 would look like a lost history.
        if let Some(head) = external.head {
            family(
                "operations_head",
                "gauge",
                "Number of the last operation.",
                &one("operations_head", &head),
            );
        }
        let (asked, waited) = external.store_waits;
        let waits = format!(
            "throughline_store_wait_seconds_sum {}\nthroughline_store_wait_seconds_count {asked}\n",
            waited.as_secs_f64()
        );
        family(
            "store_wait_seconds",
            "summary",
            "Time spent waiting for a store connection.",
            &waits,
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_told() {
        let metrics = Metrics::default();
        metrics.record_response(
            RouteClass::from_path("/api/tree"),
            200,
            Duration::from_millis(3),
        );
        metrics.record_response(
            RouteClass::from_path("/api/nodes/act-1"),
            200,
            Duration::from_millis(700),
        );
        metrics.record_response(
            RouteClass::from_path("/do/approve"),
            403,
            Duration::from_secs(9),
        );
        let text = metrics.render_prometheus(&ExternalMetrics {
            head: Some(7),
            store_waits: (2, Duration::from_millis(500)),
            audit_lost: 0,
        });
        for line in [
            "throughline_http_requests_total{class=\"api\",status=\"200\"} 2",
            "throughline_http_requests_total{class=\"action\",status=\"403\"} 1",
            "throughline_http_request_duration_seconds_bucket{class=\"api\",le=\"0.002\"} 0",
            "throughline_http_request_duration_seconds_bucket{class=\"api\",le=\"0.005\"} 1",
            "throughline_http_request_duration_seconds_bucket{class=\"api\",le=\"1\"} 2",
            "throughline_http_request_duration_seconds_bucket{class=\"action\",le=\"5\"} 0",
            "throughline_http_request_duration_seconds_bucket{class=\"action\",le=\"+Inf\"} 1",
            "throughline_operations_head 7",
            "throughline_store_wait_seconds_sum 0.5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn every_path_has_a_class() {
        for (path, class) in [
            ("/", RouteClass::Page),
            ("/nodes/mcp", RouteClass::Page),
            ("/mcp", RouteClass::Mcp),
            ("/mcp/core", RouteClass::Mcp),
            ("//mcp", RouteClass::Mcp),
            ("/assets/app.js", RouteClass::Asset),
            ("/healthz", RouteClass::Health),
        ] {
            assert_eq!(RouteClass::from_path(path), class, "{path}");
        }
    }
}
