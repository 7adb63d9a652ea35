//! Which files git tracks, by its index.

use domain::ports::{Git, TrackedState};
use store::DiskGit;

use super::Repository;

fn states(repository: &Repository, project: &str, paths: &[&str]) -> Option<String> {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let git = DiskGit::open(&repository.path(project));
    let states = git.tracked_states(&paths).unwrap()?;
    let letter = |state: &TrackedState| match state {
        TrackedState::Untracked => 'u',
        TrackedState::Unchanged => '=',
        TrackedState::Changed => 'c',
    };
    Some(states.iter().map(letter).collect())
}

#[test]
fn the_index_tells_deleted_from_untracked() {
    let it = Repository::new();
    it.write("plans/a.md", "a\n");
    it.write("plans/b.md", "b\n");
    it.write("plans/c.md", "c\n");
    it.run("add plans; commit -q -m plans");
    it.write("plans/new.md", "new\n");
    std::fs::remove_file(it.path("plans/b.md")).unwrap();
    it.write("plans/c.md", "c, longer\n");
    let files = ["a.md", "b.md", "c.md", "new.md", "none.md"];
    assert_eq!(states(&it, "plans", &files).as_deref(), Some("=ccuu"));
    it.run("rm -q --cached plans/b.md");
    assert_eq!(states(&it, "plans", &files).as_deref(), Some("=ucuu"));
    // From the top of the working tree the paths are other ones.
    assert_eq!(
        states(&it, "", &["plans/a.md", "a.md"]).as_deref(),
        Some("=u")
    );
}

#[test]
fn other_formats_of_the_index_are_left_to_git() {
    for format in [
        "update-index --index-version 4",
        "update-index --split-index",
    ] {
        let it = Repository::new();
        it.run("+ a; + b");
        it.run(format);
        std::fs::remove_file(it.path("b")).unwrap();
        assert_eq!(
            states(&it, "", &["a", "b", "c"]).as_deref(),
            Some("ccu"),
            "{format}"
        );
    }
}

#[test]
fn a_sparse_checkout_leaves_files_out() {
    let it = Repository::new();
    it.write("plans/a.md", "a\n");
    it.write("code/b.rs", "b\n");
    it.run("add -A; commit -q -m both; sparse-checkout set --no-cone /code/");
    assert_eq!(
        states(&it, "", &["plans/a.md", "code/b.rs"]).as_deref(),
        Some("u=")
    );
}

#[test]
fn without_a_repository_or_an_index_nothing_is_tracked() {
    let folder = tempfile::tempdir().unwrap();
    let git = DiskGit::open(folder.path());
    assert_eq!(git.tracked_states(&["a".to_owned()]).unwrap(), None);
    assert_eq!(git.current_branch(), None);
    let it = Repository::unborn(&[]);
    assert_eq!(states(&it, "", &["a"]).as_deref(), Some("u"));
}

#[test]
fn branches_are_named() {
    let it = Repository::new();
    it.run("checkout -q -b topic/one");
    let git = DiskGit::open(it.root());
    assert_eq!(git.current_branch().as_deref(), Some("topic/one"));
    assert_eq!(git.branch_left_last().as_deref(), Some("main"));
    it.run("+ a");
    assert_eq!(git.branch_left_last(), None);
    it.run("checkout -q --detach");
    assert_eq!(git.current_branch(), None);
}
