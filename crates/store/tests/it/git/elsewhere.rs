//! Names in a folder on other branches and in other working trees.

use domain::ports::Git;
use store::DiskGit;

use super::Repository;

#[test]
fn names_of_all_branches_and_worktrees_are_listed() {
    let it = Repository::new();
    std::fs::create_dir(it.path(".throughline")).unwrap();
    it.write("tickets/001-a/ticket.md", "a\n");
    it.run("add tickets; commit -q -m one; checkout -q -b side");
    it.write("tickets/002-b/ticket.md", "b\n");
    it.run("add tickets; commit -q -m two; checkout -q main");
    it.run("update-ref refs/remotes/origin/far side; branch -q -D side");
    let names = |project: &str, folder: &str| {
        let git = DiskGit::open(&it.path(project));
        git.list_names_elsewhere(folder).unwrap()
    };
    assert_eq!(names("", "tickets"), ["001-a", "002-b"]);
    // From the cache, and without those of a branch that is gone.
    assert!(it.path(".throughline/cache/branch-folders.json").exists());
    assert_eq!(names("", "tickets"), ["001-a", "002-b"]);
    it.run("update-ref -d refs/remotes/origin/far");
    assert_eq!(names("", "tickets"), ["001-a"]);
    // A project below the top of the repository.
    assert_eq!(names("tickets", "001-a"), ["ticket.md"]);
    assert_eq!(names("", "none"), Vec::<String>::new());
    // Uncommitted, in a linked working tree, and from there in the main one.
    let other = tempfile::tempdir().unwrap();
    let linked = other.path().join("linked");
    it.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        &linked.display().to_string(),
    ]);
    std::fs::create_dir_all(linked.join("tickets/003-c")).unwrap();
    std::fs::create_dir_all(it.path("tickets/004-d")).unwrap();
    assert_eq!(names("", "tickets"), ["001-a", "003-c"]);
    let there = DiskGit::open(&linked).list_names_elsewhere("tickets");
    assert_eq!(there.unwrap(), ["001-a", "004-d"]);
    assert!(!linked.join(".throughline").exists());
}

#[test]
fn without_a_repository_or_a_commit_there_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let names = DiskGit::open(folder.path()).list_names_elsewhere("tickets");
    assert_eq!(names.unwrap(), Vec::<String>::new());
    let unborn = Repository::unborn(&[]);
    let names = unborn.disk().list_names_elsewhere("tickets");
    assert_eq!(names.unwrap(), Vec::<String>::new());
}
