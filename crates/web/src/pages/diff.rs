//! Side-by-side diff with changed words emphasised.

use application::views::DiffView;
use domain::diff::{DiffLine, DiffLineKind, Emphasis, Hunk};
use domain::text::{count_with_noun, reveal_invisible};
use maud::{Markup, html};

/// Number of rows of a difference that are open at first. A text that changed in every line has
/// thousands, and what follows it would be out of reach.
const MAX_OPEN_ROWS: usize = 300;

/// Renders a diff: changed sections, then the lines side by side.
pub(crate) fn render_diff(diff: &DiffView) -> Markup {
    let hunks = diff.hunks.iter().enumerate();
    let rows: Vec<DiffRow<'_>> = hunks.flat_map(|(at, hunk)| pair_lines(at, hunk)).collect();
    html! {
        @if !diff.sections.is_empty() {
            ul.sections { @for section in &diff.sections { li { span.tag { (section.change) } " " (section.heading) } } }
        }
        @if diff.hunks.is_empty() { p.quiet { "No differences." } } @else {
            div.diff tabindex="0" role="region" aria-label={ (diff.older) " compared with " (diff.newer) } {
                (render_rows(diff, rows.get(..MAX_OPEN_ROWS).unwrap_or(&rows)))
                // On the page all the same: what is decided about has been shown.
                @if let Some(rest) = rows.get(MAX_OPEN_ROWS..).filter(|rest| !rest.is_empty()) {
                    details.more-rows {
                        summary { (count_with_noun(rest.len(), "more row", "more rows")) }
                        (render_rows(diff, rest))
                    }
                }
            }
        }
    }
}

fn render_rows(diff: &DiffView, rows: &[DiffRow<'_>]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { (diff.older) } th scope="col" { (diff.newer) } } }
            @for hunk in rows.chunk_by(|one, other| one.hunk == other.hunk) {
                tbody { @for row in hunk { tr { (render_cell(row.left)) (render_cell(row.right)) } } }
            }
        }
    }
}

/// A row of a difference: a line before and after.
struct DiffRow<'d> {
    hunk: usize,
    left: Option<&'d DiffLine>,
    right: Option<&'d DiffLine>,
}

/// Returns the rows of a hunk, with removed lines beside added ones.
fn pair_lines(at: usize, hunk: &Hunk) -> Vec<DiffRow<'_>> {
    let mut pairs: Vec<(Option<&DiffLine>, Option<&DiffLine>)> = Vec::new();
    // Index of the first pair that may still lack its right side; added lines fill them in order.
    let mut open = 0;
    for line in &hunk.lines {
        match line.kind {
            DiffLineKind::Same => {
                pairs.push((Some(line), Some(line)));
                open = pairs.len();
            }
            DiffLineKind::Removed => pairs.push((Some(line), None)),
            // An added line goes next to a removed one, so that a changed line is read across.
            DiffLineKind::Added => match pairs
                .iter()
                .skip(open)
                .position(|(_, right)| right.is_none())
            {
                Some(at) => {
                    pairs[open + at].1 = Some(line);
                    open += at + 1;
                }
                None => {
                    pairs.push((None, Some(line)));
                    open = pairs.len();
                }
            },
        }
    }
    let rows = pairs.into_iter();
    rows.map(|(left, right)| DiffRow {
        hunk: at,
        left,
        right,
    })
    .collect()
}

fn render_cell(line: Option<&DiffLine>) -> Markup {
    let Some(line) = line else {
        return html! { td.none {} };
    };
    let kind = match line.kind {
        DiffLineKind::Same => "same",
        DiffLineKind::Removed => "removed",
        DiffLineKind::Added => "added",
    };
    let words = html! {
        @for (emphasis, piece) in &line.pieces {
            @let piece = reveal_invisible(piece);
            @match emphasis { Emphasis::Strong => strong { (piece) }, Emphasis::None => (piece) }
        }
    };
    html! {
        td class=(kind) {
            @match line.kind {
                DiffLineKind::Same => (words),
                // `del` and `ins` besides colour: screen readers announce them.
                DiffLineKind::Removed => del { (words) },
                DiffLineKind::Added => ins { (words) },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::diff::compute_hunks;

    use super::*;

    #[test]
    fn a_text_that_changed_in_every_line_is_folded_and_complete() {
        let text = |word: &str| -> String { (0..400).map(|at| format!("{word} {at}\n")).collect() };
        let diff = DiffView {
            older: "approved".to_owned(),
            newer: "now".to_owned(),
            sections: Vec::new(),
            unified: String::new(),
            hunks: compute_hunks(&text("old"), &text("new")),
        };
        let html = render_diff(&diff).into_string();
        let (open, folded) = html.split_once("<details").expect("it is folded");
        assert_eq!(open.matches("<del>").count(), MAX_OPEN_ROWS);
        assert!(folded.contains("100 more rows"), "{folded}");
        assert_eq!(folded.matches("<ins>").count(), 100);
    }
}
