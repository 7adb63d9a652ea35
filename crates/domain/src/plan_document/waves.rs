//! Waves: which milestones can be worked on at the same time.

use std::collections::HashMap;

use super::model::{Plan, Wave};

/// Milestones that wait for one another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} wait for one another", milestones.join(" → "))]
pub struct Circle {
    pub milestones: Vec<String>,
}

/// Returns the waves that follow from what each milestone depends on: each as early as it can be.
///
/// Names that are no milestone are passed over; [`super::check`] reports them.
///
/// # Errors
/// [`Circle`] with one circle, from its first milestone around to itself.
pub fn computed(plan: &Plan) -> Result<Vec<Wave>, Circle> {
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
        return Err(circle(plan, &needs, &level));
    }
    let mut waves: Vec<Wave> = Vec::new();
    for (at, level) in level.iter().enumerate() {
        let level = level.unwrap_or_default();
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

/// Walks along open needs until a milestone comes again.
fn circle(plan: &Plan, needs: &[Vec<usize>], level: &[Option<usize>]) -> Circle {
    let mut way: Vec<usize> = Vec::new();
    let mut at = level.iter().position(Option::is_none).unwrap_or_default();
    while !way.contains(&at) {
        way.push(at);
        // Whoever has no wave waits for somebody who has none either.
        at = needs[at]
            .iter()
            .copied()
            .find(|need| level[*need].is_none())
            .unwrap_or(at);
    }
    let start = way
        .iter()
        .position(|known| *known == at)
        .unwrap_or_default();
    let names = way
        .split_off(start)
        .into_iter()
        .chain([at])
        .map(|at| plan.milestones[at].id.clone());
    Circle {
        milestones: names.collect(),
    }
}
