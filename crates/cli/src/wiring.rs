//! Composition root of the CLI: project → store → context → use case.
//!
//! Servers start from `store_pool`, hooks from `hook_entry`; all three run use cases by
//! `use_case_runner`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use application::file_writes::{ACKNOWLEDGED_PATH, MAX_ACKNOWLEDGED_BYTES};
use application::record_event::record_event;
use application::{Context, Failure, Notice, UseCase, run_for_value};
use domain::duplicate_ids::{describe_duplicate, renumber_command};
use domain::ids::{OperationId, Principal};
use domain::operation::{Channel, Verb};
use domain::ports::{Clock, Git, GitHead, HistoryState, Recovery, Store, StoreFault};
use domain::profile::Profile;
use domain::session::SESSIONS_FOLDER;
use domain::settings::{DecisionStorage, Settings, Storage};
use domain::shell_line::quote_word;
use domain::text::{clean_line, count_with_noun};
use domain::trust_policy::{PolicyChange, ProfileRules};
use store::private_files::find_foreign_entry;
use store::{
    DiskDecisions, DiskFiles, DiskGit, EngineSettings, KnownHeads, KnownStores, Layout, PolicyPins,
    ProcessRunner, SystemClock,
};

use crate::caller::acting_principal;
use crate::git_ignore::{GITIGNORE_PATH, ignore_on_all_branches, rewrite_former_gitignore};
use crate::project_file;
use crate::settings;
use crate::trust::pending_policy_notice;
use crate::ui::{INFO, Ui, WARN, styled};
use crate::use_case_runner::{CallerRule, MAX_CONFLICT_RETRY_TIME, RunReport, UseCaseRunner};

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
    /// The profiles in force: those of the files, with the pinned rules they lack.
    pub(crate) profiles: Vec<Profile>,
    /// The rules of the profiles as the files have them.
    pub(crate) declared_profiles: BTreeMap<String, ProfileRules>,
    pub(crate) layout: Layout,
    pub(crate) known: KnownStores,
    pub(crate) pins: PolicyPins,
    pub(crate) heads: KnownHeads,
}

impl Project {
    /// Returns the decision files, where decisions travel through git: not on a shared store, which
    /// has them itself.
    pub(crate) fn open_decisions(&self, git: &DiskGit) -> Option<DiskDecisions> {
        match (self.settings.storage, self.settings.git.decisions) {
            (Storage::Sqlite | Storage::Json, DecisionStorage::Files) => DiskDecisions::open(git),
            _ => None,
        }
    }
}

/// Resolves the directory that `--project` names.
fn resolve_named_directory(directory: &Path) -> Result<PathBuf, Failure> {
    let name = directory.display();
    match directory.canonicalize() {
        Ok(found) if found.is_dir() => Ok(found),
        Ok(_) => Err(Failure::not_found(format!(
            "cannot use `{name}`: it is a file, not a directory"
        ))),
        Err(error) => {
            let failure = Failure::not_found(format!("cannot use `{name}`: {error}"));
            Err(match error.kind() {
                // Only where creating it helps: not for a directory that may not be entered.
                std::io::ErrorKind::NotFound => {
                    failure.with_step(format!("mkdir -p {}", quote_word(&name.to_string())))
                }
                _ => failure,
            })
        }
    }
}

impl App {
    /// Resolves the start directory.
    pub(crate) fn new(ui: Ui, project: Option<PathBuf>) -> Result<Self, Failure> {
        let unreachable = |what: &str, error: std::io::Error| {
            Failure::not_found(format!("cannot use {what}: {error}"))
        };
        let explicit = project.is_some();
        let start = match project {
            Some(directory) => resolve_named_directory(&directory)?,
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
    pub(crate) fn find_project(&self) -> Result<Project, Failure> {
        Project::load(&self.find_project_root()?)
    }

    /// Finds the project's root directory without reading anything in it.
    pub(crate) fn find_project_root(&self) -> Result<PathBuf, Failure> {
        // `--project` names the root itself: searching above it would act on another project than
        // the one that was named.
        let root = if self.explicit {
            Some(self.start.clone()).filter(|root| root.join(".throughline").is_dir())
        } else {
            Layout::find_project_root(&self.start)
        };
        root.ok_or_else(|| {
            Failure::not_found(format!(
                "there is no Throughline project in `{}`{}",
                self.start.display(),
                if self.explicit { "" } else { " or above" }
            ))
            .with_step("tl init")
            .with_step("tl demo   # to see it at work")
        })
    }

    /// Runs a use case on the project's state, with retries and repair.
    pub(crate) fn run<T>(
        &self,
        use_case: impl Fn(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let project = self.find_project()?;
        project.run(self.ui, &use_case)
    }
}

impl Project {
    /// Loads settings and profiles of the project at `root`. The policy is the files' own: the one in
    /// force is resolved with the state ([`Self::resolve_policy`]), or by
    /// [`Self::tighten_by_pins`] before it is opened.
    pub(crate) fn load(root: &Path) -> Result<Self, Failure> {
        Self::load_with_settings(root, settings::load_settings(root)?)
    }

    /// Like [`Self::load`], but invalid environment variables are ignored, as a hook has to.
    pub(crate) fn load_for_hook(root: &Path) -> Result<Self, Failure> {
        let settings = settings::load_settings_for_hook(root)?;
        Ok(Self::load_with_settings(root, settings)?.tighten_by_pins())
    }

    /// Like [`Self::load`], with settings that are loaded already.
    pub(crate) fn load_with_settings(root: &Path, settings: Settings) -> Result<Self, Failure> {
        let profiles = settings::load_project_profiles(root, &settings)?;
        Self::with_profiles(root, settings, profiles)
    }

    /// Like [`Self::load_with_settings`], with profiles that are loaded already.
    pub(crate) fn with_profiles(
        root: &Path,
        settings: Settings,
        profiles: Vec<Profile>,
    ) -> Result<Self, Failure> {
        // Every command and hook comes here before it writes anything.
        refuse_foreign_entries(root)?;
        // In the user's directory, never in the project: a cloned repository must not bring along
        // what this user trusts and has seen.
        let user = settings::user_state_directory()?;
        let project = Self {
            profiles,
            declared_profiles: BTreeMap::new(),
            layout: Layout::new(root, &settings),
            known: KnownStores::in_state_directory(&user),
            pins: PolicyPins::in_state_directory(&user),
            heads: KnownHeads::in_state_directory(&user),
            root: root.to_owned(),
            settings,
        };
        Ok(project.with_tightened_profiles())
    }

    /// Refuses operations that only the server of a replica can do.
    pub(crate) fn refuse_on_replica(&self) -> Result<(), Failure> {
        let Some(server) = &self.settings.server.address else {
            return Ok(());
        };
        Err(Failure::refused(format!(
            "the state is on {server}: this is done on the server"
        ))
        .with_step("tl team leave   # to work on a state of this machine again"))
    }

    /// Returns the store engine's settings: lock timeout, mirror, known journal heads.
    pub(crate) fn store_engine_settings(&self) -> EngineSettings {
        EngineSettings {
            // For a person who waits; hooks and completions set a shorter one.
            patience: Duration::from_secs(5),
            mirror: self.settings.mirror.enabled,
            mirror_interval: Duration::from_secs(self.settings.mirror.interval_seconds),
            // A command writes all of the mirror; hooks, which have a deadline, limit the files.
            mirror_files: usize::MAX,
            // Two clones have the same store id but each its own history, so a local head is kept
            // per directory. A shared database has one history for all of them.
            heads: Some(match self.settings.storage {
                Storage::Postgres => self.heads.clone(),
                _ => self.heads.for_working_copy(&self.root),
            }),
            saves_memory: false,
        }
    }

    /// Opens the store, repairs what it can, and reports the repairs. The state of a fresh clone or
    /// worktree is built from its files.
    pub(crate) fn open_store(
        &self,
        ui: Ui,
        damage: Option<&str>,
    ) -> Result<Box<dyn Store>, StoreFault> {
        let opened = self.open_existing_store(ui, damage);
        if !self.lacks_state(opened.as_ref().err()) {
            return opened;
        }
        let report = |noticed: &Notice| print_notice_once(ui, noticed);
        let recovery = self.build_state_from_files(&self.store_engine_settings(), &report)?;
        self.report_recoveries(ui, recovery.as_slice());
        self.open_existing_store(ui, None)
    }

    /// Like [`Self::open_store`], but a missing state is an error.
    pub(crate) fn open_existing_store(
        &self,
        ui: Ui,
        damage: Option<&str>,
    ) -> Result<Box<dyn Store>, StoreFault> {
        let (store, told) = self.open_with_recoveries(&self.store_engine_settings(), damage)?;
        self.report_recoveries(ui, &told);
        self.announce_mirror_migration(ui);
        Ok(store)
    }

    /// Opens the store without output, for hooks and servers: repairs go to the log file.
    pub(crate) fn open_store_quietly(
        &self,
        engine: &EngineSettings,
        damage: Option<&str>,
    ) -> Result<Box<dyn Store>, StoreFault> {
        let log = |recoveries: &[Recovery]| {
            let messages = recoveries.iter().map(|recovery| &recovery.message);
            messages.for_each(|message| self.append_log_message(message));
        };
        let opened = self
            .open_with_recoveries(engine, damage)
            .map(|(store, told)| {
                log(&told);
                store
            });
        if !self.lacks_state(opened.as_ref().err()) {
            return opened;
        }
        let report = |noticed: &Notice| {
            self.append_log_message(&noticed.describe_claim().unwrap_or_default());
        };
        log(self.build_state_from_files(engine, &report)?.as_slice());
        Ok(self.open_with_recoveries(engine, None)?.0)
    }

    /// Adopts the state that came with a clone, and opens it. That of a clone that came with plan files
    /// and decisions alone is built from them first.
    pub(crate) fn adopt_store(&self, ui: Ui) -> Result<Box<dyn Store>, Failure> {
        let engine = self.store_engine_settings();
        let adopt = || {
            let storage = self.settings.storage;
            let now = SystemClock.now();
            store::adopt_store(&self.layout, storage, &engine, &self.known, now)
        };
        let mut recovered = Vec::new();
        let mut adopted = adopt();
        if self.lacks_state(adopted.as_ref().err()) {
            let report = |noticed: &Notice| print_notice_once(ui, noticed);
            recovered.extend(self.build_state_from_files(&engine, &report)?);
            adopted = adopt();
        }
        let (store, told) = adopted?;
        recovered.extend(told);
        self.report_recoveries(ui, &recovered);
        Ok(store)
    }

    fn open_with_recoveries(
        &self,
        engine: &EngineSettings,
        damage: Option<&str>,
    ) -> Result<(Box<dyn Store>, Vec<Recovery>), StoreFault> {
        store::open_store(
            &self.layout,
            self.settings.storage,
            engine,
            &self.known,
            damage,
            SystemClock.now(),
        )
    }

    /// Whether this is a project without any form of its state, as after `git clone` and
    /// `git worktree add`. Settings that git does not have are those of an interrupted `tl init`.
    fn lacks_state(&self, fault: Option<&StoreFault>) -> bool {
        matches!(fault, Some(StoreFault::Missing))
            && matches!(self.settings.storage, Storage::Sqlite | Storage::Json)
            && self.root.join(project_file::CONFIG_FILE).is_file()
            && store::tracks_files_below(&self.root, ".throughline")
    }

    /// Creates the state of a fresh clone or worktree and records its plan files. Reports only the
    /// tickets that are believed: nothing else is news there. Returns a recovery if there was a state
    /// before.
    fn build_state_from_files(
        &self,
        engine: &EngineSettings,
        report_believed: &dyn Fn(&Notice),
    ) -> Result<Option<Recovery>, StoreFault> {
        let recovery =
            store::create_unbuilt_store(&self.layout, self.settings.storage, &self.known)?;
        let store = self.open_with_recoveries(engine, None)?.0;
        // Another process may have been faster.
        if store.begin_read()?.last_operation_id()? != OperationId(0) {
            return Ok(recovery);
        }
        // The command that follows opens the same directory and says what is wrong with it.
        let Ok(files) = open_project_files(&self.root) else {
            return Ok(recovery);
        };
        let runner = UseCaseRunner {
            project: self,
            files: &files,
            // Nobody decided anything by cloning: it is recorded as an observation.
            caller: CallerRule::Client(&Principal::System),
            channel: Channel::System,
            // Nothing in a fresh clone makes us run a program.
            commands: None,
            policy: None,
            retry_time: MAX_CONFLICT_RETRY_TIME,
            report: &|report| {
                let is_believed = |noticed: &&Notice| matches!(noticed, Notice::Believed { .. });
                report
                    .notices
                    .iter()
                    .filter(is_believed)
                    .for_each(report_believed);
            },
        };
        ignore_on_all_branches(&self.root);
        // An error is not reported: the state is there, and the command that runs next scans the
        // same files and says what is wrong with them.
        let _ = runner.run(&*store, &mut |ctx| {
            record_event(ctx, Verb::Init, "build the state from the plan files").map(drop)
        });
        Ok(recovery)
    }

    /// Tells the user once that the mirror has left git, and rewrites the project's `.gitignore`.
    fn announce_mirror_migration(&self, ui: Ui) {
        let Some(migration) = store::pending_mirror_migration(&self.layout) else {
            return;
        };
        // A changed file would stop a rebase or a merge that is under way.
        let git = DiskGit::open(&self.root);
        if git.operation_in_progress().is_some() {
            return;
        }
        let former = store::FORMER_MIRROR_FOLDER;
        ui.print_message(format_args!(
            "{}: the JSON mirror is in .throughline/mirror now and no longer in git ({former} is not used any more)",
            styled(INFO, "moved")
        ));
        match rewrite_former_gitignore(&self.root) {
            Err(failure) => ui.print_warning(failure.message),
            // Without a commit there is nothing to take out of git, so there is no
            // command to offer.
            Ok(_) if !matches!(git.read_head(), Ok(GitHead::At(_))) => {}
            Ok(_) => {
                let mut remove = String::new();
                if migration.tracked {
                    remove.push_str(&format!("git rm -rq {} && ", quote_word(former)));
                }
                if migration.tracks_sessions && !self.settings.git.share_sessions {
                    remove.push_str(&format!("git rm -rq --cached {SESSIONS_FOLDER} && "));
                }
                ui.print_message(format_args!(
                    "  next: {remove}git add .throughline && git commit -m \"Throughline: take the mirror out of git\""
                ));
                ui.print_message(format_args!(
                    "  undo: git checkout -- {GITIGNORE_PATH} && tl config set mirror.directory {former}"
                ));
            }
        }
        // Last: after a kill before this, the user is told once more.
        store::mark_migration_announced(&self.layout);
    }

    /// Replaces the project's state, and returns where the previous one was kept.
    pub(crate) fn replace_state(
        &self,
        ui: Ui,
        cargo: &store::StoreDump,
        cause: &store::ReplacementCause<'_>,
    ) -> Result<Vec<String>, StoreFault> {
        let kept = store::replace_state(
            &self.layout,
            self.settings.storage,
            &self.known,
            cargo,
            cause,
        )?;
        // `resolve_policy` records the policy in force in the new state. The mirror is only a copy,
        // so failing to write it is a warning: the next command writes it.
        let synced = self.open_store(ui, None).and_then(|store| {
            let _ = self.resolve_policy(&*store);
            store.sync_mirror()
        });
        if let Err(fault) = synced {
            ui.print_warning(format_args!(
                "the mirror is not up to date yet: {}",
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
        run_for_value(|use_case| self.run_with_repair(ui, use_case), &mut |ctx| {
            use_case(ctx)
        })
    }

    /// Runs a use case on an open store, which is not repaired.
    pub(crate) fn run_on_store<T>(
        &self,
        ui: Ui,
        store: &dyn Store,
        use_case: &dyn Fn(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        run_for_value(
            |use_case| self.with_runner(ui, |runner| runner.run(store, use_case)),
            &mut |ctx| use_case(ctx),
        )
    }

    fn run_with_repair(&self, ui: Ui, use_case: &mut UseCase<'_>) -> Result<(), Failure> {
        let store = self.open_store(ui, None)?;
        let reopen = |damage: &str| self.open_store(ui, Some(damage));
        self.with_runner(ui, |runner| {
            runner.run_with_repair(store, &reopen, use_case)
        })
    }

    fn with_runner(
        &self,
        ui: Ui,
        run: impl FnOnce(&UseCaseRunner<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        run(&UseCaseRunner {
            project: self,
            files: &open_project_files(&self.root)?,
            caller: CallerRule::Detected,
            channel: Channel::Cli,
            commands: Some(&ProcessRunner::new(&self.root)),
            policy: None,
            retry_time: MAX_CONFLICT_RETRY_TIME,
            report: &|report| self.print_report(ui, report),
        })
    }

    /// Prints what an attempt at a use case left to report, whether it succeeded or not.
    fn print_report(&self, ui: Ui, report: RunReport<'_>) {
        if let Some(record) = report.carried_out {
            // Kept until the output is flushed, see `run` in main.rs.
            let path = self.root.join(ACKNOWLEDGED_PATH);
            TO_ACKNOWLEDGE.set(Some((path, record.to_string())));
        }
        self.report_recoveries(ui, &report.recoveries);
        for warning in report.warnings {
            ui.print_warning(warning);
        }
        // A retried use case finds the same changes again; each notice is printed once per process.
        for noticed in report.notices {
            print_notice_once(ui, &noticed);
        }
        warn_about_trust(ui, report.history, report.waiting);
    }

    /// Reports repairs to the user and to the log file.
    pub(crate) fn report_recoveries(&self, ui: Ui, recoveries: &[Recovery]) {
        for recovery in recoveries {
            ui.print_message(format_args!(
                "{}: {}",
                styled(WARN, "repaired"),
                recovery.message
            ));
            self.append_log_message(&recovery.message);
        }
    }

    /// Appends a line to the project's log file. Secrets are masked.
    pub(crate) fn append_log_message(&self, message: &str) {
        let path = &self.layout.log;
        let line = format!(
            "{} {}\n",
            SystemClock.now(),
            clean_line(&domain::secrets::mask_secrets(message))
        );
        // A log that cannot be written must not stop the work it is about.
        let _ = path
            .parent()
            .map(store::private_files::create_private_directory);
        let mut options = store::private_files::private_open_options();
        // A log file that the user's environment names may be a link, such as `/dev/stderr`.
        if !path.starts_with(self.root.join(store::STATE_FOLDER)) {
            options.custom_flags(0);
        }
        let _ = options
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// Refuses a project whose folder of ours is a link or contains one: what we write would go to a place
/// that the repository chose, and what we show could come from there.
pub(crate) fn refuse_foreign_entries(root: &Path) -> Result<(), Failure> {
    let Some(entry) = find_foreign_entry(&root.join(store::STATE_FOLDER)) else {
        return Ok(());
    };
    let shown = entry.path.strip_prefix(root).unwrap_or(&entry.path);
    let shown = shown.display();
    Err(Failure::refused(format!(
        "`{shown}` is {}: Throughline's own files are not read or written through one",
        entry.kind
    ))
    .with_step(format!(
        "rm {}   # or replace it by what it leads to, if you made it",
        quote_word(&shown.to_string())
    )))
}

/// Opens the files of the project at `root`.
pub(crate) fn open_project_files(root: &Path) -> Result<DiskFiles, Failure> {
    DiskFiles::open(root)
        .map_err(|error| Failure::unavailable(format!("cannot open `{}`: {error}", root.display())))
}

thread_local! {
    /// Acknowledgement to write once the output is flushed: path and content.
    static TO_ACKNOWLEDGE: RefCell<Option<(PathBuf, String)>> = const { RefCell::new(None) };
    /// Notices already printed: a command that scans the files several times prints each once.
    static SAID: RefCell<Vec<Notice>> = const { RefCell::new(Vec::new()) };
}

/// Records that the caller has seen the outcome of its request.
pub(crate) fn write_acknowledgement() {
    if let Some((path, record)) = TO_ACKNOWLEDGE.take() {
        // Errors are ignored: without the record, repeating the command is answered with "done
        // already" once more than necessary.
        let size = std::fs::metadata(&path).map_or(0, |found| found.len());
        let is_long = size >= MAX_ACKNOWLEDGED_BYTES;
        // Appended in one call: neighbours that finish at the same moment keep each other's.
        let opened = store::private_files::private_open_options()
            .append(!is_long)
            .write(true)
            .truncate(is_long)
            .create(true)
            .open(path);
        let line = format!("{record}\n");
        let _ = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// Warns of a history that differs from the one this user knows, and of a looser policy that waits
/// for acceptance: on every command, until a person decides.
fn warn_about_trust(ui: Ui, history: HistoryState, waiting: &[PolicyChange]) {
    if let Some(problem) = history.describe_problem() {
        let next = HistoryState::NEXT_STEPS[1];
        print_warning_once(ui, &format!("{problem}; next: {next}"));
    }
    if let Some(notice) = pending_policy_notice(waiting) {
        print_warning_once(ui, &notice);
    }
}

fn print_warning_once(ui: Ui, warning: &str) {
    // The variant only serves as the key of the deduplication.
    if is_first_notice(&Notice::NotRecorded {
        why: warning.to_owned(),
    }) {
        ui.print_warning(clean_line(warning));
    }
}

/// Whether the notice was not printed yet by this process.
fn is_first_notice(noticed: &Notice) -> bool {
    SAID.with_borrow_mut(|said| {
        let is_new = !said.contains(noticed);
        if is_new {
            said.push(noticed.clone());
        }
        is_new
    })
}

fn print_notice_once(ui: Ui, noticed: &Notice) {
    if !is_first_notice(noticed) {
        return;
    }
    match noticed {
        Notice::Changes {
            summary,
            stale,
            operation,
        } => {
            let below = render_stale_count(*stale);
            ui.print_message(format_args!(
                "{} {}{below} (operation {operation})",
                styled(INFO, "noticed"),
                summary
            ));
        }
        Notice::NotRecorded { why } => {
            ui.print_warning(format_args!(
                "plan files changed, but the change cannot be recorded: {why}"
            ));
        }
        Notice::NoBackup { node, why } => {
            let what = format!("no readable backup of {node}: {why}");
            ui.print_warning(what);
        }
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
        | Notice::WorkLeft { .. } => {
            ui.print_warning(noticed.describe_claim().unwrap_or_default());
        }
        Notice::NotWritten { path, why } => {
            let what = format!("`{path}` is not up to date: {why}");
            ui.print_warning(what);
        }
        Notice::NotShared { why } => {
            let what = format!("claims and ids are not shared with the other worktrees: {why}");
            ui.print_warning(what);
        }
        Notice::CaughtUp { what } => {
            ui.print_message(format_args!("{} {}", styled(INFO, "resuming:"), what))
        }
        Notice::Unavailable { path, why } => {
            let what = format!("`{path}` cannot be read now: {why}");
            ui.print_warning(format_args!("{what}; its last known content still counts"));
        }
        Notice::MoreFiles { left } => {
            let what = format!(
                "{} more; tl check lists them",
                count_with_noun(*left, "such file", "such files")
            );
            ui.print_warning(what);
        }
        Notice::DecisionsWritten { count } => {
            let what = count_with_noun(*count, "decision is a file", "decisions are files");
            ui.print_message(format_args!(
                "{} {what} in .throughline/decisions now: commit them with the plans",
                styled(INFO, "migrated:")
            ));
        }
        Notice::DecisionsVanished { first, count } => {
            let others = match count {
                1 => String::new(),
                more => format!(" and {} more", more - 1),
            };
            ui.print_warning(format_args!("the file of a decision made here is gone: {first}{others}; next: tl decisions restore"));
        }
        Notice::DecisionsWaiting { count, is_adopted } => {
            let what = count_with_noun(*count, "decision", "decisions");
            let why = if *is_adopted {
                "no remote-tracking branch has it and it was not made here, so only your word makes it count"
            } else {
                "this clone is not adopted yet"
            };
            let step = match is_called_by_person() {
                true => "tl state adopt   # in your own terminal",
                false => "ask the person to run `tl state adopt` in their own terminal",
            };
            ui.print_message(format_args!(
                "{}: {what} of others not counted: {why}; next: {step}",
                styled(WARN, "note")
            ));
        }
        Notice::DecisionsUnsigned { first, why, count } => {
            let others = match count {
                1 => String::new(),
                more => format!(" and {} more", more - 1),
            };
            ui.print_message(format_args!(
                "{}: {first}{others} not counted: {why} (policy.signatures is `required`); next: tl decisions",
                styled(WARN, "note")
            ));
        }
        Notice::NotADecision { path, why } => {
            ui.print_warning(format_args!("`{path}` does not count as a decision: {why}; next: git checkout -- {path}, or delete it"));
        }
        Notice::Duplicate { label, path, other } => {
            let described = describe_duplicate(label, path, other);
            ui.print_warning(format_args!(
                "{described}. To change its id: {}",
                renumber_command(label)
            ));
        }
        Notice::PossibleMove { was, now, is_equal } => {
            let how = if *is_equal {
                "has the same text as"
            } else {
                "is similar to"
            };
            ui.print_message(format_args!(
                "{}: `{now}` {how} `{was}`, which is gone. If it is the same plan: tl move --was {} {}",
                styled(WARN, "note"),
                quote_word(was),
                quote_word(now)
            ));
        }
        Notice::Submitted {
            summary,
            stale,
            operation,
        } => {
            let below = render_stale_count(*stale);
            ui.print_message(format_args!(
                "{} your text, which the team did not have: {}{below} (operation {operation})",
                styled(INFO, "submitted"),
                summary
            ));
        }
        Notice::CopyBehind { what } => {
            ui.print_warning(format_args!("{what}, which is what was decided on"))
        }
        Notice::Masked { what } => {
            ui.print_message(format_args!("{}: {what}", styled(WARN, "note")))
        }
        Notice::Misplaced { path, why } => {
            ui.print_warning(format_args!("{path}: {why}"));
        }
        Notice::NotAtItsPlace { path, expected } => ui.print_warning(format_args!(
            "{path} looks like a plan, but is not read as one: its path should be {expected}; tl move {}",
            quote_word(path)
        )),
    }
}

/// Renders how many plans a change made stale.
fn render_stale_count(stale: usize) -> String {
    match stale {
        0 => String::new(),
        stale => format!(
            " → {} to revalidate",
            count_with_noun(stale, "plan", "plans")
        ),
    }
}

/// Whether a person runs this command, by the environment and the terminal.
pub(crate) fn is_called_by_person() -> bool {
    acting_principal().is_human()
}
