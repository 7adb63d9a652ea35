//! Client for language models: one [`Model`] trait, provider dialects over HTTP, commands as
//! models, and middleware layers (retry, rate limit, budget, timeouts, recording, structured
//! output).
//!
//! A caller builds a [`Request`], gets a [`Model`] from [`connect_model`] and calls [`Model::complete`].
//! The call is synchronous, like every use case; the async runtime that HTTP needs lives inside one
//! call and ends with it. This crate does not know what is asked or why: no stories, no nodes, no
//! store. It reads no environment and prints nothing; keys, variables and the key file are passed
//! in.
//!
//! Layers, outermost first: `structured` → `budget` → `cassette` → `retry` → `limiter` → `timeouts`
//! → a wire dialect or a command. Each is a [`Model`] around a [`Model`].

mod cancel;
mod check;
mod clock;
mod command;
mod connect;
mod embed;
mod error;
mod layers;
mod ledger;
mod model;
mod outcome;
mod provider;
mod recording;
mod request;
mod secret;
mod structured;
mod wire;

pub use cancel::{CancelToken, Cancelled};
pub use check::{ModelCheck, check_model};
pub use clock::{Clock, SystemClock};
pub use command::{CommandModel, RECURSION_GUARD};
pub use connect::{ConnectOptions, ModelSelection, connect_model};
pub use embed::Embedder;
pub use error::{ErrorClass, LlmError, RetryPolicy, TimeoutPhase};
pub use layers::budget::{Allowance, Budget};
pub use layers::cassette::{Cassette, CassetteMode};
pub use layers::limiter::{Limiter, LimiterSettings};
pub use layers::retry::{Retry, RetrySettings};
pub use layers::structured::{Structured, StructuredSettings};
pub use layers::timeouts::{TimeoutSettings, Timeouts};
pub use ledger::{Cost, LedgerEntry};
pub use model::{Answer, Call, CallEvent, Model, ModelIdentity};
pub use outcome::{Outcome, StopReason, TokenUsage};
pub use provider::{
    Catalogue, CatalogueError, CommandSpec, Dialect, ModelSpec, Price, ProviderSpec, SchemaFlavour,
};
pub use recording::scrub::{Masker, Scrubber};
pub use recording::wire_tape::WireTape;
pub use request::{Message, Request, Role, Schema, SchemaMode};
pub use secret::{KeyFileError, Secret};
pub use structured::{AnswerReading, CheckedValue, SchemaFinding, Validator, read_answer};
pub use wire::WireModel;
