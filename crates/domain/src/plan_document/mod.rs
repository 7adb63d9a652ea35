//! Plan documents: `plan.json` in schema version 2, checked, changed by commands, frozen, rendered.
//!
//! Pure: texts in, plans, problems and facts out. Where the files lie is said here, who reads and writes them is not.

mod change;
mod check;
mod context_file;
mod entity;
mod markdown;
mod mirror;
mod model;
mod read;
mod reconcile;
mod recorded;
mod revision;
mod waves;

pub use change::{Applied, Change, ChangeRefused, DocPlace, apply, in_batch};
pub use check::{Grade, Problem, check};
pub use context_file::{CONTEXT_LISTS, check_context};
pub use entity::{EntityKind, Numbers, entity_value};
pub use markdown::render;
pub use mirror::{Mirrored, intent_node, milestone_node, plan_node, touched_milestones};
pub use model::{
    Architecture, CodeChange, CodeIntent, Constraint, Decision, DocComment, Documentation,
    InvisibleKnowledge, Milestone, MilestoneDependencies, Overview, Plan, PlanningContext,
    RejectedAlternative, Revises, Risk, SCHEMA_VERSION, Scenarios, TestPlan, Wave,
};
pub use read::{differences, located, read, schema, write};
pub use reconcile::{LonelyIntent, Reality, Reconciliation, UnprovenCriteria, reconcile};
pub use recorded::{CurrentDocument, DocumentRecord, Frozen, document_id, plan_id};
pub use revision::{EntityChange, changes_between, revised};
pub use waves::{Circle, computed};

use std::sync::OnceLock;

use crate::profile::Profile;

/// The folder in which every document has its own.
pub const FOLDER: &str = ".throughline/plans";

/// The name of the profile on which documents appear as trees.
pub const PROFILE: &str = "milestones";

/// Returns the profile of the trees that documents bring with them, whatever kinds of tree a project has.
#[must_use]
pub fn profile() -> &'static Profile {
    static OURS: OnceLock<Profile> = OnceLock::new();
    OURS.get_or_init(|| {
        crate::profile::built_in(PROFILE).expect("BUG: the profile of plan documents is built in")
    })
}

/// Returns the path of a document's file, relative to the project.
#[must_use]
pub fn file(document: &str, name: &str) -> String {
    format!("{FOLDER}/{document}/{name}")
}

/// Returns the document and the name of the file that a path of the project is, if it is one of a document's.
#[must_use]
pub fn file_at(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix(FOLDER)?
        .strip_prefix('/')?
        .split_once('/')
}
