//! Conversion of surface types to the protocol's types.

use std::collections::BTreeMap;
use std::sync::Arc;

use application::{Failure, FailureKind};
use rmcp::model::{
    CacheScope, CallToolResult, CompletionInfo, ErrorCode, ErrorData, JsonObject, MetaObject,
    PromptArgument, ResourceContents, ResourceTemplate, Tool, ToolAnnotations,
};
use serde_json::{Value, json};

use crate::surface::{Content, Hints, Offered, Prompt, Resource, Template, Toolset};

/// Cache lifetime of lists that do not change while the process runs.
pub(super) const LIST_TTL_MS: u64 = 5 * 60 * 1_000;
/// Lists may be cached across users where no token filters them: they depend on the project and the
/// path alone.
pub(super) const LIST_SCOPE: CacheScope = CacheScope::Public;

fn object(value: Value) -> JsonObject {
    match value {
        // A schema is an object by construction; anything else becomes empty instead of a panic.
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

pub(super) fn tool(offered: Offered) -> Tool {
    let Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
    } = offered.hints;
    // The other hints apply only to tools that change something, and every byte of the list ends up
    // in a model's context.
    let annotations = if read_only {
        ToolAnnotations::new().read_only(true)
    } else {
        ToolAnnotations::new()
            .read_only(false)
            .destructive(destructive)
            .idempotent(idempotent)
            .open_world(open_world)
    };
    let tool = Tool::new(
        offered.name,
        offered.description,
        Arc::new(object(offered.input_schema)),
    )
    .with_raw_output_schema(Arc::new(object(offered.output_schema)))
    .with_annotations(annotations);
    match offered.set {
        // Hosts with tool search hide the other tools until they are found by name.
        Toolset::Core => {
            tool.with_meta(MetaObject(object(json!({ "anthropic/alwaysLoad": true }))))
        }
        _ => tool,
    }
}

pub(super) fn resource(resource: Resource) -> rmcp::model::Resource {
    let listed = rmcp::model::Resource::new(resource.uri, resource.name)
        .with_description(resource.description)
        .with_mime_type(resource.mime_type);
    match resource.title {
        Some(title) => listed.with_title(title),
        None => listed,
    }
}

pub(super) fn template(template: Template) -> ResourceTemplate {
    ResourceTemplate::new(template.uri_template, template.name)
        .with_description(template.description)
        .with_mime_type(template.mime_type)
}

pub(super) fn content(content: Content) -> ResourceContents {
    ResourceContents::text(content.text, content.uri).with_mime_type(content.mime_type)
}

pub(super) fn prompt(prompt: Prompt) -> rmcp::model::Prompt {
    let arguments = prompt.arguments.into_iter().map(|argument| {
        PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.required)
    });
    rmcp::model::Prompt::new(
        prompt.name,
        Some(prompt.description),
        Some(arguments.collect()),
    )
    .with_title(prompt.title)
}

/// Returns a successful result: structured, and the same as compact text for older clients.
pub(super) fn done(value: Value) -> CallToolResult {
    CallToolResult::structured(value)
}

/// Returns a result with `isError`, which the model reads; a protocol error would stop at the
/// client.
pub(super) fn failed(value: Value) -> CallToolResult {
    CallToolResult::structured_error(value)
}

/// Returns completions, at most as many as the protocol allows.
pub(super) fn completions(mut values: Vec<String>) -> CompletionInfo {
    // The total tells a client that it should ask with a longer prefix.
    let found = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let more = found > values.len();
    // It fails only above the limit to which the values were just cut.
    CompletionInfo::with_pagination(values, u32::try_from(found).ok(), more).unwrap_or_default()
}

/// Returns the arguments of a prompt as strings. The protocol has strings only, but some clients
/// send numbers and booleans.
pub(super) fn prompt_arguments(
    given: Option<JsonObject>,
) -> Result<BTreeMap<String, String>, ErrorData> {
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Number(_) | Value::Bool(_) => Ok((name, value.to_string())),
        _ => Err(ErrorData::invalid_params(
            format!("prompts/get: the argument `{name}` must be a string"),
            None,
        )),
    };
    given.unwrap_or_default().into_iter().map(text).collect()
}

/// Returns the protocol error for a failure outside a tool call, where there is no `isError`
/// result.
pub(super) fn error(failure: &Failure, data: Value) -> ErrorData {
    // MCP has few codes; the failure's kind is in the data.
    let code = match failure.kind {
        FailureKind::Refused
        | FailureKind::NotFound
        | FailureKind::Conflict
        | FailureKind::Invalid => ErrorCode::INVALID_PARAMS,
        FailureKind::Unavailable | FailureKind::Internal => ErrorCode::INTERNAL_ERROR,
    };
    ErrorData::new(code, failure.message.clone(), Some(data))
}

/// Returns a client's name as the history shows it.
///
/// The client chooses it: with a `/` in it a client could pose as another session.
pub(super) fn host_name(name: &str) -> String {
    // Letters of any script: names of clients are not always English.
    let plain = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') {
            c
        } else {
            '-'
        }
    };
    let cleaned: String = name.trim().chars().take(64).map(plain).collect();
    if cleaned.is_empty() {
        "mcp".to_owned()
    } else {
        cleaned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_name_cannot_pass_for_something_else() {
        assert_eq!(host_name("claude-code"), "claude-code");
        assert_eq!(host_name("a/b c\n"), "a-b-c");
        assert_eq!(host_name("  "), "mcp");
        assert_eq!(host_name(&"x".repeat(500)).len(), 64);
    }

    #[test]
    fn completions_are_cut_and_counted() {
        let many = completions((0..250).map(|number| number.to_string()).collect());
        assert_eq!(
            (many.values.len(), many.total, many.has_more),
            (100, Some(250), Some(true))
        );
        let few = completions(vec!["a".to_owned()]);
        assert_eq!(
            (few.values.len(), few.total, few.has_more),
            (1, Some(1), Some(false))
        );
    }

    #[test]
    fn arguments_of_prompts_are_texts() {
        let given = object(json!({ "a": "x", "b": 5, "c": true }));
        let read = prompt_arguments(Some(given)).expect("arguments");
        assert_eq!(read.into_values().collect::<Vec<_>>(), ["x", "5", "true"]);
        assert!(prompt_arguments(Some(object(json!({ "a": {} })))).is_err());
    }
}
