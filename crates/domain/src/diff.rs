//! Text diff: unified hunks with changed words emphasised within a line.

use similar::{ChangeTag, TextDiff};

/// A run of changed lines with three lines of context on each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// `@@ -10,7 +10,7 @@`
    pub header: String,
    pub lines: Vec<DiffLine>,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: DiffLineKind,
    /// Pieces of the line; the words that changed are emphasised.
    pub pieces: Vec<(Emphasis, String)>,
}

/// Whether a line is in the older text, the newer one, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLineKind {
    Same,
    Removed,
    Added,
}

impl DiffLineKind {
    /// Returns the line prefix of the unified diff format.
    #[must_use]
    pub fn diff_marker(self) -> char {
        match self {
            Self::Same => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// Whether a piece of a line changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    Strong,
    None,
}

/// Returns the hunks between two texts.
#[must_use]
pub fn compute_hunks(older: &str, newer: &str) -> Vec<Hunk> {
    let diff = TextDiff::from_lines(older, newer);
    diff.unified_diff()
        // Three lines of context, as `diff -u` and git show.
        .context_radius(3)
        .iter_hunks()
        .map(|hunk| Hunk {
            header: hunk.header().to_string(),
            lines: hunk
                .ops()
                .iter()
                .flat_map(|op| diff.iter_inline_changes(op))
                .map(|change| DiffLine {
                    kind: match change.tag() {
                        ChangeTag::Equal => DiffLineKind::Same,
                        ChangeTag::Delete => DiffLineKind::Removed,
                        ChangeTag::Insert => DiffLineKind::Added,
                    },
                    pieces: change
                        .iter_strings_lossy()
                        .map(|(strong, piece)| {
                            let emphasis = if strong {
                                Emphasis::Strong
                            } else {
                                Emphasis::None
                            };
                            // The last piece carries the line ending; renderers add their own.
                            (emphasis, piece.trim_end_matches(['\n', '\r']).to_owned())
                        })
                        .collect(),
                })
                .collect(),
        })
        .collect()
}

/// Returns the unified diff as text, without colour.
#[must_use]
pub fn render_unified_diff(older_name: &str, newer_name: &str, hunks: &[Hunk]) -> String {
    // As `diff` does: equal texts have no output, not even the two header lines.
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {older_name}\n+++ {newer_name}\n");
    for hunk in hunks {
        text.push_str(hunk.header.trim_end());
        text.push('\n');
        for line in &hunk.lines {
            text.push(line.kind.diff_marker());
            for (_, piece) in &line.pieces {
                text.push_str(piece);
            }
            text.push('\n');
        }
    }
    text
}
