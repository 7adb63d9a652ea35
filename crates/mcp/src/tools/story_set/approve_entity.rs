//! The tool `approve_entity`.

use application::approve::{ApproveRequest, approve};
use application::diff_version::diff_version;
use application::show_node::show_node;
use application::{Context, Failure};
use domain::approval::Force;
use domain::node::Status;
use domain::policy::ApprovalPolicy;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{read, value, words};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const APPROVE_ENTITY: Tool = Tool {
    name: "approve_entity",
    description: "Use when the person agreed to exactly this text. Where only people approve it asks or waits for them; then use wait.",
    set: Toolset::Story,
    hints: Hints::CHANGES,
    input: |profiles| schema::entity(profiles, vec![("force", json!({ "type": "boolean" }), false)]),
    output: || {
        schema::result(&[
            ("success", "boolean"),
            ("message", "string"),
            ("warnings", "list of string"),
            ("waiting_for", "string"),
            ("next_steps", "list of string"),
        ])
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    entity_type: String,
    entity_id: String,
    #[serde(default)]
    force: bool,
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub message: String,
    /// The path alias of the plan.
    pub node: String,
    pub version: String,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let asked: Arguments = read(arguments)?;
    let node = words(&asked.entity_type, &asked.entity_id);
    if ctx.policy.approval == ApprovalPolicy::Human && !ctx.actor.is_human() {
        let now = show_node(ctx, &node)?;
        if now.status == Status::Approved {
            return Ok(
                json!({ "success": true, "message": format!("`{}` is approved already", now.path), "warnings": [] }),
            );
        }
        return Ok(json!({
            "success": false,
            "message": format!("`{}` waits for a person: in this project only people approve", now.path),
            "warnings": [],
            "waiting_for": "a person",
            "next_steps": [
                format!("ask the person to run: tl approve {}", now.path),
                format!("or to type: /approve-plan {}", now.path),
                format!("then: wait {{\"node\": \"{}\"}}", now.path),
            ],
        }));
    }
    let force = if asked.force { Force::Yes } else { Force::No };
    value(&approve(ctx, &ApproveRequest { node, force, shown: None })?)
}

/// Returns what the person has to see before they say yes; nothing when it is approved already.
pub(crate) fn question(ctx: &Context<'_>, arguments: &Value) -> Result<Option<Question>, Failure> {
    let asked: Arguments = read(arguments)?;
    let node = words(&asked.entity_type, &asked.entity_id);
    let now = show_node(ctx, &node)?;
    if now.status == Status::Approved {
        return Ok(None);
    }
    let version = now.version_hash.map(|version| version.to_string()).unwrap_or_default();
    let mut message = format!("Approve the plan `{}`", now.path);
    if let Some(file) = &now.file_path {
        message.push_str(&format!(" ({file})"));
    }
    message.push_str(&format!("? It is {}, version {}.", now.status, version.get(..8).unwrap_or_default()));
    if now.approval.is_some() {
        // What changed since it was approved last is what there is to decide about.
        if let Ok(diff) = diff_version(ctx, &node) {
            message.push_str(&format!("\n\n{}", excerpt(&diff.unified)));
        }
    }
    Ok(Some(Question { message, node: now.path, version }))
}

fn excerpt(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().take(60).collect();
    if text.lines().count() > lines.len() {
        lines.push("…");
    }
    lines.join("\n")
}
