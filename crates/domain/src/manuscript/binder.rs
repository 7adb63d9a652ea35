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
        let mut chapters: Vec<ManuscriptChapter> =
            self.children.iter().map(Self::to_chapter).collect();
        // A part is no scene: what is written on its document comes first in its first chapter.
        if let Some(first) = chapters.first_mut() {
            let opening = split_scenes(&self.text).into_iter();
            let opening = opening.map(|prose| ManuscriptScene {
                pov: self.pov.clone(),
                prose,
                ..ManuscriptScene::default()
            });
            first.scenes.splice(0..0, opening);
        }
        ManuscriptPart {
            title: self.title.clone(),
            synopsis: self.synopsis.clone(),
            chapters,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect: the text of a document with nested ones was in the plan of the part, and in no scene.
    #[test]
    fn the_text_of_a_part_is_its_first_scene() {
        let item = |title: &str, text: &str, children: Vec<BinderItem>| BinderItem {
            title: Some(title.to_owned()),
            text: text.to_owned(),
            children,
            ..BinderItem::default()
        };
        let scene = item("The gate", "Rain.", Vec::new());
        let book = [item("One", "Fog.", vec![item("Harbour", "", vec![scene])])];
        let parts = build_parts(&book);
        let chapter = &parts[0].chapters[0];
        let prose: Vec<&str> = chapter.scenes.iter().map(|it| it.prose.as_str()).collect();
        assert_eq!(prose, ["Fog.", "Rain."]);
        assert_eq!(parts[0].synopsis, "");
    }
}
