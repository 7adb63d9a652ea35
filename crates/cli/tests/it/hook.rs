//! `tl hook` as a person meets it; what it does is in the modules `hook_…`.

use crate::{empty, story};

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
