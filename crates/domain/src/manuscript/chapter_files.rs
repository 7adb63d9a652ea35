//! A folder of texts, a chapter in each file: in the order of their names, folders as parts or chapters.

use super::builder::ManuscriptBuilder;
use super::file_names::{compare_file_names, is_numbered_name, title_of_name};
use super::heading_words::{HeadingRank, rank_of_heading};
use super::markdown::push_chapter_file;
use super::plain_text::push_plain_text;
use super::source_files::{is_markdown, is_plain_text};
use super::{Manuscript, ManuscriptFiles, ManuscriptFormat, ManuscriptRefused};

/// Files about a project, which are no part of its book.
const PROJECT_FILES: [&str; 8] = [
    "readme",
    "license",
    "copying",
    "changelog",
    "contributing",
    "agents",
    "claude",
    "gemini",
];

/// Returns the format of a folder with several texts: that of most of them.
pub(super) fn detect_text_format(files: &ManuscriptFiles) -> Option<ManuscriptFormat> {
    let chapters = list_chapters(files).0;
    let markdown = chapters.iter().filter(|path| is_markdown(path)).count();
    match chapters.len() {
        0 => None,
        all if markdown * 2 >= all => Some(ManuscriptFormat::Markdown),
        _ => Some(ManuscriptFormat::Text),
    }
}

/// Reads the texts of a folder as chapters. What a file is without headings, its name says.
pub(super) fn read_chapter_files(
    files: &ManuscriptFiles,
    format: ManuscriptFormat,
) -> Result<Manuscript, ManuscriptRefused> {
    let mut builder = ManuscriptBuilder::new();
    let (chapters, others) = list_chapters(files);
    let mut folder = "";
    for path in chapters {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if parent != folder {
            start_folder(&mut builder, folder, parent);
            folder = parent;
        }
        let is_scene = is_chapter_folder(parent)
            || rank_of_heading(&title_of_name(name)) == Some(HeadingRank::Scene);
        let rank = match is_scene {
            true => HeadingRank::Scene,
            false => HeadingRank::Chapter,
        };
        let text = files.text_of(path)?;
        // A mixed folder: each file by its own kind, and one of neither as it was asked for.
        if format == ManuscriptFormat::Text && !is_markdown(path) || is_plain_text(path) {
            push_plain_text(&mut builder, &text, rank, &chapter_title(name));
        } else {
            push_chapter_file(&mut builder, &text, rank, &chapter_title(name));
        }
    }
    for path in others {
        builder.leave_out(format!("`{path}`, which is not named like a chapter"));
    }
    Ok(builder.finish())
}

/// Returns the files that are chapters, in order, and the texts that are none.
fn list_chapters(files: &ManuscriptFiles) -> (Vec<&str>, Vec<&str>) {
    let file_name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    // Where some names have a place in an order, the others are notes about the book.
    let has_numbers = files
        .text_files()
        .any(|path| is_numbered_name(&file_name(path)));
    let (mut chapters, others): (Vec<&str>, Vec<&str>) = files.text_files().partition(|path| {
        let name = file_name(path);
        let title = title_of_name(&name).to_lowercase();
        !PROJECT_FILES.contains(&title.as_str()) && (!has_numbers || is_numbered_name(&name))
    });
    chapters.sort_by(|one, other| compare_file_names(one, other));
    (chapters, others)
}

/// Begins the part or chapter that a folder is named like.
fn start_folder(builder: &mut ManuscriptBuilder, from: &str, to: &str) {
    let mut former = from.split('/');
    let mut is_new = false;
    for name in to.split('/') {
        is_new |= former.next() != Some(name);
        let title = title_of_name(name);
        match rank_of_heading(&title) {
            Some(rank) if is_new && rank != HeadingRank::Scene => builder.start(rank, &title),
            _ => {}
        }
    }
}

fn is_chapter_folder(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    rank_of_heading(&title_of_name(name)) == Some(HeadingRank::Chapter)
}

/// Returns the title that a file's name is: `01-the-gate.md` is `the gate`.
fn chapter_title(name: &str) -> String {
    let title = title_of_name(name);
    let words = title.trim_start_matches(|c: char| c.is_ascii_digit() || ". )".contains(c));
    match words.is_empty() {
        true => title,
        false => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manuscript::{detect_format, read_manuscript};

    fn read(files: &[(&str, &str)]) -> Manuscript {
        let files = ManuscriptFiles {
            name: "manuscript".to_owned(),
            main: None,
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect(),
        };
        let format = detect_format(&files).expect("a format");
        read_manuscript(&files, format).expect("a manuscript")
    }

    /// Parts, chapters and prose, in order.
    fn outline(book: &Manuscript) -> Vec<String> {
        let mut lines = Vec::new();
        for part in &book.parts {
            lines.extend(part.title.iter().map(|title| format!("part {title}")));
            for chapter in &part.chapters {
                let title = chapter.title.as_deref().unwrap_or("-");
                let prose: Vec<&str> = chapter.scenes.iter().map(|it| it.prose.as_str()).collect();
                lines.push(format!("{title}: {}", prose.join(" | ")));
            }
        }
        lines
    }

    #[test]
    fn each_file_is_a_chapter_in_the_order_of_the_numbers() {
        let book = read(&[
            (
                "chapter-1.md",
                "# The gate\n\n## Dawn\n\nShut.\n\n## Noon\n\nOpen.\n",
            ),
            ("chapter-10.md", "Ten.\n"),
            ("chapter-2.md", "# The road\n\nLong.\n\n***\n\nDusty.\n"),
            ("characters.md", "# Ann\n"),
            ("README.md", "# My book\n"),
            ("prologue.txt", "Before.\n"),
        ]);
        assert_eq!(
            outline(&book),
            [
                "prologue: Before.",
                "The gate: Shut. | Open.",
                "The road: Long. | Dusty.",
                "chapter 10: Ten."
            ]
        );
        assert_eq!(book.left_out.len(), 2, "{:?}", book.left_out);
    }

    #[test]
    fn folders_are_parts_or_chapters() {
        let book = read(&[
            ("part-1/chapter-1.md", "One.\n"),
            ("part-2/chapter-2.md", "Two.\n"),
            ("part-2/chapter-3/scene-1.md", "A.\n"),
            ("part-2/chapter-3/scene-2.md", "B.\n"),
        ]);
        assert_eq!(
            outline(&book),
            [
                "part part 1",
                "chapter 1: One.",
                "part part 2",
                "chapter 2: Two.",
                "chapter 3: A. | B."
            ]
        );
    }

    #[test]
    fn headings_that_name_parts_and_chapters_win_over_files() {
        let book = read(&[
            (
                "1.md",
                "# Part One\n\n## Chapter 1\n\nOne.\n\n## Chapter 2\n\nTwo.\n",
            ),
            ("2.md", "## Chapter 3\n\nThree.\n"),
        ]);
        assert_eq!(
            outline(&book),
            [
                "part Part One",
                "Chapter 1: One.",
                "Chapter 2: Two.",
                "Chapter 3: Three."
            ]
        );
    }

    #[test]
    fn names_without_numbers_are_all_taken() {
        let book = read(&[("b.txt", "Two.\n"), ("a.txt", "One.\n")]);
        assert_eq!(outline(&book), ["a: One.", "b: Two."]);
    }
}
