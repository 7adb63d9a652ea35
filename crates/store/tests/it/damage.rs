//! Damage is detected before it is used, quarantined, and repaired without losing approved state.

use std::path::PathBuf;

use domain::node::Node;
use domain::operation::Operation;
use domain::ports::{Store, StoreFault};
use domain::settings::Storage;
use testkit::tell_store_story;

use crate::Place;

/// Everything a decision may rest on.
#[derive(Debug, PartialEq)]
struct State {
    nodes: Vec<Node>,
    operations: Vec<Operation>,
    texts: Vec<Option<String>>,
}

fn state(store: &dyn Store) -> Result<State, StoreFault> {
    let snapshot = store.begin_read()?;
    let nodes = snapshot.all_nodes()?;
    let mut texts = Vec::new();
    for node in &nodes {
        for version in snapshot.load_versions(node.id)? {
            texts.push(snapshot.load_text(version.hash)?);
        }
        snapshot.load_children(node.id)?;
        snapshot.nodes_by_alias(&node.alias)?;
        if let Some(parent) = node.parent {
            snapshot.children_by_alias(parent, &node.alias)?;
        }
        snapshot.load_status_inputs(node.id)?;
    }
    Ok(State {
        operations: snapshot.load_operations(None, usize::MAX)?,
        nodes,
        texts,
    })
}

/// Opens as the program does: damage found on the way is repaired, and the read retried.
fn state_as_the_program_sees_it(place: &Place) -> Result<(State, bool), StoreFault> {
    let (store, told) = place.try_open(None)?;
    match state(&*store) {
        Ok(found) => Ok((
            found,
            !told.is_empty() || !store.take_recoveries().is_empty(),
        )),
        Err(StoreFault::Damaged { what }) => {
            drop(store);
            let (store, _) = place.try_open(Some(&what))?;
            Ok((state(&*store)?, true))
        }
        Err(other) => Err(other),
    }
}

/// A copy of a prepared state, cheap to create again.
struct Original {
    place: Place,
    files: Vec<(PathBuf, Vec<u8>)>,
    state: State,
}

impl Original {
    /// Everything in the database file itself, so that damage to it is damage to the state.
    fn new() -> Self {
        let place = Place::new(Storage::Sqlite);
        tell_store_story(&|| place.open());
        let connection = rusqlite::Connection::open(place.layout().database).unwrap();
        connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        drop(connection);
        Self::of(place)
    }

    /// The last changes in the write-ahead log only.
    fn with_log() -> Self {
        let place = Place::new(Storage::Sqlite);
        tell_store_story(&|| place.open());
        let original = Self::of(place);
        assert!(
            original.files.len() == 3 && original.files[2].1.len() > 4096,
            "the story left no log"
        );
        original
    }

    fn of(place: Place) -> Self {
        let state = state(&*place.open()).unwrap();
        let layout = place.layout();
        let files = [
            layout.database.clone(),
            layout.journal,
            beside(&layout.database, "-wal"),
        ];
        let files = files
            .into_iter()
            .filter_map(|path| Some((path.clone(), std::fs::read(&path).ok()?)))
            .collect();
        Self {
            place,
            files,
            state,
        }
    }

    fn reset(&self) {
        let layout = self.place.layout();
        for end in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(beside(&layout.database, end));
        }
        for (path, bytes) in &self.files {
            std::fs::write(path, bytes).unwrap();
        }
        let _ = std::fs::remove_dir_all(&layout.damaged);
    }
}

fn beside(path: &std::path::Path, end: &str) -> PathBuf {
    let mut path = path.to_owned().into_os_string();
    path.push(end);
    path.into()
}

#[test]
fn a_lost_emptied_or_broken_database_comes_back_from_the_journal() {
    let original = Original::new();
    let database = original.place.layout().database;
    type Hurt = fn(&std::path::Path);
    let cases: [(&str, Hurt); 5] = [
        ("missing", |path| std::fs::remove_file(path).unwrap()),
        ("emptied", |path| std::fs::write(path, b"").unwrap()),
        ("cut in half", |path| {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("not a database", |path| {
            std::fs::write(path, b"hello, this is a text file and nothing else").unwrap()
        }),
        ("a valid but empty database", |path| {
            std::fs::remove_file(path).unwrap();
            rusqlite::Connection::open(path)
                .unwrap()
                .execute_batch("CREATE TABLE t (a); DROP TABLE t;")
                .unwrap();
        }),
    ];
    for (what, hurt) in cases {
        original.reset();
        hurt(&database);
        let (found, repaired) = state_as_the_program_sees_it(&original.place)
            .unwrap_or_else(|fault| panic!("{what}: {fault}"));
        assert_eq!(found, original.state, "{what}");
        assert!(repaired, "{what}: the user was not told");
        if what != "missing" {
            let quarantined = store::list_quarantined_states(&original.place.layout()).unwrap();
            assert_eq!(
                quarantined[0].files[0], "state.db",
                "{what}: {quarantined:?}"
            );
        }
        assert!(
            original.place.open().verify_integrity().unwrap().is_empty(),
            "{what}"
        );
    }
}

#[test]
fn a_lost_or_broken_journal_comes_back_from_the_database() {
    let original = Original::new();
    let journal = original.place.layout().journal;
    let whole = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let cases = [
        ("missing", None),
        ("emptied", Some(String::new())),
        ("only its header", Some(lines[0].to_owned())),
        ("last line lost", Some(lines[..lines.len() - 1].concat())),
        ("last line torn", Some(whole[..whole.len() - 20].to_owned())),
        (
            "last line changed",
            Some(whole[..whole.len() - 10].to_owned() + "000000\"}\n"),
        ),
        (
            "another store's",
            Some(whole.replacen("\"store\":\"", "\"store\":\"0", 1)),
        ),
    ];
    for (what, text) in cases {
        original.reset();
        match &text {
            None => std::fs::remove_file(&journal).unwrap(),
            Some(text) => std::fs::write(&journal, text).unwrap(),
        }
        let store = original.place.open();
        // Reading repairs it, or writing does where reading has no need to.
        let found = state(&*store).unwrap_or_else(|fault| panic!("{what}: {fault}"));
        drop(store.begin_write().unwrap());
        assert_eq!(found, original.state, "{what}");
        let problems = store.verify_integrity().unwrap();
        assert!(
            problems.iter().all(|finding| !finding.kind.is_damage()) || what == "another store's",
            "{what}: {problems:?}"
        );
    }
}

#[test]
fn damage_in_the_middle_of_the_journal_is_found_and_mended() {
    let original = Original::new();
    let journal = original.place.layout().journal;
    let whole = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(
        &journal,
        whole.replacen("approve act-1", "approve act-2", 1),
    )
    .unwrap();
    let store = original.place.open();
    let found = store.verify_integrity().unwrap();
    assert!(
        found.iter().any(|finding| finding.kind.is_damage()),
        "{found:?}"
    );
    drop(store);
    let (store, told) = original
        .place
        .try_open(Some("the journal is damaged"))
        .unwrap();
    assert!(!told.is_empty());
    assert_eq!(state(&*store).unwrap(), original.state);
    assert!(store.verify_integrity().unwrap().is_empty());
}

#[test]
fn both_damaged_gives_everything_up_to_the_first_broken_operation() {
    let original = Original::new();
    let layout = original.place.layout();
    let whole = std::fs::read_to_string(&layout.journal).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    std::fs::write(&layout.journal, lines[..3].concat() + "{\"op\": broken\n").unwrap();
    std::fs::write(&layout.database, b"").unwrap();
    let (store, told) = original.place.try_open(None).unwrap();
    let found = state(&*store).unwrap();
    assert_eq!(found.operations.len(), 2);
    assert!(
        told[0].message.contains("journal line 4 was damaged"),
        "{told:?}"
    );
    let quarantined = store::list_quarantined_states(&layout).unwrap();
    let files: Vec<&str> = quarantined[0].files.iter().map(String::as_str).collect();
    assert!(
        quarantined.len() == 1 && files.starts_with(&["journal.jsonl", "state.db"]),
        "{quarantined:?}"
    );
}

/// Flips bits over every page of the database: whatever is read is the truth, or it is refused and
/// comes back whole from the journal. Never a silent lie.
#[test]
fn no_flipped_bit_is_silent() {
    let original = Original::new();
    let (database, bytes) = original.files[0].clone();
    let page = 4096;
    let mut seen = 0;
    for start in (0..bytes.len()).step_by(page) {
        // Spread over the page, more where a page has its header.
        for offset in [
            0, 1, 3, 5, 8, 12, 40, 68, 97, 333, 1021, 2000, 2777, 3333, 3700, 3900, 4000, 4060,
            4090, 4095,
        ] {
            let mut hurt = bytes.clone();
            let Some(byte) = hurt.get_mut(start + offset) else {
                continue;
            };
            *byte ^= 1 << (offset % 8);
            original.reset();
            std::fs::write(&database, &hurt).unwrap();
            match state_as_the_program_sees_it(&original.place) {
                Ok((found, repaired)) => {
                    assert!(
                        found == original.state,
                        "a flip at {} was not seen",
                        start + offset
                    );
                    seen += usize::from(repaired);
                }
                // Refusing is no lie: another application id, a newer format …
                Err(
                    StoreFault::AnotherProgram { .. }
                    | StoreFault::Newer { .. }
                    | StoreFault::Foreign { .. },
                ) => seen += 1,
                Err(fault) => panic!("a flip at {}: {fault}", start + offset),
            }
        }
    }
    assert!(seen > 10, "the flips hit nothing: {seen}");
}

/// The same in the write-ahead log: what SQLite drops from it comes back from the journal.
#[test]
fn no_flipped_bit_in_the_log_is_silent() {
    let original = Original::with_log();
    let (log, bytes) = original.files[2].clone();
    let mut seen = 0;
    // The log's header, then frames: each a header of 24 bytes and a page.
    let frames = (32..bytes.len()).step_by(24 + 4096);
    let within_frames =
        frames.flat_map(|start| [0, 5, 9, 17, 24, 31, 124, 1000, 2500, 4100].map(|at| start + at));
    for at in (0..32).chain(within_frames).filter(|at| *at < bytes.len()) {
        let mut hurt = bytes.clone();
        hurt[at] ^= 1 << (at % 8);
        original.reset();
        std::fs::write(&log, &hurt).unwrap();
        let (found, repaired) = state_as_the_program_sees_it(&original.place)
            .unwrap_or_else(|fault| panic!("a flip at {at} of the log: {fault}"));
        assert!(
            found == original.state,
            "a flip at {at} of the log was not seen"
        );
        seen += usize::from(repaired);
    }
    assert!(seen > 10, "the flips hit nothing: {seen}");
}

/// The same in the journal: the state stays, and a check sees it.
#[test]
fn no_flipped_bit_in_the_journal_is_silent() {
    let original = Original::new();
    let (journal, bytes) = original.files[1].clone();
    for at in (0..bytes.len()).step_by(29) {
        let mut hurt = bytes.clone();
        hurt[at] ^= 1 << (at % 8);
        original.reset();
        std::fs::write(&journal, &hurt).unwrap();
        let (store, told) = original.place.try_open(None).unwrap();
        let found =
            state(&*store).unwrap_or_else(|fault| panic!("a flip at {at} of the journal: {fault}"));
        assert!(
            found == original.state,
            "a flip at {at} of the journal changed the state"
        );
        let seen = !told.is_empty()
            || std::fs::read(&journal).unwrap() == bytes
            || store
                .verify_integrity()
                .unwrap()
                .iter()
                .any(|finding| finding.kind.is_damage());
        assert!(seen, "a flip at {at} of the journal was not seen");
    }
}

#[test]
fn an_index_that_forgot_or_made_up_something_is_found_and_mended() {
    for damage in [
        "DELETE FROM touched WHERE operation = (SELECT max(operation) FROM touched)",
        "INSERT INTO touched (node, operation) VALUES (1, 4711)",
        "INSERT INTO touched_many (operation, stretches) VALUES (4711, x'0000000100000001')",
    ] {
        let Original { place, .. } = Original::new();
        assert_eq!(
            rusqlite::Connection::open(place.layout().database)
                .unwrap()
                .execute(damage, [])
                .unwrap(),
            1
        );
        let found = place.open().verify_integrity().unwrap();
        assert!(
            found
                .iter()
                .any(|one| one.message.contains("the index of touched nodes is wrong")),
            "{damage}: {found:?}"
        );
        let (repaired, _) = place.try_open(Some("the index is wrong")).unwrap();
        assert_eq!(repaired.verify_integrity().unwrap(), [], "{damage}");
    }
}

/// What a newer program only added is no reason to refuse; what older ones must not do is in the row of
/// table `store`.
#[test]
fn a_newer_format_without_requirements_is_used() {
    let original = Original::new();
    let connection = rusqlite::Connection::open(original.place.layout().database).unwrap();
    connection
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    drop(connection);
    let store = original.place.open();
    assert_eq!(state(&*store).unwrap(), original.state);
    store.begin_write().unwrap().commit().unwrap();
}
