//! The lists: small, constant, and as the design names them.

use domain::profile::built_in_profile;
use mcp::surface::{Catalogue, Offered, Surface, Toolset};
use serde_json::{Value, json};

use crate::{World, surface};

pub(crate) fn listed(tool: &Offered, with_output: bool) -> Value {
    let mut value = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": tool.hints.annotations(),
    });
    if tool.set == Toolset::Core {
        value["_meta"] = json!({ "anthropic/alwaysLoad": true });
    }
    if with_output {
        value["outputSchema"] = tool.output_schema.clone();
    }
    value
}

fn bytes(surface: &Surface, with_output: bool) -> usize {
    let tools: Vec<Value> = surface
        .tools()
        .iter()
        .map(|tool| listed(tool, with_output))
        .collect();
    json!({ "tools": tools }).to_string().len()
}

#[test]
fn the_list_of_a_story_project_stays_small() {
    let surface = surface(&World::story());
    let (without, with) = (bytes(&surface, false), bytes(&surface, true));
    assert!(without < 7_700, "{without} bytes without output schemas");
    assert!(with < 14_000, "{with} bytes with them");
}

#[test]
fn the_tools_are_those_of_the_design_in_constant_order() {
    let world = World::story();
    let names: Vec<&str> = surface(&world)
        .tools()
        .iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(
        names,
        [
            "where",
            "next",
            "brief",
            "search",
            "why",
            "wait",
            "get_entity_state",
            "update_entity_state",
            "get_hierarchy_tree",
            "cascade_invalidate",
            "get_children_status",
            "approve_entity",
            "create_backup",
            "list_backups",
            "restore_backup",
            "get_backup_diff",
        ]
    );
    assert_eq!(surface(&world).tools(), surface(&world).tools());
}

#[test]
fn every_definition_is_known() {
    let tools: Vec<Value> = surface(&World::story())
        .tools()
        .iter()
        .map(|tool| listed(tool, true))
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&tools).unwrap());
}

#[test]
fn schemas_of_all_tools_are_flat_objects() {
    let profiles =
        ["story", "trail", "tickets", "milestones"].map(|name| built_in_profile(name).unwrap());
    for tool in Catalogue::of(&profiles).unwrap().tools {
        for (schema, allowed) in [
            (&tool.input_schema, INPUT_KEYWORDS.as_slice()),
            (&tool.output_schema, &["type", "items"]),
        ] {
            assert_eq!(schema["type"], "object", "{}", tool.name);
            for property in schema["properties"].as_object().unwrap().values() {
                assert_is_flat(tool.name, property, allowed);
            }
        }
        assert_eq!(
            tool.input_schema["additionalProperties"], false,
            "{}",
            tool.name
        );
    }
}

/// Keywords that every client understands.
const INPUT_KEYWORDS: [&str; 6] = ["type", "items", "description", "enum", "minimum", "maximum"];

fn assert_is_flat(tool: &str, schema: &Value, allowed: &[&str]) {
    let keywords = schema.as_object().unwrap();
    assert!(
        keywords
            .keys()
            .all(|keyword| allowed.contains(&keyword.as_str())),
        "{tool}: {schema}"
    );
    // One type and no union with null, which some clients reject.
    assert!(schema["type"].is_string(), "{tool}: {schema}");
    if let Some(items) = keywords.get("items") {
        assert_is_flat(tool, items, allowed);
    }
}

#[test]
fn sets_and_reading_only_can_be_chosen() {
    let world = World::story();
    let names = |toolsets: Option<&[String]>, read_only| -> Vec<&'static str> {
        Surface::new(world.clone(), toolsets, read_only)
            .unwrap()
            .tools()
            .iter()
            .map(|tool| tool.name)
            .collect()
    };
    assert_eq!(names(Some(&["core".to_owned()]), false).len(), 6);
    assert!(!names(None, true).contains(&"approve_entity"));
    assert!(names(None, true).contains(&"get_entity_state"));
    let wrong = Surface::new(world.clone(), Some(&["stories".to_owned()]), false)
        .err()
        .unwrap();
    assert!(
        wrong.message.contains("`stories`")
            && wrong.next_steps[0].contains("core, story, trail, tickets, plans"),
        "{wrong:?}"
    );
}

#[test]
fn instructions_are_short() {
    let text = surface(&World::story()).instructions();
    assert!(text.chars().count() <= 1_500, "{}", text.chars().count());
    assert!(text.contains("act → chapter → scene"), "{text}");
}
