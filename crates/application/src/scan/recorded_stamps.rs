//! The file stamps of a scan that can be stored.

use std::collections::HashSet;

use domain::fact::Fact;
use domain::ids::{NodeId, VersionHash};
use domain::ports::FileStamp;

use super::ScanResult;

impl ScanResult {
    /// Returns the stamps of the nodes that exist after an operation: a sighting does not always become
    /// a node, and the stamp of one that was not added would reference nothing.
    pub(crate) fn recorded_stamps(
        &self,
        facts: Option<&[Fact]>,
        first_new: NodeId,
    ) -> Vec<(NodeId, FileStamp, VersionHash)> {
        let Some(facts) = facts else {
            return self.stamps.clone();
        };
        let (mut added, mut removed) = (HashSet::new(), HashSet::new());
        for fact in facts {
            match fact {
                Fact::NodeAdded { node } => added.insert(node.id),
                Fact::NodeRemoved { node } => removed.insert(node.id),
                _ => continue,
            };
        }
        // Absent nodes are not recorded ones, although they have their ids from before.
        removed.extend(self.returned.iter().map(|plan| plan.absent.node.id));
        let exists = |id: NodeId| added.contains(&id) || (id < first_new && !removed.contains(&id));
        let stamps = self.stamps.iter().copied();
        stamps.filter(|(id, ..)| exists(*id)).collect()
    }
}
