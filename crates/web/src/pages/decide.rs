//! Page *Decide*: every plan of a subtree that waits for a person, with one answer for all of them.
//!
//! The form carries the versions of exactly the plans on the page, so that a text that is not on it
//! cannot be approved with it.

use application::answer_question::Answer;
use application::approval_question::ApprovalQuestion;
use application::decide_plans::{PlansDecided, preview_batch_answer};
use application::inbox::{is_review_item, list_waiting_items, load_inbox};
use application::plan_batch::{
    BatchPart, BatchPurpose, BatchQuestion, PlanSelection, WaitingPlans, build_batch_part,
};
use application::tree_cache::CachedTree;
use application::{Context, Failure};
use axum::Extension;
use axum::extract::{Path, Query, State};
use domain::approval::Force;
use domain::authorization::AuthenticatedPrincipal;
use domain::node::Status;
use domain::plan_document::render_node_markdown;
use domain::text::count_with_noun;
use maud::{Markup, html};
use serde::Deserialize;

use super::inbox::describe_cause;
use super::{
    NavigationEntry, diff, link_by_title, link_to_node, render_message, render_page,
    render_principal, render_status,
};
use crate::components::{
    ButtonKind, render_closer, render_dialog, render_link_button, render_opener, render_page_head,
    render_submit,
};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::titles::PlanTitles;
use crate::urls::encode_query_value;
use crate::{Dashboard, markdown};

/// Maximum number of plans on a page. Those above come before those below, so the first ones can be
/// decided without the rest.
const MAX_PLANS_ON_PAGE: usize = 100;
/// Maximum number of other plans named in the preview.
const MAX_LISTED_CHANGES: usize = 200;

/// Query of the page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DecideQuery {
    /// A group of the inbox; without one, everything that waits in the subtree.
    group: String,
    /// Paths of plans to leave out, separated by commas.
    without: String,
}

/// Everything on the page.
struct DecidePage {
    title: String,
    top: String,
    asked: DecideQuery,
    question: BatchQuestion,
    /// Number of plans, where the page shows only the first.
    waiting: usize,
    /// Number of decisions of the inbox among them.
    in_inbox: usize,
    /// What an approval would change; `None` for a reader who may not approve.
    preview: Option<PlansDecided>,
    /// Of the parents.
    titles: PlanTitles,
}

/// Everything that waits, or a group of the inbox.
pub(crate) async fn decide_everything_page(
    dashboard: State<Dashboard>,
    rights: Rights,
    reader: Extension<AuthenticatedPrincipal>,
    asked: Query<DecideQuery>,
) -> Result<Page, Refusal> {
    decide_page(dashboard, rights, reader, Path(String::new()), asked).await
}

/// What waits in a subtree.
pub(crate) async fn decide_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Extension(reader): Extension<AuthenticatedPrincipal>,
    Path(top): Path<String>,
    Query(asked): Query<DecideQuery>,
) -> Result<Page, Refusal> {
    let mut title = match top.as_str() {
        "" => "Decide".to_owned(),
        top => format!("Decide about {top}"),
    };
    let mut selection = PlanSelection::Below {
        node: match top.as_str() {
            "" => Vec::new(),
            path => vec![path.to_owned()],
        },
        waiting: WaitingPlans::All,
        except: Vec::new(),
    };
    if !asked.group.is_empty() {
        let (cause, paths) = find_group(&dashboard, asked.group.clone()).await?;
        (title, selection) = (cause, PlanSelection::Named(paths));
    }
    let (wanted, may_approve) = (asked.clone(), rights.allow("approve"));
    let below = top.clone();
    let found = dashboard
        .ask_tree_as(reader.principal, move |ctx, known| {
            let found = build_page(ctx, known, &selection, &wanted, may_approve)?;
            Ok((found, count_inbox_plans(ctx, known, &below)?))
        })
        .await?;
    let ((question, waiting, preview), in_inbox) = found;
    let parents = question.questions.iter();
    let parents = parents.filter_map(|one| one.parent_path.clone());
    let changed = preview.iter().flat_map(|it| &it.changed_entities);
    let changed = changed.map(|one| one.path.clone());
    let named: Vec<String> = parents.chain(changed).chain([top.clone()]).collect();
    let titles = dashboard.load_titles(named).await;
    if let Some(name) = titles.title_of(&top).filter(|_| asked.group.is_empty()) {
        title = format!("Decide about {name}");
    }
    let page = DecidePage {
        title,
        top,
        asked,
        question,
        waiting,
        in_inbox,
        preview,
        titles,
    };
    Ok(render_page(
        NavigationEntry::Inbox,
        "Decide",
        &render_content(&rights, &page),
    ))
}

/// Returns the title and the plans of a group of the inbox.
async fn find_group(dashboard: &Dashboard, key: String) -> Result<(String, Vec<String>), Failure> {
    dashboard
        .ask_tree(move |ctx, known| {
            // Without the blocked steps: they do not change which plans a group has.
            let inbox = load_inbox(ctx, known, &[])?;
            let group = inbox.groups.iter().find(|group| group.group_key() == key);
            let group = group.ok_or_else(|| {
                Failure::not_found("no plan of this group waits any more").with_step("tl status")
            })?;
            let paths = group.items.iter().map(|item| item.plan.path.clone());
            Ok((describe_cause(group), paths.collect()))
        })
        .await
}

/// Returns how many plans of the inbox are at or below a path.
fn count_inbox_plans(ctx: &Context<'_>, known: &CachedTree, top: &str) -> Result<usize, Failure> {
    let waiting = list_waiting_items(ctx, known)?;
    let is_in = |path: &str| {
        let below = path.strip_prefix(top);
        top.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let plans = waiting.iter().filter(|one| !is_review_item(one));
    Ok(plans.filter(|one| is_in(&one.path)).count())
}

/// Builds the question about the plans, and what its answer would change.
fn build_page(
    ctx: &Context<'_>,
    known: &CachedTree,
    selection: &PlanSelection,
    asked: &DecideQuery,
    may_approve: bool,
) -> Result<(BatchQuestion, usize, Option<PlansDecided>), Failure> {
    let without: Vec<&str> = asked
        .without
        .split(',')
        .filter(|it| !it.is_empty())
        .collect();
    let part = BatchPart {
        without: &without,
        most: MAX_PLANS_ON_PAGE,
    };
    let (question, waiting) = build_batch_part(ctx, known, selection, BatchPurpose::Approve, part)?;
    let preview = match waiting > 0 && may_approve {
        // Warnings are on the page; the preview is of what happens when they are accepted. A rule that
        // refuses the answer says so when it is given.
        true => {
            let answer = Answer::Approve { force: Force::Yes };
            preview_batch_answer(ctx, &question.asked_questions(), &answer).ok()
        }
        false => None,
    };
    Ok((question, waiting, preview))
}

fn render_content(rights: &Rights, page: &DecidePage) -> Markup {
    let DecidePage {
        question, waiting, ..
    } = page;
    let shown = question.questions.len();
    let about = html! {
        @if shown == 0 { "Nothing waits for a decision." }
        @else {
            (count_with_noun(*waiting, "undecided plan", "undecided plans"))
            // The rest is below those, or of a kind that needs no approval; here it can be decided too.
            @if page.asked.group.is_empty() && page.in_inbox < *waiting { ", " (page.in_inbox) " of them in the inbox" }
            ", with what changed in each. One answer decides all of them, as one operation that one undo takes back." }
    };
    let back = render_link_button(ButtonKind::Plain, "Back to the inbox", "/");
    html! {
        (render_page_head(&page.title, &about, &back))
        @if shown < *waiting {
            p.notice { "The first " (shown) " of " (waiting) " plans. The others follow when these are decided." }
        }
        @if let Some(preview) = &page.preview { (render_preview(preview, &page.titles)) }
        @for (at, one) in question.questions.iter().enumerate() { (render_plan(page, at, one)) }
        @if !question.left_out.is_empty() {
            section #left-out {
                h2 { "Left out" }
                ul { @for one in &question.left_out { li { (link_to_node(&one.path)) " " (render_message(&one.reason)) } } }
            }
        }
        @if shown > 0 { (render_answers(rights, page)) }
    }
}

/// Renders what an approval changes besides the plans of the page.
fn render_preview(preview: &PlansDecided, titles: &PlanTitles) -> Markup {
    let changed = &preview.changed_entities;
    let is_valid = |status: Status| status == Status::Approved;
    let valid = changed
        .iter()
        .filter(|one| is_valid(one.new_status))
        .count();
    html! {
        section.notice #preview {
            p {
                "With your yes, " strong { (count_with_noun(preview.plans.len(), "plan is", "plans are")) " approved" }
                @if valid > 0 { ", and " (count_with_noun(valid, "plan below becomes", "plans below become")) " valid again" }
                "."
            }
            @if !changed.is_empty() {
                details { summary { "What changes below" }
                    ul.rows { @for one in changed.iter().take(MAX_LISTED_CHANGES) {
                        li { (titles.link_to(&one.path)) span.end { (render_status(one.previous_status)) span aria-label="becomes" { "→" } (render_status(one.new_status)) } }
                    } }
                    @if changed.len() > MAX_LISTED_CHANGES { p.quiet { "and " (changed.len() - MAX_LISTED_CHANGES) " more" } }
                }
            }
        }
    }
}

fn render_answers(rights: &Rights, page: &DecidePage) -> Markup {
    let questions = &page.question.questions;
    let number = questions.len();
    // The same fields in both forms: a decision is about exactly the texts on this page.
    let bound = html! {
        input type="hidden" name="top" value=(page.top);
        input type="hidden" name="group" value=(page.asked.group);
        input type="hidden" name="shown" value=(list_versions(&page.question));
    };
    let has_warnings = questions.iter().any(|one| !one.warnings.is_empty());
    // Only if all of them are stale: for a draft among them, yes is more than keeping.
    let are_stale = questions
        .iter()
        .all(|one| one.status == Status::RequiresRevalidation);
    let label = match (are_stale, number) {
        (true, 1) => "Keep it as it is".to_owned(),
        (true, number) => format!("Keep all {number} as they are"),
        (false, number) => format!(
            "Approve {} as shown",
            count_with_noun(number, "plan", "plans")
        ),
    };
    html! {
        section.decision-bar #decide aria-label="Decide" {
            @if rights.allow("approve-plans") { form.agree action="/do/approve-plans" method="post" {
                (bound)
                @if are_stale { input type="hidden" name="keeps" value="yes"; }
                @if has_warnings {
                    label.check { input type="checkbox" name="force" value="warnings" required; "I have read the warnings" }
                }
                (render_submit(ButtonKind::Primary, &label, Some('a')))
            } } @else { (rights.explain_missing("approve-plans")) }
            @if rights.allow("request-changes-of-plans") {
            (render_opener(ButtonKind::Plain, "Request changes of all", "request-changes", Some('r')))
            (render_dialog("request-changes", "Request changes of all of them", &html! {
                form action="/do/request-changes-of-plans" method="post" {
                    (bound)
                    div.field {
                        label for="what-to-change" { "What has to change; the agent gets these words" }
                        textarea #what-to-change name="text" rows="5" required maxlength="10000" autofocus {}
                    }
                    div.buttons { (render_closer("request-changes", "Cancel")) (render_submit(ButtonKind::Primary, "Request changes", None)) }
                }
            }))
            }
        }
    }
}

/// Renders everything the question about one plan shows.
fn render_plan(page: &DecidePage, at: usize, question: &ApprovalQuestion) -> Markup {
    let mut above = page.question.questions.iter().take(at);
    // The same difference, not only the same parent: siblings may have been approved against
    // different texts of it, and nothing is decided that was not shown.
    let change_of = |one: &ApprovalQuestion| {
        let change = one.parent_changes.as_ref()?;
        Some((one.parent_path.clone(), change.unified.clone()))
    };
    let change = change_of(question);
    let is_repeated = change.is_some() && above.any(|other| change_of(other) == change);
    let without = match page.asked.without.as_str() {
        "" => question.path.clone(),
        others => format!("{others},{}", question.path),
    };
    html! {
        section.card.asked {
            header {
                h2 dir="auto" { (link_by_title(&question.path, question.title.as_deref())) " " (render_status(question.status)) }
                @if page.question.questions.len() > 1 {
                    a.quiet.label.on-page href={ "?group=" (encode_query_value(&page.asked.group)) "&without=" (encode_query_value(&without)) } { "Leave out" span.hidden { " " (question.path) } }
                }
            }
            @for warning in &question.warnings { p.note { "Warning: " (render_message(warning)) } }
            @if let Some(requested) = question.change_request() {
                p.note dir="auto" { "Changes requested by " (render_principal(&requested.by)) ": " (requested.reason) }
            }
            @match &question.change {
                Some(change) if change.hunks.is_empty() => p.quiet { "Its own text is unchanged since it was approved." },
                Some(change) => { p.quiet { "Changed since it was approved" } (diff::render_diff(change)) },
                None => {
                    p.quiet { "It was never approved. The whole text:" }
                    @let text = question.text.as_deref().unwrap_or_default();
                    // First what it says, then the bytes that are decided about: rendered Markdown leaves out
                    // front matter and comments, and a plan document is JSON.
                    @let document = render_node_markdown(&question.entity_type, text);
                    div.prose dir="auto" { (markdown::render_file(document.as_deref().unwrap_or(text), None)) }
                    details.exact open[document.is_none() && markdown::leaves_out(text)] { summary { "The exact text, all of which is approved" } pre dir="auto" tabindex="0" { (text) } }
                },
            }
            @if let (Some(parent), Some(change)) = (&question.parent_path, &question.parent_changes) {
                // Once, with the first plan that it touches.
                @if is_repeated { p.quiet { "The same change of its parent " em dir="auto" { (page.titles.name_of(parent)) } " as above." } } @else {
                    p.quiet { "Changed in its parent " em dir="auto" { (page.titles.name_of(parent)) } }
                    (diff::render_diff(change))
                }
            }
        }
    }
}

/// Lists the plans on the page for the form: path, version and the parent's version or `-`.
fn list_versions(question: &BatchQuestion) -> String {
    let plans = question.questions.iter().map(|one| {
        let parent = one.parent_version_hash.map(|hash| hash.to_string());
        format!(
            "{} {} {}",
            one.path,
            one.version_hash,
            parent.as_deref().unwrap_or("-")
        )
    });
    plans.collect::<Vec<_>>().join(" ")
}
