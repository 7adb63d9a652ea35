//! What a person's answer counts for, on every channel: not for a text that the agent did not know, but
//! also for the rejection and the warnings that its question showed.

use serde_json::{Value, json};
use testkit::Project;

use crate::dashboard::Browser;
use crate::mcp::{Client, ERAS, Era, act, structured};
use crate::team_server::token;
use crate::{newest_operation, planned, story, text, two_acts};

const REJECTED: &str = "# Act 1\n\n## Characters\n- Mara\n\nNobody survives.\n";
const WARNED: &str = "# Chapter 1\n\n## Characters\n- Mara\n- Zed\n";

/// A story with an act that a person has rejected.
fn rejected_act() -> Project {
    let project = story();
    project.write(Project::ACT, REJECTED);
    let no = "/approve-plan act 1 reject: dull";
    assert_eq!(project.session("s").prompt(no).block(), None);
    assert_eq!(project.status("act-1"), "invalid");
    project
}

/// A story with an act and a chapter that a person has approved.
fn approved_by_person() -> Project {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    project.write(Project::CHAPTER, "# Chapter 1\n\n## Characters\n- Mara\n");
    let all = ["approve", "--all"];
    let approved = project.run_as_person("ann", "y\n", &all);
    assert_eq!(approved.code, 0, "{}", approved.stdout);
    project
}

/// A story where warnings are overridden on purpose, with a chapter that has one.
fn warned_chapter() -> Project {
    let project = approved_by_person();
    project.write(Project::CHAPTER, WARNED);
    project.configure("policy.consistency", "\"require-force\"");
    assert_eq!(project.status("chapter-01"), "draft");
    project
}

/// Lets only people approve.
fn only_people(project: Project) -> Project {
    project.configure("policy.approval", "\"human\"");
    project
}

/// What is decided about, and what its question shows besides the text.
type Objected = (
    fn() -> Project,
    &'static str,
    [&'static str; 2],
    &'static str,
);

const OBJECTED: [Objected; 2] = [
    (
        rejected_act,
        "act-1",
        ["Exactly this text was rejected by human:", "dull"],
        "despite the rejection",
    ),
    (
        warned_chapter,
        "act-1/chapter-01",
        ["Zed", "policy.consistency is `require-force`"],
        "despite the warnings",
    ),
];

fn asking_client(project: &Project, era: Era) -> Client {
    let form = json!({ "elicitation": { "form": {} } });
    Client::with_capabilities(project, era, &[], form)
}

/// Calls a tool, answers yes if the person is asked, and returns the form and the result.
fn call_with_yes(
    client: &mut Client,
    era: Era,
    tool: &str,
    arguments: &Value,
) -> (Option<Value>, Value) {
    let yes = json!({ "action": "accept", "content": { "decision": "approve" } });
    let call = json!({ "name": tool, "arguments": arguments });
    match era {
        Era::Old => {
            let id = client.request("tools/call", call);
            let heard = loop {
                let heard = client.hear();
                if heard["method"] == "elicitation/create" {
                    break heard;
                }
                if heard["id"] == id {
                    return (None, heard["result"].clone());
                }
            };
            client.say(&json!({ "jsonrpc": "2.0", "id": heard["id"], "result": yes }));
            let result = client.answer_to(id)["result"].clone();
            (Some(heard["params"].clone()), result)
        }
        Era::New => {
            let asked = client.ask("tools/call", call.clone())["result"].clone();
            let form = asked["inputRequests"]["approval"]["params"].clone();
            if form.is_null() {
                return (None, asked);
            }
            let mut again = call;
            again["requestState"] = asked["requestState"].clone();
            again["inputResponses"] = json!({ "approval": yes });
            let result = client.ask("tools/call", again)["result"].clone();
            (Some(form), result)
        }
    }
}

fn arguments_of(project: &Project, tool: &str, node: &str) -> Value {
    match tool {
        "update_entity_state" => json!({
            "entity_type": if node.contains('/') { "chapter" } else { "act" },
            "entity_id": node,
            "status": "approved",
            "version_hash": project.json(&["show", node])["version_hash"],
        }),
        _ => json!({ "node": node }),
    }
}

#[test]
fn a_yes_in_a_form_counts_for_the_rejection_and_the_warnings_it_showed() {
    for era in ERAS {
        for tool in ["plan_approve", "update_entity_state"] {
            for (objected, node, shown, despite) in OBJECTED {
                let project = only_people(objected());
                let mut client = asking_client(&project, era);
                let arguments = arguments_of(&project, tool, node);
                let (form, result) = call_with_yes(&mut client, era, tool, &arguments);
                let form = form.expect("a question");
                for part in shown {
                    assert!(text(&form, "message").contains(part), "{form}");
                }
                let decision = &form["requestedSchema"]["properties"]["decision"];
                assert!(text(decision, "description").contains(despite), "{form}");
                assert_eq!(structured(&result)["success"], true, "{result}");
                assert_eq!(project.status(node), "approved", "{tool}");
            }
        }
    }
}

#[test]
fn a_yes_at_a_terminal_counts_for_the_rejection_and_the_warnings_it_showed() {
    for (objected, node, shown, despite) in OBJECTED {
        for command in [vec!["approve", node], vec!["approve", node, "act-1"]] {
            let project = only_people(objected());
            let done = project.run_as_person("ann", "y\n", &command);
            for part in shown.iter().chain([&despite]) {
                assert!(done.stdout.contains(part), "{}", done.stdout);
            }
            assert_eq!(done.code, 0, "{}", done.stdout);
            assert_eq!(project.status(node), "approved");
        }
    }
}

#[test]
fn the_line_that_a_typed_question_names_approves_despite_what_it_showed() {
    for (objected, node, shown, despite) in OBJECTED {
        let project = only_people(objected());
        let session = project.session("s");
        let ask = |line: &str| session.prompt(line).block();
        let question = ask(&format!("/approve-plan {node}")).expect("a question");
        for part in shown.iter().chain([&despite]) {
            assert!(question.contains(part), "{question}");
        }
        let (_, line) = question.split_once("type: ").expect("how to answer");
        let line = line.lines().next().expect("a line");
        let unforced = line.strip_suffix(" --force").expect("what it overrides");
        let again = ask(unforced).expect("the question again");
        assert!(again.contains("`--force`"), "{again}");
        assert_ne!(project.status(node), "approved");
        assert_eq!(ask(line), None);
        assert_eq!(project.status(node), "approved");
    }
}

#[test]
fn a_typed_code_from_before_a_rejection_is_asked_about_again() {
    let project = story();
    project.configure("policy.approval", "\"human\"");
    project.write(Project::ACT, REJECTED);
    let session = project.session("s");
    let question = session.prompt("/approve-plan act 1").block();
    let question = question.expect("a question");
    let (_, line) = question.split_once("type: ").expect("how to answer");
    let line = line.lines().next().expect("a line");
    let no = "/approve-plan act 1 reject: dull";
    assert_eq!(session.prompt(no).block(), None);
    for line in [line.to_owned(), format!("{line} --force")] {
        let again = session.prompt(&line).block().expect("a question");
        assert!(again.contains("changed since that question"), "{again}");
        assert_eq!(project.status("act-1"), "invalid");
    }
}

/// The tools that approve, with arguments that name a version nobody has now.
fn outdated_calls(old: &str) -> [(&'static str, Value); 3] {
    let mut update = act("act-1");
    update["status"] = json!("approved");
    update["version_hash"] = json!(old);
    [
        (
            "plan_approve",
            json!({ "node": "act-1", "version_hash": old }),
        ),
        ("update_entity_state", update),
        (
            "plan_keep",
            json!({ "node": "act-1/chapter-01", "version_hash": "deadbeef" }),
        ),
    ]
}

#[test]
fn nobody_is_asked_about_another_version_than_the_agent_knows() {
    for era in ERAS {
        for can_ask in [true, false] {
            let project = planned();
            project.write(Project::ACT, crate::ACT_EDITED);
            let old = project.json(&["show", "act-1"])["version_hash"].clone();
            // Another process writes what the agent never read.
            let unread = format!("{}\nNobody survives.\n", crate::ACT_EDITED);
            project.write(Project::ACT, unread);
            project.configure("policy.approval", "\"human\"");
            let mut client = match can_ask {
                true => asking_client(&project, era),
                false => Client::start(&project, era, &[]),
            };
            let old = old.as_str().expect("a version");
            for (tool, arguments) in outdated_calls(old) {
                let (form, result) = call_with_yes(&mut client, era, tool, &arguments);
                assert_eq!(form, None, "{tool}");
                let kind = &structured(&result)["error"]["kind"];
                assert_eq!(kind, "conflict", "{tool}: {result}");
            }
            assert_ne!(project.status("act-1"), "approved");
        }
    }
}

#[test]
fn a_false_parent_version_is_a_conflict_before_anybody_is_asked() {
    for era in ERAS {
        let project = only_people(warned_chapter());
        let mut client = asking_client(&project, era);
        let mut arguments = arguments_of(&project, "update_entity_state", "act-1/chapter-01");
        arguments["parent_version_hash"] = json!("deadbeef");
        let (form, result) = call_with_yes(&mut client, era, "update_entity_state", &arguments);
        assert_eq!(form, None);
        let error = &structured(&result)["error"];
        assert_eq!(text(error, "kind"), "conflict", "{result}");
        assert!(text(error, "message").contains("the parent of"), "{error}");
    }
}

#[test]
fn keeping_at_a_terminal_asks_like_an_approval_and_records_a_no() {
    let project = only_people(approved_by_person());
    let edited = crate::ACT_TEXT.replace("Begin.", "It ends.");
    project.write(Project::ACT, edited);
    let approved = project.run_as_person("ann", "y\n", &["approve", "act-1"]);
    assert_eq!(approved.code, 0, "{}", approved.stdout);
    let keep_one = ["revalidate", "chapter-01", "--keep"];
    for command in [
        &keep_one[..],
        &["revalidate", "--all", "--keep"],
        &["revalidate", "--below", "act-1", "--keep"],
    ] {
        let before = newest_operation(&project);
        let refused = project.run_as_person("ann", "n\n", command);
        assert_eq!(refused.code, 1, "{}", refused.stdout);
        // What is new comes first: what was removed must not push it out of sight.
        let at = |part: &str| refused.stdout.find(part).expect("a change");
        assert!(at("+It ends.") < at("-Begin."), "{}", refused.stdout);
        assert!(refused.stdout.contains("The text is the one that"));
        let log = project.json(&["log", "--limit", "1"]);
        assert_eq!(text(&log[0], "verb"), "decline", "{log}");
        // The agent that waits is told.
        let since = before.to_string();
        let waited = project.json(&["wait", "chapter-01", "--since", &since, "--timeout", "60"]);
        assert_eq!(text(&waited["decision"], "kind"), "declined", "{waited}");
        assert_eq!(project.status("chapter-01"), "requires-revalidation");
    }
    let kept = project.run_as_person("ann", "y\n", &keep_one);
    assert_eq!(kept.code, 0, "{}", kept.stdout);
    let last = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(
        (text(last, "by"), text(last, "verb")),
        ("human:ann", "revalidate")
    );
    assert_eq!(project.status("chapter-01"), "approved");
}

#[test]
fn the_step_after_a_refusal_names_the_plan_that_was_refused() {
    let project = two_acts();
    project.configure("policy.consistency", "\"require-force\"");
    project.write(Project::CHAPTER, WARNED);
    let mut client = Client::start(&project, Era::New, &[]);
    let node = json!({ "node": "act-1/chapter-01" });
    let result = client.call("plan_approve", node);
    let error = &structured(&result)["error"];
    assert!(text(error, "message").contains("Zed"), "{error}");
    let steps = error["next_steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 1, "{error}");
    let done = client.call(text(&steps[0], "tool"), steps[0]["arguments"].clone());
    assert_eq!(structured(&done)["success"], true, "{done}");
    assert_eq!(project.status("act-1/chapter-01"), "approved");
}

#[test]
fn a_wait_for_an_unknown_status_is_refused_with_the_known_ones() {
    for era in ERAS {
        let project = planned();
        let mut client = Client::start(&project, era, &[]);
        let bogus = json!({ "node": "act-1", "until": "changed", "status": "bogus" });
        let result = client.call("plan_wait", bogus);
        let error = &structured(&result)["error"];
        for status in ["draft", "approved", "requires-revalidation", "invalid"] {
            assert!(text(error, "message").contains(status), "{result}");
        }
    }
}

#[test]
fn an_agents_token_is_not_told_to_ask_for_one_that_it_cannot_have() {
    let project = planned();
    let ci = token(&project, "agent:ci/1", "agent");
    let server = crate::serve::Server::start(&project, &[]);
    for (tool, arguments) in [
        ("plan_reject", json!({ "node": "act-1", "reason": "dull" })),
        (
            "plan_invalidate",
            json!({ "node": "act-1", "reason": "dull" }),
        ),
        ("work_undo", json!({})),
    ] {
        let call = json!({
            "name": "call_tool", "arguments": { "tool": tool, "arguments": arguments },
        });
        let reply = server.ask_with(&ci, "tools/call", call).message();
        let result = &reply["result"];
        assert_eq!(result["isError"], true, "{tool}: {reply}");
        let steps = &structured(result)["error"]["next_steps"];
        assert!(steps.to_string().contains("ask the person"), "{steps}");
        assert!(!steps.to_string().contains("token create"), "{steps}");
    }
}

#[test]
fn the_dashboards_checkbox_overrides_what_its_page_showed_and_no_later_rejection() {
    for (objected, node, ..) in OBJECTED {
        let project = objected();
        let server = crate::serve::Server::start(&project, &[]);
        let browser = Browser::welcome(&server);
        let page = browser.get(&format!("/nodes/{node}")).body;
        let decisions = page.split("id=\"decide\"").nth(1).expect("decisions");
        let form: Vec<String> = ["node", "version", "parent_version", "force"]
            .iter()
            .filter_map(|name| {
                let (_, after) = decisions.split_once(&format!("name=\"{name}\" value=\""))?;
                let (value, _) = after.split_once('"')?;
                Some(format!("{name}={value}"))
            })
            .collect();
        let form = form.join("&");
        let is_warned = form.ends_with("force=warnings");
        if is_warned {
            let no = format!("/approve-plan {node} reject: dull");
            assert_eq!(project.session("s").prompt(&no).block(), None);
        }
        let answer = browser.post("/do/approve", &form);
        // A person who ticked the box for the warnings has not seen the rejection.
        assert_eq!(answer.status == 303, !is_warned, "{form}: {answer:?}");
        assert_eq!(project.status(node) == "approved", !is_warned, "{form}");
    }
}

#[test]
fn a_person_is_not_asked_for_a_yes_that_would_be_refused() {
    let project = only_people(warned_chapter());
    let refused = project.run_as_person("ann", "y\n", &["approve", "--all", "--unread"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stdout.contains("Zed"), "{}", refused.stdout);
    assert!(!refused.stdout.contains("[y/N]"), "{}", refused.stdout);
    let forced = ["approve", "--all", "--unread", "--force"];
    let done = project.run_as_person("ann", "y\n", &forced);
    assert_eq!(done.code, 0, "{}", done.stdout);
}
