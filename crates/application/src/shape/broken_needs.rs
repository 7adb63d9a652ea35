//! Plans whose `needs` name a plan that a change of shape removes.

use domain::needs::Needs;
use domain::profile::Profile;
use domain::shape::Layout;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

/// A plan that needs a removed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BrokenNeedView {
    /// The plan that stays.
    pub path: String,
    /// The removed plan.
    pub needs: String,
}

/// Lists the plans that stay and need a removed one, by their paths after the change.
pub(super) fn list_broken_needs(
    before: &Tree,
    after: &Tree,
    layout: &Layout,
    profiles: &[Profile],
) -> Vec<BrokenNeedView> {
    // Few changes remove anything, and the graph is read from all plans.
    if layout.removed.is_empty() {
        return Vec::new();
    }
    // What needs a merged plan needs the one that replaced it.
    let is_lost = |id| {
        let is_replaced = layout.replaced.is_some_and(|(old, _)| old == id);
        layout.removed.contains(&id) && !is_replaced
    };
    let needs = Needs::from_tree(before, profiles);
    let staying = after.all_preorder().into_iter();
    staying
        .flat_map(|node| {
            let lost = needs.needs_of_node(node.id).iter().copied();
            let lost = lost.filter(|id| is_lost(*id));
            lost.filter_map(|id| before.get(id))
                .map(|needed| BrokenNeedView {
                    path: after.alias_path(node),
                    needs: before.alias_path(needed),
                })
                .collect::<Vec<_>>()
        })
        .collect()
}
