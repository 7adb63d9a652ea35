//! Page *Move*: where a plan goes, a preview of everything that changes with it, and the form that
//! does it.

use application::Failure;
use application::shape::{ChangeShapeRequest, ShapeOutcome, change_shape};
use axum::extract::{Query, State};
use domain::text::count_with_noun;
use maud::{Markup, html};
use serde::Deserialize;

use super::{NavigationEntry, link_to_node, render_message, render_page, render_status};
use crate::actions::MoveForm;
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

/// Maximum length of each list of the preview.
const MAX_LISTED: usize = 30;

/// Query of the page: a move, of which the place may be missing.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MoveQuery {
    node: String,
    place: String,
    target: String,
}

impl MoveQuery {
    fn to_form(&self) -> MoveForm {
        MoveForm {
            node: self.node.clone(),
            place: self.place.clone(),
            target: self.target.clone(),
        }
    }
}

pub(crate) async fn move_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Query(query): Query<MoveQuery>,
) -> Result<Page, Refusal> {
    let preview = if query.place.is_empty() {
        None
    } else {
        let form = query.to_form();
        // A refusal belongs beside the choice that has to change.
        let run = move |ctx: &application::Context<'_>| {
            let request = ChangeShapeRequest {
                change: form.to_change()?,
                dry_run: true,
            };
            Ok(change_shape(ctx, &request))
        };
        Some(dashboard.ask(run).await?)
    };
    Ok(render_page(
        NavigationEntry::Tree,
        &format!("Move {}", query.node),
        &render_content(&rights, &query, preview.as_ref()),
    ))
}

fn render_content(
    rights: &Rights,
    query: &MoveQuery,
    preview: Option<&Result<ShapeOutcome, Failure>>,
) -> Markup {
    html! {
        h1 { "Move " (query.node) }
        form.filter action="/move" method="get" {
            input type="hidden" name="node" value=(query.node);
            label { "Place" select name="place" {
                @for (value, label) in [("before", "before"), ("after", "after"), ("under", "at the end below")] {
                    option value=(value) selected[value == query.place] { (label) }
                }
            } }
            label { "Plan" input type="search" name="target" value=(query.target) autocomplete="off" placeholder="act-2/chapter-03"; }
            button type="submit" { "Preview" }
        }
        p.quiet { "Nothing changes before you have seen what does. Below nothing means: at the top." }
        @match preview {
            None => {},
            Some(Err(failure)) => section.notice.refused role="alert" {
                h2 { "It cannot go there" }
                p { (render_message(&failure.message)) }
                @for step in &failure.next_steps { p.quiet { (render_message(step)) } }
            },
            Some(Ok(outcome)) => (render_preview(rights, query, outcome)),
        }
        p { a href="/tree" { "Back to the tree" } " · " a href=(urls::node_url(&query.node)) { "Open " (query.node) } }
    }
}

fn render_preview(rights: &Rights, query: &MoveQuery, outcome: &ShapeOutcome) -> Markup {
    html! {
        section.notice #preview {
            h2 { "What changes" }
            p { (render_message(&outcome.summary)) }
            (render_list("plan gets another path", "plans get another path", outcome.renamed.len(), html! {
                @for one in outcome.renamed.iter().take(MAX_LISTED) { li { code { (one.was) } " → " code { (one.path) } } }
            }))
            (render_list("file moves", "files move", outcome.moved_files.len(), html! {
                @for one in outcome.moved_files.iter().take(MAX_LISTED) { li { code { (one.was) } " → " code { (one.path) } } }
            }))
            (render_list("file gets other references", "files get other references", outcome.changed_files.len(), html! {
                @for one in outcome.changed_files.iter().take(MAX_LISTED) { li { code { (one) } } }
            }))
            (render_list("plan changes its status", "plans change their status", outcome.changed_entities.len(), html! {
                @for one in outcome.changed_entities.iter().take(MAX_LISTED) {
                    li { (link_to_node(&one.path)) " " (render_status(one.previous_status)) " → " (render_status(one.new_status)) }
                }
            }))
            @if outcome.changed_entities.is_empty() { p.quiet { "No status changes." } }
            @if rights.allow("move") {
                form action="/do/move" method="post" {
                    input type="hidden" name="node" value=(query.node);
                    input type="hidden" name="place" value=(query.place);
                    input type="hidden" name="target" value=(query.target);
                    button.primary type="submit" { "Move it" }
                }
            } @else { (rights.explain_missing("move")) }
        }
    }
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
