//! Evidence after a change of shape: its paths follow the moved files, and a result that was fresh is
//! bound to the same contents at their new places.

use std::collections::BTreeSet;

use domain::fact::Fact;
use domain::ids::{Digest32, NodeId};
use domain::ports::Snapshot;
use domain::record::{read_records, record_changed_fact};
use domain::review::Review;
use domain::shape::FileMoves;
use domain::work::evidence::{Evidence, Proof, ProofCheck};
use domain::work::uncommitted::is_exempt;

use super::path_records::ChangedPaths;
use super::shape_files::ShapeFiles;
use crate::context::Context;
use crate::evidence::node_of_evidence;
use crate::evidence_inputs::{
    depends_on_repository, digest_inputs, digest_repository, list_repository,
};
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::locate::load_node;

/// What a change of shape moves.
#[derive(Clone, Copy)]
pub(super) struct MovedThings<'m> {
    pub(super) moves: &'m FileMoves,
    pub(super) files: &'m ShapeFiles,
    pub(super) planned: &'m PlannedFiles<'m>,
    pub(super) paths: &'m ChangedPaths,
}

/// Returns the changes of all evidence that names a moved file. `others` are changed records: a proof
/// may be a review.
pub(super) fn follow_evidence(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    moved: MovedThings<'_>,
    removed: &BTreeSet<NodeId>,
    others: &[Fact],
) -> Result<Vec<Fact>, Failure> {
    let mut followed = FollowedEvidence {
        ctx,
        state,
        moved,
        others,
        repository: None,
    };
    let mut facts = Vec::new();
    for (key, before) in read_records::<Evidence>(state, "")? {
        let Some(node) = node_of_evidence(&key).filter(|node| !removed.contains(node)) else {
            continue;
        };
        let mut after = before.clone();
        for proof in &mut after.proofs {
            followed.follow_proof(node, proof)?;
        }
        facts.extend(record_changed_fact(&key, Some(&before), Some(&after)));
    }
    Ok(facts)
}

struct FollowedEvidence<'f> {
    ctx: &'f Context<'f>,
    state: &'f dyn Snapshot,
    moved: MovedThings<'f>,
    others: &'f [Fact],
    /// All files before and after: listing a repository starts processes.
    repository: Option<(Vec<String>, Vec<String>)>,
}

impl FollowedEvidence<'_> {
    fn follow_proof(&mut self, node: NodeId, proof: &mut Proof) -> Result<(), Failure> {
        let check = self.rename_check(&proof.asks);
        let before = std::mem::replace(&mut proof.asks, check);
        let Some(result) = &mut proof.result else {
            return Ok(());
        };
        let node = load_node(self.state, node)?;
        let of_repository = depends_on_repository(self.state, &node, &before)?;
        let (was, now) = match of_repository {
            true if self.moves_other_files() => {
                let (was, now) = self.list_all_files()?;
                (
                    digest_repository(was, &before),
                    digest_repository(now, &proof.asks),
                )
            }
            false if before != proof.asks => (
                digest_inputs(self.ctx, self.state, &node, &before)?,
                match &proof.asks {
                    ProofCheck::Review { review } => self.digest_review(review)?,
                    asks => self.ctx.with_planned_files(self.moved.planned, |ctx| {
                        digest_inputs(ctx, self.state, &node, asks)
                    })?,
                },
            ),
            _ => return Ok(()),
        };
        // What was stale before stays stale: a new path must not make it fresh.
        if result.inputs == was {
            result.inputs = now;
        }
        Ok(())
    }

    /// Returns a check with the paths that its files have afterwards.
    fn rename_check(&self, check: &ProofCheck) -> ProofCheck {
        let mut check = check.clone();
        let rename = |path: &mut String| {
            if let Some(now) = rename_input(self.moved.moves, path) {
                *path = now;
            }
        };
        match &mut check {
            ProofCheck::Command { run, inputs } => run.iter_mut().chain(inputs).for_each(rename),
            ProofCheck::Test {
                run,
                inputs,
                report,
                ..
            } => run.iter_mut().chain(inputs).chain(report).for_each(rename),
            ProofCheck::File { path } => rename(path),
            ProofCheck::Review { review } => {
                if let Some(now) = self.moved.paths.path_after(review) {
                    *review = now.to_owned();
                }
            }
        }
        check
    }

    /// Returns the digest of a review as it is afterwards.
    fn digest_review(&self, review: &str) -> Result<Digest32, Failure> {
        use domain::record::Recorded as _;
        let changed = self.others.iter().find_map(|fact| match fact {
            Fact::RecordChanged { record, after, .. }
                if record.kind == Review::KIND && record.key == review =>
            {
                Some(after.clone())
            }
            _ => None,
        });
        let body = match changed {
            Some(body) => body,
            None => self.state.record_body(Review::KIND, review)?,
        };
        let text = body.map(|body| body.to_string()).unwrap_or_default();
        Ok(Digest32::of_bytes(text.as_bytes()))
    }

    /// Whether files move that are no plans: on these the evidence without inputs depends.
    fn moves_other_files(&self) -> bool {
        let mut sources = self.moved.files.changed_sources();
        sources.any(|path| !is_exempt(self.ctx.profiles, path))
    }

    fn list_all_files(&mut self) -> Result<&(Vec<String>, Vec<String>), Failure> {
        let listed = match self.repository.take() {
            Some(known) => known,
            None => {
                let files = self.moved.files;
                let before = list_repository(self.ctx, &|path| Some(path.to_owned()))?;
                let after = list_repository(self.ctx, &|path| {
                    (!files.is_removed(path)).then(|| files.target_of(path))
                })?;
                (before, after)
            }
        };
        Ok(self.repository.insert(listed))
    }
}

/// Returns where a file, a folder or a pattern is afterwards; `None` if it stays.
fn rename_input(moves: &FileMoves, input: &str) -> Option<String> {
    if let Some(target) = moves.target_of(input) {
        return Some(target);
    }
    let fixed = input.split(['*', '?', '[', '{']).next().unwrap_or_default();
    if fixed == input {
        let folder = format!("{}/", input.trim_end_matches('/'));
        let target = moves.target_of(&folder)?;
        let has_slash = input.ends_with('/');
        return Some(match has_slash {
            true => target,
            false => target.trim_end_matches('/').to_owned(),
        });
    }
    let end = fixed.rfind('/')? + 1;
    let (folder, rest) = input.split_at(end);
    Some(moves.target_of(folder)? + rest)
}
