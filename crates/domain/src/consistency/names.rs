//! Names that a plan lists under a facet.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use super::FacetPassages;
use super::extract::{ParsedPlan, Passage, parse_labels};
use super::item::{Form, names_in, names_in_paragraph, names_in_value};
use super::markdown::{Block, Table};
use super::words::{fold_label, fold_text, is_listed};

/// Keys and headers of a name column; folded.
const NAME_WORDS: &str =
    "name names имя имена название ім'я назва nombre nom nome imię 名前 名称 이름";

/// Headings and labels that group names without being one; folded.
const GROUP_WORDS: &str = "main primary major secondary supporting minor new other others additional key present \
    mentioned protagonist protagonists antagonist antagonists главные главный главная основные второстепенные \
    второстепенный эпизодические новые другие прочие ключевые протагонист антагонист упоминаются";

/// Returns the names a plan lists under a facet, as spelled there, without duplicates.
pub(super) fn collect_names(about: FacetPassages<'_>) -> Vec<String> {
    let FacetPassages {
        document,
        facet,
        passages,
    } = about;
    let reader = NameReader { document, facet };
    let mut found = Vec::new();
    for passage in passages {
        match passage {
            Passage::Value(value) => found.extend(reader.read_front_matter(value)),
            Passage::Text(text) => found.extend(names_in_value(text)),
            Passage::Cell { text, .. } => found.extend(names_in(text, Form::Inline)),
            Passage::Listing(range) => found.extend(reader.read_listing(range.clone())),
            Passage::Section(range) => found.extend(reader.read_section(range.clone())),
        }
    }
    let mut seen = HashSet::new();
    found.retain(|name| !reader.is_group(name) && seen.insert(fold_text(name)));
    // Passages overlap and front matter is sorted by key, so the names are put in the order of the
    // text again.
    found.sort_by_cached_key(|name| document.text.find(name.as_str()).unwrap_or(usize::MAX));
    found
}

/// Reads the names of one facet of a document.
struct NameReader<'d, 'w> {
    document: &'d ParsedPlan<'w>,
    facet: usize,
}

impl NameReader<'_, '_> {
    fn read_front_matter(&self, value: &Value) -> Vec<String> {
        match value {
            Value::String(text) => names_in(text, Form::Inline),
            Value::Array(items) => items
                .iter()
                .flat_map(|item| self.read_list_value(item))
                .collect(),
            Value::Object(_) => self.read_map(value),
            Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
        }
    }

    fn read_list_value(&self, value: &Value) -> Vec<String> {
        match value {
            Value::String(text) => names_in(text, Form::Item),
            // `- Alice: the captain` is a map with one key; of several keys none is certainly the
            // name.
            Value::Object(map) if map.len() == 1 || own_name(value).is_some() => {
                self.read_map(value)
            }
            _ => Vec::new(),
        }
    }

    fn read_map(&self, value: &Value) -> Vec<String> {
        if let Some(name) = own_name(value) {
            return names_in(name, Form::Item);
        }
        let mut found = Vec::new();
        for (key, inner) in value.as_object().into_iter().flatten() {
            if self.is_group(key) || self.document.fits_label(self.facet, key) {
                found.extend(self.read_front_matter(inner));
            // A key of another facet nested here (`location:` of a character) is an attribute, not
            // a name.
            } else if !self.document.fits_any_label(key) {
                found.extend(names_in(key, Form::Item));
            }
        }
        found
    }

    fn read_section(&self, range: Range<usize>) -> Vec<String> {
        if self.names_itself(range.start) {
            return Vec::new();
        }
        let body = range.start + 1..range.end;
        let sub_heading = self
            .document
            .blocks_in(body.clone())
            .find(|(_, block)| block.is_heading());
        let mut at = sub_heading.map_or(range.end, |(index, _)| index);
        // Below `Characters and places` each item could be either.
        let is_ambiguous = self.document.heading_facets(range.start).len() > 1;
        let mut found = match (is_ambiguous, sub_heading) {
            (true, _) => Vec::new(),
            (false, None) => self.read_listing(body),
            // With sub-headings, paragraphs before them are an introduction.
            (false, Some(_)) => self.read_lists_and_tables(body.start..at),
        };
        while at < range.end {
            let end = self.document.section_end(at).min(range.end);
            found.extend(self.read_sub_section(at..end));
            at = end;
        }
        found
    }

    /// Whether a heading contains the name itself: the text below `Location: Medbay` describes it.
    fn names_itself(&self, heading: usize) -> bool {
        let text = self
            .document
            .blocks_in(heading..heading + 1)
            .find_map(|(_, block)| block.text())
            .unwrap_or_default();
        let value = self
            .document
            .value_in_heading(self.facet, text)
            .filter(|value| !self.is_group(value));
        value.is_some_and(|value| !names_in(value, Form::Inline).is_empty())
    }

    fn read_sub_section(&self, range: Range<usize>) -> Vec<String> {
        let owners = self.document.heading_facets(range.start);
        let heading = self
            .document
            .blocks_in(range.clone())
            .find_map(|(_, block)| block.text())
            .unwrap_or_default();
        if owners.contains(&self.facet) || (owners.is_empty() && self.is_group(heading)) {
            return self.read_section(range);
        }
        // The text below a name describes it: `Role: captain` is not a name.
        if owners.is_empty() {
            names_in(heading, Form::Item)
        } else {
            Vec::new()
        }
    }

    fn read_listing(&self, range: Range<usize>) -> Vec<String> {
        let is_paragraph = |block: &Block| matches!(block, Block::Paragraph { .. });
        // Paragraphs are read only if there is nothing but paragraphs; beside a list they are
        // comments on it.
        if !self
            .document
            .blocks_in(range.clone())
            .all(|(_, block)| is_paragraph(block))
        {
            return self.read_lists_and_tables(range);
        }
        let paragraphs = self
            .document
            .blocks_in(range)
            .filter_map(|(_, block)| block.text());
        paragraphs
            .filter(|text| !text.lines().any(|line| self.document.is_labelled(line)))
            .flat_map(names_in_paragraph)
            .collect()
    }

    /// Returns the names in list items and tables. Nested items describe the item above them,
    /// unless that is a group.
    fn read_lists_and_tables(&self, range: Range<usize>) -> Vec<String> {
        let mut found = Vec::new();
        let mut top = None;
        // The nesting of an item that groups the ones below it.
        let mut group: Option<usize> = None;
        for (_, block) in self.document.blocks_in(range) {
            match block {
                Block::Table(table) => found.extend(self.read_table(table)),
                Block::Item { nesting, text } => {
                    let is_top = *nesting <= *top.get_or_insert(*nesting);
                    group = group.filter(|group| group < nesting);
                    if !is_top && group.is_none_or(|group| group + 1 != *nesting) {
                        continue;
                    }
                    match self.read_item(text) {
                        Some(names) => found.extend(names),
                        None => group = Some(*nesting),
                    }
                }
                Block::Paragraph { .. } | Block::Heading { .. } => {}
            }
        }
        found
    }

    /// Returns the names of a list item, or `None` if it groups the items below it.
    fn read_item(&self, text: &str) -> Option<Vec<String>> {
        let line = text.lines().next().unwrap_or_default();
        if self.document.is_labelled(line) {
            // A label is a passage of its own, which is read separately.
            return Some(Vec::new());
        }
        if self.is_group(line) {
            return None;
        }
        match parse_labels(line)
            .next()
            .filter(|label| self.is_group(label.name))
        {
            Some(label) => Some(names_in(label.value, Form::Inline)),
            None => Some(names_in(line, Form::Item)),
        }
    }

    fn read_table(&self, table: &Table) -> Vec<String> {
        if self.document.is_vertical(table) {
            return Vec::new();
        }
        let headers = || table.header.iter().enumerate();
        // By preference: the facet's own column, one that is called "name", the first with a word
        // as header.
        let own = headers().find(|(_, header)| self.document.fits_label(self.facet, header));
        let named = || headers().find(|(_, header)| is_listed(NAME_WORDS, &fold_label(header)));
        // Columns with `#` or `№` number the rows.
        let is_name = |header: &str| {
            header.contains(char::is_alphabetic) && !self.document.fits_any_label(header)
        };
        let first = || headers().find(|(_, header)| is_name(header));
        let Some((column, _)) = own.or_else(named).or_else(first) else {
            return Vec::new();
        };
        table
            .rows
            .iter()
            .filter_map(|row| row.get(column))
            .flat_map(|cell| names_in(cell, Form::Inline))
            .collect()
    }

    /// Whether a text only groups names: `Main characters`, `Второстепенные`.
    fn is_group(&self, text: &str) -> bool {
        let label = fold_label(text);
        let is_group_word =
            |word: &str| is_listed(GROUP_WORDS, word) || self.document.is_facet_word(word);
        !label.is_empty() && label.split_whitespace().all(is_group_word)
    }
}

/// Returns the value of a map's name key: `{name: Alice, role: captain}`.
fn own_name(value: &Value) -> Option<&str> {
    let map = value.as_object()?;
    map.iter()
        .find(|(key, _)| is_listed(NAME_WORDS, &fold_label(key)))
        .and_then(|(_, name)| name.as_str())
}
