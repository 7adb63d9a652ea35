//! Markdown to HTML for untrusted text: raw HTML is escaped, links are limited to safe schemes,
//! images are not loaded.

use std::ops::Range;

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Words that begin a line of a Gherkin scenario.
const GHERKIN_KEYWORDS: &[&str] = &[
    "Feature:",
    "Rule:",
    "Background:",
    "Scenario Outline:",
    "Scenario:",
    "Examples:",
    "Given ",
    "When ",
    "Then ",
    "And ",
    "But ",
];

/// Minimum number of such lines that makes a paragraph a scenario: one alone may begin a sentence.
const MIN_GHERKIN_LINES: usize = 2;

/// Renders Markdown.
pub(crate) fn render_markdown(text: &str) -> Markup {
    Renderer::default().render(text).body
}

/// Renders the plan of a page: without its first heading where that repeats the page's title, and
/// with an id for every other one.
pub(crate) fn render_plan(text: &str, title: &str) -> RenderedPlan {
    let renderer = Renderer {
        title: Some(title),
        ..Renderer::default()
    };
    renderer.render(text)
}

/// A rendered plan with its headings.
pub(crate) struct RenderedPlan {
    pub(crate) body: Markup,
    pub(crate) headings: Vec<PlanHeading>,
}

/// A heading with the id that links lead to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlanHeading {
    /// The level in the page, from 3 on.
    pub(crate) level: usize,
    pub(crate) id: String,
    pub(crate) text: String,
}

#[derive(Default)]
struct Renderer<'t> {
    /// Title of the page; without one, headings get no ids.
    title: Option<&'t str>,
    out: Vec<Event<'t>>,
    headings: Vec<PlanHeading>,
    has_dropped_title: bool,
    in_front_matter: bool,
    /// Of the open links, whether each is rendered.
    links: Vec<bool>,
    /// Where the open heading or paragraph begins in `out`.
    begun: usize,
    in_gherkin_code: bool,
}

impl<'t> Renderer<'t> {
    fn render(mut self, text: &'t str) -> RenderedPlan {
        // The extensions people use in plans; math and footnotes are left out.
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
        for event in Parser::new_ext(text, options) {
            self.add_event(event);
        }
        // HTML is about half again as long as its Markdown.
        let mut body = String::with_capacity(text.len() * 3 / 2);
        html::push_html(&mut body, self.out.into_iter());
        RenderedPlan {
            body: PreEscaped(body),
            headings: self.headings,
        }
    }

    fn add_event(&mut self, event: Event<'t>) {
        match event {
            // Front matter is left out: the page shows its meaning elsewhere.
            Event::Start(Tag::MetadataBlock(_)) => self.in_front_matter = true,
            Event::End(TagEnd::MetadataBlock(_)) => self.in_front_matter = false,
            _ if self.in_front_matter => {}
            // As text, so that a reader sees what the file contains.
            Event::Html(raw) | Event::InlineHtml(raw) => self.out.push(Event::Text(raw)),
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                // A link that is not allowed stays text: a dead link would look clickable.
                let is_allowed = is_allowed_link(dest_url);
                self.links.push(is_allowed);
                self.out.extend(is_allowed.then_some(event));
            }
            Event::End(TagEnd::Link) => {
                let is_rendered = self.links.pop().unwrap_or(false);
                self.out.extend(is_rendered.then_some(event));
            }
            // Loading an image would tell another host that the page was opened; its text and
            // address are shown instead.
            Event::Start(Tag::Image { dest_url, .. }) => {
                self.out
                    .push(Event::Text(format!("[picture {dest_url}: ").into()));
            }
            Event::End(TagEnd::Image) => self.out.push(Event::Text("]".into())),
            Event::Start(Tag::Heading { .. }) => self.begun = self.out.len(),
            Event::End(TagEnd::Heading(level)) => self.end_heading(level),
            Event::Start(Tag::Paragraph) => {
                self.begun = self.out.len();
                self.out.push(event);
            }
            Event::End(TagEnd::Paragraph) => self.end_paragraph(),
            Event::Start(Tag::CodeBlock(kind)) => {
                self.in_gherkin_code =
                    matches!(&kind, CodeBlockKind::Fenced(lang) if lang.starts_with("gherkin"));
                // Focusable, because a long line scrolls, and a keyboard has to reach it.
                self.push_html("<pre tabindex=\"0\"><code>");
            }
            Event::End(TagEnd::CodeBlock) => {
                self.in_gherkin_code = false;
                self.push_html("</code></pre>\n");
            }
            Event::Text(text) if self.in_gherkin_code => {
                for line in text.split_inclusive('\n') {
                    self.push_gherkin_line(line);
                }
            }
            // A disabled checkbox has no label; the sign says the same to everyone.
            Event::TaskListMarker(is_done) => self.push_html(match is_done {
                true => "<span role=\"img\" aria-label=\"done\">☑</span> ",
                false => "<span role=\"img\" aria-label=\"open\">☐</span> ",
            }),
            other => self.out.push(other),
        }
    }

    fn push_html(&mut self, html: impl Into<String>) {
        self.out.push(Event::Html(html.into().into()));
    }

    /// Ends the open heading: with its level below the page's own headings, and an id.
    fn end_heading(&mut self, level: HeadingLevel) {
        let words: String = self
            .out
            .iter()
            .skip(self.begun)
            .filter_map(event_text)
            .collect();
        if self.begun == 0 && !self.has_dropped_title && self.title == Some(words.trim()) {
            self.out.clear();
            self.has_dropped_title = true;
            return;
        }
        // The title that the page shows took the place of the first level.
        let shift = if self.has_dropped_title { 1 } else { 2 };
        let level = (level as usize + shift).clamp(3, 6);
        let opening = match self.title {
            Some(_) => {
                let id = self.unused_id(&words);
                let tag = format!("<h{level} id=\"{id}\">");
                self.headings.push(PlanHeading {
                    level,
                    id,
                    text: words.trim().to_owned(),
                });
                tag
            }
            None => format!("<h{level}>"),
        };
        self.out.insert(self.begun, Event::Html(opening.into()));
        self.push_html(format!("</h{level}>\n"));
    }

    /// Returns an id for a heading: letters and digits only, so that it needs no escaping, with a
    /// prefix that no id of the page has.
    fn unused_id(&self, words: &str) -> String {
        let parts = words.split(|one: char| !one.is_alphanumeric());
        let parts: Vec<String> = parts
            .filter(|part| !part.is_empty())
            .map(str::to_lowercase)
            .collect();
        let id = format!("in-{}", parts.join("-"));
        match self.headings.iter().any(|heading| heading.id == id) {
            true => format!("{id}-{}", self.headings.len()),
            false => id,
        }
    }

    /// Ends the open paragraph; one that is a Gherkin scenario keeps its lines.
    fn end_paragraph(&mut self) {
        let inside = self.begun + 1..self.out.len();
        if self.count_gherkin_lines(inside.clone()) < MIN_GHERKIN_LINES {
            self.out.push(Event::End(TagEnd::Paragraph));
            return;
        }
        let lines: Vec<Event<'t>> = self.out.drain(inside).collect();
        self.out.truncate(self.begun);
        self.push_html("<p class=\"gherkin\">");
        let mut begins_line = true;
        for event in lines {
            match event {
                Event::Text(text) if begins_line => self.push_gherkin_line(&text),
                Event::SoftBreak | Event::HardBreak => self.out.push(Event::HardBreak),
                other => self.out.push(other),
            }
            begins_line = matches!(self.out.last(), Some(Event::HardBreak));
        }
        self.push_html("</p>\n");
    }

    fn count_gherkin_lines(&self, range: Range<usize>) -> usize {
        let mut begins_line = true;
        let mut count = 0;
        for event in self.out.get(range).unwrap_or_default() {
            let text = event_text(event).unwrap_or_default();
            count += usize::from(begins_line && leading_keyword(text).is_some());
            begins_line = matches!(event, Event::SoftBreak | Event::HardBreak);
        }
        count
    }

    /// Adds a line with its keyword emphasised.
    fn push_gherkin_line(&mut self, line: &str) {
        let text = line.trim_start();
        let indent = line.strip_suffix(text).unwrap_or_default();
        let split = leading_keyword(text).and_then(|word| Some((word, text.strip_prefix(word)?)));
        match split {
            Some((keyword, rest)) => {
                self.out.push(Event::Text(indent.to_owned().into()));
                self.push_html(format!("<strong>{keyword}</strong>"));
                self.out.push(Event::Text(rest.to_owned().into()));
            }
            None => self.out.push(Event::Text(line.to_owned().into())),
        }
    }
}

fn event_text<'e>(event: &'e Event<'_>) -> Option<&'e str> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => None,
    }
}

/// Returns the Gherkin keyword that a line begins with.
fn leading_keyword(line: &str) -> Option<&'static str> {
    let mut keywords = GHERKIN_KEYWORDS.iter();
    keywords
        .find(|keyword| line.starts_with(**keyword))
        .map(|keyword| keyword.trim_end())
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
            "aria-label=\"done\"",
            "href=\"https://example.org\"",
        ] {
            assert!(shown.contains(wanted), "{wanted} is not in {shown}");
        }
    }

    #[test]
    fn a_plan_has_no_second_title_and_an_id_for_every_heading() {
        let plan = render_plan(
            "---\nid: x\n---\n# Act 1\n\n## Purpose\n\nText\n\n## Purpose\n\n### A `b` \"c\"\n",
            "Act 1",
        );
        let shown = plan.body.into_string();
        assert!(!shown.contains("Act 1"), "{shown}");
        assert!(
            shown.contains("<h3 id=\"in-purpose\">Purpose</h3>"),
            "{shown}"
        );
        let ids: Vec<(usize, &str)> = plan
            .headings
            .iter()
            .map(|heading| (heading.level, heading.id.as_str()))
            .collect();
        assert_eq!(
            ids,
            [(3, "in-purpose"), (3, "in-purpose-1"), (4, "in-a-b-c")]
        );
        let other = render_plan("# Another\n", "Act 1").body.into_string();
        assert!(
            other.contains("<h3 id=\"in-another\">Another</h3>"),
            "{other}"
        );
    }

    #[test]
    fn scenarios_keep_their_lines_and_code_can_be_focused() {
        let scenario = "Scenario: a <b>\nGiven a lamp\nWhen it *goes* out\nThen it is dark\n";
        let shown = render_markdown(scenario).into_string();
        assert_eq!(shown.matches("<br />").count(), 3, "{shown}");
        assert!(
            shown.starts_with("<p class=\"gherkin\"><strong>Scenario:</strong> a &lt;b&gt;"),
            "{shown}"
        );
        let sentence = render_markdown("When it rains,\nthe lamp is lit.").into_string();
        assert!(!sentence.contains("gherkin"), "{sentence}");
        let code = render_markdown("```gherkin\n  Given <i>\n```\n\n    plain\n").into_string();
        assert!(
            code.contains("<pre tabindex=\"0\"><code>  <strong>Given</strong> &lt;i&gt;"),
            "{code}"
        );
        assert_eq!(code.matches("tabindex=\"0\"").count(), 2, "{code}");
    }
}
