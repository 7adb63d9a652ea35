//! Numbers after a level's label in a text: `Chapter 4`, `главы 4–6`, `act 2, chapter 3`.
//!
//! A label of a level above, right before or after, says in which plan the number counts. A range is
//! rewritten wholly or not at all: with one new end it would speak of other plans.

use super::references::{ReferenceRewriter, TextScope};
use crate::ids::NodeId;
use crate::profile::Level;

/// What may be between a label with its number and one of a level below after it.
const JOINTS: &[&str] = &[", ", " ", ": ", "; ", "/", " - ", " – ", " — "];

/// What may be between a label with its number and one of a level above after it.
const CONNECTORS: &[&str] = &[
    ", ", " (", " of the ", " of ", " in the ", " in ", " from ", " во ", " в ", " из ", " ",
];

const LIST_SEPARATORS: &[&str] = &[", ", " and ", " & ", " и ", "/"];

const RANGE_SEPARATORS: &[&str] = &[
    "–",
    "—",
    "-",
    " – ",
    " — ",
    " - ",
    " to ",
    " through ",
    " по ",
    " до ",
];

/// The plan in which numbers count that have a label of another level beside them.
#[derive(Clone, Copy)]
enum NumberScope {
    Text,
    Plan(NodeId),
    /// A plan that does not exist.
    Unknown,
}

/// A label with its number that was just read.
struct Mention<'l> {
    /// Where it ends.
    end: usize,
    levels: &'l [&'l Level],
    /// The plan it means.
    plan: Option<NodeId>,
}

impl ReferenceRewriter<'_> {
    /// Rewrites the numbers after labels: `Chapter 4`, `главы 4–6`.
    pub(super) fn rewrite_labels(&self, body: &str, scope: &TextScope<'_>) -> String {
        let mut result = String::with_capacity(body.len());
        let mut rest = body;
        let mut previous: Option<Mention<'_>> = None;
        while let Some(start) = rest.find(char::is_alphabetic) {
            let (before, from) = rest.split_at(start);
            result.push_str(before);
            let (word, after) = split_word(from);
            result.push_str(word);
            rest = after;
            let Some((levels, gap)) = self.find_levels(word).zip(number_gap(after)) else {
                continue;
            };
            let (skipped, numbers) = after.split_at(gap);
            result.push_str(skipped);
            let (items, length) = split_numbers(numbers);
            let Some((_, first)) = items.first() else {
                rest = numbers;
                continue;
            };
            rest = numbers.get(length..).unwrap_or_default();
            let at = body.len() - from.len();
            let above = previous.filter(|mention| {
                let between = body.get(mention.end..at).unwrap_or_default();
                JOINTS.contains(&between) && self.are_above(mention.levels, levels)
            });
            let place = match above {
                Some(mention) => mention.plan.map_or(NumberScope::Unknown, NumberScope::Plan),
                None => self.find_scope_after(rest, levels, scope),
            };
            let spelled = self.respell_items(&items, levels, scope, place);
            result.push_str(&spelled);
            previous = Some(Mention {
                end: body.len() - rest.len(),
                levels,
                plan: self.resolve_in(levels, first, scope, place),
            });
        }
        result.push_str(rest);
        result
    }

    fn find_levels(&self, word: &str) -> Option<&[&Level]> {
        self.labels.get(&word.to_lowercase()).map(Vec::as_slice)
    }

    /// Whether one of these levels is above one of the others.
    fn are_above(&self, above: &[&Level], below: &[&Level]) -> bool {
        let profiles = self.before.profiles;
        above.iter().any(|above| {
            below.iter().any(|below| {
                let own = |level: &Level| std::ptr::eq(level, *below);
                let profile = profiles.iter().find(|one| one.levels.iter().any(own));
                let mut names = vec![below.name.as_str()];
                let mut seen = 0;
                // Levels may be below themselves.
                while let Some(name) = names.get(seen).copied() {
                    let level = profile.and_then(|profile| profile.find_level(name));
                    for name in level.into_iter().flat_map(|level| &level.under) {
                        if !names.contains(&name.as_str()) {
                            names.push(name);
                        }
                    }
                    seen += 1;
                }
                names.iter().skip(1).any(|name| *name == above.name)
            })
        })
    }

    /// Finds the plan that a label of a level above names right after a number: `of act 2`.
    fn find_scope_after(
        &self,
        text: &str,
        levels: &[&Level],
        scope: &TextScope<'_>,
    ) -> NumberScope {
        let found = CONNECTORS.iter().find_map(|connector| {
            let (word, after) = split_word(text.strip_prefix(connector)?);
            let above = self.find_levels(word)?;
            let numbers = after.get(number_gap(after)?..)?;
            let digits = leading_digits(numbers);
            let rest = numbers.get(digits.len()..)?;
            self.are_above(above, levels)
                .then_some((above, digits, rest))
        });
        let Some((above, digits, rest)) = found else {
            return NumberScope::Text;
        };
        let place = self.find_scope_after(rest, above, scope);
        let plan = self.resolve_in(above, digits, scope, place);
        plan.map_or(NumberScope::Unknown, NumberScope::Plan)
    }

    fn resolve_in(
        &self,
        levels: &[&Level],
        digits: &str,
        scope: &TextScope<'_>,
        place: NumberScope,
    ) -> Option<NodeId> {
        let from = match place {
            NumberScope::Text => scope.node,
            NumberScope::Plan(plan) => plan,
            NumberScope::Unknown => return None,
        };
        let mut levels = levels.iter();
        let found = levels.find_map(|level| self.before.resolve_number(level, digits, from))?;
        Some(found.id)
    }

    /// Spells the numbers of a list or range for the tree after the change.
    fn respell_items(
        &self,
        items: &[(&str, &str)],
        levels: &[&Level],
        scope: &TextScope<'_>,
        place: NumberScope,
    ) -> String {
        let inner = match place {
            NumberScope::Text => TextScope { ..*scope },
            NumberScope::Plan(plan) => TextScope {
                node: plan,
                node_after: self.successor_of(plan),
                ..*scope
            },
            NumberScope::Unknown => {
                return items
                    .iter()
                    .flat_map(|(separator, digits)| [*separator, *digits])
                    .collect();
            }
        };
        let mut result = String::new();
        // A number and the ends of ranges with it.
        let is_range = |separator: &str| RANGE_SEPARATORS.contains(&separator);
        for run in items.chunk_by(|_, (separator, _)| is_range(separator)) {
            let spelled: Option<Vec<String>> = run
                .iter()
                .map(|(_, digits)| self.respell(digits, levels, &inner))
                .collect();
            for (index, (separator, digits)) in run.iter().enumerate() {
                result.push_str(separator);
                let new = spelled.as_ref().and_then(|spelled| spelled.get(index));
                result.push_str(new.map_or(*digits, String::as_str));
            }
        }
        result
    }

    /// Returns the digits after a label for the tree after the change; `None` if they mean no plan, or
    /// one that they cannot mean afterwards.
    fn respell(&self, digits: &str, levels: &[&Level], scope: &TextScope<'_>) -> Option<String> {
        let mut is_known = false;
        let spelled = levels.iter().find_map(|level| {
            let was = self.before.resolve_number(level, digits, scope.node)?;
            let Some((target, now)) = self.find_target(was, scope) else {
                is_known |= self.after.tree.get(was.id).is_some();
                return None;
            };
            let spelled = respell_number(level, digits, &was.alias, &now.alias)?;
            // The new number must mean the same plan from here; otherwise the sentence keeps the
            // old one, which a person notices, instead of a wrong one, which nobody does.
            let found = self.after.resolve_number(level, &spelled, scope.node_after);
            found
                .is_some_and(|found| found.id == target)
                .then_some(spelled)
        });
        spelled.or_else(|| is_known.then(|| digits.to_owned()))
    }
}

/// Splits a list or range of numbers into separators and digits; also returns its length.
fn split_numbers(text: &str) -> (Vec<(&str, &str)>, usize) {
    let mut items = Vec::new();
    let (mut used, mut separator) = (0, "");
    loop {
        let rest = text.get(used + separator.len()..).unwrap_or_default();
        let digits = leading_digits(rest);
        let next = rest
            .get(digits.len()..)
            .and_then(|rest| rest.chars().next());
        // `4th` and `4a` are words, not numbers of plans.
        if digits.is_empty() || next.is_some_and(char::is_alphanumeric) {
            return (items, used);
        }
        items.push((separator, digits));
        used += separator.len() + digits.len();
        let after = text.get(used..).unwrap_or_default();
        let mut separators = LIST_SEPARATORS.iter().chain(RANGE_SEPARATORS);
        let found = separators.find(|separator| {
            let rest = after.strip_prefix(**separator);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        match found {
            Some(found) => separator = found,
            None => return (items, used),
        }
    }
}

/// Splits a text after its first word.
fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_alphanumeric());
    text.split_at(end.unwrap_or(text.len()))
}

/// Spells a number for another alias the way it was spelled: `4`, `04`, or with the parent's digits.
pub(super) fn respell_number(level: &Level, digits: &str, old: &str, new: &str) -> Option<String> {
    let (was, now) = (level.number_of(old)?, level.number_of(new)?);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let bare = |alias: &str| {
        let rest = alias.strip_prefix(level.alias.literal_prefix())?;
        rest.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| rest.to_owned())
    };
    // Spelled with the parent's digits (`Scene 0204`), so it is spelled like that again.
    if level.alias.contains_parent() && bare(old).as_deref() == Some(digits) {
        return bare(new).or_else(|| Some(now.to_string()));
    }
    let is_own = digits.parse() == Ok(was);
    // Leading zeros are kept as wide as the author wrote them.
    let width = if digits.starts_with('0') {
        digits.len()
    } else {
        0
    };
    is_own.then(|| format!("{now:0width$}"))
}

/// Returns the length of what may be between a label and its number.
fn number_gap(after: &str) -> Option<usize> {
    let rest = after.trim_start_matches(['.', ' ', '\u{a0}', '№', '#', '*', '_']);
    let gap = after.len() - rest.len();
    let starts = rest.starts_with(|c: char| c.is_ascii_digit());
    // `chapter-04` is an alias and no label with a number.
    (gap > 0 && gap <= 4 && starts).then_some(gap)
}

fn leading_digits(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}
