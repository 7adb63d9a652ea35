//! The tools of each set, those with arguments of their own in a file each, and the selection for a
//! project.

mod arguments;
mod core_set;
mod next_steps;
mod plans_set;
mod schema;
mod story_set;
mod tick_set;
mod tickets_set;
mod trail_set;

use std::sync::LazyLock;

use application::{Context, Failure};
use domain::authorization::Scope;
use domain::profile::Profile;
use domain::scope_table::scope_of_tool;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) use self::arguments::words;
use self::arguments::{read, value};
pub(crate) use self::next_steps::render_step;
pub use self::story_set::approve_entity::Question;
pub(crate) use self::story_set::approve_entity::{
    APPROVE_TOOL, answer_shown, question as approval_question,
};
pub(crate) use self::story_set::update_entity_state::UPDATE_TOOL;

/// A group of tools that are offered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Toolset {
    /// Position and next work; always offered.
    Core,
    /// Plans in files with statuses and versions.
    Story,
    /// Trail of a session: intent, anchors, notes.
    Trail,
    /// Work with phases: focus, tickets, scenarios, claims, evidence.
    Tickets,
    /// Plan documents, workflows and reviews.
    Plans,
    /// The tick loop with the host's own model. Only on request.
    Tick,
}

impl Toolset {
    /// Every toolset, in listing order.
    pub const ALL: [Self; 6] = [
        Self::Core,
        Self::Story,
        Self::Trail,
        Self::Tickets,
        Self::Plans,
        Self::Tick,
    ];

    /// Returns the name used by `--toolsets` and in paths.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Story => "story",
            Self::Trail => "trail",
            Self::Tickets => "tickets",
            Self::Plans => "plans",
            Self::Tick => "tick",
        }
    }

    fn list_tools(self) -> Vec<Tool> {
        let mut tools = match self {
            Self::Core => core_set::list_tools(),
            Self::Story => story_set::list_tools(),
            Self::Trail => trail_set::list_tools(),
            Self::Tickets => tickets_set::list_tools(),
            Self::Plans => plans_set::list_tools(),
            Self::Tick => tick_set::list_tools(),
        };
        tools.iter_mut().for_each(|tool| tool.set = self);
        tools
    }
}

/// Effects of a tool, for clients that ask their user before running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    /// Its effects may reach beyond the project.
    pub open_world: bool,
}

impl Hints {
    pub(crate) const READS: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    };
    pub(crate) const CHANGES: Self = Self {
        read_only: false,
        ..Self::READS
    };
    /// A second call with the same arguments continues from the first: not idempotent.
    pub(crate) const GOES_ON: Self = Self {
        idempotent: false,
        ..Self::CHANGES
    };
    pub(crate) const DESTROYS: Self = Self {
        destructive: true,
        ..Self::CHANGES
    };
    /// It runs programs, whose effects are unknown.
    pub(crate) const RUNS: Self = Self {
        destructive: true,
        open_world: true,
        ..Self::GOES_ON
    };

    /// Returns a tool with these effects. Both schemas are derived from the types of `run`: its
    /// arguments deny unknown fields, and the doc comments of their fields are published. The
    /// description says in one or two sentences when to use it: that is what a model has to decide.
    fn define_tool<
        A: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + 'static,
    >(
        self,
        name: &'static str,
        description: &'static str,
        run: fn(&Context<'_>, A) -> Result<O, Failure>,
    ) -> Tool {
        Tool {
            name,
            description,
            // Replaced by the set that lists it.
            set: Toolset::Core,
            hints: self,
            input: schema::derive_input::<A>,
            output: schema::derive_output::<O>,
            run: Box::new(move |ctx, arguments| value(&run(ctx, read(arguments)?)?)),
        }
    }

    /// Returns the protocol's annotations, without those implied by another: the list costs tokens
    /// in every conversation.
    #[must_use]
    pub fn annotations(self) -> Value {
        if self.read_only {
            return json!({ "readOnlyHint": true, "openWorldHint": false });
        }
        json!({
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        })
    }
}

/// A tool: its function, which is called as JSON, and what clients are told about it.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) set: Toolset,
    pub(crate) hints: Hints,
    pub(crate) input: fn(&[Profile]) -> Value,
    pub(crate) output: fn() -> Value,
    pub(crate) run: Box<RunTool>,
}

type RunTool = dyn Fn(&Context<'_>, &Value) -> Result<Value, Failure> + Send + Sync;

/// A tool as offered on a project: schemas name its levels and phases.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    pub name: &'static str,
    pub description: &'static str,
    pub set: Toolset,
    pub hints: Hints,
    pub input_schema: Value,
    pub output_schema: Value,
}

/// Tools that read one plan: microseconds, whatever the size of the project.
const QUICK: [&str; 4] = ["why", "wait", "get_entity_state", "get_children_status"];

impl Tool {
    /// Returns the scope a call with these arguments needs.
    pub(crate) fn required_scope(&self, arguments: &Value) -> Scope {
        let case = arguments.get("status").and_then(Value::as_str);
        scope_of_tool(self.name, case, self.hints.read_only)
    }

    /// Whether it may block the thread.
    pub(crate) fn is_quick(&self) -> bool {
        QUICK.contains(&self.name)
    }

    pub(crate) fn offered(&self, profiles: &[Profile]) -> Offered {
        Offered {
            name: self.name,
            description: self.description,
            set: self.set,
            hints: self.hints,
            input_schema: (self.input)(profiles),
            output_schema: (self.output)(),
        }
    }
}

/// Every tool, in listing order, which is part of the interface: models' prompt caches depend on
/// it.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    Toolset::ALL
        .into_iter()
        .flat_map(Toolset::list_tools)
        .collect()
});

/// Profiles with tools of their own, or with none.
const OTHER_PROFILES: [&str; 3] = ["tickets", "trail", "milestones"];

/// Returns the profiles of the story tools: the built-in one and custom ones.
fn story_profiles(profiles: &[Profile]) -> impl Iterator<Item = &Profile> {
    profiles
        .iter()
        .filter(|profile| !OTHER_PROFILES.contains(&profile.name.as_str()))
}

/// Returns the tools of a project.
pub(crate) fn chosen(
    profiles: &[Profile],
    toolsets: Option<&[String]>,
    read_only: bool,
) -> Result<Vec<&'static Tool>, Failure> {
    // Checked before anything is offered: a typo would silently offer fewer tools.
    let words = Toolset::ALL.map(Toolset::word);
    if let Some(unknown) = toolsets
        .into_iter()
        .flatten()
        .find(|name| !words.contains(&name.as_str()))
    {
        return Err(
            Failure::invalid(format!("there is no tool set `{unknown}`"))
                .with_step(format!("tool sets: {}", words.join(", "))),
        );
    }
    let wanted = |set: Toolset| match toolsets {
        Some(named) => named.iter().any(|name| name == set.word()),
        None => match set {
            Toolset::Core => true,
            // By profile, so that a project sees only tools it can use: each costs tokens in every
            // conversation.
            Toolset::Story => story_profiles(profiles).next().is_some(),
            Toolset::Trail => domain::trail::has_trail_profile(profiles),
            Toolset::Tickets => profiles
                .iter()
                .any(|profile| !profile.work_phases.is_empty()),
            Toolset::Plans => profiles
                .iter()
                .any(|profile| profile.name == domain::plan_document::MILESTONES_PROFILE),
            // Six more descriptions in every conversation are too many for a project that does not
            // generate prose.
            Toolset::Tick => false,
        },
    };
    let fits = |tool: &&Tool| wanted(tool.set) && (!read_only || tool.hints.read_only);
    Ok(TOOLS.iter().filter(fits).collect())
}
