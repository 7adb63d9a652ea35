//! The tools of each set, those with arguments of their own in a file each, and the selection for a
//! project.

mod arguments;
mod core_set;
mod doc_set;
mod flow_set;
pub(crate) mod more_tools;
mod next_steps;
mod note_set;
mod plan_set;
mod review_set;
mod schema;
mod story_set;
mod ticket_set;
mod trail_set;

use std::sync::{Arc, LazyLock};

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
pub(crate) use self::next_steps::{
    find_call_of_command, name_role_tools, render_repeated_call, render_step, render_text,
};
pub use self::plan_set::approve::Question;
pub(crate) use self::plan_set::approve::{
    APPROVE_TOOL, answer_shown, question as approval_question,
};
pub(crate) use self::plan_set::keep::KEEP_TOOL;
pub(crate) use self::plan_set::update_entity_state::UPDATE_TOOL;
pub(crate) use self::plan_set::wait::end_wait;

/// A group of tools that are offered together. The names of its tools begin with its noun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Toolset {
    /// Position, next work, claims, history: `work_…`; always offered.
    Core,
    /// Plans with statuses and versions: `plan_…`.
    Plan,
    /// Work with phases: `ticket_…`.
    Ticket,
    /// Trail of a session: `trail_…`.
    Trail,
    /// Notes that sessions leave to later ones: `note_…`.
    Note,
    /// Plan documents: `doc_…`.
    Doc,
    /// Workflows: `flow_…`.
    Flow,
    /// Reviews: `review_…`.
    Review,
    /// Story memory, ticks and scenes with the host's own model: `story_…`.
    Story,
}

impl Toolset {
    /// Every toolset, in listing order.
    pub const ALL: [Self; 9] = [
        Self::Core,
        Self::Plan,
        Self::Ticket,
        Self::Trail,
        Self::Note,
        Self::Doc,
        Self::Flow,
        Self::Review,
        Self::Story,
    ];

    /// Returns the name used by `--toolsets` and in paths.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Plan => "plan",
            Self::Ticket => "ticket",
            Self::Trail => "trail",
            Self::Note => "note",
            Self::Doc => "doc",
            Self::Flow => "flow",
            Self::Review => "review",
            Self::Story => "story",
        }
    }

    /// Returns the toolsets a word stands for; none if it is unknown.
    fn named(word: &str) -> &'static [Self] {
        match word {
            "core" => &[Self::Core],
            "plan" => &[Self::Plan],
            "ticket" | "tickets" => &[Self::Ticket],
            "trail" => &[Self::Trail],
            "note" => &[Self::Note],
            "doc" => &[Self::Doc],
            "flow" => &[Self::Flow],
            "review" => &[Self::Review],
            // What the planner and executor workflows need.
            "milestones" => &[Self::Doc, Self::Flow, Self::Review],
            // A story is planned as well as written.
            "story" => &[Self::Plan, Self::Story],
            _ => &[],
        }
    }

    fn list_tools(self) -> Vec<Tool> {
        let mut tools = match self {
            Self::Core => core_set::list_tools(),
            Self::Plan => plan_set::list_tools(),
            Self::Ticket => ticket_set::list_tools(),
            Self::Trail => trail_set::list_tools(),
            Self::Note => note_set::list_tools(),
            Self::Doc => doc_set::list_tools(),
            Self::Flow => flow_set::list_tools(),
            Self::Review => review_set::list_tools(),
            Self::Story => story_set::list_tools(),
        };
        tools.iter_mut().for_each(|tool| tool.set = self);
        tools
    }

    /// Whether the project has something its tools work on.
    fn suits(self, profiles: &[Profile]) -> bool {
        let mut levels = profiles.iter().flat_map(|profile| &profile.levels);
        match self {
            Self::Core => true,
            Self::Plan => levels.any(|level| level.file.is_some()) || has_milestones(profiles),
            Self::Ticket => profiles
                .iter()
                .any(|profile| !profile.work_phases.is_empty()),
            Self::Trail | Self::Note => domain::trail::has_trail_profile(profiles),
            Self::Doc | Self::Flow | Self::Review => has_milestones(profiles),
            Self::Story => levels.any(|level| level.output.is_some()),
        }
    }
}

fn has_milestones(profiles: &[Profile]) -> bool {
    profiles
        .iter()
        .any(|profile| profile.name == domain::plan_document::MILESTONES_PROFILE)
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
    /// It takes something back, and a second call takes back more.
    pub(crate) const REVERTS: Self = Self {
        destructive: true,
        ..Self::GOES_ON
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
            is_listed: false,
            needs_texts: false,
            is_quick: false,
            seed: None,
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
    /// Whether it is in the default list; the others are found with `more_tools`.
    pub(crate) is_listed: bool,
    /// Whether it is of use only where plans are texts of their own.
    pub(crate) needs_texts: bool,
    /// Whether it reads one plan: microseconds, whatever the size of the project.
    pub(crate) is_quick: bool,
    pub(crate) seed: Option<SeedName>,
    pub(crate) input: fn(&[Profile]) -> Value,
    pub(crate) output: fn() -> Value,
    pub(crate) run: Box<RunTool>,
}

type RunTool = dyn Fn(&Context<'_>, &Value) -> Result<Value, Failure> + Send + Sync;

/// The name of a tool in the interface this one grew out of, which clients may still use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeedName {
    pub(crate) name: &'static str,
    pub(crate) arguments: SeedArguments,
}

/// How the arguments of the earlier interface differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeedArguments {
    Same,
    /// `entity_type` and `entity_id` instead of `node`.
    Entity,
    /// `act_id` instead of `node`.
    Act,
    /// `scene_id` instead of `scene`.
    Scene,
    /// The tool is only part of the earlier interface.
    Only,
}

/// Which names are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolNames {
    #[default]
    Own,
    /// Those of the earlier interface, where a tool has one.
    Seed,
}

/// A tool as offered on a project: schemas name its levels and phases.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    pub name: &'static str,
    pub description: &'static str,
    pub set: Toolset,
    pub hints: Hints,
    pub input_schema: Value,
    pub output_schema: Value,
    /// Whether it is in the default list of a project that has a use for its set.
    pub is_listed: bool,
    /// Its name in the earlier interface.
    pub seed_name: Option<&'static str>,
}

impl Tool {
    /// Puts it into the default list.
    pub(crate) fn listed(self) -> Self {
        Self {
            is_listed: true,
            ..self
        }
    }

    /// Puts it into the default list of projects whose plans are texts of their own.
    pub(crate) fn listed_for_texts(self) -> Self {
        Self {
            is_listed: true,
            needs_texts: true,
            ..self
        }
    }

    /// Whether the project has something it works on.
    fn suits(&self, profiles: &[Profile]) -> bool {
        let mut levels = profiles.iter().flat_map(|profile| &profile.levels);
        self.set.suits(profiles) && (!self.needs_texts || levels.any(|level| level.file.is_some()))
    }

    /// Marks it as one that may block the thread.
    pub(crate) fn quick(self) -> Self {
        Self {
            is_quick: true,
            ..self
        }
    }

    /// Adds its name in the earlier interface.
    pub(crate) fn seed(self, name: &'static str, arguments: SeedArguments) -> Self {
        Self {
            seed: Some(SeedName { name, arguments }),
            ..self
        }
    }

    /// Whether it is called by this name.
    fn has_name(&self, name: &str) -> bool {
        self.name == name || self.seed.is_some_and(|seed| seed.name == name)
    }

    /// Whether it is part of a list with these names.
    pub(crate) fn is_named(&self, names: ToolNames) -> bool {
        let only_seed = |seed: SeedName| seed.arguments == SeedArguments::Only;
        names == ToolNames::Seed || !self.seed.is_some_and(only_seed)
    }

    /// Returns its name in a list with these names.
    pub(crate) fn listed_name(&self, names: ToolNames) -> &'static str {
        match (names, self.seed) {
            (ToolNames::Seed, Some(seed)) => seed.name,
            _ => self.name,
        }
    }

    /// Returns the scope a call with these arguments needs.
    pub(crate) fn required_scope(&self, arguments: &Value) -> Scope {
        // The tool that is called through it needs more, and is checked under its own name.
        if self.name == more_tools::CALL {
            return Scope::Read;
        }
        // `update_entity_state` approves or rejects by its `status`. In other tools the word
        // selects no row of the table.
        let case = arguments.get("status").and_then(Value::as_str);
        scope_of_tool(self.name, case, self.hints.read_only)
    }

    pub(crate) fn offered(&self, profiles: &[Profile], names: ToolNames) -> Offered {
        let mut input_schema = (self.input)(profiles);
        if let Some(seed) = self.seed.filter(|_| names == ToolNames::Seed) {
            schema::rename_node(&mut input_schema, seed.arguments, profiles);
        }
        Offered {
            name: self.listed_name(names),
            description: self.description,
            set: self.set,
            hints: self.hints,
            input_schema,
            output_schema: (self.output)(),
            is_listed: self.is_listed,
            seed_name: self.seed.map(|seed| seed.name),
        }
    }

    /// Returns its own arguments for those of the name it is called by.
    pub(crate) fn own_arguments(&self, name: &str, arguments: Value) -> Result<Value, Failure> {
        match self.seed {
            Some(seed) if seed.name == name => arguments::from_seed(seed.arguments, arguments),
            _ => Ok(arguments),
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

/// The tools of a project: those in its list, and all that can be called.
#[derive(Clone)]
pub(crate) struct ChosenTools {
    pub(crate) listed: Arc<[&'static Tool]>,
    pub(crate) callable: Arc<[&'static Tool]>,
}

impl ChosenTools {
    /// Returns no tools, where a failure has to be rendered without a project.
    pub(crate) fn none() -> Self {
        Self {
            listed: Arc::default(),
            callable: Arc::default(),
        }
    }
}

/// Which tools are wanted.
#[derive(Clone, Debug, Default)]
pub struct ToolSelection {
    /// Words of toolsets; without them those of the project's profiles, of which only the most
    /// important tools are listed.
    pub toolsets: Option<Vec<String>>,
    pub read_only: bool,
    pub names: ToolNames,
}

impl ToolSelection {
    /// Returns the selected tools of a project with these profiles.
    ///
    /// # Errors
    /// When a toolset does not exist.
    pub(crate) fn choose(&self, profiles: &[Profile]) -> Result<ChosenTools, Failure> {
        let named = self.toolsets.as_deref().map(parse_toolsets).transpose()?;
        let fits = |tool: &&'static Tool| {
            let is_wanted = match &named {
                Some(named) => tool.set == Toolset::Core || named.contains(&tool.set),
                // Everything a project may need later can be called, also where it is not listed.
                None => tool.set != Toolset::Story || tool.set.suits(profiles),
            };
            is_wanted && (!self.read_only || tool.hints.read_only)
        };
        let callable: Arc<[&'static Tool]> = TOOLS.iter().filter(fits).collect();
        // A named set is listed whole: it was chosen. With its own profile a project sees the
        // tools its work begins with: each costs tokens in every conversation.
        let is_listed = |tool: &&'static Tool| {
            tool.is_named(self.names)
                && match (&named, self.names) {
                    (Some(_), _) => tool.name != more_tools::NAME && tool.name != more_tools::CALL,
                    // Nothing can be called through another tool here, because that may change
                    // something.
                    (None, ToolNames::Own) if self.read_only => tool.set.suits(profiles),
                    (None, ToolNames::Own) => tool.is_listed && tool.suits(profiles),
                    (None, ToolNames::Seed) => {
                        (tool.is_listed || tool.seed.is_some())
                            && tool.set != Toolset::Story
                            && tool.set.suits(profiles)
                    }
                }
        };
        let listed = callable.iter().copied().filter(is_listed).collect();
        Ok(ChosenTools { listed, callable })
    }
}

/// Parses words of toolsets. Checked before anything is offered: a typo would silently offer fewer
/// tools.
fn parse_toolsets(words: &[String]) -> Result<Vec<Toolset>, Failure> {
    let mut sets = Vec::new();
    for word in words {
        match Toolset::named(word) {
            [] => {
                let known = Toolset::ALL.map(Toolset::word).join(", ");
                let failure = Failure::invalid(format!("there is no tool set `{word}`"));
                return Err(failure.with_step(format!("tool sets: {known}")));
            }
            found => sets.extend_from_slice(found),
        }
    }
    Ok(sets)
}

/// Returns the tool that is called by a name.
pub(crate) fn find_tool(tools: &[&'static Tool], name: &str) -> Option<&'static Tool> {
    // Model APIs reject dots in names, but some tools were documented with one.
    let plain = name.replace('.', "_");
    tools.iter().copied().find(|tool| tool.has_name(&plain))
}
