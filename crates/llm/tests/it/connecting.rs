//! From a choice to a model: what is refused before anything is sent, and what is said about it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use llm::{
    Allowance, Catalogue, ConnectOptions, ErrorClass, LlmError, ModelSelection, connect_model,
};

use crate::server::{FaultServer, Reply};
use crate::setup::Bench;
use crate::speech::{SPEAKERS, Why};

fn refused(selection: ModelSelection) -> Box<LlmError> {
    match connect_model(
        &Catalogue::built_in(),
        &selection,
        ConnectOptions::default(),
    ) {
        Ok(_) => panic!("{selection:?} was accepted"),
        Err(error) => error,
    }
}

fn choose(provider: &str) -> ModelSelection {
    ModelSelection {
        provider: provider.to_owned(),
        ..ModelSelection::default()
    }
}

#[test]
fn what_is_missing_is_named_with_the_next_step() {
    let error = refused(choose("antropic"));
    assert_eq!(
        (error.class, error.next.first().unwrap().as_str()),
        (ErrorClass::Setup, "did you mean `anthropic`?")
    );
    let error = refused(choose("anthropic"));
    assert_eq!(
        (error.class, error.what.as_str()),
        (ErrorClass::Auth, "no API key for `anthropic`")
    );
    assert_eq!(
        error.next.first().unwrap(),
        "set `ANTHROPIC_API_KEY`, or name a key file"
    );
    assert_eq!(
        refused(choose("gemini")).next.first().unwrap(),
        "set `GEMINI_API_KEY` or `GOOGLE_API_KEY`, or name a key file"
    );
    let error = refused(choose("openai-compatible"));
    assert_eq!(
        error.what,
        "no model is chosen for `openai-compatible`, and it has no default"
    );
    let error = refused(ModelSelection {
        model: Some("m".to_owned()),
        ..choose("openai-compatible")
    });
    assert_eq!(error.what, "provider `openai-compatible` has no base URL");
    assert_eq!(
        refused(choose("command")).what,
        "no program is named for `command`"
    );
    let url = Some("127.0.0.1:8080/v1".to_owned());
    let error = refused(ModelSelection {
        model: Some("m".to_owned()),
        base_url: url,
        ..choose("openai-compatible")
    });
    assert!(
        error.what.starts_with("the base URL `127.0.0.1:8080/v1`"),
        "{}",
        error.what
    );
}

#[test]
fn a_chosen_address_goes_over_the_shipped_one() {
    let [chat, ..] = &SPEAKERS;
    let server = FaultServer::start([Reply::stream((chat.events)(&["hello"], Why::Done))]);
    let selection = ModelSelection {
        model: Some("any".to_owned()),
        base_url: Some(server.url()),
        ..choose("openai-compatible")
    };
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "  ".to_owned())]);
    let model = connect_model(
        &Catalogue::built_in(),
        &selection,
        ConnectOptions {
            environment,
            ..ConnectOptions::default()
        },
    )
    .unwrap();
    let cancel = llm::CancelToken::new();
    let outcome = model
        .complete_request(
            &llm::Request::text_request("t", "", "hi", 9),
            &llm::Call::without_listener(&cancel),
        )
        .unwrap();
    assert_eq!(outcome.text, "hello");
    // A blank key is none.
    assert_eq!(server.seen().remove(0).header("authorization"), None);
    // And a model without a price costs what nobody knows.
    assert_eq!(outcome.ledger.first().unwrap().cost, llm::Cost::Unknown);
}

#[test]
fn a_budget_is_kept_over_the_wire() {
    let [chat, ..] = &SPEAKERS;
    let server = FaultServer::start([Reply::stream((chat.events)(&["hello"], Why::Done))]);
    let run = Arc::new(Mutex::new(Allowance {
        name: "run".to_owned(),
        tokens: Some(110),
        ..Allowance::default()
    }));
    let connection = ConnectOptions {
        allowances: vec![run.clone()],
        ..ConnectOptions::default()
    };
    let bench = Bench::with(chat, &server.url(), "", connection);
    bench.ask_text().unwrap();
    let error = bench.ask_text().unwrap_err();
    assert_eq!(
        (error.class, server.seen().len()),
        (ErrorClass::BudgetExceeded, 1)
    );
    assert_eq!(run.lock().unwrap().spent_tokens, 15);
}

#[test]
fn a_model_is_tried_out() {
    for speaker in &SPEAKERS {
        let server = FaultServer::start([
            Reply::stream((speaker.events)(&["I am ", "ready."], Why::Done)),
            Reply::stream((speaker.events)(
                &["{\"ready\": true, \"numbers\": [1, 2, 3]}"],
                Why::Done,
            )),
        ]);
        let bench = Bench::new(speaker, &server);
        let trials = llm::check_model(&*bench.model, &llm::Call::without_listener(&bench.cancel));
        let lines: Vec<String> = trials
            .iter()
            .map(|trial| format!("{} {}: {}", trial.works, trial.name, trial.detail))
            .collect();
        assert_eq!(
            lines,
            [
                "true answers: `model-1-2026` said: I am ready.",
                "true streams: the answer came in 2 pieces",
                "true keeps to a shape: at the first try",
                "true counts tokens: 12 in, 3 out",
                "true has a price: 42 millionths of a dollar for the first call",
            ],
            "{}",
            speaker.dialect
        );
    }
    let [chat, ..] = &SPEAKERS;
    let server = FaultServer::start([Reply::whole(401, &[], "{}")]);
    let bench = Bench::new(chat, &server);
    let trials = llm::check_model(&*bench.model, &llm::Call::without_listener(&bench.cancel));
    assert_eq!(
        (
            trials.len(),
            trials.first().unwrap().works,
            server.seen().len()
        ),
        (1, false, 1)
    );
    assert!(!trials.first().unwrap().next.is_empty());
}
