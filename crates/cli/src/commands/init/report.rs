//! Output of `tl init`: what was made, in about ten lines, and the one command to go on with.

use std::path::Path;

use application::starting_point::find_starting_point;
use domain::profile::Profile;
use domain::project_kind::{DirectoryListing, detect_project_kind};
use domain::shell_line::quote_word;
use domain::text::count_with_noun;
use domain::work::guides::GUIDES_FOLDER;
use serde::Serialize;

use super::profile_choice::ProfileChoice;
use crate::commands::host_choice::FoundHost;
use crate::commands::host_files::{self, HostChange};
use crate::program_path::{describe_call, find_on_path};
use crate::project_file::CONFIG_FILE;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::{App, Project};

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
    /// The next command and what it is for, shown to people.
    #[serde(skip)]
    pub(super) next: Option<(String, String)>,
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

impl InitOutcome {
    /// A settings file that profiles were added to is not kept as it was.
    pub(super) fn mark_changed_settings(&mut self) {
        if !self.added_profiles.is_empty() {
            self.kept.retain(|path| path != CONFIG_FILE);
        }
    }
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
    if !outcome.added_profiles.is_empty() {
        let word = if is_preview { "would add" } else { "added" };
        let added = outcome.added_profiles.join(", ");
        ui.print_line(format_args!("  {word} {added} in {CONFIG_FILE}"));
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
    print_next_command(app, outcome);
}

fn print_hosts(app: &App, outcome: &InitOutcome) {
    let found: Vec<String> = outcome
        .found
        .iter()
        .flatten()
        .map(|found| {
            format!(
                "{} ({})",
                found.host.display_name(),
                found.because.join(", ")
            )
        })
        .collect();
    if !found.is_empty() {
        app.ui
            .print_line(format_args!("  found {}", found.join(", ")));
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
        let former = host_files::find_backup_folder(changes).map_or_else(String::new, |folder| {
            format!("; the former files are in {folder}")
        });
        app.ui.print_line(styled(
            DIM,
            format!("  to check the hooks: tl host doctor{former}"),
        ));
    }
}

/// Finds the one command to go on with, and profiles that a person may want to drop.
pub(super) fn find_next_command(
    app: &App,
    project: &Project,
    listing: &DirectoryListing,
    outcome: &mut InitOutcome,
) {
    // The project is made already: a state that cannot be read now is no failure of `tl init`.
    let Ok(start) = project.run(app.ui, &find_starting_point) else {
        return;
    };
    let is_empty = |profile: &&Profile| start.empty_profiles.contains(&profile.name);
    // By what a profile has, not by its name: the user's own may have phases as well.
    let has_tickets = project
        .profiles
        .iter()
        .filter(is_empty)
        .any(|profile| !profile.work_phases.is_empty());
    let writes_prose = |profile: &Profile| profile.levels.iter().any(|it| it.output.is_some());
    let manuscript = detect_project_kind(listing).manuscript.filter(|_| {
        let mut unused = project.profiles.iter().filter(is_empty);
        unused.any(writes_prose)
    });
    let has_plans = start.empty_profiles.len() < project.profiles.len();
    outcome.next = Some(match (start.next, manuscript) {
        (Some(item), _) => (item.action, item.reason),
        (None, Some(path)) => describe_import(&path),
        (None, None) if has_tickets => (
            "tl ticket new \"…\"".to_owned(),
            "the first ticket".to_owned(),
        ),
        (None, None) if has_plans => ("tl status".to_owned(), "nothing waits now".to_owned()),
        (None, None) => ("tl plan".to_owned(), "what can be planned".to_owned()),
    });
    if !outcome.added_profiles.is_empty() {
        outcome.notes.extend(describe_unused_profile(
            &outcome.profiles,
            &outcome.added_profiles,
            &start.empty_profiles,
        ));
    }
}

/// Returns the command that imports a manuscript, and what it does.
fn describe_import(path: &str) -> (String, String) {
    match path.strip_suffix(".odt") {
        Some(stem) => (
            format!("tl import {}", quote_word(&format!("{stem}.docx"))),
            format!("after you saved {path} as DOCX"),
        ),
        None => (
            format!("tl import {}", quote_word(path)),
            "the manuscript that is here, as plans and prose".to_owned(),
        ),
    }
}

/// Says how to drop the profiles that were there before others were added, and have no plans.
fn describe_unused_profile(names: &[String], added: &[String], empty: &[String]) -> Option<String> {
    // A trail has no plans until a session leaves one.
    let is_unused = |name: &&String| {
        empty.contains(name) && !added.contains(name) && name.as_str() != domain::trail::PROFILE
    };
    let unused: Vec<&str> = names.iter().filter(is_unused).map(String::as_str).collect();
    let kept: Vec<&str> = names
        .iter()
        .filter(|name| !is_unused(name))
        .map(String::as_str)
        .collect();
    (!unused.is_empty()).then(|| {
        format!(
            "no plans here are of {}; to drop what you do not use: tl config set profiles {}",
            unused.join(", "),
            kept.join(",")
        )
    })
}

fn print_next_command(app: &App, outcome: &InitOutcome) {
    if outcome.choice.as_ref().is_some_and(|it| it.is_guess) {
        app.ui.print_line(styled(
            DIM,
            "  nothing here says what it is for: this suits a book (tl plan act 1); for code: \
             tl init --profile tickets, then tl ticket new \"…\"",
        ));
    }
    if let Some((next, what)) = &outcome.next {
        app.ui.print_blank_line();
        app.ui
            .print_line(format_args!("Next:  {}   {what}", styled(BOLD, next)));
    }
    // `--project` is how scripts and the demo call it; with hosts, a note says that PATH lacks it.
    let is_told = outcome.hosts.is_some() && find_on_path("tl").is_none();
    if !app.explicit
        && !is_told
        && let Some(call) = describe_call()
    {
        app.ui.print_note(call);
    }
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
