//! What every use case works with: the ports, the rules' settings, and who is acting.

use std::cell::{Cell, RefCell};

use domain::ids::{Digest32, OperationId, Principal};
use domain::operation::{Channel, Verb};
use domain::plan_document;
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::{
    Clock, Commands, Git, NewOperation, NoCommands, NoRepository, PlanFiles, Store,
};
use domain::profile::Profile;
use domain::secrets::{SecretCount, mask_text};
use domain::trust_policy::PolicyChange;

use crate::failure::Failure;

/// The world of a use case.
pub struct Context<'a> {
    pub store: &'a dyn Store,
    pub files: &'a dyn PlanFiles,
    pub clock: &'a dyn Clock,
    pub profiles: &'a [Profile],
    pub policy: &'a Policy,
    /// Whose approvals make a status here. Differs from `policy` where the environment or a laptop's file is stricter than
    /// the state itself.
    pub judged_by: ApprovalPolicy,
    pub actor: Principal,
    pub channel: Channel,
    /// The repository, where there is one.
    pub git: &'a dyn Git,
    /// What runs the commands that prove something, where they may be run.
    pub commands: &'a dyn Commands,
    /// The session that acts: the host's id of it, or the terminal's own name.
    pub session: String,
    /// Looser values in `config.toml` that wait for a person.
    pub waiting_policy: Vec<PolicyChange>,
    noticed: RefCell<Vec<Noticed>>,
    /// Whether the edge says itself when the caller was told what came of a request.
    acknowledges: bool,
    carried_out: Cell<Option<Digest32>>,
}

/// Something that was noticed about the plan files on the way, for the edge to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noticed {
    /// Files were found changed, and this is what it meant.
    Changes {
        operation: OperationId,
        summary: String,
        stale: usize,
    },
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
    /// A plan file cannot be read now, which says nothing about it: what was known of it still counts.
    Unavailable { path: String, why: String },
    /// A file looks like a plan but is not where it belongs.
    Misplaced { path: String, why: String },
    /// So many files more were misplaced or unavailable than are told one by one.
    MoreFiles { left: usize },
    /// Secrets were masked before something was written; says how many and of which kinds.
    Masked { what: String },
}

/// So many misplaced or unavailable files are told one by one.
const MAX_FILES_TOLD: usize = 10;

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
            judged_by: policy.approval,
            actor,
            channel,
            git: &NoRepository,
            commands: &NoCommands,
            session,
            waiting_policy: Vec::new(),
            noticed,
            acknowledges: false,
            carried_out: Cell::default(),
        }
    }

    /// The same for an edge that tells the caller what came of a request, and notes in [`crate::file_writes::ACKNOWLEDGED`] that
    /// it did: a request whose answer was never given is then not carried out twice.
    #[must_use]
    pub fn acknowledging(self) -> Self {
        Self {
            acknowledges: true,
            ..self
        }
    }

    /// Says whether the edge notes that the caller was told.
    pub(crate) fn acknowledges(&self) -> bool {
        self.acknowledges
    }

    /// Keeps which request was carried out, for the edge to acknowledge.
    pub(crate) fn note_carried_out(&self, request: Digest32) {
        self.carried_out.set(Some(request));
    }

    /// Returns what is to be acknowledged once the caller was told.
    pub fn take_carried_out(&self) -> Option<Digest32> {
        self.carried_out.take()
    }

    /// The same, with the repository the project lies in and the session that acts.
    #[must_use]
    pub fn at_work(self, git: &'a dyn Git, session: String) -> Self {
        Self {
            git,
            session,
            ..self
        }
    }

    /// The same, with statuses judged by another policy than the one that decides.
    #[must_use]
    pub fn judged_by(self, judged_by: ApprovalPolicy) -> Self {
        Self { judged_by, ..self }
    }

    /// The same, where `config.toml` has looser values that wait for a person.
    #[must_use]
    pub fn with_waiting_policy(self, waiting_policy: Vec<PolicyChange>) -> Self {
        Self {
            waiting_policy,
            ..self
        }
    }

    /// The same, where commands that prove something may be run.
    #[must_use]
    pub fn running(self, commands: &'a dyn Commands) -> Self {
        Self { commands, ..self }
    }

    /// Runs a part of a use case on other files: as they will be once planned writes are carried out.
    pub(crate) fn on_files<T>(
        &self,
        files: &dyn PlanFiles,
        act: impl FnOnce(&Context<'_>) -> T,
    ) -> T {
        let ctx = Context {
            files,
            store: self.store,
            clock: self.clock,
            profiles: self.profiles,
            policy: self.policy,
            judged_by: self.judged_by,
            waiting_policy: self.waiting_policy.clone(),
            actor: self.actor.clone(),
            channel: self.channel,
            git: self.git,
            commands: self.commands,
            session: self.session.clone(),
            noticed: RefCell::default(),
            acknowledges: self.acknowledges,
            carried_out: Cell::default(),
        };
        let value = act(&ctx);
        ctx.take_noticed()
            .into_iter()
            .for_each(|noticed| self.notice(noticed));
        value
    }

    /// Returns what was noticed since the last call.
    pub fn take_noticed(&self) -> Vec<Noticed> {
        self.noticed.take()
    }

    /// The same for people and agents: of many files that are misplaced or unavailable the first ones, and how many more.
    pub fn take_noticed_in_short(&self) -> Vec<Noticed> {
        let mut noticed = self.take_noticed();
        let mut files = 0;
        noticed.retain(|one| {
            let is_about_a_file =
                matches!(one, Noticed::Misplaced { .. } | Noticed::Unavailable { .. });
            files += usize::from(is_about_a_file);
            !is_about_a_file || files <= MAX_FILES_TOLD
        });
        if files > MAX_FILES_TOLD {
            noticed.push(Noticed::MoreFiles {
                left: files - MAX_FILES_TOLD,
            });
        }
        noticed
    }

    pub(crate) fn notice(&self, noticed: Noticed) {
        let mut list = self.noticed.borrow_mut();
        if !list.contains(&noticed) {
            list.push(noticed);
        }
    }

    /// Brings the mirror up to date after a commit, and returns the number of files written.
    ///
    /// The mirror is a copy of what is committed: a failure here is a notice, never a failure of the use case, because
    /// the operation is done. The copy stays marked as stale, and a later command writes it.
    pub fn sync_mirror(&self) -> usize {
        self.store.sync_mirror().unwrap_or_else(|fault| {
            let why = Failure::from(fault).message;
            self.notice(Noticed::NotWritten {
                path: ".throughline/state".to_owned(),
                why,
            });
            0
        })
    }

    /// Returns why a file could not be read in this use case, where that says nothing about its text.
    pub(crate) fn why_unavailable(&self, path: &str) -> Option<String> {
        self.noticed
            .borrow()
            .iter()
            .find_map(|noticed| match noticed {
                Noticed::Unavailable { path: found, why } if found == path => Some(why.clone()),
                _ => None,
            })
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
            self.notice(Noticed::Masked {
                what: format!("masked {masked} in the {place} before it was stored"),
            });
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
