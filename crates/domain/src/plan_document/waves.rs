//! Waves: topological levels of the milestones, each of which can be implemented in parallel.

use std::collections::HashMap;

use super::model::{Plan, Wave};

/// A dependency cycle of milestones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("dependency cycle: {}", milestones.join(" → "))]
pub struct DependencyCycle {
    pub milestones: Vec<String>,
}

/// Computes the waves from the dependencies, each milestone in the earliest wave possible.
///
/// Dependencies on unknown ids are ignored here; [`super::check`] reports them.
///
/// # Errors
/// [`Circle`] with one cycle; its first milestone is repeated at the end.
pub fn compute_waves(plan: &Plan) -> Result<Vec<Wave>, DependencyCycle> {
    let index: HashMap<&str, usize> = plan
        .milestones
        .iter()
        .enumerate()
        .map(|(at, milestone)| (milestone.id.as_str(), at))
        .collect();
    let needs: Vec<Vec<usize>> = plan
        .milestones
        .iter()
        .map(|milestone| {
            milestone
                .depends_on
                .iter()
                .filter_map(|id| index.get(id.as_str()).copied())
                .collect()
        })
        .collect();
    let mut level: Vec<Option<usize>> = vec![None; needs.len()];
    let mut left = needs.len();
    // Level by level instead of Kahn's queue: even a large plan has some 200 milestones in a
    // handful of waves, and within a wave they stay in document order.
    for wave in 0..needs.len() {
        let ready: Vec<usize> = (0..needs.len())
            .filter(|at| {
                level[*at].is_none() && needs[*at].iter().all(|need| level[*need].is_some())
            })
            .collect();
        if ready.is_empty() {
            break;
        }
        left -= ready.len();
        ready.into_iter().for_each(|at| level[at] = Some(wave));
    }
    if left > 0 {
        return Err(find_cycle(plan, &needs, &level));
    }
    let mut waves: Vec<Wave> = Vec::new();
    for (at, level) in level.iter().enumerate() {
        let level = level.unwrap_or_default();
        // Levels have no gaps, but the first milestone of the file may well be in the last wave.
        while waves.len() <= level {
            waves.push(Wave {
                wave: u32::try_from(waves.len() + 1).unwrap_or(u32::MAX),
                milestones: Vec::new(),
            });
        }
        waves[level].milestones.push(plan.milestones[at].id.clone());
    }
    Ok(waves)
}

/// Follows unresolved dependencies until a milestone repeats.
fn find_cycle(plan: &Plan, needs: &[Vec<usize>], level: &[Option<usize>]) -> DependencyCycle {
    let mut way: Vec<usize> = Vec::new();
    let mut at = level.iter().position(Option::is_none).unwrap_or_default();
    while !way.contains(&at) {
        way.push(at);
        // A milestone without a wave always depends on another one without, so the walk cannot end
        // before it closes the cycle; `unwrap_or` only satisfies the types.
        at = needs[at]
            .iter()
            .copied()
            .find(|need| level[*need].is_none())
            .unwrap_or(at);
    }
    // The walk may enter the cycle from outside; what lies before the entry is not part of it.
    let start = way
        .iter()
        .position(|known| *known == at)
        .unwrap_or_default();
    let names = way
        .split_off(start)
        .into_iter()
        .chain([at])
        .map(|at| plan.milestones[at].id.clone());
    DependencyCycle {
        milestones: names.collect(),
    }
}
