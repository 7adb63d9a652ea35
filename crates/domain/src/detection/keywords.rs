//! Words that indicate being stuck, in several languages. A project can add its own.

/// Words by meaning. Each is matched as a whole word or phrase, ignoring case.
pub const STUCK_WORDS: &[(&str, &[&str])] = &[
    // Each list: English, German, French, Spanish, Italian, Portuguese, Russian, Chinese, Japanese,
    // Korean. Lower case, as the text is compared.
    (
        "stuck",
        &[
            "stuck",
            "blocked on",
            "dead end",
            "no progress",
            "festgefahren",
            "sackgasse",
            "komme nicht weiter",
            "bloqué",
            "coincé",
            "atascado",
            "bloqueado",
            "incastrato",
            "preso",
            "застрял",
            "застряла",
            "тупик",
            "卡住",
            "行き詰まり",
            "막혔다",
        ],
    ),
    (
        "retry",
        &[
            "retry",
            "retrying",
            "try again",
            "trying again",
            "one more time",
            "noch einmal",
            "nochmal",
            "réessayer",
            "encore une fois",
            "reintentar",
            "otra vez",
            "riprova",
            "tentar novamente",
            "попробую снова",
            "ещё раз",
            "еще раз",
            "снова пробую",
            "重试",
            "再试一次",
            "もう一度",
            "다시 시도",
        ],
    ),
    (
        "confused",
        &[
            "confused",
            "confusing",
            "don't understand",
            "not sure why",
            "no idea why",
            "verwirrt",
            "verstehe nicht",
            "perplexe",
            "je ne comprends pas",
            "confundido",
            "no entiendo",
            "confuso",
            "не понимаю",
            "непонятно",
            "запутался",
            "запуталась",
            "困惑",
            "不明白",
            "わからない",
            "모르겠다",
        ],
    ),
    (
        "loop",
        &[
            "loop again",
            "in a loop",
            "going in circles",
            "same error",
            "same problem",
            "im kreis",
            "derselbe fehler",
            "en boucle",
            "même erreur",
            "en círculos",
            "mismo error",
            "stesso errore",
            "mesmo erro",
            "по кругу",
            "та же ошибка",
            "死循环",
            "同样的错误",
            "同じエラー",
            "같은 오류",
        ],
    ),
];

/// Returns the meanings of the stuck words in a text, each once. `more` are a project's own words.
#[must_use]
pub fn find_stuck_words(text: &str, more: &[String]) -> Vec<String> {
    let text = text.to_lowercase();
    let mut found: Vec<String> = STUCK_WORDS
        .iter()
        .filter(|(_, words)| words.iter().any(|word| contains_word(&text, word)))
        .map(|(meaning, _)| (*meaning).to_owned())
        .collect();
    found.extend(
        more.iter()
            .map(|word| word.to_lowercase())
            .filter(|word| contains_word(&text, word)),
    );
    found
}

/// Whether a text contains a word as a whole word.
fn contains_word(text: &str, word: &str) -> bool {
    // Chinese, Japanese and Korean (U+2E80 and above) are written without spaces between words, so
    // there the word may be anywhere.
    let spaced = word.chars().all(|c| c < '\u{2e80}');
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text
            .get(at + word.len()..)
            .and_then(|after| after.chars().next());
        // A hyphen joins words: "retry-policy" is a name, not a complaint.
        let is_part =
            |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
        !word.is_empty() && (!spaced || (!is_part(before) && !is_part(after)))
    })
}
