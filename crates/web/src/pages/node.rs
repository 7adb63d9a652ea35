//! *Node*: one plan, what it stands below, why it is what it is, and what a person can decide about it.

use application::diff_version::diff_version;
use application::evidence::EvidenceView;
use application::explain::Explanation;
use application::list_versions::VersionView;
use application::read_plan::{PlanText, PlanView};
use application::views::DiffView;
use axum::extract::{Path, Query, State};
use domain::node::Status;
use maud::{Markup, html};
use serde::Deserialize;

use super::{Place, diff, done, progress, shell, status, time, to_node, who, worded};
use crate::api::{Whole, whole};
use crate::refusal::Refusal;
use crate::{Dashboard, markdown, urls};

/// What is shown beside the plan.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Beside {
    /// The version to compare with.
    version: Option<String>,
    done: Option<String>,
}

pub(crate) async fn page(
    State(dashboard): State<Dashboard>,
    Path(path): Path<String>,
    Query(beside): Query<Beside>,
) -> Result<Markup, Refusal> {
    let version = beside.version.clone();
    let (found, compared) = dashboard
        .ask(move |ctx| {
            let found = whole(ctx, &path)?;
            let words = version
                .iter()
                .map(|version| vec![path.clone(), version.clone()]);
            let compared = words
                .map(|words| diff_version(ctx, &words))
                .next()
                .transpose()?;
            Ok((found, compared))
        })
        .await?;
    let title = found.plan.plan.node.path.clone();
    Ok(shell(
        Place::Elsewhere,
        &title,
        &content(&found, compared.as_ref(), &beside),
    ))
}

fn content(found: &Whole, compared: Option<&DiffView>, beside: &Beside) -> Markup {
    let Whole {
        plan:
            view @ PlanView {
                plan,
                parent,
                warnings,
                lineage,
            },
        why,
        versions,
        evidence,
        comments,
        log,
    } = found;
    let node = &plan.node;
    html! {
        nav.lineage aria-label="Plans above" {
            ol { @for above in lineage {
                @let name = above.rsplit('/').next().unwrap_or(above);
                li { @if *above == node.path { span aria-current="page" { (name) } } @else { a href=(urls::node(above)) { (name) } } }
            } }
        }
        header.node #standing data-live {
            h1 dir="auto" { (node.title.as_deref().unwrap_or(&node.entity_id)) }
            p { (status(node.status)) " " (progress(node.progress)) " " span.quiet { (node.entity_type) " · " (node.profile) } }
            @if let Some(reason) = &node.invalidation_reason { p { (worded(reason)) } }
            @if let Some(file) = &node.file_path { p.quiet { code { (file) } } }
            @if let Some(approval) = &node.approval {
                p.quiet {
                    @if approval.holds { "approved" } @else { "was approved" }
                    " by " (who(&approval.by)) " · " (time(approval.at)) " · " code { (approval.version_hash.short_hex()) }
                }
            }
        }
        (done(beside.done.as_deref()))
        @if !warnings.is_empty() {
            section.notice #warnings data-live {
                h2 { "Not in the parent" }
                ul { @for warning in warnings { li { (worded(warning)) } } }
            }
        }
        @if let Some(why) = why { (why_stale(why)) }
        (decide(view))
        div.beside {
            article #plan data-live {
                h2 { "The plan" }
                (text(plan))
                @if !node.children.is_empty() {
                    h2 { "Below it" }
                    ul.children { @for child in &node.children { li { a href=(urls::node(&format!("{}/{child}", node.path))) { (child) } } } }
                }
            }
            @if let Some(parent) = parent {
                aside #parent data-live aria-label="The plan above" {
                    details open {
                        summary { "Above: " (parent.node.path) " " (status(parent.node.status)) }
                        (text(parent))
                        p { (to_node(&parent.node.path)) }
                    }
                }
            }
        }
        section #comments data-live {
            h2 { "Comments" }
            @if comments.is_empty() { p.quiet { "Nobody has said anything." } }
            ul.cards { @for said in comments {
                li.card { p.note dir="auto" { (said.text) } p.quiet { (who(&said.by)) " · " (time(said.at)) @if !said.open { " · answered" } } }
            } }
        }
        form.comment action="/do/comment" method="post" {
            input type="hidden" name="node" value=(node.path);
            label for="say" { "Say something to the agent" }
            textarea #say name="text" rows="3" required maxlength="10000" {}
            button type="submit" { "Comment" }
        }
        (history(node.path.as_str(), versions, compared))
        @if let Some(evidence) = evidence { (proofs(evidence)) }
        section #log data-live {
            h2 { "Log" }
            ol.timeline { @for operation in log {
                li { span.tag { (operation.verb.as_str()) } " " (operation.summary)
                    " " span.quiet { (who(&operation.by)) " · " (time(operation.at)) } }
            } }
        }
    }
}

fn text(plan: &PlanText) -> Markup {
    html! {
        @match &plan.text {
            Some(text) => div.prose dir="auto" { (markdown::rendered(text)) },
            None => p.quiet { "There is no text." },
        }
    }
}

fn why_stale(why: &Explanation) -> Markup {
    html! {
        section.notice #why data-live {
            h2 { "Why" }
            p { (worded(&why.summary)) }
            @if why.chain.len() > 1 {
                ol { @for link in &why.chain { li { (to_node(&link.path)) " " (status(link.status)) " " (worded(&link.because)) } } }
            }
            @if let Some(change) = &why.diff {
                h3 { "What changed above" }
                (diff::shown(change))
            }
        }
    }
}

/// What a person can decide. Bound to the version that is on the page: another text is another decision.
fn decide(view: &PlanView) -> Markup {
    let node = &view.plan.node;
    let Some(version) = node.version_hash else {
        return html! {};
    };
    let bound = html! {
        input type="hidden" name="node" value=(node.path);
        input type="hidden" name="version" value=(version);
        @if let Some(above) = view.parent.as_ref().and_then(|parent| parent.node.version_hash) {
            input type="hidden" name="parent_version" value=(above);
        }
    };
    let despite = html! {
        @if !view.warnings.is_empty() || node.status == Status::Invalid {
            label.check { input type="checkbox" name="force" value="yes"; "I have seen what is said above" }
        }
    };
    html! {
        section.decide #decide data-live aria-label="Decide" {
            @match node.status {
                Status::Approved => p.quiet { "Nothing to decide: exactly this text is approved." },
                Status::RequiresRevalidation => {
                    form action="/do/revalidate" method="post" { (bound) (despite) button.primary type="submit" { "Keep as it is" } }
                    form action="/do/approve" method="post" { (bound) (despite) button type="submit" { "Approve anew" } }
                }
                Status::Draft | Status::Invalid => {
                    form action="/do/approve" method="post" { (bound) (despite) button.primary type="submit" { "Approve this text" } }
                }
            }
            details {
                summary { "Condemn it" }
                form action="/do/condemn" method="post" {
                    (bound)
                    label for="why-condemned" { "Why it must not be used" }
                    textarea #why-condemned name="text" rows="2" required {}
                    button.danger type="submit" { "Condemn, with all below" }
                }
            }
        }
    }
}

fn history(path: &str, versions: &[VersionView], compared: Option<&DiffView>) -> Markup {
    let current = versions.iter().find(|version| version.current);
    html! {
        section #versions data-live {
            h2 { "Versions" }
            @if let Some(compared) = compared { (diff::shown(compared)) }
            ol.versions { @for version in versions {
                li.card {
                    p {
                        code { (version.version_hash.short_hex()) } " " (time(version.at))
                        @if version.current { " " span.tag { "now" } }
                        @if version.approved { " " span.tag { "approved" } }
                    }
                    p.quiet { (version.operation) @if let Some(size) = version.size { " · " span.number { (size) } " bytes" } }
                    @if !version.current {
                        p.acts {
                            a href={ (urls::node(path)) "?version=" (version.version_hash) "#versions" } {
                                "Compare" span.hidden { " with " (version.version_hash.short_hex()) }
                            }
                        }
                        form action="/do/restore" method="post" {
                            input type="hidden" name="node" value=(path);
                            input type="hidden" name="version" value=(version.version_hash);
                            @if let Some(current) = current { input type="hidden" name="replaces" value=(current.version_hash); }
                            button.small type="submit" { "Restore" span.hidden { " " (version.version_hash.short_hex()) } }
                        }
                    }
                }
            } }
        }
    }
}

fn proofs(evidence: &EvidenceView) -> Markup {
    html! {
        section #evidence data-live {
            h2 { "Evidence" }
            p { @if evidence.proved { "Proved." } @else { "Not proved" @if let Some(missing) = &evidence.missing { ": " (missing) } "." } }
            ul { @for proof in &evidence.proofs { li { (proof.words) } } }
        }
    }
}
