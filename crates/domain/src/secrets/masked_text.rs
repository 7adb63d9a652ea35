//! Records of plan versions whose stored text is masked.
//!
//! A version's hash is that of the file's real text, so that approvals stay bound to the content.
//! The store keeps the masked text under its own hash; this record maps one to the other. It is a
//! record like any other: chained in the journal, replayed, replicated. It survives the undo of the
//! operation that created it, as the text does.

use serde::{Deserialize, Serialize};

use super::{MASK_START, SecretKind, find_secrets, render_mask};
use crate::fact::Fact;
use crate::ids::VersionHash;
use crate::ports::{Snapshot, StoreFault};
use crate::record::{self, RecordKey, Recorded};

/// Mapping from a version with secrets to its stored, masked text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedText {
    /// Hash of the masked text, under which it is stored.
    pub kept: VersionHash,
    pub secrets: Vec<MaskedSecret>,
}

/// A masked secret and the line of the real text it begins on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedSecret {
    pub kind: SecretKind,
    pub line: usize,
}

impl Recorded for MaskedText {
    const KIND: &'static str = "masked-text";
}

impl MaskedText {
    /// Masks a text; `None` when it holds no secret.
    #[must_use]
    pub fn mask_version(text: &str) -> Option<(Self, String)> {
        let secrets = secret_lines(text);
        (!secrets.is_empty()).then(|| {
            let masked = super::mask_secrets(text).into_owned();
            (
                Self {
                    kept: VersionHash::of_bytes(masked.as_bytes()),
                    secrets,
                },
                masked,
            )
        })
    }

    /// Returns the fact that a version is stored masked.
    #[must_use]
    pub(super) fn to_fact(&self, version: VersionHash) -> Option<Fact> {
        record::record_changed_fact(&version.to_string(), None, Some(self))
    }

    /// Loads the record of a version, if it is masked.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn read_record(
        state: &dyn Snapshot,
        version: VersionHash,
    ) -> Result<Option<Self>, StoreFault> {
        record::read_record(state, &version.to_string())
    }

    /// Lists the lines whose secrets a restore would lose.
    #[must_use]
    pub fn render_lines(&self) -> String {
        render_secret_lines(&self.secrets)
    }
}

/// Lists secrets by line: `line 3 (anthropic key), line 9 (password)`.
#[must_use]
pub fn render_secret_lines(secrets: &[MaskedSecret]) -> String {
    let named = secrets
        .iter()
        .map(|secret| format!("line {} ({})", secret.line, secret.kind));
    named.collect::<Vec<_>>().join(", ")
}

/// Whether a record is of this kind, which outlives the operation that created it.
pub(crate) fn is_masked_text(record: &RecordKey) -> bool {
    record.kind == MaskedText::KIND
}

/// Returns every secret of a text with its line, counted from 1.
#[must_use]
pub fn secret_lines(text: &str) -> Vec<MaskedSecret> {
    // Counted on from the previous secret: from the start each time, a file with a secret on every
    // line would be quadratic.
    let (mut line, mut counted) = (1, 0);
    find_secrets(text)
        .into_iter()
        .map(|secret| {
            line += text.as_bytes()[counted..secret.range.start]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            counted = secret.range.start;
            MaskedSecret {
                kind: secret.kind,
                line,
            }
        })
        .collect()
}

/// Restores a masked text with the secrets of `present`, the current file.
///
/// Returns the result only if it has the hash of `version`: most versions of a file hold the same
/// key, and then nothing is lost.
#[must_use]
pub fn fill_in_secrets(kept: &str, present: &str, version: VersionHash) -> Option<String> {
    let secrets: Vec<(String, &str)> = find_secrets(present)
        .into_iter()
        .map(|secret| {
            let value = present.get(secret.range).unwrap_or_default();
            (render_mask(secret.kind, value), value)
        })
        .collect();
    let mut used = vec![false; secrets.len()];
    let mut filled = String::with_capacity(kept.len());
    let mut rest = kept;
    while let Some((before, mask)) = rest.split_once(MASK_START) {
        let (mask, after) = mask.split_once(']')?;
        let mask = format!("{MASK_START}{mask}]");
        // Equal masks are filled in order; a surplus one repeats the last secret. A wrong guess is
        // harmless, because the hash decides at the end.
        let fitting = || (0..secrets.len()).filter(|index| secrets[*index].0 == mask);
        let index = fitting()
            .find(|index| !used[*index])
            .or_else(|| fitting().next_back())?;
        used[index] = true;
        filled.push_str(before);
        filled.push_str(secrets[index].1);
        rest = after;
    }
    filled.push_str(rest);
    (VersionHash::of_bytes(filled.as_bytes()) == version).then_some(filled)
}
