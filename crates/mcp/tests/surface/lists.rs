//! The lists: short, constant, complete, and as the design names them.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::profile::built_in_profile;
use mcp::surface::{Called, Catalogue, Offered, Surface, ToolNames, ToolSelection, Toolset};
use serde_json::{Value, json};

use crate::{World, agent, done, surface};

const PROFILES: [&str; 4] = ["story", "tickets", "trail", "milestones"];

fn selected(profiles: &[&str], selection: ToolSelection) -> Surface {
    Surface::new(World::with_profiles(profiles), selection).unwrap()
}

fn named(sets: &[&str]) -> ToolSelection {
    ToolSelection {
        toolsets: Some(sets.iter().map(|set| (*set).to_owned()).collect()),
        ..ToolSelection::default()
    }
}

fn names(surface: &Surface) -> Vec<&'static str> {
    surface.tools().iter().map(|tool| tool.name).collect()
}

/// What a model gets of a tool.
fn definition(tool: &Offered) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    })
}

/// Estimates the tokens (o200k) of a definition: words of letters, digits and other characters, each
/// run counted by its length. The factor is calibrated with `gpt-tokenizer` on all definitions of this
/// server; for the default list of all profiles it says 1,944, the tokenizer 1,953.
fn estimate_tokens(text: &str) -> usize {
    let most = |c: char| match c {
        c if c.is_alphabetic() => 8,
        c if c.is_numeric() => 3,
        ' ' => 0,
        _ => 2,
    };
    let (mut units, mut run, mut length) = (0_usize, 0_usize, 0_usize);
    for c in text.chars() {
        if most(c) != length {
            units += run.checked_div(length).map_or(0, |_| run.div_ceil(length));
            (run, length) = (0, most(c));
        }
        run += 1;
    }
    units += run.checked_div(length).map_or(0, |_| run.div_ceil(length));
    (units * 78).div_ceil(100)
}

fn tokens(tools: &[Offered]) -> usize {
    let tools = tools.iter().map(|tool| definition(tool).to_string());
    tools.map(|tool| estimate_tokens(&tool)).sum()
}

/// The default list of any project costs a model at most 2,000 tokens, and every list is known.
#[test]
fn the_default_list_of_any_project_is_short() {
    let mut lists = BTreeMap::new();
    for wanted in 1..16_usize {
        let profiles: Vec<&str> = PROFILES
            .into_iter()
            .enumerate()
            .filter(|(at, _)| wanted & (1 << at) != 0)
            .map(|(_, name)| name)
            .collect();
        let surface = selected(&profiles, ToolSelection::default());
        let tools = surface.tools();
        let tokens = tokens(&tools);
        assert!(tokens <= 2_000, "{profiles:?}: {tokens} tokens");
        for name in ["work_where", "work_next", "more_tools", "call_tool"] {
            assert!(tools.iter().any(|tool| tool.name == name), "{profiles:?}");
        }
        let text = format!("{tokens} tokens: {}", names(&surface).join(" "));
        lists.insert(profiles.join("+"), text);
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&lists).unwrap());
}

#[test]
fn every_definition_is_known() {
    let profiles = PROFILES.map(|name| built_in_profile(name).unwrap());
    let tools = Catalogue::of(&profiles).unwrap().tools;
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| {
            let mut value = definition(tool);
            value["annotations"] = tool.hints.annotations();
            value["outputSchema"] = tool.output_schema.clone();
            value
        })
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&tools).unwrap());
}

/// No set but the core has a noun that another has, so that a model can choose by it.
#[test]
fn the_names_of_a_set_begin_with_its_noun() {
    let profiles = PROFILES.map(|name| built_in_profile(name).unwrap());
    for tool in Catalogue::of(&profiles).unwrap().tools {
        let noun = match tool.set {
            Toolset::Core => "work",
            set => set.word(),
        };
        let exempt = ["more_tools", "call_tool", "update_entity_state"];
        let is_so = tool.name.starts_with(&format!("{noun}_"));
        assert!(is_so || exempt.contains(&tool.name), "{}", tool.name);
    }
}

#[test]
fn the_earlier_names_can_be_listed_and_are_always_taken() {
    let seed = ToolSelection {
        names: ToolNames::Seed,
        ..ToolSelection::default()
    };
    let listed = names(&selected(&["story", "trail"], seed));
    for name in [
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
        "declare_intent",
        "map_context",
        "compact_session",
        "scan_hierarchy",
        "think_back",
        "check_drift",
        "self_rate",
        "save_anchor",
        "save_mem",
        "recall_mems",
        "list_shelves",
        "hierarchy_prune",
        "hierarchy_migrate",
    ] {
        assert!(listed.contains(&name), "{name}: {listed:?}");
        let surface = surface(&World::with_trail());
        assert!(!names(&surface).contains(&name));
        let called = surface.call(&agent(), name, &json!({ "unknown": 1 }));
        assert!(
            matches!(called, Called::Failed(_) | Called::Done(_)),
            "{name}"
        );
    }
    assert!(!listed.contains(&"plan_state"), "one name for each tool");
}

/// The levels are those of all trees of the project, and of no other.
#[test]
fn schemas_name_the_projects_own_levels() {
    let seed = ToolSelection {
        names: ToolNames::Seed,
        ..ToolSelection::default()
    };
    let levels = |profiles: &[&str]| {
        let tools = selected(profiles, seed.clone()).tools();
        let tool = tools
            .into_iter()
            .find(|tool| tool.name == "get_entity_state");
        tool.unwrap().input_schema["properties"]["entity_type"]["enum"].clone()
    };
    assert_eq!(levels(&["tickets"]), json!(["ticket", "scenario"]));
    assert_eq!(
        levels(&["story", "tickets", "milestones"]),
        json!([
            "act",
            "chapter",
            "scene",
            "part",
            "ticket",
            "scenario",
            "plan",
            "milestone",
            "intent"
        ])
    );
}

#[test]
fn schemas_of_all_tools_are_plain_objects() {
    let profiles = PROFILES.map(|name| built_in_profile(name).unwrap());
    for tool in Catalogue::of(&profiles).unwrap().tools {
        for schema in [&tool.input_schema, &tool.output_schema] {
            assert_eq!(schema["type"], "object", "{}", tool.name);
            for property in schema["properties"].as_object().unwrap().values() {
                assert_is_plain(tool.name, property);
            }
        }
        for (name, property) in tool.input_schema["properties"].as_object().unwrap() {
            assert!(
                property["type"].is_string(),
                "{} {name}: {property}",
                tool.name
            );
        }
        assert_eq!(
            tool.input_schema["additionalProperties"], false,
            "{}",
            tool.name
        );
    }
}

/// Keywords that every client understands.
const KEYWORDS: [&str; 8] = [
    "type",
    "items",
    "description",
    "enum",
    "minimum",
    "maximum",
    "properties",
    "required",
];

fn assert_is_plain(tool: &str, schema: &Value) {
    let keywords = schema.as_object().unwrap();
    assert!(
        keywords
            .keys()
            .all(|keyword| KEYWORDS.contains(&keyword.as_str())),
        "{tool}: {schema}"
    );
    // One type and no union with null, which some clients reject. Without one it is any value.
    if let Some(kind) = keywords.get("type") {
        assert!(kind.is_string(), "{tool}: {schema}");
    }
    if let Some(items) = keywords.get("items") {
        assert_is_plain(tool, items);
    }
    for property in keywords
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        assert_is_plain(tool, property.1);
    }
}

/// A host may repeat what is marked as idempotent, and asks before what is marked as destructive.
#[test]
fn what_adds_or_takes_away_is_marked_as_such() {
    let profiles = PROFILES.map(|name| built_in_profile(name).unwrap());
    let tools = Catalogue::of(&profiles).unwrap().tools;
    let hints = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().hints;
    for name in [
        "doc_new",
        "doc_change",
        "review_check",
        "note_add",
        "note_anchor",
        "trail_rate",
        "ticket_new",
        "work_claim",
        "flow_move",
        "plan_reshape",
    ] {
        assert!(!hints(name).idempotent, "{name} adds once more");
    }
    for name in [
        "update_entity_state",
        "plan_invalidate",
        "plan_reject",
        "plan_restore",
        "plan_reshape",
        "story_scene_choose",
        "work_undo",
    ] {
        assert!(hints(name).destructive, "{name}");
    }
}

/// The items of lists are described, so that their fields are not learned one error at a time.
#[test]
fn items_of_changes_and_plans_are_described() {
    let surface = surface(&World::story());
    let change = surface.find_tool("doc_change").unwrap().input_schema;
    let item = &change["properties"]["changes"]["items"]["properties"];
    assert!(
        item["do"]["enum"]
            .as_array()
            .unwrap()
            .contains(&json!("add-milestone"))
    );
    assert_eq!(item["fields"]["type"], "object", "{change}");
    assert_eq!(item["as"]["type"], "string", "{change}");
    let context = surface.find_tool("doc_context").unwrap().input_schema;
    let context = &context["properties"]["context"];
    for (list, _) in domain::plan_document::CONTEXT_LISTS {
        let items = &context["properties"][list]["items"]["type"];
        assert_eq!(items, "string", "{list}: {context}");
    }
    let plan = surface.find_tool("story_tick_submit").unwrap().input_schema;
    let plan = &plan["properties"]["plan"];
    assert_eq!(
        plan["required"],
        json!(["rationale", "scene_intention", "actions"]),
        "{plan}"
    );
    assert_eq!(
        plan["properties"]["actions"]["items"]["properties"]["args"]["type"],
        "object"
    );
}

#[test]
fn sets_can_be_combined_and_the_core_is_always_there() {
    let world = World::with_profiles(&PROFILES);
    let surface = surface(&world);
    for (path, has, lacks) in [
        ("", "plan_write", "plan_versions"),
        ("story", "story_tick_begin", "ticket_new"),
        ("core,story", "plan_versions", "ticket_new"),
        ("ticket,note", "note_list", "plan_write"),
        ("readonly", "plan_versions", "plan_write"),
        ("ticket/readonly", "ticket_scenarios", "ticket_new"),
        ("review/readonly", "review_escalated", "review_check"),
    ] {
        let names = names(&surface.at_path(path).unwrap());
        assert!(names.contains(&"work_where"), "{path}: {names:?}");
        assert!(names.contains(&has), "{path}: {names:?}");
        assert!(!names.contains(&lacks), "{path}: {names:?}");
    }
    for path in ["stories", "core/story", "core,"] {
        assert!(surface.at_path(path).is_err(), "{path}");
    }
    let wrong = Surface::new(world.clone(), named(&["stories"]))
        .err()
        .unwrap();
    assert!(
        wrong.message.contains("`stories`") && wrong.next_steps[0].contains("core, plan, ticket"),
        "{wrong:?}"
    );
    let limited = Surface::new(world, named(&["trail"])).unwrap();
    assert!(limited.at_path("ticket").is_err(), "it is not offered");
}

/// A read-only set of every profile has tools of its own.
#[test]
fn every_profile_can_be_read_without_changing_anything() {
    for profile in PROFILES {
        let selection = ToolSelection {
            read_only: true,
            ..ToolSelection::default()
        };
        let surface = selected(&[profile], selection);
        let tools = surface.tools();
        assert!(tools.iter().all(|tool| tool.hints.read_only));
        let own = tools.iter().filter(|tool| tool.set != Toolset::Core);
        assert!(own.count() > 3, "{profile}: {:?}", names(&surface));
        let instructions = surface.instructions();
        assert!(!instructions.contains("plan_approve"), "{instructions}");
    }
}

#[test]
fn what_is_not_listed_is_described_and_called() {
    let surface = surface(&World::story());
    let all = done(&surface, "more_tools", json!({}));
    assert!(all["sets"]["plan"]["plan_comment"].is_string(), "{all}");
    let set = done(&surface, "more_tools", json!({ "set": "note" }));
    let described = set["tools"].as_array().unwrap();
    assert!(described.iter().any(|tool| tool["name"] == "note_pin"
        && tool["inputSchema"]["properties"]["stamp"]["type"] == "string"));
    let log = done(
        &surface,
        "call_tool",
        json!({ "tool": "work_log", "arguments": { "limit": 1 } }),
    );
    assert!(log["operations"].is_array(), "{log}");
    for (tool, arguments) in [
        ("call_tool", json!({ "tool": "call_tool" })),
        ("call_tool", json!({ "tool": "work_lag" })),
        ("more_tools", json!({ "set": "stories" })),
        ("more_tools", json!({ "tool": "work_lag" })),
    ] {
        crate::failed(&surface, tool, arguments);
    }
}

/// Another settings file enables other tools, and clients are told by the version.
#[test]
fn the_list_follows_the_projects_profiles() {
    let world = World::story();
    let surface = surface(&world);
    let before = surface.definitions_version();
    assert!(!names(&surface).contains(&"ticket_new"));
    assert_eq!(surface.tools(), surface.tools(), "constant until then");
    world.enable(&["story", "tickets"]);
    assert_ne!(surface.definitions_version(), before);
    assert!(names(&surface).contains(&"ticket_new"));
    assert!(surface.instructions().contains("ticket_focus"));
}

/// Where nothing has to be approved, nobody speaks of it: it would keep an agent from its work.
#[test]
fn lists_of_tickets_and_documents_speak_of_neither_parents_nor_acts() {
    for profiles in [
        &["tickets"][..],
        &["milestones"],
        &["tickets", "milestones"],
    ] {
        let surface = selected(profiles, ToolSelection::default());
        let mut texts = vec![surface.instructions()];
        texts.extend(
            surface
                .tools()
                .iter()
                .map(|tool| definition(tool).to_string()),
        );
        for text in texts {
            for word in [
                "parent is approved",
                "not approved",
                "act-1",
                "chapter",
                "stale or drafts",
            ] {
                assert!(!text.contains(word), "{profiles:?}: `{word}` in {text}");
            }
        }
    }
    let milestones = selected(&["milestones"], ToolSelection::default());
    let listed = names(&milestones);
    for name in ["plan_write", "plan_prompt", "plan_approve"] {
        assert!(
            !listed.contains(&name),
            "a document has tools of its own: {listed:?}"
        );
        assert!(milestones.find_tool(name).is_some(), "{name} can be called");
    }
}

/// The example of a path is one of this project.
#[test]
fn examples_of_arguments_are_of_the_projects_own_levels() {
    for (profiles, example) in [
        (&["story"][..], Some(": act-1/chapter-02")),
        (&["tickets"], Some(": 001/an-unknown-code")),
        (&["milestones"], None),
    ] {
        let surface = selected(profiles, ToolSelection::default());
        let write = surface.find_tool("plan_write").unwrap().input_schema;
        let text = write["properties"]["node"]["description"].as_str().unwrap();
        match example {
            Some(example) => assert!(text.ends_with(example), "{text}"),
            None => assert!(!text.contains(':'), "{text}"),
        }
    }
}

#[test]
fn instructions_are_short() {
    for profiles in [&["story"][..], &PROFILES] {
        let surface = selected(profiles, ToolSelection::default());
        let text = surface.instructions();
        assert!(text.chars().count() <= 2_000, "{}", text.chars().count());
        assert!(text.contains("act → chapter → scene"), "{text}");
    }
}

/// A tool that the instructions name can be called, whichever tools are offered.
#[test]
fn instructions_name_only_tools_of_the_list() {
    let world = World::with_profiles(&PROFILES);
    let check = |world: &Arc<World>, selection: ToolSelection| {
        let told = format!("{selection:?}");
        let surface = Surface::new(world.clone(), selection).unwrap();
        let (text, listed) = (surface.instructions(), names(&surface));
        for name in text.split('`').skip(1).step_by(2) {
            assert!(listed.contains(&name), "{told}: {name} in {text}");
        }
        assert!(text.contains(" to choose work"), "{text}");
    };
    for read_only in [false, true] {
        for names in [ToolNames::Own, ToolNames::Seed] {
            // A sentence is about one or two sets.
            for wanted in (0..1_usize << Toolset::ALL.len()).filter(|sets| sets.count_ones() < 4) {
                let is_wanted = |at: &usize| wanted & (1 << at) != 0;
                let sets = (0..Toolset::ALL.len()).filter(is_wanted);
                let sets = sets.map(|at| Toolset::ALL[at].word().to_owned());
                let toolsets = Some(sets.collect());
                check(
                    &world,
                    ToolSelection {
                        toolsets,
                        read_only,
                        names,
                    },
                );
            }
            for profile in PROFILES {
                let toolsets = None;
                let world = World::with_profiles(&[profile]);
                check(
                    &world,
                    ToolSelection {
                        toolsets,
                        read_only,
                        names,
                    },
                );
            }
        }
    }
}
