//! Book export: renders a story's chapters as Markdown, HTML, or the files of an EPUB 3.
//!
//! Returns texts only; packing the EPUB archive is left to the caller.

use std::fmt::Write as _;

use pulldown_cmark::{Event, Options, Parser, html};

use crate::memory::graph::escape_xml;

/// A book to be exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    pub title: String,
    /// Unique id of the book, the same for every export of a story (`dc:identifier`).
    pub identifier: String,
    /// Time of the last change, as `2026-01-31T12:00:00Z` (`dcterms:modified`).
    pub modified: String,
    pub chapters: Vec<Chapter>,
}

/// A chapter of a [`Book`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chapter {
    pub title: String,
    /// The prose of its scenes, in order.
    pub scenes: Vec<String>,
}

const SCENE_BREAK: &str = "\n\n* * *\n\n";

impl Chapter {
    fn join_scenes(&self) -> String {
        self.scenes
            .iter()
            .map(|scene| scene.trim())
            .collect::<Vec<_>>()
            .join(SCENE_BREAK)
    }

    fn render_body(&self) -> String {
        format!(
            "<h1>{}</h1>\n{}",
            escape_xml(&self.title),
            render_prose_html(&self.join_scenes())
        )
    }
}

/// Renders prose as HTML. Raw HTML in the prose is escaped.
pub(crate) fn render_prose_html(prose: &str) -> String {
    // Prose is written by models and people: a `<script>` in it must not run in a reader's browser,
    // and unclosed tags would make the XHTML of the EPUB invalid.
    let events =
        Parser::new_ext(prose, Options::ENABLE_SMART_PUNCTUATION).map(|event| match event {
            Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
            other => other,
        });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

impl Book {
    /// Renders the book as one Markdown file.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# {}\n", self.title);
        for chapter in &self.chapters {
            let _ = write!(out, "\n## {}\n\n{}\n", chapter.title, chapter.join_scenes());
        }
        out
    }

    /// Renders the book as one HTML page without external files.
    #[must_use]
    pub fn to_html(&self) -> String {
        let chapters = self
            .chapters
            .iter()
            .map(|chapter| format!("<section>\n{}</section>\n", chapter.render_body()));
        let title = escape_xml(&self.title);
        format!(
            "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{HTML_STYLE}</style>\n</head>\n\
             <body>\n<header>{title}</header>\n{}</body>\n</html>\n",
            chapters.collect::<String>()
        )
    }

    /// Returns the files of an EPUB 3 in archive order; the first must be stored uncompressed.
    #[must_use]
    pub fn to_epub_files(&self) -> Vec<(String, String)> {
        let title = escape_xml(&self.title);
        let pages: Vec<(String, &Chapter)> = self
            .chapters
            .iter()
            .enumerate()
            // File names by number, because titles may contain anything.
            .map(|(index, chapter)| (format!("chapter-{:03}", index + 1), chapter))
            .collect();
        let (mut items, mut spine, mut contents) = (String::new(), String::new(), String::new());
        // Writing to a `String` cannot fail, hence the ignored results.
        for (name, chapter) in &pages {
            let _ = writeln!(
                items,
                "<item id=\"{name}\" href=\"{name}.xhtml\" media-type=\"application/xhtml+xml\"/>"
            );
            let _ = writeln!(spine, "<itemref idref=\"{name}\"/>");
            let _ = writeln!(
                contents,
                "<li><a href=\"{name}.xhtml\">{}</a></li>",
                escape_xml(&chapter.title)
            );
        }
        let package = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<package xmlns=\"http://www.idpf.org/2007/opf\" version=\"3.0\" \
             unique-identifier=\"id\">\n<metadata xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n\
             <dc:identifier id=\"id\">{}</dc:identifier>\n<dc:title>{title}</dc:title>\n<dc:language>und</dc:language>\n\
             <meta property=\"dcterms:modified\">{}</meta>\n</metadata>\n<manifest>\n\
             <item id=\"nav\" href=\"nav.xhtml\" media-type=\"application/xhtml+xml\" properties=\"nav\"/>\n{items}</manifest>\n\
             <spine>\n{spine}</spine>\n</package>\n",
            escape_xml(&self.identifier),
            escape_xml(&self.modified)
        );
        let nav = render_xhtml_page(
            "Contents",
            &format!("<nav epub:type=\"toc\"><h1>{title}</h1><ol>\n{contents}</ol></nav>"),
        );
        let container = "<?xml version=\"1.0\"?>\n<container version=\"1.0\" \
             xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\">\n<rootfiles><rootfile full-path=\"OEBPS/book.opf\" \
             media-type=\"application/oebps-package+xml\"/></rootfiles>\n</container>\n";
        // `mimetype` has to be the first entry: readers identify the format by its bytes at a fixed
        // offset.
        let mut files = vec![
            ("mimetype".to_owned(), "application/epub+zip".to_owned()),
            ("META-INF/container.xml".to_owned(), container.to_owned()),
            ("OEBPS/book.opf".to_owned(), package),
            ("OEBPS/nav.xhtml".to_owned(), nav),
        ];
        let chapters = pages.iter().map(|(name, chapter)| {
            (
                format!("OEBPS/{name}.xhtml"),
                render_xhtml_page(&chapter.title, &chapter.render_body()),
            )
        });
        files.extend(chapters);
        files
    }
}

const HTML_STYLE: &str = "body{max-width:36em;margin:2em auto;padding:0 1em;font-family:serif;line-height:1.5}header{font-size:2em}";

fn render_xhtml_page(title: &str, body: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" \
         xmlns:epub=\"http://www.idpf.org/2007/ops\">\n<head><title>{}</title></head>\n<body>\n{body}\n</body>\n</html>\n",
        escape_xml(title)
    )
}
