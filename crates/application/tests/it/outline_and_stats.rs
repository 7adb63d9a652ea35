//! Outline and statistics of a project.

use application::make_outline::{OutlineRequest, make_outline};
use application::plan_stats::{StatsRequest, plan_stats};

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
