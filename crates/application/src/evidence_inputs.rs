//! Inputs of evidence: which files a proof depends on, and a digest of their content.
//!
//! By content, never by commit or time: committing what was proved, or checking it out elsewhere, leaves
//! the proof fresh. Without declared inputs these are the files of the node (a milestone's files and
//! tests), so that later milestones do not touch earlier proofs; a node that names no files depends on
//! all files of the repository.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::Digest32;
use domain::node::Node;
use domain::plan_document::{MILESTONES_PROFILE, list_node_files};
use domain::ports::{FileReadResult, FileStatResult, FolderEntryKind, Snapshot};
use domain::work::evidence::ProofCheck;
use domain::work::uncommitted::{is_excluded, is_exempt};

use crate::context::Context;
use crate::failure::Failure;

/// Maximum number of changed inputs that are named.
const MAX_SHOWN_INPUTS: usize = 3;

/// Returns a digest of the inputs of a proof as they are now.
pub(crate) fn digest_inputs(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    asks: &ProofCheck,
) -> Result<Digest32, Failure> {
    Ok(digest_lines(&list_inputs(ctx, state, node, asks)?))
}

/// Returns the digest of listed inputs.
pub(crate) fn digest_lines(inputs: &[String]) -> Digest32 {
    Digest32::of_bytes(inputs.join("\n").as_bytes())
}

/// Says which inputs a command changed while it ran: its result is stale at once, also when a person changed
/// them.
pub(crate) fn describe_changed_inputs(before: &[String], after: &[String]) -> Option<String> {
    let path_of = |line: &String| {
        let path = line.rsplit_once(' ').map_or("", |(path, _)| path);
        path.to_owned()
    };
    let (was, is): (BTreeSet<_>, BTreeSet<_>) = (before.iter().collect(), after.iter().collect());
    let changed: BTreeSet<String> = was
        .symmetric_difference(&is)
        .map(|line| path_of(line))
        .collect();
    let shown: Vec<String> = changed
        .iter()
        .take(MAX_SHOWN_INPUTS)
        .map(|path| format!("`{path}`"))
        .collect();
    let more = match changed.len().saturating_sub(MAX_SHOWN_INPUTS) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    (!changed.is_empty()).then(|| {
        format!(
            "\n(inputs changed while it ran: {}{more}. If the command writes them, add them to .gitignore, or name the inputs with --input)",
            shown.join(", ")
        )
    })
}

/// Returns the inputs of a proof as they are now, a line with path and content hash for each.
pub(crate) fn list_inputs(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    asks: &ProofCheck,
) -> Result<Vec<String>, Failure> {
    let mut seen: Vec<String> = Vec::new();
    match asks {
        ProofCheck::Command { inputs, .. } | ProofCheck::Test { inputs, .. } => {
            let inputs = match inputs.is_empty() {
                true => list_default_inputs(state, node)?,
                false => inputs.clone(),
            };
            if inputs.is_empty() {
                let others = |path: &str| (!is_report_of(asks, path)).then(|| path.to_owned());
                seen = list_repository(ctx, &others)?;
            }
            for input in &inputs {
                let (folder, pattern) = split_glob(input);
                match ctx.files.stat_file(input) {
                    FileStatResult::Present(_) => seen.push(digest_file(ctx, input)),
                    // A folder or a glob pattern; a plain file was handled above.
                    _ => digest_folder(ctx, &folder, pattern.as_deref(), 0, &mut seen),
                }
            }
        }
        ProofCheck::File { path } => seen.push(digest_file(ctx, path)),
        ProofCheck::Review { review } => {
            seen.push(
                state
                    .record_body("review", review)?
                    .map(|body| body.to_string())
                    .unwrap_or_default(),
            );
        }
    }
    Ok(seen)
}

/// Whether the command of a proof writes this file: a report is a result, not an input.
fn is_report_of(asks: &ProofCheck, path: &str) -> bool {
    let ProofCheck::Test {
        report: Some(report),
        ..
    } = asks
    else {
        return false;
    };
    let report = report.trim_end_matches('/');
    path.strip_prefix(report)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the first declared input that matches no file: a result for it would never be stale.
pub(crate) fn find_unmatched_input<'p>(
    ctx: &Context<'_>,
    asks: &'p ProofCheck,
) -> Option<&'p String> {
    let (ProofCheck::Command { inputs, .. } | ProofCheck::Test { inputs, .. }) = asks else {
        return None;
    };
    inputs.iter().find(|input| {
        let mut seen = Vec::new();
        if !matches!(ctx.files.stat_file(input), FileStatResult::Present(_)) {
            let (folder, pattern) = split_glob(input);
            digest_folder(ctx, &folder, pattern.as_deref(), 0, &mut seen);
            return seen.is_empty();
        }
        false
    })
}

/// Whether a proof depends on all files of the repository.
pub(crate) fn depends_on_repository(
    state: &dyn Snapshot,
    node: &Node,
    asks: &ProofCheck,
) -> Result<bool, Failure> {
    Ok(match asks {
        ProofCheck::Command { inputs, .. } | ProofCheck::Test { inputs, .. } => {
            inputs.is_empty() && list_default_inputs(state, node)?.is_empty()
        }
        ProofCheck::File { .. } | ProofCheck::Review { .. } => false,
    })
}

/// Returns the digest of all files of the repository for a proof, as [`digest_inputs`] does.
pub(crate) fn digest_repository(repository: &[String], asks: &ProofCheck) -> Digest32 {
    let is_input = |line: &&String| {
        let path = line.rsplit_once(' ').map_or("", |(path, _)| path);
        !is_report_of(asks, path)
    };
    let inputs: Vec<String> = repository.iter().filter(is_input).cloned().collect();
    digest_lines(&inputs)
}

/// Lists all files of the repository, a line with path and content hash for each, by the paths that
/// `target_of` gives them; it returns `None` for a file that is removed.
pub(crate) fn list_repository(
    ctx: &Context<'_>,
    target_of: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, Failure> {
    // Without git the files cannot be told from build products; the digest is constant, and a result
    // stays valid until the proof runs again.
    let files = ctx.git.list_file_contents()?.unwrap_or_default();
    // Plans are left out: the phase of a ticket is written into its file.
    let inputs = files
        .into_iter()
        .filter(|(path, _)| !is_exempt(ctx.profiles, path));
    let placed: BTreeMap<String, String> = inputs
        .filter_map(|(path, content)| Some((target_of(&path)?, content)))
        .collect();
    let lines = placed.iter();
    Ok(lines
        .map(|(path, content)| format!("{path} {content}"))
        .collect())
}

/// Returns the files that a node is about: those of a milestone and its intents. Empty where the node
/// names none.
pub(crate) fn list_default_inputs(
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Vec<String>, Failure> {
    if node.profile != MILESTONES_PROFILE || node.parent.is_none() {
        return Ok(Vec::new());
    }
    let mut nodes = state.load_children(node.id)?;
    nodes.push(node.clone());
    let mut files = Vec::new();
    for node in &nodes {
        let text = match node.content.version_hash() {
            Some(version) => state.load_text(version)?,
            None => None,
        };
        files.extend(text.map(|text| list_node_files(&text)).unwrap_or_default());
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Splits an input into the folder before the first glob character, and the pattern if there is
/// one.
fn split_glob(input: &str) -> (String, Option<String>) {
    let fixed = input.split(['*', '?', '[', '{']).next().unwrap_or_default();
    if fixed == input {
        return (input.trim_end_matches('/').to_owned(), None);
    }
    let folder = fixed.rsplit_once('/').map_or("", |(folder, _)| folder);
    (folder.to_owned(), Some(input.to_owned()))
}

/// Maximum size of a hashed input; a larger file is compared by size and modification time.
const MAX_INPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum folder depth of inputs; deeper folders are ignored.
const MAX_FOLDER_DEPTH: usize = 32;

/// Appends the digests of all matching files below a folder.
fn digest_folder(
    ctx: &Context<'_>,
    folder: &str,
    pattern: Option<&str>,
    depth: usize,
    seen: &mut Vec<String>,
) {
    if depth > MAX_FOLDER_DEPTH {
        return;
    }
    for entry in ctx.files.list_folder(folder) {
        let path = if folder.is_empty() {
            entry.name.clone()
        } else {
            format!("{folder}/{}", entry.name)
        };
        match entry.kind {
            // Both change with nearly every command, which would make every proof stale at once.
            FolderEntryKind::Folder if entry.name != ".git" && entry.name != ".throughline" => {
                digest_folder(ctx, &path, pattern, depth + 1, seen);
            }
            FolderEntryKind::File => {
                let fits = pattern.is_none_or(|pattern| {
                    is_excluded(&path, std::slice::from_ref(&pattern.to_owned()))
                });
                if fits {
                    seen.push(digest_file(ctx, &path));
                }
            }
            FolderEntryKind::Folder | FolderEntryKind::Other => {}
        }
    }
}

/// Returns a file's path and content hash as one line.
fn digest_file(ctx: &Context<'_>, path: &str) -> String {
    let content = match ctx.files.read_file(path, MAX_INPUT_BYTES) {
        FileReadResult::Text { text, .. } => Digest32::of_bytes(text.as_bytes()).to_string(),
        FileReadResult::Missing => "missing".to_owned(),
        // Binary or too large: size and modification time are used instead of the content.
        FileReadResult::Unreadable { .. } => match ctx.files.stat_file(path) {
            FileStatResult::Present(stamp) => format!("{} {}", stamp.size, stamp.modified_ns),
            FileStatResult::Missing
            | FileStatResult::Refused(_)
            | FileStatResult::Unavailable(_) => "refused".to_owned(),
        },
    };
    format!("{path} {content}")
}
