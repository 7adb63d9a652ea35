//! `tl import`: imports a manuscript of another tool as plans and prose.

use std::path::PathBuf;

use application::Failure;
use application::novel::import_manuscript::{
    ImportOutcome, ImportRequest, ImportedPlanView, import_manuscript,
};
use clap::Args;
use clap::builder::PossibleValuesParser;
use domain::manuscript::{ManuscriptFormat, ManuscriptRefused, detect_format, read_manuscript};
use domain::text::count_with_noun;
use store::{ManuscriptFault, read_manuscript_files};

use crate::completion::node_option_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, styled, title_suffix};
use crate::wiring::App;

/// Import a manuscript as plans and prose
///
/// Reads Markdown, plain text, RTF, DOCX, and projects of novelWriter, Scrivener and Longform; a project
/// is its folder, or a ZIP archive of it. Of a folder of texts, or of several, each file is a chapter,
/// in the order of their numbers. Headings become chapters, breaks such as `***` scenes, synopses
/// go into the plans. Written scenes count as complete, nothing as approved. Nothing that exists is
/// changed, and it is one operation that `tl undo` reverts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl import novel.docx --dry-run        # how it would be split
  tl import novel.docx
  tl import Salt.scriv
  tl import manuscript                  # a folder of chapters
  tl import part-*/*.md                 # these files, by their numbers
  tl import part-two.md --under act-2   # more chapters of an act")]
pub(crate) struct ImportArgs {
    /// The manuscript: a file, a folder, or the files of its chapters
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Its format [default: by the file]
    #[arg(long, value_parser = format_parser())]
    format: Option<String>,

    /// Add it after the plans that exist
    #[arg(long)]
    append: bool,

    /// Put its chapters below this plan
    #[arg(long, value_name = "NODE", add = node_option_completer())]
    under: Option<String>,

    /// List what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

fn format_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(ManuscriptFormat::ALL.map(ManuscriptFormat::as_str))
}

impl ImportArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // Outside of the use case: reading a large manuscript must not hold the state.
        let files = read_manuscript_files(&self.files).map_err(|fault| files_failure(&fault))?;
        let named = self.format.as_deref();
        // clap accepts only known names, so that no match means that none was given.
        let named = ManuscriptFormat::ALL
            .into_iter()
            .find(|format| named == Some(format.as_str()));
        let unknown = || ManuscriptRefused::UnknownFormat {
            name: files.name.clone(),
        };
        let read = named
            .or_else(|| detect_format(&files))
            .ok_or_else(unknown)
            .and_then(|format| Ok((format, read_manuscript(&files, format)?)));
        let (format, manuscript) = read.map_err(|refused| manuscript_failure(&refused))?;
        let request = ImportRequest {
            manuscript,
            format,
            source: files.name,
            append: self.append,
            under: self.under.clone(),
            dry_run: self.dry_run,
        };
        let outcome = app.run(|ctx| import_manuscript(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            print_outcome(app, &outcome);
        }
        Ok(ExitCode::Done)
    }
}

fn files_failure(fault: &ManuscriptFault) -> Failure {
    let message = fault.to_string();
    match fault {
        ManuscriptFault::Missing { .. } => Failure::not_found(message),
        ManuscriptFault::Io { .. } => Failure::unavailable(message),
        ManuscriptFault::TooLarge { .. } => {
            Failure::refused(message).with_step("import it in parts: tl import PART --append")
        }
        ManuscriptFault::NotText { .. } => Failure::invalid(message)
            .with_step("import it alone, then the next one: tl import FILE --append"),
        ManuscriptFault::Archive { .. } | ManuscriptFault::Traversal { .. } => {
            Failure::refused(message).with_step("unpack it yourself, and import the folder")
        }
    }
}

fn manuscript_failure(refused: &ManuscriptRefused) -> Failure {
    let message = refused.to_string();
    match refused {
        ManuscriptRefused::UnknownFormat { .. } => Failure::invalid(message)
            .with_step("save it as DOCX or Markdown, then import that")
            .with_step("tl import FILE --format text   # if it is plain text"),
        ManuscriptRefused::NotText { .. } => Failure::invalid(message)
            .with_step("save it as UTF-8 in your editor, and import it again")
            .with_step("iconv -f WINDOWS-1251 -t UTF-8 FILE > NEW   # if that is its encoding"),
        ManuscriptRefused::Damaged { .. } | ManuscriptRefused::MissingFile { .. } => {
            Failure::invalid(message)
                .with_step("open it in the program that wrote it, and save it again")
        }
        ManuscriptRefused::Empty { .. } => Failure::refused(message),
    }
}

fn print_outcome(app: &App, outcome: &ImportOutcome) {
    let ui = app.ui;
    let title = outcome.title.as_deref().unwrap_or("the manuscript");
    let author = outcome
        .author
        .as_deref()
        .map_or_else(String::new, |author| format!(" by {author}"));
    let counts: Vec<String> = outcome
        .levels
        .iter()
        .map(|one| count_with_noun(one.plans, &one.level, &format!("{}s", one.level)))
        .chain([count_with_noun(outcome.words, "word", "words")])
        .collect();
    let verb = if outcome.dry_run {
        "would import"
    } else {
        "imported"
    };
    ui.print_success(format_args!(
        "{verb} {title}{author} ({}): {}",
        outcome.format,
        counts.join(", ")
    ));
    for plan in &outcome.plans {
        print_plan(app, plan, outcome.dry_run);
    }
    if let Some(file) = &outcome.details_file {
        ui.print_line(styled(DIM, format!("  {file}: title and author")));
    }
    for what in &outcome.left_out {
        ui.print_warning(format_args!("not imported: {what}"));
    }
    if let Some(operation) = outcome.operation {
        ui.print_line(styled(
            DIM,
            format!("  to take it back: tl undo {operation}"),
        ));
        ui.print_next_step("tl tree");
        ui.print_next_step("tl story stats");
    }
}

/// Prints a plan; its files too, where only they are asked for.
fn print_plan(app: &App, plan: &ImportedPlanView, with_files: bool) {
    let indent = "  ".repeat(plan.path.matches('/').count() + 1);
    let alias = plan.path.rsplit('/').next().unwrap_or(&plan.path);
    let words = match plan.words {
        0 => String::new(),
        words => format!(" ({})", count_with_noun(words, "word", "words")),
    };
    app.ui.print_line(format_args!(
        "{indent}{}{}{words}",
        styled(BOLD, alias),
        title_suffix(plan.title.as_deref())
    ));
    if with_files {
        for file in std::iter::once(&plan.file).chain(&plan.prose_file) {
            app.ui
                .print_line(styled(DIM, format!("{indent}  new  {file}")));
        }
    }
}
