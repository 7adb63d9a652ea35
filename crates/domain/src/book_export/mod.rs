//! Book export: renders a story's parts, chapters and scenes as Markdown, HTML, Fountain, or the files of
//! an EPUB 3 or a DOCX.
//!
//! Returns texts only; packing the archives is left to the caller.

mod docx;
mod epub;
mod fountain;

use std::fmt::Write as _;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::book_details::BookDetails;
use crate::memory::graph::{escape_xml, is_noncharacter};

/// A book to be exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    pub title: String,
    /// Author, language and the like. The title in it is not used.
    pub details: BookDetails,
    /// Unique id of the book, the same for every export of a story (`dc:identifier`).
    pub identifier: String,
    /// Time of the last change, as `2026-01-31T12:00:00Z` (`dcterms:modified`).
    pub modified: String,
    /// Number of words of the prose.
    pub words: usize,
    pub parts: Vec<BookPart>,
}

/// A part of a [`Book`]; a book that is not divided has one without a title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookPart {
    pub title: Option<String>,
    pub chapters: Vec<Chapter>,
}

/// A chapter of a [`Book`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chapter {
    pub title: String,
    pub scenes: Vec<BookScene>,
}

/// A scene of a [`Chapter`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookScene {
    pub title: String,
    /// The prose, as Markdown.
    pub text: String,
    /// Why it no longer follows from its plan, where that is to be marked in the text.
    pub stale_mark: Option<String>,
}

const SCENE_BREAK: &str = "\n\n* * *\n\n";

impl BookScene {
    /// Returns the prose, below its mark if there is one. Characters that XML does not allow are dropped.
    fn marked_text(&self) -> String {
        let is_text =
            |c: &char| matches!(c, '\n' | '\t') || !c.is_control() && !is_noncharacter(*c);
        let text: String = self.text.trim().chars().filter(is_text).collect();
        match &self.stale_mark {
            Some(why) => format!("**[Stale: {why}]**\n\n{text}"),
            None => text,
        }
    }
}

impl Chapter {
    fn join_scenes(&self) -> String {
        let scenes: Vec<String> = self.scenes.iter().map(BookScene::marked_text).collect();
        scenes.join(SCENE_BREAK)
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
    let events = Parser::new_ext(prose, Options::ENABLE_SMART_PUNCTUATION);
    // A picture or a file beside the text is not in the book, and an EPUB that refers to it is invalid.
    let mut links: Vec<bool> = Vec::new();
    let events = events.filter_map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        // The chapter has the page's only `<h1>`, and a table of contents is made of them.
        Event::Start(Tag::Heading {
            level,
            id,
            classes,
            attrs,
        }) => Some(Event::Start(Tag::Heading {
            level: level.max(HeadingLevel::H2),
            id,
            classes,
            attrs,
        })),
        Event::End(TagEnd::Heading(level)) => {
            Some(Event::End(TagEnd::Heading(level.max(HeadingLevel::H2))))
        }
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            let leads_out = ["http://", "https://", "mailto:"];
            let is_kept = leads_out.iter().any(|start| dest_url.starts_with(start));
            links.push(is_kept);
            is_kept.then_some(event)
        }
        Event::End(TagEnd::Link) => links.pop().unwrap_or_default().then_some(event),
        other => Some(other),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

impl Book {
    /// Returns all chapters in order.
    pub fn chapters(&self) -> impl Iterator<Item = &Chapter> {
        self.parts.iter().flat_map(|part| &part.chapters)
    }

    /// Whether the book is divided into parts.
    fn is_divided(&self) -> bool {
        self.parts.iter().any(|part| part.title.is_some())
    }

    /// Renders the book as one Markdown file, which can be imported again.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        let author = self.details.author.as_deref();
        // Front matter only where headings cannot carry it: without it the file is plain Markdown.
        if author.is_some() || self.is_divided() {
            // A JSON string is a YAML string.
            let quote = |text: &str| serde_json::Value::from(text).to_string();
            let _ = writeln!(out, "---\ntitle: {}", quote(&self.title));
            if let Some(author) = author {
                let _ = writeln!(out, "author: {}", quote(author));
            }
            if let Some(language) = &self.details.language {
                let _ = writeln!(out, "lang: {language}");
            }
            out.push_str("---\n");
        }
        // Above parts, the title would look like one of them.
        if !self.is_divided() {
            let _ = writeln!(out, "# {}", self.title);
        }
        for part in &self.parts {
            if let Some(title) = &part.title {
                let _ = write!(out, "\n# {title}\n");
            }
            for chapter in &part.chapters {
                let _ = write!(out, "\n## {}\n\n{}\n", chapter.title, chapter.join_scenes());
            }
        }
        out
    }

    /// Renders the book as one HTML page without external files.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut body = String::new();
        for part in &self.parts {
            if let Some(title) = &part.title {
                let _ = writeln!(body, "<h1 class=\"part\">{}</h1>", escape_xml(title));
            }
            for chapter in &part.chapters {
                let _ = writeln!(body, "<section>\n{}</section>", chapter.render_body());
            }
        }
        let title = escape_xml(&self.title);
        let language = match &self.details.language {
            Some(language) => format!(" lang=\"{language}\""),
            None => String::new(),
        };
        let author = match &self.details.author {
            Some(author) => format!("\n<p class=\"author\">{}</p>", escape_xml(author)),
            None => String::new(),
        };
        format!(
            "<!DOCTYPE html>\n<html{language}>\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{HTML_STYLE}</style>\n</head>\n\
             <body>\n<header>{title}</header>{author}\n{body}</body>\n</html>\n"
        )
    }
}

const HTML_STYLE: &str = "body{max-width:36em;margin:2em auto;padding:0 1em;font-family:serif;line-height:1.5}\
                          header{font-size:2em}.part{text-align:center;margin:3em 0}";
