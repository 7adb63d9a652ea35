//! Output of commands that change the shape of a tree, and the options they share.

use application::Failure;
use application::shape::{ChangeShapeRequest, ShapeChange, ShapeOutcome, change_shape};
use clap::Args;
use domain::node_reference::NodeReference;
use domain::profile::Profile;

use crate::exit_code::ExitCode;
use crate::ui::{DIM, Ui, WARN, styled};
use crate::wiring::App;

/// Maximum number of printed files that stay where they are.
const MAX_PRINTED_LEFT_FILES: usize = 10;

/// Separates the words of a node from those of an option that names another one, in one word or two:
/// `--under act-1` and `--under act 1`. The second word of an option is its own if it is a number, and
/// the node has words of its own.
pub(super) fn separate_option_words(
    node: &[String],
    option: &[String],
) -> (Vec<String>, Option<String>) {
    match option {
        // clap gives an option with up to two values the word that was meant for the node.
        [first, second] if node.is_empty() || !second.starts_with(|c: char| c.is_ascii_digit()) => {
            let node = [std::slice::from_ref(second), node].concat();
            (node, Some(first.clone()))
        }
        [] => (node.to_vec(), None),
        words => (node.to_vec(), Some(words.join(" "))),
    }
}

/// Splits words into those of the first node and the rest.
pub(super) fn split_node_words(
    words: &[String],
    profiles: &[Profile],
) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (_, rest) = NodeReference::parse_words(words, profiles)?;
    // The words themselves are kept, not the parsed reference: the use case parses them again
    // on fresh state.
    let (node, rest) = words.split_at(words.len() - rest.len());
    Ok((node.to_vec(), rest.to_vec()))
}

/// Options of every command that changes the shape of a tree.
#[derive(Debug, Args)]
pub(super) struct ShapeOptions {
    /// List every file and every status that would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl ShapeOptions {
    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Runs a change and prints what it did, or would do.
    pub(super) fn run_change(&self, app: &App, change: ShapeChange) -> Result<ExitCode, Failure> {
        let request = ChangeShapeRequest {
            change,
            dry_run: self.dry_run,
        };
        let outcome = app.run(|ctx| change_shape(ctx, &request))?;
        if !app.ui.try_print_json(&outcome) {
            print_outcome(app.ui, &outcome);
        }
        Ok(ExitCode::Done)
    }
}

fn print_outcome(ui: Ui, outcome: &ShapeOutcome) {
    if outcome.changes_nothing() {
        ui.print_message(format_args!("nothing to change: {}", outcome.summary));
        return;
    }
    match outcome.dry_run {
        true => ui.print_success(format_args!("would {}", outcome.summary)),
        false => ui.print_success(format_args!("{}", outcome.summary)),
    }
    for one in &outcome.renamed {
        ui.print_line(format_args!("  {} → {}", one.was, one.path));
    }
    for path in &outcome.removed {
        ui.print_line(format_args!("  {path} is removed"));
    }
    let dim = |line: String| ui.print_line(styled(DIM, line));
    for file in &outcome.created_files {
        dim(format!("  new      {file}"));
    }
    for file in &outcome.moved_files {
        dim(format!("  moved    {} → {}", file.was, file.path));
    }
    for file in &outcome.changed_files {
        dim(format!("  changed  {file}"));
    }
    for file in &outcome.removed_files {
        dim(format!("  removed  {file}"));
    }
    for file in outcome.left_files.iter().take(MAX_PRINTED_LEFT_FILES) {
        ui.print_line(format_args!(
            "  {}     {} ({})",
            styled(WARN, "left"),
            file.path,
            file.reason
        ));
    }
    if let more @ 1.. = outcome
        .left_files
        .len()
        .saturating_sub(MAX_PRINTED_LEFT_FILES)
    {
        ui.print_line(format_args!("  … and {more} more files that are left"));
    }
    for broken in &outcome.broken_needs {
        ui.print_warning(format_args!(
            "`{}` needs `{}`, which is removed",
            broken.path, broken.needs
        ));
    }
    for change in &outcome.changed_entities {
        ui.print_line(format_args!(
            "  {} {} → {}",
            change.path,
            change.previous_status.label(),
            change.new_status.label()
        ));
    }
    if let (Some(operation), false) = (outcome.operation, outcome.dry_run) {
        dim(format!("  to take it back: tl undo {operation}"));
    }
}

#[cfg(test)]
mod tests {
    use super::separate_option_words;

    #[test]
    fn the_second_word_of_an_option_is_a_number_or_belongs_to_the_node() {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for (node, option, expected_node, expected_option) in [
            ("scene 0101", "chapter 2", "scene 0101", Some("chapter 2")),
            ("scene 0101", "chapter-02", "scene 0101", Some("chapter-02")),
            ("0101", "act-1 scene", "scene 0101", Some("act-1")),
            ("", "act-1 chapter", "chapter", Some("act-1")),
            ("scene 0101", "", "scene 0101", None),
        ] {
            let (node, option) = separate_option_words(&words(node), &words(option));
            assert_eq!(node.join(" "), expected_node);
            assert_eq!(option.as_deref(), expected_option);
        }
    }
}
