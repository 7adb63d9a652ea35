//! Sync API for replicas: they pull new operations (with long polling) and push their own.
//!
//! The server has authenticated the request; `application::accept_operations` decides what is
//! accepted. Bodies are lines of the journal, so that a replica can verify the hash chain.

use std::time::Duration;

use application::Failure;
use application::accept_operations::accept_operations;
use application::send_operations::{SendOperationsOutcome, SendOperationsRequest, send_operations};
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use domain::authorization::{AuditDetail, AuthenticatedPrincipal, Scope, required_scope};
use domain::ids::{Digest32, OperationId};
use domain::operation::{Channel, Operation};
use domain::sync_protocol::{JournalLineHead, MAX_PUSH_BYTES, PullHeader, PushHeader, PushOutcome};
use domain::text::clean_line;
use serde::Deserialize;

use crate::Dashboard;
use crate::refusal::ApiRefusal;

/// Maximum time of a long poll.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

pub(crate) fn router() -> Router<Dashboard> {
    Router::new().route(
        "/api/team/operations",
        get(hand_over)
            .post(accept)
            // The framework's default of 2 MB is smaller than a push of several texts.
            .layer(DefaultBodyLimit::max(MAX_PUSH_BYTES + 4_096)),
    )
}

/// Query of a pull: the last known operation, and the long-poll time.
#[derive(Clone, Deserialize)]
struct Asked {
    after: u64,
    hash: Option<String>,
    /// Milliseconds.
    #[serde(default)]
    wait: u64,
}

impl Dashboard {
    async fn page(
        &self,
        caller: &AuthenticatedPrincipal,
        request: SendOperationsRequest,
    ) -> Result<SendOperationsOutcome, Failure> {
        let (workspace, caller) = (self.workspace.clone(), caller.clone());
        self.aside(move || {
            let mut hand_over =
                |ctx: &application::Context<'_>| send_operations(ctx, &caller, &request);
            // As the caller: the header tells the replica its principal and scope on this server.
            workspace.run_use_case(Channel::Web, &caller.principal, &mut hand_over)
        })
        .await
    }
}

async fn hand_over(
    State(dashboard): State<Dashboard>,
    Extension(caller): Extension<AuthenticatedPrincipal>,
    Query(asked): Query<Asked>,
) -> Result<Response, ApiRefusal> {
    let invalid = |_| Failure::invalid("`hash` is not a hash");
    let hash = asked
        .hash
        .as_deref()
        .map(str::parse::<Digest32>)
        .transpose()
        .map_err(invalid)?;
    let request = SendOperationsRequest {
        after: OperationId(asked.after),
        hash,
    };
    // Bounded below common proxy timeouts of 60 s.
    let wait = Duration::from_millis(asked.wait).min(LONGEST_WAIT);
    // Subscribed before the first read: an operation between the two still wakes this request.
    let listening = (!wait.is_zero()).then(|| dashboard.live.listen());
    let mut page = dashboard.page(&caller, request).await?;
    if let (Some(listening), SendOperationsOutcome::Page { lines, .. }) = (listening, &page)
        && lines.is_empty()
    {
        let news = listening.until_after(asked.after);
        // A timeout is answered with the empty page, after which the replica asks again: an error
        // would look like a server that cannot be reached.
        if tokio::time::timeout(wait, news).await.is_ok() {
            page = dashboard.page(&caller, request).await?;
        }
    }
    Ok(match page {
        SendOperationsOutcome::Page { greeting, lines } => answered(&greeting, &lines)?,
        // The replica has operations this server never had: it must not append to them.
        SendOperationsOutcome::Diverged => (
            StatusCode::CONFLICT,
            Json(PushOutcome::Diverged {
                after: OperationId(asked.after),
            }),
        )
            .into_response(),
    })
}

fn answered(greeting: &PullHeader, lines: &[String]) -> Result<Response, Failure> {
    let head =
        serde_json::to_string(greeting).map_err(|error| Failure::internal(error.to_string()))?;
    // Built in one buffer: a first pull sends the whole history.
    let mut body =
        String::with_capacity(head.len() + 1 + lines.iter().map(String::len).sum::<usize>());
    body.push_str(&head);
    body.push('\n');
    lines.iter().for_each(|line| body.push_str(line));
    let headers = [
        (CONTENT_TYPE, "application/x-ndjson"),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, body).into_response())
}

async fn accept(
    State(dashboard): State<Dashboard>,
    Extension(caller): Extension<AuthenticatedPrincipal>,
    body: Bytes,
) -> Result<Response, ApiRefusal> {
    // Refused before the body is parsed.
    if dashboard.only_shows {
        return Err(Failure::refused("this server is read-only").into());
    }
    let (sending, lines) = read(&body)?;
    let decided = describe_decisions(&lines);
    let workspace = dashboard.workspace.clone();
    let closed = |_| Failure::unavailable("the server is shutting down");
    // Taken before a slot of `room`: pushes that wait for each other must not block the pages.
    let _turn = dashboard.turn.acquire().await.map_err(closed)?;
    let receipt = dashboard
        .aside(move || {
            let mut accept =
                |ctx: &application::Context<'_>| accept_operations(ctx, &caller, &sending, &lines);
            workspace.run_use_case(Channel::Web, &caller.principal, &mut accept)
        })
        .await?;
    let status = match receipt {
        PushOutcome::Kept { .. } => StatusCode::OK,
        // Both are 409 with the outcome in the body: a replica retries after a conflict, but must
        // never retry a divergence.
        PushOutcome::Conflict { .. } | PushOutcome::Diverged { .. } => StatusCode::CONFLICT,
    };
    let mut response = (status, Json(receipt)).into_response();
    // Operations that were not kept decided nothing, so the audit log gets no entry for them.
    if let (StatusCode::OK, Some(decided)) = (status, decided) {
        response.extensions_mut().insert(decided);
    }
    Ok(response)
}

/// Returns what pushed operations decide, for the audit log; `None` if they decide nothing.
fn describe_decisions(lines: &[String]) -> Option<AuditDetail> {
    let decided: Vec<String> = lines
        .iter()
        // A line that cannot be parsed is refused by the use case; here it only goes undescribed.
        .filter_map(|line| serde_json::from_str::<JournalLineHead<Operation>>(line).ok())
        .filter(|line| required_scope(&line.op) == Scope::Approve)
        .map(|line| format!("{} ({})", line.op.summary, line.op.by))
        .collect();
    // Bounded and cleaned: summaries are the sender's words, and the audit log is read in
    // terminals.
    let text: String = clean_line(&decided.join("; ")).chars().take(300).collect();
    (!text.is_empty()).then_some(AuditDetail(text))
}

fn read(body: &[u8]) -> Result<(PushHeader, Vec<String>), Failure> {
    let text =
        std::str::from_utf8(body).map_err(|_| Failure::invalid("the body is not valid UTF-8"))?;
    let mut lines = text.split_inclusive('\n');
    let head = lines.next().unwrap_or_default();
    let sending = serde_json::from_str(head).map_err(|error| {
        Failure::invalid(format!(
            "invalid first line, expected the operation that the others follow: {error}"
        ))
    })?;
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    // A body cut off in transit must not be accepted in part.
    if text.len() > head.len() && !text.ends_with('\n') {
        return Err(Failure::invalid("the last line is cut off"));
    }
    Ok((sending, lines))
}
