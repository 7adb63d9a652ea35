//! The one place where text for an agent is made to fit: ordered by severity, within a budget, nothing said twice.

use std::collections::HashSet;

use serde::Serialize;

/// How much it matters. The order is that of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Never left out.
    Must,
    High,
    Normal,
    Low,
}

/// Something to be said: mostly one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    pub section: &'static str,
    pub severity: Severity,
    /// Why it is said, for `--explain`.
    pub why: String,
    pub text: String,
}

impl Line {
    /// Returns a line.
    #[must_use]
    pub fn new(
        section: &'static str,
        severity: Severity,
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

/// How long a text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub characters: usize,
    /// Estimated.
    pub tokens: usize,
}

impl Budget {
    /// A budget nobody reaches.
    pub const UNLIMITED: Self = Self {
        characters: usize::MAX,
        tokens: usize::MAX,
    };

    /// Returns the budget with no more than so many characters.
    #[must_use]
    pub fn at_most(self, characters: usize) -> Self {
        Self {
            characters: self.characters.min(characters),
            ..self
        }
    }

    fn holds(self, size: Size) -> bool {
        size.characters <= self.characters && size.quarter_tokens <= self.tokens.saturating_mul(4)
    }
}

/// What became of everything there was to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    pub text: String,
    pub kept: Vec<Line>,
    pub cut: Vec<Line>,
}

#[derive(Clone, Copy, Default)]
struct Size {
    characters: usize,
    quarter_tokens: usize,
}

impl Size {
    fn of(text: &str) -> Self {
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

    fn and(self, other: Self) -> Self {
        // With the line end between them.
        Self {
            characters: self.characters + other.characters + 1,
            quarter_tokens: self.quarter_tokens + other.quarter_tokens + 1,
        }
    }
}

/// Returns about how many tokens a text takes: four letters of English, two of most other alphabets, one sign of Chinese.
#[must_use]
pub fn estimated_tokens(text: &str) -> usize {
    Size::of(text).quarter_tokens.div_ceil(4)
}

/// Makes lines fit: the most severe first, in the order they come; what does not fit is left out and counted. The first
/// line is there in any case, cut where it has to be.
#[must_use]
pub fn fit(mut lines: Vec<Line>, budget: Budget) -> Composed {
    lines.sort_by_key(|line| line.severity);
    let mut said = HashSet::new();
    lines.retain(|line| said.insert(line.text.clone()));
    let whole = Size::of(
        &lines
            .iter()
            .map(|line| line.text.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    );
    // Room for the line that says that something is missing, where something will be.
    let reserved = if budget.holds(whole) {
        Size::default()
    } else {
        Size::of(&left_out(999))
    };
    let (mut kept, mut cut, mut used): (Vec<Line>, Vec<Line>, Size) =
        (Vec::new(), Vec::new(), Size::default());
    for line in lines {
        let with = if kept.is_empty() {
            Size::of(&line.text)
        } else {
            used.and(Size::of(&line.text))
        };
        if budget.holds(with.and(reserved)) || (reserved.characters == 0 && budget.holds(with)) {
            used = with;
            kept.push(line);
        } else if line.severity == Severity::Must
            && let Some(shorter) = shortened(&line.text, budget, used, reserved)
        {
            let short = Line {
                text: shorter,
                ..line.clone()
            };
            used = if kept.is_empty() {
                Size::of(&short.text)
            } else {
                used.and(Size::of(&short.text))
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
        let last = left_out(cut.len());
        if budget.holds(Size::of(&text).and(Size::of(&last))) {
            text = format!("{text}\n{last}");
        }
    }
    Composed { text, kept, cut }
}

fn left_out(lines: usize) -> String {
    format!("… {lines} more: tl brief --budget 0")
}

/// Returns as much of a text as there is room for; `None` when that is nothing worth saying.
fn shortened(text: &str, budget: Budget, used: Size, reserved: Size) -> Option<String> {
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        let size = used.and(Size::of(&kept)).and(reserved);
        if !budget.holds(Size {
            characters: size.characters + 1,
            quarter_tokens: size.quarter_tokens + 4,
        }) {
            kept.pop();
            break;
        }
    }
    (kept.chars().count() >= 20).then(|| format!("{kept}…"))
}
