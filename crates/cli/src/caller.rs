//! Caller detection: a person at a terminal, a script, or an agent's session in a host.
//!
//! The environment variables of a host identify it. Where none names the session, or where one host
//! was started within another and both have set theirs, the ancestors of our process are looked up
//! among the processes that hooks recorded as hosts (`domain::caller`). That works through paths,
//! scripts, aliases, `env` and `sudo`, because no command line is parsed. A process that serves
//! several sessions and does not tell them apart gets an anonymous session that belongs to none of
//! them.
//!
//! Without `/proc` there are no ancestors: then the variables decide alone, and a host that sets
//! none has one session without a name. It is never mistaken for another session.

use std::path::Path;
use std::sync::OnceLock;

use domain::calling_session::{
    HostProcess, ProcessIdentity, SHELL_SESSION, TERMINAL_SESSION_PREFIX, UNKNOWN_SESSION,
    argument_digest, own_call_digest,
};
use domain::host_event::Host;
use domain::ids::{Digest32, Principal};
use domain::ports::Snapshot;
use hosts::{HostSpec, SPECS};

use crate::process_table::{read_boot_id, read_parent_and_start};
use crate::settings::{environment_variable, is_at_terminal, local_user_name};
use crate::wiring::Project;

/// Set by our own hooks where a host lets them set variables, and by people.
const SESSION_VARIABLE: &str = "THROUGHLINE_SESSION";
/// Maximum number of ancestors to follow.
const MAX_ANCESTORS: usize = 64;
/// Shells, which only run other programs and are never the host.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"];

/// The caller of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The agent's host.
    host: Option<String>,
    /// The session named by the host or by `THROUGHLINE_SESSION`.
    session: Option<String>,
    /// Session name for a host process that serves several sessions and does not tell them apart.
    anonymous: Option<String>,
}

impl Caller {
    /// Detects the caller by the environment alone.
    fn detect_by_environment() -> Self {
        let set = hosts_in_environment();
        let session = environment_variable(SESSION_VARIABLE)
            .or_else(|| set.first().and_then(|host| session_from_environment(host)));
        Self {
            host: set.first().map(|spec| spec.host.as_str().to_owned()),
            session,
            anonymous: None,
        }
    }

    /// Returns the caller of a hook, which the host's event names.
    pub(crate) fn from_host_session(host: &str, session: &str) -> Self {
        Self {
            host: Some(host.to_owned()),
            session: Some(session.to_owned()),
            anonymous: None,
        }
    }

    /// Detects the caller by the environment, and by our ancestors where that is ambiguous.
    pub(crate) fn detect_caller(state: &dyn Snapshot) -> Self {
        let told = Self::detect_by_environment();
        let hosts = hosts_in_environment().len();
        // The common case must not read /proc or the state.
        if told.session.is_some() && hosts == 1 {
            return told;
        }
        match Self::detect_by_ancestors(state) {
            // With two hosts the variables may be inherited from the outer one. Otherwise an
            // explicit session wins over the detected one.
            Some(found) if hosts < 2 && told.session.is_some() => Self {
                session: told.session,
                anonymous: None,
                ..found
            },
            Some(found) => found,
            None => told,
        }
    }

    /// Finds the nearest ancestor that hooks recorded as a host.
    fn detect_by_ancestors(state: &dyn Snapshot) -> Option<Self> {
        // Where no hook has recorded a host, /proc is not read.
        if !state
            .has_notes(&ProcessIdentity::note_key_prefix())
            // When in doubt the ancestors are looked up: otherwise an agent would pass for the
            // person at the terminal.
            .unwrap_or(true)
        {
            return None;
        }
        let ancestors = process_ancestors();
        let noted = |process: &ProcessIdentity| {
            let note = state.load_note(&process.note_key()).ok()??;
            Some(HostProcess::from_note(Some(&note))).filter(|noted| !noted.sessions.is_empty())
        };
        let (index, host) = ancestors
            .iter()
            .enumerate()
            .find_map(|(index, process)| Some((index, noted(process)?)))?;
        let variables = SPECS
            .iter()
            .filter(|spec| spec.host.as_str() == host.host)
            .flat_map(|spec| spec.session_variables)
            .copied();
        // A variable may be left over from another host, so only sessions that this process serves
        // count.
        let is_served = |name: &String| host.sessions.iter().any(|session| session.id == *name);
        let named = std::iter::once(SESSION_VARIABLE)
            .chain(variables)
            .filter_map(environment_variable)
            .find(is_served);
        let (below, process) = (ancestors.get(..index)?, ancestors.get(index)?);
        let session = host
            .find_calling_session(named.as_deref(), || digests_of_calls(below))
            .map(str::to_owned);
        let anonymous = session
            .is_none()
            .then(|| format!("{}-process-{}", host.host, process.pid));
        Some(Self {
            host: Some(host.host),
            session,
            anonymous,
        })
    }

    /// Returns the principal to record operations under.
    pub(crate) fn principal(&self) -> Principal {
        let session = || {
            self.session
                .clone()
                .unwrap_or_else(|| UNKNOWN_SESSION.to_owned())
        };
        match &self.host {
            Some(host) => Principal::Agent {
                host: host.clone(),
                session: session(),
            },
            None if is_at_terminal() => Principal::Human(local_user_name()),
            // Without a terminal nobody can have been asked, so a script never counts as a person.
            None => Principal::Agent {
                host: "shell".to_owned(),
                session: session(),
            },
        }
    }

    /// Returns the session a command belongs to: the host's, or that of the terminal.
    pub(crate) fn session_name(self, actor: &Principal) -> String {
        if let Some(session) = self.session {
            return session;
        }
        match actor {
            Principal::Agent { host, session } if host != "shell" => match session.as_str() {
                "" | UNKNOWN_SESSION => self
                    .anonymous
                    .unwrap_or_else(|| format!("{host}-without-a-session")),
                // A client without hooks is identified by its connection.
                connection => connection.to_owned(),
            },
            _ => terminal_session_name().unwrap_or_else(|| SHELL_SESSION.to_owned()),
        }
    }
}

/// Returns the acting principal by the environment alone: a person at a terminal, or an agent.
pub(crate) fn acting_principal() -> Principal {
    Caller::detect_by_environment().principal()
}

/// Returns the agent host that runs this command, by the environment, else by our ancestors.
///
/// Host processes are recorded in the state: if it cannot be opened, the environment decides alone.
pub(crate) fn find_calling_host(project: &Project) -> Option<String> {
    let told = Caller::detect_by_environment();
    if told.host.is_some() {
        return told.host;
    }
    let store = project
        .open_store_quietly(&project.store_engine_settings(), None)
        .ok()?;
    // The local replica is enough, because the caller is on this machine.
    let state = store.begin_read_cached().ok()?;
    Caller::detect_caller(&*state).host
}

/// Returns the hosts whose variables are set: several if one host was started within another.
fn hosts_in_environment() -> Vec<&'static HostSpec> {
    let is_set = |spec: &&HostSpec| {
        spec.mark_variables
            .iter()
            .chain(spec.session_variables)
            .any(|name| environment_variable(name).is_some())
    };
    SPECS.into_iter().filter(is_set).collect()
}

fn session_from_environment(spec: &HostSpec) -> Option<String> {
    spec.session_variables
        .iter()
        .find_map(|name| environment_variable(name))
}

/// Returns the host that runs a hook from this host's settings: another one that reads them too, if
/// its variables are set. It only understands its own format.
pub(crate) fn find_running_host(configured: Host) -> Host {
    let runs_it = |spec: &&HostSpec| {
        spec.runs_hooks_of(configured)
            && spec
                .mark_variables
                .iter()
                .any(|name| environment_variable(name).is_some())
    };
    SPECS
        .into_iter()
        .find(runs_it)
        .map_or(configured, |spec| spec.host)
}

/// Returns the session name of the terminal, such as `terminal-pts-3`.
fn terminal_session_name() -> Option<String> {
    let device = std::fs::read_link("/proc/self/fd/0").ok()?;
    let name = device.to_str()?.strip_prefix("/dev/")?;
    (name.starts_with("pts/") || name.starts_with("tty"))
        .then(|| format!("{TERMINAL_SESSION_PREFIX}{}", name.replace('/', "-")))
}

/// Returns the host process that runs this hook: the nearest ancestor that is not a `sh -c …`.
///
/// `None` if a person runs the hook in an interactive shell: what is above that shell is not a
/// host.
pub(crate) fn find_host_process() -> Option<ProcessIdentity> {
    process_ancestors()
        .iter()
        .find_map(|process| match classify_shell(process.pid) {
            ShellKind::No => Some(Some(process.clone())),
            ShellKind::RunsACommand => None,
            ShellKind::Interactive => Some(None),
        })?
}

enum ShellKind {
    No,
    RunsACommand,
    Interactive,
}

/// Classifies a process by its executable. The process name would not do: a script has the name of
/// its file, but is run by a shell.
fn classify_shell(pid: u32) -> ShellKind {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let name = program
        .as_deref()
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    if !name.is_some_and(|name| SHELLS.contains(&name)) {
        return ShellKind::No;
    }
    // `sh -c …`, `bash -lc …`, `sh launcher`: an interactive shell has no such argument.
    let runs = |word: &String| {
        !word.starts_with(['-', '+']) || (!word.starts_with("--") && word.contains('c'))
    };
    match read_process_arguments(pid).iter().skip(1).any(runs) {
        true => ShellKind::RunsACommand,
        false => ShellKind::Interactive,
    }
}

/// Returns the ancestors of this process, the nearest first. Cached: a process that outlives its
/// parent is reparented, but still belongs to the host that started it.
fn process_ancestors() -> &'static [ProcessIdentity] {
    static CACHED_ANCESTORS: OnceLock<Vec<ProcessIdentity>> = OnceLock::new();
    CACHED_ANCESTORS.get_or_init(|| {
        let mut found = Vec::new();
        // Process ids are reused; boot id, pid and start time together are not.
        let Some(boot) = read_boot_id() else {
            return found;
        };
        let mut pid = std::os::unix::process::parent_id();
        // PID 1 of a machine or a container is never a host.
        while pid > 1 && found.len() < MAX_ANCESTORS {
            let Some((parent, started)) = read_parent_and_start(pid) else {
                break;
            };
            found.push(ProcessIdentity {
                boot: boot.clone(),
                pid,
                started,
            });
            pid = parent;
        }
        found
    })
}

fn read_process_arguments(pid: u32) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// Returns digests of the arguments of our own call and of all processes between us and the host.
fn digests_of_calls(below: &[ProcessIdentity]) -> Vec<Digest32> {
    // Digests, because hooks recorded the tool call's command line in the same form: the state must
    // not contain command lines, which may hold secrets.
    let own: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut seen = vec![own_call_digest(&own)];
    seen.extend(
        below
            .iter()
            .flat_map(|process| read_process_arguments(process.pid))
            .map(|word| argument_digest(&word)),
    );
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_are_found_with_the_time_of_their_start() {
        let Some(parent) = process_ancestors().first() else {
            return;
        };
        assert_eq!(parent.pid, std::os::unix::process::parent_id());
        assert!(parent.started > 0 && !parent.boot.is_empty(), "{parent:?}");
    }

    #[test]
    fn an_agent_without_a_session_gets_one_that_is_nobodys() {
        let actor = Principal::from("agent:codex/unknown");
        let caller = |session: Option<&str>, anonymous: Option<&str>| Caller {
            host: Some("codex".to_owned()),
            session: session.map(str::to_owned),
            anonymous: anonymous.map(str::to_owned),
        };
        assert_eq!(caller(Some("a"), None).session_name(&actor), "a");
        assert_eq!(
            caller(None, Some("codex-process-7")).session_name(&actor),
            "codex-process-7"
        );
        assert_eq!(
            caller(None, None).session_name(&actor),
            "codex-without-a-session"
        );
        assert_eq!(
            caller(None, None).session_name(&Principal::from("agent:codex/c1")),
            "c1"
        );
    }
}
