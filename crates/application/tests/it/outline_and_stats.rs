//! Outline and statistics of a project.

use application::make_outline::{OutlineRequest, make_outline};
use application::plan_documents::create::create_document;
use application::plan_stats::{StatsRequest, plan_stats};
use application::shape::ShapeChange;
use domain::burn_up::PlanTotals;
use domain::profile::built_in_profile;

use crate::shape::change;
use crate::world::{ACT, CHAPTER, World, words};

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
