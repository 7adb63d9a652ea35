//! `tl state adopt`: trusts a state that came with a clone or copy, and connects to its shared database.

use application::Failure;
use application::decisions::adopt_decisions;
use application::project_status::load_project_status;
use application::record_event::record_event;
use clap::Args;
use domain::operation::Verb;
use domain::settings::Storage;
use domain::text::count_with_noun;

use crate::exit_code::ExitCode;
use crate::project_file;
use crate::settings::{self, is_at_terminal};
use crate::trust::refuse_non_persons_at;
use crate::ui::{WARN, styled};
use crate::wiring::{App, Project};

/// Adopt the state that came with a cloned project
///
/// Its approvals were given by other people. They count here only after you have adopted the state.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl state adopt\n  tl state adopt --yes   # without asking")]
pub(crate) struct AdoptArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl AdoptArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let root = app.find_project_root()?;
        // An agent must not adopt: the approvals in the state may be ones it has written itself.
        // Settings that cannot be loaded do not stop a person here, because adopting may be what
        // repairs them.
        let what = "adopting a state";
        let steps = ["ask the person to run `tl state adopt` in their own terminal"];
        match Project::load(&root) {
            Ok(project) => project.refuse_non_persons(what, &steps)?,
            Err(_) => refuse_non_persons_at(&root, what, &steps)?,
        }
        if !self.yes {
            if !is_at_terminal() {
                return Err(Failure::refused("adopting a state needs a person's decision")
                    .with_step("run `tl state adopt` in a terminal")
                    .with_step("tl state adopt --yes   # if a person has decided it; not where only people may approve"));
            }
            app.ui.print_message(format_args!(
                "{}: approvals made by others will count as yours in {}. Go on? [y/N]",
                styled(WARN, "adopt"),
                root.display()
            ));
            if !settings::read_yes_or_no() {
                return Err(Failure::refused("not adopted"));
            }
        }
        // Before the project is loaded: loading refuses a database in `config.toml` that was not
        // chosen.
        settings::store_named_database_choice(&root)?;
        let project = fill_in_project_id(Project::load(&root)?)?;
        let store = project.adopt_store(app.ui)?;
        if let Some(shared) = project
            .layout
            .shared
            .as_ref()
            .filter(|_| project.settings.storage == Storage::Postgres)
        {
            settings::store_database_choice(&root, Some(&shared.url))?;
        }
        // The store is passed on: opening it again would check the trust that was established just
        // now.
        project.run_on_store(app.ui, &*store, &|ctx| {
            adopt_decisions(ctx)?;
            record_event(ctx, Verb::Adopt, "adopt the state of this project")
        })?;
        let view = project.run_on_store(app.ui, &*store, &load_project_status)?;
        if !app.ui.try_print_json(&view) {
            let nodes = count_with_noun(view.nodes, "node", "nodes");
            app.ui.print_success(format_args!(
                "adopted {nodes}, {} approved",
                view.status_counts.approved
            ));
        }
        Ok(ExitCode::Done)
    }
}

/// Returns the project with its id filled in from the project of the same name in the shared
/// database. Settings without an id are from before there were ids, or written by hand; adopting is
/// the user's confirmation that it is the same project.
fn fill_in_project_id(project: Project) -> Result<Project, Failure> {
    project.refuse_on_replica()?;
    if project.settings.storage != Storage::Postgres || !project.settings.project_id.is_empty() {
        return Ok(project);
    }
    match store::shared_project_id(&project.layout)? {
        None => Ok(project),
        Some(id) => {
            // Written down, so that renaming the directory does not lead to another project.
            project_file::write_keys(&project.root, &[("project_id", &id)])?;
            Project::load(&project.root)
        }
    }
}
