//! What others did, told at the next call of a running session, also one that only reads.

use serde_json::json;
use testkit::{Answer, Project, Session};

use crate::planned;

const ACT: &str = "acts/act-1/strategic-plan.md";

/// A story in which a session has read the act and begun its turn.
fn session_of(project: &Project) -> Session<'_> {
    let session = project.session("s");
    let _ = session.start("startup");
    let _ = session.prompt("go on");
    let _ = session.read(ACT);
    session
}

fn run(session: &Session<'_>, command: &str) -> String {
    let input = json!({ "command": command });
    let before = session.before("Bash", &input);
    let after = session.after("Bash", &input);
    let told = |answer: &Answer| answer.context().unwrap_or_default();
    format!("{}{}", told(&before), told(&after))
}

fn change_act(project: &Project, text: &str) {
    project.write(ACT, format!("# Act 1\n\n{text}\n"));
    project.ok(&["status"]);
}

#[test]
fn a_decision_is_told_at_the_next_call_that_only_reads_once() {
    let project = planned();
    let session = session_of(&project);
    for (number, command) in ["ls", "cat notes.txt", "git status"]
        .into_iter()
        .enumerate()
    {
        change_act(&project, &format!("Text {number}."));
        run(&session, "true");
        let approved = project.run_as_person("ann", "y\n", &["approve", "act-1"]);
        assert_eq!(approved.code, 0, "{approved:?}");
        let told = run(&session, command);
        assert!(
            told.contains("act-1") && told.contains("ann"),
            "{command}: {told}"
        );
        assert_eq!(run(&session, command), "", "{command}: once");
    }
}

#[test]
fn a_decision_is_told_after_a_file_that_is_no_plan_is_read() {
    let project = planned();
    project.write("notes.txt", "A note.\n");
    let session = session_of(&project);
    change_act(&project, "Another text.");
    run(&session, "true");
    let approved = project.run_as_person("ann", "y\n", &["approve", "act-1"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let told = session.read("notes.txt").context().unwrap_or_default();
    assert!(told.contains("act-1") && told.contains("ann"), "{told}");
    assert_eq!(session.read("notes.txt").context(), None, "once");
}
