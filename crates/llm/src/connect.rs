//! Builds the selected model with all its layers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::command::CommandModel;
use crate::error::{ErrorClass, LlmError, LlmResult};
use crate::layers::budget::{Allowance, Budget};
use crate::layers::cassette::{Cassette, CassetteMode};
use crate::layers::limiter::Limiter;
use crate::layers::retry::Retry;
use crate::layers::structured::{Structured, StructuredSettings};
use crate::layers::timeouts::{TimeoutSettings, Timeouts};
use crate::model::{Answer, Call, Model, ModelIdentity};
use crate::provider::{Catalogue, Dialect, ProviderSpec};
use crate::recording::scrub::{Masker, Scrubber};
use crate::recording::wire_tape::WireTape;
use crate::request::Request;
use crate::secret::Secret;
use crate::wire::WireModel;

/// Default total timeout of a command, which has no stream whose silence could be measured.
const COMMAND_TOTAL_TIMEOUT: Duration = Duration::from_secs(900);

/// The user's choice of provider and model.
#[derive(Clone, Debug, Default)]
pub struct ModelSelection {
    /// A name in the catalogue.
    pub provider: String,
    /// Defaults to the provider's default model.
    pub model: Option<String>,
    /// Overrides the provider's base URL.
    pub base_url: Option<String>,
    /// Overrides the program of a command provider, with its arguments.
    pub program: Vec<String>,
    /// From a key file or a variable of our own. Otherwise the provider's variables are looked up.
    pub key: Option<Secret>,
}

/// Everything the layers need besides the selection.
pub struct ConnectOptions {
    /// The process environment, read by the caller.
    pub environment: BTreeMap<String, String>,
    pub allowances: Vec<Arc<Mutex<Allowance>>>,
    pub cassette: Option<(PathBuf, CassetteMode)>,
    pub wire_tape: Option<WireTape>,
    pub structured: StructuredSettings,
    /// Masks secrets in recordings.
    pub mask: Masker,
    pub clock: Arc<dyn Clock>,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            environment: BTreeMap::new(),
            allowances: Vec::new(),
            cassette: None,
            wire_tape: None,
            structured: StructuredSettings::default(),
            mask: str::to_owned,
            clock: Arc::new(SystemClock),
        }
    }
}

/// Returns the selected model with its layers. Sends and starts nothing yet.
///
/// # Errors
/// When the provider is unknown, has no model or no base URL, or its required key is missing.
pub fn connect_model(
    catalogue: &Catalogue,
    selection: &ModelSelection,
    connection: ConnectOptions,
) -> LlmResult<Box<dyn Model>> {
    let name = &selection.provider;
    let mut spec = selected_provider_spec(catalogue, selection)?;
    if let (Some((program, arguments)), Some(command)) =
        (selection.program.split_first(), &mut spec.command)
    {
        command.program.clone_from(program);
        // Replaced, not appended: the catalogue's arguments belong to the other program.
        command.arguments = arguments.to_vec();
    }
    let model = selection
        .model
        .clone()
        .or_else(|| spec.default_model.clone())
        .ok_or_else(|| {
            ErrorClass::Setup
                .error(format!(
                    "no model is chosen for `{name}`, and it has no default"
                ))
                .with_first_step("name one of the models the server offers")
        })?;
    let ConnectOptions {
        environment,
        allowances,
        cassette,
        wire_tape,
        structured,
        mask,
        clock,
    } = connection;
    let key = selection
        .key
        .clone()
        .or_else(|| find_provider_key(&spec, &environment));
    // The key in use is removed from recordings by value, whatever its format.
    let scrubber = Scrubber::new(key.iter().cloned().collect(), mask);
    let offline = matches!(cassette, Some((_, CassetteMode::Replay)));
    let base: Box<dyn Model> = if offline {
        // A replay needs no key, network or program, so it must not fail for want of one.
        Box::new(ReplayOnly(ModelIdentity {
            provider: name.clone(),
            model: spec.model_spec(&model),
        }))
    } else if spec.dialect == Dialect::Command {
        Box::new(CommandModel::new(name, &spec, &model, &environment)?)
    } else {
        let replays = wire_tape.as_ref().is_some_and(WireTape::is_replaying);
        if key.is_none() && !replays && !spec.key_env.is_empty() && !spec.key_optional {
            let variables = spec.key_env.join("` or `");
            return Err(ErrorClass::Auth
                .error(format!("no API key for `{name}`"))
                .with_first_step(format!("set `{variables}`, or name a key file")));
        }
        Box::new(WireModel::new(
            name,
            &spec,
            &model,
            key,
            wire_tape,
            clock.clone(),
        )?)
    };
    // The order matters: a retry takes a new slot of the limiter, a replay takes none, and repeated
    // requests for a better answer are checked against the budget one by one.
    let limited = Limiter::new(
        Timeouts::new(base, effective_timeouts(&spec)),
        &spec.limits,
        clock.clone(),
    );
    let patient: Box<dyn Model> = Box::new(Retry::new(limited, spec.retry.clone(), clock.clone()));
    // A replay costs nothing, so no budget may refuse it.
    let allowances = if offline { Vec::new() } else { allowances };
    let recorded: Box<dyn Model> = match cassette {
        Some((path, mode)) => Box::new(Cassette::new(patient, &path, mode, scrubber, clock)?),
        None => patient,
    };
    Ok(Box::new(Structured::new(
        Budget::new(recorded, allowances),
        structured,
    )))
}

/// Returns the selected provider's spec, with the selection's base URL.
pub(crate) fn selected_provider_spec(
    catalogue: &Catalogue,
    selection: &ModelSelection,
) -> LlmResult<ProviderSpec> {
    let name = &selection.provider;
    let mut spec = catalogue
        .get(name)
        .cloned()
        .ok_or_else(|| unknown_provider_error(catalogue, name))?;
    if let Some(base_url) = &selection.base_url {
        spec.base_url = Some(base_url.clone());
    }
    Ok(spec)
}

fn unknown_provider_error(catalogue: &Catalogue, name: &str) -> Box<LlmError> {
    let known = catalogue.provider_names().collect::<Vec<_>>().join("`, `");
    let error = ErrorClass::Setup.error(format!("unknown provider `{name}`; known are `{known}`"));
    match catalogue.closest_provider_name(name) {
        Some(like) => error.with_first_step(format!("did you mean `{like}`?")),
        None => error.with_first_step("choose one of them, or describe yours in a providers file"),
    }
}

pub(crate) fn find_provider_key(
    spec: &ProviderSpec,
    environment: &BTreeMap<String, String>,
) -> Option<Secret> {
    spec.key_env
        .iter()
        .filter_map(|name| environment.get(name))
        .find_map(|text| Secret::new(text))
}

fn effective_timeouts(spec: &ProviderSpec) -> TimeoutSettings {
    if spec.dialect != Dialect::Command {
        return spec.timeouts.clone();
    }
    // Most programs print nothing until they are done, so only the total timeout applies.
    let total = spec.timeouts.total.unwrap_or(COMMAND_TOTAL_TIMEOUT);
    TimeoutSettings {
        first_byte: total,
        idle: total,
        total: Some(total),
        ..spec.timeouts.clone()
    }
}

/// Placeholder below a replaying cassette; never called.
struct ReplayOnly(ModelIdentity);

impl Model for ReplayOnly {
    fn model_identity(&self) -> &ModelIdentity {
        &self.0
    }

    fn complete_request(&self, _: &Request, _: &Call<'_>) -> Answer {
        Err(ErrorClass::Setup.error("a replayed recording has no model behind it"))
    }
}
