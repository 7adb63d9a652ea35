//! References in plans after a change of shape: what is followed, what is qualified, what stays; and
//! names that a change refuses.

use application::FailureKind;
use application::set_progress::{ProgressRequest, set_progress};
use application::shape::{MoveTarget, ShapeChange};
use application::show_node::show_node;
use domain::node::Progress;

use crate::shape::{change, insert};
use crate::world::{World, assert_refused, words};

fn chapter_file(act: u32, chapter: u32) -> String {
    format!("acts/act-{act}/chapters/chapter-{chapter:02}/plan.md")
}

fn scene_file(act: u32, chapter: u32, scene: u32) -> String {
    let folder = format!("acts/act-{act}/chapters/chapter-{chapter:02}");
    format!("{folder}/scenes/scene-{chapter:02}{scene:02}-blueprint.md")
}

/// Two acts of three chapters with two scenes each.
fn two_acts() -> World {
    let world = World::new();
    for act in 1..=2 {
        let file = format!("acts/act-{act}/strategic-plan.md");
        world.files.edit(&file, &format!("# Act {act}\n"));
        for chapter in 1..=3 {
            let text = format!("# Chapter {chapter} of {act}\n");
            world.files.edit(&chapter_file(act, chapter), &text);
            for scene in 1..=2 {
                let text = format!("# Scene {chapter:02}{scene:02} of {act}\n");
                world.files.edit(&scene_file(act, chapter, scene), &text);
            }
        }
    }
    world
}

fn add(world: &World, level: &str, under: &str, name: Option<&str>) {
    let add = ShapeChange::Add {
        level: level.to_owned(),
        under: Some(under.to_owned()),
        name: name.map(str::to_owned),
        title: None,
    };
    change(world, add).unwrap();
}

fn merge(world: &World, node: &str, into: &str) {
    let (node, into) = (words(node), words(into));
    change(world, ShapeChange::Merge { node, into }).unwrap();
}

#[test]
fn a_reference_to_a_plan_that_left_the_act_never_means_another_one() {
    let world = two_acts();
    let file = chapter_file(1, 3);
    world.files.edit(
        &file,
        "# Three\n\n- scene-0301: the one\n- [[scene-0302]]\n",
    );
    let leave = ShapeChange::Move {
        node: words("act-1/chapter-03/scene-0301"),
        target: MoveTarget::Under(Some("act-2/chapter-01".to_owned())),
    };
    change(&world, leave).unwrap();
    let expected = "# Three\n\n- act-2/chapter-01/scene-0103: the one\n- [[scene-0302]]\n";
    assert_eq!(world.files.text(&file).as_deref(), Some(expected));
    add(&world, "scene", "act-1/chapter-01", None);
    merge(
        &world,
        "act-1/chapter-01/scene-0103",
        "act-1/chapter-01/scene-0102",
    );
    assert_eq!(world.files.text(&file).as_deref(), Some(expected));
}

#[test]
fn a_reference_is_qualified_when_a_new_plan_gets_its_name() {
    let world = two_acts();
    world.files.edit(&scene_file(2, 1, 3), "# Only in act 2\n");
    let file = chapter_file(1, 1);
    world.files.edit(&file, "# One\n\nAs in scene-0103.\n");
    add(&world, "scene", "act-1/chapter-01", None);
    assert_eq!(
        world.files.text(&file).as_deref(),
        Some("# One\n\nAs in act-2/chapter-01/scene-0103.\n")
    );
}

/// Returns a line of the plan of act 1 after a second chapter was inserted there.
fn after_insertion(line: &str) -> String {
    let world = two_acts();
    let file = "acts/act-1/strategic-plan.md";
    world.files.edit(file, &format!("# Act 1\n\n{line}\n"));
    insert(&world, "act-1/chapter-02").unwrap();
    let text = world.files.text(file).unwrap();
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn numbers_with_an_act_beside_them_count_in_that_act() {
    for same in [
        "Act 2, chapter 2.",
        "chapter 2 of act 2.",
        "chapters 2 and 3 of act 2",
        "Глава 2 акта 2.",
        "Chapter 2 (act 2)",
        "Act 7, chapter 2",
        "scene 1 of chapter 2 of act 2",
    ] {
        assert_eq!(after_insertion(same), same);
    }
    assert_eq!(after_insertion("Act 1, chapter 2."), "Act 1, chapter 3.");
    assert_eq!(after_insertion("Глава 3 акта 1."), "Глава 4 акта 1.");
}

#[test]
fn a_range_of_numbers_is_rewritten_wholly_or_not_at_all() {
    for (line, expected) in [
        ("chapters 2 to 3.", "chapters 3 to 4."),
        ("chapters 1 through 3.", "chapters 1 through 4."),
        ("chapters 2–9", "chapters 2–9"),
        ("chapters 2, 3 and 9", "chapters 3, 4 and 9"),
        ("С главы 2 по 3.", "С главы 3 по 4."),
        ("с 2 по 3", "с 2 по 3"),
    ] {
        assert_eq!(after_insertion(line), expected);
    }
}

#[test]
fn labels_are_read_in_every_russian_case() {
    for word in ["главы", "глав", "главам", "главами", "главах", "Главах"]
    {
        assert_eq!(
            after_insertion(&format!("{word} 2–3.")),
            format!("{word} 3–4.")
        );
        assert_eq!(
            after_insertion(&format!("{word} 2 и 3.")),
            format!("{word} 3 и 4.")
        );
    }
}

#[test]
fn the_heading_of_an_interlude_follows_its_name() {
    for (name, heading) in [("interlude", "# Interlude"), ("интерлюдия", "# Интерлюдия")]
    {
        let world = two_acts();
        add(&world, "chapter", "act-1", Some(&format!("{name}-02")));
        insert(&world, "act-1/chapter-02").unwrap();
        let file = format!("acts/act-1/chapters/{name}-03/plan.md");
        let text = world.files.text(&file).unwrap();
        assert_eq!(text.lines().next(), Some(format!("{heading}-03").as_str()));
    }
}

#[test]
fn a_merged_plan_does_not_need_itself() {
    for (node, into) in [
        ("act-1/chapter-01", "act-1/chapter-02"),
        ("act-1/chapter-02", "act-1/chapter-01"),
    ] {
        let world = two_acts();
        world.files.edit(
            &chapter_file(1, 2),
            "---\nneeds: [chapter-01]\n---\n# Two\n",
        );
        world.files.edit(
            &chapter_file(1, 3),
            "---\nneeds: [chapter-02]\n---\n# Three\n",
        );
        merge(&world, node, into);
        let number = if into.ends_with('1') { 1 } else { 2 };
        let text = world.files.text(&chapter_file(1, number)).unwrap();
        assert!(!text.contains("needs"), "{text}");
        let text = world.files.text(&chapter_file(1, 3)).unwrap();
        assert!(
            text.contains(&format!("needs: [chapter-0{number}]")),
            "{text}"
        );
    }
}

#[test]
fn a_complete_plan_is_open_again_with_unfinished_work_merged_into_it() {
    let world = two_acts();
    let complete = |node: &str| {
        let request = ProgressRequest {
            node: words(node),
            progress: Progress::Complete,
        };
        set_progress(&world.ctx(), &request).unwrap();
    };
    let progress = |node: &str| show_node(&world.ctx(), &words(node)).unwrap().progress;
    complete("act-1/chapter-01/scene-0101");
    merge(
        &world,
        "act-1/chapter-01/scene-0102",
        "act-1/chapter-01/scene-0101",
    );
    assert_eq!(progress("act-1/chapter-01/scene-0101"), Progress::Active);
    complete("act-1/chapter-02/scene-0201");
    complete("act-1/chapter-02/scene-0202");
    merge(
        &world,
        "act-1/chapter-02/scene-0202",
        "act-1/chapter-02/scene-0201",
    );
    assert_eq!(progress("act-1/chapter-02/scene-0201"), Progress::Complete);
}

#[test]
fn a_plan_is_not_inserted_under_the_name_of_another_parents_plan() {
    let world = two_acts();
    assert_refused(
        insert(&world, "act-1/chapter-02/scene-0301"),
        FailureKind::Invalid,
        "its name says another parent",
    );
}

#[test]
fn refused_changes_name_steps_that_are_possible() {
    let world = two_acts();
    let steps = |refused: ShapeChange| change(&world, refused).unwrap_err().next_steps;
    let taken = ShapeChange::Add {
        level: "chapter".to_owned(),
        under: Some("act-1".to_owned()),
        name: Some("chapter-02".to_owned()),
        title: None,
    };
    assert!(steps(taken)[0].starts_with("tl insert act-1/chapter-02 "));
    let unnumbered = ShapeChange::Renumber {
        node: words("act-1/chapter-01"),
        id: None,
    };
    assert_eq!(
        steps(unnumbered)[0],
        "tl renumber act-1/chapter-01 4   # a free number"
    );
    let file = chapter_file(1, 1);
    world
        .files
        .edit(&file, "# One\n\nText.\n\n## The door\n\nMore.\n");
    let split = ShapeChange::Split {
        node: words("act-1/chapter-01"),
        at: "nowhere".to_owned(),
        title: None,
        children_from: None,
    };
    assert_eq!(steps(split)[0], "tl split act-1/chapter-01 --at 'The door'");
}
