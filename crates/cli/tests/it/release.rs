//! `tl release`

use crate::{as_session, assert_refused, json_as, run_with, tickets};

#[test]
fn only_who_holds_it_gives_it_back_and_only_with_the_right_token() {
    let project = tickets();
    assert_refused(
        &project,
        &["release", "017a"],
        "refused",
        &["`017/017a` is not claimed"],
    );
    let token = json_as(&project, "a", &["claim", "017a"])["token"]
        .as_u64()
        .expect("a token");
    let session = |name| [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", name)];
    let output = run_with(&project, &session("b"), &["release", "017a"]);
    assert!(
        output.code == 1 && output.stderr.contains("claimed by a, not by this session"),
        "{output:?}"
    );
    let wrong = (token - 1).to_string();
    let output = run_with(
        &project,
        &session("a"),
        &["release", "017a", "--token", &wrong],
    );
    assert!(
        output.code == 1 && output.stderr.contains("has expired; the current token is"),
        "{output:?}"
    );
    let right = token.to_string();
    assert_eq!(
        as_session(&project, "a", &["release", "017a", "--token", &right]).stdout,
        "017/017a is released\n"
    );
    as_session(&project, "b", &["claim", "017a"]);
}
