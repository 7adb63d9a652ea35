//! Large projects, two builds side by side: what grows with the number of plans or tickets.
//!
//! Each build makes its own projects, because the format on disk may differ, and every round runs
//! each case with both, in alternating order. What git does before a case is not measured. The limit
//! of a case is absolute and holds for an idle machine; the ratio is what a busy one can show.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::git::{add_worktree, change_on_branch, make_repository, run_git, settle_repository};
use super::measure::{Sample, percentile, sample};
use super::report::{megabytes, milliseconds, ratio};
use super::search::write_texts;
use super::story::{self, Shape, Story};
use super::tickets::make_tickets;
use super::{Length, WARM_UP};
use crate::workspace::target_directory;
use crate::{Outcome, generate, say, say_error};

/// An act of 30 chapters with 300 scenes, into which a chapter is inserted.
const SHAPED: Shape = Shape::new(1, 30, 10, 0);
/// An act with 91 chapters and 910 scenes, approved with one command.
const APPROVED: Shape = Shape::new(1, 91, 10, 0);
/// Number of plans that the other branch changes.
const CHANGED: usize = 500;
/// Number of approved plans, each with its decision file.
const DECISIONS: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Status,
    Tree,
    Checkout,
    Worktree,
    Clone,
    Check,
    CheckHuge,
    TicketNewSmall,
    TicketNew,
    Next,
    TicketStatus,
    Search,
    SearchAfterChange,
    Insert,
    Approve,
}

/// What is limited, and by how much.
enum Limit {
    CpuMs(f64),
    WallMs(f64),
    PeakMb(f64),
}

impl Case {
    const ALL: [Self; 15] = [
        Self::Status,
        Self::Tree,
        Self::Checkout,
        Self::Worktree,
        Self::Clone,
        Self::Check,
        Self::CheckHuge,
        Self::TicketNewSmall,
        Self::TicketNew,
        Self::Next,
        Self::TicketStatus,
        Self::Search,
        Self::SearchAfterChange,
        Self::Insert,
        Self::Approve,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Status => "`tl status`, 10,000 plans, nothing changed",
            Self::Tree => "`tl tree --json`, 10,000 plans",
            Self::Checkout => "`tl status` after a checkout that changed 500 of 10,000 plans",
            Self::Worktree => "the first `tl status` in a new worktree, 10,000 plans",
            Self::Clone => "the first `tl status` in a fresh clone, 10,000 plans",
            Self::Check => "`tl check`, 10,000 plans",
            Self::CheckHuge => "`tl check`, 50,000 plans",
            Self::TicketNewSmall => "`tl ticket new`, 100 tickets",
            Self::TicketNew => "`tl ticket new`, 10,000 tickets",
            Self::Next => "`tl next`, 10,000 tickets",
            Self::TicketStatus => "`tl status`, 10,000 tickets",
            Self::Search => "`tl search`, 10,000 plans, 20 MB of text",
            Self::SearchAfterChange => "`tl search` after one plan changed",
            Self::Insert => "`tl insert` of a chapter, act of 30 chapters and 300 scenes",
            Self::Approve => "`tl approve --below`, 1,002 plans",
        }
    }

    fn limit(self) -> Option<Limit> {
        Some(match self {
            Self::Checkout => Limit::CpuMs(150.0),
            Self::Worktree => Limit::WallMs(1_000.0),
            Self::Clone => Limit::CpuMs(1_200.0),
            Self::Check => Limit::CpuMs(400.0),
            Self::CheckHuge => Limit::PeakMb(120.0),
            Self::TicketNewSmall | Self::TicketNew => Limit::CpuMs(12.0),
            Self::Next | Self::TicketStatus | Self::Search => Limit::CpuMs(25.0),
            Self::Insert => Limit::CpuMs(300.0),
            Self::Approve => Limit::CpuMs(500.0),
            Self::Status | Self::Tree | Self::SearchAfterChange => return None,
        })
    }

    /// Number of measured rounds: a process of milliseconds needs many, and a slow case makes a
    /// clone or a worktree each time.
    fn rounds(self, length: Length) -> usize {
        let is_slow = matches!(
            self,
            Self::Worktree | Self::Clone | Self::CheckHuge | Self::Approve
        );
        match (length, is_slow) {
            (Length::Full, false) => 25,
            (Length::Full, true) => 7,
            (Length::Quick, false) => 7,
            (Length::Quick, true) => 3,
        }
    }
}

/// Compares the program at `old` with the one at `new`, or with the release build of this tree.
pub(crate) fn bench(old: &str, new: Option<&str>, length: Length) -> Outcome {
    let find = |path: &str| {
        PathBuf::from(path)
            .canonicalize()
            .map_err(|error| format!("cannot use {path}: {error}"))
    };
    let old = find(old)?;
    let target = target_directory()?;
    let new = match new {
        Some(new) => find(new)?,
        None => {
            say_error("building (release)");
            generate::build_profile("release")?;
            target.join("release/tl")
        }
    };
    let folder = tempfile::Builder::new()
        .prefix("bench-scale-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let projects = [
        Projects::make(&old, &folder.path().join("old"))?,
        Projects::make(&new, &folder.path().join("new"))?,
    ];
    say(
        "old and new interleaved; medians in milliseconds; × is the median of the rounds' ratios new / old.\n\n\
         | case | rounds | old CPU | new CPU | CPU × | old wall | new wall | old MB | new MB | limit | |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    );
    for case in Case::ALL {
        say_error(&format!("measuring {}", case.name()));
        let mut pairs = Vec::new();
        for round in 0..case.rounds(length) + WARM_UP {
            let first = round % 2;
            let one = projects[first].sample(case, round)?;
            let other = projects[1 - first].sample(case, round)?;
            let pair = if first == 0 {
                (one, other)
            } else {
                (other, one)
            };
            if round >= WARM_UP {
                pairs.push(pair);
            }
        }
        say(&render_row(case, &pairs));
    }
    Ok(())
}

/// The projects of one build.
struct Projects {
    folder: PathBuf,
    plans: Story,
    huge: Story,
    few_tickets: Story,
    tickets: Story,
    texts: Story,
    shaped: Story,
    approved: Story,
}

impl Projects {
    fn make(program: &Path, folder: &Path) -> Result<Self, String> {
        say_error(&format!("making the projects of {}", program.display()));
        let plans = make_repository(program, &folder.join("plans"), story::LARGE, DECISIONS)?;
        change_on_branch(&plans, story::LARGE, CHANGED)?;
        let texts = Story::empty(program, &folder.join("texts"))?;
        texts.tl(&["init", "--profile", "story"])?;
        write_texts(&texts, story::LARGE)?;
        texts.tl(&["status"])?;
        Ok(Self {
            huge: make_repository(program, &folder.join("huge"), story::HUGE, 1)?,
            few_tickets: make_tickets(program, &folder.join("few-tickets"), 100)?,
            tickets: make_tickets(program, &folder.join("tickets"), 10_000)?,
            shaped: make_repository(program, &folder.join("shaped"), SHAPED, 331)?,
            approved: make_repository(program, &folder.join("approved"), APPROVED, 0)?,
            folder: folder.to_owned(),
            plans,
            texts,
        })
    }

    fn sample(&self, case: Case, round: usize) -> Result<Sample, String> {
        let title = format!("Measured {round}");
        match case {
            Case::Status => sample(&mut self.plans.command(&["status"])),
            Case::Tree => sample(&mut self.plans.command(&["tree", "--json"])),
            Case::Checkout => {
                let branch = ["other", "main"][round % 2];
                run_git(&self.plans.path(""), &["checkout", "-q", branch])?;
                sample(&mut self.plans.command(&["status"]))
            }
            Case::Worktree => {
                let place = self.folder.join(format!("worktree-{round}"));
                add_worktree(&self.plans, &place)?;
                sample(&mut self.command_in(&place))
            }
            Case::Clone => {
                let place = self.folder.join(format!("clone-{round}"));
                let (from, to) = (self.plans.path(""), place.display().to_string());
                let from = from.display().to_string();
                run_git(&self.folder, &["clone", "-q", &from, &to])?;
                sample(&mut self.command_in(&place))
            }
            Case::Check => sample(&mut self.plans.command(&["check"])),
            Case::CheckHuge => sample(&mut self.huge.command(&["check"])),
            Case::TicketNewSmall => {
                sample(&mut self.few_tickets.command(&["ticket", "new", &title]))
            }
            Case::TicketNew => sample(&mut self.tickets.command(&["ticket", "new", &title])),
            Case::Next => sample(&mut self.tickets.command(&["next"])),
            Case::TicketStatus => sample(&mut self.tickets.command(&["status"])),
            Case::Search => sample(&mut self.texts.command(&["search", "w300q", "w4000q"])),
            Case::SearchAfterChange => {
                let text = super::search::render_text("Scene", round as u64 + 1_000_000);
                self.texts.write(super::search::CHANGED_FILE, &text)?;
                self.texts.tl(&["status"])?;
                sample(&mut self.texts.command(&["search", "w300q", "w4000q"]))
            }
            Case::Insert => {
                let words = ["insert", "act-1/chapter-04", "--title", &title];
                let taken = sample(&mut self.shaped.command(&words))?;
                self.shaped.tl(&["undo", "--yes"])?;
                settle_repository(&self.shaped)?;
                Ok(taken)
            }
            Case::Approve => {
                let taken = sample(&mut self.approved.command(&["approve", "--below", "act-1"]))?;
                self.approved.tl(&["undo", "--yes"])?;
                Ok(taken)
            }
        }
    }

    /// Returns `tl status` in another working tree of the plans.
    fn command_in(&self, folder: &Path) -> Command {
        let mut command = self.plans.command(&["status"]);
        command.current_dir(folder);
        command
    }
}

fn render_row(case: Case, pairs: &[(Sample, Sample)]) -> String {
    let median = |pick: fn(&Sample) -> std::time::Duration| {
        let old = percentile(pairs.iter().map(|(old, _)| pick(old)), 50);
        (old, percentile(pairs.iter().map(|(_, new)| pick(new)), 50))
    };
    let (old_cpu, new_cpu) = median(|sample| sample.cpu);
    let (old_wall, new_wall) = median(|sample| sample.wall);
    let mut ratios: Vec<f64> = pairs
        .iter()
        .map(|(old, new)| ratio(new.cpu, old.cpu))
        .collect();
    ratios.sort_by(f64::total_cmp);
    let peak = |pick: fn(&(Sample, Sample)) -> u64| {
        megabytes(pairs.iter().map(pick).max().unwrap_or_default())
    };
    let (old_peak, new_peak) = (
        peak(|pair| pair.0.peak_bytes),
        peak(|pair| pair.1.peak_bytes),
    );
    let in_ms = |duration: std::time::Duration| duration.as_secs_f64() * 1e3;
    let (limit, is_met) = match case.limit() {
        None => (String::new(), None),
        Some(Limit::CpuMs(most)) => (format!("{most} ms CPU"), Some(in_ms(new_cpu) <= most)),
        Some(Limit::WallMs(most)) => (format!("{most} ms wall"), Some(in_ms(new_wall) <= most)),
        Some(Limit::PeakMb(most)) => (format!("{most} MB"), Some(new_peak <= most)),
    };
    format!(
        "| {} | {} | {} | {} | {:.3} | {} | {} | {old_peak:.1} | {new_peak:.1} | {limit} | {} |",
        case.name(),
        pairs.len(),
        milliseconds(old_cpu),
        milliseconds(new_cpu),
        ratios.get(ratios.len() / 2).copied().unwrap_or_default(),
        milliseconds(old_wall),
        milliseconds(new_wall),
        match is_met {
            None => "",
            Some(true) => "✓",
            Some(false) => "over",
        },
    )
}
