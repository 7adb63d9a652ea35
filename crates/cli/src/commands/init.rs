//! `tl init`: creates a project and installs hooks into agent hosts.
//!
//! Idempotent: existing files are kept. If it fails, a new project is removed again.

mod profile_choice;
mod report;

use std::path::{Path, PathBuf};

use application::Failure;
use application::decisions::adopt_new_project;
use application::record_event::record_event;
use clap::Args;
use domain::host_event::Host;
use domain::ids::OperationId;
use domain::operation::Verb;
use domain::ports::{FileFault, PlanFiles, StoreFault};
use domain::profile::Profile;
use domain::settings::{SCHEMA_FILE, Storage};
use domain::shell_line::quote_word;
use domain::work::guides;
use hosts::install::{HookSetup, is_program_name};
use serde_json::json;
use store::{DiskFiles, Layout, NetworkFileSystem, network_file_system_at};

use self::profile_choice::{
    ProfileChoice, describe_planning_tools, find_repository_above, list_directory,
};
use self::report::{InitOutcome, find_next_command, print_report};
use crate::commands::host_choice::{
    HostChoice, detect_hosts, list_host_names, missing_on_path_note, parse_host_choice,
};
use crate::commands::host_files::{self, HostChange};
use crate::exit_code::ExitCode;
use crate::git_ignore::{GITIGNORE_PATH, GITIGNORE_TEXT, ignore_on_all_branches};
use crate::last_good_settings::remember_good_settings;
use crate::program_path::{find_on_path, find_program_cache, is_same_file};
use crate::project_file::{self, CONFIG_FILE, with_setting, write_config_text};
use crate::settings::{self, PROFILES_FOLDER, load_named_profile};
use crate::wiring::{App, Project, refuse_foreign_entries};

/// Create a project in this directory
///
/// Asks nothing. Without `--profile`, the names in the directory decide: code gets tickets and a
/// trail, a manuscript a story. Safe to run again: existing files are left as they are, and further
/// profiles and hosts are added.
///
/// With `--host` it also installs hooks and commands into the settings of agent hosts in this
/// directory. Entries of other tools stay as they are, and each changed file is backed up.
/// `tl host uninstall` removes them again.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl init\n  tl init --dry-run                what it would make here\n  tl init --profile story,tickets\n  tl --project ~/novel init\n  tl init --host claude-code,codex\n  tl init --host auto              the hosts that are found here\n  tl init --host all --program tl  entries that work on every machine"
)]
pub(crate) struct InitArgs {
    /// Profiles of the project: story, tickets, trail, milestones, or your own
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    profile: Vec<String>,

    #[arg(
        long,
        value_name = "HOSTS",
        value_delimiter = ',',
        help = format!("Agent hosts to install into: {}, all, or auto", list_host_names())
    )]
    host: Vec<String>,

    /// Block the agent if the hook cannot run, also in hosts without a setting for it
    #[arg(long, requires = "host")]
    strict: bool,

    /// Also show the position of the session in Claude Code's status line, unless you have one there
    #[arg(long, requires = "host")]
    statusline: bool,

    /// Name of the project in the shared database (`storage = "postgres"`) [default: the
    /// directory's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Use the state of the project with this name in the shared database
    #[arg(long)]
    join_existing: bool,

    /// Program that the hooks run [default: this one, by its absolute path]
    #[arg(long, value_name = "PATH", requires = "host")]
    program: Option<String>,

    /// Show what would be made, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl InitArgs {
    /// Returns the arguments for a story project without a host.
    pub(crate) fn story_project() -> Self {
        Self {
            profile: vec!["story".to_owned()],
            host: Vec::new(),
            strict: false,
            statusline: false,
            name: None,
            join_existing: false,
            program: None,
            dry_run: false,
        }
    }

    /// Returns the arguments for installing into hosts, in a project that exists.
    pub(crate) fn for_hosts(
        host: Vec<String>,
        strict: bool,
        statusline: bool,
        program: Option<String>,
    ) -> Self {
        Self {
            profile: Vec::new(),
            host,
            strict,
            statusline,
            program,
            ..Self::story_project()
        }
    }

    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let root = &self.resolve_root(app);
        refuse_foreign_entries(root)?;
        let listing = list_directory(root);
        let is_new_project = !root.join(CONFIG_FILE).exists();
        let repository = find_repository_above(root);
        let mut outcome = InitOutcome {
            success: true,
            dry_run: self.dry_run,
            project: root.display().to_string(),
            choice: is_new_project
                .then(|| ProfileChoice::for_directory(&self.profile, &listing, repository)),
            ..InitOutcome::default()
        };
        if let Some(choice) = &outcome.choice {
            outcome.chosen_because.clone_from(&choice.because);
            outcome.notes.extend(repository.map(describe_repository));
        }
        if *root != app.start {
            outcome.notes.push(format!(
                "{} belongs to this project; for one of its own: tl --project . init",
                app.start.display()
            ));
        }
        // First: an unreadable settings file of a host must fail before anything is created.
        let mut changes = self.plan_host_changes(root, &mut outcome)?;
        if self.dry_run {
            outcome.hosts = changes;
            let profiles = self.preview_project(root, &mut outcome)?;
            let tools = describe_planning_tools(&listing, &profiles);
            outcome.notes.extend(tools);
            print_report(app, root, &profiles, &outcome);
            return Ok(ExitCode::Done);
        }
        // A folder that was there before may hold profiles of the user.
        let is_new_folder = !root.join(".throughline").exists();
        let files = create_project_folder(root)?;
        let written = self.write_first_files(root, &files, &mut outcome);
        let project = written.inspect_err(|_| {
            if is_new_folder {
                remove_first_files(root, &outcome.made);
            }
        })?;
        let project = self.add_profiles(root, project, &mut outcome)?;
        if needs_guides(&project.profiles) {
            // Guides are templates for the user to edit, so existing ones are kept.
            for (name, text) in guides::BUILT_IN_GUIDES {
                let path = format!("{}/{name}", guides::GUIDES_FOLDER);
                create_or_keep(&files, &mut outcome, &path, text)?;
            }
        }
        create_state(app, &project, &mut outcome)?;
        if let Some(shared) = project
            .layout
            .shared
            .as_ref()
            .filter(|_| project.settings.storage == Storage::Postgres)
        {
            // So that later commands find the database without the environment variable.
            settings::store_database_choice(root, Some(&shared.url))?;
        }
        if let Some(changes) = &mut changes {
            // Last: a host that finds the hooks starts them at once, and they need the project.
            host_files::apply_changes(&files, changes)?;
        }
        outcome.hosts = changes;
        remember_good_settings(root);
        let tools = describe_planning_tools(&listing, &project.profiles);
        outcome.notes.extend(tools);
        if !app.ui.json && !app.ui.silent {
            find_next_command(app, &project, &listing, &mut outcome);
        }
        print_report(app, root, &project.profiles, &outcome);
        Ok(ExitCode::Done)
    }

    /// Returns the profiles that the project will have, by name and loaded.
    fn plan_profiles(
        &self,
        root: &Path,
        outcome: &mut InitOutcome,
    ) -> Result<(Vec<String>, Vec<Profile>), Failure> {
        let names = match &outcome.choice {
            Some(choice) => choice.names.clone(),
            None => {
                let present = Project::load(root)?.settings.profiles;
                let is_new = |name: &&String| !present.contains(name);
                outcome.added_profiles = self.profile.iter().filter(is_new).cloned().collect();
                [present, outcome.added_profiles.clone()].concat()
            }
        };
        let profiles = names
            .iter()
            .map(|name| load_named_profile(root, PROFILES_FOLDER, name))
            .collect::<Result<Vec<Profile>, Failure>>()?;
        Ok((names, profiles))
    }

    /// Lists what a run without `--dry-run` would make, and returns the profiles it would enable.
    fn preview_project(
        &self,
        root: &Path,
        outcome: &mut InitOutcome,
    ) -> Result<Vec<Profile>, Failure> {
        let (names, profiles) = self.plan_profiles(root, outcome)?;
        let mut paths = vec![
            CONFIG_FILE.to_owned(),
            schema_path(),
            GITIGNORE_PATH.to_owned(),
        ];
        if needs_guides(&profiles) {
            let guides = guides::BUILT_IN_GUIDES.iter();
            paths.extend(guides.map(|(name, _)| format!("{}/{name}", guides::GUIDES_FOLDER)));
        }
        (outcome.kept, outcome.made) = paths.into_iter().partition(|path| root.join(path).exists());
        outcome.mark_changed_settings();
        outcome.profiles = names;
        Ok(profiles)
    }

    /// Writes the settings and the files that belong to them; a failure leaves nothing behind.
    fn write_first_files(
        &self,
        root: &Path,
        files: &DiskFiles,
        outcome: &mut InitOutcome,
    ) -> Result<Project, Failure> {
        let is_new = outcome.choice.is_some();
        // SQLite's locks do not work reliably on NFS and SMB. An explicit choice in the environment
        // is respected.
        let remote = network_file_system_at(root)
            .filter(|_| is_new && settings::environment_variable("THROUGHLINE_STORAGE").is_none());
        let start = StartSettings {
            project_id: store::new_project_id(),
            on_network: remote.is_some(),
            has_host: !self.host.is_empty(),
        };
        let names = outcome
            .choice
            .as_ref()
            .map(|choice| choice.names.clone())
            .unwrap_or_default();
        // The project id is written with the first settings, before anything is shared: two clones
        // of this repository must find the same project in a database.
        let config = render_config_file(&names, &start);
        let schema = project_file::render_schema();
        let written = create_or_keep(files, outcome, CONFIG_FILE, &config)
            .and_then(|()| create_or_keep(files, outcome, &schema_path(), &schema))
            .and_then(|()| create_or_keep(files, outcome, GITIGNORE_PATH, GITIGNORE_TEXT));
        ignore_on_all_branches(root);
        if let Some(NetworkFileSystem(name)) = remote {
            outcome.notes.push(format!(
                "this directory is on a network file system ({name}), where SQLite is not safe: the state is kept by the \
                 engine `json` (`storage` in .throughline/config.toml)"
            ));
        }
        let project = written.and_then(|()| self.resolve_shared_project(root));
        project.inspect_err(|_| {
            // An unknown profile or a taken name must not leave a half-created project behind: the
            // next `tl init` would find it and keep the wrong settings.
            for path in &outcome.made {
                let _ = files.remove_file(path);
            }
        })
    }

    /// Adds the named profiles that an existing project does not have yet.
    fn add_profiles(
        &self,
        root: &Path,
        project: Project,
        outcome: &mut InitOutcome,
    ) -> Result<Project, Failure> {
        outcome.profiles.clone_from(&project.settings.profiles);
        let mut added: Vec<String> = Vec::new();
        for name in &self.profile {
            if !outcome.profiles.contains(name) && !added.contains(name) {
                // Only to check it: an unknown name in the file would make every
                // later command fail.
                load_named_profile(root, PROFILES_FOLDER, name)?;
                added.push(name.clone());
            }
        }
        if added.is_empty() {
            return Ok(project);
        }
        outcome.profiles.extend(added.iter().cloned());
        let text = project_file::read_config_text(root)?;
        // Edited in place: comments and order of the user's file stay.
        let text = with_setting(&text, "profiles", &json!(outcome.profiles))?;
        write_config_text(root, &text)?;
        outcome.added_profiles = added;
        outcome.mark_changed_settings();
        Project::load(root)
    }

    /// Loads the project and, for a shared database, records its id and name in the settings: its
    /// own, or those of the project it joins.
    fn resolve_shared_project(&self, root: &Path) -> Result<Project, Failure> {
        let project = Project::load(root)?;
        let Some(shared) = project
            .layout
            .shared
            .clone()
            .filter(|_| project.settings.storage == Storage::Postgres)
        else {
            return match self.name.is_some() || self.join_existing {
                true => Err(Failure::invalid(
                    "the state of this project is not in a shared database",
                )
                .with_step(
                    "export THROUGHLINE_STORAGE=postgres THROUGHLINE_DATABASE_URL=postgres://…",
                )),
                false => Ok(project),
            };
        };
        // The name only matters for finding an existing project; once the id is recorded, renaming
        // the directory changes nothing.
        let mut layout = project
            .layout
            .in_shared_database(shared.url, self.name.as_ref().unwrap_or(&shared.project));
        if self.join_existing {
            refuse_beside_local_state(&project)?;
            let own = shared.id.clone().unwrap_or_else(store::new_project_id);
            let joined =
                store::join_shared_project(&layout, &own).map_err(|fault| match fault {
                    StoreFault::Missing => Failure::not_found(format!(
                        "there is no {} to join",
                        store::state_location(&layout, Storage::Postgres)
                    )),
                    fault => fault.into(),
                })?;
            layout = layout.with_project_id(&joined);
        }
        match store::find_shared_project(&layout) {
            // Damage is repaired when the store is opened.
            Ok(()) | Err(StoreFault::Damaged { .. }) => {}
            Err(StoreFault::Missing) => {
                refuse_beside_local_state(&project)?;
                // The settings are from before there were ids. If the state existed, the project
                // would stay without one, because other checkouts find it by its name.
                if shared.id.is_none() {
                    layout = layout.with_project_id(&store::new_project_id());
                }
            }
            Err(fault) => return Err(fault.into()),
        }
        project_file::write_storage(root, Storage::Postgres, layout.shared.as_ref())?;
        Ok(Project {
            layout,
            ..Project::load(root)?
        })
    }

    /// Returns the project's root: in a part of a project that project, as for every other command. A
    /// repository inside it, such as a worktree, is a place of its own.
    fn resolve_root(&self, app: &App) -> PathBuf {
        if app.explicit {
            return app.start.clone();
        }
        let enclosing = Layout::find_project_root(&app.start);
        let is_own_place = |root: &PathBuf| {
            let mut between = app.start.ancestors().take_while(|above| above != root);
            // A folder in a repository, a file in a worktree: both are places of their own.
            between.any(|above| above.join(".git").exists())
        };
        enclosing
            .filter(|root| !is_own_place(root))
            .unwrap_or_else(|| app.start.clone())
    }

    /// Plans the changes of the hosts' files; `None` without `--host`.
    fn plan_host_changes(
        &self,
        root: &Path,
        outcome: &mut InitOutcome,
    ) -> Result<Option<Vec<HostChange>>, Failure> {
        if self.host.is_empty() {
            return Ok(None);
        }
        let hosts: Vec<Host> = match parse_host_choice(&self.host, true)? {
            HostChoice::Named(hosts) => hosts,
            HostChoice::Auto => {
                let found = detect_hosts(root);
                let hosts = found.iter().map(|found| found.host).collect();
                outcome.found = Some(found);
                hosts
            }
        };
        let setup = HookSetup {
            program: self.resolve_hook_program()?,
            strict: self.strict,
            status_line: self.statusline,
        };
        // Hooks use an absolute path, but the agent's commands and the next steps in our messages
        // call `tl` by name.
        outcome.notes.extend(missing_on_path_note());
        if self.program.is_none() && !hosts.is_empty() {
            outcome.notes.push(format!(
                "the hooks start {}; for files that go to other machines: tl init --host {} --program tl",
                setup.program,
                self.host.join(",")
            ));
        }
        let disk = DiskFiles::open(root).map_err(|error| {
            Failure::unavailable(format!("cannot open `{}`: {error}", root.display()))
        })?;
        let (_, profiles) = self.plan_profiles(root, outcome)?;
        host_files::plan_install(&disk, &hosts, &setup, &profiles).map(Some)
    }

    /// Returns the program for the hooks to run.
    fn resolve_hook_program(&self) -> Result<String, Failure> {
        let program = match &self.program {
            Some(program) => program.clone(),
            None => {
                // The path on PATH survives an update (Homebrew, nix, cargo-binstall); the target
                // of its symbolic link has the version in its name and may not.
                let own = std::env::current_exe().ok();
                let known = find_on_path("tl")
                    .filter(|known| own.as_ref().is_some_and(|own| is_same_file(own, known)));
                let path = known
                    .or(own)
                    .and_then(|path| path.to_str().map(str::to_owned));
                if let Some(cache) = path
                    .as_deref()
                    .and_then(|path| find_program_cache(Path::new(path)))
                {
                    return Err(Failure::refused(format!(
                        "this `tl` is in the cache of {}, which removes it: the hooks would call a program that is gone",
                        cache.tool
                    ))
                    .with_step(cache.install)
                    .with_step(format!("tl init --host {}", self.host.join(","))));
                }
                path.ok_or_else(|| {
                    Failure::unavailable("cannot determine the path of this program")
                        .with_step("tl init --host … --program tl")
                })?
            }
        };
        // Entries are recognised as ours by the program's name, for updates and for `tl host uninstall`.
        if !is_program_name(&program) {
            return Err(Failure::invalid(format!("`{program}` is not named `tl`: entries with another name could not be recognised by `tl host uninstall`"))
            .with_step("tl init --host … --program tl"));
        }
        // A host may run hooks in any directory, and looking a program up relative to a cloned
        // repository would run what the repository contains.
        if program.contains('/') && !Path::new(&program).is_absolute() {
            return Err(Failure::invalid(format!(
                "`{program}` is a relative path: expected an absolute one, or a name on PATH"
            )));
        }
        Ok(program)
    }
}

/// Says how to make one project for the repository that a new project lies in.
fn describe_repository(root: &Path) -> String {
    let quoted = quote_word(&root.display().to_string());
    format!(
        "the repository begins at {}; for one project for all of it: tl --project {quoted} init",
        root.display()
    )
}

/// Creates the directory of a project and the folder of its state.
fn create_project_folder(root: &Path) -> Result<DiskFiles, Failure> {
    std::fs::create_dir_all(root)
        .and_then(|()| store::private_files::create_private_directory(&root.join(PROFILES_FOLDER)))
        .and_then(|()| DiskFiles::open(root))
        .map_err(|error| {
            Failure::unavailable(format!("cannot write in `{}`: {error}", root.display()))
        })
}

/// Removes what a failed `tl init` made, unless another process has made a project in the same
/// directory meanwhile: that one has settings, which are none of ours.
fn remove_first_files(root: &Path, made: &[String]) {
    for path in made {
        let _ = std::fs::remove_file(root.join(path));
    }
    if !root.join(CONFIG_FILE).exists() {
        let _ = std::fs::remove_dir_all(root.join(store::STATE_FOLDER));
    }
}

/// Creates a file, or keeps the one that is there. `create_file` fails on an existing one, so a file
/// that appears in between is kept as well.
fn create_or_keep(
    files: &DiskFiles,
    outcome: &mut InitOutcome,
    path: &str,
    text: &str,
) -> Result<(), Failure> {
    match files.create_file(path, text) {
        Ok(()) => outcome.made.push(path.to_owned()),
        Err(FileFault::Exists { .. }) => outcome.kept.push(path.to_owned()),
        Err(fault) => return Err(fault.into()),
    }
    Ok(())
}

/// Creates the state, unless there is one. Called after everything that can be refused, so that a
/// refused `tl init` leaves no store behind.
fn create_state(app: &App, project: &Project, outcome: &mut InitOutcome) -> Result<(), Failure> {
    let state = store::state_location(&project.layout, project.settings.storage);
    // A foreign or damaged state is the user's to decide about: `tl init` never replaces one. A
    // clone has settings already, and its state is built from its files.
    let opened = match outcome.made.iter().any(|path| path == CONFIG_FILE) {
        true => project.open_existing_store(app.ui, None),
        false => project.open_store(app.ui, None),
    };
    let is_new = match opened {
        // An interrupted `tl init` has created the store but recorded nothing.
        Ok(store) => store.begin_read()?.last_operation_id()? == OperationId(0),
        Err(StoreFault::Missing) => {
            store::create_store(&project.layout, project.settings.storage, &project.known)?.new
        }
        Err(other) => return Err(other.into()),
    };
    if !is_new {
        outcome.kept.push(state);
        return Ok(());
    }
    let summary = format!("init with profiles {}", outcome.profiles.join(", "));
    project.run(app.ui, &|ctx| {
        adopt_new_project(ctx)?;
        record_event(ctx, Verb::Init, &summary)
    })?;
    outcome.made.push(state);
    Ok(())
}

/// Whether one of the profiles has phases, which guides are about.
fn needs_guides(profiles: &[Profile]) -> bool {
    profiles
        .iter()
        .any(|profile| !profile.work_phases.is_empty())
}

fn schema_path() -> String {
    format!(".throughline/{SCHEMA_FILE}")
}

/// Refuses to use the shared database while there is a local state: the project would have two.
fn refuse_beside_local_state(project: &Project) -> Result<(), Failure> {
    let layout = &project.layout;
    let local = [&layout.database, &layout.journal]
        .into_iter()
        .find(|file| file.exists());
    match local {
        None => Ok(()),
        Some(file) => Err(Failure::refused(format!(
            "this project already has a state, in {}",
            layout.relative_display(file)
        ))
        .with_step("unset THROUGHLINE_STORAGE && tl state move --to postgres://…")),
    }
}

/// Initial settings of a new project that differ from the defaults.
struct StartSettings {
    project_id: String,
    /// SQLite is not safe on a network file system.
    on_network: bool,
    /// With an agent host, approvals require a person from the start.
    has_host: bool,
}

/// Renders a configuration file with the settings that differ from the defaults.
fn render_config_file(profiles: &[String], start: &StartSettings) -> String {
    let mut text = format!(
        "#:schema ./{SCHEMA_FILE}\n\
         # Settings of this project. `tl config list` shows every setting with its default.\n\
         project_id = {:?}\n\
         profiles = {profiles:?}\n",
        start.project_id
    );
    if start.on_network {
        text.push_str("storage = \"json\"\n");
    }
    if start.has_host {
        // A dotted key, so that there is no section yet and both `[policy.gates]` and further
        // dotted keys can be appended.
        text.push_str("policy.approval = \"human\"\n");
    }
    text
}
