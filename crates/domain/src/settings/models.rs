//! Settings of language models that a project may have: spending limits.
//!
//! Which model is called, and with which key, is not a project's setting: a cloned repository must not
//! choose it.

use serde::{Deserialize, Serialize};

use super::declaration::setting_table;

/// Settings of language models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    pub budget: ModelBudget,
}

setting_table! {
    /// Spending limits of model calls. A call whose worst case exceeds one of them is not made, and the run
    /// stops. 0 means no limit. The same table in a user's `llm.toml` (`[budget]`) holds as well.
    pub struct ModelBudget in [models.budget] {
        /// Maximum number of tokens of one call, prompt and answer together.
        call_tokens: u64 = 0, env ["THROUGHLINE_BUDGET_CALL_TOKENS"], rule refuse_higher_limit;

        /// Maximum cost of one call, in US cents. Needs a model with a known price.
        call_cents: u64 = 0, env ["THROUGHLINE_BUDGET_CALL_CENTS"], rule refuse_higher_limit;

        /// Maximum number of tokens of one command.
        run_tokens: u64 = 0, env ["THROUGHLINE_BUDGET_RUN_TOKENS"], rule refuse_higher_limit;

        /// Maximum cost of one command, in US cents.
        run_cents: u64 = 0, env ["THROUGHLINE_BUDGET_RUN_CENTS"], rule refuse_higher_limit;

        /// Maximum number of tokens of this project's calls in 24 hours.
        day_tokens: u64 = 0, env ["THROUGHLINE_BUDGET_DAY_TOKENS"], rule refuse_higher_limit;

        /// Maximum cost of this project's calls in 24 hours, in US cents.
        day_cents: u64 = 0, env ["THROUGHLINE_BUDGET_DAY_CENTS"], rule refuse_higher_limit;
    }
}

/// Refuses a higher limit, and none at all: the environment can only lower the project's.
fn refuse_higher_limit(current: &u64, wanted: u64) -> Result<u64, String> {
    match *current > 0 && (wanted == 0 || wanted > *current) {
        true => Err("the environment can only lower the project's limit".to_owned()),
        false => Ok(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::refuse_higher_limit;

    #[test]
    fn zero_is_no_limit_and_therefore_the_highest() {
        for (current, wanted, allowed) in [(0, 5, true), (5, 4, true), (5, 6, false), (5, 0, false)]
        {
            let result = refuse_higher_limit(&current, wanted);
            assert_eq!(result.is_ok(), allowed, "{current} to {wanted}");
        }
    }
}
