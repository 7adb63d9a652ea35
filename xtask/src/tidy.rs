//! The rules of the repository, checked: crate arrows, module docs, file lengths, the map, fresh pages.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::workspace::{files_below, metadata, relative, root};
use crate::{Outcome, generate, say};

/// Which crate of the workspace may use which. A new crate gets its line here.
const ARROWS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("application", &["domain"]),
    ("store", &["domain"]),
    ("hosts", &["domain"]),
    ("llm", &[]),
    ("server", &["domain", "application"]),
    ("mcp", &["domain", "application", "server"]),
    ("web", &["domain", "application"]),
    (
        "throughline",
        &[
            "domain",
            "application",
            "store",
            "hosts",
            "server",
            "mcp",
            "llm",
            "web",
        ],
    ),
    ("testkit", &["domain", "application"]),
    ("xtask", &[]),
];

/// Only tests may use it.
const FOR_TESTS: &str = "testkit";

/// Longest source file, in lines; a longer one usually holds a second idea.
const MAX_SOURCE_LINES: usize = 820;
/// Tests of one subject stay together: a long list of cases is easier to read than two files of them.
const MAX_TEST_LINES: usize = 1_050;

/// Checks everything and reports all findings at once.
pub(crate) fn tidy() -> Outcome {
    let metadata = metadata()?;
    let mut findings = arrows(&metadata);
    findings.extend(sources());
    findings.extend(the_map());
    findings.extend(generate::stale()?);
    if findings.is_empty() {
        say("tidy: every rule holds");
        return Ok(());
    }
    Err(format!(
        "{} to tidy:\n{}",
        findings.len(),
        findings.join("\n")
    ))
}

fn arrows(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    let own: Vec<String> = packages.iter().map(name).collect();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut findings = Vec::new();
    for package in &packages {
        let package_name = name(package);
        let Some(may_use) = allowed.get(package_name.as_str()) else {
            findings.push(format!(
                "`{package_name}` has no line in xtask/src/tidy.rs: say what it may use"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = name(dependency);
            // Tests may look at more than the product may.
            let in_tests = dependency["kind"].as_str() == Some("dev");
            if in_tests || !own.contains(&used) || may_use.contains(&used.as_str()) {
                continue;
            }
            findings.push(if used == FOR_TESTS {
                format!(
                    "`{package_name}` uses `{used}`, which is for tests: make it a dev-dependency"
                )
            } else {
                format!("`{package_name}` uses `{used}`: that arrow points the wrong way")
            });
        }
    }
    findings
}

fn sources() -> Vec<String> {
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
fn the_map() -> Vec<String> {
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
