//! The HTML of our own pages as a tree: parsed, filtered, and written again.
//!
//! It reads what `maud` and the Markdown renderer write, which is well-formed; it is no parser for HTML
//! of others.

/// A node of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HtmlNode {
    /// Text, without entities.
    Text(String),
    Element(HtmlElement),
}

/// An element with its attributes and content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HtmlElement {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<HtmlNode>,
}

/// Elements without an end tag.
const VOID: &[&str] = &["br", "hr", "img", "input", "meta", "link", "wbr", "col"];
/// Elements that only work on the page.
const CONTROLS: &[&str] = &[
    "form", "button", "input", "select", "textarea", "datalist", "label", "script", "style",
    "dialog", "progress", "tl-live",
];
/// Classes of what only works on the page, or is for readers of the screen alone.
const CONTROL_CLASSES: &[&str] = &[
    "hidden",
    "on-page",
    "toast",
    "decision-bar",
    "plan-actions",
    "keys",
    "filters",
    "chips",
    "actions",
    "buttons",
    "steps",
    "dialog",
    "move-menu",
    "fold",
    "move",
    "back",
    "all",
    "news",
    "answer",
];

impl HtmlElement {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(super) fn has_class(&self, class: &str) -> bool {
        let classes = self.attribute("class").unwrap_or_default();
        classes.split_whitespace().any(|one| one == class)
    }

    fn is_control(&self) -> bool {
        let is_navigation = self.name == "nav" && !self.has_class("lineage");
        is_navigation
            || CONTROLS.contains(&self.name.as_str())
            || CONTROL_CLASSES.iter().any(|class| self.has_class(class))
            || self.attribute("popover").is_some()
    }
}

/// Parses the content of a page.
pub(super) fn parse_document(html: &str) -> Vec<HtmlNode> {
    let mut open: Vec<HtmlElement> = vec![HtmlElement::default()];
    let mut rest = html;
    while let Some((text, after)) = rest.split_once('<') {
        push_text(&mut open, text);
        let (tag, next) = split_tag(after);
        rest = next;
        if tag.starts_with('!') {
            continue;
        }
        match tag.strip_prefix('/') {
            Some(name) => close_element(&mut open, name.trim()),
            None => {
                let element = parse_tag(tag);
                let is_void = VOID.contains(&element.name.as_str()) || tag.ends_with('/');
                match is_void {
                    true => push_node(&mut open, HtmlNode::Element(element)),
                    false => open.push(element),
                }
            }
        }
    }
    push_text(&mut open, rest);
    while open.len() > 1 {
        let name = open.last().map(|one| one.name.clone()).unwrap_or_default();
        close_element(&mut open, &name);
    }
    open.pop().map(|root| root.children).unwrap_or_default()
}

/// Splits at the end of a tag; `>` may be in a quoted value.
fn split_tag(text: &str) -> (&str, &str) {
    let mut is_quoted = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'>' if !is_quoted => {
                return (
                    text.get(..at).unwrap_or_default(),
                    text.get(at + 1..).unwrap_or_default(),
                );
            }
            _ => {}
        }
    }
    (text, "")
}

fn parse_tag(tag: &str) -> HtmlElement {
    let tag = tag.trim_end_matches('/').trim();
    let (name, mut rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let mut attributes = Vec::new();
    while let Some(start) = rest.find(|one: char| !one.is_whitespace()) {
        rest = rest.get(start..).unwrap_or_default();
        let end = rest.find(|one: char| one.is_whitespace() || one == '=');
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        let value = after
            .strip_prefix("=\"")
            .and_then(|value| value.split_once('"'));
        match value {
            Some((value, next)) => {
                attributes.push((name.to_owned(), unescape(value)));
                rest = next;
            }
            None => {
                attributes.push((name.to_owned(), String::new()));
                rest = after.strip_prefix('=').unwrap_or(after);
            }
        }
    }
    HtmlElement {
        name: name.to_ascii_lowercase(),
        attributes,
        children: Vec::new(),
    }
}

fn push_text(open: &mut [HtmlElement], text: &str) {
    if !text.is_empty() {
        push_node(open, HtmlNode::Text(unescape(text)));
    }
}

fn push_node(open: &mut [HtmlElement], node: HtmlNode) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(node);
    }
}

/// Ends the innermost open element of this name; an end without a beginning is ignored.
fn close_element(open: &mut Vec<HtmlElement>, name: &str) {
    let Some(at) = open.iter().skip(1).rposition(|one| one.name == name) else {
        return;
    };
    while open.len() > at + 1 {
        if let Some(element) = open.pop() {
            push_node(open, HtmlNode::Element(element));
        }
    }
}

fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&amp;", "&")
}

/// Leaves out what only works on the page, and makes addresses absolute.
pub(super) fn keep_content(nodes: Vec<HtmlNode>, base: &str) -> Vec<HtmlNode> {
    let kept = nodes.into_iter().filter_map(|node| match node {
        HtmlNode::Element(element) if element.is_control() => None,
        HtmlNode::Element(mut element) => {
            for (name, value) in &mut element.attributes {
                if (name == "href" || name == "src") && value.starts_with('/') {
                    value.insert_str(0, base);
                }
            }
            element.children = keep_content(element.children, base);
            Some(HtmlNode::Element(element))
        }
        text => Some(text),
    });
    kept.collect()
}

/// Writes nodes as HTML.
pub(super) fn write_html(nodes: &[HtmlNode], out: &mut String) {
    for node in nodes {
        match node {
            HtmlNode::Text(text) => out.push_str(&escape(text)),
            HtmlNode::Element(element) => {
                out.push('<');
                out.push_str(&element.name);
                for (name, value) in &element.attributes {
                    out.push(' ');
                    out.push_str(name);
                    // In a document there is nothing to fold: what was closed is open.
                    if !value.is_empty() {
                        out.push_str("=\"");
                        out.push_str(&escape(value));
                        out.push('"');
                    }
                }
                if element.name == "details" && element.attribute("open").is_none() {
                    out.push_str(" open");
                }
                out.push('>');
                if !VOID.contains(&element.name.as_str()) {
                    write_html(&element.children, out);
                    out.push_str("</");
                    out.push_str(&element.name);
                    out.push('>');
                }
            }
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
