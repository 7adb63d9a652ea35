//! `tl brief`: exactly what an agent is told.

use crate::{keys, planned, text, trail};

#[test]
fn it_is_what_a_session_is_told_when_it_starts() {
    let project = planned();
    let told = project.session("x").start("startup").context().unwrap();
    assert_eq!(project.ok(&["brief"]).stdout.trim_end(), told);
}

#[test]
fn a_budget_cuts_and_explains() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth"]);
    for number in 0..8 {
        project.ok(&[
            "note",
            "add",
            "--pin",
            &format!("anchor number {number} holds whatever happens to this conversation"),
        ]);
    }
    let small = project.json(&["brief", "--budget", "400"]);
    assert_eq!(
        keys(&small),
        ["characters", "cut", "kept", "text", "tokens"]
    );
    assert!(small["characters"].as_u64().unwrap() <= 400);
    let brief = text(&small, "text");
    assert!(
        brief.contains("Build auth") && brief.contains("more: tl brief --budget 0"),
        "{brief}"
    );
    let explained = project
        .ok(&["brief", "--budget", "400", "--explain"])
        .stdout;
    assert!(
        explained.contains("cut to fit the budget")
            && explained.contains("trail, high: an anchor holds"),
        "{explained}"
    );
    assert!(
        project.json(&["brief", "--budget", "0"])["cut"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_host_that_counts_bytes_gets_no_more_than_it_passes_on() {
    let project = trail();
    project.configure("policy.briefing.characters", "60000");
    project.configure("policy.briefing.tokens", "60000");
    project.ok(&["trail", "intent", "Построить вход"]);
    for number in 0..12 {
        project.ok(&[
            "note",
            "add",
            "--pin",
            &format!("{number} {}", "якорь держит всегда ".repeat(24)),
        ]);
    }
    let fields = serde_json::json!({ "source": "startup" });
    let told = project
        .session_of("codex", "s1")
        .event("SessionStart", fields)
        .context()
        .unwrap();
    assert!(
        told.len() <= 8_000 && told.contains("Построить вход"),
        "{}",
        told.len()
    );
    assert!(
        told.contains("more: tl brief --budget 0") && !told.contains("cut here"),
        "{told}"
    );
}

#[test]
fn a_session_may_go_on_with_the_ticket_a_person_entered_at_a_terminal() {
    let project = crate::tickets();
    let entered = project.run_as_person("ann", "", &["focus", "enter", "017b"]);
    assert_eq!(entered.code, 0, "{entered:?}");
    let told = project.session("s").start("startup").context();
    let told = told.unwrap_or_default();
    assert!(
        told.contains("you are at 017") && !told.contains("Do not continue its work"),
        "{told}"
    );
}
