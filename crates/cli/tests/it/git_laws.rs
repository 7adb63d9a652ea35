//! The laws of git, checked over random walks: three clones and two worktrees, in which people edit,
//! decide and run git in any order, with hook events in between.
//!
//! `THROUGHLINE_GIT_STEPS` sets the number of steps and `THROUGHLINE_GIT_SEED` repeats a walk.

#![expect(
    clippy::disallowed_methods,
    reason = "a walk runs git and writes files of its own"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::Project;

use crate::{binary, finished};

/// Steps of the default run; the whole lane takes two thousand.
const DEFAULT_STEPS: usize = 120;

const PLANS: [&str; 6] = [
    "acts/act-1/strategic-plan.md",
    "acts/act-1/chapters/chapter-01/plan.md",
    "acts/act-1/chapters/chapter-02/plan.md",
    "acts/act-2/strategic-plan.md",
    // Made, moved and deleted on the way.
    "acts/act-1/chapters/chapter-03/plan.md",
    "acts/act-2/chapters/chapter-04/plan.md",
];
const NODES: [&str; 6] = [
    "act-1",
    "act-1/chapter-01",
    "act-1/chapter-02",
    "act-2",
    "act-1/chapter-03",
    "act-2/chapter-04",
];
const BRANCHES: [&str; 3] = ["main", "side", "other"];
const REVIEWED: [&str; 2] = ["scene-a", "scene-b"];

/// A working tree: a clone, or a worktree of one.
struct Tree {
    /// Whose environment it has.
    person: usize,
    root: PathBuf,
    stashes: usize,
}

struct Walk {
    _folder: tempfile::TempDir,
    people: Vec<Project>,
    trees: Vec<Tree>,
    random: fastrand::Rng,
    /// Claims that were granted and not released: by repository and node.
    claims: BTreeMap<(usize, String), usize>,
    /// The texts of pinned notes and the reasons of overrides that were given.
    given: BTreeSet<String>,
    log: Vec<String>,
    next: usize,
}

/// A decision as `tl decisions` lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    kind: String,
    text: String,
    id: String,
}

impl Walk {
    fn start(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let people: Vec<Project> = (0..3).map(|_| Project::empty(binary())).collect();
        let trees = people
            .iter()
            .enumerate()
            .map(|(person, project)| Tree {
                person,
                root: project.root(),
                stashes: 0,
            })
            .collect();
        let mut walk = Self {
            _folder: folder,
            people,
            trees,
            random: fastrand::Rng::with_seed(seed),
            claims: BTreeMap::new(),
            given: BTreeSet::new(),
            log: Vec::new(),
            next: 0,
        };
        walk.set_up();
        walk
    }

    fn set_up(&mut self) {
        let origin = self._folder.path().join("origin.git");
        let origin = origin.to_string_lossy().into_owned();
        self.must_git(0, &["init", "-q", "--bare", &origin]);
        self.must_git(0, &["init", "-q"]);
        self.must_git(0, &["checkout", "-q", "-b", "main"]);
        self.must_git(0, &["remote", "add", "origin", &origin]);
        self.must_tl(0, &["init", "--profile", "story", "--profile", "tickets"]);
        for (number, path) in PLANS.iter().take(4).enumerate() {
            self.write(0, path, &format!("# Plan {number}\n\nFirst.\n"));
        }
        self.must_tl(0, &["approve", "act-1"]);
        self.must_git(0, &["add", "-A"]);
        self.must_git(0, &["commit", "-q", "-m", "begin"]);
        self.must_git(0, &["push", "-q", "origin", "main"]);
        for clone in 1..3 {
            self.must_git(clone, &["init", "-q"]);
            self.must_git(clone, &["checkout", "-q", "-b", "main"]);
            self.must_git(clone, &["remote", "add", "origin", &origin]);
            self.must_git(clone, &["pull", "-q", "origin", "main"]);
            self.must_tl(clone, &["status"]);
            self.must_tl(clone, &["state", "adopt", "--yes"]);
        }
        for worktree in ["one", "two"] {
            self.add_worktree(worktree);
        }
    }

    fn add_worktree(&mut self, name: &str) {
        let root = self._folder.path().join(name);
        let path = root.to_string_lossy().into_owned();
        self.must_git(0, &["worktree", "add", "-q", "-B", name, &path]);
        self.trees.push(Tree {
            person: 0,
            root,
            stashes: 0,
        });
    }

    fn git(&self, tree: usize, arguments: &[&str]) -> (i32, String) {
        let mut command = std::process::Command::new("git");
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c"])
            .args(["-c", "commit.gpgsign=false", "-c", "pull.rebase=false"])
            .args(["-c", "rebase.autoStash=false", "-c", "gc.auto=0"])
            .args(arguments)
            .current_dir(&self.trees[tree].root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_EDITOR", "true");
        let output = finished(&mut command);
        (output.code, format!("{}{}", output.stdout, output.stderr))
    }

    fn must_git(&self, tree: usize, arguments: &[&str]) -> String {
        let (code, said) = self.git(tree, arguments);
        assert_eq!(code, 0, "git {arguments:?}: {said}\n{}", self.tail());
        said
    }

    fn tl_command(&self, tree: usize, arguments: &[&str]) -> std::process::Command {
        let tree_ = &self.trees[tree];
        let mut command = self.people[tree_.person].command(arguments);
        command
            .current_dir(&tree_.root)
            .env("THROUGHLINE_SESSION", format!("session-{tree}"));
        command
    }

    fn tl(&self, tree: usize, arguments: &[&str]) -> (i32, String, String) {
        let output = finished(&mut self.tl_command(tree, arguments));
        (output.code, output.stdout, output.stderr)
    }

    fn must_tl(&self, tree: usize, arguments: &[&str]) -> String {
        let (code, said, complaint) = self.tl(tree, arguments);
        assert_eq!(code, 0, "tl {arguments:?}: {complaint}\n{}", self.tail());
        said
    }

    fn write(&self, tree: usize, path: &str, text: &str) {
        let path = self.trees[tree].root.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(path, text).expect("written");
    }

    fn tail(&self) -> String {
        let from = self.log.len().saturating_sub(40);
        self.log[from..].join("\n")
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.random.usize(..from.len())]
    }

    /// Takes one random step in one working tree.
    fn step(&mut self, number: usize) {
        let tree = self.random.usize(..self.trees.len());
        let what = self.random.u32(..45);
        self.log.push(format!("{number}: tree {tree}, step {what}"));
        match what {
            0..=3 => self.edit(tree),
            4..=7 => self.decide(tree),
            8 => self.new_ticket(tree),
            9 => self.claim(tree),
            10..=13 => self.commit(tree),
            14 | 15 => self.checkout(tree),
            16 => self.merge(tree),
            17 => self.rebase(tree),
            18 => self.stash(tree),
            19 | 20 => self.pull(tree),
            21 | 22 => self.push(tree),
            23 => self.reset(tree),
            24 => self.hook(tree),
            25 => self.take_over(tree, &["cherry-pick"]),
            26 => self.take_over(tree, &["revert", "--no-edit"]),
            27 => self.renew_worktree(),
            29 => self.move_or_delete(tree),
            28 => self.bisect(tree),
            30 => self.pin_or_remove_note(tree),
            31 | 32 => self.conclude_review(tree),
            33 | 34 => self.override_gate(tree),
            36 | 37 => self.work_on_ticket(tree),
            38 => self.renumber_duplicate(tree),
            39 => self.maintain(tree),
            40 => self.pull_rebase(tree),
            41 | 42 => self.change_shape(tree),
            43 => self.lose_database(tree),
            44 => self.compare_with_new_clone(tree),
            _ => {
                self.run_git(tree, &["clean", "-fdq", "-e", ".throughline"]);
            }
        }
        self.check_laws(tree);
    }

    fn edit(&mut self, tree: usize) {
        let path = self.pick(&PLANS);
        // Few texts, so that the same text comes back.
        let text = format!("# Plan\n\nText {}.\n", self.random.u32(..4));
        self.write(tree, path, &text);
    }

    /// Moves the folder of a chapter to a free number, or deletes it.
    fn move_or_delete(&mut self, tree: usize) {
        let folder = Path::new(self.pick(&PLANS)).with_file_name("");
        let folder = folder.to_string_lossy().into_owned();
        let to = format!("acts/act-1/chapters/chapter-{:02}", self.random.u32(5..9));
        let root = self.trees[tree].root.clone();
        if !folder.contains("chapter-") || !root.join(&folder).exists() {
            return;
        }
        if self.random.bool() {
            std::fs::remove_dir_all(root.join(&folder)).expect("removed");
        } else if !root.join(&to).exists() {
            std::fs::rename(root.join(&folder), root.join(&to)).expect("renamed");
        }
        self.log.push(format!("   moved or deleted {folder}: {to}"));
    }

    fn decide(&mut self, tree: usize) {
        let node = self.pick(&NODES);
        let number = self.next.to_string();
        let arguments: Vec<&str> = match self.random.u32(..7) {
            0..=2 => vec!["approve", node, "--force"],
            6 => vec!["request-changes", node, "-m", &number],
            3 => vec!["invalidate", node, "--reason", &number],
            4 => vec!["comment", node, "-m", &number],
            _ => vec!["undo"],
        };
        self.next += 1;
        let (code, _, complaint) = self.tl(tree, &arguments);
        self.log
            .push(format!("   tl {arguments:?}: {code} {complaint}"));
        assert!(matches!(code, 0 | 1), "{complaint}\n{}", self.tail());
    }

    /// Runs a command that may be refused, and returns its output if it was not.
    fn try_tl(&mut self, tree: usize, arguments: &[&str]) -> Option<String> {
        let (code, said, complaint) = self.tl(tree, arguments);
        self.log
            .push(format!("   tl {arguments:?}: {code} {complaint}"));
        assert!(matches!(code, 0 | 1 | 3), "{complaint}\n{}", self.tail());
        (code != 1).then_some(said)
    }

    fn pinned_notes(&self, tree: usize) -> Vec<(String, String)> {
        let said = self.must_tl(tree, &["note", "list", "--json"]);
        let notes: Value = serde_json::from_str(&said).expect("JSON");
        let text = |note: &Value, key: &str| note[key].as_str().unwrap_or_default().to_owned();
        notes
            .as_array()
            .into_iter()
            .flatten()
            .filter(|note| note["pinned"] == true)
            .map(|note| (text(note, "text"), text(note, "stamp")))
            .collect()
    }

    /// Pins a note, or removes one of any clone.
    fn pin_or_remove_note(&mut self, tree: usize) {
        let pinned = self.pinned_notes(tree);
        if !pinned.is_empty() && self.random.u32(..3) == 0 {
            let (text, stamp) = pinned[self.random.usize(..pinned.len())].clone();
            self.try_tl(tree, &["note", "remove", &stamp]);
            let left = self.pinned_notes(tree);
            assert!(
                left.iter().all(|(other, _)| *other != text),
                "{text} is still there\n{}",
                self.tail()
            );
            return;
        }
        let text = format!("note {}", self.next);
        self.next += 1;
        self.try_tl(tree, &["note", "add", "--pin", &text])
            .expect("a note can be pinned anywhere");
        self.given.insert(text);
    }

    /// Adds a check, judges all that are open, and concludes; sometimes the verdict is undone.
    fn conclude_review(&mut self, tree: usize) {
        let subject = self.pick(&REVIEWED);
        let of = ["--of", subject];
        let check = ["review", "add", "--check", "it moves", "--severity", "MUST"];
        let check: Vec<&str> = check.iter().chain(&of).copied().collect();
        self.try_tl(tree, &check);
        let status = ["review", "status", "--json", "--of", subject];
        let shown: Value = serde_json::from_str(&self.must_tl(tree, &status)).expect("JSON");
        let word = self.pick(&["pass", "fail"]);
        for item in shown["todo"].as_array().into_iter().flatten() {
            let item = item.as_str().unwrap_or_default();
            let judged = ["review", "verdict", item, word, "--finding", "it stays"];
            let judged: Vec<&str> = judged.iter().chain(&of).copied().collect();
            self.try_tl(tree, &judged);
        }
        let before = self.listed_decisions(tree);
        let concluded = self.try_tl(tree, &["review", "conclude", "--of", subject]);
        let is_new = |one: &&Listed| one.kind == "reviewed" && !before.contains(one);
        let made = self.listed_decisions(tree);
        assert_eq!(
            made.iter().filter(is_new).count(),
            usize::from(concluded.is_some()),
            "{subject}\n{}",
            self.tail()
        );
        if self.random.u32(..3) == 0 {
            self.try_tl(tree, &["undo"]);
        }
    }

    /// Overrides a gate, as a person at a terminal; half of the overrides are undone at once.
    fn override_gate(&mut self, tree: usize) {
        // A terminal is opened in a person's own clone.
        let person = self.trees[tree].person;
        let node = self.pick(&NODES);
        let reason = format!("reason {}", self.next);
        self.next += 1;
        let words = ["gate", "override", "shrink", node, "--reason", &reason];
        let output = self.people[person].run_as_person("ann", "", &words);
        self.log.push(format!(
            "   tl {words:?} in tree {person}: {} {}",
            output.code, output.stdout
        ));
        // One for a plan that is still to be written belongs to this working copy.
        if output.code != 0 || self.people[person].run(&["show", node]).code != 0 {
            return;
        }
        self.given.insert(format!("shrink: {reason}"));
        let holds = |walk: &Self| {
            let wanted = format!("shrink: {reason}");
            walk.listed_decisions(person)
                .iter()
                .any(|one| one.text == wanted)
        };
        assert!(holds(self), "{reason} is lost\n{}", self.tail());
        if self.random.bool() {
            let log: Value =
                serde_json::from_str(&self.must_tl(person, &["log", "--json"])).expect("JSON");
            let given = log.as_array().into_iter().flatten();
            let operation = given
                .filter(|one| {
                    one["summary"]
                        .as_str()
                        .is_some_and(|it| it.ends_with(&reason))
                })
                .map(|one| one["operation"].to_string())
                .next()
                .expect("the override is in the log");
            self.must_tl(person, &["undo", &operation]);
            assert!(!holds(self), "{reason} is still in force\n{}", self.tail());
        }
    }

    fn new_ticket(&mut self, tree: usize) {
        let title = format!("ticket {}", self.next);
        self.next += 1;
        let (code, said, complaint) = self.tl(tree, &["ticket", "new", &title]);
        self.log
            .push(format!("   ticket: {code} {said} {complaint}"));
        assert_eq!(code, 0, "{complaint}\n{}", self.tail());
    }

    /// The tickets of a tree: path, progress and number of comments that are open.
    fn tickets(&self, tree: usize) -> Vec<String> {
        let said = self.must_tl(tree, &["tree", "--json"]);
        let roots: Value = serde_json::from_str(&said).expect("JSON");
        let roots = roots.as_array().into_iter().flatten();
        let mut lines = Vec::new();
        for ticket in roots.filter(|node| node["entity_type"] == "ticket") {
            let path = ticket["path"].as_str().unwrap_or_default();
            let said = self.must_tl(tree, &["comment", path, "--json"]);
            let comments: Value = serde_json::from_str(&said).expect("JSON");
            let mut comments: Vec<String> = comments
                .as_array()
                .into_iter()
                .flatten()
                .map(|one| format!("{} {}", one["text"], one["state"]))
                .collect();
            comments.sort();
            lines.push(format!("{path} {} {comments:?}", ticket["progress"]));
        }
        lines
    }

    /// The decisions about the plans of the story, as `tl show` and `tl comment` have them.
    fn plans(&self, tree: usize) -> Vec<String> {
        let paths = self.statuses(tree);
        let paths = paths.iter().filter(|line| line.starts_with("\"act-"));
        let mut lines = Vec::new();
        for line in paths {
            let path = line.split('"').nth(1).unwrap_or_default();
            let read = |arguments: &[&str]| -> Value {
                serde_json::from_str(&self.must_tl(tree, arguments)).expect("JSON")
            };
            let comments = read(&["comment", path, "--json"]);
            let mut texts: Vec<String> = comments
                .as_array()
                .into_iter()
                .flatten()
                .map(|one| one["text"].to_string())
                .collect();
            texts.sort();
            let shown = read(&["show", path, "--json"]);
            lines.push(format!("{line} {} {texts:?}", shown["progress"]));
        }
        lines
    }

    /// Inserts a chapter or gives one another number.
    fn change_shape(&mut self, tree: usize) {
        let node = self.pick(&["act-1/chapter-01", "act-1/chapter-02", "act-2/chapter-04"]);
        match self.random.bool() {
            true => self.try_tl(tree, &["insert", node]),
            false => self.try_tl(tree, &["renumber", node, "09"]),
        };
    }

    /// Loses the database: the next command rebuilds it with everything that was decided.
    fn lose_database(&mut self, tree: usize) {
        let before = (self.listed_decisions(tree), self.plans(tree));
        for name in ["state.db", "state.db-wal", "state.db-shm"] {
            let _ = std::fs::remove_file(self.trees[tree].root.join(".throughline").join(name));
        }
        let after = (self.listed_decisions(tree), self.plans(tree));
        assert_eq!(after, before, "{}", self.tail());
    }

    /// Commits everything with a decision, which tells of the moves by hand before it, and compares
    /// the tree with a clone that is made now.
    fn compare_with_new_clone(&mut self, tree: usize) {
        let number = self.next.to_string();
        self.next += 1;
        if self
            .try_tl(tree, &["comment", "act-1", "-m", &number])
            .is_none()
        {
            return;
        }
        self.commit(tree);
        if !self.git(tree, &["status", "--porcelain"]).1.is_empty() {
            return;
        }
        let root = self._folder.path().join(format!("new-{number}"));
        let from = self.trees[tree].root.to_string_lossy().into_owned();
        let to = root.to_string_lossy().into_owned();
        self.must_git(tree, &["clone", "-q", &from, &to]);
        self.trees.push(Tree {
            person: self.trees[tree].person,
            root: root.clone(),
            stashes: 0,
        });
        let new = self.trees.len() - 1;
        let _ = self.tl(new, &["status"]);
        self.must_tl(new, &["state", "adopt", "--yes"]);
        let (expected, tickets) = (self.plans(tree), self.tickets(tree));
        assert_eq!(self.plans(new), expected, "tree {tree}\n{}", self.tail());
        assert_eq!(self.tickets(new), tickets, "tree {tree}\n{}", self.tail());
        self.trees.pop();
        let _ = std::fs::remove_dir_all(root);
    }

    /// Says something about a ticket: a comment, or its progress.
    fn work_on_ticket(&mut self, tree: usize) {
        let known = self.tickets(tree);
        if known.is_empty() {
            return;
        }
        let line = &known[self.random.usize(..known.len())];
        let ticket = line.split(' ').next().unwrap_or_default().to_owned();
        let number = self.next.to_string();
        self.next += 1;
        let progress = self.pick(&["active", "blocked", "pending"]);
        match self.random.bool() {
            true => self.try_tl(tree, &["comment", &ticket, "-m", &number]),
            false => self.try_tl(tree, &["progress", &ticket, progress]),
        };
    }

    fn renumber_duplicate(&mut self, tree: usize) {
        let known = self.tickets(tree);
        let labels = known.iter().filter_map(|line| line.split(' ').next());
        let label = labels
            .filter(|path| path.contains('~'))
            .map(str::to_owned)
            .next();
        if let Some(label) = label {
            self.try_tl(tree, &["renumber", &label])
                .expect("it can be renumbered");
        }
    }

    /// Runs a command that looks after the state: none of them loses a decision.
    fn maintain(&mut self, tree: usize) {
        let before = self.listed_decisions(tree);
        let command = self.pick(&["prune", "repair", "sync-hashes"]);
        let command = match command {
            "prune" => ["decisions", "prune"],
            other => ["state", other],
        };
        self.try_tl(tree, &command);
        assert_eq!(
            self.listed_decisions(tree),
            before,
            "{command:?}\n{}",
            self.tail()
        );
    }

    fn claim(&mut self, tree: usize) {
        let node = self.pick(&NODES);
        let repository = self.trees[tree].person;
        let key = (repository, node.to_owned());
        if self.claims.get(&key) == Some(&tree) {
            let _ = self.tl(tree, &["release", node]);
            self.claims.remove(&key);
            return;
        }
        let (code, ..) = self.tl(tree, &["claim", node]);
        if code == 0 {
            let taken: Vec<_> = self
                .claims
                .iter()
                .filter(|((of, held), holder)| {
                    *of == repository
                        && **holder != tree
                        && (held == node
                            || held.starts_with(&format!("{node}/"))
                            || node.starts_with(&format!("{held}/")))
                })
                .collect();
            assert!(
                taken.is_empty(),
                "{node} is held twice: {taken:?}\n{}",
                self.tail()
            );
            self.claims.insert(key, tree);
        }
    }

    /// Runs a git command that may fail, but never because of a file of ours.
    fn run_git(&mut self, tree: usize, arguments: &[&str]) -> bool {
        let (code, said) = self.git(tree, arguments);
        self.log
            .push(format!("   git {arguments:?}: {code} {said}"));
        assert!(
            code == 0 || !blames_us(&said),
            "git {arguments:?} fails because of a file of ours: {said}\n{}",
            self.tail()
        );
        code == 0
    }

    fn commit(&mut self, tree: usize) {
        self.run_git(tree, &["add", "-A"]);
        let message = format!("commit {}", self.next);
        self.run_git(tree, &["commit", "-q", "-m", &message]);
    }

    fn checkout(&mut self, tree: usize) {
        let branch = self.pick(&BRANCHES);
        let (code, _) = self.git(tree, &["rev-parse", "--verify", "-q", branch]);
        if code == 0 {
            self.run_git(tree, &["checkout", "-q", branch]);
        } else {
            self.run_git(tree, &["checkout", "-q", "-b", branch]);
        }
    }

    /// Merges a branch; conflicts in plans are resolved, conflicts in files of ours are a failure.
    fn merge(&mut self, tree: usize) {
        let branch = self.pick(&BRANCHES);
        let (_, tips) = self.git(tree, &["merge-tree", "--write-tree", "HEAD", branch]);
        assert!(
            !tips
                .lines()
                .any(|line| line.contains("CONFLICT") && line.contains(".throughline")),
            "a forge would not merge: {tips}\n{}",
            self.tail()
        );
        if !self.run_git(tree, &["merge", "-q", "--no-edit", branch]) {
            self.resolve(tree, &["merge", "--abort"]);
        }
    }

    fn resolve(&mut self, tree: usize, abort: &[&str]) {
        let (_, unmerged) = self.git(tree, &["diff", "--name-only", "--diff-filter=U"]);
        assert!(
            !unmerged.contains(".throughline"),
            "a conflict in a file of ours: {unmerged}\n{}",
            self.tail()
        );
        let _ = self.git(tree, abort);
    }

    fn rebase(&mut self, tree: usize) {
        let branch = self.pick(&BRANCHES);
        if !self.run_git(tree, &["rebase", "-q", branch]) {
            self.resolve(tree, &["rebase", "--abort"]);
        }
    }

    /// Applies or reverts the newest commit of a branch here.
    fn take_over(&mut self, tree: usize, command: &[&str]) {
        let branch = self.pick(&BRANCHES);
        // Without the first commit there is no project.
        let first = format!("{branch}^");
        if self.git(tree, &["rev-parse", "--verify", "-q", &first]).0 != 0 {
            return;
        }
        let arguments: Vec<&str> = command.iter().copied().chain([branch]).collect();
        if !self.run_git(tree, &arguments) {
            self.resolve(tree, &[command[0], "--abort"]);
            let _ = self.git(tree, &[command[0], "--skip"]);
        }
    }

    fn bisect(&mut self, tree: usize) {
        if self.run_git(tree, &["bisect", "start", "HEAD", "HEAD~2"]) {
            let _ = self.tl(tree, &["status"]);
            self.run_git(tree, &["bisect", "good"]);
        }
        let _ = self.git(tree, &["bisect", "reset"]);
    }

    /// Removes the last worktree with its uncommitted work, and adds it again.
    fn renew_worktree(&mut self) {
        let last = self.trees.len() - 1;
        let path = self.trees[last].root.to_string_lossy().into_owned();
        self.must_git(0, &["worktree", "remove", "--force", &path]);
        // Its claims end with it.
        self.claims.retain(|_, holder| *holder != last);
        self.must_git(0, &["worktree", "add", "-q", "--force", &path, "two"]);
        self.trees[last].stashes = 0;
    }

    fn stash(&mut self, tree: usize) {
        if self.trees[tree].stashes == 0 {
            let (_, before) = self.git(tree, &["stash", "list"]);
            self.run_git(tree, &["stash", "-u", "-q"]);
            let (_, after) = self.git(tree, &["stash", "list"]);
            self.trees[tree].stashes = usize::from(after.len() > before.len());
        } else {
            self.trees[tree].stashes = 0;
            if !self.run_git(tree, &["stash", "pop", "-q"]) {
                let (_, unmerged) = self.git(tree, &["diff", "--name-only", "--diff-filter=U"]);
                assert!(
                    !unmerged.contains(".throughline"),
                    "{unmerged}\n{}",
                    self.tail()
                );
                let _ = self.git(tree, &["reset", "-q", "--hard"]);
                let _ = self.git(tree, &["stash", "drop", "-q"]);
            }
        }
    }

    fn pull(&mut self, tree: usize) {
        let branch = self.pick(&BRANCHES);
        if !self.run_git(tree, &["pull", "-q", "--no-edit", "origin", branch]) {
            self.resolve(tree, &["merge", "--abort"]);
        }
    }

    fn pull_rebase(&mut self, tree: usize) {
        let branch = self.pick(&BRANCHES);
        if !self.run_git(tree, &["pull", "-q", "--rebase", "origin", branch]) {
            self.resolve(tree, &["rebase", "--abort"]);
        }
    }

    fn push(&mut self, tree: usize) {
        let branch = self.pick(&BRANCHES);
        self.run_git(tree, &["push", "-q", "origin", &format!("HEAD:{branch}")]);
    }

    fn reset(&mut self, tree: usize) {
        let how = self.pick(&["--hard", "--mixed", "--soft"]);
        self.run_git(tree, &["reset", "-q", how, "HEAD~1"]);
        // Git refuses to pull over any file that was committed, pushed and taken out of the commit
        // again; what was taken back is committed again.
        if how != "--hard" {
            let _ = self.tl(tree, &["status"]);
            self.commit(tree);
        }
    }

    /// Sends the hook event of an agent that is about to edit a plan.
    fn hook(&mut self, tree: usize) {
        let plan = self.pick(&PLANS);
        let path = self.trees[tree].root.join(plan);
        let event = json!({
            "session_id": format!("agent-{tree}"),
            "hook_event_name": "PostToolUse",
            "cwd": self.trees[tree].root,
            "tool_name": "Write",
            "tool_input": { "file_path": path, "content": "x" },
            "tool_response": {},
        });
        let file = self._folder.path().join("event.json");
        std::fs::write(&file, event.to_string()).expect("written");
        let mut command = self.tl_command(tree, &["hook", "claude-code"]);
        command.stdin(std::fs::File::open(&file).expect("the event"));
        let output = finished(&mut command);
        assert_eq!(output.code, 0, "{}\n{}", output.stderr, self.tail());
    }

    fn check_laws(&mut self, tree: usize) {
        self.check_clean_reading(tree);
        let statuses = self.statuses(tree);
        self.check_decisions(tree);
        let shared = self.check_shared_records(tree);
        self.check_duplicates(tree);
        self.check_absence(tree);
        let (_, head) = self.git(tree, &["rev-parse", "HEAD"]);
        if !self.git(tree, &["status", "--porcelain"]).1.is_empty() {
            return;
        }
        for other in 0..self.trees.len() {
            let same = other != tree
                && self.git(other, &["rev-parse", "HEAD"]).1 == head
                && self.git(other, &["status", "--porcelain"]).1.is_empty();
            if same {
                assert_eq!(
                    self.statuses(other),
                    statuses,
                    "trees {tree} and {other} differ at {head}\n{}",
                    self.tail()
                );
                assert_eq!(
                    self.tickets(other),
                    self.tickets(tree),
                    "the tickets of trees {tree} and {other} differ at {head}\n{}",
                    self.tail()
                );
                assert_eq!(
                    self.check_shared_records(other),
                    shared,
                    "the decisions of trees {tree} and {other} differ at {head}\n{}",
                    self.tail()
                );
            }
        }
    }

    /// Returns the decisions in force.
    fn listed_decisions(&self, tree: usize) -> BTreeSet<Listed> {
        let said = self.must_tl(tree, &["decisions", "--json"]);
        let listed: Value = serde_json::from_str(&said).expect("JSON");
        let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
        let in_force = listed.as_array().into_iter().flatten();
        in_force
            .filter(|one| one["in_force"] == true)
            .map(|one| Listed {
                kind: text(one, "decision"),
                text: text(one, "text"),
                id: text(one, "id"),
            })
            .collect()
    }

    /// Law 3 for pinned notes, overrides and verdicts of reviews: what is shown is what is decided,
    /// and a person or an agent decided it. Returns the decisions in force.
    fn check_shared_records(&self, tree: usize) -> BTreeSet<Listed> {
        let listed = self.listed_decisions(tree);
        let texts = |kind: &str| -> Vec<String> {
            let of_kind = listed.iter().filter(|one| one.kind == kind);
            let mut texts: Vec<String> = of_kind.map(|one| one.text.clone()).collect();
            texts.sort();
            texts
        };
        let mut pinned: Vec<String> = self
            .pinned_notes(tree)
            .into_iter()
            .map(|(text, _)| text)
            .collect();
        pinned.sort();
        assert_eq!(pinned, texts("noted"), "pinned notes\n{}", self.tail());
        for text in texts("noted").iter().chain(&texts("overridden")) {
            assert!(self.given.contains(text), "{text}\n{}", self.tail());
        }
        let mut shown = Vec::new();
        for subject in REVIEWED {
            let (code, said, _) = self.tl(tree, &["review", "status", "--json", "--of", subject]);
            let view: Value = serde_json::from_str(&said).unwrap_or_default();
            assert!(matches!(code, 0 | 1), "{said}\n{}", self.tail());
            for verdict in view["verdicts"].as_array().into_iter().flatten() {
                let outcome = verdict["outcome"].as_str().unwrap_or_default();
                shown.push(format!("{subject}: {outcome}"));
            }
        }
        shown.sort();
        assert_eq!(shown, texts("reviewed"), "verdicts\n{}", self.tail());
        listed
    }

    /// Law 1: reading leaves the tree as it is.
    fn check_clean_reading(&self, tree: usize) {
        let (_, before) = self.git(tree, &["status", "--porcelain"]);
        for arguments in [&["status"][..], &["tree"], &["next"]] {
            let (code, _, complaint) = self.tl(tree, arguments);
            assert_eq!(code, 0, "tl {arguments:?}: {complaint}\n{}", self.tail());
        }
        let (_, after) = self.git(tree, &["status", "--porcelain"]);
        assert_eq!(before, after, "reading changed the tree\n{}", self.tail());
    }

    fn statuses(&self, tree: usize) -> Vec<String> {
        let said = self.must_tl(tree, &["tree", "--json"]);
        let roots: Value = serde_json::from_str(&said).expect("JSON");
        let mut lines = Vec::new();
        let mut left: Vec<Value> = roots.as_array().cloned().unwrap_or_default();
        while let Some(node) = left.pop() {
            lines.push(format!("{} {}", node["path"], node["status"]));
            left.extend(node["children"].as_array().cloned().unwrap_or_default());
        }
        lines.sort();
        lines
    }

    /// Law 4: what is neither in the working tree nor in git's index is not in the tree, unless
    /// something below it is.
    fn check_absence(&self, tree: usize) {
        let said = self.must_tl(tree, &["tree", "--json"]);
        let roots: Value = serde_json::from_str(&said).expect("JSON");
        let mut left: Vec<Value> = roots.as_array().cloned().unwrap_or_default();
        while let Some(node) = left.pop() {
            let children = node["children"].as_array().cloned().unwrap_or_default();
            let file = node["file_path"].as_str().unwrap_or_default();
            if children.is_empty() && !self.trees[tree].root.join(file).exists() {
                let (_, tracked) = self.git(tree, &["ls-files", "--", file]);
                assert!(
                    !tracked.is_empty(),
                    "{}: {file}\n{}",
                    node["path"],
                    self.tail()
                );
            }
            left.extend(children);
        }
    }

    /// Law 3: the decisions that count are those in the working tree, none lost and none invented.
    fn check_decisions(&self, tree: usize) {
        let said = self.must_tl(tree, &["decisions", "--json"]);
        let listed: Value = serde_json::from_str(&said).expect("JSON");
        let known: BTreeSet<String> = listed
            .as_array()
            .into_iter()
            .flatten()
            .filter(|one| one["present"] == true)
            .filter_map(|one| one["id"].as_str().map(str::to_owned))
            .collect();
        let found = decision_files(&self.trees[tree].root.join(".throughline/decisions"));
        assert_eq!(known, found, "{}", self.tail());
    }

    /// Law 6: two tickets with one id are always reported.
    fn check_duplicates(&self, tree: usize) {
        let mut ids: BTreeMap<String, usize> = BTreeMap::new();
        let folder = self.trees[tree].root.join("tickets");
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let id = name.split('-').next().unwrap_or_default().to_owned();
            if entry.path().join("ticket.md").exists() {
                *ids.entry(id).or_default() += 1;
            }
        }
        for (id, _) in ids.iter().filter(|(_, count)| **count > 1) {
            let (code, said, complaint) = self.tl(tree, &["check"]);
            assert_eq!(code, 3, "{said}{complaint}\n{}", self.tail());
            assert!(
                said.contains(&format!("{id}~2")) || complaint.contains(&format!("{id}~2")),
                "{said}{complaint}\n{}",
                self.tail()
            );
        }
    }
}

/// Whether git failed because of a file of ours. It also lists untracked files where it failed for
/// another reason.
fn blames_us(said: &str) -> bool {
    let is_obstructed = [
        "would be overwritten",
        "CONFLICT",
        "Aborting",
        "not restore untracked",
    ]
    .iter()
    .any(|word| said.contains(word));
    is_obstructed && (said.contains(".throughline") || said.contains("backups/"))
}

fn decision_files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for sub in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        for file in std::fs::read_dir(sub.path())
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = file.file_name().to_string_lossy().into_owned();
            found.extend(name.strip_suffix(".json").map(str::to_owned));
        }
    }
    found
}

fn number_from(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn random_walks_keep_the_laws_of_git() {
    let steps = number_from("THROUGHLINE_GIT_STEPS", DEFAULT_STEPS as u64);
    let seed = number_from("THROUGHLINE_GIT_SEED", 1);
    let mut walk = Walk::start(seed);
    for number in 0..usize::try_from(steps).unwrap_or(DEFAULT_STEPS) {
        walk.step(number);
    }
}
