//! Continuity check of a scene against dated facts, without a model: changed values, dead
//! characters that act, and knowledge the point of view cannot have.
//!
//! It reports only what two quotes show: the scene's sentence, and the fact with its scene. Words
//! are compared by their beginnings, so that inflection does not matter in any language; colours,
//! numbers and the like are lists.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::record::{FindingSeverity, SceneFinding};
use super::sentences::{MIN_SIGNIFICANT_CHARS, Sentence, share_stem, split_sentences};
use super::text_tokens::is_stop_word;
use super::value_classes::classify_value;
use crate::front_matter;
use crate::memory::{Character, StoryFact, StoryMemory, Truth, split_name};
use crate::prose::join_wrapped_lines;
use crate::search::split_words;

/// Stems that say that someone is dead.
pub(super) const DEATH_STEMS: &[&str] = &[
    "dead",
    "died",
    "killed",
    "murdered",
    "buried",
    "мёртв",
    "мертв",
    "умер",
    "погиб",
    "убит",
    "tot",
    "gestorben",
];
/// Marks of direct speech.
pub(super) const SPEECH_MARKS: &[char] = &['"', '“', '”', '«', '»', '„', '—'];

/// The position of a scene in the story, and its point of view.
pub struct SceneContext<'a> {
    pub memory: &'a StoryMemory,
    /// The point-of-view character.
    pub pov: Option<&'a Character>,
    /// Memory ids of the scenes that come earlier in the plan.
    pub earlier: &'a BTreeSet<String>,
}

/// Returns whom a blueprint names as its point of view: front matter key `pov`, or a line `POV: …`.
#[must_use]
pub fn point_of_view_name(blueprint: &str) -> Option<String> {
    let matter = front_matter::parse_front_matter(blueprint).keys;
    let above = ["pov", "pov_character"]
        .iter()
        .find_map(|key| matter.get(*key)?.as_str().map(str::to_owned));
    let line = || {
        let (_, body) = front_matter::split_front_matter(blueprint);
        body.lines().find_map(|line| {
            let bare = line
                .trim_start_matches(['-', '*', '#', ' '])
                .replace("**", "");
            let (key, value) = bare.split_once(':')?;
            let key = key.trim().to_lowercase();
            matches!(
                key.as_str(),
                "pov" | "pov character" | "point of view" | "точка зрения"
            )
            .then(|| value.trim().to_owned())
        })
    };
    above.or_else(line).filter(|name| !name.is_empty())
}

/// Returns the findings of a text against the facts that hold at its moment.
#[must_use]
pub fn check_continuity(text: &str, moment: &SceneContext<'_>) -> Vec<SceneFinding> {
    let text = join_wrapped_lines(text);
    let sentences = split_sentences(&text);
    // Once for each subject: a novel has thousands of facts about the same few people.
    let mut subjects: HashMap<&str, SubjectMentions<'_, '_>> = HashMap::new();
    let mut findings: Vec<SceneFinding> = Vec::new();
    for fact in moment
        .memory
        .facts()
        .filter(|fact| moment.is_in_force(fact))
    {
        let subject = &*subjects
            .entry(&fact.subject)
            .or_insert_with(|| moment.find_mentions(fact, &sentences));
        if subject.sentences.is_empty() {
            continue;
        }
        let Some(question) = moment.question_fact(fact) else {
            continue;
        };
        let mut found = subject.sentences.iter().filter_map(|sentence| {
            let found = moment.find_contradiction(&question, subject, sentence)?;
            Some((found, sentence.text))
        });
        // One finding per fact: the first sentence that contradicts it is enough to fix it.
        let Some(((severity, check, problem), quote)) = found.next() else {
            continue;
        };
        // What is not certain is said once of a sentence, not for each fact that is like it.
        let is_told = severity != FindingSeverity::Must
            && findings
                .iter()
                .any(|it| it.check == check && it.quote.as_deref() == Some(quote));
        if !is_told {
            findings.push(SceneFinding {
                check: check.to_owned(),
                severity,
                problem,
                quote: Some(quote.to_owned()),
                against: Some(moment.cite_fact(fact, &subject.name)),
            });
        }
    }
    findings
}

/// A fact that a sentence may contradict, with its words read once for all of them.
struct QuestionedFact<'f> {
    fact: &'f StoryFact,
    words: Vec<String>,
    is_death: bool,
    /// Per class of values: the index of the word, and the value.
    values: BTreeMap<usize, (usize, usize)>,
    /// The point of view, if it cannot know the fact.
    unknown_to: Option<&'f Character>,
}

/// Whether a word says that someone is dead.
fn tells_death(word: &str) -> bool {
    DEATH_STEMS.iter().any(|dead| word.starts_with(dead))
}

/// The sentences that name the subject of a fact.
struct SubjectMentions<'s, 't> {
    name: String,
    /// The words by which a text names the subject.
    names: Vec<String>,
    sentences: Vec<&'s Sentence<'t>>,
}

impl SceneContext<'_> {
    fn find_mentions<'s, 't>(
        &self,
        fact: &StoryFact,
        sentences: &'s [Sentence<'t>],
    ) -> SubjectMentions<'s, 't> {
        // A subject without a name of more than two letters is found nowhere: it would be in almost every
        // sentence.
        let subject = self.memory.identify_subject(&fact.subject);
        let names = self.names_of_subject(&subject);
        let named = sentences.iter().filter(|it| it.has_name(&names));
        SubjectMentions {
            name: match self.memory.get(&subject) {
                Some(entry) => entry.name(),
                None => fact.subject.clone(),
            },
            sentences: named.collect(),
            names,
        }
    }

    /// Returns the words by which a text names the subject of a fact.
    fn names_of_subject(&self, subject: &str) -> Vec<String> {
        match self.memory.get(subject) {
            Some(entry) => {
                let all = entry.other_names().iter().cloned();
                let all = std::iter::once(entry.name()).chain(all);
                all.flat_map(|name| split_name(&name)).collect()
            }
            None => split_name(subject),
        }
    }

    /// Whether a fact holds at the scene: it began before and has not ended.
    pub(super) fn is_in_force(&self, fact: &StoryFact) -> bool {
        // By the order of the plan, not of writing: a scene may be written after one that follows
        // it.
        let is_earlier = |scene: &Option<String>| {
            scene
                .as_ref()
                .is_some_and(|scene| self.earlier.contains(scene))
        };
        fact.truth == Truth::Canon
            && (fact.valid_from.is_none() || is_earlier(&fact.valid_from))
            && !is_earlier(&fact.valid_to)
    }

    /// Reads the words of a fact; `None` if nothing can contradict it.
    fn question_fact<'f>(&'f self, fact: &'f StoryFact) -> Option<QuestionedFact<'f>> {
        let words = split_words(&format!("{} {}", fact.predicate, fact.object));
        let classified = words.iter().enumerate();
        let values: BTreeMap<usize, (usize, usize)> = classified
            .filter_map(|(at, word)| {
                classify_value(word).map(|(class, value)| (class, (at, value)))
            })
            .collect();
        let is_death = words.iter().any(|word| tells_death(word));
        let unknown_to = self.pov.filter(|pov| !self.may_know(pov, fact));
        (is_death || !values.is_empty() || unknown_to.is_some()).then_some(QuestionedFact {
            fact,
            words,
            is_death,
            values,
            unknown_to,
        })
    }

    /// Returns how a sentence contradicts a fact, if it does: severity, check, problem. Only what the sentence
    /// certainly says of the subject is a MUST, which holds the scene.
    fn find_contradiction(
        &self,
        question: &QuestionedFact<'_>,
        subject: &SubjectMentions<'_, '_>,
        sentence: &Sentence<'_>,
    ) -> Option<(FindingSeverity, &'static str, String)> {
        let (name, names) = (&subject.name, &subject.names);
        let severity = |is_certain| match is_certain {
            // A contradiction of the canon that is committed becomes the next scene's truth.
            true => FindingSeverity::Must,
            false => FindingSeverity::Should,
        };
        if question.is_death {
            // "Ivo, dead for years, had said …" remembers the dead, which is allowed.
            let is_remembered = sentence.words.iter().any(|word| tells_death(word));
            let is_certain = sentence.find_action(names).filter(|_| !is_remembered)?;
            let problem = format!("{name} is dead by now, and acts here");
            return Some((severity(is_certain), "continuity", problem));
        }
        if let Some(changed) = find_changed_value(question, names, sentence)
            && !self.is_intended(question.fact, &changed.now)
        {
            let ChangedValue {
                was,
                now,
                is_certain,
            } = changed;
            let problem = format!("{name}: it was `{was}`, and is `{now}` here");
            return Some((severity(is_certain), "continuity", problem));
        }
        let pov = question.unknown_to?;
        // Direct speech is how a character learns something.
        let is_told = sentence.text.contains(SPEECH_MARKS);
        (!is_told && states_fact(sentence, question.fact, names)).then(|| {
            let problem = format!(
                "{} was not there and cannot know this, unless it is told here",
                pov.name
            );
            (FindingSeverity::Should, "pov", problem)
        })
    }

    /// Whether a person meant this value, although it contradicts a fact.
    fn is_intended(&self, fact: &StoryFact, value: &str) -> bool {
        let value = classify_value(value);
        let subject = self.memory.identify_subject(&fact.subject);
        self.memory.facts().any(|it| {
            let says_it = || {
                split_words(&format!("{} {}", it.predicate, it.object))
                    .iter()
                    .any(|word| classify_value(word) == value)
            };
            it.truth == Truth::Intended
                && says_it()
                && self.memory.identify_subject(&it.subject) == subject
        })
    }

    /// Whether a character can know a fact: it is about them, they were present, or they were told.
    fn may_know(&self, character: &Character, fact: &StoryFact) -> bool {
        // A fact without a scene is background that everyone may know.
        let Some(scene) = &fact.valid_from else {
            return true;
        };
        // A scene that is missing from the memory cannot prove that someone was absent.
        let was_there = self
            .memory
            .scenes()
            .find(|it| it.id == *scene)
            .is_none_or(|scene| {
                scene.pov.as_ref() == Some(&character.id)
                    || scene.characters.contains(&character.id)
            });
        was_there
            || character.knows.contains(&fact.id)
            || self.memory.identify_subject(&fact.subject) == character.id
    }

    /// Returns the quote of a fact with its scene.
    pub(super) fn cite_fact(&self, fact: &StoryFact, subject: &str) -> String {
        let from = fact
            .valid_from
            .as_deref()
            .map(|scene| format!("{scene}: "))
            .unwrap_or_default();
        match &fact.quote {
            Some(quote) => format!("{from}{quote}"),
            None => format!(
                "{from}{subject} {} {}",
                fact.predicate,
                self.memory.display_name(&fact.object)
            ),
        }
    }
}

/// A value of a fact for which a sentence has a different one of the same class.
struct ChangedValue {
    was: String,
    now: String,
    /// Whether the sentence says of the subject what the fact says, but for the value.
    is_certain: bool,
}

/// Returns the value that a sentence has in place of the one of a fact.
fn find_changed_value(
    question: &QuestionedFact<'_>,
    names: &[String],
    sentence: &Sentence<'_>,
) -> Option<ChangedValue> {
    // A sentence with the fact's own value too has the other one for something else. Looked at before
    // any word is compared: few sentences have a value.
    let has_other = |(class, (_, value)): &(&usize, &(usize, usize))| {
        let mut here = sentence.values_of(**class).peekable();
        here.peek().is_some() && here.all(|(_, other)| other != *value)
    };
    let mut values = question.values.iter().filter(has_other).peekable();
    values.peek()?;
    let told = &question.words;
    let positions = |word: &String| -> Vec<usize> {
        let words = sentence.words.iter().enumerate();
        let same = words.filter(|(_, other)| share_stem(word, other));
        same.map(|(at, _)| at).collect()
    };
    let about = || told.iter().filter(|word| classify_value(word).is_none());
    let significant = about().filter(|word| word.chars().count() >= MIN_SIGNIFICANT_CHARS);
    let things: Vec<usize> = significant.flat_map(&positions).collect();
    // Both have to mention what the value belongs to (`eyes`); otherwise any colour would
    // contradict any other.
    if things.is_empty() {
        return None;
    }
    // Room 12 of the hotel is not room 7 of the hospital.
    let is_telling =
        |word: &&String| word.chars().count() > 2 && !is_stop_word(word) && !names.contains(word);
    let is_same_thing = about()
        .filter(is_telling)
        .all(|word| !positions(word).is_empty());
    values.find_map(|(class, (was, _))| {
        let is_certain =
            |at: usize| is_same_thing && sentence.gives_value(names, &things, at, told);
        let here = || sentence.values_of(*class).map(|(at, _)| at);
        let certain = here().find(|at| is_certain(*at));
        let now = certain.or_else(|| here().next())?;
        Some(ChangedValue {
            was: told.get(*was)?.clone(),
            now: sentence.words.get(now)?.clone(),
            is_certain: certain.is_some(),
        })
    })
}

/// Whether a sentence states a fact: it contains two thirds of the fact's significant words.
fn states_fact(sentence: &Sentence<'_>, fact: &StoryFact, names: &[String]) -> bool {
    let telling =
        |word: &String| word.chars().count() >= MIN_SIGNIFICANT_CHARS && !names.contains(word);
    let told: Vec<String> = split_words(&format!("{} {}", fact.predicate, fact.object))
        .into_iter()
        .filter(telling)
        .collect();
    let there = told
        .iter()
        .filter(|word| sentence.words.iter().any(|other| share_stem(word, other)))
        .count();
    // A single common word would match by chance.
    told.len() >= 2
        && there * 3 >= told.len() * 2
        && names.iter().any(|name| sentence.has_word_starting(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::{Entry, EntryKind};

    fn memory() -> StoryMemory {
        let entry = |kind, value| Entry::from_value(kind, value).unwrap();
        StoryMemory::new([
            entry(
                EntryKind::Character,
                json!({ "id": "C0", "name": "Elena", "knows": ["F3"] }),
            ),
            entry(
                EntryKind::Character,
                json!({ "id": "C1", "name": "Маркус" }),
            ),
            entry(EntryKind::Character, json!({ "id": "C2", "name": "Ivo" })),
            entry(
                EntryKind::Scene,
                json!({ "id": "S001", "title": "One", "characters": ["C0"] }),
            ),
            entry(
                EntryKind::Scene,
                json!({ "id": "S002", "title": "Two", "characters": ["C1"] }),
            ),
            entry(
                EntryKind::Scene,
                json!({ "id": "S003", "title": "Later", "characters": ["C0"] }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F0", "subject": "C0", "predicate": "has eyes of", "object": "green",
                "valid_from": "S001", "quote": "Her green eyes" }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F1", "subject": "C2", "predicate": "died", "object": "in the fire", "valid_from": "S002" }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F2", "subject": "C1", "predicate": "burned", "object": "the letter in the archive",
                "valid_from": "S002" }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F3", "subject": "C1", "predicate": "глаза", "object": "карие", "valid_from": "S002" }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F4", "subject": "C0", "predicate": "carries a scar", "object": "left cheek",
                "valid_from": "S001", "valid_to": "S002" }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F5", "subject": "C0", "predicate": "wears a ring", "object": "silver", "valid_from": "S003" }),
            ),
        ])
    }

    #[track_caller]
    fn found(text: &str, pov: Option<&str>) -> Vec<(String, String)> {
        let memory = memory();
        let earlier = BTreeSet::from(["S001".to_owned(), "S002".to_owned()]);
        let pov = pov.and_then(|id| memory.characters().find(|it| it.id == id));
        let all = check_continuity(
            text,
            &SceneContext {
                memory: &memory,
                pov,
                earlier: &earlier,
            },
        );
        all.into_iter()
            .map(|it| {
                (
                    it.check,
                    format!("{} | {}", it.problem, it.against.unwrap()),
                )
            })
            .collect()
    }

    #[test]
    fn values_that_changed_are_found_in_any_ending_and_with_both_quotes() {
        let one = found("Elena looked up. Elena's eyes were blue as ice.", None);
        assert_eq!(
            one[0].1,
            "Elena: it was `green`, and is `blue` here | S001: Her green eyes"
        );
        assert!(
            found("Маркус поднял синие глаза.", None)[0]
                .1
                .contains("`карие`, and is `синие`")
        );
        for calm in [
            "Elena's green eyes were wide.",
            "Elena wore a blue coat.",
            "The blue eyes were not Elena. Her eyes shone.",
            // These facts ended before or begin later.
            "Elena touched the scar on her right cheek.",
            "Elena turned the golden ring.",
        ] {
            let all = found(calm, None);
            assert!(
                all.is_empty() || calm.contains("not Elena"),
                "{calm}: {all:?}"
            );
        }
    }

    #[test]
    fn a_value_after_a_wrapped_line_is_found() {
        let whole = found("Elena's eyes were blue as ice.", None);
        assert_eq!(found("Elena's eyes were\nblue as ice.", None), whole);
        assert_eq!(whole.len(), 1, "{whole:?}");
    }

    /// Defect: "Lena's eyes were blue" stood against nothing, because the memory calls her Elena.
    #[test]
    fn a_contradiction_is_found_under_another_name() {
        let mut memory = memory();
        let Some(Entry::Character(elena)) = memory.get("C0").cloned() else {
            panic!("no C0");
        };
        memory.put_entry(Entry::Character(Character {
            aliases: vec!["the Lark".to_owned()],
            ..elena
        }));
        let story = SceneContext {
            memory: &memory,
            pov: None,
            earlier: &BTreeSet::from(["S001".to_owned()]),
        };
        let found = check_continuity("The Lark had eyes of blue.", &story);
        assert!(
            found
                .first()
                .is_some_and(|it| it.problem.starts_with("Elena: it was `green`")),
            "{found:?}"
        );
        assert_eq!(check_continuity("The dog had eyes of blue.", &story), []);
    }

    #[test]
    fn the_dead_may_be_remembered_but_do_not_act() {
        assert!(
            found("\"Stop,\" Ivo said.", None)[0]
                .1
                .starts_with("Ivo is dead by now")
        );
        // Defect: only a dozen verbs were actions.
        for text in [
            "Ivo took her hand and kissed it.",
            "Ivo came in and sat down.",
            "Ivo ate three eggs.",
            "Ivo opened the door.",
        ] {
            let all = found(text, None);
            assert!(
                all.first()
                    .is_some_and(|it| it.1.starts_with("Ivo is dead by now")),
                "{text}"
            );
        }
        for text in [
            "She thought of Ivo all night.",
            "Ivo lay in the chapel.",
            "Ivo looked peaceful.",
            "Ivo had taken her hand once.",
            "Ivo was the one who took it.",
        ] {
            assert!(found(text, None).is_empty(), "{text}");
        }
    }

    const MUST: Option<FindingSeverity> = Some(FindingSeverity::Must);
    const SHOULD: Option<FindingSeverity> = Some(FindingSeverity::Should);

    /// Defect: ordinary prose with another number or colour, a dream and a letter held the scene.
    #[test]
    fn only_what_a_sentence_certainly_says_of_the_subject_is_a_must() {
        let brothers = ("has three brothers", "in the north");
        let room = ("lives in", "room 12 of the hotel");
        let eyes = ("eyes", "green");
        let dead = ("died", "in the war");
        let eyes_ru = ("глаза", "зелёные");
        let dead_ru = ("погиб", "на войне");
        for (name, (predicate, object), text, expected) in [
            (
                "Elena",
                room,
                "Elena knocked at room 7 of the hospital.",
                SHOULD,
            ),
            ("Elena", room, "Elena lives in room 7 of the hotel.", MUST),
            ("Elena", room, "Elena lives in room 12 of the hotel.", None),
            (
                "Elena",
                brothers,
                "Two brothers sat on the bench and Elena asked them.",
                SHOULD,
            ),
            (
                "Elena",
                ("has", "three brothers"),
                "Two brothers sat there, and Elena asked.",
                SHOULD,
            ),
            (
                "Elena",
                ("has", "three brothers"),
                "Elena had two brothers.",
                MUST,
            ),
            (
                "Elena",
                ("is", "thirty years old"),
                "Elena waited twenty years.",
                SHOULD,
            ),
            (
                "Elena",
                ("is", "thirty years old"),
                "Elena was twenty years old.",
                MUST,
            ),
            ("Elena", eyes, "Elena's eyes were blue.", MUST),
            ("Elena", eyes, "Elena raised her blue eyes.", MUST),
            ("Elena", eyes, "Elena saw Ivo's blue eyes.", SHOULD),
            ("Elena", eyes, "Elena looked into his blue eyes.", SHOULD),
            (
                "Elena",
                eyes,
                "Elena's eyes followed the blue coat.",
                SHOULD,
            ),
            ("Elena", eyes, "“Elena's eyes were blue,” said Ivo.", SHOULD),
            ("Elena", eyes, "Elena wore a blue coat.", None),
            ("Ivo", dead, "Ivo laughed.", MUST),
            ("Ivo", dead, "“Stop,” said Ivo.", MUST),
            ("Ivo", dead, "In the dream Ivo laughed.", SHOULD),
            ("Ivo", dead, "She dreamt again. Ivo laughed.", SHOULD),
            (
                "Ivo",
                dead,
                "“Ivo said he would come back,” said Elena.",
                None,
            ),
            (
                "Ivo",
                dead,
                "“He wrote. Ivo said he would come back,” said Elena.",
                None,
            ),
            ("Ivo", dead, "Ivo's brother said nothing.", None),
            ("Ivo", dead, "“No,” said Ivo's brother.", None),
            ("Ivo", dead, "Elena asked Ivo's brother.", None),
            ("Елена", eyes_ru, "Глаза Елены были синие.", MUST),
            ("Елена", eyes_ru, "У Елены были синие глаза.", MUST),
            ("Елена", eyes_ru, "Елена посмотрела в синие глаза.", SHOULD),
            ("Елена", eyes_ru, "Елена увидела синие глаза Ивана.", SHOULD),
            (
                "Елена",
                ("живёт", "в комнате 12 гостиницы"),
                "Елена постучала в комнату 7.",
                SHOULD,
            ),
            ("Иван", dead_ru, "Иван засмеялся.", MUST),
            ("Иван", dead_ru, "— Стой, — сказал Иван.", MUST),
            ("Иван", dead_ru, "Во сне Иван засмеялся.", SHOULD),
            (
                "Иван",
                dead_ru,
                "«Иван сказал, что вернётся», — сказала Елена.",
                None,
            ),
            (
                "Иван",
                dead_ru,
                "— Иван сказал, что вернётся, — прошептала Елена.",
                None,
            ),
            ("Иван", dead_ru, "Брат Ивана сказал это.", None),
        ] {
            let person = json!({ "id": "C0", "name": name });
            let fact =
                json!({ "id": "F0", "subject": "C0", "predicate": predicate, "object": object });
            let memory = StoryMemory::new([
                Entry::from_value(EntryKind::Character, person).unwrap(),
                Entry::from_value(EntryKind::Fact, fact).unwrap(),
            ]);
            let moment = SceneContext {
                memory: &memory,
                pov: None,
                earlier: &BTreeSet::new(),
            };
            let found = check_continuity(text, &moment);
            let severity = found.first().map(|it| it.severity);
            assert_eq!(
                severity, expected,
                "{predicate} {object} | {text} | {found:?}"
            );
        }
    }

    /// Defect: twenty-five boats with a number each were twenty-five findings against one staircase.
    #[test]
    fn a_sentence_is_questioned_once() {
        let mut memory = StoryMemory::default();
        let person = json!({ "id": "C0", "name": "Elena" });
        memory.put_entry(Entry::from_value(EntryKind::Character, person).unwrap());
        for number in 2..27 {
            memory.add_entry(Entry::Fact(StoryFact {
                subject: "C0".to_owned(),
                predicate: "has owned".to_owned(),
                object: format!("the boat number {number}"),
                ..StoryFact::default()
            }));
        }
        let moment = SceneContext {
            memory: &memory,
            pov: None,
            earlier: &BTreeSet::new(),
        };
        let found = check_continuity("Elena climbed the stairs number 1.", &moment);
        let severities: Vec<FindingSeverity> = found.iter().map(|it| it.severity).collect();
        assert_eq!(severities, [FindingSeverity::Should]);
    }

    #[test]
    fn the_point_of_view_knows_what_it_saw_or_was_told() {
        let text = "Elena knew that Маркус had burned the letter in the archive.";
        assert_eq!(found(text, Some("C0"))[0].0, "pov");
        assert!(found(text, Some("C1")).is_empty() && found(text, None).is_empty());
        assert!(
            found(
                "\"Маркус burned the letter in the archive,\" said a boy.",
                Some("C0")
            )
            .is_empty()
        );
        for blueprint in [
            "---\npov: elena\n---\n# S\n",
            "# S\n\n**POV:** Elena\n",
            "# S\n- Point of view: elena\n",
        ] {
            let named = point_of_view_name(blueprint).map(|name| name.to_lowercase());
            assert_eq!(named.as_deref(), Some("elena"), "{blueprint}");
        }
        assert!(point_of_view_name("# S\n").is_none());
    }
}
