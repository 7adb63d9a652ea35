//! Builds the planner's prompt: the story's state in parts, within a token budget, filled into a
//! template.
//!
//! Texts of the story are data, not instructions. Each of their lines is prefixed with `│`, so that
//! nothing written in a scene can pass for a part of the prompt.

use super::record::{ContextUsed, TickRecord, TickState, TickStatus};
use super::tools::{self, PlanNode};
use crate::memory::{Character, OpenLoop, StoryMemory};
use crate::policy::GenerationPolicy;
use crate::text::clean_line;

/// Path of a project's own template.
pub const TEMPLATE_PATH: &str = ".throughline/templates/planner.md";

/// The default template.
pub const DEFAULT_TEMPLATE: &str = include_str!("planner.md");

/// The story's state, as the planner sees it.
pub struct StoryView<'a> {
    pub novel: &'a str,
    /// The tick that is planned.
    pub tick: u64,
    pub state: &'a TickState,
    pub memory: &'a StoryMemory,
    pub nodes: &'a [PlanNode],
    /// Recent ticks, the newest last.
    pub ticks: &'a [TickRecord],
    pub policy: &'a GenerationPolicy,
}

/// Parts of a prompt, by their names in the template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannerContext {
    pub parts: Vec<(&'static str, String)>,
    pub used: ContextUsed,
}

/// Estimates the number of tokens of a text, rounded up at three bytes per token.
#[must_use]
pub fn estimate_tokens(text: &str) -> usize {
    // No tokenizer: each provider has its own, and megabytes of tables for an estimate are not
    // worth it. English needs about four bytes a token, so this errs on the safe side.
    text.len().div_ceil(3)
}

impl StoryView<'_> {
    /// Returns the character the story follows: the chosen one, or else the first.
    #[must_use]
    pub fn active_character(&self) -> Option<&Character> {
        let chosen = self.state.active_character.as_deref();
        let first = || self.memory.characters().next();
        chosen
            .and_then(|id| self.memory.characters().find(|it| it.id == id))
            .or_else(first)
    }

    /// Gathers the parts. Tools and the active character are always complete; lists are shortened
    /// to fit the budget.
    #[must_use]
    pub fn planner_context(&self) -> PlannerContext {
        let active = self.active_character();
        let tool_lines = tools::ALL_TOOLS
            .iter()
            .map(|tool| tool.describe_tool())
            .collect::<Vec<_>>()
            .join("\n");
        let details = active.map_or_else(|| "Nobody yet.".to_owned(), describe_character);
        let tick = self.tick;
        // What is always complete is paid first; a budget too small for it leaves the lists empty
        // instead of failing.
        let mut room = TokenBudget(
            self.policy
                .context_tokens
                .saturating_sub(estimate_tokens(&tool_lines) + estimate_tokens(&details)),
        );
        // In order of importance: each part takes a share of what the ones before it left over, so
        // the last scenes win against the summary of the whole story.
        let recent_scenes = self.render_recent_scenes(&mut room);
        let recent_plans = self.render_recent_plans(&mut room);
        let open = self.memory.open_loops();
        let loops = open.iter().map(|it| render_loop_line(it, tick));
        let open_loops = room.render_part(40, loops, "No open loops yet.", LineOrder::AsGiven);
        let relationships = self.render_relationships(active, &mut room);
        let people = self
            .memory
            .characters()
            .map(|it| format!("- {}: {} ({})", it.id, it.name, it.role));
        let characters = room.render_part(30, people, "Nobody yet.", LineOrder::AsGiven);
        let places = self
            .memory
            .locations()
            .map(|it| format!("- {}: {}", it.id, it.name));
        let locations = room.render_part(30, places, "None yet.", LineOrder::AsGiven);
        let next_nodes = self.render_next_nodes(&mut room);
        let overall_summary = self.render_overall_summary(&mut room);
        let parts = vec![
            ("novel_name", clean_line(self.novel)),
            ("current_tick", tick.to_string()),
            (
                "active_character_id",
                active.map_or("none", |it| it.id.as_str()).to_owned(),
            ),
            (
                "active_character_name",
                active.map_or_else(|| "nobody yet".to_owned(), |it| clean_line(&it.name)),
            ),
            ("overall_summary", overall_summary),
            ("recent_scenes_summary", recent_scenes),
            ("recent_plans", recent_plans),
            ("open_loops_list", open_loops),
            ("active_character_details", mark_as_data(&details)),
            ("character_relationships", relationships),
            ("characters", characters),
            ("locations", locations),
            ("next_nodes", next_nodes),
            ("available_tools_description", tool_lines),
            ("last_error", self.last_error(tick)),
        ];
        PlannerContext {
            parts,
            used: self.context_used(),
        }
    }

    /// Renders the last scenes with their summaries.
    fn render_recent_scenes(&self, room: &mut TokenBudget) -> String {
        let recent = self
            .memory
            .scenes()
            .rev()
            .take(self.policy.recent_scenes_count);
        let scenes = recent.map(|scene| {
            let summary: String = scene
                .summary
                .iter()
                .map(|line| format!("\n  - {line}"))
                .collect();
            format!(
                "**{}** ({}, tick {}):{summary}",
                scene.title, scene.id, scene.tick
            )
        });
        let none = "No scene is written yet.";
        room.render_part(40, scenes, none, LineOrder::NewestFirst)
    }

    /// Renders the intentions of the last plans.
    fn render_recent_plans(&self, room: &mut TokenBudget) -> String {
        let plans = self
            .ticks
            .iter()
            .rev()
            // Failed plans are left out: a planner would take them for things that happened.
            .filter(|tick| tick.status == TickStatus::Done)
            // At least three, even if scenes are switched off: without its last plans a planner
            // repeats them.
            .take(self.policy.recent_scenes_count.max(3));
        let plans = plans.map(|tick| format!("Tick {}: {}", tick.tick, tick.plan.scene_intention));
        room.render_part(20, plans, "None.", LineOrder::NewestFirst)
    }

    /// Renders the relationships of the active character, from their side.
    fn render_relationships(&self, active: Option<&Character>, room: &mut TokenBudget) -> String {
        let ties = self.memory.relationships().filter_map(|tie| {
            let side = tie.perspective_of(&active?.id)?;
            Some(format!(
                "- {} ({}, {}): {} [intensity {}/10], own view: \"{}\"",
                self.memory.display_name(side.other),
                side.other,
                tie.relationship_type,
                tie.status,
                tie.intensity,
                side.view
            ))
        });
        let none = "No established relationships yet.";
        room.render_part(30, ties, none, LineOrder::AsGiven)
    }

    /// Renders the next open nodes of the plan.
    fn render_next_nodes(&self, room: &mut TokenBudget) -> String {
        let next = self
            .nodes
            .iter()
            // Only nodes that prose is written from; their parents say nothing about the next
            // scene.
            .filter(|node| node.is_written && node.progress != "complete")
            .take(5);
        let next = next.map(|node| {
            let title = node.title.as_deref().unwrap_or("without a title");
            format!("- {}: {title} ({})", node.path, node.status)
        });
        let none = "The plan has nothing that is open.";
        room.render_part(50, next, none, LineOrder::AsGiven)
    }

    /// Renders the first line of every scene's summary, where the policy asks for it.
    fn render_overall_summary(&self, room: &mut TokenBudget) -> String {
        let scenes = self
            .memory
            .scenes()
            .rev()
            .filter(|_| self.policy.include_overall_summary);
        let lines = scenes
            .filter_map(|scene| Some(format!("Tick {}: {}", scene.tick, scene.summary.first()?)));
        room.render_part(
            100,
            lines,
            "The story has not begun.",
            LineOrder::NewestFirst,
        )
    }

    /// Summarises the context for the tick's record.
    #[must_use]
    pub fn context_used(&self) -> ContextUsed {
        let recent: Vec<_> = self
            .memory
            .scenes()
            .rev()
            .take(self.policy.recent_scenes_count)
            .collect();
        ContextUsed {
            active_character: self
                .active_character()
                .map(|character| character.id.clone()),
            recent_scenes: recent.iter().rev().map(|scene| scene.id.clone()).collect(),
            open_loops_count: self.memory.loops().filter(|it| it.status.is_open()).count(),
        }
    }

    /// Returns the error of the last plan for this tick, as a part of the prompt.
    fn last_error(&self, tick: u64) -> String {
        let failed = self.ticks.iter().find(|record| {
            record.tick == tick && matches!(record.status, TickStatus::Failed | TickStatus::Parked)
        });
        let Some(error) = failed.and_then(|record| record.errors.last()) else {
            return String::new();
        };
        format!(
            "The last plan for this tick failed. Plan something that does not:\n{}\n",
            mark_as_data(error)
        )
    }
}

impl PlannerContext {
    /// Fills the parts into a template. Parts it does not name are left out; unknown names stay as
    /// they are.
    #[must_use]
    pub fn render_prompt(&self, template: &str) -> String {
        fill_template(template, &self.parts)
    }
}

/// Replaces `{name}` in a template by the value, in one pass: a value is never expanded as a
/// template.
#[must_use]
pub(crate) fn fill_template(template: &str, parts: &[(&'static str, String)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let value = after.split_once('}').and_then(|(name, tail)| {
            parts
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (value, tail))
        });
        match value {
            Some((value, tail)) => {
                out.push_str(value);
                rest = tail;
            }
            None => {
                // Not a known name: JSON examples in a template have braces too.
                out.push('{');
                rest = after;
            }
        }
    }
    out + rest
}

/// Prefixes every line of a text as story data.
#[must_use]
pub(crate) fn mark_as_data(text: &str) -> String {
    text.lines()
        .map(|line| format!("│ {}", clean_line(line)))
        .collect::<Vec<_>>()
        .join("\n")
}

fn describe_character(character: &Character) -> String {
    let mut lines = vec![
        format!("Name: {}", character.name),
        format!("Role: {}", character.role),
        format!("Description: {}", character.text),
    ];
    if !character.traits.is_empty() {
        lines.push(format!("Traits: {}", character.traits.join(", ")));
    }
    if !character.goals.is_empty() {
        lines.push(format!("Current goals: {}", character.goals.join(", ")));
    }
    lines.extend(
        character
            .emotional_state
            .as_ref()
            .map(|state| format!("Emotional state: {state}")),
    );
    lines.join("\n")
}

fn render_loop_line(it: &OpenLoop, tick: u64) -> String {
    let scene = it
        .created_in_scene
        .as_deref()
        .map(|scene| format!(", scene {scene}"))
        .unwrap_or_default();
    let overdue = it.due_tick.is_some_and(|due| due < tick);
    let due = if overdue { ", OVERDUE" } else { "" };
    let category = if it.category.is_empty() {
        "none"
    } else {
        &it.category
    };
    format!(
        "- {} [{}] {} (category: {category}, tick {}{scene}{due})",
        it.id,
        it.importance.as_str().to_uppercase(),
        it.text.replace('\n', " "),
        it.created_tick
    )
}

/// Order of a part's lines. When the budget is short, the last given are dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineOrder {
    AsGiven,
    /// Given newest first, rendered oldest first.
    NewestFirst,
}

/// Token budget that is left.
struct TokenBudget(usize);

impl TokenBudget {
    /// Renders as many lines as fit into a percentage of the remaining budget.
    fn render_part(
        &mut self,
        percent: usize,
        lines: impl Iterator<Item = String>,
        nothing: &str,
        order: LineOrder,
    ) -> String {
        let mut share = self.0.saturating_mul(percent) / 100;
        let (mut kept, mut left_out) = (Vec::new(), 0usize);
        for line in lines {
            let cost = estimate_tokens(&line) + 1;
            // Nothing after the first line that does not fit: a list with gaps would hide that the
            // most
            // relevant entry is missing. One line may exceed its share, or a long one would never
            // be shown.
            if left_out == 0 && (cost <= share || kept.is_empty() && cost <= self.0) {
                share = share.saturating_sub(cost);
                self.0 = self.0.saturating_sub(cost);
                kept.push(line);
            } else {
                left_out += 1;
            }
        }
        if kept.is_empty() && left_out == 0 {
            return nothing.to_owned();
        }
        if order == LineOrder::NewestFirst {
            // Read in the order of the story, although the newest were chosen first.
            kept.reverse();
        }
        let mut text = mark_as_data(&kept.join("\n"));
        if left_out > 0 {
            // Said explicitly, so that the planner searches instead of taking the list for
            // complete.
            let more = format!("({left_out} more are not shown; memory.search finds them)");
            text = if order == LineOrder::NewestFirst {
                format!("{more}\n{text}")
            } else {
                format!("{text}\n{more}")
            };
        }
        text
    }
}
