//! Migrates a trail of an older format: `.hivemind/hierarchy.json`, a flat `brain.json`, a single
//! `active.md`.
//!
//! The old files are read and left as they are.

use domain::ids::NodeId;
use domain::node::Progress;
use domain::operation::Verb;
use domain::ports::FileReadResult;
use domain::record::ChangeRecords;
use domain::session::{LogEntryKind, Session, SessionMode};
use domain::stamp::Stamp;
use domain::time::Timestamp;
use domain::trail::{
    BranchSummary, FlatTrail, HierarchyNode, HierarchyTree, NewTrailNode, normalize_trail_line,
    tree_from_flat,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::declare_intent::describe_place;
use super::session_change::{SessionChange, acting_session};
use super::trail_state::{OLDER_TRAIL_PATHS, free_session_stamp, own_session, require_trail};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, begin_transaction};

/// The migrated trail.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
const OLD_LOG_PATHS: [&str; 4] = [
    ".hivemind/active.md",
    ".hivemind/sessions/active.md",
    ".hivemind/index.md",
    ".hivemind/sessions/index.md",
];

/// Maximum number of imported log lines; the last ones win.
const MAX_LOG_LINES: usize = 500;

/// Imports an older trail as a session of its own.
///
/// # Errors
/// When there is none, this session already has a trail, or the state cannot be written.
pub fn migrate_trail(ctx: &Context<'_>) -> Result<MigrateOutcome, Failure> {
    require_trail(ctx)?;
    let now = ctx.clock.now();
    // Files are read before the write lock is taken.
    let lines = read_old_logs(ctx);
    let (from, tree) = find_older_trail(ctx, &lines, now)?;
    let root = tree.root.clone().ok_or_else(no_older_trail)?;
    let mut tx = begin_transaction(ctx)?;
    let planned = PlannedFiles::new(ctx, None);
    // Merging two trails would need decisions that only the user can make.
    if let Some(known) = own_session(ctx, &*tx)? {
        return Err(
            Failure::refused(format!("this session already has a trail: {}", known.stamp))
                .with_step("tl trail scan")
                .with_step("tl trail compact   # ends it; then tl trail migrate"),
        );
    }
    let session = Session::begin_session(
        free_session_stamp(ctx, &*tx)?,
        &acting_session(ctx),
        SessionMode::PlanDriven,
        tx.next_node_id()?,
        now,
    );
    let mut change = SessionChange::for_new_session(&*tx, session)?;
    let mut taken = TrailImport {
        cursor: tree.cursor.as_deref(),
        at: None,
        newest: 0,
        nodes: 0,
    };
    let id = taken.import_node(&mut change, &*tx, &root, None)?;
    change.session.trajectory = id;
    change.session.cursor = taken.at.unwrap_or(id);
    for line in &lines {
        change.append_log(ctx, LogEntryKind::Note, line, None);
    }
    change.append_log(
        ctx,
        LogEntryKind::Migration,
        &format!("{} taken over from {from}", root.content),
        None,
    );
    // The last activity is the old trail's, not the migration, so that briefings report the real
    // gap. Clamped, because old files may hold times in the future.
    change.updated = Some(Timestamp::from_millis(
        taken.newest.clamp(0, now.as_millis()),
    ));
    let (session, _) = change.record_operation(
        ctx,
        &mut *tx,
        &planned,
        Verb::Migrate,
        format!("migrate the trail of {from}"),
    )?;
    let outcome = describe_place(&*tx, session)?;
    planned.commit_and_write(ctx, tx)?;
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

/// Finds an older trail, and the file it was read from.
fn find_older_trail(
    ctx: &Context<'_>,
    log: &[String],
    now: Timestamp,
) -> Result<(String, HierarchyTree), Failure> {
    match read_older_trail(ctx, now)? {
        Some(found) => Ok(found),
        // A project may have kept only a log; its first line then becomes the trajectory.
        None if !log.is_empty() => {
            let flat = FlatTrail {
                trajectory: title_from_log(log),
                ..FlatTrail::default()
            };
            let tree = tree_from_flat(&flat, now);
            Ok((
                OLD_LOG_PATHS[0].to_owned(),
                tree.ok_or_else(no_older_trail)?,
            ))
        }
        None => Err(no_older_trail()),
    }
}

fn no_older_trail() -> Failure {
    let places: Vec<&str> = OLDER_TRAIL_PATHS.into_iter().chain(OLD_LOG_PATHS).collect();
    Failure::not_found(format!(
        "there is no older trail: looked for {}",
        places.join(", ")
    ))
    .with_step("tl trail intent \"what this session is for\"")
}

/// Reads the first older trail that exists.
fn read_older_trail(
    ctx: &Context<'_>,
    now: Timestamp,
) -> Result<Option<(String, HierarchyTree)>, Failure> {
    for path in OLDER_TRAIL_PATHS {
        let text = match ctx.files.read_file(path, ctx.policy.max_plan_bytes) {
            FileReadResult::Text { text, .. } => text,
            FileReadResult::Missing => continue,
            // An unreadable trail is an error, not a reason to import a lesser file without notice.
            FileReadResult::Unreadable { why, .. } => {
                return Err(Failure::invalid(format!("`{path}` cannot be read: {why}")));
            }
        };
        let wrong = |error: serde_json::Error| {
            Failure::invalid(format!("`{path}` is not a valid trail: {error}"))
        };
        let value: Value = serde_json::from_str(&text).map_err(wrong)?;
        let tree = match value.get("root") {
            Some(_) => Some(serde_json::from_value::<HierarchyTree>(value).map_err(wrong)?)
                .filter(|tree| tree.root.is_some()),
            None => {
                // One older version nests the fields, another has them at the top.
                let flat = value.get("hierarchy").unwrap_or(&value).clone();
                tree_from_flat(
                    &serde_json::from_value::<FlatTrail>(flat).map_err(wrong)?,
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

/// Returns the lines of the old logs, without marks of lists and headings, front matter and comments.
fn read_old_logs(ctx: &Context<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for path in OLD_LOG_PATHS {
        let FileReadResult::Text { text, .. } =
            ctx.files.read_file(path, ctx.policy.max_plan_bytes)
        else {
            continue;
        };
        let body = domain::front_matter::split_front_matter(&text).1;
        let lines = body
            .lines()
            .map(|line| normalize_trail_line(line.trim_start_matches(['-', '*', '#', ' '])));
        found.extend(lines.filter(|line| !line.is_empty() && !line.starts_with("<!--")));
    }
    let first = found.len().saturating_sub(MAX_LOG_LINES);
    found.drain(..first);
    found
}

/// Returns the title for a log without a trail: its first line.
fn title_from_log(lines: &[String]) -> String {
    lines
        .first()
        .map(|line| line.chars().take(domain::trail::MAX_LINE_CHARS).collect())
        .unwrap_or_default()
}

struct TrailImport<'a> {
    cursor: Option<&'a str>,
    at: Option<NodeId>,
    newest: i64,
    nodes: usize,
}

impl TrailImport<'_> {
    fn import_node(
        &mut self,
        change: &mut SessionChange,
        tx: &dyn domain::ports::Transaction,
        node: &HierarchyNode,
        parent: Option<NodeId>,
    ) -> Result<NodeId, Failure> {
        let created = Timestamp::from_millis(node.created);
        // Old stamps are kept, so that notes and commits that name them can still be traced.
        let wanted: Stamp = node
            .stamp
            .parse()
            .unwrap_or_else(|_| Stamp::from_timestamp(created));
        let stamp = change.free_stamp(tx, node.level, wanted, created)?;
        // A node needs a text: empty ones occur in old files and would be unreadable in the tree.
        let mut content = normalize_trail_line(&node.content);
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
            let summary = BranchSummary {
                text: text.clone(),
                branches: text.lines().count(),
            };
            change.facts.change_record(&alias, None, Some(&summary));
        }
        for child in node
            .children
            .iter()
            // A child that is not on a lower level than its parent would break the profile's rules.
            .filter(|child| child.level > node.level)
        {
            self.import_node(change, tx, child, Some(id))?;
        }
        Ok(id)
    }
}
