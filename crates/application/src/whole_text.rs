//! Texts of versions that are about to be written into a plan file.
//!
//! What is kept of a version with secrets is masked. A person's file never gets a mask in the place of a secret: the
//! secrets are taken from the file as it is now, if that gives the version to the byte, or the write is refused.

use domain::ids::VersionHash;
use domain::ports::{Reading, Snapshot, StoreFault};
use domain::secrets::{MaskedText, fill_in};

use crate::context::Context;
use crate::failure::{Failure, FailureKind};

/// Returns the text of a version, whole, to be written to `file`.
///
/// # Errors
/// [`FailureKind::Refused`] when the version is kept masked and its secrets are not in the file; the message names the
/// lines.
pub(crate) fn whole_text(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    version: VersionHash,
    file: &str,
) -> Result<String, Failure> {
    let kept = state.text(version)?.ok_or_else(|| StoreFault::Damaged {
        what: "a kept text is gone".to_owned(),
    })?;
    if VersionHash::of(kept.as_bytes()) == version {
        return Ok(kept);
    }
    let masked = MaskedText::read(state, version)?;
    let present = match ctx.files.read(file, ctx.policy.max_plan_bytes) {
        Reading::Text { text, .. } => text,
        Reading::Missing | Reading::Unreadable { .. } => String::new(),
    };
    if let Some(whole) = fill_in(&kept, &present, version) {
        return Ok(whole);
    }
    let lines = masked.map(|masked| masked.lines()).unwrap_or_default();
    let short = version.short();
    let what = format!(
        "version {short} of `{file}` held secrets, which are not stored: {lines}; writing it would replace them by masks"
    );
    Err(Failure::new(FailureKind::Refused, what)
        .step(format!("tl diff NODE {short}   # shows it with its masks; copy what you need into `{file}` by hand"))
        .step(format!("put the secrets into `{file}` first: then they are filled in")))
}
