//! What is remembered of the server between two commands: whom it takes us for, when it last answered, that it does not.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::access::Scope;
use domain::exchange::Greeting;
use domain::ids::{Digest32, Principal};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::durable::{Durability, replace};

/// Whoever is in a hurry does not ask a server again that was silent so short a time ago.
const SILENCE: Duration = Duration::from_secs(10);

/// A hook, which waits less than this for anything, is in a hurry.
const HURRY: Duration = Duration::from_secs(1);

/// The time of the last answer is written down this often.
const TO_THE_MINUTE: i64 = 60_000;

/// Two small files beside the replica. Lost ones cost a question.
pub(super) struct Contact {
    known: PathBuf,
    silence: PathBuf,
    in_a_hurry: bool,
    /// Who we are to which server: what was said to somebody else does not count.
    identity: Digest32,
    last: RefCell<Option<Known>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    principal: Principal,
    scope: Scope,
    at: Timestamp,
    identity: Digest32,
    /// Whether the replica has ever had all there was: what is only begun is no state to work on.
    #[serde(default)]
    is_whole: bool,
}

const KNOWN: &str = "server.json";

impl Contact {
    /// Forgets what is remembered beside a database.
    pub(super) fn forget(database: &Path) {
        let _ = fs::remove_file(database.with_file_name(KNOWN));
    }

    pub(super) fn beside(database: &Path, patience: Duration, identity: Digest32) -> Self {
        let known = database.with_file_name(KNOWN);
        let last: Option<Known> = fs::read(&known)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let last = last.filter(|last| last.identity == identity);
        Self {
            known,
            silence: database.with_file_name("silent"),
            in_a_hurry: patience < HURRY,
            identity,
            last: RefCell::new(last),
        }
    }

    /// Remembers what the server said of us.
    pub(super) fn note(&self, greeting: &Greeting) {
        let (principal, scope) = (greeting.principal.clone(), greeting.scope);
        let is_whole = self.is_whole();
        let now = Known {
            principal,
            scope,
            at: greeting.now,
            identity: self.identity,
            is_whole,
        };
        if self.silence.exists() {
            let _ = fs::remove_file(&self.silence);
        }
        let is_news = self.last.borrow().as_ref().is_none_or(|last| {
            (&last.principal, last.scope) != (&now.principal, now.scope)
                || now.at.as_millis() - last.at.as_millis() > TO_THE_MINUTE
        });
        if is_news {
            self.write(&now);
        }
        *self.last.borrow_mut() = Some(now);
    }

    fn write(&self, known: &Known) {
        if let Ok(bytes) = serde_json::to_vec(known) {
            let _ = replace(&self.known, &bytes, Durability::Atomic);
        }
    }

    /// Remembers that the replica had all there was.
    pub(super) fn note_whole(&self) {
        if let Some(last) = self
            .last
            .borrow_mut()
            .as_mut()
            .filter(|last| !last.is_whole)
        {
            last.is_whole = true;
            self.write(last);
        }
    }

    /// Says whether the replica can be worked on without the server.
    pub(super) fn is_whole(&self) -> bool {
        self.last
            .borrow()
            .as_ref()
            .is_some_and(|last| last.is_whole)
    }

    /// Returns whom the server takes us for.
    pub(super) fn caller(&self) -> Option<Principal> {
        self.last
            .borrow()
            .as_ref()
            .map(|last| last.principal.clone())
    }

    /// Returns when the server last answered, as far as it was written down.
    pub(super) fn last(&self) -> Option<Timestamp> {
        self.last.borrow().as_ref().map(|last| last.at)
    }

    /// Remembers that the server does not answer.
    pub(super) fn note_silence(&self) {
        if !self.is_to_be_left_alone() {
            let _ = replace(&self.silence, b"", Durability::Atomic);
        }
    }

    /// Says whether the server was silent a moment ago, for who is in a hurry.
    pub(super) fn is_to_be_left_alone(&self) -> bool {
        self.in_a_hurry
            && fs::metadata(&self.silence)
                .and_then(|found| found.modified())
                .is_ok_and(|since| since.elapsed().is_ok_and(|silent| silent < SILENCE))
    }
}
