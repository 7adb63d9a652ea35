//! Builds the planner's prompt: the story's state in parts, within a token budget, filled into a
//! template.
//!
//! Texts of the story are data, not instructions. Each of their lines is prefixed with `│`, so that
//! nothing written in a scene can pass for a part of the prompt.

use serde_json::Value;

use super::execute::ExecutedAction;
use super::plan::plan_schema;
use super::record::{ContextUsed, TickRecord, TickState, TickStatus, found_line};
use super::tools::{self, PlanNode};
pub use crate::context_budget::estimate_tokens;
use crate::context_budget::{ContextBudget, LineOrder, PromptSection, mark_as_data};
use crate::memory::knowledge::state_fact;
use crate::memory::{Character, OpenLoop, Scene, StoryFact, StoryMemory, Truth};
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
    /// Path and blueprint of the scene that is prepared.
    pub next_scene: Option<(&'a str, &'a str)>,
    /// The point of view of the next scene, where its blueprint or a plan above it names one.
    pub next_pov: Option<&'a str>,
}

/// Parts of a prompt, by their names in the template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannerContext {
    pub parts: Vec<(&'static str, String)>,
    /// JSON Schema of the answer.
    pub schema: Value,
    /// Sizes of the sections, and what was left out.
    pub sections: Vec<PromptSection>,
    pub used: ContextUsed,
}

impl StoryView<'_> {
    /// Returns the character the story follows: the next scene's point of view, the chosen one, or else
    /// the first.
    #[must_use]
    pub fn active_character(&self) -> Option<&Character> {
        // The plan before the state: it decides who tells the next scene.
        let chosen = self.next_pov.into_iter();
        let mut chosen = chosen.chain(self.state.active_character.as_deref());
        let first = || self.memory.characters().next();
        chosen
            .find_map(|id| self.memory.characters().find(|it| it.id == id))
            .or_else(first)
    }

    /// Gathers the parts for a template. Template, tools and the active character are always complete;
    /// lists are shortened to fit the budget.
    #[must_use]
    pub fn planner_context(&self, template: &str) -> PlannerContext {
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
        let mut room = ContextBudget::new(self.policy.context_tokens);
        room.take_fixed("instructions", template);
        room.take_fixed("tools", &tool_lines);
        room.take_fixed("active character", &details);
        let cast = self.find_cast(active);
        let ids: Vec<&str> = cast.iter().map(|it| it.id.as_str()).collect();
        let schema = room.take_schema(|max_ids| plan_schema(self.memory, &ids, max_ids));
        // In order of importance: each part takes a share of what the ones before it left over, so
        // the last scenes win against the summary of the whole story.
        let recent_scenes = self.render_recent_scenes(&mut room);
        let recent_plans = self.render_recent_plans(&mut room);
        let found_last = self.render_found_last(&mut room);
        let open = self.memory.open_loops();
        let open_loops = render_part(
            &mut room,
            ("open loops", 40),
            open.iter(),
            |it| render_loop_line(it, tick),
            "No open loops yet.",
            LineOrder::AsGiven,
        );
        let relationships = self.render_relationships(active, &mut room);
        let facts = self.render_facts(&ids, &mut room);
        let characters = render_part(
            &mut room,
            ("characters", 30),
            self.memory.characters(),
            |it| format!("- {}: {} ({})", it.id, it.name, it.role),
            "Nobody yet.",
            LineOrder::AsGiven,
        );
        let locations = render_part(
            &mut room,
            ("locations", 30),
            self.memory.locations(),
            |it| format!("- {}: {}", it.id, it.name),
            "None yet.",
            LineOrder::AsGiven,
        );
        let next_nodes = self.render_next_nodes(&mut room);
        let next_blueprint = self.render_next_blueprint(&mut room);
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
            ("found_last", found_last),
            ("open_loops_list", open_loops),
            ("active_character_details", mark_as_data(&details)),
            ("character_relationships", relationships),
            ("facts", facts),
            ("characters", characters),
            ("locations", locations),
            ("next_nodes", next_nodes),
            ("next_blueprint", next_blueprint),
            ("available_tools_description", tool_lines),
            ("last_error", self.last_error(tick)),
        ];
        PlannerContext {
            parts,
            schema,
            sections: room.sections,
            used: self.context_used(),
        }
    }

    /// Renders the last scenes with their summaries.
    fn render_recent_scenes(&self, room: &mut ContextBudget) -> String {
        let recent = self
            .memory
            .scenes()
            .rev()
            .take(self.policy.recent_scenes_count);
        let line = |scene: &Scene| {
            let summary: String = scene
                .summary
                .iter()
                .map(|line| format!("\n  - {line}"))
                .collect();
            format!(
                "**{}** ({}, tick {}):{summary}",
                scene.title, scene.id, scene.tick
            )
        };
        let none = "No scene is written yet.";
        render_part(
            room,
            ("recent scenes", 40),
            recent,
            line,
            none,
            LineOrder::NewestFirst,
        )
    }

    /// Renders the intentions of the last plans.
    fn render_recent_plans(&self, room: &mut ContextBudget) -> String {
        let plans = self
            .ticks
            .iter()
            .rev()
            // Failed plans are left out: a planner would take them for things that happened.
            .filter(|tick| tick.status == TickStatus::Done)
            // At least three, even if scenes are switched off: without its last plans a planner
            // repeats them.
            .take(self.policy.recent_scenes_count.max(3));
        render_part(
            room,
            ("recent plans", 20),
            plans,
            |tick| format!("Tick {}: {}", tick.tick, tick.plan.scene_intention),
            "None.",
            LineOrder::NewestFirst,
        )
    }

    /// Renders the relationships of the active character, from their side.
    fn render_relationships(&self, active: Option<&Character>, room: &mut ContextBudget) -> String {
        let ties = self.memory.relationships();
        let ties = ties.filter_map(|tie| Some((tie, tie.perspective_of(&active?.id)?)));
        render_part(
            room,
            ("relationships", 30),
            ties,
            |(tie, side)| {
                format!(
                    "- {} ({}, {}): {} [intensity {}/10], own view: \"{}\"",
                    self.memory.display_name(side.other),
                    side.other,
                    tie.relationship_type,
                    tie.status,
                    tie.intensity,
                    side.view
                )
            },
            "No established relationships yet.",
            LineOrder::AsGiven,
        )
    }

    /// Returns whom the story follows and whom the next blueprint names.
    fn find_cast<'s>(&'s self, active: Option<&'s Character>) -> Vec<&'s Character> {
        let blueprint = self.next_scene.map_or("", |(_, blueprint)| blueprint);
        let mut cast: Vec<&Character> = active.into_iter().collect();
        cast.extend(self.memory.characters_named_in(blueprint));
        cast
    }

    /// Renders what is true: about the cast first, then the newest.
    fn render_facts(&self, cast: &[&str], room: &mut ContextBudget) -> String {
        let is_about_cast = |fact: &&StoryFact| {
            let subject = self.memory.identify_subject(&fact.subject);
            let mut ids = cast.iter();
            ids.any(|id| *id == subject || *id == fact.object)
        };
        let canon = self.memory.facts().rev();
        let canon = canon.filter(|it| it.truth != Truth::Disputed && it.valid_to.is_none());
        let (about, others): (Vec<&StoryFact>, Vec<&StoryFact>) = canon.partition(is_about_cast);
        let facts = about.into_iter().chain(others);
        let line = |fact| format!("- {}", state_fact(self.memory, fact));
        let none = "Nothing is written yet.";
        render_part(room, ("facts", 30), facts, line, none, LineOrder::AsGiven)
    }

    /// Renders the next open nodes of the plan.
    fn render_next_nodes(&self, room: &mut ContextBudget) -> String {
        let next = self
            .nodes
            .iter()
            // Only nodes that prose is written from; their parents say nothing about the next
            // scene.
            .filter(|node| node.is_written && node.progress != "complete")
            .take(5);
        let line = |node: &PlanNode| {
            let title = node.title.as_deref().unwrap_or("without a title");
            format!("- {}: {title} ({})", node.path, node.status)
        };
        let none = "The plan has nothing that is open.";
        render_part(
            room,
            ("next nodes", 50),
            next,
            line,
            none,
            LineOrder::AsGiven,
        )
    }

    /// Renders the blueprint of the scene that is prepared.
    fn render_next_blueprint(&self, room: &mut ContextBudget) -> String {
        let Some((path, blueprint)) = self.next_scene else {
            return "None.".to_owned();
        };
        let text = room.take_beginning("blueprint", 60, blueprint);
        format!("{path}:\n{text}")
    }

    /// Renders the first line of every scene's summary, where the policy asks for it.
    fn render_overall_summary(&self, room: &mut ContextBudget) -> String {
        let scenes = self
            .memory
            .scenes()
            .rev()
            .filter(|_| self.policy.include_overall_summary);
        // With the summary switched off the story has not begun any less.
        let nothing = if self.memory.scenes().next().is_none() {
            "The story has not begun."
        } else {
            "Only the recent scenes are summarised."
        };
        let begun = scenes.filter_map(|scene| Some((scene.tick, scene.summary.first()?)));
        render_part(
            room,
            ("story so far", 100),
            begun,
            |(tick, summary)| format!("Tick {tick}: {summary}"),
            nothing,
            LineOrder::NewestFirst,
        )
    }

    /// Renders what the queries of the last tick found: the planner asked for it.
    fn render_found_last(&self, room: &mut ContextBudget) -> String {
        let done =
            |record: &&TickRecord| record.status == TickStatus::Done && record.tick < self.tick;
        let last = self.ticks.iter().rev().find(done);
        let found = last.into_iter().flat_map(TickRecord::found_lines);
        render_part(
            room,
            ("found last", 30),
            found,
            |line| line,
            "Nothing was asked.",
            LineOrder::AsGiven,
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

/// Returns what a planner is told after its queries were run: their results, and to plan again with them.
#[must_use]
pub fn render_consultation(found: &[ExecutedAction], tokens: usize) -> String {
    let mut room = ContextBudget::new(tokens);
    let lines = found.iter().filter_map(found_line);
    let taken = room.take_lines("found", 100, lines, LineOrder::AsGiven);
    let results = taken.render("Nothing.", LineOrder::AsGiven, "");
    format!(
        "Your queries found:\n{results}\n\nThese queries are done. Answer with the whole plan again: with what you \
         know now, and without repeating them."
    )
}

/// What a list that was shortened says to the planner.
const SEARCH_REMARK: &str = "; memory.search finds them";

/// Renders a list as a part of the planner's prompt.
fn render_part<T>(
    room: &mut ContextBudget,
    (name, percent): (&'static str, usize),
    items: impl Iterator<Item = T>,
    render: impl Fn(T) -> String,
    nothing: &str,
    order: LineOrder,
) -> String {
    room.take_items(name, percent, items, render, order)
        .render(nothing, order, SEARCH_REMARK)
}
