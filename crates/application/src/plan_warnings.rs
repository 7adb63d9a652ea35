//! Consistency warnings of plans against their parents, as an approval records them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use domain::consistency::{ComparedPlan, ConsistencyCheck, ParentFacets};
use domain::ids::VersionHash;
use domain::node::Node;
use domain::policy::ConsistencyPolicy;
use domain::ports::Snapshot;

use crate::context::Context;
use crate::failure::Failure;
use crate::memory::memory_files::load_alias_groups;

/// Returns the consistency warnings of a node against its parent.
pub(crate) fn collect_warnings(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    parent: Option<&Node>,
) -> Result<Vec<String>, Failure> {
    WarningCollector::new(ctx).collect_warnings(state, node, parent)
}

/// Collects the warnings of many plans: each parent is read once for all its children, which is most
/// of the work.
pub(crate) struct WarningCollector<'c> {
    ctx: &'c Context<'c>,
    checks: HashMap<String, ConsistencyCheck<'c>>,
    /// By the parent's text and the level of the children.
    parents: HashMap<(VersionHash, String), ParentFacets>,
    aliases: Option<Vec<Vec<String>>>,
}

impl<'c> WarningCollector<'c> {
    pub(crate) fn new(ctx: &'c Context<'c>) -> Self {
        Self {
            ctx,
            checks: HashMap::new(),
            parents: HashMap::new(),
            aliases: None,
        }
    }

    /// Returns the consistency warnings of a node against its parent.
    pub(crate) fn collect_warnings(
        &mut self,
        state: &dyn Snapshot,
        node: &Node,
        parent: Option<&Node>,
    ) -> Result<Vec<String>, Failure> {
        let (Some(parent), Some(profile)) = (parent, self.ctx.find_profile(&node.profile)) else {
            return Ok(Vec::new());
        };
        let (Some(version), Some(parent_version)) =
            (node.content.version_hash(), parent.content.version_hash())
        else {
            return Ok(Vec::new());
        };
        // Checked before the texts are loaded: they are the expensive part.
        if self.ctx.policy.consistency == ConsistencyPolicy::Off {
            return Ok(Vec::new());
        }
        let Some(text) = state.load_text(version)? else {
            return Ok(Vec::new());
        };
        let check = self
            .checks
            .entry(profile.name.clone())
            .or_insert_with(|| ConsistencyCheck::new(profile));
        let parent = match self.parents.entry((parent_version, node.level.clone())) {
            // The same text may be that of another plan, which a message would name.
            Entry::Occupied(known) if known.get().alias() == parent.alias => known.into_mut(),
            place => {
                let Some(text) = state.load_text(parent_version)? else {
                    return Ok(Vec::new());
                };
                let parent = ComparedPlan {
                    alias: &parent.alias,
                    level: &parent.level,
                    text: &text,
                };
                place
                    .insert_entry(check.read_parent(parent, &node.level))
                    .into_mut()
            }
        };
        let child = ComparedPlan {
            alias: &node.alias,
            level: &node.level,
            text: &text,
        };
        let mut warnings = check.check_plan(child, parent, &[]);
        // Other names are in the memory, which is read only when a name would be reported: this runs
        // in a hook.
        if !warnings.is_empty() {
            let aliases = match &mut self.aliases {
                Some(aliases) => aliases,
                none => none.insert(load_alias_groups(state)?),
            };
            if !aliases.is_empty() {
                warnings = check.check_plan(child, parent, aliases);
            }
        }
        let mut found: Vec<String> = warnings
            .into_iter()
            .map(|warning| warning.message)
            .collect();
        // Broken front matter means that `needs` and the like are ignored, which the approving person
        // should know.
        if let Some(problem) = domain::front_matter::parse_front_matter(&text).problem {
            found.push(format!("front matter, {problem}"));
        }
        Ok(found)
    }
}
