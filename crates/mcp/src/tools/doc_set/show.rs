//! The tool `doc_show`.

use application::plan_documents::show::{ShownDocument, show_document, show_entity};
use application::{Context, Failure};
use domain::plan_document::Plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// M-001, CI-004, overview …; without it the whole plan
    #[serde(default)]
    entity: Option<String>,
    /// id; without it the current one
    #[serde(default)]
    document: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Shown {
    Entity {
        entity: Value,
    },
    Document {
        document: String,
        // The schema of plans is published by itself (`tl doc schema`) and too large for a list.
        #[schemars(with = "Map<String, Value>")]
        plan: Box<Plan>,
    },
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<Shown, Failure> {
    let document = arguments.document.as_deref();
    match &arguments.entity {
        // One entity with its version: a change has to name it, and the whole plan is much larger.
        Some(entity) => {
            let entity = show_entity(ctx, document, entity)?;
            Ok(Shown::Entity { entity })
        }
        None => {
            let ShownDocument { document, plan, .. } = show_document(ctx, document)?;
            Ok(Shown::Document {
                document,
                plan: Box::new(plan),
            })
        }
    }
}
