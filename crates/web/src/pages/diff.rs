//! Side-by-side diff with changed words emphasised.

use application::views::DiffView;
use domain::diff::{DiffLine, DiffLineKind, Emphasis, Hunk};
use maud::{Markup, html};

/// Renders a diff: changed sections, then the lines side by side.
pub(crate) fn render_diff(diff: &DiffView) -> Markup {
    html! {
        @if !diff.sections.is_empty() {
            ul.sections { @for section in &diff.sections { li { span.tag { (section.change) } " " (section.heading) } } }
        }
        @if diff.hunks.is_empty() { p.quiet { "No differences." } } @else {
            div.diff tabindex="0" role="region" aria-label={ (diff.older) " compared with " (diff.newer) } {
                table {
                    thead { tr { th scope="col" { (diff.older) } th scope="col" { (diff.newer) } } }
                    @for hunk in &diff.hunks { (render_hunk(hunk)) }
                }
            }
        }
    }
}

/// Renders a hunk, pairing removed lines with added ones.
fn render_hunk(hunk: &Hunk) -> Markup {
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
    html! {
        tbody {
            @for (left, right) in pairs { tr { (render_cell(left)) (render_cell(right)) } }
        }
    }
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
