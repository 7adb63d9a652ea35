//! The tool `update_entity_state`. Its approvals ask the person, as those of `approve_entity` do.

use application::approve::{ApproveRequest, approve_node};
use application::invalidate::{InvalidateRequest, invalidate_node};
use application::plan_batch::{BatchPurpose, WaitingPlans};
use application::show_node::show_node;
use application::views::NodeView;
use application::{Context, Failure};
use domain::approval::Force;
use domain::expected_version::ExpectedVersions;
use domain::node::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::approve::{ApprovalTarget, TargetPlans, Unchanged, wait_for_people};
use crate::tools::arguments::{shown_version, words};
use crate::tools::schema::LEVELS;

/// The name of the tool.
pub(crate) const UPDATE_TOOL: &str = "update_entity_state";

// `file_path` and `parent_id` are accepted and ignored: they follow from the files, but callers of the
// original interface send them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[schemars(extend("enum" = LEVELS))]
    entity_type: String,
    /// alias or path
    entity_id: String,
    status: Status,
    version_hash: String,
    #[serde(default, rename = "file_path")]
    _file_path: Option<String>,
    #[serde(default, rename = "parent_id")]
    _parent_id: Option<String>,
    #[serde(default)]
    parent_version_hash: Option<String>,
    #[serde(default)]
    invalidation_reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Outcome {
    Updated(Box<Updated>),
    Unchanged(Unchanged),
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Updated {
    success: bool,
    message: String,
    entity: NodeView,
}

impl Arguments {
    /// Returns what the call asks to approve; `None` for another status.
    pub(super) fn approval_target(&self) -> Result<Option<ApprovalTarget>, Failure> {
        if self.status != Status::Approved {
            return Ok(None);
        }
        Ok(Some(ApprovalTarget {
            node: words(&self.entity_type, &self.entity_id),
            plans: TargetPlans::One,
            waiting: WaitingPlans::All,
            purpose: BatchPurpose::Approve,
            force: Force::No,
            known: Some(self.known_versions()?),
        }))
    }

    /// Returns the versions the caller knows.
    fn known_versions(&self) -> Result<ExpectedVersions, Failure> {
        // Callers send an empty one for a root.
        let parent = self
            .parent_version_hash
            .as_deref()
            .filter(|it| !it.is_empty());
        Ok(ExpectedVersions {
            version: shown_version(&self.version_hash)?,
            parent: parent.map(shown_version).transpose()?,
        })
    }
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<Outcome, Failure> {
    let node = words(&arguments.entity_type, &arguments.entity_id);
    let now = require_known_version(ctx, &node, &arguments.version_hash)?;
    if let Some(target) = arguments.approval_target()?
        && !ctx.policy.approval.accepts_approval_by(&ctx.actor)
        && let Some(waiting) = wait_for_people(ctx, &target)?
    {
        return Ok(Outcome::Unchanged(waiting));
    }
    let message = update_status(ctx, &node, &now, arguments)?;
    let entity = show_node(ctx, &node)?;
    Ok(Outcome::Updated(Box::new(Updated {
        success: true,
        message,
        entity,
    })))
}

/// Returns the node, if its version is the one the caller knows.
fn require_known_version(
    ctx: &Context<'_>,
    node: &[String],
    known: &str,
) -> Result<NodeView, Failure> {
    let version = shown_version(known)?;
    let now = show_node(ctx, node)?;
    // Compared here for a message with the current version. The use cases compare again in their
    // transaction, so a change in between cannot slip through.
    if now
        .version_hash
        .is_some_and(|found| version.matches_version(found))
    {
        return Ok(now);
    }
    let found = now
        .version_hash
        .map(|version| version.to_string())
        .unwrap_or_default();
    Err(Failure::conflict(format!(
        "`{}` is version {found}, not {known}: nothing was changed",
        now.path
    ))
    .with_step(format!(
        "tl show {}   # look at what changed, then ask again with that version",
        now.path
    )))
}

fn update_status(
    ctx: &Context<'_>,
    node: &[String],
    now: &NodeView,
    asked: Arguments,
) -> Result<String, Failure> {
    let shown = Some(asked.known_versions()?);
    Ok(match asked.status {
        // Idempotent: a repeated call after a lost response is not an error.
        status if status == now.status => format!("`{}` is {status} already", now.path),
        Status::Approved => {
            let request = ApproveRequest {
                node: node.to_vec(),
                force: Force::No,
                shown,
            };
            approve_node(ctx, &request)?.message
        }
        Status::Invalid => {
            let reason = asked
                .invalidation_reason
                .unwrap_or_else(|| "said to be invalid".to_owned());
            invalidate_node(
                ctx,
                &InvalidateRequest {
                    node: node.to_vec(),
                    reason,
                    shown,
                },
            )?;
            format!("`{}` is rejected", now.path)
        }
        // These follow from facts; setting them would contradict the files at the next scan.
        Status::Draft | Status::RequiresRevalidation => {
            return Err(Failure::refused(format!(
                "`{}` is {}: nobody sets `{}`, it follows from the files",
                now.path, now.status, asked.status
            ))
            .with_step(format!("tl why {}   # what it follows from", now.path))
            .with_step("plan_invalidate makes what is below stale on purpose"));
        }
    })
}
