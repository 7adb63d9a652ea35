//! Statuses that follow from a change above: through all levels, or only where a section was relied on.

use application::check_state::check_state;
use application::children_status::children_status;
use application::explain::explain_status;
use application::invalidate::{InvalidateRequest, invalidate_node};
use application::list_changes::list_changes;
use application::project_status::load_project_status;
use application::rebuild_state::rebuild_state;
use application::{Failure, FailureKind};
use domain::fact::Fact;
use domain::ids::Principal;
use domain::node::Status;
use domain::operation::{Channel, Verb};
use domain::policy::CascadePolicy;
use domain::ports::{Clock, NewOperation};

use crate::world::{ACT, CHAPTER, SCENE, World, assert_refused, words};

fn condemn(world: &World, node: &str) -> Result<(), Failure> {
    let request = InvalidateRequest {
        node: words(node),
        reason: "wrong".to_owned(),
        shown: None,
    };
    invalidate_node(&world.ctx(), &request).map(drop)
}

#[test]
fn an_edited_act_makes_every_level_below_it_stale_at_once() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    assert_eq!(world.statuses(), "drr");
    world.approve("act-1").unwrap();
    assert_eq!(world.statuses(), "arr", "approving it is not keeping them");
}

#[test]
fn a_parent_changed_back_reinstates_everything_below_it() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    world.files.edit(ACT, "# act-1\n");
    world.approve("act-1").unwrap();
    assert_eq!(world.statuses(), "aaa");
}

#[test]
fn a_condemned_act_makes_its_whole_subtree_stale() {
    let world = World::with_story();
    condemn(&world, "act-1").unwrap();
    assert_eq!(world.status("act-1"), Status::Invalid);
    assert_ne!(world.status("scene-0101"), Status::Approved);
}

#[test]
fn white_space_at_line_ends_changes_no_status() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1  \r\n");
    assert_eq!(world.statuses(), "aaa");
}

#[test]
fn a_subtree_deeper_than_the_limit_refuses_the_change() {
    let mut world = World::with_story();
    world.policy.cascade_max_depth = 1;
    world.files.edit(ACT, "# act-1, another way\n");
    assert_refused(world.approve("act-1"), FailureKind::Refused, "deep");
}

#[test]
fn with_precise_cascade_only_children_of_a_changed_section_go_stale() {
    let mut world = World::new();
    world.policy.cascade = CascadePolicy::Precise;
    let other = "acts/act-1/chapters/chapter-02/plan.md";
    world.files.edit(
        ACT,
        "# act-1\n\n## Setting\n\nA port.\n\n## Theme\n\nLoss.\n",
    );
    world.approve("act-1").unwrap();
    world
        .files
        .edit(CHAPTER, "---\nrelies_on: [Setting]\n---\n# chapter-01\n");
    world
        .files
        .edit(other, "---\nrelies_on: [Theme]\n---\n# chapter-02\n");
    world.approve("chapter-01").unwrap();
    world.approve("chapter-02").unwrap();
    world.files.edit(
        ACT,
        "# act-1\n\n## Setting\n\nA city.\n\n## Theme\n\nLoss.\n",
    );
    world.approve("act-1").unwrap();
    assert_eq!(world.status("chapter-01"), Status::RequiresRevalidation);
    assert_eq!(world.status("chapter-02"), Status::Approved);
}

/// A clone has the present texts and the decisions, and none of the texts in between.
#[test]
fn a_clone_without_the_earlier_texts_judges_the_precise_cascade_the_same() {
    let mut world = World::new();
    world.policy.cascade = CascadePolicy::Precise;
    let act = |first: &str, second: &str| {
        format!("# Act\n\n## Chapter 1\n{first}\n\n## Chapter 2\n{second}\n")
    };
    world.files.edit(ACT, &act("sea", "land"));
    world.approve("act-1").unwrap();
    for (number, node) in [(1, "chapter-01"), (2, "chapter-02")] {
        world.files.edit(
            &format!("acts/act-1/chapters/chapter-0{number}/plan.md"),
            &format!("# {node}\n"),
        );
        world.approve(node).unwrap();
    }
    world.files.edit(ACT, &act("sea", "fire"));
    world.approve("act-1").unwrap();
    assert_eq!(world.status("chapter-01"), Status::Approved);
    assert_eq!(world.status("chapter-02"), Status::RequiresRevalidation);

    let mut clone = World::new();
    clone.policy.cascade = CascadePolicy::Precise;
    let nodes = world.store.begin_read().unwrap().all_nodes().unwrap();
    let mut operation = NewOperation {
        at: clone.clock.now(),
        by: Principal::System,
        channel: Channel::System,
        verb: Verb::Observe,
        summary: "clone".to_owned(),
        key: None,
        facts: Vec::new(),
        texts: Vec::new(),
    };
    for node in nodes {
        let file = node.path.clone().unwrap();
        let text = world.files.text(&file).unwrap();
        clone.files.edit(&file, &text);
        operation.texts.push(text);
        operation.facts.push(Fact::NodeAdded {
            node: Box::new(node),
        });
    }
    let mut tx = clone.store.begin_write().unwrap();
    tx.record_operation(operation).unwrap();
    tx.commit().unwrap();
    let found = check_state(&clone.ctx()).unwrap();
    assert!(
        found.ok,
        "the recorded statuses are those that follow: {:?}",
        found.findings
    );
    // The clone goes on by itself: the act's first section changes as well, and back.
    clone.files.edit(ACT, &act("lake", "fire"));
    clone.approve("act-1").unwrap();
    assert_eq!(clone.status("chapter-01"), Status::RequiresRevalidation);
    clone.files.edit(ACT, &act("sea", "ice"));
    clone.approve("act-1").unwrap();
    assert_eq!(clone.status("chapter-01"), Status::Approved);
    assert_eq!(clone.status("chapter-02"), Status::RequiresRevalidation);
}

#[test]
fn the_explanation_of_a_stale_scene_leads_to_the_changed_act() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    let found = explain_status(&world.ctx(), &words("scene-0101")).unwrap();
    let chain: Vec<&str> = found.chain.iter().map(|link| link.path.as_str()).collect();
    assert_eq!(
        chain,
        ["act-1/chapter-01/scene-0101", "act-1/chapter-01", "act-1"]
    );
    assert_eq!(found.operation.unwrap().verb, Verb::Observe, "the edit");
}

#[test]
fn the_status_lists_what_needs_a_decision_and_leaves_out_the_rest() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    let found = load_project_status(&world.ctx()).unwrap();
    let paths: Vec<&str> = found
        .attention
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    // The scene is stale by its chapter, which is decided on first.
    assert_eq!(paths, ["act-1/chapter-01"]);
    assert_eq!(found.status_counts.requires_revalidation, 2);
}

#[test]
fn the_children_of_a_node_are_counted_by_status() {
    let world = World::with_story();
    world
        .files
        .edit("acts/act-1/chapters/chapter-02/plan.md", "# chapter-02\n");
    let found = children_status(&world.ctx(), &words("act-1")).unwrap();
    assert_eq!(
        (found.status_counts.approved, found.status_counts.draft),
        (1, 1)
    );
    assert_eq!(found.total_children, 2);
}

#[test]
fn changes_since_an_operation_name_every_plan_that_moved() {
    let world = World::with_story();
    let since = world.head();
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    let changes = list_changes(&world.ctx(), since, 10).unwrap().unwrap();
    let paths: Vec<&String> = changes.iter().flat_map(|change| &change.paths).collect();
    for path in ["act-1", "act-1/chapter-01", "act-1/chapter-01/scene-0101"] {
        assert!(paths.iter().any(|one| *one == path), "{path}: {paths:?}");
    }
}

#[test]
fn a_rebuilt_state_has_the_same_nodes_as_drafts() {
    let world = World::with_story();
    let rebuilt = World::on(Box::new(store::MemoryStore::new(domain::ids::StoreId(
        "other".to_owned(),
    ))));
    for file in world.files.paths() {
        rebuilt.files.edit(&file, &world.files.text(&file).unwrap());
    }
    let outcome = rebuild_state(&rebuilt.ctx()).unwrap();
    assert_eq!((outcome.nodes, outcome.status_counts.draft), (3, 3));
    assert_eq!(rebuilt.statuses(), "ddd");
}

#[test]
fn a_check_reports_a_plan_whose_file_is_gone() {
    let world = World::with_story();
    world.files.delete(SCENE);
    let found = check_state(&world.ctx()).unwrap();
    assert!(!found.ok);
    let about: Vec<&str> = found
        .findings
        .iter()
        .filter_map(|finding| finding.node.as_deref())
        .collect();
    assert_eq!(about, ["act-1/chapter-01/scene-0101"]);
}
