//! The text of a scene that was written.

use application::generation::view::{GenerationView, show_generation};
use application::{Failure, FailureKind};
use axum::extract::{Path, State};
use domain::ports::FileReadResult;
use maud::{Markup, html};

use super::{Place, shell, to_node};
use crate::refusal::Refusal;
use crate::{Dashboard, markdown};

/// More than a scene has.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) async fn page(
    State(dashboard): State<Dashboard>,
    Path(path): Path<String>,
) -> Result<Markup, Refusal> {
    let (scene, text) = dashboard
        .ask(move |ctx| {
            let scene = show_generation(ctx, std::slice::from_ref(&path))?;
            let read = scene
                .file
                .as_ref()
                .map(|file| ctx.files.read_file(file, MOST_BYTES));
            match read {
                Some(FileReadResult::Text { text, .. }) => Ok((scene, text)),
                _ => Err(Failure::new(
                    FailureKind::NotFound,
                    format!("there is no text of `{}` yet", scene.scene),
                )
                .with_step(format!("tl write {}", scene.scene))),
            }
        })
        .await
        .map_err(Refusal::on("/ticks".to_owned()))?;
    Ok(shell(Place::Ticks, &scene.scene, &content(&scene, &text)))
}

fn content(scene: &GenerationView, text: &str) -> Markup {
    html! {
        nav.lineage aria-label="Where this is" { ol { li { a href="/ticks" { "Ticks" } } li { (to_node(&scene.scene)) } } }
        h1 { (scene.scene) }
        p.quiet { span.number { (scene.words) } " words by " (scene.writer)
            @if let Some(file) = &scene.file { " · " code { (file) } } }
        article #prose data-live { div.prose dir="auto" { (markdown::rendered(text)) } }
    }
}
