//! `tl host uninstall`: what `tl init --host` did is undone, to the byte.

use serde_json::json;

use crate::hosts_install::{FOREIGN, HOSTS, snapshot};
use crate::{assert_refused, empty, story, text};

#[test]
fn every_host_is_as_it_was() {
    let originals = [
        None,
        Some(FOREIGN),
        Some("{}"),
        Some("{\"a\":1,\"hooks\":{\"Stop\":[]}}"),
        Some("{\n\t\"version\": 1\n}"),
    ];
    for (host, file, ..) in HOSTS {
        for original in originals
            .into_iter()
            .filter(|original| host != "opencode" || original.is_none())
        {
            let project = story();
            if let Some(original) = original {
                project.write(file, original);
            }
            let before = snapshot(&project);
            project.ok(&["init", "--host", host]);
            assert_ne!(snapshot(&project), before, "{host}");
            project.ok(&["init", "--host", host, "--program", "/opt/other place/tl"]);
            let outcome = project.json(&["host", "uninstall", "--host", host]);
            assert_eq!(outcome["success"], json!(true));
            assert_eq!(snapshot(&project), before, "{host} with {original:?}");
            let top = file.split('/').next().expect("a folder");
            assert_eq!(
                project.root().join(top).exists(),
                original.is_some(),
                "{host}: no empty folders"
            );
            let again = project.json(&["host", "uninstall", "--host", host]);
            assert_eq!(again["hosts"][0]["files"], json!([]), "{host}");
        }
    }
}

#[test]
fn what_came_later_stays() {
    let project = story();
    project.ok(&["init", "--host", "gemini"]);
    let with_ours = project.read(".gemini/settings.json");
    project.write(
        ".gemini/settings.json",
        with_ours.replacen("{\n", "{\n  // mine\n  \"theme\": \"Dracula\",\n", 1),
    );
    project.write(".gemini/commands/own.toml", "prompt = \"mine\"\n");
    project.ok(&["host", "uninstall", "--host", "gemini"]);
    assert_eq!(
        project.read(".gemini/settings.json"),
        "{\n  // mine\n  \"theme\": \"Dracula\"\n}\n"
    );
    assert_eq!(
        project.read(".gemini/commands/own.toml"),
        "prompt = \"mine\"\n"
    );
    assert!(
        !project
            .root()
            .join(".gemini/commands/plan-act.toml")
            .exists()
    );
}

#[test]
fn a_command_somebody_made_their_own_is_kept_as_a_copy() {
    let project = story();
    project.ok(&["init", "--host", "claude-code"]);
    let file = ".claude/commands/plan-act.md";
    project.write(
        file,
        format!("{}\nAnd ask me about the weather.\n", project.read(file)),
    );
    let outcome = project.json(&["host", "uninstall", "--host", "claude-code"]);
    let files = outcome["hosts"][0]["files"].as_array().expect("files");
    let changed = files
        .iter()
        .find(|one| text(one, "path") == file)
        .expect("the command");
    assert_eq!(text(changed, "action"), "removed");
    assert!(project.read(text(changed, "backup")).contains("weather"));
    assert_eq!(
        files
            .iter()
            .filter(|one| one.get("backup").is_some())
            .count(),
        1,
        "what is ours alone needs no copy"
    );
}

#[test]
fn skills_stay_while_another_host_uses_them() {
    let skill = ".agents/skills/plan-act/SKILL.md";
    for (first, second) in [("codex", "copilot"), ("copilot", "codex")] {
        let project = story();
        project.ok(&["init", "--host", "codex,copilot"]);
        let outcome = project.json(&["host", "uninstall", "--host", first]);
        let kept = outcome["hosts"][0]["files"]
            .as_array()
            .expect("files")
            .iter()
            .filter(|one| text(one, "action") == "still-used");
        assert_eq!(kept.count(), 15);
        assert!(project.root().join(skill).is_file());
        project.ok(&["host", "uninstall", "--host", second]);
        assert!(
            !project.root().join(".agents").exists(),
            "{first}, then {second}"
        );
    }
}

#[test]
fn all_at_once() {
    let project = story();
    let before = snapshot(&project);
    project.ok(&["init", "--host", "all"]);
    let output = project.ok(&["host", "uninstall", "--host", "all"]);
    assert!(output.stdout.contains(
        "Claude Code\n  removed .claude/settings.json\n  removed .mcp.json\n  removed 15 commands in .claude/commands"
    ));
    assert_eq!(snapshot(&project), before);
    project.ok(&["status"]);
}

#[test]
fn mistakes_are_explained() {
    let project = story();
    assert_refused(
        &project,
        &["host", "uninstall", "--host", "cursr"],
        "invalid",
        &["no host `cursr`", "did you mean `cursor`?"],
    );
    assert_refused(
        &project,
        &["host", "uninstall", "--host", "auto"],
        "invalid",
        &["no host `auto`"],
    );
    assert_eq!(project.run(&["host", "uninstall"]).code, 2);
    assert_refused(
        &empty(),
        &["host", "uninstall", "--host", "all"],
        "not-found",
        &["there is no Throughline project"],
    );
    project.write(".codex/hooks.json", "{ tl hook codex");
    assert_refused(
        &project,
        &["host", "uninstall", "--host", "codex"],
        "invalid",
        &[".codex/hooks.json", "line 1"],
    );
}
