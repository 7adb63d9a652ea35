//! Elicitation of an approval from the person, for projects where only people approve.
//!
//! In the older era the server sends an elicitation request. The newest era has no requests from
//! server to client: the call returns the question with a sealed request state, and the client
//! calls again with the person's answer and that state. The client keeps the state, so it is valid
//! only with our seal, for the same call and the same text, for ten minutes, and once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use application::Failure;
use domain::ids::Principal;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, ErrorData,
    InputRequest, InputRequests, InputRequiredResult, RequestStateCodec, SealOptions,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use server::generate_secret;

use super::convert;
use super::identity::is_modern;
use super::log::NOTICE;
use super::server::Server;
use crate::surface::{Called, Question, failure_value};

/// The name of the tool.
pub(super) const APPROVE: &str = "approve_entity";

/// Time for the person to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Key of the person's answer in the second call.
const KEY: &str = "approval";

/// Seals request states, and remembers used ones.
pub(super) struct Approvals {
    codec: RequestStateCodec,
    answered: Mutex<BTreeMap<String, Instant>>,
}

/// The request state that the client keeps.
#[derive(Serialize, Deserialize)]
struct Asked {
    once: String,
    node: String,
    version: String,
}

impl Approvals {
    /// Creates a seal with a random key: states of another process are not accepted.
    pub(super) fn new() -> Self {
        // Unchecked refers to the length of the key: 64 digits are long enough.
        Self {
            codec: RequestStateCodec::new_unchecked(generate_secret().into_bytes()),
            answered: Mutex::default(),
        }
    }

    fn seal(&self, question: &Question, bound_to: &[u8]) -> Result<String, ErrorData> {
        let asked = Asked {
            once: generate_secret(),
            node: question.node.clone(),
            version: question.version.clone(),
        };
        let options = SealOptions::new()
            .associated_data(bound_to)
            .ttl(ANSWER_TIMEOUT);
        self.codec
            .seal_json_with(&asked, &options)
            .map_err(|error| {
                ErrorData::internal_error(format!("cannot seal the request state: {error}"), None)
            })
    }

    fn open(&self, sealed: &str, bound_to: &[u8]) -> Result<Asked, ErrorData> {
        // One error for every check: the reason would help to forge a state.
        self.codec
            .open_json_with(sealed, bound_to)
            .map_err(|_| not_ours())
    }

    /// Marks a question as answered; a second answer is an error (replay).
    fn take(&self, asked: &Asked) -> Result<(), ErrorData> {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        // Older ones have expired by their seal; forgetting them bounds the memory.
        answered.retain(|_, at| at.elapsed() < ANSWER_TIMEOUT);
        match answered.insert(asked.once.clone(), Instant::now()) {
            None => Ok(()),
            Some(_) => Err(not_ours()),
        }
    }
}

fn not_ours() -> ErrorData {
    let hint = "invalid requestState: forged, expired, used already, or of another call; call the \
                tool again without it";
    ErrorData::invalid_params(hint, None)
}

/// Whether the client can show a form. Before there were other kinds, an empty capability meant
/// forms.
fn can_ask(capabilities: Option<&ClientCapabilities>) -> bool {
    capabilities
        .and_then(|capabilities| capabilities.elicitation.as_ref())
        .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

/// Returns the question as a form with a checkbox of its own: a host may accept forms
/// automatically, and an accepted form without `approve` is not a yes.
fn form(question: &Question) -> Result<ElicitRequestParams, ErrorData> {
    let schema = json!({
        "type": "object",
        "properties": {
            "approve": {
                "type": "boolean",
                "title": "Approve",
                "description": format!("Yes: exactly this text of {} is approved", question.node),
            },
        },
        "required": ["approve"],
    });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).map_err(|error| {
        ErrorData::internal_error(format!("cannot build the question: {error}"), None)
    })?;
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.message.clone(),
        requested_schema,
    })
}

fn says_yes(answer: &ElicitResult) -> bool {
    answer.action == ElicitationAction::Accept
        && answer
            .content
            .as_ref()
            .and_then(|content| content.get("approve"))
            .and_then(Value::as_bool)
            == Some(true)
}

/// Returns the associated data of the seal: the tool, the caller and the arguments.
fn bound_to(actor: &Principal, arguments: &Value) -> Vec<u8> {
    let who = match actor {
        // Without the session, which may be another one in the next request.
        Principal::Agent { host, .. } => host.clone(),
        other => other.to_string(),
    };
    json!([APPROVE, who, arguments]).to_string().into_bytes()
}

/// Calls `approve_entity`, after asking the person if that is needed and possible.
pub(super) async fn approve(
    server: &Server,
    actor: &Principal,
    arguments: &Value,
    request: &CallToolRequestParams,
    ctx: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    // The tool's own response, as if there were no person to ask.
    let by_agent = || async { respond(server.called(actor, APPROVE, arguments).await) };
    // Without a person to answer for, the form would let the agent approve itself.
    let Some(person) = server.deciding_person(ctx) else {
        return by_agent().await;
    };
    // Where agents may approve, asking would only slow them down.
    let only_people = server
        .surface()
        .workspace()
        .policy()
        .approval
        .requires_person();
    if !only_people || !server.offers(APPROVE) || !can_ask(ctx.client_capabilities().as_ref()) {
        return by_agent().await;
    }
    // Invalid arguments, or approved already: the tool's own response says so.
    let Some(question) = server.question(arguments).await else {
        return by_agent().await;
    };
    let said_yes = if is_modern(ctx) {
        let bound_to = bound_to(actor, arguments);
        let ask = || ask_by_result(server.approvals(), &question, &bound_to);
        let Some(state) = &request.request_state else {
            return ask();
        };
        let asked = server.approvals().open(state, &bound_to)?;
        // Another text than the person saw is another question, and so is one without an answer.
        if (&asked.node, &asked.version) != (&question.node, &question.version) {
            return ask();
        }
        let answer = request
            .input_responses
            .as_ref()
            .and_then(|answers| answers.get(KEY));
        let Some(Ok(answer)) = answer.map(ElicitResult::deserialize) else {
            return ask();
        };
        server.approvals().take(&asked)?;
        says_yes(&answer)
    } else {
        let form = form(&question)?;
        let answer = tokio::select! {
            // Three ends: an answer, a cancelled call, or the shutdown of the server.
            answer = ctx.peer.create_elicitation_with_timeout(form, Some(ANSWER_TIMEOUT)) => answer.ok(),
            () = ctx.ct.cancelled() => None,
            () = server.closing_token().cancelled() => None,
        };
        // A timeout, a cancelled form and one without the checkbox all mean no.
        answer.is_some_and(|answer| says_yes(&answer))
    };
    if !said_yes {
        // For an agent the tool responds that a person has to approve. With a person's token it
        // would approve: that person has just declined.
        if !actor.is_human() {
            return by_agent().await;
        }
        let failure = Failure::refused(format!(
            "`{}` was not approved: the person declined or did not answer",
            question.node
        ))
        .with_step("call approve_entity again when the person has decided");
        return Ok(convert::failed(failure_value(&failure)).into());
    }
    // The plan may have been edited while the person was reading. Checked here for a clear message;
    // the use case compares the version again in its transaction.
    if server
        .question(arguments)
        .await
        .is_some_and(|now| now.version != question.version)
    {
        let failure = Failure::conflict(format!(
            "`{}` changed while the person was asked; nothing was approved",
            question.node
        ))
        .with_step("call approve_entity again: the person is asked about the text as it is now");
        return Ok(convert::failed(failure_value(&failure)).into());
    }
    server.say(
        ctx,
        NOTICE,
        || json!({ "approved_by": "a person, asked by the client", "node": question.node }),
    );
    respond(server.approve_shown(&person, arguments, &question).await)
}

/// Asks in the newest era: returns the question as an `InputRequired` result.
fn ask_by_result(
    approvals: &Approvals,
    question: &Question,
    bound_to: &[u8],
) -> Result<CallToolResponse, ErrorData> {
    let ask = InputRequest::Elicitation(ElicitRequest::new(form(question)?));
    let requests = InputRequests::from([(KEY.to_owned(), ask)]);
    Ok(InputRequiredResult::new(Some(requests), Some(approvals.seal(question, bound_to)?)).into())
}

/// Converts the outcome of a call to a result, or to the error for an unknown tool.
pub(super) fn respond(called: Called) -> Result<CallToolResponse, ErrorData> {
    match called {
        Called::Done(value) => Ok(convert::done(value).into()),
        Called::Failed(value) => Ok(convert::failed(value).into()),
        Called::Unknown(message) => Err(ErrorData::invalid_params(message, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question {
            message: "Approve?".to_owned(),
            node: "act-1".to_owned(),
            version: "abc".to_owned(),
        }
    }

    #[test]
    fn a_sealed_question_counts_once_for_its_own_call() {
        let approvals = Approvals::new();
        let sealed = approvals.seal(&question(), b"call").expect("a seal");
        assert!(approvals.open(&sealed, b"another call").is_err());
        assert!(Approvals::new().open(&sealed, b"call").is_err());
        assert!(approvals.open(&format!("{sealed}x"), b"call").is_err());
        let asked = approvals.open(&sealed, b"call").expect("our own");
        assert_eq!(
            (asked.node.as_str(), asked.version.as_str()),
            ("act-1", "abc")
        );
        assert!(approvals.take(&asked).is_ok());
        assert!(approvals.take(&asked).is_err());
    }

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        let answer =
            |action, content: Value| says_yes(&ElicitResult::new(action).with_content(content));
        assert!(answer(
            ElicitationAction::Accept,
            json!({ "approve": true })
        ));
        assert!(!answer(
            ElicitationAction::Accept,
            json!({ "approve": false })
        ));
        assert!(!answer(ElicitationAction::Accept, json!({})));
        assert!(!answer(
            ElicitationAction::Decline,
            json!({ "approve": true })
        ));
        assert!(!answer(
            ElicitationAction::Cancel,
            json!({ "approve": true })
        ));
    }

    #[test]
    fn a_client_that_shows_only_pages_is_not_asked() {
        let capabilities = |value: Value| {
            serde_json::from_value::<ClientCapabilities>(value).expect("capabilities")
        };
        assert!(can_ask(Some(&capabilities(json!({ "elicitation": {} })))));
        assert!(can_ask(Some(&capabilities(
            json!({ "elicitation": { "form": {}, "url": {} } })
        ))));
        assert!(!can_ask(Some(&capabilities(
            json!({ "elicitation": { "url": {} } })
        ))));
        assert!(!can_ask(Some(&capabilities(json!({})))));
        assert!(!can_ask(None));
    }
}
