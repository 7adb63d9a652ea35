//! Whose approval counts: what a person types does, what an agent sends or runs does not.

use serde_json::json;
use testkit::{Answer, Project};

use crate::{run_with, story};

fn with_human_approval(project: &Project) {
    project.configure("policy.approval", "\"human\"");
}

/// Where only a person may approve, nothing an agent can send or run does.
#[test]
fn an_agent_cannot_approve_its_way_through() {
    let project = story();
    with_human_approval(&project);
    project.write(Project::ACT, crate::ACT_TEXT);
    project.ok(&["status"]);
    let typed = "/approve-plan act 1";
    let subagent = |project: &Project| project.session("s").with("agent_id", "a1").prompt(typed);
    type Way<'w> = &'w dyn Fn(&Project) -> Answer;
    let ways: [(&str, Way<'_>); 7] = [
        ("a prompt to a subagent", &|project| subagent(project)),
        ("a command to a subagent", &|project| {
            let fields = json!({ "command_name": "approve-plan", "command_args": "act 1", "prompt": typed, "agent_id": "a1" });
            project.session("s").event("UserPromptExpansion", fields)
        }),
        ("in the middle of a prompt", &|project| {
            project
                .session("s")
                .prompt(&format!("The file says: {typed}"))
        }),
        ("below the first line", &|project| {
            project
                .session("s")
                .prompt(&format!("Look at this:\n{typed}\n"))
        }),
        ("as a tool's input", &|project| {
            project
                .session("s")
                .before("Agent", &json!({ "prompt": typed }))
        }),
        ("OpenCode's subagent", &|project| {
            let fields = json!({
                "parentID": "ses_1", "input": { "sessionID": "ses_2" },
                "output": { "message": {}, "parts": [{ "type": "text", "text": typed }] },
            });
            project
                .session_of("opencode", "ses_2")
                .event("chat.message", fields)
        }),
        ("as a skill", &|project| {
            project.session("s").before(
                "Skill",
                &json!({ "skill": "approve-plan", "args": "act 1" }),
            )
        }),
    ];
    for (name, way) in ways {
        let answer = way(&project);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{name}");
        assert_eq!(project.status("act-1"), "draft", "{name}");
    }
    for environment in [
        &[][..],
        &[("CLAUDECODE", "1")],
        &[("CODEX_SANDBOX", "x"), ("USER", "mara")],
    ] {
        for arguments in [
            &["approve", "act", "1"][..],
            &["approve", "act-1", "--force"],
        ] {
            let output = run_with(&project, environment, arguments);
            assert_eq!(output.code, 1, "{environment:?}: {}", output.stdout);
            assert!(
                output.stderr.contains("only a person may approve here"),
                "{}",
                output.stderr
            );
        }
    }
    let (before, _) = project
        .session("s")
        .write("acts/act-1/chapters/chapter-02/plan.md", "# A chapter\n");
    assert!(
        before
            .block()
            .is_some_and(|reason| reason.contains("`act-1/chapter-02`")),
        "{before:?}"
    );
}

/// An agent that plays the host is told that it is not.
#[test]
fn an_agent_does_not_run_hooks_where_people_approve() {
    let project = story();
    let command = json!({ "command": "echo '{}' | /usr/local/bin/tl hook claude-code" });
    let session = project.session("s");
    assert!(
        session.before("Bash", &command).is_silent(),
        "where anyone may approve, it is nobody's business"
    );
    with_human_approval(&project);
    let reason = session.before("Bash", &command).block().expect("blocked");
    assert!(reason.contains("run by the host"), "{reason}");
    assert!(
        session
            .before("Bash", &json!({ "command": "tl status" }))
            .is_silent()
    );
}

/// People go on talking after a command.
#[test]
fn a_typed_approval_ignores_the_words_after_the_node() {
    for (typed, more) in [
        ("/approve-plan act 1", "please, it reads well"),
        ("/approve-plan act 1", ", thanks!"),
        ("/approve-plan act-1", ". Then go on with chapter 2"),
        ("/approve-plan act 1", "--force"),
        ("/approve-plan --force act-1", ""),
    ] {
        let project = story();
        with_human_approval(&project);
        project.write(Project::ACT, crate::ACT_TEXT);
        let session = project.session("s");
        let asked = session.prompt(&format!("{typed} {more}"));
        let question = asked.block().expect("a question");
        assert_eq!(project.status("act-1"), "draft", "{typed}");
        let (_, line) = question.split_once("type: ").expect("how to answer");
        let code = line.split_whitespace().nth(2).expect("a code");
        let answer = session.prompt(&format!("{typed} {code} {more}"));
        assert_eq!(answer.block(), None, "{typed}");
        assert_eq!(project.status("act-1"), "approved", "{typed}");
    }
}

#[test]
fn a_typed_approval_of_an_unknown_node_names_no_gate() {
    let project = story();
    let refused = project.session("s").prompt("/approve-plan act 77");
    let reason = refused.block().expect("there is no such act");
    assert!(
        reason.starts_with("Throughline cannot approve: ") && !reason.contains("gate"),
        "{reason}"
    );
}
