//! `tl host doctor`: diagnoses the installation in agent hosts, the state, and the trust in both.

mod codex_trust;
mod duplicates;
mod health;
mod latency;
mod probe;

use std::path::Path;

use application::Failure;
use application::decisions::has_unadopted_decisions;
use clap::Args;
use domain::host_event::Host;
use domain::ports::{HistoryState, Store, StoreFault};
use domain::profile::Profile;
use domain::settings::Storage;
use domain::text::count_with_noun;
use serde::Serialize;
use store::{DiskFiles, NetworkFileSystem, network_file_system_at};

use crate::commands::doctor::codex_trust::trust_project_hooks;
use crate::commands::doctor::health::{
    HostFinding, HostFindingSeverity, HostHealth, check_host, check_plugin,
};
pub(crate) use crate::commands::doctor::latency::{HookLatency, compute_latencies};
use crate::commands::host_choice::missing_on_path_note;
use crate::commands::init::InitArgs;
use crate::exit_code::ExitCode;
use crate::program_path::find_on_path;
use crate::trust::pending_policy_notice;
use crate::ui::{BAD, BOLD, DIM, GOOD, Styled, Ui, WARN, styled};
use crate::wiring::{App, Project};

/// Diagnose the hooks in the agent hosts' settings
///
/// For every host installed in this project: are all entries present and up to date, does the
/// program exist, is anything installed twice, does Codex trust the hooks. Then a harmless event is
/// sent through the exact command line the host uses. Shows hook latencies and faults. Exits with 3
/// if problems were found.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl host doctor\n  tl host doctor --json\n  tl host doctor --fix   after `tl` was moved or upgraded\n  tl host doctor --trust codex   let Codex run this project's hooks"
)]
pub(crate) struct DoctorArgs {
    /// Make this host trust the hooks of this project (only Codex needs it)
    #[arg(long, value_name = "HOST", value_parser = ["codex"])]
    trust: Option<String>,

    /// Install again what is missing, out of date, or calls a program that moved
    #[arg(long)]
    fix: bool,
}

/// Outcome of `tl host doctor`.
#[derive(Debug, Serialize)]
struct DoctorOutcome {
    ok: bool,
    project: String,
    /// Why the settings cannot be used, if so; hooks go by the last good ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<HostFinding>,
    /// Why the state cannot be used, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<HostFinding>,
    /// Decisions a person has to make before policy and history are trusted again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trust: Vec<HostFinding>,
    /// The hosts whose entries were installed again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixed: Vec<Host>,
    hosts: Vec<HostHealth>,
    latency: Vec<HookLatency>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl DoctorArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let root = app.find_project_root()?;
        let loaded = match Project::find_missing_config(&root) {
            Some(failure) => Err(failure),
            None => Project::load(&root),
        };
        let (project, broken) = match loaded {
            Ok(project) => (project, None),
            Err(failure) => match Project::load_last_good(&root) {
                Some(project) => (project, Some(HostFinding::from(failure))),
                None => return Err(failure),
            },
        };
        let disk = DiskFiles::open(&root).map_err(|error| {
            Failure::unavailable(format!("cannot open `{}`: {error}", root.display()))
        })?;
        // First, so that the check below reports the trust that was just given.
        if self.trust.is_some() {
            trust_project_hooks(app.ui, &disk)?;
        }
        let mut hosts = check_all_hosts(&disk, &project.profiles);
        let mut fixed = Vec::new();
        // With settings that cannot be used, nothing can be installed.
        if self.fix && broken.is_none() {
            fixed = install_again(app, &root, &hosts)?;
            hosts = check_all_hosts(&disk, &project.profiles);
        }
        // The probes touch no plan and so do not open the state. A hook that cannot open it fails
        // open, which nobody would notice otherwise.
        let opened = project.open_store(app.ui, None);
        let untrusted = opened
            .as_ref()
            .map(|store| find_trust_problems(app.ui, &project, &**store))
            .unwrap_or_default();
        let looked = opened.and_then(|store| contact_server(&project, &*store));
        let (state, mut notes) = match looked {
            Ok(notes) => (None, notes),
            Err(fault) => (Some(HostFinding::from(Failure::from(fault))), Vec::new()),
        };
        if !hosts.is_empty() {
            notes.extend(missing_on_path_note());
        }
        // A note, not a problem: it works until two machines write at the same time.
        notes.extend(network_file_system_note(&project));
        let problems = hosts
            .iter()
            .map(|health| health.count_findings(HostFindingSeverity::Problem))
            .sum::<usize>();
        let outcome = DoctorOutcome {
            ok: problems == 0 && broken.is_none() && state.is_none() && untrusted.is_empty(),
            project: root.display().to_string(),
            notes,
            settings: broken,
            state,
            trust: untrusted,
            fixed,
            hosts,
            latency: compute_latencies(&root),
        };
        if !app.ui.try_print_json(&outcome) {
            print_outcome(app.ui, &outcome);
        }
        Ok(ExitCode::from_check(outcome.ok))
    }
}

/// Checks every host. Settings that cannot be read are a finding of their own: the profiles are the last
/// good ones then.
fn check_all_hosts(disk: &DiskFiles, profiles: &[Profile]) -> Vec<HostHealth> {
    Host::ALL
        .into_iter()
        .filter_map(|host| check_host(disk, host, profiles).or_else(|| check_plugin(disk, host)))
        .collect()
}

/// Installs the hooks of every host again whose findings ask for that, in the same way, and returns
/// these hosts.
fn install_again(app: &App, root: &Path, hosts: &[HostHealth]) -> Result<Vec<Host>, Failure> {
    let silent = App {
        ui: Ui {
            silent: true,
            ..app.ui
        },
        start: root.to_owned(),
        explicit: true,
    };
    let mut fixed = Vec::new();
    for health in hosts.iter().filter(|health| health.needs_install()) {
        let Some(setup) = &health.setup else { continue };
        // A path is that of this program now; a bare name is looked up by every machine itself, and
        // stays where this one finds it.
        let is_found = |name: &String| !name.contains('/') && find_on_path(name).is_some();
        let program = Some(setup.program.clone()).filter(is_found);
        let name = health.host.as_str().to_owned();
        InitArgs::for_hosts(vec![name], setup.strict, setup.status_line, program).run(&silent)?;
        fixed.push(health.host);
    }
    Ok(fixed)
}

/// Warns of a SQLite database on a network file system: WAL needs shared memory, which works on one
/// machine only, and file locks there are unreliable.
fn network_file_system_note(project: &Project) -> Option<String> {
    let uses_sqlite = matches!(project.settings.storage, Storage::Sqlite | Storage::Remote);
    let folder = project.layout.database.parent().filter(|_| uses_sqlite)?;
    let NetworkFileSystem(name) = network_file_system_at(folder)?;
    Some(format!(
        "the state is on a network file system ({name}), where SQLite is not safe; next: tl state move --to json"
    ))
}

/// Returns findings that need a person's decision: a changed history, a looser policy in
/// `config.toml`.
fn find_trust_problems(ui: Ui, project: &Project, store: &dyn Store) -> Vec<HostFinding> {
    let problem = |message: String, steps: &[&str]| HostFinding {
        severity: HostFindingSeverity::Problem,
        message,
        next_steps: steps.iter().map(|step| (*step).to_owned()).collect(),
    };
    // Both are problems, not warnings: until a person decides, approvals cannot be relied upon.
    let history = store
        .history_state()
        .describe_problem()
        .map(|message| problem(message, &HistoryState::NEXT_STEPS));
    // A state that cannot be read is a finding of its own.
    let waiting = project
        .resolve_policy(store)
        .map(|trusted| trusted.waiting)
        .unwrap_or_default();
    let policy = pending_policy_notice(&waiting).map(|message| problem(message, &["tl policy"]));
    // Decisions that cannot be listed are reported by the commands that need them.
    let waits = project.run_on_store(ui, store, &has_unadopted_decisions);
    let adoption = waits.unwrap_or_default().then(|| {
        problem(
            "this clone is not adopted yet, so decisions of others (approvals, for example) do not count here".to_owned(),
            &["tl state adopt   # in your own terminal"],
        )
    });
    history.into_iter().chain(policy).chain(adoption).collect()
}

/// Contacts the team server, if there is one, and returns notes about it.
fn contact_server(project: &Project, store: &dyn Store) -> Result<Vec<String>, StoreFault> {
    let Some(server) = &project.settings.server.address else {
        return Ok(Vec::new());
    };
    drop(store.begin_read()?);
    let caller = store
        // The read above is the round trip; only then is it known whom the server takes us for.
        .remote_principal()
        .map(|caller| format!(", as {caller}"))
        .unwrap_or_default();
    let mut notes = vec![format!("the state is remote: {server}{caller}")];
    notes.extend(store.take_warnings());
    Ok(notes)
}

fn print_outcome(ui: Ui, outcome: &DoctorOutcome) {
    for finding in outcome.settings.iter().chain(&outcome.state) {
        print_finding(ui, "", finding);
    }
    outcome
        .trust
        .iter()
        .for_each(|finding| print_finding(ui, "", finding));
    if outcome.hosts.is_empty() {
        ui.print_line("No agent host is installed in this project.");
        ui.print_blank_line();
        ui.print_line(format_args!(
            "Next:  {}   install into the detected hosts",
            styled(BOLD, "tl init --host auto")
        ));
    }
    for host in &outcome.fixed {
        let mut healths = outcome.hosts.iter().filter(|health| health.host == *host);
        let name = host.display_name();
        match healths.any(HostHealth::needs_install) {
            false => ui.print_success(format_args!("{name}: installed again")),
            true => ui.print_line(format_args!(
                "{} {name}: installed again, and not all is well yet",
                styled(WARN, "!")
            )),
        }
    }
    for health in &outcome.hosts {
        ui.print_line(format_args!(
            "{}  {}",
            styled(BOLD, health.host.display_name()),
            styled(DIM, &health.file)
        ));
        if let Some(program) = &health.program {
            ui.print_line(format_args!(
                "  {} starting {}",
                count_with_noun(health.hooks, "hook", "hooks"),
                program
            ));
        }
        for probe in &health.probes {
            let milliseconds = format_micros_as_ms(probe.micros);
            ui.print_line(format_args!(
                "  {} {}: {milliseconds}",
                styled(GOOD, "✓"),
                probe.what
            ));
        }
        health
            .findings
            .iter()
            .for_each(|finding| print_finding(ui, "  ", finding));
    }
    if !outcome.latency.is_empty() {
        ui.print_blank_line();
        ui.print_line(styled(BOLD, "Hooks so far"));
    }
    for one in &outcome.latency {
        let faults = match (&one.last_fault, one.faults) {
            (Some(last), number) if number > 0 => {
                let last = format!("{}: {}", last.at.format_local_minute(), last.message);
                styled(
                    WARN,
                    format!(
                        ", {}, last {last}",
                        count_with_noun(number, "fault", "faults")
                    ),
                )
            }
            _ => Styled::default(),
        };
        ui.print_line(format_args!(
            "  {}: {}, p50 {}, p99 {}, {}{faults}",
            one.host.display_name(),
            count_with_noun(one.events, "event", "events"),
            format_micros_as_ms(one.p50_micros),
            format_micros_as_ms(one.p99_micros),
            count_with_noun(one.blocks, "block", "blocks")
        ));
    }
    for note in &outcome.notes {
        ui.print_note(note);
    }
    // Counted over all parts, because the exit code is 3 for each of them.
    let problems: usize = outcome
        .hosts
        .iter()
        .map(|health| health.count_findings(HostFindingSeverity::Problem))
        .sum();
    let problems = problems
        + usize::from(outcome.settings.is_some())
        + usize::from(outcome.state.is_some())
        + outcome.trust.len();
    if problems > 0 {
        ui.print_blank_line();
        ui.print_line(format_args!(
            "{} found",
            count_with_noun(problems, "problem", "problems")
        ));
    }
}

fn print_finding(ui: Ui, indent: &str, finding: &HostFinding) {
    let mark = match finding.severity {
        HostFindingSeverity::Problem => styled(BAD, "✗"),
        HostFindingSeverity::Warning => styled(WARN, "!"),
    };
    ui.print_line(format_args!("{indent}{mark} {}", finding.message));
    for step in &finding.next_steps {
        ui.print_line(format_args!("{indent}    {}", styled(DIM, step)));
    }
}

fn format_micros_as_ms(micros: u64) -> String {
    // By integers with one decimal; more digits would suggest a precision that a single run has
    // not.
    format!("{}.{} ms", micros / 1000, micros % 1000 / 100)
}
