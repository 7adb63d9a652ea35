//! Page *Inbox*, the start page: what waits for the reader as a queue, and the plan to decide about
//! beside it.
//!
//! The difference to the last approved text comes first, then why the plan waits, its text beside its
//! parent, and the comments. A decision leads to the next plan of the queue.

use application::inbox::{
    InboxGroup, InboxItem, InboxView, LevelCount, MAX_GROUP_ITEMS, PlanName, WaitCause,
};
use application::node_page::{NodePage, load_node_page};
use application::open_gates::OpenGate;
use application::plan_batch::count_undecided;
use application::reviews::status::EscalatedItem;
use application::views::DiffView;
use axum::extract::{Query, State};
use domain::diff::DiffLineKind;
use domain::text::count_with_noun;
use maud::{Markup, html};
use serde::Deserialize;

use super::comments::render_comments;
use super::decision_bar::render_decision_bar;
use super::new_plan::render_new_link;
use super::reviews::render_check;
use super::{
    NavigationEntry, diff, link_by_title, link_to_node, node, render_message, render_page,
    render_principal, render_status, render_time,
};
use crate::api::{inbox_view, now_view};
use crate::components::{
    ButtonKind, render_closer, render_counter, render_dialog, render_empty_state,
    render_link_button, render_opener,
};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::titles::PlanTitles;
use crate::{Dashboard, urls};

/// Query of the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct InboxQuery {
    /// The plan to open; the first of the queue without one, or if it does not wait.
    plan: String,
    /// The finding of a review to open instead: its key.
    finding: String,
}

/// What is beside the queue, and its place in it.
struct ChosenItem<'i> {
    entry: QueueEntry<'i>,
    /// The page of the plan; a finding has none.
    page: Option<NodePage>,
    number: usize,
    total: usize,
    previous: Option<QueueEntry<'i>>,
    next: Option<QueueEntry<'i>>,
    /// Of the subjects of findings.
    titles: &'i PlanTitles,
}

/// An entry of the queue.
#[derive(Clone, Copy)]
enum QueueEntry<'i> {
    Plan(&'i InboxItem),
    Finding(&'i EscalatedItem),
}

impl QueueEntry<'_> {
    /// Returns what tells it from the other entries.
    fn key(&self) -> String {
        match self {
            Self::Plan(item) => item.plan.path.clone(),
            Self::Finding(one) => finding_key(one),
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Plan(item) => urls::inbox_url(&item.plan.path),
            Self::Finding(one) => finding_url(&one.subject, &one.item.id),
        }
    }

    /// Returns the path of a plan, for the form of the decision before it.
    fn plan_path(&self) -> Option<&str> {
        match self {
            Self::Plan(item) => Some(&item.plan.path),
            Self::Finding(_) => None,
        }
    }
}

fn finding_key(one: &EscalatedItem) -> String {
    format!("{}:{}", one.subject, one.item.id)
}

/// Returns the address of a finding in the inbox.
pub(crate) fn finding_url(subject: &str, check: &str) -> String {
    urls::with_query("/", &[("finding", &format!("{subject}:{check}"))])
}

pub(crate) async fn inbox_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Query(asked): Query<InboxQuery>,
) -> Result<Page, Refusal> {
    let inbox = inbox_view(&dashboard).await?;
    let subjects = inbox.findings.iter().map(|one| one.subject.clone());
    let titles = dashboard.load_titles(subjects).await;
    let plans = inbox.queue_items().map(QueueEntry::Plan);
    let findings = inbox.findings.iter().map(QueueEntry::Finding);
    let entries: Vec<QueueEntry<'_>> = plans.chain(findings).collect();
    let is_asked = |entry: &QueueEntry<'_>| match entry {
        QueueEntry::Plan(item) => item.plan.path == asked.plan,
        QueueEntry::Finding(one) => finding_key(one) == asked.finding,
    };
    let at = entries.iter().position(is_asked);
    let chosen = match entries.get(at.unwrap_or(0)).copied() {
        Some(entry) => {
            let page = match entry {
                QueueEntry::Plan(item) => {
                    let words = [item.plan.path.clone()];
                    let loaded = dashboard.ask(move |ctx| load_node_page(ctx, &words, None));
                    loaded.await.ok()
                }
                QueueEntry::Finding(_) => None,
            };
            let at = at.unwrap_or(0);
            // A plan that is gone since is no longer in the queue of the next request.
            let is_there = page.is_some() || matches!(entry, QueueEntry::Finding(_));
            is_there.then(|| ChosenItem {
                entry,
                page,
                number: at + 1,
                // Of everything that waits, also where a long group is not listed to its end.
                total: inbox.count,
                previous: at.checked_sub(1).and_then(|at| entries.get(at)).copied(),
                next: entries.get(at + 1).copied(),
                titles: &titles,
            })
        }
        None => None,
    };
    let first_steps = match inbox.plans {
        0 => now_view(&dashboard).await?.first_steps,
        _ => Vec::new(),
    };
    let undecided = match inbox.count {
        0 => {
            dashboard
                .ask_tree(|_, known| Ok(count_undecided(known)))
                .await?
        }
        _ => 0,
    };
    let nothing = NothingWaits {
        first_steps,
        undecided,
    };
    let is_open = at.is_some();
    Ok(render_page(
        NavigationEntry::Inbox,
        "Inbox",
        &render_content(&rights, &inbox, chosen.as_ref(), &nothing, is_open, &titles),
    ))
}

fn render_content(
    rights: &Rights,
    inbox: &InboxView,
    chosen: Option<&ChosenItem<'_>>,
    nothing: &NothingWaits,
    is_open: bool,
    titles: &PlanTitles,
) -> Markup {
    let key = chosen.map(|chosen| chosen.entry.key());
    html! {
        // On a phone there is room for one of the two: the plan if one was opened.
        div.inbox data-open[is_open] {
            (render_queue(rights, inbox, key.as_deref(), titles))
            @match chosen {
                Some(chosen) => (render_chosen(rights, chosen)),
                None => div.pane { (nothing.render(rights, inbox)) },
            }
        }
        (render_keys())
    }
}

/// Renders the queue. A changed queue is not put in place while it is read: the script offers it.
fn render_queue(
    rights: &Rights,
    inbox: &InboxView,
    chosen: Option<&str>,
    titles: &PlanTitles,
) -> Markup {
    let plans = inbox.queue_items().map(QueueEntry::Plan);
    let findings = inbox.findings.iter().map(QueueEntry::Finding);
    // Without spaces, which separate them.
    let keys: Vec<String> = plans
        .chain(findings)
        .map(|entry| entry.key().replace(' ', "_"))
        .collect();
    html! {
        section.queue #queue aria-label="What needs you" data-pull=(keys.join(" ")) data-poll {
            header {
                h1 { "Inbox" }
                (render_counter(&count_with_noun(inbox.count, "decision", "decisions")))
                (render_opener(ButtonKind::Ghost, "Keys", "keys", Some('?')))
            }
            @for group in &inbox.groups { (render_group(rights, group, chosen)) }
            @if !inbox.findings.is_empty() {
                section.group #escalated {
                    header { h2 { "Reviews that wait for you" } (render_counter(&inbox.findings.len().to_string())) }
                    ol { @for one in &inbox.findings { li { (render_queue_finding(one, chosen, titles)) } } }
                }
            }
            @if !inbox.stopped.is_empty() {
                section.group #blocked {
                    header { h2 { "Stopped agents" } (render_counter(&inbox.stopped.len().to_string())) }
                    ol { @for gate in &inbox.stopped { li.stopped { (render_open_gate(gate)) } } }
                }
            }
            @if !inbox.returned.is_empty() {
                details.group #returned {
                    summary { "The agent's turn " (render_counter(&inbox.returned.len().to_string())) }
                    ol { @for one in inbox.returned.iter().take(MAX_GROUP_ITEMS) {
                        li.stopped {
                            (link_by_title(&one.plan.path, one.plan.title.as_deref()))
                            @if one.is_rejected { " " span.tag { "rejected" } }
                            p.quiet.label dir="auto" { (render_principal(&one.request.by)) ": " (one.request.text) }
                        }
                    } }
                }
            }
        }
    }
}

fn render_group(rights: &Rights, group: &InboxGroup, chosen: Option<&str>) -> Markup {
    let can_decide = rights.allow("approve-plans") || rights.allow("request-changes-of-plans");
    let has_chosen = group
        .items
        .iter()
        .any(|item| Some(item.plan.path.as_str()) == chosen);
    html! {
        section.group {
            header {
                h2 dir="auto" { (describe_cause(group)) }
                (render_counter(&describe_levels(&group.touched)))
                @if can_decide && group.total > 1 && group.cause != WaitCause::Unusable {
                    a.all href={ "/decide?group=" (urls::encode_query_value(&group.group_key())) } data-key=[has_chosen.then_some("b")] {
                        "Decide all " (group.total) span.hidden { ": " (describe_cause(group)) }
                    }
                }
            }
            ol { @for item in &group.items { li { (render_queue_item(item, chosen)) } } }
            @if group.total > group.items.len() {
                p.quiet.label { "and " (group.total - group.items.len()) " more, after these" }
            }
        }
    }
}

fn render_queue_item(item: &InboxItem, chosen: Option<&str>) -> Markup {
    let path = item.plan.path.as_str();
    html! {
        a.item data-item=(path) href=(urls::inbox_url(path)) aria-current=[(chosen == Some(path)).then_some("true")] {
            (render_shape(item))
            span.name dir="auto" { (item.plan.display_name()) }
            span.below {
                span.id { (path) } " · " (render_time(item.since))
                @if let Some(first) = item.stopped.first() { " · " strong { "‖ " (first.display_name()) " waits" } }
            }
        }
    }
}

fn render_queue_finding(one: &EscalatedItem, chosen: Option<&str>, titles: &PlanTitles) -> Markup {
    let key = finding_key(one);
    let is_chosen = chosen == Some(key.as_str());
    html! {
        a.item data-item=(key) href=(QueueEntry::Finding(one).url()) aria-current=[is_chosen.then_some("true")] {
            span.shape aria-hidden="true" { "◇" }
            span.name dir="auto" { (one.item.check) }
            span.below dir="auto" {
                (titles.name_of(&one.subject))
                @if let Some(finding) = &one.item.finding { " · " (finding) }
            }
        }
    }
}

/// Renders the status of an item as its symbol, with the word for those who do not see it.
fn render_shape(item: &InboxItem) -> Markup {
    html! {
        span.status data-status=(item.status.as_str()) title=(item.status.label()) {
            span.shape aria-hidden="true" { (item.status.symbol()) }
            span.hidden { (item.status.label()) }
        }
    }
}

/// Returns what caused the plans of a group to wait.
pub(super) fn describe_cause(group: &InboxGroup) -> String {
    let origin = group.origin.as_ref().map(PlanName::display_name);
    match (group.cause, origin) {
        (WaitCause::Changed, Some(origin)) => format!("{origin} changed"),
        (WaitCause::Changed, None) => "Changed".to_owned(),
        (WaitCause::New, Some(parent)) => format!("New in {parent}"),
        (WaitCause::New, None) => "New".to_owned(),
        (WaitCause::Unusable, _) => "Missing or unreadable".to_owned(),
    }
}

/// Returns the numbers of plans per level: `8 chapters, 29 scenes`.
pub(super) fn describe_levels(levels: &[LevelCount]) -> String {
    let parts = levels
        .iter()
        .map(|one| count_with_noun(one.count, &one.level, &pluralise_level(&one.level)));
    parts.collect::<Vec<_>>().join(", ")
}

fn pluralise_level(level: &str) -> String {
    match level.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if level.ends_with('s') => level.to_owned(),
        _ => format!("{level}s"),
    }
}

fn render_open_gate(gate: &OpenGate) -> Markup {
    html! {
        p { span.tag { (gate.gate) } " stopped " (gate.host) " at " strong { (gate.plan.as_deref().unwrap_or("its work")) } }
        @match &gate.waits_for {
            Some(waits) => p { "It waits for " (link_to_node(&waits.path)) ", which is " (render_status(waits.status)) "." },
            // Gates without a plan to decide about: the rule says what has to happen.
            None => p.quiet.label { (gate.rule) },
        }
        p.quiet.label { "session " (gate.session) " · " (render_time(gate.at)) }
    }
}

fn render_chosen(rights: &Rights, chosen: &ChosenItem<'_>) -> Markup {
    match (chosen.entry, &chosen.page) {
        (QueueEntry::Plan(item), Some(page)) => render_item(rights, chosen, item, page),
        (QueueEntry::Finding(one), _) => render_finding(rights, chosen, one),
        // A plan is chosen with its page only.
        (QueueEntry::Plan(_), None) => html! {},
    }
}

/// Renders the way to the neighbours in the queue.
fn render_steps(chosen: &ChosenItem<'_>) -> Markup {
    html! {
        span.steps {
            @if let Some(previous) = chosen.previous { a href=(previous.url()) rel="prev" aria-label="Previous" { "‹" } }
            span.number { (chosen.number) " of " (chosen.total) }
            @if let Some(next) = chosen.next { a href=(next.url()) rel="next" aria-label="Next" { "›" } }
        }
    }
}

/// Renders a finding that a person has to decide, with the forms of the page *Reviews*.
fn render_finding(rights: &Rights, chosen: &ChosenItem<'_>, one: &EscalatedItem) -> Markup {
    let pull = format!("{} {}", finding_key(one), one.item.version);
    html! {
        article.pane #item data-pull=(pull) aria-label=(one.item.check) {
            header.item-head {
                p.place { a.back href="/" { "‹ Queue" } a href="/reviews" { "Reviews" } (render_steps(chosen)) }
                h2.title dir="auto" { (one.item.check) }
                p.about { "A finding in the review of " (chosen.titles.link_to(&one.subject)) }
            }
            (render_check(&one.subject, &one.item, rights.allow("conclude"), "/"))
        }
    }
}

fn render_item(
    rights: &Rights,
    chosen: &ChosenItem<'_>,
    item: &InboxItem,
    page: &NodePage,
) -> Markup {
    let follower = chosen.next.or(chosen.previous);
    let next = follower.as_ref().and_then(QueueEntry::plan_path);
    let node = &page.plan.plan.node;
    let version = node.version_hash.map(|version| version.to_string());
    let pull = format!("{} {}", version.unwrap_or_default(), node.status);
    html! {
        article.pane #item data-pull=(pull) aria-label=(item.plan.display_name()) {
            header.item-head {
                p.place {
                    a.back href="/" { "‹ Queue" }
                    @for above in &page.family.ancestors { a href=(urls::node_url(&above.path)) dir="auto" { (above.name()) } span aria-hidden="true" { " / " } }
                    span.id { (node.entity_id) }
                    (render_steps(chosen))
                }
                h2.title dir="auto" { (item.plan.display_name()) }
                p.about {
                    (render_status(item.status)) " " span.quiet { (item.entity_type) " · " (render_time(item.since)) } " "
                    a.on-page href=(urls::node_url(&item.plan.path)) { "Open its page" }
                }
                (node::render_work(&page.family))
            }
            @for stopped in &item.stopped {
                p.notice { strong { "‖ " (stopped.display_name()) " waits" } " for this decision, began " (render_time(stopped.at)) span.quiet { " · session " (stopped.session) } }
            }
            (render_warnings(page))
            (render_change(page))
            @if let Some(why) = &page.why { (node::render_explanation(why, page)) }
            (node::render_beside(page))
            (render_comments(rights, &page.comments, true))
            (render_decision_bar(rights, page, Some(next.unwrap_or_default()), &render_consequence(item)))
        }
    }
}

fn render_warnings(page: &NodePage) -> Markup {
    html! {
        @if !page.plan.warnings.is_empty() {
            section.notice #warnings {
                h3 { "Not in the parent" }
                ul { @for warning in &page.plan.warnings { li { (render_message(warning)) } } }
            }
        }
    }
}

/// Renders the difference to the last approved text; a text that was never approved follows in full.
fn render_change(page: &NodePage) -> Markup {
    let Some(question) = &page.question else {
        return html! {};
    };
    html! {
        @if let Some(requested) = question.change_request() {
            section.notice #requested {
                h3 { "Changes requested" }
                p.note dir="auto" { (requested.reason) }
                p.quiet.label { (render_principal(&requested.by)) " · " (render_time(requested.at)) }
            }
        }
        @if let (Some(base), Some(change)) = (&question.base, &question.change) {
            @if !change.hunks.is_empty() {
                section.change #change {
                    header {
                        h3 { "Changed since it was approved" }
                        span.quiet.label { "by " (render_principal(&base.by)) ", " (render_time(base.at)) }
                        (render_size(change))
                    }
                    (diff::render_diff(change))
                }
            }
        }
    }
}

fn render_size(change: &DiffView) -> Markup {
    let lines = || change.hunks.iter().flat_map(|hunk| &hunk.lines);
    let count = |kind: DiffLineKind| lines().filter(|line| line.kind == kind).count();
    html! {
        span.size {
            ins { "+" (count(DiffLineKind::Added)) } " " del { "−" (count(DiffLineKind::Removed)) }
            span.hidden { " lines" }
        }
    }
}

/// Says what follows a decision.
fn render_consequence(item: &InboxItem) -> Markup {
    html! {
        @if !item.below.is_empty() { (describe_levels(&item.below)) " below wait for it" }
    }
}

/// What stands beside an empty queue.
struct NothingWaits {
    first_steps: Vec<String>,
    /// Number of plans that nobody has to decide about, and that can be decided.
    undecided: usize,
}

impl NothingWaits {
    fn render(&self, rights: &Rights, inbox: &InboxView) -> Markup {
        if inbox.plans == 0 {
            return html! {
                section #first-steps {
                    (render_empty_state("This project has no plan yet", &html! { "Plans are Markdown files. Create the first one here, begin in a terminal, or tell your agent:" }, &render_new_link(rights)))
                    ul.cards { @for step in &self.first_steps { li.card { (render_first_step(step)) } } }
                }
            };
        }
        let text = match (inbox.findings.is_empty(), self.undecided) {
            (false, _) => "No plan waits. The findings of reviews on the left do.".to_owned(),
            (true, 0) => "Every plan is decided. New ones come here by themselves.".to_owned(),
            (true, undecided) => format!(
                "{} undecided, and no work waits for that. What needs you comes here by itself.",
                count_with_noun(undecided, "plan is", "plans are")
            ),
        };
        let actions = html! {
            @if self.undecided > 0 { (render_link_button(ButtonKind::Plain, "Show the undecided", "/decide")) }
            (render_link_button(ButtonKind::Plain, "Open the tree", "/tree"))
            (render_link_button(ButtonKind::Plain, "See what agents do", "/sessions"))
        };
        render_empty_state("Nothing waits for a decision", &html! { (text) }, &actions)
    }
}

/// Renders a command with what it is for.
fn render_first_step(step: &str) -> Markup {
    html! {
        @match step.split_once("   # ") {
            Some((command, purpose)) => { code { (command) } " " span.quiet { (purpose) } },
            None => code { (step) },
        }
    }
}

/// Renders the help about keys.
fn render_keys() -> Markup {
    const KEYS: &[(&str, &str)] = &[
        ("J", "next plan of the queue"),
        ("K", "previous plan"),
        ("A", "approve, or keep as it is"),
        ("R", "request changes"),
        ("X", "reject"),
        ("C", "comment; with marked words, at that place"),
        ("B", "decide all plans of the group"),
        ("U", "undo what was just done"),
        ("Ctrl K", "search and jump"),
        ("Esc", "close, or go back one level"),
        ("?", "this list"),
    ];
    render_dialog(
        "keys",
        "Keys",
        &html! {
            dl.keys { @for (key, meaning) in KEYS { dt { kbd { (key) } } dd { (meaning) } } }
            div.buttons { (render_closer("keys", "Close")) }
        },
    )
}
