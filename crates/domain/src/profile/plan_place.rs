//! Maps a file path to the node it is the plan of, from the profile's patterns alone.
//!
//! Independent of the store, so that hooks can judge an edit of a plan that was never recorded.

use super::{Level, Profile, parent_folder};

/// Position of a plan file in its tree.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanPlace<'p> {
    pub profile: &'p Profile,
    pub level: &'p Level,
    /// Aliases from the root down; the last one is the node's own.
    pub aliases: Vec<String>,
}

impl PlanPlace<'_> {
    /// Returns the path alias: `act-1/chapter-02`.
    #[must_use]
    pub fn path_alias(&self) -> String {
        self.aliases.join("/")
    }

    /// Returns the parent's path alias.
    #[must_use]
    pub fn parent_alias(&self) -> Option<String> {
        let (_, above) = self.aliases.split_last()?;
        (!above.is_empty()).then(|| above.join("/"))
    }
}

/// Which file of a node is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileRole {
    Plan,
    Output,
    /// A file beside the plan, whose items are the nodes below it.
    Items,
}

/// Returns the node whose plan the file at `path` is or would be; `path` is relative to the
/// project.
#[must_use]
pub fn locate_plan<'p>(profiles: &'p [Profile], path: &str) -> Option<PlanPlace<'p>> {
    locate_file(profiles, path, FileRole::Plan)
}

/// Returns the node whose output (prose, an answer) the file at `path` is or would be.
#[must_use]
pub fn locate_output<'p>(profiles: &'p [Profile], path: &str) -> Option<PlanPlace<'p>> {
    locate_file(profiles, path, FileRole::Output)
}

/// Returns the node beside whose plan the file at `path` lies, if its items are nodes below that one.
#[must_use]
pub fn locate_items<'p>(profiles: &'p [Profile], path: &str) -> Option<PlanPlace<'p>> {
    locate_file(profiles, path, FileRole::Items)
}

fn locate_file<'p>(profiles: &'p [Profile], path: &str, role: FileRole) -> Option<PlanPlace<'p>> {
    let has_role = |profile: &&Profile| match role {
        FileRole::Plan => true,
        FileRole::Output => profile.levels.iter().any(|level| level.output.is_some()),
        FileRole::Items => profile.levels.iter().any(|level| level.items.is_some()),
    };
    profiles.iter().filter(has_role).find_map(|profile| {
        let mut roots = profile.levels.iter().filter(|level| level.root);
        roots.find_map(|level| locate_below(profile, level, path, role, None, &mut Vec::new()))
    })
}

/// Matches `path`, relative to the parent's folder, against a level and the levels below it.
fn locate_below<'p>(
    profile: &'p Profile,
    level: &'p Level,
    path: &str,
    role: FileRole,
    parent_number: Option<u32>,
    aliases: &mut Vec<String>,
) -> Option<PlanPlace<'p>> {
    let parent = aliases.last().cloned();
    let parse_alias = |alias: &str| {
        // Exactly as the pattern writes it: `chapter-2` would otherwise be a second file of
        // `chapter-02`.
        let read = level.alias.parse_exact_alias(alias, &level.numbers)?;
        // `scene-0104` in the folder of chapter 2 belongs to neither chapter.
        let fits = parent
            .as_ref()
            .is_none_or(|parent| read.belongs_to(parent, parent_number));
        fits.then_some(read)
    };
    // An output lies in the folder of the parent, like the plan beside it.
    let output = level.output.as_ref().filter(|_| role == FileRole::Output);
    if let Some((alias, file)) = output.and_then(|pattern| pattern.alias_at(path))
        && file == path
        && let Some(read) = parse_alias(alias)
    {
        let mut aliases = aliases.clone();
        aliases.push(read.alias);
        return Some(PlanPlace {
            profile,
            level,
            aliases,
        });
    }
    level.file_patterns().find_map(|pattern| {
        let (alias, file) = pattern.alias_at(path)?;
        let read = parse_alias(alias)?;
        aliases.push(read.alias.clone());
        let is_wanted = match role {
            FileRole::Plan => file == path,
            FileRole::Output => false,
            FileRole::Items => is_items_file(profile, level, &file, path),
        };
        let found = if is_wanted {
            Some(PlanPlace {
                profile,
                level,
                aliases: aliases.clone(),
            })
        } else if file == path {
            None
        } else {
            let rest = path
                .strip_prefix(parent_folder(&file))
                .and_then(|rest| rest.strip_prefix('/'));
            rest.and_then(|rest| {
                let mut levels = profile
                    .levels_under(&level.name)
                    // Flat levels may be below themselves by front matter, never by path.
                    .filter(|level| !level.is_flat());
                let number = read.number.filter(|_| level.alias.is_numbered());
                levels.find_map(|level| locate_below(profile, level, rest, role, number, aliases))
            })
        };
        // Backtracks: another pattern or level may match the same folder.
        aliases.pop();
        found
    })
}

/// Whether `path` is the file of items beside the plan file of a node.
fn is_items_file(profile: &Profile, level: &Level, plan: &str, path: &str) -> bool {
    let name = match (parent_folder(plan), path) {
        ("", path) => Some(path),
        (folder, path) => path
            .strip_prefix(folder)
            .and_then(|rest| rest.strip_prefix('/')),
    };
    let mut items = profile
        .levels_under(&level.name)
        .filter_map(|level| level.items.as_deref());
    items.any(|items| name == Some(items))
}

#[cfg(test)]
mod tests {
    use super::{locate_items, locate_output, locate_plan};
    use crate::profile::built_in_profile;

    #[test]
    fn an_output_file_says_whose_it_is() {
        let profiles: Vec<_> = built_in_profile("story").into_iter().collect();
        let cases = [
            (
                "acts/act-1/chapters/chapter-02/content/scene-0204.md",
                Some("act-1/chapter-02/scene-0204"),
            ),
            // Its number belongs to another chapter.
            ("acts/act-1/chapters/chapter-02/content/scene-0104.md", None),
            ("acts/act-1/chapters/chapter-02/content/notes.md", None),
            ("acts/act-1/chapters/chapter-02/plan.md", None),
            (
                "acts/act-1/chapters/chapter-02/scenes/scene-0204-blueprint.md",
                None,
            ),
            ("content/scene-0204.md", None),
        ];
        for (path, expected) in cases {
            let found = locate_output(&profiles, path).map(|place| place.path_alias());
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_file_of_items_says_below_which_plan_they_are() {
        let profiles: Vec<_> = ["story", "tickets"]
            .into_iter()
            .filter_map(built_in_profile)
            .collect();
        for (path, expected) in [
            ("tickets/017a-loc/test-definitions.md", Some("017a")),
            ("tickets/017a-loc/ticket.md", None),
            ("tickets/017a-loc/notes/test-definitions.md", None),
            ("tickets/test-definitions.md", None),
            ("acts/act-1/test-definitions.md", None),
            ("test-definitions.md", None),
        ] {
            let found = locate_items(&profiles, path).map(|place| place.path_alias());
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_plan_file_says_whose_it_is() {
        let profiles: Vec<_> = ["story", "tickets"]
            .into_iter()
            .filter_map(built_in_profile)
            .collect();
        let cases = [
            ("acts/act-1/strategic-plan.md", Some("act-1")),
            (
                "acts/act-1/chapters/chapter-02/plan.md",
                Some("act-1/chapter-02"),
            ),
            (
                "acts/act-1/chapters/chapter-02/scenes/scene-0204-blueprint.md",
                Some("act-1/chapter-02/scene-0204"),
            ),
            // Its number belongs to another chapter.
            (
                "acts/act-1/chapters/chapter-02/scenes/scene-0104-blueprint.md",
                None,
            ),
            ("acts/act-1/chapters/chapter-2/plan.md", None),
            ("acts/act-1/chapters/chapter-02/plan.md.bak", None),
            ("acts/act-1/chapters/chapter-02/backups/plan.md", None),
            ("acts/act-1/notes.md", None),
            ("acts/act-12/strategic-plan.md", Some("act-12")),
            (
                "acts/act-1/chapters/prologue/plan.md",
                Some("act-1/prologue"),
            ),
            (
                "acts/act-1/chapters/prologue/scenes/scene-prologue-01-blueprint.md",
                Some("act-1/prologue/scene-prologue-01"),
            ),
            (
                "acts/act-1/chapters/chapter-02/scenes/scene-prologue-01-blueprint.md",
                None,
            ),
            (
                "acts/act-1/chapters/chapter-100/scenes/scene-10001-blueprint.md",
                Some("act-1/chapter-100/scene-10001"),
            ),
            (
                "acts/act-1/chapters/chapter-02/scenes/scene-0204/scene-0204-blueprint.md",
                Some("act-1/chapter-02/scene-0204"),
            ),
            // A book without acts, and one with parts.
            ("chapters/chapter-02/plan.md", Some("chapter-02")),
            (
                "parts/part-2/acts/act-3/strategic-plan.md",
                Some("part-2/act-3"),
            ),
            ("acts", None),
            ("", None),
            ("src/main.rs", None),
        ];
        for (path, expected) in cases {
            assert_eq!(
                locate_plan(&profiles, path)
                    .map(|place| place.path_alias())
                    .as_deref(),
                expected,
                "{path}"
            );
        }
    }
}
