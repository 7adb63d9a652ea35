//! `tl mcp`: a client that starts the real program and speaks over its standard streams, in both eras.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Project;

use crate::{empty, keys, planned, story, text, texts};

/// Nothing a server does by itself takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which era a client speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Era {
    Old,
    New,
}

pub(crate) const ERAS: [Era; 2] = [Era::Old, Era::New];

/// A client.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    pub(crate) heard: Receiver<Value>,
    /// What came without being asked for.
    pub(crate) notes: Vec<Value>,
    pub(crate) era: Era,
    capabilities: Value,
    /// What else each request says about itself.
    pub(crate) meta: Value,
    pub(crate) next: u64,
}

impl Client {
    /// Starts the program; an old client greets it.
    pub(crate) fn start(project: &Project, era: Era, arguments: &[&str]) -> Self {
        Self::with_capabilities(project, era, arguments, json!({}))
    }

    pub(crate) fn with_capabilities(
        project: &Project,
        era: Era,
        arguments: &[&str],
        capabilities: Value,
    ) -> Self {
        let mut all = vec!["mcp"];
        all.extend(arguments);
        Self::spawn(project.command(&all), era, capabilities)
    }

    /// Starts the program in another working copy.
    pub(crate) fn start_in(project: &Project, directory: &Path, era: Era) -> Self {
        let mut command = project.command(&["mcp"]);
        command.current_dir(directory);
        Self::spawn(command, era, json!({}))
    }

    fn spawn(mut command: Command, era: Era, capabilities: Value) -> Self {
        command
            .env("USER", "mara")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("an output"));
        let (out, heard) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let line = line.expect("a line");
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("no JSON ({error}): {line}"));
                if out.send(value).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        let mut client = Self {
            child,
            input,
            heard,
            notes: Vec::new(),
            era,
            capabilities,
            meta: json!({}),
            next: 0,
        };
        if era == Era::Old {
            let greeting = json!({
                "protocolVersion": "2025-06-18",
                "capabilities": client.capabilities,
                "clientInfo": { "name": "old-client", "version": "1" },
            });
            assert_eq!(
                client.ask("initialize", greeting)["result"]["protocolVersion"],
                "2025-06-18"
            );
            client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        client
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.say_raw(&format!("{message}\n"));
    }

    pub(crate) fn say_raw(&mut self, text: &str) {
        let input = self.input.as_mut().expect("an open input");
        input
            .write_all(text.as_bytes())
            .and_then(|()| input.flush())
            .expect("the program reads");
    }

    /// Sends a request and returns its number.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        let mut meta = self.meta.clone();
        if self.era == Era::New {
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            meta["io.modelcontextprotocol/clientInfo"] =
                json!({ "name": "new-client", "version": "1" });
        }
        // What a request says of itself stands above what the client says of all of them.
        if params.get("_meta").is_none() && meta != json!({}) {
            params["_meta"] = meta;
        }
        let id = self.next;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Returns the next message, whatever it is.
    pub(crate) fn hear(&mut self) -> Value {
        self.heard.recv_timeout(PATIENCE).expect("a message")
    }

    /// Returns the answer to a request; what comes before it is kept.
    pub(crate) fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.hear();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.notes.push(message);
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer_to(id)
    }

    /// Calls a tool and returns its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        assert!(answer.get("error").is_none(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Waits for a notification of this method.
    pub(crate) fn notified(&mut self, method: &str) -> Value {
        if let Some(place) = self.notes.iter().position(|note| note["method"] == method) {
            return self.notes.remove(place);
        }
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let message = self.hear();
            if message["method"] == method {
                return message;
            }
            self.notes.push(message);
        }
        panic!("no {method}");
    }

    /// Closes the streams and returns the exit code and what was said beside the protocol.
    pub(crate) fn end(mut self) -> (i32, String) {
        drop(self.input.take());
        let begun = Instant::now();
        let status = self.child.wait().expect("an end");
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "the end took {:?}",
            begun.elapsed()
        );
        let mut said = String::new();
        let mut errors = self.child.stderr.take().expect("errors");
        std::io::Read::read_to_string(&mut errors, &mut said).expect("text");
        (status.code().unwrap_or(-1), said)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn act(id: &str) -> Value {
    json!({ "entity_type": "act", "entity_id": id })
}

/// Asserts that text and structure of a result say the same.
#[track_caller]
pub(crate) fn structured(result: &Value) -> &Value {
    let content = result["content"].as_array().expect("content");
    assert_eq!(content.len(), 1, "{result}");
    let parsed: Value = serde_json::from_str(text(&content[0], "text")).expect("JSON as text");
    assert_eq!(parsed, result["structuredContent"]);
    &result["structuredContent"]
}

#[test]
fn both_eras_are_greeted_by_one_process() {
    let project = planned();
    let mut client = Client::start(&project, Era::New, &[]);
    let found = client.ask("server/discover", json!({}))["result"].clone();
    for version in ["2026-07-28", "2025-11-25", "2025-06-18"] {
        assert!(
            texts(&found["supportedVersions"]).contains(&version),
            "{found}"
        );
    }
    assert_eq!(
        keys(&found["capabilities"]),
        ["completions", "logging", "prompts", "resources", "tools"],
        "the list of tools never changes, so nothing is said about that"
    );
    assert_eq!(
        (found["ttlMs"].as_u64(), text(&found, "cacheScope")),
        (Some(300_000), "public")
    );
    let instructions = text(&found, "instructions").to_owned();
    assert!((100..=1_500).contains(&instructions.len()));
    assert_eq!(
        found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "throughline"
    );
    let new_tools = client.ask("tools/list", json!({}))["result"].clone();
    // A client may look around in the new way and go on in the old one.
    client.era = Era::Old;
    let before = client.ask("tools/list", json!({}));
    assert_eq!(
        before["error"]["code"], -32602,
        "nobody said who they are: {before}"
    );
    let greeting = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" },
    });
    let greeted = client.ask("initialize", greeting)["result"].clone();
    assert_eq!(text(&greeted, "protocolVersion"), "2025-11-25");
    assert_eq!(text(&greeted, "instructions"), instructions);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    let old_tools = client.ask("tools/list", json!({}))["result"].clone();
    assert_eq!(old_tools["tools"], new_tools["tools"]);
    assert_eq!(
        keys(&old_tools),
        ["tools"],
        "an old client gets nothing it does not know"
    );
    assert_eq!(
        keys(&new_tools),
        ["cacheScope", "resultType", "tools", "ttlMs"]
    );
    client.era = Era::New;
    assert_eq!(
        client.ask("ping", json!({}))["error"]["code"],
        -32601,
        "the new era has no ping"
    );
    assert_eq!(client.end(), (0, String::new()));
}

#[test]
fn a_version_nobody_knows_is_answered_with_those_we_know() {
    let project = planned();
    let mut client = Client::start(&project, Era::Old, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let answer = client.ask("tools/list", json!({ "_meta": meta }));
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert!(texts(&answer["error"]["data"]["supported"]).contains(&"2026-07-28"));
    let greeting = json!({
        "protocolVersion": "2031-01-01", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" },
    });
    assert_eq!(
        client.ask("initialize", greeting)["result"]["protocolVersion"],
        "2025-11-25"
    );
}

#[test]
fn every_process_lists_the_same_byte_for_byte() {
    let list = |method: &str| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        });
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "_meta": meta } });
        let project = planned();
        let mut command = project.command(&["mcp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        writeln!(child.stdin.take().expect("an input"), "{request}").expect("the program reads");
        String::from_utf8(child.wait_with_output().expect("an output").stdout).expect("text")
    };
    for method in [
        "tools/list",
        "prompts/list",
        "resources/templates/list",
        "resources/list",
        "server/discover",
    ] {
        let first = list(method);
        assert!(first.contains("\"result\""), "{first}");
        assert_eq!(first, list(method));
    }
    let mut first: Value = serde_json::from_str(&list("tools/list")).expect("JSON");
    for tool in first["result"]["tools"].as_array().expect("tools") {
        check_definition(tool);
    }
    assert!(first["result"]["tools"].to_string().len() < 14_000);
    for tool in first["result"]["tools"].as_array_mut().expect("tools") {
        tool.as_object_mut().expect("a tool").remove("outputSchema");
    }
    let sent = first["result"]["tools"].to_string().len();
    assert!(sent < 7_500, "{sent} bytes reach every client");
}

fn check_definition(tool: &Value) {
    let name = text(tool, "name");
    let is_core = name.starts_with("work_") || ["more_tools", "call_tool"].contains(&name);
    assert_eq!(
        tool["_meta"]["anthropic/alwaysLoad"] == true,
        is_core,
        "{tool}"
    );
    let hints = match tool["annotations"]["readOnlyHint"].as_bool() {
        Some(true) => vec!["readOnlyHint"],
        _ => vec![
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
            "readOnlyHint",
        ],
    };
    assert_eq!(keys(&tool["annotations"]), hints, "{tool}");
    assert_eq!(
        (&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]),
        (&json!("object"), &json!("object"))
    );
}

/// The settings are read again while the server runs, and broken ones leave the last in force.
#[test]
fn changed_settings_are_used_and_clients_are_told() {
    ERAS.into_iter().for_each(settings_change);
}

fn settings_change(era: Era) {
    let project = planned();
    let mut client = Client::start(&project, era, &[]);
    if era == Era::New {
        let filter = json!({ "toolsListChanged": true });
        client.request("subscriptions/listen", json!({ "notifications": filter }));
        client.notified("notifications/subscriptions/acknowledged");
    }
    let tools = |client: &mut Client| client.ask("tools/list", json!({}))["result"].to_string();
    assert!(!tools(&mut client).contains("ticket_new"));
    let config = project.read(".throughline/config.toml");
    project.write(".throughline/config.toml", "profiles = 7\n");
    assert!(tools(&mut client).contains("plan_write"));
    let with_tickets = config.replace("[\"story\"]", "[\"story\", \"tickets\"]");
    assert_ne!(with_tickets, config, "{config}");
    project.write(".throughline/config.toml", &with_tickets);
    let is_told = |note: &Value| note["method"] == "notifications/tools/list_changed";
    let begun = Instant::now();
    while !client.notes.iter().any(is_told) {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody was told");
        client.call("work_where", json!({}));
    }
    assert!(tools(&mut client).contains("ticket_new"));
    let made = client.call("ticket_new", json!({ "title": "Limits" }));
    assert_eq!(made["structuredContent"]["id"], "001", "{made}");
}

#[test]
fn tool_sets_are_chosen_at_the_start() {
    let project = planned();
    let names = |arguments: &[&str]| {
        let mut client = Client::start(&project, Era::Old, arguments);
        let answer = client.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().expect("tools").clone();
        tools
            .iter()
            .map(|tool| text(tool, "name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&["--toolsets", "core"]),
        [
            "work_where",
            "work_next",
            "work_brief",
            "work_search",
            "work_claim",
            "work_release",
            "work_overlap",
            "work_gates",
            "work_log",
            "work_undo",
            "work_check",
            "work_decisions",
            "work_decisions_restore",
            "work_decisions_prune",
            "work_submit",
        ]
    );
    let reading = names(&["--read-only"]);
    assert!(
        reading.contains(&"plan_state".to_owned()) && !reading.contains(&"plan_approve".to_owned())
    );
    let seed = names(&["--names", "seed"]);
    assert!(
        seed.contains(&"get_entity_state".to_owned()) && !seed.contains(&"plan_state".to_owned())
    );
    // What is not listed cannot be called either.
    let mut client = Client::start(&project, Era::Old, &["--read-only"]);
    let reason = json!({ "entity_type": "act", "entity_id": "act-1", "reason": "a test" });
    let refused = client.ask(
        "tools/call",
        json!({ "name": "cascade_invalidate", "arguments": reason }),
    );
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(project.status("act-1"), "approved");
    let output = project.refused(&["mcp", "--toolsets", "cats"]);
    assert_eq!(output.stdout, "");
    assert!(
        output.stderr.contains("`cats`") && output.stderr.contains("core, plan"),
        "{}",
        output.stderr
    );
}

#[test]
fn calls_succeed_fail_and_are_refused_alike_in_both_eras() {
    for era in ERAS {
        let project = planned();
        let mut client = Client::start(&project, era, &[]);
        let result = client.call("get_entity_state", act("act-1"));
        assert_eq!(result["isError"], false);
        assert_eq!(result.get("resultType").is_some(), era == Era::New);
        assert_eq!(text(structured(&result), "status"), "approved");

        let result = client.call("get_entity_state", act("act-9"));
        assert_eq!(result["isError"], true, "{result}");
        let error = &structured(&result)["error"];
        assert_eq!(
            (keys(error), text(error, "kind")),
            (vec!["kind", "message", "next_steps"], "not-found")
        );

        for wrong in [
            json!({}),
            json!({ "entity_type": 5, "entity_id": [] }),
            json!({ "entity": "act-1" }),
        ] {
            let result = client.call("get_entity_state", wrong);
            assert_eq!(
                (
                    &result["isError"],
                    text(&structured(&result)["error"], "kind")
                ),
                (&json!(true), "invalid")
            );
        }

        let answer = client.ask("tools/call", json!({ "name": "get_entity_stat" }));
        assert_eq!(answer["error"]["code"], -32602);
        assert!(text(&answer["error"], "message").contains("did you mean `get_entity_state`?"));

        for malformed in [
            json!({}),
            json!({ "name": 5 }),
            json!({ "name": "where", "arguments": "x" }),
        ] {
            let answer = client.ask("tools/call", malformed);
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
            assert!(
                text(&answer["error"], "message").contains("expected {\"name\": string"),
                "{answer}"
            );
        }

        let answer = client.ask("tools/cal", json!({}));
        assert_eq!(answer["error"]["code"], -32601);
        assert!(
            text(&answer["error"], "message").contains("did you mean `tools/call`?"),
            "{answer}"
        );
        assert_eq!(client.end(), (0, String::new()));
    }
}

#[test]
fn a_change_is_recorded_under_the_clients_name() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    let mut client = Client::start(&project, Era::New, &[]);
    let result = client.call("approve_entity", act("act-1"));
    assert_eq!(structured(&result)["success"], true, "{result}");
    let newest = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(
        (text(newest, "verb"), text(newest, "channel")),
        ("approve", "mcp")
    );
    let session = text(newest, "by")
        .strip_prefix("agent:new-client/")
        .expect("the client's name")
        .to_owned();
    client.call(
        "cascade_invalidate",
        json!({ "entity_type": "act", "entity_id": "act-1", "reason": "a test" }),
    );
    let newest = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(
        text(newest, "by"),
        format!("agent:new-client/{session}"),
        "one connection is one session"
    );
}

#[test]
fn resources_are_listed_read_and_completed() {
    for era in ERAS {
        let project = planned();
        let mut client = Client::start(&project, era, &[]);
        let listed = client.ask("resources/list", json!({}))["result"].clone();
        let uris: Vec<&str> = listed["resources"]
            .as_array()
            .expect("resources")
            .iter()
            .map(|r| text(r, "uri"))
            .collect();
        assert!(uris.contains(&"plan://node/act-1/chapter-01"), "{uris:?}");
        assert_eq!(
            client.ask("resources/list", json!({ "cursor": "cats" }))["error"]["code"],
            -32602
        );

        let read = client.ask(
            "resources/read",
            json!({ "uri": "state://planning/act/act-1" }),
        )["result"]
            .clone();
        assert_eq!(read["contents"][0]["mimeType"], "application/json");
        let state: Value = serde_json::from_str(text(&read["contents"][0], "text")).expect("JSON");
        assert_eq!(text(&state, "status"), "approved");
        if era == Era::New {
            assert_eq!(
                (read["ttlMs"].as_u64(), text(&read, "cacheScope")),
                (Some(0), "private")
            );
        }
        let missing = client.ask("resources/read", json!({ "uri": "plan://node/act-9" }));
        let code = if era == Era::New { -32602 } else { -32002 };
        assert_eq!(missing["error"]["code"], code, "{missing}");

        let templates =
            client.ask("resources/templates/list", json!({}))["result"]["resourceTemplates"]
                .clone();
        assert_eq!(
            templates[0]["uriTemplate"],
            "state://planning/{entity_type}/{entity_id}"
        );
        let complete = json!({
            "ref": { "type": "ref/resource", "uri": "state://planning/{entity_type}/{entity_id}" },
            "argument": { "name": "entity_id", "value": "chap" },
        });
        let completed = client.ask("completion/complete", complete)["result"]["completion"].clone();
        assert_eq!(texts(&completed["values"]), ["act-1/chapter-01"]);
        assert_eq!(
            (&completed["total"], &completed["hasMore"]),
            (&json!(1), &json!(false))
        );
        let unknown = json!({ "ref": { "type": "ref/resource", "uri": "x://y" }, "argument": { "name": "a", "value": "" } });
        assert_eq!(
            client.ask("completion/complete", unknown)["result"]["completion"]["values"],
            json!([])
        );
    }
}

#[test]
fn prompts_are_listed_filled_in_and_completed() {
    for era in ERAS {
        let project = planned();
        let mut client = Client::start(&project, era, &[]);
        let listed = client.ask("prompts/list", json!({}))["result"]["prompts"].clone();
        let names: Vec<&str> = listed
            .as_array()
            .expect("prompts")
            .iter()
            .map(|prompt| text(prompt, "name"))
            .collect();
        assert_eq!(
            names,
            [
                "plan_act",
                "plan_chapter",
                "plan_scene",
                "approve",
                "revalidate",
                "resume"
            ]
        );
        let arguments = json!({ "id": 2, "under": "act-1" });
        let given = client.ask(
            "prompts/get",
            json!({ "name": "plan_chapter", "arguments": arguments }),
        );
        let message = &given["result"]["messages"][0];
        assert_eq!(text(message, "role"), "user");
        let said = project
            .ok(&["plan", "chapter", "2", "--under", "act-1"])
            .stdout;
        // A client without a file system writes it with a tool.
        let said = said.replace(
            "Save it to `acts/act-1/chapters/chapter-02/plan.md`.",
            "Write it with `plan_write`, as the text of `act-1/chapter-02`.",
        );
        assert_eq!(
            text(&message["content"], "text").trim(),
            said.trim(),
            "otherwise the same as tl plan"
        );
        for wrong in [
            json!({ "name": "cats" }),
            json!({ "name": "plan_chapter" }),
            json!({ "name": "plan_chapter", "arguments": { "id": {} } }),
            json!({ "name": "approve", "arguments": { "node": "act-9" } }),
        ] {
            let answer = client.ask("prompts/get", wrong);
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
        let complete = json!({
            "ref": { "type": "ref/prompt", "name": "approve" }, "argument": { "name": "node", "value": "act" },
        });
        let completed = client.ask("completion/complete", complete)["result"]["completion"].clone();
        assert!(
            texts(&completed["values"]).contains(&"act-1"),
            "{completed}"
        );
    }
}

#[test]
fn an_old_client_hears_what_another_process_changes() {
    let project = planned();
    let mut client = Client::start(&project, Era::Old, &[]);
    let uri = "state://planning/act/act-1";
    assert_eq!(
        client.ask("resources/subscribe", json!({ "uri": uri }))["result"],
        json!({})
    );
    assert_eq!(
        client.ask("resources/subscribe", json!({ "uri": "plan://node/act-1" }))["result"],
        json!({})
    );
    project.ok(&["invalidate", "act-1", "--reason", "a test"]);
    let note = client.notified("notifications/resources/updated");
    assert_eq!(
        note["params"],
        json!({ "uri": uri }),
        "the text of the plan is what it was"
    );
    // Nobody has told the state of this edit yet.
    project.write(Project::ACT, crate::ACT_EDITED);
    let updated: Vec<String> = (0..2)
        .map(|_| {
            text(
                &client.notified("notifications/resources/updated")["params"],
                "uri",
            )
            .to_owned()
        })
        .collect();
    assert!(
        updated.contains(&"plan://node/act-1".to_owned()) && updated.contains(&uri.to_owned()),
        "{updated:?}"
    );
    assert!(
        !client
            .notes
            .iter()
            .any(|note| note["method"] == "notifications/resources/list_changed")
    );
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.ok(&["status"]);
    client.notified("notifications/resources/list_changed");
    assert_eq!(
        client.ask("resources/unsubscribe", json!({ "uri": uri }))["result"],
        json!({})
    );
    assert_eq!(
        client.ask("subscriptions/listen", json!({ "notifications": {} }))["error"]["code"],
        -32601
    );
}

#[test]
fn a_new_client_hears_what_another_process_changes() {
    let project = planned();
    let mut client = Client::start(&project, Era::New, &[]);
    let uri = "state://planning/act/act-1";
    let filter = json!({ "resourcesListChanged": true, "toolsListChanged": true, "resourceSubscriptions": [uri, "x://y"] });
    let id = client.request("subscriptions/listen", json!({ "notifications": filter }));
    let accepted = client.notified("notifications/subscriptions/acknowledged");
    let notifications = &accepted["params"]["notifications"];
    assert_eq!(
        keys(notifications),
        [
            "resourceSubscriptions",
            "resourcesListChanged",
            "toolsListChanged"
        ],
        "{notifications}"
    );
    // Others are served meanwhile.
    client.call("where", json!({}));
    project.ok(&["invalidate", "act-1", "--reason", "a test"]);
    let note = client.notified("notifications/resources/updated");
    assert_eq!(note["params"]["uri"], uri);
    assert_eq!(
        note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.ok(&["status"]);
    let note = client.notified("notifications/resources/list_changed");
    assert_eq!(
        note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
    assert_eq!(
        client.ask("resources/subscribe", json!({ "uri": uri }))["error"]["code"],
        -32601
    );
    // An open subscription does not hold up the end.
    assert_eq!(client.end(), (0, String::new()));
}

#[test]
fn more_than_a_thousand_resources_in_one_subscription_are_refused() {
    let project = planned();
    let mut client = Client::start(&project, Era::New, &[]);
    let uris: Vec<String> = (0..1_001).map(|number| format!("x://{number}")).collect();
    let filter = json!({ "resourceSubscriptions": uris });
    let answer = client.ask("subscriptions/listen", json!({ "notifications": filter }));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(
        text(&answer["error"], "message").contains("at most 1000"),
        "{answer}"
    );
}

#[test]
fn what_goes_on_is_told_at_the_level_the_client_asked_for() {
    let project = planned();
    let mut client = Client::start(&project, Era::Old, &[]);
    client.call("where", json!({}));
    assert_eq!(
        client.ask("logging/setLevel", json!({ "level": "cats" }))["error"]["code"],
        -32602
    );
    assert_eq!(
        client.ask("logging/setLevel", json!({ "level": "debug" }))["result"],
        json!({})
    );
    assert!(client.notes.is_empty(), "{:?}", client.notes);
    client.call("where", json!({}));
    let note = client.notified("notifications/message");
    assert_eq!(
        (
            text(&note["params"], "level"),
            &note["params"]["data"]["tool"]
        ),
        ("debug", &json!("work_where"))
    );

    assert_eq!(
        client.ask("logging/setLevel", json!({ "level": "error" }))["result"],
        json!({})
    );
    client.call("where", json!({}));
    client.call("where", json!({}));
    assert!(client.notes.is_empty(), "{:?}", client.notes);

    let mut client = Client::start(&project, Era::New, &[]);
    client.call("where", json!({}));
    client.call("where", json!({}));
    assert!(
        client.notes.is_empty(),
        "a new client that asks for nothing hears nothing"
    );
    // There is no level but that of the request itself.
    for (level, hears) in [("warning", false), ("debug", true)] {
        client.meta = json!({ "io.modelcontextprotocol/logLevel": level });
        client.call("where", json!({}));
        client.meta = json!({});
        client.call("where", json!({}));
        let heard = client
            .notes
            .iter()
            .filter(|note| note["method"] == "notifications/message")
            .count();
        assert_eq!(heard, usize::from(hears), "{level}: {:?}", client.notes);
    }
}

#[test]
fn long_lists_come_in_pages() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    for chapter in 1..=50 {
        let folder = format!("acts/act-1/chapters/chapter-{chapter:02}");
        project.write(&format!("{folder}/plan.md"), "# Chapter\n");
        for scene in 1..=4 {
            project.write(
                &format!("{folder}/scenes/scene-{chapter:02}{scene:02}-blueprint.md"),
                "# Scene\n",
            );
        }
    }
    for era in ERAS {
        let mut client = Client::start(&project, era, &[]);
        let mut seen = Vec::new();
        let mut cursor = None;
        let mut sizes = Vec::new();
        loop {
            let params = cursor
                .as_ref()
                .map_or_else(|| json!({}), |cursor: &Value| json!({ "cursor": cursor }));
            let page = client.ask("resources/list", params)["result"].clone();
            let uris: Vec<String> = page["resources"]
                .as_array()
                .expect("resources")
                .iter()
                .map(|one| text(one, "uri").to_owned())
                .collect();
            sizes.push(uris.len());
            seen.extend(uris);
            if page.get("nextCursor").is_none() {
                break;
            }
            cursor = Some(page["nextCursor"].clone());
        }
        assert_eq!(sizes, [100, 100, 52]);
        assert_eq!(seen[0], "plan://briefing");
        let mut different = seen.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 252, "each comes once");
        // A page tells what was recorded since the one before it.
        let last = |client: &mut Client| {
            let page = client.ask("resources/list", json!({ "cursor": "200" }))["result"].clone();
            text(
                page["resources"]
                    .as_array()
                    .expect("resources")
                    .last()
                    .expect("one"),
                "description",
            )
            .to_owned()
        };
        assert_eq!(last(&mut client), "scene, draft");
        project.ok(&[
            "invalidate",
            "act-1/chapter-50/scene-5004",
            "--reason",
            "a test",
        ]);
        assert_eq!(last(&mut client), "scene, invalid");
        project.ok(&["undo"]);
        // More fit than may be told at once.
        let complete = json!({
            "ref": { "type": "ref/prompt", "name": "approve" }, "argument": { "name": "node", "value": "act-1/" },
        });
        let completed = client.ask("completion/complete", complete)["result"]["completion"].clone();
        assert_eq!(completed["values"].as_array().expect("values").len(), 100);
        assert_eq!(
            (&completed["total"], &completed["hasMore"]),
            (&json!(250), &json!(true))
        );
    }
}

#[test]
fn a_client_that_wants_to_know_is_told_that_a_call_goes_on() {
    for era in ERAS {
        let project = story();
        project.write(Project::ACT, crate::ACT_TEXT);
        let mut client = Client::start(&project, era, &[]);
        client.call("wait", json!({ "node": "act-1", "timeout_seconds": 1 }));
        assert!(
            client
                .notes
                .iter()
                .all(|note| note["method"] != "notifications/progress"),
            "nobody asked"
        );
        client.meta = json!({ "progressToken": "how-far" });
        client.call("wait", json!({ "node": "act-1", "timeout_seconds": 3 }));
        let told = client.notified("notifications/progress")["params"].clone();
        assert_eq!(
            (text(&told, "progressToken"), &told["total"]),
            ("how-far", &json!(3.0)),
            "{told}"
        );
        assert!(
            told["progress"]
                .as_f64()
                .is_some_and(|progress| progress > 0.0 && progress <= 3.0),
            "{told}"
        );
    }
}

#[test]
fn outside_a_project_it_says_so_and_never_on_the_protocols_stream() {
    let project = empty();
    for arguments in [vec!["mcp"], vec!["--json", "mcp"]] {
        let output = project.refused(&arguments);
        assert_eq!(output.stdout, "");
        assert!(
            output.stderr.contains("there is no Throughline project"),
            "{}",
            output.stderr
        );
        assert!(output.stderr.contains("tl init"), "{}", output.stderr);
    }
}
