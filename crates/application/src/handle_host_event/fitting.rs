//! Fits the messages of one event into what its host passes on: each whole, or with the next event.
//!
//! A text with a plan in it is composed to fit by itself. Joined with other messages it would be cut at
//! its end, where the way to the rest is.

use domain::host_event::Host;

/// Between two messages.
const SEPARATOR: &str = "\n\n";

/// Messages that fit, and those that wait for the next event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FittedMessages {
    pub(super) told: Vec<String>,
    pub(super) left: Vec<String>,
}

/// Selects the messages of an answer: the one that was asked for, if there is one, then the others in
/// order as far as there is room. What is told keeps its order.
pub(super) fn fit_messages(
    host: Host,
    messages: Vec<String>,
    asked_for: Option<usize>,
) -> FittedMessages {
    let mut room = host.max_context_size();
    let mut fits = vec![false; messages.len()];
    let others = (0..messages.len()).filter(|index| Some(*index) != asked_for);
    for index in asked_for.into_iter().chain(others) {
        let Some(message) = messages.get(index) else {
            continue;
        };
        let is_first = !fits.contains(&true);
        let size = host.context_size(message) + host.context_size(SEPARATOR);
        // The first one is told whatever its size: it would fit no better alone.
        if is_first || size <= room {
            room = room.saturating_sub(size);
            fits[index] = true;
        }
    }
    let (told, left): (Vec<_>, Vec<_>) =
        messages.into_iter().zip(fits).partition(|(_, fits)| *fits);
    let texts = |list: Vec<(String, bool)>| list.into_iter().map(|(text, _)| text).collect();
    FittedMessages {
        told: texts(told),
        left: texts(left),
    }
}

#[cfg(test)]
mod tests {
    use domain::host_event::Host;

    use super::fit_messages;

    fn fit(sizes: &[usize], asked_for: Option<usize>) -> (Vec<usize>, Vec<usize>) {
        let messages = sizes.iter().map(|size| "x".repeat(*size)).collect();
        let fitted = fit_messages(Host::ClaudeCode, messages, asked_for);
        let sizes = |texts: Vec<String>| texts.iter().map(String::len).collect();
        (sizes(fitted.told), sizes(fitted.left))
    }

    #[test]
    fn what_was_asked_for_comes_before_what_else_is_new() {
        let cap = Host::ClaudeCode.max_context_size();
        assert_eq!(fit(&[], None), (vec![], vec![]));
        assert_eq!(fit(&[10, 20], Some(1)), (vec![10, 20], vec![]));
        assert_eq!(
            fit(&[900, cap - 100], Some(1)),
            (vec![cap - 100], vec![900])
        );
        // A shorter one may still fit.
        assert_eq!(
            fit(&[900, cap - 100, 10], Some(1)),
            (vec![cap - 100, 10], vec![900])
        );
        assert_eq!(fit(&[cap + 1, 10], None), (vec![cap + 1], vec![10]));
    }
}
