//! The decision files of a working tree, and which of them this repository made or adopted.
//!
//! What must be the same in every worktree and must not travel with a clone is in
//! `<common git directory>/throughline`: the ids of decisions made here, and which projects were
//! adopted. A clone starts without both.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::decision::{DECISIONS_FOLDER, DecisionId};
use domain::ids::Digest32;
use domain::ports::{DecisionFolder, DecisionListing, GitHead, LookDepth, StateMark, StoreFault};

use super::repository_paths::RepositoryPaths;
use super::{DiskGit, git_fault, head, process, reflog};
use crate::durable::{Durability, replace_file};
use crate::private_files::{create_unlinked_directory, private_open_options, read_own_file};

/// Folder below the common git directory.
const SHARED_FOLDER: &str = "throughline";
/// Ids of the decisions made in this repository, one per line.
const MADE_HERE_FILE: &str = "decisions-made";
/// Projects whose clone was adopted, one per line, relative to the top of the working tree.
const ADOPTED_FILE: &str = "adopted";
/// The last remembered look, below the working tree's own git directory: there it is in nobody's
/// way, whatever the project ignores.
const LOOK_FILE: &str = "decisions-look";
/// A folder changed more recently than this may change again without a new time: clocks of file
/// systems tick every few milliseconds.
const RACY_TIME: Duration = Duration::from_millis(20);
/// Coarsest tick of the times of files: one that was written so shortly before a look is read again.
const COARSE_TICK_NS: i128 = 2_000_000_000;
/// Stamp of a path that is not there.
const MISSING_STAMP: &str = "-";
/// Time limit for reading the history of remote-tracking branches.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(10);

/// The decision files of one project in a git repository.
#[derive(Debug)]
pub struct DiskDecisions {
    root: PathBuf,
    place: Rc<RepositoryPaths>,
}

/// State of the folder that is compared between two looks.
struct FolderState {
    head: String,
    /// Stamp of git's index.
    index: String,
    folders: String,
    is_racy: bool,
}

impl DiskDecisions {
    /// Opens the decisions of a project; `None` outside a git repository.
    #[must_use]
    pub fn open(git: &DiskGit) -> Option<Self> {
        Some(Self {
            root: git.root.clone(),
            place: git.find_repository().ok()??,
        })
    }

    fn shared_file(&self, name: &str) -> PathBuf {
        self.place.common.join(SHARED_FOLDER).join(name)
    }

    /// One file per project: a repository may have several.
    fn look_file(&self) -> PathBuf {
        let project = Digest32::of_bytes(self.place.prefix.as_os_str().as_encoded_bytes());
        let name: String = project.to_string().chars().take(12).collect();
        let folder = self.place.own.join(SHARED_FOLDER);
        folder.join(format!("{LOOK_FILE}-{name}"))
    }

    /// The project's name in the list of adopted ones.
    fn adopted_line(&self) -> String {
        match self.place.prefix.to_string_lossy() {
            prefix if prefix.is_empty() => ".".to_owned(),
            prefix => prefix.into_owned(),
        }
    }

    fn read_shared_lines(&self, name: &str) -> Result<Vec<String>, StoreFault> {
        let path = self.shared_file(name);
        match read_own_file(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(git_fault(
                format!("cannot read `{}`", path.display()),
                error,
            )),
        }
    }

    fn append_shared_lines(&self, name: &str, lines: &str) -> Result<(), StoreFault> {
        let path = self.shared_file(name);
        let append = || -> std::io::Result<()> {
            create_unlinked_directory(&self.place.common.join(SHARED_FOLDER))?;
            let mut file = private_open_options()
                .append(true)
                .create(true)
                .open(&path)?;
            // One write, so that two worktrees do not mix their lines; synced, because a decision
            // whose file survives a power cut must still count as made here.
            file.write_all(lines.as_bytes())?;
            file.sync_all()
        };
        append().map_err(|error| git_fault(format!("cannot write `{}`", path.display()), error))
    }

    fn read_state(&self) -> Result<FolderState, StoreFault> {
        let commit = match head::resolve_head(&self.place) {
            Ok(GitHead::At(commit)) => commit,
            Ok(GitHead::Unborn | GitHead::NoRepository) | Err(_) => String::new(),
        };
        // With the size of the log of HEAD, which grows with every move: it may have been elsewhere
        // and come back since the last look. Not its times, which change when the project is copied.
        let moves = reflog::log_size(&self.place).unwrap_or(0);
        let head = format!("{commit} {moves}");
        let (index, _) = stamp_path(&self.place.own.join("index"));
        let top = self.root.join(DECISIONS_FOLDER);
        let (mut folders, mut is_racy) = stamp_path(&top);
        for folder in list_names(&top)? {
            let (stamp, racy) = stamp_path(&top.join(&folder));
            let _ = write!(folders, ";{folder}:{stamp}");
            is_racy |= racy;
        }
        Ok(FolderState {
            head,
            index,
            folders,
            is_racy,
        })
    }

    /// Whether no other commit was checked out between two states of HEAD: it is where it was, or only
    /// commits were made on top. Deleting a decision and committing that is no checkout.
    fn is_same_line(&self, before: &str, now: &str) -> bool {
        let size = |head: &str| head.rsplit(' ').next()?.parse::<u64>().ok();
        match (size(before), size(now)) {
            _ if before == now => true,
            (Some(from), Some(to)) if from > 0 && to > from => {
                reflog::has_only_commits_after(&self.place, from)
            }
            _ => false,
        }
    }

    /// Reads the remembered look, unless it was compared with another or a later state.
    fn read_remembered(&self, state: &StateMark) -> Option<RememberedLook> {
        let text = fs::read_to_string(self.look_file()).ok()?;
        let mut lines = text.lines().map(str::to_owned);
        let (store, operation) = (lines.next()?, lines.next()?);
        let look = RememberedLook {
            head: lines.next()?,
            index: lines.next()?,
            folders: lines.next()?,
            basis: lines.next()?,
            // Absent in looks of earlier versions: then every file counts as written since.
            begun_ns: lines.next().and_then(|line| line.parse().ok()).unwrap_or(0),
        };
        // A restored backup is an earlier state of the same store: it may lack what was recorded
        // after that look.
        let is_valid = store == state.store.0
            && operation
                .parse()
                .is_ok_and(|operation: u64| operation <= state.operation.0);
        is_valid.then_some(look)
    }
}

/// What a remembered look found.
struct RememberedLook {
    head: String,
    index: String,
    folders: String,
    basis: String,
    /// When the last look began that compared files.
    begun_ns: i128,
}

impl DecisionFolder for DiskDecisions {
    fn list_changed(
        &self,
        state: &StateMark,
        depth: LookDepth,
    ) -> Result<Option<DecisionListing>, StoreFault> {
        let known = self.read_remembered(state);
        let is_basis_same = known
            .as_ref()
            .is_some_and(|known| known.basis == state.basis);
        if let (Some(known), true, LookDepth::Index) = (&known, is_basis_same, depth) {
            let (now, _) = stamp_path(&self.place.own.join("index"));
            if now == known.index {
                return Ok(None);
            }
        }
        let now_ns = current_time_ns();
        // The state before the listing: a file that comes in between has another state than the
        // one that is remembered, and the next look finds it.
        let found = self.read_state()?;
        let is_head_unmoved = known
            .as_ref()
            .is_some_and(|known| self.is_same_line(&known.head, &found.head));
        let has_same_folders = known
            .as_ref()
            .is_some_and(|known| is_basis_same && known.folders == found.folders);
        // A hook compares files only where something else changed as well.
        let compares_files = matches!(depth, LookDepth::FileTimes | LookDepth::Files)
            || !has_same_folders
            || known
                .as_ref()
                .is_none_or(|known| known.index != found.index);
        let (rewritten, begun_ns) = match &known {
            Some(known) if !compares_files => (BTreeSet::new(), known.begun_ns),
            Some(known) => (self.list_written_since(known.begun_ns)?, now_ns),
            // Without a look to compare with, only a look at every file reads what is known.
            None if depth == LookDepth::Files => (self.list_all()?, now_ns),
            None => (BTreeSet::new(), now_ns),
        };
        // Of a folder that may change again unnoticed only HEAD is remembered: nothing equals the
        // empty stamps, so the next look lists it again.
        let (index, folders) = if found.is_racy {
            ("", "")
        } else {
            (found.index.as_str(), found.folders.as_str())
        };
        let stamp = format!(
            "{}\n{}\n{}\n{index}\n{folders}\n{}\n{begun_ns}\n",
            state.store, state.operation, found.head, state.basis
        );
        if let Some(known) = &known
            && has_same_folders
            && rewritten.is_empty()
            && depth != LookDepth::Files
        {
            if known.index != found.index || known.head != found.head {
                self.remember_stamp(&stamp);
            }
            return Ok(None);
        }
        Ok(Some(DecisionListing {
            ids: self.list_all()?,
            rewritten,
            is_head_unmoved,
            is_basis_same,
            stamp,
        }))
    }

    fn list_all(&self) -> Result<BTreeSet<DecisionId>, StoreFault> {
        let top = self.root.join(DECISIONS_FOLDER);
        let mut ids = BTreeSet::new();
        for folder in list_names(&top)? {
            for name in list_names(&top.join(&folder))? {
                let id = DecisionId::parse_file_name(&name);
                ids.extend(id.filter(|id| id.folder_name() == folder));
            }
        }
        Ok(ids)
    }

    fn remember_look(&self, listing: &DecisionListing) {
        self.remember_stamp(&listing.stamp);
    }

    fn made_here(&self) -> Result<BTreeSet<DecisionId>, StoreFault> {
        let lines = self.read_shared_lines(MADE_HERE_FILE)?;
        Ok(lines
            .iter()
            .filter_map(|line| DecisionId::parse_id(line))
            .collect())
    }

    fn mark_made_here(&self, ids: &[DecisionId]) -> Result<(), StoreFault> {
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        self.append_shared_lines(MADE_HERE_FILE, &lines)
    }

    fn expect_write(&self, state: &StateMark) {
        let known = self.read_remembered(state);
        // What is written into an existing folder changes its stamp.
        if known.as_ref().is_some_and(|it| it.folders != MISSING_STAMP) {
            return;
        }
        let known = known.map(|known| (known.head, known.basis, known.begun_ns));
        let now = || {
            let found = self.read_state().ok()?;
            Some((found.head, state.basis.clone(), current_time_ns()))
        };
        if let Some((head, basis, begun_ns)) = known.or_else(now) {
            // Nothing equals the empty stamps, so the next look lists the folder: it may be gone as a whole by
            // then, as it was before the first decision.
            self.remember_stamp(&format!(
                "{}\n{}\n{head}\n\n\n{basis}\n{begun_ns}\n",
                state.store, state.operation
            ));
        }
    }

    fn is_adopted(&self) -> bool {
        let line = self.adopted_line();
        self.read_shared_lines(ADOPTED_FILE)
            .is_ok_and(|lines| lines.contains(&line))
    }

    fn mark_adopted(&self) -> Result<(), StoreFault> {
        if self.is_adopted() {
            return Ok(());
        }
        self.append_shared_lines(ADOPTED_FILE, &format!("{}\n", self.adopted_line()))
    }

    fn list_other_places(&self) -> Result<Vec<BTreeSet<DecisionId>>, StoreFault> {
        let arguments = [
            "for-each-ref",
            "--format=%(objectname)",
            "refs/heads",
            "refs/remotes",
        ];
        let tips = process::run_git(&self.place, &arguments, process::read_to_text)?;
        if tips.code != 0 {
            return Err(tips.to_fault("cannot list the branches"));
        }
        let stashes = self.list_stashes()?;
        // Branches at the same commit are the same list.
        let tips: BTreeSet<&str> = tips
            .said
            .lines()
            .chain(stashes.split_whitespace())
            .collect();
        let mut found = Vec::new();
        for tip in tips {
            let arguments = ["ls-tree", "-r", "-z", "--name-only", tip, DECISIONS_FOLDER];
            let listed =
                process::run_git_within(&self.place, &arguments, HISTORY_TIMEOUT, read_file_ids)?;
            if listed.code != 0 {
                return Err(listed.to_fault("cannot list the decisions of a branch"));
            }
            found.push(listed.said);
        }
        Ok(found)
    }

    fn find_in_remote_history(
        &self,
        ids: &BTreeSet<DecisionId>,
    ) -> Result<BTreeSet<DecisionId>, StoreFault> {
        if ids.is_empty() {
            return Ok(BTreeSet::new());
        }
        // Paths of all files ever added below the folder, in any remote-tracking branch: one walk,
        // whatever their number. No diff content is asked for, so no filter can run.
        let arguments = [
            "log",
            "--remotes",
            "--format=",
            "--name-only",
            "--diff-filter=A",
            "--no-renames",
            "-z",
            "--",
            DECISIONS_FOLDER,
        ];
        let ended =
            process::run_git_within(&self.place, &arguments, HISTORY_TIMEOUT, read_file_ids)?;
        if ended.code != 0 {
            return Err(ended.to_fault("cannot read the history of remote-tracking branches"));
        }
        Ok(ended.said.intersection(ids).cloned().collect())
    }
}

impl DiskDecisions {
    /// Returns the commits of all stashes and those of their untracked files, separated by blanks.
    fn list_stashes(&self) -> Result<String, StoreFault> {
        if !self.place.common.join("refs/stash").exists()
            && !self.place.common.join("logs/refs/stash").exists()
        {
            return Ok(String::new());
        }
        // With all parents: the third has the untracked files, and the others cost little.
        let arguments = ["log", "-g", "--format=%H %P", "refs/stash", "--"];
        let listed = process::run_git(&self.place, &arguments, process::read_to_text)?;
        Ok(match listed.code {
            0 => listed.said,
            // No stash any more.
            _ => String::new(),
        })
    }

    /// Returns the decisions whose files were written or replaced since a moment.
    fn list_written_since(&self, since_ns: i128) -> Result<BTreeSet<DecisionId>, StoreFault> {
        let mut written = self.list_all()?;
        let top = self.root.join(DECISIONS_FOLDER);
        written.retain(|id| {
            let file = top.join(id.folder_name()).join(format!("{id}.json"));
            // By the time of the inode, which no tool can set: an edited file may keep its own time.
            fs::symlink_metadata(file).is_ok_and(|found| {
                let changed = i128::from(found.ctime()) * 1_000_000_000;
                changed + i128::from(found.ctime_nsec()) >= since_ns - COARSE_TICK_NS
            })
        });
        Ok(written)
    }

    fn remember_stamp(&self, stamp: &str) {
        let path = self.look_file();
        // A cache: where it cannot be written, the next look lists the folder again.
        if let Some(folder) = path.parent()
            && create_unlinked_directory(folder).is_ok()
        {
            let _ = replace_file(&path, stamp.as_bytes(), Durability::Atomic);
        }
    }
}

/// Returns the ids of the decision files in a list of paths, separated by NUL.
fn read_file_ids(output: BufReader<ChildStdout>) -> BTreeSet<DecisionId> {
    let mut ids = BTreeSet::new();
    for path in output.split(0).map_while(Result::ok) {
        let path = String::from_utf8_lossy(&path);
        let name = path.rsplit('/').next().unwrap_or_default();
        ids.extend(DecisionId::parse_file_name(name));
    }
    ids
}

/// Returns the names in a folder, sorted; links are not followed, and a missing folder is empty.
fn list_names(folder: &Path) -> Result<Vec<String>, StoreFault> {
    let fault =
        |error: std::io::Error| git_fault(format!("cannot list `{}`", folder.display()), error);
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fault(error)),
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        names.extend(entry.map_err(fault)?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with times of the same machine's files"
)]
fn current_time_ns() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0))
}

/// Returns what tells two states of a path apart, and whether it changed a moment ago.
#[expect(
    clippy::disallowed_methods,
    reason = "a stamp is compared with the clock that produced it"
)]
fn stamp_path(path: &Path) -> (String, bool) {
    let Ok(found) = fs::symlink_metadata(path) else {
        return (MISSING_STAMP.to_owned(), false);
    };
    let changed = UNIX_EPOCH
        + Duration::new(
            u64::try_from(found.mtime()).unwrap_or_default(),
            u32::try_from(found.mtime_nsec()).unwrap_or_default(),
        );
    let is_racy = SystemTime::now()
        .duration_since(changed)
        .is_ok_and(|age| age < RACY_TIME);
    let stamp = format!(
        "{}.{}.{}.{}.{}",
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
        found.ino()
    );
    (stamp, is_racy)
}
