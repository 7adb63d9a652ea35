//! First steps of a profile whose tree is empty: how its work begins.

use domain::profile::Profile;
use domain::trail::has_trail_profile;

use crate::context::Context;
use crate::failure::Failure;
use crate::plan_documents::list_first_documents;
use crate::plan_node::build_plan_menu;
use crate::project_status::ProjectStatus;

/// Returns the commands that begin the work of each profile without nodes.
///
/// # Errors
/// When the state cannot be read.
pub fn list_first_steps(ctx: &Context<'_>, status: &ProjectStatus) -> Result<Vec<String>, Failure> {
    let begun = |profile: &Profile| {
        let mut levels = profile.levels.iter();
        levels.any(|level| {
            status
                .levels
                .iter()
                .any(|counts| counts.level == level.name)
        })
    };
    let mut steps = Vec::new();
    for profile in ctx.profiles.iter().filter(|profile| !begun(profile)) {
        if has_trail_profile(std::slice::from_ref(profile)) {
            if status.trail.as_ref().is_none_or(Vec::is_empty) {
                steps.push("tl trail intent \"WHAT THIS SESSION IS FOR\"".to_owned());
            }
        } else if profile.name == domain::plan_document::MILESTONES_PROFILE {
            steps.extend(list_first_documents(ctx, &*ctx.store.begin_read()?)?);
        } else if !profile.work_phases.is_empty() {
            steps.push("tl ticket new \"TITLE\"   # the first ticket".to_owned());
        } else {
            // An optional level is left out: a book without parts begins with its chapters.
            let top = {
                let mut levels = profile.levels.iter();
                levels.find(|level| level.root && !level.optional)
            };
            let Some(top) = top.filter(|level| level.file.is_some()) else {
                continue;
            };
            let menu = build_plan_menu(ctx)?.entries;
            let entry = menu.into_iter().find(|entry| entry.level == top.name);
            steps
                .extend(entry.map(|entry| format!("{}   # the first {}", entry.command, top.name)));
        }
    }
    Ok(steps)
}
