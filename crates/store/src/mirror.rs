//! The JSON mirror: one readable file per node, for people, git and the last resort.
//!
//! An export, never a second store: it is written after a commit, and `head.json` says up to which
//! operation it is complete; every file carries its sum. What a crash left out is made up for at the next commit.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, StoreId};
use domain::node::Node;
use domain::operation::Operation;
use domain::ports::{Snapshot, StoreFinding, StoreFindingKind};
use serde::{Deserialize, Serialize};

use crate::durable::{Durability, replace};

/// How many files one commit writes at most; a large cascade is caught up with later, by the commits
/// that follow or by the next command that looks at the whole tree.
const FILES_PER_COMMIT: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    format: u32,
    store: StoreId,
    /// Every change up to this operation is in the mirror …
    operation: OperationId,
    /// … and so many nodes of the next one.
    #[serde(default, skip_serializing_if = "is_zero")]
    and_nodes: usize,
    /// Another state took the place of the one this is a mirror of: it is synchronised whole the next time.
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

#[derive(Serialize)]
struct FileOut<'a> {
    path: &'a str,
    node: &'a Node,
    sum: String,
}

#[derive(Deserialize)]
struct FileIn {
    path: String,
    node: Node,
    sum: String,
}

/// A node as the mirror holds it.
pub(crate) struct MirroredNode {
    pub(crate) path: String,
    pub(crate) node: Node,
    /// Whether the file is as it was written; an edited or damaged one is not.
    pub(crate) intact: bool,
}

/// What a whole mirror holds.
pub(crate) struct MirrorContents {
    pub(crate) store: StoreId,
    pub(crate) nodes: Vec<MirroredNode>,
    pub(crate) unreadable: Vec<String>,
}

/// The folder the mirror is in.
pub(crate) struct Mirror {
    folder: PathBuf,
}

impl Mirror {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Writes what `recent` (or what earlier commits left out) changed, a few files at most.
    pub(crate) fn catch_up(
        &self,
        state: &dyn Snapshot,
        recent: &[Operation],
        interval: Duration,
    ) -> io::Result<()> {
        self.catch_up_by(state, recent, interval, FILES_PER_COMMIT)
    }

    /// Writes everything earlier commits left out.
    pub(crate) fn finish(&self, state: &dyn Snapshot, interval: Duration) -> io::Result<()> {
        // A head above the state's is that of a state which was replaced, perhaps on another machine.
        let is_current = |known: Head| {
            state.head().is_ok_and(|now| known.operation == now)
                && state.store_id().is_ok_and(|id| known.store == id)
        };
        if self.current_head().is_some_and(is_current) {
            return Ok(());
        }
        self.catch_up_by(state, &[], interval, usize::MAX)
    }

    fn catch_up_by(
        &self,
        state: &dyn Snapshot,
        recent: &[Operation],
        interval: Duration,
        files: usize,
    ) -> io::Result<()> {
        let store = state.store_id().map_err(io::Error::other)?;
        let head = state.head().map_err(io::Error::other)?;
        // Two at once could leave the older of two texts: who comes second leaves it to the next commit.
        let Some(lock) = self.lock()? else {
            return Ok(());
        };
        let mut done = match self.current_head() {
            Some(known) if known.store == store && known.operation <= head => known,
            _ => {
                drop(lock);
                return self.sync(state).map(|_| ());
            }
        };
        if !interval.is_zero() && self.age().is_some_and(|age| age < interval) {
            return Ok(());
        }
        let mut left = files;
        let mut paths = Paths::new(state);
        while done.operation < head && left > 0 {
            let next = done.operation.next();
            let known = recent
                .iter()
                .find(|operation| operation.id == next)
                .cloned();
            let operation = match known {
                Some(operation) => Some(operation),
                None => state.operation(next).map_err(io::Error::other)?,
            };
            let Some(operation) = operation else { break };
            if operation
                .facts
                .iter()
                .any(|fact| matches!(fact, Fact::NodeMoved { .. }))
            {
                // Every file below lies elsewhere now.
                drop(lock);
                return self.sync(state).map(|_| ());
            }
            let touched = touched(&operation);
            // Where a node lay is known from its parents, and those may be gone with it.
            for fact in &operation.facts {
                if let Fact::NodeRemoved { node } = fact {
                    paths.remember(node);
                }
            }
            for id in touched.iter().skip(done.and_nodes).take(left) {
                self.write_node(&mut paths, *id, &operation)?;
                done.and_nodes += 1;
                left -= 1;
            }
            if done.and_nodes >= touched.len() {
                done = Head {
                    operation: next,
                    and_nodes: 0,
                    ..done
                };
            }
        }
        self.write_head(&done)
    }

    /// Makes the whole mirror right and returns how many files had to be written or removed.
    pub(crate) fn sync(&self, state: &dyn Snapshot) -> io::Result<usize> {
        let store = state.store_id().map_err(io::Error::other)?;
        let operation = state.head().map_err(io::Error::other)?;
        let mut changed = 0;
        let mut expected = expected(state)?;
        for file in self.files()? {
            match expected.remove(&file) {
                None => {
                    fs::remove_file(self.folder.join(&file))?;
                    changed += 1;
                }
                Some(text)
                    if fs::read_to_string(self.folder.join(&file)).ok().as_ref() != Some(&text) =>
                {
                    replace(
                        &self.folder.join(&file),
                        text.as_bytes(),
                        Durability::Synced,
                    )?;
                    changed += 1;
                }
                Some(_) => {}
            }
        }
        for (file, text) in expected {
            let path = self.folder.join(&file);
            crate::private::create_directory(path.parent().unwrap_or(&self.folder))?;
            replace(&path, text.as_bytes(), Durability::Atomic)?;
            changed += 1;
        }
        self.write_head(&Head {
            format: 1,
            store,
            operation,
            and_nodes: 0,
            stale: false,
        })?;
        Ok(changed)
    }

    /// Takes the right to write the mirror; `None` when someone else has it.
    fn lock(&self) -> io::Result<Option<fs::File>> {
        let open = || {
            crate::private::open_options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(self.head_path())
        };
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                crate::private::create_directory(&self.folder)?;
                open()?
            }
            other => other?,
        };
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(_) => Ok(None),
        }
    }

    /// Says where the mirror is behind or was changed.
    pub(crate) fn verify(&self, state: &dyn Snapshot) -> io::Result<Vec<StoreFinding>> {
        let head = state.head().map_err(io::Error::other)?;
        let finding = |kind, message: String| StoreFinding { kind, message };
        let at = match self.current_head() {
            Some(known) => known.operation,
            None if head == OperationId(0) => return Ok(Vec::new()),
            None => {
                return Ok(vec![finding(
                    StoreFindingKind::MirrorLag,
                    "there is no mirror yet".to_owned(),
                )]);
            }
        };
        if at < head {
            return Ok(vec![finding(
                StoreFindingKind::MirrorLag,
                format!("the mirror is at operation {at}, the state at {head}"),
            )]);
        }
        let mut expected = expected(state)?;
        let mut findings = Vec::new();
        for file in self.files()? {
            match expected.remove(&file) {
                None => findings.push(finding(
                    StoreFindingKind::MirrorDamaged,
                    format!(
                        "`{}` is in the mirror but belongs to no node",
                        file.display()
                    ),
                )),
                Some(text)
                    if fs::read_to_string(self.folder.join(&file)).ok().as_ref() != Some(&text) =>
                {
                    findings.push(finding(
                        StoreFindingKind::MirrorDamaged,
                        format!("`{}` in the mirror is not what was written", file.display()),
                    ));
                }
                Some(_) => {}
            }
        }
        findings.extend(expected.keys().map(|file| {
            finding(
                StoreFindingKind::MirrorDamaged,
                format!("`{}` is missing from the mirror", file.display()),
            )
        }));
        Ok(findings)
    }

    /// Reads the whole mirror, parents before their children; `None` when there is none.
    pub(crate) fn read(&self) -> io::Result<Option<MirrorContents>> {
        let Some(head) = self.read_head() else {
            return Ok(None);
        };
        let mut contents = MirrorContents {
            store: head.store,
            nodes: Vec::new(),
            unreadable: Vec::new(),
        };
        for file in self.files()? {
            let read = fs::read_to_string(self.folder.join(&file))
                .ok()
                .and_then(|text| serde_json::from_str::<FileIn>(&text).ok());
            match read {
                Some(file) => {
                    let intact = sum(&file.path, &file.node).is_ok_and(|sum| sum == file.sum);
                    contents.nodes.push(MirroredNode {
                        path: file.path,
                        node: file.node,
                        intact,
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

    /// Says that another state takes the place of the mirrored one. What is in the mirror stays, for the last resort.
    pub(crate) fn mark_stale(&self) {
        if let Some(head) = self.current_head() {
            let _ = self.write_head(&Head {
                stale: true,
                ..head
            });
        }
    }

    /// Returns the store the mirror was made from, and up to which operation.
    pub(crate) fn head(&self) -> Option<(StoreId, OperationId)> {
        self.read_head().map(|head| (head.store, head.operation))
    }

    /// Returns the store the mirror was made from.
    pub(crate) fn store(&self) -> Option<StoreId> {
        self.read_head().map(|head| head.store)
    }

    fn write_node(
        &self,
        paths: &mut Paths<'_>,
        id: NodeId,
        operation: &Operation,
    ) -> io::Result<()> {
        let node = paths.state.node(id).map_err(io::Error::other)?;
        match node {
            Some(node) => {
                let alias_path = paths.of(&node)?;
                let path = self.folder.join(file_name(&alias_path));
                let text = render(&alias_path, &node)?;
                // One write over what is there: a new file and a rename cost several times as much, and a
                // write cut short is done again, because the head still names the operation before it.
                match overwrite(&path, &text) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        crate::private::create_directory(path.parent().unwrap_or(&self.folder))?;
                        replace(&path, text.as_bytes(), Durability::Atomic)
                    }
                    other => other,
                }
            }
            None => {
                let Some(removed) = operation.facts.iter().find_map(|fact| match fact {
                    Fact::NodeRemoved { node } if node.id == id => Some(node),
                    _ => None,
                }) else {
                    return Ok(());
                };
                match fs::remove_file(self.folder.join(file_name(&paths.of(removed)?))) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }
        }
    }

    fn head_path(&self) -> PathBuf {
        self.folder.join("head.json")
    }

    /// Returns the head of a mirror that is one of the present state.
    fn current_head(&self) -> Option<Head> {
        self.read_head().filter(|head| !head.stale)
    }

    fn read_head(&self) -> Option<Head> {
        let text = fs::read_to_string(self.head_path()).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Overwrites the head where it is: a few bytes, and a torn one only costs a full synchronisation.
    fn write_head(&self, head: &Head) -> io::Result<()> {
        let text = serde_json::to_string_pretty(head).map_err(io::Error::other)? + "\n";
        match overwrite(&self.head_path(), &text) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                crate::private::create_directory(&self.folder)?;
                replace(&self.head_path(), text.as_bytes(), Durability::Atomic)
            }
            other => other,
        }
    }

    fn age(&self) -> Option<Duration> {
        fs::metadata(self.head_path())
            .ok()?
            .modified()
            .ok()?
            .elapsed()
            .ok()
    }

    /// Returns every node file, relative to the folder, sorted.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(self.folder.join(&folder)) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for entry in entries {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file()
                    && path.extension().is_some_and(|ending| ending == "json")
                    && path != Path::new("head.json")
                {
                    found.push(path);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

/// Path aliases of nodes, each looked up once.
struct Paths<'s> {
    state: &'s dyn Snapshot,
    known: HashMap<NodeId, (Option<NodeId>, String)>,
}

impl<'s> Paths<'s> {
    fn new(state: &'s dyn Snapshot) -> Self {
        Self {
            state,
            known: HashMap::new(),
        }
    }

    fn remember(&mut self, node: &Node) {
        self.known
            .insert(node.id, (node.parent, node.alias.clone()));
    }

    fn of(&mut self, node: &Node) -> io::Result<String> {
        let mut parts = vec![node.alias.clone()];
        let mut above = node.parent;
        while let Some(id) = above {
            if !self.known.contains_key(&id) {
                let parent = self.state.node(id).map_err(io::Error::other)?;
                let parent = parent.ok_or_else(|| io::Error::other("a parent is missing"))?;
                self.remember(&parent);
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

/// Writes a text over what is in a file that is there.
fn overwrite(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

fn expected(state: &dyn Snapshot) -> io::Result<BTreeMap<PathBuf, String>> {
    let nodes = state.all_nodes().map_err(io::Error::other)?;
    let mut paths = Paths::new(state);
    nodes.iter().for_each(|node| paths.remember(node));
    nodes
        .iter()
        .map(|node| {
            let path = paths.of(node)?;
            Ok((file_name(&path), render(&path, node)?))
        })
        .collect()
}

/// `story/act-1/chapter-02` is in `story/act-1/chapter-02.json`.
fn file_name(alias_path: &str) -> PathBuf {
    PathBuf::from(format!("{alias_path}.json"))
}

fn render(path: &str, node: &Node) -> io::Result<String> {
    let file = FileOut {
        path,
        node,
        sum: sum(path, node)?,
    };
    Ok(serde_json::to_string_pretty(&file).map_err(io::Error::other)? + "\n")
}

fn sum(path: &str, node: &Node) -> io::Result<String> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(path.as_bytes());
    hasher.update(
        serde_json::to_string(node)
            .map_err(io::Error::other)?
            .as_bytes(),
    );
    Ok(format!("{:08x}", hasher.finalize()))
}

/// The nodes an operation changed, each once, in the order of its facts.
fn touched(operation: &Operation) -> Vec<NodeId> {
    let mut seen = std::collections::HashSet::new();
    operation
        .facts
        .iter()
        .flat_map(Fact::nodes)
        .filter(|id| seen.insert(*id))
        .collect()
}

impl MirrorContents {
    /// Gives the nodes new numbers where two have the same (after a merge), and drops what is not
    /// intact of a node: its approval.
    pub(crate) fn into_nodes(self) -> Vec<Node> {
        let mut by_path: HashMap<String, NodeId> = HashMap::new();
        let mut used = std::collections::HashSet::new();
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
            if parent_path.contains('/') && parent.is_none() {
                continue;
            }
            let in_order = parent.is_none_or(|parent| parent < node.id);
            if !in_order || !used.insert(node.id) {
                node.id = NodeId(next);
                next += 1;
                used.insert(node.id);
            }
            node.parent = parent;
            if !mirrored.intact {
                node.approval = None;
            }
            by_path.insert(mirrored.path, node.id);
            nodes.push(node);
        }
        nodes
    }
}
