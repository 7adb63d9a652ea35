//! Migrates a trail of an older format: `.hivemind/hierarchy.json`, a flat `brain.json`, a single
//! `active.md`.
//!
//! The old files are read and left as they are.

use domain::ids::NodeId;
use domain::node::Progress;
use domain::operation::Verb;
use domain::ports::Reading;
use domain::session::{EntryKind, Mode, Session};
use domain::stamp::Stamp;
use domain::time::Timestamp;
use domain::trail::{
    FlatBrain, HierarchyNode, HierarchyTree, NewTrailNode, Summary, from_flat, one_line,
};
use serde::Serialize;
use serde_json::Value;

use super::change::{Change, who};
use super::declare_intent::place;
use super::trail_state::{OLDER, free_session_stamp, kept, own_session};
use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::file_writes::{PlannedFiles, begin};

/// The migrated trail.
#[derive(Clone, Debug, Serialize)]
pub struct MigrateOutcome {
    pub from: String,
    pub nodes: usize,
    /// Number of log lines that were imported.
    pub log_lines: usize,
    pub session: String,
    pub session_file: String,
    pub cursor: String,
    pub tree: String,
}

/// Logs of older formats, next to the trail.
const OLD_LOGS: [&str; 4] = [
    ".hivemind/active.md",
    ".hivemind/sessions/active.md",
    ".hivemind/index.md",
    ".hivemind/sessions/index.md",
];

/// Maximum number of imported log lines; the last ones win.
const MOST_LINES: usize = 500;

/// Imports an older trail as a session of its own.
///
/// # Errors
/// When there is none, this session already has a trail, or the state cannot be written.
pub fn migrate_trail(ctx: &Context<'_>) -> Result<MigrateOutcome, Failure> {
    kept(ctx)?;
    let now = ctx.clock.now();
    let lines = old_log(ctx);
    let (from, tree) = match older(ctx, now)? {
        Some(found) => found,
        // A project may have kept only a log; its first line then becomes the trajectory.
        None if !lines.is_empty() => {
            let flat = FlatBrain {
                trajectory: title_of(&lines),
                ..FlatBrain::default()
            };
            let tree = from_flat(&flat, now);
            (OLD_LOGS[0].to_owned(), tree.ok_or_else(nothing)?)
        }
        None => return Err(nothing()),
    };
    let root = tree.root.clone().ok_or_else(nothing)?;
    let mut tx = begin(ctx)?;
    let planned = PlannedFiles::of(ctx, None);
    // Merging two trails would need decisions that only the user can make.
    if let Some(known) = own_session(ctx, &*tx)? {
        return Err(Failure::new(
            FailureKind::Refused,
            format!("this session already has a trail: {}", known.stamp),
        )
        .step("tl scan")
        .step("tl compact   # ends it; then tl migrate"));
    }
    let session = Session::begin(
        free_session_stamp(ctx, &*tx)?,
        &who(ctx),
        Mode::PlanDriven,
        tx.next_node()?,
        now,
    );
    let mut change = Change::begin(&*tx, session)?;
    let mut taken = Taken {
        cursor: tree.cursor.as_deref(),
        at: None,
        newest: 0,
        nodes: 0,
    };
    let id = taken.node(&mut change, &*tx, &root, None)?;
    change.session.trajectory = id;
    change.session.cursor = taken.at.unwrap_or(id);
    for line in &lines {
        change.log(ctx, EntryKind::Note, line, None);
    }
    change.log(
        ctx,
        EntryKind::Migration,
        &format!("{} taken over from {from}", root.content),
        None,
    );
    // The last activity is the old trail's, not the migration, so that briefings report the real
    // gap. Clamped, because old files may hold times in the future.
    change.updated = Some(Timestamp::from_millis(
        taken.newest.clamp(0, now.as_millis()),
    ));
    let (session, _) = change.finish(
        ctx,
        &mut *tx,
        &planned,
        Verb::Migrate,
        format!("migrate the trail of {from}"),
    )?;
    let outcome = place(&*tx, session)?;
    planned.commit(ctx, tx)?;
    Ok(MigrateOutcome {
        from,
        nodes: taken.nodes,
        log_lines: lines.len(),
        session: outcome.stamp,
        session_file: outcome.session_file,
        cursor: outcome.cursor,
        tree: outcome.tree,
    })
}

fn nothing() -> Failure {
    let places: Vec<&str> = OLDER.into_iter().chain(OLD_LOGS).collect();
    Failure::new(
        FailureKind::NotFound,
        format!("there is no older trail: looked for {}", places.join(", ")),
    )
    .step("tl intent \"what this session is for\"")
}

/// Reads the first older trail that exists.
fn older(ctx: &Context<'_>, now: Timestamp) -> Result<Option<(String, HierarchyTree)>, Failure> {
    for path in OLDER {
        let text = match ctx.files.read(path, ctx.policy.max_plan_bytes) {
            Reading::Text { text, .. } => text,
            Reading::Missing => continue,
            // An unreadable trail is an error, not a reason to import a lesser file without notice.
            Reading::Unreadable { why, .. } => {
                return Err(Failure::new(
                    FailureKind::Invalid,
                    format!("`{path}` cannot be read: {why}"),
                ));
            }
        };
        let wrong = |error: serde_json::Error| {
            Failure::new(
                FailureKind::Invalid,
                format!("`{path}` is not a valid trail: {error}"),
            )
        };
        let value: Value = serde_json::from_str(&text).map_err(wrong)?;
        let tree = match value.get("root") {
            Some(_) => Some(serde_json::from_value::<HierarchyTree>(value).map_err(wrong)?)
                .filter(|tree| tree.root.is_some()),
            None => {
                // One older version nests the fields, another has them at the top.
                let flat = value.get("hierarchy").unwrap_or(&value).clone();
                from_flat(
                    &serde_json::from_value::<FlatBrain>(flat).map_err(wrong)?,
                    now,
                )
            }
        };
        if let Some(tree) = tree {
            return Ok(Some((path.to_owned(), tree)));
        }
    }
    Ok(None)
}

/// Returns the lines of the old logs, without headings, front matter and comments.
fn old_log(ctx: &Context<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for path in OLD_LOGS {
        let Reading::Text { text, .. } = ctx.files.read(path, ctx.policy.max_plan_bytes) else {
            continue;
        };
        let body = domain::front_matter::split(&text).1;
        let lines = body
            .lines()
            .map(|line| one_line(line.trim_start_matches(['-', '*', '#', ' '])));
        found.extend(lines.filter(|line| !line.is_empty() && !line.starts_with("<!--")));
    }
    let first = found.len().saturating_sub(MOST_LINES);
    found.drain(..first);
    found
}

/// Returns the title for a log without a trail: its first line.
fn title_of(lines: &[String]) -> String {
    lines
        .first()
        .map(|line| line.chars().take(domain::trail::LONGEST).collect())
        .unwrap_or_default()
}

struct Taken<'a> {
    cursor: Option<&'a str>,
    at: Option<NodeId>,
    newest: i64,
    nodes: usize,
}

impl Taken<'_> {
    fn node(
        &mut self,
        change: &mut Change,
        tx: &dyn domain::ports::Transaction,
        node: &HierarchyNode,
        parent: Option<NodeId>,
    ) -> Result<NodeId, Failure> {
        let created = Timestamp::from_millis(node.created);
        // Old stamps are kept, so that notes and commits that name them can still be traced.
        let wanted: Stamp = node.stamp.parse().unwrap_or_else(|_| Stamp::at(created));
        let stamp = change.free_stamp(tx, node.level, wanted, created)?;
        // A node needs a text: empty ones occur in old files and would be unreadable in the tree.
        let mut content = one_line(&node.content);
        if content.is_empty() {
            content = "(nothing was said)".to_owned();
        }
        let updated = node
            .completed
            .filter(|_| node.status == Progress::Complete)
            .map_or(created, Timestamp::from_millis);
        self.newest = self
            .newest
            .max(created.as_millis())
            .max(updated.as_millis());
        self.nodes += 1;
        let id = change.next_node();
        let progress = node.status;
        let new = NewTrailNode {
            id,
            parent,
            level: node.level,
            stamp,
            content: &content,
            progress,
            created,
            updated,
        };
        let alias = change.add_node(new).alias;
        if self.cursor == Some(&node.id) {
            self.at = Some(id);
        }
        if let Some(text) = &node.summary {
            let summary = Summary {
                text: text.clone(),
                branches: text.lines().count(),
            };
            change
                .facts
                .extend(domain::record::changed(&alias, None, Some(&summary)));
        }
        for child in node
            .children
            .iter()
            // A child that is not on a lower level than its parent would break the profile's rules.
            .filter(|child| child.level > node.level)
        {
            self.node(change, tx, child, Some(id))?;
        }
        Ok(id)
    }
}
