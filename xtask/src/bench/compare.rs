//! Two builds of the program side by side: the same commands and hooks, interleaved, as ratios new / old.
//!
//! Each build makes its own projects, because the format on disk may differ. Every round runs each case with
//! both builds, in alternating order, so that a busy moment of the machine hits both alike. What is compared is
//! the median of the per-round ratios: it is far steadier than the ratio of two medians on a busy machine.

use std::path::{Path, PathBuf};

use super::measure::{Sample, percentile};
use super::report::milliseconds;
use super::{Length, WARM_UP, hooks, work};
use crate::workspace::target_directory;
use crate::{Outcome, generate, say, say_error};

/// A case may be this much slower than in the old build before the table marks it.
const MAX_RATIO: f64 = 1.03;

/// Cases that one build runs on projects of its own.
pub(super) trait Suite {
    /// Names of the cases, in the order they are run.
    fn case_names(&self) -> Vec<String>;

    /// Runs one case once.
    fn run_case(&self, index: usize, round: usize) -> Result<Option<Sample>, String>;
}

type MakeSuite = fn(
    release: &Path,
    program: &Path,
    folder: &Path,
    length: Length,
) -> Result<Box<dyn Suite>, String>;

const SUITES: [(&str, MakeSuite); 3] = [
    ("commands", super::make_suite),
    ("hooks", hooks::make_suite),
    ("work", work::make_suite),
];

/// Compares the program at `old` with the one at `new`, or with the present tree, which is built.
pub(crate) fn bench(old: &str, new: Option<&str>, length: Length) -> Outcome {
    let find = |path: &str| {
        PathBuf::from(path)
            .canonicalize()
            .map_err(|error| format!("cannot use {path}: {error}"))
    };
    let old = find(old)?;
    let target = target_directory()?;
    let release = target.join("dist");
    let new = match new {
        Some(new) => find(new)?,
        None => {
            say_error("building (dist)");
            generate::build_dist()?;
            release.join("tl")
        }
    };
    let folder = tempfile::Builder::new()
        .prefix("bench-compare-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let rounds = length.rounds();
    let mut text = format!(
        "{rounds} rounds; old and new interleaved; milliseconds; × is the median of the rounds' ratios new / old.\n\n\
         | case | old CPU | new CPU | CPU × | old wall | new wall | wall × | |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n"
    );
    for (name, make) in SUITES {
        say_error(&format!("{name}: making the projects of both builds"));
        let of_old = make(
            &release,
            &old,
            &folder.path().join(name).join("old"),
            length,
        )?;
        let of_new = make(
            &release,
            &new,
            &folder.path().join(name).join("new"),
            length,
        )?;
        say_error(&format!("{name}: measuring, {rounds} rounds"));
        for (case, pairs) in of_new
            .case_names()
            .into_iter()
            .zip(run_rounds(&*of_old, &*of_new, rounds)?)
        {
            text.push_str(&render_row(&case, &pairs));
        }
    }
    say(&text);
    Ok(())
}

/// Runs every case with both builds in every round; returns the pairs (old, new) per case.
fn run_rounds(
    old: &dyn Suite,
    new: &dyn Suite,
    rounds: usize,
) -> Result<Vec<Vec<(Sample, Sample)>>, String> {
    let mut pairs: Vec<Vec<(Sample, Sample)>> = vec![Vec::new(); new.case_names().len()];
    for round in 0..rounds + WARM_UP {
        for (index, pairs) in pairs.iter_mut().enumerate() {
            let taken = if round.is_multiple_of(2) {
                let before = old.run_case(index, round)?;
                (before, new.run_case(index, round)?)
            } else {
                let after = new.run_case(index, round)?;
                (old.run_case(index, round)?, after)
            };
            if let ((Some(before), Some(after)), true) = (taken, round >= WARM_UP) {
                pairs.push((before, after));
            }
        }
    }
    Ok(pairs)
}

fn render_row(case: &str, pairs: &[(Sample, Sample)]) -> String {
    let cpu = median_ratio(pairs.iter().map(|(old, new)| (old.cpu, new.cpu)));
    let wall = median_ratio(pairs.iter().map(|(old, new)| (old.wall, new.wall)));
    let median = |pick: fn(&(Sample, Sample)) -> std::time::Duration| {
        milliseconds(percentile(pairs.iter().map(pick), 50))
    };
    let verdict = if cpu.max(wall) <= MAX_RATIO {
        "✓"
    } else {
        "over"
    };
    format!(
        "| {case} | {} | {} | {cpu:.3} | {} | {} | {wall:.3} | {verdict} |\n",
        median(|pair| pair.0.cpu),
        median(|pair| pair.1.cpu),
        median(|pair| pair.0.wall),
        median(|pair| pair.1.wall),
    )
}

fn median_ratio(pairs: impl Iterator<Item = (std::time::Duration, std::time::Duration)>) -> f64 {
    let mut ratios: Vec<f64> = pairs
        .map(|(old, new)| super::report::ratio(new, old))
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or_default()
}
