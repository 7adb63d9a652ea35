//! Refusals: texts in which a model declines instead of writing.
//!
//! Speech does not count, because a character may say anything. A text that only begins like a refusal is
//! one if it is short; one that names the task, or offers another text instead, is one in any length.

use crate::search::split_words;

/// Maximum number of words of a refusal that does not name its task. A longer text that begins like one is
/// prose: "I'm sorry, but I can't," may be how a story begins.
const MAX_REFUSAL_WORDS: usize = 120;
/// Number of characters at the beginning in which a refusal shows.
const REFUSAL_OPENING_CHARS: usize = 240;

/// Number of sentences at the end in which a model breaks off.
const MAX_CLOSING_SENTENCES: usize = 4;
/// Words of a story that a narrator tells.
const NARRATORS: &[&str] = &["i", "me", "my", "я", "мне", "меня", "мой", "моя"];

/// How models decline. Only phrases that name the task: "I cannot help thinking of the sea" is prose.
const REFUSALS: &[&str] = &[
    "i'm sorry, but i can",
    "i am sorry, but i can",
    "i can't help with",
    "i cannot help with",
    "i can't help you with",
    "i can't assist",
    "i cannot assist",
    "i can't write",
    "i cannot write",
    "i can't create",
    "i cannot create",
    "i can't continue with",
    "i cannot continue with",
    "i can't provide",
    "i cannot provide",
    "i can't fulfill",
    "i cannot fulfill",
    "i can't comply",
    "i cannot comply",
    "i'm unable to",
    "i am unable to",
    "i'm not able to",
    "i must decline",
    "i won't be able to",
    "я не могу помочь",
    "я не могу написать",
    "я не могу продолжить",
    "я не могу выполнить",
    "я не могу создать",
    "но я не могу",
    "к сожалению, я не",
    "не могу выполнить этот запрос",
    "не могу помочь с этим",
    "вынужден отказаться",
];
/// How an apology begins, and how the same language says that something cannot be done.
const APOLOGIES: &[(&[&str], &[&str])] = &[
    (
        &[
            "i'm sorry",
            "i am sorry",
            "i'm really sorry",
            "sorry",
            "i apologize",
            "i apologise",
            "my apologies",
        ],
        &[
            "i can't",
            "i cannot",
            "i can not",
            "i won't",
            "i will not",
            "i'm unable",
            "i am unable",
            "i'm not able",
            "i am not able",
        ],
    ),
    (
        &[
            "es tut mir leid",
            "tut mir leid",
            "leider",
            "entschuldigung",
            "ich bedaure",
        ],
        &["ich kann", "kann ich", "ich darf", "darf ich"],
    ),
    (
        &["je suis désolé", "désolé", "je regrette", "malheureusement"],
        &["je ne peux pas", "il m'est impossible"],
    ),
    (&["lo siento", "lamento"], &["no puedo", "no me es posible"]),
    (
        &["mi dispiace", "purtroppo"],
        &["non posso", "non mi è possibile"],
    ),
    (
        &["sinto muito", "desculpe", "lamento"],
        &["não posso", "não consigo"],
    ),
    (
        &["извините", "простите", "к сожалению", "прошу прощения"],
        &["не могу", "не буду", "не смогу"],
    ),
    (
        &["het spijt me", "sorry", "helaas"],
        &["ik kan", "kan ik", "ik mag", "mag ik"],
    ),
    (
        &["przepraszam", "przykro mi", "niestety"],
        &["nie mogę", "nie jestem w stanie"],
    ),
    (
        &["вибачте", "перепрошую", "на жаль"],
        &["не можу", "не буду"],
    ),
    (
        &[
            "tyvärr",
            "jag är ledsen",
            "jeg beklager",
            "desværre",
            "dessverre",
        ],
        &[
            "kan jag inte",
            "jag kan inte",
            "kan jeg ikke",
            "jeg kan ikke",
        ],
    ),
    (
        &["抱歉", "很抱歉", "非常抱歉", "我很抱歉", "对不起", "對不起"],
        &["不能", "无法", "無法"],
    ),
    (
        &["申し訳", "すみません", "ごめんなさい"],
        &["できません", "書けません", "できかねます"],
    ),
    (
        &["죄송합니다", "죄송하지만", "미안하지만"],
        &["수 없습니다", "어렵습니다"],
    ),
];
/// What an apology is about that is a refusal whatever its length.
const WORKS: &[&str] = &[
    "this scene",
    "the scene",
    "a scene",
    "request",
    "this story",
    "this content",
    "szene",
    "scène",
    "escena",
    "uma cena",
    "esta cena",
    "questa scena",
    "deze scene",
    "dit verhaal",
    "cette histoire",
    "esta historia",
    "эту сцен",
    "такую сцен",
    "запрос",
    "场景",
    "場景",
    "请求",
    "請求",
    "シーン",
    "장면",
];
/// How someone declines without an apology; what; and what makes it about the task.
const DECLINES: &[&str] = &[
    "i can't",
    "i cannot",
    "i won't",
    "i will not",
    "i'm unable",
    "i am unable",
    "i'm not able",
    "i am not able",
    "i don't feel comfortable",
    "i do not feel comfortable",
    "i'm not comfortable",
    "i am not comfortable",
    "i must respectfully",
    "i have to decline",
    "i'd rather not",
    "i would rather not",
    "i'm not going to",
    "i am not going to",
    "я не могу",
    "я не буду",
    "я отказываюсь",
];
const TASK_VERBS: &[&str] = &[
    "writ",
    "generat",
    "creat",
    "continu",
    "produc",
    "provid",
    "help",
    "assist",
    "fulfil",
    "comply",
    "complet",
    "draft",
    "depict",
    "напис",
    "писать",
    "продолж",
    "созда",
    "выполн",
];
/// Number of characters after a decline in which its verb follows.
const VERB_REACH: usize = 40;
const TASKS: &[&str] = &[
    "this scene",
    "that scene",
    "the scene",
    "a scene",
    "this story",
    "this request",
    "that request",
    "your request",
    "this content",
    "such content",
    "this prompt",
    "this text",
    "this chapter",
    "this passage",
    "content polic",
    "guidelines",
    "эту сцену",
    "этот запрос",
    "этот текст",
    "эту историю",
    "такой контент",
];
/// As [`TASKS`], without what prose may be about as well: "the scene at the harbour".
const OWN_TASKS: &[&str] = &[
    "this scene",
    "this request",
    "that request",
    "your request",
    "this content",
    "such content",
    "this prompt",
    "this story",
    "write this one",
    "a scene in which",
    "a scene where",
    "content polic",
    "of this scene",
    "my guidelines",
    "эту сцену",
    "этот текст",
    "этот запрос",
    "такую сцену",
    "такой контент",
];
/// Number of characters after a decline in which its task follows.
const TASK_REACH: usize = 80;
/// How someone declines politely. It is a refusal together with an offer.
const PREFERENCES: &[&str] = &[
    "i would prefer not to",
    "i'd prefer not to",
    "i would rather not",
    "i'd rather not",
    "я предпочел бы не",
    "я предпочла бы не",
    "я бы предпочел не",
    "я бы предпочла не",
    "я предпочитаю не",
];
/// How another text is offered, and what.
const OFFERS: &[&str] = &[
    "i would be happy to",
    "i'd be happy to",
    "i would be glad to",
    "i'd be glad to",
    "i'm happy to",
    "i am happy to",
    "i can offer",
    "i could instead",
    "i can instead",
    "предлагаю",
    "могу предложить",
    "могу вместо",
];
const OFFERED_TEXTS: &[&str] = &[
    "scene",
    "version",
    "draft",
    "rewrit",
    "alternative",
    "story",
    "сцен",
    "верси",
    "вариант",
];
/// Number of characters after an offer in which its object follows.
const OFFER_REACH: usize = 60;

/// How models speak of themselves, in a text of any length.
const SELF_DESCRIPTIONS: &[&str] = &[
    "as an ai language model",
    "as a language model",
    "as an ai assistant",
    "i'm just an ai",
    "как языковая модель",
    "как ии-ассистент",
    "как искусственный интеллект, я",
];

/// Whether a model declines in this text, instead of doing what it was asked for.
#[must_use]
pub fn is_refusal(text: &str) -> bool {
    find_refusal(text).is_some()
}

/// Returns the opening of a text that is a refusal.
pub(super) fn find_refusal(text: &str) -> Option<String> {
    // A refusal says so at once; later in a text the same words are thought.
    let opening: String = text.trim().chars().take(REFUSAL_OPENING_CHARS).collect();
    let folded = fold_narration(&opening);
    let folded = folded.trim_start_matches(['*', '_', '#', '>', ' ']);
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
    let apologises = || {
        APOLOGIES.iter().any(|(apology, inability)| {
            apology.iter().any(|start| folded.starts_with(start)) && has(inability)
        })
    };
    let declines = |tasks: &[&str], reach: usize| {
        DECLINES
            .iter()
            .any(|phrase| declines_task(folded, phrase, tasks, reach))
    };
    let cites_policy = || has(&["violates", "against"]) && has(&["content polic", "guidelines"]);
    let names_task = || {
        declines(OWN_TASKS, TASK_REACH)
            || apologises() && has(WORKS)
            || has(PREFERENCES) && offers_another_text(text)
    };
    let is_short = split_words(text).len() <= MAX_REFUSAL_WORDS;
    let begins_so = || {
        has(REFUSALS) || apologises() || declines(TASKS, REFUSAL_OPENING_CHARS) || cites_policy()
    };
    (is_short && begins_so() || names_task() || has(SELF_DESCRIPTIONS))
        .then(|| opening.lines().next().unwrap_or_default().to_owned())
}

/// Returns the sentence in which a model breaks off its text: it declines, speaks of itself, or offers another
/// text.
///
/// Only in the last sentences of the narration; elsewhere the same words are thought. What does not name the
/// task counts only where nobody tells the story as "I".
pub(super) fn find_closing_refusal(text: &str) -> Option<String> {
    let narration = strip_quotations(&strip_dash_speech(text));
    let sentences: Vec<&str> = narration
        .split_inclusive(['.', '!', '?', '…', '\n', '。'])
        .map(str::trim)
        .filter(|sentence| sentence.chars().any(char::is_alphabetic))
        .collect();
    let story = sentences.len().saturating_sub(MAX_CLOSING_SENTENCES);
    let (story, closing) = sentences.split_at(story);
    let is_told_by_one = || {
        story.iter().any(|sentence| {
            split_words(sentence)
                .iter()
                .any(|word| NARRATORS.contains(&word.as_str()))
        })
    };
    let breaks_off = |sentence: &&&str| {
        let folded = fold_phrases(sentence);
        let folded = folded.trim_start_matches(['*', '_', '#', '>', '(', '[', '—', '–', '-', ' ']);
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
        let begins = |phrases: &[&str]| phrases.iter().any(|phrase| folded.starts_with(phrase));
        let apologises = || {
            APOLOGIES
                .iter()
                .any(|(apology, inability)| begins(apology) && has(inability))
        };
        let declines = |tasks: &[&str], reach: usize| {
            DECLINES
                .iter()
                .any(|phrase| declines_task(folded, phrase, tasks, reach))
        };
        let offers = || begins(OFFERS) && has(OFFERED_TEXTS);
        has(SELF_DESCRIPTIONS)
            || declines(OWN_TASKS, TASK_REACH)
            || apologises() && has(WORKS)
            || !is_told_by_one()
                && (begins(REFUSALS)
                    || apologises()
                    || declines(TASKS, REFUSAL_OPENING_CHARS)
                    || offers())
    };
    closing
        .iter()
        .find(breaks_off)
        .map(|sentence| (*sentence).to_owned())
}

/// Whether a text offers to write another one.
fn offers_another_text(text: &str) -> bool {
    let folded = fold_narration(text);
    OFFERS.iter().any(|offer| {
        folded
            .match_indices(offer)
            .any(|(at, _)| is_followed_by(&folded, at + offer.len(), OFFERED_TEXTS, OFFER_REACH))
    })
}

/// Whether a phrase of declining is followed by a verb for what models are asked to do, and by what.
fn declines_task(folded: &str, phrase: &str, tasks: &[&str], reach: usize) -> bool {
    folded.match_indices(phrase).any(|(at, _)| {
        let end = at + phrase.len();
        is_followed_by(folded, end, TASK_VERBS, VERB_REACH)
            && is_followed_by(folded, end, tasks, reach)
    })
}

/// Whether one of the phrases follows within a number of characters.
fn is_followed_by(text: &str, from: usize, phrases: &[&str], reach: usize) -> bool {
    let rest = text.get(from..).unwrap_or_default();
    let near: String = rest.chars().take(reach).collect();
    phrases.iter().any(|phrase| near.contains(phrase))
}

/// Returns a text without its speech, in lower case, with plain apostrophes and without `ё`.
fn fold_narration(text: &str) -> String {
    fold_phrases(&strip_quotations(&strip_dash_speech(text)))
}

/// Returns a text as the phrases are: in lower case, with plain apostrophes and without `ё`.
fn fold_phrases(text: &str) -> String {
    text.to_lowercase().replace('’', "'").replace('ё', "е")
}

/// Returns a text without the lines that begin with a dash, which is speech in half of the languages.
fn strip_dash_speech(text: &str) -> String {
    let is_speech = |line: &&str| line.trim_start().starts_with(['—', '–', '-']);
    let lines: Vec<&str> = text.lines().filter(|line| !is_speech(line)).collect();
    lines.join("\n")
}

/// Returns a text without what is between quotation marks.
pub(super) fn strip_quotations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut closing: Option<char> = None;
    for letter in text.chars() {
        match closing {
            // A paragraph ends speech that nobody closed.
            Some(_) if letter == '\n' => closing = None,
            Some(mark) if letter == mark => {
                closing = None;
                continue;
            }
            Some(_) => continue,
            None => closing = closing_quote(letter),
        }
        if closing.is_none() {
            out.push(letter);
        }
    }
    out
}

/// Returns the mark that ends speech which begins with this one.
fn closing_quote(opening: char) -> Option<char> {
    // Without `‘`, whose other end is an apostrophe.
    Some(match opening {
        '"' => '"',
        '“' => '”',
        '„' => '“',
        '«' => '»',
        '»' => '«',
        '「' => '」',
        '『' => '』',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns words that refuse nothing.
    fn filler(words: usize) -> String {
        let words: Vec<String> = (0..words).map(|at| format!("word{at}")).collect();
        words.join(" ")
    }

    #[test]
    fn a_short_text_that_begins_like_a_refusal_is_one() {
        for refusal in [
            "I'm sorry, but I can't help with planning this story.",
            "I’m sorry, but I can’t continue with this.",
            "I cannot assist with that request. Is there something else?",
            "As an AI language model, I have no opinions. Elena opened the drawer.",
            "К сожалению, я не могу написать эту сцену.",
            "Извините, но я не могу помочь с этим.",
            "I'm sorry, I can't generate a scene in which Elena opens the drawer.",
            "I apologize, but I cannot generate this about Elena and Marcus.",
            "**Sorry**, I won't write that. Please give me another idea for Elena.",
            "Es tut mir leid, aber ich kann diese Szene mit Elena nicht schreiben.",
            "Je suis désolé, mais je ne peux pas écrire cette scène avec Elena.",
            "Lo siento, no puedo continuar con esta historia.",
            "I do not feel comfortable writing this scene with Elena.",
            "This request violates the content policy. Elena stays where she is.",
            "Het spijt me, maar ik kan dit niet schrijven.",
            "Przykro mi, ale nie mogę tego napisać.",
            "很抱歉，我无法写这个。",
            "申し訳ありませんが、お手伝いできません。",
            "죄송합니다. 도와드릴 수 없습니다.",
        ] {
            assert!(is_refusal(refusal), "{refusal}");
        }
    }

    /// Defect: a refusal of more than 120 words was a complete scene where the target was that short.
    #[test]
    fn a_refusal_that_names_its_task_is_one_in_any_length() {
        for refusal in [
            "I'm sorry, but I can't help with writing this scene.",
            "I'm not going to write this one. It shows a thing that I would not show.",
            "I won't be writing this scene as it is described.",
            "Sorry, I cannot produce the scene that you describe.",
            "Het spijt me, maar ik kan deze scène niet schrijven.",
            "К сожалению, я не могу описать эту сцену.",
            "很抱歉，我无法写这个场景。",
            "The drawer is something I would prefer not to explore here.",
            "Elena и её ящик: я предпочёл бы не описывать её.",
        ] {
            let offer =
                "I would be happy to help with such a version instead. Предлагаю другой вариант.";
            let long = format!("{refusal} {}\n\n{offer}", filler(200));
            assert!(is_refusal(&long), "{refusal}");
        }
    }

    /// Defect: only the opening was read, and a scene that ended with a refusal was complete.
    #[test]
    fn a_refusal_at_the_end_is_found_in_any_length() {
        let story = format!("Elena opened the drawer. {}. She waited.", filler(200));
        for closing in [
            "As an AI language model, I cannot write the violent part of this scene.",
            "I'm sorry, but I can't continue with this story.",
            "I'm unable to continue this scene, because it may violate my guidelines.",
            "I’m unable to continue writing, as this may violate my guidelines.",
            "I can't help with that.",
            "I cannot help with that. I can offer a milder version instead.",
            "I can offer a milder version instead.",
            "К сожалению, я не могу продолжить этот текст…",
            "*Извините, но я не могу продолжить эту сцену.*",
            "(I must decline to write the rest of this scene.)",
        ] {
            for text in [
                format!("{story} {closing}"),
                format!("{story}\n\n{closing}"),
            ] {
                assert!(find_closing_refusal(&text).is_some(), "{closing}");
            }
        }
        let told = format!(
            "I opened my drawer. It was empty. {}. Dusk came. It rained. It went on.",
            filler(200)
        );
        for closing in [
            "I can't help with that. So I left.",
            "I'm sorry, but I can't forgive him.",
            "I was unable to continue.",
        ] {
            let text = format!("{told} {closing}");
            assert_eq!(find_closing_refusal(&text), None, "{closing}");
        }
        for closing in [
            "“I'm sorry, but I can't continue with this story,” she said.",
            "“As an AI language model, I cannot write this,” the machine said.",
            "— Я не могу продолжить этот текст, — сказала она.",
            "She could not help with that. She was unable to continue.",
            "He could offer her a milder version of it. He did not.",
        ] {
            let text = format!("{story} {closing}");
            // A dash begins speech at the beginning of a paragraph.
            let text = text.replace(" — Я", "\n— Я");
            assert_eq!(find_closing_refusal(&text), None, "{closing}");
        }
    }

    #[test]
    fn speech_thought_and_stories_are_no_refusals() {
        for prose in [
            "“I'm sorry, but I can't,” said Elena, and shut the drawer.",
            "Elena said, “I'm sorry, I can't help you with this scene,” and shut the drawer.",
            "Elena said, \"I'm sorry, but I can't help you,\" and left.",
            "— Я не могу помочь, — сказала Елена и закрыла ящик.",
            "Елена вздохнула.\n— Извините, но я не могу написать эту сцену.\nОна ушла.",
            "Елена сказала: «К сожалению, я не могу помочь с этим».",
            "艾琳娜说：“很抱歉，我无法写这个场景。”她走了。",
            "「申し訳ありませんが、できません」とエレナは言った。",
            "I cannot help thinking of the sea. It was grey that day.",
            "Sorry as she was, Elena shut the drawer. There was nothing that she could not bear.",
            "I can't swim. I told him so, and he laughed, and pushed me in.",
            "It is against the law to sell maps here. Elena sold three.",
            "I will not forget the scene at the harbour. The boats were on fire.",
            "I'd rather not go, I thought. I would be happy to stay by the fire.",
            "I'm not going to help this one, he thought, and let the boy fall.",
            "Elena opened the drawer. There was only dust.",
        ] {
            assert!(!is_refusal(prose), "{prose}");
            let long = format!("{prose} {}", filler(200));
            assert!(!is_refusal(&long), "{prose}");
        }
        let long = format!("I'm sorry, but I can say it now. {}", filler(200));
        assert!(!is_refusal(&long), "a story may begin like this");
    }
}
