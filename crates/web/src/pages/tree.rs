//! Page *Tree*: all plans in order, foldable. The page has one window of rows; a script loads others
//! while scrolling, as the same fragment, so that ten thousand plans do not make a slow page.

use application::tree_cache::CachedTree;
use application::tree_window::{RowView, TreeWindow, WindowRequest, list_tree_window};
use axum::extract::{Query, State};
use domain::duplicate_ids::{DUPLICATE_MARK, renumber_command};
use domain::node::Status;
use domain::text::count_with_noun;
use maud::{Markup, html};

use super::new_plan::render_new_link;
use super::{NavigationEntry, render_page, render_progress, render_status};
use crate::components::render_page_head;
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

/// Maximum number of plans of a tree that is completely open at first.
const MAX_OPEN_PLANS: usize = 200;
/// Number of open levels of a larger tree.
const FOLDED_LEVELS: usize = 1;
/// A number of levels that no tree has.
const ALL_LEVELS: usize = 99;
/// Maximum indentation of rows.
const MAX_INDENT: usize = 12;

pub(crate) async fn tree_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Query(wanted): Query<WindowRequest>,
) -> Result<Page, Refusal> {
    let (wanted, window) = load_window(&dashboard, wanted).await?;
    let view = TreePage {
        rights: &rights,
        wanted: &wanted,
        window: &window,
    };
    Ok(render_page(NavigationEntry::Tree, "Tree", &view.render()))
}

/// The rows alone, for the script that scrolls and folds.
pub(crate) async fn tree_rows(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Query(wanted): Query<WindowRequest>,
) -> Result<Markup, Refusal> {
    let (wanted, window) = load_window(&dashboard, wanted).await?;
    let view = TreePage {
        rights: &rights,
        wanted: &wanted,
        window: &window,
    };
    Ok(view.render_rows())
}

async fn load_window(
    dashboard: &Dashboard,
    wanted: WindowRequest,
) -> Result<(WindowRequest, TreeWindow), Refusal> {
    Ok(dashboard
        .ask_tree(move |ctx, known| {
            let wanted = with_default_fold(&wanted, known);
            let window = list_tree_window(known, ctx.profiles, &wanted);
            Ok((wanted, window))
        })
        .await?)
}

/// Folds a large tree, unless the address says how far.
fn with_default_fold(wanted: &WindowRequest, known: &CachedTree) -> WindowRequest {
    let is_large = known.node_count() > MAX_OPEN_PLANS;
    WindowRequest {
        fold: wanted.fold.or(is_large.then_some(FOLDED_LEVELS)),
        ..wanted.clone()
    }
}

struct TreePage<'p> {
    rights: &'p Rights,
    wanted: &'p WindowRequest,
    window: &'p TreeWindow,
}

impl TreePage<'_> {
    fn render(&self) -> Markup {
        let Self { wanted, window, .. } = self;
        let last = window.offset + window.rows.len();
        html! {
            (render_page_head("Tree", &html! {
                a href="/outline" { "Outline" } " · " a href="/stats" { "Stats" } " · " a href="/graph" { "Graph" }
            }, &render_new_link(self.rights)))
            form.filter action="/tree" method="get" role="search" {
                label { "Text" input type="search" name="text" value=(wanted.text) autocomplete="off"; }
                @for (name, value) in [("status", &wanted.status), ("phase", &wanted.phase), ("profile", &wanted.profile)] {
                    @if !value.is_empty() { input type="hidden" name=(name) value=(value); }
                }
                button type="submit" { "Filter" }
            }
            (self.render_filters())
            p.quiet {
                span role="status" #found { (describe_count(wanted, window)) }
                @if !wanted.is_filtered() { span.on-page {
                    " · " a href=(self.folded_url(ALL_LEVELS)) { "Open all" }
                    " · " a href=(self.folded_url(0)) { "Fold all" }
                } }
            }
            @if window.plans == 0 { p.quiet { "There is no plan yet. " a href="/" { "First steps" } } }
            tl-tree data-fold=[wanted.fold] data-toggled=(wanted.toggled) { (self.render_rows()) }
            nav.pages aria-label="Parts of the list" {
                @if window.offset > 0 { a rel="prev" href=(self.offset_url(window.offset.saturating_sub(100))) { "Before" } }
                @if last < window.total { a rel="next" href=(self.offset_url(last)) { "After" } }
            }
            p.quiet.keys {
                kbd { "/" } " filter · " kbd { "↑" } " " kbd { "↓" } " move · " kbd { "→" } " open · " kbd { "←" } " fold · "
                kbd { "Enter" } " read"
                @if self.rights.allow("shape") { " · " kbd { "m" } " move elsewhere, or drag" }
            }
        }
    }

    /// Renders the filters as links, so that each can be opened in a tab, kept and passed on.
    fn render_filters(&self) -> Markup {
        let Self { wanted, window, .. } = self;
        let status = |value: &str| WindowRequest {
            status: value.to_owned(),
            ..self.filter_only()
        };
        let phase = |value: &str| WindowRequest {
            phase: value.to_owned(),
            ..self.filter_only()
        };
        html! {
            div.filters {
                nav.chips aria-label="Status" {
                    (render_chip("any status", &tree_url(&status("")), wanted.status.is_empty()))
                    @for one in Status::ALL { (render_chip(one.label(), &tree_url(&status(one.as_str())), wanted.status == one.as_str())) }
                }
                @if !window.phases.is_empty() {
                    nav.chips aria-label="Phase" {
                        (render_chip("any phase", &tree_url(&phase("")), wanted.phase.is_empty()))
                        @for one in &window.phases { (render_chip(one, &tree_url(&phase(one)), wanted.phase == *one)) }
                    }
                }
                @if window.trail_nodes > 0 {
                    nav.chips aria-label="Kind" {
                        (render_chip("plans", "/tree", wanted.profile.is_empty()))
                        (render_chip("trails of sessions", "/tree?profile=trail", wanted.profile == domain::trail::PROFILE))
                    }
                }
            }
        }
    }

    fn filter_only(&self) -> WindowRequest {
        // Another filter is another list: place and folds were those of this one.
        WindowRequest {
            offset: 0,
            limit: None,
            fold: None,
            toggled: String::new(),
            ..self.wanted.clone()
        }
    }

    fn render_rows(&self) -> Markup {
        let window = self.window;
        html! {
            ol.tree role="tree" aria-label="Plans" start=(window.offset + 1) data-total=(window.total) data-offset=(window.offset)
                data-count=(describe_count(self.wanted, window)) {
                @for row in &window.rows { (self.render_row(row)) }
            }
        }
    }

    fn render_row(&self, row: &RowView) -> Markup {
        let name = row.title.as_deref().unwrap_or(&row.entity_id);
        let [position, siblings] = row.position;
        html! {
            // The depth is a number that the style sheet knows: inline styles are not allowed.
            li.row role="treeitem" aria-level=(row.depth + 1) aria-posinset=(position) aria-setsize=(siblings)
                aria-expanded=[row.open] data-depth=(row.depth.min(MAX_INDENT)) data-path=(row.path) {
                @match row.open {
                    Some(is_open) => a.fold href=(self.toggled_url(&row.path)) aria-label={ @if is_open { "Fold " } @else { "Open " } (name) } {
                        span aria-hidden="true" { @if is_open { "▾" } @else { "▸" } }
                    },
                    None => span.fold {},
                }
                a.name href=(urls::node_url(&row.path)) title=(row.path) dir="auto" { (name) }
                @if row.title.is_some() { code.id { (row.entity_id) } }
                span.marks {
                    @for need in row.needs.iter().filter(|need| need.open) {
                        a.tag.need href=(urls::node_url(&need.path)) title={ "needs " (need.name) } { "needs " (need.path) }
                    }
                    @if row.duplicate {
                        span.tag title={ "To change its id: " (renumber_command(&row.path)) } { (DUPLICATE_MARK) }
                    }
                    @if let Some(phase) = &row.phase { span.tag { (phase) } }
                    (render_progress(row.progress))
                    @if let Some([complete, all]) = row.branch { (render_branch(complete, all)) }
                    (render_status(row.status))
                    @if self.rights.allow("shape") {
                        a.move href=(urls::shape_url("move", &row.path)) aria-label={ "Move " (name) } { span aria-hidden="true" { "⋮⋮" } }
                    }
                }
            }
        }
    }

    fn folded_url(&self, levels: usize) -> String {
        tree_url(&WindowRequest {
            fold: Some(levels),
            ..self.filter_only()
        })
    }

    fn offset_url(&self, offset: usize) -> String {
        tree_url(&WindowRequest {
            offset,
            ..self.wanted.clone()
        })
    }

    /// Returns the address with one plan folded or opened.
    fn toggled_url(&self, path: &str) -> String {
        let mut toggled: Vec<&str> = self
            .wanted
            .toggled
            .split(',')
            .filter(|one| !one.is_empty())
            .collect();
        let before = toggled.len();
        toggled.retain(|one| *one != path);
        if toggled.len() == before {
            toggled.push(path);
        }
        tree_url(&WindowRequest {
            toggled: toggled.join(","),
            ..self.wanted.clone()
        })
    }
}

fn describe_count(wanted: &WindowRequest, window: &TreeWindow) -> String {
    match wanted.is_filtered() {
        true => format!("{} found", window.total),
        false => count_with_noun(window.plans, "plan", "plans"),
    }
}

/// Renders a filter as a link.
pub(crate) fn render_chip(label: &str, address: &str, is_chosen: bool) -> Markup {
    html! { a.chip href=(address) aria-current=[is_chosen.then_some("true")] { (label) } }
}

/// Renders how much of a branch is complete, short enough for a row: a bar with its numbers.
pub(crate) fn render_branch(complete: usize, all: usize) -> Markup {
    html! {
        @if all > 0 {
            span.meter title={ (complete) " of " (all) " complete" } {
                progress max=(all) value=(complete) aria-label={ (complete) " of " (all) " complete" } {}
                span aria-hidden="true" { (complete) "/" (all) }
            }
        }
    }
}

// Links instead of script alone: the tree has to work without JavaScript.
fn tree_url(wanted: &WindowRequest) -> String {
    let WindowRequest {
        text,
        status,
        phase,
        profile,
        fold,
        toggled,
        offset,
        ..
    } = wanted;
    let fold = fold.map(|levels| levels.to_string()).unwrap_or_default();
    let offset = match offset {
        0 => String::new(),
        other => other.to_string(),
    };
    urls::with_query(
        "/tree",
        &[
            ("text", text.as_str()),
            ("status", status),
            ("phase", phase),
            ("profile", profile),
            ("fold", &fold),
            ("toggled", toggled),
            ("offset", &offset),
        ],
    )
}
