//! Names and times a plan has and its parent does not.

use domain::consistency::{self, ComparedPlan, ConsistencyWarning};
use domain::profile;
use proptest::prelude::*;

/// A parent that knows Alice, Bob and the bridge, on days 2 to 4.
const PARENT: &str = "# Act 1\n\n## Characters\n\n- Alice\n- Bob\n\n## Locations\n\n- Bridge\n\n## Timeline\n\nDays 2–4\n";
const PARENT_RU: &str = "# Акт 1\n\n## Персонажи\n\n- Алекса\n- Рейн\n\n## Локации\n\n- Мостик\n\n## Хронология\n\nДни 2–4\n";

fn warnings(parent: &str, child: &str) -> Vec<ConsistencyWarning> {
    let story = profile::built_in_profile("story").expect("a built-in profile");
    let child = ComparedPlan {
        alias: "scene-0101",
        level: "scene",
        text: child,
    };
    consistency::check_consistency(
        &story,
        child,
        ComparedPlan {
            alias: "act-1",
            level: "act",
            text: parent,
        },
        &[],
    )
}

fn check(parent: &str, child: &str) -> String {
    warnings(parent, child)
        .into_iter()
        .map(|warning| warning.message)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Checks children against one parent; `expected` is the message after the part all share, or empty.
fn check_all(parent: &str, facet: &str, cases: &[(&str, &str)]) {
    let intro = match facet {
        "timeline" => "timeline leaves that of parent `act-1`: ".to_owned(),
        names => format!("{names} not named in parent `act-1`: "),
    };
    let mut wrong = Vec::new();
    for (child, expected) in cases {
        let expected = if expected.is_empty() {
            String::new()
        } else {
            format!("{intro}{expected}")
        };
        let found = check(parent, child);
        if found != expected {
            wrong.push(format!(
                "--- child\n{child}\n--- expected\n{expected}\n--- found\n{found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_warning_has_facet_names_and_message() {
    let found = warnings(
        PARENT,
        "## Characters\n\n- Dana\n- Alice\n- Charlie\n- DANA\n\nLocation: Medbay\n\nTime: Day 7\n",
    );
    let warning = |facet: &str, names: &[&str], message: &str| ConsistencyWarning {
        facet: facet.to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        message: message.to_owned(),
    };
    let expected = vec![
        warning(
            "characters",
            &["Dana", "Charlie"],
            "characters not named in parent `act-1`: Dana, Charlie",
        ),
        warning(
            "locations",
            &["Medbay"],
            "locations not named in parent `act-1`: Medbay",
        ),
        warning(
            "timeline",
            &["day 7"],
            "timeline leaves that of parent `act-1`: day 7 (parent: day 2–4)",
        ),
    ];
    assert_eq!(found, expected);
}

#[test]
fn front_matter() {
    check_all(
        PARENT,
        "characters",
        &[
            ("---\ncharacters: [Alice, Dana]\n---\n", "Dana"),
            (
                "---\ncharacters:\n  - Alice\n  - Dana\n  - Charlie\n---\n",
                "Dana, Charlie",
            ),
            (
                "---\ncharacters:\n  - name: Dana\n    role: pilot\n  - name: Alice\n---\n",
                "Dana",
            ),
            (
                "---\ncharacters:\n  Zoe:\n    role: pilot\n  Dana: medic\n  Alice: captain\n---\n",
                "Zoe, Dana",
            ),
            (
                "---\ncharacters:\n  - Dana: the pilot\n  - Alice: the captain\n---\n",
                "Dana",
            ),
            (
                "---\ncharacters: Alice, Dana and Charlie\n---\n",
                "Dana, Charlie",
            ),
            (
                "---\ncharacters:\n  main: [Alice]\n  secondary: [Dana]\n---\n",
                "Dana",
            ),
            ("---\npov_character: Dana\n---\n", "Dana"),
            (
                "---\nscene:\n  characters: ['[[Dana]]', Alice]\n---\n",
                "Dana",
            ),
            // Not YAML, but readable.
            ("---\ncharacters: Dana: the pilot\n---\n", "Dana"),
            (
                "---\ntitle: a: b\ncharacters:\n- Dana\n- Alice\n---\n",
                "Dana",
            ),
            // Nothing is named.
            ("---\ncharacters: []\n---\n", ""),
            ("---\ncharacters:\n---\n", ""),
            ("---\ncharacters: none\n---\n", ""),
            ("---\ncharacters: 3\n---\n", ""),
            ("---\ntitle: Dana\n---\n", ""),
        ],
    );
    check_all(
        PARENT,
        "locations",
        &[
            ("---\nLocation: Medbay\n---\n", "Medbay"),
            ("---\nlocation: {name: Medbay, deck: 3}\n---\n", "Medbay"),
        ],
    );
    check_all(
        PARENT_RU,
        "characters",
        &[
            ("---\nперсонажи: [Алекса, Дана]\n---\n", "Дана"),
            (
                "---\nПерсонажи:\n  - имя: Дана\n    роль: пилот\n---\n",
                "Дана",
            ),
        ],
    );
}

#[test]
fn lists_below_a_heading() {
    check_all(
        PARENT,
        "characters",
        &[
            (
                "## Characters\n\n- Alice: the captain\n- Dana: the pilot\n",
                "Dana",
            ),
            (
                "## Characters\n\n* **Alice** — captain\n* **Dana** — pilot, brave, loyal\n",
                "Dana",
            ),
            (
                "## Characters\n\n1. Alice (POV)\n2. Dana (the pilot, new)\n",
                "Dana",
            ),
            ("## Characters\n\n- [ ] Alice\n- [x] Dana\n", "Dana"),
            (
                "## Characters\n\n+ [Dana](dana.md)\n+ `Eve`\n+ [[people/Fay|Fay]]\n+ \"Gil\" – pilot\n",
                "Dana, Eve, Fay, Gil",
            ),
            (
                "## Characters\n\n- Alice & Dana\n- Eve, Fay and Gil\n",
                "Dana, Eve, Fay, Gil",
            ),
            (
                "## Characters\n\n- Dana [POV]\n- Eve - a medic\n- Fay -- a cook\n",
                "Dana, Eve, Fay",
            ),
            (
                "## Characters\n\n- Dana, the captain of the guard\n",
                "Dana",
            ),
            (
                "## Characters\n\n- Dana\n  a pilot who is never on time\n",
                "Dana",
            ),
            // What stands below an item tells about it.
            (
                "## Characters\n\n- Dana\n  - Age: 30\n  - wants revenge\n- Alice\n",
                "Dana",
            ),
            (
                "## Characters\n\n- Main:\n  - Alice\n  - Dana\n- Secondary: Eve, Bob\n",
                "Dana, Eve",
            ),
            (
                "## Characters\n\n- POV: Dana\n- Eve\n- Location: Bridge\n",
                "Dana, Eve",
            ),
            (
                "Characters\n==========\n\n- Dana\n\nNotes\n=====\n\n- Eve\n",
                "Dana",
            ),
        ],
    );
    check_all(
        PARENT_RU,
        "characters",
        &[
            ("## Персонажи\n\n- Алекса: капитан\n- Дана: пилот\n", "Дана"),
            (
                "## Персонажи\n\n- **Дана** — пилот, храбрая\n- Рейн и Ева\n",
                "Дана, Ева",
            ),
            ("### ДЕЙСТВУЮЩИЕ ЛИЦА:\n\n1. Дана (новая)\n", "Дана"),
            (
                "## Персонажи\n\n- Главные:\n  - Дана\n- Второстепенные: Ева\n",
                "Дана, Ева",
            ),
        ],
    );
}

#[test]
fn headings_that_fit() {
    let with_dana =
        |heading: &str| format!("# Scene\n\n{heading}\n\n- Dana\n\n## Notes\n\n- Eve\n");
    let dana = "characters not named in parent `act-1`: Dana";
    for (heading, expected) in [
        ("## Characters", dana),
        ("###### **CHARACTERS:**", dana),
        ("## _Characters_", dana),
        ("## Characters of the chapter", dana),
        ("## Characters, new and old", dana),
        ("## Main characters", dana),
        ("## 2.1 Characters", dana),
        ("## 🎭 Characters (draft)", dana),
        ("## Step 1: Characters", dana),
        ("## Персонажи главы", dana),
        ("## Главные персонажи", dana),
        ("## 登場人物一覧", dana),
        ("## Charactersheet", ""),
        ("## Character arcs", ""),
        ("## Role-people", ""),
        ("## The broadcast", ""),
        ("## Events", ""),
        ("## Scene 2: the people", ""),
        ("## What the many other people of the ship want", ""),
    ] {
        assert_eq!(check(PARENT, &with_dana(heading)), expected, "{heading}");
    }
}

#[test]
fn a_section_ends_with_its_heading() {
    check_all(
        PARENT,
        "characters",
        &[
            ("## Characters\n\n- Dana\n\n## Events\n\n- Fire\n", "Dana"),
            ("### Characters\n\n- Dana\n\n## Events\n\n- Fire\n", "Dana"),
            // A title may be any sentence.
            ("# People of the Abyss\n\n## Events\n\n- Fire\n", ""),
            (
                "# Characters\n\n- Dana\n\n## Eve\n\nA medic.\n",
                "Dana, Eve",
            ),
            (
                "# Scene\n\n## Characters\n\n### Dana\n\n- Role: pilot\n\n#### Past\n\nLong.\n\n### Alice — captain\n",
                "Dana",
            ),
            (
                "## Characters\n\nWho is there.\n\n### 1. Dana (POV)\n\nText.\n\n### Eve & Bob\n",
                "Dana, Eve",
            ),
            (
                "## Characters\n\n### Main characters\n\n- Dana\n\n### Minor\n\n- Eve\n",
                "Dana, Eve",
            ),
            // A part of another facet is not a name, nor are the names in it.
            (
                "## Characters and locations\n\n### Characters\n\n- Dana\n\n### Locations\n\n- Bridge\n",
                "Dana",
            ),
        ],
    );
    check_all(
        PARENT,
        "locations",
        &[
            (
                "## Locations\n\n### Cast Iron Gate\n\nRust.\n\n### Bridge\n",
                "Cast Iron Gate",
            ),
            (
                "## Location: Medbay\n\n- white\n- cold\n\n### Mood\n\nGloom.\n",
                "Medbay",
            ),
            ("# Location: Medbay\n\n## Goal\n\nTo wake.\n", "Medbay"),
            ("## Locations: main\n\n- Medbay\n", "Medbay"),
            ("## Location — Medbay\n\nWhite and cold.\n", "Medbay"),
        ],
    );
}

#[test]
fn paragraphs_below_a_heading() {
    check_all(
        PARENT,
        "characters",
        &[
            ("## Characters\n\nAlice, Dana and Eve\n", "Dana, Eve"),
            ("## Characters\n\nDana,\nEve,\nBob\n", "Dana, Eve"),
            ("## Characters\n\nDana\nEve\n", "Dana, Eve"),
            ("## Characters\n\n    - Dana\n    - Eve\n", "Dana, Eve"),
            // With a list the paragraph is an introduction.
            ("## Characters\n\nFriends, foes\n\n- Dana\n", "Dana"),
            // Prose.
            (
                "## Characters\n\nThe crew is tired, Dana is angry, and Eve sleeps.\n",
                "",
            ),
            (
                "## Characters\n\nDana sleeps. Eve wakes her, too late\n",
                "",
            ),
            (
                "## Characters\n\nDana, who is the angriest of all the pilots here, Eve\n",
                "",
            ),
        ],
    );
    check_all(
        PARENT,
        "locations",
        &[
            ("## Location\n\nMedbay\n", "Medbay"),
            ("## Location\n\n> Medbay, Bridge\n", "Medbay"),
        ],
    );
    check_all(
        PARENT_RU,
        "locations",
        &[("## Место действия\n\nМедотсек, мостик\n", "Медотсек")],
    );
}

#[test]
fn tables() {
    check_all(
        PARENT,
        "characters",
        &[
            (
                "## Characters\n\n| Who | Role |\n|---|---|\n| Alice | captain |\n| **Dana** | pilot |\n",
                "Dana",
            ),
            (
                "## Characters\n\n| # | Role | Name |\n|---|---|---|\n| 1 | pilot | Dana |\n",
                "Dana",
            ),
            (
                "## Characters\n\n| № | Who |\n|---|---|\n| 1 | Dana (POV) |\n",
                "Dana",
            ),
            (
                "## Scenes\n\n| Scene | Characters | What |\n|---|---|---|\n| 1 | Alice, Dana | Fire |\n| 2 | Eve<br>Bob | Ash |\n",
                "Dana, Eve",
            ),
            (
                "| Field | Value |\n|---|---|\n| Title | Fire |\n| POV | Dana |\n| Location | Bridge |\n",
                "Dana",
            ),
            ("| POV | Dana |\n|---|---|\n| Location | Bridge |\n", "Dana"),
            (
                "| Scene | Character arc |\n|---|---|\n| 1 | grows up |\n",
                "",
            ),
        ],
    );
    check_all(
        PARENT_RU,
        "characters",
        &[
            (
                "## Персонажи\n\n| Роль | Имя |\n|---|---|\n| пилот | Дана |\n",
                "Дана",
            ),
            (
                "| Сцена | Персонажи |\n|---|---|\n| 1 | Алекса, Дана |\n",
                "Дана",
            ),
        ],
    );
    check_all(
        PARENT_RU,
        "locations",
        &[(
            "| Сцена | Место действия |\n|---|---|\n| 1 | Медотсек; Мостик |\n",
            "Медотсек",
        )],
    );
}

#[test]
fn labels() {
    check_all(
        PARENT,
        "characters",
        &[
            ("Characters: Alice, Dana\n", "Dana"),
            (
                "Text.\n\n**Characters:** Alice, Dana & Eve\nMore text.\n",
                "Dana, Eve",
            ),
            ("**Characters**: Dana; Eve – a medic; Bob\n", "Dana, Eve"),
            ("Characters: [Alice, Dana]\n", "Dana"),
            ("Main characters: Dana\n", "Dana"),
            ("Characters (new): Dana\n", "Dana"),
            ("**POV:** Dana | **Location:** Bridge\n", "Dana"),
            (
                "**Characters:**\n\n- Alice\n- Dana\n  - Age: 30\n\nOther:\n\n- Eve\n",
                "Dana",
            ),
            ("**Characters:**\n- Dana\n", "Dana"),
            ("Characters:\nDana, Eve\n", "Dana, Eve"),
            ("Characters:\n\nDana, Eve\n\nGil, Fay\n", "Dana, Eve"),
            ("**Characters**\n\n- Dana\n", "Dana"),
            (
                "- Characters:\n  - Dana\n  - Alice\n- Events:\n  - Fire\n",
                "Dana",
            ),
            ("- Characters\n  - Dana\n", "Dana"),
            (
                "Characters:\n\n| Who | Role |\n|---|---|\n| Dana | pilot |\n",
                "Dana",
            ),
            ("```yaml\ncharacters: [Dana]\n```\n", "Dana"),
            ("## Events\n\n1. Fire\n   Characters: Dana\n", "Dana"),
            // No labels.
            ("She knows the characters: Dana and Eve.\n", ""),
            ("Character arc: from fear to trust\n", ""),
            ("https://example.org/characters\n", ""),
            ("Events: Dana leaves\n", ""),
            ("People die: nobody is safe.\n", ""),
            ("Place of power: she takes it.\n", ""),
            ("Characters: none\nPOV: TBD\nCast: n/a\nPeople: —\n", ""),
        ],
    );
    check_all(
        PARENT,
        "locations",
        &[
            ("- Location: Medbay\n", "Medbay"),
            ("- **Location** — Medbay\n", "Medbay"),
            ("- Alice\n  - Location: Medbay\n", "Medbay"),
            ("Setting: Medbay → Bridge\n", "Medbay"),
            ("## Location of the scene\n\nMedbay\n", "Medbay"),
            ("## Setting the trap\n\n- Bait\n", ""),
            ("Place: Medbay at night (Deck 3, aft)\n", "Medbay at night"),
        ],
    );
    check_all(
        PARENT_RU,
        "characters",
        &[
            ("**Персонажи:** Алекса, Дана\n", "Дана"),
            ("Персонажи сцены: Дана и Рейн\n", "Дана"),
            ("- персонаж: «Дана»\n", "Дана"),
            ("Персонажи: нет\n", ""),
        ],
    );
    check_all(
        PARENT_RU,
        "locations",
        &[
            ("Место действия: Медотсек\n", "Медотсек"),
            ("Локация сцены: Медотсек\n", "Медотсек"),
        ],
    );
}

#[test]
fn names_the_parent_knows() {
    let parent = "## Characters\n\n- Alex Rein (captain)\n- Jean-Luc O'Brien\n- Фёдор\n- Bob\n\n## Places\n\n- Deck 3\n\n\
                  ## Events\n\nOld Martha leaves the mess hall;\n**Ann** Lee stays. Хранитель Порога ждёт.\n\n* Kim\n* Lo\n";
    check_all(
        parent,
        "characters",
        &[
            (
                "Characters: Alex, REIN, rein alex, Alex Rein, Captain Alex Rein\n",
                "",
            ),
            ("Characters: Jean‑Luc O’Brien, jean–luc\n", ""),
            ("Characters: Федор, ФЁДОР\n", ""),
            (
                "Characters: Martha, old  martha, Ann Lee, хранитель порога\n",
                "",
            ),
            (
                "Characters: Bobby, Alex Kane, Mart, Kim Lo, Хранитель\n",
                "Bobby, Alex Kane, Mart, Kim Lo",
            ),
        ],
    );
    check_all(
        parent,
        "locations",
        &[
            ("Place: the mess hall, Deck 3, deck\n", ""),
            ("Place: Deck 4, hallway\n", "Deck 4, hallway"),
        ],
    );
}

#[test]
fn a_parent_that_says_nothing_is_not_compared() {
    let child = "Characters: Dana\n";
    let dana = "characters not named in parent `act-1`: Dana";
    for (parent, expected) in [
        ("", ""),
        ("# Act 1\n\nText about Alice.\n", ""),
        ("Location: Bridge\n", ""),
        ("Characters: Alice\n", dana),
        ("## Characters\n\nTo be told.\n", dana),
        ("## Characters\n\nTo be told, but Dana is there.\n", ""),
        ("## Characters\n", dana),
        ("---\ncharacters: []\n---\n", dana),
    ] {
        assert_eq!(check(parent, child), expected, "{parent}");
    }
}

#[test]
fn prose_and_placeholders_are_no_names() {
    let long = "x".repeat(61);
    for item in [
        "-",
        "***",
        "…",
        "TBD",
        "n/a",
        "None",
        "нет",
        "?",
        "42",
        "(later)",
        "one two three four five six seven",
        &long,
    ] {
        assert_eq!(
            check(PARENT, &format!("## Characters\n\n- {item}\n- Alice\n")),
            "",
            "{item}"
        );
    }
}

#[test]
fn japanese() {
    let parent = "## 登場人物\n\n- アリス：船長\n- ボブ\n\n## 場所\n\n- 艦橋\n\n## 時系列\n\n2日目〜4日目\n\n## 出来事\n\nダナは眠る。\n";
    let expected = "characters not named in parent `act-1`: ダ, イブ\n\
                    locations not named in parent `act-1`: 医務室\n\
                    timeline leaves that of parent `act-1`: 7日目 (parent: 2–4日目)";
    assert_eq!(
        check(
            parent,
            "**登場人物：** アリス、ダナ、ダ、イブ\n\n- 場所：医務室\n- 時系列：第３日目、７日目の朝\n"
        ),
        expected
    );
    assert_eq!(
        check(parent, "## 登場人物\n\n- ボブ（語り手）\n- ダナ\n"),
        ""
    );
}

#[test]
fn timeline_points() {
    check_all(
        PARENT,
        "timeline",
        &[
            ("Time: Day 7\n", "day 7 (parent: day 2–4)"),
            (
                "## Timeline\n\n- Day 1: landing\n- Day 3: fire\n- day 9\n",
                "day 1, day 9 (parent: day 2–4)",
            ),
            ("When: days 3-6\n", "day 6 (parent: day 2–4)"),
            ("When: Days 3 to 6\n", "day 6 (parent: day 2–4)"),
            ("When: days 2, 3 and 5\n", "day 5 (parent: day 2–4)"),
            ("When: the 7th day, evening\n", "day 7 (parent: day 2–4)"),
            ("**When:** Day 7, 14:30\n", "day 7 (parent: day 2–4)"),
            ("---\ntimeline: Day 7\n---\n", "day 7 (parent: day 2–4)"),
            (
                "---\ntimeline:\n  day: 7\n  time: '14:30'\n---\n",
                "day 7 (parent: day 2–4)",
            ),
            (
                "---\nwhen:\n  - Day 3\n  - Day 5\n---\n",
                "day 5 (parent: day 2–4)",
            ),
            (
                "## Timeline\n\n| Day | What |\n|---|---|\n| 3 | Fire |\n| 5 | Ash |\n",
                "day 5 (parent: day 2–4)",
            ),
            (
                "| Scene | When |\n|---|---|\n| 1 | Day 3 |\n| 9 | Day 8 |\n",
                "day 8 (parent: day 2–4)",
            ),
            ("## Timeline: Day 7\n", "day 7 (parent: day 2–4)"),
            (
                "## Timeline\n\n### Day 7\n\nFire.\n",
                "day 7 (parent: day 2–4)",
            ),
            ("- Time:\n  - Day 3\n  - Day 7\n", "day 7 (parent: day 2–4)"),
            (
                "Time: Day 7. Time passes; day 7 ends.\n",
                "day 7 (parent: day 2–4)",
            ),
            // Within it.
            ("Time: Day 2, Day 3, day 4\n", ""),
            ("When: Days 2–4\n", ""),
            ("When: the 2nd day\n", ""),
            // Durations, other units, other things that are counted.
            ("Time: 7 days later\n", ""),
            ("Time: Day 3 - 9 guards arrive\n", ""),
            ("Time: Day 3 of 10; scene 9, deck 12\n", ""),
            ("Time: Week 9, Year 2031, 2031-05-01, 23:10\n", ""),
            ("Time: Day 3 - 14:30\n", ""),
            // Not about the timeline.
            ("Events: Day 7\n", ""),
            (
                "## Timeline\n\nDay 3\n\n### Characters\n\n- Bob, on Day 9\n",
                "",
            ),
        ],
    );
    check_all(
        PARENT_RU,
        "timeline",
        &[
            ("Время: День 7\n", "день 7 (parent: день 2–4)"),
            (
                "## Хронология\n\n- 7 день: пожар\n- 3-й день\n",
                "день 7 (parent: день 2–4)",
            ),
            ("Когда: дни 3–5\n", "день 5 (parent: день 2–4)"),
            ("Когда: утро 6-го дня\n", "день 6 (parent: день 2–4)"),
            (
                "Время действия: со 2 по 5 день\n",
                "день 5 (parent: день 2–4)",
            ),
            ("Время: дня 4, вечер\n", ""),
            ("Время: через 7 дней\n", ""),
            ("Время: Day 9\n", ""),
        ],
    );
}

#[test]
fn timeline_of_other_units() {
    let parent = "## Timeline\n\n- 2031-05-01: landing\n- 2031-05-03: fire\n- Week 1\n- Year 2031\n- Неделя 2\n- 2031 год\n";
    check_all(
        parent,
        "timeline",
        &[
            ("Date: 2031-05-02\n", ""),
            (
                "When: 2031-04-30\n",
                "2031-04-30 (parent: 2031-05-01 – 2031-05-03)",
            ),
            (
                "---\ntimeline: 2031-06-01\n---\n",
                "2031-06-01 (parent: 2031-05-01 – 2031-05-03)",
            ),
            ("Date: 2031-13-45\n", ""),
            ("When: Week 2\n", "week 2 (parent: week 1)"),
            (
                "When: Year 2032; weeks 1–2\n",
                "year 2032 (parent: year 2031), week 2 (parent: week 1)",
            ),
            (
                "Когда: 3-я неделя, в 2032 году\n",
                "неделя 3 (parent: неделя 2), год 2032 (parent: год 2031)",
            ),
            ("Когда: через 3 недели, спустя 5 лет\n", ""),
        ],
    );
    check_all(
        "Zeit: Tag 3\n",
        "timeline",
        &[
            ("Zeit: am 5. Tag\n", "tag 5 (parent: tag 3)"),
            ("Zeit: 5 Tage\n", ""),
        ],
    );
    check_all(
        "Temps : jour 3\n",
        "timeline",
        &[("Temps : 5e jour\n", "jour 5 (parent: jour 3)")],
    );
}

#[test]
fn clock_times_count_when_the_parent_gives_a_span_of_them() {
    let out_of_day = "day 3 20:00 (parent: day 3 14:00 – day 3 18:00)";
    check_all(
        "Time: Day 3, 14:00–18:00\n",
        "timeline",
        &[
            ("Time: Day 3, 20:00\n", out_of_day),
            ("Time: 20:00, day 3\n", out_of_day),
            ("Time: Day 3, 8:00 pm\n", out_of_day),
            ("Time: Day 3, 15:30\n", ""),
            ("Time: Day 3\n", ""),
            ("Time: 20:00\n", ""),
        ],
    );
    check_all(
        "Time: Day 2, 22:00 – Day 3, 06:00\n",
        "timeline",
        &[
            ("Time: Day 2, 23:30\n", ""),
            ("Time: Day 3, 05:00\n", ""),
            (
                "Time: Day 3, 08:00\n",
                "day 3 08:00 (parent: day 2 22:00 – day 3 06:00)",
            ),
        ],
    );
    check_all(
        "Time: 14:00–18:00\n",
        "timeline",
        &[
            ("Time: 20:00\n", "20:00 (parent: 14:00 – 18:00)"),
            ("Time: 15:00\n", ""),
        ],
    );
    // A start alone, or a night: no span.
    check_all(
        "Time: Day 3, 14:00\n",
        "timeline",
        &[("Time: Day 3, 15:00\n", "")],
    );
    check_all("Time: 14:00\n", "timeline", &[("Time: 15:00\n", "")]);
    check_all("Time: 22:00–02:00\n", "timeline", &[("Time: 23:00\n", "")]);
    check_all(
        "Time: Day 3, 22:00–02:00\n",
        "timeline",
        &[("Time: Day 3, 23:00\n", "")],
    );
}

#[test]
fn a_facet_is_checked_on_its_levels_only() {
    let story = profile::built_in_profile("story").expect("a built-in profile");
    let child = ComparedPlan {
        alias: "chapter-02",
        level: "chapter",
        text: "Time: Day 7\n\nLocation: Medbay\n",
    };
    let parent = ComparedPlan {
        alias: "act-1",
        level: "act",
        text: PARENT,
    };
    let messages: Vec<String> = consistency::check_consistency(&story, child, parent, &[])
        .into_iter()
        .map(|found| found.message)
        .collect();
    assert_eq!(messages, ["locations not named in parent `act-1`: Medbay"]);
    for (name, _) in profile::BUILT_IN_PROFILES
        .iter()
        .filter(|(name, _)| *name != "story")
    {
        let other = profile::built_in_profile(name).unwrap();
        assert_eq!(
            consistency::check_consistency(&other, child, parent, &[]),
            [],
            "{name}"
        );
    }
}

#[test]
fn long_lists_are_shortened_in_the_message_only() {
    let names: Vec<String> = (0..25).map(|n| format!("Crew{n}")).collect();
    let found = warnings(
        PARENT,
        &format!("## Characters\n\n- {}\n", names.join("\n- ")),
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].names, names);
    let listed = names[..20].join(", ");
    assert_eq!(
        found[0].message,
        format!("characters not named in parent `act-1`: {listed} and 5 more")
    );
}

#[test]
fn formatting_does_not_matter() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let child =
        "---\npov: Dana\n---\n\n## Characters\n\n- Alice\n- Eve\n\nLocation: Medbay\nTime: Day 7\n";
    let expected = check(PARENT, child);
    assert_eq!(expected.lines().count(), 3);
    assert_eq!(check(&windows(PARENT), &windows(child)), expected);
    assert_eq!(check(&PARENT.replace('\n', "\r"), child), expected);
    for odd in [
        "",
        "\u{feff}",
        "\r\n",
        "---\n---\n",
        "---\n",
        "#",
        "## Characters",
        "- ",
        "|\n|-|\n",
        "Characters:",
        "Characters:\n-",
    ] {
        assert_eq!(check(PARENT, odd), "", "{odd:?}");
    }
}

/// The pieces plans are made of, where the trouble is.
const PIECES: &str = "# ¦## ¦### ¦- ¦  - ¦1. ¦| ¦ |¦|---|---|¦---¦---\n¦\n¦\r\n¦\n\n¦: ¦：¦ — ¦, ¦; ¦(¦)¦[¦]¦**¦`¦```\n¦> ¦<br>¦\
    Characters¦Персонажи¦Location¦Timeline¦Time¦POV¦main¦場所¦name¦Alice¦Дана¦アリス¦O'Brien¦ и ¦ and ¦Day ¦день¦\
    Days 2–4¦3rd day¦7¦2031-05-01¦14:30¦99999999999999999999¦\u{feff}¦\u{301}¦ё¦İ¦🎭¦ ¦\t";

fn plan_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES.split('¦').collect::<Vec<_>>()).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![4 => piece, 1 => "(?s).{0,8}"], 0..60)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(parent in "(?s).{0,300}", child in plan_text()) {
        let _ = check(&parent, &child);
        let _ = check(&child, &parent);
    }

    #[test]
    fn a_parent_read_once_for_several_plans_gives_the_warnings_of_each_alone(
        parent in plan_text(),
        children in prop::collection::vec(plan_text(), 1..4),
    ) {
        let story = profile::built_in_profile("story").expect("a built-in profile");
        let shared = consistency::ConsistencyCheck::new(&story);
        let above = ComparedPlan { alias: "act-1", level: "act", text: &parent };
        let read = shared.read_parent(above, "scene");
        for text in &children {
            let child = ComparedPlan { alias: "scene-0101", level: "scene", text };
            prop_assert_eq!(shared.check_plan(child, &read, &[]), warnings(&parent, text));
        }
    }

    #[test]
    fn a_plan_agrees_with_itself(text in plan_text(), other in "(?s).{0,200}") {
        prop_assert_eq!(check(&text, &text), "");
        prop_assert_eq!(check(&other, &other), "");
    }

    #[test]
    fn a_parent_that_mentions_the_names_knows_them(child in plan_text()) {
        let unknown = |parent: &str| -> Vec<String> {
            let found = warnings(parent, &child).into_iter().filter(|warning| warning.facet != "timeline");
            found.flat_map(|warning| warning.names).collect()
        };
        let mentioned = unknown(PARENT).join(", ");
        prop_assert_eq!(unknown(&format!("{PARENT}\n## Notes\n\n{mentioned}\n")), Vec::<String>::new());
    }
}

/// Defect: the place of `## Место` and of other singular headings was unknown.
#[test]
fn a_single_place_has_a_heading_in_each_language() {
    let story = profile::built_in_profile("story").expect("a built-in profile");
    for heading in [
        "Location",
        "Место",
        "Lieu",
        "Ort",
        "Schauplatz",
        "Lugar",
        "Luogo",
        "Miejsce",
        "Місце",
    ] {
        let text = format!("# S\n\n## {heading}\n\n- Arkham\n");
        let names = consistency::list_facet_names(&story, "locations", &text);
        assert_eq!(names, ["Arkham"], "{heading}");
    }
}
