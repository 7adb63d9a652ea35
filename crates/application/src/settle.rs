//! Settling: after facts about texts and approvals, which statuses follow.
//!
//! The one place where a cascade is gathered: the subtrees concerned, with the facts that are about
//! to be recorded put over them, so that everything goes into one operation.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::cascade::{Occasion, StandingGroup, as_parent, overlay, reevaluate};
use domain::fact::Fact;
use domain::ids::{CanonicalHash, NodeId};
use domain::node::{Node, Standing, Status};
use domain::policy::CascadePolicy;
use domain::ports::{Snapshot, StoreFault, Transaction};
use domain::secrets::{MaskedText, find_secrets};
use domain::section::{Reliance, touches};
use domain::status::{Footing, JudgingRules, ParentFooting, any_change_counts};
use domain::time::Timestamp;

use crate::context::Context;
use crate::failure::Failure;
use crate::record_policy::judging_policy;

/// Adds to `facts` every change of status that follows from them.
pub(crate) fn settle(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    facts: &mut Vec<Fact>,
    texts: &[String],
    now: Timestamp,
    note: Option<&str>,
) -> Result<(), Failure> {
    let tops = tops(tx, facts)?;
    if tops.is_empty() {
        return Ok(());
    }
    let occasion = Occasion {
        operation: tx.next_operation()?,
        now,
        note,
    };
    let precise = Precise::new(ctx, tx, texts, facts);
    let mut footings = footings(tx, tops)?;
    overlay(&mut footings, facts);
    let above = above(tx, &footings)?;
    let moved = |child: &Footing, against, now| precise.counts(child, against, now);
    let rules = JudgingRules {
        approval: judging_policy(ctx, tx, facts)?,
        moved: &moved,
    };
    let groups = reevaluate(
        &footings,
        &above,
        occasion,
        ctx.policy.cascade_max_depth,
        rules,
    )?;
    if !groups.is_empty() {
        facts.push(Fact::StandingsChanged { groups });
    }
    Ok(())
}

fn footings(tx: &dyn Transaction, tops: Vec<NodeId>) -> Result<Vec<Footing>, StoreFault> {
    let mut footings = Vec::new();
    for top in tops {
        footings.extend(tx.footings(top)?);
    }
    Ok(footings)
}

/// Returns every change of status that should have followed from facts that are recorded: none, if all was settled.
pub(crate) fn unsettled(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    facts: &[Fact],
    now: Timestamp,
) -> Result<Vec<StandingGroup>, Failure> {
    let tops = tops(tx, facts)?;
    let precise = Precise::new(ctx, tx, &[], &[]);
    let footings = footings(tx, tops)?;
    let above = above(tx, &footings)?;
    let occasion = Occasion {
        operation: tx.head()?,
        now,
        note: None,
    };
    let moved = |child: &Footing, against, now| precise.counts(child, against, now);
    let rules = JudgingRules {
        approval: judging_policy(ctx, tx, &[])?,
        moved: &moved,
    };
    Ok(reevaluate(
        &footings,
        &above,
        occasion,
        ctx.policy.cascade_max_depth,
        rules,
    )?)
}

/// Returns the topmost nodes whose status may follow from the facts.
fn tops(tx: &dyn Transaction, facts: &[Fact]) -> Result<Vec<NodeId>, Failure> {
    let mut parents: HashMap<NodeId, Option<NodeId>> = HashMap::new();
    let mut touched: BTreeSet<NodeId> = BTreeSet::new();
    for fact in facts {
        match fact {
            Fact::NodeAdded { node } => {
                parents.insert(node.id, node.parent);
                touched.insert(node.id);
            }
            // Subtrees are read as they are recorded, so where a node was says in which it is found.
            Fact::NodeMoved { node, .. }
            | Fact::ContentChanged { node, .. }
            | Fact::ApprovalChanged { node, .. }
            | Fact::CondemnationChanged { node, .. } => {
                touched.insert(*node);
            }
            Fact::StandingsChanged { groups } => {
                touched.extend(groups.iter().flat_map(|group| group.nodes.iter().copied()));
            }
            Fact::NodeRemoved { node } => {
                touched.remove(&node.id);
            }
            Fact::DescriptionChanged { .. }
            | Fact::ProgressChanged { .. }
            | Fact::BackupWritten { .. }
            | Fact::RecordChanged { .. }
            | Fact::UndoneChanged { .. } => {}
        }
    }
    let mut tops = Vec::new();
    for id in &touched {
        let mut above = parent_of(tx, &mut parents, *id)?;
        let mut covered = false;
        while let Some(parent) = above {
            if touched.contains(&parent) {
                covered = true;
                break;
            }
            above = parent_of(tx, &mut parents, parent)?;
        }
        if !covered {
            tops.push(*id);
        }
    }
    Ok(tops)
}

fn parent_of(
    tx: &dyn Transaction,
    known: &mut HashMap<NodeId, Option<NodeId>>,
    id: NodeId,
) -> Result<Option<NodeId>, Failure> {
    if let Some(parent) = known.get(&id) {
        return Ok(*parent);
    }
    let parent = tx.node(id)?.and_then(|node| node.parent);
    known.insert(id, parent);
    Ok(parent)
}

/// Returns the parents the subtree stands on, as they are recorded.
fn above(
    tx: &dyn Transaction,
    footings: &[Footing],
) -> Result<HashMap<NodeId, (ParentFooting, Standing)>, Failure> {
    let inside: HashSet<NodeId> = footings.iter().map(|footing| footing.id).collect();
    let mut above = HashMap::new();
    for parent in footings
        .iter()
        .filter_map(|footing| footing.parent)
        .filter(|parent| !inside.contains(parent))
    {
        if let std::collections::hash_map::Entry::Vacant(place) = above.entry(parent)
            && let Some(node) = tx.node(parent)?
        {
            place.insert((as_parent(&node.footing(), node.status()), node.standing));
        }
    }
    Ok(above)
}

/// The precise cascade's answer, looked up in the kept texts.
struct Precise<'s> {
    ctx: &'s Context<'s>,
    state: &'s dyn Snapshot,
    /// Texts that are not in the store yet, by their canonical hash.
    fresh: BTreeMap<CanonicalHash, &'s str>,
    described: HashMap<NodeId, Node>,
    cache: RefCell<HashMap<(NodeId, CanonicalHash), Option<String>>>,
}

impl<'s> Precise<'s> {
    /// Says whether a change of the parent counts for a child, by the project's policy.
    fn counts(&self, child: &Footing, against: CanonicalHash, now: CanonicalHash) -> bool {
        match self.ctx.policy.cascade {
            CascadePolicy::Deep => any_change_counts(child, against, now),
            CascadePolicy::Precise => self.moved(child, against, now),
        }
    }

    fn new(
        ctx: &'s Context<'s>,
        tx: &'s dyn Transaction,
        texts: &'s [String],
        facts: &[Fact],
    ) -> Self {
        let needed = ctx.policy.cascade == CascadePolicy::Precise;
        let fresh = texts
            .iter()
            // What is kept of a text with secrets is not the text: such a change counts, here and on a server.
            .filter(|text| needed && find_secrets(text).is_empty())
            .map(|text| (domain::version::canonical_hash(text), text.as_str()))
            .collect();
        let described = facts
            .iter()
            .filter_map(|fact| match fact {
                Fact::NodeAdded { node } => Some((node.id, node.as_ref().clone())),
                _ => None,
            })
            .collect();
        Self {
            ctx,
            state: tx,
            fresh,
            described,
            cache: RefCell::new(HashMap::new()),
        }
    }

    /// When anything that is needed cannot be found, the child counts as touched.
    fn moved(&self, child: &Footing, against: CanonicalHash, now: CanonicalHash) -> bool {
        let Some(parent) = child.parent else {
            return true;
        };
        let node = match self.described.get(&child.id) {
            Some(node) => node.clone(),
            None => match self.state.node(child.id) {
                Ok(Some(node)) => node,
                _ => return true,
            },
        };
        let (Some(older), Some(newer)) = (self.text(parent, against), self.text(parent, now))
        else {
            return true;
        };
        let names = names_of(self.ctx, &node);
        touches(
            &older,
            &newer,
            &Reliance {
                listed: &node.description.relies_on,
                names: &names,
            },
        )
    }

    fn text(&self, node: NodeId, canonical: CanonicalHash) -> Option<String> {
        if let Some(text) = self.fresh.get(&canonical) {
            return Some((*text).to_owned());
        }
        if let Some(known) = self.cache.borrow().get(&(node, canonical)) {
            return known.clone();
        }
        let found = self.state.versions(node).ok().and_then(|versions| {
            let version = versions
                .into_iter()
                .find(|version| version.canonical == canonical)?;
            MaskedText::read(self.state, version.hash)
                .ok()?
                .is_none()
                .then_some(())?;
            self.state.text(version.hash).ok().flatten()
        });
        self.cache
            .borrow_mut()
            .insert((node, canonical), found.clone());
        found
    }
}

/// Returns the names under which a parent's section may speak of a node.
fn names_of(ctx: &Context<'_>, node: &Node) -> Vec<String> {
    let mut names = vec![node.alias.clone(), format!("{} {}", node.level, node.order)];
    let numbered = ctx
        .profile(&node.profile)
        .and_then(|profile| profile.level(&node.level))
        .map(|level| &level.alias);
    if let Some(pattern) = numbered
        && let Some(bare) = node.alias.split_once('-').map(|(_, bare)| bare)
        && pattern.is_numbered()
    {
        names.push(format!("{} {bare}", node.level));
    }
    names.extend(node.description.title.clone());
    names
}

/// Says how many nodes a list of facts makes stale.
pub(crate) fn count_stale(facts: &[Fact]) -> usize {
    facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::StandingsChanged { groups } => Some(groups),
            _ => None,
        })
        .flatten()
        .filter(|group| group.after.status == Status::RequiresRevalidation)
        .map(|group| group.nodes.len())
        .sum()
}
