//! "Did you mean" suggestions by string similarity (Jaro-Winkler).

/// Returns up to `most` of the `known` words that are similar to `word`, most similar first.
#[must_use]
pub fn nearest_words<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&word, &candidate.to_lowercase()),
                candidate,
            )
        })
        // Below 0.75 suggestions are mostly unrelated words that share a few letters.
        .filter(|(score, _)| *score >= 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    scored
        .into_iter()
        .take(most)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Returns the hint at the word most similar to `word`, to append to a message; empty without one.
#[must_use]
pub fn nearest_hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest_words(word, known, 1);
    near.first()
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default()
}

/// Appends `did you mean` to serde's "unknown field `x`, expected one of `a`, `b`".
#[must_use]
pub fn with_suggestion(message: &str) -> String {
    // serde's error has no structure: the unknown word and the known ones are the quoted parts.
    let mut quoted = message.split('`').skip(1).step_by(2);
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    match (is_unknown, quoted.next()) {
        (true, Some(word)) => match nearest_words(word, quoted, 1).first() {
            Some(near) => format!("{message}; did you mean `{near}`?"),
            None => message.to_owned(),
        },
        _ => message.to_owned(),
    }
}
