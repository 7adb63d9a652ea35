//! Page of one plan: text, parent, explanation of its status, decisions, versions, evidence, log.

use std::slice::from_ref;

use application::approval_question::ApprovalQuestion;
use application::evidence::EvidenceView;
use application::explain::Explanation;
use application::list_versions::VersionView;
use application::node_family::{NodeFamily, RelatedPlan};
use application::node_page::{NodePage, PlanText, PlanView, load_node_page};
use application::views::DiffView;
use axum::extract::{Path, Query, State};
use domain::node::{Progress, Status};
use domain::text::count_with_noun;
use maud::{Markup, html};
use serde::Deserialize;

use super::{
    NavigationEntry, diff, link_to_node, render_message, render_notice, render_page,
    render_principal, render_progress, render_status, render_time,
};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::{Dashboard, markdown, urls};

/// Maximum number of plans listed below a rejection.
const MAX_LISTED_BELOW: usize = 20;

/// Query of the page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Beside {
    /// The version to compare with.
    version: Option<String>,
    done: Option<String>,
}

pub(crate) async fn node_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Path(path): Path<String>,
    Query(beside): Query<Beside>,
) -> Result<Page, Refusal> {
    let version = beside.version.clone();
    let found = dashboard
        .ask(move |ctx| load_node_page(ctx, from_ref(&path), version.as_deref()))
        .await?;
    // The path, because browsers show it in tabs and history, and titles repeat.
    let title = found.plan.plan.node.path.clone();
    Ok(render_page(
        NavigationEntry::Elsewhere,
        &title,
        &render_content(&rights, &found, &beside),
    ))
}

fn render_content(rights: &Rights, found: &NodePage, beside: &Beside) -> Markup {
    let NodePage {
        plan:
            view @ PlanView {
                plan,
                parent,
                warnings,
                ..
            },
        family,
        question,
        falls_below,
        why,
        versions,
        evidence,
        comments,
        log,
        compared,
    } = found;
    let node = &plan.node;
    let title = node.title.as_deref().unwrap_or(&node.entity_id);
    html! {
        nav.lineage aria-label="Plans above" {
            ol {
                @for above in &family.ancestors { li { a href=(urls::node_url(&above.path)) title=(above.path) dir="auto" { (above.name()) } } }
                li { span.id aria-current="page" { (node.entity_id) } }
            }
        }
        header.node #standing data-live {
            h1 dir="auto" { (title) }
            p { (render_status(node.status)) " " (render_progress(node.progress)) " " span.quiet { (node.entity_type) " · " (node.profile) } }
            (render_work(family))
            @if let Some(reason) = &node.invalidation_reason { p { (render_message(reason)) } }
            @if let Some(file) = &node.file_path { p.quiet { code { (file) } } }
            @if let Some(approval) = &node.approval {
                p.quiet {
                    @if approval.holds { "approved" } @else { "was approved" }
                    " by " (render_principal(&approval.by)) " · " (render_time(approval.at)) " · " code { (approval.version_hash.short_hex()) }
                }
            }
        }
        (render_notice(beside.done.as_deref()))
        @if !warnings.is_empty() {
            section.notice #warnings data-live {
                h2 { "Not in the parent" }
                ul { @for warning in warnings { li { (render_message(warning)) } } }
            }
        }
        @if let Some(why) = why { (render_explanation(why)) }
        @if let Some(question) = question { (render_question(question)) }
        (render_decisions(rights, view, falls_below))
        div.beside {
            article #plan data-live {
                h2 { "The plan" }
                (render_plan_text(plan, title))
                (render_children(&family.children))
            }
            @if let Some(parent) = parent {
                aside #parent data-live aria-label="The plan above" {
                    details open {
                        summary { "Above: " (parent.node.title.as_deref().unwrap_or(&parent.node.entity_id)) " " (render_status(parent.node.status)) }
                        (render_text(parent))
                        p { (link_to_node(&parent.node.path)) }
                    }
                }
            }
        }
        section #comments data-live {
            h2 { "Comments" }
            @if comments.is_empty() { p.quiet { "No comments." } }
            ul.cards { @for said in comments {
                li.card { p.note dir="auto" { (said.text) } p.quiet { (render_principal(&said.by)) " · " (render_time(said.at)) @if !said.open { " · answered" } } }
            } }
        }
        @if rights.allow("comment") {
            form.comment action="/do/comment" method="post" {
                input type="hidden" name="node" value=(node.path);
                label for="say" { "Comment for the agent" }
                textarea #say name="text" rows="3" required maxlength="10000" {}
                button type="submit" { "Comment" }
            }
        }
        (render_versions(rights, node.path.as_str(), versions, compared.as_ref()))
        @if let Some(evidence) = evidence { (render_evidence(evidence)) }
        section #log data-live {
            h2 { "Log" }
            ol.timeline { @for operation in log {
                li { span.tag { (operation.verb.as_str()) } " " (operation.summary)
                    " " span.quiet { (render_principal(&operation.by)) " · " (render_time(operation.at)) } }
            } }
        }
    }
}

/// Minimum number of headings for which a contents list is shorter than scrolling.
const MIN_LISTED_HEADINGS: usize = 4;

/// Renders the text of the page's own plan, with a contents list if it is long.
fn render_plan_text(plan: &PlanText, title: &str) -> Markup {
    let Some(text) = &plan.text else {
        return render_text(plan);
    };
    let rendered = markdown::render_plan(text, title);
    html! {
        @if rendered.headings.len() >= MIN_LISTED_HEADINGS {
            nav.contents aria-label="Contents" { details {
                summary { "Contents" }
                ol { @for heading in &rendered.headings {
                    li data-level=(heading.level) { a href={ "#" (heading.id) } { (heading.text) } }
                } }
            } }
        }
        div.prose dir="auto" { (rendered.body) }
    }
}

/// Renders what a ticket says about the work: phase, level, what it needs, who holds it.
fn render_work(family: &NodeFamily) -> Markup {
    let NodeFamily {
        needs,
        phase,
        work_level,
        holder,
        ..
    } = family;
    html! {
        @if phase.is_some() || work_level.is_some() || holder.is_some() || !needs.is_empty() {
            dl.facts {
                @if let Some(phase) = phase { div { dt { "Phase" } dd { (phase) } } }
                @if let Some(level) = work_level { div { dt { "Level" } dd { (level) } } }
                @if let Some(holder) = holder { div { dt { "Held by" } dd { "session " (holder.session) " until " (render_time(holder.until)) } } }
                @if !needs.is_empty() { div { dt { "Needs" } @for needed in needs {
                    dd { a href=(urls::node_url(&needed.path)) dir="auto" { (needed.name()) } " " span.tag { (needed.progress) } }
                } } }
            }
        }
    }
}

/// Renders the plans below as rows.
fn render_children(children: &[RelatedPlan]) -> Markup {
    let complete = children
        .iter()
        .filter(|child| child.progress == Progress::Complete)
        .count();
    html! {
        @if !children.is_empty() {
            h2 { "Below it " span.quiet { (complete) " of " (children.len()) " complete" } }
            ul.rows { @for child in children {
                li {
                    a href=(urls::node_url(&child.path)) dir="auto" { (child.name()) }
                    @if child.title.is_some() { code.id { (child.entity_id) } }
                    @if let Some(phase) = &child.phase { span.tag { (phase) } }
                    (render_progress(child.progress))
                    (render_status(child.status))
                }
            } }
        }
    }
}

fn render_text(plan: &PlanText) -> Markup {
    html! {
        @match &plan.text {
            Some(text) => div.prose dir="auto" { (markdown::render_markdown(text)) },
            None => p.quiet { "There is no text." },
        }
    }
}

fn render_explanation(why: &Explanation) -> Markup {
    html! {
        section.notice #why data-live {
            h2 { "Why" }
            p { (render_message(&why.summary)) }
            @if why.chain.len() > 1 {
                ol { @for link in &why.chain { li { (link_to_node(&link.path)) " " (render_status(link.status)) " " (render_message(&link.because)) } } }
            }
            @if let Some(change) = &why.diff {
                h3 { "What changed above" }
                (diff::render_diff(change))
            }
        }
    }
}

/// Renders the forms for decisions, each with the version on the page: a decision about another
/// text is refused.
fn render_decisions(rights: &Rights, view: &PlanView, falls_below: &[String]) -> Markup {
    let node = &view.plan.node;
    // Without a text there is nothing to decide about.
    let Some(version) = node.version_hash else {
        return html! {};
    };
    // The same fields in every form of the section, so that no form can forget the version.
    let bound = html! {
        input type="hidden" name="node" value=(node.path);
        input type="hidden" name="version" value=(version);
        @if let Some(above) = view.parent.as_ref().and_then(|parent| parent.node.version_hash) {
            input type="hidden" name="parent_version" value=(above);
        }
    };
    html! {
        section.decide #decide data-live aria-label="Decide" {
            (render_consent(rights, view, &bound))
            @if rights.allow("request-changes") {
                details {
                    summary { "Request changes" }
                    form action="/do/request-changes" method="post" {
                        (bound)
                        label for="what-to-change" { "What has to change; the agent gets these words" }
                        textarea #what-to-change name="text" rows="3" required maxlength="10000" {}
                        button type="submit" { "Request changes" }
                    }
                }
            }
            @if rights.allow("condemn") {
                details {
                    summary { "Reject it" }
                    @if falls_below.is_empty() { p.quiet { "Nothing below it depends on it." } } @else {
                        p { (count_with_noun(falls_below.len(), "plan", "plans")) " below become stale with it:" }
                        ul { @for path in falls_below.iter().take(MAX_LISTED_BELOW) { li { (link_to_node(path)) } } }
                        @if falls_below.len() > MAX_LISTED_BELOW { p.quiet { "and " (falls_below.len() - MAX_LISTED_BELOW) " more" } }
                    }
                    form action="/do/condemn" method="post" {
                        (bound)
                        label for="why-condemned" { "Why it must not be used" }
                        textarea #why-condemned name="text" rows="2" required {}
                        button.danger type="submit" { "Reject, with all below" }
                    }
                }
            }
        }
    }
}

/// Renders the forms that agree to a plan, or why there is none: only what can succeed is offered.
fn render_consent(rights: &Rights, view: &PlanView, bound: &Markup) -> Markup {
    let node = &view.plan.node;
    // Only where there is something to override: an always visible checkbox would be ticked by
    // habit.
    let despite = html! {
        @if !view.warnings.is_empty() || node.status == Status::Invalid {
            label.check { input type="checkbox" name="force" value="yes"; "I have read the warnings above" }
        }
    };
    let holds = node.approval.as_ref().is_some_and(|it| it.holds);
    let undecided_parent = view
        .parent
        .as_ref()
        .map(|parent| &parent.node)
        .filter(|parent| parent.status != Status::Approved);
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
            (Status::RequiresRevalidation, None) => {
                form action="/do/revalidate" method="post" { (bound) (despite) button.primary type="submit" { "Keep as it is" } }
                form action="/do/approve" method="post" { (bound) (despite) button type="submit" { "Approve again" } }
            }
            (Status::Draft | Status::Invalid, None) => {
                form action="/do/approve" method="post" { (bound) (despite) button.primary type="submit" { "Approve this text" } }
            }
        }
    }
}

/// Renders what a decision is about: the change since the approved text. A text that was never
/// approved is below in full.
fn render_question(question: &ApprovalQuestion) -> Markup {
    html! {
        @if let Some(requested) = &question.changes_requested {
            section.notice #requested data-live {
                h2 { "Changes requested" }
                p.note dir="auto" { (requested.text) }
                p.quiet { (render_principal(&requested.by)) " · " (render_time(requested.at)) " · the agent's turn: the next text clears it" }
            }
        }
        @if let Some(change) = &question.change {
            section #change data-live {
                h2 { "Changed since it was approved" }
                (diff::render_diff(change))
            }
        }
    }
}

fn render_versions(
    rights: &Rights,
    path: &str,
    versions: &[VersionView],
    compared: Option<&DiffView>,
) -> Markup {
    // The version a restore replaces, so that an edit since then is a conflict.
    let current = versions.iter().find(|version| version.current);
    html! {
        section #versions data-live {
            h2 { "Versions" }
            @if let Some(compared) = compared { (diff::render_diff(compared)) }
            ol.versions { @for version in versions {
                li.card {
                    p {
                        code { (version.version_hash.short_hex()) } " " (render_time(version.at))
                        @if version.current { " " span.tag { "now" } }
                        @if version.approved { " " span.tag { "approved" } }
                    }
                    p.quiet { (version.operation) @if let Some(size) = version.size { " · " span.number { (size) } " bytes" } }
                    @if !version.current {
                        p.acts {
                            a href={ (urls::node_url(path)) "?version=" (version.version_hash) "#versions" } {
                                "Compare" span.hidden { " with " (version.version_hash.short_hex()) }
                            }
                        }
                        @if rights.allow("restore") { form action="/do/restore" method="post" {
                            input type="hidden" name="node" value=(path);
                            input type="hidden" name="version" value=(version.version_hash);
                            @if let Some(current) = current { input type="hidden" name="replaces" value=(current.version_hash); }
                            button.small type="submit" { "Restore" span.hidden { " " (version.version_hash.short_hex()) } }
                        } }
                    }
                }
            } }
        }
    }
}

fn render_evidence(evidence: &EvidenceView) -> Markup {
    html! {
        section #evidence data-live {
            h2 { "Evidence" }
            p { @if evidence.proved { "Proved." } @else { "Not proved" @if let Some(missing) = &evidence.missing { ": " (missing) } "." } }
            ul { @for proof in &evidence.proofs { li { (proof.words) } } }
        }
    }
}
