//! Parser for the scenarios in a ticket's `test-definitions.md`: Gherkin, or Markdown headings.
//!
//! A scenario begins at a line `Scenario: title` (Gherkin, in a code fence or not, in several
//! languages) or at a heading `## Scenario: title`. A file with neither has one scenario per
//! second-level heading. A scenario ends where the next one begins, or at a heading that is not
//! below its own. Steps are not parsed.

use crate::secrets::mask_secrets;

/// One scenario of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioText {
    /// Its name in paths: letters, digits and `-`.
    pub slug: String,
    pub title: String,
    /// From its own line to the next scenario, without trailing whitespace.
    pub text: String,
}

/// The Gherkin keywords of a scenario, in its most used languages.
const SCENARIO_KEYWORDS: &[&str] = &[
    "scenario outline",
    "scenario template",
    "scenario",
    "структура сценария",
    "сценарий",
    "сценарій",
    "szenariogrundriss",
    "szenario",
    "plan du scénario",
    "scénario",
    "esquema del escenario",
    "escenario",
    "cenário",
    "schema dello scenario",
    "scenariusz",
    "シナリオ",
    "场景",
];

/// Parses the scenarios of a file, in order.
#[must_use]
pub fn parse_scenarios(text: &str) -> Vec<ScenarioText> {
    // Plain headings count only in a file without any named scenario; otherwise a section such as
    // `## Notes` would become one.
    let named: Vec<ScenarioRange<'_>> = find_scenarios(text, false);
    let starts = if named.is_empty() {
        find_scenarios(text, true)
    } else {
        named
    };
    let mut found: Vec<ScenarioText> = Vec::with_capacity(starts.len());
    for start in &starts {
        let slug = find_free_slug(&found, start.title);
        let body = text.get(start.from..start.to).unwrap_or_default();
        // The closing fence after a Gherkin block belongs to the file's layout, not to the
        // scenario.
        let text = body
            .trim_end()
            .trim_end_matches("```")
            .trim_end()
            .to_owned();
        found.push(ScenarioText {
            slug,
            title: start.title.to_owned(),
            text,
        });
    }
    found
}

/// Returns what a scenario's text says below its title.
#[must_use]
pub fn scenario_body(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, body)| body).trim()
}

/// Returns the text of a file with a scenario replaced by another text of it, or with a new scenario at
/// its end. Every other byte is kept.
///
/// # Errors
/// The names of the scenarios in `text`, if it is not exactly one of this name.
pub fn put_scenario(file: &str, slug: &str, text: &str) -> Result<String, Vec<String>> {
    let text = text.trim();
    let known = parse_scenarios(file);
    let replaced = known.iter().position(|scenario| scenario.slug == slug);
    let written = match replaced {
        Some(at) => {
            // The text of a scenario is the beginning of its range: only layout follows it.
            let starts = scenario_starts(file);
            let from = starts.get(at).copied().unwrap_or(file.len());
            let old = known.get(at).map_or("", |scenario| scenario.text.as_str());
            let (before, rest) = file.split_at(from);
            let after = rest.get(old.len()..).unwrap_or_default();
            // A fence that ends behind the old text was opened before it.
            let closing = match count_fences(old) % 2 == 1 && count_fences(text).is_multiple_of(2) {
                true => "\n```",
                false => "",
            };
            format!("{before}{text}{closing}{after}")
        }
        None if file.trim().is_empty() => format!("{text}\n"),
        None => format!("{}\n\n{text}\n", file.trim_end()),
    };
    let mut expected: Vec<&str> = known.iter().map(|one| one.slug.as_str()).collect();
    if replaced.is_none() {
        expected.push(slug);
    }
    let found = parse_scenarios(&written);
    match found.iter().map(|one| one.slug.as_str()).eq(expected) {
        true => Ok(written),
        false => Err(parse_scenarios(text)
            .into_iter()
            .map(|one| one.slug)
            .collect()),
    }
}

/// Returns the text of a file with a new scenario at its end, written as the last one is, and the name of
/// the new one. Every other byte is kept.
///
/// # Errors
/// The names of the scenarios that would be in its place, if the title does not begin exactly one.
pub fn add_scenario(file: &str, title: &str) -> Result<(String, String), Vec<String>> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let known = parse_scenarios(file);
    let slug = find_free_slug(&known, &title);
    let last = scenario_starts(file).pop().zip(known.last());
    let text = match last.and_then(|(from, last)| imitate_scenario(file, from, last, &title)) {
        Some(text) => text,
        None => format!("## Scenario: {title}"),
    };
    let written = put_scenario(file, &slug, &text)?;
    Ok((written, slug))
}

/// Returns a scenario with another title that begins as this one does, which is at `from`.
fn imitate_scenario(file: &str, from: usize, like: &ScenarioText, title: &str) -> Option<String> {
    let line = file.get(from..)?.lines().next()?.trim();
    let head = line.strip_suffix(like.title.as_str())?;
    // `Scenario 3: ` is followed by number 4.
    let digits = head.find(|c: char| c.is_ascii_digit());
    let head = match digits.and_then(|at| head.split_at_checked(at)) {
        Some((before, rest)) => {
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let (number, after) = rest.split_at(end);
            let next = number.parse::<u64>().ok()?.checked_add(1)?;
            format!("{before}{next}{after}")
        }
        None => head.to_owned(),
    };
    // The last fence is closed: a new scenario outside of one would be prose for other tools.
    Some(match count_fences(file.get(..from)?) % 2 {
        1 => format!("```gherkin\n{head}{title}\n```"),
        _ => format!("{head}{title}"),
    })
}

fn count_fences(text: &str) -> usize {
    let is_fence = |line: &&str| line.trim().starts_with("```") || line.trim().starts_with("~~~");
    text.lines().filter(is_fence).count()
}

/// Returns where each scenario of a file begins, in the order of [`parse_scenarios`].
fn scenario_starts(text: &str) -> Vec<usize> {
    let mut starts = find_scenarios(text, false);
    if starts.is_empty() {
        starts = find_scenarios(text, true);
    }
    starts.iter().map(|start| start.from).collect()
}

/// Title and byte range of a scenario.
struct ScenarioRange<'t> {
    title: &'t str,
    from: usize,
    to: usize,
}

/// Finds where scenarios begin and end; with `headings`, every second-level heading begins one.
fn find_scenarios(text: &str, headings: bool) -> Vec<ScenarioRange<'_>> {
    let mut found: Vec<ScenarioRange<'_>> = Vec::new();
    // The depth of the heading that opened the current scenario; a Gherkin line has none.
    let mut open: Option<Option<usize>> = None;
    let mut fenced = false;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let at = offset;
        offset += line.len();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        // In a fence a leading `#` is a Gherkin comment, not a heading.
        let depth = if fenced {
            0
        } else {
            bare.chars().take_while(|c| *c == '#').count()
        };
        let words = if (1..=6).contains(&depth) {
            bare.trim_start_matches('#').trim()
        } else {
            bare
        };
        let title = match parse_scenario_title(words) {
            Some(title) => Some(title),
            None if headings && depth == 2 => Some(words),
            None => None,
        };
        let ends = match open {
            Some(Some(own)) => title.is_some() || (depth > 0 && depth <= own),
            Some(None) => title.is_some() || depth > 0,
            None => false,
        };
        if ends {
            if let Some(last) = found.last_mut() {
                last.to = at;
            }
            open = None;
        }
        if let Some(title) = title.filter(|title| !title.is_empty()) {
            found.push(ScenarioRange {
                title,
                from: at,
                to: text.len(),
            });
            open = Some((depth > 0).then_some(depth));
        }
    }
    found
}

/// Returns the title if a line begins a scenario.
fn parse_scenario_title(line: &str) -> Option<&str> {
    let (word, title) = line.split_once([':', '：'])?;
    let word = word.trim().to_lowercase();
    // Numbered scenarios are common: `Scenario 3: title`, `Scenario #3: title`.
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '#' || c == ' ');
    SCENARIO_KEYWORDS.contains(&word).then(|| title.trim())
}

/// Converts a title to a name for paths: letters and digits of any language, everything else `-`.
///
/// Secrets are masked first: a key in lower case, cut short, is not recognised any more.
#[must_use]
pub fn slugify_title(title: &str) -> String {
    let mut slug = String::with_capacity(title.len());
    for c in mask_secrets(title).to_lowercase().chars() {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    // A slug is part of paths people type; 60 characters still tell scenarios apart.
    let short: String = slug.chars().take(60).collect();
    if short.is_empty() {
        "scenario".to_owned()
    } else {
        short.trim_end_matches('-').to_owned()
    }
}

/// Returns a title's slug, with a number appended if it is taken.
fn find_free_slug(taken: &[ScenarioText], title: &str) -> String {
    let slug = slugify_title(title);
    let is_taken = |name: &str| taken.iter().any(|other| other.slug == name);
    if !is_taken(&slug) {
        return slug;
    }
    // An endless range always has a free number; the fallback only satisfies the type.
    (2..)
        .map(|number| format!("{slug}-{number}"))
        .find(|name| !is_taken(name))
        .unwrap_or(slug)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{add_scenario, parse_scenarios, put_scenario, slugify_title};

    #[test]
    fn a_new_scenario_is_written_like_the_last_one() {
        for (file, added) in [
            ("", "## Scenario: The door opens\n"),
            ("# T\n", "\n## Scenario: The door opens\n"),
            ("## Door\n\nGiven a\n", "\n## The door opens\n"),
            ("Scenario: one\n  Given a\n", "\nScenario: The door opens\n"),
            (
                "### Сценарий 9: дверь\n\nДано\n",
                "\n### Сценарий 10: The door opens\n",
            ),
            (
                "```gherkin\nFeature: F\n  Scenario: one\n    Given a\n```\n",
                "\n```gherkin\nScenario: The door opens\n```\n",
            ),
        ] {
            let (written, slug) = add_scenario(file, " The  door opens ").unwrap();
            assert_eq!(written, format!("{file}{added}"));
            assert_eq!(slug, "the-door-opens");
        }
        let (_, slug) = add_scenario("Scenario: One\n", "one").unwrap();
        assert_eq!(slug, "one-2");
    }

    #[test]
    fn a_scenario_is_replaced_or_added_and_the_rest_stays() {
        let file = "# T\n\n```gherkin\nScenario: one\n  Given a\n```\n\nwords\n\n## Scenario: two\n\nGiven b\n";
        let other = "Scenario: one\n  Given c";
        let written = put_scenario(file, "one", other).unwrap();
        assert!(
            written.starts_with(
                "# T\n\n```gherkin\nScenario: one\n  Given c\n```\n\n## Scenario: two"
            ),
            "{written}"
        );
        let added = put_scenario(file, "three", "Scenario: Three\n  Given d\n").unwrap();
        assert_eq!(added, format!("{file}\nScenario: Three\n  Given d\n"));
        assert_eq!(
            put_scenario("", "three", "Scenario: Three\n").unwrap(),
            "Scenario: Three\n"
        );
        // Another name, none, or two of them.
        for (text, named) in [
            ("Scenario: Four", vec!["four"]),
            ("Given nothing", vec![]),
            ("Scenario: Three\n\nScenario: Four", vec!["three", "four"]),
        ] {
            assert_eq!(
                put_scenario(file, "three", text),
                Err(named.into_iter().map(str::to_owned).collect())
            );
        }
    }

    proptest! {
        #[test]
        fn an_added_scenario_comes_after_all_others(
            forms in proptest::collection::vec((0usize..4, "[a-zа-я]{1,8}"), 0..5),
            title in "[a-zа-я]{1,8}( [a-zа-я]{1,8})?",
        ) {
            let render = |(form, name): &(usize, String)| match form {
                0 => format!("Scenario: {name}\n  Given a\n\n"),
                1 => format!("## Scenario: {name}\n\nGiven a\n\n"),
                2 => format!("```gherkin\nСценарий 3: {name}\n```\n\n"),
                _ => format!("# {name}\n\nwords\n\n"),
            };
            let file: String = forms.iter().map(render).collect();
            let (written, slug) = add_scenario(&file, &title).unwrap();
            prop_assert!(written.starts_with(file.trim_end()));
            let (before, mut after) = (parse_scenarios(&file), parse_scenarios(&written));
            let added = after.pop().unwrap();
            prop_assert_eq!((added.slug, added.title), (slug, title));
            let titles = |all: Vec<super::ScenarioText>| all.into_iter().map(|one| one.title).collect::<Vec<_>>();
            prop_assert_eq!(titles(before), titles(after));
        }

        #[test]
        fn other_scenarios_are_never_changed(
            bodies in proptest::collection::vec("[ a-z]{0,12}", 1..5),
            at in 0usize..6,
            body in "[ a-z]{1,12}",
        ) {
            let render = |(number, body): (usize, &String)| format!("Scenario: s{number}\n  Given {body}\n");
            let file = bodies.iter().enumerate().map(render).collect::<Vec<_>>().join("\n");
            let at = at.min(bodies.len());
            let text = format!("Scenario: s{at}\n  When {body}");
            let written = put_scenario(&file, &format!("s{at}"), &text).unwrap();
            let (before, after) = (parse_scenarios(&file), parse_scenarios(&written));
            prop_assert_eq!(after.len(), before.len().max(at + 1));
            for (number, one) in after.iter().enumerate() {
                match number == at {
                    true => prop_assert_eq!(&one.text, text.trim_end()),
                    false => prop_assert_eq!(Some(one), before.get(number)),
                }
            }
        }
    }

    #[test]
    fn scenarios_are_found_in_every_form() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("# Tests\n\nnothing yet\n", &[]),
            (
                "Feature: limits\n\n  Scenario: Threshold gate\n    Given 400 lines\n\n  Scenario: commit clears\n    When committed\n",
                &[
                    (
                        "threshold-gate",
                        "Scenario: Threshold gate\n    Given 400 lines",
                    ),
                    (
                        "commit-clears",
                        "Scenario: commit clears\n    When committed",
                    ),
                ],
            ),
            (
                "# T\n\n```gherkin\nScenario: one\n  Given a\n```\n\nwords\n\n```gherkin\nScenario Outline: two\n```\n",
                &[
                    ("one", "Scenario: one\n  Given a\n```\n\nwords"),
                    ("two", "Scenario Outline: two"),
                ],
            ),
            (
                "## Scenario 1: One\nbody\n### Notes\nstill one\n## Other\nnot it\n## Scenario: One\nagain\n",
                &[
                    ("one", "## Scenario 1: One\nbody\n### Notes\nstill one"),
                    ("one-2", "## Scenario: One\nagain"),
                ],
            ),
            (
                "# T\n## First thing\na\n### deeper\nb\n## Second\n",
                &[
                    ("first-thing", "## First thing\na\n### deeper\nb"),
                    ("second", "## Second"),
                ],
            ),
            (
                "Сценарий: Порог срабатывает\n  Дано 400 строк\n",
                &[(
                    "порог-срабатывает",
                    "Сценарий: Порог срабатывает\n  Дано 400 строк",
                )],
            ),
            ("Scenario:\n  no title\n", &[]),
        ];
        for (text, expected) in cases {
            let found = parse_scenarios(text);
            let found: Vec<(&str, &str)> = found
                .iter()
                .map(|one| (one.slug.as_str(), one.text.trim_start()))
                .collect();
            // Where exactly a text ends around fences is not specified; only its beginning matters.
            let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
            assert_eq!(
                names,
                expected.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
                "{text}"
            );
            for ((_, text), (_, start)) in found.iter().zip(*expected) {
                assert!(
                    text.starts_with(start.lines().next().unwrap_or_default()),
                    "{text} / {start}"
                );
            }
        }
    }

    #[test]
    fn a_scenario_ends_where_the_next_begins() {
        let found =
            parse_scenarios("## Scenario: One\nbody\n### Notes\nstill one\n## Other\nnot it\n");
        assert_eq!(
            found[0].text,
            "## Scenario: One\nbody\n### Notes\nstill one"
        );
    }

    #[test]
    fn names_are_letters_and_digits() {
        for (title, expected) in [
            ("Threshold gate!", "threshold-gate"),
            ("  «Ёлка» / 2 ", "ёлка-2"),
            ("../../etc", "etc"),
            ("***", "scenario"),
        ] {
            assert_eq!(slugify_title(title), expected);
        }
    }
}
