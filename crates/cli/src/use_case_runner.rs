//! Runs one use case on an open store: context, retry on write conflicts, repair of damage.
//!
//! Commands, servers and hooks build their contexts here. They differ in the caller, the time they
//! have and where notices go, which are the fields of [`UseCaseRunner`]. No other code of the
//! program acts on `Failure::interruption`.

use std::time::{Duration, Instant};

use application::decisions::{lacks_decision_files, write_existing_decisions};
use application::file_writes::{UnwrittenFiles, complete_found, find_unwritten};
use application::{Context, Failure, Interruption, Notice, UseCase};
use domain::ids::{Digest32, Principal};
use domain::operation::Channel;
use domain::ports::{DecisionFolder, HistoryState, Recovery, Snapshot, Store, StoreFault};
use domain::settings::Storage;
use domain::trust_policy::PolicyChange;
use store::{
    DiskFiles, DiskGit, ProcessRunner, RepositoryCoordination, SearchFile, SshSignatures,
    SystemClock,
};

use crate::caller::Caller;
use crate::process_table::ProcFolder;
use crate::settings;
use crate::trust::{RecordedPolicy, ResolvedPolicy};
use crate::wiring::Project;

/// Opens the store again after its state was repaired; the argument says what was damaged.
type Reopen<'a> = &'a dyn Fn(&str) -> Result<Box<dyn Store>, StoreFault>;

/// How long commands and servers retry a use case on write conflicts.
pub(crate) const MAX_CONFLICT_RETRY_TIME: Duration = Duration::from_secs(15);

/// Everything a use case needs besides the store.
pub(crate) struct UseCaseRunner<'r> {
    pub(crate) project: &'r Project,
    pub(crate) files: &'r DiskFiles,
    pub(crate) caller: CallerRule<'r>,
    pub(crate) channel: Channel,
    /// `None` where commands of evidence must not be run.
    pub(crate) commands: Option<&'r ProcessRunner>,
    /// `None` resolves the policy before each attempt.
    pub(crate) policy: Option<&'r ResolvedPolicy>,
    /// How long write conflicts are retried.
    pub(crate) retry_time: Duration,
    /// Receives the report of every attempt, whatever its outcome.
    pub(crate) report: &'r dyn Fn(RunReport<'_>),
}

/// How the acting principal and its session are determined.
#[derive(Clone, Copy)]
pub(crate) enum CallerRule<'r> {
    /// By the environment and the ancestors of this process.
    Detected,
    /// Named by the host that runs a hook.
    Known(&'r Caller),
    /// A client that started this process, whose host the environment tells.
    Client(&'r Principal),
    /// A client of a server, named by its token or its connection, with the session it names.
    Remote(&'r Principal, Option<&'r str>),
}

/// What an attempt leaves to be reported.
pub(crate) struct RunReport<'r> {
    pub(crate) recoveries: Vec<Recovery>,
    /// Warnings of the store.
    pub(crate) warnings: Vec<String>,
    pub(crate) notices: Vec<Notice>,
    /// The request to acknowledge once the caller has its answer.
    pub(crate) carried_out: Option<Digest32>,
    pub(crate) history: HistoryState,
    /// Looser values in `config.toml` that need a person's acceptance.
    pub(crate) waiting: &'r [PolicyChange],
}

/// What the state says about the caller and about interrupted processes.
///
/// Read in one snapshot together with the recorded policy: three separate read transactions made
/// `tl show` a tenth slower.
struct Preflight {
    principal: Principal,
    /// `None` where nothing depends on the session.
    caller: Option<Caller>,
    unwritten: UnwrittenFiles,
    /// Whether the decisions of this state are not files yet.
    lacks_decision_files: bool,
}

impl UseCaseRunner<'_> {
    /// Runs a use case on `store`. If the state turns out to be damaged, `reopen` repairs it, given
    /// the reason, and the use case is run once more.
    pub(crate) fn run_with_repair(
        &self,
        store: Box<dyn Store>,
        reopen: Reopen<'_>,
        use_case: &mut UseCase<'_>,
    ) -> Result<(), Failure> {
        let outcome = self.run(&*store, use_case);
        let Some(damage) = damage_reason(&outcome) else {
            return outcome;
        };
        // Dropped first: an open store holds locks and file handles that the repair needs. Damage
        // that is reported again after a repair is an error, not another attempt.
        drop(store);
        self.run(&*reopen(&damage)?, use_case)
    }

    /// Runs a use case and retries it on write conflicts, each time on fresh state.
    pub(crate) fn run(&self, store: &dyn Store, use_case: &mut UseCase<'_>) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(4);
        loop {
            match self.attempt(store, use_case) {
                Err(failure)
                    if failure.interruption() == Some(&Interruption::Conflict)
                        && begun.elapsed() < self.retry_time =>
                {
                    // Full jitter, so that competing writers do not retry in lockstep. A commit
                    // takes a few milliseconds, so the first pause is as short; more than 200 ms
                    // would only waste time.
                    std::thread::sleep(pause.mul_f64(fastrand::f64()));
                    pause = (pause * 2).min(Duration::from_millis(200));
                }
                outcome => {
                    // A command leaves the mirror complete, also with what hooks have deferred.
                    // Servers complete it with every commit.
                    if self.channel == Channel::Cli {
                        store.finish_mirror();
                    }
                    return outcome;
                }
            }
        }
    }

    /// Reads what the use case depends on, resolves the policy, and runs the use case once.
    fn attempt(&self, store: &dyn Store, use_case: &mut UseCase<'_>) -> Result<(), Failure> {
        // Without a round trip to a team server: that would delay the use case's write and make
        // conflicts more likely. The server checks approvals against its own policy in any case.
        let state = store.begin_read_cached()?;
        let preflight = self.read_preflight(&*state);
        let Some(fixed) = self.policy else {
            let recorded = RecordedPolicy::read_from(&*state)?;
            // Recording the policy takes the write lock, which needs the snapshot closed.
            drop(state);
            let resolved = self.project.resolve_policy_from(store, &recorded)?;
            return self.attempt_under(&resolved, store, preflight, use_case);
        };
        drop(state);
        self.attempt_under(fixed, store, preflight, use_case)
    }

    fn read_preflight(&self, state: &dyn Snapshot) -> Preflight {
        let (principal, caller) = match self.caller {
            CallerRule::Detected => {
                let caller = Caller::detect_caller(state);
                (caller.principal(), Some(caller))
            }
            CallerRule::Known(caller) => (caller.principal(), Some(caller.clone())),
            CallerRule::Client(principal) => {
                let profiles = &self.project.profiles;
                // Only trails and work phases depend on the session; looking it up reads notes.
                let works = domain::trail::has_trail_profile(profiles)
                    || profiles
                        .iter()
                        .any(|profile| !profile.work_phases.is_empty());
                let caller = works.then(|| Caller::detect_caller(state));
                (principal.clone(), caller)
            }
            // The server's own environment says nothing about its clients.
            CallerRule::Remote(principal, _) => (principal.clone(), None),
        };
        Preflight {
            principal,
            caller,
            unwritten: find_unwritten(state),
            // A hook has no time to write them; the next command does.
            lacks_decision_files: self.channel == Channel::Cli && lacks_decision_files(state),
        }
    }

    fn attempt_under(
        &self,
        trusted: &ResolvedPolicy,
        store: &dyn Store,
        preflight: Preflight,
        use_case: &mut UseCase<'_>,
    ) -> Result<(), Failure> {
        // Resolved per attempt, because on a replica the server's answer may have changed our
        // principal.
        let actor = settings::effective_principal(
            store.remote_principal(),
            preflight.principal,
            &trusted.policy,
        );
        let session = match (&self.caller, preflight.caller) {
            (CallerRule::Remote(_, Some(session)), _) => (*session).to_owned(),
            (_, Some(caller)) => caller.session_name(&actor),
            // A client without a host of its own is identified by its connection, also where
            // nothing but a claim depends on it: two clients are two sessions.
            (_, None) => match &actor {
                Principal::Agent { session, .. } => session.clone(),
                Principal::Human(name) => name.clone(),
                Principal::System => String::new(),
            },
        };
        let (clock, git) = (SystemClock, DiskGit::open(&self.project.root));
        let decisions = self.project.open_decisions(&git);
        let signatures = SshSignatures::new(&self.project.root, settings::signing_environment());
        let coordination = RepositoryCoordination::open(&git);
        // Opened by the first search only.
        let search_index = SearchFile::new(&self.project.layout.search_index);
        let mut ctx = Context::new(
            store,
            self.files,
            &clock,
            &self.project.profiles,
            &trusted.policy,
            actor,
            self.channel,
        )
        .with_judging_policy(trusted.judged_by)
        .with_waiting_policy(trusted.waiting.clone())
        .with_git_and_session(&git, session)
        .with_decisions(
            decisions
                .as_ref()
                .map(|folder| folder as &dyn DecisionFolder),
        )
        .with_signatures(&signatures)
        .with_processes(&ProcFolder)
        .with_shared_sessions(self.project.settings.git.share_sessions);
        // A shared database or a team server has the claims of all machines.
        if matches!(
            self.project.settings.storage,
            Storage::Sqlite | Storage::Json
        ) {
            ctx = ctx.with_coordination(&coordination);
        }
        // Not where SQLite cannot work; a search then indexes everything in memory.
        if self.project.settings.storage != Storage::Json {
            ctx = ctx.with_search_index(&search_index);
        }
        if let Some(commands) = self.commands {
            ctx = ctx.with_commands(commands);
        }
        // Only a command knows that its caller has read the answer: its output is flushed.
        if self.channel == Channel::Cli {
            ctx = ctx.with_acknowledgement();
        }
        // Finishes what a killed process left between its commit and its file writes.
        complete_found(&ctx, preflight.unwritten);
        // A rebase or merge should not find new files.
        if preflight.lacks_decision_files && ctx.git.operation_in_progress().is_none() {
            write_existing_decisions(&ctx)?;
        }
        let outcome = use_case(&ctx);
        let interruption = outcome.as_ref().err().and_then(Failure::interruption);
        if let Some(Interruption::Conflict | Interruption::Rejected) = interruption {
            // The operation they belong to does not exist; a retry writes its own.
            ctx.remove_unrecorded_backups();
        }
        // What is left of them is recorded.
        ctx.sync_backups();
        (self.report)(RunReport {
            recoveries: store.take_recoveries(),
            warnings: store.take_warnings(),
            notices: ctx.take_short_notices(),
            carried_out: ctx.take_carried_out(),
            history: store.history_state(),
            waiting: &trusted.waiting,
        });
        outcome
    }
}

/// Returns the reason for a repair, if the use case found the state damaged.
pub(crate) fn damage_reason(outcome: &Result<(), Failure>) -> Option<String> {
    match outcome.as_ref().err()?.interruption()? {
        Interruption::Damage(what) => Some(format!("the state was damaged ({what})")),
        Interruption::Conflict | Interruption::Rejected => None,
    }
}
