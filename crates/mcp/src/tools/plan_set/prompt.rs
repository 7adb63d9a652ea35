//! The tool `plan_prompt`.

use application::plan_node::{PlanRequest, build_plan_menu, plan_node};
use application::write_plan::find_level;
use application::{Context, Failure};
use domain::next_step::write_plan_next_step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// alias or path of the plan to write: {example}
    #[serde(default)]
    node: Option<String>,
    #[serde(default)]
    level: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Prompt {
    One {
        path: String,
        /// Whether it has a text already.
        exists: bool,
        prompt: String,
        next_steps: Vec<String>,
    },
    Menu {
        plannable: Vec<Plannable>,
    },
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Plannable {
    level: String,
    purpose: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<String>,
    next_step: String,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<Prompt, Failure> {
    let Some(node) = arguments.node else {
        let entries = build_plan_menu(ctx)?.entries.into_iter();
        let plannable = entries.map(|entry| Plannable {
            level: entry.level,
            purpose: entry.purpose,
            blocked: entry.blocked,
            next_step: entry.command,
        });
        return Ok(Prompt::Menu {
            plannable: plannable.collect(),
        });
    };
    let (kind, id) = find_level(ctx, &node, arguments.level.as_deref())?;
    let planned = plan_node(
        ctx,
        &PlanRequest {
            kind,
            id,
            under: None,
        },
    )?;
    Ok(Prompt::One {
        next_steps: vec![write_plan_next_step(&planned.path)],
        path: planned.path,
        exists: planned.exists,
        prompt: planned.prompt,
    })
}
