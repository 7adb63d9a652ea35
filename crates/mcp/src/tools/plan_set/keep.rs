//! The tool `plan_keep`. Where only people approve it asks the person, as `plan_approve` does.

use application::plan_batch::WaitingPlans;
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
    pub(super) fn approval_target(&self) -> ApprovalTarget {
        ApprovalTarget {
            node: node_words(&self.node),
            plans: match self.all_below {
                true => TargetPlans::Below,
                false => TargetPlans::One,
            },
            waiting: WaitingPlans::Stale,
            force: if self.force { Force::Yes } else { Force::No },
        }
    }
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let shown = shown(arguments.version_hash.as_deref())?;
    if arguments.all_below && shown.is_some() {
        return Err(Failure::invalid(
            "`version_hash` is the version of one plan, and these are several",
        ));
    }
    let target = arguments.approval_target();
    // A waiting result, as for an approval. What is not stale is refused by the use case.
    if !ctx.policy.approval.accepts_approval_by(&ctx.actor)
        && let Some(waiting) = wait_for_people(ctx, &target)?
    {
        return AnyObject::new(&waiting);
    }
    let ApprovalTarget { node, force, .. } = target;
    let kept = match arguments.all_below {
        true => keep_all(ctx, &node, force, None),
        false => keep_one(ctx, &KeepRequest { node, force, shown }),
    };
    AnyObject::new(&kept?)
}
