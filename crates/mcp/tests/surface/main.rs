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
            assert_usable_steps(surface, &value["next_steps"]);
            value
        }
        other => panic!("{name} {arguments}: {other:?}"),
    }
}

/// Calls a tool that must fail, and returns its error.
#[track_caller]
pub(crate) fn failed(surface: &Surface, name: &str, arguments: Value) -> Value {
    match surface.call(&agent(), name, &arguments) {
        Called::Failed(value) => {
            assert_usable_steps(surface, &value["error"]["next_steps"]);
            value["error"].clone()
        }
        other => panic!("{name} {arguments}: {other:?}"),
    }
}

/// Asserts that a client without a shell can take the steps: none is a command, and those that name
/// a tool have arguments that fit it.
#[track_caller]
pub(crate) fn assert_usable_steps(surface: &Surface, steps: &Value) {
    let tools = surface.tools();
    for step in steps.as_array().into_iter().flatten() {
        let step = step.as_str().unwrap();
        assert!(!step.starts_with("tl "), "{step}");
        let call = step.split("   #").next().unwrap_or(step);
        let Some((name, arguments)) = call.split_once(" {") else {
            continue;
        };
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
            continue;
        };
        let arguments: Value = serde_json::from_str(&format!("{{{arguments}")).unwrap();
        if let Err(error) = jsonschema::validate(&tool.input_schema, &arguments) {
            panic!("{step}: {error}");
        }
    }
}
