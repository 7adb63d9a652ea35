//! A team at work on a shared database, by itself, through servers and from laptops, while a server and the database itself
//! are killed.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use testkit::{Cluster, Database, Project};

use crate::serve::Server;
use crate::{ACT_TEXT, run_with};

/// Pause of an agent between two steps.
// A laptop commits when nobody else did between its pull and its push. An unoptimised program takes
// 50 to 180 ms for that on two cores, so at 25 commits a second it lost every race for a minute.
const THINKS: Duration = Duration::from_millis(400);

/// What eight agents did, as far as they were told.
#[derive(Default)]
struct Heard {
    acknowledged: Mutex<Vec<String>>,
    /// What laptops were told when something was not kept.
    refused: Mutex<Vec<String>>,
    /// From when to when an agent surely held the claim.
    held: Mutex<Vec<(Instant, Instant)>>,
    done: AtomicUsize,
    ended: AtomicBool,
}

impl Heard {
    /// Waits until the agents have got something more done.
    fn wait_for(&self, more: usize) {
        let (before, begun) = (self.done.load(SeqCst), Instant::now());
        while self.done.load(SeqCst) < before + more {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "the agents do not get on"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Says something about the act through a server; another one is asked when it does not answer.
fn speak(heard: &Heard, servers: &[(u16, String)], agent: usize) {
    let mut attempt = 0;
    while !heard.ended.load(SeqCst) {
        std::thread::sleep(THINKS);
        attempt += 1;
        let (port, token) = &servers[(agent + attempt) % servers.len()];
        let text = format!("a{agent}n{attempt}.");
        if said(*port, token, &text) {
            heard
                .acknowledged
                .lock()
                .expect("nobody panicked")
                .push(text);
            heard.done.fetch_add(1, SeqCst);
        }
    }
}

fn said(port: u16, token: &str, text: &str) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a time limit can be set");
    let body = format!("node=act-1&text={text}");
    let request = format!(
        "POST /do/comment HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut answer = String::new();
    let asked = stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.read_to_string(&mut answer));
    asked.is_ok() && answer.starts_with("HTTP/1.1 303")
}

/// Says something about the act from a laptop, each time as a process of its own.
fn speak_from(heard: &Heard, laptop: &Project, agent: usize) {
    let mut attempt = 0;
    while !heard.ended.load(SeqCst) {
        std::thread::sleep(THINKS);
        attempt += 1;
        let text = format!("a{agent}n{attempt}.");
        let output = laptop.run(&["comment", "act-1", "-m", &text]);
        if output.code == 0 {
            heard
                .acknowledged
                .lock()
                .expect("nobody panicked")
                .push(text);
            heard.done.fetch_add(1, SeqCst);
        } else {
            heard
                .refused
                .lock()
                .expect("nobody panicked")
                .push(output.stderr);
        }
    }
}

/// A clone of the plans that works through a server, with a token of its own.
fn laptop(server: &Server, admin: &Project, agent: usize) -> Project {
    let name = format!("agent:ci/{agent}");
    let token = admin.json(&[
        "team", "token", "create", &name, "--as", &name, "--scope", "agent",
    ]);
    let laptop = Project::empty(Path::new(env!("CARGO_BIN_EXE_tl")))
        .with_environment(
            "THROUGHLINE_URL",
            &format!("http://127.0.0.1:{}", server.port),
        )
        .with_environment(
            "THROUGHLINE_TOKEN",
            token["secret"].as_str().expect("a secret"),
        );
    laptop.write(Project::ACT, ACT_TEXT);
    laptop.ok(&["init"]);
    laptop
}

/// Takes the act and gives it back, each time as a process of its own.
fn claim(heard: &Heard, project: &Project, agent: usize) {
    let session = format!("agent-{agent}");
    let run = |words: &[&str]| {
        run_with(
            project,
            &[
                ("CLAUDECODE", "1"),
                ("CLAUDE_CODE_SESSION_ID", session.as_str()),
            ],
            words,
        )
        .code
    };
    while !heard.ended.load(SeqCst) {
        std::thread::sleep(THINKS);
        if run(&["claim", "act-1"]) != 0 {
            continue;
        }
        let from = Instant::now();
        std::thread::sleep(Duration::from_millis(10));
        heard
            .held
            .lock()
            .expect("nobody panicked")
            .push((from, Instant::now()));
        // Until it is certain: a claim that is not given back would be held to its end.
        while run(&["release", "act-1"]) != 0 {
            let nobody = project.run(&["claim", "--list"]);
            if nobody.code == 0 && !nobody.stdout.contains(&session) {
                break;
            }
        }
        heard.done.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_killed_server_and_a_killed_database_lose_nothing() {
    let cluster = Cluster::start();
    let database = Database::on(&cluster);
    let machine = || {
        let project = crate::machine_on(&database, "story");
        project.write(Project::ACT, ACT_TEXT);
        project
    };
    let (here, there) = (machine(), machine());
    here.ok(&["approve", "act-1"]);
    let (first, second) = (Server::start(&here, &[]), Server::start(&there, &[]));
    let servers = [
        (first.port, first.token.clone()),
        (second.port, second.token.clone()),
    ];
    let laptops = [laptop(&first, &here, 2), laptop(&second, &here, 3)];
    let heard = Heard::default();
    let spoken = |agent: usize| {
        let start = format!("a{agent}n");
        heard
            .acknowledged
            .lock()
            .expect("nobody panicked")
            .iter()
            .any(|text| text.starts_with(&start))
    };
    std::thread::scope(|scope| {
        let (heard, servers) = (&heard, &servers);
        for agent in 0..2 {
            scope.spawn(move || speak(heard, servers, agent));
        }
        for (agent, laptop) in (2..).zip(&laptops) {
            scope.spawn(move || speak_from(heard, laptop, agent));
        }
        for (agent, project) in [(4, &here), (5, &there), (6, &here), (7, &there)] {
            scope.spawn(move || claim(heard, project, agent));
        }
        heard.wait_for(25);
        // On a busy machine a laptop's first commit may take a while, and one of the two loses its
        // server below.
        let deadline = Instant::now() + Duration::from_secs(60);
        while !(0..4).all(spoken) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        cluster.crash();
        cluster.again();
        heard.wait_for(25);
        // A server ends at once, in the middle of what it does.
        drop(first);
        heard.wait_for(25);
        heard.ended.store(true, SeqCst);
    });

    assert!(
        (0..4).all(spoken),
        "a writer never got through: {:?}",
        heard.refused.lock()
    );
    let log = here.json(&["log", "--limit", "100000"]);
    let told: Vec<String> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["summary"].to_string())
        .collect();
    for text in heard.acknowledged.lock().unwrap().iter() {
        assert_eq!(
            told.iter()
                .filter(|summary| summary.contains(text.as_str()))
                .count(),
            1,
            "{text}"
        );
    }
    let mut held = heard.held.lock().unwrap().clone();
    held.sort();
    assert!(held.len() > 1);
    assert!(
        held.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "two held the act at once"
    );
    // The laptop whose server is gone has nobody to compare with.
    for project in [&here, &there, &laptops[1]] {
        project.ok(&["check"]);
    }
}
