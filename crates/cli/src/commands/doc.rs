//! `tl doc`: creates, edits, validates and freezes plan documents.

mod changes;
mod output;

use std::fmt::Display;

use application::Failure;
use application::plan_documents::accept::{accept_change, restore_document};
use application::plan_documents::choose::choose_document;
use application::plan_documents::compare::compare_documents;
use application::plan_documents::create::create_document;
use application::plan_documents::edit::{DocumentEdit, edit_document};
use application::plan_documents::freeze_plan::freeze_plan;
use application::plan_documents::render::render_plan;
use application::plan_documents::revise::revise_document;
use application::plan_documents::validate::validate_plan;
use clap::{Args, Subcommand};
use domain::plan_document::ProblemGrade;

use self::changes::ChangeArgs;
use super::reconcile::ReconcileArgs;
use crate::exit_code::ExitCode;
use crate::ui::{BAD, DIM, GOOD, WARN, styled, styled_line};
use crate::wiring::App;

/// Plan documents: create, edit, validate and freeze `plan.json`
///
/// A document is in `.throughline/plans/ID`. Every change is one operation and can be undone; a
/// frozen document never changes again. A change of an entity names the version it is based on, so
/// that conflicting edits are detected.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl doc new \"Add search\"
  tl doc add-decision --decision \"Use BM25\" --reasoning \"no model needed\"
  tl doc add-milestone --name \"Index\" --criterion \"cargo test passes\"
  tl doc add-intent --milestone M-001 --file src/index.rs --behavior \"words to places\" --decision-ref DL-001
  tl doc set M-001 name=\"The index\" --version 1
  tl doc apply changes.jsonl     all of them or none
  tl doc validate
  tl doc freeze")]
pub(crate) struct DocArgs {
    #[command(subcommand)]
    what: DocCommand,
}

/// Option for the document to use.
#[derive(Clone, Debug, Args)]
pub(super) struct DocumentOption {
    /// The document [default: the current one]
    #[arg(long, value_name = "ID")]
    doc: Option<String>,
}

#[derive(Debug, Subcommand)]
enum DocCommand {
    /// Create a document and make it the current one
    New {
        /// Title of the plan
        title: String,
    },
    /// List all documents
    List,
    /// Make a document the current one
    Use {
        #[arg(value_name = "ID")]
        document: String,
    },
    /// Show the document or one entity of it; `--json` prints plan.json itself
    Show {
        /// `M-001`, `CI-004`, `overview`, `invisible_knowledge`, `milestone_dependencies`
        entity: Option<String>,
        #[command(flatten)]
        which: DocumentOption,
    },
    #[command(flatten)]
    Change(ChangeArgs),
    /// Apply a batch of changes atomically, one JSON object per line
    #[command(
        after_help = "A line is a change: {\"do\":\"add-milestone\",\"name\":\"Index\",\"as\":\"m\"}
A later line may say \"@m\" where it means the new id: {\"do\":\"add-intent\",\"milestone\":\"@m\",…}"
    )]
    Apply {
        /// A file, or `-` for standard input
        file: String,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Validate the document: list everything that is wrong, missing or suspicious, with its
    /// location
    Validate {
        /// Accept manual edits of the file
        #[arg(long)]
        accept: bool,
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Restore the last recorded text; the current text of the file is kept as a version
    Restore {
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Freeze the document: it cannot be changed any more, and its milestones can be worked on
    Freeze {
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Start a new revision of a frozen document
    Revise {
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Render plan.md from plan.json
    Render {
        #[command(flatten)]
        which: DocumentOption,
    },
    /// Show the changes since the previous revision, or between two documents
    Diff {
        /// The older document
        #[arg(value_name = "ID")]
        older: Option<String>,
        #[command(flatten)]
        which: DocumentOption,
    },
    Reconcile(ReconcileArgs),
    /// Print the JSON Schema of plan.json
    Schema,
}

impl DocArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            DocCommand::New { title } => {
                let made = app.run(|ctx| create_document(ctx, title))?;
                // A message, so that standard output is the id alone, for scripts.
                app.ui.print_message(styled(DIM, &made.file_path));
                print_outcome(app, &made, &made.document)
            }
            DocCommand::List => output::print_documents(app),
            DocCommand::Use { document } => {
                let chosen = app.run(|ctx| choose_document(ctx, document))?;
                print_outcome(
                    app,
                    &chosen,
                    format!("{} is the current document", chosen.document),
                )
            }
            DocCommand::Show { entity, which } => {
                output::print_document(app, which.doc.as_deref(), entity.as_deref())
            }
            DocCommand::Change(change) => {
                let (change, which) = change.clone().into_change()?;
                apply_changes(
                    app,
                    which.doc.as_deref(),
                    &DocumentEdit::One(Box::new(change)),
                )
            }
            // As text: the use case parses it, so that an error names the line of the batch.
            DocCommand::Apply { file, which } => apply_changes(
                app,
                which.doc.as_deref(),
                &DocumentEdit::Batch(changes::read_file_or_stdin(file)?),
            ),
            DocCommand::Validate {
                accept: true,
                which,
            } => {
                let settled = app.run(|ctx| accept_change(ctx, which.doc.as_deref()))?;
                print_settled(
                    app,
                    &settled,
                    "accepted as it is in the file",
                    "there are no manual edits to accept",
                )
            }
            DocCommand::Validate {
                accept: false,
                which,
            } => validate_document(app, which),
            DocCommand::Restore { which } => {
                let settled = app.run(|ctx| restore_document(ctx, which.doc.as_deref()))?;
                print_settled(
                    app,
                    &settled,
                    "restored to the last recorded text",
                    "there is nothing to restore",
                )
            }
            DocCommand::Freeze { which } => {
                let frozen = app.run(|ctx| freeze_plan(ctx, which.doc.as_deref()))?;
                let line = styled_line!("{} {} is frozen", styled(GOOD, "✓"), frozen.document);
                for wave in frozen.waves.iter().filter(|_| !app.ui.json) {
                    app.ui.print_message(format!(
                        "  wave {}: {}",
                        wave.wave,
                        wave.milestones.join(", ")
                    ));
                }
                print_outcome(app, &frozen, &line)
            }
            DocCommand::Revise { which } => {
                let made = app.run(|ctx| revise_document(ctx, which.doc.as_deref()))?;
                app.ui.print_message(styled(DIM, &made.file_path));
                print_outcome(app, &made, &made.document)
            }
            DocCommand::Render { which } => {
                let rendered = app.run(|ctx| render_plan(ctx, which.doc.as_deref()))?;
                print_outcome(app, &rendered, &rendered.file_path)
            }
            DocCommand::Diff { older, which } => {
                let found =
                    app.run(|ctx| compare_documents(ctx, older.as_deref(), which.doc.as_deref()))?;
                output::print_comparison(app, &found)
            }
            DocCommand::Reconcile(reconcile) => reconcile.run(app),
            // Works outside of a project too, for editors and code generators.
            DocCommand::Schema => {
                let text = serde_json::to_string_pretty(domain::plan_document::plan_json_schema());
                app.ui.print_lines(&text.unwrap_or_default());
                Ok(ExitCode::Done)
            }
        }
    }
}

/// Prints the outcome as JSON or as one line.
fn print_outcome<T: serde::Serialize>(
    app: &App,
    value: &T,
    line: impl Display,
) -> Result<ExitCode, Failure> {
    if !app.ui.try_print_json(value) {
        app.ui.print_line(line);
    }
    Ok(ExitCode::Done)
}

/// Applies changes and prints the ids of the changed entities.
fn apply_changes(
    app: &App,
    document: Option<&str>,
    change: &DocumentEdit,
) -> Result<ExitCode, Failure> {
    let outcome = app.run(|ctx| edit_document(ctx, document, change))?;
    if app.ui.try_print_json(&outcome) {
        return Ok(ExitCode::Done);
    }
    for changed in &outcome.changed {
        // The id alone on stdout, so that a script can use it; the version is a message.
        app.ui.print_line(&changed.id);
        if let Some(version) = changed
            .entity
            .as_ref()
            .and_then(|entity| entity["version"].as_u64())
        {
            app.ui
                .print_message(styled(DIM, format!("  version {version}")));
        }
    }
    if outcome.operation.is_none() {
        app.ui.print_message("no changes");
    }
    Ok(ExitCode::Done)
}

/// Prints the outcome of accepting or restoring.
fn print_settled(
    app: &App,
    settled: &application::plan_documents::accept::ResolvedChange,
    done: &str,
    nothing: &str,
) -> Result<ExitCode, Failure> {
    let name = &settled.document;
    let line = match settled.operation {
        Some(_) => styled_line!("{} {name} {done}", styled(GOOD, "✓")),
        None => styled_line!("{name}: {nothing}"),
    };
    print_outcome(app, settled, &line)
}

/// Validates a document and prints its problems.
fn validate_document(app: &App, which: &DocumentOption) -> Result<ExitCode, Failure> {
    let found = app.run(|ctx| validate_plan(ctx, which.doc.as_deref()))?;
    // Unfinished parts are not an error: a plan is validated many times while it is written.
    let code = ExitCode::from_check(found.ok);
    if app.ui.try_print_json(&found) {
        return Ok(code);
    }
    for problem in &found.problems {
        let (style, word) = match problem.grade {
            ProblemGrade::Broken => (BAD, "broken"),
            ProblemGrade::Unfinished => (WARN, "to do"),
            ProblemGrade::Hint => (DIM, "hint"),
        };
        app.ui.print_line(format_args!(
            "{} {}",
            styled(style, word),
            problem.render_line()
        ));
    }
    for place in &found.changed_outside {
        app.ui.print_line(format_args!(
            "{} {}",
            styled(WARN, "changed outside"),
            place
        ));
    }
    for problem in &found.context_problems {
        app.ui.print_line(format_args!(
            "{} context.json {}",
            styled(BAD, "broken"),
            problem.render_line()
        ));
    }
    app.ui.print_line(match (found.ok, found.complete) {
        (true, true) => styled_line!(
            "{} {} is valid and complete",
            styled(GOOD, "✓"),
            found.document
        ),
        (true, false) => styled_line!("{} is valid, but not complete yet", found.document),
        (false, _) => styled_line!("{} is not valid", found.document),
    });
    if !found.changed_outside.is_empty() {
        let doc = &found.document;
        // A frozen document can only be restored: accepting an edit would change it.
        if !found.frozen {
            app.ui.print_message(format!(
                "next: tl doc validate --accept --doc {doc}   # accept the manual edits"
            ));
        }
        if found.known {
            app.ui.print_message(format!(
                "next: tl doc restore --doc {doc}   # restore the last recorded text; the current one is kept as a version"
            ));
        }
    }
    Ok(code)
}
