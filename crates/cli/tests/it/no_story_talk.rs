//! Approval is spoken of only where a profile asks for it: not in tickets, trails and plan documents.

use serde_json::json;
use testkit::{Answer, Project};

use crate::{as_session, tickets};

const TICKET: &str = "tickets/017a-loc/ticket.md";
const STORY_WORDS: [&str; 5] = ["draft", "approv", "revalidat", "build on it", "stale"];

#[track_caller]
fn no_story_words(what: &str, text: &str) {
    let lower = text.to_lowercase();
    for word in STORY_WORDS {
        assert!(!lower.contains(word), "{what}: `{word}` in {text}");
    }
}

fn said(answer: &Answer) -> String {
    answer.context().unwrap_or_default()
}

#[test]
fn an_agent_in_a_tickets_project_hears_nothing_of_approval() {
    let project = tickets();
    project.ok(&["config", "set", "profiles", "tickets,trail"]);
    let session = project.session("s");
    no_story_words("start", &said(&session.start("startup")));
    as_session(&project, "s", &["focus", "enter", "017a"]);
    // Its own edit, another file's change by a command, a new ticket, a change from outside.
    let _ = session.read(TICKET);
    let text = format!("{}\nMore.\n", project.read(TICKET));
    let (before, after) = session.write(TICKET, &text);
    no_story_words("before", &said(&before));
    no_story_words("own edit", &said(&after.expect("written")));
    let told = session
        .shell("awk 'BEGIN { print \"more\" >> \"tickets/017-quality/ticket.md\" }' /dev/null");
    assert!(said(&told).contains("`017` changed"), "{told:?}");
    no_story_words("side effect", &said(&told));
    let told = session.shell(
        "mkdir tickets/017c-new && printf -- '---\\nid: 017c\\nparent: 017\\n---\\n# New\\n' > tickets/017c-new/ticket.md",
    );
    no_story_words("new ticket", &said(&told));
    project.write(
        "tickets/017b-phases/ticket.md",
        "---\nid: 017b\nparent: 017\n---\n# Changed\n",
    );
    no_story_words("prompt", &said(&session.prompt("go on")));
    let task = json!({ "description": "plan", "prompt": "/plan-ticket 017d", "subagent_type": "general-purpose" });
    assert_eq!(session.before("Task", &task).block(), None);
}

#[test]
fn commands_in_a_tickets_project_say_nothing_of_drafts() {
    let project = tickets();
    for command in [
        &["status"][..],
        &["tree"],
        &["next"],
        &["brief"],
        &["where"],
        &["plan", "ticket", "017d", "--under", "017"],
    ] {
        let output = project.ok(command);
        no_story_words(&command.join(" "), &output.stdout);
    }
    let prompt = project.ok(&["plan", "ticket", "017d", "--under", "017"]);
    assert!(
        prompt.stdout.contains("`tickets/017d/ticket.md`"),
        "{prompt:?}"
    );
    let why = project.ok(&["why", "017"]).stdout;
    assert!(why.contains("nobody has to approve it"), "{why}");
    assert!(!why.contains("tl approve"), "{why}");
    // Who approves one all the same is told what becomes of it.
    project.ok(&["approve", "045"]);
    let text = project.read("tickets/045-поиск/ticket.md");
    project.write("tickets/045-поиск/ticket.md", format!("{text}\nMore.\n"));
    assert!(
        project.ok(&["status"]).stdout.contains("045"),
        "it waits for a decision"
    );
}

#[test]
fn a_story_still_speaks_of_it() {
    let project = Project::story(crate::binary());
    project.plan_story();
    let session = project.session("s");
    let _ = session.read(Project::ACT);
    let (_, after) = session.write(Project::ACT, crate::ACT_EDITED);
    let told = said(&after.expect("written"));
    assert!(
        told.contains("2 plans below") && told.contains("`act-1` is a draft"),
        "{told}"
    );
}
