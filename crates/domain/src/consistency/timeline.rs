//! Moments of a plan, and those that lie outside its parent's time span.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use serde_json::Value;

use super::FacetPassages;
use super::extract::{ParsedPlan, Passage};
use super::markdown::{Block, Table};
use super::moments::{self, Moment, Scale};

/// A moment outside the parent's span.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) moment: String,
    pub(super) span: String,
}

/// Returns the moments a plan gives under a facet, in order.
pub(super) fn collect_moments(about: FacetPassages<'_>) -> Vec<Moment> {
    let mut lines = Vec::new();
    for passage in about.passages {
        match passage {
            Passage::Value(value) => collect_value_lines(value, &mut lines),
            Passage::Text(text) => lines.extend(text.lines().map(str::to_owned)),
            Passage::Cell { header, text } => lines.push(prefix_with_header(header, text)),
            Passage::Listing(range) | Passage::Section(range) => {
                collect_block_lines(about.document, about.facet, range.clone(), &mut lines)
            }
        }
    }
    let mut found: Vec<Moment> = Vec::new();
    for moment in lines.iter().flat_map(|line| moments::parse_moments(line)) {
        if !found.contains(&moment) {
            found.push(moment);
        }
    }
    found
}

/// Returns the child's moments outside the parent's span, scale by scale in the child's order.
pub(super) fn find_conflicts(child: &[Moment], parent: &[Moment]) -> Vec<Conflict> {
    let mut scales: Vec<Scale> = Vec::new();
    for moment in child {
        if !scales.contains(&moment.scale) {
            scales.push(moment.scale);
        }
    }
    let mut found = Vec::new();
    // Scales are compared separately: how many days a week of the story has, or which date day 1
    // is, is not known.
    for span in scales
        .into_iter()
        .filter_map(|scale| Span::from_moments(scale, parent))
    {
        let own = child
            .iter()
            .filter(|moment| moment.scale == span.least.scale);
        for conflict in own.filter_map(|moment| span.conflict_with(*moment)) {
            if !found.contains(&conflict) {
                found.push(conflict);
            }
        }
    }
    found
}

/// The parent's span on one scale, from its earliest to its latest moment.
struct Span {
    least: Moment,
    greatest: Moment,
}

impl Span {
    fn from_moments(scale: Scale, parent: &[Moment]) -> Option<Self> {
        let own: Vec<Moment> = parent
            .iter()
            .copied()
            .filter(|moment| moment.scale == scale)
            .collect();
        let least = *own.iter().min_by_key(|moment| moment.start_point())?;
        let greatest = *own.iter().max_by_key(|moment| moment.end_point())?;
        // A single clock time is when something starts, not when it ends; and decreasing times
        // (`22:00`, `02:00`) pass midnight.
        let is_span = least != greatest && own.is_sorted_by_key(|moment| moment.value);
        (scale != Scale::Clock || is_span).then_some(Self { least, greatest })
    }

    /// Returns the conflict of a moment with the span, if there is one.
    fn conflict_with(&self, moment: Moment) -> Option<Conflict> {
        let (least, greatest) = (self.least.without_clock(), self.greatest.without_clock());
        if !(least.value..=greatest.value).contains(&moment.value) {
            let span = Self { least, greatest };
            return Some(Conflict {
                moment: moment.without_clock().to_string(),
                span: span.to_string(),
            });
        }
        // A parent with a single clock time does not limit the day: it names one event of it.
        let is_instant = self.least == self.greatest && self.least.clock.is_some();
        let is_outside = moment.start_point() < self.least.start_point()
            || moment.end_point() > self.greatest.end_point();
        (moment.clock.is_some() && !is_instant && is_outside).then(|| Conflict {
            moment: moment.to_string(),
            span: self.to_string(),
        })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, greatest } = self;
        match least.value.cmp(&greatest.value) {
            Ordering::Equal if least.clock == greatest.clock => write!(formatter, "{least}"),
            Ordering::Less if least.clock.is_none() && greatest.clock.is_none() => least
                .scale
                .write_span(formatter, least.value, greatest.value),
            _ => write!(formatter, "{least} – {greatest}"),
        }
    }
}

/// Collects the lines of a range of blocks, without nested sections of other facets.
fn collect_block_lines(
    document: &ParsedPlan<'_>,
    facet: usize,
    range: Range<usize>,
    lines: &mut Vec<String>,
) {
    let mut skip_to = range.start;
    for (index, block) in document.blocks_in(range) {
        let owners = document.heading_facets(index);
        // A heading of another facet inside of this one ends where its own section does.
        if !owners.is_empty() && !owners.contains(&facet) {
            skip_to = skip_to.max(document.section_end(index));
        }
        if index < skip_to {
            continue;
        }
        match block {
            Block::Table(table) => lines.extend(table.rows.iter().map(|row| join_row(table, row))),
            Block::Heading { text, .. }
            | Block::Item { text, .. }
            | Block::Paragraph { text, .. } => {
                lines.extend(text.lines().map(str::to_owned));
            }
        }
    }
}

/// Joins a table row to one line, so that a day and its clock time are parsed together.
fn join_row(table: &Table, row: &[String]) -> String {
    let headers = table
        .header
        .iter()
        .map(String::as_str)
        .chain(std::iter::repeat(""));
    row.iter()
        .zip(headers)
        .map(|(cell, header)| prefix_with_header(header, cell))
        .collect::<Vec<_>>()
        .join(" | ")
}

/// Prefixes a bare number with its header or key: `3` below `Day` is `Day 3`.
fn prefix_with_header(header: &str, text: &str) -> String {
    if text.starts_with(char::is_numeric) {
        format!("{header} {text}")
    } else {
        text.to_owned()
    }
}

/// Collects the lines of a front matter value.
fn collect_value_lines(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::String(text) => lines.extend(text.lines().map(str::to_owned)),
        Value::Number(number) => lines.push(number.to_string()),
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_value_lines(item, lines)),
        Value::Object(map) => {
            let mut line = Vec::new();
            for (key, inner) in map {
                match inner {
                    Value::String(text) => line.push(prefix_with_header(key, text)),
                    Value::Number(number) => {
                        line.push(prefix_with_header(key, &number.to_string()))
                    }
                    other => collect_value_lines(other, lines),
                }
            }
            // The scalars of one map belong together, like the cells of a row.
            lines.push(line.join(", "));
        }
        Value::Null | Value::Bool(_) => {}
    }
}
