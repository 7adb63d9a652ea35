//! The tool `story_memory_edit`.

use application::memory::edit_memory::{EditMemoryRequest, EditTarget, edit_memory};
use application::{Context, Failure};
use domain::memory::EntryKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// id or name of an entry
    #[serde(default)]
    entry: Option<String>,
    /// kind of a new entry
    #[serde(default)]
    new: Option<String>,
    /// null removes one
    fields: Map<String, Value>,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let kind = |word: &str| {
        EntryKind::from_word(word).ok_or_else(|| {
            let kinds = EntryKind::ALL.map(|kind| kind.as_str()).join(", ");
            Failure::invalid(format!(
                "`{word}` is not a kind of entry: expected one of {kinds}"
            ))
        })
    };
    let target = match (arguments.entry, arguments.new) {
        (Some(entry), None) => EditTarget::Named(entry),
        (None, Some(word)) => EditTarget::New(kind(&word)?),
        _ => return Err(Failure::invalid("expected one of `entry` and `new`")),
    };
    let request = EditMemoryRequest {
        target,
        fields: arguments.fields,
    };
    AnyObject::new(&edit_memory(ctx, &request)?)
}
