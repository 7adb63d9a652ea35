//! State machine of a generation: applies an answer and selects the next step.
//!
//! It always terminates: conclusions and revisions are counted and limited.

use serde_json::Value;

use super::acceptance;
use super::checks::{self, SceneExpectations};
use super::contradiction::weigh_against_canon;
use super::model_markup::strip_model_markup;
use super::record::{
    FindingSeverity, Generation, GenerationStatus, GenerationStep, SceneFinding, count_findings,
};
use super::review;
use super::variants;
use super::verdict::SceneVerdict;
use crate::policy::ReviewPolicy;
use crate::review::{IterationOutcome, Review, ReviewActor, ReviewRefused};
use crate::search::split_words;

/// Maximum number of times a text that broke off is continued.
const MAX_CONCLUSIONS: u32 = 2;

/// Check of the findings about a revision that was not kept.
const REVISION_CHECK: &str = "revision";

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

/// An answer, as the provider gave it.
pub struct WriterAnswer<'a> {
    /// The prose as a string, or the verdict.
    pub value: &'a Value,
    /// The text was cut off by the token limit.
    pub is_cut: bool,
    /// Whether the step is not asked again, whatever the answer.
    pub is_last_attempt: bool,
}

/// Applies the answer of a writer or a judge and advances to the next step.
///
/// A text that is no scene at all (a refusal, one line over and over) is asked for again; the last one is
/// held for a person, without a judge. A revision of that kind is not kept, nor is a continuation.
///
/// # Errors
/// When the answer is unusable; the same step then has to be asked again.
pub fn apply_answer(
    generation: &mut Generation,
    answer: &WriterAnswer<'_>,
    expected: &SceneExpectations<'_>,
    judging: JudgeReview<'_>,
) -> Result<(), String> {
    let WriterAnswer { value, is_cut, .. } = *answer;
    match generation.step {
        GenerationStep::Write => {
            let draft = extract_prose(value, false)?;
            if let Some(finding) = acceptance::find_unusable(&draft) {
                if !answer.is_last_attempt {
                    return Err(finding.problem);
                }
                generation.draft = draft;
                if generation.collects_variants() {
                    generation.findings = vec![finding];
                    variants::keep_variant(generation);
                    return Ok(());
                }
                return hold_unusable(generation, finding, judging);
            }
            generation.draft = draft;
            choose_step_after_text(generation, is_cut);
        }
        GenerationStep::Conclude => {
            let more = extract_prose(value, false)?;
            generation.conclusions += 1;
            // The draft is trimmed to its last sentence instead.
            if acceptance::find_unusable(&more).is_some() {
                generation.conclusions = MAX_CONCLUSIONS;
                choose_step_after_text(generation, true);
                return Ok(());
            }
            // Joined by a space, because the break is usually within a sentence.
            generation.draft = format!("{} {more}", generation.draft.trim_end());
            choose_step_after_text(generation, is_cut);
        }
        GenerationStep::Revise => {
            // The author's prose may have a heading of its own.
            let first = generation.draft.lines().next().unwrap_or_default();
            let revised = extract_prose(value, acceptance::is_heading(first))?;
            generation.before_revision = Some((
                std::mem::replace(&mut generation.draft, revised),
                generation.findings.clone(),
            ));
            generation.verdict_before_revision = generation.verdict.take();
            generation.revisions += 1;
            if let Some(finding) = acceptance::find_unusable(&generation.draft) {
                // Not worth a judge: the draft before it stays, with its findings.
                return revert_revision(generation, unkept_revision(&finding.problem), judging);
            }
            if let Some(finding) = find_replacement(generation) {
                return revert_revision(generation, finding, judging);
            }
            choose_step_after_text(generation, is_cut);
        }
        GenerationStep::Judge => {
            let verdict = SceneVerdict::parse_proven(value, &generation.draft, expected.blueprint)?;
            apply_verdict(generation, verdict, expected, judging)
                .map_err(|refused| refused.to_string())?;
        }
        GenerationStep::Choose => {
            return Err("the variants are written; one has to be chosen".to_owned());
        }
        GenerationStep::Commit => {
            return Err("the scene is written; only its commit is missing".to_owned());
        }
    }
    Ok(())
}

/// Returns the prose of a writer's answer.
fn extract_prose(answer: &Value, keeps_heading: bool) -> Result<String, String> {
    let answer = answer
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let text = strip_model_markup(answer.ok_or("the answer has no text")?);
    if text.is_empty() {
        return Err("the answer has no text besides the model's reasoning".to_owned());
    }
    // Some models wrap prose in a code fence although the prompt does not ask for it.
    let bare = text
        .strip_prefix("```")
        .and_then(|rest| rest.split_once('\n'))
        .and_then(|(_, rest)| rest.strip_suffix("```"));
    let bare = bare.unwrap_or(&text).trim();
    Ok(acceptance::strip_address(bare, keeps_heading).to_owned())
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
    weigh_against_canon(&mut findings, &verdict, expected);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    if generation.collects_variants() {
        generation.findings = findings;
        generation.verdict = Some(verdict);
        variants::keep_variant(generation);
        return Ok(());
    }
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
    if next
        .before_revision
        .as_ref()
        .is_some_and(|before| is_worse(&next, before))
    {
        let worst = next.findings.first().map(|finding| finding.problem.clone());
        restore_draft(&mut next);
        let why = worst.as_deref().unwrap_or("most of the text was gone");
        next.findings.push(unkept_revision(why));
        review.last_iteration = review.iteration;
    }
    next.before_revision = None;
    next.verdict_before_revision = None;
    conclude_iteration(&mut next, review, said, policy)?;
    *generation = next;
    Ok(())
}

/// Concludes the review's iteration and selects the next step.
pub(super) fn conclude_iteration(
    generation: &mut Generation,
    review: &mut Review,
    said: ReviewActor<'_>,
    policy: &ReviewPolicy,
) -> Result<(), ReviewRefused> {
    match review::conclude_scene_iteration(review, &generation.findings, said, policy)? {
        IterationOutcome::Retry { .. } => generation.step = GenerationStep::Revise,
        IterationOutcome::Complete { .. } => generation.step = GenerationStep::Commit,
        IterationOutcome::NeedsPerson { .. } => {
            generation.status = GenerationStatus::Held;
            generation.step = GenerationStep::Commit;
        }
    }
    Ok(())
}

/// Holds a text that is no scene: no judge reads it, and no revision is tried.
fn hold_unusable(
    generation: &mut Generation,
    finding: SceneFinding,
    judging: JudgeReview<'_>,
) -> Result<(), String> {
    generation.findings = vec![finding];
    generation.verdict = None;
    judging.review.last_iteration = judging.review.iteration;
    conclude_iteration(generation, judging.review, judging.said, judging.policy)
        .map_err(|refused| refused.to_string())
}

/// Returns the finding that a revision of the author's text is another text. A draft of the model's own may
/// be written again from the beginning.
fn find_replacement(generation: &Generation) -> Option<SceneFinding> {
    generation.words?;
    let (before, _) = generation.before_revision.as_ref()?;
    let is_revision = checks::is_revision_of(&split_words(before), &split_words(&generation.draft));
    (!is_revision).then(|| SceneFinding {
        check: REVISION_CHECK.to_owned(),
        severity: FindingSeverity::Should,
        problem: "the model wrote another text instead of revising this one; it was not kept"
            .to_owned(),
        quote: None,
        against: None,
    })
}

/// Reverts a revision that is no scene or another one, and concludes with the findings of the draft before
/// it, and with why.
fn revert_revision(
    generation: &mut Generation,
    why: SceneFinding,
    judging: JudgeReview<'_>,
) -> Result<(), String> {
    restore_draft(generation);
    generation.findings.push(why);
    judging.review.last_iteration = judging.review.iteration;
    conclude_iteration(generation, judging.review, judging.said, judging.policy)
        .map_err(|refused| refused.to_string())
}

/// Returns the note that a revision was made and reverted, and why: it was paid for, and the text looks as if
/// nothing had happened.
fn unkept_revision(why: &str) -> SceneFinding {
    SceneFinding {
        check: REVISION_CHECK.to_owned(),
        severity: FindingSeverity::Could,
        problem: format!("a revision was made and not kept, because it was worse: {why}"),
        quote: None,
        against: None,
    }
}

/// Restores the draft before the last revision, with its findings and its verdict: what the judge of the
/// revision extracted may not be in this draft.
fn restore_draft(generation: &mut Generation) {
    if let Some((text, findings)) = generation.before_revision.take() {
        generation.draft = text;
        generation.findings = findings;
        generation.verdict = generation.verdict_before_revision.take();
    }
}

/// Whether a revision is worse than the draft it replaces: heavier findings, or most of the text is gone.
fn is_worse(revised: &Generation, (text, findings): &(String, Vec<SceneFinding>)) -> bool {
    let (now, before) = (count_findings(&revised.findings), count_findings(findings));
    let (words, words_before) = (split_words(&revised.draft).len(), split_words(text).len());
    // With findings of the same weight, a text that lost most of its words fixed nothing.
    now > before || (now == before && words * 5 < words_before * 3)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::ids::{CanonicalHash, Digest32, NodeId, Principal};
    use crate::memory::StoryMemory;
    use crate::time::Timestamp;

    /// Defect: a revision that was paid for and dropped left no trace.
    #[test]
    fn a_revision_that_is_not_kept_says_why() {
        let text = "Elena pulled at the drawer until it gave. Inside there was only dust.";
        let worse = "Elena pulled at the drawer until it gave. Inside lay Marcus, who was dead.";
        let memory = StoryMemory::default();
        let earlier = BTreeSet::new();
        let expected = SceneExpectations {
            blueprint: "",
            pov: None,
            characters: &[],
            words: 0,
            before: None,
            memory: &memory,
            earlier: &earlier,
            forbidden: &[],
        };
        let revised = json!({ "summary": ["s"], "findings": [
            { "check": "continuity", "severity": "must", "problem": "Marcus is alive", "quote": "Inside lay Marcus" }
        ] });
        for (step, draft, answer, why) in [
            (GenerationStep::Judge, worse, revised, "Marcus is alive"),
            (
                GenerationStep::Revise,
                text,
                json!("I'm sorry, but I can't help with that."),
                "the model refused",
            ),
        ] {
            let hash = CanonicalHash(Digest32::of_bytes(b""));
            let at = Timestamp::from_millis(0);
            let is_judged = step == GenerationStep::Judge;
            let mut generation = Generation {
                step,
                draft: draft.to_owned(),
                revisions: u32::from(is_judged),
                before_revision: is_judged.then(|| (text.to_owned(), Vec::new())),
                ..Generation::begin_writing(NodeId(1), "scene-0101".to_owned(), hash, at)
            };
            let policy = ReviewPolicy::default();
            let mut review = JudgeReview::open_review(None, &generation, 2);
            let judging = JudgeReview {
                review: &mut review,
                said: ReviewActor {
                    by: &Principal::System,
                    at,
                },
                policy: &policy,
            };
            let answer = WriterAnswer {
                value: &answer,
                is_cut: false,
                is_last_attempt: false,
            };
            apply_answer(&mut generation, &answer, &expected, judging).unwrap();
            assert_eq!(generation.draft, text);
            let told = generation.findings.last().map(|it| it.problem.as_str());
            assert!(
                told.is_some_and(|told| told.contains("not kept") && told.contains(why)),
                "{told:?}"
            );
        }
    }

    /// Defect: the author's scene was replaced by an unrelated one, because its length fitted.
    #[test]
    fn a_revision_of_the_authors_text_is_not_another_text() {
        let revision = |draft: &str, words: Option<usize>| Generation {
            step: GenerationStep::Revise,
            draft: draft.to_owned(),
            words,
            before_revision: Some((
                "Elena pulled at the drawer until it gave. Inside there was only dust.".to_owned(),
                Vec::new(),
            )),
            ..Generation::begin_writing(
                NodeId(1),
                "scene-0101".to_owned(),
                CanonicalHash(Digest32::of_bytes(b"")),
                Timestamp::from_millis(0),
            )
        };
        let other = "Marcus walked along the harbour all night, and nobody came to help him.";
        let found = find_replacement(&revision(other, Some(12)));
        assert_eq!(found.map(|it| it.check).as_deref(), Some("revision"));
        // A draft that no author wrote may be written again.
        assert_eq!(find_replacement(&revision(other, None)), None);
        let revised = "Elena pulled at the drawer until it gave. Inside lay cold ash.";
        assert_eq!(find_replacement(&revision(revised, Some(12))), None);
    }
}
