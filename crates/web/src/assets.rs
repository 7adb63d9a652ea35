//! Static assets, embedded in the program: no build step and no files to install.

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::ids::Digest32;

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! assets {
    ($($name:literal $kind:expr),+ $(,)?) => {
        &[$(($name, $kind, include_str!(concat!("../assets/", $name)))),+]
    };
}

/// Every asset: name, content type, text.
pub(crate) const ASSETS: &[(&str, &str, &str)] = assets![
    "base.css" CSS,
    "layout.css" CSS,
    "status.css" CSS,
    "forms.css" CSS,
    "tree.css" CSS,
    "node.css" CSS,
    "diff.css" CSS,
    "tables.css" CSS,
    "details.css" CSS,
    "app.js" JS,
    "live.js" JS,
    "tree.js" JS,
    "icon.svg" SVG,
];

/// Returns the names of the style sheets, in cascade order.
pub(crate) fn style_names() -> impl Iterator<Item = &'static str> {
    ASSETS
        .iter()
        .filter(|(_, kind, _)| *kind == CSS)
        .map(|(name, ..)| *name)
}

pub(crate) async fn serve_asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    // A lookup in a fixed list: no path of a request ever reaches the file system.
    let Some((_, kind, text)) = ASSETS.iter().find(|(known, ..)| *known == name) else {
        return (StatusCode::NOT_FOUND, "there is no such asset").into_response();
    };
    let mark = format!("\"{}\"", Digest32::of_bytes(text.as_bytes()));
    // Revalidated on every use with an `ETag`: after an update of the program a page and its
    // scripts are never of two versions.
    let about = [(CACHE_CONTROL, "no-cache".to_owned()), (ETAG, mark.clone())];
    if headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == mark.as_bytes())
    {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    (about, [(CONTENT_TYPE, *kind)], *text).into_response()
}
