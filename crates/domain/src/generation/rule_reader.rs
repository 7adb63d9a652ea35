//! Reads a text by rules: names, people, places and lasting features, each with its sentence.
//!
//! A reading is a function of the text and the blueprint alone, never of the memory: whom a name means is
//! resolved when readings are projected, so the order of reading does not matter. The rules prefer to miss
//! something over inventing it; a model reads better.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::entity_projection::{NameStems, is_same_name, stems_of_name};
use super::prompts::is_offline_draft;
use super::text_tokens::{Token, split_tokens};
use super::verdict::NewFact;
use super::{feature_rules, text_tokens};
use crate::inflection::{LatinEndings, may_be_same_word};
use crate::memory::split_name;
use crate::prose::join_wrapped_lines;

/// Maximum number of names that are kept of one text.
const MAX_NAMES: usize = 200;
/// Maximum number of people and of places of one text.
const MAX_ENTITIES: usize = 40;
/// Maximum length of a quotation.
const MAX_QUOTE_CHARS: usize = 280;

/// A person or a place that a text names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedEntity {
    pub name: String,
    /// The first sentence that names it; empty if only the blueprint does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
}

/// What rules read in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleReading {
    /// Words of names that act, speak or are planned, in lower case: characters known by one are present.
    pub names: Vec<String>,
    /// Names of the blueprint's cast that the text has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cast: Vec<String>,
    pub people: Vec<NamedEntity>,
    pub places: Vec<NamedEntity>,
    /// Lasting features; the subject is a name of the text.
    pub facts: Vec<NewFact>,
    /// The first and the last sentence.
    pub summary: Vec<String>,
    /// The point of view that the blueprint names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pov: Option<String>,
    /// Capitalised words of the blueprint, in lower case: a place known by one of them is the scene's.
    pub planned_names: Vec<String>,
}

/// What is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct SceneText<'a> {
    pub text: &'a str,
    pub blueprint: &'a str,
    /// Names that the blueprint lists as characters.
    pub characters: &'a [String],
    /// Names that the blueprint lists as locations.
    pub locations: &'a [String],
    /// The point of view that the blueprint names.
    pub pov: Option<&'a str>,
}

/// Reads a text by rules.
#[must_use]
pub fn read_by_rules(scene: SceneText<'_>) -> RuleReading {
    let text = join_wrapped_lines(scene.text);
    let scene = SceneText {
        text: &text,
        ..scene
    };
    let tokens = split_tokens(scene.text);
    // Words that also occur in lower case are no names, wherever they begin a sentence.
    let common: HashSet<&str> = tokens
        .iter()
        .filter(|token| !token.is_capital)
        .map(|token| token.text)
        .collect();
    let planned = scene.characters.iter().map(String::as_str).chain(scene.pov);
    let runs = text_tokens::find_runs(scene.text, &tokens, planned);
    let evidence = gather_evidence(scene.text, &tokens, &runs, &common);
    let mut reading = RuleReading {
        names: collect_present(&evidence, scene),
        cast: collect_cast(&evidence, scene.characters),
        pov: scene.pov.map(str::to_owned),
        planned_names: collect_capitalised(scene.blueprint),
        ..RuleReading::default()
    };
    // The words of a placeholder are the blueprint's: nothing in it happened.
    if !is_offline_draft(scene.text) {
        reading.people = choose_people(&evidence, scene);
        reading.places = choose_places(&evidence, &reading.people, scene);
        reading.facts = feature_rules::find_features(scene.text, &tokens, &runs);
        reading.summary = summarise(scene.text);
    }
    reading
}

/// Returns the words of names that are present: they act, speak, are planned, or named three times. A name
/// that is only thought of is not.
fn collect_present(evidence: &[(&str, NameEvidence)], scene: SceneText<'_>) -> Vec<String> {
    let planned: Vec<String> = scene
        .characters
        .iter()
        .map(String::as_str)
        .chain(scene.pov)
        .flat_map(split_name)
        .collect();
    let mut names: Vec<String> = Vec::new();
    for (name, found) in evidence {
        let parts = split_name(name);
        let is_planned = parts.iter().any(|part| {
            planned
                .iter()
                .any(|word| may_be_same_word(part, word, LatinEndings::Plain))
        });
        if is_planned || found.speaks + found.acts > 0 || found.count > 2 {
            for part in parts {
                if !names.contains(&part) && names.len() < MAX_NAMES {
                    names.push(part);
                }
            }
        }
    }
    names
}

/// Returns the planned characters whom a text names, by any part of the name in any form.
fn collect_cast(evidence: &[(&str, NameEvidence)], planned: &[String]) -> Vec<String> {
    let is_named = |name: &&String| find_evidence(evidence, name).is_some();
    planned.iter().filter(is_named).cloned().collect()
}

/// Returns the evidence of a name that has a part of a planned one, in any form.
fn find_evidence<'e>(
    evidence: &'e [(&str, NameEvidence)],
    planned: &str,
) -> Option<&'e NameEvidence> {
    let parts = split_name(planned);
    let has_part = |(name, _): &&(&str, NameEvidence)| {
        let words = split_name(name);
        parts.iter().any(|part| {
            words
                .iter()
                .any(|word| may_be_same_word(part, word, LatinEndings::Plain))
        })
    };
    evidence.iter().find(has_part).map(|(_, found)| found)
}

/// Returns the capitalised words of a text, in lower case and without repetition.
fn collect_capitalised(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for token in split_tokens(text).iter().filter(|token| token.is_capital) {
        let name = token.text.to_lowercase();
        let is_name = !text_tokens::is_stop_word(&name) && !names.contains(&name);
        if is_name && names.len() < MAX_NAMES {
            names.push(name);
        }
    }
    names
}

/// What speaks for a run of capitalised words being a name.
#[derive(Clone, Debug, Default)]
struct NameEvidence {
    quote: String,
    words: usize,
    count: usize,
    /// Occurrences that do not begin a sentence.
    within: usize,
    /// Whether each of its words also occurs in lower case.
    is_common: bool,
    /// Says something, or has a title.
    speaks: usize,
    /// Is followed by a verb.
    acts: usize,
    /// After `in the`, `at the`.
    place_with_article: usize,
    /// After `in`, `into`.
    place: usize,
}

/// Counts the evidence of each run, in the order of the text.
fn gather_evidence<'t>(
    text: &'t str,
    tokens: &[Token<'t>],
    runs: &[text_tokens::NameRun<'t>],
    common: &HashSet<&str>,
) -> Vec<(&'t str, NameEvidence)> {
    let mut order: Vec<(&str, NameEvidence)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for run in runs {
        let at = *known.entry(run.name).or_insert_with(|| {
            let is_common = split_name(run.name)
                .iter()
                .all(|word| common.contains(word.as_str()));
            let quote = text_tokens::sentence_at(text, run.sentence, MAX_QUOTE_CHARS);
            order.push((
                run.name,
                NameEvidence {
                    quote: quote.to_owned(),
                    words: run.last - run.first + 1,
                    is_common,
                    ..NameEvidence::default()
                },
            ));
            order.len() - 1
        });
        let Some((_, found)) = order.get_mut(at) else {
            continue;
        };
        found.count += 1;
        found.within += usize::from(!run.is_start);
        found.speaks += usize::from(run.has_title || run.is_speaker(tokens));
        found.acts += usize::from(run.is_acting(tokens));
        match run.is_after_place_word(tokens) {
            Some(true) => found.place_with_article += 1,
            Some(false) => found.place += 1,
            None => {}
        }
    }
    order
}

/// Returns the people: those of the blueprint that the text names, then those that speak or act.
fn choose_people(evidence: &[(&str, NameEvidence)], scene: SceneText<'_>) -> Vec<NamedEntity> {
    let mut people: Vec<NamedEntity> = Vec::new();
    // The blueprint's spelling is kept: prose often has a part or an inflected form of the name.
    for planned in scene.characters.iter().map(String::as_str).chain(scene.pov) {
        if let Some(found) = find_evidence(evidence, planned) {
            add_person(&mut people, planned, &found.quote);
        }
    }
    let merged = merge_forms(evidence);
    let candidates = evidence.iter().zip(&merged).filter(|((_, found), all)| {
        let is_whole = all.count > 1 || found.words > 1;
        // The second word of a name that is there twice does not begin a sentence either.
        let is_within = all.within > 0 || found.words > 1 && all.count > 1;
        let is_someone = found.speaks > 0 || found.acts > 0 && is_within;
        let is_somewhere = all.place_with_article + all.place > all.speaks + all.acts;
        !found.is_common && is_whole && is_someone && !is_somewhere
    });
    let mut candidates: Vec<&(&str, NameEvidence)> = candidates.map(|(it, _)| it).collect();
    // Full names before parts of them, frequent forms before rare ones: "Elena" is then Elena Vasquez,
    // and "Елене" is Елена.
    candidates.sort_by_key(|(_, found)| std::cmp::Reverse((found.words, found.count)));
    for (name, found) in candidates {
        add_person(&mut people, name, &found.quote);
    }
    people.truncate(MAX_ENTITIES);
    people
}

/// Returns the evidence of each name together with that of its other forms and parts: "Elena Vasquez had",
/// "Elena's eyes", "дал Елене" are one person.
fn merge_forms(evidence: &[(&str, NameEvidence)]) -> Vec<NameEvidence> {
    let stems: Vec<NameStems> = evidence
        .iter()
        .map(|(name, _)| stems_of_name(name))
        .collect();
    // By stem: comparing each name with each other one would make a long text quadratic.
    let mut by_stem: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, name) in stems.iter().enumerate() {
        for stem in name.iter().flatten() {
            by_stem.entry(stem).or_default().push(at);
        }
    }
    let merge = |((_, found), name): (&(&str, NameEvidence), &NameStems)| {
        let similar = name
            .iter()
            .flatten()
            .filter_map(|it| by_stem.get(it.as_str()));
        let similar: BTreeSet<usize> = similar.flatten().copied().collect();
        let mut all = NameEvidence {
            quote: String::new(),
            ..found.clone()
        };
        (all.count, all.within, all.speaks, all.acts) = (0, 0, 0, 0);
        (all.place_with_article, all.place) = (0, 0);
        for at in similar {
            if let (Some(other), Some((_, found))) = (stems.get(at), evidence.get(at))
                && is_same_name(name, other)
            {
                all.count += found.count;
                all.within += found.within;
                all.speaks += found.speaks;
                all.acts += found.acts;
                all.place_with_article += found.place_with_article;
                all.place += found.place;
            }
        }
        all
    };
    evidence.iter().zip(&stems).map(merge).collect()
}

/// Adds a person, unless one of the same name is there; of "Elena" and "Elena Vasquez" the full name is kept.
fn add_person(people: &mut Vec<NamedEntity>, name: &str, quote: &str) {
    let parts = split_name(name);
    let is_part_of_it = |it: &&mut NamedEntity| {
        let known = split_name(&it.name);
        // In the same form: "Еленой Орловой" is no better name than "Елена".
        known.len() < parts.len() && known.iter().all(|part| parts.contains(part))
    };
    match people.iter_mut().find(is_part_of_it) {
        Some(known) => name.clone_into(&mut known.name),
        None => add_entity(people, name, quote),
    }
}

/// Returns the places: those of the blueprint, then those that the text is in.
fn choose_places(
    evidence: &[(&str, NameEvidence)],
    people: &[NamedEntity],
    scene: SceneText<'_>,
) -> Vec<NamedEntity> {
    let mut places: Vec<NamedEntity> = Vec::new();
    for planned in scene.locations {
        add_entity(&mut places, planned, "");
    }
    for (name, found) in evidence {
        // `at Elena's` and `into Marcus` look like places by their grammar.
        let is_person = people.iter().any(|it| shares_name(&it.name, name));
        let is_named = found.place_with_article > 0 && found.within > 0 || found.place > 1;
        if is_named && !is_person && (!found.is_common || found.words > 1) {
            add_entity(&mut places, name, &found.quote);
        }
    }
    places.truncate(MAX_ENTITIES);
    places
}

/// Adds an entity, unless one of the same name is there.
fn add_entity(entities: &mut Vec<NamedEntity>, name: &str, quote: &str) {
    if split_name(name).is_empty() || entities.iter().any(|it| shares_name(&it.name, name)) {
        return;
    }
    entities.push(NamedEntity {
        name: name.to_owned(),
        quote: quote.to_owned(),
    });
}

/// Whether all parts of the shorter name are in the longer one, in any form.
fn shares_name(one: &str, other: &str) -> bool {
    let (one, other) = (split_name(one), split_name(other));
    let (short, long) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let has = |part: &String| {
        long.iter()
            .any(|word| may_be_same_word(part, word, LatinEndings::Plain))
    };
    !short.is_empty() && short.iter().all(has)
}

/// Returns the first and the last sentence of the prose.
fn summarise(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        // Headings, quotations, tags and tables are not the scene's prose.
        .filter(|line| !line.is_empty() && !line.starts_with(['#', '>', '<', '-', '*', '|']))
        .collect();
    let sentences = |line: &str| -> Vec<String> {
        let parts = line.split_inclusive(['.', '!', '?', '…']);
        let cut = |part: &str| {
            part.trim()
                .chars()
                .take(MAX_QUOTE_CHARS)
                .collect::<String>()
        };
        parts
            .map(cut)
            .filter(|part| part.chars().any(char::is_alphabetic))
            .collect()
    };
    let first = lines
        .first()
        .and_then(|line| sentences(line).into_iter().next());
    let last = lines
        .last()
        .and_then(|line| sentences(line).into_iter().next_back());
    let mut summary: Vec<String> = first.into_iter().chain(last).collect();
    summary.dedup();
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, characters: &[&str], pov: Option<&str>) -> RuleReading {
        let characters: Vec<String> = characters.iter().map(|it| (*it).to_owned()).collect();
        read_by_rules(SceneText {
            text,
            characters: &characters,
            pov,
            ..SceneText::default()
        })
    }

    fn names(entities: &[NamedEntity]) -> Vec<&str> {
        entities.iter().map(|it| it.name.as_str()).collect()
    }

    /// Defect: a manuscript with wrapped lines lost who spoke, and what was said, at the end of a line.
    #[test]
    fn a_wrapped_line_is_read_like_the_line_before_it_was_wrapped() {
        let whole = "\"Who writes to you?\" asked Ines. \"Nobody,\" said Mara Lind, and hid it from Ines. She \
            saw that Ines had green eyes, and Mara Lind laughed.";
        let wrapped = whole.replace("said Mara", "said\nMara");
        let wrapped = wrapped
            .replace("green eyes", "green\neyes")
            .replace("Mara Lind laughed", "Mara\nLind laughed");
        let reading = read(&wrapped, &[], None);
        assert_eq!(names(&reading.people), ["Mara Lind", "Ines"]);
        assert_eq!(reading, read(whole, &[], None));
    }

    /// Defect: nobody was named, because no single spelling both acts and is within a sentence.
    #[test]
    fn a_protagonist_is_found_by_all_forms_and_parts_of_the_name() {
        for (text, name, fact) in [
            (
                "Elena Vasquez had green eyes. Elena Vasquez opened the door and laughed. Elena's eyes were wet.",
                "Elena Vasquez",
                "green",
            ),
            (
                "Елена Орлова молчала. У Елены были зелёные глаза. Пётр дал Елене книгу.",
                "Елена Орлова",
                "зелёные",
            ),
        ] {
            let found = read(text, &[], None);
            assert_eq!(names(&found.people), [name], "{text}");
            let facts: Vec<&str> = found.facts.iter().map(|it| it.object.as_str()).collect();
            assert_eq!(facts, [fact], "{text}");
        }
    }

    /// Defect: "In the Archive Marcus waited" made a character Archive Marcus.
    #[test]
    fn a_place_before_a_person_is_not_part_of_the_name() {
        let text = "In the Archive Marcus waited. At last Marcus laughed.";
        let found = read(text, &[], None);
        assert_eq!(names(&found.people), ["Marcus"]);
        assert_eq!(names(&found.places), ["Archive"]);
    }

    /// Defect: a preposition and a place became a part of a person's name.
    #[test]
    fn what_stands_before_a_name_is_not_part_of_it() {
        for before in [
            "In London",
            "In Port Verity",
            "At Christmas",
            "Yesterday",
            "On Monday",
            "In the Archive",
        ] {
            let text = format!("{before} Elena waited. Then Elena laughed, and Elena asked him.");
            assert_eq!(names(&read(&text, &[], None).people), ["Elena"], "{before}");
            let text = format!("{before} Elena Vasquez waited for him.");
            let found = read(&text, &["Elena Vasquez"], None);
            assert_eq!(names(&found.people), ["Elena Vasquez"], "{before}");
        }
        for text in [
            "В Лондоне Мара ждала. Но Мара молчала.",
            "Однажды Мара запела. Но Мара молчала.",
            "Вчера Мара запела. Но Мара молчала.",
        ] {
            assert_eq!(names(&read(text, &[], None).people), ["Мара"], "{text}");
        }
    }

    /// Defect: who was dead tired was dead, and every later scene with them was held.
    #[test]
    fn a_figure_of_speech_kills_nobody() {
        for text in [
            "Marcus was dead on his feet.",
            "Marcus was dead tired by then.",
            "Marcus was dead certain of it.",
            "Marcus died of laughter.",
            "Marcus died of pure embarrassment.",
            "Marcus died a little every time.",
            "Marcus died laughing.",
            "Marcus was buried in work.",
            "Марк умер от смеха.",
            "Марк умер со смеху.",
        ] {
            assert_eq!(read(text, &[], None).facts, [], "{text}");
        }
        for text in [
            "Marcus died that night.",
            "Marcus died of a fever.",
            "Marcus was dead by morning.",
            "Marcus was dead.",
            "Marcus was dead, and she knew it.",
            "Marcus lay dead on the floor.",
            "Marcus was killed by the blast.",
            "Marcus was buried in the yard.",
            "Марк умер от раны.",
            "Марк умер той ночью.",
        ] {
            let found = read(text, &[], None).facts;
            assert_eq!(found.len(), 1, "{text}");
        }
    }

    /// Defect: "крикнула Анна Олегу" made a character Анна Олегу.
    #[test]
    fn names_in_different_cases_are_different_people() {
        for (text, people) in [
            (
                "— Стой! — крикнула Анна Олегу. Но Анна молчала. У Олега карие глаза. Потом Олег сказал ей.",
                ["Анна", "Олег"],
            ),
            (
                "— Стой! — сказал Иван Марии. Но Мария молчала. Потом Мария ушла. И Иван сказал ей.",
                ["Иван", "Мария"],
            ),
            (
                "— Стой! — сказал Петру Лев. Но Пётр молчал. Потом Пётр ушёл, и Лев сказал ему.",
                ["Пётр", "Лев"],
            ),
        ] {
            let found = read(text, &[], None);
            let mut found = names(&found.people);
            found.sort_unstable();
            let mut people = people;
            people.sort_unstable();
            assert_eq!(found, people, "{text}");
        }
        let found = read(
            "— Стой! — сказала Анна Сергеевна Иванову. Анна умерла.",
            &[],
            None,
        );
        assert_eq!(names(&found.people), ["Анна Сергеевна"]);
    }

    /// Defect: with `POV: Elena` before `- Elena Vasquez` the memory had only an Elena, and "Vasquez" was nobody.
    #[test]
    fn the_full_name_of_the_blueprint_is_kept() {
        let text = "Elena opened the drawer.";
        for cast in [["Elena", "Elena Vasquez"], ["Elena Vasquez", "Elena"]] {
            let found = read(text, &cast, Some("Elena"));
            assert_eq!(names(&found.people), ["Elena Vasquez"]);
        }
        let found = read("Елена молчала.", &["Елена", "Елена Орлова"], Some("Елена"));
        assert_eq!(names(&found.people), ["Елена Орлова"]);
        // Another form of the name is no better one.
        let text = "Елена молчала. Пётр гордился Еленой Орловой. Потом Елена ушла.";
        assert_eq!(names(&read(text, &["Елена"], None).people), ["Елена"]);
    }
}
