//! Health check of one host: its entries, the program they run, and whether that answers.
//!
//! Settings come with a repository, so a command line in them is not run just because it is there:
//! only if it is exactly what we would write, and runs this very program or the `tl` on the user's
//! PATH.

use std::path::{Path, PathBuf};

use application::Failure;
use domain::host_event::Host;
use domain::profile::Profile;
use domain::text::count_with_noun;
use hosts::host_spec;
use hosts::install::{
    FileOutcome, HookSetup, HostFile, InstalledHooks, find_installed, host_files,
};
use serde::Serialize;
use store::DiskFiles;

use super::codex_trust::{CodexClient, HookTrust};
use super::duplicates::{find_enabled_plugin, report_duplicates};
use super::probe::{Probe, probe_hook_command, probe_mcp_server, probe_plugin};
use crate::commands::host_choice::{find_on_path_outside, is_inside};
use crate::commands::host_files::read_project_file;
use crate::program_path::{find_program_cache, is_executable, is_same_file};

/// Result of the health check of a host.
#[derive(Debug, Serialize)]
pub(super) struct HostHealth {
    pub(super) host: Host,
    pub(super) file: String,
    /// Program that the hooks run.
    pub(super) program: Option<String>,
    /// How the hooks were installed, to install them again in the same way.
    #[serde(skip)]
    pub(super) setup: Option<HookSetup>,
    pub(super) hooks: usize,
    pub(super) probes: Vec<Probe>,
    pub(super) findings: Vec<HostFinding>,
}

/// A problem or warning with its next steps.
#[derive(Debug, Serialize)]
pub(super) struct HostFinding {
    pub(super) severity: HostFindingSeverity,
    pub(super) message: String,
    pub(super) next_steps: Vec<String>,
}

impl From<Failure> for HostFinding {
    fn from(failure: Failure) -> Self {
        Self {
            severity: HostFindingSeverity::Problem,
            message: failure.message,
            next_steps: failure.next_steps,
        }
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum HostFindingSeverity {
    /// The hooks do not work as they should.
    Problem,
    /// The hooks work, but the user should know.
    Warning,
}

impl HostHealth {
    /// Returns the health of a host of which nothing is known yet.
    fn new(host: Host, file: String) -> Self {
        Self {
            host,
            file,
            program: None,
            setup: None,
            hooks: 0,
            probes: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Counts the findings of a severity.
    pub(super) fn count_findings(&self, severity: HostFindingSeverity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    pub(super) fn add_problem(&mut self, message: impl Into<String>, next_steps: &[&str]) {
        self.add_finding(HostFindingSeverity::Problem, message.into(), next_steps);
    }

    fn add_warning(&mut self, message: impl Into<String>, next_steps: &[&str]) {
        self.add_finding(HostFindingSeverity::Warning, message.into(), next_steps);
    }

    fn add_probe(&mut self, probe: Result<Probe, String>) {
        match probe {
            Ok(probe) => self.probes.push(probe),
            Err(why) => self.add_problem(
                why,
                &["tl host doctor   # again; if it persists, see .throughline/logs"],
            ),
        }
    }

    /// Whether installing again would end one of the findings.
    pub(super) fn needs_install(&self) -> bool {
        let again = install_command(self.host);
        self.findings
            .iter()
            .any(|finding| finding.next_steps.contains(&again))
    }

    fn add_finding(&mut self, severity: HostFindingSeverity, message: String, next_steps: &[&str]) {
        let next_steps = next_steps.iter().map(|step| (*step).to_owned()).collect();
        self.findings.push(HostFinding {
            severity,
            message,
            next_steps,
        });
    }
}

/// The command that installs a host's hooks, again too.
fn install_command(host: Host) -> String {
    format!("tl init --host {}", host.as_str())
}

/// Checks a host; `None` if it is not installed in this project.
pub(super) fn check_host(disk: &DiskFiles, host: Host, profiles: &[Profile]) -> Option<HostHealth> {
    let file = host_spec(host).hooks_path;
    let mut health = HostHealth::new(host, file.to_owned());
    let again = install_command(host);
    // A host without a file is not installed, which is no finding. A file that cannot be read is
    // one, because the host cannot read it either.
    let text = match read_project_file(disk, file) {
        Ok(text) => text?,
        Err(Failure { message, .. }) => {
            health.add_problem(message, &[]);
            return Some(health);
        }
    };
    let Some(ours) = find_installed(host, &text) else {
        // A file that mentions our hooks but does not parse is a problem, because the host cannot
        // parse it either. Without the mention it is not ours to report.
        let own = host_files(
            host,
            &HookSetup {
                program: "tl".to_owned(),
                strict: false,
                status_line: false,
            },
        );
        // The hooks are always the first file of a host.
        let problem = own.first().and_then(|piece| piece.uninstall(&text).err())?;
        if !text.contains(&format!("hook {}", host.as_str())) {
            return None;
        }
        let line = problem
            .line
            .map(|line| format!(", line {line}"))
            .unwrap_or_default();
        health.add_problem(
            format!("`{file}`{line} cannot be read: {problem}"),
            &[&format!("fix {file}"), &again],
        );
        return Some(health);
    };
    health.program = Some(ours.setup.program.clone());
    health.setup = Some(ours.setup.clone());
    health.hooks = ours.entries.len();
    let mut all = host_files(host, &ours.setup);
    all.retain(|piece| piece.is_wanted(profiles));
    let current = check_entries(&mut health, &all, &text, &ours.setup, &again);
    let serves = check_commands(&mut health, disk, &all, &ours.setup, &again);
    // Duplicates are a problem even if each works: two hooks per call double the latency, and the
    // second reports a block that the first has reported already.
    report_duplicates(&mut health, disk);
    if let Some(program) = find_hook_program(&mut health, disk.root(), &ours.setup.program, &again)
    {
        // Probed only if the entries are exactly ours: a command line that was edited could be
        // anything.
        if let (true, Some(trusted)) = (current, trusted_program(disk.root(), &program)) {
            send_probes(&mut health, disk.root(), &ours, &trusted, &text);
            // The entry of the MCP server names the same program, where it is exactly ours.
            if serves {
                health.add_probe(probe_mcp_server(&trusted, disk.root()));
            }
        } else if current {
            health.add_warning(
                format!(
                    "not tested: {} is neither this program nor the `tl` on your PATH",
                    program.display()
                ),
                &[&again],
            );
        }
    }
    if host_spec(host).quirks.needs_hook_trust {
        check_codex_trust(&mut health, disk.root());
    }
    Some(health)
}

/// Checks a host whose hooks come with our plugin; `None` if that is not enabled.
pub(super) fn check_plugin(disk: &DiskFiles, host: Host) -> Option<HostHealth> {
    let file = find_enabled_plugin(host_spec(host), disk)
        .into_iter()
        .next()?;
    let setup = HookSetup {
        program: "tl".to_owned(),
        strict: false,
        status_line: false,
    };
    let Ok(FileOutcome::Text(hooks)) = host_files(host, &setup).first()?.install(None, &setup)
    else {
        return None;
    };
    let ours = find_installed(host, &hooks)?;
    let mut health = HostHealth::new(host, format!("the plugin enabled in {file}"));
    health.program = Some(setup.program.clone());
    health.hooks = ours.entries.len();
    let step = "put the folder with `tl` on the PATH of the shell that starts the host";
    let found = find_hook_program(&mut health, disk.root(), &setup.program, step);
    if let Some(program) = found.and_then(|found| trusted_program(disk.root(), &found)) {
        send_probes(&mut health, disk.root(), &ours, &program, &hooks);
        health.add_probe(probe_mcp_server(&program, disk.root()));
    }
    Some(health)
}

/// Checks whether the entries are what we would write.
fn check_entries(
    health: &mut HostHealth,
    all: &[HostFile],
    text: &str,
    setup: &HookSetup,
    again: &str,
) -> bool {
    // Installing into the file must change nothing. Comparing texts also finds entries of older
    // versions, without a list of what they looked like.
    let wanted = all.first().map(|piece| piece.install(Some(text), setup));
    let current = wanted == Some(Ok(FileOutcome::Text(text.to_owned())));
    if !current {
        health.add_problem(
            format!("entries in {} are missing or out of date", health.file),
            &[again],
        );
    }
    current
}

/// Checks the agent's commands and the MCP server entry, and returns whether that entry is ours.
fn check_commands(
    health: &mut HostHealth,
    disk: &DiskFiles,
    all: &[HostFile],
    setup: &HookSetup,
    again: &str,
) -> bool {
    let differs = |piece: &&HostFile| {
        let text = read_project_file(disk, &piece.path).ok().flatten();
        piece.install(text.as_deref(), setup)
            != text.map_or(Ok(FileOutcome::Gone), |text| Ok(FileOutcome::Text(text)))
    };
    let mut servers = all.iter().filter(|piece| piece.is_servers());
    let serves = !servers.any(|piece| differs(&piece));
    if !serves {
        health.add_warning(
            "the MCP server is missing, changed or out of date",
            &[again],
        );
    }
    // Without the first file, whose entries were checked above.
    let old = all
        .iter()
        .skip(1)
        .filter(|piece| !piece.is_servers())
        .filter(differs)
        .count();
    if old > 0 {
        let message = format!(
            "{} missing, changed or out of date",
            count_with_noun(old, "command is", "commands are")
        );
        health.add_warning(message, &[again]);
    }
    serves
}

/// Finds the program that the hooks run.
fn find_hook_program(
    health: &mut HostHealth,
    root: &Path,
    program: &str,
    again: &str,
) -> Option<PathBuf> {
    let file = if program.contains('/') {
        Some(PathBuf::from(program))
    } else {
        find_on_path_outside(root, program)
    };
    let Some(file) = file.filter(|file| is_executable(file)) else {
        let where_to = if program.contains('/') {
            "does not exist or is not executable"
        } else {
            "is not on PATH"
        };
        health.add_problem(format!("the program `{program}` {where_to}"), &[again]);
        return None;
    };
    if let Some(cache) = find_program_cache(&file) {
        health.add_warning(
            format!(
                "the hooks run {}, in the cache of {}, which removes it",
                file.display(),
                cache.tool
            ),
            &[cache.install, again],
        );
    }
    let own = std::env::current_exe().ok();
    if let Some(own) = own.filter(|own| !is_same_file(own, &file)) {
        health.add_warning(
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

/// Returns the real path of a program that we may run: this one, or the `tl` on PATH. `None` for
/// anything that only a repository names.
///
/// A path inside the project or relative to it is none even if it leads to one of them now: the
/// repository decides where its links lead.
pub(super) fn trusted_program(root: &Path, program: &Path) -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let is_own_path = own.as_deref() == Some(program);
    if !program.is_absolute() || (is_inside(root, program) && !is_own_path) {
        return None;
    }
    own.into_iter()
        .chain(find_on_path_outside(root, "tl"))
        .find(|trusted| is_same_file(trusted, program))?
        .canonicalize()
        .ok()
}

/// Sends a probe event through the configured command line.
fn send_probes(
    health: &mut HostHealth,
    root: &Path,
    ours: &InstalledHooks,
    program: &Path,
    text: &str,
) {
    let spec = host_spec(health.host);
    // The event before a tool call, because blocking depends on it; a plugin's entry is for all.
    let gate = ours
        .entries
        .iter()
        .find(|entry| entry.event == spec.gate_event || entry.event.is_empty());
    let Some(gate) = gate else { return };
    let mut fired = vec![probe_hook_command(spec, gate, program, root)];
    if let Some(script) = spec.quirks.plugin_probe
        && let Some(node) = find_on_path_outside(root, "node")
    {
        fired.push(probe_plugin(&node, script, text, root));
    }
    for one in fired {
        health.add_probe(one);
    }
}

/// Checks whether Codex trusts the hooks.
fn check_codex_trust(health: &mut HostHealth, root: &Path) {
    let Some(program) = find_on_path_outside(root, "codex") else {
        health.add_warning(
            "codex is not on your PATH, so it cannot be asked whether it trusts the hooks",
            &[],
        );
        return;
    };
    match CodexClient::start_server(&program, root).and_then(|mut codex| codex.trust_status(root)) {
        Ok(HookTrust::All) => {}
        Ok(HookTrust::Unseen) => health.add_problem(
            "Codex does not list the hooks, because it does not trust this folder yet",
            &[
                "codex   # in this folder, and trust it",
                "tl host doctor --trust codex",
            ],
        ),
        Ok(HookTrust::Missing(missing)) => health.add_problem(
            format!(
                "Codex does not trust {} and skips what it does not trust",
                count_with_noun(missing, "hook", "hooks")
            ),
            &[
                "tl host doctor --trust codex",
                "codex   # or here, where it asks",
            ],
        ),
        // A warning: without an answer it is not known whether the hooks run, and most Codex
        // versions without `app-server` run them.
        Err(why) => health.add_warning(
            format!("codex cannot be asked whether it trusts the hooks: {why}"),
            &[],
        ),
    }
}
