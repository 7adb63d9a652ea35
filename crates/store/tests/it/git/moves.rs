//! Where HEAD is, what moved it, what is under way.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use domain::ports::{Git, GitHead};
use store::DiskGit;

use super::{Repository, git_in, lines, told};

/// A branch beside `main`, with a commit of its own.
const TOPIC: &str = "checkout -q -b topic; + on topic; checkout -q main";
/// Two branches that went apart.
const APART: &str =
    "checkout -q -b topic; + on topic; checkout -q main; + on main; checkout -q topic";

#[test]
fn each_way_to_move_head_is_told_by_its_name() {
    // What was there, what is done, what is told.
    let cases: &[(&str, &str, &[&str])] = &[
        ("", "", &[]),
        ("", "+ feat: x: y", &["Commit feat: x: y"]),
        (
            "",
            "+ one; commit -q --allow-empty -m two -m more",
            &["Commit one", "Commit two"],
        ),
        ("", "commit -q --amend -m better", &["Amend better"]),
        (
            TOPIC,
            "+ on main; merge -q topic",
            &["Commit on main", "Merge"],
        ),
        (TOPIC, "merge -q topic", &["Other"]),
        (TOPIC, "cherry-pick -x topic", &["CherryPick on topic"]),
        (TOPIC, "cherry-pick --ff topic", &["Other"]),
        ("+ bad", "revert --no-edit HEAD", &["Revert Revert \"bad\""]),
        (APART, "rebase -q main", &["Rebase", "Rebase on topic"]),
        (APART, "rebase -q -i main", &["Rebase", "Rebase on topic"]),
        (
            APART,
            "rebase -q --apply main",
            &["Rebase", "Rebase on topic"],
        ),
        (
            APART,
            "pull -q --rebase . main",
            &["Rebase", "Rebase on topic"],
        ),
        (APART, "pull -q --no-rebase . main", &["Other"]),
        (TOPIC, "pull -q . topic", &["Other"]),
        (TOPIC, "checkout -q topic", &["Other"]),
        ("branch same", "checkout -q same", &[]),
        ("+ one", "checkout -q HEAD~1", &["Other"]),
        ("checkout -q --detach", "+ adrift", &["Commit adrift"]),
        ("+ one", "reset -q --hard HEAD~1", &["Other"]),
        ("", "+ one; reset -q --hard HEAD~1", &[]),
        (
            "",
            "+ one; branch -m trunk; + two",
            &["Commit one", "Commit two"],
        ),
        (
            TOPIC,
            "format-patch -q -1 topic -o .git; am -q .git/0001-on-topic.patch",
            &["CherryPick on topic"],
        ),
    ];
    for (before, then, expected) in cases {
        let it = Repository::new();
        it.run(before);
        let since = it.now();
        it.run(then);
        assert_eq!(
            it.disk().read_head().unwrap(),
            GitHead::At(it.now()),
            "{then}"
        );
        assert_eq!(it.moves(&since).unwrap(), *expected, "{then}");
    }
}

#[test]
fn a_merge_settled_by_hand_is_a_merge() {
    let it = Repository::conflict();
    let since = it.now();
    assert!(!git_in(it.root(), &["merge", "topic"]).0);
    assert_eq!(
        it.lines(),
        ["base +0 -0"],
        "how many is not known before it is settled"
    );
    it.write("base", "both\n");
    it.run("commit -q -a -m both");
    assert_eq!(it.moves(&since).unwrap(), ["Merge both"]);
    assert_eq!(
        (it.disk().operation_in_progress(), it.lines()),
        (None, Vec::new())
    );
}

#[test]
fn head_is_found_however_the_refs_are_kept() {
    let cases: &[(&[&str], &str)] = &[
        (&[], ""),
        (&[], "pack-refs --all"),
        (&[], "gc -q --prune=now"),
        (&[], "pack-refs --all; + later"),
        (
            &[],
            "branch a/topic/x; checkout -q -b topic/x; + on it; pack-refs --all",
        ),
        (&["--object-format=sha256"], ""),
        (&["--object-format=sha256"], "pack-refs --all"),
        (&[], "checkout -q --detach"),
        (
            &[],
            "symbolic-ref refs/heads/alias refs/heads/main; symbolic-ref HEAD refs/heads/alias",
        ),
        (&["--ref-format=reftable"], ""),
    ];
    for (options, then) in cases {
        let it = Repository::unborn(options);
        assert_eq!(
            it.disk().read_head().unwrap(),
            GitHead::Unborn,
            "{options:?} {then}"
        );
        assert_eq!(
            it.disk().head_moves_since("").unwrap(),
            None,
            "{options:?} {then}"
        );
        it.commit("base");
        it.run(then);
        assert_eq!(
            it.disk().read_head().unwrap(),
            GitHead::At(it.now()),
            "{options:?} {then}"
        );
        let since = it.now();
        it.commit("feat: next");
        assert_eq!(
            it.moves(&since).unwrap(),
            ["Commit feat: next"],
            "{options:?} {then}"
        );
        assert_eq!(
            it.disk().operation_in_progress(),
            None,
            "{options:?} {then}"
        );
    }
}

#[test]
fn the_first_commit_is_a_move_from_nothing() {
    for options in [
        &[][..],
        &["--object-format=sha256"],
        &["--ref-format=reftable"],
    ] {
        let it = Repository::unborn(options);
        it.commit("first");
        it.commit("second");
        assert_eq!(
            it.moves("").unwrap(),
            ["Commit first", "Commit second"],
            "{options:?}"
        );
        assert_eq!(
            it.disk()
                .head_moves_since("")
                .unwrap()
                .unwrap()
                .first()
                .unwrap()
                .from,
            None
        );
    }
}

#[test]
fn without_a_log_the_history_tells_what_it_can() {
    let it = Repository::unborn(&[]);
    it.git(&["config", "core.logAllRefUpdates", "false"]);
    it.commit("base");
    let since = it.now();
    it.run("checkout -q -b topic; + on topic");
    let on_topic = it.now();
    it.run("checkout -q main; + on main");
    it.git(&["merge", "-q", "topic", "-m", "Merge it"]);
    assert!(!it.path(".git/logs/HEAD").exists());
    let gone = "f".repeat(40);
    let cases: &[(&str, Option<&[&str]>)] = &[
        (&since, Some(&["Commit on main", "Merge Merge it"])),
        (
            "",
            Some(&["Commit base", "Commit on main", "Merge Merge it"]),
        ),
        (&it.now(), Some(&[])),
        // HEAD was never there.
        (&on_topic, None),
        (&gone, None),
        ("--output=stray", None),
        ("main", None),
    ];
    for (since, expected) in cases {
        let moves = it.moves(since);
        assert_eq!(
            moves
                .as_ref()
                .map(|moves| moves.iter().map(String::as_str).collect()),
            expected.map(<[_]>::to_vec)
        );
    }
    it.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let was = it.git(&["rev-parse", "ORIG_HEAD"]);
    assert_eq!(it.moves(&was), None, "back is no way the history tells");
}

#[test]
fn the_log_knows_what_it_has_seen_and_no_more() {
    let it = Repository::new();
    let (base, log) = (it.now(), it.path(".git/logs/HEAD"));
    assert_eq!(it.moves(&"f".repeat(40)), None, "never there");
    assert_eq!(it.moves("base"), None, "no hash");
    // A long log is read from its end, in larger and larger looks.
    let mut text = std::fs::read_to_string(&log).unwrap();
    let away = "a".repeat(40);
    for number in 0..4000 {
        let (from, to) = if number % 2 == 0 {
            (&base, &away)
        } else {
            (&away, &base)
        };
        text.push_str(&format!(
            "{from} {to} A <a@example.org> 1767323045 +0000\tcheckout: moving {number}\n"
        ));
    }
    std::fs::write(&log, text).unwrap();
    it.commit("at last");
    assert_eq!(it.moves(&base).unwrap(), ["Commit at last"]);
    assert_eq!(it.moves(&away).unwrap(), ["Other", "Commit at last"]);
    assert_eq!(
        it.moves("").unwrap().len(),
        4002,
        "half a megabyte is looked through"
    );
    // Torn lines are passed by, and a log that does not lead to HEAD is not believed.
    let mut text = std::fs::read_to_string(&log).unwrap();
    text.push_str("torn li");
    std::fs::write(&log, &text).unwrap();
    assert_eq!(it.moves(&base).unwrap(), ["Commit at last"]);
    let (line, _) = text.rsplit_once("checkout").unwrap();
    std::fs::write(&log, format!("{line}checkout: moving\n")).unwrap();
    assert_eq!(
        it.moves(&base).unwrap(),
        ["Commit at last"],
        "the history told it"
    );
}

#[test]
fn what_is_under_way_is_seen() {
    let cases: &[(&[&str], &str)] = &[
        (&["merge", "topic"], "merge"),
        (&["rebase", "topic"], "rebase"),
        (&["rebase", "--apply", "topic"], "rebase"),
        (&["cherry-pick", "topic"], "cherry-pick"),
        (&["revert", "HEAD~1"], "revert"),
        (&["bisect", "start"], "bisect"),
    ];
    for (command, expected) in cases {
        let it = Repository::conflict();
        assert_eq!(it.disk().operation_in_progress(), None);
        git_in(it.root(), command);
        assert_eq!(
            it.disk().operation_in_progress(),
            Some(*expected),
            "{command:?}"
        );
    }
}

#[test]
fn a_linked_working_tree_has_a_head_and_a_log_of_its_own() {
    let it = Repository::new();
    let base = it.now();
    it.git(&["worktree", "add", "-q", "-b", "side", ".git/../../side"]);
    let side = it.root().parent().unwrap().join("side");
    let _gone_at_the_end = Gone(side.clone());
    it.commit("on main");
    let disk = DiskGit::open(&side);
    assert_eq!(disk.read_head().unwrap(), GitHead::At(base.clone()));
    std::fs::write(side.join("own"), "1\n2\n").unwrap();
    assert_eq!(lines(&disk), ["new own +2 -0"]);
    assert_eq!(it.lines(), [""; 0]);
    git_in(&side, &["add", "own"]);
    git_in(&side, &["commit", "-q", "-m", "on side"]);
    it.git(&["pack-refs", "--all"]);
    assert_eq!(told(&disk, &base).unwrap(), ["Commit on side"]);
    assert_eq!(it.moves(&base).unwrap(), ["Commit on main"]);
    git_in(&side, &["bisect", "start"]);
    assert_eq!(
        (
            disk.operation_in_progress(),
            it.disk().operation_in_progress()
        ),
        (Some("bisect"), None)
    );
}

/// A folder beside the temporary one, taken away in the end.
struct Gone(PathBuf);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn no_repository_is_an_answer_and_a_broken_one_a_fault() {
    type Files = &'static [(&'static str, &'static [u8])];
    let made = |files: Files| {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    };
    let none: [Files; 4] = [
        &[],
        &[(".git/rubbish", b"")],
        &[(".git/HEAD", b"ref: refs/heads/main\n")],
        &[
            (".git/HEAD", b"ref: refs/heads/main\n"),
            (".git/refs/x", b""),
            (".git/objects", b"no folder"),
        ],
    ];
    for files in none {
        let folder = made(files);
        let disk = DiskGit::open(folder.path());
        assert_eq!(
            disk.read_head().unwrap(),
            GitHead::NoRepository,
            "{files:?}"
        );
        assert_eq!(
            (
                disk.operation_in_progress(),
                disk.head_moves_since("").unwrap()
            ),
            (None, None),
            "{files:?}"
        );
        assert_eq!(disk.count_uncommitted_lines(&[]).unwrap(), [], "{files:?}");
    }
    let broken: [Files; 7] = [
        &[(".git", b"rubbish")],
        &[(".git", b"\xff\xfe")],
        &[(".git", b"gitdir: gone\n")],
        &[
            (".git/objects/x", b""),
            (".git/refs/x", b""),
            (".git/HEAD", b"what\n"),
        ],
        &[
            (".git/objects/x", b""),
            (".git/refs/x", b""),
            (".git/HEAD", b"ref: refs/../../etc/hostname\n"),
        ],
        &[
            (".git/objects/x", b""),
            (".git/refs/x", b"rubbish\n"),
            (".git/HEAD", b"ref: refs/x\n"),
        ],
        &[
            (".git/objects/x", b""),
            (".git/refs/x", b"ref: refs/x\n"),
            (".git/HEAD", b"ref: refs/x\n"),
        ],
    ];
    for files in broken {
        let folder = made(files);
        let disk = DiskGit::open(folder.path());
        assert!(disk.read_head().is_err(), "{files:?}");
        assert!(disk.head_moves_since("").is_err(), "{files:?}");
        assert_eq!(disk.operation_in_progress(), None, "{files:?}");
    }
    let folder = made(&[]);
    symlink("nowhere", folder.path().join(".git")).unwrap();
    assert_eq!(
        DiskGit::open(folder.path()).read_head().unwrap(),
        GitHead::NoRepository
    );
    assert_eq!(
        DiskGit::open(Path::new("/nowhere/at/all"))
            .read_head()
            .unwrap(),
        GitHead::NoRepository
    );
}

#[test]
fn a_commit_with_the_files_of_its_parent_is_empty() {
    let it = Repository::new();
    let base = it.now();
    it.run("commit -q --allow-empty -m nothing; + something; commit -q --allow-empty -m again");
    it.run("checkout -q -b topic; + on topic; checkout -q main; merge -q --no-ff -m both topic");
    it.run("commit -q --allow-empty -m last");
    for base in [Some(base.as_str()), None] {
        let history = it.disk().commits_since(base).unwrap().unwrap();
        let empty: Vec<&str> = history
            .commits
            .iter()
            .filter(|commit| commit.is_empty)
            .map(|commit| commit.subject.as_str())
            .collect();
        assert_eq!(empty, ["nothing", "again", "last"], "{base:?}");
    }
}
