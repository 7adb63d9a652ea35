//! Output of plan documents: one document, the list, a comparison.

use application::Failure;
use application::plan_documents::compare::Comparison;
use application::plan_documents::show;
use domain::plan_document::render_markdown;

use crate::commands::diff;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, GOOD, INFO, styled};
use crate::wiring::App;

/// Prints the document or one entity of it.
pub(super) fn print_document(
    app: &App,
    document: Option<&str>,
    entity: Option<&str>,
) -> Result<ExitCode, Failure> {
    if let Some(id) = entity {
        let value = app.run(|ctx| show::show_entity(ctx, document, id))?;
        if !app.ui.try_print_json(&value) {
            let text = serde_json::to_string_pretty(&value).unwrap_or_default();
            app.ui.print_lines(&text);
        }
        return Ok(ExitCode::Done);
    }
    let shown = app.run(|ctx| show::show_document(ctx, document))?;
    if app.ui.json {
        // The file's own text: parsing and writing it again would change number formats and key
        // order.
        app.ui.print_json_text(&shown.text);
    } else {
        app.ui
            .print_lines(&render_markdown(&shown.plan, &shown.version));
    }
    Ok(ExitCode::Done)
}

/// Prints the list of documents.
pub(super) fn print_documents(app: &App) -> Result<ExitCode, Failure> {
    let documents = app.run(show::list_documents)?;
    if app.ui.try_print_json(&documents) {
        return Ok(ExitCode::Done);
    }
    if documents.is_empty() {
        app.ui
            .print_message("there is no plan document yet: tl doc new \"TITLE\"");
    }
    for one in &documents {
        // As `git branch` marks the current one.
        let mark = if one.current { "*" } else { " " };
        let title = one.title.as_deref().unwrap_or("?");
        let mut notes: Vec<String> = Vec::new();
        notes.extend(
            one.frozen_at
                .map(|at| format!("frozen {}", at.format_local_minute())),
        );
        notes.extend(one.revises.as_ref().map(|older| format!("revises {older}")));
        notes.extend((!one.known).then(|| "not recorded in this state".to_owned()));
        let name = styled(BOLD, &one.document);
        let notes = if notes.is_empty() {
            String::new()
        } else {
            format!("  {}", notes.join(", "))
        };
        app.ui
            .print_line(format_args!("{mark} {name}  {title}{}", styled(DIM, notes)));
    }
    Ok(ExitCode::Done)
}

/// Prints the comparison of two documents.
pub(super) fn print_comparison(app: &App, found: &Comparison) -> Result<ExitCode, Failure> {
    if app.ui.try_print_json(found) {
        return Ok(ExitCode::Done);
    }
    if found.changes.is_empty() && found.diff.hunks.is_empty() {
        app.ui.print_message("no difference");
    }
    for change in &found.changes {
        let fields = if change.fields.is_empty() {
            String::new()
        } else {
            format!(": {}", change.fields.join(", "))
        };
        let style = if change.change == "added" { GOOD } else { INFO };
        app.ui.print_line(format_args!(
            "{} {}{}",
            styled(style, change.change),
            change.id,
            fields
        ));
    }
    diff::print_diff(app.ui, &found.diff);
    Ok(ExitCode::Done)
}
