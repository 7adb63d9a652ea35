//! Renders `plan.md`, the readable form of a plan.
//!
//! Deterministic: the same plan gives the same text, so that a regenerated page has no diff.

use std::fmt::Write as _;

use super::model::{Architecture, DocComment, Milestone, Plan, Wave};
use super::waves::computed;

/// Renders a plan as Markdown; `version` names the `plan.json` it was made from.
#[must_use]
pub fn render(plan: &Plan, version: &str) -> String {
    let mut page = Page(String::new());
    page.line(&format!("# {}", one_line(&plan.overview.title)));
    page.line("");
    page.line(&format!(
        "<!-- Made by `tl doc render` from plan.json {version}. Change the plan, not this page. -->"
    ));
    page.line("");
    match plan.frozen_at {
        Some(at) => page.line(&format!("Frozen {at} · plan {}", plan.plan_id)),
        None => page.line(&format!("Draft · plan {}", plan.plan_id)),
    }
    if let Some(from) = &plan.revises {
        page.line(&format!("Revises `{}` ({})", from.document, from.plan_id));
    }
    page.part("## Problem", &plan.overview.problem);
    page.part("## Approach", &plan.overview.approach);
    context(&mut page, plan);
    knowledge(&mut page, plan);
    order(&mut page, plan);
    for milestone in &plan.milestones {
        render_milestone(&mut page, milestone);
    }
    page.0
}

struct Page(String);

impl Page {
    fn line(&mut self, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{text}");
    }

    /// Appends a heading and a text, unless the text is empty.
    fn part(&mut self, heading: &str, text: &str) {
        if !text.trim().is_empty() {
            self.line(&format!("\n{heading}\n\n{}", text.trim()));
        }
    }

    /// Appends a heading and a list, unless the list is empty.
    fn list(&mut self, heading: &str, items: &[String]) {
        if !items.is_empty() {
            self.line(&format!("\n{heading}\n"));
            items
                .iter()
                .for_each(|item| self.line(&format!("- {}", indented(item, "  "))));
        }
    }

    /// Appends a diagram or diff as a fenced block, verbatim.
    fn block(&mut self, kind: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        // Longer than any run of backticks inside, as CommonMark requires; diffs of Markdown files
        // contain fences themselves.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.line(&format!(
            "\n{fence}{kind}\n{}\n{fence}",
            text.trim_matches('\n')
        ));
    }
}

fn one_line(text: &str) -> String {
    // Headings end at a line break; a title with one would leave half of itself in the body.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn indented(text: &str, by: &str) -> String {
    text.trim()
        .lines()
        .collect::<Vec<_>>()
        // Continuation lines must be indented to stay inside their list item.
        .join(&format!("\n{by}"))
}

/// Links to a decision's anchor: `[DL-001](#dl-001)`.
fn decision_link(id: &str) -> String {
    format!("[{id}](#{})", id.to_lowercase())
}

fn context(page: &mut Page, plan: &Plan) {
    let context = &plan.planning_context;
    if !context.decision_log.is_empty() {
        page.line("\n## Decisions");
        for decision in &context.decision_log {
            // An explicit anchor: the one a renderer derives from the heading contains the
            // decision's
            // wording and would change with it.
            let anchor = decision.id.to_lowercase();
            page.line(&format!(
                "\n### <a id=\"{anchor}\"></a>{}: {}",
                decision.id,
                one_line(&decision.decision)
            ));
            page.line(&format!("\n{}", decision.reasoning_chain.trim()));
            for rejected in context
                .rejected_alternatives
                .iter()
                .filter(|one| one.decision_ref == decision.id)
            {
                page.line(&format!(
                    "\n- instead of {} {}: {}",
                    rejected.id,
                    one_line(&rejected.alternative),
                    indented(&rejected.rejection_reason, "  ")
                ));
            }
        }
    }
    let constraints: Vec<String> = context
        .constraints
        .iter()
        .map(|one| {
            let source = if one.source.is_empty() {
                String::new()
            } else {
                format!(" ({})", one.source)
            };
            format!("{} {}: {}{source}", one.id, one.kind, one.description)
        })
        .collect();
    page.list("## Constraints", &constraints);
    let risks: Vec<String> = context
        .known_risks
        .iter()
        .map(|one| {
            let anchor = one
                .anchor
                .as_ref()
                .map(|anchor| format!(", at `{anchor}`"))
                .unwrap_or_default();
            let decision = one
                .decision_ref
                .as_ref()
                .map(|id| format!(", see {}", decision_link(id)))
                .unwrap_or_default();
            format!(
                "{} {} → {}{anchor}{decision}",
                one.id, one.risk, one.mitigation
            )
        })
        .collect();
    page.list("## Risks", &risks);
}

fn knowledge(page: &mut Page, plan: &Plan) {
    let knowledge = &plan.invisible_knowledge;
    let mut picture = |heading: &str, part: &Architecture| {
        if *part != Architecture::default() {
            page.line(&format!("\n{heading}"));
            page.block("text", &part.diagram_ascii);
            if !part.description.trim().is_empty() {
                page.line(&format!("\n{}", part.description.trim()));
            }
        }
    };
    picture("## Architecture", &knowledge.architecture);
    picture("## Data flow", &knowledge.data_flow);
    page.part(
        "## Why it is built this way",
        &knowledge.structure_rationale,
    );
    page.list("## Invariants", &knowledge.invariants);
    page.list("## Trade-offs", &knowledge.tradeoffs);
}

fn order(page: &mut Page, plan: &Plan) {
    let given = &plan.milestone_dependencies;
    // A cycle only leaves the section out: `tl doc validate` reports it, and the rest of the page
    // is still worth reading.
    let waves: Vec<Wave> = if given.waves.is_empty() {
        computed(plan).unwrap_or_default()
    } else {
        given.waves.clone()
    };
    if waves.is_empty() {
        return;
    }
    page.line("\n## Order");
    page.block("text", &given.diagram_ascii);
    page.line("");
    for wave in &waves {
        page.line(&format!("{}. {}", wave.wave, wave.milestones.join(", ")));
    }
}

fn render_milestone(page: &mut Page, milestone: &Milestone) {
    page.line(&format!(
        "\n## {}: {}",
        milestone.id,
        one_line(&milestone.name)
    ));
    let mut facts = Vec::new();
    if !milestone.depends_on.is_empty() {
        facts.push(format!("needs {}", milestone.depends_on.join(", ")));
    }
    facts.extend(
        milestone
            .delegated_to
            .as_ref()
            .map(|who| format!("for {who}")),
    );
    facts.extend(
        milestone
            .is_documentation_only
            .then(|| "documentation only".to_owned()),
    );
    facts.extend(
        (!milestone.flags.is_empty()).then(|| format!("flags {}", milestone.flags.join(", "))),
    );
    if !facts.is_empty() {
        page.line(&format!("\n{}", facts.join(" · ")));
    }
    let files: Vec<String> = milestone
        .files
        .iter()
        .map(|file| format!("`{file}`"))
        .collect();
    page.list("### Files", &files);
    page.list("### Requirements", &milestone.requirements);
    page.list("### Done when", &milestone.acceptance_criteria);
    tests(page, milestone);
    if !milestone.code_intents.is_empty() {
        page.line("\n### Intents");
    }
    for intent in &milestone.code_intents {
        let function = intent
            .function
            .as_ref()
            .map(|name| format!(", `{name}`"))
            .unwrap_or_default();
        page.line(&format!(
            "\n#### {}: `{}`{function}",
            intent.id, intent.file
        ));
        page.line(&format!("\n{}", intent.behavior.trim()));
        if !intent.decision_refs.is_empty() {
            let links: Vec<String> = intent
                .decision_refs
                .iter()
                .map(|id| decision_link(id))
                .collect();
            page.line(&format!("\nBecause of {}", links.join(", ")));
        }
        for (name, value) in &intent.params {
            page.line(&format!("- {name}: {value}"));
        }
        for change in milestone
            .code_changes
            .iter()
            .filter(|change| change.intent_ref == intent.id)
        {
            page.line(&format!("\n{} in `{}`", change.id, change.file));
            page.block("diff", &change.diff);
            if !change.why_comments.is_empty() {
                page.line("");
                change
                    .why_comments
                    .iter()
                    .for_each(|why| page.line(&format!("- why: {}", indented(why, "  "))));
            }
        }
    }
    documentation(page, milestone);
}

fn tests(page: &mut Page, milestone: &Milestone) {
    let tests = &milestone.tests;
    let mut lines: Vec<String> = tests.files.iter().map(|file| format!("`{file}`")).collect();
    lines.extend(tests.kind.as_ref().map(|kind| {
        let backing = tests
            .backing
            .as_ref()
            .map(|backing| format!(" ({backing})"))
            .unwrap_or_default();
        format!("{kind}{backing}")
    }));
    let scenarios = &tests.scenarios;
    for (name, list) in [
        ("normal", &scenarios.normal),
        ("edge", &scenarios.edge),
        ("error", &scenarios.error),
    ] {
        lines.extend(list.iter().map(|one| format!("{name}: {one}")));
    }
    lines.extend(tests.skip_reason.as_ref().map(|why| format!("none: {why}")));
    page.list("### Tests", &lines);
}

fn documentation(page: &mut Page, milestone: &Milestone) {
    let documentation = &milestone.documentation;
    if documentation.is_empty() {
        return;
    }
    page.line("\n### Documentation");
    page.part(
        "#### Module",
        documentation.module_comment.as_deref().unwrap_or_default(),
    );
    let comments = |list: &[DocComment]| {
        list.iter()
            .map(|one| format!("`{}`: {}", one.target, one.text))
            .collect::<Vec<_>>()
    };
    page.list("#### Docstrings", &comments(&documentation.docstrings));
    page.list(
        "#### Algorithms",
        &comments(&documentation.algorithm_blocks),
    );
    page.list("#### Inline", &comments(&documentation.inline_comments));
}
