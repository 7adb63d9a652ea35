//! Duplicate installations: hooks in two files that the same host reads, so that each runs twice.

use std::path::PathBuf;

use domain::host_event::Host;
use hosts::install::{find_installed, has_claude_plugin, hooks_path};
use store::DiskFiles;

use super::health::HostHealth;
use crate::commands::host_files::read_project_file;
use crate::settings;

/// Reports duplicates in the host's other settings files.
pub(super) fn report_duplicates(health: &mut HostHealth, disk: &DiskFiles) {
    match health.host {
        Host::ClaudeCode => report_claude_duplicates(health, disk),
        Host::Copilot => {
            let claude = read_project_file(disk, hooks_path(Host::ClaudeCode))
                .ok()
                .flatten();
            if claude.is_some_and(|text| find_installed(Host::ClaudeCode, &text).is_some()) {
                let other = hooks_path(Host::ClaudeCode);
                let message = format!(
                    "installed twice: Copilot runs the hooks in {other} as well as its own"
                );
                health.add_problem(message, &["tl uninstall --host copilot"]);
            }
        }
        Host::Cursor | Host::OpenCode | Host::Codex | Host::Gemini => {}
    }
}

fn report_claude_duplicates(health: &mut HostHealth, disk: &DiskFiles) {
    // Claude Code merges project, local and user settings, and plugins add their own hooks.
    let local = ".claude/settings.local.json";
    let own = (
        hooks_path(Host::ClaudeCode).to_owned(),
        read_project_file(disk, hooks_path(Host::ClaudeCode))
            .ok()
            .flatten(),
    );
    let others = [
        (
            local.to_owned(),
            read_project_file(disk, local).ok().flatten(),
        ),
        user_settings_path().map_or((String::new(), None), |file| {
            (
                file.display().to_string(),
                std::fs::read_to_string(file).ok(),
            )
        }),
    ];
    for (file, text) in &others {
        if text
            .as_deref()
            .is_some_and(|text| find_installed(Host::ClaudeCode, text).is_some())
        {
            health.add_problem(
                format!("installed twice: the hooks are in {file} as well"),
                &[&format!(
                    "remove the entries with `hook claude-code` from {file}"
                )],
            );
        }
    }
    // The project's own settings can enable the plugin too, so they are searched for it, but not
    // for hooks, which belong there.
    for (file, text) in others.iter().chain([&own]) {
        if text.as_deref().is_some_and(has_claude_plugin) {
            health.add_problem(
                format!("installed twice: the plugin enabled in {file} has the same hooks"),
                &[
                    "tl uninstall --host claude-code",
                    "claude plugin disable throughline@throughline   # or this",
                ],
            );
        }
    }
}

/// Returns the path of the user's own Claude Code settings. They are read, never written.
fn user_settings_path() -> Option<PathBuf> {
    let folder = settings::environment_variable("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| {
            settings::environment_variable("HOME").map(|home| PathBuf::from(home).join(".claude"))
        })?;
    Some(folder.join("settings.json"))
}
