//! The hooks as hosts run them: a process per event, beside an empty process and beside the four hooks of the first
//! design in Python and JavaScript.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::compare::Suite;
use super::measure::{Sample, percentile, sample_with};
use super::report::{megabytes, milliseconds, ratio};
use super::story::{self, Story};
use super::{Length, WARM_UP};
use crate::workspace::{command, root, target_directory};
use crate::{Outcome, generate, say, say_error};

const ACT: &str = "acts/act-1/strategic-plan.md";
const SCENE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";
const SESSION: &str = "00000000-0000-4000-8000-000000000001";
const SEED_HOOKS: [&str; 4] = [
    "hierarchy_validation",
    "state_sync",
    "consistency_check",
    "invalidation_cascade",
];

/// What is measured, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Empty,
    OtherSmall,
    BeforeSmall,
    BeforeLarge,
    AfterSmall,
    AfterLarge,
    CascadeSmall,
    ShellSmall,
    ShellLarge,
    Session(SessionEvent, Size),
    Python,
    Node,
}

/// An event that is about the session, not about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionEvent {
    Start,
    Prompt,
    Stop,
}

impl SessionEvent {
    const ALL: [Self; 3] = [Self::Start, Self::Prompt, Self::Stop];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Small,
    Large,
    Huge,
}

impl Case {
    const ALL: [Self; 20] = [
        Self::Empty,
        Self::OtherSmall,
        Self::BeforeSmall,
        Self::BeforeLarge,
        Self::AfterSmall,
        Self::AfterLarge,
        Self::CascadeSmall,
        Self::ShellSmall,
        Self::ShellLarge,
        Self::Session(SessionEvent::Start, Size::Small),
        Self::Session(SessionEvent::Start, Size::Large),
        Self::Session(SessionEvent::Start, Size::Huge),
        Self::Session(SessionEvent::Prompt, Size::Small),
        Self::Session(SessionEvent::Prompt, Size::Large),
        Self::Session(SessionEvent::Prompt, Size::Huge),
        Self::Session(SessionEvent::Stop, Size::Small),
        Self::Session(SessionEvent::Stop, Size::Large),
        Self::Session(SessionEvent::Stop, Size::Huge),
        Self::Python,
        Self::Node,
    ];

    /// The cases that share rounds. The hooks of the first design have rounds of their own: eight
    /// interpreters of a quarter of a second leave nothing in the processor's caches for a hook, or for
    /// the empty process that it is compared with.
    const HOOKS: usize = 18;

    fn name(self) -> &'static str {
        match self {
            Self::Empty => "an empty process",
            Self::OtherSmall => "before a tool that touches no plan",
            Self::BeforeSmall => "before a plan write, allowed, 221 nodes",
            Self::BeforeLarge => "before a plan write, allowed, 10,000 nodes",
            Self::AfterSmall => "after a plan write, 221 nodes",
            Self::AfterLarge => "after a plan write, 10,000 nodes",
            Self::CascadeSmall => "after a write of the act: 220 plans go stale",
            Self::ShellSmall => "after a shell command that changed nothing, 221 nodes",
            Self::ShellLarge => "after a shell command that changed nothing, 10,000 nodes",
            Self::Session(SessionEvent::Start, Size::Small) => {
                "start of a session with its briefing, 221 nodes"
            }
            Self::Session(SessionEvent::Start, Size::Large) => "the same, 10,000 nodes",
            Self::Session(SessionEvent::Start, Size::Huge) => "the same, 50,000 nodes",
            Self::Session(SessionEvent::Prompt, Size::Small) => "a prompt, 221 nodes",
            Self::Session(SessionEvent::Prompt, Size::Large) => "a prompt, 10,000 nodes",
            Self::Session(SessionEvent::Prompt, Size::Huge) => "a prompt, 50,000 nodes",
            Self::Session(SessionEvent::Stop, Size::Small) => "the end of a turn, 221 nodes",
            Self::Session(SessionEvent::Stop, Size::Large) => "the end of a turn, 10,000 nodes",
            Self::Session(SessionEvent::Stop, Size::Huge) => "the end of a turn, 50,000 nodes",
            Self::Python => "the first design's four hooks in Python, four processes",
            Self::Node => "the first design's four hooks in Node, four processes",
        }
    }
}

/// Builds, makes the projects, measures, prints Markdown tables.
pub(crate) fn bench(length: Length) -> Outcome {
    say_error("building (dist)");
    generate::build_dist()?;
    let target = target_directory()?;
    let folder = tempfile::Builder::new()
        .prefix("bench-hooks-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    let release = target.join("dist");
    let program = release.join("tl");
    say_error("making stories of 221, 10,000 and 50,000 nodes");
    let runner = Runner {
        small: Story::make(
            &program,
            &folder.path().join("small"),
            story::ACT_OF_220,
            length,
        )?,
        large: Story::make(&program, &folder.path().join("large"), story::LARGE, length)?,
        huge: Some(Story::make(
            &program,
            &folder.path().join("huge"),
            story::HUGE,
            length,
        )?),
        release,
        scratch: folder.path().to_owned(),
    };
    runner.prepare()?;
    let rounds = length.rounds();
    say_error(&format!("measuring hooks, {rounds} rounds"));
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); Case::ALL.len()];
    for round in 0..rounds + WARM_UP {
        for step in 0..Case::HOOKS {
            // Each round starts with another case: none always follows the same neighbour.
            let index = (step + round) % Case::HOOKS;
            if let Some(taken) = runner.sample(Case::ALL[index], round)?
                && round >= WARM_UP
            {
                samples[index].push(taken);
            }
        }
    }
    for round in 0..rounds / 4 {
        for (case, samples) in Case::ALL.into_iter().zip(&mut samples).skip(Case::HOOKS) {
            samples.extend(runner.sample(case, round)?);
        }
    }
    say(&table(&samples, rounds));
    Ok(())
}

/// Runs every hook once, through another program than the one that made the project.
pub(crate) fn once(release: &Path, through: &Path, folder: &Path) -> Outcome {
    let story = |name: &str| {
        let made = Story::make(
            &release.join("tl"),
            &folder.join(name),
            story::ACT_OF_220,
            Length::Quick,
        )?;
        Ok::<_, String>(made.through(through))
    };
    let (small, large) = (story("small")?, story("large")?);
    let runner = Runner {
        release: release.to_owned(),
        scratch: folder.to_owned(),
        small,
        large,
        huge: None,
    };
    runner.prepare()?;
    for case in of_the_program() {
        runner.sample(case, 1)?;
    }
    for arguments in USUAL_COMMANDS {
        sample_with(&mut runner.small.command(arguments), &runner.stdin("")?)?;
    }
    let calls = runner.stdin(&render_mcp_calls())?;
    sample_with(&mut runner.small.command(&["mcp"]), &calls)?;
    Ok(())
}

/// Renders a session of an MCP client: a list of tools, the call that is made most, and those that go
/// through every plan.
fn render_mcp_calls() -> String {
    let call = |tool: &str, arguments: serde_json::Value| {
        let params = serde_json::json!({ "name": tool, "arguments": arguments });
        ("tools/call", params)
    };
    let client = serde_json::json!({ "name": "order", "version": "1" });
    let initialize = serde_json::json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let none = || serde_json::json!({});
    let scene = serde_json::json!({ "entity_type": "scene", "entity_id": "0101" });
    let calls = [
        ("initialize", initialize),
        ("notifications/initialized", none()),
        ("tools/list", none()),
        call("work_where", none()),
        call("get_entity_state", scene),
        call("plan_tree", none()),
        call("plan_stats", none()),
        call("plan_outline", none()),
        call("work_check", none()),
    ];
    let render = |(id, (method, params)): (usize, (&str, serde_json::Value))| {
        let mut message =
            serde_json::json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if !method.starts_with("notifications/") {
            message["id"] = id.into();
        }
        format!("{message}\n")
    };
    calls.into_iter().enumerate().map(render).collect()
}

/// The commands that people and agents type most.
const USUAL_COMMANDS: [&[&str]; 8] = [
    &["show", "scene-0101"],
    &["progress", "scene-0101", "active"],
    &["status"],
    &["where"],
    &["next"],
    &["tree", "--json"],
    &["approve", "scene-0102"],
    &["check"],
];

/// Makes the stories with `program` and lets their sessions read, for a comparison of builds.
pub(super) fn make_suite(
    release: &Path,
    program: &Path,
    folder: &Path,
    length: Length,
) -> Result<Box<dyn Suite>, String> {
    let runner = Runner {
        small: Story::make(program, &folder.join("small"), story::ACT_OF_220, length)?,
        large: Story::make(program, &folder.join("large"), story::LARGE, length)?,
        huge: None,
        release: release.to_owned(),
        scratch: folder.to_owned(),
    };
    runner.prepare()?;
    Ok(Box::new(runner))
}

impl Suite for Runner {
    fn case_names(&self) -> Vec<&'static str> {
        of_the_program().map(Case::name).collect()
    }

    fn run_case(&self, index: usize, round: usize) -> Result<Option<Sample>, String> {
        of_the_program()
            .nth(index)
            .map_or(Ok(None), |case| self.sample(case, round))
    }
}

/// The cases that run `tl`, without the yardsticks and the story that takes long to make.
fn of_the_program() -> impl Iterator<Item = Case> {
    let is_left_out = |case: &Case| {
        matches!(
            case,
            Case::Empty | Case::Python | Case::Node | Case::Session(_, Size::Huge)
        )
    };
    Case::ALL.into_iter().filter(move |case| !is_left_out(case))
}

struct Runner {
    release: PathBuf,
    scratch: PathBuf,
    small: Story,
    large: Story,
    /// Only for the table of limits.
    huge: Option<Story>,
}

impl Runner {
    /// Lets each session read what it will overwrite, and makes the yardsticks' state.
    fn prepare(&self) -> Outcome {
        for story in [&self.small, &self.large].into_iter().chain(&self.huge) {
            for file in [ACT, SCENE] {
                let read = payload(story, "PostToolUse", "Read", file, None);
                sample_with(
                    &mut story.command(&["hook", "claude-code"]),
                    &self.stdin(&read)?,
                )?;
            }
        }
        if let Some(mut python) = self.yardstick("python3", "seed_hooks.py", "make", "seed.db") {
            let made = python.arg("220").stdin(Stdio::null()).status();
            made.map_err(|error| format!("cannot start python3: {error}"))?;
        }
        Ok(())
    }

    fn sample(&self, case: Case, round: usize) -> Result<Option<Sample>, String> {
        let hook = |story: &Story, payload: String| {
            sample_with(
                &mut story.command(&["hook", "claude-code"]),
                &self.stdin(&payload)?,
            )
            .map(Some)
        };
        let after = |story: &Story, file: &str, title: &str| {
            // Back and forth between two texts: every call changes something, and an approved act comes back.
            let text = story::plan(title, if round.is_multiple_of(2) { 13 } else { 12 });
            story.write(file, &text)?;
            hook(
                story,
                payload(story, "PostToolUse", "Write", file, Some(&text)),
            )
        };
        let before = |story: &Story| {
            let text = story::plan("Scene 1.1", 14);
            hook(
                story,
                payload(story, "PreToolUse", "Write", SCENE, Some(&text)),
            )
        };
        let shell = |story: &Story| hook(story, shell_payload(story));
        match case {
            Case::Empty => {
                sample_with(&mut command(self.release.join("empty")), &self.stdin("")?).map(Some)
            }
            Case::OtherSmall => hook(
                &self.small,
                payload(&self.small, "PreToolUse", "Write", "src/x.rs", Some("x")),
            ),
            Case::BeforeSmall => before(&self.small),
            Case::BeforeLarge => before(&self.large),
            Case::AfterSmall => after(&self.small, SCENE, "Scene 1.1"),
            Case::AfterLarge => after(&self.large, SCENE, "Scene 1.1"),
            Case::CascadeSmall => {
                let text = story::plan("Act 1", 41);
                self.small.write(ACT, &text)?;
                let taken = hook(
                    &self.small,
                    payload(&self.small, "PostToolUse", "Write", ACT, Some(&text)),
                );
                // Outside the measuring: the other cases want the act approved, and so does the next round.
                self.small.write(ACT, &story::plan("Act 1", 40))?;
                self.small.tl(&["status"])?;
                taken
            }
            Case::ShellSmall => shell(&self.small),
            Case::ShellLarge => shell(&self.large),
            Case::Session(event, size) => {
                let story = match size {
                    Size::Small => Some(&self.small),
                    Size::Large => Some(&self.large),
                    Size::Huge => self.huge.as_ref(),
                };
                story.map_or(Ok(None), |story| {
                    hook(story, session_payload(story, event, round))
                })
            }
            Case::Python => self.seed_hooks("python3", "seed_hooks.py", "seed.db"),
            Case::Node => self.seed_hooks("node", "seed_hooks.js", "seed.json"),
        }
    }

    /// Runs the four hooks one after the other; `None` where the language is not on the machine.
    fn seed_hooks(
        &self,
        language: &str,
        script: &str,
        state: &str,
    ) -> Result<Option<Sample>, String> {
        let event = payload(
            &self.small,
            "PostToolUse",
            "Write",
            ACT,
            Some(&story::plan("Act 1", 40)),
        );
        let stdin = self.stdin(&event)?;
        let mut total: Option<Sample> = None;
        for hook in SEED_HOOKS {
            let Some(mut one) = self.yardstick(language, script, hook, state) else {
                return Ok(None);
            };
            let taken = sample_with(&mut one, &stdin)?;
            total = Some(total.map_or(taken, |before| before.and(taken)));
        }
        Ok(total)
    }

    fn yardstick(&self, language: &str, script: &str, hook: &str, state: &str) -> Option<Command> {
        let there = command(language)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !there.is_ok_and(|status| status.success()) {
            return None;
        }
        let mut one = command(language);
        one.arg(root().join("xtask/baselines").join(script))
            .arg(hook)
            .arg(self.scratch.join(state));
        Some(one)
    }

    /// Puts a payload where a process can read it as its standard input.
    fn stdin(&self, payload: &str) -> Result<PathBuf, String> {
        let path = self.scratch.join("stdin.json");
        story::write_file(&path, payload)?;
        Ok(path)
    }
}

fn payload(story: &Story, event: &str, tool: &str, file: &str, content: Option<&str>) -> String {
    let mut input = serde_json::json!({ "file_path": story.path(file) });
    if let Some(content) = content {
        input["content"] = content.into();
    }
    event_of(story, event, tool, &input)
}

fn shell_payload(story: &Story) -> String {
    event_of(
        story,
        "PostToolUse",
        "Bash",
        &serde_json::json!({ "command": "cargo test" }),
    )
}

fn session_payload(story: &Story, event: SessionEvent, round: usize) -> String {
    let (name, key, value) = match event {
        SessionEvent::Start => ("SessionStart", "source", "startup".to_owned()),
        SessionEvent::Prompt => ("UserPromptSubmit", "prompt", format!("go on, {round}")),
        SessionEvent::Stop => ("Stop", "last_assistant_message", "done".to_owned()),
    };
    let mut payload = serde_json::json!({
        "session_id": SESSION,
        "transcript_path": "/home/user/.claude/projects/p/s.jsonl",
        "cwd": story.path(""),
        "permission_mode": "default",
        "hook_event_name": name,
    });
    payload[key] = value.into();
    payload.to_string()
}

/// What Claude Code sends.
fn event_of(story: &Story, event: &str, tool: &str, input: &serde_json::Value) -> String {
    serde_json::json!({
        "session_id": SESSION,
        "transcript_path": "/home/user/.claude/projects/p/s.jsonl",
        "cwd": story.path(""),
        "permission_mode": "default",
        "hook_event_name": event,
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": "toolu_00000001",
    })
    .to_string()
}

fn table(samples: &[Vec<Sample>], rounds: usize) -> String {
    let of = |case: Case| {
        let index = Case::ALL
            .iter()
            .position(|other| *other == case)
            .unwrap_or_default();
        samples.get(index).map(Vec::as_slice).unwrap_or_default()
    };
    let cpu = |case: Case, share| percentile(of(case).iter().map(|sample| sample.cpu), share);
    let wall = |case: Case| percentile(of(case).iter().map(|sample| sample.wall), 50);
    let peak = |case: Case| {
        of(case)
            .iter()
            .map(|sample| sample.peak_bytes)
            .max()
            .unwrap_or_default()
    };
    let mut text = format!(
        "{rounds} interleaved rounds; milliseconds; × is the ratio of medians to the empty process.\n\n\
         | hook | CPU median | CPU p90 | CPU × | wall median | peak MB |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for case in Case::ALL.into_iter().filter(|case| !of(*case).is_empty()) {
        text.push_str(&format!(
            "| {} | {} | {} | {:.2} | {} | {:.1} |\n",
            case.name(),
            milliseconds(cpu(case, 50)),
            milliseconds(cpu(case, 90)),
            ratio(cpu(case, 50), cpu(Case::Empty, 50)),
            milliseconds(wall(case)),
            megabytes(peak(case)),
        ));
    }
    let times = |case: Case| ratio(cpu(case, 50), cpu(Case::Empty, 50));
    let both =
        |before: Case, after: Case| ratio(cpu(before, 50) + cpu(after, 50), cpu(Case::Empty, 50));
    let slowest = |size| {
        let events = SessionEvent::ALL.into_iter();
        let times = events.map(|event| times(Case::Session(event, size)));
        times.fold(0.0, f64::max)
    };
    let growth = |size| {
        let events = SessionEvent::ALL.into_iter();
        let growth = events.map(|event| {
            ratio(
                cpu(Case::Session(event, size), 50),
                cpu(Case::Session(event, Size::Small), 50),
            )
        });
        growth.fold(0.0, f64::max)
    };
    let programs = Case::ALL.into_iter();
    let programs = programs.filter(|case| !matches!(case, Case::Python | Case::Node));
    let memory = megabytes(programs.map(peak).max().unwrap_or_default());
    text.push_str("\n| asked, CPU against an empty process | limit | measured | |\n| --- | ---: | ---: | --- |\n");
    for (asked, limit, measured, unit) in [
        (
            "before a tool that touches no plan",
            1.5,
            times(Case::OtherSmall),
            " ×",
        ),
        (
            "before a plan write, allowed, 221 nodes",
            2.5,
            times(Case::BeforeSmall),
            " ×",
        ),
        (
            "the same, 10,000 nodes",
            2.5,
            times(Case::BeforeLarge),
            " ×",
        ),
        (
            "after a plan write, 221 nodes",
            4.0,
            times(Case::AfterSmall),
            " ×",
        ),
        (
            "both hooks of one plan write, 221 nodes",
            6.5,
            both(Case::BeforeSmall, Case::AfterSmall),
            " ×",
        ),
        (
            "both hooks of one plan write, 10,000 nodes",
            6.5,
            both(Case::BeforeLarge, Case::AfterLarge),
            " ×",
        ),
        (
            "after a shell command that changed nothing, 221 nodes",
            4.0,
            times(Case::ShellSmall),
            " ×",
        ),
        ("the same, 10,000 nodes", 8.0, times(Case::ShellLarge), " ×"),
        (
            "start, prompt and end of a turn, the slowest, 221 nodes",
            6.0,
            slowest(Size::Small),
            " ×",
        ),
        ("the same, 50,000 nodes", 6.0, slowest(Size::Huge), " ×"),
        (
            "the same, 50,000 nodes against 221, the largest growth",
            1.5,
            growth(Size::Huge),
            " ×",
        ),
        ("peak memory of a hook", 11.0, memory, " MB"),
    ] {
        let verdict = if measured <= limit { "✓" } else { "over" };
        text.push_str(&format!(
            "| {asked} | ≤ {limit}{unit} | {measured:.2}{unit} | {verdict} |\n"
        ));
    }
    text
}
