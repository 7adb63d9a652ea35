//! Cached server status between commands: our principal there, the time of the last response,
//! whether it is unreachable.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::authorization::Scope;
use domain::ids::{Digest32, Principal};
use domain::sync_protocol::PullHeader;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::durable::{Durability, replace_file};

/// How long impatient callers (hooks) do not retry an unreachable server, across processes.
const UNREACHABLE_BACKOFF: Duration = Duration::from_secs(10);

/// A caller with less patience than this is impatient; hooks are.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);

/// Minimum interval between two writes of the last response's time.
const MIN_WRITE_INTERVAL_MILLIS: i64 = 60_000;

/// Two small files beside the replica. Losing them costs one request.
pub(super) struct ServerStatus {
    known: PathBuf,
    silence: PathBuf,
    in_a_hurry: bool,
    /// Digest of server and token; a status cached for another account is ignored.
    identity: Digest32,
    last: RefCell<Option<CachedStatus>>,
}

/// Content of the status file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CachedStatus {
    principal: Principal,
    scope: Scope,
    at: Timestamp,
    identity: Digest32,
    /// Whether the replica was ever complete; an incomplete one cannot be used offline.
    #[serde(default)]
    is_whole: bool,
}

const STATUS_FILE: &str = "server.json";

impl ServerStatus {
    /// Removes the cached status beside a database.
    pub(super) fn forget_status(database: &Path) {
        let _ = fs::remove_file(database.with_file_name(STATUS_FILE));
    }

    /// Loads the cached status beside a database.
    pub(super) fn load_beside(database: &Path, patience: Duration, identity: Digest32) -> Self {
        let known = database.with_file_name(STATUS_FILE);
        let last: Option<CachedStatus> = fs::read(&known)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        // After `tl team join` with another token the cached principal would record operations in
        // another name.
        let last = last.filter(|last| last.identity == identity);
        Self {
            known,
            silence: database.with_file_name("silent"),
            in_a_hurry: patience < SHORT_PATIENCE,
            identity,
            last: RefCell::new(last),
        }
    }

    /// Caches principal, scope and time of a response.
    pub(super) fn record_greeting(&self, greeting: &PullHeader) {
        let (principal, scope) = (greeting.principal.clone(), greeting.scope);
        let is_whole = self.is_complete();
        let now = CachedStatus {
            principal,
            scope,
            at: greeting.now,
            identity: self.identity,
            is_whole,
        };
        if self.silence.exists() {
            let _ = fs::remove_file(&self.silence);
        }
        // Throttled to one write a minute, because every command contacts the server.
        let is_news = self.last.borrow().as_ref().is_none_or(|last| {
            (&last.principal, last.scope) != (&now.principal, now.scope)
                || now.at.as_millis() - last.at.as_millis() > MIN_WRITE_INTERVAL_MILLIS
        });
        if is_news {
            self.write_status(&now);
        }
        *self.last.borrow_mut() = Some(now);
    }

    /// Writes the status file, ignoring errors.
    fn write_status(&self, known: &CachedStatus) {
        if let Ok(bytes) = serde_json::to_vec(known) {
            let _ = replace_file(&self.known, &bytes, Durability::Atomic);
        }
    }

    /// Marks the replica as complete.
    pub(super) fn mark_complete(&self) {
        if let Some(last) = self
            .last
            .borrow_mut()
            .as_mut()
            .filter(|last| !last.is_whole)
        {
            last.is_whole = true;
            self.write_status(last);
        }
    }

    /// Whether the replica can be used offline.
    pub(super) fn is_complete(&self) -> bool {
        self.last
            .borrow()
            .as_ref()
            .is_some_and(|last| last.is_whole)
    }

    /// Returns our principal on the server.
    pub(super) fn principal(&self) -> Option<Principal> {
        self.last
            .borrow()
            .as_ref()
            .map(|last| last.principal.clone())
    }

    /// Returns the cached time of the server's last response.
    pub(super) fn last_response_at(&self) -> Option<Timestamp> {
        self.last.borrow().as_ref().map(|last| last.at)
    }

    /// Marks the server as unreachable.
    pub(super) fn mark_unreachable(&self) {
        // Not renewed while it holds: otherwise frequent hooks would never try the server again.
        if !self.is_backing_off() {
            let _ = replace_file(&self.silence, b"", Durability::Atomic);
        }
    }

    /// Whether an impatient caller should not contact the server, because it was unreachable a
    /// moment ago.
    pub(super) fn is_backing_off(&self) -> bool {
        // A hook has a short deadline: waiting for a dead server would cost every tool call its
        // checks.
        self.in_a_hurry
            && fs::metadata(&self.silence)
                .and_then(|found| found.modified())
                .is_ok_and(|since| {
                    since
                        .elapsed()
                        .is_ok_and(|silent| silent < UNREACHABLE_BACKOFF)
                })
    }
}
