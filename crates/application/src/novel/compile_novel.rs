//! Compiles the written scenes into a book, in the order of the plan.

use domain::book_export::{Book, BookPart, BookScene, Chapter};
use domain::ids::NodeId;
use domain::node::Node;
use domain::ports::Snapshot;
use domain::prose::{ProseBasis, find_stale_reason};
use domain::record;
use domain::tick::TickState;
use domain::tree::Tree;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::find_node;
use crate::observe::observe_plans;
use crate::tick::story_state::{novel_name, prose_path, read_book_details, read_prose};

/// Request of [`compile_novel`].
#[derive(Clone, Debug, Default)]
pub struct CompileRequest {
    /// Compile only what is below these plans.
    pub only: Vec<String>,
    /// Whether scenes that no longer follow from their plan are marked in the text.
    pub mark_stale: bool,
}

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Number of parts, if the book is divided.
    pub parts: usize,
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
/// When nothing is written yet, a named plan is unknown, or the state cannot be read.
pub fn compile_novel(
    ctx: &Context<'_>,
    request: &CompileRequest,
) -> Result<CompiledNovel, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let scenes = select_scenes(ctx, &*state, &tree, &request.only)?;
    let mut collector = BookCollector {
        tree: &tree,
        has_parts: has_parts(ctx, &tree),
        parts: Vec::new(),
        last_part: None,
        last_chapter: None,
    };
    let (mut missing, mut stale, mut words, mut count) = (Vec::new(), Vec::new(), 0, 0);
    for node in scenes {
        let path = tree.alias_path(node);
        let Some(text) = read_prose(ctx, &tree, &path) else {
            missing.push(path);
            continue;
        };
        let basis = record::read_record::<ProseBasis>(&*state, &node.id.0.to_string())?;
        let reason = find_stale_reason(node, basis);
        words += domain::search::split_words(&text).len();
        count += 1;
        collector.push_scene(node, text, reason.clone().filter(|_| request.mark_stale));
        stale.extend(reason.map(|reason| StaleScene { path, reason }));
    }
    if count == 0 {
        return Err(Failure::not_found("nothing is written yet").with_step("tl story write --next"));
    }
    let tick_state = record::read_record::<TickState>(&*state, TickState::KEY)?.unwrap_or_default();
    let details = read_book_details(ctx);
    let book = Book {
        title: details
            .title
            .clone()
            .unwrap_or_else(|| novel_name(ctx, &tick_state)),
        // Stable over compilations, so that a reading device replaces the book instead of adding
        // another.
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
        words,
        parts: collector.parts,
        details,
    };
    let view = CompiledView {
        title: book.title.clone(),
        author: book.details.author.clone(),
        parts: book
            .parts
            .iter()
            .filter(|part| part.title.is_some())
            .count(),
        chapters: book.chapters().count(),
        scenes: count,
        words,
        missing,
        stale,
    };
    Ok(CompiledNovel { book, view })
}

/// Returns the scenes in the order of the plan: all, or those below the named plans.
fn select_scenes<'t>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &'t Tree,
    only: &[String],
) -> Result<Vec<&'t Node>, Failure> {
    let mut tops: Vec<NodeId> = Vec::new();
    for name in only {
        let words: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
        tops.push(find_node(ctx, state, &words)?.0);
    }
    let is_selected = |node: &&Node| {
        let is_top = |id: NodeId| tops.contains(&id);
        tops.is_empty() || is_top(node.id) || tree.ancestors(node).iter().any(|it| is_top(it.id))
    };
    let all = tree.all_preorder().into_iter();
    let scenes = all.filter(|node| prose_path(ctx, tree, node).is_some());
    Ok(scenes.filter(is_selected).collect())
}

/// Whether the plan has several parts: a single one is the book itself.
fn has_parts(ctx: &Context<'_>, tree: &Tree) -> bool {
    let mut parts: Vec<NodeId> = Vec::new();
    for node in tree.nodes() {
        let part = tree
            .parent_of(node)
            .and_then(|chapter| tree.parent_of(chapter));
        if let Some(part) = part.filter(|_| prose_path(ctx, tree, node).is_some())
            && !parts.contains(&part.id)
        {
            parts.push(part.id);
        }
    }
    parts.len() > 1
}

/// Collects scenes into parts and chapters. One starts with its first written scene, so that empty ones
/// do not appear in the book.
struct BookCollector<'t> {
    tree: &'t Tree,
    has_parts: bool,
    parts: Vec<BookPart>,
    last_part: Option<NodeId>,
    last_chapter: Option<NodeId>,
}

impl BookCollector<'_> {
    fn push_scene(&mut self, node: &Node, text: String, stale_mark: Option<String>) {
        let chapter = self.tree.parent_of(node);
        let part = chapter
            .and_then(|chapter| self.tree.parent_of(chapter))
            .filter(|_| self.has_parts);
        let part_id = part.map(|part| part.id);
        if self.parts.is_empty() || part_id != self.last_part {
            self.last_part = part_id;
            self.last_chapter = None;
            self.parts.push(BookPart {
                title: part.map(title_of),
                chapters: Vec::new(),
            });
        }
        let chapter_id = chapter.map(|chapter| chapter.id);
        let Some(part) = self.parts.last_mut() else {
            return;
        };
        if part.chapters.is_empty() || chapter_id != self.last_chapter {
            self.last_chapter = chapter_id;
            part.chapters.push(Chapter {
                title: chapter.map(title_of).unwrap_or_default(),
                scenes: Vec::new(),
            });
        }
        if let Some(chapter) = part.chapters.last_mut() {
            chapter.scenes.push(BookScene {
                title: title_of(node),
                text,
                stale_mark,
            });
        }
    }
}

fn title_of(node: &Node) -> String {
    let title = node.description.title.clone();
    title.unwrap_or_else(|| node.alias.clone())
}
