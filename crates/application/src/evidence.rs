//! Evidence of a node: declare proofs, run them, and judge whether their results are still valid.
//!
//! A result is bound to a digest of its inputs: once an input changes, the proof is stale and the
//! node does not count as proved.

use std::time::Duration;

use domain::gates::{Event, FiredGate, UnprovedNode};
use domain::ids::{Digest32, NodeId, OperationId};
use domain::node::Node;
use domain::operation::Verb;
use domain::policy::GateMode;
use domain::ports::{
    FileReadResult, FileStatResult, FolderEntryKind, GitHead, Snapshot, Transaction,
};
use domain::profile::EvidenceNeed;
use domain::record;
use domain::review::{LoopState, Review};
use domain::work::evidence::{
    Evidence, Proof, ProofCheck, ProofResult, ProofStatus, find_completion_objection, judge_proof,
};
use domain::work::uncommitted::is_excluded;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::{Context, Notice};
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::handle_host_event::{evaluate_with_overrides, override_note_key};
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::{observe_node, with_recorded_node};
use crate::scan::ScanScope;

/// The evidence of a node.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EvidenceView {
    pub node: String,
    /// Whether the node may count as complete.
    pub proved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    #[schemars(with = "Vec<crate::views::Object>")]
    pub proofs: Vec<ProofView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// One proof.
#[derive(Clone, Debug, Serialize)]
pub struct ProofView {
    #[serde(flatten)]
    pub proof: Proof,
    pub standing: ProofStatus,
    pub words: String,
}

/// Declares another proof.
///
/// # Errors
/// When there is no such node, the declaration is empty, or its path leaves the project.
pub fn add_evidence(
    ctx: &Context<'_>,
    node: &[String],
    asks: ProofCheck,
) -> Result<EvidenceView, Failure> {
    check_declaration(ctx, &asks)?;
    with_recorded_node(ctx, node, |tx, id, rest| {
        reject_extra_words(rest)?;
        let path = load_node_path(&*tx, &load_node(&*tx, id)?)?;
        let before = record::read_record::<Evidence>(&*tx, &evidence_key(id))?;
        let mut after = before.clone().unwrap_or_default();
        // Idempotent: an agent that declares the same proof twice gets the same answer and no
        // second operation.
        if after.proofs.iter().any(|proof| proof.asks == asks) {
            return build_evidence_view(ctx, &*tx, id, None);
        }
        after.proofs.push(Proof {
            asks: asks.clone(),
            result: None,
        });
        let mut operation = ctx.new_operation(
            Verb::Evidence,
            format!("{path} is proved when {}", asks.describe_condition()),
        );
        operation.facts.extend(record::record_changed_fact(
            &evidence_key(id),
            before.as_ref(),
            Some(&after),
        ));
        let operation = tx.record_operation(operation)?;
        build_evidence_view(ctx, &*tx, id, Some(operation))
    })
}

/// Checks a declaration: not empty, and all paths inside the project.
fn check_declaration(ctx: &Context<'_>, asks: &ProofCheck) -> Result<(), Failure> {
    let invalid = |what: String| Err(Failure::invalid(what));
    let paths: Vec<&String> = match asks {
        ProofCheck::Command { run, inputs } => {
            if run.first().is_none_or(|program| program.trim().is_empty()) {
                return invalid(
                    "a command is missing: tl evidence add NODE -- cargo test".to_owned(),
                );
            }
            inputs.iter().collect()
        }
        ProofCheck::File { path } => vec![path],
        ProofCheck::Review { review } => {
            if review.trim().is_empty() {
                return invalid("the review has no name".to_owned());
            }
            Vec::new()
        }
    };
    // Inputs are read to compute the digest, so all of them have to be inside the project.
    match paths
        .into_iter()
        .find(|path| path.starts_with('/') || ctx.files.resolve_path(None, path).is_none())
    {
        Some(path) => invalid(format!(
            "`{path}` is outside the project: expected a path below it"
        )),
        None => Ok(()),
    }
}

/// Runs every declared proof and records the results; each command may take `most`.
///
/// # Errors
/// When there is no such node, nothing is declared, or a command cannot be run.
pub fn run_evidence(
    ctx: &Context<'_>,
    node: &[String],
    most: Duration,
) -> Result<EvidenceView, Failure> {
    // Commands run between two transactions. A test suite may take minutes, and holding the write
    // lock that long would block every other writer.
    let (id, path, declared) = {
        let found = observe_node(ctx, node, ScanScope::Lineage)?;
        reject_extra_words(found.rest)?;
        let path = load_node_path(&*found.state, &load_node(&*found.state, found.id)?)?;
        (
            found.id,
            path,
            record::read_record::<Evidence>(&*found.state, &evidence_key(found.id))?
                .unwrap_or_default(),
        )
    };
    if declared.proofs.is_empty() {
        return Err(
            Failure::not_found(format!("nothing is declared that would prove `{path}`"))
                .with_step(format!(
                    "tl evidence add {path} -- cargo test   # a command that must end with 0"
                ))
                .with_step(format!("tl evidence add {path} --file docs/report.md")),
        );
    }
    let mut results = Vec::new();
    for proof in &declared.proofs {
        // The digest is taken before the command runs: an input changed meanwhile makes the result
        // stale instead of proving a text that was never tested.
        let inputs = digest_inputs(ctx, &*ctx.store.begin_read()?, &proof.asks)?;
        results.push((
            proof.asks.clone(),
            run_proof(ctx, &path, &proof.asks, inputs, most)?,
        ));
    }
    let mut tx = ctx.store.begin_write()?;
    // Read again under the lock: proofs may have been declared or removed while the commands ran.
    // Results are matched by declaration, not by position.
    let before = record::read_record::<Evidence>(&*tx, &evidence_key(id))?;
    let mut after = before.clone().unwrap_or_default();
    for (asks, result) in results {
        if let Some(proof) = after.proofs.iter_mut().find(|proof| proof.asks == asks) {
            proof.result = Some(result);
        }
    }
    let passed = after
        .proofs
        .iter()
        .filter(|proof| proof.result.as_ref().is_some_and(|result| result.passed))
        .count();
    let summary = format!(
        "evidence of {path}: {passed} of {} hold",
        after.proofs.len()
    );
    let mut operation = ctx.new_operation(Verb::Evidence, summary);
    operation.facts.extend(record::record_changed_fact(
        &evidence_key(id),
        before.as_ref(),
        Some(&after),
    ));
    let operation = tx.record_operation(operation)?;
    let seen = build_evidence_view(ctx, &*tx, id, Some(operation))?;
    tx.commit()?;
    Ok(seen)
}

/// Runs one proof and returns its result.
fn run_proof(
    ctx: &Context<'_>,
    node: &str,
    asks: &ProofCheck,
    inputs: Digest32,
    most: Duration,
) -> Result<ProofResult, Failure> {
    let (passed, exit_code, output) = match asks {
        ProofCheck::Command { run, .. } => {
            let ran = ctx.commands.run_command(run, most)?.ok_or_else(|| {
                Failure::refused("commands cannot be run through this connection")
                    .with_step(format!("at the machine itself: tl evidence run {node}"))
            })?;
            (ran.exit_code == Some(0), ran.exit_code, ran.output)
        }
        ProofCheck::File { path } => {
            // An empty file proves nothing: it is what `touch` leaves.
            let there = matches!(ctx.files.stat_file(path), FileStatResult::Present(stamp) if stamp.size > 0);
            (there, None, String::new())
        }
        ProofCheck::Review { review } => (
            review_passed(&*ctx.store.begin_read()?, review)?,
            None,
            String::new(),
        ),
    };
    Ok(ProofResult {
        passed,
        exit_code,
        at: ctx.clock.now(),
        by: ctx.actor.clone(),
        inputs,
        output,
    })
}

/// Whether a review is complete.
fn review_passed(state: &dyn Snapshot, review: &str) -> Result<bool, Failure> {
    Ok(record::read_record::<Review>(state, review)?
        .is_some_and(|review| review.state == LoopState::Complete))
}

/// Shows a node's evidence.
///
/// # Errors
/// When there is no such node.
pub fn show_evidence(ctx: &Context<'_>, node: &[String]) -> Result<EvidenceView, Failure> {
    let found = observe_node(ctx, node, ScanScope::Lineage)?;
    reject_extra_words(found.rest)?;
    build_evidence_view(ctx, &*found.state, found.id, None)
}

/// Builds the view of a node's evidence.
pub(crate) fn build_evidence_view(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: NodeId,
    operation: Option<OperationId>,
) -> Result<EvidenceView, Failure> {
    let node = load_node(state, id)?;
    let proofs = judge_proofs(ctx, state, id)?
        .into_iter()
        .map(|(proof, standing)| ProofView {
            words: proof.asks.describe_condition(),
            proof,
            standing,
        })
        .collect();
    let missing = find_missing_proof(ctx, state, &node)?;
    Ok(EvidenceView {
        node: load_node_path(state, &node)?,
        proved: missing.is_none(),
        missing,
        proofs,
        operation,
    })
}

/// Judges every proof of a node against its present inputs.
pub(crate) fn judge_proofs(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: NodeId,
) -> Result<Vec<(Proof, ProofStatus)>, Failure> {
    let evidence = record::read_record::<Evidence>(state, &evidence_key(id))?.unwrap_or_default();
    let mut found = Vec::new();
    for proof in evidence.proofs {
        let standing = judge_proof(&proof, digest_inputs(ctx, state, &proof.asks)?);
        found.push((proof, standing));
    }
    Ok(found)
}

/// Returns why a node may not count as complete; `None` if it may.
pub(crate) fn find_missing_proof(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<String>, Failure> {
    // Checked first: judging proofs reads files and asks git.
    let profile = ctx.find_profile(&node.profile);
    let has_gate = profile.is_none_or(|profile| profile.has_gate("done"));
    if ctx.policy.gates.done == GateMode::Off || !has_gate {
        return Ok(None);
    }
    let level = profile.and_then(|profile| profile.find_level(&node.level));
    let need = level.map_or(EvidenceNeed::Declared, |level| level.evidence);
    let proofs: Vec<(ProofCheck, ProofStatus)> = judge_proofs(ctx, state, node.id)?
        .into_iter()
        .map(|(proof, standing)| (proof.asks, standing))
        .collect();
    Ok(find_completion_objection(&node.alias, need, &proofs))
}

/// Returns the missing proof that prevents completion, if the gate blocks.
pub(crate) fn find_blocking_proof(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<String>, Failure> {
    Ok(find_missing_proof(ctx, state, node)?.filter(|_| ctx.policy.gates.done == GateMode::Block))
}

/// Refuses to complete an unproved node, if the gate blocks and there is no override.
pub(crate) fn refuse_unproved(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<(), Failure> {
    refuse_duplicate(ctx, state, node)?;
    let Some(why) = find_missing_proof(ctx, state, node)? else {
        return Ok(());
    };
    // An override is not consumed here: the caller may still fail, and a person's permission is for
    // one completion.
    let verdict = evaluate_with_overrides(
        ctx,
        state,
        &Event {
            profiles: ctx.profiles,
            unproved: Some(UnprovedNode {
                path: &load_node_path(state, node)?,
                profile: ctx.find_profile(&node.profile),
                why: &why,
            }),
            ..Event::default()
        },
    )?;
    if !verdict.warnings.is_empty() {
        ctx.push_notice(Notice::Unproved {
            node: node.alias.clone(),
            why,
        });
    }
    match verdict.blocks.into_iter().next() {
        Some(FiredGate { objection, .. }) => Err(objection
            .next_steps
            .into_iter()
            .fold(Failure::refused(objection.why), Failure::with_step)),
        None => Ok(()),
    }
}

/// Consumes the override with which an unproved node is completed.
pub(crate) fn consume_override(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    node: &Node,
) -> Result<(), Failure> {
    let key = override_note_key("done", &load_node_path(&*tx, node)?);
    if tx.load_note(&key)?.is_some() {
        tx.save_note(&key, None, ctx.clock.now())?;
    }
    Ok(())
}

/// Returns the record key of a node's evidence.
fn evidence_key(node: NodeId) -> String {
    node.0.to_string()
}

/// Returns a digest of the inputs of a proof as they are now.
fn digest_inputs(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    asks: &ProofCheck,
) -> Result<Digest32, Failure> {
    let mut seen: Vec<String> = Vec::new();
    match asks {
        ProofCheck::Command { inputs, .. } if inputs.is_empty() => {
            // Without declared inputs the whole repository is the input: HEAD, and the content of
            // every uncommitted file.
            let head = match ctx.git.read_head() {
                Ok(GitHead::At(commit)) => commit,
                // Without git there is nothing to compare; the digest is constant, and a result
                // stays valid until the proof runs again.
                Ok(GitHead::NoRepository) => return Ok(Digest32::of_bytes(b"")),
                Ok(GitHead::Unborn) | Err(_) => String::new(),
            };
            seen.push(head);
            for changed in ctx.git.count_uncommitted_lines(&[]).unwrap_or_default() {
                seen.push(digest_file(ctx, &changed.path));
            }
        }
        ProofCheck::Command { inputs, .. } => {
            for input in inputs {
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
    Ok(Digest32::of_bytes(seen.join("\n").as_bytes()))
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
