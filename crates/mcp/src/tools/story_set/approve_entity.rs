//! The tool `approve_entity`.

use application::approve::{ApproveRequest, approve_node, collect_plan_warnings};
use application::diff_version::diff_version;
use application::show_node::show_node;
use application::{Context, Failure, FailureKind};
use domain::approval::{Force, ask_person_next_step};
use domain::expected_version::ExpectedVersions;
use domain::node::Status;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{entity, shown, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const APPROVE_ENTITY: Tool = Tool {
    name: "approve_entity",
    description: "Use when the person agreed to exactly this text. Where only people approve it asks or waits for them; then use wait.",
    set: Toolset::Story,
    hints: Hints::CHANGES,
    input: |profiles| {
        let force = ("force", json!({ "type": "boolean" }), false);
        schema::entity(
            profiles,
            vec![force, ("version_hash", json!({ "type": "string" }), false)],
        )
    },
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
    #[serde(default)]
    force: bool,
    /// The version the caller has seen; another one is not approved.
    #[serde(default)]
    version_hash: Option<String>,
}

/// Approval question for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub message: String,
    /// The path alias of the plan.
    pub node: String,
    pub version: String,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let (
        node,
        Arguments {
            force,
            version_hash,
        },
    ) = entity(arguments)?;
    // A waiting result instead of a refusal: the model should wait for the person, not look for
    // another way.
    if !ctx.policy.approval.accepts_approval_by(&ctx.actor) {
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
                ask_person_next_step(&now.path),
                format!("then: wait {{\"node\": \"{}\"}}", now.path),
            ],
        }));
    }
    value(&approve_node(
        ctx,
        &request(node, force, shown(version_hash.as_deref())?),
    )?)
}

/// Approves as the person who was asked, and only the version in the question.
pub(crate) fn approve_shown(
    ctx: &Context<'_>,
    arguments: &Value,
    question: &Question,
) -> Result<Value, Failure> {
    let (node, Arguments { force, .. }) = entity(arguments)?;
    // Without a version the approval would be bound to nothing.
    if question.version.is_empty() {
        let what = format!("`{}` had no text when the person was asked", question.node);
        return Err(Failure::new(FailureKind::Conflict, what).with_step("ask again"));
    }
    value(&approve_node(
        ctx,
        &request(node, force, shown(Some(&question.version))?),
    )?)
}

fn request(node: Vec<String>, force: bool, shown: Option<ExpectedVersions>) -> ApproveRequest {
    ApproveRequest {
        node,
        force: if force { Force::Yes } else { Force::No },
        shown,
    }
}

/// Returns the question for the person; `None` if the plan is approved already.
pub(crate) fn question(ctx: &Context<'_>, arguments: &Value) -> Result<Option<Question>, Failure> {
    let (node, Arguments { force, .. }) = entity(arguments)?;
    let now = show_node(ctx, &node)?;
    if now.status == Status::Approved {
        return Ok(None);
    }
    let version = now
        .version_hash
        .map(|version| version.to_string())
        .unwrap_or_default();
    // Status and version first: clients may cut the message.
    let mut message = format!("Approve the plan `{}`", now.path);
    if let Some(file) = &now.file_path {
        message.push_str(&format!(" ({file})"));
    }
    message.push_str(&format!(
        "? It is {}, version {}.",
        now.status,
        version.get(..8).unwrap_or_default()
    ));
    // Warnings first: they are what a person should decide about, and long texts are cut.
    let warnings = collect_plan_warnings(ctx, &node)?;
    warnings
        .iter()
        .for_each(|warning| message.push_str(&format!("\n- {warning}")));
    // The person has to know that the agent wants to override warnings.
    if force && !warnings.is_empty() {
        message.push_str("\nThe agent asks to approve it in spite of these.");
    }
    // A plan that was approved before is decided by its diff, a new one by its text.
    let shown = match (&now.approval, now.version_hash) {
        (Some(_), _) => diff_version(ctx, &node)
            .map(|diff| diff.unified)
            .unwrap_or_default(),
        (None, Some(version)) => ctx
            .store
            .begin_read()?
            .load_text(version)?
            .unwrap_or_default(),
        (None, None) => String::new(),
    };
    if !shown.is_empty() {
        message.push_str(&format!("\n\n{}", excerpt(&shown)));
    }
    Ok(Some(Question {
        message,
        node: now.path,
        version,
    }))
}

fn excerpt(text: &str) -> String {
    // Clients show the question in a dialog; more than 60 lines do not fit.
    let mut lines: Vec<&str> = text.lines().take(60).collect();
    if text.lines().count() > lines.len() {
        lines.push("…");
    }
    lines.join("\n")
}
