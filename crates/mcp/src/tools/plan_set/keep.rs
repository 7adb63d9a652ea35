//! The tool `plan_keep`. Where only people approve it asks the person, as `plan_approve` does.

use application::plan_batch::{BatchPurpose, WaitingPlans};
use application::revalidate::{KeepRequest, keep_all, keep_one};
use application::{Context, Failure};
use domain::approval::Force;
use schemars::JsonSchema;
use serde::Deserialize;

use super::approve::{ApprovalTarget, TargetPlans, wait_for_people};
use crate::tools::arguments::{AnyObject, node_words, shown};

/// The name of the tool.
pub(crate) const KEEP_TOOL: &str = "plan_keep";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path
    node: String,
    /// also every stale plan below it
    #[serde(default)]
    all_below: bool,
    /// in spite of warnings
    #[serde(default)]
    force: bool,
    /// the one you judged; another is refused
    #[serde(default)]
    version_hash: Option<String>,
}

impl Arguments {
    /// Returns what the call asks to keep.
    pub(super) fn approval_target(&self) -> Result<ApprovalTarget, Failure> {
        Ok(ApprovalTarget {
            node: node_words(&self.node),
            plans: match self.all_below {
                true => TargetPlans::Below,
                false => TargetPlans::One,
            },
            waiting: WaitingPlans::Stale,
            purpose: BatchPurpose::Keep,
            force: if self.force { Force::Yes } else { Force::No },
            known: shown(self.version_hash.as_deref())?,
        })
    }
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let target = arguments.approval_target()?;
    let is_batch = target.batch_selection(ctx)?.is_some();
    // A waiting result, as for an approval. What is not stale is refused by the use case.
    if !ctx.policy.approval.accepts_approval_by(&ctx.actor)
        && let Some(waiting) = wait_for_people(ctx, &target)?
    {
        return AnyObject::new(&waiting);
    }
    let ApprovalTarget {
        node, force, known, ..
    } = target;
    let kept = match is_batch {
        true => keep_all(ctx, &node, force, None),
        false => {
            let request = KeepRequest {
                node,
                force,
                shown: known,
            };
            keep_one(ctx, &request)
        }
    };
    AnyObject::new(&kept?)
}
