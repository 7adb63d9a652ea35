//! Pages that change the shape of the tree: insert, move, rename, split, merge, renumber, remove. Each
//! shows everything that would change before the form that does it, and works without JavaScript.

use application::shape::{
    ChangeShapeRequest, ShapeChoices, ShapeOutcome, change_shape, list_shape_choices,
};
use application::show_node::show_node;
use application::{Context, Failure};
use axum::Extension as Who;
use axum::extract::{Form, Path, Query, State};
use axum::response::Redirect;
use domain::authorization::AuthenticatedPrincipal;
use domain::ids::VersionHash;
use maud::{Markup, html};

use super::shape_form::{ShapeForm, ShapeKind};
use super::shape_preview::render_preview;
use super::{NavigationEntry, render_message, render_page};
use crate::actions::ActionDone;
use crate::components::{
    ButtonKind, Tab, render_link_button, render_page_head, render_submit, render_tabs,
};
use crate::frame::{Page, Rights};
use crate::refusal::{Refusal, render_next_step};
use crate::titles::PlanTitles;
use crate::{Dashboard, urls};

pub(crate) async fn shape_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Path(kind): Path<String>,
    Query(query): Query<ShapeForm>,
) -> Result<Page, Refusal> {
    let Some(kind) = ShapeKind::from_word(&kind) else {
        return Err(Failure::not_found("there is no such page").into());
    };
    let mut form = query;
    // The address says which change it is, whatever the query has.
    kind.as_str().clone_into(&mut form.change);
    let path = form.node.clone();
    let choices = dashboard
        .ask_tree(move |ctx, known| list_shape_choices(ctx, known, &path))
        .await?;
    let preview = match form.wants_preview(kind) {
        true => {
            let asked = form.clone();
            // A refusal belongs beside the choice that has to change.
            let run = move |ctx: &Context<'_>| Ok(preview_change(ctx, &asked));
            Some(dashboard.ask(run).await?)
        }
        false => None,
    };
    let titles = match &preview {
        Some(Ok(ShapePreview { outcome, .. })) => {
            dashboard.load_titles(list_named_paths(outcome)).await
        }
        _ => PlanTitles::default(),
    };
    let title = format!("{} {}", kind.verb(), choices.plan.display_name());
    let page = ShapePage {
        rights: &rights,
        kind,
        form: &form,
        choices: &choices,
        titles: &titles,
        preview: preview.as_ref(),
    };
    Ok(render_page(NavigationEntry::Tree, &title, &page.render()))
}

/// What a change would do, with the digest by which a form says what its reader saw.
struct ShapePreview {
    outcome: ShapeOutcome,
    digest: String,
}

fn preview_change(ctx: &Context<'_>, form: &ShapeForm) -> Result<ShapePreview, Failure> {
    let request = ChangeShapeRequest {
        change: form.to_change()?,
        dry_run: true,
    };
    let outcome = change_shape(ctx, &request)?;
    // The outcome has paths alone, and after an insertion the same path is another plan.
    let versions = form.list_named_plans().map(|name| {
        let words: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
        show_node(ctx, &words)
            .ok()
            .and_then(|plan| plan.version_hash)
    });
    let seen = (&outcome, versions.collect::<Vec<_>>());
    let text = serde_json::to_string(&seen).unwrap_or_default();
    Ok(ShapePreview {
        digest: VersionHash::of_bytes(text.as_bytes()).to_string(),
        outcome,
    })
}

/// Returns the present paths that a preview names.
fn list_named_paths(outcome: &ShapeOutcome) -> Vec<String> {
    let renamed = outcome.renamed.iter().map(|one| one.was.clone());
    let changed = outcome.changed_entities.iter().map(|one| one.path.clone());
    let broken = outcome.broken_needs.iter();
    let broken = broken.flat_map(|one| [one.path.clone(), one.needs.clone()]);
    let removed = outcome.removed.iter().cloned();
    renamed
        .chain(changed)
        .chain(broken)
        .chain(removed)
        .collect()
}

/// Carries a change out as it was previewed, and leads to the plan.
pub(crate) async fn change_plan(
    State(dashboard): State<Dashboard>,
    Who(who): Who<AuthenticatedPrincipal>,
    Form(form): Form<ShapeForm>,
) -> Result<Redirect, Refusal> {
    let kind = ShapeKind::from_word(&form.change)
        .ok_or_else(|| Failure::invalid(format!("there is no change `{}`", form.change)))?;
    let asked = form.clone();
    let outcome = dashboard
        .ask_as(who.principal, move |ctx| carry_out(ctx, &asked))
        .await
        .map_err(Refusal::on(form.preview_url(kind)))?;
    let page = match (&outcome.node, kind) {
        // A plan that was dragged in the tree is looked for there.
        (_, ShapeKind::Move) => "/tree".to_owned(),
        (Some(path), _) => urls::node_url(path),
        (None, _) => match form.node.rsplit_once('/') {
            Some((parent, _)) => urls::node_url(parent),
            None => "/tree".to_owned(),
        },
    };
    let done = match outcome.operation {
        Some(operation) => ActionDone::recorded(kind.done_word(), operation),
        None => ActionDone::without_undo("same-shape"),
    };
    Ok(Redirect::to(&done.address_on(&page)))
}

fn carry_out(ctx: &Context<'_>, form: &ShapeForm) -> Result<ShapeOutcome, Failure> {
    // Paths move when others change the shape: what was previewed may be about another plan by now.
    if !form.seen.is_empty() && form.seen != preview_change(ctx, form)?.digest {
        return Err(Failure::conflict(
            "the plans changed since the preview: it would do something else now",
        )
        .with_step("look at the preview again"));
    }
    let request = ChangeShapeRequest {
        change: form.to_change()?,
        dry_run: false,
    };
    change_shape(ctx, &request)
}

struct ShapePage<'p> {
    rights: &'p Rights,
    kind: ShapeKind,
    form: &'p ShapeForm,
    choices: &'p ShapeChoices,
    titles: &'p PlanTitles,
    preview: Option<&'p Result<ShapePreview, Failure>>,
}

impl ShapePage<'_> {
    fn render(&self) -> Markup {
        let plan = &self.choices.plan;
        let about = html! {
            (self.choices.level) " " code.id { (plan.path) } ". " (self.kind.describe())
        };
        html! {
            nav.lineage aria-label="Above" { ol {
                li { a href="/tree" { "Tree" } }
                li { a href=(urls::node_url(&plan.path)) dir="auto" { (plan.display_name()) } }
                li { span.id aria-current="page" { (self.kind.as_str()) } }
            } }
            (render_page_head(&format!("{} {}", self.kind.verb(), plan.display_name()), &about, &html! {}))
            (self.render_kinds())
            (self.render_form())
            (self.render_outcome())
        }
    }

    /// Renders links to the other changes of the same plan.
    fn render_kinds(&self) -> Markup {
        let has_children = !self.choices.children.is_empty();
        let kinds: Vec<(ShapeKind, String)> = ShapeKind::ALL
            .into_iter()
            .filter(|kind| *kind != ShapeKind::Renumber || has_children)
            .map(|kind| {
                (
                    kind,
                    urls::shape_url(kind.as_str(), &self.choices.plan.path),
                )
            })
            .collect();
        let tabs: Vec<Tab<'_>> = kinds
            .iter()
            .map(|(kind, address)| Tab {
                name: kind.verb(),
                address,
                count: None,
                is_current: *kind == self.kind,
            })
            .collect();
        render_tabs("Changes of shape", &tabs)
    }

    fn render_form(&self) -> Markup {
        let fields = self.form.render_fields(self.kind, self.choices);
        html! {
            @if !self.rights.allow("shape") { (self.rights.explain_missing("shape")) }
            @else if let Some(fields) = fields {
                form.filter action={ "/shape/" (self.kind.as_str()) } method="get" {
                    input type="hidden" name="node" value=(self.form.node);
                    input type="hidden" name="preview" value="1";
                    (fields)
                    (render_submit(ButtonKind::Plain, "Preview", None))
                }
                p.quiet { "Nothing changes before you have seen what does." }
            }
        }
    }

    fn render_outcome(&self) -> Markup {
        html! {
            @match self.preview {
                None => {},
                Some(Err(failure)) => section.notice.refused role="alert" {
                    h2 { "That cannot be done" }
                    p { (render_message(&failure.message)) }
                    @for step in &failure.next_steps { p.quiet { (render_next_step(step)) } }
                },
                Some(Ok(preview)) if preview.outcome.changes_nothing() => section.notice role="status" {
                    p { "There is nothing to change." }
                },
                Some(Ok(preview)) => section.notice #preview role="status" {
                    (render_preview(&preview.outcome, self.titles))
                    (self.render_button(&preview.digest))
                },
            }
        }
    }

    fn render_button(&self, digest: &str) -> Markup {
        let button = match self.kind {
            ShapeKind::Remove => ButtonKind::Danger,
            _ => ButtonKind::Primary,
        };
        html! {
            @if self.rights.allow("shape") {
                form.buttons action="/do/shape" method="post" {
                    @for (name, value) in self.form.list_fields() {
                        @if !value.is_empty() { input type="hidden" name=(name) value=(value); }
                    }
                    input type="hidden" name="seen" value=(digest);
                    (render_submit(button, self.kind.button(), None))
                    (render_link_button(ButtonKind::Ghost, "Leave it as it is", &urls::node_url(&self.form.node)))
                }
                p.quiet { "One operation: its undo puts every file and status back." }
            }
        }
    }
}
