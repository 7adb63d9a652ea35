//! Entities of a plan: kinds, ids, id counters, and lookup by id.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::Plan;

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
    let context = &plan.planning_context;
    match id {
        "overview" => return to_value(Some(&plan.overview)),
        "invisible_knowledge" => return to_value(Some(&plan.invisible_knowledge)),
        "milestone_dependencies" => return to_value(Some(&plan.milestone_dependencies)),
        _ => {}
    }
    match EntityKind::parse_id(id)?.0 {
        EntityKind::Decision => to_value(context.decision_log.iter().find(|one| one.id == id)),
        EntityKind::Alternative => to_value(
            context
                .rejected_alternatives
                .iter()
                .find(|one| one.id == id),
        ),
        EntityKind::Constraint => to_value(context.constraints.iter().find(|one| one.id == id)),
        EntityKind::Risk => to_value(context.known_risks.iter().find(|one| one.id == id)),
        EntityKind::Milestone => {
            let mut found = to_value(plan.find_milestone(id))?;
            if let Some(members) = found.as_object_mut() {
                // With them, editing one intent would change the value of its milestone, and
                // versions of
                // both would have to be kept in step.
                members.retain(|name, _| name != "code_intents" && name != "code_changes");
            }
            Some(found)
        }
        EntityKind::Intent => to_value(
            plan.iter_intents()
                .map(|(_, intent)| intent)
                .find(|one| one.id == id),
        ),
        EntityKind::Change => to_value(
            plan.milestones
                .iter()
                .flat_map(|milestone| &milestone.code_changes)
                .find(|one| one.id == id),
        ),
    }
}
