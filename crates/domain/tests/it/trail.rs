//! The trail: its drawing, its gaps, its exchange form, and what pruning may take.

use domain::ids::NodeId;
use domain::node::{Node, Progress};
use domain::stamp::Stamp;
use domain::time::Timestamp;
use domain::trail::{
    BranchSummaries, BranchSummary, FlatTrail, GapLimits, GapRelationship, GapSeverity,
    HierarchyTree, MapRefused, NewTrailNode, TrailLevel, find_parent_node, find_time_gaps,
    plan_branch_pruning, render_limited_tree, render_trail_tree, tree_from_flat,
};
use domain::tree::Tree;
use proptest::prelude::*;

const START: i64 = 1_770_820_200_000;

/// One line a node: `level minutes status text`; a deeper level goes below the last one above it.
fn trail(text: &str) -> Tree {
    let mut nodes: Vec<Node> = Vec::new();
    for (index, line) in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .enumerate()
    {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap();
        let level = TrailLevel::from_word(word()).unwrap();
        let at = Timestamp::from_millis(START + word().parse::<i64>().unwrap() * 60_000);
        let status = word();
        let progress = Progress::ALL
            .into_iter()
            .find(|progress| progress.as_str() == status)
            .unwrap();
        let above = nodes
            .iter()
            .rev()
            .find(|node| TrailLevel::from_word(&node.level).unwrap() < level);
        let parent = above.map(|node| node.id);
        let stamp = Stamp::first_free_from(at, |stamp| {
            nodes
                .iter()
                .any(|node| node.alias == level.node_alias(stamp))
        });
        let id = NodeId(u32::try_from(index).unwrap() + 1);
        let content = word();
        nodes.push(
            NewTrailNode {
                id,
                parent,
                level,
                stamp,
                content,
                progress,
                created: at,
                updated: at,
            }
            .into_node(),
        );
    }
    Tree::new(nodes)
}

fn auth() -> Tree {
    trail(
        "trajectory 0 active Build auth system
         tactic 15 complete Set up JWT
         action 20 complete Choose a library
         tactic 30 active Write middleware
         action 30 complete Read the old one
         action 240 active Write the handler",
    )
}

fn tree(tree: &Tree, cursor: u32) -> HierarchyTree {
    HierarchyTree::from_tree(
        tree,
        NodeId(1),
        Some(NodeId(cursor)),
        &BranchSummaries::new(),
    )
}

#[test]
fn it_is_drawn_with_a_mark_at_the_cursor() {
    insta::assert_snapshot!(render_trail_tree(&tree(&auth(), 6)), @r"
    ● 30141102026 — Build auth system (active)
    ├── ✓ 45141102026 — Set up JWT (complete)
    │   └── ✓ 50141102026 — Choose a library (complete)
    └── ● 00151102026 — Write middleware (active)
        ├── ✓ 00151102026 — Read the old one (complete)
        └── ● 30181102026 — Write the handler (active)  ◀ you are here
    ");
}

#[test]
fn a_long_list_is_drawn_around_the_cursor() {
    let mut text = String::from("trajectory 0 active Root\n");
    for number in 1..=20 {
        text.push_str(&format!(
            "tactic {number} {} Number {number}\n",
            if number < 9 { "complete" } else { "pending" }
        ));
    }
    let tree = HierarchyTree::from_tree(
        &trail(&text),
        NodeId(1),
        Some(NodeId(11)),
        &BranchSummaries::new(),
    );
    insta::assert_snapshot!(render_limited_tree(&tree, 3), @r"
    ● 30141102026 — Root (active)
    ├── … 8 earlier, 8 of them complete
    ├── ○ 39141102026 — Number 9 (pending)
    ├── ○ 40141102026 — Number 10 (pending)  ◀ you are here
    ├── ○ 41141102026 — Number 11 (pending)
    └── … 9 later, 0 of them complete
    ");
}

#[test]
fn gaps_are_those_of_the_design() {
    let limits = GapLimits {
        warm_minutes: 30,
        stale_minutes: 120,
    };
    let found: Vec<(String, String, GapRelationship, GapSeverity)> =
        find_time_gaps(&tree(&auth(), 6), limits)
            .into_iter()
            .map(|gap| (gap.from, gap.to, gap.relationship, gap.severity))
            .collect();
    let gap = |from: &str, to: &str, relationship, severity| {
        (from.to_owned(), to.to_owned(), relationship, severity)
    };
    assert_eq!(
        found,
        [
            gap(
                "30141102026",
                "45141102026",
                GapRelationship::ParentChild,
                GapSeverity::Healthy
            ),
            gap(
                "45141102026",
                "00151102026",
                GapRelationship::Sibling,
                GapSeverity::Healthy
            ),
            gap(
                "45141102026",
                "50141102026",
                GapRelationship::ParentChild,
                GapSeverity::Healthy
            ),
            gap(
                "00151102026",
                "00151102026",
                GapRelationship::ParentChild,
                GapSeverity::Healthy
            ),
            gap(
                "00151102026",
                "30181102026",
                GapRelationship::Sibling,
                GapSeverity::Stale
            ),
        ]
    );
    let at = |minutes: i64| domain::trail::gap_severity(minutes * 60_000, limits);
    assert_eq!(
        [at(0), at(29), at(30), at(119), at(120)],
        [
            GapSeverity::Healthy,
            GapSeverity::Healthy,
            GapSeverity::Warm,
            GapSeverity::Warm,
            GapSeverity::Stale
        ]
    );
}

#[test]
fn the_exchange_form_has_the_fields_of_the_design_and_is_read_back() {
    let exchanged = tree(&auth(), 6);
    let json = serde_json::to_value(&exchanged).unwrap();
    let keys = |value: &serde_json::Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(keys(&json), "cursor root version");
    assert_eq!(
        keys(&json["root"]),
        "children content created id level stamp status"
    );
    assert_eq!(
        keys(&json["root"]["children"][0]),
        "children completed content created id level stamp status"
    );
    assert_eq!(json["cursor"], "a_30181102026");
    assert_eq!(
        serde_json::from_value::<HierarchyTree>(json).unwrap(),
        exchanged
    );
}

#[test]
fn a_flat_trail_becomes_a_chain() {
    let now = Timestamp::from_millis(START);
    let flat = |trajectory: &str, tactic: &str, action: &str| FlatTrail {
        trajectory: trajectory.to_owned(),
        tactic: tactic.to_owned(),
        action: action.to_owned(),
    };
    let tree = tree_from_flat(&flat("Auth", "JWT", "Write it"), now).unwrap();
    assert_eq!(tree.cursor.as_deref(), Some("a_30141102026"));
    assert_eq!(
        tree.preorder_nodes()
            .iter()
            .map(|(_, node)| node.content.as_str())
            .collect::<Vec<_>>(),
        ["Auth", "JWT", "Write it"]
    );
    assert_eq!(
        tree_from_flat(&flat("Auth", "", "Write it"), now)
            .unwrap()
            .preorder_nodes()
            .len(),
        1
    );
    assert_eq!(tree_from_flat(&flat(" ", "JWT", ""), now), None);
}

#[test]
fn a_new_node_finds_its_parent() {
    let tree = auth();
    let path: Vec<Node> = [1, 4, 6]
        .iter()
        .map(|id| tree.get(NodeId(*id)).unwrap().clone())
        .collect();
    assert_eq!(
        find_parent_node(TrailLevel::Tactic, &path).unwrap().id,
        NodeId(1)
    );
    assert_eq!(
        find_parent_node(TrailLevel::Action, &path).unwrap().id,
        NodeId(4)
    );
    assert_eq!(
        find_parent_node(TrailLevel::Action, &path[..1]),
        Err(MapRefused::NoTactic)
    );
    assert_eq!(
        find_parent_node(TrailLevel::Tactic, &[]),
        Err(MapRefused::NoTrajectory(TrailLevel::Tactic))
    );
    let finished = Node {
        progress: Progress::Complete,
        ..path[0].clone()
    };
    assert!(matches!(
        find_parent_node(TrailLevel::Tactic, &[finished]),
        Err(MapRefused::Finished(_))
    ));
}

#[test]
fn pruning_leaves_a_line_about_each_branch() {
    let pruned = plan_branch_pruning(&auth(), NodeId(1), Some(NodeId(6)));
    assert_eq!(pruned.removed, [NodeId(3), NodeId(2), NodeId(5)]);
    assert_eq!(
        pruned.lines,
        [
            (
                NodeId(1),
                vec!["45141102026 — Set up JWT (1 step)".to_owned()]
            ),
            (NodeId(4), vec!["00151102026 — Read the old one".to_owned()])
        ]
    );
    // The branch in which someone works stays, whatever it says.
    assert!(
        !plan_branch_pruning(&auth(), NodeId(1), Some(NodeId(3)))
            .removed
            .contains(&NodeId(2))
    );
}

#[test]
fn a_summary_does_not_grow() {
    let mut summary = BranchSummary::default();
    for round in 0..40 {
        summary = summary.with_branches(vec![format!("branch {round}")]);
    }
    assert_eq!(summary.branches, 40);
    assert_eq!(summary.text.lines().count(), 13);
    assert!(
        summary
            .text
            .starts_with("earlier branches: 28\nbranch 28\n")
            && summary.text.ends_with("branch 39")
    );
}

fn some_trail() -> impl Strategy<Value = (Tree, u32)> {
    let line = (1_usize..3, 0_usize..4);
    (
        prop::collection::vec(line, 0..30),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(lines, cursor)| {
            let mut text = String::from("trajectory 0 active Root\ntactic 1 active First\n");
            for (minute, (level, status)) in lines.into_iter().enumerate() {
                let (level, status) = (
                    TrailLevel::ALL[level].as_str(),
                    Progress::ALL[status].as_str(),
                );
                text.push_str(&format!("{level} {} {status} Step {minute}\n", minute + 2));
            }
            let tree = trail(&text);
            let cursor = u32::try_from(cursor.index(tree.len())).unwrap() + 1;
            (tree, cursor)
        })
}

proptest! {
    #[test]
    fn pruning_takes_only_what_is_finished_and_nothing_twice((tree, cursor) in some_trail()) {
        let pruned = plan_branch_pruning(&tree, NodeId(1), Some(NodeId(cursor)));
        let gone = |id: NodeId| pruned.removed.contains(&id);
        prop_assert!(!gone(NodeId(1)) && !gone(NodeId(cursor)));
        for node in tree.nodes() {
            if node.progress != Progress::Complete {
                prop_assert!(!gone(node.id), "{} is not finished", node.alias);
                prop_assert!(tree.ancestors(node).iter().all(|above| !gone(above.id)));
            }
        }
        // What is left is a tree, and there is nothing more to take out of it.
        let mut left = tree.clone();
        for id in &pruned.removed {
            let fact = domain::fact::Fact::NodeRemoved { node: Box::new(left.get(*id).unwrap().clone()) };
            left.apply_facts([&fact], Timestamp::from_millis(START)).unwrap();
        }
        prop_assert_eq!(left.len() + pruned.removed.len(), tree.len());
        prop_assert_eq!(plan_branch_pruning(&left, NodeId(1), Some(NodeId(cursor))).branch_count(), 0);
    }
}
