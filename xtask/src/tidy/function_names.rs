//! Share of functions with a one-word name per crate, which may only fall.
//!
//! One word (`told`, `kept`) rarely says what a function does; a verb with its object does. Well-known methods (`new`, `len`) count too: a list of
//! exceptions would be argued about, and the share is compared with the crate's own. Not counted are tests, whose names are sentences, and
//! implementations of traits, whose names the trait chose. A scan of the formatted text is enough; nothing is parsed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use regex::Regex;

use crate::workspace::{files_below, relative, root};
use crate::{Outcome, say};

/// The recorded shares, relative to the repository.
const RECORD_FILE: &str = "xtask/one-word-names.txt";

const RECORD_HEADER: &str = "\
# Functions with a one-word name, in percent of a crate's functions without tests: the present share may not be higher.
# Written by `cargo xtask tidy --record-names`.
";

/// Compares the present shares with the recorded ones.
pub(super) fn check_function_names() -> Vec<String> {
    let text = match std::fs::read_to_string(root().join(RECORD_FILE)) {
        Ok(text) => text,
        Err(error) => return vec![format!("{RECORD_FILE} cannot be read: {error}")],
    };
    match parse_record(&text) {
        Ok(recorded) => compare(&measure_crates(), &recorded),
        Err(error) => vec![format!("{RECORD_FILE}: {error}")],
    }
}

/// Writes the present shares.
///
/// # Errors
/// When the file cannot be written.
#[expect(
    clippy::disallowed_methods,
    reason = "a file of this repository, under version control"
)]
pub(crate) fn record_function_names() -> Outcome {
    let measured = measure_crates();
    let mut text = RECORD_HEADER.to_owned();
    for (name, count) in &measured {
        // Rounded up, so that the state that was recorded passes.
        let percent = (count.percent() * 10.0).ceil() / 10.0;
        let _ = writeln!(text, "{name} {percent:.1}");
    }
    std::fs::write(root().join(RECORD_FILE), text)
        .map_err(|error| format!("cannot write {RECORD_FILE}: {error}"))?;
    say(&format!(
        "recorded {} crates in {RECORD_FILE}",
        measured.len()
    ));
    Ok(())
}

/// Functions of one crate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct NameCount {
    functions: u32,
    one_word: u32,
}

impl NameCount {
    fn percent(self) -> f64 {
        if self.functions == 0 {
            return 0.0;
        }
        f64::from(self.one_word) * 100.0 / f64::from(self.functions)
    }

    fn add(&mut self, other: Self) {
        self.functions += other.functions;
        self.one_word += other.one_word;
    }
}

fn measure_crates() -> BTreeMap<String, NameCount> {
    let mut measured = BTreeMap::new();
    let crates = std::fs::read_dir(root().join("crates"));
    for entry in crates.into_iter().flatten().flatten() {
        let name = entry.file_name().display().to_string();
        measured.insert(name, measure_crate(&entry.path()));
    }
    measured.insert("xtask".to_owned(), measure_crate(&root().join("xtask")));
    // A folder without sources is not a crate, only what an editor or a checkout left behind.
    measured.retain(|_, count| count.functions > 0);
    measured
}

fn measure_crate(directory: &Path) -> NameCount {
    let mut count = NameCount::default();
    for path in files_below(&directory.join("src"), ".rs") {
        let name = relative(&path);
        if name.ends_with("/tests.rs") || name.contains("/tests/") {
            continue;
        }
        count.add(count_names(
            &std::fs::read_to_string(&path).unwrap_or_default(),
        ));
    }
    count
}

/// Counts the functions of one source, up to its test module.
fn count_names(source: &str) -> NameCount {
    let function =
        Regex::new(r"(?m)^[^/\n]*\bfn ([a-z0-9_]+)\s*[(<]").expect("BUG: a valid pattern");
    let test_module = Regex::new(r"(?m)^#\[cfg\(test\)\]\s*(?:#\[.*\]\s*)*mod \w+ \{")
        .expect("BUG: a valid pattern");
    // rustfmt puts the closing brace of an item at the start of a line, and nothing else of it.
    let trait_implementation = Regex::new(r"(?ms)^(?:unsafe )?impl\b[^{;]*? for [^{]*\{.*?^\}")
        .expect("BUG: a valid pattern");
    let end = test_module
        .find(source)
        .map_or(source.len(), |found| found.start());
    let own = trait_implementation.replace_all(source.get(..end).unwrap_or(source), "");
    let mut count = NameCount::default();
    for captures in function.captures_iter(&own) {
        count.functions += 1;
        // `_one` is one word too.
        if !captures[1].trim_matches('_').contains('_') {
            count.one_word += 1;
        }
    }
    count
}

fn parse_record(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let mut recorded = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let entry = line
            .split_once(' ')
            .and_then(|(name, percent)| Some((name, percent.trim().parse().ok()?)));
        let (name, percent) = entry
            .ok_or_else(|| format!("line {}: expected a crate and a percentage", index + 1))?;
        recorded.insert(name.to_owned(), percent);
    }
    Ok(recorded)
}

fn compare(
    measured: &BTreeMap<String, NameCount>,
    recorded: &BTreeMap<String, f64>,
) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, count) in measured {
        match recorded.get(name) {
            None => findings.push(format!(
                "`{name}` is not in {RECORD_FILE}: run `cargo xtask tidy --record-names`"
            )),
            Some(limit) if count.percent() > *limit => findings.push(format!(
                "`{name}`: {:.1} % of its {} functions have a one-word name, recorded are {limit:.1} %: name new ones with a verb and its object",
                count.percent(),
                count.functions
            )),
            Some(_) => {}
        }
    }
    for name in recorded.keys().filter(|name| !measured.contains_key(*name)) {
        findings.push(format!(
            "{RECORD_FILE} names `{name}`, which does not exist"
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(functions: u32, one_word: u32) -> NameCount {
        NameCount {
            functions,
            one_word,
        }
    }

    #[test]
    fn functions_are_counted_without_comments_trait_methods_and_tests() {
        let source = "\
pub(crate) fn open_store() {}
impl A {
    pub const fn new() -> Self { A }
    fn _kept<T>(value: T) {}
}
impl Iterator for A
where
    A: Sized,
{
    fn next(&mut self) -> Option<u8> {
        if true {}
        None
    }
}
fn close_store() {}
/// Not a fn told(): a comment.
type Callback = fn(u8);

#[cfg(test)]
mod tests {
    fn one() {}
}
";
        assert_eq!(count_names(source), count(4, 2));
    }

    #[test]
    fn a_higher_share_than_the_recorded_one_is_a_finding() {
        let recorded = parse_record("# comment\nstore 50.0\n").unwrap();
        let at_limit = BTreeMap::from([("store".to_owned(), count(4, 2))]);
        assert_eq!(compare(&at_limit, &recorded), Vec::<String>::new());
        let above = BTreeMap::from([("store".to_owned(), count(4, 3))]);
        assert_eq!(
            compare(&above, &recorded),
            [
                "`store`: 75.0 % of its 4 functions have a one-word name, recorded are 50.0 %: name new ones with a verb and its object"
            ]
        );
    }

    #[test]
    fn a_crate_without_a_record_and_a_record_without_a_crate_are_findings() {
        let recorded = parse_record("store 50.0\n").unwrap();
        let measured = BTreeMap::from([("web".to_owned(), count(1, 0))]);
        assert_eq!(
            compare(&measured, &recorded),
            [
                "`web` is not in xtask/one-word-names.txt: run `cargo xtask tidy --record-names`",
                "xtask/one-word-names.txt names `store`, which does not exist"
            ]
        );
    }

    #[test]
    fn a_line_without_a_percentage_is_an_error() {
        assert_eq!(
            parse_record("store many\n").err().as_deref(),
            Some("line 1: expected a crate and a percentage")
        );
    }

    #[test]
    fn crates_of_this_repository_are_measured() {
        let measured = measure_crates();
        assert!(measured["domain"].functions > 100);
        assert!(measured["xtask"].one_word > 0);
    }
}
