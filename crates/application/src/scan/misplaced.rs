//! Files beside plans that look like plans and are read as none: misspelt ones, and second files of one
//! plan. They are reported, never recorded.

use std::collections::VecDeque;

use domain::node::Node;
use domain::ports::{FileStatResult, FolderEntry, FolderEntryKind};
use domain::profile::{
    FilePattern, Level, Profile, ReadAlias, find_expected_path, fit_name_to_folder,
    is_misspelt_plan_folder, locate_plan,
};
use domain::version::BACKUP_FOLDER;

use super::{Misfit, ParentFolder, Scanner};
use crate::context::{Context, Notice};

/// Maximum number of folders that are read below one whose name is misspelt.
const MAX_WALKED_FOLDERS: usize = 100;

fn join_path(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}

/// Lists the files directly in a folder, in a folder in it that is named like a plan, or below one
/// whose name is a misspelt folder of plans, that look like plans, with the paths they should have.
pub(crate) fn list_misplaced_beside(ctx: &Context<'_>, folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |path: String| {
        let expected = find_expected_path(ctx.profiles, &path);
        // Beside the plan itself, another file with such a name is its author's.
        let is_free = |expected: &String| ctx.files.stat_file(expected) == FileStatResult::Missing;
        found.extend(expected.filter(is_free).map(|expected| (path, expected)));
    };
    for entry in ctx.files.list_folder(folder) {
        let path = join_path(folder, &entry.name);
        // Most folders end here, unread: their names are no plan's.
        let may_be_plan = || find_expected_path(ctx.profiles, &format!("{path}/plan.md")).is_some();
        match entry.kind {
            FolderEntryKind::File => add(path),
            FolderEntryKind::Folder if may_be_plan() => {
                let inside = ctx.files.list_folder(&path).into_iter();
                let files = inside.filter(|entry| entry.kind == FolderEntryKind::File);
                files.for_each(|entry| add(join_path(&path, &entry.name)));
            }
            FolderEntryKind::Folder if is_misspelt_plan_folder(ctx.profiles, &entry.name) => {
                list_files_in(ctx, path).into_iter().for_each(&mut add);
            }
            FolderEntryKind::Folder | FolderEntryKind::Other => {}
        }
    }
    found
}

/// Returns the path that a misplaced plan file should have: below the parent that its alias names, if
/// that one is here and has no such plan, or else in the folder where it is. `None` if a person has to
/// decide, or it is no such file.
pub(crate) fn find_place(ctx: &Context<'_>, path: &str) -> Option<String> {
    let expected = find_expected_path(ctx.profiles, path)?;
    let Some(fitting) = fit_name_to_folder(ctx.profiles, path) else {
        return Some(expected);
    };
    let is_free = |path: &String| ctx.files.stat_file(path) == FileStatResult::Missing;
    let folder = locate_plan(ctx.profiles, &expected).and_then(|place| {
        let own = place
            .level
            .file
            .as_ref()?
            .file_for("", place.aliases.last()?);
        Some(
            expected
                .strip_suffix(&own)?
                .trim_end_matches('/')
                .to_owned(),
        )
    });
    let is_here = folder.is_some_and(|folder| !ctx.files.list_folder(&folder).is_empty());
    let named = Some(expected).filter(|_| is_here).filter(is_free);
    named.or_else(|| Some(fitting.path).filter(is_free))
}

/// Lists the files below a folder, of the first [`MAX_WALKED_FOLDERS`] folders.
fn list_files_in(ctx: &Context<'_>, top: String) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = VecDeque::from([top]);
    for _ in 0..MAX_WALKED_FOLDERS {
        let Some(folder) = folders.pop_front() else {
            break;
        };
        for entry in ctx.files.list_folder(&folder) {
            let path = join_path(&folder, &entry.name);
            match entry.kind {
                FolderEntryKind::Folder => folders.push_back(path),
                FolderEntryKind::File => files.push(path),
                FolderEntryKind::Other => {}
            }
        }
    }
    files
}

/// Reports what looks like a plan in the folder of the project. The scan does not: that folder changes
/// too often to be cached.
pub(crate) fn report_misplaced_at_root(ctx: &Context<'_>) {
    for (path, expected) in list_misplaced_beside(ctx, "") {
        ctx.push_notice(Notice::NotAtItsPlace { path, expected });
    }
}

impl<'a> Scanner<'_, 'a> {
    /// Reports an entry beside plans that looks like a plan, but is spelled otherwise.
    pub(super) fn report_misplaced(
        &self,
        level: &Level,
        pattern: &FilePattern,
        above: &ParentFolder,
        entry: &FolderEntry,
    ) {
        // With two layouts in one folder, each sees the other's files; the first reports.
        let is_first = level.file_patterns().next() == Some(pattern);
        if self.ctx.has_planned_files() || !is_first {
            return;
        }
        let folder = pattern.listing_folder(&above.folder);
        let path = match folder.as_str() {
            "" => entry.name.clone(),
            _ => format!("{folder}/{}", entry.name),
        };
        match entry.kind {
            // It has another entry after every recorded edit, which would end the scan cache.
            FolderEntryKind::Folder if entry.name == BACKUP_FOLDER => {}
            FolderEntryKind::Folder => self.report_misplaced_in(&path),
            FolderEntryKind::File => self.report_wrong_place(path),
            FolderEntryKind::Other => {}
        }
    }

    /// Reports the files of a folder that look like plans.
    pub(super) fn report_misplaced_in(&self, folder: &str) {
        for entry in self.files.list_folder(folder) {
            if entry.kind == FolderEntryKind::File {
                self.report_wrong_place(format!("{folder}/{}", entry.name));
            }
        }
    }

    /// Reports what looks like a plan in a folder where the folders of plans are expected.
    pub(super) fn report_misplaced_beside(&self, folder: &str) {
        if self.ctx.has_planned_files() {
            return;
        }
        for (path, expected) in list_misplaced_beside(self.ctx, folder) {
            let notice = Notice::NotAtItsPlace { path, expected };
            self.ctx.push_notice(notice);
        }
    }

    fn report_wrong_place(&self, path: String) {
        if let Some(expected) = find_expected_path(self.ctx.profiles, &path) {
            let notice = Notice::NotAtItsPlace { path, expected };
            self.ctx.push_notice(notice);
        }
    }

    /// Notes a file whose alias names another parent. Below a new folder it may be the plan of one
    /// that was renamed, which is known when everything is compared.
    pub(super) fn note_misfit(
        &mut self,
        profile: &'a Profile,
        level: &'a Level,
        above: &ParentFolder,
        read: ReadAlias,
        path: String,
    ) {
        let is_below_new = above.id.is_some_and(|id| id.0 >= self.first_node);
        if !is_below_new || self.ctx.has_planned_files() {
            self.report_wrong_parent(path, &read.alias);
            return;
        }
        self.misfits.push(Misfit {
            profile,
            level,
            parent: above.id,
            read,
            path,
        });
    }

    /// Reports the file of a recorded plan whose alias names another parent, as after its parent's
    /// folder was renamed.
    pub(super) fn report_misfit(
        &self,
        level: &Level,
        above: &ParentFolder,
        path: &str,
        alias: &str,
    ) {
        // Most levels end here: the rest reads every alias.
        if above.id.is_none() || !level.alias.contains_parent() || self.ctx.has_planned_files() {
            return;
        }
        let read = level.alias.parse_exact_alias(alias, &level.numbers);
        if read.is_some_and(|read| !read.belongs_to(&above.alias, above.number)) {
            self.report_fitting_name(path);
        }
    }

    /// Reports the path that a plan should have in the folder of its parent.
    pub(super) fn report_fitting_name(&self, path: &str) {
        if let Some(fitting) = fit_name_to_folder(self.ctx.profiles, path) {
            self.ctx.push_notice(Notice::NotAtItsPlace {
                path: path.to_owned(),
                expected: fitting.path,
            });
        }
    }

    /// Reports a plan whose alias names another parent than the one it lies below.
    pub(super) fn report_wrong_parent(&self, path: String, alias: &str) {
        self.ctx.push_notice(match find_place(self.ctx, &path) {
            Some(expected) => Notice::NotAtItsPlace { path, expected },
            None => {
                let why = format!(
                    "`{alias}` does not belong to this parent: the parent's number in its id differs"
                );
                Notice::Misplaced { path, why }
            }
        });
    }

    /// Whether a file is the second one of a plan, in another layout: the first counts.
    pub(super) fn is_second_file(
        &mut self,
        pattern: &FilePattern,
        namesake: Option<&Node>,
        path: &str,
        above: &ParentFolder,
        level: &Level,
        alias: &str,
    ) -> bool {
        if level.other_files.is_empty() || pattern.has_slug() {
            return false;
        }
        let is_here = |file: &str| file != path && !self.is_file_gone(file);
        let recorded = namesake.and_then(|node| node.path.clone());
        let others = level.file_patterns();
        let mut found = others.map(|pattern| pattern.file_for(&above.folder, alias));
        let first = recorded.filter(|file| is_here(file));
        // Of two new files the pattern of new plans comes first.
        let first = first.or_else(|| found.find(|file| file == path || is_here(file)));
        let Some(first) = first.filter(|file| file != path) else {
            return false;
        };
        // A folder without the plan in it is no second file.
        if !self.is_file_gone(path) {
            let why = format!("`{alias}` has a plan already: {first}");
            let path = path.to_owned();
            self.ctx.push_notice(Notice::Misplaced { path, why });
        }
        true
    }
}
