//! Words and marks that structure manuscripts: chapter headings in several languages, scene breaks, and
//! which level of heading is a part, a chapter or a scene.

use std::collections::BTreeSet;

/// What a heading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HeadingRank {
    /// The title of the book.
    Book,
    Part,
    Chapter,
    Scene,
}

const PART_WORDS: &[&str] = &[
    "part",
    "act",
    "book",
    "volume",
    "teil",
    "buch",
    "akt",
    "partie",
    "livre",
    "acte",
    "parte",
    "libro",
    "acto",
    "atto",
    "ato",
    "livro",
    "część",
    "księga",
    "часть",
    "книга",
    "том",
    "акт",
    "частина",
];
const CHAPTER_WORDS: &[&str] = &[
    "chapter",
    "kapitel",
    "chapitre",
    "capítulo",
    "capitulo",
    "capitolo",
    "rozdział",
    "kapitola",
    "hoofdstuk",
    "глава",
    "розділ",
];
const SCENE_WORDS: &[&str] = &[
    "scene",
    "szene",
    "scène",
    "escena",
    "scena",
    "cena",
    "сцена",
    "эпизод",
];
/// Chapters that are called by a word alone.
const NAMED_CHAPTERS: &[&str] = &[
    "prologue",
    "epilogue",
    "interlude",
    "foreword",
    "afterword",
    "preface",
    "introduction",
    "prolog",
    "epilog",
    "vorwort",
    "nachwort",
    "zwischenspiel",
    "prólogo",
    "epílogo",
    "épilogue",
    "interlúdio",
    "prologo",
    "epilogo",
    "intermezzo",
    "пролог",
    "эпилог",
    "интерлюдия",
    "предисловие",
    "послесловие",
    "епілог",
    "序章",
    "終章",
    "楔子",
    "尾声",
];
/// Those of them that come before the first chapter.
const OPENING_CHAPTERS: &[&str] = &[
    "prologue",
    "foreword",
    "preface",
    "introduction",
    "prolog",
    "vorwort",
    "prólogo",
    "prologo",
    "пролог",
    "предисловие",
    "序章",
    "楔子",
];
/// Numbers that are spelled out; `last` comes after all of them.
const NUMBER_WORDS: &[(&str, u64)] = &[
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("first", 1),
    ("second", 2),
    ("third", 3),
    ("eins", 1),
    ("zwei", 2),
    ("drei", 3),
    ("vier", 4),
    ("fünf", 5),
    ("sechs", 6),
    ("sieben", 7),
    ("acht", 8),
    ("neun", 9),
    ("zehn", 10),
    ("un", 1),
    ("deux", 2),
    ("trois", 3),
    ("quatre", 4),
    ("cinq", 5),
    ("uno", 1),
    ("dos", 2),
    ("tres", 3),
    ("cuatro", 4),
    ("cinco", 5),
    ("primero", 1),
    ("segundo", 2),
    ("первая", 1),
    ("вторая", 2),
    ("третья", 3),
    ("четвертая", 4),
    ("четвёртая", 4),
    ("пятая", 5),
    ("шестая", 6),
    ("седьмая", 7),
    ("восьмая", 8),
    ("девятая", 9),
    ("десятая", 10),
    ("первый", 1),
    ("второй", 2),
    ("третий", 3),
    ("fourth", 4),
    ("fifth", 5),
    ("sixth", 6),
    ("seventh", 7),
    ("eighth", 8),
    ("ninth", 9),
    ("tenth", 10),
    ("одиннадцатая", 11),
    ("двенадцатая", 12),
    ("тринадцатая", 13),
    ("четырнадцатая", 14),
    ("пятнадцатая", 15),
    ("шестнадцатая", 16),
    ("семнадцатая", 17),
    ("восемнадцатая", 18),
    ("девятнадцатая", 19),
    ("двадцатая", 20),
    ("last", u64::MAX),
    ("последняя", u64::MAX),
];
const MAX_HEADING_CHARS: usize = 90;
/// Maximum number of words of an author's name; two authors have more than one.
const MAX_AUTHOR_WORDS: usize = 8;

/// Returns what a line of plain text begins, if it is a heading.
pub(super) fn read_heading_line(line: &str) -> Option<HeadingRank> {
    // Plain text often decorates headings: `*** Chapter One ***`.
    let line = line.trim().trim_matches(['*', '_', '=', '[', ']']).trim();
    if line.is_empty() || line.chars().count() > MAX_HEADING_CHARS {
        return None;
    }
    if line.starts_with('第') {
        // Only near the beginning: a sentence may start with 第 as well.
        let is_short = line.chars().take(8);
        return is_short.into_iter().find_map(|letter| match letter {
            '章' | '回' | '話' | '话' => Some(HeadingRank::Chapter),
            '部' | '卷' | '巻' => Some(HeadingRank::Part),
            _ => None,
        });
    }
    let lower = line.to_lowercase();
    let (first, rest) = split_first_word(&lower);
    if NAMED_CHAPTERS.contains(&first) {
        // `Prologue`, `Prologue: the gate`; not `Introduction of the stranger at the ball`.
        let is_title = rest.is_empty() || rest.starts_with([':', '.', '-', '–', '—', ',']);
        return (is_title || is_number(split_first_word(rest).0)).then_some(HeadingRank::Chapter);
    }
    let rank = rank_of_word(first)?;
    let (number, title) = split_first_word(rest);
    // A sentence can begin like a heading: "Part two of the plan failed."
    let is_title = title.is_empty()
        || title.starts_with([':', '.', '-', '–', '—', ','])
        || number.ends_with([':', '.'])
        || number.chars().all(|c| c.is_ascii_digit())
        || is_number(title.split_whitespace().next().unwrap_or_default());
    (is_number(number) && is_title).then_some(rank)
}

/// Returns what a heading begins by its first word alone: `Chapter`, `Part`.
pub(super) fn rank_of_heading(title: &str) -> Option<HeadingRank> {
    if let Some(rank) = read_heading_line(title) {
        return Some(rank);
    }
    let lower = title.trim().to_lowercase();
    rank_of_word(split_first_word(&lower).0)
}

/// Whether a word alone names a chapter before the first one: `Prologue`.
pub(super) fn is_opening_chapter(word: &str) -> bool {
    OPENING_CHAPTERS.contains(&word)
}

/// Whether a word, in lower case, begins the heading of a chapter: `chapter`, `глава`.
pub(super) fn is_chapter_word(word: &str) -> bool {
    CHAPTER_WORDS.contains(&word)
}

pub(super) fn rank_of_word(word: &str) -> Option<HeadingRank> {
    let word = word.trim_end_matches(['.', ':']);
    let ranks = [
        (PART_WORDS, HeadingRank::Part),
        (CHAPTER_WORDS, HeadingRank::Chapter),
        (SCENE_WORDS, HeadingRank::Scene),
    ];
    let found = ranks.into_iter().find(|(words, _)| words.contains(&word));
    found.map(|(_, rank)| rank)
}

fn split_first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text
        .find(|c: char| c.is_whitespace() || matches!(c, ':' | '—' | '–'))
        .unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    (first, rest.trim_start())
}

/// Whether a word is a number: digits, Roman, or spelled out.
fn is_number(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ':', ',', ')']);
    if word.is_empty() {
        return false;
    }
    // Without `d` and `m`: no book has 500 chapters, and `mild` would be a number.
    let is_roman = |word: &str| word.chars().all(|c| "ivxlc".contains(c));
    word.chars().all(|c| c.is_ascii_digit())
        || is_roman(word)
        // `twenty-one`
        || word.split('-').all(|part| number_of_word(part).is_some())
}

/// Returns the value of a number that is spelled out.
pub(super) fn number_of_word(word: &str) -> Option<u64> {
    let known = NUMBER_WORDS.iter().find(|(known, _)| *known == word);
    known.map(|(_, number)| *number)
}

/// Whether a line is a scene break: `***`, `* * *`, `---`, `#`, `⁂`.
pub(super) fn is_scene_break(line: &str) -> bool {
    let marks: Vec<char> = line.chars().filter(|c| !c.is_whitespace()).collect();
    let Some(first) = marks.first() else {
        return false;
    };
    // Dashes also begin speech or stand for an omission, so a single one is no break.
    let least = match first {
        '#' | '⁂' | '❦' | '✻' | '§' | '*' | '•' | '◇' | '~' => 1,
        '-' | '_' | '=' | '–' | '—' => 3,
        _ => return false,
    };
    marks.len() >= least && marks.len() <= 12 && marks.iter().all(|mark| mark == first)
}

/// Decides what each depth of heading begins, by the words in the headings and by which depths there
/// are. `headings` are depth (1 is the outermost) and title, in order.
///
/// Depths that are not in the answer are part of the text.
pub(super) fn rank_depths(headings: &[(usize, String)]) -> Vec<(usize, HeadingRank)> {
    let mut depths: BTreeSet<usize> = headings.iter().map(|(depth, _)| *depth).collect();
    let mut ranks = Vec::new();
    // One heading above all others, at the beginning: the title of the book. Unless its words say that
    // it is a part or a chapter.
    let outermost = depths.first().copied().unwrap_or_default();
    let mut of_outermost = headings.iter().filter(|(depth, _)| *depth == outermost);
    let first = of_outermost.next();
    let is_title = of_outermost.next().is_none()
        && headings.first().map(|(depth, _)| *depth) == Some(outermost)
        && depths.len() > 1
        && first.is_some_and(|(_, title)| rank_of_heading(title).is_none());
    if is_title {
        ranks.push((outermost, HeadingRank::Book));
        depths.remove(&outermost);
    }
    let depths: Vec<usize> = depths.into_iter().collect();
    // Where headings say what they are, they decide: the chapter's depth fixes the others.
    let said = |rank: HeadingRank| {
        depths.iter().position(|depth| {
            let mut titles = headings.iter().filter(|(other, _)| other == depth);
            titles.any(|(_, title)| rank_of_heading(title) == Some(rank))
        })
    };
    let chapter = match (said(HeadingRank::Chapter), said(HeadingRank::Part)) {
        (Some(chapter), _) => chapter,
        (None, Some(part)) if part + 1 < depths.len() => part + 1,
        _ => match (depths.as_slice(), said(HeadingRank::Scene)) {
            (_, Some(scene)) if scene > 0 => scene - 1,
            ([_], _) => 0,
            // `#` and `##` are parts and chapters, `##` and `###` chapters and scenes.
            ([first, _], _) if *first > 1 => 0,
            _ => 1.min(depths.len().saturating_sub(1)),
        },
    };
    for (index, depth) in depths.iter().enumerate() {
        let rank = match index as isize - chapter as isize {
            -1 => HeadingRank::Part,
            0 => HeadingRank::Chapter,
            1 => HeadingRank::Scene,
            // Above the part: taken for parts too, so that no heading is lost.
            distance if distance < -1 => HeadingRank::Part,
            _ => continue,
        };
        ranks.push((*depth, rank));
    }
    ranks
}

/// Whether the first heading is the title of the book, on the same depth as its parts or chapters: `# Salt`,
/// `# Part One`. The words of all others of that depth have to say what they are.
pub(super) fn is_title_above_equals(headings: &[(usize, String)]) -> bool {
    let Some(((depth, title), others)) = headings.split_first() else {
        return false;
    };
    let mut equals = others.iter().filter(|(other, _)| other == depth).peekable();
    let is_outermost = others.iter().all(|(other, _)| other >= depth);
    is_outermost
        && equals.peek().is_some()
        && rank_of_heading(title).is_none()
        && [HeadingRank::Part, HeadingRank::Chapter]
            .into_iter()
            .any(|rank| {
                equals
                    .clone()
                    .all(|(_, title)| rank_of_heading(title) == Some(rank))
            })
}

/// Returns the author of a line such as `by Anna Carter`.
pub(super) fn read_by_line(line: &str) -> Option<String> {
    let line = line.trim().trim_matches(['*', '_']).trim();
    let (by, author) = line.split_once(char::is_whitespace)?;
    let is_by = matches!(
        by.to_lowercase().trim_end_matches(':'),
        "by" | "von" | "par" | "por" | "di" | "автор" | "autor" | "author"
    );
    let author = author.trim();
    // A name is short and of capitals, but for `and` and `de`: "By Monday the rain stopped" is prose.
    let is_part = |word: &str| word.starts_with(char::is_uppercase) || word.chars().count() <= 3;
    let is_name = author.starts_with(char::is_uppercase)
        && author.split_whitespace().count() <= MAX_AUTHOR_WORDS
        && author.split_whitespace().all(is_part)
        && !author.ends_with(['!', '?', ',', ';', ':', '…']);
    (is_by && is_name).then(|| author.to_owned())
}

/// Whether a line may be a title: short, and no sentence.
pub(super) fn is_title_line(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty()
        && line.chars().count() <= MAX_HEADING_CHARS
        && line.chars().any(char::is_alphabetic)
        && !line.starts_with(['"', '“', '«', '„', '—', '–', '-', '「'])
        && !line.ends_with(['.', '!', '?', ',', ';', ':', '…', '”', '»', '"', '。'])
        && !is_scene_break(line)
        && read_heading_line(line).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_read_in_several_languages() {
        let chapters = [
            "Chapter 1",
            "CHAPTER ONE",
            "Chapter IV: The gate",
            "Chapter Twenty-One",
            "Prologue",
            "Глава первая",
            "Глава 3. Буря",
            "Kapitel 2",
            "第十二章 雨",
            "Epilogue — after",
            "Chapter 7 The Road",
        ];
        for line in chapters {
            assert_eq!(
                read_heading_line(line),
                Some(HeadingRank::Chapter),
                "{line}"
            );
        }
        for line in ["Part 2", "PART ONE", "Часть вторая", "Book III: Salt"] {
            assert_eq!(read_heading_line(line), Some(HeadingRank::Part), "{line}");
        }
        let sentences = [
            "Chapter one of the diary was gone.",
            "Part of her knew.",
            "Introduction is a strong word for it.",
            "Book me a room.",
            "Act on it.",
            "",
        ];
        for line in sentences {
            assert_eq!(read_heading_line(line), None, "{line}");
        }
    }

    #[test]
    fn scene_breaks_are_marks_alone_on_a_line() {
        for line in ["***", "* * *", "---", "#", "###", "⁂", " ~ ", "— — —"] {
            assert!(is_scene_break(line), "{line}");
        }
        for line in ["", "-", "*said*", "# Title", "…", "——", "-5"] {
            assert!(!is_scene_break(line), "{line}");
        }
    }

    fn ranks(headings: &[(usize, &str)]) -> Vec<(usize, HeadingRank)> {
        let headings: Vec<_> = headings
            .iter()
            .map(|(depth, title)| (*depth, (*title).to_owned()))
            .collect();
        rank_depths(&headings)
    }

    #[test]
    fn depths_of_headings_become_parts_chapters_and_scenes() {
        use HeadingRank::{Book, Chapter, Part, Scene};
        assert_eq!(ranks(&[(1, "Chapter 1"), (1, "Chapter 2")]), [(1, Chapter)]);
        assert_eq!(
            ranks(&[(1, "Salt"), (2, "One"), (2, "Two")]),
            [(1, Book), (2, Chapter)]
        );
        assert_eq!(
            ranks(&[(1, "Salt"), (2, "One"), (3, "Gate"), (3, "Road")]),
            [(1, Book), (2, Chapter), (3, Scene)]
        );
        assert_eq!(
            ranks(&[(1, "One"), (2, "a"), (1, "Two"), (2, "b")]),
            [(1, Part), (2, Chapter)]
        );
        assert_eq!(
            ranks(&[(1, "Chapter 1"), (2, "a"), (1, "Chapter 2")]),
            [(1, Chapter), (2, Scene)]
        );
        assert_eq!(
            ranks(&[(1, "Salt"), (2, "Part One"), (3, "Chapter 1"), (4, "x")]),
            [(1, Book), (2, Part), (3, Chapter), (4, Scene)]
        );
    }
}
