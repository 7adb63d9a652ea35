//! Restore an earlier version of a node's text into its plan file.
//!
//! A restore is an ordinary change of the text: approvals and the cascade follow from it as from an
//! edit.

use domain::expected_version::ExpectedVersions;
use domain::ids::{NodeId, VersionHash};
use domain::node::{Content, Node};
use domain::node_reference::NodeReference;
use domain::observation::{ObservedContent, ObservedFile, OwningNode, facts_from_observations};
use domain::operation::Verb;
use domain::ports::Transaction;
use domain::section::describe_plan;
use domain::tree::Tree;
use domain::version::{canonical_hash, pick_version};
use schemars::JsonSchema;
use serde::Serialize;

use crate::absent_nodes::find_absent_by_name;
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::file_writes::{PlannedFiles, hash_request};
use crate::list_versions::load_version_entries;
use crate::locate::{load_node, load_node_path, load_parent};
use crate::observe::{record_planned, with_observed_files, with_observed_node_files};
use crate::plan_backup::write_backup;
use crate::scan::ScanScope;
use crate::status_cascade::cascade_statuses;
use crate::transitions::collect_transitions;
use crate::unmask_version::unmask_version;
use crate::views::{CascadeView, NodeView, load_node_view};

/// Outcome of [`restore_version`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RestoreOutcome {
    pub success: bool,
    pub restored: VersionHash,
    /// The readable backup of the replaced text.
    pub backup: Option<String>,
    pub node: NodeView,
    pub cascade: CascadeView,
}

/// Restores a version. `words` are the node and the version; `replaces` is the text that was shown
/// as the present one.
///
/// # Errors
/// When there is no such node or version, or a file cannot be written.
pub fn restore_version(
    ctx: &Context<'_>,
    words: &[String],
    replaces: Option<&ExpectedVersions>,
) -> Result<RestoreOutcome, Failure> {
    // Identifies the request: `restore act-1 -1` repeated after a kill would otherwise do the
    // opposite, because `-1` now is the text that was replaced.
    let request = hash_request(&("restore", words));
    let restored = with_observed_node_files(ctx, words, Some(request), |planned, tx, id, rest| {
        let [selector] = rest else {
            // Without what was meant as a version: it is no part of the plan's name.
            let node = words.get(..words.len() - rest.len()).unwrap_or(words);
            let name = node.join(" ");
            return Err(Failure::invalid(
                "expected one version: -1, the first digits of a hash, a time, or a backup's name",
            )
            .with_step(format!("tl versions {name}")));
        };
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        if let Some(shown) = replaces {
            shown.check_current(&path, &node, None)?;
        }
        let entries = load_version_entries(ctx, &*tx, &node)?;
        let version = pick_version(&path, &entries, selector)?.version.hash;
        // An error rather than a silent success: the person meant another version.
        if node.content.version_hash() == Some(version) {
            return Err(Failure::refused(format!(
                "`{path}` is that version already"
            )));
        }
        ctx.with_planned_files(planned, |ctx| restore_text(ctx, planned, tx, id, version))
    });
    match restored {
        // Also for a plan that is not in the working tree: an untracked file that was deleted is
        // in no commit, and this is the only way back to its text.
        Err(failure) if failure.kind == FailureKind::NotFound => {
            restore_absent(ctx, words, request)?.ok_or(failure)
        }
        restored => restored,
    }
}

/// Restores a version of an absent node into its file, with which the node returns; `None` if no
/// absent node has that name.
fn restore_absent(
    ctx: &Context<'_>,
    words: &[String],
    request: VersionHash,
) -> Result<Option<RestoreOutcome>, Failure> {
    let (reference, rest) = NodeReference::parse_words(words, ctx.profiles)?;
    let [selector] = rest else {
        return Ok(None);
    };
    let name = reference.joined_name();
    if find_absent_by_name(&*ctx.store.begin_read()?, &name)?.is_none() {
        return Ok(None);
    }
    with_observed_files(ctx, ScanScope::Everything, Some(request), |planned, tx| {
        let Some((_, absent)) = find_absent_by_name(&*tx, &name)? else {
            return Ok(None);
        };
        let Some(file) = absent.node.path.clone() else {
            return Ok(None);
        };
        // Its last text counts as an earlier one: `-1` is what was there last.
        let gone = Node {
            content: Content::Missing,
            ..absent.node
        };
        let entries = load_version_entries(ctx, &*tx, &gone)?;
        let version = pick_version(&absent.name, &entries, selector)?.version.hash;
        let text = unmask_version(ctx, &*tx, version, &file)?;
        planned.put_file(&file, Some(&text))?;
        let summary = format!("restore {} to {}", absent.name, version.short_hex());
        let operation = record_planned(ctx, tx, planned, Verb::Restore, summary, Vec::new())?;
        let Some(operation) = operation.filter(|_| matches!(tx.load_node(gone.id), Ok(Some(_))))
        else {
            return Ok(None);
        };
        Ok(Some(RestoreOutcome {
            success: true,
            restored: version,
            backup: None,
            node: load_node_view(&*tx, gone.id)?,
            cascade: CascadeView {
                success: true,
                invalidated_entities: Vec::new(),
                reinstated_entities: Vec::new(),
                operation,
            },
        }))
    })
}

/// Plans the file and records the change.
fn restore_text(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    tx: &mut dyn Transaction,
    id: NodeId,
    version: VersionHash,
) -> Result<RestoreOutcome, Failure> {
    let node = load_node(&*tx, id)?;
    let path = load_node_path(&*tx, &node)?;
    let Some(file) = node.path.clone() else {
        return Err(Failure::refused(format!("`{path}` has no file to restore")));
    };
    // A plan document's file can be reached by this way too, around the commands that guard it.
    crate::plan_documents::refuse_frozen_restore(&*tx, &file, version)?;
    let text = unmask_version(ctx, &*tx, version, &file)?;
    let now = ctx.clock.now();
    // The store has the replaced text as a version; the readable copy is for people.
    let backup = write_backup(ctx, &*tx, &node, "restore", now)?;
    planned.put_file(&file, Some(&text))?;

    let profile = ctx.find_profile(&node.profile);
    let level = profile.and_then(|profile| Some((profile, profile.find_level(&node.level)?)));
    let (canonical, description) = match level {
        Some((profile, level)) => profile.read_text(level, &text),
        None => (canonical_hash(&text), describe_plan(&text)),
    };
    let sighting = ObservedFile {
        place: OwningNode::Known(id),
        found: ObservedContent::Text {
            version,
            canonical,
            description,
        },
    };
    // The decision needs only the node and its parent, so the tree is not read.
    let tree = Tree::new(std::iter::once(node.clone()).chain(load_parent(&*tx, &node)?));
    let mut facts = facts_from_observations(&tree, &[sighting], now);
    cascade_statuses(ctx, tx, &mut facts, &[], now, None)?;
    let backup_path = backup.as_ref().and_then(|fact| match fact {
        domain::fact::Fact::BackupWritten { path, .. } => Some(path.clone()),
        _ => None,
    });
    facts.extend(backup);
    let changed = collect_transitions(&*tx, &facts, Some(id))?;
    let mut operation = ctx.new_operation(
        Verb::Restore,
        format!("restore {path} to {}", version.short_hex()),
    );
    operation.at = now;
    operation.facts = facts;
    let operation = planned.record_operation(tx, operation)?;
    Ok(RestoreOutcome {
        success: true,
        restored: version,
        backup: backup_path,
        node: load_node_view(&*tx, id)?,
        cascade: CascadeView {
            success: true,
            invalidated_entities: changed.stale,
            reinstated_entities: changed.reinstated,
            operation,
        },
    })
}
