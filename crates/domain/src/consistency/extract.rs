//! Finds the passages of a plan that are about a facet: front matter keys, sections, labels,
//! tables.
//!
//! It only locates them; `names` and `timeline` parse what they say.

use std::ops::Range;

use serde_json::{Map, Value};

use super::markdown::{self, Block, Table};
use super::words::{FacetWords, LabelMatch};
use crate::front_matter;

/// A parsed plan.
pub(super) struct ParsedPlan<'t> {
    facets: &'t [FacetWords],
    pub(super) text: &'t str,
    /// Keys of the front matter.
    keys: Map<String, Value>,
    blocks: Vec<Block>,
    /// For each block, the facets it is a heading of.
    owners: Vec<Vec<usize>>,
}

/// One passage about a facet.
#[derive(Debug)]
pub(super) enum Passage<'d> {
    /// A value of the front matter.
    Value(&'d Value),
    /// After a label: `Characters: Alice, Bob`.
    Text(&'d str),
    /// A cell of a table's column.
    Cell { header: &'d str, text: &'d str },
    /// Blocks below a label without a value on its own line.
    Listing(Range<usize>),
    /// A heading and the blocks below it.
    Section(Range<usize>),
}

/// A label and its value: `Location: Medbay`.
pub(super) struct FacetLabel<'t> {
    pub(super) name: &'t str,
    pub(super) value: &'t str,
    /// A dash is weaker evidence than a colon: it can separate anything.
    by_dash: bool,
}

impl<'t> ParsedPlan<'t> {
    /// Parses a plan.
    pub(super) fn parse(facets: &'t [FacetWords], text: &'t str) -> Self {
        let (front_block, body) = front_matter::split_front_matter(text);
        let front = front_matter::parse_front_matter(text);
        let mut blocks = Vec::new();
        if front.problem.is_some() {
            // Invalid YAML is parsed as Markdown, in which its labels and lists still show.
            blocks.extend(markdown::parse_blocks(front_block.unwrap_or_default()));
        }
        blocks.extend(markdown::parse_blocks(body));
        let owners = find_heading_facets(facets, &blocks);
        Self {
            facets,
            text,
            keys: front.keys,
            blocks,
            owners,
        }
    }

    /// Returns the groups of names that the front matter declares to mean the same:
    /// `aliases: {Rein: [the doctor]}` or `aliases: [[Rein, the doctor]]`.
    pub(super) fn alias_groups(&self) -> Vec<Vec<String>> {
        // Strings alone, as note editors write them, are other names of the file, not of a
        // character in it.
        match self.keys.get("aliases") {
            Some(Value::Object(map)) => map
                .iter()
                .map(|(name, others)| {
                    let mut group = vec![name.clone()];
                    group.extend(list_strings(others));
                    group
                })
                .collect(),
            Some(Value::Array(groups)) => groups
                .iter()
                .filter(|group| group.is_array())
                .map(list_strings)
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the passages about each facet, in order.
    ///
    /// For all facets at once: finding the labels in every line is most of the work.
    pub(super) fn collect_passages(&self) -> Vec<Vec<Passage<'_>>> {
        let mut passages: Vec<Vec<Passage<'_>>> = Vec::with_capacity(self.facets.len());
        for words in self.facets {
            let mut found = Vec::new();
            collect_keyed_values(words, &self.keys, &mut found);
            passages.push(found);
        }
        let mut section_ends = vec![0; self.facets.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            for facet in self.heading_facets(index) {
                // A nested section of the same facet is part of the outer passage.
                if index >= section_ends[*facet] {
                    section_ends[*facet] = self.section_end(index);
                    passages[*facet].push(Passage::Section(index..section_ends[*facet]));
                }
            }
            match block {
                Block::Table(table) => {
                    for (words, found) in self.facets.iter().zip(&mut passages) {
                        self.collect_table_passages(words, table, found);
                    }
                }
                Block::Heading { text, .. }
                | Block::Item { text, .. }
                | Block::Paragraph { text, .. } => {
                    self.collect_labelled_passages(index, text, &mut passages);
                }
            }
        }
        passages
    }

    /// Returns the blocks of a range with their indices.
    pub(super) fn blocks_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &Block)> {
        self.blocks
            .iter()
            .enumerate()
            .take(range.end)
            .skip(range.start)
    }

    /// Returns the facets a block is a heading of.
    pub(super) fn heading_facets(&self, index: usize) -> &[usize] {
        self.owners.get(index).map_or(&[], Vec::as_slice)
    }

    /// Returns the end of a heading's section: the next heading that is not below it.
    pub(super) fn section_end(&self, index: usize) -> usize {
        let own = match self.blocks.get(index) {
            Some(Block::Heading { depth, .. }) => *depth,
            _ => return index + 1,
        };
        let is_end = |block: &Block| matches!(block, Block::Heading { depth, .. } if *depth <= own);
        self.blocks_in(index + 1..self.blocks.len())
            .find(|(_, block)| is_end(block))
            .map_or(self.blocks.len(), |(end, _)| end)
    }

    /// Whether a line is a label of any facet.
    pub(super) fn is_labelled(&self, line: &str) -> bool {
        self.is_facet_word(line)
            || self
                .facets
                .iter()
                .any(|words| parse_labels(line).any(|label| label.names_facet(words)))
    }

    /// Whether a text is a word of some facet and nothing else.
    pub(super) fn is_facet_word(&self, text: &str) -> bool {
        self.facets.iter().any(|words| words.is_word(text))
    }

    /// Returns the value in a facet's heading: `Medbay` of `Location: Medbay`.
    pub(super) fn value_in_heading<'h>(&self, facet: usize, heading: &'h str) -> Option<&'h str> {
        let words = self.facets.get(facet)?;
        parse_label(heading)
            .filter(|label| label.names_facet(words))
            .map(|label| label.value)
    }

    /// Whether a label names the given facet.
    pub(super) fn fits_label(&self, facet: usize, label: &str) -> bool {
        self.facets
            .get(facet)
            .is_some_and(|words| words.fits_label(label))
    }

    /// Whether a label names any facet.
    pub(super) fn fits_any_label(&self, label: &str) -> bool {
        self.facets.iter().any(|words| words.fits_label(label))
    }

    /// Whether a table has its labels in the first column instead of the header row.
    pub(super) fn is_vertical(&self, table: &Table) -> bool {
        table
            .rows
            .iter()
            .filter_map(|row| row.first())
            .any(|cell| self.is_facet_word(cell))
    }

    /// Collects the labelled passages of one block, for each facet.
    fn collect_labelled_passages<'d>(
        &'d self,
        index: usize,
        text: &'d str,
        passages: &mut [Vec<Passage<'d>>],
    ) {
        let is_heading = self.blocks.get(index).is_some_and(Block::is_heading);
        // `**Characters**` alone on its line, used instead of a heading.
        let is_word = |words: &FacetWords| !is_heading && words.is_word(text);
        for (words, found) in self.facets.iter().zip(passages.iter_mut()) {
            if is_word(words) {
                found.push(Passage::Listing(self.listing_after(index)));
            }
        }
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            for label in parse_labels(line) {
                let fitting = self.facets.iter().zip(passages.iter_mut());
                for (_, found) in
                    fitting.filter(|(words, _)| label.names_facet(words) && !is_word(words))
                {
                    // A label without a value takes the next line, unless that is a label itself; a
                    // heading has its section instead.
                    match lines.peek() {
                        _ if !label.value.is_empty() => found.push(Passage::Text(label.value)),
                        Some(next) if !self.is_labelled(next) => found.push(Passage::Text(next)),
                        _ if is_heading => {}
                        _ => found.push(Passage::Listing(self.listing_after(index))),
                    }
                }
            }
        }
    }

    /// Returns the blocks that a label without a value refers to.
    fn listing_after(&self, index: usize) -> Range<usize> {
        let start = index + 1;
        let own = match self.blocks.get(index) {
            Some(Block::Item { nesting, .. } | Block::Paragraph { nesting, .. }) => *nesting,
            _ => return start..start,
        };
        let is_below = |block: &Block| match block {
            Block::Item { nesting, .. } | Block::Paragraph { nesting, .. } => *nesting > own,
            Block::Table(_) => own == 0,
            Block::Heading { .. } => false,
        };
        // One paragraph directly below the label is its value; a second one is already something
        // else.
        if let Some(Block::Paragraph { nesting, text }) = self.blocks.get(start)
            && *nesting == own
            && !self.is_labelled(text)
        {
            return start..start + 1;
        }
        let length = self
            .blocks
            .iter()
            .skip(start)
            .take_while(|block| is_below(block))
            .count();
        start..start + length
    }

    /// Collects the cells of a table that are about a facet.
    fn collect_table_passages<'d>(
        &self,
        words: &FacetWords,
        table: &'d Table,
        passages: &mut Vec<Passage<'d>>,
    ) {
        if self.is_vertical(table) {
            // Markdown requires a header row, so in a vertical table it is the first label.
            for row in std::iter::once(&table.header).chain(&table.rows) {
                if row.first().is_some_and(|cell| words.fits_label(cell)) {
                    passages.extend(row.iter().skip(1).map(|cell| Passage::Text(cell)));
                }
            }
            return;
        }
        for (column, header) in table
            .header
            .iter()
            .enumerate()
            .filter(|(_, header)| words.fits_label(header))
        {
            let cells = table.rows.iter().filter_map(|row| row.get(column));
            passages.extend(cells.map(|text| Passage::Cell { header, text }));
        }
    }
}

impl FacetLabel<'_> {
    /// Whether the label names the facet; after a dash only the exact word counts.
    fn names_facet(&self, words: &FacetWords) -> bool {
        if self.by_dash {
            words.is_word(self.name)
        } else {
            words.fits_label(self.name)
        }
    }
}

/// Returns a string, or the strings of a list.
fn list_strings(value: &Value) -> Vec<String> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    items
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Returns the labels of a line: one at its start, or one in each part of `POV: Alice | Location:
/// Medbay`.
pub(super) fn parse_labels(line: &str) -> impl Iterator<Item = FacetLabel<'_>> {
    line.split(" | ")
        .flat_map(|part| part.split(" • "))
        .flat_map(|part| part.split(" · "))
        .filter_map(parse_label)
}

/// Parses one label.
fn parse_label(part: &str) -> Option<FacetLabel<'_>> {
    let colon = part
        .split_once([':', '：'])
        // The colon of a URL is not that of a label.
        .filter(|(_, value)| !value.starts_with("//"));
    let by_dash = colon.is_none();
    let (name, value) = colon.or_else(|| {
        [" — ", " – ", " - "]
            .iter()
            .find_map(|dash| part.split_once(dash))
    })?;
    Some(FacetLabel {
        name,
        value: value.trim(),
        by_dash,
    })
}

/// Collects the front matter values of a facet, also from nested maps.
fn collect_keyed_values<'d>(
    words: &FacetWords,
    keys: &'d Map<String, Value>,
    passages: &mut Vec<Passage<'d>>,
) {
    for (key, value) in keys {
        if words.fits_label(&key.replace('-', " ")) {
            passages.push(Passage::Value(value));
            continue;
        }
        let inner = match value {
            Value::Array(items) => items.as_slice(),
            other => std::slice::from_ref(other),
        };
        for map in inner.iter().filter_map(Value::as_object) {
            collect_keyed_values(words, map, passages);
        }
    }
}

/// Returns for each block the facets it is a heading of.
fn find_heading_facets(facets: &[FacetWords], blocks: &[Block]) -> Vec<Vec<usize>> {
    let title = find_title(blocks);
    // The headings above the current block: their depth and their facets.
    let mut above: Vec<(u8, Vec<usize>)> = Vec::new();
    let mut owners = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        let Block::Heading { depth, text } = block else {
            owners.push(Vec::new());
            continue;
        };
        above.retain(|(upper, _)| upper < depth);
        let is_strong_enough = |facet: usize, words: &FacetWords| {
            let inside_another = above
                .iter()
                .any(|(_, owned)| owned.iter().any(|owner| *owner != facet));
            match match_heading_text(words, text) {
                // A title can be any phrase, such as `People of the Abyss`.
                _ if title == Some(index) => words.is_word(text),
                LabelMatch::Exact | LabelMatch::Ends => true,
                // Below `Locations`, `Cast Iron Bridge` is a place.
                LabelMatch::Starts => !inside_another,
                LabelMatch::None => false,
            }
        };
        let fitting = facets
            .iter()
            .enumerate()
            .filter(|(facet, words)| is_strong_enough(*facet, words));
        let owned: Vec<usize> = fitting.map(|(facet, _)| facet).collect();
        above.push((*depth, owned.clone()));
        owners.push(owned);
    }
    owners
}

/// Returns the one heading above all others, if there is one.
fn find_title(blocks: &[Block]) -> Option<usize> {
    let mut headings = blocks
        .iter()
        .enumerate()
        .filter_map(|(index, block)| match block {
            Block::Heading { depth, .. } => Some((index, *depth)),
            _ => None,
        });
    let (first, depth) = headings.next()?;
    let (count, is_top) = headings.fold((0, true), |(count, top), (_, other)| {
        (count + 1, top && other > depth)
    });
    // A plan with a single heading has a section, not a title.
    (count > 0 && is_top).then_some(first)
}

/// Compares the part of a heading before its colon or dash. Behind it only the bare word counts
/// (`Step 1: Characters`), because a title can be there as well: `Scene 2: A safe place`.
fn match_heading_text(words: &FacetWords, heading: &str) -> LabelMatch {
    let Some(label) = parse_label(heading) else {
        return words.match_heading(heading);
    };
    if words.is_word(label.value) {
        LabelMatch::Exact
    } else {
        words.match_heading(label.name)
    }
}
