//! Variants of a scene: several judged drafts, of which the author chooses one.
//!
//! Each draft is written and judged like a single one, but not revised: only the chosen one is worth a
//! revision. The others stay in the record, so that the choice can be made again.

use super::acceptance;
use super::record::{Generation, GenerationStatus, GenerationStep, SceneVariant};
use super::steps::{JudgeReview, conclude_iteration};

/// Maximum number of variants of a scene.
pub const MAX_VARIANTS: u32 = 5;

/// Why a variant cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariantProblem {
    #[error("no variants were written")]
    None,
    #[error("there is no variant {wanted}; there are {count}")]
    Unknown { wanted: usize, count: usize },
    #[error("{0}")]
    Review(String),
}

/// Adds the judged draft to the variants and goes on with the next one, or lets the author choose.
pub(super) fn keep_variant(generation: &mut Generation) {
    let variant = SceneVariant {
        draft: std::mem::take(&mut generation.draft),
        writer: generation.writer.clone(),
        findings: std::mem::take(&mut generation.findings),
        verdict: generation.verdict.take(),
    };
    generation.variants.push(variant);
    // Attempts are counted per draft.
    generation.conclusions = 0;
    generation.failures = 0;
    if generation.variants.len() < generation.variant_count as usize {
        generation.step = GenerationStep::Write;
    } else {
        generation.step = GenerationStep::Choose;
        generation.status = GenerationStatus::Held;
    }
}

/// Goes on with a variant as the draft: it is revised if its findings say so, and committed.
///
/// # Errors
/// When there is no such variant.
pub fn choose_variant(
    generation: &mut Generation,
    number: usize,
    judging: JudgeReview<'_>,
) -> Result<(), VariantProblem> {
    let count = generation.variants.len();
    if count == 0 {
        return Err(VariantProblem::None);
    }
    let at = number.checked_sub(1);
    let variant = at.and_then(|at| generation.variants.get(at));
    let unknown = VariantProblem::Unknown {
        wanted: number,
        count,
    };
    let variant = variant.ok_or(unknown)?.clone();
    let mut next = Generation {
        status: GenerationStatus::Running,
        draft: variant.draft,
        writer: variant.writer,
        findings: variant.findings,
        verdict: variant.verdict,
        chosen: Some(number),
        conclusions: 0,
        revisions: 0,
        failures: 0,
        error: None,
        is_accepted: false,
        before_revision: None,
        verdict_before_revision: None,
        ..generation.clone()
    };
    // What is no scene at all is held; a revision of it has nothing to go on from.
    if acceptance::find_unusable(&next.draft).is_some() {
        judging.review.last_iteration = judging.review.iteration;
    }
    conclude_iteration(&mut next, judging.review, judging.said, judging.policy)
        .map_err(|refused| VariantProblem::Review(refused.to_string()))?;
    *generation = next;
    Ok(())
}

/// Removes the variants that were not chosen. Returns their numbers.
pub fn discard_others(generation: &mut Generation) -> Vec<usize> {
    let Some(chosen) = generation.chosen else {
        return Vec::new();
    };
    let others = (1..=generation.variants.len()).filter(|number| *number != chosen);
    let others: Vec<usize> = others.collect();
    let mut number = 0;
    generation.variants.retain(|_| {
        number += 1;
        number == chosen
    });
    generation.chosen = Some(1);
    others
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::generation::checks::SceneExpectations;
    use crate::generation::steps::{WriterAnswer, apply_answer};
    use crate::ids::{CanonicalHash, Digest32, NodeId, Principal};
    use crate::memory::StoryMemory;
    use crate::policy::ReviewPolicy;
    use crate::review::ReviewActor;
    use crate::time::Timestamp;

    const BAD: &str = "Elena opened the drawer. The map was gone.";

    /// A generation with the judge's review around it.
    struct Bench {
        generation: Generation,
        policy: ReviewPolicy,
        by: Principal,
    }

    impl Bench {
        fn with_variants(count: u32) -> Self {
            let hash = CanonicalHash(Digest32::of_bytes(b""));
            let at = Timestamp::from_millis(0);
            let begun = Generation::begin_writing(NodeId(1), "scene".to_owned(), hash, at);
            Self {
                generation: Generation {
                    variant_count: count,
                    ..begun
                },
                policy: ReviewPolicy::default(),
                by: Principal::System,
            }
        }

        fn judge<T>(&mut self, act: impl FnOnce(&mut Generation, JudgeReview<'_>) -> T) -> T {
            let mut review = JudgeReview::open_review(None, &self.generation, 2);
            let said = ReviewActor {
                by: &self.by,
                at: Timestamp::from_millis(0),
            };
            let judging = JudgeReview {
                review: &mut review,
                said,
                policy: &self.policy,
            };
            act(&mut self.generation, judging)
        }

        fn answer(&mut self, value: serde_json::Value, is_last_attempt: bool) {
            let (memory, earlier) = (StoryMemory::default(), Default::default());
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
            let answer = WriterAnswer {
                value: &value,
                is_cut: false,
                is_last_attempt,
            };
            self.judge(|generation, judging| apply_answer(generation, &answer, &expected, judging))
                .unwrap();
        }

        fn write(&mut self, draft: &str, severity: Option<&str>) {
            self.answer(json!(draft), false);
            let findings: Vec<_> = severity
                .into_iter()
                .map(|severity| json!({ "check": "pov", "severity": severity, "problem": "p", "quote": draft }))
                .collect();
            self.answer(json!({ "findings": findings, "summary": ["s"] }), false);
        }
    }

    fn three() -> Bench {
        let mut bench = Bench::with_variants(3);
        bench.write(BAD, Some("must"));
        assert_eq!(bench.generation.step, GenerationStep::Write);
        bench.write("Marcus kept the map in his coat.", None);
        // A refusal is a variant too, so that two good drafts are not lost with it.
        bench.answer(json!("I'm sorry, but I can't help with that."), true);
        bench
    }

    #[test]
    fn drafts_are_judged_and_wait_for_a_choice() {
        let bench = three();
        let generation = &bench.generation;
        assert_eq!(
            (generation.step, generation.status),
            (GenerationStep::Choose, GenerationStatus::Held)
        );
        let found: Vec<usize> = generation
            .variants
            .iter()
            .map(|it| it.findings.len())
            .collect();
        assert_eq!(found, [1, 0, 1]);
        assert!(generation.draft.is_empty() && generation.revisions == 0);
    }

    #[test]
    fn the_chosen_variant_is_committed_revised_or_held_by_its_findings() {
        let mut bench = three();
        let choose = |bench: &mut Bench, number| {
            bench.judge(|generation, judging| choose_variant(generation, number, judging))
        };
        let unknown = VariantProblem::Unknown {
            wanted: 4,
            count: 3,
        };
        assert_eq!(choose(&mut bench, 4), Err(unknown));
        assert_eq!(bench.generation.step, GenerationStep::Choose);
        for (number, step, status) in [
            (1, GenerationStep::Revise, GenerationStatus::Running),
            (2, GenerationStep::Commit, GenerationStatus::Running),
            (3, GenerationStep::Commit, GenerationStatus::Held),
        ] {
            choose(&mut bench, number).unwrap();
            let generation = &bench.generation;
            assert_eq!(
                (generation.step, generation.status),
                (step, status),
                "{number}"
            );
            assert_eq!(generation.chosen, Some(number));
        }
    }

    #[test]
    fn the_others_are_kept_until_they_are_discarded() {
        let mut bench = three();
        bench
            .judge(|generation, judging| choose_variant(generation, 2, judging))
            .unwrap();
        assert_eq!(bench.generation.variants.len(), 3);
        assert_eq!(discard_others(&mut bench.generation), [1, 3]);
        let kept = bench.generation.variants.first().map(|it| it.draft.clone());
        assert_eq!(kept, Some(bench.generation.draft.clone()));
        assert_eq!(bench.generation.chosen, Some(1));
        let single = Generation {
            variants: Vec::new(),
            ..bench.generation.clone()
        };
        bench.generation = single;
        let none = bench.judge(|generation, judging| choose_variant(generation, 1, judging));
        assert_eq!(none, Err(VariantProblem::None));
    }
}
