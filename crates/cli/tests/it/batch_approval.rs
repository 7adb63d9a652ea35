//! Decisions about several plans: one question, one answer, one operation, on every edge.

use serde_json::json;
use testkit::{Answer, Project};

use crate::hook_gates::answering;
use crate::mcp::{Client, Era, structured};
use crate::{story, text};

const SECOND: &str = "acts/act-1/chapters/chapter-02/plan.md";

/// An act with two chapters, all drafts.
fn drafts() -> Project {
    let project = story();
    project.write(Project::ACT, "# Act 1\n\nThe lighthouse.\n");
    project.write(Project::CHAPTER, "# Chapter 1\n\nThe storm.\n");
    project.write(SECOND, "# Chapter 2\n\nThe thief.\n");
    project
}

fn statuses(project: &Project) -> [String; 3] {
    ["act-1", "chapter-01", "chapter-02"].map(|node| project.status(node))
}

#[test]
fn several_plans_are_one_command_one_operation_and_one_undo() {
    let project = drafts();
    let done = project.ok(&["approve", "chapter", "1", "act-1"]).stdout;
    assert!(done.contains("2 plans are approved"), "{done}");
    assert_eq!(statuses(&project), ["approved", "approved", "draft"]);
    let last = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(
        text(last, "summary"),
        "approve 2 plans: act-1, act-1/chapter-01"
    );
    project.ok(&["undo"]);
    assert_eq!(statuses(&project), ["draft", "draft", "draft"]);
    let done = project.json(&["approve", "--below", "act-1"]);
    assert_eq!(done["plans"].as_array().map(Vec::len), Some(3), "{done}");
    assert_eq!(statuses(&project), ["approved", "approved", "approved"]);
    let nothing = project.json(&["approve", "--below", "act", "1", "--drafts"]);
    assert_eq!(text(&nothing, "message"), "no plan waits for a decision");
    let sent = project.ok(&["request-changes", "chapter-01", "chapter-02", "-m", "later"]);
    assert!(
        sent.stdout.contains("changes of 2 plans are requested"),
        "{sent:?}"
    );
    let refused = project.run(&["approve", "act-1", "chapter-01", "--version", "3f2a9c41"]);
    assert!(
        refused.stderr.contains("the version of one plan"),
        "{refused:?}"
    );
}

#[test]
fn where_only_people_approve_a_script_approves_no_batch() {
    let project = drafts();
    project.configure("policy.approval", "\"human\"");
    let refused = project.run(&["approve", "--below", "act-1"]);
    assert_ne!(refused.code, 0);
    assert!(
        refused.stderr.contains("only a person approves here")
            && refused.stderr.contains("`tl approve --below act-1`"),
        "{refused:?}"
    );
    assert_eq!(statuses(&project), ["draft", "draft", "draft"]);
}

#[test]
fn a_person_at_a_terminal_sees_every_text_and_answers_once() {
    let project = drafts();
    project.configure("policy.approval", "\"human\"");
    let below = ["approve", "--below", "act-1"];
    let Some(refused) = answering(&project, &below, "n\n") else {
        return;
    };
    assert_eq!(
        statuses(&project),
        ["draft", "draft", "draft"],
        "{refused:?}"
    );
    // The agent that waits is told: a no is a decision, too.
    let last = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(
        (text(last, "by"), text(last, "verb")),
        ("human:mara", "decline"),
        "{last}"
    );
    let done = answering(&project, &below, "y\n").expect("a terminal");
    for part in [
        "The lighthouse.",
        "The storm.",
        "The thief.",
        "Approve 3 plans as shown?",
    ] {
        assert!(done.stdout.contains(part), "{done:?}");
    }
    assert_eq!(statuses(&project), ["approved", "approved", "approved"]);
    let last = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(text(last, "by"), "human:mara");
}

/// A no to several plans is an answer as the no to one is: recorded for each of them, and told to the
/// agent that waits and to the session that goes on.
#[test]
fn a_no_to_several_plans_is_told_to_the_agent() {
    let questions: [&[&str]; 4] = [
        &["approve", "act-1", "chapter-01", "chapter-02"],
        &["approve", "--below", "act-1"],
        &["approve", "--all", "--unread"],
        &["approve", "act-1"],
    ];
    for question in questions {
        let project = drafts();
        project.configure("policy.approval", "\"human\"");
        project.ok(&["status"]);
        let agent = project.session("agent");
        let _ = agent.start("startup");
        let _ = agent.prompt("go on");
        let _ = agent.read(Project::ACT);
        let since = project.json(&["log", "--limit", "1"])[0]["operation"].to_string();
        let Some(refused) = answering(&project, question, "n\n") else {
            return;
        };
        assert_eq!(refused.code, 1, "{refused:?}");
        let waited = project.json(&["wait", "act-1", "--since", &since, "--timeout", "5"]);
        assert_eq!(
            text(&waited["decision"], "kind"),
            "declined",
            "{question:?}"
        );
        assert_eq!(text(&waited["decision"], "by"), "human:mara");
        let input = json!({ "command": "ls" });
        let calls = [agent.before("Bash", &input), agent.after("Bash", &input)];
        let told: String = calls.iter().filter_map(Answer::context).collect();
        assert!(
            told.contains("the person was asked and did not decide"),
            "{question:?}: {told}"
        );
    }
}

#[test]
fn an_agent_is_told_that_the_person_said_no_to_several_plans() {
    for (action, kind) in [("decline", "declined"), ("cancel", "cancelled")] {
        let project = drafts();
        project.configure("policy.approval", "\"human\"");
        let mut client =
            Client::with_capabilities(&project, Era::Old, &[], json!({ "elicitation": {} }));
        let arguments = json!({ "node": "act-1", "below": true });
        let call = json!({ "name": "plan_approve", "arguments": arguments });
        let id = client.request("tools/call", call);
        let asked = client.notified("elicitation/create");
        let result = json!({ "action": action });
        client.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }));
        let result = client.answer_to(id)["result"].clone();
        let said = structured(&result);
        assert_eq!(
            (&said["success"], text(said, "decision")),
            (&json!(false), kind)
        );
        let last = &project.json(&["log", "--limit", "1"])[0];
        assert_eq!(
            (text(last, "by"), text(last, "verb")),
            ("human:mara", "decline")
        );
        // What a single question says too: from where to wait for another answer.
        assert_eq!(said["operation"], last["operation"], "{said}");
        assert!(
            said["next_steps"].to_string().contains("plan_wait"),
            "{said}"
        );
        let since = said["operation"].as_u64().expect("an operation") - 1;
        for plan in ["act-1", "chapter-02"] {
            let arguments = json!({ "node": plan, "since": since, "timeout_seconds": 5 });
            let waited = client.call("plan_wait", arguments);
            assert_eq!(
                text(&structured(&waited)["decision"], "kind"),
                kind,
                "{waited}"
            );
        }
    }
}

#[test]
fn a_person_may_approve_by_name_and_leave_plans_out() {
    let project = drafts();
    project.configure("policy.approval", "\"human\"");
    let unread = ["approve", "--all", "--unread", "--except", "chapter-02"];
    let Some(done) = answering(&project, &unread, "y\n") else {
        return;
    };
    assert!(
        done.stdout
            .contains("Approve 2 plans without seeing their texts?")
            && !done.stdout.contains("The lighthouse."),
        "{done:?}"
    );
    assert_eq!(statuses(&project), ["approved", "approved", "draft"]);
    let last = &project.json(&["log", "--limit", "1"])[0];
    assert!(
        text(last, "summary").ends_with("whose texts were not shown"),
        "{last}"
    );
}

#[test]
fn an_agent_asks_once_for_a_subtree_and_every_text_is_in_the_question() {
    for (decision, expected) in [("approve", "approved"), ("request-changes", "draft")] {
        let project = drafts();
        project.configure("policy.approval", "\"human\"");
        let mut client =
            Client::with_capabilities(&project, Era::Old, &[], json!({ "elicitation": {} }));
        let arguments = json!({ "node": "act-1", "below": true });
        let call = json!({ "name": "plan_approve", "arguments": arguments });
        let id = client.request("tools/call", call);
        let asked = client.notified("elicitation/create");
        let message = text(&asked["params"], "message");
        for part in ["The lighthouse.", "The storm.", "The thief."] {
            assert!(message.contains(part), "{message}");
        }
        let choices = &asked["params"]["requestedSchema"]["properties"]["decision"]["enum"];
        assert_eq!(*choices, json!(["approve", "request-changes"]));
        let answer = json!({ "decision": decision, "comment": "more wind" });
        let result = json!({ "action": "accept", "content": answer });
        client.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }));
        let result = client.answer_to(id)["result"].clone();
        assert_eq!(
            structured(&result)["success"],
            json!(decision == "approve"),
            "{result}"
        );
        assert_eq!(statuses(&project), [expected; 3], "{decision}");
        let last = &project.json(&["log", "--limit", "1"])[0];
        assert_eq!(
            (text(last, "by"), text(last, "verb")),
            ("human:mara", decision)
        );
    }
}
