//! novelWriter projects: documents in the order of the tree, structured by their headings.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::Node;

use super::builder::{ManuscriptBuilder, push_block};
use super::heading_words::HeadingRank;
use super::markdown::fixed_rank;
use super::xml::{attribute, child_named, child_text, children_named, parse_xml};
use super::{Manuscript, ManuscriptFiles, ManuscriptRefused};
use crate::text::count_with_noun;

/// Mark of a footnote; its text is in a comment below.
const FOOTNOTE_MARK: &str = "[footnote:";
/// Codes within a line that have a value.
const VALUE_CODES: &[&str] = &["footnote", "vspace", "field"];

pub(super) const PROJECT_FILE: &str = "nwProject.nwx";

/// An item of the project's tree.
#[derive(Debug)]
struct ProjectItem {
    handle: String,
    order: i64,
    is_document: bool,
    is_novel: bool,
    is_active: bool,
}

/// Reads a novelWriter project.
pub(super) fn read_project(files: &ManuscriptFiles) -> Result<Manuscript, ManuscriptRefused> {
    let missing = || ManuscriptRefused::MissingFile {
        file: PROJECT_FILE.to_owned(),
        format: "novelwriter",
    };
    let path = files
        .paths()
        .find(|path| *path == PROJECT_FILE || path.ends_with("/nwProject.nwx"))
        .ok_or_else(missing)?
        .to_owned();
    let text = files.text_of(&path)?;
    let document = parse_xml(&path, &text)?;
    let root = document.root_element();
    let mut builder = ManuscriptBuilder::new();
    if let Some(project) = child_named(root, "project") {
        let title = child_text(project, "name").or_else(|| child_text(project, "title"));
        builder.set_title(title, child_text(project, "author"));
    }
    let items = read_items(root);
    let folder = path.strip_suffix(PROJECT_FILE).unwrap_or_default();
    let (mut inactive, mut notes, mut footnotes) = (0, 0, 0);
    for item in order_items(&items) {
        // Notes about characters and places are outside of the novel; they are counted, not taken
        // over.
        if !item.is_novel {
            notes += usize::from(item.is_document);
            continue;
        }
        if !item.is_document {
            continue;
        }
        // novelWriter leaves inactive documents out of a build, too.
        if !item.is_active {
            inactive += 1;
            continue;
        }
        let file = format!("{folder}content/{}.nwd", item.handle);
        // One missing document does not refuse the rest; what is left out is reported.
        if files.bytes_of(&file).is_none() {
            builder.leave_out(format!("`{file}`, which is missing"));
            continue;
        }
        let text = files.text_of(&file)?;
        footnotes += text.matches(FOOTNOTE_MARK).count();
        push_document(&mut builder, &text);
    }
    if footnotes > 0 {
        builder.leave_out(count_with_noun(footnotes, "footnote", "footnotes"));
    }
    if inactive > 0 {
        let documents = count_with_noun(inactive, "inactive document", "inactive documents");
        builder.leave_out(documents);
    }
    if notes > 0 {
        builder.leave_out(count_with_noun(notes, "project note", "project notes"));
    }
    Ok(builder.finish())
}

/// Reads the tree: parent to children.
fn read_items(root: Node<'_, '_>) -> BTreeMap<String, Vec<ProjectItem>> {
    let mut below: BTreeMap<String, Vec<ProjectItem>> = BTreeMap::new();
    let Some(content) = child_named(root, "content") else {
        return below;
    };
    for node in children_named(content, "item") {
        // Until format 1.4 these were elements, since then they are attributes.
        let value = |name: &'static str| {
            attribute(node, name)
                .map(str::to_owned)
                .or_else(|| child_text(node, name))
        };
        let Some(handle) = value("handle") else {
            continue;
        };
        let name = child_named(node, "name");
        let active = name.and_then(|name| attribute(name, "active"));
        let exported = child_text(node, "exported");
        let is_off = |text: &str| matches!(text, "no" | "False" | "false");
        let item = ProjectItem {
            handle,
            order: value("order")
                .and_then(|it| it.parse().ok())
                .unwrap_or_default(),
            is_document: value("type").is_some_and(|kind| kind.eq_ignore_ascii_case("FILE")),
            is_novel: value("class").is_some_and(|class| class.eq_ignore_ascii_case("NOVEL"))
                && value("layout").is_none_or(|layout| !layout.eq_ignore_ascii_case("NOTE")),
            is_active: !active.is_some_and(is_off) && !exported.as_deref().is_some_and(is_off),
        };
        let parent = value("parent").unwrap_or_else(|| "None".to_owned());
        below.entry(parent).or_default().push(item);
    }
    for items in below.values_mut() {
        items.sort_by_key(|item| item.order);
    }
    below
}

/// Walks the tree in the order of its items.
fn order_items(below: &BTreeMap<String, Vec<ProjectItem>>) -> Vec<&ProjectItem> {
    let mut ordered = Vec::new();
    let mut open: Vec<&ProjectItem> = Vec::new();
    // Python's `None`, as it is in the file.
    push_children(below, &mut open, "None");
    let mut visited: BTreeSet<&str> = BTreeSet::new();
    while let Some(item) = open.pop() {
        // In a damaged file a handle may be its own descendant or exist twice.
        if visited.insert(&item.handle) {
            ordered.push(item);
            push_children(below, &mut open, &item.handle);
        }
    }
    ordered
}

fn push_children<'i>(
    below: &'i BTreeMap<String, Vec<ProjectItem>>,
    open: &mut Vec<&'i ProjectItem>,
    parent: &str,
) {
    let items = below.get(parent).map(Vec::as_slice).unwrap_or_default();
    // Reversed, because the stack returns the last one first.
    open.extend(items.iter().rev());
}

/// Adds one document.
fn push_document(builder: &mut ManuscriptBuilder, text: &str) {
    let mut paragraph: Vec<String> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if !trimmed.is_empty() && !is_structure(trimmed) {
            paragraph.push(render_line(trimmed));
            continue;
        }
        builder.push_paragraph(&std::mem::take(&mut paragraph).join("\n"));
        push_structure(builder, trimmed);
    }
    builder.push_paragraph(&paragraph.join("\n"));
}

fn is_structure(line: &str) -> bool {
    line.starts_with('%')
        || line.starts_with('@')
        || read_heading(line).is_some()
        || is_layout(line)
}

/// Whether a line only lays out the page.
fn is_layout(line: &str) -> bool {
    let lower = line.to_lowercase();
    lower.starts_with("[new page]")
        || lower.starts_with("[newpage]")
        || lower.starts_with("[vspace")
}

fn push_structure(builder: &mut ManuscriptBuilder, line: &str) {
    if let Some((rank, title)) = read_heading(line) {
        match rank {
            Some(rank) => builder.start(rank, title),
            // A section of a scene is a scene of its own, below the same chapter.
            None => builder.start(HeadingRank::Scene, title),
        }
    } else if let Some(comment) = line.strip_prefix('%') {
        push_comment(builder, comment.trim());
    } else if let Some((key, value)) = line.strip_prefix('@').and_then(|line| line.split_once(':'))
    {
        push_tag(builder, key.trim(), value.trim());
    }
}

/// Returns what a heading begins: `#` a part, `##` a chapter, `###` a scene; `#!` is the book's title.
fn read_heading(line: &str) -> Option<(Option<HeadingRank>, &str)> {
    let depth = line.len() - line.trim_start_matches('#').len();
    let rest = line.get(depth..)?;
    let (is_special, rest) = match rest.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    if !(1..=4).contains(&depth) || !rest.starts_with(' ') {
        return None;
    }
    let rank = match (depth, is_special) {
        (1, true) => Some(HeadingRank::Book),
        _ => fixed_rank(depth),
    };
    Some((rank, rest.trim()))
}

fn push_comment(builder: &mut ManuscriptBuilder, comment: &str) {
    let Some((key, text)) = comment.split_once(':') else {
        return;
    };
    match key.trim().to_lowercase().as_str() {
        "synopsis" | "short" => builder.add_synopsis(text),
        key if key == "note" || key.starts_with("note.") || key.starts_with("story") => {
            push_block(&mut builder.scene_mut().notes, text);
        }
        _ => {}
    }
}

fn push_tag(builder: &mut ManuscriptBuilder, key: &str, value: &str) {
    let names = || {
        let names = value.split(',').map(|name| name.trim().to_owned());
        names.filter(|name| !name.is_empty())
    };
    let scene = builder.scene_mut();
    match key {
        // One point of view per scene: the first name is taken.
        "pov" => scene.pov = names().next().or(scene.pov.take()),
        "char" | "focus" => scene.characters.extend(names()),
        "location" => scene.locations.extend(names()),
        _ => {}
    }
}

/// Renders a line of novelWriter as Markdown.
fn render_line(line: &str) -> String {
    // `>> right`, `>> centre <<` and `> indent` are about the page.
    let line = line.trim_start_matches('>').trim_end_matches('<').trim();
    let marks = [
        ("[b]", "**"),
        ("[/b]", "**"),
        ("[i]", "*"),
        ("[/i]", "*"),
        ("[u]", ""),
        ("[/u]", ""),
        ("[s]", ""),
        ("[/s]", ""),
        ("[m]", ""),
        ("[/m]", ""),
        ("[br]", "  \n"),
    ];
    let line = marks
        .into_iter()
        .fold(line.to_owned(), |line, (code, mark)| {
            line.replace(code, mark)
        });
    strip_codes(&line)
}

/// Removes codes with a value from a line: `[footnote:abc]`, `[vspace:2]`.
fn strip_codes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let is_code = |inner: &str| {
            VALUE_CODES.iter().any(|code| {
                let value = inner.strip_prefix(code);
                value.is_some_and(|value| value.is_empty() || value.starts_with(':'))
            })
        };
        rest = match after.split_once(']') {
            Some((inner, tail)) if is_code(inner) => tail,
            _ => {
                out.push('[');
                after
            }
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect: codes stayed in the prose, and the title of a section was lost.
    #[test]
    fn codes_are_no_prose_and_a_section_keeps_its_title() {
        let mut builder = ManuscriptBuilder::new();
        let text = "## Harbour\n\n### The gate\n\nFog[footnote:f1] and [i]rain[/i] [sic].\n[vspace:2]\n\n\
                    %Footnote.f1: An old word.\n\n#### At noon\n\nSnow[vspace:2].\n";
        push_document(&mut builder, text);
        let book = builder.finish();
        let scenes: Vec<(Option<&str>, &str)> = book
            .scenes()
            .map(|it| (it.title.as_deref(), it.prose.as_str()))
            .collect();
        assert_eq!(
            scenes,
            [
                (Some("The gate"), "Fog and *rain* [sic]."),
                (Some("At noon"), "Snow."),
            ]
        );
    }

    #[test]
    fn a_tree_that_refers_to_itself_ends() {
        let item = |handle: &str, order| ProjectItem {
            handle: handle.to_owned(),
            order,
            is_document: true,
            is_novel: true,
            is_active: true,
        };
        let below = BTreeMap::from([
            ("None".to_owned(), vec![item("a", 0), item("b", 1)]),
            (
                "a".to_owned(),
                vec![item("a", 0), item("a", 1), item("c", 2)],
            ),
            ("c".to_owned(), vec![item("a", 0)]),
        ]);
        let handles: Vec<&str> = order_items(&below)
            .iter()
            .map(|item| item.handle.as_str())
            .collect();
        assert_eq!(handles, ["a", "c", "b"]);
    }
}
