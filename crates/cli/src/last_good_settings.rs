//! Last good settings: copies of `config.toml` and the project's profiles as they were when they could
//! last be used.
//!
//! A hook cannot ask anyone about a typo in these files. Without the copies it would have to fall back
//! to the defaults, which switches off every gate of another profile.

use std::path::{Path, PathBuf};

use application::Failure;
use application::handle_host_event::EventOutcome;
use domain::host_event::{Happening, HostEvent};
use domain::profile::Profile;
use domain::settings::Settings;
use domain::text::end_sentence;
use store::private_files::read_own_file;

use crate::hook_ledger::LedgerFile;
use crate::project_file::{CONFIG_FILE, read_config_text};
use crate::settings::{self, PROFILES_FOLDER};
use crate::standing_problem::is_told_to_agent_at;
use crate::wiring::{Project, refuse_foreign_entries};

/// The copy, relative to the project. Not in git, see `git_ignore`.
const LAST_GOOD_FILE: &str = ".throughline/last-good-config.toml";
/// The copies of the profiles.
const LAST_GOOD_PROFILES: &str = ".throughline/last-good-profiles";
/// Maximum number of profiles that are copied.
const MAX_COPIED_PROFILES: usize = 32;

/// Stores `config.toml` as good, after a project was loaded with it.
pub(crate) fn remember_good_settings(root: &Path) {
    // The files may have changed since they were loaded.
    if refuse_foreign_entries(root).is_err() {
        return;
    }
    let Ok(text) = read_config_text(root) else {
        return;
    };
    let path = root.join(LAST_GOOD_FILE);
    let known = read_own_file(&path).ok();
    // A project without settings needs no copy: its settings are the defaults.
    if known.as_ref() != Some(&text) && !(known.is_none() && text.is_empty()) {
        // Only a fallback: a project on a read-only disk works without.
        let _ = store::write_atomically(&path, text.as_bytes());
    }
    copy_profiles(root);
}

/// Copies the project's own profiles that changed.
fn copy_profiles(root: &Path) {
    for (copy, text) in list_changed_profiles(root) {
        let _ = store::private_files::create_private_directory(&root.join(LAST_GOOD_PROFILES));
        let _ = store::write_atomically(&copy, text.as_bytes());
    }
}

/// Returns the text of each of the project's own profiles that differs from its copy, with the path of
/// that.
fn list_changed_profiles(root: &Path) -> Vec<(PathBuf, String)> {
    let Ok(entries) = std::fs::read_dir(root.join(PROFILES_FOLDER)) else {
        return Vec::new();
    };
    let mut changed = Vec::new();
    // Bounded, because the hooks of every prompt and stop come here.
    for entry in entries.flatten().take(MAX_COPIED_PROFILES) {
        let is_profile = entry.path().extension().is_some_and(|end| end == "toml");
        let Some(text) = is_profile
            .then(|| read_own_file(&entry.path()).ok())
            .flatten()
        else {
            continue;
        };
        let copy = root.join(LAST_GOOD_PROFILES).join(entry.file_name());
        if read_own_file(&copy).ok().as_ref() != Some(&text) {
            changed.push((copy, text));
        }
    }
    changed
}

/// Whether `config.toml` or a profile differs from the last good one.
pub(crate) fn has_changed_settings(root: &Path) -> bool {
    let config = read_config_text(root).ok();
    let known = read_own_file(&root.join(LAST_GOOD_FILE)).ok();
    config.unwrap_or_default() != known.unwrap_or_default()
        || !list_changed_profiles(root).is_empty()
}

/// Returns the failure of settings that are gone although there were some: without them the project
/// would be another one, with other gates.
fn find_missing_config(root: &Path) -> Option<Failure> {
    if root.join(CONFIG_FILE).exists() {
        return None;
    }
    let known = std::fs::metadata(root.join(LAST_GOOD_FILE)).ok()?;
    (known.len() > 0).then(|| {
        Failure::invalid(format!("{CONFIG_FILE} is missing"))
            .with_step(format!("cp {LAST_GOOD_FILE} {CONFIG_FILE}"))
    })
}

/// Returns a profile as it is, or its last good copy if it cannot be used.
fn load_last_good_profile(root: &Path, name: &str) -> Result<Profile, Failure> {
    settings::load_named_profile(root, PROFILES_FOLDER, name)
        .or_else(|_| settings::load_named_profile(root, LAST_GOOD_PROFILES, name))
}

fn load_remembered_settings(root: &Path) -> Option<Settings> {
    let text = read_own_file(&root.join(LAST_GOOD_FILE)).ok()?;
    settings::parse_settings_for_hook(root, LAST_GOOD_FILE, &text).ok()
}

impl Project {
    /// Loads the project for a hook. If its settings are broken, the last good ones are used, and the
    /// failure is returned beside the project.
    pub(crate) fn load_for_hook_or_last_good(
        root: &Path,
    ) -> Result<(Self, Option<Failure>), Failure> {
        let loaded = match find_missing_config(root) {
            Some(failure) => Err(failure),
            None => Self::load_for_hook(root),
        };
        match loaded {
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
        let load = |name: &str| load_last_good_profile(root, name);
        let current = match find_missing_config(root) {
            Some(_) => None,
            None => settings::load_settings_for_hook(root).ok(),
        };
        current
            .and_then(|settings| Self::load_with_profiles(root, settings, load))
            .or_else(|| Self::load_with_profiles(root, load_remembered_settings(root)?, load))
    }

    /// Loads the project as it was when its settings could last be used.
    pub(crate) fn load_remembered(root: &Path) -> Option<Self> {
        Self::load_with_profiles(root, load_remembered_settings(root)?, |name| {
            settings::load_named_profile(root, LAST_GOOD_PROFILES, name)
        })
    }

    /// Whether `config.toml` is gone, and what to do about it.
    pub(crate) fn find_missing_config(root: &Path) -> Option<Failure> {
        find_missing_config(root)
    }

    fn load_with_profiles(
        root: &Path,
        settings: Settings,
        load: impl Fn(&str) -> Result<Profile, Failure>,
    ) -> Option<Self> {
        let profiles = settings::load_profiles_from(&settings, load).ok()?;
        let project = Self::with_profiles(root, settings, profiles).ok()?;
        Some(project.tighten_by_pins())
    }
}

/// Adds a message about broken settings to the reply where it is read: by the agent as every standing
/// problem, by the person at the start of a session, at a prompt and at a stop.
pub(crate) fn add_settings_problem(
    mut handled: EventOutcome,
    event: &HostEvent,
    problem: &Failure,
    ledger: &LedgerFile,
) -> EventOutcome {
    let goes_to_agent = is_told_to_agent_at(event, ledger);
    // Context at a stop would make some hosts go on: there the person alone is told.
    let is_for_person = matches!(
        event.happening,
        Happening::SessionStarted { .. }
            | Happening::PromptSubmitted { .. }
            | Happening::Stopping { .. }
    );
    if !goes_to_agent && !is_for_person {
        return handled;
    }
    let steps: String = problem
        .next_steps
        .iter()
        .map(|step| format!("\n  next: {step}"))
        .collect();
    let message = format!(
        "Throughline: {} Until it is fixed, the last good settings stay in force.{steps}",
        end_sentence(&problem.message)
    );
    let reply = &mut handled.reply;
    if goes_to_agent {
        reply.context = Some(match reply.context.take() {
            Some(context) => format!("{context}\n{message}"),
            None => message.clone(),
        });
    }
    if is_for_person {
        reply.notice = Some(match reply.notice.take() {
            Some(notice) => format!("{notice}\n{message}"),
            None => message,
        });
    }
    handled
}
