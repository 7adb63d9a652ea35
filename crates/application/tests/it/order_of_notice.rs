//! The same contents and decisions, noticed in different ways: the statuses are equal on every engine.

use application::approve::ApproveRequest;
use application::invalidate::{InvalidateRequest, invalidate_node};
use domain::approval::Force;
use domain::policy::CascadePolicy;
use domain::settings::Storage;
use proptest::prelude::*;

use crate::life::engine;
use crate::shared_state::Sharing;
use crate::world::{World, words};

const PLANS: [(&str, &str); 5] = [
    ("act-1", "acts/act-1/strategic-plan.md"),
    ("chapter-01", "acts/act-1/chapters/chapter-01/plan.md"),
    ("chapter-02", "acts/act-1/chapters/chapter-02/plan.md"),
    (
        "scene-0101",
        "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md",
    ),
    (
        "scene-0201",
        "acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md",
    ),
];

/// Edits between two looks, then a decision about one plan.
#[derive(Clone, Debug)]
struct Round {
    edits: Vec<(usize, u8)>,
    decision: (usize, bool),
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let plan = 0..PLANS.len();
    let edits = prop::collection::vec((plan.clone(), 0..4_u8), 0..6);
    let decision = (plan, prop::bool::weighted(0.9));
    prop::collection::vec(
        (edits, decision).prop_map(|(edits, decision)| Round { edits, decision }),
        1..8,
    )
}

/// A text whose sections name the children, so that the precise cascade has something to compare.
fn plan_text(plan: usize, number: u8) -> String {
    let (first, second) = (number / 2, number % 2);
    format!(
        "# {}\n\n## Chapter 1, scene 1\n\n{first}\n\n## Chapter 2\n\n{second}\n",
        PLANS[plan].0
    )
}

/// Approves or condemns a plan; whether that was allowed has to be the same everywhere.
fn decide(world: &World, (plan, approves): (usize, bool)) -> Result<(), String> {
    let node = words(PLANS[plan].0);
    let shown = None;
    if approves {
        let request = ApproveRequest {
            node,
            force: Force::No,
            shown,
        };
        application::approve::approve_node(&world.ctx(), &request).map(drop)
    } else {
        let request = InvalidateRequest {
            node,
            reason: "no".to_owned(),
            shown,
        };
        invalidate_node(&world.ctx(), &request).map(drop)
    }
    .map_err(|failure| failure.message)
}

fn look(world: &World) {
    application::project_status::load_project_status(&world.ctx()).unwrap();
}

/// One project looks after every edit. The other sees the last text of each file alone, written in
/// the opposite order, and only when a decision is made.
fn live_twice(witness: &World, late: &World, rounds: &[Round]) -> Result<(), TestCaseError> {
    for (plan, (_, path)) in PLANS.iter().enumerate() {
        for world in [witness, late] {
            world.files.edit(path, &plan_text(plan, 0));
            look(world);
        }
    }
    for round in rounds {
        let mut last = std::collections::BTreeMap::new();
        for (plan, text) in &round.edits {
            witness.files.edit(PLANS[*plan].1, &plan_text(*plan, *text));
            look(witness);
            last.insert(*plan, *text);
        }
        for (plan, text) in last.into_iter().rev() {
            late.files.edit(PLANS[plan].1, &plan_text(plan, text));
        }
        prop_assert_eq!(
            decide(witness, round.decision),
            decide(late, round.decision)
        );
    }
    look(witness);
    look(late);
    prop_assert_eq!(witness.tree(), late.tree());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn statuses_do_not_depend_on_when_files_were_noticed(rounds in rounds(), precise in any::<bool>()) {
        let mut trees = Vec::new();
        for storage in [None, Some(Storage::Sqlite), Some(Storage::Json), Some(Storage::Postgres)] {
            let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
            let [witness, late] = folders.each_ref().map(|folder| {
                let mut world = match storage {
                    None => World::new(),
                    // The rule is the same on a shared state; there looking records nothing.
                    Some(storage) => World::on(Box::new(Sharing {
                        inner: engine(folder.path(), storage),
                        is_shared: false,
                    })),
                };
                if precise {
                    world.policy.cascade = CascadePolicy::Precise;
                }
                world
            });
            live_twice(&witness, &late, &rounds)?;
            let found = application::check_state::check_state(&late.ctx()).unwrap().findings;
            let wrong: Vec<_> = found.iter().filter(|finding| finding.kind == "status-mismatch").collect();
            prop_assert!(wrong.is_empty(), "{:?}", wrong);
            trees.push(late.tree());
        }
        prop_assert!(trees.iter().all(|tree| *tree == trees[0]), "{:?}", trees);
    }
}
