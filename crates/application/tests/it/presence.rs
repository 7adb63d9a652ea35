//! Plans that go and come with branches, and plans that move to other files.

use application::approve::{ApproveRequest, approve_node};
use application::comment::{add_comment, list_comments};
use application::list_versions::list_versions;
use application::move_node::{MoveRequest, move_node};
use application::place_file::place_file;
use application::rebuild_state::rebuild_state;
use application::restore_version::restore_version;
use application::set_progress::{ProgressRequest, set_progress};
use application::show_node::show_node;
use application::show_tree::show_tree;
use application::undo::{UndoTarget, undo_operations};
use application::{Context, FailureKind, Notice};
use domain::approval::Force;
use domain::ids::NodeId;
use domain::node::{Content, Progress, Status};
use proptest::prelude::*;
use testkit::FakeGit;

use crate::world::{ACT, CHAPTER, SCENE, World, assert_refused, words};

/// A world in a repository.
struct Repository {
    world: World,
    git: FakeGit,
}

impl Repository {
    fn new(world: World) -> Self {
        let git = FakeGit::with_commit();
        let repository = Self { world, git };
        let files = repository.world.files.paths();
        repository.git.checkout("feat", &files, &files);
        repository.look();
        repository
    }

    fn ctx(&self) -> Context<'_> {
        self.world
            .ctx()
            .with_git_and_session(&self.git, "s1".to_owned())
    }

    /// Scans everything.
    fn look(&self) -> Vec<Notice> {
        let ctx = self.ctx();
        show_tree(&ctx, &[]).unwrap();
        ctx.take_notices()
    }

    /// Checks out a branch that has these files and no others.
    fn checkout(&self, branch: &str, files: &[(String, String)]) {
        let known = self.world.files.paths();
        let tracked: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
        for path in &known {
            self.world.files.delete(path);
        }
        for (path, text) in files {
            self.world.files.edit(path, text);
        }
        let all: Vec<String> = known
            .into_iter()
            .chain(tracked.clone())
            .chain(PLANS.map(|(_, path)| path.to_owned()))
            .collect();
        self.git.checkout(branch, &tracked, &all);
    }

    fn files(&self) -> Vec<(String, String)> {
        let files = &self.world.files;
        files
            .paths()
            .into_iter()
            .filter(|path| !path.contains("/backups/"))
            .map(|path| (path.clone(), files.text(&path).unwrap()))
            .collect()
    }

    fn rename(&self, from: &str, to: &str) {
        for (path, text) in self.files() {
            if let Some(rest) = path.strip_prefix(from) {
                self.world.files.delete(&path);
                self.world.files.edit(&format!("{to}{rest}"), &text);
            }
        }
    }

    fn id(&self, alias: &str) -> Option<NodeId> {
        let state = self.world.store.begin_read().unwrap();
        let found = state.nodes_by_alias(alias).unwrap();
        found.first().map(|node| node.id)
    }

    fn status(&self, name: &str) -> Status {
        show_node(&self.ctx(), &words(name)).unwrap().status
    }
}

#[test]
fn a_plan_comes_back_from_its_branch_with_everything_attached() {
    let here = Repository::new(World::with_story());
    add_comment(&here.ctx(), &words("chapter-01"), "keep the storm").unwrap();
    let (files, id) = (here.files(), here.id("scene-0101"));
    let tree = here.world.tree();

    here.checkout("main", &[]);
    assert_refused(
        show_node(&here.ctx(), &words("scene-0101")),
        FailureKind::NotFound,
        "is not on this branch (main): it was last seen on feat, and its state is kept",
    );
    assert_eq!(here.world.tree(), "");

    here.checkout("feat", &files);
    here.look();
    assert_eq!(here.world.tree(), tree);
    assert_eq!(here.id("scene-0101"), id);
    assert_eq!(here.status("scene-0101"), Status::Approved);
    let comments = list_comments(&here.ctx(), &words("chapter-01")).unwrap();
    assert!(comments.len() == 1 && comments[0].open, "{comments:?}");
    let versions = list_versions(&here.ctx(), &words("scene-0101")).unwrap();
    assert_eq!(versions.versions.len(), 1);
}

#[test]
fn an_undo_about_a_plan_of_another_branch_says_where_it_is() {
    let here = Repository::new(World::with_story());
    let request = ProgressRequest {
        node: words("scene-0101"),
        progress: Progress::Complete,
    };
    set_progress(&here.ctx(), &request).unwrap();
    here.checkout("main", &[]);
    let refused = undo_operations(&here.ctx(), UndoTarget::Newest).unwrap_err();
    assert!(
        refused.message.contains(
            "`act-1/chapter-01/scene-0101` is not on this branch: it was last seen on feat"
        ),
        "{refused:?}"
    );
    assert_eq!(refused.next_steps, ["tl log", "git checkout feat"]);
}

#[test]
fn a_tracked_plan_that_was_deleted_is_invalid() {
    let here = Repository::new(World::with_story());
    here.world.files.delete(SCENE);
    assert_eq!(here.status("scene-0101"), Status::Invalid);

    // `git rm --cached`, or a commit of the deletion.
    let left = [ACT.to_owned(), CHAPTER.to_owned()];
    here.git
        .set_index(&left, &[ACT, CHAPTER, SCENE].map(str::to_owned));
    assert_refused(
        show_node(&here.ctx(), &words("scene-0101")),
        FailureKind::NotFound,
        "is not in the working tree",
    );
}

#[test]
fn a_parent_stays_while_a_plan_below_it_is_here() {
    let here = Repository::new(World::with_story());
    here.world.files.delete(CHAPTER);
    here.git
        .set_index(&[ACT, SCENE].map(str::to_owned), &[CHAPTER.to_owned()]);
    assert_eq!(here.status("chapter-01"), Status::Invalid);
    assert!(here.id("scene-0101").is_some());
}

#[test]
fn a_checkout_that_changes_a_plan_writes_no_backup() {
    let here = Repository::new(World::with_story());
    // A recorded change: HEAD is noted with it.
    here.world
        .files
        .edit("acts/act-2/strategic-plan.md", "# act-2\n");
    here.look();
    let mut files = here.files();
    for (path, text) in &mut files {
        if path == ACT {
            *text = "# act-1\n\nRewritten on main.\n".to_owned();
        }
    }
    here.checkout("main", &files);
    let notices = here.look();
    assert!(
        notices
            .iter()
            .any(|one| matches!(one, Notice::Changes { summary, .. }
            if summary.starts_with("checkout of main: changed: "))),
        "{notices:?}"
    );
    let backups = |here: &Repository| {
        let paths = here.world.files.paths();
        paths
            .iter()
            .filter(|path| path.contains("backups") && path.ends_with(".md"))
            .count()
    };
    assert_eq!(backups(&here), 0);

    here.world.approve("act-1").unwrap();
    here.git.set_index(&[], &[]);
    here.world.files.edit(ACT, "# act-1\n\nBy hand.\n");
    here.look();
    assert_eq!(backups(&here), 1);
}

#[test]
fn a_moved_chapter_keeps_its_node_and_its_approval() {
    let here = Repository::new(World::with_story());
    let (chapter, scene) = (here.id("chapter-01"), here.id("scene-0101"));
    here.rename(
        "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md",
        "acts/act-1/chapters/chapter-03/scenes/scene-0301-blueprint.md",
    );
    here.rename(
        "acts/act-1/chapters/chapter-01/",
        "acts/act-1/chapters/chapter-03/",
    );
    here.look();
    assert_eq!(here.id("chapter-03"), chapter);
    assert_eq!(here.id("scene-0301"), scene);
    assert_eq!(here.status("chapter-03"), Status::Approved);
    assert_eq!(here.status("scene-0301"), Status::Approved);
    assert_eq!(here.id("chapter-01"), None);
}

#[test]
fn scenes_follow_a_renamed_chapter_folder_and_get_its_number() {
    let here = Repository::new(World::with_story());
    let (chapter, scene) = (here.id("chapter-01"), here.id("scene-0101"));
    here.rename(
        "acts/act-1/chapters/chapter-01/",
        "acts/act-1/chapters/chapter-05/",
    );
    let scenes = "acts/act-1/chapters/chapter-05/scenes";
    let (was, fitting) = (
        format!("{scenes}/scene-0101-blueprint.md"),
        format!("{scenes}/scene-0501-blueprint.md"),
    );
    // A file of no known plan is still misplaced only.
    let other = format!("{scenes}/scene-0102-blueprint.md");
    here.world.files.edit(&other, "# Another\n");
    for _ in 0..2 {
        let notices = here.look();
        assert!(
            notices.contains(&Notice::NotAtItsPlace {
                path: was.clone(),
                expected: fitting.clone(),
            }),
            "{notices:?}"
        );
    }
    assert_eq!(here.id("chapter-05"), chapter);
    assert_eq!(here.id("scene-0101"), scene);
    assert_eq!(here.id("scene-0102"), None);
    assert_eq!(here.status("chapter-05/scene-0101"), Status::Approved);

    let placed = place_file(&here.ctx(), &was, false).unwrap();
    assert_eq!(placed.moved_files[0].path, fitting);
    assert_eq!(here.id("scene-0501"), scene);
    assert_eq!(here.status("scene-0501"), Status::Approved);
    let placed = place_file(&here.ctx(), &other, false).unwrap();
    assert_eq!(
        placed.moved_files[0].path,
        format!("{scenes}/scene-0502-blueprint.md")
    );
    assert_eq!(here.look(), Vec::new());
}

#[test]
fn a_scene_renamed_after_its_chapter_folder_keeps_its_approval() {
    let here = Repository::new(World::with_story());
    let scene = here.id("scene-0101");
    here.rename(
        "acts/act-1/chapters/chapter-01/",
        "acts/act-1/chapters/chapter-05/",
    );
    here.look();
    let scenes = "acts/act-1/chapters/chapter-05/scenes";
    here.rename(
        &format!("{scenes}/scene-0101-blueprint.md"),
        &format!("{scenes}/scene-0501-blueprint.md"),
    );
    here.look();
    assert_eq!(here.id("scene-0501"), scene);
    assert_eq!(here.status("chapter-05/scene-0501"), Status::Approved);
}

#[test]
fn a_chapter_moved_to_another_act_keeps_its_node_but_not_its_approval() {
    let here = Repository::new(World::with_story());
    here.world.files.edit(
        "acts/act-2/strategic-plan.md",
        "# act-2\n\nThe other one.\n",
    );
    here.look();
    here.world.approve("act-2").unwrap();
    let chapter = here.id("chapter-01");
    here.rename(
        "acts/act-1/chapters/chapter-01/",
        "acts/act-2/chapters/chapter-01/",
    );
    here.look();
    assert_eq!(here.id("chapter-01"), chapter);
    assert_ne!(here.status("act-2/chapter-01"), Status::Approved);
}

#[test]
fn identical_stubs_are_offered_and_not_guessed() {
    let here = Repository::new(World::with_story());
    for number in [5, 6] {
        here.world.files.edit(
            &format!("acts/act-1/chapters/chapter-0{number}/plan.md"),
            "# A chapter\n\nNot written yet.\n",
        );
    }
    here.look();
    let five = here.id("chapter-05");
    for number in [5, 6] {
        here.rename(
            &format!("acts/act-1/chapters/chapter-0{number}/"),
            &format!("acts/act-1/chapters/chapter-0{}/", number + 2),
        );
    }
    let notices = here.look();
    assert_ne!(here.id("chapter-07"), five);
    assert!(
        notices.iter().any(
            |one| matches!(one, Notice::PossibleMove { was, is_equal: true, .. }
            if was == "act-1/chapter-05")
        ),
        "{notices:?}"
    );
}

#[test]
fn a_ticket_in_a_renamed_folder_is_the_same_ticket() {
    let here = Repository::new(World::with_tickets());
    here.world.files.edit(
        "tickets/017-quality/test-definitions.md",
        "Scenario: one\n\nScenario: two\n",
    );
    here.look();
    let (ticket, tree) = (here.id("017"), here.world.tree());
    here.rename("tickets/017-quality/", "tickets/017-better/");
    here.look();
    assert_eq!(here.id("017"), ticket);
    assert_eq!(here.world.tree(), tree);
    let state = here.world.store.begin_read().unwrap();
    let node = state.load_node(ticket.unwrap()).unwrap().unwrap();
    assert_eq!(node.path.as_deref(), Some("tickets/017-better/ticket.md"));
    assert!(matches!(node.content, Content::Text { .. }));
}

#[test]
fn a_ticket_goes_with_its_scenarios_and_leaves_its_child_tickets() {
    let here = Repository::new(World::with_tickets());
    here.world
        .files
        .edit("tickets/017-quality/test-definitions.md", "Scenario: one\n");
    here.look();
    let (files, tree, one) = (here.files(), here.world.tree(), here.id("one"));
    assert!(one.is_some(), "{tree}");
    let child: Vec<_> = files
        .iter()
        .filter(|(path, _)| path.contains("017a"))
        .cloned()
        .collect();
    here.checkout("main", &child);
    here.look();
    assert!(here.id("017").is_none() && here.id("one").is_none());
    assert!(here.id("017a").is_some());
    here.checkout("feat", &files);
    here.look();
    assert_eq!(here.world.tree(), tree);
    assert_eq!(here.id("one"), one);
}

#[test]
fn a_plan_that_was_moved_and_rewritten_is_offered_and_taken_over_on_request() {
    let here = Repository::new(World::with_story());
    let text = "# Chapter\n\nThe storm begins.\nThe lamp goes out.\nNobody sleeps.\n";
    let from = "acts/act-1/chapters/chapter-05/plan.md";
    let to = "acts/act-1/chapters/chapter-08/plan.md";
    here.world.files.edit(from, text);
    here.look();
    add_comment(&here.ctx(), &words("chapter-05"), "keep the storm").unwrap();
    let five = here.id("chapter-05");
    here.world.files.delete(from);
    here.world
        .files
        .edit(to, &text.replace("Nobody sleeps", "The crew sleeps"));
    let notices = here.look();
    assert!(
        notices.contains(&Notice::PossibleMove {
            was: "act-1/chapter-05".to_owned(),
            now: to.to_owned(),
            is_equal: false,
        }),
        "{notices:?}"
    );
    let request = MoveRequest {
        was: "act-1/chapter-05".to_owned(),
        now: vec![to.to_owned()],
    };
    let moved = move_node(&here.ctx(), &request).unwrap();
    assert_eq!(moved.node.path, "act-1/chapter-08");
    assert_eq!(here.id("chapter-08"), five);
    assert_eq!(here.id("chapter-05"), None);
    let comments = list_comments(&here.ctx(), &words("chapter-08")).unwrap();
    assert_eq!(comments.len(), 1);
    assert!(here.look().is_empty());
}

#[test]
fn an_untracked_plan_that_was_deleted_can_be_restored() {
    let here = Repository::new(World::with_story());
    let id = here.id("scene-0101");
    here.world.files.delete(SCENE);
    here.git.set_index(&[], &[SCENE.to_owned()]);
    here.look();
    assert_eq!(here.id("scene-0101"), None);
    restore_version(&here.ctx(), &words("scene-0101 -1"), None).unwrap();
    assert_eq!(
        here.world.files.text(SCENE).as_deref(),
        Some("# scene-0101\n")
    );
    assert_eq!(here.id("scene-0101"), id);
    assert_eq!(here.status("scene-0101"), Status::Approved);
}

#[test]
fn a_rebuild_without_a_plan_does_not_lose_its_approval() {
    let here = Repository::new(World::with_story());
    let text = here.world.files.text(SCENE).unwrap();
    here.world.files.delete(SCENE);
    rebuild_state(&here.ctx()).unwrap();
    assert_eq!(here.id("scene-0101"), None);
    here.world.files.edit(SCENE, &text);
    assert_eq!(here.status("scene-0101"), Status::Approved);
}

/// One step of a life with branches.
#[derive(Clone, Debug)]
enum Step {
    Write {
        plan: usize,
        text: usize,
    },
    Approve {
        plan: usize,
    },
    Commit,
    Switch {
        branch: usize,
    },
    /// A look in between, as a hook does.
    Look,
}

const PLANS: [(&str, &str); 4] = [
    ("act-1", ACT),
    ("act-1/chapter-01", CHAPTER),
    ("act-1/chapter-01/scene-0101", SCENE),
    ("act-2", "acts/act-2/strategic-plan.md"),
];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4usize, 0..3usize).prop_map(|(plan, text)| Step::Write { plan, text }),
        3 => (0..4usize).prop_map(|plan| Step::Approve { plan }),
        2 => Just(Step::Commit),
        3 => (0..3usize).prop_map(|branch| Step::Switch { branch }),
        1 => Just(Step::Look),
    ]
}

/// Id, status and number of versions of every plan that is here.
fn state_of(here: &Repository) -> Vec<(String, NodeId, Status, String)> {
    let state = here.world.store.begin_read().unwrap();
    let tree = domain::tree::Tree::new(state.all_nodes().unwrap());
    tree.all_preorder()
        .into_iter()
        .map(|node| {
            let approval = node.approval.as_ref().map(|approval| approval.at);
            (
                tree.alias_path(node),
                node.id,
                node.status(),
                format!("{approval:?} {:?}", node.content),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Law: what a branch showed when it was left, it shows when it is checked out again, under
    /// the same ids.
    #[test]
    fn a_branch_is_found_as_it_was_left(steps in prop::collection::vec(step(), 1..40)) {
        let here = Repository::new(World::new());
        let names = ["feat", "main", "other"];
        let mut at = 0;
        // Per branch: the files, and what the last look showed.
        type Left = (Vec<(String, String)>, Option<Vec<(String, NodeId, Status, String)>>);
        let mut branches: [Left; 3] = Default::default();
        for step in steps {
            match step {
                Step::Write { plan, text } => {
                    let (name, path) = PLANS[plan];
                    here.world.files.edit(path, &format!("# {name}\n\nText {text}.\n"));
                    here.git.set_index(&[], &[]);
                }
                Step::Approve { plan } => {
                    let request = ApproveRequest {
                        node: words(PLANS[plan].0),
                        force: Force::No,
                        shown: None,
                    };
                    let _ = approve_node(&here.ctx(), &request);
                }
                Step::Commit => here.git.commit("docs: plan"),
                Step::Look => {
                    here.look();
                }
                Step::Switch { branch } => {
                    here.look();
                    branches[at] = (here.files(), Some(state_of(&here)));
                    at = branch;
                    let (files, left) = branches[at].clone();
                    here.checkout(names[at], &files);
                    here.look();
                    let found = state_of(&here);
                    match left {
                        // The approval of a text is the same on every branch that has it below
                        // the same parent, so one given elsewhere may be there now.
                        Some(left) => {
                            prop_assert_eq!(found.len(), left.len());
                            // Without decision files a node has one approval: another text of an
                            // ancestor that was approved meanwhile took its place.
                            let is_as_left = |path: &str| {
                                found.iter().zip(&left).all(|(found, left)| {
                                    let is_above = path.starts_with(&format!("{}/", found.0));
                                    found.3 == left.3 || !is_above && path != found.0
                                })
                            };
                            for (found, left) in found.iter().zip(&left) {
                                prop_assert_eq!((&found.0, found.1), (&left.0, left.1));
                                let was_approved = left.2 == Status::Approved;
                                prop_assert!(
                                    !was_approved
                                        || found.2 == Status::Approved
                                        || !is_as_left(&found.0),
                                    "{:?} was {:?}", found, left
                                );
                            }
                        }
                        None => prop_assert!(found.is_empty(), "{:?}", found),
                    }
                }
            }
        }
    }
}
