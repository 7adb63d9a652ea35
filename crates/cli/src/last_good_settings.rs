//! Last good settings: a copy of `config.toml` as it was when it could last be used.
//!
//! A hook cannot ask anyone about a typo in `config.toml`. Without this copy it would have to fall
//! back to the defaults, which switches off every gate of another profile.

use std::path::Path;

use application::Failure;
use application::handle_host_event::EventOutcome;
use domain::host_event::{Happening, HostEvent};

use crate::project_file::read_config_text;
use crate::settings;
use crate::wiring::Project;

/// The copy, relative to the project. Not in git, see `git_ignore`.
const LAST_GOOD_FILE: &str = ".throughline/last-good-config.toml";

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

    /// Loads the project with its last good settings, if there are any.
    pub(crate) fn load_last_good(root: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(root.join(LAST_GOOD_FILE)).ok()?;
        let settings = settings::parse_settings_for_hook(root, LAST_GOOD_FILE, &text).ok()?;
        let project = Self::load_with_settings(root, settings).ok()?;
        Some(project.tighten_by_pins())
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
