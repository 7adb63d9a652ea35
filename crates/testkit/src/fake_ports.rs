//! Ports that need no disk and no clock.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use std::time::Duration;

use domain::ports::{
    ChangedLines, Clock, CommandOutput, CommandRunner, CommitHistory, FileFault, FileReadResult,
    FileStamp, FileStatResult, FolderEntry, FolderEntryKind, Git, GitHead, HeadMove, HeadMoveKind,
    HistoryCommit, PlanFiles, StoreFault, TrackedState,
};
use domain::time::Timestamp;

/// A clock that stands until it is told otherwise, then one second later.
#[derive(Debug)]
pub struct FakeClock {
    seconds: Cell<i64>,
}

impl Default for FakeClock {
    fn default() -> Self {
        Self {
            seconds: Cell::new(1),
        }
    }
}

impl FakeClock {
    /// Lets time pass.
    pub fn advance_seconds(&self, seconds: i64) {
        self.seconds.set(self.seconds.get() + seconds);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        self.seconds.set(self.seconds.get() + 1);
        crate::timestamp(self.seconds.get())
    }
}

/// Plan files in memory.
#[derive(Debug, Default)]
pub struct FakeFiles {
    files: RefCell<BTreeMap<String, (String, i64)>>,
    writes: Cell<i64>,
    looks: Cell<usize>,
    /// Files that can be seen and not read now, and files that cannot even be seen.
    unreadable: RefCell<BTreeSet<String>>,
    invisible: RefCell<BTreeSet<String>>,
}

impl FakeFiles {
    /// Writes a file as another program would.
    pub fn edit(&self, path: &str, text: &str) {
        self.writes.set(self.writes.get() + 1);
        self.files
            .borrow_mut()
            .insert(path.to_owned(), (text.to_owned(), self.writes.get()));
    }

    /// Lets every read of a file fail with an I/O error, until [`FakeFiles::recover`].
    pub fn fail_reads_of(&self, path: &str) {
        self.unreadable.borrow_mut().insert(path.to_owned());
    }

    /// Lets every look at a file fail with an I/O error, until [`FakeFiles::recover`].
    pub fn fail_looks_at(&self, path: &str) {
        self.invisible.borrow_mut().insert(path.to_owned());
    }

    /// Ends all I/O errors.
    pub fn recover(&self) {
        self.unreadable.borrow_mut().clear();
        self.invisible.borrow_mut().clear();
    }

    /// Removes a file as another program would.
    pub fn delete(&self, path: &str) {
        self.files.borrow_mut().remove(path);
    }

    /// Returns a file's text.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        self.files.borrow().get(path).map(|(text, _)| text.clone())
    }

    /// Returns how often a file was looked at.
    #[must_use]
    pub fn looks(&self) -> usize {
        self.looks.get()
    }

    /// Returns every path.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.files.borrow().keys().cloned().collect()
    }

    fn stamp(text: &str, written: i64) -> FileStamp {
        FileStamp {
            size: text.len() as u64,
            modified_ns: written,
            changed_ns: written,
            inode: 1,
        }
    }
}

impl PlanFiles for FakeFiles {
    fn stat_file(&self, path: &str) -> FileStatResult {
        self.looks.set(self.looks.get() + 1);
        if self.invisible.borrow().contains(path) {
            return FileStatResult::Unavailable("Input/output error".to_owned());
        }
        match self.files.borrow().get(path) {
            Some((text, written)) => FileStatResult::Present(Self::stamp(text, *written)),
            None => FileStatResult::Missing,
        }
    }

    fn resolve_path(&self, _directory: Option<&str>, path: &str) -> Option<String> {
        Some(path.trim_start_matches("/project/").to_owned())
            // Outside the project: another root, or a way up.
            .filter(|path| !path.starts_with('/') && !path.split('/').any(|part| part == ".."))
    }

    fn read_file(&self, path: &str, max_bytes: u64) -> FileReadResult {
        if self.unreadable.borrow().contains(path) || self.invisible.borrow().contains(path) {
            return FileReadResult::Unreadable {
                why: "Input/output error".to_owned(),
                transient: true,
            };
        }
        match self.files.borrow().get(path) {
            None => FileReadResult::Missing,
            Some((text, _)) if text.len() as u64 > max_bytes => FileReadResult::Unreadable {
                why: "too large".to_owned(),
                transient: false,
            },
            Some((text, _)) if text.contains('\0') => FileReadResult::Unreadable {
                why: "binary".to_owned(),
                transient: false,
            },
            Some((text, written)) => FileReadResult::Text {
                text: text.clone(),
                stamp: Some(Self::stamp(text, *written)),
            },
        }
    }

    fn list_folder(&self, folder: &str) -> Vec<FolderEntry> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let mut found: Vec<FolderEntry> = Vec::new();
        for path in self.files.borrow().keys() {
            let Some(rest) = path.strip_prefix(prefix.as_str()) else {
                continue;
            };
            let (name, kind) = match rest.split_once('/') {
                Some((name, _)) => (name, FolderEntryKind::Folder),
                None => (rest, FolderEntryKind::File),
            };
            if found.last().is_none_or(|last| last.name != name) {
                found.push(FolderEntry {
                    name: name.to_owned(),
                    kind,
                });
            }
        }
        found
    }

    fn replace_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.edit(path, text);
        Ok(())
    }

    fn create_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        if self.text(path).is_some() {
            return Err(FileFault::Exists {
                path: path.to_owned(),
            });
        }
        self.edit(path, text);
        Ok(())
    }

    fn remove_file(&self, path: &str) -> Result<(), FileFault> {
        self.delete(path);
        Ok(())
    }
}

/// A git repository in memory: commits, uncommitted lines, an operation in progress.
#[derive(Debug, Default)]
pub struct FakeGit {
    moves: RefCell<Vec<HeadMove>>,
    uncommitted: RefCell<BTreeMap<String, u64>>,
    in_progress: Cell<Option<&'static str>>,
    counts: Cell<usize>,
    /// Files that are not in the index; every other one counts as edited or deleted by hand.
    untracked: RefCell<BTreeSet<String>>,
    /// Files as git wrote them.
    unchanged: RefCell<BTreeSet<String>>,
    branch: RefCell<Option<String>>,
    logs: Cell<usize>,
    /// Names in the folders of other branches.
    elsewhere: RefCell<Vec<String>>,
    large: Cell<bool>,
    /// The files that commits change, by their hash.
    changed_files: RefCell<BTreeMap<String, Vec<String>>>,
}

impl FakeGit {
    /// Sets the names that folders have on other branches.
    pub fn set_names_elsewhere(&self, names: &[&str]) {
        *self.elsewhere.borrow_mut() = names.iter().map(|name| (*name).to_owned()).collect();
    }

    /// Lets the repository have very many files from now on.
    pub fn grow_large(&self) {
        self.large.set(true);
    }

    /// Returns a repository with one commit.
    #[must_use]
    pub fn with_commit() -> Self {
        let git = Self::default();
        git.commit("chore: begin");
        git
    }

    /// Commits everything.
    pub fn commit(&self, subject: &str) {
        self.move_head(HeadMoveKind::Commit, subject);
        self.uncommitted.borrow_mut().clear();
    }

    /// Commits these files.
    pub fn commit_files(&self, subject: &str, files: &[&str]) {
        self.commit(subject);
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        let commit = self.moves.borrow().last().map(|last| last.to.clone());
        if let Some(commit) = commit {
            self.changed_files.borrow_mut().insert(commit, files);
        }
    }

    /// Moves HEAD, without touching the working tree.
    pub fn move_head(&self, kind: HeadMoveKind, subject: &str) {
        let from = self.moves.borrow().last().map(|last| last.to.clone());
        let to = format!("{:040x}", self.moves.borrow().len() + 1);
        self.moves.borrow_mut().push(HeadMove {
            from,
            to,
            kind,
            subject: subject.to_owned(),
        });
    }

    /// Switches to a branch on which exactly `tracked` are in the index, as git wrote them.
    ///
    /// `known` are the files of all branches; the working tree is changed by the caller.
    pub fn checkout(&self, branch: &str, tracked: &[String], known: &[String]) {
        self.move_head(HeadMoveKind::Other, "");
        *self.branch.borrow_mut() = Some(branch.to_owned());
        self.set_index(tracked, known);
    }

    /// Sets which of the `known` files are in the index.
    pub fn set_index(&self, tracked: &[String], known: &[String]) {
        let is_tracked = |path: &&String| tracked.contains(path);
        *self.unchanged.borrow_mut() = tracked.iter().cloned().collect();
        *self.untracked.borrow_mut() = known
            .iter()
            .filter(|path| !is_tracked(path))
            .cloned()
            .collect();
    }

    /// Sets the number of uncommitted lines of a file.
    pub fn change_lines(&self, path: &str, lines: u64) {
        self.uncommitted.borrow_mut().insert(path.to_owned(), lines);
    }

    /// Begins or ends a merge, rebase or the like.
    pub fn set_operation(&self, operation: Option<&'static str>) {
        self.in_progress.set(operation);
    }

    /// Returns how often the history was read; each costs a process in reality.
    #[must_use]
    pub fn history_reads(&self) -> usize {
        self.logs.get()
    }

    /// Returns how often lines were counted; each costs a process in reality.
    #[must_use]
    pub fn line_counts(&self) -> usize {
        self.counts.get()
    }
}

impl Git for FakeGit {
    fn is_large(&self) -> bool {
        self.large.get()
    }

    fn read_head(&self) -> Result<GitHead, StoreFault> {
        let last = self.moves.borrow().last().map(|last| last.to.clone());
        Ok(last.map_or(GitHead::Unborn, GitHead::At))
    }

    fn operation_in_progress(&self) -> Option<&'static str> {
        self.in_progress.get()
    }

    fn head_moves_since(&self, since: &str) -> Result<Option<Vec<HeadMove>>, StoreFault> {
        let moves = self.moves.borrow();
        let at = moves.iter().position(|one| one.to == since);
        Ok(at.map(|at| moves[at + 1..].to_vec()))
    }

    fn tracked_states(&self, paths: &[String]) -> Result<Option<Vec<TrackedState>>, StoreFault> {
        let (untracked, unchanged) = (self.untracked.borrow(), self.unchanged.borrow());
        let state_of = |path: &String| match (untracked.contains(path), unchanged.contains(path)) {
            (true, _) => TrackedState::Untracked,
            (false, true) => TrackedState::Unchanged,
            (false, false) => TrackedState::Changed,
        };
        Ok(Some(paths.iter().map(state_of).collect()))
    }

    fn list_commits_made_here(&self) -> BTreeSet<String> {
        let moves = self.moves.borrow();
        let commits = moves
            .iter()
            .filter(|one| matches!(one.kind, HeadMoveKind::Commit | HeadMoveKind::Amend));
        commits.map(|one| one.to.clone()).collect()
    }

    fn visit_names_elsewhere(
        &self,
        _folder: &str,
        each: &mut dyn FnMut(&str),
    ) -> Result<(), StoreFault> {
        self.elsewhere.borrow().iter().for_each(|name| each(name));
        Ok(())
    }

    fn current_branch(&self) -> Option<String> {
        self.branch.borrow().clone()
    }

    fn commits_since(&self, base: Option<&str>) -> Result<Option<CommitHistory>, StoreFault> {
        self.logs.set(self.logs.get() + 1);
        let moves = self.moves.borrow();
        let start = match base {
            None => 0,
            Some(base) => match moves.iter().position(|one| one.to == base) {
                Some(at) => at + 1,
                None => return Ok(None),
            },
        };
        let mut commits: Vec<HistoryCommit> = Vec::new();
        for one in &moves[start..] {
            let commit = HistoryCommit {
                hash: one.to.clone(),
                subject: one.subject.clone(),
                changed_files: self
                    .changed_files
                    .borrow()
                    .get(&one.to)
                    .cloned()
                    .unwrap_or_default(),
                ..HistoryCommit::default()
            };
            match one.kind {
                HeadMoveKind::Merge | HeadMoveKind::Other => continue,
                HeadMoveKind::Amend => drop(commits.pop()),
                HeadMoveKind::Commit
                | HeadMoveKind::CherryPick
                | HeadMoveKind::Revert
                | HeadMoveKind::Rebase => {}
            }
            commits.push(commit);
        }
        Ok(Some(CommitHistory {
            commits,
            ..CommitHistory::default()
        }))
    }

    fn count_uncommitted_lines(&self, paths: &[String]) -> Result<Vec<ChangedLines>, StoreFault> {
        self.counts.set(self.counts.get() + 1);
        let changed = self.uncommitted.borrow();
        let wanted = changed
            .iter()
            .filter(|(path, _)| paths.is_empty() || paths.contains(path));
        Ok(wanted
            .map(|(path, lines)| ChangedLines {
                path: path.clone(),
                added: *lines,
                ..ChangedLines::default()
            })
            .collect())
    }
}

/// Commands that exit with a chosen code, and the command lines that were run.
#[derive(Debug, Default)]
pub struct FakeCommands {
    pub exit_code: Cell<i32>,
    pub ran: RefCell<Vec<Vec<String>>>,
}

impl CommandRunner for FakeCommands {
    fn run_command(
        &self,
        command: &[String],
        _most: Duration,
    ) -> Result<Option<CommandOutput>, StoreFault> {
        self.ran.borrow_mut().push(command.to_vec());
        Ok(Some(CommandOutput {
            exit_code: Some(self.exit_code.get()),
            output: format!("exit {}", self.exit_code.get()),
        }))
    }
}
