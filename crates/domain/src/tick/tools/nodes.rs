//! The plan's own tree. Tools read it; approving and writing plans is for people and the commands made for it.

use serde_json::{Value, json};

use super::{Field, Form, PlanNode, Tool, number, text};

/// So much of a plan is in a result.
const MOST_TEXT: usize = 4_000;

pub(super) const NODE_NEXT: Tool = Tool {
    name: "node.next",
    about: "Returns the parts of the plan that are not complete, in order.",
    fields: &[Field { name: "limit", form: Form::Number(1, 20), required: false, about: "" }],
    run: |stage, args| {
        let most = number(args, "limit").and_then(|most| usize::try_from(most).ok()).unwrap_or(5);
        let open = stage.world.nodes.iter().filter(|node| node.is_written && node.progress != "complete");
        Ok(json!({ "nodes": open.take(most).map(shown).collect::<Vec<_>>() }))
    },
};

pub(super) const NODE_SHOW: Tool = Tool {
    name: "node.show",
    about: "Returns one part of the plan with its text.",
    fields: &[Field { name: "node", form: Form::Text(200), required: true, about: "its path or alias" }],
    run: |stage, args| {
        let name = text(args, "node");
        let fits = |node: &&PlanNode| node.path == name || node.path.rsplit('/').next() == Some(name.as_str());
        let mut found = stage.world.nodes.iter().filter(fits);
        let node = found.next().ok_or_else(|| format!("the plan has no `{name}`"))?;
        if found.next().is_some() && node.path != name {
            return Err(format!("`{name}` is the name of several; give the path"));
        }
        let mut result = shown(node);
        let text = (stage.world.text)(&node.path).unwrap_or_default();
        result["text"] = json!(text.chars().take(MOST_TEXT).collect::<String>());
        Ok(result)
    },
};

fn shown(node: &PlanNode) -> Value {
    json!({
        "node": node.path, "level": node.level, "title": node.title, "status": node.status, "progress": node.progress,
    })
}
