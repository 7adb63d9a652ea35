//! Git: checkouts, worktrees, clones, claims and `tl check` in a repository with 10,000 plans.
//!
//! Every case is one whole process. What git itself does before it (checkout, worktree, clone) is
//! not measured. Slow cases have fewer rounds: each makes a worktree or a clone of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::measure::{Sample, percentile, sample, sample_with};
use super::report::{megabytes, milliseconds, ratio};
use super::story::{self, Shape, Story};
use super::{Length, WARM_UP};
use crate::workspace::{command, target_directory};
use crate::{Outcome, generate, say, say_error};

/// 5 + 450 + 4,545 nodes, for a quick run.
const HALF: Shape = Shape::new(5, 90, 10, 45);

/// The node that sessions claim in turn.
const CLAIMED: &str = "act-2/chapter-01/scene-0102";
/// A node that each of the two sessions holds all the time.
const HELD: [&str; 2] = ["act-3", "act-4"];
const SESSIONS: [&str; 2] = [
    "00000000-0000-4000-8000-000000000001",
    "00000000-0000-4000-8000-000000000002",
];

/// Which build is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// What packages contain.
    Dist,
    /// What `cargo install` builds: slower, and built in a fraction of the time.
    Release,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Empty,
    Hook,
    Status,
    Checkout,
    Worktree,
    Clone,
    Check,
    CheckHuge,
    ClaimWithin,
    ClaimAcross,
}

impl Case {
    const ALL: [Self; 10] = [
        Self::Empty,
        Self::Hook,
        Self::Status,
        Self::Checkout,
        Self::Worktree,
        Self::Clone,
        Self::Check,
        Self::CheckHuge,
        Self::ClaimWithin,
        Self::ClaimAcross,
    ];

    fn name(self, size: &Size) -> String {
        let (plans, huge) = (size.plans.node_count(), size.huge.node_count());
        match self {
            Self::Empty => "an empty process".to_owned(),
            Self::Hook => "a hook that touches no plan".to_owned(),
            Self::Status => "`tl status`, nothing changed".to_owned(),
            Self::Checkout => format!(
                "`tl status` after a checkout that changed {} of {plans} plans",
                size.changed
            ),
            Self::Worktree => "the first `tl status` in a new worktree".to_owned(),
            Self::Clone => "the first `tl status` in a fresh clone".to_owned(),
            Self::Check => format!("`tl check`, {plans} nodes"),
            Self::CheckHuge => format!("`tl check`, {huge} nodes"),
            Self::ClaimWithin => "`tl claim` of a node last claimed in this worktree".to_owned(),
            Self::ClaimAcross => "`tl claim` of a node last claimed in another one".to_owned(),
        }
    }

    /// Number of measured rounds; a process of milliseconds needs many.
    fn rounds(self, length: Length) -> usize {
        let is_short = matches!(
            self,
            Self::Empty | Self::Hook | Self::ClaimWithin | Self::ClaimAcross
        );
        match (is_short, length) {
            (true, _) => length.rounds(),
            (false, Length::Full) => 10,
            (false, Length::Quick) => 3,
        }
    }
}

/// How large the repositories are.
struct Size {
    plans: Shape,
    /// Number of approved plans, each with its decision file.
    decisions: usize,
    /// Number of plans that the other branch changes.
    changed: usize,
    huge: Shape,
}

impl Size {
    fn of_length(length: Length) -> Self {
        match length {
            Length::Full => Self {
                plans: story::LARGE,
                decisions: 2_000,
                changed: 500,
                huge: story::HUGE,
            },
            Length::Quick => Self {
                plans: HALF,
                decisions: 500,
                changed: 250,
                huge: story::LARGE,
            },
        }
    }
}

/// Builds, makes the repositories, measures, prints Markdown tables.
pub(crate) fn bench(length: Length, build: Build) -> Outcome {
    let target = target_directory()?;
    let programs = match build {
        Build::Dist => {
            say_error("building (dist)");
            generate::build_dist()?;
            target.join("dist")
        }
        Build::Release => {
            say_error("building (release)");
            generate::build_profile("release")?;
            target.join("release")
        }
    };
    let folder = tempfile::Builder::new()
        .prefix("bench-git-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let size = Size::of_length(length);
    let runner = Runner::make(&programs, folder.path(), &size)?;
    let mut samples: Vec<Vec<Sample>> = Vec::new();
    for case in Case::ALL {
        say_error(&format!("measuring {}", case.name(&size)));
        let rounds = case.rounds(length);
        let mut taken = Vec::new();
        for round in 0..rounds + WARM_UP {
            let one = runner.sample(case, round)?;
            if round >= WARM_UP {
                taken.push(one);
            }
        }
        samples.push(taken);
    }
    say(&render_tables(&samples, &size));
    Ok(())
}

struct Runner {
    programs: PathBuf,
    folder: PathBuf,
    story: Story,
    huge: Story,
    /// A second worktree, for claims.
    beside: PathBuf,
}

impl Runner {
    fn make(programs: &Path, folder: &Path, size: &Size) -> Result<Self, String> {
        let program = programs.join("tl");
        say_error(&format!(
            "making a repository with {} plans and {} decisions",
            size.plans.node_count(),
            size.decisions
        ));
        let story = make_repository(&program, &folder.join("plans"), size.plans, size.decisions)?;
        change_on_branch(&story, size.plans, size.changed)?;
        let beside = folder.join("beside");
        add_worktree(&story, &beside)?;
        let runner = Self {
            programs: programs.to_owned(),
            folder: folder.to_owned(),
            huge: {
                say_error(&format!(
                    "making a repository with {} plans",
                    size.huge.node_count()
                ));
                make_repository(&program, &folder.join("huge"), size.huge, 1)?
            },
            story,
            beside,
        };
        run_to_end(&mut runner.command_in(&runner.beside, &["status"]))?;
        for (session, held) in HELD.into_iter().enumerate() {
            run_to_end(&mut runner.session_command(session, &["claim", held]))?;
        }
        Ok(runner)
    }

    fn command_in(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.story.command(arguments);
        command.current_dir(folder);
        command
    }

    /// Returns a command of the session that works in the repository (0) or beside it (1).
    fn session_command(&self, session: usize, arguments: &[&str]) -> Command {
        let folder = match session {
            0 => self.story.path(""),
            _ => self.beside.clone(),
        };
        let mut command = self.command_in(&folder, arguments);
        command
            .env("CLAUDECODE", "1")
            .env("CLAUDE_CODE_SESSION_ID", SESSIONS[session]);
        command
    }

    fn sample(&self, case: Case, round: usize) -> Result<Sample, String> {
        match case {
            Case::Empty => sample(&mut command(self.programs.join("empty"))),
            Case::Hook => {
                let payload = serde_json::json!({
                    "session_id": SESSIONS[0], "transcript_path": "/home/user/s.jsonl",
                    "cwd": self.story.path(""), "permission_mode": "default",
                    "hook_event_name": "PreToolUse", "tool_name": "Write",
                    "tool_input": { "file_path": self.story.path("src/x.rs"), "content": "x" },
                    "tool_use_id": "toolu_00000001",
                });
                let input = self.folder.join("stdin.json");
                story::write_file(&input, &payload.to_string())?;
                sample_with(&mut self.story.command(&["hook", "claude-code"]), &input)
            }
            Case::Status => sample(&mut self.story.command(&["status"])),
            Case::Checkout => {
                let branch = if round.is_multiple_of(2) {
                    "other"
                } else {
                    "main"
                };
                run_git(&self.story.path(""), &["checkout", "-q", branch])?;
                sample(&mut self.story.command(&["status"]))
            }
            Case::Worktree => {
                let place = self.folder.join(format!("worktree-{round}"));
                add_worktree(&self.story, &place)?;
                sample(&mut self.command_in(&place, &["status"]))
            }
            Case::Clone => {
                let place = self.folder.join(format!("clone-{round}"));
                let from = self.story.path("").display().to_string();
                let to = place.display().to_string();
                run_git(&self.folder, &["clone", "-q", &from, &to])?;
                // The clones stay until the end: ext4 looks long for inodes in a folder from which
                // thousands of files were just deleted.
                sample(&mut self.command_in(&place, &["status"]))
            }
            Case::Check => sample(&mut self.story.command(&["check"])),
            Case::CheckHuge => sample(&mut self.huge.command(&["check"])),
            // The other worktree claims and releases the node in between, or this one does.
            Case::ClaimWithin => self.sample_claim(0),
            Case::ClaimAcross => self.sample_claim(1),
        }
    }

    /// Claims a node that session `last` claimed and released before.
    fn sample_claim(&self, last: usize) -> Result<Sample, String> {
        for arguments in [["claim", CLAIMED], ["release", CLAIMED]] {
            run_to_end(&mut self.session_command(last, &arguments))?;
        }
        let taken = sample(&mut self.session_command(0, &["claim", CLAIMED]));
        run_to_end(&mut self.session_command(0, &["release", CLAIMED]))?;
        taken
    }
}

/// Makes a repository in which every plan is committed and the first `decisions` are approved.
pub(super) fn make_repository(
    program: &Path,
    folder: &Path,
    shape: Shape,
    decisions: usize,
) -> Result<Story, String> {
    let story = Story::empty(program, folder)?;
    let root = story.path("");
    run_git(&root, &["init", "-q", "-b", "main"])?;
    run_git(&root, &["config", "user.name", "Bench"])?;
    run_git(&root, &["config", "user.email", "bench@example.org"])?;
    // Packing in the background would run beside what is measured.
    run_git(&root, &["config", "gc.auto", "0"])?;
    story.tl(&["init", "--profile", "story"])?;
    story.write_plans(shape)?;
    story.tl(&["status"])?;
    check_node_count(&story, shape)?;
    for node in shape.aliases().take(decisions) {
        story.tl(&["approve", &node])?;
    }
    run_git(&root, &["add", "-A"])?;
    run_git(&root, &["commit", "-q", "-m", "chore: start"])?;
    settle_repository(&story)?;
    Ok(story)
}

/// Refuses a project with another number of nodes than its shape says: files that the profile does
/// not know are passed over without a word, and the numbers would be those of a smaller project.
fn check_node_count(story: &Story, shape: Shape) -> Outcome {
    let output = story
        .command(&["status", "--json"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start the program: {error}"))?;
    let status: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("`tl status --json` is not JSON: {error}"))?;
    let (found, expected) = (status["nodes"].as_u64(), shape.node_count() as u64);
    if found == Some(expected) {
        return Ok(());
    }
    Err(format!(
        "the project has {found:?} nodes instead of {expected}"
    ))
}

/// Changes the last plans on a branch of their own.
pub(super) fn change_on_branch(story: &Story, shape: Shape, changed: usize) -> Outcome {
    let root = story.path("");
    run_git(&root, &["checkout", "-q", "-b", "other"])?;
    for (number, file) in shape.scene_files().take(changed).enumerate() {
        story.write(&file, &story::plan(&format!("Another scene {number}"), 13))?;
    }
    run_git(&root, &["commit", "-q", "-a", "-m", "feat: other scenes"])?;
    settle_repository(story)?;
    run_git(&root, &["checkout", "-q", "main"])?;
    settle_repository(story)
}

/// Lets the program and git see files that are old enough for their stat data to be trusted.
pub(super) fn settle_repository(story: &Story) -> Outcome {
    std::thread::sleep(Duration::from_millis(200));
    run_git(&story.path(""), &["status", "--short"])?;
    story.tl(&["state", "sync-hashes"])?;
    story.tl(&["status"])
}

pub(super) fn add_worktree(story: &Story, place: &Path) -> Outcome {
    let place = place.display().to_string();
    run_git(
        &story.path(""),
        &["worktree", "add", "-q", "--detach", &place, "main"],
    )
}

pub(super) fn run_git(folder: &Path, arguments: &[&str]) -> Outcome {
    run_to_end(command("git").args(arguments).current_dir(folder))
}

fn run_to_end(command: &mut Command) -> Outcome {
    let shown = format!("{command:?}");
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {shown}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{shown} ended with {}: {complaint}", output.status))
}

fn render_tables(samples: &[Vec<Sample>], size: &Size) -> String {
    let of = |case: Case| {
        let index = Case::ALL.iter().position(|other| *other == case);
        let taken = index.and_then(|index| samples.get(index));
        taken.map(Vec::as_slice).unwrap_or_default()
    };
    let cpu = |case: Case| percentile(of(case).iter().map(|sample| sample.cpu), 50);
    let wall = |case: Case| percentile(of(case).iter().map(|sample| sample.wall), 50);
    let peak = |case: Case| {
        let peaks = of(case).iter().map(|sample| sample.peak_bytes);
        megabytes(peaks.max().unwrap_or_default())
    };
    let mut text = "milliseconds; git processes of the program included; × is the ratio of medians to the empty process.\n\n\
         | process | rounds | CPU median | CPU × | wall median | wall × | peak MB |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for case in Case::ALL {
        text.push_str(&format!(
            "| {} | {} | {} | {:.2} | {} | {:.2} | {:.1} |\n",
            case.name(size),
            of(case).len(),
            milliseconds(cpu(case)),
            ratio(cpu(case), cpu(Case::Empty)),
            milliseconds(wall(case)),
            ratio(wall(case), wall(Case::Empty)),
            peak(case),
        ));
    }
    text.push_str("\n| target | limit | measured | |\n| --- | ---: | ---: | --- |\n");
    let in_ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let across = ratio(cpu(Case::ClaimAcross), cpu(Case::ClaimWithin))
        .max(ratio(wall(Case::ClaimAcross), wall(Case::ClaimWithin)));
    for (target, limit, measured, unit) in [
        (
            format!("{}, CPU", Case::Checkout.name(size)),
            150.0,
            in_ms(cpu(Case::Checkout)),
            " ms",
        ),
        (
            format!("{}, wall", Case::Worktree.name(size)),
            1_000.0,
            in_ms(wall(Case::Worktree)),
            " ms",
        ),
        (
            format!("{}, CPU", Case::Clone.name(size)),
            1_200.0,
            in_ms(cpu(Case::Clone)),
            " ms",
        ),
        (
            format!("{}, CPU", Case::Check.name(size)),
            400.0,
            in_ms(cpu(Case::Check)),
            " ms",
        ),
        (
            format!("{}, peak memory", Case::CheckHuge.name(size)),
            120.0,
            peak(Case::CheckHuge),
            " MB",
        ),
        (
            "`tl claim` across worktrees against one within a worktree".to_owned(),
            1.5,
            across,
            " ×",
        ),
    ] {
        let verdict = if measured <= limit { "✓" } else { "over" };
        text.push_str(&format!(
            "| {target} | ≤ {limit}{unit} | {measured:.2}{unit} | {verdict} |\n"
        ));
    }
    text
}
