//! The files of a DOCX in standard manuscript format: 12 pt serif, double spaced, margins of one inch, a
//! title page with contact and word count, and `Name / TITLE / page` above every other page.

use std::fmt::Write as _;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::{Book, escape_xml};

const NAMESPACES: &str = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" \
                          xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";
const XML_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const CONTENT_TYPES: &str = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\
    <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
    <Default Extension=\"xml\" ContentType=\"application/xml\"/>\
    <Override PartName=\"/word/document.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml\"/>\
    <Override PartName=\"/word/styles.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml\"/>\
    <Override PartName=\"/word/header1.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml\"/>\
    <Override PartName=\"/docProps/core.xml\" ContentType=\"application/vnd.openxmlformats-package.core-properties+xml\"/></Types>";
const PACKAGE_RELATIONS: &str = "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
    <Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"word/document.xml\"/>\
    <Relationship Id=\"rId2\" Type=\"http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties\" Target=\"docProps/core.xml\"/></Relationships>";
const DOCUMENT_RELATIONS: &str = "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">\
    <Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles\" Target=\"styles.xml\"/>\
    <Relationship Id=\"rId2\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/header\" Target=\"header1.xml\"/></Relationships>";
/// Sizes are in twentieths of a point (spacing, indents) and half points (letters).
const STYLES: &str = "<w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii=\"Times New Roman\" w:hAnsi=\"Times New Roman\" \
    w:eastAsia=\"Times New Roman\" w:cs=\"Times New Roman\"/><w:sz w:val=\"24\"/><w:szCs w:val=\"24\"/></w:rPr></w:rPrDefault>\
    <w:pPrDefault><w:pPr><w:spacing w:before=\"0\" w:after=\"0\" w:line=\"480\" w:lineRule=\"auto\"/></w:pPr></w:pPrDefault></w:docDefaults>\
    <w:style w:type=\"paragraph\" w:default=\"1\" w:styleId=\"Normal\"><w:name w:val=\"Normal\"/></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"BodyText\"><w:name w:val=\"Body Text\"/><w:basedOn w:val=\"Normal\"/><w:pPr><w:ind w:firstLine=\"720\"/></w:pPr></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"Quote\"><w:name w:val=\"Quote\"/><w:basedOn w:val=\"Normal\"/><w:pPr><w:ind w:left=\"720\" w:right=\"720\"/></w:pPr></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"Contact\"><w:name w:val=\"Contact\"/><w:basedOn w:val=\"Normal\"/><w:pPr><w:spacing w:line=\"240\" w:lineRule=\"auto\"/></w:pPr></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"Title\"><w:name w:val=\"Title\"/><w:basedOn w:val=\"Normal\"/><w:pPr><w:spacing w:before=\"4320\"/><w:jc w:val=\"center\"/></w:pPr></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"Centered\"><w:name w:val=\"Centered\"/><w:basedOn w:val=\"Normal\"/><w:pPr><w:jc w:val=\"center\"/></w:pPr></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"Heading1\"><w:name w:val=\"heading 1\"/><w:basedOn w:val=\"Normal\"/><w:next w:val=\"BodyText\"/>\
    <w:pPr><w:keepNext/><w:pageBreakBefore/><w:spacing w:before=\"2880\" w:after=\"480\"/><w:jc w:val=\"center\"/><w:outlineLvl w:val=\"0\"/></w:pPr></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"Heading2\"><w:name w:val=\"heading 2\"/><w:basedOn w:val=\"Normal\"/><w:next w:val=\"BodyText\"/>\
    <w:pPr><w:keepNext/><w:pageBreakBefore/><w:spacing w:before=\"2880\" w:after=\"480\"/><w:jc w:val=\"center\"/><w:outlineLvl w:val=\"1\"/></w:pPr></w:style>\
    <w:style w:type=\"paragraph\" w:styleId=\"Header\"><w:name w:val=\"header\"/><w:basedOn w:val=\"Normal\"/><w:pPr><w:spacing w:line=\"240\" w:lineRule=\"auto\"/><w:jc w:val=\"right\"/></w:pPr></w:style>";
/// Letter, with margins of one inch; the first page has no header.
const SECTION: &str = "<w:sectPr><w:headerReference w:type=\"default\" r:id=\"rId2\"/><w:pgSz w:w=\"12240\" w:h=\"15840\"/>\
    <w:pgMar w:top=\"1440\" w:right=\"1440\" w:bottom=\"1440\" w:left=\"1440\" w:header=\"720\" w:footer=\"720\" w:gutter=\"0\"/><w:titlePg/></w:sectPr>";

impl Book {
    /// Returns the files of a DOCX in archive order.
    #[must_use]
    pub fn to_docx_files(&self) -> Vec<(String, String)> {
        let author = self.details.author.as_deref().unwrap_or_default();
        let core = format!(
            "<cp:coreProperties xmlns:cp=\"http://schemas.openxmlformats.org/package/2006/metadata/core-properties\" \
             xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:dcterms=\"http://purl.org/dc/terms/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><dc:title>{}</dc:title><dc:creator>{}</dc:creator>\
             <dcterms:modified xsi:type=\"dcterms:W3CDTF\">{}</dcterms:modified></cp:coreProperties>",
            escape_xml(&self.title),
            escape_xml(author),
            escape_xml(&self.modified)
        );
        let files = [
            ("[Content_Types].xml", CONTENT_TYPES.to_owned()),
            ("_rels/.rels", PACKAGE_RELATIONS.to_owned()),
            ("docProps/core.xml", core),
            (
                "word/_rels/document.xml.rels",
                DOCUMENT_RELATIONS.to_owned(),
            ),
            ("word/document.xml", self.render_document()),
            ("word/header1.xml", self.render_header()),
            (
                "word/styles.xml",
                format!("<w:styles {NAMESPACES}>{STYLES}</w:styles>"),
            ),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), format!("{XML_HEAD}{text}")));
        files.into()
    }

    fn render_document(&self) -> String {
        let mut body = self.render_title_page();
        let is_divided = self.is_divided();
        for part in &self.parts {
            if let Some(title) = &part.title {
                push_plain(&mut body, "Heading1", title);
            }
            for chapter in &part.chapters {
                let style = if is_divided { "Heading2" } else { "Heading1" };
                push_plain(&mut body, style, &chapter.title);
                // A centred `#` is how manuscript format marks a scene break; blank space alone is
                // lost at the end of a page.
                for (index, scene) in chapter.scenes.iter().enumerate() {
                    if index > 0 {
                        push_plain(&mut body, "Centered", "#");
                    }
                    push_prose(&mut body, &scene.marked_text());
                }
            }
        }
        format!("<w:document {NAMESPACES}><w:body>{body}{SECTION}</w:body></w:document>")
    }

    fn render_title_page(&self) -> String {
        let mut out = String::new();
        let details = &self.details;
        // The contact block usually begins with the name, which is not repeated then.
        let author = details.author.iter().filter(|_| details.contact.is_empty());
        for line in author.chain(&details.contact) {
            push_plain(&mut out, "Contact", line);
        }
        let words = format!("about {} words", round_words(self.words));
        push_plain(&mut out, "Contact", &words);
        push_plain(&mut out, "Title", &self.title);
        if let Some(subtitle) = &details.subtitle {
            push_plain(&mut out, "Centered", subtitle);
        }
        if let Some(author) = &details.author {
            push_plain(&mut out, "Centered", &format!("by {author}"));
        }
        out
    }

    fn render_header(&self) -> String {
        let author = self.details.author.as_deref().unwrap_or_default();
        // The last word: right for most names, and only a running header.
        let surname = author.split_whitespace().next_back();
        let surname = surname.map_or_else(String::new, |name| format!("{name} / "));
        let text = format!("{surname}{} / ", self.title.to_uppercase());
        format!(
            "<w:hdr {NAMESPACES}><w:p><w:pPr><w:pStyle w:val=\"Header\"/></w:pPr>{}\
             <w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText xml:space=\"preserve\"> PAGE </w:instrText></w:r>\
             <w:r><w:fldChar w:fldCharType=\"separate\"/></w:r><w:r><w:t>2</w:t></w:r><w:r><w:fldChar w:fldCharType=\"end\"/></w:r></w:p></w:hdr>",
            render_run(&text, false, false)
        )
    }
}

/// Rounds a number of words as editors expect: to hundreds, and above ten thousand to thousands.
fn round_words(words: usize) -> String {
    let step = if words >= 10_000 { 1_000 } else { 100 };
    let rounded = (words + step / 2) / step * step;
    // A short text is not rounded down to no words at all.
    let digits = rounded.max(step.min(words)).to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn push_plain(out: &mut String, style: &str, text: &str) {
    push_paragraph(out, style, &render_run(text, false, false));
}

fn push_paragraph(out: &mut String, style: &str, runs: &str) {
    let _ = write!(
        out,
        "<w:p><w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr>{runs}</w:p>"
    );
}

fn render_run(text: &str, is_italic: bool, is_bold: bool) -> String {
    let mut properties = String::new();
    if is_bold {
        properties.push_str("<w:b/>");
    }
    if is_italic {
        properties.push_str("<w:i/>");
    }
    if !properties.is_empty() {
        properties = format!("<w:rPr>{properties}</w:rPr>");
    }
    format!(
        "<w:r>{properties}<w:t xml:space=\"preserve\">{}</w:t></w:r>",
        escape_xml(text)
    )
}

/// Adds Markdown prose as paragraphs.
fn push_prose(out: &mut String, prose: &str) {
    let (mut runs, mut italic, mut bold, mut quotes) = (String::new(), 0_usize, 0_usize, 0_usize);
    for event in Parser::new(prose) {
        match event {
            Event::Start(Tag::Emphasis) => italic += 1,
            Event::End(TagEnd::Emphasis) => italic = italic.saturating_sub(1),
            Event::Start(Tag::Strong) => bold += 1,
            Event::End(TagEnd::Strong) => bold = bold.saturating_sub(1),
            Event::Start(Tag::BlockQuote(_)) => quotes += 1,
            // HTML is kept as visible text: dropping it would lose words of the author.
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                runs.push_str(&render_run(&text, italic > 0, bold > 0));
            }
            Event::SoftBreak => runs.push_str(&render_run(" ", italic > 0, bold > 0)),
            Event::HardBreak => runs.push_str("<w:r><w:br/></w:r>"),
            Event::Rule => push_plain(out, "Centered", "#"),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::CodeBlock
                | TagEnd::HtmlBlock
                | TagEnd::BlockQuote(_),
            ) => {
                let style = if quotes > 0 { "Quote" } else { "BodyText" };
                // Ends nest (a paragraph in an item in a quotation); the inner one has written the
                // text already.
                if !runs.is_empty() {
                    push_paragraph(out, style, &std::mem::take(&mut runs));
                }
                if matches!(event, Event::End(TagEnd::BlockQuote(_))) {
                    quotes = quotes.saturating_sub(1);
                }
            }
            _ => {}
        }
    }
    if !runs.is_empty() {
        push_paragraph(out, "BodyText", &runs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_rounded_as_editors_expect() {
        let rounded = [
            (0, "0"),
            (40, "40"),
            (7_249, "7,200"),
            (91_204, "91,000"),
            (1_234_567, "1,235,000"),
        ];
        for (words, expected) in rounded {
            assert_eq!(round_words(words), expected);
        }
    }

    #[test]
    fn prose_becomes_paragraphs_with_emphasis() {
        let mut out = String::new();
        push_prose(
            &mut out,
            "She *never*  \nasked & left.\n\n> A letter.\n\n---\n\nEnd.",
        );
        assert!(
            out.contains("<w:rPr><w:i/></w:rPr><w:t xml:space=\"preserve\">never</w:t>"),
            "{out}"
        );
        assert!(
            out.contains("<w:br/>") && out.contains("asked &amp; left."),
            "{out}"
        );
        assert!(
            out.contains("\"Quote\"") && out.contains("\"Centered\""),
            "{out}"
        );
        assert_eq!(out.matches("<w:p>").count(), 4);
    }
}
