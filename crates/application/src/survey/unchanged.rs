//! A look at everything that asks the state only about what may have changed since the last one.
//!
//! A survey that found everything as recorded depends on what the files showed, on the recorded nodes and on the profiles.
//! While the files show the same, only nodes that operations touched since have to be compared again.

use std::collections::BTreeSet;

use domain::ids::{Digest32, NodeId, OperationId};
use domain::ports::LookedAgain;

use super::{Survey, Surveyor};
use crate::failure::Failure;

/// So many nodes that operations touched are looked at one by one; with more, everything is.
const MOST_NODES: usize = 16;
/// So many operations are gone through, and so many more the more files there are: each costs a part of what a node does.
const FEW_OPERATIONS: usize = 32;
const FILES_AN_OPERATION: usize = 8;

impl Surveyor<'_, '_> {
    /// Looks at everything, at no more than needed.
    pub(super) fn whatever_changed(&mut self) -> Result<(), Failure> {
        let next_node = self.next_node;
        if self.is_as_kept()? {
            return Ok(());
        }
        // From the beginning: what was looked at is seen again.
        self.next_node = next_node;
        self.has_read = false;
        self.survey = Survey::default();
        self.met.clear();
        self.passed_by.clear();
        self.stamps.clear();
        let noticed = self.ctx.noticed_so_far();
        self.files.note_looks();
        self.everything()?;
        let sure = self.survey.shows_nothing() && !self.has_read && self.survey.stamps.is_empty();
        // What is told must be told again the next time.
        if sure && self.ctx.noticed_so_far() == noticed {
            self.files.keep_looks(&self.mark(self.state.head()?)?);
        }
        Ok(())
    }

    /// Says whether the last look still holds, and nothing that was touched since differs from its file.
    fn is_as_kept(&mut self) -> Result<bool, Failure> {
        let Some(LookedAgain {
            mark,
            looked,
            changed,
        }) = self.files.look_again(MOST_NODES)
        else {
            return Ok(false);
        };
        let Some(kept) = mark
            .split_once(' ')
            .and_then(|(head, _)| head.parse().ok().map(OperationId))
        else {
            return Ok(false);
        };
        let head = self.state.head()?;
        let since = head
            .0
            .checked_sub(kept.0)
            .and_then(|since| usize::try_from(since).ok());
        let most = FEW_OPERATIONS + looked / FILES_AN_OPERATION;
        let Some(since) = since.filter(|since| *since <= most) else {
            return Ok(false);
        };
        if self.mark(kept)? != mark {
            return Ok(false);
        }
        let mut touched: BTreeSet<NodeId> = BTreeSet::new();
        if since > 0 {
            let operations = self.state.operations(None, since)?;
            touched.extend(
                operations
                    .iter()
                    .flat_map(domain::operation::Operation::touched),
            );
        }
        if touched.len() > MOST_NODES {
            return Ok(false);
        }
        for id in touched {
            match self.state.node(id)? {
                // Its file may be there still: it would be a new one.
                None => return Ok(false),
                Some(node) if node.profile == domain::trail::PROFILE => {}
                Some(_) => self.lineage(id, false)?,
            }
        }
        let holds =
            self.survey.shows_nothing() && changed.iter().all(|path| self.looked_at.contains(path));
        // The next look need not go through the same operations again.
        if holds && changed.is_empty() && since > FEW_OPERATIONS {
            self.files.keep_looks(&self.mark(head)?);
        }
        Ok(holds)
    }

    /// Names everything but the files that a survey at `head` depends on.
    fn mark(&self, head: OperationId) -> Result<String, Failure> {
        let at = self
            .state
            .operation_head(head)?
            .map(|operation| operation.at.to_string())
            .unwrap_or_default();
        let levels: Vec<_> = self
            .ctx
            .profiles
            .iter()
            .map(|profile| (&profile.name, &profile.levels))
            .collect();
        let depends = format!(
            "{} {at} {} {levels:?}",
            self.state.store_id()?,
            self.ctx.policy.max_plan_bytes
        );
        Ok(format!("{head} {}", Digest32::of(depends.as_bytes())))
    }
}
