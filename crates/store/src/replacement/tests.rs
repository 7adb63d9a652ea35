//! Tests of refused, interrupted and forged replacements; kills at system calls are in the fault
//! lane.

use std::fs;
use std::path::PathBuf;

use domain::settings::Settings;
use rusqlite::params_from_iter;

use super::staging::staging_folder;
use super::*;
use crate::recovery::{Trust, rebuild_state};
use crate::relocation::{Relocation, RelocationFault, StateLocation};

struct Fixture {
    folder: tempfile::TempDir,
    layout: Layout,
    known: KnownStores,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), &Settings::default());
        let known = KnownStores::in_state_directory(&folder.path().join("user"));
        crate::open::create_store(&layout, Storage::Sqlite, &known).unwrap();
        Self {
            folder,
            layout,
            known,
        }
    }

    /// Sets the minimum writer version in the store's row.
    fn set_min_writer(&self, min_writer: i64) {
        let row = SqliteStore::open(&self.layout, &EngineSettings::default())
            .unwrap()
            .read_store_row()
            .unwrap();
        let values = StoreRow { min_writer, ..row }.column_values();
        let sql = "UPDATE store SET store_id = ?1, min_reader = ?2, min_writer = ?3, head = ?4, head_hash = ?5, \
                   journal_size = ?6, next_node = ?7, node_total = ?8, sum = ?9";
        let connection = rusqlite::Connection::open(&self.layout.database).unwrap();
        connection.execute(sql, params_from_iter(values)).unwrap();
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.path().to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                // SQLite creates and removes its companion files on every open.
                match path.to_string_lossy().contains("state.db-") {
                    true => {}
                    false if path.is_dir() => folders.push(path),
                    false => files.push(path),
                }
            }
        }
        files.sort();
        files
    }
}

fn replacement_cause(now: Timestamp) -> ReplacementCause<'static> {
    ReplacementCause {
        command: "rebuild",
        reason: QuarantineReason::Replaced,
        why: "a test".to_owned(),
        now,
    }
}

#[test]
fn a_state_only_a_newer_program_may_write_is_never_replaced() {
    let fixture = Fixture::new();
    let (layout, known) = (&fixture.layout, &fixture.known);
    let cargo = crate::store_dump::dump_store(layout, Storage::Sqlite).unwrap();
    fixture.set_min_writer(2);
    let files = fixture.files();
    let now = Timestamp::from_millis(0);

    let replaced = replace_state(
        layout,
        Storage::Sqlite,
        known,
        &cargo,
        &replacement_cause(now),
    );
    assert!(
        matches!(replaced, Err(StoreFault::Newer { found: 2, .. })),
        "{replaced:?}"
    );
    let place = |storage| StateLocation { layout, storage };
    let moved =
        Relocation::prepare_move(place(Storage::Sqlite), place(Storage::Json), known).map(drop);
    assert!(
        matches!(moved, Err(RelocationFault::Store(StoreFault::Newer { .. }))),
        "{moved:?}"
    );
    let rebuilt = rebuild_state(layout, Storage::Sqlite, "a test", Trust::Known(known), now);
    assert!(
        matches!(rebuilt, Err(StoreFault::Newer { .. })),
        "{rebuilt:?}"
    );
    assert_eq!(fixture.files(), files);
}

#[test]
fn a_store_that_was_open_during_the_swap_cannot_write_into_quarantine() {
    use domain::ports::Store as _;
    let fixture = Fixture::new();
    let (layout, known) = (&fixture.layout, &fixture.known);
    let open = SqliteStore::open(layout, &EngineSettings::default()).unwrap();
    drop(open.begin_read().unwrap());
    let cargo = crate::store_dump::dump_store(layout, Storage::Sqlite).unwrap();
    let now = Timestamp::from_millis(0);
    let kept = replace_state(
        layout,
        Storage::Sqlite,
        known,
        &cargo,
        &replacement_cause(now),
    )
    .unwrap();
    assert_eq!(kept, [".throughline/damaged/1"]);
    assert!(matches!(
        open.begin_write().map(drop),
        Err(StoreFault::Moved)
    ));
    assert!(matches!(
        open.begin_read().map(drop),
        Err(StoreFault::Moved)
    ));
    drop(
        SqliteStore::open(layout, &EngineSettings::default())
            .unwrap()
            .begin_write()
            .unwrap(),
    );
}

#[test]
fn a_state_that_was_moved_to_a_database_is_not_rebuilt_by_a_process_with_old_settings() {
    let fixture = Fixture::new();
    let (layout, known) = (&fixture.layout, &fixture.known);
    let now = Timestamp::from_millis(0);
    let moved = QuarantineManifest::new(now, QuarantineReason::Moved, "a test", None);
    let moved = QuarantineManifest {
        moved_to: Some(Storage::Postgres),
        ..moved
    };
    let files = DATABASE_SUFFIXES.map(|ending| with_suffix(&layout.database, ending));
    let files = files.into_iter().chain([layout.journal.clone()]);
    crate::quarantine::quarantine_files(layout, &moved, files).unwrap();
    let rebuilt = rebuild_state(layout, Storage::Sqlite, "a test", Trust::Known(known), now);
    assert!(matches!(rebuilt, Err(StoreFault::Moved)), "{rebuilt:?}");
    // Restored by a person's decision, it is an ordinary state.
    let cargo = crate::load_quarantined_state(layout, "1").unwrap();
    replace_state(
        layout,
        Storage::Sqlite,
        known,
        &cargo,
        &replacement_cause(now),
    )
    .unwrap();
    assert!(
        crate::store_dump::dump_store(layout, Storage::Sqlite)
            .unwrap()
            .is_same_history(&cargo)
    );
}

#[test]
fn a_note_that_is_older_than_what_was_done_since_changes_nothing() {
    let fixture = Fixture::new();
    let (layout, known) = (&fixture.layout, &fixture.known);
    let now = Timestamp::from_millis(0);
    let cargo = crate::store_dump::dump_store(layout, Storage::Sqlite).unwrap();
    build_staged_state(
        layout,
        Storage::Sqlite,
        &cargo,
        &AccessContents::default(),
        true,
    )
    .unwrap();
    let manifest = QuarantineManifest::new(now, QuarantineReason::Replaced, "a test", None);
    let set = QuarantineSet::create_set(layout, &manifest).unwrap();
    let note = SwapNote {
        format: 1,
        command: "restore-backup".to_owned(),
        at: now,
        from: Storage::Sqlite,
        to: Storage::Sqlite,
        quarantine: set.id,
        old: None,
        new: cargo.chain_head(),
    };
    note.write(layout).unwrap();
    // Not sealed: other processes may have worked on the state since then without seeing the note.
    let told = finish_interrupted_swap(layout, Storage::Sqlite, Some(known)).unwrap();
    assert!(told[0].message.contains("is reverted"), "{told:?}");
    assert!(!SwapNote::exists(layout) && !may_exist(&staging_folder(layout)));
    assert_eq!(crate::list_quarantined_states(layout).unwrap().len(), 0);
    assert!(
        crate::store_dump::dump_store(layout, Storage::Sqlite)
            .unwrap()
            .is_same_history(&cargo)
    );
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a note that an older build wrote"
)]
fn a_note_from_a_repository_reaches_no_file_outside() {
    let fixture = Fixture::new();
    let before = fixture.files();
    let note = r#"{"format":1,"command":"x","at":"2026-01-01T00:00:00Z","from":"sqlite","to":"sqlite",
        "quarantine":"../../..","old":null,"new":{"store":"x","operation":1,
        "hash":"0000000000000000000000000000000000000000000000000000000000000000"}}"#;
    fs::write(SwapNote::path(&fixture.layout), note).unwrap();
    finish_interrupted_swap(&fixture.layout, Storage::Sqlite, None).unwrap();
    let after: Vec<PathBuf> = fixture
        .files()
        .into_iter()
        .filter(|file| !file.ends_with("rebuild.lock"))
        .collect();
    assert_eq!(
        after,
        before
            .into_iter()
            .filter(|file| !file.ends_with("rebuild.lock"))
            .collect::<Vec<_>>()
    );
}
