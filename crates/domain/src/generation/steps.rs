//! State machine of a generation: applies an answer and selects the next step.
//!
//! It always terminates: conclusions and revisions are counted and limited.

use serde_json::Value;

use super::checks::{self, Expected};
use super::record::{Finding, Generation, GenerationStatus, Severity, Step};
use super::review;
use super::verdict::Verdict;
use crate::policy::ReviewPolicy;
use crate::review::{Concluded, Review, ReviewRefused, Said};

/// Maximum number of times a text that broke off is continued.
const MOST_CONCLUSIONS: u32 = 2;

/// The review that a judge's answer is recorded in.
pub struct Judging<'a> {
    pub review: &'a mut Review,
    pub said: Said<'a>,
    pub policy: &'a ReviewPolicy,
}

impl<'a> Judging<'a> {
    /// Returns the review of a scene that is about to be judged, with at most `revisions`
    /// revisions. A scene that was not revised yet gets a new review.
    #[must_use]
    pub fn review(known: Option<Review>, generation: &Generation, revisions: u32) -> Review {
        let anew = || {
            let policy = ReviewPolicy {
                max_iterations: revisions + 1,
                ..ReviewPolicy::default()
            };
            Review::begin(&generation.scene, Vec::new(), &policy)
        };
        // The review of an earlier generation of this scene has used up its iterations.
        known
            .filter(|_| generation.revisions > 0)
            .unwrap_or_else(anew)
    }
}

/// Applies the answer of a writer or a judge and advances to the next step.
///
/// # Errors
/// When the answer is unusable; the same step then has to be asked again.
pub fn take(
    generation: &mut Generation,
    answer: &Value,
    is_cut: bool,
    expected: &Expected<'_>,
    judging: Judging<'_>,
) -> Result<(), String> {
    match generation.step {
        Step::Write => {
            generation.draft = prose(answer)?;
            after_text(generation, is_cut);
        }
        Step::Conclude => {
            let more = prose(answer)?;
            generation.conclusions += 1;
            // Joined by a space, because the break is usually within a sentence.
            generation.draft = format!("{} {more}", generation.draft.trim_end());
            after_text(generation, is_cut);
        }
        Step::Revise => {
            let revised = prose(answer)?;
            generation.before_revision = Some((
                std::mem::replace(&mut generation.draft, revised),
                generation.findings.clone(),
            ));
            generation.revisions += 1;
            after_text(generation, is_cut);
        }
        Step::Judge => {
            let verdict = Verdict::read(answer, &generation.draft, expected.blueprint)?;
            judged(generation, verdict, expected, judging)
                .map_err(|refused| refused.to_string())?;
        }
        Step::Commit => {
            return Err("the scene is written; only its commit is missing".to_owned());
        }
    }
    Ok(())
}

/// Returns the prose of a writer's answer.
fn prose(answer: &Value) -> Result<String, String> {
    let text = answer
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .ok_or("the answer has no text")?;
    // Some models wrap prose in a code fence although the prompt does not ask for it.
    let bare = text
        .strip_prefix("```")
        .and_then(|rest| rest.split_once('\n'))
        .and_then(|(_, rest)| rest.strip_suffix("```"));
    Ok(bare.unwrap_or(text).trim().to_owned())
}

/// Selects the step after new prose. A scene without a proper ending is continued; after the last
/// attempt the unfinished sentence is removed.
fn after_text(generation: &mut Generation, is_cut: bool) {
    let broken_off = is_cut || !checks::has_ending(&generation.draft);
    generation.step = match broken_off && generation.conclusions < MOST_CONCLUSIONS {
        true => Step::Conclude,
        false => Step::Judge,
    };
    if broken_off && generation.step == Step::Judge {
        generation.draft = checks::trimmed_to_sentence(&generation.draft).to_owned();
    }
}

/// Merges a verdict with the computed findings, records both in the review and selects the next
/// step.
fn judged(
    generation: &mut Generation,
    verdict: Verdict,
    expected: &Expected<'_>,
    judging: Judging<'_>,
) -> Result<(), ReviewRefused> {
    let mut findings: Vec<Finding> = checks::check(&generation.draft, expected);
    findings.extend(verdict.findings.clone());
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let Judging {
        review,
        said,
        policy,
    } = judging;
    // Built as a copy and assigned at the end, so that a refused review leaves the generation
    // unchanged.
    let mut next = Generation {
        findings,
        verdict: Some(verdict),
        ..generation.clone()
    };
    // A revision that made it worse is reverted, and no further one is tried: the model had its
    // chance with these findings.
    if let Some((text, before)) = next.before_revision.take()
        && weight(&before) < weight(&next.findings)
    {
        next.draft = text;
        next.findings = before;
        // The verdict is about the reverted revision, so what it extracted may not be in this
        // draft.
        next.verdict = next.verdict.take().map(|verdict| Verdict {
            facts: Vec::new(),
            loops: Vec::new(),
            new_loops: Vec::new(),
            ..verdict
        });
        review.last_iteration = review.iteration;
    }
    match review::conclude(review, &next.findings, said, policy)? {
        Concluded::Retry { .. } => next.step = Step::Revise,
        Concluded::Complete { .. } => next.step = Step::Commit,
        Concluded::NeedsPerson { .. } => {
            next.status = GenerationStatus::Held;
            next.step = Step::Commit;
        }
    }
    *generation = next;
    Ok(())
}

/// Returns a score for comparing two lists of findings; one MUST outweighs two SHOULDs.
fn weight(findings: &[Finding]) -> u32 {
    findings
        .iter()
        .map(|finding| match finding.severity {
            Severity::Must => 9,
            Severity::Should => 3,
            Severity::Could => 1,
        })
        .sum()
}
