//! Comments at a place in the prose: written, shown, and followed by a revision.

use serde_json::json;
use testkit::Project;

use crate::write::{PROSE, approved};
use crate::{asked, assert_refused, text, with_model};

const SCENE: &str = "scene-0101";
const OURS: &str = "Elena pulled at the drawer until it gave.\n\nInside there was only dust. The map, drawn by her father, was gone.\n";
const REVISED: &str = "Elena pulled at the drawer until it gave.\n\nInside lay cold ash. The map, drawn by her father, was gone.";

fn written() -> Project {
    let project = approved();
    project.write(PROSE, OURS);
    project.ok(&["progress", SCENE, "complete"]);
    project
}

fn comment(project: &Project, quote: &str, message: &str) -> String {
    let said = project.json(&["comment", SCENE, "--quote", quote, "-m", message]);
    assert_eq!(said["in_prose"], json!(true), "{said}");
    text(&said, "id").to_owned()
}

fn state(project: &Project) -> String {
    text(&project.json(&["comment", SCENE])[0], "state").to_owned()
}

#[test]
fn a_comment_on_prose_is_open_until_its_words_are_gone_or_it_is_resolved() {
    let project = written();
    let id = comment(&project, "there was only dust", "Make it colder.");
    let listed = project.ok(&["comment", SCENE]);
    assert!(
        listed.stdout.contains("prose 3: there was only dust"),
        "{listed:?}"
    );
    let briefing = project.ok(&["brief"]);
    assert!(
        briefing
            .stdout
            .contains("prose, on \"there was only dust\"")
            && briefing.stdout.contains("Make it colder."),
        "{briefing:?}"
    );
    // Neither a change of the plan nor its approval answers a comment on the prose.
    project.write(
        Project::SCENE,
        "# The drawer\n\n## Characters\n- Elena\n\nIt rains.\n",
    );
    project.ok(&["approve", SCENE]);
    assert_eq!(state(&project), "open");
    project.write(PROSE, OURS.replace("only dust", "ash"));
    assert_eq!(state(&project), "outdated");
    project.write(PROSE, OURS);
    assert_eq!(state(&project), "open", "the words came back");
    project.ok(&["comment", SCENE, "--resolve", &id]);
    assert_eq!(state(&project), "resolved");
}

#[test]
fn words_of_the_plan_come_first_unless_the_prose_is_meant() {
    let project = written();
    project.write(PROSE, format!("{OURS}\nElena opens the drawer. Again.\n"));
    let quote = [
        "comment",
        SCENE,
        "--quote",
        "Elena opens the drawer",
        "-m",
        "Why?",
    ];
    let plan = project.json(&quote);
    assert_eq!(plan.get("in_prose"), None, "{plan}");
    let prose = project.json(&[&quote[..], &["--prose"]].concat());
    assert_eq!(prose["in_prose"], json!(true));
    let nowhere = ["comment", SCENE, "--quote", "a storm", "-m", "?"];
    assert_refused(&project, &nowhere, "invalid", &["not in the text"]);
    let chapter = [
        "comment",
        "chapter-01",
        "--prose",
        "--quote",
        "Elena",
        "-m",
        "?",
    ];
    assert_refused(&project, &chapter, "refused", &["has no prose to quote"]);
}

#[test]
fn a_revision_follows_the_comments_and_keeps_the_text_before() {
    let clean = json!({ "findings": [], "summary": ["s"] }).to_string();
    let project = with_model(written(), &[REVISED, &clean]);
    let revise = ["story", "write", SCENE, "--revise"];
    assert_refused(
        &project,
        &revise,
        "refused",
        &["no open comment on the prose"],
    );
    comment(&project, "there was only dust", "Make it colder.");
    let done = project.json(&revise);
    assert_eq!(
        (text(&done, "status"), done["revisions"].clone()),
        ("complete", json!(1)),
        "{done}"
    );
    let asked = asked(&project);
    assert!(
        asked.contains("│ on \"there was only dust\": Make it colder.")
            && asked.contains("│ Elena pulled at the drawer"),
        "{asked}"
    );
    assert!(!asked.contains("Write the next scene"), "{asked}");
    assert_eq!(project.read(PROSE), format!("{REVISED}\n"));
    assert_eq!(state(&project), "outdated");
    let backups = crate::names_in(&project, "acts/act-1/chapters/chapter-01/content/backups");
    assert_eq!(backups.len(), 1);
}

/// The author's text is longer than the policy's target, and that is no finding: a revision keeps its length.
#[test]
fn a_worse_revision_leaves_the_authors_text_and_comment() {
    let clean = json!({ "findings": [], "summary": ["s"] }).to_string();
    let project = with_model(written(), &["Elena went.", &clean]);
    comment(&project, "there was only dust", "Make it colder.");
    project.ok(&["story", "write", SCENE, "--revise"]);
    assert_eq!(project.read(PROSE).trim(), OURS.trim());
    assert_eq!(state(&project), "open");
}

#[test]
fn comments_work_in_any_language_and_reach_a_new_draft() {
    let clean = json!({ "findings": [], "summary": ["s"] }).to_string();
    let project = with_model(written(), &[REVISED, &clean]);
    project.write(PROSE, "Елена дёрнула ящик. Внутри была только пыль.\n");
    comment(&project, "только пыль", "Холоднее!");
    project.ok(&["story", "write", SCENE]);
    let asked = asked(&project);
    assert!(asked.contains("│ on \"только пыль\": Холоднее!"), "{asked}");
}

/// Defect: a text that an author was still working on was replaced by a run, because nobody had called it complete.
#[test]
fn a_run_passes_by_prose_that_a_person_is_writing() {
    let project = approved();
    project.write(PROSE, OURS);
    let run = project.ok(&["story", "run"]);
    assert!(
        run.stdout.contains("everything in the plan is written"),
        "{run:?}"
    );
    assert_refused(
        &project,
        &["story", "write", "--next"],
        "not-found",
        &["not written yet"],
    );
    assert_eq!(project.read(PROSE), OURS);
}

#[test]
fn without_a_model_nothing_is_revised() {
    let project = written();
    comment(&project, "there was only dust", "Make it colder.");
    assert_refused(
        &project,
        &["story", "write", SCENE, "--revise"],
        "refused",
        &["need a model"],
    );
    assert_eq!(project.read(PROSE), OURS);
}
