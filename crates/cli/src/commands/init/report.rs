//! Output of `tl init`: what was made, in about ten lines, and the one command to go on with.

use std::path::Path;

use domain::profile::Profile;
use domain::text::count_with_noun;
use domain::work::guides::GUIDES_FOLDER;
use serde::Serialize;

use super::profile_choice::ProfileChoice;
use crate::commands::host_choice::FoundHost;
use crate::commands::host_files::{self, HostChange};
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// Outcome of `tl init`.
#[derive(Debug, Default, Serialize)]
pub(super) struct InitOutcome {
    pub(super) success: bool,
    /// Nothing was changed: this is what a run without `--dry-run` would do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) dry_run: bool,
    pub(super) project: String,
    pub(super) profiles: Vec<String>,
    /// How the profiles of a new project were chosen.
    #[serde(skip)]
    pub(super) choice: Option<ProfileChoice>,
    /// The file or folder that decided about the profiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chosen_because: Option<String>,
    /// Profiles that were added to an existing project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) added_profiles: Vec<String>,
    pub(super) made: Vec<String>,
    pub(super) kept: Vec<String>,
    /// Hosts detected by `--host auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) found: Option<Vec<FoundHost>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hosts: Option<Vec<HostChange>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

/// Prints the outcome.
pub(super) fn print_report(app: &App, root: &Path, profiles: &[Profile], outcome: &InitOutcome) {
    if app.ui.try_print_json(outcome) {
        return;
    }
    let ui = app.ui;
    let is_preview = outcome.dry_run;
    let place = styled(BOLD, root.display().to_string());
    match is_preview {
        false => ui.print_success(format_args!("{place} is a Throughline project")),
        true => ui.print_line(format_args!("{place} would be a Throughline project")),
    }
    for profile in profiles {
        ui.print_line(format_args!(
            "  {}: {}",
            profile.name,
            profile.render_hierarchy()
        ));
    }
    if let Some(because) = &outcome.chosen_because {
        ui.print_line(styled(
            DIM,
            format!("  chosen because of {because}; to add another: tl init --profile NAME"),
        ));
    }
    if !outcome.made.is_empty() {
        let word = if is_preview { "would make" } else { "made" };
        ui.print_line(format_args!("  {word} {}", render_paths(&outcome.made)));
    }
    if !outcome.kept.is_empty() {
        let kept = render_paths(&outcome.kept);
        ui.print_line(styled(DIM, format!("  kept {kept}")));
    }
    print_hosts(app, outcome);
    for note in &outcome.notes {
        ui.print_note(note);
    }
    if is_preview {
        ui.print_line("Nothing was changed.");
        return;
    }
    print_next_command(app, profiles, outcome);
}

fn print_hosts(app: &App, outcome: &InitOutcome) {
    for found in outcome.found.iter().flatten() {
        app.ui.print_line(format_args!(
            "  found {}: {}",
            found.host.display_name(),
            found.because.join(", ")
        ));
    }
    let Some(changes) = &outcome.hosts else {
        return;
    };
    host_files::print_changes_briefly(app.ui, changes, outcome.dry_run);
    if changes.is_empty() {
        app.ui.print_warning(
            "no agent host was found here or on PATH; name one: tl init --host claude-code",
        );
    } else if !outcome.dry_run {
        app.ui
            .print_line(styled(DIM, "  to check the hooks: tl host doctor"));
    }
}

fn print_next_command(app: &App, profiles: &[Profile], outcome: &InitOutcome) {
    // By what a profile has, not by its name: the user's own may have phases as well.
    let has_phases = |profile: &Profile| !profile.work_phases.is_empty();
    let (next, what) = match profiles.iter().any(has_phases) {
        true => ("tl ticket new \"…\"", "the first ticket"),
        false => ("tl plan", "what can be planned"),
    };
    if outcome.choice.as_ref().is_some_and(|it| it.is_guess) {
        app.ui.print_line(styled(
            DIM,
            "  nothing here says what it is for: this suits a book (tl plan act 1); for code: \
             tl init --profile tickets, then tl ticket new \"…\"",
        ));
    }
    app.ui.print_blank_line();
    app.ui
        .print_line(format_args!("Next:  {}   {what}", styled(BOLD, next)));
}

/// Renders paths in one line: the folder they share once, and the guides as a number.
fn render_paths(paths: &[String]) -> String {
    let is_guide = |path: &&String| path.starts_with(GUIDES_FOLDER);
    let guides = paths.iter().filter(is_guide).count();
    let mut shown: Vec<String> = paths
        .iter()
        .filter(|path| !is_guide(path))
        .enumerate()
        .map(|(index, path)| match index {
            0 => path.clone(),
            _ => path
                .strip_prefix(".throughline/")
                .unwrap_or(path)
                .to_owned(),
        })
        .collect();
    if guides > 0 {
        let count = count_with_noun(guides, "guide", "guides");
        shown.push(format!("{count} in {GUIDES_FOLDER}"));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_folder_are_one_line() {
        let paths = [
            ".throughline/config.toml",
            ".throughline/phases/TDD.md",
            ".throughline/phases/DONE.md",
            ".throughline/state.db",
        ]
        .map(str::to_owned);
        assert_eq!(
            render_paths(&paths),
            ".throughline/config.toml, state.db, 2 guides in .throughline/phases"
        );
    }
}
