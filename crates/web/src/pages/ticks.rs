//! Page *Ticks*: plans and actions of the tick loop, failures, prose, and cost.

use application::show_ticks::{SceneView, TickView, TicksView, show_ticks};
use application::tick::spending::SpendingView;
use axum::extract::{Query, State};
use domain::text::count_with_noun;
use domain::tick::TickStatus;
use domain::tick::execute::ExecutedAction;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::{NavigationEntry, render_message, render_page, render_time};
use crate::api::Ticks;
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::titles::PlanTitles;
use crate::{Dashboard, urls};

pub(crate) async fn ticks_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Query(asked): Query<Ticks>,
) -> Result<Page, Refusal> {
    // The page shows the newest ticks; the link below loads all of them.
    let limit = asked.clamped_limit();
    let found = dashboard
        .ask_tree(move |ctx, known| show_ticks(ctx, known, limit))
        .await?;
    let scenes = found.scenes.iter().map(|one| one.generation.scene.clone());
    let titles = dashboard.load_titles(scenes).await;
    Ok(render_page(
        NavigationEntry::Story,
        "Story",
        &render_content(&rights, &found, &titles),
    ))
}

fn render_content(rights: &Rights, found: &TicksView, titles: &PlanTitles) -> Markup {
    let TicksView {
        novel,
        current_tick,
        active_character,
        ticks,
        ticks_total,
        scenes,
        spent,
    } = found;
    html! {
        h1 { "Story" }
        section #story data-live {
            @if ticks.is_empty() && scenes.is_empty() {
                p.quiet { "The loop has not run here. " code { "tl story tick" } " plans the next step of a story and carries it out; "
                    code { "tl story write" } " writes its scenes." }
            } @else {
                p {
                    @if let Some(novel) = novel { strong { (novel) } " · " }
                    "tick " span.number { (current_tick) }
                    @if let Some(character) = active_character { " · with " (character) }
                }
                @if spent.calls > 0 { p.quiet { "Together: " (format_spending(spent)) } }
            }
        }
        section #scenes data-live {
            @if !scenes.is_empty() {
                h2 { "Prose" }
                ul.cards { @for scene in scenes { li.card { (render_scene(scene, titles)) } } }
            }
        }
        section #ticks data-live {
            @if !ticks.is_empty() { h2 { "The loop" } }
            @for tick in ticks { (render_tick(rights, tick)) }
            @if *ticks_total > ticks.len() {
                nav.pages aria-label="Parts of the list" { a href={ "/story?limit=" (ticks_total) } { "All " (ticks_total) } }
            }
        }
    }
}

fn render_scene(scene: &SceneView, titles: &PlanTitles) -> Markup {
    let generation = &scene.generation;
    html! {
        p {
            (titles.link_to(&generation.scene)) " " span.tag { (generation.status.as_str()) }
            @if generation.file.is_none() { " " span.quiet { "at: " (generation.step.as_str()) } }
            @if generation.stale { " " span.tag { "its blueprint has changed" } }
        }
        p.quiet {
            span.number { (generation.words) } " words by " (generation.writer)
            @if generation.revisions > 0 { " · revised " (count_with_noun(generation.revisions as usize, "time", "times")) }
            @if let Some(spent) = &scene.spent { " · " (format_spending(spent)) }
        }
        @if let Some(error) = &generation.error { p.problem { (error) } }
        @if !generation.findings.is_empty() {
            ul { @for finding in &generation.findings { li {
                span.tag { (finding.check) } " " (finding.problem)
                @if let Some(quote) = &finding.quote { " " q { (quote) } }
            } } }
        }
        @if generation.file.is_some() { p { a href={ "/prose/" (urls::encode_path(&generation.scene)) } { "Read it" } } }
    }
}

fn render_tick(rights: &Rights, tick: &TickView) -> Markup {
    let record = &tick.record;
    html! {
        article.card.tick {
            h3 {
                "Tick " span.number { (record.tick) } " "
                span.outcome data-outcome=(record.status.as_str()) {
                    span.shape aria-hidden="true" { (status_symbol(record.status)) } (record.status.as_str())
                }
            }
            @if !record.plan.scene_intention.is_empty() { p { (record.plan.scene_intention) } }
            p.quiet {
                (render_time(record.at)) " · planned by " (record.planner)
                @if record.failures > 0 { " · failed " (count_with_noun(record.failures as usize, "time", "times")) }
                @if let Some(spent) = &tick.spent { " · " (format_spending(spent)) }
            }
            @for error in &record.errors { p.problem role="note" { (render_message(error)) } }
            @for warning in &record.warnings { p.quiet { (warning) } }
            @if tick.is_open && rights.allow("retry") {
                div.acts {
                    form action="/do/retry" method="post" {
                        input type="hidden" name="tick" value=(record.tick);
                        input type="hidden" name="tick_at" value=(record.at.as_millis());
                        button.primary type="submit" { "Retry" span.hidden { " tick " (record.tick) } }
                    }
                    form action="/do/skip" method="post" {
                        input type="hidden" name="tick" value=(record.tick);
                        input type="hidden" name="tick_at" value=(record.at.as_millis());
                        button type="submit" { "Skip" span.hidden { " (tick " (record.tick) ")" } }
                    }
                }
            }
            @if !record.plan.actions.is_empty() {
            details open[tick.is_open] {
                summary { "Plan, " (record.executed.iter().filter(|one| one.success).count()) " of " (record.plan.actions.len()) " actions done" }
                @if !record.plan.rationale.is_empty() { p.note { (record.plan.rationale) } }
                ol.actions {
                    @for (index, action) in record.plan.actions.iter().enumerate() {
                        @let run = record.executed.iter().find(|run| run.action_index == index);
                        li {
                            p {
                                code { (action.tool) } " " span.tag { (describe_run(run)) }
                                @if let Some(reason) = &action.reason { " " (reason) }
                            }
                            (render_arguments(run.map_or(&action.args, |run| &run.args)))
                            @if let Some(error) = run.and_then(|run| run.error.as_ref()) { p.problem { (error) } }
                            @if let Some(result) = run.and_then(|run| run.result.as_ref()) {
                                details { summary { "Result" } pre tabindex="0" { (pretty_json(result)) } }
                            }
                        }
                    }
                }
                @if !record.plan.expected_outcomes.is_empty() {
                    p.quiet { "Expected:" }
                    ul { @for outcome in &record.plan.expected_outcomes { li { (outcome) } } }
                }
            }
            }
        }
    }
}

fn describe_run(run: Option<&ExecutedAction>) -> &'static str {
    match run {
        // Actions after a failed one have no run.
        None => "not run",
        Some(run) if run.success => "done",
        Some(_) => "failed",
    }
}

fn status_symbol(status: TickStatus) -> &'static str {
    match status {
        TickStatus::Planned => "○",
        TickStatus::Done => "✓",
        // Both have failed; the word next to the symbol tells them apart.
        TickStatus::Failed | TickStatus::Parked => "✗",
        TickStatus::Skipped => "–",
    }
}

fn render_arguments(args: &Map<String, Value>) -> Markup {
    html! {
        @if !args.is_empty() {
            dl.arguments { @for (name, value) in args {
                dt { (name) } dd { @match value { Value::String(text) => (text), other => code { (other) } } }
            } }
        }
    }
}

fn pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Formats spending. Unknown prices are named: counting them as zero would understate the cost.
fn format_spending(spent: &SpendingView) -> String {
    let calls = count_with_noun(spent.calls, "call", "calls");
    let tokens = match spent.calls_without_tokens {
        0 => format!(
            "{} tokens in, {} out",
            spent.input_tokens, spent.output_tokens
        ),
        // A sum of nothing would read as zero tokens.
        unknown if unknown == spent.calls => "tokens unknown".to_owned(),
        unknown => format!(
            "{} tokens in, {} out and {unknown} unknown",
            spent.input_tokens, spent.output_tokens
        ),
    };
    // Per call, because a run may mix models with and without a known price.
    let price = match (
        spent.calls - spent.calls_without_price.min(spent.calls),
        spent.calls_without_price,
    ) {
        (0, _) => "price unknown".to_owned(),
        (_, 0) => format_dollars(spent.cost_micros),
        (_, unknown) => format!(
            "{} and {unknown} of unknown price",
            format_dollars(spent.cost_micros)
        ),
    };
    format!("{calls}, {tokens}, {price}")
}

fn format_dollars(micros: u64) -> String {
    format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_free() {
        let spent = SpendingView {
            calls: 2,
            input_tokens: 10,
            output_tokens: 5,
            cost_micros: 12_345,
            ..Default::default()
        };
        assert_eq!(
            format_spending(&spent),
            "2 calls, 10 tokens in, 5 out, $0.0123"
        );
        let partly = SpendingView {
            calls_without_price: 1,
            ..spent.clone()
        };
        assert_eq!(
            format_spending(&partly),
            "2 calls, 10 tokens in, 5 out, $0.0123 and 1 of unknown price"
        );
        let unknown = SpendingView {
            calls: 1,
            calls_without_price: 1,
            calls_without_tokens: 1,
            ..SpendingView::default()
        };
        assert_eq!(
            format_spending(&unknown),
            "1 call, tokens unknown, price unknown"
        );
    }
}
