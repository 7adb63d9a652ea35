//! Putting the parts together: project → store → context → use case.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use application::{Context, Failure, FailureKind, Noticed};
use domain::ids::Principal;
use domain::operation::Channel;
use domain::planning_prompt::{clean_line, count};
use domain::ports::{Clock, Recovery, Store, StoreFault};
use domain::profile::Profile;
use domain::settings::Settings;
use store::{DiskCommands, DiskFiles, DiskGit, EngineSettings, KnownStores, Layout, RevertibleFiles, SystemClock};

use crate::session_name::session_name;
use crate::settings;
use crate::ui::{INFO, Ui, WARN, styled};

/// What every command gets.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) ui: Ui,
    /// `--project`, or the present directory.
    pub(crate) start: PathBuf,
    pub(crate) explicit: bool,
}

/// A project with everything needed to open its store.
#[derive(Clone)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) layout: Layout,
    pub(crate) known: KnownStores,
}

impl App {
    /// Returns the surroundings of a command.
    pub(crate) fn new(ui: Ui, project: Option<PathBuf>) -> Result<Self, Failure> {
        let unreachable = |what: &str, error: std::io::Error| {
            Failure::new(FailureKind::NotFound, format!("cannot use {what}: {error}"))
        };
        let explicit = project.is_some();
        let start = match project {
            Some(directory) => {
                directory.canonicalize().map_err(|error| unreachable(&format!("`{}`", directory.display()), error))?
            }
            None => std::env::current_dir().map_err(|error| unreachable("the present directory", error))?,
        };
        Ok(Self { ui, start, explicit })
    }

    /// Finds the project at or above where we are.
    pub(crate) fn project(&self) -> Result<Project, Failure> {
        Project::at(&self.root()?)
    }

    /// Returns the project's directory, without a look at what is in it.
    pub(crate) fn root(&self) -> Result<PathBuf, Failure> {
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

    /// Runs a use case on the project's state.
    pub(crate) fn run<T>(&self, use_case: impl Fn(&Context<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let project = self.project()?;
        project.run(self.ui, &use_case)
    }
}

impl Project {
    /// Reads the settings and profiles of the project at `root`.
    pub(crate) fn at(root: &Path) -> Result<Self, Failure> {
        Self::with_settings(root, settings::load(root)?)
    }

    /// The same for a hook.
    pub(crate) fn for_hook(root: &Path) -> Result<Self, Failure> {
        Self::with_settings(root, settings::load_for_hook(root)?)
    }

    /// The same with settings that were read before.
    pub(crate) fn with_settings(root: &Path, settings: Settings) -> Result<Self, Failure> {
        Ok(Self {
            profiles: settings::profiles(root, &settings)?,
            layout: Layout::new(root, &settings),
            known: KnownStores::in_directory(&settings::user_directory()?),
            root: root.to_owned(),
            settings,
        })
    }

    /// Refuses what is only done where the state itself is.
    pub(crate) fn refuse_on_replica(&self) -> Result<(), Failure> {
        let Some(server) = &self.settings.server.address else { return Ok(()) };
        Err(Failure::new(FailureKind::Refused, format!("the state is on {server}: this is done on the server"))
            .step("tl leave   # to work on a state of this machine again"))
    }

    /// Returns how the engine is to behave.
    pub(crate) fn engine_settings(&self) -> EngineSettings {
        EngineSettings {
            patience: Duration::from_secs(5),
            mirror: self.settings.mirror.enabled,
            mirror_interval: Duration::from_secs(self.settings.mirror.interval_seconds),
        }
    }

    /// Opens the store, repairing what can be repaired, and tells what was.
    pub(crate) fn open(&self, ui: Ui, damage: Option<&str>) -> Result<Box<dyn Store>, StoreFault> {
        let storage = self.settings.storage;
        let now = SystemClock.now();
        let (store, told) = store::open(&self.layout, storage, &self.engine_settings(), &self.known, damage, now)?;
        self.tell(ui, &told);
        Ok(store)
    }

    /// Opens the store for a hook: nobody is there to be told, so repairs go to the log.
    pub(crate) fn open_quietly(
        &self,
        engine: &EngineSettings,
        damage: Option<&str>,
    ) -> Result<Box<dyn Store>, StoreFault> {
        let now = SystemClock.now();
        let (store, told) = store::open(&self.layout, self.settings.storage, engine, &self.known, damage, now)?;
        told.iter().for_each(|recovery| self.log(&recovery.message));
        Ok(store)
    }

    /// Runs a use case. Damage that shows only on the way is mended, and the use case tried once more.
    pub(crate) fn run<T>(&self, ui: Ui, use_case: &dyn Fn(&Context<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let store = self.open(ui, None)?;
        let outcome = while_overtaken(RETRIED, || self.with(ui, &*store, use_case));
        let damage = match outcome {
            Err(Failure { damage: Some(ref what), .. }) => what.clone(),
            other => return other,
        };
        drop(store);
        let store = self.open(ui, Some(&format!("the state was damaged ({damage})")))?;
        while_overtaken(RETRIED, || self.with(ui, &*store, use_case))
    }

    /// Runs a use case on an open store.
    pub(crate) fn with<T>(
        &self,
        ui: Ui,
        store: &dyn Store,
        use_case: &dyn Fn(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let files = DiskFiles::open(&self.root).map_err(|error| {
            Failure::new(FailureKind::Unavailable, format!("cannot open `{}`: {error}", self.root.display()))
        })?;
        let clock = SystemClock;
        let actor = settings::in_name_of(store.caller(), settings::actor(), &self.settings.policy);
        let (git, commands) = (DiskGit::open(&self.root), DiskCommands::new(&self.root));
        let session = session_name(&actor, store);
        let files = RevertibleFiles::new(&files);
        let ctx = Context::new(store, &files, &clock, &self.profiles, &self.settings.policy, actor, Channel::Cli)
            .at_work(&git, session)
            .running(&commands);
        let outcome = use_case(&ctx);
        put_back_unkept(&files, &outcome);
        self.tell(ui, &store.take_recoveries());
        for warning in store.take_warnings() {
            ui.say(format!("{}: {}", styled(WARN, "warning"), clean_line(&warning)));
        }
        for noticed in ctx.take_noticed() {
            say_noticed(ui, &noticed);
        }
        outcome
    }

    /// Tells the person, and the log file, what was repaired.
    pub(crate) fn tell(&self, ui: Ui, recoveries: &[Recovery]) {
        for recovery in recoveries {
            ui.say(format!("{}: {}", styled(WARN, "repaired"), clean_line(&recovery.message)));
            self.log(&recovery.message);
        }
    }

    pub(crate) fn log(&self, message: &str) {
        let path = &self.layout.log;
        let line = format!("{} {}\n", SystemClock.now(), clean_line(&domain::secrets::mask(message)));
        // A log that cannot be written must not stop the work it is about.
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// Puts back the files of a use case whose operation a server did not keep: they would be taken for somebody's edit.
pub(crate) fn put_back_unkept<T>(files: &RevertibleFiles<'_>, outcome: &Result<T, Failure>) {
    if let Err(Failure { unkept: true, .. }) = outcome {
        files.put_back();
    }
}

/// How long a use case is run again because others were faster.
pub(crate) const RETRIED: Duration = Duration::from_secs(15);

/// Runs a use case, and again while somebody else is faster; each time on what is there then.
pub(crate) fn while_overtaken<T>(
    most: Duration,
    mut attempt: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(4);
    loop {
        match attempt() {
            Err(Failure { overtaken: true, .. }) if begun.elapsed() < most => {
                // Never all at the same steps: somebody would always come second.
                std::thread::sleep(pause.mul_f64(fastrand::f64()));
                pause = (pause * 2).min(Duration::from_millis(200));
            }
            outcome => return outcome,
        }
    }
}

thread_local! {
    /// A command that looks at the files several times says everything once.
    static SAID: RefCell<Vec<Noticed>> = const { RefCell::new(Vec::new()) };
}

fn say_noticed(ui: Ui, noticed: &Noticed) {
    let is_new = SAID.with_borrow_mut(|said| {
        let is_new = !said.contains(noticed);
        if is_new {
            said.push(noticed.clone());
        }
        is_new
    });
    if !is_new {
        return;
    }
    match noticed {
        Noticed::Changes { summary, stale, operation } => {
            let below = match stale {
                0 => String::new(),
                stale => format!(" → {} to revalidate", count(*stale, "plan", "plans")),
            };
            ui.say(format!("{} {}{below} (operation {operation})", styled(INFO, "noticed"), clean_line(summary)));
        }
        Noticed::NotRecorded { why } => {
            ui.say(format!(
                "{}: plan files changed, but it cannot be recorded: {}",
                styled(WARN, "warning"),
                clean_line(why)
            ));
        }
        Noticed::NoBackup { node, why } => {
            let what = format!("no readable backup of {}: {}", clean_line(node), clean_line(why));
            ui.say(format!("{}: {what}", styled(WARN, "warning")));
        }
        Noticed::Unproved { why, .. } => {
            ui.say(format!("{}: {}; it does not count as complete", styled(WARN, "warning"), clean_line(why)));
        }
        Noticed::NotWritten { path, why } => {
            let what = format!("`{}` is not up to date: {}", clean_line(path), clean_line(why));
            ui.say(format!("{}: {what}", styled(WARN, "warning")));
        }
        Noticed::CaughtUp { what } => ui.say(format!("{} {}", styled(INFO, "resuming:"), clean_line(what))),
        Noticed::Masked { what } => ui.say(format!("{}: {}", styled(WARN, "note"), clean_line(what))),
        Noticed::Misplaced { path, why } => {
            ui.say(format!("{}: {}: {}", styled(WARN, "warning"), clean_line(path), clean_line(why)));
        }
    }
}

/// Says whether the present actor is a person.
pub(crate) fn is_person() -> bool {
    matches!(settings::actor(), Principal::Human(_))
}
