//! Kind of project a directory holds, judged by the names in it: which profiles `tl init` enables, and
//! which manuscript could be imported.
//!
//! Names alone decide, and no file is opened: listing a few folders is enough for a repository of any
//! size. A wrong guess costs one command, because `tl init --profile NAME` adds the other profile.

mod planning_tools;

pub use self::planning_tools::{PlanningTool, ToolFiles, find_planning_tools};

use crate::manuscript::{compare_file_names, is_chapter_name};

/// The names in a directory.
#[derive(Clone, Debug, Default)]
pub struct DirectoryListing {
    pub folders: Vec<String>,
    pub files: Vec<String>,
    /// Files of its folders, by their paths below the directory.
    pub below: Vec<String>,
}

/// The profiles that fit a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedKind {
    pub profiles: Vec<&'static str>,
    /// The name that decided; `None` if nothing did, and the profiles are the default.
    pub because: Option<String>,
    /// What `tl import` would take: a file, or a folder with a text in it.
    pub manuscript: Option<String>,
}

/// Folders of a manuscript or of its plans.
const STORY_FOLDERS: &[&str] = &[
    "acts",
    "chapters",
    "manuscript",
    "manuscripts",
    "manuskript",
    "kapitel",
    "manuscrit",
    "chapitres",
    "manuscrito",
    "capítulos",
    "manoscritto",
    "capitoli",
    "рукопись",
    "главы",
];

/// Folders that a story has, and other projects too: games have scenes.
const FAINT_STORY_FOLDERS: &[&str] = &["scenes", "draft", "drafts", "черновик", "черновики"];

/// Projects of writing programs: Scrivener's is a folder, the others are files.
const STORY_EXTENSIONS: &[&str] = &["scriv", "nwx", "fountain"];

/// Texts of word processors: a manuscript, where nothing else is.
const DOCUMENT_EXTENSIONS: &[&str] = &["docx", "odt", "rtf"];

/// Texts that are imported as a folder.
const PROSE_EXTENSIONS: &[&str] = &["md", "markdown", "txt", "text"];

const TICKET_FOLDER: &str = "tickets";

/// Files that a build tool, package manager or deployment keeps in a code repository.
const CODE_MANIFESTS: &[&str] = &[
    "cargo.toml",
    "package.json",
    "deno.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "pipfile",
    "environment.yml",
    "go.mod",
    "go.work",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "gemfile",
    "composer.json",
    "mix.exs",
    "rebar.config",
    "cmakelists.txt",
    "meson.build",
    "package.swift",
    "pubspec.yaml",
    "build.zig",
    "dune-project",
    "stack.yaml",
    "project.clj",
    "deps.edn",
    "project.godot",
    "module.bazel",
    "workspace.bazel",
    "dockerfile",
    "containerfile",
    "docker-compose.yml",
    "docker-compose.yaml",
    "compose.yaml",
    "compose.yml",
];

const CODE_FOLDERS: &[&str] = &["src", "lib", "cmd"];

const CODE_EXTENSIONS: &[&str] = &[
    "rs", "py", "ipynb", "js", "mjs", "cjs", "ts", "tsx", "jsx", "vue", "svelte", "go", "java",
    "kt", "kts", "scala", "groovy", "c", "h", "cc", "cpp", "hpp", "m", "cs", "fs", "vb", "csproj",
    "fsproj", "sln", "rb", "php", "swift", "dart", "ex", "exs", "erl", "elm", "hs", "cabal", "ml",
    "clj", "cljs", "zig", "nim", "jl", "r", "lua", "pl", "gd", "sol", "tf", "nix", "sql", "proto",
    "asm", "f90",
];

/// Names that code has, and a book with a build script or a web page too.
const FAINT_CODE_FILES: &[&str] = &["makefile", "justfile", "vagrantfile"];
const FAINT_CODE_FOLDERS: &[&str] = &[".github", ".gitlab"];
const FAINT_CODE_EXTENSIONS: &[&str] = &[
    "sh", "bash", "ps1", "html", "htm", "css", "scss", "bat", "mk",
];

/// Returns the profiles for a directory. A manuscript goes before code, because a book often has a
/// build script beside it, and code has no acts.
#[must_use]
pub fn detect_project_kind(listing: &DirectoryListing) -> DetectedKind {
    let has_more_prose = count_chapters_below(listing) > count_code_below(listing);
    // From the surest sign to the weakest; the first one is the reason that is shown.
    let story = find_story(listing).or_else(|| {
        find_story_below(listing).filter(|_| has_more_prose && find_root_code(listing).is_none())
    });
    let code = || {
        find_root_code(listing)
            .or_else(|| find_code_below(listing))
            // Tools that plan code, in a repository that has none yet.
            .or_else(|| planning_tools::find_folder(listing))
    };
    let faint = || find_faint_story(listing).map(|because| (STORY, because));
    let decided = story
        .map(|because| (STORY, because))
        .or_else(|| code().map(|because| (CODE, because)))
        .or_else(faint)
        .or_else(|| find_faint_code(listing).map(|because| (CODE, because)));
    let (profiles, because) = match decided {
        Some((profiles, because)) => (profiles, Some(because)),
        None => (STORY, None),
    };
    DetectedKind {
        profiles: profiles.to_vec(),
        manuscript: because
            .as_deref()
            .filter(|_| profiles == STORY)
            .and_then(|because| find_manuscript(listing, because)),
        because,
    }
}

const STORY: &[&str] = &["story"];
const CODE: &[&str] = &["tickets", "trail"];

fn find_story(listing: &DirectoryListing) -> Option<String> {
    find_folder(listing, STORY_FOLDERS)
        .or_else(|| find_by_extension(&listing.folders, STORY_EXTENSIONS))
        .or_else(|| find_by_extension(&listing.files, STORY_EXTENSIONS))
        .or_else(|| find_first(&listing.files, is_chapter_file))
}

fn find_story_below(listing: &DirectoryListing) -> Option<String> {
    find_first(&listing.below, |path| is_chapter_file(file_name(path)))
}

fn find_faint_story(listing: &DirectoryListing) -> Option<String> {
    find_by_extension(&listing.files, DOCUMENT_EXTENSIONS)
        .or_else(|| find_folder(listing, FAINT_STORY_FOLDERS))
        .or_else(|| find_story_below(listing))
}

fn find_root_code(listing: &DirectoryListing) -> Option<String> {
    find_folder(listing, &[TICKET_FOLDER])
        .or_else(|| find_first(&listing.files, is_manifest))
        .or_else(|| find_folder(listing, CODE_FOLDERS))
        .or_else(|| find_by_extension(&listing.files, CODE_EXTENSIONS))
}

fn find_code_below(listing: &DirectoryListing) -> Option<String> {
    find_first(&listing.below, |path| is_manifest(file_name(path)))
        .or_else(|| find_by_extension(&listing.below, CODE_EXTENSIONS))
}

fn find_faint_code(listing: &DirectoryListing) -> Option<String> {
    let is_build_file = |name: &str| is_one_of(name, FAINT_CODE_FILES);
    find_first(&listing.files, is_build_file)
        .or_else(|| find_by_extension(&listing.files, FAINT_CODE_EXTENSIONS))
        .or_else(|| find_by_extension(&listing.below, FAINT_CODE_EXTENSIONS))
        .or_else(|| find_folder(listing, FAINT_CODE_FOLDERS))
}

/// Returns what `tl import` would take of a story that was found by a name in the directory.
fn find_manuscript(listing: &DirectoryListing, because: &str) -> Option<String> {
    let Some(folder) = because.strip_suffix('/') else {
        return match (extension_of(because).as_deref(), because.rsplit_once('/')) {
            // A screenplay is recognised, and is no format of an import.
            (Some("fountain"), _) => None,
            (Some("md" | "txt" | "text" | "markdown"), Some((folder, _))) => {
                Some(folder.to_owned())
            }
            (Some("md" | "txt" | "text" | "markdown"), None) => Some(".".to_owned()),
            _ => Some(because.to_owned()),
        };
    };
    let start = format!("{folder}/");
    let inside: Vec<String> = listing
        .below
        .iter()
        .filter(|path| path.starts_with(&start))
        .cloned()
        .collect();
    match find_by_extension(&inside, PROSE_EXTENSIONS) {
        Some(_) => Some(folder.to_owned()),
        None => find_by_extension(&inside, DOCUMENT_EXTENSIONS),
    }
}

fn count_chapters_below(listing: &DirectoryListing) -> usize {
    let is_chapter = |path: &&String| is_chapter_file(file_name(path));
    listing.below.iter().filter(is_chapter).count()
}

fn count_code_below(listing: &DirectoryListing) -> usize {
    let is_code = |path: &&String| {
        is_manifest(file_name(path))
            || extension_of(path).is_some_and(|it| CODE_EXTENSIONS.contains(&it.as_str()))
    };
    listing.below.iter().filter(is_code).count()
}

fn find_folder(listing: &DirectoryListing, known: &[&str]) -> Option<String> {
    let found = find_first(&listing.folders, |name| is_one_of(name, known))?;
    Some(format!("{found}/"))
}

fn find_by_extension(names: &[String], known: &[&str]) -> Option<String> {
    find_first(names, |name| {
        extension_of(name).is_some_and(|it| known.contains(&it.as_str()))
    })
}

/// Returns the outermost path, and of several the first by its numbers and letters: a directory is
/// listed in any order, and the message has to be the same.
fn find_first(names: &[String], is_wanted: impl Fn(&str) -> bool) -> Option<String> {
    let depth = |path: &str| path.matches('/').count();
    names
        .iter()
        .filter(|name| is_wanted(name))
        .min_by(|one, other| {
            depth(one)
                .cmp(&depth(other))
                .then_with(|| compare_file_names(one, other))
        })
        .cloned()
}

fn is_manifest(name: &str) -> bool {
    is_one_of(name, CODE_MANIFESTS)
}

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.contains(&name.to_lowercase().as_str())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn extension_of(path: &str) -> Option<String> {
    // A hidden file such as `.sh` has a name and no extension.
    file_name(path)
        .rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map(|(_, extension)| extension.to_lowercase())
}

/// Whether a file is named like a chapter of a manuscript: `chapter-01.md`, `Глава первая.txt`.
fn is_chapter_file(name: &str) -> bool {
    let is_prose = extension_of(name).is_some_and(|it| {
        PROSE_EXTENSIONS.contains(&it.as_str()) || DOCUMENT_EXTENSIONS.contains(&it.as_str())
    });
    is_prose && is_chapter_name(name)
}

#[cfg(test)]
mod tests;
