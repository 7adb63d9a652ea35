//! The profiles of a new project: those that were named, or those that fit what is in the directory.

use std::path::Path;

use domain::project_kind::{
    DirectoryListing, PlanningTool, ToolFiles, detect_project_kind, find_planning_tools,
};

/// Maximum number of directory entries that are looked at: what decides is among the first of any
/// real repository's root.
const MAX_ENTRIES: usize = 4_096;

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
    /// Chooses for a directory. `named` wins over anything that is found.
    pub(super) fn for_directory(named: &[String], listing: &DirectoryListing) -> Self {
        if !named.is_empty() {
            return Self {
                names: named.to_vec(),
                because: None,
                is_guess: false,
            };
        }
        let kind = detect_project_kind(listing);
        Self {
            names: kind.profiles.into_iter().map(str::to_owned).collect(),
            is_guess: kind.because.is_none(),
            because: kind.because,
        }
    }
}

/// Lists a directory; one that cannot be read, or does not exist yet, is empty.
pub(super) fn list_directory(root: &Path) -> DirectoryListing {
    let mut listing = DirectoryListing::default();
    for entry in std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .take(MAX_ENTRIES)
    {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => listing.folders.push(name),
            Ok(kind) if kind.is_file() => listing.files.push(name),
            _ => {}
        }
    }
    listing
}

/// Describes what can be done with the files of other planning tools.
pub(super) fn describe_planning_tools(listing: &DirectoryListing) -> Vec<String> {
    find_planning_tools(listing)
        .into_iter()
        .map(|PlanningTool { folder, name, files }| match files {
            ToolFiles::Markdown => format!(
                "`{folder}/` has plans of {name}: a profile of your own puts them under approval where they are \
                 (docs/guides/custom-profiles.md)"
            ),
            ToolFiles::Records => format!(
                "`{folder}/` has issues of {name}, which stay there; to take one over: tl ticket new \"its title\""
            ),
        })
        .collect()
}
