//! Consistency check of a plan against its parent: names and times that the parent does not
//! mention.
//!
//! Pure, and it only warns. Plans are half-written and in any language, so what cannot be parsed
//! with some certainty is skipped: a false warning costs more trust than a missed one.

mod extract;
mod item;
mod known_names;
mod markdown;
mod moments;
mod names;
mod timeline;
mod units;
mod words;

use crate::profile::{Facet, FacetKind, Profile};
use extract::ParsedPlan;
use known_names::{AliasGroups, KnownNames};
use words::FacetWords;

/// Maximum number of names in one message, so that a plan that has nothing in common with its
/// parent does not flood a briefing.
const MAX_NAMES_IN_MESSAGE: usize = 20;

/// Something a child mentions that its parent does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsistencyWarning {
    /// The facet's name: `characters`.
    pub facet: String,
    /// The names or moments found.
    pub names: Vec<String>,
    /// One line for people.
    pub message: String,
}

/// One plan in a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparedPlan<'a> {
    pub alias: &'a str,
    pub level: &'a str,
    pub text: &'a str,
}

/// Compares a plan with its parent. Empty if they are consistent.
///
/// Each group of `aliases` has the names of one character or place; the groups in the front matter
/// of both plans are added to them.
#[must_use]
pub fn check_consistency(
    profile: &Profile,
    child: ComparedPlan<'_>,
    parent: ComparedPlan<'_>,
    aliases: &[Vec<String>],
) -> Vec<ConsistencyWarning> {
    let words: Vec<FacetWords> = profile.facets.iter().map(FacetWords::new).collect();
    let child_document = ParsedPlan::parse(&words, child.text);
    // Both are parsed with the words of all facets, not only the checked ones: where one facet's
    // section ends is often the heading of another.
    let parent_document = ParsedPlan::parse(&words, parent.text);
    let is_checked = |facet: &Facet| {
        facet.levels.is_empty() || facet.levels.iter().any(|level| level == child.level)
    };

    let aliases = AliasGroups::new(
        aliases
            .iter()
            .cloned()
            .chain(child_document.alias_groups())
            .chain(parent_document.alias_groups()),
    );
    let mut warnings = Vec::new();
    for (index, facet) in profile
        .facets
        .iter()
        .enumerate()
        .filter(|(_, facet)| is_checked(facet))
    {
        warnings.extend(match facet.kind {
            FacetKind::Names => check_names(
                facet,
                index,
                (&child_document, &parent_document),
                &aliases,
                parent.alias,
            ),
            FacetKind::Timeline => check_timeline(
                facet,
                index,
                &child_document,
                &parent_document,
                parent.alias,
            ),
        });
    }
    warnings
}

/// Returns the names a plan lists under a facet (`characters`), in order of appearance.
#[must_use]
pub fn list_facet_names(profile: &Profile, facet: &str, text: &str) -> Vec<String> {
    let words: Vec<FacetWords> = profile.facets.iter().map(FacetWords::new).collect();
    let document = ParsedPlan::parse(&words, text);
    let index = profile
        .facets
        .iter()
        .position(|known| known.name == facet && known.kind == FacetKind::Names);
    index
        .map(|index| names::collect_names(&document, index))
        .unwrap_or_default()
}

/// Returns a warning about names that the parent does not mention.
fn check_names(
    facet: &Facet,
    index: usize,
    (child, parent): (&ParsedPlan<'_>, &ParsedPlan<'_>),
    aliases: &AliasGroups,
    alias: &str,
) -> Option<ConsistencyWarning> {
    // A parent without a passage about the facet has nothing to compare with.
    if !parent.mentions_facet(index) {
        return None;
    }
    // The parent's whole text counts as known: a character it mentions in prose is no surprise,
    // even if its list omits it.
    let known = KnownNames::new(&names::collect_names(parent, index), parent.text);
    let is_known = |name: &String| {
        known.contains_name(name)
            || aliases
                .other_names_of(name)
                .any(|other| known.contains_name(other))
    };
    let unknown: Vec<String> = names::collect_names(child, index)
        .into_iter()
        .filter(|name| !is_known(name))
        .collect();
    if unknown.is_empty() {
        return None;
    }
    let listed = join_shortened(
        unknown.len(),
        &unknown
            .iter()
            .take(MAX_NAMES_IN_MESSAGE)
            .cloned()
            .collect::<Vec<_>>(),
    );
    let message = format!("{} not named in parent `{alias}`: {listed}", facet.name);
    Some(ConsistencyWarning {
        facet: facet.name.clone(),
        names: unknown,
        message,
    })
}

/// Returns a warning about moments outside the parent's time span.
fn check_timeline(
    facet: &Facet,
    index: usize,
    child: &ParsedPlan<'_>,
    parent: &ParsedPlan<'_>,
    alias: &str,
) -> Option<ConsistencyWarning> {
    let conflicts = timeline::find_conflicts(
        &timeline::collect_moments(child, index),
        &timeline::collect_moments(parent, index),
    );
    if conflicts.is_empty() {
        return None;
    }
    // Moments that leave the same span share one mention of it: `day 7, day 9 (parent: day 2–4)`.
    let mut parts = Vec::new();
    let mut shown = conflicts.iter().take(MAX_NAMES_IN_MESSAGE).peekable();
    while let Some(conflict) = shown.next() {
        let is_last_of_span = shown.peek().is_none_or(|next| next.span != conflict.span);
        let parent = if is_last_of_span {
            format!(" (parent: {})", conflict.span)
        } else {
            String::new()
        };
        parts.push(format!("{}{parent}", conflict.moment));
    }
    let listed = join_shortened(conflicts.len(), &parts);
    let message = format!("{} leaves that of parent `{alias}`: {listed}", facet.name);
    let names = conflicts
        .into_iter()
        .map(|conflict| conflict.moment)
        .collect();
    Some(ConsistencyWarning {
        facet: facet.name.clone(),
        names,
        message,
    })
}

/// Joins what is shown and counts the rest of `total`.
fn join_shortened(total: usize, shown: &[String]) -> String {
    let listed = shown.join(", ");
    match total.saturating_sub(shown.len()) {
        0 => listed,
        hidden => format!("{listed} and {hidden} more"),
    }
}
