//! Hook files of hosts: settings with an entry per event, or a plugin of ours.

use super::ordered_json::OrderedJson;
use super::{HookSetup, InstalledHooks};

/// Timeout of a hook in seconds. It takes a few milliseconds; this is for an overloaded machine.
pub(crate) const HOOK_TIMEOUT_SECONDS: u32 = 10;
/// Timeout at the end of a session, in seconds: Claude Code gives all hooks together 1.5 s, Codex
/// at most 3 s.
const SESSION_END_TIMEOUT_SECONDS: u32 = 1;

/// How a host is told about our hooks.
pub(crate) enum HookFormat {
    /// Entries in a settings file that is shared with other tools.
    Settings(SettingsHooks),
    /// A file that is entirely ours, for hosts whose hooks start no program.
    Plugin(PluginHooks),
}

/// Hooks in a settings file.
pub(crate) struct SettingsHooks {
    /// The events we subscribe to.
    pub(crate) events: &'static [&'static str],
    pub(crate) shape: HookListShape,
    /// Format version that the file must state.
    pub(crate) format_version: Option<u32>,
    /// Returns our entry for an event.
    pub(crate) entry: fn(&str, &HookSetup) -> OrderedJson,
    /// Suffix of our command lines that makes the host fail closed, where it has no setting for it.
    pub(crate) fail_closed_suffix: Option<&'static str>,
    /// Key of the command for the host's status line, if it has one.
    pub(crate) status_line_key: Option<&'static str>,
}

/// Hooks in a plugin.
pub(crate) struct PluginHooks {
    pub(crate) render: fn(&HookSetup) -> String,
    pub(crate) find_installed: fn(&str) -> Option<InstalledHooks>,
    /// Marker that identifies it as ours.
    pub(crate) mark: &'static str,
}

/// Structure of a host's list of hooks for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookListShape {
    /// `[{"matcher": …, "hooks": [hook, …]}, …]`
    Grouped,
    /// `[hook, …]`
    Flat,
}

/// Returns the timeout of the hook for an event, under Claude Code's name.
pub(crate) fn hook_timeout_seconds(event: &str) -> u32 {
    match event {
        "SessionEnd" => SESSION_END_TIMEOUT_SECONDS,
        _ => HOOK_TIMEOUT_SECONDS,
    }
}
