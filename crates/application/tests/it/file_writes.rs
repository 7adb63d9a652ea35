//! Operation first, files after: what an interrupted process left is completed, once, and over nobody's words.

use std::cell::Cell;

use application::file_writes::complete_file_writes;
use application::memory::edit_memory::{EditMemoryRequest, EditTarget, edit_memory, forget_entry};
use application::plan_documents::create::create_document;
use application::restore_version::restore_version;
use application::sessions::declare_intent::{IntentRequest, declare_intent};
use application::show_node::show_node;
use application::split_ticket::split_ticket;
use application::tickets::{NewTicket, create_ticket};
use application::undo::{UndoTarget, undo_operations};
use application::workflows::start::start_run_on_new_document;
use application::{Context, Failure, FailureKind};
use domain::calling_session::ProcessIdentity;
use domain::ids::{OperationId, Principal};
use domain::memory::EntryKind as MemoryKind;
use domain::operation::{Channel, Operation, Verb};
use domain::ports::{
    FileFault, FileReadResult, FileStatResult, FolderEntry, NoProcesses, PlanFiles, ProcessTable,
};
use domain::profile::built_in_profile;
use domain::session::SessionMode;
use serde_json::json;
use testkit::FakeFiles;

use crate::world::{ACT, World, words};

/// Files that can be read, and as long as `broken` is set not written: a process that dies right after its commit.
struct BreakableFiles<'f> {
    files: &'f FakeFiles,
    broken: Cell<bool>,
}

impl BreakableFiles<'_> {
    fn fault(&self, path: &str) -> Result<(), FileFault> {
        match self.broken.get() {
            true => Err(FileFault::Io {
                path: path.to_owned(),
                source: std::io::Error::other("no space left"),
            }),
            false => Ok(()),
        }
    }
}

impl PlanFiles for BreakableFiles<'_> {
    fn stat_file(&self, path: &str) -> FileStatResult {
        self.files.stat_file(path)
    }

    fn resolve_path(&self, directory: Option<&str>, path: &str) -> Option<String> {
        self.files.resolve_path(directory, path)
    }

    fn read_file(&self, path: &str, max_bytes: u64) -> FileReadResult {
        self.files.read_file(path, max_bytes)
    }

    fn list_folder(&self, folder: &str) -> Vec<FolderEntry> {
        self.files.list_folder(folder)
    }

    fn replace_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.fault(path)
            .and_then(|()| self.files.replace_file(path, text))
    }

    fn create_file(&self, path: &str, text: &str) -> Result<(), FileFault> {
        self.fault(path)
            .and_then(|()| self.files.create_file(path, text))
    }

    fn remove_file(&self, path: &str) -> Result<(), FileFault> {
        self.fault(path).and_then(|()| self.files.remove_file(path))
    }
}

/// Runs `act` where files cannot be written, and then the next command where they can be.
fn interrupted<T>(world: &World, act: impl FnOnce(&Context<'_>) -> Result<T, Failure>) -> Failure {
    interrupted_by(world, &NoProcesses, act)
}

/// Runs a use case in a process that cannot write its files.
fn interrupted_by<T>(
    world: &World,
    processes: &dyn ProcessTable,
    act: impl FnOnce(&Context<'_>) -> Result<T, Failure>,
) -> Failure {
    let files = BreakableFiles {
        files: &world.files,
        broken: Cell::new(true),
    };
    let actor = Principal::Human("Ада".to_owned());
    let ctx = Context::new(
        &*world.store,
        &files,
        &world.clock,
        &world.profiles,
        &world.policy,
        actor,
        Channel::Cli,
    )
    .with_processes(processes);
    act(&ctx).err().expect("its files could not be written")
}

fn operations(world: &World) -> Vec<Operation> {
    world
        .store
        .begin_read()
        .unwrap()
        .load_operations(None, 1_000)
        .unwrap()
}

/// An act that had two texts; the newer one is in its file.
fn edited_act() -> World {
    let world = World::new();
    for text in ["# One\n", "# Two\n"] {
        world.files.edit(ACT, text);
        show_node(&world.ctx(), &words("act-1")).unwrap();
    }
    world
}

#[test]
fn an_interrupted_restore_is_completed_by_the_next_command() {
    let world = edited_act();
    let failure = interrupted(&world, |ctx| restore_version(ctx, &words("act-1 -1"), None));
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(
        failure.message.contains("recorded as operation 3"),
        "{}",
        failure.message
    );
    assert!(
        failure.message.contains("no space left"),
        "{}",
        failure.message
    );
    assert!(
        failure.interruption().is_none(),
        "it must not be tried again"
    );
    assert_eq!(world.files.text(ACT).as_deref(), Some("# Two\n"));

    let ctx = world.ctx();
    complete_file_writes(&ctx);
    assert_eq!(world.files.text(ACT).as_deref(), Some("# One\n"));
    assert!(format!("{:?}", ctx.take_notices()).contains("its files are written now"));
    show_node(&world.ctx(), &words("act-1")).unwrap();
    let newest = operations(&world);
    assert_eq!(
        newest[0].verb,
        Verb::Restore,
        "nothing was taken for an edit: {newest:?}"
    );
    complete_file_writes(&ctx);
    assert_eq!(ctx.take_notices(), [], "it is done once");
}

#[test]
fn a_scan_counts_an_unwritten_file_as_recorded() {
    let world = edited_act();
    interrupted(&world, |ctx| restore_version(ctx, &words("act-1 -1"), None));
    let before = operations(&world).len();
    interrupted(&world, |ctx| {
        complete_file_writes(ctx);
        show_node(ctx, &words("act-1")).unwrap();
        Err::<(), _>(Failure::new(FailureKind::Refused, ""))
    });
    assert_eq!(operations(&world).len(), before);
    assert_eq!(world.files.text(ACT).as_deref(), Some("# Two\n"));
    // And it is still to be written.
    complete_file_writes(&world.ctx());
    assert_eq!(world.files.text(ACT).as_deref(), Some("# One\n"));
}

#[test]
fn a_file_that_was_edited_before_its_write_is_left_alone() {
    let world = edited_act();
    interrupted(&world, |ctx| restore_version(ctx, &words("act-1 -1"), None));
    world.files.edit(ACT, "# Mine\n");
    let ctx = world.ctx();
    complete_file_writes(&ctx);
    assert_eq!(world.files.text(ACT).as_deref(), Some("# Mine\n"));
    assert!(format!("{:?}", ctx.take_notices()).contains("is left as it is"));
    show_node(&world.ctx(), &words("act-1")).unwrap();
    assert_eq!(operations(&world)[0].verb, Verb::Observe, "the edit counts");
}

#[test]
fn an_interrupted_request_that_is_repeated_is_not_done_twice() {
    let world = edited_act();
    interrupted(&world, |ctx| restore_version(ctx, &words("act-1 -1"), None));
    complete_file_writes(&world.ctx());
    let repeated = restore_version(&world.ctx(), &words("act-1 -1"), None).unwrap_err();
    assert!(
        repeated.message.contains("already done: operation 3"),
        "{}",
        repeated.message
    );
    assert_eq!(world.files.text(ACT).as_deref(), Some("# One\n"));
    // It answers once: the next one is meant.
    restore_version(&world.ctx(), &words("act-1 -1"), None).unwrap();
    assert_eq!(world.files.text(ACT).as_deref(), Some("# Two\n"));
}

/// A machine on which one process runs, and others may.
struct Processes {
    own: u32,
    running: &'static [u32],
}

fn process(pid: u32) -> ProcessIdentity {
    ProcessIdentity {
        boot: "one".to_owned(),
        pid,
        started: 7,
    }
}

impl ProcessTable for Processes {
    fn own_identity(&self) -> Option<ProcessIdentity> {
        Some(process(self.own))
    }

    fn is_running(&self, other: &ProcessIdentity) -> bool {
        self.running.iter().any(|pid| process(*pid) == *other)
    }
}

#[test]
fn an_identical_request_of_a_running_neighbour_is_no_repetition() {
    for (running, is_repetition) in [(&[][..], true), (&[1][..], false)] {
        let world = World::new();
        let first = Processes { own: 1, running };
        interrupted_by(&world, &first, |ctx| create_document(ctx, "Add search"));
        let second = Processes { own: 2, running };
        let ctx = world.ctx().with_processes(&second);
        complete_file_writes(&ctx);
        let told = format!("{:?}", ctx.take_notices());
        assert_eq!(
            told.contains("its files are written now"),
            is_repetition,
            "{told}"
        );
        let repeated = create_document(&ctx, "Add search");
        assert_eq!(repeated.is_err(), is_repetition, "{repeated:?}");
    }
}

#[test]
fn a_request_of_somebody_else_is_no_repetition() {
    let world = World::with_tickets();
    let titles = ["Left".to_owned(), "Right".to_owned()];
    interrupted(&world, |ctx| split_ticket(ctx, &words("017"), &titles));
    let actor = Principal::Human("Bob".to_owned());
    let ctx = Context::new(
        &*world.store,
        &world.files,
        &world.clock,
        &world.profiles,
        &world.policy,
        actor,
        Channel::Cli,
    );
    let other = split_ticket(&ctx, &words("017"), &titles).unwrap();
    let ids: Vec<String> = other.children.into_iter().map(|child| child.id).collect();
    assert_eq!(
        ids,
        ["017d", "017e"],
        "017b and 017c are taken by the interrupted one"
    );
    let repeated = split_ticket(&world.ctx(), &words("017"), &titles);
    assert!(
        repeated.is_ok(),
        "a later operation with files ends the memory of the interrupted one"
    );
}

#[test]
fn an_interrupted_split_makes_each_child_once() {
    let world = World::with_tickets();
    let titles = ["Left".to_owned(), "Right".to_owned()];
    interrupted(&world, |ctx| split_ticket(ctx, &words("017"), &titles));
    let repeated = split_ticket(&world.ctx(), &words("017"), &titles).unwrap_err();
    assert!(
        repeated.message.contains("already done"),
        "{}",
        repeated.message
    );
    let tickets: Vec<String> = world
        .files
        .paths()
        .into_iter()
        .filter(|path| path.starts_with("tickets/017"))
        .collect();
    assert_eq!(
        tickets,
        [
            "tickets/017-quality/ticket.md",
            "tickets/017a-loc/ticket.md",
            "tickets/017b-left/ticket.md",
            "tickets/017c-right/ticket.md",
        ]
    );
    assert!(
        world
            .files
            .text("tickets/017-quality/ticket.md")
            .unwrap()
            .contains("'017b', '017c'")
    );
}

#[test]
fn many_files_are_completed_taken_back_and_leave_a_small_record() {
    let world = World::with_tickets();
    let parent = world.files.text("tickets/017-quality/ticket.md");
    let titles: Vec<String> = (1..=12).map(|part| format!("Part {part}")).collect();
    let paths = || {
        let paths = world.files.paths().into_iter();
        paths.filter(|path| path.contains("-part-")).count()
    };
    interrupted(&world, |ctx| split_ticket(ctx, &words("017"), &titles));
    assert_eq!(paths(), 0);
    complete_file_writes(&world.ctx());
    assert_eq!(paths(), 12);
    // The record itself is read before every command.
    let sizes = |kind: &str| -> Vec<usize> {
        let state = world.store.begin_read().unwrap();
        let records = state.records_by_prefix(kind, "").unwrap();
        let sizes = records.into_iter().map(|(_, body)| body.to_string().len());
        sizes.collect()
    };
    assert!(matches!(sizes("file-writes")[..], [size] if size < 500));
    assert!(matches!(sizes("file-list")[..], [_, _]));
    let split = operations(&world)[0].id;
    undo_operations(&world.ctx(), UndoTarget::Operation(split)).unwrap();
    assert_eq!(paths(), 0);
    assert_eq!(world.files.text("tickets/017-quality/ticket.md"), parent);
    // The lists go with the next operation that needs none.
    let few = ["Left".to_owned(), "Right".to_owned()];
    split_ticket(&world.ctx(), &words("017"), &few).unwrap();
    assert!(sizes("file-list").is_empty());
}

#[test]
fn a_new_ticket_is_one_operation_that_the_scan_agrees_with() {
    let world = World::with_tickets();
    let request = NewTicket {
        title: "Search".to_owned(),
        id: None,
        parent: None,
        kind: "task".to_owned(),
        ..NewTicket::with_title("")
    };
    let made = create_ticket(&world.ctx(), &request).unwrap();
    assert_eq!(made.id, "018");
    let newest = operations(&world);
    assert_eq!(
        (newest[0].verb, made.operation),
        (Verb::Ticket, Some(newest[0].id))
    );
    show_node(&world.ctx(), &words("018")).unwrap();
    assert_eq!(
        operations(&world).len(),
        newest.len(),
        "the file is what was recorded"
    );
}

#[test]
fn undoing_a_new_ticket_takes_its_file_away() {
    let world = World::with_tickets();
    let request = NewTicket {
        title: "Search".to_owned(),
        id: None,
        parent: None,
        kind: "task".to_owned(),
        ..NewTicket::with_title("")
    };
    let made = create_ticket(&world.ctx(), &request).unwrap();
    let undone =
        undo_operations(&world.ctx(), UndoTarget::Operation(made.operation.unwrap())).unwrap();
    assert_eq!(undone.files, std::slice::from_ref(&made.file_path));
    assert_eq!(world.files.text(&made.file_path), None);
    assert!(show_node(&world.ctx(), &words("018")).is_err());
    // And back.
    undo_operations(&world.ctx(), UndoTarget::Operation(undone.operation)).unwrap();
    assert!(
        world
            .files
            .text(&made.file_path)
            .unwrap()
            .contains("# Search")
    );
    assert_eq!(
        show_node(&world.ctx(), &words("018")).unwrap().entity_id,
        "018"
    );
}

#[test]
fn undoing_a_split_keeps_the_child_that_was_edited() {
    let world = World::with_tickets();
    let parent = world.files.text("tickets/017-quality/ticket.md");
    let split = split_ticket(
        &world.ctx(),
        &words("017"),
        &["Left".to_owned(), "Right".to_owned()],
    )
    .unwrap();
    let (left, right) = (&split.children[0], &split.children[1]);
    world.files.edit(
        &left.file_path,
        &format!("{}\nMine.\n", world.files.text(&left.file_path).unwrap()),
    );
    let undone =
        undo_operations(&world.ctx(), UndoTarget::Operation(left.operation.unwrap())).unwrap();
    assert_eq!(undone.kept_files, std::slice::from_ref(&left.file_path));
    assert!(world.files.text(&left.file_path).unwrap().contains("Mine."));
    assert_eq!(world.files.text(&right.file_path), None);
    assert_eq!(world.files.text("tickets/017-quality/ticket.md"), parent);
    let before = operations(&world).len();
    show_node(&world.ctx(), &words(&left.id)).unwrap();
    assert_eq!(operations(&world).len(), before);
}

#[test]
fn a_workflow_on_a_new_document_starts_as_one_operation() {
    let world = World::new();
    let before = operations(&world).len();
    let started = start_run_on_new_document(&world.ctx(), "planner", "Add search").unwrap();
    let newest = operations(&world);
    assert_eq!(newest.len(), before + 1, "{newest:?}");
    assert!(
        world
            .files
            .text(".throughline/plans/add-search/plan.json")
            .is_some()
    );
    drop(started);
    undo_operations(
        &world.ctx(),
        UndoTarget::Operation(OperationId(newest[0].id.0)),
    )
    .unwrap();
    assert_eq!(
        world.files.text(".throughline/plans/add-search/plan.json"),
        None
    );
}

#[test]
fn an_interrupted_workflow_start_does_not_make_a_second_document() {
    let world = World::new();
    interrupted(&world, |ctx| {
        start_run_on_new_document(ctx, "planner", "Add search")
    });
    let repeated = start_run_on_new_document(&world.ctx(), "planner", "Add search").unwrap_err();
    assert!(
        repeated.message.contains("already done"),
        "{}",
        repeated.message
    );
    let documents: Vec<String> = world
        .files
        .paths()
        .into_iter()
        .filter(|path| path.ends_with("plan.json"))
        .collect();
    assert_eq!(documents, [".throughline/plans/add-search/plan.json"]);
}

#[test]
fn the_id_of_a_document_holds_no_secret_of_its_title() {
    let world = World::new();
    let key = format!("sk-ant-api03-{}", "aB3dE5gH7j".repeat(4));
    let started = start_run_on_new_document(&world.ctx(), "planner", &format!("Flow {key}"));
    assert!(started.is_ok(), "{:?}", started.err());
    let documents = world.files.paths();
    let files: Vec<&String> = documents
        .iter()
        .filter(|path| path.ends_with("plan.json"))
        .collect();
    let [file] = files.as_slice() else {
        panic!("{documents:?}");
    };
    let start = key.to_lowercase();
    assert!(!file.contains(start.get(..16).unwrap()), "{file}");
    assert!(!world.files.text(file).unwrap().contains(&key));
}

#[test]
fn a_document_whose_write_was_interrupted_is_not_locked() {
    let world = World::new();
    interrupted(&world, |ctx| create_document(ctx, "Add search"));
    complete_file_writes(&world.ctx());
    let shown = application::plan_documents::show::show_document(&world.ctx(), None);
    assert!(shown.is_ok(), "{:?}", shown.err());
}

#[test]
fn undoing_everything_after_a_point_leaves_the_files_as_they_were_then() {
    let world = edited_act();
    let head = operations(&world)[0].id;
    restore_version(&world.ctx(), &words("act-1 -1"), None).unwrap();
    world.files.edit(ACT, "# Three\n");
    show_node(&world.ctx(), &words("act-1")).unwrap();
    undo_operations(&world.ctx(), UndoTarget::BackTo(head)).unwrap();
    assert_eq!(world.files.text(ACT).as_deref(), Some("# Two\n"));

    // There and back again: the last text is the first one, and nothing has to be written.
    restore_version(&world.ctx(), &words("act-1 -1"), None).unwrap();
    world.files.edit(ACT, "# Two\n");
    show_node(&world.ctx(), &words("act-1")).unwrap();
    let head = operations(&world)[2].id;
    undo_operations(&world.ctx(), UndoTarget::BackTo(head)).unwrap();
    assert_eq!(world.files.text(ACT).as_deref(), Some("# Two\n"));
    let recorded = operations(&world).len();
    show_node(&world.ctx(), &words("act-1")).unwrap();
    assert_eq!(operations(&world).len(), recorded, "state and file agree");
}

#[test]
fn undoing_a_ticket_together_with_its_edit_takes_its_file_away() {
    let world = World::with_tickets();
    show_node(&world.ctx(), &words("017")).unwrap();
    let head = operations(&world)[0].id;
    let request = NewTicket {
        title: "Search".to_owned(),
        id: None,
        parent: None,
        kind: "task".to_owned(),
        ..NewTicket::with_title("")
    };
    let made = create_ticket(&world.ctx(), &request).unwrap();
    world.files.edit(
        &made.file_path,
        &format!("{}\nMine.\n", world.files.text(&made.file_path).unwrap()),
    );
    show_node(&world.ctx(), &words("018")).unwrap();
    undo_operations(&world.ctx(), UndoTarget::BackTo(head)).unwrap();
    assert_eq!(world.files.text(&made.file_path), None);
    assert!(show_node(&world.ctx(), &words("018")).is_err());
}

#[test]
fn session_files_that_cannot_be_written_are_told_and_written_by_the_next_command() {
    let world = World {
        profiles: vec![built_in_profile("trail").unwrap()],
        ..World::new()
    };
    let files = BreakableFiles {
        files: &world.files,
        broken: Cell::new(true),
    };
    let actor = Principal::Human("Ада".to_owned());
    let ctx = Context::new(
        &*world.store,
        &files,
        &world.clock,
        &world.profiles,
        &world.policy,
        actor,
        Channel::Cli,
    );
    let intent = |text: &str| IntentRequest {
        text: text.to_owned(),
        mode: SessionMode::PlanDriven,
    };
    let first = declare_intent(&ctx, &intent("First")).unwrap();
    // Another step is not held up, and the files of both sessions are still to be written.
    let second = declare_intent(&ctx, &intent("Second")).unwrap();
    assert!(format!("{:?}", ctx.take_notices()).contains("NotWritten"));
    assert_eq!(world.files.text(&second.session_file), None);

    complete_file_writes(&world.ctx());
    assert!(
        world
            .files
            .text(&second.session_file)
            .unwrap()
            .contains("Second")
    );
    let archived = format!(".throughline/sessions/archive/{}.md", first.stamp);
    assert!(world.files.text(&archived).unwrap().contains("First"));
    assert_eq!(world.files.text(&first.session_file), None);
    let ctx = world.ctx();
    complete_file_writes(&ctx);
    assert_eq!(ctx.take_notices(), [], "it is done once");
}

const CHARACTER: &str = "memory/characters/C0.md";

fn role(target: EditTarget, role: &str) -> EditMemoryRequest {
    let mut fields = serde_json::Map::from_iter([("role".to_owned(), json!(role))]);
    if matches!(target, EditTarget::New(_)) {
        fields.insert("name".to_owned(), json!("Mara"));
    }
    EditMemoryRequest { target, fields }
}

fn character() -> EditTarget {
    EditTarget::Named("C0".to_owned())
}

/// Runs a change of the memory whose files cannot be written.
fn unwritten_memory<T>(world: &World, act: impl FnOnce(&Context<'_>) -> Result<T, Failure>) {
    interrupted(world, |ctx| {
        act(ctx).unwrap();
        assert!(format!("{:?}", ctx.take_notices()).contains("no space left"));
        Err::<(), _>(Failure::new(FailureKind::Refused, ""))
    });
}

#[test]
fn memory_files_of_an_interrupted_change_are_completed_by_the_next_command() {
    let world = World::new();
    unwritten_memory(&world, |ctx| {
        edit_memory(ctx, &role(EditTarget::New(MemoryKind::Character), "mentor"))
    });
    assert_eq!(world.files.text(CHARACTER), None);
    complete_file_writes(&world.ctx());
    assert!(world.files.text(CHARACTER).unwrap().contains("mentor"));

    unwritten_memory(&world, |ctx| edit_memory(ctx, &role(character(), "rival")));
    unwritten_memory(&world, |ctx| {
        edit_memory(ctx, &role(character(), "traitor"))
    });
    assert!(world.files.text(CHARACTER).unwrap().contains("mentor"));
    let ctx = world.ctx();
    complete_file_writes(&ctx);
    assert!(world.files.text(CHARACTER).unwrap().contains("traitor"));
    assert!(format!("{:?}", ctx.take_notices()).contains("its files are written now"));
    complete_file_writes(&ctx);
    assert_eq!(ctx.take_notices(), [], "it is done once");
}

#[test]
fn a_forgotten_entry_whose_file_could_not_go_does_not_come_back() {
    let world = World::new();
    edit_memory(
        &world.ctx(),
        &role(EditTarget::New(MemoryKind::Character), "mentor"),
    )
    .unwrap();
    unwritten_memory(&world, |ctx| forget_entry(ctx, "C0"));
    assert!(world.files.text(CHARACTER).is_some());
    let unknown = edit_memory(&world.ctx(), &role(character(), "rival")).unwrap_err();
    assert_eq!(unknown.kind, FailureKind::NotFound);
    complete_file_writes(&world.ctx());
    assert_eq!(world.files.text(CHARACTER), None);
}

#[test]
fn a_memory_file_that_was_edited_before_its_write_is_left_alone_and_taken_over() {
    let world = World::new();
    edit_memory(
        &world.ctx(),
        &role(EditTarget::New(MemoryKind::Character), "mentor"),
    )
    .unwrap();
    unwritten_memory(&world, |ctx| edit_memory(ctx, &role(character(), "rival")));
    let mine = world
        .files
        .text(CHARACTER)
        .unwrap()
        .replace("mentor", "sister");
    world.files.edit(CHARACTER, &mine);
    let ctx = world.ctx();
    complete_file_writes(&ctx);
    assert_eq!(world.files.text(CHARACTER), Some(mine));
    assert!(format!("{:?}", ctx.take_notices()).contains("is left as it is"));
    let shown = edit_memory(
        &world.ctx(),
        &EditMemoryRequest {
            target: character(),
            fields: serde_json::Map::new(),
        },
    );
    assert!(format!("{:?}", shown.unwrap()).contains("sister"));
}
