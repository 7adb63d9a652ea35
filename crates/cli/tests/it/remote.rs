//! Laptops at work on a team server: real servers, real clients in other directories.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Database, Output, Project};

use crate::serve::Server;
use crate::{ACT_EDITED, ACT_TEXT, binary, planned, run_with, text};

/// The act, approved, and a server on it.
pub(crate) struct Team {
    pub(crate) project: Project,
    pub(crate) token: String,
    port: u16,
    child: Mutex<Option<Child>>,
}

impl Team {
    /// A server on a database of this machine.
    pub(crate) fn start() -> Self {
        Self::of(planned())
    }

    /// The same on a shared database.
    fn on_postgres(database: &Database) -> Self {
        let project = Project::in_database(binary(), &database.url(), "novel");
        project.ok(&["init"]);
        project.plan_story();
        Self::of(project)
    }

    pub(crate) fn of(project: Project) -> Self {
        let token = "tl_0123456789abcdef".to_owned();
        let (child, port) = serve(&project, &token, 0);
        Self {
            project,
            token,
            port,
            child: Mutex::new(Some(child)),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Ends the server at once, in the middle of whatever it does.
    pub(crate) fn kill(&self) {
        if let Some(mut child) = self.child.lock().expect("nobody panicked").take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again, where it was.
    pub(crate) fn again(&self) {
        let (child, port) = serve(&self.project, &self.token, self.port);
        assert_eq!(port, self.port);
        *self.child.lock().expect("nobody panicked") = Some(child);
    }

    /// Another machine, with the same plans.
    pub(crate) fn laptop(&self) -> Project {
        self.laptop_by(&self.url())
    }

    fn laptop_by(&self, url: &str) -> Project {
        self.laptop_with(url, &self.token)
    }

    pub(crate) fn laptop_with(&self, url: &str, token: &str) -> Project {
        let laptop = Project::empty(binary())
            .with_environment("THROUGHLINE_URL", url)
            .with_environment("THROUGHLINE_TOKEN", token);
        for plan in [Project::ACT, Project::CHAPTER, Project::SCENE] {
            laptop.write(plan, self.project.read(plan));
        }
        laptop.ok(&["init"]);
        laptop
    }

    /// Asks the server by hand; returns the status and what it said.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &str,
    ) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body.as_bytes()))
            .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("a status");
        (
            status,
            answer.split_once("\r\n\r\n").expect("a body").1.to_owned(),
        )
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.kill();
    }
}

fn serve(project: &Project, token: &str, port: u16) -> (Child, u16) {
    let port = port.to_string();
    let mut command = project.command(&["--json", "serve", "--port", &port]);
    command
        .env("THROUGHLINE_TOKEN", token)
        .env("USER", "анна")
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("a start");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("an output"))
        .read_line(&mut line)
        .expect("a line");
    let ready: Value =
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let port = text(&ready, "url")
        .strip_prefix("http://127.0.0.1:")
        .and_then(|rest| rest.strip_suffix("/mcp"));
    (
        child,
        port.and_then(|port| port.parse().ok()).expect("a port"),
    )
}

pub(crate) fn summaries(project: &Project) -> Vec<String> {
    let log = project.json(&["log", "--limit", "100000"]);
    log.as_array()
        .expect("a log")
        .iter()
        .map(|one| text(one, "summary").to_owned())
        .collect()
}

fn work_together(team: &Team) {
    let (here, there) = (team.laptop(), team.laptop());
    assert_eq!(there.status("scene-0101"), "approved");
    here.write(Project::ACT, ACT_EDITED);
    assert_eq!(here.status("act-1"), "draft");
    here.ok(&["approve", "act-1"]);
    there.write(Project::ACT, ACT_EDITED);
    assert_eq!(
        there.status("act-1"),
        "approved",
        "what is approved here is seen there"
    );
    assert_eq!(there.status("scene-0101"), "requires-revalidation");
    there.ok(&["comment", "act-1", "--message", "Годится, но позже"]);
    for project in [&here, &there] {
        assert!(
            summaries(project)
                .iter()
                .any(|one| one.contains("Годится, но позже"))
        );
        project.ok(&["check"]);
    }
    // In the person's name whose token it is.
    let log = here.json(&["log", "--limit", "1"]);
    assert_eq!(text(&log[0], "by"), "human:анна");
    let agent = run_with(
        &there,
        &[("CLAUDECODE", "1"), ("THROUGHLINE_SESSION", "s7")],
        &["comment", "act-1", "--message", "hm"],
    );
    assert_eq!(agent.code, 0, "{}", agent.stderr);
    assert_eq!(
        text(&here.json(&["log", "--limit", "1"])[0], "by"),
        "agent:claude-code/s7"
    );
    assert_eq!(here.json(&["check"])["ok"], true);
}

#[test]
fn the_policy_of_the_server_decides_for_laptops() {
    let team = Team::start();
    team.project.configure("policy.approval", "\"human\"");
    team.project.ok(&["status"]);
    let laptop = team.laptop();
    laptop.configure("policy.approval", "\"anyone\"");
    laptop.write(Project::ACT, ACT_EDITED);
    // A script on the laptop of a person who may decide.
    let version = text(&laptop.json(&["show", "act-1"]), "version_hash").to_owned();
    for arguments in [
        &["approve", "act-1"][..],
        &["approve", "act-1", "--version", &version],
        &["request-changes", "act-1", "-m", "x"],
        &["invalidate", "act-1", "--reason", "x"],
    ] {
        let refused = run_with(&laptop, &[], arguments);
        assert_eq!(refused.code, 1, "{arguments:?}: {}", refused.stdout);
        assert!(
            refused.stderr.contains("only a person"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(laptop.status("act-1"), "draft");
}

#[test]
fn a_laptop_asks_about_everything_since_the_approved_text_and_records_a_no() {
    let team = Team::start();
    team.project.configure("policy.approval", "\"human\"");
    team.project.ok(&["status"]);
    let laptop = team.laptop();
    let first = format!("{ACT_TEXT}\nNOBODY SURVIVES\n");
    laptop.write(Project::ACT, &first);
    laptop.ok(&["status"]);
    laptop.write(Project::ACT, format!("{first}The gate is shut.\n"));
    let newest = || {
        let log = team.project.json(&["log", "--limit", "1"]);
        (
            text(&log[0], "verb").to_owned(),
            text(&log[0], "by").to_owned(),
        )
    };
    let expected = |verb: &str| (verb.to_owned(), "human:анна".to_owned());
    let declined = laptop.run_as_person("mallory", "n\n", &["approve", "act-1"]);
    assert_eq!(declined.code, 1, "{}", declined.stdout);
    for shown in ["NOBODY SURVIVES", "The gate is shut."] {
        assert!(
            declined.stdout.contains(shown),
            "{shown}: {}",
            declined.stdout
        );
    }
    // In the name of the token's owner, whatever name the laptop gives.
    assert_eq!(newest(), expected("decline"));
    assert_eq!(laptop.status("act-1"), "draft");
    let approved = laptop.run_as_person("mallory", "y\n", &["approve", "act-1"]);
    assert_eq!(approved.code, 0, "{}{}", approved.stdout, approved.stderr);
    assert_eq!(newest(), expected("approve"));
}

#[test]
fn what_is_approved_here_is_seen_there() {
    work_together(&Team::start());
}

#[test]
fn also_with_a_shared_database_behind_the_server() {
    let database = Database::new();
    work_together(&Team::on_postgres(&database));
}

/// Says something as one of several machines at once; returns whether it was acknowledged.
fn said(laptop: &Project, words: &str) -> bool {
    laptop.run(&["comment", "act-1", "--message", words]).code == 0
}

/// Every acknowledged word is there once, everywhere.
fn each_once(acknowledged: &[String], projects: &[&Project]) {
    for project in projects {
        let log = summaries(project);
        for words in acknowledged {
            let found = log
                .iter()
                .filter(|one| one.ends_with(&format!(": {words}")))
                .count();
            assert_eq!(found, 1, "{words} in {log:?}");
        }
        project.ok(&["check"]);
    }
}

#[test]
fn eight_writers_at_once_lose_nothing() {
    let team = Team::start();
    let laptops: Vec<Project> = (0..8).map(|_| team.laptop()).collect();
    std::thread::scope(|scope| {
        for (number, laptop) in laptops.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..20 {
                    let output = laptop.run(&[
                        "comment",
                        "act-1",
                        "--message",
                        &format!("слово {number}-{round}."),
                    ]);
                    assert_eq!(output.code, 0, "{}", output.stderr);
                }
            });
        }
    });
    let all: Vec<String> = (0..8)
        .flat_map(|n| (0..20).map(move |round| format!("слово {n}-{round}.")))
        .collect();
    each_once(&all, &[&team.project, &laptops[0], &laptops[7]]);
    let comments = summaries(&laptops[3])
        .iter()
        .filter(|one| one.contains("слово"))
        .count();
    assert_eq!(comments, 160);
}

#[test]
fn a_server_that_is_killed_loses_nothing_it_acknowledged() {
    let team = Team::start();
    let laptops: Vec<Project> = (0..3).map(|_| team.laptop()).collect();
    let (acknowledged, done) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let ended = AtomicBool::new(false);
    let wait_for = |more: usize| {
        let (before, begun) = (done.load(SeqCst), Instant::now());
        while done.load(SeqCst) < before + more {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the laptops do not get on"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    std::thread::scope(|scope| {
        for (number, laptop) in laptops.iter().enumerate() {
            let (acknowledged, done, ended) = (&acknowledged, &done, &ended);
            scope.spawn(move || {
                for round in 0.. {
                    if ended.load(SeqCst) {
                        return;
                    }
                    let words = format!("n{number}r{round}.");
                    if said(laptop, &words) {
                        acknowledged.lock().expect("nobody panicked").push(words);
                        done.fetch_add(1, SeqCst);
                    }
                }
            });
        }
        for _ in 0..3 {
            wait_for(6);
            team.kill();
            team.again();
        }
        wait_for(6);
        ended.store(true, SeqCst);
    });
    let acknowledged = acknowledged.into_inner().expect("nobody panicked");
    assert!(acknowledged.len() >= 24);
    each_once(
        &acknowledged,
        &[&team.project, &laptops[0], &laptops[1], &laptops[2]],
    );
}

/// Passes everything on, but loses the answers to some of what is sent.
struct Proxy {
    port: u16,
    loses: Arc<AtomicUsize>,
}

impl Proxy {
    fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let loses = Arc::new(AtomicUsize::new(0));
        let losing = loses.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let losing = losing.clone();
                std::thread::spawn(move || pass_on(client, port, &losing));
            }
        });
        Self { port: own, loses }
    }
}

/// One request after the other; the server sees its own address.
fn pass_on(client: TcpStream, port: u16, loses: &AtomicUsize) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
        return;
    };
    let (mut from_client, mut from_server) = (BufReader::new(&client), BufReader::new(&server));
    while let Some((first, head, body)) = message(&mut from_client) {
        let head: String = head
            .lines()
            .map(|line| {
                if line.starts_with("host:") {
                    format!("host: 127.0.0.1:{port}\r\n")
                } else {
                    format!("{line}\r\n")
                }
            })
            .collect();
        if (&server)
            .write_all(format!("{first}{head}\r\n").as_bytes())
            .is_err()
            || (&server).write_all(&body).is_err()
        {
            return;
        }
        let Some((status, head, answer)) = message(&mut from_server) else {
            return;
        };
        if first.starts_with("POST") && loses.load(SeqCst) > 0 {
            loses.fetch_sub(1, SeqCst);
            return;
        }
        let whole = [format!("{status}{head}\r\n").as_bytes(), &answer].concat();
        if (&client).write_all(&whole).is_err() {
            return;
        }
    }
}

/// Reads the first line, the headers and the body of a message.
fn message(from: &mut BufReader<&TcpStream>) -> Option<(String, String, Vec<u8>)> {
    let mut first = String::new();
    from.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let (mut head, mut length, mut chunked) = (String::new(), 0, false);
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line == "\r\n" {
            break;
        }
        let line = line.to_ascii_lowercase();
        if let Some(number) = line.strip_prefix("content-length:") {
            length = number.trim().parse().ok()?;
        }
        chunked |= line.starts_with("transfer-encoding:");
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    while chunked {
        let mut size = String::new();
        from.read_line(&mut size).ok()?;
        let bytes = usize::from_str_radix(size.trim(), 16).ok()?;
        let mut chunk = vec![0; bytes + 2];
        from.read_exact(&mut chunk).ok()?;
        body.extend_from_slice(size.as_bytes());
        body.extend_from_slice(&chunk);
        chunked = bytes > 0;
    }
    Some((first, head, body))
}

#[test]
fn an_answer_that_gets_lost_is_asked_for_again() {
    let team = Team::start();
    let proxy = Proxy::before(team.port);
    let laptop = team.laptop_by(&format!("http://127.0.0.1:{}", proxy.port));
    for lost in [1, 2] {
        proxy.loses.store(lost, SeqCst);
        laptop.ok(&["comment", "act-1", "--message", &format!("lost {lost}.")]);
        assert_eq!(proxy.loses.load(SeqCst), 0, "the answer was lost");
    }
    proxy.loses.store(9, SeqCst);
    let untold = laptop.run(&["comment", "act-1", "--message", "never told."]);
    assert!(
        untold.code != 0
            && untold
                .stderr
                .contains("`tl log` shows whether it was stored"),
        "{}",
        untold.stderr
    );
    proxy.loses.store(0, SeqCst);
    let all = ["lost 1.", "lost 2.", "never told."].map(str::to_owned);
    each_once(&all, &[&laptop, &team.project]);
}

#[test]
fn without_the_server_one_reads_and_gates_hold_but_nothing_is_decided() {
    let team = Team::start();
    let laptop = team.laptop();
    assert_eq!(laptop.status("scene-0101"), "approved");
    laptop.ok(&["invalidate", "act-1", "--reason", "другой замысел"]);
    team.kill();
    let shown = laptop.ok(&["show", "act-1"]);
    assert!(shown.stdout.contains("invalid"), "{}", shown.stdout);
    assert!(
        shown.stderr.contains("does not answer")
            && shown.stderr.contains("using the local replica"),
        "{}",
        shown.stderr
    );
    let refused = laptop.run(&["comment", "act-1", "--message", "one"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("does not answer"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("next: ") && !refused.stderr.contains(&team.token),
        "{}",
        refused.stderr
    );
    assert!(laptop.run(&["approve", "act-1", "--force"]).code != 0);
    // The gates are asked about what is known; an agent is not stopped by our fault.
    let session = laptop.session("s");
    let input =
        |path: &str| json!({ "file_path": laptop.root().join(path), "content": "# Chapter 2\n" });
    let new = "acts/act-1/chapters/chapter-02/plan.md";
    let blocked = session.before("Write", &input(new));
    assert!(
        blocked
            .block()
            .is_some_and(|reason| reason.contains("hierarchy gate")),
        "{blocked:?}"
    );
    laptop.write("notes.txt", "free");
    assert_eq!(
        session
            .after(
                "Write",
                &json!({ "file_path": laptop.root().join("notes.txt"), "content": "free" })
            )
            .block(),
        None
    );
    // What changed meanwhile is seen when the server is there again.
    laptop.write(Project::SCENE, "# Scene 1.1, rewritten\n");
    assert_eq!(laptop.status("scene-0101"), "requires-revalidation");
    team.again();
    laptop.ok(&["comment", "scene-0101", "--message", "back again."]);
    each_once(&["back again.".to_owned()], &[&team.project, &laptop]);
    assert!(
        summaries(&laptop)
            .iter()
            .any(|one| one.contains("scene-0101")),
        "{:?}",
        summaries(&laptop)
    );
}

#[test]
fn whoever_waits_hears_of_it_on_another_machine() {
    let team = Team::start();
    let (here, there) = (team.laptop(), team.laptop());
    here.write(Project::ACT, ACT_EDITED);
    there.write(Project::ACT, ACT_EDITED);
    assert_eq!(there.status("act-1"), "draft");
    let waiting = there
        .command(&["--json", "wait", "act-1", "--timeout", "60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    here.ok(&["approve", "act-1"]);
    let output = waiting.wait_with_output().unwrap();
    let view: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&view["done"], &view["status"]),
        (&true.into(), &"approved".into())
    );
}

#[test]
fn a_server_of_a_laptop_works_on_its_replica() {
    let team = Team::start();
    let laptop = team.laptop();
    let server = Server::start(&laptop, &[]);
    let (host, token) = (
        format!("127.0.0.1:{}", server.port),
        format!("Bearer {}", server.token),
    );
    let headers = [
        ("host", host.as_str()),
        ("authorization", token.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let done = server.send_to(
        "/do/comment",
        "POST",
        &headers,
        "node=act-1&text=from+the+dashboard.",
    );
    assert_eq!(done.status, 303, "{done:?}");
    each_once(
        &["from the dashboard.".to_owned()],
        &[&team.project, &laptop],
    );
    assert_eq!(
        text(&team.project.json(&["log", "--limit", "1"])[0], "by"),
        "human:анна"
    );
    // And hears what happens elsewhere.
    team.project
        .ok(&["comment", "act-1", "--message", "there."]);
    let begun = Instant::now();
    while !server
        .send_to("/api/timeline?limit=1", "GET", &headers, "")
        .body
        .contains("there.")
    {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the dashboard never hears of it"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn claims_hold_across_machines() {
    let team = Team::start();
    let (here, there) = (team.laptop(), team.laptop());
    let claim = |project: &Project, session: &str| {
        run_with(
            project,
            &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", session)],
            &["claim", "act-1"],
        )
    };
    assert_eq!(claim(&here, "s1").code, 0);
    let refused = claim(&there, "s2");
    assert!(
        refused.code == 1 && refused.stderr.contains("claimed by s1"),
        "{}",
        refused.stderr
    );
    assert_eq!(claim(&here, "s1").code, 0, "who has it keeps it");
}

#[test]
fn what_belongs_to_the_server_is_not_done_here() {
    let team = Team::start();
    let laptop = team.laptop();
    for arguments in [
        vec!["state", "move", "--to", "json"],
        vec!["state", "rebuild"],
        vec!["state", "adopt", "--yes"],
    ] {
        let refused: Output = laptop.refused(&arguments);
        assert!(
            refused.stderr.contains("this is done on the server"),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
    laptop.ok(&["state", "backup", "../copy.tlbackup"]);
    assert!(Path::new(&laptop.root().join("../copy.tlbackup")).exists());
}

#[test]
fn an_undo_that_is_not_kept_leaves_the_files_as_they_were() {
    let team = Team::start();
    let laptop = team.laptop();
    laptop.write(Project::ACT, ACT_EDITED);
    laptop.ok(&["approve", "act-1"]);
    let edited = laptop.json(&["log", "--limit", "2"])[1]["operation"].to_string();
    laptop.ok(&["undo"]);
    team.kill();
    let refused = laptop.run(&["undo", &edited]);
    assert!(
        refused.code != 0 && refused.stderr.contains("does not answer"),
        "{}",
        refused.stderr
    );
    assert_eq!(laptop.read(Project::ACT), ACT_EDITED);
    team.again();
    laptop.ok(&["undo", &edited]);
    assert_eq!(laptop.read(Project::ACT), ACT_TEXT);
}

#[test]
fn a_decision_that_the_server_rejects_leaves_no_backup() {
    let team = Team::start();
    let words = [
        "team",
        "token",
        "create",
        "ci",
        "--as",
        "agent:ci/1",
        "--scope",
        "agent",
    ];
    let token = team.project.json(&words);
    let laptop = team.laptop_with(&team.url(), text(&token, "secret"));
    // Overwriting an approved plan writes a readable backup before the operation is sent.
    laptop.write(Project::ACT, ACT_EDITED);
    let refused = laptop.run(&["approve", "act-1"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("only a person may decide this"),
        "{}",
        refused.stderr
    );
    let backups = || {
        let folder = Path::new(Project::ACT).with_file_name("backups");
        let listed = std::fs::read_dir(laptop.root().join(folder));
        let copies = |entry: &std::fs::DirEntry| entry.path().extension() == Some("md".as_ref());
        listed.map_or(0, |listed| listed.flatten().filter(copies).count())
    };
    assert_eq!(backups(), 0);
    assert_eq!(laptop.status("act-1"), "draft");
    assert_eq!(backups(), 0, "looking records nothing");
    laptop.ok(&["submit"]);
    assert_eq!(backups(), 1, "the edit is recorded");
}

#[test]
fn a_replica_that_was_never_filled_refuses_while_the_server_is_silent() {
    let team = Team::start();
    let settings = team.laptop().read(".throughline/config.toml");
    let fresh = Project::empty(binary())
        .with_environment("THROUGHLINE_URL", &team.url())
        .with_environment("THROUGHLINE_TOKEN", &team.token)
        .with_environment("THROUGHLINE_OFFLINE", "queue");
    fresh.write(".throughline/config.toml", settings);
    fresh.write(Project::ACT, team.project.read(Project::ACT));
    team.kill();
    for command in [&["status"][..], &["comment", "act-1", "--message", "lost?"]] {
        let refused = fresh.run(command);
        assert!(
            refused.code != 0 && refused.stderr.contains("does not answer"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn what_is_done_during_a_silence_can_wait() {
    let team = Team::start();
    let (here, there) = (
        team.laptop()
            .with_environment("THROUGHLINE_OFFLINE", "queue"),
        team.laptop(),
    );
    assert_eq!(here.status("scene-0101"), "approved");
    team.kill();
    let waits = here.ok(&["comment", "chapter-01", "--message", "пока нет связи."]);
    assert!(
        waits
            .stderr
            .contains("1 operation queued here, to be sent later"),
        "{}",
        waits.stderr
    );
    here.write(Project::SCENE, "# Scene 1.1, rewritten\n");
    assert_eq!(here.status("scene-0101"), "draft", "noticed here at once");
    here.ok(&["submit", "scene-0101"]);
    let refused = here.run(&["approve", "scene-0101"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("is never queued"),
        "{}",
        refused.stderr
    );
    let told = here.ok(&["status"]).stderr;
    assert!(
        told.contains("2 operations queued here, to be sent later"),
        "{told}"
    );
    team.again();
    there.ok(&["comment", "act-1", "--message", "meanwhile."]);
    let sent = here.ok(&["status"]).stderr;
    assert!(!sent.contains("wait here"), "{sent}");
    assert_eq!(there.status("scene-0101"), "draft");
    each_once(
        &["пока нет связи.".to_owned(), "meanwhile.".to_owned()],
        &[&here, &there, &team.project],
    );
}
