//! Anchors, which every briefing holds up, and notes on shelves, which are found again by searching.

use serde::{Deserialize, Serialize};

use crate::record::Recorded;
use crate::stamp::Stamp;
use crate::time::Timestamp;

/// A decision or a limit that holds whatever happens to the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    pub stamp: Stamp,
    pub text: String,
    /// The session it was saved in.
    pub session_stamp: Option<Stamp>,
    pub at: Timestamp,
}

impl Recorded for Anchor {
    const KIND: &'static str = "anchor";
}

/// A note on a shelf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mem {
    pub stamp: Stamp,
    pub shelf: String,
    pub text: String,
    /// The session it was saved in.
    pub context: Option<Stamp>,
    pub at: Timestamp,
}

impl Recorded for Mem {
    const KIND: &'static str = "mem";
}

/// The shelf of notes that name none.
pub const SHELF: &str = "general";

/// So long may an anchor be: all of them are in every briefing.
pub const LONGEST_ANCHOR: usize = 500;

/// So long may a note be.
pub const LONGEST_MEM: usize = 20_000;

/// The text cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotKept {
    #[error("there is nothing to keep: the text is empty")]
    Empty,
    #[error("the text has {length} characters, more than {most}")]
    TooLong { length: usize, most: usize },
    #[error("`{0}` is no shelf: expected letters, digits, `-`, `_` and `.`, at most 40")]
    Shelf(String),
}

/// Returns a text as it is kept: without blanks around it.
///
/// # Errors
/// When it is empty or longer than `most` characters.
pub fn kept_text(text: &str, most: usize) -> Result<String, NotKept> {
    let text = text.trim();
    let length = text.chars().count();
    match length {
        0 => Err(NotKept::Empty),
        _ if length > most => Err(NotKept::TooLong { length, most }),
        _ => Ok(text.to_owned()),
    }
}

/// Returns the name of a shelf as it is kept.
///
/// # Errors
/// When it is none.
pub fn shelf_name(name: &str) -> Result<String, NotKept> {
    let name = name.trim().to_lowercase();
    let fits = !name.is_empty()
        && name.chars().count() <= 40
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if fits {
        Ok(name)
    } else {
        Err(NotKept::Shelf(name))
    }
}
