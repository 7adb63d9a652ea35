//! Sections of a Markdown plan: what a precise cascade and a revalidation compare.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::front_matter;
use crate::node::Description;
use crate::version::canonical_text;

/// A heading and the text below it, up to the next heading of any level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading's plain text; empty for what stands before the first heading.
    pub heading: String,
    /// 1 for `#`; 0 for what stands before the first heading.
    pub depth: u8,
    /// The text below the heading, formatting normalised.
    pub body: String,
}

/// How a section differs between two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionChangeKind {
    Added,
    Removed,
    Changed,
}

/// One section that is not the same in two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionChange {
    pub heading: String,
    pub kind: SectionChangeKind,
}

/// Splits a plan into its sections. The front matter is a section of its own, headed `front matter`.
#[must_use]
pub fn split(text: &str) -> Vec<Section> {
    let (block, body) = front_matter::split(text);
    let mut sections = Vec::new();
    if let Some(block) = block {
        sections.push(Section { heading: "front matter".to_owned(), depth: 0, body: canonical_text(block) });
    }

    let mut heading = String::new();
    let mut depth = 0;
    let mut body_start = 0;
    let mut open: Option<(String, u8, usize)> = None;
    let mut push = |heading: &str, depth: u8, body: &str| {
        let body = canonical_text(body);
        if depth > 0 || !body.is_empty() {
            sections.push(Section { heading: heading.to_owned(), depth, body });
        }
    };
    for (event, range) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => open = Some((String::new(), level_number(level), range.start)),
            Event::End(TagEnd::Heading(_)) => {
                if let Some((title, level, start)) = open.take() {
                    push(&heading, depth, body.get(body_start..start).unwrap_or_default());
                    heading = title.trim().to_owned();
                    depth = level;
                    body_start = range.end;
                }
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some((title, _, _)) = &mut open {
                    title.push_str(&words);
                }
            }
            _ => {}
        }
    }
    push(&heading, depth, body.get(body_start..).unwrap_or_default());
    sections
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Returns the sections that differ, in the order of the newer text, removed ones last.
#[must_use]
pub fn changes(older: &str, newer: &str) -> Vec<SectionChange> {
    let older = split(older);
    let newer = split(newer);
    // Two sections may share a heading: compare the n-th of a name with the n-th of that name.
    let key = |sections: &[Section], index: usize| {
        let heading = &sections[index].heading;
        let nth = sections[..index].iter().filter(|section| section.heading == *heading).count();
        (heading.clone(), nth)
    };
    let keyed = |sections: &[Section]| (0..sections.len()).map(|index| key(sections, index)).collect::<Vec<_>>();
    let (old_keys, new_keys) = (keyed(&older), keyed(&newer));

    let mut found = Vec::new();
    for (section, key) in newer.iter().zip(&new_keys) {
        let before = old_keys.iter().position(|old| old == key).map(|index| &older[index]);
        let kind = match before {
            None => SectionChangeKind::Added,
            Some(before) if before.body != section.body => SectionChangeKind::Changed,
            Some(_) => continue,
        };
        found.push(SectionChange { heading: section.heading.clone(), kind });
    }
    for (section, key) in older.iter().zip(&old_keys) {
        if !new_keys.contains(key) {
            found.push(SectionChange { heading: section.heading.clone(), kind: SectionChangeKind::Removed });
        }
    }
    found
}

/// What a child says and is called, as far as it tells which sections of its parent it relies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reliance<'a> {
    /// Headings its front matter lists.
    pub listed: &'a [String],
    /// Names under which a section may speak of it: alias, `chapter 2`, title.
    pub names: &'a [String],
}

/// Says whether a change of the parent touches a child (the precise cascade).
///
/// The child relies on the sections it lists, else on those that name it; when neither is known it
/// relies on everything.
#[must_use]
pub fn touches(older: &str, newer: &str, reliance: &Reliance<'_>) -> bool {
    let changed = changes(older, newer);
    if changed.is_empty() {
        return false;
    }
    let lower = |text: &str| text.trim().to_lowercase();
    if !reliance.listed.is_empty() {
        let listed: Vec<String> = reliance.listed.iter().map(|heading| lower(heading)).collect();
        return changed.iter().any(|change| listed.contains(&lower(&change.heading)));
    }
    let names: Vec<String> = reliance.names.iter().map(|name| lower(name)).filter(|name| !name.is_empty()).collect();
    let speaks_of_it = |section: &Section| {
        let text = lower(&format!("{}\n{}", section.heading, section.body));
        names.iter().any(|name| contains_word(&text, name))
    };
    let (older, newer) = (split(older), split(newer));
    let relied: Vec<&str> = older
        .iter()
        .chain(&newer)
        .filter(|section| speaks_of_it(section))
        .map(|section| section.heading.as_str())
        .collect();
    if relied.is_empty() {
        return true;
    }
    changed.iter().any(|change| relied.contains(&change.heading.as_str()))
}

/// Says whether `text` holds `name` as whole words, so that `chapter 1` is not found in `chapter 12`.
fn contains_word(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(start, found)| {
        let before = text.get(..start).and_then(|head| head.chars().next_back());
        let after = text.get(start + found.len()..).and_then(|tail| tail.chars().next());
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !is_word(before) && !is_word(after)
    })
}

/// Reads what a plan says of itself.
#[must_use]
pub fn describe(text: &str) -> Description {
    let front = front_matter::read(text);
    let title = front
        .text("title")
        .or_else(|| split(text).into_iter().find(|section| section.depth > 0).map(|section| section.heading))
        .filter(|title| !title.is_empty());
    Description { title, needs: front.list("needs"), relies_on: front.list("relies_on"), work: None }
}
