//! Comments on plans and their prose: add one, reply, resolve, and list them.
//!
//! A comment is open until its plan changes or is decided; one about a place in the text until those
//! words are gone, its thread is resolved, or, for words of the plan, the plan is approved. Nothing is deleted; the history
//! keeps every comment.

use std::collections::BTreeMap;

use domain::comment::{self, Comment, CommentPlace, CommentState, MAX_COMMENT_CHARS, ThreadLink};
use domain::ids::{NodeId, OperationId, Principal, VersionHash};
use domain::memory::validate_note_text;
use domain::node::Node;
use domain::operation::Verb;
use domain::ports::{FileReadResult, Snapshot, StoreFault};
use domain::record;
use domain::text::clean_line;
use domain::text_anchor::{AnchorProblem, TextAnchor};
use domain::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::failure::Failure;
use crate::locate::{load_node, load_node_path, reject_extra_words};
use crate::observe::{observe_node, with_recorded_node_files};
use crate::scan::ScanScope;
use crate::tick::story_state::{MAX_PROSE_BYTES, prose_path_below};

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommentView {
    /// By which a reply names it.
    pub id: String,
    pub path: String,
    #[schemars(with = "String")]
    pub by: Principal,
    pub at: Timestamp,
    /// Heading of the section it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The words it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Whether these words are in the prose, not in the plan.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_prose: bool,
    /// The line of these words in the present text; `None` if they are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The text the words were quoted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_hash: Option<VersionHash>,
    pub text: String,
    /// Id of the comment it replies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// What became of its thread.
    pub state: CommentState,
    /// Whether its thread is open.
    pub open: bool,
    pub operation: OperationId,
}

impl CommentView {
    /// Names the place a comment is about: the plan, with section and quoted words.
    #[must_use]
    pub fn describe_place(&self) -> String {
        let mut place = self.path.clone();
        if self.in_prose {
            place.push_str(", prose");
        }
        if let Some(section) = self.section.as_ref().filter(|section| !section.is_empty()) {
            place.push_str(&format!(", section \"{}\"", clean_line(section)));
        }
        if let Some(quote) = &self.quote {
            place.push_str(&format!(", on \"{}\"", clean_line(quote)));
        }
        place
    }
}

/// A comment to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewComment {
    pub text: String,
    /// Words of the plan it is about, or of its prose.
    pub quote: Option<String>,
    /// Whether they are looked for in the prose only; otherwise there after the plan.
    pub in_prose: bool,
    /// The section of these words, if they are in several.
    pub section: Option<String>,
    /// Id of the comment it replies to.
    pub reply_to: Option<String>,
    /// Whether the reply ends the thread; then it needs no text.
    pub resolves: bool,
}

/// Adds a comment about a plan as a whole.
///
/// # Errors
/// Those of [`add_placed_comment`].
pub fn add_comment(
    ctx: &Context<'_>,
    words: &[String],
    text: &str,
) -> Result<CommentView, Failure> {
    let new = NewComment {
        text: text.to_owned(),
        ..NewComment::default()
    };
    add_placed_comment(ctx, words, &new)
}

/// Adds a comment to a node: about it, about words of its text, or to a thread.
///
/// # Errors
/// When there is no such node or comment, the quoted words are not in the text, the text is empty or
/// too long, or the state cannot be written.
pub fn add_placed_comment(
    ctx: &Context<'_>,
    words: &[String],
    new: &NewComment,
) -> Result<CommentView, Failure> {
    // Resolving needs no words, but the record of a comment does: the thread shows who ended it.
    let text = match new.resolves && new.text.trim().is_empty() {
        true => "Resolved.".to_owned(),
        false => validate_note_text(&new.text, MAX_COMMENT_CHARS)?,
    };
    if new.resolves && new.reply_to.is_none() {
        return Err(Failure::invalid("which comment is resolved is not said"));
    }
    with_recorded_node_files(ctx, words, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let node = load_node(&*tx, id)?;
        let path = load_node_path(&*tx, &node)?;
        let place = find_place(ctx, &*tx, &node, &path, new)?;
        // The number of the operation is part of the record's key, so it is needed before the
        // operation is recorded. Under the write lock it cannot change.
        let operation = tx.next_operation_id()?;
        let said = Comment {
            node: id,
            operation,
            by: ctx.actor.clone(),
            at: ctx.clock.now(),
            text,
            decision: None,
            carried_at: None,
            place,
        };
        // The summary is one line of the log; the whole text is in the record.
        let start: String = clean_line(&said.text).chars().take(120).collect();
        let what = match &said.place.thread {
            Some(link) if link.resolves => "resolve a comment",
            Some(_) => "reply to a comment",
            None => "comment",
        };
        let mut new = ctx.new_operation(Verb::Comment, format!("{what} on {path}: {start}"));
        new.facts.extend(record::record_changed_fact(
            &said.record_key(),
            None,
            Some(&said),
        ));
        record_with_decisions(ctx, planned, tx, new)?;
        // Read back, because recording gives the comment the id of its decision.
        let added = load_comments(ctx, &*tx, Some(id))?;
        added
            .into_iter()
            .find(|one| one.operation == operation)
            .ok_or_else(|| Failure::internal("the comment was not recorded"))
    })
}

/// Finds what a new comment is about.
fn find_place(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: &str,
    new: &NewComment,
) -> Result<CommentPlace, Failure> {
    let mut place = CommentPlace {
        plan: node.content.canonical_hash(),
        ..CommentPlace::default()
    };
    if let Some(quote) = &new.quote {
        let (anchor, in_prose) = find_anchor(ctx, state, node, path, quote, new)?;
        place.anchor = Some(anchor);
        place.in_prose = in_prose;
    }
    if let Some(id) = &new.reply_to {
        place.thread = Some(ThreadLink {
            of: find_thread(state, node.id, path, id)?,
            resolves: new.resolves,
        });
    }
    Ok(place)
}

/// Finds quoted words in the plan, or else in its prose. Returns whether they are in the prose.
fn find_anchor(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    path: &str,
    quote: &str,
    new: &NewComment,
) -> Result<(TextAnchor, bool), Failure> {
    let refuse = |problem| {
        Failure::invalid(format!("`{path}`: {problem}")).with_step(format!("tl show {path}"))
    };
    let section = new.section.as_deref();
    let mut problem = None;
    if !new.in_prose
        && let (Some(version), Some(text)) =
            (node.content.version_hash(), load_present_text(state, node)?)
    {
        match TextAnchor::from_quote(&text, version, quote, section) {
            Ok(anchor) => return Ok((anchor, false)),
            Err(AnchorProblem::NotFound) => problem = Some(AnchorProblem::NotFound),
            Err(other) => return Err(refuse(other)),
        }
    }
    match (load_prose(ctx, state, node)?, problem) {
        (Some(prose), _) => {
            let version = VersionHash::of_bytes(prose.as_bytes());
            TextAnchor::from_quote(&prose, version, quote, section)
                .map(|anchor| (anchor, true))
                .map_err(refuse)
        }
        (None, Some(problem)) => Err(refuse(problem)),
        (None, None) if new.in_prose => {
            Err(Failure::refused(format!("`{path}` has no prose to quote")))
        }
        (None, None) => Err(Failure::refused(format!("`{path}` has no text to quote"))),
    }
}

/// Returns the thread of a comment that is named by its id or the first digits of it.
fn find_thread(
    state: &dyn Snapshot,
    node: NodeId,
    path: &str,
    id: &str,
) -> Result<String, Failure> {
    let prefix = comment::comment_key_prefix(node);
    let comments = record::read_records::<Comment>(state, &prefix)?;
    let mut threads: Vec<String> = comments
        .into_iter()
        .map(|(_, said)| said)
        // An empty id is a prefix of every comment.
        .filter(|said| !id.is_empty() && said.comment_id().starts_with(id))
        .map(|said| said.thread_id())
        .collect();
    threads.dedup();
    match threads.as_slice() {
        [thread] => Ok(thread.clone()),
        [] => Err(
            Failure::not_found(format!("there is no comment `{id}` on `{path}`"))
                .with_step(format!("tl comment {path}")),
        ),
        _ => Err(
            Failure::invalid(format!("several comments on `{path}` begin with `{id}`"))
                .with_step(format!("tl comment {path}")),
        ),
    }
}

fn load_present_text(state: &dyn Snapshot, node: &Node) -> Result<Option<String>, StoreFault> {
    match node.content.version_hash() {
        Some(version) => state.load_text(version),
        None => Ok(None),
    }
}

/// Returns the comments on a node, latest first.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn list_comments(ctx: &Context<'_>, words: &[String]) -> Result<Vec<CommentView>, Failure> {
    let seen = observe_node(ctx, words, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    Ok(load_comments(ctx, &*seen.state, Some(seen.id))?)
}

/// Returns the comments on one node or on all, latest first.
pub(crate) fn load_comments(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: Option<NodeId>,
) -> Result<Vec<CommentView>, StoreFault> {
    let prefix = node.map(comment::comment_key_prefix).unwrap_or_default();
    let mut by_node: BTreeMap<NodeId, Vec<Comment>> = BTreeMap::new();
    for (_, said) in record::read_records::<Comment>(state, &prefix)? {
        by_node.entry(said.node).or_default().push(said);
    }
    let mut found = Vec::new();
    for (id, mut comments) in by_node {
        // The node may have been removed; its comments remain in the log only.
        let Some(node) = state.load_node(id)? else {
            continue;
        };
        // By time first: comments received through git have the operation that received them, in
        // any order.
        comments.sort_by_key(|said| (said.at, said.operation));
        found.extend(describe_comments(ctx, state, &node, &comments)?);
    }
    found.sort_by_key(|said| std::cmp::Reverse(said.operation));
    Ok(found)
}

/// Returns the prose of a node, if there is any.
fn load_prose(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<String>, StoreFault> {
    let parent = match node.parent {
        Some(parent) => state.load_node(parent)?,
        None => None,
    };
    let Some(path) = prose_path_below(ctx, parent.as_ref(), node) else {
        return Ok(None);
    };
    Ok(match ctx.files.read_file(&path, MAX_PROSE_BYTES) {
        FileReadResult::Text { text, .. } => Some(text),
        FileReadResult::Missing | FileReadResult::Unreadable { .. } => None,
    })
}

/// Describes the comments of one node, which are in order.
fn describe_comments(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
    comments: &[Comment],
) -> Result<Vec<CommentView>, StoreFault> {
    let path = load_node_path(state, node)?;
    // Only comments about a place are compared with a text.
    let has_anchor = |in_prose: bool| {
        let mut places = comments.iter().map(|said| &said.place);
        places.any(|place| place.anchor.is_some() && place.in_prose == in_prose)
    };
    let plan = match has_anchor(false) {
        true => load_present_text(state, node)?,
        false => None,
    };
    let prose = match has_anchor(true) {
        true => load_prose(ctx, state, node)?,
        false => None,
    };
    let text_of = |said: &Comment| match said.place.in_prose {
        true => prose.as_deref(),
        false => plan.as_deref(),
    };
    // Ids are digests: computed once per comment, because a node may have hundreds.
    let mut threads: BTreeMap<String, Vec<Comment>> = BTreeMap::new();
    for said in comments {
        let members = threads.entry(said.thread_id()).or_default();
        members.push(said.clone());
    }
    let describe = |said: &Comment| {
        let thread = said.thread_id();
        let members = threads.get(&thread).map(Vec::as_slice).unwrap_or_default();
        // A thread whose first comment went with its branch stands on the one that is left.
        let root = members
            .iter()
            .find(|other| other.place.thread.is_none() && other.comment_id() == thread)
            .unwrap_or(said);
        let state = root.thread_state(node, text_of(root), members);
        let anchor = said.place.anchor.as_ref();
        let place = anchor.zip(text_of(said));
        let place = place.and_then(|(anchor, text)| anchor.find_in(text));
        CommentView {
            id: said.comment_id(),
            path: path.clone(),
            by: said.by.clone(),
            at: said.at,
            // The words may have moved to another section since they were quoted.
            section: anchor.map(|anchor| match &place {
                Some(place) => place.section.clone(),
                None => anchor.section.clone(),
            }),
            quote: anchor.map(|anchor| anchor.quote.clone()),
            in_prose: said.place.in_prose,
            line: place.as_ref().map(|place| place.line),
            version_hash: anchor.map(|anchor| anchor.version),
            text: said.text.clone(),
            reply_to: said.place.thread.as_ref().map(|link| link.of.clone()),
            state,
            open: state == CommentState::Open,
            operation: said.operation,
        }
    };
    Ok(comments.iter().map(describe).collect())
}

/// Returns the open comments, latest first.
///
/// # Errors
/// When the state cannot be read.
pub fn list_open_comments(ctx: &Context<'_>) -> Result<Vec<CommentView>, Failure> {
    Ok(load_open_comments(ctx, &*ctx.store.begin_read()?)?)
}

/// Returns the open comments of a snapshot, latest first.
pub(crate) fn load_open_comments(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<CommentView>, StoreFault> {
    let mut found = load_comments(ctx, state, None)?;
    found.retain(|said| said.open);
    Ok(found)
}

/// Returns the open comments on the prose of a node, in the order of the text.
pub(crate) fn open_prose_comments(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: NodeId,
) -> Result<Vec<CommentView>, StoreFault> {
    let mut found = load_comments(ctx, state, Some(node))?;
    found.retain(|said| said.open && said.in_prose);
    found.sort_by_key(|said| (said.line, said.at));
    Ok(found)
}
