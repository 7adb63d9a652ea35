//! Shows the trail of a session: the whole tree, with a mark at the cursor.

use domain::trail::{Gap, GapSeverity, HierarchyTree, find_time_gaps, render_limited_tree};
use schemars::JsonSchema;
use serde::Serialize;

use super::ticket_trail::load_ticket_trail;
use super::trail_state::{load_current_trail, load_whole_tree, require_trail};
use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_then_read;
use crate::scan::ScanScope;

/// Maximum number of children drawn per node.
pub(crate) const MAX_DRAWN_CHILDREN: usize = 40;

/// A trail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScanView {
    #[serde(flatten)]
    pub hierarchy: HierarchyTree,
    /// The session's stamp, if there is a session.
    pub session: Option<String>,
    /// Whether it is the acting session's own trail.
    pub own: bool,
    /// The hierarchy as a drawing.
    pub tree: String,
    /// Gaps in time that are not healthy.
    #[schemars(with = "Vec<crate::views::Object>")]
    pub gaps: Vec<Gap>,
}

/// Returns the current trail of the session. At a ticket the ticket is the intent, with its children and
/// scenarios below it, whether or not the session has mapped anything.
///
/// # Errors
/// When the project keeps no trail, or the state cannot be read.
pub fn scan_hierarchy(ctx: &Context<'_>) -> Result<ScanView, Failure> {
    require_trail(ctx)?;
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let ticket = load_ticket_trail(ctx, &*state)?;
    let Some(trail) = load_current_trail(ctx, &*state)? else {
        // An empty tree rather than an error: before the first intent this is the normal state.
        let hierarchy = ticket.map_or_else(HierarchyTree::empty, |ticket| ticket.tree);
        return Ok(ScanView {
            session: None,
            own: hierarchy.root.is_some(),
            tree: render_limited_tree(&hierarchy, MAX_DRAWN_CHILDREN),
            hierarchy,
            gaps: Vec::new(),
        });
    };
    let mut hierarchy = load_whole_tree(&*state, &trail.session)?;
    // Before the work is added: scenarios are written together, long before they are worked on.
    let mut gaps = find_time_gaps(&hierarchy, ctx.policy.signals.gap_limits());
    gaps.retain(|gap| gap.severity != GapSeverity::Healthy);
    if let Some(ticket) = ticket.filter(|ticket| ticket.is_intent_of(&trail)) {
        hierarchy = hierarchy.with_work(ticket.tree);
    }
    Ok(ScanView {
        tree: render_limited_tree(&hierarchy, MAX_DRAWN_CHILDREN),
        hierarchy,
        session: Some(trail.session.stamp.to_string()),
        own: trail.own,
        gaps,
    })
}
