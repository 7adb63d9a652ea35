//! Shows the trail of a session: the whole tree, with a mark at the cursor.

use domain::trail::{Gap, GapSeverity, HierarchyTree, find_time_gaps, render_limited_tree};
use schemars::JsonSchema;
use serde::Serialize;

use super::trail_state::{load_current_trail, load_whole_tree, require_trail};
use crate::context::Context;
use crate::failure::Failure;

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

/// Returns the current trail of the session.
///
/// # Errors
/// When the project keeps no trail, or the state cannot be read.
pub fn scan_hierarchy(ctx: &Context<'_>) -> Result<ScanView, Failure> {
    require_trail(ctx)?;
    let state = ctx.store.begin_read()?;
    let Some(trail) = load_current_trail(ctx, &*state)? else {
        // An empty tree rather than an error: before the first intent this is the normal state.
        let hierarchy = HierarchyTree {
            version: 1,
            root: None,
            cursor: None,
        };
        return Ok(ScanView {
            hierarchy,
            session: None,
            own: false,
            tree: String::new(),
            gaps: Vec::new(),
        });
    };
    let hierarchy = load_whole_tree(&*state, &trail.session)?;
    let mut found = find_time_gaps(&hierarchy, ctx.policy.signals.gap_limits());
    found.retain(|gap| gap.severity != GapSeverity::Healthy);
    Ok(ScanView {
        tree: render_limited_tree(&hierarchy, MAX_DRAWN_CHILDREN),
        hierarchy,
        session: Some(trail.session.stamp.to_string()),
        own: trail.own,
        gaps: found,
    })
}
