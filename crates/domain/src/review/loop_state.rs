//! State machine of a review: INITIAL → RETRY → COMPLETE, with a proof of termination.
//!
//! An iteration is one verdict on every check, followed by [`Review::conclude`]. A conclusion
//! either ends the review, waits for a person, or increments the iteration, and no iteration
//! follows the last one allowed by [`ReviewPolicy::max_iterations`]. Therefore, whatever reviewers
//! say or add, a review makes at most `max_iterations` conclusions by itself; then it is COMPLETE
//! or waits for a person, and only for MUST findings. A person who sends a finding back grants
//! exactly one more iteration.

use serde::{Deserialize, Serialize};

use super::item::{ItemStatus, Resolution, ResolutionKind, ReviewItem};
use super::severity::CheckSeverity;
use crate::ids::Principal;
use crate::named_enum::named_enum;
use crate::policy::{ReviewPolicy, ReviewerPolicy};
use crate::record::Recorded;
use crate::time::Timestamp;

named_enum! {
    /// State of a review.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum LoopState {
        Initial = "INITIAL",
        Retry = "RETRY",
        Complete = "COMPLETE",
    }
}

/// A review of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Name of what is reviewed: `add-search/plan-design`, a node, a file.
    pub subject: String,
    pub state: LoopState,
    /// Current iteration, from 1.
    pub iteration: u32,
    /// The last iteration allowed.
    pub last_iteration: u32,
    /// Iteration up to which a person extended the review, even with an exhausted budget.
    #[serde(default)]
    pub granted: u32,
    pub items: Vec<ReviewItem>,
    /// Authors of the reviewed work.
    #[serde(default)]
    pub authors: Vec<Principal>,
    /// Cost of the verdicts so far, in the unit of the budget.
    #[serde(default)]
    pub spent: u64,
}

impl Recorded for Review {
    const KIND: &'static str = "review";
}

/// A reviewer's verdict on a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    Pass,
    Fail { finding: String },
}

/// The acting principal and the time.
#[derive(Clone, Copy, Debug)]
pub struct ReviewActor<'a> {
    pub by: &'a Principal,
    pub at: Timestamp,
}

/// Outcome of an iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum IterationOutcome {
    /// Nothing blocks; lists the checks whose findings were accepted.
    Complete { accepted: Vec<String> },
    /// The author has to fix these findings.
    Retry {
        iteration: u32,
        blocking: Vec<String>,
    },
    /// A person has to decide about these findings.
    NeedsPerson { escalated: Vec<String> },
}

/// Why a command on a review was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewRefused {
    #[error("the review of `{subject}` is complete")]
    Complete { subject: String },
    #[error("the review of `{subject}` has no check `{id}`")]
    NoSuchItem { subject: String, id: String },
    #[error("the review of `{subject}` has no checks yet")]
    NoItems { subject: String },
    #[error("{} of `{subject}` wait for a verdict: {}", items.len(), items.join(", "))]
    NotJudged { subject: String, items: Vec<String> },
    #[error(
        "{by} is an author of the reviewed work, and policy.review.reviewer is `other`: another reviewer has to judge it"
    )]
    Author { by: Principal },
    #[error("`{id}` is at version {is}, not {given}: it was judged in the meantime")]
    AnotherVersion {
        id: String,
        given: u64,
        is: u64,
        item: Box<ReviewItem>,
    },
    #[error("`{subject}` is in iteration {is}, not {given}: it was concluded in the meantime")]
    AnotherIteration {
        subject: String,
        given: u32,
        is: u32,
    },
    #[error("a verdict of FAIL needs a finding: what is wrong, and where")]
    NoFinding,
    #[error("a check needs a description: what to look at")]
    NoCheck,
    #[error("the finding of `{id}` is already accepted")]
    Accepted { id: String },
    #[error("`{id}` did not fail: there is nothing to accept")]
    NothingToAccept { id: String },
    #[error("only a person can accept a finding, in a terminal or on the dashboard; this is {by}")]
    NotAPerson { by: Principal },
    #[error("an acceptance needs a reason")]
    NoReason,
}

impl Review {
    /// Starts a review.
    #[must_use]
    pub fn start_review(subject: &str, authors: Vec<Principal>, policy: &ReviewPolicy) -> Self {
        Self {
            subject: subject.to_owned(),
            state: LoopState::Initial,
            iteration: 1,
            // Fixed at the start, so that a later change of the policy cannot end a running review
            // or
            // extend it.
            last_iteration: policy.max_iterations.max(1),
            granted: 0,
            items: Vec::new(),
            authors,
            spent: 0,
        }
    }

    fn require_running(&self) -> Result<(), ReviewRefused> {
        match self.state {
            LoopState::Complete => Err(ReviewRefused::Complete {
                subject: self.subject.clone(),
            }),
            LoopState::Initial | LoopState::Retry => Ok(()),
        }
    }

    fn require_independent(
        &self,
        by: &Principal,
        policy: &ReviewPolicy,
    ) -> Result<(), ReviewRefused> {
        // Principals are compared, not models: an agent in a new session counts as another
        // reviewer.
        let wrote = policy.reviewer == ReviewerPolicy::Other && self.authors.contains(by);
        if wrote {
            Err(ReviewRefused::Author { by: by.clone() })
        } else {
            Ok(())
        }
    }

    /// Returns the check with this id.
    #[must_use]
    pub fn find_item(&self, id: &str) -> Option<&ReviewItem> {
        self.items.iter().find(|item| item.id == id)
    }

    fn find_item_mut(&mut self, id: &str) -> Result<&mut ReviewItem, ReviewRefused> {
        match self.items.iter().position(|item| item.id == id) {
            Some(at) => Ok(&mut self.items[at]),
            None => Err(ReviewRefused::NoSuchItem {
                subject: self.subject.clone(),
                id: id.to_owned(),
            }),
        }
    }

    /// Refuses if the caller read another version of a check than the current one; `None` skips the
    /// check.
    ///
    /// # Errors
    /// [`ReviewRefused::AnotherVersion`] or [`ReviewRefused::NoSuchItem`].
    pub fn check_version(&self, id: &str, shown: Option<u64>) -> Result<(), ReviewRefused> {
        let missing = || ReviewRefused::NoSuchItem {
            subject: self.subject.clone(),
            id: id.to_owned(),
        };
        let item = self.find_item(id).ok_or_else(missing)?;
        match shown.filter(|given| *given != item.version) {
            Some(given) => {
                // Boxed: an item is far larger than the other variants and would set the size of
                // each
                // `Result` here.
                let (is, item) = (item.version, Box::new(item.clone()));
                Err(ReviewRefused::AnotherVersion {
                    id: id.to_owned(),
                    given,
                    is,
                    item,
                })
            }
            None => Ok(()),
        }
    }

    /// Refuses if the caller read another iteration than the current one; `None` skips the check.
    ///
    /// # Errors
    /// [`ReviewRefused::AnotherIteration`].
    pub fn check_iteration(&self, shown: Option<u32>) -> Result<(), ReviewRefused> {
        match shown.filter(|given| *given != self.iteration) {
            Some(given) => Err(ReviewRefused::AnotherIteration {
                subject: self.subject.clone(),
                given,
                is: self.iteration,
            }),
            None => Ok(()),
        }
    }

    /// Adds a check and returns its id.
    ///
    /// # Errors
    /// When the review is complete, the check is empty, or the policy forbids authors to review
    /// their own work.
    pub fn add_check(
        &mut self,
        scope: &str,
        check: &str,
        severity: CheckSeverity,
        said: ReviewActor<'_>,
        policy: &ReviewPolicy,
    ) -> Result<String, ReviewRefused> {
        self.require_running()?;
        self.require_independent(said.by, policy)?;
        if check.trim().is_empty() {
            return Err(ReviewRefused::NoCheck);
        }
        // Checks are never removed, so the length is the highest number used.
        let id = format!("qa-{:03}", self.items.len() + 1);
        self.items.push(ReviewItem {
            id: id.clone(),
            version: 1,
            scope: if scope.trim().is_empty() {
                "*".to_owned()
            } else {
                scope.trim().to_owned()
            },
            check: check.trim().to_owned(),
            severity,
            status: ItemStatus::Todo,
            finding: None,
            fail_count: 0,
            judged_in: 0,
            resolution: None,
        });
        Ok(id)
    }

    /// Records a verdict. A check counts as failed once per iteration, however often it is judged.
    ///
    /// A person's FAIL on an escalated check sends it back to the author: one more iteration, in
    /// which it may fail once more.
    ///
    /// # Errors
    /// When the check does not exist, was judged in the meantime, or may not be judged by this
    /// principal.
    pub fn record_verdict(
        &mut self,
        id: &str,
        verdict: CheckVerdict,
        version: Option<u64>,
        cost: u64,
        said: ReviewActor<'_>,
        policy: &ReviewPolicy,
    ) -> Result<(), ReviewRefused> {
        self.require_running()?;
        self.require_independent(said.by, policy)?;
        let (iteration, cap) = (self.iteration, policy.cap.max(1));
        self.check_version(id, version)?;
        let item = self.find_item_mut(id)?;
        if item
            .resolution
            .as_ref()
            .is_some_and(|resolution| resolution.kind == ResolutionKind::Accepted)
        {
            return Err(ReviewRefused::Accepted { id: id.to_owned() });
        }
        // Applied after the item is done with: `item` borrows from `self`.
        let mut sent_back = false;
        match verdict {
            CheckVerdict::Pass => {
                item.status = ItemStatus::Pass;
                item.resolution = None;
            }
            CheckVerdict::Fail { finding } => {
                if finding.trim().is_empty() {
                    return Err(ReviewRefused::NoFinding);
                }
                // Only a person may extend a review. An agent's FAIL on an escalated check just
                // updates the
                // finding, or two agents could keep the loop running.
                if item.is_escalated() && said.by.is_human() {
                    sent_back = true;
                    item.resolution = None;
                    // One below the cap: the next failure escalates it again instead of starting
                    // over.
                    item.fail_count = cap - 1;
                } else if item.status != ItemStatus::Fail || item.judged_in != iteration {
                    item.fail_count += 1;
                }
                item.status = ItemStatus::Fail;
                item.finding = Some(finding.trim().to_owned());
            }
        }
        item.judged_in = iteration;
        item.version += 1;
        if sent_back {
            // The maximum, so that sending several findings back grants one iteration and not one
            // each.
            self.granted = iteration + 1;
            self.last_iteration = self.last_iteration.max(self.granted);
        }
        self.spent = self.spent.saturating_add(cost);
        Ok(())
    }

    /// Accepts a finding without a fix; only a person may.
    ///
    /// # Errors
    /// When the principal is not a person, the reason is empty, or nothing failed.
    pub fn accept_finding(
        &mut self,
        id: &str,
        reason: &str,
        said: ReviewActor<'_>,
    ) -> Result<(), ReviewRefused> {
        self.require_running()?;
        if !said.by.is_human() {
            return Err(ReviewRefused::NotAPerson {
                by: said.by.clone(),
            });
        }
        if reason.trim().is_empty() {
            return Err(ReviewRefused::NoReason);
        }
        let iteration = self.iteration;
        let item = self.find_item_mut(id)?;
        let accepted = item
            .resolution
            .as_ref()
            .is_some_and(|resolution| resolution.kind == ResolutionKind::Accepted);
        // The finding is tested, not the status: a check that went back to its author is TODO, and
        // its finding is still valid.
        if accepted || item.status == ItemStatus::Pass || item.finding.is_none() {
            return Err(ReviewRefused::NothingToAccept { id: id.to_owned() });
        }
        item.status = ItemStatus::Fail;
        item.version += 1;
        item.resolution = Some(Resolution {
            kind: ResolutionKind::Accepted,
            reason: reason.trim().to_owned(),
            by: said.by.clone(),
            at: said.at,
            iteration,
        });
        Ok(())
    }

    /// Returns the open findings that block in this iteration.
    #[must_use]
    pub fn blocking_items(&self) -> Vec<&ReviewItem> {
        self.items
            .iter()
            .filter(|item| item.is_open() && item.severity.blocks_in(self.iteration))
            .collect()
    }

    /// Returns the checks that wait for a person.
    #[must_use]
    pub fn escalated_items(&self) -> Vec<&ReviewItem> {
        self.items
            .iter()
            .filter(|item| item.is_escalated())
            .collect()
    }

    /// Returns the checks without a verdict.
    #[must_use]
    pub fn unjudged_items(&self) -> Vec<&ReviewItem> {
        self.items
            .iter()
            .filter(|item| item.status == ItemStatus::Todo)
            .collect()
    }

    /// Concludes the iteration: completes, goes on to the next one, or waits for a person.
    ///
    /// # Errors
    /// When the review is complete, has no checks, or some have no verdict.
    pub fn conclude_iteration(
        &mut self,
        said: ReviewActor<'_>,
        policy: &ReviewPolicy,
    ) -> Result<IterationOutcome, ReviewRefused> {
        self.require_judged()?;
        // Resolved before blockers are counted: what is escalated or accepted here no longer
        // blocks, and that is what makes the loop terminate.
        self.resolve_exhausted_items(said.at, policy);
        let ids = |items: Vec<&ReviewItem>| -> Vec<String> {
            items.into_iter().map(|item| item.id.clone()).collect()
        };
        let blocking = ids(self.blocking_items());
        if !blocking.is_empty() {
            self.state = LoopState::Retry;
            self.iteration += 1;
            for item in self
                .items
                .iter_mut()
                .filter(|item| blocking.contains(&item.id))
            {
                // Back to TODO, so that the next conclusion needs a new verdict on it. Passed
                // checks keep theirs: judging them again would cost as much as the first time.
                item.status = ItemStatus::Todo;
                item.version += 1;
            }
            return Ok(IterationOutcome::Retry {
                iteration: self.iteration,
                blocking,
            });
        }
        let escalated = ids(self.escalated_items());
        // The iteration stays the same: waiting for a person uses none up.
        if !escalated.is_empty() {
            self.state = LoopState::Retry;
            return Ok(IterationOutcome::NeedsPerson { escalated });
        }
        let accepted = self.accept_failed_items(said.at);
        self.state = LoopState::Complete;
        Ok(IterationOutcome::Complete { accepted })
    }

    /// Refuses to conclude a review that is complete, has no checks, or some without a verdict.
    fn require_judged(&self) -> Result<(), ReviewRefused> {
        self.require_running()?;
        // An empty review would complete at once, and with it the gate that waits for it.
        if self.items.is_empty() {
            return Err(ReviewRefused::NoItems {
                subject: self.subject.clone(),
            });
        }
        let waiting = self.unjudged_items();
        if !waiting.is_empty() {
            return Err(ReviewRefused::NotJudged {
                subject: self.subject.clone(),
                items: waiting.iter().map(|item| item.id.clone()).collect(),
            });
        }
        Ok(())
    }

    /// Escalates or accepts the findings that may not be tried again.
    fn resolve_exhausted_items(&mut self, at: Timestamp, policy: &ReviewPolicy) {
        let iteration = self.iteration;
        let ending = self.termination_reason(policy);
        let cap = policy.cap.max(1);
        for item in self.items.iter_mut().filter(|item| item.is_open()) {
            let reason = match &ending {
                Some(why) => why.clone(),
                None if item.fail_count >= cap => {
                    format!(
                        "failed in {} iterations, the maximum set by policy.review.cap",
                        item.fail_count
                    )
                }
                None => continue,
            };
            // People are asked only about MUST findings; a question about each COULD would teach
            // them to accept without reading.
            let kind = match item.severity {
                CheckSeverity::Must => ResolutionKind::Escalated,
                CheckSeverity::Should | CheckSeverity::Could => ResolutionKind::Accepted,
            };
            item.resolution = Some(Resolution {
                kind,
                reason,
                by: Principal::System,
                at,
                iteration,
            });
            item.version += 1;
        }
    }

    /// Accepts the findings below the bar of this iteration, and returns their ids. A complete
    /// review would otherwise still show open findings.
    fn accept_failed_items(&mut self, at: Timestamp) -> Vec<String> {
        let iteration = self.iteration;
        let mut accepted = Vec::new();
        for item in self
            .items
            .iter_mut()
            .filter(|item| item.status == ItemStatus::Fail)
        {
            item.resolution.get_or_insert_with(|| Resolution {
                kind: ResolutionKind::Accepted,
                reason: format!("{} does not block in iteration {iteration}", item.severity),
                by: Principal::System,
                at,
                iteration,
            });
            accepted.push(item.id.clone());
        }
        accepted
    }

    /// Returns why no further iteration may follow, if so.
    fn termination_reason(&self, policy: &ReviewPolicy) -> Option<String> {
        // A budget of 0 means none. An iteration that a person granted is not cut off by it.
        if policy.budget > 0 && self.spent >= policy.budget && self.iteration >= self.granted {
            return Some(format!(
                "the review has spent {} of its budget of {}",
                self.spent, policy.budget
            ));
        }
        (self.iteration >= self.last_iteration).then(|| {
            format!(
                "iteration {} is the last one allowed by policy.review.max_iterations",
                self.iteration
            )
        })
    }
}
