//! `tl config set` and `tl config edit`: changes of `config.toml`.

use std::path::Path;
use std::process::Command;

use application::Failure;
use domain::settings::{SettingKey, parse_config, render_config_value};

use super::check::{find_problems, print_check};
use super::find_key;
use crate::caller::acting_principal;
use crate::exit_code::ExitCode;
use crate::last_good_settings::remember_good_settings;
use crate::project_file::{CONFIG_FILE, read_config_text, with_setting, write_config_text};
use crate::settings::{environment_variable, settings_failure};
use crate::trust::pending_policy_notice;
use crate::wiring::{App, Project};

/// Sets one value, if the file is valid with it.
pub(super) fn set_value(app: &App, name: &str, text: &str) -> Result<ExitCode, Failure> {
    let key = find_key(name)?;
    let root = app.find_project_root()?;
    let value = key.parse_value(text).map_err(|problem| {
        Failure::invalid(format!("`{name}`: {problem}")).with_step(format!("tl config list {name}"))
    })?;
    let before = read_config_text(&root)?;
    // A broken file is reported as such, not as a problem of the new value.
    parse_config(CONFIG_FILE, &before).map_err(|problem| settings_failure(&problem))?;
    let after = with_setting(&before, key.name, &value)?;
    if let Some(problem) = find_problems(&root, &after).into_iter().next() {
        return Err(Failure::invalid(format!("not changed: {problem}"))
            .with_step(format!("tl config list {name}")));
    }
    // The time of an unchanged file stays, so that running servers do not load it again.
    if after != before {
        write_config_text(&root, &after)?;
    }
    let shown = render_config_value(&value);
    if app.ui.json {
        app.ui.print_json(&serde_json::json!({
            "key": key.name, "value": value, "changed": after != before,
        }));
    } else {
        app.ui.print_success(format_args!(
            "{name} = {shown}{}",
            if after == before { "  (unchanged)" } else { "" }
        ));
    }
    print_notes(app, &root, Some(key));
    Ok(ExitCode::Done)
}

/// Opens the file in the user's editor.
pub(super) fn edit_file(app: &App) -> Result<ExitCode, Failure> {
    let root = app.find_project_root()?;
    let editor = environment_variable("VISUAL")
        .or_else(|| environment_variable("EDITOR"))
        .ok_or_else(|| {
            Failure::invalid("no editor is set: neither VISUAL nor EDITOR has a value")
                .with_step("export EDITOR=…")
                .with_step("tl config set KEY VALUE")
        })?;
    // Split at spaces, because `code --wait` is usual; no shell, which not every system has.
    let mut words = editor.split_whitespace();
    #[expect(
        clippy::disallowed_methods,
        reason = "the user's editor is what was asked for"
    )]
    let status = Command::new(words.next().unwrap_or_default())
        .args(words)
        .arg(root.join(CONFIG_FILE))
        .status();
    let failed = |what: String| Failure::unavailable(format!("the editor `{editor}` {what}"));
    match status {
        Err(error) => return Err(failed(format!("cannot be started: {error}"))),
        Ok(status) if !status.success() => return Err(failed(format!("failed: {status}"))),
        Ok(_) => {}
    }
    let code = print_check(app, &root)?;
    print_notes(app, &root, None);
    Ok(code)
}

/// Reports what keeps a change from taking effect.
fn print_notes(app: &App, root: &Path, key: Option<&SettingKey>) {
    let variables = key.map_or(&[][..], |key| key.environment);
    if let Some(name) = variables
        .iter()
        .find(|name| environment_variable(name).is_some())
    {
        app.ui.print_warning(format_args!(
            "{name} is set, and the environment wins over config.toml"
        ));
    }
    if key.is_some_and(|key| key.name == "storage") {
        app.ui
            .print_note("this moves no data; `tl state move --to …` moves an existing state");
    }
    // Without a state, or with one that cannot be opened now, no policy is in force yet; the next
    // command that opens it says the same.
    let waiting = Project::load(root).ok().and_then(|project| {
        // What an agent changes is still to be reported, if it weakens a gate.
        if acting_principal().is_human() {
            remember_good_settings(root);
        }
        let store = project.open_store(app.ui, None).ok()?;
        let resolved = project.resolve_policy(&*store).ok()?;
        pending_policy_notice(&resolved.waiting)
    });
    if let Some(notice) = waiting {
        app.ui.print_warning(notice);
    }
}
