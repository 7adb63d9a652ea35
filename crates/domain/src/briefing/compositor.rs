//! Fits text for an agent into a budget: ordered by severity, deduplicated, the rest counted.
//!
//! The only place where briefings are cut, so that no caller drops lines without saying so.

use std::collections::HashSet;

use serde::Serialize;

/// Priority of a line; lines are ordered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LineSeverity {
    /// Shortened if it does not fit, instead of being left out.
    Must,
    High,
    Normal,
    Low,
}

/// One item of a briefing, usually a single line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BriefingLine {
    pub section: &'static str,
    pub severity: LineSeverity,
    /// Why it is included, for `--explain`.
    pub why: String,
    pub text: String,
}

impl BriefingLine {
    /// Returns a line.
    #[must_use]
    pub fn new(
        section: &'static str,
        severity: LineSeverity,
        why: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            section,
            severity,
            why: why.into(),
            text: text.into(),
        }
    }
}

/// Maximum length of a text; both limits apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextBudget {
    pub characters: usize,
    /// Estimated.
    pub tokens: usize,
}

impl TextBudget {
    /// No limit.
    pub const UNLIMITED: Self = Self {
        characters: usize::MAX,
        tokens: usize::MAX,
    };

    /// Returns the budget lowered to at most `characters`.
    #[must_use]
    pub fn with_max_characters(self, characters: usize) -> Self {
        Self {
            characters: self.characters.min(characters),
            ..self
        }
    }

    fn can_hold(self, size: TextSize) -> bool {
        // Multiplying the limit instead of dividing the size avoids rounding each line's tokens up.
        size.characters <= self.characters && size.quarter_tokens <= self.tokens.saturating_mul(4)
    }
}

/// The composed text, with the lines that were kept and those that were cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposedText {
    pub text: String,
    pub kept: Vec<BriefingLine>,
    pub cut: Vec<BriefingLine>,
}

/// Length of a text. Tokens are counted in quarters, so that sums stay exact in integers.
#[derive(Clone, Copy, Default)]
struct TextSize {
    characters: usize,
    quarter_tokens: usize,
}

impl TextSize {
    fn of_text(text: &str) -> Self {
        // A tokenizer would be a large dependency for a limit that is soft anyway. By script: ASCII
        // about four characters per token, other alphabets two, CJK one.
        let quarter_tokens = text
            .chars()
            .map(|c| match c {
                '\0'..='\u{7f}' => 1,
                '\u{80}'..='\u{2e7f}' => 2,
                _ => 4,
            })
            .sum();
        Self {
            characters: text.chars().count(),
            quarter_tokens,
        }
    }

    fn plus_line(self, other: Self) -> Self {
        // One more for the line break between them.
        Self {
            characters: self.characters + other.characters + 1,
            quarter_tokens: self.quarter_tokens + other.quarter_tokens + 1,
        }
    }
}

/// Estimates the number of tokens of a text: four ASCII characters, two of most other alphabets, or
/// one CJK character per token.
#[must_use]
pub fn estimate_tokens(text: &str) -> usize {
    TextSize::of_text(text).quarter_tokens.div_ceil(4)
}

/// Composes the lines within the budget, most severe first and otherwise in order. What does not
/// fit is left out and counted; a `Must` line is shortened instead.
#[must_use]
pub fn fit_to_budget(mut lines: Vec<BriefingLine>, budget: TextBudget) -> ComposedText {
    // A stable sort: within one severity the caller's order is the order of importance.
    lines.sort_by_key(|line| line.severity);
    // Deduplicated after sorting, so that the most severe copy of a line is the one that stays.
    let mut said = HashSet::new();
    lines.retain(|line| said.insert(line.text.clone()));
    let whole = TextSize::of_text(
        &lines
            .iter()
            .map(|line| line.text.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    );
    // If not everything fits, room is reserved for the line that counts what is missing. Its
    // number is not known yet; three digits are enough in practice.
    let reserved = if budget.can_hold(whole) {
        TextSize::default()
    } else {
        TextSize::of_text(&render_omitted_count(999))
    };
    let (mut kept, mut cut, mut used): (Vec<BriefingLine>, Vec<BriefingLine>, TextSize) =
        (Vec::new(), Vec::new(), TextSize::default());
    for line in lines {
        let with = if kept.is_empty() {
            TextSize::of_text(&line.text)
        } else {
            used.plus_line(TextSize::of_text(&line.text))
        };
        // A later, shorter line may still fit after a longer one was cut; the budget is filled, not
        // truncated at the first overflow.
        if budget.can_hold(with.plus_line(reserved))
            || (reserved.characters == 0 && budget.can_hold(with))
        {
            used = with;
            kept.push(line);
        } else if line.severity == LineSeverity::Must
            && let Some(shorter) = shorten_to_fit(&line.text, budget, used, reserved)
        {
            let short = BriefingLine {
                text: shorter,
                ..line.clone()
            };
            used = if kept.is_empty() {
                TextSize::of_text(&short.text)
            } else {
                used.plus_line(TextSize::of_text(&short.text))
            };
            kept.push(short);
            cut.push(line);
        } else {
            cut.push(line);
        }
    }
    let mut text = kept
        .iter()
        .map(|line| line.text.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    if !cut.is_empty() {
        // A budget shorter than this line itself has no room for it.
        let last = render_omitted_count(cut.len());
        if budget.can_hold(TextSize::of_text(&text).plus_line(TextSize::of_text(&last))) {
            text = format!("{text}\n{last}");
        }
    }
    ComposedText { text, kept, cut }
}

/// Returns the line that counts what was cut, with the command that shows everything.
fn render_omitted_count(lines: usize) -> String {
    format!("… {lines} more: tl brief --budget 0")
}

/// Returns as much of a text as fits; `None` if that would be too little to be useful.
fn shorten_to_fit(
    text: &str,
    budget: TextBudget,
    used: TextSize,
    reserved: TextSize,
) -> Option<String> {
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        let size = used.plus_line(TextSize::of_text(&kept)).plus_line(reserved);
        if !budget.can_hold(TextSize {
            // Room for the ellipsis, which counts as a full token.
            characters: size.characters + 1,
            quarter_tokens: size.quarter_tokens + 4,
        }) {
            kept.pop();
            break;
        }
    }
    // A fragment of a few letters tells nothing and would only use up the budget.
    (kept.chars().count() >= 20).then(|| format!("{kept}…"))
}
