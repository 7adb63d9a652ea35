//! `tl hook` as a person meets it; what it does is in the modules `hook_…`.

use serde_json::json;
use testkit::Project;

use crate::{empty, planned, story};

#[test]
fn the_help_says_who_runs_it() {
    let output = empty().ok(&["hook", "--help"]);
    assert!(
        output.stdout.contains("tl hook claude-code < event.json"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("THROUGHLINE_HOOKS=off"),
        "{}",
        output.stdout
    );
}

#[test]
fn an_unknown_host_is_told_which_there_are() {
    for words in [&["hook"][..], &["hook", "emacs"], &["hook", "Claude"]] {
        let output = story().run(words);
        assert_eq!(output.code, 1, "{words:?}");
        assert!(
            output
                .stderr
                .contains("claude-code, cursor, opencode, codex, gemini, copilot"),
            "{}",
            output.stderr
        );
        assert_eq!(output.stdout, "");
    }
}

/// Headless, Gemini puts what hooks say at the start before the prompt, and then expands no slash
/// command.
#[test]
fn gemini_gets_its_briefing_with_the_first_prompt() {
    let project = planned();
    let session = project.session_of("gemini", "g");
    let start = |source: &str| session.event("SessionStart", json!({ "source": source }));
    let prompt = |text: &str| session.event("BeforeAgent", json!({ "prompt": text }));
    for source in ["startup", "resume", "clear"] {
        assert_eq!(start(source).context(), None, "{source}");
        let briefed = prompt("go on").context().unwrap_or_default();
        assert!(briefed.contains("Throughline"), "{source}: {briefed}");
        assert_eq!(prompt("go on").context(), None, "{source}: once");
    }
    project.write(Project::ACT, "# Act 1, changed\n");
    let typed = "<hook_context>said by another hook</hook_context>\n\n/approve-plan act 1";
    assert_eq!(prompt(typed).block(), None);
    assert_eq!(project.status("act-1"), "approved");
}

#[test]
fn a_message_about_another_change_is_shortened_and_not_swallowed() {
    let project = planned();
    let session = project.session("s");
    assert!(session.start("startup").context().is_some());
    let told: Vec<String> = ["one", "two", "three"]
        .iter()
        .map(|word| {
            // The file is not named, so this is a side effect and no write of the session's own.
            let answer = session.shell(&format!("f={}; echo {word} >> $f", Project::CHAPTER));
            answer.context().unwrap_or_default()
        })
        .collect();
    assert!(
        !told[0].is_empty() && told[1..].iter().all(|text| !text.is_empty()),
        "{told:?}"
    );
    assert!(
        told[2].starts_with("Throughline, again: ") && told[2].lines().count() == 1,
        "{told:?}"
    );
    let parallel = project.session("other");
    assert!(
        parallel
            .after("Bash", &json!({ "command": "make" }))
            .is_silent()
    );
}
