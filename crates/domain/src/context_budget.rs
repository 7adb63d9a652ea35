//! Ranked token budget of a prompt: sections take their share in order of importance, and what does not
//! fit is counted, so that it can be named.
//!
//! One builder for planner, writer and judge. It knows nothing of stories; a section is lines or a text.

use serde::Serialize;
use serde_json::Value;

use crate::text::clean_line;

/// Maximum number of ids in an enumeration of a schema; providers limit its size.
const MAX_LISTED_IDS: usize = 400;
/// Number of ids that an enumeration lists however small the budget is.
const MIN_LISTED_IDS: usize = 10;

/// Size of one section of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptSection {
    pub name: &'static str,
    /// Estimated tokens.
    pub tokens: usize,
    /// Number of lines or sentences that did not fit.
    pub left_out: usize,
}

/// Order of a section's lines. When the budget is short, the last given are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineOrder {
    AsGiven,
    /// Given newest first, rendered oldest first.
    NewestFirst,
}

/// The tokens that are left, and the sections so far.
#[derive(Debug)]
pub(crate) struct ContextBudget {
    tokens: usize,
    left: usize,
    /// Tokens that texts which are always complete take beyond the budget.
    missing: usize,
    pub(crate) sections: Vec<PromptSection>,
}

/// Estimates the number of tokens of a text.
#[must_use]
pub fn estimate_tokens(text: &str) -> usize {
    // No tokenizer: each provider has its own, and megabytes of tables for an estimate are not worth it.
    // English needs about four letters a token, Russian about two and a half, Chinese one or less, so this
    // errs on the safe side.
    let sixths = |c: char| match c.len_utf8() {
        1 => 2,
        2 => 3,
        _ => 6,
    };
    text.chars().map(sixths).sum::<usize>().div_ceil(6)
}

/// Prefixes every line of a text as story data.
#[must_use]
pub(crate) fn mark_as_data(text: &str) -> String {
    text.lines()
        .map(|line| format!("│ {}", clean_line(line)))
        .collect::<Vec<_>>()
        .join("\n")
}

impl ContextBudget {
    pub(crate) fn new(tokens: usize) -> Self {
        Self {
            tokens,
            left: tokens,
            missing: 0,
            sections: Vec::new(),
        }
    }

    /// Counts a text that is always complete, such as the instructions. All of them come before what can be
    /// shortened.
    pub(crate) fn take_fixed(&mut self, name: &'static str, text: &str) {
        let tokens = estimate_tokens(text);
        self.require_tokens(tokens);
        self.add_section(name, tokens, 0);
    }

    /// Renders a text that is always complete as data.
    pub(crate) fn take_whole(&mut self, name: &'static str, text: &str) -> String {
        self.take_fixed(name, text);
        mark_as_data(text)
    }

    /// Counts a remark about what did not fit, for which there is always room.
    pub(crate) fn take_remark(&mut self, name: &'static str, text: &str) {
        let tokens = estimate_tokens(text);
        self.left = self.left.saturating_sub(tokens);
        self.add_section(name, tokens, 0);
    }

    fn require_tokens(&mut self, tokens: usize) {
        self.missing += tokens.saturating_sub(self.left);
        self.left = self.left.saturating_sub(tokens);
    }

    /// Returns the least budget of the texts that are always complete, if this one is smaller.
    pub(crate) fn least_tokens(&self) -> Option<usize> {
        (self.missing > 0).then(|| self.tokens + self.missing)
    }

    /// Builds the schema of an answer and counts it: it is sent with the prompt, in every dialect. `build` gets
    /// the number of ids that its enumerations may list; there are fewer where it would take more than half
    /// of the budget.
    pub(crate) fn take_schema(&mut self, build: impl Fn(usize) -> Value) -> Value {
        let mut ids = MAX_LISTED_IDS;
        loop {
            let schema = build(ids);
            let tokens = estimate_tokens(&schema.to_string());
            if tokens <= self.left / 2 || ids <= MIN_LISTED_IDS {
                self.require_tokens(tokens);
                self.add_section("schema of the answer", tokens, 0);
                return schema;
            }
            ids /= 2;
        }
    }

    /// Takes as many lines as fit into a percentage of what is left.
    pub(crate) fn take_lines(
        &mut self,
        name: &'static str,
        percent: usize,
        lines: impl Iterator<Item = String>,
        order: LineOrder,
    ) -> TakenLines {
        self.take_items(name, percent, lines, |line| line, order)
    }

    /// As [`Self::take_lines`], for items of which each becomes a line. Those that do not fit are counted
    /// and not rendered: a novel has thousands of facts, and a prompt shows a hundred.
    pub(crate) fn take_items<T>(
        &mut self,
        name: &'static str,
        percent: usize,
        items: impl Iterator<Item = T>,
        render: impl Fn(T) -> String,
        order: LineOrder,
    ) -> TakenLines {
        let mut share = self.left.saturating_mul(percent) / 100;
        let (mut kept, mut left_out, mut tokens) = (Vec::new(), 0usize, 0);
        for item in items {
            if left_out > 0 {
                left_out += 1;
                continue;
            }
            let line = render(item);
            let cost = estimate_tokens(&line) + 1;
            // Nothing after the first line that does not fit: a list with gaps would hide that the most
            // relevant entry is missing. One line may exceed its share, or a long one would never be
            // shown.
            if cost <= share || kept.is_empty() && cost <= self.left {
                share = share.saturating_sub(cost);
                self.left = self.left.saturating_sub(cost);
                tokens += cost;
                kept.push(line);
            } else {
                left_out = 1;
            }
        }
        if order == LineOrder::NewestFirst {
            // Read in the order of the story, although the newest were chosen first.
            kept.reverse();
        }
        self.add_section(name, tokens, left_out);
        TakenLines { kept, left_out }
    }

    /// Renders a text from its beginning, in whole lines.
    pub(crate) fn take_beginning(
        &mut self,
        name: &'static str,
        percent: usize,
        text: &str,
    ) -> String {
        let lines = text.lines().map(str::to_owned);
        let taken = self.take_lines(name, percent, lines, LineOrder::AsGiven);
        mark_as_data(&taken.kept.join("\n"))
    }

    /// Renders a text from its end, in whole sentences: the newest words carry the voice.
    pub(crate) fn take_end(&mut self, name: &'static str, text: &str) -> String {
        let sentences: Vec<&str> = split_sentences(text).collect();
        let (mut from, mut tokens) = (sentences.len(), 0);
        for sentence in sentences.iter().rev() {
            let cost = estimate_tokens(sentence);
            if tokens + cost > self.left {
                break;
            }
            tokens += cost;
            from -= 1;
        }
        self.left -= tokens;
        self.add_section(name, tokens, from);
        let kept: String = sentences.get(from..).unwrap_or_default().concat();
        mark_as_data(kept.trim())
    }

    fn add_section(&mut self, name: &'static str, tokens: usize, left_out: usize) {
        self.sections.push(PromptSection {
            name,
            tokens,
            left_out,
        });
    }
}

/// Lines that fitted into a budget.
pub(crate) struct TakenLines {
    pub(crate) kept: Vec<String>,
    pub(crate) left_out: usize,
}

impl TakenLines {
    /// Renders the lines as data, with a remark about what was left out.
    pub(crate) fn render(&self, nothing: &str, order: LineOrder, remark: &str) -> String {
        let Self { kept, left_out } = self;
        if kept.is_empty() && *left_out == 0 {
            return nothing.to_owned();
        }
        let text = mark_as_data(&kept.join("\n"));
        if *left_out == 0 {
            return text;
        }
        // Said explicitly, so that nobody takes the list for complete.
        let more = format!("({left_out} more are not shown{remark})");
        match order {
            LineOrder::NewestFirst => format!("{more}\n{text}"),
            LineOrder::AsGiven => format!("{text}\n{more}"),
        }
    }
}

impl TakenLines {
    /// As [`Self::render`], after lines that were counted before.
    pub(crate) fn render_after(
        mut self,
        first: Vec<String>,
        nothing: &str,
        remark: &str,
    ) -> String {
        self.kept.splice(0..0, first);
        self.render(nothing, LineOrder::AsGiven, remark)
    }
}

/// Splits a text after the ends of sentences; together the pieces are the text.
fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['.', '!', '?', '…', '。', '！', '？', '\n'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Defect: the prompt ended `…buried another coat beside the narro`, in the newest scene.
    #[test]
    fn a_text_is_cut_from_its_front_in_whole_sentences() {
        let mut budget = ContextBudget::new(12);
        let text = "The first went by. The second stayed. The last one burned.";
        let kept = budget.take_end("previous", text);
        assert_eq!(kept, "│ The last one burned.");
        assert_eq!(
            budget.sections,
            [PromptSection {
                name: "previous",
                tokens: 7,
                left_out: 2
            }]
        );
    }

    #[test]
    fn a_schema_lists_fewer_ids_where_the_budget_is_small() {
        let build = |ids: usize| serde_json::json!({ "enum": vec!["OL123"; ids] });
        let mut budget = ContextBudget::new(10_000);
        let schema = budget.take_schema(build);
        assert_eq!(
            schema["enum"].as_array().map(Vec::len),
            Some(MAX_LISTED_IDS)
        );
        let counted = estimate_tokens(&schema.to_string());
        assert_eq!(budget.sections.first().map(|it| it.tokens), Some(counted));
        let mut small = ContextBudget::new(1_000);
        let schema = small.take_schema(build);
        assert!(estimate_tokens(&schema.to_string()) <= 500, "{schema}");
        let mut none = ContextBudget::new(0);
        let schema = none.take_schema(build);
        assert!(schema["enum"].as_array().is_some_and(|ids| !ids.is_empty()));
    }

    #[test]
    fn items_that_do_not_fit_are_counted_and_not_rendered() {
        let rendered = std::cell::Cell::new(0);
        let render = |number: usize| {
            rendered.set(rendered.get() + 1);
            format!("item {number}")
        };
        let mut budget = ContextBudget::new(20);
        let taken = budget.take_items("items", 50, 1..=1_000, render, LineOrder::AsGiven);
        assert_eq!(taken.kept, ["item 1", "item 2", "item 3"]);
        assert_eq!(taken.left_out, 997);
        assert_eq!(
            rendered.get(),
            4,
            "those that fit, and the first that does not"
        );
    }

    #[test]
    fn the_least_budget_is_named_and_is_enough() {
        let fill = |tokens: usize| {
            let mut budget = ContextBudget::new(tokens);
            budget.take_fixed("instructions", &"a".repeat(300));
            budget.take_whole("blueprint", &"b".repeat(90));
            budget.take_schema(|_| serde_json::json!({ "type": "object" }));
            budget.least_tokens()
        };
        let least = fill(50).unwrap();
        assert!(fill(least - 1).is_some());
        assert_eq!(fill(least), None);
    }

    proptest! {
        #[test]
        fn no_section_exceeds_the_budget(tokens in 0usize..200, text in "[а-яa-z .\n]{0,600}") {
            let mut budget = ContextBudget::new(tokens);
            budget.take_beginning("first", 40, &text);
            budget.take_end("second", &text);
            let used: usize = budget.sections.iter().map(|section| section.tokens).sum();
            prop_assert!(used <= tokens, "{used} of {tokens}");
        }

        #[test]
        fn what_fits_is_complete(text in "[a-z .]{0,300}") {
            let mut budget = ContextBudget::new(1_000);
            let kept = budget.take_end("all", &text);
            prop_assert_eq!(kept, mark_as_data(text.trim()));
            prop_assert_eq!(budget.sections.first().map(|section| section.left_out), Some(0));
        }
    }
}
