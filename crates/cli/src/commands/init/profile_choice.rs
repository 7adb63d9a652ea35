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

/// Lists a directory; one that cannot be read, or does not exist yet, is empty.
pub(super) fn list_directory(root: &Path) -> DirectoryListing {
    let mut listing = DirectoryListing::default();
    for entry in std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .take(MAX_ENTRIES)
    {
        // Names that decide are ASCII; another one says nothing about the kind of project.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // Links are neither: what they lead to may lie outside of the directory.
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
