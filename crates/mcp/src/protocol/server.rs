//! Request handler of one connection, in either era.
//!
//! It translates and dispatches; what a tool does is in `tools`. Quick reads run where the message
//! was read, everything else on a blocking thread, so that a slow call does not block the others.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use application::answer_question::Answer;
use application::{Failure, FailureKind};
use domain::ids::Principal;
use rmcp::ServerHandler;
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::Value;
use server::AuditLog;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::approval::{self, Approvals};
use super::changes::{Changes, MAX_URIS};
use super::convert::{self, LIST_SCOPE, LIST_TTL_MS};
use super::identity::{authenticated, is_modern};
use super::log::{DEBUG, Threshold, WARNING, about_call};
use super::read_thread::ReadThread;
use super::subscriptions::Subscriptions;
use super::wait::{self, WAIT};
use super::{connection_name, frames};
use crate::surface::{
    APPROVE_TOOL, Called, KEEP_TOOL, Offered, Question, Surface, Toolset, UPDATE_TOOL,
    failure_value,
};
use crate::tools::more_tools;

/// Maximum number of concurrent slow calls.
const MAX_BACKGROUND_CALLS: usize = 4;

/// State shared by all connections of a process.
pub(super) struct Shared {
    surface: Surface,
    /// The default list, for the definitions it was made of.
    tools: Mutex<Option<(u64, Vec<Tool>)>>,
    approvals: Arc<Approvals>,
    changes: Arc<Changes>,
    closing: CancellationToken,
    /// Whether the runtime has several threads, and a call may block the current one.
    threads: bool,
    /// Slots for slow calls: more at once would only wait for the same disk.
    aside: Arc<Semaphore>,
    /// Where a process with one client runs slow reads, once there was one.
    reads: OnceLock<Option<ReadThread>>,
    /// Session name of requests without a session.
    name: String,
    /// Audit log of calls that change something; none over stdio.
    audit: Option<Arc<AuditLog>>,
}

impl Shared {
    /// Creates the state; `closing` ends long waits and streams.
    pub(super) fn new(surface: Surface, closing: CancellationToken, threads: bool) -> Arc<Self> {
        Arc::new(Self {
            tools: Mutex::default(),
            approvals: Arc::new(Approvals::new()),
            changes: Changes::of(surface.clone()),
            surface,
            closing,
            threads,
            aside: Arc::new(Semaphore::new(MAX_BACKGROUND_CALLS)),
            reads: OnceLock::new(),
            name: connection_name(),
            audit: None,
        })
    }

    /// Returns the same state with an audit log.
    pub(super) fn noting(self: Arc<Self>, audit: Arc<AuditLog>) -> Arc<Self> {
        // The copy keeps the name and the approvals: a question asked on one path may be answered
        // on another.
        let surface = self.surface.clone();
        Arc::new(Self {
            audit: Some(audit),
            ..self.over(surface)
        })
    }

    /// Returns the same state with other tools; approvals and subscriptions stay those of the
    /// process.
    pub(super) fn offering(self: &Arc<Self>, surface: Surface) -> Arc<Self> {
        Arc::new(self.over(surface))
    }

    fn over(&self, surface: Surface) -> Self {
        Self {
            // Not shared: another surface offers other tools.
            tools: Mutex::default(),
            surface,
            approvals: self.approvals.clone(),
            changes: self.changes.clone(),
            closing: self.closing.clone(),
            threads: self.threads,
            aside: self.aside.clone(),
            reads: OnceLock::new(),
            name: self.name.clone(),
            audit: self.audit.clone(),
        }
    }

    pub(super) fn closing_token(&self) -> &CancellationToken {
        &self.closing
    }

    /// Returns the default list of tools: constant until a settings file changes.
    fn default_tools(&self) -> Vec<Tool> {
        let version = self.surface.definitions_version();
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        match &*tools {
            Some((known, tools)) if *known == version => tools.clone(),
            _ => {
                let made: Vec<Tool> = make_tools(self.surface.tools());
                *tools = Some((version, made.clone()));
                made
            }
        }
    }
}

fn make_tools(offered: Vec<Offered>) -> Vec<Tool> {
    offered.into_iter().map(convert::tool).collect()
}

/// One connection.
pub struct Server {
    shared: Arc<Shared>,
    name: String,
    log: Threshold,
    subscriptions: Subscriptions,
    /// Tool sets that a client of an older era asked for, in its list from then on.
    more_sets: Mutex<BTreeSet<Toolset>>,
}

impl Server {
    /// Returns a server for a new connection.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            subscriptions: Subscriptions::new(shared.changes.clone()),
            shared,
            name: connection_name(),
            log: Threshold::default(),
            more_sets: Mutex::default(),
        }
    }

    pub(super) fn surface(&self) -> &Surface {
        &self.shared.surface
    }

    /// Returns the audit log; none over stdio.
    pub(super) fn audit_log(&self) -> Option<&Arc<AuditLog>> {
        self.shared.audit.as_ref()
    }

    /// Returns the session name of this connection.
    pub(super) fn connection_name(&self) -> &str {
        &self.name
    }

    /// Returns the session name that requests without a session share.
    pub(super) fn process_name(&self) -> &str {
        &self.shared.name
    }

    pub(super) fn approvals(&self) -> &Approvals {
        &self.shared.approvals
    }

    pub(super) fn closing_token(&self) -> &CancellationToken {
        &self.shared.closing
    }

    /// Sends a log message about a request, if its client's log level includes it.
    #[expect(
        deprecated,
        reason = "older clients know no other way to hear what goes on"
    )]
    pub fn say(
        &self,
        ctx: &RequestContext<RoleServer>,
        level: LoggingLevel,
        data: impl FnOnce() -> Value,
    ) {
        self.log.say(ctx, level, data);
    }

    /// Whether a tool is offered on this connection.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.shared.surface.find_tool(tool).is_some()
    }

    /// Returns the list of tools of this connection.
    fn listed_tools(&self) -> Vec<Tool> {
        let more = self
            .more_sets
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match more.is_empty() {
            true => self.shared.default_tools(),
            false => {
                let sets: Vec<Toolset> = more.iter().copied().collect();
                make_tools(self.shared.surface.tools_with(&sets))
            }
        }
    }

    /// Adds the sets a client asked for to its list, where the era allows a list that changes.
    async fn extend_list(&self, sets: &[Toolset], context: &RequestContext<RoleServer>) {
        if sets.is_empty() || is_modern(context) {
            return;
        }
        let has_new = {
            let mut more = self
                .more_sets
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let before = more.len();
            more.extend(sets);
            more.len() > before
        };
        if has_new {
            // A client that is gone needs no notification.
            let _ = context.peer.notify_tool_list_changed().await;
        }
    }

    /// Runs a quick read on the current thread: a handover to another one would take longer than
    /// the read.
    fn here<T>(&self, work: impl FnOnce(&Surface) -> Result<T, Failure>) -> Result<T, Failure> {
        let work = || guarded(&self.shared.surface, work);
        // Without `block_in_place` a quick read would stall other tasks of this worker; on a
        // single-threaded runtime it is not available.
        if self.shared.threads {
            tokio::task::block_in_place(work)
        } else {
            work()
        }
    }

    /// Runs a slow call, or one that may wait for the write lock, on a blocking thread.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Surface) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        // The semaphore is never closed, so the result needs no check.
        // Waiting here costs no thread.
        let _place = self.shared.aside.acquire().await;
        let surface = self.shared.surface.clone();
        tokio::task::spawn_blocking(move || guarded(&surface, work))
            .await
            .unwrap_or_else(|_| Err(internal_error()))
    }

    /// Runs a slow read. A process with one client has a thread for them; a server for many runs
    /// several at once.
    async fn read_aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Surface) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let start = || match self.shared.threads {
            true => None,
            false => ReadThread::start().ok(),
        };
        let Some(thread) = self.shared.reads.get_or_init(start) else {
            return self.aside(work).await;
        };
        let surface = self.shared.surface.clone();
        thread.run(move || guarded(&surface, work)).await
    }

    /// Returns the number of the last operation; `None` while it cannot be read.
    pub(super) fn head(&self) -> Option<u64> {
        self.here(|surface| surface.workspace().head()).ok()
    }

    /// Calls a quick tool, which reads one plan.
    pub(super) fn called_here(&self, actor: &Principal, tool: &str, arguments: &Value) -> Called {
        called(self.here(|surface| Ok(surface.call(actor, tool, arguments))))
    }

    /// Reports that a wait ended without a decision. One that cannot be reported expires.
    pub(super) fn end_wait(&self, actor: &Principal, arguments: &Value) {
        let _ = self.here(|surface| surface.end_wait(actor, arguments));
    }

    /// Calls a tool.
    pub(super) async fn called(&self, actor: &Principal, tool: &str, arguments: &Value) -> Called {
        if self.shared.surface.is_quick(tool) {
            return self.called_here(actor, tool, arguments);
        }
        let is_read = self.shared.surface.is_read(tool);
        let (actor, tool, arguments) = (actor.clone(), tool.to_owned(), arguments.clone());
        let call = move |surface: &Surface| Ok(surface.call(&actor, &tool, &arguments));
        called(match is_read {
            true => self.read_aside(call).await,
            false => self.aside(call).await,
        })
    }

    /// Calls a tool in the session that the client named.
    async fn called_in_session(
        &self,
        session: Option<String>,
        actor: &Principal,
        tool: &str,
        arguments: &Value,
    ) -> Called {
        let (actor, tool, arguments) = (actor.clone(), tool.to_owned(), arguments.clone());
        called(
            self.aside(move |surface| {
                let surface = surface.in_session(session);
                Ok(surface.call(&actor, &tool, &arguments))
            })
            .await,
        )
    }

    /// Records the answer of the person who was asked, bound to exactly that question.
    pub(super) async fn answer_shown(&self, question: &Question, answer: Answer) -> Called {
        let question = question.clone();
        called(
            self.aside(move |surface| Ok(surface.answer_shown(&question, &answer)))
                .await,
        )
    }

    /// Returns the protocol error for a failure outside a tool call.
    fn protocol_error(&self, failure: &Failure) -> ErrorData {
        convert::error(failure, self.shared.surface.failure_value(failure))
    }

    /// Returns the question that a call asks the person.
    pub(super) async fn question(
        &self,
        person: &Principal,
        tool: &str,
        arguments: &Value,
    ) -> Option<Question> {
        let (person, tool, arguments) = (person.clone(), tool.to_owned(), arguments.clone());
        self.read_aside(move |surface| surface.approval_question(&person, &tool, &arguments))
            .await
            .ok()
            .flatten()
    }
}

pub(super) fn internal_error() -> Failure {
    Failure::internal("internal error in Throughline (please report it)")
}

/// Runs `work` and turns a panic into a failure: a bug costs one response, not the connection.
fn guarded<T>(
    surface: &Surface,
    work: impl FnOnce(&Surface) -> Result<T, Failure>,
) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(|| work(surface))).unwrap_or_else(|_| Err(internal_error()))
}

fn called(outcome: Result<Called, Failure>) -> Called {
    outcome.unwrap_or_else(|failure| Called::Failed(failure_value(&failure)))
}

fn complete_with(
    surface: &Surface,
    actor: &Principal,
    request: &CompleteRequestParams,
) -> Result<Vec<String>, Failure> {
    let (argument, value) = (&request.argument.name, &request.argument.value);
    match &request.r#ref {
        Reference::Prompt(prompt) => surface.complete_prompt(actor, &prompt.name, argument, value),
        Reference::Resource(resource) => {
            surface.complete_resource(actor, &resource.uri, argument, value)
        }
        // A kind of reference this server does not offer.
        _ => Ok(Vec::new()),
    }
}

/// Whether a call failed for a reason that is neither a rule nor the caller's mistake.
fn is_our_fault(result: &CallToolResult) -> bool {
    let kind = result
        .structured_content
        .as_ref()
        .and_then(|value| value["error"]["kind"].as_str());
    [FailureKind::Unavailable, FailureKind::Internal]
        .iter()
        .any(|ours| kind == Some(ours.as_str()))
}

/// Rejects a cursor: lists that fit on one page never return one.
fn no_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(cursor) => Err(ErrorData::invalid_params(
            format!("`{cursor}` is not a cursor of this list"),
            None,
        )),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        #[expect(
            deprecated,
            reason = "older clients set a level and expect to hear what goes on"
        )]
        let capabilities = ServerCapabilities::builder()
            // Deprecated, but older clients show it, and it is the only place for warnings besides
            // results.
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("throughline", env!("CARGO_PKG_VERSION"))
                    .with_title("Throughline")
                    .with_description("Keeps an AI agent's long work on its plan"),
            )
            .with_instructions(self.shared.surface.instructions())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.surface.find_tool(name).map(convert::tool)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        // The negotiated version, not the requested one: it decides the era of every later
        // response.
        let agreed = result.protocol_version.clone();
        context
            .peer
            .set_peer_info(request.with_protocol_version(agreed));
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // List changes are announced from here on, without a subscription.
        self.subscriptions.with_listener(&context.peer, |_| true);
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        // All versions, so that a client of the newest era can also see what it may fall back to.
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(LIST_SCOPE))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        no_cursor(request)?;
        // Tools beyond the token's scope are hidden: a model that sees one tries it.
        let mut tools = self.listed_tools();
        let who = authenticated(&context);
        if who.is_some() {
            let scope = self.call_scope(&context, &self.acting_principal(&context));
            // Without arguments: what a certain call needs beyond that is checked with the call.
            let needs = |tool: &Tool| self.shared.surface.required_scope(&tool.name, &Value::Null);
            tools.retain(|tool| needs(tool).is_none_or(|needed| scope.is_sufficient_for(needed)));
        }
        let result = ListToolsResult::with_all_items(tools);
        // Only the newest era has cache lifetimes.
        let scope = match who {
            // Another token has another list.
            Some(_) => CacheScope::Private,
            None => LIST_SCOPE,
        };
        Ok(if is_modern(&context) {
            result.with_ttl_ms(LIST_TTL_MS).with_cache_scope(scope)
        } else {
            result
        })
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Includes the wait for a slot, because that is what the client sees.
        let begun = Instant::now();
        let actor = self.acting_principal(&context);
        // Taken, not cloned: arguments may hold whole plans.
        let arguments = Value::Object(request.arguments.take().unwrap_or_default());
        // Scope, audit log and approvals are about the tool that is called, whichever way.
        let name = request.name.clone().into_owned();
        let (name, arguments) = match self.surface().resolve_call(name, arguments) {
            Ok(call) => call,
            Err(failure) => {
                let refused = Called::Failed(self.surface().failure_value(&failure));
                return approval::respond(refused);
            }
        };
        let mut arguments = arguments;
        let session = self.take_session(&name, &mut arguments, &context);
        let response = match (self.check_scope(&name, &arguments, &context), name.as_str()) {
            // A result with `isError`, not a protocol error: the model should read the reason.
            (Err(refused), _) => approval::respond(refused),
            (Ok(()), more_tools::NAME) if self.offers(more_tools::NAME) => {
                let scope = self.call_scope(&context, &actor);
                approval::respond(self.surface().describe_more(&arguments, scope))
            }
            (Ok(()), WAIT) if self.offers(WAIT) => {
                approval::respond(wait::wait(self, &actor, &arguments, &context).await)
            }
            (Ok(()), APPROVE_TOOL | UPDATE_TOOL | KEEP_TOOL) => {
                approval::approve(self, &actor, (&name, &arguments), &request, &context).await
            }
            (Ok(()), tool) => match session {
                // What one plan says does not depend on the session.
                Some(_) if self.shared.surface.is_quick(tool) => {
                    approval::respond(self.called_here(&actor, tool, &arguments))
                }
                None => approval::respond(self.called(&actor, tool, &arguments).await),
                session => approval::respond(
                    self.called_in_session(session, &actor, tool, &arguments)
                        .await,
                ),
            },
        };
        self.extend_list(self.surface().asked_sets(&name, &arguments), &context)
            .await;
        // The outcome goes to the audit log and the client's log; the text of a failure may contain
        // plans and stays out of both.
        let (level, outcome) = match &response {
            Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => {
                // A refusal is normal work of the rules; only our own failures deserve a warning.
                (if is_our_fault(result) { WARNING } else { DEBUG }, "failed")
            }
            Ok(CallToolResponse::InputRequired(_)) => (DEBUG, "asked"),
            Ok(_) => (DEBUG, "done"),
            Err(_) => (DEBUG, "not understood"),
        };
        self.audit_call(&name, outcome, &arguments, &context);
        self.say(&context, level, || {
            about_call(&name, outcome, begun.elapsed())
        });
        response
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let actor = self.acting_principal(&context);
        // Only this list is paged: it grows with the project, the others do not.
        let cursor = request.and_then(|request| request.cursor);
        let page = self
            .read_aside(move |surface| surface.resources(&actor, cursor.as_deref()))
            .await
            .map_err(|failure| self.protocol_error(&failure))?;
        let items = page.items.into_iter().map(convert::resource).collect();
        // No cache lifetime, which means zero: the list contains statuses, which change at any
        // time.
        let mut result = ListResourcesResult::with_all_items(items);
        result.next_cursor = page.next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        no_cursor(request)?;
        let items = self
            .shared
            .surface
            .templates()
            .into_iter()
            .map(convert::template)
            .collect();
        let result = ListResourceTemplatesResult::with_all_items(items);
        Ok(if is_modern(&context) {
            result.with_ttl_ms(LIST_TTL_MS).with_cache_scope(LIST_SCOPE)
        } else {
            result
        })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let actor = self.acting_principal(&context);
        // Cloned for the background thread; the error message needs the original.
        let uri = request.uri.clone();
        let found = self
            .read_aside(move |surface| surface.read(&actor, &uri))
            .await
            .map_err(|failure| self.protocol_error(&failure))?;
        let Some(content) = found else {
            let message = format!("there is no resource `{}`", request.uri);
            return Err(ErrorData::resource_not_found(
                message,
                Some(serde_json::json!({ "uri": request.uri })),
            ));
        };
        Ok(ReadResourceResult::new(vec![convert::content(content)]).into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        no_cursor(request)?;
        let items = self
            .shared
            .surface
            .prompts()
            .into_iter()
            .map(convert::prompt)
            .collect();
        let result = ListPromptsResult::with_all_items(items);
        Ok(if is_modern(&context) {
            result.with_ttl_ms(LIST_TTL_MS).with_cache_scope(LIST_SCOPE)
        } else {
            result
        })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let actor = self.acting_principal(&context);
        let arguments = convert::prompt_arguments(request.arguments)?;
        let name = request.name.clone();
        let text = self
            .read_aside(move |surface| surface.prompt(&actor, &name, &arguments))
            .await
            .map_err(|failure| self.protocol_error(&failure))?;
        let Some(text) = text else {
            let known = self.shared.surface.prompts();
            // Models invent prompt names; a suggestion saves them a second list request.
            let hint = domain::suggest::nearest_hint(
                &request.name,
                known.iter().map(|prompt| prompt.name.as_str()),
            );
            return Err(ErrorData::invalid_params(
                format!("there is no prompt `{}`{hint}", request.name),
                None,
            ));
        };
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let actor = self.acting_principal(&context);
        let values = self
            .read_aside(move |surface| complete_with(surface, &actor, &request))
            .await
            .map_err(|failure| self.protocol_error(&failure))?;
        Ok(CompleteResult::new(convert::completions(values)))
    }

    #[expect(deprecated, reason = "the way of older clients")]
    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_modern(&context) {
            return Err(frames::no_such_method("logging/setLevel"));
        }
        // Per connection, as the protocol says; the process has no log of its own.
        self.log.set(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut taken = false;
        // Through `here`, because adding a URI reads it once.
        self.here(|_| {
            taken = self
                .subscriptions
                .with_listener(&context.peer, |listening| listening.add(request.uri));
            Ok(())
        })
        .map_err(|failure| self.protocol_error(&failure))?;
        if taken {
            Ok(())
        } else {
            Err(too_many_subscriptions())
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions
            .with_listener(&context.peer, |listening| {
                listening.remove(&request.uri);
                true
            });
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The SDK lets `listen` alone return an error. Until then nothing is acknowledged.
        if has_too_many_uris(requested) {
            return Some(SubscriptionFilter::default());
        }
        // If registering fails, `listen` finds nothing and returns an error to the client.
        let _ = self.here(|_| {
            self.subscriptions.accept(requested);
            Ok(())
        });
        // Returned unchanged: the SDK removes what the server's capabilities do not include.
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        if has_too_many_uris(context.requested()) {
            return Err(too_many_subscriptions());
        }
        match self
            .subscriptions
            .forward(context, self.closing_token())
            .await
        {
            true => Ok(()),
            false => Err(self.protocol_error(&internal_error())),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(frames::not_understood(
            &request.method,
            request.params.as_ref(),
            is_modern(&context),
        ))
    }
}

/// Whether a filter names more resources than one listener may have.
fn has_too_many_uris(requested: &SubscriptionFilter) -> bool {
    let uris = requested.resource_subscriptions.as_ref();
    uris.is_some_and(|uris| uris.len() > MAX_URIS)
}

fn too_many_subscriptions() -> ErrorData {
    let what =
        format!("too many subscriptions: at most {MAX_URIS} resources can be watched at once");
    ErrorData::invalid_params(what, None)
}
