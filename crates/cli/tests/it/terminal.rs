//! What reaches a terminal: whatever names and texts a project has, nothing but text and our own colours.

use domain::text::is_unprintable;
use testkit::Project;

use crate::{empty, with_model};

/// A title of the window, a colour that we never use, C1 controls, direction changes, zero-width characters, a carriage
/// return, a backspace, separators, tags.
const EVIL: &str = "PWNED\u{1b}]0;PWNED\u{7}\u{1b}[35m\u{9b}2J\u{9d}0;x\u{9c}\u{202e}\u{2066}\u{200b}\r\u{8}\u{7f}\u{85}\u{2028}\u{61c}\u{e0041}x";

/// What git allows in a branch's name.
const EVIL_BRANCH: &str = "PWNED\u{9b}35m\u{202e}\u{200b}x";

/// The parameters of our styles, and of the parser's.
const OUR_STYLES: [&str; 8] = ["0", "1", "2", "4", "31", "32", "33", "36"];

/// Asserts that only text and our own styles were printed; returns whether something evil was in it, cleaned.
#[track_caller]
fn assert_safe(project: &Project, arguments: &[&str]) -> bool {
    let shown = project.run_on_terminal(arguments);
    // The terminal makes one from each line end.
    let mut rest = shown.replace("\r\n", "\n");
    // A progress bar redraws its line.
    for sequence in ["\r\u{1b}[2K", "\u{1b}[1A", "\u{1b}[2K", "\r\u{1b}[K"] {
        rest = rest.replace(sequence, "");
    }
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        let style = after
            .strip_prefix('[')
            .and_then(|after| after.split_once('m'));
        let Some((style, after)) =
            style.filter(|(style, _)| style.split(';').all(|one| OUR_STYLES.contains(&one)))
        else {
            panic!("tl {arguments:?} prints an escape sequence: {after:?} in\n{shown:?}");
        };
        assert!(!style.is_empty(), "tl {arguments:?}: {shown:?}");
        rest = format!("{before}{after}");
    }
    let control = rest
        .chars()
        .find(|c| !matches!(c, '\n' | '\t') && is_unprintable(*c));
    assert_eq!(control, None, "tl {arguments:?}: {shown:?}");
    assert!(!rest.contains("internal error"), "tl {arguments:?}: {rest}");
    rest.contains("PWNED")
}

/// A project in which every name and text that a user can choose is malicious.
fn evil() -> Project {
    let project = empty()
        .with_environment("USER", EVIL)
        .with_environment("THROUGHLINE_SESSION", EVIL);
    let git = |line: &str| assert!(project.shell(line), "{line}");
    git(&format!("git init -q -b '{EVIL_BRANCH}' ."));
    project.ok(&["init", "--profile", "story,tickets,trail"]);
    let plan = |title: &str| {
        format!("# {title} {EVIL}\n\n## Characters {EVIL}\n- Mara {EVIL}\n\n## Purpose\n{EVIL}\n")
    };
    for (file, node) in [
        (Project::ACT, "act-1"),
        (Project::CHAPTER, "chapter-01"),
        (Project::SCENE, "scene-0101"),
    ] {
        project.write(file, plan(node));
        project.ok(&["approve", node]);
    }
    let folder = format!("tickets/042-evil{EVIL}");
    project.write(
        &format!("{folder}/ticket.md"),
        format!("---\nid: '042'\nphase: implement\n---\n\n# {EVIL}\n\n## Problem\n\n{EVIL}\n"),
    );
    project.write(
        &format!("{folder}/test-definitions.md"),
        format!("# Tests\n\n## Scenario: {EVIL}\nGiven {EVIL}\n"),
    );
    project.write(
        "tickets/050-lost/ticket.md",
        "---\nid: '050'\nparent: \"09\\e]0;PWNED\\a9\"\n---\n\n# Lost\n",
    );
    project.write(
        &format!("tickets/051-broken{EVIL}/ticket.md"),
        format!("---\nphase: [{EVIL}\n---\n\n# Broken\n"),
    );
    git(&format!("git add -A && git commit -q -m 'feat: {EVIL}'"));
    for arguments in [
        &["trail", "intent", EVIL] as &[&str],
        &["trail", "map", "tactic", EVIL],
        &["comment", "act-1", "-m", EVIL],
        &["note", "add", "--shelf", EVIL, EVIL],
        &["note", "add", "--pin", EVIL],
        &["doc", "new", EVIL],
        &["claim", "chapter-01"],
        &["focus", "enter", "042"],
        &[
            "evidence",
            "add",
            "042",
            "--",
            "sh",
            "-c",
            "printf \"$0\"; exit 1",
            EVIL,
        ],
        &["evidence", "run", "042"],
        &[
            "story",
            "memory",
            "edit",
            "--new",
            "character",
            &format!("name={EVIL}"),
            &format!("role={EVIL}"),
        ],
        &[
            "team",
            "token",
            "create",
            EVIL,
            "--as",
            "human:anna",
            "--scope",
            "approve",
        ],
        &["invalidate", "chapter-01", "--reason", EVIL],
    ] {
        // What is refused because of what it contains is as good: the refusal is shown.
        let _ = project.run(arguments);
        assert_safe(&project, arguments);
    }
    project.write(Project::ACT, plan("Act 1, later"));
    project
}

/// Returns the names below `Commands:` in a command's help.
fn commands_in(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.strip_prefix("  ")?
                .split_whitespace()
                .next()
                .filter(|_| !line.starts_with("   "))
        })
        .filter(|word| *word != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn commands_on_evil_names_print_only_text_and_our_colours() {
    let project = evil();
    let nodes = ["act-1", "chapter-01", "scene-0101", "042"];
    let mut evil_seen = 0;
    for node in nodes {
        for command in [
            "show", "why", "children", "versions", "diff", "plan", "comment", "tree", "brief",
            "evidence",
        ] {
            evil_seen += usize::from(assert_safe(&project, &[command, node]));
            assert_safe(&project, &[command, node, "--json"]);
        }
        evil_seen += usize::from(assert_safe(&project, &["focus", "enter", node]));
        assert_safe(&project, &["approve", node]);
        assert_safe(&project, &["claim", node]);
        assert_safe(&project, &["story", "write", node]);
    }
    for arguments in [
        &["plan", "ticket", "042"] as &[&str],
        &["evidence", "run", "042"],
        &["evidence", "show", "042"],
        &["revalidate"],
        &["invalidate", "scene-0101", "--reason", EVIL],
        &["restore", "act-1", "-1"],
        &["undo", "1"],
        &["state", "backup", &format!("../backup{EVIL}")],
        &["state", "restore", &format!("../backup{EVIL}")],
        &["state", "restore", EVIL],
        &["doc", "show", "--json"],
        &["flow", "start", "planner", "--for", "042"],
        &[
            "review",
            "add",
            "--of",
            "042",
            "--check",
            EVIL,
            "--severity",
            "must",
        ],
        &["--project", EVIL, "status"],
        &["serve", "--listen", EVIL],
        &["log", "--json"],
        &["tree", "--json"],
        &["host", "doctor"],
    ] {
        evil_seen += usize::from(assert_safe(&project, arguments));
    }
    assert!(
        evil_seen > 25,
        "{evil_seen} outputs had something evil in them"
    );
}

#[test]
fn every_command_with_no_and_with_evil_arguments_prints_only_text_and_our_colours() {
    let project = evil();
    let mut commands: Vec<Vec<String>> = Vec::new();
    for command in crate::COMMANDS {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let mut help: Vec<&str> = command.split(' ').collect();
        help.push("--help");
        for below in commands_in(&project.ok(&help).stdout) {
            commands.push([words.as_slice(), &[below]].concat());
        }
        commands.push(words);
    }
    assert!(commands.len() > 100, "{commands:?}");
    let mut evil_seen = 0;
    for command in &commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        // A server runs until it is stopped, and the demo is a project of ours.
        if !matches!(words[..], ["serve" | "demo"] | ["team", "serve"]) {
            evil_seen += usize::from(assert_safe(&project, &words));
        }
        assert_safe(&project, &[&words[..], &[EVIL]].concat());
        assert_safe(&project, &[&words[..], &[EVIL, "--json", EVIL]].concat());
    }
    assert!(
        evil_seen > 20,
        "{evil_seen} outputs had something evil in them"
    );
}

#[test]
fn answers_and_errors_of_a_model_print_only_text_and_our_colours() {
    let project = with_model(evil(), &[EVIL]);
    for arguments in [
        &["story", "tick"] as &[&str],
        &["story", "tick", "--plan-only"],
        &["story", "write", "scene-0101"],
        &["story", "model", "check"],
        &["trail", "compact"],
    ] {
        assert_safe(&project, arguments);
    }
    let failing =
        project.with_environment("THROUGHLINE_LLM_COMMAND", &format!("/bin/false {EVIL}"));
    for arguments in [
        &["story", "tick"] as &[&str],
        &["story", "write", "scene-0101"],
        &["story", "model", "check"],
    ] {
        assert_safe(&failing, arguments);
    }
}

#[test]
fn an_evil_setting_is_reported_as_text() {
    let project = evil();
    project.write(
        ".throughline/config.toml",
        "profiles = [\"story\\u001b]0;PWNED\\u0007\"]\n",
    );
    assert!(assert_safe(&project, &["status"]));
    project.write(
        ".throughline/config.toml",
        format!("profiles = [\"story\"]\n{EVIL}\n"),
    );
    assert_safe(&project, &["status"]);
}
