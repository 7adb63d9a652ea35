//! `tl diff`: compares a plan with one of its versions.

use application::Failure;
use application::diff_version::diff_version;
use application::views::DiffView;
use clap::Args;
use domain::approval_question::order_additions_first;
use domain::diff::{DiffLine, DiffLineKind, Emphasis};
use domain::text::reveal_invisible;

use crate::completion::node_and_version_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BAD, DIM, GOOD, INFO, PLAIN, Ui, styled, styled_line};
use crate::wiring::App;

/// Show what changed since a version, with changed words highlighted
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl diff chapter 2             since the version before\n  tl diff chapter-02 3f2a       since the version with that hash\n  tl diff act 1 2026-02-11-14-30-05"
)]
pub(crate) struct DiffArgs {
    /// The node, then the version: `-1`, the first digits of a hash, a time, or a backup's name
    #[arg(required = true, num_args = 1..=3, allow_negative_numbers = true, value_names = ["NODE", "VERSION"], add = node_and_version_completer())]
    words: Vec<String>,
}

impl DiffArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let view = app.run(|ctx| diff_version(ctx, &self.words))?;
        if app.ui.try_print_json(&view) {
            return Ok(ExitCode::Done);
        }
        if view.hunks.is_empty() {
            app.ui.print_message("no difference");
        }
        print_diff(app.ui, &view);
        Ok(ExitCode::Done)
    }
}

/// Prints the headings of the changed sections.
pub(super) fn print_changed_sections(ui: Ui, view: &DiffView) {
    for section in &view.sections {
        let heading = match section.heading.as_str() {
            "" => "(before the first heading)",
            heading => heading,
        };
        let change = styled(INFO, section.change);
        ui.print_line(format_args!("  {change} {heading}"));
    }
}

/// Prints a unified diff with the changed words highlighted.
pub(super) fn print_diff(ui: Ui, view: &DiffView) {
    print_hunks(ui, view, |lines| lines.iter().collect());
}

/// Prints a diff with the added lines of each change before the removed ones.
pub(super) fn print_diff_additions_first(ui: Ui, view: &DiffView) {
    print_hunks(ui, view, order_additions_first);
}

fn print_hunks(ui: Ui, view: &DiffView, order: fn(&[DiffLine]) -> Vec<&DiffLine>) {
    if view.hunks.is_empty() {
        return;
    }
    ui.print_line(styled(DIM, format!("--- {}", view.older)));
    ui.print_line(styled(DIM, format!("+++ {}", view.newer)));
    for hunk in &view.hunks {
        ui.print_line(styled(INFO, hunk.header.trim_end()));
        for line in order(&hunk.lines) {
            print_diff_line(ui, line);
        }
    }
}

fn print_diff_line(ui: Ui, line: &DiffLine) {
    let style = match line.kind {
        DiffLineKind::Same => PLAIN,
        DiffLineKind::Removed => BAD,
        DiffLineKind::Added => GOOD,
    };
    let mut text = styled_line!("{}", styled(style, line.kind.diff_marker()));
    for (emphasis, piece) in &line.pieces {
        // Underlined as well as bold: some terminals show bold as a colour only, and meaning must
        // not depend on colour.
        let strong = *emphasis == Emphasis::Strong && line.kind != DiffLineKind::Same;
        text.push_display(styled(
            if strong {
                style.bold().underline()
            } else {
                style
            },
            reveal_invisible(piece),
        ));
    }
    ui.print_line(text);
}
