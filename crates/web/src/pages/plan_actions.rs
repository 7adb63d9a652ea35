//! What can be done with a plan beside deciding about it: edit, add below, and set phase, progress and
//! priority. The forms are in a dialog, which opens without a script.

use application::node_family::TicketFacts;
use application::node_page::NodePage;
use domain::node::Progress;
use domain::work::triage::Priority;
use maud::{Markup, html};

use super::edit::is_editable;
use super::gates::explain_url;
use super::shape_form::ShapeKind;
use crate::components::{ButtonKind, render_closer, render_dialog, render_opener};
use crate::frame::Rights;
use crate::urls;

/// Renders the actions of a plan's page.
pub(crate) fn render_plan_actions(rights: &Rights, found: &NodePage) -> Markup {
    let node = &found.plan.plan.node;
    let path = node.path.as_str();
    let may_set = rights.allow("progress") && node.version_hash.is_some();
    html! {
        div.plan-actions {
            @if rights.allow("edit") && is_editable(found) {
                a.button.small href=(urls::edit_url(path)) data-key="e" aria-keyshortcuts="e" { "Edit" kbd aria-hidden="true" { "E" } }
            }
            @if may_set { (render_opener(ButtonKind::Small, "Set progress", "set-work", Some('s'))) }
            @if rights.allow("create") && found.can_have_children {
                a.button.small href=(urls::with_query("/new", &[("under", path)])) data-key="n" aria-keyshortcuts="n" { "New below" kbd aria-hidden="true" { "N" } }
            }
            (render_more(rights, found))
            @if may_set { (render_work_dialog(found)) }
        }
    }
}

/// Renders the menu of what is done less often: changes of shape, and other views of the plan.
fn render_more(rights: &Rights, found: &NodePage) -> Markup {
    let path = found.plan.plan.node.path.as_str();
    let has_children = !found.family.children.is_empty();
    html! {
        details.menu.more {
            summary { "More" span aria-hidden="true" { " ▾" } }
            ul {
                @if rights.allow("shape") && is_editable(found) {
                    @for kind in ShapeKind::ALL.into_iter().filter(|kind| *kind != ShapeKind::Renumber || has_children) {
                        li { a href=(urls::shape_url(kind.as_str(), path)) { (kind.verb()) " …" } }
                    }
                }
                @if has_children { li { a href=(urls::with_query("/graph", &[("under", path)])) { "Graph" } } }
                @if is_editable(found) { li { a href=(explain_url(path)) { "What the gates say" } } }
            }
        }
    }
}

fn render_work_dialog(found: &NodePage) -> Markup {
    let node = &found.plan.plan.node;
    let form = |action: &str, label: &str, options: &[(&str, bool)], extra: &Markup| {
        let field = format!("set-{action}");
        html! {
            form.set action={ "/do/" (action) } method="post" {
                input type="hidden" name="node" value=(node.path);
                input type="hidden" name="back" value=(urls::node_url(&node.path));
                label for=(field) { (label) }
                // The key that opens the dialog leads into it.
                select id=(field) name="to" autofocus[action == "progress"] { @for (word, is_now) in options { option value=(word) selected[*is_now] { (word) } } }
                (extra)
                button.small type="submit" { "Set" span.hidden { " " (label) } }
            }
        }
    };
    let progress: Vec<(&str, bool)> = Progress::ALL
        .iter()
        .map(|one| (one.as_str(), *one == node.progress))
        .collect();
    let blocked = found
        .family
        .blocked
        .as_ref()
        .map_or("", |one| one.text.as_str());
    let ticket = |facts: &TicketFacts| {
        let phase = found.family.phase.as_deref();
        let phases: Vec<(&str, bool)> = facts
            .phases
            .iter()
            .map(|one| (one.as_str(), Some(one.as_str()) == phase))
            .collect();
        let priorities: Vec<(&str, bool)> = Priority::ALL
            .iter()
            .map(|one| (one.as_str(), *one == facts.priority))
            .collect();
        let reason = html! {
            label for="set-reason" { "Reason, if a phase is skipped" }
            input #set-reason type="text" name="reason" autocomplete="off" maxlength="500";
        };
        html! {
            (form("phase", "Phase", &phases, &reason))
            (form("priority", "Priority", &priorities, &html! {}))
        }
    };
    let content = html! {
        (form("progress", "Progress", &progress, &html! {
            label for="set-blocked" { "Reason, if it is blocked" }
            input #set-blocked type="text" name="reason" value=(blocked) dir="auto" autocomplete="off" maxlength="500";
        }))
        @if let Some(facts) = &found.family.ticket { (ticket(facts)) }
        div.buttons { (render_closer("set-work", "Close")) }
    };
    render_dialog("set-work", "Set progress", &content)
}
