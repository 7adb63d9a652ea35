//! Common fields of every event: session, turn, subagent, directory. All hosts' spellings in one
//! place.

use domain::host_event::{Happening, Host, HostEvent, StartSource};

use super::fields::Fields;

/// Builds the event of a payload that has its fields at the top level.
pub(crate) fn build_event(
    host: Host,
    name: &str,
    fields: &Fields<'_>,
    happening: Happening,
) -> HostEvent {
    // All spellings for every host: Copilot sends snake case under Claude Code's event names and
    // camel case under its own.
    let session = fields.first_text(&["session_id", "sessionId", "conversation_id"]);
    let agent = fields.first_text(&["agent_id", "agentId", "subagent_id", "subagent_type"]);
    // Copilot and Cursor give a subagent a session of its own, Copilot under the agent's id. Its
    // work belongs to the parent's session.
    let conversation = fields
        .first_text(&["parent_conversation_id", "parentConversationId"])
        .filter(|parent| session.as_ref() != Some(parent));
    let agent = agent.or_else(|| session.clone().filter(|_| conversation.is_some()));
    let parent = fields
        .first_text(&["parent_agent_id", "parentAgentId"])
        .filter(|_| agent.is_some() && agent == session)
        .or(conversation);
    HostEvent {
        host,
        name: name.to_owned(),
        session: parent.or(session).unwrap_or_default(),
        turn: fields.first_text(&["turn_id", "prompt_id", "generation_id"]),
        agent,
        // Cursor sends no `cwd`, only the roots of the workspace.
        directory: fields
            .first_text(&["cwd"])
            .or_else(|| first_workspace_root(fields)),
        happening,
    }
}

fn first_workspace_root(fields: &Fields<'_>) -> Option<String> {
    let roots = fields.first_value(&["workspace_roots"]);
    roots
        .get(0)?
        .as_str()
        .filter(|root| !root.is_empty())
        .map(str::to_owned)
}

/// Parses the start of a session; an unknown reason is a plain start.
pub(crate) fn read_session_start(fields: &Fields<'_>) -> Happening {
    let source = match fields.first_text(&["source"]).as_deref() {
        Some("resume" | "fork") => StartSource::Resume,
        Some("clear") => StartSource::Clear,
        Some("compact") => StartSource::Compact,
        _ => StartSource::Startup,
    };
    Happening::SessionStarted { source }
}
