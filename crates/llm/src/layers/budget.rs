//! Budget layer: refuses a call whose worst case exceeds what is left, before it is made.
//!
//! Spending is counted from the ledger of each answer, including failed attempts. Nothing is
//! guessed: with a limit in money and a model without a price, no call is made.

use std::sync::{Arc, Mutex};

use crate::error::{ErrorClass, LlmError, LlmResult};
use crate::ledger::{Cost, LedgerEntry};
use crate::model::{Answer, Call, Model, ModelIdentity};
use crate::outcome::TokenUsage;
use crate::request::Request;

/// A spending limit for a call, a run or a day. The caller sets what was spent before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// What it is for (`run`, `day` …), for messages.
    pub name: String,
    /// The limit holds for each call by itself: what a call spends is not taken from the next one.
    pub per_call: bool,
    pub tokens: Option<u64>,
    pub micros: Option<u64>,
    /// How the user raises the limit of tokens and that of money, as a next step; empty if it is not known.
    pub raise_tokens: String,
    pub raise_money: String,
    pub spent_tokens: u64,
    pub spent_micros: u64,
    /// Number of attempts with unknown tokens or cost: the sums are lower bounds if it is not zero.
    pub uncounted: u64,
}

/// The layer. Allowances may be shared between several layers.
pub struct Budget<M> {
    inner: M,
    allowances: Vec<Arc<Mutex<Allowance>>>,
}

impl<M: Model> Budget<M> {
    pub fn new(inner: M, allowances: Vec<Arc<Mutex<Allowance>>>) -> Self {
        Self { inner, allowances }
    }

    /// Fails if the call could exceed one of the allowances.
    fn check_allowances(&self, request: &Request) -> LlmResult<()> {
        // The full output limit: the real length is known only when it is paid for.
        let worst = TokenUsage {
            input: Some(request.estimated_input_tokens()),
            output: Some(u64::from(request.max_output_tokens)),
            ..TokenUsage::default()
        };
        let identity = self.model_identity();
        // At the full price: whether the provider's cache will help is not known before the call.
        let cost = Cost::from_usage(&worst, identity.model.price.as_ref()).as_micros();
        for allowance in &self.allowances {
            let allowance = allowance
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let Allowance {
                name,
                tokens,
                micros,
                raise_tokens,
                raise_money,
                spent_tokens,
                spent_micros,
                ..
            } = &*allowance;
            // Both counts are set above, so the default is never used; it would refuse.
            let needs = worst.total_tokens().unwrap_or(u64::MAX);
            if let Some(tokens) =
                tokens.filter(|tokens| spent_tokens.saturating_add(needs) > *tokens)
            {
                let what = format!(
                    "the call may need {needs} tokens; {} of {tokens} are left for this {name}",
                    tokens.saturating_sub(*spent_tokens)
                );
                return Err(budget_error(what, raise_tokens));
            }
            // No limit in money: an unknown price does not matter.
            let Some(micros) = *micros else { continue };
            let Some(cost) = cost else {
                let model = &identity.model.id;
                let what = format!(
                    "`{model}` has no price, so a budget in money for this {name} cannot be enforced"
                );
                return Err(ErrorClass::BudgetExceeded
                    .error(what)
                    .with_first_step(format!(
                        "set a `price` for `{model}` of `{}`, or limit tokens instead",
                        identity.provider
                    )));
            };
            if spent_micros.saturating_add(cost) > micros {
                let what = format!(
                    "the call may cost ${}; ${} of ${} are left for this {name}",
                    format_dollars(cost),
                    format_dollars(micros.saturating_sub(*spent_micros)),
                    format_dollars(micros)
                );
                return Err(budget_error(what, raise_money));
            }
        }
        Ok(())
    }

    /// Adds the attempts of an answer to all allowances; replayed ones cost nothing.
    fn record_spending(&self, ledger: &[LedgerEntry]) {
        for allowance in &self.allowances {
            let mut allowance = allowance
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if allowance.per_call {
                continue;
            }
            // A mixed run (`ReplayOrRecord`) has both kinds of entries.
            for entry in ledger.iter().filter(|entry| !entry.replayed) {
                let (tokens, micros) = (entry.usage.total_tokens(), entry.cost.as_micros());
                allowance.spent_tokens = allowance.spent_tokens.saturating_add(tokens.unwrap_or(0));
                allowance.spent_micros = allowance.spent_micros.saturating_add(micros.unwrap_or(0));
                allowance.uncounted += u64::from(tokens.is_none() || micros.is_none());
            }
        }
    }
}

impl<M: Model> Model for Budget<M> {
    fn model_identity(&self) -> &ModelIdentity {
        self.inner.model_identity()
    }

    fn complete_request(&self, request: &Request, call: &Call<'_>) -> Answer {
        self.check_allowances(request)?;
        let answer = self.inner.complete_request(request, call);
        self.record_spending(match &answer {
            Ok(outcome) => &outcome.ledger,
            Err(error) => &error.ledger,
        });
        answer
    }
}

fn budget_error(what: String, raise: &str) -> Box<LlmError> {
    let error = ErrorClass::BudgetExceeded.error(what);
    match raise {
        "" => error,
        raise => error.with_first_step(raise),
    }
}

/// Formats micro-dollars as dollars, without trailing zeros.
fn format_dollars(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::fakes::{ScriptedModel, answer_with, failed_answer};
    use super::*;
    use crate::cancel::CancelToken;

    fn allowance(tokens: Option<u64>, micros: Option<u64>) -> Arc<Mutex<Allowance>> {
        Arc::new(Mutex::new(Allowance {
            name: "run".to_owned(),
            tokens,
            micros,
            raise_tokens: "raise `run_tokens`".to_owned(),
            ..Allowance::default()
        }))
    }

    fn ask(layer: &impl Model) -> Answer {
        // 30 bytes are estimated as 10 tokens; with 100 out the worst case is 110 tokens and 1,010
        // micro-dollars.
        layer.complete_request(
            &Request::text_request("t", "", &"x".repeat(30), 100),
            &Call::without_listener(&CancelToken::new()),
        )
    }

    #[test]
    fn spending_is_counted_and_the_next_call_refused() {
        let run = allowance(Some(220), None);
        let layer = Budget::new(
            ScriptedModel::new([answer_with("one"), answer_with("two")]),
            vec![run.clone()],
        );
        ask(&layer).unwrap();
        ask(&layer).unwrap();
        let error = ask(&layer).unwrap_err();
        assert_eq!(error.class, ErrorClass::BudgetExceeded);
        assert_eq!(
            error.what,
            "the call may need 110 tokens; 0 of 220 are left for this run"
        );
        // Defect: "raise the budget" did not say where.
        assert_eq!(
            error.next.first().map(String::as_str),
            Some("raise `run_tokens`")
        );
        let run = run.lock().unwrap().clone();
        // 100 in and 10 out each, at 1 and 10 dollars a million.
        assert_eq!(
            (run.spent_tokens, run.spent_micros, run.uncounted),
            (220, 400, 0)
        );
    }

    #[test]
    fn money_is_kept_too_and_all_allowances_count() {
        let (day, run) = (allowance(None, None), allowance(None, Some(1_000)));
        // An empty script: any call that got through would panic.
        let layer = Budget::new(ScriptedModel::new([]), vec![day, run]);
        assert_eq!(
            ask(&layer).unwrap_err().what,
            "the call may cost $0.00101; $0.001 of $0.001 are left for this run"
        );
    }

    #[test]
    fn without_a_price_money_is_not_guessed() {
        let layer = Budget::new(
            ScriptedModel::new([]).without_price(),
            vec![allowance(None, Some(1_000_000_000))],
        );
        let error = ask(&layer).unwrap_err();
        assert_eq!(
            error.what,
            "`fake-1` has no price, so a budget in money for this run cannot be enforced"
        );
        assert!(
            error
                .next
                .first()
                .unwrap()
                .starts_with("set a `price` for `fake-1` of `fake`")
        );

        let run = allowance(Some(1_000), None);
        let layer = Budget::new(
            ScriptedModel::new([answer_with("ok")]).without_price(),
            vec![run.clone()],
        );
        ask(&layer).unwrap();
        assert_eq!(run.lock().unwrap().uncounted, 1);
    }

    #[test]
    fn a_limit_per_call_does_not_add_up() {
        let call = allowance(Some(110), None);
        call.lock().unwrap().per_call = true;
        let layer = Budget::new(
            ScriptedModel::new([answer_with("one"), answer_with("two")]),
            vec![call],
        );
        ask(&layer).unwrap();
        ask(&layer).unwrap();
        let large = Request::text_request("t", "", &"x".repeat(30), 101);
        let call = CancelToken::new();
        assert_eq!(
            layer
                .complete_request(&large, &Call::without_listener(&call))
                .unwrap_err()
                .class,
            ErrorClass::BudgetExceeded
        );
    }

    #[test]
    fn failed_attempts_count_as_well() {
        let run = allowance(Some(1_000), None);
        let layer = Budget::new(
            ScriptedModel::new([failed_answer(ErrorClass::Server)]),
            vec![run.clone()],
        );
        ask(&layer).unwrap_err();
        assert_eq!(run.lock().unwrap().uncounted, 1);
    }
}
