//! Store pool of a server process: every call runs one use case on a store it does not share.
//!
//! Stores are reused between calls. A damaged state is repaired by one call while all others wait.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use application::{Context, Failure, UseCase, Workspace};
use domain::ids::Principal;
use domain::operation::Channel;
use domain::policy::Policy;
use domain::ports::{Clock, Store, TokenStore};
use domain::profile::Profile;
use domain::settings::Storage;
use domain::time::Timestamp;
use store::{EngineSettings, ProcessRunner, SystemClock};

use crate::head_listener::HeadListener;
use crate::last_good_settings::remember_good_settings;
use crate::settings;
use crate::settings_stamp::SettingsStamp;
use crate::trust::ResolvedPolicy;
use crate::use_case_runner::{
    CallerRule, MAX_CONFLICT_RETRY_TIME, RunReport, UseCaseRunner, damage_reason,
};
use crate::wiring::{App, Project, open_project_files};

/// A project with a pool of open stores.
pub(crate) struct StorePool {
    /// The settings in force; replaced when a settings file changes.
    loaded: RwLock<Arc<LoadedProject>>,
    /// When the settings files were last looked at, and how they were.
    looked_at: Mutex<(Instant, SettingsStamp)>,
    /// Why the settings in the files are not the ones in force.
    problem: Mutex<Option<Arc<Failure>>>,
    /// Idle stores of the pool. It may be empty: then the next call opens one.
    idle: Mutex<Vec<Box<dyn Store>>>,
    /// Held shared by every call, and exclusively for a repair: an open store keeps its locks.
    using: RwLock<()>,
    /// `None` where the client may be on another machine, which must not run commands here.
    commands: Option<ProcessRunner>,
    /// Listener for stores that push changes; started when the head is first read.
    watch: OnceLock<Arc<HeadListener>>,
    /// Metrics: number of store checkouts, and their total wait in microseconds.
    asked: AtomicU64,
    waited: AtomicU64,
}

/// Maximum number of idle stores. More are opened while more calls run at once, and closed after. A
/// store on a shared database takes long to open and costs little here, so more of them are kept:
/// otherwise a burst of calls would slow down the next one.
const MAX_IDLE_STORES: usize = 4;
const MAX_IDLE_SHARED_STORES: usize = 16;

/// A project with the settings that are in force.
struct LoadedProject {
    project: Project,
    profiles: Arc<[Profile]>,
    /// Approvals are decided by the stricter of it and the recorded one.
    trusted: ResolvedPolicy,
    policy: Arc<Policy>,
}

impl LoadedProject {
    fn resolve(project: Project, store: &dyn Store) -> Result<Self, Failure> {
        let trusted = project.resolve_policy(store)?;
        Ok(Self {
            profiles: project.profiles.as_slice().into(),
            policy: Arc::new(trusted.policy.clone()),
            project,
            trusted,
        })
    }
}

/// Interval at which the settings files are looked at: a few `stat` calls.
const SETTINGS_INTERVAL: Duration = Duration::from_millis(200);

/// Returns the engine settings of a store in the pool, which lives as long as its process.
fn pool_engine_settings(project: &Project) -> EngineSettings {
    EngineSettings {
        saves_memory: true,
        ..project.store_engine_settings()
    }
}

impl StorePool {
    /// Opens the project of a command, with one store in the pool.
    pub(crate) fn open(app: &App) -> Result<Self, Failure> {
        Self::open_with(app, |_| None)
    }

    /// Like [`Self::open`]; broken settings leave the last good ones in force, if there are any. For a
    /// client that could not tell a server that does not start from one that is not there.
    pub(crate) fn open_or_last_good(app: &App) -> Result<Self, Failure> {
        Self::open_with(app, Project::load_last_good)
    }

    fn open_with(
        app: &App,
        last_good: impl FnOnce(&Path) -> Option<Project>,
    ) -> Result<Self, Failure> {
        let root = app.find_project_root()?;
        // Before they are read: a change in between is found by the next look.
        let stamp = SettingsStamp::of_project(&root);
        let (project, problem) = match load_present(&root) {
            Ok(project) => {
                remember_good_settings(&root);
                (project, None)
            }
            Err(failure) => match last_good(&root) {
                Some(project) => (project, Some(Arc::new(failure))),
                None => return Err(failure),
            },
        };
        let store = project.open_store_quietly(&pool_engine_settings(&project), None)?;
        let loaded = LoadedProject::resolve(project, &*store)?;
        Ok(Self {
            loaded: RwLock::new(Arc::new(loaded)),
            looked_at: Mutex::new((Instant::now(), stamp)),
            problem: Mutex::new(problem),
            idle: Mutex::new(vec![store]),
            using: RwLock::default(),
            commands: None,
            watch: OnceLock::new(),
            asked: AtomicU64::new(0),
            waited: AtomicU64::new(0),
        })
    }

    /// Allows evidence commands to be run: for a client that started this process itself.
    pub(crate) fn allow_commands(self) -> Self {
        let commands = Some(ProcessRunner::new(&self.loaded().project.root));
        Self { commands, ..self }
    }

    fn loaded(&self) -> Arc<LoadedProject> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.clone()
    }

    /// Returns the project with its present settings. Settings that cannot be used leave the last
    /// ones in force, and so do those that lead to another state: that needs a restart.
    fn current(&self) -> Arc<LoadedProject> {
        let before = self.loaded();
        {
            let mut looked_at = self
                .looked_at
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if looked_at.0.elapsed() < SETTINGS_INTERVAL {
                return before;
            }
            let now = SettingsStamp::of_project(&before.project.root);
            looked_at.0 = Instant::now();
            // Kept also if loading fails below: a broken file is then parsed and logged once, not
            // at every call.
            if std::mem::replace(&mut looked_at.1, now.clone()) == now {
                return before;
            }
        }
        let loaded = self.load_again(&before.project);
        let (loaded, problem) = match loaded {
            Ok(loaded) => (loaded, None),
            Err(failure) => {
                let line = format!("the settings stay as they were: {}", failure.message);
                before.project.append_log_message(&line);
                (None, Some(Arc::new(failure)))
            }
        };
        *self.lock_problem() = problem;
        let Some(loaded) = loaded.map(Arc::new) else {
            return before;
        };
        remember_good_settings(&loaded.project.root);
        let mut kept = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        *kept = loaded.clone();
        loaded
    }

    fn load_again(&self, before: &Project) -> Result<Option<LoadedProject>, Failure> {
        let project = load_present(&before.root)?;
        let state_of = |project: &Project| {
            let settings = &project.settings;
            (
                settings.storage,
                settings.server.clone(),
                project.layout.clone(),
            )
        };
        if state_of(&project) != state_of(before) {
            let line = "the settings name another state: restart the server to use it";
            before.append_log_message(line);
            return Ok(None);
        }
        // A store of its own: all of the pool may be in use.
        let store = project.open_store_quietly(&pool_engine_settings(&project), None)?;
        LoadedProject::resolve(project, &*store).map(Some)
    }

    fn lock_problem(&self) -> MutexGuard<'_, Option<Arc<Failure>>> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_idle_stores(&self) -> MutexGuard<'_, Vec<Box<dyn Store>>> {
        // Poisoning is ignored: only push, pop and clear happen under the lock.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_store(&self, damage: Option<&str>) -> Result<Box<dyn Store>, Failure> {
        let project = &self.loaded().project;
        Ok(project.open_store_quietly(&pool_engine_settings(project), damage)?)
    }

    /// Checks a store out of the pool, runs `work` on it, and returns it to the pool.
    fn with_pooled_store<T>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        // Popped in a statement of its own, so that the lock is free while a store is opened.
        let idle = self.lock_idle_stores().pop();
        let store = match idle {
            Some(store) => store,
            None => self.open_store(None)?,
        };
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.waited.fetch_add(
            u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
        // A panic drops the store instead of returning it, which rolls back its transaction.
        let outcome = work(&*store);
        let most = if self.loaded().project.settings.storage == Storage::Postgres {
            MAX_IDLE_SHARED_STORES
        } else {
            MAX_IDLE_STORES
        };
        let mut idle = self.lock_idle_stores();
        if idle.len() < most {
            idle.push(store);
        }
        outcome
    }

    fn run_on_store(
        &self,
        store: &dyn Store,
        channel: Channel,
        caller: CallerRule<'_>,
        use_case: &mut UseCase<'_>,
    ) -> Result<(), Failure> {
        let loaded = self.current();
        let project = &loaded.project;
        let log = |report: RunReport<'_>| {
            let repairs = report.recoveries.into_iter().map(|repair| repair.message);
            repairs
                .chain(report.warnings)
                .for_each(|line| project.append_log_message(&line));
        };
        let runner = UseCaseRunner {
            project,
            files: &open_project_files(&project.root)?,
            caller,
            channel,
            commands: self.commands.as_ref(),
            // On a replica the server's policy decides, and it may have changed since the start.
            policy: (project.settings.storage != Storage::Remote).then_some(&loaded.trusted),
            retry_time: MAX_CONFLICT_RETRY_TIME,
            report: &log,
        };
        runner.run(store, use_case)
    }
}

impl StorePool {
    /// Runs a use case on a store of the pool, and repairs a damaged state.
    fn run_with_repair(
        &self,
        channel: Channel,
        caller: CallerRule<'_>,
        use_case: &mut UseCase<'_>,
    ) -> Result<(), Failure> {
        let mut attempt =
            || self.with_pooled_store(|store| self.run_on_store(store, channel, caller, use_case));
        // Shared for the attempt, then released before the exclusive lock is taken: upgrading would
        // deadlock as soon as two calls find the damage.
        let first = {
            let _using = self.using.read().unwrap_or_else(PoisonError::into_inner);
            attempt()
        };
        if damage_reason(&first).is_none() {
            return first;
        }
        let _alone = self.using.write().unwrap_or_else(PoisonError::into_inner);
        self.lock_idle_stores().clear();
        // Another call may have repaired it while this one waited for the lock.
        let second = attempt();
        let Some(damage) = damage_reason(&second) else {
            return second;
        };
        // Every idle store has the damaged file open; they are closed before it is replaced.
        self.lock_idle_stores().clear();
        let repaired = self.open_store(Some(&damage))?;
        self.lock_idle_stores().push(repaired);
        attempt()
    }
}

impl Workspace for StorePool {
    fn run(
        &self,
        channel: Channel,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let caller = match self.commands {
            // Only the client that started this process may run commands, and shares its host.
            Some(_) => CallerRule::Client(actor),
            None => CallerRule::Remote(actor, None),
        };
        self.run_with_repair(channel, caller, use_case)
    }

    fn run_in_session(
        &self,
        channel: Channel,
        actor: &Principal,
        session: &str,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.run_with_repair(channel, CallerRule::Remote(actor, Some(session)), use_case)
    }

    fn head(&self) -> Result<u64, Failure> {
        let loaded = self.loaded();
        if matches!(
            loaded.project.settings.storage,
            Storage::Postgres | Storage::Remote
        ) {
            let watch = self.watch.get_or_init(|| {
                let project = loaded.project.clone();
                HeadListener::start_listener(Box::new(move || {
                    project.open_store_quietly(&project.store_engine_settings(), None)
                }))
            });
            // Unknown while the listener cannot reach the store: then a read reports the real
            // error.
            if let Some(head) = watch.last_operation() {
                return Ok(head.0);
            }
        }
        let _using = self.using.read().unwrap_or_else(PoisonError::into_inner);
        self.with_pooled_store(|store| Ok(store.begin_read()?.last_operation_id()?.0))
    }

    fn with_token_store(
        &self,
        use_book: &mut dyn FnMut(&dyn TokenStore, Timestamp) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let _using = self.using.read().unwrap_or_else(PoisonError::into_inner);
        self.with_pooled_store(|store| {
            let Some(book) = store.token_store() else {
                return Ok(false);
            };
            let now = book.store_time()?.unwrap_or_else(|| SystemClock.now());
            use_book(&*book, now).map(|()| true)
        })
    }

    fn store_wait_stats(&self) -> (u64, Duration) {
        (
            self.asked.load(Ordering::Relaxed),
            Duration::from_micros(self.waited.load(Ordering::Relaxed)),
        )
    }

    fn profiles(&self) -> Arc<[Profile]> {
        self.current().profiles.clone()
    }

    fn policy(&self) -> Arc<Policy> {
        self.current().policy.clone()
    }

    fn settings_problem(&self) -> Option<Arc<Failure>> {
        self.current();
        self.lock_problem().clone()
    }

    fn local_person(&self) -> Principal {
        Principal::Human(settings::local_user_name())
    }
}

/// Loads the project with the settings in its files. Settings that are gone are no empty ones: the
/// project would be another one, with other gates.
fn load_present(root: &Path) -> Result<Project, Failure> {
    match Project::find_missing_config(root) {
        Some(failure) => Err(failure),
        None => Project::load(root),
    }
}
