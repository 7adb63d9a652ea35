//! Who holds the lock is found out without touching the lock: closing a file drops every lock a process has on it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use domain::ports::{Clock, StoreFault};
use domain::settings::Storage;
use store::{EngineSettings, SystemClock};

use crate::Place;

const HOLD: &str = "
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute('BEGIN IMMEDIATE')
print('held', flush=True)
sys.stdin.readline()
";

#[test]
fn asking_who_holds_the_lock_drops_none_of_ours() {
    let place = Place::new(Storage::Sqlite);
    testkit::tell_store_story(&|| place.open());
    let database = place.layout().database;
    let holding = Command::new("python3")
        .args(["-c", HOLD])
        .arg(&database)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    // Another process is needed, and SQLite for it; without Python there is none at hand.
    let Ok(mut other) = holding else { return };
    let mut line = String::new();
    BufReader::new(other.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    if line != "held\n" {
        return;
    }
    let settings = EngineSettings {
        patience: Duration::from_millis(1),
        ..EngineSettings::default()
    };
    let (store, _) = store::open_store(
        &place.layout(),
        Storage::Sqlite,
        &settings,
        &place.known(),
        None,
        SystemClock.now(),
    )
    .unwrap();
    let view = store.begin_read().unwrap();
    drop(view);
    let before = our_locks(&database);
    assert!(
        !before.is_empty(),
        "an open database has a lock on its shared memory"
    );
    match store.begin_write().map(drop) {
        Err(StoreFault::Locked { holder }) => assert_eq!(holder, Some(other.id())),
        other => panic!("expected it to be locked, got {other:?}"),
    }
    assert_eq!(our_locks(&database), before);
    other.stdin.take().unwrap().write_all(b"\n").unwrap();
    other.wait().unwrap();
}

/// Returns the locks this process has on the database's shared memory.
fn our_locks(database: &std::path::Path) -> Vec<String> {
    let mut shm = database.as_os_str().to_owned();
    shm.push("-shm");
    let inode = format!(":{}", std::fs::metadata(shm).unwrap().ino());
    let ours = std::process::id().to_string();
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    locks
        .lines()
        .filter(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.contains(&ours.as_str()) && fields.iter().any(|field| field.ends_with(&inode))
        })
        .map(|line| {
            line.split_whitespace()
                .skip(1)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}
