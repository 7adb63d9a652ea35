//! Scripts, styles and pictures, embedded in the program.

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

/// Every asset: name, kind, text.
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

/// Returns the names of the styles, in the order they apply.
pub(crate) fn styles() -> impl Iterator<Item = &'static str> {
    ASSETS
        .iter()
        .filter(|(_, kind, _)| *kind == CSS)
        .map(|(name, ..)| *name)
}

pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some((_, kind, text)) = ASSETS.iter().find(|(known, ..)| *known == name) else {
        return (StatusCode::NOT_FOUND, "there is no such asset").into_response();
    };
    let mark = format!("\"{}\"", Digest32::of_bytes(text.as_bytes()));
    // Asked for again each time, and not sent again unless it is another one: a new version of the program is seen at once.
    let about = [(CACHE_CONTROL, "no-cache".to_owned()), (ETAG, mark.clone())];
    if headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == mark.as_bytes())
    {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    (about, [(CONTENT_TYPE, *kind)], *text).into_response()
}
