//! `tl config check`: all problems of `config.toml` and the environment, with their lines.
//!
//! The parser of the settings stops at the first problem. Here every key is parsed on its own, so
//! that a file with several mistakes is corrected in one go.

use std::path::Path;

use application::Failure;
use domain::settings::{SETTING_TABLES, SettingsProblem, parse_config, setting_keys};
use domain::text::count_with_noun;
use serde_json::{Value, json};
use toml_edit::{Document, Item, Key, TableLike};

use crate::exit_code::ExitCode;
use crate::project_file::{CONFIG_FILE, read_config_text};
use crate::settings::{check_setting_paths, environment_variable, load_project_profiles};
use crate::ui::{BAD, styled};
use crate::wiring::App;

/// Prints the problems of the settings.
pub(super) fn print_check(app: &App, root: &Path) -> Result<ExitCode, Failure> {
    let mut problems = find_problems(root, &read_config_text(root)?);
    // Variables are applied to settings, so those have to be valid first.
    if problems.is_empty() {
        problems = find_environment_problems(root)?;
    }
    let code = ExitCode::from_check(problems.is_empty());
    if app.ui.json {
        let listed: Vec<Value> = problems
            .iter()
            .map(|problem| json!({ "place": problem.place, "message": problem.message }))
            .collect();
        app.ui
            .print_json(&json!({ "valid": problems.is_empty(), "problems": listed }));
        return Ok(code);
    }
    for problem in &problems {
        app.ui
            .print_line(format_args!("{} {problem}", styled(BAD, "✗")));
    }
    match problems.len() {
        0 => app.ui.print_success(format_args!(
            "no problems in {CONFIG_FILE} and the environment"
        )),
        count => app
            .ui
            .print_line(count_with_noun(count, "problem", "problems")),
    }
    Ok(code)
}

/// Finds the problems of a text of `config.toml`, in the order of the file.
pub(super) fn find_problems(root: &Path, text: &str) -> Vec<SettingsProblem> {
    let Ok(document) = Document::parse(text) else {
        // Not TOML: the parser knows the line, and nothing after it can be trusted.
        return parse_config(CONFIG_FILE, text).err().into_iter().collect();
    };
    let mut problems = Vec::new();
    check_table(text, "", document.as_table(), &mut problems);
    // The parser of the whole file would only repeat the first of them.
    if !problems.is_empty() {
        return problems;
    }
    match parse_config(CONFIG_FILE, text) {
        Err(problem) => vec![problem],
        Ok(settings) => check_setting_paths(settings)
            .and_then(|settings| load_project_profiles(root, &settings))
            .err()
            .map(|failure| SettingsProblem {
                place: CONFIG_FILE.to_owned(),
                message: failure.message,
            })
            .into_iter()
            .collect(),
    }
}

/// Finds environment variables with values that are not allowed.
fn find_environment_problems(root: &Path) -> Result<Vec<SettingsProblem>, Failure> {
    let mut settings = crate::settings::read_config_file(root)?;
    Ok(settings.apply_environment(&environment_variable))
}

fn check_table(
    text: &str,
    prefix: &str,
    table: &dyn TableLike,
    problems: &mut Vec<SettingsProblem>,
) {
    for (name, item) in table.iter() {
        // Quoted where necessary: an unknown key may be any text.
        let path = format!("{prefix}{}", Key::new(name));
        let inner = format!("{path}.");
        let is_known_table = SETTING_TABLES.iter().any(|known| known.prefix == inner);
        match item.as_table_like() {
            Some(table) if is_known_table => check_table(text, &inner, table, problems),
            _ => problems.extend(check_key(&path, item).map(|message| SettingsProblem {
                place: format!("{CONFIG_FILE}:{}", find_line(text, table, name)),
                message,
            })),
        }
    }
}

/// Parses one key as if it were the whole file, and returns the problem.
fn check_key(path: &str, item: &Item) -> Option<String> {
    // A table where a value belongs is an empty one here: its content does not matter.
    let value = item
        .as_value()
        .map_or_else(|| "{}".to_owned(), |value| value.to_string());
    match parse_config(CONFIG_FILE, &format!("{path} = {}\n", value.trim())) {
        Err(problem) => Some(problem.message),
        Ok(settings) => setting_keys().find(|key| key.name == path).and_then(|key| {
            // The parser accepts numbers out of range, because older files may have them.
            key.check_value(key.value_in(&settings.values()))
                .err()
                .map(|message| format!("`{path}`: {message}"))
        }),
    }
}

fn find_line(text: &str, table: &dyn TableLike, name: &str) -> usize {
    let start = table
        .get_key_value(name)
        .and_then(|(key, _)| key.span())
        .map_or(0, |span| span.start);
    1 + text
        .bytes()
        .take(start)
        .filter(|byte| *byte == b'\n')
        .count()
}
