//! Brief an agent: where the work stands, in one short text.

use domain::briefing::{Attention, Briefing, compose};

use crate::context::Context;
use crate::failure::Failure;
use crate::project_status::project_status;

/// Looks at everything and returns where the work stands; `faults` is what went wrong in hooks since the last time.
///
/// # Errors
/// When the state cannot be read.
pub fn brief(ctx: &Context<'_>, faults: Option<&str>) -> Result<String, Failure> {
    let status = project_status(ctx)?;
    let hierarchies = ctx.profiles.iter().map(|profile| profile.hierarchy()).collect();
    let levels = status
        .levels
        .iter()
        .map(|counts| (counts.level.as_str(), counts.status_counts.all(), counts.status_counts.approved))
        .collect();
    let attention = status
        .attention
        .iter()
        .map(|one| Attention {
            path: &one.path,
            status: one.status,
            reason: one.reason.as_deref(),
            next_step: &one.next_step,
        })
        .collect();
    Ok(compose(
        &Briefing { hierarchies, has_plans: true, levels, attention, faults, trail: None },
        domain::briefing::Budget::UNLIMITED,
    )
    .text)
}
