//! Completions that a plan file states and that git moves about, with fake ports.

use std::time::Duration;

use application::check_state::check_state;
use application::evidence::{add_evidence, run_evidence};
use application::project_status::load_project_status;
use application::set_progress::{ProgressRequest, set_progress};
use application::show_node::show_node;
use application::show_tree::show_tree;
use application::tickets::list_scenarios;
use application::{Context, FailureKind, Notice};
use domain::node::Progress;
use domain::work::evidence::ProofCheck;
use testkit::FakeGit;

use crate::world::{World, assert_refused, words};

const TICKET: &str = "tickets/017-quality/ticket.md";
const CHILD: &str = "tickets/017a-loc/ticket.md";
const SCENARIOS: &str = "tickets/017-quality/test-definitions.md";
const OPEN: &str = "---\nid: '017'\nphase: implement\n---\n# Quality\n";
const DONE: &str = "---\nid: '017'\nphase: done\n---\n# Quality\n";

/// `017` with a scenario, in a repository where every file is committed.
struct Repository {
    world: World,
    git: FakeGit,
}

impl Repository {
    fn new() -> Self {
        let here = Self {
            world: World::with_tickets_of(World::new()),
            git: FakeGit::with_commit(),
        };
        here.world.files.edit(TICKET, OPEN);
        here.world.files.edit(SCENARIOS, "Scenario: one\n");
        here.look();
        here
    }

    fn ctx(&self) -> Context<'_> {
        self.world
            .ctx()
            .with_git_and_session(&self.git, "s".to_owned())
    }

    fn look(&self) -> Vec<Notice> {
        let ctx = self.ctx();
        show_tree(&ctx, &[]).unwrap();
        ctx.take_notices()
    }

    /// Lets git write a file: a checkout, a merge, a reset.
    fn bring(&self, text: &str) -> Vec<Notice> {
        self.world.files.edit(TICKET, text);
        let files = [TICKET.to_owned(), SCENARIOS.to_owned()];
        self.git.checkout("main", &files, &files);
        self.look()
    }

    fn progress(&self, node: &str) -> Progress {
        show_node(&self.ctx(), &words(node)).unwrap().progress
    }
}

#[test]
fn a_claim_that_was_refused_here_stays_refused_when_git_brings_it_again() {
    let here = Repository::new();
    here.world.files.edit(TICKET, DONE);
    assert!(matches!(
        &here.look()[..],
        [
            ..,
            Notice::Unproved {
                is_complete: false,
                ..
            },
            Notice::Changes { .. }
        ]
    ));
    here.git.commit("docs: done");
    here.bring(OPEN);
    let notices = here.bring(DONE);
    let is_refused = |one: &Notice| {
        matches!(
            one,
            Notice::Unproved {
                is_complete: false,
                ..
            }
        )
    };
    assert!(notices.iter().any(is_refused), "{notices:?}");
    assert_ne!(here.progress("017"), Progress::Complete);
    assert_ne!(here.progress("017/one"), Progress::Complete);
}

#[test]
fn a_claim_that_was_committed_here_is_judged_although_git_moved_it() {
    let here = Repository::new();
    here.git.commit_files("docs: done", &[TICKET]);
    here.bring(DONE);
    assert_ne!(here.progress("017"), Progress::Complete);
}

#[test]
fn failed_evidence_and_open_children_outrank_a_file_that_git_brought() {
    let here = Repository::new();
    let asks = ProofCheck::File {
        path: "report.md".to_owned(),
    };
    add_evidence(&here.ctx(), &words("017"), asks).unwrap();
    run_evidence(&here.ctx(), &words("017"), Duration::from_secs(9)).unwrap();
    here.bring(DONE);
    assert_ne!(here.progress("017"), Progress::Complete);

    let here = Repository::new();
    let child = "---\nid: 017a\nparent: '017'\nphase: implement\n---\n# Lines\n";
    here.world.files.edit(CHILD, child);
    here.look();
    here.bring(DONE);
    assert_ne!(here.progress("017"), Progress::Complete);
}

#[test]
fn status_and_check_name_what_came_finished_until_somebody_decides() {
    let here = Repository::new();
    here.bring(DONE);
    assert_eq!(here.progress("017"), Progress::Complete);
    let status = load_project_status(&here.ctx()).unwrap();
    assert_eq!(status.unproved, ["017"]);
    let check = check_state(&here.ctx()).unwrap();
    let finding = check
        .findings
        .iter()
        .find(|one| one.kind == "unproved-completion");
    assert!(check.ok && finding.is_some(), "{check:?}");
    for progress in [Progress::Active, Progress::Complete] {
        let request = ProgressRequest {
            node: words("017"),
            progress,
        };
        set_progress(&here.ctx(), &request).unwrap();
        assert!(
            load_project_status(&here.ctx())
                .unwrap()
                .unproved
                .is_empty()
        );
    }
}

#[test]
fn a_ticket_that_is_back_without_its_open_scenarios_is_not_complete() {
    let here = Repository::new();
    here.world.files.delete(TICKET);
    here.world.files.delete(SCENARIOS);
    let none: [String; 0] = [];
    let files = [TICKET.to_owned(), SCENARIOS.to_owned()];
    here.git.set_index(&none, &files);
    here.look();
    assert!(show_node(&here.ctx(), &words("017")).is_err());
    here.world.files.edit(TICKET, DONE);
    let notices = here.look();
    let names_it =
        |one: &Notice| matches!(one, Notice::Unproved { why, .. } if why.contains("`017/one`"));
    assert!(notices.iter().any(names_it), "{notices:?}");
    assert_ne!(here.progress("017"), Progress::Complete);
}

#[test]
fn a_deleted_open_child_is_told_and_keeps_its_ticket_open() {
    let here = Repository::new();
    let done_scenario = ProgressRequest {
        node: words("017/one"),
        progress: Progress::Complete,
    };
    set_progress(&here.ctx(), &done_scenario).unwrap();
    let child = "---\nid: 017a\nparent: '017'\nphase: implement\n---\n# Lines\n";
    here.world.files.edit(CHILD, child);
    here.look();
    here.world.files.delete(CHILD);
    here.git.set_index(&[], &[CHILD.to_owned()]);
    let notices = here.look();
    let is_told = |one: &Notice| matches!(one, Notice::WorkLeft { why } if why.contains("`017a` was deleted before it was done"));
    assert!(notices.iter().any(is_told), "{notices:?}");
    let request = ProgressRequest {
        node: words("017"),
        progress: Progress::Complete,
    };
    assert_refused(
        set_progress(&here.ctx(), &request),
        FailureKind::Refused,
        "`017a` is part of it and was deleted before it was done",
    );
}

#[test]
fn a_deleted_open_need_keeps_its_ticket_open() {
    let here = Repository::new();
    let done_scenario = ProgressRequest {
        node: words("017/one"),
        progress: Progress::Complete,
    };
    set_progress(&here.ctx(), &done_scenario).unwrap();
    let needed = "tickets/018-colours/ticket.md";
    here.world
        .files
        .edit(needed, "---\nid: '018'\nphase: intake\n---\n# Colours\n");
    let needing = OPEN.replace("phase", "needs: ['018']\nphase");
    here.world.files.edit(TICKET, &needing);
    here.look();
    here.world.files.delete(needed);
    here.git.set_index(&[], &[needed.to_owned()]);
    here.look();
    let request = ProgressRequest {
        node: words("017"),
        progress: Progress::Complete,
    };
    assert_refused(
        set_progress(&here.ctx(), &request),
        FailureKind::Refused,
        "it needs `018`, which was deleted before it was done",
    );
}

#[test]
fn commits_from_before_a_scenario_was_written_are_none_of_its_steps() {
    let here = Repository::new();
    here.world.files.edit(SCENARIOS, "");
    here.look();
    application::move_focus::move_focus(
        &here.ctx(),
        &application::move_focus::FocusMove::Enter {
            node: words("017"),
            claim: false,
        },
    )
    .unwrap();
    for step in ["test", "feat", "refactor"] {
        here.git
            .commit_files(&format!("{step}: one"), &["src/main.rs"]);
    }
    here.world.files.edit(SCENARIOS, "Scenario: two\n");
    here.look();
    let is_done = || {
        let listed = list_scenarios(&here.ctx(), &words("017")).unwrap();
        listed.scenarios[0].progress == Progress::Complete
    };
    assert!(!is_done());
    for step in ["test", "feat", "refactor"] {
        here.git
            .commit_files(&format!("{step}: two"), &["src/main.rs"]);
    }
    assert!(is_done());
    // The listing recorded nothing; the commits count all the same.
    here.world.files.edit(SCENARIOS, "");
    let notices = here.look();
    let is_lost = |one: &Notice| matches!(one, Notice::ScenarioRemoved { .. });
    assert!(!notices.iter().any(is_lost), "{notices:?}");
}

#[test]
fn changed_steps_of_a_finished_scenario_are_told() {
    let here = Repository::new();
    here.world
        .files
        .edit(SCENARIOS, "Scenario: one\nGiven a basket\n");
    let request = ProgressRequest {
        node: words("017/one"),
        progress: Progress::Complete,
    };
    set_progress(&here.ctx(), &request).unwrap();
    here.world
        .files
        .edit(SCENARIOS, "Scenario: one\nGiven an empty shop\n");
    let notices = here.look();
    let is_told = |one: &Notice| matches!(one, Notice::WorkLeft { why } if why.contains("its steps were changed"));
    assert!(notices.iter().any(is_told), "{notices:?}");
}
