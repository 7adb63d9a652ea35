//! The loop: INITIAL → RETRY → COMPLETE, and why it cannot run for ever.
//!
//! An iteration is one verdict on every check, then [`Review::conclude`]. Every conclusion but one that ends or waits
//! raises the iteration, and no iteration follows the last one that [`ReviewPolicy::max_iterations`] allows. So, whatever
//! reviewers say or add, a review makes at most `max_iterations` conclusions by itself; then it is COMPLETE or waits for
//! a person, and for MUST findings only. A person who sends a finding back grants exactly one more iteration.

use serde::{Deserialize, Serialize};

use super::item::{Item, ItemStatus, Resolution, ResolutionKind};
use super::severity::Severity;
use crate::ids::Principal;
use crate::policy::{ReviewPolicy, ReviewerPolicy};
use crate::record::Recorded;
use crate::time::Timestamp;

/// Where a review is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LoopState {
    Initial,
    Retry,
    Complete,
}

impl LoopState {
    /// Returns the word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Initial => "INITIAL",
            Self::Retry => "RETRY",
            Self::Complete => "COMPLETE",
        }
    }
}

/// A review of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// What is reviewed: `add-search/plan-design`, a node, a file.
    pub subject: String,
    pub state: LoopState,
    /// From 1.
    pub iteration: u32,
    /// No iteration comes after this one.
    pub last_iteration: u32,
    /// Up to here a person wants it to go on, also when the budget is spent.
    #[serde(default)]
    pub granted: u32,
    pub items: Vec<Item>,
    /// Who wrote what is reviewed.
    #[serde(default)]
    pub authors: Vec<Principal>,
    /// What the reviewers have spent, in the unit of the budget.
    #[serde(default)]
    pub spent: u64,
}

impl Recorded for Review {
    const KIND: &'static str = "review";
}

/// A reviewer's word on a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    Fail { finding: String },
}

/// Who says something, and when.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    pub by: &'a Principal,
    pub at: Timestamp,
}

/// What an iteration came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Concluded {
    /// Nothing stands in the way. What was accepted on the way is in the list.
    Complete { accepted: Vec<String> },
    /// These findings go back to the author.
    Retry {
        iteration: u32,
        blocking: Vec<String>,
    },
    /// A person has to decide about these.
    NeedsPerson { escalated: Vec<String> },
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewRefused {
    #[error("the review of `{subject}` is complete")]
    Complete { subject: String },
    #[error("the review of `{subject}` has no check `{id}`")]
    NoSuchItem { subject: String, id: String },
    #[error("there is nothing to review yet in `{subject}`: it has no checks")]
    NoItems { subject: String },
    #[error("{} of `{subject}` wait for a verdict: {}", items.len(), items.join(", "))]
    NotJudged { subject: String, items: Vec<String> },
    #[error(
        "{by} wrote what is reviewed here, and policy.review.reviewer is `other`: somebody else has to judge it"
    )]
    Author { by: Principal },
    #[error("`{id}` is at version {is}, not {given}: somebody judged it meanwhile")]
    AnotherVersion {
        id: String,
        given: u64,
        is: u64,
        item: Box<Item>,
    },
    #[error("`{subject}` is in iteration {is}, not {given}: it was concluded meanwhile")]
    AnotherIteration {
        subject: String,
        given: u32,
        is: u32,
    },
    #[error("a verdict of FAIL needs a finding: what is wrong, and where")]
    NoFinding,
    #[error("a check needs words: what is looked at")]
    NoCheck,
    #[error("`{id}` is accepted; its finding is known and stays")]
    Accepted { id: String },
    #[error("`{id}` did not fail: there is nothing to accept")]
    NothingToAccept { id: String },
    #[error("a finding is accepted by a person, at a terminal; this is {by}")]
    NotAPerson { by: Principal },
    #[error("an acceptance needs a reason")]
    NoReason,
}

impl Review {
    /// Returns a review that has just begun.
    #[must_use]
    pub fn begin(subject: &str, authors: Vec<Principal>, policy: &ReviewPolicy) -> Self {
        Self {
            subject: subject.to_owned(),
            state: LoopState::Initial,
            iteration: 1,
            last_iteration: policy.max_iterations.max(1),
            granted: 0,
            items: Vec::new(),
            authors,
            spent: 0,
        }
    }

    fn running(&self) -> Result<(), ReviewRefused> {
        match self.state {
            LoopState::Complete => Err(ReviewRefused::Complete {
                subject: self.subject.clone(),
            }),
            LoopState::Initial | LoopState::Retry => Ok(()),
        }
    }

    fn independent(&self, by: &Principal, policy: &ReviewPolicy) -> Result<(), ReviewRefused> {
        let wrote = policy.reviewer == ReviewerPolicy::Other && self.authors.contains(by);
        if wrote {
            Err(ReviewRefused::Author { by: by.clone() })
        } else {
            Ok(())
        }
    }

    /// Returns a check.
    #[must_use]
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.id == id)
    }

    fn found(&mut self, id: &str) -> Result<&mut Item, ReviewRefused> {
        match self.items.iter().position(|item| item.id == id) {
            Some(at) => Ok(&mut self.items[at]),
            None => Err(ReviewRefused::NoSuchItem {
                subject: self.subject.clone(),
                id: id.to_owned(),
            }),
        }
    }

    /// Compares the version of a check that was shown, where one was, with its present one.
    ///
    /// # Errors
    /// [`ReviewRefused::AnotherVersion`], or there is no such check.
    pub fn check_version(&self, id: &str, shown: Option<u64>) -> Result<(), ReviewRefused> {
        let missing = || ReviewRefused::NoSuchItem {
            subject: self.subject.clone(),
            id: id.to_owned(),
        };
        let item = self.item(id).ok_or_else(missing)?;
        match shown.filter(|given| *given != item.version) {
            Some(given) => {
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

    /// Compares the iteration that was shown, where one was, with the present one.
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
    /// When the review is complete, the check is empty, or an author wants to review their own work where that is not
    /// allowed.
    pub fn add(
        &mut self,
        scope: &str,
        check: &str,
        severity: Severity,
        said: Said<'_>,
        policy: &ReviewPolicy,
    ) -> Result<String, ReviewRefused> {
        self.running()?;
        self.independent(said.by, policy)?;
        if check.trim().is_empty() {
            return Err(ReviewRefused::NoCheck);
        }
        let id = format!("qa-{:03}", self.items.len() + 1);
        self.items.push(Item {
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

    /// Records a verdict. A check counts as failed once in an iteration, however often that is said.
    ///
    /// A person's FAIL on an escalated check sends it back: one more iteration, and it has one more chance.
    ///
    /// # Errors
    /// When the check is not there, was judged meanwhile, or may not be judged by this one.
    pub fn judge(
        &mut self,
        id: &str,
        verdict: Verdict,
        version: Option<u64>,
        cost: u64,
        said: Said<'_>,
        policy: &ReviewPolicy,
    ) -> Result<(), ReviewRefused> {
        self.running()?;
        self.independent(said.by, policy)?;
        let (iteration, cap) = (self.iteration, policy.cap.max(1));
        self.check_version(id, version)?;
        let item = self.found(id)?;
        if item
            .resolution
            .as_ref()
            .is_some_and(|resolution| resolution.kind == ResolutionKind::Accepted)
        {
            return Err(ReviewRefused::Accepted { id: id.to_owned() });
        }
        let mut sent_back = false;
        match verdict {
            Verdict::Pass => {
                item.status = ItemStatus::Pass;
                item.resolution = None;
            }
            Verdict::Fail { finding } => {
                if finding.trim().is_empty() {
                    return Err(ReviewRefused::NoFinding);
                }
                if item.is_escalated() && said.by.is_human() {
                    sent_back = true;
                    item.resolution = None;
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
            self.granted = iteration + 1;
            self.last_iteration = self.last_iteration.max(self.granted);
        }
        self.spent = self.spent.saturating_add(cost);
        Ok(())
    }

    /// Accepts a finding as it is: a person's decision.
    ///
    /// # Errors
    /// When it is no person, there is no reason, or nothing failed.
    pub fn accept(&mut self, id: &str, reason: &str, said: Said<'_>) -> Result<(), ReviewRefused> {
        self.running()?;
        if !said.by.is_human() {
            return Err(ReviewRefused::NotAPerson {
                by: said.by.clone(),
            });
        }
        if reason.trim().is_empty() {
            return Err(ReviewRefused::NoReason);
        }
        let iteration = self.iteration;
        let item = self.found(id)?;
        let accepted = item
            .resolution
            .as_ref()
            .is_some_and(|resolution| resolution.kind == ResolutionKind::Accepted);
        // A check that goes back to its author is TODO, and what was found still stands.
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

    /// Says which open findings stop the work in this iteration.
    #[must_use]
    pub fn blocking(&self) -> Vec<&Item> {
        self.items
            .iter()
            .filter(|item| item.is_open() && item.severity.blocks_in(self.iteration))
            .collect()
    }

    /// Returns the checks that wait for a person.
    #[must_use]
    pub fn escalated(&self) -> Vec<&Item> {
        self.items
            .iter()
            .filter(|item| item.is_escalated())
            .collect()
    }

    /// Returns the checks that wait for a verdict.
    #[must_use]
    pub fn waiting(&self) -> Vec<&Item> {
        self.items
            .iter()
            .filter(|item| item.status == ItemStatus::Todo)
            .collect()
    }

    /// Ends an iteration.
    ///
    /// # Errors
    /// When the review is complete, has no checks, or some wait for a verdict.
    pub fn conclude(
        &mut self,
        said: Said<'_>,
        policy: &ReviewPolicy,
    ) -> Result<Concluded, ReviewRefused> {
        self.running()?;
        if self.items.is_empty() {
            return Err(ReviewRefused::NoItems {
                subject: self.subject.clone(),
            });
        }
        let waiting: Vec<String> = self.waiting().iter().map(|item| item.id.clone()).collect();
        if !waiting.is_empty() {
            return Err(ReviewRefused::NotJudged {
                subject: self.subject.clone(),
                items: waiting,
            });
        }
        let iteration = self.iteration;
        let ending = self.ending(policy);
        let cap = policy.cap.max(1);
        for item in self.items.iter_mut().filter(|item| item.is_open()) {
            let reason = match &ending {
                Some(why) => why.clone(),
                None if item.fail_count >= cap => {
                    format!(
                        "failed in {} iterations, the most policy.review.cap allows",
                        item.fail_count
                    )
                }
                None => continue,
            };
            let kind = match item.severity {
                Severity::Must => ResolutionKind::Escalated,
                Severity::Should | Severity::Could => ResolutionKind::Accepted,
            };
            let (by, at) = (Principal::System, said.at);
            item.resolution = Some(Resolution {
                kind,
                reason,
                by,
                at,
                iteration,
            });
            item.version += 1;
        }
        let blocking: Vec<String> = self.blocking().iter().map(|item| item.id.clone()).collect();
        if !blocking.is_empty() {
            self.state = LoopState::Retry;
            self.iteration += 1;
            for item in self
                .items
                .iter_mut()
                .filter(|item| blocking.contains(&item.id))
            {
                item.status = ItemStatus::Todo;
                item.version += 1;
            }
            return Ok(Concluded::Retry {
                iteration: self.iteration,
                blocking,
            });
        }
        let escalated: Vec<String> = self
            .escalated()
            .iter()
            .map(|item| item.id.clone())
            .collect();
        if !escalated.is_empty() {
            self.state = LoopState::Retry;
            return Ok(Concluded::NeedsPerson { escalated });
        }
        let mut accepted = Vec::new();
        for item in self
            .items
            .iter_mut()
            .filter(|item| item.status == ItemStatus::Fail)
        {
            item.resolution.get_or_insert_with(|| Resolution {
                kind: ResolutionKind::Accepted,
                reason: format!(
                    "{} does not stop the work in iteration {iteration}",
                    item.severity
                ),
                by: Principal::System,
                at: said.at,
                iteration,
            });
            accepted.push(item.id.clone());
        }
        self.state = LoopState::Complete;
        Ok(Concluded::Complete { accepted })
    }

    /// Says why no further iteration may follow, if so.
    fn ending(&self, policy: &ReviewPolicy) -> Option<String> {
        if policy.budget > 0 && self.spent >= policy.budget && self.iteration >= self.granted {
            return Some(format!(
                "the review has spent {} of its budget of {}",
                self.spent, policy.budget
            ));
        }
        (self.iteration >= self.last_iteration).then(|| {
            format!(
                "iteration {} is the last one policy.review.max_iterations allows",
                self.iteration
            )
        })
    }
}
