//! A connection: the suite's own names first, the product's server for everything else.
#![allow(deprecated, reason = "the older era's ways are what is tested")]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use mcp::protocol::Server;
use rmcp::ServerHandler;
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Value, json};

use crate::{asking, contents};

/// One connection.
pub(crate) struct Fixtures {
    pub(crate) product: Server,
    pub(crate) seal: RequestStateCodec,
}

/// The tools of the suite, with what they are given.
const TOOLS: &[(&str, &[&str])] = &[
    ("test_simple_text", &[]),
    ("test_image_content", &[]),
    ("test_audio_content", &[]),
    ("test_embedded_resource", &[]),
    ("test_multiple_content_types", &[]),
    ("test_error_handling", &[]),
    ("test_tool_with_logging", &[]),
    ("test_logging_tool", &[]),
    ("test_tool_with_progress", &[]),
    ("test_sampling", &["prompt"]),
    ("test_elicitation", &["message"]),
    ("test_elicitation_sep1034_defaults", &[]),
    ("test_elicitation_sep1330_enums", &[]),
    ("test_missing_capability", &[]),
    ("test_streaming_elicitation", &[]),
    ("test_input_required_result_elicitation", &[]),
    ("test_input_required_result_sampling", &[]),
    ("test_input_required_result_list_roots", &[]),
    ("test_input_required_result_request_state", &[]),
    ("test_input_required_result_tampered_state", &[]),
    ("test_input_required_result_multiple_inputs", &[]),
    ("test_input_required_result_multi_round", &[]),
    ("test_input_required_result_capabilities", &[]),
];

fn definition(name: &'static str, arguments: &[&str]) -> Tool {
    let properties: JsonObject = arguments
        .iter()
        .map(|argument| ((*argument).to_owned(), json!({ "type": "string" })))
        .collect();
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(arguments));
    Tool::new(name, "asked for by the conformance suite", Arc::new(schema))
}

/// How far apart what the suite counts is sent.
const APART: Duration = Duration::from_millis(50);

impl Fixtures {
    /// Says three things while it works.
    async fn logs(&self, ctx: &RequestContext<RoleServer>) -> CallToolResult {
        for what in [
            "Tool execution started",
            "Tool processing data",
            "Tool execution completed",
        ] {
            self.product.say(ctx, LoggingLevel::Info, || json!(what));
            tokio::time::sleep(APART).await;
        }
        CallToolResult::success(vec![ContentBlock::text("Everything was said")])
    }

    /// Tells three times how far it is.
    async fn progresses(&self, ctx: &RequestContext<RoleServer>) -> CallToolResult {
        for progress in [0.0, 50.0, 100.0] {
            if let Some(token) = ctx.meta.get_progress_token() {
                let told = ProgressNotificationParam::new(token, progress).with_total(100.0);
                ctx.peer.notify_progress(told).await.unwrap();
            }
            tokio::time::sleep(APART).await;
        }
        CallToolResult::success(vec![ContentBlock::text("It is done")])
    }
}

impl ServerHandler for Fixtures {
    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        ctx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut result = self.product.list_tools(request, ctx).await?;
        result.tools.extend(
            TOOLS
                .iter()
                .map(|(name, arguments)| definition(name, arguments)),
        );
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(result) = contents::told_by(&request.name) {
            return Ok(result.into());
        }
        match request.name.as_ref() {
            "test_tool_with_logging" | "test_logging_tool" => {
                return Ok(self.logs(&ctx).await.into());
            }
            "test_tool_with_progress" => return Ok(self.progresses(&ctx).await.into()),
            _ => {}
        }
        if let Some(response) = asking::by_result(&request, &ctx, &self.seal) {
            return response;
        }
        if let Some(response) = asking::by_request(&request, &ctx).await {
            return Ok(response);
        }
        self.product.call_tool(request, ctx).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        ctx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut result = self.product.list_resources(request, ctx).await?;
        result.resources.extend(contents::resources());
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        ctx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut result = self.product.list_resource_templates(request, ctx).await?;
        result.resource_templates.extend(contents::templates());
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match contents::read(&request.uri) {
            Some(content) => Ok(ReadResourceResult::new(vec![content]).into()),
            None => self.product.read_resource(request, ctx).await,
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        ctx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut result = self.product.list_prompts(request, ctx).await?;
        result.prompts.extend(contents::prompts());
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == "test_input_required_result_prompt" {
            return Ok(asking::prompt_by_result(&request));
        }
        match contents::prompted(
            &request.name,
            &request.arguments.clone().unwrap_or_default(),
        ) {
            Some(messages) => Ok(GetPromptResult::new(messages).into()),
            None => self.product.get_prompt(request, ctx).await,
        }
    }

    // Everything below is the product's own.

    fn get_info(&self) -> ServerConfig {
        self.product.get_info()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let ours = TOOLS
            .iter()
            .find(|(tool, _)| *tool == name)
            .map(|(tool, arguments)| definition(tool, arguments));
        ours.or_else(|| self.product.get_tool(name))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.product.supported_protocol_versions()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.product.initialize(request, ctx).await
    }

    async fn on_initialized(&self, ctx: NotificationContext<RoleServer>) {
        self.product.on_initialized(ctx).await;
    }

    async fn discover(&self, ctx: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.product.discover(ctx).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.product.complete(request, ctx).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.product.set_level(request, ctx).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.product.subscribe(request, ctx).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.product.unsubscribe(request, ctx).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.product.accepted_subscription_filter(requested)
    }

    async fn listen(&self, ctx: SubscriptionContext) -> Result<(), ErrorData> {
        self.product.listen(ctx).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        ctx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.product.on_custom_request(request, ctx).await
    }
}
