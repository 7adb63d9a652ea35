//! Entities of a plan: kinds, ids, id counters, and lookup by id.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::{
    CodeChange, CodeIntent, Constraint, Decision, Milestone, Plan, RejectedAlternative, Risk,
};

/// Kind of a plan entity that has an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntityKind {
    Decision,
    Alternative,
    Constraint,
    Risk,
    Milestone,
    Intent,
    Change,
}

impl EntityKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Decision,
        Self::Alternative,
        Self::Constraint,
        Self::Risk,
        Self::Milestone,
        Self::Intent,
        Self::Change,
    ];

    /// Returns the prefix of this kind's ids.
    #[must_use]
    pub fn id_prefix(self) -> &'static str {
        match self {
            Self::Decision => "DL",
            Self::Alternative => "RA",
            Self::Constraint => "C",
            Self::Risk => "R",
            Self::Milestone => "M",
            Self::Intent => "CI",
            Self::Change => "CC",
        }
    }

    /// Returns the kind's name for messages.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Alternative => "rejected alternative",
            Self::Constraint => "constraint",
            Self::Risk => "risk",
            Self::Milestone => "milestone",
            Self::Intent => "code intent",
            Self::Change => "code change",
        }
    }

    /// Parses an id into kind and number: `CI-004` is intent 4.
    #[must_use]
    pub fn parse_id(id: &str) -> Option<(Self, u32)> {
        let (prefix, digits) = id.split_once('-')?;
        let kind = Self::ALL
            .into_iter()
            .find(|kind| kind.id_prefix() == prefix)?;
        let number = digits.parse().ok().filter(|number| *number > 0)?;
        // Round trip, so that each number has one spelling: `M-1`, `M-0001` and `M-+01` all parse
        // as
        // 1 and would otherwise be three ids for the same counter.
        (kind.format_id(number) == id).then_some((kind, number))
    }

    /// Formats the id with this number.
    #[must_use]
    pub fn format_id(self, number: u32) -> String {
        format!("{}-{number:03}", self.id_prefix())
    }
}

/// A type of plan entities: its kind, and the lists of a plan that hold it.
pub(super) trait Entity: Serialize + DeserializeOwned {
    const KIND: EntityKind;

    fn id(&self) -> &str;

    fn version_mut(&mut self) -> &mut u64;

    /// Returns the lists: one, or one per milestone.
    fn lists(plan: &Plan) -> Vec<&Vec<Self>>;

    fn lists_mut(plan: &mut Plan) -> Vec<&mut Vec<Self>>;

    fn find<'p>(plan: &'p Plan, id: &str) -> Option<&'p Self>
    where
        Self: 'p,
    {
        let mut all = Self::lists(plan).into_iter().flatten();
        all.find(|entity| entity.id() == id)
    }

    fn find_mut<'p>(plan: &'p mut Plan, id: &str) -> Option<&'p mut Self>
    where
        Self: 'p,
    {
        let mut all = Self::lists_mut(plan).into_iter().flatten();
        all.find(|entity| entity.id() == id)
    }
}

macro_rules! impl_entity {
    ($entity:ty, $kind:ident, $plan:ident => [$($lists:tt)+], mut [$($lists_mut:tt)+]) => {
        impl Entity for $entity {
            const KIND: EntityKind = EntityKind::$kind;

            fn id(&self) -> &str {
                &self.id
            }

            fn version_mut(&mut self) -> &mut u64 {
                &mut self.version
            }

            fn lists($plan: &Plan) -> Vec<&Vec<Self>> {
                $($lists)+
            }

            fn lists_mut($plan: &mut Plan) -> Vec<&mut Vec<Self>> {
                $($lists_mut)+
            }
        }
    };
    ($entity:ty, $kind:ident, plan.$($list:ident).+) => {
        impl_entity!($entity, $kind, plan => [vec![&plan.$($list).+]], mut [vec![&mut plan.$($list).+]]);
    };
    ($entity:ty, $kind:ident, milestone.$list:ident) => {
        impl_entity!(
            $entity, $kind, plan =>
            [plan.milestones.iter().map(|milestone| &milestone.$list).collect()],
            mut [plan.milestones.iter_mut().map(|milestone| &mut milestone.$list).collect()]
        );
    };
}

impl_entity!(Decision, Decision, plan.planning_context.decision_log);
impl_entity!(
    RejectedAlternative,
    Alternative,
    plan.planning_context.rejected_alternatives
);
impl_entity!(Constraint, Constraint, plan.planning_context.constraints);
impl_entity!(Risk, Risk, plan.planning_context.known_risks);
impl_entity!(Milestone, Milestone, plan.milestones);
impl_entity!(CodeIntent, Intent, milestone.code_intents);
impl_entity!(CodeChange, Change, milestone.code_changes);

/// Evaluates an expression for the entity type of a kind.
macro_rules! with_entity_type {
    ($kind:expr, $entity:ident => $do:expr) => {
        with_entity_type!($kind, $entity => $do,
            Decision: Decision, Alternative: RejectedAlternative, Constraint: Constraint, Risk: Risk,
            Milestone: Milestone, Intent: CodeIntent, Change: CodeChange)
    };
    ($kind:expr, $entity:ident => $do:expr, $($variant:ident: $model:ident),+) => {
        match $kind {
            $(EntityKind::$variant => {
                type $entity = crate::plan_document::model::$model;
                $do
            })+
        }
    };
}
pub(super) use with_entity_type;

/// Raises the version of an entity or a named part, unless it is higher already.
pub fn raise_entity_version(plan: &mut Plan, id: &str, version: u64) {
    let place = match (id, EntityKind::parse_id(id)) {
        ("overview", _) => Some(&mut plan.overview.version),
        ("invisible_knowledge", _) => Some(&mut plan.invisible_knowledge.version),
        ("milestone_dependencies", _) => Some(&mut plan.milestone_dependencies.version),
        (_, Some((kind, _))) => {
            with_entity_type!(kind, E => E::find_mut(plan, id).map(Entity::version_mut))
        }
        _ => None,
    };
    if let Some(place) = place {
        *place = version.max(*place);
    }
}

/// Id counters: the highest number ever used, by kind.
///
/// The id of a removed entity is never reused, because commits and reviews may still name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdCounters(BTreeMap<String, u32>);

impl IdCounters {
    /// Derives the counters from the ids in a plan.
    #[must_use]
    pub fn from_plan(plan: &Plan) -> Self {
        let mut numbers = Self::default();
        for id in entity_ids(plan) {
            if let Some((kind, number)) = EntityKind::parse_id(id) {
                let known = numbers.0.entry(kind.id_prefix().to_owned()).or_default();
                *known = number.max(*known);
            }
        }
        numbers
    }

    /// Draws the next id of a kind.
    pub fn next_id(&mut self, kind: EntityKind) -> String {
        let known = self.0.entry(kind.id_prefix().to_owned()).or_default();
        *known += 1;
        kind.format_id(*known)
    }

    /// Returns the maximum of both counters, kind by kind.
    #[must_use]
    pub fn merge_max(mut self, other: &Self) -> Self {
        for (kind, number) in &other.0 {
            // A plan edited by hand may be ahead of the record, and the record is ahead of the plan
            // after
            // a removal; neither alone is safe.
            let known = self.0.entry(kind.clone()).or_default();
            *known = (*number).max(*known);
        }
        self
    }
}

/// Returns every entity id of a plan, in document order.
pub(super) fn entity_ids(plan: &Plan) -> impl Iterator<Item = &str> {
    let context = &plan.planning_context;
    let decisions = context.decision_log.iter().map(|one| one.id.as_str());
    let alternatives = context
        .rejected_alternatives
        .iter()
        .map(|one| one.id.as_str());
    let constraints = context.constraints.iter().map(|one| one.id.as_str());
    let risks = context.known_risks.iter().map(|one| one.id.as_str());
    let milestones = plan.milestones.iter().flat_map(|milestone| {
        let intents = milestone.code_intents.iter().map(|one| one.id.as_str());
        let changes = milestone.code_changes.iter().map(|one| one.id.as_str());
        std::iter::once(milestone.id.as_str())
            .chain(intents)
            .chain(changes)
    });
    decisions
        .chain(alternatives)
        .chain(constraints)
        .chain(risks)
        .chain(milestones)
}

/// Parts of a plan that are addressed by name instead of an id; every plan has exactly one of each.
pub(super) const NAMED_PARTS: [&str; 3] =
    ["overview", "invisible_knowledge", "milestone_dependencies"];

/// Returns an entity as JSON, or a part by its name.
///
/// A milestone comes without its intents and changes, which are entities themselves.
#[must_use]
pub fn entity_value(plan: &Plan, id: &str) -> Option<Value> {
    fn to_value<T: Serialize>(found: Option<&T>) -> Option<Value> {
        found.and_then(|entity| serde_json::to_value(entity).ok())
    }
    match id {
        "overview" => return to_value(Some(&plan.overview)),
        "invisible_knowledge" => return to_value(Some(&plan.invisible_knowledge)),
        "milestone_dependencies" => return to_value(Some(&plan.milestone_dependencies)),
        _ => {}
    }
    let (kind, _) = EntityKind::parse_id(id)?;
    let mut found = with_entity_type!(kind, E => to_value(E::find(plan, id)))?;
    if let (EntityKind::Milestone, Some(members)) = (kind, found.as_object_mut()) {
        // With them, editing one intent would change the value of its milestone, and versions of
        // both would have to be kept in step.
        members.retain(|name, _| name != "code_intents" && name != "code_changes");
    }
    Some(found)
}
