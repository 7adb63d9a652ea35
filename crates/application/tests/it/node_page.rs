//! The page of one plan: complete, and from one snapshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use application::FailureKind;
use application::comment::add_comment;
use application::evidence::add_evidence;
use application::node_page::load_node_page;
use domain::ids::StoreId;
use domain::node::Status;
use domain::ports::{Snapshot, Store, StoreFault, StoreFinding, Transaction};
use domain::work::evidence::ProofCheck;
use store::MemoryStore;

use crate::world::{ACT, CHAPTER, World, assert_refused, words};

/// A store that counts its snapshots.
struct CountingStore {
    inner: MemoryStore,
    snapshots: Arc<AtomicUsize>,
}

impl Store for CountingStore {
    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        self.snapshots.fetch_add(1, Ordering::Relaxed);
        self.inner.begin_read()
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        self.inner.begin_write()
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        self.inner.verify_integrity()
    }

    fn finish_mirror(&self) {}

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        self.inner.sync_mirror()
    }
}

/// A stale chapter with a proof and a comment, and a counter of the snapshots taken.
fn world_with_stale_chapter() -> (World, Arc<AtomicUsize>) {
    let snapshots = Arc::new(AtomicUsize::new(0));
    let world = World::on(Box::new(CountingStore {
        inner: MemoryStore::new(StoreId("test".to_owned())),
        snapshots: snapshots.clone(),
    }));
    world.files.edit(ACT, "# act-1\n");
    world.approve("act-1").unwrap();
    world.files.edit(CHAPTER, "# chapter-01\n\nDraft.\n");
    world.status("chapter-01");
    world.files.edit(CHAPTER, "# chapter-01\n");
    world.approve("chapter-01").unwrap();
    let proof = ProofCheck::File {
        path: "report.md".to_owned(),
    };
    add_evidence(&world.ctx(), &words("chapter-01"), proof).unwrap();
    add_comment(&world.ctx(), &words("chapter-01"), "Too short.").unwrap();
    world.files.edit(ACT, "# act-1\n\nAnother ending.\n");
    assert_eq!(world.status("chapter-01"), Status::RequiresRevalidation);
    (world, snapshots)
}

#[test]
fn page_of_a_stale_plan_has_all_parts_from_one_snapshot() {
    let (world, snapshots) = world_with_stale_chapter();
    let before = snapshots.load(Ordering::Relaxed);
    let page = load_node_page(&world.ctx(), &words("chapter-01"), Some("-1")).unwrap();
    assert_eq!(snapshots.load(Ordering::Relaxed) - before, 1);

    assert_eq!(page.plan.plan.text.as_deref(), Some("# chapter-01\n"));
    let parent = page.plan.parent.unwrap();
    assert_eq!(parent.text.as_deref(), Some("# act-1\n\nAnother ending.\n"));
    assert_eq!(page.plan.lineage, ["act-1", "act-1/chapter-01"]);
    assert_eq!(page.why.unwrap().chain.len(), 2);
    assert_eq!(page.versions.len(), 2);
    assert_eq!(page.evidence.unwrap().proofs.len(), 1);
    assert_eq!(page.comments[0].text, "Too short.");
    // The newest operation of the chapter is the cascade that made it stale.
    let chain_start = page.log.first().unwrap().operation;
    assert_eq!(chain_start, world.head());
    assert!(page.compared.unwrap().unified.contains("-Draft."));
}

#[test]
fn page_of_an_approved_plan_explains_and_compares_nothing() {
    let world = World::with_story();
    let page = load_node_page(&world.ctx(), &words("act-1"), None).unwrap();
    assert_eq!(page.plan.plan.node.status, Status::Approved);
    assert!(page.plan.parent.is_none() && page.plan.warnings.is_empty());
    assert!(page.why.is_none() && page.evidence.is_none() && page.compared.is_none());
}

#[test]
fn page_with_an_edited_file_shows_the_edit() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1\n\nEdited.\n");
    let page = load_node_page(&world.ctx(), &words("act-1"), None).unwrap();
    assert_eq!(page.plan.plan.node.status, Status::Draft);
    assert_eq!(page.plan.plan.text.as_deref(), Some("# act-1\n\nEdited.\n"));
}

#[test]
fn page_of_an_unknown_plan_or_version_is_refused() {
    let world = World::with_story();
    let load = |words, version| load_node_page(&world.ctx(), words, version);
    let (unknown, known) = (words("act-9"), words("act-1"));
    assert_refused(load(&unknown, None), FailureKind::NotFound, "act-9");
    assert_refused(load(&known, Some("-7")), FailureKind::NotFound, "-7");
}
