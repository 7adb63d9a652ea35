//! The story across sessions, with real files and real processes: one dies, the next knows where it stands.

use serde_json::{Value, json};

use crate::mcp::{Client, Era, structured};
use crate::{in_session, names_in, text, trail};

#[test]
fn a_session_is_killed_and_the_next_one_reads_where_it_stood() {
    let project = trail();
    let mut first = Client::start(&project, Era::Old, &[]);
    let declared =
        structured(&first.call("declare_intent", json!({ "focus": "Build auth system" }))).clone();
    first.call(
        "map_context",
        json!({ "level": "tactic", "content": "Set up JWT", "status": "complete" }),
    );
    let cursor = structured(&first.call(
        "map_context",
        json!({ "level": "tactic", "content": "Write middleware" }),
    ))
    .clone();
    first.call("save_anchor", json!({ "text": "JWT, not sessions" }));
    // Dropping it kills it: no goodbye.
    drop(first);
    let stamp = text(&declared, "stamp");
    assert!(
        project
            .read(&format!(".throughline/sessions/{stamp}.md"))
            .contains("tactic: Write middleware")
    );

    let told = project
        .session("another")
        .start("startup")
        .context()
        .unwrap();
    let cursor_stamp = text(&cursor, "cursor").rsplit('_').next().unwrap();
    for line in [
        format!("Last trajectory: {stamp} — “Build auth system”"),
        format!("Cursor: {cursor_stamp} — “Write middleware” (tactic, active)"),
        "Gap since last activity: less than a minute".to_owned(),
        format!("Trace: tl trail trace {stamp}"),
        "Anchor: “JWT, not sessions”".to_owned(),
    ] {
        assert!(
            told.lines().any(|told| told == line),
            "{line}\nis not in\n{told}"
        );
    }
    // It goes on, in a file of its own; the first one's stays as it was.
    let before = project.read(&format!(".throughline/sessions/{stamp}.md"));
    assert_eq!(
        in_session(
            &project,
            "another",
            &["trail", "map", "action", "Create the route handler"]
        )
        .code,
        0
    );
    assert_eq!(
        project.read(&format!(".throughline/sessions/{stamp}.md")),
        before
    );
    let tree = project.json(&["trail", "scan"]);
    assert_eq!(
        tree["root"]["children"][1]["children"][0]["content"],
        "Create the route handler"
    );
    assert!(
        project.json(&["check"])["findings"]
            .as_array()
            .is_none_or(Vec::is_empty)
    );
}

/// What stands between `Cursor:` and the line's end, and so on.
fn line<'t>(text: &'t str, start: &str) -> &'t str {
    text.lines()
        .find(|line| line.starts_with(start))
        .unwrap_or_else(|| panic!("no `{start}` in\n{text}"))
}

#[test]
fn five_compactions_keep_the_place_the_decisions_and_what_is_next() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth system"]);
    project.ok(&["trail", "map", "tactic", "Old way", "--status", "complete"]);
    project.ok(&["trail", "map", "tactic", "Write middleware"]);
    project.ok(&["note", "add", "--pin", "JWT, not sessions"]);
    project.ok(&[
        "trail",
        "map",
        "action",
        "Decide the algorithm",
        "--status",
        "blocked",
    ]);
    project.ok(&["trail", "map", "action", "Create the route handler"]);
    let session = project.session("s1");
    let first = session.start("startup").context().unwrap();
    let mut sizes = Vec::new();
    for round in 1..=5 {
        // Work goes on between the rounds, and would like to be remembered.
        for step in 0..6 {
            project.ok(&[
                "trail",
                "map",
                "action",
                &format!("Routine {round} {step}"),
                "--status",
                "complete",
            ]);
        }
        project.ok(&["trail", "map", "action", "Create the route handler"]);
        let _ = session.event(
            "PreCompact",
            json!({ "trigger": "auto", "custom_instructions": "" }),
        );
        let told = session.start("compact").context().unwrap();
        assert_eq!(
            session
                .event("PostCompact", json!({ "compact_summary": "…" }))
                .context(),
            None,
            "exactly one briefing"
        );
        for start in [
            "Trajectory:",
            "Cursor:",
            "Next action:",
            "Blocked:",
            "Anchor:",
        ] {
            assert_eq!(line(&told, start), line(&first, start), "round {round}");
        }
        assert!(
            told.contains("“Decide the algorithm”") && !told.contains("tactic: “Old way”"),
            "{told}"
        );
        sizes.push(told.chars().count());
        let detail = project.json(&["trail", "session", "show"]);
        assert_eq!(detail["compaction_count"], round);
        let report = text(&detail, "next_compaction_report");
        assert!(
            report.contains("Create the route handler") && report.contains("JWT, not sessions"),
            "{report}"
        );
        let (keep, _) = report.split_once("Do not preserve").unwrap();
        assert!(
            !keep.contains("Routine") && !keep.contains("“Old way”"),
            "{keep}"
        );
    }
    assert!(
        sizes.iter().all(|size| *size <= sizes[0] + 100),
        "the block grows: {sizes:?}"
    );
}

#[test]
fn opencode_gets_a_prompt_of_its_own_from_the_second_round_on() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth system"]);
    let session = project.session_of("opencode", "s1");
    let compact = || {
        let fields = json!({ "input": { "sessionID": "s1" }, "output": { "context": [] } });
        session
            .event("experimental.session.compacting", fields)
            .json()
    };
    let first = compact();
    assert!(
        first["context"][0]
            .as_str()
            .unwrap()
            .contains("Build auth system")
            && first["prompt"].is_null(),
        "{first}"
    );
    let second = compact();
    let prompt = text(&second, "prompt");
    assert!(
        prompt.contains("│ - trajectory: “Build auth system”") && second["context"].is_null(),
        "{second}"
    );
}

#[test]
fn sessions_that_append_at_once_lose_nothing() {
    let project = trail();
    const EACH: usize = 8;
    let names = ["one", "two", "three"];
    for name in names {
        assert_eq!(
            in_session(
                &project,
                name,
                &["trail", "intent", &format!("Work of {name}")]
            )
            .code,
            0
        );
    }
    std::thread::scope(|scope| {
        for name in names {
            // Two processes of each session, too.
            for half in 0..2 {
                let project = &project;
                scope.spawn(move || {
                    for number in 0..EACH / 2 {
                        let output = in_session(
                            project,
                            name,
                            &[
                                "trail",
                                "map",
                                "tactic",
                                &format!("{name} step {half} {number}"),
                            ],
                        );
                        assert_eq!(output.code, 0, "{output:?}");
                    }
                });
            }
        }
    });
    for name in names {
        let output = in_session(&project, name, &["--json", "trail", "session", "show"]);
        let detail: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(detail["log_entries"], EACH + 1, "{name}");
        let file = project.read(text(&detail, "file"));
        for half in 0..2 {
            for number in 0..EACH / 2 {
                assert!(
                    file.contains(&format!("tactic: {name} step {half} {number}")),
                    "{name} {half} {number}:\n{file}"
                );
            }
        }
    }
    let manifest: Value =
        serde_json::from_str(&project.read(".throughline/sessions/manifest.json")).unwrap();
    assert_eq!(manifest["sessions"].as_array().map(Vec::len), Some(3));
    assert_eq!(names_in(&project, ".throughline/sessions").len(), 4);
    assert!(
        project.json(&["check"])["findings"]
            .as_array()
            .is_none_or(Vec::is_empty)
    );
}
