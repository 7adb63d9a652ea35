//! URLs of pages, percent-encoded.

/// Returns the URL of a node's page.
pub(crate) fn node_url(path: &str) -> String {
    format!("/nodes/{}", encode_path(path))
}

/// Returns the URL of the page with the plans of a subtree that wait; all of them without a path.
pub(crate) fn decide_url(top: &str) -> String {
    match top {
        "" => "/decide".to_owned(),
        path => format!("/decide/{}", encode_path(path)),
    }
}

/// Encodes a node's path, keeping its slashes.
pub(crate) fn encode_path(path: &str) -> String {
    percent_encode(path, b"/")
}

/// Encodes a value of a query string.
pub(crate) fn encode_query_value(text: &str) -> String {
    percent_encode(text, b"")
}

fn percent_encode(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        // The unreserved characters of RFC 3986; everything else is encoded.
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
        assert_eq!(node_url("act-1/chapter-02"), "/nodes/act-1/chapter-02");
        assert_eq!(node_url("a b?c#d"), "/nodes/a%20b%3Fc%23d");
        assert_eq!(encode_query_value("ä&b=c/d"), "%C3%A4%26b%3Dc%2Fd");
    }
}
