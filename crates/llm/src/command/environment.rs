//! What a program gets of the caller's environment.

use std::collections::BTreeMap;

/// Set for every program: the hooks of this product stay quiet under it, so that a model they call does not call them.
pub const RECURSION_GUARD: (&str, &str) = ("THROUGHLINE_HOOKS", "off");

/// What programs need to find themselves, their login, their words and the network. No key is among it, and nothing that
/// tells an agent it runs inside another one: some refuse to.
const HARMLESS: &[&str] = &[
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

/// Returns the harmless variables and those the provider's data names.
pub(super) fn harmless(
    environment: &BTreeMap<String, String>,
    kept: &[String],
) -> BTreeMap<String, String> {
    let keep = |name: &str| {
        HARMLESS.contains(&name) || name.starts_with("LC_") || kept.iter().any(|kept| kept == name)
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
            harmless(&given, &kept).into_keys().collect()
        };
        assert_eq!(names(&[]), ["LC_ALL", "PATH"]);
        assert_eq!(
            names(&["OPENAI_API_KEY", "ABSENT"]),
            ["LC_ALL", "OPENAI_API_KEY", "PATH"]
        );
    }
}
