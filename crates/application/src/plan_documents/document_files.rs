//! Shared steps of the plan-document use cases: open and verify `plan.json`, stage a new text as
//! facts, write it after the commit.
//!
//! A file that differs from what was written last is reported and never treated as ours: the tree
//! in the store follows the file's text, and a silent edit would bypass the frozen state and the
//! version checks.

use std::collections::HashMap;

use domain::fact::Fact;
use domain::ids::{NodeId, Principal, VersionHash};
use domain::node::{Content, Node, NodeStatus, Progress, Status};
use domain::operation::Verb;
use domain::plan_document::{
    CurrentDocument, DocumentNode, DocumentRecord, MILESTONES_PROFILE, PLANS_FOLDER, Plan,
    PlanProblem, ProblemGrade, check_diffs, check_plan, diff_plan_texts, document_file_path,
    intent_node, locate_problems, milestone_node, plan_node, read_plan, split_document_path,
    touched_milestones, write_plan,
};
use domain::ports::{FileReadResult, FileStamp, NewOperation, Snapshot, StoreFault, Transaction};
use domain::record::{self, ChangeRecords};
use domain::suggest::nearest_hint;
use domain::time::Timestamp;

use super::take_over::{list_unknown_documents, take_over_step};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{self, PlannedFiles, unwritten_paths};
use crate::locate::load_node;
use crate::observe::answer_repeated_request;

/// Plans of at least this size are hashed in a second thread while they are parsed.
const PARALLEL_HASH_BYTES: usize = 256 * 1024;

/// A document with its plan, verified to be the text that was written last.
#[derive(Debug)]
pub(crate) struct OpenedDocument {
    pub(crate) id: String,
    pub(crate) record: DocumentRecord,
    pub(crate) plan: Plan,
    pub(crate) text: String,
    /// Detects a later change of the file without reading it, if the file system allows.
    stamp: Option<FileStamp>,
}

/// Returns the id of the requested document: the one named, or the current one.
pub(crate) fn resolve_document(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    named: Option<&str>,
) -> Result<String, Failure> {
    let id = match named {
        Some(id) => id.to_owned(),
        None => {
            // Sessions in parallel work on different documents; the shared entry is for a session
            // that has not chosen one.
            let own = match session_key(ctx) {
                Some(session) => record::read_record::<CurrentDocument>(state, session)?,
                None => None,
            };
            let current = match own {
                Some(own) => Some(own),
                None => record::read_record::<CurrentDocument>(state, "")?,
            };
            match current {
                Some(current) => current.document,
                None => return Err(describe_no_document(ctx, state)?),
            }
        }
    };
    Ok(id)
}

/// Describes that no document is chosen: there is none yet, or none that this state knows.
fn describe_no_document(ctx: &Context<'_>, state: &dyn Snapshot) -> Result<Failure, Failure> {
    let unknown = list_unknown_documents(ctx, state)?;
    if unknown.is_empty() {
        return Ok(Failure::not_found("there is no plan document yet")
            .with_step("tl flow start planner --new \"TITLE\"   # plan it step by step")
            .with_step("tl doc new \"TITLE\""));
    }
    let what = format!(
        "this state does not know the plan {}: it came from elsewhere or was rebuilt",
        unknown.join(", ")
    );
    let failure = Failure::not_found(what);
    Ok(unknown
        .iter()
        .fold(failure, |failure, id| failure.with_step(take_over_step(id))))
}

/// Returns the key of a session's own current document.
fn session_key<'c>(ctx: &'c Context<'_>) -> Option<&'c str> {
    match &ctx.actor {
        // Agents without a session id would share one key and switch each other's document.
        Principal::Agent { session, .. } if session != "unknown" && !session.is_empty() => {
            Some(session)
        }
        _ => None,
    }
}

/// Returns the facts that make a document the current one.
pub(crate) fn make_current(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: &str,
) -> Result<Vec<Fact>, StoreFault> {
    let after = CurrentDocument {
        document: id.to_owned(),
    };
    let mut facts = Vec::new();
    // The shared entry as well: it is where a session that has chosen nothing starts.
    for key in std::iter::once("").chain(session_key(ctx)) {
        let before = record::read_record::<CurrentDocument>(state, key)?;
        facts.change_record(key, before.as_ref(), Some(&after));
    }
    Ok(facts)
}

/// Loads a document's record.
pub(crate) fn load_document(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: &str,
) -> Result<DocumentRecord, Failure> {
    if let Some(record) = record::read_record::<DocumentRecord>(state, id)? {
        return Ok(record);
    }
    // An id with a separator would read a file outside the document's folder.
    let there = !id.contains(['/', '\\'])
        && matches!(
            read_document_file(ctx, id, "plan.json"),
            FileReadResult::Text { .. }
        );
    if there {
        return Err(Failure::not_found(format!(
            "{} exists, but this state does not know it: it came from elsewhere or was rebuilt",
            document_file_path(id, "plan.json")
        ))
        .with_step(format!("tl doc validate --doc {id}   # look at it"))
        .with_step(take_over_step(id)));
    }
    let known = record::read_records::<DocumentRecord>(state, "")?;
    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    let hint = nearest_hint(id, names.iter().copied());
    let failure = Failure::not_found(format!("there is no plan document `{id}`{hint}"));
    Err(if names.is_empty() {
        failure.with_step("tl doc new \"TITLE\"")
    } else {
        failure.with_step("tl doc list")
    })
}

/// Reads a file of a document.
pub(crate) fn read_document_file(ctx: &Context<'_>, id: &str, name: &str) -> FileReadResult {
    ctx.files
        .read_file(&document_file_path(id, name), ctx.policy.max_plan_bytes)
}

/// Finds a document and opens it.
pub(crate) fn find_and_open(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    named: Option<&str>,
) -> Result<OpenedDocument, Failure> {
    let id = resolve_document(ctx, state, named)?;
    let record = load_document(ctx, state, &id)?;
    open_document(ctx, state, id, record)
}

/// Reads and verifies a document's file. An external edit is reported.
pub(crate) fn open_document(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: String,
    record: DocumentRecord,
) -> Result<OpenedDocument, Failure> {
    let path = document_file_path(&id, "plan.json");
    let restore = restore_step(&id);
    let (text, stamp) = match read_document_file(ctx, &id, "plan.json") {
        FileReadResult::Text { text, stamp, .. } => (text, stamp),
        FileReadResult::Missing => {
            return Err(Failure::refused(format!("{path} is gone")).with_step(restore));
        }
        FileReadResult::Unreadable { why, .. } => {
            return Err(Failure::invalid(format!("{path} cannot be read: {why}"))
                .with_step(format!("move it away, then: {restore}")));
        }
    };
    let is_ours = || VersionHash::of_bytes(text.as_bytes()) == record.written;
    // The hash does not depend on the parsed plan, so for a large one both run in parallel.
    let (plan, is_ours) = if text.len() > PARALLEL_HASH_BYTES {
        std::thread::scope(|scope| {
            let hashed = scope.spawn(is_ours);
            (
                read_plan(&text),
                hashed.join().unwrap_or_else(|_| is_ours()),
            )
        })
    } else {
        (read_plan(&text), is_ours())
    };
    // Checked only on a mismatch: a pending write explains it and is not an external edit.
    if !is_ours && unwritten_paths(state)?.contains(&path) {
        let what = format!("{path} is behind what is recorded: it could not be written yet");
        return Err(
            Failure::unavailable(what).with_step("tl status   # tries again, and says why not")
        );
    }
    match plan {
        Ok(plan) if is_ours => Ok(OpenedDocument {
            id,
            record,
            plan,
            text,
            stamp,
        }),
        plan => Err(describe_external_edit(state, &id, &record, &text, plan)?),
    }
}

/// Returns the command that restores a document's file.
fn restore_step(id: &str) -> String {
    format!(
        "tl doc restore --doc {id}   # put back what was written last; what is there now is kept"
    )
}

/// Describes an edit that Throughline did not make: what is wrong with it, or what it changed.
fn describe_external_edit(
    state: &dyn Snapshot,
    id: &str,
    record: &DocumentRecord,
    text: &str,
    plan: Result<Plan, Vec<PlanProblem>>,
) -> Result<Failure, Failure> {
    let path = document_file_path(id, "plan.json");
    let restore = restore_step(id);
    let invalid = |what: &str, problems: &[PlanProblem]| {
        let what = format!("{path} was changed outside and {what}; nothing was done with it");
        with_problems(Failure::invalid(what), problems).with_step(restore.as_str())
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(problems) => return Ok(invalid("is not a valid plan any more", &problems)),
    };
    let problems = broken_problems(text, &plan);
    if !problems.is_empty() {
        return Ok(invalid("contradicts itself", &problems));
    }
    // The differences are listed one by one, because the user has to choose between accepting and
    // restoring them.
    let ours = state.load_text(record.written)?.unwrap_or_default();
    let places = diff_plan_texts(&ours, text);
    let changed: Vec<PlanProblem> = locate_problems(
        text,
        places
            .iter()
            .map(|at| PlanProblem::broken(at, "was changed"))
            .collect(),
    );
    let what = format!("{path} was changed outside; nothing was done with it");
    let failure = with_problems(Failure::conflict(what), &changed);
    Ok(match record.frozen {
        // A frozen document does not offer `--accept`: it cannot be changed by any way.
        Some(_) => failure.with_step(restore).with_step(format!(
            "tl doc revise --doc {id}   # then, to change it, a new revision"
        )),
        None => failure
            .with_step(format!(
                "tl doc validate --accept --doc {id}   # take the change over"
            ))
            .with_step(restore),
    })
}

/// Returns the problems that make a plan unusable.
pub(crate) fn broken_problems(text: &str, plan: &Plan) -> Vec<PlanProblem> {
    locate_problems(
        text,
        check_plan(plan)
            .into_iter()
            .filter(|problem| problem.grade == ProblemGrade::Broken)
            .collect(),
    )
}

/// Returns the problems of a plan's diffs with the files as they are.
pub(crate) fn check_plan_diffs(ctx: &Context<'_>, plan: &Plan) -> Vec<PlanProblem> {
    check_diffs(plan, &|path| read_project_file(ctx, path))
}

/// Reads a file that a diff changes; `None` if it does not exist or is not a text.
pub(crate) fn read_project_file(ctx: &Context<'_>, path: &str) -> Option<String> {
    match ctx.files.read_file(path, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => Some(text),
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
    }
}

/// Refuses to go on with a `context.json` that is not the frozen one: the plan was designed against it,
/// and later roles know the user only through it.
pub(crate) fn refuse_changed_context(
    id: &str,
    record: &DocumentRecord,
    reading: &FileReadResult,
) -> Result<(), Failure> {
    let Some(frozen) = record.context else {
        return Ok(());
    };
    let problem = match reading {
        FileReadResult::Text { text, .. } if VersionHash::of_bytes(text.as_bytes()) == frozen => {
            return Ok(());
        }
        FileReadResult::Text { .. } => "was changed after it was frozen".to_owned(),
        FileReadResult::Missing => "is gone".to_owned(),
        FileReadResult::Unreadable { why, .. } => format!("cannot be read: {why}"),
    };
    let path = document_file_path(id, "context.json");
    Err(
        Failure::conflict(format!("{path} {problem}; the workflow stops here"))
            .with_step(restore_step(id))
            .with_step(format!(
                "tl doc revise --doc {id}   # if the user wants something else now: a new plan"
            )),
    )
}

/// Adds problems to a failure, each with its location.
pub(crate) fn with_problems(failure: Failure, problems: &[PlanProblem]) -> Failure {
    // An agent reads the failure; a broken file of thousands of lines must not fill its context.
    const MOST: usize = 20;
    let failure = problems
        .iter()
        .take(MOST)
        .fold(failure, |failure, problem| {
            failure.with_step(format!("at {}", problem.render_line()))
        });
    if problems.len() > MOST {
        failure.with_step(format!("and {} more", problems.len() - MOST))
    } else {
        failure
    }
}

/// Refuses a change of a frozen document.
pub(crate) fn refuse_frozen(id: &str, record: &DocumentRecord) -> Result<(), Failure> {
    match &record.frozen {
        None => Ok(()),
        Some(frozen) => Err(Failure::refused(format!(
            "`{id}` is frozen since {}: nothing in it changes any more",
            frozen.at
        ))
        .with_step(format!(
            "tl doc revise --doc {id}   # a new revision that starts from it"
        ))),
    }
}

/// Returns the command that restores a frozen plan document whose file was changed; `None` for any other
/// node.
pub(crate) fn find_frozen_edit(
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<String>, StoreFault> {
    if node.profile != MILESTONES_PROFILE || node.parent.is_some() {
        return Ok(None);
    }
    let record = record::read_record::<DocumentRecord>(state, &node.alias)?;
    let frozen = record.and_then(|record| record.frozen);
    let now = node.content.version_hash();
    Ok(frozen
        .filter(|frozen| now.is_some_and(|now| now != frozen.version))
        .map(|_| restore_step(&node.alias)))
}

/// Refuses to decide about a frozen plan document whose file was changed: what was decided is the frozen
/// text.
pub(crate) fn refuse_frozen_edit(state: &dyn Snapshot, node: &Node) -> Result<(), Failure> {
    let Some(restore) = find_frozen_edit(state, node)? else {
        return Ok(());
    };
    let id = &node.alias;
    let path = document_file_path(id, "plan.json");
    Err(
        Failure::refused(format!("{path} was changed after it was frozen"))
            .with_step(restore)
            .with_step(format!(
                "tl doc revise --doc {id}   # then, to change it, a new revision"
            )),
    )
}

/// Refuses to restore another text than the frozen one into a frozen document's file.
pub(crate) fn refuse_frozen_restore(
    state: &dyn Snapshot,
    path: &str,
    version: VersionHash,
) -> Result<(), Failure> {
    let Some((id, "plan.json")) = split_document_path(path) else {
        return Ok(());
    };
    let Some(record) = record::read_record::<DocumentRecord>(state, id)? else {
        return Ok(());
    };
    match record.frozen {
        // Restoring the frozen text itself is allowed: that is how a damaged file is repaired.
        Some(frozen) if frozen.version != version => Err(Failure::refused(format!(
            "`{id}` is frozen: only version {} belongs into its file",
            frozen.version.short_hex()
        ))
        .with_step(format!("tl doc restore --doc {id}"))
        .with_step(format!("tl doc revise --doc {id}"))),
        _ => Ok(()),
    }
}

/// Checks that the workflows under way on a document allow the commands now, and returns the facts
/// that record the actor as author.
pub(crate) fn check_allowed(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    id: &str,
    commands: &[&str],
) -> Result<Vec<Fact>, Failure> {
    let mut facts = Vec::new();
    for (key, run) in crate::workflows::active_runs(state, id)? {
        let workflow = crate::workflows::find_workflow(ctx, &run.workflow)?;
        let (at, step) = crate::workflows::current_step(&workflow, &run)?;
        if let Some(command) = commands.iter().find(|command| {
            !domain::workflow::is_command_allowed(&workflow, at, &ctx.actor, command)
        }) {
            return Err(Failure::refused(format!(
                "`tl {command}` is not for the {} in step `{}` of {}",
                step.role, step.name, workflow.name
            ))
            .with_step(format!(
                "tl flow next --for {id}   # what is to be done now, and with which commands"
            ))
            .with_step(format!("tl flow abort --for {id}   # give the workflow up")));
        }
        let mut after = run.clone();
        // Recorded with every edit, because an author may not review the work later.
        after.add_author(&ctx.actor);
        facts.change_record(&key, Some(&run), Some(&after));
    }
    Ok(facts)
}

/// Plans to replace the plan of an opened document, without reading an unchanged file again.
pub(crate) fn put_plan(
    planned: &PlannedFiles<'_>,
    opened: &OpenedDocument,
    text: &str,
) -> Result<(), Failure> {
    planned.put_over_known(
        &document_file_path(&opened.id, "plan.json"),
        opened.record.written,
        opened.stamp,
        text,
    )
}

/// Runs `act` in a write transaction; its planned files are written after the commit.
///
/// A request that an interrupted process already carried out is refused with "already done".
pub(crate) fn run_with_files<T>(
    ctx: &Context<'_>,
    request: &dyn std::fmt::Debug,
    act: impl FnOnce(&mut dyn Transaction, &PlannedFiles<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // Identifies a repetition after a crash, where the caller never saw the result.
    let request = Some(file_writes::hash_request(request));
    let mut tx = file_writes::begin_transaction(ctx)?;
    if let Some(done) = answer_repeated_request(ctx, &mut *tx, request)? {
        // Commits that the request was answered; the next repetition is carried out.
        tx.commit()?;
        return Err(done);
    }
    let planned = PlannedFiles::new(ctx, request);
    let value = act(&mut *tx, &planned)?;
    planned.commit_and_write(ctx, tx)?;
    Ok(value)
}

/// The facts and texts of a new version of a document, before they are recorded.
#[derive(Debug, Default)]
pub(crate) struct StagedDocument {
    pub(crate) facts: Vec<Fact>,
    pub(crate) texts: Vec<String>,
    /// The new `plan.json`.
    pub(crate) text: String,
    /// Whether statuses have to be derived again.
    pub(crate) settles: bool,
}

impl StagedDocument {
    /// Returns the operation that records it, with the change of the document's record.
    pub(crate) fn into_operation(
        self,
        ctx: &Context<'_>,
        summary: String,
        now: Timestamp,
        (id, before, after): (&str, Option<&DocumentRecord>, &DocumentRecord),
    ) -> NewOperation {
        let mut operation = ctx.new_operation(Verb::Document, summary);
        operation.at = now;
        operation.facts = self.facts;
        operation.facts.change_record(id, before, Some(after));
        operation.texts = self.texts;
        operation
    }
}

/// Returns the facts that lead from the recorded tree of a document to the one the plan describes.
///
/// `before` is the plan the tree follows now; `None` if there is no tree yet. Sets the new version
/// in `record`.
pub(crate) fn stage_document(
    tx: &dyn Transaction,
    id: &str,
    before: Option<&Plan>,
    after: &Plan,
    record: &mut DocumentRecord,
    now: Timestamp,
) -> Result<StagedDocument, Failure> {
    let text = write_plan(after);
    let wanted = plan_node(id, after, text.clone());
    let content = wanted.node_content();
    record.written = content.version_hash().unwrap_or(record.written);
    let mut staging = Staging {
        tx,
        now,
        next: tx.next_node_id()?.0,
        staged: StagedDocument {
            text,
            ..StagedDocument::default()
        },
    };
    match before {
        None => {
            let path = Some(document_file_path(id, "plan.json"));
            // Added as missing, then changed: undoing the second fact deletes the file, which
            // undoing a node that was added with its text would not.
            let root = staging.add_node(None, &wanted, path, Content::Missing);
            record.node = root;
            let (before, after) = (Content::Missing, content);
            staging.staged.facts.push(Fact::ContentChanged {
                node: root,
                before,
                after,
            });
            staging.staged.texts.push(wanted.text);
        }
        Some(_) => staging.update_node(&load_node(tx, record.node)?, wanted, content),
    }
    // Only what differs: most edits touch one milestone of a large plan.
    for milestone in touched_milestones(before, after) {
        staging.stage_milestone(record.node, after, &milestone)?;
    }
    Ok(staging.staged)
}

struct Staging<'t> {
    tx: &'t dyn Transaction,
    now: Timestamp,
    next: u32,
    staged: StagedDocument,
}

impl Staging<'_> {
    fn add_node(
        &mut self,
        parent: Option<NodeId>,
        wanted: &DocumentNode,
        path: Option<String>,
        content: Content,
    ) -> NodeId {
        let id = NodeId(self.next);
        self.next += 1;
        self.staged.facts.push(Fact::NodeAdded {
            node: Box::new(Node {
                id,
                parent,
                profile: MILESTONES_PROFILE.to_owned(),
                level: wanted.level.to_owned(),
                alias: wanted.alias.clone(),
                order: wanted.order,
                path,
                description: wanted.description.clone(),
                content,
                approval: None,
                condemnation: None,
                progress: Progress::Pending,
                standing: NodeStatus::without_cause(Status::Draft),
                created_at: self.now,
                updated_at: self.now,
            }),
        });
        id
    }

    fn add_child(&mut self, parent: NodeId, wanted: &DocumentNode) -> NodeId {
        self.staged.texts.push(wanted.text.clone());
        self.add_node(Some(parent), wanted, None, wanted.node_content())
    }

    /// Updates a recorded node to the wanted content and description.
    fn update_node(&mut self, node: &Node, wanted: DocumentNode, content: Content) {
        if content != node.content {
            // A draft below drafts stays a draft, and settling a large tree is expensive; only
            // other statuses have to be derived again.
            self.staged.settles |= node.approval.is_some() || node.status() != Status::Draft;
            self.staged.texts.push(wanted.text);
            self.staged.facts.push(Fact::ContentChanged {
                node: node.id,
                before: node.content.clone(),
                after: content,
            });
        }
        if wanted.description != node.description {
            self.staged.facts.push(Fact::DescriptionChanged {
                node: node.id,
                before: node.description.clone(),
                after: wanted.description,
            });
        }
    }

    fn update_entity(&mut self, node: &Node, wanted: DocumentNode) {
        let content = wanted.node_content();
        self.update_node(node, wanted, content);
    }

    fn stage_milestone(&mut self, root: NodeId, plan: &Plan, id: &str) -> Result<(), StoreFault> {
        let node = self.tx.children_by_alias(root, id)?.into_iter().next();
        // Intents that are still in this map at the end are in the tree but no longer in the plan.
        let mut below: HashMap<String, Node> = HashMap::new();
        if let Some(node) = &node {
            below.extend(
                self.tx
                    .load_children(node.id)?
                    .into_iter()
                    .map(|child| (child.alias.clone(), child)),
            );
        }
        let wanted = plan.find_milestone(id);
        let parent = match (&node, wanted) {
            (Some(node), Some(milestone)) => {
                self.update_entity(node, milestone_node(plan, milestone));
                Some(node.id)
            }
            (None, Some(milestone)) => Some(self.add_child(root, &milestone_node(plan, milestone))),
            (_, None) => None,
        };
        if let (Some(parent), Some(milestone)) = (parent, wanted) {
            for intent in &milestone.code_intents {
                let wanted = intent_node(milestone, intent);
                match below.remove(&intent.id) {
                    Some(known) => self.update_entity(&known, wanted),
                    None => {
                        self.add_child(parent, &wanted);
                    }
                }
            }
        }
        let mut gone: Vec<Node> = below.into_values().collect();
        // `HashMap` order would make the journal of the same edit differ between runs.
        gone.sort_by_key(|node| node.id);
        // The milestone after its intents: a node can be removed only when nothing is below it.
        gone.extend(node.filter(|_| wanted.is_none()));
        self.staged
            .facts
            .extend(gone.into_iter().map(|node| Fact::NodeRemoved {
                node: Box::new(node),
            }));
        Ok(())
    }
}

/// Returns the names of all document folders on disk.
pub(crate) fn list_document_folders(ctx: &Context<'_>) -> Vec<String> {
    ctx.files
        .list_folder(PLANS_FOLDER)
        .into_iter()
        .map(|entry| entry.name)
        .collect()
}
