//! The profiles of a new project: those that were named, or those that fit what is in the directory.

use std::path::{Path, PathBuf};

use domain::documentation::guide_address;
use domain::profile::Profile;
use domain::project_kind::{
    DirectoryListing, PlanningTool, ToolFiles, detect_project_kind, find_planning_tools,
};

/// Maximum number of directory entries that are looked at: what decides is among the first of any
/// real repository, and the listing takes milliseconds.
const MAX_ENTRIES: usize = 4_096;
/// Maximum depth of folders below the directory: `services/api/internal/server.go`.
const MAX_DEPTH: usize = 3;
/// Folders of what others wrote or a build made; hidden ones are not entered either.
const FOREIGN_FOLDERS: [&str; 7] = [
    "node_modules",
    "target",
    "vendor",
    "build",
    "dist",
    "venv",
    "__pycache__",
];

/// The profiles to enable, and why.
#[derive(Debug)]
pub(super) struct ProfileChoice {
    pub(super) names: Vec<String>,
    /// The file or folder that decided; `None` if the profiles were named, or nothing decided.
    pub(super) because: Option<String>,
    /// Nothing was named and nothing was found: the default may be wrong.
    pub(super) is_guess: bool,
}

impl ProfileChoice {
    /// Chooses for a directory. `named` wins over anything that is found; where its own names say
    /// nothing, those at the root of its repository do.
    pub(super) fn for_directory(
        named: &[String],
        listing: &DirectoryListing,
        repository: Option<&Path>,
    ) -> Self {
        if !named.is_empty() {
            return Self {
                names: named.to_vec(),
                because: None,
                is_guess: false,
            };
        }
        let mut kind = detect_project_kind(listing);
        // A project in an empty folder of a repository with code is for that code.
        if let (None, Some(root)) = (&kind.because, repository) {
            kind = detect_project_kind(&list_directory(root));
            let found = kind.because.iter_mut();
            found.for_each(|name| *name = format!("{name} in {}", root.display()));
        }
        Self {
            names: kind.profiles.into_iter().map(str::to_owned).collect(),
            is_guess: kind.because.is_none(),
            because: kind.because,
        }
    }
}

/// Returns the root of the repository that a directory lies in, unless it is that root itself.
pub(super) fn find_repository_above(directory: &Path) -> Option<&Path> {
    let root = directory
        .ancestors()
        .find(|above| above.join(".git").exists())?;
    (root != directory).then_some(root)
}

/// Lists a directory and the folders below it, the outer ones first; one that cannot be read, or does
/// not exist yet, is empty.
pub(super) fn list_directory(root: &Path) -> DirectoryListing {
    let mut listing = DirectoryListing::default();
    let mut left = MAX_ENTRIES;
    let mut folders = vec![(root.to_owned(), String::new())];
    for depth in 0..=MAX_DEPTH {
        let mut inner: Vec<(PathBuf, String)> = Vec::new();
        for (folder, below) in folders {
            for (name, is_folder) in read_entries(&folder, &mut left) {
                let path = format!("{below}{name}");
                if is_folder && is_entered(&name) {
                    inner.push((folder.join(&name), format!("{path}/")));
                }
                match (depth, is_folder) {
                    (0, true) => listing.folders.push(name),
                    (0, false) => listing.files.push(name),
                    (_, true) => {}
                    (_, false) => listing.below.push(path),
                }
            }
        }
        folders = inner;
    }
    listing
}

fn is_entered(folder: &str) -> bool {
    !folder.starts_with('.') && !FOREIGN_FOLDERS.contains(&folder)
}

/// Returns the names in a folder, and whether each is a folder.
fn read_entries(folder: &Path, left: &mut usize) -> Vec<(String, bool)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .take_while(|_| {
            let is_within = *left > 0;
            *left = left.saturating_sub(1);
            is_within
        })
        .filter_map(|entry| {
            // A name that is not Unicode says nothing about the kind of project.
            let name = entry.file_name().into_string().ok()?;
            let kind = entry.file_type().ok()?;
            // Links are neither: what they lead to may lie outside of the directory.
            (kind.is_dir() || kind.is_file()).then_some((name, kind.is_dir()))
        })
        .collect()
}

/// Describes what can be done with the files of other planning tools that no profile covers.
pub(super) fn describe_planning_tools(
    listing: &DirectoryListing,
    profiles: &[Profile],
) -> Vec<String> {
    find_planning_tools(listing, profiles)
        .into_iter()
        .map(|PlanningTool { folder, name, files, .. }| match files {
            ToolFiles::Markdown => format!(
                "`{folder}/` has plans of {name}: a profile of your own puts them under approval where they are \
                 ({})",
                guide_address("custom-profiles")
            ),
            ToolFiles::Records => format!(
                "`{folder}/` has issues of {name}, which stay there; to take one over: tl ticket new \"its title\""
            ),
        })
        .collect()
}
