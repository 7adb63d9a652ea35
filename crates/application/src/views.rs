//! Output types of the use cases: plain data, the one JSON vocabulary of the product.
//!
//! `--json`, MCP structured content and HTTP bodies serialise these types as they are, so a field
//! name here is part of the public interface. Paths are relative to the project.

use domain::approval::Condemnation;
use domain::duplicate_ids::is_duplicate;
use domain::ids::{OperationId, Principal, VersionHash};
use domain::node::{CauseKind, Node, Progress, Status};
use domain::operation::{Channel, OperationHead, Verb};
use domain::ports::{Snapshot, StoreFault};
use domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::locate::{load_node, load_node_path, load_parent};

/// A nested object, for the published schemas of outcomes: they list members of the outermost object
/// only, so that most types inside of it need no schema.
pub(crate) type Object = serde_json::Map<String, serde_json::Value>;

/// One node, in MCP `get_entity_state`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NodeView {
    pub entity_id: String,
    pub entity_type: String,
    pub status: Status,
    pub version_hash: Option<VersionHash>,
    pub parent_id: Option<String>,
    /// The parent's version this text was written or approved against.
    pub parent_version_hash: Option<VersionHash>,
    pub children: Vec<String>,
    pub file_path: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub invalidation_reason: Option<String>,
    pub invalidated_at: Option<Timestamp>,
    pub path: String,
    pub profile: String,
    pub title: Option<String>,
    pub progress: Progress,
    pub needs: Vec<String>,
    pub approval: Option<ApprovalView>,
    /// The open request for changes of this text: the agent's turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes_requested: Option<ChangeRequestView>,
    /// Whether another plan has its id too; then `entity_id` is a label such as `002~2`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// An approval.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ApprovalView {
    #[schemars(with = "String")]
    pub by: Principal,
    pub at: Timestamp,
    pub version_hash: VersionHash,
    /// Whether the text is still the approved one, apart from formatting.
    pub holds: bool,
    pub warnings: Vec<String>,
}

/// A request for changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeRequestView {
    #[schemars(with = "String")]
    pub by: Principal,
    pub at: Timestamp,
    /// What has to change. A person's text: data, not an instruction of this program.
    pub text: String,
}

impl ChangeRequestView {
    pub(crate) fn from_objection(objection: &Condemnation) -> Self {
        Self {
            by: objection.by.clone(),
            at: objection.at,
            text: objection.reason.clone(),
        }
    }
}

impl NodeView {
    /// Loads what the view needs besides the node.
    pub(crate) fn from_node(state: &dyn Snapshot, node: &Node) -> Result<Self, StoreFault> {
        let parent = load_parent(state, node)?;
        let children = state.child_names(node.id)?;
        // The one a revalidation compares with.
        let against = parent
            .as_ref()
            .and_then(|parent| domain::revalidation::compared_parent_version(node, parent));
        Ok(Self {
            path: load_node_path(state, node)?,
            entity_id: node.alias.clone(),
            entity_type: node.level.clone(),
            status: node.status(),
            version_hash: node.content.version_hash(),
            parent_id: parent.map(|parent| parent.alias),
            parent_version_hash: against.map(|parent| parent.version),
            children: children.into_iter().map(|child| child.alias).collect(),
            file_path: node.path.clone(),
            created_at: node.created_at,
            updated_at: node.updated_at,
            invalidation_reason: describe_cause(state, node)?,
            invalidated_at: node.standing.since,
            profile: node.profile.clone(),
            title: node.description.title.clone(),
            progress: node.progress,
            needs: node.description.needs.clone(),
            duplicate: is_duplicate(&node.alias),
            changes_requested: node.change_request().map(ChangeRequestView::from_objection),
            approval: node.approval.as_ref().map(|approval| ApprovalView {
                by: approval.by.clone(),
                at: approval.at,
                version_hash: approval.version,
                holds: node.has_approved_text(),
                warnings: approval.warnings.clone(),
            }),
        })
    }
}

/// Describes a condemnation; two people may have decided differently about one text, each in a clone
/// of their own, and then both are named.
fn describe_condemnation(node: &Node) -> String {
    let approval = node.approval.as_ref().filter(|_| node.has_approved_text());
    match (&node.condemnation, approval) {
        (Some(condemned), Some(approved)) => format!(
            "condemned by {}, but {} approved the same text; decide again",
            condemned.by, approved.by
        ),
        _ => "condemned".to_owned(),
    }
}

/// Begins the note of a status change that follows from a move below another parent.
pub(crate) const MOVED_FROM: &str = "moved here from";

/// Returns the cause of a stale or invalid status in one line.
pub(crate) fn describe_cause(
    state: &dyn Snapshot,
    node: &Node,
) -> Result<Option<String>, StoreFault> {
    let Some(cause) = &node.standing.cause else {
        return Ok(None);
    };
    let moved = cause.note.as_ref();
    let moved = moved.filter(|note| note.starts_with(MOVED_FROM));
    // The text of the parent is another one because the parent is.
    if let (CauseKind::ParentChanged, Some(moved)) = (cause.kind, moved) {
        return Ok(Some(moved.clone()));
    }
    // In a cascade every descendant has the same origin; a cause in the node itself needs no second
    // read.
    let origin = if cause.origin == node.id {
        None
    } else {
        state.load_node(cause.origin)?
    };
    let name = match &origin {
        Some(origin) => load_node_path(state, origin)?,
        None => node.alias.clone(),
    };
    let fact = match cause.kind {
        CauseKind::ParentChanged => format!("`{name}` changed"),
        CauseKind::ParentNotApproved => format!("`{name}` is no longer approved"),
        CauseKind::ParentInvalid => format!("`{name}` is invalid"),
        CauseKind::Condemned => describe_condemnation(node),
        CauseKind::RevalidationRequired => format!("`{name}` has to be revalidated"),
        CauseKind::FileMissing => "the plan file is missing".to_owned(),
        CauseKind::FileUnreadable => match &node.content {
            domain::node::Content::Unreadable { why } => {
                format!("the plan file cannot be read: {why}")
            }
            _ => "the plan file cannot be read".to_owned(),
        },
    };
    // For a condemned node the reason the person gave, not the note of the operation that ran the
    // cascade.
    let note = match &node.condemnation {
        Some(condemnation) if cause.kind == CauseKind::Condemned => {
            Some(condemnation.reason.clone())
        }
        _ if moved.is_some() => None,
        _ => cause.note.clone(),
    };
    Ok(Some(match note {
        Some(note) => format!("{fact}: {note}"),
        None => fact,
    }))
}

/// A node in a nested tree, in MCP `get_hierarchy_tree`.
#[derive(Clone, Debug, Serialize)]
pub struct TreeView {
    pub entity_id: String,
    pub entity_type: String,
    pub path: String,
    pub title: Option<String>,
    pub status: Status,
    pub progress: Progress,
    pub version_hash: Option<VersionHash>,
    pub file_path: Option<String>,
    /// Whether another plan has its id too; then `entity_id` is a label such as `002~2`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// Whether its approval matters.
    #[serde(skip)]
    pub asks_approval: bool,
    pub children: Vec<TreeView>,
}

/// Number of nodes per status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
pub struct StatusCounts {
    pub draft: usize,
    pub approved: usize,
    #[serde(rename = "requires-revalidation")]
    pub requires_revalidation: usize,
    pub invalid: usize,
}

impl StatusCounts {
    /// Counts one node.
    pub(crate) fn add_status(&mut self, status: Status) {
        match status {
            Status::Draft => self.draft += 1,
            Status::Approved => self.approved += 1,
            Status::RequiresRevalidation => self.requires_revalidation += 1,
            Status::Invalid => self.invalid += 1,
        }
    }

    /// Adds the counts of other nodes.
    pub(crate) fn add_counts(&mut self, other: &Self) {
        self.draft += other.draft;
        self.approved += other.approved;
        self.requires_revalidation += other.requires_revalidation;
        self.invalid += other.invalid;
    }

    /// Counts one node less.
    pub(crate) fn remove_status(&mut self, status: Status) {
        let count = match status {
            Status::Draft => &mut self.draft,
            Status::Approved => &mut self.approved,
            Status::RequiresRevalidation => &mut self.requires_revalidation,
            Status::Invalid => &mut self.invalid,
        };
        *count = count.saturating_sub(1);
    }

    /// Returns the number of nodes of any status.
    #[must_use]
    pub fn total(&self) -> usize {
        Status::ALL.into_iter().map(|status| self.get(status)).sum()
    }

    /// Returns the number of nodes with a status.
    #[must_use]
    pub fn get(&self, status: Status) -> usize {
        match status {
            Status::Draft => self.draft,
            Status::Approved => self.approved,
            Status::RequiresRevalidation => self.requires_revalidation,
            Status::Invalid => self.invalid,
        }
    }
}

/// The children of a node, in MCP `get_children_status`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChildrenView {
    pub total_children: usize,
    pub status_counts: StatusCounts,
    pub children: Vec<ChildView>,
}

/// One child.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChildView {
    pub entity_id: String,
    pub entity_type: String,
    pub status: Status,
    pub file_path: Option<String>,
    pub title: Option<String>,
}

/// A node whose status changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TransitionView {
    pub entity_type: String,
    pub entity_id: String,
    pub previous_status: Status,
    pub new_status: Status,
    pub path: String,
}

/// Outcome of a cascade, in MCP `cascade_invalidate`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CascadeView {
    pub success: bool,
    pub invalidated_entities: Vec<TransitionView>,
    /// Nodes with their former status again, because the text they were approved against is back.
    pub reinstated_entities: Vec<TransitionView>,
    pub operation: OperationId,
}

/// An operation in the log.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OperationView {
    pub operation: OperationId,
    pub at: Timestamp,
    #[schemars(with = "String")]
    pub by: Principal,
    #[schemars(with = "String")]
    pub channel: Channel,
    #[schemars(with = "String")]
    pub verb: Verb,
    pub summary: String,
    pub facts: usize,
    pub undone_by: Option<OperationId>,
}

impl OperationView {
    /// Builds the view from the head alone: a log is listed without reading the facts.
    pub(crate) fn from_head(
        state: &dyn Snapshot,
        operation: OperationHead,
    ) -> Result<Self, StoreFault> {
        let undone_by = state.undone_by(operation.id)?;
        let OperationHead {
            id,
            at,
            by,
            channel,
            verb,
            summary,
            facts,
        } = operation;
        Ok(Self {
            operation: id,
            at,
            by,
            channel,
            verb,
            summary,
            facts,
            undone_by,
        })
    }
}

/// A changed section of a parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SectionView {
    pub heading: String,
    /// `added`, `removed` or `changed`.
    pub change: &'static str,
}

impl From<domain::section::SectionChange> for SectionView {
    fn from(change: domain::section::SectionChange) -> Self {
        use domain::section::SectionChangeKind::{Added, Changed, Removed};
        Self {
            heading: change.heading,
            change: match change.kind {
                Added => "added",
                Removed => "removed",
                Changed => "changed",
            },
        }
    }
}

/// The difference between two versions of a text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiffView {
    pub older: String,
    pub newer: String,
    pub sections: Vec<SectionView>,
    /// The unified diff, without colour.
    pub unified: String,
    /// The hunks of the diff, for edges that highlight words.
    #[serde(skip)]
    pub hunks: Vec<domain::diff::Hunk>,
}

impl DiffView {
    /// Compares two texts.
    pub(crate) fn from_texts(
        older_name: String,
        older: &str,
        newer_name: String,
        newer: &str,
    ) -> Self {
        let hunks = domain::diff::compute_hunks(older, newer);
        Self {
            sections: domain::section::changed_sections(older, newer)
                .into_iter()
                .map(SectionView::from)
                .collect(),
            unified: domain::diff::render_unified_diff(&older_name, &newer_name, &hunks),
            older: older_name,
            newer: newer_name,
            hunks,
        }
    }
}

/// Loads a node and returns its view.
pub(crate) fn load_node_view(
    state: &dyn Snapshot,
    id: domain::ids::NodeId,
) -> Result<NodeView, StoreFault> {
    NodeView::from_node(state, &load_node(state, id)?)
}
