//! XML of manuscripts, with limits. A document type declaration is refused, and with it every entity
//! that could expand or be fetched.

use roxmltree::{Document, Node, ParsingOptions};

use super::ManuscriptRefused;

/// Maximum number of XML nodes: ten times a very long novel in DOCX.
const MAX_XML_NODES: u32 = 4_000_000;
/// Maximum nesting; our readers recurse.
const MAX_XML_DEPTH: usize = 256;

/// Parses a file of a manuscript.
pub(super) fn parse_xml<'t>(file: &str, text: &'t str) -> Result<Document<'t>, ManuscriptRefused> {
    let refuse = |why: String| ManuscriptRefused::Damaged {
        file: file.to_owned(),
        why,
    };
    refuse_deep_nesting(text).map_err(refuse)?;
    let options = ParsingOptions {
        nodes_limit: MAX_XML_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| refuse(error.to_string()))
}

/// Refuses deep nesting before the parser sees it, by counting tags.
fn refuse_deep_nesting(text: &str) -> Result<(), String> {
    let mut depth: usize = 0;
    for piece in text.split('<').skip(1) {
        match piece.as_bytes().first() {
            Some(b'/') => depth = depth.saturating_sub(1),
            Some(b'?' | b'!') | None => {}
            // Only an approximation: a `>` inside an attribute. It can count too much, never too little.
            Some(_)
                if piece
                    .split('>')
                    .next()
                    .is_some_and(|tag| tag.ends_with('/')) => {}
            Some(_) => depth += 1,
        }
        if depth > MAX_XML_DEPTH {
            return Err(format!(
                "its elements are nested more than {MAX_XML_DEPTH} deep"
            ));
        }
    }
    Ok(())
}

/// Returns the child elements with a name, whatever the namespace.
pub(super) fn children_named<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children()
        .filter(move |child| child.tag_name().name() == name)
}

/// Returns the first child element with a name.
pub(super) fn child_named<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    children_named(node, name).next()
}

/// Returns the trimmed text of a child element.
pub(super) fn child_text(node: Node<'_, '_>, name: &'static str) -> Option<String> {
    let text = child_named(node, name)?.text()?.trim().to_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// Returns an attribute by its local name.
pub(super) fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.attributes()
        .find(|attribute| attribute.name() == name)
        .map(|attribute| attribute.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_and_deep_nesting_are_refused() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;&b;\">]><a>&c;</a>";
        let refused = parse_xml("a.xml", bomb).unwrap_err().to_string();
        assert!(refused.contains("DTD"), "{refused}");
        let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        let refused = parse_xml("a.xml", &deep).unwrap_err().to_string();
        assert!(refused.contains("nested"), "{refused}");
        assert!(parse_xml("a.xml", "<a><b/><b x='>'/></a>").is_ok());
    }
}
