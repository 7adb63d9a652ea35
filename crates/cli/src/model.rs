//! Model selection and calls: provider, model and key come from the environment or the user's
//! `llm.toml`, never from the project.
//!
//! Only commands that call a model use this; hooks never do.

use std::collections::BTreeMap;
use std::path::PathBuf;

use application::{Failure, FailureKind};
use domain::ports::Clock;
use domain::tick::Spending;
use llm::{
    Call, Cancel, CassetteMode, Catalogue, Connection, Event, LedgerEntry, LlmError, Message,
    Model, Request, Scrubber, Secret, Selection, WireTape,
};
use serde::Deserialize;
use serde_json::Value;
use store::SystemClock;

use crate::progress::Progress;
use crate::settings::{environment, whole_environment};

/// The planner: an LLM, or the built-in offline rules.
pub(crate) enum Mind {
    /// Built-in rules, without a model.
    Offline,
    Model {
        model: Box<dyn Model>,
        cancel: Cancel,
    },
}

/// The user's configuration, `llm.toml` in the user's configuration directory.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UserChoice {
    provider: Option<String>,
    model: Option<String>,
    base_url: Option<String>,
    key_file: Option<PathBuf>,
    /// For the provider `command`: the program and its arguments.
    command: Vec<String>,
    providers: toml::Table,
    pub(crate) embeddings: Option<EmbeddingChoice>,
}

/// The embedding model, `[embeddings]` in the same file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EmbeddingChoice {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) key_file: Option<PathBuf>,
}

/// One request to the model.
pub(crate) struct Question<'a> {
    pub(crate) purpose: &'a str,
    /// The tick or generation its cost is charged to.
    pub(crate) account: &'a str,
    pub(crate) system: &'a str,
    pub(crate) messages: Vec<Message>,
    pub(crate) schema: Option<&'a Value>,
    pub(crate) max_output_tokens: u32,
}

/// A response with its cost.
pub(crate) struct Answered {
    pub(crate) text: String,
    pub(crate) json: Option<Value>,
    pub(crate) is_cut: bool,
    pub(crate) spent: Vec<Spending>,
}

/// A failed request with the cost of its attempts.
pub(crate) struct Unanswered {
    pub(crate) failure: Failure,
    pub(crate) cancelled: bool,
    pub(crate) spent: Vec<Spending>,
}

impl Mind {
    /// Resolves provider, model and key. Sends nothing yet.
    pub(crate) fn chosen() -> Result<Self, Failure> {
        let choice = user_choice()?;
        let provider = environment("THROUGHLINE_LLM_PROVIDER").or(choice.provider.clone());
        // No default provider: a call costs money and sends the story to a third party, so it needs
        // an explicit choice.
        let Some(provider) = provider.filter(|name| name != domain::tick::offline::NAME) else {
            return Ok(Self::Offline);
        };
        let catalogue = catalogue(&choice)?;
        // The key itself cannot be in llm.toml, only the path of a file with it: configuration
        // files get committed to dotfile repositories. Without both, the provider's usual variable
        // is used.
        let key = match (environment("THROUGHLINE_LLM_API_KEY"), &choice.key_file) {
            (Some(key), _) => Secret::new(&key),
            (None, Some(file)) => {
                Some(Secret::from_file(file).map_err(|error| invalid(error.to_string()))?)
            }
            (None, None) => None,
        };
        // Split at blanks, without a shell: quoting rules would differ between systems. Arguments
        // with blanks go into llm.toml, where the command is a list.
        let program = environment("THROUGHLINE_LLM_COMMAND");
        let selection = Selection {
            provider,
            model: environment("THROUGHLINE_LLM_MODEL").or(choice.model),
            base_url: environment("THROUGHLINE_LLM_BASE_URL").or(choice.base_url),
            program: program.map_or(choice.command, |line| {
                line.split_whitespace().map(str::to_owned).collect()
            }),
            key,
        };
        // Passed in, because the `llm` crate does not read the environment; the provider `command`
        // hands it on to its program.
        let environment = whole_environment();
        let wire_tape = wire_tape(&environment, selection.key.as_ref())?;
        let connection = Connection {
            environment,
            cassette: cassette()?,
            wire_tape,
            mask: mask_secrets,
            ..Connection::default()
        };
        let model =
            llm::connect(&catalogue, &selection, connection).map_err(|error| failure(&error))?;
        Ok(Self::Model {
            model,
            cancel: Cancel::on_ctrl_c(),
        })
    }

    /// Returns the name that plans and scenes are signed with.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Offline => domain::tick::offline::NAME.to_owned(),
            Self::Model { model, .. } => {
                let identity = model.identity();
                format!("{}/{}", identity.provider, identity.model.id)
            }
        }
    }

    /// Runs the conformance trials against the model.
    pub(crate) fn check(&self) -> Vec<llm::Trial> {
        match self {
            Self::Offline => Vec::new(),
            Self::Model { model, cancel } => llm::check(&**model, &Call::unwatched(cancel)),
        }
    }
}

/// Sends a request and shows its progress.
pub(crate) fn ask(
    model: &dyn Model,
    cancel: &Cancel,
    progress: &Progress,
    question: Question<'_>,
) -> Result<Answered, Unanswered> {
    let request = Request {
        messages: question.messages,
        account: Some(question.account.to_owned()),
        ..Request::text(
            question.purpose,
            question.system,
            "",
            question.max_output_tokens,
        )
    };
    let request = match question.schema {
        Some(schema) => request.shaped(question.purpose, schema.clone()),
        None => request,
    };
    // Retries are shown: a rate limit can take minutes, and silence looks like a hang.
    let watch = |event: &Event| match event {
        Event::Retrying {
            attempt,
            of,
            wait,
            why,
            ..
        } => {
            progress.say(&format!(
                "try {attempt} of {of} in {} s: {why}",
                wait.as_secs()
            ));
        }
        Event::AskingAgain { attempt, of, why } => {
            progress.say(&format!("asking again ({attempt} of {of}): {why}"));
        }
        // Prose is streamed to the terminal; JSON is shown once it is validated.
        Event::Text(piece) if question.schema.is_none() => progress.stream(piece),
        Event::Restarted if question.schema.is_none() => progress.stream("\n(again)\n"),
        Event::Text(_) | Event::Alive | Event::Restarted => {}
    };
    let answer = model.complete(
        &request,
        &Call {
            cancel,
            watch: &watch,
            interactive: false,
        },
    );
    if question.schema.is_none() {
        progress.stream("\n");
    }
    match answer {
        Ok(outcome) => Ok(Answered {
            is_cut: outcome.stop == llm::Stop::Length,
            text: outcome.text,
            json: outcome.json,
            spent: outcome.ledger.iter().map(spending).collect(),
        }),
        // A failed request can still have cost tokens (a truncated or invalid answer), so its
        // ledger is kept as well.
        Err(error) => Err(Unanswered {
            cancelled: error.class == llm::Class::Cancelled,
            failure: failure(&error),
            spent: error.ledger.iter().map(spending).collect(),
        }),
    }
}

/// Converts a ledger entry of the client into the domain's spending.
fn spending(entry: &LedgerEntry) -> Spending {
    // The class's serialised name, which is stable; the debug form is only a fallback.
    let word = |value: Result<Value, _>| {
        value
            .ok()
            .and_then(|value: Value| value.as_str().map(str::to_owned))
    };
    let error: Option<String> = entry
        .error
        .and_then(|class| word(serde_json::to_value(class)).or(Some(format!("{class:?}"))));
    Spending {
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
            entry.cost.micros()
        },
        latency_ms: entry.latency_ms,
        error,
        details: Value::Null,
    }
}

/// Converts a model error into a failure. Its text may quote the request, so secrets are masked.
pub(crate) fn failure(error: &LlmError) -> Failure {
    let failure = Failure::new(FailureKind::Unavailable, mask_secrets(&error.what));
    error
        .next
        .iter()
        .fold(failure, |failure, step| failure.step(step.clone()))
}

pub(crate) fn invalid(message: String) -> Failure {
    Failure::new(FailureKind::Invalid, message)
}

/// Returns the user's configuration directory. Not the project's: a cloned repository must not
/// choose which model is called at the user's cost.
pub(crate) fn configuration_directory() -> Option<PathBuf> {
    let below = |name: &str, rest: &str| {
        environment(name).map(|directory| PathBuf::from(directory).join(rest))
    };
    environment("THROUGHLINE_HOME")
        .map(PathBuf::from)
        // Configuration, unlike trust, follows XDG_CONFIG_HOME: it is meant to be edited and shared
        // between machines.
        .or_else(|| below("XDG_CONFIG_HOME", "throughline"))
        .or_else(|| below("HOME", ".config/throughline"))
        .filter(|directory| directory.is_absolute())
}

/// Parses the user's `llm.toml`; a missing file means defaults.
pub(crate) fn user_choice() -> Result<UserChoice, Failure> {
    let Some(path) = configuration_directory().map(|directory| directory.join("llm.toml")) else {
        return Ok(UserChoice::default());
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text)
            .map_err(|error| invalid(format!("`{}`: {}", path.display(), error.message()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(UserChoice::default()),
        Err(error) => Err(invalid(format!(
            "cannot read `{}`: {error}",
            path.display()
        ))),
    }
}

/// Returns the built-in provider catalogue with the user's own providers added.
pub(crate) fn catalogue(choice: &UserChoice) -> Result<Catalogue, Failure> {
    // Back to text, because the catalogue has one parser with its own error messages.
    let text = toml::to_string(&choice.providers).map_err(|error| invalid(error.to_string()))?;
    Catalogue::built_in()
        .with(&text)
        .map_err(|error| invalid(error.to_string()))
}

fn mask_secrets(text: &str) -> String {
    domain::secrets::mask(text).into_owned()
}

/// Opens the wire tape, a recording of the raw HTTP traffic with its chunks.
fn wire_tape(
    environment: &BTreeMap<String, String>,
    key: Option<&Secret>,
) -> Result<Option<WireTape>, Failure> {
    let Some(path) = crate::settings::environment("THROUGHLINE_LLM_WIRE_TAPE").map(PathBuf::from)
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
    match crate::settings::environment("THROUGHLINE_LLM_WIRE_TAPE_MODE").as_deref() {
        None | Some("replay") => WireTape::replay(&path, scrubber)
            .map(Some)
            .map_err(|error| failure(&error)),
        Some("record") => Ok(Some(WireTape::record(&path, scrubber))),
        Some(other) => {
            let name = "THROUGHLINE_LLM_WIRE_TAPE_MODE";
            Err(invalid(format!(
                "{name} is `{other}`: expected `replay` or `record`"
            )))
        }
    }
}

/// Opens the cassette, a recording of responses that is replayed at no cost.
fn cassette() -> Result<Option<(PathBuf, CassetteMode)>, Failure> {
    let Some(path) = environment("THROUGHLINE_LLM_CASSETTE") else {
        return Ok(None);
    };
    let mode = match environment("THROUGHLINE_LLM_CASSETTE_MODE").as_deref() {
        // Replay is the default: forgetting the mode must not cost money.
        None | Some("replay") => CassetteMode::Replay,
        Some("record") => CassetteMode::Record,
        Some("replay-or-record") => CassetteMode::ReplayOrRecord,
        Some(other) => {
            return Err(invalid(format!(
                "THROUGHLINE_LLM_CASSETTE_MODE is `{other}`: expected `replay`, `record` or `replay-or-record`"
            )));
        }
    };
    Ok(Some((PathBuf::from(path), mode)))
}
