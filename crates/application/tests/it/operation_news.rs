//! What a running session is told about the work of others, once.

use application::comment::add_comment;
use application::handle_host_event::EventOutcome;
use application::invalidate::{InvalidateRequest, invalidate_node};
use application::project_status::load_project_status;
use domain::approval::Force;
use domain::host_event::{Happening, Host, StartSource};

use crate::hooks::Session;
use crate::world::{ACT, CHAPTER, SCENE, World, words};

fn context(outcome: EventOutcome) -> String {
    outcome.reply.context.unwrap_or_default()
}

/// Looks at the project in a terminal, which records what was edited.
fn look(world: &World) {
    load_project_status(&world.ctx()).unwrap();
}

#[test]
fn an_approval_in_a_terminal_is_told_once() {
    let world = World::with_story();
    let session = Session::new(&world, "s1");
    session.start();
    session.read(CHAPTER);
    world.files.edit(CHAPTER, "# chapter-01\n\nNew.\n");
    look(&world);
    world.approve("chapter-01").unwrap();
    let told = context(session.prompt("go on"));
    assert!(
        told.contains("`act-1/chapter-01` was approved by Ада in a terminal: you know an older text, read it again"),
        "{told}"
    );
    assert_eq!(context(session.prompt("and now?")), "");
    assert_eq!(context(session.ran("make")), "");
}

#[test]
fn an_edit_that_a_terminal_recorded_first_is_told_with_its_cascade() {
    let world = World::with_story();
    let session = Session::new(&world, "s1");
    session.start();
    session.read(ACT);
    session.read(CHAPTER);
    world.files.edit(ACT, "# act-1\n\nAnother end.\n");
    look(&world);
    let told = context(session.ran("make"));
    assert!(told.contains("`act-1` was edited"), "{told}");
    assert!(told.contains("`act-1/chapter-01` became stale"), "{told}");
    assert!(!told.contains("scene-0101"), "not its concern: {told}");
    assert_eq!(context(session.prompt("go on")), "");
}

#[test]
fn comments_and_condemnations_are_told_before_the_next_write() {
    let world = World::with_story();
    let session = Session::new(&world, "s1");
    session.start();
    session.read(SCENE);
    add_comment(&world.ctx(), &words("scene-0101"), "too long").unwrap();
    let request = InvalidateRequest {
        node: words("chapter-01"),
        reason: "off the act".to_owned(),
        shown: None,
    };
    invalidate_node(&world.ctx(), &request).unwrap();
    let told = context(session.prompt("go on"));
    let condemned = told.find("`act-1/chapter-01` was condemned").expect(&told);
    let comment = told
        .find("has a new comment, as data: \"too long\"")
        .expect(&told);
    assert!(condemned < comment, "newest first: {told}");
}

#[test]
fn a_session_is_not_told_about_its_own_operations() {
    let world = World::with_story();
    let session = Session::new(&world, "s1");
    session.start();
    session.read(ACT);
    let wrote = context(session.write(ACT, "# act-1\n\nMine.\n"));
    assert!(!wrote.contains("by others"), "{wrote}");
    assert_eq!(context(session.prompt("go on")), "");
    // Its own command, by the principal that a shell of the session has.
    let own = world.agent("s1");
    application::approve::approve_node(
        &own,
        &application::approve::ApproveRequest {
            node: words("act-1"),
            force: Force::No,
            shown: None,
        },
    )
    .unwrap();
    assert_eq!(context(session.prompt("go on, please")), "");
    // Typed by the person in this very session.
    let typed = context(session.prompt("/approve-plan chapter 1"));
    assert!(typed.contains("is approved"), "{typed}");
    assert!(!typed.contains("by others"), "{typed}");
    assert_eq!(context(session.prompt("thanks")), "");
}

#[test]
fn an_own_text_that_another_session_recorded_first_is_not_news() {
    let world = World::with_story();
    let (first, second) = (Session::new(&world, "s1"), Session::new(&world, "s2"));
    first.start();
    second.start();
    first.read(ACT);
    world.files.edit(ACT, "# act-1\n\nMine.\n");
    let other = context(second.ran("make"));
    assert!(other.contains("act-1"), "{other}");
    let told = context(first.after(crate::hooks::write_call(ACT, "# act-1\n\nMine.\n")));
    assert!(!told.contains("`act-1` was edited"), "{told}");
}

#[test]
fn what_another_session_writes_is_told_to_the_first() {
    let world = World::with_story();
    let (first, second) = (Session::new(&world, "s1"), Session::new(&world, "s2"));
    first.start();
    second.start();
    first.read(ACT);
    second.read(ACT);
    second.write(ACT, "# act-1\n\nOther.\n");
    let told = context(first.ran("make"));
    assert!(
        told.contains("`act-1` was edited: you know an older text"),
        "{told}"
    );
    assert_eq!(context(second.prompt("go on")), "");
}

#[test]
fn a_resumed_session_is_told_what_happened_while_it_was_away() {
    let world = World::with_story();
    let session = Session::new(&world, "s1");
    session.start();
    session.handle(Happening::SessionEnded);
    add_comment(&world.ctx(), &words("act-1"), "shorter, please").unwrap();
    let source = StartSource::Resume;
    let told = context(session.handle(Happening::SessionStarted { source }));
    assert!(told.starts_with("Throughline briefing:"), "{told}");
    assert!(told.contains("`act-1` has a new comment"), "{told}");
}

#[test]
fn many_changes_are_bounded_and_counted() {
    let world = World::with_story();
    let session = Session::new(&world, "s1");
    session.start();
    for number in 2..=9 {
        let chapter = format!("acts/act-1/chapters/chapter-0{number}/plan.md");
        world.files.edit(&chapter, "# Chapter\n");
        look(&world);
    }
    let told = context(session.prompt("go on"));
    assert!(told.contains("chapter-09` is new"), "{told}");
    assert!(told.contains("- and 3 more: tl log"), "{told}");
    assert_eq!(told.lines().count(), 7, "{told}");
}

#[test]
fn a_host_that_takes_no_context_before_tools_is_told_after_the_call() {
    let world = World::with_story();
    let mut session = Session::new(&world, "s1");
    session.host = Host::Gemini;
    session.start();
    session.prompt("start");
    session.read(ACT);
    world.files.edit(CHAPTER, "# chapter-01\n\nNew.\n");
    world.approve("chapter-01").unwrap();
    let before = session.before_write(SCENE, "# scene-0101\n\nMore.\n");
    let asked = context(before);
    assert!(!asked.contains("by others"), "{asked}");
    assert!(context(session.ran("make")).contains("by others"));
}

#[test]
fn the_cursor_alone_causes_no_write() {
    let world = World::with_story();
    let session = Session::new(&world, "s1");
    session.start();
    session.prompt("start");
    let note = |world: &World| {
        let state = world.store.begin_read().unwrap();
        state
            .load_note(&domain::session_state::SessionState::note_key("s1"))
            .unwrap()
    };
    let before = note(&world);
    // Another session's bookkeeping is no news.
    application::claim_node::claim_node(&world.agent("s2"), &words("chapter-01")).unwrap();
    session.ran("make");
    assert_eq!(note(&world), before);
}

#[test]
fn an_edit_that_does_not_concern_a_session_waits_for_the_next_prompt() {
    let world = World::with_story();
    let (first, second) = (Session::new(&world, "s1"), Session::new(&world, "s2"));
    first.start();
    second.start();
    second.read(ACT);
    second.write(ACT, "# act-1\n\nOther.\n");
    assert_eq!(context(first.ran("make")), "");
    assert!(context(first.prompt("go on")).contains("`act-1` was edited"));
}

#[test]
fn a_notice_that_repeats_is_shortened_and_not_swallowed() {
    let world = World::with_story();
    let session = Session::new(&world, "s1");
    session.start();
    world.files.edit(ACT, "# act-1\n\nOnce.\n");
    let first = context(session.prompt("go on"));
    assert!(first.contains("changed: act-1"), "{first}");
    world.files.edit(ACT, "# act-1\n\nTwice.\n");
    session.prompt("go on");
    world.files.edit(ACT, "# act-1\n\nThree times.\n");
    let third = context(session.prompt("go on"));
    assert!(third.starts_with("Throughline, again:"), "{third}");
    assert!(third.len() < first.len(), "{third}");
    assert_eq!(context(session.prompt("go on")), "");
}

#[test]
fn the_first_prompt_of_a_day_brings_a_briefing() {
    let world = World::with_story();
    let session = Session::new(&world, "s1");
    let has_briefing = |told: &str| told.contains("Throughline briefing:");
    assert!(has_briefing(&context(session.start())));
    world.clock.advance_seconds(60 * 60);
    assert!(!has_briefing(&context(session.prompt("go on"))));
    world.clock.advance_seconds(24 * 60 * 60);
    assert!(has_briefing(&context(session.prompt("good morning"))));
    assert!(!has_briefing(&context(session.prompt("go on"))));
}

#[test]
fn the_prompt_of_a_plan_comes_whole_and_news_wait_for_the_next_event() {
    let world = World::new();
    let chapters = (1..=11).map(|number| {
        let text = "The keeper meets a sailor on the shore. ".repeat(16);
        format!("## Chapter {number}\n\n{text}\n\n")
    });
    let act = format!(
        "# act-1\n\n{}The last words.\n",
        chapters.collect::<String>()
    );
    world.files.edit(ACT, &act);
    world.approve("act-1").unwrap();
    let session = Session::new(&world, "s1");
    session.start();
    for number in 1..=4 {
        let text = format!("Remark {number}: {}", "mind the boat ".repeat(20));
        add_comment(&world.ctx(), &words("act-1"), &text).unwrap();
    }
    let told = context(session.prompt("/plan-chapter 7"));
    assert!(told.contains("The last words."), "{told}");
    assert!(told.chars().count() <= 10_000);
    let later = context(session.ran("make"));
    assert!(
        told.contains("Remark 1") || later.contains("Remark 1"),
        "{later}"
    );
}
