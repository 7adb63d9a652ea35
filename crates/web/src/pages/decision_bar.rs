//! The decisions about one plan, for its page and the inbox: agree, request changes, reject, comment.
//!
//! Every form carries the versions that are on the page, so that a decision about another text is
//! refused. What needs words is a dialog, which opens without a script.

use application::node_page::{NodePage, PlanView};
use domain::node::Status;
use domain::plan_document::MILESTONES_PROFILE;
use domain::text::count_with_noun;
use maud::{Markup, html};

use super::{link_to_node, render_status};
use crate::components::{ButtonKind, render_closer, render_dialog, render_opener, render_submit};
use crate::frame::Rights;
use crate::{markdown, urls};

/// Maximum number of plans listed below a rejection.
const MAX_LISTED_BELOW: usize = 20;

/// Renders the decisions about a plan. In the inbox, `next` is the plan that follows; empty after the
/// last one.
pub(crate) fn render_decision_bar(
    rights: &Rights,
    found: &NodePage,
    next: Option<&str>,
    about: &Markup,
) -> Markup {
    let view = &found.plan;
    let node = &view.plan.node;
    let place = html! {
        input type="hidden" name="node" value=(node.path);
        @if let Some(next) = next { input type="hidden" name="next" value=(next); }
    };
    // Without a text there is nothing to decide about.
    let bound = node.version_hash.map(|version| {
        // The same fields in every form of the bar, so that no form can forget the version.
        html! {
            (place)
            input type="hidden" name="version" value=(version);
            @if let Some(above) = view.parent.as_ref().and_then(|parent| parent.node.version_hash) {
                input type="hidden" name="parent_version" value=(above);
            }
        }
    });
    html! {
        @if bound.is_some() && rights.allow("approve") { (render_exact_text(found)) }
        section.decision-bar #decide data-live aria-label="Decide" {
            @if let Some(bound) = &bound { (render_consent(rights, view, bound)) }
            @if bound.is_some() && rights.allow("request-changes") {
                (render_opener(ButtonKind::Plain, "Request changes", "request-changes", Some('r')))
            }
            @if bound.is_some() && rights.allow("condemn") {
                (render_opener(ButtonKind::Danger, "Reject", "reject", Some('x')))
            }
            @if rights.allow("comment") {
                (render_opener(ButtonKind::Ghost, "Comment", "add-comment", Some('c')))
            }
            span.about { (about) }
            @if let Some(bound) = &bound { (render_objection_dialogs(rights, bound, found)) }
            @if rights.allow("comment") { (render_comment_dialog(&place)) }
        }
    }
}

/// Renders the bytes of a text that was never approved. Rendered Markdown leaves out front matter, link
/// definitions and comments, which an agent reads all the same; later texts are shown as a difference,
/// which leaves nothing out.
fn render_exact_text(found: &NodePage) -> Markup {
    let node = &found.plan.plan.node;
    let is_first = node.approval.is_none() && node.status != Status::Approved;
    let text = found.plan.plan.text.as_deref().filter(|_| is_first);
    // A ticket waits for nobody's approval, and of a plan document all is in its readable form.
    let is_asked_for = found.family.ticket.is_none() && node.profile != MILESTONES_PROFILE;
    html! {
        @if let Some(text) = text {
            details.exact #exact-text open[is_asked_for && markdown::leaves_out(text)] {
                summary { "The exact text, all of which is approved" }
                pre dir="auto" tabindex="0" { (text) }
            }
        }
    }
}

fn render_objection_dialogs(rights: &Rights, bound: &Markup, found: &NodePage) -> Markup {
    let falls_below = &found.falls_below;
    let reject = match falls_below.is_empty() {
        true => "Reject",
        false => "Reject, with all below",
    };
    html! {
        @if rights.allow("request-changes") {
            (render_dialog("request-changes", "Request changes", &html! {
                form action="/do/request-changes" method="post" {
                    (bound)
                    div.field {
                        label for="what-to-change" { "What has to change; the agent gets these words" }
                        textarea #what-to-change name="text" rows="5" required maxlength="10000" autofocus {}
                    }
                    div.buttons { (render_closer("request-changes", "Cancel")) (render_submit(ButtonKind::Primary, "Request changes", None)) }
                }
            }))
        }
        @if rights.allow("condemn") {
            (render_dialog("reject", "Reject this plan", &html! {
                @if found.family.children.is_empty() { p.quiet { "Nothing is below it." } }
                @else if falls_below.is_empty() { p.quiet { "What is below it is undecided already, and waits for the next text." } }
                @else {
                    p { (count_with_noun(falls_below.len(), "plan", "plans")) " below become stale with it." }
                    details { summary { "Which" }
                        ul { @for path in falls_below.iter().take(MAX_LISTED_BELOW) { li { (link_to_node(path)) } } }
                        @if falls_below.len() > MAX_LISTED_BELOW { p.quiet { "and " (falls_below.len() - MAX_LISTED_BELOW) " more" } }
                    }
                }
                form action="/do/condemn" method="post" {
                    (bound)
                    div.field {
                        label for="why-condemned" { "Why it must not be used" }
                        textarea #why-condemned name="text" rows="3" required maxlength="10000" autofocus {}
                    }
                    div.buttons { (render_closer("reject", "Cancel")) (render_submit(ButtonKind::Danger, reject, None)) }
                }
            }))
        }
    }
}

pub(super) fn render_comment_dialog(place: &Markup) -> Markup {
    render_dialog(
        "add-comment",
        "Comment for the agent",
        &html! {
            form action="/do/comment" method="post" {
                (place)
                input type="hidden" name="section" value="";
                div.field {
                    label for="about-words" { "About these words (optional)" }
                    textarea #about-words name="quote" rows="2" maxlength="1000" placeholder="Mark words in the text, or paste them" {}
                }
                div.field {
                    label for="say" { "It decides nothing; an agent that waits gets it at once. Markdown works." }
                    textarea #say name="text" rows="5" required maxlength="10000" autofocus {}
                }
                div.buttons { (render_closer("add-comment", "Cancel")) (render_submit(ButtonKind::Primary, "Comment", None)) }
            }
        },
    )
}

/// Renders the form that agrees to a plan, or why there is none: only what can succeed is offered.
fn render_consent(rights: &Rights, view: &PlanView, bound: &Markup) -> Markup {
    let node = &view.plan.node;
    let overridden = match node.status {
        Status::Invalid => "rejection",
        _ => "warnings",
    };
    // Only where there is something to override: an always visible checkbox would be ticked by
    // habit.
    let despite = html! {
        @if !view.warnings.is_empty() || node.status == Status::Invalid {
            label.check { input type="checkbox" name="force" value=(overridden) required; "I have read the warnings" }
        }
    };
    let holds = node.approval.as_ref().is_some_and(|it| it.holds);
    let undecided_parent = view
        .parent
        .as_ref()
        .map(|parent| &parent.node)
        .filter(|parent| parent.status != Status::Approved);
    let agree = |action: &str, label: &str| {
        html! {
            form.agree action=(action) method="post" { (bound) (despite) (render_submit(ButtonKind::Primary, label, Some('a'))) }
        }
    };
    html! {
        @match (node.status, undecided_parent) {
            (Status::Approved, _) => p.quiet { "Nothing to decide: exactly this text is approved." },
            // An approval is against the parent's text, so the parent comes first.
            (_, Some(parent)) => p {
                "The plan above is decided first: "
                a href=(urls::node_url(&parent.path)) { (parent.title.as_deref().unwrap_or(&parent.entity_id)) }
                " " (render_status(parent.status))
            },
            // A draft has no approval to renew; the decision about its parent settles it.
            (Status::RequiresRevalidation, None) if !holds => p.quiet { "Nothing to decide yet: this draft follows its parent." },
            _ if !rights.allow("approve") => (rights.explain_missing("approve")),
            (Status::RequiresRevalidation, None) => (agree("/do/revalidate", "Keep as it is")),
            (Status::Draft | Status::Invalid, None) => (agree("/do/approve", "Approve this text")),
        }
    }
}
