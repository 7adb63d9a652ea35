//! `tl init --host`: our entries go into every host's settings, once, and nothing else changes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::Project;

use crate::{assert_refused, binary, empty, keys, names_in, run_with, story, text, texts};

/// A host, its file with the hooks, how many hooks, and one of its command files.
pub(crate) const HOSTS: [(&str, &str, usize, &str); 6] = [
    (
        "claude-code",
        ".claude/settings.json",
        11,
        ".claude/commands/plan-chapter.md",
    ),
    (
        "cursor",
        ".cursor/hooks.json",
        9,
        ".cursor/commands/plan-chapter.md",
    ),
    (
        "opencode",
        ".opencode/plugins/throughline.js",
        1,
        ".opencode/commands/plan-chapter.md",
    ),
    (
        "codex",
        ".codex/hooks.json",
        9,
        ".agents/skills/plan-chapter/SKILL.md",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        7,
        ".gemini/commands/plan-chapter.toml",
    ),
    (
        "copilot",
        ".github/hooks/throughline.json",
        10,
        ".agents/skills/plan-chapter/SKILL.md",
    ),
];

/// Settings as people have them, with what is dear to them.
pub(crate) const FOREIGN: &str = "// ours, says the team\n{\n    \"version\": 1, // of the format\n    \"hooks\": {\n        // told by hand\n        \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"./say-done.sh\" }] }],\n        \"stop\": [{ \"command\": \"./say-done.sh\" }]\n    },\n    \"zebra\": [1,2,   3], \"apple\": \"é\"\n}\n";

/// Returns every file of the project but our own state, with its text.
pub(crate) fn snapshot(project: &Project) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, all: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
        {
            if entry.ends_with(".throughline") {
                continue;
            }
            if entry.is_dir() {
                walk(&entry, all);
            } else {
                all.push((
                    entry.clone(),
                    std::fs::read_to_string(&entry).expect("text"),
                ));
            }
        }
    }
    let mut all = Vec::new();
    walk(&project.root(), &mut all);
    all.sort();
    all
}

/// How a line begins that ends in peace where the program is missing.
const GUARD: &str = "command -v tl >/dev/null 2>&1 || { exit 0; }; ";

fn actions(outcome: &Value, host: usize) -> Vec<(&str, &str)> {
    let files = outcome["hosts"][host]["files"].as_array().expect("files");
    files
        .iter()
        .map(|file| (text(file, "path"), text(file, "action")))
        .collect()
}

fn copies(project: &Project) -> usize {
    names_in(project, ".throughline/host-backups").len()
}

/// Counts the calls of a program in a host's file with hooks.
fn count_calls(entries: &str, host: &str, program: &str) -> usize {
    match host {
        "opencode" => entries
            .matches(&format!("const PROGRAM = \"{program}\""))
            .count(),
        _ if program.contains(' ') => entries.matches(&format!("'{program}' hook {host}")).count(),
        _ => entries.matches(&format!("{program} hook {host}")).count(),
    }
}

#[test]
fn each_host_gets_hooks_and_commands_once() {
    for (host, file, hooks, command) in HOSTS {
        let project = empty();
        let outcome = project.json(&["init", "--host", host]);
        let done = actions(&outcome, 0);
        // Hooks, commands, and the list of MCP servers where it is a file of its own.
        assert_eq!(done.len(), if host == "gemini" { 16 } else { 17 }, "{host}");
        assert!(
            done.iter().all(|(_, action)| *action == "created"),
            "{host}: {done:?}"
        );
        assert_eq!(done.first(), Some(&(file, "created")));
        let program = binary().to_str().expect("Unicode");
        let entries = project.read(file);
        assert_eq!(
            count_calls(&entries, host, program),
            hooks,
            "{host}: {entries}"
        );
        assert!(
            project
                .read(command)
                .contains("Throughline command: /plan-chapter"),
            "{host}"
        );
        assert_eq!(copies(&project), 0, "{host}: nothing was there to be kept");

        let before = snapshot(&project);
        let again = project.json(&["init", "--host", host]);
        assert!(
            actions(&again, 0)
                .iter()
                .all(|(_, action)| *action == "unchanged"),
            "{host}: {again}"
        );
        assert_eq!(snapshot(&project), before, "{host}");
        assert_eq!(copies(&project), 0, "{host}");
    }
}

#[test]
fn what_others_wrote_stays() {
    for (host, file, hooks, _) in HOSTS.into_iter().filter(|(host, ..)| *host != "opencode") {
        let project = story();
        project.write(file, FOREIGN);
        let outcome = project.json(&["init", "--host", host, "--program", "tl"]);
        assert_eq!(
            actions(&outcome, 0).first(),
            Some(&(file, "changed")),
            "{host}"
        );
        let entries = project.read(file);
        assert_eq!(
            entries.matches(&format!("tl hook {host}")).count(),
            hooks,
            "{host}: {entries}"
        );
        // Line by line everything of theirs is there, in its order; at most a comma was added.
        let mut lines = entries.lines();
        for line in FOREIGN.lines().filter(|line| line.contains(['"', '/'])) {
            let beginning: String = line.chars().take_while(|c| *c != ']').collect();
            assert!(
                lines.any(|now| now.starts_with(&beginning)),
                "{host}: no `{line}` in {entries}"
            );
        }
        let copy = text(&outcome["hosts"][0]["files"][0], "backup");
        assert_eq!(project.read(copy), FOREIGN, "{host}");
        project.ok(&["init", "--host", host, "--program", "tl"]);
        assert_eq!(
            project.read(file),
            entries,
            "{host}: the second time changes nothing"
        );
    }
}

#[test]
fn another_program_takes_the_place_of_the_old_one() {
    for (host, file, hooks, _) in HOSTS {
        let project = story();
        project.ok(&["init", "--host", host, "--program", "/opt/some tools/tl"]);
        assert_eq!(
            count_calls(&project.read(file), host, "/opt/some tools/tl"),
            hooks,
            "{host}"
        );
        let outcome = project.json(&["init", "--host", host, "--program", "tl"]);
        assert_eq!(
            actions(&outcome, 0).first(),
            Some(&(file, "changed")),
            "{host}"
        );
        assert!(!project.read(file).contains("/opt"), "{host}");
        let afresh = story();
        afresh.ok(&["init", "--host", host, "--program", "tl"]);
        assert_eq!(project.read(file), afresh.read(file), "{host}");
    }
}

#[test]
fn hosts_fail_closed_where_they_can() {
    let project = story();
    project.ok(&[
        "init",
        "--host",
        "claude-code,cursor,codex,opencode",
        "--program",
        "tl",
    ]);
    let read = |file: &str| -> Value { serde_json::from_str(&project.read(file)).expect("JSON") };
    let hook = &read(".claude/settings.json")["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(
        *hook,
        json!({ "type": "command", "command": format!("{GUARD}tl hook claude-code"), "timeout": 10, "onFailure": "block" })
    );
    assert_eq!(
        read(".cursor/hooks.json")["hooks"]["preToolUse"][0]["failClosed"],
        json!(true)
    );
    assert!(
        read(".cursor/hooks.json")["hooks"]["stop"][0]
            .get("loop_limit")
            .is_some_and(Value::is_null)
    );
    assert_eq!(
        keys(&read(".codex/hooks.json")),
        ["hooks"],
        "Codex refuses other fields"
    );
    assert!(
        project
            .read(".opencode/plugins/throughline.js")
            .contains("const STRICT = false\n")
    );

    project.ok(&[
        "init",
        "--host",
        "codex,opencode",
        "--program",
        "tl",
        "--strict",
    ]);
    let line = read(".codex/hooks.json")["hooks"]["PreToolUse"][0]["hooks"][0]["command"].clone();
    assert!(
        line.as_str()
            .is_some_and(|line| line.starts_with("tl hook codex || {")),
        "{line}"
    );
    assert!(
        project
            .read(".opencode/plugins/throughline.js")
            .contains("const STRICT = true\n")
    );
}

/// Returns event and command line of every hook in a settings file.
fn command_lines(settings: &str) -> Vec<(String, String)> {
    let settings: Value = serde_json::from_str(settings).expect("JSON");
    let mut lines = Vec::new();
    for (event, list) in settings["hooks"].as_object().expect("hooks") {
        let entry = match &list[0]["hooks"][0] {
            Value::Null => &list[0],
            grouped => grouped,
        };
        let line = entry["command"].as_str().or(entry["bash"].as_str());
        lines.push((event.clone(), line.expect("a command line").to_owned()));
    }
    lines
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the line is run as the host runs it: by a shell"
)]
fn a_missing_program_is_reported_once_and_blocks_nothing() {
    let run_line = |line: &str, directory: &Path| {
        let output = std::process::Command::new("sh")
            .args(["-c", line])
            .current_dir(directory)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("a shell");
        let read = |bytes: Vec<u8>| String::from_utf8(bytes).expect("Unicode");
        (
            output.status.code(),
            read(output.stdout),
            read(output.stderr),
        )
    };
    for (host, file, hooks, _) in HOSTS.into_iter().filter(|(host, ..)| *host != "opencode") {
        let project = story();
        for program in ["/nowhere/o'brien/tl", "/nowhere/tl"] {
            project.ok(&["init", "--host", host, "--program", program]);
            let lines = command_lines(&project.read(file));
            assert_eq!(lines.len(), hooks, "{host}");
            for (event, line) in lines {
                let (code, stdout, stderr) = run_line(&line, &project.root());
                assert_eq!((code, stderr.as_str()), (Some(0), ""), "{host}: {line}");
                if event.eq_ignore_ascii_case("SessionStart") {
                    let answer: Value = serde_json::from_str(&stdout).expect("an answer in JSON");
                    assert!(
                        answer
                            .to_string()
                            .contains(&format!("`{program}` was not found on this machine")),
                        "{host}: {answer}"
                    );
                } else {
                    assert_eq!(stdout, "", "{host}: {event}");
                }
                let elsewhere = tempfile::tempdir().expect("a folder");
                assert_eq!(
                    run_line(&line, elsewhere.path()),
                    (Some(0), String::new(), String::new()),
                    "{host}: a project without Throughline"
                );
            }
        }
        project.ok(&[
            "init",
            "--host",
            host,
            "--program",
            "/nowhere/tl",
            "--strict",
        ]);
        let failing: Vec<String> = command_lines(&project.read(file))
            .into_iter()
            .filter(|(_, line)| run_line(line, &project.root()).0 != Some(0))
            .map(|(event, _)| event)
            .collect();
        assert_eq!(failing.len(), 1, "{host}: only the gate fails: {failing:?}");
        assert!(
            failing[0].contains("Tool"),
            "{host}: the event before a tool: {failing:?}"
        );
    }
}

/// The plugin is run as OpenCode runs it, where there is a Node to run it.
#[test]
fn opencode_tells_the_agent_of_a_missing_program() {
    let project = story();
    project.ok(&["init", "--host", "opencode", "--program", "/nowhere/tl"]);
    let script = r#"
        import { Throughline } from "./.opencode/plugins/throughline.js"
        const hooks = await Throughline({ directory: ".", worktree: ".", client: {} })
        await hooks["tool.execute.before"]({ tool: "write", sessionID: "s", callID: "c" }, { args: {} })
        const output = { system: ["You are an agent"] }
        await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, output)
        console.log(JSON.stringify(output.system))
    "#;
    let Some(printed) = run_module(&project, script) else {
        return;
    };
    assert!(
        printed.contains("`/nowhere/tl` was not found on this machine"),
        "{printed}"
    );
}

#[test]
fn units_and_names_are_those_of_the_host() {
    let project = story();
    project.ok(&["init", "--host", "gemini,copilot", "--program", "tl"]);
    let gemini: Value = serde_json::from_str(&project.read(".gemini/settings.json")).expect("JSON");
    assert_eq!(
        gemini["hooks"]["BeforeTool"][0]["hooks"][0],
        json!({ "name": "throughline", "type": "command", "command": format!("{GUARD}tl hook gemini"), "timeout": 10_000 })
    );
    let copilot: Value =
        serde_json::from_str(&project.read(".github/hooks/throughline.json")).expect("JSON");
    assert_eq!(copilot["version"], json!(1));
    assert_eq!(
        copilot["hooks"]["preToolUse"][0],
        json!({ "type": "command", "bash": format!("{GUARD}tl hook copilot preToolUse"), "timeoutSec": 10 })
    );
}

#[test]
fn copilot_is_not_given_the_same_hooks_twice() {
    let both = story();
    let outcome = both.json(&["init", "--host", "copilot,claude-code"]);
    assert_eq!(
        outcome["hosts"][1]["covered_by"],
        json!(".claude/settings.json")
    );
    assert!(!both.root().join(".github").exists());
    assert!(
        both.root()
            .join(".agents/skills/plan-act/SKILL.md")
            .is_file(),
        "it still has its commands"
    );

    let later = story();
    later.ok(&["init", "--host", "copilot"]);
    let outcome = later.json(&["init", "--host", "claude-code"]);
    assert_eq!(text(&outcome["hosts"][1], "host"), "copilot");
    assert!(
        !later.root().join(".github").exists(),
        "Claude Code's file covers it now"
    );
}

#[test]
fn broken_settings_stop_everything_before_it_begins() {
    for (host, file, ..) in HOSTS.into_iter().filter(|(host, ..)| *host != "opencode") {
        let project = empty();
        let broken = "{\n  \"hooks\": {\n    \"x\": [1,, 2]\n  }\n}\n";
        project.write(file, broken);
        let before = snapshot(&project);
        let all = format!("opencode,{host}");
        assert_refused(
            &project,
            &["init", "--host", &all],
            "invalid",
            &[file, "line 3", "nothing was changed"],
        );
        assert_eq!(snapshot(&project), before, "{host}");
        assert!(
            !project.root().join(".throughline").exists(),
            "{host}: no half-made project"
        );
        project.write(file, "[]");
        assert_refused(
            &project,
            &["init", "--host", host],
            "invalid",
            &[file, "expected an object at the top"],
        );
    }
}

#[test]
fn a_command_of_somebody_else_is_not_overwritten() {
    let project = story();
    project.write(
        ".claude/commands/plan-act.md",
        "My own way to plan an act.\n",
    );
    project.write(
        ".opencode/plugins/throughline.js",
        "export const Mine = async () => ({})\n",
    );
    let outcome = project.json(&["init", "--host", "claude-code,opencode"]);
    assert!(actions(&outcome, 0).contains(&(".claude/commands/plan-act.md", "not-ours")));
    assert!(actions(&outcome, 1).contains(&(".opencode/plugins/throughline.js", "not-ours")));
    assert_eq!(
        project.read(".claude/commands/plan-act.md"),
        "My own way to plan an act.\n"
    );
    let said = project.ok(&["init", "--host", "claude-code"]);
    assert!(
        said.stdout
            .contains("not ours, left as it is: .claude/commands/plan-act.md"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let project = story();
    let outside = project.user_directory().join("outside");
    std::fs::create_dir_all(&outside).expect("a folder");
    std::os::unix::fs::symlink(&outside, project.root().join(".claude")).expect("a link");
    assert_refused(
        &project,
        &["init", "--host", "claude-code"],
        "unavailable",
        &[".claude/settings.json", "link"],
    );
    assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 0);
}

#[test]
fn names_are_checked() {
    let project = empty();
    for (word, near) in [
        ("claude", "claude-code"),
        ("codx", "codex"),
        ("Gemini", "gemini"),
        ("github-copilot", "copilot"),
    ] {
        let parts = [
            format!("no host `{word}`"),
            format!("did you mean `{near}`?"),
            format!("tl init --host {near}"),
        ];
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_refused(&project, &["init", "--host", word], "invalid", &parts);
    }
    assert_refused(
        &project,
        &["init", "--host", "auto,codex"],
        "invalid",
        &["no host `auto`"],
    );
    let other = [
        "init",
        "--host",
        "codex",
        "--program",
        "/usr/bin/throughline",
    ];
    assert_refused(&project, &other, "invalid", &["is not named `tl`"]);
    assert_refused(
        &project,
        &["init", "--host", "codex", "--program", "bin/tl"],
        "invalid",
        &["is a relative path"],
    );
    assert_eq!(
        project.run(&["init", "--strict"]).code,
        2,
        "--strict is about hosts"
    );
    assert_eq!(
        names_in(&project, "."),
        Vec::<String>::new(),
        "nothing was made"
    );
}

#[test]
fn auto_takes_what_it_finds_and_says_why() {
    let project = empty();
    for folder in [".claude", ".gemini", ".github/hooks"] {
        std::fs::create_dir_all(project.root().join(folder)).expect("a folder");
    }
    let tools = project.user_directory().join("tools");
    std::fs::create_dir_all(&tools).expect("a folder");
    std::os::unix::fs::symlink("/bin/true", tools.join("codex")).expect("a link");
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let output = run_with(
        &project,
        &[("PATH", &path)],
        &["--json", "init", "--host", "auto"],
    );
    let outcome: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let found: Vec<(&str, Vec<&str>)> = outcome["found"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|found| (text(found, "host"), texts(&found["because"])))
        .collect();
    assert_eq!(
        found,
        [
            ("claude-code", vec![".claude"]),
            ("codex", vec!["codex on PATH"]),
            ("gemini", vec![".gemini"]),
            ("copilot", vec![".github/hooks"]),
        ]
    );
    let done: Vec<&str> = outcome["hosts"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| text(one, "host"))
        .collect();
    assert_eq!(done, ["claude-code", "codex", "gemini", "copilot"]);

    let bare = empty();
    let output = bare.ok(&["init", "--host", "auto"]);
    assert!(
        output.stderr.contains("no agent host was found"),
        "{}",
        output.stderr
    );
    assert!(
        bare.root().join(".throughline/config.toml").is_file(),
        "it is a project all the same"
    );
}

#[test]
fn hosts_are_connected_to_the_project_one_is_in() {
    let project = story();
    std::fs::create_dir_all(project.root().join("acts/act-1")).expect("a folder");
    let mut command = project.command(&["init", "--host", "cursor"]);
    let output = crate::finished(command.current_dir(project.root().join("acts/act-1")));
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(project.root().join(".cursor/hooks.json").is_file());
    assert!(!project.root().join("acts/act-1/.throughline").exists());
}

#[test]
fn a_person_sees_what_was_done() {
    let project = story();
    project.write(".gemini/settings.json", "{\n  \"theme\": \"Dracula\"\n}\n");
    let preview = project.ok(&[
        "init",
        "--host",
        "gemini,codex",
        "--program",
        "tl",
        "--dry-run",
    ]);
    for part in [
        "  Gemini CLI: would make 15 commands; would change .gemini/settings.json\n",
        "    -  \"theme\": \"Dracula\"\n    +  \"theme\": \"Dracula\",\n",
        "more lines",
    ] {
        assert!(preview.stdout.contains(part), "{}", preview.stdout);
    }
    let output = project.ok(&["init", "--host", "gemini,codex", "--program", "tl"]);
    assert!(!output.stdout.contains("Dracula"), "{}", output.stdout);
    for part in [
        "  Gemini CLI: made 15 commands; changed .gemini/settings.json\n",
        "  to check the hooks: tl host doctor; the former files are in .throughline/host-backups/",
        "  Codex CLI: made .codex/hooks.json, .codex/config.toml, 15 commands",
        "tl host doctor",
    ] {
        assert!(
            output.stdout.contains(part),
            "no `{part}` in:\n{}",
            output.stdout
        );
    }
    assert!(
        output.stderr.contains("tl host doctor --trust codex"),
        "{}",
        output.stderr
    );
}

#[test]
fn permissions_of_settings_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let project = story();
    project.write(".gemini/settings.json", "{}\n");
    let file = project.root().join(".gemini/settings.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("permissions");
    project.ok(&["init", "--host", "gemini"]);
    assert_eq!(
        std::fs::metadata(&file)
            .expect("a file")
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the person who changes the sources, and the files they then commit"
)]
fn the_plugin_is_what_the_sources_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let wanted = hosts::install::plugin_files();
    if std::env::var("UPDATE_PLUGIN").is_ok() {
        let _ = std::fs::remove_dir_all(folder.join("integrations/claude-code"));
        for (path, text) in &wanted {
            let file = folder.join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(&file, text).expect("the file can be written");
        }
    }
    for (path, text) in &wanted {
        let there = std::fs::read_to_string(folder.join(path)).unwrap_or_default();
        assert!(
            there == *text,
            "{path} is stale: UPDATE_PLUGIN=1 cargo test -p throughline plugin"
        );
    }
}

/// The plugin is run as OpenCode runs it, where there is a Node to run it.
#[test]
fn commands_of_opencode_know_their_session() {
    let project = story();
    project.ok(&["init", "--host", "opencode"]);
    let script = r#"
        import { Throughline } from "./.opencode/plugins/throughline.js"
        const hooks = await Throughline({ directory: ".", worktree: ".", client: {} })
        await hooks.event({ event: { type: "session.created", properties: { info: { id: "sub", parentID: "ses" } } } })
        for (const sessionID of ["ses", "sub", undefined]) {
          const output = { env: { A: "b" } }
          await hooks["shell.env"]({ cwd: ".", sessionID }, output)
          console.log(JSON.stringify(output.env))
        }
    "#;
    let Some(printed) = run_module(&project, script) else {
        return;
    };
    let named = r#"{"A":"b","THROUGHLINE_SESSION":"ses"}"#;
    assert_eq!(printed, format!("{named}\n{named}\n{{\"A\":\"b\"}}\n"));
}

/// Runs a JavaScript module in the project; `None` without a Node to run it.
fn run_module(project: &Project, script: &str) -> Option<String> {
    project.write("drive.mjs", script);
    if !project.shell("command -v node > /dev/null") {
        return None;
    }
    assert!(project.shell("node drive.mjs > printed.txt"));
    Some(project.read("printed.txt"))
}
