//! Eight sessions that write plans at the same time: how long a hook waits, and whether one is refused
//! its own text.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Length;
use super::measure::percentile;
use super::report::milliseconds;
use super::story::{self, Story};
use crate::generate;
use crate::workspace::target_directory;
use crate::{Outcome, say, say_error};

const SESSIONS: usize = 8;
/// Limit of the 99th percentile of a hook, in milliseconds.
const MAX_P99_MS: f64 = 120.0;

/// What the sessions met.
#[derive(Default)]
struct Met {
    waits: Vec<Duration>,
    /// Writes that were refused.
    refused: usize,
}

/// Builds, makes the project, lets the sessions write, and prints a table.
pub(crate) fn bench(length: Length) -> Outcome {
    say_error("building (dist)");
    generate::build_dist()?;
    let target = target_directory()?;
    let folder = tempfile::Builder::new()
        .prefix("bench-crowd-")
        .tempdir_in(&target)
        .map_err(|error| format!("no directory for the benchmark: {error}"))?;
    say_error("making a story of 10,000 nodes");
    let story = Story::make(
        &target.join("dist/tl"),
        folder.path(),
        story::LARGE,
        Length::Quick,
    )?;
    let writes = match length {
        Length::Full => 50,
        Length::Quick => 10,
    };
    say_error(&format!("{SESSIONS} sessions write {writes} times each"));
    let met: Vec<Result<Met, String>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..SESSIONS)
            .map(|session| {
                scope.spawn({
                    let story = &story;
                    move || write_plans(story, session, writes)
                })
            })
            .collect();
        let ended = running.into_iter().map(|one| one.join());
        ended
            .map(|met| met.unwrap_or_else(|_| Err("a session panicked".to_owned())))
            .collect()
    });
    let mut all = Met::default();
    for met in met {
        let met = met?;
        all.waits.extend(met.waits);
        all.refused += met.refused;
    }
    let wait = |share| percentile(all.waits.iter().copied(), share);
    let p99 = wait(99).as_secs_f64() * 1e3;
    let verdict = |holds| if holds { "✓" } else { "over" };
    say(&format!(
        "{SESSIONS} sessions, {} hooks, wall in milliseconds.\n\n\
         | | limit | measured | |\n| --- | ---: | ---: | --- |\n\
         | median of a hook | | {} | |\n| p90 | | {} | |\n\
         | p99 | {MAX_P99_MS} | {p99:.1} | {} |\n\
         | writes refused to the session that made them | 0 | {} | {} |",
        all.waits.len(),
        milliseconds(wait(50)),
        milliseconds(wait(90)),
        verdict(p99 <= MAX_P99_MS),
        all.refused,
        verdict(all.refused == 0),
    ));
    Ok(())
}

/// One session writes its own chapter again and again, with the hooks before and after.
fn write_plans(story: &Story, session: usize, writes: usize) -> Result<Met, String> {
    let mut met = Met::default();
    let chapter = session + 1;
    let file = format!("acts/act-1/chapters/chapter-{chapter:02}/plan.md");
    let id = format!("00000000-0000-4000-8000-{chapter:012}");
    let mut ask = |event: &str, tool: &str, text: &str| -> Result<String, String> {
        let payload = serde_json::json!({
            "session_id": id,
            "transcript_path": "/home/user/.claude/projects/p/s.jsonl",
            "cwd": story.path(""),
            "permission_mode": "default",
            "hook_event_name": event,
            "tool_name": tool,
            "tool_input": { "file_path": story.path(&file), "content": text },
            "tool_use_id": "toolu_00000001",
        });
        let begun = Instant::now();
        let answer = run_hook(story, &payload.to_string())?;
        met.waits.push(begun.elapsed());
        Ok(answer)
    };
    ask("PostToolUse", "Read", "")?;
    let mut refused = 0;
    for write in 0..writes {
        let text = story::plan(&format!("Chapter {chapter}, {write}"), 20);
        let answer = ask("PreToolUse", "Write", &text)?;
        if answer.contains("\"deny\"") {
            refused += 1;
            continue;
        }
        story.write(&file, &text)?;
        ask("PostToolUse", "Write", &text)?;
    }
    met.refused = refused;
    Ok(met)
}

fn run_hook(story: &Story, payload: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot run a hook: {error}");
    let mut child = story
        .command(&["hook", "claude-code"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(payload.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
