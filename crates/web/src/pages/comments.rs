//! The comments on a plan or its prose as threads: quoted words, replies, and the forms to reply and resolve.

use application::comment::CommentView;
use maud::{Markup, html};

use super::{render_principal, render_time};
use crate::components::{ButtonKind, render_counter, render_submit};
use crate::frame::Rights;
use crate::markdown;

/// Renders comments, the latest first in the list; in the inbox, replies lead back to it.
pub(crate) fn render_comments(rights: &Rights, comments: &[CommentView], in_inbox: bool) -> Markup {
    // Latest first in the view; people read a thread from its beginning.
    let oldest_first: Vec<&CommentView> = comments.iter().rev().collect();
    let is_root = |said: &&&CommentView| match &said.reply_to {
        // A reply whose thread went with its branch stands alone.
        Some(id) => !oldest_first.iter().any(|other| other.id == *id),
        None => true,
    };
    let (open, closed): (Vec<&CommentView>, Vec<&CommentView>) = oldest_first
        .iter()
        .filter(is_root)
        .copied()
        .partition(|said| said.open);
    let render = |said: &CommentView| {
        let replies: Vec<&CommentView> = oldest_first
            .iter()
            .filter(|other| other.reply_to.as_ref() == Some(&said.id))
            .copied()
            .collect();
        render_thread(rights, said, &replies, in_inbox)
    };
    html! {
        section #comments data-live {
            div.section-head { h2 { "Comments" } (render_counter(&format!("{} open", open.len()))) }
            @if oldest_first.is_empty() { p.quiet { "No comments. Mark words in the text to comment on them." } }
            @for said in &open { (render(said)) }
            @if !closed.is_empty() {
                details.closed {
                    summary { (closed.len()) " answered, outdated or resolved" }
                    @for said in &closed { (render(said)) }
                }
            }
        }
    }
}

fn render_thread(
    rights: &Rights,
    said: &CommentView,
    replies: &[&CommentView],
    in_inbox: bool,
) -> Markup {
    html! {
        article.thread id={ "comment-" (said.id) } {
            @if let Some(quote) = &said.quote {
                blockquote.quoted dir="auto" data-quote=(quote) {
                    (quote)
                    footer.quiet.label {
                        @if said.in_prose { "prose" @if said.section.as_ref().is_some_and(|section| !section.is_empty()) { " · " } }
                        @if let Some(section) = said.section.as_ref().filter(|section| !section.is_empty()) { (section) }
                        @match said.line {
                            Some(line) => { " · line " (line) },
                            None => { " · no longer in the text" },
                        }
                    }
                }
            }
            (render_comment(said))
            @for reply in replies { div.reply { (render_comment(reply)) } }
            @if rights.allow("comment") {
                details.answer {
                    summary { "Reply" span.hidden { " to " (said.id) } }
                    form action="/do/comment" method="post" {
                        input type="hidden" name="node" value=(said.path);
                        input type="hidden" name="reply_to" value=(said.id);
                        @if in_inbox { input type="hidden" name="next" value=""; }
                        label.hidden for={ "reply-" (said.id) } { "Reply" }
                        textarea id={ "reply-" (said.id) } name="text" rows="3" maxlength="10000" {}
                        div.buttons {
                            (render_submit(ButtonKind::Plain, "Reply", None))
                            button.ghost type="submit" name="resolve" value="yes" { "Resolve" }
                        }
                    }
                }
            }
        }
    }
}

fn render_comment(said: &CommentView) -> Markup {
    html! {
        p.said.label.quiet {
            (render_principal(&said.by)) " · " (render_time(said.at))
            @if !said.open { " " span.tag { (said.state.as_str()) } }
        }
        div.prose dir="auto" { (markdown::render_markdown(&said.text)) }
    }
}
