//! Store pool of a server process: every call runs one use case on a store it does not share.
//!
//! Stores are reused between calls. A damaged state is repaired by one call while all others wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use application::file_writes::complete_file_writes;
use application::{Context, Failure, FailureKind, Workspace};
use domain::ids::Principal;
use domain::operation::Channel;
use domain::policy::Policy;
use domain::ports::{AccessBook, Clock, Store};
use domain::profile::Profile;
use domain::settings::Storage;
use domain::time::Timestamp;
use store::{DiskCommands, DiskFiles, DiskGit, RevertibleFiles, SystemClock};

use crate::caller::Caller;
use crate::settings;
use crate::trust::Trusted;
use crate::watch::Watch;
use crate::wiring::{App, Project, RETRIED, put_back_unkept, while_overtaken};

/// A project with a pool of open stores.
pub(crate) struct Workplace {
    project: Project,
    /// The policy in force at server start. Approvals are decided by the stricter of it and the
    /// recorded one.
    trusted: Trusted,
    /// Idle stores of the pool. It may be empty: then the next call opens one.
    idle: Mutex<Vec<Box<dyn Store>>>,
    /// Held shared by every call, and exclusively for a repair: an open store keeps its locks.
    using: RwLock<()>,
    /// `None` where the client may be on another machine, which must not run commands here.
    commands: Option<DiskCommands>,
    /// Listener for stores that push changes; started when the head is first read.
    watch: OnceLock<Arc<Watch>>,
    /// Metrics: number of store checkouts, and their total wait in microseconds.
    asked: AtomicU64,
    waited: AtomicU64,
}

/// Maximum number of idle stores. More are opened while more calls run at once, and closed after. A
/// store on a shared database takes long to open and costs little here, so more of them are kept:
/// otherwise a burst of calls would slow down the next one.
const MOST_IDLE: usize = 4;
const MOST_IDLE_SHARED: usize = 16;

impl Workplace {
    /// Opens the project of a command, with one store in the pool.
    pub(crate) fn open(app: &App) -> Result<Self, Failure> {
        let project = app.project()?;
        let store = project.open_quietly(&project.engine_settings(), None)?;
        let trusted = project.trusted(&*store)?;
        Ok(Self {
            project,
            trusted,
            idle: Mutex::new(vec![store]),
            using: RwLock::default(),
            commands: None,
            watch: OnceLock::new(),
            asked: AtomicU64::new(0),
            waited: AtomicU64::new(0),
        })
    }

    /// Allows evidence commands to be run: for a client that started this process itself.
    pub(crate) fn running_commands(self) -> Self {
        let commands = Some(DiskCommands::new(&self.project.root));
        Self { commands, ..self }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Box<dyn Store>>> {
        // Poisoning is ignored: only push, pop and clear happen under the lock.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, damage: Option<&str>) -> Result<Box<dyn Store>, Failure> {
        Ok(self
            .project
            .open_quietly(&self.project.engine_settings(), damage)?)
    }

    /// Checks a store out of the pool, runs `work` on it, and returns it to the pool.
    fn lend<T>(&self, work: impl FnOnce(&dyn Store) -> Result<T, Failure>) -> Result<T, Failure> {
        let begun = Instant::now();
        // Popped in a statement of its own, so that the lock is free while a store is opened.
        let idle = self.idle().pop();
        let store = match idle {
            Some(store) => store,
            None => self.store(None)?,
        };
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.waited.fetch_add(
            u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
        // A panic drops the store instead of returning it, which rolls back its transaction.
        let outcome = work(&*store);
        let most = if self.project.settings.storage == Storage::Postgres {
            MOST_IDLE_SHARED
        } else {
            MOST_IDLE
        };
        let mut idle = self.idle();
        if idle.len() < most {
            idle.push(store);
        }
        outcome
    }

    fn with(
        &self,
        store: &dyn Store,
        channel: Channel,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let root = &self.project.root;
        let files = DiskFiles::open(root).map_err(|error| {
            Failure::new(
                FailureKind::Unavailable,
                format!("cannot open `{}`: {error}", root.display()),
            )
        })?;
        // On a replica the server's policy decides, and it may have changed since the start.
        let fresh = match self.project.settings.storage {
            Storage::Remote => Some(self.project.trusted(store)?),
            _ => None,
        };
        let trusted = fresh.as_ref().unwrap_or(&self.trusted);
        let (clock, profiles, policy) = (SystemClock, &self.project.profiles, &trusted.policy);
        let git = DiskGit::open(root);
        let actor = &settings::in_name_of(store.caller(), actor.clone(), policy);
        // Looking up the session is another read of the state, and only trails and work phases need
        // it.
        let works = domain::trail::is_kept(profiles)
            || profiles
                .iter()
                .any(|profile| !profile.work_phases.is_empty());
        let session = if works {
            Caller::find(store).session_name(actor)
        } else {
            String::new()
        };
        let files = RevertibleFiles::new(&files);
        let ctx = Context::new(
            store,
            &files,
            &clock,
            profiles,
            policy,
            actor.clone(),
            channel,
        )
        .judged_by(trusted.judged_by)
        .with_waiting_policy(trusted.waiting.clone())
        .at_work(&git, session);
        let ctx = match &self.commands {
            Some(commands) => ctx.running(commands),
            None => ctx,
        };
        // Finishes what a killed process left between its commit and its file writes.
        complete_file_writes(&ctx);
        let outcome = use_case(&ctx);
        put_back_unkept(&files, &outcome);
        store
            .take_recoveries()
            .iter()
            .for_each(|recovery| self.project.log(&recovery.message));
        store
            .take_warnings()
            .iter()
            .for_each(|warning| self.project.log(warning));
        outcome
    }
}

impl Workspace for Workplace {
    fn run(
        &self,
        channel: Channel,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut attempt = || {
            while_overtaken(RETRIED, || {
                self.lend(|store| self.with(store, channel, actor, use_case))
            })
        };
        let mut tried = || match attempt() {
            Err(Failure {
                damage: Some(what), ..
            }) => Err(what),
            other => Ok(other),
        };
        // Shared for the attempt, then released before the exclusive lock is taken: upgrading would
        // deadlock as soon as two calls find the damage.
        let first = {
            let _using = self.using.read().unwrap_or_else(PoisonError::into_inner);
            tried()
        };
        if let Ok(outcome) = first {
            return outcome;
        }
        let _alone = self.using.write().unwrap_or_else(PoisonError::into_inner);
        self.idle().clear();
        // Another call may have repaired it while this one waited for the lock.
        let damage = match tried() {
            Ok(outcome) => return outcome,
            Err(what) => format!("the state was damaged ({what})"),
        };
        self.idle().clear();
        // Every idle store has the damaged file open; they are closed before it is replaced.
        let mended = self.store(Some(&damage))?;
        self.idle().push(mended);
        attempt()
    }

    fn head(&self) -> Result<u64, Failure> {
        if matches!(
            self.project.settings.storage,
            Storage::Postgres | Storage::Remote
        ) {
            let watch = self.watch.get_or_init(|| {
                let project = self.project.clone();
                Watch::start(Box::new(move || {
                    project.open_quietly(&project.engine_settings(), None)
                }))
            });
            // Unknown while the listener cannot reach the store: then a read reports the real
            // error.
            if let Some(head) = watch.head() {
                return Ok(head.0);
            }
        }
        let _using = self.using.read().unwrap_or_else(PoisonError::into_inner);
        self.lend(|store| Ok(store.read()?.head()?.0))
    }

    fn access(
        &self,
        use_book: &mut dyn FnMut(&dyn AccessBook, Timestamp) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let _using = self.using.read().unwrap_or_else(PoisonError::into_inner);
        self.lend(|store| {
            let Some(book) = store.access() else {
                return Ok(false);
            };
            let now = book.now()?.unwrap_or_else(|| SystemClock.now());
            use_book(&*book, now).map(|()| true)
        })
    }

    fn store_waits(&self) -> (u64, Duration) {
        (
            self.asked.load(Ordering::Relaxed),
            Duration::from_micros(self.waited.load(Ordering::Relaxed)),
        )
    }

    fn profiles(&self) -> &[Profile] {
        &self.project.profiles
    }

    fn policy(&self) -> &Policy {
        &self.trusted.policy
    }

    fn person(&self) -> Principal {
        Principal::Human(settings::user_name())
    }
}
