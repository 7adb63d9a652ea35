//! Adapters for agent hosts: parsing of hook payloads, rendering of answers, and installation into
//! their settings.
//!
//! Pure and without policy: a payload becomes a [`domain::host_event::HostEvent`], a
//! [`domain::host_event::Reply`] becomes the host's answer, and the text of a settings file becomes
//! the text with our entries. Decisions are made in `application`, files are read and written by
//! the caller.

pub mod install;
pub mod wire;
