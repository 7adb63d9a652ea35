//! Plan documents: create, edit, validate, freeze, revise, show. One use case per file;
//! `document_files` holds what they share.

mod document_files;
mod freeze_origin;
mod freeze_staging;
mod position;
mod take_over;

pub mod accept;
pub mod choose;
pub mod compare;
pub mod create;
pub mod edit;
pub mod freeze_plan;
pub mod reconcile;
pub mod render;
pub mod revise;
pub mod show;
pub mod validate;
pub mod write_context;

pub(crate) use document_files::{
    OpenedDocument, StagedDocument, check_allowed, check_plan_diffs, find_frozen_edit,
    load_document, open_document, read_document_file, read_project_file, refuse_changed_context,
    refuse_frozen_edit, refuse_frozen_restore, resolve_document, run_with_files,
};
pub(crate) use freeze_staging::stage_freeze;
pub(crate) use position::{find_current_position, list_document_positions};
pub(crate) use take_over::{
    UnknownDocument, find_frozen_documents, list_first_documents, read_documents,
    take_over_documents,
};
