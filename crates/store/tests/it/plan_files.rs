//! Plan files never leave the project.

use std::os::unix::fs::symlink;

use std::collections::BTreeMap;
use std::path::Path;

use domain::ports::{
    FileAction, FileChange, FileFault, FileReadResult, FileStatResult, FolderEntryKind, PlanFiles,
};
use proptest::prelude::*;
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

#[test]
fn a_file_can_be_created_first_and_synced_later() {
    let folder = tempfile::tempdir().unwrap();
    let files = DiskFiles::open(folder.path()).unwrap();
    files
        .create_unsynced_file("acts/backups/plan.md", "# Old\n")
        .unwrap();
    files.sync_file("acts/backups/plan.md").unwrap();
    let text = std::fs::read_to_string(folder.path().join("acts/backups/plan.md"));
    assert_eq!(text.unwrap(), "# Old\n");
    assert!(matches!(
        files.create_unsynced_file("acts/backups/plan.md", "x"),
        Err(FileFault::Exists { .. })
    ));
    assert!(files.sync_file("acts/backups/other.md").is_err());
    // No temporary file is left, also of the name that was taken.
    let entries = std::fs::read_dir(folder.path().join("acts/backups")).unwrap();
    assert_eq!(entries.count(), 1);
}

/// Every file below a folder with its text; a link has the place it leads to.
fn list_texts(folder: &Path, found: &mut BTreeMap<String, String>, prefix: &str) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            list_texts(&entry.path(), found, &format!("{name}/"));
        } else if kind.is_symlink() {
            found.insert(name, format!("-> {:?}", std::fs::read_link(entry.path())));
        } else {
            found.insert(name, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// Kind of an outcome, without the error of the system.
fn kind_of(result: &Result<(), FileFault>) -> &'static str {
    match result {
        Ok(()) => "ok",
        Err(FileFault::Exists { .. }) => "exists",
        Err(FileFault::Outside { .. }) => "outside",
        Err(FileFault::NoFolder { .. }) => "no folder",
        Err(FileFault::Io { .. }) => "io",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn changes_in_batches_equal_changes_one_by_one(
        present in prop::collection::btree_map((0..6_u8, 0..40_u8), "[a-z]{0,9}", 0..60),
        asked in prop::collection::btree_map((0..8_u8, 0..40_u8), (0..3_u8, "[a-z]{0,9}", prop::bool::weighted(0.9)), 0..200),
    ) {
        // Folder 6 is a link out of the project, folder 7 is a file.
        let path_of = |(folder, file): (u8, u8)| format!("acts/{folder}/{file}.md");
        let paths: Vec<String> = asked.keys().map(|key| path_of(*key)).collect();
        let changes: Vec<FileChange<'_>> = asked
            .values()
            .zip(&paths)
            .map(|((action, text, _), path)| FileChange {
                path,
                action: match action {
                    0 => FileAction::Replace(text),
                    1 => FileAction::Create(text),
                    _ => FileAction::Remove,
                },
            })
            .collect();
        let wanted: Vec<bool> = asked.values().map(|(_, _, wanted)| *wanted).collect();
        let run = |in_batches: bool| {
            let (directory, files) = project();
            let root = directory.path().join("project");
            for (key, text) in &present {
                files.replace_file(&path_of(*key), text).unwrap();
            }
            symlink("../../outside", root.join("acts/6")).unwrap();
            std::fs::write(root.join("acts/7"), "a file").unwrap();
            let results = if in_batches {
                files.apply_changes(&changes, &mut |index| wanted[index])
            } else {
                changes
                    .iter()
                    .zip(&wanted)
                    .map(|(change, wanted)| match change.action {
                        _ if !wanted => Ok(()),
                        FileAction::Replace(text) => files.replace_file(change.path, text),
                        FileAction::Create(text) => files.create_file(change.path, text),
                        FileAction::Remove => files.remove_file(change.path),
                    })
                    .collect()
            };
            let mut texts = BTreeMap::new();
            list_texts(directory.path(), &mut texts, "");
            (results.iter().map(kind_of).collect::<Vec<_>>(), texts)
        };
        let (batched, single) = (run(true), run(false));
        prop_assert_eq!(batched.1, single.1);
        for (index, (batched, single)) in batched.0.into_iter().zip(single.0).enumerate() {
            // One that is not wanted may have been refused before that was asked.
            prop_assert!(batched == single || !wanted[index], "{index}: {batched} {single}");
        }
    }
}

#[test]
fn a_change_is_confirmed_after_the_contents_of_the_others_are_written() {
    let (directory, files) = project();
    let plan = "acts/act-1/plan.md";
    let changes = [
        FileChange {
            path: "acts/act-1/new.md",
            action: FileAction::Create("# New\n"),
        },
        FileChange {
            path: plan,
            action: FileAction::Replace("# Other\n"),
        },
    ];
    // An edit while the batch is written, seen by the check before the rename.
    let results = files.apply_changes(&changes, &mut |index| {
        if index == 0 {
            std::fs::write(directory.path().join("project").join(plan), "# Mine\n").unwrap();
        }
        index == 0
    });
    assert!(results.iter().all(Result::is_ok));
    let text = |path: &str| std::fs::read_to_string(files.root().join(path)).unwrap();
    assert_eq!(text("acts/act-1/new.md"), "# New\n");
    assert_eq!(text(plan), "# Mine\n");
    let names = files.list_folder("acts/act-1");
    assert_eq!(names.len(), 2, "no temporary file is left: {names:?}");
}
