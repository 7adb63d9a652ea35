//! Findings about a scene as checks of a review: the loop that reviews plans and code reviews prose too, and ends the
//! same way.
//!
//! A check is what was looked at, with its weight: `pov (should)`. It fails as long as there are such findings.

use super::record::{Finding, Severity};
use crate::policy::ReviewPolicy;
use crate::review::{self, Concluded, Item, Review, ReviewRefused, Said, Verdict};

/// Every scene is looked at for this, so that every review has a check.
const ALWAYS: (&str, Severity) = ("ending", Severity::Must);

/// Takes an iteration's findings into a review and ends the iteration.
pub(super) fn conclude(
    review: &mut Review,
    findings: &[Finding],
    said: Said<'_>,
    policy: &ReviewPolicy,
) -> Result<Concluded, ReviewRefused> {
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
        let verdict = if about.is_empty() {
            Verdict::Pass
        } else {
            Verdict::Fail {
                finding: about.join("\n"),
            }
        };
        review.judge(&item.id, verdict, None, 0, said, policy)?;
    }
    review.conclude(said, policy)
}

/// Accepts what waits for a person: whoever goes on with the scene as it is has decided.
///
/// # Errors
/// When it is no person.
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
        review.accept(&id, "the scene is kept as it is", said)?;
    }
    review.conclude(said, policy).map(drop)
}

fn is_about(item: &Item, check: &str, severity: Severity) -> bool {
    item.scope == check && item.severity == weight(severity)
}

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

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Must => "must",
        Severity::Should => "should",
        Severity::Could => "could",
    }
}

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
