//! Duplicate installations: hooks in two files that the same host reads, so that each runs twice.

use std::path::PathBuf;

use hosts::install::find_installed;
use hosts::{HostSpec, SettingsPlace, host_spec};
use store::DiskFiles;

use super::health::HostHealth;
use crate::commands::host_files::read_project_file;
use crate::settings;

/// Reports duplicates: in the host's other settings files, by our plugin for it, and in the settings
/// of a host whose hooks it runs too.
pub(super) fn report_duplicates(health: &mut HostHealth, disk: &DiskFiles) {
    let spec = host_spec(health.host);
    let name = health.host.as_str();
    let others = read_other_settings(spec, disk);
    let has_hooks = |text: &Option<String>| {
        text.as_deref()
            .is_some_and(|text| find_installed(spec.host, text).is_some())
    };
    // A hook that runs twice counts and answers twice.
    for (file, _) in others.iter().filter(|(_, text)| has_hooks(text)) {
        health.add_problem(
            format!("installed twice: the hooks are in {file} as well"),
            &[&format!(
                "remove the entries with `hook {name}` from {file}"
            )],
        );
    }
    for file in find_enabled_plugin(spec, disk) {
        let disable = spec.quirks.plugin_switch.as_ref().map(|it| it.disable);
        health.add_problem(
            format!("installed twice: the plugin enabled in {file} has the same hooks"),
            &[
                &format!("tl host uninstall {name}"),
                &format!("{}   # or this", disable.unwrap_or_default()),
            ],
        );
    }
    if let Some(foreign) = &spec.quirks.foreign_hooks
        && read_project_text(disk, host_spec(foreign.host).hooks_path)
            .is_some_and(|text| find_installed(foreign.host, &text).is_some())
    {
        let step = format!("tl host uninstall {name}");
        health.add_problem(format!("installed twice: {}", foreign.duplicate), &[&step]);
    }
}

/// Returns the settings files that enable our plugin for a host.
pub(super) fn find_enabled_plugin(spec: &HostSpec, disk: &DiskFiles) -> Vec<String> {
    let Some(plugin) = &spec.quirks.plugin_switch else {
        return Vec::new();
    };
    // The project's own settings can enable the plugin too.
    let own = (
        spec.hooks_path.to_owned(),
        read_project_text(disk, spec.hooks_path),
    );
    read_other_settings(spec, disk)
        .into_iter()
        .chain([own])
        .filter(|(_, text)| text.as_deref().is_some_and(plugin.is_enabled))
        .map(|(file, _)| file)
        .collect()
}

/// Reads the host's further settings files, of the project and of the user.
fn read_other_settings(spec: &HostSpec, disk: &DiskFiles) -> Vec<(String, Option<String>)> {
    let others = spec.quirks.other_settings.iter();
    others
        .filter_map(|place| match place {
            SettingsPlace::Project(path) => {
                Some(((*path).to_owned(), read_project_text(disk, path)))
            }
            SettingsPlace::User {
                variable,
                folder,
                file,
            } => {
                let file = user_settings_folder(variable, folder)?.join(file);
                // A file that cannot be read is not the project's: it is no reason to
                // fail the check.
                let text = std::fs::read_to_string(&file).ok();
                Some((file.display().to_string(), text))
            }
        })
        .collect()
}

fn read_project_text(disk: &DiskFiles, path: &str) -> Option<String> {
    read_project_file(disk, path).ok().flatten()
}

/// Returns the folder of a user's own settings. They are read, never written.
fn user_settings_folder(variable: &str, folder: &str) -> Option<PathBuf> {
    settings::environment_variable(variable)
        .map(PathBuf::from)
        .or_else(|| {
            settings::environment_variable("HOME").map(|home| PathBuf::from(home).join(folder))
        })
}
