//! Statistics of the plans: counts and words per level and node, targets, and the burn-up.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::burn_up::{DayTotals, PlanTotals, compute_burn_up};
use domain::fact::Fact;
use domain::generation::reading::SceneReading;
use domain::ids::{NodeId, OperationId, VersionHash};
use domain::memory::EntryKind;
use domain::node::{Node, Progress, Status};
use domain::ports::{FileReadResult, Snapshot};
use domain::prose::find_word_target;
use domain::record::read_records;
use domain::search::split_words;
use domain::time::Timestamp;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::history_cache::HistoryCache;
use crate::locate::find_subtree_root;
use crate::observe::observe_plans;
use crate::tick::spending::spending_by_account;
use crate::tick::story_state::{MAX_PROSE_BYTES, prose_path};
use crate::tree_cache::CachedTree;

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// Operations read at once.
const OPERATIONS_PER_PAGE: usize = 200;

/// Request of [`plan_stats`].
#[derive(Clone, Debug, Default)]
pub struct StatsRequest {
    /// Only this node and what is below it; all plans if empty.
    pub node: Vec<String>,
    /// Number of days of the burn-up, today included.
    pub days: usize,
}

/// Statistics of the plans.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanStats {
    pub levels: Vec<LevelStats>,
    /// The top nodes, or those directly below the requested one.
    pub nodes: Vec<NodeStats>,
    pub total: NodeCounts,
    /// Totals of the plans in `total` at the end of each day.
    pub history: Vec<DayTotals>,
}

/// Statistics of one level of a profile.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LevelStats {
    pub profile: String,
    pub level: String,
    #[serde(flatten)]
    pub counts: NodeCounts,
}

/// Statistics of a node with everything below it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NodeStats {
    pub path: String,
    pub title: Option<String>,
    pub status: Status,
    #[serde(flatten)]
    pub counts: NodeCounts,
}

/// Counts and words of some plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeCounts {
    pub plans: usize,
    pub approved: usize,
    pub draft: usize,
    pub stale: usize,
    pub invalid: usize,
    pub complete: usize,
    /// Plans with prose.
    pub written: usize,
    pub plan_words: usize,
    pub prose_words: usize,
    /// Words of prose aimed at (`target:` in front matter), if any plan says so.
    pub target: Option<u64>,
    /// Calls of models that wrote and judged the prose.
    #[serde(skip_serializing_if = "is_zero")]
    pub model_calls: usize,
    /// Millionths of a US dollar that those calls cost whose price is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
    /// Those of the calls whose price is unknown; they are not free.
    #[serde(skip_serializing_if = "is_zero")]
    pub calls_without_price: usize,
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

impl NodeCounts {
    fn add_plan(&mut self, node: &Node, measure: PlanMeasure) {
        self.plans += 1;
        match node.status() {
            Status::Approved => self.approved += 1,
            Status::Draft => self.draft += 1,
            Status::RequiresRevalidation => self.stale += 1,
            Status::Invalid => self.invalid += 1,
        }
        self.complete += usize::from(node.progress == Progress::Complete);
        self.written += usize::from(measure.prose_words.is_some());
        self.plan_words += measure.plan_words;
        self.prose_words += measure.prose_words.unwrap_or_default();
        self.model_calls += measure.model_calls;
        self.cost_micros += measure.cost_micros;
        self.calls_without_price += measure.calls_without_price;
    }
}

/// Whether a node is planned work, as in the tree and on the board. The trail is none.
fn is_counted(node: &Node) -> bool {
    node.profile != domain::trail::PROFILE
}

/// Whether the words of a node are its own. One without a file is a part of a file that is counted.
fn has_own_words(node: &Node) -> bool {
    node.path.is_some()
}

/// What is measured of one plan.
#[derive(Clone, Copy, Debug, Default)]
struct PlanMeasure {
    plan_words: usize,
    /// `None` without prose.
    prose_words: Option<usize>,
    target: Option<u64>,
    model_calls: usize,
    cost_micros: u64,
    calls_without_price: usize,
}

/// Returns the statistics.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn plan_stats(ctx: &Context<'_>, request: &StatsRequest) -> Result<PlanStats, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let top = find_subtree_root(ctx, &*state, &request.node)?;
    stats_of_tree(
        ctx,
        &*state,
        &tree,
        top,
        request.days,
        &mut WordCounts::default(),
    )
}

/// Like [`plan_stats`], of all plans of a cached tree that is up to date. `words` is kept between calls:
/// counting the words of ten thousand texts takes longer than everything else.
///
/// # Errors
/// When the state cannot be read.
pub fn cached_stats(
    ctx: &Context<'_>,
    known: &CachedTree,
    days: usize,
    words: &mut WordCounts,
) -> Result<PlanStats, Failure> {
    let state = ctx.store.begin_read()?;
    stats_of_tree(ctx, &*state, &known.tree, None, days, words)
}

fn stats_of_tree(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    top: Option<NodeId>,
    days: usize,
    words: &mut WordCounts,
) -> Result<PlanStats, Failure> {
    let mut measures: HashMap<NodeId, PlanMeasure> = HashMap::new();
    let spending = spending_by_account(state)?;
    let mut prose = ProseFolders::default();
    // The whole tree also for one node: the targets above are sums.
    for node in tree.nodes().filter(|node| is_counted(node)) {
        let text = match has_own_words(node) {
            true => words.measure_version(state, node.content.version_hash())?,
            false => TextMeasure::default(),
        };
        let mut measure = PlanMeasure {
            plan_words: text.words,
            prose_words: prose.count_words(ctx, tree, node),
            target: text.target,
            ..PlanMeasure::default()
        };
        // Paths are built only where a model was asked at all.
        if !spending.is_empty()
            && let Some(spent) = spending.get(&tree.alias_path(node))
        {
            measure.model_calls = spent.calls;
            measure.cost_micros = spent.cost_micros;
            measure.calls_without_price = spent.calls_without_price;
        }
        measures.insert(node.id, measure);
    }
    let counted = Counted {
        tree,
        measures: &measures,
    };
    let (nodes, shown): (Vec<&Node>, Vec<&Node>) = match top {
        Some(top) => (tree.subtree_preorder(top), tree.children(top).collect()),
        None => (tree.all_preorder(), tree.root_nodes().collect()),
    };
    let mut levels: BTreeMap<(&str, &str), (usize, NodeCounts)> = BTreeMap::new();
    for node in nodes.iter().filter(|node| is_counted(node)) {
        let depth = tree.ancestors(node).len();
        // One line per level, also where its plans are at several depths, as tickets are.
        let (top, counts) = levels
            .entry((&node.profile, &node.level))
            .or_insert((depth, NodeCounts::default()));
        *top = depth.min(*top);
        let measure = measures.get(&node.id).copied().unwrap_or_default();
        counts.add_plan(node, measure);
        counts.target = add_targets(counts.target, measure.target);
    }
    let mut levels: Vec<_> = levels.into_iter().collect();
    // From the top down, each profile together.
    levels.sort_by_key(|((profile, _), (depth, _))| (*profile, *depth));
    let total = match top.and_then(|top| tree.get(top)) {
        Some(node) => counted.counts_below(node),
        None => counted.counts_of_all(),
    };
    let scope = top
        .map(|top| HistoryScope::load_below(state, tree, top))
        .transpose()?;
    Ok(PlanStats {
        levels: levels
            .into_iter()
            .map(|((profile, level), (_, counts))| LevelStats {
                profile: profile.to_owned(),
                level: level.to_owned(),
                counts,
            })
            .collect(),
        nodes: shown
            .into_iter()
            .map(|node| NodeStats {
                path: tree.alias_path(node),
                title: node.description.title.clone(),
                status: node.status(),
                counts: counted.counts_below(node),
            })
            .collect(),
        total,
        history: compute_history(ctx, state, &total, scope, days, words)?,
    })
}

/// The folders of prose files, listed once each: of ten thousand plans most have no prose, and looking
/// for each file alone takes longer than reading those that are there.
#[derive(Default)]
struct ProseFolders {
    names: HashMap<String, HashSet<String>>,
}

impl ProseFolders {
    /// Counts the words of a plan's prose; `None` without prose.
    fn count_words(&mut self, ctx: &Context<'_>, tree: &Tree, node: &Node) -> Option<usize> {
        let path = prose_path(ctx, tree, node)?;
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if !self.names.contains_key(folder) {
            let listed = ctx.files.list_folder(folder).into_iter();
            let names = listed.map(|entry| entry.name).collect();
            self.names.insert(folder.to_owned(), names);
        }
        if !self.names.get(folder)?.contains(name) {
            return None;
        }
        // Read from the file and not from a record: people write and edit prose by hand as well.
        match ctx.files.read_file(&path, MAX_PROSE_BYTES) {
            FileReadResult::Text { text, .. } => Some(split_words(&text).len()),
            _ => None,
        }
    }
}

fn add_targets(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (None, None) => None,
        (one, other) => Some(
            one.unwrap_or_default()
                .saturating_add(other.unwrap_or_default()),
        ),
    }
}

/// A tree with the measures of its plans.
struct Counted<'t> {
    tree: &'t Tree,
    measures: &'t HashMap<NodeId, PlanMeasure>,
}

impl Counted<'_> {
    /// Returns the counts of a node with everything below it.
    fn counts_below(&self, top: &Node) -> NodeCounts {
        let mut counts = NodeCounts::default();
        for node in self.tree.subtree_preorder(top.id) {
            if let Some(measure) = self.measures.get(&node.id) {
                counts.add_plan(node, *measure);
            }
        }
        counts.target = self.target_of(top);
        counts
    }

    fn counts_of_all(&self) -> NodeCounts {
        let mut counts = NodeCounts::default();
        for node in self.tree.nodes() {
            if let Some(measure) = self.measures.get(&node.id) {
                counts.add_plan(node, *measure);
            }
        }
        counts.target = self
            .tree
            .root_nodes()
            .map(|root| self.target_of(root))
            .fold(None, add_targets);
        counts
    }

    /// Returns the target of a node: its own, or the sum of those below it.
    fn target_of(&self, node: &Node) -> Option<u64> {
        let own = self
            .measures
            .get(&node.id)
            .and_then(|measure| measure.target);
        // Never both: the target of a chapter includes its scenes', and the sum would count them
        // twice.
        own.or_else(|| {
            self.tree
                .children(node.id)
                .map(|child| self.target_of(child))
                .fold(None, add_targets)
        })
    }
}

/// Returns the totals of each day, from the operations of these days.
fn compute_history(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    total: &NodeCounts,
    mut scope: Option<HistoryScope>,
    days: usize,
    words: &mut WordCounts,
) -> Result<Vec<DayTotals>, Failure> {
    let now = ctx.clock.now();
    let mut shown: Vec<String> = (0..i64::try_from(days).unwrap_or(i64::MAX))
        .rev()
        .map(|back| local_day(Timestamp::from_millis(now.as_millis() - back * DAY_MILLIS)))
        .collect();
    // A day of 25 hours occurs twice.
    shown.dedup();
    let Some(first) = shown.first().cloned() else {
        return Ok(Vec::new());
    };
    let signed = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let present = PlanTotals {
        planned: signed(total.plans),
        approved: signed(total.approved),
        complete: signed(total.complete),
        plan_words: signed(total.plan_words),
        prose_words: signed(total.prose_words),
    };
    let mut changes: HashMap<String, PlanTotals> = HashMap::new();
    words.operations.follow(state)?;
    let mut before = None;
    'pages: loop {
        let page = state.operation_heads(before, OPERATIONS_PER_PAGE)?;
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        for head in &page {
            // In local time, as people speak of days.
            let day = local_day(head.at);
            // The newest come first. A clock that was set back only shortens the history shown
            // (P12).
            if day < first {
                break 'pages;
            }
            *changes.entry(day).or_default() +=
                words.measure_operation(state, head.id, scope.as_mut())?;
        }
    }
    Ok(compute_burn_up(present, &changes, &shown))
}

/// The plans that a history is about: those below a node now, and those that were removed from there.
struct HistoryScope {
    nodes: HashSet<NodeId>,
    /// The paths of the nodes, and the memory's ids of their scenes.
    paths: HashSet<String>,
    scenes: HashSet<String>,
}

impl HistoryScope {
    fn load_below(state: &dyn Snapshot, tree: &Tree, top: NodeId) -> Result<Self, Failure> {
        let below = tree.subtree_preorder(top);
        let nodes: HashSet<NodeId> = below.iter().map(|node| node.id).collect();
        let readings = read_records::<SceneReading>(state, "")?.into_iter();
        let scenes = readings.filter(|(_, reading)| nodes.contains(&reading.node));
        Ok(Self {
            scenes: scenes.map(|(_, reading)| reading.scene).collect(),
            paths: below.iter().map(|node| tree.alias_path(node)).collect(),
            nodes,
        })
    }

    /// Adds the nodes that an operation removed from below these. Operations come newest first.
    fn add_removed(&mut self, state: &dyn Snapshot, id: OperationId) -> Result<(), Failure> {
        let mut removed: Vec<(NodeId, NodeId)> = Vec::new();
        state.visit_facts(id, &mut |fact| {
            if let Fact::NodeRemoved { node } = &fact {
                removed.extend(node.parent.map(|parent| (node.id, parent)));
            }
        })?;
        // Children may come before their parents.
        loop {
            let known = self.nodes.len();
            let below = removed
                .iter()
                .filter(|(_, parent)| self.nodes.contains(parent));
            let below: Vec<NodeId> = below.map(|(node, _)| *node).collect();
            self.nodes.extend(below);
            if self.nodes.len() == known {
                return Ok(());
            }
        }
    }

    /// Whether the record of a scene is about one of the plans.
    fn has_scene(&self, key: &str, bodies: [&Option<serde_json::Value>; 2]) -> bool {
        let names_plan = |body: &serde_json::Value| {
            let node = body["node"].as_str();
            node.is_some_and(|node| self.paths.contains(node))
        };
        self.scenes.contains(key) || bodies.into_iter().flatten().any(names_plan)
    }
}

fn local_day(at: Timestamp) -> String {
    at.format_for_file_name().chars().take(10).collect()
}

/// Measures of texts by version, each taken once. A version never changes, so they stay true.
#[derive(Debug, Default)]
pub struct WordCounts {
    known: HashMap<VersionHash, TextMeasure>,
    /// How each operation changed the totals of all plans.
    operations: HistoryCache<PlanTotals>,
}

/// What is measured of one text.
#[derive(Clone, Copy, Debug, Default)]
struct TextMeasure {
    words: usize,
    target: Option<u64>,
}

impl WordCounts {
    fn measure_version(
        &mut self,
        state: &dyn Snapshot,
        version: Option<VersionHash>,
    ) -> Result<TextMeasure, Failure> {
        let Some(version) = version else {
            return Ok(TextMeasure::default());
        };
        if let Some(measure) = self.known.get(&version) {
            return Ok(*measure);
        }
        let text = state.load_text(version)?.unwrap_or_default();
        let measure = TextMeasure {
            words: split_words(&text).len(),
            target: find_word_target(&text),
        };
        self.known.insert(version, measure);
        Ok(measure)
    }

    fn count_words(
        &mut self,
        state: &dyn Snapshot,
        version: Option<VersionHash>,
    ) -> Result<i64, Failure> {
        let measure = self.measure_version(state, version)?;
        Ok(i64::try_from(measure.words).unwrap_or(i64::MAX))
    }

    /// Returns how an operation changed the totals.
    fn measure_operation(
        &mut self,
        state: &dyn Snapshot,
        id: OperationId,
        mut scope: Option<&mut HistoryScope>,
    ) -> Result<PlanTotals, Failure> {
        if let Some(scope) = scope.as_deref_mut() {
            scope.add_removed(state, id)?;
        }
        let scope = scope.as_deref();
        if scope.is_none()
            && let Some(known) = self.operations.get(id)
        {
            return Ok(*known);
        }
        let mut change = PlanTotals::default();
        // Texts are read after the visit: a store gives one query at a time.
        let mut texts: Vec<(i64, Option<VersionHash>)> = Vec::new();
        state.visit_facts(id, &mut |fact| {
            change += measure_fact(&fact, scope, &mut texts);
        })?;
        for (sign, version) in texts {
            change.plan_words += sign * self.count_words(state, version)?;
        }
        if scope.is_none() {
            self.operations.insert(id, change);
        }
        Ok(change)
    }
}

/// Returns how a fact changed the totals, and adds the texts whose words count to `texts`.
fn measure_fact(
    fact: &Fact,
    scope: Option<&HistoryScope>,
    texts: &mut Vec<(i64, Option<VersionHash>)>,
) -> PlanTotals {
    let is_in_scope = |id: &NodeId| scope.is_none_or(|scope| scope.nodes.contains(id));
    let mut change = PlanTotals::default();
    let approved = |status: Status| i64::from(status == Status::Approved);
    let complete = |progress: Progress| i64::from(progress == Progress::Complete);
    match fact {
        Fact::NodeAdded { node } | Fact::NodeRemoved { node }
            if is_counted(node) && is_in_scope(&node.id) =>
        {
            let sign = if matches!(fact, Fact::NodeAdded { .. }) {
                1
            } else {
                -1
            };
            if has_own_words(node) {
                texts.push((sign, node.content.version_hash()));
            }
            change += PlanTotals {
                planned: sign,
                approved: sign * approved(node.status()),
                complete: sign * complete(node.progress),
                ..PlanTotals::default()
            };
        }
        Fact::ContentChanged {
            node,
            before,
            after,
        } if is_in_scope(node) => {
            texts.extend([(1, after.version_hash()), (-1, before.version_hash())]);
        }
        Fact::ProgressChanged {
            node,
            before,
            after,
        } if is_in_scope(node) => {
            change.complete += complete(*after) - complete(*before);
        }
        Fact::StandingsChanged { groups } => {
            for group in groups {
                let nodes = group.nodes.iter().filter(|id| is_in_scope(id)).count();
                let count = i64::try_from(nodes).unwrap_or(i64::MAX);
                change.approved +=
                    count * (approved(group.after.status) - approved(group.before.status));
            }
        }
        Fact::RecordChanged {
            record,
            before,
            after,
        } if record.kind == EntryKind::Scene.as_str()
            && scope.is_none_or(|it| it.has_scene(&record.key, [before, after])) =>
        {
            // The raw body: records of older versions, which the present type may not parse, count
            // as well.
            let words = |body: &Option<serde_json::Value>| {
                body.as_ref()
                    .and_then(|body| body["words"].as_i64())
                    .unwrap_or_default()
            };
            change.prose_words += words(after) - words(before);
        }
        _ => {}
    }
    change
}
