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

/// Every settings file we edit, with the kind of text in it.
const SETTINGS_FILES: [&str; 9] = [
    ".claude/settings.json",
    ".cursor/hooks.json",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".github/hooks/throughline.json",
    ".mcp.json",
    ".cursor/mcp.json",
    "opencode.json",
    ".codex/config.toml",
];

/// A linear congruential generator: the same files in every run.
struct RandomChoice(u64);

impl RandomChoice {
    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let index = usize::try_from(self.0 >> 33).expect("31 bits") % choices.len();
        choices[index]
    }

    /// Returns a file as people have them: one line or many, any line end, comments, no last newline.
    fn settings_text(&mut self, is_toml: bool) -> String {
        let lines: Vec<&str> =
            if is_toml {
                let blocks = [
                    self.pick(&["", "# mine", "model = \"o\" # why", "a.b = 1"]),
                    self.pick(&[
                        "",
                        "[mcp_servers]",
                        "[mcp_servers.other]\ncommand = \"x\" # theirs",
                        "mcp_servers = { other = { command = \"x\" } }",
                        "mcp_servers.other.command = \"x\"",
                    ]),
                    self.pick(&["", "\n[tui]\ntheme = \"dark\"", "# last"]),
                ];
                blocks.into_iter().flat_map(str::lines).collect()
            } else {
                let members = [
                self.pick(&["\"model\": \"opus\"", "// mine\n\"a\": [1,2,   3]", "\"é\": null"]),
                self.pick(&[
                    "\"mcpServers\": {}",
                    "\"mcpServers\": { \"other\": { \"command\": \"x\" } }",
                    "\"mcp\": {}",
                    "\"z\": {}",
                ]),
                self.pick(&[
                    "\"hooks\": {}",
                    "\"hooks\": { \"Stop\": [] }",
                    "\"hooks\": { \"Notification\": [{ \"hooks\": [{ \"command\": \"./x\" }] }] }",
                    "\"list\": [\n1,\n2 // two\n]",
                ]),
            ];
                let comma = self.pick(&[",\n", ",\n\n"]);
                let whole = format!("{{\n{}\n}}", members.join(comma));
                let whole = match self.pick(&["lines", "line", "empty", "indented"]) {
                    "line" if !whole.contains("//") => whole.replace('\n', " "),
                    "empty" => self
                        .pick(&["{}", "{ }", "{\n}", "{ \"mcpServers\": {} }"])
                        .to_owned(),
                    "indented" => whole.replace('\n', "\n\t"),
                    _ => whole,
                };
                return self.with_line_ends(&whole.lines().collect::<Vec<_>>());
            };
        self.with_line_ends(&lines)
    }

    fn with_line_ends(&mut self, lines: &[&str]) -> String {
        let line_end = self.pick(&["\n", "\r\n"]);
        let last = self.pick(&["", line_end]);
        format!("{}{last}", lines.join(line_end))
    }
}

#[test]
fn install_and_uninstall_leave_every_file_byte_for_byte() {
    let mut random = RandomChoice(7);
    for round in 0..16 {
        let project = story();
        for file in SETTINGS_FILES {
            if random.pick(&["user", "user", "none"]) == "user" {
                project.write(file, random.settings_text(file.ends_with(".toml")));
            }
        }
        let before = snapshot(&project);
        project.ok(&["init", "--host", "all"]);
        project.ok(&["init", "--host", "all", "--program", "tl"]);
        project.ok(&["host", "uninstall", "all"]);
        let after = snapshot(&project);
        assert_eq!(after, before, "round {round}");
    }
}
