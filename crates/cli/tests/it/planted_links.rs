//! Links that a repository puts in place of Throughline's own files: nothing is written or read through one.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]
#![expect(
    clippy::disallowed_methods,
    reason = "the files of the user are written as a user writes them"
)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use testkit::Project;

use crate::{empty, tickets};

/// Entries of the state folder that commands or hooks write, or read and show.
const OWN_FILES: &[&str] = &[
    "acknowledged",
    "allowed_signers",
    "config.toml",
    "hook-faults",
    "hooks.jsonl",
    "last-good-config.toml",
    "looks.bin",
    "rebuild.lock",
    "write-queue",
];
const OWN_FOLDERS: &[&str] = &[
    "cache",
    "damaged",
    "last-good-profiles",
    "logs",
    "missed-calls",
    ".tl-news-marks",
    "profiles",
];

/// A place outside of the project, with a file of the user.
fn outside(project: &Project) -> PathBuf {
    let place = project.user_directory().join("outside");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("file"), "PRECIOUS: their own words\n").unwrap();
    place
}

fn replace_by_link(path: &Path, target: &Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(path);
    symlink(target, path).unwrap();
}

/// Runs what writes most of our files; returns everything that was said.
fn live(project: &Project) -> String {
    let mut said = String::new();
    let commands: [&[&str]; 5] = [
        &["status"],
        &["ticket", "new", "A new one"],
        &["config", "set", "policy.gates.loc", "warn"],
        &["check"],
        &["init", "--host", "claude-code"],
    ];
    for arguments in commands {
        let output = project.run(arguments);
        said.push_str(&output.stdout);
        said.push_str(&output.stderr);
    }
    let session = project.session("s1");
    for (name, fields) in [
        ("SessionStart", serde_json::json!({ "source": "startup" })),
        ("UserPromptSubmit", serde_json::json!({ "prompt": "go on" })),
        ("Stop", serde_json::json!({ "stop_hook_active": false })),
    ] {
        let payload = session.payload(name, fields).to_string();
        let answer = project.hook_bytes(&["claude-code"], payload.as_bytes(), &[]);
        said.push_str(&answer.stdout);
        said.push_str(&answer.stderr);
    }
    said
}

#[track_caller]
fn assert_untouched(place: &Path, said: &str, link: &str) {
    let entries: Vec<_> = std::fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(entries, ["file"], "{link}");
    let text = std::fs::read_to_string(place.join("file")).unwrap();
    assert_eq!(text, "PRECIOUS: their own words\n", "{link}");
    assert!(!said.contains("PRECIOUS"), "{link}: {said}");
    assert!(said.contains("link"), "{link} is not reported: {said}");
}

#[test]
fn no_file_of_ours_is_written_or_read_through_a_link() {
    for name in OWN_FILES {
        let project = tickets();
        let place = outside(&project);
        let link = project.root().join(".throughline").join(name);
        replace_by_link(&link, &place.join("file"));
        let said = live(&project);
        assert_untouched(&place, &said, name);
    }
}

#[test]
fn no_folder_of_ours_is_written_through_a_link() {
    for name in OWN_FOLDERS {
        let project = tickets();
        let place = outside(&project);
        // What would be copied: a profile under the name of another program's settings.
        project.write(
            ".throughline/profiles/config.toml",
            "[build]\nrustc-wrapper = 'x'\n",
        );
        let link = project.root().join(".throughline").join(name);
        replace_by_link(&link, &place);
        let said = live(&project);
        assert_untouched(&place, &said, name);
    }
}

#[test]
fn a_state_folder_that_is_a_link_is_refused_by_commands_and_hooks() {
    let project = empty();
    let place = outside(&project);
    symlink(&place, project.root().join(".throughline")).unwrap();
    let said = live(&project);
    assert_untouched(&place, &said, ".throughline");
}

#[test]
fn what_worktrees_share_is_not_written_through_a_link() {
    for name in ["", "/decisions-made", "/sessions", "/coordination.lock"] {
        let project = tickets();
        let place = outside(&project);
        let shared = project.root().join(".git/throughline");
        std::fs::create_dir_all(&shared).unwrap();
        let target = match name {
            "" | "/sessions" => place.clone(),
            _ => place.join("file"),
        };
        replace_by_link(
            &project.root().join(format!(".git/throughline{name}")),
            &target,
        );
        let _ = project.run(&["claim", "017a"]);
        let _ = project.run(&["focus", "enter", "017a"]);
        let _ = project.run_as_person("mara", "y\n", &["approve", "017a"]);
        let text = std::fs::read_to_string(place.join("file")).unwrap();
        assert_eq!(text, "PRECIOUS: their own words\n", "{name}");
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1, "{name}");
    }
}
