//! Project settings: parses `.throughline/config.toml` and applies environment variables on top.
//!
//! Pure: text and variables are passed in. The environment may only tighten what protects a project
//! (gates, approval, governance), never loosen it.

mod database_url;
mod generation_keys;
mod identity_keys;
mod server;
mod session_keys;
use serde::{Deserialize, Serialize};

pub use self::database_url::DatabaseUrl;
pub use self::server::{OfflinePolicy, ServerAddress, ServerSettings};
use crate::policy::{GateMode, Governance, Policy};
use crate::suggest::with_suggestion;
use crate::trust_policy::TrustPolicy;

/// The storage engine of the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    #[default]
    Sqlite,
    Json,
    Postgres,
    /// A team server with a local replica. Selected by a person or the environment, never by a
    /// file: a cloned repository must not be able to choose where data is sent.
    #[serde(skip_deserializing)]
    Remote,
}

/// The table `[mirror]`: the readable JSON copy of the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MirrorSettings {
    pub enabled: bool,
    pub interval_seconds: u64,
    pub directory: String,
}

impl Default for MirrorSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interval_seconds: 0,
            directory: ".throughline/state".to_owned(),
        }
    }
}

/// Every setting of a project, with its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Identifies the project in all its working copies; empty in projects older than ids.
    pub project_id: String,
    pub profiles: Vec<String>,
    pub storage: Storage,
    pub database: String,
    /// Connection URL of the shared database.
    pub database_url: DatabaseUrl,
    /// Name of the project in the shared database; if empty, the name of its directory.
    pub database_project: String,
    pub log_file: String,
    /// Directory of the tickets, relative to the project.
    pub tickets_folder: String,
    pub policy: Policy,
    pub mirror: MirrorSettings,
    pub server: ServerSettings,
    /// The trust policy of the file alone, without what the environment tightened.
    #[serde(skip)]
    pub declared: Option<Box<TrustPolicy>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            project_id: String::new(),
            profiles: vec!["story".to_owned()],
            storage: Storage::default(),
            database: ".throughline/state.db".to_owned(),
            database_url: DatabaseUrl::default(),
            database_project: String::new(),
            log_file: ".throughline/logs/tl.log".to_owned(),
            tickets_folder: "tickets".to_owned(),
            policy: Policy::default(),
            mirror: MirrorSettings::default(),
            server: ServerSettings::default(),
            declared: None,
        }
    }
}

/// A configuration error and its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct SettingsProblem {
    /// `.throughline/config.toml:3`, or the name of an environment variable.
    pub place: String,
    pub message: String,
}

/// One setting: its name, documentation, and the setter for its environment variables.
#[derive(Clone, Copy, Debug)]
pub struct SettingKey {
    pub name: &'static str,
    pub default: &'static str,
    pub allowed: &'static str,
    /// Environment variables that set it: the current name first, then older aliases.
    pub environment: &'static [&'static str],
    pub text: &'static str,
    set: fn(&mut Settings, &str) -> Result<(), String>,
}

/// Returns every setting, in the order the environment is applied.
fn iter_keys() -> impl Iterator<Item = &'static SettingKey> {
    identity_keys::KEYS
        .iter()
        .chain(KEYS)
        .chain(server::KEYS)
        .chain(session_keys::KEYS)
        .chain(generation_keys::KEYS)
}

/// Returns every setting by table, as the reference page and a new `config.toml` list them.
#[must_use]
pub fn list_setting_keys() -> Vec<&'static SettingKey> {
    let all: Vec<&SettingKey> = iter_keys().collect();
    let table = |key: &SettingKey| key.name.rsplit_once('.').map_or("", |(table, _)| table);
    let mut sorted = all.clone();
    // Keys of one table have to be adjacent, because TOML allows each table only once.
    sorted.sort_by_key(|key| all.iter().position(|first| table(first) == table(key)));
    sorted
}

const KEYS: &[SettingKey] = &[
    SettingKey {
        name: "profiles",
        default: "[\"story\"]",
        allowed: "names of built-in profiles (`story`, `tickets`, `trail`, `milestones`) or of files in `.throughline/profiles/`",
        environment: &["THROUGHLINE_PROFILES"],
        text: "The kinds of tree this project has.",
        set: |settings, text| {
            settings.profiles = split_list(text);
            Ok(())
        },
    },
    SettingKey {
        name: "storage",
        default: "\"sqlite\"",
        allowed: "`sqlite`, `json`, `postgres`",
        environment: &["THROUGHLINE_STORAGE", "PLANNING_STATE_STORAGE"],
        text: "The storage engine. `json` uses only the journal and the mirror, for file systems where SQLite does not work; `postgres` shares the state between machines (docs/guides/teams.md).",
        set: |settings, text| {
            let known = [
                ("sqlite", Storage::Sqlite),
                ("json", Storage::Json),
                ("postgres", Storage::Postgres),
            ];
            settings.storage = parse_one_of(text, &known)?;
            Ok(())
        },
    },
    SettingKey {
        name: "database",
        default: "\".throughline/state.db\"",
        allowed: "a path inside the project",
        environment: &["THROUGHLINE_DATABASE", "PLANNING_STATE_DB_PATH"],
        text: "The SQLite file.",
        set: |settings, text| {
            settings.database = text.to_owned();
            Ok(())
        },
    },
    SettingKey {
        name: "database_url",
        default: "\"\"",
        allowed: "`postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with `?sslmode=disable`, `require` and `sslrootcert=FILE`",
        environment: &["THROUGHLINE_DATABASE_URL"],
        text: "Connection URL of the shared database, for `storage = \"postgres\"`. Connections to other machines use TLS and verify the certificate unless `sslmode` says otherwise. A file that came with a repository cannot choose a server: its URL is used only after `tl adopt`. Never shown with its password.",
        set: |settings, text| {
            settings.database_url = DatabaseUrl::new(text);
            Ok(())
        },
    },
    SettingKey {
        name: "database_project",
        default: "\"\"",
        allowed: "a name",
        environment: &["THROUGHLINE_DATABASE_PROJECT"],
        text: "The name of this project in the shared database; by default the name of its directory. The project is identified by `project_id`, not by this name.",
        set: |settings, text| {
            settings.database_project = text.trim().to_owned();
            Ok(())
        },
    },
    SettingKey {
        name: "log_file",
        default: "\".throughline/logs/tl.log\"",
        allowed: "a path inside the project",
        environment: &["THROUGHLINE_LOG_FILE", "PLANNING_STATE_LOG_FILE"],
        text: "The log file of repairs and errors, one line each.",
        set: |settings, text| {
            settings.log_file = text.to_owned();
            Ok(())
        },
    },
    SettingKey {
        name: "tickets_folder",
        default: "\"tickets\"",
        allowed: "a folder inside the project",
        environment: &["THROUGHLINE_TICKETS_FOLDER"],
        text: "The directory of the tickets: `<folder>/<id>-<slug>/ticket.md`.",
        set: |settings, text| {
            settings.tickets_folder = text.trim_end_matches('/').to_owned();
            Ok(())
        },
    },
    SettingKey {
        name: "policy.approval",
        default: "\"anyone\"",
        allowed: "`anyone`, `human`",
        environment: &["THROUGHLINE_APPROVAL"],
        text: "Whose approvals count: with `human`, only those by people. The environment can only make it stricter; a looser value in this file counts once a person accepts it (`tl policy accept`).",
        set: |settings, text| {
            use crate::policy::ApprovalPolicy::{Anyone, Human};
            let wanted = parse_one_of(text, &[("anyone", Anyone), ("human", Human)])?;
            // An agent can set variables; it must not gain the right to approve its own plans.
            if settings.policy.approval == Human && wanted == Anyone {
                return Err("the project is stricter; the environment cannot loosen it".to_owned());
            }
            settings.policy.approval = wanted;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.cascade",
        default: "\"deep\"",
        allowed: "`deep`, `precise`",
        environment: &["THROUGHLINE_CASCADE"],
        text: "What a changed parent makes stale: all descendants, or only children that rely on a section that changed.",
        set: |settings, text| {
            use crate::policy::CascadePolicy::{Deep, Precise};
            settings.policy.cascade = parse_one_of(text, &[("deep", Deep), ("precise", Precise)])?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.cascade_max_depth",
        default: "10",
        allowed: "a number from 1",
        environment: &[
            "THROUGHLINE_CASCADE_MAX_DEPTH",
            "PLANNING_CASCADE_MAX_DEPTH",
        ],
        text: "Maximum depth of a cascade. A deeper tree is treated as damaged, and the cascade stops with an error.",
        set: |settings, text| {
            settings.policy.cascade_max_depth = parse_number::<usize>(text)?.max(1);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.consistency",
        default: "\"warn\"",
        allowed: "`warn`, `require-force`, `off`",
        environment: &["THROUGHLINE_CONSISTENCY"],
        text: "What happens when a plan names characters, places or times its parent does not know.",
        set: |settings, text| {
            use crate::policy::ConsistencyPolicy::{Off, RequireForce, Warn};
            settings.policy.consistency = parse_one_of(
                text,
                &[
                    ("warn", Warn),
                    ("require-force", RequireForce),
                    ("off", Off),
                ],
            )?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.backups",
        default: "\"always\"",
        allowed: "`always`, `approved`, `off`",
        environment: &["THROUGHLINE_BACKUPS"],
        text: "When an overwritten plan is also backed up as a readable file in `backups/` beside it: always, only if it was approved, or never. The state keeps every version in any case.",
        set: |settings, text| {
            use crate::policy::BackupPolicy::{Always, Approved, Off};
            settings.policy.backups = parse_one_of(
                text,
                &[("always", Always), ("approved", Approved), ("off", Off)],
            )?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.max_plan_bytes",
        default: "4194304",
        allowed: "a number of bytes",
        environment: &["THROUGHLINE_MAX_PLAN_BYTES"],
        text: "Maximum size of a plan file. A larger one is not read, and its node is `invalid` until the file is smaller.",
        set: |settings, text| {
            settings.policy.max_plan_bytes = parse_number(text)?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.hook_deadline_ms",
        default: "1500",
        allowed: "a number of milliseconds",
        environment: &["THROUGHLINE_HOOK_DEADLINE_MS"],
        text: "Timeout of a hook, after which it gives up and lets the agent continue. It waits for the write lock at most a quarter of this.",
        set: |settings, text| {
            settings.policy.hook_deadline_ms = parse_number(text)?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.claim_lease_minutes",
        default: "30",
        allowed: "a number of minutes",
        environment: &["THROUGHLINE_CLAIM_LEASE_MINUTES"],
        text: "Lease time of a claim, counted from the last activity of its session.",
        set: |settings, text| {
            settings.policy.claim_lease_minutes = parse_number(text)?;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.gates.hierarchy",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_HIERARCHY"],
        text: "What happens when an agent plans or writes below a parent that is missing or not approved. The environment can only make a gate stricter.",
        set: |settings, text| set_gate(&mut settings.policy.gates.hierarchy, text),
    },
    SettingKey {
        name: "policy.gates.read_before_write",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_READ_BEFORE_WRITE"],
        text: "What happens when an agent overwrites a plan it has not read, or that changed since it did.",
        set: |settings, text| set_gate(&mut settings.policy.gates.read_before_write, text),
    },
    SettingKey {
        name: "policy.gates.shrink",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_SHRINK"],
        text: "What happens when a write would remove most of a plan.",
        set: |settings, text| set_gate(&mut settings.policy.gates.shrink, text),
    },
    SettingKey {
        name: "policy.gates.session",
        default: "\"off\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_SESSION"],
        text: "What happens when plans are changed in a session whose start was not reported by a hook.",
        set: |settings, text| set_gate(&mut settings.policy.gates.session, text),
    },
    SettingKey {
        name: "policy.gates.loc",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_LOC"],
        text: "What happens when an agent continues to edit with more than `loc_limit` uncommitted changed lines. Applies where a profile has this gate, as `tickets` does.",
        set: |settings, text| set_gate(&mut settings.policy.gates.loc, text),
    },
    SettingKey {
        name: "policy.gates.phase",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_PHASE"],
        text: "What happens when an agent edits after a ticket's phase changed, before the phase's guide was given and the work committed.",
        set: |settings, text| set_gate(&mut settings.policy.gates.phase, text),
    },
    SettingKey {
        name: "policy.gates.context",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_CONTEXT"],
        text: "What happens at the first edit after entering a ticket whose context the agent has not been given.",
        set: |settings, text| set_gate(&mut settings.policy.gates.context, text),
    },
    SettingKey {
        name: "policy.gates.scope",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_SCOPE"],
        text: "What happens when work has outgrown its level: a third file in a task, more than five scenarios in one ticket.",
        set: |settings, text| set_gate(&mut settings.policy.gates.scope, text),
    },
    SettingKey {
        name: "policy.gates.claim",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_CLAIM"],
        text: "What happens when an agent writes a node that another session has claimed.",
        set: |settings, text| set_gate(&mut settings.policy.gates.claim, text),
    },
    SettingKey {
        name: "policy.gates.frozen",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_FROZEN"],
        text: "What happens when an agent writes into a frozen plan document.",
        set: |settings, text| set_gate(&mut settings.policy.gates.frozen, text),
    },
    SettingKey {
        name: "policy.gates.done",
        default: "\"block\"",
        allowed: "`block`, `warn`, `off`",
        environment: &["THROUGHLINE_GATE_DONE"],
        text: "What happens when a node with missing, failed or stale evidence is completed.",
        set: |settings, text| set_gate(&mut settings.policy.gates.done, text),
    },
    SettingKey {
        name: "policy.gates.loc_limit",
        default: "400",
        allowed: "a number of lines",
        environment: &["THROUGHLINE_GATE_LOC_LIMIT"],
        text: "Maximum number of uncommitted changed lines. The environment can only lower it.",
        set: |settings, text| {
            let wanted = parse_number(text)?;
            if wanted > settings.policy.gates.loc_limit {
                return Err("the environment can only lower the project's limit".to_owned());
            }
            settings.policy.gates.loc_limit = wanted;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.gates.loc_exclude",
        default: "[\"*.lock\", \"package-lock.json\", \"npm-shrinkwrap.json\", \"pnpm-lock.yaml\", \"go.sum\", \"*.min.js\", \"*.min.css\", \"*.map\", \"*.snap\", \"*.generated.*\", \"*_pb2.py\", \"*.pb.go\", \"**/generated/**\", \"**/node_modules/**\", \"**/vendor/**\", \"**/dist/**\", \"**/build/**\", \"**/target/**\"]",
        allowed: "glob patterns; one without `/` is about the file's name",
        environment: &[],
        text: "Files excluded from the line count. Plans, tickets and `.throughline` are always excluded.",
        set: |settings, text| {
            settings.policy.gates.loc_exclude = split_list(text);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.gates.shrink_below_percent",
        default: "40",
        allowed: "a number from 0 to 100",
        environment: &["THROUGHLINE_GATE_SHRINK_BELOW_PERCENT"],
        text: "Minimum size of a plan after one write, in percent of its size before. The environment can only raise it.",
        set: |settings, text| {
            let wanted = parse_number(text)?;
            let gates = &mut settings.policy.gates;
            // A lower percentage lets more of a plan be deleted, so lower means looser here.
            if wanted > 100 || wanted < gates.shrink_below_percent {
                return Err("expected a number up to 100, not below the project's value".to_owned());
            }
            gates.shrink_below_percent = wanted;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.gates.fail_closed",
        default: "[\"read-before-write\"]",
        allowed: "names of gates, as `tl gate list` shows them",
        environment: &[],
        text: "Gates that block the agent when they cannot be evaluated because the state is locked, damaged or too slow. All others fail open: the agent continues, and the failure is logged and reported at its next contact.",
        set: |settings, text| {
            settings.policy.gates.fail_closed = split_list(text);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.commits.red",
        default: "[\"test\"]",
        allowed: "a list of words",
        environment: &[],
        text: "Commit prefixes (the word before the colon) of a commit that adds a failing test.",
        set: |settings, text| {
            settings.policy.commits.red = split_list(text);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.commits.green",
        default: "[\"feat\", \"fix\"]",
        allowed: "a list of words",
        environment: &[],
        text: "Commit prefixes of a commit that makes the test pass.",
        set: |settings, text| {
            settings.policy.commits.green = split_list(text);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.commits.refactor",
        default: "[\"refactor\"]",
        allowed: "a list of words",
        environment: &[],
        text: "Commit prefixes of a commit that cleans up and ends the cycle.",
        set: |settings, text| {
            settings.policy.commits.refactor = split_list(text);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.review.reviewer",
        default: "\"anyone\"",
        allowed: "`anyone`, `other`",
        environment: &["THROUGHLINE_REVIEWER"],
        text: "Who may judge the checks of a review: anyone, or only someone other than the author. The environment can only make it stricter.",
        set: |settings, text| {
            use crate::policy::ReviewerPolicy::{Anyone, Other};
            let wanted = parse_one_of(text, &[("anyone", Anyone), ("other", Other)])?;
            if settings.policy.review.reviewer == Other && wanted == Anyone {
                return Err("the project is stricter; the environment cannot loosen it".to_owned());
            }
            settings.policy.review.reviewer = wanted;
            Ok(())
        },
    },
    SettingKey {
        name: "policy.review.cap",
        default: "5",
        allowed: "a number from 1",
        environment: &["THROUGHLINE_REVIEW_CAP"],
        text: "Maximum number of iterations in which one check may fail. After that a MUST is escalated to a person, and SHOULD and COULD are accepted with that reason.",
        set: |settings, text| {
            settings.policy.review.cap = parse_number::<u32>(text)?.max(1);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.review.max_iterations",
        default: "8",
        allowed: "a number from 1",
        environment: &["THROUGHLINE_REVIEW_MAX_ITERATIONS"],
        text: "Maximum number of iterations of one review. Findings still open after the last one are escalated to a person (MUST) or accepted.",
        set: |settings, text| {
            settings.policy.review.max_iterations = parse_number::<u32>(text)?.max(1);
            Ok(())
        },
    },
    SettingKey {
        name: "policy.review.budget",
        default: "0",
        allowed: "a number; 0 sets no limit",
        environment: &["THROUGHLINE_REVIEW_BUDGET"],
        text: "Maximum cost of one review, in the unit its reviewers report with `--cost` (tokens, cents). When it is spent, the review ends as after its last iteration.",
        set: |settings, text| {
            settings.policy.review.budget = parse_number(text)?;
            Ok(())
        },
    },
    SettingKey {
        name: "mirror.enabled",
        default: "true",
        allowed: "`true`, `false`",
        environment: &["THROUGHLINE_MIRROR", "PLANNING_STATE_JSON_SYNC_ENABLED"],
        text: "Whether a readable copy of the state is kept as JSON files, for people, git and last-resort rebuilds.",
        set: |settings, text| {
            settings.mirror.enabled = parse_one_of(
                text,
                &[("true", true), ("1", true), ("false", false), ("0", false)],
            )?;
            Ok(())
        },
    },
    SettingKey {
        name: "mirror.interval_seconds",
        default: "0",
        allowed: "a number of seconds",
        environment: &[
            "THROUGHLINE_MIRROR_INTERVAL_SECONDS",
            "PLANNING_STATE_JSON_SYNC_INTERVAL_SECONDS",
        ],
        text: "Minimum time between two updates of the mirror; 0 updates it after every operation.",
        set: |settings, text| {
            settings.mirror.interval_seconds = parse_number(text)?;
            Ok(())
        },
    },
    SettingKey {
        name: "mirror.directory",
        default: "\".throughline/state\"",
        allowed: "a path inside the project",
        environment: &["THROUGHLINE_MIRROR_DIRECTORY", "PLANNING_STATE_JSON_DIR"],
        text: "The directory of the mirror.",
        set: |settings, text| {
            settings.mirror.directory = text.trim_end_matches('/').to_owned();
            Ok(())
        },
    },
];

/// Older environment variables that are still validated but have nothing to set.
pub const ACCEPTED_WITHOUT_EFFECT: &[(&str, &str)] = &[(
    "PLANNING_STATE_CACHE_TTL_SECONDS",
    "No cached value can be stale between two commands, so there is no time to live to set.",
)];

fn parse_one_of<T: Copy>(text: &str, known: &[(&str, T)]) -> Result<T, String> {
    known
        .iter()
        .find(|(word, _)| *word == text.trim().to_lowercase())
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let words = known
                .iter()
                .map(|(word, _)| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(", ");
            format!("`{text}` is not allowed: expected one of {words}")
        })
}

/// Refuses a looser mode: an agent that can set a variable must not switch a gate off.
fn set_gate(mode: &mut GateMode, text: &str) -> Result<(), String> {
    let wanted = parse_one_of(
        text,
        &[
            ("block", GateMode::Block),
            ("warn", GateMode::Warn),
            ("off", GateMode::Off),
        ],
    )?;
    if wanted < *mode {
        return Err("the project is stricter; the environment cannot loosen it".to_owned());
    }
    *mode = wanted;
    Ok(())
}

/// Refuses a looser level, for the same reason as [`set_gate`].
fn set_governance(mode: &mut Governance, text: &str) -> Result<(), String> {
    use Governance::{Assisted, Permissive, Strict};
    let wanted = parse_one_of(
        text,
        &[
            ("strict", Strict),
            ("assisted", Assisted),
            ("permissive", Permissive),
        ],
    )?;
    if wanted < *mode {
        return Err("the project is stricter; the environment cannot loosen it".to_owned());
    }
    *mode = wanted;
    Ok(())
}

fn set_number<T: std::str::FromStr>(place: &mut T, text: &str) -> Result<(), String> {
    *place = parse_number(text)?;
    Ok(())
}

fn split_list(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn parse_number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}` is not a number"))
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
            message: with_suggestion(error.message()),
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

/// Blanks comment lines: a generated `config.toml` is mostly comments, and every hook parses it.
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
                parse_number::<u64>(&text).map_err(|message| SettingsProblem {
                    place: (*name).to_owned(),
                    message,
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

    /// Applies every valid variable and returns the problems of the others.
    fn apply_environment(
        &mut self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<SettingsProblem> {
        // Recorded first: a variable set for one command is not a change of the file's policy.
        self.declared = Some(Box::new(TrustPolicy::from_policy(&self.policy)));
        let mut problems = Vec::new();
        // Not sorted like `list_setting_keys`: every hook runs this, and sorting was half its time.
        for key in iter_keys() {
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
