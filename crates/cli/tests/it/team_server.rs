//! `tl serve` for a team: tokens, their scopes and limits, what is noted, and several servers on one database.

use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Cluster, Database, Project};

use crate::serve::{Reply, Server};
use crate::{ACT_TEXT, planned, text};

const PATIENCE: Duration = Duration::from_secs(30);

/// Gives a token and returns its secret.
pub(crate) fn token(project: &Project, principal: &str, scope: &str) -> String {
    let given = project.json(&[
        "team", "token", "create", principal, "--as", principal, "--scope", scope,
    ]);
    text(&given, "secret").to_owned()
}

/// Returns the number of the first token that was given.
fn first_token(project: &Project) -> String {
    project.json(&["team", "token", "list"])[0]["id"].to_string()
}

pub(crate) fn send(server: &Server, token: &str, method: &str, path: &str, body: &str) -> Reply {
    let (host, bearer) = (
        format!("127.0.0.1:{}", server.port),
        format!("Bearer {token}"),
    );
    let headers = [
        ("host", host.as_str()),
        ("authorization", bearer.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
        (
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ),
        ("x-forwarded-for", "192.0.2.7"),
    ];
    server.send_to(path, method, &headers, body)
}

fn get(server: &Server, token: &str, path: &str) -> u16 {
    send(server, token, "GET", path, "").status
}

fn post(server: &Server, token: &str, path: &str, form: &str) -> u16 {
    send(server, token, "POST", path, form).status
}

fn call(server: &Server, token: &str, tool: &str, arguments: Value) -> Value {
    let reply = server.ask_with(
        token,
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    );
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.message()["result"].clone()
}

fn act(more: Value) -> Value {
    let mut arguments = json!({ "entity_type": "act", "entity_id": "act-1" });
    for (key, value) in more.as_object().into_iter().flatten() {
        arguments[key] = value.clone();
    }
    arguments
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the lines of the audit log, once one of them fits.
fn audited(project: &Project, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let lines = || {
        project
            .json(&["team", "token", "audit", "--limit", "1000"])
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    until("no such line in the audit log", || {
        lines().iter().any(&fits)
    });
    lines().into_iter().filter(fits).collect()
}

fn last_by(project: &Project) -> String {
    text(&project.json(&["log", "--limit", "1"])[0], "by").to_owned()
}

#[test]
fn everything_is_done_in_the_name_of_the_token() {
    let project = planned();
    let (anna, ci) = (
        token(&project, "human:anna", "approve"),
        token(&project, "agent:ci/1", "agent"),
    );
    let server = Server::start(&project, &[]);
    // Whatever the client says about itself, and whatever else it sends.
    let lies = "&by=human:eve&actor=human:eve&principal=human:eve&token=x";
    assert_eq!(
        post(
            &server,
            &anna,
            "/do/comment",
            &format!("node=act-1&text=hello{lies}")
        ),
        303
    );
    assert_eq!(last_by(&project), "human:anna");
    assert_eq!(
        post(
            &server,
            &ci,
            "/do/comment",
            &format!("node=act-1&text=again{lies}")
        ),
        303
    );
    assert_eq!(last_by(&project), "agent:ci/1");
    project.write(Project::ACT, format!("{ACT_TEXT}\nMore.\n"));
    let done = call(&server, &ci, "create_backup", act(json!({})));
    assert_eq!(done["isError"], false, "{done}");
    assert_eq!(
        last_by(&project),
        "agent:ci/1",
        "the client calls itself web-client"
    );
    let done = call(
        &server,
        &ci,
        "create_backup",
        act(json!({ "by": "human:eve" })),
    );
    assert_eq!(done["isError"], true, "there is no such argument: {done}");
    project.write(Project::ACT, format!("{ACT_TEXT}\nMore, again.\n"));
    let again = json!({ "name": "create_backup", "arguments": act(json!({})) });
    let done = server.call_in_session(&ci, &again);
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(last_by(&project), "agent:ci/1", "also in a session");

    let shown = project.json(&["show", "act-1"]);
    let form = format!(
        "node=act-1&version={}&force=1{lies}",
        text(&shown, "version_hash")
    );
    let approved = send(&server, &anna, "POST", "/do/approve", &form);
    let leads_to = approved.header("location").unwrap_or_default();
    assert!(
        approved.status == 303 && leads_to.starts_with("/nodes/act-1?done=approved&operation="),
        "{approved:?}"
    );
    assert_eq!(last_by(&project), "human:anna");
    // The secret of the start is its person's, and its agents are theirs.
    assert_eq!(
        post(
            &server,
            &server.token,
            "/do/comment",
            "node=act-1&text=mine"
        ),
        303
    );
    assert!(last_by(&project).starts_with("human:") && last_by(&project) != "human:anna");
}

#[test]
fn a_scope_goes_so_far_and_no_further() {
    let project = planned();
    let (guest, ci) = (
        token(&project, "human:guest", "read"),
        token(&project, "agent:ci/1", "agent"),
    );
    let (bob, anna) = (
        token(&project, "human:bob", "agent"),
        token(&project, "human:anna", "approve"),
    );
    let server = Server::start(&project, &[]);
    let version = text(&project.json(&["show", "act-1"]), "version_hash").to_owned();
    let operations = || {
        project
            .json(&["log", "--limit", "1000"])
            .as_array()
            .map(Vec::len)
    };
    let decisions = [
        "approve",
        "revalidate",
        "request-changes",
        "condemn",
        "undo",
        "accept",
        "pass",
        "send-back",
    ];
    for (secret, may_comment) in [(&guest, false), (&ci, true), (&bob, true)] {
        let before = operations();
        for path in ["/", "/tree", "/api/tree", "/timeline"] {
            assert_eq!(get(&server, secret, path), 200, "{path}");
        }
        for what in decisions {
            let form = format!("node=act-1&version={version}&operation=1&text=x&force=1");
            assert_eq!(
                post(&server, secret, &format!("/do/{what}"), &form),
                403,
                "{what}"
            );
        }
        assert_eq!(operations(), before, "nothing was decided");
        let comments = if may_comment { 303 } else { 403 };
        assert_eq!(
            post(&server, secret, "/do/comment", "node=act-1&text=x"),
            comments
        );
    }

    let tools = |secret: &str| {
        let reply = server.ask_with(secret, "tools/list", json!({}));
        let tools = reply.message()["result"]["tools"].clone();
        tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| text(tool, "name").to_owned())
            .collect::<Vec<_>>()
    };
    // A model with Anna's token is an agent.
    assert_eq!(tools(&ci), tools(&anna));
    assert!(tools(&guest).contains(&"plan_read".to_owned()));
    for tool in ["approve_entity", "cascade_invalidate", "create_backup"] {
        let refused = call(&server, &guest, tool, act(json!({})));
        assert_eq!(refused["isError"], true, "{tool}: {refused}");
        let said = refused["structuredContent"]["error"]["message"].to_string();
        assert!(said.contains("needs the scope"), "{said}");
    }
    assert_eq!(tools(&bob), tools(&ci));
    project.write(Project::ACT, format!("{ACT_TEXT}\nMore.\n"));
    // What the dashboard refuses, the tools refuse.
    let version = text(&project.json(&["show", "act-1"]), "version_hash").to_owned();
    for secret in [&bob, &ci, &anna] {
        for (tool, arguments) in [
            ("approve_entity", json!({})),
            ("cascade_invalidate", json!({ "reason": "x" })),
            (
                "update_entity_state",
                json!({ "status": "invalid", "version_hash": version }),
            ),
            (
                "update_entity_state",
                json!({ "status": "approved", "version_hash": version }),
            ),
        ] {
            let refused = call(&server, secret, tool, act(arguments));
            assert_eq!(refused["isError"], true, "{tool}: {refused}");
            assert!(
                refused.to_string().contains("scope `approve`"),
                "{tool}: {refused}"
            );
        }
    }
    assert_eq!(project.status("act-1"), "draft");
    assert_eq!(
        call(&server, &guest, "get_entity_state", act(json!({})))["isError"],
        false
    );
    let change =
        json!({ "name": "cascade_invalidate", "arguments": act(json!({ "reason": "x" })) });
    assert_eq!(
        server.call_in_session(&guest, &change)["result"]["isError"],
        true
    );
    // Also by the dotted name that some know a tool by.
    assert_eq!(
        call(&server, &guest, "approve.entity", act(json!({})))["isError"],
        true
    );
}

/// Where only people approve, no agent answers the question itself.
#[test]
fn an_agent_with_a_token_is_not_asked_in_a_persons_place() {
    let project = planned();
    let (ci, anna) = (
        token(&project, "agent:ci/1", "agent"),
        token(&project, "human:anna", "approve"),
    );
    project.write(
        ".throughline/config.toml",
        "[policy]\napproval = \"human\"\n",
    );
    project.write(Project::ACT, format!("{ACT_TEXT}\nMore of it.\n"));
    let server = Server::start(&project, &["--no-decisions"]);
    let asked = |secret: &str| {
        let params =
            json!({ "name": "approve_entity", "arguments": act(json!({ "force": true })) });
        let able = json!({ "elicitation": { "form": {} } });
        server
            .ask_able_to(&able, secret, "tools/call", params)
            .message()["result"]
            .clone()
    };
    let waiting = asked(&ci);
    assert_eq!(
        waiting["structuredContent"]["waiting_for"], "a person",
        "{waiting}"
    );
    assert_eq!(text(&project.json(&["show", "act-1"]), "status"), "draft");
    let question = asked(&anna);
    assert_eq!(question["resultType"], "input_required", "{question}");
    // Her client that cannot ask her is an agent like any other, with either tool.
    let version = text(&project.json(&["show", "act-1"]), "version_hash").to_owned();
    for (tool, arguments) in [
        ("approve_entity", json!({ "force": true })),
        (
            "update_entity_state",
            json!({ "status": "approved", "version_hash": version }),
        ),
    ] {
        let done = call(&server, &anna, tool, act(arguments));
        assert_ne!(done["structuredContent"]["success"], true, "{done}");
        assert_eq!(project.status("act-1"), "draft", "{tool}");
    }
    let yes = json!({ "action": "accept", "content": { "decision": "approve" } });
    let params = json!({
        "name": "approve_entity", "arguments": act(json!({ "force": true })),
        "requestState": question["requestState"], "inputResponses": { "approval": yes },
    });
    let able = json!({ "elicitation": { "form": {} } });
    let done = server.ask_able_to(&able, &anna, "tools/call", params);
    let done = done.message()["result"].clone();
    assert_eq!(done["structuredContent"]["success"], true, "{done}");
    assert_eq!(last_by(&project), "human:anna");
}

/// A cache between clients must not give one token's list to another.
#[test]
fn a_list_that_depends_on_the_token_is_private() {
    let project = planned();
    let tokens = [
        token(&project, "human:anna", "read"),
        token(&project, "agent:ci/1", "agent"),
    ];
    let server = Server::start(&project, &[]);
    let lists = tokens.map(|token| {
        let list = server.ask_with(&token, "tools/list", json!({})).message()["result"].clone();
        assert_eq!(text(&list, "cacheScope"), "private");
        list["tools"].as_array().expect("tools").len()
    });
    assert!(lists[0] < lists[1], "{lists:?}");
}

#[test]
fn a_token_that_was_taken_back_opens_nothing_and_ends_what_is_open() {
    let project = planned();
    let secret = token(&project, "human:anna", "approve");
    let server = Server::start(&project, &[]);
    assert_eq!(get(&server, &secret, "/api/tree"), 200);
    let mut stream = server.connect();
    let request = format!(
        "GET /api/live HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {secret}\r\nconnection: close\r\n\r\n",
        server.port
    );
    stream
        .write_all(request.as_bytes())
        .expect("the server reads");
    let mut begun = [0; 15];
    stream.read_exact(&mut begun).expect("an answer");
    assert_eq!(&begun, b"HTTP/1.1 200 OK");
    let open = || send(&server, &server.token, "GET", "/metrics", "").body;
    assert!(open().contains("throughline_event_streams 1"), "{}", open());
    project.ok(&["team", "token", "revoke", &first_token(&project)]);
    until("the token is still good", || {
        get(&server, &secret, "/api/tree") == 401
    });
    assert_eq!(
        post(&server, &secret, "/do/comment", "node=act-1&text=x"),
        401
    );
    let called = server.ask_with(
        &secret,
        "tools/call",
        json!({ "name": "where", "arguments": {} }),
    );
    let challenge = called.header("www-authenticate").unwrap_or_default();
    assert_eq!(called.status, 401);
    assert!(
        challenge.contains("oauth-protected-resource/mcp"),
        "{challenge}"
    );
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the stream ends");
    until("the stream is still counted", || {
        open().contains("throughline_event_streams 0")
    });
    audited(&project, |line| line["action"] == "token revoke");
}

#[test]
fn who_asks_too_often_is_told_when_to_come_back() {
    let project = planned();
    let (busy, calm) = (
        token(&project, "agent:ci/1", "agent"),
        token(&project, "human:anna", "read"),
    );
    let server = Server::start(&project, &["--rate", "1"]);
    let replies: Vec<Reply> = (0..8)
        .map(|_| send(&server, &busy, "GET", "/api/tree", ""))
        .collect();
    assert_eq!(replies[0].status, 200);
    let limited = replies
        .iter()
        .find(|reply| reply.status == 429)
        .expect("a limit");
    assert!(
        limited
            .header("retry-after")
            .is_some_and(|wait| wait.parse::<u64>().is_ok()),
        "{limited:?}"
    );
    assert_eq!(
        get(&server, &calm, "/api/tree"),
        200,
        "each has a limit of its own"
    );
    // A client that guesses tokens is limited sooner, and does not slow down others.
    let guess = |from: u32| -> Vec<u16> {
        (from..from + 25)
            .map(|number| get(&server, &format!("tl_{number:064x}"), "/api/tree"))
            .collect()
    };
    let guessed: Vec<u16> = std::thread::scope(|scope| {
        let guessing: Vec<_> = (0..8)
            .map(|one| {
                scope.spawn({
                    let guess = &guess;
                    move || guess(one * 25)
                })
            })
            .collect();
        guessing
            .into_iter()
            .flat_map(|one| one.join().expect("no panic"))
            .collect()
    });
    assert!(
        guessed.contains(&401) && guessed.contains(&429),
        "{guessed:?}"
    );
    assert!(
        guessed.iter().all(|status| [401, 429].contains(status)),
        "{guessed:?}"
    );
    assert_eq!(get(&server, &calm, "/api/tree"), 200);
    let metrics = send(&server, &server.token, "GET", "/metrics", "").body;
    let counted = metrics
        .lines()
        .find_map(|line| line.strip_prefix("throughline_rate_limited_total "));
    assert!(
        counted.is_some_and(|number| number.parse::<u64>().is_ok_and(|number| number > 1)),
        "{metrics}"
    );

    // Many refusals of a kind are two lines a minute: the first, and how many more there were.
    assert_eq!(server.stop(), Some(0));
    let lines = audited(&project, |line| line["outcome"] == "401");
    let refused = guessed.iter().filter(|status| **status == 401).count();
    assert!(lines.len() < refused, "{lines:?}");
    let times: u64 = lines.iter().filter_map(|line| line["times"].as_u64()).sum();
    assert_eq!(usize::try_from(times), Ok(refused));
    let limited = audited(&project, |line| {
        line["outcome"] == "429" && line["principal"] == "agent:ci/1"
    });
    assert!(!limited.is_empty());
}

#[test]
fn what_was_changed_and_who_was_turned_away_is_noted() {
    let project = planned();
    let (anna, guest) = (
        token(&project, "human:anna", "approve"),
        token(&project, "human:guest", "read"),
    );
    let server = Server::start(&project, &[]);
    let version = project.json(&["show", "act-1"])["version_hash"]
        .as_str()
        .expect("a version")
        .to_owned();
    post(
        &server,
        &anna,
        "/do/condemn",
        &format!("node=act-1&version={version}&text=because"),
    );
    call(&server, &anna, "create_backup", act(json!({})));
    get(&server, &anna, "/tree");
    post(&server, &guest, "/do/comment", "node=act-1&text=x");
    get(&server, "tl_unknown", "/tree");
    let condemned = audited(&project, |line| line["action"] == "POST /do/condemn").remove(0);
    let number = condemned["token"].to_string();
    assert_eq!(
        (text(&condemned, "principal"), number),
        ("human:anna", first_token(&project))
    );
    assert_eq!(text(&condemned, "outcome"), "303");
    assert!(
        text(&condemned, "detail").starts_with("/nodes/act-1?done=condemned&operation="),
        "{condemned}"
    );
    assert_eq!(
        text(&condemned, "from"),
        "192.0.2.7 via 127.0.0.1",
        "a proxy's word is only repeated"
    );
    assert_eq!(
        text(&condemned, "trace"),
        "0af7651916cd43dd8448eb211c80319c"
    );
    let called = audited(&project, |line| line["action"] == "mcp plan_backup").remove(0);
    assert_eq!(
        (text(&called, "outcome"), text(&called, "principal")),
        ("done", "human:anna")
    );
    assert!(
        text(&called, "detail").contains("act-1 as agent:web-client/"),
        "{called}"
    );
    audited(&project, |line| {
        line["outcome"] == "403" && line["principal"] == "human:guest"
    });
    let all = audited(&project, |line| {
        line["outcome"] == "401" && line["principal"].is_null()
    });
    assert_eq!(text(&all[0], "action"), "page");
    let whole = project.ok(&["team", "token", "audit"]).stdout;
    assert!(
        whole.contains("POST /do/condemn") && !whole.contains("GET"),
        "who only looked is not noted: {whole}"
    );
    for secret in [&anna, &guest, "tl_unknown", &server.token] {
        assert!(!whole.contains(secret), "{whole}");
    }
    until("the use of a token is noted", || {
        project.json(&["team", "token", "list"])[0]["last_used_at"].is_string()
    });
    // None of it is in the way of the state.
    project.ok(&["check"]);
}

/// Regardless of the number of refusals and of the claimed address.
#[test]
fn nobody_fills_the_disk_by_being_refused() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let host = format!("127.0.0.1:{}", server.port);
    for number in 0..700_u32 {
        let from = format!("198.51.{}.{}", number / 250, number % 250);
        let reply = server.send_to(
            "/tree",
            "GET",
            &[("host", &host), ("x-forwarded-for", &from)],
            "",
        );
        assert_eq!(reply.status, 401);
    }
    assert_eq!(server.stop(), Some(0));
    let lines = project.json(&["team", "token", "audit", "--limit", "10000"]);
    let lines = lines.as_array().expect("lines");
    // A minute may end in between.
    assert!(lines.len() < 700, "{}", lines.len());
    assert!(
        lines.iter().any(|line| line["action"] == "others"),
        "{lines:?}"
    );
    assert_eq!(
        lines
            .iter()
            .filter_map(|line| line["times"].as_u64())
            .sum::<u64>(),
        700,
        "and each is counted"
    );
}

#[test]
fn what_looks_after_servers_can_ask_how_it_is() {
    let project = planned();
    let guest = token(&project, "human:guest", "read");
    let server = Server::start(&project, &[]);
    let open = |path: &str| server.send_to(path, "GET", &[("host", "any.example")], "");
    assert_eq!(
        (open("/healthz").status, open("/healthz").body.as_str()),
        (200, "alive\n")
    );
    assert_eq!(
        (open("/readyz").status, open("/readyz").body.as_str()),
        (200, "ready\n")
    );
    let host = format!("127.0.0.1:{}", server.port);
    assert_eq!(open("/metrics").status, 403);
    assert_eq!(
        server
            .send_to("/metrics", "GET", &[("host", &host)], "")
            .status,
        401
    );
    get(&server, &guest, "/tree");
    let metrics = send(&server, &guest, "GET", "/metrics", "");
    assert_eq!(metrics.status, 200);
    for wanted in [
        "throughline_http_requests_total{class=\"page\",status=\"200\"} 1",
        "throughline_http_requests_total{class=\"health\",status=\"401\"} 1",
        "throughline_http_request_duration_seconds_count{class=\"page\"} 1",
        "throughline_event_streams 0",
        "throughline_rate_limited_total 0",
        "throughline_operations_head ",
        "throughline_store_wait_seconds_count ",
    ] {
        assert!(metrics.body.contains(wanted), "{wanted}\n{}", metrics.body);
    }
}

/// A proxy has a name of its own, which a browser's cookie is bound to.
#[test]
fn behind_a_proxy_its_name_is_ours() {
    let project = planned();
    let anna = token(&project, "human:anna", "approve");
    let server = Server::start(&project, &["--public-url", "https://plans.example.org"]);
    let host = ("host", "plans.example.org");
    let welcome = server.send_to(&format!("/tree?token={anna}"), "GET", &[host], "");
    assert_eq!(
        (welcome.status, welcome.header("location")),
        (303, Some("/tree")),
        "{welcome:?}"
    );
    let cookie = welcome.header("set-cookie").expect("a cookie");
    assert!(
        cookie.starts_with("__Host-throughline=") && cookie.ends_with("; Path=/; Secure"),
        "{cookie}"
    );
    assert!(!cookie.contains(&anna), "the cookie is not the token");
    let cookie = cookie.split(';').next().expect("a value");
    let comment = |origin: &str| {
        let headers = [
            host,
            ("cookie", cookie),
            ("origin", origin),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        server
            .send_to("/do/comment", "POST", &headers, "node=act-1&text=x")
            .status
    };
    assert_eq!(comment("https://plans.example.org"), 303);
    assert_eq!(last_by(&project), "human:anna");
    for origin in [
        "http://plans.example.org",
        "https://evil.example",
        "https://plans.example.org.evil.example",
    ] {
        assert_eq!(comment(origin), 403, "{origin}");
    }
    assert_eq!(
        server
            .send_to(
                "/tree",
                "GET",
                &[("host", "evil.example"), ("cookie", cookie)],
                ""
            )
            .status,
        403
    );
    let value = cookie.split_once('=').expect("a value").1;
    assert_eq!(
        get(&server, value, "/tree"),
        401,
        "what a browser gets is no token"
    );
    assert_eq!(get(&server, &anna, "/tree"), 200, "this machine as before");
    let bearer = format!("Bearer {anna}");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let headers = [
        host,
        ("authorization", bearer.as_str()),
        ("origin", "https://plans.example.org"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let reply = server.send_to("/mcp", "POST", &headers, &list);
    assert!(![401, 403].contains(&reply.status), "{reply:?}");
    let output = project.run(&["serve", "--public-url", "https://plans.example.org/here"]);
    assert!(
        output.code == 2 && output.stderr.contains("a host name of its own"),
        "{}",
        output.stderr
    );
}

/// Nothing that one server gives or takes is only its own.
#[test]
fn several_servers_on_one_database_are_one() {
    let cluster = Cluster::start();
    let database = Database::on(&cluster);
    let machine = || {
        let project = crate::machine_on(&database, "story");
        project.write(Project::ACT, ACT_TEXT);
        project
    };
    let (here, there) = (machine(), machine());
    here.ok(&["approve", "act-1"]);
    let public = ["--public-url", "https://plans.example.org"];
    let (first, second) = (
        Server::start(&here, &public),
        Server::start(&there, &public),
    );
    let (anna, ci) = (
        token(&here, "human:anna", "approve"),
        token(&there, "agent:ci/1", "agent"),
    );
    for server in [&first, &second] {
        assert_eq!(get(server, &anna, "/api/tree"), 200);
        assert_eq!(post(server, &ci, "/do/comment", "node=act-1&text=x"), 303);
        assert_eq!(last_by(&here), "agent:ci/1");
    }
    let host = ("host", "plans.example.org");
    let welcome = first.send_to(&format!("/?token={anna}"), "GET", &[host], "");
    let cookie = welcome
        .header("set-cookie")
        .and_then(|cookie| cookie.split(';').next())
        .expect("a cookie");
    let page = |server: &Server| {
        server
            .send_to("/tree", "GET", &[host, ("cookie", cookie)], "")
            .status
    };
    assert_eq!(
        (page(&first), page(&second)),
        (200, 200),
        "a cookie of one counts at the other"
    );

    there.ok(&["team", "token", "revoke", &first_token(&here)]);
    for server in [&first, &second] {
        until("a token that was taken back is still good", || {
            get(server, &anna, "/api/tree") == 401
        });
        until("and so is its cookie", || page(server) == 401);
    }
    // A token ends by the clock of the database.
    assert_eq!(get(&second, &ci, "/api/tree"), 200);
    let expire = "UPDATE throughline.access_token SET expires_at = (extract(epoch FROM now()) * 1000)::BIGINT";
    database
        .client()
        .batch_execute(expire)
        .expect("the database answers");
    until("an expired token is still good", || {
        get(&second, &ci, "/api/tree") == 401
    });
    assert_eq!(states(&here), ["revoked", "expired"]);
    audited(&here, |line| {
        line["action"] == "POST /do/comment" && line["principal"] == "agent:ci/1"
    });

    // What cannot be checked lets nobody in, and says that it is not ready.
    cluster.crash();
    until("the server is ready without a database", || {
        first.send_to("/readyz", "GET", &[host], "").status == 503
    });
    assert_eq!(first.send_to("/healthz", "GET", &[host], "").status, 200);
    until("a token is believed without a database", || {
        get(&first, &ci, "/api/tree") == 503
    });
    cluster.again();
    until("the server does not come back", || {
        first.send_to("/readyz", "GET", &[host], "").status == 200
    });
    until("tokens are not checked again", || {
        get(&first, &ci, "/api/tree") == 401
    });
}

fn states(project: &Project) -> Vec<String> {
    let listed = project.json(&["team", "token", "list"]);
    listed
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| text(one, "state").to_owned())
        .collect()
}

/// A token of another project in the same database opens nothing here.
#[test]
fn tokens_are_of_one_project() {
    let database = Database::new();
    let project = |name: &str| {
        let project =
            Project::in_database(Path::new(env!("CARGO_BIN_EXE_tl")), &database.url(), name);
        project.ok(&["init"]);
        project
    };
    let (one, two) = (project("one"), project("two"));
    let secret = token(&one, "human:anna", "admin");
    let (first, second) = (Server::start(&one, &[]), Server::start(&two, &[]));
    assert_eq!(
        (
            get(&first, &secret, "/api/tree"),
            get(&second, &secret, "/api/tree")
        ),
        (200, 401)
    );
}
