//! The project as a server works on it: every call one use case, on a store of its own while it runs.

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

/// A project, with stores open on it.
pub(crate) struct Workplace {
    project: Project,
    /// The policy in force when the server was started. Approvals are decided by the stricter of it and the recorded one.
    trusted: Trusted,
    /// Stores nobody uses just now. One that could not be opened is opened by the next call.
    idle: Mutex<Vec<Box<dyn Store>>>,
    /// Held by everyone who uses a store, and alone by who mends the state: an open store keeps its locks.
    using: RwLock<()>,
    /// Nothing where whoever asks may sit at another machine.
    commands: Option<DiskCommands>,
    /// Where the store tells of news by itself: from when somebody first asks for them.
    watch: OnceLock<Arc<Watch>>,
    /// How often a store was asked for, and the microseconds it took to get one.
    asked: AtomicU64,
    waited: AtomicU64,
}

/// So many stores stay open between calls; more are needed only while more calls run at once. One on the shared database takes long to
/// open, and costs little here: were it given up, a moment with many calls would make the next one worse.
const MOST_IDLE: usize = 4;
const MOST_IDLE_SHARED: usize = 16;

impl Workplace {
    /// Opens the project a command was started in.
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

    /// The same, where commands that prove something may be run: for a client that started the program itself.
    pub(crate) fn running_commands(self) -> Self {
        let commands = Some(DiskCommands::new(&self.project.root));
        Self { commands, ..self }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Box<dyn Store>>> {
        // Nothing is done while it is held that could leave it half done.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, damage: Option<&str>) -> Result<Box<dyn Store>, Failure> {
        Ok(self
            .project
            .open_quietly(&self.project.engine_settings(), damage)?)
    }

    /// Does something with a store that nobody else uses meanwhile, and keeps it for the next call.
    fn lend<T>(&self, work: impl FnOnce(&dyn Store) -> Result<T, Failure>) -> Result<T, Failure> {
        let begun = Instant::now();
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
        // A call that panics takes its store with it: whatever it had begun is rolled back.
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
        // On a laptop the server's policy decides, and it may have become another.
        let fresh = match self.project.settings.storage {
            Storage::Remote => Some(self.project.trusted(store)?),
            _ => None,
        };
        let trusted = fresh.as_ref().unwrap_or(&self.trusted);
        let (clock, profiles, policy) = (SystemClock, &self.project.profiles, &trusted.policy);
        let git = DiskGit::open(root);
        let actor = &settings::in_name_of(store.caller(), actor.clone(), policy);
        // Only work that goes through phases, and a trail, belong to a session, and to find out which is another look at the state.
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
        let first = {
            let _using = self.using.read().unwrap_or_else(PoisonError::into_inner);
            tried()
        };
        if let Ok(outcome) = first {
            return outcome;
        }
        let _alone = self.using.write().unwrap_or_else(PoisonError::into_inner);
        self.idle().clear();
        // Another call may have mended it while this one waited.
        let damage = match tried() {
            Ok(outcome) => return outcome,
            Err(what) => format!("the state was damaged ({what})"),
        };
        self.idle().clear();
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
