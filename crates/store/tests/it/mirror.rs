//! The mirror says what the database says, and can stand in for it.

use domain::fact::Fact;
use domain::ids::Principal;
use domain::node::Node;
use domain::operation::{Channel, Verb};
use domain::ports::{NewOperation, Store};
use domain::settings::Storage;
use testkit::{node, tell_store_story, timestamp};

use crate::Place;

fn nodes(store: &dyn Store) -> Vec<Node> {
    store.begin_read().unwrap().all_nodes().unwrap()
}

fn files(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                found.push(path.to_string_lossy().into_owned())
            }
        }
    }
    found.sort();
    found
}

#[test]
fn rebuild_from_the_mirror_equals_the_database() {
    for storage in [Storage::Sqlite, Storage::Json] {
        let place = Place::new(storage);
        tell_store_story(&|| place.open());
        let before = nodes(&*place.open());
        let layout = place.layout();
        std::fs::remove_file(&layout.journal).unwrap();
        let _ = std::fs::remove_file(&layout.database);
        let (store, told) = place.try_open(None).unwrap();
        assert!(
            told[0].message.contains("rebuilt from the mirror"),
            "{told:?}"
        );
        assert_eq!(nodes(&*store), before);
    }
}

#[test]
fn an_edited_mirror_file_brings_no_approval() {
    let place = Place::new(Storage::Sqlite);
    tell_store_story(&|| place.open());
    let layout = place.layout();
    let file = layout.mirror.join("story/act-1.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("human:Ада", "human:Eve")).unwrap();
    std::fs::remove_file(&layout.journal).unwrap();
    std::fs::remove_file(&layout.database).unwrap();
    let (store, told) = place.try_open(None).unwrap();
    assert!(
        told[0].message.contains("its approval is dropped"),
        "{told:?}"
    );
    let act = nodes(&*store)
        .into_iter()
        .find(|node| node.alias == "act-1")
        .unwrap();
    assert_eq!(act.approval, None);
    assert_eq!(act.status(), domain::node::Status::Draft);
}

#[test]
fn it_catches_up_and_tells_what_is_wrong() {
    let place = Place::new(Storage::Sqlite);
    tell_store_story(&|| place.open());
    let layout = place.layout();
    let before = files(&layout.mirror);
    // `.gitignore`, the head and two nodes.
    assert_eq!(before.len(), 4, "{before:?}");

    std::fs::write(layout.mirror.join("story/act-1.json"), "{}").unwrap();
    std::fs::write(layout.mirror.join("story/stray.json"), "{}").unwrap();
    std::fs::remove_file(layout.mirror.join("story/act-1/chapter-01.json")).unwrap();
    let store = place.open();
    assert_eq!(store.verify_integrity().unwrap().len(), 3);
    assert_eq!(store.sync_mirror().unwrap(), 3);
    assert!(store.verify_integrity().unwrap().is_empty());
    assert_eq!(files(&layout.mirror), before);

    std::fs::remove_dir_all(&layout.mirror).unwrap();
    assert_eq!(store.verify_integrity().unwrap().len(), 1);
    store.sync_mirror().unwrap();
    assert_eq!(files(&layout.mirror), before);
}

/// Adds acts with these numbers, as one operation.
fn add_acts(store: &dyn Store, numbers: std::ops::RangeInclusive<u32>) {
    let mut tx = store.begin_write().unwrap();
    let text = "# An act\n";
    let acts = numbers.map(|number| node(number, None, &format!("act-{number}"), text));
    tx.record_operation(NewOperation {
        at: timestamp(1),
        by: Principal::System,
        channel: Channel::System,
        verb: Verb::Observe,
        summary: "acts".to_owned(),
        key: None,
        texts: vec![text.to_owned()],
        facts: acts
            .map(|act| Fact::NodeAdded {
                node: Box::new(act),
            })
            .collect(),
    })
    .unwrap();
    tx.commit().unwrap();
}

#[test]
fn the_first_export_of_a_large_state_is_completed_by_later_commands() {
    for storage in [Storage::Sqlite, Storage::Json] {
        let place = Place::new(storage);
        let store = place.open();
        add_acts(&*store, 1..=1_200);
        let layout = place.layout();
        // `.gitignore` and the head are files too.
        let exported = || files(&layout.mirror).len() - 2;
        assert_eq!(exported(), 500);
        // Deferred files are no finding, and the same command does not go on at once.
        assert!(store.verify_integrity().unwrap().is_empty());
        store.finish_mirror();
        assert_eq!(exported(), 500);

        // What is recorded meanwhile is exported when its turn comes.
        add_acts(&*store, 1_201..=1_203);
        for expected in [1_000, 1_203] {
            let head = std::fs::File::options()
                .write(true)
                .open(layout.mirror.join("head.json"))
                .unwrap();
            let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(2);
            head.set_modified(earlier).unwrap();
            drop(head);
            store.finish_mirror();
            assert_eq!(exported(), expected);
        }
        assert!(store.verify_integrity().unwrap().is_empty());
        // Now every file is compared.
        std::fs::write(layout.mirror.join("story/act-7.json"), "{}").unwrap();
        assert_eq!(store.verify_integrity().unwrap().len(), 1);
        assert_eq!(store.sync_mirror().unwrap(), 1);
        assert!(store.verify_integrity().unwrap().is_empty());
    }
}
