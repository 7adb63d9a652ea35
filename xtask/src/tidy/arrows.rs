//! Crate arrows: which crate of the workspace may depend on which.

use std::collections::BTreeMap;

use serde_json::Value;

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

/// Compares the dependencies of the workspace's packages with `ARROWS`.
pub(super) fn check_arrows(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    // The directories' names are used in the code and in this list.
    let name = |package: &Value| {
        let name = package["name"].as_str().unwrap_or_default();
        name.strip_prefix("throughline-").unwrap_or(name).to_owned()
    };
    let own: Vec<String> = packages.iter().map(name).collect();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut findings = Vec::new();
    for package in &packages {
        let package_name = name(package);
        let Some(may_use) = allowed.get(package_name.as_str()) else {
            findings.push(format!(
                "`{package_name}` has no line in xtask/src/tidy/arrows.rs: say what it may use"
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
