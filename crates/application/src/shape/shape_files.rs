//! The files of a shape change: which exist, where they go, and what they hold afterwards.

use std::collections::{BTreeMap, HashMap};

use domain::file_writes::is_project_path;
use domain::ids::NodeId;
use domain::ports::{FileReadResult, FileStatResult, FolderEntryKind, PlanFiles};
use domain::profile::{Level, parent_folder};
use domain::shape::FileMoves;
use domain::tree::Tree;

use super::{LeftFileView, MovedFileView};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;

/// Maximum number of files in the folders of plans that are moved.
const MAX_MOVED_FILES: usize = 20_000;

/// The files of a shape change.
pub(super) struct ShapeFiles {
    /// Files that move, with their targets.
    moved: BTreeMap<String, String>,
    /// Texts as they are, by path.
    current: HashMap<String, String>,
    /// New texts, by path afterwards, with the path they had.
    texts: BTreeMap<String, NewFile>,
    removed: Vec<String>,
    /// Files that stay although their plan goes, with the reason.
    left: BTreeMap<String, String>,
}

struct NewFile {
    was: Option<String>,
    text: String,
}

impl ShapeFiles {
    /// Lists the files that move or go, and reads those that move. Others in the folders of moved plans
    /// are left, and `moves` is told so.
    pub(super) fn gather(ctx: &Context<'_>, moves: &mut FileMoves) -> Result<Self, Failure> {
        let is_there =
            |path: &&str| matches!(ctx.files.stat_file(path), FileStatResult::Present(_));
        let own: Vec<String> = moves
            .exact_sources()
            .filter(is_there)
            .map(str::to_owned)
            .collect();
        let mut beside = Vec::new();
        for folder in moves.source_folders() {
            list_files_below(ctx, &folder, &mut beside)?;
        }
        let mut files = Self {
            moved: BTreeMap::new(),
            current: HashMap::new(),
            texts: BTreeMap::new(),
            removed: Vec::new(),
            left: BTreeMap::new(),
        };
        for path in own {
            // A plan without its text would be another plan, so the change is refused.
            if let Some(target) = moves.target_of(&path) {
                let text = read_movable_file(ctx, &path)?;
                files.add_moved(path, target, text);
            }
        }
        for path in beside {
            // A plan is named both by its own path and by the folder of its parent.
            let target = moves.target_of(&path);
            let Some(target) = target.filter(|_| !files.moved.contains_key(&path)) else {
                continue;
            };
            match read_file_beside(ctx, &path)? {
                FileBeside::Text(text) => files.add_moved(path, target, text),
                FileBeside::Left(why) => {
                    moves.leave_file(&path);
                    files.left.extend(why.map(|why| (path, why)));
                }
            }
        }
        let removed = moves.removed_files().filter(is_there);
        files.removed = removed.map(str::to_owned).collect();
        files.list_orphans(ctx, moves)?;
        files.refuse_occupied(ctx)?;
        Ok(files)
    }

    fn add_moved(&mut self, path: String, target: String, text: String) {
        self.current.insert(path.clone(), text);
        self.moved.insert(path, target);
    }

    /// Lists what is left in the folders of removed plans: notes and pictures are their author's.
    fn list_orphans(&mut self, ctx: &Context<'_>, moves: &FileMoves) -> Result<(), Failure> {
        let mut found = Vec::new();
        for folder in moves.removed_folders() {
            list_files_below(ctx, folder, &mut found)?;
        }
        for path in found {
            let is_known = self.is_removed(&path) || self.moved.contains_key(&path);
            if !is_known && !is_system_file(&path) && !path.contains("/backups/") {
                self.left.insert(path, "its plan is removed".to_owned());
            }
        }
        Ok(())
    }

    /// Refuses a move onto a file that stays.
    fn refuse_occupied(&self, ctx: &Context<'_>) -> Result<(), Failure> {
        for (was, target) in &self.moved {
            // Renumbering shifts files onto each other's paths; a target that is itself moved away
            // is free by then.
            let leaves = self.moved.contains_key(target) || self.removed.contains(target);
            if !leaves && !matches!(ctx.files.stat_file(target), FileStatResult::Missing) {
                let what = format!("`{was}` cannot be moved: `{target}` exists already");
                return Err(Failure::conflict(what)
                    .with_step(format!("move `{target}` out of the way, then try again")));
            }
        }
        Ok(())
    }

    /// Returns the text of a file as it is now; `None` if it is missing or unreadable.
    pub(super) fn read_text(&mut self, ctx: &Context<'_>, path: &str) -> Option<String> {
        if let Some(text) = self.current.get(path) {
            return Some(text.clone());
        }
        // From the file: the stored text may be masked.
        match ctx.files.read_file(path, ctx.policy.max_plan_bytes) {
            FileReadResult::Text { text, .. } => {
                self.current.insert(path.to_owned(), text.clone());
                Some(text)
            }
            FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
        }
    }

    /// Returns the text of a file as the change leaves it so far.
    pub(super) fn current_text(&mut self, ctx: &Context<'_>, path: &str) -> String {
        let target = self.target_of(path);
        match self.texts.get(&target) {
            Some(new) => new.text.clone(),
            None => self.read_text(ctx, path).unwrap_or_default(),
        }
    }

    /// Returns where a file is afterwards.
    pub(super) fn target_of(&self, path: &str) -> String {
        self.moved.get(path).map_or(path, String::as_str).to_owned()
    }

    /// Whether a file is removed.
    pub(super) fn is_removed(&self, path: &str) -> bool {
        self.removed.iter().any(|removed| removed == path)
    }

    /// Iterates over the files that move or are removed, by the paths they have now.
    pub(super) fn changed_sources(&self) -> impl Iterator<Item = &str> {
        let sources = self.moved.keys().chain(&self.removed);
        sources.map(String::as_str)
    }

    /// Plans another text for a file that is `path` now and `target` afterwards.
    pub(super) fn write_text(&mut self, path: &str, target: &str, text: String) {
        let new = NewFile {
            was: Some(path.to_owned()),
            text,
        };
        self.texts.insert(target.to_owned(), new);
    }

    /// Plans a new file.
    pub(super) fn create_file(&mut self, path: &str, text: String) -> Result<(), Failure> {
        self.texts
            .insert(path.to_owned(), NewFile { was: None, text });
        Ok(())
    }

    /// Appends the prose of a merged plan to that of the other one.
    pub(super) fn merge_outputs(
        &mut self,
        ctx: &Context<'_>,
        level: &Level,
        tree: &Tree,
        old: NodeId,
        new: NodeId,
    ) {
        let Some(output) = &level.output else { return };
        let file_of = |id: NodeId| {
            let node = tree.get(id)?;
            let above = tree.parent_of(node).and_then(|above| above.path.as_deref());
            let folder = parent_folder(above.unwrap_or_default());
            Some(output.file_for(folder, &node.alias))
        };
        let (Some(from), Some(to)) = (file_of(old), file_of(new)) else {
            return;
        };
        let Some(more) = self.read_text(ctx, &from) else {
            return;
        };
        // Appended and not replaced: both texts are the author's, and none may be lost.
        let text = match self.read_text(ctx, &to) {
            Some(text) => format!("{}\n\n{more}", text.trim_end()),
            None => more,
        };
        let target = self.target_of(&to);
        self.write_text(&to, &target, text);
    }

    /// Plans every write: new texts, moved files, and the files that are no longer there.
    pub(super) fn plan_writes(&self, planned: &PlannedFiles<'_>) -> Result<(), Failure> {
        // All targets before the removals: when two plans swap their paths, each source is also a
        // target and must not be deleted.
        let mut targets: BTreeMap<&str, &str> = BTreeMap::new();
        for (was, target) in &self.moved {
            if let Some(text) = self.current.get(was) {
                targets.insert(target, text);
            }
        }
        for (target, new) in &self.texts {
            targets.insert(target, &new.text);
        }
        for (path, text) in &targets {
            let leaves = self.moved.contains_key(*path) || self.removed.iter().any(|it| it == path);
            let is_new = self.texts.get(*path).is_some_and(|new| new.was.is_none());
            // A new plan never replaces a file that nobody moved away.
            if is_new && !leaves {
                planned.create_file(path, text)?;
            } else {
                planned.put_file(path, Some(text))?;
            }
        }
        for path in self.moved.keys().chain(&self.removed) {
            if !targets.contains_key(path.as_str()) {
                planned.put_file(path, None)?;
            }
        }
        Ok(())
    }

    pub(super) fn created_files(&self) -> Vec<String> {
        let created = self.texts.iter().filter(|(_, new)| new.was.is_none());
        created.map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn moved_files(&self) -> Vec<MovedFileView> {
        let moved = self.moved.iter();
        moved
            .map(|(was, path)| MovedFileView {
                was: was.clone(),
                path: path.clone(),
            })
            .collect()
    }

    pub(super) fn changed_files(&self) -> Vec<String> {
        // Those that moved as well are listed there.
        let changed = self
            .texts
            .iter()
            .filter(|(path, new)| new.was.as_ref() == Some(*path));
        changed.map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn left_files(&self) -> Vec<LeftFileView> {
        let left = self.left.iter();
        left.map(|(path, reason)| LeftFileView {
            path: path.clone(),
            reason: reason.clone(),
        })
        .collect()
    }

    pub(super) fn removed_files(&self) -> Vec<String> {
        self.removed.clone()
    }
}

/// Lists the files in a folder and below it.
pub(crate) fn list_files_below(
    ctx: &Context<'_>,
    folder: &str,
    files: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in ctx.files.list_folder(&folder) {
            let path = format!("{folder}/{}", entry.name);
            match entry.kind {
                FolderEntryKind::Folder => folders.push(path),
                FolderEntryKind::File | FolderEntryKind::Other => files.push(path),
            }
        }
        // Each moved file is read and recorded with its content, so that an interrupted move can be
        // completed: a folder with something else in it must not be taken along.
        if files.len() + folders.len() > MAX_MOVED_FILES {
            let what = format!("`{folder}` has more than {MAX_MOVED_FILES} files");
            return Err(Failure::refused(what)
                .with_step("move the folder by hand; its plans follow their texts"));
        }
    }
    Ok(())
}

/// Reads a plan or its prose, which is moved. One that is not text could not be written again.
fn read_movable_file(ctx: &Context<'_>, path: &str) -> Result<String, Failure> {
    match ctx.files.read_file(path, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => Ok(text),
        FileReadResult::Missing => Err(refuse_moving(path, "it is gone")),
        FileReadResult::Unreadable { why, .. } => Err(refuse_moving(path, &why)),
    }
}

/// Another file in the folder of a plan that is moved.
enum FileBeside {
    Text(String),
    /// It is left, with the reason if a person has to know it.
    Left(Option<String>),
}

/// Reads another file in the folder of a plan. What is written has to be in the redo note as a text: a
/// picture or a link stays, and does not keep the plan from moving.
fn read_file_beside(ctx: &Context<'_>, path: &str) -> Result<FileBeside, Failure> {
    if is_system_file(path) {
        return Ok(FileBeside::Left(None));
    }
    if !is_project_path(path) {
        let why = "hidden files are not moved".to_owned();
        return Ok(FileBeside::Left(Some(why)));
    }
    Ok(match ctx.files.read_file(path, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => FileBeside::Text(text),
        FileReadResult::Missing => FileBeside::Left(None),
        FileReadResult::Unreadable {
            why,
            transient: true,
        } => return Err(refuse_moving(path, &why)),
        FileReadResult::Unreadable { why, .. } => FileBeside::Left(Some(why)),
    })
}

fn refuse_moving(path: &str, why: &str) -> Failure {
    let what = format!("`{path}` cannot be moved with its plan: {why}");
    Failure::refused(what).with_step(format!("move `{path}` out of the folder, then try again"))
}

/// Whether a file is made by a file manager in every folder it shows.
fn is_system_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    [".DS_Store", "Thumbs.db", "desktop.ini"].contains(&name)
}
