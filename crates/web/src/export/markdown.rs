//! HTML of our own pages as Markdown.

use super::html_tree::{HtmlElement, HtmlNode};

/// Elements that are part of a line; all others begin a block.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "br", "code", "del", "em", "i", "img", "ins", "kbd", "mark", "s", "small",
    "span", "strong", "sub", "sup", "time", "wbr",
];

/// Renders nodes as a Markdown document.
pub(super) fn render_markdown_document(nodes: &[HtmlNode]) -> String {
    let blocks = render_blocks(nodes);
    let mut text = blocks.join("\n\n");
    text.push('\n');
    text
}

fn is_inline(node: &HtmlNode) -> bool {
    match node {
        HtmlNode::Text(_) => true,
        HtmlNode::Element(element) => INLINE.contains(&element.name.as_str()),
    }
}

/// Renders nodes as blocks; neighbouring inline nodes are one paragraph.
fn render_blocks(nodes: &[HtmlNode]) -> Vec<String> {
    let mut blocks = Vec::new();
    for group in nodes.chunk_by(|one, other| is_inline(one) && is_inline(other)) {
        match group {
            [HtmlNode::Element(element)] if !is_inline(&group[0]) => {
                blocks.extend(render_block(element));
            }
            inline => blocks.push(render_line(inline)),
        }
    }
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

fn render_block(element: &HtmlElement) -> Vec<String> {
    let children = &element.children;
    let one = |text: String| vec![text];
    match element.name.as_str() {
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
            let level = element
                .name
                .as_bytes()
                .get(1)
                .copied()
                .map_or(1, |digit| digit - b'0');
            let text = render_line(children);
            match text.is_empty() {
                true => Vec::new(),
                false => one(format!("{} {text}", "#".repeat(usize::from(level)))),
            }
        }
        "ul" => one(render_list(children, |_| "- ".to_owned())),
        "ol" => one(render_list(children, |at| format!("{}. ", at + 1))),
        "pre" => one(render_code(element)),
        "blockquote" => one(prefix_lines(&render_blocks(children).join("\n\n"), "> ")),
        "hr" => one("---".to_owned()),
        "table" => one(render_table(element)),
        "dl" => one(render_terms(children)),
        "summary" | "figcaption" | "caption" => one(format!("**{}**", render_line(children))),
        "svg" => one(render_drawing(children)),
        "div" if element.has_class("diff") => one(render_difference(children)),
        // The places above the page are one line.
        "nav" if element.has_class("lineage") => one(render_lineage(children)),
        "div" if element.has_class("footnote-definition") => one(render_footnote(children)),
        // The columns of a board are beside each other there, and below each other here.
        "div" if element.has_class("column-head") => Vec::new(),
        "div" if element.has_class("cell") => render_cell(element),
        _ => render_blocks(children),
    }
}

/// Renders the places above a page as one line.
fn render_lineage(children: &[HtmlNode]) -> String {
    let places = list_elements(children, "li");
    let places: Vec<String> = places.iter().map(|it| render_line(&it.children)).collect();
    places.join(" / ")
}

/// Renders a cell of a board below the name of its column.
fn render_cell(cell: &HtmlElement) -> Vec<String> {
    let mut blocks = render_blocks(&cell.children);
    if let (false, Some(column)) = (blocks.is_empty(), cell.attribute("data-label")) {
        blocks.insert(0, format!("**{column}**"));
    }
    blocks
}

fn render_footnote(children: &[HtmlNode]) -> String {
    let is_label = |node: &HtmlNode| matches!(node, HtmlNode::Element(it) if it.name == "sup");
    let (label, text): (Vec<&HtmlNode>, Vec<&HtmlNode>) =
        children.iter().partition(|node| is_label(node));
    let label: Vec<HtmlNode> = label.into_iter().cloned().collect();
    let text: Vec<HtmlNode> = text.into_iter().cloned().collect();
    let text = render_blocks(&text).join("\n\n").replace('\n', "\n    ");
    format!("[^{}]: {text}", plain_text(&label).trim())
}

/// Renders inline nodes as one line, with white space collapsed.
fn render_line(nodes: &[HtmlNode]) -> String {
    let mut out = String::new();
    nodes.iter().for_each(|node| write_inline(node, &mut out));
    let lines = out.split('\u{2028}').map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ")
    });
    let lines: Vec<String> = lines.collect();
    lines.join("  \n").trim().to_owned()
}

fn write_inline(node: &HtmlNode, out: &mut String) {
    let element = match node {
        HtmlNode::Text(text) => return escape_into(text, out),
        HtmlNode::Element(element) => element,
    };
    let wrapped = |mark: &str, out: &mut String| {
        let text = render_line(&element.children);
        if !text.is_empty() {
            out.push_str(&format!("{mark}{text}{mark}"));
        }
    };
    match element.name.as_str() {
        // A character that no text of a plan has, for a line end that is meant.
        "br" => out.push('\u{2028}'),
        "strong" | "b" => wrapped("**", out),
        "em" | "i" => wrapped("*", out),
        "del" | "s" => wrapped("~~", out),
        "code" | "kbd" => {
            let text = plain_text(&element.children);
            let mark = if text.contains('`') { "``" } else { "`" };
            out.push_str(&format!("{mark}{text}{mark}"));
        }
        // The box of a task; as text it would be an ordinary item of the list.
        "span" if element.attribute("role") == Some("img") => {
            match element.attribute("aria-label") {
                Some("open") => out.push_str("[ ]"),
                Some("done") => out.push_str("[x]"),
                _ => out.push_str(&plain_text(&element.children)),
            }
        }
        "sup" if element.has_class("footnote-reference") => {
            out.push_str(&format!("[^{}]", plain_text(&element.children).trim()));
        }
        "img" => {
            let (words, address) = (element.attribute("alt"), element.attribute("src"));
            out.push_str(&format!(
                "![{}]({})",
                words.unwrap_or_default(),
                address.unwrap_or_default()
            ));
        }
        "a" => {
            let text = render_line(&element.children);
            match element.attribute("href") {
                Some(address) if !text.is_empty() => {
                    out.push_str(&format!("[{text}]({address})"));
                }
                _ => out.push_str(&text),
            }
        }
        // Blocks inside of a line, such as a heading in a link: their text.
        _ => {
            out.push(' ');
            element
                .children
                .iter()
                .for_each(|child| write_inline(child, out));
            // Two badges beside each other are two words.
            if element.name != "span" || element.attribute("class").is_some() {
                out.push(' ');
            }
        }
    }
}

/// Escapes what Markdown would take for itself.
fn escape_into(text: &str, out: &mut String) {
    for one in text.chars() {
        if matches!(one, '\\' | '*' | '`' | '[' | ']' | '<') {
            out.push('\\');
        }
        out.push(one);
    }
}

fn plain_text(nodes: &[HtmlNode]) -> String {
    let mut out = String::new();
    for node in nodes {
        match node {
            HtmlNode::Text(text) => out.push_str(text),
            HtmlNode::Element(element) if element.name == "br" => out.push('\n'),
            HtmlNode::Element(element) => out.push_str(&plain_text(&element.children)),
        }
    }
    out
}

/// Returns the elements of this name, also below others.
fn find_all<'n>(nodes: &'n [HtmlNode], name: &str, found: &mut Vec<&'n HtmlElement>) {
    for node in nodes {
        if let HtmlNode::Element(element) = node {
            if element.name == name {
                found.push(element);
            } else {
                find_all(&element.children, name, found);
            }
        }
    }
}

fn list_elements<'n>(nodes: &'n [HtmlNode], name: &str) -> Vec<&'n HtmlElement> {
    let mut found = Vec::new();
    find_all(nodes, name, &mut found);
    found
}

fn render_list(children: &[HtmlNode], marker: impl Fn(usize) -> String) -> String {
    let items = children.iter().filter_map(|node| match node {
        HtmlNode::Element(item) if item.name == "li" => Some(render_blocks(&item.children)),
        _ => None,
    });
    let items = items.filter(|blocks| !blocks.is_empty()).enumerate();
    let items = items.map(|(at, blocks)| {
        let marker = marker(at);
        // A list below an item follows its line; other blocks are paragraphs of the item.
        let mut text = String::new();
        for (index, block) in blocks.iter().enumerate() {
            let is_list = block.starts_with("- ") || block.starts_with("1. ");
            text.push_str(match (index, is_list) {
                (0, _) => "",
                (_, true) => "\n",
                (_, false) => "\n\n",
            });
            text.push_str(block);
        }
        let indent = " ".repeat(marker.len());
        let indented = text.replace('\n', &format!("\n{indent}"));
        format!(
            "{marker}{}",
            indented.replace(&format!("\n{indent}\n"), "\n\n")
        )
    });
    items.collect::<Vec<_>>().join("\n")
}

fn render_code(element: &HtmlElement) -> String {
    let text = plain_text(&element.children);
    let fence = if text.contains("```") { "````" } else { "```" };
    let language = element.attribute("data-language").unwrap_or_default();
    format!(
        "{fence}{language}\n{}\n{fence}",
        text.trim_end_matches('\n')
    )
}

fn prefix_lines(text: &str, prefix: &str) -> String {
    let lines = text
        .lines()
        .map(|line| format!("{prefix}{line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

fn render_table(table: &HtmlElement) -> String {
    let rows = list_elements(&table.children, "tr");
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        let cells = row.children.iter().filter_map(|node| match node {
            HtmlNode::Element(cell) if cell.name == "td" || cell.name == "th" => Some(cell),
            _ => None,
        });
        let cells: Vec<String> = cells
            .map(|cell| {
                render_line(&cell.children)
                    .replace("  \n", " ")
                    .replace('|', "\\|")
            })
            .collect();
        lines.push(format!("| {} |", cells.join(" | ")));
        if lines.len() == 1 {
            lines.push(format!("|{}", " --- |".repeat(cells.len())));
        }
    }
    lines.join("\n")
}

/// Renders terms and their values as a list.
fn render_terms(children: &[HtmlNode]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for node in children {
        let HtmlNode::Element(element) = node else {
            continue;
        };
        match (element.name.as_str(), lines.last_mut()) {
            ("dt", _) => lines.push(format!("- **{}:**", render_line(&element.children))),
            ("dd", Some(line)) => {
                line.push(' ');
                line.push_str(&render_line(&element.children));
            }
            _ => lines.extend(Some(render_terms(&element.children)).filter(|it| !it.is_empty())),
        }
    }
    lines.join("\n")
}

/// Renders a drawing as the list of what it links to.
fn render_drawing(children: &[HtmlNode]) -> String {
    let links = list_elements(children, "a").into_iter().map(|link| {
        // The title says in full what the lines of the box say as far as they have room.
        let titles = list_elements(&link.children, "title");
        let words = match titles.first() {
            Some(title) => plain_text(&title.children),
            None => plain_text(&link.children),
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        let address = link.attribute("href").unwrap_or_default();
        format!("- [{}]({address})", words.join(" "))
    });
    links.collect::<Vec<_>>().join("\n")
}

/// Renders a difference side by side as one below the other.
fn render_difference(children: &[HtmlNode]) -> String {
    let mut lines = vec!["```diff".to_owned()];
    for row in list_elements(children, "tr") {
        let cells = list_elements(&row.children, "td");
        let of_class = |class: &str| cells.iter().find(|cell| cell.has_class(class));
        for (class, mark) in [("removed", "-"), ("added", "+"), ("same", " ")] {
            lines.extend(
                of_class(class).map(|cell| format!("{mark}{}", plain_text(&cell.children))),
            );
        }
    }
    lines.push("```".to_owned());
    lines.join("\n")
}
