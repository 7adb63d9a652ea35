//! Attacks on the approval path that go round the question: by undo, another agent's token, a laptop's
//! own policy, invisible text, or an answer that nobody waited for.

use serde_json::{Value, json};
use testkit::Project;

use crate::mcp::{Client, ERAS, Era, act, structured};
use crate::remote::Team;
use crate::serve::Server;
use crate::team_server::token;
use crate::{ACT_EDITED, ACT_TEXT, planned, run_with, story, text};

/// A story where only people approve, with an act that a person has approved.
fn approved_by_person() -> Project {
    let project = story();
    project.write(Project::ACT, ACT_TEXT);
    project.configure("policy.approval", "\"human\"");
    let approved = project.run_as_person("ann", "y\n", &["approve", "act-1"]);
    assert_eq!(approved.code, 0, "{}", approved.stdout);
    project
}

fn newest_operation(project: &Project) -> (u64, String) {
    let newest = &project.json(&["log", "--limit", "1"])[0];
    let number = newest["operation"].as_u64().expect("a number");
    (number, text(newest, "by").to_owned())
}

#[test]
fn an_agent_does_not_undo_a_persons_no() {
    for era in ERAS {
        for no in ["reject: dull", "changes: more wind"] {
            let project = approved_by_person();
            let typed = format!("/approve-plan act 1 {no}");
            assert_eq!(project.session("s").prompt(&typed).block(), None);
            let (operation, by) = newest_operation(&project);
            assert!(by.starts_with("human:"), "{by}");
            let status = project.status("act-1");
            assert_ne!(status, "approved");
            let mut client = Client::start(&project, era, &[]);
            for arguments in [
                json!({ "operation": operation }),
                json!({ "back_to": operation - 1 }),
            ] {
                let call = json!({ "tool": "work_undo", "arguments": arguments });
                let result = client.call("call_tool", call);
                assert_eq!(result["isError"], true, "{result}");
                let said = result.to_string();
                assert!(said.contains("is a decision of human:"), "{said}");
            }
            let number = operation.to_string();
            for environment in [&[][..], &[("CLAUDECODE", "1")]] {
                let refused = run_with(&project, environment, &["undo", &number]);
                assert_ne!(refused.code, 0, "{}", refused.stdout);
            }
            assert_eq!(project.status("act-1"), status, "{no}");
            // It was the person's to take back.
            let undone = project.run_as_person("ann", "y\n", &["undo", &number]);
            assert_eq!(undone.code, 0, "{}{}", undone.stdout, undone.stderr);
            assert_eq!(project.status("act-1"), "approved");
        }
    }
}

#[test]
fn a_no_between_the_question_and_the_wait_is_told() {
    for era in ERAS {
        let project = story();
        project.write(Project::ACT, ACT_TEXT);
        project.configure("policy.approval", "\"human\"");
        let mut client = Client::start(&project, era, &[]);
        let result = client.call("plan_approve", json!({ "node": "act-1" }));
        let waiting = structured(&result).clone();
        let steps = waiting["next_steps"].as_array().expect("steps");
        let wait = steps.iter().find(|step| step["tool"] == "plan_wait");
        let mut wait = wait.expect("a wait")["arguments"].clone();
        let declined = project.run_as_person("ann", "n\n", &["approve", "act-1"]);
        assert_eq!(declined.code, 1, "{}", declined.stdout);
        wait["timeout_seconds"] = json!(60);
        let result = client.call("plan_wait", wait.clone());
        let told = structured(&result);
        assert_eq!(text(&told["decision"], "kind"), "declined", "{told}");
        let since = wait["since"].to_string();
        let waited = project.json(&["wait", "act-1", "--since", &since, "--timeout", "60"]);
        assert_eq!(text(&waited["decision"], "kind"), "declined", "{waited}");
    }
}

#[test]
fn text_that_nobody_sees_is_shown_to_the_person() {
    let project = approved_by_person();
    let hidden = format!("{ACT_TEXT}\nThe gate is \u{202e}tuhs\u{202c}.\u{200b}\u{1b}[1A\n");
    project.write(Project::ACT, &hidden);
    let shown = "The gate is <U+202E>tuhs<U+202C>.<U+200B><U+001B>[1A";
    let asked = project.run_as_person("ann", "n\n", &["approve", "act-1"]);
    assert!(asked.stdout.contains(shown), "{}", asked.stdout);
    let typed = project.session("s").prompt("/approve-plan act 1").block();
    assert!(typed.is_some_and(|question| question.contains(shown)));
    let form = json!({ "elicitation": { "form": {} } });
    let mut client = Client::with_capabilities(&project, Era::New, &[], form);
    let asked = client.call("approve_entity", act("act-1"));
    let message = text(&asked["inputRequests"]["approval"]["params"], "message");
    assert!(message.contains(shown), "{message}");
    assert_eq!(project.status("act-1"), "draft");
}

/// A laptop whose own file lets anyone approve, of a team whose server does not.
fn loose_laptop(team: &Team) -> Project {
    team.project.configure("policy.approval", "\"human\"");
    team.project.ok(&["status"]);
    let laptop = team.laptop();
    laptop.configure("policy.approval", "\"anyone\"");
    laptop.write(Project::ACT, ACT_EDITED);
    laptop
}

#[test]
fn a_laptops_own_policy_spares_neither_client_nor_typed_command_the_question() {
    let team = Team::start();
    let laptop = loose_laptop(&team);
    for era in ERAS {
        // Without a person to ask it waits, with either tool.
        let mut client = Client::start(&laptop, era, &[]);
        let version = laptop.json(&["show", "act-1"])["version_hash"].clone();
        let mut update = act("act-1");
        update["status"] = json!("approved");
        update["version_hash"] = version;
        for (tool, arguments) in [
            ("approve_entity", act("act-1")),
            ("update_entity_state", update),
        ] {
            let result = client.call(tool, arguments);
            assert_eq!(
                structured(&result)["waiting_for"],
                "a person",
                "{tool}: {result}"
            );
        }
    }
    let form = json!({ "elicitation": { "form": {} } });
    let mut client = Client::with_capabilities(&laptop, Era::New, &[], form);
    let asked = client.call("approve_entity", act("act-1"));
    assert_eq!(text(&asked, "resultType"), "input_required", "{asked}");
    let question = laptop.session("s").prompt("/approve-plan act 1").block();
    assert!(question.is_some_and(|question| question.contains("To approve exactly this, type")));
    assert_eq!(laptop.status("act-1"), "draft");
}

/// The calls of one connection of the older era.
struct Session<'s> {
    server: &'s Server,
    token: &'s str,
    id: String,
}

impl<'s> Session<'s> {
    fn begin(server: &'s Server, token: &'s str) -> Self {
        let id = server.greeted_with(token);
        Self { server, token, id }
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        let headers = [
            ("mcp-session-id", self.id.as_str()),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        let answer = self.server.post_with(self.token, &headers, &call).message();
        answer["result"]["structuredContent"].clone()
    }
}

#[test]
fn two_connections_with_one_token_are_two_agents() {
    let project = Project::empty(crate::binary());
    project.ok(&["init", "--profile", "tickets"]);
    for title in ["One", "Two"] {
        project.ok(&["ticket", "new", title]);
    }
    let ci = token(&project, "agent:ci/1", "agent");
    let server = Server::start(&project, &[]);
    let (one, two) = (Session::begin(&server, &ci), Session::begin(&server, &ci));
    let claims = [&one, &two].map(|agent| agent.call("work_claim", json!({})));
    assert_ne!(claims[0]["node"], claims[1]["node"], "{claims:?}");
    assert_ne!(claims[0]["session"], claims[1]["session"], "{claims:?}");
    for (agent, claim) in [(&one, &claims[0]), (&two, &claims[1])] {
        let enter = json!({ "action": "enter", "node": claim["node"] });
        agent.call("ticket_focus", enter);
    }
    // Each is where it went, and gives back only what is its own.
    for (agent, claim) in [(&one, &claims[0]), (&two, &claims[1])] {
        let position = agent.call("work_where", json!({}));
        assert_eq!(
            position["focus"]["stack"][0]["path"], claim["node"],
            "{position}"
        );
    }
    let refused = one.call("work_release", json!({ "node": claims[1]["node"] }));
    assert_eq!(refused["error"]["kind"], "refused", "{refused}");
    let released = one.call("work_release", json!({ "node": claims[0]["node"] }));
    assert_eq!(released["node"], claims[0]["node"], "{released}");
    // The history names the token's agent all the same.
    assert_eq!(newest_operation(&project).1, "agent:ci/1");
}

#[test]
fn a_token_that_reads_reaches_everything_that_reads() {
    let project = planned();
    let guest = token(&project, "human:guest", "read");
    let server = Server::start(&project, &[]);
    let call = |tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        let reply = server.ask_with(&guest, "tools/call", params);
        reply.message()["result"].clone()
    };
    let list = server.ask_with(&guest, "tools/list", json!({}));
    let list = list.message()["result"]["tools"].clone();
    let names: Vec<&str> = list
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| text(tool, "name"))
        .collect();
    assert!(names.contains(&"call_tool"), "{names:?}");
    let why = json!({ "tool": "plan_why", "arguments": { "node": "act-1" } });
    assert_eq!(call("call_tool", why)["isError"], false);
    let comment = json!({ "tool": "plan_comment", "arguments": { "node": "act-1", "text": "x" } });
    assert_eq!(call("call_tool", comment)["isError"], true);
    // It does not hear of what it may not use.
    let more = call("more_tools", json!({}));
    let plans = &more["structuredContent"]["sets"]["plan"];
    assert!(plans["plan_versions"].is_string(), "{more}");
    assert!(plans["plan_comment"].is_null(), "{more}");
}

#[test]
fn a_person_is_led_to_the_page_of_a_plan_that_does_not_fit_a_form() {
    let project = planned();
    let anna = token(&project, "human:anna", "approve");
    project.configure("policy.approval", "\"human\"");
    let long: String = (0..3_000).map(|line| format!("NEWTEXT {line}\n")).collect();
    project.write(Project::ACT, &long);
    let server = Server::start(&project, &["--no-decisions"]);
    let ask = |able: Value, more: Value| {
        let mut params = json!({ "name": "plan_approve", "arguments": { "node": "act-1" } });
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let reply = server.ask_able_to(&able, &anna, "tools/call", params);
        reply.message()["result"].clone()
    };
    let page = format!("http://127.0.0.1:{}/nodes/act-1", server.port);
    // Without a way to ask, the answer names the page.
    let waiting = ask(json!({}), json!({}));
    assert_eq!(
        waiting["structuredContent"]["decide_at"],
        json!(page),
        "{waiting}"
    );
    let able = json!({ "elicitation": { "form": {}, "url": {} } });
    let asked = ask(able.clone(), json!({}));
    let params = &asked["inputRequests"]["approval"]["params"];
    assert_eq!(
        (text(params, "mode"), text(params, "url")),
        ("url", page.as_str()),
        "{asked}"
    );
    // To open the page is no decision.
    let opened = json!({
        "requestState": asked["requestState"],
        "inputResponses": { "approval": { "action": "accept" } },
    });
    let waiting = ask(able.clone(), opened);
    assert_eq!(
        waiting["structuredContent"]["waiting_for"], "a person",
        "{waiting}"
    );
    assert_eq!(project.status("act-1"), "draft");
    // Not to open it is recorded.
    let asked = ask(able.clone(), json!({}));
    let declined = json!({
        "requestState": asked["requestState"],
        "inputResponses": { "approval": { "action": "decline" } },
    });
    let told = ask(able, declined);
    assert_eq!(told["structuredContent"]["decision"], "declined", "{told}");
    assert_eq!(newest_operation(&project).1, "human:anna");
}
