//! `tl statusline`: the position of a session in one line, for a host's status line.
//!
//! Run by the host several times a minute, so it is dispatched before the command line parser, only
//! reads the state, and scans no files. It prints an empty line on any error: a host shows whatever
//! comes back, and a status line is no place for error messages.

use std::io::{IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use application::where_am_i::where_if_focused;
use application::{Failure, run_for_value};
use domain::host_event::Host;
use domain::operation::Channel;
use serde_json::Value;
use store::{EngineSettings, Layout};

use crate::caller::Caller;
use crate::use_case_runner::{CallerRule, UseCaseRunner};
use crate::wiring::{Project, open_project_files};

/// Maximum size of the host's description of a session.
const MAX_INPUT_BYTES: u64 = 1024 * 1024;

/// Maximum wait for a lock: the next refresh comes soon.
const LOCK_PATIENCE: Duration = Duration::from_millis(100);

/// Prints the line.
pub(crate) fn print_status_line() {
    // A panic's message is no status line either.
    std::panic::set_hook(Box::new(|_| {}));
    let line = catch_unwind(AssertUnwindSafe(find_status_line))
        .ok()
        .flatten()
        .unwrap_or_default();
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Returns the line of the session that the host describes on standard input.
fn find_status_line() -> Option<String> {
    let stdin = std::io::stdin();
    // Typed by a person, who would wait for a line that waits for them.
    if stdin.is_terminal() {
        return None;
    }
    let mut input = Vec::new();
    stdin.take(MAX_INPUT_BYTES).read_to_end(&mut input).ok()?;
    let described: Value = serde_json::from_slice(&input).ok()?;
    let session = described["session_id"].as_str()?;
    // The present directory first: a session may have moved to another project than the one it was
    // started in.
    let directory = [
        &described["workspace"]["current_dir"],
        &described["cwd"],
        &described["workspace"]["project_dir"],
    ]
    .into_iter()
    .find_map(Value::as_str)
    .map(PathBuf::from)
    .filter(|directory| directory.is_absolute())?;
    let root = Layout::find_project_root(&directory)?;
    render_session_line(&root, session).ok().flatten()
}

fn render_session_line(root: &Path, session: &str) -> Result<Option<String>, Failure> {
    let (project, _) = Project::load_for_hook_or_last_good(root)?;
    let files = open_project_files(root)?;
    let engine = EngineSettings {
        patience: LOCK_PATIENCE,
        ..project.store_engine_settings()
    };
    let caller = Caller::from_host_session(Host::ClaudeCode.as_str(), session);
    let runner = UseCaseRunner {
        project: &project,
        files: &files,
        caller: CallerRule::Known(&caller),
        channel: Channel::Hook,
        commands: None,
        policy: None,
        // Nothing is written, so there is no conflict to wait for.
        retry_time: Duration::ZERO,
        report: &|_| {},
    };
    let store = project.open_store_quietly(&engine, None)?;
    let view = run_for_value(|use_case| runner.run(&*store, use_case), &mut |ctx| {
        where_if_focused(ctx)
    })?;
    Ok(view.map(|view| view.line))
}
