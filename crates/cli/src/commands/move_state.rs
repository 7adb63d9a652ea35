//! `tl move`

use application::{Failure, FailureKind};
use clap::Args;
use domain::ports::Clock;
use domain::settings::{DatabaseUrl, Storage};
use domain::text::count;
use serde::Serialize;
use store::{Layout, Place, Relocation, RelocationFault, SystemClock};
use toml_edit::{DocumentMut, value};

use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{GOOD, INFO, styled};
use crate::wiring::{App, Project};

/// Move the state to a shared database, or back
///
/// Everything goes with it: history, approvals, texts. The copy is compared with the original before it counts; the original
/// is then quarantined, and processes that still have it open are told. When it is interrupted, the next command finishes or
/// reverts it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl move --to postgres://ada:…@db.example.org/plans
  tl move --to postgres --name novel   # the database is in THROUGHLINE_DATABASE_URL
  tl move --to sqlite                  # and back")]
pub(crate) struct MoveArgs {
    /// Where to: `sqlite`, `json`, `postgres`, or the address of a database
    #[arg(long, value_name = "WHERE")]
    to: String,

    /// What the project is called in the shared database; without it as its directory
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// What `tl move` did.
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
        let project = app.project()?;
        project.refuse_on_replica()?;
        let (from, to) = (project.settings.storage, self.target()?);
        let layout = self.layout(&project, to)?;
        let (source, target) = (store::main_place(&project.layout, from), store::main_place(&layout, to));
        if source == target && from == to {
            return Err(Failure::new(FailureKind::Refused, format!("the state is in {target} already")));
        }
        let named = ["THROUGHLINE_STORAGE", "PLANNING_STATE_STORAGE"]
            .into_iter()
            .find(|name| settings::environment(name).is_some());
        if let Some(name) = named {
            return Err(Failure::new(
                FailureKind::Refused,
                format!("{name} says which engine is used, whatever is moved"),
            )
            .step(format!("unset {name}")));
        }
        // Only state that counts here is moved; a move that was interrupted is reverted first.
        drop(project.open(app.ui, None)?.read()?);
        let place = |layout, storage| Place { layout, storage };
        let moving =
            Relocation::prepare(place(&project.layout, from), place(&layout, to), &project.known).map_err(|fault| {
                match fault {
                    RelocationFault::Store(fault) => fault.into(),
                    RelocationFault::Occupied => {
                        Failure::new(FailureKind::Conflict, format!("there is another state in {target}"))
                            .step("tl move --to … --name ANOTHER")
                    }
                }
            })?;
        let operations = moving.cargo().head().0;
        let what = format!("moved to {target} by `tl move`");
        let put_aside = moving.commit(&what, SystemClock.now(), || -> Result<(), Failure> {
            if let Some(shared) = layout.shared.as_ref().filter(|_| to == Storage::Postgres) {
                settings::choose_database(&project.root, Some(&shared.url))?;
            }
            self.write_settings(&project, &layout, to)
        })?;
        if from == Storage::Postgres && to != Storage::Postgres {
            settings::choose_database(&project.root, None)?;
        }
        let outcome = MoveOutcome { success: true, from: source, to: target, operations, put_aside };
        report(app, &outcome);
        Ok(ExitCode::Done)
    }

    fn target(&self) -> Result<Storage, Failure> {
        match self.to.as_str() {
            "sqlite" => Ok(Storage::Sqlite),
            "json" => Ok(Storage::Json),
            "postgres" => Ok(Storage::Postgres),
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => Ok(Storage::Postgres),
            // It may be an address with a password: it is not repeated.
            _ => Err(Failure::new(
                FailureKind::Invalid,
                "`--to` is not understood: expected `sqlite`, `json`, `postgres` or postgres://…",
            )),
        }
    }

    fn layout(&self, project: &Project, to: Storage) -> Result<Layout, Failure> {
        if to != Storage::Postgres {
            return Ok(project.layout.clone());
        }
        let given = (self.to != "postgres").then(|| DatabaseUrl::new(&self.to));
        let known = || settings::environment("THROUGHLINE_DATABASE_URL").map(|url| DatabaseUrl::new(&url));
        let url = given.or_else(known).ok_or_else(|| {
            Failure::new(FailureKind::Invalid, "it is not said where the database is")
                .step("tl move --to postgres://USER:PASSWORD@HOST/DATABASE")
        })?;
        let name = self.name.as_ref().unwrap_or(&project.settings.database_project);
        Ok(project.layout.in_database(url, name))
    }

    /// Says in the project's settings where the state is now.
    fn write_settings(&self, project: &Project, layout: &Layout, to: Storage) -> Result<(), Failure> {
        let path = project.root.join(".throughline/config.toml");
        let cannot =
            |what: String| Failure::new(FailureKind::Unavailable, format!("cannot write {}: {what}", path.display()));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(cannot(error.to_string())),
        };
        let mut document: DocumentMut =
            text.parse().map_err(|error: toml_edit::TomlError| cannot(error.to_string()))?;
        document["storage"] = value(match to {
            Storage::Sqlite => "sqlite",
            Storage::Json => "json",
            Storage::Postgres | Storage::Remote => "postgres",
        });
        if let Some(shared) = layout.shared.as_ref().filter(|_| to == Storage::Postgres) {
            document["database_project"] = value(&shared.project);
        }
        let text = document.to_string();
        match store::write_whole(&path, text.as_bytes()) {
            // It is there, although its folder could not be synced: the other engine is in use already.
            Err(_) if std::fs::read_to_string(&path).is_ok_and(|found| found == text) => Ok(()),
            written => written.map_err(|error| cannot(error.to_string())),
        }
    }
}

fn report(app: &App, outcome: &MoveOutcome) {
    if app.ui.json {
        app.ui.value(outcome);
        return;
    }
    let operations = count(usize::try_from(outcome.operations).unwrap_or(usize::MAX), "operation", "operations");
    app.ui.line(format_args!(
        "{} moved {operations} to {}, compared and found the same",
        styled(GOOD, "✓"),
        outcome.to
    ));
    for aside in &outcome.put_aside {
        app.ui.say(format_args!("{}: the state before it is kept as {}", styled(INFO, "note"), aside));
    }
}
