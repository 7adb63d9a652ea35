//! Start of a scan: a scanner that has compared nothing yet.

use std::collections::{HashMap, HashSet};

use domain::ids::NodeId;
use domain::ports::Snapshot;

use super::{InspectText, ScanResult, Scanner};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::unwritten_paths;

impl<'c, 'a> Scanner<'c, 'a> {
    /// Returns a scanner that has compared nothing yet.
    pub(super) fn new(
        ctx: &'c Context<'a>,
        state: &'c dyn Snapshot,
        next_node: NodeId,
        inspect: InspectText<'c>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            ctx,
            files: ctx.files,
            state,
            children: HashMap::new(),
            stamps: Vec::new(),
            trust_stamps: true,
            first_node: next_node.0,
            next_node: next_node.0,
            max_new_nodes: u32::MAX,
            survey: ScanResult::default(),
            met: Vec::new(),
            passed_by: Vec::new(),
            is_uncertain: false,
            looked_at: Vec::new(),
            // Files of a recorded operation that are not written yet would otherwise look edited
            // back to their former text.
            unwritten: unwritten_paths(state)?,
            renamed: HashMap::new(),
            replaced: HashSet::new(),
            item_files: HashSet::new(),
            still_missing: Vec::new(),
            misfits: Vec::new(),
            inspect,
        })
    }
}
