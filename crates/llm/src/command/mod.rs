//! Command as a model: `claude -p`, `codex exec`, or any other program described in the catalogue.
//!
//! It runs in an empty directory, so that an agent finds nothing to work on; with an allowlisted
//! environment, so that a stray key does not decide who pays; with a variable that disables this
//! product's hooks, so that they do not call themselves; and in its own process group, which is
//! killed as a whole. No shell is involved.

mod environment;
mod output;
mod process;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tempfile::TempDir;

pub use self::environment::RECURSION_GUARD;
use crate::error::{ErrorClass, LlmResult};
use crate::ledger::{Cost, attach_ledger_entry};
use crate::model::{Answer, Call, CallEvent, Model, ModelIdentity};
use crate::outcome::{Outcome, StopReason};
use crate::provider::{CommandSpec, ProviderSpec};
use crate::request::{Message, Request, Role, SchemaMode};

/// A program that is started for each request.
pub struct CommandModel {
    identity: ModelIdentity,
    spec: CommandSpec,
    environment: BTreeMap<String, String>,
}

impl CommandModel {
    /// Creates a model. Of the caller's `environment` only allowed variables are passed on.
    ///
    /// # Errors
    /// When the provider is not a command.
    pub fn new(
        provider: &str,
        spec: &ProviderSpec,
        model: &str,
        environment: &BTreeMap<String, String>,
    ) -> LlmResult<Self> {
        let command = spec.command.clone().ok_or_else(|| {
            ErrorClass::Setup.error(format!("provider `{provider}` is a server, not a program"))
        })?;
        if command.program.trim().is_empty() {
            return Err(ErrorClass::Setup
                .error(format!("no program is named for `{provider}`"))
                .with_first_step(
                    "name one that reads a prompt from its input and prints the answer",
                ));
        }
        let identity = ModelIdentity {
            provider: provider.to_owned(),
            model: spec.model_spec(model),
        };
        let environment =
            environment::filter_allowed_environment(environment, &command.keep_environment);
        Ok(Self {
            identity,
            spec: command,
            environment,
        })
    }

    fn run_program(&self, request: &Request, call: &Call<'_>) -> LlmResult<(Outcome, Cost)> {
        let desk = CallFiles::new(self, request).map_err(|error| {
            ErrorClass::Setup
                .error(format!(
                    "cannot create a directory for the program: {error}"
                ))
                .with_first_step("check the space and the permissions of the temporary directory")
        })?;
        let start = process::ProcessSpec {
            program: &self.spec.program,
            arguments: self.build_program_arguments(request, &desk),
            environment: self.build_program_environment(&desk),
            directory: &desk.empty,
            input: if self.spec.prompt_on_stdin {
                desk.prompt.clone()
            } else {
                String::new()
            },
        };
        let ended =
            process::run_process(&start, call.cancel, &|| call.emit_event(&CallEvent::Alive))?;
        let mut answer =
            output::parse_program_output(&self.spec.output, &ended, &self.spec.program)?;
        // The answer file wins over stdout, on which programs may also print progress.
        if let Some(text) = desk.read_answer_file() {
            answer.text = text;
        }
        if answer.text.trim().is_empty() {
            let what = format!("`{}` exited without an answer", self.spec.program);
            return Err(output::with_program_output(
                ErrorClass::Malformed.error(what),
                &ended,
            ));
        }
        call.emit_event(&CallEvent::Text(answer.text.clone()));
        let outcome = Outcome {
            text: answer.text,
            // Programs do not report why the model stopped.
            stop: StopReason::Unknown,
            usage: answer.usage,
            ..Outcome::default()
        };
        Ok((outcome, answer.cost))
    }

    fn build_program_arguments(&self, request: &Request, desk: &CallFiles) -> Vec<String> {
        // Only in native mode: in prompt mode the schema is in the prompt already.
        let native = request
            .schema
            .as_ref()
            .is_some_and(|schema| schema.mode == SchemaMode::Native);
        let shape = native.then_some(&self.spec.schema_arguments);
        self.spec
            .arguments
            .iter()
            .chain(shape.into_iter().flatten())
            .map(|argument| desk.fill_template(argument))
            .collect()
    }

    fn build_program_environment(&self, desk: &CallFiles) -> BTreeMap<String, String> {
        let mut variables = self.environment.clone();
        variables.extend(
            self.spec
                .set_environment
                .iter()
                .map(|(name, value)| (name.clone(), desk.fill_template(value))),
        );
        // Last, so that no setting can switch the guard off by accident.
        let (name, value) = RECURSION_GUARD;
        variables.insert(name.to_owned(), value.to_owned());
        variables
    }
}

impl Model for CommandModel {
    fn model_identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        let started = Instant::now();
        // A program's own cost report wins over tokens times price.
        let (answer, cost) = match self.run_program(request, call) {
            Ok((outcome, cost)) => (Ok(outcome), cost),
            Err(error) => (Err(error), Cost::Unknown),
        };
        attach_ledger_entry(request, &self.identity, started.elapsed(), cost, answer)
    }
}

/// Temporary files of one call: an empty working directory, and input files beside it. Deleted with
/// the call.
struct CallFiles {
    _directory: TempDir,
    empty: PathBuf,
    answer_file: PathBuf,
    prompt: String,
    words: Vec<(&'static str, String)>,
}

impl CallFiles {
    fn new(model: &CommandModel, request: &Request) -> std::io::Result<Self> {
        // One directory per call, so that concurrent calls of the same program do not meet.
        let directory = tempfile::Builder::new().prefix("llm-").tempdir()?;
        let (empty, files) = (
            // Input files are beside the working directory, not in it: an agent would treat them as
            // its project.
            directory.path().join("empty"),
            directory.path().join("files"),
        );
        std::fs::create_dir(&empty)?;
        std::fs::create_dir(&files)?;
        let file = |name: &str, text: &str| -> std::io::Result<String> {
            let path = files.join(name);
            std::io::Write::write_all(&mut std::fs::File::create(&path)?, text.as_bytes())?;
            Ok(path_text(&path))
        };
        let schema = request
            .schema
            .as_ref()
            .map_or_else(|| "{}".to_owned(), |schema| schema.schema.to_string());
        let prompt = render_prompt(request, model.spec.system_in_prompt);
        let answer_file = files.join("answer");
        let words = vec![
            ("{model}", model.identity.model.id.clone()),
            ("{max_output_tokens}", request.max_output_tokens.to_string()),
            ("{system}", request.system.clone()),
            // Files for long texts: the length of an argument is limited by the system.
            ("{system_file}", file("system.txt", &request.system)?),
            ("{prompt_file}", file("prompt.txt", &prompt)?),
            ("{schema_file}", file("schema.json", &schema)?),
            ("{schema}", schema),
            ("{answer_file}", path_text(&answer_file)),
        ];
        Ok(Self {
            _directory: directory,
            empty,
            answer_file,
            prompt,
            words,
        })
    }

    /// Replaces placeholders `{…}`. One pass: inserted text is not expanded again, so a prompt that
    /// contains `{system}` stays as it is.
    fn fill_template(&self, template: &str) -> String {
        let mut result = String::new();
        let mut rest = template;
        while let Some(start) = rest.find('{') {
            let (before, from) = rest.split_at_checked(start).unwrap_or((rest, ""));
            result.push_str(before);
            match self.words.iter().find(|(word, _)| from.starts_with(word)) {
                Some((word, meant)) => {
                    result.push_str(meant);
                    rest = from.get(word.len()..).unwrap_or_default();
                }
                None => {
                    result.push('{');
                    rest = from.get(1..).unwrap_or_default();
                }
            }
        }
        result + rest
    }

    /// Returns the content of the answer file, if the program wrote one.
    fn read_answer_file(&self) -> Option<String> {
        std::fs::read_to_string(&self.answer_file)
            .ok()
            .filter(|text| !text.trim().is_empty())
    }
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Renders the conversation as one text, because a program takes a single prompt.
fn render_prompt(request: &Request, with_system: bool) -> String {
    let mut parts = Vec::new();
    if with_system && !request.system.is_empty() {
        parts.push(request.system.clone());
    }
    match request.messages.as_slice() {
        [
            Message {
                role: Role::User,
                text,
            },
        ] => parts.push(text.clone()),
        // Only with several messages: labels around a single prompt would just distract the model.
        messages => parts.extend(messages.iter().map(|message| match message.role {
            Role::User => format!("User:\n{}", message.text),
            Role::Assistant => format!("You answered:\n{}", message.text),
        })),
    }
    parts.join("\n\n")
}
