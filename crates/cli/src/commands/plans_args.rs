//! Arguments of the decisions about one plan or several: names, or a subtree.

use application::plan_batch::{PlanSelection, WaitingPlans};
use clap::Args;
use domain::profile::Profile;

use crate::completion::node_completer;

#[derive(Debug, Args)]
pub(crate) struct PlansArgs {
    /// The plans: `chapter-02`, `act-1/chapter-02` or `chapter 2`, one or several
    #[arg(num_args = 1.., value_name = "NODE", required_unless_present = "below", add = node_completer())]
    pub(crate) node: Vec<String>,

    /// Every plan of this subtree that waits for a decision
    #[arg(long, num_args = 1..=2, value_name = "NODE", conflicts_with_all = ["node", "version"], add = node_completer())]
    below: Vec<String>,

    /// Of the subtree, only drafts
    #[arg(long, requires = "below", conflicts_with = "stale")]
    drafts: bool,

    /// Of the subtree, only plans that require revalidation
    #[arg(long, requires = "below")]
    stale: bool,
}

impl PlansArgs {
    /// Returns which plans are meant; `None` for a single one, which has its own use case.
    pub(crate) fn batch_selection(&self, profiles: &[Profile]) -> Option<PlanSelection> {
        if !self.below.is_empty() {
            return Some(PlanSelection::Below {
                node: self.below.clone(),
                waiting: match (self.drafts, self.stale) {
                    (true, _) => WaitingPlans::Drafts,
                    (_, true) => WaitingPlans::Stale,
                    _ => WaitingPlans::All,
                },
            });
        }
        PlanSelection::from_names(&self.node, profiles)
    }
}
