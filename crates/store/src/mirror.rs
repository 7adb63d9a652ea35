//! The JSON mirror: a write-only export of the state, one readable file per node.
//!
//! For people, and as the last resort of recovery; its own `.gitignore` keeps it out of git. Never
//! imported by itself: two stores that overwrite each other lose data. It is written after a commit
//! and complete after every command; `head.json` holds the last operation that is exported
//! completely, and every file carries its checksum. What a hook or a crash left out is written by
//! the next command.

mod node_file;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, StoreId};
use domain::node::Node;
use domain::operation::Operation;
use domain::ports::{Snapshot, StoreFault, StoreFinding, StoreFindingKind};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use serde::{Deserialize, Serialize};

use self::node_file::{ParsedNodeFile, render_node_file};

/// Number of operations after which the mirror is updated before its interval has passed.
const MAX_DEFERRED_OPERATIONS: u64 = 10;

/// Maximum number of nodes of one operation that are read one by one; above it the whole mirror is
/// compared with the state, which reads all nodes at once.
const MAX_SINGLE_READS: usize = 4_000;

/// How long a command waits for another process that is updating the mirror.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(2);

/// Keeps the whole folder, this file included, out of git.
const IGNORE_ALL: &str = "*\n";

/// When and how far the mirror is updated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MirrorSchedule {
    /// Minimum time between two updates.
    pub(crate) interval: Duration,
    /// Maximum number of files written per update.
    pub(crate) max_files: usize,
}

impl MirrorSchedule {
    /// Whether the rest may be left to a later command, as in hooks.
    fn is_limited(self) -> bool {
        self.max_files != usize::MAX
    }
}

/// Content of `head.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MirrorHead {
    format: u32,
    store: StoreId,
    /// Every change up to this operation is exported …
    operation: OperationId,
    /// … and this many nodes of the next one.
    #[serde(default, skip_serializing_if = "is_zero")]
    and_nodes: usize,
    /// The last update stopped at its limit: the next one goes on whatever the interval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    /// The files are not those of this operation, because the mirrored state was replaced or a
    /// synchronisation is in progress; the next update is a full synchronisation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stale: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A node as stored in the mirror.
pub(crate) struct MirroredNode {
    pub(crate) path: String,
    pub(crate) node: Node,
    /// Whether the checksum matches; an edited or damaged file is not intact.
    pub(crate) intact: bool,
}

/// The content of a whole mirror.
pub(crate) struct MirrorContents {
    pub(crate) store: StoreId,
    pub(crate) nodes: Vec<MirroredNode>,
    pub(crate) unreadable: Vec<String>,
}

/// Passes on every node of a state.
pub(crate) type VisitNodes<'v> = &'v dyn Fn(&mut dyn FnMut(Node)) -> Result<(), StoreFault>;

/// The mirror in its folder.
pub(crate) struct Mirror {
    folder: PathBuf,
}

impl Mirror {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Writes the nodes changed by `recent` and by the backlog of earlier commits.
    pub(crate) fn catch_up_after_commit(
        &self,
        state: &dyn Snapshot,
        recent: &[Operation],
        schedule: MirrorSchedule,
    ) -> io::Result<()> {
        // Not in a hook: exporting a whole tree takes longer than an agent should wait.
        if schedule.is_limited() && self.current_head().is_none() {
            return Ok(());
        }
        let Some(_lock) = self.acquire_lock(schedule)? else {
            return Ok(());
        };
        let head = state.last_operation_id().map_err(io::Error::other)?;
        // Another process may have exported a later commit while this one waited for the lock; its
        // export contains this one.
        let is_newer = |known: MirrorHead| {
            known.operation > head && state.store_id().is_ok_and(|id| known.store == id)
        };
        if self.current_head().is_some_and(is_newer) {
            return Ok(());
        }
        self.catch_up_locked(state, recent, schedule)
    }

    /// Writes the backlog of earlier commits. `head` is the state's last operation; the state is
    /// loaded only when the mirror is at another one.
    pub(crate) fn write_backlog<S: Snapshot>(
        &self,
        head: &(StoreId, OperationId),
        schedule: MirrorSchedule,
        load_state: impl FnOnce() -> Result<S, StoreFault>,
    ) -> io::Result<()> {
        // Equality, not "at least": a mirror ahead of the state belongs to one that was replaced,
        // perhaps by a restore on another machine.
        let is_current = |known: &MirrorHead| (&known.store, known.operation) == (&head.0, head.1);
        let known = self.current_head();
        if known.as_ref().is_some_and(is_current) || (known.is_none() && schedule.is_limited()) {
            return Ok(());
        }
        let Some(_lock) = self.acquire_lock(schedule)? else {
            return Ok(());
        };
        // Loaded under the lock: an older state would overwrite what the lock's last holder wrote.
        let state = load_state().map_err(io::Error::other)?;
        self.catch_up_locked(&state, &[], schedule)
    }

    /// Whether an update is due: the interval has passed, or too much would be deferred.
    fn is_due(&self, done: &MirrorHead, head: OperationId, interval: Duration) -> bool {
        // The age of `head.json` serves as the time of the last update; no extra file is needed.
        interval.is_zero()
            || done.partial
            || head.0 - done.operation.0 >= MAX_DEFERRED_OPERATIONS
            || self.head_age().is_none_or(|age| age >= interval)
    }

    fn catch_up_locked(
        &self,
        state: &dyn Snapshot,
        recent: &[Operation],
        schedule: MirrorSchedule,
    ) -> io::Result<()> {
        let store = state.store_id().map_err(io::Error::other)?;
        let head = state.last_operation_id().map_err(io::Error::other)?;
        let mut done = match self.current_head() {
            Some(known) if known.store == store && known.operation <= head => known,
            _ if schedule.is_limited() => return Ok(()),
            _ => return self.sync_locked(state).map(|_| ()),
        };
        if done.operation == head || !self.is_due(&done, head, schedule.interval) {
            return Ok(());
        }
        let mut left = schedule.max_files;
        let mut paths = AliasPaths::new(state);
        while done.operation < head && left > 0 {
            let next = done.operation.next_id();
            // The operations just committed are at hand; only a backlog has to be read from the
            // store.
            let known = recent
                .iter()
                .find(|operation| operation.id == next)
                .cloned();
            let operation = match known {
                Some(operation) => Some(operation),
                None => state.load_operation(next).map_err(io::Error::other)?,
            };
            let Some(operation) = operation else { break };
            let touched = touched_nodes(&operation);
            if moves_nodes(&operation) || touched.len() > MAX_SINGLE_READS {
                if schedule.is_limited() {
                    break;
                }
                return self.sync_locked(state).map(|_| ());
            }
            // The path of a removed node is built from its parents, which may be removed with it.
            for fact in &operation.facts {
                if let Fact::NodeRemoved { node } = fact {
                    paths.remember_node(node);
                }
            }
            // The present node is written, not the one after this operation: later changes make the
            // file newer than the head says, which is harmless.
            for id in touched.iter().skip(done.and_nodes).take(left) {
                self.write_node_file(&mut paths, *id, &operation)?;
                done.and_nodes += 1;
                left -= 1;
            }
            if done.and_nodes >= touched.len() {
                done = MirrorHead {
                    operation: next,
                    and_nodes: 0,
                    ..done
                };
            }
        }
        done.partial = done.operation < head;
        // Last, so that a crash repeats files instead of skipping them.
        self.write_head_file(&done)
    }

    /// Synchronises the whole mirror; returns the number of files written or removed.
    pub(crate) fn sync_all(&self, state: &dyn Snapshot) -> io::Result<usize> {
        // Without the lock after the wait: a process that hangs must not keep a repair from working.
        let _lock = self.acquire_lock(MirrorSchedule {
            interval: Duration::ZERO,
            max_files: usize::MAX,
        })?;
        self.sync_locked(state)
    }

    fn sync_locked(&self, state: &dyn Snapshot) -> io::Result<usize> {
        let store = state.store_id().map_err(io::Error::other)?;
        let operation = state.last_operation_id().map_err(io::Error::other)?;
        self.create_folder()?;
        // Files are written in place, so until the end the head must not vouch for them.
        self.mark_stale();
        let mut changed = 0;
        let mut expected = ExpectedFiles::load(state)?;
        for file in self.list_files()? {
            let path = self.folder.join(&file);
            match expected.take_text(&file)? {
                None => fs::remove_file(&path)?,
                Some(text) if has_content(&path, &text) => continue,
                Some(text) => overwrite_file(&path, &text)?,
            }
            changed += 1;
        }
        let mut folders = HashSet::new();
        for (file, text) in expected.into_rest() {
            let path = self.folder.join(&file);
            if let Some(folder) = path.parent()
                && !folders.contains(folder)
            {
                crate::private_files::create_private_directory(folder)?;
                folders.insert(folder.to_owned());
            }
            create_file(&path, &text?)?;
            changed += 1;
        }
        self.write_head_file(&MirrorHead {
            format: 1,
            store,
            operation,
            and_nodes: 0,
            partial: false,
            stale: false,
        })?;
        Ok(changed)
    }

    /// Acquires the mirror's write lock; `None` when another process holds it. A command waits for
    /// it, because it has to leave the mirror complete.
    fn acquire_lock(&self, schedule: MirrorSchedule) -> io::Result<Option<fs::File>> {
        let open = || {
            crate::private_files::private_open_options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(self.head_file_path())
        };
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_folder()?;
                open()?
            }
            other => other?,
        };
        let wait = match schedule.is_limited() {
            true => Duration::ZERO,
            false => MAX_LOCK_WAIT,
        };
        let deadline = Instant::now() + wait;
        // The lock is on `head.json` itself, which is only ever overwritten in place: a rename
        // would leave the lock on a file that is no longer opened.
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(file)),
                Err(_) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(_) => return Ok(None),
            }
        }
    }

    /// Creates the folder with the `.gitignore` that keeps it out of git.
    pub(crate) fn create_folder(&self) -> io::Result<()> {
        crate::private_files::create_private_directory(&self.folder)?;
        match create_file(&self.folder.join(".gitignore"), IGNORE_ALL) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    }

    /// Compares the mirror with the state: lag, modified, missing and extra files.
    pub(crate) fn verify_against(
        &self,
        state: &dyn Snapshot,
        schedule: MirrorSchedule,
        visit_nodes: VisitNodes<'_>,
    ) -> io::Result<Vec<StoreFinding>> {
        let head = state.last_operation_id().map_err(io::Error::other)?;
        let finding = |kind, message: String| StoreFinding { kind, message };
        let done = match self.current_head() {
            Some(known) => known,
            // A new project has no mirror before its first operation.
            None if head == OperationId(0) => return Ok(Vec::new()),
            None => {
                return Ok(vec![finding(
                    StoreFindingKind::MirrorLag,
                    "there is no mirror yet".to_owned(),
                )]);
            }
        };
        // Only the lag is reported then: every file would differ for that reason alone.
        if done.operation < head {
            // A lag within the configured interval is not a problem.
            let is_late = self.is_due(&done, head, schedule.interval);
            return Ok(Vec::from_iter(is_late.then(|| {
                finding(
                    StoreFindingKind::MirrorLag,
                    format!(
                        "the mirror is at operation {}, the state at {head}",
                        done.operation
                    ),
                )
            })));
        }
        if self.has_exact_files(state, visit_nodes)? {
            return Ok(Vec::new());
        }
        let damaged = |message| finding(StoreFindingKind::MirrorDamaged, message);
        let mut expected = ExpectedFiles::load(state)?;
        let mut findings = Vec::new();
        for file in self.list_files()? {
            let name = file.display();
            match expected.take_text(&file)? {
                None => findings.push(damaged(format!(
                    "`{name}` is in the mirror but belongs to no node"
                ))),
                Some(text) if has_content(&self.folder.join(&file), &text) => {}
                Some(_) => findings.push(damaged(format!(
                    "`{name}` in the mirror was modified or is damaged"
                ))),
            }
        }
        findings.extend(
            expected.into_rest().map(|(file, _)| {
                damaged(format!("`{}` is missing from the mirror", file.display()))
            }),
        );
        Ok(findings)
    }

    /// Whether the files are exactly those of all nodes. They are compared one at a time: together
    /// the nodes and the names of their files take 70 megabytes at 50,000 nodes.
    fn has_exact_files(
        &self,
        state: &dyn Snapshot,
        visit_nodes: VisitNodes<'_>,
    ) -> io::Result<bool> {
        let mut paths = AliasPaths::new(state);
        let (mut count, mut outcome) = (0, Ok(true));
        visit_nodes(&mut |node| {
            if matches!(outcome, Ok(true)) {
                outcome = paths.resolve_path(&node).and_then(|alias_path| {
                    let text = render_node_file(&alias_path, &node)?;
                    let file = self.folder.join(node_file_name(&alias_path));
                    Ok(has_content(&file, &text))
                });
                paths.remember_node(&node);
                count += 1;
            }
        })
        .map_err(io::Error::other)?;
        Ok(outcome? && self.list_files()?.len() == count)
    }

    /// Reads the whole mirror, parents before children; `None` when there is none.
    pub(crate) fn read_contents(&self) -> io::Result<Option<MirrorContents>> {
        let Some(head) = self.read_head_file() else {
            return Ok(None);
        };
        let mut contents = MirrorContents {
            store: head.store,
            nodes: Vec::new(),
            unreadable: Vec::new(),
        };
        for file in self.list_files()? {
            // Unreadable files (a merge conflict, for one) are listed and skipped: the others are
            // still worth recovering.
            let read = fs::read_to_string(self.folder.join(&file))
                .ok()
                .and_then(|text| serde_json::from_str::<ParsedNodeFile>(&text).ok());
            match read {
                Some(file) => {
                    contents.nodes.push(MirroredNode {
                        intact: file.is_intact(),
                        path: file.path,
                        node: file.node,
                    });
                }
                None => contents.unreadable.push(file.display().to_string()),
            }
        }
        contents
            .nodes
            .sort_by_key(|mirrored| (mirrored.path.matches('/').count(), mirrored.node.id));
        Ok(Some(contents))
    }

    /// Marks the mirror as stale because another state replaces the mirrored one. Its files stay,
    /// as the last resort of recovery.
    pub(crate) fn mark_stale(&self) {
        if let Some(head) = self.current_head() {
            let _ = self.write_head_file(&MirrorHead {
                stale: true,
                ..head
            });
        }
    }

    /// Returns the mirrored store's id and the last operation that is exported completely.
    pub(crate) fn mirrored_head(&self) -> Option<(StoreId, OperationId)> {
        self.read_head_file()
            .map(|head| (head.store, head.operation))
    }

    /// Returns the id of the mirrored store.
    pub(crate) fn store_id(&self) -> Option<StoreId> {
        self.read_head_file().map(|head| head.store)
    }

    fn write_node_file(
        &self,
        paths: &mut AliasPaths<'_>,
        id: NodeId,
        operation: &Operation,
    ) -> io::Result<()> {
        let node = paths.state.load_node(id).map_err(io::Error::other)?;
        match node {
            Some(node) => self.write_present_node(paths, &node),
            None => {
                let Some(removed) = operation.facts.iter().find_map(|fact| match fact {
                    Fact::NodeRemoved { node } if node.id == id => Some(node),
                    _ => None,
                }) else {
                    return Ok(());
                };
                match fs::remove_file(
                    self.folder
                        .join(node_file_name(&paths.resolve_path(removed)?)),
                ) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }
        }
    }

    fn write_present_node(&self, paths: &mut AliasPaths<'_>, node: &Node) -> io::Result<()> {
        let alias_path = paths.resolve_path(node)?;
        let path = self.folder.join(node_file_name(&alias_path));
        let text = render_node_file(&alias_path, node)?;
        // Overwritten in place: a new file and a rename cost several times as much, and a torn
        // write is repeated because the head still names the operation before it.
        match overwrite_file(&path, &text) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                crate::private_files::create_private_directory(
                    path.parent().unwrap_or(&self.folder),
                )?;
                create_file(&path, &text)
            }
            other => other,
        }
    }

    fn head_file_path(&self) -> PathBuf {
        self.folder.join("head.json")
    }

    /// Returns the head, unless the mirror is marked stale.
    fn current_head(&self) -> Option<MirrorHead> {
        self.read_head_file().filter(|head| !head.stale)
    }

    fn read_head_file(&self) -> Option<MirrorHead> {
        let text = fs::read_to_string(self.head_file_path()).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Overwrites the head in place: a few bytes, and a torn one only costs a full synchronisation.
    fn write_head_file(&self, head: &MirrorHead) -> io::Result<()> {
        let text = serde_json::to_string_pretty(head).map_err(io::Error::other)? + "\n";
        match overwrite_file(&self.head_file_path(), &text) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_folder()?;
                create_file(&self.head_file_path(), &text)
            }
            other => other,
        }
    }

    fn head_age(&self) -> Option<Duration> {
        fs::metadata(self.head_file_path())
            .ok()?
            .modified()
            .ok()?
            .elapsed()
            .ok()
    }

    /// Lists the node files, relative to the folder, sorted.
    fn list_files(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(self.folder.join(&folder)) {
                Ok(entries) => entries,
                // The folder may not exist yet, or vanish under a `git checkout`.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for entry in entries {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(path);
                // Links and foreign files are not ours to remove or to read.
                } else if kind.is_file()
                    && path.extension().is_some_and(|ending| ending == "json")
                    && path != Path::new("head.json")
                {
                    found.push(path);
                }
            }
        }
        // By bytes: comparing paths takes them apart into their components each time.
        found.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
        Ok(found)
    }
}

/// Alias paths of nodes, with a cache of parents.
struct AliasPaths<'s> {
    state: &'s dyn Snapshot,
    known: HashMap<NodeId, (Option<NodeId>, String)>,
}

impl<'s> AliasPaths<'s> {
    fn new(state: &'s dyn Snapshot) -> Self {
        Self {
            state,
            known: HashMap::new(),
        }
    }

    fn remember_node(&mut self, node: &Node) {
        self.known
            .insert(node.id, (node.parent, node.alias.clone()));
    }

    fn resolve_path(&mut self, node: &Node) -> io::Result<String> {
        let mut parts = vec![node.alias.clone()];
        let mut above = node.parent;
        while let Some(id) = above {
            // A cascade writes many siblings: each ancestor is read from the store once.
            if !self.known.contains_key(&id) {
                let parent = self.state.load_node(id).map_err(io::Error::other)?;
                let parent =
                    parent.ok_or_else(|| io::Error::other("the parent of a node is missing"))?;
                self.remember_node(&parent);
            }
            let (next, alias) = &self.known[&id];
            parts.push(alias.clone());
            above = *next;
        }
        parts.push(node.profile.clone());
        parts.reverse();
        Ok(parts.join("/"))
    }
}

/// Overwrites an existing file in place. Fails on a symbolic link, which may have come with a
/// repository and lead out of it.
fn overwrite_file(path: &Path, text: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    file.write_all(text.as_bytes())?;
    // Truncated after the write: a crash in between leaves trailing bytes, which fail to parse,
    // instead of an empty file.
    file.set_len(text.len() as u64)
}

/// Creates a file that does not exist yet, without a temporary file and a rename: they double the
/// time of exporting a whole tree, and the head vouches for a file only after it was written.
fn create_file(path: &Path, text: &str) -> io::Result<()> {
    crate::private_files::private_open_options()
        .create_new(true)
        .write(true)
        .open(path)?
        .write_all(text.as_bytes())
}

/// Whether a file has exactly this content.
fn has_content(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes())
}

/// The files of all nodes. Their texts are rendered one at a time: together they are a multiple of
/// the nodes' own size.
struct ExpectedFiles {
    nodes: Vec<Node>,
    /// Index of the node and its alias path, by file.
    by_file: HashMap<PathBuf, (usize, String)>,
}

impl ExpectedFiles {
    fn load(state: &dyn Snapshot) -> io::Result<Self> {
        let nodes = state.all_nodes().map_err(io::Error::other)?;
        let mut paths = AliasPaths::new(state);
        nodes.iter().for_each(|node| paths.remember_node(node));
        let mut by_file = HashMap::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let path = paths.resolve_path(node)?;
            by_file.insert(node_file_name(&path), (index, path));
        }
        Ok(Self { nodes, by_file })
    }

    /// Removes a file from the expected ones and renders it; `None` if no node has it.
    fn take_text(&mut self, file: &Path) -> io::Result<Option<String>> {
        let known = self.by_file.remove(file);
        known
            .map(|(index, path)| render_node_file(&path, &self.nodes[index]))
            .transpose()
    }

    /// Renders the files that were not taken, sorted.
    fn into_rest(self) -> impl Iterator<Item = (PathBuf, io::Result<String>)> {
        let Self { nodes, by_file } = self;
        let mut rest: Vec<_> = by_file.into_iter().collect();
        rest.sort();
        rest.into_iter()
            .map(move |(file, (index, path))| (file, render_node_file(&path, &nodes[index])))
    }
}

/// Returns the file of an alias path: `story/act-1/chapter-02` is in `story/act-1/chapter-02.json`.
fn node_file_name(alias_path: &str) -> PathBuf {
    PathBuf::from(format!("{alias_path}.json"))
}

/// Whether an operation moves nodes: every file below has another path then, and the old paths are
/// not in the fact.
fn moves_nodes(operation: &Operation) -> bool {
    operation
        .facts
        .iter()
        .any(|fact| matches!(fact, Fact::NodeMoved { .. } | Fact::NodeRenamed { .. }))
}

/// Returns the nodes an operation changed, each once, in the order of its facts.
fn touched_nodes(operation: &Operation) -> Vec<NodeId> {
    let mut seen = HashSet::new();
    operation
        .facts
        .iter()
        .flat_map(Fact::changed_nodes)
        .filter(|id| seen.insert(*id))
        .collect()
}

impl MirrorContents {
    /// Returns the nodes, with new ids where two have the same (after a git merge) and without the
    /// approval of nodes that are not intact.
    pub(crate) fn into_unique_nodes(self) -> Vec<Node> {
        let mut by_path: HashMap<String, NodeId> = HashMap::new();
        let mut used = HashSet::new();
        let mut next = self
            .nodes
            .iter()
            .map(|mirrored| mirrored.node.id.0)
            .max()
            .unwrap_or(0)
            + 1;
        let mut nodes = Vec::new();
        for mirrored in self.nodes {
            let mut node = mirrored.node;
            let parent_path = mirrored
                .path
                .rsplit_once('/')
                .map(|(parent, _)| parent)
                .unwrap_or_default();
            let parent = by_path.get(parent_path).copied();
            // The parent's file is missing or unreadable. `profile/alias` has no parent by design.
            if parent_path.contains('/') && parent.is_none() {
                continue;
            }
            // A node that does not come after its parent, as after a git merge of two branches or a
            // move, gets a new id.
            let in_order = parent.is_none_or(|parent| parent < node.id);
            if !in_order || !used.insert(node.id) {
                node.id = NodeId(next);
                next += 1;
                used.insert(node.id);
            }
            node.parent = parent;
            // An approval is the one thing worth forging by editing a file.
            if !mirrored.intact {
                node.approval = None;
            }
            by_path.insert(mirrored.path, node.id);
            nodes.push(node);
        }
        nodes
    }
}
