//! What belongs to Throughline is for its owner alone, whatever the umask; what belongs to the user is as their umask says.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use testkit::Project;

use crate::{ACT_TEXT, empty};

/// Runs the program under a umask, with this on its standard input.
#[expect(
    clippy::disallowed_methods,
    reason = "only a shell sets the umask of another process"
)]
fn run_under(umask: &str, project: &Project, arguments: &[&str], input: &str) {
    let plain = project.command(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("umask {umask} && exec \"$@\""), "sh"]);
    shell
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear();
    shell.envs(
        plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let mut child = shell
        .current_dir(project.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let _ = child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path)
        .expect("an entry")
        .permissions()
        .mode()
        & 0o777
}

/// Returns a directory and everything below it.
fn all_below(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a directory");
        found.extend(entries.flat_map(|entry| all_below(&entry.expect("an entry").path())));
    }
    found
}

/// Returns our entries that others may do anything with.
fn open_to_others(project: &Project) -> Vec<String> {
    let ours = all_below(&project.root().join(".throughline"))
        .into_iter()
        .chain(all_below(&project.user_directory()));
    let is_open = |path: &PathBuf| mode(path) & 0o077 != 0;
    ours.filter(is_open)
        .map(|path| format!("{:o} {}", mode(&path), path.display()))
        .collect()
}

#[test]
fn nothing_of_ours_is_open_to_others_after_a_life_under_any_umask() {
    for (umask, of_the_user) in [("000", 0o666), ("022", 0o644)] {
        let project = empty();
        let tl = |arguments: &[&str]| run_under(umask, &project, arguments, "");
        tl(&["init", "--profile", "story", "--profile", "trail"]);
        tl(&["init", "--host", "claude-code", "--program", "tl"]);
        project.write(Project::ACT, ACT_TEXT);
        tl(&["approve", "act-1"]);
        project.write(Project::ACT, format!("{ACT_TEXT}\nMore.\n"));
        tl(&["status"]);
        tl(&["restore", "act-1", "-1"]);
        tl(&["comment", "act-1", "-m", "Who is Mara?"]);
        tl(&["trail", "intent", "see who may read what"]);
        tl(&["note", "add", "the lamp is green"]);
        tl(&[
            "review",
            "add",
            "--of",
            "act-1",
            "--check",
            "it ends",
            "--severity",
            "MUST",
        ]);
        tl(&["doc", "new", "Plan of the plan"]);
        for (event, fields) in [
            ("SessionStart", json!({ "source": "startup" })),
            ("UserPromptSubmit", json!({ "prompt": "go on" })),
            (
                "PostToolUse",
                json!({ "tool_name": "Bash", "tool_input": { "command": "make" } }),
            ),
        ] {
            let payload = project.session("s").payload(event, fields).to_string();
            run_under(umask, &project, &["hook", "claude-code"], &payload);
        }
        run_under(umask, &project, &["hook", "claude-code"], "nonsense");
        // Damaged, rebuilt, and quarantined.
        project.write(
            ".throughline/state.db",
            "this is not a database".repeat(500),
        );
        fs::set_permissions(
            project.root().join(".throughline/state.db"),
            fs::Permissions::from_mode(0o600),
        )
        .expect("a mode");
        tl(&["status"]);
        tl(&["state", "backup", "all.tlbackup"]);
        // Before `tl state repair`, which would tighten what was made too open.
        assert_eq!(
            open_to_others(&project),
            Vec::<String>::new(),
            "umask {umask}"
        );
        tl(&["state", "repair"]);
        assert_eq!(
            open_to_others(&project),
            Vec::<String>::new(),
            "repaired under umask {umask}"
        );
        assert_eq!(
            mode(&project.root().join(Project::ACT)),
            of_the_user,
            "the user's plan, restored"
        );
        assert_eq!(
            mode(&project.root().join(".claude/settings.json")),
            of_the_user,
            "the user's settings"
        );
    }
}

#[test]
fn a_directory_that_others_may_enter_is_closed_when_the_state_is_opened_and_the_rest_by_repair() {
    let project = crate::planned();
    let home = project.root().join(".throughline");
    let log = home.join("logs");
    fs::create_dir_all(&log).expect("a directory");
    for path in [&home, &log] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    project.ok(&["status"]);
    assert_eq!([mode(&home), mode(&log)], [0o700, 0o755]);
    assert!(
        project
            .ok(&["state", "repair"])
            .stdout
            .contains("other users' permissions")
    );
    assert_eq!(mode(&log), 0o700);
    project.ok(&["check"]);
}
