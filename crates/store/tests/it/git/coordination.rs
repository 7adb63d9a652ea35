//! Coordination against real repositories and worktrees.

use domain::decision::DecisionId;
use domain::ports::{
    ClaimChange, Coordination, DecisionFolder, HeldClaim, NodeKey, SessionActivity, StoreFault,
};
use domain::time::Timestamp;
use domain::work::claim::Claim;
use store::{DiskDecisions, DiskGit, RepositoryCoordination};

use super::Repository;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn key(path: &str) -> NodeKey {
    NodeKey {
        profile: "tickets".to_owned(),
        path: path.to_owned(),
    }
}

/// Claims a node without asking whether it is free, and returns the token.
fn put(git: &DiskGit, path: &str, session: &str) -> u64 {
    let mut given = 0;
    RepositoryCoordination::open(git)
        .change_claims(&mut |_, token| {
            given = token;
            ClaimChange::Put(
                key(path),
                Claim {
                    session: session.to_owned(),
                    token,
                    since: at(0),
                    until: at(1_000),
                    shared: true,
                },
            )
        })
        .unwrap();
    given
}

fn active(session: &'static str, touched: &[String], now: i64) -> SessionActivity<'static> {
    SessionActivity {
        session,
        focus: None,
        touched: Vec::leak(touched.to_vec()),
        at: at(now),
    }
}

fn paths(claims: &[HeldClaim]) -> Vec<&str> {
    claims.iter().map(|held| held.node.path.as_str()).collect()
}

#[test]
fn tokens_grow_also_after_claims_were_removed() {
    let repository = Repository::new();
    let git = DiskGit::open(repository.root());
    let coordination = RepositoryCoordination::open(&git);
    assert!(coordination.is_shared());
    let first = put(&git, "1", "a");
    coordination
        .change_claims(&mut |_, _| ClaimChange::Remove(key("1")))
        .unwrap();
    assert!(coordination.list_claims().unwrap().is_empty());
    assert!(put(&git, "1", "b") > first);
}

#[test]
fn worktrees_share_claims_and_projects_of_one_repository_do_not() {
    let repository = Repository::new();
    repository.git(&["worktree", "add", "-q", "beside", "-b", "beside"]);
    std::fs::create_dir(repository.path("nested")).unwrap();
    put(&DiskGit::open(repository.root()), "1", "a");
    let git = DiskGit::open(&repository.path("beside"));
    let beside = RepositoryCoordination::open(&git);
    let claims = beside.list_claims().unwrap();
    assert_eq!(paths(&claims), ["1"]);
    assert!(!claims[0].worktree.is_here);
    assert_eq!(claims[0].worktree.branch.as_deref(), Some("main"));
    let git = DiskGit::open(&repository.path("nested"));
    let nested = RepositoryCoordination::open(&git);
    assert!(nested.list_claims().unwrap().is_empty());
}

#[test]
fn a_worktree_keeps_its_claims_when_it_is_moved_and_loses_them_when_it_is_removed() {
    let repository = Repository::new();
    repository.git(&["worktree", "add", "-q", "beside", "-b", "beside"]);
    put(&DiskGit::open(&repository.path("beside")), "1", "a");
    let git = DiskGit::open(repository.root());
    let coordination = RepositoryCoordination::open(&git);
    repository.git(&["worktree", "move", "beside", "moved"]);
    let claims = coordination.list_claims().unwrap();
    assert!(claims[0].worktree.folder.ends_with("moved"), "{claims:?}");
    // Deleted without git, which does not know yet.
    std::fs::remove_dir_all(repository.path("moved")).unwrap();
    assert!(coordination.list_claims().unwrap().is_empty());
}

#[test]
fn a_session_is_recorded_again_only_when_something_is_new() {
    let repository = Repository::new();
    let git = DiskGit::open(repository.root());
    let coordination = RepositoryCoordination::open(&git);
    let heard = || coordination.list_sessions(at(0)).unwrap()[0].heard;
    let file = |number: usize| format!("src/{number}.rs");
    coordination
        .record_activity(&active("a", &[file(1)], 1_000))
        .unwrap();
    coordination
        .record_activity(&active("a", &[file(1)], 2_000))
        .unwrap();
    assert_eq!(heard(), at(1_000), "nothing new within half a minute");
    coordination
        .record_activity(&active("a", &[file(2)], 3_000))
        .unwrap();
    assert_eq!(heard(), at(3_000));
    let many: Vec<String> = (0..300).map(file).collect();
    coordination
        .record_activity(&active("a", &many, 4_000))
        .unwrap();
    let sessions = coordination.list_sessions(at(0)).unwrap();
    assert_eq!(sessions[0].touched.len(), 200);
    assert!(coordination.list_sessions(at(5_000)).unwrap().is_empty());
    coordination.end_session("a").unwrap();
    assert!(coordination.list_sessions(at(0)).unwrap().is_empty());
}

#[test]
fn an_id_is_reserved_once_and_again_for_the_same_request_in_the_same_worktree() {
    let repository = Repository::new();
    repository.git(&["worktree", "add", "-q", "beside", "-b", "beside"]);
    let main = DiskGit::open(repository.root());
    let linked = DiskGit::open(&repository.path("beside"));
    let here = RepositoryCoordination::open(&main);
    let beside = RepositoryCoordination::open(&linked);
    let reserve = |coordination: &RepositoryCoordination<'_>, id: &str, request: &str| {
        coordination
            .reserve_id("tickets/ticket", id, request, at(0))
            .unwrap()
    };
    assert!(reserve(&here, "001", "x"));
    assert!(reserve(&here, "001", "x"));
    assert!(!reserve(&here, "001", "y"));
    assert!(!reserve(&beside, "001", "x"));
    assert!(reserve(&beside, "002", "x"));
}

#[test]
fn decisions_made_here_and_adoption_are_known_in_every_worktree() {
    let repository = Repository::new();
    repository.git(&["worktree", "add", "-q", "beside", "-b", "beside"]);
    let here = DiskDecisions::open(&DiskGit::open(repository.root())).unwrap();
    let beside = DiskDecisions::open(&DiskGit::open(&repository.path("beside"))).unwrap();
    assert!(beside.made_here().unwrap().is_empty());
    assert!(!beside.is_adopted());
    assert!(
        !repository.path(".git/throughline").exists(),
        "reading creates nothing"
    );
    let id = DecisionId::parse_id(&"ab".repeat(20)).unwrap();
    here.mark_made_here(std::slice::from_ref(&id)).unwrap();
    here.mark_adopted().unwrap();
    assert!(beside.made_here().unwrap().contains(&id));
    assert!(beside.is_adopted());
}

#[test]
fn outside_a_repository_nothing_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    let git = DiskGit::open(folder.path());
    assert!(!RepositoryCoordination::open(&git).is_shared());
}

#[test]
fn a_cut_off_line_of_a_session_costs_that_line_alone() {
    let repository = Repository::new();
    let git = DiskGit::open(repository.root());
    let coordination = RepositoryCoordination::open(&git);
    let file = |number: usize| format!("src/{number}.rs");
    coordination
        .record_activity(&active("a", &[file(1)], 1_000))
        .unwrap();
    let folder = repository.path(".git/throughline/sessions");
    let path = std::fs::read_dir(&folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{whole}{{\"at\":2000,\"sess")).unwrap();
    coordination
        .record_activity(&active("a", &[file(2)], 3_000))
        .unwrap();
    let sessions = coordination.list_sessions(at(0)).unwrap();
    assert_eq!(sessions[0].touched, [file(2), file(1)]);
    assert_eq!(sessions[0].heard, at(3_000));
}

#[test]
fn claims_of_a_newer_version_are_refused() {
    let repository = Repository::new();
    let git = DiskGit::open(repository.root());
    put(&git, "1", "a");
    let path = repository.path(".git/throughline/claims.json");
    std::fs::write(&path, r#"{"format":2,"rows":[]}"#).unwrap();
    let coordination = RepositoryCoordination::open(&git);
    assert!(matches!(
        coordination.list_claims(),
        Err(StoreFault::Newer { found: 2, known: 1 })
    ));
}
