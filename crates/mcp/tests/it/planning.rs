//! A plan from a wish to its last review, by agents with nothing but MCP, in both eras and over both
//! transports.

use std::sync::Arc;

use mcp::surface::{Surface, ToolSelection};
use serde_json::{Value, json};

use crate::wire::{Client, Era, serve_http};
use crate::world::World;

const DOCUMENT: &str = "add-search";

fn call_hidden(agent: &mut Client, tool: &str, arguments: Value) -> Value {
    agent.call("call_tool", json!({ "tool": tool, "arguments": arguments }))
}

fn move_on(agent: &mut Client, how: &str) -> Value {
    agent.call("flow_move", json!({ "how": how, "subject": DOCUMENT }))
}

fn present_step(agent: &mut Client) -> Value {
    let step = agent.call("flow_next", json!({ "subject": DOCUMENT }));
    // Everything it is told to do is something it can do.
    let prompt = step["prompt"].as_str().expect("a prompt");
    let ours = prompt.lines().filter(|line| !line.starts_with('│'));
    for line in ours {
        assert!(
            !line.contains("`tl ") && !line.trim().starts_with("tl "),
            "{line}"
        );
        assert!(!line.contains(": tl "), "{line}");
    }
    // What may be used is named as tools, and what goes on is a call that can be made as it is.
    let tools = agent.call("more_tools", json!({}))["sets"].clone();
    let mut sets = tools.as_object().expect("sets").values();
    for name in step["may"].as_array().expect("a list") {
        let name = name.as_str().expect("a name");
        assert!(
            sets.clone().any(|set| set[name].is_string()),
            "{name}: {step}"
        );
    }
    assert!(sets.next().is_some());
    for line in prompt
        .lines()
        .filter_map(|line| line.strip_prefix("- done: flow_move "))
    {
        let arguments = line.split("   #").next().unwrap_or_default();
        let arguments: Value = serde_json::from_str(arguments).expect("arguments");
        assert_eq!(
            arguments,
            json!({ "how": "done", "subject": DOCUMENT }),
            "{line}"
        );
    }
    step
}

/// Milestones that do not need one another, for two agents.
fn design() -> Value {
    let milestone = |name: &str| {
        json!({
            "do": "add-milestone", "name": name, "as": name, "acceptance_criteria": ["it is there"],
            "tests": { "skip_reason": "a constant" }, "files": [format!("src/{name}.rs")],
        })
    };
    let intent = |name: &str| {
        let (at, file) = (format!("@{name}"), format!("src/{name}.rs"));
        json!({ "do": "add-intent", "milestone": at, "file": file, "behavior": "names it" })
    };
    json!([
        {
            "do": "set", "id": "overview", "version": 1,
            "fields": { "problem": "Nothing is found.", "approach": "An index." },
        },
        milestone("one"), milestone("two"), intent("one"), intent("two"),
    ])
}

fn change(agent: &mut Client, changes: Value) {
    call_hidden(
        agent,
        "doc_change",
        json!({ "changes": changes, "document": DOCUMENT }),
    );
}

/// Judges the present phase; a failure names what is wrong.
fn review(reviewer: &mut Client, is_first: bool, passes: bool) {
    if is_first {
        let check = json!({ "check": "it is right", "severity": "MUST", "scope": "M-001" });
        call_hidden(reviewer, "review_check", check);
    }
    let status = call_hidden(reviewer, "review_status", json!({}));
    for item in status["todo"].as_array().expect("a list") {
        let verdict = match passes {
            true => json!({ "item": item, "verdict": "pass" }),
            false => {
                json!({ "item": item, "verdict": "fail", "finding": "M-001 has no good name" })
            }
        };
        call_hidden(reviewer, "review_verdict", verdict);
    }
    move_on(reviewer, "done");
}

/// Follows the planner step by step until its last gate freezes the document.
fn plan(author: &mut Client, reviewer: &mut Client) {
    let start = json!({ "how": "start", "workflow": "planner", "new": "Add search" });
    assert_eq!(author.call("flow_move", start)["subject"], DOCUMENT);
    let mut design_rounds = 0;
    for _ in 0..40 {
        let step = present_step(author);
        let name = step["step"].as_str().expect("a step").to_owned();
        match name.as_str() {
            "context-verify" => {
                let context =
                    json!({ "task_spec": ["find words"], "user_quotes": ["make it quick"] });
                let written = json!({ "context": context, "document": DOCUMENT });
                call_hidden(author, "doc_context", written);
                move_on(author, "done");
            }
            "plan-design-execute" if design_rounds == 0 => {
                assert!(
                    step["prompt"].to_string().contains("make it quick"),
                    "{step}"
                );
                change(author, design());
                move_on(author, "done");
            }
            "plan-design-execute" => {
                let prompt = step["prompt"].to_string();
                assert!(prompt.contains("M-001 has no good name"), "{prompt}");
                let name = json!({ "name": "The first constant" });
                change(
                    author,
                    json!([{ "do": "set", "id": "M-001", "version": 1, "fields": name }]),
                );
                move_on(author, "done");
            }
            "plan-design-qr" => {
                design_rounds += 1;
                review(reviewer, design_rounds == 1, design_rounds > 1);
            }
            "plan-design-qr-gate" if design_rounds == 1 => {
                let refused =
                    author.refused("flow_move", json!({ "how": "pass", "subject": DOCUMENT }));
                assert_eq!(refused["error"]["kind"], "refused", "{refused}");
                move_on(author, "fail");
            }
            "plan-code-execute" => {
                let added = |number: u32| {
                    let diff = format!(
                        "@@ -0,0 +1,2 @@\n+//! A constant.\n+pub const N: u32 = {number};\n"
                    );
                    json!({ "do": "add-change", "intent_ref": format!("CI-00{number}"), "diff": diff })
                };
                change(author, json!([added(1), added(2)]));
                move_on(author, "done");
            }
            "plan-docs-execute" => {
                let text = |milestone: &str| json!({ "do": "add-doc", "milestone": milestone, "place": "module", "text": "A constant." });
                change(author, json!([text("M-001"), text("M-002")]));
                move_on(author, "done");
            }
            name if name.ends_with("-qr") => review(reviewer, true, true),
            "plan-docs-qr-gate" => {
                move_on(author, "pass");
                return;
            }
            name if name.ends_with("-gate") => {
                move_on(author, "pass");
            }
            _ => {
                move_on(author, "done");
            }
        }
    }
    panic!("the planner does not end");
}

/// Takes a milestone, carries it out and proves it; returns it.
fn carry_out(agent: &mut Client) -> String {
    let taken = agent.call("flow_move", json!({ "how": "take", "subject": DOCUMENT }));
    let (milestone, session) = (taken["milestone"].clone(), taken["session"].clone());
    let node = format!("{DOCUMENT}/{}", milestone.as_str().expect("a milestone"));
    let apply = json!({ "milestone": milestone, "subject": DOCUMENT, "session": session });
    let applied = call_hidden(agent, "flow_apply", apply);
    let complete = json!({ "node": node, "progress": "complete" });
    let refused = agent.refused("plan_progress", complete.clone());
    assert!(refused.to_string().contains("evidence"), "{refused}");
    let file = applied["files"][0].clone();
    assert!(file.is_string(), "{applied}");
    let proof = json!({ "action": "add", "node": node, "file": file });
    call_hidden(agent, "plan_prove", proof);
    let run = json!({ "action": "run", "node": node });
    call_hidden(agent, "plan_prove", run);
    agent.call("plan_progress", complete);
    milestone.as_str().expect("a milestone").to_owned()
}

fn execute(one: &mut Client, two: &mut Client) {
    let start = json!({ "how": "start", "workflow": "executor", "subject": DOCUMENT });
    one.call("flow_move", start);
    move_on(one, "done");
    move_on(one, "done");
    let mut carried: Vec<String> = std::thread::scope(|scope| {
        let started = [&mut *one, &mut *two].map(|agent| scope.spawn(|| carry_out(agent)));
        started
            .map(|agent| agent.join().expect("the agent ends"))
            .to_vec()
    });
    carried.sort();
    assert_eq!(carried, ["M-001", "M-002"], "each has one of its own");
    move_on(one, "done");
    for _ in 0..2 {
        review(two, true, true);
        move_on(one, "pass");
        if present_step(one)["step"] == "impl-docs-execute" {
            move_on(one, "done");
        }
    }
    assert_eq!(present_step(one)["step"], "reconcile");
    for milestone in carried {
        let node = json!({ "node": format!("{DOCUMENT}/{milestone}") });
        let evidence = call_hidden(one, "plan_evidence", node);
        assert_eq!(evidence["proved"], true, "{evidence}");
    }
}

/// Plays a script with two agents in each era over each transport.
fn play(script: impl Fn(&mut Client, &mut Client)) {
    let offered = |world: &Arc<World>| {
        Surface::new(world.clone(), ToolSelection::default()).expect("a surface")
    };
    for era in [Era::Older, Era::Newest] {
        let surface = offered(&World::with_profiles(&["milestones"]));
        let pipe = || Client::over_pipe(&surface, era);
        script(&mut pipe(), &mut pipe());
        let surface = offered(&World::without_commands(&["milestones"]));
        let address = serve_http(&surface);
        let http = || Client::over_http(address, "/mcp", era);
        script(&mut http(), &mut http());
    }
}

#[test]
fn a_wish_becomes_a_frozen_plan_that_two_agents_carry_out() {
    play(|author, reviewer| {
        plan(author, reviewer);
        let runs = call_hidden(author, "flow_status", json!({ "subject": DOCUMENT }));
        assert_eq!(runs["runs"][0]["state"], "finished", "{runs}");
        execute(author, reviewer);
    });
}
