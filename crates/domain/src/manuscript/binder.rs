//! A binder: nested documents, whose depth decides what is a part, a chapter or a scene. Scrivener and
//! Longform keep books in this way.

use super::builder::push_block;
use super::markdown::split_scenes;
use super::{ManuscriptChapter, ManuscriptPart, ManuscriptScene};

/// A document with those below it.
#[derive(Clone, Debug, Default)]
pub(super) struct BinderItem {
    pub(super) title: Option<String>,
    pub(super) synopsis: String,
    pub(super) notes: String,
    pub(super) pov: Option<String>,
    /// Its own text, as Markdown.
    pub(super) text: String,
    pub(super) children: Vec<BinderItem>,
}

impl BinderItem {
    /// Returns the number of levels from here down.
    fn depth(&self) -> usize {
        1 + self.children.iter().map(Self::depth).max().unwrap_or(0)
    }

    /// Returns the document alone as a scene.
    fn to_scene(&self) -> ManuscriptScene {
        ManuscriptScene {
            title: self.title.clone(),
            synopsis: self.synopsis.clone(),
            notes: self.notes.clone(),
            pov: self.pov.clone(),
            prose: self.text.clone(),
            ..ManuscriptScene::default()
        }
    }

    /// Collects everything below as scenes; deeper documents are scenes of their own.
    fn collect_scenes(&self, scenes: &mut Vec<ManuscriptScene>) {
        for child in &self.children {
            let scene = child.to_scene();
            // A folder without a text of its own only groups; an empty document is a scene still to
            // be written.
            if !scene.prose.is_empty() || !scene.synopsis.is_empty() || child.children.is_empty() {
                scenes.push(scene);
            }
            child.collect_scenes(scenes);
        }
    }

    fn to_chapter(&self) -> ManuscriptChapter {
        let mut scenes = Vec::new();
        for prose in split_scenes(&self.text) {
            scenes.push(ManuscriptScene {
                pov: self.pov.clone(),
                prose,
                ..ManuscriptScene::default()
            });
        }
        let mut synopsis = self.synopsis.clone();
        match scenes.as_mut_slice() {
            // One text is the scene, and what is known about it is about the scene.
            [only] if self.children.is_empty() => {
                only.synopsis = std::mem::take(&mut synopsis);
                only.notes = self.notes.clone();
            }
            _ => push_block(&mut synopsis, &self.notes),
        }
        self.collect_scenes(&mut scenes);
        ManuscriptChapter {
            title: self.title.clone(),
            synopsis,
            scenes,
        }
    }

    fn to_part(&self) -> ManuscriptPart {
        let mut synopsis = self.synopsis.clone();
        // A part is no scene: what is written on its folder would otherwise be lost.
        push_block(&mut synopsis, &self.text);
        ManuscriptPart {
            title: self.title.clone(),
            synopsis,
            chapters: self.children.iter().map(Self::to_chapter).collect(),
        }
    }
}

/// Returns the parts of a book from its top documents.
pub(super) fn build_parts(items: &[BinderItem]) -> Vec<ManuscriptPart> {
    // Parts, where the top has grandchildren: folders of chapters with scenes.
    let has_parts = items.iter().any(|item| item.depth() > 2);
    let mut parts: Vec<ManuscriptPart> = Vec::new();
    for item in items {
        if has_parts && item.depth() > 2 {
            parts.push(item.to_part());
            continue;
        }
        let chapter = item.to_chapter();
        match parts.last_mut() {
            // A prologue before the first part, an epilogue after the last.
            Some(last) => last.chapters.push(chapter),
            None => parts.push(ManuscriptPart {
                chapters: vec![chapter],
                ..ManuscriptPart::default()
            }),
        }
    }
    for part in &mut parts {
        part.chapters
            .retain(|chapter| !chapter.scenes.is_empty() || !chapter.synopsis.is_empty());
    }
    parts
}
