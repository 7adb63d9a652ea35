//! Page *New*: a ticket or another plan, created with its file. The text is written on the page *Edit*.

use application::creatable_levels::{CreatableLevel, list_creatable_levels};
use axum::extract::{Query, State};
use domain::work::triage::Priority;
use maud::{Markup, html};
use serde::Deserialize;

use super::{NavigationEntry, render_page};
use crate::Dashboard;
use crate::components::{ButtonKind, render_link_button, render_submit};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;

/// What the front matter of tickets calls their type; any other word can be typed.
const TICKET_TYPES: [&str; 4] = ["task", "feature", "bug", "chore"];

/// Query of the page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NewQuery {
    /// The parent of the new plan.
    under: String,
    level: String,
}

pub(crate) async fn new_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Query(asked): Query<NewQuery>,
) -> Result<Page, Refusal> {
    let levels = dashboard
        .ask_tree(|ctx, known| Ok(list_creatable_levels(ctx, known)))
        .await?;
    Ok(render_page(
        NavigationEntry::Elsewhere,
        "New",
        &render_content(&rights, &asked, &levels),
    ))
}

/// Renders the link to this page, for readers who may create a plan.
pub(crate) fn render_new_link(rights: &Rights) -> Markup {
    html! { @if rights.allow("create") { (render_link_button(ButtonKind::Plain, "New plan", "/new")) } }
}

fn render_content(rights: &Rights, asked: &NewQuery, levels: &[CreatableLevel]) -> Markup {
    let fits = |level: &&CreatableLevel| {
        let has_parent = level.parents.iter().any(|plan| plan.path == asked.under);
        (asked.level.is_empty() || level.level == asked.level)
            && (asked.under.is_empty() || has_parent || level.is_ticket)
    };
    let fitting: Vec<&CreatableLevel> = levels.iter().filter(fits).collect();
    html! {
        h1 { "New plan" }
        @if !rights.allow("create") { (rights.explain_missing("create")) }
        @else if fitting.is_empty() { p.quiet { "Nothing can be created here. " a href="/new" { "Choose another place" } } }
        @else { @for level in fitting { (render_form(asked, level)) } }
    }
}

fn render_form(asked: &NewQuery, level: &CreatableLevel) -> Markup {
    let id = |part: &str| format!("{part}-{}-{}", level.profile, level.level);
    html! {
        section.create {
            h2 { "New " (level.level) }
            @if !level.purpose.is_empty() { p.quiet { (level.purpose) } }
            form action="/do/create" method="post" {
                input type="hidden" name="level" value=(level.level);
                div.field {
                    label for=(id("title")) { "Title" }
                    input type="text" id=(id("title")) name="title" required maxlength="200" dir="auto" autocomplete="off" autofocus;
                }
                @if level.is_ticket { (render_ticket_fields(&id)) }
                @else { div.field {
                    label for=(id("name")) { "Name instead of the next number (optional)" }
                    input type="text" id=(id("name")) name="name" maxlength="60" autocomplete="off" placeholder="prologue";
                } }
                @if level.is_ticket || !level.parents.is_empty() { div.field {
                    label for=(id("under")) { "Below" @if level.is_root { " (optional)" } }
                    input type="text" id=(id("under")) name="under" value=(asked.under) list=(id("parents")) required[!level.is_root] autocomplete="off";
                    datalist id=(id("parents")) { @for plan in &level.parents { option value=(plan.path) { (plan.display_name()) } } }
                } }
                div.buttons { (render_submit(ButtonKind::Primary, &format!("Create {}", level.level), None)) }
            }
        }
    }
}

fn render_ticket_fields(id: &dyn Fn(&str) -> String) -> Markup {
    html! {
        div.columns {
            div.field {
                label for=(id("type")) { "Type" }
                input type="text" id=(id("type")) name="kind" value="task" list=(id("types")) maxlength="40" required autocomplete="off";
                datalist id=(id("types")) { @for word in TICKET_TYPES { option value=(word) {} } }
            }
            div.field {
                label for=(id("priority")) { "Priority" }
                select id=(id("priority")) name="priority" { @for priority in Priority::ALL {
                    option value=(priority.as_str()) selected[priority == Priority::Normal] { (priority.as_str()) }
                } }
            }
        }
        div.field {
            label for=(id("body")) { "Text, as Markdown (optional)" }
            textarea id=(id("body")) name="body" rows="6" maxlength="100000" dir="auto" {}
        }
    }
}
