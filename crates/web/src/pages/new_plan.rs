//! Page *New*: a ticket or another plan, created with its file. The text is written on the page *Edit*.

use application::Failure;
use application::creatable_levels::{CreatableLevel, list_creatable_levels};
use axum::extract::{Query, State};
use domain::work::triage::Priority;
use maud::{Markup, html};
use serde::Deserialize;

use super::{NavigationEntry, render_page};
use crate::Dashboard;
use crate::components::{ButtonKind, render_link_button, render_submit};
use crate::create_plan::CreateForm;
use crate::frame::{Page, Rights};
use crate::refusal::{Refusal, render_failure};

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
    let form = CreateForm {
        under: asked.under,
        level: asked.level,
        ..CreateForm::default()
    };
    render_form_page(&dashboard, &rights, &form, None).await
}

/// Renders the form again with what was typed, and why nothing was created.
pub(crate) async fn render_refused_form(
    dashboard: &Dashboard,
    rights: &Rights,
    form: &CreateForm,
    failure: &Failure,
) -> Result<Page, Refusal> {
    render_form_page(dashboard, rights, form, Some(failure)).await
}

async fn render_form_page(
    dashboard: &Dashboard,
    rights: &Rights,
    form: &CreateForm,
    failure: Option<&Failure>,
) -> Result<Page, Refusal> {
    let levels = dashboard
        .ask_tree(|ctx, known| Ok(list_creatable_levels(ctx, known)))
        .await?;
    Ok(render_page(
        NavigationEntry::Elsewhere,
        "New",
        &render_content(rights, form, &levels, failure),
    ))
}

/// Renders the link to this page, for readers who may create a plan.
pub(crate) fn render_new_link(rights: &Rights) -> Markup {
    html! { @if rights.allow("create") { (render_link_button(ButtonKind::Plain, "New plan", "/new")) } }
}

fn render_content(
    rights: &Rights,
    asked: &CreateForm,
    levels: &[CreatableLevel],
    failure: Option<&Failure>,
) -> Markup {
    let fits = |level: &&CreatableLevel| {
        let has_parent = level.parents.iter().any(|plan| plan.path == asked.under);
        (asked.level.is_empty() || level.level == asked.level)
            // After a refusal the parent may be what is wrong.
            && (asked.under.is_empty() || has_parent || level.is_ticket || failure.is_some())
    };
    let fitting: Vec<&CreatableLevel> = levels.iter().filter(fits).collect();
    html! {
        h1 { "New plan" }
        @if let Some(failure) = failure {
            section.notice.refused #problem role="alert" { h2 { "Not created" } (render_failure(failure)) }
        }
        @if !rights.allow("create") { (rights.explain_missing("create")) }
        @else if fitting.is_empty() { p.quiet { "Nothing can be created here. " a href="/new" { "Choose another place" } } }
        @else { @for level in fitting { (render_form(asked, level)) } }
    }
}

fn render_form(asked: &CreateForm, level: &CreatableLevel) -> Markup {
    let id = |part: &str| format!("{part}-{}-{}", level.profile, level.level);
    html! {
        section.create {
            h2 { "New " (level.level) }
            @if !level.purpose.is_empty() { p.quiet { (level.purpose) } }
            form action="/do/create" method="post" {
                input type="hidden" name="level" value=(level.level);
                div.field {
                    label for=(id("title")) { "Title" }
                    input type="text" id=(id("title")) name="title" value=(asked.title) required maxlength="200" dir="auto" autocomplete="off" autofocus;
                }
                @if level.is_ticket { (render_ticket_fields(asked, &id)) }
                @else { div.field {
                    label for=(id("name")) { "Name instead of the next number (optional)" }
                    input type="text" id=(id("name")) name="name" value=(asked.name) maxlength="60" autocomplete="off" placeholder="prologue";
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

fn render_ticket_fields(asked: &CreateForm, id: &dyn Fn(&str) -> String) -> Markup {
    let given = |text: &'_ str, default: &'static str| match text {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    let (kind, chosen) = (
        given(&asked.kind, "task"),
        given(&asked.priority, Priority::Normal.as_str()),
    );
    html! {
        div.columns {
            div.field {
                label for=(id("type")) { "Type" }
                input type="text" id=(id("type")) name="kind" value=(kind) list=(id("types")) maxlength="40" required autocomplete="off";
                datalist id=(id("types")) { @for word in TICKET_TYPES { option value=(word) {} } }
            }
            div.field {
                label for=(id("priority")) { "Priority" }
                select id=(id("priority")) name="priority" { @for priority in Priority::ALL {
                    option value=(priority.as_str()) selected[priority.as_str() == chosen] { (priority.as_str()) }
                } }
            }
        }
        div.field {
            label for=(id("body")) { "Text, as Markdown (optional)" }
            textarea id=(id("body")) name="body" rows="6" maxlength="100000" dir="auto" { "\n" (asked.body) }
        }
    }
}
