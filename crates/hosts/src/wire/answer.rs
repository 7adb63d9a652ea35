//! Host-independent answer, with texts truncated to what each host passes on.

use domain::host_event::{Happening, Host, HostEvent, Reply};
use serde_json::{Map, Value, json};

/// Fallback reason: Codex lets a call through that is denied without one.
const FALLBACK_REASON: &str = "blocked by Throughline; `tl status` shows why";
const TRUNCATED_NOTE: &str = "… cut here: the rest is longer than this host passes on";

/// Our answer to one event.
pub(crate) struct HostAnswer {
    pub(crate) verdict: AnswerVerdict,
    pub(crate) notice: Option<String>,
    /// Replacement for the host's compaction prompt, where it allows one.
    pub(crate) compaction_prompt: Option<String>,
}

pub(crate) enum AnswerVerdict {
    Nothing,
    /// Denied, with the reason.
    Block(String),
    /// Allowed, with context for the model.
    Context(String),
}

impl HostAnswer {
    pub(crate) fn from_reply(event: &HostEvent, reply: &Reply) -> Self {
        let cut = |text: String| truncate_for_host(spell_commands(text, event.host), event.host);
        let block = reply.block.as_deref().map(|block| {
            if block.trim().is_empty() {
                FALLBACK_REASON
            } else {
                block
            }
        });
        let context = reply
            .context
            .as_deref()
            .filter(|context| !context.is_empty());
        let both = || {
            [block, context]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n\n")
        };
        let verdict = match (&event.happening, block, context) {
            // No host reads an answer here: the session is over.
            (Happening::SessionEnded, ..) => {
                return Self {
                    verdict: AnswerVerdict::Nothing,
                    notice: None,
                    compaction_prompt: None,
                };
            }
            // Only the person reads why a prompt was refused, so context for the model is dropped.
            (Happening::PromptSubmitted { .. }, Some(block), _) => {
                AnswerVerdict::Block(cut(block.to_owned()))
            }
            (
                Happening::ToolAboutToRun(_)
                | Happening::Stopping { .. }
                | Happening::SubagentStopping,
                Some(_),
                _,
            ) => AnswerVerdict::Block(cut(both())),
            // Context at a stop makes some hosts continue as if it were a block, and Codex and
            // Gemini have
            // no cap on that.
            (Happening::Stopping { .. } | Happening::SubagentStopping, None, _)
            | (_, None, None) => AnswerVerdict::Nothing,
            // A finished call cannot be blocked any more; the reason still goes to the model as
            // context.
            (
                Happening::ToolAboutToRun(_)
                | Happening::ToolFinished { .. }
                | Happening::PromptSubmitted { .. }
                | Happening::SessionStarted { .. }
                | Happening::SubagentStarted
                | Happening::Compacting
                | Happening::Compacted,
                ..,
            ) => AnswerVerdict::Context(cut(both())),
        };
        let notice = reply
            .notice
            .clone()
            .filter(|notice| !notice.is_empty())
            .map(cut);
        let compaction_prompt = reply
            .compaction_prompt
            .clone()
            .filter(|prompt| !prompt.is_empty());
        Self {
            verdict,
            notice,
            compaction_prompt,
        }
    }
}

/// Spells the commands that a person types as the host takes them: `$approve-plan`, where commands are
/// installed as skills and a leading slash is not passed on.
fn spell_commands(text: String, host: Host) -> String {
    const COMMAND: &str = "approve-plan";
    match host {
        Host::Codex => ["`", " ", "\n"].iter().fold(text, |text, before| {
            text.replace(
                &format!("{before}/{COMMAND} "),
                &format!("{before}${COMMAND} "),
            )
        }),
        _ => text,
    }
}

/// Renders `decision` and `reason`, the form most hosts accept for prompts and stops.
pub(crate) fn decision_json(word: &str, reason: &str) -> Value {
    json!({ "decision": word, "reason": reason })
}

/// Renders Claude Code's denial of a tool call, which Codex and Copilot accept as well.
pub(crate) fn denial_json(event_name: &str, reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": event_name, "permissionDecision": "deny", "permissionDecisionReason": reason,
    } })
}

/// Renders context for Claude Code, Codex and Gemini.
pub(crate) fn nested_context_json(event_name: &str, context: &str) -> Value {
    // The event's name has to be repeated, or the hosts ignore the object.
    json!({ "hookSpecificOutput": { "hookEventName": event_name, "additionalContext": context } })
}

/// Adds a message for the person to an answer, if there is one.
pub(crate) fn add_notice(said: Option<Value>, notice: Option<&str>) -> Option<Value> {
    let Some(notice) = notice else {
        return said;
    };
    let mut said = said.unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(fields) = said.as_object_mut() {
        fields.insert("systemMessage".to_owned(), Value::from(notice));
    }
    Some(said)
}

/// Truncates a text to what the host passes on: the first whole lines, and a line that says so.
fn truncate_for_host(text: String, host: Host) -> String {
    // Hosts truncate by themselves, but worse: Claude Code writes the rest to a file, and Codex
    // cuts
    // out the middle.
    let cap = host.max_context_size();
    if host.context_size(&text) <= cap {
        return text;
    }
    let room = cap.saturating_sub(host.context_size(TRUNCATED_NOTE) + 1);
    let mut used = 0;
    let fits = text.char_indices().take_while(|(_, c)| {
        used += host.context_size(c.encode_utf8(&mut [0; 4]));
        used <= room
    });
    let end = fits.last().map_or(0, |(at, c)| at + c.len_utf8());
    let kept = text.get(..end).unwrap_or_default();
    // A first line that is too long by itself is cut in the middle.
    let kept = kept.rsplit_once('\n').map_or(kept, |(lines, _)| lines);
    format!("{kept}\n{TRUNCATED_NOTE}")
}
