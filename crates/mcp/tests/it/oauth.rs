//! Access tokens of an issuer: who is admitted, what is refused and why, and keys that change.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::access_token::{AccessTokenRules, ScopeName};
use domain::authorization::Scope;
use domain::ports::Clock;
use domain::time::Timestamp;
use mcp::surface::{Surface, ToolSelection};
use serde_json::{Value, json};
use server::{IssuerDocuments, OauthOptions};
use testkit::Issuer;

use crate::wire::{post, serve_accepting};
use crate::world::World;

const START_SECONDS: i64 = 1_800_000_000;

/// A clock that the test moves.
#[derive(Debug)]
struct MovedClock(AtomicI64);

impl MovedClock {
    fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed) * 1000)
    }
}

/// The client of the product.
#[derive(Debug)]
struct HttpDocuments;

impl IssuerDocuments for HttpDocuments {
    fn fetch_json(&self, url: &str) -> Result<Value, String> {
        store::fetch_issuer_document(url)
    }
}

/// A server that trusts an issuer.
pub(crate) struct Site {
    issuer: Issuer,
    clock: Arc<MovedClock>,
    pub(crate) address: SocketAddr,
}

impl Site {
    fn start() -> Self {
        Self::with_rules(|_| {})
    }

    fn with_rules(change: impl FnOnce(&mut AccessTokenRules)) -> Self {
        let world = World::with_profiles(&["story"]);
        let surface = Surface::new(world, ToolSelection::default()).expect("a surface");
        Self::serve(&surface, change)
    }

    /// Starts a server of these tools.
    pub(crate) fn serve(surface: &Surface, change: impl FnOnce(&mut AccessTokenRules)) -> Self {
        let issuer = Issuer::start();
        let clock = Arc::new(MovedClock(AtomicI64::new(START_SECONDS)));
        let mut rules = AccessTokenRules::for_issuer(&issuer.url);
        change(&mut rules);
        let address = serve_accepting(
            surface,
            Some(OauthOptions {
                rules,
                documents: Arc::new(HttpDocuments),
                clock: clock.clone(),
            }),
        );
        Self {
            issuer,
            clock,
            address,
        }
    }

    /// Claims that are accepted.
    fn claims(&self) -> Value {
        let now = self.clock.0.load(Ordering::Relaxed);
        json!({
            "iss": self.issuer.url, "aud": format!("http://{}/mcp", self.address), "sub": "anna",
            "exp": now + 300, "nbf": now, "iat": now, "scope": "agent",
        })
    }

    /// Returns a token of an agent, which may do what agents do.
    pub(crate) fn agent_token(&self) -> String {
        self.token(&json!({ "sub": "ci", "client_id": "ci", "scope": "agent" }))
    }

    /// Returns a token of a person.
    pub(crate) fn person_token(&self, name: &str) -> String {
        self.token(&json!({ "sub": name }))
    }

    fn token(&self, changes: &Value) -> String {
        let mut claims = self.claims();
        for (name, value) in changes.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        self.issuer.sign("EdDSA", &claims)
    }

    /// Calls a tool, and returns status, head and body.
    fn call(&self, token: &str, tool: &str, arguments: &Value) -> (u16, String, Value) {
        let authorization = match token {
            "" => String::new(),
            token => format!("authorization: Bearer {token}\r\n"),
        };
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{authorization}\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n",
            self.address
        );
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "script", "version": "1" },
            } },
        });
        let (head, body) = post(self.address, &head, &message.to_string());
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let body = serde_json::from_str(&body).unwrap_or_default();
        (status.expect("a status"), head, body)
    }

    fn status(&self, token: &str) -> u16 {
        self.call(token, "work_where", &json!({})).0
    }
}

#[test]
fn clients_learn_where_to_sign_in_and_are_admitted_with_what_they_got() {
    let site = Site::with_rules(|rules| {
        let name = |name: &str, scope| ScopeName {
            name: name.to_owned(),
            scope,
        };
        rules.scopes = vec![
            name("plans.write", Scope::Agent),
            name("plans.read", Scope::Read),
        ];
    });
    let (status, head, _) = site.call("", "work_where", &json!({}));
    assert_eq!(status, 401);
    let url = format!(
        "http://{}/.well-known/oauth-protected-resource/mcp",
        site.address
    );
    assert!(
        head.contains(&format!("resource_metadata=\"{url}\"")),
        "{head}"
    );
    assert!(!head.contains("error="), "nothing was wrong yet: {head}");
    let request = format!(
        "GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
        site.address
    );
    let (_, metadata) = post(site.address, &request, "");
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    assert_eq!(metadata["authorization_servers"], json!([site.issuer.url]));
    assert_eq!(
        metadata["scopes_supported"],
        json!(["plans.write", "plans.read"])
    );
    assert_eq!(
        metadata["resource"],
        json!(format!("http://{}/mcp", site.address))
    );

    // With the scopes' names at this issuer.
    let act = json!({ "node": "act-1", "text": "# The harbour\n\nMara comes home.\n" });
    let reader = site.token(&json!({ "scope": "plans.read" }));
    let (status, _, refused) = site.call(&reader, "plan_write", &act);
    assert_eq!((status, &refused["result"]["isError"]), (200, &json!(true)));
    let message = refused["result"]["structuredContent"].to_string();
    assert!(
        message.contains("needs the scope `agent`") && message.contains("sign in again"),
        "{message}"
    );
    let writer = site.token(&json!({ "scope": "openid plans.write" }));
    let (_, _, written) = site.call(&writer, "plan_write", &act);
    assert_eq!(
        written["result"]["structuredContent"]["created"], true,
        "{written}"
    );
}

#[test]
fn every_algorithm_of_the_issuer_is_verified() {
    let site = Site::start();
    for algorithm in ["EdDSA", "ES256"] {
        let token = site.issuer.sign(algorithm, &site.claims());
        assert_eq!(site.status(&token), 200, "{algorithm}");
        let mut forged = token.into_bytes();
        let last = forged.len() - 5;
        forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).expect("text");
        assert_eq!(site.status(&forged), 401, "{algorithm}");
    }
}

/// The person behind a token answers questions; what the client does is an agent's.
#[test]
fn a_client_with_a_persons_token_acts_as_an_agent() {
    let site = Site::start();
    let act = json!({ "node": "act-1", "text": "# The harbour\n\nMara comes home.\n" });
    let by = |token: &str| {
        let limit = json!({ "tool": "work_log", "arguments": { "limit": 1 } });
        let (_, _, log) = site.call(token, "call_tool", &limit);
        let log = &log["result"]["structuredContent"];
        log["operations"][0]["by"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let comment = json!({ "tool": "plan_comment", "arguments": { "node": "act-1", "text": "x" } });
    let anna = site.token(&json!({ "scope": "admin" }));
    site.call(&anna, "plan_write", &act);
    site.call(&anna, "call_tool", &comment);
    assert!(by(&anna).starts_with("agent:script/"), "{}", by(&anna));
    let reject = json!({ "node": "act-1", "reason": "x" });
    let (_, _, refused) = site.call(&anna, "plan_reject", &reject);
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let ci = site.token(&json!({ "sub": "ci", "client_id": "ci", "scope": "approve" }));
    site.call(&ci, "call_tool", &comment);
    assert_eq!(by(&ci), "agent:ci/oauth");
}

#[test]
fn tokens_that_do_not_fit_are_refused_with_the_reason() {
    let site = Site::start();
    let now = START_SECONDS;
    let cases = [
        (
            json!({ "aud": "https://other.example/mcp" }),
            401,
            "another server",
        ),
        (json!({ "exp": now - 100 }), 401, "has expired"),
        (json!({ "nbf": now + 100 }), 401, "not valid yet"),
        (
            json!({ "iss": "https://evil.example" }),
            401,
            "another issuer",
        ),
        (json!({ "sub": "a/b" }), 401, "cannot be a name"),
        (json!({ "scope": "openid" }), 403, "insufficient_scope"),
        (json!({ "scope": null }), 403, "grants no scope"),
    ];
    for (changes, status, reason) in cases {
        let (code, head, _) = site.call(&site.token(&changes), "work_where", &json!({}));
        assert_eq!(code, status, "{changes}: {head}");
        assert!(
            head.contains(reason) && head.contains("resource_metadata="),
            "{changes}: {head}"
        );
    }
    assert_eq!(site.status(&site.token(&json!({}))), 200);
}

/// The attacks on verifiers that believe the token about how it was signed.
#[test]
fn a_token_does_not_choose_how_it_is_verified() {
    let site = Site::start();
    let claims = site.claims();
    let kid = "EdDSA-1";
    for header in [
        json!({ "alg": "none" }),
        json!({ "alg": "none", "kid": kid }),
        json!({ "alg": "HS256", "kid": kid }),
        json!({ "alg": "HS256" }),
        json!({ "alg": "ES256", "kid": kid }),
        json!({ "alg": "EdDSA", "kid": kid, "crit": ["exp"] }),
        json!({ "alg": "EdDSA", "kid": kid, "typ": "logout+jwt" }),
        json!({ "kid": kid }),
    ] {
        let token = site.issuer.sign_with(&header, &claims);
        assert_eq!(site.status(&token), 401, "{header}");
    }
    // A key that came with the token is nobody's.
    let attacker = Issuer::start();
    let token = attacker.sign_with(&json!({ "alg": "EdDSA", "kid": kid }), &claims);
    assert_eq!(site.status(&token), 401);
    for garbage in ["a.b.c", "..", "e30.e30.", "tl_x.y.z"] {
        assert_eq!(site.status(garbage), 401, "{garbage}");
    }
    assert_eq!(site.status(&site.token(&json!({}))), 200);
}

#[test]
fn keys_are_read_again_after_a_rotation_and_never_in_a_flood() {
    let site = Site::start();
    let before = site.token(&json!({ "exp": START_SECONDS + 10_000 }));
    assert_eq!(site.status(&before), 200);
    let reads = site.issuer.count_reads();
    assert_eq!(site.status(&before), 200);
    assert_eq!(site.issuer.count_reads(), reads, "the keys are cached");

    site.issuer.rotate_keys();
    let after = site.token(&json!({ "exp": START_SECONDS + 10_000 }));
    for _ in 0..5 {
        assert_eq!(site.status(&after), 401, "the keys were read a moment ago");
    }
    assert_eq!(site.issuer.count_reads(), reads);
    site.clock.advance_seconds(11);
    assert_eq!(site.status(&after), 200, "a new key is found by its id");
    assert_eq!(site.status(&before), 401, "the old one was withdrawn");

    // An issuer that is down for a while locks nobody out, and one that stays down all clients.
    site.issuer.set_down(true);
    site.clock.advance_seconds(11 * 60);
    assert_eq!(site.status(&after), 200);
    site.clock.advance_seconds(50 * 60);
    assert_eq!(site.status(&after), 503);
    site.issuer.set_down(false);
    assert_eq!(site.status(&after), 503, "it was asked a moment ago");
    site.clock.advance_seconds(11);
    assert_eq!(site.status(&after), 200);
}
