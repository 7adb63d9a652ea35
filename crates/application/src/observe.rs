//! Observation: what happened to the plan files is recorded before anything else is done or said.

use std::rc::Rc;

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId, Principal, VersionHash};
use domain::node::{Content, Node, Progress, WorkKeys};
use domain::observation::{Place, Sighting, decide};
use domain::operation::Verb;
use domain::policy::BackupPolicy;
use domain::ports::{FileFault, NewOperation, Snapshot, StoreFault, Transaction};
use domain::secrets::mask;
use domain::text::count;
use domain::time::Timestamp;
use domain::tree::Tree;
use domain::version::backup_name;

use crate::context::{Context, Noticed};
use crate::evidence::{completing, refuse_unproved};
use crate::failure::{Failure, FailureKind};
use crate::file_writes::{self, PlannedFiles};
use crate::locate::{find, with_ancestors};
use crate::settle::{count_stale, settle};
use crate::survey::{Scope, Survey, survey};

/// So many files may be read again at every command before their stamps are worth a write.
const STAMPS_WORTH_A_WRITE: usize = 32;

/// Looks at the files and records what changed; then returns a view of the state that is true.
///
/// When nothing changed, nothing is written.
pub(crate) fn observed<'s>(
    ctx: &Context<'s>,
    scope: Scope,
) -> Result<Box<dyn Snapshot + 's>, Failure> {
    let snapshot = ctx.store.read()?;
    let seen = survey(ctx, &*snapshot, scope, NodeId(u32::MAX / 2))?;
    if seen.shows_nothing() && seen.stamps.len() < STAMPS_WORTH_A_WRITE {
        return Ok(snapshot);
    }
    drop(snapshot);
    match record(ctx, scope) {
        Ok(()) => {}
        // What cannot be written can still be shown, with a word about it.
        Err(failure) if failure.damage.is_none() && !failure.overtaken && !failure.is_answer() => {
            if !seen.shows_nothing() {
                ctx.notice(Noticed::NotRecorded {
                    why: failure.message,
                });
            }
        }
        Err(failure) => return Err(failure),
    }
    Ok(ctx.store.read()?)
}

/// A node that was named, with a view of the state that is true for it.
pub(crate) struct ObservedNode<'s, 'w> {
    pub(crate) state: Box<dyn Snapshot + 's>,
    pub(crate) id: NodeId,
    /// The words after the node.
    pub(crate) rest: &'w [String],
}

/// Finds a node by its name and looks at the files it stands on.
///
/// A name that is not known may be a file that was written a moment ago: everything is looked at
/// before the answer is no.
pub(crate) fn observed_node<'s, 'w>(
    ctx: &Context<'s>,
    words: &'w [String],
    scope: fn(NodeId) -> Scope,
) -> Result<ObservedNode<'s, 'w>, Failure> {
    let state = ctx.store.read()?;
    match find(ctx, &*state, words) {
        Ok((id, rest)) => {
            let seen = survey(ctx, &*state, scope(id), NodeId(u32::MAX / 2))?;
            if seen.shows_nothing() {
                return Ok(ObservedNode { state, id, rest });
            }
            drop(state);
            Ok(ObservedNode {
                state: observed(ctx, scope(id))?,
                id,
                rest,
            })
        }
        Err(failure) if failure.kind == FailureKind::NotFound && failure.damage.is_none() => {
            drop(state);
            let state = observed(ctx, Scope::Everything)?;
            let (id, rest) = find(ctx, &*state, words)?;
            Ok(ObservedNode { state, id, rest })
        }
        Err(failure) => Err(failure),
    }
}

/// Finds a node by its name and runs `act` on it in a write transaction that first records what
/// changed in the files it stands on. `act` is given the words after the node.
pub(crate) fn with_node<T>(
    ctx: &Context<'_>,
    words: &[String],
    act: impl FnOnce(&mut dyn Transaction, NodeId, &[String]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_node_files(ctx, words, None, |_, tx, id, rest| act(tx, id, rest))
}

/// The same for an operation that writes files: `act` plans them, and they are written after the commit. A `request` that an
/// interrupted process carried out is not carried out again.
pub(crate) fn with_node_files<T>(
    ctx: &Context<'_>,
    words: &[String],
    request: Option<VersionHash>,
    act: impl FnOnce(&PlannedFiles<'_>, &mut dyn Transaction, NodeId, &[String]) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut tx = file_writes::begin(ctx)?;
    if let Some(done) = repeated(ctx, &mut *tx, request)? {
        tx.commit()?;
        return Err(done);
    }
    let planned = PlannedFiles::of(ctx, request);
    let mut observed = None;
    let (id, rest) = match find(ctx, &*tx, words) {
        Err(failure) if failure.kind == FailureKind::NotFound && failure.damage.is_none() => {
            observed = observe_within(ctx, &mut *tx, Scope::Everything)?;
            match find(ctx, &*tx, words) {
                Ok(found) => found,
                Err(failure) => return keep_observed(tx, observed, failure),
            }
        }
        other => other?,
    };
    observed = observe_within(ctx, &mut *tx, Scope::Lineage(id))?.or(observed);
    match act(&planned, &mut *tx, id, rest) {
        Ok(value) => {
            planned.commit(ctx, tx)?;
            Ok(value)
        }
        Err(failure) => keep_observed(tx, observed, failure),
    }
}

/// Returns the answer to a request that an interrupted process carried out; the transaction is to be committed then.
pub(crate) fn repeated(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    request: Option<VersionHash>,
) -> Result<Option<Failure>, Failure> {
    let Some(request) = request else {
        return Ok(None);
    };
    let done = file_writes::take_interrupted(ctx, tx, request)?;
    done.map(|operation| file_writes::done_already(&*tx, operation))
        .transpose()
}

/// What was observed is true whatever was refused afterwards.
fn keep_observed<T>(
    tx: Box<dyn Transaction + '_>,
    observed: Option<OperationId>,
    failure: Failure,
) -> Result<T, Failure> {
    if failure.is_answer() && observed.is_some() {
        tx.commit()?;
    }
    Err(failure)
}

/// Looks at every file and records what changed; then returns the whole tree, which is true.
///
/// Such a look is the moment to finish what was left out of the mirror.
pub(crate) fn observed_tree<'s>(
    ctx: &Context<'s>,
) -> Result<(Box<dyn Snapshot + 's>, Tree), Failure> {
    let (snapshot, plans) = observed_plans(ctx)?;
    if !domain::trail::is_kept(ctx.profiles) {
        return Ok((snapshot, plans));
    }
    let tree = Tree::new(snapshot.all_nodes()?);
    Ok((snapshot, tree))
}

/// The same without the trail, which has no files and can be long.
pub(crate) fn observed_plans<'s>(
    ctx: &Context<'s>,
) -> Result<(Box<dyn Snapshot + 's>, Tree), Failure> {
    ctx.store.finish_mirror();
    let snapshot = ctx.store.read()?;
    let seen = survey(ctx, &*snapshot, Scope::WholeTree, NodeId(u32::MAX / 2))?;
    if seen.shows_nothing() && seen.stamps.len() < STAMPS_WORTH_A_WRITE {
        let nodes = Rc::unwrap_or_clone(seen.nodes);
        return Ok((snapshot, Tree::new(nodes)));
    }
    drop(snapshot);
    let snapshot = observed(ctx, Scope::Everything)?;
    let tree = Tree::new(snapshot.nodes_outside(&[domain::trail::PROFILE])?);
    Ok((snapshot, tree))
}

fn record(ctx: &Context<'_>, scope: Scope) -> Result<(), Failure> {
    let mut tx = ctx.store.write()?;
    observe_within(ctx, &mut *tx, scope)?;
    tx.commit()?;
    if scope == Scope::Everything {
        ctx.store.finish_mirror();
    }
    Ok(())
}

/// Runs `act` in a write transaction that first records what changed in `scope`.
///
/// When `act` is refused, what was observed is kept all the same.
pub(crate) fn with_observed<T>(
    ctx: &Context<'_>,
    scope: Scope,
    act: impl FnOnce(&mut dyn Transaction) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_observed_files(ctx, scope, None, |_, tx| act(tx))
}

/// The same for an operation that writes files, as [`with_node_files`].
pub(crate) fn with_observed_files<T>(
    ctx: &Context<'_>,
    scope: Scope,
    request: Option<VersionHash>,
    act: impl FnOnce(&PlannedFiles<'_>, &mut dyn Transaction) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut tx = file_writes::begin(ctx)?;
    if let Some(done) = repeated(ctx, &mut *tx, request)? {
        tx.commit()?;
        return Err(done);
    }
    let planned = PlannedFiles::of(ctx, request);
    let observed = observe_within(ctx, &mut *tx, scope)?;
    match act(&planned, &mut *tx) {
        Ok(value) => {
            planned.commit(ctx, tx)?;
            Ok(value)
        }
        Err(failure) => keep_observed(tx, observed, failure),
    }
}

/// Records in this transaction what changed in `scope`.
pub(crate) fn observe_within(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    scope: Scope,
) -> Result<Option<OperationId>, Failure> {
    // Another process may have committed, and not yet written its files, while this one waited for the lock.
    file_writes::complete_within(ctx, tx)?;
    let seen = survey(ctx, &*tx, scope, tx.next_node()?)?;
    let operation = record_sightings(ctx, tx, &seen, Verb::Observe)?;
    // Stamps belong to nodes; those of nodes that were not added after all are not kept.
    let mut stamps = Vec::with_capacity(seen.stamps.len());
    for (id, stamp, version) in seen.stamps {
        if operation.is_none() || tx.node(id)?.is_some() {
            stamps.push((id, stamp, version));
        }
    }
    tx.keep_stamps(&stamps)?;
    Ok(operation)
}

/// Records what planned files come to, as the caller's own operation: the tree follows them before they are written.
/// Nothing when nothing changes.
pub(crate) fn record_planned(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    verb: Verb,
    summary: String,
    more: Vec<Fact>,
) -> Result<Option<OperationId>, Failure> {
    let operation = ctx.on_files(planned, |ctx| {
        let seen = survey(ctx, &*tx, Scope::Everything, tx.next_node()?)?;
        operation_of(ctx, tx, &seen, verb)
    })?;
    if operation.is_none() && more.is_empty() && planned.is_empty() {
        return Ok(None);
    }
    let mut operation = operation.unwrap_or_else(|| ctx.operation(verb, String::new()));
    operation.summary = summary;
    operation.facts.extend(more);
    planned.record(tx, operation).map(Some)
}

/// Turns sightings into one operation.
pub(crate) fn record_sightings(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    seen: &Survey,
    verb: Verb,
) -> Result<Option<OperationId>, Failure> {
    let Some(operation) = operation_of(ctx, tx, seen, verb)? else {
        return Ok(None);
    };
    let (summary, stale) = (operation.summary.clone(), count_stale(&operation.facts));
    let id = tx.record(operation)?;
    if verb == Verb::Observe {
        ctx.notice(Noticed::Changes {
            operation: id,
            summary,
            stale,
        });
    }
    Ok(Some(id))
}

/// Returns the operation that sightings come to; nothing when all is as recorded.
fn operation_of(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    seen: &Survey,
    verb: Verb,
) -> Result<Option<NewOperation>, Failure> {
    if seen.shows_nothing() {
        return Ok(None);
    }
    let tree = slice(tx, &seen.sightings)?;
    let now = ctx.clock.now();
    let mut facts = decide(&tree, &seen.sightings, now);
    follow_files(ctx, tx, &mut facts)?;
    for (node, after) in &seen.moves {
        let before = tx.node(*node)?.and_then(|node| node.parent);
        facts.push(Fact::NodeMoved {
            node: *node,
            before,
            after: *after,
        });
    }
    if facts.is_empty() {
        return Ok(None);
    }
    settle(ctx, tx, &mut facts, &seen.texts, now, None)?;
    back_up(ctx, tx, &tree, &mut facts, now)?;
    let mut operation = ctx.operation(verb, summarise(&tree, &facts));
    if verb == Verb::Observe {
        operation.by = Principal::System;
    }
    operation.at = now;
    operation.facts = facts;
    operation.texts = seen.texts.clone();
    Ok(Some(operation))
}

/// Where files say how far the work is, the progress follows them; what is not proved does not count as complete.
fn follow_files(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let said = |profile: &str, work: &Option<Box<WorkKeys>>| {
        let last_phase = ctx
            .profile(profile)
            .and_then(|profile| profile.work_phases.last());
        work.as_ref()
            .and_then(|work| work.progress(last_phase.map(|phase| phase.name.as_str())))
    };
    let mut follow = Vec::new();
    for fact in facts.iter_mut() {
        match fact {
            Fact::NodeAdded { node } => {
                node.progress =
                    said(&node.profile, &node.description.work).unwrap_or(node.progress);
            }
            Fact::DescriptionChanged {
                node,
                before,
                after,
            } => {
                let Some(known) = tx.node(*node)? else {
                    continue;
                };
                let (then, now) = (
                    said(&known.profile, &before.work),
                    said(&known.profile, &after.work),
                );
                // A phase after the last one, and no word beside it: it is worked on again.
                let has_phase = after
                    .work
                    .as_ref()
                    .is_some_and(|work| work.phase.is_some() && work.problem.is_none());
                let again = then == Some(Progress::Complete) && has_phase;
                let now = now.or_else(|| again.then_some(Progress::Active));
                let Some(progress) = now.filter(|_| now != then && now != Some(known.progress))
                else {
                    continue;
                };
                if progress == Progress::Complete {
                    if let Err(refused) = refuse_unproved(ctx, &*tx, &known) {
                        ctx.notice(Noticed::Unproved {
                            node: known.alias.clone(),
                            why: refused.message,
                        });
                        continue;
                    }
                    completing(ctx, tx, &known)?;
                }
                follow.push(Fact::ProgressChanged {
                    node: *node,
                    before: known.progress,
                    after: progress,
                });
            }
            _ => {}
        }
    }
    facts.append(&mut follow);
    Ok(())
}

/// Returns the nodes the sightings speak of, with their parents.
fn slice(tx: &dyn Transaction, sightings: &[Sighting]) -> Result<Tree, StoreFault> {
    let mut wanted: Vec<NodeId> = Vec::new();
    for sighting in sightings {
        match &sighting.place {
            Place::Known(id) => wanted.push(*id),
            Place::New(new) => wanted.extend(new.parent),
        }
    }
    with_ancestors(tx, wanted)
}

/// Writes the readable backup of every plan that was overwritten.
fn back_up(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    tree: &Tree,
    facts: &mut Vec<Fact>,
    now: Timestamp,
) -> Result<(), Failure> {
    let mut written = Vec::new();
    for fact in facts.iter() {
        let Fact::ContentChanged {
            node,
            before: Content::Text {
                canonical: before, ..
            },
            after,
        } = fact
        else {
            continue;
        };
        let Some(node) = tree.get(*node) else {
            continue;
        };
        let wanted = match ctx.policy.backups {
            BackupPolicy::Always => true,
            BackupPolicy::Approved => node.text_is_approved(),
            BackupPolicy::Off => false,
        };
        if wanted && after.canonical().is_some_and(|after| after != *before) {
            match write_backup(ctx, tx, node, "regeneration", now) {
                Ok(fact) => written.extend(fact),
                // The text is kept in the store in any case; what changed must be recorded all the same.
                Err(failure) => ctx.notice(Noticed::NoBackup {
                    node: node.alias.clone(),
                    why: failure.message,
                }),
            }
        }
    }
    facts.append(&mut written);
    Ok(())
}

/// Writes a node's recorded text as a readable backup beside its file. `None` when there is no text.
pub(crate) fn write_backup(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    reason: &str,
    now: Timestamp,
) -> Result<Option<Fact>, Failure> {
    let (Some(path), Some(version)) = (&node.path, node.content.version()) else {
        return Ok(None);
    };
    let Some(text) = state.text(version)? else {
        return Ok(None);
    };
    let (folder, name) = path
        .rsplit_once('/')
        .map_or(("", path.as_str()), |(folder, name)| (folder, name));
    let folder = if folder.is_empty() {
        "backups".to_owned()
    } else {
        format!("{folder}/backups")
    };
    for attempt in 1..1_000 {
        let backup = format!("{folder}/{}", backup_name(name, now, attempt));
        match ctx.files.create(&backup, &mask(&text)) {
            Ok(()) => {
                return Ok(Some(Fact::BackupWritten {
                    node: node.id,
                    version,
                    path: backup,
                    reason: reason.to_owned(),
                }));
            }
            Err(FileFault::Exists { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    Err(Failure::new(
        FailureKind::Unavailable,
        format!("cannot find a free name for a backup in `{folder}`"),
    ))
}

/// One line about what was noticed.
fn summarise(tree: &Tree, facts: &[Fact]) -> String {
    let name = |id: &NodeId| {
        tree.get(*id)
            .map_or_else(|| id.to_string(), |node| tree.path(node))
    };
    let mut parts: Vec<(&str, Vec<String>)> = vec![
        ("new", Vec::new()),
        ("changed", Vec::new()),
        ("missing", Vec::new()),
        ("unreadable", Vec::new()),
    ];
    for fact in facts {
        let (group, what) = match fact {
            Fact::NodeAdded { node } => (0, node.alias.clone()),
            Fact::ContentChanged { node, after, .. } => match after {
                Content::Text { .. } => (1, name(node)),
                Content::Missing => (2, name(node)),
                Content::Unreadable { .. } => (3, name(node)),
            },
            Fact::DescriptionChanged { node, .. } | Fact::NodeMoved { node, .. } => (1, name(node)),
            _ => continue,
        };
        // A plan's text and its title change together; it is one plan all the same.
        if group == 0 || parts[group].1.last() != Some(&what) {
            parts[group].1.push(what);
        }
    }
    let words: Vec<String> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(word, names)| match names.len() {
            1..=3 => format!("{word}: {}", names.join(", ")),
            more => {
                format!(
                    "{word}: {}, … ({})",
                    names.first().map_or("", String::as_str),
                    count(more, "plan", "plans")
                )
            }
        })
        .collect();
    words.join("; ")
}
