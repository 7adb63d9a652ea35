//! The lines that are not committed.

use std::ffi::OsStr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use domain::ports::{Git, GitHead};
use store::DiskGit;

use super::{Repository, git_in, lines};

#[test]
fn changed_lines_are_counted() {
    type Steps = fn(&Repository);
    let ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
    let cases: &[(&str, Steps, &[&str])] = &[
        ("nothing", |_| (), &[]),
        (
            "changed here and there",
            |it| it.write("ten", "0\n2\n3\n4\n5\n6\n8\n9\n10\n11\n12"),
            &["ten +3 -2"],
        ),
        (
            "no new line at the end",
            |it| it.write("ten", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"),
            &["ten +1 -1"],
        ),
        (
            "deleted",
            |it| std::fs::remove_file(it.path("ten")).unwrap(),
            &["ten +0 -10"],
        ),
        (
            "deleted and staged",
            |it| drop(it.git(&["rm", "-q", "ten"])),
            &["ten +0 -10"],
        ),
        (
            "staged and changed again",
            |it| {
                it.write("ten", "1\n");
                it.git(&["add", "ten"]);
                it.write("ten", "1\n2\n3\n");
            },
            &["ten +2 -9"],
        ),
        (
            "renamed",
            |it| drop(it.git(&["mv", "ten", "zehn"])),
            &["zehn from ten +0 -0"],
        ),
        (
            "renamed and edited",
            |it| {
                it.git(&["mv", "ten", "zehn"]);
                it.write("zehn", "1\n2\n3\n4\n5\n6\n7\n8\n9\nzehn\nelf\n");
            },
            &["zehn from ten +2 -1"],
        ),
        (
            "renamed, edited and staged",
            |it| {
                it.git(&["mv", "ten", "zehn"]);
                it.write("zehn", "1\n2\n3\n4\n5\n6\n7\n8\n9\nzehn\nelf\n");
                it.git(&["add", "zehn"]);
            },
            &["zehn from ten +2 -1"],
        ),
        (
            "moved without git",
            |it| {
                std::fs::create_dir(it.path("deep")).unwrap();
                std::fs::rename(it.path("ten"), it.path("deep/ten")).unwrap();
            },
            &["new deep/ten from ten +0 -0"],
        ),
        (
            "moved without git and edited",
            |it| {
                std::fs::remove_file(it.path("ten")).unwrap();
                it.write("zehn", "1\n2\n3\n4\n5\n6\n7\n8\n9\nzehn\nelf\n");
            },
            &["new zehn from ten +2 -1"],
        ),
        (
            "renamed, with a later change that is not staged",
            |it| {
                it.git(&["mv", "ten", "a"]);
                it.write("base", "other\n");
            },
            &["a from ten +0 -0", "base +1 -1"],
        ),
        (
            "moved without git, the new path meant to be added",
            |it| {
                std::fs::rename(it.path("ten"), it.path("zehn")).unwrap();
                it.git(&["add", "-N", "zehn"]);
            },
            &["zehn from ten +0 -0"],
        ),
        (
            "deleted while something else is new",
            |it| {
                std::fs::remove_file(it.path("ten")).unwrap();
                it.write("new", "a\nb\n");
            },
            &["new new +2 -0", "ten +0 -10"],
        ),
        (
            "copied",
            |it| {
                std::fs::copy(it.path("ten"), it.path("zehn")).unwrap();
            },
            &["new zehn +10 -0"],
        ),
        (
            "no longer tracked",
            |it| drop(it.git(&["rm", "-q", "--cached", "ten"])),
            &["new ten +0 -0"],
        ),
        (
            "new",
            |it| it.write("deep/er/new", "1\n2\n3"),
            &["new deep/er/new +3 -0"],
        ),
        (
            "new and staged",
            |it| {
                it.write("new", "1\n2\n");
                it.git(&["add", "new"]);
            },
            &["new +2 -0"],
        ),
        (
            "new and meant to be added",
            |it| {
                it.write("new", "1\n2\n");
                it.git(&["add", "-N", "new"]);
            },
            &["new +2 -0"],
        ),
        ("empty", |it| it.write("empty", ""), &["new empty +0 -0"]),
        (
            "empty and staged",
            |it| {
                it.write("empty", "");
                it.git(&["add", "empty"]);
            },
            &["empty +0 -0"],
        ),
        (
            "binary",
            |it| {
                it.write("bin", b"\0\n\n\n");
                it.write("ten", b"\0\n\n");
            },
            &["new bin +0 -0", "ten +0 -0"],
        ),
        (
            "larger than we read",
            |it| it.write("large", "x\n".repeat(5 << 20)),
            &["new large +0 -0"],
        ),
        (
            "larger than we read, and known",
            |it| {
                it.write("ten", "x\n".repeat(5 << 20));
                it.git(&["add", "ten"]);
            },
            &["ten +0 -0"],
        ),
        (
            "made runnable",
            |it| {
                std::fs::set_permissions(it.path("ten"), PermissionsExt::from_mode(0o755)).unwrap()
            },
            &["ten +0 -0"],
        ),
        (
            "links",
            |it| {
                symlink("/etc/passwd", it.path("out")).unwrap();
                symlink("nowhere", it.path("dangling")).unwrap();
                std::fs::remove_file(it.path("ten")).unwrap();
                symlink("base", it.path("ten")).unwrap();
            },
            &["new dangling +1 -0", "new out +1 -0", "ten +1 -10"],
        ),
        (
            "ignored",
            |it| {
                it.write(".gitignore", "out/\n*.log\n");
                it.write("out/x", "1\n");
                it.write("x.log", "1\n");
            },
            &["new .gitignore +2 -0"],
        ),
        (
            "a repository in the repository",
            |it| {
                it.write("inner/x", "1\n");
                git_in(&it.path("inner"), &["init", "-q"]);
                it.write("y", "1\n");
            },
            &["new y +1 -0"],
        ),
        (
            "text that looks like what git says",
            |it| {
                it.write(
                    "ten",
                    "diff --git c/x i/x\n@@ -1,50 +1,50 @@\n-- c/x\nUntracked files:\n\tfake\n",
                );
                it.write("Untracked files:", "\tfake\n");
            },
            &["new Untracked files: +1 -0", "ten +5 -10"],
        ),
        (
            "names of all kinds",
            |it| {
                for name in [
                    "план и \"дело\"",
                    " a  b ",
                    "tab\tin\nline",
                    "\\back\u{7}\u{1}",
                    "-x",
                    "ä b",
                    "*",
                ] {
                    it.write(name, "1\n");
                    it.git(&["add", "--", &format!(":(literal){name}")]);
                    it.write(name, "1\n2\n");
                    it.write(&format!("new/{name}"), "1\n");
                }
            },
            &[
                " a  b  +2 -0",
                "* +2 -0",
                "-x +2 -0",
                "\\back\u{7}\u{1} +2 -0",
                "new new/ a  b  +1 -0",
                "new new/* +1 -0",
                "new new/-x +1 -0",
                "new new/\\back\u{7}\u{1} +1 -0",
                "new new/tab\tin\nline +1 -0",
                "new new/ä b +1 -0",
                "new new/план и \"дело\" +1 -0",
                "tab\tin\nline +2 -0",
                "ä b +2 -0",
                "план и \"дело\" +2 -0",
            ],
        ),
    ];
    for (name, then, expected) in cases {
        let it = Repository::new();
        it.write("ten", ten);
        it.git(&["add", "-A"]);
        it.git(&["commit", "-q", "-m", "ten"]);
        then(&it);
        let index = std::fs::read(it.path(".git/index")).unwrap();
        assert_eq!(it.lines(), *expected, "{name}");
        assert_eq!(
            std::fs::read(it.path(".git/index")).unwrap(),
            index,
            "{name}: looking changes nothing"
        );
    }
}

#[test]
fn before_the_first_commit_everything_counts() {
    let it = Repository::unborn(&[]);
    assert_eq!(it.lines(), [""; 0]);
    it.write("staged", "1\n2\n");
    it.git(&["add", "staged"]);
    it.write("new", "1\n");
    assert_eq!(it.lines(), ["new new +1 -0", "staged +2 -0"]);
}

#[test]
fn only_the_project_counts_where_it_is_a_part_of_the_repository() {
    let it = Repository::new();
    for path in ["app [1]/src/x", "app [1]x/y", "other"] {
        it.write(path, "1\n");
    }
    it.git(&["add", "-A"]);
    it.git(&["commit", "-q", "-m", "all"]);
    for path in [
        "app [1]/src/x",
        "app [1]x/y",
        "other",
        "app [1]/new",
        "new",
        "app 1/new",
    ] {
        it.write(path, "1\n2\n");
    }
    it.git(&["add", "app [1]x"]);
    let expected = ["new new +2 -0", "src/x +1 -0"];
    let project = it.path("app [1]");
    assert_eq!(lines(&DiskGit::open(&project)), expected);
    assert_eq!(
        DiskGit::open(&project).read_head().unwrap(),
        GitHead::At(it.now())
    );
    // The same through a link.
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(&project, elsewhere.path().join("link")).unwrap();
    assert_eq!(
        lines(&DiskGit::open(&elsewhere.path().join("link"))),
        expected
    );
}

#[test]
fn what_a_user_has_set_changes_nothing() {
    let settings = [
        ("color.ui", "always"),
        ("color.status", "always"),
        ("column.ui", "always"),
        ("core.quotePath", "true"),
        ("diff.context", "9"),
        ("diff.external", "false"),
        ("diff.interHunkContext", "9"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.noPrefix", "true"),
        ("diff.relative", "true"),
        ("diff.renames", "copies"),
        ("status.branch", "true"),
        ("status.displayCommentPrefix", "true"),
        ("status.relativePaths", "true"),
        ("status.renames", "copies"),
        ("status.short", "true"),
        ("status.showStash", "true"),
        ("status.showUntrackedFiles", "no"),
        ("status.submoduleSummary", "true"),
        ("log.showSignature", "true"),
        ("log.decorate", "full"),
    ];
    let it = Repository::new();
    it.write("app/ten", "1\n2\n3\n4\n5\n");
    it.git(&["add", "-A"]);
    it.git(&["commit", "-q", "-m", "ten"]);
    it.write("app/ten", "1\nzwei\n3\nvier\n5\n");
    it.git(&["mv", "base", "app/moved"]);
    it.write("app/план", "1\n");
    it.write("app/b", "1\n");
    for (name, value) in settings {
        it.git(&["config", name, value]);
    }
    let expected = ["moved +0 -0", "new b +1 -0", "new план +1 -0", "ten +2 -2"];
    let mut found = lines(&DiskGit::open(&it.path("app")));
    found.sort();
    assert_eq!(found, expected);
}

/// Runs this very test again as another process, with an environment that no test may set for itself.
fn again(test: &str, variables: &[(&str, &OsStr)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("TL_TEST_AGAIN", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn is_again() -> bool {
    std::env::var_os("TL_TEST_AGAIN").is_some()
}

#[test]
fn what_git_tells_its_own_hooks_does_not_lead_astray() {
    if is_again() {
        let it = Repository::new();
        it.write("new", "1\n");
        assert_eq!(it.lines(), ["new new +1 -0"]);
        return;
    }
    let other = Repository::new();
    let (git, index) = (other.path(".git"), other.path(".git/index"));
    let variables = [
        ("GIT_DIR", git.as_os_str()),
        ("GIT_INDEX_FILE", index.as_os_str()),
        ("GIT_WORK_TREE", other.root().as_os_str()),
        ("GIT_PREFIX", OsStr::new("sub/")),
        ("GIT_EXTERNAL_DIFF", OsStr::new("false")),
        ("GIT_GLOB_PATHSPECS", OsStr::new("1")),
        (
            "GIT_CONFIG_PARAMETERS",
            OsStr::new("'status.showUntrackedFiles=no'"),
        ),
    ];
    again(
        "git::counts::what_git_tells_its_own_hooks_does_not_lead_astray",
        &variables,
    );
}

#[test]
fn a_git_that_hangs_is_stopped_and_one_that_is_missing_is_a_fault() {
    if is_again() {
        let root = PathBuf::from(std::env::var_os("TL_TEST_ROOT").unwrap());
        let disk = DiskGit::open(&root);
        assert!(
            matches!(disk.read_head().unwrap(), GitHead::At(_)),
            "no git is needed for that"
        );
        let error = disk.count_uncommitted_lines(&[]).unwrap_err();
        let expected = std::env::var_os("TL_TEST_FAULT").unwrap();
        assert_eq!(OsStr::new(&error.to_string()), expected);
        return;
    }
    let it = Repository::new();
    let programs = tempfile::tempdir().unwrap();
    let check = |fault: &str| {
        let variables = [
            ("PATH", programs.path().as_os_str()),
            ("TL_TEST_ROOT", it.root().as_os_str()),
            ("TL_TEST_FAULT", OsStr::new(fault)),
        ];
        again(
            "git::counts::a_git_that_hangs_is_stopped_and_one_that_is_missing_is_a_fault",
            &variables,
        );
    };
    check("cannot start `git`");
    let git = programs.path().join("git");
    for (script, fault) in [
        ("/bin/sleep 600", "`git status` was stopped"),
        (
            "/bin/sleep 600 & exec /bin/sleep 600",
            "`git status` was stopped",
        ),
        (
            "echo fatal: no >&2; exit 128",
            "cannot count uncommitted lines",
        ),
    ] {
        std::fs::write(&git, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&git, PermissionsExt::from_mode(0o755)).unwrap();
        check(fault);
    }
}

/// Asked about a few files, the answer is the same as asked about everything.
#[test]
fn named_files_are_counted_as_among_all() {
    let repository = Repository::new();
    for (path, text) in [
        ("src/a.rs", "one\ntwo\n"),
        ("src/б в.rs", "раз\n"),
        ("gone.rs", "x\ny\n"),
        ("same.rs", "x\n"),
    ] {
        repository.write(path, text);
    }
    repository.write(".gitignore", "ignored.rs\n");
    repository.git(&["add", "-A"]);
    repository.git(&["commit", "-q", "-m", "start"]);
    repository.write("src/a.rs", "one\nthree\nfour\n");
    repository.write("src/б в.rs", "раз\nдва\n");
    repository.write("src/new.rs", "1\n2\n3");
    repository.write("ignored.rs", "x\n");
    std::fs::remove_file(repository.root().join("gone.rs")).unwrap();
    repository.write("staged.rs", "1\n");
    repository.git(&["add", "staged.rs"]);
    let disk = DiskGit::open(repository.root());
    let all = disk.count_uncommitted_lines(&[]).unwrap();
    let names = [
        "src/a.rs",
        "src/б в.rs",
        "src/new.rs",
        "gone.rs",
        "same.rs",
        "ignored.rs",
        "staged.rs",
        "nowhere.rs",
    ];
    for name in names {
        let expected: Vec<_> = all
            .iter()
            .filter(|file| file.path == name)
            .cloned()
            .collect();
        assert_eq!(
            disk.count_uncommitted_lines(&[name.to_owned()]).unwrap(),
            expected,
            "{name}"
        );
    }
    let both = ["src/a.rs".to_owned(), "src/new.rs".to_owned()];
    let expected: Vec<_> = all
        .iter()
        .filter(|file| both.contains(&file.path))
        .cloned()
        .collect();
    assert_eq!(disk.count_uncommitted_lines(&both).unwrap(), expected);
    repository.git(&["update-index", "--index-version", "4"]);
    assert_eq!(
        disk.count_uncommitted_lines(&["src/a.rs".to_owned()])
            .unwrap()
            .len(),
        1,
        "an index of another form"
    );
    repository.git(&["update-index", "--index-version", "2", "--split-index"]);
    assert_eq!(
        disk.count_uncommitted_lines(&["src/a.rs".to_owned()])
            .unwrap()
            .len(),
        1,
        "an index in two parts"
    );
}

/// Cached line counts are used only where git would return the same.
#[test]
fn a_count_that_is_taken_up_is_what_git_says() {
    type Step = fn(&Repository);
    let steps: [Step; 20] = [
        |it| it.write("src/a.rs", "one\nthree\nfour\n"),
        |it| drop(std::fs::rename(it.path("same.rs"), it.path("moved.rs"))),
        |it| drop(std::fs::rename(it.path("moved.rs"), it.path("same.rs"))),
        |it| it.write("moved.rs", "one\ntwo\nthree\n"),
        |it| drop(git_in(it.root(), &["mv", "gone.rs", "src/staged.rs"])),
        |it| it.write("src/б в.rs", "раз\nдва\n"),
        |it| it.write("src/a.rs", "one\ntwo\n"),
        |it| it.write("src/new.rs", "1\n2\n3"),
        |it| it.write("src/new.rs", "1\n2\n3\n4\n5\n"),
        |it| it.write("deep/er/new.rs", "1\n"),
        |it| it.write("src/ignored.rs", "x\n"),
        |it| it.write("target/debug/x", "x\n"),
        |it| std::fs::create_dir_all(it.path("empty/within")).unwrap(),
        |it| it.write("empty/within/new.rs", "1\n2\n"),
        |it| it.write("build/one.o", "x"),
        |it| it.write("build/one.c", "1\n2\n3\n4\n"),
        |it| drop(std::fs::remove_file(it.path("gone.rs"))),
        |it| drop(std::fs::remove_dir_all(it.path("src"))),
        |it| it.write(".gitignore", "*.o\ntarget/\nnew.rs\n"),
        |it| drop(it.git(&["commit", "-q", "-a", "--allow-empty", "-m", "all"])),
    ];
    for seed in 1..=6_u64 {
        let it = Repository::new();
        for path in ["src/a.rs", "src/б в.rs", "gone.rs", "same.rs"] {
            it.write(path, "one\ntwo\n");
        }
        it.write(".gitignore", "ignored.rs\n*.o\ntarget/\n");
        it.write(".throughline/state.db", "ours");
        it.git(&["add", "--", "src", "gone.rs", "same.rs", ".gitignore"]);
        it.git(&["commit", "-q", "-m", "start"]);
        let (disk, kept) = (
            DiskGit::open(it.root()),
            it.path(".throughline/counted.bin"),
        );
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for round in 0..12 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let step = usize::try_from(random >> 33).unwrap() % steps.len();
            steps[step](&it);
            if random & (1 << 40) != 0 {
                // Long enough for stamps to be trusted.
                std::thread::sleep(std::time::Duration::from_millis(60));
            }
            if random & (1 << 41) != 0 {
                let named = ["moved.rs".to_owned(), "src/new.rs".to_owned()];
                disk.count_uncommitted_lines(&named[usize::try_from(random >> 42 & 1).unwrap()..])
                    .unwrap();
            }
            let taken_up = disk.count_uncommitted_lines(&[]).unwrap();
            let memory = std::fs::read(&kept).ok();
            let _ = std::fs::remove_file(&kept);
            assert_eq!(
                taken_up,
                disk.count_uncommitted_lines(&[]).unwrap(),
                "seed {seed}, round {round}, step {step}"
            );
            if let Some(memory) = memory {
                std::fs::write(&kept, memory).unwrap();
            }
        }
    }
}

/// Where nothing is other than it was, git is not asked.
#[test]
fn a_count_that_stands_starts_no_git() {
    let it = Repository::new();
    it.write("a.rs", "1\n2\n");
    it.write(".gitignore", "target/\n");
    it.git(&["add", "-A"]);
    it.git(&["commit", "-q", "-m", "start"]);
    it.write("a.rs", "1\n2\n3\n");
    it.write("new.rs", "1\n");
    it.write(".throughline/state.db", "ours");
    std::thread::sleep(std::time::Duration::from_millis(120));
    let disk = DiskGit::open(it.root());
    let counted = disk.count_uncommitted_lines(&[]).unwrap();
    assert_eq!(lines(&disk), ["a.rs +1 -0", "new new.rs +1 -0"]);
    // Without its objects git can say nothing.
    let take_objects = || {
        std::fs::rename(it.path(".git/objects"), it.path(".git/elsewhere")).unwrap();
        std::fs::create_dir(it.path(".git/objects")).unwrap();
    };
    take_objects();
    it.write("target/debug/x", "made by a build\n");
    assert!(
        disk.count_uncommitted_lines(&[]).is_err(),
        "a new folder may hold anything"
    );
    std::fs::remove_dir(it.path(".git/objects")).unwrap();
    std::fs::rename(it.path(".git/elsewhere"), it.path(".git/objects")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(120));
    assert_eq!(disk.count_uncommitted_lines(&[]).unwrap(), counted);
    take_objects();
    it.write("target/debug/y", "made by a build\n");
    it.write("new.rs", "1\n2\n");
    assert_eq!(lines(&disk), ["a.rs +1 -0", "new new.rs +2 -0"]);
}

/// A file that is written while git counts may have been read before or after; it is counted again.
#[test]
fn a_file_written_during_the_count_is_counted_again() {
    if is_again() {
        let root = PathBuf::from(std::env::var_os("TL_TEST_ROOT").unwrap());
        let disk = DiskGit::open(&root);
        assert_eq!(lines(&disk), ["a.rs +1 -0"]);
        // Long enough for stamps to be trusted.
        std::thread::sleep(std::time::Duration::from_millis(60));
        assert_eq!(lines(&disk), ["a.rs +3 -0"]);
        return;
    }
    let it = Repository::new();
    it.write("a.rs", "1\n");
    it.write(".throughline/state.db", "ours");
    it.write(".git/info/exclude", ".throughline\n");
    it.git(&["add", "a.rs"]);
    it.git(&["commit", "-q", "-m", "start"]);
    it.write("a.rs", "1\n2\n");
    std::thread::sleep(std::time::Duration::from_millis(60));
    // A file is edited after git has read it, and before git ends.
    let programs = tempfile::tempdir().unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\ngit \"$@\"\ncode=$?\nprintf '1\\n2\\n3\\n4\\n' > '{}'\nsleep 0.05\nexit $code\n",
        it.path("a.rs").display()
    );
    let git = programs.path().join("git");
    std::fs::write(&git, script).unwrap();
    std::fs::set_permissions(&git, PermissionsExt::from_mode(0o755)).unwrap();
    let variables = [
        ("PATH", programs.path().as_os_str()),
        ("TL_TEST_ROOT", it.root().as_os_str()),
    ];
    again(
        "git::counts::a_file_written_during_the_count_is_counted_again",
        &variables,
    );
}

#[test]
fn files_marked_as_generated_in_the_commit_are_marked() {
    let it = Repository::new();
    it.write(
        ".gitattributes",
        "*.gen linguist-generated\n*.out linguist-generated=true\n*.big -diff\nno.gen linguist-generated=false\n",
    );
    for name in ["a.gen", "b.out", "c.big", "no.gen", "d.rs"] {
        it.write(&format!("src/{name}"), "1\n");
    }
    it.git(&["add", "-A"]);
    it.git(&["commit", "-q", "-m", "start"]);
    for name in ["a.gen", "b.out", "c.big", "no.gen", "d.rs", "new.gen"] {
        it.write(&format!("src/{name}"), "1\n2\n");
    }
    let expected = [
        "new src/new.gen +2 -0 generated",
        "src/a.gen +1 -0 generated",
        "src/b.out +1 -0 generated",
        "src/c.big +1 -0 generated",
        "src/d.rs +1 -0",
        "src/no.gen +1 -0",
    ];
    let sorted = || {
        let mut found = it.lines();
        found.sort();
        found
    };
    assert_eq!(sorted(), expected);
    // In a folder of the repository that is a project of its own, and by name.
    let project = DiskGit::open(&it.path("src"));
    assert!(lines(&project).contains(&"a.gen +1 -0 generated".to_owned()));
    let named = project.count_uncommitted_lines(&["a.gen".to_owned()]);
    assert!(named.unwrap()[0].generated);
    // What is not committed marks nothing: an agent would lift the limit beside its edits.
    it.write(".gitattributes", "* -diff\n");
    let found = it.lines();
    assert!(found.contains(&"src/d.rs +1 -0".to_owned()), "{found:?}");
    it.git(&["commit", "-q", "-m", "all", ".gitattributes"]);
    let found = it.lines();
    assert!(
        found.contains(&"src/d.rs +1 -0 generated".to_owned()),
        "{found:?}"
    );
}
