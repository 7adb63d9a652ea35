//! `tl state secret`: finds secrets in stored data and rewrites the history without them.

use std::collections::BTreeMap;

use application::Failure;
use clap::{Args, Subcommand};
use domain::ports::Clock as _;
use domain::secrets::SecretCount;
use domain::settings::Storage;
use domain::text::count_with_noun;
use serde_json::{Value, json};
use store::{SecretPlace, SystemClock, purge_secrets, scan_secrets};

use crate::caller::acting_principal;
use crate::exit_code::ExitCode;
use crate::settings::read_yes_or_no;
use crate::ui::{INFO, WARN, styled};
use crate::wiring::{App, Project};

/// Find secrets in the stored data, and purge them from the history
///
/// Keys, tokens, passwords and private keys are masked before anything is stored. Secrets stored by
/// a version that did not mask them, or in a format unknown then, are found by `scan` and removed
/// by `purge`. Plan files are yours: `tl check` lists lines that contain a secret.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl state secret scan     # exits with 3 if something is found\n  tl state secret purge    # in a terminal, by a person"
)]
pub(crate) struct SecretArgs {
    #[command(subcommand)]
    action: SecretAction,
}

#[derive(Debug, Subcommand)]
enum SecretAction {
    /// Scan the history, the mirror, session files, logs, backups and quarantined files for secrets
    Scan,
    /// Mask every secret that `scan` finds; all hashes from the first changed operation on change
    Purge,
}

impl SecretArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let project = app.find_project()?;
        match self.action {
            SecretAction::Scan => scan_state(app, &project),
            SecretAction::Purge => purge_state(app, &project),
        }
    }
}

fn scan_state(app: &App, project: &Project) -> Result<ExitCode, Failure> {
    // Opening repairs what it can, and refuses a state that this user does not trust.
    drop(project.open_store(app.ui, None)?);
    let places = scan_secrets(&project.layout, project.settings.storage)?;
    let code = ExitCode::from_check(places.is_empty());
    if app.ui.json {
        let listed: Vec<Value> = places
            .iter()
            .map(|found| json!({ "place": found.place, "secrets": count_by_kind(&found.secrets) }))
            .collect();
        app.ui.print_json(&json!({ "clean": places.is_empty(), "secrets": count_by_kind(&total_secrets(&places)), "places": listed }));
        return Ok(code);
    }
    if places.is_empty() {
        app.ui.print_success("no secrets in what is stored");
        return Ok(code);
    }
    for found in &places {
        app.ui
            .print_line(format_args!("{}: {}", found.place, found.secrets));
    }
    app.ui.print_line(format_args!(
        "{} in {}",
        total_secrets(&places),
        count_with_noun(places.len(), "place", "places")
    ));
    app.ui.print_message(format_args!(
        "  {}: revoke them where they were issued, then run `tl state secret purge`",
        styled(INFO, "next")
    ));
    Ok(code)
}

fn purge_state(app: &App, project: &Project) -> Result<ExitCode, Failure> {
    project.refuse_on_replica()?;
    let (layout, storage) = (&project.layout, project.settings.storage);
    // Rewriting changes hashes that other machines have recorded as known; alone on one machine it
    // is safe.
    if storage == Storage::Postgres {
        return Err(Failure::refused(
            "a history in PostgreSQL cannot be rewritten in place, because others work on it"
                .to_owned(),
        )
        .with_step("tl state move --to sqlite   # while nobody else works on the project")
        .with_step("tl state secret purge")
        .with_step(
            "tl state move --to postgres   # then drop the quarantined project from the database",
        ));
    }
    // Under every policy: a rewritten history cannot be compared with the old one afterwards, so it
    // is never an agent's decision.
    if let Some(why) = project.reason_against_person() {
        return Err(Failure::refused(format!(
            "rewriting the history needs a person's decision, and {why}"
        ))
        .with_step("ask the person to run `tl state secret purge` in a terminal"));
    }
    drop(project.open_store(app.ui, None)?);
    let places = scan_secrets(layout, storage)?;
    if places.is_empty() {
        let nothing = json!({ "success": true, "secrets": {}, "operations": 0, "files": [], "removed": [], "left": [] });
        if !app.ui.try_print_json(&nothing) {
            app.ui
                .print_success("no secrets in what is stored; nothing was changed");
        }
        return Ok(ExitCode::Done);
    }
    let (secrets, where_found) = (
        total_secrets(&places),
        count_with_noun(places.len(), "place", "places"),
    );
    app.ui.print_message(format_args!(
        "{}: {secrets} in {where_found} will be masked, and the hashes of the operations after them change; this cannot be \
         undone. Go on? [y/N]",
        styled(WARN, "purge")
    ));
    if !read_yes_or_no() {
        return Err(Failure::refused("not purged; nothing was changed"));
    }
    // It takes the lock itself and scans again under it: the answer to the question took a while.
    let Some(purged) = purge_secrets(layout, storage, acting_principal(), SystemClock.now())?
    else {
        return Err(
            Failure::conflict("the history was purged by another process meanwhile")
                .with_step("tl state secret scan"),
        );
    };
    // The rewritten history has other hashes. A person has just confirmed it, so it becomes the
    // known one; otherwise every later command would warn of a changed history.
    store::accept_current_head(
        &*project.open_store(app.ui, None)?,
        &project.store_engine_settings(),
    )?;
    // Scanned again, because files that are in use or read-only may have been skipped.
    let left = scan_secrets(layout, storage)?;
    let code = ExitCode::from_check(left.is_empty());
    if app.ui.json {
        app.ui.print_json(&json!({
            "success": left.is_empty(),
            "secrets": count_by_kind(&purged.secrets),
            "operations": purged.operations,
            "files": purged.files,
            "removed": purged.removed,
            // The head that was replaced, so that an archived journal can be matched with this
            // purge.
            "superseded": { "head": purged.superseded.0, "hash": purged.superseded.1 },
            "operation": purged.operation,
            "left": left.iter().map(|found| &found.place).collect::<Vec<_>>(),
        }));
        return Ok(code);
    }
    app.ui.print_success(format_args!(
        "masked {} in {} and {}; recorded as operation {}",
        purged.secrets,
        count_with_noun(purged.operations, "operation", "operations"),
        count_with_noun(purged.files.len(), "file", "files"),
        purged.operation
    ));
    for file in &purged.removed {
        app.ui
            .print_note(format_args!("removed {file}, which could not be rewritten"));
    }
    for found in &left {
        app.ui
            .print_warning(format_args!("still in {}", found.place));
    }
    app.ui.print_note("copies elsewhere are not changed: revoke the secrets; remove them from git's history (git filter-repo) \
                 if `.throughline` was committed; create new backups; clients of a team server have to join again (tl team join)");
    Ok(code)
}

fn total_secrets(places: &[SecretPlace]) -> SecretCount {
    let mut secrets = SecretCount::default();
    places
        .iter()
        .for_each(|found| secrets.merge_count(&found.secrets));
    secrets
}

fn count_by_kind(secrets: &SecretCount) -> BTreeMap<&'static str, usize> {
    secrets
        .by_kind()
        .into_iter()
        .map(|(kind, count)| (kind.display_name(), count))
        .collect()
}
