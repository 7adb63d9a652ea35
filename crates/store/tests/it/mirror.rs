//! The mirror says what the database says, and can stand in for it.

use domain::node::Node;
use domain::ports::Store;
use domain::settings::Storage;
use testkit::tell_store_story;

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
