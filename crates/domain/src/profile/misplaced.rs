//! Files that look like plans but fit no pattern, and the path they should have.
//!
//! Tolerant where [`super::locate_plan`] is exact: other spellings of a number (`chapter-1`, `act-01`,
//! `Act 5`, `глава-3`, `11`), another case (`Plan.md`), another plan's file name (`plan.md` for
//! `strategic-plan.md`), a missing suffix (`scene-0207.md`), a missing or misspelt folder
//! (`act-1/chapter-09/plan.md`, `act-1/chapter/chapter-09/plan.md`) or the folder of another parent
//! (`scene-0207` in chapter 1). A file without any of a level's words is not a plan.

use super::{FilePattern, Level, Profile, ReadAlias, locate_output, locate_plan, parent_folder};
use crate::version::BACKUP_FOLDER;

/// Returns the path a file should have that looks like a plan; `None` if it is one, or is none.
#[must_use]
pub fn find_expected_path(profiles: &[Profile], path: &str) -> Option<String> {
    // Most files of a repository end here.
    if !path.to_lowercase().ends_with(".md") || path.split('/').any(|part| part == BACKUP_FOLDER) {
        return None;
    }
    if locate_plan(profiles, path).is_some() || locate_output(profiles, path).is_some() {
        return None;
    }
    let parts: Vec<&str> = path.split('/').collect();
    profiles.iter().find_map(|profile| {
        let mut roots = profile
            .levels
            .iter()
            .filter(|level| level.root && !level.is_flat());
        roots.find_map(|level| expect_below(profile, level, &parts, None, ""))
    })
}

/// Whether a folder is likely to be one in which plans lie, under another spelling of its name:
/// `Chapters` or `chapter` for `chapters`.
#[must_use]
pub fn is_misspelt_plan_folder(profiles: &[Profile], name: &str) -> bool {
    let levels = profiles.iter().flat_map(|profile| &profile.levels);
    levels.filter(|level| !level.is_flat()).any(|level| {
        level.file_patterns().any(|pattern| {
            let listed = pattern.listing_folder("");
            !listed.is_empty() && listed != name && is_spelling_of(level, name, &listed)
        })
    })
}

/// A name that a plan should have instead of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FittingName {
    pub alias: String,
    pub path: String,
}

/// Returns the name that a plan should have below the parent in whose folder it lies, as after that
/// folder was renamed; `None` if its alias names this parent, or none.
#[must_use]
pub fn fit_name_to_folder(profiles: &[Profile], path: &str) -> Option<FittingName> {
    profiles.iter().find_map(|profile| {
        let mut levels = profile.levels.iter();
        levels.find_map(|level| {
            let is_misfit = level.alias.contains_parent();
            let mut patterns = level.file_patterns().filter(|_| is_misfit);
            patterns.find_map(|pattern| fit_name(profiles, profile, level, pattern, path))
        })
    })
}

fn fit_name(
    profiles: &[Profile],
    profile: &Profile,
    level: &Level,
    pattern: &FilePattern,
    path: &str,
) -> Option<FittingName> {
    let depth = pattern.file_for("", "").split('/').count();
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.truncate(parts.len().checked_sub(depth)?);
    let (folder, name) = (parts.join("/"), *parts.last()?);
    let entry = pattern.entry_of(&folder, path)?;
    let alias = pattern.alias_in(entry)?;
    let read = level.alias.parse_exact_alias(alias, &level.numbers)?;
    let above = profile
        .levels
        .iter()
        .filter(|it| level.under.contains(&it.name));
    let parent = above.flat_map(Level::file_patterns).find_map(|pattern| {
        let plan = format!("{folder}/{}", pattern.file_name(pattern.alias_in(name)?));
        let place = locate_plan(profiles, &plan)?;
        level.under.contains(&place.level.name).then_some(place)
    })?;
    let above = parent.aliases.last()?;
    let number = parent.level.number_of(above);
    if read.belongs_to(above, number) {
        return None;
    }
    let alias = level.alias.format_below(read.number?, above, number)?;
    let entry = pattern.rename_entry(entry, &alias)?;
    let path = pattern.file_at(&folder, &entry, &alias);
    Some(FittingName { alias, path })
}

/// The parent of an entry.
struct EntryParent<'a> {
    level: &'a Level,
    alias: &'a str,
    number: Option<u32>,
    /// The folder of its own parent.
    folder: &'a str,
}

impl EntryParent<'_> {
    /// Returns the folder of the sibling that an alias names as its parent.
    fn sibling_folder(&self, read: &ReadAlias) -> Option<String> {
        let name = match (&read.parent_name, read.parent_number) {
            (Some(name), _) => name.clone(),
            (None, number) => number?.to_string(),
        };
        let sibling = self.level.read_alias(&name).ok()?.alias;
        let plan = self.level.file.as_ref()?.file_for(self.folder, &sibling);
        Some(parent_folder(&plan).to_owned())
    }
}

/// Matches the parts of a path against a level and the levels below it.
fn expect_below(
    profile: &Profile,
    level: &Level,
    parts: &[&str],
    above: Option<&EntryParent<'_>>,
    folder: &str,
) -> Option<String> {
    level.file_patterns().find_map(|pattern| {
        let listed = strip_folders(level, pattern, parts);
        // The folder of the level may be missing, but not the word of the plan too.
        let place = match listed {
            Some(_) => EntryPlace::Listed,
            None => EntryPlace::Elsewhere,
        };
        let (entry, rest) = listed.unwrap_or(parts).split_first()?;
        let fits =
            |read: &ReadAlias| above.is_none_or(|above| read.belongs_to(above.alias, above.number));
        let read = read_entry(level, pattern, entry, place, &fits)
            .or_else(|| read_entry(level, pattern, entry, place, &|_| true))?;
        let sibling = match above.filter(|_| !fits(&read)) {
            Some(above) => Some(above.sibling_folder(&read)?),
            None => None,
        };
        let folder = sibling.as_deref().unwrap_or(folder);
        let alias = read.alias;
        let expected = level.file.as_ref()?.file_for(folder, &alias);
        if rest.is_empty() {
            // A file `chapter-3.md` outside of its folder is a user's manuscript.
            let is_plan = pattern.entry_is_file() || place == EntryPlace::Listed;
            let is_markdown = entry.to_lowercase().ends_with(".md");
            return (is_plan && is_markdown).then_some(expected);
        }
        let parent = EntryParent {
            level,
            alias: &alias,
            number: level.number_of(&alias),
            folder,
        };
        let below = parent_folder(&expected).to_owned();
        let mut levels = profile
            .levels_under(&level.name)
            .filter(|level| !level.is_flat());
        // First of a level below: `scene-0209-blueprint.md` beside the chapter's plan is no other
        // chapter's plan.
        let of_below =
            levels.find_map(|level| expect_below(profile, level, rest, Some(&parent), &below));
        of_below.or_else(|| match rest {
            [name] if !pattern.entry_is_file() => {
                is_plan_name(name, &pattern.file_name(&alias), &alias).then_some(expected)
            }
            _ => None,
        })
    })
}

/// Where an entry lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryPlace {
    /// In the folder in which its level's plans lie.
    Listed,
    Elsewhere,
}

/// Removes the folders of a pattern from the start of a path, also if they are misspelt.
fn strip_folders<'p, 's>(
    level: &Level,
    pattern: &FilePattern,
    parts: &'s [&'p str],
) -> Option<&'s [&'p str]> {
    let listing = pattern.listing_folder("");
    let folders: Vec<&str> = listing.split('/').filter(|part| !part.is_empty()).collect();
    let (head, rest) = parts.split_at_checked(folders.len())?;
    let same = head
        .iter()
        .zip(&folders)
        .all(|(name, listed)| is_spelling_of(level, name, listed));
    same.then_some(rest)
}

/// Whether a name is another case of a folder's name, or a word of the level: `scene` for `scenes`.
fn is_spelling_of(level: &Level, name: &str, listed: &str) -> bool {
    let lower = name.to_lowercase();
    lower == listed.to_lowercase() || is_level_word(level, &lower)
}

/// Whether a word in lower case is a label of a level, or its name.
fn is_level_word(level: &Level, word: &str) -> bool {
    let mut labels = level.labels.iter().chain([&level.name]);
    labels.any(|label| label.trim_end_matches('.').to_lowercase() == word)
}

/// Reads the alias in a folder or file name that may be spelled otherwise.
fn read_entry(
    level: &Level,
    pattern: &FilePattern,
    entry: &str,
    place: EntryPlace,
    fits: &dyn Fn(&ReadAlias) -> bool,
) -> Option<ReadAlias> {
    if place == EntryPlace::Elsewhere && !level.alias.is_numbered() {
        return None;
    }
    let stem = match pattern.entry_is_file() {
        true => strip_markdown(entry)?,
        false => entry,
    };
    let exact = pattern.alias_in(entry).filter(|_| !pattern.has_slug());
    // `scene-0207_blueprint`, `scene-0207 plan`: the alias is the part before.
    let cut = stem
        .char_indices()
        .filter(|(_, c)| matches!(c, '-' | '_' | ' ' | '.'))
        .map(|(at, _)| stem.get(..at).unwrap_or_default());
    let mut candidates: Vec<&str> = exact.into_iter().chain([stem]).chain(cut).collect();
    // The longest first: `interlude-04` before `interlude`.
    candidates.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let read = |name: &str| level.read_alias(name).ok().filter(fits);
    let is_number = |name: &str| name.chars().all(|c| c.is_ascii_digit());
    let mut names = candidates.iter().copied();
    let exact = names.find_map(|name| read(name).filter(|_| !is_number(name)));
    let mut names = candidates.iter().copied();
    exact.or_else(|| {
        names.find_map(|name| {
            let digits = labelled_number(level, name)?;
            // A number alone is the name of a folder, in the folder of its level.
            let is_bare = digits == name;
            let may_be_bare =
                name == stem && place == EntryPlace::Listed && !pattern.entry_is_file();
            (!is_bare || may_be_bare).then(|| read(digits)).flatten()
        })
    })
}

/// Returns the number at the end of a name that has one of the level's words before it, or nothing.
fn labelled_number<'s>(level: &Level, stem: &'s str) -> Option<&'s str> {
    let word = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = stem.get(word.len()..).filter(|digits| !digits.is_empty())?;
    let word = word.trim_end_matches(['-', '_', ' ', '.']).to_lowercase();
    (word.is_empty() || is_level_word(level, &word)).then_some(digits)
}

fn strip_markdown(name: &str) -> Option<&str> {
    let at = name.len().checked_sub(3)?;
    let (stem, end) = (name.get(..at)?, name.get(at..)?);
    end.eq_ignore_ascii_case(".md").then_some(stem)
}

/// Whether a file in the folder of a plan is likely to be its plan.
fn is_plan_name(name: &str, expected: &str, alias: &str) -> bool {
    let Some(stem) = strip_markdown(name) else {
        return false;
    };
    let (stem, expected) = (stem.to_lowercase(), expected.to_lowercase());
    let words = ["plan", "blueprint", "план"];
    name.to_lowercase() == expected
        || stem == alias
        || words.iter().any(|word| {
            let is_word = |part: &str| part == *word;
            stem.split(['-', '_', ' ', '.']).any(is_word)
        })
}

#[cfg(test)]
mod tests {
    use super::{find_expected_path, fit_name_to_folder};
    use crate::profile::built_in_profile;

    #[test]
    fn a_plan_in_a_renamed_folder_gets_the_number_of_that_folder() {
        let profiles: Vec<_> = built_in_profile("story").into_iter().collect();
        let cases = [
            ("scene-0301-blueprint.md", Some("scene-0501-blueprint.md")),
            (
                "scene-0302/scene-0302-blueprint.md",
                Some("scene-0502/scene-0502-blueprint.md"),
            ),
            (
                "scene-prologue-02-blueprint.md",
                Some("scene-0502-blueprint.md"),
            ),
            ("scene-0501-blueprint.md", None),
            ("ideas.md", None),
        ];
        let below = |name: &str| format!("acts/act-1/chapters/chapter-05/scenes/{name}");
        for (name, expected) in cases {
            let found = fit_name_to_folder(&profiles, &below(name)).map(|found| found.path);
            assert_eq!(found, expected.map(below), "{name}");
        }
        let nowhere = "src/chapter-05/scenes/scene-0301-blueprint.md";
        assert_eq!(fit_name_to_folder(&profiles, nowhere), None);
    }

    #[test]
    fn a_file_that_looks_like_a_plan_has_an_expected_path() {
        let profiles: Vec<_> = built_in_profile("story").into_iter().collect();
        let cases = [
            (
                "acts/act-1/chapters/chapter-1/plan.md",
                Some("acts/act-1/chapters/chapter-01/plan.md"),
            ),
            (
                "acts/act-01/strategic-plan.md",
                Some("acts/act-1/strategic-plan.md"),
            ),
            ("acts/act-4/plan.md", Some("acts/act-4/strategic-plan.md")),
            (
                "Acts/act-4/Strategic-Plan.md",
                Some("acts/act-4/strategic-plan.md"),
            ),
            (
                "acts/act-1/chapters/chapter-30/Plan.md",
                Some("acts/act-1/chapters/chapter-30/plan.md"),
            ),
            (
                "acts/act-1/chapters/chapter-01/scenes/scene-0107.md",
                Some("acts/act-1/chapters/chapter-01/scenes/scene-0107-blueprint.md"),
            ),
            (
                "acts/act-1/chapters/chapter-01/scenes/scene-107-blueprint.md",
                Some("acts/act-1/chapters/chapter-01/scenes/scene-0107-blueprint.md"),
            ),
            (
                "acts/act-1/chapters/Prologue/plan.md",
                Some("acts/act-1/chapters/prologue/plan.md"),
            ),
            (
                "chapters/chapter-3/plan.md",
                Some("chapters/chapter-03/plan.md"),
            ),
            (
                "acts/act-1/chapter-09/plan.md",
                Some("acts/act-1/chapters/chapter-09/plan.md"),
            ),
            (
                "act-8/strategic-plan.md",
                Some("acts/act-8/strategic-plan.md"),
            ),
            (
                "acts/act_5/strategic-plan.md",
                Some("acts/act-5/strategic-plan.md"),
            ),
            ("acts/Act 6/plan.md", Some("acts/act-6/strategic-plan.md")),
            (
                "acts/act-1/chapters/глава-3/plan.md",
                Some("acts/act-1/chapters/chapter-03/plan.md"),
            ),
            (
                "acts/act-1/chapters/ch-10/plan.md",
                Some("acts/act-1/chapters/chapter-10/plan.md"),
            ),
            (
                "acts/act-1/chapters/11/plan.md",
                Some("acts/act-1/chapters/chapter-11/plan.md"),
            ),
            (
                "acts/act-1/chapters/chapter-13.md",
                Some("acts/act-1/chapters/chapter-13/plan.md"),
            ),
            (
                "acts/act-1/chapters/chapter-02/scene-0209-blueprint.md",
                Some("acts/act-1/chapters/chapter-02/scenes/scene-0209-blueprint.md"),
            ),
            (
                "acts/act-1/chapter/chapter-07/plan.md",
                Some("acts/act-1/chapters/chapter-07/plan.md"),
            ),
            (
                "act/act-2/strategic-plan.md",
                Some("acts/act-2/strategic-plan.md"),
            ),
            (
                "acts/act-1/chapters/chapter-01/scene/scene-0107-blueprint.md",
                Some("acts/act-1/chapters/chapter-01/scenes/scene-0107-blueprint.md"),
            ),
            (
                "acts/act-1/chapters/chapter-01/scenes/сцена-0101-blueprint.md",
                Some("acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md"),
            ),
            ("acts/act-4.md", Some("acts/act-4/strategic-plan.md")),
            // The number names another parent.
            (
                "acts/act-1/chapters/chapter-01/scenes/scene-0207.md",
                Some("acts/act-1/chapters/chapter-02/scenes/scene-0207-blueprint.md"),
            ),
            (
                "acts/act-1/chapters/chapter-01/scenes/scene-0207-blueprint.md",
                Some("acts/act-1/chapters/chapter-02/scenes/scene-0207-blueprint.md"),
            ),
            // Plans, prose, notes and other people's files.
            ("acts/act-1/chapters/chapter-01/content/scene-0207.md", None),
            ("acts/act-1/chapters/11-notes.md", None),
            ("chapter-3.md", None),
            ("act-1/notes.md", None),
            ("act/plan.md", None),
            ("2024/plan.md", None),
            ("src/act-3/plan.md", None),
            ("acts/act-1/chapters/11/notes.md", None),
            ("acts/act-1/2024.md", None),
            ("acts/act-1/strategic-plan.md", None),
            ("acts/act-1/chapters/chapter-01/content/scene-0107.md", None),
            ("acts/act-1/notes.md", None),
            ("acts/act-1/chapters/chapter-01/scenes/ideas.md", None),
            ("acts/act-1/chapters/chapter-01/backups/plan-2026.md", None),
            ("acts/README.md", None),
            ("docs/plan.md", None),
            ("src/main.rs", None),
            ("plan.md", None),
        ];
        for (path, expected) in cases {
            let found = find_expected_path(&profiles, path);
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }
}
