//! Page *Board*: the plans of one level as cards, in columns by phase, progress or status.
//!
//! A card is moved by dragging, by keys, or with the form in its menu, which works without
//! JavaScript; each sends the same form.

use application::show_board::{
    BoardCard, BoardCell, BoardColumn, BoardColumns, BoardLane, BoardRequest, BoardView, show_board,
};
use axum::extract::{Query, State};
use domain::node::Progress;
use domain::text::count_with_noun;
use domain::work::triage::Priority;
use maud::{Markup, html};
use serde::Deserialize;

use super::new_plan::render_new_link;
use super::tree::{render_branch, render_chip};
use super::{NavigationEntry, render_page, render_progress, render_status};
use crate::components::render_page_head;
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::{Dashboard, urls};

/// The address of a board, as its forms repeat it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BoardAddress {
    by: String,
    level: String,
    under: String,
    lanes: String,
}

impl BoardAddress {
    pub(crate) fn url(&self) -> String {
        urls::with_query(
            "/board",
            &[
                ("by", &self.by),
                ("level", &self.level),
                ("under", &self.under),
                ("lanes", &self.lanes),
            ],
        )
    }

    fn to_request(&self) -> BoardRequest {
        BoardRequest {
            by: self.by.clone(),
            level: self.level.clone(),
            under: self.under.clone(),
            lanes: self.lanes.clone(),
        }
    }
}

pub(crate) async fn board_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Query(address): Query<BoardAddress>,
) -> Result<Page, Refusal> {
    let request = address.to_request();
    let board = dashboard
        // From the cached tree: a board of a large project would read every plan otherwise.
        .ask_tree(move |ctx, known| show_board(ctx, known, &request))
        .await?;
    let page = BoardPage {
        rights: &rights,
        board: &board,
        address: BoardAddress {
            by: board.by.as_str().to_owned(),
            level: board.level.clone(),
            ..address
        },
    };
    Ok(render_page(NavigationEntry::Board, "Board", &page.render()))
}

/// Returns a priority in the product's word, whatever the file calls it: `P1` is `high` everywhere.
fn priority_word(written: &str) -> &str {
    match Priority::from_word(written) {
        Some(priority) => priority.as_str(),
        None => written,
    }
}

struct BoardPage<'p> {
    rights: &'p Rights,
    board: &'p BoardView,
    /// With what was chosen for it, so that a form leads back to the same board.
    address: BoardAddress,
}

impl BoardPage<'_> {
    /// Returns the form that moves a card, if one can be moved here.
    fn move_form(&self) -> Option<&'static str> {
        let form = match self.board.by {
            BoardColumns::Phase => "phase",
            BoardColumns::Progress => "progress",
            // A status follows from decisions and texts, so no card is put into one.
            BoardColumns::Status => return None,
        };
        self.rights.allow(form).then_some(form)
    }

    fn render(&self) -> Markup {
        let board = self.board;
        html! {
            div.wide {
                (render_page_head("Board", &html! {}, &render_new_link(self.rights)))
                (self.render_choices())
                section #board data-live {
                    @if board.total == 0 { p.quiet { "There is no plan to show. " a href="/" { "First steps" } } }
                    @else {
                        tl-board {
                            div.scroll.board-scroll tabindex="0" role="region" aria-label="Board" {
                                // A rule of the style sheet per number, because the content
                                // security policy allows no inline style.
                                div.lanes data-columns=(board.columns.len().min(12)) {
                                    (self.render_heads())
                                    @for lane in &board.lanes { (self.render_lane(lane)) }
                                }
                            }
                        }
                    }
                    @if board.hidden_lanes > 0 {
                        p.quiet { (count_with_noun(board.hidden_lanes, "more parent", "more parents")) ": choose one in the " a href="/tree" { "tree" } ", or " a href=(self.with_lanes("none").url()) { "show all in one lane" } "." }
                    }
                }
                p role="status" #board-said {}
                p.quiet.keys {
                    @if self.move_form().is_some() {
                        kbd { "←" } " " kbd { "→" } " " kbd { "↑" } " " kbd { "↓" } " choose a card · " kbd { "Shift" } " " kbd { "←" } " " kbd { "→" } " move it, or drag · " kbd { "Enter" } " read"
                    } @else if board.by == BoardColumns::Status { "A status follows from decisions: open a plan to decide." }
                }
            }
        }
    }

    fn with_lanes(&self, lanes: &str) -> BoardAddress {
        BoardAddress {
            lanes: lanes.to_owned(),
            ..self.address.clone()
        }
    }

    fn render_choices(&self) -> Markup {
        let Self { board, address, .. } = self;
        let by = |kind: BoardColumns| BoardAddress {
            by: kind.as_str().to_owned(),
            ..address.clone()
        };
        let level = |level: &str| BoardAddress {
            level: level.to_owned(),
            // Another level may not have these columns: not every profile has phases.
            by: String::new(),
            ..address.clone()
        };
        html! {
            div.filters {
                nav.chips aria-label="Columns" {
                    @for kind in &board.choices { (render_chip(&format!("by {}", kind.as_str()), &by(*kind).url(), *kind == board.by)) }
                }
                @if board.levels.len() > 1 {
                    nav.chips aria-label="Level" {
                        @for one in &board.levels { (render_chip(&format!("{} {}", one.level, one.plans), &level(&one.level).url(), one.level == board.level)) }
                    }
                }
                nav.chips aria-label="Lanes" {
                    (render_chip("lanes by parent", &self.with_lanes("parent").url(), board.has_lanes))
                    (render_chip("one lane", &self.with_lanes("none").url(), !board.has_lanes))
                }
                @if let Some(under) = &board.under {
                    nav.chips aria-label="Part" {
                        a.chip aria-current="true" href=(urls::node_url(&under.path)) { "below " (under.name) }
                        (render_chip("whole project", &BoardAddress { under: String::new(), ..address.clone() }.url(), false))
                    }
                }
            }
        }
    }

    fn render_heads(&self) -> Markup {
        html! {
            @for column in &self.board.columns {
                div.column-head { span { (column.label) } " " span.number.quiet { (column.plans) } }
            }
        }
    }

    fn render_lane(&self, lane: &BoardLane) -> Markup {
        html! {
            @if self.board.has_lanes {
                div.lane-head {
                    @match &lane.parent {
                        Some(parent) => {
                            h2 { a href=(urls::node_url(&parent.path)) dir="auto" { (parent.name) } }
                            (render_status(parent.status))
                            (render_branch(lane.complete, lane.plans))
                            a.quiet.on-page href=(BoardAddress { under: parent.path.clone(), ..self.address.clone() }.url()) { "only this" span.hidden { ": " (parent.name) } }
                        },
                        None => { h2 { "At the top" } (render_branch(lane.complete, lane.plans)) },
                    }
                }
            }
            @for (column, cell) in self.board.columns.iter().zip(&lane.cells) {
                div.cell data-column=(column.key) data-label=(column.label) {
                    (self.render_cell(column, cell, lane))
                }
            }
        }
    }

    fn render_cell(&self, column: &BoardColumn, cell: &BoardCell, lane: &BoardLane) -> Markup {
        let hidden = cell.total - cell.cards.len();
        html! {
            @if !cell.cards.is_empty() {
                ul.board-cards aria-label=(column.label) { @for card in &cell.cards { (self.render_card(card)) } }
            }
            @if hidden > 0 {
                p.quiet { a href=(self.url_of_rest(column, lane)) { (hidden) " more" span.hidden { " in " (column.label) } } }
            }
        }
    }

    /// Returns where the cards are that a cell does not show: the board of its lane, or the tree.
    fn url_of_rest(&self, column: &BoardColumn, lane: &BoardLane) -> String {
        let key = column.key.as_str();
        match (&lane.parent, self.board.by) {
            (Some(parent), _) => BoardAddress {
                under: parent.path.clone(),
                ..self.address.clone()
            }
            .url(),
            // The tree loads rows while it is scrolled, so it has room for all of them.
            (None, BoardColumns::Status) => urls::with_query("/tree", &[("status", key)]),
            (None, BoardColumns::Phase) => urls::with_query("/tree", &[("phase", key)]),
            (None, BoardColumns::Progress) => "/tree?fold=99".to_owned(),
        }
    }

    fn render_card(&self, card: &BoardCard) -> Markup {
        let by = self.board.by;
        let [complete, children] = card.children;
        html! {
            li.card.board-card data-path=(card.path) data-name=(card.display_name()) {
                a.name href=(urls::node_url(&card.path)) dir="auto" { (card.display_name()) }
                div.marks {
                    code.id title=(card.path) { (card.entity_id) }
                    @if let Some(priority) = &card.priority { span.tag { (priority_word(priority)) } }
                    @if let Some(due) = &card.due { span.tag { "due " (due) } }
                    @if by != BoardColumns::Phase { @if let Some(phase) = &card.phase { span.tag { (phase) } } }
                    @if by != BoardColumns::Progress && card.progress != Progress::Pending { (render_progress(card.progress)) }
                    @if by != BoardColumns::Status { (render_status(card.status)) }
                    @if children > 0 { (render_branch(complete, children)) }
                    @if let Some(session) = &card.holder { span.tag.held { "held by " (session) } }
                    @for path in &card.open_needs { a.tag.need href=(urls::node_url(path)) { "needs " (path) } }
                }
                @if let Some(reason) = &card.blocked_reason { p.obstacle { "Blocked: " span dir="auto" { (reason) } } }
                @if let Some(form) = self.move_form() { (self.render_menu(form, card)) }
            }
        }
    }

    /// Renders the form that moves a card, in a menu of its own.
    fn render_menu(&self, form: &str, card: &BoardCard) -> Markup {
        let current = match self.board.by {
            BoardColumns::Phase => card.phase.as_deref().unwrap_or_default(),
            _ => card.progress.as_str(),
        };
        let BoardAddress {
            by,
            level,
            under,
            lanes,
        } = &self.address;
        html! {
            details.move-menu {
                summary { "Move" span.hidden { " " (card.display_name()) } }
                form action={ "/do/" (form) } method="post" {
                    input type="hidden" name="node" value=(card.path);
                    @for (name, value) in [("by", by), ("level", level), ("under", under), ("lanes", lanes)] {
                        @if !value.is_empty() { input type="hidden" name=(name) value=(value); }
                    }
                    label { "To" select name="to" {
                        // The column without a value holds plans that have none; nothing
                        // is moved there.
                        @for column in self.board.columns.iter().filter(|column| !column.key.is_empty()) {
                            option value=(column.key) selected[column.key == current] { (column.label) }
                        }
                    } }
                    @let why = if form == "phase" { "Reason, if a phase is skipped" } else { "Reason, if it is blocked" };
                    label { (why) input type="text" name="reason" maxlength="500" dir="auto" autocomplete="off"; }
                    button.small type="submit" { "Move" }
                }
            }
        }
    }
}
