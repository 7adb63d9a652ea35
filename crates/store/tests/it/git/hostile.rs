//! Repositories whose settings and attributes name programs: none of them runs, and the count is right all the same.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use domain::ports::{Git, RepositoryChanges};
use store::{DiskGit, GitChanges};

use super::{Repository, git_in, lines};

/// A repository with a program outside it that notes that it ran.
struct Planted {
    repository: Repository,
    outside: tempfile::TempDir,
}

impl Planted {
    fn new(options: &[&str]) -> Self {
        let outside = tempfile::tempdir().unwrap();
        let program = outside.path().join("program");
        let note = outside.path().join("ran").display().to_string();
        std::fs::write(
            &program,
            format!("#!/bin/sh\necho \"$@\" >> '{note}'\nexec cat\n"),
        )
        .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let repository = Repository::unborn(options);
        repository.write("a.txt", "one\ntwo\n");
        repository.write("b.txt", "one\n");
        repository.git(&["add", "-A"]);
        Self {
            repository,
            outside,
        }
    }

    fn program(&self, argument: &str) -> String {
        format!(
            "{} {argument}",
            self.outside.path().join("program").display()
        )
    }

    fn note(&self) -> PathBuf {
        self.outside.path().join("ran")
    }

    /// Names filters in every place that git reads attributes from.
    fn plant_filters(&self) {
        let it = &self.repository;
        it.write(
            ".gitattributes",
            "* filter=tree diff=tree merge=tree\n*.gen -diff linguist-generated\n",
        );
        it.write(
            ".git/info/attributes",
            "[attr]odd filter=info.with.dots diff=tree\n* odd\n",
        );
        let own = self.outside.path().join("attributes");
        std::fs::write(&own, "* filter=own diff=own\n").unwrap();
        it.git(&["config", "core.attributesFile", own.to_str().unwrap()]);
        let included = self.outside.path().join("included");
        std::fs::write(
            &included,
            format!(
                "[filter \"tree\"]\n\tprocess = {}\n",
                self.program("included")
            ),
        )
        .unwrap();
        it.git(&["config", "include.path", included.to_str().unwrap()]);
        it.git(&["config", "extensions.worktreeConfig", "true"]);
        it.git(&[
            "config",
            "--worktree",
            "filter.own.process",
            &self.program("worktree"),
        ]);
        for name in ["tree", "info.with.dots", "own"] {
            for key in ["clean", "smudge", "process"] {
                it.git(&[
                    "config",
                    &format!("filter.{name}.{key}"),
                    &self.program(&format!("{name} {key}")),
                ]);
            }
            it.git(&["config", &format!("filter.{name}.required"), "true"]);
            it.git(&[
                "config",
                &format!("diff.{name}.textconv"),
                &self.program("textconv"),
            ]);
            it.git(&[
                "config",
                &format!("diff.{name}.command"),
                &self.program("command"),
            ]);
        }
        it.git(&["config", "core.fsmonitor", &self.program("fsmonitor")]);
    }

    /// Everything we ask of git.
    fn ask_everything(&self) -> Vec<String> {
        let disk = self.repository.disk();
        let counted = lines(&disk);
        disk.count_uncommitted_lines(&["a.txt".to_owned()]).unwrap();
        disk.count_uncommitted_lines(&["new.txt".to_owned()])
            .unwrap();
        disk.count_uncommitted_lines(&["a.txt".to_owned(), "new.txt".to_owned()])
            .unwrap();
        disk.find_commits_mentioning("base").unwrap();
        disk.commits_since(None).unwrap();
        counted
    }

    #[track_caller]
    fn nothing_ran(&self) {
        assert_eq!(std::fs::read_to_string(self.note()).unwrap_or_default(), "");
    }
}

#[test]
fn no_filter_or_monitor_of_a_repository_runs_and_its_lines_are_counted() {
    for format in ["sha1", "sha256"] {
        for born in [true, false] {
            let it = Planted::new(&[&format!("--object-format={format}")]);
            if born {
                it.repository.git(&["commit", "-q", "-m", "base"]);
            }
            it.plant_filters();
            it.repository.write("a.txt", "one\nthree\nfour\n");
            it.repository.write("new.txt", "1\n2\n");
            let counted = it.ask_everything();
            it.nothing_ran();
            let expected = if born { "a.txt +2 -1" } else { "a.txt +3 -0" };
            assert!(
                counted.contains(&expected.to_owned()),
                "{format} {born}: {counted:?}"
            );
            assert!(
                counted.contains(&"new new.txt +2 -0".to_owned()),
                "{format} {born}: {counted:?}"
            );
            if born {
                let changes = GitChanges::in_project(it.repository.root().to_owned());
                let changed = changes.changed_files_since("HEAD").unwrap();
                assert!(
                    changed.contains("a.txt") && !changed.contains("b.txt"),
                    "{changed:?}"
                );
                it.nothing_ran();
            }
            // The same repository does run them where nobody takes care.
            git_in(it.repository.root(), &["status"]);
            assert!(it.note().exists(), "the programs are planted well");
        }
    }
}

#[test]
fn a_filter_whose_name_cannot_be_overridden_stops_the_count() {
    let it = Planted::new(&[]);
    it.repository.git(&["commit", "-q", "-m", "base"]);
    it.repository
        .write(".git/info/attributes", "* filter=a=b\n");
    let config = it.repository.path(".git/config");
    let settings = std::fs::read_to_string(&config).unwrap();
    std::fs::write(
        &config,
        format!(
            "{settings}[filter \"a=b\"]\n\tclean = {}\n",
            it.program("odd")
        ),
    )
    .unwrap();
    it.repository.write("a.txt", "other\n");
    let fault = it
        .repository
        .disk()
        .count_uncommitted_lines(&[])
        .unwrap_err()
        .to_string();
    assert!(fault.contains("`git` was not started"), "{fault}");
    it.nothing_ran();
}

#[test]
fn no_filter_of_a_submodule_runs() {
    let it = Planted::new(&[]);
    it.repository.git(&["commit", "-q", "-m", "base"]);
    let inner = Planted::new(&[]);
    inner.repository.git(&["commit", "-q", "-m", "base"]);
    let from = inner.repository.root().to_str().unwrap();
    it.repository.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        from,
        "sub",
    ]);
    it.repository.git(&["commit", "-q", "-m", "with sub"]);
    git_in(
        &it.repository.path("sub"),
        &["config", "filter.x.clean", &it.program("submodule")],
    );
    git_in(
        &it.repository.path("sub"),
        &["config", "core.fsmonitor", &it.program("submodule monitor")],
    );
    it.repository.write("sub/.gitattributes", "* filter=x\n");
    it.repository.write("sub/a.txt", "changed\n");
    it.repository.write("a.txt", "one\n");
    let disk = it.repository.disk();
    assert_eq!(lines(&disk), ["a.txt +0 -1"]);
    let _ = disk
        .count_uncommitted_lines(&["sub".to_owned(), "a.txt".to_owned()])
        .unwrap();
    let _ = disk.count_uncommitted_lines(&["sub".to_owned()]).unwrap();
    it.nothing_ran();
}

/// A clone brings such a folder along; git would take it for a repository with settings of its own.
#[test]
fn a_folder_that_looks_like_a_bare_repository_is_not_believed() {
    let it = Planted::new(&[]);
    for (path, text) in [
        ("inner/HEAD", "ref: refs/heads/main\n".to_owned()),
        ("inner/objects/keep", String::new()),
        ("inner/refs/keep", String::new()),
        (
            "inner/config",
            format!(
                "[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {}\n",
                it.program("embedded")
            ),
        ),
    ] {
        it.repository.write(path, text);
    }
    it.repository.git(&["add", "-A"]);
    it.repository.git(&["commit", "-q", "-m", "base"]);
    it.repository.write("inner/new.txt", "1\n");
    let disk = DiskGit::open(&it.repository.path("inner"));
    // Refused, or counted in the repository around it: never by its settings.
    let _ = disk.count_uncommitted_lines(&[]);
    it.nothing_ran();
}

#[test]
fn converted_line_endings_are_no_changed_lines() {
    let it = Repository::unborn(&[]);
    it.write(".gitattributes", "*.bat text eol=crlf\n*.md text=auto\n");
    let text: String = (0..500)
        .map(|number| format!("line {number}\r\n"))
        .collect();
    it.write("run.bat", &text);
    it.write("changed.bat", &text);
    it.git(&["add", "-A"]);
    it.git(&["commit", "-q", "-m", "base"]);
    assert!(it.lines().is_empty(), "{:?}", it.lines());
    // Other stamps, the same content: git has to compare it.
    it.write("run.bat", &text);
    it.write(
        "changed.bat",
        text.replace("line 7\r\n", "line seven\r\nand a half\r\n"),
    );
    assert_eq!(it.lines(), ["changed.bat +2 -1"]);
    let named = it
        .disk()
        .count_uncommitted_lines(&["changed.bat".to_owned()])
        .unwrap();
    assert_eq!(
        named
            .iter()
            .map(|file| (file.added, file.removed))
            .collect::<Vec<_>>(),
        [(2, 1)]
    );
}
