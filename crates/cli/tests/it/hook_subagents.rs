//! Planning handed to subagents, skills and slash-command tools: gated like a typed command, with the parent's
//! context at the subagent's start.

use serde_json::{Value, json};
use testkit::{Answer, Project, Session};

use crate::planned;

const CHAPTER_2: &str = "acts/act-1/chapters/chapter-02/plan.md";

/// Tools that hand over `/plan-chapter 2`, in each host's words.
fn handovers() -> Vec<(&'static str, &'static str, Value)> {
    let task = json!({ "description": "plan", "prompt": "/plan-chapter 2", "subagent_type": "general-purpose" });
    vec![
        ("claude-code", "Task", task.clone()),
        ("claude-code", "Agent", task.clone()),
        (
            "claude-code",
            "Skill",
            json!({ "skill": "plan-chapter", "args": "2" }),
        ),
        (
            "claude-code",
            "Skill",
            json!({ "command": "throughline:plan-chapter 2" }),
        ),
        (
            "claude-code",
            "SlashCommand",
            json!({ "command": "/plan-chapter 2" }),
        ),
        (
            "codex",
            "spawn_agent",
            json!({ "message": "$plan-chapter 2" }),
        ),
        (
            "gemini",
            "invoke_agent",
            json!({ "agent_name": "generalist", "prompt": "/plan-chapter 2" }),
        ),
        (
            "copilot",
            "task",
            json!({ "agent_type": "explore", "prompt": "/plan-chapter 2" }),
        ),
        ("opencode", "task", task.clone()),
        ("cursor", "Task", task),
    ]
}

fn draft_act(project: &Project) {
    project.write(Project::ACT, crate::ACT_EDITED);
}

fn task(session: &Session<'_>, prompt: &str) -> Answer {
    session.before(
        "Task",
        &json!({ "description": "a task", "prompt": prompt, "subagent_type": "general-purpose" }),
    )
}

fn start_subagent(session: &Session<'_>, agent: &str) -> Answer {
    session.event(
        "SubagentStart",
        json!({ "agent_id": agent, "agent_type": "general-purpose" }),
    )
}

#[test]
fn planning_below_a_draft_is_refused_whoever_is_to_do_it() {
    let project = planned();
    draft_act(&project);
    let typed = project.session("typed").prompt("/plan-chapter 2").block();
    let typed = typed.expect("the typed command is refused");
    for (host, tool, input) in handovers() {
        let answer = project.session_of(host, "s").before(tool, &input);
        assert_eq!(answer.block().as_ref(), Some(&typed), "{host} {tool}");
    }
    // In the middle of a text, and as the program's own command, too.
    let session = project.session("s");
    for prompt in [
        "You are a planner.\nRun /plan-chapter 2 and report.",
        "Run `tl plan chapter 2`, then write the file.",
        "Write acts/act-1/chapters/chapter-02/plan.md from the act.",
    ] {
        let reason = task(&session, prompt).block().unwrap_or_default();
        assert!(reason.contains("`act-1` is `draft`"), "{prompt}: {reason}");
    }
    let stats = project.json(&["gate", "stats"]);
    let hosts = stats["hosts"].as_array().expect("a list");
    assert_eq!(hosts.len(), 6, "{stats}");
    for host in hosts {
        assert_eq!(host["blocks"], host["events"], "{stats}");
    }
}

#[test]
fn only_planning_is_refused() {
    let project = planned();
    draft_act(&project);
    let session = project.session("s");
    for prompt in [
        "Look around.",
        // The act itself has no parent.
        "/plan-act 1",
        "Explain what /plan-chapter does.",
        "Is there a /plan-epic 2?",
        "Read src/chapters/plan.md.",
    ] {
        let answer = task(&session, prompt);
        assert_eq!(answer.block(), None, "{prompt}");
    }
    // A plan that is there may only be meant to be read: told, not refused.
    let answer = task(
        &session,
        "Summarise acts/act-1/chapters/chapter-01/plan.md.",
    );
    assert_eq!(answer.block(), None);
    let told = answer.context().unwrap_or_default();
    assert!(told.contains("`act-1` is `draft`"), "{told}");

    project.configure("policy.gates.hierarchy", "\"warn\"");
    let answer = task(&session, "/plan-chapter 2");
    assert_eq!(answer.block(), None);
    let told = answer.context().unwrap_or_default();
    assert!(told.contains("its parent `act-1` is a draft"), "{told}");
    project.configure("policy.gates.hierarchy", "\"off\"");
    assert!(task(&project.session("t"), "/plan-chapter 2").is_silent());
}

#[test]
fn a_skill_that_plans_gets_the_planning_prompt() {
    let project = planned();
    for (host, tool, input) in [
        (
            "claude-code",
            "Skill",
            json!({ "skill": "plan-chapter", "args": "2" }),
        ),
        (
            "claude-code",
            "SlashCommand",
            json!({ "command": "/plan-chapter 2" }),
        ),
        (
            "copilot",
            "skill",
            json!({ "skill": "plan-chapter", "args": "2" }),
        ),
    ] {
        let session = project.session_of(host, tool);
        let prompt = session.before(tool, &input).context().unwrap_or_default();
        for part in [CHAPTER_2, "│ - Mara", "Phase 5"] {
            assert!(
                prompt.contains(part),
                "{host} {tool}: no `{part}` in {prompt}"
            );
        }
    }
}

#[test]
fn a_subagent_gets_the_parents_context_at_its_start() {
    let project = planned();
    for host in ["claude-code", "codex"] {
        let session = project.session_of(host, "s");
        let (tool, field) = match host {
            "codex" => ("spawn_agent", "message"),
            _ => ("Task", "prompt"),
        };
        let handed = session.before(tool, &json!({ field: format!("Write {CHAPTER_2}.") }));
        assert!(handed.is_silent(), "{host}: {handed:?}");
        let given = start_subagent(&session, "a-1")
            .context()
            .unwrap_or_default();
        for part in [CHAPTER_2, "│ - Mara", "Phase 5"] {
            assert!(given.contains(part), "{host}: no `{part}` in {given}");
        }
        // Nothing was handed to the next one: it gets the briefing.
        let given = start_subagent(&session, "a-2")
            .context()
            .unwrap_or_default();
        assert!(given.contains("act → chapter → scene"), "{host}: {given}");
        assert!(!given.contains("Phase 5"), "{host}: {given}");
    }
    let session = project.session_of("copilot", "s");
    let _ = session.before(
        "task",
        &json!({ "agent_type": "explore", "prompt": "/plan-chapter 2" }),
    );
    let given = session.event(
        "subagentStart",
        json!({ "agentName": "explore", "agentId": "a-1", "parentAgentId": "s" }),
    );
    assert!(
        given.context().unwrap_or_default().contains("Phase 5"),
        "{given:?}"
    );

    // OpenCode's subagent is a session with a parent; its first request asks for the system prompt.
    let session = project.session_of("opencode", "s");
    let input =
        json!({ "description": "plan", "prompt": "/plan-chapter 2", "subagent_type": "general" });
    assert!(session.before("task", &input).is_silent());
    let given = session.event(
        "experimental.chat.system.transform",
        json!({ "parentID": "s", "input": { "sessionID": "child" }, "output": { "system": ["You are a planner."] } }),
    );
    assert!(
        given.json()["system"]
            .as_str()
            .unwrap_or_default()
            .contains("Phase 5"),
        "{given:?}"
    );

    // Cursor's event takes no context: the call itself carries it.
    let session = project.session_of("cursor", "s");
    let answer = session.before(
        "Task",
        &json!({ "description": "plan", "prompt": "/plan-chapter 2" }),
    );
    assert_eq!(answer.block(), None);
    assert!(
        answer.context().unwrap_or_default().contains("Phase 5"),
        "{answer:?}"
    );
}

#[test]
fn a_new_prompt_forgets_what_was_handed_over_before() {
    let project = planned();
    let session = project.session("s");
    assert!(task(&session, "/plan-chapter 2").is_silent());
    let _ = session.prompt("Never mind. Look around instead.");
    let given = start_subagent(&session, "a-1")
        .context()
        .unwrap_or_default();
    assert!(!given.contains("Phase 5"), "{given}");
}

#[test]
fn a_subagent_is_given_the_parents_plan_although_the_main_agent_knows_it() {
    let project = planned();
    let main = project.session("s");
    let _ = main.read(Project::ACT);
    let write = |session: &Session<'_>| {
        let input =
            json!({ "file_path": project.root().join(CHAPTER_2), "content": "# Chapter 2\n" });
        session.before("Write", &input)
    };
    assert!(write(&main).is_silent(), "the main agent has read it");
    let subagent = project.session("s").with("agent_id", "a-1");
    let given = write(&subagent).context().unwrap_or_default();
    assert!(given.contains("## Parent context: act `act-1`"), "{given}");
    assert!(write(&subagent).is_silent(), "once");
    let _ = task(&main, "/plan-chapter 2");
    let _ = start_subagent(&main, "a-2");
    let other = project.session("s").with("agent_id", "a-2");
    assert!(write(&other).is_silent(), "it got it at its start");
}

#[test]
fn what_a_subagent_reads_and_writes_counts_for_the_session() {
    let project = planned();
    for (host, subagent) in [
        ("claude-code", project.session("s").with("agent_id", "a-1")),
        (
            "cursor",
            project
                .session_of("cursor", "child")
                .with("parent_conversation_id", "s"),
        ),
        (
            "copilot",
            project
                .session_of("copilot", "child")
                .with("agentId", "child")
                .with("parentAgentId", "s"),
        ),
    ] {
        let (read, write, field, text) = match host {
            "copilot" => ("view", "create", "path", "file_text"),
            "cursor" => ("Read", "Write", "file_path", "contents"),
            _ => ("Read", "Write", "file_path", "content"),
        };
        let act = project.root().join(Project::ACT);
        let overwrite = |session: &Session<'_>| {
            session.before(write, &json!({ field: act, text: crate::ACT_EDITED }))
        };
        let main = project.session_of(host, "s");
        assert!(overwrite(&main).block().is_some(), "{host}: not read yet");
        let _ = subagent.before(read, &json!({ field: act }));
        let _ = subagent.after(read, &json!({ field: act }));
        assert_eq!(overwrite(&main).block(), None, "{host}");
    }
}

#[test]
fn planning_whose_parent_cannot_be_told_is_refused_as_when_typed() {
    let project = planned();
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    let typed = project.session("typed").prompt("/plan-chapter 2").block();
    let typed = typed.expect("the typed command is refused");
    assert!(typed.contains("--under act-2"), "{typed}");
    for (host, tool, input) in handovers() {
        let answer = project.session_of(host, "s").before(tool, &input);
        assert_eq!(answer.block().as_ref(), Some(&typed), "{host} {tool}");
    }
}
