//! Images of the project, for the plans that show them.

use application::read_image::read_image;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use domain::image_kind::ImageKind;

use crate::Dashboard;
use crate::refusal::Refusal;

/// Whether a name is that of an image that is served.
pub(crate) fn is_image_name(name: &str) -> bool {
    ImageKind::from_name(name).is_some()
}

pub(crate) async fn project_image(
    State(dashboard): State<Dashboard>,
    Path(path): Path<String>,
) -> Result<Response, Refusal> {
    let image = dashboard.ask(move |ctx| read_image(ctx, &path)).await?;
    let headers = [
        (CONTENT_TYPE, image.kind.media_type()),
        // People exchange pictures under the same name; they are small and near.
        (CACHE_CONTROL, "no-cache"),
    ];
    Ok((headers, image.bytes).into_response())
}
