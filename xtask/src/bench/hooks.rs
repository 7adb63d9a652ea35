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

/// A process that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A process that does nothing.
    Empty,
    Other,
    Before,
    After,
    Cascade,
    Shell,
    Start,
    Prompt,
    Stop,
}

impl Event {
    /// The events that are about the session, not about a tool.
    const OF_SESSION: [Self; 3] = [Self::Start, Self::Prompt, Self::Stop];

    fn name(self) -> &'static str {
        match self {
            Self::Empty => "an empty process",
            Self::Other => "before a tool that touches no plan",
            Self::Before => "before a plan write, allowed",
            Self::After => "after a plan write",
            Self::Cascade => "after a write of the act: 220 plans go stale",
            Self::Shell => "after a shell command that changed nothing",
            Self::Start => "start of a session with its briefing",
            Self::Prompt => "a prompt",
            Self::Stop => "the end of a turn",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Small,
    Large,
    Huge,
}

impl Size {
    const ALL: [Self; 3] = [Self::Small, Self::Large, Self::Huge];

    fn name(self) -> &'static str {
        match self {
            Self::Small => "221 nodes",
            Self::Large => "10,000 nodes",
            Self::Huge => "50,000 nodes",
        }
    }

    fn events(self) -> &'static [Event] {
        use Event::{After, Before, Cascade, Empty, Other, Prompt, Shell, Start, Stop};
        match self {
            Self::Small => &[
                Empty, Other, Before, After, Cascade, Shell, Start, Prompt, Stop,
            ],
            Self::Large => &[Empty, Before, After, Shell, Start, Prompt, Stop],
            Self::Huge => &[Empty, Start, Prompt, Stop],
        }
    }
}

/// An event in a project of some size.
type Case = (Event, Size);

/// The four hooks of the first design, in a language.
const YARDSTICKS: [(&str, &str, &str, &str); 2] = [
    (
        "the first design's four hooks in Python, four processes",
        "python3",
        "seed_hooks.py",
        "seed.db",
    ),
    (
        "the first design's four hooks in Node, four processes",
        "node",
        "seed_hooks.js",
        "seed.json",
    ),
];

/// What was measured, in the order of the report.
struct Measured {
    cases: Vec<(Case, Vec<Sample>)>,
    yardsticks: Vec<(&'static str, Vec<Sample>)>,
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
        cascading: Story::make(
            &program,
            &folder.path().join("cascading"),
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
    let mut measured = Measured {
        cases: Vec::new(),
        yardsticks: Vec::new(),
    };
    // Each project has rounds of its own, as a session has: a hook of another project, and the more an
    // interpreter of a quarter of a second, leaves nothing in the processor's caches for the next one, or for the
    // empty process that it is compared with.
    for size in Size::ALL {
        measured.cases.extend(runner.sample_rounds(size, rounds)?);
    }
    for (name, language, script, state) in YARDSTICKS {
        let mut samples = Vec::new();
        for _ in 0..rounds / 4 {
            samples.extend(runner.seed_hooks(language, script, state)?);
        }
        measured.yardsticks.push((name, samples));
    }
    say(&table(&measured, rounds));
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
    let runner = Runner {
        release: release.to_owned(),
        scratch: folder.to_owned(),
        small: story("small")?,
        cascading: story("cascading")?,
        large: story("large")?,
        huge: None,
    };
    runner.prepare()?;
    for case in cases_to_compare() {
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
        cascading: Story::make(
            program,
            &folder.join("cascading"),
            story::ACT_OF_220,
            length,
        )?,
        large: Story::make(program, &folder.join("large"), story::LARGE, length)?,
        huge: None,
        release: release.to_owned(),
        scratch: folder.to_owned(),
    };
    runner.prepare()?;
    Ok(Box::new(runner))
}

impl Suite for Runner {
    fn case_names(&self) -> Vec<String> {
        cases_to_compare().map(case_name).collect()
    }

    fn run_case(&self, index: usize, round: usize) -> Result<Option<Sample>, String> {
        cases_to_compare()
            .nth(index)
            .map_or(Ok(None), |case| self.sample(case, round))
    }
}

/// The hooks in the stories that are made quickly.
fn cases_to_compare() -> impl Iterator<Item = Case> {
    [Size::Small, Size::Large].into_iter().flat_map(|size| {
        let events = size.events().iter().copied();
        let hooks = events.filter(|event| *event != Event::Empty);
        hooks.map(move |event| (event, size))
    })
}

fn case_name((event, size): Case) -> String {
    format!("{}, {}", event.name(), size.name())
}

struct Runner {
    release: PathBuf,
    scratch: PathBuf,
    small: Story,
    /// Its plans go stale and back in every round, which the hooks of the others need not make up for.
    cascading: Story,
    large: Story,
    /// Only for the table of limits.
    huge: Option<Story>,
}

impl Runner {
    /// Lets each session read what it will overwrite, and makes the yardsticks' state.
    fn prepare(&self) -> Outcome {
        let stories = [&self.small, &self.cascading, &self.large];
        for story in stories.into_iter().chain(&self.huge) {
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

    /// Measures the events in a project, interleaved.
    fn sample_rounds(&self, size: Size, rounds: usize) -> Result<Vec<(Case, Vec<Sample>)>, String> {
        let events = size.events().iter();
        let mut measured: Vec<_> = events.map(|event| ((*event, size), Vec::new())).collect();
        for round in 0..rounds + WARM_UP {
            for step in 0..measured.len() {
                // Each round starts with another case: none always follows the same neighbour.
                let index = (step + round) % measured.len();
                let Some((case, samples)) = measured.get_mut(index) else {
                    continue;
                };
                let taken = self.sample(*case, round)?;
                samples.extend(taken.filter(|_| round >= WARM_UP));
            }
        }
        Ok(measured)
    }

    fn sample(&self, (event, size): Case, round: usize) -> Result<Option<Sample>, String> {
        story::let_files_settle();
        if event == Event::Empty {
            let mut empty = command(self.release.join("empty"));
            return sample_with(&mut empty, &self.stdin("")?).map(Some);
        }
        let story = match (event, size) {
            (Event::Cascade, _) => Some(&self.cascading),
            (_, Size::Small) => Some(&self.small),
            (_, Size::Large) => Some(&self.large),
            (_, Size::Huge) => self.huge.as_ref(),
        };
        let Some(story) = story else { return Ok(None) };
        // Back and forth between two texts: every call changes something, and an approved act comes back.
        let change = |file: &str, title: &str, lines: usize| {
            let text = story::plan(title, lines);
            story.write(file, &text)?;
            Ok::<_, String>(payload(story, "PostToolUse", "Write", file, Some(&text)))
        };
        let payload = match event {
            Event::Other => payload(story, "PreToolUse", "Write", "src/x.rs", Some("x")),
            Event::Before => {
                let text = story::plan("Scene 1.1", 14);
                payload(story, "PreToolUse", "Write", SCENE, Some(&text))
            }
            Event::After => {
                let lines = if round.is_multiple_of(2) { 13 } else { 12 };
                change(SCENE, "Scene 1.1", lines)?
            }
            Event::Cascade => change(ACT, "Act 1", 41)?,
            Event::Shell => shell_payload(story),
            Event::Empty | Event::Start | Event::Prompt | Event::Stop => {
                session_payload(story, event, round)
            }
        };
        let mut hook = story.command(&["hook", "claude-code"]);
        let taken = sample_with(&mut hook, &self.stdin(&payload)?)?;
        if event == Event::Cascade {
            // The next round wants the act approved.
            change(ACT, "Act 1", 40)?;
            story.tl(&["status"])?;
        }
        Ok(Some(taken))
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

fn session_payload(story: &Story, event: Event, round: usize) -> String {
    let (name, key, value) = match event {
        Event::Start => ("SessionStart", "source", "startup".to_owned()),
        Event::Prompt => ("UserPromptSubmit", "prompt", format!("go on, {round}")),
        _ => ("Stop", "last_assistant_message", "done".to_owned()),
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

fn table(measured: &Measured, rounds: usize) -> String {
    let samples = |event: Event, size: Size| {
        let found = measured
            .cases
            .iter()
            .find(|(case, _)| *case == (event, size));
        found
            .map(|(_, samples)| samples.as_slice())
            .unwrap_or_default()
    };
    let cpu = |samples: &[Sample], share| percentile(samples.iter().map(|one| one.cpu), share);
    let median = |event, size| cpu(samples(event, size), 50);
    let times = |event, size| ratio(median(event, size), median(Event::Empty, size));
    let mut text = format!(
        "{rounds} interleaved rounds; milliseconds; × is the ratio of medians to the empty process.\n\n\
         | hook | CPU median | CPU p90 | CPU × | wall median | peak MB |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
    );
    let cases = measured.cases.iter();
    let cases = cases.map(|(case, samples)| (case_name(*case), case.1, samples));
    let yardsticks = measured.yardsticks.iter();
    let yardsticks = yardsticks.map(|(name, samples)| ((*name).to_owned(), Size::Small, samples));
    for (name, size, samples) in cases.chain(yardsticks).filter(|(.., it)| !it.is_empty()) {
        text.push_str(&format!(
            "| {name} | {} | {} | {:.2} | {} | {:.1} |\n",
            milliseconds(cpu(samples, 50)),
            milliseconds(cpu(samples, 90)),
            ratio(cpu(samples, 50), median(Event::Empty, size)),
            milliseconds(percentile(samples.iter().map(|one| one.wall), 50)),
            megabytes(peak(samples)),
        ));
    }
    let both = |size| times(Event::Before, size) + times(Event::After, size);
    let slowest = |size| {
        let times = Event::OF_SESSION.map(|event| times(event, size));
        times.into_iter().fold(0.0, f64::max)
    };
    let growth = Event::OF_SESSION.map(|event| {
        let (huge, small) = (times(event, Size::Huge), times(event, Size::Small));
        huge / small
    });
    let memory = measured.cases.iter().map(|(_, samples)| peak(samples));
    let memory = megabytes(memory.max().unwrap_or_default());
    text.push_str("\n| asked, CPU against an empty process | limit | measured | |\n| --- | ---: | ---: | --- |\n");
    for (asked, limit, measured, unit) in [
        (
            "before a tool that touches no plan",
            1.5,
            times(Event::Other, Size::Small),
            " ×",
        ),
        (
            "before a plan write, allowed, 221 nodes",
            2.5,
            times(Event::Before, Size::Small),
            " ×",
        ),
        (
            "the same, 10,000 nodes",
            2.5,
            times(Event::Before, Size::Large),
            " ×",
        ),
        (
            "after a plan write, 221 nodes",
            4.0,
            times(Event::After, Size::Small),
            " ×",
        ),
        (
            "both hooks of one plan write, 221 nodes",
            6.5,
            both(Size::Small),
            " ×",
        ),
        (
            "both hooks of one plan write, 10,000 nodes",
            6.5,
            both(Size::Large),
            " ×",
        ),
        (
            "after a shell command that changed nothing, 221 nodes",
            4.0,
            times(Event::Shell, Size::Small),
            " ×",
        ),
        (
            "the same, 10,000 nodes",
            8.0,
            times(Event::Shell, Size::Large),
            " ×",
        ),
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
            growth.into_iter().fold(0.0, f64::max),
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

fn peak(samples: &[Sample]) -> u64 {
    let peaks = samples.iter().map(|one| one.peak_bytes);
    peaks.max().unwrap_or_default()
}
