//! Kind of project a directory holds, judged by the names in it: which profiles `tl init` enables.
//!
//! Names alone decide, and no file is opened: one listing is enough for a repository of any size.
//! A wrong guess costs one command, because `tl init --profile NAME` adds the other one.

/// The names directly in a directory.
#[derive(Clone, Debug, Default)]
pub struct DirectoryListing {
    pub folders: Vec<String>,
    pub files: Vec<String>,
}

/// The profiles that fit a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedKind {
    pub profiles: Vec<&'static str>,
    /// The name that decided; `None` if nothing did, and the profiles are the default.
    pub because: Option<String>,
}

/// Folders of a manuscript or of its plans.
const STORY_FOLDERS: [&str; 4] = ["acts", "manuscript", "chapters", "scenes"];

/// Projects of writing programs: Scrivener's is a folder, the others are files.
const STORY_EXTENSIONS: [&str; 3] = ["scriv", "nwx", "fountain"];

const TICKET_FOLDER: &str = "tickets";

/// Files that every build tool or package manager keeps at the root of a code repository.
const CODE_MANIFESTS: [&str; 24] = [
    "Cargo.toml",
    "package.json",
    "deno.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Pipfile",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "rebar.config",
    "CMakeLists.txt",
    "meson.build",
    "Package.swift",
    "pubspec.yaml",
    "build.zig",
    "dune-project",
    "stack.yaml",
];

const CODE_FOLDERS: [&str; 3] = ["src", "lib", "cmd"];

const CODE_EXTENSIONS: [&str; 24] = [
    "rs", "py", "js", "mjs", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cc", "cpp", "cs",
    "csproj", "sln", "rb", "php", "swift", "ex", "hs", "sh", "cabal",
];

/// Returns the profiles for a directory. A manuscript goes before code, because a book often has a
/// build script beside it, and code has no acts.
#[must_use]
pub fn detect_project_kind(listing: &DirectoryListing) -> DetectedKind {
    let folder = |known: &[&str]| {
        let found = listing.folders.iter();
        found
            .filter(|name| known.contains(&name.as_str()))
            .map(|name| format!("{name}/"))
            // The smallest name, because a directory is listed in any order and the message has to
            // be the same.
            .min()
    };
    let extension = |names: &[String], known: &[&str]| {
        names
            .iter()
            .filter(|name| extension_of(name).is_some_and(|it| known.contains(&it)))
            .min()
            .cloned()
    };
    let story = folder(&STORY_FOLDERS)
        .or_else(|| extension(&listing.folders, &STORY_EXTENSIONS))
        .or_else(|| extension(&listing.files, &STORY_EXTENSIONS))
        .or_else(|| listing.files.iter().find(|name| is_chapter(name)).cloned());
    if story.is_some() {
        return DetectedKind {
            profiles: vec!["story"],
            because: story,
        };
    }
    let manifest = CODE_MANIFESTS.iter().find(|known| {
        let mut files = listing.files.iter();
        files.any(|name| name == *known)
    });
    // From the surest sign to the weakest; the first one is the reason that is shown.
    let code = folder(&[TICKET_FOLDER])
        .or_else(|| manifest.map(|name| (*name).to_owned()))
        .or_else(|| folder(&CODE_FOLDERS))
        .or_else(|| extension(&listing.files, &CODE_EXTENSIONS))
        // Tools that plan code, in a repository that has none yet.
        .or_else(|| folder(&PLANNING_TOOLS.map(|tool| tool.folder)));
    if code.is_some() {
        return DetectedKind {
            profiles: vec!["tickets", "trail"],
            because: code,
        };
    }
    DetectedKind {
        profiles: vec!["story"],
        because: None,
    }
}

fn extension_of(name: &str) -> Option<&str> {
    // A hidden file such as `.sh` has a name and no extension.
    name.rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map(|(_, extension)| extension)
}

/// Whether a file is named like a chapter of a manuscript: `chapter-01.md`, `Chapter 3.txt`.
fn is_chapter(name: &str) -> bool {
    let prose = extension_of(name).is_some_and(|it| ["md", "txt", "docx"].contains(&it));
    let name = name.to_lowercase();
    let rest = ["chapter", "глава"]
        .iter()
        .find_map(|word| name.strip_prefix(word));
    prose
        && rest.is_some_and(|rest| {
            rest.trim_start_matches(['-', '_', ' '])
                .starts_with(|first: char| first.is_ascii_digit())
        })
}

/// A planning tool whose files are in the directory too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanningTool {
    pub folder: &'static str,
    pub name: &'static str,
    pub files: ToolFiles,
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
    PlanningTool {
        folder: "openspec",
        name: "OpenSpec",
        files: ToolFiles::Markdown,
    },
    PlanningTool {
        folder: ".specify",
        name: "Spec Kit",
        files: ToolFiles::Markdown,
    },
    PlanningTool {
        folder: "specs",
        name: "Spec Kit",
        files: ToolFiles::Markdown,
    },
    PlanningTool {
        folder: ".kiro",
        name: "Kiro",
        files: ToolFiles::Markdown,
    },
    PlanningTool {
        folder: "backlog",
        name: "Backlog.md",
        files: ToolFiles::Markdown,
    },
    PlanningTool {
        folder: ".beads",
        name: "Beads",
        files: ToolFiles::Records,
    },
    PlanningTool {
        folder: ".taskmaster",
        name: "Task Master",
        files: ToolFiles::Records,
    },
];

/// Returns the other planning tools with files here, each once.
#[must_use]
pub fn find_planning_tools(listing: &DirectoryListing) -> Vec<PlanningTool> {
    let mut found: Vec<PlanningTool> = Vec::new();
    for tool in PLANNING_TOOLS {
        let is_here = listing.folders.iter().any(|name| name == tool.folder);
        // Spec Kit has two folders, and is named once.
        if is_here && found.iter().all(|known| known.name != tool.name) {
            found.push(tool);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(folders: &[&str], files: &[&str]) -> (String, Option<String>) {
        let listing = DirectoryListing {
            folders: folders.iter().map(|name| (*name).to_owned()).collect(),
            files: files.iter().map(|name| (*name).to_owned()).collect(),
        };
        let kind = detect_project_kind(&listing);
        (kind.profiles.join(","), kind.because)
    }

    #[test]
    fn code_gets_tickets_and_a_manuscript_a_story() {
        for (folders, files, profiles, because) in [
            (
                &["tests"][..],
                &["Cargo.toml"][..],
                "tickets,trail",
                "Cargo.toml",
            ),
            (&["src", "docs"], &["README.md"], "tickets,trail", "src/"),
            (&[], &["main.py", "README.md"], "tickets,trail", "main.py"),
            (&["tickets"], &[], "tickets,trail", "tickets/"),
            (&[".beads", "docs"], &[], "tickets,trail", ".beads/"),
            (&["openspec"], &["AGENTS.md"], "tickets,trail", "openspec/"),
            (&["acts"], &["Makefile"], "story", "acts/"),
            (&["acts", "src"], &["package.json"], "story", "acts/"),
            (&["Novel.scriv"], &[], "story", "Novel.scriv"),
            (&["content"], &["nwProject.nwx"], "story", "nwProject.nwx"),
            (&[], &["Chapter 1.md"], "story", "Chapter 1.md"),
            (&[], &["Глава 2.txt"], "story", "Глава 2.txt"),
        ] {
            let expected = (profiles.to_owned(), Some(because.to_owned()));
            assert_eq!(detect(folders, files), expected, "{folders:?} {files:?}");
        }
    }

    #[test]
    fn names_that_say_nothing_leave_the_default() {
        for (folders, files) in [
            (&[][..], &[][..]),
            (&[".git"], &["README.md", "LICENSE", ".sh"]),
            (&["notes"], &["chapters-of-accounts.md", "chapter.md"]),
        ] {
            assert_eq!(detect(folders, files), ("story".to_owned(), None));
        }
    }

    #[test]
    fn each_planning_tool_is_found_once() {
        let listing = DirectoryListing {
            folders: [".specify", "specs", ".beads", "src"]
                .map(str::to_owned)
                .to_vec(),
            files: Vec::new(),
        };
        let found: Vec<&str> = find_planning_tools(&listing)
            .iter()
            .map(|tool| tool.folder)
            .collect();
        assert_eq!(found, [".specify", ".beads"]);
    }
}
