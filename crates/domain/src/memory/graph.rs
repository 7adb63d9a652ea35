//! Renders the graph of relationships, as DOT for Graphviz or as SVG for a browser.
//!
//! The SVG layout is a plain circle: it needs no layout engine and is stable from run to run.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::entry::{Character, Relationship};
use super::story_memory::StoryMemory;

/// Renders the graph in Graphviz's DOT language.
#[must_use]
pub fn render_dot_graph(memory: &StoryMemory) -> String {
    // Ids too: a relationship names its characters in a file that people edit, and `anna-maria` or
    // `node` would end the graph with a syntax error.
    let quoted = |text: &str| {
        format!(
            "\"{}\"",
            text.replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', " ")
        )
    };
    let mut out = String::from("graph relationships {\n  node [shape=box, style=rounded];\n");
    for character in memory.characters() {
        let _ = writeln!(
            out,
            "  {} [label={}];",
            quoted(&character.id),
            quoted(&character.name)
        );
    }
    for tie in memory.relationships() {
        let label = quoted(&edge_label(tie));
        let _ = writeln!(
            out,
            "  {} -- {} [label={label}, penwidth={}];",
            quoted(&tie.character_a),
            quoted(&tie.character_b),
            line_width(tie)
        );
    }
    out.push_str("}\n");
    out
}

/// Renders the graph as SVG: characters on a circle, lines as thick as the relationship is intense.
#[must_use]
pub fn render_svg_graph(memory: &StoryMemory) -> String {
    let characters: Vec<&Character> = memory.characters().collect();
    // 26 units of radius per character leave room for a name of about 20 letters between
    // neighbours.
    let radius = 140.0_f64.max(characters.len() as f64 * 26.0);
    let middle = radius + 120.0;
    let place = |index: usize| {
        // A quarter turn back, so that the first character is at the top.
        let angle = TAU * index as f64 / characters.len().max(1) as f64 - TAU / 4.0;
        (middle + radius * angle.cos(), middle + radius * angle.sin())
    };
    let of = |id: &str| {
        characters
            .iter()
            .position(|character| character.id == id)
            .map(place)
    };
    let size = middle * 2.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {size:.0} {size:.0}\" font-family=\"sans-serif\" \
         font-size=\"13\" text-anchor=\"middle\">\n<title>Relationships</title>\n"
    );
    for tie in memory.relationships() {
        // A relationship may refer to a character that was removed.
        let (Some((x1, y1)), Some((x2, y2))) = (of(&tie.character_a), of(&tie.character_b)) else {
            continue;
        };
        let _ = writeln!(
            out,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#888\" stroke-width=\"{}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555\" font-size=\"11\">{}</text>",
            line_width(tie),
            f64::midpoint(x1, x2),
            f64::midpoint(y1, y2) - 4.0,
            escape_xml(&edge_label(tie))
        );
    }
    for (index, character) in characters.iter().enumerate() {
        let (x, y) = place(index);
        // The `<title>` is the tooltip in browsers and what screen readers announce.
        let _ = writeln!(
            out,
            "<g><title>{id}: {role}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\" fill=\"#2b6cb0\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\">{name}</text></g>",
            y + 24.0,
            id = escape_xml(&character.id),
            role = escape_xml(&character.role),
            name = escape_xml(&character.name),
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Returns the caption of a relationship.
fn edge_label(tie: &Relationship) -> String {
    let parts = [tie.relationship_type.as_str(), tie.status.as_str()];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the line width of a relationship, from 1 to 6.
fn line_width(tie: &Relationship) -> u8 {
    1 + tie.intensity / 2
}

/// Whether XML does not allow a character although it is none of control.
pub(crate) fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{FFFE}' | '\u{FFFF}')
}

/// Escapes text for XML. Control characters are dropped, because XML 1.0 does not allow them.
pub(crate) fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || is_noncharacter(c) => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Entry;

    #[test]
    fn ids_in_a_dot_graph_are_quoted() {
        let mut memory = StoryMemory::default();
        memory.put_entry(Entry::Relationship(Relationship {
            id: "R0".to_owned(),
            character_a: "anna-maria".to_owned(),
            character_b: "node".to_owned(),
            ..Relationship::default()
        }));
        let dot = render_dot_graph(&memory);
        assert!(dot.contains("  \"anna-maria\" -- \"node\" ["), "{dot}");
    }
}
