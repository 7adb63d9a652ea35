//! Reader of test reports: JUnit XML, TAP, JSON lines (libtest, nextest, `go test -json`) and the plain
//! output of common runners.
//!
//! Only names and outcomes are read. A line that is not recognised is skipped: output of the tests
//! themselves is in between.

/// The outcome of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestOutcome {
    Passed,
    Failed,
    Skipped,
}

/// One test of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    pub name: String,
    pub outcome: TestOutcome,
}

/// Reads the tests of a report or of a command's output, in any of the known formats.
#[must_use]
pub fn parse_test_report(text: &str) -> Vec<TestResult> {
    // JUnit first: its quoted output may contain lines of any other format.
    if text.contains("<testcase") {
        return parse_junit(text);
    }
    let mut results: Vec<TestResult> = Vec::new();
    for line in text.lines() {
        if line.starts_with("{\"version\"") {
            results.extend(parse_rspec_document(line));
            continue;
        }
        let Some(result) = parse_line(line) else {
            continue;
        };
        // A test that passed on a retry passed, as nextest itself counts it.
        if result.outcome == TestOutcome::Passed && is_retry_line(line) {
            results.retain(|earlier| earlier.name != result.name);
        }
        results.push(result);
    }
    results
}

/// Whether nextest reports another attempt at a test: `TRY 2 PASS [` or `FLAKY 2/3 [`.
fn is_retry_line(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("TRY ") || line.starts_with("FLAKY ")
}

/// Returns the outcome of the test with this name; `None` if the report has none. Of several that
/// match, the worst counts.
///
/// The name may be a title (`An unknown code is refused`), a function or the end of a path.
#[must_use]
pub fn find_test_outcome(results: &[TestResult], test: &str) -> Option<TestOutcome> {
    let wanted = normalise_name(test);
    if wanted.is_empty() {
        return None;
    }
    // With a separator, so that `refused` is not found in `is_unrefused`.
    let suffix = format!("_{wanted}");
    let is_same = |result: &&TestResult| {
        let name = normalise_name(&result.name);
        name == wanted || name.ends_with(&suffix)
    };
    let found: Vec<TestOutcome> = results
        .iter()
        .filter(is_same)
        .map(|result| result.outcome)
        .collect();
    // A skipped namesake (another platform, another feature) does not take a pass away.
    let has = |outcome: TestOutcome| found.contains(&outcome).then_some(outcome);
    has(TestOutcome::Failed)
        .or_else(|| has(TestOutcome::Passed))
        .or_else(|| has(TestOutcome::Skipped))
}

/// Converts a name to words with underscores: runners and languages write names differently.
fn normalise_name(name: &str) -> String {
    let mut words = String::with_capacity(name.len());
    let mut was_lower = false;
    for c in name.chars() {
        if c.is_alphanumeric() {
            // `TestUnknownCode` and `test_unknown_code` are the same name.
            if c.is_uppercase() && was_lower {
                words.push('_');
            }
            was_lower = c.is_lowercase() || c.is_numeric();
            words.extend(c.to_lowercase());
        } else {
            was_lower = false;
            if !words.is_empty() && !words.ends_with('_') {
                words.push('_');
            }
        }
    }
    words.trim_matches('_').to_owned()
}

fn parse_line(line: &str) -> Option<TestResult> {
    let line = line.trim();
    parse_json_line(line)
        .or_else(|| parse_libtest_line(line))
        .or_else(|| parse_tap_line(line))
        .or_else(|| parse_nextest_line(line))
        .or_else(|| parse_go_line(line))
        .or_else(|| parse_pytest_line(line))
        .or_else(|| parse_unittest_line(line))
        .or_else(|| parse_mark_line(line))
        .or_else(|| parse_documentation_line(line))
}

fn new_result(name: &str, outcome: TestOutcome) -> Option<TestResult> {
    let name = name.trim();
    (!name.is_empty()).then(|| TestResult {
        name: name.to_owned(),
        outcome,
    })
}

/// Reads `{"type":"test","event":"ok","name":"…"}` (libtest, nextest) or
/// `{"Action":"pass","Test":"…"}` (Go).
fn parse_json_line(line: &str) -> Option<TestResult> {
    if !line.starts_with('{') {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| value.get(key).and_then(serde_json::Value::as_str);
    if text("type") == Some("test") {
        let outcome = match text("event")? {
            "ok" => TestOutcome::Passed,
            "failed" | "timeout" => TestOutcome::Failed,
            "ignored" => TestOutcome::Skipped,
            _ => return None,
        };
        return new_result(text("name")?, outcome);
    }
    let outcome = match text("Action")? {
        "pass" => TestOutcome::Passed,
        "fail" => TestOutcome::Failed,
        "skip" => TestOutcome::Skipped,
        _ => return None,
    };
    new_result(text("Test")?, outcome)
}

/// Reads the one line of `rspec --format json`: an object with every example.
fn parse_rspec_document(line: &str) -> Vec<TestResult> {
    let document: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    let examples = document["examples"].as_array().into_iter().flatten();
    let read = |example: &serde_json::Value| {
        let outcome = match example["status"].as_str()? {
            "passed" => TestOutcome::Passed,
            "failed" => TestOutcome::Failed,
            _ => TestOutcome::Skipped,
        };
        new_result(example["full_description"].as_str()?, outcome)
    };
    examples.filter_map(read).collect()
}

/// Reads `test path::name ... ok`.
fn parse_libtest_line(line: &str) -> Option<TestResult> {
    // From the right: a test's name may contain the dots as well.
    let (name, word) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let outcome = match word.split([',', ' ']).next()? {
        "ok" => TestOutcome::Passed,
        "FAILED" => TestOutcome::Failed,
        "ignored" => TestOutcome::Skipped,
        _ => return None,
    };
    new_result(name.trim_end_matches(" - should panic"), outcome)
}

/// Reads `ok 3 - name` and `not ok 3 - name # TODO`.
fn parse_tap_line(line: &str) -> Option<TestResult> {
    let (rest, outcome) = match line.strip_prefix("not ok ") {
        Some(rest) => (rest, TestOutcome::Failed),
        None => (line.strip_prefix("ok ")?, TestOutcome::Passed),
    };
    let name = rest
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start();
    let name = name.strip_prefix("- ").unwrap_or(name);
    let (name, directive) = name.split_once(" # ").unwrap_or((name, ""));
    let directive = directive.trim_start().to_lowercase();
    // TAP counts a failing TODO test as no failure; it proves nothing either.
    let outcome = match directive.starts_with("skip") || directive.starts_with("todo") {
        true => TestOutcome::Skipped,
        false => outcome,
    };
    new_result(name, outcome)
}

/// Reads `PASS [   0.004s] crate::binary path::name`, and with retries `TRY 2 PASS [` and
/// `FLAKY 2/3 [`.
fn parse_nextest_line(line: &str) -> Option<TestResult> {
    let (state, rest) = line.split_once(" [")?;
    let mut words = state.split_whitespace();
    let word = match words.next()? {
        "TRY" => words.nth(1)?,
        word => word,
    };
    let outcome = match word {
        "PASS" | "FLAKY" => TestOutcome::Passed,
        "FAIL" | "TIMEOUT" | "SIGABRT" | "SIGSEGV" => TestOutcome::Failed,
        "SKIP" => TestOutcome::Skipped,
        _ => return None,
    };
    let (_, name) = rest.split_once(']')?;
    // `(1/20) crate::binary path::name` in newer versions.
    new_result(name.rsplit(' ').next()?, outcome)
}

/// Reads `--- PASS: TestName (0.00s)`.
fn parse_go_line(line: &str) -> Option<TestResult> {
    let (word, rest) = line.strip_prefix("--- ")?.split_once(": ")?;
    let outcome = match word {
        "PASS" => TestOutcome::Passed,
        "FAIL" => TestOutcome::Failed,
        "SKIP" => TestOutcome::Skipped,
        _ => return None,
    };
    new_result(rest.split(" (").next()?, outcome)
}

/// Reads `tests/test_a.py::test_name PASSED [ 50%]`.
fn parse_pytest_line(line: &str) -> Option<TestResult> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| name.contains("::"))?;
    let outcome = match words.next()? {
        "PASSED" | "XPASS" => TestOutcome::Passed,
        "FAILED" | "ERROR" => TestOutcome::Failed,
        // An expected failure did not show that anything works.
        "SKIPPED" | "XFAIL" => TestOutcome::Skipped,
        _ => return None,
    };
    // The parameters of a parametrised test are not part of its name.
    new_result(name.split('[').next()?, outcome)
}

/// Reads `test_name (tests.test_a.TestA.test_name) ... ok` (Python's `unittest -v`).
fn parse_unittest_line(line: &str) -> Option<TestResult> {
    let (head, word) = line.rsplit_once(" ... ")?;
    let (name, class) = head.split_once(" (")?;
    let is_function = !name.is_empty() && !name.contains(char::is_whitespace);
    if !is_function || !class.contains(')') {
        return None;
    }
    let outcome = match word.split(' ').next()? {
        "ok" => TestOutcome::Passed,
        "FAIL" | "ERROR" | "unexpected" => TestOutcome::Failed,
        "skipped" | "expected" => TestOutcome::Skipped,
        _ => return None,
    };
    new_result(name, outcome)
}

/// Marks with which runners of JavaScript begin the line of a test (jest, vitest, mocha, bun, the spec
/// reporter of node), and those of `flutter` and `elm-test`.
const MARKS: [(char, TestOutcome); 8] = [
    ('✓', TestOutcome::Passed),
    ('✔', TestOutcome::Passed),
    ('√', TestOutcome::Passed),
    ('✕', TestOutcome::Failed),
    ('✗', TestOutcome::Failed),
    ('✖', TestOutcome::Failed),
    ('×', TestOutcome::Failed),
    ('○', TestOutcome::Skipped),
];

/// Reads `✓ price shown (3 ms)`, `✔ price shown (0.4ms)`, `✓ tests/a.test.js > prices > price shown 3ms`.
fn parse_mark_line(line: &str) -> Option<TestResult> {
    let mark = line.chars().next()?;
    let (_, outcome) = MARKS.iter().find(|(known, _)| *known == mark)?;
    // The mark is a word of its own.
    let name = line.strip_prefix(mark)?.strip_prefix(' ')?;
    new_result(trim_duration(name), *outcome)
}

/// Reads `(pass) prices > price shown [0.4ms]` of bun, and `* test price shown (0.4ms) [L#5]` of mix with
/// `  1) test price shown (ShopTest)` in its summary.
fn parse_documentation_line(line: &str) -> Option<TestResult> {
    let bun = [
        ("(pass) ", TestOutcome::Passed),
        ("(fail) ", TestOutcome::Failed),
        ("(skip) ", TestOutcome::Skipped),
    ];
    for (word, outcome) in bun {
        if let Some(name) = line.strip_prefix(word) {
            return new_result(trim_duration(name), outcome);
        }
    }
    let Some(name) = line.strip_prefix("* test ") else {
        let (number, name) = line.split_once(") test ")?;
        let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        let (name, _) = name.split_once(" (").filter(|_| is_number)?;
        return new_result(name, TestOutcome::Failed);
    };
    let (name, rest) = name.split_once(" (")?;
    // A failure is named in the summary only.
    let outcome = match rest.starts_with("skipped") || rest.starts_with("excluded") {
        true => TestOutcome::Skipped,
        false => TestOutcome::Passed,
    };
    new_result(name, outcome)
}

/// Removes the time at the end of a line: `(3 ms)`, `[0.40ms]`, ` 3ms`.
fn trim_duration(name: &str) -> &str {
    let name = name.trim_end();
    let is_duration = |text: &str| {
        let number = text.trim().trim_end_matches(['m', 's', 'µ', 'n', ' ']);
        number.len() < text.trim().len() && number.parse::<f64>().is_ok()
    };
    for (open, close) in [(" (", ")"), (" [", "]"), (" ", "")] {
        if let Some((before, rest)) = name.rsplit_once(open)
            && rest.strip_suffix(close).is_some_and(is_duration)
        {
            return before.trim_end();
        }
    }
    name
}

/// Reads the `<testcase>` elements of JUnit XML, which every other runner can write.
///
/// Not an XML parser: elements and attributes are found by their delimiters, comments and CDATA are
/// skipped. A report is written by a program; one that cannot be read so has no results.
fn parse_junit(text: &str) -> Vec<TestResult> {
    let mut results: Vec<TestResult> = Vec::new();
    let mut is_open = false;
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        // Output of tests is in CDATA and may contain tags.
        let skipped = [("![CDATA[", "]]>"), ("!--", "-->")];
        if let Some((_, end)) = skipped.iter().find(|(start, _)| after.starts_with(start)) {
            rest = after.split_once(end).map_or("", |(_, rest)| rest);
            continue;
        }
        let (tag, after) = split_tag(after);
        rest = after;
        let name = tag.split([' ', '\t', '\n', '\r', '/']).next();
        match name.unwrap_or_default() {
            "testcase" => {
                let title = read_attribute(tag, "name").unwrap_or_default();
                let class = read_attribute(tag, "classname").unwrap_or_default();
                let name = match class.is_empty() {
                    true => title,
                    false => format!("{class}::{title}"),
                };
                // JUnit has no element for success: a test passed unless a child says otherwise.
                let result = new_result(&name, TestOutcome::Passed);
                // Children of a test without a name are not about the test before it.
                is_open = result.is_some() && !tag.ends_with('/');
                results.extend(result);
            }
            "failure" | "error" if is_open => {
                if let Some(last) = results.last_mut() {
                    last.outcome = TestOutcome::Failed;
                }
            }
            "skipped" if is_open => {
                if let Some(last) = results.last_mut() {
                    last.outcome = TestOutcome::Skipped;
                }
            }
            _ if tag.starts_with("/testcase") => is_open = false,
            _ => {}
        }
    }
    results
}

/// Splits a tag at its end, which is not a `>` in quotes.
fn split_tag(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => {
                let rest = text.get(at + 1..).unwrap_or_default();
                return (text.get(..at).unwrap_or_default(), rest);
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    (text, "")
}

/// Replaces the entities of XML by the characters they stand for.
fn resolve_entities(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        let entity = after.split_once(';');
        let resolved = entity.and_then(|(entity, rest)| Some((resolve_entity(entity)?, rest)));
        match resolved {
            Some((c, behind)) => {
                text.push(c);
                rest = behind;
            }
            // Not an entity: the runner did not escape its text.
            None => {
                text.push('&');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

/// Returns the character of an entity, which is given without `&` and `;`.
fn resolve_entity(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "amp" => Some('&'),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

/// Returns an attribute's value with its entities resolved.
fn read_attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let before = rest.get(..at)?.chars().next_back();
        let after = rest.get(at + name.len()..)?.trim_start();
        let value = after.strip_prefix('=').map(str::trim_start);
        if let (Some(before), Some(value)) = (before, value)
            && before.is_whitespace()
        {
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let value = value.get(1..)?.split(quote).next()?;
            return Some(resolve_entities(value));
        }
        rest = rest.get(at + name.len()..)?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{TestOutcome, find_test_outcome, parse_test_report};

    fn render(text: &str) -> Vec<String> {
        parse_test_report(text)
            .iter()
            .map(|result| format!("{} {:?}", result.name, result.outcome))
            .collect()
    }

    #[test]
    fn the_output_that_proposed_runners_write_is_read() {
        let text = "test_price_shown (tests.test_shop.TestShop.test_price_shown) ... ok\n\
            test_total (tests.test_shop.TestShop) ... FAIL\n\
            prices\n\
            ✓ price shown (3 ms)\n\
            ✔ price hidden (0.41ms)\n\
            ✓ test/a.test.js > prices > in (euro) 3ms\n\
            ✕ price wrong (1 ms)\n\
            ○ skipped price later\n\
            (pass) prices > price round [0.40ms]\n\
            * test price tax (0.4ms) [L#5]\n\
            1) test price tax (ShopTest)\n\
            {\"version\":\"3\",\"examples\":[{\"full_description\":\"Shop price sum\",\"status\":\"passed\"}]}\n\
            ✓done";
        let results = [
            "test_price_shown Passed",
            "test_total Failed",
            "price shown Passed",
            "price hidden Passed",
            "test/a.test.js > prices > in (euro) Passed",
            "price wrong Failed",
            "skipped price later Skipped",
            "prices > price round Passed",
            "price tax Passed",
            "price tax Failed",
            "Shop price sum Passed",
        ];
        assert_eq!(render(text), results);
        let found = parse_test_report(text);
        assert_eq!(
            find_test_outcome(&found, "price-shown"),
            Some(TestOutcome::Passed)
        );
        assert_eq!(
            find_test_outcome(&found, "price-tax"),
            Some(TestOutcome::Failed)
        );
    }

    #[test]
    fn every_format_is_read() {
        let junit = r#"<?xml version="1.0"?><testsuites><testsuite name="a">
            <!-- <testcase name="not one"/> -->
            <testcase name="finds &lt;a&gt; word" classname="index" time="0.1"/>
            <testcase classname='index' name='fails > twice'>
              <failure message="x"><![CDATA[<testcase name="inner"/>]]></failure></testcase>
            <testcase name="it&#39;s &#x2713; &amp;lt; a&b"/>
            <testcase><failure/></testcase>
            <testcase name="later"><skipped/></testcase></testsuite></testsuites>"#;
        for (text, expected) in [
            (
                junit,
                &[
                    "index::finds <a> word Passed",
                    "index::fails > twice Failed",
                    "it's ✓ &lt; a&b Passed",
                    "later Skipped",
                ][..],
            ),
            (
                "  TRY 1 FAIL [   0.011s] shop::it codes::known\n  TRY 2 PASS [   0.009s] shop::it codes::known\n  TRY 1 FAIL [   0.011s] shop::it codes::other\n  TRY 2 FAIL [   0.010s] shop::it codes::other\n  FLAKY 2/2 [   0.009s] shop::it codes::known\n",
                &[
                    "codes::other Failed",
                    "codes::other Failed",
                    "codes::known Passed",
                ],
            ),
            (
                "TAP version 13\n1..3\nok 1 - finds a word\nnot ok 2 fails\nok 3 - later # SKIP no disk\n",
                &["finds a word Passed", "fails Failed", "later Skipped"],
            ),
            (
                "{\"type\":\"suite\",\"event\":\"started\"}\n{\"type\":\"test\",\"event\":\"started\",\"name\":\"a::b\"}\n{\"type\":\"test\",\"event\":\"ok\",\"name\":\"a::b\"}\n{\"type\":\"test\",\"event\":\"failed\",\"name\":\"c::bin$a::c\"}\n",
                &["a::b Passed", "c::bin$a::c Failed"],
            ),
            (
                "{\"Action\":\"run\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Test\":\"TestA\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n",
                &["TestA Passed"],
            ),
            (
                "running 2 tests\ntest index::finds ... ok\ntest index::fails ... FAILED\ntest later ... ignored, slow\n\ntest result: FAILED. 1 passed\n",
                &[
                    "index::finds Passed",
                    "index::fails Failed",
                    "later Skipped",
                ],
            ),
            (
                "        PASS [   0.004s] domain work::finds\n        FAIL [   0.010s] (2/2) domain::it index::fails\n",
                &["work::finds Passed", "index::fails Failed"],
            ),
            (
                "=== RUN   TestFinds\n--- PASS: TestFinds (0.00s)\n    --- FAIL: TestFinds/empty (0.00s)\n",
                &["TestFinds Passed", "TestFinds/empty Failed"],
            ),
            (
                "tests/test_a.py::test_finds[1-2] PASSED [ 50%]\ntests/test_a.py::test_fails FAILED [100%]\n",
                &[
                    "tests/test_a.py::test_finds Passed",
                    "tests/test_a.py::test_fails Failed",
                ],
            ),
            ("nothing here\n", &[]),
        ] {
            assert_eq!(render(text), expected, "{text}");
        }
    }

    #[test]
    fn a_test_is_found_by_title_function_or_end_of_its_path() {
        let results = parse_test_report(
            "test codes::an_unknown_code_is_refused ... ok\ntest codes::empty ... FAILED\n--- PASS: TestUnknownCode (0.0s)\n",
        );
        let found = |name: &str| find_test_outcome(&results, name);
        for name in [
            "An unknown code is refused",
            "an-unknown-code-is-refused",
            "codes::an_unknown_code_is_refused",
            "unknown code",
        ] {
            assert_eq!(found(name), Some(TestOutcome::Passed), "{name}");
        }
        assert_eq!(found("empty"), Some(TestOutcome::Failed));
        for name in ["an unknown code", "refused code", "", "  "] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn the_worst_of_several_counts() {
        let results = parse_test_report("test a::x ... ok\ntest b::x ... FAILED\n");
        assert_eq!(find_test_outcome(&results, "x"), Some(TestOutcome::Failed));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,200}") {
            let _ = find_test_outcome(&parse_test_report(&text), &text);
            let _ = parse_test_report(&format!("<testcase {text}"));
            let _ = parse_test_report(&format!("<testcase name=\"{text}><failure"));
        }
    }
}
