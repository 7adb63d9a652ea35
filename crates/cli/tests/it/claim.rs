//! `tl claim`

use serde_json::json;

use crate::{as_session, json_as, run_with, tickets};

fn ready(project: &testkit::Project, session: &str) -> Vec<String> {
    let view = json_as(project, session, &["next"]);
    let list = view["ready"].as_array().expect("a list");
    list.iter()
        .map(|one| one["path"].as_str().expect("a path").to_owned())
        .collect()
}

#[test]
fn what_others_hold_is_not_offered() {
    let project = tickets();
    assert_eq!(ready(&project, "a"), ready(&project, "b"));
    let claim = json_as(&project, "a", &["claim", "017a"]);
    assert_eq!(
        (&claim["node"], &claim["session"]),
        (&json!("017/017a"), &json!("a"))
    );
    assert!(ready(&project, "a").contains(&"017/017a/loc-tracking".to_owned()));
    assert!(
        !ready(&project, "b")
            .iter()
            .any(|path| path.starts_with("017/017a")),
        "{:?}",
        ready(&project, "b")
    );
    assert!(ready(&project, "b").contains(&"017/017b".to_owned()));

    // Not the node, not what is below it, not what is above it.
    for node in ["017a", "017a/threshold-gate", "017"] {
        let output = run_with(
            &project,
            &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "b")],
            &["claim", node],
        );
        assert_eq!(output.code, 1, "{node}");
        assert!(
            output.stderr.contains("`017/017a` is claimed by a")
                || output.stderr.contains("is claimed by a"),
            "{output:?}"
        );
    }
    as_session(&project, "b", &["claim", "017b"]);
    let list = project.json(&["claim", "--list"]);
    assert_eq!(list.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_claim_ends_by_itself() {
    let project = tickets();
    as_session(&project, "a", &["claim", "017a"]);
    // No lease at all: the next moment it is over.
    let now = [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_SESSION_ID", "b"),
        ("THROUGHLINE_CLAIM_LEASE_MINUTES", "0"),
    ];
    let first = run_with(
        &project,
        &[now[0], ("CLAUDE_CODE_SESSION_ID", "a"), now[2]],
        &["claim", "045"],
    );
    assert_eq!(first.code, 0);
    assert_eq!(
        run_with(&project, &now, &["claim", "045"]).code,
        0,
        "it was over at once"
    );
    // Who was away holds nothing any more.
    let output = run_with(
        &project,
        &[now[0], ("CLAUDE_CODE_SESSION_ID", "a")],
        &["release", "045"],
    );
    assert!(
        output.code == 1 && output.stderr.contains("not by this session"),
        "{output:?}"
    );
}
