//! The tool `approve_entity`.

use application::approve::{ApproveOutcome, ApproveRequest, approve_node, collect_plan_warnings};
use application::diff_version::diff_version;
use application::show_node::show_node;
use application::{Context, Failure};
use domain::approval::{Force, ask_person_next_step};
use domain::expected_version::ExpectedVersions;
use domain::node::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::arguments::{Level, read, shown, value};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    entity_type: Level,
    /// alias or path
    entity_id: String,
    #[serde(default)]
    force: bool,
    // The version the caller has seen; another one is not approved.
    #[serde(default)]
    version_hash: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Outcome {
    Approved(ApproveOutcome),
    Unchanged {
        success: bool,
        message: String,
        warnings: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        waiting_for: Option<&'static str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        next_steps: Vec<String>,
    },
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<Outcome, Failure> {
    // A waiting result instead of a refusal: the model should wait for the person, not look
    // for another way.
    if !ctx.policy.approval.accepts_approval_by(&ctx.actor) {
        return wait_for_person(ctx, &arguments.node());
    }
    let shown = shown(arguments.version_hash.as_deref())?;
    approve_node(ctx, &arguments.request(shown)).map(Outcome::Approved)
}

impl Arguments {
    fn node(&self) -> Vec<String> {
        self.entity_type.words(&self.entity_id)
    }

    fn request(&self, shown: Option<ExpectedVersions>) -> ApproveRequest {
        ApproveRequest {
            node: self.node(),
            force: if self.force { Force::Yes } else { Force::No },
            shown,
        }
    }
}

fn wait_for_person(ctx: &Context<'_>, node: &[String]) -> Result<Outcome, Failure> {
    let now = show_node(ctx, node)?;
    if now.status == Status::Approved {
        return Ok(Outcome::Unchanged {
            success: true,
            message: format!("`{}` is approved already", now.path),
            warnings: Vec::new(),
            waiting_for: None,
            next_steps: Vec::new(),
        });
    }
    Ok(Outcome::Unchanged {
        success: false,
        message: format!(
            "`{}` waits for a person: in this project only people approve",
            now.path
        ),
        warnings: Vec::new(),
        waiting_for: Some("a person"),
        next_steps: vec![
            ask_person_next_step(&now.path),
            format!("then: wait {{\"node\": \"{}\"}}", now.path),
        ],
    })
}

/// Approval question for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub message: String,
    /// The path alias of the plan.
    pub node: String,
    pub version: String,
}

/// Approves as the person who was asked, and only the version in the question.
pub(crate) fn approve_shown(
    ctx: &Context<'_>,
    arguments: &Value,
    question: &Question,
) -> Result<Value, Failure> {
    let arguments: Arguments = read(arguments)?;
    // Without a version the approval would be bound to nothing.
    if question.version.is_empty() {
        let what = format!("`{}` had no text when the person was asked", question.node);
        return Err(Failure::conflict(what).with_step("ask again"));
    }
    let shown = shown(Some(&question.version))?;
    value(&approve_node(ctx, &arguments.request(shown))?)
}

/// Returns the question for the person; `None` if the plan is approved already.
pub(crate) fn question(ctx: &Context<'_>, arguments: &Value) -> Result<Option<Question>, Failure> {
    let arguments: Arguments = read(arguments)?;
    let node = arguments.node();
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
    if arguments.force && !warnings.is_empty() {
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
