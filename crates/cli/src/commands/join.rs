//! `tl team join`: connects a clone to a team server and creates its replica.

use std::io::Read;
use std::path::PathBuf;

use application::Failure;
use clap::Args;
use domain::ports::StoreFault;
use domain::settings::ServerAddress;
use domain::text::count_with_noun;
use serde::Serialize;

use super::restore_backup::count_operations;
use crate::exit_code::ExitCode;
use crate::settings;
use crate::wiring::{App, Project};

/// Join the project of a team server from this clone
///
/// Address and token are stored in your own directory, readable only by you; nothing is written
/// into the repository. A replica of the server's state is kept in `.throughline/remote`; a local
/// state of this project is kept unused until `tl team leave`. `THROUGHLINE_URL` and `THROUGHLINE_TOKEN`
/// have the same effect while they are set.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl team join https://plans.example.org --token-file token
  pass throughline | tl team join https://plans.example.org --token-file -")]
pub(crate) struct JoinArgs {
    /// URL of the server: https://…, or http:// for one on this machine
    #[arg(value_name = "URL")]
    url: String,

    /// File with the token, `-` for standard input [default: `THROUGHLINE_TOKEN`, or the stored
    /// one]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Outcome of `tl team join`.
#[derive(Debug, Serialize)]
struct JoinOutcome {
    success: bool,
    server: String,
    /// Our principal on the server.
    acting_as: String,
    operations: u64,
    nodes: usize,
    put_aside: Vec<String>,
}

impl JoinArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let root = app.find_project_root()?;
        let address = settings::parse_server_address(&self.url, self.read_token(&root)?)?;
        // The variable overrides the stored choice, so joining another server would have no effect.
        if let Some(named) = settings::environment_variable("THROUGHLINE_URL")
            .filter(|named| !is_same_url(named, address.url()))
        {
            let what = format!("THROUGHLINE_URL is set to {named}, which overrides `tl team join`");
            return Err(Failure::refused(what).with_step("unset THROUGHLINE_URL"));
        }
        // Without the stored choice, which may be another server with another token.
        let without = settings::load_settings_without_server(&root)?;
        let project = Project::load_with_settings(
            &root,
            settings::with_server_address(without, address.clone()),
        )?;
        let put_aside = match connect_to_server(app, &project) {
            // The replica is of another project, or of a history that the server no longer has. It
            // is quarantined and created again; local operations in it may be needed, so it is not
            // deleted.
            Err(StoreFault::TurnedDown { .. }) if project.layout.database.exists() => {
                let put = store::quarantine_replica(&project.layout)?;
                connect_to_server(app, &project)?;
                put
            }
            other => other.map(|()| Vec::new())?,
        };
        // Stored only after the connection worked: a typo must not cut the clone off its local
        // state.
        settings::store_server_choice(&root, Some(&address))?;
        let outcome = project.run(app.ui, &|ctx| {
            ctx.sync_mirror();
            // Without observing the plan files: a fresh clone may lack some, and recording them as
            // deleted would be wrong for everyone else.
            let state = ctx.store.begin_read()?;
            Ok(JoinOutcome {
                success: true,
                server: address.to_string(),
                acting_as: ctx
                    .store
                    .remote_principal()
                    .map(|caller| caller.to_string())
                    .unwrap_or_default(),
                operations: state.last_operation_id()?.0,
                nodes: state.all_nodes()?.len(),
                put_aside: put_aside.clone(),
            })
        })?;
        print_outcome(app, &outcome);
        Ok(ExitCode::Done)
    }

    fn read_token(&self, root: &std::path::Path) -> Result<Option<String>, Failure> {
        let unreadable =
            |error: std::io::Error| Failure::invalid(format!("the token cannot be read: {error}"));
        match &self.token_file {
            Some(file) if file.as_os_str() == "-" => {
                let mut text = String::new();
                std::io::stdin()
                    .lock()
                    // A token is short; a wrong file on stdin must not be read to its end.
                    .take(4_096)
                    .read_to_string(&mut text)
                    .map_err(unreadable)?;
                Ok(Some(text))
            }
            Some(file) => Ok(Some(std::fs::read_to_string(file).map_err(unreadable)?)),
            None => Ok(
                settings::environment_variable("THROUGHLINE_TOKEN").or_else(|| {
                    // The stored token is reused for the same server only.
                    let known = settings::find_chosen_server(root)?;
                    is_same_url(&self.url, known.url()).then(|| known.reveal_token().to_owned())
                }),
            ),
        }
    }
}

fn is_same_url(url: &str, other: &str) -> bool {
    url.trim().trim_end_matches('/') == other
}

/// Connects to the server and fetches its whole history.
fn connect_to_server(app: &App, project: &Project) -> Result<(), StoreFault> {
    let store = project.open_store(app.ui, None)?;
    // Opening is lazy; the first read fetches the history.
    drop(store.begin_read()?);
    // Reading a replica only warns if the server is unreachable; joining requires a response.
    match store.take_warnings().into_iter().next() {
        Some(why) => {
            let at = render_address(project.settings.server.address.as_ref());
            Err(StoreFault::Silent {
                at,
                why,
                may_be_kept: false,
            })
        }
        None => Ok(()),
    }
}

fn render_address(address: Option<&ServerAddress>) -> String {
    address.map(ServerAddress::to_string).unwrap_or_default()
}

fn print_outcome(app: &App, outcome: &JoinOutcome) {
    if app.ui.try_print_json(outcome) {
        return;
    }
    let operations = count_operations(outcome.operations);
    app.ui.print_success(format_args!(
        "joined {} as {}: {operations}, {}",
        outcome.server,
        outcome.acting_as,
        count_with_noun(outcome.nodes, "node", "nodes")
    ));
    for aside in &outcome.put_aside {
        app.ui
            .print_note(format_args!("the previous replica is kept as {aside}"));
    }
}
