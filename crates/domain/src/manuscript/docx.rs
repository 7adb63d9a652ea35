//! DOCX manuscripts: headings by outline level, tracked changes as if accepted, emphasis as Markdown.
//!
//! The ids of heading styles differ by language, so `word/styles.xml` decides what a heading is.

use std::collections::HashMap;

use roxmltree::Node;

use super::builder::ManuscriptBuilder;
use super::heading_words::{is_scene_break, rank_depths};
use super::plain_text::push_unstyled;
use super::rich_text::RichParagraph;
use super::xml::{attribute, child_named, child_text, children_named, parse_xml};
use super::{Manuscript, ManuscriptFiles, ManuscriptRefused};
use crate::text::count_with_noun;

pub(super) const DOCUMENT_FILE: &str = "word/document.xml";
const STYLES_FILE: &str = "word/styles.xml";
const COMMENTS_FILE: &str = "word/comments.xml";
const PROPERTIES_FILE: &str = "docProps/core.xml";
/// Style inheritance is followed this far; a cycle ends here.
const MAX_STYLE_DEPTH: usize = 12;

/// What a style says about its paragraphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StyleMeaning {
    /// 1 is the outermost heading.
    heading: Option<usize>,
    is_title: bool,
    is_italic: bool,
    is_bold: bool,
}

/// A paragraph with what its style says.
struct StyledParagraph {
    text: RichParagraph,
    meaning: StyleMeaning,
}

/// Reads a DOCX file.
pub(super) fn read_docx(files: &ManuscriptFiles) -> Result<Manuscript, ManuscriptRefused> {
    if files.bytes_of(DOCUMENT_FILE).is_none() {
        return Err(ManuscriptRefused::MissingFile {
            file: DOCUMENT_FILE.to_owned(),
            format: "docx",
        });
    }
    // Without styles there are no headings, but the text can be read.
    let styles = match files.bytes_of(STYLES_FILE) {
        Some(_) => read_styles(&files.text_of(STYLES_FILE)?)?,
        None => HashMap::new(),
    };
    let text = files.text_of(DOCUMENT_FILE)?;
    let document = parse_xml(DOCUMENT_FILE, &text)?;
    let paragraphs = read_body(document.root_element(), &styles);
    let mut builder = ManuscriptBuilder::new();
    let title = paragraphs
        .iter()
        .find(|paragraph| paragraph.meaning.is_title)
        .map(|paragraph| paragraph.text.plain_text());
    // Before the properties, which may still be those of a template or of an older draft.
    builder.set_title(title.filter(|title| !title.is_empty()), None);
    push_all(&mut builder, &paragraphs);
    let (title, author) = read_properties(files)?;
    builder.set_title(title, author);
    for note in list_left_out(files, document.root_element())? {
        builder.leave_out(note);
    }
    Ok(builder.finish())
}

fn push_all(builder: &mut ManuscriptBuilder, paragraphs: &[StyledParagraph]) {
    let headings: Vec<(usize, String)> = paragraphs
        .iter()
        .filter_map(|it| Some((it.meaning.heading?, it.text.plain_text())))
        .filter(|(_, title)| !title.is_empty())
        .collect();
    let ranks = rank_depths(&headings);
    for paragraph in paragraphs.iter().filter(|it| !it.meaning.is_title) {
        let text = paragraph.text.plain_text();
        let rank = paragraph
            .meaning
            .heading
            .and_then(|depth| ranks.iter().find(|(known, _)| *known == depth));
        match rank {
            // Empty paragraphs are only space on the page, even with a heading style.
            _ if text.is_empty() => {}
            Some((_, rank)) => builder.start(*rank, &text),
            None if is_scene_break(&text) => builder.break_scene(),
            // Without heading styles, the words of the lines decide.
            None if ranks.is_empty() => push_unstyled(builder, &paragraph.text),
            None => builder.push_paragraph(&paragraph.text.to_markdown()),
        }
    }
}

fn read_body(root: Node<'_, '_>, styles: &HashMap<String, StyleMeaning>) -> Vec<StyledParagraph> {
    let mut paragraphs = Vec::new();
    // Also those in tables and content controls. A text box repeats its paragraphs for old readers.
    let is_paragraph = |node: &Node<'_, '_>| node.has_tag_name_of("p") && !is_in_fallback(*node);
    for node in root.descendants().filter(is_paragraph) {
        let properties = child_named(node, "pPr");
        let style = properties
            .and_then(|it| child_named(it, "pStyle"))
            .and_then(|it| attribute(it, "val"));
        let mut meaning = style
            .and_then(|style| styles.get(style).copied())
            .unwrap_or_default();
        let own_level = properties
            .and_then(|it| child_named(it, "outlineLvl"))
            .and_then(read_outline_level);
        // A paragraph's own level wins over its style's, as in Word.
        meaning.heading = own_level.or(meaning.heading);
        let mut text = RichParagraph::default();
        push_runs(&mut text, node, styles);
        paragraphs.push(StyledParagraph { text, meaning });
    }
    paragraphs
}

/// Tests for an element by its local name; `w:` is only the usual prefix.
trait LocalName {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

fn is_in_fallback(node: Node<'_, '_>) -> bool {
    node.ancestors()
        .any(|above| above.has_tag_name_of("Fallback"))
}

/// Adds the text of a paragraph's runs, with tracked changes as if they were accepted.
fn push_runs(
    text: &mut RichParagraph,
    paragraph: Node<'_, '_>,
    styles: &HashMap<String, StyleMeaning>,
) {
    let is_deleted = |run: &Node<'_, '_>| {
        run.ancestors()
            .take_while(|above| *above != paragraph)
            // A moved passage is in the document twice; the old place counts as deleted.
            .any(|above| above.has_tag_name_of("del") || above.has_tag_name_of("moveFrom"))
    };
    let is_own = |run: &Node<'_, '_>| {
        // A paragraph in a text box inside of this one has its own turn.
        let owner = run.ancestors().find(|above| above.has_tag_name_of("p"));
        owner == Some(paragraph)
    };
    let runs = paragraph
        .descendants()
        .filter(|node| node.has_tag_name_of("r"));
    for run in runs.filter(|run| is_own(run) && !is_deleted(run)) {
        let properties = child_named(run, "rPr");
        let style = properties
            .and_then(|it| child_named(it, "rStyle"))
            .and_then(|it| attribute(it, "val"))
            .and_then(|style| styles.get(style).copied())
            .unwrap_or_default();
        let is_on = |name, by_style| {
            let own = properties.and_then(|it| child_named(it, name));
            // Direct formatting can also switch a style's emphasis off.
            own.map_or(by_style, is_switched_on)
        };
        let (italic, bold) = (is_on("i", style.is_italic), is_on("b", style.is_bold));
        for piece in run.children().filter(Node::is_element) {
            let added = match piece.tag_name().name() {
                "t" => piece.text().unwrap_or_default(),
                "tab" => " ",
                // With a type it is a page or column break, which is not part of the prose.
                "br" | "cr" if attribute(piece, "type").is_none() => "\n",
                "noBreakHyphen" => "\u{2011}",
                _ => "",
            };
            text.push_text(added, italic, bold);
        }
    }
}

fn is_switched_on(node: Node<'_, '_>) -> bool {
    !matches!(attribute(node, "val"), Some("0" | "false" | "off" | "none"))
}

fn read_outline_level(node: Node<'_, '_>) -> Option<usize> {
    let level: usize = attribute(node, "val")?.parse().ok()?;
    // 9 is body text.
    (level < 9).then_some(level + 1)
}

/// Reads what the styles mean, by id.
fn read_styles(text: &str) -> Result<HashMap<String, StyleMeaning>, ManuscriptRefused> {
    let document = parse_xml(STYLES_FILE, text)?;
    let nodes: HashMap<&str, Node<'_, '_>> = children_named(document.root_element(), "style")
        .filter_map(|style| Some((attribute(style, "styleId")?, style)))
        .collect();
    let meanings = nodes
        .keys()
        .map(|id| ((*id).to_owned(), resolve_style(&nodes, id)));
    Ok(meanings.collect())
}

fn resolve_style(nodes: &HashMap<&str, Node<'_, '_>>, id: &str) -> StyleMeaning {
    let mut meaning = StyleMeaning::default();
    let mut next = nodes.get(id).copied();
    for _ in 0..MAX_STYLE_DEPTH {
        let Some(style) = next else { break };
        let name = child_named(style, "name")
            .and_then(|it| attribute(it, "val"))
            .unwrap_or_default()
            .to_lowercase();
        let level = child_named(style, "pPr")
            .and_then(|it| child_named(it, "outlineLvl"))
            .and_then(read_outline_level);
        // The built-in names are English in every language.
        let by_name = name
            .strip_prefix("heading ")
            .and_then(|number| number.parse().ok());
        // The nearest style in the chain decides; what it is based on only fills gaps.
        meaning.heading = meaning.heading.or(level).or(by_name);
        meaning.is_title |= name == "title";
        let properties = child_named(style, "rPr");
        let has = |name| {
            let found = properties.and_then(|it| child_named(it, name));
            found.is_some_and(is_switched_on)
        };
        meaning.is_italic |= has("i");
        meaning.is_bold |= has("b");
        next = child_named(style, "basedOn")
            .and_then(|it| attribute(it, "val"))
            .and_then(|base| nodes.get(base).copied());
    }
    meaning
}

/// Returns title and author of the file's properties.
fn read_properties(
    files: &ManuscriptFiles,
) -> Result<(Option<String>, Option<String>), ManuscriptRefused> {
    if files.bytes_of(PROPERTIES_FILE).is_none() {
        return Ok((None, None));
    }
    let text = files.text_of(PROPERTIES_FILE)?;
    let document = parse_xml(PROPERTIES_FILE, &text)?;
    let root = document.root_element();
    Ok((child_text(root, "title"), child_text(root, "creator")))
}

fn list_left_out(
    files: &ManuscriptFiles,
    root: Node<'_, '_>,
) -> Result<Vec<String>, ManuscriptRefused> {
    let count = |name: &str| {
        let found = root.descendants().filter(|node| node.has_tag_name_of(name));
        found.count()
    };
    let mut left_out = Vec::new();
    if files.bytes_of(COMMENTS_FILE).is_some() {
        let text = files.text_of(COMMENTS_FILE)?;
        let document = parse_xml(COMMENTS_FILE, &text)?;
        let comments = children_named(document.root_element(), "comment").count();
        if comments > 0 {
            left_out.push(count_with_noun(comments, "comment", "comments"));
        }
    }
    let things = [
        (count("footnoteReference"), "footnote", "footnotes"),
        (count("endnoteReference"), "endnote", "endnotes"),
        (count("drawing") + count("pict"), "picture", "pictures"),
    ];
    let things = things.into_iter().filter(|(number, ..)| *number > 0);
    left_out.extend(things.map(|(number, one, many)| count_with_noun(number, one, many)));
    Ok(left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLES: &str = r#"<w:styles xmlns:w="w"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
        <w:style w:styleId="Mine"><w:basedOn w:val="berschrift1"/></w:style>
        <w:style w:styleId="Hervorhebung"><w:name w:val="Emphasis"/><w:rPr><w:i/></w:rPr></w:style>
        <w:style w:styleId="Titel"><w:name w:val="Title"/></w:style></w:styles>"#;

    fn read(body: &str) -> Manuscript {
        let document = format!("<w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
        let files = [(DOCUMENT_FILE, document.as_str()), (STYLES_FILE, STYLES)];
        let files = ManuscriptFiles {
            name: "book.docx".to_owned(),
            main: None,
            files: files
                .into_iter()
                .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
                .collect(),
        };
        read_docx(&files).unwrap()
    }

    #[test]
    fn headings_come_from_styles_and_tracked_changes_are_accepted() {
        let book = read(
            r#"<w:p><w:pPr><w:pStyle w:val="Titel"/></w:pPr><w:r><w:t>Salt</w:t></w:r></w:p>
            <w:p><w:pPr><w:pStyle w:val="Mine"/></w:pPr><w:r><w:t>The gate</w:t></w:r></w:p>
            <w:p><w:r><w:t xml:space="preserve">She </w:t></w:r><w:r><w:rPr><w:rStyle w:val="Hervorhebung"/></w:rPr><w:t>never</w:t></w:r>
            <w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t xml:space="preserve"> asked.</w:t></w:r></w:ins></w:p>
            <w:p><w:r><w:t>#</w:t></w:r></w:p><w:p><w:r><w:rPr><w:b w:val="0"/></w:rPr><w:t>Later.</w:t><w:br/><w:t>Still.</w:t></w:r></w:p>"#,
        );
        assert_eq!(book.title.as_deref(), Some("Salt"));
        let chapter = &book.parts[0].chapters[0];
        assert_eq!(chapter.title.as_deref(), Some("The gate"));
        let prose: Vec<&str> = book.scenes().map(|scene| scene.prose.as_str()).collect();
        assert_eq!(prose, ["She *never* asked.", "Later.  \nStill."]);
    }

    #[test]
    fn without_heading_styles_the_words_of_lines_decide() {
        let line = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
        let body = ["Chapter One", "The gate.", "Chapter Two", "Rain."].map(line);
        let book = read(&body.concat());
        assert_eq!(book.parts[0].chapters.len(), 2);
    }
}
