//! Plan documents: create, edit, validate, freeze, revise, show. One use case per file;
//! `document_files` holds what they share.

mod desk;
mod freeze;

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

pub(crate) use desk::{
    Opened, Staged, chosen, known_document, open, reading, refuse_frozen_restore, with_files,
};
pub(crate) use freeze::staged_freeze;
