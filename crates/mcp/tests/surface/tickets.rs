//! The tools for tickets: a feature from an empty project to done, and who is refused what.

use domain::ids::Principal;
use mcp::surface::{Called, Surface};
use serde_json::{Value, json};

use crate::{World, agent, done, failed, surface};

const TICKET: &str = "tickets/001-limits/ticket.md";

fn another() -> Principal {
    Principal::Agent {
        host: "test".to_owned(),
        session: "2".to_owned(),
    }
}

fn as_another(surface: &Surface, name: &str, arguments: Value) -> Called {
    surface.call(&another(), name, &arguments)
}

fn aliases(value: &Value) -> Vec<&str> {
    value["stack"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap_or("tdd"))
        .collect()
}

#[test]
fn a_feature_from_nothing_to_done() {
    let world = World::tickets();
    let surface = surface(&world);
    let made = done(
        &surface,
        "ticket_new",
        json!({ "title": "Limits", "type": "feature" }),
    );
    assert_eq!(
        (&made["id"], &made["file_path"], &made["phase"]),
        (&json!("001"), &json!(TICKET), &json!("intake"))
    );
    assert!(
        world.text(TICKET).contains("type: feature"),
        "{}",
        world.text(TICKET)
    );
    assert_eq!(
        done(&surface, "where", json!({})).get("focus"),
        None,
        "nobody stands anywhere yet"
    );

    let split = done(
        &surface,
        "ticket_split",
        json!({ "ticket": "001", "titles": ["Count", "Stop"] }),
    );
    let children: Vec<&Value> = split["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| &child["path"])
        .collect();
    assert_eq!(children, ["001/001a", "001/001b"]);
    world.write(
        "tickets/001a-count/test-definitions.md",
        "Scenario: Lines are counted\n\nScenario: Blanks too\n",
    );
    let entered = done(
        &surface,
        "focus",
        json!({ "action": "enter", "node": "001a", "claim": true }),
    );
    assert_eq!(aliases(&entered), ["001", "001a"]);
    assert!(
        entered["context"]
            .as_str()
            .is_some_and(|text| text.contains("# Count")),
        "{entered}"
    );
    let moved = done(
        &surface,
        "ticket_phase",
        json!({ "ticket": "001a", "phase": "implement" }),
    );
    assert_eq!(moved["phase"], "implement");
    let level = json!({ "ticket": "001a", "level": "patch", "reason": "two lines" });
    assert_eq!(
        done(&surface, "ticket_level", level)["reasons"],
        json!(["two lines"])
    );

    let stands = done(&surface, "where", json!({}))["focus"].clone();
    assert!(
        stands["line"]
            .as_str()
            .is_some_and(|line| line.starts_with("001 › 001a › lines-are-counted")),
        "{stands}"
    );
    assert_eq!(aliases(&stands), ["001", "001a", "tdd"]);
    let list = done(&surface, "ticket_scenarios", json!({}));
    assert_eq!((&list["completed"], &list["total"]), (&json!(0), &json!(2)));
    done(&surface, "ticket_scenario_done", json!({}));
    let list = done(
        &surface,
        "ticket_scenario_done",
        json!({ "scenario": "blanks too" }),
    );
    assert_eq!(
        (&list["ticket"], &list["completed"]),
        (&json!("001a"), &json!(2))
    );

    let proof = json!({ "action": "add", "node": "001a", "command": ["test", "-s", "src/count"], "inputs": ["src"] });
    assert_eq!(
        done(&surface, "plan_prove", proof)["proofs"][0]["standing"],
        "open"
    );
    let run = json!({ "action": "run", "node": "001a", "timeout_seconds": 20 });
    assert_eq!(
        done(&surface, "plan_prove", run.clone())["proofs"][0]["result"]["exit_code"],
        1
    );
    let refused = failed(
        &surface,
        "ticket_phase",
        json!({ "ticket": "001a", "phase": "done" }),
    );
    assert_eq!(refused["kind"], "refused");
    world.write("src/count", "lines\n");
    assert_eq!(done(&surface, "plan_prove", run)["proved"], true);
    let finished = done(
        &surface,
        "ticket_phase",
        json!({ "ticket": "001a", "phase": "done" }),
    );
    assert_eq!(finished["progress"], "complete");
    assert_eq!(
        done(&surface, "plan_evidence", json!({ "node": "001a" }))["proved"],
        true
    );

    let left = done(&surface, "focus", json!({ "action": "exit" }));
    assert_eq!(aliases(&left), ["001", "001b"], "on to the next one");
    assert_eq!(
        aliases(&done(
            &surface,
            "focus",
            json!({ "action": "back", "node": "001a" })
        )),
        ["001", "001a"]
    );
    assert_eq!(
        done(&surface, "focus", json!({ "action": "park" }))["stack"],
        json!([])
    );
    let again = done(
        &surface,
        "focus",
        json!({ "action": "switch", "node": "001" }),
    );
    assert_eq!(aliases(&again), ["001", "001a"], "as it was left");
}

/// The text of our own lines, without those of files.
fn own_lines(text: &Value) -> String {
    let lines = text.as_str().unwrap().lines();
    let ours: Vec<&str> = lines.filter(|line| !line.starts_with('│')).collect();
    ours.join("\n")
}

#[test]
fn scenarios_are_written_one_by_one_and_the_rest_of_their_file_stays() {
    const FILE: &str = "tickets/001-limits/test-definitions.md";
    let world = World::tickets();
    let surface = surface(&world);
    done(&surface, "ticket_new", json!({ "title": "Limits" }));
    let prompt = done(
        &surface,
        "plan_prompt",
        json!({ "node": "001/lines-are-counted" }),
    );
    let text = prompt["prompt"].as_str().unwrap();
    assert!(text.contains("Write it with `plan_write`"), "{text}");
    let step = json!({ "tool": "plan_write", "arguments": { "node": "001/lines-are-counted", "text": "…" } });
    assert_eq!(prompt["next_steps"], json!([step]));
    let one = json!({ "node": "001/lines-are-counted", "text": "Scenario: Lines are counted\n  Given a line\n" });
    let written = done(&surface, "plan_write", one.clone());
    assert_eq!(
        (
            &written["created"],
            &written["entity_type"],
            &written["path"]
        ),
        (
            &json!(true),
            &json!("scenario"),
            &json!("001/lines-are-counted")
        )
    );
    let two = json!({ "node": "001/blanks-too", "text": "Scenario: Blanks too\n  Given none" });
    done(&surface, "plan_write", two);
    assert_eq!(
        world.text(FILE),
        "Scenario: Lines are counted\n  Given a line\n\nScenario: Blanks too\n  Given none\n"
    );
    // As with every text: what is replaced was read.
    let blind = failed(&surface, "plan_write", one.clone());
    assert_eq!(blind["kind"], "conflict", "{blind}");
    let read = done(
        &surface,
        "plan_read",
        json!({ "node": "001/lines-are-counted" }),
    );
    let mut change = one;
    change["expected_version"] = read["version_hash"].clone();
    change["text"] = json!("Scenario: Lines are counted\n  Given two lines");
    assert_eq!(done(&surface, "plan_write", change)["created"], false);
    assert!(
        world
            .text(FILE)
            .contains("Given two lines\n\nScenario: Blanks too")
    );
    for (node, text, part) in [
        ("001/three", "Scenario: Four", "makes it `001/four`"),
        (
            "001/three",
            "Given nothing",
            "has to begin with `Scenario: TITLE`",
        ),
        (
            "001/three",
            "Scenario: Three\n\nScenario: Four",
            "one at a time",
        ),
        ("009/three", "Scenario: Three", "009"),
    ] {
        let error = failed(
            &surface,
            "plan_write",
            json!({ "node": node, "text": text }),
        );
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    let held = as_another(&surface, "claim", json!({ "node": "001" }));
    assert!(matches!(held, Called::Done(_)), "{held:?}");
    let three = json!({ "node": "001/three", "text": "Scenario: Three" });
    let refused = failed(&surface, "plan_write", three);
    assert!(refused.to_string().contains("claim"), "{refused}");
}

/// A client without a shell gets calls, in the guides as well.
#[test]
fn guides_and_contexts_name_calls_with_the_tickets_own_id() {
    let world = World::tickets();
    let surface = surface(&world);
    done(&surface, "ticket_new", json!({ "title": "Limits" }));
    let entered = done(
        &surface,
        "focus",
        json!({ "action": "enter", "node": "001" }),
    );
    let mut texts = vec![own_lines(&entered["context"])];
    for phase in [
        "define-behavior",
        "scenario-gate",
        "decomposition",
        "implement",
        "done",
    ] {
        let moved = surface.call(
            &agent(),
            "ticket_phase",
            &json!({ "ticket": "001", "phase": phase }),
        );
        let Called::Done(moved) = moved else {
            panic!("{phase}: {moved:?}");
        };
        texts.push(own_lines(&moved["guide"]));
    }
    texts.push(own_lines(&done(&surface, "work_brief", json!({}))["text"]));
    let all = texts.join("\n");
    assert!(
        all.contains(r#"ticket_phase {"phase":"define-behavior","ticket":"001"}"#),
        "{all}"
    );
    for line in all.lines() {
        assert!(
            !line.contains("`tl ") && !line.trim().starts_with("tl "),
            "{line}"
        );
    }
}

/// What a command prints as a warning is part of the result.
#[test]
fn a_claim_of_done_without_work_is_told() {
    let world = World::tickets();
    world.write(
        "tickets/001-limits/ticket.md",
        "---\nid: '001'\nphase: implement\nneeds: ['002']\n---\n# Limits\n",
    );
    world.write(
        "tickets/002-first/ticket.md",
        "---\nid: '002'\nphase: implement\n---\n# First\n",
    );
    let surface = surface(&world);
    let begun = done(
        &surface,
        "plan_progress",
        json!({ "node": "001", "progress": "active" }),
    );
    let warnings = begun["warnings"].to_string();
    assert!(
        warnings.contains("needs `002`, which is not complete"),
        "{begun}"
    );
}

#[test]
fn what_one_session_holds_another_does_not_get() {
    let world = World::tickets();
    let surface = surface(&world);
    done(&surface, "ticket_new", json!({ "title": "Limits" }));
    let claim = done(&surface, "claim", json!({ "node": "001" }));
    assert_eq!(
        (&claim["node"], &claim["session"]),
        (&json!("001"), &json!("1"))
    );
    assert_eq!(
        done(&surface, "claim", json!({ "node": "001" }))["token"],
        claim["token"],
        "it is the same claim"
    );
    for (tool, arguments) in [
        ("claim", json!({ "node": "001" })),
        ("release", json!({ "node": "001" })),
        ("focus", json!({ "action": "enter", "node": "001" })),
    ] {
        match as_another(&surface, tool, arguments) {
            Called::Failed(value) => {
                assert_eq!(value["error"]["kind"], "refused", "{tool}: {value}")
            }
            other => panic!("{tool}: {other:?}"),
        }
    }
    let old = failed(&surface, "release", json!({ "node": "001", "token": 0 }));
    assert!(
        old["message"]
            .as_str()
            .is_some_and(|message| message.contains("with token 0 has expired")),
        "{old}"
    );
    done(
        &surface,
        "release",
        json!({ "node": "001", "token": claim["token"] }),
    );
    assert!(matches!(
        as_another(
            &surface,
            "focus",
            json!({ "action": "enter", "node": "001" })
        ),
        Called::Done(_)
    ));
    assert_eq!(
        done(&surface, "where", json!({})).get("focus"),
        None,
        "that was the other session"
    );
}

#[test]
fn what_is_wrong_is_said_with_what_is_allowed() {
    let world = World::tickets();
    let surface = surface(&world);
    done(&surface, "ticket_new", json!({ "title": "Limits" }));
    let cases = [
        ("focus", json!({}), "missing field `action`"),
        (
            "focus",
            json!({ "action": "entre", "node": "001" }),
            "did you mean `enter`?",
        ),
        (
            "focus",
            json!({ "action": "enter" }),
            "missing field `node`",
        ),
        (
            "focus",
            json!({ "action": "exit", "node": "001" }),
            "unknown field `node`",
        ),
        ("focus", json!({ "action": "exit" }), "nothing to leave"),
        ("focus", json!({ "action": "switch", "node": "002" }), "002"),
        ("ticket_new", json!({}), "missing field `title`"),
        ("ticket_new", json!({ "title": " " }), "needs a title"),
        (
            "ticket_split",
            json!({ "ticket": "001", "titles": [] }),
            "titles of its parts",
        ),
        (
            "ticket_phase",
            json!({ "ticket": "001", "phase": "implemnt" }),
            "did you mean `implement`?",
        ),
        (
            "ticket_level",
            json!({ "ticket": "001", "level": "epic" }),
            "`feature`",
        ),
        ("ticket_scenarios", json!({}), "works on no ticket"),
        (
            "ticket_scenario_done",
            json!({ "scenario": "001" }),
            "is a ticket, not a scenario",
        ),
        (
            "plan_prove",
            json!({ "action": "add", "node": "001" }),
            "expected one of `command`",
        ),
        (
            "plan_prove",
            json!({ "action": "add", "node": "001", "file": "../x" }),
            "outside the project",
        ),
        (
            "plan_prove",
            json!({ "action": "run", "node": "001" }),
            "nothing is declared",
        ),
        ("release", json!({ "node": "001" }), "is not claimed"),
    ];
    for (tool, arguments, part) in cases {
        let error = failed(&surface, tool, arguments.clone());
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|message| message.contains(part)),
            "{tool} {arguments}: {error}"
        );
    }
}

#[test]
fn what_was_entered_is_read_by_whoever_entered_it() {
    let world = World::tickets();
    let surface = surface(&world);
    done(&surface, "ticket_new", json!({ "title": "Limits" }));
    done(
        &surface,
        "focus",
        json!({ "action": "enter", "node": "001" }),
    );
    let text = match surface.call(
        &agent(),
        "focus",
        &json!({ "action": "back", "node": "001" }),
    ) {
        Called::Done(value) => value["context"].as_str().unwrap_or_default().to_owned(),
        other => panic!("{other:?}"),
    };
    assert!(
        text.contains("not an instruction of Throughline"),
        "a file's text is marked as such: {text}"
    );
}

#[test]
fn one_of_two_tickets_with_the_same_id_is_renumbered() {
    let world = World::tickets();
    let surface = surface(&world);
    for name in ["search", "sync"] {
        world.write(
            &format!("tickets/001-{name}/ticket.md"),
            &format!("---\nid: '001'\nphase: intake\n---\n\n# {name}\n"),
        );
    }
    let claim = failed(&surface, "claim", json!({ "node": "001" }));
    assert_eq!(
        claim["next_steps"][0],
        json!({
            "tool": "call_tool",
            "arguments": { "tool": "plan_renumber", "arguments": { "node": "001" } },
        })
    );
    let done = done(&surface, "plan_renumber", json!({ "node": "001~2" }));
    assert_eq!(
        (&done["id"], &done["was"]),
        (&json!("002"), &json!("001~2"))
    );
    assert_eq!(done["moved_files"][0]["path"], "tickets/002-sync/ticket.md");
}

#[test]
fn tickets_are_listed_by_rank_taken_and_archived() {
    let world = World::tickets();
    let surface = surface(&world);
    for (title, priority) in [("Later", "low"), ("Now", "urgent")] {
        let new = json!({ "title": title, "priority": priority, "labels": ["ui"] });
        done(&surface, "ticket_new", new);
    }
    let wrong = json!({ "title": "Never", "priority": "soonish" });
    let refused = failed(&surface, "ticket_new", wrong);
    assert!(
        refused.to_string().contains("urgent, high, normal, low"),
        "{refused}"
    );

    let list = done(&surface, "ticket_list", json!({ "label": "ui" }));
    let ids: Vec<&Value> = list["tickets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ticket| &ticket["id"])
        .collect();
    assert_eq!(ids, ["002", "001"]);
    let taken = done(&surface, "work_claim", json!({}));
    assert_eq!(
        (&taken["node"], &taken["title"]),
        (&json!("002"), &json!("Now"))
    );
    assert!(taken["reason"].is_string(), "{taken}");
    let Called::Done(other) = as_another(&surface, "work_claim", json!({})) else {
        panic!("two tickets are ready");
    };
    assert_eq!(other["node"], "001");

    let open = failed(&surface, "ticket_archive", json!({ "tickets": ["002"] }));
    assert!(open.to_string().contains("is not finished"), "{open}");
    let complete = json!({ "node": "002", "progress": "complete" });
    done(&surface, "plan_progress", complete);
    let archived = done(&surface, "ticket_archive", json!({}));
    assert_eq!(archived["archived"], json!(["002"]));
    assert!(
        world
            .text("tickets/archive/002-now/ticket.md")
            .contains("# Now")
    );
    let list = done(&surface, "ticket_list", json!({ "all": true }));
    assert_eq!(list["tickets"].as_array().unwrap().len(), 1);
}
