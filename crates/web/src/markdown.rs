//! Markdown to HTML for untrusted text: raw HTML is escaped, links are limited to safe schemes,
//! images are not loaded.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Renders Markdown.
pub(crate) fn render_markdown(text: &str) -> Markup {
    // The extensions people use in plans; math and footnotes are left out.
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut front_matter = false;
    let events = Parser::new_ext(text, options).filter_map(|event| match event {
        // Front matter is left out: the page shows its meaning elsewhere.
        Event::Start(Tag::MetadataBlock(_)) => {
            front_matter = true;
            None
        }
        Event::End(TagEnd::MetadataBlock(_)) => {
            front_matter = false;
            None
        }
        _ if front_matter => None,
        // As text, so that a reader sees what the file contains.
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let dest_url = if is_allowed_link(&dest_url) {
                dest_url
            } else {
                CowStr::Borrowed("#")
            };
            Some(Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }))
        }
        // Loading an image would tell another host that the page was opened; its text and address
        // are shown instead.
        Event::Start(Tag::Image { dest_url, .. }) => {
            Some(Event::Text(format!("[picture {dest_url}: ").into()))
        }
        Event::End(TagEnd::Image) => Some(Event::Text("]".into())),
        // Two levels lower, below the page's own headings.
        Event::Start(Tag::Heading {
            level,
            id,
            classes,
            attrs,
        }) => Some(Event::Start(Tag::Heading {
            level: lower_heading(level),
            id,
            classes,
            attrs,
        })),
        Event::End(TagEnd::Heading(level)) => {
            Some(Event::End(TagEnd::Heading(lower_heading(level))))
        }
        other => Some(other),
    });
    // HTML is about half again as long as its Markdown.
    let mut out = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut out, events);
    PreEscaped(out)
}

fn lower_heading(level: pulldown_cmark::HeadingLevel) -> pulldown_cmark::HeadingLevel {
    use pulldown_cmark::HeadingLevel::{H1, H2, H3, H4, H5, H6};
    match level {
        H1 => H3,
        H2 => H4,
        H3 => H5,
        H4 | H5 | H6 => H6,
    }
}

/// Whether a link target is allowed: the web, mail, or an anchor. An allow-list, because schemes
/// like `javascript:` and `data:` run scripts.
fn is_allowed_link(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    ["http://", "https://", "mailto:", "#"]
        .iter()
        .any(|start| address.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        for (text, forbidden) in [
            ("<script>alert(1)</script>", "<script"),
            ("a <img src=x onerror=alert(1)> b", "<img"),
            ("[x](javascript:alert(1))", "javascript:"),
            ("[x](JaVaScRiPt:alert(1))", "script:alert"),
            ("[x](data:text/html;base64,AAAA)", "data:text"),
            ("![x](http://evil.example/p.png)", "<img"),
            ("<a href='javascript:x'>y</a>", "<a href="),
            ("[x][y]\n\n[y]: vbscript:z", "vbscript"),
            ("---\ntitle: <b>x</b>\n---\ntext", "title:"),
        ] {
            let shown = render_markdown(text).into_string();
            assert!(
                !shown.to_ascii_lowercase().contains(forbidden),
                "{text} became {shown}"
            );
        }
    }

    #[test]
    fn markdown_is_rendered() {
        let shown = render_markdown("# Goal\n\n- [x] done\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[site](https://example.org)")
            .into_string();
        for wanted in [
            "<h3>Goal</h3>",
            "<table>",
            "checkbox",
            "href=\"https://example.org\"",
        ] {
            assert!(shown.contains(wanted), "{wanted} is not in {shown}");
        }
    }
}
