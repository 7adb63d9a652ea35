//! Profiles of one's own: `.throughline/profiles/*.toml`.

use serde_json::json;

use crate::{assert_refused, empty, names_in, statuses, text};
use testkit::Project;

/// The worked example of the guide: a course of parts, lessons and exercises.
const COURSE: &str = r#"
name = "course"
title = "Course"

[[level]]
name = "part"
root = true
alias = "part-{n}"
file = "course/{alias}/part.md"
purpose = "what a part of the course teaches"
outline = ["Goals", "Lessons"]

[[level]]
name = "lesson"
under = ["part"]
alias = "lesson-{n:2}"
numbers = "1-40"
file = "lessons/{alias}/lesson.md"
purpose = "what one lesson teaches and how"

[[level]]
name = "exercise"
under = ["lesson"]
alias = "exercise-{parent.n:2}{n:2}"
file = "exercises/{alias}.md"
purpose = "one task with its solution"

[[phase]]
title = "Collect"
text = "What must the learner know?"

[[phase]]
title = "Write"
text = "Write it down."

[[facet]]
name = "terms"
words = ["terms", "glossary"]
"#;

const PART: &str = "course/part-1/part.md";
const LESSON: &str = "course/part-1/lessons/lesson-01/lesson.md";
const EXERCISE: &str = "course/part-1/lessons/lesson-01/exercises/exercise-0101.md";

fn course() -> Project {
    let project = empty();
    project.write(".throughline/profiles/course.toml", COURSE);
    let output = project.ok(&["init", "--profile", "course"]);
    assert!(
        output.stdout.contains("course: part → lesson → exercise"),
        "{}",
        output.stdout
    );
    project
}

#[test]
fn a_course_is_planned_from_end_to_end() {
    let project = course();
    assert_eq!(project.json(&["status"])["profiles"], json!(["course"]));
    assert_refused(
        &project,
        &["plan", "lesson", "1"],
        "refused",
        &["its parent is missing", "tl plan part 1"],
    );
    let prompt = project.ok(&["plan", "part", "1"]).stdout;
    for part in [
        PART,
        "what a part of the course teaches",
        "### Phase 1: Collect",
        "### Phase 2: Write",
        "- Goals",
        "part → lesson → exercise",
    ] {
        assert!(prompt.contains(part), "no `{part}` in:\n{prompt}");
    }
    assert!(!prompt.contains("Phase 3"));

    project.write(PART, "# Part 1\n\n## Terms\n- borrow\n");
    assert_refused(
        &project,
        &["plan", "lesson", "1"],
        "refused",
        &["`part-1` is `draft`", "tl approve part-1"],
    );
    project.ok(&["approve", "part", "1"]);
    let view = project.json(&["plan", "lesson", "1"]);
    assert_eq!(text(&view, "file_path"), LESSON);
    assert!(text(&view, "prompt").contains("│ - borrow"), "{view}");
    assert_eq!(
        text(
            &project.json(&["plan", "lesson", "1", "--under", "part-1"]),
            "path"
        ),
        "part-1/lesson-01"
    );

    project.write(LESSON, "# Lesson 1\n\n## Terms\n- borrow\n- lifetime\n");
    let output = project.ok(&["approve", "lesson", "1"]);
    assert!(
        output
            .stderr
            .contains("terms not named in parent `part-1`: lifetime"),
        "{}",
        output.stderr
    );
    assert_eq!(
        text(&project.json(&["plan", "exercise", "0101"]), "file_path"),
        EXERCISE
    );
    project.write(EXERCISE, "# Exercise 1.1\n");
    project.ok(&["approve", "exercise", "101"]);
    let approved = [
        "part-1 approved",
        "part-1/lesson-01 approved",
        "part-1/lesson-01/exercise-0101 approved",
    ];
    assert_eq!(statuses(&project), approved);

    project.write(PART, "# Part 1\n\n## Terms\n- borrow\n- lifetime\n");
    assert_eq!(
        statuses(&project),
        [
            "part-1 draft",
            "part-1/lesson-01 requires-revalidation",
            "part-1/lesson-01/exercise-0101 requires-revalidation"
        ]
    );
    assert_eq!(
        text(&project.json(&["why", "exercise-0101"]), "summary"),
        "`part-1` changed"
    );
    project.ok(&["restore", "part", "1", "-1"]);
    assert_eq!(statuses(&project), approved);
    project.ok(&["undo"]);
    project.ok(&["approve", "part-1"]);
    project.ok(&["revalidate", "--all", "--keep"]);
    assert_eq!(statuses(&project), approved);
    assert_eq!(
        names_in(&project, "course/part-1/backups").len(),
        3,
        "two edits' worth and the undo"
    );
    project.ok(&["check"]);
    assert_refused(
        &project,
        &["plan", "act", "1"],
        "invalid",
        &["no level `act`: expected one of part, lesson, exercise"],
    );
    assert_refused(&project, &["plan", "lesson", "41"], "invalid", &["1–40"]);
}

#[test]
fn a_profile_of_ones_own_beside_a_built_in_one() {
    let project = empty();
    project.write(".throughline/profiles/course.toml", COURSE);
    project.ok(&["init", "--profile", "story,course"]);
    project.plan_story();
    project.write(PART, "# Part 1\n");
    let mut found = statuses(&project);
    found.sort();
    assert_eq!(
        found,
        [
            "act-1 approved",
            "act-1/chapter-01 approved",
            "act-1/chapter-01/scene-0101 approved",
            "part-1 draft"
        ]
    );
}

#[test]
fn every_mistake_names_file_line_key_and_what_is_allowed() {
    // (what is replaced, by what, line it is reported at, what is said)
    let cases: &[(&str, &str, &str, &[&str])] = &[
        (
            "purpose = \"what a",
            "porpose = \"what a",
            "10",
            &["`porpose`", "did you mean `purpose`?"],
        ),
        (
            "title = \"Course\"",
            "titel = \"Course\"",
            "3",
            &["`titel`", "did you mean `title`?"],
        ),
        (
            "alias = \"lesson-{n:2}\"",
            "alias = \"lesson-{nr}\"",
            "16",
            &["`level.alias`", "`{nr}`", "`{n}`"],
        ),
        (
            "alias = \"lesson-{n:2}\"",
            "alias = \"lesson\"",
            "16",
            &["`level.alias`", "`{n}`"],
        ),
        (
            "alias = \"lesson-{n:2}\"",
            "alias = \"lesson/{n}\"",
            "16",
            &["`level.alias`", "slash"],
        ),
        (
            "alias = \"lesson-{n:2}\"",
            "alias = \"lesson-{n\"",
            "16",
            &["`level.alias`"],
        ),
        (
            "alias = \"exercise-{parent.n:2}{n:2}\"",
            "alias = \"exercise-{parent.n}{n:2}\"",
            "24",
            &["`level.alias`", "width"],
        ),
        (
            "under = [\"part\"]",
            "under = [\"prat\"]",
            "15",
            &[
                "`level.under`",
                "no level `prat`",
                "`part`, `lesson`, `exercise`",
            ],
        ),
        (
            "under = [\"part\"]\n",
            "",
            "14",
            &["`level.under`", "`lesson`", "`root = true`"],
        ),
        (
            "numbers = \"1-40\"",
            "numbers = \"many\"",
            "17",
            &["`level.numbers`", "\"1-99\""],
        ),
        (
            "numbers = \"1-40\"",
            "numbers = \"40-1\"",
            "17",
            &["`level.numbers`", "\"1-99\""],
        ),
        (
            "name = \"lesson\"",
            "name = \"a lesson\"",
            "14",
            &["`level.name`", "one word"],
        ),
        (
            "name = \"lesson\"",
            "name = \"part\"",
            "14",
            &["`level.name`", "duplicate level `part`"],
        ),
        (
            "file = \"lessons/{alias}/lesson.md\"",
            "file = \"lessons/lesson.md\"",
            "18",
            &["`level.file`", "{alias}"],
        ),
        (
            "file = \"lessons/{alias}/lesson.md\"",
            "file = \"../{alias}.md\"",
            "18",
            &["`level.file`"],
        ),
        (
            "file = \"lessons/{alias}/lesson.md\"",
            "file = \"/{alias}.md\"",
            "18",
            &["`level.file`"],
        ),
        ("root = true", "root = \"yes\"", "7", &["boolean"]),
        (
            "words = [\"terms\", \"glossary\"]",
            "words = [\"terms\"]\nlevels = [\"lection\"]",
            "39",
            &["`facet.levels`", "no level `lection`"],
        ),
        (
            "text = \"Write it down.\"",
            "txt = \"Write it down.\"",
            "34",
            &["`txt`", "did you mean `text`?"],
        ),
        (
            "root = true\n",
            "under = [\"exercise\"]\n",
            "2",
            &["`level.root`", "`root = true`"],
        ),
    ];
    for (from, to, line, parts) in cases {
        assert!(COURSE.contains(from), "{from}");
        let project = empty();
        project.write(
            ".throughline/profiles/course.toml",
            COURSE.replacen(from, to, 1),
        );
        let place = format!(".throughline/profiles/course.toml:{line}: ");
        let mut all = vec![place.as_str()];
        all.extend(*parts);
        assert_refused(&project, &["init", "--profile", "course"], "invalid", &all);
    }
}

#[test]
fn a_profile_that_breaks_later_is_told_too() {
    let project = course();
    project.write(PART, "# Part 1\n");
    project.ok(&["approve", "part-1"]);
    project.write(
        ".throughline/profiles/course.toml",
        COURSE.replace("part-{n}", "part-{m}"),
    );
    assert_refused(
        &project,
        &["status"],
        "invalid",
        &[".throughline/profiles/course.toml:8", "`{m}`"],
    );
    project.write(".throughline/profiles/course.toml", COURSE);
    assert_eq!(statuses(&project), ["part-1 approved"]);
}

#[test]
fn file_and_name_must_agree() {
    let project = empty();
    project.write(".throughline/profiles/kurs.toml", COURSE);
    assert_refused(
        &project,
        &["init", "--profile", "kurs"],
        "invalid",
        &[".throughline/profiles/kurs.toml", "name is `course`"],
    );
}

#[test]
fn a_profile_without_levels_is_told() {
    for text in ["name = \"course\"\n", "name = \"course\"\nlevel = []\n"] {
        let project = empty();
        project.write(".throughline/profiles/course.toml", text);
        assert_refused(
            &project,
            &["init", "--profile", "course"],
            "invalid",
            &[".throughline/profiles/course.toml:1: ", "level"],
        );
    }
}

#[test]
fn an_own_profile_may_replace_a_built_in_one() {
    let project = empty();
    project.write(
        ".throughline/profiles/story.toml",
        COURSE.replace("name = \"course\"", "name = \"story\""),
    );
    project.ok(&["init"]);
    project.ok(&["plan", "part", "1"]);
}

#[test]
fn tickets_are_a_tree_of_tickets() {
    let project = empty();
    project.ok(&["init", "--profile", "tickets"]);
    let view = project.json(&["plan"]);
    assert!(
        !view["entries"].as_array().expect("a list").is_empty(),
        "{view}"
    );
}

const RUSSIAN: &str = r#"
name = "курс"
title = "Курс"

[[level]]
name = "часть"
root = true
alias = "часть-{n}"
file = "курс/{alias}/план.md"
purpose = "чему учит часть"

[[level]]
name = "урок"
under = ["часть"]
alias = "урок-{n:2}"
file = "уроки/{alias}.md"

[[facet]]
name = "термины"
words = ["термины"]
"#;

fn russian_course() -> Project {
    let project = empty();
    project.write(".throughline/profiles/курс.toml", RUSSIAN);
    project.ok(&["init", "--profile", "курс"]);
    project
}

#[test]
fn a_profile_in_another_script() {
    let project = russian_course();
    let view = project.json(&["plan", "часть", "1"]);
    assert_eq!(text(&view, "file_path"), "курс/часть-1/план.md");
    project.write(
        "курс/часть-1/план.md",
        "# Часть первая\n\n## Термины\n- заём\n",
    );
    project.ok(&["approve", "часть", "1"]);
    project.write(
        "курс/часть-1/уроки/урок-01.md",
        "# Урок первый\n\n## Термины\n- время жизни\n",
    );
    let output = project.ok(&["approve", "урок", "1"]);
    assert!(
        output
            .stderr
            .contains("термины not named in parent `часть-1`: время жизни"),
        "{}",
        output.stderr
    );
    let forms: [&[&str]; 4] = [
        &["show", "урок-01"],
        &["show", "урок-1"],
        &["show", "урок", "1"],
        &["show", "часть-1/урок-01"],
    ];
    for arguments in forms {
        assert_eq!(
            text(&project.json(arguments), "path"),
            "часть-1/урок-01",
            "tl {arguments:?}"
        );
    }
    assert_refused(&project, &["show", "урок-02"], "not-found", &["`урок-01`"]);
    assert_eq!(
        project.ok(&["tree"]).stdout,
        "часть-1  ✓ approved  Часть первая\n└─ урок-01  ✓ approved  Урок первый\n"
    );
    project.write("курс/часть-1/план.md", "# Часть первая, иначе\n");
    assert_eq!(
        statuses(&project),
        ["часть-1 draft", "часть-1/урок-01 requires-revalidation"]
    );
    project.ok(&["restore", "часть", "1", "-1"]);
    assert_eq!(
        statuses(&project),
        ["часть-1 approved", "часть-1/урок-01 approved"]
    );
    project.ok(&["check"]);
}

#[test]
fn capitals_do_not_matter_in_any_script() {
    let project = russian_course();
    project.write("курс/часть-1/план.md", "# Часть первая\n");
    for arguments in [
        ["show", "Часть", "1"].as_slice(),
        &["show", "ЧАСТЬ", "1"],
        &["show", "Часть-1"],
        &["plan", "Часть", "1"],
    ] {
        let view = project.json(arguments);
        assert_eq!(view["path"], json!("часть-1"), "tl {arguments:?}: {view}");
    }
}
