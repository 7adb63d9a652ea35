//! Board: the plans of one level in columns by phase, progress or status, in lanes by parent.
//!
//! Works on the cached tree; only the holders of plans are read from the store. It moves nothing: a
//! move is `set_phase` or `set_progress`, with their refusals.

use std::collections::{BTreeMap, HashMap};

use domain::ids::NodeId;
use domain::needs::{Needs, is_open};
use domain::node::{Node, Progress, Status};
use domain::record::read_records;
use domain::work::blocked_reason::BlockedReason;
use serde::{Deserialize, Serialize};

use crate::claim_node::list_active_claims;
use crate::context::Context;
use crate::failure::Failure;
use crate::tree_cache::CachedTree;

/// Maximum number of cards in a cell of a board with several lanes.
const MAX_CELL_CARDS: usize = 25;
/// Maximum number of cards in a cell of a board with one lane.
const MAX_COLUMN_CARDS: usize = 100;
/// Maximum number of lanes; the others are opened one by one.
const MAX_LANES: usize = 30;
/// Number of lanes beyond which a board of many parents is one lane by default.
const MAX_DEFAULT_LANES: usize = 12;

/// Number of plans of a level beyond which another level is shown by default.
const MAX_DEFAULT_PLANS: usize = 60;

/// What the columns of a board are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoardColumns {
    Phase,
    Progress,
    Status,
}

impl BoardColumns {
    /// Every kind, in the order of its links.
    pub const ALL: [Self; 3] = [Self::Phase, Self::Progress, Self::Status];

    /// Returns its name in addresses and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Progress => "progress",
            Self::Status => "status",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// Whether a card can be moved to another column. A status follows from decisions.
    #[must_use]
    pub fn is_movable(self) -> bool {
        self != Self::Status
    }
}

/// Request of [`show_board`]; what is empty is chosen by the plans there are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct BoardRequest {
    /// `phase`, `progress` or `status`.
    pub by: String,
    pub level: String,
    /// Only plans below this one, by its path.
    pub under: String,
    /// `parent` or `none`.
    pub lanes: String,
}

/// A board.
#[derive(Clone, Debug, Serialize)]
pub struct BoardView {
    pub by: BoardColumns,
    pub level: String,
    /// The levels there are plans of, with their numbers.
    pub levels: Vec<LevelCount>,
    /// The kinds of columns this level can have.
    pub choices: Vec<BoardColumns>,
    pub has_lanes: bool,
    /// The plan whose children are shown, if only those are.
    pub under: Option<LaneParent>,
    pub columns: Vec<BoardColumn>,
    pub lanes: Vec<BoardLane>,
    /// Number of lanes that are not shown.
    pub hidden_lanes: usize,
    pub total: usize,
}

/// A level and the number of its plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelCount {
    pub level: String,
    pub plans: usize,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BoardColumn {
    /// The value of its plans; empty for plans without one.
    pub key: String,
    pub label: String,
    /// Number of its plans, in all lanes.
    pub plans: usize,
}

/// The plans of one parent, by column.
#[derive(Clone, Debug, Serialize)]
pub struct BoardLane {
    /// `None` for plans without a parent, and on a board without lanes.
    pub parent: Option<LaneParent>,
    pub cells: Vec<BoardCell>,
    pub plans: usize,
    pub complete: usize,
}

/// The parent of a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaneParent {
    pub path: String,
    pub name: String,
    pub status: Status,
}

/// The plans of a lane in one column.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BoardCell {
    /// At most as many as a board shows.
    pub cards: Vec<BoardCard>,
    pub total: usize,
}

/// A plan on the board.
#[derive(Clone, Debug, Serialize)]
pub struct BoardCard {
    pub path: String,
    pub entity_id: String,
    pub title: Option<String>,
    pub status: Status,
    pub progress: Progress,
    pub phase: Option<String>,
    pub priority: Option<String>,
    pub due: Option<String>,
    /// Number of plans below it that are complete, and of all.
    pub children: [usize; 2],
    /// Paths of what it needs and is not complete.
    pub open_needs: Vec<String>,
    /// The session that holds it.
    pub holder: Option<String>,
    /// Why it is blocked, if a reason was given.
    pub blocked_reason: Option<String>,
}

impl BoardCard {
    /// Returns the title, or the id of a plan without one.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.entity_id)
    }
}

/// Returns the board.
///
/// # Errors
/// When the state cannot be read.
pub fn show_board(
    ctx: &Context<'_>,
    known: &CachedTree,
    request: &BoardRequest,
) -> Result<BoardView, Failure> {
    let plans: Vec<&Node> = known
        .order
        .iter()
        .filter_map(|id| known.tree.get(*id))
        // The trail is no planned work.
        .filter(|node| node.profile != domain::trail::PROFILE)
        .collect();
    let levels = count_levels(&plans);
    let level = choose_level(&plans, &levels, &request.level);
    let under = known.find_by_path(request.under.trim());
    let shown: Vec<&Node> = plans
        .into_iter()
        .filter(|node| node.level == level && is_below(known, node, under))
        .collect();
    let choices = list_choices(ctx, &shown);
    let by = BoardColumns::from_word(&request.by)
        // An address may be from another level or an older board: what does not fit is chosen again
        // instead of refused.
        .filter(|by| choices.contains(by))
        .or_else(|| choices.first().copied())
        .unwrap_or(BoardColumns::Progress);
    let mut columns = list_columns(ctx, by, &shown);
    for column in &mut columns {
        column.plans = shown
            .iter()
            .filter(|node| column_key(by, node) == column.key)
            .count();
    }
    let groups = group_by_parent(&shown, &request.lanes, under);
    let has_lanes = groups.len() > 1;
    let hidden_lanes = groups.len().saturating_sub(MAX_LANES);
    let cards = CardBuilder {
        known,
        // Once for all cards, because resolving names builds an index of all aliases.
        needs: Needs::from_tree(&known.tree, ctx.profiles),
        holders: load_holders(ctx)?,
        reasons: load_blocked_reasons(ctx)?,
    };
    let lanes = groups.into_iter().take(MAX_LANES).map(|(parent, nodes)| {
        let limit = if has_lanes {
            MAX_CELL_CARDS
        } else {
            MAX_COLUMN_CARDS
        };
        build_lane(&cards, by, &columns, parent, &nodes, limit)
    });
    Ok(BoardView {
        by,
        lanes: lanes.collect(),
        total: shown.len(),
        level,
        levels,
        choices,
        has_lanes,
        under: under.map(|node| lane_parent(known, node)),
        columns,
        hidden_lanes,
    })
}

/// Counts the plans of each level, in the order in which levels first occur.
fn count_levels(plans: &[&Node]) -> Vec<LevelCount> {
    let mut levels: Vec<LevelCount> = Vec::new();
    for node in plans {
        match levels.iter_mut().find(|one| one.level == node.level) {
            Some(known) => known.plans += 1,
            None => levels.push(LevelCount {
                level: node.level.clone(),
                plans: 1,
            }),
        }
    }
    levels
}

/// Returns the level that was asked for, else the one whose plans have phases, else the one with the
/// most plans among those that fit on a board.
fn choose_level(plans: &[&Node], levels: &[LevelCount], asked: &str) -> String {
    let has_phase = |node: &&&Node| work_phase(node).is_some();
    let is_known = levels.iter().any(|one| one.level == asked);
    if is_known {
        return asked.to_owned();
    }
    if let Some(node) = plans.iter().find(has_phase) {
        return node.level.clone();
    }
    let fitting = levels.iter().filter(|one| one.plans <= MAX_DEFAULT_PLANS);
    let chosen = fitting.max_by_key(|one| one.plans);
    // Without one, the level that is nearest to it.
    let chosen = chosen.or_else(|| levels.iter().min_by_key(|one| one.plans));
    chosen.map(|one| one.level.clone()).unwrap_or_default()
}

fn is_below(known: &CachedTree, node: &Node, under: Option<&Node>) -> bool {
    let Some(under) = under else { return true };
    let ancestors = known.tree.ancestors(node);
    ancestors.iter().any(|above| above.id == under.id)
}

/// Returns the kinds of columns the plans of a level can have: phases only where their profile has
/// some.
fn list_choices(ctx: &Context<'_>, shown: &[&Node]) -> Vec<BoardColumns> {
    // Without a plan that has a phase, the board would be a single column of everything.
    let has_phases = shown.iter().any(|node| work_phase(node).is_some())
        && shown
            .first()
            .and_then(|node| ctx.find_profile(&node.profile))
            .is_some_and(|profile| !profile.work_phases.is_empty());
    let kinds = BoardColumns::ALL.into_iter();
    kinds
        .filter(|kind| *kind != BoardColumns::Phase || has_phases)
        .collect()
}

/// Returns the columns: every value a plan can have, and those that only files name.
fn list_columns(ctx: &Context<'_>, by: BoardColumns, shown: &[&Node]) -> Vec<BoardColumn> {
    let column = |key: &str, label: &str| BoardColumn {
        key: key.to_owned(),
        label: label.to_owned(),
        plans: 0,
    };
    let mut columns: Vec<BoardColumn> = match by {
        BoardColumns::Progress => [
            Progress::Pending,
            Progress::Active,
            Progress::Blocked,
            Progress::Complete,
        ]
        .map(|one| column(one.as_str(), one.as_str()))
        .to_vec(),
        BoardColumns::Status => [
            Status::Draft,
            Status::RequiresRevalidation,
            Status::Invalid,
            Status::Approved,
        ]
        .map(|one| column(one.as_str(), one.label()))
        .to_vec(),
        BoardColumns::Phase => {
            let profile = shown
                .first()
                .and_then(|node| ctx.find_profile(&node.profile));
            let phases = profile.map_or(&[][..], |profile| &profile.work_phases);
            phases
                .iter()
                .map(|phase| column(&phase.name, &phase.name))
                .collect()
        }
    };
    // A phase that no profile knows, and plans without one: no card may be missing.
    for node in shown {
        let key = column_key(by, node);
        if !columns.iter().any(|one| one.key == key) {
            match key {
                "" => columns.insert(0, column("", "no phase")),
                other => columns.push(column(other, other)),
            }
        }
    }
    columns
}

fn work_phase(node: &Node) -> Option<&str> {
    let work = node.description.work.as_ref()?;
    work.phase.as_deref()
}

fn column_key(by: BoardColumns, node: &Node) -> &str {
    match by {
        BoardColumns::Phase => work_phase(node).unwrap_or_default(),
        BoardColumns::Progress => node.progress.as_str(),
        BoardColumns::Status => node.status().as_str(),
    }
}

/// Groups plans by their parents, in tree order; one group without lanes.
fn group_by_parent<'n>(
    shown: &[&'n Node],
    lanes: &str,
    under: Option<&Node>,
) -> Vec<(Option<NodeId>, Vec<&'n Node>)> {
    let mut groups: Vec<(Option<NodeId>, Vec<&Node>)> = Vec::new();
    let mut places: HashMap<Option<NodeId>, usize> = HashMap::new();
    for node in shown {
        let place = *places.entry(node.parent).or_insert_with(|| {
            groups.push((node.parent, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, group)) = groups.get_mut(place) {
            group.push(node);
        }
    }
    let is_one_lane = match lanes {
        "none" => true,
        "parent" => false,
        // Below a chosen plan its children are what was asked for, however many there are.
        _ => groups.len() > MAX_DEFAULT_LANES && under.is_none(),
    };
    if is_one_lane {
        return vec![(None, shown.to_vec())];
    }
    groups
}

/// Returns the sessions that hold plans, by the paths of these.
fn load_holders(ctx: &Context<'_>) -> Result<BTreeMap<String, String>, Failure> {
    let state = ctx.store.begin_read()?;
    // Not from the cached tree: claims end by time, without an operation that would refresh it.
    let claims = list_active_claims(ctx, &*state)?.into_iter();
    Ok(claims
        .map(|held| (held.node.path, held.claim.session))
        .collect())
}

/// Returns why plans are blocked, by the keys of their records.
fn load_blocked_reasons(ctx: &Context<'_>) -> Result<BTreeMap<String, String>, Failure> {
    let state = ctx.store.begin_read()?;
    let reasons = read_records::<BlockedReason>(&*state, "")?.into_iter();
    Ok(reasons.map(|(key, reason)| (key, reason.text)).collect())
}

fn lane_parent(known: &CachedTree, node: &Node) -> LaneParent {
    LaneParent {
        path: known.tree.alias_path(node),
        name: node
            .description
            .title
            .clone()
            .unwrap_or_else(|| node.alias.clone()),
        status: node.status(),
    }
}

fn build_lane(
    cards: &CardBuilder<'_>,
    by: BoardColumns,
    columns: &[BoardColumn],
    parent: Option<NodeId>,
    nodes: &[&Node],
    limit: usize,
) -> BoardLane {
    let mut cells = vec![BoardCell::default(); columns.len()];
    for node in nodes {
        let key = column_key(by, node);
        let place = columns.iter().position(|column| column.key == key);
        if let Some(cell) = place.and_then(|place| cells.get_mut(place)) {
            cell.total += 1;
            if cell.cards.len() < limit {
                cell.cards.push(cards.build_card(node));
            }
        }
    }
    BoardLane {
        parent: parent
            .and_then(|id| cards.known.tree.get(id))
            .map(|node| lane_parent(cards.known, node)),
        cells,
        plans: nodes.len(),
        complete: nodes
            .iter()
            .filter(|node| node.progress == Progress::Complete)
            .count(),
    }
}

/// What cards are built from.
struct CardBuilder<'t> {
    known: &'t CachedTree,
    needs: Needs,
    holders: BTreeMap<String, String>,
    reasons: BTreeMap<String, String>,
}

impl CardBuilder<'_> {
    fn build_card(&self, node: &Node) -> BoardCard {
        let tree = &self.known.tree;
        let path = tree.alias_path(node);
        let (mut complete, mut all) = (0, 0);
        for child in tree.children(node.id).filter(|child| !child.is_dropped()) {
            all += 1;
            complete += usize::from(child.progress == Progress::Complete);
        }
        let needed = self.needs.needs_of_node(node.id).iter();
        let open_needs = needed
            .filter_map(|id| tree.get(*id))
            .filter(|needed| is_open(needed))
            .map(|needed| tree.alias_path(needed));
        let work = node.description.work.as_ref();
        BoardCard {
            open_needs: open_needs.collect(),
            holder: self.holders.get(&path).cloned(),
            blocked_reason: match node.progress {
                Progress::Blocked => self.reasons.get(&BlockedReason::key_of(node.id)).cloned(),
                _ => None,
            },
            path,
            entity_id: node.alias.clone(),
            title: node.description.title.clone(),
            status: node.status(),
            progress: node.progress,
            phase: work_phase(node).map(str::to_owned),
            priority: work.and_then(|work| work.priority.clone()),
            due: work.and_then(|work| work.due.clone()),
            children: [complete, all],
        }
    }
}
