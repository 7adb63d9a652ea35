//! Compiles the written scenes into a book, in the order of the plan.

use domain::book_export::{Book, Chapter};
use domain::prose::{ProseBasis, find_stale_reason};
use domain::record;
use domain::tick::TickState;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::observe::observe_plans;
use crate::tick::story_state::{novel_name, prose_path, read_prose};

/// A book, with its statistics.
#[derive(Clone, Debug)]
pub struct CompiledNovel {
    pub book: Book,
    pub view: CompiledView,
}

/// The content of the book, for output.
#[derive(Clone, Debug, Serialize)]
pub struct CompiledView {
    pub title: String,
    pub chapters: usize,
    pub scenes: usize,
    pub words: usize,
    /// Scenes of the plan without prose.
    pub missing: Vec<String>,
    /// Scenes whose prose no longer follows from their plan.
    pub stale: Vec<StaleScene>,
}

/// A scene whose prose no longer follows from its plan.
#[derive(Clone, Debug, Serialize)]
pub struct StaleScene {
    pub path: String,
    pub reason: String,
}

/// Compiles the book.
///
/// # Errors
/// When nothing is written yet, or the state cannot be read.
pub fn compile_novel(ctx: &Context<'_>) -> Result<CompiledNovel, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let tick_state = record::read_record::<TickState>(&*state, TickState::KEY)?.unwrap_or_default();
    let mut book = Book {
        title: novel_name(&tick_state),
        identifier: format!("urn:throughline:{}", state.store_id()?),
        // EPUB's `dcterms:modified` allows no fractions of a second.
        modified: ctx
            .clock
            .now()
            .to_string()
            .split('.')
            .next()
            .map(|at| format!("{}Z", at.trim_end_matches('Z')))
            .unwrap_or_default(),
        chapters: Vec::new(),
    };
    let (mut missing, mut stale, mut words, mut last) = (Vec::new(), Vec::new(), 0, None);
    for node in tree
        .all_preorder()
        .into_iter()
        .filter(|node| prose_path(ctx, &tree, node).is_some())
    {
        let path = tree.alias_path(node);
        let Some(text) = read_prose(ctx, &tree, &path) else {
            missing.push(path);
            continue;
        };
        let basis = record::read_record::<ProseBasis>(&*state, &node.id.0.to_string())?;
        if let Some(reason) = find_stale_reason(node, basis) {
            stale.push(StaleScene { path, reason });
        }
        words += domain::search::split_words(&text).len();
        // A chapter starts with its first written scene, so that empty chapters do not appear in
        // the book.
        if last != node.parent || book.chapters.is_empty() {
            let parent = tree.parent_of(node);
            let title = parent.map(|parent| {
                parent
                    .description
                    .title
                    .clone()
                    .unwrap_or_else(|| parent.alias.clone())
            });
            book.chapters.push(Chapter {
                title: title.unwrap_or_default(),
                scenes: Vec::new(),
            });
            last = node.parent;
        }
        book.chapters
            .last_mut()
            .expect("BUG: one was pushed")
            .scenes
            .push(text);
    }
    let scenes = book
        .chapters
        .iter()
        .map(|chapter| chapter.scenes.len())
        .sum();
    if scenes == 0 {
        return Err(Failure::not_found("nothing is written yet").with_step("tl story write --next"));
    }
    let view = CompiledView {
        title: book.title.clone(),
        chapters: book.chapters.len(),
        scenes,
        words,
        missing,
        stale,
    };
    Ok(CompiledNovel { book, view })
}
