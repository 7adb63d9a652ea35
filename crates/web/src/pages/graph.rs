//! Page *Graph*: what plans need, what a change makes stale, and who is related to whom, drawn on the
//! server. Every node is a link; zoom and search are links and a form, so that no script is needed.

use application::show_graph::{
    GraphKind, GraphNodeView, GraphRequest, GraphView, LINE_HEIGHT, show_graph,
};
use axum::extract::{Query, State};
use domain::layered_graph::NodePlace;
use domain::node::Progress;
use domain::text::count_with_noun;
use maud::{Markup, html};
use serde::Deserialize;

use super::tree::render_chip;
use super::{NavigationEntry, render_message, render_page};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

/// Space around the drawing.
const MARGIN: i32 = 16;
/// Sizes of the drawing in percent. At the smallest, names are 12 pixels high.
const ZOOMS: [u32; 4] = [75, 100, 150, 200];

/// Query of the page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GraphQuery {
    kind: String,
    under: String,
    text: String,
    zoom: Option<u32>,
}

impl GraphQuery {
    fn url(&self) -> String {
        let zoom = self.zoom.map(|zoom| zoom.to_string()).unwrap_or_default();
        urls::with_query(
            "/graph",
            &[
                ("kind", &self.kind),
                ("under", &self.under),
                ("text", &self.text),
                ("zoom", &zoom),
            ],
        )
    }

    fn zoom(&self) -> u32 {
        // An address must not ask for a drawing of any size.
        self.zoom.filter(|zoom| ZOOMS.contains(zoom)).unwrap_or(100)
    }
}

pub(crate) async fn graph_page(
    State(dashboard): State<Dashboard>,
    Query(query): Query<GraphQuery>,
) -> Result<Page, Refusal> {
    let request = GraphRequest {
        kind: query.kind.clone(),
        under: query.under.clone(),
        text: query.text.clone(),
    };
    let graph = dashboard
        .ask_tree(move |ctx, known| show_graph(ctx, known, &request))
        .await?;
    Ok(render_page(
        NavigationEntry::Graph,
        "Graph",
        &render_content(&query, &graph),
    ))
}

fn render_content(query: &GraphQuery, graph: &GraphView) -> Markup {
    html! {
        div.wide {
            h1 { "Graph" }
            div.filters {
                nav.chips aria-label="Graph" {
                    @for kind in GraphKind::ALL {
                        (render_chip(kind_label(kind), &GraphQuery { kind: kind.as_str().to_owned(), ..query.clone() }.url(), kind == graph.kind))
                    }
                }
                nav.chips aria-label="Zoom" {
                    @for zoom in ZOOMS {
                        (render_chip(&format!("{zoom} %"), &GraphQuery { zoom: Some(zoom), ..query.clone() }.url(), zoom == query.zoom()))
                    }
                }
                @if !query.under.is_empty() {
                    nav.chips aria-label="Part" {
                        a.chip aria-current="true" href=(urls::node_url(&query.under)) { "below " (query.under) }
                        (render_chip("whole project", &GraphQuery { under: String::new(), ..query.clone() }.url(), false))
                    }
                }
            }
            form.filter action="/graph" method="get" role="search" {
                input type="hidden" name="kind" value=(graph.kind.as_str());
                @if !query.under.is_empty() { input type="hidden" name="under" value=(query.under); }
                label { "Find" input type="search" name="text" value=(query.text) autocomplete="off"; }
                button type="submit" { "Find" }
                @if !query.text.is_empty() { p.quiet role="status" { (count_with_noun(graph.matches, "node is marked", "nodes are marked")) } }
            }
            section #graph data-live {
                p.quiet { (explain_graph(graph)) }
                @if !graph.nodes.is_empty() {
                    div.scroll.drawing tabindex="0" role="region" aria-label="Drawing" { (render_drawing(graph, query.zoom())) }
                }
                @if graph.hidden > 0 { p.quiet { (graph.hidden) " more are not drawn: open a plan and follow its " em { "Graph" } " to draw the part below it." } }
                @if !graph.problems.is_empty() {
                    h2 { "Ignored needs" }
                    ul { @for problem in graph.problems.iter().take(50) { li { (render_message(problem)) } } }
                }
                (render_list(graph))
            }
        }
    }
}

fn kind_label(kind: GraphKind) -> &'static str {
    match kind {
        GraphKind::Needs => "needs",
        GraphKind::Cascade => "what is stale",
        GraphKind::Relations => "relations",
    }
}

fn explain_graph(graph: &GraphView) -> &'static str {
    match (graph.kind, graph.nodes.is_empty()) {
        (GraphKind::Needs, true) => {
            "No plan needs another one. A plan says so in its front matter: needs: ['017']"
        }
        (GraphKind::Needs, false) => {
            "From what is needed to what needs it; strong lines wait for something that is not complete."
        }
        (GraphKind::Cascade, true) => "There is no plan yet.",
        (GraphKind::Cascade, false) => {
            "From the plans above to those below; strong lines lead to plans that are stale or invalid."
        }
        (GraphKind::Relations, true) => "The story's memory has no relationship.",
        (GraphKind::Relations, false) => "Who is related to whom.",
    }
}

/// Renders the drawing; `zoom` is in percent.
pub(crate) fn render_drawing(graph: &GraphView, zoom: u32) -> Markup {
    let (width, height) = (
        graph.layout.width + 2 * MARGIN,
        graph.layout.height + 2 * MARGIN,
    );
    let scaled = |length: i32| i64::from(length) * i64::from(zoom) / 100;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(scaled(width)) height=(scaled(height))
            viewBox={ (-MARGIN) " " (-MARGIN) " " (width) " " (height) } role="group" aria-label="Graph; the list below has the same content" {
            // Lines before nodes, which cover their ends: SVG draws in the order of the document.
            @for ((edge, points), label) in graph.edges.iter().zip(&graph.layout.edges).zip(&graph.layout.labels) {
                @if points.len() > 1 {
                    path.edge data-active=[edge.is_active.then_some("")] d=(line_path(points)) {}
                    @if let (false, Some((x, y))) = (edge.label.is_empty(), label) {
                        text.edge-label x=(x) y=(y - 4) text-anchor="middle" { (edge.label) }
                    }
                }
            }
            @for (node, place) in graph.nodes.iter().zip(&graph.layout.nodes) { (render_node(graph.kind, node, *place)) }
        }
    }
}

/// Returns the path of a line: curves between the layers.
fn line_path(points: &[(i32, i32)]) -> String {
    let mut path = String::new();
    let mut last: Option<(i32, i32)> = None;
    for (x, y) in points {
        match last {
            None => path.push_str(&format!("M{x} {y}")),
            Some((from_x, from_y)) => {
                let middle = from_x + (x - from_x) / 2;
                path.push_str(&format!("C{middle} {from_y} {middle} {y} {x} {y}"));
            }
        }
        last = Some((*x, *y));
    }
    path
}

fn node_address(kind: GraphKind, node: &GraphNodeView) -> String {
    match kind {
        GraphKind::Relations => urls::with_query("/memory", &[("text", &node.name)]),
        GraphKind::Needs | GraphKind::Cascade => urls::node_url(&node.id),
    }
}

fn render_node(kind: GraphKind, node: &GraphNodeView, place: NodePlace) -> Markup {
    let [width, height] = node.size;
    let status = node.status.map(|status| status.as_str());
    let is_complete = node.progress == Some(Progress::Complete);
    let left = place.x + if node.status.is_some() { 32 } else { 16 };
    html! {
        a.graph-node href=(node_address(kind, node)) data-status=[status] data-match=[node.is_match.then_some("")] data-complete=[is_complete.then_some("")] {
            title { (node.name) @if let Some(note) = &node.note { ", " (note) } @if let Some(status) = node.status { ", " (status) } " (" (node.id) ")" }
            rect x=(place.x) y=(place.y) width=(width) height=(height) rx="6" {}
            @if let Some(status) = node.status {
                text.sign x=(place.x + 10) y=(place.y + height / 2 + 6) aria-hidden="true" { @if is_complete { "●" } @else { (status.symbol()) } }
            }
            @for (index, line) in node.lines.iter().enumerate() {
                text x=(left) y=(place.y + 23 + LINE_HEIGHT * i32::try_from(index).unwrap_or_default()) { (line) }
            }
        }
    }
}

/// Renders the graph as a list, for those who do not see the drawing.
fn render_list(graph: &GraphView) -> Markup {
    let name = |index: usize| {
        graph
            .nodes
            .get(index)
            .map(|node| node.name.as_str())
            .unwrap_or_default()
    };
    let verb = match graph.kind {
        GraphKind::Needs => "is needed by",
        GraphKind::Cascade => "is above",
        GraphKind::Relations => "and",
    };
    html! {
        @if !graph.edges.is_empty() {
            details {
                summary { "The same as a list" }
                ul { @for edge in &graph.edges {
                    li { (name(edge.from)) " " (verb) " " (name(edge.to)) @if !edge.label.is_empty() { ": " (edge.label) } }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_curve_through_its_points() {
        assert_eq!(line_path(&[(0, 10), (100, 30)]), "M0 10C50 10 50 30 100 30");
        assert_eq!(line_path(&[]), "");
    }
}
