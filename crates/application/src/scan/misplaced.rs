//! Files beside plans that look like plans and are read as none: misspelt ones, and second files of one
//! plan. They are reported, never recorded.

use domain::node::Node;
use domain::ports::{FolderEntry, FolderEntryKind};
use domain::profile::{FilePattern, Level, find_expected_path};

use super::{ParentFolder, Scanner};
use crate::context::Notice;

impl Scanner<'_, '_> {
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

    fn report_wrong_place(&self, path: String) {
        if let Some(expected) = find_expected_path(self.ctx.profiles, &path) {
            let notice = Notice::NotAtItsPlace { path, expected };
            self.ctx.push_notice(notice);
        }
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
