//! Composition root of the CLI: project → store → context → use case.
//!
//! Servers do the same per call in `workspace`, hooks in `hook_entry`.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use application::file_writes::{ACKNOWLEDGED, complete_found};
use application::{Context, Failure, FailureKind, Noticed};
use domain::operation::Channel;
use domain::ports::{Clock, History, Recovery, Store, StoreFault};
use domain::profile::Profile;
use domain::settings::{Settings, Storage};
use domain::text::{clean_line, count};
use store::{
    DiskCommands, DiskFiles, DiskGit, EngineSettings, KnownHeads, KnownStores, Layout, PolicyPins,
    RevertibleFiles, SystemClock,
};

use crate::caller::Caller;
use crate::settings;
use crate::trust::{Preflight, Trusted, waiting_notice};
use crate::ui::{INFO, Ui, WARN, styled};

/// Context of every command: output and start directory.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) ui: Ui,
    /// `--project`, or the current directory.
    pub(crate) start: PathBuf,
    pub(crate) explicit: bool,
}

/// A project's settings and paths: everything needed to open its store.
#[derive(Clone)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) layout: Layout,
    pub(crate) known: KnownStores,
    pub(crate) pins: PolicyPins,
    pub(crate) heads: KnownHeads,
}

impl App {
    /// Resolves the start directory.
    pub(crate) fn new(ui: Ui, project: Option<PathBuf>) -> Result<Self, Failure> {
        let unreachable = |what: &str, error: std::io::Error| {
            Failure::new(FailureKind::NotFound, format!("cannot use {what}: {error}"))
        };
        let explicit = project.is_some();
        let start = match project {
            Some(directory) => directory
                .canonicalize()
                .map_err(|error| unreachable(&format!("`{}`", directory.display()), error))?,
            None => std::env::current_dir()
                .map_err(|error| unreachable("the present directory", error))?,
        };
        Ok(Self {
            ui,
            start,
            explicit,
        })
    }

    /// Finds and loads the project at or above the start directory.
    pub(crate) fn project(&self) -> Result<Project, Failure> {
        Project::at(&self.root()?)
    }

    /// Finds the project's root directory without reading anything in it.
    pub(crate) fn root(&self) -> Result<PathBuf, Failure> {
        // `--project` names the root itself: searching above it would act on another project than
        // the one that was named.
        let root = if self.explicit {
            Some(self.start.clone()).filter(|root| root.join(".throughline").is_dir())
        } else {
            Layout::find_root(&self.start)
        };
        root.ok_or_else(|| {
            Failure::new(
                FailureKind::NotFound,
                format!(
                    "there is no Throughline project in `{}`{}",
                    self.start.display(),
                    if self.explicit { "" } else { " or above" }
                ),
            )
            .step("tl init")
            .step("tl demo   # to see it at work")
        })
    }

    /// Runs a use case on the project's state, with retries and repair.
    pub(crate) fn run<T>(
        &self,
        use_case: impl Fn(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let project = self.project()?;
        project.run(self.ui, &use_case)
    }
}

impl Project {
    /// Loads settings and profiles of the project at `root`.
    pub(crate) fn at(root: &Path) -> Result<Self, Failure> {
        Self::with_settings(root, settings::load(root)?)
    }

    /// Like [`Self::at`], but invalid environment variables are ignored, as a hook has to.
    pub(crate) fn for_hook(root: &Path) -> Result<Self, Failure> {
        Self::with_settings(root, settings::load_for_hook(root)?)
    }

    /// Like [`Self::at`], with settings that are loaded already.
    pub(crate) fn with_settings(root: &Path, settings: Settings) -> Result<Self, Failure> {
        let user = settings::user_directory()?;
        let project = Self {
            profiles: settings::profiles(root, &settings)?,
            layout: Layout::new(root, &settings),
            known: KnownStores::in_directory(&user),
            pins: PolicyPins::in_directory(&user),
            heads: KnownHeads::in_directory(&user),
            root: root.to_owned(),
            settings,
        };
        Ok(project.tightened_by_pins())
    }

    /// Refuses operations that only the server of a replica can do.
    pub(crate) fn refuse_on_replica(&self) -> Result<(), Failure> {
        let Some(server) = &self.settings.server.address else {
            return Ok(());
        };
        Err(Failure::new(
            FailureKind::Refused,
            format!("the state is on {server}: this is done on the server"),
        )
        .step("tl leave   # to work on a state of this machine again"))
    }

    /// Returns the store engine's settings: lock timeout, mirror, known journal heads.
    pub(crate) fn engine_settings(&self) -> EngineSettings {
        EngineSettings {
            patience: Duration::from_secs(5),
            mirror: self.settings.mirror.enabled,
            mirror_interval: Duration::from_secs(self.settings.mirror.interval_seconds),
            // Two clones have the same store id but each its own history, so a local head is kept
            // per directory. A shared database has one history for all of them.
            heads: Some(match self.settings.storage {
                Storage::Postgres => self.heads.clone(),
                _ => self.heads.at(&self.root),
            }),
        }
    }

    /// Opens the store, repairs what it can, and reports the repairs.
    pub(crate) fn open(&self, ui: Ui, damage: Option<&str>) -> Result<Box<dyn Store>, StoreFault> {
        let storage = self.settings.storage;
        let now = SystemClock.now();
        let (store, told) = store::open(
            &self.layout,
            storage,
            &self.engine_settings(),
            &self.known,
            damage,
            now,
        )?;
        self.tell(ui, &told);
        Ok(store)
    }

    /// Opens the store without output, for hooks and servers: repairs go to the log file.
    pub(crate) fn open_quietly(
        &self,
        engine: &EngineSettings,
        damage: Option<&str>,
    ) -> Result<Box<dyn Store>, StoreFault> {
        let now = SystemClock.now();
        let (store, told) = store::open(
            &self.layout,
            self.settings.storage,
            engine,
            &self.known,
            damage,
            now,
        )?;
        told.iter().for_each(|recovery| self.log(&recovery.message));
        Ok(store)
    }

    /// Replaces the project's state, and returns where the previous one was kept.
    pub(crate) fn replace_state(
        &self,
        ui: Ui,
        cargo: &store::Cargo,
        cause: &store::ReplacementCause<'_>,
    ) -> Result<Vec<String>, StoreFault> {
        let kept = store::replace_state(
            &self.layout,
            self.settings.storage,
            &self.known,
            cargo,
            cause,
        )?;
        // `trusted` records the policy in force in the new state. The mirror is only a copy, so
        // failing to write it is a warning: the next command writes it.
        let synced = self.open(ui, None).and_then(|store| {
            let _ = self.trusted(&*store);
            store.sync_mirror()
        });
        if let Err(fault) = synced {
            ui.say(format_args!(
                "{}: the mirror is not up to date yet: {}",
                styled(WARN, "warning"),
                clean_line(&fault.to_string())
            ));
        }
        Ok(kept)
    }

    /// Runs a use case. Damage that is found on the way is repaired, and the use case retried once.
    pub(crate) fn run<T>(
        &self,
        ui: Ui,
        use_case: &dyn Fn(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let store = self.open(ui, None)?;
        let outcome = while_overtaken(RETRIED, || self.with(ui, &*store, use_case));
        let damage = match outcome {
            Err(Failure {
                damage: Some(ref what),
                ..
            }) => what.clone(),
            other => return other,
        };
        // Dropped first: an open store holds locks and file handles that the repair needs. Damage
        // that is reported again after a repair is an error, not another attempt.
        drop(store);
        let store = self.open(ui, Some(&format!("the state was damaged ({damage})")))?;
        while_overtaken(RETRIED, || self.with(ui, &*store, use_case))
    }

    /// Runs a use case on an open store and prints its notices and warnings.
    pub(crate) fn with<T>(
        &self,
        ui: Ui,
        store: &dyn Store,
        use_case: &dyn Fn(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let files = DiskFiles::open(&self.root).map_err(|error| {
            Failure::new(
                FailureKind::Unavailable,
                format!("cannot open `{}`: {error}", self.root.display()),
            )
        })?;
        let clock = SystemClock;
        let (preflight, caller) = {
            let state = store.read_known()?;
            (Preflight::read_from(&*state)?, Caller::find_in(&*state))
        };
        let trusted = self.trusted_after(store, &preflight)?;
        // Resolved per use case, because on a replica the server's answer may have changed our
        // principal.
        let actor = settings::in_name_of(store.caller(), caller.principal(), &trusted.policy);
        let (git, commands) = (DiskGit::open(&self.root), DiskCommands::new(&self.root));
        let session = caller.session_name(&actor);
        let files = RevertibleFiles::new(&files);
        let ctx = Context::new(
            store,
            &files,
            &clock,
            &self.profiles,
            &trusted.policy,
            actor,
            Channel::Cli,
        )
        .judged_by(trusted.judged_by)
        .with_waiting_policy(trusted.waiting.clone())
        .at_work(&git, session)
        .running(&commands)
        .acknowledging();
        complete_found(&ctx, preflight.unwritten);
        let outcome = use_case(&ctx);
        if let Some(record) = ctx.take_carried_out() {
            // Kept until the output is flushed, see `run` in main.rs.
            let path = self.root.join(ACKNOWLEDGED);
            TO_ACKNOWLEDGE.set(Some((path, record.to_string())));
        }
        put_back_unkept(&files, &outcome);
        self.tell(ui, &store.take_recoveries());
        for warning in store.take_warnings() {
            ui.say(format_args!("{}: {}", styled(WARN, "warning"), warning));
        }
        // A retried use case finds the same changes again; each notice is printed once per process.
        for noticed in ctx.take_noticed_in_short() {
            say_noticed(ui, &noticed);
        }
        say_untrusted(ui, store, &trusted);
        outcome
    }

    /// Reports repairs to the user and to the log file.
    pub(crate) fn tell(&self, ui: Ui, recoveries: &[Recovery]) {
        for recovery in recoveries {
            ui.say(format_args!(
                "{}: {}",
                styled(WARN, "repaired"),
                recovery.message
            ));
            self.log(&recovery.message);
        }
    }

    /// Appends a line to the project's log file. Secrets are masked.
    pub(crate) fn log(&self, message: &str) {
        let path = &self.layout.log;
        let line = format!(
            "{} {}\n",
            SystemClock.now(),
            clean_line(&domain::secrets::mask(message))
        );
        // A log that cannot be written must not stop the work it is about.
        let _ = path.parent().map(store::private::create_directory);
        let _ = store::private::open_options()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// Reverts the plan files of a use case whose operation the server rejected. Left as they are, the
/// next observation would record them as a manual edit.
pub(crate) fn put_back_unkept<T>(files: &RevertibleFiles<'_>, outcome: &Result<T, Failure>) {
    if let Err(Failure { unkept: true, .. }) = outcome {
        files.put_back();
    }
}

/// How long a use case is retried on write conflicts.
pub(crate) const RETRIED: Duration = Duration::from_secs(15);

/// Runs a use case and retries it on write conflicts, each time on fresh state.
pub(crate) fn while_overtaken<T>(
    most: Duration,
    mut attempt: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(4);
    loop {
        match attempt() {
            Err(Failure {
                overtaken: true, ..
            }) if begun.elapsed() < most => {
                // Full jitter, so that competing writers do not retry in lockstep. A commit takes a
                // few milliseconds, so the first pause is as short; more than 200 ms would only
                // waste time.
                std::thread::sleep(pause.mul_f64(fastrand::f64()));
                pause = (pause * 2).min(Duration::from_millis(200));
            }
            outcome => return outcome,
        }
    }
}

thread_local! {
    /// Acknowledgement to write once the output is flushed: path and content.
    static TO_ACKNOWLEDGE: RefCell<Option<(PathBuf, String)>> = const { RefCell::new(None) };
    /// Notices already printed: a command that scans the files several times prints each once.
    static SAID: RefCell<Vec<Noticed>> = const { RefCell::new(Vec::new()) };
}

/// Records that the caller has seen the outcome of its request.
pub(crate) fn acknowledge() {
    if let Some((path, record)) = TO_ACKNOWLEDGE.take() {
        // Errors are ignored: without the record, repeating the command is answered with "done
        // already" once more than necessary.
        let opened = store::private::open_options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(path);
        let _ = opened.and_then(|mut file| file.write_all(record.as_bytes()));
    }
}

/// Warns of a history that differs from the one this user knows, and of a looser policy that waits
/// for acceptance: on every command, until a person decides.
fn say_untrusted(ui: Ui, store: &dyn Store, trusted: &Trusted) {
    if let Some(problem) = store.history().problem() {
        let next = History::NEXT_STEPS[1];
        say_warning_once(ui, &format!("{problem}; next: {next}"));
    }
    if let Some(notice) = waiting_notice(&trusted.waiting) {
        say_warning_once(ui, &notice);
    }
}

fn say_warning_once(ui: Ui, warning: &str) {
    // The variant only serves as the key of the deduplication.
    if is_new(&Noticed::NotRecorded {
        why: warning.to_owned(),
    }) {
        ui.say(format_args!(
            "{}: {}",
            styled(WARN, "warning"),
            clean_line(warning)
        ));
    }
}

/// Whether the notice was not printed yet by this process.
fn is_new(noticed: &Noticed) -> bool {
    SAID.with_borrow_mut(|said| {
        let is_new = !said.contains(noticed);
        if is_new {
            said.push(noticed.clone());
        }
        is_new
    })
}

fn say_noticed(ui: Ui, noticed: &Noticed) {
    if !is_new(noticed) {
        return;
    }
    match noticed {
        Noticed::Changes {
            summary,
            stale,
            operation,
        } => {
            let below = match stale {
                0 => String::new(),
                stale => format!(" → {} to revalidate", count(*stale, "plan", "plans")),
            };
            ui.say(format_args!(
                "{} {}{below} (operation {operation})",
                styled(INFO, "noticed"),
                summary
            ));
        }
        Noticed::NotRecorded { why } => {
            ui.say(format_args!(
                "{}: plan files changed, but the change cannot be recorded: {}",
                styled(WARN, "warning"),
                why
            ));
        }
        Noticed::NoBackup { node, why } => {
            let what = format!("no readable backup of {node}: {why}");
            ui.say(format_args!("{}: {what}", styled(WARN, "warning")));
        }
        Noticed::Unproved { why, .. } => {
            ui.say(format_args!(
                "{}: {}; it does not count as complete",
                styled(WARN, "warning"),
                why
            ));
        }
        Noticed::NotWritten { path, why } => {
            let what = format!("`{path}` is not up to date: {why}");
            ui.say(format_args!("{}: {what}", styled(WARN, "warning")));
        }
        Noticed::CaughtUp { what } => {
            ui.say(format_args!("{} {}", styled(INFO, "resuming:"), what))
        }
        Noticed::Unavailable { path, why } => {
            let what = format!("`{path}` cannot be read now: {why}");
            ui.say(format_args!(
                "{}: {what}; its last known content still counts",
                styled(WARN, "warning")
            ));
        }
        Noticed::MoreFiles { left } => {
            let what = format!(
                "{} more; tl check lists them",
                count(*left, "such file", "such files")
            );
            ui.say(format_args!("{}: {what}", styled(WARN, "warning")));
        }
        Noticed::Masked { what } => ui.say(format_args!("{}: {what}", styled(WARN, "note"))),
        Noticed::Misplaced { path, why } => {
            ui.say(format_args!(
                "{}: {}: {}",
                styled(WARN, "warning"),
                path,
                why
            ));
        }
    }
}

/// Whether a person runs this command, by the environment and the terminal.
pub(crate) fn is_person() -> bool {
    settings::actor().is_human()
}
