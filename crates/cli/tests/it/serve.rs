//! `tl serve`: the same over HTTP, behind host, origin and token.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Project;

use crate::{empty, planned, run_with, text, texts};

/// A server that was started.
pub(crate) struct Server {
    /// The process; several servers may be in one, and the first of them ends it.
    child: Option<Child>,
    pub(crate) port: u16,
    pub(crate) token: String,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let wanted = name.to_ascii_lowercase();
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| *name == wanted)
            .map(|(_, v)| v)
    }

    /// Returns the messages in it: one as JSON, or those of a stream.
    fn messages(&self) -> Vec<Value> {
        if self.header("content-type") == Some("application/json") {
            return vec![serde_json::from_str(&self.body).expect("JSON")];
        }
        let events = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        events
            .filter_map(|event| serde_json::from_str(event).ok())
            .collect()
    }

    pub(crate) fn message(&self) -> Value {
        self.messages()
            .pop()
            .unwrap_or_else(|| panic!("no message in {self:?}"))
    }
}

impl Server {
    pub(crate) fn start(project: &Project, arguments: &[&str]) -> Self {
        Self::start_in(project, &project.root(), arguments)
    }

    /// Starts a server in another working copy.
    pub(crate) fn start_in(project: &Project, directory: &Path, arguments: &[&str]) -> Self {
        let mut servers = Self::start_all(project, directory, arguments, 1);
        servers.pop().expect("a server")
    }

    /// Starts a process that serves this number of projects.
    pub(crate) fn start_several(project: &Project, arguments: &[&str], number: usize) -> Vec<Self> {
        Self::start_all(project, &project.root(), arguments, number)
    }

    fn start_all(
        project: &Project,
        directory: &Path,
        arguments: &[&str],
        number: usize,
    ) -> Vec<Self> {
        let mut all = vec!["--json", "serve", "--port", "0"];
        all.extend(arguments);
        let mut child = project
            .command(&all)
            .current_dir(directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a start");
        let output = BufReader::new(child.stdout.take().expect("an output"));
        let mut servers: Vec<Self> = output
            .lines()
            .take(number)
            .map(|line| Self::from_announcement(&line.expect("a line")))
            .collect();
        servers.first_mut().expect("a server").child = Some(child);
        servers
    }

    fn from_announcement(line: &str) -> Self {
        let ready: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let url = text(&ready, "url");
        let port = url
            .strip_prefix("http://127.0.0.1:")
            .and_then(|rest| rest.strip_suffix("/mcp"))
            .expect("our address");
        Self {
            child: None,
            port: port.parse().expect("a port"),
            token: ready["token"].as_str().unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a limit");
        stream
    }

    /// Sends a request with exactly these headers, beside those every client sends.
    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.send_to("/mcp", method, headers, body)
    }

    pub(crate) fn send_to(
        &self,
        path: &str,
        method: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut stream = self.connect();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        stream
            .write_all(format!("{request}\r\n{body}").as_bytes())
            .expect("the server reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("a status");
        Reply {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Sends a message as a client that knows the token.
    fn post(&self, more: &[(&str, &str)], message: &Value) -> Reply {
        self.post_with(&self.token, more, message)
    }

    pub(crate) fn post_with(&self, token: &str, more: &[(&str, &str)], message: &Value) -> Reply {
        let (host, token) = (
            format!("127.0.0.1:{}", self.port),
            format!("Bearer {token}"),
        );
        let mut headers = vec![
            ("host", host.as_str()),
            ("authorization", token.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        headers.extend(more);
        self.send("POST", &headers, &message.to_string())
    }

    /// Greets as a client of the older era and returns its session.
    fn greeted(&self) -> String {
        self.greeted_with(&self.token)
    }

    /// Greets with a token and calls a tool in the session.
    pub(crate) fn call_in_session(&self, token: &str, params: &Value) -> Value {
        let session = self.greeted_with(token);
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        self.post_with(token, &headers, &call).message()
    }

    pub(crate) fn greeted_with(&self, token: &str) -> String {
        let client = json!({ "name": "old-client", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let greeting =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let reply = self.post_with(token, &[], &greeting);
        let session = reply
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post_with(token, &headers, &initialized).status, 202);
        session
    }

    /// Asks as a client of the newest era.
    pub(crate) fn ask(&self, method: &str, params: Value) -> Reply {
        self.ask_with(&self.token, method, params)
    }

    /// The same with another token.
    pub(crate) fn ask_with(&self, token: &str, method: &str, params: Value) -> Reply {
        self.ask_able_to(&json!({}), token, method, params)
    }

    /// The same as a client that can do something for us.
    pub(crate) fn ask_able_to(
        &self,
        capabilities: &Value,
        token: &str,
        method: &str,
        params: Value,
    ) -> Reply {
        let mut message = modern(method, params.clone());
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            capabilities.clone();
        let mut headers = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        let name = params["name"].as_str().or(params["uri"].as_str());
        headers.extend(name.map(|name| ("mcp-name", name)));
        self.post_with(token, &headers, &message)
    }

    /// Tells it to stop and returns how it ended.
    #[expect(
        clippy::disallowed_methods,
        reason = "tests send signals as a shell does"
    )]
    pub(crate) fn stop(mut self) -> Option<i32> {
        let child = self.child.as_mut().expect("the process of the server");
        let sent = std::process::Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status();
        assert!(sent.expect("kill").success());
        let begun = Instant::now();
        let ended = child.wait().expect("an end");
        assert!(
            begun.elapsed() < Duration::from_secs(4),
            "the end took {:?}",
            begun.elapsed()
        );
        ended.code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "web-client", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn state_of_act() -> Value {
    json!({ "name": "get_entity_state", "arguments": { "entity_type": "act", "entity_id": "act-1" } })
}

#[test]
fn a_new_client_is_answered_without_a_session() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let found = server.ask("server/discover", json!({}));
    assert_eq!(
        (found.status, found.header("content-type")),
        (200, Some("application/json"))
    );
    assert!(texts(&found.message()["result"]["supportedVersions"]).contains(&"2026-07-28"));
    let called = server.ask("tools/call", state_of_act());
    assert_eq!(
        called.message()["result"]["structuredContent"]["status"],
        "approved",
        "{called:?}"
    );
    assert_eq!(called.header("mcp-session-id"), None);
    let unknown = server.ask("tools/cal", json!({}));
    assert_eq!(
        (unknown.status, &unknown.message()["error"]["code"]),
        (404, &json!(-32601))
    );
    let malformed = server.ask("tools/call", json!({ "name": "where", "arguments": "x" }));
    assert_eq!(
        malformed.message()["error"]["code"],
        -32602,
        "{malformed:?}"
    );
    assert!(
        text(&malformed.message()["error"], "message").contains("expected {\"name\": string"),
        "{malformed:?}"
    );
    let missing = server.ask("resources/read", json!({ "uri": "plan://node/act-9" }));
    assert_eq!(missing.message()["error"]["code"], -32602, "{missing:?}");
    // Requests of one client belong together although each is served alone.
    for reason in ["one", "two"] {
        let arguments = json!({ "entity_type": "act", "entity_id": "act-1", "reason": reason });
        let called = server.ask(
            "tools/call",
            json!({ "name": "cascade_invalidate", "arguments": arguments }),
        );
        assert_eq!(called.message()["result"]["isError"], false, "{called:?}");
    }
    let log = project.json(&["log", "--limit", "2"]);
    assert!(
        text(&log[0], "by").starts_with("agent:web-client/"),
        "{log}"
    );
    assert_eq!(log[0]["by"], log[1]["by"]);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn an_old_client_has_a_session() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let greeting = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "old-client", "version": "1" },
        },
    });
    let greeted = server.post(&[], &greeting);
    assert_eq!(
        greeted.message()["result"]["protocolVersion"],
        "2025-06-18",
        "{greeted:?}"
    );
    let session = greeted
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.post(&headers, &initialized).status, 202);
    let call =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": state_of_act() });
    let called = server.post(&headers, &call);
    assert_eq!(
        called.message()["result"]["structuredContent"]["status"],
        "approved",
        "{called:?}"
    );
    let malformed =
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": 5 } });
    assert_eq!(
        server.post(&headers, &malformed).message()["error"]["code"],
        -32602
    );
    let list = |headers: &[(&str, &str)]| {
        server
            .post(
                headers,
                &json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list" }),
            )
            .message()["result"]["tools"]
            .clone()
    };
    assert_eq!(
        list(&headers),
        server.ask("tools/list", json!({})).message()["result"]["tools"]
    );
    let unknown = [
        ("mcp-session-id", "cats"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    assert_eq!(server.post(&unknown, &call).status, 404);
    assert_eq!(
        server
            .post(&[("mcp-protocol-version", "2025-06-18")], &call)
            .status,
        400
    );
    let token = format!("Bearer {}", server.token);
    let other = server
        .post(&[], &greeting)
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let host = format!("localhost:{}", server.port);
    let ending = [
        ("host", host.as_str()),
        ("authorization", token.as_str()),
        ("mcp-session-id", other.as_str()),
    ];
    assert_eq!(server.send("DELETE", &ending, "").status, 204);
    let ended = [
        ("mcp-session-id", other.as_str()),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    assert_eq!(server.post(&ended, &call).status, 404);
    // What nobody hears does not hold up what is asked.
    let subscribe = json!({
        "jsonrpc": "2.0", "id": 5, "method": "resources/subscribe", "params": { "uri": "state://planning/act/act-1" },
    });
    assert_eq!(
        server.post(&headers, &subscribe).message()["result"],
        json!({})
    );
    for round in 0..30 {
        let reason = format!("round {round}");
        project.ok(&["invalidate", "act-1", "--reason", &reason]);
        project.ok(&["approve", "act-1", "--force"]);
    }
    assert_eq!(
        server.post(&headers, &call).message()["result"]["structuredContent"]["status"],
        "approved"
    );
    // An open stream does not hold up the end.
    let mut stream = server.connect();
    let request = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {}\r\naccept: text/event-stream\r\n\
         mcp-session-id: {session}\r\nmcp-protocol-version: 2025-06-18\r\n\r\n",
        server.port, server.token
    );
    stream
        .write_all(request.as_bytes())
        .expect("the server reads");
    let mut first = [0; 15];
    stream.read_exact(&mut first).expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    assert_eq!(server.stop(), Some(0));
}

/// The stream of a session of the older era, event by event.
struct Events {
    lines: std::io::Lines<BufReader<TcpStream>>,
}

impl Events {
    /// Opens it, or goes on after an event.
    fn open(server: &Server, session: &str, after: Option<&str>) -> Self {
        let mut stream = server.connect();
        let after = after
            .map(|id| format!("last-event-id: {id}\r\n"))
            .unwrap_or_default();
        let request = format!(
            "GET /mcp HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {}\r\naccept: text/event-stream\r\n\
             mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n{after}\r\n",
            server.port, server.token
        );
        stream
            .write_all(request.as_bytes())
            .expect("the server reads");
        let mut lines = BufReader::new(stream).lines();
        assert_eq!(
            lines.next().expect("a line").expect("text"),
            "HTTP/1.1 200 OK"
        );
        Self { lines }
    }

    /// Returns the next message and the id of its event.
    fn next(&mut self) -> (String, Value) {
        let (mut id, mut message) = (String::new(), None);
        for line in self.lines.by_ref() {
            let line = line.expect("a line");
            match line.split_once(": ") {
                Some(("id", given)) => given.clone_into(&mut id),
                Some(("data", data)) => message = serde_json::from_str(data).ok(),
                _ if line.is_empty() => {
                    if let Some(message) = message.take() {
                        return (id, message);
                    }
                }
                _ => {}
            }
        }
        panic!("the stream ended")
    }
}

#[test]
fn an_old_client_takes_up_its_stream_where_it_broke_off() {
    let project = planned();
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.ok(&["status"]);
    let server = Server::start(&project, &[]);
    let session = server.greeted();
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let uris = ["state://planning/act/act-1", "state://planning/act/act-2"];
    for (id, uri) in uris.iter().enumerate() {
        let params = json!({ "uri": uri });
        let subscribe = json!({ "jsonrpc": "2.0", "id": id, "method": "resources/subscribe", "params": params });
        assert_eq!(
            server.post(&headers, &subscribe).message()["result"],
            json!({})
        );
    }
    let mut events = Events::open(&server, &session, None);
    project.ok(&["invalidate", "act-1", "--reason", "a test"]);
    let (seen, message) = events.next();
    assert_eq!(
        (text(&message, "method"), text(&message["params"], "uri")),
        ("notifications/resources/updated", uris[0])
    );
    assert!(
        !seen.is_empty(),
        "an event without an id cannot be gone on from"
    );
    drop(events);
    // Nobody hears this.
    project.ok(&["invalidate", "act-2", "--reason", "a test"]);
    let mut events = Events::open(&server, &session, Some(&seen));
    // The SDK may say the last one that was heard once more; what was missed comes right after it.
    let (mut next, mut message) = events.next();
    if next == seen {
        (next, message) = events.next();
    }
    assert_eq!(text(&message["params"], "uri"), uris[1], "{message}");
    assert_ne!(next, seen);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn sets_of_tools_are_chosen_by_the_path() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let (host, token) = (
        format!("localhost:{}", server.port),
        format!("Bearer {}", server.token),
    );
    let asked = |server: &Server, path: &str, method: &str, params: Value, token: &str| {
        let mut headers = vec![
            ("host", host.as_str()),
            ("authorization", token),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        let name = params["name"].as_str().map(str::to_owned);
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        server.send_to(
            path,
            "POST",
            &headers,
            &modern(method, params.clone()).to_string(),
        )
    };
    let tools = |path: &str| {
        let reply = asked(&server, path, "tools/list", json!({}), &token);
        let tools = reply.message()["result"]["tools"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| panic!("{reply:?}"));
        tools
            .iter()
            .map(|tool| text(tool, "name").to_owned())
            .collect::<Vec<_>>()
    };
    let core = tools("/mcp/core");
    assert!(
        core.iter().all(|name| name.starts_with("work_")),
        "{core:?}"
    );
    let plan = tools("/mcp/plan");
    assert_eq!(plan[..core.len()], core, "the core is always there");
    assert_eq!(tools("/mcp/core,plan"), plan);
    let reading = tools("/mcp/readonly");
    assert!(reading.contains(&"plan_read".to_owned()));
    assert!(!reading.contains(&"plan_write".to_owned()));
    let reading = tools("/mcp/plan/readonly");
    assert!(reading.len() < plan.len() && reading.contains(&"plan_versions".to_owned()));
    // What is not listed cannot be called either.
    let refused = asked(&server, "/mcp/core", "tools/call", state_of_act(), &token);
    assert_eq!(refused.message()["error"]["code"], -32602, "{refused:?}");
    for path in ["/mcp/cats", "/mcp/core/", "/mcp/core/readonly/x"] {
        let reply = asked(&server, path, "tools/list", json!({}), &token);
        assert_eq!(reply.status, 404, "{path}");
        assert!(
            text(&reply.message(), "error").contains("/mcp/SETS"),
            "{reply:?}"
        );
    }
    assert_eq!(
        asked(&server, "/mcp/core", "tools/list", json!({}), "Bearer cats").status,
        401
    );
    // A session belongs to the path it was begun at.
    let session = server.greeted();
    let headers = [
        ("host", host.as_str()),
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    assert_eq!(server.send("POST", &headers, &list).status, 200);
    assert_eq!(
        server.send_to("/mcp/core", "POST", &headers, &list).status,
        404
    );
    let narrow = Server::start(&project, &["--toolsets", "core", "--read-only"]);
    let headers = headers.map(|(name, value)| match name {
        "host" => (name, format!("localhost:{}", narrow.port)),
        "authorization" => (name, format!("Bearer {}", narrow.token)),
        _ => (name, value.to_owned()),
    });
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert_eq!(
        narrow.send_to("/mcp/plan", "POST", &headers, &list).status,
        404,
        "a path can only leave things out"
    );
}

#[test]
fn nobody_else_gets_in() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let (host, token) = (
        format!("localhost:{}", server.port),
        format!("Bearer {}", server.token),
    );
    let message = modern("tools/list", json!({})).to_string();
    let status = |headers: &[(&str, &str)]| {
        let mut all = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
        ];
        all.extend(headers);
        server.send("POST", &all, &message)
    };
    assert_eq!(
        status(&[("host", &host), ("authorization", &token)]).status,
        200
    );
    let own = format!("http://{host}");
    assert_eq!(
        status(&[("host", &host), ("authorization", &token), ("origin", &own)]).status,
        200
    );
    for wrong in ["Bearer cats", "Bearer", "Basic x", ""] {
        let reply = status(&[("host", &host), ("authorization", wrong)]);
        assert_eq!(reply.status, 401, "{wrong}");
        assert!(
            reply
                .header("www-authenticate")
                .is_some_and(|scheme| scheme.starts_with("Bearer")),
            "{reply:?}"
        );
    }
    assert_eq!(status(&[("host", &host)]).status, 401);
    for wrong in [
        "evil.example",
        "evil.example:80",
        "localhost",
        "localhost:1",
        "192.168.0.1:7070",
    ] {
        assert_eq!(
            status(&[("host", wrong), ("authorization", &token)]).status,
            403,
            "{wrong}"
        );
    }
    for origin in [
        "http://evil.example",
        "null",
        "https://localhost",
        "http://localhost:1",
    ] {
        assert_eq!(
            status(&[
                ("host", &host),
                ("authorization", &token),
                ("origin", origin)
            ])
            .status,
            403,
            "{origin}"
        );
    }
    // Also where there is nothing, and for every way to ask.
    for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
        assert_eq!(
            server.send(method, &[("host", &host)], "").status,
            401,
            "{method}"
        );
        assert_eq!(
            server
                .send(
                    method,
                    &[("host", "evil.example"), ("authorization", &token)],
                    ""
                )
                .status,
            403
        );
    }
}

#[test]
fn what_cannot_be_read_is_answered_in_the_protocols_words() {
    let project = planned();
    let server = Server::start(&project, &["--no-token"]);
    let host = format!("127.0.0.1:{}", server.port);
    let headers = [
        ("host", host.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
    ];
    for (body, code) in [("{", -32700), ("[]", -32600), ("5", -32600), ("{}", -32600)] {
        let reply = server.send("POST", &headers, body);
        assert_eq!(
            (reply.status, &reply.message()["error"]["code"]),
            (400, &json!(code)),
            "{body}"
        );
    }
    // Who can be named is named.
    for (body, code) in [
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":5}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600),
    ] {
        let reply = server.send("POST", &headers, body);
        let answer = reply.message();
        assert_eq!(
            (reply.status, &answer["id"], &answer["error"]["code"]),
            (400, &json!(7), &json!(code)),
            "{body}"
        );
    }
    let large = "x".repeat(5 * 1024 * 1024);
    let mut stream = server.connect();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n\r\n",
        large.len()
    );
    stream
        .write_all(request.as_bytes())
        .expect("the server reads");
    // It may hang up before it has read everything.
    let _ = stream.write_all(large.as_bytes());
    let mut head = [0; 12];
    if stream.read_exact(&mut head).is_ok() {
        assert_eq!(&head, b"HTTP/1.1 413");
    }
    assert_eq!(server.ask("tools/call", state_of_act()).status, 200);
}

#[test]
fn a_new_client_hears_changes_on_a_stream() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let uri = "state://planning/act/act-1";
    let message = modern(
        "subscriptions/listen",
        json!({ "notifications": { "resourceSubscriptions": [uri] } }),
    )
    .to_string();
    let mut stream = server.connect();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n{message}",
        server.port,
        server.token,
        message.len()
    );
    stream
        .write_all(request.as_bytes())
        .expect("the server reads");
    let mut lines = BufReader::new(stream)
        .lines()
        .map(|line| line.expect("a line"));
    let mut event = |method: &str| {
        lines
            .find(|line| line.starts_with("data: ") && line.contains(method))
            .unwrap_or_else(|| panic!("no {method}"))
    };
    event("notifications/subscriptions/acknowledged");
    project.ok(&["invalidate", "act-1", "--reason", "a test"]);
    assert!(event("notifications/resources/updated").contains(uri));
    assert_eq!(server.stop(), Some(0));
}

/// Who may sit at another machine declares what proves a node; what is run is run at this one.
#[test]
fn no_commands_are_run_over_http() {
    let project = crate::tickets();
    let server = Server::start(&project, &[]);
    let call = |arguments: Value| {
        let reply = server.ask(
            "tools/call",
            json!({ "name": "plan_prove", "arguments": arguments }),
        );
        reply.message()["result"].clone()
    };
    let added = call(json!({ "action": "add", "node": "017b", "command": ["touch", "ran"] }));
    assert_ne!(added["isError"], json!(true), "{added}");
    let ran = call(json!({ "action": "run", "node": "017b" }));
    assert_eq!(ran["isError"], json!(true));
    let said = ran["structuredContent"]["error"].to_string();
    assert!(
        said.contains("commands cannot be run") && said.contains("tl evidence run 017/017b"),
        "{said}"
    );
    assert!(!project.root().join("ran").exists());
}

#[test]
fn the_token_is_told_and_may_be_given() {
    let project = planned();
    let server = Server::start(&project, &[]);
    assert_eq!(server.token.len(), 64);
    assert_ne!(server.token, Server::start(&project, &[]).token);
    let given = Project::story(crate::binary()).with_environment("THROUGHLINE_TOKEN", "given");
    assert_eq!(Server::start(&given, &[]).token, "given");
}

#[test]
fn where_it_cannot_listen_it_says_so() {
    let project = planned();
    let taken = Server::start(&project, &[]);
    let output = project.refused(&["serve", "--port", &taken.port.to_string()]);
    assert!(
        output.stderr.contains("cannot listen at"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("tl serve --port 0"),
        "{}",
        output.stderr
    );
    let output = project.refused(&["serve", "--listen", "0.0.0.0", "--no-token"]);
    assert!(
        output.stderr.contains("requires a token"),
        "{}",
        output.stderr
    );
    let output = run_with(&empty(), &[], &["serve"]);
    assert_eq!(output.code, 1);
    assert!(
        output.stderr.contains("there is no Throughline project"),
        "{}",
        output.stderr
    );
}
