//! `tl mcp`: what no client should send, and many clients at once.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::mcp::{Client, ERAS, Era, act};
use crate::{planned, story, text};

#[test]
fn a_thousand_malformed_frames_each_get_what_they_are_due() {
    let project = planned();
    for era in ERAS {
        let mut client = Client::start(&project, era, &[]);
        let answered = [
            "{",
            "nonsense",
            "[]",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            "5",
            "null",
            "{}",
            "\"text\"",
            "{\"jsonrpc\":\"2.0\"}",
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":{}}}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\u0000\",\"params\":5}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
            "\u{1}\u{2}",
        ];
        let ignored = [
            "",
            "   ",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cats\"}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":5}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":77,\"error\":{\"code\":1,\"message\":\"x\"}}",
        ];
        for _ in 0..50 {
            for frame in answered.iter().chain(&ignored) {
                client.say_raw(&format!("{frame}\n"));
            }
            for frame in answered {
                let answer = client.hear();
                assert!(
                    answer["error"]["code"]
                        .as_i64()
                        .is_some_and(|code| code <= -32600),
                    "{frame}: {answer}"
                );
            }
        }
        client.next = 1_000;
        let result = client.call("get_entity_state", act("act-1"));
        assert_eq!(
            result["isError"], false,
            "the server lives, and nothing else was answered"
        );
        assert!(client.notes.is_empty(), "{:?}", client.notes);
        assert_eq!(client.end(), (0, String::new()));
    }
}

#[test]
fn a_line_that_never_ends_is_not_kept() {
    let project = planned();
    let mut client = Client::start(&project, Era::Old, &[]);
    let chunk = "x".repeat(1024 * 1024);
    for _ in 0..20 {
        client.say_raw(&chunk);
    }
    client.say_raw("\n");
    assert_eq!(client.hear()["error"]["code"], -32600);
    assert_eq!(client.call("where", json!({}))["isError"], false);
}

#[test]
fn an_end_before_any_greeting_is_nothing_wrong() {
    let project = planned();
    assert_eq!(
        Client::start(&project, Era::New, &[]).end(),
        (0, String::new())
    );
    let output = project.run(&["mcp"]);
    assert_eq!(
        (output.code, output.stdout.as_str(), output.stderr.as_str()),
        (0, "", "")
    );
}

#[test]
fn many_clients_at_once_lose_nothing() {
    let project = story();
    for number in 1..=4 {
        project.write(
            &format!("acts/act-{number}/strategic-plan.md"),
            format!("# Act {number}\n"),
        );
    }
    project.ok(&["status"]);
    let before = crate::newest_operation(&project);
    std::thread::scope(|scope| {
        for number in 1..=4 {
            let project = &project;
            scope.spawn(move || {
                let mut client = Client::start(
                    project,
                    if number % 2 == 0 { Era::Old } else { Era::New },
                    &[],
                );
                for round in 0..50 {
                    let id = format!("act-{number}");
                    let result = if round % 2 == 0 {
                        let forced =
                            json!({ "entity_type": "act", "entity_id": id, "force": true });
                        client.call("approve_entity", forced)
                    } else {
                        let act = json!({ "entity_type": "act", "entity_id": id });
                        let now = client.call("get_entity_state", act.clone());
                        let mut rejected = act;
                        rejected["status"] = json!("invalid");
                        rejected["version_hash"] = now["structuredContent"]["version_hash"].clone();
                        rejected["invalidation_reason"] = json!(format!("round {round}"));
                        client.call("update_entity_state", rejected)
                    };
                    assert_eq!(result["isError"], false, "{result}");
                }
            });
        }
    });
    assert_eq!(crate::newest_operation(&project), before + 200);
}

#[test]
fn nothing_but_objects_reaches_the_tools() {
    let project = planned();
    let mut client = Client::start(&project, Era::Old, &[]);
    let answer = client.ask("tools/list", json!({}));
    let tools: Vec<String> = answer["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| text(tool, "name").to_owned())
        .collect();
    let odd = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!("\u{0}"),
        json!([]),
        json!({}),
        json!("../../etc"),
        json!(true),
    ];
    let known = [
        "node",
        "entity_type",
        "entity_id",
        "reason",
        "limit",
        "depth",
        "status",
        "until",
        "timestamp",
        "force",
    ];
    let mut asked = 0;
    for tool in tools.iter().filter(|tool| *tool != "plan_wait") {
        for value in &odd {
            for name in known {
                let arguments: Map<String, Value> =
                    [(name.to_owned(), value.clone())].into_iter().collect();
                let answer = client.ask(
                    "tools/call",
                    json!({ "name": tool, "arguments": arguments }),
                );
                assert!(
                    answer["result"]["isError"].is_boolean(),
                    "{tool} {name} {value}: {answer}"
                );
                asked += 1;
            }
        }
    }
    assert!(asked >= 600, "{asked}");
}

#[test]
fn a_client_may_give_sockets_instead_of_pipes() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    let project = planned();
    let (mut input, theirs) = UnixStream::pair().expect("sockets");
    let (output, their_output) = UnixStream::pair().expect("sockets");
    let mut command = project.command(&["mcp"]);
    command
        .stdin(OwnedFd::from(theirs))
        .stdout(OwnedFd::from(their_output));
    let mut child = command.spawn().expect("the program starts");
    // Its ends are held by the command too.
    drop(command);
    let mut lines = BufReader::new(output)
        .lines()
        .map(|line| line.expect("a line"));
    for id in 1..=100 {
        writeln!(
            input,
            "{}",
            json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
        )
        .expect("the program reads");
        assert_eq!(
            lines.next(),
            Some(format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}"
            ))
        );
    }
    drop(input);
    assert_eq!(lines.next(), None);
    assert_eq!(child.wait().expect("an end").code(), Some(0));
}

#[test]
fn broken_settings_leave_the_last_good_ones_in_force_and_are_told() {
    ERAS.into_iter().for_each(broken_settings);
}

fn broken_settings(era: Era) {
    let project = planned();
    // An earlier server has remembered them.
    Client::start(&project, era, &[]).call("work_where", json!({}));
    let config = project.read(".throughline/config.toml");
    let broken = "[policy.gates]\nhierarchy = \"perhaps\"\n";
    let said = |answer: &Value| {
        let said = answer["structuredContent"]["warnings"].to_string();
        said.contains("expected one of `off`, `warn`, `block`")
            && said.contains("the last good settings stay in force")
    };
    project.write(".throughline/config.toml", broken);
    let mut client = Client::start(&project, era, &[]);
    let read = json!({ "node": "act-1" });
    for (tool, arguments, is_told) in [
        ("plan_read", &read, true),
        ("plan_read", &read, false),
        ("work_where", &json!({}), true),
        ("work_brief", &json!({}), true),
    ] {
        let answer = client.call(tool, arguments.clone());
        assert_eq!(said(&answer), is_told, "{tool}: {answer}");
    }
    // A running server is told of the repair and of the next mistake as well.
    for (text, is_told) in [(&config, false), (&broken.to_owned(), true)] {
        project.write(".throughline/config.toml", text);
        // Settings are looked at five times a second.
        std::thread::sleep(Duration::from_millis(300));
        let answer = client.call("plan_read", read.clone());
        assert_eq!(said(&answer), is_told, "{answer}");
    }
}
