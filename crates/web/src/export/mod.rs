//! Export of any page as a document of its own: Markdown, or HTML with its styles inside.
//!
//! Made from the rendered content of the page, so that every view can be exported and none has to know
//! about it. What only works on the page (forms, buttons, dialogs, navigation) is left out.

mod html_tree;
mod markdown;

use axum::http::HeaderMap;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HOST};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, PreEscaped, html};

use self::html_tree::HtmlNode;
use crate::assets;
use crate::frame::Page;

/// A format of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    Markdown,
    Html,
}

impl ExportFormat {
    /// Every format with the word of addresses and its name.
    pub(crate) const ALL: [(Self, &'static str, &'static str); 2] = [
        (Self::Markdown, "md", "Markdown"),
        (Self::Html, "html", "HTML"),
    ];

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|(_, known, _)| *known == word)
            .map(|(format, ..)| format)
    }
}

/// Returns a page as a document to download.
pub(crate) fn export_page(
    page: &Page,
    project: &str,
    format: ExportFormat,
    headers: &HeaderMap,
) -> Response {
    // The server accepts only its own names in this header. Links of a document lead back to it.
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let base = host
        .map(|host| format!("http://{host}"))
        .unwrap_or_default();
    let nodes = html_tree::parse_document(&page.content.0);
    let nodes = html_tree::keep_content(nodes, &base);
    let (kind, extension, text) = match format {
        ExportFormat::Markdown => (
            "text/markdown; charset=utf-8",
            "md",
            markdown::render_markdown_document(&nodes),
        ),
        ExportFormat::Html => (
            "text/html; charset=utf-8",
            "html",
            render_html_document(page, project, &nodes),
        ),
    };
    let name = file_name(project, &page.title);
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}.{extension}\""),
        ),
    ];
    (headers, text).into_response()
}

/// Returns the name of a file for a page: letters and digits that every system takes.
fn file_name(project: &str, title: &str) -> String {
    let joined = format!("{project} {title}").to_lowercase();
    let words = joined.split(|one: char| !one.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).take(12).collect();
    match words.is_empty() {
        true => "page".to_owned(),
        false => words.join("-"),
    }
}

fn render_html_document(page: &Page, project: &str, nodes: &[HtmlNode]) -> String {
    let mut content = String::new();
    html_tree::write_html(nodes, &mut content);
    let styles = assets::all_styles();
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (page.title) " · " (project) }
                style { (PreEscaped(styles)) }
            }
            body { main { (PreEscaped(content)) } }
        }
    };
    document.into_string()
}

#[cfg(test)]
mod tests {
    use maud::{PreEscaped, html};

    use super::*;
    use crate::pages::{NavigationEntry, render_page};

    fn export(format: ExportFormat) -> (Response, Page) {
        let content = html! {
            h1 { "A <b> & c" }
            nav.chips { a href="/x" { "chip" } }
            form action="/do/x" { button { "Press" } }
            p { "See " a href="/nodes/act-1" { "Act *1*" } " " span.hidden { "unseen" } code { "x" } }
            (PreEscaped("<ul>\n<li>one</li>\n<li>two<ul><li>deep</li></ul></li>\n</ul>"))
            table { thead { tr { th { "Day" } th { "N" } } } tbody { tr { td { "Mon" } td { "1|2" } } } }
        };
        let page = render_page(NavigationEntry::Elsewhere, "A page", &content);
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "127.0.0.1:4700".parse().expect("a header"));
        (export_page(&page, "Shop", format, &headers), page)
    }

    async fn text_of(response: Response) -> String {
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
        String::from_utf8(body.expect("a body").to_vec()).expect("text")
    }

    #[tokio::test]
    async fn a_page_becomes_markdown_without_what_only_works_on_it() {
        let (response, _) = export(ExportFormat::Markdown);
        assert_eq!(
            response.headers()[CONTENT_DISPOSITION],
            "attachment; filename=\"shop-a-page.md\""
        );
        assert_eq!(
            text_of(response).await,
            "# A \\<b> & c\n\nSee [Act \\*1\\*](http://127.0.0.1:4700/nodes/act-1) `x`\n\n\
             - one\n- two\n  - deep\n\n| Day | N |\n| --- | --- |\n| Mon | 1\\|2 |\n"
        );
    }

    #[tokio::test]
    async fn footnotes_tasks_columns_and_drawings_stay_what_they_are() {
        let text = "See it[^n].\n\n- [x] one\n- [ ] two\n\n[^n]: The note.\n";
        let content = html! {
            nav.lineage { ol { li { a href="/nodes/a" { "A" } } li { "b" } } }
            h1 { "B" }
            (crate::markdown::render_markdown(text))
            div.column-head { "todo" }
            div.cell data-label="todo" { ul { li { "card" } } }
            div.cell data-label="done" {}
            svg { a href="/nodes/c" { title { "An agreement between two liars" } text { "between two" } text { "liars" } } }
        };
        let page = render_page(NavigationEntry::Elsewhere, "B", &content);
        let response = export_page(&page, "Shop", ExportFormat::Markdown, &HeaderMap::new());
        assert_eq!(
            text_of(response).await,
            "[A](/nodes/a) / b\n\n# B\n\nSee it[^1].\n\n- [x] one\n- [ ] two\n\n[^1]: The note.\n\n\
             **todo**\n\n- card\n\n- [An agreement between two liars](/nodes/c)\n"
        );
    }

    #[tokio::test]
    async fn a_page_becomes_html_that_needs_no_other_file() {
        let (response, _) = export(ExportFormat::Html);
        let text = text_of(response).await;
        assert!(text.contains("<h1>A &lt;b&gt; &amp; c</h1>"), "{text}");
        assert!(
            text.contains("href=\"http://127.0.0.1:4700/nodes/act-1\""),
            "{text}"
        );
        for left_out in ["<form", "<button", "chip</a>", "<script", "<link", "unseen"] {
            assert!(!text.contains(left_out), "{left_out}");
        }
    }
}
