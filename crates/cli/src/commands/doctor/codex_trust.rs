//! Codex hook trust: client for `codex app-server`, which speaks JSON-RPC lines on its standard
//! streams.
//!
//! Codex silently skips hooks it does not trust. It keeps a hash of each trusted hook in the user's
//! own configuration; that file is written by Codex, and only on `tl host doctor --trust codex`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use application::Failure;
use domain::host_event::Host;
use domain::text::count_with_noun;
use hosts::host_spec;
use hosts::install::{
    FileOutcome, HookCall, InstalledHooks, find_installed, host_files, is_our_command,
};
use serde_json::{Value, json};
use store::DiskFiles;

use super::health::trusted_program;
use super::probe::new_command;
use crate::commands::host_choice::find_on_path_outside;
use crate::commands::host_files::read_project_file;
use crate::ui::{GOOD, Ui, styled};

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Trust status of our hooks in Codex.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HookTrust {
    All,
    /// This many are not trusted.
    Missing(usize),
    /// They are not listed: the project directory itself is not trusted.
    Unseen,
}

/// A hook as listed by Codex.
struct ListedHook {
    key: String,
    command: String,
    hash: String,
    trusted: bool,
}

/// A running `codex app-server`.
pub(super) struct CodexClient {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    calls: u64,
}

impl CodexClient {
    /// Starts the server and performs the handshake.
    pub(super) fn start_server(program: &Path, root: &Path) -> Result<Self, String> {
        let mut child = new_command(&program.display().to_string())
            .arg("app-server")
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let output = child.stdout.take().ok_or("it has no output")?;
        // A reader thread, because a pipe has no read timeout, and a Codex that hangs (an update
        // prompt, a login) must not hang the doctor. It ends with the pipe.
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut codex = Self {
            input: child.stdin.take(),
            child,
            lines,
            calls: 0,
        };
        let client = json!({ "name": "throughline", "title": "Throughline", "version": env!("CARGO_PKG_VERSION") });
        // As in the protocol: a request before this one is answered with an error.
        codex.call_method("initialize", &json!({ "clientInfo": client }))?;
        codex.send_message(&json!({ "method": "initialized" }))?;
        Ok(codex)
    }

    fn send_message(&mut self, message: &Value) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("it has no input")?;
        writeln!(input, "{message}")
            .and_then(|()| input.flush())
            .map_err(|error| error.to_string())
    }

    fn call_method(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.calls += 1;
        let id = self.calls;
        self.send_message(&json!({ "method": method, "id": id, "params": params }))?;
        let start = Instant::now();
        loop {
            // A deadline for the whole call, not per line: notifications would extend it endlessly.
            let left = RESPONSE_TIMEOUT.saturating_sub(start.elapsed());
            let line = self
                .lines
                .recv_timeout(left)
                .map_err(|_| format!("no answer to {method}"))?;
            // Whatever else Codex prints is no answer to us.
            let Ok(mut answer) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            // Notifications arrive between the responses.
            if answer["id"] != json!(id) {
                continue;
            }
            if let Some(error) = answer.get("error") {
                return Err(format!(
                    "{method}: {}",
                    error["message"].as_str().unwrap_or("refused")
                ));
            }
            return Ok(answer["result"].take());
        }
    }

    fn list_hooks(&mut self, root: &Path) -> Result<Vec<ListedHook>, String> {
        let answer = self.call_method("hooks/list", &json!({ "cwds": [root] }))?;
        let text = |hook: &Value, name: &str| hook[name].as_str().unwrap_or_default().to_owned();
        // Codex lists the hooks of the user and of plugins too. Only this project's file is ours to
        // judge.
        let file = root.join(host_spec(Host::Codex).hooks_path);
        let of_project = |hook: &&Value| file == Path::new(&text(hook, "sourcePath"));
        let all = answer["data"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|one| one["hooks"].as_array())
            .flatten();
        Ok(all
            .filter(of_project)
            .map(|hook| ListedHook {
                key: text(hook, "key"),
                command: text(hook, "command"),
                hash: text(hook, "currentHash"),
                trusted: matches!(hook["trustStatus"].as_str(), Some("trusted" | "managed")),
            })
            .filter(|hook| is_our_command(Host::Codex, &hook.command))
            .collect())
    }

    /// Returns the trust status of our hooks in this project.
    pub(super) fn trust_status(&mut self, root: &Path) -> Result<HookTrust, String> {
        let hooks = self.list_hooks(root)?;
        let missing = hooks.iter().filter(|hook| !hook.trusted).count();
        Ok(match (hooks.is_empty(), missing) {
            (true, _) => HookTrust::Unseen,
            (false, 0) => HookTrust::All,
            (false, missing) => HookTrust::Missing(missing),
        })
    }
}

impl Drop for CodexClient {
    fn drop(&mut self) {
        // Closing its input makes it exit, which lets it finish writing its settings; killed only
        // if it does not.
        self.input = None;
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes Codex trust the hooks of this project.
pub(super) fn trust_project_hooks(ui: Ui, disk: &DiskFiles) -> Result<(), Failure> {
    let root = disk.root();
    let lines = own_command_lines(disk)?;
    let program = find_on_path_outside(root, "codex").ok_or_else(|| {
        Failure::not_found("codex is not on your PATH, and only codex can record what it trusts")
    })?;
    let cannot = |why: String| Failure::unavailable(format!("codex could not be asked: {why}"));
    let mut codex = CodexClient::start_server(&program, root).map_err(cannot)?;
    let listed = codex.list_hooks(root).map_err(cannot)?;
    if listed.is_empty() {
        return Err(Failure::refused(
            "Codex does not list the hooks, because it does not trust this folder yet",
        )
        .with_step("codex   # in this folder, and trust it")
        .with_step("tl host doctor --trust codex"));
    }
    let wanted: Vec<&ListedHook> = listed
        .iter()
        // Matched by the exact command line: a foreign hook in the same file stays untrusted.
        .filter(|hook| !hook.trusted && lines.contains(&hook.command))
        .collect();
    if wanted.is_empty() {
        ui.print_note("Codex trusts these hooks already");
        return Ok(());
    }
    ui.print_note(format_args!("telling Codex to run {} of this project from now on (`config/batchWrite` of `hooks.state`, in your Codex settings):", count_with_noun(wanted.len(), "hook", "hooks")));
    let mut commands: Vec<&str> = wanted.iter().map(|hook| hook.command.as_str()).collect();
    // Printed before the write: trusting a command is the user's decision, so the user sees which.
    commands.dedup();
    for line in commands {
        ui.print_message(format!("  {line}"));
    }
    let state: serde_json::Map<String, Value> = wanted
        .iter()
        .map(|hook| {
            (
                hook.key.clone(),
                json!({ "enabled": true, "trusted_hash": hook.hash }),
            )
        })
        .collect();
    // `upsert` keeps the trust of other projects' hooks. The hash is the one that Codex has listed,
    // so a file that changes meanwhile is not trusted by mistake.
    let edit = json!({ "keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert" });
    codex
        .call_method(
            "config/batchWrite",
            &json!({ "edits": [edit], "reloadUserConfig": true }),
        )
        .map_err(cannot)?;
    ui.print_message(format_args!(
        "{} Codex runs them from its next session on",
        styled(GOOD, "✓")
    ));
    Ok(())
}

/// Returns the command lines that are exactly what we would write. Anything else may come from a
/// cloned repository, and trusting it would run foreign code on every tool call.
fn own_command_lines(disk: &DiskFiles) -> Result<Vec<String>, Failure> {
    let path = host_spec(Host::Codex).hooks_path;
    let text = read_project_file(disk, path)?;
    let ours: Option<(String, InstalledHooks)> =
        text.and_then(|text| find_installed(Host::Codex, &text).map(|found| (text, found)));
    let Some((text, ours)) = ours else {
        return Err(
            Failure::not_found(format!("there are no Throughline hooks in {path}"))
                .with_step("tl init --host codex"),
        );
    };
    let program = &ours.setup.program;
    // The program is checked as well as the line: the line is what we would write for any program
    // named `tl`, also for one in the repository.
    let file = if program.contains('/') {
        Some(PathBuf::from(program))
    } else {
        find_on_path_outside(disk.root(), program)
    };
    let current = host_files(Host::Codex, &ours.setup)
        .first()
        .map(|piece| piece.install(Some(&text), &ours.setup));
    if current != Some(Ok(FileOutcome::Text(text)))
        || file.is_none_or(|file| trusted_program(disk.root(), &file).is_none())
    {
        return Err(Failure::refused(format!(
                "the hooks in {path} differ from what this program would write, so Codex is not asked to trust them"
            ),
        )
        .with_step("tl init --host codex")
        .with_step("tl host doctor --trust codex"));
    }
    let lines = ours
        .entries
        .into_iter()
        .filter_map(|entry| match entry.call {
            HookCall::Shell(line) => Some(line),
            HookCall::Program(..) => None,
        });
    Ok(lines.collect())
}
