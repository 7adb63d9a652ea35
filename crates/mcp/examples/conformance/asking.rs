//! Tools that ask the client: by a request of their own in the older era, by their result in the newest.
#![allow(deprecated, reason = "what the suite still asks for")]

use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

fn said(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn form(message: &str, schema: Value) -> ElicitRequestParams {
    let requested_schema = serde_json::from_value(schema).unwrap();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema,
    }
}

/// Asks for one value of a kind.
fn one(message: &str, name: &str, kind: &str) -> InputRequest {
    let schema =
        json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] });
    InputRequest::Elicitation(ElicitRequest::new(form(message, schema)))
}

fn sampling(text: &str) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new(vec![SamplingMessage::user_text(text)], 100)
}

fn model(text: &str) -> InputRequest {
    InputRequest::CreateMessage(CreateMessageRequest::new(sampling(text)))
}

fn name() -> (&'static str, InputRequest) {
    ("user_name", one("What is your name?", "name", "string"))
}

fn greeting() -> (&'static str, InputRequest) {
    ("greeting", model("Generate a greeting"))
}

fn roots() -> (&'static str, InputRequest) {
    (
        "client_roots",
        InputRequest::ListRoots(ListRootsRequest::default()),
    )
}

fn asks(
    questions: impl IntoIterator<Item = (&'static str, InputRequest)>,
    state: Option<String>,
) -> InputRequiredResult {
    let questions: InputRequests = questions
        .into_iter()
        .map(|(key, question)| (key.to_owned(), question))
        .collect();
    InputRequiredResult::new(Some(questions), state)
}

/// Returns an answer that came back; one that is no object counts as none.
fn answered<'a>(answers: Option<&'a InputResponses>, key: &str) -> Option<&'a Value> {
    answers?.get(key).filter(|answer| answer.is_object())
}

/// Calls a tool of the newest era that asks with its result. `None` when it is no such tool.
pub(crate) fn by_result(
    request: &CallToolRequestParams,
    ctx: &RequestContext<RoleServer>,
    seal: &RequestStateCodec,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let answers = request.input_responses.as_ref();
    let sealed = |value: Value| Some(seal.seal_json(&value).unwrap());
    // What comes back is the client's word until the seal says that it is ours.
    let opened = match request
        .request_state
        .as_deref()
        .map(|state| seal.open_json::<Value>(state))
    {
        None => None,
        Some(Ok(state)) => Some(state),
        Some(Err(_)) => {
            return Some(Err(ErrorData::invalid_params(
                "this requestState is not ours",
                None,
            )));
        }
    };
    let response = match request.name.as_ref() {
        "test_input_required_result_elicitation" => match answered(answers, "user_name") {
            Some(answer) => said(format!(
                "Hello, {}!",
                answer["content"]["name"].as_str().unwrap_or("you")
            )),
            None => asks([name()], None).into(),
        },
        "test_input_required_result_sampling" => match answered(answers, "capital_question") {
            Some(answer) => said(format!("The model says: {}", answer["content"])),
            None => asks(
                [("capital_question", model("What is the capital of France?"))],
                None,
            )
            .into(),
        },
        "test_input_required_result_list_roots" => match answered(answers, "client_roots") {
            Some(answer) => said(format!("The roots are: {}", answer["roots"])),
            None => asks([roots()], None).into(),
        },
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => match opened {
            Some(_) => said("Confirmed: state-ok"),
            None => asks(
                [("confirm", one("Please confirm", "ok", "boolean"))],
                sealed(json!("asked")),
            )
            .into(),
        },
        "test_input_required_result_multiple_inputs" => {
            let all = ["user_name", "greeting", "client_roots"]
                .iter()
                .all(|key| answered(answers, key).is_some());
            if all && opened.is_some() {
                said("All inputs received")
            } else {
                asks([name(), greeting(), roots()], sealed(json!("gathering"))).into()
            }
        }
        "test_input_required_result_multi_round" => match opened.as_ref().and_then(Value::as_u64) {
            None => asks(
                [("step1", one("Step 1: What is your name?", "name", "string"))],
                sealed(json!(1)),
            )
            .into(),
            Some(1) => {
                let colour = one("Step 2: What is your favorite color?", "color", "string");
                asks([("step2", colour)], sealed(json!(2))).into()
            }
            Some(_) => said("Both rounds are done"),
        },
        "test_input_required_result_capabilities" if answers.is_some() => {
            said("Everything that could be asked was")
        }
        "test_input_required_result_capabilities" => {
            let can = ctx.client_capabilities().unwrap_or_default();
            let mut questions = Vec::new();
            questions.extend(can.elicitation.is_some().then(name));
            questions.extend(can.sampling.is_some().then(greeting));
            questions.extend(can.roots.is_some().then(roots));
            if questions.is_empty() {
                said("Nothing can be asked")
            } else {
                asks(questions, None).into()
            }
        }
        "test_streaming_elicitation" => asks([name()], None).into(),
        "test_missing_capability" => {
            if ctx
                .client_capabilities()
                .is_none_or(|can| can.sampling.is_none())
            {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Some(Err(ErrorData::missing_required_client_capability(needed)));
            }
            said("The capability is there")
        }
        _ => return None,
    };
    Some(Ok(response))
}

/// Asks before a prompt is given.
pub(crate) fn prompt_by_result(request: &GetPromptRequestParams) -> GetPromptResponse {
    match answered(request.input_responses.as_ref(), "user_context") {
        Some(answer) => {
            let context = answer["content"]["context"].as_str().unwrap_or_default();
            let text = format!("Prompt with elicited context: {context}");
            GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into()
        }
        None => {
            let question = one("What context should the prompt use?", "context", "string");
            asks([("user_context", question)], None).into()
        }
    }
}

/// Calls a tool of the older era that asks with a request. `None` when it is no such tool.
pub(crate) async fn by_request(
    request: &CallToolRequestParams,
    ctx: &RequestContext<RoleServer>,
) -> Option<CallToolResponse> {
    let given = |name: &str| {
        let text = request
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get(name))
            .and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let properties = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
    let form = match request.name.as_ref() {
        "test_sampling" => {
            return Some(
                match ctx.peer.create_message(sampling(&given("prompt"))).await {
                    Ok(result) => {
                        let text = result
                            .message
                            .content
                            .first()
                            .and_then(|content| content.as_text());
                        said(format!(
                            "LLM response: {}",
                            text.map(|text| text.text.as_str()).unwrap_or_default()
                        ))
                    }
                    Err(error) => {
                        CallToolResult::error(vec![ContentBlock::text(error.to_string())]).into()
                    }
                },
            );
        }
        "test_elicitation" => form(
            &given("message"),
            properties(
                json!({
                    "username": { "type": "string", "description": "User's response" },
                    "email": { "type": "string", "description": "User's email address" },
                }),
                json!(["username", "email"]),
            ),
        ),
        "test_elicitation_sep1034_defaults" => form(
            "Please review the defaults",
            properties(
                json!({
                    "name": { "type": "string", "default": "John Doe" },
                    "age": { "type": "integer", "default": 30 },
                    "score": { "type": "number", "default": 95.5 },
                    "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
                    "verified": { "type": "boolean", "default": true },
                }),
                json!([]),
            ),
        ),
        "test_elicitation_sep1330_enums" => {
            let titled = |word: &str| {
                let option = |number: u8| json!({ "const": format!("value{number}"), "title": format!("{word} {number}") });
                json!([option(1), option(2), option(3)])
            };
            let options = json!(["option1", "option2", "option3"]);
            form(
                "Please choose",
                properties(
                    json!({
                        "untitledSingle": { "type": "string", "enum": options },
                        "titledSingle": { "type": "string", "oneOf": titled("Option") },
                        "legacyEnum": {
                            "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"],
                        },
                        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
                        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
                    }),
                    json!([]),
                ),
            )
        }
        _ => return None,
    };
    Some(match ctx.peer.create_elicitation(form).await {
        Ok(answer) => said(format!(
            "User response: {}",
            serde_json::to_string(&answer).unwrap()
        )),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]).into(),
    })
}
