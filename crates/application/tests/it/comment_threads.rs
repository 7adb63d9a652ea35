//! Comments about words of a plan: threads, resolution, and what a change of the text does to them.

use application::FailureKind;
use application::comment::{CommentView, NewComment, add_placed_comment, list_comments};
use application::node_page::load_node_page;
use domain::comment::CommentState;

use crate::world::{SCENE, World, assert_refused, words};

const TEXT: &str =
    "# scene-0101\n\n## Beats\n\nThe lamp *goes out*.\n\n## Ending\n\nShe says nothing.\n";

fn world() -> World {
    let world = World::with_story();
    world.files.edit(SCENE, TEXT);
    world.status("scene-0101");
    world
}

fn quoting(quote: &str) -> NewComment {
    NewComment {
        text: "Why?".to_owned(),
        quote: Some(quote.to_owned()),
        ..NewComment::default()
    }
}

fn reply_to(said: &CommentView, resolves: bool) -> NewComment {
    NewComment {
        text: if resolves { "" } else { "She is afraid." }.to_owned(),
        reply_to: Some(said.id.clone()),
        resolves,
        ..NewComment::default()
    }
}

fn states(world: &World) -> Vec<CommentState> {
    let all = list_comments(&world.ctx(), &words("scene-0101")).unwrap();
    all.iter().map(|said| said.state).collect()
}

#[test]
fn a_comment_on_words_names_section_and_line() {
    let world = world();
    let node = words("scene-0101");
    let said = add_placed_comment(&world.ctx(), &node, &quoting("lamp goes out")).unwrap();
    assert_eq!(
        (said.section.as_deref(), said.line, said.state),
        (Some("Beats"), Some(5), CommentState::Open)
    );
    let page = load_node_page(&world.ctx(), &node, None).unwrap();
    assert_eq!(page.comments, [said]);
    let unknown = add_placed_comment(&world.ctx(), &node, &quoting("a storm"));
    assert_refused(unknown, FailureKind::Invalid, "not in the text");
}

#[test]
fn a_comment_on_words_stays_open_while_they_are_in_the_text() {
    let world = world();
    let node = words("scene-0101");
    add_placed_comment(&world.ctx(), &node, &quoting("She says nothing")).unwrap();
    world
        .files
        .edit(SCENE, &TEXT.replace("The lamp", "Rain. The lamp"));
    world.status("scene-0101");
    assert_eq!(states(&world), [CommentState::Open]);
    world.files.edit(SCENE, &TEXT.replace("nothing", "a word"));
    world.status("scene-0101");
    assert_eq!(states(&world), [CommentState::Outdated]);
    // The words come back with the text.
    world.files.edit(SCENE, TEXT);
    world.status("scene-0101");
    assert_eq!(states(&world), [CommentState::Open]);
}

#[test]
fn a_thread_is_resolved_and_opened_again_by_a_reply() {
    let world = world();
    let node = words("scene-0101");
    let said = add_placed_comment(&world.ctx(), &node, &quoting("She says nothing")).unwrap();
    let reply = add_placed_comment(&world.ctx(), &node, &reply_to(&said, false)).unwrap();
    assert_eq!(reply.reply_to.as_ref(), Some(&said.id));
    world.clock.advance_seconds(1);
    let resolved = add_placed_comment(&world.ctx(), &node, &reply_to(&reply, true)).unwrap();
    assert_eq!(
        (resolved.text.as_str(), &resolved.reply_to),
        ("Resolved.", &Some(said.id.clone())),
        "a reply to a reply is in the same thread"
    );
    assert!(
        states(&world)
            .iter()
            .all(|state| *state == CommentState::Resolved)
    );
    world.clock.advance_seconds(1);
    add_placed_comment(&world.ctx(), &node, &reply_to(&said, false)).unwrap();
    assert!(
        states(&world)
            .iter()
            .all(|state| *state == CommentState::Open)
    );
    let nobody = NewComment {
        reply_to: Some("ffffffffff".to_owned()),
        ..reply_to(&said, false)
    };
    let unknown = add_placed_comment(&world.ctx(), &node, &nobody);
    assert_refused(unknown, FailureKind::NotFound, "there is no comment");
}
