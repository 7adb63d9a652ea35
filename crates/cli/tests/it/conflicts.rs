//! `conflicts`: what was recorded offline and does not fit the team's history.

use serde_json::json;
use testkit::Project;

use crate::binary;
use crate::remote::{Team, summaries};

/// A team with tickets and a story.
fn ticket_team() -> Team {
    let project = Project::empty(binary());
    project.ok(&["init", "--profile", "tickets,story"]);
    project.plan_story();
    Team::of(project)
}

fn laptop_of(team: &Team) -> Project {
    let laptop = team.laptop();
    laptop.configure("profiles", "[\"tickets\", \"story\"]");
    laptop
}

/// What two people make while one of them is offline is kept, and unrelated work with it.
#[test]
fn a_ticket_made_offline_is_kept_beside_one_made_meanwhile() {
    let team = ticket_team();
    let (anna, bob) = (
        laptop_of(&team).with_environment("THROUGHLINE_OFFLINE", "queue"),
        laptop_of(&team),
    );
    anna.ok(&["status"]);
    team.kill();
    anna.ok(&["ticket", "new", "Offline one"]);
    anna.ok(&["comment", "act-1", "--message", "unrelated"]);
    anna.ok(&["progress", "chapter-01", "active"]);
    team.again();
    bob.ok(&["ticket", "new", "Meanwhile"]);
    let told = anna.ok(&["status"]).stderr;
    assert!(!told.contains("conflicts"), "{told}");
    let all = summaries(&bob);
    for words in ["Offline one", "Meanwhile", "unrelated", "is active"] {
        assert!(
            all.iter().any(|summary| summary.contains(words)),
            "{words} is missing in {all:?}"
        );
    }
    anna.ok(&["check"]);
    assert_eq!(anna.json(&["conflicts", "list"]), json!([]));
}

#[test]
fn a_conflict_is_listed_shown_retried_and_dropped() {
    let team = ticket_team();
    let (anna, bob) = (
        laptop_of(&team).with_environment("THROUGHLINE_OFFLINE", "queue"),
        laptop_of(&team),
    );
    anna.ok(&["status"]);
    team.kill();
    // Both set what was pending; the second to arrive conflicts.
    anna.ok(&["progress", "chapter-01", "active"]);
    anna.ok(&["comment", "act-1", "--message", "unrelated"]);
    team.again();
    bob.ok(&["progress", "chapter-01", "blocked"]);
    let told = anna.ok(&["status"]).stderr;
    assert!(
        told.contains("conflicts with the server") && told.contains("tl conflicts list"),
        "{told}"
    );
    assert!(summaries(&bob).iter().any(|one| one.contains("unrelated")));
    let listed = anna.json(&["conflicts", "list"]);
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let shown = anna.ok(&["conflicts", "show", id.split_at(6).0]).stdout;
    assert!(shown.contains("chapter-01 is active"), "{shown}");
    let refused = anna.run(&["conflicts", "retry", &id]);
    assert!(
        refused.code == 1 && refused.stderr.contains("still conflicts"),
        "{refused:?}"
    );
    bob.ok(&["progress", "chapter-01", "pending"]);
    anna.ok(&["conflicts", "retry", &id]);
    assert_eq!(anna.json(&["conflicts", "list"]), json!([]));
    assert_eq!(bob.json(&["show", "chapter-01"])["progress"], "active");
    assert!(
        anna.run(&["conflicts", "drop", &id]).code != 0,
        "it is gone"
    );
}
