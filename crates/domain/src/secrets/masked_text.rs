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
    let secrets = list_secrets(present);
    let mut used = vec![false; secrets.len()];
    // Equal masks are filled in order; a surplus one repeats the last secret. A wrong guess is
    // harmless, because the hash decides at the end.
    let filled = replace_masks(kept, |mask| {
        let fitting = || (0..secrets.len()).filter(|index| secrets[*index].0 == mask);
        let index = fitting()
            .find(|index| !used[*index])
            .or_else(|| fitting().next_back())?;
        used[index] = true;
        Some(secrets[index].1)
    })?;
    (VersionHash::of_bytes(filled.as_bytes()) == version).then_some(filled)
}

/// Puts the secrets of `present`, the current file, into a text that was edited with its masks.
///
/// Returns `None` if it is not certain which secret a mask stands for. A text for a file without
/// secrets is returned as it is: what looks like a mask in it is its author's.
#[must_use]
pub fn fill_in_edited(edited: &str, present: &str) -> Option<String> {
    let secrets = list_secrets(present);
    if secrets.is_empty() {
        return Some(edited.to_owned());
    }
    let mut seen: Vec<&str> = Vec::new();
    let is_same = |mask: &str| secrets.iter().filter(|(known, _)| known == mask).count();
    let count_in_edited = |mask: &str| edited.matches(mask).count();
    replace_masks(edited, |mask| {
        let mut fitting = secrets.iter().filter(|(known, _)| known == mask);
        let (known, first) = fitting.clone().next()?;
        // Different secrets behind equal masks are told apart by their order alone.
        let is_certain = fitting.clone().all(|(_, value)| value == first)
            || is_same(mask) == count_in_edited(mask);
        let before = seen.iter().filter(|other| **other == known).count();
        seen.push(known);
        let chosen = fitting.nth(before).map_or(*first, |(_, value)| *value);
        is_certain.then_some(chosen)
    })
}

/// Returns the secrets of a text with their masks.
fn list_secrets(text: &str) -> Vec<(String, &str)> {
    let secrets = find_secrets(text).into_iter();
    secrets
        .map(|secret| {
            let value = text.get(secret.range).unwrap_or_default();
            (render_mask(secret.kind, value), value)
        })
        .collect()
}

/// Replaces every mask; `None` as soon as there is nothing to replace one with.
fn replace_masks<'s>(
    text: &str,
    mut secret_of: impl FnMut(&str) -> Option<&'s str>,
) -> Option<String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, mask)) = rest.split_once(MASK_START) {
        let (mask, after) = mask.split_once(']')?;
        filled.push_str(before);
        filled.push_str(secret_of(&format!("{MASK_START}{mask}]"))?);
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}

#[cfg(test)]
mod tests {
    use super::fill_in_edited;
    use crate::secrets::mask_secrets;

    #[test]
    fn an_edited_text_keeps_the_secrets_of_its_file() {
        let file = "# Plan\n\npassword=hunter2secret\n\ntext\n";
        let masked = mask_secrets(file).into_owned();
        assert_ne!(masked, file);
        let edited = masked.replace("text", "other words");
        let expected = file.replace("text", "other words");
        assert_eq!(fill_in_edited(&edited, file), Some(expected));
        assert_eq!(
            fill_in_edited("no mask any more", file).as_deref(),
            Some("no mask any more")
        );
        assert_eq!(
            fill_in_edited("a [masked github token] here", file),
            None,
            "no secret of the file has this mask"
        );
        let written = "a text about [masked password]";
        assert_eq!(
            fill_in_edited(written, "no secret").as_deref(),
            Some(written)
        );
    }

    #[test]
    fn a_mask_that_could_be_two_secrets_is_not_guessed() {
        let file = "password=hunter2secret\npassword=other9secret\n";
        let masked = mask_secrets(file).into_owned();
        assert_eq!(fill_in_edited(&masked, file).as_deref(), Some(file));
        let one: String = masked.lines().skip(1).collect();
        assert_eq!(fill_in_edited(&one, file), None);
    }
}
