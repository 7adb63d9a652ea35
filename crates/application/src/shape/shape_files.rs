//! The files of a shape change: which exist, where they go, and what they hold afterwards.

use std::collections::{BTreeMap, HashMap};

use domain::ids::NodeId;
use domain::ports::{FileReadResult, FileStatResult, FolderEntryKind, PlanFiles};
use domain::profile::{Level, parent_folder};
use domain::shape::FileMoves;
use domain::tree::Tree;

use super::MovedFileView;
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
}

struct NewFile {
    was: Option<String>,
    text: String,
}

impl ShapeFiles {
    /// Lists the files that move or go, and reads those that move.
    pub(super) fn gather(ctx: &Context<'_>, moves: &FileMoves) -> Result<Self, Failure> {
        let mut sources: Vec<String> = moves
            .exact_sources()
            .filter(|path| matches!(ctx.files.stat_file(path), FileStatResult::Present(_)))
            .map(str::to_owned)
            .collect();
        for folder in moves.source_folders() {
            list_files_below(ctx, &folder, &mut sources)?;
        }
        let mut files = Self {
            moved: BTreeMap::new(),
            current: HashMap::new(),
            texts: BTreeMap::new(),
            removed: Vec::new(),
        };
        for path in sources {
            let Some(target) = moves.target_of(&path) else {
                continue;
            };
            // A plan may be named both by its own path and by the folder of its parent.
            if !files.moved.contains_key(&path) {
                let text = read_movable_file(ctx, &path)?;
                files.current.insert(path.clone(), text);
                files.moved.insert(path, target);
            }
        }
        let is_there =
            |path: &&str| matches!(ctx.files.stat_file(path), FileStatResult::Present(_));
        let removed = moves.removed_files().filter(is_there);
        files.removed = removed.map(str::to_owned).collect();
        files.refuse_occupied(ctx)?;
        Ok(files)
    }

    /// Refuses a move onto a file that stays.
    fn refuse_occupied(&self, ctx: &Context<'_>) -> Result<(), Failure> {
        for (was, target) in &self.moved {
            // Renumbering shifts files onto each other's paths; a target that is itself moved away
            // is free by then.
            let leaves = self.moved.contains_key(target) || self.removed.contains(target);
            if !leaves && !matches!(ctx.files.stat_file(target), FileStatResult::Missing) {
                let what = format!("`{was}` cannot be moved: there is a `{target}` already");
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

/// Reads a file that is moved. One that is not text could not be written again.
fn read_movable_file(ctx: &Context<'_>, path: &str) -> Result<String, Failure> {
    let why = match ctx.files.read_file(path, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => return Ok(text),
        FileReadResult::Missing => "it is gone".to_owned(),
        FileReadResult::Unreadable { why, .. } => why,
    };
    let what = format!("`{path}` cannot be moved with its plan: {why}");
    Err(Failure::refused(what)
        .with_step(format!("move `{path}` out of the folder, then try again")))
}
