//! Plain text and RTF: headings are lines of their own with a word such as `Chapter`, in several languages.

use super::Manuscript;
use super::builder::{ManuscriptBuilder, clean_title};
use super::heading_words::{
    HeadingRank, is_scene_break, is_title_line, read_by_line, read_heading_line,
};
use super::rich_text::{RichParagraph, escape_paragraph};

/// Lines longer than this are paragraphs, not lines that were wrapped by hand.
const MAX_WRAPPED_CHARS: usize = 100;

/// Reads a manuscript in plain text.
pub(super) fn read_plain_text(text: &str) -> Manuscript {
    let mut builder = ManuscriptBuilder::new();
    let lines: Vec<&str> = text.lines().collect();
    let taken = take_title_page(&lines, &mut builder);
    push_lines(&mut builder, &lines, taken);
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
    push_lines(builder, &text.lines().collect::<Vec<_>>(), 0);
}

/// Adds the lines of a text without the first `taken` ones.
fn push_lines(builder: &mut ManuscriptBuilder, lines: &[&str], taken: usize) {
    let is_blank = |at: Option<usize>| {
        let line = at.and_then(|at| lines.get(at));
        line.is_none_or(|line| line.trim().is_empty())
    };
    let is_wrapped = is_hard_wrapped(lines);
    let mut paragraph = String::new();
    for (at, line) in lines.iter().enumerate().skip(taken) {
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

/// Takes the title and the author's line from the beginning. Returns the number of lines taken; none where
/// no heading follows, because a text without structure may begin with anything.
fn take_title_page(lines: &[&str], builder: &mut ManuscriptBuilder) -> usize {
    let mut written = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (at, line.trim()))
        .filter(|(_, line)| !line.is_empty());
    let has_headings = lines.iter().any(|line| read_heading_line(line).is_some());
    let Some((at, title)) = written.next().filter(|_| has_headings) else {
        return 0;
    };
    let author = written
        .next()
        .and_then(|(at, line)| Some((at, read_by_line(line)?)));
    // With a line directly below it, it is the first line of a paragraph.
    let is_alone = lines.get(at + 1).is_none_or(|line| line.trim().is_empty());
    if !is_title_line(title) || !is_alone && author.is_none() {
        return 0;
    }
    let (end, author) = match author {
        Some((end, author)) => (end, Some(author)),
        None => (at, None),
    };
    builder.set_title(clean_title(title), author);
    end + 1
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
    let texts: Vec<String> = paragraphs.iter().map(RichParagraph::plain_text).collect();
    // Each paragraph is a line with an empty one below it.
    let lines: Vec<&str> = texts.iter().flat_map(|text| [text.as_str(), ""]).collect();
    let taken = take_title_page(&lines, &mut builder).div_ceil(2);
    for paragraph in paragraphs.iter().skip(taken) {
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
        assert_eq!(book.title.as_deref(), Some("SALT"));
        assert_eq!(book.preamble, "");
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

    /// Defect: the title page was kept as notes, and the compiled book had the project's name.
    #[test]
    fn title_and_author_are_read_from_the_first_lines() {
        for page in [
            "THE BURNING PIER\nby Anna Carter\n\n",
            "THE BURNING PIER\n\nby Anna Carter\n\nFor my mother.\n\n",
        ] {
            let book = read_plain_text(&format!("{page}Chapter 1\n\nThe gate was shut.\n"));
            assert_eq!(book.title.as_deref(), Some("THE BURNING PIER"));
            assert_eq!(book.author.as_deref(), Some("Anna Carter"));
            let notes = if page.contains("mother") {
                "For my mother."
            } else {
                ""
            };
            assert_eq!(book.preamble, notes);
            assert_eq!(book.scenes().count(), 1);
        }
        for text in [
            "The gate was shut and\nnobody came.\n\nChapter 1\n\nIt rained.\n",
            "It rained.\n\nChapter 1\n\nThe gate was shut.\n",
            "Salt\n\nThe gate was shut.\n",
        ] {
            assert_eq!(read_plain_text(text).title, None, "{text}");
        }
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
