//! Markdown to HTML for untrusted text: raw HTML is escaped, links are limited to safe schemes, and
//! only images of the project are loaded.

use std::ops::Range;

use maud::{Markup, PreEscaped, html as markup};
use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use crate::code_colours::render_code;
use crate::pages::image::is_image_name;
use crate::urls::encode_path;

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

/// Renders the Markdown of a file, whose folder images are relative to.
pub(crate) fn render_file(text: &str, file: Option<&str>) -> Markup {
    let renderer = Renderer {
        file,
        ..Renderer::default()
    };
    renderer.render(text).body
}

/// Whether the rendered text lacks something that the file has and an agent reads: front matter, the
/// addresses of links and images, the words after a code fence.
pub(crate) fn leaves_out(text: &str) -> bool {
    let parser = Parser::new_ext(text, OPTIONS);
    parser.reference_definitions().iter().next().is_some()
        || parser.into_iter().any(|event| match event {
            Event::Start(Tag::MetadataBlock(_) | Tag::Link { .. } | Tag::Image { .. }) => true,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(words))) => words.contains(' '),
            _ => false,
        })
}

/// Renders the plan of a page: without its first heading where that repeats the page's title, and
/// with an id for every other one.
pub(crate) fn render_plan(text: &str, title: &str, file: Option<&str>) -> RenderedPlan {
    let renderer = Renderer {
        title: Some(title),
        file,
        ..Renderer::default()
    };
    renderer.render(text)
}

/// The extensions people use in plans; math is left out.
const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_YAML_STYLE_METADATA_BLOCKS);

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
    /// The file of the text, in whose folder images are looked for.
    file: Option<&'t str>,
    out: Vec<Event<'t>>,
    headings: Vec<PlanHeading>,
    has_dropped_title: bool,
    /// The level of the last heading; 0 before the first.
    deepest: usize,
    in_front_matter: bool,
    /// Of the open links, whether each is rendered.
    links: Vec<bool>,
    /// Where the open heading or paragraph begins in `out`.
    begun: usize,
    /// The open block of code: its language and its text so far.
    code: Option<(String, String)>,
    /// The alignments of the open table's columns, the present column, and whether it is the head.
    table: Option<(Vec<Alignment>, usize, bool)>,
    /// The address and alternative text of the open image, where it is one of the project.
    image: Option<(String, String)>,
}

impl<'t> Renderer<'t> {
    fn render(mut self, text: &'t str) -> RenderedPlan {
        for event in Parser::new_ext(text, OPTIONS) {
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
            // Front matter is left out: the page shows it as fields.
            Event::Start(Tag::MetadataBlock(_)) => self.in_front_matter = true,
            Event::End(TagEnd::MetadataBlock(_)) => self.in_front_matter = false,
            _ if self.in_front_matter => {}
            // Inside an image HTML is alternative text; as an event of its own it would stand
            // beside it.
            Event::Html(raw) | Event::InlineHtml(raw) if self.image.is_some() => {
                if let Some((_, words)) = &mut self.image {
                    words.push_str(&raw);
                }
            }
            // As text, so that a reader sees what the file contains.
            Event::Html(raw) | Event::InlineHtml(raw) => self.out.push(Event::Text(raw)),
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                // A link that is not allowed stays text: a dead link would look clickable.
                let is_allowed = is_allowed_link(dest_url);
                self.links.push(is_allowed);
                self.out.extend(is_allowed.then_some(event));
            }
            Event::End(TagEnd::Link) => {
                // The end of a link does not repeat its address, so the decision at its start is
                // remembered. Both ends have to agree, or the HTML would be unbalanced.
                let is_rendered = self.links.pop().unwrap_or(false);
                self.out.extend(is_rendered.then_some(event));
            }
            Event::Start(Tag::Image { dest_url, .. }) => self.start_image(&dest_url),
            Event::End(TagEnd::Image) => self.end_image(),
            Event::Text(text) | Event::Code(text) if self.image.is_some() => {
                if let Some((_, words)) = &mut self.image {
                    words.push_str(&text);
                }
            }
            Event::FootnoteReference(name) => {
                let name = self.footnote_id(&name);
                self.out.push(Event::FootnoteReference(name.into()));
            }
            Event::Start(Tag::FootnoteDefinition(name)) => {
                let name = self.footnote_id(&name);
                self.out
                    .push(Event::Start(Tag::FootnoteDefinition(name.into())));
            }
            // The opening tag is written with the closing one: level and id depend on the words
            // between.
            Event::Start(Tag::Heading { .. }) => self.begun = self.out.len(),
            Event::End(TagEnd::Heading(level)) => self.end_heading(level),
            Event::Start(Tag::Paragraph) => {
                self.begun = self.out.len();
                self.out.push(event);
            }
            Event::End(TagEnd::Paragraph) => self.end_paragraph(),
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match &kind {
                    // The info string has more than the language: `rust,ignore`, `js {1,3}`, `text
                    // title=…`.
                    CodeBlockKind::Fenced(words) => words.split([' ', ',', '{']).next(),
                    CodeBlockKind::Indented => None,
                };
                self.code = Some((language.unwrap_or_default().to_owned(), String::new()));
            }
            Event::End(TagEnd::CodeBlock) => self.end_code(),
            Event::Text(text) if self.code.is_some() => {
                if let Some((_, code)) = &mut self.code {
                    code.push_str(&text);
                }
            }
            Event::Start(Tag::Table(_) | Tag::TableHead | Tag::TableRow | Tag::TableCell)
            | Event::End(
                TagEnd::Table | TagEnd::TableHead | TagEnd::TableRow | TagEnd::TableCell,
            ) => self.add_table_event(event),
            // A disabled checkbox has no label; the sign says the same to everyone.
            Event::TaskListMarker(is_done) => self.push_html(match is_done {
                true => "<span role=\"img\" aria-label=\"done\">☑</span> ",
                false => "<span role=\"img\" aria-label=\"open\">☐</span> ",
            }),
            other => self.out.push(other),
        }
    }

    /// Renders a table in a box of its own, which scrolls. Columns are aligned by classes: the inline
    /// styles of the renderer are refused by our content security policy.
    fn add_table_event(&mut self, event: Event<'t>) {
        let html = match event {
            Event::Start(Tag::Table(columns)) => {
                self.table = Some((columns, 0, false));
                // Focusable, because it scrolls, and a keyboard has to reach it.
                "<div class=\"scroll\" tabindex=\"0\"><table>".to_owned()
            }
            Event::End(TagEnd::Table) => {
                self.table = None;
                "</tbody></table></div>\n".to_owned()
            }
            Event::Start(Tag::TableHead) => {
                self.begin_table_row(true);
                "<thead><tr>".to_owned()
            }
            Event::End(TagEnd::TableHead) => "</tr></thead><tbody>".to_owned(),
            Event::Start(Tag::TableRow) => {
                self.begin_table_row(false);
                "<tr>".to_owned()
            }
            Event::End(TagEnd::TableRow) => "</tr>".to_owned(),
            Event::Start(_) => self.begin_cell(),
            _ => self.end_cell(),
        };
        self.push_html(html);
    }

    fn begin_table_row(&mut self, is_head: bool) {
        if let Some((_, column, in_head)) = &mut self.table {
            (*column, *in_head) = (0, is_head);
        }
    }

    fn begin_cell(&mut self) -> String {
        let Some((columns, column, in_head)) = &mut self.table else {
            return String::new();
        };
        let class = match columns.get(*column) {
            Some(Alignment::Left) => " class=\"to-left\"",
            Some(Alignment::Center) => " class=\"centred\"",
            Some(Alignment::Right) => " class=\"to-right\"",
            Some(Alignment::None) | None => "",
        };
        *column += 1;
        match in_head {
            true => format!("<th scope=\"col\"{class}>"),
            false => format!("<td{class}>"),
        }
    }

    fn end_cell(&self) -> String {
        let in_head = self.table.as_ref().is_some_and(|(.., in_head)| *in_head);
        let tag = if in_head { "</th>" } else { "</td>" };
        tag.to_owned()
    }

    /// Ends the open block of code: in colours, or as what it is.
    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else {
            return;
        };
        if language == "gherkin" {
            self.push_html("<pre tabindex=\"0\"><code>");
            for line in code.split_inclusive('\n') {
                self.push_gherkin_line(line);
            }
            self.push_html("</code></pre>\n");
            return;
        }
        let block = markup! {
            // Focusable, because a long line scrolls, and a keyboard has to reach it.
            pre tabindex="0" data-language=[Some(&language).filter(|language| !language.is_empty())] {
                code { (render_code(&language, &code)) }
            }
        };
        let shown = match language.as_str() {
            // As source: drawing it would need a third-party script, and the dashboard has none.
            "mermaid" => {
                markup! { figure.source { figcaption { "Diagram (Mermaid source)" } (block) } }
            }
            _ => block,
        };
        self.push_html(shown.into_string());
    }

    /// Begins an image. Loading one from elsewhere would tell another host that the page was opened:
    /// its text and address are shown instead.
    fn start_image(&mut self, address: &str) {
        match project_image(self.file, address) {
            Some(path) => self.image = Some((path, String::new())),
            None => self
                .out
                .push(Event::Text(format!("[picture {address}: ").into())),
        }
    }

    fn end_image(&mut self) {
        match self.image.take() {
            Some((path, words)) => {
                let address = format!("/images/{}", encode_path(&path));
                let image = markup! { img src=(address) alt=(words) loading="lazy"; };
                self.push_html(image.into_string());
            }
            None => self.out.push(Event::Text("]".into())),
        }
    }

    /// Returns the id of a footnote: one that no id of the page is, and that the text of the parent
    /// on the same page does not have.
    fn footnote_id(&self, name: &str) -> String {
        let part = if self.title.is_some() {
            "note"
        } else {
            "other-note"
        };
        // The name is the file's own words and ends up in an id and a link.
        let name: String = name.chars().filter(|one| one.is_alphanumeric()).collect();
        format!("{part}-{name}")
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
        // Only at the very beginning: a later heading with the same words is a section of its own.
        if self.begun == 0 && !self.has_dropped_title && self.title == Some(words.trim()) {
            self.out.clear();
            self.has_dropped_title = true;
            return;
        }
        // The title that the page shows took the place of the first level.
        let shift = if self.has_dropped_title { 1 } else { 2 };
        // The page uses `h1` for its title and `h2` for its sections; HTML has nothing below `h6`.
        let level = (level as usize + shift).clamp(3, 6);
        // A text that skips levels is read without the gap.
        let level = level.min(self.deepest.max(2) + 1);
        self.deepest = level;
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
        let is_used = |id: &str| self.headings.iter().any(|heading| heading.id == id);
        // A heading may already be called like the numbered id of another.
        let mut numbered = (self.headings.len()..).map(|number| format!("{id}-{number}"));
        match is_used(&id) {
            true => numbered.find(|id| !is_used(id)).unwrap_or_default(),
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
                // A soft break is a space in HTML, which made a scenario one line of prose.
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
        // The keyword is ours and needs no escaping; the rest is text of the file and gets it.
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

/// Returns the path of an image of the project, relative to the folder of the text's file; `None` for
/// anything else.
fn project_image(file: Option<&str>, address: &str) -> Option<String> {
    // A colon is a scheme or a drive, a backslash a separator elsewhere: neither is in a path of
    // the project, and `data:` and `https:` images must not pass here.
    if !is_image_name(address) || address.contains(':') || address.contains('\\') {
        return None;
    }
    // Texts that are rendered without a file (an outline, a memory entry) have no folder to look
    // in.
    let folder = file?.rsplit_once('/').map_or("", |(folder, _)| folder);
    let from = if address.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    // Resolved by its words, without the disk: the text is untrusted, and the file need not exist.
    for part in from.split('/').chain(address.split('/')) {
        match part {
            "" | "." => {}
            // Above the project there is nothing; the file system is asked again when it is served.
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a link target is allowed: the web, mail, or an anchor. An allow-list, because schemes
/// like `javascript:` and `data:` run scripts.
fn is_allowed_link(address: &str) -> bool {
    // Schemes are case-insensitive: browsers run `JavaScript:`, too.
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
    fn what_a_rendered_text_leaves_out_is_known() {
        for text in [
            "---\nphase: plan\n---\n# T\n",
            "see [it](other.md)",
            "[unused]: https://example.com",
            "```rust ignore\nlet x;\n```",
        ] {
            assert!(leaves_out(text), "{text}");
        }
        for text in [
            "# T\n\nA *word*, `code`.\n",
            "```rust\nlet x;\n```",
            "<b>x</b>",
        ] {
            assert!(!leaves_out(text), "{text}");
        }
    }

    #[test]
    fn a_plan_has_no_second_title_and_an_id_for_every_heading() {
        let plan = render_plan(
            "---\nid: x\n---\n# Act 1\n\n## Purpose\n\nText\n\n## Purpose\n\n### A `b` \"c\"\n",
            "Act 1",
            None,
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
        let other = render_plan("# Another\n", "Act 1", None).body.into_string();
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

    #[test]
    fn code_diagrams_and_footnotes_are_shown_as_what_they_are() {
        let text = "```rust\nlet x = 1;\n```\n\n```mermaid\ngraph TD; <a> --> b\n```\n\nSee[^1].\n\n[^1]: The *note*.\n";
        let shown = render_markdown(text).into_string();
        for wanted in [
            "data-language=\"rust\"><code><span class=\"c-keyword\">let</span>",
            "<figcaption>Diagram (Mermaid source)</figcaption>",
            "&lt;a&gt; --&gt; b",
            "href=\"#other-note-1\"",
            "id=\"other-note-1\"",
        ] {
            assert!(shown.contains(wanted), "{wanted} is not in {shown}");
        }
    }

    #[test]
    fn only_images_of_the_project_are_loaded() {
        let file = Some("acts/act-1/plan.md");
        let image = |address: &str| project_image(file, address);
        assert_eq!(
            image("map.png").as_deref(),
            Some("acts/act-1/map.png"),
            "beside the file"
        );
        assert_eq!(
            image("../map.svg").as_deref(),
            None,
            "a script could be in it"
        );
        assert_eq!(image("../a b.jpg").as_deref(), Some("acts/a b.jpg"));
        assert_eq!(image("/art/map.webp").as_deref(), Some("art/map.webp"));
        for address in [
            "../../../etc/x.png",
            "http://evil.example/x.png",
            "//evil.example:80/x.png",
            "data:image/png",
            "secret.txt",
            "..\\x.png",
        ] {
            assert_eq!(image(address), None, "{address}");
        }
        assert_eq!(project_image(None, "map.png"), None);
        let shown = render_file("![A <map>](map.png)", file).into_string();
        assert!(
            shown.contains(
                "<img src=\"/images/acts/act-1/map.png\" alt=\"A &lt;map&gt;\" loading=\"lazy\">"
            ),
            "{shown}"
        );
    }

    #[test]
    fn columns_are_aligned_without_inline_styles() {
        let table = "| a | b | c | d |\n|---|:--|:-:|--:|\n| *1* | 2 | 3 | 4 |\n";
        let html = render_markdown(table).into_string();
        assert!(!html.contains("style="), "{html}");
        assert!(
            html.contains("<th scope=\"col\">a</th><th scope=\"col\" class=\"to-left\">b</th>"),
            "{html}"
        );
        assert!(
            html.contains("<td><em>1</em></td><td class=\"to-left\">2</td><td class=\"centred\">3</td><td class=\"to-right\">4</td></tr></tbody></table></div>"),
            "{html}"
        );
    }
}
