//! Adapters for agent hosts: parsing of hook payloads, rendering of answers, and installation into
//! their settings.
//!
//! Pure and without policy: a payload becomes a [`domain::host_event::HostEvent`], a
//! [`domain::host_event::Reply`] becomes the host's answer, and the text of a settings file becomes
//! the text with our entries. Decisions are made in `application`, files are read and written by
//! the caller.
//!
//! One folder per host holds everything that is known about it and exports a [`HostSpec`]; `wire` and
//! `install` hold what hosts share and never name one.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod gemini;
pub mod install;
mod opencode;
mod spec;
pub mod wire;

use domain::host_event::Host;

pub use self::spec::{
    ForeignHooks, HostQuirks, HostSpec, PluginSwitch, SettingsPlace, ToolCallSample,
};

/// Every host, in the order of [`Host::ALL`].
pub static SPECS: [&HostSpec; Host::ALL.len()] = [
    &claude_code::SPEC,
    &cursor::SPEC,
    &opencode::SPEC,
    &codex::SPEC,
    &gemini::SPEC,
    &copilot::SPEC,
];

// Compared at compile time, so that `host_spec` can index: it is called for every hook.
const _: () = {
    let mut index = 0;
    while index < SPECS.len() {
        assert!(
            SPECS[index].host as usize == index,
            "not in the order of Host::ALL"
        );
        index += 1;
    }
};

/// Returns what is known about a host.
#[must_use]
pub fn host_spec(host: Host) -> &'static HostSpec {
    SPECS[host as usize]
}
