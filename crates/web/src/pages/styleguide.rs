//! Page *Styleguide*: every component of the design system, in the theme of the reader. It exists in
//! debug builds only.

use application::views::DiffView;
use domain::burn_up::{DayTotals, PlanTotals};
use domain::diff::compute_hunks;
use domain::node::Status;
use maud::{Markup, html};

use super::tree::render_branch;
use super::{NavigationEntry, diff, render_page, render_status};
use crate::charts::{render_bars, render_burn_up};
use crate::components::{
    ButtonKind, Row, Tab, render_badge, render_closer, render_counter, render_dialog,
    render_empty_state, render_link_button, render_meter, render_opener, render_page_head,
    render_rows, render_section_head, render_submit, render_tabs, render_tag, render_toast,
};
use crate::frame::Page;

pub(crate) async fn styleguide_page() -> Page {
    let actions = render_link_button(ButtonKind::Plain, "Inbox", "/");
    let about = html! { "Each component once, with its name in " code { "components.rs" } "." };
    let content = html! {
        (render_page_head("Styleguide", &about, &actions))
        (render_colours())
        (render_section_head("Type", "two sizes for content, one for labels", &html! {}))
        p { "Body: the lamp goes out, and nobody in the harbour sees it. " a href="/" { "A link" } ", " code { "code" } ", " kbd { "K" } ", " mark { "marked words" } "." }
        p.label.quiet { "Label: written by codex, three minutes ago" }
        (render_section_head("Buttons", "render_submit, render_link_button, render_opener", &html! {}))
        form action="/styleguide" method="get" { div.buttons {
            (render_submit(ButtonKind::Primary, "Approve this text", Some('a')))
            (render_submit(ButtonKind::Plain, "Request changes", Some('r')))
            (render_submit(ButtonKind::Danger, "Reject", Some('x')))
            (render_submit(ButtonKind::Ghost, "Cancel", None))
            (render_submit(ButtonKind::Small, "Undo", None))
            (render_opener(ButtonKind::Plain, "Open a dialog", "example", None))
        } }
        (render_dialog("example", "Reject this plan?", &html! {
            p { "29 scenes below become stale with it." }
            div.buttons { (render_closer("example", "Cancel")) (render_link_button(ButtonKind::Danger, "Reject, with all below", "/styleguide")) }
        }))
        (render_section_head("Badges, tags, statuses", "render_badge, render_tag, render_status", &html! {}))
        p.buttons {
            (render_badge(7, "wait for a decision")) (render_tag("spec")) (render_counter("8 + 29"))
            @for status in Status::ALL { (render_status(status)) }
        }
        (render_section_head("Rows", "render_rows, render_meter", &html! {}))
        (render_rows([
            Row { title: "The second key", address: "/styleguide", id: Some("act-2/chapter-09"), end: html! { (render_meter(3, 8, "complete")) (render_status(Status::RequiresRevalidation)) } },
            Row { title: "The long tide", address: "/styleguide", id: Some("act-2/chapter-10"), end: render_status(Status::Draft) },
        ]))
        (render_section_head("Tabs", "render_tabs", &html! {}))
        (render_tabs("Views", &[
            Tab { name: "Text", address: "/styleguide", count: None, is_current: true },
            Tab { name: "Comments", address: "/styleguide", count: Some(2), is_current: false },
        ]))
        (render_section_head("Cards", ".cards, .card", &html! {}))
        ul.cards { li.card { p { strong { "codex waits" } " for act-2" } p.quiet.label { "12 minutes" } } }
        (render_section_head("Difference", "diff::render_diff", &html! {}))
        (diff::render_diff(&example_diff()))
        (render_section_head("Tree", "tree.css", &html! {}))
        (render_example_tree())
        (render_section_head("Board", "board.css", &html! {}))
        (render_example_board())
        (render_section_head("Charts", "charts::render_burn_up, render_bars", &html! {}))
        (render_example_charts())
        (render_section_head("Notice", ".notice", &html! {}))
        div.notice { p { "Something about this page that stays." } }
        (render_section_head("Empty state", "render_empty_state", &html! {}))
        (render_empty_state("Nothing waits for you", &html! { "When an agent writes a plan, it is here." }, &render_link_button(ButtonKind::Plain, "Open the tree", "/tree")))
        (render_toast("Approved. 29 scenes are valid again.", &html! { "approve The storm" }, &html! { (render_submit(ButtonKind::Plain, "Undo", None)) }))
    };
    render_page(NavigationEntry::Elsewhere, "Styleguide", &content)
}

fn example_diff() -> DiffView {
    let (older, newer) = (
        "# The second key\n\nMara finds the key.\n\nShe tells nobody.\n",
        "# The second key\n\nMara finds the second key in the lamp.\n\nShe tells Teo.\n",
    );
    DiffView {
        older: "approved".to_owned(),
        newer: "now".to_owned(),
        sections: Vec::new(),
        unified: String::new(),
        hunks: compute_hunks(older, newer),
    }
}

fn render_example_tree() -> Markup {
    let row = |level: usize, name: &str, id: &str, end: &Markup| {
        html! {
            li.row role="treeitem" aria-level=(level) data-depth=(level - 1) tabindex="-1" {
                span.fold aria-hidden="true" { @if level == 1 { "▾" } }
                a.name href="/styleguide" { (name) }
                code.id { (id) }
                span.marks { (end) }
            }
        }
    };
    html! {
        ol.tree role="tree" aria-label="Example" {
            (row(1, "The water rises", "act-2", &html! { (render_branch(3, 8)) (render_status(Status::Approved)) }))
            (row(2, "The second key", "chapter-09", &html! { (render_tag("active")) (render_status(Status::RequiresRevalidation)) }))
            (row(2, "The long tide", "chapter-10", &render_status(Status::Draft)))
        }
    }
}

fn render_example_board() -> Markup {
    let columns = [("Pending", "The long tide"), ("Active", "The second key")];
    html! {
        div.scroll tabindex="0" role="region" aria-label="Example of a board" { div.lanes data-columns="2" {
            @for (column, _) in columns { div.column-head { span { (column) } " " span.number.quiet { "1" } } }
            @for (column, name) in columns {
                div.cell { ul.board-cards aria-label=(column) {
                    li.card.board-card { a.name href="/styleguide" { (name) } div.marks { code.id { "act-2" } (render_status(Status::Draft)) } }
                } }
            }
        } }
    }
}

fn render_example_charts() -> Markup {
    let day = |number: i64| DayTotals {
        day: format!("2026-11-{number:02}"),
        totals: PlanTotals {
            planned: 20 + number,
            approved: 3 * number,
            complete: number,
            ..PlanTotals::default()
        },
    };
    let history: Vec<DayTotals> = (1..=7).map(day).collect();
    let days: Vec<String> = history.iter().map(|one| one.day.clone()).collect();
    html! {
        div.charts {
            (render_burn_up("the example", &history))
            (render_bars("Words", &days, &[300, 0, 450, 800, 120, 0, 600]))
        }
    }
}

/// Renders the colour tokens as swatches.
fn render_colours() -> Markup {
    const TOKENS: &[&str] = &[
        "ground", "raised", "sunken", "hover", "selected", "line", "ink", "quiet", "accent",
        "good", "stale", "bad",
    ];
    html! {
        (render_section_head("Colours", "assets/tokens.css", &html! {}))
        ul.swatches { @for token in TOKENS { li { span.swatch data-token=(token) {} code { "--" (token) } } } }
    }
}
