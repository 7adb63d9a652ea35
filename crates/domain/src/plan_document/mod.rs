//! Plan documents: `plan.json` (schema version 2), its validation, editing commands, freezing and
//! rendering.
//!
//! Pure: texts in; plans, problems and facts out. The paths of the files are defined here, reading
//! and writing them is left to `application::plan_documents`.

mod batch;
mod change;
mod check;
mod context_file;
mod diff_check;
mod document_record;
mod documentation;
mod entity;
mod markdown;
mod model;
mod patch;
mod plan_json;
mod position;
mod reconcile;
mod revision;
mod tree_nodes;
mod waves;

pub use batch::parse_batch;
pub use change::{AppliedChange, ChangeRefused, DocPlace, PlanChange, apply_changes};
pub use check::{PlanProblem, ProblemGrade, check_plan};
pub use context_file::{CONTEXT_LISTS, check_context};
pub use diff_check::{
    UnappliedChange, apply_milestone, check_diffs, list_node_files, list_test_files,
};
pub use document_record::{
    CurrentDocument, DocumentRecord, FreezeRecord, new_plan_id, unique_document_id,
};
pub use documentation::{MissingText, find_missing_documentation, is_placeholder};
pub use entity::{EntityKind, IdCounters, entity_value, raise_entity_version};
pub use markdown::{render_markdown, render_node_markdown};
pub use model::{
    Architecture, CodeChange, CodeIntent, Constraint, Decision, DocComment, Documentation,
    InvisibleKnowledge, Milestone, MilestoneDependencies, Overview, Plan, PlanningContext,
    RejectedAlternative, Revises, Risk, SCHEMA_VERSION, Scenarios, TestPlan, Wave,
};
pub use patch::{PatchProblem, PatchedFiles};
pub use plan_json::{diff_plan_texts, locate_problems, plan_json_schema, read_plan, write_plan};
pub use position::{DocumentPosition, DocumentStage, DocumentStep};
pub use reconcile::{
    MissingTest, Reconciliation, RepositoryState, UnchangedIntent, UnprovenCriteria,
    compare_with_repository,
};
pub use revision::{EntityChange, changes_between, start_revision};
pub use tree_nodes::{DocumentNode, intent_node, milestone_node, plan_node, touched_milestones};
pub use waves::{DependencyCycle, compute_waves};

use std::sync::OnceLock;

use crate::profile::Profile;

/// Folder with one subfolder per document, relative to the project.
pub const PLANS_FOLDER: &str = ".throughline/plans";

/// Name of the built-in profile on which documents appear as trees.
pub const MILESTONES_PROFILE: &str = "milestones";

/// Returns the profile of the trees that mirror documents, whichever profile the project itself
/// uses.
#[must_use]
pub fn milestones_profile() -> &'static Profile {
    // Parsed once per process: every command that touches a document asks for it, and the TOML it
    // comes from is compiled in and cannot change.
    static OURS: OnceLock<Profile> = OnceLock::new();
    OURS.get_or_init(|| {
        crate::profile::built_in_profile(MILESTONES_PROFILE)
            .expect("BUG: the profile of plan documents is built in")
    })
}

/// Returns the path of one of a document's files, relative to the project.
#[must_use]
pub fn document_file_path(document: &str, name: &str) -> String {
    format!("{PLANS_FOLDER}/{document}/{name}")
}

/// Splits a project path into document and file name, if it lies in a document's folder.
#[must_use]
pub fn split_document_path(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix(PLANS_FOLDER)?
        .strip_prefix('/')?
        .split_once('/')
}
