//! Every plan in a line, as pages and completions show them.
//!
//! To look at ten thousand files and read as many rows takes longer than a page or a keystroke may. The line is kept,
//! with the number of the last operation: while that is the same, so is the line.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use application::Failure;
use application::show_tree::show_tree;
use application::views::TreeView;
use domain::ids::Principal;
use domain::node::Status;

use super::Surface;

/// Every plan, parents before their children.
pub(super) struct Listing {
    head: u64,
    looked_at: Instant,
    pub(super) plans: Vec<Listed>,
}

/// A plan as it is listed.
pub(super) struct Listed {
    pub(super) path: String,
    pub(super) alias: String,
    pub(super) level: String,
    pub(super) title: Option<String>,
    pub(super) status: Status,
    pub(super) has_text: bool,
    pub(super) is_top: bool,
}

/// The line that was made last.
#[derive(Default)]
pub(super) struct LastListing(Mutex<Option<Arc<Listing>>>);

/// How old a line may be.
pub(super) enum Age {
    /// The files are looked at now.
    New,
    /// The files were looked at a moment ago: an edit nobody told us of may be missing.
    Recent,
    /// As it was when the first page was asked for, unless something was recorded since.
    Any,
}

/// The same time after which changed files are looked for when somebody listens.
const RECENT: Duration = Duration::from_secs(2);

impl Surface {
    /// Returns every plan.
    pub(super) fn listing(&self, actor: &Principal, age: &Age) -> Result<Arc<Listing>, Failure> {
        let last = || {
            self.last_listing
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let known = last().clone().filter(|known| match age {
            Age::New => false,
            Age::Recent => known.looked_at.elapsed() < RECENT,
            Age::Any => true,
        });
        // Read before the look: what is recorded meanwhile makes another number, and another look next time.
        let head = self.workspace().head()?;
        if let Some(known) = known.filter(|known| known.head == head) {
            return Ok(known);
        }
        let looked_at = Instant::now();
        let forest = self.run(actor, &mut |ctx| show_tree(ctx, &[]))?;
        let mut plans = Vec::new();
        forest
            .into_iter()
            .for_each(|top| add(&mut plans, top, true));
        let listing = Arc::new(Listing {
            head,
            looked_at,
            plans,
        });
        *last() = Some(listing.clone());
        Ok(listing)
    }
}

fn add(plans: &mut Vec<Listed>, node: TreeView, is_top: bool) {
    plans.push(Listed {
        path: node.path,
        alias: node.entity_id,
        level: node.entity_type,
        title: node.title,
        status: node.status,
        has_text: node.version_hash.is_some(),
        is_top,
    });
    node.children
        .into_iter()
        .for_each(|child| add(plans, child, false));
}
