//! Story projects of a given size, made with the program itself.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Length;
use crate::workspace::command;

/// The node that is shown and changed; it is there in every size, with as many neighbours.
pub(crate) const SHOWN: &str = "act-1/chapter-01/scene-0101";

/// How many nodes of which level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    acts: usize,
    chapters_per_act: usize,
    scenes_per_chapter: usize,
    /// Number of chapters with one more scene, to make the total round.
    with_one_more: usize,
}

impl Shape {
    pub(crate) const fn new(
        acts: usize,
        chapters_per_act: usize,
        scenes_per_chapter: usize,
        with_one_more: usize,
    ) -> Self {
        Self {
            acts,
            chapters_per_act,
            scenes_per_chapter,
            with_one_more,
        }
    }

    /// Returns the number of nodes.
    pub(crate) fn node_count(self) -> usize {
        let chapters = self.acts * self.chapters_per_act;
        self.acts + chapters + chapters * self.scenes_per_chapter + self.with_one_more
    }

    /// Returns the path of aliases of every node, parents first.
    pub(crate) fn aliases(self) -> impl Iterator<Item = String> {
        let acts = (1..=self.acts).map(|act| format!("act-{act}"));
        let chapters = self
            .chapters()
            .map(|(act, chapter)| format!("act-{act}/chapter-{chapter:02}"));
        let scenes = self.scenes().map(|(act, chapter, scene)| {
            format!("act-{act}/chapter-{chapter:02}/scene-{chapter:02}{scene:02}")
        });
        acts.chain(chapters).chain(scenes)
    }

    /// Returns the files of the scenes, the last act first.
    pub(crate) fn scene_files(self) -> impl Iterator<Item = String> {
        let scenes: Vec<_> = self.scenes().collect();
        let scenes = scenes.into_iter().rev();
        scenes.map(|(act, chapter, scene)| scene_file(act, chapter, scene))
    }

    fn chapters(self) -> impl Iterator<Item = (usize, usize)> {
        (1..=self.acts)
            .flat_map(move |act| (1..=self.chapters_per_act).map(move |chapter| (act, chapter)))
    }

    /// Returns the scenes; the last chapters have one more.
    fn scenes(self) -> impl Iterator<Item = (usize, usize, usize)> {
        let without_more = self.acts * self.chapters_per_act - self.with_one_more;
        self.chapters()
            .enumerate()
            .flat_map(move |(index, (act, chapter))| {
                let scenes = self.scenes_per_chapter + usize::from(index >= without_more);
                (1..=scenes).map(move |scene| (act, chapter, scene))
            })
    }
}

/// 1 + 9 + 90 nodes.
pub(crate) const SMALL: Shape = Shape {
    acts: 1,
    chapters_per_act: 9,
    scenes_per_chapter: 10,
    with_one_more: 0,
};
/// An act with 20 chapters and 200 scenes.
pub(crate) const ACT_OF_220: Shape = Shape {
    acts: 1,
    chapters_per_act: 20,
    scenes_per_chapter: 10,
    with_one_more: 0,
};
/// 10 + 900 + 9,090 nodes.
pub(crate) const LARGE: Shape = Shape {
    acts: 10,
    chapters_per_act: 90,
    scenes_per_chapter: 10,
    with_one_more: 90,
};

/// 10 + 990 + 49,000 nodes: a story has at most ten acts.
pub(crate) const HUGE: Shape = Shape::new(10, 99, 49, 490);

/// Waits until no file counts as changed a moment ago: such a file may still change unseen, so that every process
/// reads it again. The calls of agents and people are seconds apart.
pub(crate) fn let_files_settle() {
    std::thread::sleep(Duration::from_millis(30));
}

/// A project on disk.
#[derive(Debug)]
pub(crate) struct Story {
    program: PathBuf,
    root: PathBuf,
    home: PathBuf,
}

impl Story {
    /// Makes the project: acts and chapters approved, scenes drafts but for the shown one.
    pub(crate) fn make(
        program: &Path,
        folder: &Path,
        shape: Shape,
        length: Length,
    ) -> Result<Self, String> {
        let story = Self::empty(program, folder)?;
        story.tl(&["init", "--profile", "story"])?;
        story.write_acts(shape)?;
        story.tl(&["status"])?;
        for act in 1..=shape.acts {
            story.tl(&["approve", &format!("act-{act}")])?;
        }
        // Approving nine hundred chapters one by one takes a while; a quick look does with one act's.
        let approved_acts = if length == Length::Quick {
            1
        } else {
            shape.acts
        };
        story.write_chapters(shape)?;
        story.tl(&["status"])?;
        for act in 1..=approved_acts {
            for chapter in 1..=shape.chapters_per_act {
                story.tl(&["approve", &format!("act-{act}/chapter-{chapter:02}")])?;
            }
        }
        story.write_scenes(shape)?;
        story.tl(&["status"])?;
        story.tl(&["approve", SHOWN])?;
        // A file that was only just written is read again next time; let that pass, then bring the mirror
        // up to date, so that the measured commands have nothing of this to make up for.
        std::thread::sleep(Duration::from_millis(200));
        story.tl(&["sync-hashes"])?;
        story.tl(&["repair"])?;
        Ok(story)
    }

    /// Creates a directory for a project that the caller fills.
    pub(crate) fn empty(program: &Path, folder: &Path) -> Result<Self, String> {
        let story = Self {
            program: program.to_owned(),
            root: folder.join("work"),
            home: folder.join("home"),
        };
        std::fs::create_dir_all(&story.root)
            .map_err(|error| format!("cannot make a directory: {error}"))?;
        Ok(story)
    }

    /// The same project, used through another program.
    pub(crate) fn through(self, program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            ..self
        }
    }

    /// Returns a command on this project.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.program);
        command
            .args(arguments)
            .current_dir(&self.root)
            .env("THROUGHLINE_HOME", &self.home);
        command
    }

    /// Returns the absolute path of a file of the project.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Runs a command that must succeed.
    pub(crate) fn tl(&self, arguments: &[&str]) -> Result<(), String> {
        let output = self
            .command(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot start the program: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!(
            "`tl {}` ended with {}: {}",
            arguments.join(" "),
            output.status,
            said.trim()
        ))
    }

    /// Writes every plan.
    pub(crate) fn write_plans(&self, shape: Shape) -> Result<(), String> {
        self.write_acts(shape)?;
        self.write_chapters(shape)?;
        self.write_scenes(shape)
    }

    fn write_acts(&self, shape: Shape) -> Result<(), String> {
        (1..=shape.acts).try_for_each(|act| {
            let file = format!("acts/act-{act}/strategic-plan.md");
            self.write(&file, &plan(&format!("Act {act}"), 40))
        })
    }

    fn write_chapters(&self, shape: Shape) -> Result<(), String> {
        shape.chapters().try_for_each(|(act, chapter)| {
            let file = format!("acts/act-{act}/chapters/chapter-{chapter:02}/plan.md");
            self.write(&file, &plan(&format!("Chapter {chapter}"), 25))
        })
    }

    fn write_scenes(&self, shape: Shape) -> Result<(), String> {
        shape.scenes().try_for_each(|(act, chapter, scene)| {
            let text = plan(&format!("Scene {chapter}.{scene}"), 12);
            self.write(&scene_file(act, chapter, scene), &text)
        })
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), String> {
        write_file(&self.root.join(path), text)
    }
}

fn scene_file(act: usize, chapter: usize, scene: usize) -> String {
    let folder = format!("acts/act-{act}/chapters/chapter-{chapter:02}/scenes");
    format!("{folder}/scene-{chapter:02}{scene:02}-blueprint.md")
}

/// Writes a file, with its folders.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), String> {
    std::fs::create_dir_all(path.parent().unwrap_or(path))
        .and_then(|()| std::fs::File::create(path))
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Returns a plan of a usual kind: a title, who and where, some lines of text.
pub(crate) fn plan(title: &str, lines: usize) -> String {
    let mut text = format!(
        "# {title}\n\n## Characters\n- Mara\n- Teo\n\n## Locations\n- the harbour\n\n## Purpose\n"
    );
    for line in 1..=lines {
        text.push_str(&format!(
            "Line {line} of {title} says what happens and why it has to happen here.\n"
        ));
    }
    text
}
