//! Tests of the scan cache: parts in turn, damage, and scans that are saved again.

use super::*;

fn look(number: usize) -> ScannedPath {
    ScannedPath {
        path: format!("plan-{number:05}.md"),
        stamp: None,
        names: NamesDigest::default(),
    }
}

/// A cache of files that do not exist, so that each that is created is a change.
fn cache_of(paths: usize) -> (tempfile::TempDir, OwnedFd) {
    let folder = tempfile::tempdir().unwrap();
    let looks: Vec<ScannedPath> = (0..paths).map(look).collect();
    write_cache(
        &folder.path().join("looks.bin"),
        "mark",
        &encode_parts(&looks),
        None,
    );
    let root = File::open(folder.path()).unwrap().into();
    (folder, root)
}

fn check(
    folder: &tempfile::TempDir,
    root: &OwnedFd,
    extent: CheckedPaths,
) -> Option<ScanCacheCheck> {
    check_with(&ScanCache::default(), folder, root, extent)
}

fn check_with(
    cache: &ScanCache,
    folder: &tempfile::TempDir,
    root: &OwnedFd,
    extent: CheckedPaths,
) -> Option<ScanCacheCheck> {
    let stat = |root: &OwnedFd, path: &str| {
        let stat = rustix::fs::statat(root, path, rustix::fs::AtFlags::empty()).ok()?;
        Some(crate::plan_files::file_stamp(&stat))
    };
    let file = folder.path().join("looks.bin");
    let present = PathReader {
        root,
        stat,
        is_settled: &|_| true,
        list: &|_| None,
    };
    cache.find_changes(&file, (extent, |_| 16), &present)
}

fn next_part(index: Option<FileStamp>) -> CheckedPaths {
    CheckedPaths::NextPart {
        least: 1_024,
        index,
    }
}

fn stamp_of(size: u64) -> Option<FileStamp> {
    Some(FileStamp {
        size,
        modified_ns: 1,
        changed_ns: 1,
        inode: 1,
    })
}

#[test]
fn checks_of_a_part_go_through_all_paths_in_turn() {
    let (folder, root) = cache_of(5_000);
    std::fs::write(folder.path().join("plan-04321.md"), "new").unwrap();
    let checks: Vec<ScanCacheCheck> = (0..5)
        .map(|_| check(&folder, &root, next_part(None)).unwrap())
        .collect();
    let found = checks.iter().filter(|check| !check.changed.is_empty());
    assert_eq!(found.count(), 1, "{checks:?}");
    assert!(
        checks
            .iter()
            .all(|check| !check.is_whole && check.known == 5_000)
    );
    let all = check(&folder, &root, CheckedPaths::All).unwrap();
    assert!(all.is_whole && all.changed == ["plan-04321.md"]);
}

#[test]
fn a_few_paths_are_all_checked_every_time() {
    let (folder, root) = cache_of(1_000);
    std::fs::write(folder.path().join("plan-00900.md"), "new").unwrap();
    for _ in 0..3 {
        let found = check(&folder, &root, next_part(None)).unwrap();
        assert!(found.is_whole && found.changed.len() == 1);
    }
}

#[test]
fn all_paths_are_checked_when_the_index_is_another_one() {
    let (folder, root) = cache_of(5_000);
    let is_whole = |index| check(&folder, &root, next_part(index)).unwrap().is_whole;
    assert!(is_whole(stamp_of(1)));
    assert!(!is_whole(stamp_of(1)));
    assert!(is_whole(stamp_of(2)));
    assert!(!is_whole(stamp_of(2)));
    // What changed is still to be recorded: until then every check is of all paths.
    std::fs::write(folder.path().join("plan-04321.md"), "new").unwrap();
    for _ in 0..2 {
        let found = check(&folder, &root, next_part(stamp_of(3))).unwrap();
        assert!(found.is_whole && found.changed.len() == 1);
    }
}

#[test]
fn a_scan_that_is_saved_again_remembers_the_index_it_was_compared_with() {
    let (folder, root) = cache_of(5_000);
    let file = folder.path().join("looks.bin");
    let is_whole = |index| check(&folder, &root, next_part(index)).unwrap().is_whole;
    // A plan was edited and recorded, and a git command ran.
    std::fs::write(folder.path().join("plan-04321.md"), "new").unwrap();
    let cache = ScanCache::default();
    let found = check_with(&cache, &folder, &root, next_part(stamp_of(1))).unwrap();
    assert!(found.is_whole && found.changed.len() == 1);
    cache.save_to(&file, "two");
    assert!(!is_whole(stamp_of(1)));
    // Many operations later.
    ScanCache::replace_mark(&file, |_| Some("three".to_owned()));
    assert!(!is_whole(stamp_of(1)));
    assert!(is_whole(stamp_of(2)));
}

#[test]
fn a_damaged_or_truncated_cache_is_not_used() {
    let (folder, root) = cache_of(2_000);
    let file = folder.path().join("looks.bin");
    let good = std::fs::read(&file).unwrap();
    for at in (0..good.len()).step_by(1_009) {
        // Any value of these is valid.
        let next = NEXT_PART_OFFSET as usize..INDEX_OFFSET as usize + STAMP_SIZE;
        if next.contains(&at) {
            continue;
        }
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        std::fs::write(&file, &bad).unwrap();
        assert_eq!(check(&folder, &root, CheckedPaths::All), None, "at {at}");
        std::fs::write(&file, &good[..at]).unwrap();
        assert_eq!(
            check(&folder, &root, CheckedPaths::All),
            None,
            "cut at {at}"
        );
    }
}

#[test]
fn a_new_mark_keeps_the_paths() {
    let (folder, root) = cache_of(2_000);
    ScanCache::replace_mark(&folder.path().join("looks.bin"), |mark| {
        Some(format!("{mark} two"))
    });
    let all = check(&folder, &root, CheckedPaths::All).unwrap();
    assert_eq!((all.mark.as_str(), all.known), ("mark two", 2_000));
}

#[test]
fn a_checked_scan_is_saved_with_the_stamps_it_found() {
    let (folder, root) = cache_of(2_000);
    let file = folder.path().join("looks.bin");
    std::fs::write(folder.path().join("plan-00900.md"), "new").unwrap();
    let cache = ScanCache::default();
    let found = check_with(&cache, &folder, &root, CheckedPaths::All).unwrap();
    assert_eq!(found.changed, ["plan-00900.md"]);
    cache.save_to(&file, "two");
    let again = check(&folder, &root, CheckedPaths::All).unwrap();
    assert_eq!((again.mark.as_str(), again.known), ("two", 2_000));
    assert!(again.changed.is_empty(), "{:?}", again.changed);
    std::fs::write(folder.path().join("plan-00900.md"), "newer").unwrap();
    let changed = check(&folder, &root, CheckedPaths::All).unwrap().changed;
    assert_eq!(changed, ["plan-00900.md"]);
}

#[test]
fn a_checked_scan_with_a_missing_path_is_not_saved() {
    let (folder, root) = cache_of(2_000);
    let file = folder.path().join("looks.bin");
    let plan = folder.path().join("plan-00900.md");
    std::fs::write(&plan, "new").unwrap();
    let cache = ScanCache::default();
    check_with(&cache, &folder, &root, CheckedPaths::All).unwrap();
    cache.save_to(&file, "two");
    std::fs::remove_file(&plan).unwrap();
    check_with(&cache, &folder, &root, CheckedPaths::All).unwrap();
    cache.save_to(&file, "three");
    assert_eq!(
        check(&folder, &root, CheckedPaths::All).unwrap().mark,
        "two"
    );
}

#[test]
fn new_entries_of_a_folder_are_added_to_the_saved_scan() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tickets")).unwrap();
    let entry = |name: &str| FolderEntry {
        name: name.to_owned(),
        kind: FolderEntryKind::Folder,
    };
    let tickets = |names: NamesDigest| ScannedPath {
        path: "tickets/".to_owned(),
        stamp: stamp_of(1),
        names,
    };
    let first = tickets(digest_names(&[entry("001-a")]));
    let file = folder.path().join("looks.bin");
    write_cache(&file, "mark", &encode_parts(&[first, look(1)]), None);
    let root: OwnedFd = File::open(folder.path()).unwrap().into();
    let cache = ScanCache::default();
    let found = check_with(&cache, &folder, &root, CheckedPaths::All).unwrap();
    assert_eq!(found.changed, ["tickets/"]);

    // Without a listing of the folder its digest is not known.
    cache.save_to(&file, "unlisted");
    let found = check_with(&cache, &folder, &root, CheckedPaths::All).unwrap();
    assert_eq!(found.mark, "mark");
    let stat = rustix::fs::statat(&root, "tickets", rustix::fs::AtFlags::empty()).unwrap();
    let stamp = crate::plan_files::file_stamp(&stat);
    let entries = [entry("001-a"), entry("002-b")];
    cache.record_file("tickets/002-b/ticket.md", None);
    cache.record_folder("tickets", Some(stamp), &entries);
    cache.save_to(&file, "later");
    let found = check_with(&cache, &folder, &root, CheckedPaths::All).unwrap();
    assert_eq!((found.mark.as_str(), found.known), ("later", 3));
    assert_eq!(found.changed, Vec::<String>::new());

    // Something whose next change its stamp would not show.
    std::fs::write(folder.path().join("tickets/x"), "x").unwrap();
    let _ = check_with(&cache, &folder, &root, CheckedPaths::All).unwrap();
    cache.record_folder("tickets", Some(stamp), &entries);
    cache.discard_recording();
    cache.save_to(&file, "unsure");
    let found = check_with(&cache, &folder, &root, CheckedPaths::All).unwrap();
    assert_eq!(found.mark, "later");
}
