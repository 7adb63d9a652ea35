//! Freshness of the lists in `crates/cli` with the link order of the functions that hooks run.
//!
//! A name that no longer exists is ignored by the linker, so the file decays silently with every
//! rename and hooks get slower by page faults. Only our own functions are checked, by the last
//! identifier of the symbol: paths of generic code differ between compilers.

use std::collections::BTreeSet;

use crate::workspace::{files_below, root};

/// Share of our own names that may be missing before the file has to be regenerated, in percent.
const MAX_MISSING_PERCENT: usize = 10;

/// Crates of ours that run in hooks, as symbols spell them.
const OWN_CRATES: [&str; 5] = ["application", "domain", "hosts", "store", "tl"];

/// The lists, each with the command that writes it.
const LISTS: [(&str, &str); 2] = [
    ("crates/cli/hook-path.txt", "cargo xtask order --release"),
    ("crates/cli/hook-path-dist.txt", "cargo xtask order"),
];

/// Reports lists that name too many functions that are gone.
pub(super) fn check_hook_path() -> Vec<String> {
    let declared = declared_functions();
    LISTS
        .iter()
        .filter_map(|(path, command)| check_list(path, command, &declared))
        .collect()
}

fn check_list(path: &str, command: &str, declared: &BTreeSet<String>) -> Option<String> {
    let Ok(list) = std::fs::read_to_string(root().join(path)) else {
        return Some(format!("{path} cannot be read; next: {command}"));
    };
    // Hashes of generic functions follow the name.
    let names = list.lines().filter_map(|line| line.split(' ').next());
    let own: Vec<&str> = names.filter_map(own_function).collect();
    let missing = own.iter().filter(|name| !declared.contains(**name)).count();
    (missing * 100 > own.len() * MAX_MISSING_PERCENT).then(|| {
        format!(
            "{path} is stale: {missing} of {} functions of ours are gone; next: {command}",
            own.len()
        )
    })
}

/// Returns the names of all functions in the sources of the crates.
fn declared_functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files_below(&root().join("crates"), ".rs") {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        for rest in text.split("fn ").skip(1) {
            let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
            names.insert(rest.chars().take_while(is_word).collect());
        }
    }
    names
}

/// Returns the function a mangled name stands for, if it is one of ours: `_ZN5store4open4open17h*`.
fn own_function(symbol: &str) -> Option<&str> {
    let mut rest = symbol.strip_prefix("_ZN")?;
    let mut parts = Vec::new();
    while let Some(digits) = rest
        .find(|c: char| !c.is_ascii_digit())
        .filter(|at| *at > 0)
    {
        let length: usize = rest.get(..digits)?.parse().ok()?;
        // The last part is the hash, which the list abbreviates with a star.
        let Some(part) = rest.get(digits..digits + length) else {
            break;
        };
        parts.push(part);
        rest = rest.get(digits + length..)?;
    }
    if !OWN_CRATES.contains(parts.first()?) {
        return None;
    }
    // Closures and generated code have names in `$`; the function they are in comes before them.
    parts
        .into_iter()
        .skip(1)
        .rev()
        .find(|part| !part.contains(['$', '.']) && !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_of_a_symbol_is_found_through_closures() {
        assert_eq!(
            own_function("_ZN5store4open11open_engine17h*"),
            Some("open_engine")
        );
        let closure = "_ZN2tl3run28_$u7b$$u7b$closure$u7d$$u7d$17h*";
        assert_eq!(own_function(closure), Some("run"));
        assert_eq!(own_function("_ZN4core3fmt5write17h*"), None);
        assert_eq!(own_function("sqlite3_step"), None);
    }

    #[test]
    fn functions_of_the_sources_are_known() {
        let declared = declared_functions();
        assert!(declared.contains("main") && !declared.contains("no_such_function_here"));
    }
}
