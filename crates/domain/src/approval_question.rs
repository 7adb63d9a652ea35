//! The question a person answers to approve a plan: what it shows, and whether a channel can show it.
//!
//! A person may only say yes to what they were shown. So the question shows the whole difference to
//! the text that was approved last, or the whole text, and one that does not fit into its channel
//! cannot be answered there with yes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::approval::{Condemnation, Force, ObjectionKind};
use crate::diff::{DiffLine, DiffLineKind, Hunk};
use crate::ids::{NodeId, OperationId, Principal, VersionHash};
use crate::named_enum::named_enum;
use crate::node::Status;
use crate::record::Recorded;
use crate::text::{count_with_noun, reveal_invisible};
use crate::time::Timestamp;

/// Maximum number of plans named below a rejection.
const MAX_NAMED_BELOW: usize = 5;

/// Where a question is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionChannel {
    /// A terminal or a page, which scroll.
    Unlimited,
    /// A form of an MCP client: a dialog, often of a terminal program.
    Form,
    /// The message with which a hook answers a typed command.
    TypedCommand,
}

impl QuestionChannel {
    /// Returns the maximum size of a question, in the unit of [`Self::measure_text`].
    fn max_size(self) -> Option<usize> {
        match self {
            Self::Unlimited => None,
            Self::Form => Some(4_000),
            // Of the hosts, Codex passes on the least: 8,000 bytes, with what is said around it.
            Self::TypedCommand => Some(6_000),
        }
    }

    /// Returns the size of a text: characters where people read it, bytes where a host cuts it.
    fn measure_text(self, text: &str) -> usize {
        match self {
            Self::Unlimited | Self::Form => text.chars().count(),
            Self::TypedCommand => text.len(),
        }
    }
}

/// The text a question compares with.
#[derive(Clone, Copy, Debug)]
pub enum QuestionBase<'q> {
    /// The text that was approved last, and what changed since.
    Approved {
        version: VersionHash,
        by: &'q Principal,
        at: Timestamp,
        hunks: &'q [Hunk],
    },
    /// No text that could be compared with: the whole text is new.
    Nothing { text: &'q str },
}

/// The content of a question.
#[derive(Clone, Copy, Debug)]
pub struct QuestionParts<'q> {
    pub path: &'q str,
    pub file: Option<&'q str>,
    pub status: Status,
    pub version: VersionHash,
    pub base: QuestionBase<'q>,
    /// What changed in the parent since the text was approved, with the parent's path.
    pub parent_changes: Option<(&'q str, &'q [Hunk])>,
    pub warnings: &'q [String],
    /// An objection to this very text.
    pub objection: Option<&'q Condemnation>,
    /// What a yes overrides.
    pub required_force: Force,
}

/// A question as its channel shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedQuestion {
    pub text: String,
    /// Number of lines that did not fit; with any, the question cannot be answered with yes.
    pub hidden_lines: usize,
}

impl RenderedQuestion {
    /// Whether everything is shown, so that yes is a possible answer.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.hidden_lines == 0
    }
}

/// Renders a question for a channel.
#[must_use]
pub fn render_question(parts: &QuestionParts<'_>, channel: QuestionChannel) -> RenderedQuestion {
    let lines = collect_lines(parts, &mut Vec::new());
    cut_lines(&lines, channel, "on its page of the dashboard", parts.path)
}

/// Renders one question about several plans. It shows everything that the questions about each of
/// them would show; a change of a parent only with the first plan that it touches.
#[must_use]
pub fn render_batch_question(
    plans: &[QuestionParts<'_>],
    channel: QuestionChannel,
) -> RenderedQuestion {
    let paths: Vec<&str> = plans.iter().map(|parts| parts.path).collect();
    let mut lines = vec![format!("Approve {} plans at once?", plans.len())];
    // First, so that they are all named even where their texts do not fit.
    lines.extend(paths.iter().map(|path| format!("- `{path}`")));
    let mut shown = Vec::new();
    for parts in plans {
        lines.push(String::new());
        lines.extend(collect_lines(parts, &mut shown));
    }
    cut_lines(&lines, channel, "on the dashboard", &paths.join(" "))
}

/// Returns the lines of a question. `shown` are the changes of parents that were shown already.
fn collect_lines<'q>(
    parts: &QuestionParts<'q>,
    shown: &mut Vec<(&'q str, &'q [Hunk])>,
) -> Vec<String> {
    let mut lines = vec![render_headline(parts)];
    // First: what speaks against the plan is what a person should decide about.
    if let Some(objection) = parts.objection {
        lines.push(format!("{}:", describe_objection(objection)));
        lines.extend(objection.reason.lines().map(|line| format!("│ {line}")));
    }
    lines.extend(parts.warnings.iter().map(|warning| format!("- {warning}")));
    lines.extend(describe_force(parts.required_force).map(str::to_owned));
    lines.extend([String::new(), describe_base(&parts.base), String::new()]);
    match parts.base {
        QuestionBase::Approved { hunks, .. } => push_hunks(&mut lines, hunks),
        // Marked as material: a text could contain another headline. The lines of a difference have
        // marks already.
        QuestionBase::Nothing { text } => {
            lines.extend(text.lines().map(|line| format!("│ {line}")));
        }
    }
    if let Some((parent, hunks)) = parts.parent_changes {
        lines.push(String::new());
        // Plans below one parent would repeat its change until the question does not fit.
        if shown.contains(&(parent, hunks)) {
            lines.push(format!("Changed in its parent `{parent}`: as shown above."));
        } else {
            shown.push((parent, hunks));
            lines.extend([format!("Changed in its parent `{parent}`:"), String::new()]);
            push_hunks(&mut lines, hunks);
        }
    }
    // All of them: paths and warnings hold names from the texts.
    for line in &mut lines {
        if let Cow::Owned(shown) = reveal_invisible(line) {
            *line = shown;
        }
    }
    lines
}

/// Returns what a rejection makes stale; `None` if nothing depends on the plan.
#[must_use]
pub fn describe_falls_below(paths: &[String]) -> Option<String> {
    let names: Vec<String> = paths
        .iter()
        .take(MAX_NAMED_BELOW)
        .map(|path| format!("`{path}`"))
        .collect();
    let more = match paths.len().saturating_sub(MAX_NAMED_BELOW) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let plans = count_with_noun(
        paths.len(),
        "plan below becomes stale",
        "plans below become stale",
    );
    (!paths.is_empty()).then(|| format!("{plans}: {}{more}", names.join(", ")))
}

/// Returns who objected to the text of a plan, and how.
#[must_use]
pub fn describe_objection(objection: &Condemnation) -> String {
    let what = match objection.kind {
        ObjectionKind::Rejected => "Exactly this text was rejected",
        ObjectionKind::ChangesRequested => "Changes of exactly this text were requested",
        ObjectionKind::RevalidationRequired => "It was marked to be compared with its parent",
    };
    let at = objection.at.format_local_minute();
    format!("{what} by {} on {at}", objection.by)
}

/// Returns what a yes overrides, as a sentence; `None` for nothing.
#[must_use]
pub fn describe_force(force: Force) -> Option<&'static str> {
    match force {
        Force::No => None,
        Force::Warnings => {
            Some("A yes accepts these warnings (policy.consistency is `require-force`).")
        }
        Force::Yes => Some("A yes overrides that rejection."),
    }
}

fn render_headline(parts: &QuestionParts<'_>) -> String {
    let file = parts.file.map(|file| format!(" ({file})"));
    format!(
        "Approve the plan `{}`{}? It is {}, version {}.",
        parts.path,
        file.unwrap_or_default(),
        parts.status,
        parts.version.short_hex()
    )
}

fn describe_base(base: &QuestionBase<'_>) -> String {
    match base {
        QuestionBase::Approved { hunks: [], at, .. } => format!(
            "The text is the one approved on {}.",
            at.format_local_minute()
        ),
        QuestionBase::Approved {
            version, by, at, ..
        } => format!(
            "Changed since the text {by} approved on {} ({}):",
            at.format_local_minute(),
            version.short_hex()
        ),
        QuestionBase::Nothing { .. } => "It was never approved. The whole text:".to_owned(),
    }
}

/// Appends the lines of hunks.
fn push_hunks(lines: &mut Vec<String>, hunks: &[Hunk]) {
    for hunk in hunks {
        lines.push(hunk.header.trim_end().to_owned());
        lines.extend(order_additions_first(&hunk.lines).into_iter().map(|line| {
            let pieces = line.pieces.iter().map(|(_, piece)| piece.as_str());
            std::iter::once(line.kind.diff_marker())
                .map(String::from)
                .chain(pieces.map(str::to_owned))
                .collect()
        }));
    }
}

/// Returns the lines of a hunk with the added ones of each change before the removed ones.
///
/// What is approved is the new text: a long deletion must not push it out of sight.
#[must_use]
pub fn order_additions_first(lines: &[DiffLine]) -> Vec<&DiffLine> {
    let mut ordered: Vec<&DiffLine> = Vec::with_capacity(lines.len());
    for change in
        lines.chunk_by(|a, b| (a.kind == DiffLineKind::Same) == (b.kind == DiffLineKind::Same))
    {
        let is_removed = |line: &&DiffLine| line.kind == DiffLineKind::Removed;
        ordered.extend(change.iter().filter(|line| !is_removed(line)));
        ordered.extend(change.iter().filter(is_removed));
    }
    ordered
}

/// Joins the lines, as many as the channel shows, and says how many are hidden and where they are.
fn cut_lines(
    lines: &[String],
    channel: QuestionChannel,
    page: &str,
    nodes: &str,
) -> RenderedQuestion {
    let whole = lines.join("\n");
    let Some(max) = channel.max_size() else {
        return RenderedQuestion {
            text: whole,
            hidden_lines: 0,
        };
    };
    if channel.measure_text(&whole) <= max {
        return RenderedQuestion {
            text: whole,
            hidden_lines: 0,
        };
    }
    let mut shown = 0;
    let mut left = max;
    for line in lines {
        let Some(rest) = left.checked_sub(channel.measure_text(line) + 1) else {
            break;
        };
        (left, shown) = (rest, shown + 1);
    }
    // A single line can be longer than the channel: then the headline alone is shown.
    let shown = shown.max(1);
    let hidden_lines = (lines.len() - shown).max(1);
    let mut text = lines[..shown].join("\n");
    text.push_str(&format!(
        "\n\n{} {} not shown here, so this cannot be approved here. Read all of it and decide \
         {page} (tl serve), or in a terminal: tl approve {nodes}",
        count_with_noun(hidden_lines, "more line", "more lines"),
        if hidden_lines == 1 { "is" } else { "are" },
    ));
    RenderedQuestion { text, hidden_lines }
}

named_enum! {
    /// How a person did not decide.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum NoDecision {
        /// The person refused to answer.
        Declined = "declined",
        /// The question was closed, or its time ran out.
        Cancelled = "cancelled",
    }
}

/// The last question about a node that a person did not decide; a record, keyed by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclinedQuestion {
    pub node: NodeId,
    /// The operation that recorded it; a wait that began before it ends.
    pub operation: OperationId,
    pub version: Option<VersionHash>,
    pub how: NoDecision,
    pub by: Principal,
    pub at: Timestamp,
}

impl Recorded for DeclinedQuestion {
    const KIND: &'static str = "declined-question";
}

impl DeclinedQuestion {
    /// Returns the record key of a node.
    #[must_use]
    pub fn record_key(node: NodeId) -> String {
        node.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::compute_hunks;

    fn parts<'q>(base: QuestionBase<'q>, warnings: &'q [String]) -> QuestionParts<'q> {
        QuestionParts {
            path: "act-1",
            file: None,
            status: Status::Draft,
            version: VersionHash::of_bytes(b"new"),
            base,
            parent_changes: None,
            warnings,
            objection: None,
            required_force: Force::No,
        }
    }

    #[test]
    fn what_a_yes_overrides_is_shown_before_the_text() {
        let warnings = ["unknown: Zed".to_owned()];
        let rejected = Condemnation {
            canonical: None,
            reason: "dull\nand long".to_owned(),
            by: Principal::Human("anna".to_owned()),
            at: Timestamp::from_millis(0),
            kind: ObjectionKind::Rejected,
        };
        let base = QuestionBase::Nothing { text: "Text.\n" };
        let shown = |objection, required_force| {
            let parts = QuestionParts {
                objection,
                required_force,
                ..parts(base, &warnings)
            };
            render_question(&parts, QuestionChannel::Form).text
        };
        let text = shown(Some(&rejected), Force::Yes);
        let at = |part: &str| text.find(part).expect(part);
        assert!(at("was rejected by human:anna on") < at("│ dull\n│ and long"));
        assert!(at("│ and long") < at("overrides that rejection"));
        assert!(at("overrides that rejection") < at("│ Text."));
        assert!(shown(None, Force::Warnings).contains("accepts these warnings"));
        let plain = shown(None, Force::No);
        assert!(!plain.contains("overrides") && !plain.contains("accepts"));
    }

    fn changed(older: &str, newer: &str, channel: QuestionChannel) -> RenderedQuestion {
        let by = Principal::Human("ann".to_owned());
        let hunks = compute_hunks(older, newer);
        let base = QuestionBase::Approved {
            version: VersionHash::of_bytes(b"old"),
            by: &by,
            at: Timestamp::from_millis(0),
            hunks: &hunks,
        };
        render_question(&parts(base, &[]), channel)
    }

    #[test]
    fn added_lines_come_before_removed_ones() {
        let older: String = (0..3).map(|n| format!("old {n}\n")).collect();
        let shown = changed(&older, "NEWTEXT\n", QuestionChannel::Form);
        let places = ["+NEWTEXT", "-old 0", "-old 1", "-old 2"].map(|line| shown.text.find(line));
        assert!(places.iter().all(Option::is_some), "{}", shown.text);
        assert!(places.is_sorted(), "{}", shown.text);
        assert!(shown.is_whole());
    }

    #[test]
    fn a_long_question_says_how_much_is_hidden_and_is_not_whole() {
        let text: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
        let question =
            |channel| render_question(&parts(QuestionBase::Nothing { text: &text }, &[]), channel);
        let form = question(QuestionChannel::Form);
        let shown = form
            .text
            .lines()
            .filter(|line| line.starts_with("│ line "))
            .count();
        assert_eq!(shown + form.hidden_lines, 3_000);
        assert!(
            form.text
                .contains(&format!("{} more lines are not shown", form.hidden_lines))
        );
        assert!(form.text.contains("tl approve act-1"));
        assert!(question(QuestionChannel::Unlimited).is_whole());
    }

    #[test]
    fn what_nobody_sees_is_in_the_question() {
        let shown = changed(
            "the gate\n",
            "the \u{202e}etag\u{202c} \u{1b}[1A\n",
            QuestionChannel::Form,
        );
        let line = "+the <U+202E>etag<U+202C> <U+001B>[1A";
        assert!(shown.text.contains(line), "{}", shown.text);
    }

    #[test]
    fn a_text_looks_like_no_part_of_the_question() {
        let text = "The gate.\n\nChanged in its parent `act-9`:\n";
        let parts = parts(QuestionBase::Nothing { text }, &[]);
        let shown = render_question(&parts, QuestionChannel::Form).text;
        assert!(!shown.contains("\nChanged in its parent"), "{shown}");
        assert!(
            shown.contains("\n│ Changed in its parent `act-9`:"),
            "{shown}"
        );
    }

    #[test]
    fn what_a_rejection_makes_stale_is_named() {
        let paths: Vec<String> = (1..=7).map(|n| format!("act-1/chapter-{n:02}")).collect();
        assert_eq!(describe_falls_below(&[]), None);
        assert_eq!(
            describe_falls_below(&paths[..1]).as_deref(),
            Some("1 plan below becomes stale: `act-1/chapter-01`")
        );
        let all = describe_falls_below(&paths).unwrap();
        assert!(all.starts_with("7 plans below become stale"), "{all}");
        assert!(all.ends_with("`act-1/chapter-05` and 2 more"), "{all}");
    }

    #[test]
    fn one_endless_line_is_hidden_too() {
        let text = "x".repeat(100_000);
        let form = render_question(
            &parts(QuestionBase::Nothing { text: &text }, &[]),
            QuestionChannel::Form,
        );
        assert!(!form.is_whole());
        assert!(form.text.chars().count() < 5_000);
    }

    #[test]
    fn a_batch_shows_every_text_and_a_change_of_the_parent_once() {
        let hunks = compute_hunks("old\n", "the storm\n");
        let plans = ["one", "two", "three"].map(|text| QuestionParts {
            path: text,
            parent_changes: Some(("act-1", hunks.as_slice())),
            ..parts(QuestionBase::Nothing { text }, &[])
        });
        let whole = render_batch_question(&plans, QuestionChannel::Form);
        assert!(whole.is_whole());
        for text in ["one", "two", "three"] {
            assert!(
                whole.text.contains(&format!("\n\n│ {text}\n")),
                "{}",
                whole.text
            );
        }
        assert_eq!(whole.text.matches("+the storm").count(), 1);
        assert_eq!(whole.text.matches("as shown above").count(), 2);
    }

    #[test]
    fn a_batch_that_does_not_fit_is_not_whole_and_names_every_plan() {
        let text = "a line of some length\n".repeat(150);
        let plans = ["act-1", "act-2"].map(|path| QuestionParts {
            path,
            ..parts(QuestionBase::Nothing { text: &text }, &[])
        });
        let single = render_question(&plans[0], QuestionChannel::Form);
        assert!(single.is_whole(), "one of them fits");
        let both = render_batch_question(&plans, QuestionChannel::Form);
        assert!(!both.is_whole());
        assert!(both.text.contains("- `act-2`"));
        assert!(
            both.text.ends_with("tl approve act-1 act-2"),
            "{}",
            both.text
        );
    }

    proptest::proptest! {
        /// Whatever changed: a question that claims to be whole shows every added line.
        #[test]
        fn a_whole_question_shows_every_added_line(
            older in proptest::collection::vec(0u8..5, 0..300),
            newer in proptest::collection::vec(0u8..5, 0..300),
        ) {
            let render = |lines: &[u8]| -> String {
                lines.iter().map(|line| format!("the line numbered {line}\n")).collect()
            };
            let (older, newer) = (render(&older), render(&newer));
            let whole = changed(&older, &newer, QuestionChannel::Unlimited);
            let form = changed(&older, &newer, QuestionChannel::Form);
            proptest::prop_assert!(whole.is_whole());
            proptest::prop_assert_eq!(form.is_whole(), form.text == whole.text);
            for hunk in compute_hunks(&older, &newer) {
                for line in hunk.lines.iter().filter(|line| line.kind == DiffLineKind::Added) {
                    let text: String = line.pieces.iter().map(|(_, piece)| piece.as_str()).collect();
                    let shown = whole.text.contains(&["+", &text].concat());
                    proptest::prop_assert!(shown);
                }
            }
        }
    }
}
