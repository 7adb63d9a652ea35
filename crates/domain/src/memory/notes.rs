//! Anchors, which every briefing repeats, and notes on shelves, which are found by searching.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Recorded;
use crate::stamp::Stamp;
use crate::time::Timestamp;

/// A decision or a limit that has to survive the compaction of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    #[schemars(with = "String")]
    pub stamp: Stamp,
    pub text: String,
    /// The session it was saved in.
    #[schemars(with = "Option<String>")]
    pub session_stamp: Option<Stamp>,
    pub at: Timestamp,
}

impl Recorded for Anchor {
    const KIND: &'static str = "anchor";
}

/// A note on a shelf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mem {
    #[schemars(with = "String")]
    pub stamp: Stamp,
    pub shelf: String,
    pub text: String,
    /// The session it was saved in.
    #[schemars(with = "Option<String>")]
    pub context: Option<Stamp>,
    pub at: Timestamp,
}

impl Recorded for Mem {
    const KIND: &'static str = "mem";
}

/// Default shelf of a note.
pub const DEFAULT_SHELF: &str = "general";

/// Maximum length of an anchor in characters; short, because every briefing contains all of them.
pub const MAX_ANCHOR_CHARS: usize = 500;

/// Maximum length of a note in characters.
pub const MAX_MEM_CHARS: usize = 20_000;

/// Why a note or anchor cannot be saved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteRefused {
    #[error("nothing to save: the text is empty")]
    Empty,
    #[error("the text has {length} characters, more than {max}")]
    TooLong { length: usize, max: usize },
    #[error(
        "`{0}` is not a shelf name: expected letters, digits, `-`, `_` and `.`, at most 40 characters"
    )]
    Shelf(String),
}

/// Trims and validates the text of a note or anchor.
///
/// # Errors
/// When it is empty or longer than `most` characters.
pub fn validate_note_text(text: &str, max: usize) -> Result<String, NoteRefused> {
    let text = text.trim();
    let length = text.chars().count();
    match length {
        0 => Err(NoteRefused::Empty),
        _ if length > max => Err(NoteRefused::TooLong { length, max }),
        _ => Ok(text.to_owned()),
    }
}

/// Normalises and validates the name of a shelf.
///
/// # Errors
/// When it is not a valid name.
pub fn parse_shelf_name(name: &str) -> Result<String, NoteRefused> {
    // Lower case, so that `Auth` and `auth` are one shelf.
    let name = name.trim().to_lowercase();
    let fits = !name.is_empty()
        // Characters of any script: shelves are named in the language people work in.
        && name.chars().count() <= 40
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if fits {
        Ok(name)
    } else {
        Err(NoteRefused::Shelf(name))
    }
}
