//! Scan of the plans that an operation itself writes: its cost does not depend on the project.
//!
//! For planned files only, whose ids the operation has just allocated: no other file can have one of
//! them, so nothing else has to be compared.

use domain::ids::NodeId;
use domain::observation::{NewNode, ObservedFile, OwningNode};
use domain::ports::Snapshot;
use domain::profile::{Level, Profile};

use super::{ScanResult, Scanner};
use crate::context::Context;
use crate::failure::Failure;

/// The plans that an operation writes.
#[derive(Default)]
pub(crate) struct NamedPlans<'p> {
    /// Recorded nodes whose files it changes.
    pub(crate) changed: Vec<NodeId>,
    /// New files of a flat level.
    pub(crate) new: Vec<NewPlanFile<'p>>,
}

/// A new file of a level whose nodes share one folder.
pub(crate) struct NewPlanFile<'p> {
    pub(crate) profile: &'p Profile,
    pub(crate) level: &'p Level,
    pub(crate) alias: String,
    pub(crate) path: String,
    pub(crate) parent: Option<NodeId>,
}

/// Compares these plans with the recorded nodes, and nothing else.
pub(crate) fn scan_named_plans(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    named: &NamedPlans<'_>,
    next_node: NodeId,
) -> Result<ScanResult, Failure> {
    let mut inspect = |_: &domain::node::Node, _: &str| {};
    let mut scanner = Scanner::new(ctx, state, next_node, &mut inspect)?;
    for id in &named.changed {
        if let Some(node) = state.load_node(*id)? {
            scanner.load_stamp(*id)?;
            scanner.scan_known(&node)?;
            scanner.detect_move(&node)?;
        }
    }
    for plan in &named.new {
        scanner.add_named_file(plan)?;
    }
    // Not as a whole scan: that nothing else was compared says nothing about the other plans.
    scanner.resolve_presence(false)?;
    Ok(scanner.survey)
}

impl Scanner<'_, '_> {
    fn add_named_file(&mut self, plan: &NewPlanFile<'_>) -> Result<(), Failure> {
        let level = plan.level;
        let Some(read) = level.alias.parse_exact_alias(&plan.alias, &level.numbers) else {
            return Ok(());
        };
        let order = read.number.map_or(0, i64::from);
        let id = NodeId(self.next_node);
        let Some(found) = self.read_plan(id, None, (plan.profile, level), &plan.path)? else {
            return Ok(());
        };
        self.next_node += 1;
        self.survey.sightings.push(ObservedFile {
            place: OwningNode::New(NewNode {
                id,
                parent: plan.parent,
                profile: plan.profile.name.clone(),
                level: level.name.clone(),
                alias: plan.alias.clone(),
                order,
                path: Some(plan.path.clone()),
            }),
            found,
        });
        self.scan_item_files(plan.profile, level, id, &plan.path, &[])
    }
}
