//! Layout of a manuscript as plans and prose: which alias and file each part, chapter and scene gets.
//!
//! The levels come from the profile: scenes are the level with an output, chapters the level above it.

use std::collections::BTreeSet;

use super::{Manuscript, ManuscriptChapter, ManuscriptPart, ManuscriptScene};
use crate::front_matter::set_key;
use crate::node::Node;
use crate::profile::{Level, Profile, parent_folder};
use crate::search::split_words;
use crate::shape::compose_new_text;
use crate::tree::Tree;

/// The plans of a manuscript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportLayout {
    pub plans: Vec<ImportedPlan>,
    /// What the profile has no place for, a sentence each.
    pub left_out: Vec<String>,
}

/// A plan to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedPlan {
    pub level: String,
    /// Path of aliases.
    pub path: String,
    pub title: Option<String>,
    pub file: String,
    pub text: String,
    pub prose: Option<ImportedProse>,
}

/// The prose of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedProse {
    pub file: String,
    pub text: String,
    pub words: usize,
}

/// Why a manuscript does not fit the profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutRefused {
    #[error("the profile `{profile}` has no level whose nodes are written as prose")]
    NoProse { profile: String },
    #[error(
        "the manuscript needs {level} {number}, and the profile `{profile}` has only {first} to {last}"
    )]
    TooMany {
        profile: String,
        level: String,
        number: u32,
        first: u32,
        last: u32,
    },
    #[error("the manuscript has parts of its own, which cannot go below `{under}`")]
    PartsBelow { under: String },
    #[error("chapters do not go below `{under}`")]
    NotAParent { under: String },
}

/// The levels that a manuscript's parts, chapters and scenes become.
struct LevelChain<'p> {
    part: Option<&'p Level>,
    chapter: &'p Level,
    scene: &'p Level,
}

impl<'p> LevelChain<'p> {
    fn of_profile(profile: &'p Profile) -> Result<Self, LayoutRefused> {
        let refused = || LayoutRefused::NoProse {
            profile: profile.name.clone(),
        };
        let above = |level: &Level| {
            level
                .under
                .first()
                .and_then(|name| profile.find_level(name))
        };
        let mut levels = profile.levels.iter();
        let scene = levels
            .find(|level| level.output.is_some() && level.file.is_some())
            .ok_or_else(refused)?;
        let chapter = above(scene).filter(|level| level.file.is_some());
        let chapter = chapter.ok_or_else(refused)?;
        Ok(Self {
            part: above(chapter).filter(|level| level.file.is_some()),
            chapter,
            scene,
        })
    }
}

/// Lays out a manuscript beside the nodes that exist; numbers go on after theirs.
///
/// # Errors
/// When the profile has no place for it.
pub fn lay_out(
    manuscript: &Manuscript,
    profile: &Profile,
    tree: &Tree,
    under: Option<&Node>,
) -> Result<ImportLayout, LayoutRefused> {
    let levels = LevelChain::of_profile(profile)?;
    let has_parts =
        // Without headings there is one part, which stands for none.
        manuscript.parts.len() > 1 || manuscript.parts.iter().any(|part| part.title.is_some());
    let mut planner = LayoutPlanner {
        profile,
        used: tree.nodes().map(|node| tree.alias_path(node)).collect(),
        next_part: next_number(tree, profile, levels.part),
        // Over the whole tree, not below one part: chapters of a book are numbered throughout.
        next_chapter: next_number(tree, profile, Some(levels.chapter)),
        layout: ImportLayout {
            plans: Vec::new(),
            left_out: Vec::new(),
        },
        levels,
    };
    match (under, planner.levels.part) {
        (Some(under), Some(part)) if under.level == part.name && !has_parts => {
            let place = ParentPlace::of_node(tree, under);
            for part in &manuscript.parts {
                planner.add_chapters(part, &place)?;
            }
        }
        (Some(under), Some(part)) => {
            let under_path = tree.alias_path(under);
            return Err(match under.level == part.name {
                true => LayoutRefused::PartsBelow { under: under_path },
                false => LayoutRefused::NotAParent { under: under_path },
            });
        }
        (Some(under), None) => {
            let under = tree.alias_path(under);
            return Err(LayoutRefused::NotAParent { under });
        }
        // Chapters that cannot be at the top get a part, although the manuscript has none.
        (None, Some(level)) if has_parts || !planner.levels.chapter.root => {
            for part in &manuscript.parts {
                planner.add_part(part, level)?;
            }
        }
        (None, _) => {
            for part in &manuscript.parts {
                if let Some(title) = &part.title {
                    let what =
                        format!("the part heading “{title}”: the profile has no level for it");
                    planner.layout.left_out.push(what);
                }
                planner.add_chapters(part, &ParentPlace::default())?;
            }
        }
    }
    Ok(planner.layout)
}

/// Returns the number after the highest of a level.
fn next_number(tree: &Tree, profile: &Profile, level: Option<&Level>) -> u32 {
    let Some(level) = level else {
        return 1;
    };
    let used = tree
        .nodes()
        .filter(|node| node.profile == profile.name && node.level == level.name)
        .filter_map(|node| level.number_of(&node.alias));
    used.max().unwrap_or(0).saturating_add(1)
}

/// Where children go.
#[derive(Clone, Debug, Default)]
struct ParentPlace {
    path: String,
    alias: String,
    file: String,
    number: Option<u32>,
}

impl ParentPlace {
    fn of_node(tree: &Tree, node: &Node) -> Self {
        Self {
            path: tree.alias_path(node),
            alias: node.alias.clone(),
            file: node.path.clone().unwrap_or_default(),
            number: None,
        }
    }

    fn join(&self, alias: &str) -> String {
        match self.path.as_str() {
            "" => alias.to_owned(),
            path => format!("{path}/{alias}"),
        }
    }
}

struct LayoutPlanner<'p> {
    profile: &'p Profile,
    levels: LevelChain<'p>,
    used: BTreeSet<String>,
    next_part: u32,
    next_chapter: u32,
    layout: ImportLayout,
}

impl<'p> LayoutPlanner<'p> {
    fn add_part(&mut self, part: &ManuscriptPart, level: &'p Level) -> Result<(), LayoutRefused> {
        let number = self.next_part;
        self.next_part += 1;
        let alias = self.numbered_alias(level, number, &ParentPlace::default())?;
        let text = compose_plan(level, &alias, part.title.as_deref(), &part.synopsis);
        let place = self.push_plan(
            level,
            alias,
            Some(number),
            &ParentPlace::default(),
            &part.title,
            text,
        );
        self.add_chapters(part, &place)
    }

    fn add_chapters(
        &mut self,
        part: &ManuscriptPart,
        above: &ParentPlace,
    ) -> Result<(), LayoutRefused> {
        let last = part.chapters.len().saturating_sub(1);
        for (at, chapter) in part.chapters.iter().enumerate() {
            self.add_chapter(chapter, above, at == 0, at == last)?;
        }
        Ok(())
    }

    fn add_chapter(
        &mut self,
        chapter: &ManuscriptChapter,
        above: &ParentPlace,
        is_first: bool,
        is_last: bool,
    ) -> Result<(), LayoutRefused> {
        let level = self.levels.chapter;
        let named = self.named_alias(chapter, above, is_first, is_last);
        let (alias, number) = match named {
            Some(alias) => (alias, None),
            None => {
                let number = self.next_chapter;
                self.next_chapter += 1;
                (self.numbered_alias(level, number, above)?, Some(number))
            }
        };
        let text = compose_plan(level, &alias, chapter.title.as_deref(), &chapter.synopsis);
        let place = self.push_plan(level, alias, number, above, &chapter.title, text);
        for (at, scene) in chapter.scenes.iter().enumerate() {
            let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
            self.add_scene(scene, number, &place)?;
        }
        Ok(())
    }

    /// Returns `prologue` and the like, where the title is such a name and the place fits it.
    fn named_alias(
        &self,
        chapter: &ManuscriptChapter,
        above: &ParentPlace,
        is_first: bool,
        is_last: bool,
    ) -> Option<String> {
        let title = chapter.title.as_deref()?.to_lowercase();
        let word = title.split([':', '—', '–', '.']).next()?.trim();
        let level = self.levels.chapter;
        let fits = |name: &str| {
            let read = level.read_alias(name).ok()?;
            let is_free = !self.used.contains(&above.join(&read.alias));
            (read.number.is_none() && is_free).then_some(read)
        };
        // A name sorts before or after all numbers, so it is only taken where that is its place.
        if let Some(read) = fits(word) {
            let is_in_place = if read.order < 0 { is_first } else { is_last };
            return is_in_place.then_some(read.alias);
        }
        // `interlude-04` follows chapter 4: names between numbers carry the number before them.
        let before = self.next_chapter.checked_sub(1)?;
        fits(&format!("{word}-{before}")).map(|read| read.alias)
    }

    fn add_scene(
        &mut self,
        scene: &ManuscriptScene,
        number: u32,
        chapter: &ParentPlace,
    ) -> Result<(), LayoutRefused> {
        let level = self.levels.scene;
        let alias = self.numbered_alias(level, number, chapter)?;
        let text = compose_blueprint(level, &alias, scene);
        // A scene with notes alone has a blueprint and nothing written yet.
        let output = level.output.as_ref().filter(|_| !scene.prose.is_empty());
        let prose = output.map(|pattern| ImportedProse {
            file: pattern.file_for(parent_folder(&chapter.file), &alias),
            text: format!("{}\n", scene.prose.trim()),
            words: split_words(&scene.prose).len(),
        });
        self.push_plan(level, alias, Some(number), chapter, &scene.title, text);
        if let Some(last) = self.layout.plans.last_mut() {
            last.prose = prose;
        }
        Ok(())
    }

    fn numbered_alias(
        &self,
        level: &Level,
        number: u32,
        above: &ParentPlace,
    ) -> Result<String, LayoutRefused> {
        let in_range = level.numbers.contains(&number);
        let alias = level.alias.format_below(number, &above.alias, above.number);
        alias
            .filter(|_| in_range)
            .ok_or_else(|| LayoutRefused::TooMany {
                profile: self.profile.name.clone(),
                level: level.name.clone(),
                number,
                first: *level.numbers.start(),
                last: *level.numbers.end(),
            })
    }

    fn push_plan(
        &mut self,
        level: &Level,
        alias: String,
        number: Option<u32>,
        above: &ParentPlace,
        title: &Option<String>,
        text: String,
    ) -> ParentPlace {
        let folder = parent_folder(&above.file);
        let file = level
            .file
            .as_ref()
            .map(|file| file.file_for(folder, &alias));
        let file = file.unwrap_or_default();
        let path = above.join(&alias);
        self.used.insert(path.clone());
        self.layout.plans.push(ImportedPlan {
            level: level.name.clone(),
            path: path.clone(),
            title: title.clone(),
            file: file.clone(),
            text,
            prose: None,
        });
        ParentPlace {
            path,
            alias,
            file,
            number,
        }
    }
}

/// Composes a plan: the heading of the manuscript, or one by number, and the synopsis.
fn compose_plan(level: &Level, alias: &str, title: Option<&str>, synopsis: &str) -> String {
    let heading = match title {
        Some(title) => format!("# {title}"),
        None => {
            let text = compose_new_text(level, alias, None, None);
            text.lines().next().unwrap_or_default().to_owned()
        }
    };
    match synopsis.trim() {
        "" => format!("{heading}\n"),
        synopsis => format!("{heading}\n\n{synopsis}\n"),
    }
}

/// Composes a scene's blueprint: what the manuscript says about the scene besides its prose.
fn compose_blueprint(level: &Level, alias: &str, scene: &ManuscriptScene) -> String {
    let mut text = compose_plan(level, alias, scene.title.as_deref(), &scene.synopsis);
    // The point of view is present even where the source does not list it.
    let mut characters: Vec<&String> = scene.pov.iter().chain(&scene.characters).collect();
    let mut seen = BTreeSet::new();
    characters.retain(|name| seen.insert(*name));
    let lists = [
        ("Characters", characters),
        ("Locations", scene.locations.iter().collect()),
    ];
    for (heading, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        let names = names.iter().map(|name| format!("- {name}\n"));
        text.push_str(&format!("\n## {heading}\n\n{}", names.collect::<String>()));
    }
    if !scene.notes.is_empty() {
        text.push_str(&format!("\n## Notes\n\n{}\n", scene.notes.trim()));
    }
    match &scene.pov {
        // A JSON string is a YAML string, whatever is in the name.
        Some(pov) => set_key(
            &text,
            "pov",
            &serde_json::Value::from(pov.as_str()).to_string(),
        ),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::markdown::read_markdown;
    use super::*;
    use crate::profile::built_in_profile;

    fn lay_out_markdown(text: &str) -> Result<Vec<(String, String)>, LayoutRefused> {
        let profile = built_in_profile("story").unwrap();
        let layout = lay_out(&read_markdown(text), &profile, &Tree::new(Vec::new()), None)?;
        let plans = layout.plans.into_iter();
        Ok(plans.map(|plan| (plan.path, plan.file)).collect())
    }

    #[test]
    fn chapters_go_on_over_parts_and_keep_their_names() {
        let text = "# Part One\n\n## Prologue\n\nFog.\n\n## The gate\n\nA.\n\n***\n\nB.\n\n# Part Two\n\n## Rain\n\nC.\n\n## Epilogue\n\nD.\n";
        let plans = lay_out_markdown(text).unwrap();
        let paths: Vec<&str> = plans.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "act-1",
                "act-1/prologue",
                "act-1/prologue/scene-prologue-01",
                "act-1/chapter-01",
                "act-1/chapter-01/scene-0101",
                "act-1/chapter-01/scene-0102",
                "act-2",
                "act-2/chapter-02",
                "act-2/chapter-02/scene-0201",
                "act-2/epilogue",
                "act-2/epilogue/scene-epilogue-01",
            ]
        );
        assert_eq!(
            plans[4].1,
            "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md"
        );
    }

    #[test]
    fn a_book_without_parts_has_chapters_at_the_top() {
        let plans = lay_out_markdown("# Chapter 1\n\nA.\n\n# Chapter 2\n\nB.\n").unwrap();
        assert_eq!(plans[0].1, "chapters/chapter-01/plan.md");
    }

    #[test]
    fn more_scenes_than_the_profile_has_numbers_are_refused() {
        let text = format!("# Chapter 1\n{}", "\nText.\n\n***\n".repeat(120));
        let refused = lay_out_markdown(&text).unwrap_err().to_string();
        assert!(refused.contains("scene 100"), "{refused}");
    }

    #[test]
    fn what_is_known_about_a_scene_is_in_its_blueprint() {
        let level = built_in_profile("story").unwrap();
        let level = level.find_level("scene").unwrap();
        let scene = ManuscriptScene {
            synopsis: "Mara is refused.".to_owned(),
            pov: Some("Mara: the \"Salt\"".to_owned()),
            characters: vec!["Ines".to_owned()],
            notes: "Check tides.".to_owned(),
            ..ManuscriptScene::default()
        };
        let text = compose_blueprint(level, "scene-0101", &scene);
        let about = crate::front_matter::parse_front_matter(&text);
        assert_eq!(about.get_text("pov").as_deref(), Some("Mara: the \"Salt\""));
        assert!(
            text.contains("# Scene 0101\n\nMara is refused.\n\n## Characters\n\n- Mara"),
            "{text}"
        );
        assert!(
            text.ends_with("- Ines\n\n## Notes\n\nCheck tides.\n"),
            "{text}"
        );
    }
}
