//! Renders `plan.md`, the readable form of a plan.
//!
//! Deterministic: the same plan gives the same text, so that a regenerated page has no diff.

use std::fmt::Write as _;

use super::model::{Architecture, CodeChange, CodeIntent, DocComment, Milestone, Plan, Wave};
use super::plan_json::read_plan;
use super::waves::compute_waves;

/// Renders a plan as Markdown; `version` names the `plan.json` it was made from.
#[must_use]
pub fn render_markdown(plan: &Plan, version: &str) -> String {
    let mut page = MarkdownPage(String::new());
    page.push_line(&format!("# {}", collapse_whitespace(&plan.overview.title)));
    page.push_line("");
    page.push_line(&format!(
        "<!-- Made by `tl doc render` from plan.json {version}. Change the plan, not this page. -->"
    ));
    page.push_line("");
    match plan.frozen_at {
        Some(at) => page.push_line(&format!("Frozen {at} · plan {}", plan.plan_id)),
        None => page.push_line(&format!("Draft · plan {}", plan.plan_id)),
    }
    if let Some(from) = &plan.revises {
        page.push_line(&format!("Revises `{}` ({})", from.document, from.plan_id));
    }
    page.push_part("## Problem", &plan.overview.problem);
    page.push_part("## Approach", &plan.overview.approach);
    render_context(&mut page, plan);
    render_knowledge(&mut page, plan);
    render_waves(&mut page, plan);
    for milestone in &plan.milestones {
        render_milestone(&mut page, milestone);
    }
    page.0
}

/// Renders the text of a document's node as Markdown for people who read it on a page: the whole
/// plan, a milestone, or an intent with its changes. `None` if the text is of another form.
#[must_use]
pub fn render_node_markdown(level: &str, text: &str) -> Option<String> {
    match level {
        "plan" => Some(render_readable_plan(&read_plan(text).ok()?)),
        "milestone" => {
            let milestone: Milestone = serde_json::from_str(text).ok()?;
            let mut page = MarkdownPage(String::new());
            render_milestone(&mut page, &milestone);
            Some(page.0)
        }
        "intent" => {
            let node: IntentNode = serde_json::from_str(text).ok()?;
            let mut page = MarkdownPage(String::new());
            render_intent(&mut page, &node.changes, &node.intent);
            Some(page.0)
        }
        _ => None,
    }
}

/// The text of an intent's node.
#[derive(serde::Deserialize)]
struct IntentNode {
    intent: CodeIntent,
    #[serde(default)]
    changes: Vec<CodeChange>,
}

/// Renders a plan without the raw HTML that `plan.md` has for its anchors.
fn render_readable_plan(plan: &Plan) -> String {
    let mut text = render_markdown(plan, "");
    for decision in &plan.planning_context.decision_log {
        let anchor = decision.id.to_lowercase();
        text = text
            .replace(&format!("<a id=\"{anchor}\"></a>"), "")
            .replace(&decision_link(&decision.id), &decision.id);
    }
    let mut lines: Vec<String> = Vec::new();
    let mut part = "";
    for line in text.lines() {
        if line.starts_with("## ") {
            part = line;
        }
        // The page says by whom and when it was approved; times and identifiers are for programs.
        let is_for_programs = part.is_empty()
            && (line.starts_with("<!-- Made by")
                || line.starts_with("Frozen ")
                || line.starts_with("Draft · "));
        match is_for_programs {
            true => {}
            false if part == "## Order" => lines.push(name_milestones(plan, line)),
            false => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

/// Returns a line of the order with the name behind the id of each milestone.
fn name_milestones(plan: &Plan, line: &str) -> String {
    let Some((wave, ids)) = line.split_once(". ") else {
        return line.to_owned();
    };
    let named = ids.split(", ").map(|id| {
        let milestone = plan.milestones.iter().find(|one| one.id == id);
        match milestone {
            Some(milestone) => format!("{id} {}", collapse_whitespace(&milestone.name)),
            None => id.to_owned(),
        }
    });
    format!("{wave}. {}", named.collect::<Vec<_>>().join(", "))
}

struct MarkdownPage(String);

impl MarkdownPage {
    fn push_line(&mut self, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{text}");
    }

    /// Appends a heading and a text, unless the text is empty.
    fn push_part(&mut self, heading: &str, text: &str) {
        if !text.trim().is_empty() {
            self.push_line(&format!("\n{heading}\n\n{}", text.trim()));
        }
    }

    /// Appends a heading and a list, unless the list is empty.
    fn push_list(&mut self, heading: &str, items: &[String]) {
        if !items.is_empty() {
            self.push_line(&format!("\n{heading}\n"));
            items
                .iter()
                .for_each(|item| self.push_line(&format!("- {}", indent_continuation(item, "  "))));
        }
    }

    /// Appends a diagram or diff as a fenced block, verbatim.
    fn push_code_block(&mut self, kind: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        // Longer than any run of backticks inside, as CommonMark requires; diffs of Markdown files
        // contain fences themselves.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.push_line(&format!(
            "\n{fence}{kind}\n{}\n{fence}",
            text.trim_matches('\n')
        ));
    }
}

fn collapse_whitespace(text: &str) -> String {
    // Headings end at a line break; a title with one would leave half of itself in the body.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn indent_continuation(text: &str, by: &str) -> String {
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

fn render_context(page: &mut MarkdownPage, plan: &Plan) {
    let context = &plan.planning_context;
    if !context.decision_log.is_empty() {
        page.push_line("\n## Decisions");
        for decision in &context.decision_log {
            // An explicit anchor: the one a renderer derives from the heading contains the
            // decision's
            // wording and would change with it.
            let anchor = decision.id.to_lowercase();
            page.push_line(&format!(
                "\n### <a id=\"{anchor}\"></a>{}: {}",
                decision.id,
                collapse_whitespace(&decision.decision)
            ));
            page.push_line(&format!("\n{}", decision.reasoning_chain.trim()));
            for rejected in context
                .rejected_alternatives
                .iter()
                .filter(|one| one.decision_ref == decision.id)
            {
                page.push_line(&format!(
                    "\n- instead of {} {}: {}",
                    rejected.id,
                    collapse_whitespace(&rejected.alternative),
                    indent_continuation(&rejected.rejection_reason, "  ")
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
    page.push_list("## Constraints", &constraints);
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
    page.push_list("## Risks", &risks);
}

fn render_knowledge(page: &mut MarkdownPage, plan: &Plan) {
    let knowledge = &plan.invisible_knowledge;
    let mut picture = |heading: &str, part: &Architecture| {
        if *part != Architecture::default() {
            page.push_line(&format!("\n{heading}"));
            page.push_code_block("text", &part.diagram_ascii);
            if !part.description.trim().is_empty() {
                page.push_line(&format!("\n{}", part.description.trim()));
            }
        }
    };
    picture("## Architecture", &knowledge.architecture);
    picture("## Data flow", &knowledge.data_flow);
    page.push_part(
        "## Why it is built this way",
        &knowledge.structure_rationale,
    );
    page.push_list("## Invariants", &knowledge.invariants);
    page.push_list("## Trade-offs", &knowledge.tradeoffs);
}

fn render_waves(page: &mut MarkdownPage, plan: &Plan) {
    let given = &plan.milestone_dependencies;
    // A cycle only leaves the section out: `tl doc validate` reports it, and the rest of the page
    // is still worth reading.
    let waves: Vec<Wave> = if given.waves.is_empty() {
        compute_waves(plan).unwrap_or_default()
    } else {
        given.waves.clone()
    };
    if waves.is_empty() {
        return;
    }
    page.push_line("\n## Order");
    page.push_code_block("text", &given.diagram_ascii);
    page.push_line("");
    for wave in &waves {
        page.push_line(&format!("{}. {}", wave.wave, wave.milestones.join(", ")));
    }
}

fn render_milestone(page: &mut MarkdownPage, milestone: &Milestone) {
    page.push_line(&format!(
        "\n## {}: {}",
        milestone.id,
        collapse_whitespace(&milestone.name)
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
        page.push_line(&format!("\n{}", facts.join(" · ")));
    }
    let files: Vec<String> = milestone
        .files
        .iter()
        .map(|file| format!("`{file}`"))
        .collect();
    page.push_list("### Files", &files);
    page.push_list("### Requirements", &milestone.requirements);
    page.push_list("### Done when", &milestone.acceptance_criteria);
    render_tests(page, milestone);
    if !milestone.code_intents.is_empty() {
        page.push_line("\n### Intents");
    }
    for intent in &milestone.code_intents {
        render_intent(page, &milestone.code_changes, intent);
    }
    render_documentation(page, milestone);
}

fn render_intent(page: &mut MarkdownPage, changes: &[CodeChange], intent: &CodeIntent) {
    let function = intent
        .function
        .as_ref()
        .map(|name| format!(", `{name}`"))
        .unwrap_or_default();
    page.push_line(&format!(
        "\n#### {}: `{}`{function}",
        intent.id, intent.file
    ));
    page.push_line(&format!("\n{}", intent.behavior.trim()));
    if !intent.decision_refs.is_empty() {
        let links: Vec<String> = intent
            .decision_refs
            .iter()
            .map(|id| decision_link(id))
            .collect();
        page.push_line(&format!("\nBecause of {}", links.join(", ")));
    }
    for (name, value) in &intent.params {
        page.push_line(&format!("- {name}: {value}"));
    }
    for change in changes
        .iter()
        .filter(|change| change.intent_ref == intent.id)
    {
        page.push_line(&format!("\n{} in `{}`", change.id, change.file));
        page.push_code_block("diff", &change.diff);
        if !change.why_comments.is_empty() {
            page.push_line("");
            change.why_comments.iter().for_each(|why| {
                page.push_line(&format!("- why: {}", indent_continuation(why, "  ")))
            });
        }
    }
}

fn render_tests(page: &mut MarkdownPage, milestone: &Milestone) {
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
    page.push_list("### Tests", &lines);
}

fn render_documentation(page: &mut MarkdownPage, milestone: &Milestone) {
    let documentation = &milestone.documentation;
    if documentation.is_empty() {
        return;
    }
    page.push_line("\n### Documentation");
    page.push_part(
        "#### Module",
        documentation.module_comment.as_deref().unwrap_or_default(),
    );
    let comments = |list: &[DocComment]| {
        list.iter()
            .map(|one| format!("`{}`: {}", one.target, one.text))
            .collect::<Vec<_>>()
    };
    page.push_list("#### Docstrings", &comments(&documentation.docstrings));
    page.push_list(
        "#### Algorithms",
        &comments(&documentation.algorithm_blocks),
    );
    page.push_list("#### Inline", &comments(&documentation.inline_comments));
}
