//! Preview of a change of shape: every plan, file and status that would change.

use std::collections::HashMap;

use application::shape::ShapeOutcome;
use domain::text::count_with_noun;
use maud::{Markup, html};

use super::{render_message, render_status};
use crate::titles::PlanTitles;

/// Maximum length of each list.
const MAX_LISTED: usize = 30;

/// Renders what a change would do.
pub(super) fn render_preview(outcome: &ShapeOutcome, titles: &PlanTitles) -> Markup {
    // Statuses are listed by the paths after the change, titles are known by those before it.
    let before: HashMap<&str, &str> = outcome
        .renamed
        .iter()
        .map(|one| (one.path.as_str(), one.was.as_str()))
        .collect();
    let was = |path: &'_ str| {
        before
            .get(path)
            .map_or_else(|| path.to_owned(), |was| (*was).to_owned())
    };
    html! {
        h2 { "What changes" }
        p.quiet { (render_message(&outcome.summary)) }
        (render_list("plan gets another path", "plans get another path", outcome.renamed.len(), html! {
            @for one in outcome.renamed.iter().take(MAX_LISTED) { li { (titles.name_with_path(&one.was)) " → " code { (one.path) } } }
        }))
        (render_list("plan goes", "plans go", outcome.removed.len(), html! {
            @for one in outcome.removed.iter().take(MAX_LISTED) { li { (titles.name_with_path(one)) } }
        }))
        (render_list("plan needs one that goes", "plans need one that goes", outcome.broken_needs.len(), html! {
            @for one in outcome.broken_needs.iter().take(MAX_LISTED) { li { (titles.name_with_path(&was(&one.path))) " needs " (titles.name_with_path(&one.needs)) } }
        }))
        (render_list("plan changes its status", "plans change their status", outcome.changed_entities.len(), html! {
            @for one in outcome.changed_entities.iter().take(MAX_LISTED) {
                li { (titles.name_with_path(&was(&one.path))) " " (render_status(one.previous_status)) span aria-label="becomes" { " → " } (render_status(one.new_status)) }
            }
        }))
        @if outcome.changed_entities.is_empty() { p.quiet { "No status changes." } }
        (render_list("file is new", "files are new", outcome.created_files.len(), render_files(&outcome.created_files)))
        (render_list("file moves", "files move", outcome.moved_files.len(), html! {
            @for one in outcome.moved_files.iter().take(MAX_LISTED) { li { code { (one.was) } " → " code { (one.path) } } }
        }))
        (render_list("file gets other references or another text", "files get other references or another text", outcome.changed_files.len(), render_files(&outcome.changed_files)))
        (render_list("file is deleted", "files are deleted", outcome.removed_files.len(), render_files(&outcome.removed_files)))
        (render_list("file stays although its plan goes", "files stay although their plan goes", outcome.left_files.len(), html! {
            @for one in outcome.left_files.iter().take(MAX_LISTED) { li { code { (one.path) } " " span.quiet { (one.reason) } } }
        }))
    }
}

fn render_files(files: &[String]) -> Markup {
    html! { @for file in files.iter().take(MAX_LISTED) { li { code { (file) } } } }
}

fn render_list(one: &str, many: &str, count: usize, items: Markup) -> Markup {
    html! {
        @if count > 0 {
            details open[count <= 5] {
                summary { (count_with_noun(count, one, many)) }
                ul { (items) }
                @if count > MAX_LISTED { p.quiet { "and " (count - MAX_LISTED) " more" } }
            }
        }
    }
}
