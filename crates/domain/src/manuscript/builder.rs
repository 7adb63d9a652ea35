//! Builder of manuscripts: readers report headings, breaks and paragraphs in order, and scenes come out.

use super::heading_words::HeadingRank;
use super::{Manuscript, ManuscriptChapter, ManuscriptPart, ManuscriptScene};

/// Collects a manuscript from its headings and paragraphs.
#[derive(Debug, Default)]
pub(super) struct ManuscriptBuilder {
    book: Manuscript,
    /// Paragraphs of the open scene.
    paragraphs: Vec<String>,
    scene: ManuscriptScene,
    /// Whether a chapter was begun, and text belongs to its scenes.
    has_chapter: bool,
    /// Prose below the heading of a part, before its first chapter: an epigraph, or a scene.
    part_opening: String,
}

/// Where prose is split that has no chapter yet.
const KEPT_BREAK: &str = "\n\n* * *\n\n";

impl ManuscriptBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn set_title(&mut self, title: Option<String>, author: Option<String>) {
        // The first one stays: each reader reports its most reliable source first.
        self.book.title = self.book.title.take().or(title);
        self.book.author = self.book.author.take().or(author);
    }

    pub(super) fn leave_out(&mut self, what: String) {
        self.book.left_out.push(what);
    }

    /// Begins what a heading announces.
    pub(super) fn start(&mut self, rank: HeadingRank, title: &str) {
        let title = clean_title(title);
        match rank {
            HeadingRank::Book => self.set_title(title, None),
            HeadingRank::Part => self.start_part(title),
            HeadingRank::Chapter => self.start_chapter(title),
            HeadingRank::Scene => {
                self.finish_scene();
                self.open_chapter();
                self.scene.title = title;
            }
        }
    }

    fn start_part(&mut self, title: Option<String>) {
        self.finish_part();
        self.has_chapter = false;
        self.book.parts.push(ManuscriptPart {
            title,
            ..ManuscriptPart::default()
        });
    }

    fn start_chapter(&mut self, title: Option<String>) {
        self.finish_scene();
        self.open_part();
        self.has_chapter = true;
        let opening = std::mem::take(&mut self.part_opening);
        let Some(part) = self.book.parts.last_mut() else {
            return;
        };
        if !opening.is_empty() {
            // Prose needs a scene, and a chapter of its own would shift the numbers of all others.
            let heading = part.title.as_deref().unwrap_or_default();
            let what = format!(
                "the place of the text below “{heading}”, which is now at the beginning of the chapter after it"
            );
            self.book.left_out.push(what);
        }
        part.chapters.push(ManuscriptChapter {
            title,
            scenes: split_kept_scenes(&opening),
            ..ManuscriptChapter::default()
        });
    }

    /// Ends a part. Prose in one without chapters is a chapter.
    fn finish_part(&mut self) {
        self.finish_scene();
        if self.part_opening.is_empty() {
            return;
        }
        let scenes = split_kept_scenes(&std::mem::take(&mut self.part_opening));
        if let Some(part) = self.book.parts.last_mut() {
            part.chapters.push(ManuscriptChapter {
                scenes,
                ..ManuscriptChapter::default()
            });
        }
    }

    fn open_part(&mut self) {
        if self.book.parts.is_empty() {
            self.book.parts.push(ManuscriptPart::default());
        }
    }

    fn open_chapter(&mut self) {
        if !self.has_chapter {
            // A scene needs a chapter, also in a book without chapter headings.
            self.start_chapter(None);
        }
    }

    /// Ends the scene; the next paragraph begins another one.
    pub(super) fn break_scene(&mut self) {
        if self.has_chapter {
            self.finish_scene();
        } else {
            // Before a chapter it may be an ornament of the title page; `finish` splits there if
            // there is no chapter at all.
            self.paragraphs.push("* * *".to_owned());
        }
    }

    pub(super) fn push_paragraph(&mut self, markdown: &str) {
        let text = markdown.trim();
        if !text.is_empty() {
            self.paragraphs.push(text.to_owned());
        }
    }

    /// Returns the open scene, for what is known about it besides its prose.
    pub(super) fn scene_mut(&mut self) -> &mut ManuscriptScene {
        &mut self.scene
    }

    /// Adds a synopsis to what was begun last: the scene, the chapter or the part.
    pub(super) fn add_synopsis(&mut self, text: &str) {
        let target = match (self.scene.title.is_some(), self.has_chapter) {
            (true, _) => &mut self.scene.synopsis,
            (false, is_chapter) => match self.book.parts.last_mut() {
                Some(part) if is_chapter => match part.chapters.last_mut() {
                    Some(chapter) if self.paragraphs.is_empty() && chapter.scenes.is_empty() => {
                        &mut chapter.synopsis
                    }
                    _ => &mut self.scene.synopsis,
                },
                Some(part) => &mut part.synopsis,
                None => &mut self.scene.synopsis,
            },
        };
        push_block(target, text);
    }

    fn finish_scene(&mut self) {
        let prose = std::mem::take(&mut self.paragraphs).join("\n\n");
        let mut scene = std::mem::take(&mut self.scene);
        if !self.has_chapter {
            // Before the first chapter: of the book, or of the part that was begun.
            match self.book.parts.last_mut() {
                Some(_) => push_block(&mut self.part_opening, &prose),
                None => push_block(&mut self.book.preamble, &prose),
            }
            return;
        }
        scene.prose = prose;
        // Two breaks in a row, or one before the first paragraph, make no scene.
        let is_empty = scene.prose.is_empty() && scene.synopsis.is_empty() && scene.title.is_none();
        let chapter = self
            .book
            .parts
            .last_mut()
            .and_then(|part| part.chapters.last_mut());
        if let Some(chapter) = chapter.filter(|_| !is_empty) {
            chapter.scenes.push(scene);
        }
    }

    /// Returns the manuscript. Text without any chapter is one chapter.
    pub(super) fn finish(mut self) -> Manuscript {
        self.finish_part();
        let has_chapters = self.book.parts.iter().any(|part| !part.chapters.is_empty());
        if !has_chapters && !self.book.preamble.is_empty() {
            let text = std::mem::take(&mut self.book.preamble);
            self.book.parts = vec![ManuscriptPart {
                chapters: vec![ManuscriptChapter {
                    scenes: split_kept_scenes(&text),
                    ..ManuscriptChapter::default()
                }],
                ..ManuscriptPart::default()
            }];
        }
        self.book
    }
}

/// Splits prose that was kept while there was no chapter.
fn split_kept_scenes(text: &str) -> Vec<ManuscriptScene> {
    let scenes = text.split(KEPT_BREAK).map(|prose| ManuscriptScene {
        prose: prose.trim().to_owned(),
        ..ManuscriptScene::default()
    });
    scenes.filter(|scene| !scene.prose.is_empty()).collect()
}

/// Adds a paragraph to a text.
pub(super) fn push_block(text: &mut String, more: &str) {
    let more = more.trim();
    if more.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// Returns a title as one clean line, without the marks of Markdown headings.
pub(super) fn clean_title(title: &str) -> Option<String> {
    let line = crate::text::clean_line(&title.replace('\n', " "));
    let line = line.trim().trim_end_matches('#').trim();
    let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(line).filter(|line| !line.is_empty())
}
