//! Terminal output that is safe by type: styles are kept apart from the text, and the text is
//! stripped of control characters.
//!
//! A [`Styled`] writes its bare text and puts the style into the thread-local [`STYLE`], where
//! [`Rendered`] reads it. Escape sequences are written by [`Rendered`] alone, and everything else
//! that reaches it is sanitized, so that no text (a file name, a title, a model's answer) can
//! inject a style, a control character or an escape sequence. Markers inside the text were
//! rejected: a text could contain them.
//!
//! `format!` loses the style (never the safety): pass `format_args!`, or build a [`StyledLine`]
//! with `styled_line!`.

use std::cell::Cell;
use std::fmt::{self, Display, Write as _};

use anstyle::Style;
use domain::text::is_unprintable;

thread_local! {
    /// The style of the text being written; `None` outside of a writer that supports styles.
    static STYLE: Cell<Option<Style>> = const { Cell::new(None) };
}

fn with_style<T>(style: Style, write: impl FnOnce() -> T) -> T {
    let outer = STYLE.replace(Some(style));
    let written = write();
    STYLE.set(outer);
    written
}

/// A displayable value with a style.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Styled<T> {
    style: Style,
    text: T,
}

/// Attaches a style to a displayable value.
pub(crate) const fn styled<T: Display>(style: Style, text: T) -> Styled<T> {
    Styled { style, text }
}

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The assertion finds a `format!` in tests; in a release build a lost colour is no reason
        // to panic.
        let outer = STYLE.get();
        debug_assert!(
            outer.is_some(),
            "`{}` loses its style: use format_args! or styled_line!, not format!",
            self.text
        );
        match outer {
            Some(_) if !self.style.is_plain() => with_style(self.style, || self.text.fmt(f)),
            _ => self.text.fmt(f),
        }
    }
}

/// A `format!` that keeps the styles of its arguments.
macro_rules! styled_line {
    ($($arguments:tt)*) => { $crate::styled::StyledLine::new(format_args!($($arguments)*)) };
}
pub(crate) use styled_line;

/// Formatted text with its styles. Not sanitized; [`Rendered`] does that.
#[derive(Clone, Debug, Default)]
pub(crate) struct StyledLine(Vec<Styled<String>>);

impl StyledLine {
    pub(crate) fn new(text: impl Display) -> Self {
        let mut line = Self::default();
        line.push_display(text);
        line
    }

    pub(crate) fn push_display(&mut self, text: impl Display) {
        // Writing to a String cannot fail, only a faulty `Display` can; what it wrote is kept.
        let _ = with_style(Style::new(), || write!(self, "{text}"));
    }
}

impl fmt::Write for StyledLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let style = STYLE.get().unwrap_or_default();
        match self.0.last_mut() {
            // `write_str` is called for every piece of a format string; merging keeps the vector
            // short.
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.0.push(styled(style, text.to_owned())),
        }
        Ok(())
    }
}

impl Display for StyledLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| piece.fmt(f))
    }
}

/// Sanitized text, safe for a terminal. Nothing else is ever printed.
#[derive(Debug, Default)]
pub(crate) struct Rendered(String);

impl Rendered {
    pub(crate) const fn new() -> Self {
        Self(String::new())
    }

    /// Appends one line with its end; line breaks in the text become spaces.
    pub(crate) fn push_line(&mut self, text: impl Display) {
        self.push_sanitized(text, false);
        self.0.push('\n');
    }

    /// Appends a text and keeps its line breaks.
    pub(crate) fn push_text(&mut self, text: impl Display) {
        self.push_sanitized(text, true);
    }

    fn push_sanitized(&mut self, text: impl Display, keeps_breaks: bool) {
        let start = self.0.len();
        let mut pen = SanitizingWriter {
            out: &mut self.0,
            start,
            style: Style::new(),
            keeps_breaks,
            broke: false,
        };
        let _ = with_style(Style::new(), || write!(pen, "{text}"));
        pen.set_style(Style::new());
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Writer that sanitizes text and emits the escape sequences of styles.
struct SanitizingWriter<'a> {
    out: &'a mut String,
    start: usize,
    /// The style the terminal is currently in.
    style: Style,
    keeps_breaks: bool,
    /// A line break is pending; it becomes a space if text follows.
    broke: bool,
}

impl SanitizingWriter<'_> {
    fn set_style(&mut self, style: Style) {
        // Only on a change: a sequence per piece would double the size of a coloured tree.
        if style != self.style {
            let _ = write!(self.out, "{:#}{style}", self.style);
            self.style = style;
        }
    }

    fn push_printable(&mut self, text: &str) {
        if self.broke && !text.is_empty() {
            self.broke = false;
            if self.out.len() > self.start {
                self.out.push(' ');
            }
        }
        self.out.push_str(text);
    }
}

impl fmt::Write for SanitizingWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.is_empty() {
            return Ok(());
        }
        self.set_style(STYLE.get().unwrap_or_default());
        // Fast path: nearly all output is printable ASCII.
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            self.push_printable(text);
            return Ok(());
        }
        let mut rest = text;
        while let Some((clean, c, after)) = split_at_unprintable(rest) {
            self.push_printable(clean);
            match c {
                // Tabs are harmless and appear in code; every other control character is dropped.
                '\t' => self.push_printable("\t"),
                '\n' if self.keeps_breaks => self.out.push('\n'),
                '\n' => self.broke = true,
                _ => {}
            }
            rest = after;
        }
        self.push_printable(rest);
        Ok(())
    }
}

fn split_at_unprintable(text: &str) -> Option<(&str, char, &str)> {
    let (at, c) = text.char_indices().find(|(_, c)| is_unprintable(*c))?;
    let (clean, rest) = text.split_at(at);
    Some((clean, c, rest.strip_prefix(c)?))
}

/// Returns the text as one sanitized line, for a progress bar that prints it itself.
pub(crate) fn sanitize_to_line(text: &str) -> String {
    let mut line = Rendered::new();
    line.push_sanitized(text, false);
    line.0
}

/// Escapes everything in JSON that a terminal would act on. `serde_json` escapes C0 controls only;
/// other unprintable characters can only be inside a string, where the escape means the same.
pub(crate) fn sanitize_json(json: String) -> String {
    // Most output is plain ASCII. A chunk is always read to its end, which makes the loop vectorised: one that stops
    // at the first other byte, as decoding does, makes `tl tree --json` of 10,000 nodes a tenth slower.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n');
    let mut chunks = json.as_bytes().chunks(4_096);
    if chunks.all(|chunk| chunk.iter().fold(true, |all, byte| all & is_plain(*byte))) {
        return json;
    }
    let is_harmful = |c: char| !c.is_ascii_whitespace() && is_unprintable(c);
    if !json.chars().any(is_harmful) {
        return json;
    }
    let mut clean = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_harmful(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(clean, "\\u{unit:04x}");
            }
        } else {
            clean.push(c);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOLD: Style = Style::new().bold();
    const EVIL: &str = "a\u{1b}]0;PWNED\u{7}\u{9b}31m\u{202e}b\u{200b}c\r\u{8}d\u{7f}\u{e0041}";

    fn rendered(text: impl Display) -> String {
        let mut out = Rendered::new();
        out.push_line(text);
        out.0
    }

    #[test]
    fn unprintable_characters_are_removed_inside_and_outside_of_styles() {
        assert_eq!(rendered(EVIL), "a]0;PWNED31mbcd\n");
        assert_eq!(
            rendered(format_args!("{} {EVIL}", styled(BOLD, EVIL))),
            "\u{1b}[1ma]0;PWNED31mbcd\u{1b}[0m a]0;PWNED31mbcd\n"
        );
    }

    #[test]
    fn line_breaks_in_a_line_become_spaces_and_stay_in_a_text() {
        assert_eq!(rendered("\none\r\ntwo\n\n"), "one two\n");
        let mut out = Rendered::new();
        out.push_text("one\r\n\ttwo\n");
        assert_eq!(out.0, "one\n\ttwo\n");
    }

    #[test]
    fn a_line_keeps_styles_and_inherits_the_one_around_it() {
        let line = styled_line!("{}:{}", styled(BOLD, "a"), styled(Style::new(), "b"));
        assert_eq!(rendered(&line), "\u{1b}[1ma\u{1b}[0m:b\n");
        assert_eq!(
            rendered(styled(
                BOLD.italic(),
                styled_line!("{}c", styled_line!("b"))
            )),
            "\u{1b}[1m\u{1b}[3mbc\u{1b}[0m\n"
        );
    }

    #[test]
    fn padding_counts_the_text_without_its_style() {
        assert_eq!(
            rendered(format_args!("{:<4}|", styled(BOLD, "ab"))),
            "\u{1b}[1mab  \u{1b}[0m|\n"
        );
    }

    #[test]
    fn json_stays_the_same_value_without_unprintable_characters() {
        let value = serde_json::json!({ "title": EVIL, "ok": "é ✓" });
        let json = sanitize_json(serde_json::to_string_pretty(&value).expect("a value is JSON"));
        assert!(
            json.chars().all(|c| c == '\n' || !is_unprintable(c)),
            "{json:?}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&json).expect("it is JSON"),
            value
        );
    }
}
