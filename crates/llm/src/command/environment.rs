//! Environment allowlist for programs that are run as models.

use std::collections::BTreeMap;

/// Set for every program: disables this product's hooks, so that a model called by them does not
/// call them again.
pub const RECURSION_GUARD: (&str, &str) = ("THROUGHLINE_HOOKS", "off");

/// Variables programs need to find their files, login, locale and network. No keys, and nothing
/// that tells an agent that it runs inside another one, because some refuse to start then.
const ALLOWED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TEMP",
    "TMP",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "NO_COLOR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    // Windows.
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "SYSTEMROOT",
    "SystemRoot",
    "COMSPEC",
    "PATHEXT",
    "ProgramData",
];

/// Returns the allowed variables and those named in the provider's data.
pub(super) fn filter_allowed_environment(
    environment: &BTreeMap<String, String>,
    kept: &[String],
) -> BTreeMap<String, String> {
    let keep = |name: &str| {
        // An allowlist: new key variables appear with every provider, and a denylist would miss
        // them.
        ALLOWED_VARIABLES.contains(&name)
            || name.starts_with("LC_")
            || kept.iter().any(|kept| kept == name)
    };
    environment
        .iter()
        .filter(|(name, _)| keep(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_harmless_or_asked_for_gets_through() {
        let given = [
            "PATH",
            "LC_ALL",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "CLAUDECODE",
            "CLAUDE_CODE_ENTRYPOINT",
            "MINE",
        ];
        let given = given
            .iter()
            .map(|name| ((*name).to_owned(), "x".to_owned()))
            .collect();
        let names = |kept: &[&str]| -> Vec<String> {
            let kept: Vec<String> = kept.iter().map(|name| (*name).to_owned()).collect();
            filter_allowed_environment(&given, &kept)
                .into_keys()
                .collect()
        };
        assert_eq!(names(&[]), ["LC_ALL", "PATH"]);
        assert_eq!(
            names(&["OPENAI_API_KEY", "ABSENT"]),
            ["LC_ALL", "OPENAI_API_KEY", "PATH"]
        );
    }
}
