//! Outline of a tree of plans as one document: titles, synopses and statuses, or the whole texts.

use std::fmt::Write as _;

use crate::book_export::render_prose_html;
use crate::front_matter::{parse_front_matter, split_front_matter};
use crate::memory::graph::escape_xml;
use crate::node::{Progress, Status};
use crate::plan_digest::take_sentences;

/// Keys of the front matter that hold a synopsis, by preference.
const SYNOPSIS_KEYS: [&str; 4] = ["synopsis", "summary", "logline", "description"];
/// Maximum length of a synopsis taken from the text.
const MAX_SYNOPSIS_CHARS: usize = 280;
/// Maximum depth of a Markdown heading.
const MAX_HEADING_DEPTH: usize = 6;

/// An outline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub title: String,
    pub entries: Vec<OutlineEntry>,
}

/// One plan of an outline.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct OutlineEntry {
    /// 0 for the top of the outline.
    pub depth: usize,
    pub path: String,
    pub level: String,
    pub title: Option<String>,
    pub synopsis: Option<String>,
    pub status: Status,
    pub progress: Progress,
    /// The whole plan, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Returns the synopsis of a plan: a key of its front matter, or its first paragraph, shortened to
/// whole sentences.
#[must_use]
pub fn read_synopsis(text: &str) -> Option<String> {
    let front = parse_front_matter(text);
    let declared = SYNOPSIS_KEYS.iter().find_map(|key| front.get_text(key));
    declared
        .or_else(|| first_paragraph(split_front_matter(text).1))
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|text| !text.is_empty())
        .map(|text| {
            let short = take_sentences(&text, MAX_SYNOPSIS_CHARS);
            if short.len() < text.len() {
                format!("{short} …")
            } else {
                short
            }
        })
}

/// Returns the first paragraph of prose: no heading, list, table, quotation or code.
fn first_paragraph(body: &str) -> Option<String> {
    body.split("\n\n")
        .flat_map(|block| {
            // A paragraph may follow its heading without an empty line.
            let lines = block.lines().filter(|line| !line.trim().is_empty());
            let text: Vec<&str> = lines.skip_while(|line| line.starts_with('#')).collect();
            (!text.is_empty()).then(|| text.join("\n"))
        })
        .find(|text| {
            let is_block = |mark: &str| text.trim_start().starts_with(mark);
            // A list or table as synopsis would be one unreadable line.
            !["- ", "* ", "+ ", "|", ">", "```", "~~~", "#", "<!--", "---"]
                .iter()
                .any(|mark| is_block(mark))
                && !text.trim_start().starts_with(|c: char| c.is_ascii_digit())
        })
}

impl OutlineEntry {
    fn heading(&self) -> String {
        let title = self.title.as_deref().unwrap_or(&self.path);
        match self.progress {
            Progress::Pending => title.to_owned(),
            progress => format!("{title} [{progress}]"),
        }
    }

    fn status_line(&self) -> String {
        format!("{} {} · {}", self.status.symbol(), self.status, self.path)
    }

    /// Returns the text without its own title, with its headings below that of the entry.
    fn nested_text(&self, base: usize) -> Option<String> {
        let body = split_front_matter(self.text.as_deref()?).1.trim();
        // The entry's own heading has the title already.
        let without_title = match body.split_once('\n') {
            Some((first, rest)) if first.starts_with("# ") => rest,
            None if body.starts_with("# ") => "",
            _ => body,
        };
        let mut is_code = false;
        let mut out = String::new();
        for line in without_title.trim().lines() {
            is_code ^= line.trim_start().starts_with("```");
            let depth = line.chars().take_while(|c| *c == '#').count();
            let is_heading = !is_code && depth > 0 && line.chars().nth(depth) == Some(' ');
            if is_heading {
                let nested = (depth + base).min(MAX_HEADING_DEPTH);
                out.push_str(&"#".repeat(nested - depth.min(nested)));
            }
            out.push_str(line);
            out.push('\n');
        }
        Some(out)
    }
}

impl Outline {
    /// Renders the outline as one Markdown document.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# {}\n", self.title);
        for entry in &self.entries {
            let depth = (entry.depth + 2).min(MAX_HEADING_DEPTH);
            // Writing to a `String` cannot fail, hence the ignored results.
            let _ = write!(
                out,
                "\n{} {}\n\n{}\n",
                "#".repeat(depth),
                entry.heading(),
                entry.status_line()
            );
            let text = entry.nested_text(depth).or_else(|| entry.synopsis.clone());
            if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                let _ = write!(out, "\n{}\n", text.trim());
            }
        }
        out
    }

    /// Renders the outline as one HTML page without external files.
    #[must_use]
    pub fn to_html(&self) -> String {
        let title = escape_xml(&self.title);
        let mut body = String::new();
        for entry in &self.entries {
            let depth = (entry.depth + 2).min(MAX_HEADING_DEPTH);
            let text = entry.nested_text(depth).or_else(|| entry.synopsis.clone());
            let _ = write!(
                body,
                "<section style=\"margin-left: {}rem\">\n<h{depth}>{}</h{depth}>\n<p class=\"status\">{}</p>\n{}</section>\n",
                entry.depth,
                escape_xml(&entry.heading()),
                escape_xml(&entry.status_line()),
                render_prose_html(&text.unwrap_or_default())
            );
        }
        format!(
            "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{HTML_STYLE}</style>\n</head>\n\
             <body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
        )
    }
}

const HTML_STYLE: &str = "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font-family:Georgia,serif;line-height:1.5}\
    .status{color:#666;font-size:.85rem}section{break-inside:avoid}";

#[cfg(test)]
mod tests {
    use super::{Outline, OutlineEntry, read_synopsis};
    use crate::node::{Progress, Status};

    #[test]
    fn synopsis_is_declared_or_the_first_paragraph() {
        let cases = [
            (
                "---\nsynopsis: She leaves.\n---\n# One\n\nText.\n",
                Some("She leaves."),
            ),
            (
                "# One\n\n- Alice\n\nShe comes\nhome.\n\nLater.\n",
                Some("She comes home."),
            ),
            ("# Глава\nОна уходит.\n", Some("Она уходит.")),
            ("# One\n\n## Characters\n\n- Alice\n", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read_synopsis(text).as_deref(), expected, "{text}");
        }
        let long = format!("# One\n\n{}\n", "It goes on for a while. ".repeat(30));
        let short = read_synopsis(&long).expect("a synopsis");
        assert!(
            short.ends_with("while. …") && short.chars().count() < 300,
            "{short}"
        );
    }

    fn entry(depth: usize, path: &str, title: &str, text: Option<&str>) -> OutlineEntry {
        OutlineEntry {
            depth,
            path: path.to_owned(),
            level: "act".to_owned(),
            title: Some(title.to_owned()),
            synopsis: Some("It <b>begins</b>.".to_owned()),
            status: Status::Approved,
            progress: Progress::Complete,
            text: text.map(str::to_owned),
        }
    }

    #[test]
    fn documents_have_titles_statuses_and_texts() {
        let outline = Outline {
            title: "Book".to_owned(),
            entries: vec![
                entry(0, "act-1", "The <door>", None),
                entry(
                    1,
                    "act-1/chapter-01",
                    "Home",
                    Some("# Home\n\n## Beats\n\n```\n# code\n```\n"),
                ),
            ],
        };
        assert_eq!(
            outline.to_markdown(),
            "# Book\n\n## The <door> [complete]\n\n✓ approved · act-1\n\nIt <b>begins</b>.\n\n\
             ### Home [complete]\n\n✓ approved · act-1/chapter-01\n\n##### Beats\n\n```\n# code\n```\n"
        );
        let html = outline.to_html();
        assert!(
            html.contains("<h2>The &lt;door&gt; [complete]</h2>"),
            "{html}"
        );
        assert!(
            html.contains("<p>It &lt;b&gt;begins&lt;/b&gt;.</p>"),
            "{html}"
        );
    }
}
