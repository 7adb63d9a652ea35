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
use application::answer_question::Answer;
use domain::approval::Force;
use domain::approval_question::{NoDecision, describe_falls_below};
use domain::authorization::Scope;
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
use super::pages::{add_page, find_page};
use super::server::Server;
use crate::surface::{Called, Question, failure_value};

/// Words of the form's decision.
const APPROVE: &str = "approve";
const REQUEST_CHANGES: &str = "request-changes";
const REJECT: &str = "reject";

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
    code: String,
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
            code: question.code.clone(),
        };
        // Bound to the call: the answer to one question must not open another.
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
        let opened = self.codec.open_json_with(sealed, bound_to);
        let asked: Asked = opened.map_err(|_| not_ours())?;
        // Here too: a plan that was decided since has another question, which must not be asked again
        // for a used answer.
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        match answered.contains_key(&asked.once) {
            false => Ok(asked),
            true => Err(not_ours()),
        }
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

/// How a client shows a question.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Presentation {
    Form,
    /// It opens this page of the dashboard, where the person decides.
    Page(String),
}

/// What a client can show. Before there were other kinds, an empty capability meant forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClientForms {
    form: bool,
    page: bool,
}

impl ClientForms {
    fn from_capabilities(capabilities: Option<&ClientCapabilities>) -> Self {
        let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
        Self {
            form: elicitation.is_some_and(|asks| asks.form.is_some() || asks.url.is_none()),
            page: elicitation.is_some_and(|asks| asks.url.is_some()),
        }
    }

    /// Returns how to show a question; `None` if the client cannot. A page shows what does not fit a
    /// form.
    fn choose(self, question: &Question, page: Option<String>) -> Option<Presentation> {
        match page.filter(|_| self.page) {
            Some(page) if !self.form || !question.is_whole => Some(Presentation::Page(page)),
            _ => self.form.then_some(Presentation::Form),
        }
    }
}

/// Returns the question as the client shows it.
fn present(
    question: &Question,
    presentation: &Presentation,
) -> Result<ElicitRequestParams, ErrorData> {
    match presentation {
        Presentation::Form => form(question),
        Presentation::Page(url) => Ok(ElicitRequestParams::UrlElicitationParams {
            meta: None,
            message: format!("Read and decide {} on its page.", question.subject()),
            url: url.clone(),
            elicitation_id: question.code.clone(),
        }),
    }
}

/// Returns the question as a form. The decision has no default: a host may accept forms
/// automatically, and an accepted form without a decision is not one.
fn form(question: &Question) -> Result<ElicitRequestParams, ErrorData> {
    let mut decisions = vec![REQUEST_CHANGES];
    let subject = question.subject();
    let despite = question.overrides().despite_clause();
    let mut meaning = format!(
        "{APPROVE}: exactly this text of {subject}{despite}. {REQUEST_CHANGES}: {subject} {} back to the agent.",
        if question.is_batch() { "go" } else { "goes" },
    );
    // A rejection takes everything below along: each has its own reason.
    if !question.is_batch() {
        decisions.push(REJECT);
        let below = describe_falls_below(&question.falls_below);
        meaning.push_str(&format!(
            " {REJECT}: {subject} must not be used{}.",
            below.map_or_else(String::new, |below| format!("; {below}"))
        ));
    }
    // What is not shown cannot be approved.
    if question.is_whole {
        decisions.insert(0, APPROVE);
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": {
                "type": "string",
                "title": "Decision",
                "description": meaning,
                "enum": decisions,
            },
            "comment": {
                "type": "string",
                "title": "Comment",
                "description": "What has to change, or why it is rejected; the agent reads it",
            },
        },
        "required": ["decision"],
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

/// Returns the person's decision, where everything but a plain one is none; `None` if they decide on a
/// page.
fn read_answer(
    question: &Question,
    presentation: &Presentation,
    result: &ElicitResult,
) -> Option<Answer> {
    match (&result.action, presentation) {
        (ElicitationAction::Accept, Presentation::Form) => Some(read_form(question, result)),
        // Only that they open it; what they decide there is recorded there.
        (ElicitationAction::Accept, Presentation::Page(_)) => None,
        (ElicitationAction::Decline, _) => Some(Answer::NoDecision(NoDecision::Declined)),
        _ => Some(Answer::NoDecision(NoDecision::Cancelled)),
    }
}

fn read_form(question: &Question, result: &ElicitResult) -> Answer {
    let field = |name: &str| {
        let content = result.content.as_ref()?;
        content.get(name)?.as_str().map(str::trim)
    };
    let comment = |fallback: &str| match field("comment") {
        Some("") | None => fallback.to_owned(),
        Some(comment) => comment.to_owned(),
    };
    match field("decision") {
        // Checked again: a client can send a word that its form did not offer.
        Some(APPROVE) if question.is_whole => Answer::Approve { force: Force::No },
        Some(REQUEST_CHANGES) => Answer::RequestChanges {
            text: comment("changes requested without a comment; ask the person what to change"),
        },
        Some(REJECT) if !question.is_batch() => Answer::Reject {
            reason: comment("rejected without a comment"),
        },
        _ => Answer::NoDecision(NoDecision::Cancelled),
    }
}

/// Returns the associated data of the seal: the tool, the caller and the arguments.
fn bound_to(tool: &str, actor: &Principal, arguments: &Value) -> Vec<u8> {
    let who = match actor {
        // Without the session, which may be another one in the next request.
        Principal::Agent { host, .. } => host.clone(),
        other => other.to_string(),
    };
    json!([tool, who, arguments]).to_string().into_bytes()
}

/// Calls a tool that approves, after asking the person if that is needed and possible.
pub(super) async fn approve(
    server: &Server,
    actor: &Principal,
    (tool, arguments): (&str, &Value),
    request: &CallToolRequestParams,
    ctx: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    // The tool's own response, as if there were no person to ask.
    let by_agent = || async {
        let called = server.called(actor, tool, arguments).await;
        respond(add_page(called, ctx))
    };
    // Where agents may approve, asking would only slow them down.
    let only_people = server
        .surface()
        .workspace()
        .policy()
        .approval
        .requires_person();
    let may_decide = server
        .call_scope(ctx, actor)
        .is_sufficient_for(Scope::Approve);
    if !only_people && may_decide || !server.offers(tool) {
        return by_agent().await;
    }
    // Without a person to answer for, the form would let the agent approve itself.
    let forms = ClientForms::from_capabilities(ctx.client_capabilities().as_ref());
    let person = server
        .deciding_person(ctx)
        .filter(|_| forms.form || forms.page);
    // Invalid arguments, or approved already: the tool's own response says so.
    let question = match &person {
        Some(person) => server.question(person, tool, arguments).await,
        None => None,
    };
    let asked = question.and_then(|question| {
        let plan = (!question.is_batch()).then(|| question.subject());
        let presentation = forms.choose(&question, find_page(ctx, plan.as_deref()))?;
        Some((question, presentation))
    });
    let Some((question, presentation)) = asked else {
        return match may_decide || only_people {
            true => by_agent().await,
            false => respond(Called::Failed(failure_value(&refuse_scope(tool, actor)))),
        };
    };
    let answer = if is_modern(ctx) {
        let bound_to = bound_to(tool, actor, arguments);
        let ask = || ask_by_result(server.approvals(), &question, &presentation, &bound_to);
        let Some(state) = &request.request_state else {
            return ask();
        };
        let asked = server.approvals().open(state, &bound_to)?;
        // Another text than the person saw is another question, and so is one without an answer.
        if asked.code != question.code {
            return ask();
        }
        let answer = request
            .input_responses
            .as_ref()
            .and_then(|answers| answers.get(KEY));
        let Some(Ok(answer)) = answer.map(ElicitResult::deserialize) else {
            return ask();
        };
        // Only now, when nothing is asked again: a state that was used up by an unreadable answer
        // could not be answered any more.
        server.approvals().take(&asked)?;
        read_answer(&question, &presentation, &answer)
    } else {
        ask_by_request(server, &question, &presentation, ctx).await?
    };
    let Some(answer) = answer else {
        return by_agent().await;
    };
    server.say(
        ctx,
        NOTICE,
        || json!({ "decided_by": "a person, asked by the client", "node": question.subject() }),
    );
    respond(server.answer_shown(&question, answer).await)
}

/// Asks a client of the older era; `None` if the person decides on a page, or the call or the server
/// ended first.
async fn ask_by_request(
    server: &Server,
    question: &Question,
    presentation: &Presentation,
    ctx: &RequestContext<RoleServer>,
) -> Result<Option<Answer>, ErrorData> {
    let shown = present(question, presentation)?;
    Ok(tokio::select! {
        // Three ends: an answer, a cancelled call, or the shutdown of the server.
        answer = ctx.peer.create_elicitation_with_timeout(shown, Some(ANSWER_TIMEOUT)) => match answer {
            Ok(answer) => read_answer(question, presentation, &answer),
            // Nobody answered in time, or the client could not show the question.
            Err(_) => Some(Answer::NoDecision(NoDecision::Cancelled)),
        },
        () = ctx.ct.cancelled() => None,
        () = server.closing_token().cancelled() => None,
    })
}

/// Refuses an approval by a caller whose token may not decide, where no person can be asked.
fn refuse_scope(tool: &str, actor: &Principal) -> Failure {
    Failure::refused(format!(
        "`{tool}` needs the scope `{}`, which {actor} does not have here, and no person can be asked",
        Scope::Approve
    ))
    .with_step("ask the person to decide it on the dashboard or in a terminal, then call plan_wait")
}

/// Asks in the newest era: returns the question as an `InputRequired` result.
fn ask_by_result(
    approvals: &Approvals,
    question: &Question,
    presentation: &Presentation,
    bound_to: &[u8],
) -> Result<CallToolResponse, ErrorData> {
    let ask = InputRequest::Elicitation(ElicitRequest::new(present(question, presentation)?));
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
    use application::answer_question::AskedQuestion;
    use domain::ids::VersionHash;

    use super::*;

    fn question() -> Question {
        Question {
            message: "Approve?".to_owned(),
            is_whole: true,
            code: "abc".to_owned(),
            asked: vec![AskedQuestion {
                path: "act-1".to_owned(),
                version: VersionHash::of_bytes(b"text"),
                parent_version: None,
                asked: Principal::Human("anna".to_owned()),
                overrides: Force::No,
            }],
            falls_below: Vec::new(),
            person: Principal::Human("anna".to_owned()),
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
        assert_eq!(asked.code, "abc");
        assert!(approvals.take(&asked).is_ok());
        assert!(approvals.take(&asked).is_err());
        assert!(approvals.open(&sealed, b"call").is_err());
    }

    #[test]
    fn only_a_plain_decision_is_one() {
        let answer = |question: &Question, action, content: Value| {
            let result = ElicitResult::new(action).with_content(content);
            read_answer(question, &Presentation::Form, &result).expect("an answer")
        };
        let approve = || json!({ "decision": "approve" });
        let whole = question();
        let cut = Question {
            is_whole: false,
            ..question()
        };
        let cancelled = Answer::NoDecision(NoDecision::Cancelled);
        let accept = ElicitationAction::Accept;
        assert_eq!(
            answer(&whole, accept.clone(), approve()),
            Answer::Approve { force: Force::No }
        );
        assert_eq!(answer(&cut, accept.clone(), approve()), cancelled);
        assert_eq!(answer(&whole, accept.clone(), json!({})), cancelled);
        assert_eq!(
            answer(&whole, accept.clone(), json!({ "approve": true })),
            cancelled
        );
        let batch = Question {
            asked: [question().asked, question().asked].concat(),
            ..question()
        };
        assert_eq!(
            answer(&batch, accept.clone(), json!({ "decision": "reject" })),
            cancelled
        );
        let words = json!({ "decision": "request-changes", "comment": " later storm " });
        let text = "later storm".to_owned();
        assert_eq!(answer(&cut, accept, words), Answer::RequestChanges { text });
        assert_eq!(
            answer(&whole, ElicitationAction::Decline, approve()),
            Answer::NoDecision(NoDecision::Declined)
        );
        assert_eq!(
            answer(&whole, ElicitationAction::Cancel, approve()),
            cancelled
        );
    }

    #[test]
    fn what_does_not_fit_a_form_is_decided_on_a_page() {
        let shown = |capabilities: Value, is_whole: bool, page: Option<&str>| {
            let capabilities: ClientCapabilities =
                serde_json::from_value(capabilities).expect("capabilities");
            let question = Question {
                is_whole,
                ..question()
            };
            let page = page.map(str::to_owned);
            ClientForms::from_capabilities(Some(&capabilities)).choose(&question, page)
        };
        let form = Some(Presentation::Form);
        let opens = Presentation::Page("http://x/".to_owned());
        let page = Some(opens.clone());
        let older = || json!({ "elicitation": {} });
        let both = || json!({ "elicitation": { "form": {}, "url": {} } });
        let only_pages = || json!({ "elicitation": { "url": {} } });
        assert_eq!(shown(older(), true, Some("http://x/")), form);
        assert_eq!(shown(older(), false, Some("http://x/")), form);
        assert_eq!(shown(both(), true, Some("http://x/")), form);
        assert_eq!(shown(both(), false, Some("http://x/")), page);
        assert_eq!(shown(both(), false, None), form);
        assert_eq!(shown(only_pages(), true, Some("http://x/")), page);
        assert_eq!(shown(only_pages(), true, None), None);
        assert_eq!(shown(json!({}), true, Some("http://x/")), None);
        let opened = ElicitResult::new(ElicitationAction::Accept);
        assert_eq!(read_answer(&question(), &opens, &opened), None);
    }
}
