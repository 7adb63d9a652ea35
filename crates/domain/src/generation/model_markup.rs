//! Markup that a model or its server leaves in prose: reasoning blocks and chat tokens.
//!
//! It belongs to the protocol and not to the answer, so it is taken off before anything is judged. Words
//! about the text are another thing ([`super::acceptance::strip_address`]).

/// Names of the elements in which models reason.
const REASONING_ELEMENTS: &[&str] = &[
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "analysis",
    "scratchpad",
];
/// Chat tokens that have no bars: `<|im_end|>` and the like are recognised by theirs.
const CHAT_TOKENS: &[&str] = &[
    "<end_of_turn>",
    "<start_of_turn>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<pad>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
];
/// The bars of chat tokens; the second kind is DeepSeek's.
const TOKEN_BARS: &[(&str, &str)] = &[("<|", "|>"), ("<｜", "｜>")];
/// Maximum number of characters between the bars.
const MAX_TOKEN_CHARS: usize = 40;
/// Who speaks in a chat template, in a line of its own after a token.
const CHAT_ROLES: &[&str] = &["assistant", "model", "user", "system"];

/// Returns an answer without reasoning, and without chat tokens and what follows the turn that they end.
#[must_use]
pub(super) fn strip_model_markup(answer: &str) -> String {
    let text = strip_reasoning(answer);
    let mut rest = text.trim();
    // Tokens before the text open the turn.
    while let Some((0, length)) = find_chat_token(rest) {
        rest = rest.get(length..).unwrap_or_default().trim_start();
        let line = rest.lines().next().unwrap_or_default();
        if CHAT_ROLES.contains(&line.trim()) {
            rest = rest.get(line.len()..).unwrap_or_default().trim_start();
        }
    }
    // The first one after it ends the turn: what follows is another speaker's.
    let end = find_chat_token(rest).map_or(rest.len(), |(at, _)| at);
    rest.get(..end).unwrap_or(rest).trim().to_owned()
}

/// Returns a text without reasoning blocks.
fn strip_reasoning(text: &str) -> String {
    let mut text = text.to_owned();
    for name in REASONING_ELEMENTS {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        while let Some(end) = find_ignoring_case(&text, &close) {
            let before = text.get(..end).unwrap_or_default();
            // Without an opening tag it was part of the prompt's template, and all before it is reasoning.
            let start = find_ignoring_case(before, &open).unwrap_or(0);
            text.replace_range(start..end + close.len(), "");
        }
        // Reasoning that used up the output.
        if let Some(start) = find_ignoring_case(&text, &open) {
            text.truncate(start);
        }
    }
    text
}

/// Returns the position and the length of the first chat token.
fn find_chat_token(text: &str) -> Option<(usize, usize)> {
    let plain = CHAT_TOKENS
        .iter()
        .filter_map(|token| Some((text.find(token)?, token.len())));
    let barred = TOKEN_BARS.iter().filter_map(|(open, close)| {
        text.match_indices(open).find_map(|(at, _)| {
            let inner = text.get(at + open.len()..)?;
            let length = inner.find(close)?;
            let name = inner.get(..length)?;
            let is_token =
                name.chars().count() <= MAX_TOKEN_CHARS && !name.contains(char::is_whitespace);
            is_token.then_some((at, open.len() + length + close.len()))
        })
    });
    plain.chain(barred).min_by_key(|(at, _)| *at)
}

fn find_ignoring_case(text: &str, ascii: &str) -> Option<usize> {
    let (text, wanted) = (text.as_bytes(), ascii.as_bytes());
    text.windows(wanted.len())
        .position(|window| window.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Defect: reasoning and chat tokens were prose of the book.
    #[test]
    fn reasoning_and_chat_tokens_are_taken_off() {
        let prose = "Elena opened the drawer.\n\nIt was empty.";
        for answer in [
            format!("<think>\nShe is sad.\n</think>\n\n{prose}"),
            format!("<Thinking>She is sad.</Thinking>{prose}"),
            format!("She is sad, so the drawer is empty.\n</think>\n{prose}"),
            format!("<think>a</think><reasoning>b</reasoning>{prose}"),
            format!("{prose}\n<thinking>Should I go on?"),
            format!("{prose}<|im_end|>"),
            format!("{prose}<end_of_turn>\n<start_of_turn>user\nMore!"),
            format!("<|im_start|>assistant\n{prose}<|im_end|>\n<|im_start|>user\nMore!"),
            format!("<s>[INST]{prose}</s>"),
            format!("{prose}<｜end▁of▁sentence｜>"),
            prose.to_owned(),
        ] {
            assert_eq!(strip_model_markup(&answer), prose, "{answer}");
        }
        assert_eq!(strip_model_markup("<think>All of it"), "");
        for prose in [
            "She read the sign: <no entry>. She went in.",
            "“I think,” she said, <em>loudly</em>, “that 3 <| 4.”",
        ] {
            assert_eq!(strip_model_markup(prose), prose);
        }
    }

    proptest! {
        #[test]
        fn no_answer_panics_and_nothing_is_left_to_strip(text in "([a-zа-я.\n]|<think>|</think>|<\\|im_end\\|>|<\\||\\|>|<s>){0,20}") {
            let stripped = strip_model_markup(&text);
            prop_assert_eq!(strip_model_markup(&stripped), stripped);
        }
    }
}
