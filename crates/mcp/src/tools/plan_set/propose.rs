//! The tool `plan_evidence_propose`.

use application::propose_evidence::propose_evidence;
use application::{Context, Failure};

use crate::tools::arguments::{AnyObject, NodeOnly, value};

pub(super) fn run(ctx: &Context<'_>, node: NodeOnly) -> Result<AnyObject, Failure> {
    let mut proposal = value(&propose_evidence(ctx, &node.words())?)?;
    // The command that declares it is a step to take, which is rendered as a call.
    let runners = proposal["runners"].as_array_mut();
    for runner in runners.into_iter().flatten() {
        if let Some(command) = runner.as_object_mut().and_then(|one| one.remove("command")) {
            runner["next_step"] = command;
        }
    }
    AnyObject::new(&proposal)
}
