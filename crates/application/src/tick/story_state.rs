//! Gathers the story's state for a tick: the plan tree, the memory, the recent ticks.

use domain::book_details::{BOOK_DETAILS_PATH, BookDetails, MAX_BOOK_DETAILS_BYTES};
use domain::front_matter::parse_front_matter;
use domain::generation::continuity::point_of_view_name;
use domain::ids::OperationId;
use domain::memory::{EntryKind, StoryMemory};
use domain::node::{Node, Progress};
use domain::policy::GenerationPolicy;
use domain::ports::{FileReadResult, FileStatResult, Snapshot};
use domain::profile::{FilePattern, parent_folder};
use domain::record;
use domain::tick::context::StoryView;
use domain::tick::offline::NamedInPlan;
use domain::tick::tools::PlanNode;
use domain::tick::{TickRecord, TickState};
use domain::tree::Tree;

use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::memory::memory_files;
use crate::submit::observe_submitted_plans;

/// Number of past ticks in the planner's prompt.
const MAX_PROMPT_TICKS: u64 = 8;
const UNTITLED_NOVEL: &str = "Untitled";
/// Maximum size of a prose file.
pub(crate) const MAX_PROSE_BYTES: u64 = 4 * 1024 * 1024;

/// The story's state.
pub(crate) struct StoryState {
    pub(crate) novel: String,
    pub(crate) state: TickState,
    /// The tick that is planned: the next one, or an earlier one that is planned again.
    pub(crate) tick: u64,
    pub(crate) policy: GenerationPolicy,
    pub(crate) memory: StoryMemory,
    pub(crate) nodes: Vec<PlanNode>,
    pub(crate) ticks: Vec<TickRecord>,
    /// Path and blueprint of the scene that is prepared: the first that is open.
    pub(crate) next_scene: Option<(String, String)>,
    /// Id of the next scene's point of view.
    next_pov: Option<String>,
}

/// The memory as of an operation: valid while no further one is recorded.
pub(crate) struct KnownMemory {
    pub(crate) memory: StoryMemory,
    pub(crate) head: OperationId,
}

impl StoryState {
    pub(crate) fn gather(
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        tree: &Tree,
        known: Option<KnownMemory>,
    ) -> Result<Self, Failure> {
        let head = state.last_operation_id()?;
        let tick_state =
            record::read_record::<TickState>(state, TickState::KEY)?.unwrap_or_default();
        let next = tick_state.current_tick + 1;
        let mut ticks = Vec::new();
        // Up to and including the next one, which exists if it was begun and not finished.
        for tick in next.saturating_sub(MAX_PROMPT_TICKS)..=next {
            ticks.extend(record::read_record::<TickRecord>(
                state,
                &TickRecord::record_key(tick),
            )?);
        }
        let nodes = plan_nodes(ctx, tree);
        let next_scene = first_open_scene(ctx, tree).map(|node| {
            let path = tree.alias_path(node);
            let blueprint = plan_text(state, tree, &path).unwrap_or_default();
            (path, blueprint)
        });
        // Right after a plan was recorded the memory is unchanged and need not be loaded a second
        // time.
        let memory = match known.filter(|known| known.head == head) {
            Some(known) => known.memory,
            None => memory_files::load_memory(state)?,
        };
        Ok(Self {
            novel: novel_name(ctx, &tick_state),
            next_scene,
            next_pov: next_point_of_view(ctx, state, tree, &memory)?
                .and_then(|next| next.character),
            memory,
            nodes,
            ticks,
            tick: next,
            policy: ctx.policy.generation.clone(),
            state: tick_state,
        })
    }

    /// Plans this tick again instead of the next one.
    pub(crate) fn plan_again(&mut self, record: TickRecord) {
        self.tick = record.tick;
        self.ticks.retain(|it| it.tick != record.tick);
        self.ticks.push(record);
    }

    pub(crate) fn story_view(&self) -> StoryView<'_> {
        StoryView {
            novel: &self.novel,
            tick: self.tick,
            state: &self.state,
            memory: &self.memory,
            nodes: &self.nodes,
            ticks: &self.ticks,
            policy: &self.policy,
            next_scene: self
                .next_scene
                .as_ref()
                .map(|(path, blueprint)| (path.as_str(), blueprint.as_str())),
            next_pov: self.next_pov.as_deref(),
        }
    }

    /// Returns the record of the tick that is planned, if it was begun.
    pub(crate) fn begun_tick(&self) -> Option<&TickRecord> {
        self.ticks.iter().find(|record| record.tick == self.tick)
    }
}

/// Returns the path of the scene that the next tick prepares: the first that is open.
pub(crate) fn find_next_scene(ctx: &Context<'_>) -> Result<Option<String>, Failure> {
    let (_, tree) = observe_submitted_plans(ctx)?;
    Ok(first_open_scene(ctx, &tree).map(|node| tree.alias_path(node)))
}

/// Returns the first scene with a plan in a file that is neither complete nor begun.
fn first_open_scene<'t>(ctx: &Context<'_>, tree: &'t Tree) -> Option<&'t Node> {
    let is_open = |node: &&Node| {
        node.path.is_some()
            && node.progress != Progress::Complete
            && prose_pattern(ctx, node).is_some()
            && !has_prose(ctx, tree, node)
    };
    tree.all_preorder().into_iter().find(is_open)
}

/// Returns the name of the story. The state of a clone does not know it; the author's file is in every one.
pub(crate) fn novel_name(ctx: &Context<'_>, state: &TickState) -> String {
    let named = state.novel.clone();
    named
        .or_else(|| read_book_details(ctx).title)
        .unwrap_or_else(|| UNTITLED_NOVEL.to_owned())
}

/// Returns the book's details from the author's file.
pub(crate) fn read_book_details(ctx: &Context<'_>) -> BookDetails {
    match ctx
        .files
        .read_file(BOOK_DETAILS_PATH, MAX_BOOK_DETAILS_BYTES)
    {
        FileReadResult::Text { text, .. } => {
            if let Some(problem) = parse_front_matter(&text).problem {
                warn_of_book_details(ctx, &problem.to_string());
            }
            BookDetails::parse(&text)
        }
        // The details are optional, and a book can be compiled without them.
        FileReadResult::Missing => BookDetails::default(),
        FileReadResult::Unreadable { why, .. } => {
            warn_of_book_details(ctx, &why.to_string());
            BookDetails::default()
        }
    }
}

/// Says that the author's title and name are not used: a book without them looks like a mistake of ours.
fn warn_of_book_details(ctx: &Context<'_>, problem: &str) {
    ctx.push_notice(Notice::Misplaced {
        path: BOOK_DETAILS_PATH.to_owned(),
        why: format!("its details are not used: {problem}"),
    });
}

/// The point of view of the next scene.
pub(crate) struct NextPointOfView {
    pub(crate) scene: String,
    /// As the plan names it.
    pub(crate) name: String,
    /// Its id in the memory, if there is one.
    pub(crate) character: Option<String>,
}

/// Returns the point of view of the next scene that is not complete, where a plan names one.
pub(crate) fn next_point_of_view(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    memory: &StoryMemory,
) -> Result<Option<NextPointOfView>, Failure> {
    // By progress and not by the prose file: a scene may be finished by hand, or its file be only a
    // draft.
    let is_open =
        |node: &&Node| node.progress != Progress::Complete && prose_pattern(ctx, node).is_some();
    let Some(scene) = tree.all_preorder().into_iter().find(is_open) else {
        return Ok(None);
    };
    let named = find_named_point_of_view(state, tree, scene)?;
    Ok(named.map(|name| NextPointOfView {
        scene: tree.alias_path(scene),
        character: memory.resolve_id(EntryKind::Character, &name),
        name,
    }))
}

/// Returns the point of view that a scene's blueprint names, or else the nearest plan above it.
pub(crate) fn find_named_point_of_view(
    state: &dyn Snapshot,
    tree: &Tree,
    scene: &Node,
) -> Result<Option<String>, Failure> {
    let mut plan = Some(scene);
    while let Some(node) = plan {
        let text = match node.content.version_hash() {
            Some(version) => state.load_text(version)?,
            None => None,
        };
        if let Some(pov) = text.as_deref().and_then(point_of_view_name) {
            return Ok(Some(pov));
        }
        plan = tree.parent_of(node);
    }
    Ok(None)
}

/// Returns the nodes of plans in files, in order.
pub(crate) fn plan_nodes(ctx: &Context<'_>, tree: &Tree) -> Vec<PlanNode> {
    let in_files = tree
        .all_preorder()
        .into_iter()
        .filter(|node| node.path.is_some());
    in_files
        .map(|node| PlanNode {
            path: tree.alias_path(node),
            file: node.path.clone().unwrap_or_default(),
            level: node.level.clone(),
            title: node.description.title.clone(),
            status: node.status().as_str(),
            progress: node.progress.as_str(),
            is_written: prose_pattern(ctx, node).is_some(),
        })
        .collect()
}

/// Returns the pattern of a node's prose file, if its level has prose.
fn prose_pattern<'p>(ctx: &Context<'p>, node: &Node) -> Option<&'p FilePattern> {
    ctx.find_profile(&node.profile)?
        .find_level(&node.level)?
        .output
        .as_ref()
}

/// Returns the path of a node's prose: below the folder of its parent's plan.
pub(crate) fn prose_path(ctx: &Context<'_>, tree: &Tree, node: &Node) -> Option<String> {
    prose_path_below(ctx, tree.parent_of(node), node)
}

/// Returns the path of a node's prose, given its parent.
pub(crate) fn prose_path_below(
    ctx: &Context<'_>,
    parent: Option<&Node>,
    node: &Node,
) -> Option<String> {
    let above = parent
        .and_then(|parent| parent.path.as_deref())
        .map_or("", parent_folder);
    prose_pattern(ctx, node).map(|pattern| pattern.file_for(above, &node.alias))
}

/// Whether a node has prose in its file, by hand or by a model.
pub(crate) fn has_prose(ctx: &Context<'_>, tree: &Tree, node: &Node) -> bool {
    let is_present = |path: String| matches!(ctx.files.stat_file(&path), FileStatResult::Present(stamp) if stamp.size > 0);
    prose_path(ctx, tree, node).is_some_and(is_present)
}

/// Returns the node with this path.
pub(crate) fn node_at<'t>(tree: &'t Tree, path: &str) -> Option<&'t Node> {
    // Aliases are compared first: building the path of every node walks its ancestors.
    let alias = path.rsplit('/').next()?;
    tree.nodes()
        .find(|node| node.alias == alias && tree.alias_path(node) == path)
}

/// Returns a node's plan as it was last observed.
pub(crate) fn plan_text(state: &dyn Snapshot, tree: &Tree, path: &str) -> Option<String> {
    state
        .load_text(node_at(tree, path)?.content.version_hash()?)
        .ok()?
}

/// Returns a node's prose, if it is written.
pub(crate) fn read_prose(ctx: &Context<'_>, tree: &Tree, path: &str) -> Option<String> {
    match ctx.files.read_file(
        &prose_path(ctx, tree, node_at(tree, path)?)?,
        MAX_PROSE_BYTES,
    ) {
        FileReadResult::Text { text, .. } => Some(text),
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
    }
}

/// Returns the characters and locations that plans name, in the order of the tree.
pub(crate) fn names_in_plans(ctx: &Context<'_>, state: &dyn Snapshot, tree: &Tree) -> NamedInPlan {
    let mut named = NamedInPlan::default();
    for node in tree
        .all_preorder()
        .into_iter()
        .filter(|node| node.path.is_some())
    {
        let Some(profile) = ctx.find_profile(&node.profile) else {
            continue;
        };
        let Some(Ok(Some(text))) = node
            .content
            .version_hash()
            .map(|version| state.load_text(version))
        else {
            continue;
        };
        let lists = [
            ("characters", &mut named.characters),
            ("locations", &mut named.locations),
        ];
        for (facet, list) in lists {
            for name in domain::consistency::list_facet_names(profile, facet, &text) {
                // Plans spell names differently; a second character `anna` beside `Anna` would be
                // invented.
                if !list.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                    list.push(name);
                }
            }
        }
    }
    named
}
