//! What every use case works with: the ports, the rules' settings, and who is acting.

use std::cell::RefCell;

use domain::ids::{OperationId, Principal};
use domain::operation::{Channel, Verb};
use domain::plan_document;
use domain::policy::Policy;
use domain::ports::{Clock, Commands, Git, NewOperation, NoCommands, NoRepository, PlanFiles, Store};
use domain::profile::Profile;
use domain::secrets::{SecretCount, mask_text};

/// The world of a use case.
pub struct Context<'a> {
    pub store: &'a dyn Store,
    pub files: &'a dyn PlanFiles,
    pub clock: &'a dyn Clock,
    pub profiles: &'a [Profile],
    pub policy: &'a Policy,
    pub actor: Principal,
    pub channel: Channel,
    /// The repository, where there is one.
    pub git: &'a dyn Git,
    /// What runs the commands that prove something, where they may be run.
    pub commands: &'a dyn Commands,
    /// The session that acts: the host's id of it, or the terminal's own name.
    pub session: String,
    noticed: RefCell<Vec<Noticed>>,
}

/// Something that was noticed about the plan files on the way, for the edge to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noticed {
    /// Files were found changed, and this is what it meant.
    Changes { operation: OperationId, summary: String, stale: usize },
    /// Files changed, but it could not be recorded.
    NotRecorded { why: String },
    /// An overwritten plan is kept in the store, but not as a readable file.
    NoBackup { node: String, why: String },
    /// A file says that a node is done, but what proves it does not hold.
    Unproved { node: String, why: String },
    /// A session's file could not be brought up to date.
    NotWritten { path: String, why: String },
    /// Something a process left undone when it ended is done now.
    CaughtUp { what: String },
    /// A file looks like a plan but is not where it belongs.
    Misplaced { path: String, why: String },
    /// Secrets were masked before something was written; says how many and of which kinds.
    Masked { what: String },
}

impl<'a> Context<'a> {
    /// Returns a context.
    #[must_use]
    pub fn new(
        store: &'a dyn Store,
        files: &'a dyn PlanFiles,
        clock: &'a dyn Clock,
        profiles: &'a [Profile],
        policy: &'a Policy,
        actor: Principal,
        channel: Channel,
    ) -> Self {
        let session = match &actor {
            Principal::Agent { session, .. } => session.clone(),
            Principal::Human(name) => name.clone(),
            Principal::System => "system".to_owned(),
        };
        let noticed = RefCell::new(Vec::new());
        Self {
            store,
            files,
            clock,
            profiles,
            policy,
            actor,
            channel,
            git: &NoRepository,
            commands: &NoCommands,
            session,
            noticed,
        }
    }

    /// The same, with the repository the project lies in and the session that acts.
    #[must_use]
    pub fn at_work(self, git: &'a dyn Git, session: String) -> Self {
        Self { git, session, ..self }
    }

    /// The same, where commands that prove something may be run.
    #[must_use]
    pub fn running(self, commands: &'a dyn Commands) -> Self {
        Self { commands, ..self }
    }

    /// Returns what was noticed since the last call.
    pub fn take_noticed(&self) -> Vec<Noticed> {
        self.noticed.take()
    }

    pub(crate) fn notice(&self, noticed: Noticed) {
        let mut list = self.noticed.borrow_mut();
        if !list.contains(&noticed) {
            list.push(noticed);
        }
    }

    /// Masks what is about to be written into a file, and tells that it was.
    pub(crate) fn mask(&self, text: &str, place: &str) -> String {
        let mut masked = SecretCount::default();
        let safe = mask_text(text, &mut masked).into_owned();
        self.notice_masked(&masked, place);
        safe
    }

    /// Tells that something was masked before it was written.
    pub(crate) fn notice_masked(&self, masked: &SecretCount, place: &str) {
        if !masked.is_empty() {
            self.notice(Noticed::Masked { what: format!("masked {masked} in the {place} before it was stored") });
        }
    }

    /// Returns how much was noticed so far.
    pub(crate) fn noticed_so_far(&self) -> usize {
        self.noticed.borrow().len()
    }

    pub(crate) fn profile(&self, name: &str) -> Option<&'a Profile> {
        let own = self.profiles.iter().find(|profile| profile.name == name);
        own.or_else(|| (name == plan_document::PROFILE).then(plan_document::profile))
    }

    /// Returns an operation of the present actor, without facts yet.
    pub(crate) fn operation(&self, verb: Verb, summary: String) -> NewOperation {
        NewOperation {
            at: self.clock.now(),
            by: self.actor.clone(),
            channel: self.channel,
            verb,
            summary,
            key: None,
            facts: Vec::new(),
            texts: Vec::new(),
        }
    }
}
