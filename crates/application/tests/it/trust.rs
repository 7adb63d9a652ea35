//! What agents may not do: issue tokens, loosen the policy, store secrets.

use application::comment::{add_comment, list_comments};
use application::list_versions::list_versions;
use application::record_policy::{PolicyOrigin, load_recorded_policy, record_policy};
use application::restore_version::restore_version;
use application::sessions::declare_intent::{IntentRequest, declare_intent};
use application::tickets::{NewTicket, create_ticket};
use application::tokens::{
    CreateTokenRequest, TokenView, create_token, list_audit_log, list_tokens, revoke_token,
};
use application::undo::{UndoTarget, undo_operations};
use application::{Context, Failure, FailureKind};
use domain::approval::Force;
use domain::authorization::Scope;
use domain::ids::Principal;
use domain::node::Status;
use domain::operation::Verb;
use domain::policy::{ApprovalPolicy, Policy};
use domain::profile::built_in_profile;
use domain::session::SessionMode;
use domain::settings::Storage;
use domain::token::TokenState;
use domain::trust_policy::TrustPolicy;

use crate::life::engine;
use crate::world::{ACT, World, assert_refused, words};

const KEY: &str = "sk-ant-api03-Zx81kQpLmN0aRtYuVwEe7Gh2Qz3A";

/// A world on SQLite: tokens are rows of the database, which the store in memory does not have.
fn with_database() -> (tempfile::TempDir, World) {
    let folder = tempfile::tempdir().unwrap();
    let world = World::on(engine(folder.path(), Storage::Sqlite));
    (folder, world)
}

/// The user of the machine.
fn user() -> Principal {
    Principal::Human("mara".to_owned())
}

fn token(
    ctx: &Context<'_>,
    principal: &str,
    scope: Scope,
    lasts: Option<i64>,
) -> Result<TokenView, Failure> {
    let request = CreateTokenRequest {
        name: "laptop".to_owned(),
        principal: principal.to_owned(),
        scope,
        lasts,
        secret: format!("tl_{principal}_{scope}"),
        user: user(),
    };
    create_token(ctx, &request)
}

#[test]
fn an_agent_neither_creates_nor_revokes_tokens() {
    let (_folder, world) = with_database();
    let agent = world.agent("s");
    assert_refused(
        token(&agent, "agent:ci/1", Scope::Read, None),
        FailureKind::Refused,
        "by a person",
    );
    let made = token(&world.ctx(), "agent:ci/1", Scope::Read, None).unwrap();
    assert_refused(
        revoke_token(&agent, made.id, &user()),
        FailureKind::Refused,
        "by a person",
    );
}

#[test]
fn the_token_of_an_agent_has_no_scope_to_approve() {
    let (_folder, world) = with_database();
    for scope in [Scope::Approve, Scope::Admin] {
        let outcome = token(&world.ctx(), "agent:ci/1", scope, None);
        assert_eq!(outcome.unwrap_err().kind, FailureKind::Refused);
    }
    token(&world.ctx(), "human:anna", Scope::Approve, None).unwrap();
}

#[test]
fn a_token_without_a_principal_or_a_name_is_refused() {
    let (_folder, world) = with_database();
    assert_eq!(
        token(&world.ctx(), "anna", Scope::Read, None)
            .unwrap_err()
            .kind,
        FailureKind::Invalid
    );
    assert!(list_tokens(&world.ctx()).unwrap().is_empty());
}

#[test]
fn a_token_expires_and_a_revoked_one_stays_listed() {
    let (_folder, world) = with_database();
    let short = token(&world.ctx(), "human:anna", Scope::Read, Some(60_000)).unwrap();
    let long = token(&world.ctx(), "human:boris", Scope::Read, None).unwrap();
    world.clock.advance_seconds(120);
    revoke_token(&world.ctx(), long.id, &user()).unwrap();
    let states: Vec<(u64, TokenState)> = list_tokens(&world.ctx())
        .unwrap()
        .into_iter()
        .map(|token| (token.id, token.state))
        .collect();
    assert!(
        states.contains(&(short.id, TokenState::Expired)),
        "{states:?}"
    );
    assert!(
        states.contains(&(long.id, TokenState::Revoked)),
        "{states:?}"
    );
}

#[test]
fn revoking_twice_is_one_line_of_the_audit_log() {
    let (_folder, world) = with_database();
    let made = token(&world.ctx(), "human:anna", Scope::Read, None).unwrap();
    revoke_token(&world.ctx(), made.id, &user()).unwrap();
    revoke_token(&world.ctx(), made.id, &user()).unwrap();
    let actions: Vec<String> = list_audit_log(&world.ctx(), 10)
        .unwrap()
        .into_iter()
        .map(|line| line.action)
        .collect();
    assert_eq!(actions, ["token revoke", "token create"]);
    assert_refused(
        revoke_token(&world.ctx(), 99, &user()),
        FailureKind::NotFound,
        "no token `99`",
    );
}

#[test]
fn a_store_without_a_database_has_no_tokens() {
    let world = World::new();
    assert_refused(
        list_tokens(&world.ctx()),
        FailureKind::Refused,
        "no token store",
    );
}

fn policy(approval: ApprovalPolicy) -> TrustPolicy {
    TrustPolicy::from_policy(&Policy {
        approval,
        ..Policy::default()
    })
}

/// A story whose act an agent approved.
fn approved_by_agent() -> World {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    let request = application::approve::ApproveRequest {
        node: words("act-1"),
        force: Force::No,
        shown: None,
    };
    application::approve::approve_node(&world.agent("s"), &request).unwrap();
    world
}

fn status_in_store(world: &World) -> Status {
    let state = world.store.begin_read().unwrap();
    state.nodes_by_alias("act-1").unwrap()[0].status()
}

#[test]
fn a_stricter_policy_is_recorded_with_the_statuses_it_changes() {
    let world = approved_by_agent();
    let human = policy(ApprovalPolicy::Human);
    record_policy(&world.agent("s"), &human, PolicyOrigin::File)
        .unwrap()
        .expect("an operation");
    assert_eq!(status_in_store(&world), Status::Draft);
    let again = record_policy(&world.agent("s"), &human, PolicyOrigin::File).unwrap();
    assert_eq!(again, None, "recorded once");
}

#[test]
fn the_default_policy_of_a_new_project_is_not_recorded() {
    let world = World::new();
    let anyone = policy(ApprovalPolicy::Anyone);
    assert_eq!(
        record_policy(&world.ctx(), &anyone, PolicyOrigin::File).unwrap(),
        None
    );
    let state = world.store.begin_read().unwrap();
    assert_eq!(load_recorded_policy(&*state).unwrap(), None);
}

#[test]
fn a_process_with_an_older_looser_policy_is_held_to_the_recorded_one() {
    let world = World::new();
    world.files.edit(ACT, "# act-1\n");
    let human = policy(ApprovalPolicy::Human);
    record_policy(&world.ctx(), &human, PolicyOrigin::File).unwrap();
    // `world.policy` still says `anyone`, as in a server that was started before.
    let request = application::approve::ApproveRequest {
        node: words("act-1"),
        force: Force::No,
        shown: None,
    };
    assert_refused(
        application::approve::approve_node(&world.agent("s"), &request),
        FailureKind::Refused,
        "only a person may approve",
    );
}

#[test]
fn accepting_a_looser_policy_brings_the_agents_approval_back() {
    let world = approved_by_agent();
    record_policy(
        &world.ctx(),
        &policy(ApprovalPolicy::Human),
        PolicyOrigin::File,
    )
    .unwrap();
    record_policy(
        &world.ctx(),
        &policy(ApprovalPolicy::Anyone),
        PolicyOrigin::Accepted,
    )
    .unwrap();
    assert_eq!(status_in_store(&world), Status::Approved);
    let state = world.store.begin_read().unwrap();
    let newest = &state.load_operations(None, 1).unwrap()[0];
    assert_eq!((newest.verb, newest.by.is_human()), (Verb::Policy, true));
}

#[test]
fn a_change_of_policy_cannot_be_undone() {
    let world = World::new();
    let operation = record_policy(
        &world.ctx(),
        &policy(ApprovalPolicy::Human),
        PolicyOrigin::File,
    )
    .unwrap()
    .unwrap();
    assert_refused(
        undo_operations(&world.ctx(), UndoTarget::Operation(operation)),
        FailureKind::Refused,
        "changed the policy",
    );
}

#[test]
fn a_secret_in_a_plan_is_masked_in_the_stored_text_and_not_in_the_file() {
    let world = World::new();
    let text = format!("# act-1\n\nThe key is {KEY}.\n");
    world.files.edit(ACT, &text);
    let version = list_versions(&world.ctx(), &words("act-1"))
        .unwrap()
        .versions[0]
        .clone();
    assert!(version.masked);
    let state = world.store.begin_read().unwrap();
    let stored = state.load_text(version.version_hash).unwrap().unwrap();
    assert!(!stored.contains(KEY), "{stored}");
    assert_eq!(world.files.text(ACT), Some(text));
}

#[test]
fn a_masked_version_is_not_restored_over_a_file() {
    let world = World::new();
    world
        .files
        .edit(ACT, &format!("# act-1\n\nThe key is {KEY}.\n"));
    world.status("act-1");
    world.files.edit(ACT, "# act-1\n\nNo key.\n");
    world.status("act-1");
    let outcome = restore_version(&world.ctx(), &words("act-1 -1"), None);
    assert_eq!(outcome.unwrap_err().kind, FailureKind::Refused);
    assert_eq!(
        world.files.text(ACT).as_deref(),
        Some("# act-1\n\nNo key.\n")
    );
}

#[test]
fn secrets_in_comments_are_masked_before_they_are_stored() {
    let world = World::with_story();
    add_comment(&world.ctx(), &words("act-1"), &format!("use {KEY}")).unwrap();
    let all = list_comments(&world.ctx(), &words("act-1")).unwrap();
    assert!(!all[0].text.contains(KEY), "{}", all[0].text);
}

#[test]
fn secrets_in_titles_reach_neither_file_nor_folder() {
    let world = World::with_tickets();
    let request = NewTicket {
        title: format!("Rotate {KEY}"),
        id: None,
        parent: None,
        kind: "task".to_owned(),
        ..NewTicket::with_title("")
    };
    create_ticket(&world.ctx(), &request).unwrap();
    for path in world.files.paths() {
        let text = world.files.text(&path).unwrap();
        assert!(
            !text.contains(KEY) && !path.contains(&KEY.to_lowercase()),
            "{path}: {text}"
        );
    }
}

#[test]
fn secrets_in_an_intent_are_masked_in_the_session_file() {
    let world = World {
        profiles: vec![built_in_profile("trail").unwrap()],
        ..World::new()
    };
    let request = IntentRequest {
        text: format!("try {KEY}"),
        mode: SessionMode::default(),
    };
    let place = declare_intent(&world.agent("s"), &request).unwrap();
    let text = world.files.text(&place.session_file).unwrap();
    assert!(!text.contains(KEY), "{text}");
}
