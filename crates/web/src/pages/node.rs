//! Page of one plan: text, parent, explanation of its status, decisions, versions, evidence, log.

use std::borrow::Cow;
use std::slice::from_ref;

use application::approval_question::ApprovalQuestion;
use application::evidence::EvidenceView;
use application::explain::Explanation;
use application::list_versions::VersionView;
use application::node_family::{NodeFamily, RelatedPlan, TicketFacts};
use application::node_page::{NodePage, PlanText, PlanView, load_node_page};
use application::views::DiffView;
use axum::extract::{Path, Query, State};
use domain::front_matter::parse_front_matter;
use domain::node::Progress;
use domain::plan_document::{MILESTONES_PROFILE, render_node_markdown};
use domain::text::count_with_noun;
use domain::work::blocked_reason::BlockedReason;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::comments::render_comments;
use super::decision_bar::render_decision_bar;
use super::plan_actions::render_plan_actions;
use super::timeline::operation_url;
use super::{
    NavigationEntry, diff, link_by_title, render_message, render_page, render_principal,
    render_progress, render_status, render_time,
};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::titles::LogTitles;
use crate::{Dashboard, markdown, urls};

/// Query of the page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Beside {
    /// The version to compare with.
    version: Option<String>,
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
    let log_titles = dashboard.load_log_titles(&found.log).await;
    // With the id, because browsers show it in tabs and history, and titles repeat.
    let node = &found.plan.plan.node;
    let title = match &node.title {
        Some(title) => format!("{title} ({})", node.entity_id),
        None => node.path.clone(),
    };
    Ok(render_page(
        NavigationEntry::Elsewhere,
        &title,
        &render_content(&rights, &found, &log_titles),
    ))
}

fn render_content(rights: &Rights, found: &NodePage, log_titles: &LogTitles) -> Markup {
    let NodePage {
        plan: PlanView { plan, warnings, .. },
        family,
        question,
        why,
        versions,
        evidence,
        log,
        compared,
        ..
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
            div.plan-head { h1 dir="auto" { (title) } (render_plan_actions(rights, found)) }
            p { (render_status(node.status)) " " (render_progress(node.progress)) " " span.quiet { (node.entity_type) " · " (node.profile) } }
            @if let Some(blocked) = &family.blocked { (render_blocked(blocked)) }
            (render_work(family))
            @if let Some(words) = found.prose_words {
                p { a href={ "/prose/" (urls::encode_path(&node.path)) } { "Read its prose" } span.quiet { " · " (count_with_noun(words, "word", "words")) } }
            }
            // The explanation below says the same, with the way there.
            @if let Some(reason) = node.invalidation_reason.as_ref().filter(|_| why.is_none()) { p { (render_message(reason)) } }
            @if let Some(file) = &node.file_path { p.quiet { code { (file) } } }
            @if let Some(approval) = &node.approval {
                p.quiet {
                    @if approval.holds { "approved" } @else { "was approved" }
                    " by " (render_principal(&approval.by)) " · " (render_time(approval.at)) " · " code { (approval.version_hash.short_hex()) }
                }
            }
        }
        @if !warnings.is_empty() {
            section.notice #warnings data-live {
                h2 { "Not in the parent" }
                ul { @for warning in warnings { li { (render_message(warning)) } } }
            }
        }
        @if let Some(why) = why { (render_explanation(why, found)) }
        @if let Some(question) = question { (render_question(question)) }
        (render_beside(found))
        (render_comments(rights, &found.comments, false))
        (render_versions(rights, node.path.as_str(), versions, compared.as_ref()))
        @if let Some(evidence) = evidence { (render_evidence(evidence)) }
        section #log data-live {
            h2 { "Log" }
            ol.timeline { @for operation in log {
                li { span.tag { (operation.verb.as_str()) } " " a href=(operation_url(operation.operation)) { (log_titles.render_summary(operation)) }
                    " " span.quiet { (render_principal(&operation.by)) " · " (render_time(operation.at)) } }
            } }
        }
        (render_decision_bar(rights, found, None, &html! {}))
    }
}

/// Renders the text of a plan with the plans below it, beside its parent.
pub(super) fn render_beside(found: &NodePage) -> Markup {
    let PlanView { plan, parent, .. } = &found.plan;
    let title = plan.node.title.as_deref().unwrap_or(&plan.node.entity_id);
    html! {
        div.beside {
            article #plan data-live {
                h2 { "The plan" }
                (render_plan_text(plan, title))
                (render_children(&found.family.children))
            }
            @if let Some(parent) = parent {
                aside #parent data-live aria-label="The plan above" {
                    details open {
                        summary { "Above: " (parent.node.title.as_deref().unwrap_or(&parent.node.entity_id)) " " (render_status(parent.node.status)) }
                        (render_text(parent))
                        p.on-page { a href=(urls::node_url(&parent.node.path)) { "Open it" span.hidden { ": " (parent.node.path) } } }
                    }
                }
            }
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
    let rendered = markdown::render_plan(
        &readable_text(plan, text),
        title,
        plan.node.file_path.as_deref(),
    );
    html! {
        (render_front_matter(text))
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

/// Keys of front matter that the page shows elsewhere, with links and in words.
const SHOWN_KEYS: [&str; 11] = [
    "id", "title", "parent", "children", "needs", "phase", "status", "priority", "due", "labels",
    "aliases",
];

/// Renders the front matter of a plan as fields, without what the page shows elsewhere.
fn render_front_matter(text: &str) -> Markup {
    let front = parse_front_matter(text);
    let fields: Vec<(&String, String)> = front
        .keys
        .iter()
        .filter(|(key, _)| !SHOWN_KEYS.contains(&key.as_str()))
        .filter_map(|(key, value)| Some((key, describe_value(value)?)))
        .collect();
    html! {
        @if let Some(problem) = &front.problem { p.note { "Front matter: " (problem) } }
        @if !fields.is_empty() { dl.facts.front-matter {
            @for (key, value) in &fields { div { dt { (key) } dd dir="auto" { (value) } } }
        } }
    }
}

/// Returns a value of front matter as people write it; `None` for an empty one.
fn describe_value(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().filter_map(describe_value).collect();
            items.join(", ")
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Renders what a ticket says about the work: phase, level, what it needs, who holds it.
pub(super) fn render_work(family: &NodeFamily) -> Markup {
    let NodeFamily {
        needs,
        phase,
        work_level,
        holder,
        ticket,
        ..
    } = family;
    html! {
        @if phase.is_some() || work_level.is_some() || holder.is_some() || !needs.is_empty() || ticket.is_some() {
            dl.facts {
                @if let Some(phase) = phase { div { dt { "Phase" } dd { (phase) } } }
                @if let Some(level) = work_level { div { dt { "Level" } dd { (level) } } }
                @if let Some(facts) = ticket { (render_ticket_facts(facts)) }
                @if let Some(holder) = holder { div { dt { "Held by" } dd { "session " (holder.session) ", ends " (render_time(holder.until)) } } }
                @if !needs.is_empty() { div { dt { "Needs" } @for needed in needs {
                    dd { a href=(urls::node_url(&needed.path)) dir="auto" { (needed.name()) } " " span.tag { (needed.progress) } }
                } } }
            }
        }
    }
}

/// Renders why a plan is blocked.
pub(super) fn render_blocked(blocked: &BlockedReason) -> Markup {
    html! {
        p.obstacle { "Blocked: " span dir="auto" { (blocked.text) } " " span.quiet { (render_principal(&blocked.by)) " · " (render_time(blocked.at)) } }
    }
}

fn render_ticket_facts(facts: &TicketFacts) -> Markup {
    let [complete, scenarios] = facts.scenarios;
    html! {
        div { dt { "Priority" } dd { (facts.priority.as_str()) } }
        @if let Some(due) = &facts.due { div { dt { "Due" } dd { (due) } } }
        @if scenarios > 0 { div { dt { "Scenarios" } dd { (complete) " of " (scenarios) } } }
        @if let Some(cycle) = facts.cycle { div { dt { "Cycle" } dd { (cycle) } } }
        @for session in &facts.sessions {
            div {
                dt { "Uncommitted" }
                dd { (session.lines) " of " (count_with_noun(usize::try_from(session.limit).unwrap_or(usize::MAX), "line", "lines")) span.quiet { " · session " (session.session) } }
            }
        }
        @if !facts.labels.is_empty() { div { dt { "Labels" } @for label in &facts.labels { dd { span.tag { (label) } } } } }
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

/// Returns the Markdown of a plan; that of a plan document is made from its JSON.
fn readable_text<'t>(plan: &PlanText, text: &'t str) -> Cow<'t, str> {
    if plan.node.profile != MILESTONES_PROFILE {
        return Cow::Borrowed(text);
    }
    match render_node_markdown(&plan.node.entity_type, text) {
        Some(readable) => Cow::Owned(readable),
        None => Cow::Owned(format!("```json\n{text}\n```\n")),
    }
}

fn render_text(plan: &PlanText) -> Markup {
    html! {
        @match &plan.text {
            Some(text) => div.prose dir="auto" { (markdown::render_file(&readable_text(plan, text), plan.node.file_path.as_deref())) },
            None => p.quiet { "There is no text." },
        }
    }
}

/// Renders why a plan is stale or rejected: the chain up to what changed, by titles, and the change.
pub(super) fn render_explanation(why: &Explanation, found: &NodePage) -> Markup {
    let node = &found.plan.plan.node;
    // Messages name plans by path or by id.
    let title_of = |name: &str| {
        let own = (name == node.path || name == node.entity_id).then_some(node.title.as_deref());
        let mut above = found.family.ancestors.iter();
        let above = above.find(|plan| plan.path == name || plan.entity_id == name);
        own.or(above.map(|plan| plan.title.as_deref())).flatten()
    };
    html! {
        section.notice #why data-live {
            h2 { "Why" }
            p { (render_named_message(&why.summary, &title_of)) }
            @if why.chain.len() > 1 {
                ol { @for link in &why.chain { li { (link_by_title(&link.path, title_of(&link.path))) " " (render_status(link.status)) " " (render_named_message(&link.because, &title_of)) } } }
            }
            @if let Some(change) = &why.diff {
                h3 { "What changed above" }
                (diff::render_diff(change))
            }
        }
    }
}

/// Renders a message with the names in backticks as titles, where they are known.
fn render_named_message<'t>(text: &str, title_of: &dyn Fn(&str) -> Option<&'t str>) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @match (index % 2 == 1, title_of(part)) {
                (true, Some(title)) => em dir="auto" { (title) },
                (true, None) => code { (part) },
                (false, _) => (part),
            }
        }
    }
}

/// Renders what a decision is about: the change since the approved text. A text that was never
/// approved is below in full.
fn render_question(question: &ApprovalQuestion) -> Markup {
    html! {
        @if let Some(requested) = question.change_request() {
            section.notice #requested data-live {
                h2 { "Changes requested" }
                p.note dir="auto" { (requested.reason) }
                p.quiet { (render_principal(&requested.by)) " · " (render_time(requested.at)) " · the agent's turn: the next text clears it" }
            }
        }
        @if let Some(change) = question.change.as_ref().filter(|change| !change.hunks.is_empty()) {
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
