//! Cache of the list of all plans, for pages of resources and for completions.
//!
//! Scanning ten thousand files and reading as many rows takes longer than a page or a keystroke
//! may. The list is valid while the number of the last operation is the same.

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

/// A plan in the list.
pub(super) struct Listed {
    pub(super) path: String,
    pub(super) alias: String,
    pub(super) level: String,
    pub(super) title: Option<String>,
    pub(super) status: Status,
    pub(super) has_text: bool,
    pub(super) is_top: bool,
}

/// The cached list.
#[derive(Default)]
pub(super) struct LastListing(Mutex<Option<Arc<Listing>>>);

/// Accepted age of the cached list.
pub(super) enum Age {
    /// Scan the files now.
    New,
    /// Scanned at most [`RECENT`] ago: a very recent edit of a file may be missing.
    Recent,
    /// Any age, unless an operation was recorded since: later pages continue the first one.
    Any,
}

/// The same interval at which subscriptions scan the files.
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
        // Cloned out of the lock, which is not held during the scan.
        let known = last().clone().filter(|known| match age {
            Age::New => false,
            Age::Recent => known.looked_at.elapsed() < RECENT,
            Age::Any => true,
        });
        // Read before the scan: an operation during it changes the number, so that the next call
        // scans again.
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
        // Concurrent calls may both scan; the later result wins, and both are correct for their
        // number.
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
