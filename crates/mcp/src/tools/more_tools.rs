//! The tools `more_tools` and `call_tool`: the way to all tools that are not in the default list.
//!
//! A list costs tokens in every conversation, so it has only what work begins with. Clients of the
//! older era get a list with the described set from then on; the newest era forbids a list that
//! depends on earlier calls, and not every client accepts calls of unlisted tools, hence
//! `call_tool`. Both are answered where the tools of the project are known.

use application::{Context, Failure};
use domain::authorization::Scope;
use domain::profile::Profile;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments::{AnyObject, read};
use super::{Tool, ToolNames, Toolset, find_tool};

pub(crate) const NAME: &str = "more_tools";
pub(crate) const CALL: &str = "call_tool";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoreArguments {
    #[serde(default)]
    pub(crate) set: Option<String>,
    #[serde(default)]
    tool: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallArguments {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// Describes the tools of a project that are not in its list, as far as a scope allows their use.
pub(crate) fn describe(
    arguments: &Value,
    tools: &[&'static Tool],
    profiles: &[Profile],
    scope: Scope,
) -> Result<Value, Failure> {
    let MoreArguments { set, tool } = read(arguments)?;
    let whole = |tool: &&'static Tool| {
        let offered = tool.offered(profiles, ToolNames::Own);
        json!({
            "name": offered.name,
            "description": offered.description,
            "inputSchema": offered.input_schema,
            "annotations": offered.hints.annotations(),
        })
    };
    if let Some(name) = tool {
        let found = find_tool(tools, &name).ok_or_else(|| unknown_tool(&name, tools))?;
        return Ok(json!({ "tools": [whole(&found)] }));
    }
    // A model that hears of a tool tries it.
    let hidden = tools.iter().filter(|tool| {
        tool.is_named(ToolNames::Own)
            && ![NAME, CALL].contains(&tool.name)
            && scope.is_sufficient_for(tool.required_scope(&Value::Null))
    });
    let Some(set) = set else {
        // Names and purposes only: complete schemas of all tools are what the short list avoids.
        let mut sets = Map::new();
        for tool in hidden {
            // Descriptions begin with the case a tool is for, which is enough to choose by.
            let purpose = tool.description.split([':', ';', '.']).next();
            sets.entry(tool.set.word())
                .or_insert_with(|| json!({}))
                .as_object_mut()
                .map(|set| set.insert(tool.name.to_owned(), json!(purpose)));
        }
        return Ok(json!({
            "sets": sets,
            "then": "more_tools with `set` or `tool` for the arguments; call_tool to call one",
        }));
    };
    let wanted = Toolset::named(&set);
    if wanted.is_empty() {
        let known = Toolset::ALL.map(Toolset::word).join(", ");
        let failure = Failure::invalid(format!("there is no tool set `{set}`"));
        return Err(failure.with_step(format!("tool sets: {known}")));
    }
    let described: Vec<Value> = hidden
        .filter(|tool| wanted.contains(&tool.set))
        .map(whole)
        .collect();
    Ok(json!({ "tools": described }))
}

/// Returns the toolsets that a call of `more_tools` named.
pub(crate) fn named_sets(arguments: &Value) -> &'static [Toolset] {
    let set = arguments.get("set").and_then(Value::as_str);
    set.map(Toolset::named).unwrap_or_default()
}

/// Returns the call inside a call of `call_tool`.
pub(crate) fn unwrap_call(
    arguments: &Value,
    tools: &[&'static Tool],
) -> Result<(String, Map<String, Value>), Failure> {
    let CallArguments { tool, arguments } = read(arguments)?;
    match find_tool(tools, &tool) {
        // Unwrapped once, before scope check and audit log: nested, the inner tool would pass both
        // under the name of `call_tool`.
        Some(found) if found.name != CALL => Ok((tool, arguments)),
        _ => Err(unknown_tool(&tool, tools)),
    }
}

fn unknown_tool(name: &str, tools: &[&'static Tool]) -> Failure {
    let hint = domain::suggest::nearest_hint(name, tools.iter().map(|tool| tool.name));
    Failure::not_found(format!("there is no tool `{name}`{hint}"))
        .with_step("more_tools names all of them")
}

/// Parses the arguments where no project is known; a surface answers with [`describe`].
pub(super) fn describe_without_project(
    _: &Context<'_>,
    _: MoreArguments,
) -> Result<AnyObject, Failure> {
    Err(Failure::internal("more_tools was called without a project"))
}

/// Parses the arguments where no project is known; a surface calls the tool itself.
pub(super) fn call_without_project(
    _: &Context<'_>,
    _: CallArguments,
) -> Result<AnyObject, Failure> {
    Err(Failure::internal("call_tool was called without a project"))
}
