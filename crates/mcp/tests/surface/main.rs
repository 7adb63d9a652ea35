//! What is offered, tried without any protocol: the same values that clients get.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a failing test may panic"
)]

mod crawl;
mod lists;
mod plans;
mod reading;
mod tick;
mod tickets;
mod tools;
mod trail;
#[allow(dead_code, reason = "shared with the tests of the protocol")]
mod world;

use std::sync::Arc;

use domain::ids::Principal;
use mcp::surface::{Called, Surface, ToolSelection};
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
    Surface::new(world.clone(), ToolSelection::default()).unwrap()
}

/// Calls a tool that must succeed, with a result that fits the published schema.
#[track_caller]
pub(crate) fn done(surface: &Surface, name: &str, arguments: Value) -> Value {
    match surface.call(&agent(), name, &arguments) {
        Called::Done(value) => {
            let tool = surface.find_tool(&name.replace('.', "_")).unwrap();
            if let Err(error) = jsonschema::validate(&tool.output_schema, &value) {
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

/// Asserts that a client without a shell can take the steps: each is a call whose arguments fit its
/// tool, or an instruction that is not a command.
#[track_caller]
pub(crate) fn assert_usable_steps(surface: &Surface, steps: &Value) {
    for step in steps.as_array().into_iter().flatten() {
        assert_usable_step(surface, step);
    }
}

#[track_caller]
fn assert_usable_step(surface: &Surface, step: &Value) {
    if let Some(text) = step["do"].as_str() {
        assert!(!text.starts_with("tl "), "{step}");
        if step.get("then").is_some() {
            assert_usable_step(surface, &step["then"]);
        }
        return;
    }
    let name = step["tool"].as_str().unwrap();
    let tool = surface.find_tool(name).unwrap();
    if let Err(error) = jsonschema::validate(&tool.input_schema, &step["arguments"]) {
        panic!("{step}: {error}");
    }
    if name == "call_tool" {
        assert_usable_step(surface, &step["arguments"]);
    }
}
