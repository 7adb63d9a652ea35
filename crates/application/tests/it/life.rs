//! Deeds of every kind in any order: the engines agree, and the state is always what the facts make it.

use std::sync::Arc;

use application::invalidate::{InvalidateRequest, invalidate_node};
use application::restore_version::restore_version;
use application::revalidate::{KeepRequest, keep_all, keep_one};
use application::set_progress::{ProgressRequest, set_progress};
use application::tree_cache::CachedTree;
use application::undo::{UndoTarget, undo_operations};
use domain::approval::Force;
use domain::node::Progress;
use domain::ports::{Clock, Store};
use domain::settings::{DatabaseUrl, Settings, Storage};
use proptest::prelude::*;
use store::{EngineSettings, KnownStores, Layout, SystemClock};

use crate::shared_state::Sharing;
use crate::world::{World, words};

#[derive(Clone, Debug)]
enum Deed {
    Edit(usize, u8),
    Delete(usize),
    Approve(usize),
    Keep(usize),
    KeepAll,
    Condemn(usize),
    Restore(usize, u8),
    Progress(usize),
    Undo,
    Look,
}

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

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let plan = 0..PLANS.len();
    prop::collection::vec(
        prop_oneof![
            5 => (plan.clone(), 0..3_u8).prop_map(|(plan, text)| Deed::Edit(plan, text)),
            1 => plan.clone().prop_map(Deed::Delete),
            6 => plan.clone().prop_map(Deed::Approve),
            2 => plan.clone().prop_map(Deed::Keep),
            1 => Just(Deed::KeepAll),
            1 => plan.clone().prop_map(Deed::Condemn),
            2 => (plan.clone(), 1..3_u8).prop_map(|(plan, back)| Deed::Restore(plan, back)),
            1 => plan.prop_map(Deed::Progress),
            2 => Just(Deed::Undo),
            1 => Just(Deed::Look),
        ],
        1..25,
    )
}

/// Does a deed; whether it was allowed is part of what engines must agree on.
fn act(world: &World, deed: &Deed) -> Result<(), String> {
    let ctx = world.ctx();
    let answer = |failure: application::Failure| {
        assert!(failure.interruption().is_none(), "{failure}");
        failure.message
    };
    match deed {
        Deed::Edit(plan, text) => {
            world
                .files
                .edit(PLANS[*plan].1, &format!("# {} {text}\n", PLANS[*plan].0));
            Ok(())
        }
        Deed::Delete(plan) => {
            world.files.delete(PLANS[*plan].1);
            Ok(())
        }
        Deed::Approve(plan) => world.approve(PLANS[*plan].0).map_err(answer),
        Deed::Keep(plan) => keep_one(
            &ctx,
            &KeepRequest {
                node: words(PLANS[*plan].0),
                force: Force::No,
                shown: None,
            },
        )
        .map(|_| ())
        .map_err(answer),
        Deed::KeepAll => keep_all(&ctx, &[], Force::No, None)
            .map(|_| ())
            .map_err(answer),
        Deed::Condemn(plan) => {
            let request = InvalidateRequest {
                node: words(PLANS[*plan].0),
                reason: "no".to_owned(),
                shown: None,
            };
            invalidate_node(&ctx, &request).map(|_| ()).map_err(answer)
        }
        Deed::Restore(plan, back) => {
            restore_version(&ctx, &words(&format!("{} -{back}", PLANS[*plan].0)), None)
                .map(|_| ())
                .map_err(answer)
        }
        Deed::Progress(plan) => {
            let request = ProgressRequest {
                node: words(PLANS[*plan].0),
                progress: Progress::Active,
            };
            set_progress(&ctx, &request).map(|_| ()).map_err(answer)
        }
        Deed::Undo => undo_operations(&ctx, UndoTarget::Newest)
            .map(|_| ())
            .map_err(answer),
        Deed::Look => application::project_status::load_project_status(&ctx)
            .map(|_| ())
            .map_err(answer),
    }
}

thread_local! {
    /// One for all the lives a test tries; each is a project of its own in it.
    static DATABASE: testkit::Database = testkit::Database::new();
}

pub(crate) fn engine(folder: &std::path::Path, storage: Storage) -> Box<dyn Store> {
    let database_url = match storage {
        Storage::Postgres => DatabaseUrl::new(&DATABASE.with(testkit::Database::url)),
        Storage::Sqlite | Storage::Json | Storage::Remote => DatabaseUrl::default(),
    };
    let layout = Layout::new(
        folder,
        &Settings {
            database_url,
            ..Settings::default()
        },
    );
    let known = KnownStores::in_state_directory(&folder.join("user"));
    store::create_store(&layout, storage, &known).unwrap();
    store::open_store(
        &layout,
        storage,
        &EngineSettings::default(),
        &known,
        None,
        SystemClock.now(),
    )
    .unwrap()
    .0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_engine_lives_the_same_life(deeds in deeds()) {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let worlds = [
            World::new(),
            World::on(engine(folders[0].path(), Storage::Sqlite)),
            World::on(engine(folders[1].path(), Storage::Json)),
            // One copy alone, so that it records what it sees, as the others do.
            World::on(Box::new(Sharing { inner: engine(folders[2].path(), Storage::Postgres), is_shared: false })),
        ];
        let mut known = Arc::new(CachedTree::read(&worlds[1].ctx()).unwrap());
        let mut read = CachedTree::read(&worlds[1].ctx()).unwrap();
        for deed in &deeds {
            let outcomes: Vec<Result<(), String>> = worlds.iter().map(|world| act(world, deed)).collect();
            prop_assert_eq!(&outcomes[0], &outcomes[1], "{:?}", deed);
            prop_assert_eq!(&outcomes[0], &outcomes[2], "{:?}", deed);
            prop_assert_eq!(&outcomes[0], &outcomes[3], "{:?}", deed);
            // Who follows the operations knows the same tree as who reads everything.
            let followed = known.catch_up(&worlds[1].ctx()).unwrap();
            prop_assert!(*known == read, "who reads what was known sees {:?}", deed);
            (known, read) = (followed, CachedTree::read(&worlds[1].ctx()).unwrap());
            prop_assert!(*known == read, "{:?}", deed);
        }
        for node in worlds[0].store.begin_read().unwrap().all_nodes().unwrap() {
            let logs = worlds.each_ref().map(|world| world.store.begin_read().unwrap().operation_heads_of_node(node.id, None, 99).unwrap());
            let numbers = logs.map(|log| log.iter().map(|head| head.id).collect::<Vec<_>>());
            prop_assert!(numbers.iter().all(|one| *one == numbers[0]), "{:?}", numbers);
        }
        let nodes: Vec<_> = worlds.iter().map(|world| world.store.begin_read().unwrap().all_nodes().unwrap()).collect();
        let sorted = |index: usize| {
            let mut nodes = nodes[index].clone();
            nodes.sort_by_key(|node| node.id);
            nodes
        };
        prop_assert_eq!(sorted(0), sorted(1));
        prop_assert_eq!(sorted(0), sorted(2));
        prop_assert_eq!(sorted(0), sorted(3));
        for world in &worlds {
            let damage: Vec<_> = world.store.verify_integrity().unwrap();
            prop_assert!(damage.is_empty(), "{:?}", damage);
            // Whatever happened, each status is what the facts make it.
            act(world, &Deed::Look).unwrap();
            let found = application::check_state::check_state(&world.ctx()).unwrap().findings;
            let lies: Vec<_> = found.iter().filter(|finding| finding.kind == "status-mismatch").collect();
            prop_assert!(lies.is_empty(), "{:?}", lies);
        }
    }

    /// An undo right after a decision gives exactly the state before it, files included.
    #[test]
    fn undo_takes_back_exactly_one_decision(deeds in deeds(), plan in 0..PLANS.len(), which in 0..4_u8) {
        let world = World::new();
        deeds.iter().for_each(|deed| { let _ = act(&world, deed); });
        act(&world, &Deed::Look).unwrap();
        let decision = match which {
            0 => Deed::Approve(plan),
            1 => Deed::Condemn(plan),
            2 => Deed::Restore(plan, 1),
            _ => Deed::Keep(plan),
        };
        let before = state(&world);
        let head = world.store.begin_read().unwrap().last_operation_id().unwrap();
        if act(&world, &decision).is_err() || world.store.begin_read().unwrap().last_operation_id().unwrap() == head {
            return Ok(());
        }
        act(&world, &Deed::Undo).unwrap();
        prop_assert_eq!(state(&world), before);
    }
}

fn state(world: &World) -> (Vec<domain::node::Node>, Vec<Option<String>>) {
    let nodes = world.store.begin_read().unwrap().all_nodes().unwrap();
    // The time of the last change moves on; everything else must be as it was.
    let nodes = nodes
        .into_iter()
        .map(|node| domain::node::Node {
            updated_at: testkit::timestamp(0),
            ..node
        })
        .collect();
    (
        nodes,
        PLANS
            .iter()
            .map(|(_, file)| world.files.text(file))
            .collect(),
    )
}
