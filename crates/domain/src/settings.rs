//! Project settings: parses `.throughline/config.toml` and applies environment variables on top.
//!
//! Pure: text and variables are passed in. The environment may only tighten what protects a project
//! (gates, approval, governance), never loosen it. Each setting is declared once, with
//! [`declaration::setting_table!`]: here, in [`crate::policy`] and in [`server`].

mod database_url;
pub(crate) mod declaration;
mod models;
mod schema;
mod server;
#[cfg(test)]
mod tests;

pub use self::database_url::DatabaseUrl;
pub use self::declaration::{SettingKey, SettingKind, SettingTable, render_config_value};
use self::declaration::{SettingType, list_of, setting_enum, setting_table, strip_trailing_slash};
pub use self::models::{ModelBudget, ModelSettings};
pub use self::schema::{SCHEMA_FILE, config_schema};
pub use self::server::{OfflinePolicy, ServerAddress, ServerSettings, is_confidential_url};
use crate::policy::{
    BriefingPolicy, CommitPrefixes, GatePolicy, GenerationPolicy, Policy, ReviewPolicy,
    SignalPolicy,
};
use crate::suggest::with_suggestion;
use crate::trust_policy::TrustPolicy;

setting_enum! {
    /// The storage engine of the state.
    pub enum Storage {
        #[default]
        Sqlite = "sqlite",
        Json = "json",
        Postgres = "postgres",
        /// A team server with a local replica. Selected by a person or the environment, never by a
        /// file: a cloned repository must not be able to choose where data is sent.
        #[serde(skip_deserializing)]
        Remote,
    }
}

setting_table! {
    /// Settings of a project.
    pub struct Settings in [] {
        /// Identifies this project in a shared database, independent of its directory and name.
        /// Commit it to git: every clone has the same id.
        project_id: String = String::new(), allowed "a UUID, written by `tl init`";

        /// The kinds of tree this project has.
        profiles: Vec<String> = list_of(&["story"]),
            allowed "names of built-in profiles (`story`, `tickets`, `trail`, `milestones`) or of files in `.throughline/profiles/`",
            env ["THROUGHLINE_PROFILES"];

        /// The storage engine. `json` uses only the journal and the mirror, for file systems where
        /// SQLite does not work; `postgres` shares the state between machines
        /// (docs/guides/teams.md).
        storage: Storage = Storage::Sqlite,
            env ["THROUGHLINE_STORAGE", "PLANNING_STATE_STORAGE"];

        /// The SQLite file.
        database: String = ".throughline/state.db".to_owned(),
            allowed "a path inside the project",
            env ["THROUGHLINE_DATABASE", "PLANNING_STATE_DB_PATH"];

        /// Connection URL of the shared database, for `storage = "postgres"`. Connections to other
        /// machines use TLS and verify the certificate unless `sslmode` says otherwise. A file that
        /// came with a repository cannot choose a server: its URL is used only after `tl state adopt`.
        /// Never shown with its password.
        database_url: DatabaseUrl = DatabaseUrl::default(),
            allowed "`postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with `?sslmode=disable`, `require` and `sslrootcert=FILE`",
            env ["THROUGHLINE_DATABASE_URL"];

        /// The name of this project in the shared database; by default the name of its directory.
        /// The project is identified by `project_id`, not by this name.
        database_project: String = String::new(),
            allowed "a name",
            env ["THROUGHLINE_DATABASE_PROJECT"];

        /// The log file of repairs and errors, one line each.
        log_file: String = ".throughline/logs/tl.log".to_owned(),
            allowed "a path inside the project",
            env ["THROUGHLINE_LOG_FILE", "PLANNING_STATE_LOG_FILE"];

        /// The directory of the tickets: `<folder>/<id>-<slug>/ticket.md`.
        tickets_folder: String = "tickets".to_owned(),
            allowed "a folder inside the project",
            env ["THROUGHLINE_TICKETS_FOLDER"],
            rule strip_trailing_slash;
    }
    fields {
        policy: Policy,
        mirror: MirrorSettings,
        git: GitSettings,
        server: ServerSettings,
        models: ModelSettings,
        /// The trust policy of the file alone, without what the environment tightened.
        #[serde(skip)]
        declared: Option<Box<TrustPolicy>>,
    }
}

setting_table! {
    /// The readable JSON copy of the state.
    pub struct MirrorSettings in [mirror] {
        /// Whether a readable copy of the state is kept as JSON files, for people and last-resort
        /// rebuilds. It is never in git.
        enabled: bool = true, env ["THROUGHLINE_MIRROR", "PLANNING_STATE_JSON_SYNC_ENABLED"];

        /// Minimum time between two updates of the mirror; 0 updates it after every operation.
        /// Ten operations update it at once.
        interval_seconds: u64 = 0,
            allowed "a number of seconds",
            env ["THROUGHLINE_MIRROR_INTERVAL_SECONDS", "PLANNING_STATE_JSON_SYNC_INTERVAL_SECONDS"];

        /// The directory of the mirror.
        directory: String = ".throughline/mirror".to_owned(),
            allowed "a path inside the project",
            env ["THROUGHLINE_MIRROR_DIRECTORY", "PLANNING_STATE_JSON_DIR"],
            rule strip_trailing_slash;
    }
}

setting_enum! {
    /// Where decisions (approvals, rejections, comments) are kept besides the state.
    pub enum DecisionStorage {
        /// In `.throughline/decisions`, one file each, which git carries to other clones.
        #[default]
        Files = "files",
        /// In the state of this working copy only.
        Local = "local",
    }
}

setting_table! {
    /// What of Throughline is in git.
    pub struct GitSettings in [git] {
        /// Where decisions are kept: as files in `.throughline/decisions`, so that every clone with
        /// the commit has them, or only in the state of this working copy.
        decisions: DecisionStorage = DecisionStorage::Files;

        /// Whether session files (`.throughline/sessions`) may be committed. By default git ignores
        /// them.
        share_sessions: bool = false;
    }
}

/// Every table of `config.toml`, each after the one that contains it.
pub const SETTING_TABLES: &[SettingTable] = &[
    Settings::TABLE,
    Policy::TABLE,
    GatePolicy::TABLE,
    CommitPrefixes::TABLE,
    ReviewPolicy::TABLE,
    SignalPolicy::TABLE,
    BriefingPolicy::TABLE,
    GenerationPolicy::TABLE,
    MirrorSettings::TABLE,
    GitSettings::TABLE,
    ServerSettings::TABLE,
    ModelBudget::TABLE,
];

/// Returns every setting, grouped by table.
pub fn setting_keys() -> impl Iterator<Item = &'static SettingKey> {
    SETTING_TABLES.iter().flat_map(|table| table.keys)
}

/// Older environment variables that are still validated but have nothing to set.
pub const ACCEPTED_WITHOUT_EFFECT: &[(&str, &str)] = &[(
    "PLANNING_STATE_CACHE_TTL_SECONDS",
    "No cached value can be stale between two commands, so there is no time to live to set.",
)];

/// A configuration error and its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct SettingsProblem {
    /// `.throughline/config.toml:3`, or the name of an environment variable.
    pub place: String,
    pub message: String,
}

/// Parses `config.toml`; `file` is only used in messages.
///
/// # Errors
/// Returns the first problem with file and line. An unknown key is an error and names the nearest
/// known key, because a misspelled gate would otherwise silently keep its default.
pub fn parse_config(file: &str, text: &str) -> Result<Settings, SettingsProblem> {
    let text = &blank_comments(text);
    let settings: Settings = toml::from_str(text).map_err(|error| {
        let line = 1 + text
            .bytes()
            .take(error.span().map_or(0, |span| span.start))
            .filter(|byte| *byte == b'\n')
            .count();
        SettingsProblem {
            place: format!("{file}:{line}"),
            message: explain_toml_error(error.message()),
        }
    })?;
    if settings.profiles.is_empty() {
        return Err(SettingsProblem {
            place: file.to_owned(),
            message: "`profiles` is empty: expected at least one, such as [\"story\"]".to_owned(),
        });
    }
    // Serde checks the shape only. A misspelled gate in `fail_closed` would leave the real one
    // failing open, so names are checked here.
    let gates = &settings.policy.gates;
    let wrong = |message: String| {
        Err(SettingsProblem {
            place: file.to_owned(),
            message,
        })
    };
    if let Some(unknown) = gates
        .fail_closed
        .iter()
        .find(|name| crate::gates::find_gate_by_name(name).is_none())
    {
        let known: Vec<String> = crate::gates::GATES
            .iter()
            .map(|gate| format!("`{}`", gate.name))
            .collect();
        return wrong(format!(
            "`fail_closed`: there is no gate `{unknown}`: expected {}",
            known.join(", ")
        ));
    }
    let known = crate::detection::SignalKind::ALL.map(crate::detection::SignalKind::as_str);
    if let Some(unknown) = settings
        .policy
        .signals
        .off
        .iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        return wrong(format!(
            "`off`: there is no signal `{unknown}`: expected {}",
            known.join(", ")
        ));
    }
    if gates.shrink_below_percent > 100 {
        return wrong(format!(
            "`shrink_below_percent` is {}: expected 0 to 100",
            gates.shrink_below_percent
        ));
    }
    Ok(settings)
}

/// Completes an error of the TOML parser with what to do about it.
fn explain_toml_error(message: &str) -> String {
    // Happens when a section is appended that is in the file already.
    match message.starts_with("duplicate key") {
        true => format!(
            "{message}: TOML allows each key and section once; add to the first one, or use `tl config set`"
        ),
        false => with_suggestion(message),
    }
}

/// Blanks comment lines: the `config.toml` of older versions documented every setting in comments,
/// and every hook parses it.
fn blank_comments(text: &str) -> std::borrow::Cow<'_, str> {
    // Inside a multi-line string a leading `#` is content, so such a file is parsed as it is.
    if text.contains("\"\"\"") || text.contains("'''") {
        return text.into();
    }
    let mut kept = String::with_capacity(1_024);
    for line in text.lines() {
        // The line stays, empty, so that the line numbers in errors are those of the file.
        kept.push_str(if line.trim_start().starts_with('#') {
            ""
        } else {
            line
        });
        kept.push('\n');
    }
    kept.into()
}

impl Settings {
    /// Applies the environment's overrides.
    ///
    /// # Errors
    /// When a variable has a value that is not allowed.
    pub fn with_environment(
        mut self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingsProblem> {
        if let Some(problem) = self.apply_environment(environment).into_iter().next() {
            return Err(problem);
        }
        for (name, _) in ACCEPTED_WITHOUT_EFFECT {
            if let Some(text) = environment(name) {
                declaration::parse_setting::<u64>(u64::KIND, &text).map_err(|message| {
                    SettingsProblem {
                        place: (*name).to_owned(),
                        message,
                    }
                })?;
            }
        }
        Ok(self)
    }

    /// Applies the environment's overrides and ignores invalid ones. For hooks: a misspelled
    /// variable must not keep the gates from being evaluated.
    #[must_use]
    pub fn with_valid_environment(mut self, environment: &dyn Fn(&str) -> Option<String>) -> Self {
        self.apply_environment(environment);
        self
    }

    /// Returns the default values as JSON, for [`SettingKey::value_in`].
    #[must_use]
    pub fn default_values() -> serde_json::Value {
        Self::default().values()
    }

    /// Returns all values as JSON, for [`SettingKey::value_in`]. Passwords are left out.
    #[must_use]
    pub fn values(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("BUG: settings are strings, numbers and lists")
    }

    /// Applies every valid variable and returns the problems of the others.
    pub fn apply_environment(
        &mut self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<SettingsProblem> {
        // Recorded first: a variable set for one command is not a change of the file's policy.
        self.declared = Some(Box::new(TrustPolicy::from_policy(&self.policy)));
        let mut problems = Vec::new();
        for key in setting_keys() {
            // The current name is applied last, so that it wins over the older aliases.
            for name in key.environment.iter().rev() {
                if let Some(text) = environment(name)
                    && let Err(message) = (key.set)(self, &text)
                {
                    problems.push(SettingsProblem {
                        place: (*name).to_owned(),
                        message,
                    });
                }
            }
        }
        let mut seen = std::collections::HashSet::new();
        self.profiles.retain(|name| seen.insert(name.clone()));
        problems
    }
}
