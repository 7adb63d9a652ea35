//! Parses a program's output: plain text, one JSON object, or JSON Lines.

use serde_json::Value;

use super::process::ProcessOutput;
use crate::error::{ErrorClass, LlmError, LlmResult};
use crate::ledger::Cost;
use crate::outcome::TokenUsage;
use crate::provider::{OutputFormat, OutputSpec, Pick};

#[derive(Debug, Default, PartialEq)]
pub(super) struct ParsedOutput {
    pub(super) text: String,
    pub(super) usage: TokenUsage,
    pub(super) cost: Cost,
}

/// Returns the answer, or the failure. Exit code 0 alone does not prove success.
pub(super) fn parse_program_output(
    spec: &OutputSpec,
    ended: &ProcessOutput,
    program: &str,
) -> LlmResult<ParsedOutput> {
    let objects = match spec.format {
        OutputFormat::Text => Vec::new(),
        OutputFormat::Json => parse_json_object(&ended.output).into_iter().collect(),
        OutputFormat::Jsonl => ended
            .output
            .lines()
            // Lines that are not JSON are warnings and progress of the program.
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect(),
    };
    let pick = |pick: &Option<Pick>| pick.as_ref().and_then(|pick| pick_value(pick, &objects));
    // Before the exit code: a reported failure says more, and some programs exit with 0 after it.
    if let Some(why) = pick(&spec.failed) {
        return Err(with_program_output(
            classify_program_failure(&format!("`{program}` failed"), &json_value_text(why)),
            ended,
        ));
    }
    if ended.code != Some(0) {
        let how = ended.code.map_or_else(
            || "was killed by a signal".to_owned(),
            |code| format!("exited with code {code}"),
        );
        // The last line, because programs print warnings and stack traces before the actual error.
        let why = last_line(&ended.errors)
            .or_else(|| last_line(&ended.output))
            .unwrap_or("no output");
        return Err(with_program_output(
            classify_program_failure(&format!("`{program}` {how}"), why),
            ended,
        ));
    }
    // Half an answer with exit code 0 must not pass for a complete one.
    if spec.done.is_some() && pick(&spec.done).is_none() {
        let what = format!("`{program}` exited without reporting completion");
        return Err(with_program_output(
            ErrorClass::StreamEndedEarly.error(what),
            ended,
        ));
    }
    let text = match &spec.text {
        _ if pick(&spec.structured).is_some_and(|value| !value.is_null()) => pick(&spec.structured)
            .map(json_value_text)
            .unwrap_or_default(),
        Some(_) => pick(&spec.text).map(json_value_text).unwrap_or_default(),
        None => ended.output.clone(),
    };
    let number = |place: &Option<Pick>| pick(place).and_then(Value::as_u64);
    let (read, write) = (
        number(&spec.cache_read_tokens),
        number(&spec.cache_write_tokens),
    );
    // Our input count includes cached tokens, whichever way the program reports them.
    let apart = if spec.cache_apart {
        read.unwrap_or(0) + write.unwrap_or(0)
    } else {
        0
    };
    let usage = TokenUsage {
        input: number(&spec.input_tokens).map(|input| input + apart),
        output: number(&spec.output_tokens),
        cache_read: read,
        cache_write: write,
        reasoning: number(&spec.reasoning_tokens),
    };
    let dollars = pick(&spec.cost_usd)
        .and_then(Value::as_f64)
        .filter(|dollars| *dollars >= 0.0);
    let cost = dollars.map_or(Cost::Unknown, |dollars| {
        Cost::Reported((dollars * 1_000_000.0).round() as u64)
    });
    Ok(ParsedOutput { text, usage, cost })
}

/// Parses the JSON object in the output, skipping other text before it.
fn parse_json_object(output: &str) -> Option<Value> {
    serde_json::from_str(output.trim()).ok().or_else(|| {
        // Limited: each attempt may parse the whole rest, which is quadratic in the worst case.
        let starts = output.match_indices('{').map(|(start, _)| start).take(100);
        starts
            .filter_map(|start| serde_json::from_str(output.get(start..)?.trim()).ok())
            .next()
    })
}

/// Returns the picked value of the last matching object.
fn pick_value<'a>(pick: &Pick, objects: &'a [Value]) -> Option<&'a Value> {
    let matches = |object: &&Value| {
        pick.when
            .iter()
            .all(|(pointer, wanted)| object.pointer(pointer) == Some(wanted))
    };
    objects
        .iter()
        .filter(matches)
        .filter_map(|object| object.pointer(&pick.at))
        // The last one: agents report intermediate messages in the same format.
        .next_back()
}

fn json_value_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn last_line(text: &str) -> Option<&str> {
    text.lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
}

/// Classifies a failure by its message; programs have no error codes for it.
fn classify_program_failure(what: &str, why: &str) -> Box<LlmError> {
    let why: String = why
        .chars()
        // Programs colour their messages with escape sequences.
        .filter(|letter| !letter.is_control())
        .take(500)
        .collect();
    let lower = why.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    // The first match wins: a message may contain words of several classes. Retryable ones come
    // first, because a retry is limited and a wrong "log in" would send the user the wrong way.
    let class = match () {
        () if says(&[
            "rate limit",
            "rate_limit",
            "too many requests",
            "usage limit",
        ]) =>
        {
            ErrorClass::RateLimited
        }
        () if says(&["overloaded", "unavailable", "529", "503"]) => ErrorClass::Overloaded,
        () if says(&[
            "log in",
            "login",
            "api key",
            "unauthorized",
            "authenticat",
            "401",
        ]) =>
        {
            ErrorClass::Auth
        }
        () if says(&["credit", "quota", "billing"]) => ErrorClass::NoCredits,
        () if says(&["too long", "context window", "context length"]) => ErrorClass::ContextTooLong,
        () if says(&[
            "unknown option",
            "unexpected argument",
            "unrecognized",
            "usage:",
        ]) =>
        {
            ErrorClass::Setup
        }
        () => ErrorClass::Server,
    };
    let error = LlmError::new(class, format!("{what}: {why}"));
    match class {
        ErrorClass::Auth => error.with_first_step(
            "log the program in, or keep its key variable with `keep_environment`",
        ),
        ErrorClass::Setup => error.with_first_step(
            "its version may not know these arguments: change `command.arguments`",
        ),
        _ => error,
    }
}

/// Attaches the program's output to an error, for an error report.
pub(super) fn with_program_output(
    mut error: Box<LlmError>,
    ended: &ProcessOutput,
) -> Box<LlmError> {
    error.text = [ended.output.trim(), ended.errors.trim()]
        .join("\n")
        .trim()
        .to_owned();
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Catalogue;

    fn spec(provider: &str) -> OutputSpec {
        Catalogue::built_in()
            .get(provider)
            .unwrap()
            .command
            .clone()
            .unwrap()
            .output
    }

    fn ended(code: i32, output: &str, errors: &str) -> ProcessOutput {
        ProcessOutput {
            code: Some(code),
            output: output.to_owned(),
            errors: errors.to_owned(),
        }
    }

    #[test]
    fn claude_is_understood() {
        let output = r#"[warn] noise {
            {"type":"result","subtype":"success","is_error":false,"result":"Hello","total_cost_usd":0.001,
             "usage":{"input_tokens":10,"cache_read_input_tokens":60,"cache_creation_input_tokens":1,"output_tokens":4}}"#;
        let printed = parse_program_output(
            &spec("claude-cli"),
            &ended(0, output, "[claude-code:unrecognized_model]"),
            "claude",
        )
        .unwrap();
        assert_eq!(printed.text, "Hello");
        assert_eq!(
            (
                printed.usage.input,
                printed.usage.output,
                printed.usage.cache_read
            ),
            (Some(71), Some(4), Some(60))
        );
        // Its own estimate is made for models it does not know, too: not taken for the provider's
        // word.
        assert_eq!(printed.cost, Cost::Unknown);
        let failed =
            r#"{"type":"result","is_error":true,"result":"Invalid API key · Please run /login"}"#;
        let error =
            parse_program_output(&spec("claude-cli"), &ended(0, failed, ""), "claude").unwrap_err();
        assert_eq!(
            (error.class, error.what.as_str()),
            (
                ErrorClass::Auth,
                "`claude` failed: Invalid API key · Please run /login"
            )
        );
    }

    #[test]
    fn codex_is_understood() {
        let harmless = r#"{"type":"item.completed","item":{"type":"error","message":"Model metadata not found"}}"#;
        let said =
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"{\"n\":1}"}}"#;
        let done = r#"{"type":"turn.completed","usage":{"input_tokens":746,"cached_input_tokens":0,"output_tokens":5}}"#;
        let good = [harmless, said, done].join("\n");
        let printed =
            parse_program_output(&spec("codex-cli"), &ended(0, &good, ""), "codex").unwrap();
        assert_eq!(
            (printed.text.as_str(), printed.usage.input),
            ("{\"n\":1}", Some(746))
        );
        let error =
            parse_program_output(&spec("codex-cli"), &ended(0, said, ""), "codex").unwrap_err();
        assert_eq!(error.class, ErrorClass::StreamEndedEarly);
        let failed = r#"{"type":"turn.failed","error":{"message":"rate limit reached"}}"#;
        assert_eq!(
            parse_program_output(&spec("codex-cli"), &ended(1, failed, ""), "codex")
                .unwrap_err()
                .class,
            ErrorClass::RateLimited
        );
    }

    #[test]
    fn a_bad_exit_is_a_failure_whatever_was_printed() {
        let error = parse_program_output(
            &OutputSpec::default(),
            &ended(2, "half an ans", "boom\nerror: unknown option '--x'\n"),
            "p",
        )
        .unwrap_err();
        assert_eq!(error.class, ErrorClass::Setup);
        assert_eq!(
            error.what,
            "`p` exited with code 2: error: unknown option '--x'"
        );
        assert!(error.text.contains("half an ans"));
        let killed = ProcessOutput {
            code: None,
            ..ProcessOutput::default()
        };
        assert_eq!(
            parse_program_output(&OutputSpec::default(), &killed, "p")
                .unwrap_err()
                .what,
            "`p` was killed by a signal: no output"
        );
    }
}
