//! Request changes of a plan: it goes back to the agent, with what has to change in the person's words.
//!
//! The request is bound to the text. The next text answers it; an approval ends it.

use domain::approval::ObjectionKind;
use domain::comment::MAX_COMMENT_CHARS;
use domain::expected_version::ExpectedVersions;
use domain::ids::{OperationId, VersionHash};
use domain::memory::validate_note_text;
use domain::node::Status;
use domain::operation::Verb;
use domain::revalidation::objection_facts;
use domain::text::clean_line;
use schemars::JsonSchema;
use serde::Serialize;

use crate::approve::{refuse_agents_decision, refuse_unavailable};
use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, load_parent, reject_extra_words};
use crate::observe::with_observed_node_files;
use crate::status_cascade::cascade_statuses;
use crate::transitions::collect_transitions;
use crate::views::TransitionView;
use crate::working_copy::refuse_differing_copy;

/// Request of [`request_changes`].
#[derive(Clone, Debug)]
pub struct ChangesRequest {
    pub node: Vec<String>,
    /// What has to change, for the agent.
    pub text: String,
    /// The versions shown to the person before the decision, if any were.
    pub shown: Option<ExpectedVersions>,
}

/// Outcome of [`request_changes`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangesRequested {
    pub success: bool,
    pub message: String,
    pub entity_id: String,
    pub path: String,
    pub status: Status,
    pub version_hash: Option<VersionHash>,
    pub text: String,
    /// Descendants whose status changed with it.
    pub changed_entities: Vec<TransitionView>,
    pub operation: OperationId,
}

/// Requests changes of the present text of a node.
///
/// # Errors
/// When there is no such node, no text, nothing is requested, only a person may decide, or the state
/// cannot be written.
pub fn request_changes(
    ctx: &Context<'_>,
    request: &ChangesRequest,
) -> Result<ChangesRequested, Failure> {
    let text = validate_note_text(&request.text, MAX_COMMENT_CHARS)?;
    with_observed_node_files(ctx, &request.node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        refuse_unavailable(ctx, &node)?;
        refuse_differing_copy(ctx, request.shown.is_some())?;
        refuse_duplicate(ctx, &*tx, &node)?;
        refuse_agents_decision(ctx, &*tx, &path, "request changes of")?;
        if node.content.version_hash().is_none() {
            return Err(Failure::refused(format!(
                "`{path}` has no text of which changes could be requested"
            ))
            .with_step(format!("tl comment {path} -m TEXT")));
        }
        // Inside the transaction, as for an approval: a text stored in between is another one.
        if let Some(shown) = &request.shown {
            shown.check_current(&path, &node, load_parent(&*tx, &node)?.as_ref())?;
        }
        let now = ctx.clock.now();
        let kind = ObjectionKind::ChangesRequested;
        let mut facts = objection_facts(&node, kind, &text, &ctx.actor, now);
        cascade_statuses(ctx, tx, &mut facts, &[], now, None)?;
        let changed = collect_transitions(&*tx, &facts, Some(id))?;
        // One line of the log; the whole text is in the fact.
        let start: String = clean_line(&text).chars().take(120).collect();
        let mut operation = ctx.new_operation(
            Verb::RequestChanges,
            format!("request changes of {path}: {start}"),
        );
        operation.at = now;
        operation.facts = facts;
        let operation = record_with_decisions(ctx, planned, tx, operation)?;
        let node = load_node(&*tx, id)?;
        Ok(ChangesRequested {
            success: true,
            message: format!("changes of `{path}` are requested"),
            entity_id: node.alias.clone(),
            status: node.status(),
            version_hash: node.content.version_hash(),
            path,
            text,
            changed_entities: changed
                .stale
                .into_iter()
                .chain(changed.reinstated)
                .collect(),
            operation,
        })
    })
}
