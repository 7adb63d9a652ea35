//! Everything a client can reach, searched for what only a shell can do: an agent may have nothing
//! but this protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::profile::built_in_profile;
use mcp::surface::{Called, Catalogue, Offered, Surface};
use serde_json::{Map, Value, json};

use crate::{World, agent, assert_usable_steps, surface};

const PROFILES: [&str; 4] = ["story", "tickets", "trail", "milestones"];
/// What no tool does is a person's.
const ASKS_PERSON: &str = "ask the person to run: tl ";

/// What a gate is about is no step.
const GUARDED: &str = "running `tl hook` in a command";
const PERSONS: &str = "a person adopts it: tl state adopt";
const PERSON_COMMANDS: [&str; 2] = ["undo ", "gate override "];

/// A client that keeps what it could not use.
struct Crawler {
    surface: Surface,
    found: BTreeSet<String>,
}

impl Crawler {
    fn over(world: &Arc<World>) -> Self {
        Self {
            surface: surface(world),
            found: BTreeSet::new(),
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let value = match self.surface.call(&agent(), tool, &arguments) {
            Called::Done(value) | Called::Failed(value) => value,
            Called::Unknown(message) => panic!("{message}"),
        };
        self.search(tool, &value);
        assert_usable_steps(&self.surface, &value["next_steps"]);
        assert_usable_steps(&self.surface, &value["error"]["next_steps"]);
        value
    }

    fn search(&mut self, at: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.search(&format!("{at}.{name}"), field);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.search(at, item)),
            Value::String(text) => {
                for line in text.lines().filter(|line| names_shell(line)) {
                    self.found.insert(format!("{at}: {line}"));
                }
            }
            _ => {}
        }
    }

    /// Calls every tool with arguments that are missing, unknown, of another type, and fitting.
    fn call_every_tool(&mut self, nodes: &[&str]) {
        let profiles = PROFILES.map(|name| built_in_profile(name).unwrap());
        for tool in Catalogue::of(&profiles).unwrap().tools {
            if self.surface.find_tool(tool.name).is_none() {
                continue;
            }
            self.call(tool.name, json!({}));
            self.call(tool.name, json!({ "unknown": 1 }));
            let properties = tool.input_schema["properties"].as_object().cloned();
            for name in properties.unwrap_or_default().keys() {
                self.call(tool.name, json!({ name: [{}] }));
            }
            for node in nodes {
                for arguments in fitting_arguments(&tool, node) {
                    self.call(tool.name, arguments);
                }
            }
        }
    }

    fn read_resources_and_prompts(&mut self, nodes: &[&str]) {
        let listed = self.surface.resources(&agent(), None).unwrap().items;
        let mut uris: Vec<String> = listed.into_iter().map(|resource| resource.uri).collect();
        for node in nodes {
            uris.push(format!("state://planning/hierarchy/{node}"));
            uris.push(format!("state://planning/act/{node}"));
        }
        for uri in uris {
            if let Some(content) = self.surface.read(&agent(), &uri).unwrap() {
                self.search(&uri, &json!(content.text));
            }
        }
        for prompt in self.surface.prompts() {
            for node in nodes {
                let given = ["id", "node"].map(|name| (name.to_owned(), (*node).to_owned()));
                let arguments = BTreeMap::from(given);
                match self.surface.prompt(&agent(), &prompt.name, &arguments) {
                    Ok(text) => self.search(&prompt.name, &json!(text)),
                    Err(failure) => {
                        let failure = self.surface.failure_value(&failure);
                        self.search(&prompt.name, &failure);
                    }
                }
            }
        }
    }

    #[track_caller]
    fn finish(self) {
        let found: Vec<String> = self.found.into_iter().collect();
        assert!(found.is_empty(), "for a shell:\n{}", found.join("\n"));
    }
}

/// Whether a line has a command of ours or an option of one.
fn names_shell(line: &str) -> bool {
    let line = line.replace(GUARDED, "").replace(PERSONS, "");
    let line = line.trim_start();
    if let Some(command) = line.strip_prefix(ASKS_PERSON) {
        return !PERSON_COMMANDS
            .iter()
            .any(|known| command.starts_with(known));
    }
    let is_start = |at: usize| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        before.is_none_or(|c| c.is_whitespace() || "`\"'(:".contains(c))
    };
    let is_word = |at: usize| {
        let next = line.get(at..).and_then(|text| text.chars().next());
        next.is_some_and(|c| c.is_ascii_lowercase())
    };
    ["tl ", "--"].iter().any(|sign| {
        let mut places = line.match_indices(sign);
        places.any(|(at, _)| is_start(at) && is_word(at + sign.len()))
    })
}

/// Returns arguments of the types that a tool takes: one set, or one for each value of an `enum`.
fn fitting_arguments(tool: &Offered, node: &str) -> Vec<Value> {
    let Some(properties) = tool.input_schema["properties"].as_object() else {
        return Vec::new();
    };
    let value = |name: &str, schema: &Value| match (name, schema["type"].as_str()) {
        (_, Some("integer" | "number")) => json!(1),
        (_, Some("boolean")) => json!(true),
        (_, Some("array")) => json!(["x"]),
        (_, Some("object")) => json!({}),
        ("node" | "ticket" | "scenario" | "scene", _) => json!(node),
        _ => json!("x"),
    };
    let all: Map<String, Value> = properties
        .iter()
        .map(|(name, schema)| (name.clone(), value(name, schema)))
        .collect();
    let choice = properties.iter().find_map(|(name, schema)| {
        let values = schema["enum"].as_array()?;
        Some((name, values))
    });
    let is_required = |name: &String| {
        let required = tool.input_schema["required"].as_array();
        required.is_some_and(|names| names.contains(&json!(name)))
    };
    let mut needed = all;
    needed.retain(|name, _| is_required(name) || name == "node");
    match choice {
        None => vec![Value::Object(needed)],
        Some((name, values)) => values
            .iter()
            .map(|value| {
                let mut one = needed.clone();
                one.insert(name.clone(), value.clone());
                Value::Object(one)
            })
            .collect(),
    }
}

/// Plays through a story: plans that are approved, changed and refused, and a tick.
fn play_story(client: &mut Crawler) {
    client.call("plan_prompt", json!({}));
    for node in ["act-1", "act-1/chapter-01", "act-1/chapter-01/scene-0101"] {
        let text = format!("# The harbour\n\nMara comes home, and {node} says how it goes on.\n");
        client.call("plan_prompt", json!({ "node": node }));
        client.call("plan_write", json!({ "node": node, "text": text }));
        client.call("plan_prompt", json!({ "node": node }));
        client.call("plan_write", json!({ "node": node, "text": "# Other\n" }));
        client.call("work_where", json!({}));
        client.call("work_next", json!({}));
        client.call("plan_approve", json!({ "node": node }));
    }
    let begun = client.call("story_tick_begin", json!({}));
    for plan in [json!({}), json!({ "actions": [{ "x": 1 }] })] {
        client.call("story_tick_submit", json!({ "nonce": "x", "plan": plan }));
        let answer = json!({ "nonce": begun["nonce"], "plan": plan });
        client.call("story_tick_submit", answer);
    }
    for scene in ["act-1/chapter-01/scene-0101", "scene-0199"] {
        client.call("story_scene_begin", json!({ "scene": scene }));
        let answer = json!({ "scene": scene, "nonce": "x", "answer": {} });
        client.call("story_scene_submit", answer);
    }
    let read = client.call("plan_read", json!({ "node": "act-1" }));
    let change = json!({
        "node": "act-1", "text": "# The harbour\n\nEverybody drowns.\n",
        "expected_version": read["version_hash"],
    });
    client.call("plan_write", change);
    client.call("plan_approve", json!({ "node": "act-1" }));
    for tool in [
        "plan_stale",
        "work_check",
        "work_next",
        "work_where",
        "work_gates",
    ] {
        client.call(tool, json!({}));
    }
    for tool in [
        "plan_why",
        "plan_state",
        "plan_diff",
        "plan_keep",
        "plan_evidence_propose",
    ] {
        client.call(tool, json!({ "node": "act-1/chapter-01" }));
    }
    client.call(
        "plan_reject",
        json!({ "node": "act-1", "reason": "another story" }),
    );
}

/// Plays through tickets and a trail.
fn play_tickets(client: &mut Crawler) {
    let tools = [
        "trail_back",
        "trail_scan",
        "trail_drift",
        "work_brief",
        "trail_sessions",
    ];
    let look = |client: &mut Crawler| {
        for tool in tools {
            client.call(tool, json!({}));
        }
    };
    look(client);
    client.call("trail_intent", json!({ "focus": "Cache" }));
    look(client);
    for (level, status) in [
        ("tactic", "active"),
        ("action", "active"),
        ("action", "complete"),
    ] {
        let map = json!({ "level": level, "content": "one", "status": status });
        client.call("trail_map", map);
        look(client);
    }
    client.call("trail_rate", json!({ "score": -3, "reason": "drift" }));
    look(client);
    client.call(
        "ticket_new",
        json!({ "title": "Limits", "type": "feature" }),
    );
    let phase = |name: &str| json!({ "ticket": "001", "phase": name });
    for (tool, arguments) in [
        ("ticket_scenarios", json!({})),
        ("ticket_focus", json!({ "action": "enter", "node": "001" })),
        ("work_brief", json!({})),
        ("work_gates", json!({})),
        ("ticket_scenarios", json!({})),
        ("ticket_scenario_done", json!({})),
        ("ticket_phase", phase("implement")),
        ("ticket_phase", phase("done")),
        ("ticket_split", json!({ "ticket": "001", "titles": ["a"] })),
        ("plan_prompt", json!({ "node": "001" })),
        ("plan_prove", json!({ "action": "add", "node": "001" })),
        (
            "plan_prove",
            json!({ "action": "add", "node": "001", "command": ["false"] }),
        ),
        ("plan_prove", json!({ "action": "run", "node": "001" })),
        ("plan_evidence", json!({ "node": "001" })),
        (
            "plan_progress",
            json!({ "node": "001", "progress": "complete" }),
        ),
        ("ticket_from_branch", json!({})),
        ("ticket_focus", json!({ "action": "switch" })),
        ("work_claim", json!({ "node": "001" })),
        ("work_undo", json!({})),
    ] {
        client.call(tool, arguments);
    }
}

/// Plays through documents, workflows and reviews.
fn play_milestones(client: &mut Crawler) {
    for (tool, arguments) in [
        ("review_check", json!({ "check": "c", "severity": "MUST" })),
        ("review_status", json!({})),
        ("flow_next", json!({})),
        (
            "flow_move",
            json!({ "how": "start", "workflow": "executor" }),
        ),
        (
            "flow_move",
            json!({ "how": "start", "workflow": "planner", "new": "Cache" }),
        ),
        (
            "flow_move",
            json!({ "how": "start", "workflow": "planner", "new": "Cache" }),
        ),
    ] {
        client.call(tool, arguments);
    }
    for _ in 0..4 {
        client.call("flow_next", json!({}));
        client.call("flow_move", json!({ "how": "done" }));
        client.call("doc_context", json!({ "context": { "task_spec": ["x"] } }));
    }
    for how in ["pass", "fail", "take"] {
        client.call("flow_move", json!({ "how": how }));
    }
    for changes in [
        json!([{ "do": "x" }]),
        json!([{ "do": "set" }]),
        json!([{}]),
        json!([]),
    ] {
        client.call("doc_change", json!({ "changes": changes }));
    }
    for tool in [
        "doc_validate",
        "doc_freeze",
        "doc_revise",
        "doc_diff",
        "doc_reconcile",
    ] {
        client.call(tool, json!({}));
    }
    let of = "act-1";
    client.call(
        "review_check",
        json!({ "of": of, "check": "c", "severity": "MUST" }),
    );
    for judged in [
        json!({ "of": of, "item": "qa-001", "verdict": "fail" }),
        json!({ "of": of, "item": "qa-009", "verdict": "pass" }),
        json!({ "of": of, "item": "qa-001", "verdict": "fail", "finding": "bad", "version": 9 }),
        json!({ "of": of, "item": "qa-001", "verdict": "fail", "finding": "bad" }),
    ] {
        client.call("review_verdict", judged);
        client.call("review_status", json!({ "of": of }));
        client.call("review_conclude", json!({ "of": of }));
    }
    client.call(
        "review_accept",
        json!({ "of": of, "item": "qa-001", "reason": "x" }),
    );
}

#[test]
fn nothing_a_client_gets_is_for_a_shell() {
    let mut client = Crawler::over(&World::with_profiles(&PROFILES));
    play_story(&mut client);
    play_tickets(&mut client);
    play_milestones(&mut client);
    let nodes = ["act-1", "act-1/chapter-01", "001", "act-9"];
    client.read_resources_and_prompts(&nodes);
    client.call_every_tool(&nodes);
    client.read_resources_and_prompts(&nodes);
    client.finish();
}

#[test]
fn nothing_is_for_a_shell_where_nothing_is_planned() {
    for profile in PROFILES {
        let mut client = Crawler::over(&World::with_profiles(&[profile]));
        client.call_every_tool(&["act-1"]);
        client.read_resources_and_prompts(&["act-1"]);
        client.finish();
    }
}

/// A step that repeats the failed call has what was missing in it.
#[test]
fn a_call_that_misses_something_is_repeated_with_it() {
    let surface = surface(&World::with_profiles(&PROFILES));
    let checked = json!({ "of": "act-1", "check": "c", "severity": "MUST" });
    crate::done(&surface, "review_check", checked);
    let judged = json!({ "of": "act-1", "item": "qa-001", "verdict": "fail" });
    let refused = crate::failed(&surface, "review_verdict", judged);
    let call = json!({
        "tool": "review_verdict",
        "arguments": {
            "of": "act-1", "item": "qa-001", "verdict": "fail",
            "finding": "what is wrong, and where",
        },
    });
    let step = json!({ "tool": "call_tool", "arguments": call });
    assert_eq!(refused["next_steps"], json!([step]));
    crate::done(&surface, "doc_new", json!({ "title": "Cache" }));
    let refused = crate::failed(&surface, "review_status", json!({}));
    let step = &refused["next_steps"][0];
    assert_eq!(step["arguments"]["arguments"], json!({ "of": "SUBJECT" }));
    assert_eq!(step["why"], "such as add-search/plan-design or a node");
    let stale = json!({ "nonce": "x", "plan": {} });
    let refused = crate::failed(&surface, "story_tick_submit", stale);
    let steps = refused["next_steps"].to_string();
    assert!(steps.contains("story_tick_begin"), "{refused}");
}
