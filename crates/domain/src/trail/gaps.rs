//! Gaps in time between related nodes: where the context was probably lost.

use serde::Serialize;

use super::{HierarchyNode, HierarchyTree};

/// How long a silence was, for the thread of thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GapSeverity {
    Healthy,
    Warm,
    Stale,
}

/// From which length on a gap is warm, and stale, in minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapLimits {
    pub warm_minutes: u64,
    pub stale_minutes: u64,
}

/// How the two nodes of a gap are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relationship {
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
    pub relationship: Relationship,
    pub severity: GapSeverity,
}

/// Returns how bad a gap is.
#[must_use]
pub fn severity(millis: i64, limits: GapLimits) -> GapSeverity {
    let minutes = u64::try_from(millis / 60_000).unwrap_or(0);
    if minutes >= limits.stale_minutes {
        GapSeverity::Stale
    } else if minutes >= limits.warm_minutes {
        GapSeverity::Warm
    } else {
        GapSeverity::Healthy
    }
}

/// Returns the gaps of a tree: from each parent to its first child, and between neighbours.
#[must_use]
pub fn gaps(tree: &HierarchyTree, limits: GapLimits) -> Vec<Gap> {
    let mut found = Vec::new();
    for (_, node) in tree.nodes() {
        let gap = |from: &HierarchyNode, to: &HierarchyNode, relationship| {
            let millis = (to.created - from.created).max(0);
            let severity = severity(millis, limits);
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
                .map(|child| gap(node, child, Relationship::ParentChild)),
        );
        found.extend(
            node.children
                .windows(2)
                .map(|pair| gap(&pair[0], &pair[1], Relationship::Sibling)),
        );
    }
    found
}
