//! Tools for the plan's tree: they read it and write drafts, under the same gates as an agent.
//!
//! None of them approves: that is left to people.

use serde_json::{Value, json};

use super::FieldForm::{Choice, Text};
use super::{
    Draft, LIMIT_FIELD, PlanNode, TickStage, TickTool, ToolField, limit_argument,
    optional_argument, text_argument,
};
use crate::node::Status;
use crate::section;

/// Maximum number of characters of a plan in a result.
const MAX_SHOWN_CHARS: usize = 4_000;
/// Maximum length of a plan that a tool may write.
const MAX_PLAN_CHARS: usize = 6_000;
const STATUSES: &[&str] = &["draft", "approved", "requires-revalidation", "invalid"];
const PROGRESSES: &[&str] = &["pending", "active", "complete", "blocked"];
const NODE_FIELD: ToolField = ToolField::required_field("node", Text(200), "its path or alias");
const PLAN_TEXT_FIELD: ToolField =
    ToolField::required_field("text", Text(MAX_PLAN_CHARS), "Markdown");

pub(super) const NODE_NEXT: TickTool = TickTool {
    name: "node.next",
    about: "Returns the parts of the plan that are not complete, in order.",
    fields: &[LIMIT_FIELD],
    run: |stage, args| {
        let limit = limit_argument(args, 5);
        let open = stage
            .world
            .nodes
            .iter()
            .filter(|node| node.is_written && node.progress != "complete");
        Ok(json!({ "nodes": open.take(limit).map(render_node).collect::<Vec<_>>() }))
    },
};

pub(super) const NODE_QUERY: TickTool = TickTool {
    name: "node.query",
    about: "Returns the parts of the plan that fit everything that is given.",
    fields: &[
        ToolField::optional_field("level", Text(40), "act, chapter, scene"),
        ToolField::optional_field("under", Text(200), "path or alias of a node above"),
        ToolField::optional_field("status", Choice(STATUSES), ""),
        ToolField::optional_field("progress", Choice(PROGRESSES), ""),
        LIMIT_FIELD,
    ],
    run: |stage, args| {
        let under = optional_argument(args, "under")
            .map(|name| find_node(stage, &name).map(|node| format!("{}/", node.path)));
        let under = under.transpose()?;
        let is = |name: &str, value: &str| {
            optional_argument(args, name).is_none_or(|wanted| wanted.eq_ignore_ascii_case(value))
        };
        let limit = limit_argument(args, 10);
        let fits = |node: &&PlanNode| {
            is("level", &node.level)
                && is("status", node.status)
                && is("progress", node.progress)
                && under
                    .as_ref()
                    .is_none_or(|under| node.path.starts_with(under))
        };
        let all: Vec<&PlanNode> = stage.world.nodes.iter().filter(fits).collect();
        let nodes: Vec<Value> = all
            .iter()
            .take(limit)
            .map(|node| render_node(node))
            .collect();
        // The total tells a planner whether to narrow its query.
        Ok(json!({ "nodes": nodes, "found": all.len() }))
    },
};

pub(super) const NODE_SHOW: TickTool = TickTool {
    name: "node.show",
    about: "Returns one part of the plan with its text.",
    fields: &[NODE_FIELD],
    run: |stage, args| {
        let node = find_node(stage, &text_argument(args, "node"))?;
        let mut result = render_node(node);
        let text = current_plan_text(stage, &node.path).unwrap_or_default();
        // Results are stored with the tick and shown to the planner again; a whole novel's plan
        // would fill both.
        result["text"] = json!(text.chars().take(MAX_SHOWN_CHARS).collect::<String>());
        Ok(result)
    },
};

pub(super) const NODE_ADD: TickTool = TickTool {
    name: "node.add",
    about: "Writes the plan of a part that has none yet, as a draft. A person approves it.",
    fields: &[
        ToolField::required_field("level", Text(40), "act, chapter, scene"),
        ToolField::required_field("id", Text(80), "its number or alias: chapter-02"),
        ToolField::optional_field("under", Text(200), "its parent, where the id does not tell"),
        PLAN_TEXT_FIELD,
    ],
    run: |stage, args| {
        let under = optional_argument(args, "under");
        if let Some(draft) = stage
            .drafts
            .iter()
            .find(|draft| Some(&draft.node) == under.as_ref())
        {
            return Err(format!(
                "`{}` is a draft; a person approves it before anything is planned below it",
                draft.node
            ));
        }
        // `place` knows only what is stored. Parents that this plan has just drafted are caught
        // above.
        let place = (stage.world.place)(
            &text_argument(args, "level"),
            &text_argument(args, "id"),
            under.as_deref(),
        )?;
        let new = to_file_text(&text_argument(args, "text"));
        let staged = stage
            .drafts
            .iter()
            .find(|draft| draft.node == place.node)
            .map(|draft| draft.text.clone());
        // The same text is there if a process wrote it and died before recording the tick; the
        // retry
        // must not fail on its own file.
        if let Some(known) = staged.or(place.text).filter(|known| *known != new) {
            let bytes = known.len();
            return Err(format!(
                "`{}` has a plan already ({bytes} bytes); node.edit changes a draft",
                place.node
            ));
        }
        stage_draft(
            stage,
            Draft {
                node: place.node,
                file: place.file,
                text: new,
            },
        )
    },
};

pub(super) const NODE_EDIT: TickTool = TickTool {
    name: "node.edit",
    about: "Changes a plan that is a draft: one section of it, or all of it. What is approved stays.",
    fields: &[
        NODE_FIELD,
        ToolField::optional_field("section", Text(120), "its heading; all when not given"),
        PLAN_TEXT_FIELD,
    ],
    run: |stage, args| {
        let node = find_node(stage, &text_argument(args, "node"))?.clone();
        // Editing an approved plan would make everything below it stale, which only a person may
        // decide.
        if node.status == Status::Approved.as_str() {
            return Err(format!(
                "`{}` is approved; only people change approved plans",
                node.path
            ));
        }
        let before = current_plan_text(stage, &node.path).unwrap_or_default();
        let new = match optional_argument(args, "section") {
            Some(heading) => {
                section::replace_section(&before, &heading, &text_argument(args, "text"))
            }
            None => to_file_text(&text_argument(args, "text")),
        };
        stage_draft(
            stage,
            Draft {
                node: node.path,
                file: node.file,
                text: new,
            },
        )
    },
};

/// Checks a draft with the gates and stages it, replacing an earlier draft of the same node.
fn stage_draft(stage: &mut TickStage<'_>, draft: Draft) -> Result<Value, String> {
    (stage.world.allows)(&draft.file, &draft.text)?;
    let result =
        json!({ "node": draft.node, "file": draft.file, "status": Status::Draft.as_str() });
    stage.drafts.retain(|known| known.node != draft.node);
    stage.drafts.push(draft);
    Ok(result)
}

/// Returns a plan's text as this tick leaves it: the staged draft, or else the file.
fn current_plan_text(stage: &TickStage<'_>, path: &str) -> Option<String> {
    let staged = stage
        .drafts
        .iter()
        .find(|draft| draft.node == path)
        .map(|draft| draft.text.clone());
    staged.or_else(|| (stage.world.text)(path))
}

/// Normalises a text to file form: trimmed, with a final line end.
fn to_file_text(text: &str) -> String {
    format!("{}\n", text.trim())
}

fn find_node<'w>(stage: &TickStage<'w>, name: &str) -> Result<&'w PlanNode, String> {
    // Models often give the alias alone; it is accepted as long as it is unambiguous.
    let fits = |node: &&PlanNode| node.path == name || node.path.rsplit('/').next() == Some(name);
    let mut found = stage.world.nodes.iter().filter(fits);
    let node = found
        .next()
        .ok_or_else(|| format!("the plan has no `{name}`"))?;
    if found.next().is_some() && node.path != name {
        return Err(format!("`{name}` is ambiguous; give the path"));
    }
    Ok(node)
}

fn render_node(node: &PlanNode) -> Value {
    json!({
        "node": node.path, "level": node.level, "title": node.title, "status": node.status, "progress": node.progress,
    })
}
