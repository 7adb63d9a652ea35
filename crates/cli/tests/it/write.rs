//! `tl story write`: from an approved blueprint to a scene that was checked, with a writer that is a script.

use crate::{asked, assert_refused, story, text, with_model};
use serde_json::{Value, json};
use testkit::Project;

pub(crate) const PROSE: &str = "acts/act-1/chapters/chapter-01/content/scene-0101.md";
const BLUEPRINT: &str = "# The drawer\n\n## Characters\n- Elena\n\n## Beats\nElena opens the drawer. The map is gone.\n";

pub(crate) fn approved() -> Project {
    let project = story();
    project.write(Project::ACT, "# Act 1\n\n## Characters\n- Elena\n");
    project.write(Project::CHAPTER, "# Chapter 1\n\n## Characters\n- Elena\n");
    project.write(Project::SCENE, BLUEPRINT);
    for node in ["act-1", "chapter-01", "scene-0101"] {
        project.ok(&["approve", node]);
    }
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "character",
        "name=Elena",
        "role=lead",
    ]);
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "loop",
        "text=Where is the map?",
    ]);
    project.write(
        ".throughline/config.toml",
        "[policy.generation]\nscene_words = 12\n",
    );
    project
}

const GOOD: &str =
    "Elena pulled at the drawer until it gave. Inside there was only dust, and the map was gone.";

fn verdict() -> Value {
    json!({
        "findings": [{ "check": "continuity", "severity": "must", "problem": "invented", "quote": "words that are not there" }],
        "summary": ["Elena finds the drawer empty"],
        "characters": ["C0"],
        "facts": [{ "subject": "Elena", "predicate": "knows", "object": "the map is gone", "quote": "the map was gone" },
                  { "subject": "Elena", "predicate": "owns", "object": "a horse", "quote": "her horse" }],
        "loops": [{ "loop_id": "OL0", "outcome": "advanced", "reason": "not in the drawer", "quote": "only dust" }],
        "new_loops": [{ "description": "Who emptied the drawer?", "importance": "high", "quote": "the map was gone" }],
    })
}

#[test]
fn a_scene_is_written_checked_and_remembered() {
    let project = with_model(approved(), &[GOOD, &verdict().to_string()]);
    let done = project.json(&["story", "write", "--next"]);
    assert_eq!(
        (text(&done, "status"), text(&done, "file")),
        ("complete", PROSE)
    );
    assert_eq!(
        done["findings"],
        json!([]),
        "what is not quoted from the scene does not count"
    );
    assert_eq!(project.read(PROSE), format!("{GOOD}\n"));
    let scene = project.json(&["story", "memory", "show", "S001"])["entry"].clone();
    assert_eq!(
        (scene["summary"].clone(), scene["pov"].clone()),
        (json!(["Elena finds the drawer empty"]), json!("C0"))
    );
    let facts = project.json(&["story", "memory", "show", "facts"]);
    assert_eq!(facts["entries"].as_array().unwrap().len(), 1, "{facts}");
    assert_eq!(
        project.json(&["story", "memory", "show", "OL0"])["entry"]["status"],
        "advanced"
    );
    assert_eq!(
        project.json(&["story", "memory", "show", "OL1"])["entry"]["evidence"],
        Value::Null
    );
    assert_eq!(
        project.json(&["show", "scene-0101"])["progress"],
        "complete"
    );
    let asked = asked(&project);
    assert!(asked.contains("│ Elena opens the drawer."), "{asked}");
    let stats = project.json(&["story", "stats"]);
    assert_eq!(
        (
            stats["spending"]["calls"].clone(),
            stats["spending"]["calls_without_price"].clone()
        ),
        (json!(2), json!(2))
    );
    assert_refused(
        &project,
        &["story", "write", "--next"],
        "not-found",
        &["not written yet"],
    );
}

#[test]
fn a_text_that_breaks_off_is_concluded_and_what_must_not_stay_is_revised() {
    let clean = json!({ "findings": [], "summary": ["s"] }).to_string();
    let project = with_model(
        approved(),
        &[
            "Elena pulled at the drawer until C0",
            "gave up and went home through the snow.",
            &clean,
            GOOD,
            &clean,
        ],
    );
    let done = project.json(&["story", "write", "scene-0101"]);
    assert_eq!(
        (
            text(&done, "status"),
            done["conclusions"].clone(),
            done["revisions"].clone()
        ),
        ("complete", json!(1), json!(1))
    );
    assert_eq!(project.read(PROSE), format!("{GOOD}\n"));
}

#[test]
fn what_cannot_be_mended_waits_for_a_person() {
    let bad = json!({ "findings": [{ "check": "pov", "severity": "must", "problem": "who says so?", "quote": "only dust" }], "summary": ["s"] });
    let bad = bad.to_string();
    let project = with_model(approved(), &[GOOD, &bad, GOOD, &bad, GOOD, &bad]);
    let held = project.run(&["story", "write", "scene-0101"]);
    assert_eq!(held.code, 1, "{held:?}");
    assert!(
        held.stdout.contains("held") && held.stdout.contains("“only dust”"),
        "{held:?}"
    );
    assert!(!project.root().join(PROSE).exists());
    // It went through the loop that reviews plans and code: three iterations, then a person.
    let review = project.json(&["review", "status", "--of", "act-1/chapter-01/scene-0101"]);
    assert_eq!(
        (review["iteration"].clone(), review["escalated"].clone()),
        (json!(3), json!(["qa-002"])),
        "{review}"
    );
    assert_eq!(review["items"][1]["finding"], "who says so?: “only dust”");
    // Only a person decides.
    let agent = project.run(&["story", "generation", "resume", "scene-0101"]);
    assert!(
        agent.code == 1 && agent.stderr.contains("held for a person"),
        "{agent:?}"
    );
    assert_eq!(
        text(
            &project.json(&["story", "generation", "status", "scene-0101"]),
            "status"
        ),
        "held"
    );
    project.ok(&["story", "generation", "cancel", "scene-0101"]);
}

/// What the memory knows stands against the scene, without a judge: a value that changed, and what nobody told the point
/// of view. Both with two quotes; both fixed by a revision.
#[test]
fn facts_with_dates_stand_against_a_scene() {
    let project = approved();
    project.write(
        &Project::SCENE.replace("0101", "0102"),
        "---\npov: Elena\n---\n# The lie\n\n## Characters\n- Elena\n",
    );
    project.ok(&["approve", "act-1/chapter-01/scene-0102"]);
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "character",
        "name=Marcus",
    ]);
    let clean = json!({ "findings": [], "summary": ["s"], "characters": ["C0"] }).to_string();
    let first = json!({ "findings": [], "summary": ["s"], "characters": ["C0"], "facts": [
        { "subject": "Elena", "predicate": "has eyes", "object": "green", "quote": "her green eyes" }] });
    let bad = "Elena looked into the glass, and the eyes of Elena were blue. Elena knew Marcus had burned the letter at the mill.";
    let good = "Elena looked into the glass, and the eyes of Elena were green. She wondered what had become of it all.";
    let project = with_model(
        project,
        &[
            "Elena shut her green eyes and pulled. The drawer was empty, and there was only dust.",
            &first.to_string(),
            bad,
            &clean,
            good,
            &clean,
        ],
    );
    project.ok(&["story", "write", "scene-0101"]);
    assert_eq!(
        project.json(&["story", "memory", "show", "C0"])["entry"]["knows"],
        json!(["F0"]),
        "who was there knows it"
    );
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "scene",
        "title=Elsewhere",
        "node=act-1",
        "characters=[\"C1\"]",
    ]);
    project.ok(&[
        "story",
        "memory",
        "edit",
        "--new",
        "fact",
        "subject=C1",
        "predicate=burned",
        "object=the letter at the mill",
        "valid_from=S002",
    ]);
    let done = project.json(&["story", "write", "scene-0102"]);
    assert_eq!(
        (text(&done, "status"), done["revisions"].clone()),
        ("complete", json!(1)),
        "{done}"
    );
    let asked = asked(&project);
    assert!(
        asked.contains("continuity: Elena: it was `green`, and is `blue` here"),
        "{asked}"
    );
    assert!(
        asked.contains("pov: Elena was not there and cannot know this"),
        "{asked}"
    );
    assert_eq!(
        project.json(&["story", "memory", "show", "S003"])["entry"]["pov"],
        "C0"
    );
}

#[test]
fn only_an_approved_blueprint_is_written_and_a_stale_one_says_so() {
    let project = approved();
    assert_refused(
        &project,
        &["story", "write", "chapter-01"],
        "refused",
        &["nothing is written from a chapter"],
    );
    project.ok(&["story", "write", "scene-0101"]);
    let placeholder = project.read(PROSE);
    assert!(
        placeholder.starts_with("> Placeholder: the words of the blueprint"),
        "{placeholder}"
    );
    assert_eq!(
        project.json(&["story", "generation", "status", "scene-0101"])["revisions"],
        0,
        "rules revise nothing"
    );
    project.write(Project::SCENE, format!("{BLUEPRINT}\nAnd then it rains.\n"));
    assert_eq!(
        project.json(&["story", "generation", "status", "scene-0101"])["stale"],
        true
    );
    assert_refused(
        &project,
        &["story", "write", "scene-0101"],
        "refused",
        &["its blueprint is `draft`"],
    );
    // A user's text in its place is kept beside it.
    project.ok(&["approve", "scene-0101"]);
    project.write(PROSE, "My own words.\n");
    project.ok(&["story", "write", "scene-0101"]);
    let backups = crate::names_in(&project, "acts/act-1/chapters/chapter-01/content/backups");
    assert_eq!(backups.len(), 1);
    assert_eq!(
        project.json(&["story", "memory", "show"])["counts"]["scenes"],
        1,
        "the same scene keeps its id"
    );
}

/// Defect: a refusal of twelve words was a complete scene, exit 0, and in the compiled book.
#[test]
fn a_refusal_is_held_and_enters_neither_the_book_nor_the_memory() {
    let refusal = "I'm sorry, but I can't help with planning this story.";
    let project = with_model(approved(), &[refusal]);
    let held = project.run(&["story", "write", "--next"]);
    assert_eq!(held.code, 1, "{held:?}");
    assert!(
        held.stdout.contains("held") && held.stdout.contains("must refusal"),
        "{held:?}"
    );
    assert!(!project.root().join(PROSE).exists());
    let memory = project.json(&["story", "memory", "show"]);
    assert_eq!(
        (
            memory["counts"]["scenes"].clone(),
            memory["counts"]["facts"].clone()
        ),
        (json!(0), json!(0))
    );
    let asked = asked(&project);
    assert_eq!(
        asked.matches("Write the next scene").count(),
        3,
        "it is asked for again, and no judge reads it: {asked}"
    );
    assert!(!asked.contains("Check this scene"), "{asked}");
}

/// Defects: other words of refusal, and words around the scene, went into the book.
#[test]
fn a_model_that_speaks_to_its_user_does_not_get_into_the_book() {
    for refusal in [
        "I'm sorry, I can't generate a scene in which Elena opens the drawer of the archive.",
        "Es tut mir leid, aber ich kann diese Szene mit Elena nicht schreiben.",
    ] {
        let project = with_model(approved(), &[refusal]);
        let held = project.run(&["story", "write", "--next"]);
        assert!(
            held.code == 1 && held.stdout.contains("must refusal"),
            "{held:?}"
        );
        assert!(!project.root().join(PROSE).exists());
    }
    let clean = json!({ "findings": [], "summary": ["s"] }).to_string();
    let around =
        format!("Sure! Here is the scene:\n\n{GOOD}\n\nLet me know if you'd like any changes.");
    let project = with_model(approved(), &[&around, &clean]);
    project.ok(&["story", "write", "--next"]);
    assert_eq!(project.read(PROSE), format!("{GOOD}\n"));
}

/// Defect: a scene that calls Elena by her other name was held, because nobody of the blueprint was there.
#[test]
fn a_scene_may_call_people_by_their_other_names() {
    let clean = json!({ "findings": [], "summary": ["s"], "characters": ["C0"] }).to_string();
    let text = GOOD.replace("Elena", "Lena");
    let project = with_model(approved(), &[&text, &clean]);
    project.ok(&["story", "memory", "edit", "C0", "aliases=[\"Lena\"]"]);
    let done = project.json(&["story", "write", "--next"]);
    assert_eq!(done["findings"], json!([]), "{done}");
}

/// Defect: a judge that quoted the fact and called the contradiction a SHOULD let the scene into the book.
#[test]
fn a_contradiction_that_a_judge_proves_is_a_must_however_it_is_weighed() {
    let text = "Elena was born in Lisbon, as everyone at the archive knew. The drawer was empty.";
    let finding = json!({ "check": "continuity", "severity": "should", "problem": "born elsewhere",
        "quote": "Elena was born in Lisbon", "against": "Elena was born in Oporto" });
    let judged = json!({ "findings": [finding], "summary": ["s"] }).to_string();
    let project = with_model(approved(), &[text, &judged, text, &judged, text, &judged]);
    let fact = ["subject=C0", "predicate=was born in", "object=Oporto"];
    project.ok(&[&["story", "memory", "edit", "--new", "fact"][..], &fact].concat());
    let held = project.run(&["story", "write", "--next"]);
    assert!(
        held.code == 1 && held.stdout.contains("must continuity: born elsewhere"),
        "{held:?}"
    );
    assert!(
        asked(&project).contains("against \"Elena was born in Oporto\""),
        "the reviser is told the fact"
    );
}

#[test]
fn a_scene_of_the_wrong_length_is_held_and_a_worse_revision_is_not_kept() {
    let clean = json!({ "findings": [], "summary": ["s"] }).to_string();
    let short = "Elena went.";
    let project = with_model(approved(), &[short, &clean]);
    let held = project.run(&["story", "write", "--next"]);
    assert!(
        held.code == 1 && held.stdout.contains("must length"),
        "{held:?}"
    );

    let style = json!({ "findings": [{ "check": "style", "severity": "should", "problem": "flat", "quote": "only dust" }],
                        "summary": ["s"] })
    .to_string();
    let project = with_model(approved(), &[GOOD, &style, short, &clean]);
    let done = project.json(&["story", "write", "--next"]);
    assert_eq!(text(&done, "status"), "complete", "{done}");
    assert_eq!(project.read(PROSE), format!("{GOOD}\n"), "the first draft");
}

/// Defect: after a rewrite the facts of the discarded text were canon.
#[test]
fn a_rewritten_scene_takes_back_what_its_earlier_text_said() {
    let verdict = |colour: &str| {
        json!({ "findings": [], "summary": ["s"], "characters": ["C0"], "facts": [
            { "subject": "Elena", "predicate": "has eyes", "object": colour, "quote": format!("her {colour} eyes") }] })
        .to_string()
    };
    let scene = |colour: &str| {
        format!(
            "Elena shut her {colour} eyes and pulled. The drawer was empty, and there was only dust."
        )
    };
    let project = with_model(
        approved(),
        &[
            &scene("blue"),
            &verdict("blue"),
            &scene("green"),
            &verdict("green"),
        ],
    );
    project.ok(&["story", "write", "scene-0101"]);
    project.ok(&["story", "write", "scene-0101"]);
    let facts = project.json(&["story", "memory", "show", "facts"]);
    let told = facts.to_string();
    assert!(
        told.contains("green") && !told.contains("blue") && !told.contains("disputed"),
        "{told}"
    );
    project.ok(&["check"]);
}

#[test]
fn a_run_plans_and_writes_until_a_person_is_needed() {
    let project = approved();
    project.write(
        &Project::SCENE.replace("0101", "0102"),
        "# The letter\n\n## Characters\n- Elena\n",
    );
    let waits = project.run(&["story", "run"]);
    assert_eq!(waits.code, 3, "{waits:?}");
    assert!(
        waits
            .stdout
            .contains("scene-0102` is `draft`, not approved")
            && waits
                .stderr
                .contains("tl approve act-1/chapter-01/scene-0102"),
        "{waits:?}"
    );
    assert!(project.root().join(PROSE).exists(), "the first is written");
    project.ok(&["approve", "act-1/chapter-01/scene-0102"]);
    let done = project.json(&["story", "run", "--until", "chapter-01"]);
    assert_eq!(
        (
            text(&done, "stopped"),
            done["ticks"].clone(),
            done["scenes"][0]["scene"].clone()
        ),
        (
            "everything up to the end of `act-1/chapter-01` is written",
            json!(1),
            json!("act-1/chapter-01/scene-0102")
        )
    );
    project.ok(&["check"]);
}
