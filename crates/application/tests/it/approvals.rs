//! Approving, keeping and condemning: who may, when, and for which text.

use application::FailureKind;
use application::answer_question::AskedQuestion;
use application::approve::{ApproveOutcome, ApproveRequest, approve_node, collect_plan_warnings};
use application::invalidate::{InvalidateRequest, invalidate_node};
use application::revalidate::{KeepRequest, keep_all, keep_one, review_all, review_one};
use application::show_node::show_node;
use application::{Context, Failure};
use domain::approval::Force;
use domain::expected_version::ExpectedVersions;
use domain::node::Status;
use domain::policy::{ApprovalPolicy, ConsistencyPolicy};

use crate::world::{ACT, CHAPTER, SCENE, World, assert_refused, words};

fn approve_shown(
    ctx: &Context<'_>,
    node: &str,
    shown: ExpectedVersions,
) -> Result<ApproveOutcome, Failure> {
    let request = ApproveRequest {
        node: words(node),
        force: Force::No,
        shown: Some(shown),
    };
    approve_node(ctx, &request)
}

fn approve_with_force(world: &World, node: &str) -> Result<ApproveOutcome, Failure> {
    let request = ApproveRequest {
        node: words(node),
        force: Force::Yes,
        shown: None,
    };
    approve_node(&world.ctx(), &request)
}

fn keep(world: &World, node: &str, shown: Option<ExpectedVersions>) -> Result<(), Failure> {
    let request = KeepRequest {
        node: words(node),
        force: Force::No,
        shown,
    };
    keep_one(&world.ctx(), &request).map(drop)
}

fn condemn(world: &World, node: &str, shown: Option<ExpectedVersions>) -> Result<(), Failure> {
    let request = InvalidateRequest {
        node: words(node),
        reason: "the ending gives it away".to_owned(),
        shown,
    };
    invalidate_node(&world.ctx(), &request).map(drop)
}

/// A story whose act was changed and approved again: chapter and scene are stale.
fn stale_story() -> World {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    assert_eq!(world.status("chapter-01"), Status::RequiresRevalidation);
    world
}

#[test]
fn approving_below_a_draft_parent_is_refused_and_names_the_parent() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    world.files.edit(CHAPTER, "# chapter-01\n");
    assert_refused(
        world.approve("chapter-01"),
        FailureKind::Refused,
        "parent `act-1` is `draft`",
    );
    world.approve("act-1").unwrap();
    world.approve("chapter-01").unwrap();
}

#[test]
fn approving_a_deleted_plan_is_refused() {
    let world = World::with_story();
    world.files.delete(SCENE);
    assert_refused(
        world.approve("scene-0101"),
        FailureKind::Refused,
        "is missing",
    );
}

#[test]
fn approving_a_plan_that_is_not_text_is_refused() {
    let world = World::new();
    world.files.edit(ACT, "a\0b");
    assert_refused(
        world.approve("act-1"),
        FailureKind::Refused,
        "cannot be read",
    );
}

#[test]
fn approving_the_same_text_again_records_nothing() {
    let world = World::with_story();
    let head = world.head();
    world.approve("act-1").unwrap();
    assert_eq!(world.head(), head);
}

#[test]
fn an_approval_of_another_text_than_the_shown_one_is_a_conflict() {
    let world = World::new();
    world.files.edit(ACT, "# One\n");
    let shown = world.shown("act-1");
    world.files.edit(ACT, "# Two\n");
    assert_refused(
        approve_shown(&world.ctx(), "act-1", shown),
        FailureKind::Conflict,
        "changed since it was shown",
    );
    assert_eq!(world.status("act-1"), Status::Draft);
    let shown = world.shown("act-1");
    approve_shown(&world.ctx(), "act-1", shown).unwrap();
    assert_eq!(world.status("act-1"), Status::Approved);
}

#[test]
fn an_approval_below_another_parent_text_than_the_shown_one_is_a_conflict() {
    let world = World::with_story();
    world.files.edit(CHAPTER, "# chapter-01, longer\n");
    let parent = world.shown("act-1").version;
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    let shown = ExpectedVersions {
        parent: Some(parent),
        ..world.shown("chapter-01")
    };
    assert_refused(
        approve_shown(&world.ctx(), "chapter-01", shown),
        FailureKind::Conflict,
        "`act-1`, the parent of `act-1/chapter-01`",
    );
}

#[test]
fn under_the_human_policy_an_agent_cannot_approve_and_a_person_can() {
    let mut world = World::new();
    world.policy.approval = ApprovalPolicy::Human;
    world.files.edit(ACT, "# act-1\n");
    let request = ApproveRequest {
        node: words("act-1"),
        force: Force::Yes,
        shown: None,
    };
    assert_refused(
        approve_node(&world.agent("s"), &request),
        FailureKind::Refused,
        "only a person may approve",
    );
    world.approve("act-1").unwrap();
    assert_eq!(world.status("act-1"), Status::Approved);
}

#[test]
fn a_condemned_text_needs_force_and_another_text_does_not() {
    let world = World::with_story();
    condemn(&world, "scene-0101", None).unwrap();
    assert_eq!(world.status("scene-0101"), Status::Invalid);
    assert_refused(
        world.approve("scene-0101"),
        FailureKind::Refused,
        "was condemned by",
    );
    world.files.edit(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(world.status("scene-0101"), Status::Draft);
    world.approve("scene-0101").unwrap();
    assert_eq!(world.status("scene-0101"), Status::Approved);
    // The first text is still condemned when it comes back.
    world.files.edit(SCENE, "# scene-0101\n");
    assert_refused(
        world.approve("scene-0101"),
        FailureKind::Refused,
        "was condemned by",
    );
    assert_eq!(world.status("scene-0101"), Status::Invalid);
    approve_with_force(&world, "scene-0101").unwrap();
    assert_eq!(world.status("scene-0101"), Status::Approved);
    world.files.edit(SCENE, "# scene-0101, rewritten\n");
    assert_eq!(world.status("scene-0101"), Status::Draft);
    world.files.edit(SCENE, "# scene-0101\n");
    assert_eq!(world.status("scene-0101"), Status::Approved);
}

#[test]
fn a_condemnation_of_another_text_than_the_shown_one_is_a_conflict() {
    let world = World::with_story();
    let shown = world.shown("scene-0101");
    world.files.edit(SCENE, "# scene-0101, rewritten\n");
    assert_refused(
        condemn(&world, "scene-0101", Some(shown)),
        FailureKind::Conflict,
        "changed since it was shown",
    );
    assert_eq!(world.status("scene-0101"), Status::Draft);
}

#[test]
fn a_condemnation_names_its_reason_in_the_node() {
    let world = World::with_story();
    condemn(&world, "chapter-01", None).unwrap();
    let view = show_node(&world.ctx(), &words("chapter-01")).unwrap();
    let reason = view.invalidation_reason.unwrap();
    assert!(reason.contains("the ending gives it away"), "{reason}");
}

/// An act that names a character; the chapter below it names another one.
fn world_with_warning() -> World {
    let world = World::new();
    world
        .files
        .edit(ACT, "# act-1\n\n## Characters\n\n- Anna\n");
    world
        .files
        .edit(CHAPTER, "# chapter-01\n\n## Characters\n\n- Boris\n");
    world.approve("act-1").unwrap();
    world
}

#[test]
fn warnings_are_recorded_with_the_approval() {
    let world = world_with_warning();
    assert_eq!(
        collect_plan_warnings(&world.ctx(), &words("chapter-01"))
            .unwrap()
            .len(),
        1
    );
    world.approve("chapter-01").unwrap();
    let approval = show_node(&world.ctx(), &words("chapter-01"))
        .unwrap()
        .approval
        .unwrap();
    assert!(approval.warnings[0].contains("Boris"), "{approval:?}");
}

#[test]
fn warnings_stop_an_approval_where_the_policy_requires_force() {
    let mut world = world_with_warning();
    world.policy.consistency = ConsistencyPolicy::RequireForce;
    assert_refused(
        world.approve("chapter-01"),
        FailureKind::Refused,
        "policy.consistency is `require-force`: ",
    );
    approve_with_force(&world, "chapter-01").unwrap();
    assert_eq!(world.status("chapter-01"), Status::Approved);
}

#[test]
fn keeping_binds_the_approval_to_the_new_parent_text() {
    let world = stale_story();
    keep(&world, "chapter-01", None).unwrap();
    assert_eq!(
        world.statuses(),
        "aaa",
        "the scene was stale by its chapter"
    );
    // Kept under this text of the act: the next change makes it stale again.
    world.files.edit(ACT, "# act-1, a third way\n");
    world.approve("act-1").unwrap();
    assert_eq!(world.status("chapter-01"), Status::RequiresRevalidation);
}

#[test]
fn keeping_what_is_not_stale_is_refused() {
    let world = World::with_story();
    assert_refused(
        keep(&world, "chapter-01", None),
        FailureKind::Refused,
        "there is nothing to revalidate",
    );
}

#[test]
fn keeping_below_a_stale_parent_is_refused() {
    let world = stale_story();
    assert_refused(
        keep(&world, "scene-0101", None),
        FailureKind::Refused,
        "parent `act-1/chapter-01` is",
    );
}

#[test]
fn keeping_another_text_than_the_shown_one_is_a_conflict() {
    let world = World::with_story();
    let shown = world.shown("chapter-01");
    world.files.edit(CHAPTER, "# chapter-01, longer\n");
    world.approve("chapter-01").unwrap();
    world.files.edit(ACT, "# act-1, another way\n");
    world.approve("act-1").unwrap();
    assert_refused(
        keep(&world, "chapter-01", Some(shown)),
        FailureKind::Conflict,
        "changed since it was shown",
    );
    assert_eq!(world.status("chapter-01"), Status::RequiresRevalidation);
}

#[test]
fn under_the_human_policy_an_agent_cannot_keep_an_approved_text() {
    let mut world = stale_story();
    world.policy.approval = ApprovalPolicy::Human;
    let request = KeepRequest {
        node: words("chapter-01"),
        force: Force::Yes,
        shown: None,
    };
    assert_refused(
        keep_one(&world.agent("s"), &request),
        FailureKind::Refused,
        "only a person may approve",
    );
}

#[test]
fn keep_all_goes_from_the_top_down_and_reports_what_it_refused() {
    let mut world = stale_story();
    let other = "acts/act-1/chapters/chapter-02/plan.md";
    world.files.edit(other, "# chapter-02\n");
    world.approve("chapter-02").unwrap();
    world.files.edit(ACT, "# act-1, a third way\n");
    world.approve("act-1").unwrap();
    world
        .files
        .edit(ACT, "# act-1, a third way\n\n## Characters\n\n- Anna\n");
    world.approve("act-1").unwrap();
    world.policy.consistency = ConsistencyPolicy::RequireForce;
    let before = world.head();
    let outcome = keep_all(&world.ctx(), &[], Force::No, None).unwrap();
    // One operation, so that one undo reverts all of it.
    assert_eq!(outcome.operation, Some(before.next_id()));
    assert_eq!(world.head(), before.next_id());
    let kept: Vec<&str> = outcome.kept.iter().map(|node| node.path.as_str()).collect();
    assert_eq!(kept, ["act-1/chapter-01", "act-1/chapter-02"]);
    assert_eq!(outcome.refused.len(), 0, "{:?}", outcome.refused);
    assert_eq!(world.statuses(), "aaa");
}

#[test]
fn keep_all_keeps_only_what_was_shown() {
    let world = stale_story();
    let other = "acts/act-1/chapters/chapter-02/plan.md";
    world.files.edit(other, "# chapter-02\n");
    world.approve("chapter-02").unwrap();
    world.files.edit(ACT, "# act-1, a third way\n");
    world.approve("act-1").unwrap();
    let views = review_all(&world.ctx(), &[]).unwrap();
    let asked = |paths: &[&str]| -> Vec<AskedQuestion> {
        let wanted = views.iter().filter(|view| paths.contains(&&*view.path));
        let asked = wanted.map(|view| AskedQuestion {
            path: view.path.clone(),
            version: view.version_hash.unwrap(),
            parent_version: view.current_parent_hash,
            asked: world.ctx().actor,
            overrides: Force::No,
        });
        asked.collect()
    };
    let both = ["act-1/chapter-01", "act-1/chapter-02"];
    // The parent's text is another one than was shown.
    world.files.edit(ACT, "# act-1, a fourth way\n");
    world.approve("act-1").unwrap();
    let outcome = keep_all(&world.ctx(), &[], Force::No, Some(&asked(&both))).unwrap();
    assert!(outcome.kept.is_empty(), "{outcome:?}");
    assert_eq!(outcome.refused.len(), 3, "{outcome:?}");
    world.files.edit(ACT, "# act-1, a third way\n");
    world.approve("act-1").unwrap();
    // One of them was not in the list.
    let outcome = keep_all(&world.ctx(), &[], Force::No, Some(&asked(&both[..1]))).unwrap();
    assert_eq!(
        (outcome.kept.len(), outcome.refused.len()),
        (1, 1),
        "{outcome:?}"
    );
    assert!(
        outcome.refused[0]
            .reason
            .contains("after the list was shown")
    );
}

#[test]
fn a_review_of_a_stale_node_shows_what_changed_in_the_parent() {
    let world = stale_story();
    let view = review_one(&world.ctx(), &words("chapter-01")).unwrap();
    let changes = view.parent_changes.unwrap();
    assert!(changes.unified.contains("+# act-1, another way"));
    assert!(changes.unified.contains("-# act-1"));
    // The scene is not listed before its chapter is decided on.
    let all = review_all(&world.ctx(), &[]).unwrap();
    assert_eq!(all[0].entity_id, "chapter-01");
}

/// A draft has no decision that could be renewed: the one about its parent settles it.
#[test]
fn a_stale_draft_cannot_be_kept_and_is_a_draft_again_once_its_parent_is_approved() {
    let world = World::with_story();
    world.files.edit(CHAPTER, "# chapter-01, rewritten\n");
    world.files.edit(ACT, "# act-1, another way\n");
    let view = review_one(&world.ctx(), &words("chapter-01")).unwrap();
    assert!(
        view.choices[0].starts_with("tl approve act-1 "),
        "{:?}",
        view.choices
    );
    assert!(
        !view.choices.iter().any(|choice| choice.contains("--keep")),
        "{:?}",
        view.choices
    );
    let changes = view.parent_changes.unwrap();
    assert!(
        changes.unified.contains("-# act-1\n+# act-1, another way"),
        "from the approved act to the present one: {}",
        changes.unified
    );
    let request = KeepRequest {
        node: words("chapter-01"),
        force: Force::Yes,
        shown: None,
    };
    assert_refused(
        keep_one(&world.ctx(), &request),
        FailureKind::Refused,
        "parent `act-1` is `draft`, expected `approved`",
    );
    world.approve("act-1").unwrap();
    assert_eq!(world.statuses(), "adr");
}

#[test]
fn refusals_name_the_plan_so_that_the_step_finds_it() {
    let mut world = World::with_story();
    for (file, node) in [
        ("acts/act-2/strategic-plan.md", "act-2"),
        ("acts/act-2/chapters/chapter-01/plan.md", "act-2/chapter-01"),
    ] {
        world.files.edit(file, &format!("# {node}\n"));
        if node == "act-2" {
            world.approve(node).unwrap();
        }
    }
    world.policy.approval = ApprovalPolicy::Human;
    let request = ApproveRequest {
        node: words("act-2/chapter-01"),
        force: Force::No,
        shown: None,
    };
    let refused = approve_node(&world.agent("s"), &request).unwrap_err();
    assert!(
        refused.message.contains("`act-2/chapter-01`")
            && refused.next_steps[0].contains("`/approve-plan act-2/chapter-01`"),
        "{refused:?}"
    );
    let refused = approve_node(&world.ctx(), &request).unwrap_err();
    assert_eq!(
        refused.next_steps[0],
        "tl diff act-2/chapter-01   # read it"
    );
    let kept = keep(&world, "act-2/chapter-01", None).unwrap_err();
    assert!(kept.message.contains("`act-2/chapter-01`"), "{kept:?}");
}

#[test]
fn keeping_below_a_draft_leads_to_the_topmost_plan_without_a_decision() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1, another way\n");
    let request = KeepRequest {
        node: words("scene-0101"),
        force: Force::No,
        shown: None,
    };
    let first = ["tl approve act-1   # it comes first"];
    let refused = keep_one(&world.ctx(), &request).unwrap_err();
    assert_eq!(refused.next_steps, first);
    let kept = keep_all(&world.ctx(), &words("act-1"), Force::No, None).unwrap();
    assert_eq!((kept.kept.len(), kept.refused.len()), (0, 2));
    assert_eq!(kept.next_steps, first);
}
