//! Tests of upgrades, with migrations that no program has yet.

use std::process::{Command, Stdio};
use std::sync::Barrier;

use domain::ports::Store;
use domain::settings::{Settings, Storage};
use domain::time::Timestamp;

use super::migrate::{MIGRATIONS, Migration};
use super::*;
use crate::durable::write_atomically;
use crate::engine::EngineSettings;
use crate::known_stores::KnownStores;
use crate::layout::Layout;
use crate::tables::access::AccessTransactions;

/// A step that older programs need not know.
const ADDS_TABLE: Migration = Migration {
    number: 3,
    script: "CREATE TABLE shelf (id INTEGER PRIMARY KEY) STRICT;",
    min_reader: 1,
    min_writer: 1,
};
/// A step after which older programs must not write.
const ADDS_COLUMN: Migration = Migration {
    number: 4,
    script: "ALTER TABLE note ADD COLUMN shelf INTEGER; INSERT INTO shelf (id) VALUES (4);",
    min_reader: 1,
    min_writer: 4,
};
/// A step after which older programs must not even read.
const RENAMES_COLUMN: Migration = Migration {
    number: 5,
    script: "ALTER TABLE note RENAME COLUMN body TO content;",
    min_reader: 5,
    min_writer: 5,
};
const TO_3: &[Migration] = &[MIGRATIONS[0], ADDS_TABLE];
const TO_4: &[Migration] = &[MIGRATIONS[0], ADDS_TABLE, ADDS_COLUMN];
const TO_5: &[Migration] = &[MIGRATIONS[0], ADDS_TABLE, ADDS_COLUMN, RENAMES_COLUMN];

/// Migrations that fail in their second step: in a statement, and in the check of the result.
const FAILING: [&[Migration]; 2] = [
    &[
        MIGRATIONS[0],
        ADDS_TABLE,
        Migration {
            script: "INSERT INTO shelf (id) VALUES (1); INSERT INTO nowhere (id) VALUES (1);",
            ..ADDS_COLUMN
        },
    ],
    &[
        MIGRATIONS[0],
        ADDS_TABLE,
        Migration {
            script: "INSERT INTO version (node, hash, canonical, operation, at, sum) VALUES (1, x'00', x'00', 1, 1, 1);",
            ..ADDS_COLUMN
        },
    ],
];

/// A migration that does not end, for a process to be killed in.
const ENDLESS: &[Migration] = &[
    MIGRATIONS[0],
    ADDS_TABLE,
    Migration {
        script: "INSERT INTO shelf (id) VALUES (1); \
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;",
        ..ADDS_COLUMN
    },
];

/// Names the project of the process that is killed.
const KILLED_PROJECT: &str = "THROUGHLINE_TEST_KILLED_PROJECT";

struct Fixture {
    folder: tempfile::TempDir,
    layout: Layout,
}

impl Fixture {
    /// A state of format 1 with a note, which only the database has.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), &Settings::default());
        let known = KnownStores::in_state_directory(&folder.path().join("user"));
        crate::open::create_store(&layout, Storage::Sqlite, &known).unwrap();
        let fixture = Self { folder, layout };
        save_note(&fixture.open(MIGRATIONS), "before").unwrap();
        fixture
    }

    fn try_open(&self, migrations: &'static [Migration]) -> Result<SqliteStore, StoreFault> {
        SqliteStore::open_with_migrations(&self.layout, &EngineSettings::default(), migrations)
    }

    fn open(&self, migrations: &'static [Migration]) -> SqliteStore {
        self.try_open(migrations).unwrap()
    }

    /// Returns the format and the number of tables.
    fn read_schema(&self) -> (i64, i64) {
        let connection = rusqlite::Connection::open(&self.layout.database).unwrap();
        let number = |sql| connection.query_row(sql, [], |row| row.get(0)).unwrap();
        (
            number("PRAGMA user_version"),
            number("SELECT count(*) FROM sqlite_schema"),
        )
    }

    fn backup(&self, format: i64) -> PathBuf {
        self.layout
            .home
            .join(format!("state-before-format-{format}.db"))
    }

    /// Returns the names of all copies of the state and what is left of them.
    fn list_copies(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.layout.home)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("state-before"))
            .collect();
        names.sort();
        names
    }
}

fn save_note(store: &SqliteStore, key: &str) -> Result<(), StoreFault> {
    let mut transaction = store.begin_write()?;
    transaction.save_note(key, Some("{}"), Timestamp::from_millis(0))?;
    transaction.commit()
}

fn is_newer<T>(found: &Result<T, StoreFault>) -> bool {
    matches!(found, Err(StoreFault::Newer { .. }))
}

#[test]
fn an_older_state_is_migrated_once_after_a_verified_backup() {
    let fixture = Fixture::new();
    let before = fixture.open(MIGRATIONS).read_store_row().unwrap();
    let store = fixture.open(TO_4);
    save_note(&store, "first").unwrap();
    // The step that inserts a row would fail the second time.
    save_note(&store, "second").unwrap();
    assert_eq!(store.verify_integrity().unwrap(), []);
    let row = store.read_store_row().unwrap();
    assert_eq!((row.min_reader, row.min_writer), (1, 4));
    assert_eq!(fixture.read_schema().0, 4);
    let messages = store.take_recoveries();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(
        messages[0].message.contains(
            "from format 1 to 4; a copy from before is in .throughline/state-before-format-4.db"
        ),
        "{messages:?}"
    );
    assert_eq!(fixture.list_copies(), ["state-before-format-4.db"]);
    store.verify_backup(&fixture.backup(4), &before, 1).unwrap();
    for key in ["before", "first", "second"] {
        assert_eq!(
            store
                .begin_read()
                .unwrap()
                .load_note(key)
                .unwrap()
                .as_deref(),
            Some("{}")
        );
    }
}

#[test]
fn a_backup_that_took_the_place_of_the_state_opens_in_the_older_program() {
    let fixture = Fixture::new();
    save_note(&fixture.open(TO_4), "after").unwrap();
    for suffix in ["-wal", "-shm"] {
        let mut path = fixture.layout.database.clone().into_os_string();
        path.push(suffix);
        let _ = fs::remove_file(path);
    }
    fs::copy(fixture.backup(4), &fixture.layout.database).unwrap();
    let store = fixture.open(MIGRATIONS);
    save_note(&store, "older").unwrap();
    assert_eq!(store.verify_integrity().unwrap(), []);
    let state = store.begin_read().unwrap();
    assert!(state.load_note("before").unwrap().is_some());
    assert!(state.load_note("after").unwrap().is_none());
}

#[test]
fn reading_alone_migrates_before_it_reads() {
    let fixture = Fixture::new();
    let store = fixture.open(TO_4);
    drop(store.begin_read().unwrap());
    assert_eq!(fixture.read_schema().0, 4);
}

#[test]
fn a_migration_shuts_out_the_programs_that_it_names() {
    for (migrations, reads, writes) in [
        (TO_3, true, true),
        (TO_4, true, false),
        (TO_5, false, false),
    ] {
        let fixture = Fixture::new();
        let running = fixture.open(MIGRATIONS);
        drop(running.begin_read().unwrap());
        drop(fixture.open(migrations).begin_write().unwrap());
        let schema = fixture.read_schema();
        let format = schema.0;
        // One that was running meanwhile, and one that is started now.
        let started = fixture.try_open(MIGRATIONS);
        assert_eq!(is_newer(&started), !reads, "{format}: {:?}", started.err());
        for store in [Ok(running), started].into_iter().flatten() {
            assert_eq!(is_newer(&store.begin_read().map(drop)), !reads, "{format}");
            assert_eq!(is_newer(&save_note(&store, "older")), !writes, "{format}");
            let token = store.run_write_transaction(&mut |_| Ok(()));
            assert_eq!(is_newer(&token), !writes, "{format}: {token:?}");
            assert_eq!(is_newer(&store.rewrite_history(&[])), !writes, "{format}");
            assert_eq!(is_newer(&store.lock_for_replacement()), !writes, "{format}");
            store.release_write_lock();
        }
        assert_eq!(fixture.read_schema(), schema);
    }
}

#[test]
fn processes_that_open_it_at_once_migrate_it_once() {
    const PROCESSES: usize = 6;
    let fixture = Fixture::new();
    let barrier = Barrier::new(PROCESSES);
    let open_and_write = |number: usize| {
        // A connection of its own, opened while the state is still old.
        let store = fixture.open(TO_4);
        barrier.wait();
        save_note(&store, &format!("note-{number}")).unwrap();
        store.take_recoveries().len()
    };
    let migrated: usize = std::thread::scope(|scope| {
        let open_and_write = &open_and_write;
        let threads: Vec<_> = (0..PROCESSES)
            .map(|number| scope.spawn(move || open_and_write(number)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(migrated, 1);
    assert_eq!(fixture.list_copies(), ["state-before-format-4.db"]);
    let store = fixture.open(TO_4);
    assert_eq!(store.verify_integrity().unwrap(), []);
    let state = store.begin_read().unwrap();
    for number in 0..PROCESSES {
        assert!(
            state
                .load_note(&format!("note-{number}"))
                .unwrap()
                .is_some()
        );
    }
}

#[test]
fn a_migration_that_fails_leaves_the_old_state() {
    for migrations in FAILING {
        let fixture = Fixture::new();
        let schema = fixture.read_schema();
        let store = fixture.open(migrations);
        for _ in 0..2 {
            let failed = save_note(&store, "after");
            // Not `Damaged`: the state would be rebuilt.
            let Err(StoreFault::Io { action, .. }) = &failed else {
                panic!("{failed:?}");
            };
            assert!(
                action.contains("from format 1 to 4; it is unchanged"),
                "{action}"
            );
            assert_eq!(fixture.read_schema(), schema);
        }
        assert_eq!(fixture.list_copies(), ["state-before-format-4.db"]);
        assert!(!fixture.layout.damaged.exists());
        let older = fixture.open(MIGRATIONS);
        save_note(&older, "older").unwrap();
        assert_eq!(older.verify_integrity().unwrap(), []);
        save_note(&fixture.open(TO_4), "repaired program").unwrap();
        assert_eq!(fixture.read_schema().0, 4);
    }
}

/// Runs itself as the process that is killed.
#[test]
#[expect(clippy::disallowed_methods, reason = "a process has to be killed")]
fn a_process_that_is_killed_while_it_migrates_leaves_the_old_state() {
    if let Some(root) = std::env::var_os(KILLED_PROJECT) {
        let layout = Layout::new(Path::new(&root), &Settings::default());
        let store = SqliteStore::open_with_migrations(&layout, &EngineSettings::default(), ENDLESS)
            .unwrap();
        save_note(&store, "never").unwrap();
        return;
    }
    let fixture = Fixture::new();
    let schema = fixture.read_schema();
    let name = std::thread::current().name().unwrap().to_owned();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name])
        .env(KILLED_PROJECT, fixture.folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The copy is there when the migration begins, and the migration does not end.
    while !fixture.backup(4).exists() {
        assert!(process.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(fixture.read_schema(), schema);
    let store = fixture.open(MIGRATIONS);
    assert!(
        store
            .begin_read()
            .unwrap()
            .load_note("before")
            .unwrap()
            .is_some()
    );
    save_note(&fixture.open(TO_4), "after").unwrap();
    assert_eq!(fixture.open(TO_4).verify_integrity().unwrap(), []);
}

#[test]
fn without_a_backup_nothing_is_migrated() {
    let fixture = Fixture::new();
    let schema = fixture.read_schema();
    let unfinished = fixture.backup(4).with_extension("db.part");
    fs::create_dir(&unfinished).unwrap();
    let refused = save_note(&fixture.open(TO_4), "after");
    assert!(matches!(refused, Err(StoreFault::Io { .. })), "{refused:?}");
    assert_eq!(fixture.read_schema(), schema);
    save_note(&fixture.open(MIGRATIONS), "older").unwrap();
    fs::remove_dir(&unfinished).unwrap();
    // What an interrupted process left is replaced.
    write_atomically(&unfinished, b"half a copy").unwrap();
    save_note(&fixture.open(TO_4), "after").unwrap();
    assert_eq!(fixture.list_copies(), ["state-before-format-4.db"]);
}

#[test]
fn a_disk_without_room_for_two_copies_is_full() {
    let folder = tempfile::tempdir().unwrap();
    check_free_space(folder.path(), 4096).unwrap();
    let refused = check_free_space(folder.path(), u64::MAX / 2);
    assert!(
        matches!(refused, Err(StoreFault::Full { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_copy_of_another_state_is_quarantined() {
    let fixture = Fixture::new();
    write_atomically(&fixture.backup(4), b"an earlier copy").unwrap();
    save_note(&fixture.open(TO_4), "after").unwrap();
    let kept = fixture.layout.damaged.join("state-before-format-4.db.1");
    assert_eq!(fs::read_to_string(kept).unwrap(), "an earlier copy");
}

#[test]
fn a_sealed_state_is_not_migrated_and_not_opened_by_an_older_program() {
    let fixture = Fixture::new();
    let schema = fixture.read_schema();
    let store = fixture.open(MIGRATIONS);
    store
        .seal_state(store.lock_for_replacement().unwrap())
        .unwrap();
    let refused = save_note(&fixture.open(TO_4), "after");
    assert!(matches!(refused, Err(StoreFault::Moved)), "{refused:?}");
    assert_eq!(fixture.read_schema(), schema);
    assert!(fixture.open(MIGRATIONS).unseal_state().unwrap());
    save_note(&fixture.open(MIGRATIONS), "unsealed").unwrap();

    let store = fixture.open(TO_4);
    store
        .seal_state(store.lock_for_replacement().unwrap())
        .unwrap();
    assert!(is_newer(&fixture.open(MIGRATIONS).unseal_state()));
    assert!(fixture.open(TO_4).unseal_state().unwrap());
    assert!(is_newer(&save_note(&fixture.open(MIGRATIONS), "older")));
}
