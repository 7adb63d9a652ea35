//! Source files and the code map: module docs, file lengths, and the crates named in ARCHITECTURE.md.

use crate::workspace::{files_below, relative, root};

/// Longest source file, in lines; a longer one usually holds a second idea.
const MAX_SOURCE_LINES: usize = 800;
/// Tests of one subject stay together: a long list of cases is easier to read than two files of them.
const MAX_TEST_LINES: usize = 1_050;

/// Checks that every source file has module docs and is not too long.
pub(super) fn check_sources() -> Vec<String> {
    let mut findings = Vec::new();
    let files = ["crates", "xtask"]
        .iter()
        .flat_map(|folder| files_below(&root().join(folder), ".rs"));
    for path in files {
        let shown = relative(&path);
        let Ok(text) = std::fs::read_to_string(&path) else {
            findings.push(format!("{shown} cannot be read"));
            continue;
        };
        if shown.contains("/src/") && !text.starts_with("//!") {
            findings.push(format!(
                "{shown} does not start with `//!`: say what it is for"
            ));
        }
        let lines = text.lines().count();
        let is_test = shown.contains("/tests/") || shown.ends_with("/tests.rs");
        let limit = if is_test {
            MAX_TEST_LINES
        } else {
            MAX_SOURCE_LINES
        };
        if lines > limit {
            findings.push(format!(
                "{shown} has {lines} lines, more than {limit}: look for the second idea in it"
            ));
        }
    }
    findings
}

/// Every crate is named in ARCHITECTURE.md, and every crate named there exists.
pub(super) fn check_code_map() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap_or_default();
    let mut findings = Vec::new();
    for entry in std::fs::read_dir(root().join("crates"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = format!("crates/{}", entry.file_name().display());
        if !text.contains(&format!("`{name}`")) {
            findings.push(format!("`{name}` is not in ARCHITECTURE.md"));
        }
    }
    for named in text.split('`').filter(|word| word.starts_with("crates/")) {
        if !root().join(named).exists() {
            findings.push(format!(
                "ARCHITECTURE.md speaks of `{named}`, which is not there"
            ));
        }
    }
    findings
}
