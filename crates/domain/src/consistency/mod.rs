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
use extract::{ParsedPlan, Passage};
use known_names::{AliasGroups, KnownNames};
use moments::Moment;
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
    let check = ConsistencyCheck::new(profile);
    let parent = check.read_parent(parent, child.level);
    check.check_plan(child, &parent, aliases)
}

/// Comparisons of many plans: the words of the facets are prepared once, and a parent is read once for
/// all its children.
pub struct ConsistencyCheck<'p> {
    profile: &'p Profile,
    words: Vec<FacetWords>,
}

/// What a parent says, as far as plans of one level are compared with it.
pub struct ParentFacets {
    alias: String,
    alias_groups: Vec<Vec<String>>,
    /// One for each facet of the profile; `None` if it is not compared.
    facets: Vec<Option<ParentFacet>>,
}

impl ParentFacets {
    /// The parent's alias.
    #[must_use]
    pub fn alias(&self) -> &str {
        &self.alias
    }
}

enum ParentFacet {
    Names(Box<KnownNames>),
    Timeline(Vec<Moment>),
}

impl<'p> ConsistencyCheck<'p> {
    /// Prepares the comparison of plans of a profile.
    #[must_use]
    pub fn new(profile: &'p Profile) -> Self {
        Self {
            profile,
            words: profile.facets.iter().map(FacetWords::new).collect(),
        }
    }

    /// Reads a parent, for its children of one level.
    #[must_use]
    pub fn read_parent(&self, parent: ComparedPlan<'_>, child_level: &str) -> ParentFacets {
        // With the words of all facets, not only the checked ones: where one facet's section ends is
        // often the heading of another.
        let document = ParsedPlan::parse(&self.words, parent.text);
        let passages = document.collect_passages();
        let read_facet = |(index, facet): (usize, &Facet)| {
            let is_checked =
                facet.levels.is_empty() || facet.levels.iter().any(|level| level == child_level);
            let about = FacetPassages {
                document: &document,
                facet: index,
                passages: &passages[index],
            };
            match facet.kind {
                _ if !is_checked => None,
                // A parent without a passage about the facet, be it an empty one, has nothing to
                // compare with.
                FacetKind::Names if about.passages.is_empty() => None,
                // The parent's whole text counts as known: a character it mentions in prose is no
                // surprise, even if its list omits it.
                FacetKind::Names => Some(ParentFacet::Names(Box::new(KnownNames::new(
                    &names::collect_names(about),
                    document.text,
                )))),
                FacetKind::Timeline => {
                    Some(ParentFacet::Timeline(timeline::collect_moments(about)))
                }
            }
        };
        ParentFacets {
            alias: parent.alias.to_owned(),
            alias_groups: document.alias_groups(),
            facets: self
                .profile
                .facets
                .iter()
                .enumerate()
                .map(read_facet)
                .collect(),
        }
    }

    /// Compares a plan with its parent; see [`check_consistency`].
    #[must_use]
    pub fn check_plan(
        &self,
        child: ComparedPlan<'_>,
        parent: &ParentFacets,
        aliases: &[Vec<String>],
    ) -> Vec<ConsistencyWarning> {
        let document = ParsedPlan::parse(&self.words, child.text);
        let aliases = AliasGroups::new(
            aliases
                .iter()
                .cloned()
                .chain(document.alias_groups())
                .chain(parent.alias_groups.iter().cloned()),
        );
        let passages = document.collect_passages();
        let facets = self.profile.facets.iter().zip(&parent.facets).enumerate();
        facets
            .filter_map(|(index, (facet, of_parent))| {
                let own = FacetPassages {
                    document: &document,
                    facet: index,
                    passages: &passages[index],
                };
                match of_parent.as_ref()? {
                    ParentFacet::Names(known) => {
                        check_names(facet, own, known, &aliases, &parent.alias)
                    }
                    ParentFacet::Timeline(moments) => {
                        check_timeline(facet, own, moments, &parent.alias)
                    }
                }
            })
            .collect()
    }
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
        .map(|facet| {
            names::collect_names(FacetPassages {
                document: &document,
                facet,
                passages: &document.collect_passages()[facet],
            })
        })
        .unwrap_or_default()
}

/// The passages of a plan about one facet.
#[derive(Clone, Copy)]
struct FacetPassages<'d> {
    document: &'d ParsedPlan<'d>,
    facet: usize,
    passages: &'d [Passage<'d>],
}

/// Returns a warning about names that the parent does not mention.
fn check_names(
    facet: &Facet,
    child: FacetPassages<'_>,
    known: &KnownNames,
    aliases: &AliasGroups,
    alias: &str,
) -> Option<ConsistencyWarning> {
    let is_known = |name: &String| {
        known.contains_name(name)
            || aliases
                .other_names_of(name)
                .any(|other| known.contains_name(other))
    };
    let unknown: Vec<String> = names::collect_names(child)
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
    child: FacetPassages<'_>,
    parent: &[Moment],
    alias: &str,
) -> Option<ConsistencyWarning> {
    let conflicts = timeline::find_conflicts(&timeline::collect_moments(child), parent);
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
