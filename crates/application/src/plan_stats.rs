//! Statistics of the plans: counts and words per level and node, targets, and the burn-up.

use std::collections::{BTreeMap, HashMap};

use domain::burn_up::{DayTotals, PlanTotals, compute_burn_up};
use domain::fact::Fact;
use domain::front_matter::parse_front_matter;
use domain::ids::{NodeId, VersionHash};
use domain::memory::EntryKind;
use domain::node::{Node, Progress, Status};
use domain::operation::Operation;
use domain::ports::{FileReadResult, Snapshot};
use domain::search::split_words;
use domain::time::Timestamp;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::find_subtree_root;
use crate::observe::observe_plans;
use crate::tick::story_state::{MAX_PROSE_BYTES, prose_path};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// Operations read at once.
const OPERATIONS_PER_PAGE: usize = 200;
/// Key of the front matter with the number of words of prose a plan aims at.
const TARGET_KEY: &str = "target";

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
    /// Totals of the whole project at the end of each day.
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
    }
}

/// What is measured of one plan.
#[derive(Clone, Copy, Debug, Default)]
struct PlanMeasure {
    plan_words: usize,
    /// `None` without prose.
    prose_words: Option<usize>,
    target: Option<u64>,
}

/// Returns the statistics.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn plan_stats(ctx: &Context<'_>, request: &StatsRequest) -> Result<PlanStats, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let top = find_subtree_root(ctx, &*state, &request.node)?;
    let mut measures: HashMap<NodeId, PlanMeasure> = HashMap::new();
    for node in tree.nodes().filter(|node| node.path.is_some()) {
        measures.insert(node.id, measure_plan(ctx, &*state, &tree, node)?);
    }
    let counted = Counted {
        tree: &tree,
        measures: &measures,
    };
    let (nodes, shown): (Vec<&Node>, Vec<&Node>) = match top {
        Some(top) => (tree.subtree_preorder(top), tree.children(top).collect()),
        None => (tree.all_preorder(), tree.root_nodes().collect()),
    };
    let mut levels: BTreeMap<(usize, &str, &str), NodeCounts> = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.path.is_some()) {
        let key = (
            tree.ancestors(node).len(),
            node.profile.as_str(),
            node.level.as_str(),
        );
        let counts = levels.entry(key).or_default();
        let measure = measures.get(&node.id).copied().unwrap_or_default();
        counts.add_plan(node, measure);
        counts.target = add_targets(counts.target, measure.target);
    }
    Ok(PlanStats {
        levels: levels
            .into_iter()
            .map(|((_, profile, level), counts)| LevelStats {
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
        total: match top.and_then(|top| tree.get(top)) {
            Some(node) => counted.counts_below(node),
            None => counted.counts_of_all(),
        },
        history: compute_history(ctx, &*state, &counted, request.days)?,
    })
}

fn measure_plan(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    node: &Node,
) -> Result<PlanMeasure, Failure> {
    let text = match node.content.version_hash() {
        Some(version) => state.load_text(version)?.unwrap_or_default(),
        None => String::new(),
    };
    // Read from the file and not from a record: people write and edit prose by hand as well.
    let prose = prose_path(ctx, tree, node).map(|path| ctx.files.read_file(&path, MAX_PROSE_BYTES));
    Ok(PlanMeasure {
        plan_words: split_words(&text).len(),
        prose_words: match prose {
            Some(FileReadResult::Text { text, .. }) => Some(split_words(&text).len()),
            _ => None,
        },
        target: parse_front_matter(&text)
            .get_text(TARGET_KEY)
            .and_then(|text| parse_target(&text)),
    })
}

/// Parses a number of words: `1500`, `1,500`, `90k`.
fn parse_target(text: &str) -> Option<u64> {
    let text: String = text
        .trim()
        .chars()
        .filter(|c| !matches!(c, ',' | '_' | '\'' | ' ' | '\u{a0}'))
        .collect();
    match text.strip_suffix(['k', 'K']) {
        Some(thousands) => thousands.parse::<u64>().ok()?.checked_mul(1_000),
        None => text.parse().ok(),
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
    counted: &Counted<'_>,
    days: usize,
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
    let total = counted.counts_of_all();
    let signed = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let present = PlanTotals {
        planned: signed(total.plans),
        approved: signed(total.approved),
        complete: signed(total.complete),
        plan_words: signed(total.plan_words),
        prose_words: signed(total.prose_words),
    };
    let mut words = WordCounts {
        state,
        known: HashMap::new(),
    };
    let mut changes: HashMap<String, PlanTotals> = HashMap::new();
    let mut before = None;
    'pages: loop {
        let page = state.load_operations(before, OPERATIONS_PER_PAGE)?;
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        for operation in &page {
            let day = local_day(operation.at);
            if day < first {
                break 'pages;
            }
            *changes.entry(day).or_default() += words.measure_operation(operation)?;
        }
    }
    Ok(compute_burn_up(present, &changes, &shown))
}

fn local_day(at: Timestamp) -> String {
    at.format_for_file_name().chars().take(10).collect()
}

/// Number of words of texts, each counted once.
struct WordCounts<'s> {
    state: &'s dyn Snapshot,
    known: HashMap<VersionHash, i64>,
}

impl WordCounts<'_> {
    fn count_words(&mut self, version: Option<VersionHash>) -> Result<i64, Failure> {
        let Some(version) = version else {
            return Ok(0);
        };
        if let Some(count) = self.known.get(&version) {
            return Ok(*count);
        }
        let text = self.state.load_text(version)?.unwrap_or_default();
        let count = i64::try_from(split_words(&text).len()).unwrap_or(i64::MAX);
        self.known.insert(version, count);
        Ok(count)
    }

    /// Returns how an operation changed the totals.
    fn measure_operation(&mut self, operation: &Operation) -> Result<PlanTotals, Failure> {
        let mut change = PlanTotals::default();
        let approved = |status: Status| i64::from(status == Status::Approved);
        let complete = |progress: Progress| i64::from(progress == Progress::Complete);
        for fact in &operation.facts {
            match fact {
                Fact::NodeAdded { node } | Fact::NodeRemoved { node } if node.path.is_some() => {
                    let sign = if matches!(fact, Fact::NodeAdded { .. }) {
                        1
                    } else {
                        -1
                    };
                    change += PlanTotals {
                        planned: sign,
                        approved: sign * approved(node.status()),
                        complete: sign * complete(node.progress),
                        plan_words: sign * self.count_words(node.content.version_hash())?,
                        prose_words: 0,
                    };
                }
                Fact::ContentChanged { before, after, .. } => {
                    change.plan_words += self.count_words(after.version_hash())?
                        - self.count_words(before.version_hash())?;
                }
                Fact::ProgressChanged { before, after, .. } => {
                    change.complete += complete(*after) - complete(*before);
                }
                Fact::StandingsChanged { groups } => {
                    for group in groups {
                        let count = i64::try_from(group.nodes.len()).unwrap_or(i64::MAX);
                        change.approved +=
                            count * (approved(group.after.status) - approved(group.before.status));
                    }
                }
                Fact::RecordChanged {
                    record,
                    before,
                    after,
                } if record.kind == EntryKind::Scene.as_str() => {
                    let words = |body: &Option<serde_json::Value>| {
                        body.as_ref()
                            .and_then(|body| body["words"].as_i64())
                            .unwrap_or_default()
                    };
                    change.prose_words += words(after) - words(before);
                }
                _ => {}
            }
        }
        Ok(change)
    }
}

#[cfg(test)]
mod tests {
    use super::parse_target;

    #[test]
    fn targets_are_numbers_as_people_write_them() {
        for (text, expected) in [
            ("1500", Some(1500)),
            ("1,500", Some(1500)),
            ("90k", Some(90_000)),
            ("90 000", Some(90_000)),
            ("many", None),
        ] {
            assert_eq!(parse_target(text), expected, "{text}");
        }
    }
}
