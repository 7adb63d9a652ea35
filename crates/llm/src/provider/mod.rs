//! Providers are data: where they are, how they speak, what their models hold and cost.
//!
//! The built-in ones are `built_in.toml` beside this file. A user's file has the same form; what it says about a provider
//! of the same name replaces that part only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::Table;

use crate::layers::limiter::LimiterSettings;
use crate::layers::retry::RetrySettings;
use crate::layers::timeouts::TimeoutSettings;
use crate::request::SchemaMode;

const BUILT_IN: &str = include_str!("built_in.toml");

/// All providers that are known, by name.
#[derive(Clone, Debug)]
pub struct Catalogue {
    table: Table,
    providers: BTreeMap<String, ProviderSpec>,
}

/// One provider.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderSpec {
    pub dialect: Dialect,
    /// Used as given: only the name of the endpoint (`/chat/completions` …) is put behind it.
    pub base_url: Option<String>,
    /// Variables that may hold the key, first found wins. Empty: the provider needs none.
    #[serde(default)]
    pub key_env: Vec<String>,
    /// Whether a call without a key is refused before it is made.
    #[serde(default)]
    pub key_optional: bool,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// Which part of JSON Schema it takes; each dialect has a usual one.
    pub schema: Option<SchemaFlavour>,
    /// The first rung of the ladder for structured answers.
    #[serde(default)]
    pub structured: SchemaMode,
    #[serde(default = "yes")]
    pub stream: bool,
    /// What chat servers call the limit of the answer.
    #[serde(default = "max_tokens")]
    pub output_limit_field: String,
    pub default_model: Option<String>,
    /// For models that have no price of their own.
    pub price: Option<Price>,
    #[serde(default)]
    pub timeouts: TimeoutSettings,
    #[serde(default)]
    pub retry: RetrySettings,
    #[serde(default)]
    pub limits: LimiterSettings,
    #[serde(default)]
    pub models: Vec<ModelSpec>,
    /// For the dialect `command`.
    pub command: Option<CommandSpec>,
    /// Merged into every request body (RFC 7396): the way out when a server wants something unforeseen.
    #[serde(default)]
    pub patch: BTreeMap<String, Value>,
    /// Fields of the body that are left out. TOML has no null for the patch to say it with.
    #[serde(default)]
    pub omit: Vec<String>,
}

/// One model of a provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    pub id: String,
    /// Tokens that fit, question and answer together.
    pub context: Option<u64>,
    pub max_output: Option<u32>,
    pub price: Option<Price>,
    /// When it differs from the provider's.
    pub structured: Option<SchemaMode>,
    #[serde(default)]
    pub patch: BTreeMap<String, Value>,
    #[serde(default)]
    pub omit: Vec<String>,
}

/// US dollars for a million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
}

/// How a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Chat completions: OpenAI and nearly every other server.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    AnthropicMessages,
    Gemini,
    /// A program that is started for each call.
    Command,
}

/// Which part of JSON Schema a provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemaFlavour {
    /// All of it, bounds included: llama.cpp, vLLM and their kin.
    Full,
    /// Every property required, nothing additional; optional ones may be null.
    #[serde(rename = "openai-strict")]
    OpenAiStrict,
    /// Nothing additional, no bounds.
    Anthropic,
    /// No references, no `oneOf`, no `const`.
    Gemini,
}

/// A program as a model. In its arguments `{model}`, `{max_output_tokens}`, `{system}`, `{system_file}`, `{prompt_file}`,
/// `{schema}`, `{schema_file}` and `{answer_file}` stand for what they say.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    pub program: String,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Added when an answer of a shape is wanted in the `native` way.
    #[serde(default)]
    pub schema_arguments: Vec<String>,
    /// Whether the prompt is written to the program's input; otherwise an argument must name `{prompt_file}`.
    #[serde(default = "yes")]
    pub prompt_on_stdin: bool,
    /// Whether the system text goes before the prompt, for programs that have no place for it.
    #[serde(default)]
    pub system_in_prompt: bool,
    /// Variables the program gets besides the harmless ones. A key variable belongs here only if calls shall be charged
    /// to that key: most programs prefer a key they find to the subscription they are logged into.
    #[serde(default)]
    pub keep_environment: Vec<String>,
    #[serde(default)]
    pub set_environment: BTreeMap<String, String>,
    #[serde(default)]
    pub output: OutputSpec,
}

/// How a program's output is read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSpec {
    #[serde(default)]
    pub format: OutputFormat,
    /// Where the answer is; the last match counts. Without it, the text is the answer.
    pub text: Option<Pick>,
    /// Where an answer of a shape is, when the program has a place of its own for it.
    pub structured: Option<Pick>,
    /// Where it says that it failed, and why.
    pub failed: Option<Pick>,
    /// What must have been said for the call to count as done.
    pub done: Option<Pick>,
    pub input_tokens: Option<Pick>,
    pub output_tokens: Option<Pick>,
    pub cache_read_tokens: Option<Pick>,
    pub cache_write_tokens: Option<Pick>,
    pub reasoning_tokens: Option<Pick>,
    /// Whether `input_tokens` leaves out what went through the cache.
    #[serde(default)]
    pub cache_apart: bool,
    pub cost_usd: Option<Pick>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    #[default]
    Text,
    /// One JSON object, perhaps with noise before it.
    Json,
    /// One JSON object a line.
    Jsonl,
}

/// A place in a JSON object, and when to look there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// A JSON pointer.
    pub at: String,
    /// Pointers and what they must hold.
    #[serde(default)]
    pub when: BTreeMap<String, Value>,
}

/// Why a file of providers was not taken.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("the providers' file is no TOML: {0}")]
    Syntax(#[from] toml::de::Error),
    #[error("provider `{provider}`: {problem}")]
    Provider { provider: String, problem: String },
}

fn yes() -> bool {
    true
}

fn max_tokens() -> String {
    "max_tokens".to_owned()
}

impl Catalogue {
    /// Returns the providers that are shipped.
    ///
    /// # Panics
    /// Never: a test reads the file.
    #[must_use]
    pub fn built_in() -> Self {
        let empty = Self {
            table: Table::new(),
            providers: BTreeMap::new(),
        };
        empty
            .with(BUILT_IN)
            .expect("BUG: built_in.toml is read by a test")
    }

    /// Returns these providers with what `text` says about them over it.
    ///
    /// Only for a file of the person who pays: it names programs that are run and servers that are sent keys. A file that
    /// came with a repository is not one.
    ///
    /// # Errors
    /// When the text is no TOML, or a provider in it cannot be understood.
    pub fn with(mut self, text: &str) -> Result<Self, CatalogueError> {
        let newer: Table = toml::from_str(text)?;
        let names: Vec<String> = newer.keys().cloned().collect();
        merge(&mut self.table, newer);
        for name in names {
            let problem = |problem: String| CatalogueError::Provider {
                provider: name.clone(),
                problem,
            };
            let value = self
                .table
                .get(&name)
                .cloned()
                .expect("BUG: it was merged just now");
            let spec: ProviderSpec = value
                .try_into()
                .map_err(|error: toml::de::Error| problem(error.message().to_owned()))?;
            spec.check().map_err(problem)?;
            self.providers.insert(name, spec);
        }
        Ok(self)
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ProviderSpec> {
        self.providers.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// Returns the known name that is most like `name`.
    #[must_use]
    pub fn like(&self, name: &str) -> Option<&str> {
        self.names()
            .map(|known| (strsim::jaro_winkler(name, known), known))
            .filter(|(likeness, _)| *likeness > 0.7)
            .max_by(|left, right| left.0.total_cmp(&right.0))
            .map(|(_, known)| known)
    }
}

impl ProviderSpec {
    /// Returns what is known about a model; one that is not listed is no error, only unknown.
    #[must_use]
    pub fn model(&self, id: &str) -> ModelSpec {
        let listed = self.models.iter().find(|model| model.id == id).cloned();
        let mut model = listed.unwrap_or_else(|| ModelSpec {
            id: id.to_owned(),
            ..ModelSpec::default()
        });
        model.price = model.price.or_else(|| self.price.clone());
        model.structured = Some(model.structured.unwrap_or(self.structured));
        model
    }

    /// Returns the part of JSON Schema this provider takes.
    #[must_use]
    pub fn schema_flavour(&self) -> SchemaFlavour {
        self.schema.unwrap_or(match self.dialect {
            Dialect::OpenAiChat | Dialect::Command => SchemaFlavour::Full,
            Dialect::OpenAiResponses => SchemaFlavour::OpenAiStrict,
            Dialect::AnthropicMessages => SchemaFlavour::Anthropic,
            Dialect::Gemini => SchemaFlavour::Gemini,
        })
    }

    fn check(&self) -> Result<(), String> {
        let negative = |price: &Price| price.input < 0.0 || price.output < 0.0;
        if self
            .models
            .iter()
            .filter_map(|model| model.price.as_ref())
            .chain(&self.price)
            .any(negative)
        {
            return Err("a price is below zero".to_owned());
        }
        match (self.dialect, &self.command) {
            (Dialect::Command, None) => {
                Err("the dialect is `command`, but there is no `command` table".to_owned())
            }
            (Dialect::Command, Some(command)) => {
                let names_prompt = command
                    .arguments
                    .iter()
                    .any(|argument| argument.contains("{prompt_file}"));
                if command.prompt_on_stdin || names_prompt {
                    Ok(())
                } else {
                    Err(
                        "with `prompt_on_stdin = false` an argument must name `{prompt_file}`"
                            .to_owned(),
                    )
                }
            }
            (_, Some(_)) => Err("a `command` table belongs to the dialect `command`".to_owned()),
            (_, None) => Ok(()),
        }
    }
}

/// Puts `newer` over `older`: tables are merged, models by their id, everything else is replaced.
fn merge(older: &mut Table, newer: Table) {
    for (key, value) in newer {
        match (older.get_mut(&key), value) {
            (Some(toml::Value::Table(older)), toml::Value::Table(newer)) => merge(older, newer),
            (Some(toml::Value::Array(older)), toml::Value::Array(newer)) if key == "models" => {
                for model in newer {
                    let id = model.get("id").cloned();
                    let same = older
                        .iter_mut()
                        .find(|known| id.is_some() && known.get("id").cloned() == id);
                    match (same, model) {
                        (Some(toml::Value::Table(known)), toml::Value::Table(model)) => {
                            merge(known, model)
                        }
                        (_, model) => older.push(model),
                    }
                }
            }
            (_, value) => {
                older.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
