//! Every engine tells the same story.

use std::sync::Arc;

use domain::ids::StoreId;
use domain::ports::{Recovery, Snapshot, Store, StoreFault, StoreFinding, Transaction};
use domain::settings::Storage;
use store::MemoryStore;
use testkit::tell_store_story;

use crate::Place;

#[test]
fn sqlite() {
    let place = Place::new(Storage::Sqlite);
    tell_store_story(&|| place.open());
}

#[test]
fn json() {
    let place = Place::new(Storage::Json);
    tell_store_story(&|| place.open());
}

#[test]
fn postgres() {
    let database = testkit::Database::new();
    let place = Place::shared(&database.url(), "story");
    tell_store_story(&|| place.open());
}

/// A user who owns the database and nothing else has all that is needed.
#[test]
fn postgres_as_a_plain_user() {
    let database = testkit::Database::new();
    let place = Place::shared(&database.url_of_plain_user(), "story");
    tell_store_story(&|| place.open());
}

#[test]
fn memory() {
    let store = Arc::new(MemoryStore::new(StoreId("memory".to_owned())));
    tell_store_story(&|| Box::new(Shared(store.clone())));
}

/// A memory store has nothing to open again: the same one is handed out.
struct Shared(Arc<MemoryStore>);

impl Store for Shared {
    fn begin_read(&self) -> Result<Box<dyn Snapshot + '_>, StoreFault> {
        self.0.begin_read()
    }

    fn begin_write(&self) -> Result<Box<dyn Transaction + '_>, StoreFault> {
        self.0.begin_write()
    }

    fn verify_integrity(&self) -> Result<Vec<StoreFinding>, StoreFault> {
        self.0.verify_integrity()
    }

    fn finish_mirror(&self) {
        self.0.finish_mirror();
    }

    fn sync_mirror(&self) -> Result<usize, StoreFault> {
        self.0.sync_mirror()
    }

    fn take_recoveries(&self) -> Vec<Recovery> {
        self.0.take_recoveries()
    }
}

/// Every process that finds a log reads all of it first: however many notes hooks keep, it stays short.
#[test]
fn notes_do_not_lengthen_the_log() {
    let place = Place::new(Storage::Sqlite);
    let log = place.layout().database.with_extension("db-wal");
    let mut longest = 0;
    for round in 0..120 {
        let store = place.open();
        let mut tx = store.begin_write().unwrap();
        tx.save_note(
            "session",
            Some(&format!("{round}{}", "x".repeat(3_000))),
            testkit::timestamp(round),
        )
        .unwrap();
        tx.commit().unwrap();
        longest = longest.max(std::fs::metadata(&log).map_or(0, |log| log.len()));
    }
    assert!(longest > 0 && longest < 100 * 4_096, "{longest} bytes");
}

/// A store that came from elsewhere counts only after it was adopted.
#[test]
fn foreign_state_is_refused_until_adopted() {
    for storage in [Storage::Sqlite, Storage::Json] {
        let place = Place::new(storage);
        std::fs::remove_dir_all(place.root().join("user")).unwrap();
        assert!(matches!(
            place.try_open(None),
            Err(StoreFault::Foreign { .. })
        ));
        let now = testkit::timestamp(1);
        store::adopt_store(
            &place.layout(),
            storage,
            &store::EngineSettings::default(),
            &place.known(),
            now,
        )
        .unwrap();
        assert!(place.try_open(None).is_ok());
    }
}

#[test]
fn another_programs_file_is_left_alone() {
    let place = Place::new(Storage::Sqlite);
    let path = place.layout().database;
    let mut bytes = std::fs::read(&path).unwrap();
    // The application id stands at byte 68 of the header.
    bytes[68..72].copy_from_slice(&[1, 2, 3, 4]);
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(
        place.try_open(None),
        Err(StoreFault::AnotherProgram { .. })
    ));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_link_in_place_of_the_database_is_refused() {
    let place = Place::new(Storage::Sqlite);
    let path = place.layout().database;
    let elsewhere = place.root().join("elsewhere.db");
    std::fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let Err(StoreFault::Io { action, .. }) = place.try_open(None).map(|_| ()) else {
        panic!("a link was opened")
    };
    assert!(action.contains("not a regular file"), "{action}");
}
