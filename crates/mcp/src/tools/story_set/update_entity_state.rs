//! The tool `update_entity_state`.

use application::FailureKind;
use application::approve::{ApproveRequest, approve_node};
use application::invalidate::{InvalidateRequest, invalidate_node};
use application::show_node::show_node;
use application::{Context, Failure};
use domain::approval::Force;
use domain::expected_version::ExpectedVersions;
use domain::node::Status;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::arguments::{entity, shown_version, value};
use crate::tools::schema;
use crate::tools::{Hints, Tool, Toolset};

pub(crate) const UPDATE_ENTITY_STATE: Tool = Tool {
    name: "update_entity_state",
    description: "Use to approve or condemn exactly the version you know; another is refused. Other statuses follow from the files.",
    set: Toolset::Story,
    hints: Hints::CHANGES,
    input: |profiles| {
        schema::entity(
            profiles,
            vec![
                (
                    "status",
                    json!({ "type": "string", "enum": ["draft", "approved", "requires-revalidation", "invalid"] }),
                    true,
                ),
                ("version_hash", json!({ "type": "string" }), true),
                ("file_path", json!({ "type": "string" }), false),
                ("parent_id", json!({ "type": "string" }), false),
                ("parent_version_hash", json!({ "type": "string" }), false),
                ("invalidation_reason", json!({ "type": "string" }), false),
            ],
        )
    },
    output: || {
        schema::result(&[
            ("success", "boolean"),
            ("message", "string"),
            ("entity", "object"),
        ])
    },
    run,
};

// `file_path`, `parent_id` and `parent_version_hash` are accepted and ignored: they follow from the
// files, but callers of the original interface send them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    status: Status,
    version_hash: String,
    #[serde(default, rename = "file_path")]
    _file_path: Option<String>,
    #[serde(default, rename = "parent_id")]
    _parent_id: Option<String>,
    #[serde(default, rename = "parent_version_hash")]
    _parent_version_hash: Option<String>,
    #[serde(default)]
    invalidation_reason: Option<String>,
}

fn run(ctx: &Context<'_>, arguments: &Value) -> Result<Value, Failure> {
    let (node, asked): (Vec<String>, Arguments) = entity(arguments)?;
    let version = shown_version(&asked.version_hash)?;
    let now = show_node(ctx, &node)?;
    // Compared here for a message with the current version. The use cases below compare again in
    // their transaction, so a change in between cannot slip through.
    if !now
        .version_hash
        .is_some_and(|found| version.matches_version(found))
    {
        let found = now
            .version_hash
            .map(|version| version.to_string())
            .unwrap_or_default();
        return Err(Failure::new(
            FailureKind::Conflict,
            format!(
                "`{}` is version {found}, not {}: nothing was changed",
                now.path, asked.version_hash
            ),
        )
        .with_step("get_entity_state, look at what changed, then ask again with that version"));
    }
    let shown = Some(ExpectedVersions {
        version,
        parent: None,
    });
    let message = match asked.status {
        // Idempotent: a repeated call after a lost response is not an error.
        status if status == now.status => format!("`{}` is {status} already", now.path),
        Status::Approved => {
            let request = ApproveRequest {
                node: node.clone(),
                force: Force::No,
                shown,
            };
            approve_node(ctx, &request)?.message
        }
        Status::Invalid => {
            let reason = asked
                .invalidation_reason
                .unwrap_or_else(|| "said to be invalid".to_owned());
            invalidate_node(
                ctx,
                &InvalidateRequest {
                    node: node.clone(),
                    reason,
                    shown,
                },
            )?;
            format!("`{}` is condemned", now.path)
        }
        // These follow from facts; setting them would contradict the files at the next scan.
        Status::Draft | Status::RequiresRevalidation => {
            return Err(Failure::new(
                FailureKind::Refused,
                format!(
                    "`{}` is {}: nobody sets `{}`, it follows from the files",
                    now.path, now.status, asked.status
                ),
            )
            .with_step("why, to see what it follows from")
            .with_step("cascade_invalidate, to make it and what is below stale on purpose"));
        }
    };
    Ok(json!({ "success": true, "message": message, "entity": value(&show_node(ctx, &node)?)? }))
}
