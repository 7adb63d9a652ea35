//! Commands about tickets in a project of 100 and of 10,000 of them: creating one must not grow with
//! their number, listing the next ones hardly.

use std::path::Path;

use super::measure::{Sample, percentile, sample};
use super::report::milliseconds;
use super::story::Story;
use super::{Length, WARM_UP};
use crate::workspace::target_directory;
use crate::{Outcome, generate, say, say_error};

const SMALL: usize = 100;
const LARGE: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    New,
    Next,
    NextAfterNew,
    Status,
}

impl Case {
    const ALL: [Self; 4] = [Self::Next, Self::Status, Self::New, Self::NextAfterNew];

    fn name(self) -> &'static str {
        match self {
            Self::New => "`tl ticket new`",
            Self::Next => "`tl next`",
            Self::NextAfterNew => "`tl next` after a new ticket",
            Self::Status => "`tl status`",
        }
    }

    fn arguments(self, round: usize) -> Vec<String> {
        let words: &[&str] = match self {
            Self::New => &["ticket", "new"],
            Self::Next | Self::NextAfterNew => &["next"],
            Self::Status => &["status"],
        };
        let title = (self == Self::New).then(|| format!("Measured {round}"));
        words
            .iter()
            .map(|word| (*word).to_owned())
            .chain(title)
            .collect()
    }
}

/// Builds, makes the two projects, measures, prints a Markdown table.
pub(crate) fn bench(length: Length) -> Outcome {
    say_error("building (dist)");
    generate::build_dist()?;
    let target = target_directory()?;
    let folder = tempfile::Builder::new()
        .prefix("bench-tickets-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let program = target.join("dist/tl");
    say(&format!(
        "| command | CPU, {SMALL} tickets | CPU, {LARGE} tickets | wall, {LARGE} tickets |\n| --- | --- | --- | --- |"
    ));
    let small = measure(&program, &folder.path().join("small"), SMALL, length)?;
    let large = measure(&program, &folder.path().join("large"), LARGE, length)?;
    for (case, (small, large)) in Case::ALL.into_iter().zip(small.iter().zip(&large)) {
        let cpu = |samples: &[Sample]| percentile(samples.iter().map(|sample| sample.cpu), 50);
        let wall = percentile(large.iter().map(|sample| sample.wall), 50);
        say(&format!(
            "| {} | {} | {} | {} |",
            case.name(),
            milliseconds(cpu(small)),
            milliseconds(cpu(large)),
            milliseconds(wall)
        ));
    }
    Ok(())
}

fn measure(
    program: &Path,
    folder: &Path,
    tickets: usize,
    length: Length,
) -> Result<Vec<Vec<Sample>>, String> {
    let project = make_tickets(program, folder, tickets)?;
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); Case::ALL.len()];
    for round in 0..length.rounds() + WARM_UP {
        for (case, samples) in Case::ALL.into_iter().zip(&mut samples) {
            let arguments = case.arguments(round);
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let taken = sample(&mut project.command(&words))?;
            if round >= WARM_UP {
                samples.push(taken);
            }
        }
    }
    Ok(samples)
}

/// Makes a project of tickets whose scan is cached.
pub(super) fn make_tickets(program: &Path, folder: &Path, tickets: usize) -> Result<Story, String> {
    say_error(&format!("making {tickets} tickets"));
    let project = Story::empty(program, folder)?;
    project.tl(&["init", "--profile", "tickets"])?;
    for number in 1..=tickets {
        let path = format!("tickets/{number:03}-ticket-{number}/ticket.md");
        let text = format!(
            "---\nid: '{number:03}'\ntype: task\nphase: intake\nstatus: ready\n---\n\n# Ticket {number}\n"
        );
        project.write(&path, &text)?;
    }
    // Twice: the first records the tickets, the second finds their files unchanged and caches that.
    project.tl(&["next"])?;
    project.tl(&["next"])?;
    Ok(project)
}
