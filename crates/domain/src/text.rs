//! Text from outside: cleaning it of what changes how a terminal or a model reads it, and counting in words.

/// Removes characters that could change how a terminal or a model reads the line.
#[must_use]
pub fn clean_line(text: &str) -> String {
    text.chars()
        .filter(|c| *c == '\t' || !(c.is_control() || is_invisible(*c)))
        .collect()
}

/// Zero-width characters and those that change the writing direction.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Whether a terminal may act on a character instead of showing it: controls (C0, DEL, C1), direction changes, and
/// what takes no room on the screen, so that a name looks like another one.
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || is_invisible(c)
        // Arabic letter mark, Mongolian vowel separator, line and paragraph separators, annotations, tags.
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns `1 plan`, `3 plans`.
#[must_use]
pub fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}
