//! A state that several working copies share: what a copy has is laid over it for its reader, and
//! becomes that of all by submission.

use std::collections::BTreeMap;
use std::sync::Arc;

use application::approve::{ApproveRequest, approve_node};
use application::comment::add_comment;
use application::project_status::load_project_status;
use application::show_now::show_now;
use application::show_tree::show_tree;
use application::submit::{SubmitRequest, submit_texts};
use application::tree_cache::CachedTree;
use application::undo::{UndoTarget, undo_operations};
use application::working_copy::DifferenceKind;
use application::{Context, FailureKind};
use domain::approval::Force;
use domain::ids::{Principal, StoreId};
use domain::node::Status;
use domain::operation::Channel;
use domain::ports::{Snapshot, Store, StoreFault, StoreFinding, Transaction};
use proptest::prelude::*;
use store::MemoryStore;

use crate::world::{ACT, CHAPTER, SCENE, World, assert_refused, words};

/// A store that says whether it is shared, whatever the engine below.
pub(crate) struct Sharing<S> {
    pub(crate) inner: S,
    pub(crate) is_shared: bool,
}

impl<S: std::ops::Deref<Target: Store> + Send> Store for Sharing<S> {
    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        self.inner.begin_read()
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        self.inner.begin_write()
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        self.inner.verify_integrity()
    }

    fn finish_mirror(&self) {
        self.inner.finish_mirror();
    }

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        self.inner.sync_mirror()
    }
}

const TEAM: [(&str, &str); 3] = [
    (ACT, "act-1"),
    (CHAPTER, "chapter-01"),
    (SCENE, "scene-0101"),
];

/// Two working copies of one state, with the same approved story.
fn two_copies() -> (World, World) {
    let store = Arc::new(MemoryStore::new(StoreId("team".to_owned())));
    let copy = || {
        World::on(Box::new(Sharing {
            inner: store.clone(),
            is_shared: true,
        }))
    };
    let (here, there) = (copy(), copy());
    for (file, name) in TEAM {
        here.files.edit(file, &format!("# {name}\n"));
        here.approve(name).unwrap();
        there.files.edit(file, &format!("# {name}\n"));
    }
    (here, there)
}

fn differences(world: &World) -> Vec<(String, DifferenceKind)> {
    let status = load_project_status(&world.ctx()).unwrap();
    status
        .copy_differences
        .into_iter()
        .map(|one| (one.node, one.kind))
        .collect()
}

fn submit(world: &World, nodes: &[&str]) {
    let request = SubmitRequest {
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
        ..SubmitRequest::default()
    };
    submit_texts(&world.ctx(), &request).unwrap();
}

#[test]
fn looking_records_nothing_and_shows_the_copy() {
    let (here, there) = two_copies();
    let head = here.head();
    there.files.edit(ACT, "# act-1, other\n");
    assert_eq!(there.statuses(), "drr");
    assert_eq!(here.statuses(), "aaa");
    assert_eq!((here.head(), there.head()), (head, head));
    assert_eq!(
        differences(&there),
        [("act-1".to_owned(), DifferenceKind::Changed)]
    );
    // And it goes as it came.
    there.files.edit(ACT, "# act-1\n");
    assert_eq!(there.statuses(), "aaa");
    assert_eq!(differences(&there), []);
}

#[test]
fn a_missing_file_says_nothing_about_the_team() {
    let (here, there) = two_copies();
    there.files.delete(SCENE);
    assert_eq!(there.statuses(), "aaa");
    submit(&there, &[]);
    assert_eq!(here.statuses(), "aaa");
    submit(&there, &["chapter-01"]);
    assert_eq!(here.statuses(), "aaa", "named is another one");
    submit(&there, &["scene-0101"]);
    assert_eq!(here.statuses(), "aai");
}

#[test]
fn an_old_copy_neither_reverts_nor_approves() {
    let (here, there) = two_copies();
    here.files.edit(ACT, "# act-1, new\n");
    submit(&here, &[]);
    assert_eq!(there.statuses(), "drr", "the team's status");
    let head = here.head();
    assert_refused(
        there.approve("act-1"),
        FailureKind::Conflict,
        "older than the team's text",
    );
    submit(&there, &[]);
    assert_eq!(here.head(), head);
    assert_eq!(here.statuses(), "drr");
    // Who was shown the team's version may decide on it.
    let request = ApproveRequest {
        node: words("act-1"),
        force: Force::No,
        shown: Some(here.shown("act-1")),
    };
    approve_node(&there.ctx(), &request).unwrap();
    assert_eq!(here.status("act-1"), Status::Approved);
    // Going back is a decision too.
    submit(&there, &["act-1"]);
    assert_eq!(here.status("act-1"), Status::Draft);
    assert_eq!(there.status("act-1"), Status::Draft);
}

#[test]
fn a_decision_submits_its_lineage_and_a_refusal_nothing() {
    let (here, there) = two_copies();
    there.files.edit(ACT, "# act-1, other\n");
    there.files.edit(SCENE, "# scene-0101, other\n");
    let head = here.head();
    assert!(there.approve("scene-0101").is_err(), "its act is a draft");
    assert_eq!(here.head(), head);
    there.approve("act-1").unwrap();
    assert_eq!(here.status("act-1"), Status::Approved);
    assert_eq!(
        differences(&there),
        [(
            "act-1/chapter-01/scene-0101".to_owned(),
            DifferenceKind::Changed
        )]
    );
}

#[test]
fn a_comment_submits_only_what_nobody_knows() {
    let (here, there) = two_copies();
    there.files.edit(ACT, "# act-1, other\n");
    add_comment(&there.ctx(), &words("act-1"), "why?").unwrap();
    assert_eq!(here.status("act-1"), Status::Approved);
    let new = "acts/act-2/strategic-plan.md";
    there.files.edit(new, "# act-2\n");
    assert_eq!(there.status("act-2"), Status::Draft);
    add_comment(&there.ctx(), &words("act-2"), "new").unwrap();
    assert_eq!(here.status("act-2"), Status::Draft);
    assert_eq!(
        differences(&here),
        [("act-2".to_owned(), DifferenceKind::Missing)]
    );
    assert_eq!(here.status("act-1"), Status::Approved);
}

#[test]
fn undo_does_not_overwrite_a_text_nobody_has() {
    let (here, there) = two_copies();
    here.files.edit(SCENE, "# scene-0101, new\n");
    submit(&here, &[]);
    let submitted = here.head();
    there.files.edit(SCENE, "# scene-0101, mine\n");
    assert_refused(
        undo_operations(&there.ctx(), UndoTarget::Operation(submitted)),
        FailureKind::Conflict,
        "would be overwritten",
    );
    assert_eq!(
        there.files.text(SCENE).as_deref(),
        Some("# scene-0101, mine\n")
    );
    undo_operations(&here.ctx(), UndoTarget::Operation(submitted)).unwrap();
    assert_eq!(here.statuses(), "aaa");
}

#[test]
fn a_dashboard_shows_the_team_whatever_copy_it_runs_on() {
    let (here, there) = two_copies();
    there.files.edit(ACT, "# act-1, other\n");
    let ctx = Context::new(
        &*there.store,
        &there.files,
        &there.clock,
        &there.profiles,
        &there.policy,
        Principal::Human("Ада".to_owned()),
        Channel::Web,
    );
    let view = application::show_node::show_node(&ctx, &words("act-1")).unwrap();
    assert_eq!(view.status, Status::Approved);
    assert_eq!(view.version_hash, here.shown_hash("act-1"));
    // And says that its own copy differs.
    let now = show_now(&ctx, &CachedTree::read(&ctx).unwrap(), &[]).unwrap();
    let found = &now.status.copy_differences;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].node.as_str(), found[0].kind),
        ("act-1", DifferenceKind::Changed)
    );
    assert_eq!(now.status.status_counts.get(Status::Approved), 3);
}

/// Returns path, status and version of every node.
fn outline(world: &World) -> BTreeMap<String, (String, Option<String>)> {
    let tree = serde_json::to_value(show_tree(&world.ctx(), &[]).unwrap()).unwrap();
    let mut found = BTreeMap::new();
    collect(&tree, &mut found);
    found
}

fn collect(value: &serde_json::Value, found: &mut BTreeMap<String, (String, Option<String>)>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        serde_json::Value::Object(fields) => {
            if let (Some(path), Some(status)) = (
                fields.get("path").and_then(|path| path.as_str()),
                fields.get("status").and_then(|status| status.as_str()),
            ) {
                let version = fields.get("version_hash").and_then(|hash| hash.as_str());
                found.insert(
                    path.to_owned(),
                    (status.to_owned(), version.map(str::to_owned)),
                );
            }
            fields.values().for_each(|field| collect(field, found));
        }
        _ => {}
    }
}

const FILES: [&str; 6] = [
    ACT,
    CHAPTER,
    SCENE,
    "acts/act-1/chapters/chapter-02/plan.md",
    "acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md",
    "acts/act-2/strategic-plan.md",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// What a reader sees of its own texts is what recording them would show.
    #[test]
    fn an_overlay_shows_what_recording_would(edits in prop::collection::vec((0..FILES.len(), 0..2_u8), 0..8)) {
        let store = Arc::new(MemoryStore::new(StoreId("team".to_owned())));
        let shared = World::on(Box::new(Sharing { inner: store, is_shared: true }));
        let own = World::new();
        for world in [&shared, &own] {
            for (file, name) in TEAM {
                world.files.edit(file, &format!("# {name}\n"));
                world.approve(name).unwrap();
            }
            for (number, (file, text)) in edits.iter().enumerate() {
                world.files.edit(FILES[*file], &format!("# Edited {number} {text}\n"));
            }
        }
        let head = shared.head();
        prop_assert_eq!(outline(&shared), outline(&own));
        prop_assert_eq!(shared.head(), head);
        // Submitted, it is the same for all, and nothing differs any more.
        let before = outline(&shared);
        submit(&shared, &[]);
        prop_assert_eq!(outline(&shared), before);
        prop_assert_eq!(differences(&shared), []);
        prop_assert_eq!(shared.tree(), own.tree());
    }
}
