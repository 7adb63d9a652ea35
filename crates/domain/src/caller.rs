//! The session that runs a command of ours, told by the host process among the command's ancestors.
//!
//! A hook notes, for the process of its host, which sessions that process serves. A command looks for such a process among its
//! own ancestors, whatever stands between: a shell, a script, `env`, `sudo`, an alias. Where one process serves several
//! sessions, the shell command that a hook saw before it ran tells them apart, and where that does not, the command belongs
//! to none of them: a session is never taken for another.
//!
//! Only digests of commands are kept: a command line may hold a secret.

use serde::{Deserialize, Serialize};

use crate::host_event::ShellLine;
use crate::ids::Digest32;
use crate::session_memory::PREFIX;

/// Calls that are remembered of a session; more run at the same time in none.
const MAX_CALLS: usize = 16;

/// A process, as nothing else is called since the machine was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Changes with every start of the machine.
    pub boot: String,
    pub pid: u32,
    /// When it was started, in ticks of the kernel: a number is given again.
    pub started: u64,
}

impl ProcessIdentity {
    /// Returns under which key its sessions are noted.
    #[must_use]
    pub fn key(&self) -> String {
        format!(
            "{PREFIX}process/{}/{}-{}",
            self.boot, self.pid, self.started
        )
    }
}

/// What is noted of a host's process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostProcess {
    pub host: String,
    pub sessions: Vec<HostedSession>,
}

/// A session that a host's process serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedSession {
    pub id: String,
    /// Calls of ours that its hooks saw, the newest last. They are kept from the first session on: one of its calls may still
    /// run when another session of the same process begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Digest32>,
}

impl HostProcess {
    /// Reads a note. One of another version of this program is a note that was lost.
    #[must_use]
    pub fn from_note(body: Option<&str>) -> Self {
        body.and_then(|body| serde_json::from_str(body).ok())
            .unwrap_or_default()
    }

    /// Adds a session, and the call that it is about to make.
    pub fn add(&mut self, host: &str, session: &str, command: Option<&str>) {
        host.clone_into(&mut self.host);
        if !self.sessions.iter().any(|one| one.id == session) {
            self.sessions.push(HostedSession {
                id: session.to_owned(),
                calls: Vec::new(),
            });
        }
        let calls = command.map(digests_of_command).unwrap_or_default();
        if let Some(session) = self.sessions.iter_mut().find(|one| one.id == session) {
            session.calls.retain(|call| !calls.contains(call));
            session.calls.extend(calls);
            let surplus = session.calls.len().saturating_sub(MAX_CALLS);
            session.calls.drain(..surplus);
        }
    }

    /// Takes a session out that ended.
    pub fn remove(&mut self, session: &str) {
        self.sessions.retain(|one| one.id != session);
    }

    /// Returns the session that runs a command: the one that its environment names, the only one, or the only one that made
    /// such a call. `None` where that does not tell them apart.
    #[must_use]
    pub fn session_of(
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
        if let [only] = self.sessions.as_slice() {
            return Some(&only.id);
        }
        let calls = calls();
        let mut made = self
            .sessions
            .iter()
            .filter(|one| one.calls.iter().any(|call| calls.contains(call)));
        match (made.next(), made.next()) {
            (Some(only), None) => Some(&only.id),
            _ => None,
        }
    }
}

/// Returns the digests of a shell command: of its text, which a shell may carry as an argument, and of each call of ours in it,
/// because a shell becomes the last program of its line.
#[must_use]
pub fn digests_of_command(command: &str) -> Vec<Digest32> {
    let mut digests = vec![digest_of_argument(command)];
    digests.extend(
        ShellLine::read(command)
            .own_calls()
            .into_iter()
            .map(|call| digest_of_call(&call)),
    );
    digests
}

/// Returns the digest of what a process was called with, if that is the text of a command.
#[must_use]
pub fn digest_of_argument(argument: &str) -> Digest32 {
    Digest32::of(argument.trim().as_bytes())
}

/// Returns the digest of the arguments of a call of ours.
#[must_use]
pub fn digest_of_call<S: AsRef<str>>(arguments: &[S]) -> Digest32 {
    let mut text = Vec::from(b"tl".as_slice());
    for argument in arguments {
        text.push(0);
        text.extend_from_slice(argument.as_ref().as_bytes());
    }
    Digest32::of(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(process: &'a HostProcess, named: Option<&str>, argument: &str) -> Option<&'a str> {
        process.session_of(named, || vec![digest_of_argument(argument)])
    }

    #[test]
    fn the_only_session_of_a_process_needs_no_call() {
        let mut process = HostProcess::default();
        process.add("codex", "a", Some("tl where"));
        assert_eq!(found(&process, None, "anything"), Some("a"));
        assert_eq!(found(&process, Some("inherited"), "anything"), Some("a"));
    }

    #[test]
    fn several_sessions_of_a_process_are_told_apart_by_their_calls_or_not_at_all() {
        let mut process = HostProcess::default();
        process.add("codex", "a", None);
        process.add("codex", "b", Some("tl focus enter 002"));
        process.add("codex", "a", Some("cd x && tl focus enter 001"));
        assert_eq!(
            found(&process, None, "cd x && tl focus enter 001\n"),
            Some("a")
        );
        assert_eq!(found(&process, None, "tl focus enter 002"), Some("b"));
        assert_eq!(
            process.session_of(None, || vec![digest_of_call(&["focus", "enter", "001"])]),
            Some("a")
        );
        assert_eq!(found(&process, None, "make"), None);
        assert_eq!(found(&process, Some("b"), "make"), Some("b"));
        process.add("codex", "a", Some("tl focus enter 002"));
        assert_eq!(
            found(&process, None, "tl focus enter 002"),
            None,
            "both made that call"
        );
        let mut process = HostProcess::default();
        process.add("codex", "a", Some("tl where"));
        process.add("codex", "b", Some("tl where"));
        assert_eq!(
            found(&process, None, "tl where"),
            None,
            "the call of the first may still run"
        );
        process.remove("a");
        assert_eq!(found(&process, None, "make"), Some("b"));
        process.remove("b");
        assert_eq!(found(&process, None, "tl focus enter 002"), None);
    }

    #[test]
    fn the_newest_calls_are_kept() {
        let mut process = HostProcess::default();
        process.add("codex", "a", None);
        for number in 0..40 {
            process.add("codex", "b", Some(&format!("tl focus enter {number}")));
        }
        assert_eq!(process.sessions[1].calls.len(), MAX_CALLS);
        assert_eq!(found(&process, None, "tl focus enter 39"), Some("b"));
        assert_eq!(found(&process, None, "tl focus enter 1"), None);
        let text = serde_json::to_string(&process).unwrap();
        assert!(!text.contains("focus"), "{text}");
        assert_eq!(HostProcess::from_note(Some(&text)), process);
    }
}
