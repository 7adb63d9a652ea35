//! The dashboard, without a browser: who is let in, what the API gives, what forms do.

#![expect(clippy::disallowed_methods, reason = "a test makes a second project")]

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Project;

use crate::hook_faults::Lock;
use crate::serve::{Reply, Server};
use crate::{ACT_TEXT, planned, story};

/// A browser that showed the token.
pub(crate) struct Browser<'s> {
    server: &'s Server,
    cookie: String,
    origin: String,
    host: String,
}

impl<'s> Browser<'s> {
    pub(crate) fn welcome(server: &'s Server) -> Self {
        let host = format!("127.0.0.1:{}", server.port);
        let reply = server.send_to(
            &format!("/?token={}", server.token),
            "GET",
            &[("host", &host)],
            "",
        );
        assert_eq!(
            (reply.status, reply.header("location")),
            (303, Some("/")),
            "{reply:?}"
        );
        let cookie = reply.header("set-cookie").expect("a cookie");
        for wanted in ["HttpOnly", "SameSite=Strict"] {
            assert!(cookie.contains(wanted), "{cookie}");
        }
        assert!(
            !cookie.contains(&server.token),
            "the cookie is not the token"
        );
        let cookie = cookie.split(';').next().expect("a value").to_owned();
        Self {
            server,
            cookie,
            origin: format!("http://{host}"),
            host,
        }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.server.send_to(
            path,
            "GET",
            &[("host", &self.host), ("cookie", &self.cookie)],
            "",
        )
    }

    fn json(&self, path: &str) -> Value {
        let reply = self.get(path);
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, Some("application/json")),
            "{path}: {reply:?}"
        );
        serde_json::from_str(&reply.body).expect("JSON")
    }

    fn post_from(&self, origin: Option<&str>, path: &str, form: &str) -> Reply {
        let mut headers = vec![
            ("host", self.host.as_str()),
            ("cookie", self.cookie.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        headers.extend(origin.map(|origin| ("origin", origin)));
        self.server.send_to(path, "POST", &headers, form)
    }

    pub(crate) fn post(&self, path: &str, form: &str) -> Reply {
        self.post_from(Some(&self.origin), path, form)
    }
}

pub(crate) fn drafted() -> Project {
    let project = story();
    project.write(Project::ACT, ACT_TEXT);
    project
}

#[test]
fn only_who_showed_the_token_is_let_in() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    assert_eq!(browser.get("/").status, 200);
    let without =
        |path: &str, headers: &[(&str, &str)]| server.send_to(path, "GET", headers, "").status;
    let host = browser.host.as_str();
    for path in [
        "/",
        "/tree",
        "/api/tree",
        "/api/live",
        "/assets/app.js",
        "/nowhere",
    ] {
        assert_eq!(without(path, &[("host", host)]), 401, "{path}");
        assert_eq!(
            without(path, &[("host", host), ("cookie", "throughline=x")]),
            401,
            "{path}"
        );
        assert_eq!(
            without(
                path,
                &[("host", "evil.example"), ("cookie", &browser.cookie)]
            ),
            403,
            "rebound: {path}"
        );
        let foreign = [
            ("host", host),
            ("cookie", &browser.cookie),
            ("origin", "http://evil.example"),
        ];
        assert_eq!(without(path, &foreign), 403, "foreign: {path}");
    }
    assert_eq!(without("/?token=wrong", &[("host", host)]), 401);
    let bearer = format!("Bearer {}", server.token);
    assert_eq!(
        without("/api/tree", &[("host", host), ("authorization", &bearer)]),
        200,
        "a program with the token"
    );
    let to_mcp = server.send_to(
        "/mcp",
        "POST",
        &[("host", host), ("cookie", &browser.cookie)],
        "{}",
    );
    assert_eq!(to_mcp.status, 401, "the cookie is for pages alone");
    let led = server.send_to(
        &format!("//evil.example/?token={}", server.token),
        "GET",
        &[("host", host)],
        "",
    );
    assert_eq!(
        led.header("location"),
        Some("/evil.example/"),
        "nobody is led to another host"
    );
}

#[test]
fn every_answer_is_strict() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    for path in [
        "/",
        "/tree",
        "/nodes/act-1",
        "/timeline",
        "/gates",
        "/memory",
        "/reviews",
        "/nowhere",
        "/api/tree",
    ] {
        let reply = browser.get(path);
        let policy = reply
            .header("content-security-policy")
            .unwrap_or_else(|| panic!("{path}: {reply:?}"));
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
        for inline in [
            "<style",
            " style=",
            " onclick=",
            "<script>",
            "http://",
            "https://",
        ] {
            assert!(!reply.body.contains(inline), "{inline} is on {path}");
        }
    }
}

#[test]
fn the_api_gives_what_its_description_says() {
    let project = planned();
    project.write(Project::ACT, format!("{ACT_TEXT}\n## More\n\nof it\n"));
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    browser.post("/do/comment", "node=act-1&text=look");
    let description = browser.json("/api/openapi.json");
    let schema_of = |reference: &str| {
        let name = reference.rsplit('/').next().expect("a name");
        json!({ "$ref": format!("#/components/schemas/{name}"), "components": description["components"] })
    };
    let paths = description["paths"].as_object().expect("paths");
    assert!(paths.len() > 6);
    for (path, described) in paths {
        // Streams and lines are no single value: the tests of `live` and `the_exchange_is_what_its_description_says` read them.
        if matches!(path.as_str(), "/api/live" | "/api/team/operations") {
            continue;
        }
        let reference = described["get"]["responses"]["200"]["$ref"]
            .as_str()
            .expect("an answer");
        let validator = jsonschema::validator_for(&schema_of(reference)).expect("a schema");
        for node in ["act-1", "act-1/chapter-01", "act-1/chapter-01/scene-0101"] {
            let answer = browser.json(&path.replace("{path}", node));
            let wrong: Vec<String> = validator
                .iter_errors(&answer)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(wrong.is_empty(), "{path} of {node}: {wrong:?}\n{answer}");
        }
    }
    let failure = browser.get("/api/nodes/nothing");
    assert_eq!(failure.status, 404);
    let validator = jsonschema::validator_for(&schema_of("Failure")).expect("a schema");
    assert!(
        validator.is_valid(&serde_json::from_str(&failure.body).expect("JSON")),
        "{failure:?}"
    );
}

#[test]
fn the_tree_is_given_in_windows() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let paths = |query: &str| {
        let window = browser.json(&format!("/api/tree?{query}"));
        let rows = window["rows"].as_array().expect("rows").iter();
        (
            window["total"].as_u64().expect("a number"),
            rows.map(|row| row["path"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>(),
        )
    };
    let all = ["act-1", "act-1/chapter-01", "act-1/chapter-01/scene-0101"].map(str::to_owned);
    assert_eq!(paths(""), (3, all.to_vec()));
    assert_eq!(paths("offset=1&limit=1"), (3, vec![all[1].clone()]));
    assert_eq!(paths("text=SCENE"), (1, vec![all[2].clone()]));
    assert_eq!(paths("status=draft"), (0, vec![]));
    assert_eq!(paths("offset=99"), (3, vec![]));
}

#[test]
fn an_approval_is_of_the_text_that_was_shown() {
    let project = drafted();
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let version = browser.json("/api/nodes/act-1")["version_hash"]
        .as_str()
        .expect("a version")
        .to_owned();
    let form = format!("node=act-1&version={version}");
    assert_eq!(
        browser.post_from(None, "/do/approve", &form).status,
        403,
        "no page of ours says so"
    );
    assert_eq!(
        browser
            .post_from(Some("http://evil.example"), "/do/approve", &form)
            .status,
        403
    );
    assert_eq!(
        browser.post("/do/approve", "node=act-1").status,
        400,
        "which text?"
    );
    project.write(Project::ACT, format!("{ACT_TEXT}\nanother end\n"));
    let refused = browser.post("/do/approve", &form);
    assert!(
        refused.status == 409 && refused.body.contains("changed since it was shown"),
        "{refused:?}"
    );
    assert_eq!(project.status("act-1"), "draft");
    let version = browser.json("/api/nodes/act-1")["version_hash"]
        .as_str()
        .expect("a version")
        .to_owned();
    let done = browser.post("/do/approve", &format!("node=act-1&version={version}"));
    let location = done.header("location").unwrap_or_default();
    assert!(
        done.status == 303 && location.starts_with("/nodes/act-1?done=approved&operation="),
        "{location}"
    );
    assert_eq!(project.status("act-1"), "approved");
    let log = browser.json("/api/timeline?verb=approve");
    assert_eq!(
        (&log["operations"][0]["channel"], &log["next"]),
        (&json!("web"), &Value::Null)
    );
}

#[test]
fn a_page_shows_everything_that_changed_since_the_approved_text() {
    let project = planned();
    let first = format!("{ACT_TEXT}\nNOBODY SURVIVES\n");
    project.write(Project::ACT, &first);
    project.ok(&["status"]);
    project.write(Project::ACT, format!("{first}The gate is shut.\n"));
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let page = browser.get("/nodes/act-1");
    for shown in ["NOBODY SURVIVES", "The gate is shut."] {
        assert!(page.body.contains(shown), "{shown}: {}", page.body);
    }
    let long: String = (0..3_000).map(|line| format!("NEWTEXT {line}\n")).collect();
    project.write(Project::ACT, &long);
    let page = browser.get("/nodes/act-1");
    let is_whole = page.body.contains("NEWTEXT 2999");
    let offers_approval = page.body.contains("/do/approve");
    assert!(
        is_whole || !offers_approval,
        "what is not shown cannot be approved here"
    );
    // A request for changes is in the API as its description says.
    let version = browser.json("/api/nodes/act-1")["version_hash"].clone();
    let version = version.as_str().expect("a version");
    let form = format!("node=act-1&version={version}&text=shorter");
    let sent = browser.post("/do/request-changes", &form);
    assert_eq!(sent.status, 303, "{sent:?}");
    let node = browser.json("/api/nodes/act-1");
    assert_eq!(node["changes_requested"]["text"], "shorter", "{node}");
    let description = browser.json("/api/openapi.json");
    for schema in ["Node", "Now"] {
        let described = &description["components"]["schemas"][schema]["properties"];
        assert!(described["changes_requested"].is_object(), "{schema}");
    }
}

/// Rendered Markdown leaves these out, and an agent reads them all the same.
#[test]
fn a_first_text_is_shown_exactly_where_it_can_be_approved() {
    let project = story();
    project.write(
        Project::ACT,
        "---\nnote: IN_FRONT_MATTER\n---\n# Act 1\n\n[//]: # (IN_A_COMMENT)\n\n[agent]: http://x \"IN_A_DEFINITION\"\n",
    );
    project.ok(&["status"]);
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    for page in ["/", "/nodes/act-1", "/decide/act-1"] {
        let body = browser.get(page).body;
        assert!(body.contains("/do/approve"), "{page}");
        for part in ["IN_FRONT_MATTER", "IN_A_COMMENT", "IN_A_DEFINITION"] {
            assert!(body.contains(part), "{page} hides {part}");
        }
    }
}

/// A stale chapter on the page; an earlier text comes back while another writer holds the lock.
#[test]
fn keep_waiting_for_the_write_lock_does_not_keep_a_text_that_was_not_shown() {
    let project = planned();
    let earlier = project.read(Project::CHAPTER);
    let judged = format!("{earlier}\nA text to be judged.\n");
    project.write(Project::CHAPTER, &judged);
    project.ok(&["approve", "chapter-01"]);
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    assert_eq!(project.status("chapter-01"), "requires-revalidation");
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let page = browser.get("/nodes/act-1/chapter-01").body;
    // The forms of earlier versions name theirs, too.
    let decisions = page.split("id=\"decide\"").nth(1).expect("decisions");
    let hidden = |name: &str| {
        let after = decisions
            .split(&format!("name=\"{name}\" value=\""))
            .nth(1)
            .expect(name);
        after.split('"').next().expect("a value").to_owned()
    };
    let form = format!(
        "node=act-1/chapter-01&version={}&parent_version={}",
        hidden("version"),
        hidden("parent_version")
    );
    let Some(lock) = Lock::hold(&project, false) else {
        return;
    };
    let answer = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| browser.post("/do/revalidate", &form));
        // Long enough to reach the lock; where it was not reached, the comparison comes later still.
        std::thread::sleep(Duration::from_millis(500));
        project.write(Project::CHAPTER, &earlier);
        drop(lock);
        waiting.join().expect("an answer")
    });
    assert!(
        answer.status == 409 && answer.body.contains("changed since it was shown"),
        "{answer:?}"
    );
    assert_eq!(project.status("chapter-01"), "draft");
    project.write(Project::CHAPTER, &judged);
    assert_eq!(project.status("chapter-01"), "requires-revalidation");
    // The parent's text is part of what was shown.
    let shown = browser.json("/api/nodes/act-1/chapter-01")["version_hash"]
        .as_str()
        .expect("a version")
        .to_owned();
    let other_parent = format!("node=act-1/chapter-01&version={shown}&parent_version={shown}");
    let answer = browser.post("/do/revalidate", &other_parent);
    assert!(
        answer.status == 409 && answer.body.contains("the parent of"),
        "{answer:?}"
    );
    let form = format!(
        "node=act-1/chapter-01&version={shown}&parent_version={}",
        hidden("parent_version")
    );
    assert_eq!(browser.post("/do/revalidate", &form).status, 303);
    assert_eq!(project.status("chapter-01"), "approved");
}

#[test]
fn a_version_comes_back_and_an_operation_is_undone() {
    let project = drafted();
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let first = browser.json("/api/nodes/act-1")["version_hash"]
        .as_str()
        .expect("a version")
        .to_owned();
    project.write(Project::ACT, "# Act 1\n\nsomething else\n");
    assert!(
        browser
            .get(&format!("/nodes/act-1?version={first}"))
            .body
            .contains("<del>"),
        "compared side by side"
    );
    let restore = |replaces: &str| {
        browser.post(
            "/do/restore",
            &format!("node=act-1&version={first}&replaces={replaces}"),
        )
    };
    assert_eq!(
        restore(&first).status,
        409,
        "another text is there than the page showed"
    );
    let second = browser.json("/api/nodes/act-1")["version_hash"]
        .as_str()
        .expect("a version")
        .to_owned();
    assert_eq!(restore(&second).status, 303);
    assert_eq!(project.read(Project::ACT), ACT_TEXT);
    let condemn = |version: &str| {
        browser.post(
            "/do/condemn",
            &format!("node=act-1&version={version}&text=wrong+end"),
        )
    };
    assert_eq!(condemn(&second).status, 409, "another text was shown");
    assert_eq!(condemn(&first).status, 303);
    assert_eq!(project.status("act-1"), "invalid");
    assert!(browser.get("/nodes/act-1").body.contains("wrong end"));
    let operation = &browser.json("/api/timeline?verb=invalidate")["operations"][0]["operation"];
    assert_eq!(
        browser
            .post("/do/undo", &format!("operation={operation}"))
            .status,
        303
    );
    assert_eq!(project.status("act-1"), "draft");
}

#[test]
fn what_only_shows_decides_nothing() {
    let project = drafted();
    let server = Server::start(&project, &["--read-only"]);
    let browser = Browser::welcome(&server);
    for what in ["approve", "comment", "undo"] {
        assert_eq!(
            browser
                .post(&format!("/do/{what}"), "node=act-1&text=x&operation=1")
                .status,
            403,
            "{what}"
        );
    }
    assert_eq!(browser.get("/nodes/act-1").status, 200);
}

#[test]
fn a_comment_ends_the_waiting_of_an_agent_and_is_in_its_briefing() {
    let project = drafted();
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let answer = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let arguments = json!({ "node": "act-1", "timeout_seconds": 30 });
            server
                .ask(
                    "tools/call",
                    json!({ "name": "wait", "arguments": arguments }),
                )
                .message()
        });
        std::thread::sleep(Duration::from_millis(500));
        let said = Instant::now();
        assert_eq!(
            browser
                .post("/do/comment", "node=act-1&text=Who+is+Mara%3F")
                .status,
            303
        );
        let answer = waiting.join().expect("an answer");
        assert!(
            said.elapsed() < Duration::from_secs(20),
            "long before its own time is over"
        );
        answer
    });
    let found = &answer["result"]["structuredContent"];
    assert_eq!(
        (&found["done"], &found["comments"][0]["text"]),
        (&json!(true), &json!("Who is Mara?")),
        "{answer}"
    );
    assert!(
        project.ok(&["brief"]).stdout.contains("comment on act-1"),
        "{}",
        project.ok(&["brief"]).stdout
    );
    project.write(Project::ACT, format!("{ACT_TEXT}\nMara keeps the lamp.\n"));
    assert!(
        !project.ok(&["brief"]).stdout.contains("comment on act-1"),
        "it was answered"
    );
}

#[test]
fn a_no_in_the_browser_ends_the_waiting_with_its_reason() {
    let kinds = [
        ("/do/request-changes", "changes-requested"),
        ("/do/condemn", "rejected"),
    ];
    for (form, kind) in kinds {
        let project = drafted();
        let server = Server::start(&project, &[]);
        let browser = Browser::welcome(&server);
        let version = browser.json("/api/nodes/act-1")["version_hash"].clone();
        let version = version.as_str().expect("a version");
        let answer = format!("node=act-1&version={version}&text=wrong+end");
        let view = crate::wait::wait_for(&project, || {
            let sent = browser.post(form, &answer);
            assert_eq!(sent.status, 303, "{sent:?}");
        });
        let made = &view["decision"];
        assert_eq!(
            (&made["kind"], &made["text"]),
            (&json!(kind), &json!("wrong end")),
            "{view}"
        );
        if kind == "changes-requested" {
            let waiting = project.json(&["status"])["attention"].clone();
            assert_eq!(waiting, json!([]), "it is the agent's turn");
        }
    }
}

#[test]
fn a_decision_in_a_review_ends_the_waiting() {
    let project = drafted();
    project.ok(&[
        "review",
        "add",
        "--of",
        "act-1",
        "--check",
        "the end holds",
        "--severity",
        "MUST",
    ]);
    project.ok(&[
        "review",
        "add",
        "--of",
        "act-10",
        "--check",
        "another act",
        "--severity",
        "MUST",
    ]);
    for act in ["act-1", "act-10"] {
        project.ok(&[
            "review",
            "verdict",
            "qa-001",
            "fail",
            "--finding",
            "it does not",
            "--of",
            act,
        ]);
    }
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let answer = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let arguments = json!({ "node": "act-1", "timeout_seconds": 30 });
            server
                .ask(
                    "tools/call",
                    json!({ "name": "wait", "arguments": arguments }),
                )
                .message()
        });
        std::thread::sleep(Duration::from_millis(500));
        for act in ["act-10", "act-1"] {
            let done = browser.post(
                "/do/accept",
                &format!("subject={act}&item=qa-001&item_version=2&text=it+is+meant+so"),
            );
            assert_eq!(
                (done.status, done.header("location")),
                (303, Some("/reviews?done=accepted"))
            );
        }
        waiting.join().expect("an answer")
    });
    let found = &answer["result"]["structuredContent"];
    assert_eq!(
        (&found["done"], &found["status"]),
        (&json!(true), &json!("draft")),
        "{answer}"
    );
    assert_eq!(
        found["reviews"].as_array().map(Vec::len),
        Some(1),
        "that of act-10 is no business of who waits: {answer}"
    );
    assert_eq!(
        found["reviews"][0]["summary"],
        "accept qa-001 of act-1: it is meant so"
    );
    let stale = browser.post("/do/pass", "subject=act-1&item=qa-001&item_version=1");
    assert_eq!(stale.status, 409, "judged meanwhile: {stale:?}");
}

#[test]
fn answers_are_compressed_for_who_can_read_it() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let bearer = format!("Bearer {}", server.token);
    let asked = |path: &str| {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: {bearer}\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n",
            browser.host
        );
        let mut stream = server.connect();
        stream
            .write_all(request.as_bytes())
            .expect("the server reads");
        let lines = BufReader::new(stream).split(b'\n').map_while(Result::ok);
        let head = lines
            .map(|line| String::from_utf8_lossy(&line).trim().to_lowercase())
            .take_while(|line| !line.is_empty());
        head.collect::<Vec<_>>()
    };
    for path in ["/tree", "/assets/tree.js", "/api/tree"] {
        let head = asked(path);
        assert!(
            head.contains(&"content-encoding: gzip".to_owned()),
            "{path}: {head:?}"
        );
    }
    assert!(
        !asked("/api/live")
            .iter()
            .any(|line| line.starts_with("content-encoding")),
        "a stream is not held back"
    );
}

#[test]
fn who_comes_back_hears_what_was_missed() {
    let project = drafted();
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    browser.post("/do/comment", "node=act-1&text=one");
    let known = browser.json("/api/tree")["head"]
        .as_u64()
        .expect("a number");
    browser.post("/do/comment", "node=act-1&text=two");
    let mut stream = server.connect();
    let request = format!(
        "GET /api/live HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\nlast-event-id: {known}\r\n\r\n",
        browser.host, browser.cookie
    );
    stream
        .write_all(request.as_bytes())
        .expect("the server reads");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let missed = lines
        .by_ref()
        .find(|line| line.starts_with("data: {\"by\""))
        .expect("an event");
    assert!(missed.contains("comment on act-1: two"), "{missed}");
    // What is edited by hand, in no process of ours, is seen too.
    project.write(Project::ACT, "# Act 1\n\nedited\n");
    let edited = lines
        .by_ref()
        .find(|line| line.starts_with("data: {\"by\""))
        .expect("an event");
    assert!(
        edited.contains("\"verb\":\"observe\"") && edited.contains("act-1"),
        "{edited}"
    );
    assert_eq!(server.stop(), Some(0), "a stream holds up no end");
}

const SECOND: &str = "acts/act-1/chapters/chapter-02/plan.md";

/// Returns the versions that the form of a page carries, encoded for a form.
fn shown_versions(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"shown\" value=\"").expect("a form");
    let (value, _) = rest.split_once('"').expect("a value");
    value.replace('/', "%2F").replace(' ', "+")
}

#[test]
fn a_batch_decides_about_exactly_the_texts_on_the_page() {
    let project = drafted();
    project.write(Project::ACT, "# Act 1\n\nThe lighthouse.\n");
    project.write(Project::CHAPTER, "# Chapter 1\n\nThe storm.\n");
    project.write(SECOND, "# Chapter 2\n\nThe thief.\n");
    let statuses = || ["act-1", "chapter-01", "chapter-02"].map(|node| project.status(node));
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let page = browser.get("/decide/act-1").body;
    for part in [
        "The lighthouse.",
        "The storm.",
        "The thief.",
        "Approve 3 plans as shown",
    ] {
        assert!(page.contains(part), "{page}");
    }
    let form = format!("top=act-1&shown={}", shown_versions(&page));
    project.write(SECOND, "# Chapter 2\n\nNobody read this.\n");
    let refused = browser.post("/do/approve-plans", &form);
    assert!(
        refused.status == 409 && refused.body.contains("act-1/chapter-02"),
        "{refused:?}"
    );
    assert_eq!(statuses(), ["draft", "draft", "draft"]);
    assert_eq!(browser.post("/do/approve-plans", "top=act-1").status, 400);
    assert_eq!(browser.post("/do/approve-plans", "shown=act-1").status, 400);
    let page = browser.get("/decide").body;
    let form = format!("top=&shown={}", shown_versions(&page));
    let done = browser.post("/do/approve-plans", &form);
    let location = done.header("location").unwrap_or_default();
    assert!(
        done.status == 303 && location.starts_with("/decide?done=all-approved&operation="),
        "{location}"
    );
    assert_eq!(statuses(), ["approved", "approved", "approved"]);
    let log: Value = browser.json("/api/timeline?verb=approve");
    assert_eq!(log["operations"].as_array().map(Vec::len), Some(1), "{log}");
}

#[test]
fn outline_and_stats_are_pages() {
    let project = planned();
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let outline = browser.get("/outline");
    assert!(
        outline.status == 200 && outline.body.contains("Chapter 1"),
        "{outline:?}"
    );
    let stats = browser.get("/stats");
    assert!(
        stats.status == 200
            && stats.body.contains("Prose words")
            && stats.body.contains("/nodes/act-1"),
        "{stats:?}"
    );
}

#[test]
fn several_projects_of_one_server_lead_to_each_other() {
    let novel = drafted();
    let other = novel.user_directory().join("shop");
    std::fs::create_dir_all(other.join("acts/act-1")).expect("a directory");
    let made = novel
        .command(&["init", "--profile", "story"])
        .current_dir(&other)
        .status();
    assert!(made.expect("a start").success());
    std::fs::write(other.join(Project::ACT), ACT_TEXT).expect("a plan");
    let directory = other.display().to_string();
    let servers = Server::start_several(&novel, &["--also", &directory], 2);
    let browser = Browser::welcome(&servers[0]);
    let page = browser.get("/projects");
    assert!(
        page.body.contains("2 decisions wait in 2 projects"),
        "{}",
        page.body
    );
    // The header of every page leads to the other one, and signs the browser in there.
    let links: Vec<&str> = page.body.split("href=\"/projects/").skip(1).collect();
    let names: Vec<&str> = links
        .iter()
        .filter_map(|rest| rest.split('?').next())
        .collect();
    let leads: Vec<Reply> = names
        .iter()
        .map(|name| browser.get(&format!("/projects/{name}?page=%2Fnodes%2Fact-1")))
        .collect();
    let wanted = format!(
        "http://127.0.0.1:{}/nodes/act-1?token={}",
        servers[1].port, servers[1].token
    );
    assert!(
        leads
            .iter()
            .any(|reply| reply.header("location") == Some(wanted.as_str())),
        "{wanted}: {leads:?}"
    );
    // Another server is never the target, and an unknown project is no page.
    let reply = browser.get(&format!("/projects/{}?page=%2F%2Fevil.example", names[0]));
    let location = reply.header("location").expect("a target");
    assert!(location.starts_with("http://127.0.0.1:"), "{location}");
    assert_eq!(browser.get("/projects/nowhere").status, 404);
    // A token of a person is valid in its own project only, and gets no other's secret.
    let made = novel.json(&[
        "team",
        "token",
        "create",
        "ben",
        "--as",
        "human:ben",
        "--scope",
        "approve",
    ]);
    let token = made["secret"].as_str().expect("a secret");
    let bearer = format!("Bearer {token}");
    let asked: Vec<Reply> = servers
        .iter()
        .map(|server| {
            let host = format!("127.0.0.1:{}", server.port);
            let path = format!("/projects/{}?page=%2F", names[0]);
            server.send_to(
                &path,
                "GET",
                &[("host", &host), ("authorization", &bearer)],
                "",
            )
        })
        .collect();
    let led: Vec<&str> = asked
        .iter()
        .filter_map(|reply| reply.header("location"))
        .collect();
    assert_eq!(led.len(), 1, "{asked:?}");
    assert!(!led[0].contains("token="), "{led:?}");
}
