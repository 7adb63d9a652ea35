//! Make an outline of the plans, or of a part of them, as one document.
//!
//! [`outline_part`] is for pages: it reads the texts of at most [`MAX_PART_ENTRIES`] plans and folds
//! what is below them, so that its cost does not grow with the project.

use domain::ids::NodeId;
use domain::node::Node;
use domain::outline::{Outline, OutlineEntry, read_synopsis};
use domain::plan_document::{MILESTONES_PROFILE, render_node_markdown};
use domain::ports::{Snapshot, StoreFault};
use domain::profile::{locate_items, locate_output, locate_plan};
use domain::record;
use domain::tick::TickState;
use domain::tree::Tree;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::find_subtree_root;
use crate::observe::observe_plans;
use crate::tree_cache::{CachedTree, TreePlace};

/// Maximum number of plans in a part of the outline.
pub const MAX_PART_ENTRIES: usize = 200;

/// Request of [`make_outline`].
#[derive(Clone, Debug, Default)]
pub struct OutlineRequest {
    /// The node at the top; all plans if empty.
    pub node: Vec<String>,
    /// Levels below the top; all of them without a number.
    pub depth: Option<usize>,
    /// Whether the whole texts are given instead of synopses.
    pub full: bool,
}

/// Which entries of an outline are wanted, for readers that cannot take all of them at once.
#[derive(Clone, Copy, Debug)]
pub struct OutlinePage {
    /// Number of entries before the page.
    pub offset: usize,
    /// Maximum number of entries.
    pub limit: usize,
    /// Maximum number of bytes of texts, after which no further entry is added.
    pub max_text_bytes: usize,
}

impl OutlinePage {
    const WHOLE: Self = Self {
        offset: 0,
        limit: usize::MAX,
        max_text_bytes: usize::MAX,
    };
}

/// Makes the outline.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn make_outline(ctx: &Context<'_>, request: &OutlineRequest) -> Result<Outline, Failure> {
    make_outline_page(ctx, request, OutlinePage::WHOLE).map(|(outline, _)| outline)
}

/// Makes a page of the outline; returns the number of entries of all pages, too. Texts beyond the page
/// are not read.
///
/// # Errors
/// As [`make_outline`].
pub fn make_outline_page(
    ctx: &Context<'_>,
    request: &OutlineRequest,
    page: OutlinePage,
) -> Result<(Outline, usize), Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let top = find_subtree_root(ctx, &*state, &request.node)?;
    let mut outline = Outline {
        title: outline_title(&*state, &tree, top)?,
        entries: Vec::new(),
    };
    let nodes = match top {
        Some(top) => tree.subtree_preorder(top),
        None => tree.all_preorder(),
    };
    let base = top
        .and_then(|top| tree.get(top))
        .map_or(0, |node| tree.ancestors(node).len());
    let (mut total, mut text_bytes) = (0, 0);
    for node in nodes.into_iter().filter(|node| node.path.is_some()) {
        let depth = tree.ancestors(node).len().saturating_sub(base);
        if request.depth.is_some_and(|most| depth > most) {
            continue;
        }
        total += 1;
        let is_full = outline.entries.len() == page.limit || text_bytes > page.max_text_bytes;
        if total <= page.offset || is_full {
            continue;
        }
        let entry = load_entry(&*state, &tree, node, depth, request.full)?;
        text_bytes += entry.text.as_ref().map_or(0, String::len);
        outline.entries.push(entry);
    }
    Ok((outline, total))
}

fn load_entry(
    state: &dyn Snapshot,
    tree: &Tree,
    node: &Node,
    depth: usize,
    is_full: bool,
) -> Result<OutlineEntry, StoreFault> {
    let text = match node.content.version_hash() {
        Some(version) => state.load_text(version)?,
        None => None,
    };
    // Plan documents are JSON; people read what is made of it.
    let text = match node.profile.as_str() {
        MILESTONES_PROFILE => {
            text.map(|json| render_node_markdown(&node.level, &json).unwrap_or(json))
        }
        _ => text,
    };
    Ok(OutlineEntry {
        depth,
        path: tree.alias_path(node),
        level: node.level.clone(),
        title: node.description.title.clone(),
        synopsis: text.as_deref().and_then(read_synopsis),
        status: node.status(),
        progress: node.progress,
        text: text.filter(|_| is_full),
    })
}

/// A part of the outline that fits on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlinePart {
    pub outline: Outline,
    /// Number of plans below each entry that are not in this part.
    pub folded: Vec<usize>,
    /// Number of entries before this part and in all parts.
    pub offset: usize,
    pub total: usize,
}

/// Returns the outline below the plan at `top`, or of all plans if it is empty: as many levels as fit,
/// and of the first level at most [`MAX_PART_ENTRIES`] plans from `offset` on.
///
/// # Errors
/// When there is no such plan, or the state cannot be read.
pub fn outline_part(
    ctx: &Context<'_>,
    known: &CachedTree,
    top: &str,
    offset: usize,
) -> Result<OutlinePart, Failure> {
    let state = ctx.store.begin_read()?;
    let top = match top {
        "" => None,
        path => Some(
            known
                .find_by_path(path)
                .map(|node| node.id)
                .ok_or_else(|| {
                    Failure::not_found(format!("there is no plan `{path}`")).with_step("tl tree")
                })?,
        ),
    };
    let plans = list_planned_places(known, top);
    let base = plans.first().map_or(0, |(_, place)| place.depth);
    let depth_of = |place: &TreePlace| (place.depth - base) as usize;
    let depth = deepest_that_fits(plans.iter().map(|(_, place)| depth_of(place)));
    let shown: Vec<&(&Node, TreePlace)> = plans
        .iter()
        .filter(|(_, place)| depth_of(place) <= depth)
        .collect();
    let mut part = OutlinePart {
        outline: Outline {
            title: outline_title(&*state, &known.tree, top)?,
            entries: Vec::new(),
        },
        folded: Vec::new(),
        offset,
        total: shown.len(),
    };
    for (node, place) in shown.into_iter().skip(offset).take(MAX_PART_ENTRIES) {
        let at = depth_of(place);
        let entry = load_entry(&*state, &known.tree, node, at, false)?;
        part.outline.entries.push(entry);
        // Those above the last level have their children in this part.
        let is_last = at == depth;
        part.folded
            .push(if is_last { place.size as usize - 1 } else { 0 });
    }
    Ok(part)
}

/// Lists the plans with a file, of a subtree or of all, with their places.
fn list_planned_places(known: &CachedTree, top: Option<NodeId>) -> Vec<(&Node, TreePlace)> {
    let places = known.order.iter().zip(known.places.iter());
    let all = places.filter_map(|(id, place)| Some((known.tree.get(*id)?, *place)));
    let planned = |(node, _): &(&Node, TreePlace)| node.path.is_some();
    let Some(top) = top else {
        return all.filter(planned).collect();
    };
    let from_top: Vec<_> = all.skip_while(|(node, _)| node.id != top).collect();
    let size = from_top.first().map_or(0, |(_, place)| place.size as usize);
    from_top.into_iter().take(size).filter(planned).collect()
}

/// Returns the deepest level of which, with all above it, not more than [`MAX_PART_ENTRIES`] plans
/// are; the first level if even that has more.
fn deepest_that_fits(depths: impl Iterator<Item = usize>) -> usize {
    let mut counts: Vec<usize> = Vec::new();
    for depth in depths {
        counts.resize(counts.len().max(depth + 1), 0);
        if let Some(count) = counts.get_mut(depth) {
            *count += 1;
        }
    }
    let mut sum = 0;
    let fitting = counts.iter().take_while(|count| {
        sum += **count;
        sum <= MAX_PART_ENTRIES
    });
    fitting.count().saturating_sub(1)
}

/// Returns the title: that of the top node, of the novel, or a word for all plans.
fn outline_title(
    state: &dyn Snapshot,
    tree: &Tree,
    top: Option<NodeId>,
) -> Result<String, StoreFault> {
    if let Some(node) = top.and_then(|top| tree.get(top)) {
        let path = tree.alias_path(node);
        return Ok(node.description.title.clone().unwrap_or(path));
    }
    let novel = record::read_record::<TickState>(state, TickState::KEY)?;
    Ok(novel
        .and_then(|novel| novel.novel)
        .unwrap_or_else(|| "Outline".to_owned()))
}

/// Refuses to write an outline over the file of a plan, its prose or its items.
///
/// # Errors
/// When `path`, relative to `directory`, is such a file.
pub fn refuse_plan_file(ctx: &Context<'_>, directory: &str, path: &str) -> Result<(), Failure> {
    let file = ctx.files.resolve_path(Some(directory), path);
    let Some(file) = file else { return Ok(()) };
    let profiles = ctx.profiles;
    let locate = [locate_plan, locate_output, locate_items];
    if locate
        .iter()
        .all(|locate| locate(profiles, &file).is_none())
    {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "`{file}` is the file of a plan: an outline would replace it"
    ))
    .with_step("tl outline --output outline.md"))
}
