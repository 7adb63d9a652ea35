//! Names in grammatical forms: a bilingual sample with labels, and aliases.
//!
//! The sample measures the consistency check: a warning about a name that is new is right, one about
//! a form of a known name is a false alarm. The figures are in `docs/concepts/consistency.md`.

use domain::consistency::{ComparedPlan, check_consistency};
use domain::profile;

/// A parent plan, the forms of its names in children, and names that are really new.
struct Sample {
    language: &'static str,
    parent: &'static str,
    known: &'static [&'static str],
    new: &'static [&'static str],
}

const SAMPLES: [Sample; 2] = [
    Sample {
        language: "English",
        parent: "# Act 1\n\n## Characters\n\n- Alexa Orlova: the doctor\n- Captain Viktor Rein\n- Mark\n- The Hollis twins\n\
            - Tom Bell\n\n## Locations\n\n- Medbay\n- North Tower\n- Harbour of Kolm\n- Deck 4\n\nThey hide at the old mill. \
            Mrs. Ames sells them bread, and the Ferryman knows the way to the salt gardens.\n",
        known: &[
            "Alexa",
            "Orlova",
            "Dr. Orlova",
            "Doctor Alexa Orlova",
            "Viktor",
            "Rein",
            "Rein's",
            "Captain Rein",
            "Mark's",
            "Hollis",
            "the Hollis twin",
            "Tom",
            "Mr. Bell",
            "Ames",
            "Mrs. Ames",
            "Ferryman",
            "The ferryman's",
            "Medbay",
            "the Medbay",
            "North Towers",
            "Kolm",
            "Harbour of Kolm",
            "Deck 4",
            "old mill",
            "salt garden",
            "Bell, Tom",
            "ORLOVA",
            "Viktor Rein’s",
        ],
        new: &[
            "Victoria",
            "Martha",
            "Marko",
            "Alex",
            "Tommy",
            "Bella",
            "Orlov",
            "Dr. Kay",
            "Captain Hale",
            "Reinhard",
            "South Tower",
            "Deck 5",
            "Harbour of Oslo",
            "Cellar",
            "Mill Lane",
            "Salt Road",
            "Holt",
            "Lady Grey",
        ],
    },
    Sample {
        language: "Russian",
        parent: "# Акт 1\n\n## Персонажи\n\n- Алекса Орлова, врач\n- Виктор Рейн\n- Сергей Климов\n- Павел\n- Мария\n- Пётр Ильич\n\
            - старый смотритель\n\n## Локации\n\n- медпалата\n- Северная башня\n- Мостик\n- Палуба 4\n- Дом у реки\n\nОни прячутся на \
            старой мельнице. Хлеб им продаёт Ольга, а дорогу к соляным садам знает Паромщик.\n",
        known: &[
            "Алексы",
            "Алексу",
            "Орловой",
            "Доктор Орлова",
            "доктора Орлову",
            "с Алексой Орловой",
            "Рейна",
            "Рейну",
            "Рейном",
            "Виктора Рейна",
            "капитан Рейн",
            "Сергея",
            "Климовым",
            "Павла",
            "Павлу",
            "Павлом",
            "Марии",
            "Марией",
            "Марию",
            "Петра",
            "Петру Ильичу",
            "Ильича",
            "смотрителя",
            "старому смотрителю",
            "Ольги",
            "Ольгой",
            "Паромщика",
            "медпалаты",
            "в медпалате",
            "медпалату",
            "Северной башне",
            "Северную башню",
            "башни",
            "Мостике",
            "Мостика",
            "Палубе 4",
            "мельница",
            "старая мельница",
            "соляные сады",
            "Доме у реки",
        ],
        new: &[
            "Виктория",
            "Анна",
            "Антон",
            "Марк",
            "Климент",
            "Полина",
            "Рейнджер",
            "Олег",
            "доктор Савина",
            "Петров",
            "капитан Громов",
            "Южная башня",
            "Палуба 5",
            "Подвал",
            "Мост",
            "соляной рудник",
            "Дом у моря",
            "Серафим",
        ],
    },
];

/// Returns the names of a child that the check reports against a parent.
fn unknown_names(parent: &str, child: &str, aliases: &[Vec<String>]) -> Vec<String> {
    let story = profile::built_in_profile("story").expect("a built-in profile");
    let plan = |alias, level, text| ComparedPlan { alias, level, text };
    let child = plan("scene-0101", "scene", child);
    check_consistency(&story, child, plan("act-1", "act", parent), aliases)
        .into_iter()
        .flat_map(|warning| warning.names)
        .collect()
}

fn is_reported(parent: &str, name: &str) -> bool {
    let reported = |facet: &str| {
        let child = format!("# Scene\n\n## {facet}\n\n- {name}\n");
        !unknown_names(parent, &child, &[]).is_empty()
    };
    // The parent's text counts for every facet, but its lists count for their own only.
    reported("Characters") && reported("Locations")
}

#[test]
fn precision_and_recall_on_the_bilingual_sample() {
    let mut measured = String::new();
    let mut wrong = String::new();
    for sample in &SAMPLES {
        let false_alarms: Vec<&&str> = sample
            .known
            .iter()
            .filter(|name| is_reported(sample.parent, name))
            .collect();
        let missed: Vec<&&str> = sample
            .new
            .iter()
            .filter(|name| !is_reported(sample.parent, name))
            .collect();
        let found = sample.new.len() - missed.len();
        measured.push_str(&format!(
            "{}: {} of {} known forms accepted, {found} of {} new names reported\n",
            sample.language,
            sample.known.len() - false_alarms.len(),
            sample.known.len(),
            sample.new.len(),
        ));
        wrong.push_str(&format!(
            "{}: false alarms {false_alarms:?}, missed {missed:?}\n",
            sample.language
        ));
    }
    insta::assert_snapshot!(format!("{measured}{wrong}"));
}

#[test]
fn aliases_in_front_matter_and_memory_name_the_same_person() {
    let parent = "# Act 1\n\n## Characters\n\n- Виктор Рейн\n- Alice\n";
    let child = |front: &str, name: &str| {
        format!("---\n{front}\n---\n# Scene\n\n## Characters\n\n- {name}\n")
    };
    let found = |front: &str, name: &str, aliases: &[Vec<String>]| {
        unknown_names(parent, &child(front, name), aliases)
    };
    assert_eq!(found("title: x", "Ворон", &[]), ["Ворон"]);
    assert!(found("aliases:\n  Рейн: Ворон", "Ворону", &[]).is_empty());
    assert!(found("aliases:\n  Alice: [Red, the Hare]", "the Hare", &[]).is_empty());
    assert!(found("aliases: [[Alice, Red]]", "Red", &[]).is_empty());
    // Other names of the note itself, as note editors write them.
    assert_eq!(found("aliases: [Alice, Red]", "Red", &[]), ["Red"]);
    let memory = [vec!["Виктор Рейн".to_owned(), "Ворон".to_owned()]];
    assert!(found("title: x", "Ворона", &memory).is_empty());
    assert_eq!(found("title: x", "Сорока", &memory), ["Сорока"]);
    let in_parent = format!("---\naliases: {{Alice: Red}}\n---\n{parent}");
    assert!(unknown_names(&in_parent, &child("title: x", "Red"), &[]).is_empty());
}
