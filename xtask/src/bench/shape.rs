//! Search and changes of shape at the size of a long book, against the limits that were promised.
//!
//! Every case is one whole process. What a search costs more after one plan changed is the update of the
//! index: both searches alternate, so that a busy moment of the machine hits them alike.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::measure::{Sample, percentile, sample};
use super::report::milliseconds;
use super::search::{CHANGED_FILE, render_text, write_texts};
use super::story::{self, Shape, Story};
use super::{Length, WARM_UP};
use crate::workspace::target_directory;
use crate::{Outcome, generate, say, say_error};

/// The words of the searches: neither rare nor in every plan.
const SEARCH: [&str; 3] = ["search", "w300q", "w4000q"];

/// The sizes of the projects.
struct Sizes {
    searched: Shape,
    /// An act into which a chapter is inserted.
    shaped: Shape,
    /// An act that is approved with one command.
    approved: Shape,
}

impl Sizes {
    fn of(length: Length) -> Self {
        match length {
            Length::Full => Self {
                searched: story::LARGE,
                shaped: Shape::new(1, 30, 10, 0),
                approved: Shape::new(1, 91, 10, 0),
            },
            Length::Quick => Self {
                searched: story::SMALL,
                shaped: Shape::new(1, 6, 4, 0),
                approved: Shape::new(1, 9, 4, 0),
            },
        }
    }
}

/// Measures a program, or the one that is built for it, and prints a Markdown table.
pub(crate) fn bench(program: Option<&str>, length: Length) -> Outcome {
    let target = target_directory()?;
    let program = match program {
        Some(path) => PathBuf::from(path)
            .canonicalize()
            .map_err(|error| format!("cannot use {path}: {error}"))?,
        None => {
            say_error("building (dist)");
            generate::build_dist()?;
            target.join("dist/tl")
        }
    };
    let folder = tempfile::Builder::new()
        .prefix("bench-shape-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let sizes = Sizes::of(length);
    say("| case | plans | rounds | p50 | p95 | limit |\n| --- | ---: | ---: | ---: | ---: | --- |");
    bench_search(
        &program,
        &folder.path().join("search"),
        sizes.searched,
        length,
    )?;
    bench_insert(
        &program,
        &folder.path().join("insert"),
        sizes.shaped,
        length,
    )?;
    bench_approval(
        &program,
        &folder.path().join("approve"),
        sizes.approved,
        length,
    )
}

/// Every round of a command that is undone leaves two decision files for each plan, which the next one reads.
const REVERTED_ROUNDS: usize = 7;

fn make_story(program: &Path, folder: &Path, shape: Shape) -> Result<Story, String> {
    say_error(&format!("making a story of {} plans", shape.node_count()));
    let story = Story::empty(program, folder)?;
    story.tl(&["init", "--profile", "story"])?;
    Ok(story)
}

fn bench_search(program: &Path, folder: &Path, shape: Shape, length: Length) -> Outcome {
    let story = make_story(program, folder, shape)?;
    write_texts(&story, shape)?;
    story.tl(&["status"])?;
    // The first one makes the index.
    story.tl(&SEARCH)?;
    let (mut warm, mut updates) = (Vec::new(), Vec::new());
    for round in 0..length.rounds() + WARM_UP {
        let unchanged = sample(&mut story.command(&SEARCH))?;
        let text = render_text("Scene", round as u64 + 1_000_000);
        story.write(CHANGED_FILE, &text)?;
        // The scan is the price of every command, not of the index.
        story::let_files_settle();
        story.tl(&["status"])?;
        let changed = sample(&mut story.command(&SEARCH))?;
        if round >= WARM_UP {
            updates.push(changed.wall.saturating_sub(unchanged.wall));
            warm.push(unchanged.wall);
        }
    }
    let plans = shape.node_count();
    say_row("`tl search`, index up to date", plans, &warm, "p95 25 ms");
    say_row(
        "index update after one changed plan",
        plans,
        &updates,
        "p50 3 ms",
    );
    Ok(())
}

fn bench_insert(program: &Path, folder: &Path, shape: Shape, length: Length) -> Outcome {
    let story = make_story(program, folder, shape)?;
    story.write_plans(shape)?;
    story.tl(&["approve", "--below", "act-1", "--yes"])?;
    let insert = ["insert", "act-1/chapter-04", "--title", "Measured"];
    let taken = sample_reverted(&story, &insert, length)?;
    let name = "`tl insert` of a chapter in an approved act";
    say_row(name, shape.node_count(), &taken, "300 ms");
    Ok(())
}

/// Approves in a new project each round: with every undone approval the next one reads and names more decisions, and
/// some file systems create files slowly for seconds after many were deleted.
fn bench_approval(program: &Path, folder: &Path, shape: Shape, length: Length) -> Outcome {
    let mut taken = Vec::new();
    for round in 0..length.rounds().min(REVERTED_ROUNDS) {
        let story = make_story(program, &folder.join(round.to_string()), shape)?;
        story.write_plans(shape)?;
        story::let_files_settle();
        story.tl(&["status"])?;
        let entries = count_journal_entries(&story)?;
        let approve = ["approve", "--below", "act-1", "--yes"];
        taken.push(sample(&mut story.command(&approve))?.wall);
        let written = count_journal_entries(&story)? - entries;
        if written != 1 {
            return Err(format!(
                "the approval wrote {written} journal entries instead of one"
            ));
        }
    }
    let name = "`tl approve --below`, one journal entry";
    say_row(name, shape.node_count(), &taken, "500 ms");
    Ok(())
}

/// Measures a command that is undone after each round.
fn sample_reverted(
    story: &Story,
    command: &[&str],
    length: Length,
) -> Result<Vec<Duration>, String> {
    let rounds = length.rounds().min(REVERTED_ROUNDS);
    let mut taken = Vec::new();
    for round in 0..rounds + WARM_UP {
        let Sample { wall, .. } = sample(&mut story.command(command))?;
        story.tl(&["undo", "--yes"])?;
        if round >= WARM_UP {
            taken.push(wall);
        }
    }
    Ok(taken)
}

fn count_journal_entries(story: &Story) -> Result<usize, String> {
    let path = story.path(".throughline/journal.jsonl");
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(text.lines().count())
}

fn say_row(name: &str, plans: usize, taken: &[Duration], limit: &str) {
    let wall = |share| milliseconds(percentile(taken.iter().copied(), share));
    say(&format!(
        "| {name} | {plans} | {} | {} | {} | {limit} |",
        taken.len(),
        wall(50),
        wall(95)
    ));
}
