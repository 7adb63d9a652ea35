//! Other planning tools with files in a directory, and what can be done with these.

use super::DirectoryListing;
use crate::profile::Profile;

/// A planning tool whose files are in the directory too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanningTool {
    pub folder: &'static str,
    pub name: &'static str,
    pub files: ToolFiles,
    /// Ends of paths in the folder of which one has to be there; empty if the folder's name is enough.
    /// `specs/` and `backlog/` are folders of anybody.
    signs: &'static [&'static str],
}

/// What can be done with the files of another planning tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFiles {
    /// Markdown files in fixed places: a profile can describe them where they are.
    Markdown,
    /// A database or one file for everything: its items become tickets one by one.
    Records,
}

const PLANNING_TOOLS: [PlanningTool; 7] = [
    markdown_tool("openspec", "OpenSpec", &[]),
    markdown_tool(".specify", "Spec Kit", &[]),
    markdown_tool("specs", "Spec Kit", &["/spec.md", "/plan.md", "/tasks.md"]),
    markdown_tool(".kiro", "Kiro", &[]),
    markdown_tool("backlog", "Backlog.md", &["/config.yml"]),
    PlanningTool {
        folder: ".beads",
        name: "Beads",
        files: ToolFiles::Records,
        signs: &[],
    },
    PlanningTool {
        folder: ".taskmaster",
        name: "Task Master",
        files: ToolFiles::Records,
        signs: &[],
    },
];

const fn markdown_tool(
    folder: &'static str,
    name: &'static str,
    signs: &'static [&'static str],
) -> PlanningTool {
    PlanningTool {
        folder,
        name,
        files: ToolFiles::Markdown,
        signs,
    }
}

impl PlanningTool {
    fn is_in(&self, listing: &DirectoryListing) -> bool {
        let is_sign = |path: &String| {
            path.strip_prefix(self.folder)
                .filter(|rest| rest.starts_with('/'))
                .is_some_and(|rest| self.signs.iter().any(|sign| rest.ends_with(sign)))
        };
        listing.folders.iter().any(|name| name == self.folder)
            && (self.signs.is_empty() || listing.below.iter().any(is_sign))
    }

    /// Whether a profile's plans are in the folder: then its files are under approval already.
    fn is_covered(&self, profile: &Profile) -> bool {
        let files = profile
            .levels
            .iter()
            .filter_map(|level| level.file.as_ref());
        let mut folders = files.map(|file| file.listing_folder(""));
        folders.any(|folder| folder.split('/').next() == Some(self.folder))
    }
}

/// Returns the other planning tools with files here that no profile covers, each once.
#[must_use]
pub fn find_planning_tools(listing: &DirectoryListing, profiles: &[Profile]) -> Vec<PlanningTool> {
    let mut found: Vec<PlanningTool> = Vec::new();
    for tool in PLANNING_TOOLS
        .into_iter()
        .filter(|tool| tool.is_in(listing))
    {
        let is_covered = PLANNING_TOOLS
            .iter()
            .filter(|other| other.name == tool.name)
            .any(|other| profiles.iter().any(|profile| other.is_covered(profile)));
        // Spec Kit has two folders, and is named once.
        if !is_covered && found.iter().all(|known| known.name != tool.name) {
            found.push(tool);
        }
    }
    found
}

/// Returns the folder of the first tool, in the order of the names.
pub(super) fn find_folder(listing: &DirectoryListing) -> Option<String> {
    let tools = PLANNING_TOOLS.iter().filter(|tool| tool.is_in(listing));
    tools.map(|tool| format!("{}/", tool.folder)).min()
}
