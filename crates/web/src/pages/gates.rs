//! Page *Gates*: counters per gate, and hook latency per host.

use axum::extract::State;
use maud::{Markup, html};

use super::{NavigationEntry, render_page};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::{Dashboard, GateReport};

pub(crate) async fn gates_page(State(dashboard): State<Dashboard>) -> Result<Page, Refusal> {
    // The ledger is a file of the program, so it comes through a trait.
    let hooks = dashboard.hooks.clone();
    let report = dashboard.ask(move |ctx| hooks.report(ctx)).await?;
    Ok(render_page(
        NavigationEntry::Progress,
        "Gates",
        &render_content(&report),
    ))
}

fn render_content(report: &GateReport) -> Markup {
    html! {
        h1 { "Gates" }
        section #ledger data-live {
            p.quiet { (report.events) " hook events, " (report.faults) " that could not be checked" }
            @if report.gates.is_empty() { p.quiet { "No gate has fired yet." } } @else {
                div.scroll tabindex="0" role="region" aria-label="What the gates did" { table.numbers {
                    thead { tr {
                        th scope="col" { "Gate" } th scope="col" { "Fired" } th scope="col" { "Blocked" }
                        th scope="col" { "Warned" } th scope="col" { "Overridden" } th scope="col" { "Heeded" }
                    } }
                    tbody { @for (gate, counts) in &report.gates { tr {
                        th scope="row" { (gate) }
                        td { (counts.fires) } td { (counts.blocks) } td { (counts.warnings) }
                        td { (counts.overrides) } td { (counts.catches) }
                    } } }
                } }
            }
        }
        section #latency data-live {
            h2 { "Hook latency" }
            @if report.hosts.is_empty() { p.quiet { "No hook has run yet." } } @else {
                div.scroll tabindex="0" role="region" aria-label="Hook latency per host" { table.numbers {
                    thead { tr {
                        th scope="col" { "Host" } th scope="col" { "Events" } th scope="col" { "p50" }
                        th scope="col" { "p99" } th scope="col" { "Blocked" } th scope="col" { "Faults" }
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
