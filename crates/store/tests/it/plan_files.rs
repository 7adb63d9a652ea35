//! Plan files never leave the project.

use std::os::unix::fs::symlink;

use domain::ports::{FileFault, FileReadResult, FileStatResult, FolderEntryKind, PlanFiles};
use store::DiskFiles;

fn project() -> (tempfile::TempDir, DiskFiles) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("project");
    std::fs::create_dir_all(root.join("acts/act-1")).unwrap();
    std::fs::create_dir_all(directory.path().join("outside")).unwrap();
    std::fs::write(directory.path().join("outside/secret.md"), "secret").unwrap();
    std::fs::write(root.join("acts/act-1/plan.md"), "# Act\n").unwrap();
    let files = DiskFiles::open(&root).unwrap();
    (directory, files)
}

#[test]
fn paths_that_leave_are_refused() {
    let (directory, files) = project();
    let absolute = directory
        .path()
        .join("outside/secret.md")
        .to_string_lossy()
        .into_owned();
    for path in [
        "../outside/secret.md",
        "acts/../../outside/secret.md",
        absolute.as_str(),
        "",
        ".",
        "acts//act-1/plan.md",
        "a\0b",
    ] {
        assert!(
            !matches!(files.stat_file(path), FileStatResult::Present(_)),
            "{path}"
        );
        assert!(
            !matches!(files.read_file(path, 1000), FileReadResult::Text { .. }),
            "{path}"
        );
        assert!(files.replace_file(path, "x").is_err(), "{path}");
        assert!(files.create_file(path, "x").is_err(), "{path}");
    }
    assert_eq!(
        std::fs::read_to_string(directory.path().join("outside/secret.md")).unwrap(),
        "secret"
    );
}

#[test]
fn links_are_not_followed() {
    let (directory, files) = project();
    let root = directory.path().join("project");
    symlink(directory.path().join("outside"), root.join("linked")).unwrap();
    symlink(
        directory.path().join("outside/secret.md"),
        root.join("secret.md"),
    )
    .unwrap();
    symlink(root.join("acts"), root.join("inside")).unwrap();
    for path in ["linked/secret.md", "secret.md", "inside/act-1/plan.md"] {
        assert!(
            matches!(files.stat_file(path), FileStatResult::Refused(_)),
            "{path}"
        );
        assert!(
            matches!(
                files.read_file(path, 1000),
                FileReadResult::Unreadable { .. }
            ),
            "{path}"
        );
        assert!(
            matches!(
                files.replace_file(path, "x"),
                Err(FileFault::Outside { .. } | FileFault::NoFolder { .. })
            ),
            "{path}"
        );
    }
    assert!(files.list_folder("linked").is_empty());
    assert!(matches!(
        files.create_file("linked/new.md", "x"),
        Err(FileFault::NoFolder { .. })
    ));
    assert!(!directory.path().join("outside/new.md").exists());
    assert_eq!(
        std::fs::read_to_string(directory.path().join("outside/secret.md")).unwrap(),
        "secret"
    );
}

#[test]
fn what_is_no_text_is_told() {
    let (directory, files) = project();
    let root = directory.path().join("project");
    let why = |path: &str, max: u64| match files.read_file(path, max) {
        FileReadResult::Unreadable { why, .. } => why,
        other => panic!("{path}: {other:?}"),
    };
    std::fs::write(root.join("binary.md"), b"a\0b").unwrap();
    std::fs::write(root.join("latin.md"), b"caf\xe9").unwrap();
    std::fs::write(root.join("large.md"), "x".repeat(101)).unwrap();
    assert_eq!(why("binary.md", 1000), "it is binary: it holds a NUL byte");
    assert_eq!(
        why("latin.md", 1000),
        "it is not UTF-8 text (byte 4 is not)"
    );
    assert_eq!(
        why("large.md", 100),
        "it has 101 bytes, more than policy.max_plan_bytes (100)"
    );
    assert_eq!(why("acts", 100), "it is not a regular file");
    assert_eq!(files.read_file("none.md", 100), FileReadResult::Missing);
}

#[test]
fn files_are_replaced_whole_and_created_once() {
    let (directory, files) = project();
    let root = directory.path().join("project");
    files.replace_file("acts/act-1/plan.md", "новый\n").unwrap();
    files
        .create_file("acts/act-2/глава/plan.md", "# Глава\n")
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(root.join("acts/act-1/plan.md")).unwrap(),
        "новый\n"
    );
    assert!(matches!(
        files.create_file("acts/act-2/глава/plan.md", "x"),
        Err(FileFault::Exists { .. })
    ));
    assert_eq!(
        std::fs::read_to_string(root.join("acts/act-2/глава/plan.md")).unwrap(),
        "# Глава\n"
    );
    let entries = files.list_folder("acts");
    assert!(
        entries
            .iter()
            .all(|entry| entry.kind == FolderEntryKind::Folder)
    );
    assert_eq!(
        entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect::<Vec<_>>(),
        ["act-1", "act-2"]
    );
    files.remove_file("acts/act-1/plan.md").unwrap();
    assert_eq!(
        files.stat_file("acts/act-1/plan.md"),
        FileStatResult::Missing
    );
    let leftovers: Vec<_> = files
        .list_folder("acts/act-2/глава")
        .into_iter()
        .filter(|entry| entry.name.starts_with(".tl-"))
        .collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
}

/// A file that may change again within the same tick of the clock must be read again.
#[test]
fn a_fresh_file_is_not_trusted_by_its_stamp() {
    let (directory, files) = project();
    let path = directory.path().join("project/fresh.md");
    std::fs::write(&path, "a").unwrap();
    let FileReadResult::Text { stamp, .. } = files.read_file("fresh.md", 100) else {
        panic!("not read")
    };
    assert_eq!(stamp, None);
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(old)
        .unwrap();
    // The change of the time is itself a change, and just as fresh.
    let FileReadResult::Text { stamp, .. } = files.read_file("fresh.md", 100) else {
        panic!("not read")
    };
    assert_eq!(stamp, None);
}
