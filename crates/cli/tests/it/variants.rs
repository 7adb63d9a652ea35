//! `tl story write --variants`: several drafts, compared, and one of them chosen.

use serde_json::{Value, json};

use crate::write::{PROSE, approved};
use crate::{KILL, asked, assert_refused, text, with_model};

const SCENE: &str = "scene-0101";
const FIRST: &str =
    "Elena pulled at the drawer until it gave. Inside there was only dust, and the map was gone.";
const SECOND: &str =
    "Dust, said the drawer, when Elena had it open at last. Dust where the map had been.";

fn clean() -> String {
    json!({ "findings": [], "summary": ["Elena finds the drawer empty"] }).to_string()
}

fn variants(project: &testkit::Project) -> Value {
    project.json(&["story", "generation", "variants", SCENE])["variants"].clone()
}

#[test]
fn variants_are_compared_and_the_chosen_one_goes_into_the_book() {
    let must = json!({ "findings": [{ "check": "pov", "severity": "must", "problem": "whose eyes?", "quote": "only dust" }], "summary": ["s"] });
    let project = with_model(
        approved(),
        &[FIRST, &must.to_string(), SECOND, &clean(), FIRST, &clean()],
    );
    let written = project.ok(&["story", "write", SCENE, "--variants", "2"]);
    assert!(written.stdout.contains("variant 2"), "{written:?}");
    assert!(!project.root().join(PROSE).exists(), "nobody has chosen");
    let asked_so_far = asked(&project);
    assert!(
        asked_so_far.contains("│ Elena pulled at the drawer until it gave."),
        "the second draft knows how the first begins: {asked_so_far}"
    );
    let found = variants(&project);
    assert_eq!(
        (found[0]["must"].clone(), found[1]["must"].clone()),
        (json!(1), json!(0))
    );
    let shown = project.ok(&["story", "generation", "variants", SCENE, "--show", "2"]);
    assert!(shown.stdout.contains(SECOND), "{shown:?}");
    let compared = project.ok(&["story", "generation", "variants", SCENE, "--diff", "1", "2"]);
    assert!(
        compared
            .stdout
            .contains("-Elena pulled at the drawer until it gave.")
            && compared.stdout.contains("+Dust where the map had been."),
        "{compared:?}"
    );
    // A run does not pass by a choice that is open.
    let run = project.run(&["story", "run"]);
    assert!(run.stdout.contains("wait for a choice"), "{run:?}");
    assert_refused(
        &project,
        &["story", "generation", "resume", SCENE],
        "refused",
        &["wait for a choice"],
    );

    let chosen = project.json(&["story", "generation", "choose", SCENE, "2"]);
    assert_eq!(text(&chosen, "status"), "complete");
    assert_eq!(project.read(PROSE), format!("{SECOND}\n"));
    assert_eq!(variants(&project)[1]["is_chosen"], json!(true));

    // The other one is kept, can still be chosen, and is revised for what was found in it.
    let other = project.json(&["story", "generation", "choose", SCENE, "1", "--discard"]);
    assert_eq!(
        (text(&other, "status"), other["revisions"].clone()),
        ("complete", json!(1))
    );
    assert_eq!(project.read(PROSE), format!("{FIRST}\n"));
    let backups = crate::names_in(&project, "acts/act-1/chapters/chapter-01/content/backups");
    assert_eq!(backups.len(), 1, "the text before is backed up");
    assert_eq!(variants(&project).as_array().map(Vec::len), Some(1));
}

#[test]
fn variants_go_on_where_a_process_was_killed_and_more_can_be_asked_for() {
    let project = with_model(
        approved(),
        &[FIRST, &clean(), KILL, SECOND, &clean(), FIRST, &clean()],
    );
    let killed = project.run(&["story", "write", SCENE, "--variants", "2"]);
    assert_eq!(killed.code, -1, "{killed:?}");
    assert_eq!(variants(&project).as_array().map(Vec::len), Some(1));
    let resumed = project.ok(&["story", "write", SCENE, "--variants", "2"]);
    assert!(resumed.stderr.contains("resuming"), "{resumed:?}");
    assert_eq!(variants(&project).as_array().map(Vec::len), Some(2));
    project.ok(&["story", "write", SCENE, "--variants", "3"]);
    assert_eq!(variants(&project).as_array().map(Vec::len), Some(3));
    assert_eq!(
        project.json(&["story", "stats"])["spending"]["calls"],
        json!(6),
        "no draft is paid for twice"
    );
    let stats = project.json(&["stats", "chapter-01"]);
    assert_eq!(stats["nodes"][0]["model_calls"], json!(6), "{stats}");
    let printed = project.ok(&["stats", "chapter-01"]);
    assert!(
        printed.stdout.contains("6 model calls, unknown price"),
        "{printed:?}"
    );
}

#[test]
fn wrong_choices_are_refused_and_change_nothing() {
    let project = with_model(approved(), &[FIRST, &clean(), SECOND, &clean()]);
    for count in ["0", "1", "6", "many"] {
        let refused = project.run(&["story", "write", SCENE, "--variants", count]);
        assert_eq!(refused.code, 2, "{refused:?}");
    }
    assert_refused(
        &project,
        &["story", "generation", "variants", SCENE],
        "not-found",
        &["was not started"],
    );
    project.ok(&["story", "write", SCENE, "--variants", "2"]);
    for (number, why) in [
        ("3", "there is no variant 3"),
        ("0", "there is no variant 0"),
    ] {
        let choose = ["story", "generation", "choose", SCENE, number];
        assert_refused(&project, &choose, "invalid", &[why]);
    }
    let choose = ["story", "generation", "choose", SCENE, "second"];
    assert_refused(
        &project,
        &choose,
        "invalid",
        &["not the number of a variant"],
    );
    assert_refused(
        &project,
        &["story", "write", SCENE, "--revise"],
        "refused",
        &["is under way, at step choose"],
    );
    assert!(!project.root().join(PROSE).exists());
    // The drafts were written for another blueprint.
    project.write(
        testkit::Project::SCENE,
        "# The drawer\n\n## Characters\n- Elena\n\nIt rains.\n",
    );
    project.ok(&["approve", SCENE]);
    let stale = ["story", "generation", "choose", SCENE, "1"];
    assert_refused(&project, &stale, "refused", &["changed since its variants"]);
}

#[test]
fn without_a_model_there_is_nothing_to_choose_from() {
    let project = approved();
    assert_refused(
        &project,
        &["story", "write", SCENE, "--variants", "3"],
        "refused",
        &["need a model"],
    );
    assert_eq!(project.json(&["story", "generation", "status"]), json!([]));
}
