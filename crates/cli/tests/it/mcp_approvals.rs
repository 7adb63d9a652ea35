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

/// What a person answers: the action, the decision in the form, and what the agent is told of it.
const WORDS: [(&str, &str, Option<&str>); 5] = [
    ("accept", "approve", None),
    ("accept", "request-changes", Some("changes-requested")),
    ("accept", "reject", Some("rejected")),
    ("decline", "", Some("declined")),
    ("cancel", "", Some("cancelled")),
];

fn word(action: &str, decision: &str) -> Value {
    match action {
        "accept" => {
            json!({ "action": action, "content": { "decision": decision, "comment": "more wind" } })
        }
        _ => json!({ "action": action }),
    }
}

/// Asserts that an answer is recorded in the person's name and told to the agent.
#[track_caller]
fn assert_answered(project: &Project, result: &Value, told: Option<&str>) {
    let said = structured(result);
    assert_eq!(said["success"], told.is_none(), "{result}");
    assert_eq!(said["decision"].as_str(), told, "{result}");
    assert_eq!(project.status("act-1") == "approved", told.is_none());
    if matches!(told, Some("changes-requested" | "rejected")) {
        assert!(text(said, "comment").contains("more wind"), "{result}");
    }
    let last = &project.json(&["log", "--limit", "1"])[0];
    let verb = match told {
        None => "approve",
        Some("changes-requested") => "request-changes",
        Some("rejected") => "invalidate",
        Some(_) => "decline",
    };
    assert_eq!((text(last, "by"), text(last, "verb")), ("human:mara", verb));
}

#[test]
fn an_old_client_asks_the_person() {
    for (action, decision, told) in WORDS {
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
            json!(["decision"])
        );
        client
            .say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": word(action, decision) }));
        let result = client.answer_to(id)["result"].clone();
        assert_answered(&project, &result, told);
    }
}

#[test]
fn a_new_client_asks_the_person() {
    for (action, decision, told) in WORDS {
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
                "inputResponses": { "approval": word(action, decision) },
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
        assert_answered(&project, &result, told);
        if told.is_none() {
            let rejected = "/approve-plan act 1 reject: a test";
            assert_eq!(project.session("s").prompt(rejected).block(), None);
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
        "inputResponses": { "approval": word("accept", "approve") },
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
    client
        .say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": word("accept", "approve") }));
    let result = client.answer_to(id)["result"].clone();
    assert_eq!(
        text(&structured(&result)["error"], "kind"),
        "conflict",
        "{result}"
    );
    assert_eq!(project.status("act-1"), "draft");
}

/// Asks for an approval with either tool, in either era, and returns the message and the decisions
/// of the form.
fn asked_form(client: &mut Client, era: Era, tool: &str, arguments: Value) -> (String, Value) {
    let params = match era {
        Era::Old => {
            client.request(
                "tools/call",
                json!({ "name": tool, "arguments": arguments }),
            );
            client.notified("elicitation/create")["params"].clone()
        }
        Era::New => client.call(tool, arguments)["inputRequests"]["approval"]["params"].clone(),
    };
    let decisions = params["requestedSchema"]["properties"]["decision"]["enum"].clone();
    (text(&params, "message").to_owned(), decisions)
}

/// A project where only people approve, with an approved act, and a client that can ask.
fn approved_story(era: Era) -> (Project, Client) {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    only_people_approve(&project);
    let session = project.session("s");
    let question = session.prompt("/approve-plan act 1").block();
    let question = question.expect("a question");
    let (_, typed) = question.split_once("type: ").expect("how to answer");
    let answer = session.prompt(typed.lines().next().unwrap_or_default());
    assert_eq!(answer.block(), None);
    assert_eq!(project.status("act-1"), "approved");
    let form = json!({ "elicitation": { "form": {} } });
    let client = Client::with_capabilities(&project, era, &[], form);
    (project, client)
}

#[test]
fn attacks_on_the_question_are_shown_to_the_person_by_both_tools() {
    for era in ERAS {
        for tool in ["approve_entity", "update_entity_state"] {
            let (project, mut client) = approved_story(era);
            // Saved twice: the difference is that to the approved text.
            let first = format!("{}\nNOBODY SURVIVES\n", crate::ACT_TEXT);
            project.write(Project::ACT, &first);
            client.call("get_entity_state", act("act-1"));
            project.write(Project::ACT, format!("{first}The gate is shut.\n"));
            let arguments = |project: &Project| {
                let mut arguments = act("act-1");
                if tool == "update_entity_state" {
                    let version = project.json(&["show", "act-1"])["version_hash"].clone();
                    arguments["status"] = json!("approved");
                    arguments["version_hash"] = version;
                }
                arguments
            };
            let (message, decisions) = asked_form(&mut client, era, tool, arguments(&project));
            assert!(message.contains("+NOBODY SURVIVES"), "{tool}: {message}");
            assert_eq!(decisions, json!(["approve", "request-changes", "reject"]));
            assert_eq!(project.status("act-1"), "draft");
        }
    }
}

#[test]
fn a_text_that_does_not_fit_the_form_cannot_be_approved_there() {
    for era in ERAS {
        let (project, mut client) = approved_story(era);
        let long: String = (0..3_000).map(|line| format!("NEWTEXT {line}\n")).collect();
        project.write(Project::ACT, &long);
        let (message, decisions) = asked_form(&mut client, era, "approve_entity", act("act-1"));
        assert!(message.contains("NEWTEXT 0"), "{message}");
        assert!(message.contains("lines are not shown here"), "{message}");
        assert_eq!(decisions, json!(["request-changes", "reject"]));
    }
    let (project, mut client) = approved_story(Era::New);
    let long: String = (0..3_000).map(|line| format!("NEWTEXT {line}\n")).collect();
    project.write(Project::ACT, &long);
    let asked = client.call("approve_entity", act("act-1"));
    let forged = json!({
        "name": "approve_entity", "arguments": act("act-1"), "requestState": asked["requestState"],
        "inputResponses": { "approval": word("accept", "approve") },
    });
    let result = client.ask("tools/call", forged)["result"].clone();
    assert_eq!(structured(&result)["decision"], "cancelled", "{result}");
    assert_eq!(project.status("act-1"), "draft");
}

#[test]
fn wait_returns_at_once_when_a_person_says_no() {
    for (word, kind) in [("reject", "rejected"), ("changes", "changes-requested")] {
        let (project, mut client) = approved_story(Era::New);
        project.write(Project::ACT, crate::ACT_EDITED);
        let arguments = json!({ "node": "act-1", "timeout_seconds": 60 });
        let id = client.request(
            "tools/call",
            json!({ "name": "wait", "arguments": arguments }),
        );
        client.call("where", json!({}));
        let typed = format!("/approve-plan act 1 {word}: too much rain");
        assert_eq!(project.session("s").prompt(&typed).block(), None);
        let result = client.answer_to(id)["result"].clone();
        let made = &structured(&result)["decision"];
        assert_eq!(
            (text(made, "kind"), text(made, "text")),
            (kind, "too much rain"),
            "{result}"
        );
    }
}

#[test]
fn a_wait_for_a_change_ends_with_one_and_not_before() {
    for era in ERAS {
        let project = story();
        project.write(Project::ACT, crate::ACT_TEXT);
        let mut client = Client::start(&project, era, &[]);
        client.call("where", json!({}));
        let short = json!({ "node": "act-1", "until": "changed", "timeout_seconds": 1 });
        let result = client.call("wait", short);
        assert_eq!(structured(&result)["done"], false, "{result}");
        let arguments = json!({ "node": "act-1", "until": "changed", "timeout_seconds": 60 });
        let id = client.request(
            "tools/call",
            json!({ "name": "wait", "arguments": arguments }),
        );
        client.call("where", json!({}));
        project.ok(&["approve", "act-1"]);
        let result = client.answer_to(id)["result"].clone();
        assert_eq!(structured(&result)["done"], true, "{result}");
    }
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

#[test]
fn an_edit_from_before_the_wait_is_not_the_awaited_change() {
    for era in ERAS {
        let project = story();
        project.write(Project::ACT, crate::ACT_TEXT);
        project.ok(&["status"]);
        let mut client = Client::start(&project, era, &[]);
        // Nobody has looked at this text when the wait begins.
        project.write(Project::ACT, format!("{}\nMore.\n", crate::ACT_TEXT));
        let wait = json!({ "node": "act-1", "until": "changed", "timeout_seconds": 1 });
        let waited = client.call("plan_wait", wait);
        let view = structured(&waited);
        assert_eq!(view["done"], false, "{waited}");
        // One after that look is, also if this poll is the first to see it.
        project.write(Project::ACT, format!("{}\nEven more.\n", crate::ACT_TEXT));
        let wait = json!({
            "node": "act-1", "until": "changed", "since": view["operation"], "timeout_seconds": 60,
        });
        let waited = client.call("plan_wait", wait);
        assert_eq!(structured(&waited)["done"], true, "{waited}");
    }
}
