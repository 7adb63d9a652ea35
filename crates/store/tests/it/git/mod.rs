//! The repository, read by us, against repositories made by git.

mod coordination;
mod counts;
mod elsewhere;
mod file_history;
mod hostile;
mod moves;
mod tracked;

use std::path::{Path, PathBuf};
use std::process::Command;

use domain::ports::{ChangedLines, Git, GitHead, HeadMove};
use store::DiskGit;

/// A repository in a folder of its own.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    /// A repository with one commit.
    fn new() -> Self {
        let repository = Self::unborn(&[]);
        repository.commit("base");
        repository
    }

    fn unborn(options: &[&str]) -> Self {
        let repository = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        repository.git(&[&["init", "-q", "-b", "main"], options].concat());
        repository
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        std::fs::write(self.path(path), text).unwrap();
    }

    /// Runs git as a user would who has set nothing.
    fn git(&self, arguments: &[&str]) -> String {
        let (done, said) = git_in(self.root(), arguments);
        assert!(done, "git {arguments:?}: {said}");
        said
    }

    /// Commits a file of that name.
    fn commit(&self, name: &str) {
        self.write(name, format!("{name}\n"));
        self.git(&["add", "--", name]);
        self.git(&["commit", "-q", "-m", name]);
    }

    /// Runs commands of git, one after the other; `+ name` commits a file of that name.
    fn run(&self, commands: &str) {
        for command in commands
            .split(';')
            .map(str::trim)
            .filter(|command| !command.is_empty())
        {
            match command.strip_prefix("+ ") {
                Some(name) => self.commit(name),
                None => drop(self.git(&command.split(' ').collect::<Vec<_>>())),
            }
        }
    }

    /// Two branches that do not go together.
    fn conflict() -> Self {
        let it = Self::new();
        it.run("branch topic");
        for (branch, text) in [("topic", "theirs\n"), ("main", "ours\n")] {
            it.run(&format!("checkout -q {branch}"));
            it.write("base", text);
            it.run("commit -q -a -m change");
        }
        it
    }

    fn now(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    fn disk(&self) -> DiskGit {
        DiskGit::open(self.root())
    }

    /// `Commit one`, `Amend two` …: what moved HEAD since then.
    fn moves(&self, since: &str) -> Option<Vec<String>> {
        told(&self.disk(), since)
    }

    /// `path +added -removed`, with `new` for what git does not follow.
    fn lines(&self) -> Vec<String> {
        lines(&self.disk())
    }
}

fn git_in(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let date = "2026-01-02T03:04:05Z";
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.org",
            "-c",
            "core.editor=true",
        ])
        .args(["-c", "advice.detachedHead=false", "-c", "gc.auto=0"])
        .args(arguments)
        .current_dir(folder)
        .envs([
            ("GIT_AUTHOR_DATE", date),
            ("GIT_COMMITTER_DATE", date),
            ("LC_ALL", "C"),
        ])
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ])
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_WORK_TREE")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).trim().to_owned(),
    )
}

fn told(disk: &DiskGit, since: &str) -> Option<Vec<String>> {
    let moves = disk.head_moves_since(since).unwrap()?;
    let mut before = moves.first().and_then(|first| first.from.clone());
    for step in &moves {
        assert_eq!(
            step.from, before,
            "each move starts where the last one ended"
        );
        before = Some(step.to.clone());
    }
    if let (Some(last), GitHead::At(now)) = (before, disk.read_head().unwrap()) {
        assert!(
            moves.is_empty() || last == now,
            "the last move ends where HEAD is"
        );
    }
    let show = |step: &HeadMove| {
        format!("{:?} {}", step.kind, step.subject)
            .trim()
            .to_owned()
    };
    Some(moves.iter().map(show).collect())
}

fn lines(disk: &DiskGit) -> Vec<String> {
    let show = |ChangedLines {
                    path,
                    added,
                    removed,
                    untracked,
                    moved_from,
                    generated,
                }: ChangedLines| {
        format!(
            "{}{path}{} +{added} -{removed}{}",
            if untracked { "new " } else { "" },
            moved_from.map_or_else(String::new, |from| format!(" from {from}")),
            if generated { " generated" } else { "" }
        )
    };
    disk.count_uncommitted_lines(&[])
        .unwrap()
        .into_iter()
        .map(show)
        .collect()
}
