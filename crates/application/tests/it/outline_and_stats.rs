//! Outline and statistics of a project.

use application::FailureKind;
use application::check_state::check_state;
use application::make_outline::{OutlineRequest, make_outline, refuse_plan_file};
use application::plan_documents::create::create_document;
use application::plan_stats::{NodeCounts, StatsRequest, plan_stats};
use application::shape::ShapeChange;
use domain::burn_up::PlanTotals;
use domain::profile::built_in_profile;

use crate::shape::change;
use crate::world::{ACT, CHAPTER, SCENE, World, assert_refused, words};

const PROSE: &str = "acts/act-1/chapters/chapter-01/content/scene-0101.md";

#[test]
fn outline_has_titles_synopses_and_statuses() {
    let world = World::with_story();
    world
        .files
        .edit(CHAPTER, "# Прибытие\n\nОна видит маяк. Потом уходит.\n");
    let outline = make_outline(&world.ctx(), &OutlineRequest::default()).unwrap();
    let text = outline.to_markdown();
    assert!(text.contains("## act-1\n\n✓ approved · act-1\n"), "{text}");
    assert!(
        text.contains(
            "### Прибытие\n\n○ draft · act-1/chapter-01\n\nОна видит маяк. Потом уходит.\n"
        ),
        "{text}"
    );
    let request = OutlineRequest {
        node: words("chapter-01"),
        depth: Some(0),
        full: true,
    };
    let part = make_outline(&world.ctx(), &request).unwrap();
    assert_eq!(part.title, "Прибытие");
    assert_eq!(part.entries.len(), 1);
}

#[test]
fn statistics_count_words_targets_and_days() {
    let world = World::with_story();
    world
        .files
        .edit(ACT, "---\ntarget: 1,000\n---\n# act-1\n\none two three\n");
    world.files.edit(PROSE, "Пять слов есть в тексте.\n");
    let request = StatsRequest {
        node: Vec::new(),
        days: 2,
    };
    let stats = plan_stats(&world.ctx(), &request).unwrap();
    let levels: Vec<(&str, usize)> = stats
        .levels
        .iter()
        .map(|level| (level.level.as_str(), level.counts.plans))
        .collect();
    assert_eq!(levels, [("act", 1), ("chapter", 1), ("scene", 1)]);
    assert_eq!(stats.total.prose_words, 5);
    assert_eq!(stats.total.target, Some(1_000));
    assert_eq!(
        (stats.nodes[0].counts.plans, stats.nodes[0].counts.written),
        (3, 1)
    );
    // Everything happened today: yesterday there was nothing.
    let days: Vec<(i64, i64)> = stats
        .history
        .iter()
        .map(|day| (day.totals.planned, day.totals.approved))
        .collect();
    let approved = i64::try_from(stats.total.approved).unwrap();
    assert_eq!(days, [(0, 0), (3, approved)]);
    assert_eq!(stats.history[0].totals.plan_words, 0);
}

/// Defect: the row of a level compared its target with the prose of that level alone, which acts and
/// chapters do not have.
#[test]
fn each_level_has_its_target_and_how_much_of_it_is_written() {
    let world = World::with_story();
    let plan = |target: &str, name: &str| format!("---\n{target}---\n# {name}\n");
    world.files.edit(ACT, &plan("", "act-1"));
    world
        .files
        .edit(CHAPTER, &plan("target: 20\n", "chapter-01"));
    world.files.edit(PROSE, "Пять слов есть в тексте.\n");
    // Its prose aims at nothing.
    world
        .files
        .edit("acts/act-1/chapters/chapter-02/plan.md", "# chapter-02\n");
    world.files.edit(
        "acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md",
        "# scene-0201\n",
    );
    let other = "acts/act-1/chapters/chapter-02/content/scene-0201.md";
    world.files.edit(other, "Ещё три слова.\n");
    let stats = plan_stats(&world.ctx(), &StatsRequest::default()).unwrap();
    let aim = |counts: &NodeCounts| (counts.target, counts.target_percent);
    let levels: Vec<_> = stats
        .levels
        .iter()
        .map(|level| (level.level.as_str(), aim(&level.counts)))
        .collect();
    let of_chapter = (Some(20), Some(25));
    assert_eq!(
        levels,
        [
            ("act", of_chapter),
            ("chapter", of_chapter),
            ("scene", (None, None))
        ]
    );
    assert_eq!(aim(&stats.total), of_chapter);
    assert_eq!(aim(&stats.nodes[0].counts), of_chapter);
    assert_eq!(stats.total.prose_words, 8);
    world.files.edit(ACT, &plan("target: 1k\n", "act-1"));
    let stats = plan_stats(&world.ctx(), &StatsRequest::default()).unwrap();
    // Its own target is not added to those below it, and all of its prose counts.
    assert_eq!(aim(&stats.levels[0].counts), (Some(1_000), Some(0)));
    assert_eq!(aim(&stats.levels[1].counts), of_chapter);
}

#[test]
fn prose_written_by_hand_is_counted_once() {
    let world = World::with_story();
    world.files.edit(PROSE, "Пять слов есть в тексте.\n");
    let request = StatsRequest {
        days: 2,
        ..StatsRequest::default()
    };
    plan_stats(&world.ctx(), &request).unwrap();
    let head = world.head();
    plan_stats(&world.ctx(), &request).unwrap();
    assert_eq!(world.head(), head, "nothing changed, nothing is recorded");
    world.files.edit(PROSE, "Два слова.\n");
    let stats = plan_stats(&world.ctx(), &request).unwrap();
    assert_eq!(world.head().0, head.0 + 1);
    assert_eq!(stats.history[1].totals.prose_words, 2);
    world.files.delete(PROSE);
    let stats = plan_stats(&world.ctx(), &request).unwrap();
    assert_eq!(stats.total.prose_words, 0);
    assert_eq!(world.head().0, head.0 + 2);
}

#[test]
fn the_burn_up_of_a_subtree_has_its_plans_alone() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1\n\none two three\n");
    world
        .files
        .edit("acts/act-2/strategic-plan.md", "# act-2\n");
    let removed = "acts/act-1/chapters/chapter-02/plan.md";
    world
        .files
        .edit(removed, "# chapter-02\n\nfour more words here\n");
    let below = StatsRequest {
        node: words("act-1/chapter-01"),
        days: 2,
    };
    // Recorded before it is removed, or there is no operation that removes it.
    plan_stats(&world.ctx(), &below).unwrap();
    let remove = ShapeChange::Remove {
        node: words("act-1/chapter-02"),
    };
    change(&world, remove).unwrap();
    for node in ["act-1/chapter-01", "act-1"] {
        let request = StatsRequest {
            node: words(node),
            days: 2,
        };
        let stats = plan_stats(&world.ctx(), &request).unwrap();
        let (first, last) = (stats.history[0].totals, stats.history[1].totals);
        // Everything happened today: nothing is left over for yesterday.
        assert_eq!(first, PlanTotals::default(), "{node}");
        assert_eq!(last.planned, i64::try_from(stats.total.plans).unwrap());
        let plan_words = i64::try_from(stats.total.plan_words).unwrap();
        assert_eq!(last.plan_words, plan_words, "{node}");
    }
}

#[test]
fn a_plan_document_is_in_the_outline_by_what_it_is_about() {
    let mut world = World::new();
    world.profiles = vec![built_in_profile("milestones").unwrap()];
    create_document(&world.ctx(), "Add search").unwrap();
    world.freeze("add-search");
    let outline = make_outline(&world.ctx(), &OutlineRequest::default()).unwrap();
    let text = outline.to_markdown();
    assert!(!text.contains("schema_version"), "{text}");
    let full = OutlineRequest {
        full: true,
        ..OutlineRequest::default()
    };
    let text = make_outline(&world.ctx(), &full).unwrap().to_markdown();
    assert!(text.contains("Problem"), "{text}");
    assert!(!text.contains("plan_id"), "{text}");
}

#[test]
fn statistics_count_what_the_tree_has_with_one_line_per_level() {
    let world = World::with_tickets();
    world.files.edit(
        "tickets/017a-loc/test-definitions.md",
        "Scenario: A line is counted\nGiven a line\nThen it counts\n",
    );
    let stats = plan_stats(&world.ctx(), &StatsRequest::default()).unwrap();
    let levels: Vec<(&str, usize)> = stats
        .levels
        .iter()
        .map(|level| (level.level.as_str(), level.counts.plans))
        .collect();
    // The child ticket is a level deeper, and is a ticket all the same.
    assert_eq!(levels, [("ticket", 2), ("scenario", 1)]);
    assert_eq!(stats.total.plans, 3);
}

#[test]
fn an_outline_replaces_no_plan() {
    let world = World::with_story();
    for path in [ACT, SCENE, PROSE] {
        assert_refused(
            refuse_plan_file(&world.ctx(), "/project", path),
            FailureKind::Refused,
            "is the file of a plan",
        );
    }
    refuse_plan_file(&world.ctx(), "/project", "outline.md").unwrap();
}

#[test]
fn a_check_reports_a_target_that_does_not_count() {
    let world = World::with_story();
    world
        .files
        .edit(CHAPTER, "---\ntarget: lots\n---\n# chapter-01\n");
    world.status("chapter-01");
    let checked = check_state(&world.ctx()).unwrap();
    let messages: Vec<&str> = checked
        .findings
        .iter()
        .map(|one| one.message.as_str())
        .collect();
    let expected =
        "`target: lots` of `act-1/chapter-01` is not a number of words, and does not count";
    assert_eq!(messages, [expected]);
}
