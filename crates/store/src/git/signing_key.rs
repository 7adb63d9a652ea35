//! The key git signs with: `user.signingkey`, where `gpg.format` is `ssh`.

use std::path::Path;

use super::process::{read_to_text, run_git};
use super::repository_paths::RepositoryPaths;

/// Returns git's signing key; `None` if there is none, or it is not an SSH key.
///
/// The configuration of a repository is not part of what a clone brings.
pub(crate) fn read_signing_key_setting(root: &Path) -> Option<String> {
    let place = RepositoryPaths::find_repository(root).ok()??;
    let arguments = [
        "config",
        "--get-regexp",
        r"^(gpg\.format|user\.signingkey)$",
    ];
    let output = run_git(&place, &arguments, read_to_text).ok()?;
    parse_signing_key(&output.said)
}

fn parse_signing_key(settings: &str) -> Option<String> {
    // The last value of a key counts, as everywhere in git.
    let value = |name: &str| {
        let found = settings.lines().filter_map(|line| line.split_once(' '));
        found
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value.trim().to_owned())
            .next_back()
    };
    (value("gpg.format")? == "ssh")
        .then(|| value("user.signingkey"))
        .flatten()
        .filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::parse_signing_key;

    #[test]
    fn only_a_key_of_the_ssh_format_counts_and_the_last_one_wins() {
        let settings = "gpg.format ssh\nuser.signingkey ~/.ssh/a.pub\nuser.signingkey /keys/b c\n";
        assert_eq!(parse_signing_key(settings).as_deref(), Some("/keys/b c"));
        assert_eq!(parse_signing_key("user.signingkey 0xABCD\n"), None);
        assert_eq!(
            parse_signing_key("gpg.format openpgp\nuser.signingkey A\n"),
            None
        );
        assert_eq!(parse_signing_key("gpg.format ssh\n"), None);
    }
}
