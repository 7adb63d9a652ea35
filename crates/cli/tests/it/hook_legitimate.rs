//! Legitimate actions: none is blocked, and nothing is said that need not be said.

use serde_json::{Value, json};
use testkit::{Answer, Project, Session};

use crate::{Event, empty, planned, statuses, story};

const CHAPTER_2: &str = "acts/act-1/chapters/chapter-02/plan.md";

/// What an action may lead to besides happening.
enum Expected {
    /// Not a word.
    Silence,
    /// These words for the model, each in one of the answers, and no others.
    Words(&'static [&'static str]),
}

use Expected::{Silence, Words};

/// An action in a session, with all the answers it got.
type Action = fn(&Project, &Session<'_>) -> Vec<Answer>;

/// Writes a file with Claude Code's tool and expects to be let.
fn wrote(session: &Session<'_>, path: &str, text: &str) -> Vec<Answer> {
    let (before, after) = session.write(path, text);
    [Some(before), after].into_iter().flatten().collect()
}

/// Runs any tool that needs nothing done in between.
fn called(session: &Session<'_>, tool: &str, input: &Value) -> Vec<Answer> {
    vec![session.before(tool, input), session.after(tool, input)]
}

/// Edits a file as Claude Code's tool does.
fn edited(
    project: &Project,
    session: &Session<'_>,
    path: &str,
    old: &str,
    new: &str,
) -> Vec<Answer> {
    let input =
        json!({ "file_path": project.root().join(path), "old_string": old, "new_string": new });
    let before = session.before("Edit", &input);
    let text = project.read(path);
    assert!(text.contains(old), "{text}");
    project.write(path, text.replacen(old, new, 1));
    vec![before, session.after("Edit", &input)]
}

#[track_caller]
fn check(name: &str, answers: &[Answer], expected: &Expected) -> Option<String> {
    let mut said = String::new();
    for answer in answers {
        if answer.code != 0 || !answer.stderr.is_empty() {
            return Some(format!(
                "{name}: exit {} and stderr: {}",
                answer.code, answer.stderr
            ));
        }
        if let Some(reason) = answer.block() {
            return Some(format!("{name}: blocked: {reason}"));
        }
        said.push_str(&answer.context().unwrap_or_default());
    }
    match expected {
        Silence if said.is_empty() => None,
        Silence => Some(format!("{name}: was told: {said}")),
        Words(words) => {
            let missing: Vec<_> = words.iter().filter(|word| !said.contains(**word)).collect();
            let wrong = [
                "although",
                "require",
                "gone",
                "cannot",
                "gate",
                "Consistency",
                "not named",
            ];
            let wrong: Vec<_> = wrong
                .iter()
                .filter(|word| {
                    said.contains(**word) && !words.iter().any(|known| known.contains(**word))
                })
                .collect();
            (!missing.is_empty() || !wrong.is_empty())
                .then(|| format!("{name}: without {missing:?}, with {wrong:?}: {said}"))
        }
    }
}

#[track_caller]
fn none_is_blocked(make: fn() -> Project, actions: &[(&str, Action, Expected)]) {
    let mut failed = Vec::new();
    for (name, action, expected) in actions {
        let project = make();
        let session = project.session(name);
        failed.extend(check(name, &action(&project, &session), expected));
        let faults = project
            .ledger()
            .into_iter()
            .filter(|line| line["outcome"] == "fault");
        failed.extend(faults.map(|line| format!("{name}: {line}")));
    }
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        actions.len(),
        failed.join("\n")
    );
}

#[test]
fn planning_from_the_top() {
    none_is_blocked(
        story,
        &[
            (
                "the first act",
                |_, s| wrote(s, Project::ACT, crate::ACT_TEXT),
                Words(&["`act-1` is a draft", "tl approve act-1"]),
            ),
            (
                "another act",
                |_, s| wrote(s, "acts/act-7/strategic-plan.md", "# Act 7\n"),
                Words(&["`act-7` is a draft"]),
            ),
            (
                "a draft is edited",
                |project, s| {
                    project.write(Project::ACT, crate::ACT_TEXT);
                    let _ = project.ok(&["status"]);
                    edited(project, s, Project::ACT, "Begin.", "Begin again.")
                },
                Words(&["`act-1` is a draft"]),
            ),
            (
                "a plan of one's own is written again",
                |_, s| {
                    let _ = s.write(Project::ACT, crate::ACT_TEXT);
                    wrote(s, Project::ACT, crate::ACT_EDITED)
                },
                Words(&["again: `act-1` is a draft"]),
            ),
            (
                "and again, after an edit of one's own",
                |project, s| {
                    let _ = s.write(Project::ACT, crate::ACT_TEXT);
                    let _ = edited(project, s, Project::ACT, "Begin.", "Begin again.");
                    wrote(s, Project::ACT, crate::ACT_EDITED)
                },
                Words(&["again: `act-1` is a draft"]),
            ),
            (
                "overwritten after reading",
                |project, s| {
                    project.write(Project::ACT, crate::ACT_TEXT);
                    let read = s.read(Project::ACT);
                    let mut answers = vec![read];
                    answers.extend(wrote(s, Project::ACT, crate::ACT_EDITED));
                    answers
                },
                Words(&["`act-1` is a draft"]),
            ),
            (
                "a stub is written out",
                |project, s| {
                    project.write(Project::ACT, "# Act 1\n");
                    let mut answers = vec![s.read(Project::ACT)];
                    answers.extend(wrote(s, Project::ACT, crate::ACT_TEXT));
                    answers
                },
                Words(&["`act-1` is a draft"]),
            ),
        ],
    );
}

#[test]
fn planning_below_what_is_approved() {
    none_is_blocked(
        planned,
        &[
            (
                "a new chapter",
                |_, s| wrote(s, CHAPTER_2, "# Chapter 2\n\n## Characters\n- Mara\n"),
                Words(&[
                    "Parent context: act `act-1`",
                    "`act-1/chapter-02` is a draft",
                ]),
            ),
            (
                "a new chapter, the act was read",
                |_, s| {
                    let mut answers = vec![s.read(Project::ACT)];
                    answers.extend(wrote(s, CHAPTER_2, "# Chapter 2\n"));
                    answers
                },
                Words(&["`act-1/chapter-02` is a draft"]),
            ),
            (
                "a scene",
                |_, s| {
                    wrote(
                        s,
                        "acts/act-1/chapters/chapter-01/scenes/scene-0102-blueprint.md",
                        "# Scene 1.2\n",
                    )
                },
                Words(&[
                    "Parent context: chapter `act-1/chapter-01`",
                    "scene-0102` is a draft",
                ]),
            ),
            (
                "an approved scene is edited",
                |project, s| {
                    edited(
                        project,
                        s,
                        Project::SCENE,
                        "# Scene 1.1",
                        "# Scene 1.1, again",
                    )
                },
                Words(&["Parent context", "scene-0101` is a draft"]),
            ),
            (
                "a chapter's plan is deleted",
                |project, s| {
                    let input = json!({ "path": project.root().join(Project::CHAPTER) });
                    let before = s.before("mcp__fs__delete_file", &input);
                    std::fs::remove_file(project.root().join(Project::CHAPTER)).expect("removed");
                    vec![before, s.after("mcp__fs__delete_file", &input)]
                },
                Words(&[
                    "`act-1/chapter-01`: its plan file is gone",
                    "1 plan below what changed now requires",
                ]),
            ),
            (
                "the act is only formatted, then a chapter is written",
                |project, s| {
                    project.write(Project::ACT, crate::ACT_TEXT.replace('\n', "  \r\n"));
                    wrote(s, CHAPTER_2, "# Chapter 2\n")
                },
                Words(&[
                    "Parent context: act `act-1`",
                    "`act-1/chapter-02` is a draft",
                ]),
            ),
            (
                "formatting by a command",
                |_, s| vec![s.shell(&format!("sed -i 's/$/   /' {}", Project::ACT))],
                Silence,
            ),
        ],
    );
}

#[test]
fn everything_that_is_no_plan() {
    none_is_blocked(
        planned,
        &[
            (
                "code",
                |_, s| wrote(s, "src/main.rs", "fn main() {}\n"),
                Silence,
            ),
            (
                "a readme",
                |_, s| wrote(s, "README.md", "# Read me\n"),
                Silence,
            ),
            (
                "notes beside plans",
                |_, s| wrote(s, "acts/act-1/notes.md", "Mara is tired.\n"),
                Silence,
            ),
            (
                "notes beside a missing act",
                |_, s| wrote(s, "acts/act-9/notes.md", "Later.\n"),
                Silence,
            ),
            (
                "a backup",
                |_, s| {
                    wrote(
                        s,
                        "acts/act-1/chapters/chapter-02/backups/plan.md",
                        "# Old\n",
                    )
                },
                Silence,
            ),
            (
                "the scene's prose",
                |_, s| {
                    wrote(
                        s,
                        "acts/act-1/chapters/chapter-01/content/scene-0101.md",
                        "It rained.\n",
                    )
                },
                Words(&["Parent context: scene `act-1/chapter-01/scene-0101`"]),
            ),
            (
                "a plan's name elsewhere",
                |_, s| wrote(s, "docs/chapters/chapter-02/plan.md", "# Docs\n"),
                Silence,
            ),
            (
                "dependencies",
                |_, s| {
                    wrote(
                        s,
                        "node_modules/acts/act-1/chapters/chapter-02/plan.md",
                        "x",
                    )
                },
                Silence,
            ),
            (
                "Cyrillic names",
                |_, s| wrote(s, "заметки/глава вторая.md", "Мара устала.\n"),
                Silence,
            ),
            (
                "names with blanks and quotes",
                |_, s| wrote(s, "notes/it's \"here\" $(now).md", "x\n"),
                Silence,
            ),
            (
                "outside of the project",
                |project, s| {
                    let path = project
                        .user_directory()
                        .join("acts/act-1/chapters/chapter-02/plan.md");
                    called(s, "Write", &json!({ "file_path": path, "content": "x" }))
                },
                Silence,
            ),
            (
                "a plan of another project",
                |_, s| {
                    called(
                        s,
                        "Write",
                        &json!({ "file_path": format!("/tmp/other/{CHAPTER_2}"), "content": "x" }),
                    )
                },
                Silence,
            ),
            (
                "a folder is made",
                |_, s| {
                    called(
                        s,
                        "mcp__fs__create_directory",
                        &json!({ "path": "acts/act-2/chapters" }),
                    )
                },
                Silence,
            ),
        ],
    );
}

#[test]
fn reading_and_commands_that_touch_nothing() {
    none_is_blocked(
        || {
            let project = planned();
            project.write("src/main.rs", "fn main() {}\n");
            assert!(project.shell("git init -q && git add -A . && git commit -qm all"));
            project
        },
        &[
            (
                "reading every plan",
                |_, s| {
                    [Project::ACT, Project::CHAPTER, Project::SCENE, CHAPTER_2]
                        .map(|path| s.read(path))
                        .to_vec()
                },
                Silence,
            ),
            (
                "searching",
                |_, s| called(s, "Grep", &json!({ "pattern": "Mara", "path": "acts" })),
                Silence,
            ),
            (
                "listing",
                |_, s| called(s, "Glob", &json!({ "pattern": "**/*.md" })),
                Silence,
            ),
            ("ls", |_, s| vec![s.shell("ls -R acts && true")], Silence),
            (
                "cat",
                |_, s| vec![s.shell(&format!("cat {} > /dev/null", Project::ACT))],
                Silence,
            ),
            (
                "git status, log and diff",
                |_, s| vec![s.shell("git status -s && git log --oneline && git diff")],
                Silence,
            ),
            (
                "git commit",
                |_, s| vec![s.shell("echo x > x && git add x && git commit -qm x")],
                Silence,
            ),
            (
                "git branches",
                |_, s| vec![s.shell("git checkout -qb new && git checkout -q -")],
                Silence,
            ),
            (
                "a build",
                |_, s| vec![s.shell("mkdir -p target && cp src/main.rs target/")],
                Silence,
            ),
            (
                "plans are touched",
                |_, s| vec![s.shell("touch acts/act-1/strategic-plan.md")],
                Silence,
            ),
            (
                "tl itself",
                |project, s| {
                    let input = json!({ "command": "tl status && tl tree" });
                    let before = s.before("Bash", &input);
                    let _ = project.ok(&["status"]);
                    vec![before, s.after("Bash", &input)]
                },
                Silence,
            ),
            (
                "an approval by tl itself",
                |project, s| {
                    let _ = s.write(CHAPTER_2, "# Chapter 2\n");
                    let input = json!({ "command": "tl approve chapter 2" });
                    let before = s.before("Bash", &input);
                    let _ = project.ok(&["approve", "chapter", "2"]);
                    vec![before, s.after("Bash", &input)]
                },
                Silence,
            ),
        ],
    );
}

#[test]
fn whatever_a_host_may_send() {
    none_is_blocked(
        planned,
        &[
            (
                "an unknown tool",
                |_, s| {
                    called(
                        s,
                        "TodoWrite",
                        &json!({ "todos": [{ "content": "plan", "status": "pending" }] }),
                    )
                },
                Silence,
            ),
            (
                "a tool for the web",
                |_, s| {
                    called(
                        s,
                        "WebFetch",
                        &json!({ "url": "https://example.org/acts/act-1/strategic-plan.md" }),
                    )
                },
                Silence,
            ),
            (
                "an unknown event",
                |_, s| vec![s.event("TeammateIdle", json!({ "teammate": "x" }))],
                Silence,
            ),
            (
                "a notification",
                |_, s| vec![s.event("Notification", json!({ "message": "waiting" }))],
                Silence,
            ),
            (
                "an event without a name",
                |project, _| vec![project.hook(&json!({ "session_id": "s" }))],
                Silence,
            ),
            (
                "unknown fields everywhere",
                |_, s| {
                    let fields = json!({
                        "tool_name": "Write", "tool_input": { "file_path": "x.txt", "content": "x", "mode": 0o644, "y": [null] },
                        "tool_use_id": "t", "effort": { "level": 3 }, "new": [[[]]],
                    });
                    vec![
                        s.event("PreToolUse", fields.clone()),
                        s.event("PostToolUse", fields),
                    ]
                },
                Silence,
            ),
            (
                "an empty input",
                |_, s| called(s, "Write", &json!({})),
                Silence,
            ),
            ("no input", |_, s| called(s, "Write", &Value::Null), Silence),
            (
                "an empty path",
                |_, s| called(s, "Write", &json!({ "file_path": "", "content": "" })),
                Silence,
            ),
            (
                "a path of another type",
                |_, s| {
                    called(
                        s,
                        "Edit",
                        &json!({ "file_path": 7, "old_string": [], "new_string": {} }),
                    )
                },
                Silence,
            ),
            (
                "an endless path",
                |_, s| {
                    called(
                        s,
                        "Write",
                        &json!({ "file_path": "a/".repeat(20_000), "content": "" }),
                    )
                },
                Silence,
            ),
            (
                "a NUL in a path",
                |_, s| {
                    called(
                        s,
                        "Write",
                        &json!({ "file_path": "a\u{0}b", "content": "" }),
                    )
                },
                Silence,
            ),
            (
                "an empty command",
                |_, s| called(s, "Bash", &json!({ "command": "" })),
                Silence,
            ),
            (
                "a huge prompt",
                |_, s| vec![s.prompt(&"word ".repeat(200_000))],
                Silence,
            ),
            ("an empty prompt", |_, s| vec![s.prompt("")], Silence),
            (
                "a command in the middle of a prompt",
                |_, s| vec![s.prompt("Then I will type /approve-plan act 1, not you.")],
                Silence,
            ),
            (
                "a command in quotes",
                |_, s| vec![s.prompt("`/plan-chapter 2` is what I would type")],
                Silence,
            ),
            (
                "the host's own command",
                |_, s| vec![s.prompt("/compact keep the plot")],
                Silence,
            ),
            (
                "another program's command",
                |_, s| {
                    vec![
                        s.prompt("/plan-foo 2"),
                        s.prompt("/plan-mode on"),
                        s.prompt("/plan"),
                    ]
                },
                Silence,
            ),
            (
                "a path as a prompt",
                |_, s| vec![s.prompt("/home/user/acts/act-1/strategic-plan.md")],
                Silence,
            ),
            ("a turn ends", |_, s| vec![s.stop()], Silence),
            (
                "a subagent ends",
                |_, s| {
                    vec![s.event(
                        "SubagentStop",
                        json!({ "agent_id": "a1", "agent_type": "x", "stop_hook_active": false }),
                    )]
                },
                Silence,
            ),
            (
                "a compaction",
                |_, s| {
                    vec![
                        s.event("PreCompact", json!({ "trigger": "auto" })),
                        s.event("PostCompact", json!({ "compact_summary": "x" })),
                    ]
                },
                Silence,
            ),
            (
                "a session ends",
                |_, s| vec![s.event("SessionEnd", json!({ "reason": "exit" }))],
                Silence,
            ),
            (
                "a session that was never seen to start",
                |_, s| wrote(s, CHAPTER_2, "# Chapter 2\n"),
                Words(&["Parent context", "`act-1/chapter-02` is a draft"]),
            ),
            (
                "a session without an id",
                |project, _| wrote(&project.session(""), "notes.md", "x\n"),
                Silence,
            ),
        ],
    );
}

/// A parent that was only formatted keeps its approval, and so do those below.
#[test]
fn a_formatted_parent_blocks_nothing() {
    let project = planned();
    let before = statuses(&project);
    let session = project.session("s");
    let _ = session.shell(&format!("sed -i 's/$/   /' {}", Project::ACT));
    assert_eq!(statuses(&project), before);
    assert_eq!(
        check(
            "a chapter",
            &wrote(&session, CHAPTER_2, "# Chapter 2\n"),
            &Words(&["is a draft"])
        ),
        None
    );
}

#[test]
fn outside_of_a_project_nothing_is_said_and_nothing_is_left() {
    let project = empty();
    let session = project.session("s");
    let answers = [
        session.start("startup"),
        session.prompt("/plan-chapter 2"),
        session.prompt("/approve-plan act 1"),
        session.write(CHAPTER_2, "# Chapter 2\n").0,
        session.shell("true"),
        session.stop(),
        project.hook_bytes(&["claude-code"], b"nonsense", &[]),
    ];
    for answer in answers {
        assert!(answer.is_silent(), "{answer:?}");
    }
    assert!(!project.root().join(".throughline").exists());
}

#[test]
fn switched_off_hooks_say_nothing_and_change_nothing() {
    for word in ["off", "0", "false"] {
        let project = story();
        project.write(Project::ACT, crate::ACT_TEXT);
        let before = project.read(".throughline/journal.jsonl");
        let session = project
            .session("s")
            .with_environment("THROUGHLINE_HOOKS", word);
        let answers = [
            session.start("startup"),
            session.write(CHAPTER_2, "# Chapter 2\n").0,
            session.shell(&format!("echo x >> {}", Project::ACT)),
            session.prompt("/approve-plan act 1"),
            session.stop(),
        ];
        for answer in &answers {
            assert!(answer.is_silent(), "{word}: {answer:?}");
        }
        assert_eq!(project.read(".throughline/journal.jsonl"), before, "{word}");
        let outcomes: Vec<Value> = project
            .ledger()
            .iter()
            .map(|line| line["outcome"].clone())
            .collect();
        assert!(
            outcomes.len() >= answers.len() && outcomes.iter().all(|outcome| outcome == "off"),
            "{word}: {outcomes:?}"
        );
    }
    // Any other word is no word for off.
    let project = story();
    let (before, _) = project
        .session("s")
        .with_environment("THROUGHLINE_HOOKS", "on")
        .write(CHAPTER_2, "# Chapter 2\n");
    assert!(before.block().is_some());
}

const RUSSIAN: &str = r#"
name = "роман"
title = "Роман"

[[level]]
name = "акт"
root = true
alias = "акт-{n}"
file = "акты/{alias}/план.md"
purpose = "план акта"

[[level]]
name = "глава"
under = ["акт"]
alias = "глава-{n:2}"
file = "главы/{alias}/план.md"
purpose = "план главы"

[[phase]]
title = "Написать"
text = "Напиши."
"#;

/// A project whose levels, aliases and files are all Cyrillic.
fn novel() -> Project {
    let project = empty();
    project.write(".throughline/profiles/роман.toml", RUSSIAN);
    project.ok(&["init", "--profile", "роман"]);
    project
}

#[test]
fn a_profile_in_another_script_works_like_any_other() {
    const ACT: &str = "акты/акт-1/план.md";
    const CHAPTER: &str = "акты/акт-1/главы/глава-02/план.md";
    let steps: [(&str, Event<'_>); 2] = [
        ("approved at the command line", &|project| {
            project.ok(&["approve", "акт-1"]);
        }),
        ("approved by a typed command", &|project| {
            let answer = project.session("s").prompt("/approve-plan акт 1");
            assert!(
                answer
                    .context()
                    .is_some_and(|said| said.contains("`акт-1` is approved")),
                "{answer:?}"
            );
        }),
    ];
    for (name, approve) in steps {
        let project = novel();
        let session = project.session("сессия");
        assert_eq!(
            check(
                name,
                &wrote(&session, ACT, "# Акт\n"),
                &Words(&["`акт-1` is a draft"])
            ),
            None
        );
        let reason = session
            .write(CHAPTER, "# Глава\n")
            .0
            .block()
            .expect("the act is a draft");
        assert!(
            reason.contains("`акт-1/глава-02` cannot be planned: its parent `акт-1` is a draft"),
            "{reason}"
        );
        approve(&project);
        assert_eq!(
            check(
                name,
                &wrote(&session, CHAPTER, "# Глава\n"),
                &Words(&["`акт-1/глава-02` is a draft"])
            ),
            None
        );
        let prompt = session.prompt("/plan-глава 3").context().expect("a prompt");
        assert!(
            prompt.contains("акты/акт-1/главы/глава-03/план.md"),
            "{prompt}"
        );
    }
}
