//! Arguments of the decisions about one plan or several: names, a subtree, or all.

use application::plan_batch::{PlanSelection, WaitingPlans};
use clap::Args;
use domain::profile::Profile;

use crate::completion::{node_option_completer, nodes_completer, nodes_option_completer};

#[derive(Debug, Args)]
pub(crate) struct PlansArgs {
    /// The plans: `chapter-02`, `act-1/chapter-02` or `chapter 2`, one or several
    #[arg(num_args = 1.., value_name = "NODE", required_unless_present_any = ["below", "all"], add = nodes_completer(usize::MAX))]
    pub(crate) node: Vec<String>,

    /// Every plan of this subtree that waits for a decision
    #[arg(long, num_args = 1..=2, value_name = "NODE", conflicts_with_all = ["node", "version"], group = "subtree", add = node_option_completer())]
    below: Vec<String>,

    /// Every plan of the project that waits for a decision
    #[arg(long, conflicts_with_all = ["node", "version"], group = "subtree")]
    all: bool,

    /// Of these, only drafts
    #[arg(long, requires = "subtree", conflicts_with = "stale")]
    drafts: bool,

    /// Of these, only plans that require revalidation
    #[arg(long, requires = "subtree")]
    stale: bool,

    /// Leave these out, and with them what cannot be decided without them
    #[arg(long, num_args = 1.., value_name = "NODE", requires = "subtree", add = nodes_option_completer())]
    except: Vec<String>,
}

impl PlansArgs {
    /// Returns which plans are meant; `None` for a single one, which has its own use case.
    pub(crate) fn batch_selection(&self, profiles: &[Profile]) -> Option<PlanSelection> {
        // Without a name, `Below` is every plan.
        if self.all || !self.below.is_empty() {
            return Some(PlanSelection::Below {
                node: self.below.clone(),
                waiting: match (self.drafts, self.stale) {
                    (true, _) => WaitingPlans::Drafts,
                    (_, true) => WaitingPlans::Stale,
                    _ => WaitingPlans::All,
                },
                except: self.except.clone(),
            });
        }
        // `chapter 2` is one plan and `chapter-01 chapter-02` are two: only the levels tell.
        PlanSelection::from_names(&self.node, profiles)
    }
}
