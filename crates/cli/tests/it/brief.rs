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
    project.ok(&["intent", "Build auth"]);
    for number in 0..8 {
        project.ok(&["anchor", "add", &format!("anchor number {number} holds whatever happens to this conversation")]);
    }
    let small = project.json(&["brief", "--budget", "400"]);
    assert_eq!(keys(&small), ["characters", "cut", "kept", "text", "tokens"]);
    assert!(small["characters"].as_u64().unwrap() <= 400);
    let brief = text(&small, "text");
    assert!(brief.contains("Build auth") && brief.contains("more: tl brief --budget 0"), "{brief}");
    let explained = project.ok(&["brief", "--budget", "400", "--explain"]).stdout;
    assert!(explained.contains("no room for") && explained.contains("trail, high: an anchor holds"), "{explained}");
    assert!(project.json(&["brief", "--budget", "0"])["cut"].as_array().unwrap().is_empty());
}
