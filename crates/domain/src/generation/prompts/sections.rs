//! Sections of the prompts of writer and judge: lists that are cut by their importance, and cards of people.

use super::super::record::{COMMENT_CHECK, SceneFinding, SceneVariant};
use crate::context_budget::{ContextBudget, LineOrder, mark_as_data};
use crate::memory::knowledge::state_fact;
use crate::memory::{Character, Entry, EntryKind, StoryMemory};

/// Number of words that show how a variant begins.
const MAX_OPENING_WORDS: usize = 40;
/// Number of words that name a line that does not fit.
const MAX_NAMED_WORDS: usize = 10;
/// Maximum number of things on the card of a character that they were told.
const MAX_TOLD_FACTS: usize = 8;

/// Takes as many lines as fit into a share of the budget, and renders them as data.
pub(super) fn take_list(
    room: &mut ContextBudget,
    name: &'static str,
    percent: usize,
    lines: Vec<String>,
) -> String {
    let taken = room.take_lines(name, percent, lines.into_iter(), LineOrder::AsGiven);
    taken.render("None.", LineOrder::AsGiven, "")
}

/// Lines of a section, in the order of their importance.
pub(super) struct RankedLines {
    pub(super) lines: Vec<String>,
    /// Number of lines at the beginning that are named if they do not fit: they are about this scene.
    pub(super) of_tick: usize,
}

impl RankedLines {
    /// Returns lines of which each is named if it does not fit.
    pub(super) fn all_named(lines: Vec<String>) -> Self {
        Self {
            of_tick: lines.len(),
            lines,
        }
    }
}

/// Takes lines like [`take_list`], and names those about this scene that do not fit.
pub(super) fn take_ranked(
    room: &mut ContextBudget,
    name: &'static str,
    percent: usize,
    ranked: RankedLines,
) -> String {
    let RankedLines { lines, of_tick } = ranked;
    let shorten = |line: &String| {
        let words: Vec<&str> = line.split_whitespace().take(MAX_NAMED_WORDS).collect();
        format!("{} …", words.join(" "))
    };
    let mut named: Vec<String> = lines.iter().take(of_tick).map(shorten).collect();
    let taken = room.take_lines(name, percent, lines.into_iter(), LineOrder::AsGiven);
    let text = taken.render("None.", LineOrder::AsGiven, "");
    named.drain(..taken.kept.len().min(named.len()));
    if named.is_empty() {
        return text;
    }
    // About this very scene: a number alone would hide that it is missing.
    let named = mark_as_data(&named.join("\n"));
    room.take_remark("named in short", &named);
    format!("{text}\nOf this scene and not shown in full:\n{named}")
}

/// Renders findings for the writer, with an empty line after them. Comments of the author have a section of
/// their own.
pub(super) fn render_findings(all: &[SceneFinding], room: &mut ContextBudget) -> String {
    let line = |finding: &SceneFinding| {
        let quote = finding
            .quote
            .as_deref()
            .map(|quote| format!(" — \"{quote}\""))
            .unwrap_or_default();
        let against = finding.against.as_deref();
        let against = against.map(|against| format!(", against \"{against}\""));
        let against = against.unwrap_or_default();
        format!("{}: {}{quote}{against}", finding.check, finding.problem)
    };
    let lines: Vec<String> = all
        .iter()
        .filter(|finding| finding.check != COMMENT_CHECK)
        .map(line)
        .collect();
    room.take_fixed("findings", &lines.join("\n"));
    match lines.is_empty() {
        true => "## Findings\nNone.\n\n".to_owned(),
        false => format!("## Findings\n{}\n\n", mark_as_data(&lines.join("\n"))),
    }
}

/// Renders how the variants so far begin, so that the next one goes another way; nothing if there are
/// none.
pub(super) fn render_variants(variants: &[SceneVariant], room: &mut ContextBudget) -> String {
    if variants.is_empty() {
        return String::new();
    }
    let opening = |variant: &SceneVariant| {
        let words = variant.draft.split_whitespace().take(MAX_OPENING_WORDS);
        format!("{} …", words.collect::<Vec<_>>().join(" "))
    };
    let lines = variants.iter().map(opening);
    let taken = room.take_lines("variants", 40, lines, LineOrder::AsGiven);
    let openings = taken.render("None.", LineOrder::AsGiven, "");
    format!(
        "\n## Variants that exist already\nThey begin like this. Write another one: the same events, another opening, order and emphasis.\n{openings}\n"
    )
}

/// Returns the cards of characters. By name: a writer that sees ids puts them into prose.
pub(super) fn render_characters(memory: &StoryMemory, cast: &[&Character]) -> Vec<String> {
    let card = |it: &&Character| {
        let mut card = it.name.clone();
        if !it.role.is_empty() {
            card.push_str(&format!(" ({})", it.role));
        }
        card.push(':');
        if !it.text.is_empty() {
            card.push_str(&format!(" {}", it.text.replace('\n', " ")));
        }
        let mut add = |what: &str, list: &[String]| {
            if !list.is_empty() {
                card.push_str(&format!(" {what}: {}.", list.join(", ")));
            }
        };
        add("Also called", &it.aliases);
        add("Traits", &it.traits);
        add("Goals", &it.goals);
        if let Some(state) = &it.emotional_state {
            card.push_str(&format!(" Now: {state}."));
        }
        card.push_str(&render_told(memory, it));
        // Someone of whom only the name is known.
        card.trim_end_matches(':').to_owned()
    };
    cast.iter().map(card).collect()
}

/// Returns what a character knows without having been there, as the author or a tick said: what was witnessed
/// is in the scenes. Nothing if that is all.
pub(crate) fn render_told(memory: &StoryMemory, character: &Character) -> String {
    let is_witness = |scene: &str| match memory.get(scene) {
        Some(Entry::Scene(scene)) => scene.characters.contains(&character.id),
        _ => false,
    };
    let told: Vec<String> = character
        .knows
        .iter()
        .filter_map(|known| match memory.get(known) {
            Some(Entry::Fact(fact)) => {
                let is_seen = fact.valid_from.as_deref().is_some_and(is_witness);
                (!is_seen).then(|| state_fact(memory, fact))
            }
            // An id of something that is gone.
            _ if EntryKind::parse_id(known).is_some() => None,
            // Authors write sentences.
            _ => Some(known.clone()),
        })
        .collect();
    if told.is_empty() {
        return String::new();
    }
    let more = told.len().saturating_sub(MAX_TOLD_FACTS);
    let shown = told.get(..told.len() - more).unwrap_or_default();
    let shown = shown.join("; ").replace('\n', " ");
    match more {
        0 => format!(" Knows: {shown}."),
        more => format!(" Knows: {shown}; and {more} more."),
    }
}

/// Takes facts of which the first are counted already.
pub(super) fn take_reserved(
    room: &mut ContextBudget,
    name: &'static str,
    percent: usize,
    (reserved, rest): (Vec<String>, RankedLines),
) -> String {
    let first = mark_as_data(&reserved.join("\n"));
    match (reserved.is_empty(), rest.lines.is_empty()) {
        (true, _) => take_ranked(room, name, percent, rest),
        (false, true) => first,
        (false, false) => format!("{first}\n{}", take_ranked(room, name, percent, rest)),
    }
}
