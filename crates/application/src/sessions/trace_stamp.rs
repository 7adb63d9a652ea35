//! Traces a stamp: finds everything that carries it, in the store, in the archive and in git.

use domain::memory::{Anchor, Mem};
use domain::node::Node;
use domain::ports::{FolderEntryKind, Snapshot};
use domain::record;
use domain::session::{ARCHIVE_FOLDER, LogEntry, Session};
use domain::session_log::format_log_entry;
use domain::stamp::{self, Stamp};
use domain::trail::{TrailLevel, node_text};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_node_path;

/// Everything with a stamp.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TraceView {
    pub stamp: String,
    /// The time the stamp encodes.
    pub at: Option<domain::time::Timestamp>,
    pub nodes: Vec<TracedNode>,
    pub sessions: Vec<Traced>,
    pub archives: Vec<String>,
    pub log: Vec<Traced>,
    pub anchors: Vec<Traced>,
    pub notes: Vec<Traced>,
    pub commits: Vec<Traced>,
}

/// A node with the stamp.
#[derive(Clone, Debug, Serialize)]
pub struct TracedNode {
    pub id: String,
    pub path: String,
    pub level: String,
    pub status: String,
    pub content: String,
    /// Its children.
    pub children: Vec<String>,
}

/// Something else with the stamp.
#[derive(Clone, Debug, Serialize)]
pub struct Traced {
    pub stamp: String,
    pub text: String,
}

impl TraceView {
    /// Returns whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
            && self.sessions.is_empty()
            && self.archives.is_empty()
            && self.log.is_empty()
            && self.anchors.is_empty()
            && self.notes.is_empty()
            && self.commits.is_empty()
    }
}

/// Finds everything with a stamp: nodes, sessions and their logs, archives, anchors, notes,
/// commits.
///
/// # Errors
/// When the text is not a stamp, or the state cannot be read.
pub fn trace_stamp(ctx: &Context<'_>, text: &str) -> Result<TraceView, Failure> {
    let stamp: Stamp = text.parse()?;
    // Nothing is observed first: stamps are given by commands, so no edited file can bring one.
    let state = ctx.store.begin_read()?;
    let mut view = TraceView {
        stamp: stamp.to_string(),
        at: stamp.to_timestamp(),
        ..TraceView::default()
    };
    for node in nodes_with_stamp(&*state, &stamp)? {
        let children = state.load_children(node.id)?;
        view.nodes.push(TracedNode {
            path: load_node_path(&*state, &node)?,
            level: node.level.clone(),
            status: node.progress.to_string(),
            content: node_text(&node).to_owned(),
            children: children.iter().map(|child| child.alias.clone()).collect(),
            id: node.alias,
        });
    }
    let finds = |other: Option<Stamp>| other.is_some_and(|other| stamp.matches_search(&other));
    let mut own: Vec<Session> = Vec::new();
    for (_, session) in record::read_records::<Session>(&*state, "")? {
        // A session that resumed a trajectory has another stamp than its root; both should find it.
        let about_it = state
            .load_node(session.trajectory)?
            .is_some_and(|root| finds(stamp::stamp_in_name(&root.alias)));
        if finds(Some(session.stamp)) || finds(session.from) || about_it {
            view.sessions.push(Traced {
                stamp: session.stamp.to_string(),
                text: session.file_path(),
            });
            own.push(session);
        }
    }
    for (key, entry) in record::read_records::<LogEntry>(&*state, "")? {
        if finds(entry.about) {
            let session = key.split('/').next().unwrap_or_default();
            view.log.push(Traced {
                stamp: session.to_owned(),
                text: format_log_entry(&entry),
            });
        }
    }
    // Notes and anchors of a found session belong to it even if their own stamps differ.
    let linked = |saved: Option<Stamp>| {
        finds(saved) || own.iter().any(|session| Some(session.stamp) == saved)
    };
    for (_, anchor) in record::read_records::<Anchor>(&*state, "")? {
        if finds(Some(anchor.stamp)) || linked(anchor.session_stamp) {
            view.anchors.push(Traced {
                stamp: anchor.stamp.to_string(),
                text: anchor.text,
            });
        }
    }
    for (_, mem) in record::read_records::<Mem>(&*state, "")? {
        if finds(Some(mem.stamp)) || linked(mem.context) {
            view.notes.push(Traced {
                stamp: mem.stamp.to_string(),
                text: mem.text,
            });
        }
    }
    view.archives = find_archives(ctx, &finds);
    view.commits = find_commits(ctx, &stamp);
    Ok(view)
}

/// Returns the archived session files whose name has the stamp.
fn find_archives(ctx: &Context<'_>, finds: &dyn Fn(Option<Stamp>) -> bool) -> Vec<String> {
    let entries = ctx.files.list_folder(ARCHIVE_FOLDER).into_iter();
    // Up to the first dot: archives have several endings.
    let stamp_of = |name: &str| name.split('.').next().and_then(|name| name.parse().ok());
    entries
        .filter(|entry| entry.kind == FolderEntryKind::File && finds(stamp_of(&entry.name)))
        .map(|entry| format!("{ARCHIVE_FOLDER}/{}", entry.name))
        .collect()
}

/// Returns the commits that mention the stamp. Tracing also works without a repository, so a git
/// error is an empty list.
fn find_commits(ctx: &Context<'_>, stamp: &Stamp) -> Vec<Traced> {
    let commits = ctx.git.find_commits_mentioning(&stamp.to_string());
    let traced = |commit: domain::ports::NamedCommit| Traced {
        stamp: commit.id,
        text: commit.subject,
    };
    commits
        .unwrap_or_default()
        .into_iter()
        .map(traced)
        .collect()
}

/// Returns the nodes of all levels with the stamp.
fn nodes_with_stamp(state: &dyn Snapshot, stamp: &Stamp) -> Result<Vec<Node>, Failure> {
    let mut found = Vec::new();
    for level in TrailLevel::ALL {
        found.extend(state.nodes_by_alias(&level.node_alias(stamp))?);
        // Suffixes are assigned without gaps, but pruned nodes leave some behind.
        const MAX_MISSING: u32 = 8;
        let (mut next, mut missing) = (stamp.next_in_minute(), 0);
        while let Some(more) =
            next.filter(|more| stamp.matches_search(more) && missing < MAX_MISSING)
        {
            let nodes = state.nodes_by_alias(&level.node_alias(&more))?;
            missing = if nodes.is_empty() { missing + 1 } else { 0 };
            found.extend(nodes);
            next = more.next_in_minute();
        }
    }
    Ok(found)
}
