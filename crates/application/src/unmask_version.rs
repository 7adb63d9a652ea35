//! Unmasking: the full text of a version that is about to be written into a plan file.
//!
//! The store keeps versions with secrets in masked form. A mask never replaces a secret in a user's
//! file: the secrets are taken from the file as it is now, provided that the result has the hash of
//! the version, or else the write is refused.

use domain::ids::VersionHash;
use domain::ports::{FileReadResult, Snapshot, StoreFault};
use domain::secrets::{MaskedText, fill_in_secrets};

use crate::context::Context;
use crate::failure::Failure;

/// Returns the full text of a version, to be written to `file`.
///
/// # Errors
/// [`FailureKind::Refused`] if the version is stored masked and its secrets are not in the file;
/// the message names the lines.
pub(crate) fn unmask_version(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    version: VersionHash,
    file: &str,
) -> Result<String, Failure> {
    let kept = state
        .load_text(version)?
        .ok_or_else(|| StoreFault::Damaged {
            what: "a stored text is missing".to_owned(),
        })?;
    // The version's name is the hash of the original bytes, so equality proves that nothing was
    // masked. This also holds for texts stored before masking existed.
    if VersionHash::of_bytes(kept.as_bytes()) == version {
        return Ok(kept);
    }
    let masked = MaskedText::read_record(state, version)?;
    let present = match ctx.files.read_file(file, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => text,
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => String::new(),
    };
    if let Some(whole) = fill_in_secrets(&kept, &present, version) {
        return Ok(whole);
    }
    let lines = masked
        .map(|masked| masked.render_lines())
        .unwrap_or_default();
    let short = version.short_hex();
    let what = format!(
        "version {short} of `{file}` held secrets, which are not stored: {lines}; writing it would replace them by masks"
    );
    Err(Failure::refused(what)
        .with_step(format!("tl diff NODE {short}   # shows it with its masks; copy what you need into `{file}` by hand"))
        .with_step(format!("put the secrets into `{file}` first: then they are filled in")))
}
