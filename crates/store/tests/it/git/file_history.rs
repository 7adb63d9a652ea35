//! The commits that changed a file, and what it was in them.

use domain::ports::RepositoryChanges;
use store::GitChanges;

use super::{Repository, git_in};

fn changes_of(repository: &Repository) -> GitChanges {
    GitChanges::in_project(repository.root().to_owned())
}

#[test]
fn the_commits_of_a_file_are_listed_newest_first_with_the_one_before() {
    let repository = Repository::unborn(&[]);
    repository.commit("a.txt");
    repository.commit("b.txt");
    repository.write("a.txt", "second\n");
    repository.git(&["commit", "-q", "-a", "-m", "second"]);
    let head = repository.git(&["rev-parse", "HEAD"]);
    let before = repository.git(&["rev-parse", "HEAD~1"]);
    let root = repository.git(&["rev-parse", "HEAD~2"]);
    let changes = changes_of(&repository);
    let commits = changes.commits_of_file("a.txt").unwrap();
    let names: Vec<&str> = commits.iter().map(|one| one.commit.as_str()).collect();
    assert_eq!(names, [head.trim(), root.trim()]);
    assert_eq!(commits[0].before.as_deref(), Some(before.trim()));
    // The first commit is compared with nothing: all its files are changes.
    let empty = commits[1].before.clone().expect("the empty tree");
    let changed = changes.changed_files_since(&empty).unwrap();
    assert!(
        changed.contains("a.txt") && changed.contains("b.txt"),
        "{changed:?}"
    );
    let texts: Vec<String> = commits
        .iter()
        .map(|one| changes.read_committed_file(&one.commit, "a.txt").unwrap())
        .collect();
    assert_eq!(texts, ["second\n", "a.txt\n"]);
    assert!(changes.read_committed_file(root.trim(), "b.txt").is_err());
    assert!(changes.read_committed_file("--batch", "a.txt").is_err());
    assert_eq!(changes.commits_of_file("missing.txt").unwrap(), []);
}

#[test]
fn where_a_shallow_history_ends_nothing_is_known_before() {
    let repository = Repository::new();
    repository.commit("a.txt");
    repository.commit("b.txt");
    let folder = tempfile::tempdir().unwrap();
    let from = format!("file://{}", repository.root().display());
    let clone = folder.path().join("clone");
    let into = clone.display().to_string();
    let (done, said) = git_in(
        folder.path(),
        &["clone", "-q", "--depth", "1", &from, &into],
    );
    assert!(done, "{said}");
    let commits = GitChanges::in_project(clone)
        .commits_of_file("a.txt")
        .unwrap();
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].before, None);
}
