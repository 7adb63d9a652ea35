//! The laws of the tree, for any tree and any history.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::approval::{Approval, Condemnation, ObjectionKind};
use domain::cascade::{
    CascadeContext, StatusChangeGroup, overlay_pending_facts, parent_state_of, reevaluate_subtree,
};
use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, Principal, VersionHash};
use domain::node::{Content, Node, NodeStatus, Progress, Status};
use domain::operation::{Channel, Operation, Verb};
use domain::policy::ApprovalPolicy;
use domain::status::{StatusRules, any_change_counts, derive_status};
use domain::tree::Tree;
use domain::undo;
use domain::version::{canonical_hash, compute_hashes};
use proptest::prelude::*;
use testkit::{node, timestamp};

/// What someone does to a tree.
#[derive(Clone, Debug)]
enum Deed {
    Add { below: usize },
    Edit { which: usize, text: u8 },
    Lose { which: usize },
    Approve { which: usize },
    Condemn { which: usize, kind: ObjectionKind },
    Work { which: usize },
    Rename { which: usize, order: i64 },
    Move { which: usize, below: usize },
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let which = 0..30_usize;
    let deed = prop_oneof![
        3 => which.clone().prop_map(|below| Deed::Add { below }),
        4 => (which.clone(), 0..4_u8).prop_map(|(which, text)| Deed::Edit { which, text }),
        1 => which.clone().prop_map(|which| Deed::Lose { which }),
        5 => which.clone().prop_map(|which| Deed::Approve { which }),
        2 => (which.clone(), prop::sample::select(ObjectionKind::ALL.to_vec()))
            .prop_map(|(which, kind)| Deed::Condemn { which, kind }),
        1 => which.clone().prop_map(|which| Deed::Work { which }),
        1 => (which.clone(), 0..9i64).prop_map(|(which, order)| Deed::Rename { which, order }),
        2 => (which.clone(), which).prop_map(|(which, below)| Deed::Move { which, below }),
    ];
    prop::collection::vec(deed, 1..40)
}

/// A tree with the operations that made it.
#[derive(Default)]
struct History {
    tree: Tree,
    operations: Vec<Operation>,
    states: Vec<Tree>,
}

impl History {
    fn of(deeds: &[Deed]) -> Self {
        let mut history = Self::default();
        deeds.iter().for_each(|deed| history.act(deed));
        history
    }

    fn pick(&self, which: usize) -> Option<Node> {
        let nodes: Vec<&Node> = self.tree.nodes().collect();
        nodes
            .get(which % nodes.len().max(1))
            .map(|node| (*node).clone())
    }

    fn act(&mut self, deed: &Deed) {
        let by = Principal::Human("a".to_owned());
        let now = timestamp(i64::try_from(self.operations.len()).unwrap() + 1);
        let fact = match deed {
            Deed::Add { below } => {
                let parent = self
                    .pick(*below)
                    .filter(|parent| self.tree.ancestors(parent).len() < 5);
                let id = u32::try_from(self.operations.len()).unwrap() + 1;
                Some(Fact::NodeAdded {
                    node: Box::new(node(
                        id,
                        parent.as_ref(),
                        &format!("n{id}"),
                        &format!("# {id}\n"),
                    )),
                })
            }
            Deed::Edit { which, text } => self.pick(*which).map(|node| {
                let text = format!("# {} {text}\n", node.alias);
                let after = Content::Text {
                    version: VersionHash::of_bytes(text.as_bytes()),
                    canonical: canonical_hash(&text),
                    basis: None,
                };
                Fact::ContentChanged {
                    node: node.id,
                    before: node.content,
                    after,
                }
            }),
            Deed::Lose { which } => self.pick(*which).map(|node| Fact::ContentChanged {
                node: node.id,
                before: node.content,
                after: Content::Missing,
            }),
            Deed::Approve { which } => self.pick(*which).and_then(|node| {
                let approval = Approval::from_record(
                    node.content.version_hash()?,
                    node.content.canonical_hash()?,
                    self.tree
                        .parent_of(&node)
                        .and_then(|parent| parent.content.as_parent_version()),
                    by.clone(),
                    now,
                    Vec::new(),
                );
                Some(Fact::ApprovalChanged {
                    node: node.id,
                    before: node.approval,
                    after: Some(approval),
                })
            }),
            Deed::Condemn { which, kind } => {
                self.pick(*which).map(|node| Fact::CondemnationChanged {
                    node: node.id,
                    before: node.condemnation,
                    after: Some(Condemnation {
                        canonical: node.content.canonical_hash(),
                        reason: "no".to_owned(),
                        by: by.clone(),
                        at: now,
                        kind: *kind,
                    }),
                })
            }
            Deed::Work { which } => self.pick(*which).map(|node| Fact::ProgressChanged {
                node: node.id,
                before: node.progress,
                after: if node.progress == Progress::Active {
                    Progress::Pending
                } else {
                    Progress::Active
                },
            }),
            Deed::Rename { which, order } => self.pick(*which).map(|node| Fact::NodeRenamed {
                node: node.id,
                before: node.name(),
                after: domain::node::NodeName {
                    alias: format!("r{order}"),
                    order: *order,
                    path: node.path.clone(),
                },
            }),
            Deed::Move { which, below } => self.pick(*which).and_then(|node| {
                // One number more than there are nodes is no node: to the top.
                let after = (below % (self.tree.len() + 1) < self.tree.len())
                    .then(|| self.pick(*below))
                    .flatten();
                let path = after
                    .iter()
                    .flat_map(|after| self.tree.ancestors(after))
                    .chain(&after);
                let (depth, loops) = path.fold((0, false), |(depth, loops), above| {
                    (depth + 1, loops || above.id == node.id)
                });
                let after = after.map(|after| after.id);
                (!loops && depth < 5 && after != node.parent).then_some(Fact::NodeMoved {
                    node: node.id,
                    before: node.parent,
                    after,
                })
            }),
        };
        if let Some(fact) = fact {
            self.record(Verb::Repair, vec![fact]);
        }
    }

    /// Records facts with everything that follows from them, as one operation.
    fn record(&mut self, verb: Verb, mut facts: Vec<Fact>) {
        let id = OperationId(self.operations.len() as u64 + 1);
        let at = timestamp(i64::try_from(id.0).unwrap());
        settle(&self.tree, &mut facts, id);
        self.states.push(self.tree.clone());
        self.tree
            .apply_facts(&facts, at)
            .expect("facts decided on this tree fit it");
        self.operations.push(Operation {
            id,
            at,
            by: Principal::System,
            channel: Channel::System,
            verb,
            summary: String::new(),
            key: None,
            facts,
        });
    }
}

const RULES: StatusRules<'static> = StatusRules {
    approval: ApprovalPolicy::Anyone,
    moved: &any_change_counts,
};

/// Adds the statuses that follow, over the whole tree.
fn settle(tree: &Tree, facts: &mut Vec<Fact>, operation: OperationId) {
    let mut footings: Vec<_> = tree
        .all_preorder()
        .into_iter()
        .map(Node::status_inputs)
        .collect();
    overlay_pending_facts(&mut footings, facts);
    let occasion = CascadeContext {
        operation,
        now: timestamp(99),
        note: None,
    };
    let groups =
        reevaluate_subtree(&footings, &HashMap::new(), occasion, 20, RULES).expect("not too deep");
    if !groups.is_empty() {
        facts.push(Fact::StandingsChanged { groups });
    }
}

/// Everything but the time of the last change, which an undo moves on.
fn timeless(tree: &Tree) -> Vec<Node> {
    tree.nodes()
        .cloned()
        .map(|node| Node {
            updated_at: timestamp(0),
            ..node
        })
        .collect()
}

fn changed_ids(groups: &[StatusChangeGroup]) -> BTreeSet<NodeId> {
    groups
        .iter()
        .flat_map(|group| group.nodes.iter().copied())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A status is what the facts make it, whatever the history.
    #[test]
    fn status_is_a_function_of_the_facts(deeds in deeds()) {
        let tree = History::of(&deeds).tree;
        for node in tree.nodes() {
            let parent = tree.parent_of(node).map(|parent| parent_state_of(&parent.status_inputs(), parent.status()));
            let judgement = derive_status(&node.status_inputs(), parent, RULES);
            prop_assert_eq!(judgement.status, node.status());
            prop_assert_eq!(judgement.cause.is_some(), node.standing.cause.is_some());
        }
    }

    /// Two histories that end in the same facts end in the same statuses.
    #[test]
    fn status_forgets_how_it_came_about(deeds in deeds()) {
        let tree = History::of(&deeds).tree;
        let mut fresh: Vec<_> = tree.all_preorder().into_iter().map(Node::status_inputs).collect();
        fresh.iter_mut().for_each(|footing| footing.standing = NodeStatus::without_cause(Status::Draft));
        let occasion = CascadeContext { operation: OperationId(1), now: timestamp(0), note: None };
        let groups = reevaluate_subtree(&fresh, &HashMap::new(), occasion, 20, RULES).unwrap();
        let mut statuses: HashMap<NodeId, Status> = tree.nodes().map(|node| (node.id, Status::Draft)).collect();
        for group in &groups {
            group.nodes.iter().for_each(|id| { statuses.insert(*id, group.after.status); });
        }
        for node in tree.nodes() {
            prop_assert_eq!(statuses[&node.id], node.status());
        }
    }

    /// When an approved tree's node changes, exactly its descendants become stale.
    #[test]
    fn cascade_reaches_exactly_the_descendants(shape in prop::collection::vec(0..30_usize, 1..40), which in 0..40_usize) {
        let adds: Vec<Deed> = shape.iter().map(|below| Deed::Add { below: *below }).collect();
        let mut history = History::of(&adds);
        let ids: Vec<NodeId> = history.tree.all_preorder().iter().map(|node| node.id).collect();
        for id in &ids {
            let position = history.tree.nodes().position(|node| node.id == *id).unwrap();
            history.act(&Deed::Approve { which: position });
        }
        prop_assert!(history.tree.nodes().all(|node| node.status() == Status::Approved));

        let root = ids[which % ids.len()];
        let position = history.tree.nodes().position(|node| node.id == root).unwrap();
        history.act(&Deed::Edit { which: position, text: 7 });
        let descendants: BTreeSet<NodeId> =
            history.tree.subtree_preorder(root).iter().map(|node| node.id).filter(|id| *id != root).collect();
        let stale: BTreeSet<NodeId> = history
            .tree
            .nodes()
            .filter(|node| node.status() == Status::RequiresRevalidation)
            .map(|node| node.id)
            .collect();
        prop_assert_eq!(&stale, &descendants);
        for id in &descendants {
            prop_assert_eq!(history.tree.get(*id).unwrap().standing.cause.as_ref().map(|cause| cause.origin), Some(root));
        }
        // All of it in the one operation that changed the node.
        let last = history.operations.last().unwrap();
        let recorded: BTreeSet<NodeId> = last
            .facts
            .iter()
            .filter_map(|fact| match fact { Fact::StandingsChanged { groups } => Some(changed_ids(groups)), _ => None })
            .flatten()
            .collect();
        prop_assert_eq!(recorded, descendants.into_iter().chain([root]).collect::<BTreeSet<_>>());
    }

    /// What comes back to what it was makes everything below what it was (early cutoff).
    #[test]
    fn going_back_reinstates(deeds in deeds(), which in 0..30_usize) {
        let mut history = History::of(&deeds);
        let Some(node) = history.pick(which) else { return Ok(()) };
        let before: Vec<Status> = history.tree.nodes().map(Node::status).collect();
        let text = "# something quite else\n";
        let other = Content::Text {
            version: VersionHash::of_bytes(text.as_bytes()),
            canonical: canonical_hash(text),
            basis: node.content.basis(),
        };
        history.record(Verb::Observe, vec![Fact::ContentChanged { node: node.id, before: node.content.clone(), after: other.clone() }]);
        history.record(Verb::Observe, vec![Fact::ContentChanged { node: node.id, before: other, after: node.content }]);
        prop_assert_eq!(history.tree.nodes().map(Node::status).collect::<Vec<_>>(), before);
    }

    /// Undoing everything after any moment gives exactly the state of that moment; undoing the undo
    /// gives the present back.
    #[test]
    fn undo_restores_the_exact_state(deeds in deeds(), moment in 0..40_usize) {
        let mut history = History::of(&deeds);
        if history.operations.is_empty() {
            return Ok(());
        }
        let moment = moment % history.operations.len();
        let present = timeless(&history.tree);
        let target = timeless(&history.states[moment]);
        let newest_first: Vec<Operation> = history.operations[moment..].iter().rev().cloned().collect();
        let by = OperationId(history.operations.len() as u64 + 1);
        let undo = undo::decide_undo(&newest_first, by, &history.tree, BTreeMap::new()).expect("nothing stands in the way");
        history.record(Verb::Undo, undo.facts);
        prop_assert_eq!(timeless(&history.tree), target);

        let last = history.operations.last().unwrap().clone();
        let redo = undo::decide_undo(&[last], OperationId(by.0 + 1), &history.tree, BTreeMap::new()).expect("nothing stands in the way");
        history.record(Verb::Undo, redo.facts);
        prop_assert_eq!(timeless(&history.tree), present);
    }

    /// Replaying the operations gives the state, and so do they after a trip through JSON.
    #[test]
    fn replay_gives_the_state(deeds in deeds()) {
        let history = History::of(&deeds);
        let mut replayed = Tree::default();
        for operation in &history.operations {
            let json = serde_json::to_string(operation).unwrap();
            let back: Operation = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&back, operation);
            replayed.apply_facts(&back.facts, back.at).unwrap();
        }
        prop_assert_eq!(replayed, history.tree);
    }

    /// The canonical hash ignores formatting, and nothing else.
    #[test]
    fn canonical_hash_ignores_formatting_only(
        lines in prop::collection::vec("[a-zа-я#*-]{0,6}( [a-zа-я]{1,5}){0,2}", 0..12),
        noise in prop::collection::vec((0..4_usize, 0..3_usize), 12),
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let plain = lines.join("\n");
        let mut noisy = String::from(if noise[0].0 == 0 { "\u{feff}" } else { "" });
        for (line, (blanks, empties)) in lines.iter().zip(&noise) {
            noisy.push_str(line);
            noisy.push_str(&" \t".repeat(*blanks));
            // An empty line may become several, but none may appear where there was none.
            let extra = if line.trim().is_empty() { *empties } else { 0 };
            noisy.push_str(&ending.repeat(1 + extra));
        }
        for text in [&noisy, &plain, &format!("{plain}\n")] {
            prop_assert_eq!(compute_hashes(text), (VersionHash::of_bytes(text.as_bytes()), canonical_hash(text)));
        }
        prop_assert_eq!(canonical_hash(&noisy), canonical_hash(&plain));
        let changed = format!("{plain}\nx");
        prop_assert_ne!(canonical_hash(&changed), canonical_hash(&plain));
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let mut other = lines.clone();
            other[index] = format!("{line}!");
            prop_assert_ne!(canonical_hash(&other.join("\n")), canonical_hash(&plain));
        }
    }
}
