//! Notifications of a running server: webhook, program, and what a project cannot set.

#![expect(
    clippy::disallowed_methods,
    reason = "a test writes the user's own file"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::Project;

use crate::serve::Server;
use crate::{ACT_TEXT, story};

/// Writes the user's `notify.toml`.
fn configure_channels(project: &Project, text: &str) {
    std::fs::create_dir_all(project.user_directory()).expect("a directory");
    std::fs::write(project.user_directory().join("notify.toml"), text).expect("a file");
}

/// Takes one request and answers it; returns its path and JSON body.
fn take_request(stream: &mut TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
    let mut first = String::new();
    reader.read_line(&mut first).expect("a request");
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .expect("an answer");
    let path = first.split(' ').nth(1).expect("a path").to_owned();
    (path, serde_json::from_slice(&body).expect("JSON"))
}

#[test]
fn a_plan_that_begins_to_wait_is_announced_by_webhook_and_program() {
    let project = story();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let told = project.user_directory().join("told.json");
    configure_channels(
        &project,
        &format!(
            "[[channel]]\nkind = \"slack\"\nurl = \"http://127.0.0.1:{port}/hook\"\n\
             [[channel]]\nkind = \"ntfy\"\nurl = \"http://127.0.0.1:{port}/plans\"\n\
             [[channel]]\nkind = \"command\"\ncommand = [\"/usr/bin/tee\", \"{}\"]\n",
            told.display()
        ),
    );
    let server = Server::start(&project, &[]);
    // The first look at what waits is at the start; only what comes after it is new.
    std::thread::sleep(Duration::from_secs(1));
    project.write(Project::ACT, ACT_TEXT);
    let (path, body) = take_request(&mut listener.accept().expect("a message").0);
    assert_eq!(path, "/hook");
    let text = body["text"].as_str().expect("a text");
    assert!(text.contains("1 plan waits for you"), "{text}");
    let link = format!("http://127.0.0.1:{}/nodes/act-1", server.port);
    assert!(text.contains(&link), "{text}");
    let (path, body) = take_request(&mut listener.accept().expect("a message").0);
    assert_eq!((path.as_str(), &body["topic"]), ("/", &"plans".into()));
    assert_eq!(body["click"], link);
    let begun = Instant::now();
    let said: Value = loop {
        match std::fs::read(&told).map(|bytes| serde_json::from_slice(&bytes)) {
            Ok(Ok(said)) => break said,
            _ => assert!(
                begun.elapsed() < Duration::from_secs(30),
                "no program was run"
            ),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(said["items"][0]["path"], "act-1");
}

#[test]
fn a_project_cannot_name_a_channel() {
    let project = story();
    let told = project.user_directory().join("told.json");
    let config = format!(
        "{}\n[notify]\ncommand = [\"/usr/bin/tee\", \"{}\"]\n",
        project.read(".throughline/config.toml"),
        told.display()
    );
    project.write(".throughline/config.toml", config);
    let refused = project.refused(&["status"]);
    assert!(refused.stderr.contains("notify"), "{}", refused.stderr);
    assert!(!told.exists());
}

#[test]
fn channels_are_tried_and_their_problems_named_without_the_secret() {
    let project = story();
    let listed = project.ok(&["team", "notify"]);
    assert!(listed.stderr.contains("no channels"), "{}", listed.stderr);
    let port = {
        let closed = TcpListener::bind("127.0.0.1:0").expect("a port");
        closed.local_addr().expect("an address").port()
    };
    let channel =
        format!("[[channel]]\nkind = \"slack\"\nurl = \"http://127.0.0.1:{port}/T0/secret\"\n");
    configure_channels(&project, &channel);
    let failed = project.refused(&["team", "notify", "--test"]);
    assert!(
        failed
            .stderr
            .contains(&format!("not sent by slack (127.0.0.1:{port})")),
        "{}",
        failed.stderr
    );
    assert!(!failed.stderr.contains("secret"), "{}", failed.stderr);
    configure_channels(&project, "quiet_hours = \"late\"\n");
    let refused = project.refused(&["team", "notify"]);
    assert!(refused.stderr.contains("HH:MM-HH:MM"), "{}", refused.stderr);
}
