//! Workflows of continuous integration: every script of the repository that they run exists, every lane
//! of `./test` is one it knows, and no tab is in their YAML.
//!
//! Their schema is checked by `./test --packages`, which installs a validator.

use crate::workspace::{files_below, relative, root};

/// The files in the formats of GitHub and pre-commit.
pub(crate) const WORKFLOW_FOLDER: &str = ".github/workflows";
pub(crate) const ACTION_FILE: &str = "action.yml";

pub(super) fn check_workflows() -> Vec<String> {
    let lanes = std::fs::read_to_string(root().join("test")).unwrap_or_default();
    let mut files = files_below(&root().join(WORKFLOW_FOLDER), ".yml");
    files.push(root().join(ACTION_FILE));
    let mut findings = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else {
            findings.push(format!("{} cannot be read", relative(&file)));
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            let exists = |path: &str| root().join(path).is_file();
            findings.extend(
                find_problem(line, &lanes, &exists)
                    .map(|problem| format!("{}:{}: {problem}", relative(&file), number + 1)),
            );
        }
    }
    findings
}

/// Returns what is wrong with a line of a workflow.
fn find_problem(line: &str, lanes: &str, exists: &dyn Fn(&str) -> bool) -> Option<String> {
    if line.contains('\t') {
        return Some("a tab in YAML".to_owned());
    }
    let command = line.trim_start().trim_start_matches("- ");
    let command = command.strip_prefix("run: ").unwrap_or(command);
    let mut words = command.split_whitespace();
    let program = words.next()?;
    let is_script = program.starts_with("./") || program.starts_with(".ci/");
    let path = program.trim_start_matches("./");
    if !is_script {
        return None;
    }
    if !exists(path) {
        return Some(format!("`{path}` does not exist"));
    }
    let lane = words
        .next()
        .filter(|word| path == "test" && word.starts_with("--"))?;
    (!lanes.contains(lane)).then(|| format!("`./test` has no lane {lane}"))
}

#[cfg(test)]
mod tests {
    use super::find_problem;

    #[test]
    fn missing_scripts_and_unknown_lanes_are_found() {
        let exists = |path: &str| path == "test" || path == ".ci/run";
        let problem = |line: &str| find_problem(line, "--packages | --docs", &exists);
        assert_eq!(problem("      - run: .ci/run"), None);
        assert_eq!(problem("      - run: ./test --packages"), None);
        assert_eq!(problem("      - run: cargo build"), None);
        assert!(problem("      - run: .ci/gone").is_some());
        assert!(problem("      - run: ./test --nothing").is_some());
        assert!(problem("\t- run: x").is_some());
    }
}
