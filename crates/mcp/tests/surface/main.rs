//! What is offered, tried without any protocol: the same values that clients get.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a failing test may panic"
)]

mod lists;
mod plans;
mod reading;
mod tick;
mod tickets;
mod tools;
mod trail;
mod world;

use std::sync::Arc;

use domain::ids::Principal;
use mcp::surface::{Called, Surface};
use serde_json::Value;

use crate::world::World;

pub(crate) const ACT: &str = "acts/act-1/strategic-plan.md";
pub(crate) const CHAPTER: &str = "acts/act-1/chapters/chapter-01/plan.md";

pub(crate) fn agent() -> Principal {
    Principal::Agent {
        host: "test".to_owned(),
        session: "1".to_owned(),
    }
}

pub(crate) fn surface(world: &Arc<World>) -> Surface {
    Surface::new(world.clone(), None, false).unwrap()
}

/// Calls a tool that must succeed, with a result that fits the published schema.
#[track_caller]
pub(crate) fn done(surface: &Surface, name: &str, arguments: Value) -> Value {
    match surface.call(&agent(), name, &arguments) {
        Called::Done(value) => {
            let tools = surface.tools();
            let tool = tools
                .iter()
                .find(|tool| tool.name == name.replace('.', "_"));
            let schema = &tool.unwrap().output_schema;
            if let Err(error) = jsonschema::validate(schema, &value) {
                panic!("{name}: {error} at {}: {value}", error.instance_path());
            }
            value
        }
        other => panic!("{name} {arguments}: {other:?}"),
    }
}

/// Calls a tool that must fail, and returns its error.
#[track_caller]
pub(crate) fn failed(surface: &Surface, name: &str, arguments: Value) -> Value {
    match surface.call(&agent(), name, &arguments) {
        Called::Failed(value) => value["error"].clone(),
        other => panic!("{name} {arguments}: {other:?}"),
    }
}
