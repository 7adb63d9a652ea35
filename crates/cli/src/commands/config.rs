//! `tl config`: shows, changes and checks the project's settings.
//!
//! It has no more rights than an editor: a looser policy takes effect after `tl policy accept`.

mod change;
mod check;

use std::path::{Path, PathBuf};

use application::Failure;
use clap::{Args, Subcommand};
use domain::secrets::{SecretCount, mask_text};
use domain::settings::{SettingKey, parse_config, render_config_value, setting_keys};
use domain::suggest::nearest_words;
use serde::Serialize;
use serde_json::Value;
use web::SettingLine;

use crate::completion::setting_key_completer;
use crate::exit_code::ExitCode;
use crate::project_file::{self, CONFIG_FILE, read_config_text};
use crate::settings::{environment_variable, settings_failure};
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::{App, Project};

/// Show, change and check the project's settings
///
/// Settings are in .throughline/config.toml, which holds only what differs from the defaults;
/// environment variables win over it. A change that loosens the policy takes effect once a person
/// accepts it (`tl policy accept`).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl config list policy.gates\n  tl config get profiles\n  tl config set policy.gates.loc warn\n  tl config set profiles story,trail\n  tl config edit\n  tl config check    # exits with 3 if there are problems\n  tl config schema > config.schema.json"
)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: ConfigAction,
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    /// List the settings with value, source, default and description
    List {
        /// Only the settings of this table, or only this setting: `policy.gates`
        #[arg(value_name = "TABLE")]
        table: Option<String>,
    },
    /// Print the value of a setting
    Get {
        /// The setting: `policy.approval`
        #[arg(add = setting_key_completer())]
        key: String,
    },
    /// Set a value in config.toml, keeping its comments and order
    Set {
        /// The setting: `policy.approval`
        #[arg(add = setting_key_completer())]
        key: String,
        /// The value; words of a list are separated by commas
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Open config.toml in $VISUAL or $EDITOR, and check it afterwards
    Edit,
    /// Check config.toml and the environment, and list all problems with their lines
    Check,
    /// Print the JSON Schema of config.toml
    Schema,
}

/// A setting and its value in this project.
#[derive(Debug, Serialize)]
struct SettingView {
    key: &'static str,
    value: Value,
    default: Value,
    source: SettingSource,
    /// The environment variable that sets it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<&'static str>,
    environment: &'static [&'static str],
    allowed: String,
    description: &'static str,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum SettingSource {
    Default,
    File,
    Environment,
    /// The policy in force, which is stricter than the file.
    Policy,
    /// The server or database that this user chose.
    User,
}

impl SettingView {
    fn describe_source(&self) -> &str {
        match self.source {
            SettingSource::Default => "default",
            SettingSource::File => "config.toml",
            SettingSource::Environment => self.variable.unwrap_or("environment"),
            SettingSource::Policy => "policy in force; config.toml is looser (tl policy accept)",
            SettingSource::User => "chosen by this user",
        }
    }
}

impl ConfigArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.action {
            ConfigAction::List { table } => print_settings(app, table.as_deref()),
            ConfigAction::Get { key } => print_setting(app, key),
            ConfigAction::Set { key, value } => change::set_value(app, key, value),
            ConfigAction::Edit => change::edit_file(app),
            ConfigAction::Check => check::print_check(app, &app.find_project_root()?),
            ConfigAction::Schema => {
                app.ui.print_text(project_file::render_schema());
                Ok(ExitCode::Done)
            }
        }
    }
}

/// The settings of a project, for the dashboard.
pub(crate) struct ProjectSettings {
    pub(crate) root: PathBuf,
}

impl web::SettingSource for ProjectSettings {
    fn list_settings(&self) -> Result<Vec<SettingLine>, Failure> {
        let views = load_views(&self.root)?;
        Ok(views.iter().map(describe_setting).collect())
    }
}

/// Describes a setting for readers of the dashboard, who may be others than the user who set it.
fn describe_setting(view: &SettingView) -> SettingLine {
    // The address of a database contains its password.
    let masked = |value: &Value| {
        let shown = render_config_value(value);
        mask_text(&shown, &mut SecretCount::default()).into_owned()
    };
    SettingLine {
        key: view.key.to_owned(),
        value: masked(&view.value),
        default: (view.value != view.default).then(|| masked(&view.default)),
        source: view.describe_source().to_owned(),
        allowed: view.allowed.clone(),
        description: view.description.to_owned(),
    }
}

/// Collects every setting with its value and source.
fn load_views(root: &Path) -> Result<Vec<SettingView>, Failure> {
    let text = read_config_text(root)?;
    let fault = |problem| settings_failure(&problem);
    let file = parse_config(CONFIG_FILE, &text).map_err(fault)?;
    // Parsed once more as a plain table: settings do not tell a default from the same value in the
    // file.
    let written: Value = toml::from_str(&text).unwrap_or_default();
    let given = file
        .with_environment(&environment_variable)
        .map_err(fault)?;
    // A project that cannot be loaded, such as one whose database is not adopted yet, still has
    // settings to show.
    let effective = Project::load(root).map_or_else(
        |_| given.clone(),
        |project| project.tighten_by_pins().settings,
    );
    let (given, effective) = (given.values(), effective.values());
    let defaults = domain::settings::Settings::default_values();
    let view = |key: &'static SettingKey| {
        let value = key.value_in(&effective);
        let variable = key
            .environment
            .iter()
            .copied()
            .find(|name| environment_variable(name).is_some());
        // In order of authority: what overrides the others names itself first.
        let source = match () {
            () if value != key.value_in(&given) && key.name.starts_with("policy.") => {
                SettingSource::Policy
            }
            () if value != key.value_in(&given) => SettingSource::User,
            () if variable.is_some() => SettingSource::Environment,
            () if !key.value_in(&written).is_null() => SettingSource::File,
            () => SettingSource::Default,
        };
        SettingView {
            key: key.name,
            value: value.clone(),
            default: key.value_in(&defaults).clone(),
            source,
            variable: variable.filter(|_| source == SettingSource::Environment),
            environment: key.environment,
            allowed: key.allowed(),
            description: key.text,
        }
    };
    Ok(setting_keys().map(view).collect())
}

fn print_settings(app: &App, table: Option<&str>) -> Result<ExitCode, Failure> {
    let mut views = load_views(&app.find_project_root()?)?;
    if let Some(table) = table {
        let table = table.trim_end_matches('.');
        views.retain(|view| {
            view.key == table
                || view
                    .key
                    .strip_prefix(table)
                    .is_some_and(|rest| rest.starts_with('.'))
        });
        if views.is_empty() {
            return Err(unknown_key(table));
        }
    }
    if app
        .ui
        .try_print_json(&serde_json::json!({ "settings": views }))
    {
        return Ok(ExitCode::Done);
    }
    for view in &views {
        let default = match view.value == view.default {
            true => String::new(),
            false => format!(" (default: {})", render_config_value(&view.default)),
        };
        app.ui.print_line(format_args!(
            "{} = {}  {}",
            styled(BOLD, view.key),
            render_config_value(&view.value),
            styled(DIM, format!("{}{default}", view.describe_source()))
        ));
        app.ui.print_line(format_args!("    {}", view.description));
        app.ui
            .print_line(styled(DIM, format!("    Allowed: {}", view.allowed)));
    }
    Ok(ExitCode::Done)
}

fn print_setting(app: &App, name: &str) -> Result<ExitCode, Failure> {
    let key = find_key(name)?;
    let views = load_views(&app.find_project_root()?)?;
    let view = views
        .iter()
        .find(|view| view.key == key.name)
        .ok_or_else(|| unknown_key(name))?;
    match &view.value {
        _ if app.ui.json => app.ui.print_json(view),
        // Without quotes, for use in scripts.
        Value::String(text) => app.ui.print_line(text),
        other => app.ui.print_line(render_config_value(other)),
    }
    Ok(ExitCode::Done)
}

/// Finds a setting by its name.
fn find_key(name: &str) -> Result<&'static SettingKey, Failure> {
    setting_keys()
        .find(|key| key.name == name)
        .ok_or_else(|| unknown_key(name))
}

fn unknown_key(name: &str) -> Failure {
    let last_part = |name: &'_ str| name.rsplit('.').next().unwrap_or_default().to_owned();
    // `approval` for `policy.approval` is the most likely mistake; after that, typing errors.
    let near = setting_keys()
        .find(|key| last_part(key.name) == last_part(name))
        .map(|key| key.name)
        .or_else(|| {
            nearest_words(name, setting_keys().map(|key| key.name), 1)
                .first()
                .copied()
        });
    let hint = near
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    Failure::invalid(format!("there is no setting `{name}`{hint}")).with_step("tl config list")
}
