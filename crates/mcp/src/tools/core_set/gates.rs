//! The tool `work_gates`.

use application::where_am_i::{GateView, where_if_focused};
use application::{Context, Failure};
use domain::gates::GATES;
use domain::policy::GateMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// only this one
    #[serde(default)]
    gate: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Gates {
    gates: Vec<GateLine>,
    /// What would block the next edit of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks_now: Option<GateView>,
}

#[derive(Serialize, JsonSchema)]
struct GateLine {
    gate: &'static str,
    #[schemars(with = "String")]
    mode: GateMode,
    asks: &'static str,
}

pub(super) fn run(ctx: &Context<'_>, Arguments { gate }: Arguments) -> Result<Gates, Failure> {
    let wanted = |name: &str| gate.as_ref().is_none_or(|gate| gate == name);
    let gates: Vec<GateLine> = GATES
        .iter()
        .filter(|one| wanted(one.name))
        .map(|one| GateLine {
            gate: one.name,
            mode: one.mode(ctx.policy),
            asks: one.text,
        })
        .collect();
    if let Some(gate) = gate.filter(|_| gates.is_empty()) {
        let hint = domain::suggest::nearest_hint(&gate, GATES.iter().map(|one| one.name));
        return Err(Failure::not_found(format!(
            "there is no gate `{gate}`{hint}"
        )));
    }
    Ok(Gates {
        gates,
        blocks_now: where_if_focused(ctx)?.and_then(|place| place.gate),
    })
}
