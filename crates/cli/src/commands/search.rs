//! `tl search`: finds words in plans, prose, comments, notes, memory and the log.

use std::num::NonZeroUsize;

use application::Failure;
use application::search::{SearchHitView, SearchRequest, search_project};
use clap::Args;
use domain::search::documents::DocumentKind;
use domain::search::snippet::Snippet;

use crate::exit_code::ExitCode;
use crate::styled::StyledLine;
use crate::ui::{BOLD, DIM, INFO, PLAIN, render_node_status, styled, title_suffix};
use crate::wiring::App;

/// Find words in plans, prose, comments, notes, memory and the log
///
/// Works in any language: beginnings of words match, and grammatical forms; a word that occurs
/// nowhere is corrected. Words in quotation marks have to follow each other.
#[derive(Debug, Args)]
#[command(after_help = "Filters:
  kind:plan         plan, prose, comment, note, memory or log; several with commas
  status:draft      draft, approved, stale or invalid
  under:act-2       only this node and what is below it

Examples:
  tl search lighthouse
  tl search 'old mill' kind:plan,prose status:stale
  tl search '\"salt gardens\"' under:act-2/chapter-03")]
pub(crate) struct SearchArgs {
    /// Words to search for, and filters
    #[arg(required = true, value_name = "WORDS")]
    query: Vec<String>,

    /// Maximum number of results
    #[arg(long, default_value_t = NonZeroUsize::new(20).unwrap_or(NonZeroUsize::MIN))]
    limit: NonZeroUsize,
}

impl SearchArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let request = SearchRequest {
            // The shell has removed the quotes; filters and phrases are parsed from the joined
            // line, as on the page of the dashboard.
            query: self.query.join(" "),
            limit: self.limit.get(),
        };
        let outcome = app.run(|ctx| search_project(ctx, &request))?;
        if app.ui.try_print_json(&outcome) {
            return Ok(ExitCode::Done);
        }
        for correction in &outcome.corrections {
            app.ui.print_note(format_args!(
                "`{}` occurs nowhere; searched for {}",
                correction.word,
                correction.searched.join(", ")
            ));
        }
        if outcome.hits.is_empty() {
            app.ui.print_message("nothing found");
        }
        for hit in &outcome.hits {
            print_hit(app, hit);
        }
        if outcome.has_more {
            app.ui.print_message(format_args!(
                "there are more: tl search --limit {} {}",
                self.limit.get().saturating_mul(5),
                self.query.join(" ")
            ));
        }
        Ok(ExitCode::Done)
    }
}

fn print_hit(app: &App, hit: &SearchHitView) {
    let status = match hit.status {
        Some(status) => render_node_status(status),
        None => styled(PLAIN, String::new()),
    };
    let who = match (&hit.by, hit.at) {
        (Some(by), Some(at)) => format!("  {by}, {}", at.format_local_minute()),
        _ => String::new(),
    };
    app.ui.print_line(format_args!(
        "{}{}  {status}{}  {}",
        styled(BOLD, &hit.id),
        title_suffix(hit.title.as_deref()),
        styled(DIM, who),
        styled(INFO, hit.kind.as_str()),
    ));
    let place = match (&hit.file, hit.kind) {
        (Some(file), _) => format!("{file}:{}  ", hit.snippet.line),
        (None, DocumentKind::Log) => format!("tl log {}  ", hit.id),
        (None, _) => String::new(),
    };
    app.ui.print_line(format_args!(
        "  {}{}",
        styled(DIM, place),
        render_snippet(&hit.snippet)
    ));
}

/// Renders an excerpt with its matches in bold.
fn render_snippet(snippet: &Snippet) -> StyledLine {
    let chars: Vec<char> = snippet.text.chars().collect();
    // Positions of a snippet count characters, not bytes: its text is in any language.
    let part = |from: usize, to: usize| -> String { chars.iter().take(to).skip(from).collect() };
    let mut line = StyledLine::default();
    let mut at = 0;
    for [start, end] in &snippet.matches {
        line.push_display(part(at, *start));
        line.push_display(styled(BOLD, part(*start, *end)));
        at = *end;
    }
    line.push_display(part(at, chars.len()));
    line
}
