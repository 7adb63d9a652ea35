//! Scope of a scan: which plan files are compared with the recorded state.

use domain::ids::NodeId;

/// The part of the files that is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanScope {
    /// A node and its ancestors, and new files directly below it.
    Lineage(NodeId),
    /// The same, and the known files directly below it.
    Family(NodeId),
    /// The next of all files in turn, for a hook, whose cost must not grow with the project. All
    /// files if there are few, if git moved some, or if no scan of all is cached.
    NextPart,
    /// All files; the scan cache may answer for those that did not change.
    Everything,
    /// All files, without the scan cache; every recorded node is returned.
    WholeTree,
    /// All files, each read even if its stamp is unchanged.
    EverythingAnew,
    /// All known files and at most [`super::MAX_SLICE_NODES`] new ones, without decisions.
    Slice,
}

impl ScanScope {
    pub(super) fn is_whole(self) -> bool {
        match self {
            Self::Everything | Self::WholeTree | Self::EverythingAnew => true,
            Self::Lineage(_) | Self::Family(_) | Self::NextPart | Self::Slice => false,
        }
    }
}
