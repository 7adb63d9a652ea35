//! An agent with nothing but MCP, in both eras and over both transports: it takes the steps it is
//! given, and has neither a shell nor the project's files.

use std::sync::Arc;

use mcp::surface::{Surface, ToolSelection};
use serde_json::{Value, json};

use crate::wire::{Client, Era, serve_http};
use crate::world::World;

const PROFILES: [&str; 4] = ["story", "tickets", "trail", "milestones"];

fn offered(world: &Arc<World>) -> Surface {
    Surface::new(world.clone(), ToolSelection::default()).expect("a surface")
}

/// Plays a script over both transports, in both eras, each in a project of its own. The script gets
/// two agents.
fn play(script: impl Fn(&mut Client, &mut Client)) {
    for era in [Era::Older, Era::Newest] {
        let surface = offered(&World::with_profiles(&PROFILES));
        let pipe = || Client::over_pipe(&surface, era);
        script(&mut pipe(), &mut pipe());
        let surface = offered(&World::with_profiles(&PROFILES));
        let address = serve_http(&surface);
        let http = || Client::over_http(address, "/mcp", era);
        script(&mut http(), &mut http());
    }
}

/// Calls a tool through the way that works in every client.
fn call_hidden(agent: &mut Client, tool: &str, arguments: Value) -> Value {
    agent.call("call_tool", json!({ "tool": tool, "arguments": arguments }))
}

fn find_step<'s>(steps: &'s Value, tool: &str) -> &'s Value {
    let steps = steps.as_array().expect("steps");
    let is_ours = |step: &&Value| step["tool"] == tool || step["arguments"]["tool"] == tool;
    steps
        .iter()
        .find(is_ours)
        .unwrap_or_else(|| panic!("{tool}: {steps:?}"))
}

#[test]
fn a_story_is_planned_changed_kept_and_restored() {
    play(|agent, other| {
        let position = agent.call("work_where", json!({}));
        let first = find_step(&position["next_steps"], "plan_prompt");
        let prompt = agent.take_step(first);
        assert_eq!(
            (&prompt["path"], &prompt["exists"]),
            (&json!("act-1"), &json!(false))
        );
        let act = "# The harbour\n\n## Purpose\n\nMara comes home.\n";
        let written = agent.call("plan_write", json!({ "node": "act-1", "text": act }));
        assert_eq!(
            (&written["created"], &written["status"]),
            (&json!(true), &json!("draft"))
        );

        let chapter = json!({ "node": "act-1/chapter-01", "text": "# The gate\n\nIt is shut.\n" });
        let refused = agent.refused("plan_write", chapter.clone());
        assert_eq!(refused["error"]["kind"], "refused", "{refused}");
        let next = agent.call("work_next", json!({}));
        assert_eq!(next["ready"][0]["kind"], "decision", "{next}");
        let approve = &next["ready"][0]["action"];
        assert_eq!(approve["tool"], "plan_approve");
        agent.take_step(approve);
        agent.call("plan_write", chapter.clone());
        agent.call("plan_approve", json!({ "node": "act-1/chapter-01" }));

        // Nothing is replaced that was not read.
        let blind = agent.refused("plan_write", chapter);
        assert_eq!(blind["error"]["kind"], "conflict", "{blind}");
        let read = agent.call("plan_read", json!({ "node": "act-1" }));
        assert_eq!(read["sections"], json!(["The harbour", "Purpose"]));
        let mut change = json!({
            "node": "act-1", "section": "Purpose", "text": "Mara comes back.",
            "expected_version": read["version_hash"],
        });
        other.call("plan_write", change.clone());
        change["text"] = json!("Mara stays away.");
        let stale = agent.refused("plan_write", change);
        assert_eq!(stale["error"]["kind"], "conflict", "{stale}");
        let read = agent.call(
            "plan_read",
            json!({ "node": "act-1", "section": "purpose" }),
        );
        assert_eq!(
            read["text"].as_str().map(str::trim),
            Some("Mara comes back.")
        );

        // The change goes down, the chapter is kept, and an undo and a restore come back.
        agent.call("plan_approve", json!({ "node": "act-1" }));
        let state = call_hidden(agent, "plan_state", json!({ "node": "act-1/chapter-01" }));
        assert_eq!(state["status"], "requires-revalidation");
        let stale = call_hidden(agent, "plan_stale", json!({}));
        assert_eq!(stale["stale"][0]["path"], "act-1/chapter-01");
        let kept = call_hidden(agent, "plan_keep", json!({ "node": "act-1/chapter-01" }));
        assert_eq!(kept["kept"][0]["status"], "approved");
        call_hidden(
            agent,
            "plan_comment",
            json!({ "node": "act-1", "text": "too short" }),
        );
        let said = call_hidden(other, "plan_comments", json!({ "node": "act-1" }));
        assert_eq!(said["comments"][0]["text"], "too short");
        call_hidden(
            agent,
            "plan_restore",
            json!({ "node": "act-1", "version": "-1" }),
        );
        let read = agent.call("plan_read", json!({ "node": "act-1" }));
        assert_eq!(read["text"], act);
        let log = call_hidden(agent, "work_log", json!({ "limit": 3 }));
        let restored = log["operations"][0]["id"].clone();
        call_hidden(agent, "work_undo", json!({ "operation": restored }));
        let read = agent.call("plan_read", json!({ "node": "act-1" }));
        assert_ne!(read["text"], act);
    });
}

#[test]
fn a_ticket_goes_through_its_phases_with_proof() {
    play(|agent, _| {
        let made = agent.call(
            "ticket_new",
            json!({ "title": "Limits", "type": "feature" }),
        );
        let id = made["id"].as_str().expect("an id").to_owned();
        let read = agent.call("plan_read", json!({ "node": id }));
        let text = read["text"].as_str().expect("a text");
        let write = json!({
            "node": id, "expected_version": read["version_hash"],
            "text": format!("{text}\n## Why\n\nNobody counts.\n"),
        });
        agent.call("plan_write", write);
        agent.call("ticket_focus", json!({ "action": "enter", "node": id }));
        agent.call(
            "ticket_phase",
            json!({ "ticket": id, "phase": "implement" }),
        );
        // The test fails in its first run and passes in the second: red, then green.
        let run =
            "test -e red && echo 'test one ... ok' || { touch red; echo 'test one ... FAILED'; }";
        let proof = json!({
            "action": "add", "node": id, "command": ["sh", "-c", run], "test": "one",
        });
        call_hidden(agent, "plan_prove", proof);
        for standing in ["failed", "fresh"] {
            let refused = agent.refused(
                "plan_progress",
                json!({ "node": id, "progress": "complete" }),
            );
            let step = find_step(&refused["error"]["next_steps"], "plan_prove");
            let ran = agent.take_step(step);
            assert_eq!(ran["proofs"][0]["standing"], standing, "{ran}");
        }
        agent.call(
            "plan_progress",
            json!({ "node": id, "progress": "complete" }),
        );
        let evidence = call_hidden(agent, "plan_evidence", json!({ "node": id }));
        assert_eq!(evidence["proved"], true, "{evidence}");
        let position = agent.call("work_where", json!({}));
        assert!(position["focus"]["line"].is_string(), "{position}");
    });
}

/// Milestones that do not need one another, for two agents.
fn changes() -> Value {
    let milestone = |name: &str| {
        json!({
            "do": "add-milestone", "name": name, "as": name, "acceptance_criteria": ["it works"],
            "tests": { "skip_reason": "none" }, "files": [format!("src/{name}.rs")],
        })
    };
    let intent = |name: &str| {
        let (at, file) = (format!("@{name}"), format!("src/{name}.rs"));
        json!({ "do": "add-intent", "milestone": at, "file": file, "behavior": "b" })
    };
    json!([
        { "do": "set", "id": "overview", "version": 1, "fields": { "problem": "p", "approach": "a" } },
        milestone("one"), milestone("two"), intent("one"), intent("two"),
    ])
}

#[test]
fn two_agents_work_on_one_wave_and_never_on_one_milestone() {
    play(|agent, other| {
        let start = json!({ "how": "start", "workflow": "planner", "new": "Add search" });
        assert_eq!(agent.call("flow_move", start)["subject"], "add-search");
        // The first steps of the planner: what the user said is written down and frozen.
        let mut step = agent.call("flow_next", json!({}));
        for _ in 0..3 {
            if step["missing"].to_string().contains("context.json") {
                let context = json!({ "context": { "task_spec": ["search"] } });
                call_hidden(agent, "doc_context", context);
            }
            let prompt = step["prompt"].as_str().expect("a prompt");
            let commands = prompt.lines().filter(|line| line.trim().starts_with("tl "));
            assert_eq!(commands.count(), 0, "{prompt}");
            if step["number"] == 3 {
                break;
            }
            agent.call("flow_move", json!({ "how": "done" }));
            step = agent.call("flow_next", json!({}));
        }
        let runs = call_hidden(agent, "flow_status", json!({}));
        assert_eq!(runs["runs"][0]["workflow"], "planner", "{runs}");
        call_hidden(agent, "flow_abort", json!({ "workflow": "planner" }));

        call_hidden(agent, "doc_change", json!({ "changes": changes() }));
        call_hidden(agent, "doc_freeze", json!({}));
        agent.call(
            "flow_move",
            json!({ "how": "start", "workflow": "executor" }),
        );
        agent.call("flow_move", json!({ "how": "done" }));
        agent.call("flow_move", json!({ "how": "done" }));
        let take = json!({ "how": "take", "subject": "add-search" });
        let first = agent.call("flow_move", take.clone());
        let second = other.call("flow_move", take.clone());
        assert_ne!(first["milestone"], second["milestone"], "{first} {second}");
        assert_ne!(first["session"], second["session"]);
        // The session that took one gets it again, and nobody else gets any.
        let mut again = take.clone();
        again["session"] = first["session"].clone();
        assert_eq!(
            agent.call("flow_move", again)["milestone"],
            first["milestone"]
        );
        let mut third = take;
        third["session"] = json!("third");
        let refused = agent.refused("flow_move", third);
        assert_eq!(refused["error"]["kind"], "refused", "{refused}");
        let release = json!({ "node": second["node"], "session": second["session"] });
        call_hidden(other, "work_release", release);
        agent.call(
            "plan_progress",
            json!({ "node": first["node"], "progress": "active" }),
        );
    });
}

#[test]
fn notes_a_trail_and_a_tick() {
    play(|agent, other| {
        agent.call("trail_intent", json!({ "focus": "Build auth" }));
        agent.call("trail_map", json!({ "level": "tactic", "content": "JWT" }));
        agent.call(
            "note_add",
            json!({ "text": "passport was tried", "shelf": "tried" }),
        );
        let found = other.call("note_find", json!({ "query": "pass" }));
        assert_eq!(found["mems"][0]["shelf"], "tried");
        let back = call_hidden(agent, "trail_back", json!({}));
        assert!(back.is_object(), "{back}");

        let asked = call_hidden(agent, "story_tick_begin", json!({}));
        let submit = |plan: Value| json!({ "tool": "story_tick_submit", "arguments": { "nonce": asked["nonce"], "plan": plan } });
        // Every problem at once.
        let refused = agent.refused("call_tool", submit(json!({ "actions": [{ "tool": "x" }] })));
        let message = refused["error"]["message"].as_str().expect("a message");
        for part in ["`rationale`", "`scene_intention`", "`actions[0].args`"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        let generate = json!({
            "tool": "character.generate",
            "args": { "name": "Mara", "role": "lead", "description": "d" },
        });
        let failing = json!({ "tool": "node.show", "args": { "node": "act-9" } });
        let plan = |actions: Value| json!({ "rationale": "r", "scene_intention": "s", "actions": actions });
        let failed = agent.refused("call_tool", submit(plan(json!([generate, failing]))));
        assert_eq!(failed["current"]["status"], "failed", "{failed}");
        assert_eq!(
            failed["current"]["executed"][0]["tool"], "character.generate",
            "{failed}"
        );
    });
}

/// Older clients get a longer list after they asked for a set; in the newest era a list never
/// depends on earlier calls.
#[test]
fn a_set_that_was_asked_for_is_in_the_list_from_then_on() {
    for era in [Era::Older, Era::Newest] {
        let surface = offered(&World::with_profiles(&["story"]));
        let mut agent = Client::over_pipe(&surface, era);
        assert!(!agent.tools().contains(&"note_pin".to_owned()));
        agent.call("more_tools", json!({ "set": "note" }));
        let is_told = |told: &Value| told["method"] == "notifications/tools/list_changed";
        let has_more = agent.tools().contains(&"note_pin".to_owned());
        assert_eq!(has_more, era == Era::Older);
        assert_eq!(
            agent.told.iter().any(is_told),
            era == Era::Older,
            "{:?}",
            agent.told
        );
    }
}

/// A client is told when another settings file changes the tools.
#[test]
fn clients_are_told_when_the_profiles_change() {
    let world = World::with_profiles(&["story"]);
    let mut agent = Client::over_pipe(&offered(&world), Era::Older);
    assert!(!agent.tools().contains(&"ticket_new".to_owned()));
    world.enable(&["story", "tickets"]);
    let is_told = |told: &Value| told["method"] == "notifications/tools/list_changed";
    let begun = std::time::Instant::now();
    while !agent.told.iter().any(is_told) {
        assert!(begun.elapsed().as_secs() < 20, "nobody was told");
        agent.request("ping", json!({}));
    }
    assert!(agent.tools().contains(&"ticket_new".to_owned()));
}

#[test]
fn sets_are_combined_by_path() {
    let surface = offered(&World::with_profiles(&PROFILES));
    let address = serve_http(&surface);
    for era in [Era::Older, Era::Newest] {
        let tools = Client::over_http(address, "/mcp/core,story", era).tools();
        assert!(tools.contains(&"story_tick_begin".to_owned()), "{tools:?}");
        assert!(tools.contains(&"work_where".to_owned()), "{tools:?}");
        assert!(!tools.contains(&"ticket_new".to_owned()), "{tools:?}");
        let tools = Client::over_http(address, "/mcp/ticket/readonly", era).tools();
        assert!(tools.contains(&"ticket_scenarios".to_owned()), "{tools:?}");
        assert!(!tools.contains(&"ticket_new".to_owned()), "{tools:?}");
    }
}
