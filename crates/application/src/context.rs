//! Context of a use case: the ports, the policy, the acting principal, and the notices collected on
//! the way.
//!
//! Ports are trait objects and notices are interior-mutable, so that a use case takes one
//! `&Context` and stays free of generics.

use std::cell::{Cell, RefCell};

use domain::ids::{Digest32, NodeId, OperationId, Principal};
use domain::operation::{Channel, Verb};
use domain::plan_document;
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::{
    Clock, CommandRunner, Coordination, DecisionFolder, Git, NewOperation, NoCommands, NoProcesses,
    NoRepository, NoSignatures, PlanFiles, ProcessTable, SearchIndex, SignatureTool, Store,
    StoreCoordination,
};
use domain::profile::Profile;
use domain::secrets::{SecretCount, mask_text};
use domain::trust_policy::PolicyChange;

use crate::failure::Failure;
use crate::working_copy::CopyDifference;

/// Everything a use case works with.
pub struct Context<'a> {
    pub store: &'a dyn Store,
    pub files: &'a dyn PlanFiles,
    pub clock: &'a dyn Clock,
    pub profiles: &'a [Profile],
    pub policy: &'a Policy,
    /// Policy that decides whose approvals count for a status. Differs from `policy` where the
    /// environment or the configuration of a working copy is stricter than the recorded state.
    pub judged_by: ApprovalPolicy,
    pub actor: Principal,
    pub channel: Channel,
    /// The git repository, or [`NoRepository`].
    pub git: &'a dyn Git,
    /// The decision files, where decisions travel through git.
    pub decisions: Option<&'a dyn DecisionFolder>,
    /// Signs decisions and verifies signatures, or [`NoSignatures`].
    pub signatures: &'a dyn SignatureTool,
    /// What the worktrees of the repository share, or [`StoreCoordination`].
    pub coordination: &'a dyn Coordination,
    /// The search index of this working copy; without one, a search indexes everything for itself.
    pub search_index: Option<&'a dyn SearchIndex>,
    /// Runs the commands of evidence, where this edge permits it.
    pub commands: &'a dyn CommandRunner,
    /// Tells an interrupted process from one that still runs, or [`NoProcesses`].
    pub processes: &'a dyn ProcessTable,
    /// The acting session: the host's id of it, or the terminal's own name.
    pub session: String,
    /// Looser values in `config.toml` that need a person's acceptance.
    pub waiting_policy: Vec<PolicyChange>,
    /// Whether session files may be committed to git.
    pub shares_sessions: bool,
    noticed: RefCell<Vec<Notice>>,
    /// Readable backups written before the commit of the operation that records them.
    backups: RefCell<Vec<(NodeId, String)>>,
    /// Whether the edge records that the caller received the answer to a request.
    acknowledges: bool,
    carried_out: Cell<Option<Digest32>>,
    /// Whether `files` are the project as it will be.
    has_planned_files: bool,
    /// How this working copy differs from a shared state, by the last scan.
    copy_differences: RefCell<Vec<CopyDifference>>,
    /// Number of decisions of others that do not count before this clone is adopted.
    unadopted_decisions: Cell<usize>,
}

impl Notice {
    /// Describes a notice about what a file or a command claims of the work; `None` for any other.
    #[must_use]
    pub fn describe_claim(&self) -> Option<String> {
        Some(match self {
            Self::Unproved {
                why,
                is_complete: false,
                ..
            } => format!("{why}; it does not count as complete"),
            Self::Unproved { why, .. } => {
                format!("{why}; it counts as complete, because the policy only warns")
            }
            Self::NotCarriedOut { node, why } => {
                format!("{why}; `{node}` came with git as complete, and counts as that")
            }
            Self::Believed { nodes } => describe_believed(nodes),
            Self::LeftOut { node, children } => {
                format!("`{node}` is complete without {}", children.join(", "))
            }
            Self::Reopened { node, by } => {
                format!("`{node}` is open again, because `{by}` is open")
            }
            Self::ScenarioRemoved { ticket, scenario } => format!(
                "scenario `{scenario}` of `{ticket}` was deleted before it was done; `{ticket}` stays \
                 open until it is back, or until a person lets it pass (tl gate override done {ticket})"
            ),
            Self::ScenarioReplaced {
                ticket,
                scenario,
                by,
            } => format!(
                "scenario `{scenario}` of `{ticket}` was replaced by `{by}` before it was done"
            ),
            Self::NeedsOpen { node, by } => {
                format!("`{node}` needs `{by}`, which is not complete")
            }
            Self::PhaseSkipped { why, .. } => why.clone(),
            Self::WorkLeft { why } | Self::UnknownWord { why, more: 0 } => why.clone(),
            Self::UnknownWord { why, more } => {
                format!("{why}; `tl check` lists {more} more of that kind")
            }
            _ => return None,
        })
    }
}

/// Maximum number of believed tickets that are named; the rest is counted.
const MAX_NAMED_TICKETS: usize = 3;

fn describe_believed(nodes: &[String]) -> String {
    let named = nodes.iter().take(MAX_NAMED_TICKETS);
    let mut names = named
        .map(|node| format!("`{node}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if nodes.len() > MAX_NAMED_TICKETS {
        names = format!("{names} and {} more", nodes.len() - MAX_NAMED_TICKETS);
    }
    format!(
        "{names} came finished with git and counts as complete; no decision or commit here shows that it is done"
    )
}

/// Something found in the plan files on the way, for the edge to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Files changed; the consequences were recorded as this operation.
    Changes {
        operation: OperationId,
        summary: String,
        stale: usize,
    },
    /// Files changed, but the change could not be recorded.
    NotRecorded { why: String },
    /// The overwritten plan is in the store, but its readable backup could not be written.
    NoBackup { node: String, why: String },
    /// A node that was said to be complete, although something about it is open.
    Unproved {
        node: String,
        why: String,
        /// Whether it counts as complete all the same, because the gate only warns.
        is_complete: bool,
    },
    /// A milestone that another session called complete, although its intents are not carried out here.
    NotCarriedOut { node: String, why: String },
    /// Tickets that came finished with git, although no decision and no commit here shows it.
    Believed { nodes: Vec<String> },
    /// A ticket was completed without some of its children.
    LeftOut { node: String, children: Vec<String> },
    /// A complete node is open again, because something below it is.
    Reopened { node: String, by: String },
    /// A scenario was deleted before it was done.
    ScenarioRemoved { ticket: String, scenario: String },
    /// A scenario that was not done was deleted, and another one was added in its place.
    ScenarioReplaced {
        ticket: String,
        scenario: String,
        by: String,
    },
    /// A node was begun before one that it needs.
    NeedsOpen { node: String, by: String },
    /// A file names a phase that its ticket may not be in yet; it counts all the same.
    PhaseSkipped { node: String, why: String },
    /// Open work is no longer part of what it was part of.
    WorkLeft { why: String },
    /// A word of a file's front matter means nothing, and so do `more` others.
    UnknownWord { why: String, more: usize },
    /// A session's file could not be updated.
    NotWritten { path: String, why: String },
    /// Work left over by an interrupted process is complete now.
    CaughtUp { what: String },
    /// Transient read error of a plan file: the last recorded state still counts.
    Unavailable { path: String, why: String },
    /// A file looks like a plan but is not where it belongs.
    Misplaced { path: String, why: String },
    /// A file looks like a plan, but is not where the profile expects that plan.
    NotAtItsPlace { path: String, expected: String },
    /// A plan has the id of another one, and is shown under a label.
    Duplicate {
        label: String,
        path: String,
        /// The file that has the id.
        other: String,
    },
    /// A new plan may be one that is gone: its text is equal to that of several, or similar.
    PossibleMove {
        was: String,
        /// The new file.
        now: String,
        is_equal: bool,
    },
    /// Number of misplaced or unavailable files beyond those listed one by one.
    MoreFiles { left: usize },
    /// The decisions of this project are files now.
    DecisionsWritten { count: usize },
    /// Decisions made here are gone, although no other commit was checked out.
    DecisionsVanished { first: String, count: usize },
    /// Decisions that came through git and do not count yet.
    DecisionsWaiting { count: usize, is_adopted: bool },
    /// Decisions that do not count, because they lack a valid signature: the first, and why.
    DecisionsUnsigned {
        first: String,
        why: String,
        count: usize,
    },
    /// A file in the decisions folder does not count.
    NotADecision { path: String, why: String },
    /// Claims and ids are not shared with the other worktrees.
    NotShared { why: String },
    /// Secrets were masked before something was written: how many, of which kinds.
    Masked { what: String },
    /// Texts of this working copy became the shared ones, because a decision is about them.
    Submitted {
        operation: OperationId,
        summary: String,
        stale: usize,
    },
    /// A decision was made on the shared text, which this working copy does not have.
    CopyBehind { what: String },
}

/// Maximum number of misplaced or unavailable files listed one by one: a project with 4,900 of them
/// printed 4,900 lines with every command.
const MAX_FILE_NOTICES: usize = 10;

impl<'a> Context<'a> {
    /// Returns a context without a repository and without permission to run commands.
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
        // Without a host the principal's own name is the session, so that focus and claims of a
        // terminal survive from one command to the next.
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
            decisions: None,
            signatures: &NoSignatures,
            coordination: &StoreCoordination,
            search_index: None,
            commands: &NoCommands,
            processes: &NoProcesses,
            session,
            waiting_policy: Vec::new(),
            shares_sessions: false,
            noticed,
            backups: RefCell::default(),
            acknowledges: false,
            carried_out: Cell::default(),
            has_planned_files: false,
            copy_differences: RefCell::default(),
            unadopted_decisions: Cell::default(),
        }
    }

    /// Returns a context with the same ports that acts as another principal.
    #[must_use]
    pub fn acting_as(&self, actor: Principal) -> Self {
        Self {
            judged_by: self.judged_by,
            git: self.git,
            decisions: self.decisions,
            signatures: self.signatures,
            coordination: self.coordination,
            commands: self.commands,
            processes: self.processes,
            session: self.session.clone(),
            waiting_policy: self.waiting_policy.clone(),
            shares_sessions: self.shares_sessions,
            ..Self::new(
                self.store,
                self.files,
                self.clock,
                self.profiles,
                self.policy,
                actor,
                self.channel,
            )
        }
    }

    /// Sets whether session files may be committed to git.
    #[must_use]
    pub fn with_shared_sessions(self, shares_sessions: bool) -> Self {
        Self {
            shares_sessions,
            ..self
        }
    }

    /// Sets the process table.
    #[must_use]
    pub fn with_processes(self, processes: &'a dyn ProcessTable) -> Self {
        Self { processes, ..self }
    }

    /// Marks the edge as one that records in [`crate::file_writes::ACKNOWLEDGED`] that the caller
    /// received its answer: a request whose answer was lost is then not carried out twice.
    #[must_use]
    pub fn with_acknowledgement(self) -> Self {
        Self {
            acknowledges: true,
            ..self
        }
    }

    /// Whether the edge records that the caller received the answer.
    pub(crate) fn is_acknowledging(&self) -> bool {
        self.acknowledges
    }

    /// Remembers the request that was carried out, for the edge to acknowledge.
    pub(crate) fn mark_carried_out(&self, request: Digest32) {
        self.carried_out.set(Some(request));
    }

    /// Returns the request to acknowledge once the caller has its answer.
    pub fn take_carried_out(&self) -> Option<Digest32> {
        self.carried_out.take()
    }

    /// Sets the project's repository and the acting session.
    #[must_use]
    pub fn with_git_and_session(self, git: &'a dyn Git, session: String) -> Self {
        Self {
            git,
            session,
            ..self
        }
    }

    /// Writes decisions as files, and takes over those that come through git.
    #[must_use]
    pub fn with_decisions(self, decisions: Option<&'a dyn DecisionFolder>) -> Self {
        Self { decisions, ..self }
    }

    /// Signs decisions and verifies signatures with this tool.
    #[must_use]
    pub fn with_signatures(self, signatures: &'a dyn SignatureTool) -> Self {
        Self { signatures, ..self }
    }

    /// Sets what the worktrees of the repository share.
    #[must_use]
    pub fn with_coordination(self, coordination: &'a dyn Coordination) -> Self {
        Self {
            coordination,
            ..self
        }
    }

    /// Judges statuses by another policy than the one that decides.
    #[must_use]
    pub fn with_judging_policy(self, judged_by: ApprovalPolicy) -> Self {
        Self { judged_by, ..self }
    }

    /// Sets the looser values of `config.toml` that need a person's acceptance.
    #[must_use]
    pub fn with_waiting_policy(self, waiting_policy: Vec<PolicyChange>) -> Self {
        Self {
            waiting_policy,
            ..self
        }
    }

    /// Sets the search index of this working copy.
    #[must_use]
    pub fn with_search_index(self, index: &'a dyn SearchIndex) -> Self {
        Self {
            search_index: Some(index),
            ..self
        }
    }

    /// Permits running the commands of evidence.
    #[must_use]
    pub fn with_commands(self, commands: &'a dyn CommandRunner) -> Self {
        Self { commands, ..self }
    }

    /// Runs a part of a use case on other files: the project as it will be once planned writes are
    /// carried out.
    pub(crate) fn with_planned_files<T>(
        &self,
        files: &dyn PlanFiles,
        act: impl FnOnce(&Context<'_>) -> T,
    ) -> T {
        // Every field is named, so that a new one has to be considered here. Notices are collected
        // apart and handed over below.
        let ctx = Context {
            files,
            store: self.store,
            clock: self.clock,
            profiles: self.profiles,
            policy: self.policy,
            judged_by: self.judged_by,
            waiting_policy: self.waiting_policy.clone(),
            shares_sessions: self.shares_sessions,
            actor: self.actor.clone(),
            channel: self.channel,
            git: self.git,
            decisions: self.decisions,
            signatures: self.signatures,
            coordination: self.coordination,
            search_index: self.search_index,
            commands: self.commands,
            processes: self.processes,
            session: self.session.clone(),
            noticed: RefCell::default(),
            // Not handed over: planned backups are written after the commit.
            backups: RefCell::default(),
            acknowledges: self.acknowledges,
            carried_out: Cell::default(),
            has_planned_files: true,
            copy_differences: RefCell::default(),
            unadopted_decisions: Cell::default(),
        };
        let value = act(&ctx);
        // Notices from the planned files concern the caller just as much.
        ctx.take_notices()
            .into_iter()
            .for_each(|noticed| self.push_notice(noticed));
        value
    }

    /// Whether the files are the project as it will be: changes in them are the caller's own.
    pub(crate) fn has_planned_files(&self) -> bool {
        self.has_planned_files
    }

    /// Remembers how this working copy differs from the shared state.
    pub(crate) fn set_copy_differences(&self, differences: Vec<CopyDifference>) {
        *self.copy_differences.borrow_mut() = differences;
    }

    /// Returns how this working copy differs from the shared state, by the last scan.
    #[must_use]
    pub fn copy_differences(&self) -> Vec<CopyDifference> {
        self.copy_differences.borrow().clone()
    }

    /// Remembers how many decisions of others wait for the adoption of this clone.
    pub(crate) fn set_unadopted_decisions(&self, count: usize) {
        self.unadopted_decisions.set(count);
    }

    /// Returns how many decisions of others wait for the adoption of this clone, by the last scan.
    #[must_use]
    pub fn unadopted_decisions(&self) -> usize {
        self.unadopted_decisions.get()
    }

    /// Remembers a backup that was written before its operation is committed.
    pub(crate) fn remember_backup(&self, node: NodeId, path: &str) {
        self.backups.borrow_mut().push((node, path.to_owned()));
    }

    /// Makes the backups that were written durable. After the commit and before the answer: a caller that is
    /// told of a backup has it after a power cut too.
    pub fn sync_backups(&self) {
        for (_, path) in self.backups.take() {
            // Not a failure of what overwrote the plan: the store has the text.
            let _ = self.files.sync_file(&path);
        }
    }

    /// Removes the backups of a rejected operation; each retry would leave another copy.
    ///
    /// All other files are written after the commit and need no rollback.
    pub fn remove_unrecorded_backups(&self) {
        let written = self.backups.take();
        if written.is_empty() {
            return;
        }
        let Ok(state) = self.store.begin_read_cached() else {
            return;
        };
        for (node, path) in written {
            // An earlier operation of the same use case may be stored, and its backup with it. In
            // doubt the file stays: a superfluous copy does no harm.
            let is_unrecorded = state
                .load_backups(node)
                .is_ok_and(|known| known.iter().all(|backup| backup.path != path));
            if is_unrecorded {
                let _ = self.files.remove_file(&path);
            }
        }
    }

    /// Returns the notices since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.noticed.take()
    }

    /// Returns those notices since the last call that report a claim about the work.
    pub(crate) fn take_work_notices(&self) -> Vec<Notice> {
        let is_about_work = |notice: &Notice| {
            matches!(
                notice,
                Notice::Unproved { .. }
                    | Notice::NotCarriedOut { .. }
                    | Notice::Believed { .. }
                    | Notice::LeftOut { .. }
                    | Notice::Reopened { .. }
                    | Notice::ScenarioRemoved { .. }
                    | Notice::ScenarioReplaced { .. }
                    | Notice::NeedsOpen { .. }
                    | Notice::PhaseSkipped { .. }
                    | Notice::UnknownWord { .. }
                    | Notice::WorkLeft { .. }
            )
        };
        let (taken, left) = self.noticed.take().into_iter().partition(is_about_work);
        self.noticed.replace(left);
        taken
    }

    /// Returns warnings about claims that something is done since the last call, for edges that report
    /// nothing else of what was noticed.
    pub fn take_work_warnings(&self) -> Vec<String> {
        let notices = self.take_work_notices();
        let described = notices.iter().filter_map(Notice::describe_claim);
        described.collect()
    }

    /// Like [`Context::take_notices`], with at most ten misplaced, unavailable or duplicate files and the
    /// number of the others.
    pub fn take_short_notices(&self) -> Vec<Notice> {
        shorten_notices(self.take_notices())
    }

    /// Adds a notice, unless it is there already.
    pub(crate) fn push_notice(&self, noticed: Notice) {
        let mut list = self.noticed.borrow_mut();
        // A use case may scan the same file twice: before it takes the write lock, and under it.
        if !list.contains(&noticed) {
            list.push(noticed);
        }
    }

    /// Updates the mirror after a commit, and returns the number of files written.
    ///
    /// The mirror is a copy of the committed state: an error here is a notice, never a failure of
    /// the use case, because the operation is done. The copy stays marked as stale, and a later
    /// command writes it.
    pub fn sync_mirror(&self) -> usize {
        self.store.sync_mirror().unwrap_or_else(|fault| {
            // The display form of a store error leaves its source out, and with it the cause.
            let why = Failure::from(fault).message;
            self.push_notice(Notice::NotWritten {
                path: ".throughline/mirror".to_owned(),
                why,
            });
            0
        })
    }

    /// Returns the transient read error of a file met in this use case.
    pub(crate) fn why_unavailable(&self, path: &str) -> Option<String> {
        self.noticed
            .borrow()
            .iter()
            // The scan reports a transient error as a notice, and the notice is the only record of
            // it: nothing about it goes into the state.
            .find_map(|noticed| match noticed {
                Notice::Unavailable { path: found, why } if found == path => Some(why.clone()),
                _ => None,
            })
    }

    /// Masks secrets in a text before it is written, and adds a notice if there were any.
    pub(crate) fn mask_secrets(&self, text: &str, place: &str) -> String {
        let mut masked = SecretCount::default();
        let safe = mask_text(text, &mut masked).into_owned();
        self.push_masked_notice(&masked, place);
        safe
    }

    /// Adds a notice that secrets were masked before something was written.
    pub(crate) fn push_masked_notice(&self, masked: &SecretCount, place: &str) {
        if !masked.is_empty() {
            self.push_notice(Notice::Masked {
                what: format!("masked {masked} in the {place} before it was stored"),
            });
        }
    }

    /// Returns the number of notices so far.
    pub(crate) fn notice_count(&self) -> usize {
        self.noticed.borrow().len()
    }

    /// Returns a profile by its name.
    pub(crate) fn find_profile(&self, name: &str) -> Option<&'a Profile> {
        let own = self.profiles.iter().find(|profile| profile.name == name);
        // Plan documents bring their own profile, which no project lists in its configuration.
        own.or_else(|| {
            (name == plan_document::MILESTONES_PROFILE).then(plan_document::milestones_profile)
        })
    }

    /// Returns a new operation of the acting principal, without facts.
    pub(crate) fn new_operation(&self, verb: Verb, summary: String) -> NewOperation {
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

/// Cuts a list of notices to at most ten misplaced, unavailable or duplicate files and the number of
/// the others.
pub(crate) fn shorten_notices(mut notices: Vec<Notice>) -> Vec<Notice> {
    let mut files = 0;
    notices.retain(|one| {
        // Only these come in thousands; all other notices are few and always shown.
        let is_about_a_file = matches!(
            one,
            Notice::Misplaced { .. }
                | Notice::NotAtItsPlace { .. }
                | Notice::Unavailable { .. }
                | Notice::Duplicate { .. }
        );
        files += usize::from(is_about_a_file);
        !is_about_a_file || files <= MAX_FILE_NOTICES
    });
    if files > MAX_FILE_NOTICES {
        notices.push(Notice::MoreFiles {
            left: files - MAX_FILE_NOTICES,
        });
    }
    notices
}
