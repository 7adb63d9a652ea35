//! `tl mcp`: asking people, and waiting for what they say.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Project;

use crate::mcp::{Client, ERAS, Era, act, structured};
use crate::{story, text};

fn only_people_approve(project: &Project) {
    project.configure("policy.approval", "\"human\"");
}

#[test]
fn where_only_people_approve_a_client_that_cannot_ask_is_told_to_wait() {
    for era in ERAS {
        let project = story();
        only_people_approve(&project);
        project.write(Project::ACT, crate::ACT_TEXT);
        let mut client = Client::start(&project, era, &[]);
        let result = client.call("approve_entity", act("act-1"));
        let said = structured(&result);
        assert_eq!(
            (&said["success"], text(said, "waiting_for")),
            (&json!(false), "a person"),
            "{result}"
        );
        assert_eq!(project.status("act-1"), "draft");
    }
}

/// What a person answers.
const WORDS: [(&str, Value, bool); 4] = [
    ("accept", Value::Bool(true), true),
    ("accept", Value::Bool(false), false),
    ("decline", Value::Null, false),
    ("cancel", Value::Null, false),
];

fn word(action: &str, approve: &Value) -> Value {
    match action {
        "accept" => json!({ "action": action, "content": { "approve": approve } }),
        _ => json!({ "action": action }),
    }
}

#[test]
fn an_old_client_asks_the_person() {
    for (action, approve, approved) in WORDS {
        let project = story();
        only_people_approve(&project);
        project.write(Project::ACT, crate::ACT_TEXT);
        let mut client =
            Client::with_capabilities(&project, Era::Old, &[], json!({ "elicitation": {} }));
        let id = client.request(
            "tools/call",
            json!({ "name": "approve_entity", "arguments": act("act-1") }),
        );
        let asked = client.notified("elicitation/create");
        assert!(
            text(&asked["params"], "message").contains("act-1"),
            "{asked}"
        );
        assert_eq!(
            asked["params"]["requestedSchema"]["required"],
            json!(["approve"])
        );
        client
            .say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": word(action, &approve) }));
        let result = client.answer_to(id)["result"].clone();
        assert_eq!(
            structured(&result)["success"],
            approved,
            "{action} {approve}: {result}"
        );
        assert_eq!(project.status("act-1") == "approved", approved);
        if approved {
            assert_eq!(
                text(&project.json(&["log", "--limit", "1"])[0], "by"),
                "human:mara"
            );
        }
    }
}

#[test]
fn a_new_client_asks_the_person() {
    for (action, approve, approved) in WORDS {
        let project = story();
        only_people_approve(&project);
        project.write(Project::ACT, crate::ACT_TEXT);
        let mut client = Client::with_capabilities(
            &project,
            Era::New,
            &[],
            json!({ "elicitation": { "form": {} } }),
        );
        let asked = client.call("approve_entity", act("act-1"));
        assert_eq!(text(&asked, "resultType"), "input_required", "{asked}");
        let form = &asked["inputRequests"]["approval"];
        assert_eq!(
            (text(form, "method"), text(&form["params"], "mode")),
            ("elicitation/create", "form")
        );
        let again = |state: &Value, arguments: Value| {
            json!({
                "name": "approve_entity", "arguments": arguments, "requestState": state,
                "inputResponses": { "approval": word(action, &approve) },
            })
        };
        let state = asked["requestState"].clone();
        // Neither a forged note nor one of another call counts.
        let forged = json!(format!("{}x", state.as_str().expect("a state")));
        assert_eq!(
            client.ask("tools/call", again(&forged, act("act-1")))["error"]["code"],
            -32602
        );
        let forced = json!({ "entity_type": "act", "entity_id": "act-1", "force": true });
        assert_eq!(
            client.ask("tools/call", again(&state, forced))["error"]["code"],
            -32602
        );
        // No answer: asked again.
        let unanswered =
            json!({ "name": "approve_entity", "arguments": act("act-1"), "requestState": state });
        assert_eq!(
            client.ask("tools/call", unanswered)["result"]["resultType"],
            "input_required"
        );
        assert_eq!(project.status("act-1"), "draft");

        let result = client.ask("tools/call", again(&state, act("act-1")))["result"].clone();
        assert_eq!(
            structured(&result)["success"],
            approved,
            "{action} {approve}: {result}"
        );
        assert_eq!(project.status("act-1") == "approved", approved);
        if approved {
            assert_eq!(
                text(&project.json(&["log", "--limit", "1"])[0], "by"),
                "human:mara"
            );
            project.ok(&["invalidate", "act-1", "--reason", "a test"]);
        }
        // An answer counts once.
        assert_eq!(
            client.ask("tools/call", again(&state, act("act-1")))["error"]["code"],
            -32602
        );
        assert_ne!(project.status("act-1"), "approved");
    }
}

#[test]
fn a_text_that_changed_while_the_person_read_is_asked_about_again() {
    let project = story();
    only_people_approve(&project);
    project.write(Project::ACT, crate::ACT_TEXT);
    let mut client = Client::with_capabilities(
        &project,
        Era::New,
        &[],
        json!({ "elicitation": { "form": {} } }),
    );
    let asked = client.call("approve_entity", act("act-1"));
    project.write(Project::ACT, crate::ACT_EDITED);
    let yes = json!({
        "name": "approve_entity", "arguments": act("act-1"), "requestState": asked["requestState"],
        "inputResponses": { "approval": { "action": "accept", "content": { "approve": true } } },
    });
    let again = client.ask("tools/call", yes)["result"].clone();
    assert_eq!(text(&again, "resultType"), "input_required", "{again}");
    assert_ne!(again["requestState"], asked["requestState"]);

    let mut client =
        Client::with_capabilities(&project, Era::Old, &[], json!({ "elicitation": {} }));
    let id = client.request(
        "tools/call",
        json!({ "name": "approve_entity", "arguments": act("act-1") }),
    );
    let asked = client.notified("elicitation/create");
    project.write(Project::ACT, crate::ACT_TEXT);
    client.say(
        &json!({ "jsonrpc": "2.0", "id": asked["id"], "result": word("accept", &json!(true)) }),
    );
    let result = client.answer_to(id)["result"].clone();
    assert_eq!(
        text(&structured(&result)["error"], "kind"),
        "conflict",
        "{result}"
    );
    assert_eq!(project.status("act-1"), "draft");
}

#[test]
fn wait_returns_when_another_process_approves() {
    for era in ERAS {
        let project = story();
        project.write(Project::ACT, crate::ACT_TEXT);
        let mut client = Client::start(&project, era, &[]);
        let id = client.request(
            "tools/call",
            json!({ "name": "wait", "arguments": { "node": "act-1" } }),
        );
        // Nothing is held up by it.
        assert_eq!(client.call("where", json!({}))["isError"], false);
        let early = client.heard.recv_timeout(Duration::from_millis(600));
        assert!(
            !early.is_ok_and(|message| message["id"] == id),
            "nothing was decided yet"
        );
        project.ok(&["approve", "act-1"]);
        let begun = Instant::now();
        let result = client.answer_to(id)["result"].clone();
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "{:?}",
            begun.elapsed()
        );
        let said = structured(&result);
        assert_eq!(
            (&said["done"], text(said, "status")),
            (&json!(true), "approved")
        );
    }
}

#[test]
fn wait_ends_with_its_time_with_the_client_and_when_it_is_cancelled() {
    ERAS.into_iter().for_each(wait_ends);
}

fn wait_ends(era: Era) {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    let mut client = Client::start(&project, era, &[]);
    let begun = Instant::now();
    let result = client.call("wait", json!({ "node": "act-1", "timeout_seconds": 1 }));
    assert_eq!(structured(&result)["done"], false);
    assert!(
        (Duration::from_secs(1)..Duration::from_secs(3)).contains(&begun.elapsed()),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        client.call("wait", json!({ "node": "act-9" }))["isError"],
        true
    );
    assert_eq!(client.call("wait", json!({}))["isError"], true);

    let id = client.request(
        "tools/call",
        json!({ "name": "wait", "arguments": { "node": "act-1" } }),
    );
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    client.call("where", json!({}));
    project.ok(&["approve", "act-1"]);
    let late = client.heard.recv_timeout(Duration::from_secs(1));
    assert!(
        !late.is_ok_and(|message| message["id"] == id),
        "a cancelled request is not answered"
    );

    project.ok(&["invalidate", "act-1", "--reason", "a test"]);
    client.request(
        "tools/call",
        json!({ "name": "wait", "arguments": { "node": "act-1" } }),
    );
    assert_eq!(
        client.end(),
        (0, String::new()),
        "a wait does not hold up the end"
    );
}
