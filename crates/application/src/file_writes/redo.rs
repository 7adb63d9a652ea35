//! Carries out a redo entry: writes the files that still have their former content, together.

use std::borrow::Cow;

use domain::file_writes::{FileWrite, RedoAction};
use domain::ids::{OperationId, VersionHash};
use domain::ports::{FileAction, FileChange, FileFault, Snapshot};

use super::planned_files::{PlannedWrite, content_hash_of};
use super::{FailedWrite, MAX_FILE_BYTES};
use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::unmask_version::unmask_version;

/// A file of a redo entry, with the plan if this process made it.
pub(super) struct RedoneFile<'w> {
    pub(super) file: &'w FileWrite,
    pub(super) known: Option<&'w PlannedWrite>,
}

impl RedoneFile<'_> {
    /// Returns what is to be done about the file as it is now, or why that cannot be said.
    fn find_action(&self, ctx: &Context<'_>) -> Result<RedoAction, String> {
        // An unchanged stamp proves the content that was read while planning; reading and hashing
        // the file again would only cost time.
        let found = if self
            .known
            .is_some_and(|known| known.is_untouched(ctx.files))
        {
            self.file.before
        } else {
            let path = &self.file.path;
            let reading = ctx.files.read_file(path, MAX_FILE_BYTES);
            content_hash_of(ctx.files, path, &reading)?
        };
        Ok(self.file.redo_action(found))
    }

    /// Returns the text to write; `None` if a secret in it is known nowhere any more.
    fn load_text(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        after: VersionHash,
    ) -> Result<Option<Cow<'_, str>>, Failure> {
        if let Some(text) = self.known.and_then(|known| known.text.as_deref()) {
            return Ok(Some(Cow::Borrowed(text)));
        }
        // The store keeps texts with secrets masked. Such a text is written only if the current
        // file supplies the masked parts; a mask never reaches a plan.
        match unmask_version(ctx, state, after, &self.file.path) {
            Ok(text) => Ok(Some(Cow::Owned(text))),
            Err(failure) if failure.is_rejection() => {
                ctx.push_notice(Notice::NotWritten {
                    path: self.file.path.clone(),
                    why: failure.message,
                });
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Reports that a file is left as it is, because it is a user's.
    fn report_left_alone(&self, ctx: &Context<'_>, operation: OperationId) {
        let why = format!(
            "it was changed before operation {operation} could write it, and is left as it is"
        );
        ctx.push_notice(Notice::NotWritten {
            path: self.file.path.clone(),
            why,
        });
    }

    fn to_failed(&self, why: String) -> FailedWrite {
        FailedWrite {
            path: self.file.path.clone(),
            why,
            is_drawn: false,
        }
    }
}

/// Writes files together, so that they share their syncs. One that cannot be written does not keep
/// the others from being completed.
pub(super) fn redo_files(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    operation: OperationId,
    files: &[RedoneFile<'_>],
    unwritten: &mut Vec<FailedWrite>,
) -> Result<(), Failure> {
    let mut wanted: Vec<(&RedoneFile<'_>, Option<Cow<'_, str>>)> = Vec::new();
    for one in files {
        match one.find_action(ctx) {
            Ok(RedoAction::Nothing) => {}
            Ok(RedoAction::LeaveAlone) => one.report_left_alone(ctx, operation),
            Ok(RedoAction::Write) => match one.file.after {
                None => wanted.push((one, None)),
                Some(after) => {
                    let text = one.load_text(ctx, state, after)?;
                    wanted.extend(text.map(|text| (one, Some(text))));
                }
            },
            Err(why) => unwritten.push(one.to_failed(why)),
        }
    }
    let changes: Vec<FileChange<'_>> = wanted
        .iter()
        .map(|(one, text)| FileChange {
            path: &one.file.path,
            action: match (text, one.file.before) {
                (None, _) => FileAction::Remove,
                (Some(text), Some(_)) => FileAction::Replace(text),
                (Some(text), None) => FileAction::Create(text),
            },
        })
        .collect();
    // Compared again right before a file gets its new content: writing the others took a while, and
    // an edit in between is a user's.
    let mut confirm = |index: usize| match wanted[index].0.find_action(ctx) {
        Ok(RedoAction::Write) => true,
        Ok(RedoAction::Nothing) => false,
        Ok(RedoAction::LeaveAlone) => {
            wanted[index].0.report_left_alone(ctx, operation);
            false
        }
        Err(why) => {
            unwritten.push(wanted[index].0.to_failed(why));
            false
        }
    };
    let results = ctx.files.apply_changes(&changes, &mut confirm);
    for ((one, _), result) in wanted.iter().zip(results) {
        match result {
            Ok(()) if one.file.after.is_none() => {
                if let Some((folder, _)) = one.file.path.rsplit_once('/') {
                    ctx.files.remove_empty_folder(folder);
                }
            }
            Ok(()) => {}
            // The file appeared between the check and `create`: it is a user's.
            Err(FileFault::Exists { .. }) => one.report_left_alone(ctx, operation),
            Err(fault) => unwritten.push(one.to_failed(Failure::from(fault).message)),
        }
    }
    Ok(())
}
