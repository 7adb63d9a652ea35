//! What an operation changed: the plans with their names and differences.
//!
//! Lists read only heads of operations. This reads the facts, of one operation for its page, or of
//! the small ones of a list.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::slice::from_ref;

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, VersionHash};
use domain::node::Node;
use domain::operation::{Operation, Verb};
use domain::operation_changes::{
    ChangeCollector, ChangedNode, ChangedRecord, NodeChange, list_operation_changes,
};
use domain::ports::Snapshot;
use domain::record::Recorded;
use domain::tree::Tree;
use domain::undo::decide_undo;
use domain::work::focus::Focus;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::tree_cache::CachedTree;
use crate::views::{DiffView, OperationView};

/// Maximum number of facts of an operation whose plans a list names.
const MAX_SUMMARISED_FACTS: usize = 60;
/// Maximum number of plans that a list names per operation.
const MAX_NAMED_PLANS: usize = 3;
/// Maximum number of plans on the page of an operation.
const MAX_LISTED_PLANS: usize = 200;
/// Maximum number of differences on the page of an operation.
const MAX_DIFFS: usize = 20;

/// An operation with what it changed.
#[derive(Clone, Debug, Serialize)]
pub struct OperationDetail {
    pub operation: OperationView,
    /// Whether no operation follows.
    pub is_newest: bool,
    /// Whether an undo would not be refused; of an operation with many facts only its preview says so.
    pub can_be_undone: bool,
    pub plans: Vec<ChangedPlan>,
    /// Number of plans that are not listed.
    pub more: usize,
    pub records: Vec<ChangedRecord>,
}

/// A plan that an operation changed.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedPlan {
    /// `None` for a plan that is gone.
    pub path: Option<String>,
    pub name: String,
    pub changes: Vec<NodeChange>,
    /// The difference of its text, if that is among the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<DiffView>,
}

/// The plans of an operation in a list: the first of them, and their number.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OperationPlans {
    pub named: Vec<ChangedPlan>,
    pub total: usize,
    pub can_be_undone: bool,
    /// Titles of the plans it is about, by path, for its summary. None where the summary has paths of
    /// before it, which may be those of other plans now.
    #[serde(skip)]
    pub titles: BTreeMap<String, String>,
}

/// Returns an operation with everything it changed.
///
/// # Errors
/// When there is no such operation, or the state cannot be read.
pub fn describe_operation(
    ctx: &Context<'_>,
    known: &CachedTree,
    id: OperationId,
) -> Result<OperationDetail, Failure> {
    let state = ctx.store.begin_read()?;
    let head = state.operation_head(id)?.ok_or_else(|| {
        Failure::not_found(format!("there is no operation {id}")).with_step("tl log")
    })?;
    let mut changes = ChangeCollector::default();
    state.visit_facts(id, &mut |fact| changes.add_fact(&fact))?;
    let changes = changes.finish();
    let more = changes.nodes.len().saturating_sub(MAX_LISTED_PLANS);
    let mut diffs = 0;
    let mut plans = Vec::new();
    for node in changes.nodes.iter().take(MAX_LISTED_PLANS) {
        let mut plan = name_plan(known, node);
        // Each difference loads two texts; a change of shape can have thousands.
        if diffs < MAX_DIFFS {
            plan.diff = load_diff(&*state, &plan.name, &plan.changes)?;
            diffs += usize::from(plan.diff.is_some());
        }
        plans.push(plan);
    }
    let operation = OperationView::from_head(&*state, head)?;
    let whole = match operation.facts <= MAX_SUMMARISED_FACTS {
        true => state.load_operation(id)?,
        false => None,
    };
    Ok(OperationDetail {
        can_be_undone: match &whole {
            Some(whole) => can_be_undone(&*state, known, whole)?,
            None => operation.verb != Verb::Init && operation.undone_by.is_none(),
        },
        operation,
        is_newest: state.last_operation_id()? == id,
        plans,
        more,
        records: changes.records,
    })
}

/// Returns the plans of operations, for a list. Operations with many facts are left out: reading one
/// that changed ten thousand plans takes longer than the list.
///
/// # Errors
/// When the state cannot be read.
pub fn name_changed_plans(
    ctx: &Context<'_>,
    known: &CachedTree,
    operations: &[OperationView],
) -> Result<HashMap<OperationId, OperationPlans>, Failure> {
    let state = ctx.store.begin_read()?;
    let mut found = HashMap::new();
    let small = operations
        .iter()
        .filter(|operation| operation.facts <= MAX_SUMMARISED_FACTS);
    for operation in small {
        let Some(whole) = state.load_operation(operation.operation)? else {
            continue;
        };
        let changes = list_operation_changes(&whole.facts);
        let named = changes.nodes.iter().take(MAX_NAMED_PLANS);
        found.insert(
            operation.operation,
            OperationPlans {
                named: named.map(|node| name_plan(known, node)).collect(),
                total: changes.nodes.len(),
                can_be_undone: can_be_undone(&*state, known, &whole)?,
                titles: match operation.verb {
                    Verb::Reshape | Verb::Renumber | Verb::Move | Verb::Undo => BTreeMap::new(),
                    _ => load_titles(known, &whole.facts),
                },
            },
        );
    }
    Ok(found)
}

/// Whether an undo of an operation would not be refused, as far as that follows from the recorded state:
/// nothing later changed what it changed, and it is of a kind that can be undone.
fn can_be_undone(
    state: &dyn Snapshot,
    known: &CachedTree,
    operation: &Operation,
) -> Result<bool, Failure> {
    // The first operation creates the project; there is nothing before it.
    if operation.verb == Verb::Init || state.undone_by(operation.id)?.is_some() {
        return Ok(false);
    }
    let mut touched: BTreeMap<NodeId, Node> = BTreeMap::new();
    let mut records = BTreeMap::new();
    for fact in &operation.facts {
        let removed = match fact {
            Fact::NodeRemoved { node } => node.parent,
            _ => None,
        };
        let nodes = fact.changed_nodes().into_iter().chain(removed);
        for node in nodes.filter_map(|id| known.tree.get(id)) {
            let lineage = known.tree.ancestors(node).into_iter().chain([node]);
            touched.extend(lineage.map(|node| (node.id, node.clone())));
        }
        if let Fact::RecordChanged { record, .. } = fact
            && let Some(body) = state.record_body(&record.kind, &record.key)?
        {
            records.insert(record.clone(), body);
        }
    }
    // Only what it touched: the decision works on a copy of the tree.
    let tree = Tree::new(touched.into_values());
    let by = known.head().next_id();
    Ok(decide_undo(from_ref(operation), by, &tree, records).is_ok())
}

/// Returns the titles of the plans that facts are about, by their paths.
fn load_titles(known: &CachedTree, facts: &[Fact]) -> BTreeMap<String, String> {
    let nodes: BTreeSet<NodeId> = facts.iter().flat_map(concerned_nodes).collect();
    let nodes = nodes.into_iter().filter_map(|id| known.tree.get(id));
    let titled = nodes.filter_map(|node| Some((node, node.description.title.clone()?)));
    titled
        .take(MAX_LISTED_PLANS)
        .map(|(node, title)| (known.tree.alias_path(node), title))
        .collect()
}

/// Returns the nodes that a fact changes, or that its record is about.
fn concerned_nodes(fact: &Fact) -> Vec<NodeId> {
    let Fact::RecordChanged { record, after, .. } = fact else {
        return fact.changed_nodes();
    };
    if record.kind == Focus::KIND {
        let focus = after.clone().map(serde_json::from_value::<Focus>);
        let cursor = focus.and_then(Result::ok).and_then(|focus| focus.cursor());
        return cursor.into_iter().collect();
    }
    // Records about a node have its number as their key, or before a slash. Another number in a key
    // does no harm: a plan is named only where the summary has its path.
    let number = record
        .key
        .split('/')
        .next()
        .and_then(|key| key.parse().ok());
    number.map(NodeId).into_iter().collect()
}

fn name_plan(known: &CachedTree, changed: &ChangedNode) -> ChangedPlan {
    let node = known.tree.get(changed.node);
    let NodeId(number) = changed.node;
    ChangedPlan {
        path: node.map(|node| known.tree.alias_path(node)),
        name: node
            .and_then(|node| node.description.title.clone())
            .or_else(|| node.map(|node| node.alias.clone()))
            // A removed plan has no node any more, but the fact that removed it has its name.
            .or_else(|| changed.alias.clone())
            .unwrap_or_else(|| format!("plan {number}")),
        changes: changed.changes.clone(),
        diff: None,
    }
}

/// Returns the difference between the first text before and the last one after.
fn load_diff(
    state: &dyn Snapshot,
    name: &str,
    changes: &[NodeChange],
) -> Result<Option<DiffView>, Failure> {
    let mut texts = changes.iter().filter_map(|change| match change {
        NodeChange::Text { before, after } => Some((*before, *after)),
        _ => None,
    });
    let Some((before, mut after)) = texts.next() else {
        return Ok(None);
    };
    // One operation may change a text twice, as an undo of several does.
    if let Some((_, last)) = texts.next_back() {
        after = last;
    }
    let load = |version: Option<VersionHash>| -> Result<String, Failure> {
        Ok(match version {
            Some(version) => state.load_text(version)?.unwrap_or_default(),
            None => String::new(),
        })
    };
    let label = |version: Option<VersionHash>| match version {
        Some(version) => format!("{name} {}", version.short_hex()),
        None => format!("{name} (no text)"),
    };
    Ok(Some(DiffView::from_texts(
        label(before),
        &load(before)?,
        label(after),
        &load(after)?,
    )))
}
