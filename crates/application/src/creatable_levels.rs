//! The levels whose plans a person can create on a page, with the parents a new plan may have.

use domain::node::Node;
use domain::plan_document::MILESTONES_PROFILE;
use domain::profile::Level;

use crate::context::Context;
use crate::inbox::PlanName;
use crate::tickets::find_ticket_level;
use crate::tree_cache::CachedTree;

/// Maximum number of parents offered per level; another one can be typed.
const MAX_PARENTS: usize = 200;

/// A level of which a plan can be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatableLevel {
    pub profile: String,
    pub level: String,
    pub purpose: String,
    /// Whether its plans are tickets, which get an id, a type and a priority.
    pub is_ticket: bool,
    /// Whether a plan may be at the top.
    pub is_root: bool,
    pub parents: Vec<PlanName>,
}

/// Whether a plan can be created below this one.
pub(crate) fn can_have_created_child(ctx: &Context<'_>, node: &Node) -> bool {
    let is_excluded = [MILESTONES_PROFILE, domain::trail::PROFILE].contains(&&*node.profile);
    let levels = ctx
        .find_profile(&node.profile)
        .map_or(&[][..], |profile| &profile.levels[..]);
    let can_be_below = |level: &Level| level.file.is_some() && level.under.contains(&node.level);
    !is_excluded && levels.iter().any(can_be_below)
}

/// Lists the levels of which a plan can be created, in the order of the profiles. Levels without a file,
/// and those of plan documents, which have their own commands, are left out.
#[must_use]
pub fn list_creatable_levels(ctx: &Context<'_>, known: &CachedTree) -> Vec<CreatableLevel> {
    let tickets = find_ticket_level(ctx).ok();
    let mut found = Vec::new();
    for profile in ctx.profiles {
        if profile.name == MILESTONES_PROFILE || profile.name == domain::trail::PROFILE {
            continue;
        }
        for level in profile.levels.iter().filter(|level| level.file.is_some()) {
            let is_ticket = tickets.is_some_and(|(tickets, ticket, _)| {
                tickets.name == profile.name && ticket.name == level.name
            });
            let nodes = known.order.iter().filter_map(|id| known.tree.get(*id));
            let parents = nodes
                .filter(|node| node.profile == profile.name && level.under.contains(&node.level));
            let parents: Vec<PlanName> = parents
                .take(MAX_PARENTS)
                .map(|node| PlanName::of_node(&known.tree, node))
                .collect();
            // A level that nothing can be below yet is not offered.
            if level.root || !parents.is_empty() {
                found.push(CreatableLevel {
                    profile: profile.name.clone(),
                    level: level.name.clone(),
                    purpose: level.purpose.clone(),
                    is_ticket,
                    is_root: level.root,
                    parents,
                });
            }
        }
    }
    found
}
