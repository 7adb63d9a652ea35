//! Diff between a request that is not recorded and the most similar recorded one.

use serde_json::Value;
use similar::TextDiff;

const MAX_DIFF_LINES: usize = 40;

/// Returns the unified diff from the most similar of `recorded` to `asked`.
pub(crate) fn diff_to_nearest<'a>(
    asked: &Value,
    recorded: impl Iterator<Item = &'a Value>,
) -> Option<String> {
    let asked = render_lines(asked);
    let nearest = recorded
        .map(render_lines)
        .map(|recorded| (TextDiff::from_lines(&recorded, &asked).ratio(), recorded))
        .max_by(|left, right| left.0.total_cmp(&right.0))?
        .1;
    let diff = TextDiff::from_lines(&nearest, &asked)
        .unified_diff()
        // Prompts are long: one line of context around each change is enough to find it.
        .context_radius(1)
        .to_string();
    let mut lines: Vec<&str> = diff.lines().collect();
    if lines.len() > MAX_DIFF_LINES {
        lines.truncate(MAX_DIFF_LINES);
        lines.push("…");
    }
    Some(lines.join("\n"))
}

/// Renders a request with the line breaks of its texts, so that a diff shows the line that changed.
fn render_lines(value: &Value) -> String {
    format!("{value:#}\n").replace("\\n", "\n")
}
