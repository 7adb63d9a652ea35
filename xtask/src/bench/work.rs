//! The hooks of a developer's agent: a repository of 5,000 files with 300 tickets, a process per event.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::compare::Suite;
use super::measure::{Sample, percentile, sample_with};
use super::report::{milliseconds, ratio};
use super::story::{self, Story};
use super::{Length, WARM_UP};
use crate::workspace::{command, target_directory};
use crate::{Outcome, generate, say, say_error};

const FILES: usize = 5_000;
const TICKETS: usize = 300;
const EDITED: &str = "src/part-01/file-001.rs";
const SESSION: &str = "00000000-0000-4000-8000-000000000001";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Empty,
    Git,
    Read,
    Look,
    Before,
    BeforePlan,
    After,
    Shell,
    BeforeCounting,
}

impl Case {
    // After a shell command the next edit counts, and that is known from then on: the order matters.
    const ALL: [Self; 9] = [
        Self::Empty,
        Self::Git,
        Self::Read,
        Self::Look,
        Self::Shell,
        Self::BeforeCounting,
        Self::Before,
        Self::BeforePlan,
        Self::After,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Empty => "an empty process",
            Self::Git => "`git status` alone, for comparison",
            Self::Read => "after a file was read",
            Self::Look => "after a shell command that only looks",
            Self::Before => "before an edit, allowed, no git process",
            Self::BeforePlan => "before an edit of the ticket itself",
            Self::After => "after an edit: one git process counts that file",
            Self::Shell => {
                "after a shell command that may change anything: every ticket is looked at"
            }
            Self::BeforeCounting => "before the first edit after it: every file is looked at",
        }
    }
}

/// A turn of an agent that fixes something: it reads and searches, makes three edits, runs the tests. The first edit
/// after the tests counts everything.
const TURN: &[(Case, usize)] = &[
    (Case::Read, 3),
    (Case::Look, 2),
    (Case::BeforeCounting, 1),
    (Case::Before, 2),
    (Case::After, 3),
    (Case::Shell, 1),
];

impl Case {
    fn starts_git(self) -> bool {
        matches!(self, Self::After | Self::BeforeCounting)
    }
}

/// Builds, makes the repository, measures, prints Markdown tables.
pub(crate) fn bench(length: Length) -> Outcome {
    say_error("building (dist)");
    generate::build_dist()?;
    let target = target_directory()?;
    let folder = tempfile::Builder::new()
        .prefix("bench-work-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let release = target.join("dist");
    say_error("making a repository of 5,000 files and 300 tickets");
    let project = Story::empty(&release.join("tl"), &folder.path().join("repository"))?;
    fill(&project)?;
    let project = Runner {
        release,
        scratch: folder.path().to_owned(),
        project,
    };
    // The session looks once, so that it is known where it stands.
    project.sample(Case::After, 1)?;
    let rounds = length.rounds();
    say_error(&format!("measuring hooks of work, {rounds} rounds"));
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); Case::ALL.len()];
    for round in 0..rounds + WARM_UP {
        for (index, case) in Case::ALL.into_iter().enumerate() {
            let taken = project.sample(case, round)?;
            if round >= WARM_UP {
                samples[index].push(taken);
            }
        }
    }
    say(&table(&samples, rounds));
    Ok(())
}

/// Fills a repository: files in fifty folders, tickets in trees of three, the last three days' work uncommitted.
fn fill(project: &Story) -> Outcome {
    project.tl(&["init", "--profile", "tickets"])?;
    for file in 0..FILES {
        let path = format!("src/part-{:02}/file-{:03}.rs", file / 100, file % 100);
        project.write(&path, &story::plan(&format!("File {file}"), 20))?;
    }
    for ticket in 0..TICKETS {
        let (root, child) = (ticket / 3 + 1, ticket % 3);
        let id = match child {
            0 => format!("{root:03}"),
            1 => format!("{root:03}a"),
            _ => format!("{root:03}b"),
        };
        let parent = if child == 0 {
            String::new()
        } else {
            format!("parent: '{root:03}'\n")
        };
        let text = format!(
            "---\nid: '{id}'\nphase: implement\nstatus: ready\n{parent}---\n\n# Ticket {id}\n\n## Problem\n\nSomething.\n"
        );
        project.write(&format!("tickets/{id}-ticket/ticket.md"), &text)?;
        let tests =
            "## Scenario: One\nGiven\n\n## Scenario: Two\nGiven\n\n## Scenario: Three\nGiven\n";
        project.write(&format!("tickets/{id}-ticket/test-definitions.md"), tests)?;
    }
    for arguments in [
        &["init", "-q"][..],
        &["config", "user.name", "Bench"],
        &["config", "user.email", "bench@example.org"],
        &["add", "-A"],
        &["commit", "-q", "-m", "chore: start"],
        // Files as young as the index are read again at every look; no real repository stays like that.
        &["status", "--short"],
    ] {
        let status = command("git")
            .args(arguments)
            .current_dir(project.path(""))
            .stdout(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("`git {}` failed", arguments.join(" ")));
        }
    }
    for changed in 1..=20 {
        let text = story::plan(&format!("File {}", 100 + changed), 20);
        project.write(
            &format!("src/part-01/file-{changed:03}.rs"),
            &format!("{text}one more line\n"),
        )?;
    }
    for new in 1..=5 {
        project.write(&format!("src/new-{new}.rs"), "one\ntwo\n")?;
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    project.tl(&["tree"])?;
    let entered = project
        .command(&["focus", "enter", "001a"])
        .env("CLAUDECODE", "1")
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .stdout(Stdio::null())
        .status();
    match entered {
        Ok(status) if status.success() => Ok(()),
        _ => Err("the ticket could not be entered".to_owned()),
    }
}

/// Runs every hook twice, through another program than the one that made the repository.
pub(crate) fn twice(release: &Path, through: &Path, folder: &Path) -> Outcome {
    let project = Story::empty(&release.join("tl"), &folder.join("repository"))?;
    fill(&project)?;
    let runner = Runner {
        release: release.to_owned(),
        scratch: folder.to_owned(),
        project: project.through(through),
    };
    for round in 0..2 {
        for case in of_the_program() {
            runner.sample(case, round)?;
        }
    }
    for arguments in USUAL_COMMANDS {
        sample_with(&mut runner.project.command(arguments), &runner.stdin("")?)?;
    }
    Ok(())
}

/// The commands of a project with tickets that people and agents type most.
const USUAL_COMMANDS: [&[&str]; 4] = [
    &["where"],
    &["next"],
    &["status"],
    &["ticket", "new", "Search by words"],
];

/// Makes the repository with `program`, for a comparison of builds.
pub(super) fn make_suite(
    release: &Path,
    program: &Path,
    folder: &Path,
    _length: Length,
) -> Result<Box<dyn Suite>, String> {
    let project = Story::empty(program, &folder.join("repository"))?;
    fill(&project)?;
    let runner = Runner {
        release: release.to_owned(),
        scratch: folder.to_owned(),
        project,
    };
    runner.sample(Case::After, 1)?;
    Ok(Box::new(runner))
}

impl Suite for Runner {
    fn case_names(&self) -> Vec<String> {
        let names = of_the_program().map(Case::name);
        names.map(str::to_owned).collect()
    }

    fn run_case(&self, index: usize, round: usize) -> Result<Option<Sample>, String> {
        of_the_program()
            .nth(index)
            .map(|case| self.sample(case, round))
            .transpose()
    }
}

/// The cases that run `tl`, without the yardsticks.
fn of_the_program() -> impl Iterator<Item = Case> {
    Case::ALL
        .into_iter()
        .filter(|case| !matches!(case, Case::Empty | Case::Git))
}

struct Runner {
    release: PathBuf,
    scratch: PathBuf,
    project: Story,
}

impl Runner {
    fn sample(&self, case: Case, round: usize) -> Result<Sample, String> {
        let path = |file: &str| self.project.path(file);
        let edit = |file: &str| serde_json::json!({ "file_path": path(file), "old_string": "a", "new_string": "b" });
        match case {
            Case::Empty => sample_with(&mut command(self.release.join("empty")), &self.stdin("")?),
            Case::Git => {
                let mut git = command("git");
                git.args(["status", "--porcelain"])
                    .current_dir(path(""))
                    .stdout(Stdio::null());
                sample_with(&mut git, &self.stdin("")?)
            }
            Case::Read => self.hook(
                "PostToolUse",
                "Read",
                &serde_json::json!({ "file_path": path(EDITED) }),
            ),
            Case::Before | Case::BeforeCounting => self.hook("PreToolUse", "Edit", &edit(EDITED)),
            Case::BeforePlan => {
                self.hook("PreToolUse", "Edit", &edit("tickets/001a-ticket/ticket.md"))
            }
            Case::After => {
                self.project
                    .write(EDITED, &story::plan("File 101", 21 + round % 2))?;
                // A host needs this long to start a hook; a file that is younger is not trusted to look the same only when it is.
                std::thread::sleep(std::time::Duration::from_millis(20));
                self.hook("PostToolUse", "Edit", &edit(EDITED))
            }
            Case::Look => self.hook(
                "PostToolUse",
                "Bash",
                &serde_json::json!({ "command": "rg -n 'fn main' src" }),
            ),
            Case::Shell => self.hook(
                "PostToolUse",
                "Bash",
                &serde_json::json!({ "command": "cargo test" }),
            ),
        }
    }

    fn hook(&self, event: &str, tool: &str, input: &serde_json::Value) -> Result<Sample, String> {
        let payload = serde_json::json!({
            "session_id": SESSION, "transcript_path": "/home/user/s.jsonl", "cwd": self.project.path(""),
            "permission_mode": "default", "hook_event_name": event, "tool_name": tool, "tool_input": input,
            "tool_use_id": "toolu_00000001",
        });
        sample_with(
            &mut self.project.command(&["hook", "claude-code"]),
            &self.stdin(&payload.to_string())?,
        )
    }

    fn stdin(&self, payload: &str) -> Result<PathBuf, String> {
        let path = self.scratch.join("stdin.json");
        story::write_file(&path, payload)?;
        Ok(path)
    }
}

fn table(samples: &[Vec<Sample>], rounds: usize) -> String {
    let of = |case: Case| {
        let index = Case::ALL
            .iter()
            .position(|other| *other == case)
            .unwrap_or_default();
        samples.get(index).map(Vec::as_slice).unwrap_or_default()
    };
    let cpu = |case: Case| percentile(of(case).iter().map(|sample| sample.cpu), 50);
    let wall = |case: Case| percentile(of(case).iter().map(|sample| sample.wall), 50);
    let mut text = format!(
        "{rounds} interleaved rounds; milliseconds, git's share included; × is the ratio of medians to the empty process.\n\n\
         | hook | CPU median | CPU × | wall median | wall × |\n| --- | ---: | ---: | ---: | ---: |\n"
    );
    for case in Case::ALL {
        text.push_str(&format!(
            "| {} | {} | {:.2} | {} | {:.2} |\n",
            case.name(),
            milliseconds(cpu(case)),
            ratio(cpu(case), cpu(Case::Empty)),
            milliseconds(wall(case)),
            ratio(wall(case), wall(Case::Empty)),
        ));
    }
    text.push_str("\n| a turn's events, median | limit | CPU | wall | |\n| --- | ---: | ---: | ---: | --- |\n");
    for (name, with_git, limit) in [
        ("without a git process", false, 4.0),
        ("with one git process", true, 12.0),
    ] {
        let events: Vec<Sample> = TURN
            .iter()
            .filter(|(case, _)| case.starts_git() == with_git)
            .flat_map(|(case, times)| {
                of(*case)
                    .iter()
                    .copied()
                    .cycle()
                    .take(of(*case).len() * times)
            })
            .collect();
        let by_cpu = ratio(
            percentile(events.iter().map(|sample| sample.cpu), 50),
            cpu(Case::Empty),
        );
        let by_wall = ratio(
            percentile(events.iter().map(|sample| sample.wall), 50),
            wall(Case::Empty),
        );
        let verdict = if by_cpu.max(by_wall) <= limit {
            "✓"
        } else {
            "over"
        };
        text.push_str(&format!(
            "| {name} | ≤ {limit} × | {by_cpu:.2} × | {by_wall:.2} × | {verdict} |\n"
        ));
    }
    text
}
