//! Paragraphs with emphasis, and their Markdown: what DOCX and RTF have in common.

/// Text with the same emphasis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextRun {
    pub(super) text: String,
    pub(super) is_italic: bool,
    pub(super) is_bold: bool,
}

/// A paragraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RichParagraph {
    pub(super) runs: Vec<TextRun>,
}

impl RichParagraph {
    /// Adds text; runs with the same emphasis are joined, because editors split words into many.
    pub(super) fn push_text(&mut self, text: &str, is_italic: bool, is_bold: bool) {
        if text.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.is_italic == is_italic && last.is_bold == is_bold => {
                last.text.push_str(text);
            }
            _ => self.runs.push(TextRun {
                text: text.to_owned(),
                is_italic,
                is_bold,
            }),
        }
    }

    /// Returns the text without emphasis.
    pub(super) fn plain_text(&self) -> String {
        let text: String = self.runs.iter().map(|run| run.text.as_str()).collect();
        text.trim().to_owned()
    }

    /// Renders the paragraph as Markdown.
    pub(super) fn to_markdown(&self) -> String {
        let mut out = String::new();
        for run in &self.runs {
            let marks = match (run.is_bold, run.is_italic) {
                (true, true) => "***",
                (true, false) => "**",
                (false, true) => "*",
                (false, false) => "",
            };
            // Markdown has no emphasis that begins or ends with a space.
            let inner = run.text.trim();
            if inner.is_empty() {
                out.push_str(&run.text);
                continue;
            }
            let at = run.text.find(inner).unwrap_or_default();
            let (before, rest) = run.text.split_at(at);
            let after = rest.get(inner.len()..).unwrap_or_default();
            out.push_str(before);
            out.push_str(marks);
            out.push_str(&escape_inline(inner));
            out.push_str(marks);
            out.push_str(after);
        }
        let lines = out
            .trim()
            .lines()
            .map(|line| escape_line_start(line.trim()));
        // Two spaces keep a line break of the source.
        lines.collect::<Vec<_>>().join("  \n")
    }
}

/// Escapes what Markdown would read as emphasis or code.
fn escape_inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '_' | '`' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Escapes the start of a line that Markdown would read as a heading, a quotation or a list.
pub(super) fn escape_line_start(line: &str) -> String {
    let mut letters = line.chars();
    let is_block = matches!(
        (letters.next(), letters.next()),
        (Some('#' | '>'), _) | (Some('-' | '+'), Some(' ' | '-') | None)
    );
    if is_block {
        return format!("\\{line}");
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = line.get(digits..).unwrap_or_default();
    if (1..=9).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") ")) {
        let number = line.get(..digits).unwrap_or_default();
        return format!("{number}\\{rest}");
    }
    line.to_owned()
}

/// Renders plain text of one paragraph as Markdown.
pub(super) fn escape_paragraph(text: &str) -> String {
    escape_line_start(&escape_inline(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emphasis_does_not_include_the_spaces_around_it() {
        let mut paragraph = RichParagraph::default();
        paragraph.push_text("She ", false, false);
        paragraph.push_text("never", true, false);
        paragraph.push_text(" once ", true, false);
        paragraph.push_text("asked for 2 * 3.", false, false);
        assert_eq!(
            paragraph.to_markdown(),
            "She *never once* asked for 2 \\* 3."
        );
    }

    #[test]
    fn dialogue_with_hyphens_does_not_become_a_list() {
        assert_eq!(escape_line_start("- Come in."), "\\- Come in.");
        assert_eq!(escape_line_start("— Come in."), "— Come in.");
        assert_eq!(
            escape_line_start("1984. It was over."),
            "1984\\. It was over."
        );
        assert_eq!(escape_line_start("-5 degrees"), "-5 degrees");
    }
}
