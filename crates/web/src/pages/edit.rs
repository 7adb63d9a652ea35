//! Page *Edit*: the text of a plan as Markdown with a preview, bound to the version that was read.
//!
//! The form is sent to `/do/edit` for the preview too, so that it works without a script. What was
//! typed is never lost: a conflict or a refusal renders the same page with the text and the reason.

use std::slice::from_ref;

use application::node_page::{NodePage, load_node_page};
use application::read_plan::read_plan;
use application::write_plan::{WriteRequest, write_plan};
use application::{Context, Failure, FailureKind};
use axum::Extension as Who;
use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use domain::authorization::AuthenticatedPrincipal;
use domain::plan_document::MILESTONES_PROFILE;
use domain::section::describe_plan;
use maud::{Markup, html};
use serde::Deserialize;

use super::{NavigationEntry, diff, render_page, render_status};
use crate::actions::{ActionDone, parse_optional_version};
use crate::components::{ButtonKind, render_link_button, render_submit};
use crate::frame::{Page, Rights};
use crate::refusal::{Refusal, render_failure, status_of_kind};
use crate::{Dashboard, markdown, urls};

/// Whether a plan has a text of its own that can be edited as Markdown.
pub(crate) fn is_editable(page: &NodePage) -> bool {
    let node = &page.plan.plan.node;
    node.file_path.is_some() && node.profile != MILESTONES_PROFILE
}

/// The edited text of a plan.
#[derive(Clone, Deserialize)]
pub(crate) struct EditForm {
    node: String,
    /// The version that was on the page; empty for a plan without a text.
    #[serde(default)]
    version: String,
    #[serde(default)]
    text: String,
    /// `preview` renders the text and writes nothing.
    #[serde(default)]
    step: String,
}

pub(crate) async fn edit_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Path(path): Path<String>,
) -> Result<Page, Refusal> {
    let found = dashboard
        .ask(move |ctx| load_node_page(ctx, from_ref(&path), None))
        .await?;
    let node = &found.plan.plan.node;
    if !is_editable(&found) {
        let what = format!("`{}` is changed by its own commands", node.path);
        return Err(Failure::refused(what)
            .with_step(format!("tl show {}", node.path))
            .into());
    }
    let text = found.plan.plan.text.clone().unwrap_or_default();
    let editor = Editor {
        rights: &rights,
        found: &found,
        text: &text,
        problem: None,
    };
    Ok(editor.render())
}

/// Writes the text, or renders its preview.
pub(crate) async fn save_text(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<EditForm>,
) -> Result<Response, Refusal> {
    // Browsers send line ends of the network.
    let form = EditForm {
        text: form.text.replace("\r\n", "\n"),
        ..form
    };
    let problem = match form.step.as_str() {
        "preview" => None,
        _ => {
            let wanted = form.clone();
            let saved = dashboard
                .ask_as(who.principal, move |ctx| save(ctx, &wanted))
                .await;
            match saved {
                Ok(done) => {
                    let page = urls::node_url(&form.node);
                    return Ok(Redirect::to(&done.address_on(&page)).into_response());
                }
                Err(failure) => Some(failure),
            }
        }
    };
    let wanted = form.clone();
    let found = dashboard
        .ask(move |ctx| {
            let node = from_ref(&wanted.node);
            // The version may be unknown here, if the state was replaced; the text is shown anyway.
            let base = Some(wanted.version.as_str()).filter(|version| !version.is_empty());
            load_node_page(ctx, node, base).or_else(|_| load_node_page(ctx, node, None))
        })
        .await?;
    let status = problem.as_ref().map(|problem| status_of_kind(problem.kind));
    let editor = Editor {
        rights: &rights,
        found: &found,
        text: &form.text,
        problem: problem.as_ref().map(|failure| SaveProblem {
            failure,
            version: &form.version,
        }),
    };
    Ok((status.unwrap_or_default(), editor.render()).into_response())
}

fn save(ctx: &Context<'_>, form: &EditForm) -> Result<ActionDone, Failure> {
    let expected = parse_optional_version(&form.version)?.map(Into::into);
    // A file keeps its line ends: the browser has only one kind of them.
    let before = read_plan(ctx, from_ref(&form.node), None)?.text;
    let has_crlf = before.is_some_and(|text| text.contains("\r\n"));
    let request = WriteRequest {
        node: form.node.clone(),
        level: None,
        text: match has_crlf {
            true => form.text.replace('\n', "\r\n"),
            false => form.text.clone(),
        },
        section: None,
        expected,
    };
    let outcome = write_plan(ctx, &request)?;
    Ok(match outcome.operation {
        Some(operation) => ActionDone::recorded("saved", operation),
        None => ActionDone::without_undo("unchanged"),
    })
}

/// Why a text was not saved.
struct SaveProblem<'p> {
    failure: &'p Failure,
    /// The version that the writer began with.
    version: &'p str,
}

struct Editor<'e> {
    rights: &'e Rights,
    found: &'e NodePage,
    text: &'e str,
    problem: Option<SaveProblem<'e>>,
}

impl Editor<'_> {
    fn is_conflict(&self) -> bool {
        let mut problem = self.problem.iter();
        problem.any(|problem| problem.failure.kind == FailureKind::Conflict)
    }

    /// Returns the version that the form replaces. After a conflict it is the present one: its change
    /// is on the page, so that saving again is a decision about it.
    fn replaced_version(&self) -> String {
        let present = self.found.plan.plan.node.version_hash;
        match &self.problem {
            Some(problem) if !self.is_conflict() => problem.version.to_owned(),
            _ => present
                .map(|version| version.to_string())
                .unwrap_or_default(),
        }
    }

    fn render(&self) -> Page {
        let node = &self.found.plan.plan.node;
        let name = node.title.as_deref().unwrap_or(&node.entity_id);
        let content = html! {
            nav.lineage aria-label="Plans above" { ol {
                @for above in &self.found.family.ancestors { li { a href=(urls::node_url(&above.path)) title=(above.path) dir="auto" { (above.name()) } } }
                li { a href=(urls::node_url(&node.path)) dir="auto" { (name) } }
                li { span.id aria-current="page" { "edit" } }
            } }
            h1 dir="auto" { "Edit " (name) }
            p.quiet { (render_status(node.status)) @if let Some(file) = &node.file_path { " " code { (file) } } }
            @if let Some(problem) = &self.problem { (self.render_problem(problem)) }
            @if self.rights.allow("edit") { (self.render_form()) } @else { (self.rights.explain_missing("edit")) (self.render_preview()) }
        };
        render_page(
            NavigationEntry::Elsewhere,
            &format!("Edit {}", node.path),
            &content,
        )
    }

    fn render_problem(&self, problem: &SaveProblem<'_>) -> Markup {
        html! {
            section.notice.refused #problem role="alert" {
                @if self.is_conflict() {
                    h2 { "Not saved: the plan was changed since you opened it" }
                    p { "Your text is below as you left it. This is what changed meanwhile; take over what you want, then save again." }
                    @if let Some(change) = &self.found.compared { (diff::render_diff(change)) }
                    @else { (render_failure(problem.failure)) }
                } @else {
                    h2 { "Not saved" }
                    (render_failure(problem.failure))
                }
            }
        }
    }

    fn render_form(&self) -> Markup {
        let node = &self.found.plan.plan.node;
        let version = self.replaced_version();
        html! {
            form.editor #editor action="/do/edit" method="post" data-pull=(version) data-address=(urls::edit_url(&node.path)) {
                input type="hidden" name="node" value=(node.path);
                input type="hidden" name="version" value=(version);
                div.panes {
                    div.field {
                        label for="text" { "Text, as Markdown" }
                        // A line end right after the tag is dropped by browsers; the text may begin with one.
                        textarea #text name="text" rows="24" dir="auto" spellcheck="true" data-version=(version) autofocus { "\n" (self.text) }
                    }
                    (self.render_preview())
                }
                div.buttons {
                    (render_submit(ButtonKind::Primary, "Save", None))
                    button type="submit" name="step" value="preview" { "Preview" }
                    (render_link_button(ButtonKind::Ghost, "Cancel", &urls::node_url(&node.path)))
                    span.quiet.label { kbd { "Ctrl" } " " kbd { "Enter" } " saves. What you type is kept in this tab until then." }
                }
            }
        }
    }

    fn render_preview(&self) -> Markup {
        let node = &self.found.plan.plan.node;
        let title = describe_plan(self.text).title;
        let title = title.as_deref().unwrap_or("Preview");
        let rendered = markdown::render_plan(self.text, title, node.file_path.as_deref());
        html! {
            section.preview #preview aria-label="Preview" tabindex="0" {
                h2 dir="auto" { (title) }
                div.prose dir="auto" { (rendered.body) }
            }
        }
    }
}
