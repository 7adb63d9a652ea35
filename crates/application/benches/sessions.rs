//! What a session asks for most: a briefing on a long trail, and a note among many.

use application::Context;
use application::brief::compose_briefing;
use application::sessions::map_context::{MapRequest, map_context};
use application::sessions::recall_mems::{RecallRequest, recall_mems};
use divan::Bencher;
use domain::fact::Fact;
use domain::ids::{NodeId, Principal};
use domain::memory::{Anchor, Mem};
use domain::node::Progress;
use domain::operation::{Channel, Verb};
use domain::policy::Policy;
use domain::ports::{NewOperation, Store};
use domain::profile::{Profile, built_in_profile};
use domain::record;
use domain::session::{CurrentSession, LogEntry, LogEntryKind, Session, SessionMode, SessionOwner};
use domain::settings::{Settings, Storage};
use domain::stamp::Stamp;
use domain::time::Timestamp;
use domain::trail::{NewTrailNode, TrailLevel};
use store::{DiskFiles, EngineSettings, KnownStores, Layout, SystemClock};
use tempfile::TempDir;

fn main() {
    divan::main();
}

const START: i64 = 1_770_820_200_000;
const WORDS: [&str; 24] = [
    "token",
    "middleware",
    "session",
    "handler",
    "route",
    "cookie",
    "jwt",
    "jose",
    "test",
    "failure",
    "schema",
    "index",
    "cache",
    "queue",
    "worker",
    "глава",
    "сцена",
    "решение",
    "вход",
    "東京",
    "設計",
    "straße",
    "naïve",
    "budget",
];

/// A tree of 10,000 nodes, 1,000 notes, 500 log entries: what an agent is told.
#[divan::bench]
fn briefing(bencher: Bencher<'_, '_>) {
    let world = World::new();
    world.trail(100, 99);
    world.notes(1_000);
    world.log(500);
    bencher.bench_local(|| world.run(|ctx| compose_briefing(ctx, None)));
}

/// The same while the tree is small.
#[divan::bench]
fn briefing_of_ten_nodes(bencher: Bencher<'_, '_>) {
    let world = World::new();
    world.trail(3, 2);
    bencher.bench_local(|| world.run(|ctx| compose_briefing(ctx, None)));
}

/// One step on the long trail: recorded, synced, the session's file rendered.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn one_step(bencher: Bencher<'_, '_>) {
    let world = World::new();
    world.trail(100, 99);
    world.log(500);
    let request = |status| MapRequest {
        level: TrailLevel::Action,
        text: "Step 98 of 99".to_owned(),
        status,
    };
    let mut active = false;
    bencher.bench_local(|| {
        active = !active;
        let request = request(if active {
            Progress::Active
        } else {
            Progress::Pending
        });
        world.run(|ctx| map_context(ctx, &request))
    });
}

/// 100,000 notes; a rare word, the beginning of one, two common ones together, one that is in a tenth of all.
#[divan::bench(args = ["rare4711", "rare47", "jwt cache", "東京", "решение глава", "token"], sample_count = 20, sample_size = 1)]
fn recall(bencher: Bencher<'_, '_>, query: &str) {
    let world = World::new();
    world.notes(100_000);
    let request = RecallRequest {
        query: query.to_owned(),
        shelf: None,
        limit: 10,
    };
    bencher.bench_local(|| world.run(|ctx| recall_mems(ctx, &request)));
}

/// A project on disk.
struct World {
    _folder: TempDir,
    store: Box<dyn Store>,
    files: DiskFiles,
    profiles: Vec<Profile>,
    policy: Policy,
}

impl World {
    fn new() -> Self {
        // Beside the build: a temporary directory may be in memory.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let layout = Layout::new(folder.path(), &Settings::default());
        let known = KnownStores::in_state_directory(&folder.path().join("user"));
        store::create_store(&layout, Storage::Sqlite, &known).expect("a store");
        let settings = EngineSettings {
            mirror: false,
            ..EngineSettings::default()
        };
        let now = Timestamp::from_millis(START);
        let (store, _) = store::open_store(&layout, Storage::Sqlite, &settings, &known, None, now)
            .expect("open");
        let files = DiskFiles::open(folder.path()).expect("open");
        let profiles = vec![built_in_profile("trail").expect("built in")];
        Self {
            _folder: folder,
            store,
            files,
            profiles,
            policy: Policy::default(),
        }
    }

    fn run<T>(&self, use_case: impl Fn(&Context<'_>) -> Result<T, application::Failure>) -> T {
        let actor = Principal::Agent {
            host: "bench".to_owned(),
            session: "s".to_owned(),
        };
        let clock = SystemClock;
        let ctx = Context::new(
            &*self.store,
            &self.files,
            &clock,
            &self.profiles,
            &self.policy,
            actor,
            Channel::Cli,
        );
        use_case(&ctx).expect("it works")
    }

    fn record(&self, facts: Vec<Fact>, texts: Vec<String>) {
        let mut tx = self.store.begin_write().expect("the write lock");
        tx.record_operation(NewOperation {
            at: Timestamp::from_millis(START),
            by: Principal::System,
            channel: Channel::System,
            verb: Verb::Init,
            summary: "the world".to_owned(),
            key: None,
            facts,
            texts,
        })
        .expect("recorded");
        tx.commit().expect("committed");
    }

    fn trail(&self, tactics: u32, actions: u32) {
        let (mut facts, mut texts) = (Vec::new(), Vec::new());
        let mut id = 0;
        let mut add = |level: TrailLevel, parent: Option<u32>, content: String| {
            id += 1;
            let at = Timestamp::from_millis(START + i64::from(id) * 60_000);
            let progress = if id % 3 == 0 {
                Progress::Complete
            } else {
                Progress::Active
            };
            let parent = parent.map(NodeId);
            let new = NewTrailNode {
                id: NodeId(id),
                parent,
                level,
                stamp: Stamp::from_timestamp(at),
                content: &content,
                progress: if parent.is_none() {
                    Progress::Active
                } else {
                    progress
                },
                created: at,
                updated: at,
            };
            facts.push(Fact::NodeAdded {
                node: Box::new(new.into_node()),
            });
            texts.push(content);
            id
        };
        let root = add(
            TrailLevel::Trajectory,
            None,
            "Build the whole thing".to_owned(),
        );
        let mut last = root;
        for tactic in 0..tactics {
            let parent = add(
                TrailLevel::Tactic,
                Some(root),
                format!("Way {tactic} through the cache and the queue"),
            );
            for action in 0..actions {
                last = add(
                    TrailLevel::Action,
                    Some(parent),
                    format!("Step {action} of {actions}"),
                );
            }
        }
        let now = Timestamp::from_millis(START);
        let stamp = Stamp::from_timestamp(now);
        let mut session = Session::begin_session(
            stamp,
            &SessionOwner {
                name: "s",
                host: "bench",
            },
            SessionMode::PlanDriven,
            NodeId(root),
            now,
        );
        session.cursor = NodeId(last);
        session.log_entries = 500;
        facts.extend(record::record_changed_fact(
            &stamp.to_string(),
            None,
            Some(&session),
        ));
        let current = CurrentSession { stamp };
        for key in [
            CurrentSession::session_key("s"),
            CurrentSession::host_key("bench"),
            CurrentSession::LATEST_KEY.to_owned(),
        ] {
            facts.extend(record::record_changed_fact(&key, None, Some(&current)));
        }
        for number in 0..12 {
            let stamp = Stamp::from_timestamp(Timestamp::from_millis(START + number * 60_000));
            let anchor = Anchor {
                stamp,
                text: format!("anchor {number}"),
                session_stamp: None,
                at: now,
            };
            facts.extend(record::record_changed_fact(
                &stamp.to_string(),
                None,
                Some(&anchor),
            ));
        }
        self.record(facts, texts);
    }

    fn log(&self, entries: u32) {
        let session = Stamp::from_timestamp(Timestamp::from_millis(START));
        let entry = |number: u32| {
            let kind = if number.is_multiple_of(5) {
                LogEntryKind::Tactic
            } else {
                LogEntryKind::Action
            };
            let at = Timestamp::from_millis(START + i64::from(number) * 60_000);
            let entry = LogEntry {
                at,
                kind,
                text: format!("entry number {number}"),
                about: None,
            };
            record::record_changed_fact(&LogEntry::entry_key(&session, number), None, Some(&entry))
        };
        self.record((1..=entries).filter_map(entry).collect(), Vec::new());
    }

    fn notes(&self, count: u32) {
        let note = |number: u32| {
            let at = Timestamp::from_millis(START + i64::from(number) * 60_000);
            let mut text = format!("note {number} rare{number}");
            for place in 0..12_u32 {
                // No two notes alike, every word in many of them.
                let pick = number.wrapping_mul(2_654_435_761).rotate_left(place * 5) as usize
                    % (WORDS.len() * 5);
                text.push(' ');
                text.push_str(WORDS.get(pick).copied().unwrap_or("and"));
            }
            let mem = Mem {
                stamp: Stamp::from_timestamp(at),
                shelf: "work".to_owned(),
                text,
                context: None,
                at,
            };
            record::record_changed_fact(&mem.stamp.to_string(), None, Some(&mem))
        };
        let all: Vec<u32> = (0..count).collect();
        for some in all.chunks(5_000) {
            self.record(some.iter().copied().filter_map(note).collect(), Vec::new());
        }
    }
}
