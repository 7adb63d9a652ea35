//! Context sections of a step's prompt: exactly what its role needs, from the plan and its reviews.

use super::Given;
use crate::plan_document::{
    InvisibleKnowledge, Plan, ProblemGrade, TestPlan, check_plan, entity_value,
};
use crate::review::{Review, ReviewItem};

/// A titled block of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSection {
    pub title: String,
    pub lines: Vec<String>,
    /// Command that shows all of it.
    pub whole: String,
    /// Whether the text is Throughline's own, not stored text.
    pub is_ours: bool,
}

/// Sources of the sections.
#[derive(Clone, Copy, Debug, Default)]
pub struct SectionSources<'a> {
    pub plan: Option<&'a Plan>,
    /// The text of `context.json`.
    pub context: Option<&'a str>,
    pub review: Option<&'a Review>,
    /// Milestones of the current wave, with the progress and claimant of each.
    pub wave: &'a [(String, String)],
    /// The planning prompt of the node.
    pub node: Option<&'a str>,
}

/// Builds a section; `None` if it would be empty.
#[must_use]
pub fn build_section(given: Given, material: &SectionSources<'_>) -> Option<PromptSection> {
    let lines = match given {
        Given::Context => material
            .context
            .map(|text| text.lines().map(str::to_owned).collect()),
        Given::Node => material
            .node
            .map(|text| text.lines().map(str::to_owned).collect()),
        Given::Findings => material.review.map(finding_lines),
        Given::Checks => material.review.map(check_lines),
        Given::Wave => material.plan.map(|plan| wave_lines(plan, material.wave)),
        Given::Overview
        | Given::Decisions
        | Given::Constraints
        | Given::Knowledge
        | Given::Milestones
        | Given::Intents
        | Given::Changes
        | Given::Documentation
        | Given::Problems
        | Given::Criteria => material.plan.map(|plan| plan_lines(given, plan)),
    }?;
    let (title, whole) = section_heading(given);
    // Problems are our own messages; everything else quotes text from files and is prefixed.
    let is_ours = given == Given::Problems;
    (!lines.is_empty()).then(|| PromptSection {
        title: title.to_owned(),
        lines,
        whole: whole.to_owned(),
        is_ours,
    })
}

fn section_heading(given: Given) -> (&'static str, &'static str) {
    match given {
        Given::Context => ("What the user said (context.json)", "read context.json"),
        Given::Node => ("The planning prompt", "tl plan"),
        Given::Findings => ("Open findings", "tl review status"),
        Given::Checks => ("Checks", "tl review status"),
        Given::Wave => ("Milestones of this wave", "tl doc show"),
        Given::Overview => ("Overview", "tl doc show overview"),
        Given::Decisions => ("Decisions", "tl doc show"),
        Given::Constraints => ("Constraints and risks", "tl doc show"),
        Given::Knowledge => ("Invisible knowledge", "tl doc show invisible_knowledge"),
        Given::Milestones => ("Milestones", "tl doc show"),
        Given::Intents => ("Intents", "tl doc show"),
        Given::Changes => ("Changes", "tl doc show"),
        Given::Documentation => ("Documentation", "tl doc show"),
        Given::Problems => ("What is still wrong or missing", "tl doc validate"),
        Given::Criteria => ("Acceptance criteria", "tl doc show"),
    }
}

fn plan_lines(given: Given, plan: &Plan) -> Vec<String> {
    match given {
        Given::Overview => overview_lines(plan),
        Given::Decisions => decision_lines(plan),
        Given::Constraints => constraint_lines(plan),
        // A default value is a page of empty fields.
        Given::Knowledge if plan.invisible_knowledge == InvisibleKnowledge::default() => Vec::new(),
        Given::Knowledge => {
            let value = entity_value(plan, "invisible_knowledge").unwrap_or_default();
            serde_json::to_string_pretty(&value)
                .unwrap_or_default()
                .lines()
                .map(str::to_owned)
                .collect()
        }
        Given::Milestones => plan
            .milestones
            .iter()
            .map(|one| {
                let needs = if one.depends_on.is_empty() {
                    String::new()
                } else {
                    format!(", needs {}", one.depends_on.join(" "))
                };
                let tests = describe_tests(&one.tests);
                let files = one.files.join(", ");
                format!("{} {}{needs}: {files}{tests}", one.id, one.name)
            })
            .collect(),
        Given::Intents => intent_lines(plan),
        Given::Changes => change_lines(plan),
        Given::Documentation => documentation_lines(plan),
        Given::Problems => check_plan(plan)
            .into_iter()
            // Hints do not block the freeze; a role told to fix what is wrong would spend its turn
            // on them.
            .filter(|problem| problem.grade != ProblemGrade::Hint)
            .map(|problem| problem.render_line())
            .collect(),
        Given::Criteria => plan
            .milestones
            .iter()
            .flat_map(|milestone| {
                milestone
                    .acceptance_criteria
                    .iter()
                    .map(|one| format!("{} {one}", milestone.id))
            })
            .collect(),
        Given::Context | Given::Findings | Given::Checks | Given::Wave | Given::Node => Vec::new(),
    }
}

/// Describes the tests of a milestone, as the end of its line.
fn describe_tests(tests: &TestPlan) -> String {
    let scenarios = &tests.scenarios;
    let lists = [
        ("tests", &tests.files),
        ("normal", &scenarios.normal),
        ("edge", &scenarios.edge),
        ("error", &scenarios.error),
    ];
    let parts = lists.iter().filter(|(_, list)| !list.is_empty());
    parts
        .map(|(name, list)| format!("; {name}: {}", list.join(", ")))
        .collect()
}

/// Lists title, problem and approach.
fn overview_lines(plan: &Plan) -> Vec<String> {
    let overview = &plan.overview;
    let mut lines = vec![format!("title: {}", overview.title)];
    lines.extend(
        overview
            .problem
            .lines()
            .map(|line| format!("problem: {line}")),
    );
    lines.extend(
        overview
            .approach
            .lines()
            .map(|line| format!("approach: {line}")),
    );
    lines
}

/// Lists decisions with their reasons, then what was rejected for them.
fn decision_lines(plan: &Plan) -> Vec<String> {
    let context = &plan.planning_context;
    let mut lines = Vec::new();
    for one in &context.decision_log {
        // Ids first in every list, because roles have to name them in their commands.
        lines.push(format!("{} {}", one.id, one.decision));
        lines.extend(
            one.reasoning_chain
                .lines()
                .map(|line| format!("    {line}")),
        );
    }
    lines.extend(context.rejected_alternatives.iter().map(|one| {
        format!(
            "{} (not {}) {}: {}",
            one.id, one.decision_ref, one.alternative, one.rejection_reason
        )
    }));
    lines
}

/// Lists constraints and risks.
fn constraint_lines(plan: &Plan) -> Vec<String> {
    let context = &plan.planning_context;
    let constraints = context
        .constraints
        .iter()
        .map(|one| format!("{} {}: {}", one.id, one.kind, one.description));
    let risks = context
        .known_risks
        .iter()
        .map(|one| format!("{} {} → {}", one.id, one.risk, one.mitigation));
    constraints.chain(risks).collect()
}

/// Lists the intents of every milestone.
fn intent_lines(plan: &Plan) -> Vec<String> {
    plan.iter_intents()
        .map(|(milestone, intent)| {
            let function = intent
                .function
                .as_ref()
                .map(|name| format!(" {name}"))
                .unwrap_or_default();
            let why = if intent.decision_refs.is_empty() {
                String::new()
            } else {
                format!(" [{}]", intent.decision_refs.join(", "))
            };
            format!(
                "{} {} {}{function}: {}{why}",
                milestone.id, intent.id, intent.file, intent.behavior
            )
        })
        .collect()
}

/// Lists code changes with their diffs.
fn change_lines(plan: &Plan) -> Vec<String> {
    plan.milestones
        .iter()
        .flat_map(|milestone| &milestone.code_changes)
        .flat_map(|change| {
            let head = format!("{} for {} in {}", change.id, change.intent_ref, change.file);
            let diff = change.diff.lines().map(|line| format!("    {line}"));
            let why = change.why_comments.iter();
            std::iter::once(head)
                .chain(diff)
                .chain(why.map(|why| format!("    why: {why}")))
        })
        .collect()
}

/// Lists the documentation of every milestone that has some.
fn documentation_lines(plan: &Plan) -> Vec<String> {
    plan.milestones
        .iter()
        .filter(|milestone| !milestone.documentation.is_empty())
        .flat_map(|milestone| {
            let text = serde_json::to_string_pretty(&milestone.documentation).unwrap_or_default();
            let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
            std::iter::once(milestone.id.clone()).chain(lines)
        })
        .collect()
}

/// Lists unfixed findings, including those that wait for a new verdict.
fn finding_lines(review: &Review) -> Vec<String> {
    let open = |item: &&ReviewItem| {
        item.finding.is_some() && item.status != crate::review::ItemStatus::Pass
    };
    let unresolved = review
        .items
        .iter()
        .filter(open)
        // Accepted findings are left out: the author is not to spend work on them.
        .filter(|item| item.resolution.is_none() || item.is_escalated());
    unresolved
        .flat_map(|item| {
            let head = format!(
                "{} {} {}: {}",
                item.id, item.severity, item.scope, item.check
            );
            let finding = item.finding.as_deref().unwrap_or_default();
            std::iter::once(head).chain(finding.lines().map(|line| format!("    {line}")))
        })
        .collect()
}

fn check_lines(review: &Review) -> Vec<String> {
    let lines = review.items.iter().map(|item| {
        let finding = item
            .finding
            .as_ref()
            .map(|finding| format!(" ({finding})"))
            .unwrap_or_default();
        format!(
            "{} {} {} {}: {}{finding}",
            item.id,
            item.status.as_str(),
            item.severity,
            item.scope,
            item.check
        )
    });
    lines.collect()
}

/// Lists everything about the milestones of a wave, so that one can be implemented from the prompt
/// alone.
fn wave_lines(plan: &Plan, milestones: &[(String, String)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (id, standing) in milestones {
        // The wave is recorded, the plan is a file: a milestone may have been removed since.
        let Some(milestone) = plan.find_milestone(id) else {
            continue;
        };
        lines.push(format!("{id} {} ({standing})", milestone.name));
        let mut list = |name: &str, items: &[String]| {
            lines.extend(items.iter().map(|item| format!("    {name}: {item}")));
        };
        // One line per item with its field's name, so that the block can be cut off anywhere and
        // still
        // makes sense.
        list("file", &milestone.files);
        list("requirement", &milestone.requirements);
        list("done when", &milestone.acceptance_criteria);
        list("test", &milestone.tests.files);
        list("normal case", &milestone.tests.scenarios.normal);
        list("edge case", &milestone.tests.scenarios.edge);
        list("error case", &milestone.tests.scenarios.error);
        for intent in &milestone.code_intents {
            lines.push(format!(
                "    {} {}: {}",
                intent.id, intent.file, intent.behavior
            ));
            for change in milestone
                .code_changes
                .iter()
                .filter(|change| change.intent_ref == intent.id)
            {
                lines.push(format!("        {} in {}", change.id, change.file));
                lines.extend(change.diff.lines().map(|line| format!("        {line}")));
                lines.extend(
                    change
                        .why_comments
                        .iter()
                        .map(|why| format!("        why: {why}")),
                );
            }
        }
    }
    lines
}
