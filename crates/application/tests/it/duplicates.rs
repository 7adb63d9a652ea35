//! Two tickets with one id: labels, refusals, and renumbering one of them.

use application::approve::{ApproveRequest, approve_node};
use application::check_state::check_state;
use application::claim_node::claim_node;
use application::comment::{add_comment, list_comments};
use application::move_focus::{FocusMove, move_focus};
use application::project_status::load_project_status;
use application::set_progress::{ProgressRequest, set_progress};
use application::shape::{ChangeShapeRequest, ShapeChange, ShapeOutcome, change_shape};
use application::show_node::show_node;
use application::show_tree::show_tree;
use application::tickets::{NewTicket, create_ticket};
use application::undo::{UndoTarget, undo_operations};
use application::views::TreeView;
use application::{Failure, FailureKind, Notice};
use domain::approval::Force;
use domain::node::Progress;
use domain::policy::IdScheme;
use testkit::FakeGit;

use crate::world::{World, assert_refused, words};

fn ticket_text(id: &str, title: &str) -> String {
    format!("---\nid: '{id}'\nphase: intake\n---\n# {title}\n")
}

/// Records `002-b` first and adds `002-a` then, as a merge does.
fn merged() -> World {
    let world = World::with_tickets();
    world
        .files
        .edit("tickets/002-b/ticket.md", &ticket_text("002", "Of b"));
    tree(&world);
    world
        .files
        .edit("tickets/002-a/ticket.md", &ticket_text("002", "Of a"));
    world
}

/// Id, title and mark of every node.
fn tree(world: &World) -> Vec<String> {
    fn collect(node: &TreeView, lines: &mut Vec<String>) {
        let title = node.title.as_deref().unwrap_or_default();
        let mark = if node.duplicate { " duplicate" } else { "" };
        lines.push(format!("{} {title}{mark}", node.path));
        node.children.iter().for_each(|child| collect(child, lines));
    }
    let mut lines = Vec::new();
    for top in &show_tree(&world.ctx(), &[]).unwrap() {
        collect(top, &mut lines);
    }
    lines
}

fn renumber(world: &World, node: &str, id: Option<&str>) -> Result<ShapeOutcome, Failure> {
    renumber_or_preview(world, node, id, false)
}

fn renumber_or_preview(
    world: &World,
    node: &str,
    id: Option<&str>,
    dry_run: bool,
) -> Result<ShapeOutcome, Failure> {
    let change = ShapeChange::Renumber {
        node: words(node),
        id: id.map(str::to_owned),
    };
    change_shape(&world.ctx(), &ChangeShapeRequest { change, dry_run })
}

#[test]
fn two_tickets_with_one_id_are_two_nodes_labelled_by_path() {
    let world = merged();
    let ctx = world.ctx();
    show_tree(&ctx, &[]).unwrap();
    let told: Vec<Notice> = ctx.take_notices();
    let expected = Notice::Duplicate {
        label: "002~2".to_owned(),
        path: "tickets/002-b/ticket.md".to_owned(),
        other: "tickets/002-a/ticket.md".to_owned(),
    };
    assert!(told.contains(&expected), "{told:?}");
    let found = tree(&world);
    assert_eq!(found[..2], ["002 Of a", "002~2 Of b duplicate"]);
    // Said once; afterwards the tree, the status and the check say it.
    let ctx = world.ctx();
    show_tree(&ctx, &[]).unwrap();
    assert_eq!(ctx.take_notices(), []);
    let status = load_project_status(&world.ctx()).unwrap();
    assert_eq!(status.duplicates[0].next_step, "tl renumber 002~2");
    let checked = check_state(&world.ctx()).unwrap();
    let found = format!("{:?}", checked.findings);
    assert!(found.contains("duplicate id `002`"), "{found}");
}

#[test]
fn a_third_ticket_and_a_removed_one_move_the_labels() {
    let world = merged();
    tree(&world);
    world
        .files
        .edit("tickets/002-aa/ticket.md", &ticket_text("002", "Of aa"));
    assert_eq!(
        tree(&world)[..3],
        ["002 Of a", "002~2 Of aa duplicate", "002~3 Of b duplicate"]
    );
    let git = FakeGit::with_commit();
    let gone = "tickets/002-a/ticket.md".to_owned();
    git.set_index(&[], std::slice::from_ref(&gone));
    world.files.delete(&gone);
    let ctx = world.ctx().with_git_and_session(&git, "s1".to_owned());
    show_tree(&ctx, &[]).unwrap();
    assert_eq!(tree(&world)[..2], ["002 Of aa", "002~2 Of b duplicate"]);
}

#[test]
fn decisions_about_either_of_them_are_refused_with_the_command() {
    let world = merged();
    for node in ["002", "002~2"] {
        let approve = ApproveRequest {
            node: words(node),
            force: Force::No,
            shown: None,
        };
        let complete = ProgressRequest {
            node: words(node),
            progress: Progress::Complete,
        };
        let enter = FocusMove::Enter {
            node: words(node),
            claim: false,
        };
        let refused = [
            approve_node(&world.ctx(), &approve).map(drop),
            claim_node(&world.ctx(), &words(node)).map(drop),
            move_focus(&world.ctx(), &enter).map(drop),
            set_progress(&world.ctx(), &complete).map(drop),
        ];
        for one in refused {
            let failure = one.as_ref().unwrap_err();
            let steps = format!("{:?}", failure.next_steps);
            assert!(steps.contains("tl renumber 002"), "{steps}");
            assert_refused(one, FailureKind::Refused, "duplicate id `002`");
        }
        // The second name exists once the first command has looked.
        tree(&world);
    }
}

#[test]
fn a_renumbered_duplicate_keeps_its_node_and_frees_the_id() {
    let world = merged();
    tree(&world);
    add_comment(&world.ctx(), &words("002~2"), "keep me").unwrap();
    let created = show_node(&world.ctx(), &words("002~2")).unwrap().created_at;
    let done = renumber(&world, "002~2", None).unwrap();
    assert_eq!(done.id.as_deref(), Some("018"));
    let found = tree(&world);
    assert!(found.contains(&"002 Of a".to_owned()), "{found:?}");
    assert!(found.contains(&"018 Of b".to_owned()), "{found:?}");
    assert_eq!(
        world.files.text("tickets/018-b/ticket.md").as_deref(),
        Some(ticket_text("018", "Of b").as_str())
    );
    assert_eq!(world.files.text("tickets/002-b/ticket.md"), None);
    let now = show_node(&world.ctx(), &words("018")).unwrap();
    assert_eq!(now.created_at, created);
    assert_eq!(list_comments(&world.ctx(), &words("018")).unwrap().len(), 1);
    let checked = check_state(&world.ctx()).unwrap();
    assert!(checked.findings.is_empty(), "{:?}", checked.findings);
}

#[test]
fn renumbering_the_first_leaves_the_id_to_the_second() {
    let world = merged();
    tree(&world);
    let head = world.head();
    renumber(&world, "002", Some("030")).unwrap();
    assert_eq!(world.head().0, head.0 + 1, "one operation");
    let found = tree(&world);
    assert_eq!(found[0], "002 Of b");
    assert!(found.contains(&"030 Of a".to_owned()), "{found:?}");
    assert_eq!(world.head().0, head.0 + 1, "nothing is left to observe");
}

/// Tickets that refer to one another in every way that is followed.
fn referring() -> World {
    let world = World::with_tickets();
    world.files.edit(
        "tickets/017a-loc/test-definitions.md",
        "# Tests\n\n## Scenario: Count\nGiven lines\n",
    );
    world.files.edit(
        "tickets/020-next/ticket.md",
        "---\nid: '020'\nneeds: ['017a']\nphase: intake\n---\n# Next\n\nSee [it](../017-quality/ticket.md).\n",
    );
    tree(&world);
    world
}

#[test]
fn children_folders_and_references_follow_and_undo_brings_everything_back() {
    let world = referring();
    let (before, files) = (tree(&world), all_texts(&world));
    let done = renumber(&world, "017", Some("031")).unwrap();
    let paths: Vec<String> = done
        .renamed
        .iter()
        .map(|one| format!("{} {}", one.was, one.path))
        .collect();
    assert_eq!(
        paths,
        [
            "017 031",
            "017/017a 031/031a",
            "017/017a/count 031/031a/count"
        ]
    );
    assert_eq!(done.changed_files, ["tickets/020-next/ticket.md"]);
    let found = tree(&world);
    assert_eq!(
        found,
        [
            "020 Next",
            "031 Quality",
            "031/031a Lines",
            "031/031a/count Count"
        ]
    );
    let next = world.files.text("tickets/020-next/ticket.md").unwrap();
    assert!(next.contains("needs: ['031a']"), "{next}");
    assert!(next.contains("(../031-quality/ticket.md)"), "{next}");
    let child = world.files.text("tickets/031a-loc/ticket.md").unwrap();
    assert!(child.contains("id: 031a\nparent: '031'\n"), "{child}");

    undo_operations(&world.ctx(), UndoTarget::Newest).unwrap();
    assert_eq!(tree(&world), before);
    assert_eq!(all_texts(&world), files);
}

#[test]
fn a_dry_run_lists_the_files_and_changes_nothing() {
    let world = referring();
    let (files, head) = (all_texts(&world), world.head());
    let shown = renumber_or_preview(&world, "017", None, true).unwrap();
    assert_eq!((shown.id.as_deref(), shown.operation), (Some("021"), None));
    assert_eq!(shown.moved_files.len(), 3);
    assert_eq!((all_texts(&world), world.head()), (files, head));
}

#[test]
fn an_id_in_use_and_one_that_is_none_are_refused() {
    let world = referring();
    assert_refused(
        renumber(&world, "017", Some("020")),
        FailureKind::Conflict,
        "the id `020` is in use",
    );
    assert_refused(
        renumber(&world, "017", Some("../x")),
        FailureKind::Invalid,
        "is not an id",
    );
}

#[test]
fn new_ids_are_above_those_of_other_branches() {
    let mut world = World::with_tickets();
    let git = FakeGit::with_commit();
    git.set_names_elsewhere(&["019-there", "017b-child", "README.md"]);
    let new_ticket = |world: &World, parent: Option<&str>| {
        let ctx = world.ctx().with_git_and_session(&git, "s1".to_owned());
        let request = NewTicket {
            title: "Count".to_owned(),
            id: None,
            parent: parent.map(words),
            kind: "task".to_owned(),
            ..NewTicket::with_title("")
        };
        create_ticket(&ctx, &request).unwrap().id
    };
    assert_eq!(new_ticket(&world, None), "020");
    assert_eq!(new_ticket(&world, Some("017")), "017c");
    world.policy.ids = IdScheme::Random;
    let random = new_ticket(&world, None);
    assert_eq!(random.len(), 5, "{random}");
    assert_eq!(new_ticket(&world, Some("017")), "017d");
    world.policy.ids = IdScheme::Number;
    assert_eq!(new_ticket(&world, None), "021");
}

fn all_texts(world: &World) -> Vec<(String, Option<String>)> {
    let paths = world.files.paths().into_iter();
    paths
        .filter(|path| !path.contains("/backups/"))
        .map(|path| (path.clone(), world.files.text(&path)))
        .collect()
}
