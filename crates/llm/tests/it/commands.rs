//! Programs as models: real processes, and nothing left of them afterwards.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::Path;

use llm::{
    Answer, Call, CallEvent, CancelToken, Catalogue, ConnectOptions, ErrorClass, ModelSelection,
    Request, TimeoutPhase, connect_model,
};
use serde_json::json;

/// Runs a script as a model. `extra` are lines for the provider.
fn ask(
    script: &str,
    extra: &str,
    request: &Request,
    cancel: &CancelToken,
    watch: &(dyn Fn(&CallEvent) + Sync),
) -> Answer {
    let text = format!(
        "[sh]\ndialect = 'command'\nretry = {{ attempts = 1 }}\n{extra}\n[sh.command]\nprogram = 'sh'\nkeep_environment = ['MINE']\n\
         arguments = ['-c', '''{script}''', 'sh', '{{model}}', '{{system_file}}', '{{prompt_file}}', '{{answer_file}}']\n\
         schema_arguments = ['--schema', '{{schema_file}}']\nset_environment = {{ ROOM = '{{max_output_tokens}}' }}\n"
    );
    let catalogue = Catalogue::built_in().merge_toml(&text).unwrap();
    let selection = ModelSelection {
        provider: "sh".to_owned(),
        model: Some("m1".to_owned()),
        ..ModelSelection::default()
    };
    let variables = [
        (
            "PATH",
            std::env::var_os("PATH").unwrap().into_string().unwrap(),
        ),
        ("MINE", "yes".to_owned()),
        ("OPENAI_API_KEY", "sk-secret".to_owned()),
        ("CLAUDECODE", "1".to_owned()),
        ("THROUGHLINE_HOOKS", "on".to_owned()),
    ];
    let environment: BTreeMap<String, String> = variables
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let model = connect_model(
        &catalogue,
        &selection,
        ConnectOptions {
            environment,
            ..ConnectOptions::default()
        },
    )
    .unwrap();
    model.complete_request(
        request,
        &Call {
            cancel,
            watch,
            interactive: false,
        },
    )
}

fn run(script: &str) -> Answer {
    ask(
        script,
        "",
        &Request::text_request("t", "the system", "the prompt", 77),
        &CancelToken::new(),
        &|_| (),
    )
}

/// Waits until a process is gone; a test that never ends is the failure.
fn wait_until_gone(process: &str) {
    let alive = |status: &str| {
        status
            .lines()
            .any(|line| line.starts_with("State:") && !line.contains('Z'))
    };
    while std::fs::read_to_string(Path::new("/proc").join(process).join("status"))
        .is_ok_and(|status| alive(&status))
    {
        std::thread::yield_now();
    }
}

#[test]
fn a_program_gets_its_prompt_and_little_else() {
    let outcome =
        run(r#"echo "in: $(cat)"; echo "model: $1, system: $(cat "$2"), file: $(cat "$3"), room: $ROOM""#).unwrap();
    assert_eq!(
        outcome.text,
        "in: the prompt\nmodel: m1, system: the system, file: the prompt, room: 77\n"
    );
    let outcome =
        run("echo \"files: $(ls -A)\"; echo \"hooks: $THROUGHLINE_HOOKS\"; env | cut -d= -f1 | sort | tr '\\n' ' '")
            .unwrap();
    let mut lines = outcome.text.lines();
    assert_eq!(lines.next(), Some("files: "), "the directory is not empty");
    assert_eq!(lines.next(), Some("hooks: off"));
    // The shell adds a few of its own.
    let names: Vec<&str> = lines
        .next()
        .unwrap()
        .split(' ')
        .filter(|name| !["PWD", "OLDPWD", "SHLVL", "_", ""].contains(name))
        .collect();
    assert_eq!(names, ["MINE", "PATH", "ROOM", "THROUGHLINE_HOOKS"]);
}

#[test]
fn the_directory_goes_with_the_call() {
    let outcome = run("pwd").unwrap();
    let directory = outcome.text.trim();
    assert!(
        directory.starts_with('/') && !Path::new(directory).exists(),
        "{directory}"
    );
}

#[test]
fn full_pipes_stop_nobody() {
    // More on both pipes than they hold, and an input that is never read.
    let script = "i=0; while [ $i -lt 4000 ]; do echo \"complaint $i ....................................\" >&2; echo \"word $i ..............\"; i=$((i+1)); done";
    let request = Request::text_request("t", "", &"x".repeat(1 << 20), 9);
    let outcome = ask(script, "", &request, &CancelToken::new(), &|_| ()).unwrap();
    assert_eq!(outcome.text.lines().count(), 4000);
}

#[test]
fn an_answer_file_counts_when_it_is_written() {
    assert_eq!(
        run("echo noise; printf 'the answer' > \"$4\"")
            .unwrap()
            .text,
        "the answer"
    );
}

#[test]
fn a_cancelled_program_is_ended_with_all_it_started() {
    // The program ignores the polite signal, and so does what it starts.
    let directory = tempfile::tempdir().unwrap();
    let note = directory.path().join("pids");
    let script = format!(
        "trap \"\" TERM; sleep 1000 & echo \"$$ $!\" > \"{}\"; echo ready; wait; sleep 1000",
        note.display()
    );
    let cancel = CancelToken::new();
    let watch = |event: &CallEvent| {
        if *event == CallEvent::Alive
            && std::fs::read_to_string(&note).is_ok_and(|text| text.ends_with('\n'))
        {
            cancel.cancel();
        }
    };
    let error = ask(
        &script,
        "",
        &Request::text_request("t", "", "x", 9),
        &cancel,
        &watch,
    )
    .unwrap_err();
    assert_eq!(error.class, ErrorClass::Cancelled);
    for process in std::fs::read_to_string(&note).unwrap().split_whitespace() {
        wait_until_gone(process);
    }
}

#[test]
fn a_program_that_takes_too_long_is_ended() {
    let timeouts = "timeouts = { total = 0.3 }";
    let error = ask(
        "sleep 1000",
        timeouts,
        &Request::text_request("t", "", "x", 9),
        &CancelToken::new(),
        &|_| (),
    )
    .unwrap_err();
    assert_eq!(error.class, ErrorClass::Timeout(TimeoutPhase::Total));
    assert!(
        error
            .what
            .contains("`m1` of sh did not finish within 300ms"),
        "{}",
        error.what
    );
}

#[test]
fn what_a_program_leaves_behind_does_not_hold_up_its_answer() {
    // The grandchild keeps the pipe open.
    let outcome = run("sleep 1000 & echo \"answer $!\"").unwrap();
    let process = outcome
        .text
        .trim()
        .strip_prefix("answer ")
        .unwrap()
        .to_owned();
    wait_until_gone(&process);
}

#[test]
fn failures_say_what_to_do() {
    let error = run("echo 'Please run /login first' >&2; exit 3").unwrap_err();
    assert_eq!(
        (error.class, error.what.as_str()),
        (
            ErrorClass::Auth,
            "`sh` exited with code 3: Please run /login first"
        )
    );
    assert!(
        error
            .next
            .first()
            .unwrap()
            .starts_with("log the program in")
    );
    let error = run("exit 0").unwrap_err();
    assert_eq!(
        (error.class, error.what.as_str()),
        (ErrorClass::Malformed, "`sh` exited without an answer")
    );
    let error = run("kill -9 $$").unwrap_err();
    assert_eq!(error.what, "`sh` was killed by a signal: no output");

    let text = "[x]\ndialect = 'command'\n[x.command]\nprogram = 'no-such-program-here'";
    let catalogue = Catalogue::built_in().merge_toml(text).unwrap();
    let selection = ModelSelection {
        provider: "x".to_owned(),
        model: Some("m".to_owned()),
        ..ModelSelection::default()
    };
    let model = connect_model(&catalogue, &selection, ConnectOptions::default()).unwrap();
    let error = model
        .complete_request(
            &Request::text_request("t", "", "x", 9),
            &Call::without_listener(&CancelToken::new()),
        )
        .unwrap_err();
    assert_eq!(
        (error.class, error.what.as_str()),
        (
            ErrorClass::Setup,
            "the program `no-such-program-here` was not found"
        )
    );
}

#[test]
fn any_program_can_be_named() {
    let program = ["sh", "-c", "tr a-z A-Z"].map(str::to_owned).to_vec();
    let selection = ModelSelection {
        provider: "command".to_owned(),
        program,
        ..ModelSelection::default()
    };
    let path = std::env::var_os("PATH").unwrap().into_string().unwrap();
    let environment = BTreeMap::from([("PATH".to_owned(), path)]);
    let connection = ConnectOptions {
        environment,
        ..ConnectOptions::default()
    };
    let model = connect_model(&Catalogue::built_in(), &selection, connection).unwrap();
    let request = Request::text_request("t", "loudly", "say hello", 9);
    let outcome = model
        .complete_request(&request, &Call::without_listener(&CancelToken::new()))
        .unwrap();
    assert_eq!(outcome.text, "LOUDLY\n\nSAY HELLO");
}

#[test]
fn a_shape_is_asked_for_and_checked() {
    let request = Request::text_request("t", "", "a number", 9).with_schema(
        "answer",
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}),
    );
    // The schema is in the last argument, and the wrong first answer comes back in the prompt.
    let script = "for last; do :; done; if grep -q 'not accepted' \"$3\"; then grep -q integer \"$last\" && echo '{\"n\": 7}'; else echo nope; fi";
    let outcome = ask(script, "", &request, &CancelToken::new(), &|_| ()).unwrap();
    assert_eq!(outcome.json, Some(json!({"n": 7})));
    assert_eq!(outcome.ledger.len(), 2);
}
