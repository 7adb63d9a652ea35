//! The whole-process benchmark: the program as people and hooks run it, beside an empty process.
//!
//! Every round runs each command once, so that a busy moment of the machine hits all of them alike; the
//! ratios are what to look at. It never fails because of a number: machines differ.

pub(crate) mod compare;
pub(crate) mod crowd;
pub(crate) mod git;
pub(crate) mod hooks;
mod measure;
mod report;
pub(crate) mod scale;
pub(crate) mod search;
mod server;
pub(crate) mod shape;
pub(crate) mod story;
pub(crate) mod team;
pub(crate) mod tickets;
pub(crate) mod web;
pub(crate) mod work;

use std::path::{Path, PathBuf};
use std::process::Command;

use self::measure::{Sample, sample};
use self::story::{SHOWN, Story};
use crate::workspace::{command, target_directory};
use crate::{Outcome, generate, say, say_error};

/// How thorough the measuring is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Full,
    Quick,
}

impl Length {
    fn rounds(self) -> usize {
        match self {
            Self::Full => 100,
            Self::Quick => 15,
        }
    }
}

/// What is measured. The order is that of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Empty,
    /// `/bin/true`, an ordinary program of the system.
    True,
    TwoSyncs,
    Start,
    ShowSmall,
    ShowLarge,
    ChangeSmall,
    ChangeLarge,
    TreeLarge,
}

impl Case {
    const ALL: [Self; 9] = [
        Self::Empty,
        Self::True,
        Self::TwoSyncs,
        Self::Start,
        Self::ShowSmall,
        Self::ShowLarge,
        Self::ChangeSmall,
        Self::ChangeLarge,
        Self::TreeLarge,
    ];

    /// How many of them are short; the others have rounds of their own, because a process of a hundred
    /// milliseconds leaves nothing in the processor's caches for the one that comes after it.
    const SHORT: usize = 8;

    /// Those that run `tl`, without the yardsticks.
    const OF_THE_PROGRAM: [Self; 6] = [
        Self::Start,
        Self::ShowSmall,
        Self::ShowLarge,
        Self::ChangeSmall,
        Self::ChangeLarge,
        Self::TreeLarge,
    ];
}

/// Builds, makes the two projects, measures, prints a Markdown table.
pub(crate) fn bench(length: Length) -> Outcome {
    say_error("building (dist)");
    generate::build_dist()?;
    let target = target_directory()?;
    let release = target.join("dist");
    // Not in the system's temporary directory: that may be in memory, where a sync costs nothing.
    let folder = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let program = release.join("tl");
    say_error("making a story of 100 nodes");
    let small = Story::make(&program, &folder.path().join("small"), story::SMALL, length)?;
    say_error("making a story of 10,000 nodes");
    let large = Story::make(&program, &folder.path().join("large"), story::LARGE, length)?;
    let runner = Runner {
        release,
        scratch: folder.path().to_owned(),
        small,
        large,
    };

    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); Case::ALL.len()];
    let rounds = length.rounds();
    say_error(&format!("measuring, {rounds} rounds"));
    for round in 0..rounds + WARM_UP {
        for step in 0..Case::SHORT {
            // Each round starts with another case: none always follows the same neighbour.
            let index = (step + round) % Case::SHORT;
            let taken = sample(&mut runner.command(Case::ALL[index], round))?;
            if round >= WARM_UP {
                samples[index].push(taken);
            }
        }
    }
    for round in 0..rounds / 4 {
        for (case, samples) in Case::ALL.into_iter().zip(&mut samples).skip(Case::SHORT) {
            samples.push(sample(&mut runner.command(case, round))?);
        }
    }
    say(&report::table(&samples, rounds));
    Ok(())
}

const WARM_UP: usize = 2;

/// Makes the two stories with `program`, for a comparison of builds.
fn make_suite(
    release: &Path,
    program: &Path,
    folder: &Path,
    length: Length,
) -> Result<Box<dyn compare::Suite>, String> {
    Ok(Box::new(Runner {
        small: Story::make(program, &folder.join("small"), story::SMALL, length)?,
        large: Story::make(program, &folder.join("large"), story::LARGE, length)?,
        release: release.to_owned(),
        scratch: folder.to_owned(),
    }))
}

impl compare::Suite for Runner {
    fn case_names(&self) -> Vec<String> {
        let names = Case::OF_THE_PROGRAM.into_iter().map(report::name);
        names.map(str::to_owned).collect()
    }

    fn run_case(&self, index: usize, round: usize) -> Result<Option<Sample>, String> {
        sample(&mut self.command(Case::OF_THE_PROGRAM[index], round)).map(Some)
    }
}

struct Runner {
    release: PathBuf,
    scratch: PathBuf,
    small: Story,
    large: Story,
}

impl Runner {
    fn command(&self, case: Case, round: usize) -> Command {
        // Every call must change something, or nothing is written.
        let progress = if round.is_multiple_of(2) {
            "active"
        } else {
            "pending"
        };
        match case {
            Case::Empty => command(self.release.join("empty")),
            Case::True => command("/bin/true"),
            Case::TwoSyncs => two_syncs(&self.release, &self.scratch),
            Case::Start => self.small.command(&["--version"]),
            Case::ShowSmall => self.small.command(&["show", SHOWN]),
            Case::ShowLarge => self.large.command(&["show", SHOWN]),
            Case::ChangeSmall => self.small.command(&["progress", SHOWN, progress]),
            Case::ChangeLarge => self.large.command(&["progress", SHOWN, progress]),
            Case::TreeLarge => self.large.command(&["tree", "--json"]),
        }
    }
}

fn two_syncs(release: &Path, scratch: &Path) -> Command {
    let mut floor = command(release.join("two_syncs"));
    floor.arg(scratch);
    floor
}
