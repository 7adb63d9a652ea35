//! Search: `tl search` over 10,000 plans with 20 MB of text.
//!
//! Every case is one whole process. The first search makes the index; it is measured once, apart from
//! the others, which find it up to date or one plan behind.

use std::time::Duration;

use super::git::Build;
use super::measure::{Sample, percentile, sample};
use super::report::milliseconds;
use super::story::{self, Shape, Story};
use super::{Length, WARM_UP};
use crate::workspace::target_directory;
use crate::{Outcome, generate, say, say_error};

/// Words of a plan: about 2 kB.
const PLAN_WORDS: usize = 300;
/// Number of different words.
const VOCABULARY: u64 = 20_000;

/// A plan that is changed between two searches.
pub(super) const CHANGED_FILE: &str =
    "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";

/// Queries from rare to frequent: a rare word, two words, a phrase, a prefix, a frequent word with
/// filters, a misspelt word.
const QUERIES: [&[&str]; 6] = [
    &["w17001q"],
    &["w300q", "w4000q"],
    &["\"w3q w9q\""],
    &["w190"],
    &["w1q", "kind:plan", "under:act-1"],
    &["w1700q1"],
];

/// Builds, makes the projects, measures, prints a Markdown table.
pub(crate) fn bench(length: Length, build: Build) -> Outcome {
    let target = target_directory()?;
    let programs = match build {
        Build::Dist => {
            generate::build_dist()?;
            target.join("dist")
        }
        Build::Release => {
            generate::build_profile("release")?;
            target.join("release")
        }
    };
    let folder = tempfile::Builder::new()
        .prefix("bench-search-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let program = programs.join("tl");
    let shape = match length {
        Length::Full => story::LARGE,
        Length::Quick => story::ACT_OF_220,
    };
    say_error(&format!("making a story of {} plans", shape.node_count()));
    let story = Story::empty(&program, &folder.path().join("search"))?;
    story.tl(&["init", "--profile", "story"])?;
    write_texts(&story, shape)?;
    story.tl(&["status"])?;
    let mut lines = vec![
        "| case | p50 | p95 | max |".to_owned(),
        "| --- | ---: | ---: | ---: |".to_owned(),
    ];
    say_error("measuring the first search");
    let first = sample(&mut story.command(&["search", "w17001q"]))?;
    lines.push(render_row(
        "the first search, which makes the index",
        &[first],
    ));
    let rounds = length.rounds();
    for query in QUERIES {
        let words: Vec<&str> = std::iter::once("search")
            .chain(query.iter().copied())
            .collect();
        let mut taken = Vec::new();
        for round in 0..rounds + WARM_UP {
            let one = sample(&mut story.command(&words))?;
            if round >= WARM_UP {
                taken.push(one);
            }
        }
        lines.push(render_row(&format!("`tl {}`", words.join(" ")), &taken));
    }
    let mut taken = Vec::new();
    for round in 0..rounds {
        let text = render_text("Scene", round as u64 + 1_000_000);
        story.write(CHANGED_FILE, &text)?;
        story::let_files_settle();
        story.tl(&["status"])?;
        taken.push(sample(&mut story.command(&["search", "w17001q"]))?);
    }
    lines.push(render_row("a search after one plan changed", &taken));
    say(&lines.join("\n"));
    Ok(())
}

fn render_row(name: &str, samples: &[Sample]) -> String {
    let wall = |share| percentile(samples.iter().map(|sample| sample.wall), share);
    let longest = samples.iter().map(|sample| sample.wall).max();
    format!(
        "| {name} | {} | {} | {} |",
        milliseconds(wall(50)),
        milliseconds(wall(95)),
        milliseconds(longest.unwrap_or(Duration::ZERO))
    )
}

/// Writes a text of its own into every plan.
pub(super) fn write_texts(story: &Story, shape: Shape) -> Result<(), String> {
    story.write_plans(shape)?;
    for (seed, file) in shape.scene_files().enumerate() {
        story.write(&file, &render_text("Scene", seed as u64))?;
    }
    Ok(())
}

/// Returns a text of words that are as unevenly frequent as those of a language.
pub(super) fn render_text(title: &str, seed: u64) -> String {
    let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let mut text = format!("# {title} {seed}\n\n");
    for place in 0..PLAN_WORDS {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // The product of two even distributions is steep at its start.
        let (one, other) = ((state >> 16) % VOCABULARY, (state >> 40) % VOCABULARY);
        text.push_str(&format!("w{}q", one * other / VOCABULARY));
        text.push(if place % 12 == 11 { '\n' } else { ' ' });
    }
    text
}
