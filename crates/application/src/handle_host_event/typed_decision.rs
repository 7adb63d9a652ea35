//! Decides about a plan on a person's typed command, `/approve-plan NODE …`.
//!
//! Where only people approve, the command alone shows the question. Typed again with the code of the question, it approves
//! exactly what was shown; with `changes: TEXT` or `reject: TEXT` it decides the other way.

use domain::approval::Force;
use domain::approval_question::{QuestionChannel, RenderedQuestion, describe_falls_below};
use domain::host_event::Reply;
use domain::node_reference::NodeReference;
use domain::text::count_with_noun;

use super::prompt_submitted::{CommandAnswer, block_with_failure};
use super::{EventContext, EventOutcome};
use crate::answer_question::{Answer, AnswerOutcome, AskedQuestion, answer_question};
use crate::approval_question::{ApprovalQuestion, build_question};
use crate::context::Context;
use crate::failure::Failure;
use crate::invalidate::{InvalidateRequest, invalidate_node};
use crate::poll_decision::{WaitRequest, poll_decision};
use crate::record_policy::resolve_deciding_policy;
use crate::request_changes::{ChangesRequest, request_changes};
use crate::show_node::show_node;

/// Approves in spite of warnings, as in `tl approve --force`.
const FORCE_OPTION: &str = "--force";

/// A parsed command.
struct TypedDecision {
    node: Vec<String>,
    /// The code of the question that was shown.
    code: Option<String>,
    force: Force,
    objection: Option<TypedObjection>,
}

/// Another decision than approval, with the person's words.
enum TypedObjection {
    Changes(String),
    Rejection(String),
}

/// Shows the question of a plan, or records the person's answer to it.
pub(super) fn decide_for_person(
    ctx: &Context<'_>,
    words: Vec<String>,
    surroundings: &EventContext<'_>,
) -> Result<CommandAnswer, Failure> {
    // The hook runs as the agent, and under policy `human` only a person's approval counts.
    let as_person = ctx.acting_as(surroundings.person.clone());
    match decide_typed(&as_person, parse_words(ctx, words)) {
        Err(failure) if failure.is_rejection() => {
            Ok(block_with_failure("approve", &failure).into())
        }
        decided => decided,
    }
}

fn parse_words(ctx: &Context<'_>, mut words: Vec<String>) -> TypedDecision {
    let force = if words.iter().any(|word| word == FORCE_OPTION) {
        Force::Yes
    } else {
        Force::No
    };
    // Anywhere in the line: people add it at the end of a sentence.
    words.retain(|word| word != FORCE_OPTION);
    let plain: Vec<String> = words.iter().map(|word| trim_stops(word)).collect();
    let named = NodeReference::parse_words(&plain, ctx.profiles)
        .map_or(plain.len(), |(_, rest)| plain.len() - rest.len());
    let rest = words.split_off(named);
    let (first, text) = match rest.split_first() {
        Some((first, text)) => (first.as_str(), text.join(" ")),
        None => ("", String::new()),
    };
    let objection = match first {
        "changes:" => Some(TypedObjection::Changes(text)),
        "reject:" => Some(TypedObjection::Rejection(text)),
        _ => None,
    };
    TypedDecision {
        node: plain.into_iter().take(named).collect(),
        // A person goes on talking: "/approve-plan act 1, it reads well" has no code.
        code: Some(trim_stops(first)).filter(|word| is_code(word)),
        force,
        objection,
    }
}

fn trim_stops(word: &str) -> String {
    word.trim_end_matches([',', '.', ';', '!', '?']).to_owned()
}

fn is_code(word: &str) -> bool {
    // At least as long as the shown code: an ordinary word of hexadecimal letters ("facade") is no
    // code.
    word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn decide_typed(ctx: &Context<'_>, typed: TypedDecision) -> Result<CommandAnswer, Failure> {
    if let Some(objection) = typed.objection {
        return object_to_plan(ctx, typed.node, objection);
    }
    let Some(question) = build_question(ctx, &typed.node)? else {
        // The same text whether it was approved now or before: a host that sends the prompt twice
        // must not see two different answers.
        let node = show_node(ctx, &typed.node)?;
        return Ok(answer_approved(ctx, &node.path, &[]).into());
    };
    let rendered = question.render_for(QuestionChannel::TypedCommand);
    let is_shown = typed
        .code
        .as_deref()
        .is_some_and(|code| question.has_code(code));
    // Where agents may approve as well, a person need not be asked twice.
    let needs_question = resolve_deciding_policy(ctx, &*ctx.store.begin_read()?)?
        .approval
        .requires_person();
    // A code for a question that was cut proves nothing about the part that was not shown.
    let is_answer = !needs_question || is_shown && rendered.is_whole();
    // Said explicitly: the line to type is the only thing that a typed answer has to agree to.
    let is_forced = typed.force >= question.required_force;
    if !is_answer || !is_forced {
        let hint = match (&typed.code, is_shown) {
            (Some(_), false) => {
                "The plan, its parent or an objection to it changed since that question was shown.\n\n"
            }
            (Some(_), true) if !is_forced => "Only an answer with `--force` approves it.\n\n",
            _ => "",
        };
        return Ok(ask_question(&question, &rendered, hint).into());
    }
    // Bound to the question even where none was asked: a file saved in between is refused in the
    // transaction.
    let asked = AskedQuestion::from(&question);
    let answer = Answer::Approve { force: Force::No };
    let AnswerOutcome::Approved(approved) = answer_question(ctx, &asked, answer)? else {
        return Err(Failure::internal("a yes was recorded as another answer"));
    };
    Ok(CommandAnswer {
        operation: approved.operation,
        ..answer_approved(ctx, &approved.path, &approved.warnings).into()
    })
}

/// Records another decision than approval. It needs no question: it makes a plan stricter, and holds
/// for the text that is there now.
fn object_to_plan(
    ctx: &Context<'_>,
    node: Vec<String>,
    objection: TypedObjection,
) -> Result<CommandAnswer, Failure> {
    let (text, operation) = match objection {
        TypedObjection::Changes(text) => {
            let request = ChangesRequest {
                node,
                text,
                shown: None,
            };
            let requested = request_changes(ctx, &request)?;
            let text = format!(
                "Throughline: {} requested changes of `{}`, as data: \"{}\". Change the text \
                 accordingly, then ask for approval again.",
                ctx.actor, requested.path, requested.text
            );
            (text, requested.operation)
        }
        TypedObjection::Rejection(reason) => {
            let request = InvalidateRequest {
                node: node.clone(),
                reason,
                shown: None,
            };
            let rejected = invalidate_node(ctx, &request)?;
            let view = poll_decision(
                ctx,
                &WaitRequest {
                    node,
                    ..WaitRequest::default()
                },
            )?;
            // The recorded words, in which secrets are masked.
            let reason = view.decision.and_then(|made| made.text).unwrap_or_default();
            let text = format!(
                "Throughline: {} rejected `{}`, as data: \"{reason}\"; {} below it to revalidate. Do not \
                 build on it.",
                ctx.actor,
                view.path,
                count_with_noun(rejected.invalidated_entities.len(), "plan", "plans")
            );
            (text, rejected.operation)
        }
    };
    let mut handled = EventOutcome::from_messages(std::slice::from_ref(&text));
    handled.reply.notice = Some(text);
    Ok(CommandAnswer {
        operation: Some(operation),
        ..handled.into()
    })
}

/// Returns the question. It blocks the prompt, so that the person reads it and the model does not
/// act on an approval that was not given.
fn ask_question(
    question: &ApprovalQuestion,
    rendered: &RenderedQuestion,
    hint: &str,
) -> EventOutcome {
    let path = &question.path;
    let mut text = [hint, &rendered.text].concat();
    if rendered.is_whole() {
        let despite = question.required_force.despite_clause();
        let option = match question.required_force {
            Force::No => String::new(),
            Force::Warnings | Force::Yes => format!(" {FORCE_OPTION}"),
        };
        text.push_str(&format!(
            "\n\nTo approve exactly this{despite}, type: /approve-plan {path} {}{option}",
            question.question_code()
        ));
    }
    text.push_str(&format!(
        "\nTo send it back: /approve-plan {path} changes: WHAT TO CHANGE\nTo reject it: /approve-plan {path} reject: WHY"
    ));
    if let Some(below) = describe_falls_below(&question.falls_below) {
        text.push_str(&format!("   ({below})"));
    }
    EventOutcome {
        reply: Reply {
            block: Some(text),
            ..Reply::default()
        },
        ..EventOutcome::default()
    }
}

fn answer_approved(ctx: &Context<'_>, path: &str, warnings: &[String]) -> EventOutcome {
    let text = format!(
        "Throughline: `{path}` is approved (typed by {}).",
        ctx.actor
    );
    let warnings: String = warnings
        .iter()
        .map(|warning| format!("\n- {warning}"))
        .collect();
    let mut handled = EventOutcome::from_messages(&[format!("{text}{warnings}")]);
    handled.reply.notice = Some(text);
    handled
}
