//! Sanitising of untrusted text for terminals, models and questions, and pluralised counts.

use std::borrow::Cow;

/// Removes control, zero-width and bidi characters from a line.
#[must_use]
pub fn clean_line(text: &str) -> String {
    // Escape sequences could rewrite the terminal; invisible characters could hide instructions to
    // a model from the person who reviews the text.
    text.chars()
        .filter(|c| *c == '\t' || !(c.is_control() || is_invisible(*c)))
        .collect()
}

/// Whether a character is zero-width or changes the writing direction (bidi controls).
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Whether a character must not be printed to a terminal: controls (C0, DEL, C1), bidi controls,
/// and zero-width characters that make one name look like another.
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || is_invisible(c)
        // Arabic letter mark, Mongolian vowel separator, line and paragraph separators,
        // annotations, tags.
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Replaces characters of a line that nobody sees by their code points, such as `<U+202E>`: a person
/// decides about everything in a text.
#[must_use]
pub fn reveal_invisible(line: &str) -> Cow<'_, str> {
    if !line.chars().any(is_unprintable) {
        return Cow::Borrowed(line);
    }
    let mut shown = String::with_capacity(line.len());
    let mut previous = ' ';
    for c in line.chars() {
        // Joiners are part of words in some scripts, and of pictures of several people.
        let joins = matches!(c, '\u{200c}' | '\u{200d}')
            && !previous.is_ascii()
            && !is_unprintable(previous);
        if c == '\t' || joins || !is_unprintable(c) {
            shown.push(c);
        } else {
            shown.push_str(&format!("<U+{:04X}>", u32::from(c)));
        }
        previous = c;
    }
    Cow::Owned(shown)
}

/// Returns a text with the full stop that ends it, unless it ends with a mark of its own.
#[must_use]
pub fn end_sentence(text: &str) -> Cow<'_, str> {
    match text.ends_with(['.', '?', '!']) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{text}.")),
    }
}

/// Formats a count with its noun: `1 plan`, `3 plans`.
#[must_use]
pub fn count_with_noun(number: usize, one: &str, many: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_shown_by_its_code_point() {
        for (line, shown) in [
            ("plain\ttext", "plain\ttext"),
            (
                "\u{1b}[2J\u{202e}evil\u{202c}",
                "<U+001B>[2J<U+202E>evil<U+202C>",
            ),
            ("zero\u{200b}width\r", "zero<U+200B>width<U+000D>"),
            ("a\u{200d}b", "a<U+200D>b"),
            (
                "می\u{200c}خواهم 👩\u{200d}🚀",
                "می\u{200c}خواهم 👩\u{200d}🚀",
            ),
        ] {
            assert_eq!(reveal_invisible(line), shown);
        }
    }

    #[test]
    fn a_sentence_ends_with_one_mark() {
        for (text, ended) in [
            ("wrong", "wrong."),
            ("Wrong.", "Wrong."),
            ("this?", "this?"),
        ] {
            assert_eq!(end_sentence(text), ended);
        }
    }
}
