//! Duplicate installations: hooks in two files that the same host reads, so that each runs twice.

use std::path::PathBuf;

use hosts::install::find_installed;
use hosts::{SettingsPlace, host_spec};
use store::DiskFiles;

use super::health::HostHealth;
use crate::commands::host_files::read_project_file;
use crate::settings;

/// Reports duplicates: in the host's other settings files, by our plugin for it, and in the settings
/// of a host whose hooks it runs too.
pub(super) fn report_duplicates(health: &mut HostHealth, disk: &DiskFiles) {
    let spec = host_spec(health.host);
    let name = health.host.as_str();
    let in_project = |path: &str| read_project_file(disk, path).ok().flatten();
    let others: Vec<(String, Option<String>)> = spec
        .quirks
        .other_settings
        .iter()
        .filter_map(|place| match place {
            SettingsPlace::Project(path) => Some(((*path).to_owned(), in_project(path))),
            SettingsPlace::User {
                variable,
                folder,
                file,
            } => {
                let file = user_settings_folder(variable, folder)?.join(file);
                let text = std::fs::read_to_string(&file).ok();
                Some((file.display().to_string(), text))
            }
        })
        .collect();
    let has_hooks = |text: &Option<String>| {
        text.as_deref()
            .is_some_and(|text| find_installed(spec.host, text).is_some())
    };
    for (file, _) in others.iter().filter(|(_, text)| has_hooks(text)) {
        health.add_problem(
            format!("installed twice: the hooks are in {file} as well"),
            &[&format!(
                "remove the entries with `hook {name}` from {file}"
            )],
        );
    }
    // The project's own settings can enable the plugin too, so they are searched for it, but not
    // for hooks, which belong there.
    let own = (spec.hooks_path.to_owned(), in_project(spec.hooks_path));
    if let Some(plugin) = &spec.quirks.plugin_switch {
        let enables = |text: &Option<String>| text.as_deref().is_some_and(plugin.is_enabled);
        for (file, _) in others
            .iter()
            .chain([&own])
            .filter(|(_, text)| enables(text))
        {
            health.add_problem(
                format!("installed twice: the plugin enabled in {file} has the same hooks"),
                &[
                    &format!("tl host uninstall {name}"),
                    &format!("{}   # or this", plugin.disable),
                ],
            );
        }
    }
    if let Some(foreign) = &spec.quirks.foreign_hooks
        && in_project(host_spec(foreign.host).hooks_path)
            .is_some_and(|text| find_installed(foreign.host, &text).is_some())
    {
        let step = format!("tl host uninstall {name}");
        health.add_problem(format!("installed twice: {}", foreign.duplicate), &[&step]);
    }
}

/// Returns the folder of a user's own settings. They are read, never written.
fn user_settings_folder(variable: &str, folder: &str) -> Option<PathBuf> {
    settings::environment_variable(variable)
        .map(PathBuf::from)
        .or_else(|| {
            settings::environment_variable("HOME").map(|home| PathBuf::from(home).join(folder))
        })
}
