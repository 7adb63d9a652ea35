//! The right side of the screen: what a person is shown of a plan before they decide.

use application::approval_question::ApprovalQuestion;
use domain::approval_question::{describe_force, describe_objection};
use domain::diff::{DiffLineKind, Emphasis, Hunk};
use domain::node::Status;
use domain::text::clean_line;

/// Meaning of a piece of text; the view chooses its look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Heading,
    Quiet,
    Warning,
    Added,
    Removed,
    AddedWord,
    RemovedWord,
}

/// A line of pieces.
pub(super) type DetailLine = Vec<(Tone, String)>;

/// A plan as it is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Detail {
    pub(super) path: String,
    pub(super) lines: Vec<DetailLine>,
    /// What an answer is bound to; `None` if there is nothing to decide.
    pub(super) question: Option<ApprovalQuestion>,
}

impl Detail {
    /// Shows the question about a plan.
    pub(super) fn of_question(question: ApprovalQuestion) -> Self {
        let mut lines = vec![render_title(
            question.title.as_deref(),
            &question.path,
            question.status,
        )];
        // Before the text: a person who scrolls no further has still seen them.
        if let Some(objection) = &question.objection {
            let words = format!("{}: {}", describe_objection(objection), objection.reason);
            lines.push(vec![(Tone::Warning, clean_line(&words))]);
        }
        for warning in &question.warnings {
            lines.push(vec![(
                Tone::Warning,
                format!("warning: {}", clean_line(warning)),
            )]);
        }
        if let Some(overridden) = describe_force(question.required_force) {
            lines.push(vec![(Tone::Warning, overridden.to_owned())]);
        }
        if let (Some(parent), Some(change)) = (&question.parent_path, &question.parent_changes) {
            push_heading(
                &mut lines,
                &format!("{parent} changed since this was approved"),
            );
            push_hunks(&mut lines, &change.hunks);
        }
        // The base is the text approved last, not the previous version: saving twice would hide a
        // change otherwise.
        match (&question.base, &question.change) {
            (Some(base), Some(change)) if change.hunks.is_empty() => push_heading(
                &mut lines,
                &format!("the text is the one {} approved", base.by),
            ),
            (Some(base), Some(change)) => {
                push_heading(
                    &mut lines,
                    &format!(
                        "changed since {} approved {}",
                        base.by,
                        base.version_hash.short_hex()
                    ),
                );
                push_hunks(&mut lines, &change.hunks);
            }
            _ => {
                push_heading(
                    &mut lines,
                    "the whole text: nothing of it was approved before",
                );
                push_text(&mut lines, question.text.as_deref().unwrap_or_default());
            }
        }
        Self {
            path: question.path.clone(),
            lines,
            question: Some(question),
        }
    }

    /// Shows a plan about which nothing can be decided now, with the reason.
    pub(super) fn of_text(
        path: &str,
        title: Option<&str>,
        status: Status,
        reason: &str,
        text: Option<&str>,
    ) -> Self {
        let mut lines = vec![render_title(title, path, status)];
        lines.push(vec![(Tone::Quiet, clean_line(reason))]);
        lines.push(Vec::new());
        push_text(&mut lines, text.unwrap_or_default());
        Self {
            path: path.to_owned(),
            lines,
            question: None,
        }
    }

    /// Whether the answer yes would keep an approved text below a changed parent.
    pub(super) fn is_kept_by_yes(&self) -> bool {
        self.question.as_ref().is_some_and(|question| {
            // A stale plan whose own text changed needs an approval: keeping says that nothing
            // changed but the parent.
            question.status == Status::RequiresRevalidation
                && question
                    .base
                    .as_ref()
                    .is_some_and(|base| base.version_hash == question.version_hash)
        })
    }
}

fn render_title(title: Option<&str>, path: &str, status: Status) -> DetailLine {
    let mut line = vec![(Tone::Heading, clean_line(title.unwrap_or(path)))];
    line.push((
        Tone::Quiet,
        format!("  {}  {} {status}", clean_line(path), status.symbol()),
    ));
    line
}

fn push_heading(lines: &mut Vec<DetailLine>, text: &str) {
    lines.push(Vec::new());
    lines.push(vec![(Tone::Quiet, format!("── {} ──", clean_line(text)))]);
}

fn push_text(lines: &mut Vec<DetailLine>, text: &str) {
    for line in text.lines() {
        let tone = match line.starts_with('#') {
            true => Tone::Heading,
            false => Tone::Plain,
        };
        // Plans are foreign text: control characters would reach the terminal.
        lines.push(vec![(tone, clean_line(line))]);
    }
}

fn push_hunks(lines: &mut Vec<DetailLine>, hunks: &[Hunk]) {
    for hunk in hunks {
        lines.push(vec![(Tone::Quiet, clean_line(hunk.header.trim_end()))]);
        for line in &hunk.lines {
            let (tone, word) = match line.kind {
                DiffLineKind::Same => (Tone::Plain, Tone::Plain),
                DiffLineKind::Added => (Tone::Added, Tone::AddedWord),
                DiffLineKind::Removed => (Tone::Removed, Tone::RemovedWord),
            };
            let mut pieces = vec![(tone, format!("{} ", line.kind.diff_marker()))];
            pieces.extend(line.pieces.iter().map(|(emphasis, text)| {
                let tone = match emphasis {
                    Emphasis::Strong => word,
                    Emphasis::None => tone,
                };
                (tone, clean_line(text.trim_end_matches(['\n', '\r'])))
            }));
            lines.push(pieces);
        }
    }
}
