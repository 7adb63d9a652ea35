//! Resources and prompts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{ACT, CHAPTER, World, agent, done, surface};

const ACT_TEXT: &str = "# The harbour\n\n## Purpose\nMara comes home.\n";

fn arguments(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn what_is_listed_can_be_read() {
    let world = World::story();
    let surface = surface(&world);
    world.write(ACT, ACT_TEXT);
    world.write(CHAPTER, "# The gate\n");
    let page = surface.resources(&agent(), None).unwrap();
    assert_eq!(page.next, None);
    let uris: Vec<&str> = page
        .items
        .iter()
        .map(|resource| resource.uri.as_str())
        .collect();
    assert_eq!(
        uris,
        [
            "plan://briefing",
            "plan://node/act-1",
            "plan://node/act-1/chapter-01"
        ]
    );
    for resource in &page.items {
        let content = surface
            .read(&agent(), &resource.uri)
            .unwrap()
            .expect("listed");
        assert_eq!(content.mime_type, resource.mime_type);
        assert!(!content.text.is_empty(), "{}", resource.uri);
    }
    assert_eq!(
        surface
            .read(&agent(), "plan://node/act-1")
            .unwrap()
            .unwrap()
            .text,
        ACT_TEXT
    );
    let state: Value = serde_json::from_str(
        &surface
            .read(&agent(), "state://planning/act/act-1")
            .unwrap()
            .unwrap()
            .text,
    )
    .unwrap();
    assert_eq!(
        state,
        done(
            &surface,
            "get_entity_state",
            json!({ "entity_type": "act", "entity_id": "act-1" })
        )
    );
    let tree = surface
        .read(&agent(), "state://planning/hierarchy/act-1")
        .unwrap()
        .unwrap()
        .text;
    assert!(tree.contains("chapter-01"), "{tree}");
    for uri in [
        "plan://node/act-9",
        "state://planning/act/act-9",
        "state://planning/x",
        "plan://other",
        "http://x/",
        "",
    ] {
        assert_eq!(surface.read(&agent(), uri).unwrap(), None, "{uri}");
    }
}

#[test]
fn long_lists_come_in_pages() {
    let world = World::story();
    let surface = surface(&world);
    world.write(ACT, ACT_TEXT);
    for chapter in 1..=99 {
        world.write(
            &format!("acts/act-1/chapters/chapter-{chapter:02}/plan.md"),
            "# A chapter\n",
        );
    }
    let first = surface.resources(&agent(), None).unwrap();
    let second = surface.resources(&agent(), first.next.as_deref()).unwrap();
    assert_eq!(
        (first.items.len(), second.items.len(), second.next),
        (100, 1, None)
    );
    assert!(surface.resources(&agent(), Some("elsewhere")).is_err());
}

#[test]
fn names_are_completed() {
    let world = World::story();
    let surface = surface(&world);
    world.write(ACT, ACT_TEXT);
    world.write(CHAPTER, "# The gate\n");
    let template = "state://planning/{entity_type}/{entity_id}";
    let of = |argument: &str, value: &str| {
        surface
            .complete_resource(&agent(), template, argument, value)
            .unwrap()
    };
    assert_eq!(of("entity_type", "c"), ["chapter"]);
    assert_eq!(of("entity_id", "chap"), ["act-1/chapter-01"]);
    assert_eq!(of("entity_id", ""), ["act-1", "act-1/chapter-01"]);
    assert_eq!(
        surface
            .complete_resource(&agent(), "x://{y}", "y", "")
            .unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(
        surface
            .complete_prompt(&agent(), "approve", "node", "act-1/")
            .unwrap(),
        ["act-1/chapter-01"]
    );
    assert_eq!(
        surface
            .complete_prompt(&agent(), "nothing", "node", "")
            .unwrap(),
        Vec::<String>::new()
    );
}

#[test]
fn prompts_say_what_the_command_line_says() {
    let world = World::story();
    let surface = surface(&world);
    let names: Vec<String> = surface
        .prompts()
        .into_iter()
        .map(|prompt| prompt.name)
        .collect();
    assert_eq!(
        names,
        [
            "plan_act",
            "plan_chapter",
            "plan_scene",
            "approve",
            "revalidate",
            "resume"
        ]
    );
    world.write(ACT, ACT_TEXT);
    let refused = surface
        .prompt(&agent(), "plan_chapter", &arguments(&[("id", "1")]))
        .unwrap_err();
    assert!(
        refused.message.contains("`act-1` is `draft`"),
        "{refused:?}"
    );
    done(
        &surface,
        "approve_entity",
        json!({ "entity_type": "act", "entity_id": "act-1" }),
    );
    let text = surface
        .prompt(&agent(), "plan_chapter", &arguments(&[("id", "1")]))
        .unwrap()
        .unwrap();
    assert!(
        text.contains("│ Mara comes home.") && text.contains("Phase 5"),
        "{text}"
    );
    world.write(CHAPTER, "# The gate\n");
    let approve = surface
        .prompt(
            &agent(),
            "approve",
            &arguments(&[("node", "act-1/chapter-01")]),
        )
        .unwrap()
        .unwrap();
    assert!(approve.contains("`act-1/chapter-01` is draft"), "{approve}");
    done(
        &surface,
        "approve_entity",
        json!({ "entity_type": "chapter", "entity_id": "chapter-01" }),
    );
    world.write(ACT, &ACT_TEXT.replace("home", "back"));
    done(
        &surface,
        "approve_entity",
        json!({ "entity_type": "act", "entity_id": "act-1" }),
    );
    let stale = surface
        .prompt(
            &agent(),
            "revalidate",
            &arguments(&[("node", "chapter-01")]),
        )
        .unwrap()
        .unwrap();
    assert!(stale.contains("│ +Mara comes back."), "{stale}");
    assert!(
        surface
            .prompt(&agent(), "resume", &BTreeMap::new())
            .unwrap()
            .unwrap()
            .contains("Throughline briefing:")
    );
    assert_eq!(
        surface
            .prompt(&agent(), "plan_volume", &BTreeMap::new())
            .unwrap(),
        None
    );
    let missing = surface
        .prompt(&agent(), "approve", &BTreeMap::new())
        .unwrap_err();
    assert!(
        missing.message.contains("needs the argument `node`"),
        "{missing:?}"
    );
}

/// An outline comes in pages, whose texts together are the whole.
#[test]
fn an_outline_is_read_page_by_page() {
    let world = World::story();
    for number in 1..=5 {
        let path = format!("acts/act-{number}/strategic-plan.md");
        world.write(&path, "# Act\n\nMara comes home.\n");
    }
    let surface = surface(&world);
    let (mut paths, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let page = json!({ "limit": 2, "offset": offset, "full": true });
        let page = done(&surface, "plan_outline", page);
        assert_eq!(page["total"], 5, "{page}");
        let entries = page["entries"].as_array().unwrap();
        assert!((1..=2).contains(&entries.len()), "{page}");
        paths.extend(entries.iter().map(|entry| entry["path"].clone()));
        offset = page["next_offset"].clone();
    }
    let all = done(&surface, "plan_outline", json!({}));
    let entries = all["entries"].as_array().unwrap().iter();
    let whole: Vec<Value> = entries.map(|entry| entry["path"].clone()).collect();
    assert_eq!((paths.len(), &paths), (5, &whole));
    assert!(all.get("next_offset").is_none(), "{all}");
    // Long texts end a page early.
    world.write("acts/act-1/strategic-plan.md", &"word ".repeat(30_000));
    let page = done(&surface, "plan_outline", json!({ "full": true }));
    assert_eq!(page["entries"].as_array().unwrap().len(), 1);
    assert_eq!(page["next_offset"], 1);
}
