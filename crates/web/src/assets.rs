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
    "tokens.css" CSS,
    "base.css" CSS,
    "layout.css" CSS,
    "components.css" CSS,
    "forms.css" CSS,
    "status.css" CSS,
    "tree.css" CSS,
    "board.css" CSS,
    "timeline.css" CSS,
    "graph.css" CSS,
    "code.css" CSS,
    "palette.css" CSS,
    "node.css" CSS,
    "editor.css" CSS,
    "inbox.css" CSS,
    "diff.css" CSS,
    "tables.css" CSS,
    "details.css" CSS,
    "styleguide.css" CSS,
    "print.css" CSS,
    "contrast.css" CSS,
    "app.js" JS,
    "comment.js" JS,
    "drafts.js" JS,
    "editor.js" JS,
    "keys.js" JS,
    "live.js" JS,
    "menus.js" JS,
    "notify.js" JS,
    "review.js" JS,
    "sending.js" JS,
    "times.js" JS,
    "tree.js" JS,
    "board.js" JS,
    "palette.js" JS,
];

/// The colours of the high-contrast theme, which apply only on request.
pub(crate) const CONTRAST_STYLE: &str = "contrast.css";

/// Returns the names of the style sheets of every theme, in cascade order.
pub(crate) fn style_names() -> impl Iterator<Item = &'static str> {
    ASSETS
        .iter()
        .filter(|(name, kind, _)| *kind == CSS && *name != CONTRAST_STYLE)
        .map(|(name, ..)| *name)
}

/// Returns every style sheet as one text, for documents that have no other file.
pub(crate) fn all_styles() -> String {
    let styles = ASSETS
        .iter()
        .filter(|(name, kind, _)| *kind == CSS && *name != CONTRAST_STYLE);
    styles
        .map(|(.., text)| *text)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Serves the icon with the number of pending decisions, so that a tab in the background shows it.
pub(crate) async fn serve_icon(Path(count): Path<usize>) -> impl IntoResponse {
    let badge = match count {
        0 => String::new(),
        _ => {
            // Two characters are the most that can be read at 16 pixels.
            let label = if count > 9 {
                "9+".to_owned()
            } else {
                count.to_string()
            };
            format!(
                "<rect x=\"5\" y=\"6\" width=\"11\" height=\"10\" rx=\"3\" fill=\"#b3261e\"/>\
                 <text x=\"10.5\" y=\"14\" text-anchor=\"middle\" font-family=\"sans-serif\" \
                 font-size=\"8\" font-weight=\"700\" fill=\"#fff\">{label}</text>"
            )
        }
    };
    let picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">\
         <path d=\"M3 2v12M3 5h6M3 9h9M3 13h5\" fill=\"none\" stroke=\"#2f6fd0\" stroke-width=\"2\" \
         stroke-linecap=\"round\"/>{badge}</svg>"
    );
    (
        // Cached for a day, unlike the other assets: every page links an icon, and the picture of a
        // count changes only with the program.
        [(CONTENT_TYPE, SVG), (CACHE_CONTROL, "max-age=86400")],
        picture,
    )
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
    // Browsers send back the tag as they got it. Any other form, as a list or a weak tag, only
    // costs the body.
    if headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == mark.as_bytes())
    {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    (about, [(CONTENT_TYPE, *kind)], *text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit is for the compressed scripts; as they are, they are four times as large.
    const MAX_SCRIPT_BYTES: usize = 60 * 1024;

    #[test]
    fn all_scripts_together_are_small_even_before_they_are_compressed() {
        let scripts = ASSETS.iter().filter(|(_, kind, _)| *kind == JS);
        let bytes: usize = scripts.map(|(.., text)| text.len()).sum();
        assert!((1..MAX_SCRIPT_BYTES).contains(&bytes), "{bytes} bytes");
    }
}
