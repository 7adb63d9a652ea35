//! Flattens a Markdown plan to a list of blocks with plain text.
//!
//! The structure that matters here is headings, nesting of lists, and tables; emphasis and links
//! are dropped.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// One block of a plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    Heading {
        depth: u8,
        text: String,
    },
    /// The first text of a list item; lists in lists have a nesting above 1.
    Item {
        nesting: usize,
        text: String,
    },
    /// Any other text; below a list item it has that item's nesting, outside lists 0.
    Paragraph {
        nesting: usize,
        text: String,
    },
    Table(Table),
}

/// A table with its header row.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Block {
    /// Returns the text; tables have cells instead.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Heading { text, .. } | Self::Item { text, .. } | Self::Paragraph { text, .. } => {
                Some(text)
            }
            Self::Table(_) => None,
        }
    }

    pub(super) fn is_heading(&self) -> bool {
        matches!(self, Self::Heading { .. })
    }
}

/// Parses the blocks of a plan's body.
pub(super) fn parse_blocks(body: &str) -> Vec<Block> {
    // Wikilinks and task lists are common in notes of writers (Obsidian); without these options
    // their brackets would become part of the names.
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_WIKILINKS;
    let mut reader = BlockCollector::default();
    for event in Parser::new_ext(body, options) {
        reader.handle_event(event);
    }
    reader.end_text();
    reader.blocks
}

/// Collects blocks from parser events.
#[derive(Default)]
struct BlockCollector {
    blocks: Vec<Block>,
    text: String,
    /// Number of open lists.
    nesting: usize,
    /// Whether a list item was opened and has no text yet.
    starts_item: bool,
    table: Table,
}

impl BlockCollector {
    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(&tag),
            Event::End(tag) => self.end_tag(tag),
            // Code spans count as text: names are often set in backticks.
            Event::Text(text) | Event::Code(text) => self.text.push_str(&text),
            Event::SoftBreak | Event::HardBreak => self.break_line(),
            Event::InlineHtml(html) if html.starts_with("<br") => self.break_line(),
            _ => {}
        }
    }

    fn start_tag(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { .. } | Tag::Paragraph | Tag::CodeBlock(_) | Tag::BlockQuote(_) => {
                self.end_text()
            }
            Tag::List(_) => {
                self.end_text();
                self.nesting += 1;
            }
            Tag::Item => {
                self.end_text();
                self.starts_item = true;
            }
            Tag::Table(_) => {
                self.end_text();
                self.table = Table::default();
            }
            Tag::TableRow => self.table.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let text = std::mem::take(&mut self.text).trim().to_owned();
                self.blocks.push(Block::Heading {
                    depth: level as u8,
                    text,
                });
            }
            TagEnd::Paragraph | TagEnd::CodeBlock => self.end_text(),
            TagEnd::List(_) => {
                self.end_text();
                self.nesting = self.nesting.saturating_sub(1);
            }
            TagEnd::Item => {
                self.end_text();
                self.starts_item = false;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text).trim().to_owned();
                self.table
                    .rows
                    .last_mut()
                    // The parser reports the header's cells before the first `TableRow`.
                    .unwrap_or(&mut self.table.header)
                    .push(cell);
            }
            TagEnd::Table => self
                .blocks
                .push(Block::Table(std::mem::take(&mut self.table))),
            _ => {}
        }
    }

    fn break_line(&mut self) {
        // A line that ends with a comma continues: `Alice, Bob,` and `Charlie` below are one list.
        let goes_on = self.text.trim_end().ends_with([',', '，', '、']);
        self.text.push(if goes_on { ' ' } else { '\n' });
    }

    /// Completes the block of the collected text, if there is any.
    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text).trim().to_owned();
        if text.is_empty() {
            return;
        }
        let nesting = self.nesting;
        let is_item = std::mem::take(&mut self.starts_item);
        self.blocks.push(if is_item {
            Block::Item { nesting, text }
        } else {
            Block::Paragraph { nesting, text }
        });
    }
}
