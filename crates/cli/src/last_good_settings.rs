//! Last good settings: copies of `config.toml` and the project's profiles as they were when they could
//! last be used.
//!
//! A hook cannot ask anyone about a typo in these files. Without the copies it would have to fall back
//! to the defaults, which switches off every gate of another profile.

use std::path::Path;

use application::Failure;
use application::handle_host_event::EventOutcome;
use domain::host_event::{Happening, HostEvent};
use domain::profile::Profile;
use domain::settings::Settings;

use crate::project_file::read_config_text;
use crate::settings::{self, PROFILES_FOLDER};
use crate::wiring::Project;

/// The copy, relative to the project. Not in git, see `git_ignore`.
const LAST_GOOD_FILE: &str = ".throughline/last-good-config.toml";
/// The copies of the profiles.
const LAST_GOOD_PROFILES: &str = ".throughline/last-good-profiles";
/// Maximum number of profiles that are copied.
const MAX_COPIED_PROFILES: usize = 32;

/// Stores `config.toml` as good, after a project was loaded with it.
pub(crate) fn remember_good_settings(root: &Path) {
    let Ok(text) = read_config_text(root) else {
        return;
    };
    let path = root.join(LAST_GOOD_FILE);
    let known = std::fs::read_to_string(&path).ok();
    // A project without settings needs no copy: its settings are the defaults.
    if known.as_ref() != Some(&text) && !(known.is_none() && text.is_empty()) {
        // Only a fallback: a project on a read-only disk works without.
        let _ = store::write_atomically(&path, text.as_bytes());
    }
    copy_profiles(root);
}

/// Copies the project's own profiles that changed.
fn copy_profiles(root: &Path) {
    let Ok(entries) = std::fs::read_dir(root.join(PROFILES_FOLDER)) else {
        return;
    };
    // Bounded, because the hooks of every prompt and stop come here.
    for entry in entries.flatten().take(MAX_COPIED_PROFILES) {
        let is_profile = entry.path().extension().is_some_and(|end| end == "toml");
        let Some(text) = is_profile
            .then(|| std::fs::read_to_string(entry.path()).ok())
            .flatten()
        else {
            continue;
        };
        let copy = root.join(LAST_GOOD_PROFILES).join(entry.file_name());
        if std::fs::read_to_string(&copy).ok().as_ref() != Some(&text) {
            let _ = store::private_files::create_private_directory(&root.join(LAST_GOOD_PROFILES));
            let _ = store::write_atomically(&copy, text.as_bytes());
        }
    }
}

/// Returns a profile as it is, or its last good copy if it cannot be used.
fn load_last_good_profile(root: &Path, name: &str) -> Result<Profile, Failure> {
    settings::load_named_profile(root, PROFILES_FOLDER, name)
        .or_else(|_| settings::load_named_profile(root, LAST_GOOD_PROFILES, name))
}

impl Project {
    /// Loads the project for a hook. If its settings are broken, the last good ones are used, and the
    /// failure is returned beside the project.
    pub(crate) fn load_for_hook_or_last_good(
        root: &Path,
    ) -> Result<(Self, Option<Failure>), Failure> {
        match Self::load_for_hook(root) {
            Ok(project) => Ok((project, None)),
            Err(failure) => match Self::load_last_good(root) {
                Some(project) => Ok((project, Some(failure))),
                None => Err(failure),
            },
        }
    }

    /// Loads the project with its last good settings and profiles, if there are any. Of these files,
    /// those that can be used are.
    pub(crate) fn load_last_good(root: &Path) -> Option<Self> {
        let load_with = |settings: Settings| {
            let load = |name: &str| load_last_good_profile(root, name);
            let profiles = settings::load_profiles_from(&settings, load).ok()?;
            let project = Self::with_profiles(root, settings, profiles).ok()?;
            Some(project.tighten_by_pins())
        };
        let current = settings::load_settings_for_hook(root).ok();
        current.and_then(load_with).or_else(|| {
            let text = std::fs::read_to_string(root.join(LAST_GOOD_FILE)).ok()?;
            load_with(settings::parse_settings_for_hook(root, LAST_GOOD_FILE, &text).ok()?)
        })
    }
}

/// Adds a message about broken settings to the reply where people and agents read it: at the start of
/// a session, at a prompt, and at a stop.
pub(crate) fn add_settings_problem(
    mut handled: EventOutcome,
    event: &HostEvent,
    problem: &Failure,
) -> EventOutcome {
    let steps: String = problem
        .next_steps
        .iter()
        .map(|step| format!("\n  next: {step}"))
        .collect();
    let message = format!(
        "Throughline: {}. Until it is fixed, the last good settings stay in force.{steps}",
        problem.message
    );
    let reply = &mut handled.reply;
    let goes_to_agent = match event.happening {
        Happening::SessionStarted { .. } | Happening::PromptSubmitted { .. } => true,
        // Context at a stop would make some hosts go on.
        Happening::Stopping { .. } => false,
        _ => return handled,
    };
    if goes_to_agent {
        reply.context = Some(match reply.context.take() {
            Some(context) => format!("{context}\n{message}"),
            None => message.clone(),
        });
    }
    reply.notice = Some(match reply.notice.take() {
        Some(notice) => format!("{notice}\n{message}"),
        None => message,
    });
    handled
}
