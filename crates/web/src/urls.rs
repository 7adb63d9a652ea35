//! Addresses of pages.

/// Returns a path of a node as part of an address.
pub(crate) fn node(path: &str) -> String {
    format!("/nodes/{}", self::path(path))
}

/// Returns a path of a node as the end of an address.
pub(crate) fn path(path: &str) -> String {
    encoded(path, b"/")
}

/// Returns a value of a query.
pub(crate) fn value(text: &str) -> String {
    encoded(text, b"")
}

fn encoded(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_changes_the_address() {
        assert_eq!(node("act-1/chapter-02"), "/nodes/act-1/chapter-02");
        assert_eq!(node("a b?c#d"), "/nodes/a%20b%3Fc%23d");
        assert_eq!(value("ä&b=c/d"), "%C3%A4%26b%3Dc%2Fd");
    }
}
