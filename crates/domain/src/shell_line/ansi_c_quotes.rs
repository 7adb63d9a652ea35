//! Decodes `$'…'`, the quotes of bash and zsh in which escapes stand for characters.
//!
//! Without decoding, `tl $'\x68ook'` would not be recognised as a call of `tl hook`.

/// Decodes what follows `$'`, and returns the text and the number of characters up to and with the
/// closing quote; `None` when there is none.
pub(super) fn decode_ansi_c_quotes(source: &[char]) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut at = 0;
    loop {
        let c = *source.get(at)?;
        at += 1;
        match c {
            '\'' => return Some((text, at)),
            '\\' => at += decode_escape(source.get(at..)?, &mut text)?,
            c => text.push(c),
        }
    }
}

/// Decodes what follows a backslash, and returns the number of characters it has.
fn decode_escape(source: &[char], text: &mut String) -> Option<usize> {
    let first = *source.first()?;
    let decoded = match first {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '?' => first,
        '0'..='7' => return Some(push_code(source, 8, 3, text)),
        'x' => return Some(1 + push_code(source.get(1..)?, 16, 2, text)),
        'u' => return Some(1 + push_code(source.get(1..)?, 16, 4, text)),
        'U' => return Some(1 + push_code(source.get(1..)?, 16, 8, text)),
        'c' => {
            let control = u32::from(*source.get(1)?) & 0x1f;
            text.extend(char::from_u32(control));
            return Some(2);
        }
        // An unknown escape keeps its backslash.
        other => {
            text.push('\\');
            other
        }
    };
    text.push(decoded);
    Some(1)
}

/// Appends the character with the code in the next digits, and returns how many digits it has.
fn push_code(source: &[char], radix: u32, max_digits: usize, text: &mut String) -> usize {
    let digits: Vec<u32> = source
        .iter()
        .take(max_digits)
        .map_while(|c| c.to_digit(radix))
        .collect();
    // At most eight hexadecimal digits: the number fits.
    let code = digits.iter().fold(0, |code, digit| code * radix + digit);
    text.extend(char::from_u32(code));
    digits.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(source: &str) -> Option<(String, usize)> {
        decode_ansi_c_quotes(&source.chars().collect::<Vec<char>>())
    }

    #[test]
    fn escapes_stand_for_characters() {
        for (source, text) in [
            ("hook'", "hook"),
            (r"\x68ook'", "hook"),
            (r"\150\157ok'", "hook"),
            (r"\u0068\U00000068'", "hh"),
            (r"it\'s'", "it's"),
            (r"a\n\t\\b'", "a\n\t\\b"),
            (r"\q'", r"\q"),
            (r"\cA'", "\u{1}"),
        ] {
            let length = source.chars().count();
            assert_eq!(decode(source), Some((text.to_owned(), length)), "{source}");
        }
        assert_eq!(decode("open"), None);
        assert_eq!(decode("open\\"), None);
        assert_eq!(decode(r"\UFFFFFFFF'"), Some((String::new(), 11)));
    }
}
