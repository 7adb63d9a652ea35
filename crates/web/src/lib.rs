//! The dashboard: the project as pages for people, and as JSON for programs.
//!
//! It decides nothing and keeps nothing: every page is one use case, rendered; every form is one use case, done in the name
//! of who was let in. Who that is finds out the server that mounts [`Dashboard::router`], and says it to each request as
//! a [`domain::access::Admitted`].

mod actions;
mod api;
mod assets;
mod authorization;
mod headers;
mod live;
mod lookout;
mod markdown;
mod pages;
mod refusal;
mod sync;
mod urls;

use std::collections::BTreeMap;
use std::sync::Arc;

use application::open_gates::BlockedStep;
use application::tree_cache::CachedTree;
use application::{Context, Failure, FailureKind, Workspace};
use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use domain::ids::Principal;
use domain::operation::Channel;
use serde::Serialize;
use tokio::sync::Semaphore;
use tower_http::compression::CompressionLayer;

use crate::live::Live;
use crate::lookout::Lookout;

/// How the gates did, from the ledger of hooks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GateReport {
    /// Hook events so far.
    pub events: usize,
    /// Events that could not be checked.
    pub faults: usize,
    pub gates: BTreeMap<String, GateCounts>,
    pub hosts: Vec<HostLatency>,
}

/// What one gate did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GateCounts {
    pub fires: usize,
    pub blocks: usize,
    pub warnings: usize,
    pub overrides: usize,
    /// Blocks after which the session did something that was allowed.
    pub catches: usize,
}

/// How long the hooks of one host took.
#[derive(Clone, Debug, Serialize)]
pub struct HostLatency {
    pub host: String,
    pub events: usize,
    pub p50_micros: u64,
    pub p99_micros: u64,
    pub blocks: usize,
    pub faults: usize,
}

/// What hooks noted: the ledger is the program's.
pub trait HookLedger: Send + Sync + 'static {
    /// Reads how the gates did.
    ///
    /// # Errors
    /// When the state cannot be read.
    fn report(&self, ctx: &Context<'_>) -> Result<GateReport, Failure>;

    /// Returns the steps that gates stopped lately, oldest first.
    fn blocked(&self) -> Vec<BlockedStep>;
}

/// The dashboard of one project.
#[derive(Clone)]
pub struct Dashboard {
    workspace: Arc<dyn Workspace>,
    hooks: Arc<dyn HookLedger>,
    lookout: Arc<Lookout>,
    live: Arc<Live>,
    only_shows: bool,
    room: Arc<Semaphore>,
    /// Held by who keeps operations of a replica: they come one after the other anyway, and who waits takes no room.
    turn: Arc<Semaphore>,
}

/// So many requests are worked on at once: more would only get in each other's way, and each takes memory.
const MOST_AT_ONCE: usize = 4;

impl Dashboard {
    /// Returns the dashboard of a project.
    #[must_use]
    pub fn new(workspace: Arc<dyn Workspace>, hooks: Arc<dyn HookLedger>) -> Self {
        let lookout = Arc::new(Lookout::of(workspace.clone()));
        Self {
            live: Arc::new(Live::of(workspace.clone(), lookout.clone())),
            workspace,
            hooks,
            lookout,
            only_shows: false,
            room: Arc::new(Semaphore::new(MOST_AT_ONCE)),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// The same, with no way to change anything.
    #[must_use]
    pub fn only_showing(self) -> Self {
        Self {
            only_shows: true,
            ..self
        }
    }

    /// Returns everything it serves.
    pub fn router(&self) -> Router {
        let pages = Router::new()
            .route("/", get(pages::now::page))
            .route("/tree", get(pages::tree::page))
            .route("/nodes/{*path}", get(pages::node::page))
            .route("/timeline", get(pages::timeline::page))
            .route("/reviews", get(pages::reviews::page))
            .route("/ticks", get(pages::ticks::page))
            .route("/prose/{*path}", get(pages::prose::page))
            .route("/gates", get(pages::gates::page))
            .route("/memory", get(pages::memory::page))
            .route("/assets/{name}", get(assets::asset))
            .fallback(pages::nowhere);
        let decisions = if self.only_shows {
            Router::new().route("/do/{what}", post(actions::refuse_read_only))
        } else {
            Router::new()
                .route("/do/approve", post(actions::approve))
                .route("/do/revalidate", post(actions::revalidate))
                .route("/do/condemn", post(actions::condemn))
                .route("/do/restore", post(actions::restore))
                .route("/do/undo", post(actions::undo))
                .route("/do/accept", post(actions::accept))
                .route("/do/pass", post(actions::pass))
                .route("/do/send-back", post(actions::send_back))
                .route("/do/conclude", post(actions::conclude))
                .route("/do/retry", post(actions::retry))
                .route("/do/skip", post(actions::skip))
                .route_layer(from_fn(authorization::require_approve))
                .merge(
                    Router::new()
                        .route("/do/comment", post(actions::comment))
                        .route_layer(from_fn(authorization::require_agent)),
                )
        };
        pages
            .merge(decisions)
            .merge(sync::router())
            .merge(api::router())
            .layer(from_fn(headers::add))
            .layer(CompressionLayer::new())
            .with_state(self.clone())
    }

    /// Ends the streams, which would go on for ever.
    pub fn close(&self) {
        self.live.close();
    }

    /// Runs a use case that only looks, as whoever started the server: who looks is in no answer.
    async fn ask<T: Send + 'static>(
        &self,
        use_case: impl FnMut(&Context<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let person = self.workspace.local_person();
        self.ask_as(person, use_case).await
    }

    /// Runs a use case in somebody's name.
    async fn ask_as<T: Send + 'static>(
        &self,
        who: Principal,
        mut use_case: impl FnMut(&Context<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let workspace = self.workspace.clone();
        self.aside(move || workspace.run_use_case(Channel::Web, &who, &mut use_case))
            .await
    }

    /// The same on the tree, which is kept between requests.
    async fn ask_tree<T: Send + 'static>(
        &self,
        use_case: impl FnMut(&Context<'_>, &CachedTree) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let lookout = self.lookout.clone();
        self.aside(move || lookout.ask(use_case)).await
    }

    /// Does something that may wait for a disk. On the thread that read the request, whose other work another one takes over:
    /// to wake a thread for it and be woken by it takes longer than most answers when the machine is busy.
    async fn aside<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let broken = || Failure::new(FailureKind::Internal, "the use case broke off");
        let _room = self.room.acquire().await.map_err(|_| broken())?;
        let caught = tokio::task::block_in_place(|| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        });
        caught.unwrap_or_else(|_| Err(broken()))
    }
}
