//! Page *Outline*: titles, synopses and statuses of all plans as one document to read.

use application::make_outline::{OutlineRequest, make_outline};
use axum::extract::State;
use maud::html;

use super::{NavigationEntry, render_page};
use crate::Dashboard;
use crate::frame::Page;
use crate::markdown::render_markdown;
use crate::refusal::Refusal;

pub(crate) async fn outline_page(State(dashboard): State<Dashboard>) -> Result<Page, Refusal> {
    let request = OutlineRequest {
        node: Vec::new(),
        depth: None,
        full: false,
    };
    let outline = dashboard
        .ask(move |ctx| make_outline(ctx, &request))
        .await?;
    Ok(render_page(
        NavigationEntry::Elsewhere,
        "Outline",
        &html! {
            article #outline dir="auto" { (render_markdown(&outline.to_markdown())) }
        },
    ))
}
