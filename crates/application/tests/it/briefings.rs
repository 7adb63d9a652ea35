//! Contents of the briefing by profile, and what is left out where there is no room.

use application::Context;
use application::brief::{BriefRequest, compose_briefing, compose_explained_briefing};
use application::comment::{add_comment, list_comments, list_open_comments};
use application::invalidate::{InvalidateRequest, invalidate_node};
use application::sessions::declare_intent::{IntentRequest, declare_intent};
use application::set_progress::{ProgressRequest, set_progress};
use application::workflows::start::start_run_on_new_document;
use application::{Failure, FailureKind};
use domain::node::Progress;
use domain::policy::Policy;
use domain::profile::built_in_profile;
use domain::session::SessionMode;
use domain::trust_policy::TrustPolicy;
use proptest::prelude::*;

use crate::hooks::Session;
use crate::world::{ACT, SCENE, World, assert_refused, words};

fn brief(ctx: &Context<'_>) -> String {
    compose_briefing(ctx, None).unwrap()
}

fn with_profiles(world: World, names: &[&str]) -> World {
    World {
        profiles: names
            .iter()
            .map(|name| built_in_profile(name).unwrap())
            .collect(),
        ..world
    }
}

#[test]
fn a_story_briefing_lists_what_needs_a_decision_with_the_next_command() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    let text = brief(&world.ctx());
    assert!(
        text.contains("act-1 is draft. Next: tl approve act-1"),
        "{text}"
    );
}

#[test]
fn a_briefing_of_a_trail_alone_says_nothing_about_approval() {
    let world = with_profiles(World::new(), &["trail"]);
    let text = brief(&world.agent("s"));
    assert!(!text.contains("approve"), "{text}");
}

#[test]
fn a_trail_briefing_shows_the_intent_of_the_session() {
    let world = with_profiles(World::new(), &["story", "trail"]);
    let request = IntentRequest {
        text: "find the slow query".to_owned(),
        mode: SessionMode::default(),
    };
    declare_intent(&world.agent("s"), &request).unwrap();
    let text = brief(&world.agent("s"));
    assert!(text.contains("find the slow query"), "{text}");
}

#[test]
fn hook_errors_come_before_what_needs_a_decision() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    let text = compose_briefing(&world.ctx(), Some("the last hook timed out")).unwrap();
    let at = text.find("the last hook timed out").unwrap();
    assert!(at < text.find("act-1 is draft").unwrap(), "{text}");
}

#[test]
fn a_small_budget_cuts_lines_and_says_which() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    let request = |budget| BriefRequest {
        faults: None,
        budget,
    };
    let whole = compose_explained_briefing(&world.ctx(), request(Some(0))).unwrap();
    assert!(whole.cut.is_empty());
    let small = compose_explained_briefing(&world.ctx(), request(Some(300))).unwrap();
    assert!(small.characters <= 300, "{}", small.text);
    assert!(!small.cut.is_empty());
}

#[test]
fn a_looser_config_file_is_reported_until_a_person_accepts_it() {
    let world = World::with_story();
    let strict = TrustPolicy::from_policy(&Policy {
        approval: domain::policy::ApprovalPolicy::Human,
        ..Policy::default()
    });
    let waiting = strict.changes_to(&TrustPolicy::from_policy(&Policy::default()));
    let text = brief(&world.ctx().with_waiting_policy(waiting));
    assert!(text.contains("looser than the policy in force"), "{text}");
}

#[test]
fn a_comment_is_open_until_the_plan_changes() {
    let world = World::with_story();
    let comment = |text: &str| add_comment(&world.ctx(), &words("scene-0101"), text);
    comment("too long").unwrap();
    assert_eq!(list_open_comments(&world.ctx()).unwrap().len(), 1);
    world.files.edit(SCENE, "# scene-0101, shorter\n");
    world.status("scene-0101");
    assert_eq!(list_open_comments(&world.ctx()).unwrap().len(), 0);
    let all = list_comments(&world.ctx(), &words("scene-0101")).unwrap();
    assert_eq!((all.len(), all[0].open), (1, false));
}

#[test]
fn an_empty_comment_is_refused() {
    let world = World::with_story();
    let outcome: Result<_, Failure> = add_comment(&world.ctx(), &words("act-1"), "  ");
    assert_refused(outcome, FailureKind::Invalid, "");
}

/// A change of the plans between two starts of a session.
#[derive(Clone, Debug)]
enum Change {
    Edit { plan: usize, text: u8 },
    Delete { plan: usize },
    Approve { plan: usize },
    Condemn { plan: usize },
    Complete { plan: usize },
}

/// Name and file of each plan.
fn plans() -> Vec<(String, String)> {
    let mut plans = Vec::new();
    for act in 1..=2 {
        let folder = format!("acts/act-{act}");
        plans.push((format!("act-{act}"), format!("{folder}/strategic-plan.md")));
        for chapter in 1..=2 {
            let folder = format!("{folder}/chapters/chapter-{chapter:02}");
            let name = format!("act-{act}/chapter-{chapter:02}");
            plans.push((name.clone(), format!("{folder}/plan.md")));
            for scene in 1..=2 {
                let id = format!("scene-{chapter:02}{scene:02}");
                let file = format!("{folder}/scenes/{id}-blueprint.md");
                plans.push((format!("{name}/{id}"), file));
            }
        }
    }
    plans
}

fn change() -> impl Strategy<Value = Change> {
    let plan = 0..plans().len();
    prop_oneof![
        3 => (plan.clone(), 0u8..3).prop_map(|(plan, text)| Change::Edit { plan, text }),
        1 => plan.clone().prop_map(|plan| Change::Delete { plan }),
        6 => plan.clone().prop_map(|plan| Change::Approve { plan }),
        1 => plan.clone().prop_map(|plan| Change::Condemn { plan }),
        1 => plan.prop_map(|plan| Change::Complete { plan }),
    ]
}

/// Makes a change; one that is refused changes nothing.
fn make_change(world: &World, change: &Change) {
    let plans = plans();
    match change {
        Change::Edit { plan, text } => {
            let (name, file) = &plans[*plan];
            world.files.edit(file, &format!("# {name}, text {text}\n"));
        }
        Change::Delete { plan } => world.files.delete(&plans[*plan].1),
        Change::Approve { plan } => {
            let _ = world.approve(&plans[*plan].0);
        }
        Change::Condemn { plan } => {
            let request = InvalidateRequest {
                node: words(&plans[*plan].0),
                reason: "it contradicts the start".to_owned(),
                shown: None,
            };
            let _ = invalidate_node(&world.ctx(), &request);
        }
        Change::Complete { plan } => {
            let request = ProgressRequest {
                node: words(&plans[*plan].0),
                progress: Progress::Complete,
            };
            let _ = set_progress(&world.ctx(), &request);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A start brings the stored summary up to date with what was recorded since; reading every
    /// plan gives the same briefing.
    #[test]
    fn a_start_gives_the_briefing_that_reading_every_plan_gives(
        rounds in prop::collection::vec(prop::collection::vec(change(), 1..5), 1..12),
    ) {
        let world = World::new();
        for (name, file) in plans() {
            world.files.edit(&file, &format!("# {name}\n"));
        }
        for (round, changes) in rounds.iter().enumerate() {
            for change in changes {
                make_change(&world, change);
            }
            // A new session each time: one that goes on is also told what others did.
            let name = format!("s{round}");
            let session = Session::new(&world, &name);
            let told = session.start().reply.context.unwrap_or_default();
            prop_assert_eq!(told, brief(&world.agent(&name)));
        }
    }
}

#[test]
fn a_briefing_of_plan_documents_names_the_step_of_the_workflow() {
    let world = with_profiles(World::new(), &["milestones"]);
    let text = brief(&world.agent("s"));
    assert!(
        text.contains("Next: tl flow start planner --new \"TITLE\""),
        "{text}"
    );
    start_run_on_new_document(&world.agent("s"), "planner", "Search").unwrap();
    let text = brief(&world.agent("s"));
    assert!(
        text.contains(
            "- search “Begin”: step 1 of 11 of `planner`, for the orchestrator. Next: tl flow next"
        ),
        "{text}"
    );
    assert!(!text.contains("parent"), "{text}");
}

#[test]
fn a_story_briefing_names_the_next_plan() {
    let empty = brief(&with_profiles(World::new(), &["story"]).agent("s"));
    assert!(
        empty.contains("- there is no act yet. Next: tl plan act act-1"),
        "{empty}"
    );
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    world.approve("act-1").unwrap();
    let text = brief(&world.agent("s"));
    assert!(
        text.contains("Next: tl plan chapter chapter-01 --under act-1"),
        "{text}"
    );
}
