//! Time gaps between related nodes of a trail, where context was probably lost.

use serde::Serialize;

use super::{HierarchyNode, HierarchyTree};

/// Severity of an inactivity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GapSeverity {
    Healthy,
    Warm,
    Stale,
}

/// Minimum length, in minutes, of a warm and of a stale gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapLimits {
    pub warm_minutes: u64,
    pub stale_minutes: u64,
}

/// How the two nodes of a gap are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapRelationship {
    Sibling,
    ParentChild,
}

/// A gap between two nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Stamps.
    pub from: String,
    pub to: String,
    #[serde(rename = "gapMs")]
    pub millis: i64,
    pub relationship: GapRelationship,
    pub severity: GapSeverity,
}

/// Returns the severity of a gap.
#[must_use]
pub fn gap_severity(millis: i64, limits: GapLimits) -> GapSeverity {
    let minutes = u64::try_from(millis / 60_000).unwrap_or(0);
    // Stale first: a project may set `warm_minutes` above `stale_minutes`.
    if minutes >= limits.stale_minutes {
        GapSeverity::Stale
    } else if minutes >= limits.warm_minutes {
        GapSeverity::Warm
    } else {
        GapSeverity::Healthy
    }
}

/// Returns the gaps of a tree: from each parent to its first child, and between adjacent siblings.
#[must_use]
pub fn find_time_gaps(tree: &HierarchyTree, limits: GapLimits) -> Vec<Gap> {
    let mut found = Vec::new();
    for (_, node) in tree.preorder_nodes() {
        let gap = |from: &HierarchyNode, to: &HierarchyNode, relationship| {
            // Never negative: nodes of an imported trail may have times from another machine's
            // clock.
            let millis = (to.created - from.created).max(0);
            let severity = gap_severity(millis, limits);
            Gap {
                from: from.stamp.clone(),
                to: to.stamp.clone(),
                millis,
                relationship,
                severity,
            }
        };
        found.extend(
            node.children
                .first()
                .map(|child| gap(node, child, GapRelationship::ParentChild)),
        );
        found.extend(
            node.children
                .windows(2)
                .map(|pair| gap(&pair[0], &pair[1], GapRelationship::Sibling)),
        );
    }
    found
}
