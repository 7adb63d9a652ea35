//! Page *Gates*: every gate with its mode and what came of it, which of them stop a session now, and
//! what they say about a plan or a file.

use application::Failure;
use application::explain_change::{BlockedChange, ChangeExplanation, explain_change};
use application::open_gates::{OpenGate, list_open_gates};
use application::show_sessions::show_sessions;
use axum::extract::{Query, State};
use domain::gates::{GateUse, list_gate_uses, propose_mode};
use domain::policy::GateMode;
use domain::session_activity::ActivityState;
use domain::text::count_with_noun;
use maud::{Markup, html};
use serde::Deserialize;

use super::{NavigationEntry, render_message, render_page, render_status, render_time};
use crate::components::{ButtonKind, render_page_head, render_section_head, render_submit};
use crate::frame::Page;
use crate::refusal::{Refusal, render_next_step};
use crate::titles::PlanTitles;
use crate::{Dashboard, GateCounts, GateReport, urls};

/// Query of the page: a plan or a file to explain, and the session that would write it.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GatesQuery {
    #[serde(rename = "for")]
    target: String,
    session: String,
}

/// Returns the address at which the gates are explained for a plan.
pub(crate) fn explain_url(path: &str) -> String {
    urls::with_query("/gates", &[("for", path)])
}

pub(crate) async fn gates_page(
    State(dashboard): State<Dashboard>,
    Query(query): Query<GatesQuery>,
) -> Result<Page, Refusal> {
    let target = query.target.trim().to_owned();
    let explained = match target.as_str() {
        "" => None,
        _ => Some(explain(&dashboard, &query.session, &target).await),
    };
    let hooks = dashboard.hooks.clone();
    let (report, open, sessions) = dashboard
        .ask_tree(move |ctx, known| {
            let blocked = hooks.blocked();
            let cards = show_sessions(ctx, known, &blocked)?.into_iter();
            let present = cards.filter(|card| card.state != ActivityState::Gone);
            Ok((
                // The ledger is a file of the program, so it comes through a trait.
                hooks.report(ctx)?,
                list_open_gates(known, &blocked, ctx.clock.now()),
                present.map(|card| card.session).collect::<Vec<_>>(),
            ))
        })
        .await?;
    let mut named: Vec<String> = open.iter().filter_map(|gate| gate.plan.clone()).collect();
    named.extend(
        open.iter()
            .filter_map(|gate| Some(gate.waits_for.as_ref()?.path.clone())),
    );
    if let Some(Ok(found)) = &explained {
        named.push(found.path.clone());
    }
    let page = GatesPage {
        titles: dashboard.load_titles(named).await,
        uses: list_gate_uses(
            &dashboard.workspace.profiles(),
            &dashboard.workspace.policy(),
        ),
        query,
        explained,
        report,
        open,
        sessions,
    };
    Ok(render_page(NavigationEntry::Gates, "Gates", &page.render()))
}

/// Asks the gates about a write by a session; by the local person without one.
async fn explain(
    dashboard: &Dashboard,
    session: &str,
    target: &str,
) -> Result<ChangeExplanation, Failure> {
    let words: Vec<String> = target.split_whitespace().map(str::to_owned).collect();
    let run = move |ctx: &application::Context<'_>| explain_change(ctx, &words);
    match session {
        "" => dashboard.ask(run).await,
        session => dashboard.ask_in_session(session.to_owned(), run).await,
    }
}

struct GatesPage {
    query: GatesQuery,
    /// A refusal belongs beside the words that have to change.
    explained: Option<Result<ChangeExplanation, Failure>>,
    uses: Vec<GateUse>,
    report: GateReport,
    open: Vec<OpenGate>,
    /// The sessions at work.
    sessions: Vec<String>,
    titles: PlanTitles,
}

impl GatesPage {
    fn render(&self) -> Markup {
        let about = html! {
            "A gate stops a step of an agent that must not happen yet, and tells the agent what has to happen first. "
            "A person lets one step pass with " code { "tl gate override GATE NODE --reason …" } "; modes are in the " a href="/settings" { "settings" } "."
        };
        let (used, unused): (Vec<&GateUse>, Vec<&GateUse>) =
            self.uses.iter().partition(|one| one.is_used);
        html! {
            (render_page_head("Gates", &about, &html! {}))
            (self.render_explanation())
            (self.render_open())
            section #ledger data-live {
                (render_section_head("Gates of this project", &used.len().to_string(), &html! {}))
                p.quiet {
                    (count_with_noun(self.report.events, "hook event", "hook events"))
                    @if self.report.faults > 0 { ", " (self.report.faults) " that could not be checked" }
                }
                (self.render_table(&used, "What the gates did"))
                @if !unused.is_empty() {
                    details {
                        summary { (count_with_noun(unused.len(), "gate", "gates")) " of other profiles" }
                        ul.rows { @for one in &unused { li { span { code { (one.gate.name) } } span.end.quiet { "stops " (render_message(one.gate.text)) } } } }
                    }
                }
            }
            (render_latency(&self.report))
        }
    }

    fn render_explanation(&self) -> Markup {
        let GatesQuery { target, session } = &self.query;
        html! {
            section #explain {
                (render_section_head("What would they say?", "", &html! {}))
                form.filter action="/gates" method="get" role="search" {
                    label { "Plan or file" input type="search" name="for" value=(target) size="42" autocomplete="off" placeholder="act-1/chapter-02, src/main.rs"; }
                    @if !self.sessions.is_empty() {
                        label { "Written by" select name="session" {
                            option value="" { "a session of yours" }
                            @for one in &self.sessions { option value=(one) selected[one == session] { "session " (one) } }
                        } }
                    }
                    (render_submit(ButtonKind::Plain, "Explain", None))
                }
                @match &self.explained {
                    None => {},
                    Some(Err(failure)) => div.notice.refused role="alert" {
                        p { (render_message(&failure.message)) }
                        @for step in &failure.next_steps { p { (render_next_step(step)) } }
                    },
                    Some(Ok(found)) => div.notice role="status" {
                        p { (self.titles.link_to_known(&found.path)) }
                        (render_blocks(&found.file_path, &found.blocks))
                        @if let Some(output) = &found.output { (render_blocks(&output.file_path, &output.blocks)) }
                    },
                }
            }
        }
    }

    fn render_open(&self) -> Markup {
        html! {
            section #open data-live {
                (render_section_head("Stopping a session now", &self.open.len().to_string(), &html! {}))
                @if self.open.is_empty() { p.quiet { "No session is stopped." } }
                @else { ul.rows { @for gate in &self.open { li {
                    span {
                        @match &gate.plan {
                            Some(plan) => (self.titles.link_to_known(plan)),
                            None => "a command or a file",
                        }
                        br;
                        span.quiet { "stops " (render_message(gate.rule)) }
                        @if let Some(waits) = &gate.waits_for {
                            br; "Decide about " (self.titles.link_to(&waits.path)) " " (render_status(waits.status))
                        }
                    }
                    span.end.quiet { span.tag { (gate.gate) } " session " code { (gate.session) } " · " (render_time(gate.at)) }
                } } } }
            }
        }
    }

    fn render_table(&self, uses: &[&GateUse], label: &str) -> Markup {
        html! {
            div.scroll tabindex="0" role="region" aria-label=(label) { table.numbers.gates {
                thead { tr {
                    th scope="col" { "Gate" } th scope="col" { "Mode" } th scope="col" { "Stopped" } th scope="col" { "Warned" }
                    th scope="col" { "Followed" } th scope="col" { "Overridden" }
                } }
                tbody { @for one in uses {
                    @let counts = self.report.gates.get(one.gate.name).copied().unwrap_or_default();
                    tr {
                        th scope="row" { (one.gate.name) br; span.quiet { "stops " (render_message(one.gate.text)) (render_notes(one, counts)) } }
                        td.mode data-mode=(one.describe_mode()) { (one.describe_mode()) }
                        (render_counts(counts))
                    }
                } }
            } }
        }
    }
}

/// Renders how often a gate stopped, warned, was followed and overridden.
pub(super) fn render_counts(counts: GateCounts) -> Markup {
    html! {
        td { (counts.blocks) } td { (counts.warnings) }
        // Where a gate waits for something definite, that says more than another allowed step.
        td { @if counts.incidents > 0 { (counts.followed) " of " (counts.incidents) } @else { (counts.catches) } }
        td { (counts.overrides) }
    }
}

/// Renders what else is to be known about a gate: who may override it, and what to change.
fn render_notes(one: &GateUse, counts: GateCounts) -> Markup {
    html! {
        @if let Some((why, _)) = one.gate.never_overridden { br; "Nobody overrides it: " (render_message(why)) "." }
        @if let Some(limits) = &one.limits { br; (limits) }
        @if one.mode != GateMode::Off && one.fails_closed { br; "It also stops a step that cannot be checked." }
        @if let Some(command) = propose_mode(one.gate.name, counts.blocks, counts.overrides) {
            br; "Mostly overridden; to let it only warn: " code { (command) }
        }
    }
}

fn render_blocks(file: &str, blocks: &[BlockedChange]) -> Markup {
    html! {
        @if blocks.is_empty() { p { "No gate would stop a write of " code { (file) } "." } }
        @for block in blocks {
            p { "A write of " code { (file) } " is stopped by " span.tag { (block.gate) } " " (render_message(&block.reason)) "." }
            ul { @for step in &block.next_steps { li { (render_next_step(step)) } } }
        }
    }
}

fn render_latency(report: &GateReport) -> Markup {
    html! {
        section #latency data-live {
            (render_section_head("Hook latency", "", &html! {}))
            @if report.hosts.is_empty() { p.quiet { "No hook has run yet." } } @else {
                div.scroll tabindex="0" role="region" aria-label="Hook latency per host" { table.numbers {
                    thead { tr {
                        th scope="col" { "Host" } th scope="col" { "Events" } th scope="col" { "p50" }
                        th scope="col" { "p99" } th scope="col" { "Stopped" } th scope="col" { "Faults" }
                    } }
                    tbody { @for host in &report.hosts { tr {
                        th scope="row" { (host.host) }
                        td { (host.events) } td { (format_millis(host.p50_micros)) } td { (format_millis(host.p99_micros)) }
                        td { (host.blocks) } td { (host.faults) }
                    } } }
                } }
            }
        }
    }
}

fn format_millis(micros: u64) -> String {
    format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100)
}
