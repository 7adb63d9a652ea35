//! Identifies the session that runs a `tl` command, by the host process among its ancestors.
//!
//! A hook records which sessions its host process serves. A command looks for such a process among
//! its ancestors, whatever is in between: a shell, a script, `env`, `sudo`, an alias. If one
//! process serves several sessions, the shell commands seen by the hooks tell them apart; if they
//! do not, the command belongs to no session. One session is never mistaken for another.
//!
//! Only digests of commands are stored, because a command line may contain a secret.

use serde::{Deserialize, Serialize};

use crate::host_event::ShellLine;
use crate::ids::Digest32;
use crate::session_state::NOTE_KEY_PREFIX;

/// Session name of an agent that names none.
pub const UNKNOWN_SESSION: &str = "unknown";

/// Beginning of the session name of a terminal: `terminal-pts-3`.
pub const TERMINAL_SESSION_PREFIX: &str = "terminal-";
/// Session name of a shell without a terminal.
pub const SHELL_SESSION: &str = "shell";

/// Maximum number of remembered calls per session; more do not run at the same time.
const MAX_CALLS_PER_SESSION: usize = 16;

/// Unique identity of a process: boot, pid and start time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The boot id, which changes with every start of the machine.
    pub boot: String,
    pub pid: u32,
    /// Start time in kernel ticks, because pids are reused.
    pub started: u64,
}

impl ProcessIdentity {
    /// Returns the beginning of all these note keys.
    #[must_use]
    pub fn note_key_prefix() -> String {
        format!("{NOTE_KEY_PREFIX}process/")
    }

    /// Returns the note key for the sessions of this process.
    #[must_use]
    pub fn note_key(&self) -> String {
        format!(
            "{}{}/{}-{}",
            Self::note_key_prefix(),
            self.boot,
            self.pid,
            self.started
        )
    }
}

/// The sessions a host process serves; stored as a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostProcess {
    pub host: String,
    pub sessions: Vec<HostedSession>,
}

/// A session of a host process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedSession {
    pub id: String,
    /// Digests of the `tl` calls its hooks saw, newest last.
    ///
    /// Recorded from the first session on: one of its calls may still run when a second session of
    /// the same process begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Digest32>,
}

impl HostProcess {
    /// Parses a note. One in the format of another version counts as lost.
    #[must_use]
    pub fn from_note(body: Option<&str>) -> Self {
        body.and_then(|body| serde_json::from_str(body).ok())
            .unwrap_or_default()
    }

    /// Adds a session and the command it is about to run.
    pub fn add_session(&mut self, host: &str, session: &str, command: Option<&str>) {
        host.clone_into(&mut self.host);
        // A host process may serve several sessions at once (Codex, Copilot), so they are a list.
        if !self.sessions.iter().any(|one| one.id == session) {
            self.sessions.push(HostedSession {
                id: session.to_owned(),
                calls: Vec::new(),
            });
        }
        let calls = command.map(command_digests).unwrap_or_default();
        if let Some(session) = self.sessions.iter_mut().find(|one| one.id == session) {
            // A repeated call moves to the end instead of using two of the slots.
            session.calls.retain(|call| !calls.contains(call));
            session.calls.extend(calls);
            let surplus = session.calls.len().saturating_sub(MAX_CALLS_PER_SESSION);
            session.calls.drain(..surplus);
        }
    }

    /// Removes a session that ended.
    pub fn remove_session(&mut self, session: &str) {
        self.sessions.retain(|one| one.id != session);
    }

    /// Returns the session that runs a command: the one named by the environment, the only one, or
    /// the only one that made such a call. `None` if that is ambiguous.
    #[must_use]
    pub fn find_calling_session(
        &self,
        named: Option<&str>,
        calls: impl FnOnce() -> Vec<Digest32>,
    ) -> Option<&str> {
        if let Some(found) = self
            .sessions
            .iter()
            .find(|one| Some(one.id.as_str()) == named)
        {
            return Some(&found.id);
        }
        // Before `calls` is evaluated: it reads `/proc` of every process in between.
        if let [only] = self.sessions.as_slice() {
            return Some(&only.id);
        }
        let calls = calls();
        let mut made = self
            .sessions
            .iter()
            .filter(|one| one.calls.iter().any(|call| calls.contains(call)));
        // Two sessions with the same call are a tie, and a tie finds none: acting for the wrong
        // session would move another agent's focus and claims.
        match (made.next(), made.next()) {
            (Some(only), None) => Some(&only.id),
            _ => None,
        }
    }
}

/// Returns the digests of a shell command: of the whole text, and of each `tl` call in it.
#[must_use]
pub fn command_digests(command: &str) -> Vec<Digest32> {
    // The text matches a shell that has it as an argument (`sh -c TEXT`). The single calls are
    // needed because a shell replaces itself (`exec`) by the last program of its command line.
    let mut digests = vec![argument_digest(command)];
    digests.extend(
        ShellLine::parse(command)
            .own_calls()
            .into_iter()
            .map(|call| own_call_digest(&call)),
    );
    digests
}

/// Returns the digest of a process argument, to compare with the text of a shell command.
#[must_use]
pub fn argument_digest(argument: &str) -> Digest32 {
    Digest32::of_bytes(argument.trim().as_bytes())
}

/// Returns the digest of the arguments of a `tl` call.
#[must_use]
pub fn own_call_digest<S: AsRef<str>>(arguments: &[S]) -> Digest32 {
    // Separated by NUL, which no argument can contain: `a b` and `a`, `b` differ.
    let mut text = Vec::from(b"tl".as_slice());
    for argument in arguments {
        text.push(0);
        text.extend_from_slice(argument.as_ref().as_bytes());
    }
    Digest32::of_bytes(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(process: &'a HostProcess, named: Option<&str>, argument: &str) -> Option<&'a str> {
        process.find_calling_session(named, || vec![argument_digest(argument)])
    }

    #[test]
    fn the_only_session_of_a_process_needs_no_call() {
        let mut process = HostProcess::default();
        process.add_session("codex", "a", Some("tl where"));
        assert_eq!(found(&process, None, "anything"), Some("a"));
        assert_eq!(found(&process, Some("inherited"), "anything"), Some("a"));
    }

    #[test]
    fn several_sessions_of_a_process_are_told_apart_by_their_calls_or_not_at_all() {
        let mut process = HostProcess::default();
        process.add_session("codex", "a", None);
        process.add_session("codex", "b", Some("tl focus enter 002"));
        process.add_session("codex", "a", Some("cd x && tl focus enter 001"));
        assert_eq!(
            found(&process, None, "cd x && tl focus enter 001\n"),
            Some("a")
        );
        assert_eq!(found(&process, None, "tl focus enter 002"), Some("b"));
        assert_eq!(
            process
                .find_calling_session(None, || vec![own_call_digest(&["focus", "enter", "001"])]),
            Some("a")
        );
        assert_eq!(found(&process, None, "make"), None);
        assert_eq!(found(&process, Some("b"), "make"), Some("b"));
        process.add_session("codex", "a", Some("tl focus enter 002"));
        assert_eq!(
            found(&process, None, "tl focus enter 002"),
            None,
            "both made that call"
        );
        let mut process = HostProcess::default();
        process.add_session("codex", "a", Some("tl where"));
        process.add_session("codex", "b", Some("tl where"));
        assert_eq!(
            found(&process, None, "tl where"),
            None,
            "the call of the first may still run"
        );
        process.remove_session("a");
        assert_eq!(found(&process, None, "make"), Some("b"));
        process.remove_session("b");
        assert_eq!(found(&process, None, "tl focus enter 002"), None);
    }

    #[test]
    fn the_newest_calls_are_kept() {
        let mut process = HostProcess::default();
        process.add_session("codex", "a", None);
        for number in 0..40 {
            process.add_session("codex", "b", Some(&format!("tl focus enter {number}")));
        }
        assert_eq!(process.sessions[1].calls.len(), MAX_CALLS_PER_SESSION);
        assert_eq!(found(&process, None, "tl focus enter 39"), Some("b"));
        assert_eq!(found(&process, None, "tl focus enter 1"), None);
        let text = serde_json::to_string(&process).unwrap();
        assert!(!text.contains("focus"), "{text}");
        assert_eq!(HostProcess::from_note(Some(&text)), process);
    }
}
