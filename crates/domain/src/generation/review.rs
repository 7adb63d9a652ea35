//! Adapter from findings about a scene to the checks of a review, so that prose goes through the
//! same terminating review loop as plans and code.
//!
//! A check is the kind of finding with its severity: `pov (should)`. It fails while there are such
//! findings.

use super::record::{Finding, Severity};
use crate::policy::ReviewPolicy;
use crate::review::{self, Concluded, Item, Review, ReviewRefused, Said, Verdict};

/// The check that every review has; a review without checks cannot be concluded.
const ALWAYS: (&str, Severity) = ("ending", Severity::Must);

/// Records an iteration's findings in a review and concludes the iteration.
pub(super) fn conclude(
    review: &mut Review,
    findings: &[Finding],
    said: Said<'_>,
    policy: &ReviewPolicy,
) -> Result<Concluded, ReviewRefused> {
    // The severity is part of a check's identity: at the end of the loop a MUST is escalated and a
    // SHOULD accepted, even if both are about the same thing.
    let named = findings
        .iter()
        .map(|finding| (finding.check.as_str(), finding.severity));
    for (check, severity) in std::iter::once(ALWAYS).chain(named) {
        if !review
            .items
            .iter()
            .any(|item| is_about(item, check, severity))
        {
            review.add(
                check,
                &format!("{check} ({})", word(severity)),
                weight(severity),
                said,
                policy,
            )?;
        }
    }
    // Cloned, because judging an item needs the review mutably.
    let open: Vec<Item> = review
        .items
        .iter()
        .filter(|item| item.resolution.is_none())
        .cloned()
        .collect();
    for item in open {
        let about: Vec<String> = findings
            .iter()
            .filter(|it| is_about(&item, &it.check, it.severity))
            .map(shown)
            .collect();
        // A kind of finding that does not come up again was fixed.
        let verdict = if about.is_empty() {
            Verdict::Pass
        } else {
            Verdict::Fail {
                finding: about.join("\n"),
            }
        };
        // No cost: what a model call cost is recorded as spending, not in the review's budget.
        review.judge(&item.id, verdict, None, 0, said, policy)?;
    }
    review.conclude(said, policy)
}

/// Accepts the escalated findings: a person who continues with the scene has decided.
///
/// # Errors
/// When the principal is not a person.
pub fn accept_held(
    review: &mut Review,
    said: Said<'_>,
    policy: &ReviewPolicy,
) -> Result<(), ReviewRefused> {
    let held: Vec<String> = review
        .escalated()
        .iter()
        .map(|item| item.id.clone())
        .collect();
    for id in held {
        // One by one, so that the history shows each finding a person decided to keep. The review
        // itself refuses anyone but a person.
        review.accept(&id, "the scene is kept as it is", said)?;
    }
    review.conclude(said, policy).map(drop)
}

/// Whether a check covers findings of this kind and severity.
fn is_about(item: &Item, check: &str, severity: Severity) -> bool {
    item.scope == check && item.severity == weight(severity)
}

/// Renders a finding with its quotes.
fn shown(finding: &Finding) -> String {
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
fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Must => "must",
        Severity::Should => "should",
        Severity::Could => "could",
    }
}

/// Converts a severity to that of a review.
fn weight(severity: Severity) -> review::Severity {
    match severity {
        Severity::Must => review::Severity::Must,
        Severity::Should => review::Severity::Should,
        Severity::Could => review::Severity::Could,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Principal;
    use crate::review::LoopState;
    use crate::time::Timestamp;

    fn finding(check: &str, severity: Severity) -> Finding {
        Finding {
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
        let said = |by| Said { by, at };
        let begun = || Review::begin("scene", Vec::new(), &policy);
        let mut clean = begun();
        assert_eq!(
            conclude(&mut clean, &[], said(&agent), &policy),
            Ok(Concluded::Complete {
                accepted: Vec::new()
            })
        );

        let (pov, style) = (
            finding("pov", Severity::Must),
            finding("style", Severity::Should),
        );
        let mut review = begun();
        let first = conclude(
            &mut review,
            &[pov.clone(), style.clone()],
            said(&agent),
            &policy,
        )
        .unwrap();
        assert!(
            matches!(first, Concluded::Retry { iteration: 2, .. }),
            "{first:?}"
        );
        let second = conclude(&mut review, &[pov, style], said(&agent), &policy).unwrap();
        assert_eq!(
            second,
            Concluded::NeedsPerson {
                escalated: vec!["qa-002".to_owned()]
            },
            "the rest is accepted"
        );
        assert!(accept_held(&mut review, said(&agent), &policy).is_err());
        accept_held(&mut review, said(&person), &policy).unwrap();
        assert_eq!(review.state, LoopState::Complete);
    }
}
