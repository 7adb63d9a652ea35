//! A model against the test's server, with a clock that does not wait and a watcher that listens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use llm::{
    Answer, Call, CallEvent, CancelToken, Cancelled, Catalogue, Clock, ConnectOptions, Model,
    ModelSelection, Request, connect_model,
};

use crate::server::FaultServer;
use crate::speech::Speaker;

pub(crate) const KEY: &str = "key-of-the-test-0123456789";

/// A clock that remembers what it was asked to wait.
#[derive(Default)]
pub(crate) struct QuickClock(Mutex<Vec<Duration>>);

impl QuickClock {
    pub(crate) fn waited(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

impl Clock for QuickClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn wait_for(&self, duration: Duration, cancel: &CancelToken) -> Result<(), Cancelled> {
        self.0.lock().unwrap().push(duration);
        if cancel.is_cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

pub(crate) struct Bench {
    pub(crate) model: Box<dyn Model>,
    pub(crate) clock: Arc<QuickClock>,
    pub(crate) cancel: CancelToken,
    pub(crate) events: Mutex<Vec<CallEvent>>,
}

impl Bench {
    pub(crate) fn new(speaker: &Speaker, server: &FaultServer) -> Self {
        Self::with(speaker, &server.url(), "", ConnectOptions::default())
    }

    /// `extra` are lines of TOML for the provider.
    pub(crate) fn with(
        speaker: &Speaker,
        base_url: &str,
        extra: &str,
        connection: ConnectOptions,
    ) -> Self {
        let text = format!(
            "[test]\ndialect = '{}'\nbase_url = '{base_url}'\nkey_env = ['TEST_KEY']\n{extra}\n[[test.models]]\nid = 'model-1'\n\
             max_output = 4000\nprice = {{ input = 1.0, output = 10.0 }}\n",
            speaker.dialect
        );
        let catalogue = Catalogue::built_in().merge_toml(&text).unwrap();
        let clock = Arc::new(QuickClock::default());
        let selection = ModelSelection {
            provider: "test".to_owned(),
            model: Some("model-1".to_owned()),
            ..ModelSelection::default()
        };
        let environment = BTreeMap::from([("TEST_KEY".to_owned(), KEY.to_owned())]);
        let connection = ConnectOptions {
            environment,
            clock: clock.clone(),
            ..connection
        };
        let model = connect_model(&catalogue, &selection, connection).unwrap();
        Self {
            model,
            clock,
            cancel: CancelToken::new(),
            events: Mutex::default(),
        }
    }

    pub(crate) fn ask(&self, request: &Request) -> Answer {
        let watch = |event: &CallEvent| self.events.lock().unwrap().push(event.clone());
        self.model.complete_request(
            request,
            &Call {
                cancel: &self.cancel,
                watch: &watch,
                interactive: false,
            },
        )
    }

    pub(crate) fn ask_text(&self) -> Answer {
        self.ask(&Request::text_request("test", "be brief", "say hello", 100))
    }

    /// The pieces of text that were shown.
    pub(crate) fn shown(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        events
            .iter()
            .filter_map(|event| match event {
                CallEvent::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect()
    }
}
