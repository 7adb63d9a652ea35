//! Model selection and calls: provider, model and key come from the environment or the user's
//! `llm.toml`, never from the project.
//!
//! Only commands that call a model use this; hooks never do.

use std::collections::BTreeMap;
use std::path::PathBuf;

use application::Failure;
use domain::context_budget::PromptSection;
use domain::ports::Clock;
use domain::settings::ModelBudget;
use domain::tick::ModelSpending;
use domain::tick::context::estimate_tokens;
use llm::{
    Call, CallEvent, CancelToken, CassetteMode, Catalogue, ConnectOptions, ErrorClass, LedgerEntry,
    LlmError, Message, Model, ModelSelection, Request, Scrubber, Secret, WireTape,
};
use serde::Deserialize;
use serde_json::Value;
use store::SystemClock;

use crate::model_budget::load_allowances;
use crate::progress::Progress;
use crate::settings::{all_environment_variables, environment_variable};
use crate::wiring::App;

/// The planner: an LLM, or the built-in offline rules.
pub(crate) enum Planner {
    /// Built-in rules, without a model.
    Offline,
    Model {
        model: Box<dyn Model>,
        cancel: CancelToken,
    },
}

/// The user's configuration, `llm.toml` in the user's configuration directory.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UserModelConfig {
    provider: Option<String>,
    model: Option<String>,
    base_url: Option<String>,
    key_file: Option<PathBuf>,
    /// For the provider `command`: the program and its arguments.
    command: Vec<String>,
    providers: toml::Table,
    /// The user's own spending limits, in every project.
    pub(crate) budget: Option<ModelBudget>,
    pub(crate) embeddings: Option<EmbeddingConfig>,
}

/// The embedding model, `[embeddings]` in the same file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EmbeddingConfig {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) key_file: Option<PathBuf>,
}

/// One request to the model.
pub(crate) struct ModelRequest<'a> {
    pub(crate) purpose: &'a str,
    /// The tick or generation its cost is charged to.
    pub(crate) account: &'a str,
    pub(crate) system: &'a str,
    pub(crate) messages: Vec<Message>,
    pub(crate) schema: Option<&'a Value>,
    pub(crate) max_output_tokens: u32,
}

/// A response with its cost.
pub(crate) struct ModelResponse {
    pub(crate) text: String,
    pub(crate) json: Option<Value>,
    pub(crate) is_cut: bool,
    pub(crate) spent: Vec<ModelSpending>,
}

/// A failed request with the cost of its attempts.
pub(crate) struct ModelFailure {
    pub(crate) failure: Failure,
    pub(crate) class: ErrorClass,
    pub(crate) spent: Vec<ModelSpending>,
}

impl ModelFailure {
    /// Whether the user cancelled the call.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.class == ErrorClass::Cancelled
    }

    /// Returns the reason why an answer was unusable; `None` if the provider, the account or the request
    /// failed, which no other answer can fix.
    pub(crate) fn answer_problem(&self) -> Option<String> {
        match self.class {
            // The provider's own words are not repeated: the reason goes into the next prompt.
            ErrorClass::ContentFilter => {
                Some("the provider's content filter withheld the answer".to_owned())
            }
            class => class
                .is_about_answer()
                .then(|| self.failure.message.clone()),
        }
    }

    /// Returns the failure that stops a run: nothing was recorded as an attempt, and `resume` goes on.
    pub(crate) fn into_stop(self, unchanged: &str, resume: &str) -> Failure {
        if self.is_cancelled() {
            return Failure::unavailable(format!("cancelled; {unchanged}")).with_step(resume);
        }
        let mut failure = self.failure;
        failure.message = format!("{}; {unchanged}", failure.message);
        if self.class == ErrorClass::ContextTooLong {
            failure = failure.with_step(
                "lower `policy.generation.context_tokens` (`tl config set policy.generation.context_tokens 4000`)",
            );
        }
        failure.with_step(resume)
    }
}

impl Planner {
    /// Resolves provider, model and key, with the spending limits of this project and user. Sends nothing
    /// yet.
    pub(crate) fn from_configuration(app: &App) -> Result<Self, Failure> {
        Self::with_run_budget(app, None)
    }

    /// As [`Self::from_configuration`], with a limit of this run in cents.
    pub(crate) fn with_run_budget(app: &App, run_cents: Option<u64>) -> Result<Self, Failure> {
        let choice = load_user_config()?;
        let provider = environment_variable("THROUGHLINE_LLM_PROVIDER").or(choice.provider.clone());
        // No default provider: a call costs money and sends the story to a third party, so it needs
        // an explicit choice.
        let Some(provider) = provider.filter(|name| name != domain::tick::offline::PLANNER_NAME)
        else {
            return Ok(Self::Offline);
        };
        let catalogue = provider_catalogue(&choice)?;
        // The key itself cannot be in llm.toml, only the path of a file with it: configuration
        // files get committed to dotfile repositories. Without both, the provider's usual variable
        // is used.
        let key = match (
            environment_variable("THROUGHLINE_LLM_API_KEY"),
            &choice.key_file,
        ) {
            (Some(key), _) => Secret::new(&key),
            (None, Some(file)) => {
                Some(Secret::from_file(file).map_err(|error| invalid_input(error.to_string()))?)
            }
            (None, None) => None,
        };
        // Split at blanks, without a shell: quoting rules would differ between systems. Arguments
        // with blanks go into llm.toml, where the command is a list.
        let program = environment_variable("THROUGHLINE_LLM_COMMAND");
        let selection = ModelSelection {
            provider,
            model: environment_variable("THROUGHLINE_LLM_MODEL").or(choice.model),
            base_url: environment_variable("THROUGHLINE_LLM_BASE_URL").or(choice.base_url),
            program: program.map_or(choice.command, |line| {
                line.split_whitespace().map(str::to_owned).collect()
            }),
            key,
        };
        // Passed in, because the `llm` crate does not read the environment; the provider `command`
        // hands it on to its program.
        let environment = all_environment_variables();
        let wire_tape = open_wire_tape(&environment, selection.key.as_ref())?;
        let connection = ConnectOptions {
            environment,
            allowances: load_allowances(app, run_cents)?,
            cassette: cassette_from_environment()?,
            wire_tape,
            mask: mask_secrets,
            ..ConnectOptions::default()
        };
        let model = llm::connect_model(&catalogue, &selection, connection)
            .map_err(|error| model_failure(&error))?;
        Ok(Self::Model {
            model,
            cancel: CancelToken::on_ctrl_c(),
        })
    }

    /// Returns the name that plans and scenes are signed with.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Offline => domain::tick::offline::PLANNER_NAME.to_owned(),
            Self::Model { model, .. } => {
                let identity = model.model_identity();
                format!("{}/{}", identity.provider, identity.model.id)
            }
        }
    }

    /// Runs the conformance trials against the model.
    pub(crate) fn run_trials(&self) -> Vec<llm::ModelCheck> {
        match self {
            Self::Offline => Vec::new(),
            Self::Model { model, cancel } => {
                llm::check_model(&**model, &Call::without_listener(cancel))
            }
        }
    }
}

/// Returns the token limit for a second attempt at a prompt that the model's context cannot hold: half of
/// what was sent.
pub(crate) fn halve_context(progress: &Progress, prompt: &str, schema: Option<&Value>) -> usize {
    let schema_tokens = schema.map_or(0, |schema| estimate_tokens(&schema.to_string()));
    let tokens = (estimate_tokens(prompt) + schema_tokens) / 2;
    progress.print_message(&format!(
        "the prompt is too long for this model; asking once more with about {tokens} tokens of context \
         (`policy.generation.context_tokens` sets it for good)"
    ));
    tokens
}

/// Prints the sizes of a prompt's sections, and what did not fit.
pub(crate) fn print_sections(app: &App, sections: &[PromptSection]) {
    if sections.is_empty() || app.ui.json {
        return;
    }
    app.ui
        .print_message("sections of the prompt, in order of importance:");
    for section in sections {
        let left_out = if section.left_out > 0 {
            format!(", {} left out", section.left_out)
        } else {
            String::new()
        };
        app.ui.print_message(format_args!(
            "  {:>6} tokens  {}{left_out}",
            section.tokens, section.name
        ));
    }
}

/// Sends a request and shows its progress.
pub(crate) fn send_model_request(
    model: &dyn Model,
    cancel: &CancelToken,
    progress: &Progress,
    question: ModelRequest<'_>,
) -> Result<ModelResponse, ModelFailure> {
    let request = Request {
        messages: question.messages,
        account: Some(question.account.to_owned()),
        ..Request::text_request(
            question.purpose,
            question.system,
            "",
            question.max_output_tokens,
        )
    };
    let request = match question.schema {
        Some(schema) => request.with_schema(question.purpose, schema.clone()),
        None => request,
    };
    // Retries are shown: a rate limit can take minutes, and silence looks like a hang.
    let watch = |event: &CallEvent| match event {
        CallEvent::Retrying {
            attempt,
            of,
            wait,
            why,
            ..
        } => {
            progress.print_message(&format!(
                "try {attempt} of {of} in {} s: {why}",
                wait.as_secs()
            ));
        }
        CallEvent::AskingAgain { attempt, of, why } => {
            progress.print_message(&format!("asking again ({attempt} of {of}): {why}"));
        }
        // Prose is streamed to the terminal; JSON is shown once it is validated.
        CallEvent::Text(piece) if question.schema.is_none() => progress.stream_text(piece),
        CallEvent::Restarted if question.schema.is_none() => progress.stream_text("\n(again)\n"),
        CallEvent::Text(_) | CallEvent::Alive | CallEvent::Restarted => {}
    };
    let answer = model.complete_request(
        &request,
        &Call {
            cancel,
            watch: &watch,
            interactive: false,
        },
    );
    if question.schema.is_none() {
        progress.stream_text("\n");
    }
    match answer {
        Ok(outcome) => Ok(ModelResponse {
            is_cut: outcome.stop == llm::StopReason::Length,
            text: outcome.text,
            json: outcome.json,
            spent: outcome.ledger.iter().map(spending_of).collect(),
        }),
        // A failed request can still have cost tokens (a truncated or invalid answer), so its
        // ledger is kept as well.
        Err(error) => Err(ModelFailure {
            class: error.class,
            failure: model_failure(&error),
            spent: error.ledger.iter().map(spending_of).collect(),
        }),
    }
}

/// Converts a ledger entry of the client into the domain's spending.
fn spending_of(entry: &LedgerEntry) -> ModelSpending {
    // The class's serialised name, which is stable; the debug form is only a fallback.
    let word = |value: Result<Value, _>| {
        value
            .ok()
            .and_then(|value: Value| value.as_str().map(str::to_owned))
    };
    let error: Option<String> = entry
        .error
        .and_then(|class| word(serde_json::to_value(class)).or(Some(format!("{class:?}"))));
    ModelSpending {
        at: SystemClock.now(),
        account: entry.account.clone().unwrap_or_default(),
        purpose: entry.purpose.clone(),
        provider: entry.provider.clone(),
        model: entry.model.clone(),
        input_tokens: entry.usage.input,
        output_tokens: entry.usage.output,
        // A replayed answer has token counts, but nothing was paid for it.
        cost_micros: if entry.replayed {
            Some(0)
        } else {
            entry.cost.as_micros()
        },
        latency_ms: entry.latency_ms,
        error,
        details: Value::Null,
    }
}

/// Converts a model error into a failure. Its text may quote the request, so secrets are masked.
pub(crate) fn model_failure(error: &LlmError) -> Failure {
    let failure = Failure::unavailable(mask_secrets(&error.what));
    error
        .next
        .iter()
        .fold(failure, |failure, step| failure.with_step(step.clone()))
}

pub(crate) fn invalid_input(message: String) -> Failure {
    Failure::invalid(message)
}

/// Returns the user's configuration directory. Not the project's: a cloned repository must not
/// choose which model is called at the user's cost.
pub(crate) fn user_config_directory() -> Option<PathBuf> {
    let below = |name: &str, rest: &str| {
        environment_variable(name).map(|directory| PathBuf::from(directory).join(rest))
    };
    environment_variable("THROUGHLINE_HOME")
        .map(PathBuf::from)
        // Configuration, unlike trust, follows XDG_CONFIG_HOME: it is meant to be edited and shared
        // between machines.
        .or_else(|| below("XDG_CONFIG_HOME", "throughline"))
        .or_else(|| below("HOME", ".config/throughline"))
        .filter(|directory| directory.is_absolute())
}

/// Parses the user's `llm.toml`; a missing file means defaults.
pub(crate) fn load_user_config() -> Result<UserModelConfig, Failure> {
    let Some(path) = user_config_directory().map(|directory| directory.join("llm.toml")) else {
        return Ok(UserModelConfig::default());
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text)
            .map_err(|error| invalid_input(format!("`{}`: {}", path.display(), error.message()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(UserModelConfig::default())
        }
        Err(error) => Err(invalid_input(format!(
            "cannot read `{}`: {error}",
            path.display()
        ))),
    }
}

/// Returns the built-in provider catalogue with the user's own providers added.
pub(crate) fn provider_catalogue(choice: &UserModelConfig) -> Result<Catalogue, Failure> {
    // Back to text, because the catalogue has one parser with its own error messages.
    let text =
        toml::to_string(&choice.providers).map_err(|error| invalid_input(error.to_string()))?;
    Catalogue::built_in()
        .merge_toml(&text)
        .map_err(|error| invalid_input(error.to_string()))
}

fn mask_secrets(text: &str) -> String {
    domain::secrets::mask_secrets(text).into_owned()
}

/// Opens the wire tape, a recording of the raw HTTP traffic with its chunks.
fn open_wire_tape(
    environment: &BTreeMap<String, String>,
    key: Option<&Secret>,
) -> Result<Option<WireTape>, Failure> {
    let Some(path) =
        crate::settings::environment_variable("THROUGHLINE_LLM_WIRE_TAPE").map(PathBuf::from)
    else {
        return Ok(None);
    };
    // Tapes are committed as test fixtures, so every value that may be a credential is scrubbed,
    // not only the key in use.
    let is_secret = |name: &str| {
        ["KEY", "TOKEN", "SECRET", "PASSWORD"]
            .iter()
            .any(|word| name.contains(word))
    };
    let secrets = environment
        .iter()
        .filter(|(name, _)| is_secret(name))
        .filter_map(|(_, value)| Secret::new(value));
    let scrubber = Scrubber::new(secrets.chain(key.cloned()).collect(), mask_secrets);
    match crate::settings::environment_variable("THROUGHLINE_LLM_WIRE_TAPE_MODE").as_deref() {
        None | Some("replay") => WireTape::open_replay(&path, scrubber)
            .map(Some)
            .map_err(|error| model_failure(&error)),
        Some("record") => Ok(Some(WireTape::open_recording(&path, scrubber))),
        Some(other) => {
            let name = "THROUGHLINE_LLM_WIRE_TAPE_MODE";
            Err(invalid_input(format!(
                "{name} is `{other}`: expected `replay` or `record`"
            )))
        }
    }
}

/// Opens the cassette, a recording of responses that is replayed at no cost.
fn cassette_from_environment() -> Result<Option<(PathBuf, CassetteMode)>, Failure> {
    let Some(path) = environment_variable("THROUGHLINE_LLM_CASSETTE") else {
        return Ok(None);
    };
    let mode = match environment_variable("THROUGHLINE_LLM_CASSETTE_MODE").as_deref() {
        // Replay is the default: forgetting the mode must not cost money.
        None | Some("replay") => CassetteMode::Replay,
        Some("record") => CassetteMode::Record,
        Some("replay-or-record") => CassetteMode::ReplayOrRecord,
        Some(other) => {
            return Err(invalid_input(format!(
                "THROUGHLINE_LLM_CASSETTE_MODE is `{other}`: expected `replay`, `record` or `replay-or-record`"
            )));
        }
    };
    Ok(Some((PathBuf::from(path), mode)))
}
