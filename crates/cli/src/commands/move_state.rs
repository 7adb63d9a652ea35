//! `tl state move`: migrates the state to another storage engine or database.

use application::Failure;
use clap::Args;
use domain::ids::Digest32;
use domain::ports::Clock;
use domain::settings::{DatabaseUrl, Storage};
use serde::Serialize;
use store::{Layout, Relocation, RelocationFault, StateLocation, SystemClock};

use super::restore_backup::count_operations;
use crate::exit_code::ExitCode;
use crate::project_file;
use crate::settings;
use crate::wiring::{App, Project};

/// Move the state to a shared database or another storage engine
///
/// Includes history, approvals and texts. The copy is verified against the original before the
/// switch; the original is then quarantined, and processes that still have it open notice. If it is
/// interrupted, the next command completes or reverts it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl state move --to postgres://ada:…@db.example.org/plans
  tl state move --to postgres --name novel   # the database is in THROUGHLINE_DATABASE_URL
  tl state move --to sqlite                  # and back")]
pub(crate) struct MoveArgs {
    /// Target: `sqlite`, `json`, `postgres`, or a database URL
    #[arg(long, value_name = "WHERE")]
    to: String,

    /// Name of the project in the shared database [default: the directory's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Outcome of `tl state move`.
#[derive(Debug, Serialize)]
struct MoveOutcome {
    success: bool,
    from: String,
    to: String,
    operations: u64,
    put_aside: Vec<String>,
}

impl MoveArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        project.refuse_on_replica()?;
        let (from, to) = (project.settings.storage, self.parse_target()?);
        let layout = self.target_layout(&project, to)?;
        let (source, target) = (
            store::state_location(&project.layout, from),
            store::state_location(&layout, to),
        );
        // Both are compared: SQLite and JSON share a directory, and two databases share an engine.
        if source == target && from == to {
            return Err(Failure::refused(format!(
                "the state is in {target} already"
            )));
        }
        // A variable overrides config.toml: after the move every command would still use the old,
        // quarantined place.
        let named = ["THROUGHLINE_STORAGE", "PLANNING_STATE_STORAGE"]
            .into_iter()
            .find(|name| settings::environment_variable(name).is_some());
        if let Some(name) = named {
            return Err(Failure::refused(format!(
                "{name} is set, which overrides the storage engine of the project"
            ))
            .with_step(format!("unset {name}")));
        }
        // Opening checks that the state is trusted here, and reverts an interrupted move first.
        let store = project.open_store(app.ui, None)?.begin_read()?.store_id()?;
        let layout = layout.with_project_id(&target_project_id(&project, from, &target, &store.0));
        let place = |layout, storage| StateLocation { layout, storage };
        let moving = Relocation::prepare_move(
            place(&project.layout, from),
            place(&layout, to),
            &project.known,
        )
        .map_err(|fault| match fault {
            RelocationFault::Store(fault) => fault.into(),
            RelocationFault::Occupied => {
                Failure::conflict(format!("there is another state in {target}"))
                    .with_step("tl state move --to … --name ANOTHER")
            }
        })?;
        let operations = moving.dump().head_operation().0;
        let what = format!("moved to {target} by `tl state move`");
        // The settings are written inside of the commit: between the verified copy and the
        // quarantine of the original, so that one of the two is always in use.
        let put_aside =
            moving.commit_move(&what, SystemClock.now(), || -> Result<(), Failure> {
                // The choice before the settings: a database that this user has not
                // chosen is refused.
                if let Some(shared) = layout.shared.as_ref().filter(|_| to == Storage::Postgres) {
                    settings::store_database_choice(&project.root, Some(&shared.url))?;
                }
                project_file::write_storage(&project.root, to, layout.shared.as_ref())
            })?;
        if from == Storage::Postgres && to != Storage::Postgres {
            settings::store_database_choice(&project.root, None)?;
        }
        let outcome = MoveOutcome {
            success: true,
            from: source,
            to: target,
            operations,
            put_aside,
        };
        print_outcome(app, &outcome);
        Ok(ExitCode::Done)
    }

    fn parse_target(&self) -> Result<Storage, Failure> {
        match self.to.as_str() {
            "sqlite" => Ok(Storage::Sqlite),
            "json" => Ok(Storage::Json),
            "postgres" => Ok(Storage::Postgres),
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Ok(Storage::Postgres)
            }
            // Not quoted in the message: it may be a URL with a password.
            _ => Err(Failure::invalid(
                "invalid `--to`: expected `sqlite`, `json`, `postgres` or postgres://…",
            )),
        }
    }

    fn target_layout(&self, project: &Project, to: Storage) -> Result<Layout, Failure> {
        if to != Storage::Postgres {
            return Ok(project.layout.clone());
        }
        let given = (self.to != "postgres").then(|| DatabaseUrl::new(&self.to));
        let known = || {
            settings::environment_variable("THROUGHLINE_DATABASE_URL")
                .map(|url| DatabaseUrl::new(&url))
        };
        let url = given.or_else(known).ok_or_else(|| {
            Failure::invalid("no database URL is given")
                .with_step("tl state move --to postgres://USER:PASSWORD@HOST/DATABASE")
        })?;
        let name = self
            .name
            .as_ref()
            .unwrap_or(&project.settings.database_project);
        Ok(project.layout.in_shared_database(url, name))
    }
}

/// Returns the project's id at the target. Deterministic, so that an interrupted move finds its own
/// half-finished copy.
///
/// Source and target may be in the same PostgreSQL database, where ids are unique: then the copy
/// needs another id than the original, which is still there.
fn target_project_id(project: &Project, from: Storage, target: &str, store: &str) -> String {
    match project.settings.project_id.trim() {
        _ if from == Storage::Postgres => derive_project_id(store, target),
        "" => store.to_owned(),
        id => id.to_owned(),
    }
}

/// Derives an id in UUID format from a store and a place.
fn derive_project_id(store: &str, target: &str) -> String {
    let digest = Digest32::of_bytes(format!("{store} {target}").as_bytes()).to_string();
    let digits: Vec<char> = digest
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(32)
        .collect();
    let part =
        |from: usize, to: usize| digits.iter().skip(from).take(to - from).collect::<String>();
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
}

fn print_outcome(app: &App, outcome: &MoveOutcome) {
    if app.ui.try_print_json(outcome) {
        return;
    }
    let operations = count_operations(outcome.operations);
    app.ui.print_success(format_args!(
        "moved {operations} to {}, verified",
        outcome.to
    ));
    for aside in &outcome.put_aside {
        app.ui
            .print_note(format_args!("the previous state is kept as {aside}"));
    }
}
