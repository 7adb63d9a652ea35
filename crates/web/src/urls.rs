//! URLs of pages, percent-encoded.

/// Returns the URL of a node's page.
pub(crate) fn node_url(path: &str) -> String {
    format!("/nodes/{}", encode_path(path))
}

/// Returns the URL of the change of a node's text since a version.
pub(crate) fn change_url(path: &str, version: &str) -> String {
    let page = with_query(&node_url(path), &[("version", version)]);
    format!("{page}#versions")
}

/// Returns the URL of the page that edits the text of a node.
pub(crate) fn edit_url(path: &str) -> String {
    format!("/edit/{}", encode_path(path))
}

/// Returns the URL of the page with the plans of a subtree that wait; all of them without a path.
pub(crate) fn decide_url(top: &str) -> String {
    match top {
        "" => "/decide".to_owned(),
        path => format!("/decide/{}", encode_path(path)),
    }
}

/// Returns the URL of the page with a change of a node's shape: `move`, `split` …
pub(crate) fn shape_url(change: &str, path: &str) -> String {
    with_query(&format!("/shape/{change}"), &[("node", path)])
}

/// Returns an address with the parameters that have a value.
pub(crate) fn with_query(page: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> = given
        .map(|(name, value)| format!("{name}={}", encode_query_value(value)))
        .collect();
    match pairs.is_empty() {
        true => page.to_owned(),
        false => format!("{page}?{}", pairs.join("&")),
    }
}

/// Returns the URL of the inbox with a plan open.
pub(crate) fn inbox_url(plan: &str) -> String {
    match plan {
        "" => "/".to_owned(),
        path => format!("/?plan={}", encode_query_value(path)),
    }
}

/// Returns an address with another query parameter.
pub(crate) fn add_parameter(address: &str, name: &str, value: &str) -> String {
    let joint = if address.contains('?') { '&' } else { '?' };
    // The fragment comes last in an address.
    let (page, fragment) = match address.split_once('#') {
        Some((page, fragment)) => (page, format!("#{fragment}")),
        None => (address, String::new()),
    };
    format!(
        "{page}{joint}{name}={}{fragment}",
        encode_query_value(value)
    )
}

/// Returns an address without the report of an action.
pub(crate) fn without_report(address: &str) -> String {
    let Some((page, query)) = address.split_once('?') else {
        return address.to_owned();
    };
    // Only what `add_parameter` puts there; the filters of the page stay.
    let is_report = |pair: &&str| !pair.starts_with("done=") && !pair.starts_with("operation=");
    let kept: Vec<&str> = query.split('&').filter(is_report).collect();
    match kept.is_empty() {
        true => page.to_owned(),
        false => format!("{page}?{}", kept.join("&")),
    }
}

/// Returns an address of a form as one of this server.
pub(crate) fn local_address(address: &str) -> String {
    // One slash only: `//host` would be another server, and browsers read a backslash as a slash.
    format!("/{}", address.trim_start_matches(['/', '\\']))
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
    fn the_report_of_an_action_is_added_and_removed() {
        let reported = add_parameter("/?plan=act-1", "done", "approved");
        assert_eq!(reported, "/?plan=act-1&done=approved");
        assert_eq!(without_report(&reported), "/?plan=act-1");
        assert_eq!(without_report("/tree?done=undone&operation=3"), "/tree");
        assert_eq!(
            add_parameter("/nodes/a#c", "done", "x"),
            "/nodes/a?done=x#c"
        );
        assert_eq!(local_address("//evil.example/"), "/evil.example/");
    }

    #[test]
    fn nothing_in_a_name_changes_the_address() {
        assert_eq!(node_url("act-1/chapter-02"), "/nodes/act-1/chapter-02");
        assert_eq!(node_url("a b?c#d"), "/nodes/a%20b%3Fc%23d");
        assert_eq!(encode_query_value("ä&b=c/d"), "%C3%A4%26b%3Dc%2Fd");
        assert_eq!(
            with_query("/tree", &[("text", ""), ("phase", "a&b"), ("fold", "1")]),
            "/tree?phase=a%26b&fold=1"
        );
        assert_eq!(with_query("/tree", &[("text", "")]), "/tree");
    }
}
