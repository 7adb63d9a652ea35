//! Which facts exclude each other, and what a judge's verdict says against the canon.
//!
//! Elena knows many things and was born once: only a few predicates have a single value. Two facts with any
//! other predicate exclude each other only if they differ in nothing but a colour, a number or the like.

use super::checks::SceneExpectations;
use super::continuity::{DEATH_STEMS, SceneContext};
use super::record::{FindingSeverity, SceneFinding};
use super::value_classes::classify_value;
use super::verdict::{NewFact, SceneVerdict};
use crate::memory::{StoryFact, StoryMemory, Truth};
use crate::search::split_words;
use crate::tick::tools::contains_quote;

/// Words of predicates with a single value, by their beginnings.
const SINGLE_VALUED: &[&str] = &[
    "eye",
    "hair",
    "beard",
    "moustache",
    "born",
    "birth",
    "age",
    "aged",
    "height",
    "surname",
    "глаз",
    "волос",
    "бород",
    "родил",
    "рожд",
    "возраст",
    "рост",
    "фамил",
    "зовут",
];
/// Words that begin like one of them.
const OTHER_WORDS: &[&str] = &["agen", "agree", "eyewit", "росто"];
const LIFE_STEMS: &[&str] = &["alive", "живой", "жива", "жив"];

/// Whether two facts about the same subject with the same predicate cannot both be true.
#[must_use]
pub fn are_exclusive(predicate: &str, one: &str, other: &str) -> bool {
    let (one, other) = (split_words(one), split_words(other));
    if one == other {
        return false;
    }
    let is_single = |word: &String| {
        let begins = |stem: &&str| word.starts_with(stem);
        SINGLE_VALUED.iter().any(begins) && !OTHER_WORDS.iter().any(begins)
    };
    if split_words(predicate).iter().any(is_single) {
        return true;
    }
    let says = |words: &[String], stems: &[&str]| {
        let begins = |word: &String| stems.iter().any(|stem| word.starts_with(stem));
        words.iter().any(begins)
    };
    let is_dead = |words: &[String]| says(words, DEATH_STEMS);
    if is_dead(&one) && says(&other, LIFE_STEMS) || is_dead(&other) && says(&one, LIFE_STEMS) {
        return true;
    }
    differ_in_values(&one, &other)
}

/// Whether two texts say the same but for the value of a class, such as a colour.
fn differ_in_values(one: &[String], other: &[String]) -> bool {
    let rest = |words: &[String]| -> Vec<String> {
        let plain = words.iter().filter(|word| classify_value(word).is_none());
        plain.cloned().collect()
    };
    let values = |words: &[String]| -> Vec<(usize, usize)> {
        words
            .iter()
            .filter_map(|word| classify_value(word))
            .collect()
    };
    let (mine, theirs) = (values(one), values(other));
    let classes = |all: &[(usize, usize)]| all.iter().map(|(class, _)| *class).collect::<Vec<_>>();
    !mine.is_empty()
        && classes(&mine) == classes(&theirs)
        && mine != theirs
        && rest(one) == rest(other)
}

/// Adds what a verdict says against the canon: a claimed fact that an earlier one excludes is a finding, and a
/// judge's finding that names a fact of the canon is a MUST, however the judge weighs it. What a person
/// intended is none.
pub(super) fn weigh_against_canon(
    findings: &mut Vec<SceneFinding>,
    verdict: &SceneVerdict,
    expected: &SceneExpectations<'_>,
) {
    let story = expected.story_context();
    findings.retain_mut(|finding| {
        if finding.check != "continuity" {
            return true;
        }
        let Some(fact) = find_named_fact(finding, &story) else {
            return true;
        };
        finding.severity = FindingSeverity::Must;
        let quote = finding.quote.as_deref().unwrap_or_default();
        !is_intended(story.memory, fact, quote)
    });
    for claim in &verdict.facts {
        if let Some(finding) = find_excluded_claim(claim, &story) {
            let is_known = findings.iter().any(|known| {
                known.check == finding.check
                    && (known.against == finding.against || known.quote == finding.quote)
            });
            if !is_known {
                findings.push(finding);
            }
        }
    }
}

/// Returns the fact of the canon that a finding names: the judge quoted what it was shown, or the words of the
/// scene that said it.
fn find_named_fact<'m>(finding: &SceneFinding, story: &SceneContext<'m>) -> Option<&'m StoryFact> {
    let against = finding.against.as_deref()?;
    let named = split_words(against);
    story.memory.facts().find(|fact| {
        let says = split_words(&format!("{} {}", fact.predicate, fact.object));
        let is_stated = || !says.is_empty() && says.iter().all(|word| named.contains(word));
        let is_quoted = || {
            let quote = fact.quote.as_deref();
            quote.is_some_and(|quote| named.len() > 1 && contains_quote(quote, against))
        };
        story.is_in_force(fact) && (is_stated() || is_quoted())
    })
}

/// Returns the finding about a claim that an earlier fact excludes.
fn find_excluded_claim(claim: &NewFact, story: &SceneContext<'_>) -> Option<SceneFinding> {
    let memory = story.memory;
    let subject = memory.identify_subject(&claim.subject);
    let fact = memory.facts().find(|fact| {
        fact.predicate.to_lowercase() == claim.predicate.to_lowercase()
            && story.is_in_force(fact)
            && memory.identify_subject(&fact.subject) == subject
            && are_exclusive(&claim.predicate, &fact.object, &claim.object)
    })?;
    if is_intended(memory, fact, &claim.object) {
        return None;
    }
    let name = match memory.get(&subject) {
        Some(entry) => entry.name(),
        None => claim.subject.clone(),
    };
    let (was, now) = (&fact.object, &claim.object);
    Some(SceneFinding {
        check: "continuity".to_owned(),
        severity: FindingSeverity::Must,
        problem: format!(
            "{name} {}: it was `{was}`, and is `{now}` here",
            claim.predicate
        ),
        quote: Some(claim.quote.clone()),
        against: Some(story.cite_fact(fact, &name)),
    })
}

/// Whether a person intended a fact beside this one that a text says.
fn is_intended(memory: &StoryMemory, fact: &StoryFact, text: &str) -> bool {
    let said = split_words(text);
    let subject = memory.identify_subject(&fact.subject);
    memory.facts().any(|it| {
        let object = split_words(&it.object);
        it.truth == Truth::Intended
            && memory.identify_subject(&it.subject) == subject
            && it.predicate.to_lowercase() == fact.predicate.to_lowercase()
            && !object.is_empty()
            && object.iter().all(|word| said.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::memory::{Character, Entry};

    #[test]
    fn only_what_has_one_value_excludes_another() {
        for (predicate, one, other) in [
            ("was born in", "Oporto", "Lisbon"),
            ("eyes", "green", "grey"),
            ("has eyes", "green", "hazel and small"),
            ("глаза", "зелёные", "карие"),
            ("is", "thirty years old", "forty years old"),
            ("is", "dead", "alive"),
            ("carries a scar on", "the left cheek", "the right cheek"),
        ] {
            assert!(
                are_exclusive(predicate, one, other),
                "{predicate} {one} {other}"
            );
            assert!(
                are_exclusive(predicate, other, one),
                "{predicate} {other} {one}"
            );
        }
        for (predicate, one, other) in [
            ("knows", "the map is gone", "Marcus lied"),
            ("owns", "two horses", "three dogs"),
            ("is", "dead", "tall"),
            ("is the sister of", "Elena", "Marcus"),
            ("is an agent of", "the crown", "the harbour"),
            ("eyes", "green", "Green"),
        ] {
            assert!(
                !are_exclusive(predicate, one, other),
                "{predicate} {one} {other}"
            );
        }
    }

    fn memory() -> StoryMemory {
        let mut memory = StoryMemory::default();
        memory.add_entry(Entry::Character(Character {
            name: "Elena Vasquez".to_owned(),
            ..Character::default()
        }));
        memory.add_entry(Entry::Fact(fact("was born in", "Oporto")));
        memory
    }

    fn fact(predicate: &str, object: &str) -> StoryFact {
        StoryFact {
            subject: "C0".to_owned(),
            predicate: predicate.to_owned(),
            object: object.to_owned(),
            ..StoryFact::default()
        }
    }

    fn weigh(memory: &StoryMemory, verdict: &SceneVerdict) -> Vec<(String, FindingSeverity)> {
        let earlier = BTreeSet::new();
        let expected = SceneExpectations {
            blueprint: "",
            pov: None,
            characters: &[],
            words: 0,
            before: None,
            memory,
            earlier: &earlier,
            forbidden: &[],
        };
        let mut findings = verdict.findings.clone();
        weigh_against_canon(&mut findings, verdict, &expected);
        let told = findings.into_iter().map(|it| (it.problem, it.severity));
        told.collect()
    }

    fn judged(against: Option<&str>) -> SceneVerdict {
        let finding = |against: &str| SceneFinding {
            check: "continuity".to_owned(),
            severity: FindingSeverity::Should,
            problem: "born elsewhere".to_owned(),
            quote: Some("Elena was born in Lisbon".to_owned()),
            against: Some(against.to_owned()),
        };
        SceneVerdict {
            findings: against.map(finding).into_iter().collect(),
            facts: match against {
                Some(_) => Vec::new(),
                None => vec![NewFact {
                    subject: "Elena".to_owned(),
                    predicate: "was born in".to_owned(),
                    object: "Lisbon".to_owned(),
                    quote: "Elena was born in Lisbon".to_owned(),
                }],
            },
            ..SceneVerdict::default()
        }
    }

    /// Defect: a judge that found the contradiction and called it SHOULD let the scene into the book, and one that
    /// only claimed the other fact did so without a word.
    #[test]
    fn what_a_judge_says_against_the_canon_is_a_must() {
        let claimed = weigh(&memory(), &judged(None));
        let problem = "Elena Vasquez was born in: it was `Oporto`, and is `Lisbon` here".to_owned();
        assert_eq!(claimed, [(problem, FindingSeverity::Must)]);
        let known = judged(Some("Elena Vasquez was born in Oporto (since One)"));
        let found = weigh(&memory(), &known);
        assert_eq!(
            found,
            [("born elsewhere".to_owned(), FindingSeverity::Must)]
        );
        // What contradicts something else than a fact is weighed by the judge.
        let other = weigh(&memory(), &judged(Some("the scene before")));
        assert_eq!(
            other,
            [("born elsewhere".to_owned(), FindingSeverity::Should)]
        );
    }

    /// Defect: the author's fact about "Elena Vasquez" was about nobody, and the opposite became canon beside it.
    #[test]
    fn a_fact_about_a_name_is_about_the_one_who_has_it() {
        for subject in ["Elena Vasquez", "elena", "c0"] {
            let mut memory = memory();
            memory.remove_entry("F0");
            memory.add_entry(Entry::Fact(StoryFact {
                subject: subject.to_owned(),
                ..fact("was born in", "Oporto")
            }));
            assert_eq!(weigh(&memory, &judged(None)).len(), 1, "{subject}");
        }
    }

    #[test]
    fn what_a_person_intended_is_no_finding() {
        let mut memory = memory();
        memory.add_entry(Entry::Fact(StoryFact {
            truth: Truth::Intended,
            ..fact("was born in", "Lisbon")
        }));
        assert_eq!(weigh(&memory, &judged(None)), []);
        assert_eq!(weigh(&memory, &judged(Some("was born in Oporto"))), []);
    }
}
