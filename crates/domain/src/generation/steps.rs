//! From an answer to the next step. The end is always near: conclusions and revisions are counted.

use serde_json::Value;

use super::checks::{self, Expected};
use super::record::{Finding, Generation, GenerationStatus, Severity, Step};
use super::verdict::Verdict;

/// So often a text that broke off is asked to go on.
const MOST_CONCLUSIONS: u32 = 2;

/// Takes a writer's or a judge's answer and moves on.
///
/// # Errors
/// When the answer is none; the step is then to be asked again.
pub fn take(
    generation: &mut Generation,
    answer: &Value,
    is_cut: bool,
    expected: &Expected<'_>,
    most_revisions: u32,
) -> Result<(), String> {
    match generation.step {
        Step::Write => {
            generation.draft = prose(answer)?;
            after_text(generation, is_cut);
        }
        Step::Conclude => {
            let more = prose(answer)?;
            generation.conclusions += 1;
            generation.draft = format!("{} {more}", generation.draft.trim_end());
            after_text(generation, is_cut);
        }
        Step::Revise => {
            let revised = prose(answer)?;
            generation.before_revision =
                Some((std::mem::replace(&mut generation.draft, revised), generation.findings.clone()));
            generation.revisions += 1;
            after_text(generation, is_cut);
        }
        Step::Judge => {
            let verdict = Verdict::read(answer, &generation.draft, expected.blueprint)?;
            judged(generation, verdict, expected, most_revisions);
        }
        Step::Commit => return Err("the scene is written; it only has to be put in its place".to_owned()),
    }
    Ok(())
}

fn prose(answer: &Value) -> Result<String, String> {
    let text = answer.as_str().map(str::trim).filter(|text| !text.is_empty()).ok_or("the answer holds no text")?;
    // Some put prose into a fence although nobody asked them to.
    let bare =
        text.strip_prefix("```").and_then(|rest| rest.split_once('\n')).and_then(|(_, rest)| rest.strip_suffix("```"));
    Ok(bare.unwrap_or(text).trim().to_owned())
}

/// No scene without a real ending: it is asked for, and in the end the unfinished sentence goes.
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

fn judged(generation: &mut Generation, verdict: Verdict, expected: &Expected<'_>, most_revisions: u32) {
    let mut findings: Vec<Finding> = checks::check(&generation.draft, expected);
    findings.extend(verdict.findings.clone());
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    generation.findings = findings;
    generation.verdict = Some(verdict);
    // A revision that made nothing better is taken back.
    if let Some((text, before)) = generation.before_revision.take()
        && weight(&before) < weight(&generation.findings)
    {
        generation.draft = text;
        generation.findings = before;
        generation.revisions = most_revisions.max(generation.revisions);
        generation.verdict = generation.verdict.take().map(|verdict| Verdict {
            facts: Vec::new(),
            loops: Vec::new(),
            new_loops: Vec::new(),
            ..verdict
        });
    }
    let blocking = Verdict::blocking(&generation.findings, generation.revisions);
    if blocking.is_empty() {
        generation.step = Step::Commit;
    } else if generation.revisions < most_revisions {
        generation.step = Step::Revise;
    } else if blocking.iter().any(|finding| finding.severity == Severity::Must) {
        generation.status = GenerationStatus::Held;
        generation.step = Step::Commit;
    } else {
        generation.step = Step::Commit;
    }
}

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
