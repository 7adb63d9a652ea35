//! The surface of the MCP server: tools, resources, prompts and instructions, without the protocol.
//!
//! Its definitions are constant for a project, byte for byte: clients cache them, and models'
//! prompt caches depend on them.

mod instructions;
mod listing;
mod prompts;
mod resources;

use std::sync::Arc;

pub use application::Workspace;
use application::answer_question::Answer;
use application::{Context, Failure};
use domain::authorization::Scope;
use domain::ids::Principal;
use domain::operation::Channel;
use domain::profile::Profile;
use serde_json::{Value, json};

use self::listing::LastListing;
pub use self::prompts::{Argument, Prompt};
pub use self::resources::{Content, Page, Resource, Template};
use crate::tools::{self, Tool};
pub(crate) use crate::tools::{APPROVE_TOOL, UPDATE_TOOL};
pub use crate::tools::{Hints, Offered, Question, Toolset};

/// The tools of a project.
#[derive(Clone)]
pub struct Surface {
    workspace: Arc<dyn Workspace>,
    tools: Arc<[&'static Tool]>,
    last_listing: Arc<LastListing>,
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
            tools: tools::chosen(
                profiles,
                Some(&Toolset::ALL.map(|set| set.word().to_owned())),
                false,
            )?
            .into_iter()
            .map(|tool| tool.offered(profiles))
            .collect(),
            templates: resources::TEMPLATES.to_vec(),
            prompts: prompts::prompts_for(profiles),
        })
    }
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
    /// Creates the surface of a project with the toolsets of its profiles, or with the named ones.
    ///
    /// # Errors
    /// When a named toolset does not exist.
    pub fn new(
        workspace: Arc<dyn Workspace>,
        toolsets: Option<&[String]>,
        read_only: bool,
    ) -> Result<Self, Failure> {
        let tools = tools::chosen(workspace.profiles(), toolsets, read_only)?.into();
        Ok(Self {
            workspace,
            tools,
            last_listing: Arc::default(),
        })
    }

    /// Returns the subsets a client can select by path: everything, one toolset, read-only tools,
    /// or both.
    #[must_use]
    pub fn parts(&self) -> Vec<(String, Self)> {
        // The parts share the listing, so that a client of `/mcp/core` profits from another's scan.
        let part = |fits: &dyn Fn(&Tool) -> bool| Self {
            workspace: self.workspace.clone(),
            tools: self
                .tools
                .iter()
                .copied()
                .filter(|tool| fits(tool))
                .collect(),
            last_listing: self.last_listing.clone(),
        };
        let mut parts = vec![
            (String::new(), self.clone()),
            ("/readonly".to_owned(), part(&|tool| tool.hints.read_only)),
        ];
        for set in Toolset::ALL
            .into_iter()
            .filter(|set| self.tools.iter().any(|tool| tool.set == *set))
        {
            parts.push((format!("/{}", set.word()), part(&|tool| tool.set == set)));
            parts.push((
                format!("/{}/readonly", set.word()),
                part(&|tool| tool.set == set && tool.hints.read_only),
            ));
        }
        parts
    }

    /// Returns the project.
    #[must_use]
    pub fn workspace(&self) -> &Arc<dyn Workspace> {
        &self.workspace
    }

    /// Returns the tools, in constant order.
    #[must_use]
    pub fn tools(&self) -> Vec<Offered> {
        self.tools
            .iter()
            .map(|tool| tool.offered(self.workspace.profiles()))
            .collect()
    }

    /// Whether a call takes microseconds, whatever the size of the project, and may block the
    /// thread.
    #[must_use]
    pub fn is_quick(&self, name: &str) -> bool {
        self.tools
            .iter()
            .any(|tool| tool.name == name && tool.is_quick())
    }

    /// Returns the scope a call needs; `None` for an unknown tool.
    #[must_use]
    pub fn required_scope(&self, name: &str, arguments: &Value) -> Option<Scope> {
        self.named(name).map(|tool| tool.required_scope(arguments))
    }

    fn named(&self, name: &str) -> Option<&'static Tool> {
        // Model APIs reject dots in names, but some tools were documented with one.
        let plain = name.replace('.', "_");
        self.tools.iter().copied().find(|tool| tool.name == plain)
    }

    /// Calls a tool.
    #[must_use]
    pub fn call(&self, actor: &Principal, name: &str, arguments: &Value) -> Called {
        let Some(tool) = self.named(name) else {
            let known = self.tools.iter().map(|tool| tool.name);
            // Models misremember tool names; the nearest one saves a round trip.
            let hint = domain::suggest::nearest_hint(name, known);
            return Called::Unknown(format!("there is no tool `{name}`{hint}"));
        };
        // Taken inside the use case's context: the store's warnings belong to this call only.
        let mut warnings = Vec::new();
        // The closure may run twice, after a write conflict; only the last warnings count.
        let outcome = self.run(actor, &mut |ctx| {
            let outcome = (tool.run)(ctx, arguments);
            warnings = ctx.store.take_warnings();
            outcome
        });
        match outcome {
            Ok(mut value) => {
                if let (false, Some(fields)) = (warnings.is_empty(), value.as_object_mut()) {
                    // Only if there are any: the member would cost tokens in every result.
                    fields.insert("warnings".to_owned(), json!(warnings));
                }
                self.translate_steps(&mut value);
                Called::Done(value)
            }
            Err(failure) => Called::Failed(self.failure_value(&failure)),
        }
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

    /// Records the answer of the person who was asked, bound to exactly that question.
    #[must_use]
    pub fn answer_shown(&self, question: &Question, answer: &Answer) -> Called {
        match self.run(&question.asked.asked, &mut |ctx| {
            tools::answer_shown(ctx, question, answer.clone())
        }) {
            Ok(mut value) => {
                self.translate_steps(&mut value);
                Called::Done(value)
            }
            Err(failure) => Called::Failed(self.failure_value(&failure)),
        }
    }

    /// Returns a failure as JSON, with next steps that a client of these tools can take.
    #[must_use]
    pub fn failure_value(&self, failure: &Failure) -> Value {
        render_failure(failure, &self.tools, self.workspace.profiles())
    }

    /// Translates the next steps of a result, wherever they are in it.
    fn translate_steps(&self, value: &mut Value) {
        let translate = |step: &mut Value| {
            if let Value::String(text) = step {
                *text = tools::render_step(text, &self.tools, self.workspace.profiles());
            }
        };
        match value {
            Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    match (name.as_str(), field) {
                        ("next_steps", Value::Array(steps)) => {
                            steps.iter_mut().for_each(translate);
                        }
                        ("next_step", step @ Value::String(_)) => translate(step),
                        (_, field) => self.translate_steps(field),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.translate_steps(item)),
            _ => {}
        }
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
        self.workspace.run_use_case(Channel::Mcp, actor, use_case)
    }
}

/// Returns a failure as JSON where no tools are known: commands are left to a person.
#[must_use]
pub fn failure_value(failure: &Failure) -> Value {
    render_failure(failure, &[], &[])
}

/// Returns a failure as JSON: kind, message, next steps.
fn render_failure(failure: &Failure, tools: &[&Tool], profiles: &[Profile]) -> Value {
    let steps = failure.next_steps.iter();
    let steps: Vec<String> = steps
        .map(|step| tools::render_step(step, tools, profiles))
        .collect();
    let mut value = json!({
        "error": {
            "kind": failure.kind.as_str(),
            "message": failure.message,
            "next_steps": steps,
        }
    });
    // The current state of what was refused saves the model a second call.
    if let Some(current) = &failure.current {
        value["current"] = current.as_ref().clone();
    }
    value
}
