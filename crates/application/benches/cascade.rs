//! The whole use case in one process: an act's file is edited, a command notices it, everything below
//! changes its status, and that is recorded in SQLite with the journal synced.
//!
//! The act alternates between its approved text and another one, so every observation is a full
//! cascade: all stale, all approved again, and so on.

use std::cell::Cell;
use std::path::Path;

use application::Context;
use application::show_node::show_node;
use divan::Bencher;
use domain::approval::Approval;
use domain::fact::Fact;
use domain::ids::{NodeId, Principal, StoreId, VersionHash};
use domain::node::{Content, Description, Node, NodeStatus, ParentVersion, Progress, Status};
use domain::operation::{Channel, Verb};
use domain::policy::{BackupPolicy, Policy};
use domain::ports::{Clock, NewOperation, PlanFiles, Store};
use domain::profile::built_in_profile;
use domain::settings::{DatabaseUrl, Settings, Storage};
use domain::time::Timestamp;
use domain::version::canonical_hash;
use store::{DiskFiles, EngineSettings, KnownStores, Layout, MemoryStore, SystemClock};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// An act with 20 chapters and 200 scenes, kept in memory: the work without the disk.
#[divan::bench]
fn act_with_220_below_in_memory(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let store = MemoryStore::new(StoreId("00000000-0000-4000-8000-000000000000".to_owned()));
    project.measure(bencher, &store, 20, 10);
}

/// The same in SQLite, without and with the JSON mirror.
#[divan::bench(args = [Mirror::Off, Mirror::On])]
fn act_with_220_below(bencher: Bencher<'_, '_>, mirror: Mirror) {
    let project = Project::new();
    let store = project.store(mirror);
    project.measure(bencher, &*store, 20, 10);
}

/// More and more nodes below one act.
#[divan::bench(args = [1_000, 10_000, 100_000], sample_count = 10, sample_size = 1)]
fn nodes(bencher: Bencher<'_, '_>, nodes: usize) {
    let project = Project::new();
    let store = project.store(Mirror::Off);
    project.measure(bencher, &*store, nodes / 100, 99);
}

/// The same in PostgreSQL. To plant the nodes takes longer than everything that is measured.
#[divan::bench(args = [1_000, 100_000], sample_count = 6, sample_size = 1)]
fn nodes_in_postgres(bencher: Bencher<'_, '_>, nodes: usize) {
    let (project, database) = (Project::new(), testkit::Database::new());
    let store = project.store_in(&database.url());
    project.measure(bencher, &*store, nodes / 100, 99);
}

#[derive(Clone, Copy, Debug)]
enum Mirror {
    Off,
    On,
}

/// A directory with nothing but the act's file: a look at the act does not read its children's.
struct Project {
    directory: TempDir,
    files: DiskFiles,
}

const ACT_FILE: &str = "acts/act-1/strategic-plan.md";
const APPROVED: &str = "# Act 1\n\n## Purpose\nBegin.\n";
const EDITED: &str = "# Act 1\n\n## Purpose\nBegin again.\n";

impl Project {
    fn new() -> Self {
        // Beside the build, not in the system's temporary directory: that may be in memory, where
        // nothing has to be synced.
        let directory =
            TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
        let files = DiskFiles::open(directory.path()).expect("the directory can be opened");
        Self { directory, files }
    }

    fn store(&self, mirror: Mirror) -> Box<dyn Store> {
        let layout = Layout::new(self.directory.path(), &Settings::default());
        let known = KnownStores::in_state_directory(&self.directory.path().join("user"));
        let mirror = matches!(mirror, Mirror::On);
        let settings = EngineSettings {
            mirror,
            ..EngineSettings::default()
        };
        store::create_store(&layout, Storage::Sqlite, &known).expect("a store");
        let opened = store::open_store(
            &layout,
            Storage::Sqlite,
            &settings,
            &known,
            None,
            SystemClock.now(),
        );
        opened.expect("the store opens").0
    }

    fn store_in(&self, url: &str) -> Box<dyn Store> {
        let layout = Layout::new(self.directory.path(), &Settings::default());
        std::fs::create_dir_all(&layout.home).expect("a directory");
        let layout = layout.in_shared_database(DatabaseUrl::new(url), "bench");
        let known = KnownStores::in_state_directory(&self.directory.path().join("user"));
        let settings = EngineSettings {
            mirror: false,
            ..EngineSettings::default()
        };
        store::create_store(&layout, Storage::Postgres, &known).expect("a store");
        let opened = store::open_store(
            &layout,
            Storage::Postgres,
            &settings,
            &known,
            None,
            SystemClock.now(),
        );
        opened.expect("the store opens").0
    }

    fn measure(&self, bencher: Bencher<'_, '_>, store: &dyn Store, chapters: usize, scenes: usize) {
        self.files
            .replace_file(ACT_FILE, APPROVED)
            .expect("the act can be written");
        plant(store, chapters, scenes);
        store.sync_mirror().expect("the mirror can be written");
        let profiles = [built_in_profile("story").expect("built in")];
        // A readable backup for each edit would be another file with its own sync.
        let policy = Policy {
            backups: BackupPolicy::Off,
            ..Policy::default()
        };
        let (clock, actor) = (SystemClock, Principal::Human("bench".to_owned()));
        let ctx = Context::new(
            store,
            &self.files,
            &clock,
            &profiles,
            &policy,
            actor,
            Channel::Cli,
        );
        let act = ["act-1".to_owned()];
        let look = || show_node(&ctx, &act).expect("the act can be shown").status;
        assert_eq!(look(), Status::Approved);

        let edited = Cell::new(false);
        bencher
            .with_inputs(|| {
                edited.set(!edited.get());
                self.files
                    .replace_file(ACT_FILE, if edited.get() { EDITED } else { APPROVED })
                    .expect("the act can be written");
            })
            .bench_local_values(|()| look());

        let state = store.begin_read().expect("readable");
        let below = state.load_children(NodeId(1)).expect("readable");
        let expected = if edited.get() {
            Status::RequiresRevalidation
        } else {
            Status::Approved
        };
        assert!(
            below.iter().all(|chapter| chapter.status() == expected),
            "the cascade reached every chapter"
        );
    }
}

/// Records an approved act with chapters and scenes, all approved, as facts.
fn plant(store: &dyn Store, chapters: usize, scenes: usize) {
    let act = node(1, None, "act", "act-1".to_owned(), 1, APPROVED);
    let mut nodes = vec![act.clone()];
    for chapter in 1..=chapters {
        let number = nodes.len() + 1;
        let chapter = node(
            number,
            Some(&act),
            "chapter",
            format!("chapter-{chapter:02}"),
            chapter,
            &format!("# {number}\n"),
        );
        nodes.push(chapter.clone());
        for scene in 1..=scenes {
            let number = nodes.len() + 1;
            let alias = format!("scene-{:02}{scene:02}", chapter.order);
            nodes.push(node(
                number,
                Some(&chapter),
                "scene",
                alias,
                scene,
                &format!("# {number}\n"),
            ));
        }
    }
    let mut tx = store.begin_write().expect("the write lock");
    let operation = NewOperation {
        at: moment(),
        by: Principal::System,
        channel: Channel::System,
        verb: Verb::Rebuild,
        summary: "plant".to_owned(),
        key: None,
        facts: nodes
            .into_iter()
            .map(|node| Fact::NodeAdded {
                node: Box::new(node),
            })
            .collect(),
        texts: vec![APPROVED.to_owned()],
    };
    tx.record_operation(operation).expect("recorded");
    tx.commit().expect("committed");
}

fn node(
    number: usize,
    parent: Option<&Node>,
    level: &str,
    alias: String,
    order: usize,
    text: &str,
) -> Node {
    let (version, canonical) = (VersionHash::of_bytes(text.as_bytes()), canonical_hash(text));
    let against: Option<ParentVersion> =
        parent.and_then(|parent| parent.content.as_parent_version());
    let path = if parent.is_none() {
        ACT_FILE.to_owned()
    } else {
        Path::new("acts").join(&alias).display().to_string()
    };
    Node {
        id: NodeId(u32::try_from(number).expect("few nodes")),
        parent: parent.map(|parent| parent.id),
        profile: "story".to_owned(),
        level: level.to_owned(),
        alias,
        order: i64::try_from(order).expect("few nodes"),
        path: Some(path),
        description: Description {
            title: parent.is_none().then(|| "Act 1".to_owned()),
            ..Description::default()
        },
        content: Content::Text {
            version,
            canonical,
            basis: None,
        },
        approval: Some(Approval::from_record(
            version,
            canonical,
            against,
            Principal::Human("bench".to_owned()),
            moment(),
            Vec::new(),
        )),
        condemnation: None,
        progress: Progress::Pending,
        standing: NodeStatus::without_cause(Status::Approved),
        created_at: moment(),
        updated_at: moment(),
    }
}

fn moment() -> Timestamp {
    Timestamp::from_millis(1_770_000_000_000)
}
