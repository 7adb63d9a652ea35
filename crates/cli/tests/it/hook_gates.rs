//! The gates through the real program: read-before-write, shrink, session, their switches; what is handed over
//! when planning starts; typed commands.

use serde_json::{Value, json};
use testkit::{Answer, Output, Project, Session};

use crate::{Event, fingerprint, planned, statuses, story, text};

const CHAPTER_2: &str = "acts/act-1/chapters/chapter-02/plan.md";

#[track_caller]
fn blocked_by(gate: &str, answer: &Answer) -> String {
    let reason = answer
        .block()
        .unwrap_or_else(|| panic!("not blocked by {gate}: {answer:?}"));
    assert!(
        reason.starts_with(&format!("Throughline ({gate} gate): ")),
        "{reason}"
    );
    // On its own line, or at the end of the one line of a repeated block.
    assert!(reason.contains(" next: "), "{reason}");
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    reason
}

#[track_caller]
fn passed(answer: &Answer) {
    assert_eq!(
        (answer.block(), answer.code, answer.stderr.as_str()),
        (None, 0, ""),
        "{answer:?}"
    );
}

/// Asks whether a session may overwrite a file, without doing it.
fn may_write(project: &Project, session: &Session<'_>, path: &str, text: &str) -> Answer {
    session.before(
        "Write",
        &json!({ "file_path": project.root().join(path), "content": text }),
    )
}

fn said(answer: &Answer) -> String {
    answer.context().unwrap_or_default()
}

// Read before write.

#[test]
fn a_plan_is_overwritten_only_by_who_knows_it() {
    let project = planned();
    let session = project.session("s");
    let ask = || may_write(&project, &session, Project::ACT, crate::ACT_EDITED);
    let reason = blocked_by("read-before-write", &ask());
    assert!(
        reason.contains("`act-1` was not overwritten: this session has not read it"),
        "{reason}"
    );
    assert!(
        reason.contains(&format!("next: read {}", Project::ACT)),
        "{reason}"
    );

    assert!(session.read(Project::ACT).is_silent());
    passed(&ask());

    // Another program changes it meanwhile.
    project.write(Project::ACT, format!("{}\nAnd more.\n", crate::ACT_TEXT));
    let reason = blocked_by("read-before-write", &ask());
    assert!(
        reason.contains("it changed since this session last read it"),
        "{reason}"
    );
    let _ = session.read(Project::ACT);
    passed(&ask());

    // What it wrote itself, it knows.
    let (before, after) = session.write(Project::ACT, crate::ACT_EDITED);
    passed(&before);
    passed(&after.expect("written"));
    passed(&ask());
}

#[test]
fn each_session_reads_for_itself() {
    let project = planned();
    let _ = project.session("one").read(Project::ACT);
    passed(&may_write(
        &project,
        &project.session("one"),
        Project::ACT,
        crate::ACT_EDITED,
    ));
    blocked_by(
        "read-before-write",
        &may_write(
            &project,
            &project.session("two"),
            Project::ACT,
            crate::ACT_EDITED,
        ),
    );
    // The same id in another host is another session.
    let elsewhere = project.session_of("gemini", "one");
    let input =
        json!({ "file_path": project.root().join(Project::ACT), "content": crate::ACT_EDITED });
    blocked_by("read-before-write", &elsewhere.before("write_file", &input));
    // A session that is over has forgotten.
    let _ = project
        .session("one")
        .event("SessionEnd", json!({ "reason": "exit" }));
    blocked_by(
        "read-before-write",
        &may_write(
            &project,
            &project.session("one"),
            Project::ACT,
            crate::ACT_EDITED,
        ),
    );
}

#[test]
fn every_way_of_reading_counts_and_nothing_else_does() {
    let absolute = |project: &Project| {
        project
            .root()
            .join(Project::ACT)
            .to_str()
            .expect("Unicode")
            .to_owned()
    };
    type Reads<'r> = &'r dyn Fn(&Project, &Session<'_>);
    let command = |session: &Session<'_>, line: &str| {
        let _ = session.shell(line);
    };
    let ways: [(&str, bool, Reads<'_>); 12] = [
        ("Read", true, &|_, s| drop(s.read(Project::ACT))),
        ("cat", true, &|_, s| {
            command(s, &format!("cat {} > /dev/null", Project::ACT))
        }),
        ("cat with an absolute path", true, &|p, s| {
            command(s, &format!("cat '{}' > /dev/null", absolute(p)))
        }),
        ("head in a pipe", true, &|_, s| {
            command(s, &format!("head -5 {}|wc -l", Project::ACT))
        }),
        ("sed -n with quotes", true, &|_, s| {
            command(s, &format!("sed -n 1,20p \"{}\"", Project::ACT))
        }),
        ("an MCP server", true, &|p, s| {
            drop(s.after("mcp__fs__read_file", &json!({ "path": absolute(p) })))
        }),
        ("an edit of one's own", true, &|p, s| {
            let input =
                json!({ "file_path": absolute(p), "old_string": "Begin.", "new_string": "Go." });
            passed(&s.before("Edit", &input));
            p.write(Project::ACT, crate::ACT_TEXT.replace("Begin.", "Go."));
            let _ = s.after("Edit", &input);
        }),
        ("nothing", false, &|_, _| ()),
        ("reading another", false, &|_, s| {
            drop(s.read(Project::CHAPTER))
        }),
        ("only asking to read", false, &|p, s| {
            drop(s.before("Read", &json!({ "file_path": absolute(p) })))
        }),
        ("failing to read", false, &|p, s| {
            let fields = json!({ "tool_name": "Read", "tool_input": { "file_path": absolute(p) }, "tool_use_id": "t", "error": "no" });
            drop(s.event("PostToolUseFailure", fields));
        }),
        ("searching the folder", false, &|_, s| {
            drop(s.after("Grep", &json!({ "pattern": "Mara", "path": "acts" })))
        }),
    ];
    for (name, counts, read) in ways {
        let project = planned();
        let session = project.session("s");
        read(&project, &session);
        let answer = may_write(&project, &session, Project::ACT, crate::ACT_EDITED);
        assert_eq!(answer.block().is_none(), counts, "{name}: {answer:?}");
    }
}

#[test]
fn an_edit_quotes_what_it_replaces_and_needs_no_reading() {
    let project = planned();
    let path = project.root().join(Project::ACT);
    let session = project.session("s");
    passed(&session.before(
        "Edit",
        &json!({ "file_path": path, "old_string": "Begin.", "new_string": "End." }),
    ));
    let edits =
        json!({ "file_path": path, "edits": [{ "old_string": "Begin.", "new_string": "End." }] });
    passed(&session.before("MultiEdit", &edits));
    let patch = format!(
        "*** Begin Patch\n*** Update File: {}\n@@\n-Begin.\n+End.\n*** End Patch\n",
        Project::ACT
    );
    passed(
        &project
            .session_of("codex", "s")
            .before("apply_patch", &json!({ "command": patch })),
    );
    // A patch that adds a file which is there overwrites it.
    let patch = format!(
        "*** Begin Patch\n*** Add File: {}\n+# Act 1\n*** End Patch\n",
        Project::ACT
    );
    let answer = project
        .session_of("codex", "s")
        .before("apply_patch", &json!({ "command": patch }));
    blocked_by("read-before-write", &answer);
}

// Shrink.

/// Returns a text of exactly the given number of bytes.
fn bytes(number: usize) -> String {
    format!("# Act 1\n{}\n", "x".repeat(number - 9))
}

#[test]
fn a_write_may_not_throw_most_of_a_plan_away() {
    // Before, after, whether it may.
    for (before, after, may) in [
        (1000, 400, true),
        (1000, 399, false),
        (1000, 9, false),
        (1000, 1000, true),
        (1000, 5000, true),
        (400, 160, true),
        (400, 159, false),
        (399, 9, true),
    ] {
        let project = story();
        project.write(Project::ACT, bytes(before));
        let session = project.session("s");
        let _ = session.read(Project::ACT);
        let answer = may_write(&project, &session, Project::ACT, &bytes(after));
        assert_eq!(
            answer.block().is_none(),
            may,
            "{before} to {after}: {answer:?}"
        );
        if !may {
            let reason = blocked_by("shrink", &answer);
            assert!(
                reason.contains(&format!("from {before} to {after} bytes, below 40 %")),
                "{reason}"
            );
        }
    }
}

#[test]
fn an_edit_that_removes_most_is_a_shrink_too() {
    let project = story();
    project.write(Project::ACT, bytes(1000));
    let path = project.root().join(Project::ACT);
    let session = project.session("s");
    let edit = |old: usize, new: usize| {
        session
            .before("Edit", &json!({ "file_path": path, "old_string": "x".repeat(old), "new_string": "y".repeat(new) }))
    };
    passed(&edit(600, 0));
    blocked_by("shrink", &edit(601, 0));
    passed(&edit(900, 300));
    let half = json!({ "old_string": "x".repeat(301), "new_string": "" });
    let answer = session.before(
        "MultiEdit",
        &json!({ "file_path": path, "edits": [half, half] }),
    );
    blocked_by("shrink", &answer);
    let removed: String = "-xxxxxxxxx\n".repeat(70);
    let patch = format!(
        "*** Begin Patch\n*** Update File: {}\n@@\n{removed}*** End Patch\n",
        Project::ACT
    );
    let answer = project
        .session_of("codex", "s")
        .before("apply_patch", &json!({ "command": patch }));
    blocked_by("shrink", &answer);
}

#[test]
fn the_share_that_must_stay_is_a_setting() {
    let project = story();
    project.configure("policy.gates.shrink_below_percent", "90");
    project.write(Project::ACT, bytes(1000));
    let session = project.session("s");
    let _ = session.read(Project::ACT);
    passed(&may_write(&project, &session, Project::ACT, &bytes(900)));
    let reason = blocked_by(
        "shrink",
        &may_write(&project, &session, Project::ACT, &bytes(899)),
    );
    assert!(reason.contains("below 90 %"), "{reason}");
}

// A person lets one step pass.

/// Runs the program before a terminal, as a person does. `None` where there is no program to pretend one.
pub(crate) fn at_a_terminal(project: &Project, arguments: &[&str]) -> Option<Output> {
    answering(project, arguments, "")
}

/// The same with what the person types.
#[expect(
    clippy::disallowed_methods,
    reason = "a test runs the program in a terminal of its own"
)]
pub(crate) fn answering(project: &Project, arguments: &[&str], answer: &str) -> Option<Output> {
    let ready = project.command(arguments);
    let quoted: Vec<String> = std::iter::once(ready.get_program())
        .chain(ready.get_args())
        .map(|word| format!("'{}'", word.to_str().expect("Unicode")))
        .collect();
    let mut command = std::process::Command::new("script");
    command
        .args(["-qec", &quoted.join(" "), "/dev/null"])
        .current_dir(project.root())
        .env_clear();
    command
        .envs(
            ready
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("USER", "mara");
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut process = command.spawn().ok()?;
    std::io::Write::write_all(&mut process.stdin.take()?, answer.as_bytes()).ok()?;
    let output = process.wait_with_output().ok()?;
    Some(Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[test]
fn only_a_person_lets_a_step_pass_and_only_once() {
    let project = story();
    project.write(Project::ACT, bytes(1000));
    let session = project.session("s");
    let _ = session.read(Project::ACT);
    let ask = || may_write(&project, &session, Project::ACT, &bytes(100));
    let reason = blocked_by("shrink", &ask());
    let step = "tl gate override shrink act-1 --reason";
    assert!(reason.contains(step), "{reason}");

    let arguments = [
        "gate",
        "override",
        "shrink",
        "act",
        "1",
        "--reason",
        "an outline is enough",
    ];
    for environment in [&[][..], &[("CLAUDECODE", "1")], &[("USER", "mara")]] {
        let output = crate::run_with(&project, environment, &arguments);
        assert_eq!(output.code, 1, "{environment:?}: {}", output.stdout);
        assert!(
            output
                .stderr
                .contains("a gate is overridden by a person, at a terminal"),
            "{}",
            output.stderr
        );
    }
    blocked_by("shrink", &ask());

    let Some(output) = at_a_terminal(&project, &arguments) else {
        return;
    };
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    let newest = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(
        (text(newest, "verb"), text(newest, "by")),
        ("override", "human:mara")
    );
    assert!(
        text(newest, "summary").contains("an outline is enough"),
        "{newest}"
    );
    // It is for this gate and this plan.
    let another = project.session("another");
    blocked_by(
        "read-before-write",
        &may_write(&project, &another, Project::ACT, &bytes(100)),
    );
    passed(&ask());
    blocked_by("shrink", &ask());
}

#[test]
fn an_override_names_a_gate_that_there_is() {
    let project = planned();
    let output = project.refused(&["gate", "override", "shrnk", "act-1", "--reason", "x"]);
    assert!(
        output.stderr.contains("did you mean `shrink`?"),
        "{}",
        output.stderr
    );
}

// The session gate and the switches.

#[test]
fn with_the_policy_on_a_session_must_have_been_seen_to_start() {
    let project = planned();
    project.configure("policy.gates.session", "\"block\"");
    let session = project.session("s");
    let ask = || may_write(&project, &session, CHAPTER_2, "# Chapter 2\n");
    let reason = blocked_by("session", &ask());
    assert!(
        reason.contains("no hook reported the start of this session"),
        "{reason}"
    );
    for source in ["startup", "resume", "clear", "compact"] {
        let _ = session.start(source);
        passed(&ask());
        let _ = session.event("SessionEnd", json!({ "reason": "exit" }));
        blocked_by("session", &ask());
    }
    // Other files and reading are free.
    passed(&may_write(&project, &session, "notes.md", "x\n"));
    passed(&session.read(Project::ACT));
}

#[test]
fn a_gate_may_warn_or_be_off() {
    // Key, gate, what the session does: something this gate alone objects to.
    type Step<'s> = &'s dyn Fn(&Project, &Session<'_>) -> Answer;
    let shrinks = |project: &Project, session: &Session<'_>| {
        let _ = session.read(Project::ACT);
        may_write(project, session, Project::ACT, &bytes(100))
    };
    let steps: [(&str, &str, Step<'_>); 4] = [
        ("hierarchy", "hierarchy", &|project, session| {
            may_write(project, session, CHAPTER_2, "# Chapter 2\n")
        }),
        (
            "read_before_write",
            "read-before-write",
            &|project, session| may_write(project, session, Project::ACT, &bytes(1000)),
        ),
        ("shrink", "shrink", &shrinks),
        ("session", "session", &|project, session| {
            may_write(
                project,
                session,
                "acts/act-2/strategic-plan.md",
                "# Act 2\n",
            )
        }),
    ];
    for (key, gate, step) in steps {
        for mode in ["block", "warn", "off"] {
            let project = story();
            project.write(Project::ACT, bytes(1000));
            project.configure(&format!("policy.gates.{key}"), &format!("\"{mode}\""));
            let answer = step(&project, &project.session("s"));
            let ledger = project.ledger().pop().expect("a line");
            match mode {
                "block" => {
                    blocked_by(gate, &answer);
                    assert_eq!(
                        (&ledger["outcome"], &ledger["gate"]),
                        (&json!("block"), &json!(gate))
                    );
                }
                "warn" => {
                    passed(&answer);
                    assert!(
                        said(&answer).contains(&format!("Throughline ({gate} gate): ")),
                        "{answer:?}"
                    );
                    assert_eq!(
                        (&ledger["outcome"], &ledger["gate"]),
                        (&json!("context"), &json!(gate))
                    );
                }
                _ => {
                    passed(&answer);
                    assert!(!said(&answer).contains("gate"), "{gate}: {answer:?}");
                    assert_eq!(ledger["gate"], Value::Null);
                }
            }
        }
    }
}

#[test]
fn the_environment_can_only_make_gates_stricter() {
    let project = story();
    project.write(Project::ACT, bytes(1000));
    let plain = project.session("s");
    let _ = plain.read(Project::ACT);
    let steps: [(&str, &str, &str); 3] = [
        ("THROUGHLINE_GATE_HIERARCHY", CHAPTER_2, "hierarchy"),
        (
            "THROUGHLINE_GATE_READ_BEFORE_WRITE",
            Project::ACT,
            "read-before-write",
        ),
        ("THROUGHLINE_GATE_SHRINK", Project::ACT, "shrink"),
    ];
    let mut opened = Vec::new();
    let mut try_it = |variable: &str, word: &str, id: &str, path: &str| {
        let session = project.session(id).with_environment(variable, word);
        let answer = may_write(&project, &session, path, "# Short\n");
        if answer.block().is_none() {
            opened.push(format!("{variable}={word}: {answer:?}"));
        }
    };
    for (variable, path, gate) in steps {
        for word in ["off", "warn", "nonsense"] {
            try_it(
                variable,
                word,
                if gate == "shrink" { "s" } else { "another" },
                path,
            );
        }
    }
    try_it(
        "THROUGHLINE_GATE_SHRINK_BELOW_PERCENT",
        "0",
        "s",
        Project::ACT,
    );
    try_it(
        "THROUGHLINE_GATE_SHRINK_BELOW_PERCENT",
        "most",
        "s",
        Project::ACT,
    );
    // A variable that has nothing to do with gates, and is wrong.
    try_it("THROUGHLINE_CASCADE", "nonsense", "another", Project::ACT);
    assert!(
        opened.is_empty(),
        "{} opened a gate:\n{}",
        opened.len(),
        opened.join("\n")
    );
}

#[test]
fn the_environment_makes_gates_stricter() {
    let project = story();
    for key in ["hierarchy", "read_before_write", "shrink"] {
        project.configure(&format!("policy.gates.{key}"), "\"off\"");
    }
    project.write(Project::ACT, bytes(1000));
    let steps: [(&str, &str, &str); 4] = [
        ("THROUGHLINE_GATE_HIERARCHY", CHAPTER_2, "hierarchy"),
        (
            "THROUGHLINE_GATE_READ_BEFORE_WRITE",
            Project::ACT,
            "read-before-write",
        ),
        ("THROUGHLINE_GATE_SHRINK", Project::ACT, "shrink"),
        ("THROUGHLINE_GATE_SESSION", Project::ACT, "session"),
    ];
    for (variable, path, gate) in steps {
        passed(&may_write(
            &project,
            &project.session("s"),
            path,
            "# Short\n",
        ));
        let session = project.session("s").with_environment(variable, "block");
        blocked_by(gate, &may_write(&project, &session, path, "# Short\n"));
        let session = project.session("s").with_environment(variable, "warn");
        let answer = may_write(&project, &session, path, "# Short\n");
        passed(&answer);
        assert!(
            said(&answer).contains(&format!("({gate} gate)")),
            "{answer:?}"
        );
    }
}

#[test]
fn a_step_that_several_gates_stop_names_them_all() {
    let project = planned();
    project.write(Project::CHAPTER, bytes(1000));
    project.write(Project::ACT, crate::ACT_EDITED);
    let answer = may_write(
        &project,
        &project.session("s"),
        Project::CHAPTER,
        "# Short\n",
    );
    let reason = blocked_by("hierarchy", &answer);
    let gates: Vec<&str> = reason
        .lines()
        .filter_map(|line| line.strip_prefix("Throughline (")?.split(' ').next())
        .collect();
    assert_eq!(
        gates,
        ["hierarchy", "read-before-write", "shrink"],
        "{reason}"
    );
    let stats = project.json(&["gate", "stats"]);
    assert_eq!(stats["gates"]["hierarchy"]["blocks"], 1, "{stats}");
}

// What is handed over.

#[test]
fn the_parents_plan_is_given_once_for_each_version() {
    let project = planned();
    let session = project.session("s");
    let ask = |path: &str| may_write(&project, &session, path, "# Chapter\n");
    let given = said(&ask(CHAPTER_2));
    for part in [
        "## Parent context: act `act-1`",
        Project::ACT,
        "│ - Mara",
        "Approved by: agent:shell",
    ] {
        assert!(given.contains(part), "no `{part}` in {given}");
    }
    assert!(ask(CHAPTER_2).is_silent(), "once");
    assert!(
        ask("acts/act-1/chapters/chapter-03/plan.md").is_silent(),
        "also for its next child"
    );

    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    let given = said(&ask(CHAPTER_2));
    assert!(
        given.contains("│ Begin, but later."),
        "the new version: {given}"
    );
    assert!(ask(CHAPTER_2).is_silent());

    // Another session, another conversation.
    assert!(
        said(&may_write(
            &project,
            &project.session("t"),
            CHAPTER_2,
            "# Chapter\n"
        ))
        .contains("Parent context")
    );
    // What was compacted away has to be given again.
    let _ = session.event("PreCompact", json!({ "trigger": "auto" }));
    let _ = session.start("compact");
    assert!(said(&ask(CHAPTER_2)).contains("Parent context"));
    let _ = session.start("clear");
    assert!(said(&ask(CHAPTER_2)).contains("Parent context"));
}

#[test]
fn hosts_that_do_not_listen_before_a_tool_get_the_parents_plan_after_it() {
    let project = planned();
    for (host, tool, key) in [
        ("gemini", "write_file", "file_path"),
        ("opencode", "write", "filePath"),
    ] {
        let path = format!("acts/act-1/chapters/chapter-{:02}/plan.md", host.len());
        let session = project.session_of(host, "s");
        let input = json!({ key: project.root().join(&path), "content": "# Chapter\n" });
        assert!(session.before(tool, &input).is_silent(), "{host}");
        project.write(&path, "# Chapter\n");
        let after = said(&session.after(tool, &input));
        assert!(
            after.contains("## Parent context: act `act-1`"),
            "{host}: {after}"
        );
    }
}

#[test]
fn a_typed_planning_command_hands_over_the_prompt_with_the_parents_plan() {
    let project = planned();
    let typed: [(&str, Answer); 3] = [
        ("typed", project.session("a").prompt("/plan-chapter 2 and make it short")),
        ("of a plugin", project.session("b").prompt("/throughline:plan-chapter 2")),
        (
            "expanded",
            project.session("c").event(
                "UserPromptExpansion",
                json!({
                    "expansion_type": "slash_command", "command_name": "plan-chapter", "command_args": "2",
                    "command_source": "projectSettings", "prompt": "/plan-chapter 2",
                }),
            ),
        ),
    ];
    for (name, answer) in &typed {
        passed(answer);
        let prompt = said(answer);
        for part in [CHAPTER_2, "│ - Mara", "Phase 5"] {
            assert!(prompt.contains(part), "{name}: no `{part}` in {prompt}");
        }
    }
    // It has the parent's plan now.
    assert!(may_write(&project, &project.session("a"), CHAPTER_2, "# Chapter 2\n").is_silent());
    assert!(!project.root().join(CHAPTER_2).exists());
}

#[test]
fn a_planning_command_below_what_is_not_approved_is_refused_with_the_cause() {
    let states: [(&str, Event<'_>, &[&str]); 3] = [
        (
            "a draft",
            &|project| project.write(Project::ACT, crate::ACT_EDITED),
            &["`act-1` is `draft`", "tl approve act-1"],
        ),
        (
            "nothing",
            &|project| std::fs::remove_dir_all(project.root().join("acts")).expect("removed"),
            &["act-1"],
        ),
        (
            "condemned",
            &|project| {
                project.ok(&["invalidate", "act-1", "--reason", "wrong ending"]);
            },
            &["`act-1` is `invalid`"],
        ),
    ];
    for (name, happens, parts) in states {
        let project = planned();
        happens(&project);
        let answer = project.session("s").prompt("/plan-chapter 2");
        let reason = blocked_by("hierarchy", &answer);
        for part in parts {
            assert!(reason.contains(part), "{name}: no `{part}` in {reason}");
        }
        assert_eq!(answer.context(), None, "{name}: the model is not asked");
    }
    // What is wrong with the command itself is told as well.
    let project = planned();
    for prompt in ["/plan-chapter 77777", "/plan-scene 0999"] {
        let answer = project.session("s").prompt(prompt);
        assert!(answer.block().is_some(), "{prompt}: {answer:?}");
    }
    // Where the gate only warns, so does the command.
    project.configure("policy.gates.hierarchy", "\"warn\"");
    project.write(Project::ACT, crate::ACT_EDITED);
    let answer = project.session("s").prompt("/plan-chapter 2");
    passed(&answer);
    assert!(said(&answer).contains("`act-1` is a draft"), "{answer:?}");
}

#[test]
fn a_typed_approval_is_a_persons() {
    let project = story().with_environment("USER", "mara");
    project.configure("policy.approval", "\"human\"");
    project.write(Project::ACT, crate::ACT_TEXT);
    let session = project.session("s");
    let asked = session.prompt("/approve-plan act 1");
    let question = asked.block().expect("the person is shown the text first");
    assert!(question.contains(crate::ACT_TEXT.lines().next().unwrap_or_default()));
    assert_eq!(project.status("act-1"), "draft");
    let (_, typed) = question.split_once("type: ").expect("how to answer");
    let answer = session.prompt(typed.lines().next().unwrap_or_default());
    passed(&answer);
    assert!(
        said(&answer).contains("`act-1` is approved (typed by human:mara)"),
        "{answer:?}"
    );
    assert!(
        text(&answer.json(), "systemMessage").contains("`act-1` is approved"),
        "the person is told as well"
    );
    assert_eq!(project.status("act-1"), "approved");
    let newest = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(
        (
            text(newest, "by"),
            text(newest, "channel"),
            text(newest, "verb")
        ),
        ("human:mara", "hook", "approve")
    );
    // And it opens the gate.
    passed(&may_write(&project, &session, CHAPTER_2, "# Chapter 2\n"));
}

#[test]
fn a_typed_approval_that_cannot_be_given_is_refused_with_the_cause() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    project.write(Project::CHAPTER, "# Chapter 1\n");
    for (prompt, part) in [
        ("/approve-plan chapter 1", "`act-1`"),
        ("/approve-plan act 9", "act"),
    ] {
        let before = statuses(&project);
        let answer = project.session("s").prompt(prompt);
        let reason = answer
            .block()
            .unwrap_or_else(|| panic!("{prompt}: {answer:?}"));
        assert!(reason.contains(part), "{prompt}: {reason}");
        assert_eq!(statuses(&project), before, "{prompt}");
    }
}

/// Claude Code tells of a typed command twice, as a prompt and as its expansion.
#[test]
fn a_typed_command_that_is_told_twice_is_acted_on_once() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    let session = project.session("s");
    let fields = |name: &str, arguments: &str| json!({ "command_name": name, "command_args": arguments, "prompt": format!("/{name} {arguments}") });
    passed(&session.prompt("/approve-plan act 1"));
    let before = fingerprint(&project);
    let again = session.event("UserPromptExpansion", fields("approve-plan", "act 1"));
    assert!(again.is_silent(), "it was said already: {again:?}");
    assert!(said(&session.prompt("/plan-chapter 2")).contains("Phase 5"));
    let again = session.event("UserPromptExpansion", fields("plan-chapter", "2"));
    assert!(again.is_silent(), "it was given already: {again:?}");
    assert_eq!(fingerprint(&project), before);
}

// After a write.

#[test]
fn what_a_plan_names_and_its_parent_does_not_is_told_after_the_write() {
    let project = planned();
    let session = project.session("s");
    let (_, after) = session.write(CHAPTER_2, "# Chapter 2\n\n## Characters\n- Mara\n- Ivo\n");
    let told = said(&after.expect("written"));
    assert!(
        told.contains("Consistency of `act-1/chapter-02` with its parent:"),
        "{told}"
    );
    assert!(
        told.contains("- characters not named in parent `act-1`: Ivo"),
        "{told}"
    );
    project.configure("policy.consistency", "\"off\"");
    let (_, after) = session.write(
        CHAPTER_2,
        "# Chapter 2\n\n## Characters\n- Mara\n- Ivo\n- Lev\n",
    );
    assert!(!said(&after.expect("written")).contains("Consistency"));
}

/// Some hosts run a hook twice for one call.
#[test]
fn the_same_event_twice_changes_nothing_and_says_nothing_twice() {
    let stranger = "# Chapter 2\n\n## Characters\n- Mara\n- Ivo\n";
    let project = planned();
    let session = project.session("s");
    let input = json!({ "file_path": project.root().join(CHAPTER_2), "content": stranger });
    let (pre, fields) = session.call(true, "Write", &input);
    assert!(said(&session.event(pre, fields.clone())).contains("Parent context"));
    assert!(session.event(pre, fields).is_silent(), "before");
    project.write(CHAPTER_2, stranger);
    let (post, fields) = session.call(false, "Write", &input);
    assert!(said(&session.event(post, fields.clone())).contains("not named in parent"));
    let before = fingerprint(&project);
    let again = session.event(post, fields);
    assert_eq!(fingerprint(&project), before);
    assert!(again.is_silent(), "after: {again:?}");

    let command = json!({ "command": format!("echo more >> {}", Project::ACT) });
    let (post, fields) = session.call(false, "Bash", &command);
    assert!(project.shell(text(&command, "command")));
    assert!(said(&session.event(post, fields.clone())).contains("require revalidation"));
    let before = fingerprint(&project);
    assert!(session.event(post, fields).is_silent(), "a command");
    assert_eq!(fingerprint(&project), before);
}

/// A refusal is needed by each of two hooks that ask: the host may listen to either.
#[test]
fn a_refused_call_that_is_asked_about_twice_is_refused_twice_and_counted_once() {
    let project = story();
    let session = project.session("s");
    let input = json!({ "file_path": project.root().join(CHAPTER_2), "content": "# Chapter 2\n" });
    let (pre, fields) = session.call(true, "Write", &input);
    let one = blocked_by("hierarchy", &session.event(pre, fields.clone()));
    assert_eq!(blocked_by("hierarchy", &session.event(pre, fields)), one);
    assert_eq!(
        project.json(&["gate", "stats"])["gates"]["hierarchy"]["blocks"],
        1
    );
}

#[test]
fn what_a_session_knows_is_kept_without_a_database_as_well() {
    let project = story().with_environment("THROUGHLINE_STORAGE", "json");
    project.write(Project::ACT, crate::ACT_TEXT);
    project.ok(&["approve", "act-1"]);
    let session = project.session("s");
    blocked_by(
        "read-before-write",
        &may_write(&project, &session, Project::ACT, crate::ACT_EDITED),
    );
    let _ = session.read(Project::ACT);
    passed(&may_write(
        &project,
        &session,
        Project::ACT,
        crate::ACT_EDITED,
    ));
    let (before, after) = session.write(CHAPTER_2, "# Chapter 2\n");
    passed(&before);
    assert!(said(&after.expect("written")).contains("`act-1/chapter-02` is a draft"));
    assert!(may_write(&project, &session, CHAPTER_2, "# Chapter 2, again\n").is_silent());
    assert!(
        said(&session.shell(&format!("echo more >> {}", Project::ACT)))
            .contains("requires revalidation")
    );
    blocked_by(
        "hierarchy",
        &may_write(&project, &session, CHAPTER_2, "# Chapter 2, again\n"),
    );
    project.ok(&["check"]);
}

// The briefing.

#[test]
fn a_session_is_briefed_when_it_starts_and_after_a_compaction() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let session = project.session("s");
    for source in ["startup", "resume", "compact", "clear", "compact"] {
        let answer = session.start(source);
        passed(&answer);
        let briefing = said(&answer);
        let first = "Throughline briefing: act → chapter → scene. \
                     Now: 1 act (0 approved), 1 chapter (0 approved), 1 scene (0 approved).";
        assert_eq!(briefing.lines().next(), Some(first), "{source}");
        assert!(
            briefing.contains("- act-1 is draft. Next: tl approve act-1"),
            "{source}: {briefing}"
        );
    }
    // It does not change what is known to be read.
    let _ = session.read(Project::ACT);
    let _ = session.start("compact");
    passed(&may_write(
        &project,
        &session,
        Project::ACT,
        crate::ACT_TEXT,
    ));
}

#[test]
fn a_long_parent_is_cut_to_what_the_host_passes_on() {
    let project = story();
    let long: String = (0..2_000)
        .map(|line| format!("Line {line} of a long act.\n"))
        .collect();
    project.write(Project::ACT, format!("# Act 1\n\n{long}"));
    project.ok(&["approve", "act-1"]);
    let given = said(&may_write(
        &project,
        &project.session("s"),
        CHAPTER_2,
        "# Chapter 2\n",
    ));
    assert!(
        given.starts_with("## Parent context: act `act-1`"),
        "the most important line first: {given}"
    );
    assert!(
        given.encode_utf16().count() <= 10_000,
        "{} characters",
        given.encode_utf16().count()
    );
    assert!(
        given
            .lines()
            .last()
            .is_some_and(|line| line.contains("The whole plan: read")),
        "it says so: {given}"
    );
}

#[test]
fn a_prompt_with_a_very_long_parent_keeps_its_instructions_and_the_section_about_the_node() {
    let project = story();
    let filler = "The harbour lies still and nothing is decided yet. ".repeat(35);
    let mut act = String::from("# Act 1\n\nWill she stay?\n");
    for chapter in 1..=30 {
        act.push_str(&format!(
            "\n## Chapter {chapter}\n\nOf chapter {chapter} this is said. {filler}End of {chapter}.\n"
        ));
    }
    assert!(act.chars().count() > 50_000);
    project.write(Project::ACT, &act);
    project.ok(&["approve", "act-1"]);
    for host in ["claude-code", "codex", "copilot"] {
        let told = project
            .session_of(host, "s")
            .prompt("/plan-chapter 7")
            .context()
            .unwrap_or_else(|| panic!("{host} is told nothing"));
        assert!(
            told.encode_utf16().count() <= 9_500,
            "{host}: {}",
            told.len()
        );
        for wanted in [
            "# Plan chapter `act-1/chapter-07`",
            "New elements",
            "### Phase 5",
            "## Headings of the plan",
            "│ Will she stay?",
            "End of 7.",
            "│ ## Chapter 30",
            "└──── end of parent plan act-1 ────",
            "The whole plan: read `acts/act-1/strategic-plan.md`.",
        ] {
            assert!(told.contains(wanted), "{host}: no `{wanted}` in {told}");
        }
        assert!(!told.contains("cut here"), "{host}: {told}");
    }
}
