//! A team server on PostgreSQL: what a hook of a laptop costs against one at home, and how many of them a server bears.
//!
//! First hooks of a real session are run through the program, at home and on a laptop that joined the server; the server counts what
//! each of them asked and kept. Then 32 connections send just that, at a fixed rate: a request is sent at its time whether or not
//! those before were answered, and its latency counts from that time.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::measure::{Sample, percentile, sample_with};
use super::report::{milliseconds, ratio};
use super::server::{Client, Server, percentiles};
use super::story::{self, Story};
use super::{Length, WARM_UP};
use crate::workspace::{command, root, target_directory};
use crate::{Outcome, generate, say, say_error};

const CONNECTIONS: usize = 32;
const EVENTS_PER_SECOND: u32 = 1_100;
/// Percentages of events that record an operation. An agent reads, searches and runs far more than it changes plans.
const KEPT: [u32; 4] = [0, 5, 10, 20];
const OPERATIONS: &str = "/api/team/operations";
const SCENE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";
const BENCH: &str = "human:bench";

/// Builds, makes a database, a server and a laptop, measures, prints Markdown tables.
pub(crate) fn bench(length: Length) -> Outcome {
    say_error("building (dist)");
    generate::build_dist()?;
    let target = target_directory()?;
    let folder = tempfile::Builder::new()
        .prefix("bench-team-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let release = target.join("dist");
    let cluster = Cluster::start(&folder.path().join("cluster"))?;
    say_error("making a story of 100 nodes, in the database, at home and on a laptop");
    let make = |name: &str| {
        Story::make(
            &release.join("tl"),
            &folder.path().join(name),
            story::SMALL,
            length,
        )
    };
    let (home, shared) = (make("home")?, make("shared")?);
    shared.tl(&["state", "move", "--to", &cluster.url])?;
    let token = token(&shared)?;
    let mut serve = shared.command(&["--json", "serve", "--port", "0", "--rate", "1000000"]);
    serve.env("THROUGHLINE_TOKEN", "launch");
    let mut server = Server::start(serve)?;
    server.token = token;
    let laptop = laptop(
        &release.join("tl"),
        &folder.path().join("laptop"),
        &shared,
        &server,
    )?;
    let session = Session {
        home,
        laptop,
        scratch: folder.path().to_owned(),
        empty: release.join("empty"),
    };
    session.measure(&server, length.rounds())?;
    let seconds = if length == Length::Quick { 10 } else { 60 };
    say(&format!(
        "\n{EVENTS_PER_SECOND} events a second from {CONNECTIONS} connections for {seconds} s, each a request for what is new; milliseconds.\n\n\
         | of a hundred events are kept | events | a second | lost | conflicts | p50 | p90 | p99 | worst | server MB |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    ));
    let mut agents: Vec<Agent> = (1..=CONNECTIONS)
        .map(|node| Agent {
            node,
            progress: "pending",
            known: None,
        })
        .collect();
    let (bytes, operations) = (cluster.bytes(), Place::of(&mut Client::to(&server)?)?.head);
    for kept in KEPT {
        say(&Load::of(&server, &mut agents, kept, seconds)?.line(kept, &server));
    }
    let grown = Place::of(&mut Client::to(&server)?)?.head - operations;
    if let (Some(before), Some(after)) = (bytes, cluster.bytes()) {
        let each = after.saturating_sub(before) as f64 / grown.max(1) as f64;
        say(&format!(
            "\n{grown} operations took {each:.0} bytes each in the database: {each:.0} MB for a million."
        ));
    }
    Ok(())
}

/// A PostgreSQL of our own, gone with the measurement.
struct Cluster {
    folder: std::path::PathBuf,
    url: String,
}

impl Cluster {
    fn start(folder: &Path) -> Result<Self, String> {
        let script = root().join("crates/testkit/postgres.sh");
        let started = command(script)
            .arg("start")
            .arg(folder)
            .stderr(Stdio::inherit())
            .output();
        let started = started.map_err(|error| format!("no PostgreSQL: {error}"))?;
        let url = String::from_utf8_lossy(&started.stdout).trim().to_owned();
        if url.is_empty() {
            Err("PostgreSQL did not start".to_owned())
        } else {
            Ok(Self {
                folder: folder.to_owned(),
                url,
            })
        }
    }
}

impl Cluster {
    /// Returns how large the database is, where there is a client to ask with.
    fn bytes(&self) -> Option<u64> {
        let sql = "SELECT pg_database_size(current_database())";
        let asked = command("psql")
            .args([&self.url, "-Atc", sql])
            .stderr(Stdio::null())
            .output()
            .ok()?;
        String::from_utf8_lossy(&asked.stdout).trim().parse().ok()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let script = root().join("crates/testkit/postgres.sh");
        let _ = command(script)
            .arg("stop")
            .arg(&self.folder)
            .stderr(Stdio::null())
            .status();
    }
}

/// Gives a token and returns its secret.
fn token(shared: &Story) -> Result<String, String> {
    let arguments = [
        "--json", "team", "token", "create", "bench", "--as", BENCH, "--scope", "approve",
    ];
    let output = shared
        .command(&arguments)
        .output()
        .map_err(|error| error.to_string())?;
    let said: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("no token: {}", String::from_utf8_lossy(&output.stderr)))?;
    said["secret"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("no secret in {said}"))
}

/// A clone of the plans that joined the server.
fn laptop(program: &Path, folder: &Path, shared: &Story, server: &Server) -> Result<Story, String> {
    let laptop = Story::empty(program, folder)?;
    let copied = command("cp")
        .arg("-a")
        .arg(shared.path("acts"))
        .arg(laptop.path(""))
        .status();
    if !copied.is_ok_and(|status| status.success()) {
        return Err("the plans could not be copied".to_owned());
    }
    let file = folder.join("token");
    story::write_file(&file, &server.token)?;
    laptop.tl(&["init", "--profile", "story"])?;
    let url = format!("http://127.0.0.1:{}", server.port);
    laptop.tl(&[
        "team",
        "join",
        &url,
        "--token-file",
        &file.to_string_lossy(),
    ])?;
    Ok(laptop)
}

/// The same hooks at home and on a laptop.
struct Session {
    home: Story,
    laptop: Story,
    scratch: std::path::PathBuf,
    empty: std::path::PathBuf,
}

#[derive(Clone, Copy)]
enum Event {
    Read,
    Shell,
    BeforeWrite,
    AfterWrite,
}

impl Event {
    const ALL: [Self; 4] = [Self::Read, Self::Shell, Self::BeforeWrite, Self::AfterWrite];

    fn name(self) -> &'static str {
        match self {
            Self::Read => "after a plan was read",
            Self::Shell => "after a shell command",
            Self::BeforeWrite => "before a plan write",
            Self::AfterWrite => "after a plan write, which is kept",
        }
    }
}

impl Session {
    /// Measures every event in both places.
    fn measure(&self, server: &Server, rounds: usize) -> Outcome {
        let mut client = Client::to(server)?;
        let (mut home, mut away) = (
            vec![Vec::new(); Event::ALL.len()],
            vec![Vec::new(); Event::ALL.len()],
        );
        let mut empty = Vec::new();
        let (mut requests, mut operations) = (0, 0);
        for round in 0..rounds + WARM_UP {
            empty.push(sample_with(&mut command(&self.empty), &self.stdin("")?)?);
            for (index, event) in Event::ALL.into_iter().enumerate() {
                let at_home = self.hook(&self.home, event, round)?;
                let before = counters(&mut client)?;
                let on_laptop = self.hook(&self.laptop, event, round)?;
                let after = counters(&mut client)?;
                if round >= WARM_UP {
                    home[index].push(at_home);
                    away[index].push(on_laptop);
                    // What was asked to count is counted too.
                    requests += after.0 - before.0;
                    operations += after.1 - before.1;
                }
            }
        }
        let wall = |samples: &[Sample]| percentile(samples.iter().map(|sample| sample.wall), 50);
        let cpu = |samples: &[Sample]| percentile(samples.iter().map(|sample| sample.cpu), 50);
        let mut text = format!(
            "{rounds} interleaved rounds; medians in milliseconds; an empty process takes {}.\n\n\
             | hook | at home | on a laptop | × wall | × CPU of the laptop |\n| --- | ---: | ---: | ---: | ---: |\n",
            milliseconds(wall(&empty))
        );
        for (index, event) in Event::ALL.into_iter().enumerate() {
            let (home, away) = (&home[index], &away[index]);
            text.push_str(&format!(
                "| {} | {} | {} | {:.2} | {:.2} |\n",
                event.name(),
                milliseconds(wall(home)),
                milliseconds(wall(away)),
                ratio(wall(away), wall(home)),
                ratio(cpu(away), cpu(home)),
            ));
        }
        let (home, away) = (home.concat(), away.concat());
        let times = ratio(wall(&away), wall(&home));
        let verdict = if times <= 3.0 { "✓" } else { "over" };
        let events = (rounds * Event::ALL.len()) as f64;
        text.push_str(&format!(
            "\nAll of them: {times:.2} × (limit 3) {verdict}. "
        ));
        let (asked, kept) = (requests as f64 / events, operations as f64 / events);
        text.push_str(&format!(
            "An event makes {asked:.2} requests and {kept:.2} operations."
        ));
        say(&text);
        Ok(())
    }

    fn hook(&self, story: &Story, event: Event, round: usize) -> Result<Sample, String> {
        let text = story::plan("Scene 1.1", 12 + round % 2);
        let write = json!({ "file_path": story.path(SCENE), "content": text });
        let (name, tool, input) = match event {
            Event::Read => (
                "PostToolUse",
                "Read",
                json!({ "file_path": story.path(SCENE) }),
            ),
            Event::Shell => ("PostToolUse", "Bash", json!({ "command": "cargo test" })),
            Event::BeforeWrite => ("PreToolUse", "Write", write),
            Event::AfterWrite => {
                story.write(SCENE, &text)?;
                ("PostToolUse", "Write", write)
            }
        };
        let payload = json!({
            "session_id": "00000000-0000-4000-8000-000000000001", "transcript_path": "/home/user/s.jsonl",
            "cwd": story.path(""), "permission_mode": "default", "hook_event_name": name, "tool_name": tool,
            "tool_input": input, "tool_use_id": "toolu_00000001",
        });
        sample_with(
            &mut story.command(&["hook", "claude-code"]),
            &self.stdin(&payload.to_string())?,
        )
    }

    fn stdin(&self, payload: &str) -> Result<std::path::PathBuf, String> {
        let path = self.scratch.join("stdin.json");
        story::write_file(&path, payload)?;
        Ok(path)
    }
}

/// Returns how many requests the server has answered for laptops, and its last operation.
fn counters(client: &mut Client<'_>) -> Result<(u64, u64), String> {
    let (_, body) = client.get("/metrics").map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let sum = |start: &str| -> u64 {
        let values = text.lines().filter(|line| line.starts_with(start));
        values
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .sum()
    };
    Ok((
        sum("throughline_http_requests_total{class=\"api\""),
        sum("throughline_operations_head "),
    ))
}

/// Many connections at once.
#[derive(Default)]
struct Load {
    latencies: Vec<Duration>,
    took: Duration,
    lost: usize,
    conflicts: usize,
}

impl Load {
    /// `kept` of a hundred events keep an operation.
    fn of(server: &Server, agents: &mut [Agent], kept: u32, seconds: u32) -> Result<Self, String> {
        let total = (EVENTS_PER_SECOND * seconds) as usize;
        let (next, recorded, conflicts) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        let before = Place::of(&mut Client::to(server)?)?.head;
        let begun = Instant::now();
        let mut load = Self::default();
        std::thread::scope(|scope| {
            let clients: Vec<_> = agents
                .iter_mut()
                .map(|agent| {
                    let (next, recorded, conflicts) = (&next, &recorded, &conflicts);
                    scope.spawn(move || {
                        let (mut taken, mut lost) = (Vec::new(), 0);
                        let Ok(mut client) = Client::to(server) else {
                            return (taken, usize::MAX);
                        };
                        loop {
                            let event = next.fetch_add(1, Ordering::SeqCst);
                            if event >= total {
                                return (taken, lost);
                            }
                            let due = begun
                                + Duration::from_secs(1) * u32::try_from(event).unwrap_or(0)
                                    / EVENTS_PER_SECOND;
                            std::thread::sleep(due.saturating_duration_since(Instant::now()));
                            // Spread evenly: no burst of commits.
                            let keeps = event as u64 * u64::from(kept) / 100
                                != (event as u64 + 1) * u64::from(kept) / 100;
                            match agent.event(&mut client, keeps, conflicts) {
                                Ok(()) => {
                                    taken.push(due.elapsed());
                                    recorded.fetch_add(usize::from(keeps), Ordering::SeqCst);
                                }
                                Err(message) => {
                                    say_error(&message);
                                    lost += 1;
                                }
                            }
                        }
                    })
                })
                .collect();
            for client in clients {
                let (mut taken, lost) = client.join().unwrap_or_default();
                load.latencies.append(&mut taken);
                load.lost += lost;
            }
        });
        load.took = begun.elapsed();
        load.conflicts = conflicts.into_inner();
        // Each was acknowledged: the server must have every one.
        let there =
            usize::try_from(Place::of(&mut Client::to(server)?)?.head - before).unwrap_or(0);
        load.lost += recorded.into_inner().abs_diff(there);
        Ok(load)
    }

    fn line(&self, kept: u32, server: &Server) -> String {
        let [p50, p90, p99, worst] = percentiles(self.latencies.clone());
        let rate = self.latencies.len() as f64 / self.took.as_secs_f64();
        format!(
            "| {kept} | {} | {rate:.0} | {} | {} | {p50} | {p90} | {p99} | {worst} | {:.0} |",
            self.latencies.len(),
            self.lost,
            self.conflicts,
            server.peak_memory()
        )
    }
}

/// Where the server's history stands.
struct Place {
    head: u64,
    hash: String,
    now: String,
}

impl Place {
    fn of(client: &mut Client<'_>) -> Result<Self, String> {
        Self::after(client, None)
    }

    /// Asks what is new, as a laptop does that knows everything up to `known`.
    fn after(client: &mut Client<'_>, known: Option<&Self>) -> Result<Self, String> {
        let query = match known {
            Some(known) => format!("{OPERATIONS}?after={}&hash={}", known.head, known.hash),
            // A new one begins at the end: what was before is not what is measured.
            None => format!("{OPERATIONS}?after=0"),
        };
        let (status, body) = client.get(&query).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&body).into_owned();
        let greeting: Value = serde_json::from_str(text.lines().next().unwrap_or_default())
            .map_err(|error| format!("{status}: {error}: {text}"))?;
        let word = |key: &str| greeting[key].as_str().unwrap_or_default().to_owned();
        let head = greeting["head"]
            .as_u64()
            .ok_or_else(|| format!("{status}: {greeting}"))?;
        Ok(Self {
            head,
            hash: word("headHash"),
            now: word("now"),
        })
    }
}

/// One connection: an agent with a node of its own.
struct Agent {
    node: usize,
    progress: &'static str,
    /// How far it knows the history.
    known: Option<Place>,
}

impl Agent {
    /// Does what a hook does: asks what is new, and where something is kept, sends it until nobody else was faster, with the same
    /// rests in between.
    fn event(
        &mut self,
        client: &mut Client<'_>,
        keeps: bool,
        conflicts: &AtomicUsize,
    ) -> Result<(), String> {
        let mut place = Place::after(client, self.known.as_ref())?;
        let mut rest = Duration::from_millis(4);
        while keeps && !self.keep(client, &place)? {
            conflicts.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(rest.mul_f64(fastrand::f64()));
            rest = (rest * 2).min(Duration::from_millis(200));
            place = Place::after(client, Some(&place))?;
        }
        self.known = Some(place);
        Ok(())
    }

    /// Sends one operation; says whether it was kept.
    fn keep(&mut self, client: &mut Client<'_>, place: &Place) -> Result<bool, String> {
        let before = self.progress;
        let after = if before == "active" {
            "blocked"
        } else {
            "active"
        };
        let body = json!({
            "id": place.head + 1, "at": place.now, "by": BENCH, "channel": "cli", "verb": "progress",
            "summary": format!("node {} is {after}", self.node),
            "facts": [{ "fact": "progress-changed", "node": self.node, "before": before, "after": after }],
        })
        .to_string();
        let mut chain = Sha256::new();
        chain.update(from_hex(&place.hash));
        chain.update(body.as_bytes());
        let hash = to_hex(&chain.finalize());
        let head = json!({ "after": place.head, "hash": place.hash });
        let line = format!(
            r#"{{"op":{body},"texts":{{}},"prev":"{}","hash":"{hash}"}}"#,
            place.hash
        );
        let (status, said) = client
            .post(OPERATIONS, &format!("{head}\n{line}\n"))
            .map_err(|error| error.to_string())?;
        let receipt: Value = serde_json::from_slice(&said).unwrap_or_default();
        match receipt["outcome"].as_str() {
            Some("kept") => {
                self.progress = after;
                Ok(true)
            }
            Some("conflict") => Ok(false),
            _ => Err(format!("{status}: {}", String::from_utf8_lossy(&said))),
        }
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .filter_map(|digit| digit.try_into().ok())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
