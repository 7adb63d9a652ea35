//! The surface of the MCP server: tools, resources, prompts and instructions, without the protocol.
//!
//! Its definitions are constant for a project, byte for byte: clients cache them, and models'
//! prompt caches depend on them.

mod instructions;
mod listing;
mod prompts;
mod resources;

use std::sync::{Arc, Mutex, PoisonError};

pub use application::Workspace;
use application::answer_question::Answer;
use application::{Context, Failure, run_for_value};
use domain::authorization::Scope;
use domain::ids::Principal;
use domain::operation::Channel;
use domain::profile::Profile;
use serde_json::{Value, json};

use self::listing::LastListing;
pub use self::prompts::{Argument, Prompt};
pub use self::resources::{Content, Page, Resource, Template};
use crate::tools::{self, ChosenTools, Tool, find_tool, more_tools};
pub(crate) use crate::tools::{APPROVE_TOOL, KEEP_TOOL, UPDATE_TOOL};
pub use crate::tools::{Hints, Offered, Question, ToolNames, ToolSelection, Toolset};

/// The tools of a project.
#[derive(Clone)]
pub struct Surface {
    workspace: Arc<dyn Workspace>,
    selection: ToolSelection,
    chosen: Arc<Mutex<Definitions>>,
    last_listing: Arc<LastListing>,
    /// The settings problem that the client was told.
    told_problem: Arc<Mutex<Option<Arc<Failure>>>>,
    /// The session that a client named for a call.
    session: Option<String>,
}

/// The tools for the profiles they were chosen by: another settings file may enable others.
#[derive(Clone)]
struct Definitions {
    profiles: Arc<[Profile]>,
    tools: ChosenTools,
    /// Number of changes so far.
    version: u64,
}

/// All definitions for a project with some profiles, for the reference page.
#[derive(Clone, Debug)]
pub struct Catalogue {
    pub tools: Vec<Offered>,
    pub templates: Vec<Template>,
    pub prompts: Vec<Prompt>,
}

impl Catalogue {
    /// Returns all definitions.
    ///
    /// # Errors
    /// None that a caller could cause.
    pub fn of(profiles: &[Profile]) -> Result<Self, Failure> {
        Ok(Self {
            tools: ToolSelection {
                toolsets: Some(Toolset::ALL.map(|set| set.word().to_owned()).to_vec()),
                ..ToolSelection::default()
            }
            .choose(profiles)?
            .callable
            .iter()
            .map(|tool| tool.offered(profiles, ToolNames::Own))
            .collect(),
            templates: resources::TEMPLATES.to_vec(),
            prompts: prompts::prompts_for(profiles),
        })
    }
}

/// Returns the call that does what a command line does, in a project with these profiles.
#[must_use]
pub fn find_call_of_command(command: &str, profiles: &[Profile]) -> Option<(&'static str, Value)> {
    tools::find_call_of_command(command, profiles)
}

/// Outcome of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum Called {
    /// The tool's structured result; the protocol adds it as compact text.
    Done(Value),
    /// The tool failed, or its arguments were invalid: a result with `isError`.
    Failed(Value),
    /// Unknown tool; the message has the nearest name.
    Unknown(String),
}

impl Surface {
    /// Creates the surface of a project with the tools of its profiles, or with the selected ones.
    ///
    /// # Errors
    /// When a named toolset does not exist.
    pub fn new(workspace: Arc<dyn Workspace>, selection: ToolSelection) -> Result<Self, Failure> {
        let profiles = workspace.profiles();
        let tools = selection.choose(&profiles)?;
        Ok(Self {
            workspace,
            selection,
            chosen: Arc::new(Mutex::new(Definitions {
                profiles,
                tools,
                version: 0,
            })),
            last_listing: Arc::default(),
            told_problem: Arc::default(),
            session: None,
        })
    }

    /// Returns the same project with the toolsets that a path names: `core,story`, `readonly`,
    /// `ticket/readonly`.
    ///
    /// # Errors
    /// When a toolset does not exist.
    pub fn at_path(&self, path: &str) -> Result<Self, Failure> {
        let (sets, read_only) = match path.strip_suffix("readonly") {
            Some("") => ("", true),
            Some(sets) => match sets.strip_suffix('/') {
                Some(sets) if !sets.is_empty() => (sets, true),
                _ => (path, false),
            },
            None => (path, false),
        };
        let mut selection = self.selection.clone();
        // A path only narrows what the server offers: `--read-only` cannot be left by another path.
        selection.read_only |= read_only;
        if !sets.is_empty() {
            let named: Vec<String> = sets.split(',').map(str::to_owned).collect();
            // A server that offers some sets does not offer others by path.
            if let Some(allowed) = &self.selection.toolsets
                && let Some(other) = named.iter().find(|set| !allowed.contains(set))
                && other != Toolset::Core.word()
            {
                return Err(Failure::not_found(format!(
                    "the tool set `{other}` is not offered"
                )));
            }
            selection.toolsets = Some(named);
        }
        let part = Self::new(self.workspace.clone(), selection)?;
        // The parts share the listing, so that a client of `/mcp/core` profits from another's scan.
        Ok(Self {
            last_listing: self.last_listing.clone(),
            ..part
        })
    }

    /// Returns the same project for calls in a session that the client named.
    #[must_use]
    pub fn in_session(&self, session: Option<String>) -> Self {
        Self {
            session,
            ..self.clone()
        }
    }

    fn chosen(&self) -> (Arc<[Profile]>, ChosenTools) {
        let Definitions {
            profiles, tools, ..
        } = self.definitions();
        (profiles, tools)
    }

    fn definitions(&self) -> Definitions {
        let profiles = self.workspace.profiles();
        let mut known = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        // Compared by address, since this runs for every call: the workspace returns the same
        // profiles until a settings file changes.
        if !Arc::ptr_eq(&known.profiles, &profiles) {
            // The words were checked when the surface was created.
            if let Ok(tools) = self.selection.choose(&profiles) {
                *known = Definitions {
                    profiles,
                    tools,
                    version: known.version + 1,
                };
            }
        }
        known.clone()
    }

    /// Returns the project.
    #[must_use]
    pub fn workspace(&self) -> &Arc<dyn Workspace> {
        &self.workspace
    }

    /// Returns the tools of the list, in constant order for the same profiles.
    #[must_use]
    pub fn tools(&self) -> Vec<Offered> {
        self.tools_with(&[])
    }

    /// Returns the tools of the list, with all tools of some sets.
    #[must_use]
    pub fn tools_with(&self, sets: &[Toolset]) -> Vec<Offered> {
        let (profiles, tools) = self.chosen();
        let names = self.selection.names;
        let is_listed = |tool: &&&'static Tool| {
            let is_in = |listed: &&Tool| listed.name == tool.name;
            tools.listed.iter().any(is_in) || (sets.contains(&tool.set) && tool.is_named(names))
        };
        tools
            .callable
            .iter()
            .filter(is_listed)
            .map(|tool| tool.offered(&profiles, names))
            .collect()
    }

    /// Returns a tool by any of its names, as it is offered under that name.
    #[must_use]
    pub fn find_tool(&self, name: &str) -> Option<Offered> {
        let (profiles, tools) = self.chosen();
        let tool = find_tool(&tools.callable, name)?;
        let names = match tool.name == name {
            true => ToolNames::Own,
            false => ToolNames::Seed,
        };
        Some(tool.offered(&profiles, names))
    }

    /// Returns a number that grows with every change of the definitions of tools and prompts.
    #[must_use]
    pub fn definitions_version(&self) -> u64 {
        self.definitions().version
    }

    /// Whether a call takes microseconds, whatever the size of the project, and may block the
    /// thread.
    #[must_use]
    pub fn is_quick(&self, name: &str) -> bool {
        self.named(name).is_some_and(|tool| tool.is_quick)
    }

    /// Whether a tool only reads.
    #[must_use]
    pub fn is_read(&self, name: &str) -> bool {
        self.named(name).is_some_and(|tool| tool.hints.read_only)
    }

    /// Returns the scope a call needs; `None` for an unknown tool.
    #[must_use]
    pub fn required_scope(&self, name: &str, arguments: &Value) -> Option<Scope> {
        self.named(name).map(|tool| tool.required_scope(arguments))
    }

    fn named(&self, name: &str) -> Option<&'static Tool> {
        find_tool(&self.chosen().1.callable, name)
    }

    /// Returns a call by the tool's own name and arguments: taken out of a call of `call_tool`, and
    /// translated from the earlier interface. An unknown tool is left to [`Surface::call`].
    ///
    /// # Errors
    /// When the inner tool does not exist, or arguments are missing.
    pub fn resolve_call(&self, name: String, arguments: Value) -> Result<(String, Value), Failure> {
        let tools = self.chosen().1.callable;
        let (name, arguments) = match name == more_tools::CALL {
            true => {
                let (name, arguments) = more_tools::unwrap_call(&arguments, &tools)?;
                (name, Value::Object(arguments))
            }
            false => (name, arguments),
        };
        match find_tool(&tools, &name) {
            Some(tool) => Ok((tool.name.to_owned(), tool.own_arguments(&name, arguments)?)),
            None => Ok((name, arguments)),
        }
    }

    /// Returns the sets that a call of `more_tools` asks for; none for any other call.
    #[must_use]
    pub fn asked_sets(&self, name: &str, arguments: &Value) -> &'static [Toolset] {
        match name == more_tools::NAME {
            true => more_tools::named_sets(arguments),
            false => &[],
        }
    }

    /// Answers a call of `more_tools` by a client with this scope.
    #[must_use]
    pub fn describe_more(&self, arguments: &Value, scope: Scope) -> Called {
        let (profiles, tools) = self.chosen();
        match more_tools::describe(arguments, &tools.callable, &profiles, scope) {
            Ok(described) => Called::Done(described),
            Err(failure) => Called::Failed(self.failure_value(&failure)),
        }
    }

    /// Calls a tool.
    #[must_use]
    pub fn call(&self, actor: &Principal, name: &str, arguments: &Value) -> Called {
        let (profiles, tools) = self.chosen();
        let Some(tool) = find_tool(&tools.callable, name) else {
            let seeds = tools.callable.iter().filter_map(|tool| tool.seed);
            let known = tools.callable.iter().map(|tool| tool.name);
            let known = known.chain(seeds.map(|seed| seed.name));
            // Models misremember tool names; the nearest one saves a round trip.
            let hint = domain::suggest::nearest_hint(name, known);
            return Called::Unknown(format!("there is no tool `{name}`{hint}"));
        };
        if tool.name == more_tools::NAME {
            // The protocol describes what a token's scope allows; this is for other callers.
            return self.describe_more(arguments, Scope::Admin);
        }
        // The protocol unwraps such a call before it checks the scope; this is for other callers.
        if tool.name == more_tools::CALL {
            return match self.resolve_call(name.to_owned(), arguments.clone()) {
                Ok((tool, arguments)) => self.call(actor, &tool, &arguments),
                Err(failure) => Called::Failed(self.failure_value(&failure)),
            };
        }
        let arguments = match tool.own_arguments(name, arguments.clone()) {
            Ok(arguments) => arguments,
            Err(failure) => return Called::Failed(self.failure_value(&failure)),
        };
        // Taken inside the use case's context: the store's warnings belong to this call only.
        let mut warnings = Vec::new();
        // The closure may run twice, after a write conflict; only the last warnings count.
        let outcome = self.run(actor, &mut |ctx| {
            let outcome = (tool.run)(ctx, &arguments);
            warnings = ctx.store.take_warnings();
            warnings.extend(ctx.take_work_warnings());
            outcome
        });
        match outcome {
            Ok(mut value) => {
                warnings.extend(self.take_settings_problem(tool));
                if let (false, Some(fields)) = (warnings.is_empty(), value.as_object_mut()) {
                    // Only if there are any: the member would cost tokens in every result.
                    fields.insert("warnings".to_owned(), json!(warnings));
                }
                // Elsewhere a `text` is that of a plan or a note, and is never changed.
                if let ("work_brief", Some(Value::String(text))) =
                    (tool.name, value.get_mut("text"))
                {
                    *text = tools::render_text(text, &tools, &profiles);
                }
                render_steps(&mut value, &tools, &profiles);
                Called::Done(value)
            }
            Err(failure) => {
                let call = Some((tool, &arguments));
                Called::Failed(render_failure(&failure, call, &tools, &profiles))
            }
        }
    }

    /// Returns why the settings cannot be used: once, and whenever a client asks where it is.
    fn take_settings_problem(&self, tool: &Tool) -> Option<String> {
        let problem = self.workspace.settings_problem();
        let mut told = self
            .told_problem
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_told = match (&*told, &problem) {
            (Some(told), Some(problem)) => Arc::ptr_eq(told, problem),
            _ => false,
        };
        told.clone_from(&problem);
        let always = matches!(tool.name, "work_brief" | "work_where");
        let problem = problem.filter(|_| always || !is_told)?;
        Some(describe_settings_problem(&problem))
    }

    /// Returns the question a call asks `person`; `None` if there is nothing to ask.
    ///
    /// # Errors
    /// When the arguments are invalid or the state cannot be read.
    pub fn approval_question(
        &self,
        person: &Principal,
        tool: &str,
        arguments: &Value,
    ) -> Result<Option<Question>, Failure> {
        self.run(person, &mut |ctx| {
            tools::approval_question(ctx, tool, arguments)
        })
    }

    /// Reports that a call of `plan_wait` is polled no more, although there is no decision.
    pub(crate) fn end_wait(&self, actor: &Principal, arguments: &Value) -> Result<(), Failure> {
        self.run(actor, &mut |ctx| tools::end_wait(ctx, arguments))
    }

    /// Records the answer of the person who was asked, bound to exactly that question.
    #[must_use]
    pub fn answer_shown(&self, question: &Question, answer: &Answer) -> Called {
        match self.run(&question.person, &mut |ctx| {
            tools::answer_shown(ctx, question, answer.clone())
        }) {
            Ok(mut value) => {
                let (profiles, tools) = self.chosen();
                render_steps(&mut value, &tools, &profiles);
                Called::Done(value)
            }
            Err(failure) => Called::Failed(self.failure_value(&failure)),
        }
    }

    /// Returns a failure as JSON, with next steps that a client of these tools can take.
    #[must_use]
    pub fn failure_value(&self, failure: &Failure) -> Value {
        let (profiles, tools) = self.chosen();
        render_failure(failure, None, &tools, &profiles)
    }

    /// Renders a text of ours, in which commands become calls of tools.
    pub(super) fn render_text(&self, text: &str) -> String {
        let (profiles, tools) = self.chosen();
        tools::render_text(text, &tools, &profiles)
    }

    /// Runs a use case and returns its outcome.
    ///
    /// # Errors
    /// The use case's failure.
    pub fn run<T>(
        &self,
        actor: &Principal,
        use_case: &mut dyn FnMut(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match &self.session {
            None => self.workspace.run_use_case(Channel::Mcp, actor, use_case),
            Some(session) => run_for_value(
                |run| {
                    self.workspace
                        .run_in_session(Channel::Mcp, actor, session, run)
                },
                use_case,
            ),
        }
    }
}

/// Describes broken settings to a client that cannot run `tl config check`.
fn describe_settings_problem(problem: &Failure) -> String {
    format!(
        "{}. Until it is fixed, the last good settings stay in force. Tell the person: `tl config check` shows it.",
        problem.message
    )
}

/// Renders the next steps of a result, wherever they are in it, and the commands in texts of ours.
fn render_steps(value: &mut Value, tools: &ChosenTools, profiles: &[Profile]) {
    let render_step = |step: &mut Value| {
        if let Value::String(text) = step {
            *step = tools::render_step(text, tools, profiles);
        }
    };
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match (name.as_str(), field) {
                    ("next_steps" | "choices", Value::Array(steps)) => {
                        steps.iter_mut().for_each(render_step);
                    }
                    ("next_step" | "action", step @ Value::String(_)) => render_step(step),
                    // Texts that we compose; text of plans and notes is never changed.
                    (
                        "prompt"
                        | "message"
                        | "summary"
                        | "guide"
                        | "context"
                        | "asks"
                        | "next_action"
                        | "next_compaction_report",
                        Value::String(text),
                    ) => {
                        *text = tools::render_text(text, tools, profiles);
                    }
                    ("missing" | "warnings", Value::Array(texts)) => {
                        for one in texts.iter_mut() {
                            if let Value::String(text) = one {
                                *text = tools::render_text(text, tools, profiles);
                            }
                        }
                    }
                    ("may", Value::Array(commands)) => {
                        *commands = tools::name_role_tools(commands, tools, profiles);
                    }
                    (_, field) => render_steps(field, tools, profiles),
                }
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| render_steps(item, tools, profiles)),
        _ => {}
    }
}

/// Returns a failure as JSON where no tools are known: commands are left to a person.
#[must_use]
pub fn failure_value(failure: &Failure) -> Value {
    render_failure(failure, None, &ChosenTools::none(), &[])
}

/// Returns a failure as JSON: kind, message, next steps. A step may repeat the call that failed.
fn render_failure(
    failure: &Failure,
    call: Option<(&Tool, &Value)>,
    tools: &ChosenTools,
    profiles: &[Profile],
) -> Value {
    let steps = failure.next_steps.iter().map(|step| {
        call.and_then(|call| tools::render_repeated_call(step, call, tools, profiles))
            .unwrap_or_else(|| tools::render_step(step, tools, profiles))
    });
    let steps: Vec<Value> = steps.collect();
    let mut value = json!({
        "error": {
            "kind": failure.kind.as_str(),
            "message": tools::render_text(&failure.message, tools, profiles),
            "next_steps": steps,
        }
    });
    // The current state of what was refused saves the model a second call.
    if let Some(current) = &failure.current {
        value["current"] = current.as_ref().clone();
    }
    value
}
