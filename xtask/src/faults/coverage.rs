//! Coverage: every command of the program is in a scenario or exempt with a reason.
//!
//! The list comes from the program itself (`tl man` writes one page per command), so that a new command cannot be forgotten.

use std::collections::BTreeSet;

use super::lab::Lab;
use super::scenarios::{EXEMPT, Scenario};

/// Fails when a command is in neither list, or a list names a command that does not exist.
pub(crate) fn check(lab: &Lab, scenarios: &[Scenario]) -> Result<(), String> {
    let commands = commands(lab)?;
    let covered: BTreeSet<&str> = scenarios
        .iter()
        .flat_map(|scenario| scenario.covers.iter().copied())
        .collect();
    let exempt: BTreeSet<&str> = EXEMPT.iter().map(|(command, _)| *command).collect();
    let known: BTreeSet<&str> = covered.union(&exempt).copied().collect();
    let mut problems: Vec<String> = Vec::new();
    for command in commands
        .iter()
        .filter(|command| !known.contains(command.as_str()))
    {
        problems.push(format!(
            "`{command}` has no scenario in xtask/src/faults/scenarios and is not in exempt.rs"
        ));
    }
    for name in known.iter().filter(|name| !commands.contains(**name)) {
        problems.push(format!(
            "`{name}` is in the table, and the program has no such command"
        ));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

/// Returns the commands that have no subcommands: `approve`, `doc-new`.
fn commands(lab: &Lab) -> Result<BTreeSet<String>, String> {
    lab.reset()?;
    let pages = lab.scratch("manual");
    let run = lab.tl(&["man", &pages.display().to_string()])?;
    if run.code != Some(0) {
        return Err(format!("`tl man` failed: {}", run.stderr));
    }
    let mut commands = BTreeSet::new();
    for path in crate::workspace::files_below(&pages, ".1") {
        let page = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some(command) = name
            .strip_prefix("tl-")
            .filter(|_| !page.contains(".SH SUBCOMMANDS"))
        {
            commands.insert(command.to_owned());
        }
    }
    Ok(commands)
}
