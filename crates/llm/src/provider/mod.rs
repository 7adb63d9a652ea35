//! Provider catalogue: endpoints, dialects, models, limits and prices as data (TOML).
//!
//! The built-in providers are in `built_in.toml` beside this file. A user's file has the same
//! format and is merged over it, field by field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::Table;

use crate::layers::limiter::LimiterSettings;
use crate::layers::retry::RetrySettings;
use crate::layers::timeouts::TimeoutSettings;
use crate::request::SchemaMode;

const BUILT_IN_TOML: &str = include_str!("built_in.toml");

/// All known providers, by name.
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
    /// Used as given: only the endpoint (`/chat/completions` …) is appended.
    pub base_url: Option<String>,
    /// Environment variables that may hold the key; the first one set wins. Empty: no key is
    /// needed.
    #[serde(default)]
    pub key_env: Vec<String>,
    /// Whether calls are allowed without a key; otherwise they are refused before anything is sent.
    #[serde(default)]
    pub key_optional: bool,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// Supported subset of JSON Schema; each dialect has a default.
    pub schema: Option<SchemaFlavour>,
    /// First mode to try for structured output.
    #[serde(default)]
    pub structured: SchemaMode,
    #[serde(default = "yes")]
    pub stream: bool,
    /// Name of the output limit in the request body; chat servers differ.
    #[serde(default = "max_tokens")]
    pub output_limit_field: String,
    pub default_model: Option<String>,
    /// Default price, for models without their own.
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
    /// Merged into every request body (RFC 7396): an escape hatch for servers with special needs.
    #[serde(default)]
    pub patch: BTreeMap<String, Value>,
    /// Fields removed from the body; TOML has no null with which the patch could do it.
    #[serde(default)]
    pub omit: Vec<String>,
}

/// One model of a provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    pub id: String,
    /// Context window in tokens, input and output together.
    pub context: Option<u64>,
    pub max_output: Option<u32>,
    pub price: Option<Price>,
    /// Overrides the provider's mode.
    pub structured: Option<SchemaMode>,
    #[serde(default)]
    pub patch: BTreeMap<String, Value>,
    #[serde(default)]
    pub omit: Vec<String>,
}

/// US dollars per million tokens.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
}

/// Wire protocol of a provider.
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
    /// A program started for each call.
    Command,
}

/// Subset of JSON Schema that a provider supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemaFlavour {
    /// All of it, including bounds: llama.cpp, vLLM and similar servers.
    Full,
    /// All properties required, none additional; optional ones are nullable.
    #[serde(rename = "openai-strict")]
    OpenAiStrict,
    /// No additional properties, no bounds.
    Anthropic,
    /// No references, no `oneOf`, no `const`.
    Gemini,
}

/// A command as a model. Placeholders in its arguments: `{model}`, `{max_output_tokens}`,
/// `{system}`, `{system_file}`, `{prompt_file}`, `{schema}`, `{schema_file}` and `{answer_file}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    pub program: String,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Appended for structured output in mode `native`.
    #[serde(default)]
    pub schema_arguments: Vec<String>,
    /// Whether the prompt is written to stdin; otherwise an argument must contain `{prompt_file}`.
    #[serde(default = "yes")]
    pub prompt_on_stdin: bool,
    /// Whether the system text is prepended to the prompt, for programs without an option for it.
    #[serde(default)]
    pub system_in_prompt: bool,
    /// Additional environment variables to pass on. A key variable belongs here only if calls shall
    /// be billed to that key: most programs prefer a key to the subscription they are logged into.
    #[serde(default)]
    pub keep_environment: Vec<String>,
    #[serde(default)]
    pub set_environment: BTreeMap<String, String>,
    #[serde(default)]
    pub output: OutputSpec,
}

/// How a program's output is parsed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSpec {
    #[serde(default)]
    pub format: OutputFormat,
    /// Location of the answer; the last match counts. Without it, the whole output is the answer.
    pub text: Option<Pick>,
    /// Location of structured output, if the program has a separate field for it.
    pub structured: Option<Pick>,
    /// Location of a failure's message.
    pub failed: Option<Pick>,
    /// Must be present for the call to count as complete.
    pub done: Option<Pick>,
    pub input_tokens: Option<Pick>,
    pub output_tokens: Option<Pick>,
    pub cache_read_tokens: Option<Pick>,
    pub cache_write_tokens: Option<Pick>,
    pub reasoning_tokens: Option<Pick>,
    /// Whether `input_tokens` excludes cached tokens.
    #[serde(default)]
    pub cache_apart: bool,
    pub cost_usd: Option<Pick>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    #[default]
    Text,
    /// One JSON object, possibly after other output.
    Json,
    /// One JSON object per line.
    Jsonl,
}

/// A location in a JSON object, with a condition on the object.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// A JSON pointer.
    pub at: String,
    /// JSON pointers and the values required there.
    #[serde(default)]
    pub when: BTreeMap<String, Value>,
}

/// Why a providers file was rejected.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("the providers file is not valid TOML: {0}")]
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
    /// Returns the built-in providers.
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
            .merge_toml(BUILT_IN_TOML)
            .expect("BUG: built_in.toml is read by a test")
    }

    /// Returns this catalogue with the providers in `text` merged over it.
    ///
    /// Only for the user's own file, never for one from a repository: it names programs to run and
    /// servers that receive keys.
    ///
    /// # Errors
    /// When the text is not TOML, or a provider in it is not valid.
    pub fn merge_toml(mut self, text: &str) -> Result<Self, CatalogueError> {
        // Merged as TOML tables, not as parsed specs, in which a missing field cannot be
        // distinguished from one with its default value.
        let newer: Table = toml::from_str(text)?;
        let names: Vec<String> = newer.keys().cloned().collect();
        merge_toml_tables(&mut self.table, newer);
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
            spec.check_consistency().map_err(problem)?;
            self.providers.insert(name, spec);
        }
        Ok(self)
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ProviderSpec> {
        self.providers.get(name)
    }

    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// Returns the known name most similar to `name`, for "did you mean".
    #[must_use]
    pub fn closest_provider_name(&self, name: &str) -> Option<&str> {
        self.provider_names()
            .map(|known| (strsim::jaro_winkler(name, known), known))
            // Below that, the suggestion is more confusing than helpful.
            .filter(|(likeness, _)| *likeness > 0.7)
            .max_by(|left, right| left.0.total_cmp(&right.0))
            .map(|(_, known)| known)
    }
}

impl ProviderSpec {
    /// Returns the spec of a model; an unlisted model is allowed, with everything unknown.
    #[must_use]
    pub fn model_spec(&self, id: &str) -> ModelSpec {
        let listed = self.models.iter().find(|model| model.id == id).cloned();
        let mut model = listed.unwrap_or_else(|| ModelSpec {
            id: id.to_owned(),
            ..ModelSpec::default()
        });
        // Resolved here, so that the layers see one spec and no fallback rules.
        model.price = model.price.or_else(|| self.price.clone());
        model.structured = Some(model.structured.unwrap_or(self.structured));
        model
    }

    /// Returns the subset of JSON Schema this provider supports.
    #[must_use]
    pub fn schema_flavour(&self) -> SchemaFlavour {
        self.schema.unwrap_or(match self.dialect {
            Dialect::OpenAiChat | Dialect::Command => SchemaFlavour::Full,
            Dialect::OpenAiResponses => SchemaFlavour::OpenAiStrict,
            Dialect::AnthropicMessages => SchemaFlavour::Anthropic,
            Dialect::Gemini => SchemaFlavour::Gemini,
        })
    }

    fn check_consistency(&self) -> Result<(), String> {
        // A negative price would let a budget grow with every call.
        let negative = |price: &Price| price.input < 0.0 || price.output < 0.0;
        if self
            .models
            .iter()
            .filter_map(|model| model.price.as_ref())
            .chain(&self.price)
            .any(negative)
        {
            return Err("a price is negative".to_owned());
        }
        match (self.dialect, &self.command) {
            (Dialect::Command, None) => {
                Err("the dialect is `command`, but there is no `command` table".to_owned())
            }
            (Dialect::Command, Some(command)) => {
                // Otherwise the program would never see the prompt and answer something else.
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

/// Merges `newer` over `older`: tables field by field, models by id, everything else is replaced.
fn merge_toml_tables(older: &mut Table, newer: Table) {
    for (key, value) in newer {
        match (older.get_mut(&key), value) {
            (Some(toml::Value::Table(older)), toml::Value::Table(newer)) => {
                merge_toml_tables(older, newer)
            }
            // A user's file that adds a price to one model must not remove the others.
            (Some(toml::Value::Array(older)), toml::Value::Array(newer)) if key == "models" => {
                for model in newer {
                    let id = model.get("id").cloned();
                    let same = older
                        .iter_mut()
                        .find(|known| id.is_some() && known.get("id").cloned() == id);
                    match (same, model) {
                        (Some(toml::Value::Table(known)), toml::Value::Table(model)) => {
                            merge_toml_tables(known, model)
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
