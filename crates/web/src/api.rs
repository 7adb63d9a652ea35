//! Read-only JSON API; a test checks its responses against `assets/openapi.json`.

use std::collections::BTreeMap;
use std::slice::from_ref;

use application::history::{HistoryRequest, list_history, list_recorded_history};
use application::inbox::{InboxView, load_inbox};
use application::memory::search_memory::{SearchMemoryRequest, search_memory};
use application::memory::show_memory::{EntryView, MemoryView, show_memory};
use application::node_page::{NodePage, load_node_page};
use application::reviews::ReviewView;
use application::search::{SearchOutcome, SearchRequest, search_project};
use application::sessions::recall_mems::{RecallRequest, ShelfView, list_shelves, recall_mems};
use application::show_now::{NowView, show_now};
use application::show_ticks::{TicksView, show_ticks};
use application::tree_window::{TreeWindow, WindowRequest, list_tree_window};
use application::views::OperationView;
use application::workflows::status::FlowLine;
use application::{Context, Failure, reviews, workflows};
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use domain::ids::OperationId;
use domain::memory::{EntryKind, Mem};
use serde::{Deserialize, Serialize};

use crate::refusal::ApiRefusal;
use crate::{Dashboard, GateReport, live};

/// The OpenAPI description, which is served too.
const DESCRIPTION: &str = include_str!("../assets/openapi.json");

type Answer<T> = Result<Json<T>, ApiRefusal>;

pub(crate) fn router() -> Router<Dashboard> {
    let described =
        || async { ([(CONTENT_TYPE, "application/json")], DESCRIPTION).into_response() };
    Router::new()
        .route("/api/openapi.json", get(described))
        .route("/api/now", get(now))
        .route("/api/inbox", get(inbox))
        .route("/api/tree", get(tree))
        .route("/api/nodes/{*path}", get(node))
        .route("/api/timeline", get(timeline))
        .route("/api/reviews", get(list_reviews))
        .route("/api/ticks", get(ticks))
        .route("/api/gates", get(gates))
        .route("/api/memory", get(memory))
        .route("/api/search", get(search))
        .route("/api/live", get(live::stream))
        // JSON for unknown paths, too: the fallback is a page.
        .route("/api/{*path}", get(nowhere))
}

async fn nowhere() -> ApiRefusal {
    Failure::not_found("there is no such API path")
        .with_step("GET /api/openapi.json")
        .into()
}

async fn now(State(dashboard): State<Dashboard>) -> Answer<NowView> {
    Ok(Json(now_view(&dashboard).await?))
}

/// Reads the overview of the page *Now*.
pub(crate) async fn now_view(dashboard: &Dashboard) -> Result<NowView, Failure> {
    let hooks = dashboard.hooks.clone();
    dashboard
        .ask_tree(move |ctx, known| show_now(ctx, known, &hooks.blocked()))
        .await
}

async fn inbox(State(dashboard): State<Dashboard>) -> Answer<InboxView> {
    Ok(Json(inbox_view(&dashboard).await?))
}

/// Reads what waits for a person, for the page and for programs.
pub(crate) async fn inbox_view(dashboard: &Dashboard) -> Result<InboxView, Failure> {
    let hooks = dashboard.hooks.clone();
    dashboard
        .ask_tree(move |ctx, known| load_inbox(ctx, known, &hooks.blocked()))
        .await
}

async fn tree(
    State(dashboard): State<Dashboard>,
    Query(wanted): Query<WindowRequest>,
) -> Answer<TreeWindow> {
    Ok(Json(
        dashboard
            // A window of the cached tree: with 10,000 nodes a response must not cost the whole of
            // it.
            .ask_tree(move |ctx, known| Ok(list_tree_window(known, ctx.profiles, &wanted)))
            .await?,
    ))
}

async fn node(State(dashboard): State<Dashboard>, Path(path): Path<String>) -> Answer<NodePage> {
    Ok(Json(
        dashboard
            .ask(move |ctx| load_node_page(ctx, from_ref(&path), None))
            .await?,
    ))
}

/// Query of the timeline.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Stretch {
    pub(crate) before: Option<u64>,
    pub(crate) limit: Option<usize>,
    pub(crate) node: String,
    pub(crate) verb: String,
    pub(crate) by: String,
}

/// Operations, newest first.
#[derive(Serialize)]
pub(crate) struct Timeline {
    pub(crate) operations: Vec<OperationView>,
    /// Value of `before` for the next page; `None` on the last one.
    pub(crate) next: Option<u64>,
}

const USUAL_OPERATIONS: usize = 50;
const MAX_OPERATIONS: usize = 500;
/// Maximum number of operations that one request filters; the client continues from there.
const MAX_SCANNED_OPERATIONS: usize = 20_000;

/// Reads one page of the timeline.
pub(crate) fn stretch(ctx: &Context<'_>, asked: &Stretch) -> Result<Timeline, Failure> {
    // Clamped instead of refused: a page with a wrong number in its URL should still open.
    let limit = asked
        .limit
        .unwrap_or(USUAL_OPERATIONS)
        .clamp(1, MAX_OPERATIONS);
    let node: Vec<String> = Some(asked.node.trim().to_owned())
        .filter(|node| !node.is_empty())
        .into_iter()
        .collect();
    // Case-insensitive: people type names, not principals.
    let by = asked.by.trim().to_lowercase();
    let fits = |operation: &OperationView| {
        (asked.verb.is_empty() || operation.verb.as_str() == asked.verb)
            && (by.is_empty() || operation.by.to_string().to_lowercase().contains(&by))
    };
    let mut before = asked.before.map(OperationId);
    let mut operations = Vec::new();
    let mut looked_through = 0;
    // Without a filter one read is enough, with one more operation to see whether there is a next
    // page. With a filter the reads are as large as possible, because most operations are dropped.
    let page_size = if asked.verb.is_empty() && by.is_empty() {
        limit + 1
    } else {
        MAX_OPERATIONS
    };
    loop {
        let page = if node.is_empty() {
            list_recorded_history(ctx, page_size, before)?
        } else {
            list_history(
                ctx,
                &HistoryRequest {
                    node: node.clone(),
                    most: page_size,
                    before,
                },
            )?
        };
        let is_last = page.len() < page_size;
        looked_through += page.len();
        let found = page.len();
        for (at, operation) in page.into_iter().enumerate() {
            before = Some(operation.operation);
            if fits(&operation) {
                operations.push(operation);
            }
            // A full page may end exactly at the last operation; then there is no next one.
            if operations.len() == limit {
                let is_all = is_last && at + 1 == found;
                return Ok(Timeline {
                    operations,
                    next: before.filter(|_| !is_all).map(|before| before.0),
                });
            }
        }
        // A filter that matches nothing must not read the whole history in one request. An empty
        // page with a `next` lets the client go on.
        if is_last || looked_through >= MAX_SCANNED_OPERATIONS {
            let next = before.filter(|_| !is_last).map(|before| before.0);
            return Ok(Timeline { operations, next });
        }
    }
}

async fn timeline(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<Stretch>,
) -> Answer<Timeline> {
    Ok(Json(
        dashboard
            // Through the lookout, although the tree is not used: its scan turns edited files into
            // operations before the log is read.
            .ask_tree(move |ctx, _| stretch(ctx, &asked))
            .await?,
    ))
}

/// Reviews, and the workflows in progress.
#[derive(Serialize)]
pub(crate) struct Reviews {
    pub(crate) reviews: Vec<ReviewView>,
    pub(crate) workflows: Vec<FlowLine>,
}

/// Reads the reviews and workflows.
pub(crate) fn reviewed(ctx: &Context<'_>) -> Result<Reviews, Failure> {
    Ok(Reviews {
        reviews: reviews::status::list_reviews(ctx)?,
        workflows: workflows::status::list_runs(ctx, None)?,
    })
}

async fn list_reviews(State(dashboard): State<Dashboard>) -> Answer<Reviews> {
    Ok(Json(dashboard.ask(reviewed).await?))
}

async fn gates(State(dashboard): State<Dashboard>) -> Answer<GateReport> {
    let hooks = dashboard.hooks.clone();
    Ok(Json(dashboard.ask(move |ctx| hooks.report(ctx)).await?))
}

/// Query of the ticks.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Ticks {
    pub(crate) limit: Option<usize>,
}

impl Ticks {
    /// Returns the limit, clamped to 1–500.
    pub(crate) fn clamped_limit(&self) -> usize {
        self.limit.unwrap_or(20).clamp(1, 500)
    }
}

async fn ticks(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<Ticks>,
) -> Answer<TicksView> {
    Ok(Json(
        dashboard
            .ask_tree(move |ctx, known| show_ticks(ctx, known, asked.clamped_limit()))
            .await?,
    ))
}

/// Query of the search page: words and filters.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SearchText {
    /// `q` as well, as on most search pages.
    #[serde(alias = "q")]
    pub(crate) text: String,
    pub(crate) limit: Option<usize>,
}

impl SearchText {
    /// Returns the number of hits, clamped: a wrong number in an address still opens a page.
    pub(crate) fn clamped_limit(&self) -> usize {
        self.limit.unwrap_or(20).clamp(1, MAX_HITS)
    }
}

/// Maximum number of hits of the search.
pub(crate) const MAX_HITS: usize = 200;

/// Searches the whole project.
pub(crate) fn search_everywhere(
    ctx: &Context<'_>,
    asked: &SearchText,
) -> Result<SearchOutcome, Failure> {
    // The page before anything was typed.
    if asked.text.trim().is_empty() {
        return Ok(SearchOutcome::default());
    }
    search_project(
        ctx,
        &SearchRequest {
            query: asked.text.clone(),
            // Clamped for the same reason as the timeline: a wrong number in an address still opens
            // a page.
            limit: asked.clamped_limit(),
        },
    )
}

async fn search(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<SearchText>,
) -> Answer<SearchOutcome> {
    Ok(Json(
        dashboard
            .ask(move |ctx| search_everywhere(ctx, &asked))
            .await?,
    ))
}

/// Query of the memory page.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Search {
    pub(crate) text: String,
    pub(crate) shelf: String,
}

/// Shelves, story memory, and search results.
#[derive(Serialize)]
pub(crate) struct Memories {
    pub(crate) shelves: Vec<ShelfView>,
    pub(crate) notes: Vec<Mem>,
    /// Number of entries per kind: characters, locations …
    pub(crate) counts: BTreeMap<&'static str, usize>,
    pub(crate) entries: Vec<EntryView>,
    pub(crate) relationships: Vec<Tie>,
}

/// A relationship of two characters, by their names.
#[derive(Serialize)]
pub(crate) struct Tie {
    pub(crate) between: [String; 2],
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) intensity: u64,
}

/// Maximum number of notes and of entries in a search result.
const MAX_SEARCH_RESULTS: usize = 50;

/// Reads shelves, relationships and search results.
pub(crate) fn memories(ctx: &Context<'_>, asked: &Search) -> Result<Memories, Failure> {
    let shelves = list_shelves(ctx)?;
    let MemoryView { counts, entries } = show_memory(ctx, None)?;
    let relationships = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Relationship.as_str())
        .map(|tie| {
            // Entries are JSON with fields by kind. A missing one is shown as empty: a file that
            // was edited by hand must not take the page away.
            let word = |name: &str| tie.entry[name].as_str().unwrap_or_default().to_owned();
            // By name: ids of characters mean nothing to readers.
            let named = |id: String| {
                entries
                    .iter()
                    .find(|entry| entry.id == id)
                    .map_or(id, |entry| entry.name.clone())
            };
            Tie {
                between: [named(word("character_a")), named(word("character_b"))],
                kind: word("relationship_type"),
                status: word("status"),
                intensity: tie.entry["intensity"].as_u64().unwrap_or_default(),
            }
        });
    let relationships = relationships.collect();
    // Without a query only shelves and relationships are read; a search costs more.
    let mut found = Memories {
        shelves,
        notes: Vec::new(),
        counts,
        entries: Vec::new(),
        relationships,
    };
    if !asked.text.trim().is_empty() {
        let shelf = Some(asked.shelf.clone()).filter(|shelf| !shelf.is_empty());
        found.notes = recall_mems(
            ctx,
            &RecallRequest {
                query: asked.text.clone(),
                shelf,
                limit: MAX_SEARCH_RESULTS,
            },
        )?;
        let request = SearchMemoryRequest {
            query: asked.text.clone(),
            limit: MAX_SEARCH_RESULTS,
            ..SearchMemoryRequest::default()
        };
        // Entries have no shelf. A failure is a query without a word in it, which finds no note
        // either.
        found.entries = if asked.shelf.is_empty() {
            search_memory(ctx, &request).unwrap_or_default()
        } else {
            Vec::new()
        };
    }
    Ok(found)
}

async fn memory(
    State(dashboard): State<Dashboard>,
    Query(asked): Query<Search>,
) -> Answer<Memories> {
    Ok(Json(dashboard.ask(move |ctx| memories(ctx, &asked)).await?))
}
