//! Markdown sections of a plan: splitting, comparing, replacing, and the precise cascade's rule.
//!
//! Headings come from a Markdown parser, so that a `#` in a code block is not taken for one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::front_matter;
use crate::ids::Digest32;
use crate::node::Description;
use crate::secrets::{SecretCount, mask_description};
use crate::version::canonical_text;

/// A heading and the text below it, up to the next heading of any level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading's plain text; empty for the text before the first heading.
    pub heading: String,
    /// 1 for `#`; 0 for the text before the first heading.
    pub depth: u8,
    /// The text below the heading, in canonical form.
    pub body: String,
}

/// How a section differs between two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionChangeKind {
    Added,
    Removed,
    Changed,
}

/// A section that differs between two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionChange {
    pub heading: String,
    pub kind: SectionChangeKind,
}

/// Splits a plan into its sections. The front matter is a section of its own, headed `front
/// matter`.
#[must_use]
pub fn split_sections(text: &str) -> Vec<Section> {
    let (block, body) = front_matter::split_front_matter(text);
    let mut sections = Vec::new();
    // A section of its own, so that a change of `needs` or of a character list is named as such.
    if let Some(block) = block {
        sections.push(Section {
            heading: "front matter".to_owned(),
            depth: 0,
            body: canonical_text(block),
        });
    }

    let headings = find_headings(body);
    let before = canonical_text(
        body.get(..headings.first().map_or(body.len(), |first| first.start))
            .unwrap_or_default(),
    );
    if !before.is_empty() {
        sections.push(Section {
            heading: String::new(),
            depth: 0,
            body: before,
        });
    }
    for (index, heading) in headings.iter().enumerate() {
        let below = body
            .get(heading.end..section_end(&headings, index, body))
            .unwrap_or_default();
        sections.push(Section {
            heading: heading.title.clone(),
            depth: heading.depth,
            body: canonical_text(below),
        });
    }
    sections
}

/// Returns the plan with the text of one section replaced: the first with that heading, ignoring
/// case, or a new one at the end.
#[must_use]
pub fn replace_section(text: &str, heading: &str, section: &str) -> String {
    let (_, body) = front_matter::split_front_matter(text);
    let front = text.strip_suffix(body).unwrap_or_default();
    // Everything outside the section stays byte for byte, so the new version differs only there.
    let headings = find_headings(body);
    let wanted = heading.trim().trim_start_matches('#').trim();
    let section = section.trim();
    match headings
        .iter()
        .position(|known| known.title.to_lowercase() == wanted.to_lowercase())
    {
        Some(index) => {
            let (start, end) = (headings[index].end, section_end(&headings, index, body));
            let (above, below) = (
                body.get(..start).unwrap_or_default(),
                body.get(end..).unwrap_or_default(),
            );
            // An empty line before the next heading, none at the end of the file.
            let gap = if below.is_empty() { "" } else { "\n" };
            format!("{front}{}\n\n{section}\n{gap}{below}", above.trim_end())
        }
        None => format!("{front}{}\n\n## {wanted}\n\n{section}\n", body.trim_end()),
    }
}

/// A heading with its byte range.
struct Heading {
    title: String,
    depth: u8,
    start: usize,
    end: usize,
}

/// Returns the byte offset where the text below a heading ends.
fn section_end(headings: &[Heading], index: usize, body: &str) -> usize {
    headings
        .get(index + 1)
        .map_or(body.len(), |next| next.start)
}

fn find_headings(body: &str) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut open: Option<Heading> = None;
    for (event, range) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let depth = heading_depth(level);
                open = Some(Heading {
                    title: String::new(),
                    depth,
                    start: range.start,
                    end: range.end,
                });
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(heading) = open.take() {
                    found.push(Heading {
                        title: heading.title.trim().to_owned(),
                        end: range.end,
                        ..heading
                    });
                }
            }
            // Without emphasis and links: `## **The** gate` and `## The gate` are one heading.
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut open {
                    heading.title.push_str(&words);
                }
            }
            // As it is written: `# Parse Vec<String>` is about a type, and pages show no HTML of plans.
            Event::InlineHtml(tag) if !tag.starts_with("<!--") => {
                if let Some(heading) = &mut open {
                    heading.title.push_str(&tag);
                }
            }
            _ => {}
        }
    }
    found
}

fn heading_depth(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Returns the sections that differ, in the order of the newer text; removed ones last.
#[must_use]
pub fn changed_sections(older: &str, newer: &str) -> Vec<SectionChange> {
    let older = split_sections(older);
    let newer = split_sections(newer);
    let (old_keys, new_keys) = (section_keys(&older), section_keys(&newer));
    let old_by_key: HashMap<SectionKey<'_>, &Section> =
        old_keys.iter().copied().zip(&older).collect();

    let mut found = Vec::new();
    for (section, key) in newer.iter().zip(&new_keys) {
        let kind = match old_by_key.get(key) {
            None => SectionChangeKind::Added,
            Some(before) if before.body != section.body => SectionChangeKind::Changed,
            Some(_) => continue,
        };
        found.push(SectionChange {
            heading: section.heading.clone(),
            kind,
        });
    }
    let new_keys: HashSet<SectionKey<'_>> = new_keys.into_iter().collect();
    for (section, key) in older.iter().zip(&old_keys) {
        if !new_keys.contains(key) {
            found.push(SectionChange {
                heading: section.heading.clone(),
                kind: SectionChangeKind::Removed,
            });
        }
    }
    found
}

/// A heading and the number of earlier sections with the same heading.
type SectionKey<'a> = (&'a str, usize);

/// Returns a unique key for every section: the n-th with a heading is compared with the n-th.
fn section_keys(sections: &[Section]) -> Vec<SectionKey<'_>> {
    // Keys make the comparison linear. Searching the list for each heading took more than 30 s for
    // one changed line in a plan of 300,000 headings.
    let mut seen: HashMap<&str, usize> = HashMap::new();
    sections
        .iter()
        .map(|section| {
            let count = seen.entry(section.heading.as_str()).or_default();
            *count += 1;
            (section.heading.as_str(), *count - 1)
        })
        .collect()
}

/// Declares or implies which sections of its parent a child relies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reliance<'a> {
    /// Headings its front matter lists.
    pub listed: &'a [String],
    /// Names by which a section may mention it: alias, `chapter 2`, title.
    pub names: &'a [String],
}

/// Returns the digest of the sections of its parent that a child relies on (the precise cascade).
///
/// The child relies on the sections it lists, else on those that mention it; if there are neither,
/// on everything. A change of the parent affects the child exactly when the digest changes.
#[must_use]
pub fn relied_sections_digest(sections: &[Section], reliance: &Reliance<'_>) -> Digest32 {
    let lower = |text: &str| text.trim().to_lowercase();
    let keys = section_keys(sections);
    let keyed = || keys.iter().copied().zip(sections);
    // What the author lists wins over guessing from names.
    let (scope, mut relied): (u8, Vec<(SectionKey<'_>, &Section)>) = if reliance.listed.is_empty() {
        let mentioning = headings_that_mention(sections, reliance.names);
        // In doubt the child becomes stale: a needless revalidation is cheaper than a missed
        // one.
        if mentioning.is_empty() {
            (0, keyed().collect())
        } else {
            let mentions = |key: &SectionKey<'_>| mentioning.contains(key.0);
            (1, keyed().filter(|(key, _)| mentions(key)).collect())
        }
    } else {
        let listed: HashSet<String> = reliance.listed.iter().map(|it| lower(it)).collect();
        let is_listed = |key: &SectionKey<'_>| listed.contains(&lower(key.0));
        (2, keyed().filter(|(key, _)| is_listed(key)).collect())
    };
    // Sections that only changed places are the same sections.
    relied.sort_unstable_by_key(|(key, _)| *key);
    // The scope is part of the digest: a section that newly mentions the child, or no longer does,
    // concerns it. Lengths keep the end of one text from being taken for the start of the next.
    let mut encoded = vec![scope];
    for ((heading, _), section) in relied {
        // Of a list or table of children, the lines about the others do not concern this one.
        let lines = match scope {
            1 => relied_lines(section, reliance.names),
            _ => None,
        };
        for part in [heading, lines.as_deref().unwrap_or(&section.body)] {
            encoded.extend_from_slice(&(part.len() as u64).to_le_bytes());
            encoded.extend_from_slice(part.as_bytes());
        }
    }
    Digest32::of_bytes(&encoded)
}

/// Returns the part of a section that concerns a child which only list items or table rows mention:
/// those with what is nested in and around them, those that name no child, and the text outside lists
/// and tables. `None` if the child is mentioned elsewhere in the section.
fn relied_lines(section: &Section, names: &[String]) -> Option<String> {
    let names = ChildNames::from_names(names);
    if names.are_in(&section.heading) {
        return None;
    }
    let own: Vec<&str> = section.body.lines().collect();
    let kinds = classify_lines(&own);
    let spelled = spell_bare_numbers(&section.heading, &own, &kinds, &names);
    let lines: Vec<&str> = spelled.iter().map(AsRef::as_ref).collect();
    let mut is_relied = vec![false; lines.len()];
    for (at, kind) in kinds.iter().enumerate() {
        match kind {
            LineKind::Text if names.are_in(lines[at]) => return None,
            LineKind::Text => is_relied[at] = true,
            LineKind::Row if names.are_in(lines[at]) => is_relied[at] = true,
            LineKind::Item { indent } if names.are_in(lines[at]) => {
                mark_item(&kinds, at, *indent, &mut is_relied);
            }
            LineKind::Within if names.are_in(lines[at]) => {
                let item = kinds[..at]
                    .iter()
                    .rposition(|kind| matches!(kind, LineKind::Item { .. }));
                if let Some((start, LineKind::Item { indent })) = item.map(|it| (it, kinds[it])) {
                    mark_item(&kinds, start, indent, &mut is_relied);
                }
            }
            _ => {}
        }
    }
    // Only where children are named by numbers: in a list of titles nobody knows which lines are.
    if lines.iter().any(|line| names.are_numbered_in(line)) {
        mark_unnamed(&lines, &kinds, &names, &mut is_relied);
    }
    let kept = own
        .iter()
        .zip(is_relied)
        .filter(|(_, is_relied)| *is_relied);
    Some(kept.map(|(line, _)| *line).collect::<Vec<_>>().join("\n"))
}

/// Returns the lines with the level's word before a number that an item or a row begins with, below a
/// heading that is that word: `3. The shore` below `Chapters` is chapter 3.
fn spell_bare_numbers<'l>(
    heading: &str,
    lines: &[&'l str],
    kinds: &[LineKind],
    names: &ChildNames,
) -> Vec<Cow<'l, str>> {
    // Any other words (`Rules for chapters`) may head a list that is about something else.
    let heading = heading.trim().trim_end_matches(':').to_lowercase();
    let mut words = names.numbered.keys();
    let word = words.find(|word| is_form_of(&heading, word));
    let spell = |line: &'l str, kind: &LineKind| {
        let start = match kind {
            LineKind::Item { indent: 0 } => line,
            LineKind::Row => line.trim_start().trim_start_matches('|').trim_start(),
            LineKind::Text | LineKind::Item { .. } | LineKind::Within => return None,
        };
        let rest = start.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = start
            .strip_suffix(rest)
            .filter(|digits| !digits.is_empty())?;
        // `1869 | the year` is a number, `3a` is none.
        let is_whole = rest.trim_start().starts_with(['.', ')', '|']);
        let word = word.filter(|_| is_whole)?;
        Some(Cow::Owned(format!("{word} {digits}: {line}")))
    };
    let lines = lines.iter().zip(kinds);
    lines
        .map(|(line, kind)| spell(line, kind).unwrap_or(Cow::Borrowed(*line)))
        .collect()
}

/// Whether a word is another one with another short ending: `chapters`, `главы`, but not `главные`.
fn is_form_of(word: &str, base: &str) -> bool {
    let length = base.chars().count();
    // The ending of a short word is its own: `act` and `acts`, but not `acid`.
    let (kept, ending) = if length < 5 {
        (length, 1)
    } else {
        (length - 1, 2)
    };
    let stem: String = base.chars().take(kept).collect();
    word.strip_prefix(&stem)
        .is_some_and(|rest| rest.chars().count() <= ending && rest.chars().all(char::is_alphabetic))
}

/// Marks the items and rows that name no child, in themselves or by what they are nested in: those
/// concern every child.
fn mark_unnamed(lines: &[&str], kinds: &[LineKind], names: &ChildNames, is_relied: &mut [bool]) {
    let mut outer: Vec<(usize, bool)> = Vec::new();
    let mut is_of_child = false;
    for (at, kind) in kinds.iter().enumerate() {
        match kind {
            LineKind::Row => is_relied[at] |= !names.name_any(lines[at]),
            LineKind::Item { indent } => {
                outer.retain(|(other, _)| other < indent);
                let further = kinds[at + 1..]
                    .iter()
                    .take_while(|kind| matches!(kind, LineKind::Within))
                    .count();
                let own = &lines[at..=at + further];
                is_of_child = outer.last().is_some_and(|(_, named)| *named)
                    || own.iter().any(|line| names.name_any(line));
                outer.push((*indent, is_of_child));
                is_relied[at] |= !is_of_child;
            }
            LineKind::Within => is_relied[at] |= !is_of_child,
            LineKind::Text => outer.clear(),
        }
    }
}

/// The names by which a text may mention a child, in lower case.
struct ChildNames {
    whole: Vec<String>,
    /// Words before a number (`chapter`, `глава`), with the child's numbers after them.
    numbered: BTreeMap<String, BTreeSet<u32>>,
}

impl ChildNames {
    fn from_names(names: &[String]) -> Self {
        let whole: Vec<String> = names
            .iter()
            .map(|name| name.trim().to_lowercase())
            .filter(|name| !name.is_empty())
            .collect();
        let mut numbered: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for name in &whole {
            let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let number = name
                .get(word.len()..)
                .and_then(|digits| digits.parse().ok());
            let word = word.trim_end_matches([' ', '-', '.']);
            // A title that ends with a number has blanks.
            if let Some(number) = number.filter(|_| !word.is_empty() && !word.contains(' ')) {
                numbered.entry(word.to_owned()).or_default().insert(number);
            }
        }
        Self { whole, numbered }
    }

    /// Whether a text mentions the child.
    fn are_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let is_whole = |name: &String| contains_whole_word(&text, name);
        self.whole.iter().any(is_whole) || self.are_numbered_in(&text)
    }

    /// Whether a text mentions the child by its number, also in a list or range: `chapters 2–4`.
    fn are_numbered_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.numbered.iter().any(|(word, numbers)| {
            let found = find_numbers(&text, word);
            let mut found = found.iter();
            found.any(|range| numbers.iter().any(|number| range.contains(number)))
        })
    }

    /// Whether an item or a row of a section names the child by its number alone.
    fn are_bare_in(&self, section: &Section) -> bool {
        let lines: Vec<&str> = section.body.lines().collect();
        let kinds = classify_lines(&lines);
        let spelled = spell_bare_numbers(&section.heading, &lines, &kinds, self);
        let mut spelled = spelled.iter().filter(|line| matches!(line, Cow::Owned(_)));
        spelled.any(|line| self.are_numbered_in(line))
    }

    /// Whether a text names the child or one of its siblings by number.
    fn name_any(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let mut words = self.numbered.keys();
        words.any(|word| !find_numbers(&lower, word).is_empty()) || self.are_in(text)
    }
}

/// Returns the numbers that follow a word in a text, in lists and ranges too.
fn find_numbers(text: &str, word: &str) -> Vec<RangeInclusive<u32>> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices(word) {
        let before = text.get(..start).and_then(|head| head.chars().next_back());
        if before.is_some_and(char::is_alphanumeric) {
            continue;
        }
        let after = text.get(start + word.len()..).unwrap_or_default();
        let rest = after.trim_start_matches(['.', ' ', '\u{a0}', '№', '#', '*', '_', '-']);
        if rest.len() < after.len() {
            found.extend(read_numbers(rest));
        }
    }
    found
}

/// Reads the numbers at the start of a text: `3`, `2–4`, `2, 3 and 5`.
fn read_numbers(text: &str) -> Vec<RangeInclusive<u32>> {
    const RANGES: [&str; 6] = ["–", "—", "-", " – ", " — ", " - "];
    const LISTS: [&str; 6] = [", ", ",", " and ", " & ", " и ", "/"];
    let mut found: Vec<RangeInclusive<u32>> = Vec::new();
    let (mut rest, mut is_end) = (text, false);
    loop {
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        let Ok(number) = digits.parse::<u32>() else {
            return found;
        };
        match found.last_mut().filter(|_| is_end) {
            Some(last) => *last = *last.start()..=number,
            None => found.push(number..=number),
        }
        let strip = |separators: &[&str]| {
            let mut stripped = separators.iter().map(|one| after.strip_prefix(one));
            stripped
                .find_map(|rest| rest.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
        };
        (rest, is_end) = match (strip(&RANGES), strip(&LISTS)) {
            (Some(rest), _) => (rest, true),
            (None, Some(rest)) => (rest, false),
            (None, None) => return found,
        };
    }
}

/// What a line of a section is part of.
#[derive(Clone, Copy)]
enum LineKind {
    /// Neither list nor table, or the head of a table.
    Text,
    Row,
    Item {
        indent: usize,
    },
    /// A further line of the item above it.
    Within,
}

fn classify_lines(lines: &[&str]) -> Vec<LineKind> {
    let mut kinds: Vec<LineKind> = Vec::with_capacity(lines.len());
    let mut is_code = false;
    for (at, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let is_fence = trimmed.starts_with("```");
        let is_row = |at: usize| {
            lines
                .get(at)
                .is_some_and(|line| line.trim_start().starts_with('|'))
        };
        let in_list = matches!(kinds.last(), Some(LineKind::Item { .. } | LineKind::Within));
        let kind = if is_code || is_fence {
            LineKind::Text
        } else if is_row(at) {
            // The first two rows are the head of the table.
            let before = lines[..at]
                .iter()
                .rev()
                .take_while(|line| line.trim_start().starts_with('|'));
            if before.count() < 2 {
                LineKind::Text
            } else {
                LineKind::Row
            }
        } else if is_list_item(trimmed) {
            LineKind::Item { indent }
        } else if in_list && (indent > 0 || trimmed.is_empty()) {
            LineKind::Within
        } else {
            LineKind::Text
        };
        is_code ^= is_fence;
        kinds.push(kind);
    }
    kinds
}

/// Whether a line starts a list item: `- `, `* `, `+ `, `3. `, `3) `.
fn is_list_item(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marks: &[char] = if rest.len() == line.len() {
        &['-', '*', '+']
    } else {
        &['.', ')']
    };
    rest.strip_prefix(marks)
        .is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// Marks an item with everything nested in it and the items it is nested in.
fn mark_item(kinds: &[LineKind], start: usize, indent: usize, is_relied: &mut [bool]) {
    is_relied[start] = true;
    for (at, kind) in kinds.iter().enumerate().skip(start + 1) {
        match kind {
            LineKind::Item { indent: inner } if *inner > indent => is_relied[at] = true,
            LineKind::Within => is_relied[at] = true,
            _ => break,
        }
    }
    let mut outer = indent;
    for (at, kind) in kinds.iter().enumerate().take(start).rev() {
        match kind {
            LineKind::Item { indent } if *indent < outer => {
                is_relied[at] = true;
                outer = *indent;
            }
            LineKind::Item { .. } | LineKind::Within => {}
            _ => break,
        }
    }
}

/// Returns for each section whether it mentions a child by one of its names.
pub(crate) fn mentioned_sections(sections: &[Section], names: &[String]) -> Vec<bool> {
    let mentioning = headings_that_mention(sections, names);
    sections
        .iter()
        .map(|section| mentioning.contains(section.heading.as_str()))
        .collect()
}

/// Returns the headings of the sections that mention a child by one of its names.
fn headings_that_mention<'s>(sections: &'s [Section], names: &[String]) -> HashSet<&'s str> {
    let names = ChildNames::from_names(names);
    sections
        .iter()
        .filter(|section| {
            names.are_in(&section.heading)
                || names.are_in(&section.body)
                || names.are_bare_in(section)
        })
        .map(|section| section.heading.as_str())
        .collect()
}

/// Whether `text` contains `name` as whole words, so that `chapter 1` does not match `chapter 12`.
fn contains_whole_word(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(start, found)| {
        let before = text.get(..start).and_then(|head| head.chars().next_back());
        let after = text
            .get(start + found.len()..)
            .and_then(|tail| tail.chars().next());
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        !is_word(before) && !is_word(after)
    })
}

/// Parses a plan's metadata from its front matter and first heading.
#[must_use]
pub fn describe_plan(text: &str) -> Description {
    let front = front_matter::parse_front_matter(text);
    let title = front
        .get_text("title")
        .or_else(|| {
            split_sections(text)
                .into_iter()
                .find(|section| section.depth > 0)
                .map(|section| section.heading)
        })
        .filter(|title| !title.is_empty());
    let mut description = Description {
        title,
        needs: front.get_list("needs"),
        relies_on: front.get_list("relies_on"),
        work: None,
    };
    // Masked as it is stored: otherwise a file with a secret in its heading would differ from its
    // record on every scan.
    mask_description(&mut description, &mut SecretCount::default());
    description
}
