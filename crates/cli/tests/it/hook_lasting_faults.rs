//! Faults that last: every start and prompt tells of them, in every host, and fail-closed gates stay closed.

use std::fs;

use serde_json::json;
use testkit::Project;

use crate::hook_faults::{
    ended_well, is_fault_notice, may_write, require_later_version, scribble, state,
};
use crate::planned;

/// Takes everything away that a damaged state could be rebuilt from.
fn damage_for_good(project: &Project) -> Option<()> {
    fs::remove_file(state(project, "journal.jsonl")).expect("removed");
    fs::remove_dir_all(state(project, "mirror")).expect("removed");
    scribble(project, "state.db");
    scribble(project, "state.db-wal");
    Some(())
}

/// Moves the state, as to a shared database, and leaves the settings as they were.
fn move_with_old_settings(project: &Project) -> Option<()> {
    let before = project.read(".throughline/config.toml");
    project.ok(&["state", "move", "--to", "json"]);
    project.write(".throughline/config.toml", before);
    fs::remove_file(state(project, "journal.jsonl")).expect("removed");
    let manifest = ".throughline/damaged/1/manifest.json";
    let text = project.read(manifest);
    let moved = text.replace(
        r#""reason": "moved","#,
        r#""reason": "moved", "moved_to": "postgres","#,
    );
    assert_ne!(moved, text);
    project.write(manifest, moved);
    Some(())
}

struct LastingFault {
    message: &'static str,
    next: &'static str,
    break_it: fn(&Project) -> Option<()>,
    /// Whether the gates read the state all the same.
    is_readable: bool,
}

const LASTING: [LastingFault; 4] = [
    LastingFault {
        message: "written by a newer version (format 99",
        next: "install a newer version of tl",
        break_it: |project| require_later_version(project, 99, 99),
        is_readable: false,
    },
    LastingFault {
        message: "written by a newer version (format 99",
        next: "install a newer version of tl",
        break_it: |project| require_later_version(project, 1, 99),
        is_readable: true,
    },
    LastingFault {
        message: "its state is missing",
        next: "tl state rebuild",
        break_it: damage_for_good,
        is_readable: false,
    },
    LastingFault {
        message: "the state was moved elsewhere",
        next: "tl state quarantine",
        break_it: move_with_old_settings,
        is_readable: false,
    },
];

/// A host, its start of a session and its prompt; without those whose answer its model does not read.
const CONTACTS: [(&str, Option<&str>, Option<&str>); 6] = [
    (
        "claude-code",
        Some("SessionStart"),
        Some("UserPromptSubmit"),
    ),
    ("codex", Some("SessionStart"), Some("UserPromptSubmit")),
    ("copilot", Some("sessionStart"), Some("userPromptSubmitted")),
    ("cursor", Some("sessionStart"), None),
    ("gemini", None, Some("BeforeAgent")),
    (
        "opencode",
        Some("experimental.chat.system.transform"),
        Some("chat.message"),
    ),
];

/// While a fault lasts no later hook can report it, so the one that failed does, in every host.
#[test]
fn a_fault_that_lasts_is_told_at_every_start_and_prompt() {
    let mut failed = Vec::new();
    for fault in LASTING {
        let project = planned();
        project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
        project.ok(&["status"]);
        if (fault.break_it)(&project).is_none() {
            continue;
        }
        for (host, start, prompt) in CONTACTS {
            let session = project.session_of(host, "s");
            let said = json!({
                "source": "startup", "prompt": "go on",
                "input": { "sessionID": "s", "model": {} },
                "output": { "system": ["You help."], "message": {}, "parts": [{ "type": "text", "text": "go on" }] },
            });
            // Again and again: it may be another person, or the agent forgot it.
            for event in [start, prompt, prompt].into_iter().flatten() {
                let answer = session.event(event, said.clone());
                ended_well(event, &answer);
                let told = answer.context().unwrap_or_default();
                for part in [fault.message, fault.next] {
                    if !is_fault_notice(&told) || !told.contains(part) {
                        failed.push(format!("{host}, {event}: no `{part}` in {answer:?}"));
                    }
                }
            }
        }
        let session = project.session("s");
        let below_a_draft = may_write(&project, &session, "acts/act-2/chapters/chapter-01/plan.md");
        assert_eq!(
            below_a_draft.block().is_some(),
            fault.is_readable,
            "{}: {below_a_draft:?}",
            fault.message
        );
        let unread = may_write(&project, &session, Project::ACT);
        assert!(unread.block().is_some(), "{}: {unread:?}", fault.message);
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
