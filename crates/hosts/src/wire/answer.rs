//! What is to be said, in the one form all hosts understand, and within what they pass on.

use domain::host_event::{Happening, Host, HostEvent, Reply};
use serde_json::{Map, Value, json};

/// Codex lets a call through that is denied without a reason.
const NO_REASON: &str = "blocked by Throughline; `tl status` shows why";
const CUT: &str = "… cut here; `tl status` shows the rest";

/// Our reply to one event.
pub(super) struct Answer {
    pub(super) verdict: Verdict,
    pub(super) notice: Option<String>,
    /// For hosts that let their prompt for a compaction be replaced.
    pub(super) compaction_prompt: Option<String>,
}

pub(super) enum Verdict {
    Nothing,
    /// It must not happen; the text says why.
    Block(String),
    /// It may; the model is told this.
    Context(String),
}

impl Answer {
    pub(super) fn of(event: &HostEvent, reply: &Reply) -> Self {
        let cut = |text: String| cut(text, event.host);
        let block = reply.block.as_deref().map(|block| {
            if block.trim().is_empty() {
                NO_REASON
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
            (Happening::SessionEnded, ..) => {
                return Self {
                    verdict: Verdict::Nothing,
                    notice: None,
                    compaction_prompt: None,
                };
            }
            // Only the person reads why a prompt was refused; context for the model has no place there.
            (Happening::PromptSubmitted { .. }, Some(block), _) => {
                Verdict::Block(cut(block.to_owned()))
            }
            (
                Happening::ToolAboutToRun(_)
                | Happening::Stopping { .. }
                | Happening::SubagentStopping,
                Some(_),
                _,
            ) => Verdict::Block(cut(both())),
            // Context at a stop makes some hosts go on as a block does.
            (Happening::Stopping { .. } | Happening::SubagentStopping, None, _)
            | (_, None, None) => Verdict::Nothing,
            // What has happened cannot be blocked, but it can be said.
            (
                Happening::ToolAboutToRun(_)
                | Happening::ToolFinished { .. }
                | Happening::PromptSubmitted { .. }
                | Happening::SessionStarted { .. }
                | Happening::Compacting
                | Happening::Compacted,
                ..,
            ) => Verdict::Context(cut(both())),
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

/// `decision` and `reason`, as most hosts take it for prompts and stops.
pub(super) fn decision(word: &str, reason: &str) -> Value {
    json!({ "decision": word, "reason": reason })
}

/// Claude Code's denial of a tool call, which two other hosts take as well.
pub(super) fn denial(event_name: &str, reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": event_name, "permissionDecision": "deny", "permissionDecisionReason": reason,
    } })
}

/// Context as Claude Code, Codex and Gemini take it. The event's name has to be repeated.
pub(super) fn nested_context(event_name: &str, context: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event_name, "additionalContext": context } })
}

/// Adds a text for the person to an answer, where there is one.
pub(super) fn with_notice(said: Option<Value>, notice: Option<&str>) -> Option<Value> {
    let Some(notice) = notice else {
        return said;
    };
    let mut said = said.unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(fields) = said.as_object_mut() {
        fields.insert("systemMessage".to_owned(), Value::from(notice));
    }
    Some(said)
}

/// Cuts a text to what the host passes on: whole lines, the first ones, and a line that says so.
fn cut(text: String, host: Host) -> String {
    let cap = host.context_cap();
    if host.size_of(&text) <= cap {
        return text;
    }
    let room = cap.saturating_sub(host.size_of(CUT) + 1);
    let mut used = 0;
    let fits = text.char_indices().take_while(|(_, c)| {
        used += host.size_of(c.encode_utf8(&mut [0; 4]));
        used <= room
    });
    let end = fits.last().map_or(0, |(at, c)| at + c.len_utf8());
    let kept = text.get(..end).unwrap_or_default();
    // A first line that is too long by itself is cut where it is.
    let kept = kept.rsplit_once('\n').map_or(kept, |(lines, _)| lines);
    format!("{kept}\n{CUT}")
}
