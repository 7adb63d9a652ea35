//! An agent with nothing but MCP, in both eras and over both transports: it takes the steps it is
//! given, and has neither a shell nor the project's files.

use std::sync::Arc;

use mcp::surface::{Surface, ToolSelection};
use serde_json::{Value, json};

use crate::oauth::Site;
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
        let surface = offered(&World::without_commands(&PROFILES));
        let address = serve_http(&surface);
        let http = || Client::over_http(address, "/mcp", era);
        script(&mut http(), &mut http());
    }
}

/// The machine of the project. Only over stdio its agents have commands run there; a person does for
/// others.
struct Machine {
    world: Arc<World>,
    is_remote: bool,
}

impl Machine {
    /// Takes a step that runs the declared proofs of a node; returns them with their results.
    fn run_proofs(&self, agent: &mut Client, step: &Value) -> Value {
        if !self.is_remote {
            return agent.take_step(step);
        }
        let tool = step["tool"].as_str().expect("a tool");
        let refused = agent.refused(tool, step["arguments"].clone());
        let said = refused["error"]["message"].to_string();
        assert!(said.contains("commands cannot be run"), "{refused}");
        let inner = &step["arguments"]["arguments"]["node"];
        let node = inner.as_str().or(step["arguments"]["node"].as_str());
        let node = node.expect("a node");
        self.world.run_evidence(node);
        call_hidden(agent, "plan_evidence", json!({ "node": node }))
    }
}

/// Like [`play`], for a script in which something is run at the machine.
fn play_at_machine(script: impl Fn(&mut Client, &mut Client, &Machine)) {
    for era in [Era::Older, Era::Newest] {
        let world = World::with_profiles(&PROFILES);
        let surface = offered(&world);
        let pipe = || Client::over_pipe(&surface, era);
        let is_remote = false;
        script(&mut pipe(), &mut pipe(), &Machine { world, is_remote });
        let world = World::without_commands(&PROFILES);
        let address = serve_http(&offered(&world));
        let http = || Client::over_http(address, "/mcp", era);
        let is_remote = true;
        script(&mut http(), &mut http(), &Machine { world, is_remote });
    }
}

/// Plays a script over HTTP, in both eras, with one token of an agent for both clients.
fn play_with_one_token(script: impl Fn(&mut Client, &mut Client)) {
    for era in [Era::Older, Era::Newest] {
        let site = Site::serve(&offered(&World::with_profiles(&PROFILES)), |_| {});
        let token = site.agent_token();
        let client = || Client::with_token_over_http(site.address, era, &token);
        script(&mut client(), &mut client());
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

/// Plays a script over both transports, in both eras, in a project where only people approve and a
/// person sits at the client.
fn play_with_person(script: impl Fn(&mut Client)) {
    for era in [Era::Older, Era::Newest] {
        let surface = offered(&World::where_people_approve());
        script(&mut Client::with_person_over_pipe(&surface, era));
        let surface = offered(&World::where_people_approve());
        let address = serve_http(&surface);
        script(&mut Client::with_person_over_http(address, era));
    }
}

/// A plan that became stale is kept by the person, one or all below, from the client.
#[test]
fn a_person_keeps_stale_plans_and_sees_why_they_are() {
    play_with_person(|agent| {
        let write = |agent: &mut Client, node: &str, text: &str, version: &Value| {
            let mut arguments = json!({ "node": node, "text": text });
            if version.is_string() {
                arguments["expected_version"] = version.clone();
            }
            agent.call("plan_write", arguments);
            let approve = json!({ "node": node });
            agent.call_answered("plan_approve", approve, decide("approve", ""));
        };
        write(agent, "act-1", "# The harbour\n\nCalm.\n", &Value::Null);
        for chapter in ["act-1/chapter-01", "act-1/chapter-02"] {
            write(agent, chapter, "# A chapter\n", &Value::Null);
        }
        // Nothing is stale yet, so nobody is asked.
        let nothing = agent.refused("plan_keep", json!({ "node": "act-1/chapter-01" }));
        assert!(
            nothing.to_string().contains("nothing to revalidate"),
            "{nothing}"
        );
        for (text, keep, kept) in [
            (
                "Storm.",
                json!({ "node": "act-1/chapter-01" }),
                "act-1/chapter-01",
            ),
            (
                "Fog.",
                json!({ "node": "act-1", "all_below": true }),
                "act-1/chapter-02",
            ),
        ] {
            let read = agent.call("plan_read", json!({ "node": "act-1" }));
            let text = format!("# The harbour\n\n{text}\n");
            write(agent, "act-1", &text, &read["version_hash"]);
            let stale = call_hidden(agent, "plan_stale", json!({}));
            let choices = &stale["stale"][0]["choices"];
            find_step(choices, "plan_keep");
            let (_, declined) =
                agent.call_answered("plan_keep", keep.clone(), json!({ "action": "decline" }));
            assert_eq!(declined["decision"], "declined", "{declined}");
            let (question, answer) = agent.call_answered("plan_keep", keep, decide("approve", ""));
            assert!(question.contains("Changed in its parent"), "{question}");
            assert_eq!(answer["success"], true, "{answer}");
            let state = call_hidden(agent, "plan_state", json!({ "node": kept }));
            assert_eq!(state["status"], "approved", "{state}");
        }
    });
}

/// What nobody can decide yet is said, instead of waiting for a person.
#[test]
fn nobody_waits_for_a_plan_below_an_undecided_one() {
    for era in [Era::Older, Era::Newest] {
        let world = World::where_people_approve();
        world.write("acts/act-1/strategic-plan.md", "# A\n");
        world.write("acts/act-1/chapters/chapter-01/plan.md", "# C\n");
        let mut agent = Client::over_pipe(&offered(&world), era);
        let refused = agent.refused("plan_approve", json!({ "node": "chapter-01" }));
        let step = find_step(&refused["error"]["next_steps"], "plan_approve");
        assert_eq!(step["arguments"]["node"], "act-1", "{refused}");
        let waiting = agent.take_step(step);
        assert_eq!(waiting["waiting_for"], "a person", "{waiting}");
        let steps = &waiting["next_steps"];
        let wait = find_step(steps, "plan_wait");
        assert_eq!(
            wait["arguments"]["since"], waiting["operation"],
            "{waiting}"
        );
        // The other tool waits as well.
        let version = call_hidden(&mut agent, "plan_state", json!({ "node": "act-1" }));
        let update = json!({
            "entity_type": "act", "entity_id": "act-1", "status": "approved",
            "version_hash": version["version_hash"],
        });
        let waiting = agent.call("update_entity_state", update);
        assert_eq!(waiting["waiting_for"], "a person", "{waiting}");
    }
}

fn decide(decision: &str, comment: &str) -> Value {
    json!({ "action": "accept", "content": { "decision": decision, "comment": comment } })
}

#[test]
fn a_person_asks_for_changes_and_approves_the_rewritten_plan() {
    play_with_person(|agent| {
        let act = json!({ "node": "act-1" });
        let text = "# The harbour\n\n## Purpose\n\nMara comes home.\n";
        agent.call("plan_write", json!({ "node": "act-1", "text": text }));
        // Without the person it neither approves nor builds on it.
        let chapter = json!({ "node": "act-1/chapter-01", "text": "# The gate\n\nIt is shut.\n" });
        let refused = agent.refused("plan_write", chapter.clone());
        assert_eq!(refused["error"]["kind"], "refused", "{refused}");

        let (question, answer) = agent.call_answered(
            "plan_approve",
            act.clone(),
            decide("request-changes", "more wind"),
        );
        assert!(question.contains("Mara comes home."), "{question}");
        assert_eq!(
            (&answer["success"], &answer["decision"]),
            (&json!(false), &json!("changes-requested")),
            "{answer}"
        );
        // The agent reads the person's words wherever it looks, and the plan is its own again.
        assert!(answer.to_string().contains("more wind"), "{answer}");
        let next = agent.call("work_next", json!({}));
        let first = &next["ready"][0];
        assert_eq!(first["reason"], "a person requested changes", "{next}");
        assert_eq!(
            (&first["entity_type"], &first["title"]),
            (&json!("act"), &json!("The harbour")),
            "{next}"
        );
        let position = agent.call("work_where", json!({}));
        let step = find_step(&position["next_steps"], "plan_why");
        assert!(
            agent.take_step(step).to_string().contains("more wind"),
            "{position}"
        );
        let why = agent.take_step(&first["action"]);
        assert!(why.to_string().contains("more wind"), "{why}");
        let read = agent.call("plan_read", act.clone());
        agent.call(
            "plan_write",
            json!({
                "node": "act-1", "section": "Purpose", "text": "Mara comes home in a storm.",
                "expected_version": read["version_hash"],
            }),
        );
        let next = agent.call("work_next", json!({}));
        assert!(!next.to_string().contains("requested changes"), "{next}");

        // Closing the form is no decision, and is told as such.
        let (question, answer) =
            agent.call_answered("plan_approve", act.clone(), json!({ "action": "decline" }));
        assert!(question.contains("in a storm"), "{question}");
        assert_eq!(answer["decision"], "declined", "{answer}");
        let (_, answer) = agent.call_answered("plan_approve", act, decide("approve", ""));
        assert_eq!(answer["success"], true, "{answer}");
        agent.call("plan_write", chapter);
        let log = call_hidden(agent, "work_log", json!({ "limit": 20 }));
        let by_person = |verb: &str| {
            let operations = log["operations"].as_array().expect("operations");
            operations
                .iter()
                .any(|one| one["verb"] == verb && one["by"] == "human:mara")
        };
        for verb in ["request-changes", "decline", "approve"] {
            assert!(by_person(verb), "{verb}: {log}");
        }
        // The texts are the agent's.
        let mut operations = log["operations"].as_array().expect("operations").iter();
        let written = operations.find(|one| one["summary"] == "write act-1/chapter-01");
        let author = written.and_then(|one| one["by"].as_str());
        assert!(author.is_some_and(|by| by.starts_with("agent:")), "{log}");
    });
}

#[test]
fn a_ticket_goes_through_its_phases_with_proof() {
    play_at_machine(|agent, _, machine| {
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
            let ran = machine.run_proofs(agent, step);
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

/// Proves a scenario test first: its test fails, then passes. Returns what is told of its completion.
fn prove_scenario(agent: &mut Client, scenario: &str, machine: &Machine) -> Value {
    agent.call(
        "ticket_focus",
        json!({ "action": "enter", "node": scenario }),
    );
    let name = scenario.rsplit('/').next().expect("a name");
    let run = format!(
        "test -e {name} && echo 'test {name} ... ok' || {{ touch {name}; echo 'test {name} ... FAILED'; }}"
    );
    let proof = json!({
        "action": "add", "node": scenario, "command": ["sh", "-c", run], "test": name,
    });
    call_hidden(agent, "plan_prove", proof);
    let finish = json!({ "tool": "ticket_scenario_done", "arguments": { "scenario": scenario } });
    for standing in ["failed", "fresh"] {
        let refused = agent.refused("call_tool", finish.clone());
        let step = find_step(&refused["error"]["next_steps"], "plan_prove");
        let ran = machine.run_proofs(agent, step);
        assert_eq!(ran["proofs"][0]["standing"], standing, "{ran}");
    }
    agent.call("call_tool", finish)
}

/// A feature from its title to done, test first, in the order of its phases: the scenarios are written
/// through MCP as well.
#[test]
fn a_feature_is_described_built_test_first_and_finished() {
    play_at_machine(|agent, other, machine| {
        let made = agent.call("ticket_new", json!({ "title": "Add limits" }));
        let id = made["id"].as_str().expect("an id").to_owned();
        assert_eq!(made["work_level"], "feature", "{made}");
        agent.call("ticket_focus", json!({ "action": "enter", "node": id }));
        // The phases of a feature come in their order.
        let implement = json!({ "ticket": id, "phase": "implement" });
        let refused = agent.refused("ticket_phase", implement.clone());
        let described = agent.take_step(find_step(&refused["error"]["next_steps"], "ticket_phase"));
        assert_eq!(described["phase"], "define-behavior", "{described}");
        assert!(
            !described["guide"].to_string().contains("`tl "),
            "{described}"
        );
        for (name, text) in [
            (
                "lines-are-counted",
                "Scenario: Lines are counted\n  Given 399 lines\n  When two are added\n  Then the next edit is refused\n",
            ),
            (
                "a-commit-clears",
                "Scenario: A commit clears\n  Given 401 lines\n  When they are committed\n  Then edits pass\n",
            ),
        ] {
            let write = json!({ "node": format!("{id}/{name}"), "text": text });
            assert_eq!(agent.call("plan_write", write)["created"], true);
        }
        for phase in ["scenario-gate", "decomposition"] {
            agent.call("ticket_phase", json!({ "ticket": id, "phase": phase }));
        }
        agent.call("ticket_phase", implement);
        let list = call_hidden(agent, "ticket_scenarios", json!({}));
        assert_eq!((&list["completed"], &list["total"]), (&json!(0), &json!(2)));

        let done = json!({ "ticket": id, "phase": "done" });
        for left in ["lines-are-counted", "a-commit-clears"] {
            let refused = agent.refused("ticket_phase", done.clone());
            let path = format!("{id}/{left}");
            assert!(
                refused["error"]["message"].to_string().contains(&path),
                "{refused}"
            );
            let told = prove_scenario(agent, &path, machine);
            assert_eq!(told["ticket"], json!(id), "{told}");
        }
        let finished = agent.call("ticket_phase", done);
        assert_eq!(finished["progress"], "complete", "{finished}");
        let next = other.call("work_next", json!({}));
        assert!(!next["ready"].to_string().contains("Add limits"), "{next}");
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
    play(share_wave);
    play_with_one_token(share_wave);
}

fn share_wave(agent: &mut Client, other: &mut Client) {
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
}

#[test]
fn two_agents_claim_different_tickets_and_give_back_only_their_own() {
    play(claim_tickets);
    play_with_one_token(claim_tickets);
}

fn claim_tickets(agent: &mut Client, other: &mut Client) {
    for title in ["One", "Two"] {
        agent.call("ticket_new", json!({ "title": title }));
    }
    let claim = json!({ "tool": "work_claim", "arguments": {} });
    let first = agent.call("call_tool", claim.clone());
    let second = other.call("call_tool", claim);
    assert_ne!(first["node"], second["node"], "{first} {second}");
    let mut release = json!({ "node": first["node"], "session": second["session"] });
    let wrong = json!({ "tool": "work_release", "arguments": release });
    other.refused("call_tool", wrong);
    release["session"] = first["session"].clone();
    call_hidden(agent, "work_release", release);
    let again = json!({ "node": first["node"], "session": second["session"] });
    call_hidden(other, "work_claim", again);
}

#[test]
fn notes_a_trail_and_a_tick() {
    play(keep_notes_and_tick);
    play_with_one_token(keep_notes_and_tick);
}

fn keep_notes_and_tick(agent: &mut Client, other: &mut Client) {
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
    let plan =
        |actions: Value| json!({ "rationale": "r", "scene_intention": "s", "actions": actions });
    let failed = agent.refused("call_tool", submit(plan(json!([generate, failing]))));
    assert_eq!(failed["current"]["status"], "failed", "{failed}");
    assert_eq!(
        failed["current"]["executed"][0]["tool"], "character.generate",
        "{failed}"
    );

    // The next tick begins where the failed one ended, and keeps what it did.
    let asked = call_hidden(agent, "story_tick_begin", json!({}));
    let generate = json!({
        "tool": "location.generate",
        "args": { "name": "The harbour", "description": "d" },
    });
    let plan = plan(json!([generate]));
    let answer = json!({ "nonce": asked["nonce"], "plan": plan });
    let done = call_hidden(agent, "story_tick_submit", answer.clone());
    assert_eq!(done["status"], "done", "{done}");
    let memory = call_hidden(other, "story_memory", json!({})).to_string();
    for name in ["Mara", "The harbour"] {
        assert!(memory.contains(name), "{name}: {memory}");
    }
    let late = json!({ "tool": "story_tick_submit", "arguments": answer });
    assert_eq!(
        agent.refused("call_tool", late)["error"]["kind"],
        "conflict"
    );
}

/// Two persons' agents are two, although their clients have one name and, in the newest era, no
/// sessions.
#[test]
fn agents_with_two_persons_tokens_share_neither_trail_nor_focus() {
    for era in [Era::Older, Era::Newest] {
        let site = Site::serve(&offered(&World::with_profiles(&PROFILES)), |_| {});
        let [mut anna, mut bob] = ["anna", "bob"]
            .map(|name| Client::with_token_over_http(site.address, era, &site.person_token(name)));
        anna.call("ticket_new", json!({ "title": "Export" }));
        anna.call("ticket_focus", json!({ "action": "enter", "node": "001" }));
        anna.call("trail_intent", json!({ "focus": "Anna's export" }));
        bob.call("trail_intent", json!({ "focus": "Bob's import" }));
        bob.call(
            "trail_map",
            json!({ "level": "tactic", "content": "delete it all" }),
        );
        let trail = call_hidden(&mut anna, "trail_back", json!({})).to_string();
        assert!(trail.contains("Anna's export"), "{trail}");
        assert!(
            !trail.contains("Bob's") && !trail.contains("delete it all"),
            "{trail}"
        );
        let focus = |agent: &mut Client| agent.call("work_where", json!({}))["focus"].clone();
        assert_eq!(focus(&mut anna)["stack"][0]["path"], "001");
        assert!(focus(&mut bob).is_null());
        // The log tells them apart.
        for agent in [&mut anna, &mut bob] {
            call_hidden(
                agent,
                "plan_comment",
                json!({ "node": "001", "text": "Seen." }),
            );
        }
        let log = call_hidden(&mut anna, "work_log", json!({}));
        let operations = log["operations"].as_array().expect("operations");
        let authors = operations.iter().filter(|one| one["verb"] == "comment");
        let authors: Vec<&Value> = authors.map(|one| &one["by"]).collect();
        assert_eq!(authors.len(), 2, "{log}");
        assert_ne!(authors[0], authors[1], "{log}");
    }
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
