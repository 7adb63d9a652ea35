//! Program tests: the real `tl`, run as a person, a script or an agent runs it.
//!
//! One module per command, and one per matter that concerns several commands.

mod adopt;
mod adoption;
mod approval_answers;
mod approval_attacks;
mod approve;
mod backup;
mod bad_input;
mod batch_approval;
mod brief;
mod caller;
mod cascade;
mod check;
mod check_ci;
mod children;
mod claim;
mod claims_of_done;
mod claims_of_done_by_detour;
mod comment;
mod compact;
mod completions;
mod config;
mod conflicts;
mod dashboard;
mod dashboard_forms;
mod decision_files;
mod demo;
mod diff;
mod disk;
mod doc;
mod doc_freeze;
mod doctor;
mod drift;
mod environment;
mod evidence;
mod flow;
mod focus;
mod follow;
mod fresh_clone;
mod gate;
mod generation;
mod git_decisions;
mod git_laws;
mod git_moves;
mod git_other_places;
mod git_signatures;
mod git_together;
mod guidance;
mod help;
mod hook;
mod hook_approvals;
mod hook_concurrency;
mod hook_faults;
mod hook_gates;
mod hook_git;
mod hook_input;
mod hook_lasting_faults;
mod hook_legitimate;
mod hook_missed_calls;
mod hook_news;
mod hook_prose;
mod hook_settings;
mod hook_signals;
mod hook_subagents;
mod hook_ways_round;
mod hostile_repository;
mod hosts_install;
mod import;
mod init;
mod intent;
mod interrupted;
mod invalidate;
mod issuer;
mod join;
mod json_shapes;
mod leave;
mod life;
mod llm;
mod log;
mod long_session;
mod man;
mod manuscript_guide;
mod map;
mod mcp;
mod mcp_approvals;
mod mcp_faults;
mod memory;
mod memory_of_the_book;
mod memory_reread;
mod migrate;
mod mirror;
mod mirror_migration;
mod model_leases;
mod model_server;
mod move_state;
mod naming;
mod next;
mod no_story_talk;
mod note;
mod notify;
mod novel;
mod observation;
mod outline_and_stats;
mod overview;
mod parallel_execution;
mod permissions;
mod plan;
mod plan_from_prompts;
mod planted_links;
mod plugin_launcher;
mod postgres;
mod presence;
mod profiles;
mod progress;
mod prose_comments;
mod provider_errors;
mod prune;
mod rate;
mod rebuild;
mod reconcile;
mod recorded;
mod recovery;
mod release;
mod remote;
mod remote_forgery;
mod renamed_commands;
mod renumber;
mod repair;
mod replacement;
mod replay;
mod reshape;
mod restore;
mod restore_backup;
mod revalidate;
mod review;
mod scan;
mod scenario;
mod search;
mod secret;
mod serve;
mod session;
mod show;
mod status;
mod statusline;
mod story_loop;
mod submit;
mod survival;
mod sync_hashes;
mod tdd_history;
mod team;
mod team_server;
mod terminal;
mod think_back;
mod tick;
mod ticket;
mod token;
mod trace;
mod trail_story;
mod transcripts;
mod tree;
mod trust;
mod ui;
mod undo;
mod unicode;
mod uninstall;
mod usage;
mod variants;
mod versions;
mod wait;
mod where_am_i;
mod why;
mod work_state;
mod worktrees;
mod write;

use std::path::Path;

use serde_json::Value;
use testkit::{Output, Project};

/// Every command and group, as it is typed.
const COMMANDS: &[&str] = &[
    "init",
    "demo",
    "import",
    "completions",
    "man",
    "status",
    "tree",
    "show",
    "plan",
    "approve",
    "revalidate",
    "why",
    "children",
    "outline",
    "stats",
    "invalidate",
    "ui",
    "insert",
    "move",
    "add",
    "rename",
    "split",
    "merge",
    "remove",
    "next",
    "focus",
    "claim",
    "ticket",
    "ticket scenario",
    "evidence",
    "note",
    "search",
    "where",
    "release",
    "overlap",
    "renumber",
    "progress",
    "brief",
    "comment",
    "review",
    "diff",
    "log",
    "undo",
    "restore",
    "versions",
    "wait",
    "flow",
    "doc",
    "doc reconcile",
    "gate",
    "mcp",
    "hook",
    "statusline",
    "serve",
    "submit",
    "conflicts",
    "check",
    "policy",
    "config",
    "host",
    "host install",
    "host uninstall",
    "host doctor",
    "host replay",
    "trail",
    "trail intent",
    "trail map",
    "trail scan",
    "trail back",
    "trail drift",
    "trail rate",
    "trail compact",
    "trail prune",
    "trail migrate",
    "trail trace",
    "trail session",
    "story",
    "story new",
    "story tick",
    "story write",
    "story follow",
    "story generation",
    "story memory",
    "story compile",
    "story stats",
    "story model",
    "team",
    "team token",
    "team serve",
    "team join",
    "team leave",
    "team notify",
    "state",
    "state check",
    "state repair",
    "state rebuild",
    "state sync-hashes",
    "state adopt",
    "state backup",
    "state restore",
    "state move",
    "state quarantine",
    "state secret",
];

const ACT_TEXT: &str = "# Act 1\n\n## Characters\n- Mara\n\n## Purpose\nBegin.\n";
const ACT_EDITED: &str = "# Act 1\n\n## Characters\n- Mara\n\n## Purpose\nBegin, but later.\n";

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tl"))
}

/// Something that happens to a project.
type Event<'e> = &'e dyn Fn(&Project);

/// A directory that is not a project.
fn empty() -> Project {
    Project::empty(binary())
}

/// A project with nothing planned.
fn story() -> Project {
    Project::story(binary())
}

/// A project that keeps a trail, and a session in it.
fn trail() -> Project {
    let project = Project::empty(binary()).with_environment("THROUGHLINE_SESSION", "s1");
    project.ok(&["init", "--profile", "trail"]);
    project
}

/// The same from another session: a new process that knows nothing.
fn in_session(project: &Project, session: &str, arguments: &[&str]) -> Output {
    run_with(project, &[("THROUGHLINE_SESSION", session)], arguments)
}

/// A project with an approved act, chapter and scene.
fn planned() -> Project {
    let project = story();
    project.plan_story();
    project
}

/// A project with `chapter-01` and `scene-0101` in two acts, all approved.
fn two_acts() -> Project {
    let project = planned();
    project.write(
        "acts/act-2/strategic-plan.md",
        "# Act 2\n\n## Characters\n- Mara\n",
    );
    project.ok(&["approve", "act-2"]);
    project.write(
        "acts/act-2/chapters/chapter-01/plan.md",
        "# Chapter 1 of act 2\n\n## Characters\n- Mara\n",
    );
    project.ok(&["approve", "act-2/chapter-01"]);
    project.write(
        "acts/act-2/chapters/chapter-01/scenes/scene-0101-blueprint.md",
        "# Scene 1.1 of act 2\n",
    );
    project.ok(&["approve", "act-2/chapter-01/scene-0101"]);
    project
}

/// A working copy of the project `novel` in a shared database, on a machine whose user took it over. The first one makes it.
fn machine_on(database: &testkit::Database, profiles: &str) -> Project {
    let project = Project::in_database(binary(), &database.url(), "novel");
    if project.run(&["init", "--profile", profiles]).code != 0 {
        let joined = project.run(&["init", "--profile", profiles, "--join-existing"]);
        assert!(joined.stderr.contains("tl state adopt"), "{joined:?}");
        project.ok(&["state", "adopt", "--yes"]);
    }
    project
}

/// Runs the program with more environment.
fn run_with(project: &Project, environment: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = project.command(arguments);
    command.envs(environment.iter().copied());
    finished(&mut command)
}

/// Runs a prepared command.
fn finished(command: &mut std::process::Command) -> Output {
    let output = command.output().expect("the program starts");
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
    }
}

/// Returns every node with its status, in the order of the tree: `act-1/chapter-01 approved`.
fn statuses(project: &Project) -> Vec<String> {
    let mut lines = Vec::new();
    for top in project.json(&["tree"]).as_array().expect("a list of trees") {
        collect(top, &mut lines);
    }
    lines
}

fn collect(node: &Value, lines: &mut Vec<String>) {
    lines.push(format!("{} {}", text(node, "path"), text(node, "status")));
    node["children"]
        .as_array()
        .expect("children")
        .iter()
        .for_each(|child| collect(child, lines));
}

/// As an answer of a model: the caller is killed while it waits.
const KILL: &str = "kill -9 the caller";

/// An answer of the model's program: Ctrl-C for the caller, and no answer.
const INTERRUPT: &str = "interrupt the caller";

/// Gives a project a model: a program that prints these answers in turn, the last one again and again, and notes what it
/// was asked.
fn with_model(project: Project, answers: &[&str]) -> Project {
    for (index, answer) in answers.iter().enumerate() {
        project.write(&format!("../answers/{index}"), answer);
    }
    let folder = project
        .root()
        .join("../answers")
        .canonicalize()
        .expect("the answers are written");
    let (last, folder) = (answers.len() - 1, folder.display());
    let script = format!(
        "cat >> '{folder}/asked'\ncd '{folder}'\nn=0\nwhile [ -e \"done$n\" ] && [ $n -lt {last} ]; do n=$((n+1)); done\n\
         : > \"done$n\"\nif [ \"$(cat \"$n\")\" = '{KILL}' ]; then kill -9 $PPID; fi\n\
         if [ \"$(cat \"$n\")\" = '{INTERRUPT}' ]; then kill -INT $PPID; exec sleep 60; fi\ncat \"$n\"\n"
    );
    project.write("../answers/model", &script);
    let program = format!("/bin/sh {folder}/model");
    project
        .with_environment("THROUGHLINE_LLM_PROVIDER", "command")
        .with_environment("THROUGHLINE_LLM_COMMAND", &program)
}

/// Returns everything the model was asked.
fn asked(project: &Project) -> String {
    project.read("../answers/asked")
}

/// Returns a field that must be a text.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no text `{key}` in {value}"))
}

/// Returns the keys of an object, sorted.
fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .unwrap_or_else(|| panic!("no object: {value}"))
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

/// Returns the texts in a list.
fn texts(value: &Value) -> Vec<&str> {
    let list = value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"));
    list.iter()
        .map(|one| one.as_str().unwrap_or_else(|| panic!("no text: {one}")))
        .collect()
}

/// Returns the number of the newest operation.
fn newest_operation(project: &Project) -> u64 {
    project.json(&["log", "--limit", "1"])[0]["operation"]
        .as_u64()
        .expect("an operation")
}

/// Returns what would change if the project changed: the tree with its hashes, and the log.
fn fingerprint(project: &Project) -> (Value, Value) {
    (project.json(&["tree"]), project.json(&["log"]))
}

/// Returns the names in a folder of the project, sorted; none when it is not there.
fn names_in(project: &Project, folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(project.root().join(folder)) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a Unicode name")
        })
        // Folders of ours keep themselves out of git; tests count what is kept in them.
        .filter(|name| name != ".gitignore")
        .collect();
    names.sort();
    names
}

/// Copies a directory, leaving out what `skip` says.
fn copy_directory(from: &Path, to: &Path, skip: &dyn Fn(&str) -> bool) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a Unicode name");
        if skip(&name) {
            continue;
        }
        if entry.file_type().expect("a type").is_dir() {
            copy_directory(&entry.path(), &to.join(&name), skip);
        } else {
            std::fs::copy(entry.path(), to.join(&name)).expect("a copy");
        }
    }
    let modes = std::fs::metadata(from).expect("a directory").permissions();
    std::fs::set_permissions(to, modes).expect("the same permissions");
}

/// Runs git in the project and returns what it printed.
fn git_output(project: &Project, arguments: &str) -> String {
    let mut command = project.command_of(Path::new("/bin/sh"));
    command.args(["-c", &format!("git {arguments}")]);
    let output = finished(&mut command);
    assert_eq!(output.code, 0, "git {arguments}: {}", output.stderr);
    output.stdout
}

/// What git leaves behind when a project is cloned.
fn is_ignored_by_git(name: &str) -> bool {
    name.starts_with("state.db")
        || name.starts_with(".tl-")
        || matches!(
            name,
            "journal.jsonl" | "lock" | "rebuild.lock" | "logs" | "damaged"
        )
}

/// Asserts that a refusal says all of `parts` and names the cause in JSON with the same words.
#[track_caller]
fn assert_refused(project: &Project, arguments: &[&str], kind: &str, parts: &[&str]) -> Value {
    let output = project.refused(arguments);
    assert_eq!(
        output.stdout, "",
        "a refusal is talk, not data: tl {arguments:?}"
    );
    assert!(
        output.stderr.contains("error: "),
        "tl {arguments:?}: {}",
        output.stderr
    );
    let mut with_json = vec!["--json"];
    with_json.extend(arguments);
    let again = project.refused(&with_json);
    let value: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(keys(&value), ["error"]);
    assert_eq!(keys(&value["error"]), ["kind", "message", "next_steps"]);
    assert_eq!(
        text(&value["error"], "kind"),
        kind,
        "tl {arguments:?}: {value}"
    );
    let words = format!(
        "{} {}",
        text(&value["error"], "message"),
        texts(&value["error"]["next_steps"]).join(" ")
    );
    for part in parts {
        assert!(
            words.contains(part),
            "tl {arguments:?} does not say `{part}`: {words}"
        );
        assert!(
            output.stderr.contains(part),
            "tl {arguments:?} does not say `{part}`: {}",
            output.stderr
        );
    }
    value["error"].clone()
}

#[test]
fn every_file_here_is_a_module() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).expect("this file");
    let declared: Vec<String> = main
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect();
    let mut found: Vec<String> = std::fs::read_dir(&folder)
        .expect("this folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .map(|path| {
            path.file_stem()
                .expect("a name")
                .to_str()
                .expect("Unicode")
                .to_owned()
        })
        .filter(|name| name != "main")
        .collect();
    found.sort();
    assert_eq!(declared, found);
}

#[test]
fn every_command_has_a_module() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    // Former commands keep the file of their former name; some are called as Rust calls something
    // else, and some are tested with what they belong to.
    let module = |name: &&'static str| match *name {
        "where" => "where_am_i",
        "policy" => "trust",
        "overlap" => "worktrees",
        "decisions" => "git_decisions",
        "move" => "presence",
        "outline" | "stats" => "outline_and_stats",
        "insert" | "add" | "rename" | "split" | "merge" | "remove" => "reshape",
        "host" | "trail" | "story" | "team" | "state" => "renamed_commands",
        "host install" => "hosts_install",
        "trail back" => "think_back",
        "story new" | "story compile" | "story stats" => "novel",
        "story model" => "llm",
        "state move" => "move_state",
        "state restore" => "restore_backup",
        "state quarantine" => "replacement",
        name => name.rsplit(' ').next().unwrap_or(name),
    };
    for command in COMMANDS.iter().map(module) {
        assert!(
            folder
                .join(format!("{}.rs", command.replace('-', "_")))
                .is_file(),
            "{command}"
        );
    }
}

/// A git repository with tickets: `017` with its children `017a` (three scenarios) and `017b`, and `045`.
fn tickets() -> Project {
    let project = empty();
    assert!(project.shell("git init -q -b main ."));
    project.ok(&["init", "--profile", "tickets"]);
    let ticket = |id: &str, slug: &str, keys: &str, title: &str| {
        let text = format!(
            "---\nid: '{id}'\ntype: task\n{keys}status: ready\n---\n\n# {title}\n\n## Problem\n\nSomething.\n"
        );
        project.write(&format!("tickets/{id}-{slug}/ticket.md"), text);
    };
    ticket(
        "017",
        "quality",
        "phase: implement\nchildren: ['017a', '017b']\n",
        "Continuous quality monitoring",
    );
    ticket(
        "017a",
        "loc",
        "phase: implement\nparent: '017'\n",
        "LOC quality tracking",
    );
    ticket(
        "017b",
        "phases",
        "phase: intake\nparent: 017\n",
        "Phase gates",
    );
    ticket("045", "поиск", "phase: intake\n", "Поиск по тексту");
    project.write(
        "tickets/017a-loc/test-definitions.md",
        "# Tests\n\n## Scenario: LOC tracking\nGiven edits\n\n## Scenario: Threshold gate\nGiven 400 lines\n\n## Scenario: Commit clears\nWhen committed\n",
    );
    project.write("src/main.rs", "fn main() {}\n");
    assert!(project.shell("git add -A && git commit -q -m 'chore: start'"));
    project
}

/// Runs a command as the agent of a session runs it.
fn as_session(project: &Project, session: &str, arguments: &[&str]) -> Output {
    let output = run_with(
        project,
        &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", session)],
        arguments,
    );
    assert_eq!(
        output.code, 0,
        "tl {arguments:?}\nstdout: {}\nstderr: {}",
        output.stdout, output.stderr
    );
    output
}

/// The same, for JSON.
fn json_as(project: &Project, session: &str, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["--json"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    let output = as_session(project, session, &all);
    serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
}
