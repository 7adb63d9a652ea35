//! Page of a generated scene's prose.

use application::Failure;
use application::generation::view::{GenerationView, show_generation};
use axum::extract::{Path, State};
use domain::ports::FileReadResult;
use maud::{Markup, html};

use super::{NavigationEntry, link_to_node, render_page};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::{Dashboard, markdown};

/// Maximum size of a scene's file; far above any scene.
const MAX_PROSE_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) async fn prose_page(
    State(dashboard): State<Dashboard>,
    Path(path): Path<String>,
) -> Result<Page, Refusal> {
    let (scene, text) = dashboard
        .ask(move |ctx| {
            let scene = show_generation(ctx, std::slice::from_ref(&path))?;
            // From the file, because people edit prose there.
            let read = scene
                .file
                .as_ref()
                .map(|file| ctx.files.read_file(file, MAX_PROSE_BYTES));
            // A file that is missing, too large or not text is treated as not written yet.
            match read {
                Some(FileReadResult::Text { text, .. }) => Ok((scene, text)),
                _ => Err(
                    Failure::not_found(format!("there is no text of `{}` yet", scene.scene))
                        .with_step(format!("tl story write {}", scene.scene)),
                ),
            }
        })
        .await
        .map_err(Refusal::on("/ticks".to_owned()))?;
    Ok(render_page(
        NavigationEntry::Ticks,
        &scene.scene,
        &render_content(&scene, &text),
    ))
}

fn render_content(scene: &GenerationView, text: &str) -> Markup {
    html! {
        nav.lineage aria-label="Where this is" { ol { li { a href="/ticks" { "Ticks" } } li { (link_to_node(&scene.scene)) } } }
        h1 { (scene.scene) }
        p.quiet { span.number { (scene.words) } " words by " (scene.writer)
            @if let Some(file) = &scene.file { " · " code { (file) } } }
        article #prose data-live { div.prose dir="auto" { (markdown::render_markdown(text)) } }
    }
}
