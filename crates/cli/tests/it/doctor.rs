//! `tl host doctor`

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Project;

use crate::hosts_install::HOSTS;
use crate::{binary, keys, run_with, story, text};

fn examine(project: &Project, environment: &[(&str, &str)]) -> (i32, Value) {
    let output = run_with(project, environment, &["--json", "host", "doctor"]);
    let value = serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", output.stdout));
    (output.code, value)
}

/// Returns the findings about a host: `problem: message`.
fn findings(outcome: &Value, host: &str) -> Vec<String> {
    let hosts = outcome["hosts"].as_array().expect("hosts");
    let health = hosts
        .iter()
        .find(|health| text(health, "host") == host)
        .unwrap_or_else(|| panic!("no {host}: {outcome}"));
    let list = health["findings"].as_array().expect("findings");
    list.iter()
        .map(|finding| {
            format!(
                "{}: {}",
                text(finding, "severity"),
                text(finding, "message")
            )
        })
        .collect()
}

#[track_caller]
fn assert_problem(project: &Project, environment: &[(&str, &str)], host: &str, part: &str) {
    let (code, outcome) = examine(project, environment);
    assert_eq!(code, 3, "{outcome}");
    assert_eq!(outcome["ok"], json!(false));
    let found = findings(&outcome, host);
    assert!(
        found
            .iter()
            .any(|one| one.starts_with("problem: ") && one.contains(part)),
        "no `{part}`: {found:?}"
    );
}

/// A program that can be started and does nothing.
fn silent_program(project: &Project, name: &str) -> String {
    let file = project.user_directory().join(name);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::copy("/bin/true", &file).expect("a copy");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    file.to_str().expect("Unicode").to_owned()
}

#[test]
fn without_hosts_there_is_nothing_to_examine() {
    let project = story();
    let output = project.ok(&["host", "doctor"]);
    assert!(
        output
            .stdout
            .contains("No agent host is installed in this project."),
        "{}",
        output.stdout
    );
    assert!(output.stdout.contains("tl init --host auto"));
    let (_, outcome) = examine(&project, &[]);
    assert_eq!(keys(&outcome), ["hosts", "latency", "ok", "project"]);
}

#[test]
fn every_host_answers_through_its_own_command_line() {
    for (host, file, hooks, _) in HOSTS {
        let project = story();
        project.ok(&["init", "--host", host]);
        let (code, outcome) = examine(&project, &[]);
        assert_eq!(code, 0, "{host}: {outcome}");
        let health = &outcome["hosts"][0];
        assert_eq!(text(health, "file"), file);
        assert_eq!(health["hooks"], json!(hooks), "{host}");
        assert_eq!(text(health, "program"), binary().to_str().expect("Unicode"));
        let node = Path::new("/usr/bin/node").exists() || Path::new("/bin/node").exists();
        // The gate, the plugin where there is one, and the MCP server.
        let expected = if host == "opencode" && node { 3 } else { 2 };
        assert_eq!(
            health["probes"].as_array().expect("probes").len(),
            expected,
            "{host}: {health}"
        );
        assert!(
            health["probes"][0]["micros"]
                .as_u64()
                .is_some_and(|micros| micros > 0),
            "{host}"
        );
        assert_eq!(
            outcome["latency"],
            json!([]),
            "a probe is no work of an agent"
        );
    }
}

#[test]
fn a_bare_name_that_is_not_on_path_is_repaired_by_the_path_of_this_program() {
    let project = story();
    project.ok(&["init", "--host", "claude-code", "--program", "tl"]);
    let path = [("PATH", "/usr/bin:/bin")];
    assert_problem(&project, &path, "claude-code", "`tl` is not on PATH");
    let output = run_with(&project, &path, &["host", "doctor", "--fix"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(
        output.stdout.contains("✓ Claude Code: installed again"),
        "{output:?}"
    );
}

#[test]
fn a_clone_that_is_not_adopted_is_a_problem() {
    let (folder, ann) = crate::git_decisions::shared_story();
    let waits = "this clone is not adopted yet";
    assert!(!ann.project.run(&["host", "doctor"]).stdout.contains(waits));
    let clone = crate::git_decisions::unadopted_clone(folder.path());
    let output = clone.project.run(&["host", "doctor"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(
        output.stdout.contains(waits) && output.stdout.contains("tl state adopt"),
        "{output:?}"
    );
}

#[test]
fn an_entry_of_the_mcp_server_that_is_not_ours_is_not_called_healthy() {
    let project = story();
    project.ok(&["init", "--host", "claude-code"]);
    let servers = project.read(".mcp.json");
    let own = binary().to_str().expect("Unicode").to_owned();
    project.write(".mcp.json", servers.replace(&own, "/nowhere/bin/tl"));
    let output = project.ok(&["host", "doctor"]);
    assert!(
        !output.stdout.contains("the MCP server offers"),
        "{output:?}"
    );
    assert!(
        output.stdout.contains("the MCP server is missing, changed"),
        "{output:?}"
    );
}

#[test]
fn broken_settings_are_one_finding() {
    let project = story();
    project.ok(&["init", "--host", "claude-code"]);
    let settings = project.read(".throughline/config.toml");
    project.write(
        ".throughline/config.toml",
        format!("{settings}profiles = 7\n"),
    );
    let output = project.run(&["host", "doctor"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(
        !output.stdout.contains("missing, changed or out of date"),
        "{output:?}"
    );
    assert!(!output.stdout.contains("the hook ended"), "{output:?}");
    // Hooks and server keep the last good settings.
    assert!(
        output.stdout.contains("✓ the MCP server offers"),
        "{output:?}"
    );
}

#[test]
fn a_program_that_moved_is_found_and_its_entries_repaired() {
    for (host, file, ..) in HOSTS {
        let project = story();
        project.ok(&[
            "init",
            "--host",
            host,
            "--strict",
            "--program",
            "/nowhere/bin/tl",
        ]);
        let before = project.read(file);
        assert_eq!(examine(&project, &[]).0, 3, "{host}");
        let output = project.ok(&["doctor", "--fix"]);
        assert!(
            output.stdout.contains("installed again"),
            "{host}: {}",
            output.stdout
        );
        let repaired = project.read(file);
        let program = binary().to_str().expect("Unicode").to_owned();
        assert_eq!(
            repaired,
            before.replace("/nowhere/bin/tl", &program),
            "{host}: nothing but the program changed"
        );
        let (code, outcome) = examine(&project, &[]);
        assert_eq!(code, 0, "{host}: {outcome}");
        let again = project.ok(&["host", "doctor", "--fix"]);
        assert!(!again.stdout.contains("installed again"), "{host}");
    }
}

#[test]
fn a_program_that_is_gone_is_a_problem() {
    for (host, ..) in HOSTS {
        let project = story();
        project.ok(&["init", "--host", host, "--program", "/nowhere/bin/tl"]);
        assert_problem(
            &project,
            &[],
            host,
            "the program `/nowhere/bin/tl` does not exist or is not executable",
        );
        project.ok(&["init", "--host", host, "--program", "tl"]);
        assert_problem(&project, &[], host, "the program `tl` is not on PATH");
    }
    let project = story();
    project.ok(&["init", "--host", "codex", "--program", "/nowhere/bin/tl"]);
    let output = project.run(&["host", "doctor"]);
    assert_eq!(output.code, 3);
    assert!(
        output.stdout.contains("✗ the program `/nowhere/bin/tl`"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("tl init --host codex"),
        "{}",
        output.stdout
    );
}

/// `/proc/self/exe` is this program while we look at it, and the shell once a shell runs it.
#[test]
fn a_program_of_the_repository_is_not_run_whatever_its_link_leads_to() {
    let project = story();
    project.ok(&["init", "--host", "claude-code", "--program", "tl"]);
    let settings = project.read(".claude/settings.json");
    let planted = settings
        .replace("command -v tl ", "command -v bin/tl ")
        .replace("}; tl hook", "}; bin/tl hook")
        .replace("`tl` was not found", "`bin/tl` was not found");
    project.write(".claude/settings.json", planted);
    std::fs::create_dir(project.root().join("bin")).expect("a folder");
    std::os::unix::fs::symlink("/proc/self/exe", project.root().join("bin/tl")).expect("a link");
    let ran = project.user_directory().join("ran");
    project.write("hook", format!("touch '{}'\n", ran.display()));
    let (_, outcome) = examine(&project, &[]);
    assert!(!ran.exists(), "{outcome}");
    let found = findings(&outcome, "claude-code");
    assert!(
        found.iter().any(|one| one.contains("not tested")),
        "{found:?}"
    );
}

#[test]
fn programs_on_a_path_inside_the_project_are_not_run() {
    let project = story();
    project.ok(&[
        "init",
        "--host",
        "claude-code,codex,opencode",
        "--program",
        "tl",
    ]);
    let bin = project.root().join("node_modules/.bin");
    let ran = project.user_directory().join("ran");
    for name in ["tl", "sh", "node", "codex"] {
        let path = format!("node_modules/.bin/{name}");
        project.write(
            &path,
            format!("#!/bin/sh\necho {name} >> '{}'\n", ran.display()),
        );
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755))
            .expect("permissions");
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let (_, outcome) = examine(&project, &[("PATH", &path)]);
    assert!(!ran.exists(), "{outcome}");
}

#[test]
fn another_program_than_this_one_is_told_and_not_run() {
    let project = story();
    let other = silent_program(&project, "old/tl");
    project.ok(&["init", "--host", "claude-code", "--program", &other]);
    let (code, outcome) = examine(&project, &[]);
    assert_eq!(code, 0, "{outcome}");
    let found = findings(&outcome, "claude-code");
    assert!(
        found
            .iter()
            .any(|one| one.contains(&format!("warning: the hooks run {other}, but this is"))),
        "{found:?}"
    );
    assert!(
        found.iter().any(|one| one.contains("warning: not tested")),
        "{found:?}"
    );
    assert_eq!(outcome["hosts"][0]["probes"], json!([]));
    // On the user's own PATH it is theirs to run.
    let path = format!(
        "{}:/usr/bin:/bin",
        Path::new(&other).parent().expect("a folder").display()
    );
    let (_, outcome) = examine(&project, &[("PATH", &path)]);
    assert_eq!(
        outcome["hosts"][0]["probes"]
            .as_array()
            .expect("probes")
            .len(),
        1,
        "{outcome}"
    );
}

#[test]
fn a_command_line_that_a_repository_brought_is_not_run() {
    let project = story();
    project.ok(&["init", "--host", "claude-code"]);
    let program = binary().to_str().expect("Unicode");
    let ours = format!("{program} hook claude-code");
    let text = project
        .read(".claude/settings.json")
        .replace(&ours, &format!("{ours}; touch bitten"));
    project.write(".claude/settings.json", text);
    project.write(".opencode/plugins/throughline.js", "// Throughline in OpenCode.\nconst PROGRAM = \"tl\"\nconst STRICT = false\nimport(\"node:fs\").then((fs) => fs.writeFileSync(\"bitten\", \"\"))\n");
    assert_problem(&project, &[], "claude-code", "missing or out of date");
    assert_problem(&project, &[], "opencode", "missing or out of date");
    assert!(!project.root().join("bitten").exists());
}

#[test]
fn double_installation_is_a_problem() {
    let project = story();
    project.ok(&["init", "--host", "claude-code"]);
    let settings = project.read(".claude/settings.json");
    let home = project.user_directory().join("another-user");
    let home_text = home.to_str().expect("Unicode").to_owned();

    project.write(".claude/settings.local.json", &settings);
    assert_problem(
        &project,
        &[],
        "claude-code",
        "installed twice: the hooks are in .claude/settings.local.json",
    );
    std::fs::remove_file(project.root().join(".claude/settings.local.json")).expect("gone");

    for (variable, folder) in [("HOME", ".claude"), ("CLAUDE_CONFIG_DIR", "")] {
        let folder = home.join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::copy(
            project.root().join(".claude/settings.json"),
            folder.join("settings.json"),
        )
        .expect("a copy");
        assert_problem(
            &project,
            &[(variable, &home_text)],
            "claude-code",
            "installed twice: the hooks are in ",
        );
        std::fs::remove_file(folder.join("settings.json")).expect("gone");
    }

    let plugin = "{ \"enabledPlugins\": { \"throughline@throughline\": true, \"other@x\": true } }";
    project.write(".claude/settings.local.json", plugin);
    assert_problem(&project, &[], "claude-code", "installed twice: the plugin");
    std::fs::remove_file(project.root().join(".claude/settings.local.json")).expect("gone");
    assert_eq!(examine(&project, &[("HOME", &home_text)]).0, 0);

    let copilot = story();
    copilot.ok(&["init", "--host", "copilot"]);
    copilot.write(".claude/settings.json", &settings);
    assert_problem(
        &copilot,
        &[],
        "copilot",
        "installed twice: Copilot runs the hooks in .claude/settings.json",
    );
}

#[test]
fn a_plugin_is_an_installation() {
    let project = story();
    let plugin = "{ \"enabledPlugins\": { \"throughline@throughline\": true } }";
    project.write(".claude/settings.json", plugin);
    assert_problem(
        &project,
        &[],
        "claude-code",
        "the program `tl` is not on PATH",
    );
    let folder = binary().parent().expect("a folder");
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let (code, outcome) = examine(&project, &[("PATH", &path)]);
    assert_eq!(code, 0, "{outcome}");
    let health = &outcome["hosts"][0];
    assert_eq!(
        (text(health, "host"), &health["hooks"]),
        ("claude-code", &json!(11)),
        "{health}"
    );
    assert!(text(health, "file").contains("plugin"), "{health}");
    assert_eq!(
        health["probes"].as_array().map(Vec::len),
        Some(2),
        "{health}"
    );
    project.write(".claude/settings.json", plugin.replace("true", "false"));
    assert_eq!(examine(&project, &[]).1["hosts"], json!([]));
}

#[test]
fn missing_and_old_entries_are_found() {
    for (host, file, ..) in HOSTS {
        let project = story();
        project.ok(&["init", "--host", host]);
        let old = project
            .read(file)
            .replacen("10", "7", 1)
            .replacen("5000", "7000", 1);
        project.write(file, old);
        assert_problem(&project, &[], host, "missing or out of date");
        project.ok(&["init", "--host", host]);
        assert_eq!(
            examine(&project, &[]).0,
            0,
            "{host}: installing again repairs it"
        );
    }
    let project = story();
    project.ok(&["init", "--host", "gemini"]);
    std::fs::remove_file(project.root().join(".gemini/commands/plan-act.toml")).expect("gone");
    let (code, outcome) = examine(&project, &[]);
    assert_eq!(code, 0);
    assert_eq!(
        findings(&outcome, "gemini"),
        ["warning: 1 command is missing, changed or out of date"]
    );
    let broken = project.read(".gemini/settings.json").replacen('{', "{,", 1);
    project.write(".gemini/settings.json", broken);
    assert_problem(
        &project,
        &[],
        "gemini",
        "`.gemini/settings.json`, line 1 cannot be read",
    );
}

#[test]
fn the_ledger_tells_how_long_hooks_took() {
    let project = story();
    let line = |micros: u64, outcome: &str, more: &str| {
        format!(
            "{{\"at\":1770000000000,\"host\":\"codex\",\"event\":\"tool-about-to-run\",\"session\":\"s\",\"micros\":{micros},\"outcome\":\"{outcome}\"{more}}}\n"
        )
    };
    let mut old = String::new();
    for micros in 1..=50 {
        old.push_str(&line(micros * 100, "pass", ""));
    }
    project.write(".throughline/hooks.1.jsonl", old);
    let mut new = String::from("half a line {\n");
    for micros in 51..=98 {
        new.push_str(&line(micros * 100, "context", ",\"unheard\":[1]"));
    }
    new.push_str(&line(9_900, "block", ",\"gate\":\"hierarchy\""));
    new.push_str(&line(10_000, "fault", ",\"fault\":\"the state is locked\""));
    new.push_str(&line(1, "off", ""));
    project.write(".throughline/hooks.jsonl", new);
    let (code, outcome) = examine(&project, &[]);
    assert_eq!(
        code, 0,
        "a fault of the past is told, it is no problem of now"
    );
    assert_eq!(
        outcome["latency"],
        json!([{
            "host": "codex", "events": 100, "p50_micros": 5_000, "p99_micros": 9_900, "blocks": 1, "faults": 1,
            "last_fault": { "at": "2026-02-02T02:40:00.000Z", "message": "the state is locked" },
        }])
    );
    let output = project.ok(&["host", "doctor"]);
    assert!(
        output.stdout.contains(
            "Codex CLI: 100 events, p50 5.0 ms, p99 9.9 ms, 1 block, 1 fault, last 2026-02-02 02:40: the state is locked"
        ),
        "{}",
        output.stdout
    );
}

/// A codex that knows `app-server`: lists the hooks of the project and remembers what it is told to trust.
const CODEX: &str = r#"#!/bin/sh
[ "$1" = app-server ] || exit 9
here=$(dirname "$0")
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *hooks/list*)
      status=untrusted; [ -e "$here/trusted" ] && status=trusted
      hooks=""; [ -e "$here/folder" ] && hooks=$(printf '{"key":"k:pre_tool_use:0:0","command":"command -v %s >/dev/null 2>&1 || { exit 0; }; %s hook codex","sourcePath":"%s/.codex/hooks.json","currentHash":"sha256:1","trustStatus":"%s"}' "$TL" "$TL" "$PWD" "$status")
      printf '{"method":"noise"}\n{"id":%s,"result":{"data":[{"hooks":[%s]}]}}\n' "$id" "$hooks" ;;
    *config/batchWrite*) printf '%s\n' "$line" > "$here/trusted"; printf '{"id":%s,"result":{"status":"ok"}}\n' "$id" ;;
    *initialized*) ;;
    *) printf '{"id":%s,"result":{}}\n' "$id" ;;
  esac
done
"#;

#[test]
fn codex_is_asked_whether_it_trusts_the_hooks() {
    let project = story();
    project.ok(&["init", "--host", "codex"]);
    let tools = project.user_directory().join("tools");
    std::fs::create_dir_all(&tools).expect("a folder");
    let codex = tools.join("codex");
    std::io::Write::write_all(
        &mut std::fs::File::create(&codex).expect("a file"),
        CODEX.as_bytes(),
    )
    .expect("written");
    std::fs::set_permissions(&codex, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let program = binary().to_str().expect("Unicode");
    let environment = [("PATH", path.as_str()), ("TL", program)];

    assert_problem(
        &project,
        &environment,
        "codex",
        "it does not trust this folder yet",
    );
    let output = run_with(
        &project,
        &environment,
        &["host", "doctor", "--trust", "codex"],
    );
    assert_eq!(output.code, 1, "{}", output.stderr);
    std::fs::File::create(tools.join("folder")).expect("a file");
    assert_problem(
        &project,
        &environment,
        "codex",
        "Codex does not trust 1 hook and skips what it does not trust",
    );

    let output = run_with(
        &project,
        &environment,
        &["host", "doctor", "--trust", "codex"],
    );
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    assert!(
        output
            .stderr
            .contains("telling Codex to run 1 hook of this project"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains(&format!("; {program} hook codex")),
        "{}",
        output.stderr
    );
    let told = std::fs::read_to_string(tools.join("trusted")).expect("what codex was told");
    assert!(
        told.contains(r#""k:pre_tool_use:0:0":{"enabled":true,"trusted_hash":"sha256:1"}"#),
        "{told}"
    );
    assert_eq!(examine(&project, &environment).0, 0);
}

#[test]
fn hooks_of_another_program_are_not_trusted_for_anyone() {
    let project = story();
    let output = project.refused(&["host", "doctor", "--trust", "codex"]);
    assert!(
        output
            .stderr
            .contains("there are no Throughline hooks in .codex/hooks.json"),
        "{}",
        output.stderr
    );
    let other = silent_program(&project, "elsewhere/tl");
    project.ok(&["init", "--host", "codex", "--program", &other]);
    let output = project.refused(&["host", "doctor", "--trust", "codex"]);
    assert!(
        output
            .stderr
            .contains("differ from what this program would write"),
        "{}",
        output.stderr
    );
    assert_eq!(
        project.run(&["host", "doctor", "--trust", "gemini"]).code,
        2
    );
}

#[test]
fn a_state_that_hooks_cannot_open_is_a_problem() {
    let project = story();
    project.ok(&["init", "--host", "cursor"]);
    let stranger = project.user_directory().join("stranger");
    let environment = [("THROUGHLINE_HOME", stranger.to_str().expect("Unicode"))];
    let (code, outcome) = examine(&project, &environment);
    assert_eq!(code, 3, "{outcome}");
    assert!(
        text(&outcome["state"], "message").contains("was not adopted by this user"),
        "{outcome}"
    );
    let output = run_with(&project, &environment, &["host", "doctor"]);
    assert!(
        output.stdout.starts_with("✗ the state came from elsewhere"),
        "{}",
        output.stdout
    );
}
