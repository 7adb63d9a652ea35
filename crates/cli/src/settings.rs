//! Settings resolution: `config.toml`, environment, and the user's choices of database and server.
//!
//! The only module that reads environment variables.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use application::Failure;
use domain::decision::{ALLOWED_SIGNERS_FILE, read_signer_lines};
use domain::documentation::guide_address;
use domain::ids::Principal;
use domain::policy::Policy;
use domain::profile::{self, Profile};
use domain::settings::{DatabaseUrl, ServerAddress, Settings, Storage, parse_config};
use store::{ChosenDatabases, ChosenServers, SigningEnvironment};

use crate::project_file::{CONFIG_FILE, read_config_text};

/// Reads one environment variable; an empty one counts as unset.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub(crate) fn environment_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns all environment variables that are UTF-8, for a model's program and its API keys.
pub(crate) fn all_environment_variables() -> std::collections::BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// What the names of variables that set a setting begin with.
const SETTING_PREFIXES: [&str; 2] = ["THROUGHLINE_", "PLANNING_"];

/// Whether a variable may set a setting.
fn may_set_a_setting(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    SETTING_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix.as_bytes()))
}

/// Loads the settings of the project at `root`.
pub(crate) fn load_settings(root: &Path) -> Result<Settings, Failure> {
    let settings = read_config_file(root)?;
    let settings = settings
        .with_environment(&environment_variable)
        .map_err(|problem| settings_failure(&problem))?;
    apply_server_choice(root, check_setting_paths(settings)?)
}

/// Like [`load`], for a hook: invalid values in the environment are ignored, because a typo in a
/// shell profile must not disable the gates.
pub(crate) fn load_settings_for_hook(root: &Path) -> Result<Settings, Failure> {
    parse_settings_for_hook(root, CONFIG_FILE, &read_config_text(root)?)
}

/// Like [`load_settings_for_hook`], from a text that is in `file`.
pub(crate) fn parse_settings_for_hook(
    root: &Path,
    file: &str,
    text: &str,
) -> Result<Settings, Failure> {
    // Dozens of variables are looked up, and mostly none of them is set. `std::env::var` scans the
    // whole environment each time, and a map of all of it is a tenth of a short hook.
    let set: Vec<(String, String)> = std::env::vars_os()
        .filter(|(name, value)| may_set_a_setting(name) && !value.is_empty())
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let given = |name: &str| {
        let mut known = set.iter();
        known.find_map(|(known, value)| (known == name).then(|| value.clone()))
    };
    apply_server_choice(
        root,
        check_setting_paths(parse_config_text(root, file, text)?.with_valid_environment(&given))?,
    )
}

pub(crate) fn settings_failure(problem: &domain::settings::SettingsProblem) -> Failure {
    Failure::invalid(problem.to_string()).with_step("tl config check")
}

/// Applies the team server, which the environment or the user's choice names, never `config.toml`.
/// If there is one, it holds the state, and the database settings are not used.
fn apply_server_choice(root: &Path, settings: Settings) -> Result<Settings, Failure> {
    let chosen = ChosenServers::in_state_directory(&user_state_directory()?).load_address(root);
    let named = environment_variable("THROUGHLINE_URL");
    let address = match (named, chosen) {
        (None, None) => return apply_database_choice(root, settings),
        (None, Some(chosen)) => chosen,
        (Some(url), chosen) => {
            // The stored token is only sent to the server it was stored for.
            let known = chosen.filter(|chosen| chosen.url() == url.trim().trim_end_matches('/'));
            let token = environment_variable("THROUGHLINE_TOKEN")
                // The variable wins, so that a service can use its own token without touching the
                // user's files.
                .or_else(|| known.map(|known| known.reveal_token().to_owned()));
            parse_server_address(&url, token)?
        }
    };
    Ok(with_server_address(settings, address))
}

/// Returns the settings changed for a state on a server.
pub(crate) fn with_server_address(mut settings: Settings, address: ServerAddress) -> Settings {
    settings.storage = Storage::Remote;
    settings.server.address = Some(address);
    settings
}

/// Parses a server URL and combines it with the token.
pub(crate) fn parse_server_address(
    url: &str,
    token: Option<String>,
) -> Result<ServerAddress, Failure> {
    let token = token.ok_or_else(|| {
        Failure::invalid("the server's token is not known")
            .with_step("export THROUGHLINE_TOKEN=…")
            .with_step("tl team join URL --token-file FILE")
    })?;
    ServerAddress::new(url, &token).map_err(Failure::invalid)
}

/// Loads the settings as if no server were chosen.
pub(crate) fn load_settings_without_server(root: &Path) -> Result<Settings, Failure> {
    check_setting_paths(
        read_config_file(root)?
            .with_environment(&environment_variable)
            .map_err(|problem| settings_failure(&problem))?,
    )
}

/// Returns the server that this user chose for a project.
pub(crate) fn find_chosen_server(root: &Path) -> Option<ServerAddress> {
    ChosenServers::in_state_directory(&user_state_directory().ok()?).load_address(root)
}

/// Stores this user's choice of server for a project; returns whether there was one before.
pub(crate) fn store_server_choice(
    root: &Path,
    address: Option<&ServerAddress>,
) -> Result<bool, Failure> {
    let directory = user_state_directory()?;
    ChosenServers::in_state_directory(&directory)
        .set_address(root, address)
        .map_err(|error| {
            Failure::unavailable(format!(
                "cannot write in `{}`: {error}",
                directory.display()
            ))
        })
}

/// Applies the shared database, which the environment or this user's choice names. The one in
/// `config.toml` only counts once it was chosen: a cloned repository must not make a command
/// connect to a server of its own choice.
fn apply_database_choice(root: &Path, mut settings: Settings) -> Result<Settings, Failure> {
    if settings.storage != Storage::Postgres {
        return Ok(settings);
    }
    // It is applied to the settings already, with the other variables.
    if environment_variable("THROUGHLINE_DATABASE_URL").is_some() {
        return Ok(settings);
    }
    if let Some(chosen) =
        ChosenDatabases::in_state_directory(&user_state_directory()?).load_url(root)
    {
        settings.database_url = chosen;
        return Ok(settings);
    }
    let refuse = |what: String| Failure::unavailable(what);
    Err(match settings.database_url.is_set() {
        true => refuse(format!(
            ".throughline/config.toml names the database {}, which this user has not chosen",
            settings.database_url
        ))
        .with_step("tl state adopt     # use it; a person has to decide this")
        .with_step("export THROUGHLINE_DATABASE_URL=postgres://…   # use another one"),
        false => refuse("the state is in a shared database, but no database URL is set".to_owned())
            .with_step("export THROUGHLINE_DATABASE_URL=postgres://USER:PASSWORD@HOST/DATABASE"),
    })
}

/// Stores the database in `config.toml` as this user's choice, unless the environment names one.
pub(crate) fn store_named_database_choice(root: &Path) -> Result<(), Failure> {
    let settings = read_config_file(root)?;
    // `tl state adopt` is the person's decision that makes the URL of a cloned file usable.
    let by_file = settings.storage == Storage::Postgres
        && environment_variable("THROUGHLINE_DATABASE_URL").is_none();
    match by_file && settings.database_url.is_set() {
        true => store_database_choice(root, Some(&settings.database_url)),
        false => Ok(()),
    }
}

/// Stores this user's choice of database for a project.
pub(crate) fn store_database_choice(root: &Path, url: Option<&DatabaseUrl>) -> Result<(), Failure> {
    let directory = user_state_directory()?;
    ChosenDatabases::in_state_directory(&directory)
        .set_url(root, url)
        .map_err(|error| {
            Failure::unavailable(format!(
                "cannot write in `{}`: {error}",
                directory.display()
            ))
        })
}

/// Parses `config.toml`; a missing file means default settings.
pub(crate) fn read_config_file(root: &Path) -> Result<Settings, Failure> {
    parse_config_text(root, CONFIG_FILE, &read_config_text(root)?)
}

fn parse_config_text(root: &Path, file: &str, text: &str) -> Result<Settings, Failure> {
    let mut settings = parse_config(file, text).map_err(|problem| settings_failure(&problem))?;
    settings.policy.signers = read_allowed_signers(root);
    Ok(settings)
}

/// Reads the lines of `allowed_signers`. One that cannot be read lists nobody: then no signature
/// counts.
fn read_allowed_signers(root: &Path) -> BTreeSet<String> {
    // Not through a link: the lines are shown to the user and the agent.
    store::private_files::read_own_file(&root.join(ALLOWED_SIGNERS_FILE))
        .map(|text| read_signer_lines(&text))
        .unwrap_or_default()
}

/// Returns what the environment says about the user's SSH keys.
pub(crate) fn signing_environment() -> SigningEnvironment {
    SigningEnvironment {
        signing_key: environment_variable("THROUGHLINE_SIGNING_KEY"),
        agent_socket: environment_variable("SSH_AUTH_SOCK").map(PathBuf::from),
        home: environment_variable("HOME").map(PathBuf::from),
    }
}

/// Rejects settings with paths outside of the project.
pub(crate) fn check_setting_paths(settings: Settings) -> Result<Settings, Failure> {
    // Checked after the environment was applied, because variables can set these paths too.
    for path in [
        &settings.database,
        &settings.log_file,
        &settings.mirror.directory,
    ] {
        check_inside_project(path)?;
    }
    Ok(settings)
}

/// Rejects absolute paths and `..`: configuration comes with a repository, and a cloned one must
/// not make us write elsewhere.
fn check_inside_project(path: &str) -> Result<(), Failure> {
    let relative = Path::new(path);
    // By components, without touching the disk: the path need not exist yet. `Normal` alone
    // excludes a root, a drive prefix, `.` and `..`.
    let inside = relative
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if inside && !path.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "`{path}` is outside the project: expected a relative path without `..`"
    )))
}

/// The folder of a project's own profiles.
pub(crate) const PROFILES_FOLDER: &str = ".throughline/profiles";

/// Loads the project's profiles: built in, or from `.throughline/profiles/NAME.toml`.
pub(crate) fn load_project_profiles(
    root: &Path,
    settings: &Settings,
) -> Result<Vec<Profile>, Failure> {
    load_profiles_from(settings, |name| {
        load_named_profile(root, PROFILES_FOLDER, name)
    })
}

/// Loads the profiles that the settings name, each by `load`.
pub(crate) fn load_profiles_from(
    settings: &Settings,
    load: impl Fn(&str) -> Result<Profile, Failure>,
) -> Result<Vec<Profile>, Failure> {
    check_inside_project(&settings.tickets_folder)?;
    settings
        .profiles
        .iter()
        .map(|name| Ok(load(name)?.with_tickets_folder(&settings.tickets_folder)))
        .collect()
}

/// Loads a profile from a folder of the project, or a built-in one.
pub(crate) fn load_named_profile(
    root: &Path,
    folder: &str,
    name: &str,
) -> Result<Profile, Failure> {
    let invalid = |message: String| Failure::invalid(message);
    // The name becomes part of a path.
    if !name
        .chars()
        .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    {
        return Err(invalid(format!(
            "`{name}` is not a profile name: expected letters, digits, `-` and `_`"
        )));
    }
    let shown = format!("{folder}/{name}.toml");
    match store::private_files::read_own_file(&root.join(&shown)) {
        Ok(text) => {
            let profile = profile::parse_profile(&shown, &text).map_err(|problem| {
                invalid(problem.to_string())
                    .with_step(format!("see {}", guide_address("custom-profiles")))
            })?;
            if profile.name != name {
                return Err(invalid(format!(
                    "{shown}: the profile's name is `{}`; it must match the file name",
                    profile.name
                )));
            }
            Ok(profile)
        }
        // A file wins over the built-in profile of the same name, so that it can be adapted.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            profile::built_in_profile(name).ok_or_else(|| {
                let known: Vec<&str> = profile::BUILT_IN_PROFILES
                    .iter()
                    .map(|(name, _)| *name)
                    .collect();
                // Only built-in names: a misspelt name of an own profile would need a directory
                // listing.
                let near = domain::suggest::nearest_words(name, known.iter().copied(), 1);
                let hint = near
                    .first()
                    .map(|near| format!("; did you mean `{near}`?"))
                    .unwrap_or_default();
                invalid(format!(
                    "no profile `{name}`: built in are {}{hint}",
                    known.join(", ")
                ))
                .with_step(format!("write {shown}"))
            })
        }
        Err(error) => Err(invalid(format!("cannot read {shown}: {error}"))),
    }
}

/// Reads one line from the terminal; returns whether it is `y` or `yes`.
pub(crate) fn read_yes_or_no() -> bool {
    let mut answer = String::new();
    // An error and a closed input leave the answer empty, which is a no.
    let _ = std::io::stdin().read_line(&mut answer);
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Returns the effective principal, from the one the server authenticated and the local one.
///
/// A person's token acts as that person, also in a script. Agents of that person (a known host, or
/// a caller that names a session) act in their own name, which has fewer rights. Where only people
/// may approve, a script is not enough: a person has to be at the terminal. An agent's token acts
/// as that agent, in the session of the local host.
pub(crate) fn effective_principal(
    told: Option<Principal>,
    here: Principal,
    policy: &Policy,
) -> Principal {
    let is_script = |host: &str, session: &str| {
        host == "shell" && session == "unknown" && !policy.approval.requires_person()
    };
    match (told, here) {
        (None | Some(Principal::System), here) => here,
        (Some(person @ Principal::Human(_)), Principal::Human(_)) => person,
        (Some(person @ Principal::Human(_)), Principal::Agent { host, session })
            if is_script(&host, &session) =>
        {
            person
        }
        // An agent of the token's owner keeps its own name: its approvals must not count as a
        // person's.
        (Some(Principal::Human(_)), here) => here,
        (Some(Principal::Agent { host, .. }), Principal::Agent { session, .. })
            if session != "unknown" =>
        {
            Principal::Agent { host, session }
        }
        (Some(agent @ Principal::Agent { .. }), _) => agent,
    }
}

/// Whether stdin and stderr are a terminal, so that a person can read and answer.
pub(crate) fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether input and output are a terminal that a program may draw on.
pub(crate) fn is_at_interactive_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Returns the name of the local user.
pub(crate) fn local_user_name() -> String {
    ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|name| environment_variable(name))
        // A server started by the system has no such variable.
        .unwrap_or_else(store::account_name)
}

/// Returns the user's state directory, which records the stores this user trusts.
pub(crate) fn user_state_directory() -> Result<PathBuf, Failure> {
    let below = |name: &str, rest: &str| {
        environment_variable(name).map(|directory| PathBuf::from(directory).join(rest))
    };
    environment_variable("THROUGHLINE_HOME")
        .map(PathBuf::from)
        .or_else(|| below("XDG_STATE_HOME", "throughline"))
        .or_else(|| below("HOME", ".local/state/throughline"))
        // A relative one would give every directory a trust store of its own, which an agent could
        // choose by changing its directory.
        .filter(|directory| directory.is_absolute())
        .ok_or_else(|| {
            Failure::unavailable("there is no home directory to store trusted projects in")
                .with_step("set THROUGHLINE_HOME to an absolute path")
        })
}

#[cfg(test)]
mod tests {
    use domain::policy::ApprovalPolicy;

    use super::*;

    #[test]
    fn variables_of_all_settings_have_a_known_prefix() {
        for key in domain::settings::setting_keys() {
            for name in key.environment {
                assert!(may_set_a_setting(OsStr::new(name)), "{name}");
            }
        }
    }

    #[test]
    fn a_token_says_in_whose_name_somebody_acts() {
        let human = Policy {
            approval: ApprovalPolicy::Human,
            ..Policy::default()
        };
        for (told, here, policy, expected) in [
            ("human:anna", "human:a", &Policy::default(), "human:anna"),
            (
                "human:anna",
                "agent:shell/unknown",
                &Policy::default(),
                "human:anna",
            ),
            (
                "human:anna",
                "agent:shell/unknown",
                &human,
                "agent:shell/unknown",
            ),
            ("human:anna", "human:a", &human, "human:anna"),
            (
                "human:anna",
                "agent:shell/s1",
                &Policy::default(),
                "agent:shell/s1",
            ),
            (
                "human:anna",
                "agent:claude-code/unknown",
                &Policy::default(),
                "agent:claude-code/unknown",
            ),
            (
                "agent:ci/1",
                "agent:claude-code/s1",
                &Policy::default(),
                "agent:ci/s1",
            ),
            (
                "agent:ci/1",
                "agent:shell/unknown",
                &Policy::default(),
                "agent:ci/1",
            ),
            ("agent:ci/1", "human:a", &Policy::default(), "agent:ci/1"),
        ] {
            assert_eq!(
                effective_principal(Some(told.into()), here.into(), policy),
                expected.into(),
                "{told} {here}"
            );
        }
        assert_eq!(
            effective_principal(None, "human:a".into(), &human),
            "human:a".into()
        );
    }
}
