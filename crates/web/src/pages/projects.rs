//! Page *Projects*: what waits in every project of this server, and the way there.

use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use domain::authorization::AuthenticatedPrincipal;
use domain::notification::WaitingItem;
use domain::text::count_with_noun;
use maud::{Markup, html};
use serde::Deserialize;

use super::{NavigationEntry, page_not_found, render_page};
use crate::Dashboard;
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::served_projects::ProjectSummary;
use crate::urls::{encode_path, encode_query_value};

/// Maximum number of items listed of a project; its inbox has the rest.
const MAX_LISTED: usize = 20;

pub(crate) async fn projects_page(State(dashboard): State<Dashboard>) -> Result<Page, Refusal> {
    let here = dashboard.clone();
    let projects = dashboard
        // One slot for all of them: a page over many projects must not take every slot of this one.
        .aside(move || Ok(here.projects.list_waiting(&here)))
        .await?;
    let total: usize = projects.iter().filter_map(count_waiting).sum();
    Ok(render_page(
        NavigationEntry::Elsewhere,
        "Projects",
        &html! {
            h1 { "Projects" }
            p.quiet { (count_with_noun(total, "decision waits", "decisions wait")) " in " (count_with_noun(projects.len(), "project", "projects")) }
            @for project in &projects { (render_project(project)) }
        },
    ))
}

fn count_waiting(project: &ProjectSummary) -> Option<usize> {
    project.waiting.as_ref().map(Vec::len)
}

fn render_project(project: &ProjectSummary) -> Markup {
    html! {
        section {
            h2 {
                a href=(project_url(&project.name, "/")) { (project.name) }
                @if project.is_here { " " span.tag { "this one" } }
            }
            @match &project.waiting {
                None => p.quiet { "Its state cannot be read; open it to see why." },
                Some(waiting) if waiting.is_empty() => p.quiet { "Nothing waits." },
                Some(waiting) => (render_items(&project.name, waiting)),
            }
        }
    }
}

fn render_items(project: &str, waiting: &[WaitingItem]) -> Markup {
    html! {
        ul.rows {
            @for item in waiting.iter().take(MAX_LISTED) {
                li {
                    a href=(project_url(project, &Dashboard::page_of_item(item))) { (item.name()) }
                    " " code.id { (item.path) } " " span.end.quiet { (item.status) }
                }
            }
            @if waiting.len() > MAX_LISTED {
                li { a href=(project_url(project, "/")) { "and " (waiting.len() - MAX_LISTED) " more" } }
            }
        }
    }
}

/// Returns the URL that leads to a page of a project of this server.
pub(crate) fn project_url(name: &str, page: &str) -> String {
    format!(
        "/projects/{}?page={}",
        encode_path(name),
        encode_query_value(page)
    )
}

/// Query of the links to other projects.
#[derive(Deserialize)]
pub(crate) struct ProjectQuery {
    #[serde(default)]
    page: String,
}

/// Redirects to a page of another project. Who has shown the start-up secret here is signed in there: the
/// same person started both. A token of `tl team token create` is valid in its own project only.
pub(crate) async fn open_project(
    State(dashboard): State<Dashboard>,
    reader: Option<Extension<AuthenticatedPrincipal>>,
    Path(name): Path<String>,
    Query(query): Query<ProjectQuery>,
) -> Response {
    let by_secret = reader.is_some_and(|Extension(reader)| reader.is_local_user());
    // A redirect of this server, not a link: the token of the other one is in no page that is
    // shown or kept.
    match dashboard.projects.url_of(&name, &query.page, by_secret) {
        Some(url) => (StatusCode::SEE_OTHER, [(LOCATION, url)]).into_response(),
        None => page_not_found().await.into_response(),
    }
}
