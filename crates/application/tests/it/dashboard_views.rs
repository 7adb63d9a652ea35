//! Views of the dashboard: board, folded tree, timeline, sessions, graph and progress.

use application::claim_node::claim_node;
use application::comment::add_comment;
use application::describe_operation::{describe_operation, name_changed_plans};
use application::history::list_recorded_history;
use application::inbox::PlanName;
use application::move_focus::{FocusMove, move_focus};
use application::node_page::load_node_page;
use application::open_gates::BlockedStep;
use application::set_progress::{ProgressRequest, record_progress, set_progress};
use application::shape::{
    ChangeShapeRequest, MoveTarget, ShapeChange, change_shape, list_shape_choices,
};
use application::show_board::{BoardColumns, BoardRequest, BoardView, show_board};
use application::show_graph::{GraphKind, GraphRequest, show_graph};
use application::show_progress::{ProgressCache, show_progress};
use application::show_sessions::show_sessions;
use application::tickets::set_work_level;
use application::tree_cache::{CachedTree, record_file_changes};
use application::tree_window::{TreeWindow, WindowRequest, list_tree_window};
use application::undo::{UndoTarget, undo_operations};
use application::where_am_i::where_am_i;
use domain::node::{Progress, Status};
use domain::operation_changes::NodeChange;
use domain::session_activity::ActivityState;
use domain::work::work_level::WorkLevel;
use testkit::FakeGit;

use crate::world::{ACT, World, words};

fn cached(world: &World) -> CachedTree {
    record_file_changes(&world.ctx()).unwrap();
    CachedTree::read(&world.ctx()).unwrap()
}

fn board(world: &World, by: &str, lanes: &str, under: &str) -> BoardView {
    let request = BoardRequest {
        by: by.to_owned(),
        lanes: lanes.to_owned(),
        under: under.to_owned(),
        ..BoardRequest::default()
    };
    show_board(&world.ctx(), &cached(world), &request).unwrap()
}

/// The cards of a board: lane, column and ids.
fn cards(board: &BoardView) -> Vec<String> {
    let mut found = Vec::new();
    for lane in &board.lanes {
        let lane_name = lane.parent.as_ref().map_or("-", |parent| &parent.path);
        for (column, cell) in board.columns.iter().zip(&lane.cells) {
            for card in &cell.cards {
                found.push(format!("{lane_name} {} {}", column.label, card.entity_id));
            }
        }
    }
    found
}

#[test]
fn a_board_of_tickets_has_their_phases_and_a_lane_per_parent() {
    let world = World::with_tickets();
    world.files.edit(
        "tickets/018-later/ticket.md",
        "---\nid: '018'\nphase: polish\nneeds: ['017']\npriority: high\n---\n# Later\n",
    );
    let shown = board(&world, "", "", "");
    assert_eq!((shown.by, shown.total), (BoardColumns::Phase, 3));
    assert_eq!(
        cards(&shown),
        ["- implement 017", "- polish 018", "017 intake 017a"]
    );
    let [first, ..] = shown.lanes.as_slice() else {
        panic!("no lanes")
    };
    let later = first.cells.iter().flat_map(|cell| &cell.cards);
    let later = later.last().expect("a card");
    assert_eq!(later.open_needs, ["017"]);
    assert_eq!(later.priority.as_deref(), Some("high"));
    let one_lane = board(&world, "progress", "none", "");
    assert_eq!(one_lane.lanes.len(), 1);
    assert_eq!(one_lane.columns.first().map(|column| column.plans), Some(3));
    assert_eq!(
        cards(&board(&world, "", "", "017")),
        ["017 intake 017a"],
        "only what is below"
    );
}

#[test]
fn a_board_of_plans_without_phases_is_by_progress() {
    let world = World::with_story();
    let shown = board(&world, "phase", "", "");
    assert_eq!(shown.by, BoardColumns::Progress);
    assert!(!shown.choices.contains(&BoardColumns::Phase));
    assert_eq!(shown.levels.len(), 3);
    assert_eq!(
        cards(&board(&world, "status", "", "")),
        ["act-1/chapter-01 approved scene-0101"],
        "the lowest level of equally frequent ones"
    );
}

#[test]
fn a_board_begins_with_the_largest_level_that_fits() {
    let world = World::with_story();
    let folder = "acts/act-1/chapters/chapter-01/scenes";
    for scene in 2..=70 {
        let file = format!("{folder}/scene-01{scene:02}-blueprint.md");
        world.files.edit(&file, &format!("# Scene {scene}\n"));
    }
    for chapter in 2..=4 {
        let file = format!("acts/act-1/chapters/chapter-{chapter:02}/plan.md");
        world.files.edit(&file, "# Chapter\n");
    }
    let shown = board(&world, "", "", "");
    assert_eq!((shown.level.as_str(), shown.total), ("chapter", 4));
    let asked = BoardRequest {
        level: "scene".to_owned(),
        ..BoardRequest::default()
    };
    let scenes = show_board(&world.ctx(), &cached(&world), &asked).unwrap();
    assert_eq!(scenes.total, 70);
}

fn window(world: &World, fold: Option<usize>, toggled: &str, text: &str) -> TreeWindow {
    let request = WindowRequest {
        fold,
        toggled: toggled.to_owned(),
        text: text.to_owned(),
        ..WindowRequest::default()
    };
    list_tree_window(&cached(world), &world.profiles, &request)
}

/// The rows of a window: path, position among the siblings, and whether it is open.
fn rows(window: &TreeWindow) -> Vec<String> {
    let rows = window.rows.iter();
    rows.map(|row| {
        let [position, siblings] = row.position;
        let fold = match row.open {
            Some(true) => " open",
            Some(false) => " folded",
            None => "",
        };
        format!("{} {position}/{siblings}{fold}", row.path)
    })
    .collect()
}

#[test]
fn a_folded_tree_has_the_rows_that_no_fold_hides() {
    let world = World::with_story();
    world
        .files
        .edit("acts/act-1/chapters/chapter-02/plan.md", "# Two\n");
    world.files.edit("acts/act-2/strategic-plan.md", "# Act\n");
    let folded = window(&world, Some(0), "", "");
    assert_eq!(rows(&folded), ["act-1 1/2 folded", "act-2 2/2"]);
    assert_eq!((folded.total, folded.plans), (2, 5));
    let act = folded.rows.first().expect("a row");
    assert_eq!(act.branch, Some([0, 2]), "of a scene and a chapter");
    assert_eq!(
        rows(&window(&world, Some(0), "act-1", "")),
        [
            "act-1 1/2 open",
            "act-1/chapter-01 1/2 folded",
            "act-1/chapter-02 2/2",
            "act-2 2/2"
        ]
    );
    assert_eq!(
        rows(&window(&world, None, "act-1/chapter-01", "")),
        [
            "act-1 1/2 open",
            "act-1/chapter-01 1/2 folded",
            "act-1/chapter-02 2/2",
            "act-2 2/2"
        ]
    );
    let found = window(&world, Some(0), "", "scene");
    assert_eq!(rows(&found), ["act-1/chapter-01/scene-0101 1/1"]);
    assert_eq!((found.total, found.plans), (1, 5));
}

#[test]
fn rows_name_what_their_plans_need() {
    let world = World::with_tickets();
    world.files.edit(
        "tickets/018-later/ticket.md",
        "---\nid: '018'\nneeds: ['017a']\n---\n# Later\n",
    );
    let shown = window(&world, None, "", "");
    let later = shown.rows.last().expect("a row");
    let needs: Vec<(&str, &str, bool)> = later
        .needs
        .iter()
        .map(|need| (need.path.as_str(), need.name.as_str(), need.open))
        .collect();
    assert_eq!(needs, [("017/017a", "Lines", true)]);
}

#[test]
fn an_operation_names_its_plans_with_their_changes_and_differences() {
    let world = World::with_story();
    world.files.edit(ACT, "# act-1\n\nAnother end.\n");
    let known = cached(&world);
    let ctx = world.ctx();
    let detail = describe_operation(&ctx, &known, known.head()).unwrap();
    let names: Vec<&str> = detail.plans.iter().map(|plan| plan.name.as_str()).collect();
    assert_eq!(names, ["act-1", "chapter-01", "scene-0101"]);
    assert!(detail.is_newest);
    let earlier = describe_operation(&ctx, &known, domain::ids::OperationId(1)).unwrap();
    assert!(!earlier.is_newest);
    let offered = [detail.can_be_undone, earlier.can_be_undone];
    assert_eq!(offered, [true, false], "the text changed since the first");
    let act = detail.plans.first().expect("a plan");
    let diff = act.diff.as_ref().expect("a difference");
    assert!(diff.unified.contains("+Another end."), "{}", diff.unified);
    assert!(
        act.changes.contains(&NodeChange::Status {
            before: Status::Approved,
            after: Status::Draft
        }),
        "{:?}",
        act.changes
    );
    let listed = list_recorded_history(&ctx, 5, None).unwrap();
    let named = name_changed_plans(&ctx, &known, &listed).unwrap();
    let plans = named.get(&known.head()).expect("the operation");
    assert_eq!((plans.named.len(), plans.total), (3, 3));
    let failure = describe_operation(&ctx, &known, domain::ids::OperationId(999)).unwrap_err();
    assert!(failure.message.contains("no operation 999"), "{failure:?}");
}

#[test]
fn a_session_that_a_gate_stopped_waits_for_the_plan_to_decide() {
    let world = World::with_story();
    world
        .files
        .edit("acts/act-2/strategic-plan.md", "# Second\n");
    let known = cached(&world);
    claim_node(&world.agent("s2"), &words("scene-0101")).unwrap();
    let blocked = [BlockedStep {
        at: world.ctx().clock.now(),
        host: "codex".to_owned(),
        session: "s1".to_owned(),
        gate: "hierarchy".to_owned(),
        plan: Some("act-2/chapter-09".to_owned()),
        heeded: false,
    }];
    let cards = show_sessions(&world.ctx(), &known, &blocked).unwrap();
    let [waiting, working] = cards.as_slice() else {
        panic!("{cards:?}")
    };
    assert_eq!(waiting.session, "s1");
    assert_eq!(waiting.state, ActivityState::Waiting);
    let plan = waiting.waits_for.as_ref().expect("a plan");
    assert_eq!((plan.name.as_str(), plan.status), ("Second", Status::Draft));
    assert_eq!(working.session, "s2");
    assert_eq!(working.state, ActivityState::Working);
    assert_eq!(working.holds.len(), 1);
    assert!(working.last_operation.is_some());
}

#[test]
fn graphs_show_needs_and_what_is_stale() {
    let world = World::with_tickets();
    world.files.edit(
        "tickets/018-later/ticket.md",
        "---\nid: '018'\nneeds: ['017', '099']\n---\n# Later\n",
    );
    let draw = |world: &World, text: &str| {
        let request = GraphRequest {
            text: text.to_owned(),
            ..GraphRequest::default()
        };
        show_graph(&world.ctx(), &cached(world), &request).unwrap()
    };
    let needs = draw(&world, "lat");
    assert_eq!(needs.kind, GraphKind::Needs);
    let names: Vec<&str> = needs.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["Quality", "Later"]);
    assert_eq!((needs.edges.len(), needs.matches), (1, 1));
    assert!(needs.layout.nodes[0].x < needs.layout.nodes[1].x);
    assert_eq!(needs.problems.len(), 1, "{:?}", needs.problems);
    let story = World::with_story();
    story.files.edit(ACT, "# act-1\n\nAnother end.\n");
    let cascade = draw(&story, "");
    assert_eq!(cascade.kind, GraphKind::Cascade);
    assert_eq!((cascade.nodes.len(), cascade.edges.len()), (3, 2));
    assert!(cascade.edges.iter().all(|edge| edge.is_active));
}

#[test]
fn progress_is_counted_per_level_and_day() {
    let world = World::with_story();
    let request = ProgressRequest {
        node: words("scene-0101"),
        progress: Progress::Complete,
    };
    set_progress(&world.ctx(), &request).unwrap();
    let mut cache = ProgressCache::default();
    let shown = show_progress(&world.ctx(), &cached(&world), 2, &mut cache).unwrap();
    let levels: Vec<(&str, i64, i64, i64)> = shown
        .levels
        .iter()
        .map(|level| {
            let now = level.now;
            (
                level.level.as_str(),
                now.planned,
                now.approved,
                now.complete,
            )
        })
        .collect();
    assert_eq!(
        levels,
        [("act", 1, 1, 0), ("chapter", 1, 1, 0), ("scene", 1, 1, 1)]
    );
    let scenes = shown.levels.last().expect("a level");
    let days: Vec<(i64, i64)> = scenes
        .history
        .iter()
        .map(|day| (day.totals.planned, day.totals.complete))
        .collect();
    assert_eq!(days, [(0, 0), (1, 1)], "nothing yesterday");
    assert_eq!(shown.to_completion.map(|times| times.count), Some(1));
    assert_eq!(shown.to_approval.map(|times| times.count), Some(3));
}

#[test]
fn cached_progress_is_that_of_a_full_read() {
    let mut cache = ProgressCache::default();
    let mut compare = |world: &World, what: &str| {
        let show = |days, cache: &mut ProgressCache| {
            let shown = show_progress(&world.ctx(), &cached(world), days, cache).unwrap();
            serde_json::to_value(&shown).unwrap()
        };
        for days in [2, 30] {
            let full = show(days, &mut ProgressCache::default());
            assert_eq!(show(days, &mut cache), full, "{what}, {days} days");
        }
    };
    let world = World::with_story();
    compare(&world, "three approved plans");
    let request = ProgressRequest {
        node: words("scene-0101"),
        progress: Progress::Complete,
    };
    let (_, completed) = record_progress(&world.ctx(), &request, None).unwrap();
    compare(&world, "a completed scene");
    let removal = ChangeShapeRequest {
        change: ShapeChange::Remove {
            node: words("scene-0101"),
        },
        dry_run: false,
    };
    change_shape(&world.ctx(), &removal).unwrap();
    compare(&world, "a removed scene");
    undo_operations(&world.ctx(), UndoTarget::Operation(world.head())).unwrap();
    compare(&world, "the scene again");
    undo_operations(&world.ctx(), UndoTarget::Operation(completed.unwrap())).unwrap();
    compare(&world, "a scene that is not complete");
    // A restored state has other operations under the same numbers.
    compare(&World::with_tickets(), "another history");
}

#[test]
fn a_card_says_why_its_plan_is_blocked() {
    let world = World::with_tickets();
    let set = |progress, reason| {
        let request = ProgressRequest {
            node: words("017a"),
            progress,
        };
        record_progress(&world.ctx(), &request, reason).map(|(_, operation)| operation)
    };
    let reason = || {
        let shown = board(&world, "progress", "none", "");
        let mut cards = shown.lanes[0].cells.iter().flat_map(|cell| &cell.cards);
        let card = cards.find(|card| card.entity_id == "017a").unwrap();
        card.blocked_reason.clone()
    };
    let page = || load_node_page(&world.ctx(), &words("017a"), None).unwrap();
    assert!(
        set(Progress::Blocked, Some(" waits for the key "))
            .unwrap()
            .is_some()
    );
    assert_eq!(reason().as_deref(), Some("waits for the key"));
    let blocked = page().family.blocked.unwrap();
    assert_eq!(blocked.text, "waits for the key");
    assert!(
        set(Progress::Blocked, None).unwrap().is_none(),
        "the same again"
    );
    assert!(set(Progress::Blocked, Some("no room")).unwrap().is_some());
    assert_eq!(reason().as_deref(), Some("no room"));
    undo_operations(&world.ctx(), UndoTarget::Operation(world.head())).unwrap();
    assert_eq!(reason().as_deref(), Some("waits for the key"));
    assert!(set(Progress::Active, Some("why?")).is_err());
    set(Progress::Active, None).unwrap();
    assert_eq!(reason(), None);
    set(Progress::Blocked, None).unwrap();
    assert_eq!(reason(), None, "the reason is of the block before");
}

#[test]
fn a_ticket_page_counts_the_lines_of_its_sessions() {
    let (world, git) = (World::with_tickets(), FakeGit::with_commit());
    let ctx = || world.agent("s").with_git_and_session(&git, "s".to_owned());
    let lines = |node: &str| {
        let page = load_node_page(&ctx(), &words(node), None).unwrap();
        let sessions = page.family.ticket.unwrap().sessions.into_iter();
        sessions
            .map(|one| (one.session, one.lines, one.limit))
            .collect::<Vec<_>>()
    };
    git.change_lines("src/a.rs", 120);
    assert_eq!(lines("017a"), [], "nobody works on it");
    let request = FocusMove::Enter {
        node: words("017a"),
        claim: false,
    };
    move_focus(&ctx(), &request).unwrap();
    assert_eq!(lines("017a"), [("s".to_owned(), 120, 400)]);
    assert!(where_am_i(&ctx()).unwrap().line.ends_with("120/400 loc"));
    assert_eq!(lines("017"), [], "a ticket below it has a page of its own");
    set_work_level(&ctx(), &words("017a"), Some(WorkLevel::Patch), None).unwrap();
    assert_eq!(lines("017a"), [("s".to_owned(), 120, 200)]);
}

#[test]
fn a_change_of_shape_offers_headings_and_plans_of_the_same_level() {
    let world = World::with_story();
    world.files.edit(
        "acts/act-1/chapters/chapter-02/plan.md",
        "# Two\n\n## Sea\n\n## Land\n",
    );
    world.files.edit("acts/act-2/strategic-plan.md", "# Act\n");
    let known = cached(&world);
    let of = |path: &str| list_shape_choices(&world.ctx(), &known, path);
    let paths = |plans: &[PlanName]| {
        plans
            .iter()
            .map(|plan| plan.path.clone())
            .collect::<Vec<_>>()
    };
    let chapter = of("act-1/chapter-02").unwrap();
    assert_eq!(chapter.headings, ["Sea", "Land"]);
    assert_eq!(paths(&chapter.peers), ["act-1/chapter-01"]);
    assert_eq!(paths(&chapter.parents), ["act-1", "act-2"]);
    assert_eq!(paths(&of("act-1").unwrap().children).len(), 2);
    assert!(of("act-9").is_err());
}

/// Defect: a path in the log was called by the title of the plan that has it now.
#[test]
fn the_log_knows_titles_of_the_plans_it_is_about_alone() {
    let world = World::with_story();
    for (chapter, title) in [(1, "Harbour"), (2, "Storm")] {
        let file = format!("acts/act-1/chapters/chapter-{chapter:02}/plan.md");
        world.files.edit(&file, &format!("# {title}\n"));
    }
    world.approve("chapter-01").unwrap();
    let approved = world.head();
    add_comment(&world.ctx(), &words("chapter-02"), "Why?").unwrap();
    let commented = world.head();
    let exchange = ChangeShapeRequest {
        change: ShapeChange::Move {
            node: words("chapter-02"),
            target: MoveTarget::Before("chapter-01".to_owned()),
        },
        dry_run: false,
    };
    let titles = |id| {
        let known = cached(&world);
        let log = list_recorded_history(&world.ctx(), 20, None).unwrap();
        let named = name_changed_plans(&world.ctx(), &known, &log).unwrap();
        named[&id].titles.clone().into_iter().collect::<Vec<_>>()
    };
    let pair = |path: &str, title: &str| (path.to_owned(), title.to_owned());
    assert!(titles(approved).contains(&pair("act-1/chapter-01", "Harbour")));
    assert_eq!(titles(commented), [pair("act-1/chapter-02", "Storm")]);
    change_shape(&world.ctx(), &exchange).unwrap();
    let moved = world.head();
    // The summary says `act-1/chapter-02`, which is the other plan now.
    assert_eq!(titles(commented), [pair("act-1/chapter-01", "Storm")]);
    assert_eq!(titles(moved), [], "its paths are those before and after");
}
