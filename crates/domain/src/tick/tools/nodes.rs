//! Tools for the plan's tree: they read it and write drafts, under the same gates as an agent.
//!
//! None of them approves: that is left to people.

use serde_json::{Value, json};

use super::{Draft, Field, Form, PlanNode, Stage, Tool, given, number, text};
use crate::node::Status;
use crate::section;

/// Maximum number of characters of a plan in a result.
const MOST_TEXT: usize = 4_000;
/// Maximum length of a plan that a tool may write.
const LONGEST_PLAN: usize = 6_000;
const STATUSES: &[&str] = &["draft", "approved", "requires-revalidation", "invalid"];
const PROGRESSES: &[&str] = &["pending", "active", "complete", "blocked"];
const LIMIT: Field = Field {
    name: "limit",
    form: Form::Number(1, 20),
    required: false,
    about: "",
};
const NODE: Field = Field {
    name: "node",
    form: Form::Text(200),
    required: true,
    about: "its path or alias",
};
const PLAN_TEXT: Field = Field {
    name: "text",
    form: Form::Text(LONGEST_PLAN),
    required: true,
    about: "Markdown",
};

pub(super) const NODE_NEXT: Tool = Tool {
    name: "node.next",
    about: "Returns the parts of the plan that are not complete, in order.",
    fields: &[LIMIT],
    run: |stage, args| {
        let most = number(args, "limit")
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(5);
        let open = stage
            .world
            .nodes
            .iter()
            .filter(|node| node.is_written && node.progress != "complete");
        Ok(json!({ "nodes": open.take(most).map(shown).collect::<Vec<_>>() }))
    },
};

pub(super) const NODE_QUERY: Tool = Tool {
    name: "node.query",
    about: "Returns the parts of the plan that fit everything that is given.",
    fields: &[
        Field {
            name: "level",
            form: Form::Text(40),
            required: false,
            about: "act, chapter, scene",
        },
        Field {
            name: "under",
            form: Form::Text(200),
            required: false,
            about: "path or alias of a node above",
        },
        Field {
            name: "status",
            form: Form::Choice(STATUSES),
            required: false,
            about: "",
        },
        Field {
            name: "progress",
            form: Form::Choice(PROGRESSES),
            required: false,
            about: "",
        },
        LIMIT,
    ],
    run: |stage, args| {
        let under = given(args, "under")
            .map(|name| found(stage, &name).map(|node| format!("{}/", node.path)));
        let under = under.transpose()?;
        let is = |name: &str, value: &str| {
            given(args, name).is_none_or(|wanted| wanted.eq_ignore_ascii_case(value))
        };
        let most = number(args, "limit")
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(10);
        let fits = |node: &&PlanNode| {
            is("level", &node.level)
                && is("status", node.status)
                && is("progress", node.progress)
                && under
                    .as_ref()
                    .is_none_or(|under| node.path.starts_with(under))
        };
        let all: Vec<&PlanNode> = stage.world.nodes.iter().filter(fits).collect();
        let nodes: Vec<Value> = all.iter().take(most).map(|node| shown(node)).collect();
        // The total tells a planner whether to narrow its query.
        Ok(json!({ "nodes": nodes, "found": all.len() }))
    },
};

pub(super) const NODE_SHOW: Tool = Tool {
    name: "node.show",
    about: "Returns one part of the plan with its text.",
    fields: &[NODE],
    run: |stage, args| {
        let node = found(stage, &text(args, "node"))?;
        let mut result = shown(node);
        let text = known_text(stage, &node.path).unwrap_or_default();
        // Results are stored with the tick and shown to the planner again; a whole novel's plan
        // would fill both.
        result["text"] = json!(text.chars().take(MOST_TEXT).collect::<String>());
        Ok(result)
    },
};

pub(super) const NODE_ADD: Tool = Tool {
    name: "node.add",
    about: "Writes the plan of a part that has none yet, as a draft. A person approves it.",
    fields: &[
        Field {
            name: "level",
            form: Form::Text(40),
            required: true,
            about: "act, chapter, scene",
        },
        Field {
            name: "id",
            form: Form::Text(80),
            required: true,
            about: "its number or alias: chapter-02",
        },
        Field {
            name: "under",
            form: Form::Text(200),
            required: false,
            about: "its parent, where the id does not tell",
        },
        PLAN_TEXT,
    ],
    run: |stage, args| {
        let under = given(args, "under");
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
        let place = (stage.world.place)(&text(args, "level"), &text(args, "id"), under.as_deref())?;
        let new = written(&text(args, "text"));
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
        keep(
            stage,
            Draft {
                node: place.node,
                file: place.file,
                text: new,
            },
        )
    },
};

pub(super) const NODE_EDIT: Tool = Tool {
    name: "node.edit",
    about: "Changes a plan that is a draft: one section of it, or all of it. What is approved stays.",
    fields: &[
        NODE,
        Field {
            name: "section",
            form: Form::Text(120),
            required: false,
            about: "its heading; all when not given",
        },
        PLAN_TEXT,
    ],
    run: |stage, args| {
        let node = found(stage, &text(args, "node"))?.clone();
        // Editing an approved plan would make everything below it stale, which only a person may
        // decide.
        if node.status == Status::Approved.word() {
            return Err(format!(
                "`{}` is approved; only people change approved plans",
                node.path
            ));
        }
        let before = known_text(stage, &node.path).unwrap_or_default();
        let new = match given(args, "section") {
            Some(heading) => section::with_section(&before, &heading, &text(args, "text")),
            None => written(&text(args, "text")),
        };
        keep(
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
fn keep(stage: &mut Stage<'_>, draft: Draft) -> Result<Value, String> {
    (stage.world.allows)(&draft.file, &draft.text)?;
    let result = json!({ "node": draft.node, "file": draft.file, "status": Status::Draft.word() });
    stage.drafts.retain(|known| known.node != draft.node);
    stage.drafts.push(draft);
    Ok(result)
}

/// Returns a plan's text as this tick leaves it: the staged draft, or else the file.
fn known_text(stage: &Stage<'_>, path: &str) -> Option<String> {
    let staged = stage
        .drafts
        .iter()
        .find(|draft| draft.node == path)
        .map(|draft| draft.text.clone());
    staged.or_else(|| (stage.world.text)(path))
}

/// Normalises a text to file form: trimmed, with a final line end.
fn written(text: &str) -> String {
    format!("{}\n", text.trim())
}

fn found<'w>(stage: &Stage<'w>, name: &str) -> Result<&'w PlanNode, String> {
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

fn shown(node: &PlanNode) -> Value {
    json!({
        "node": node.path, "level": node.level, "title": node.title, "status": node.status, "progress": node.progress,
    })
}
