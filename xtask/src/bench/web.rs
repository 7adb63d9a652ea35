//! The dashboard's API under load: a steady stream of requests while eight writers change the same project.
//!
//! Requests are sent at their time whether or not those before were answered, and their latency counts from that time: a server
//! that stalls is charged for all who wait.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::Length;
use super::server::{Client, Server, percentiles};
use super::story::{self, Story};
use crate::workspace::target_directory;
use crate::{Outcome, generate, say, say_error};

const REQUESTS_PER_SECOND: u32 = 200;
const WRITERS: usize = 8;
/// Enough that a slow answer never keeps the next request from being sent in time.
const CLIENTS: usize = 24;

/// How long each writer rests between two changes.
const PAUSES: [Option<Duration>; 4] = [
    None,
    Some(Duration::from_secs(1)),
    Some(Duration::from_millis(100)),
    Some(Duration::ZERO),
];

/// Builds, makes the project, measures, prints Markdown tables.
pub(crate) fn bench(length: Length) -> Outcome {
    say_error("building (dist)");
    generate::build_dist()?;
    let target = target_directory()?;
    let folder = tempfile::Builder::new()
        .prefix("bench-web-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    say_error("making a story of 10,000 nodes");
    // How many chapters are approved changes nothing here.
    let story = Story::make(
        &target.join("dist/tl"),
        folder.path(),
        story::LARGE,
        Length::Quick,
    )?;
    let seconds = if length == Length::Quick { 10 } else { 60 };
    say(&format!(
        "{REQUESTS_PER_SECOND} requests a second for {seconds} s, 10,000 nodes, {WRITERS} writers; milliseconds.\n\n\
         | writers rest | writes | requests | lost | p50 | p90 | p99 | worst | CPU per request | server MB |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    ));
    for pause in PAUSES {
        let server = Server::start(story.command(&["--json", "serve", "--port", "0"]))?;
        let run = Run::of(&story, &server, pause, seconds)?;
        say(&run.line(pause, &server));
        say_error(&run.by_kind());
    }
    measure_pages(&story)
}

/// Pages that a person waits for, with the time in which each has to be complete, in milliseconds.
const PAGES: [(&str, &str, u32); 8] = [
    ("inbox", "/", 150),
    ("tree", "/tree", 300),
    (
        "filter of the tree",
        "/tree/rows?text=scene-0505&limit=80",
        100,
    ),
    ("a plan", "/nodes/act-5/chapter-05/scene-0505", 300),
    ("board", "/board", 300),
    ("timeline", "/timeline", 300),
    ("progress", "/progress", 300),
    ("search", "/search?q=storm", 300),
];

/// Number of times that each page is opened.
const PAGE_VISITS: usize = 50;

/// Measures the pages of an idle project, one after the other, as a person opens them.
fn measure_pages(story: &Story) -> Outcome {
    let server = Server::start(story.command(&["--json", "serve", "--port", "0"]))?;
    let mut client = Client::to(&server)?;
    say(&format!(
        "\nPages, {PAGE_VISITS} visits each; milliseconds until the last byte.\n\n\
         | page | p50 | p90 | p99 | worst | CPU per visit | limit |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    ));
    for (name, path, limit) in PAGES {
        // The first visit fills caches and the search index; it is shown apart.
        let begun = Instant::now();
        visit_page(&mut client, path)?;
        let first = begun.elapsed();
        let cpu = server.cpu_time();
        let mut latencies = Vec::new();
        for _ in 0..PAGE_VISITS {
            let begun = Instant::now();
            visit_page(&mut client, path)?;
            latencies.push(begun.elapsed());
        }
        let used = server.cpu_time().saturating_sub(cpu) / u32::try_from(PAGE_VISITS).unwrap_or(1);
        let [p50, p90, p99, worst] = percentiles(latencies);
        say(&format!(
            "| {name} | {p50} | {p90} | {p99} | {worst} | {:.1} | {limit} |",
            used.as_secs_f64() * 1_000.0
        ));
        say_error(&format!("  {name}: {first:?} at the first visit"));
    }
    Ok(())
}

fn visit_page(client: &mut Client<'_>, path: &str) -> Outcome {
    match client.get(path) {
        Ok((200, _)) => Ok(()),
        Ok((status, _)) => Err(format!("{path}: status {status}")),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

/// What is asked for, in the proportions of pages that are open and followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Window,
    Filter,
    Node,
    Now,
    Timeline,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Window,
        Self::Filter,
        Self::Node,
        Self::Now,
        Self::Timeline,
    ];

    /// Returns what the n-th request asks for: ten in a row have every kind in its proportion.
    fn of(number: usize) -> Self {
        match number % 10 {
            0 | 3 | 5 | 8 => Self::Window,
            1 => Self::Filter,
            2 | 6 | 9 => Self::Node,
            4 => Self::Now,
            _ => Self::Timeline,
        }
    }

    fn path(self, number: usize) -> String {
        // A stride without a common divisor goes everywhere.
        let place = number * 7_919 % 10_000;
        let (act, chapter) = (place % 10 + 1, place / 10 % 90 + 1);
        match self {
            Self::Window => format!("/api/tree?offset={place}&limit=80"),
            Self::Filter => format!("/api/tree?text=scene-{chapter:02}&limit=80"),
            Self::Node => format!(
                "/api/nodes/act-{act}/chapter-{chapter:02}/scene-{chapter:02}{:02}",
                place % 10 + 1
            ),
            Self::Now => "/api/now".to_owned(),
            Self::Timeline => "/api/timeline".to_owned(),
        }
    }
}

/// One measurement.
struct Run {
    latencies: Vec<(Kind, Duration)>,
    lost: usize,
    writes: usize,
    lost_writes: usize,
    /// Processor time of the server.
    cpu: Duration,
}

impl Run {
    fn of(
        story: &Story,
        server: &Server,
        pause: Option<Duration>,
        seconds: u32,
    ) -> Result<Self, String> {
        // Every later write changes something, whatever a run before left.
        for writer in 1..=WRITERS {
            story.tl(&["progress", &scene_of(writer), "pending"])?;
        }
        // The first request looks at ten thousand files; it is not part of the stream.
        let before = head_of(server)?;
        let total = (REQUESTS_PER_SECOND * seconds) as usize;
        let cpu = server.cpu_time();
        let (next, writes, is_over) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicBool::new(false),
        );
        let (mut latencies, mut lost, mut failed_writes) = (Vec::with_capacity(total), 0, 0);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (1..=WRITERS)
                .filter_map(|writer| Some((writer, pause?)))
                .map(|(writer, pause)| {
                    let (writes, is_over) = (&writes, &is_over);
                    scope.spawn(move || {
                        let scene = scene_of(writer);
                        let mut failed = 0;
                        for turn in 0.. {
                            if is_over.load(Ordering::SeqCst) {
                                break;
                            }
                            let progress = if turn % 2 == 0 { "active" } else { "blocked" };
                            match story.tl(&["progress", &scene, progress]) {
                                Ok(()) => writes.fetch_add(1, Ordering::SeqCst),
                                Err(message) => {
                                    say_error(&message);
                                    failed += 1;
                                    0
                                }
                            };
                            std::thread::sleep(pause);
                        }
                        failed
                    })
                })
                .collect();
            let begun = Instant::now();
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    let next = &next;
                    scope.spawn(move || {
                        let (mut taken, mut lost) = (Vec::new(), 0);
                        let Ok(mut client) = Client::to(server) else {
                            return (taken, usize::MAX);
                        };
                        loop {
                            let number = next.fetch_add(1, Ordering::SeqCst);
                            if number >= total {
                                return (taken, lost);
                            }
                            let due = begun
                                + Duration::from_secs(1) * u32::try_from(number).unwrap_or(0)
                                    / REQUESTS_PER_SECOND;
                            std::thread::sleep(due.saturating_duration_since(Instant::now()));
                            let kind = Kind::of(number);
                            match client.get(&kind.path(number)) {
                                Ok((200, _)) => taken.push((kind, due.elapsed())),
                                Ok(_) | Err(_) => lost += 1,
                            }
                        }
                    })
                })
                .collect();
            for client in clients {
                let (mut taken, missed) = client.join().unwrap_or_default();
                latencies.append(&mut taken);
                lost += missed;
            }
            is_over.store(true, Ordering::SeqCst);
            failed_writes = writers
                .into_iter()
                .map(|writer| writer.join().unwrap_or(1))
                .sum();
        });
        let writes = writes.into_inner();
        // Each write is an operation; the server must know all of them by now.
        let recorded = usize::try_from(head_of(server)? - before).unwrap_or(0);
        Ok(Self {
            latencies,
            lost,
            writes,
            lost_writes: failed_writes + writes.saturating_sub(recorded),
            cpu: server.cpu_time().saturating_sub(cpu),
        })
    }

    fn line(&self, pause: Option<Duration>, server: &Server) -> String {
        let all: Vec<Duration> = self.latencies.iter().map(|(_, latency)| *latency).collect();
        let [p50, p90, p99, worst] = percentiles(all);
        let rest = match pause {
            None => "nobody writes".to_owned(),
            Some(Duration::ZERO) => "never".to_owned(),
            Some(pause) => format!("{} ms", pause.as_millis()),
        };
        format!(
            "| {rest} | {} | {} | {} | {p50} | {p90} | {p99} | {worst} | {:.2} | {:.0} |",
            self.writes,
            self.latencies.len(),
            self.lost + self.lost_writes,
            self.cpu.as_secs_f64() * 1_000.0 / self.latencies.len().max(1) as f64,
            server.peak_memory()
        )
    }

    fn by_kind(&self) -> String {
        let mut lines = Vec::new();
        for wanted in Kind::ALL {
            let of_kind = self
                .latencies
                .iter()
                .filter(|(kind, _)| *kind == wanted)
                .map(|(_, latency)| *latency)
                .collect();
            let [p50, p90, p99, worst] = percentiles(of_kind);
            lines.push(format!(
                "  {wanted:?}: p50 {p50}, p90 {p90}, p99 {p99}, worst {worst}"
            ));
        }
        lines.join("\n")
    }
}

/// Each writer has a scene of its own.
fn scene_of(writer: usize) -> String {
    format!("act-{writer}/chapter-01/scene-0101")
}

/// Returns the number of the last operation the server knows.
fn head_of(server: &Server) -> Result<u64, String> {
    let (status, body) = Client::to(server)?
        .get("/api/tree?limit=1")
        .map_err(|error| format!("no answer: {error}"))?;
    let window: serde_json::Value =
        serde_json::from_slice(&body).map_err(|error| format!("{status}: {error}"))?;
    window["head"]
        .as_u64()
        .ok_or_else(|| format!("{status}: {window}"))
}
