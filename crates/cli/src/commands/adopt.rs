//! `tl adopt`

use application::project_status::project_status;
use application::record_event::record_event;
use application::{Failure, FailureKind};
use clap::Args;
use domain::operation::Verb;
use domain::ports::Clock;
use domain::settings::Storage;
use domain::text::count;
use store::SystemClock;

use crate::exit_code::ExitCode;
use crate::project_file;
use crate::settings::{self, at_terminal};
use crate::ui::{GOOD, WARN, styled};
use crate::wiring::{App, Project};

/// Take over the state that came with a cloned project
///
/// Approvals in it were given by others. They count here only after a person said so.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl adopt\n  tl adopt --yes   # without asking")]
pub(crate) struct AdoptArgs {
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl AdoptArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let root = app.root()?;
        // Whatever the clone's own file says: an agent that adopts takes over approvals it could have written itself.
        if let Ok(project) = Project::at(&root) {
            project.refuse_agents(
                "adopting a state",
                &["ask the person to run `tl adopt` in their own terminal"],
            )?;
        }
        if !self.yes {
            if !at_terminal() {
                return Err(Failure::new(FailureKind::Refused, "adopting state is a person's decision")
                    .step("run `tl adopt` in a terminal")
                    .step("tl adopt --yes   # if a person decided it already; not where only people approve"));
            }
            app.ui.say(format_args!(
                "{}: approvals made by others will count as yours in {}. Go on? [y/N]",
                styled(WARN, "adopt"),
                root.display()
            ));
            if !settings::answered_yes() {
                return Err(Failure::new(FailureKind::Refused, "not adopted"));
            }
        }
        settings::choose_named_database(&root)?;
        let project = joined(Project::at(&root)?)?;
        let engine = project.engine_settings();
        let (store, told) = store::adopt(
            &project.layout,
            project.settings.storage,
            &engine,
            &project.known,
            SystemClock.now(),
        )?;
        if let Some(shared) = project
            .layout
            .shared
            .as_ref()
            .filter(|_| project.settings.storage == Storage::Postgres)
        {
            settings::choose_database(&root, Some(&shared.url))?;
        }
        project.tell(app.ui, &told);
        project.with(app.ui, &*store, &|ctx| {
            record_event(ctx, Verb::Adopt, "adopt the state of this project")
        })?;
        let view = project.with(app.ui, &*store, &project_status)?;
        if app.ui.json {
            app.ui.value(&view);
        } else {
            let nodes = count(view.nodes, "node", "nodes");
            app.ui.line(format_args!(
                "{} adopted {nodes}, {} approved",
                styled(GOOD, "✓"),
                view.status_counts.approved
            ));
        }
        Ok(ExitCode::Done)
    }
}

/// Returns the project with the id of the one that has its name in the shared database, where it has none of its own: its
/// settings were made before projects had ids, or written by hand, and a person says that it is the same.
fn joined(project: Project) -> Result<Project, Failure> {
    project.refuse_on_replica()?;
    if project.settings.storage != Storage::Postgres || !project.settings.project_id.is_empty() {
        return Ok(project);
    }
    match store::shared_project_id(&project.layout)? {
        None => Ok(project),
        Some(id) => {
            project_file::write_keys(&project.root, &[("project_id", &id)])?;
            Project::at(&project.root)
        }
    }
}
