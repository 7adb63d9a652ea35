//! Titles of new tickets, derived from a branch name or from a person's prompt.

/// A ticket that a branch name describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchTicket {
    pub title: String,
    /// The front matter's `type`.
    pub kind: &'static str,
    /// The issue the name refers to: `ABC-12`, `#345`.
    pub issue: Option<String>,
}

/// Branches that are nobody's task.
const SHARED_BRANCHES: &[&str] = &[
    "main",
    "master",
    "trunk",
    "develop",
    "dev",
    "staging",
    "production",
    "release",
    "head",
];

/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 72;

/// Returns the ticket that a branch name describes: `feature/ABC-12-discount-codes`. `None` for a
/// branch that is shared, or whose name has no words.
#[must_use]
pub fn describe_branch(branch: &str) -> Option<BranchTicket> {
    if SHARED_BRANCHES.contains(&branch.to_lowercase().as_str()) {
        return None;
    }
    let parts: Vec<&str> = branch.split('/').collect();
    let (name, folders) = parts.split_last()?;
    // Prefixes are kinds of work or names of people; only the first are kept, as the type.
    let kind_of = |word: &&str| match word.to_lowercase().as_str() {
        "fix" | "bugfix" | "hotfix" | "bug" => Some("bug"),
        "feat" | "feature" => Some("feature"),
        "chore" | "refactor" | "docs" | "doc" | "test" | "ci" | "build" => Some("chore"),
        _ => None,
    };
    let mut words: Vec<&str> = name
        .split(|c: char| "-_. ".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let folder_kind = folders.iter().find_map(kind_of);
    // `fix-typo` without a folder: the word stays in the title.
    let kind = folder_kind.or_else(|| words.first().and_then(kind_of));
    let issue = take_issue(&mut words);
    let title = capitalise(&words.join(" "));
    // A bare issue number says nothing about the work.
    (title.chars().filter(|c| c.is_alphabetic()).count() >= 3).then(|| BranchTicket {
        title: limit_title(&title),
        kind: kind.unwrap_or("task"),
        issue,
    })
}

/// Takes the issue number from the start of a branch's words: `ABC 12 …`, `345 …`.
fn take_issue(words: &mut Vec<&str>) -> Option<String> {
    let is_number = |word: &&str| word.chars().all(|c| c.is_ascii_digit());
    // Upper case only: in `add-2-factor-login` the first words are no key of a tracker.
    let is_key = |word: &&str| word.len() >= 2 && word.chars().all(|c| c.is_ascii_uppercase());
    let first = words.first()?;
    if is_key(first) && words.get(1).is_some_and(is_number) {
        let issue = format!("{}-{}", words[0], words[1]);
        words.drain(..2);
        return Some(issue);
    }
    if is_number(first) && words.len() > 1 {
        let issue = format!("#{first}");
        words.remove(0);
        return Some(issue);
    }
    None
}

/// Words a question or a remark begins with: it asks for an answer, not for work.
const QUESTION_WORDS: &[&str] = &[
    "why",
    "what",
    "how",
    "when",
    "where",
    "who",
    "which",
    "is",
    "are",
    "does",
    "did",
    "explain",
    "show",
    "tell",
    "list",
    "describe",
    "summarize",
    "summarise",
    "thanks",
    "thank",
    "yes",
    "no",
    "ok",
    "okay",
    "continue",
    "go",
    "почему",
    "что",
    "как",
    "когда",
    "где",
    "кто",
    "объясни",
    "покажи",
    "расскажи",
    "да",
    "нет",
    "продолжай",
    "спасибо",
];

/// Words before the task itself.
pub(crate) const POLITE_WORDS: &[&str] = &[
    "please",
    "can",
    "could",
    "would",
    "you",
    "i",
    "want",
    "need",
    "to",
    "we",
    "should",
    "let's",
    "lets",
    "hi",
    "hello",
    "hey",
    "пожалуйста",
    "можешь",
    "нужно",
    "надо",
    "давай",
];

/// Minimum number of words of a task in a prompt.
const MIN_PROMPT_WORDS: usize = 3;

/// Returns a title for the task that a prompt asks for; `None` for a question, a command, or a remark.
#[must_use]
pub fn title_from_prompt(prompt: &str) -> Option<String> {
    let words = read_task(prompt)?;
    (words.len() >= MIN_PROMPT_WORDS).then(|| limit_title(&capitalise(&words.join(" "))))
}

/// Whether a prompt may ask for work: it is no question, command or remark.
#[must_use]
pub fn may_ask_for_work(prompt: &str) -> bool {
    read_task(prompt).is_some()
}

/// Returns the words of the task that a prompt asks for, without polite ones before it.
fn read_task(prompt: &str) -> Option<Vec<&str>> {
    let text = prompt.trim_start();
    // Slash commands, pasted markup and mentions are addressed to the host, not a task in words.
    if text.starts_with(['/', '#', '<', '{', '@', '!']) {
        return None;
    }
    let line = text.lines().next()?.trim();
    let end = line.find(['.', ';', '!', '?']).filter(|end| {
        // A full stop inside a word belongs to a file or a version.
        let after = line.get(end + 1..).unwrap_or_default();
        after.is_empty() || after.starts_with(char::is_whitespace)
    });
    let sentence = end.and_then(|end| line.get(..end)).unwrap_or(line);
    let is_question = line
        .get(sentence.len()..)
        .is_some_and(|rest| rest.starts_with('?'));
    let mut words: Vec<&str> = sentence.split_whitespace().collect();
    let plain = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'')
            .to_lowercase()
    };
    let asks_politely = words
        .first()
        .is_some_and(|word| POLITE_WORDS.contains(&plain(word).as_str()));
    while words
        .first()
        .is_some_and(|word| POLITE_WORDS.contains(&plain(word).as_str()))
    {
        words.remove(0);
    }
    let first = words.first().map(|word| plain(word))?;
    // "Could you add a search?" asks for work; "why is it slow?" does not.
    if QUESTION_WORDS.contains(&first.as_str()) || (is_question && !asks_politely) {
        return None;
    }
    Some(words)
}

fn capitalise(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Cuts a title at a word.
fn limit_title(title: &str) -> String {
    if title.chars().count() <= MAX_TITLE_CHARS {
        return title.trim_end_matches([',', ':']).to_owned();
    }
    let cut: String = title.chars().take(MAX_TITLE_CHARS).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    cut.get(..end)
        .unwrap_or(&cut)
        .trim_end_matches([',', ':'])
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{describe_branch, title_from_prompt};

    #[test]
    fn branches_describe_tickets() {
        for (branch, expected) in [
            (
                "feature/discount-codes",
                Some(("Discount codes", "feature", None)),
            ),
            (
                "fix/ABC-12_wrong_total",
                Some(("Wrong total", "bug", Some("ABC-12"))),
            ),
            (
                "345-rename-the-field",
                Some(("Rename the field", "task", Some("#345"))),
            ),
            (
                "ann/поиск-по-планам",
                Some(("Поиск по планам", "task", None)),
            ),
            ("fix-typo", Some(("Fix typo", "bug", None))),
            ("main", None),
            ("release", None),
            ("12", None),
            ("", None),
        ] {
            let found = describe_branch(branch);
            let found = found
                .as_ref()
                .map(|one| (one.title.as_str(), one.kind, one.issue.as_deref()));
            assert_eq!(found, expected, "{branch}");
        }
    }

    #[test]
    fn prompts_that_ask_for_work_have_a_title() {
        for (prompt, expected) in [
            (
                "Add discount codes to the checkout. Use the existing cart.",
                Some("Add discount codes to the checkout"),
            ),
            (
                "please fix the wrong total in src/cart.rs",
                Some("Fix the wrong total in src/cart.rs"),
            ),
            (
                "Could you add a search to the index?",
                Some("Add a search to the index"),
            ),
            ("добавь поиск по планам", Some("Добавь поиск по планам")),
            ("Why is the total wrong?", None),
            ("is it done?", None),
            ("continue with the tests", None),
            ("/approve-plan act 1", None),
            ("fix it", None),
            ("", None),
        ] {
            assert_eq!(title_from_prompt(prompt).as_deref(), expected, "{prompt}");
        }
        let long = format!("Rewrite {}", "the module that counts lines ".repeat(8));
        assert!(title_from_prompt(&long).is_some_and(|title| title.chars().count() <= 72));
    }
}
