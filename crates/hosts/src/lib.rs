//! Agent hosts: their words in, their words out, and how we get into their settings.
//!
//! Nothing here decides anything and nothing here touches a disk: a payload becomes a
//! [`domain::host_event::HostEvent`], a [`domain::host_event::Reply`] becomes the host's answer, the text of
//! a settings file becomes the text with our entries in it.

pub mod install;
pub mod wire;
