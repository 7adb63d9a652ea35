//! The launcher of the Claude Code plugin: it finds or fetches `tl`, and blocks nothing without it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use testkit::{Output, Project};

use crate::{empty, finished};

/// A home with the launcher, a folder of programs, and an `npm` that installs a `tl` which prints its arguments.
struct Machine {
    project: Project,
}

impl Machine {
    fn new(has_npm: bool) -> Self {
        let project = empty();
        let launcher = hosts::install::plugin_files()
            .into_iter()
            .find(|(path, _)| path.ends_with("/launch.sh"))
            .expect("the plugin has a launcher");
        project.write("plugin/launch.sh", launcher.1);
        std::fs::create_dir_all(project.root().join("bin")).expect("a folder");
        if has_npm {
            let npm = "#!/bin/sh\nfolder=$3/node_modules/throughline-linux-x64/bin\nmkdir -p \"$folder\"\n\
                       printf '#!/bin/sh\\necho started \"$@\"\\n' >\"$folder/tl\"\nchmod +x \"$folder/tl\"\n";
            project.write("bin/npm", npm);
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(project.root().join("bin/npm"), mode).expect("a mode");
        }
        Self { project }
    }

    fn store(&self) -> PathBuf {
        self.project.root().join("data")
    }

    fn launch(&self, directory: &str, arguments: &[&str]) -> Output {
        let root = self.project.root();
        std::fs::create_dir_all(root.join(directory)).expect("a folder");
        let mut command = self.project.command_of(Path::new("/bin/sh"));
        command
            .arg(root.join("plugin/launch.sh"))
            .args(arguments)
            .current_dir(root.join(directory))
            .env("CLAUDE_PLUGIN_DATA", self.store())
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", root.join("bin").display()),
            );
        finished(&mut command)
    }
}

#[test]
fn without_a_program_nothing_is_blocked_and_outside_a_project_nothing_is_fetched() {
    let machine = Machine::new(true);
    let start = ["hook", "claude-code", "SessionStart"];
    let outside = machine.launch("elsewhere", &start);
    assert_eq!((outside.code, outside.stdout.as_str()), (0, ""));
    assert!(!machine.store().exists());
    std::fs::create_dir_all(machine.project.root().join("book/.throughline")).expect("a folder");
    let before = machine.launch("book", &["hook", "claude-code", "PreToolUse"]);
    assert_eq!((before.code, before.stdout.as_str()), (0, ""));
    assert!(
        !machine.store().exists(),
        "only the start of a session fetches"
    );
    let told = machine.launch("book", &start);
    assert_eq!(told.code, 0);
    let said: serde_json::Value = serde_json::from_str(&told.stdout).expect("JSON");
    let text = said["hookSpecificOutput"]["additionalContext"].as_str();
    assert!(
        text.is_some_and(|text| text.contains("is being fetched into")),
        "{said}"
    );
}

#[test]
fn the_mcp_server_is_started_with_the_fetched_program_and_so_are_later_hooks() {
    let machine = Machine::new(true);
    std::fs::create_dir_all(machine.project.root().join("book/.throughline/x")).expect("a folder");
    let server = machine.launch("book/chapters", &["mcp"]);
    assert_eq!(server.stdout, "started mcp\n", "{server:?}");
    let hook = machine.launch("book", &["hook", "claude-code", "PreToolUse"]);
    assert_eq!(hook.stdout, "started hook claude-code\n");
    // A program on PATH wins.
    let own = "#!/bin/sh\necho own \"$@\"\n";
    machine.project.write("bin/tl", own);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(machine.project.root().join("bin/tl"), mode).expect("a mode");
    assert_eq!(machine.launch("book", &["mcp"]).stdout, "own mcp\n");
}
