//! Builder for one step of a session as one operation: nodes, log entries, the session's record and
//! its files.

use domain::fact::Fact;
use domain::ids::{NodeId, OperationId};
use domain::node::{Node, Progress};
use domain::operation::Verb;
use domain::ports::Transaction;
use domain::record::{self, ChangeRecords};
use domain::session::{
    CurrentSession, LogEntry, LogEntryKind, Session, SessionMode, SessionOwner, host_of_principal,
};
use domain::stamp::Stamp;
use domain::time::Timestamp;
use domain::trail::{NewTrailNode, TrailLevel};

use super::trail_state::{
    Trail, free_session_stamp, load_current_trail, load_ticket_intent, own_session,
};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;

/// Pending changes of a session.
pub(crate) struct SessionChange {
    before: Option<Session>,
    pub(crate) session: Session,
    pub(crate) facts: Vec<Fact>,
    texts: Vec<String>,
    /// Aliases of the nodes added so far.
    added: Vec<String>,
    next_node: NodeId,
    /// The time of the last activity, if it is not now.
    pub(crate) updated: Option<Timestamp>,
}

impl SessionChange {
    /// Starts a change of an existing session.
    pub(crate) fn for_session(tx: &dyn Transaction, session: Session) -> Result<Self, Failure> {
        let before = Some(session.clone());
        let next_node = tx.next_node_id()?;
        Ok(Self {
            before,
            session,
            facts: Vec::new(),
            texts: Vec::new(),
            added: Vec::new(),
            next_node,
            updated: None,
        })
    }

    /// Starts a change that creates a session.
    pub(crate) fn for_new_session(tx: &dyn Transaction, session: Session) -> Result<Self, Failure> {
        Ok(Self {
            before: None,
            ..Self::for_session(tx, session)?
        })
    }

    /// Adds a node stamped with the current time, and returns it.
    pub(crate) fn add_stamped_node(
        &mut self,
        ctx: &Context<'_>,
        tx: &dyn Transaction,
        level: TrailLevel,
        parent: Option<NodeId>,
        content: &str,
        progress: Progress,
    ) -> Result<Node, Failure> {
        let now = ctx.clock.now();
        let stamp = self.free_stamp(tx, level, Stamp::from_timestamp(now), now)?;
        let new = NewTrailNode {
            id: self.next_node,
            parent,
            level,
            stamp,
            content,
            progress,
            created: now,
            updated: now,
        };
        Ok(self.add_node(new))
    }

    /// Adds a node as given.
    pub(crate) fn add_node(&mut self, new: NewTrailNode<'_>) -> Node {
        self.next_node = NodeId(new.id.0 + 1);
        self.texts.push(new.content.to_owned());
        let node = new.into_node();
        self.added.push(node.alias.clone());
        self.facts.push(Fact::NodeAdded {
            node: Box::new(node.clone()),
        });
        node
    }

    /// Returns an unused stamp of the level: the wanted one, or the first that is free in the
    /// minute of `at`.
    pub(crate) fn free_stamp(
        &self,
        tx: &dyn Transaction,
        level: TrailLevel,
        wanted: Stamp,
        at: Timestamp,
    ) -> Result<Stamp, Failure> {
        let is_free = |stamp: &Stamp| -> Result<bool, Failure> {
            let alias = level.node_alias(stamp);
            // Nodes of this change are not in the store yet and have to be checked separately. One
            // that was pruned left its note: logs and commits name it.
            Ok(!self.added.contains(&alias)
                && tx.nodes_by_alias(&alias)?.is_empty()
                && tx.load_note(&used_stamp_key(&alias))?.is_none())
        };
        // Several nodes are added within a minute; the suffix of the stamp keeps them apart.
        let mut taken = Vec::new();
        let mut stamp = wanted;
        while !is_free(&stamp)? {
            taken.push(stamp);
            stamp = Stamp::first_free_from(at, |stamp| taken.contains(stamp));
        }
        Ok(stamp)
    }

    /// Returns the id of the next node.
    pub(crate) fn next_node(&self) -> NodeId {
        self.next_node
    }

    /// Sets a node's progress.
    pub(crate) fn set_progress(&mut self, node: &Node, after: Progress) {
        // A fact without a difference would put an empty step into the history.
        if node.progress != after {
            self.facts.push(Fact::ProgressChanged {
                node: node.id,
                before: node.progress,
                after,
            });
        }
    }

    /// Appends to the session's log.
    pub(crate) fn append_log(
        &mut self,
        ctx: &Context<'_>,
        kind: LogEntryKind,
        text: &str,
        about: Option<Stamp>,
    ) {
        // One record per entry, keyed by its number: appending does not rewrite the log.
        self.session.log_entries += 1;
        let entry = LogEntry {
            at: ctx.clock.now(),
            kind,
            text: domain::trail::normalize_trail_line(text),
            about,
        };
        let key = LogEntry::entry_key(&self.session.stamp, self.session.log_entries);
        self.facts.change_record(&key, None, Some(&entry));
    }

    /// Records everything as one operation and plans the session's files. Does not commit.
    pub(crate) fn record_operation(
        mut self,
        ctx: &Context<'_>,
        tx: &mut dyn Transaction,
        planned: &PlannedFiles<'_>,
        verb: Verb,
        summary: String,
    ) -> Result<(Session, OperationId), Failure> {
        let now = ctx.clock.now();
        self.session.updated = self.updated.unwrap_or(now);
        let key = self.session.stamp.to_string();
        self.facts
            .change_record(&key, self.before.as_ref(), Some(&self.session));
        let current = CurrentSession {
            stamp: self.session.stamp,
        };
        // Three pointers to the current session, because the next command may know its own name,
        // only its host, or neither.
        let keys = [
            CurrentSession::session_key(&self.session.name),
            CurrentSession::host_key(&self.session.host),
            CurrentSession::LATEST_KEY.to_owned(),
        ];
        for key in keys {
            let before = record::read_record::<CurrentSession>(&*tx, &key)?;
            self.facts
                .change_record(&key, before.as_ref(), Some(&current));
        }
        let mut operation = ctx.new_operation(verb, summary);
        operation.at = now;
        operation.facts = self.facts;
        operation.texts = self.texts;
        // Planned, not written: a file ahead of a failed commit would show a step that never
        // happened.
        planned.put_session(self.session.stamp);
        let id = planned.record_operation(tx, operation)?;
        Ok((self.session, id))
    }
}

/// Returns the key of the note that keeps the stamp of a removed node from being given again. A note
/// is enough: a stamp is only ever given within its minute.
pub(crate) fn used_stamp_key(alias: &str) -> String {
    format!("trail/used-stamp/{alias}")
}

/// Returns the name and host of the acting session.
pub(crate) fn acting_session<'a>(ctx: &'a Context<'_>) -> SessionOwner<'a> {
    SessionOwner {
        name: &ctx.session,
        host: host_of_principal(&ctx.actor),
    }
}

/// Opens the acting session for a step on its trail. A session at a ticket that has no trail of its own
/// begins one whose intent is the ticket: what the ticket says is not declared twice.
pub(crate) fn open_or_begin_session(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
) -> Result<Option<(SessionChange, Trail)>, Failure> {
    let ticket = match own_session(ctx, tx)? {
        Some(_) => None,
        None => load_ticket_intent(ctx, tx)?,
    };
    let Some(title) = ticket else {
        return open_session(ctx, tx);
    };
    // What the last session did may be the same ticket.
    match open_session(ctx, tx)? {
        Some(opened) => Ok(Some(opened)),
        None => begin_at_ticket(ctx, tx, &title).map(Some),
    }
}

/// Opens the acting session with its trail for a change: its own session, or a new one that resumes
/// where the last one stopped.
///
/// Returns `None` if there is nothing to resume.
pub(crate) fn open_session(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
) -> Result<Option<(SessionChange, Trail)>, Failure> {
    let Some(trail) = load_current_trail(ctx, tx)? else {
        return Ok(None);
    };
    if trail.own {
        return Ok(Some((
            SessionChange::for_session(tx, trail.session.clone())?,
            trail,
        )));
    }
    // A session that resumes gets a record of its own, so that log, host and ratings stay
    // attributable.
    let session = trail.session.resumed_by(
        free_session_stamp(ctx, tx)?,
        &acting_session(ctx),
        ctx.clock.now(),
    );
    let mut change = SessionChange::for_new_session(tx, session)?;
    let text = format!(
        "{} of session {}",
        domain::trail::node_text(trail.root()),
        trail.session.stamp
    );
    change.append_log(
        ctx,
        LogEntryKind::TakenUp,
        &text,
        domain::stamp::stamp_in_name(&trail.root().alias),
    );
    Ok(Some((change, trail)))
}

/// Begins a session whose intent is the ticket it is at.
fn begin_at_ticket(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    title: &str,
) -> Result<(SessionChange, Trail), Failure> {
    let draft = Session::begin_session(
        free_session_stamp(ctx, tx)?,
        &acting_session(ctx),
        SessionMode::default(),
        tx.next_node_id()?,
        ctx.clock.now(),
    );
    let mut change = SessionChange::for_new_session(tx, draft)?;
    let level = TrailLevel::Trajectory;
    let node = change.add_stamped_node(ctx, tx, level, None, title, Progress::Active)?;
    change.session.trajectory = node.id;
    change.session.cursor = node.id;
    let stamp = domain::stamp::stamp_in_name(&node.alias);
    change.append_log(ctx, LogEntryKind::Intent, title, stamp);
    let trail = Trail {
        session: change.session.clone(),
        own: true,
        path: vec![node],
        below: vec![Vec::new()],
    };
    Ok((change, trail))
}

/// Opens the acting session for a change, without its trail: for notes and anchors, which do not
/// depend on the position.
pub(crate) fn open_own_session(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
) -> Result<Option<SessionChange>, Failure> {
    own_session(ctx, tx)?
        .map(|session| SessionChange::for_session(tx, session))
        .transpose()
}
