//! What model calls cost, in words.

use domain::text::count_with_noun;

/// Renders a cost. Calls of unknown price are not free: they are named, and alone they have no sum.
pub(crate) fn render_cost(micros: u64, calls: usize, without_price: usize) -> String {
    let dollars = format!("${:.4}", micros as f64 / 1e6);
    let unknown = || {
        format!(
            "{} of unknown price",
            count_with_noun(without_price, "call", "calls")
        )
    };
    match without_price {
        0 => dollars,
        _ if micros == 0 && without_price >= calls => "unknown price".to_owned(),
        _ => format!("{dollars} and {}", unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::render_cost;

    #[test]
    fn an_unknown_price_is_not_zero() {
        for (micros, calls, without_price, expected) in [
            (0, 0, 0, "$0.0000"),
            (12_300, 2, 0, "$0.0123"),
            (0, 3, 3, "unknown price"),
            (12_300, 3, 1, "$0.0123 and 1 call of unknown price"),
        ] {
            assert_eq!(render_cost(micros, calls, without_price), expected);
        }
    }
}
