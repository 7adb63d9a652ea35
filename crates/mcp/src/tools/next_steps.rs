//! Translates the next steps of messages for MCP clients: tools with arguments instead of commands,
//! because a client may have no shell. What no tool does, a person is asked to do.

use application::next_step::NextStep;
use domain::profile::Profile;
use serde_json::{Map, Value, json};

use super::Tool;

/// A call of a tool.
struct ToolCall {
    tool: &'static str,
    arguments: Value,
}

/// Renders a step for a client that is offered these tools.
pub(crate) fn render_step(text: &str, tools: &[&Tool], profiles: &[Profile]) -> String {
    let NextStep::Command { arguments, comment } = NextStep::parse(text) else {
        return text.to_owned();
    };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_offered = |call: &ToolCall| tools.iter().any(|tool| tool.name == call.tool);
    let comment = comment.map_or_else(String::new, |comment| format!("   # {comment}"));
    match find_calls(&words, profiles).into_iter().find(is_offered) {
        Some(ToolCall { tool, arguments }) => format!("{tool} {arguments}{comment}"),
        None => format!("ask the person to run: {text}"),
    }
}

/// Returns the tools that do what a command does, the best one first.
fn find_calls(words: &[&str], profiles: &[Profile]) -> Vec<ToolCall> {
    let call = |tool, arguments| vec![ToolCall { tool, arguments }];
    let on_entity = |tool, node: &str| match entity_arguments(node, profiles) {
        Some(arguments) => call(tool, arguments),
        None => Vec::new(),
    };
    match words {
        ["tree", ..] => [
            call("get_hierarchy_tree", json!({})),
            call("next", json!({})),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ["status" | "next", ..] => call("next", json!({})),
        ["where", ..] => call("where", json!({})),
        ["brief", ..] => call("brief", json!({})),
        ["why", node] => call("why", json!({ "node": node })),
        ["show", node] => on_entity("get_entity_state", node),
        ["versions", node] => on_entity("list_backups", node),
        ["diff", node, ..] => on_entity("get_backup_diff", node),
        ["approve" | "revalidate", node] => on_entity("approve_entity", node),
        ["approve", node, "--force"] => on_entity("approve_entity", node)
            .into_iter()
            .map(|mut call| {
                call.arguments["force"] = Value::Bool(true);
                call
            })
            .collect(),
        ["trail", rest @ ..] => find_trail_calls(rest),
        ["note", "add", text, ..] => call("save_mem", json!({ "text": text })),
        ["note", "list", ..] => call("list_shelves", json!({})),
        ["focus", action @ ("enter" | "back" | "switch"), node] => {
            call("focus", json!({ "action": action, "node": node }))
        }
        ["focus", action @ ("exit" | "park"), ..] => call("focus", json!({ "action": action })),
        ["ticket", rest @ ..] => find_ticket_calls(rest),
        ["renumber", ticket] => {
            let arguments = json!({ "action": "renumber", "ticket": ticket });
            call("ticket", arguments)
        }
        ["claim", node] => call("claim", json!({ "node": node })),
        ["release", node, ..] => call("release", json!({ "node": node })),
        ["overlap", ..] => call("overlap", json!({})),
        ["evidence", action @ ("run" | "show"), node] => {
            call("evidence", json!({ "action": action, "node": node }))
        }
        ["evidence", "add", node, "--file", file] => {
            let arguments = json!({ "action": "add", "node": node, "file": file });
            call("evidence", arguments)
        }
        ["evidence", "add", node, "--", command @ ..] => {
            let arguments = json!({ "action": "add", "node": node, "command": command });
            call("evidence", arguments)
        }
        ["doc" | "flow" | "review", ..] => find_document_calls(words),
        ["story", rest @ ..] => find_story_calls(rest),
        _ => Vec::new(),
    }
}

fn find_trail_calls(words: &[&str]) -> Vec<ToolCall> {
    let (tool, arguments) = match words {
        ["intent", focus, ..] => ("declare_intent", json!({ "focus": focus })),
        ["map", level @ ("tactic" | "action"), content] => {
            ("map_context", json!({ "level": level, "content": content }))
        }
        ["compact", ..] => ("compact_session", json!({})),
        ["scan", ..] => ("scan_hierarchy", json!({})),
        ["drift", ..] => ("check_drift", json!({})),
        ["migrate", ..] => ("hierarchy_migrate", json!({})),
        _ => return Vec::new(),
    };
    vec![ToolCall { tool, arguments }]
}

fn find_ticket_calls(words: &[&str]) -> Vec<ToolCall> {
    let (tool, arguments) = match words {
        ["new", title] => ("ticket", json!({ "action": "new", "title": title })),
        ["split", ticket, titles @ ..] => (
            "ticket",
            json!({ "action": "split", "ticket": ticket, "titles": titles }),
        ),
        ["phase", ticket, phase] => (
            "ticket",
            json!({ "action": "phase", "ticket": ticket, "phase": phase }),
        ),
        ["scenario", "list", ticket] => {
            ("scenarios", json!({ "action": "list", "ticket": ticket }))
        }
        ["scenario", "done", scenario] => (
            "scenarios",
            json!({ "action": "done", "scenario": scenario }),
        ),
        _ => return Vec::new(),
    };
    vec![ToolCall { tool, arguments }]
}

/// Calls about plan documents, workflows and reviews, whose commands take options.
fn find_document_calls(words: &[&str]) -> Vec<ToolCall> {
    let (plain, options) = split_options(words);
    let mut arguments = Map::new();
    let mut add = |name: &str, value: Option<&&str>| {
        arguments.extend(value.map(|value| (name.to_owned(), json!(value))));
    };
    let tool = match plain.as_slice() {
        ["doc", "new", title] => {
            add("title", Some(title));
            "doc_new"
        }
        ["doc", "show" | "list", entity @ ..] => {
            add("entity", entity.first());
            add("document", options.get("doc"));
            "doc_show"
        }
        // Accepting a change made by hand is a person's decision.
        ["doc", action @ ("validate" | "freeze")] if !options.contains_key("accept") => {
            add("document", options.get("doc"));
            match *action {
                "validate" => "doc_validate",
                _ => "doc_freeze",
            }
        }
        ["flow", "next"] => {
            add("subject", options.get("for"));
            add("workflow", options.get("flow"));
            "flow_next"
        }
        [
            "flow",
            how @ ("start" | "take" | "done" | "pass" | "fail"),
            workflow @ ..,
        ] => {
            add("how", Some(how));
            add("subject", options.get("for"));
            add("workflow", workflow.first().or(options.get("flow")));
            "flow_move"
        }
        ["review", "status"] => {
            add("of", options.get("of"));
            "review_status"
        }
        ["review", "add"] => {
            add("of", options.get("of"));
            add("check", options.get("check"));
            add("severity", options.get("severity"));
            "review_check"
        }
        ["review", "verdict", item, verdict] => {
            add("item", Some(item));
            add("verdict", Some(verdict));
            "review_verdict"
        }
        _ => return Vec::new(),
    };
    vec![ToolCall {
        tool,
        arguments: Value::Object(arguments),
    }]
}

fn find_story_calls(words: &[&str]) -> Vec<ToolCall> {
    let (tool, arguments) = match words {
        ["tick"] => ("tick_begin", json!({})),
        ["write", "--next"] => ("start_generation", json!({})),
        ["write", scene] => ("start_generation", json!({ "scene_id": scene })),
        ["generation", "status", scene] => ("get_generation_status", json!({ "scene_id": scene })),
        ["generation", "resume", scene] => ("resume_generation", json!({ "scene_id": scene })),
        _ => return Vec::new(),
    };
    vec![ToolCall { tool, arguments }]
}

/// Separates the options with their values; one without a value has an empty one.
fn split_options<'w>(
    words: &[&'w str],
) -> (Vec<&'w str>, std::collections::BTreeMap<&'w str, &'w str>) {
    let (mut plain, mut options) = (Vec::new(), std::collections::BTreeMap::new());
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some(name) => {
                let value = words.next_if(|next| !next.starts_with("--"));
                options.insert(name, value.unwrap_or_default());
            }
            None => plain.push(word),
        }
    }
    (plain, options)
}

/// Returns the arguments that name a node; its level follows from its alias.
fn entity_arguments(node: &str, profiles: &[Profile]) -> Option<Value> {
    let alias = node.rsplit('/').next().unwrap_or(node);
    let level = profiles
        .iter()
        .flat_map(|profile| &profile.levels)
        .find(|level| {
            level
                .alias
                .parse_exact_alias(alias, &level.numbers)
                .is_some()
        })?;
    Some(json!({ "entity_type": level.name, "entity_id": node }))
}

#[cfg(test)]
mod tests {
    use domain::profile::built_in_profile;

    use super::super::{Toolset, chosen};
    use super::render_step;

    #[test]
    fn commands_become_tools_with_arguments_that_fit() {
        let profiles = ["story", "tickets", "trail"].map(|name| built_in_profile(name).unwrap());
        let sets = Toolset::ALL.map(|set| set.word().to_owned());
        let tools = chosen(&profiles, Some(&sets), false).unwrap();
        for (command, expected) in [
            ("tl tree", "get_hierarchy_tree"),
            ("tl next   # unclaimed work", "next"),
            ("tl show act-1/chapter-01   # read it", "get_entity_state"),
            ("tl versions act-1", "list_backups"),
            ("tl approve act-1", "approve_entity"),
            (
                "tl approve act-1/chapter-01/scene-0101 --force",
                "approve_entity",
            ),
            ("tl revalidate act-1/chapter-01", "approve_entity"),
            ("tl why act-1", "why"),
            ("tl trail intent \"what it is for\"", "declare_intent"),
            ("tl trail map tactic \"the way\"", "map_context"),
            ("tl note add \"the details\"", "save_mem"),
            ("tl focus enter 017a", "focus"),
            ("tl ticket split 017 \"one\" \"two\"", "ticket"),
            ("tl ticket scenario list 017a", "scenarios"),
            ("tl claim 017", "claim"),
            ("tl evidence add 017 -- cargo test", "evidence"),
            ("tl doc show M-001 --doc plan", "doc_show"),
            ("tl doc validate --doc plan   # look at it", "doc_validate"),
            ("tl flow start executor --for plan", "flow_move"),
            ("tl flow next --for plan", "flow_next"),
            (
                "tl review add --of plan --check TEXT --severity MUST",
                "review_check",
            ),
            ("tl review verdict ID pass|fail", "review_verdict"),
            ("tl story write --next", "start_generation"),
            (
                "tl story generation status scene-0101",
                "get_generation_status",
            ),
        ] {
            let step = render_step(command, &tools, &profiles);
            let (name, rest) = step.split_once(' ').unwrap();
            assert_eq!(name, expected, "{command}: {step}");
            let arguments = rest.split("   # ").next().unwrap();
            let arguments = serde_json::from_str(arguments).unwrap();
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            let schema = tool.offered(&profiles).input_schema;
            if let Err(error) = jsonschema::validate(&schema, &arguments) {
                panic!("{command}: {step}: {error}");
            }
        }
    }

    #[test]
    fn what_no_tool_does_is_asked_of_a_person() {
        let profiles = [built_in_profile("story").unwrap()];
        for command in ["tl state adopt", "tl doc validate --accept --doc x"] {
            let step = render_step(command, &[], &profiles);
            assert_eq!(step, format!("ask the person to run: {command}"));
        }
        let step = render_step("tl approve act-1", &[], &profiles);
        assert_eq!(step, "ask the person to run: tl approve act-1");
        assert_eq!(
            render_step("edit the plan", &[], &profiles),
            "edit the plan"
        );
    }
}
