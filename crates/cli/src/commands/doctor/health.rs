//! Health check of one host: its entries, the program they run, and whether that answers.
//!
//! Settings come with a repository, so a command line in them is not run just because it is there:
//! only if it is exactly what we would write, and runs this very program or the `tl` on the user's
//! PATH.

use std::path::{Path, PathBuf};

use application::Failure;
use domain::host_event::Host;
use domain::text::count;
use hosts::install::{After, Call, Found, Piece, Setup, found, hooks_path, pieces};
use serde::Serialize;
use store::DiskFiles;

use super::codex_trust::{Codex, Trust};
use super::double::twice;
use super::probe::{Probe, fire, fire_plugin, list_tools};
use crate::commands::host_choice::{is_executable, is_same, on_path};
use crate::commands::host_files::read;

/// Result of the health check of a host.
#[derive(Debug, Serialize)]
pub(super) struct HostHealth {
    pub(super) host: Host,
    pub(super) file: String,
    /// Program that the hooks run.
    pub(super) program: Option<String>,
    pub(super) hooks: usize,
    pub(super) probes: Vec<Probe>,
    pub(super) findings: Vec<Finding>,
}

/// A problem or warning with its next steps.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) message: String,
    pub(super) next_steps: Vec<String>,
}

impl From<Failure> for Finding {
    fn from(failure: Failure) -> Self {
        Self {
            severity: Severity::Problem,
            message: failure.message,
            next_steps: failure.next_steps,
        }
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Severity {
    /// The hooks do not work as they should.
    Problem,
    /// The hooks work, but the user should know.
    Warning,
}

impl HostHealth {
    /// Counts the findings of a severity.
    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    pub(super) fn problem(&mut self, message: impl Into<String>, next_steps: &[&str]) {
        self.find(Severity::Problem, message.into(), next_steps);
    }

    fn warning(&mut self, message: impl Into<String>, next_steps: &[&str]) {
        self.find(Severity::Warning, message.into(), next_steps);
    }

    fn find(&mut self, severity: Severity, message: String, next_steps: &[&str]) {
        let next_steps = next_steps.iter().map(|step| (*step).to_owned()).collect();
        self.findings.push(Finding {
            severity,
            message,
            next_steps,
        });
    }
}

/// Checks a host; `None` if it is not installed in this project.
pub(super) fn examine(disk: &DiskFiles, host: Host) -> Option<HostHealth> {
    let file = hooks_path(host);
    let mut health = HostHealth {
        host,
        file: file.to_owned(),
        program: None,
        hooks: 0,
        probes: Vec::new(),
        findings: Vec::new(),
    };
    let again = format!("tl init --host {}", host.word());
    // A host without a file is not installed, which is no finding. A file that cannot be read is
    // one, because the host cannot read it either.
    let text = match read(disk, file) {
        Ok(text) => text?,
        Err(Failure { message, .. }) => {
            health.problem(message, &[]);
            return Some(health);
        }
    };
    let Some(ours) = found(host, &text) else {
        // A file that mentions our hooks but does not parse is a problem, because the host cannot
        // parse it either. Without the mention it is not ours to report.
        let own = pieces(
            host,
            &Setup {
                program: "tl".to_owned(),
                strict: false,
            },
        );
        let problem = own.first().and_then(|piece| piece.uninstall(&text).err())?;
        if !text.contains(&format!("hook {}", host.word())) {
            return None;
        }
        let line = problem
            .line
            .map(|line| format!(", line {line}"))
            .unwrap_or_default();
        health.problem(
            format!("`{file}`{line} cannot be read: {problem}"),
            &[&format!("fix {file}"), &again],
        );
        return Some(health);
    };
    health.program = Some(ours.setup.program.clone());
    health.hooks = ours.entries.len();
    let all = pieces(host, &ours.setup);
    let current = entries(&mut health, &all, &text, &ours.setup, &again);
    commands(&mut health, disk, &all, &ours.setup, &again);
    // Duplicates are a problem even if each works: two hooks per call double the latency, and the
    // second reports a block that the first has reported already.
    twice(&mut health, disk);
    if let Some(program) = program(&mut health, &ours.setup.program, &again) {
        // Probed only if the entries are exactly ours: a command line that was edited could be
        // anything.
        if current && may_be_fired(&program) {
            prove(&mut health, disk.root(), &ours, &text);
        } else if current {
            health.warning(
                format!(
                    "not tested: {} is neither this program nor the `tl` on your PATH",
                    program.display()
                ),
                &[&again],
            );
        }
    }
    if host == Host::Codex {
        codex(&mut health, disk.root());
    }
    Some(health)
}

/// Checks whether the entries are what we would write.
fn entries(health: &mut HostHealth, all: &[Piece], text: &str, setup: &Setup, again: &str) -> bool {
    // Installing into the file must change nothing. Comparing texts also finds entries of older
    // versions, without a list of what they looked like.
    let wanted = all.first().map(|piece| piece.install(Some(text), setup));
    let current = wanted == Some(Ok(After::Text(text.to_owned())));
    if !current {
        health.problem(
            format!("entries in {} are missing or out of date", health.file),
            &[again],
        );
    }
    current
}

/// Checks the agent's commands and the MCP server entry.
fn commands(health: &mut HostHealth, disk: &DiskFiles, all: &[Piece], setup: &Setup, again: &str) {
    let differs = |piece: &&Piece| {
        let text = read(disk, &piece.path).ok().flatten();
        piece.install(text.as_deref(), setup)
            != text.map_or(Ok(After::Gone), |text| Ok(After::Text(text)))
    };
    if all
        .iter()
        .filter(|piece| piece.is_servers())
        .any(|piece| differs(&piece))
    {
        health.warning(
            "the MCP server is missing, changed or out of date",
            &[again],
        );
    }
    let old = all
        .iter()
        .skip(1)
        .filter(|piece| !piece.is_servers())
        .filter(differs)
        .count();
    if old > 0 {
        let message = format!(
            "{} missing, changed or out of date",
            count(old, "command is", "commands are")
        );
        health.warning(message, &[again]);
    }
}

/// Finds the program that the hooks run.
fn program(health: &mut HostHealth, program: &str, again: &str) -> Option<PathBuf> {
    let file = if program.contains('/') {
        Some(PathBuf::from(program))
    } else {
        on_path(program)
    };
    let Some(file) = file.filter(|file| is_executable(file)) else {
        let where_to = if program.contains('/') {
            "does not exist or is not executable"
        } else {
            "is not on PATH"
        };
        health.problem(format!("the program `{program}` {where_to}"), &[again]);
        return None;
    };
    let own = std::env::current_exe().ok();
    if let Some(own) = own.filter(|own| !is_same(own, &file)) {
        health.warning(
            format!(
                "the hooks run {}, but this is {}",
                file.display(),
                own.display()
            ),
            &[again],
        );
    }
    Some(file)
}

/// Whether a program may be run by us: this one, or the `tl` on PATH, but nothing that only a
/// repository names.
pub(super) fn may_be_fired(program: &Path) -> bool {
    let own = std::env::current_exe().ok();
    own.into_iter()
        .chain(on_path("tl"))
        .any(|trusted| is_same(&trusted, program))
}

/// Sends a probe event through the configured command line.
fn prove(health: &mut HostHealth, root: &Path, ours: &Found, text: &str) {
    let host = health.host;
    // The event before a tool call, because blocking depends on it; the hosts name it differently.
    let gate = match host {
        Host::ClaudeCode | Host::Codex => "PreToolUse",
        Host::Gemini => "BeforeTool",
        Host::Cursor | Host::Copilot => "preToolUse",
        Host::OpenCode => "",
    };
    let call: Option<&Call> = ours
        .entries
        .iter()
        .find(|entry| entry.event == gate)
        .map(|entry| &entry.call);
    let Some(call) = call else { return };
    let mut fired = vec![fire(host, gate, call, root)];
    if host == Host::OpenCode
        && let Some(node) = on_path("node")
    {
        fired.push(fire_plugin(&node, text, root));
    }
    // The hooks' program also serves MCP, so one probe covers the server entry of every host.
    fired.push(list_tools(&ours.setup.program, root));
    for one in fired {
        match one {
            Ok(probe) => health.probes.push(probe),
            Err(why) => health.problem(
                why,
                &["tl doctor   # again; if it persists, see .throughline/logs"],
            ),
        }
    }
}

/// Checks whether Codex trusts the hooks.
fn codex(health: &mut HostHealth, root: &Path) {
    let Some(program) = on_path("codex") else {
        health.warning(
            "codex is not on your PATH, so it cannot be asked whether it trusts the hooks",
            &[],
        );
        return;
    };
    match Codex::start(&program, root).and_then(|mut codex| codex.trust_of(root)) {
        Ok(Trust::All) => {}
        Ok(Trust::Unseen) => health.problem(
            "Codex does not list the hooks, because it does not trust this folder yet",
            &[
                "codex   # in this folder, and trust it",
                "tl doctor --trust codex",
            ],
        ),
        Ok(Trust::Missing(missing)) => health.problem(
            format!(
                "Codex does not trust {} and skips what it does not trust",
                count(missing, "hook", "hooks")
            ),
            &[
                "tl doctor --trust codex",
                "codex   # or here, where it asks",
            ],
        ),
        // A warning: without an answer it is not known whether the hooks run, and most Codex
        // versions without `app-server` run them.
        Err(why) => health.warning(
            format!("codex cannot be asked whether it trusts the hooks: {why}"),
            &[],
        ),
    }
}
