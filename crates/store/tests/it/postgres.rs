//! What only a shared database can do wrong.

use domain::fact::Fact;
use domain::ids::{OperationId, Principal};
use domain::operation::{Channel, Verb};
use domain::ports::{NewOperation, Store, StoreFault};
use domain::record::RecordKey;
use testkit::{Cluster, Database, node, timestamp};

use crate::Place;

fn operation(summary: &str, facts: Vec<Fact>) -> NewOperation {
    NewOperation {
        at: timestamp(1),
        by: Principal::Human("Ада".to_owned()),
        channel: Channel::Cli,
        verb: Verb::Progress,
        summary: summary.to_owned(),
        key: None,
        facts,
        texts: vec!["# A\0ct\n".to_owned()],
    }
}

fn record(key: &str, before: Option<i64>, after: i64) -> Fact {
    let record = RecordKey {
        kind: "count".to_owned(),
        key: key.to_owned(),
    };
    Fact::RecordChanged {
        record,
        before: before.map(Into::into),
        after: Some(after.into()),
    }
}

fn keep(store: &dyn Store, summary: &str, facts: Vec<Fact>) -> Result<OperationId, StoreFault> {
    let mut tx = store.begin_write()?;
    let id = tx.record_operation(operation(summary, facts))?;
    tx.commit()?;
    Ok(id)
}

/// Counts one more under a key, as an agent that reads, thinks and writes would.
fn count(store: &dyn Store, key: &str) -> Result<(), StoreFault> {
    let mut tx = store.begin_write()?;
    let before = tx.record_body("count", key)?.and_then(|body| body.as_i64());
    tx.record_operation(operation(
        "count",
        vec![record(key, before, before.unwrap_or(0) + 1)],
    ))?;
    tx.commit()
}

/// A project sees nothing of another one, regardless of the role.
#[test]
fn projects_are_kept_apart() {
    for plain in [false, true] {
        let database = Database::new();
        let url = if plain {
            database.url_of_plain_user()
        } else {
            database.url()
        };
        let (one, two) = (Place::shared(&url, "one"), Place::shared(&url, "two"));
        let (first, second) = (one.open(), two.open());
        let act = node(1, None, "act-1", "# A\0ct\n");
        keep(
            &*first,
            "in one",
            vec![
                Fact::NodeAdded {
                    node: Box::new(act.clone()),
                },
                record("a", None, 1),
            ],
        )
        .unwrap();
        let seen = second.begin_read().unwrap();
        assert_eq!(seen.last_operation_id().unwrap(), OperationId(0));
        assert!(seen.all_nodes().unwrap().is_empty());
        assert_eq!(seen.record_body("count", "a").unwrap(), None);
        assert_eq!(
            seen.load_text(act.content.version_hash().unwrap()).unwrap(),
            None
        );
        assert_eq!(seen.load_operation(OperationId(1)).unwrap(), None);
        drop(seen);
        // The same numbers and names again: nothing is in the way.
        keep(
            &*second,
            "in two",
            vec![
                Fact::NodeAdded {
                    node: Box::new(act),
                },
                record("a", None, 7),
            ],
        )
        .unwrap();
        assert_eq!(
            first
                .begin_read()
                .unwrap()
                .record_body("count", "a")
                .unwrap(),
            Some(1.into())
        );
        for store in [&first, &second] {
            store.sync_mirror().unwrap();
            assert_eq!(store.verify_integrity().unwrap(), []);
        }
        // Without a project no row is seen, also not by mistake in a statement of ours.
        if plain {
            let mut client: postgres::Client = url
                .parse::<postgres::Config>()
                .unwrap()
                .connect(postgres::NoTls)
                .unwrap();
            client
                .batch_execute("SET throughline.project = '0'; SET throughline.place = ''")
                .unwrap();
            for table in [
                "store",
                "node",
                "operation",
                "record",
                "text",
                "note",
                "stamp",
                "searched",
                "version",
            ] {
                let rows = client
                    .query(&format!("SELECT 1 FROM throughline.{table}"), &[])
                    .unwrap();
                assert!(rows.is_empty(), "{table}");
            }
        }
    }
}

/// Machines that count at once lose nothing, and operations have one order.
#[test]
fn writers_come_one_after_the_other() {
    let database = Database::new();
    let places: Vec<Place> = (0..4)
        .map(|_| Place::shared(&database.url(), "shared"))
        .collect();
    for place in &places {
        adopt(place);
    }
    std::thread::scope(|scope| {
        for place in &places {
            scope.spawn(|| {
                let store = place.open();
                (0..25).for_each(|_| count(&*store, "all").unwrap());
            });
        }
    });
    let store = places[0].open();
    assert_eq!(
        store
            .begin_read()
            .unwrap()
            .record_body("count", "all")
            .unwrap(),
        Some(100.into())
    );
    assert_eq!(
        store.begin_read().unwrap().last_operation_id().unwrap(),
        OperationId(100)
    );
    store.sync_mirror().unwrap();
    assert_eq!(store.verify_integrity().unwrap(), []);
}

fn adopt(place: &Place) {
    let settings = store::EngineSettings::default();
    store::adopt_store(
        &place.layout(),
        place.storage,
        &settings,
        &place.known(),
        timestamp(1),
    )
    .unwrap();
}

/// Who waits hears of a change another machine made.
#[test]
fn news_travel() {
    let database = Database::new();
    let (here, there) = (
        Place::shared(&database.url(), "shared"),
        Place::shared(&database.url(), "shared"),
    );
    adopt(&there);
    let store = here.open();
    let (begun, long) = (
        std::time::Instant::now(),
        std::time::Duration::from_secs(60),
    );
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let store = there.open();
            // The other one listens before it looks: whenever this happens, it is heard or seen.
            keep(&*store, "news", vec![record("a", None, 1)]).unwrap();
        });
        assert_eq!(
            store.wait_for_change(OperationId(0), long).unwrap(),
            OperationId(1)
        );
    });
    assert!(begun.elapsed() < long);
    assert_eq!(
        store
            .wait_for_change(OperationId(1), std::time::Duration::ZERO)
            .unwrap(),
        OperationId(1)
    );
}

/// What one machine remembers of its files is nothing to another; when a session was heard of is.
#[test]
fn notes_and_stamps_are_of_one_working_copy() {
    let database = Database::new();
    let (here, there) = (
        Place::shared(&database.url(), "shared"),
        Place::shared(&database.url(), "shared"),
    );
    adopt(&there);
    let (first, second) = (here.open(), there.open());
    let act = node(1, None, "act-1", "# A\0ct\n");
    keep(
        &*first,
        "act",
        vec![Fact::NodeAdded {
            node: Box::new(act.clone()),
        }],
    )
    .unwrap();
    let stamp = domain::ports::FileStamp {
        size: 1,
        modified_ns: 2,
        changed_ns: 3,
        inode: 4,
    };
    let mut tx = first.begin_write().unwrap();
    tx.save_file_stamps(&[(act.id, stamp, act.content.version_hash().unwrap())])
        .unwrap();
    tx.save_note("session/a", Some("read"), timestamp(1))
        .unwrap();
    tx.save_note("heard/a", Some("1"), timestamp(1)).unwrap();
    tx.commit().unwrap();
    let own = first.begin_read().unwrap();
    assert!(own.file_stamp(act.id).unwrap().is_some());
    assert_eq!(own.load_note("session/a").unwrap().as_deref(), Some("read"));
    drop(own);
    let other = second.begin_read().unwrap();
    assert_eq!(other.file_stamp(act.id).unwrap(), None);
    assert_eq!(other.load_note("session/a").unwrap(), None);
    assert_eq!(other.load_note("heard/a").unwrap().as_deref(), Some("1"));
    assert!(other.store_time().unwrap().is_some());
}

/// Externally changed rows are detected, and rebuilt from the operations.
#[test]
fn damaged_tables_are_rebuilt_from_the_operations() {
    let database = Database::new();
    let place = Place::shared(&database.url(), "story");
    let store = place.open();
    let act = node(1, None, "act-1", "# A\0ct\n");
    keep(
        &*store,
        "act",
        vec![
            Fact::NodeAdded {
                node: Box::new(act.clone()),
            },
            record("a", None, 1),
        ],
    )
    .unwrap();
    database
        .client()
        .batch_execute(
            "UPDATE throughline.node SET title = 'forged'; DELETE FROM throughline.record",
        )
        .unwrap();
    let Err(StoreFault::Damaged { what }) = store.begin_read().unwrap().load_node(act.id) else {
        panic!("a forged row was taken")
    };
    drop(store);
    let (store, told) = place.try_open(Some(&what)).unwrap();
    assert!(
        told[0].message.contains("rebuilt from the operations"),
        "{told:?}"
    );
    assert_eq!(
        store.begin_read().unwrap().load_node(act.id).unwrap(),
        Some(act)
    );
    store.sync_mirror().unwrap();
    assert_eq!(store.verify_integrity().unwrap(), []);
    // Operations themselves have nothing to be made from: that is said, and nothing is touched.
    database
        .client()
        .batch_execute("UPDATE throughline.operation SET body = replace(body, 'Ада', 'Ева')")
        .unwrap();
    assert!(!store.verify_integrity().unwrap().is_empty());
    drop(store);
    assert!(matches!(
        place.try_open(Some("forged")),
        Err(StoreFault::Damaged { .. })
    ));
}

/// A database that dies and comes back has every operation that was acknowledged, once; stores go on by themselves.
#[test]
fn a_crash_of_the_database_loses_nothing() {
    let cluster = Cluster::start();
    let database = Database::on(&cluster);
    let places: Vec<Place> = (0..3)
        .map(|_| Place::shared(&database.url(), "shared"))
        .collect();
    places.iter().for_each(adopt);
    let acknowledged = std::sync::atomic::AtomicI64::new(0);
    let ended = std::sync::atomic::AtomicBool::new(false);
    let uncertain = std::sync::atomic::AtomicI64::new(0);
    use std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        for place in &places {
            scope.spawn(|| {
                let store = place.open();
                while !ended.load(SeqCst) {
                    match count(&*store, "all") {
                        Ok(()) => drop(acknowledged.fetch_add(1, SeqCst)),
                        Err(StoreFault::Unreachable { why, .. })
                            if why.contains("while operation") =>
                        {
                            uncertain.fetch_add(1, SeqCst);
                        }
                        Err(StoreFault::Unreachable { .. } | StoreFault::Locked { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
        let wait_for = |more: i64| {
            let before = acknowledged.load(SeqCst);
            while acknowledged.load(SeqCst) < before + more {
                std::thread::yield_now();
            }
        };
        for _ in 0..2 {
            wait_for(20);
            cluster.crash();
            cluster.again();
        }
        wait_for(20);
        ended.store(true, SeqCst);
    });
    let store = places[0].open();
    let counted = store
        .begin_read()
        .unwrap()
        .record_body("count", "all")
        .unwrap()
        .and_then(|body| body.as_i64())
        .unwrap();
    let (acknowledged, uncertain) = (acknowledged.load(SeqCst), uncertain.load(SeqCst));
    assert!(
        (acknowledged..=acknowledged + uncertain).contains(&counted),
        "{acknowledged} + {uncertain}, {counted}"
    );
    store.sync_mirror().unwrap();
    assert_eq!(store.verify_integrity().unwrap(), []);
}

/// Who asks for encryption gets it, from the machine that is meant and from no other.
#[test]
fn a_connection_is_encrypted_and_its_certificate_checked() {
    let cluster = Cluster::start();
    let database = Database::on(&cluster);
    let authority = cluster.encrypt();
    let plain = database.url();
    let named = plain.replace("@127.0.0.1:", "@localhost:");
    let trusting = format!("sslrootcert={}", authority.display());

    let mut place = Place::shared(&format!("{named}?sslmode=verify-full&{trusting}"), "secret");
    adopt(&place);
    let store = place.open();
    count(&*store, "all").unwrap();
    assert_eq!(
        store
            .begin_read()
            .unwrap()
            .record_body("count", "all")
            .unwrap(),
        Some(1.into())
    );

    for (url, why) in [
        (format!("{named}?sslmode=disable"), "no encryption"),
        (format!("{named}?sslmode=require"), "UnknownIssuer"),
        (
            format!("{plain}?sslmode=require&{trusting}"),
            "not valid for name",
        ),
        (
            format!("{named}?sslmode=require&sslrootcert=/nowhere.pem"),
            "sslrootcert `/nowhere.pem` cannot be read",
        ),
    ] {
        place = place.at(&url);
        let refused = place.try_open(None).err().map(|fault| fault.to_string());
        assert!(
            refused.as_ref().is_some_and(|told| told.contains(why)),
            "{why}: {refused:?}"
        );
    }
}

/// A vanished holder of the write lock blocks no one; its transaction is rolled back.
#[test]
fn who_vanishes_holds_nothing() {
    let database = Database::new();
    let (here, there) = (
        Place::shared(&database.url(), "shared"),
        Place::shared(&database.url(), "shared"),
    );
    adopt(&there);
    let (first, second) = (here.open(), there.open());
    let mut tx = first.begin_write().unwrap();
    tx.record_operation(operation("never", vec![record("a", None, 1)]))
        .unwrap();
    let mut client = database.client();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'";
    client.batch_execute(cut).unwrap();
    keep(&*second, "instead", vec![record("a", None, 2)]).unwrap();
    assert!(tx.commit().is_err());
    assert_eq!(
        first
            .begin_read()
            .unwrap()
            .record_body("count", "a")
            .unwrap(),
        Some(2.into())
    );
}

/// Two programs that meet an empty database make its tables once.
#[test]
fn migrations_run_one_at_a_time() {
    let database = Database::new();
    let url = database.url();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let url = &url;
            scope.spawn(move || drop(Place::shared(url, &format!("project-{number}")).open()));
        }
    });
    let rows = database
        .client()
        .query("SELECT count(*) FROM throughline.project", &[])
        .unwrap();
    assert_eq!(rows[0].get::<_, i64>(0), 4);
}
