//! Write a readable backup of a plan beside its file.
//!
//! The store has every version anyway; this copy is for people without the program.

use domain::fact::Fact;
use domain::ids::{OperationId, VersionHash};
use domain::operation::Verb;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::with_observed_node_files;
use crate::plan_backup::write_backup;

/// Outcome of [`create_backup`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BackupOutcome {
    pub success: bool,
    pub path: String,
    /// The copy, relative to the project.
    pub backup: String,
    pub version_hash: VersionHash,
    pub operation: OperationId,
}

/// Writes the recorded text of a plan into `backups/` beside it.
///
/// # Errors
/// When there is no such node, it has no text, or the copy cannot be written.
pub fn create_backup(ctx: &Context<'_>, words: &[String]) -> Result<BackupOutcome, Failure> {
    with_observed_node_files(ctx, words, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        let now = ctx.clock.now();
        // Through the planned files: the copy is written after the commit, so that a killed command
        // leaves no copy that the history does not know.
        let written = ctx.with_planned_files(planned, |ctx| {
            write_backup(ctx, &*tx, &node, "asked for", now)
        })?;
        let Some(fact) = written else {
            return Err(Failure::refused(format!("`{path}` has no text to keep")));
        };
        let Fact::BackupWritten {
            version,
            path: backup,
            ..
        } = &fact
        else {
            return Err(Failure::internal("a backup was not recorded as one"));
        };
        let (version_hash, backup) = (*version, backup.clone());
        let mut operation = ctx.new_operation(Verb::Backup, format!("back up {path}"));
        operation.at = now;
        operation.facts = vec![fact];
        let operation = planned.record_operation(tx, operation)?;
        Ok(BackupOutcome {
            success: true,
            path,
            backup,
            version_hash,
            operation,
        })
    })
}
