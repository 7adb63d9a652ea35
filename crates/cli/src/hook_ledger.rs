//! Hook ledger: an append-only log with one JSON line per hook, `.throughline/hooks.jsonl`.
//!
//! It feeds `tl host doctor` and `tl gate stats`, and contains no text of plans or tools. A line is one
//! `O_APPEND` write, so that concurrent hooks lose nothing; it is not synced.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use domain::host_event::{Happening, Host, HostEvent, ToolKind};
use domain::ports::Clock;
use domain::text::{clean_line, count_with_noun};
use serde::{Deserialize, Serialize};
use store::SystemClock;
use store::private_files::{private_open_options, read_own_file};

/// Size at which the ledger is rotated; one older file is kept.
const MAX_LEDGER_BYTES: u64 = 1024 * 1024;

/// How much of the end of the file is read for current activity.
const TAIL_BYTES: u64 = 64 * 1024;

/// Outcome of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HookOutcome {
    Pass,
    Block,
    Context,
    Fault,
    Off,
}

/// One line of the ledger, for writing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HookLedgerEntry<'e> {
    at: i64,
    host: Host,
    event: &'e str,
    #[serde(skip_serializing_if = "str::is_empty")]
    session: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'static str>,
    /// What a finished call did, as far as gates wait for it: `commit`, `read`, `tl ticket`.
    #[serde(skip_serializing_if = "Option::is_none")]
    did: Option<String>,
    micros: u64,
    #[serde(skip)]
    start: Instant,
    outcome: HookOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gate: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

impl<'e> HookLedgerEntry<'e> {
    /// Creates the entry of an event.
    pub(crate) fn from_event(event: &'e HostEvent, start: Instant) -> Self {
        let call = event.happening.tool_call();
        Self {
            session: &event.session,
            turn: event.turn.as_deref(),
            call: call.and_then(|call| call.id.as_deref()),
            tool: call.map(|call| call.kind.as_str()),
            did: describe_finished_call(event),
            ..Self::without_event(event.host, event.happening.as_str(), start)
        }
    }

    /// Creates an entry for an event that could not be parsed.
    pub(crate) fn without_event(host: Host, event: &'e str, start: Instant) -> Self {
        Self {
            at: SystemClock.now().as_millis(),
            host,
            event,
            session: "",
            turn: None,
            call: None,
            tool: None,
            did: None,
            micros: 0,
            start,
            outcome: HookOutcome::Pass,
            gate: None,
            plan: None,
            fault: None,
        }
    }
}

/// Names what a finished call did, if a gate may have waited for it.
fn describe_finished_call(event: &HostEvent) -> Option<String> {
    let Happening::ToolFinished {
        call,
        failed: false,
    } = &event.happening
    else {
        return None;
    };
    if call.kind == ToolKind::Read {
        return Some("read".to_owned());
    }
    let command = call.command.as_deref()?;
    // Most commands are neither, and need not be parsed for this.
    if !command.contains("commit") && !command.contains("tl ") {
        return None;
    }
    let line = call.shell_line()?;
    let own = line.own_calls().into_iter().flatten().next();
    match own {
        Some(word) => Some(format!("tl {word}")),
        None => line.may_commit().then(|| "commit".to_owned()),
    }
}

/// One line of the ledger, as read. Lenient: another version may have written it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct HookLedgerLine {
    pub(crate) at: i64,
    pub(crate) host: Host,
    #[serde(default)]
    pub(crate) event: String,
    #[serde(default)]
    pub(crate) session: String,
    #[serde(default)]
    pub(crate) call: Option<String>,
    #[serde(default)]
    pub(crate) did: Option<String>,
    #[serde(default)]
    pub(crate) micros: u64,
    pub(crate) outcome: HookOutcome,
    #[serde(default)]
    pub(crate) gate: Option<String>,
    #[serde(default)]
    pub(crate) plan: Option<String>,
    #[serde(default)]
    pub(crate) fault: Option<String>,
}

/// The ledger of one project.
#[derive(Clone, Debug)]
pub(crate) struct LedgerFile {
    path: PathBuf,
    /// Faults not yet reported to an agent, one line each.
    untold: PathBuf,
}

impl LedgerFile {
    /// Returns the ledger of the project at `root`.
    pub(crate) fn in_project(root: &Path) -> Self {
        let home = root.join(".throughline");
        Self {
            path: home.join("hooks.jsonl"),
            untold: home.join("hook-faults"),
        }
    }

    /// Appends a line. Errors are ignored: a full disk must not block the agent's tool calls.
    pub(crate) fn append_entry(&self, mut entry: HookLedgerEntry<'_>, outcome: HookOutcome) {
        entry.outcome = outcome;
        entry.micros = u64::try_from(entry.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let Ok(mut line) = serde_json::to_vec(&entry) else {
            return;
        };
        line.push(b'\n');
        let Ok(mut file) = open_for_append(&self.path) else {
            return;
        };
        // One write per line: `write!` would use several, and concurrent hooks would interleave.
        let _ = file.write_all(&line);
        if file
            .metadata()
            .is_ok_and(|metadata| metadata.len() > MAX_LEDGER_BYTES)
        {
            // Two hooks may rotate at once. Then the second one moves a nearly empty file over the
            // older one; statistics are lost, which was preferred to a lock in every hook.
            let _ = std::fs::rename(&self.path, self.rotated_path());
        }
    }

    /// Records an internal error, to be reported once in the next reply.
    pub(crate) fn record_fault(&self, mut entry: HookLedgerEntry<'_>, why: &str) {
        // An error may quote a path or a payload, and the text is later shown to an agent.
        let why = clean_line(&domain::secrets::mask_secrets(why));
        entry.fault = Some(why.clone());
        let line = format!("{} {why}\n", SystemClock.now().format_local_minute());
        self.append_entry(entry, HookOutcome::Fault);
        let _ = open_for_append(&self.untold).and_then(|mut file| file.write_all(line.as_bytes()));
    }

    /// Renders the notice about faults since the last report.
    pub(crate) fn render_pending_faults(&self) -> Option<String> {
        let text = read_own_file(&self.untold).ok()?;
        let mut lines = text.lines();
        // First and last only: a broken disk can cause hundreds, and a briefing is bounded.
        let first = lines.next()?;
        let shown = match lines.next_back() {
            Some(last) => format!("First: {first}. Last: {last}"),
            None => first.to_owned(),
        };
        Some(format!(
            "Throughline: {} could not be made. {shown}. Everything was checked again now; details: tl host doctor",
            count_with_noun(text.lines().count(), "check", "checks")
        ))
    }

    /// Clears the faults after they were reported.
    pub(crate) fn clear_faults(&self) {
        let _ = std::fs::remove_file(&self.untold);
    }

    /// Reads all lines, oldest first; lines that cannot be parsed are skipped.
    pub(crate) fn read_lines(&self) -> Vec<HookLedgerLine> {
        [self.rotated_path(), self.path.clone()]
            .into_iter()
            .filter_map(|path| read_own_file(&path).ok())
            .flat_map(|text| {
                text.lines()
                    .filter_map(|line| serde_json::from_str(line).ok())
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Whether no call of a session that finished since its last prompt could pass a text on to the
    /// agent.
    pub(crate) fn has_told_nothing_since_prompt(&self, session: &str) -> bool {
        let lines = self.read_latest_lines();
        let own = lines.iter().rev().filter(|line| line.session == session);
        own.take_while(|line| line.event != "prompt-submitted")
            .all(|line| line.event != "tool-finished" || line.outcome != HookOutcome::Context)
    }

    /// Reads the last 64 KiB, oldest line first: bounded work for the dashboard and the hooks.
    pub(crate) fn read_latest_lines(&self) -> Vec<HookLedgerLine> {
        let mut bytes = Vec::new();
        let opened = private_open_options().read(true).open(&self.path);
        let read = opened.and_then(|mut file| {
            // From the end: the file has up to 1 MiB, and this is read by hooks and every few
            // seconds by the dashboard.
            let skipped = file.metadata()?.len().saturating_sub(TAIL_BYTES);
            file.seek(SeekFrom::Start(skipped))?;
            file.read_to_end(&mut bytes)
        });
        if read.is_err() {
            return Vec::new();
        }
        // The first line may be truncated; it does not parse then, and is skipped.
        String::from_utf8_lossy(&bytes)
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    fn rotated_path(&self) -> PathBuf {
        self.path.with_extension("1.jsonl")
    }
}
/// Opens a file of the ledger, which may be what a fault about a link in our folder is recorded in: the
/// folder itself must not be one either.
fn open_for_append(path: &Path) -> std::io::Result<File> {
    if path.parent().is_some_and(Path::is_symlink) {
        return Err(std::io::ErrorKind::NotADirectory.into());
    }
    private_open_options().create(true).append(true).open(path)
}
