//! What the suite wants to be given: texts, a picture, a sound, resources.

use rmcp::model::*;
use serde_json::{Value, json};

/// A picture of one dot.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// A sound of no length.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

fn text_at(uri: &str, mime_type: &str, text: &str) -> ResourceContents {
    ResourceContents::text(text, uri).with_mime_type(mime_type)
}

fn picture() -> ContentBlock {
    ContentBlock::image(PICTURE, "image/png")
}

/// Returns what a tool that asks nobody anything answers. `None` when it is no such tool.
pub(crate) fn told_by(tool: &str) -> Option<CallToolResult> {
    let embedded = |uri, mime_type, text| ContentBlock::resource(text_at(uri, mime_type, text));
    let content = match tool {
        "test_simple_text" => vec![ContentBlock::text(
            "This is a simple text response for testing.",
        )],
        "test_image_content" => vec![picture()],
        "test_audio_content" => vec![ContentBlock::Audio(AudioContent::new(SOUND, "audio/wav"))],
        "test_embedded_resource" => vec![embedded(
            "test://embedded-resource",
            "text/plain",
            "An embedded resource.",
        )],
        "test_multiple_content_types" => vec![
            ContentBlock::text("Several kinds at once:"),
            picture(),
            embedded(
                "test://mixed-content-resource",
                "application/json",
                "{\"test\":\"data\",\"value\":123}",
            ),
        ],
        "test_error_handling" => {
            let said = "This tool intentionally returns an error for testing";
            return Some(CallToolResult::error(vec![ContentBlock::text(said)]));
        }
        _ => return None,
    };
    Some(CallToolResult::success(content))
}

/// Returns the resources in the list.
pub(crate) fn resources() -> Vec<Resource> {
    vec![
        Resource::new("test://static-text", "static text").with_mime_type("text/plain"),
        Resource::new("test://static-binary", "static binary").with_mime_type("image/png"),
    ]
}

/// Returns the families of resources.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "data by id")
            .with_mime_type("application/json"),
    ]
}

/// Reads one of the suite's resources. `None` when it is none of them.
pub(crate) fn read(uri: &str) -> Option<ResourceContents> {
    match uri {
        "test://static-text" => Some(text_at(
            uri,
            "text/plain",
            "This is the content of the static text resource.",
        )),
        "test://static-binary" => {
            Some(ResourceContents::blob(PICTURE, uri).with_mime_type("image/png"))
        }
        _ => {
            let id = uri
                .strip_prefix("test://template/")?
                .strip_suffix("/data")?;
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(text_at(uri, "application/json", &data.to_string()))
        }
    }
}

/// Returns the prompts in the list.
pub(crate) fn prompts() -> Vec<Prompt> {
    let arguments = vec![
        PromptArgument::new("arg1")
            .with_description("the first")
            .with_required(true),
        PromptArgument::new("arg2")
            .with_description("the second")
            .with_required(true),
    ];
    let uri = vec![
        PromptArgument::new("resourceUri")
            .with_description("what to embed")
            .with_required(true),
    ];
    vec![
        Prompt::new("test_simple_prompt", Some("a text"), None),
        Prompt::new(
            "test_prompt_with_arguments",
            Some("its arguments in a text"),
            Some(arguments),
        ),
        Prompt::new(
            "test_prompt_with_embedded_resource",
            Some("a resource in a prompt"),
            Some(uri),
        ),
        Prompt::new(
            "test_prompt_with_image",
            Some("a picture in a prompt"),
            None,
        ),
        Prompt::new(
            "test_input_required_result_prompt",
            Some("asks before it answers"),
            None,
        ),
    ]
}

/// Returns a prompt's messages. `None` when it is none of the suite's, or one that asks first.
pub(crate) fn prompted(name: &str, arguments: &JsonObject) -> Option<Vec<PromptMessage>> {
    let given = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let says = |text: &str| PromptMessage::new_text(Role::User, text);
    Some(match name {
        "test_simple_prompt" => vec![says("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            vec![says(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                given("arg1"),
                given("arg2")
            ))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = text_at(
                given("resourceUri"),
                "text/plain",
                "Embedded resource content for testing.",
            );
            vec![
                PromptMessage::new(Role::User, ContentBlock::resource(resource)),
                says("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => {
            vec![
                PromptMessage::new(Role::User, picture()),
                says("Please analyze the image above."),
            ]
        }
        _ => return None,
    })
}
