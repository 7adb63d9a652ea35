//! What `tl init` ends with: the first thing to do in a project as it is, and the profiles nobody uses.

use crate::context::Context;
use crate::failure::Failure;
use crate::next_work::{NextItem, list_next_work};
use crate::observe::load_plan_tree;

/// Where a project is when a user begins to work in it.
#[derive(Clone, Debug)]
pub struct StartingPoint {
    /// The first of what can be done; `None` if nothing waits.
    pub next: Option<NextItem>,
    /// Profiles without a plan, by name.
    pub empty_profiles: Vec<String>,
}

/// Returns the first thing to do, and the profiles without plans.
///
/// # Errors
/// When the state cannot be read.
pub fn find_starting_point(ctx: &Context<'_>) -> Result<StartingPoint, Failure> {
    let work = list_next_work(ctx, 1)?;
    let state = ctx.store.begin_read()?;
    let tree = load_plan_tree(&*state)?;
    let is_empty = |name: &String| tree.nodes().all(|node| node.profile != *name);
    let names = ctx.profiles.iter().map(|profile| profile.name.clone());
    Ok(StartingPoint {
        next: work.ready.into_iter().next(),
        empty_profiles: names.filter(is_empty).collect(),
    })
}
