//! Reports gates that an edit of `config.toml` or of a profile weakened, where the files decide.
//!
//! Compared with the last good settings: the agent is told by the call that made the edit, the person
//! at the next start, prompt or stop, once each. What only a person may loosen has no effect, and is not
//! reported here.

use std::path::Path;

use application::handle_host_event::EventOutcome;
use domain::host_event::{Happening, HostEvent};
use domain::trust_policy::{PolicyChange, TrustPolicy};
use store::private_files::read_own_file;

use crate::last_good_settings::{has_changed_settings, remember_good_settings};
use crate::project_file::CONFIG_FILE;
use crate::settings::PROFILES_FOLDER;
use crate::wiring::Project;

/// Changes that the person was not told yet, one per line, relative to the project.
const UNTOLD_FILE: &str = ".throughline/weakened-gates";

/// Adds a message about weakened gates to the reply, and remembers the settings as the last good ones.
pub(crate) fn report_weakened_gates(
    handled: EventOutcome,
    event: &HostEvent,
    project: &Project,
) -> EventOutcome {
    let root = &project.root;
    let is_for_person = matches!(
        event.happening,
        Happening::SessionStarted { .. }
            | Happening::PromptSubmitted { .. }
            | Happening::Stopping { .. }
    );
    if !is_for_person && !may_edit_settings(event) || !has_changed_settings(root) {
        return match is_for_person {
            true => tell_person(handled, root),
            false => handled,
        };
    }
    let changes = list_weakened_gates(project);
    remember_good_settings(root);
    if is_for_person {
        add_untold_changes(root, &changes);
        return tell_person(handled, root);
    }
    if changes.is_empty() {
        return handled;
    }
    add_untold_changes(root, &changes);
    let message = format!(
        "Throughline: this weakened the gates: {}. The person who works with you is told; if they did not ask for it, \
         take it back.",
        render_changes(&changes)
    );
    handled.merge(EventOutcome::with_context(message))
}

/// Whether a finished call may have edited the settings: it names them, or ran a command.
fn may_edit_settings(event: &HostEvent) -> bool {
    let Happening::ToolFinished { call, .. } = &event.happening else {
        return false;
    };
    let is_settings =
        |path: &str| path.ends_with(CONFIG_FILE) || path.contains(&format!("{PROFILES_FOLDER}/"));
    call.may_change_anything() || call.touches.iter().any(|touch| is_settings(&touch.path))
}

/// Returns what is looser now than with the last good settings.
fn list_weakened_gates(project: &Project) -> Vec<PolicyChange> {
    let Some(before) = Project::load_remembered(&project.root) else {
        return Vec::new();
    };
    let now = &project.settings.policy;
    // Only a person loosens a policy under `human`, and knows of it; the profiles are files all the same.
    let then = match now.approval.requires_person() {
        true => now,
        false => &before.settings.policy,
    };
    let then = TrustPolicy::from_policy(then).with_used_gates(&before.profiles);
    then.loosened_in(&TrustPolicy::from_policy(now).with_used_gates(&project.profiles))
}

fn render_changes(changes: &[PolicyChange]) -> String {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    changes.join(", ")
}

fn add_untold_changes(root: &Path, changes: &[PolicyChange]) {
    if changes.is_empty() {
        return;
    }
    let path = root.join(UNTOLD_FILE);
    let known = read_own_file(&path).unwrap_or_default();
    let text = format!("{known}{}\n", render_changes(changes));
    // The agent was told; a person who is not told here finds it in git.
    let _ = store::write_atomically(&path, text.as_bytes());
}

/// Tells the person what is noted for them, and removes the note.
fn tell_person(mut handled: EventOutcome, root: &Path) -> EventOutcome {
    let path = root.join(UNTOLD_FILE);
    // Usually there is none, which costs one failed `open`.
    let Ok(noted) = read_own_file(&path) else {
        return handled;
    };
    if std::fs::remove_file(&path).is_err() {
        return handled;
    }
    let changes: Vec<&str> = noted.lines().collect();
    let message = format!(
        "Throughline: the gates of this project are weaker now: {}. Next: git diff .throughline",
        changes.join(", ")
    );
    let notice = &mut handled.reply.notice;
    *notice = Some(match notice.take() {
        Some(before) => format!("{before}\n{message}"),
        None => message,
    });
    handled
}
