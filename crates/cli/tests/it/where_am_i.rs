//! `tl where`

use serde_json::json;

use crate::{as_session, json_as, keys, tickets};

#[test]
fn one_line_says_it_all() {
    let project = tickets();
    assert_eq!(project.ok(&["where"]).stdout, "no focus · 0/400 loc\n");
    as_session(&project, "s", &["focus", "enter", "017a"]);
    project.write("src/new.rs", "a\nb\nc\n");
    assert_eq!(
        as_session(&project, "s", &["where", "--flat"]).stdout,
        "017 › 017a › loc-tracking [red] 0/3 · 3/400 loc\n"
    );
    as_session(&project, "s", &["focus", "enter", "045"]);
    assert_eq!(
        as_session(&project, "s", &["where", "--flat"]).stdout,
        "045 [intake] · 3/400 loc\n"
    );
}

#[test]
fn json_has_the_fields_scripts_know() {
    let project = tickets();
    as_session(&project, "s", &["focus", "enter", "017a/threshold-gate"]);
    let view = json_as(&project, "s", &["where"]);
    for key in [
        "activeRoot",
        "stack",
        "roots",
        "locSinceCommit",
        "lastCommitHash",
        "gate",
    ] {
        assert!(view.get(key).is_some(), "{key} is not in {view}");
    }
    let parent = &view["stack"][0];
    assert_eq!(
        (&parent["type"], &parent["id"], &parent["phase"]),
        (&json!("ticket"), &json!("017"), &json!("implement"))
    );
    assert_eq!(
        (&parent["children"], &parent["currentChild"]),
        (&json!(["017a", "017b"]), &json!("017a"))
    );
    assert_eq!(parent["ticketDir"], json!("tickets/017-quality"));
    let child = &view["stack"][1];
    assert_eq!(
        child["scenarios"],
        json!(["loc-tracking", "threshold-gate", "commit-clears"])
    );
    assert_eq!(
        (&child["currentScenario"], &child["scenariosCompleted"]),
        (&json!("threshold-gate"), &json!(0))
    );
    assert!(child["workLevel"].is_string(), "{child}");
    let tdd = &view["stack"][2];
    assert_eq!(
        (&tdd["type"], &tdd["scenario"], &tdd["cycle"]),
        (&json!("tdd"), &json!("threshold-gate"), &json!("red"))
    );

    let flat = json_as(&project, "s", &["where", "--flat"]);
    assert_eq!(
        keys(&flat),
        [
            "lastCommitHash",
            "lastKnownPhase",
            "locSinceCommit",
            "phaseGate",
            "tdd"
        ]
    );
    assert_eq!(
        keys(&flat["tdd"]),
        ["lastCommitType", "scenariosCompleted", "scenariosTotal"]
    );
    assert_eq!(
        (&flat["lastKnownPhase"], &flat["tdd"]["scenariosTotal"]),
        (&json!("implement"), &json!(3))
    );
}

#[test]
fn without_git_it_says_so() {
    let project = crate::empty();
    project.ok(&["init", "--profile", "tickets"]);
    project.write(
        "tickets/001-a/ticket.md",
        "---\nid: '001'\nphase: intake\n---\n\n# A\n",
    );
    project.ok(&["focus", "enter", "001"]);
    let shown = project.ok(&["where"]).stdout;
    assert!(
        shown.contains("there is no git repository") && !shown.contains("loc\n"),
        "{shown}"
    );
    let view = project.json(&["where"]);
    assert_eq!(
        (&view["locSinceCommit"], &view["lastCommitHash"]),
        (&json!(null), &json!(null))
    );
}
