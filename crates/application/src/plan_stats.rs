//! Statistics of the plans: counts and words per level and node, targets, and the burn-up.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::burn_up::{DayTotals, PlanTotals, compute_burn_up};
use domain::fact::Fact;
use domain::generation::reading::SceneReading;
use domain::ids::{NodeId, OperationId, VersionHash};
use domain::node::{Node, Progress, Status};
use domain::ports::Snapshot;
use domain::prose::find_word_target;
use domain::prose_history::ProseHistory;
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
use crate::prose_counts::{
    NewCount, ProseMeasure, count_facts, find_new_counts, load_prose_history, measure_prose_file,
    record_new_counts,
};
use crate::tick::spending::spending_by_account;
use crate::tick::story_state::prose_path;
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
    /// Words of prose aimed at: `target:` in the front matter of a plan, or the sum of those below it.
    pub target: Option<u64>,
    /// Words of prose that these plans have, in percent of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_percent: Option<u64>,
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

    fn set_target(&mut self, aim: Aim) {
        self.target = aim.target;
        self.target_percent = aim.percent();
    }
}

/// A number of words aimed at, and how many the plans have that aim at it.
#[derive(Clone, Copy, Debug, Default)]
struct Aim {
    target: Option<u64>,
    written: u64,
}

impl Aim {
    fn and(self, other: Self) -> Self {
        let target = match (self.target, other.target) {
            (None, None) => None,
            (one, other) => Some(
                one.unwrap_or_default()
                    .saturating_add(other.unwrap_or_default()),
            ),
        };
        Self {
            target,
            written: self.written + other.written,
        }
    }

    fn percent(self) -> Option<u64> {
        // `target: 0` is possible in a file.
        let target = self.target?.max(1);
        Some(self.written.saturating_mul(100) / target)
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
    let mut words = WordCounts::default();
    let (stats, new) = stats_of_tree(ctx, &*state, &tree, top, request.days, &mut words)?;
    drop(state);
    // Ignored where it is not possible: the words are in the answer, and are counted the next time.
    record_new_counts(ctx, &tree, &new).unwrap_or_default();
    Ok(stats)
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
    // The dashboard records nothing by looking: what is new is counted each time until then.
    let (stats, _) = stats_of_tree(ctx, &*state, &known.tree, None, days, words)?;
    Ok(stats)
}

fn stats_of_tree(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    top: Option<NodeId>,
    days: usize,
    words: &mut WordCounts,
) -> Result<(PlanStats, Vec<NewCount>), Failure> {
    let mut measures: HashMap<NodeId, PlanMeasure> = HashMap::new();
    let mut written: HashMap<NodeId, ProseMeasure> = HashMap::new();
    let spending = spending_by_account(state)?;
    let mut prose = ProseFolders::default();
    // The whole tree also for one node: the targets above are sums.
    for node in tree.nodes().filter(|node| is_counted(node)) {
        let text = match has_own_words(node) {
            true => words.measure_version(state, node.content.version_hash())?,
            false => TextMeasure::default(),
        };
        let found = prose.measure_prose(ctx, tree, node);
        written.extend(found.map(|found| (node.id, found)));
        let mut measure = PlanMeasure {
            plan_words: text.words,
            prose_words: found.map(|found| found.words),
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
    let included: HashSet<NodeId> = nodes.iter().map(|node| node.id).collect();
    let mut levels: BTreeMap<(&str, &str), (usize, NodeCounts, Aim)> = BTreeMap::new();
    for node in nodes.iter().filter(|node| is_counted(node)) {
        let depth = tree.ancestors(node).len();
        // One line per level, also where its plans are at several depths, as tickets are.
        let (top, counts, aim) = levels.entry((&node.profile, &node.level)).or_insert((
            depth,
            NodeCounts::default(),
            Aim::default(),
        ));
        *top = depth.min(*top);
        let measure = measures.get(&node.id).copied().unwrap_or_default();
        counts.add_plan(node, measure);
        // What a ticket aims at includes the tickets below it.
        let is_included = |above: &&Node| {
            (&above.profile, &above.level) == (&node.profile, &node.level)
                && included.contains(&above.id)
        };
        if !tree.ancestors(node).iter().any(is_included) {
            *aim = aim.and(counted.aim_of(node));
        }
    }
    let mut levels: Vec<_> = levels.into_iter().collect();
    // From the top down, each profile together.
    levels.sort_by_key(|((profile, _), (depth, ..))| (*profile, *depth));
    let total = match top.and_then(|top| tree.get(top)) {
        Some(node) => counted.counts_below(node),
        None => counted.counts_of_all(),
    };
    let scope = top
        .map(|top| HistoryScope::load_below(state, tree, top))
        .transpose()?;
    let prose = load_prose_history(state, tree)?;
    let new = find_new_counts(&prose, tree, &written, ctx.clock.now());
    let log = HistoryLog {
        scope,
        prose,
        pending: count_facts(state, tree, &new)?,
    };
    let stats = PlanStats {
        levels: levels
            .into_iter()
            .map(|((profile, level), (_, mut counts, aim))| {
                counts.set_target(aim);
                LevelStats {
                    profile: profile.to_owned(),
                    level: level.to_owned(),
                    counts,
                }
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
        history: compute_history(ctx, state, &total, log, days, words)?,
    };
    Ok((stats, new))
}

/// The folders of prose files, listed once each: of ten thousand plans most have no prose, and looking
/// for each file alone takes longer than reading those that are there.
#[derive(Default)]
struct ProseFolders {
    names: HashMap<String, HashSet<String>>,
}

impl ProseFolders {
    /// Measures a plan's prose; `None` without prose.
    fn measure_prose(
        &mut self,
        ctx: &Context<'_>,
        tree: &Tree,
        node: &Node,
    ) -> Option<ProseMeasure> {
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
        measure_prose_file(ctx, &path)
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
        counts.set_target(self.aim_of(top));
        counts
    }

    fn counts_of_all(&self) -> NodeCounts {
        let mut counts = NodeCounts::default();
        for node in self.tree.nodes() {
            if let Some(measure) = self.measures.get(&node.id) {
                counts.add_plan(node, *measure);
            }
        }
        let roots = self.tree.root_nodes().map(|root| self.aim_of(root));
        counts.set_target(roots.fold(Aim::default(), Aim::and));
        counts
    }

    /// Returns what a node aims at: its own target, or the sum of those below it. Prose of plans that
    /// aim at nothing does not count.
    fn aim_of(&self, node: &Node) -> Aim {
        let own = self.measures.get(&node.id);
        // Never both: the target of a chapter includes its scenes', and the sum would count them
        // twice.
        if let Some(target) = own.and_then(|measure| measure.target) {
            return Aim {
                target: Some(target),
                written: self.count_prose_below(node),
            };
        }
        let below = self.tree.children(node.id);
        below
            .map(|child| self.aim_of(child))
            .fold(Aim::default(), Aim::and)
    }

    fn count_prose_below(&self, node: &Node) -> u64 {
        let below = self.tree.subtree_preorder(node.id).into_iter();
        let words = below.filter_map(|node| self.measures.get(&node.id)?.prose_words);
        words.sum::<usize>() as u64
    }
}

/// What is needed beside the operations to compute a history.
struct HistoryLog {
    scope: Option<HistoryScope>,
    prose: ProseHistory,
    /// Counts of prose that are not recorded yet: newer than every operation.
    pending: Vec<Fact>,
}

impl HistoryLog {
    /// Adds how an operation changed the words of prose, on the days on which it was written.
    fn add_prose(&mut self, at: Timestamp, facts: &[Fact], days: &mut HashMap<String, PlanTotals>) {
        let scope = self.scope.as_ref();
        let found = self.prose.measure_operation(
            at,
            facts,
            |node| scope.is_none_or(|scope| scope.nodes.contains(&node)),
            |scene, bodies| scope.is_none_or(|scope| scope.has_scene(scene, bodies)),
        );
        for change in found {
            let day = days.entry(local_day(change.at)).or_default();
            day.prose_words += change.words;
        }
    }
}

/// Returns the totals of each day, from the operations of these days.
fn compute_history(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    total: &NodeCounts,
    mut log: HistoryLog,
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
    words.follow_history(state, &log.prose)?;
    let pending = std::mem::take(&mut log.pending);
    log.add_prose(now, &pending, &mut changes);
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
            let (change, prose) = words.measure_operation(state, head.id, &mut log)?;
            *changes.entry(day).or_default() += change;
            log.add_prose(head.at, &prose, &mut changes);
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
    /// How each operation changed the totals of all plans, with its facts about prose.
    operations: HistoryCache<(PlanTotals, Vec<Fact>)>,
    /// The plans whose prose was counted when the operations were read: of others, facts are left out.
    counted: BTreeSet<NodeId>,
}

/// What is measured of one text.
#[derive(Clone, Copy, Debug, Default)]
struct TextMeasure {
    words: usize,
    target: Option<u64>,
}

impl WordCounts {
    /// Forgets what it knows of operations if the history is another one, or other prose is counted.
    fn follow_history(
        &mut self,
        state: &dyn Snapshot,
        prose: &ProseHistory,
    ) -> Result<(), Failure> {
        self.operations.follow_history(state)?;
        let counted: BTreeSet<NodeId> = prose.counted_nodes().collect();
        if self.counted != counted {
            self.operations.forget_values();
            self.counted = counted;
        }
        Ok(())
    }

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

    /// Returns how an operation changed the totals of plans, and its facts about prose.
    fn measure_operation(
        &mut self,
        state: &dyn Snapshot,
        id: OperationId,
        log: &mut HistoryLog,
    ) -> Result<(PlanTotals, Vec<Fact>), Failure> {
        if let Some(scope) = &mut log.scope {
            scope.add_removed(state, id)?;
        }
        let scope = log.scope.as_ref();
        if scope.is_none()
            && let Some(known) = self.operations.find_value(id)
        {
            return Ok(known.clone());
        }
        let mut change = PlanTotals::default();
        let mut prose = Vec::new();
        // Texts are read after the visit: a store gives one query at a time.
        let mut texts: Vec<(i64, Option<VersionHash>)> = Vec::new();
        state.visit_facts(id, &mut |fact| {
            change += measure_fact(&fact, scope, &mut texts);
            if log.prose.concerns(&fact) {
                prose.push(fact);
            }
        })?;
        for (sign, version) in texts {
            change.plan_words += sign * self.count_words(state, version)?;
        }
        let measured = (change, prose);
        if scope.is_none() {
            self.operations.keep_value(id, measured.clone());
        }
        Ok(measured)
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
        _ => {}
    }
    change
}
