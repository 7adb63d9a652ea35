//! Plan documents: `plan.json` (schema version 2), its validation, editing commands, freezing and
//! rendering.
//!
//! Pure: texts in; plans, problems and facts out. The paths of the files are defined here, reading
//! and writing them is left to `application::plan_documents`.

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

/// Folder with one subfolder per document, relative to the project.
pub const FOLDER: &str = ".throughline/plans";

/// Name of the built-in profile on which documents appear as trees.
pub const PROFILE: &str = "milestones";

/// Returns the profile of the trees that mirror documents, whichever profile the project itself
/// uses.
#[must_use]
pub fn profile() -> &'static Profile {
    // Parsed once per process: every command that touches a document asks for it, and the TOML it
    // comes from is compiled in and cannot change.
    static OURS: OnceLock<Profile> = OnceLock::new();
    OURS.get_or_init(|| {
        crate::profile::built_in(PROFILE).expect("BUG: the profile of plan documents is built in")
    })
}

/// Returns the path of one of a document's files, relative to the project.
#[must_use]
pub fn file(document: &str, name: &str) -> String {
    format!("{FOLDER}/{document}/{name}")
}

/// Splits a project path into document and file name, if it lies in a document's folder.
#[must_use]
pub fn file_at(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix(FOLDER)?
        .strip_prefix('/')?
        .split_once('/')
}
