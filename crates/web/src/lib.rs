//! The dashboard: HTML pages for people, a JSON API for programs, and the sync API for replicas.
//!
//! It has no rules and no state of its own: every page renders one use case, every form runs one.
//! The server that mounts [`Dashboard::router`] authenticates and puts a
//! [`domain::authorization::AuthenticatedPrincipal`] into each request, under whose principal
//! operations are recorded.

mod actions;
mod api;
mod assets;
mod authorization;
mod charts;
mod code_colours;
mod components;
mod create_plan;
mod export;
mod frame;
mod headers;
mod live;
mod lookout;
mod markdown;
mod pages;
mod refusal;
mod served_projects;
mod sync;
mod titles;
mod urls;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use application::inbox::{finding_of_item, list_waiting_items};
use application::open_gates::BlockedStep;
use application::plan_stats::WordCounts;
use application::show_progress::ProgressCache;
use application::tree_cache::CachedTree;
use application::{Context, Failure, Workspace, run_for_value};
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{get, post};
use domain::ids::Principal;
use domain::notification::WaitingItem;
use domain::operation::Channel;
use serde::Serialize;
use tokio::sync::Semaphore;
use tower_http::compression::CompressionLayer;

use crate::actions::handle_form;
use crate::live::Live;
use crate::lookout::Lookout;
pub use crate::served_projects::ServedProjects;

/// Statistics of the gates, from the hook ledger.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GateReport {
    /// Number of hook events.
    pub events: usize,
    /// Events that could not be checked.
    pub faults: usize,
    pub gates: BTreeMap<String, GateCounts>,
    pub hosts: Vec<HostLatency>,
}

/// Counters of one gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GateCounts {
    pub fires: usize,
    pub blocks: usize,
    pub warnings: usize,
    pub overrides: usize,
    /// Blocks after which the session's next step was allowed.
    pub catches: usize,
    /// Blocks of a gate with a wanted action, where further ones until then count as the same.
    pub incidents: usize,
    /// Incidents that ended with the wanted action: a commit, a read, a command.
    pub followed: usize,
}

/// Hook latency of one host.
#[derive(Clone, Debug, Serialize)]
pub struct HostLatency {
    pub host: String,
    pub events: usize,
    pub p50_micros: u64,
    pub p99_micros: u64,
    pub blocks: usize,
    pub faults: usize,
}

/// Access to the hook ledger, which the program implements.
pub trait HookLedger: Send + Sync + 'static {
    /// Reads the gates' statistics.
    ///
    /// # Errors
    /// When the state cannot be read.
    fn report(&self, ctx: &Context<'_>) -> Result<GateReport, Failure>;

    /// Returns the steps that gates blocked recently, oldest first.
    fn blocked(&self) -> Vec<BlockedStep>;
}

/// A setting with its value in this project. Secrets are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingLine {
    pub key: String,
    pub value: String,
    /// Its default, where the value differs.
    pub default: Option<String>,
    /// Where the value comes from, for people.
    pub source: String,
    pub allowed: String,
    pub description: String,
}

/// Access to the settings, which the program implements.
pub trait SettingSource: Send + Sync + 'static {
    /// Reads every setting with its value and source.
    ///
    /// # Errors
    /// When the settings cannot be read.
    fn list_settings(&self) -> Result<Vec<SettingLine>, Failure>;
}

/// Settings of a program that shows none.
struct NoSettings;

impl SettingSource for NoSettings {
    fn list_settings(&self) -> Result<Vec<SettingLine>, Failure> {
        Ok(Vec::new())
    }
}

/// The dashboard of one project.
#[derive(Clone)]
pub struct Dashboard {
    /// Name of the project, in the header and title of every page.
    project: Arc<str>,
    workspace: Arc<dyn Workspace>,
    hooks: Arc<dyn HookLedger>,
    settings: Arc<dyn SettingSource>,
    lookout: Arc<Lookout>,
    live: Arc<Live>,
    /// Word counts of texts, for the page *Stats*.
    words: Arc<Mutex<WordCounts>>,
    /// What each operation changed, for the page *Progress*.
    progress: Arc<Mutex<ProgressCache>>,
    /// The projects of this process, this one among them.
    projects: ServedProjects,
    only_shows: bool,
    room: Arc<Semaphore>,
    /// Held while operations of a replica are accepted. They are serialised by the write lock
    /// anyway; waiting here instead of there occupies no slot of `room`.
    turn: Arc<Semaphore>,
}

/// Maximum number of concurrent use cases: more compete for the same disk, and each takes memory.
const MAX_CONCURRENT_CALLS: usize = 4;

impl Dashboard {
    /// Creates the dashboard of the project called `project`.
    #[must_use]
    pub fn new(project: &str, workspace: Arc<dyn Workspace>, hooks: Arc<dyn HookLedger>) -> Self {
        // One for pages and live updates: two would scan the files twice.
        let lookout = Arc::new(Lookout::of(workspace.clone()));
        Self {
            project: project.into(),
            live: Arc::new(Live::of(workspace.clone(), lookout.clone())),
            workspace,
            hooks,
            settings: Arc::new(NoSettings),
            lookout,
            words: Arc::default(),
            progress: Arc::default(),
            projects: ServedProjects::default(),
            only_shows: false,
            // Per project: a large one cannot take the slots of the others in the same process.
            room: Arc::new(Semaphore::new(MAX_CONCURRENT_CALLS)),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// Returns the same dashboard with a page of the project's settings.
    #[must_use]
    pub fn with_settings(self, settings: Arc<dyn SettingSource>) -> Self {
        Self { settings, ..self }
    }

    /// Returns the same dashboard, read-only.
    #[must_use]
    pub fn only_showing(self) -> Self {
        Self {
            only_shows: true,
            ..self
        }
    }

    /// Returns the same dashboard as one of several in this process.
    #[must_use]
    pub fn among_projects(self, projects: &ServedProjects) -> Self {
        Self {
            projects: projects.clone(),
            ..self
        }
    }

    /// Returns the router of pages, forms and API.
    pub fn router(&self) -> Router {
        // Their fallback answers unknown paths of all routers below with a page.
        let mut pages = Router::new()
            .route("/", get(pages::inbox::inbox_page))
            .route("/now", get(pages::now::now_page))
            .route("/undo/{operation}", get(pages::undo::undo_page))
            .route("/board", get(pages::board::board_page))
            .route("/tree", get(pages::tree::tree_page))
            .route("/tree/rows", get(pages::tree::tree_rows))
            .route("/shape/{change}", get(pages::shape::shape_page))
            .route("/nodes/{*path}", get(pages::node::node_page))
            .route("/edit/{*path}", get(pages::edit::edit_page))
            .route("/new", get(pages::new_plan::new_page))
            .route("/decide", get(pages::decide::decide_everything_page))
            .route("/decide/{*path}", get(pages::decide::decide_page))
            .route("/outline", get(pages::outline::outline_page))
            .route("/stats", get(pages::stats::stats_page))
            .route("/timeline", get(pages::timeline::timeline_page))
            .route(
                "/operations/{number}",
                get(pages::operation::operation_page),
            )
            .route("/sessions", get(pages::sessions::sessions_page))
            .route("/graph", get(pages::graph::graph_page))
            .route("/progress", get(pages::progress::progress_page))
            .route("/reviews", get(pages::reviews::reviews_page))
            .route("/story", get(pages::ticks::ticks_page))
            // The address before there was more than ticks on it.
            .route("/ticks", get(|| async { Redirect::permanent("/story") }))
            .route("/prose/{*path}", get(pages::prose::prose_page))
            .route("/gates", get(pages::gates::gates_page))
            .route("/memory", get(pages::memory::memory_page))
            .route("/search", get(pages::search::search_page))
            .route("/settings", get(pages::settings::settings_page))
            .route("/images/{*path}", get(pages::image::project_image))
            .route("/projects", get(pages::projects::projects_page))
            .route("/projects/{name}", get(pages::projects::open_project))
            .route("/theme/{name}", get(frame::choose_theme))
            .route("/assets/{name}", get(assets::serve_asset))
            .route("/icons/{count}", get(assets::serve_icon))
            .fallback(pages::page_not_found);
        // Compiled always, so that it stays true; served to those who work on the dashboard.
        if cfg!(debug_assertions) {
            pages = pages.route("/styleguide", get(pages::styleguide::styleguide_page));
        }
        // Read-only is a property of the routes: a handler that forgot to check cannot exist.
        let decisions = if self.only_shows {
            Router::new().route("/do/{what}", post(actions::refuse_read_only))
        } else {
            Router::new()
                .route("/do/approve", handle_form(actions::approve_node))
                .route("/do/approve-plans", handle_form(actions::approve_plans))
                .route(
                    "/do/request-changes-of-plans",
                    handle_form(actions::request_changes_of_plans),
                )
                .route("/do/revalidate", handle_form(actions::revalidate_node))
                .route("/do/request-changes", handle_form(actions::request_changes))
                .route("/do/condemn", handle_form(actions::condemn_node))
                .route("/do/restore", handle_form(actions::restore_version))
                .route("/do/undo", handle_form(actions::undo_operation))
                .route("/do/accept", handle_form(actions::accept_finding))
                .route("/do/pass", handle_form(actions::pass_check))
                .route("/do/send-back", handle_form(actions::fail_check))
                .route("/do/conclude", handle_form(actions::conclude_review))
                .route("/do/retry", handle_form(actions::retry_failed_tick))
                .route("/do/skip", handle_form(actions::skip_failed_tick))
                .route("/do/comment", handle_form(actions::add_comment))
                .route("/do/progress", handle_form(actions::set_card_progress))
                .route("/do/phase", handle_form(actions::set_card_phase))
                .route("/do/priority", handle_form(actions::set_card_priority))
                .route("/do/edit", post(pages::edit::save_text))
                .route("/do/create", post(create_plan::create_plan))
                .route("/do/shape", post(pages::shape::change_plan))
                // `route_layer`, not `layer`: unknown paths must stay 404, also for tokens without
                // the scope.
                .route_layer(from_fn(authorization::require_form_scope))
        };
        // The last layer is the outermost. The frame is innermost, so that security headers and
        // compression apply to the finished document, refusals and unknown paths included.
        pages
            .merge(decisions)
            .merge(sync::router())
            .merge(api::router())
            .layer(from_fn_with_state(self.clone(), frame::complete_page))
            .layer(from_fn(headers::add_security_headers))
            .layer(CompressionLayer::new())
            .with_state(self.clone())
    }

    /// Returns the name of the project.
    #[must_use]
    pub fn project_name(&self) -> &str {
        &self.project
    }

    /// Lists what waits for a person, after a scan of the files if the last one is too old. Blocks.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn list_waiting_items(&self) -> Result<Vec<WaitingItem>, Failure> {
        // Without a slot of `room`: the notifier calls this from a thread of its own, and a page
        // that holds a slot of its own project calls it for the others.
        self.lookout.ask(list_waiting_items)
    }

    /// Returns the path of the page on which an item is decided.
    #[must_use]
    pub fn page_of_item(item: &WaitingItem) -> String {
        match finding_of_item(item) {
            Some((subject, check)) => pages::inbox::finding_url(subject, check),
            None => urls::node_url(&item.path),
        }
    }

    /// Ends the event streams, which never end by themselves.
    pub fn close(&self) {
        self.live.close();
    }

    /// Runs a read-only use case as the local user: the reader's identity affects no response.
    async fn ask<T: Send + 'static>(
        &self,
        use_case: impl FnMut(&Context<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        // Read access is decided by admission; there is no per-plan permission.
        let person = self.workspace.local_person();
        self.ask_as(person, use_case).await
    }

    /// Runs a use case as `who`.
    async fn ask_as<T: Send + 'static>(
        &self,
        who: Principal,
        mut use_case: impl FnMut(&Context<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let workspace = self.workspace.clone();
        self.aside(move || workspace.run_use_case(Channel::Web, &who, &mut use_case))
            .await
    }

    /// Runs a read-only use case as the local user in a session of an agent, for what depends on what
    /// that session knows.
    async fn ask_in_session<T: Send + 'static>(
        &self,
        session: String,
        mut use_case: impl FnMut(&Context<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let workspace = self.workspace.clone();
        self.aside(move || {
            let person = workspace.local_person();
            run_for_value(
                |use_case| workspace.run_in_session(Channel::Web, &person, &session, use_case),
                &mut use_case,
            )
        })
        .await
    }

    /// Runs a use case on the cached tree.
    async fn ask_tree<T: Send + 'static>(
        &self,
        use_case: impl FnMut(&Context<'_>, &CachedTree) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let lookout = self.lookout.clone();
        self.aside(move || lookout.ask(use_case)).await
    }

    /// Runs a use case on the cached tree as `who`.
    async fn ask_tree_as<T: Send + 'static>(
        &self,
        who: Principal,
        use_case: impl FnMut(&Context<'_>, &CachedTree) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let lookout = self.lookout.clone();
        self.aside(move || lookout.ask_as(&who, use_case)).await
    }

    /// Runs a use case on the cached tree without a scan of the files, right after a page whose
    /// handler has done one.
    async fn ask_recorded<T: Send + 'static>(
        &self,
        use_case: impl FnMut(&Context<'_>, &CachedTree) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let lookout = self.lookout.clone();
        self.aside(move || lookout.ask_recorded(use_case)).await
    }

    /// Runs blocking work on the current thread, with a limit on concurrency.
    ///
    /// `block_in_place` instead of `spawn_blocking`: on a busy machine waking another thread and
    /// being woken by it takes longer than most responses.
    async fn aside<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let broken = || Failure::internal("internal error in Throughline (please report it)");
        // Held until the work is done; requests beyond the limit wait here without a thread.
        let _room = self.room.acquire().await.map_err(|_| broken())?;
        // A panic costs one response; the runtime's thread has to survive it.
        let caught = tokio::task::block_in_place(|| {
            // Sound to go on: a transaction that unwinds is rolled back when it is dropped, and the
            // caches recover poisoned locks.
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        });
        caught.unwrap_or_else(|_| Err(broken()))
    }
}
