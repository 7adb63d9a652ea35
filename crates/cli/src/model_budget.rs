//! Spending limits of model calls: from the project's `[models.budget]` and the user's `llm.toml`.
//!
//! Both hold, so neither a cloned repository nor a careless user can raise the other's limit. A day is
//! the last 24 hours: a calendar day would let a run at midnight spend twice.

use std::sync::{Arc, Mutex};

use application::Failure;
use application::tick::spending::spent_since;
use domain::settings::ModelBudget;
use domain::time::Timestamp;
use llm::Allowance;

use crate::model::load_user_config;
use crate::wiring::App;

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;
/// A cent in micro-dollars.
const CENT_MICROS: u64 = 10_000;

/// The limits of a command's model calls.
pub(crate) type Allowances = Vec<Arc<Mutex<Allowance>>>;

/// Returns the limits that hold in this project, with what was spent before. `run_cents` is a further
/// limit for this run alone.
pub(crate) fn load_allowances(app: &App, run_cents: Option<u64>) -> Result<Allowances, Failure> {
    let user = load_user_config()?.budget;
    // Outside of a project the user's own limits still hold; nothing was spent there.
    let Ok(project) = app.find_project() else {
        return Ok(user
            .iter()
            .flat_map(|budget| limits_of(budget, LimitSource::User, (0, 0)))
            .collect());
    };
    let run = run_cents.map(|run_cents| ModelBudget {
        run_cents,
        ..ModelBudget::default()
    });
    let budgets: Vec<(ModelBudget, LimitSource)> = [
        (Some(project.settings.models.budget), LimitSource::Project),
        (user, LimitSource::User),
        (run, LimitSource::Option),
    ]
    .into_iter()
    .filter_map(|(budget, source)| Some((budget?, source)))
    .collect();
    let is_daily = budgets
        .iter()
        .any(|(budget, _)| budget.day_tokens > 0 || budget.day_cents > 0);
    // The ledger of a long project has thousands of calls; it is only summed if a limit needs it.
    let spent = if is_daily {
        app.run(|ctx| {
            let since = Timestamp::from_millis(ctx.clock.now().as_millis() - DAY_MILLIS);
            spent_since(ctx, since)
        })?
    } else {
        (0, 0)
    };
    Ok(budgets
        .iter()
        .flat_map(|(budget, source)| limits_of(budget, *source, spent))
        .collect())
}

/// Where a limit is set.
#[derive(Clone, Copy)]
enum LimitSource {
    Project,
    User,
    /// `--budget` of the command.
    Option,
}

impl LimitSource {
    /// Returns the next step that raises a limit: `run` and `cents` are `run_cents`.
    fn raise_step(self, name: &str, unit: &str) -> String {
        match self {
            Self::Project => {
                format!("raise `models.budget.{name}_{unit}` in .throughline/config.toml")
            }
            Self::User => format!("raise `budget.{name}_{unit}` in your llm.toml"),
            Self::Option => "raise `--budget`".to_owned(),
        }
    }
}

fn limits_of(budget: &ModelBudget, source: LimitSource, spent_today: (u64, u64)) -> Allowances {
    // Zero is "no limit" in the settings, not "nothing may be spent".
    let limit = |value: u64| (value > 0).then_some(value);
    let allowance = |name: &str, tokens, cents: u64| Allowance {
        name: name.to_owned(),
        tokens: limit(tokens),
        micros: limit(cents).map(|cents| cents.saturating_mul(CENT_MICROS)),
        raise_tokens: source.raise_step(name, "tokens"),
        raise_money: source.raise_step(name, "cents"),
        ..Allowance::default()
    };
    let call = Allowance {
        per_call: true,
        ..allowance("call", budget.call_tokens, budget.call_cents)
    };
    let run = allowance("run", budget.run_tokens, budget.run_cents);
    let day = Allowance {
        spent_tokens: spent_today.0,
        spent_micros: spent_today.1,
        ..allowance("day", budget.day_tokens, budget.day_cents)
    };
    [call, run, day]
        .into_iter()
        .filter(|it| it.tokens.is_some() || it.micros.is_some())
        .map(|it| Arc::new(Mutex::new(it)))
        .collect()
}
