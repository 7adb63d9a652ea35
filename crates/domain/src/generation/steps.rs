//! State machine of a generation: applies an answer and selects the next step.
//!
//! It always terminates: conclusions and revisions are counted and limited.

use serde_json::Value;

use super::checks::{self, SceneExpectations};
use super::record::{FindingSeverity, Generation, GenerationStatus, GenerationStep, SceneFinding};
use super::review;
use super::verdict::SceneVerdict;
use crate::policy::ReviewPolicy;
use crate::review::{IterationOutcome, Review, ReviewActor, ReviewRefused};

/// Maximum number of times a text that broke off is continued.
const MAX_CONCLUSIONS: u32 = 2;

/// The review that a judge's answer is recorded in.
pub struct JudgeReview<'a> {
    pub review: &'a mut Review,
    pub said: ReviewActor<'a>,
    pub policy: &'a ReviewPolicy,
}

impl<'a> JudgeReview<'a> {
    /// Returns the review of a scene that is about to be judged, with at most `revisions`
    /// revisions. A scene that was not revised yet gets a new review.
    #[must_use]
    pub fn open_review(known: Option<Review>, generation: &Generation, revisions: u32) -> Review {
        let start_again = || {
            let policy = ReviewPolicy {
                max_iterations: revisions + 1,
                ..ReviewPolicy::default()
            };
            Review::start_review(&generation.scene, Vec::new(), &policy)
        };
        // The review of an earlier generation of this scene has used up its iterations.
        known
            .filter(|_| generation.revisions > 0)
            .unwrap_or_else(start_again)
    }
}

/// Applies the answer of a writer or a judge and advances to the next step.
///
/// # Errors
/// When the answer is unusable; the same step then has to be asked again.
pub fn apply_answer(
    generation: &mut Generation,
    answer: &Value,
    is_cut: bool,
    expected: &SceneExpectations<'_>,
    judging: JudgeReview<'_>,
) -> Result<(), String> {
    match generation.step {
        GenerationStep::Write => {
            generation.draft = extract_prose(answer)?;
            choose_step_after_text(generation, is_cut);
        }
        GenerationStep::Conclude => {
            let more = extract_prose(answer)?;
            generation.conclusions += 1;
            // Joined by a space, because the break is usually within a sentence.
            generation.draft = format!("{} {more}", generation.draft.trim_end());
            choose_step_after_text(generation, is_cut);
        }
        GenerationStep::Revise => {
            let revised = extract_prose(answer)?;
            generation.before_revision = Some((
                std::mem::replace(&mut generation.draft, revised),
                generation.findings.clone(),
            ));
            generation.revisions += 1;
            choose_step_after_text(generation, is_cut);
        }
        GenerationStep::Judge => {
            let verdict =
                SceneVerdict::parse_proven(answer, &generation.draft, expected.blueprint)?;
            apply_verdict(generation, verdict, expected, judging)
                .map_err(|refused| refused.to_string())?;
        }
        GenerationStep::Commit => {
            return Err("the scene is written; only its commit is missing".to_owned());
        }
    }
    Ok(())
}

/// Returns the prose of a writer's answer.
fn extract_prose(answer: &Value) -> Result<String, String> {
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
fn choose_step_after_text(generation: &mut Generation, is_cut: bool) {
    let broken_off = is_cut || !checks::has_ending(&generation.draft);
    generation.step = match broken_off && generation.conclusions < MAX_CONCLUSIONS {
        true => GenerationStep::Conclude,
        false => GenerationStep::Judge,
    };
    if broken_off && generation.step == GenerationStep::Judge {
        generation.draft = checks::trim_to_sentence(&generation.draft).to_owned();
    }
}

/// Merges a verdict with the computed findings, records both in the review and selects the next
/// step.
fn apply_verdict(
    generation: &mut Generation,
    verdict: SceneVerdict,
    expected: &SceneExpectations<'_>,
    judging: JudgeReview<'_>,
) -> Result<(), ReviewRefused> {
    let mut findings: Vec<SceneFinding> = checks::check_scene(&generation.draft, expected);
    findings.extend(verdict.findings.clone());
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let JudgeReview {
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
        && total_weight(&before) < total_weight(&next.findings)
    {
        next.draft = text;
        next.findings = before;
        // The verdict is about the reverted revision, so what it extracted may not be in this
        // draft.
        next.verdict = next.verdict.take().map(|verdict| SceneVerdict {
            facts: Vec::new(),
            loops: Vec::new(),
            new_loops: Vec::new(),
            ..verdict
        });
        review.last_iteration = review.iteration;
    }
    match review::conclude_scene_iteration(review, &next.findings, said, policy)? {
        IterationOutcome::Retry { .. } => next.step = GenerationStep::Revise,
        IterationOutcome::Complete { .. } => next.step = GenerationStep::Commit,
        IterationOutcome::NeedsPerson { .. } => {
            next.status = GenerationStatus::Held;
            next.step = GenerationStep::Commit;
        }
    }
    *generation = next;
    Ok(())
}

/// Returns a score for comparing two lists of findings; one MUST outweighs two SHOULDs.
fn total_weight(findings: &[SceneFinding]) -> u32 {
    findings
        .iter()
        .map(|finding| match finding.severity {
            FindingSeverity::Must => 9,
            FindingSeverity::Should => 3,
            FindingSeverity::Could => 1,
        })
        .sum()
}
