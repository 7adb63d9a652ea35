//! RTF reader: paragraphs with emphasis, as Scrivener and word processors write them.
//!
//! Never fails: RTF is a stream of control words, and what is not known is skipped. Groups nest without
//! recursion, so no input overflows the stack.

use encoding_rs::Encoding;

use super::rich_text::RichParagraph;

/// Groups whose text is not part of the document.
const SKIPPED_GROUPS: &[&str] = &[
    "fonttbl",
    "colortbl",
    "stylesheet",
    "info",
    "pict",
    "header",
    "headerl",
    "headerr",
    "headerf",
    "footer",
    "footerl",
    "footerr",
    "footerf",
    "footnote",
    "annotation",
    "listtable",
    "listoverridetable",
    "object",
    "themedata",
    "xmlnstbl",
    "fldinst",
    "generator",
];
/// Deeper groups are read as if they were not there.
const MAX_GROUPS: usize = 1_000;

#[derive(Clone, Copy, Debug)]
struct GroupState {
    is_italic: bool,
    is_bold: bool,
    is_skipped: bool,
    /// Number of fallback characters after `\u`.
    fallback: usize,
}

struct RtfReader {
    paragraphs: Vec<RichParagraph>,
    current: RichParagraph,
    stack: Vec<GroupState>,
    /// Number of open groups beyond the limit of the stack.
    unstacked: usize,
    state: GroupState,
    encoding: &'static Encoding,
    /// Bytes of `\'hh`, which may be halves of a letter.
    bytes: Vec<u8>,
    /// UTF-16 units of `\u`, which may be halves of a letter.
    units: Vec<u16>,
    /// Fallback characters that are still to be skipped.
    skip: usize,
    /// Whether the group has begun with `\*`.
    is_optional: bool,
}

/// Reads the paragraphs of an RTF text.
pub(super) fn read_rtf(bytes: &[u8]) -> Vec<RichParagraph> {
    let mut reader = RtfReader {
        paragraphs: Vec::new(),
        current: RichParagraph::default(),
        stack: Vec::new(),
        unstacked: 0,
        state: GroupState {
            is_italic: false,
            is_bold: false,
            is_skipped: false,
            // The specification's default of `\uc`.
            fallback: 1,
        },
        encoding: encoding_rs::WINDOWS_1252,
        bytes: Vec::new(),
        units: Vec::new(),
        skip: 0,
        is_optional: false,
    };
    reader.read_all(bytes);
    reader.end_paragraph();
    reader.paragraphs
}

impl RtfReader {
    fn read_all(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            match first {
                b'{' => self.open_group(),
                b'}' => self.close_group(),
                b'\\' => rest = self.read_control(rest),
                // Line breaks of the file mean nothing in RTF; `\par` ends a paragraph.
                b'\r' | b'\n' => {}
                byte => self.push_byte(*byte),
            }
        }
    }

    fn open_group(&mut self) {
        // Before the state changes: collected letters belong to the formatting in force until now.
        self.flush();
        if self.stack.len() < MAX_GROUPS {
            self.stack.push(self.state);
        } else {
            self.unstacked += 1;
        }
    }

    fn close_group(&mut self) {
        self.flush();
        self.is_optional = false;
        // Ends of groups beyond the limit: the state of an outer group must not end with them.
        if self.unstacked > 0 {
            self.unstacked -= 1;
        } else if let Some(state) = self.stack.pop() {
            self.state = state;
        }
    }

    /// Reads a control word or symbol after its backslash; returns what follows it.
    fn read_control<'b>(&mut self, rest: &'b [u8]) -> &'b [u8] {
        let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic());
        let (word, after) = rest.split_at(letters.count());
        if word.is_empty() {
            return self.read_symbol(rest);
        }
        let is_negative = after.first() == Some(&b'-');
        let after = after.get(usize::from(is_negative)..).unwrap_or_default();
        let digits = after
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (digits, after) = after.split_at(digits);
        let number = std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| digits.parse::<i64>().ok());
        let number = number.map(|number| if is_negative { -number } else { number });
        let word = String::from_utf8_lossy(word);
        self.apply_word(&word, number);
        // One space belongs to the control word.
        after.strip_prefix(b" ").unwrap_or(after)
    }

    fn read_symbol<'b>(&mut self, rest: &'b [u8]) -> &'b [u8] {
        let Some((symbol, after)) = rest.split_first() else {
            return rest;
        };
        match symbol {
            b'\'' => {
                let (digits, after) = after.split_at(after.len().min(2));
                let value = std::str::from_utf8(digits)
                    .ok()
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok());
                if let Some(value) = value {
                    self.push_encoded(value);
                }
                return after;
            }
            // `{\*\word`: a group that a reader may skip if it does not know the word.
            b'*' => self.is_optional = true,
            b'~' => self.push_str("\u{a0}"),
            b'_' => self.push_str("\u{2011}"),
            // A line end after a backslash is a paragraph's end.
            b'\n' | b'\r' => self.end_paragraph(),
            b'\\' | b'{' | b'}' => self.push_byte(*symbol),
            _ => {}
        }
        after
    }

    fn apply_word(&mut self, word: &str, number: Option<i64>) {
        // Consecutive `\u` may be the halves of one letter beyond the basic plane.
        self.flush_unless(word == "u");
        let is_on = number != Some(0);
        if self.is_optional || SKIPPED_GROUPS.contains(&word) {
            self.state.is_skipped = true;
            self.is_optional = false;
        }
        match word {
            "par" | "sect" | "page" => self.end_paragraph(),
            "line" => self.push_str("\n"),
            "tab" => self.push_str(" "),
            "i" => self.state.is_italic = is_on,
            "b" => self.state.is_bold = is_on,
            "plain" => (self.state.is_italic, self.state.is_bold) = (false, false),
            "emdash" => self.push_str("—"),
            "endash" => self.push_str("–"),
            "lquote" => self.push_str("‘"),
            "rquote" => self.push_str("’"),
            "ldblquote" => self.push_str("“"),
            "rdblquote" => self.push_str("”"),
            "bullet" => self.push_str("•"),
            "ansicpg" => self.encoding = encoding_of_code_page(number.unwrap_or(1252)),
            "mac" => self.encoding = encoding_rs::MACINTOSH,
            "uc" => {
                let count = number.and_then(|number| usize::try_from(number).ok());
                // A damaged or hostile count must not swallow the rest of the text.
                self.state.fallback = count.unwrap_or(1).min(16);
            }
            "u" => self.push_unit(number.unwrap_or_default()),
            _ => {}
        }
    }

    fn push_unit(&mut self, number: i64) {
        if self.state.is_skipped {
            return;
        }
        // Written as a signed 16-bit number.
        let unit = u16::try_from(number.rem_euclid(65_536)).unwrap_or(0xfffd);
        self.flush_bytes();
        self.units.push(unit);
        self.skip = self.state.fallback;
    }

    /// Adds a byte of `\'hh`.
    fn push_encoded(&mut self, byte: u8) {
        // A fallback for readers without Unicode; the letter was read from `\u`.
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.flush_units();
        if !self.state.is_skipped {
            self.bytes.push(byte);
        }
    }

    fn push_byte(&mut self, byte: u8) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.flush_units();
        // Bytes above ASCII are in the code page too, although they should be escaped.
        if !self.state.is_skipped {
            self.bytes.push(byte);
        }
    }

    fn push_str(&mut self, text: &str) {
        self.flush();
        if !self.state.is_skipped {
            self.current
                .push_text(text, self.state.is_italic, self.state.is_bold);
        }
    }

    fn flush_unless(&mut self, is_unit: bool) {
        if is_unit {
            self.flush_bytes();
        } else {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.flush_bytes();
        self.flush_units();
        // A fallback ends with its group or at the next control word, even if it is shorter than
        // announced.
        self.skip = 0;
    }

    fn flush_bytes(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        // Decoded together: in Asian code pages a letter has two bytes, each its own `\'hh`.
        let (text, _) = self.encoding.decode_without_bom_handling(&bytes);
        self.current
            .push_text(&text, self.state.is_italic, self.state.is_bold);
    }

    fn flush_units(&mut self) {
        if self.units.is_empty() {
            return;
        }
        let text = String::from_utf16_lossy(&std::mem::take(&mut self.units));
        self.current
            .push_text(&text, self.state.is_italic, self.state.is_bold);
    }

    fn end_paragraph(&mut self) {
        self.flush();
        if self.state.is_skipped {
            return;
        }
        let mut paragraph = std::mem::take(&mut self.current);
        for run in &mut paragraph.runs {
            run.text = strip_scrivener_tags(&run.text);
        }
        self.paragraphs.push(paragraph);
    }
}

fn encoding_of_code_page(page: i64) -> &'static Encoding {
    let label = match page {
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        10000 => "macintosh".to_owned(),
        65001 => "utf-8".to_owned(),
        page => format!("windows-{page}"),
    };
    // A page that is not known is read as the default one: a wrong accent is better than a refused
    // manuscript.
    Encoding::for_label(label.as_bytes()).unwrap_or(encoding_rs::WINDOWS_1252)
}

/// Removes `<$Scr_Ps::0>` and `<!$Scr_Ps::0>`, Scrivener's own marks in the text.
fn strip_scrivener_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let is_tag = tag.starts_with("<$Scr_") || tag.starts_with("<!$Scr_");
        match tag.find('>').filter(|_| is_tag) {
            Some(end) => rest = tag.get(end + 1..).unwrap_or_default(),
            None => {
                out.push('<');
                rest = tag.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rtf: &str) -> Vec<String> {
        let paragraphs = read_rtf(rtf.as_bytes());
        let markdown = paragraphs.iter().map(RichParagraph::to_markdown);
        markdown.filter(|line| !line.is_empty()).collect()
    }

    #[test]
    fn text_emphasis_and_letters_are_read() {
        let rtf = r"{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0 Palatino;}}{\*\generator x;}\pard <$Scr_Ps::0>She said {\i never}, \'93no\'94 \u8212?\~then.\par Caf\'e9\line and \b bold\b0 .<!$Scr_Ps::0>\par}";
        assert_eq!(
            lines(rtf),
            [
                "She said *never*, “no” —\u{a0}then.",
                "Café  \nand **bold**."
            ]
        );
    }

    #[test]
    fn other_code_pages_and_surrogates_are_decoded() {
        assert_eq!(lines(r"{\rtf1\ansicpg1251 \'cc\'e0\'f0\'e0\par}"), ["Мара"]);
        assert_eq!(lines(r"{\rtf1\uc1\u-10179?\u-8704? ok\par}"), ["😀 ok"]);
    }

    #[test]
    fn damaged_and_deep_groups_end() {
        let deep = format!("{{\\rtf1 {}text", "{".repeat(200_000));
        assert_eq!(lines(&deep), ["text"]);
        // What is beyond the limit does not end the bold group around it.
        let nested = format!(
            "{{\\rtf1 {{\\b {}{}bold}} plain",
            "{".repeat(300),
            "}".repeat(300)
        );
        assert_eq!(lines(&nested), ["**bold** plain"]);
        assert_eq!(lines("}}}{\\"), Vec::<String>::new());
        assert_eq!(lines("\\'z"), Vec::<String>::new());
    }
}
