//! Markdown manuscripts: headings are parts, chapters and scenes, marks alone on a line are scene breaks.

use std::collections::BTreeSet;

use super::Manuscript;
use super::builder::{ManuscriptBuilder, clean_title, push_block};
use super::heading_words::{
    HeadingRank, is_scene_break, is_title_above_equals, rank_depths, rank_of_heading, read_by_line,
};
use crate::front_matter::{parse_front_matter, split_front_matter};
use crate::text::count_with_noun;

/// A piece of a Markdown text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MarkdownBlock {
    Heading { depth: usize, title: String },
    Break,
    Paragraph(String),
}

/// Reads a manuscript in Markdown.
pub(super) fn read_markdown(text: &str) -> Manuscript {
    let mut builder = ManuscriptBuilder::new();
    let about = parse_front_matter(text);
    // Pandoc allows a list of authors.
    let author = about.get_text("author").or_else(|| {
        let names = about.get_list("author");
        (!names.is_empty()).then(|| names.join(", "))
    });
    builder.set_title(about.get_text("title"), author);
    let mut blocks = read_blocks(&mut builder, text);
    take_title_page(
        &mut blocks,
        about.get_text("title").as_deref(),
        &mut builder,
    );
    // From all headings at once: whether `#` is the book, a part or a chapter depends on the
    // others.
    let ranks = rank_depths(&list_headings(&blocks));
    push_blocks(&mut builder, blocks, &ranks);
    builder.finish()
}

/// Adds a file of a manuscript that is a chapter or scene by its place, unless its headings say that
/// there are parts or chapters in it. `name` is its title, if it has no heading.
pub(super) fn push_chapter_file(
    builder: &mut ManuscriptBuilder,
    text: &str,
    rank: HeadingRank,
    name: &str,
) {
    let title = parse_front_matter(text).get_text("title");
    let blocks = read_blocks(builder, text);
    let headings = list_headings(&blocks);
    let is_said = headings.iter().any(|(_, title)| {
        matches!(
            rank_of_heading(title),
            Some(HeadingRank::Part | HeadingRank::Chapter)
        )
    });
    let ranks = match is_said {
        true => rank_depths(&headings),
        false => rank_below(&headings, rank),
    };
    let begins = match blocks.iter().find(|block| **block != MarkdownBlock::Break) {
        Some(MarkdownBlock::Heading { depth, .. }) => ranks.iter().any(|(known, _)| known == depth),
        _ => false,
    };
    if !begins {
        builder.start(rank, title.as_deref().unwrap_or(name));
    }
    push_blocks(builder, blocks, &ranks);
}

/// Returns the ranks of the two outermost depths of headings, where the first has this rank.
fn rank_below(headings: &[(usize, String)], rank: HeadingRank) -> Vec<(usize, HeadingRank)> {
    let depths: BTreeSet<usize> = headings.iter().map(|(depth, _)| *depth).collect();
    let below = match rank {
        HeadingRank::Chapter => vec![rank, HeadingRank::Scene],
        _ => vec![rank],
    };
    depths.into_iter().zip(below).collect()
}

/// Returns the blocks of a text without its front matter and comments.
fn read_blocks(builder: &mut ManuscriptBuilder, text: &str) -> Vec<MarkdownBlock> {
    let (body, comments) = strip_comments(split_front_matter(text).1);
    if comments > 0 {
        let comments = count_with_noun(comments, "comment", "comments");
        builder.leave_out(format!("{comments} of the Markdown text"));
    }
    split_blocks(&body)
}

fn list_headings(blocks: &[MarkdownBlock]) -> Vec<(usize, String)> {
    blocks.iter().filter_map(as_heading).collect()
}

fn push_blocks(
    builder: &mut ManuscriptBuilder,
    blocks: Vec<MarkdownBlock>,
    ranks: &[(usize, HeadingRank)],
) {
    for block in blocks {
        match block {
            MarkdownBlock::Heading { depth, title } => {
                match ranks.iter().find(|(known, _)| *known == depth) {
                    Some((_, rank)) => builder.start(*rank, &title),
                    // Deeper than scenes: part of the text.
                    None => builder.push_paragraph(&format!("{} {title}", "#".repeat(depth))),
                }
            }
            MarkdownBlock::Break => builder.break_scene(),
            MarkdownBlock::Paragraph(text) => builder.push_paragraph(&text),
        }
    }
}

/// Takes the title and the author's line from the beginning, where the title stands on the same depth as the
/// parts or chapters. With other text below it, it is a heading like the others: a dedication.
fn take_title_page(
    blocks: &mut Vec<MarkdownBlock>,
    known: Option<&str>,
    builder: &mut ManuscriptBuilder,
) {
    let headings = list_headings(blocks);
    let (title, author, taken) = match blocks.as_slice() {
        [
            MarkdownBlock::Heading { title, .. },
            MarkdownBlock::Heading { .. },
            ..,
        ] => (title.clone(), None, 1),
        [
            MarkdownBlock::Heading { title, .. },
            MarkdownBlock::Paragraph(text),
            MarkdownBlock::Heading { .. },
            ..,
        ] => match read_by_line(text) {
            Some(author) => (title.clone(), Some(author), 2),
            None => return,
        },
        _ => return,
    };
    // Where the title is known, another heading is something else.
    if known.is_none_or(|known| known == title) && is_title_above_equals(&headings) {
        builder.set_title(clean_title(&title), author);
        blocks.drain(..taken);
    }
}

/// Returns depth and title of a block that is a heading.
fn as_heading(block: &MarkdownBlock) -> Option<(usize, String)> {
    match block {
        MarkdownBlock::Heading { depth, title } => Some((*depth, title.clone())),
        MarkdownBlock::Break | MarkdownBlock::Paragraph(_) => None,
    }
}

/// Splits prose at its scene breaks. Headings in it are part of the text.
pub(super) fn split_scenes(text: &str) -> Vec<String> {
    let mut scenes = vec![String::new()];
    for block in split_blocks(text) {
        let part = match block {
            MarkdownBlock::Break => {
                scenes.push(String::new());
                continue;
            }
            MarkdownBlock::Heading { depth, title } => format!("{} {title}", "#".repeat(depth)),
            MarkdownBlock::Paragraph(text) => text,
        };
        if let Some(last) = scenes.last_mut() {
            push_block(last, &part);
        }
    }
    scenes.retain(|scene| !scene.is_empty());
    scenes
}

/// Returns the mark of the code block that a line opens.
fn find_opening_fence(line: &str) -> Option<&'static str> {
    if line.starts_with("```") {
        return Some("```");
    }
    // Tildes alone separate scenes in manuscripts; with a language behind them they open a block.
    let language = line.strip_prefix("~~~")?.trim_start_matches('~');
    (!language.is_empty()).then_some("~~~")
}

/// Splits a Markdown text into headings, scene breaks and paragraphs. Nothing in a code block is one.
pub(super) fn split_blocks(text: &str) -> Vec<MarkdownBlock> {
    let mut blocks = Vec::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(mark) = fence {
            paragraph.push(line);
            // A closing fence has nothing behind it.
            if trimmed.starts_with(mark) && trimmed.chars().all(|c| mark.contains(c)) {
                fence = None;
            }
            continue;
        }
        fence = find_opening_fence(trimmed);
        if fence.is_some() {
            paragraph.push(line);
            continue;
        }
        if trimmed.is_empty() {
            finish_paragraph(&mut paragraph, &mut blocks);
        // Before the scene break: `---` below a single line makes that line a heading.
        } else if let Some(depth) = read_underline(trimmed).filter(|_| paragraph.len() == 1) {
            let title = paragraph.pop().unwrap_or_default().trim().to_owned();
            blocks.push(MarkdownBlock::Heading { depth, title });
        } else if is_scene_break(trimmed) {
            finish_paragraph(&mut paragraph, &mut blocks);
            blocks.push(MarkdownBlock::Break);
        } else if let Some((depth, title)) = read_heading(trimmed) {
            finish_paragraph(&mut paragraph, &mut blocks);
            blocks.push(MarkdownBlock::Heading { depth, title });
        } else {
            paragraph.push(line);
        }
    }
    finish_paragraph(&mut paragraph, &mut blocks);
    blocks
}

fn finish_paragraph(lines: &mut Vec<&str>, blocks: &mut Vec<MarkdownBlock>) {
    // The ends of lines are kept: two blanks there are a line break.
    let text = std::mem::take(lines).join("\n");
    if !text.trim().is_empty() {
        blocks.push(MarkdownBlock::Paragraph(text.trim_end().to_owned()));
    }
}

/// Returns the depth of a heading that is underlined with `===` or `---`.
fn read_underline(line: &str) -> Option<usize> {
    let is_all = |mark: char| line.len() >= 3 && line.chars().all(|c| c == mark);
    match (is_all('='), is_all('-')) {
        (true, _) => Some(1),
        (_, true) => Some(2),
        _ => None,
    }
}

fn read_heading(line: &str) -> Option<(usize, String)> {
    let depth = line.len() - line.trim_start_matches('#').len();
    let title = line.get(depth..)?;
    // `#tag` is no heading, and neither are seven marks.
    let is_heading = (1..=6).contains(&depth) && title.starts_with(' ');
    let title = title.trim().trim_end_matches('#').trim();
    (is_heading && !title.is_empty()).then(|| (depth, title.to_owned()))
}

/// Removes `<!-- … -->` and `%% … %%`, and returns how many there were. An open end is text.
pub(super) fn strip_comments(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut count) = (text, 0);
    loop {
        let next = [("<!--", "-->"), ("%%", "%%")]
            .into_iter()
            .filter_map(|(open, close)| Some((rest.find(open)?, open, close)))
            // The one that opens first: the other may be inside of it.
            .min_by_key(|(at, ..)| *at);
        let found = next.and_then(|(at, open, close)| {
            let inner = rest.get(at + open.len()..)?;
            Some((at, inner.get(inner.find(close)? + close.len()..)?))
        });
        let Some((at, after)) = found else {
            out.push_str(rest);
            return (out, count);
        };
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = after;
        count += 1;
    }
}

/// Returns the rank that Markdown headings have in formats where the depth is fixed.
pub(super) fn fixed_rank(depth: usize) -> Option<HeadingRank> {
    match depth {
        1 => Some(HeadingRank::Part),
        2 => Some(HeadingRank::Chapter),
        3 => Some(HeadingRank::Scene),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manuscript_is_split_at_headings_and_breaks() {
        let text = "---\ntitle: Salt\nauthor: [Ann, Bo]\n---\n# Salt\n\nFor my mother.\n\n## Chapter 1\n\nThe gate.\n\n***\n\nThe \
                    road.<!-- check -->\n\n## Chapter 2: Rain\n\n### At noon\n\nIt *rained*.\n\n#### Later\n\n```\n# no heading\n```\n";
        let book = read_markdown(text);
        assert_eq!(book.title.as_deref(), Some("Salt"));
        assert_eq!(book.author.as_deref(), Some("Ann, Bo"));
        assert_eq!(book.preamble, "For my mother.");
        let prose: Vec<&str> = book.scenes().map(|scene| scene.prose.as_str()).collect();
        assert_eq!(
            prose,
            [
                "The gate.",
                "The road.",
                "It *rained*.\n\n#### Later\n\n```\n# no heading\n```"
            ]
        );
        let chapters = &book.parts[0].chapters;
        assert_eq!(chapters[1].title.as_deref(), Some("Chapter 2: Rain"));
        assert_eq!(chapters[1].scenes[0].title.as_deref(), Some("At noon"));
        assert_eq!(book.left_out, ["1 comment of the Markdown text"]);
    }

    /// Defect: prose between the heading of a part and its first chapter was in the part's plan alone.
    #[test]
    fn prose_below_the_heading_of_a_part_stays_prose() {
        let text =
            "# Part One\n\nFog.\n\n***\n\nTide.\n\n## Chapter 1\n\nRain.\n\n# Part Two\n\nSnow.\n";
        let book = read_markdown(text);
        let prose: Vec<&str> = book.scenes().map(|scene| scene.prose.as_str()).collect();
        assert_eq!(prose, ["Fog.", "Tide.", "Rain.", "Snow."]);
        let parts: Vec<(Option<&str>, usize, &str)> = book
            .parts
            .iter()
            .map(|it| (it.title.as_deref(), it.chapters.len(), it.synopsis.as_str()))
            .collect();
        assert_eq!(
            parts,
            [(Some("Part One"), 1, ""), (Some("Part Two"), 1, "")]
        );
        assert_eq!(book.left_out.len(), 1, "{:?}", book.left_out);
    }

    /// Defect: the title became an empty part, and the compiled book had the project's name.
    #[test]
    fn a_title_on_the_depth_of_the_parts_is_the_title_of_the_book() {
        for text in [
            "# Salt\n\n# Part One\n\n## The gate\n\nA.\n\n# Part Two\n\n## Rain\n\nB.\n",
            "# Salt\n\nby Ann Bo\n\n# Part One\n\n## The gate\n\nA.\n\n# Part Two\n\n## Rain\n\nB.\n",
        ] {
            let book = read_markdown(text);
            assert_eq!(book.title.as_deref(), Some("Salt"));
            let author = text.contains("by ").then_some("Ann Bo");
            assert_eq!(book.author.as_deref(), author);
            let parts = book.parts.iter().map(|part| part.title.as_deref());
            assert_eq!(
                parts.collect::<Vec<_>>(),
                [Some("Part One"), Some("Part Two")]
            );
            assert_eq!(book.preamble, "");
        }
        let book = read_markdown("# Salt\n\n# Chapter 1\n\nA.\n\n# Chapter 2\n\nB.\n");
        assert_eq!(
            (book.title.as_deref(), book.scenes().count()),
            (Some("Salt"), 2)
        );
        for text in [
            "# Dedication\n\nFor my mother.\n\n# Part One\n\n## The gate\n\nA.\n",
            "# Salt\n\n# Rain\n\nA.\n\n# Snow\n\nB.\n",
            "# Prologue\n\n# Part One\n\n## The gate\n\nA.\n",
        ] {
            assert_eq!(read_markdown(text).title, None, "{text}");
        }
        let named = "---\ntitle: Salt\n---\n# Rain\n\n# Part One\n\n## The gate\n\nA.\n";
        let book = read_markdown(named);
        assert_eq!(book.title.as_deref(), Some("Salt"));
        assert_eq!(book.parts[0].title.as_deref(), Some("Rain"));
    }

    #[test]
    fn a_code_block_ends_with_its_own_fence() {
        let text = "# Chapter 1\n\n~~~yaml\n# no heading\n```\n~~~\n\n# Chapter 2\n\nOne.\n\n~~~\n\nTwo.\n";
        let book = read_markdown(text);
        let prose: Vec<&str> = book.scenes().map(|scene| scene.prose.as_str()).collect();
        assert_eq!(prose, ["~~~yaml\n# no heading\n```\n~~~", "One.", "Two."]);
    }

    #[test]
    fn a_text_without_headings_is_one_chapter() {
        let book = read_markdown("One.\n\n* * *\n\nTwo.\n");
        assert_eq!(book.scenes().count(), 2);
        assert_eq!(book.parts[0].chapters.len(), 1);
        assert_eq!(book.preamble, "");
    }

    #[test]
    fn underlined_headings_count_and_open_comments_are_text() {
        let book = read_markdown("Chapter 1\n---\n\nText <!-- open\n\n---\n\nMore.\n");
        assert_eq!(
            book.parts[0].chapters[0].title.as_deref(),
            Some("Chapter 1")
        );
        let prose: Vec<&str> = book.scenes().map(|scene| scene.prose.as_str()).collect();
        assert_eq!(prose, ["Text <!-- open", "More."]);
    }
}
