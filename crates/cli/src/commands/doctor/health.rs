//! The health of one host: its entries, the program they start, and whether that answers.
//!
//! Settings come with a repository, so nothing in them is run because it stands there: a command line is fired only
//! when it is exactly what we would write, and starts this very program or the `tl` on the user's own PATH.

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

/// What was found about a host.
#[derive(Debug, Serialize)]
pub(super) struct HostHealth {
    pub(super) host: Host,
    pub(super) file: String,
    /// What the hooks start.
    pub(super) program: Option<String>,
    pub(super) hooks: usize,
    pub(super) probes: Vec<Probe>,
    pub(super) findings: Vec<Finding>,
}

/// Something that is not as it should be.
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

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Severity {
    /// The hooks do not do what they should.
    Problem,
    /// They do, but someone should know.
    Warning,
}

impl HostHealth {
    /// Returns how many findings are that bad.
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

/// Examines a host; `None` when it is not connected to this project.
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
    let text = match read(disk, file) {
        Ok(text) => text?,
        Err(Failure { message, .. }) => {
            health.problem(message, &[]);
            return Some(health);
        }
    };
    let Some(ours) = found(host, &text) else {
        // Speaks of us, but cannot be read: the host cannot read it either.
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
            &[&format!("mend {file}"), &again],
        );
        return Some(health);
    };
    health.program = Some(ours.setup.program.clone());
    health.hooks = ours.entries.len();
    let all = pieces(host, &ours.setup);
    let current = entries(&mut health, &all, &text, &ours.setup, &again);
    commands(&mut health, disk, &all, &ours.setup, &again);
    twice(&mut health, disk);
    if let Some(program) = program(&mut health, &ours.setup.program, &again) {
        if current && may_be_fired(&program) {
            prove(&mut health, disk.root(), &ours, &text);
        } else if current {
            health.warning(
                format!(
                    "not fired: {} is neither this program nor the `tl` on your PATH",
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

/// Are the entries what we would write?
fn entries(health: &mut HostHealth, all: &[Piece], text: &str, setup: &Setup, again: &str) -> bool {
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

/// Are the agent's commands there?
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

/// Finds the program the hooks start.
fn program(health: &mut HostHealth, program: &str, again: &str) -> Option<PathBuf> {
    let file = if program.contains('/') {
        Some(PathBuf::from(program))
    } else {
        on_path(program)
    };
    let Some(file) = file.filter(|file| is_executable(file)) else {
        let where_to = if program.contains('/') {
            "is not there or cannot be started"
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
                "the hooks start {}, but this is {}",
                file.display(),
                own.display()
            ),
            &[again],
        );
    }
    Some(file)
}

/// Says whether we may start the program without being made to by what a repository says.
pub(super) fn may_be_fired(program: &Path) -> bool {
    let own = std::env::current_exe().ok();
    own.into_iter()
        .chain(on_path("tl"))
        .any(|trusted| is_same(&trusted, program))
}

/// Fires an event through the configured command line.
fn prove(health: &mut HostHealth, root: &Path, ours: &Found, text: &str) {
    let host = health.host;
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
    fired.push(list_tools(&ours.setup.program, root));
    for one in fired {
        match one {
            Ok(probe) => health.probes.push(probe),
            Err(why) => health.problem(
                why,
                &["tl doctor   # again; if it stays, see .throughline/logs"],
            ),
        }
    }
}

/// Does Codex run the hooks?
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
            "Codex does not see the hooks: it does not trust this folder yet",
            &[
                "codex   # here, and trust the folder",
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
        Err(why) => health.warning(
            format!("codex could not be asked whether it trusts the hooks: {why}"),
            &[],
        ),
    }
}
