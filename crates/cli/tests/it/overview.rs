//! `tl` alone: where the project stands, and four commands.

use serde_json::Value;
use testkit::Project;

use crate::{ACT_EDITED, empty, planned, story, text, tickets, trail};

fn commands(project: &Project) -> Vec<String> {
    let overview = project.json(&[]);
    let commands = overview["commands"].as_array().expect("a list of commands");
    commands
        .iter()
        .map(|one| text(one, "command").to_owned())
        .collect()
}

#[test]
fn outside_a_project_it_says_how_to_start() {
    let project = empty();
    let output = project.ok(&[]);
    assert!(output.stdout.contains("tl init"), "{}", output.stdout);
    assert_eq!(output.stderr, "");
    assert_eq!(project.json(&[])["project"], Value::Null);
    assert_eq!(crate::names_in(&project, "."), Vec::<String>::new());
}

#[test]
fn a_new_project_names_its_first_step() {
    assert_eq!(commands(&story())[0], "tl plan");
    let project = empty();
    project.ok(&["init", "--profile", "tickets"]);
    assert_eq!(commands(&project)[0], "tl ticket new \"TITLE\"");
    assert_eq!(commands(&trail())[0], "tl trail intent \"TEXT\"");
}

#[test]
fn drafts_and_stale_plans_come_before_everything_else() {
    let project = story();
    project.write(Project::ACT, "# Act 1\n");
    let output = project.ok(&[]);
    assert!(
        output.stdout.contains("1 act: 1 ○ draft"),
        "{}",
        output.stdout
    );
    assert_eq!(commands(&project)[0], "tl approve act-1");

    let project = planned();
    assert_eq!(commands(&project).len(), 4);
    project.write(Project::ACT, ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    let stale = commands(&project);
    assert_eq!(
        stale[..2],
        ["tl why act-1/chapter-01", "tl revalidate act-1/chapter-01"]
    );
    assert_eq!(stale.len(), 4);
}

#[test]
fn tickets_are_counted_by_progress_and_not_as_drafts() {
    let project = tickets();
    let output = project.ok(&[]);
    assert!(
        output.stdout.contains("tickets: 0 complete"),
        "{}",
        output.stdout
    );
    assert!(!output.stdout.contains("draft"), "{}", output.stdout);
    // The context of an entered ticket ends with a line end, like every output.
    let entered = project.ok(&["focus", "enter", "017a"]);
    assert!(entered.stdout.ends_with('\n'), "{}", entered.stdout);
}

#[test]
fn the_focus_of_the_session_is_shown() {
    let project = tickets().with_environment("THROUGHLINE_SESSION", "s1");
    project.ok(&["focus", "enter", "017a"]);
    let output = project.ok(&[]);
    assert!(
        output.stdout.contains("focus: 017 › 017a"),
        "{}",
        output.stdout
    );
}

#[test]
fn the_overview_offers_hooks_until_a_host_has_them() {
    let project = story();
    assert!(project.ok(&[]).stdout.contains("tl host install"));
    project.ok(&["host", "install", "claude-code"]);
    let overview = project.ok(&[]).stdout;
    assert!(!overview.contains("tl host install"), "{overview}");
}
