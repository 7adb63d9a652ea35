//! Signals, replayed through the real hooks: each fires once, and its near miss does not. Governance and the guard of
//! session files, too.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::{Project, Session};

use crate::{in_session, text, trail};

/// Runs a tool to its end and returns what the model was told after it.
fn run(session: &Session<'_>, tool: &str, input: Value, succeeds: bool) -> String {
    let before = session.before(tool, &input);
    assert!(before.block().is_none(), "{before:?}");
    let after = if succeeds {
        session.after(tool, &input)
    } else {
        let (_, mut fields) = session.call(false, tool, &input);
        fields["error"] = json!("exit code 1");
        session.event("PostToolUseFailure", fields)
    };
    assert_eq!((after.code, after.stderr.as_str()), (0, ""));
    after.context().unwrap_or_default()
}

fn read(session: &Session<'_>) -> String {
    run(
        session,
        "Read",
        json!({ "file_path": "/somewhere/else.rs" }),
        true,
    )
}

fn write(project: &Project, session: &Session<'_>, path: &str) -> String {
    project.write(path, "text");
    run(
        session,
        "Write",
        json!({ "file_path": project.root().join(path), "content": "text" }),
        true,
    )
}

/// A project with an action declared, so that writing is in order.
fn at_work() -> Project {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth"]);
    project.ok(&["trail", "map", "tactic", "Middleware"]);
    project.ok(&["trail", "map", "action", "Write the handler"]);
    project
}

#[test]
fn many_turns_in_one_place() {
    let project = at_work();
    let session = project.session("s1");
    write(&project, &session, "src/a.rs");
    let told: Vec<String> = (0..9).map(|_| read(&session)).collect();
    assert!(told[..6].iter().all(String::is_empty), "{told:?}");
    assert!(
        told[6].contains("8 calls on “Write the handler”"),
        "{told:?}"
    );
    assert!(
        told[7..].iter().all(String::is_empty),
        "told once: {told:?}"
    );
    // Declaring the position resets the counter.
    project.ok(&["trail", "map", "action", "Write the handler"]);
    write(&project, &session, "src/a.rs");
    assert!((0..6).all(|_| read(&session).is_empty()));
}

#[test]
fn reading_without_writing() {
    let project = at_work();
    let session = project.session("s1");
    let told: Vec<String> = (0..12).map(|_| read(&session)).collect();
    assert!(
        told[11].contains("12 reads and searches, 0 writes"),
        "{told:?}"
    );
    let twin = at_work();
    let session = twin.session("s1");
    write(&twin, &session, "src/a.rs");
    assert!((0..12).all(|_| !read(&session).contains("0 writes")));
}

#[test]
fn failures_in_a_row() {
    let project = at_work();
    let session = project.session("s1");
    let bash = |succeeds| {
        run(
            &session,
            "Bash",
            json!({ "command": "cargo test" }),
            succeeds,
        )
    };
    assert_eq!([bash(false), bash(false)], ["", ""]);
    assert!(bash(false).contains("3 tool calls in a row failed"));
    let twin = at_work();
    let session = twin.session("s1");
    let bash = |succeeds| {
        run(
            &session,
            "Bash",
            json!({ "command": "cargo test" }),
            succeeds,
        )
    };
    assert_eq!(
        [bash(false), bash(false), bash(true), bash(false)],
        ["", "", "", ""]
    );
}

#[test]
fn words_that_say_stuck() {
    let project = at_work();
    let session = project.session("s1");
    let bash = |says: &str| {
        run(
            &session,
            "Bash",
            json!({ "command": "make", "description": says }),
            true,
        )
    };
    assert_eq!([bash("Still stuck on it"), bash("try again")], ["", ""]);
    assert!(bash("ещё раз то же").contains("being stuck (retry, stuck)"));
    let twin = at_work();
    let session = twin.session("s1");
    let bash = |says: &str, command: &str| {
        run(
            &session,
            "Bash",
            json!({ "command": command, "description": says }),
            true,
        )
    };
    let said = [
        bash("set retry_policy", "grep retry"),
        bash("run it", "retry stuck loop"),
        bash("unstuck the door", "x"),
    ];
    assert_eq!(said, ["", "", ""]);
}

#[test]
fn the_same_tactic_again_and_again() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth"]);
    let session = project.session("s1");
    for tactic in [
        "Fix the login test",
        "Fix the login tests",
        "fix the login test!",
    ] {
        project.ok(&["trail", "map", "tactic", tactic]);
        assert_eq!(read(&session), "");
    }
    project.ok(&["trail", "map", "tactic", "Fix the login test"]);
    assert!(read(&session).contains("set 4 times with nearly the same text"));
    let twin = trail();
    twin.ok(&["trail", "intent", "Build auth"]);
    for tactic in [
        "Fix the login test",
        "Fix the login tests",
        "Document the release",
        "Fix the login test",
    ] {
        twin.ok(&["trail", "map", "tactic", tactic]);
        assert_eq!(read(&twin.session("s1")), "");
    }
}

#[test]
fn writing_with_no_action_declared() {
    let project = trail();
    let session = project.session("s1");
    assert!(write(&project, &session, "src/a.rs").contains("no intent is declared"));
    project.ok(&["trail", "intent", "Build auth"]);
    project.ok(&["trail", "map", "tactic", "Middleware"]);
    assert!(write(&project, &session, "src/a.rs").contains("no action is declared"));
    let twin = at_work();
    assert_eq!(write(&twin, &twin.session("s1"), "src/a.rs"), "");
    assert_eq!(
        write(&twin, &twin.session("s1"), ".throughline/notes.md"),
        ""
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program under test looks at the machine's clock"
)]
fn old_trail(minutes_ago: i64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time after 1970")
        .as_millis();
    let created = i64::try_from(now).expect("a time") - minutes_ago * 60_000;
    let node = |id: &str, level: &str, children: Value| json!({ "id": id, "level": level, "content": "Old", "status": "active", "created": created, "stamp": "", "children": children });
    let action = node("a_1", "action", json!([]));
    let tactic = node("tc_1", "tactic", json!([action]));
    json!({ "version": 1, "root": node("t_1", "trajectory", json!([tactic])), "cursor": "a_1" })
        .to_string()
}

#[test]
fn gaps_in_time_and_trails_of_older_forms() {
    for (minutes, expected) in [
        (
            200,
            "3 hours since anything happened on the trail: context may be lost",
        ),
        (45, "45 minutes since"),
        (5, ""),
    ] {
        let project = trail();
        project.write(".hivemind/hierarchy.json", old_trail(minutes));
        let session = project.session("s1");
        assert!(
            read(&session).contains("a trail in an older format"),
            "{minutes}"
        );
        assert_eq!(read(&session), "");
        project.ok(&["trail", "migrate"]);
        let told = read(&session);
        assert!(
            told.contains(expected) && (!expected.is_empty() || told.is_empty()),
            "{minutes}: {told}"
        );
    }
    assert_eq!(
        read(&trail().session("s1")),
        "",
        "without an older trail nothing is missing"
    );
}

#[test]
fn finished_branches_pile_up() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth"]);
    let session = project.session("s1");
    for number in 1..=4 {
        project.ok(&[
            "trail",
            "map",
            "tactic",
            &format!("Way number {number} of {}", "abcdefgh".repeat(number)),
            "--status",
            "complete",
        ]);
    }
    assert_eq!(read(&session), "");
    project.ok(&[
        "trail",
        "map",
        "tactic",
        "The last one",
        "--status",
        "complete",
    ]);
    assert!(read(&session).contains("5 branches are complete. Next: clean up: tl trail prune"));
    project.ok(&["trail", "prune"]);
    assert_eq!(read(&session), "");
}

#[test]
fn a_call_told_twice_is_one_call_and_a_subagent_is_not_counted() {
    let project = at_work();
    let session = project.session("s1");
    let input = json!({ "command": "cargo test" });
    let _ = session.before("Bash", &input);
    for _ in 0..5 {
        let (_, mut fields) = session.call(false, "Bash", &input);
        fields["error"] = json!("failed");
        assert_eq!(session.event("PostToolUseFailure", fields).context(), None);
    }
    let sub = project.session("s1").with("agent_id", "a1");
    for _ in 0..5 {
        assert_eq!(run(&sub, "Bash", input.clone(), false), "");
    }
}

#[test]
fn modes_of_governance() {
    let strict = trail().with_environment("THROUGHLINE_GOVERNANCE", "strict");
    let session = strict.session("s1");
    let input = json!({ "file_path": strict.root().join("src/a.rs"), "content": "x" });
    let blocked = session.before("Write", &input).block().unwrap();
    assert!(
        blocked.contains("has not declared an intent") && blocked.contains("tl trail intent"),
        "{blocked}"
    );
    // It is a gate like the others.
    let explained = strict.json(&["gate", "explain", "intent"]);
    assert_eq!(text(&explained["gate"], "mode"), "block", "{explained}");
    assert_eq!(text(&explained["open"], "type"), "intent", "{explained}");
    let stats = strict.json(&["gate", "stats"]);
    assert_eq!(stats["gates"]["intent"]["blocks"], json!(1), "{stats}");
    strict.configure("policy.gates.fail_closed", "[\"intent\"]");
    assert!(
        session
            .before("Read", &json!({ "file_path": strict.root().join("x") }))
            .block()
            .is_none()
    );
    let own = json!({ "file_path": strict.root().join(".throughline/templates/session.md"), "content": "x" });
    assert!(session.before("Write", &own).block().is_none());
    assert!(
        session
            .start("startup")
            .context()
            .unwrap()
            .contains("No file may be written before that")
    );
    // Nobody can say what a command writes, unless it plainly only looks or is ours.
    for (command, held_back) in [
        ("make", true),
        ("echo x > src/a.rs", true),
        ("rg main src | head", false),
        ("tl trail intent \"Build auth\"", false),
    ] {
        let answer = session.before("Bash", &json!({ "command": command }));
        assert_eq!(
            answer
                .block()
                .is_some_and(|why| why.contains("tl trail intent")),
            held_back,
            "{command}: {answer:?}"
        );
    }
    strict.ok(&["trail", "intent", "Build auth"]);
    assert!(
        session
            .before("Bash", &json!({ "command": "make" }))
            .block()
            .is_none()
    );
    assert!(session.before("Write", &input).block().is_none());

    let permissive = trail();
    permissive.configure("policy.governance", "\"permissive\"");
    let session = permissive.session("s1");
    assert_eq!(write(&permissive, &session, "src/a.rs"), "");
    assert_eq!(
        text(&permissive.json(&["trail", "drift"])["signals"][0], "kind"),
        "undeclared-writes"
    );
    // A variable cannot loosen the project's policy.
    let output = crate::run_with(
        &strict,
        &[("THROUGHLINE_GOVERNANCE", "permissive")],
        &["trail", "drift"],
    );
    assert_eq!(output.code, 1, "{output:?}");
}

#[test]
fn a_session_file_is_overwritten_only_by_who_has_read_it() {
    let project = trail();
    let file = text(
        &project.json(&["trail", "intent", "Build auth"]),
        "session_file",
    )
    .to_owned();
    let session = project.session("s1");
    let path = project.root().join(&file);
    let input = json!({ "file_path": path, "content": "mine" });
    let blocked = session.before("Write", &input).block().unwrap();
    assert!(
        blocked.contains("has not read its current content"),
        "{blocked}"
    );
    assert!(session.read(&file).context().is_none());
    assert!(session.before("Write", &input).block().is_none());
    project.write(&file, project.read(&file) + "by someone else\n");
    assert!(
        session.before("Write", &input).block().is_some(),
        "by content, not by the number of lines"
    );
}

#[test]
fn sessions_do_not_disturb_each_other() {
    let project = at_work();
    let (one, two) = (project.session("s1"), project.session("s2"));
    for session in [&one, &two] {
        let bash = || run(session, "Bash", json!({ "command": "x" }), false);
        assert_eq!([bash(), bash()], ["", ""]);
    }
    assert_eq!(
        in_session(&project, "s2", &["trail", "intent", "Other"]).code,
        0
    );
    assert!(run(&one, "Bash", json!({ "command": "x" }), false).contains("3 tool calls"));
    assert_eq!(run(&two, "Bash", json!({ "command": "x" }), false), "");
}

/// A host that does not start again after a compaction gets its briefing with the next command, even one that only looks.
#[test]
fn an_owed_briefing_comes_with_a_command_that_only_looks() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth"]);
    let event = |name: &str, more: serde_json::Value| {
        let mut payload =
            json!({ "session_id": "g1", "cwd": project.root(), "hook_event_name": name });
        if let (Some(payload), Some(more)) = (payload.as_object_mut(), more.as_object()) {
            payload.extend(more.clone());
        }
        project.hook_of(&["gemini"], &payload)
    };
    let look = json!({ "tool_name": "run_shell_command", "tool_input": { "command": "ls" }, "tool_response": {} });
    let _ = event("SessionStart", json!({ "source": "startup" }));
    let _ = event("BeforeAgent", json!({ "prompt": "begin" }));
    let _ = event("BeforeAgent", json!({ "prompt": "go on" }));
    assert!(
        event("AfterTool", look.clone()).is_silent(),
        "nothing is owed yet"
    );
    let _ = event("BeforeModel", json!({ "llm_request": { "messages": [] } }));
    let answer = event("AfterTool", look.clone());
    assert!(
        answer.stdout.contains("Build auth"),
        "the briefing: {answer:?}"
    );
    assert!(event("AfterTool", look).is_silent(), "told once");
}
