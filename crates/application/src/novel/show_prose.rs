//! Shows the prose of a scene, by hand or by a model, with the comments on it.

use domain::generation::{Generation, GenerationStatus};
use domain::prose::{ProseBasis, find_stale_reason};
use domain::record;
use domain::search::split_words;
use schemars::JsonSchema;
use serde::Serialize;

use crate::comment::{CommentView, load_comments};
use crate::context::Context;
use crate::failure::Failure;
use crate::generation::material::find_scene;
use crate::observe::observe_plans;
use crate::tick::story_state::{prose_path, read_prose};

/// The prose of a scene.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProsePage {
    pub scene: String,
    pub file: String,
    pub words: usize,
    /// The model that wrote it; `None` for prose by hand.
    pub writer: Option<String>,
    /// Why it no longer follows from its plan.
    pub stale: Option<String>,
    pub text: String,
    /// The comments on the prose, latest first.
    pub comments: Vec<CommentView>,
}

/// Returns the prose of a scene, as it is in its file: people edit it there.
///
/// # Errors
/// When there is no such scene, it has no prose, or the state cannot be read.
pub fn show_prose(ctx: &Context<'_>, words: &[String]) -> Result<ProsePage, Failure> {
    let (state, tree) = observe_plans(ctx)?;
    let node = find_scene(ctx, &*state, &tree, words)?;
    let scene = tree.alias_path(node);
    let file = prose_path(ctx, &tree, node).unwrap_or_default();
    let Some(text) = read_prose(ctx, &tree, &scene) else {
        let what = format!("there is no text of `{scene}` yet; it belongs in `{file}`");
        return Err(Failure::not_found(what).with_step(format!("tl story write {scene}")));
    };
    let known = record::read_record::<Generation>(&*state, &Generation::record_key(node.id))?;
    let known = known.filter(|known| known.status == GenerationStatus::Complete);
    let basis = record::read_record::<ProseBasis>(&*state, &node.id.0.to_string())?;
    let mut comments = load_comments(ctx, &*state, Some(node.id))?;
    let threads: Vec<String> = comments
        .iter()
        .filter(|said| said.in_prose)
        .map(|said| said.id.clone())
        .collect();
    comments.retain(|said| {
        said.in_prose
            || said
                .reply_to
                .as_ref()
                .is_some_and(|of| threads.contains(of))
    });
    Ok(ProsePage {
        words: split_words(&text).len(),
        writer: known.map(|known| known.writer),
        stale: find_stale_reason(node, basis),
        scene,
        file,
        text,
        comments,
    })
}
