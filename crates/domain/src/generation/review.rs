//! Adapter from findings about a scene to the checks of a review, so that prose goes through the
//! same terminating review loop as plans and code.
//!
//! A check is the kind of finding with its severity: `pov (should)`. It fails while there are such
//! findings.

use super::record::{FindingSeverity, SceneFinding};
use crate::policy::ReviewPolicy;
use crate::review::{
    self, CheckVerdict, IterationOutcome, Review, ReviewActor, ReviewItem, ReviewRefused,
};

/// The check that every review has; a review without checks cannot be concluded.
const MANDATORY_CHECK: (&str, FindingSeverity) = ("ending", FindingSeverity::Must);

/// Records an iteration's findings in a review and concludes the iteration.
pub(super) fn conclude_scene_iteration(
    review: &mut Review,
    findings: &[SceneFinding],
    said: ReviewActor<'_>,
    policy: &ReviewPolicy,
) -> Result<IterationOutcome, ReviewRefused> {
    // The severity is part of a check's identity: at the end of the loop a MUST is escalated and a
    // SHOULD accepted, even if both are about the same thing.
    let named = findings
        .iter()
        .map(|finding| (finding.check.as_str(), finding.severity));
    for (check, severity) in std::iter::once(MANDATORY_CHECK).chain(named) {
        if !review
            .items
            .iter()
            .any(|item| covers_finding(item, check, severity))
        {
            review.add_check(
                check,
                &format!("{check} ({})", severity_word(severity)),
                review_severity(severity),
                said,
                policy,
            )?;
        }
    }
    // Cloned, because judging an item needs the review mutably.
    let open: Vec<ReviewItem> = review
        .items
        .iter()
        .filter(|item| item.resolution.is_none())
        .cloned()
        .collect();
    for item in open {
        let about: Vec<String> = findings
            .iter()
            .filter(|it| covers_finding(&item, &it.check, it.severity))
            .map(render_finding)
            .collect();
        // A kind of finding that does not come up again was fixed.
        let verdict = if about.is_empty() {
            CheckVerdict::Pass
        } else {
            CheckVerdict::Fail {
                finding: about.join("\n"),
            }
        };
        // No cost: what a model call cost is recorded as spending, not in the review's budget.
        review.record_verdict(&item.id, verdict, None, 0, said, policy)?;
    }
    review.conclude_iteration(said, policy)
}

/// Accepts the escalated findings: a person who continues with the scene has decided.
///
/// # Errors
/// When the principal is not a person.
pub fn accept_held(
    review: &mut Review,
    said: ReviewActor<'_>,
    policy: &ReviewPolicy,
) -> Result<(), ReviewRefused> {
    let held: Vec<String> = review
        .escalated_items()
        .iter()
        .map(|item| item.id.clone())
        .collect();
    for id in held {
        // One by one, so that the history shows each finding a person decided to keep. The review
        // itself refuses anyone but a person.
        review.accept_finding(&id, "the scene is kept as it is", said)?;
    }
    review.conclude_iteration(said, policy).map(drop)
}

/// Whether a check covers findings of this kind and severity.
fn covers_finding(item: &ReviewItem, check: &str, severity: FindingSeverity) -> bool {
    item.scope == check && item.severity == review_severity(severity)
}

/// Renders a finding with its quotes.
fn render_finding(finding: &SceneFinding) -> String {
    let quote = finding
        .quote
        .as_deref()
        .map(|quote| format!(": “{quote}”"))
        .unwrap_or_default();
    let against = finding
        .against
        .as_deref()
        .map(|against| format!(" against “{against}”"))
        .unwrap_or_default();
    format!("{}{quote}{against}", finding.problem)
}

/// Returns the name of a severity in a check's title.
fn severity_word(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Must => "must",
        FindingSeverity::Should => "should",
        FindingSeverity::Could => "could",
    }
}

/// Converts a severity to that of a review.
fn review_severity(severity: FindingSeverity) -> review::CheckSeverity {
    match severity {
        FindingSeverity::Must => review::CheckSeverity::Must,
        FindingSeverity::Should => review::CheckSeverity::Should,
        FindingSeverity::Could => review::CheckSeverity::Could,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Principal;
    use crate::review::LoopState;
    use crate::time::Timestamp;

    fn finding(check: &str, severity: FindingSeverity) -> SceneFinding {
        SceneFinding {
            check: check.to_owned(),
            severity,
            problem: "p".to_owned(),
            quote: Some("q".to_owned()),
            against: None,
        }
    }

    #[test]
    fn prose_goes_through_the_loop_that_ends() {
        let policy = ReviewPolicy {
            max_iterations: 2,
            ..ReviewPolicy::default()
        };
        let (agent, person) = (Principal::System, Principal::Human("ann".to_owned()));
        let at = Timestamp::from_millis(0);
        let said = |by| ReviewActor { by, at };
        let begun = || Review::start_review("scene", Vec::new(), &policy);
        let mut clean = begun();
        assert_eq!(
            conclude_scene_iteration(&mut clean, &[], said(&agent), &policy),
            Ok(IterationOutcome::Complete {
                accepted: Vec::new()
            })
        );

        let (pov, style) = (
            finding("pov", FindingSeverity::Must),
            finding("style", FindingSeverity::Should),
        );
        let mut review = begun();
        let first = conclude_scene_iteration(
            &mut review,
            &[pov.clone(), style.clone()],
            said(&agent),
            &policy,
        )
        .unwrap();
        assert!(
            matches!(first, IterationOutcome::Retry { iteration: 2, .. }),
            "{first:?}"
        );
        let second =
            conclude_scene_iteration(&mut review, &[pov, style], said(&agent), &policy).unwrap();
        assert_eq!(
            second,
            IterationOutcome::NeedsPerson {
                escalated: vec!["qa-002".to_owned()]
            },
            "the rest is accepted"
        );
        assert!(accept_held(&mut review, said(&agent), &policy).is_err());
        accept_held(&mut review, said(&person), &policy).unwrap();
        assert_eq!(review.state, LoopState::Complete);
    }
}
