//! Retry-After parser: the wait a provider asks for, in headers or in the error body.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::transport::Headers;

/// Returns the wait named in a rejected request's response; headers first, as they are more
/// precise.
pub(crate) fn requested_wait(headers: &Headers, body: &str, now: SystemTime) -> Option<Duration> {
    wait_in_headers(headers, now).or_else(|| wait_in_body(body))
}

fn wait_in_headers(headers: &Headers, now: SystemTime) -> Option<Duration> {
    // OpenAI's header in milliseconds, more precise than the standard one beside it.
    if let Some(wait) = headers
        .get("retry-after-ms")
        .and_then(|text| text.trim().parse::<f64>().ok())
    {
        return Duration::try_from_secs_f64(wait / 1_000.0).ok();
    }
    let text = headers.get("retry-after")?.trim();
    // The standard allows whole seconds or a date; fractions occur in practice.
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(text).ok()?;
    // Relative to the server's own clock if it sends a date: ours may be wrong.
    let now = headers
        .get("date")
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .unwrap_or(now);
    // A date in the past means that the wait is over.
    Some(until.duration_since(now).unwrap_or_default())
}

/// Finds the wait in an error's body, or in an error event of a stream, which has no headers.
pub(crate) fn wait_in_body(body: &str) -> Option<Duration> {
    if let Ok(value) = serde_json::from_str::<Value>(body)
        && let Some(wait) = wait_in_json(&value)
    {
        return Some(wait);
    }
    let lower = body.to_lowercase();
    // Last resort: some providers name the wait only in the message for people.
    ["try again in ", "retry in ", "retry after "]
        .iter()
        .find_map(|words| {
            lower
                .split_once(words)
                .and_then(|(_, rest)| parse_spelled_wait(rest))
        })
}

/// Finds `retry_after_seconds`, `retry_after` or Google's `retryDelay` at any depth.
fn wait_in_json(value: &Value) -> Option<Duration> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, value)| match key.as_str() {
            "retry_after_seconds" | "retry_after" | "retryDelay" => match value {
                Value::Number(seconds) => Duration::try_from_secs_f64(seconds.as_f64()?).ok(),
                Value::String(text) => parse_spelled_wait(text),
                _ => None,
            },
            _ => wait_in_json(value),
        }),
        Value::Array(items) => items.iter().find_map(wait_in_json),
        _ => None,
    }
}

/// Parses `11.054s`, `28ms`, `1m2.5s` or `20 seconds` at the start of a text; a bare number is
/// seconds.
fn parse_spelled_wait(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total = None;
    loop {
        let end = rest
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(rest.len());
        let Some((number, after)) = rest.split_at_checked(end) else {
            break;
        };
        // A full stop may end the sentence right after the number.
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let after = after.trim_start();
        let unit_end = after
            .find(|letter: char| !letter.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(unit_end)?;
        let factor = match unit {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3_600.0,
            _ => 1.0,
        };
        total = Some(total.unwrap_or(0.0) + number * factor);
        // Parts follow one another only without a space: `1m2.5s`, but `20s. 3 left`.
        rest = after;
    }
    Duration::try_from_secs_f64(total?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(headers: &[(&str, &str)], body: &str) -> Option<f64> {
        let headers = Headers::new(
            headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let now = httpdate::parse_http_date("Sun, 15 Nov 2026 10:00:00 GMT").unwrap();
        requested_wait(&headers, body, now).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn every_form_is_understood() {
        assert_eq!(
            wait(&[("retry-after-ms", "1500"), ("retry-after", "9")], ""),
            Some(1.5)
        );
        assert_eq!(wait(&[("retry-after", "20")], ""), Some(20.0));
        assert_eq!(wait(&[("retry-after", "0.5")], ""), Some(0.5));
        assert_eq!(
            wait(&[("retry-after", "Sun, 15 Nov 2026 10:01:30 GMT")], ""),
            Some(90.0)
        );
        let skewed = [
            ("retry-after", "Sun, 15 Nov 2026 12:00:07 GMT"),
            ("date", "Sun, 15 Nov 2026 12:00:00 GMT"),
        ];
        assert_eq!(wait(&skewed, ""), Some(7.0));
        assert_eq!(
            wait(&[("retry-after", "Sun, 15 Nov 2026 09:00:00 GMT")], ""),
            Some(0.0)
        );
        let body = |text: &str| {
            wait(
                &[],
                &serde_json::json!({"error": {"message": text}}).to_string(),
            )
        };
        assert_eq!(
            body("Rate limit reached. Please try again in 11.054s. Visit …"),
            Some(11.054)
        );
        assert_eq!(body("Please try again in 28ms."), Some(0.028));
        assert_eq!(body("Please try again in 1m2.5s"), Some(62.5));
        assert_eq!(body("Please try again in 20 seconds"), Some(20.0));
        assert_eq!(
            wait(&[], r#"{"error":{"retry_after_seconds":3}}"#),
            Some(3.0)
        );
        let google = r#"[{"error":{"details":[{"@type":"…/RetryInfo","retryDelay":"36s"}]}}]"#;
        assert_eq!(wait(&[], google), Some(36.0));
    }

    #[test]
    fn no_form_is_no_wait() {
        for (headers, body) in [
            (vec![], ""),
            (vec![("retry-after", "soon")], "try again in a while"),
            (vec![("retry-after", "-4")], "{}"),
            // Parses as a number, but no `Duration` can hold it.
            (vec![("retry-after", "1e300")], "<html>"),
        ] {
            assert_eq!(wait(&headers, body), None, "{headers:?} {body}");
        }
    }
}
