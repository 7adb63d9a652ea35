//! Plain text and RTF: headings are lines of their own with a word such as `Chapter`, in several languages.

use super::Manuscript;
use super::builder::ManuscriptBuilder;
use super::heading_words::{HeadingRank, is_scene_break, read_heading_line};
use super::rich_text::{RichParagraph, escape_paragraph};

/// Lines longer than this are paragraphs, not lines that were wrapped by hand.
const MAX_WRAPPED_CHARS: usize = 100;

/// Reads a manuscript in plain text.
pub(super) fn read_plain_text(text: &str) -> Manuscript {
    let mut builder = ManuscriptBuilder::new();
    push_lines(&mut builder, text);
    builder.finish()
}

/// Adds a file of a manuscript that is a chapter or scene by its place, unless it begins with a heading
/// of its own. `name` is its title, if it has none.
pub(super) fn push_plain_text(
    builder: &mut ManuscriptBuilder,
    text: &str,
    rank: HeadingRank,
    name: &str,
) {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    if first.and_then(read_heading_line).is_none() {
        builder.start(rank, name);
    }
    push_lines(builder, text);
}

fn push_lines(builder: &mut ManuscriptBuilder, text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    let is_blank = |at: Option<usize>| {
        let line = at.and_then(|at| lines.get(at));
        line.is_none_or(|line| line.trim().is_empty())
    };
    let is_wrapped = is_hard_wrapped(&lines);
    let mut paragraph = String::new();
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        // Alone between empty lines: `Chapter one of the diary` may begin any line of a paragraph.
        let is_alone = is_blank(at.checked_sub(1)) && is_blank(Some(at + 1));
        let heading = read_heading_line(trimmed).filter(|_| is_alone || !is_wrapped);
        let starts_paragraph = !is_wrapped || line.starts_with([' ', '\t', '\u{3000}']);
        if trimmed.is_empty() || heading.is_some() || starts_paragraph || is_scene_break(trimmed) {
            builder.push_paragraph(&escape_paragraph(&std::mem::take(&mut paragraph)));
        }
        if let Some(rank) = heading {
            builder.start(rank, trimmed);
        } else if is_scene_break(trimmed) {
            builder.break_scene();
        } else if !trimmed.is_empty() {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(trimmed);
        }
    }
    builder.push_paragraph(&escape_paragraph(&paragraph));
}

/// Whether lines were wrapped by hand: then only an empty line or an indent begins a paragraph.
fn is_hard_wrapped(lines: &[&str]) -> bool {
    let filled: Vec<usize> = lines
        .iter()
        .map(|line| line.trim().chars().count())
        .filter(|chars| *chars > 0)
        .collect();
    let long = filled
        .iter()
        .filter(|chars| **chars > MAX_WRAPPED_CHARS)
        .count();
    long * 10 < filled.len()
}

/// Reads paragraphs without heading styles.
pub(super) fn read_paragraphs(paragraphs: &[RichParagraph]) -> Manuscript {
    let mut builder = ManuscriptBuilder::new();
    for paragraph in paragraphs {
        push_unstyled(&mut builder, paragraph);
    }
    builder.finish()
}

/// Adds a paragraph that may be a heading or a scene break by its words.
pub(super) fn push_unstyled(builder: &mut ManuscriptBuilder, paragraph: &RichParagraph) {
    let text = paragraph.plain_text();
    match read_heading_line(&text) {
        Some(rank) => builder.start(rank, &text),
        None if is_scene_break(&text) => builder.break_scene(),
        None => builder.push_paragraph(&paragraph.to_markdown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_are_joined_and_headings_stand_alone() {
        let text = "SALT\n\nPart One\n\nCHAPTER ONE\n\nThe gate was shut and\nChapter one of the diary\nwas gone.\n\n    Indented \
                    here.\n    And here.\n\n#\n\nLater.\n\nChapter 2: Rain\n\nRain.\n";
        let book = read_plain_text(text);
        assert_eq!(book.preamble, "SALT");
        let part = &book.parts[0];
        assert_eq!(part.title.as_deref(), Some("Part One"));
        assert_eq!(part.chapters.len(), 2);
        assert_eq!(
            part.chapters[0].scenes[0].prose,
            "The gate was shut and Chapter one of the diary was gone.\n\nIndented here.\n\nAnd here."
        );
        assert_eq!(part.chapters[0].scenes[1].prose, "Later.");
        assert_eq!(part.chapters[1].title.as_deref(), Some("Chapter 2: Rain"));
    }

    #[test]
    fn a_line_per_paragraph_is_kept_apart() {
        let long = "word ".repeat(40);
        let text = format!("Глава первая\n{long}\n{long}\n- Да, - сказал он.\n");
        let book = read_plain_text(&text);
        let prose = &book.scenes().next().unwrap().prose;
        assert_eq!(prose.split("\n\n").count(), 3, "{prose}");
        assert!(prose.ends_with("\\- Да, - сказал он."), "{prose}");
    }
}
