//! The repository's own ignore rules, `info/exclude`: they hold on every branch, also where a tracked `.gitignore` is
//! not checked out.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};

use domain::ports::StoreFault;

use super::git_fault;
use super::repository_paths::RepositoryPaths;

/// Adds the rules of a folder's `.gitignore`, unless they are there.
pub(super) fn add_rules(
    place: &RepositoryPaths,
    folder: &str,
    rules: &str,
) -> Result<bool, StoreFault> {
    let path = place.common.join("info/exclude");
    let fault = |error| git_fault(format!("cannot write `{}`", path.display()), error);
    let known = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fault(error)),
    };
    let above = escape_pattern(&place.prefix.join(folder).to_string_lossy());
    let mut added = String::new();
    for line in rules.lines() {
        added.push_str(&anchor_rule(&above, line));
        added.push('\n');
    }
    if known.contains(&added) {
        return Ok(false);
    }
    if !known.is_empty() && !known.ends_with('\n') {
        added.insert(0, '\n');
    }
    std::fs::create_dir_all(place.common.join("info")).map_err(fault)?;
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .map_err(fault)?;
    // One write: two commands at once do not mix their lines.
    file.write_all(added.as_bytes()).map_err(fault)?;
    Ok(true)
}

/// Returns a rule of a folder as one of the top of the working tree.
fn anchor_rule(above: &str, rule: &str) -> String {
    let (negation, pattern) = match rule.strip_prefix('!') {
        Some(pattern) => ("!", pattern),
        None => ("", rule),
    };
    match pattern.strip_prefix('/') {
        Some(rest) => format!("{negation}/{above}/{rest}"),
        None if pattern.is_empty() || pattern.starts_with('#') => rule.to_owned(),
        None => format!("{negation}/{above}/**/{pattern}"),
    }
}

/// Escapes what has a meaning in a pattern.
fn escape_pattern(path: &str) -> String {
    let mut escaped = String::new();
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | '\\' | ' ') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_a_folder_are_anchored_at_the_top() {
        let above = escape_pattern("my [old] app/.throughline");
        let rules = ["# ours", "/*", "!/decisions/", ".tl-*"].map(|rule| anchor_rule(&above, rule));
        assert_eq!(
            rules,
            [
                "# ours",
                "/my\\ \\[old]\\ app/.throughline/*",
                "!/my\\ \\[old]\\ app/.throughline/decisions/",
                "/my\\ \\[old]\\ app/.throughline/**/.tl-*",
            ]
        );
    }
}
