//! Files that look like plans but fit no pattern, and the path they should have.
//!
//! Tolerant where [`super::locate_plan`] is exact: other spellings of a number (`chapter-1`, `act-01`),
//! another case (`Plan.md`), another plan's file name (`plan.md` for `strategic-plan.md`), a missing
//! suffix (`scene-0207.md`). A file without any of a level's words is not a plan.

use super::{FilePattern, Level, Profile, locate_output, locate_plan, parent_folder};

/// Returns the path a file should have that looks like a plan; `None` if it is one, or is none.
#[must_use]
pub fn find_expected_path(profiles: &[Profile], path: &str) -> Option<String> {
    // Most files of a repository end here.
    if !path.to_lowercase().ends_with(".md") || path.split('/').any(|part| part == "backups") {
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

/// The parent as far as it is known: its alias, number and folder.
type Above<'a> = Option<(&'a str, Option<u32>)>;

/// Matches the parts of a path against a level and the levels below it.
fn expect_below(
    profile: &Profile,
    level: &Level,
    parts: &[&str],
    above: Above<'_>,
    folder: &str,
) -> Option<String> {
    level.file_patterns().find_map(|pattern| {
        let rest = strip_folders(pattern, parts)?;
        let (entry, rest) = rest.split_first()?;
        let alias = read_entry(level, pattern, entry, above)?;
        let expected = level.file.as_ref()?.file_for(folder, &alias);
        if rest.is_empty() {
            return entry.to_lowercase().ends_with(".md").then_some(expected);
        }
        if let [name] = rest
            && !pattern.entry_is_file()
        {
            return is_plan_name(name, &pattern.file_name(&alias), &alias).then_some(expected);
        }
        let mut levels = profile
            .levels_under(&level.name)
            .filter(|level| !level.is_flat());
        let number = level.number_of(&alias);
        let below = parent_folder(&expected).to_owned();
        levels.find_map(|level| expect_below(profile, level, rest, Some((&alias, number)), &below))
    })
}

/// Removes the folders of a pattern from the start of a path, ignoring case.
fn strip_folders<'p, 's>(pattern: &FilePattern, parts: &'s [&'p str]) -> Option<&'s [&'p str]> {
    let listing = pattern.listing_folder("");
    let folders: Vec<&str> = listing.split('/').filter(|part| !part.is_empty()).collect();
    let (head, rest) = parts.split_at_checked(folders.len())?;
    let same = head
        .iter()
        .zip(&folders)
        .all(|(a, b)| a.to_lowercase() == b.to_lowercase());
    same.then_some(rest)
}

/// Reads the alias in a folder or file name that may be spelled otherwise.
fn read_entry(
    level: &Level,
    pattern: &FilePattern,
    entry: &str,
    above: Above<'_>,
) -> Option<String> {
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
    candidates.into_iter().find_map(|name| {
        let is_number = name.chars().all(|c| c.is_ascii_digit());
        let read = level.read_alias(name).ok().filter(|_| !is_number)?;
        let fits = above.is_none_or(|(alias, number)| read.belongs_to(alias, number));
        fits.then_some(read.alias)
    })
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
    use super::find_expected_path;
    use crate::profile::built_in_profile;

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
            // Plans, prose, notes and other people's files.
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
