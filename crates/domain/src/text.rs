//! Sanitising of untrusted text for terminals and models, and pluralised counts.

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

/// Formats a count with its noun: `1 plan`, `3 plans`.
#[must_use]
pub fn count_with_noun(number: usize, one: &str, many: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}
