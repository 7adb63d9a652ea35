//! The status for a terminal, which names the first plans of the stored summary, agrees with the one
//! that reads every plan.

use application::invalidate::{InvalidateRequest, invalidate_node};
use application::project_status::{
    MAX_BRIEF_ATTENTION, ProjectStatus, load_brief_status, load_project_status,
};
use application::request_changes::{ChangesRequest, request_changes};
use application::set_progress::{ProgressRequest, set_progress};
use domain::node::Progress;
use proptest::prelude::*;

use crate::world::{World, words};

const ACTS: usize = 2;
const CHAPTERS: usize = 11;
const SCENES: usize = 10;

/// A change of the plans between two looks.
#[derive(Clone, Debug)]
enum Change {
    Edit { plan: usize, text: u8 },
    Delete { plan: usize },
    Approve { plan: usize },
    Condemn { plan: usize },
    Return { plan: usize },
    Complete { plan: usize },
}

/// Name and file of each plan, parents before their children.
fn plans() -> Vec<(String, String)> {
    let mut plans = Vec::new();
    for act in 1..=ACTS {
        let folder = format!("acts/act-{act}");
        plans.push((format!("act-{act}"), format!("{folder}/strategic-plan.md")));
        for chapter in 1..=CHAPTERS {
            let folder = format!("{folder}/chapters/chapter-{chapter:02}");
            let name = format!("act-{act}/chapter-{chapter:02}");
            plans.push((name.clone(), format!("{folder}/plan.md")));
            for scene in 1..=SCENES {
                let id = format!("scene-{chapter:02}{scene:02}");
                let file = format!("{folder}/scenes/{id}-blueprint.md");
                plans.push((format!("{name}/{id}"), file));
            }
        }
    }
    plans
}

fn change() -> impl Strategy<Value = Change> {
    // Above all the first ones, which are listed.
    let plan = prop_oneof![3 => 0usize..30, 1 => 0..plans().len()];
    prop_oneof![
        4 => (plan.clone(), 0u8..3).prop_map(|(plan, text)| Change::Edit { plan, text }),
        1 => plan.clone().prop_map(|plan| Change::Delete { plan }),
        6 => plan.clone().prop_map(|plan| Change::Approve { plan }),
        1 => plan.clone().prop_map(|plan| Change::Condemn { plan }),
        2 => plan.clone().prop_map(|plan| Change::Return { plan }),
        1 => plan.prop_map(|plan| Change::Complete { plan }),
    ]
}

/// Makes a change; one that is refused changes nothing.
fn make_change(world: &World, plans: &[(String, String)], change: &Change) {
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
        Change::Return { plan } => {
            let request = ChangesRequest {
                node: words(&plans[*plan].0),
                text: "shorter".to_owned(),
                shown: None,
            };
            let _ = request_changes(&world.ctx(), &request);
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

/// Returns a status with the plans that a terminal names, as JSON, and how many wait.
fn shorten(mut status: ProjectStatus) -> (String, usize) {
    status.attention.truncate(MAX_BRIEF_ATTENTION);
    let text = serde_json::to_string_pretty(&status).unwrap();
    (text, status.attention_total)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_brief_status_agrees_with_reading_every_plan(
        rounds in prop::collection::vec(prop::collection::vec(change(), 1..6), 1..10),
    ) {
        let (world, plans) = (World::new(), plans());
        for (name, file) in &plans {
            world.files.edit(file, &format!("# {name}\n"));
        }
        // Two hundred scenes wait, more than the summary lists.
        for (name, _) in plans.iter().filter(|(name, _)| name.matches('/').count() < 2) {
            world.approve(name).unwrap();
        }
        for changes in &rounds {
            for change in changes {
                make_change(&world, &plans, change);
            }
            let brief = shorten(load_brief_status(&world.ctx()).unwrap());
            prop_assert_eq!(brief, shorten(load_project_status(&world.ctx()).unwrap()));
        }
    }
}
