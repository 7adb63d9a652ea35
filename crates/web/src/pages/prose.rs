//! Page of a scene's prose, with the comments on it.

use application::novel::show_prose::{ProsePage, show_prose};
use axum::extract::{Path, State};
use maud::{Markup, html};

use super::comments::render_comments;
use super::decision_bar::render_comment_dialog;
use super::{NavigationEntry, render_page};
use crate::frame::{Page, Rights};
use crate::refusal::Refusal;
use crate::titles::PlanTitles;
use crate::{Dashboard, markdown};

pub(crate) async fn prose_page(
    State(dashboard): State<Dashboard>,
    rights: Rights,
    Path(path): Path<String>,
) -> Result<Page, Refusal> {
    let found = dashboard
        .ask(move |ctx| show_prose(ctx, std::slice::from_ref(&path)))
        .await
        .map_err(Refusal::on("/story".to_owned()))?;
    let titles = dashboard.load_titles([found.scene.clone()]).await;
    Ok(render_page(
        NavigationEntry::Story,
        &format!("Prose of {}", titles.name_of(&found.scene)),
        &render_content(&rights, &found, &titles),
    ))
}

fn render_content(rights: &Rights, found: &ProsePage, titles: &PlanTitles) -> Markup {
    let ProsePage {
        scene,
        file,
        words,
        writer,
        stale,
        text,
        comments,
    } = found;
    html! {
        nav.lineage aria-label="Where this is" { ol { li { a href="/story" { "Story" } } li { (titles.link_to(scene)) } } }
        h1 dir="auto" { (titles.name_of(scene)) }
        p.quiet { span.number { (words) } " words"
            @if let Some(writer) = writer { " by " (writer) }
            " · " code { (file) } }
        @if let Some(stale) = stale { p.notice { "Stale: " (stale) } }
        article #prose data-live { div.prose dir="auto" { (markdown::render_markdown(text)) } }
        (render_comments(rights, comments, false))
        @if rights.allow("comment") {
            div.buttons { button type="button" popovertarget="add-comment" { "Comment" } }
            (render_comment_dialog(&html! {
                input type="hidden" name="node" value=(scene);
                input type="hidden" name="in_prose" value="yes";
            }))
        }
    }
}
