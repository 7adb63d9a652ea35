//! Put a file that looks like a plan where its profile expects that plan, as one operation.
//!
//! A misnamed folder is renamed with everything in it; otherwise only the file is moved. The scan then
//! reads the plans, as it would after a move by hand. A recorded plan whose parent's folder was renamed
//! gets the alias that fits, by a change of shape.

use std::collections::BTreeSet;

use domain::ids::OperationId;
use domain::operation::Verb;
use domain::ports::{
    FileFault, FileReadResult, FileStatResult, FolderEntryKind, PlanFiles, Snapshot,
};
use domain::profile::{fit_name_to_folder, locate_plan};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, hash_request};
use crate::observe::{
    build_planned_operation, load_plan_tree, observe_then_read, with_observed_files,
};
use crate::scan::{ScanScope, find_place};
use crate::shape::{ChangeShapeRequest, MovedFileView, ShapeChange, change_shape};

/// Maximum number of files in a folder that is renamed.
const MAX_FOLDER_FILES: usize = 2_000;

/// Outcome of [`place_file`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlaceOutcome {
    pub success: bool,
    pub dry_run: bool,
    pub moved_files: Vec<MovedFileView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// Returns the path a misplaced plan file should have; `None` if the words name no such file.
#[must_use]
pub fn find_misplaced_file(ctx: &Context<'_>, name: &str) -> Option<String> {
    let is_file = matches!(ctx.files.stat_file(name), FileStatResult::Present(_));
    is_file.then(|| find_place(ctx, name)).flatten()
}

/// Returns the recorded plan at a file whose name is for another parent, and the alias that fits.
fn find_misfit_plan(
    state: &dyn Snapshot,
    ctx: &Context<'_>,
    file: &str,
) -> Result<Option<(String, String)>, Failure> {
    let Some(fitting) = fit_name_to_folder(ctx.profiles, file) else {
        return Ok(None);
    };
    let tree = load_plan_tree(state)?;
    let mut nodes = tree.nodes();
    let node = nodes.find(|node| node.path.as_deref() == Some(file));
    Ok(node.map(|node| (tree.alias_path(node), fitting.alias)))
}

/// Moves a misplaced plan file to the path it should have.
///
/// # Errors
/// When the file is not a misplaced plan, is not text, or the place is taken.
pub fn place_file(ctx: &Context<'_>, file: &str, dry_run: bool) -> Result<PlaceOutcome, Failure> {
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    if let Some((node, alias)) = find_misfit_plan(&*state, ctx, file)? {
        drop(state);
        return rename_plan(ctx, node, alias, dry_run);
    }
    drop(state);
    let asked = (!dry_run).then(|| hash_request(&("place", file)));
    with_observed_files(ctx, ScanScope::Everything, asked, |planned, tx| {
        let expected = find_misplaced_file(ctx, file).ok_or_else(|| {
            Failure::invalid(format!("`{file}` is not a misplaced plan file")).with_step("tl check")
        })?;
        let moved_files = list_moves(ctx, file, &expected)?;
        let trial = PlannedFiles::new(ctx, None);
        let target = if dry_run { &trial } else { planned };
        for one in &moved_files {
            // Creating refuses an existing file, so the move cannot replace another plan.
            let created = target.create_file(&one.path, &read_text(ctx, &one.was)?);
            created.map_err(|fault| refuse_taken_place(ctx, fault, file, &expected))?;
            target.put_file(&one.was, None)?;
        }
        let operation = match dry_run {
            true => None,
            false => {
                let built = build_planned_operation(ctx, tx, target, Verb::Reshape, |_| Ok(()))?;
                let summary = format!("move {file} to {expected}");
                let mut operation =
                    // A file that is not a plan even at its new place is moved all the same: the
                    // person asked for it.
                    built.unwrap_or_else(|| ctx.new_operation(Verb::Reshape, String::new()));
                operation.summary = summary;
                Some(planned.record_operation(tx, operation)?)
            }
        };
        Ok(PlaceOutcome {
            success: true,
            dry_run,
            moved_files,
            operation,
        })
    })
}

/// Renames a recorded plan, so that its number is that of its parent's folder.
fn rename_plan(
    ctx: &Context<'_>,
    node: String,
    alias: String,
    dry_run: bool,
) -> Result<PlaceOutcome, Failure> {
    let change = ShapeChange::Renumber {
        node: vec![node],
        id: Some(alias),
    };
    let outcome = change_shape(ctx, &ChangeShapeRequest { change, dry_run })?;
    Ok(PlaceOutcome {
        success: true,
        dry_run,
        moved_files: outcome.moved_files,
        operation: outcome.operation,
    })
}

/// Returns the refusal of a place where another plan is, with a free number for this one.
fn refuse_taken_place(ctx: &Context<'_>, fault: FileFault, file: &str, expected: &str) -> Failure {
    let is_taken = matches!(fault, FileFault::Exists { .. });
    let failure = Failure::from(fault);
    match find_free_folder(ctx, file, expected).filter(|_| is_taken) {
        Some((from, to)) => failure.with_step(format!("mv {from} {to}   # a free number")),
        None => failure,
    }
}

/// Returns the misspelt folder of a file, and the same with the next free number.
fn find_free_folder(ctx: &Context<'_>, file: &str, expected: &str) -> Option<(String, String)> {
    let (was, now): (Vec<&str>, Vec<&str>) =
        (file.split('/').collect(), expected.split('/').collect());
    let at = (0..was.len().min(now.len())).rfind(|at| was[*at] != now[*at])?;
    let stem = now[at].trim_end_matches(|c: char| c.is_ascii_digit());
    let width = now[at].len() - stem.len();
    // The file of a plan has no number of its own, and a folder without one is not a numbered plan.
    if width == 0 || at + 1 == was.len() {
        return None;
    }
    let folder = was[..at].join("/");
    let number_of = |name: &str| -> Option<u32> {
        let rest = name.strip_prefix(stem)?;
        let end = rest.find(|c: char| !c.is_ascii_digit());
        rest.get(..end.unwrap_or(rest.len()))?.parse().ok()
    };
    let entries = ctx.files.list_folder(&folder);
    let taken: BTreeSet<u32> = entries
        .iter()
        .filter_map(|entry| number_of(&entry.name))
        .collect();
    let free = taken.last()?.checked_add(1)?;
    let from = was[..=at].join("/");
    Some((from, format!("{folder}/{stem}{free:0width$}")))
}

/// Lists the moves: of the whole folder if that is what is misspelt, else of the file.
fn list_moves(
    ctx: &Context<'_>,
    file: &str,
    expected: &str,
) -> Result<Vec<MovedFileView>, Failure> {
    let single = || {
        vec![MovedFileView {
            was: file.to_owned(),
            path: expected.to_owned(),
        }]
    };
    let (was, now): (Vec<&str>, Vec<&str>) =
        (file.split('/').collect(), expected.split('/').collect());
    let differing: Vec<usize> = (0..was.len().min(now.len()))
        .filter(|at| was[*at] != now[*at])
        .collect();
    let folder_at = differing.last().copied().filter(|at| at + 1 < was.len());
    // With another depth no folder corresponds to another, so only the file moves.
    let (Some(at), true) = (folder_at, was.len() == now.len()) else {
        return Ok(single());
    };
    let (from, to) = (was[..=at].join("/"), now[..=at].join("/"));
    let is_plan = |path: &str| locate_plan(ctx.profiles, path).is_some();
    let mut found = Vec::new();
    let mut folders = vec![from.clone()];
    while let Some(folder) = folders.pop() {
        for entry in ctx.files.list_folder(&folder) {
            let path = format!("{folder}/{}", entry.name);
            match entry.kind {
                FolderEntryKind::Folder => folders.push(path),
                // The folder of another plan, which stays: `scene-0207` lies in chapter 1.
                FolderEntryKind::File if is_plan(&path) => return Ok(single()),
                FolderEntryKind::File | FolderEntryKind::Other => {
                    let rest = path.strip_prefix(&from).unwrap_or_default();
                    found.push(MovedFileView {
                        path: format!("{to}{rest}"),
                        was: path,
                    });
                }
            }
        }
        if found.len() > MAX_FOLDER_FILES {
            // Too much to be a misnamed plan folder.
            return Ok(single());
        }
    }
    Ok(found)
}

fn read_text(ctx: &Context<'_>, path: &str) -> Result<String, Failure> {
    match ctx.files.read_file(path, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => Ok(text),
        FileReadResult::Missing => Err(Failure::refused(format!("`{path}` is gone"))),
        FileReadResult::Unreadable { why, .. } => {
            Err(Failure::refused(format!("`{path}` cannot be moved: {why}"))
                .with_step(format!("move `{path}` out of the folder, then try again")))
        }
    }
}
