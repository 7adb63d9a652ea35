//! Builds the planner's prompt: the story's state in parts, within a token budget, filled into a
//! template.
//!
//! Texts of the story are data, not instructions. Each of their lines is prefixed with `│`, so that
//! nothing written in a scene can pass for a part of the prompt.

use serde_json::Value;

use super::execute::ExecutedAction;
use super::plan::{plan_schema, plan_schema_in_short};
use super::record::{ContextUsed, TickRecord, TickState, TickStatus, found_line};
use super::tools::{self, PlanNode};
pub use crate::context_budget::estimate_tokens;
use crate::context_budget::{ContextBudget, LineOrder, PromptSection, mark_as_data};
use crate::generation::prompts::render_told;
use crate::memory::knowledge::state_fact;
use crate::memory::{Character, OpenLoop, Scene, StoryFact, StoryMemory, Truth};
use crate::policy::GenerationPolicy;
use crate::text::clean_line;

/// Path of a project's own template.
pub const TEMPLATE_PATH: &str = ".throughline/templates/planner.md";

/// The default template.
pub const DEFAULT_TEMPLATE: &str = include_str!("planner.md");

/// Maximum number of tokens of the facts about the cast that are in every prompt.
const MAX_RESERVED_FACT_TOKENS: usize = 400;

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
    /// The least number of tokens of a prompt that knows the story, if the limit is below it.
    pub least_tokens: Option<usize>,
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

    /// Gathers the parts for a template. Template, blueprint, the cast with the first facts about it, tools and
    /// schema are always complete; lists are shortened to fit the budget. Where it is too small for that, tools
    /// and schema are given in short.
    #[must_use]
    pub fn planner_context(&self, template: &str) -> PlannerContext {
        let whole = self.planner_context_in(template, ToolDetail::Full);
        match whole.least_tokens {
            Some(_) => self.planner_context_in(template, ToolDetail::Short),
            None => whole,
        }
    }

    fn planner_context_in(&self, template: &str, detail: ToolDetail) -> PlannerContext {
        let active = self.active_character();
        let tool_lines = tools::ALL_TOOLS
            .iter()
            .map(|tool| match detail {
                ToolDetail::Full => tool.describe_tool(),
                ToolDetail::Short => tool.describe_in_short(),
            })
            .collect::<Vec<_>>()
            .join("\n");
        let details = active.map_or_else(
            || "Nobody yet.".to_owned(),
            |it| describe_character(self.memory, it),
        );
        let tick = self.tick;
        let mut room = ContextBudget::new(self.policy.context_tokens);
        room.take_fixed("instructions", template);
        room.take_fixed("active character", &details);
        let next_blueprint = self.take_next_blueprint(&mut room);
        let cast = self.find_cast(active);
        let ids: Vec<&str> = cast.iter().map(|it| it.id.as_str()).collect();
        let cast_lines: Vec<String> = cast.iter().map(|it| character_line(it)).collect();
        room.take_fixed("cast", &cast_lines.join("\n"));
        // Before tools and schema: a plan that does not know the story is worth nothing.
        let reserved = self.reserve_facts(&ids, &mut room);
        room.take_fixed("tools", &tool_lines);
        let schema = match detail {
            ToolDetail::Full => room.take_schema(|max_ids| plan_schema(self.memory, &ids, max_ids)),
            ToolDetail::Short => room.take_schema(|_| plan_schema_in_short()),
        };
        let least_tokens = room.least_tokens();
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
        let facts = self.render_facts(&ids, reserved, &mut room);
        let others = self.memory.characters();
        let others = others.filter(|it| !ids.contains(&it.id.as_str()));
        let others = room.take_items("characters", 30, others, character_line, LineOrder::AsGiven);
        let characters = others.render_after(cast_lines, "Nobody yet.", SEARCH_REMARK);
        let locations = render_part(
            &mut room,
            ("locations", 30),
            self.memory.locations(),
            |it| format!("- {}: {}", it.id, it.name),
            "None yet.",
            LineOrder::AsGiven,
        );
        let world = render_part(
            &mut room,
            ("world", 30),
            self.memory.lore(),
            |it| match it.text.trim() {
                "" => format!("- {}", it.name),
                text => format!("- {}: {}", it.name, text.replace('\n', " ")),
            },
            NO_LORE,
            LineOrder::AsGiven,
        );
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
            ("found_last", found_last),
            ("open_loops_list", open_loops),
            ("active_character_details", mark_as_data(&details)),
            ("character_relationships", relationships),
            ("facts", facts),
            ("characters", characters),
            ("locations", locations),
            ("world", world),
            ("next_nodes", next_nodes),
            ("next_blueprint", next_blueprint),
            ("available_tools_description", tool_lines),
            ("last_error", self.last_error(tick)),
        ];
        PlannerContext {
            parts,
            schema,
            sections: room.sections,
            least_tokens,
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
        let is_new = |it: &&Character| active.is_none_or(|active| active.id != it.id);
        let named = self.memory.characters_named_in(blueprint).into_iter();
        cast.extend(named.filter(is_new));
        cast
    }

    /// Returns what is true: about the cast first, the author's before the newest, then the others. Also the
    /// number of facts about the cast.
    fn rank_facts(&self, cast: &[&str]) -> (Vec<&StoryFact>, usize) {
        let is_about_cast = |fact: &&StoryFact| {
            let subject = self.memory.identify_subject(&fact.subject);
            let mut ids = cast.iter();
            ids.any(|id| *id == subject || *id == fact.object)
        };
        let canon = self.memory.facts().rev();
        let canon = canon.filter(|it| it.truth != Truth::Disputed && it.valid_to.is_none());
        let (mut ranked, others): (Vec<&StoryFact>, Vec<&StoryFact>) =
            canon.partition(is_about_cast);
        // The author's have no scene, and would be the oldest.
        ranked.sort_by_key(|fact| fact.valid_from.is_some());
        let about = ranked.len();
        ranked.extend(others);
        (ranked, about)
    }

    fn fact_line(&self, fact: &StoryFact) -> String {
        format!("- {}", state_fact(self.memory, fact))
    }

    /// Counts the first facts about the cast as a part of every prompt, and returns their lines.
    fn reserve_facts(&self, cast: &[&str], room: &mut ContextBudget) -> Vec<String> {
        let (ranked, about) = self.rank_facts(cast);
        let mut tokens = 0;
        let lines = ranked.into_iter().take(about);
        let lines = lines.map(|fact| self.fact_line(fact)).take_while(|line| {
            tokens += estimate_tokens(line) + 1;
            tokens <= MAX_RESERVED_FACT_TOKENS
        });
        let lines: Vec<String> = lines.collect();
        room.take_fixed("facts about the cast", &lines.join("\n"));
        lines
    }

    /// Renders what is true, after the lines that are counted already.
    fn render_facts(
        &self,
        cast: &[&str],
        reserved: Vec<String>,
        room: &mut ContextBudget,
    ) -> String {
        let (ranked, _) = self.rank_facts(cast);
        let others = ranked.into_iter().skip(reserved.len());
        let line = |fact| self.fact_line(fact);
        let others = room.take_items("facts", 30, others, line, LineOrder::AsGiven);
        others.render_after(reserved, "Nothing is written yet.", SEARCH_REMARK)
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

    /// Takes the blueprint of the scene that is prepared, which is always complete.
    fn take_next_blueprint(&self, room: &mut ContextBudget) -> String {
        let Some((path, blueprint)) = self.next_scene else {
            return "None.".to_owned();
        };
        let text = room.take_whole("blueprint", blueprint);
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
        let prompt = fill_template(template, &self.parts);
        let world = self.parts.iter().find(|(name, _)| *name == "world");
        match world.filter(|(_, world)| world != NO_LORE && !template.contains("{world}")) {
            // A template from before there was lore still gets it.
            Some((_, world)) => format!("{prompt}\n\n### The world\n{world}\n"),
            None => prompt,
        }
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

/// What the prompt says where the world has no rules.
const NO_LORE: &str = "Nothing yet.";

/// How much is said about the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolDetail {
    Full,
    Short,
}

fn character_line(it: &Character) -> String {
    format!("- {}: {} ({})", it.id, it.name, it.role)
}

fn describe_character(memory: &StoryMemory, character: &Character) -> String {
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
    let told = render_told(memory, character);
    if !told.is_empty() {
        lines.push(told.trim().to_owned());
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::{Entry, EntryKind};

    /// Defect: with a small limit the tools were complete, and of the story there was nothing.
    #[test]
    fn a_plan_is_asked_for_with_the_story_or_not_at_all() {
        let entry = |kind, value| Entry::from_value(kind, value).unwrap();
        let memory = StoryMemory::new([
            entry(
                EntryKind::Character,
                json!({ "id": "C0", "name": "Elena Vasquez", "knows": ["the map is forged"] }),
            ),
            entry(
                EntryKind::Fact,
                json!({ "id": "F0", "subject": "Elena Vasquez", "predicate": "eyes", "object": "green" }),
            ),
            entry(
                EntryKind::Lore,
                json!({ "id": "W0", "name": "The tide law", "text": "No boat leaves at ebb." }),
            ),
        ]);
        let state = TickState::default();
        let ask = |context_tokens: usize| {
            let policy = GenerationPolicy {
                context_tokens,
                ..GenerationPolicy::default()
            };
            StoryView {
                novel: "The Map",
                tick: 1,
                state: &state,
                memory: &memory,
                nodes: &[],
                ticks: &[],
                policy: &policy,
                next_scene: Some(("scene-0101", "# The drawer\n\nElena finds the map.\n")),
                next_pov: None,
            }
            .planner_context(DEFAULT_TEMPLATE)
        };
        let least = ask(500).least_tokens.expect("too small");
        assert!(ask(least - 1).least_tokens.is_some());
        for tokens in [least, 4_000, 12_000] {
            let context = ask(tokens);
            assert_eq!(context.least_tokens, None, "{tokens}");
            let prompt = context.render_prompt(DEFAULT_TEMPLATE);
            for part in ["Elena finds the map.", "Elena Vasquez", "eyes green"] {
                assert!(prompt.contains(part), "no `{part}` at {tokens}: {prompt}");
            }
        }
        let whole = ask(12_000);
        for template in [DEFAULT_TEMPLATE, "{facts}"] {
            let prompt = whole.render_prompt(template);
            assert!(prompt.contains("The tide law: No boat leaves"), "{prompt}");
        }
        let prompt = whole.render_prompt(DEFAULT_TEMPLATE);
        assert!(prompt.contains("Knows: the map is forged."), "{prompt}");
        assert!(least < 3_000, "a model with 4,000 tokens can plan: {least}");
    }
}
