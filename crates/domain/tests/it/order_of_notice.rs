//! Law: a status is a function of contents and decisions, not of when and in which order a machine
//! notices them.

use std::collections::{BTreeMap, HashMap};

use domain::approval::{Approval, Condemnation, ObjectionKind};
use domain::cascade::{CascadeContext, overlay_pending_facts, reevaluate_subtree};
use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, Principal, VersionHash};
use domain::node::{Description, Node, ParentVersion, Status};
use domain::observation::{
    NewNode, ObservedContent, ObservedFile, OwningNode, facts_from_observations,
};
use domain::policy::ApprovalPolicy;
use domain::status::{StatusInputs, StatusRules, any_change_counts};
use domain::tree::Tree;
use domain::version::canonical_hash;
use proptest::prelude::*;
use testkit::timestamp;

/// Something that a machine can notice: the present text of a node, or a decision about it.
#[derive(Clone, Debug)]
enum Notice {
    /// The text with this number; `None` is a missing file.
    Text {
        node: usize,
        text: Option<u8>,
    },
    Approval {
        node: usize,
        text: u8,
        parent: u8,
    },
    Condemnation {
        node: usize,
        text: u8,
        kind: ObjectionKind,
    },
}

/// A project: the parent of each node, and everything there is to notice, each thing once.
#[derive(Clone, Debug)]
struct Project {
    parents: Vec<Option<usize>>,
    notices: Vec<Notice>,
}

fn projects() -> impl Strategy<Value = Project> {
    let node = (
        0..8_usize,
        prop::option::weighted(0.9, 0..3_u8),
        prop::option::weighted(0.7, (0..3_u8, 0..3_u8)),
        prop::option::weighted(
            0.2,
            (0..3_u8, prop::sample::select(ObjectionKind::ALL.to_vec())),
        ),
    );
    prop::collection::vec(node, 1..8).prop_map(|nodes| {
        let mut project = Project {
            parents: Vec::new(),
            notices: Vec::new(),
        };
        for (node, (above, text, approval, condemned)) in nodes.into_iter().enumerate() {
            // The first node is a root, and about one in eight of the others.
            let parent = (node > 0)
                .then(|| above % (node + 1))
                .filter(|it| *it < node);
            project.parents.push(parent);
            project.notices.push(Notice::Text { node, text });
            if let Some((text, parent)) = approval {
                project
                    .notices
                    .push(Notice::Approval { node, text, parent });
            }
            if let Some((text, kind)) = condemned {
                project
                    .notices
                    .push(Notice::Condemnation { node, text, kind });
            }
        }
        project
    })
}

/// A project, what is noticed, its order, the edits and the times of the files.
type Schedule = (Project, Vec<Notice>, Vec<usize>, Vec<(usize, u8)>, Vec<i64>);

/// A project, its notices in another order, how many of them are noticed together, earlier texts
/// that only some machines see, and the clock of each look.
fn schedules() -> impl Strategy<Value = Schedule> {
    projects().prop_flat_map(|project| {
        let shuffled = Just(project.notices.clone()).prop_shuffle();
        (
            Just(project),
            shuffled,
            prop::collection::vec(1..5_usize, 1..10),
            prop::collection::vec((0..8_usize, 0..3_u8), 0..8),
            prop::collection::vec(-1_000_000..1_000_000_i64, 10),
        )
    })
}

fn id_of(node: usize) -> NodeId {
    NodeId(u32::try_from(node).unwrap() + 1)
}

fn text_of(node: usize, text: u8) -> String {
    format!("# {node}, version {text}\n")
}

fn version_of(node: usize, text: u8) -> ParentVersion {
    let text = text_of(node, text);
    ParentVersion {
        version: VersionHash::of_bytes(text.as_bytes()),
        canonical: canonical_hash(&text),
    }
}

fn observed_content(node: usize, text: Option<u8>) -> ObservedContent {
    match text {
        None => ObservedContent::Missing,
        Some(text) => ObservedContent::Text {
            version: version_of(node, text).version,
            canonical: version_of(node, text).canonical,
            description: Description::default(),
        },
    }
}

/// One machine's recorded state.
struct Machine {
    tree: Tree,
    looks: u64,
}

impl Machine {
    /// A machine that knows the nodes, but no text and no decision.
    fn new(project: &Project) -> Self {
        let mut machine = Self {
            tree: Tree::default(),
            looks: 0,
        };
        let sightings: Vec<ObservedFile> = project
            .parents
            .iter()
            .enumerate()
            .map(|(node, parent)| ObservedFile {
                place: OwningNode::New(NewNode {
                    id: id_of(node),
                    parent: parent.map(id_of),
                    profile: "story".to_owned(),
                    level: "act".to_owned(),
                    alias: format!("n{node}"),
                    order: 0,
                    path: None,
                }),
                found: ObservedContent::Missing,
            })
            .collect();
        let facts = facts_from_observations(&machine.tree, &sightings, timestamp(0));
        machine.record(facts, 0);
        machine
    }

    /// Notices several things at once, as one operation.
    fn notice(&mut self, project: &Project, notices: &[Notice], clock: i64) {
        let sightings: Vec<ObservedFile> = notices
            .iter()
            .filter_map(|notice| match notice {
                Notice::Text { node, text } => Some(ObservedFile {
                    place: OwningNode::Known(id_of(*node)),
                    found: observed_content(*node, *text),
                }),
                _ => None,
            })
            .collect();
        let mut facts = facts_from_observations(&self.tree, &sightings, timestamp(clock));
        facts.extend(
            notices
                .iter()
                .filter_map(|notice| self.decision(project, notice, clock)),
        );
        self.record(facts, clock);
    }

    fn decision(&self, project: &Project, notice: &Notice, clock: i64) -> Option<Fact> {
        let by = Principal::Human("a".to_owned());
        match notice {
            Notice::Text { .. } => None,
            Notice::Approval { node, text, parent } => {
                let approved = version_of(*node, *text);
                let above = project.parents[*node].map(|above| version_of(above, *parent));
                Some(Fact::ApprovalChanged {
                    node: id_of(*node),
                    before: self.tree.get(id_of(*node))?.approval.clone(),
                    after: Some(Approval::from_record(
                        approved.version,
                        approved.canonical,
                        above,
                        by,
                        timestamp(clock),
                        Vec::new(),
                    )),
                })
            }
            Notice::Condemnation { node, text, kind } => Some(Fact::CondemnationChanged {
                node: id_of(*node),
                before: self.tree.get(id_of(*node))?.condemnation.clone(),
                after: Some(Condemnation {
                    canonical: Some(version_of(*node, *text).canonical),
                    reason: "no".to_owned(),
                    by,
                    at: timestamp(clock),
                    kind: *kind,
                }),
            }),
        }
    }

    fn record(&mut self, mut facts: Vec<Fact>, clock: i64) {
        self.looks += 1;
        let mut inputs: Vec<StatusInputs> = self
            .tree
            .all_preorder()
            .into_iter()
            .map(Node::status_inputs)
            .collect();
        overlay_pending_facts(&mut inputs, &facts);
        let context = CascadeContext {
            operation: OperationId(self.looks),
            now: timestamp(clock),
            note: None,
        };
        let rules = StatusRules {
            approval: ApprovalPolicy::Anyone,
            moved: &any_change_counts,
        };
        let groups = reevaluate_subtree(&inputs, &HashMap::new(), context, 20, rules).unwrap();
        if !groups.is_empty() {
            facts.push(Fact::StandingsChanged { groups });
        }
        self.tree.apply_facts(&facts, timestamp(clock)).unwrap();
    }

    fn statuses(&self) -> BTreeMap<NodeId, Status> {
        self.tree
            .nodes()
            .map(|node| (node.id, node.status()))
            .collect()
    }
}

/// Returns every order of the items.
fn permutations<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = items.split_first() else {
        return vec![Vec::new()];
    };
    let mut found = Vec::new();
    for order in permutations(rest) {
        for place in 0..=order.len() {
            let mut order = order.clone();
            order.insert(place, first.clone());
            found.push(order);
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A fresh clone sees everything at once; another machine saw earlier texts too, noticed the
    /// rest in any order and grouping, and its clock is wrong.
    #[test]
    fn every_schedule_of_notices_ends_in_the_same_statuses(
        (project, shuffled, groups, earlier, clocks) in schedules(),
    ) {
        let mut fresh = Machine::new(&project);
        fresh.notice(&project, &project.notices, 0);

        let mut witness = Machine::new(&project);
        let clock = |look: usize| clocks[look % clocks.len()];
        for (look, (node, text)) in earlier.iter().enumerate() {
            let node = node % project.parents.len();
            witness.notice(&project, &[Notice::Text { node, text: Some(*text) }], clock(look));
        }
        let mut rest = shuffled.as_slice();
        let mut look = 0;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(groups[look % groups.len()].min(rest.len()));
            witness.notice(&project, now, clock(look));
            (rest, look) = (later, look + 1);
        }
        prop_assert_eq!(witness.statuses(), fresh.statuses());
    }

}

proptest! {
    // Each case is up to 120 histories.
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same for every order there is, where there are few things to notice.
    #[test]
    fn every_permutation_of_few_notices_ends_in_the_same_statuses(project in projects()) {
        let (few, before) = project.notices.split_at(project.notices.len().min(5));
        let mut fresh = Machine::new(&project);
        fresh.notice(&project, &project.notices, 0);
        for order in permutations(few) {
            let mut machine = Machine::new(&project);
            machine.notice(&project, before, 0);
            for (look, notice) in order.iter().enumerate() {
                machine.notice(&project, std::slice::from_ref(notice), -i64::try_from(look).unwrap());
            }
            prop_assert_eq!(machine.statuses(), fresh.statuses(), "{:?}", order);
        }
    }
}

/// Parent edited, child edited, parent edited again: with a look after each, or with one at the end.
#[test]
fn missed_looks_heal() {
    let project = Project {
        parents: vec![None, Some(0)],
        notices: Vec::new(),
    };
    let text = |node, text| Notice::Text {
        node,
        text: Some(text),
    };
    let start = [
        text(0, 0),
        text(1, 0),
        Notice::Approval {
            node: 0,
            text: 0,
            parent: 0,
        },
    ];
    let mut attentive = Machine::new(&project);
    attentive.notice(&project, &start, 0);
    for edit in [text(0, 1), text(1, 1), text(0, 2)] {
        attentive.notice(&project, &[edit], 1);
    }
    let mut inattentive = Machine::new(&project);
    inattentive.notice(&project, &start, 0);
    inattentive.notice(&project, &[text(0, 2), text(1, 1)], 1);
    assert_eq!(attentive.statuses(), inattentive.statuses());
    assert_eq!(
        attentive.statuses()[&id_of(1)],
        Status::RequiresRevalidation
    );
}
