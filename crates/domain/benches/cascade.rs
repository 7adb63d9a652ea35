//! The rules alone, without a store: the cascade, the canonical hash, the split into sections.

use std::collections::HashMap;

use divan::Bencher;
use domain::cascade::{CascadeContext, StatusChangeGroup, reevaluate_subtree};
use domain::ids::{CanonicalHash, Digest32, NodeId, OperationId};
use domain::node::{NodeStatus, Status};
use domain::policy::ApprovalPolicy;
use domain::status::{ApprovalInputs, StatusInputs, StatusRules, TextState, any_change_counts};
use domain::time::Timestamp;

fn main() {
    divan::main();
}

/// An act with 20 chapters of 10 scenes each, everything approved, after the act was edited.
#[divan::bench]
fn act_with_20_chapters_and_200_scenes(bencher: Bencher<'_, '_>) {
    let tree = edited_act(20, 10);
    assert_eq!(
        changed(&cascade(&tree)),
        221,
        "the act and all below it change their status"
    );
    bencher.bench(|| cascade(divan::black_box(&tree)));
}

/// The same with more and more nodes: the time per node stays the same.
#[divan::bench(args = [1_000, 10_000, 100_000])]
fn nodes(bencher: Bencher<'_, '_>, nodes: usize) {
    let tree = edited_act(nodes / 100, 99);
    bencher
        .counter(divan::counter::ItemsCount::new(tree.len()))
        .bench(|| cascade(divan::black_box(&tree)));
}

/// The hash that ignores formatting, of a plan of some 20 kB.
#[divan::bench]
fn canonical_hash(bencher: Bencher<'_, '_>) {
    let plan = plan();
    bencher
        .counter(divan::counter::BytesCount::of_str(&plan))
        .bench(|| domain::version::canonical_hash(divan::black_box(&plan)));
}

/// The sections of the same plan, as the precise cascade compares them.
#[divan::bench]
fn sections(bencher: Bencher<'_, '_>) {
    let plan = plan();
    bencher
        .counter(divan::counter::BytesCount::of_str(&plan))
        .bench(|| domain::section::split_sections(divan::black_box(&plan)));
}

fn cascade(tree: &[StatusInputs]) -> Vec<StatusChangeGroup> {
    let occasion = CascadeContext {
        operation: OperationId(2),
        now: Timestamp::from_millis(1_770_000_000_000),
        note: None,
    };
    let rules = StatusRules {
        approval: ApprovalPolicy::Anyone,
        moved: &any_change_counts,
    };
    reevaluate_subtree(tree, &HashMap::new(), occasion, 10, rules)
        .expect("the tree is three levels deep")
}

fn changed(groups: &[StatusChangeGroup]) -> usize {
    groups.iter().map(|group| group.nodes.len()).sum()
}

fn edited_act(chapters: usize, scenes: usize) -> Vec<StatusInputs> {
    let approved = hash("act as approved");
    let mut act = footing(0, None, None);
    act.text = TextState::Text {
        canonical: hash("act as edited"),
    };
    act.approval = Some(ApprovalInputs {
        canonical: approved,
        parent: None,
        by_person: true,
    });
    let mut tree = vec![act];
    for _ in 0..chapters {
        let chapter = footing(tree.len(), Some(0), Some(approved));
        let (id, text) = (
            chapter.id,
            chapter.approval.map(|approval| approval.canonical),
        );
        tree.push(chapter);
        for _ in 0..scenes {
            tree.push(footing(tree.len(), Some(id.0), text));
        }
    }
    tree
}

/// An approved node that stands on its parent's text.
fn footing(number: usize, parent: Option<u32>, against: Option<CanonicalHash>) -> StatusInputs {
    let canonical = hash(&format!("plan {number}"));
    StatusInputs {
        id: NodeId(u32::try_from(number).expect("few nodes")),
        parent: parent.map(NodeId),
        text: TextState::Text { canonical },
        approval: Some(ApprovalInputs {
            canonical,
            parent: against,
            by_person: true,
        }),
        condemnation: None,
        standing: NodeStatus::without_cause(Status::Approved),
    }
}

fn hash(text: &str) -> CanonicalHash {
    CanonicalHash(Digest32::of_bytes(text.as_bytes()))
}

fn plan() -> String {
    let mut text = String::from("---\ntitle: The harbour\n---\n# Act 1\n");
    for section in 1..=20 {
        text.push_str(&format!("\n## Section {section}\n\n"));
        for line in 1..=15 {
            text.push_str(&format!(
                "- Line {line} says what happens, to whom, and why it must.  \n"
            ));
        }
    }
    text
}
