//! Asking the person where only people approve: in the client, if it can show a question, in either era.
//!
//! The newest era has no questions from server to client. There the call is answered with the question and a sealed note
//! of what was asked; the client comes back with the person's word and the note. The note is the client's to keep, so it
//! counts only with our seal on it, for the same call and the same text, for ten minutes, and once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use application::{Failure, FailureKind};
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

/// How long a question stays open.
const OPEN: Duration = Duration::from_secs(10 * 60);
/// Under which name the person's answer comes back.
const KEY: &str = "approval";

/// Seals what was asked, and remembers what was answered.
pub(super) struct Approvals {
    codec: RequestStateCodec,
    answered: Mutex<BTreeMap<String, Instant>>,
}

/// What was asked, as the client keeps it for us.
#[derive(Serialize, Deserialize)]
struct Asked {
    once: String,
    node: String,
    version: String,
}

impl Approvals {
    /// Returns a seal of this process alone: nothing that another one asked can be answered here.
    pub(super) fn new() -> Self {
        // Unchecked is the length of the key: a secret of ours is long enough.
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
        let options = SealOptions::new().associated_data(bound_to).ttl(OPEN);
        self.codec
            .seal_json_with(&asked, &options)
            .map_err(|error| {
                ErrorData::internal_error(format!("the question cannot be kept: {error}"), None)
            })
    }

    fn open(&self, sealed: &str, bound_to: &[u8]) -> Result<Asked, ErrorData> {
        // Which check failed is nobody's business.
        self.codec
            .open_json_with(sealed, bound_to)
            .map_err(|_| not_ours())
    }

    /// Takes an answer; the second one to the same question does not count.
    fn take(&self, asked: &Asked) -> Result<(), ErrorData> {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.retain(|_, at| at.elapsed() < OPEN);
        match answered.insert(asked.once.clone(), Instant::now()) {
            None => Ok(()),
            Some(_) => Err(not_ours()),
        }
    }
}

fn not_ours() -> ErrorData {
    let hint = "this requestState does not count: it is not ours, too old, used already, or of another call; call the \
                tool again without it";
    ErrorData::invalid_params(hint, None)
}

/// Says whether the client can show a form. An older one that names no way to ask means forms.
fn can_ask(capabilities: Option<&ClientCapabilities>) -> bool {
    capabilities
        .and_then(|capabilities| capabilities.elicitation.as_ref())
        .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

/// Returns the question as a form: a word of their own, because a host may accept forms by itself.
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
        ErrorData::internal_error(format!("the question cannot be asked: {error}"), None)
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

/// Returns what a sealed question is bound to: the tool, who calls it, and with which arguments.
fn bound_to(actor: &Principal, arguments: &Value) -> Vec<u8> {
    let who = match actor {
        // The rest of its name may be another one in the next request.
        Principal::Agent { host, .. } => host.clone(),
        other => other.to_string(),
    };
    json!([APPROVE, who, arguments]).to_string().into_bytes()
}

/// Calls `approve_entity`, asking the person first where that is needed and possible.
pub(super) async fn approve(
    server: &Server,
    actor: &Principal,
    arguments: &Value,
    request: &CallToolRequestParams,
    ctx: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let by_agent = || async { respond(server.called(actor, APPROVE, arguments).await) };
    let Some(person) = server.deciding_person(ctx) else {
        return by_agent().await;
    };
    let only_people = server
        .surface()
        .workspace()
        .policy()
        .approval
        .requires_person();
    if !only_people || !server.offers(APPROVE) || !can_ask(ctx.client_capabilities().as_ref()) {
        return by_agent().await;
    }
    // Wrong arguments and plans that are approved already: the tool says it by itself.
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
        // Another text than the person saw is another question. So is one they gave no answer to.
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
            answer = ctx.peer.create_elicitation_with_timeout(form, Some(OPEN)) => answer.ok(),
            () = ctx.ct.cancelled() => None,
            () = server.closing().cancelled() => None,
        };
        // No answer, or one that says nothing, is no yes.
        answer.is_some_and(|answer| says_yes(&answer))
    };
    if !said_yes {
        // An agent is told to wait for a person. One whose token speaks for a person has just been told no by them.
        if !actor.is_human() {
            return by_agent().await;
        }
        let failure = Failure::new(
            FailureKind::Refused,
            format!("`{}` was not approved: no yes was given", question.node),
        )
        .with_step("call approve_entity again when the person has decided");
        return Ok(convert::failed(failure_value(&failure)).into());
    }
    // The plan may have been edited while the person was reading.
    if server
        .question(arguments)
        .await
        .is_some_and(|now| now.version != question.version)
    {
        let failure = Failure::new(
            FailureKind::Conflict,
            format!(
                "`{}` changed while the person was asked; nothing was approved",
                question.node
            ),
        )
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

/// Asks in the newest era: the question is the result.
fn ask_by_result(
    approvals: &Approvals,
    question: &Question,
    bound_to: &[u8],
) -> Result<CallToolResponse, ErrorData> {
    let ask = InputRequest::Elicitation(ElicitRequest::new(form(question)?));
    let requests = InputRequests::from([(KEY.to_owned(), ask)]);
    Ok(InputRequiredResult::new(Some(requests), Some(approvals.seal(question, bound_to)?)).into())
}

/// Returns what became of a call as a result, or as the error that there is no such tool.
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
