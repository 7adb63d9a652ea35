//! `tl team issuer`: sign-in through an OAuth issuer.

use serde_json::{Value, json};
use testkit::Issuer;

use crate::serve::Server;
use crate::{planned, run_with, text};

/// Claims of a token for a server, valid for five minutes.
#[expect(clippy::disallowed_methods, reason = "the server has the real clock")]
fn claims(issuer: &Issuer, server: &Server) -> Value {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a time");
    json!({
        "iss": issuer.url, "aud": format!("http://127.0.0.1:{}/mcp", server.port),
        "sub": "u-1", "email": "anna@example.org", "email_verified": true,
        "exp": now.as_secs() + 300, "scope": "plans.read plans.decide",
    })
}

fn status(server: &Server, token: &str, path: &str) -> u16 {
    crate::team_server::send(server, token, "GET", path, "").status
}

#[test]
fn a_server_accepts_the_access_tokens_of_the_issuer_a_person_trusts() {
    let project = planned();
    let issuer = Issuer::start();
    let trust = [
        "team",
        "issuer",
        "trust",
        &issuer.url,
        "--principal",
        "email",
        "--scope",
        "plans.read=read",
        "--scope",
        "plans.decide=approve",
    ];
    let trusted = project.json(&trust);
    assert_eq!(text(&trusted["issuer"], "issuer"), issuer.url);
    let shown = project.ok(&["team", "issuer", "show"]).stdout;
    assert!(
        shown.contains(&issuer.url) && shown.contains("plans.decide = approve"),
        "{shown}"
    );

    let server = Server::start(&project, &[]);
    let good = issuer.sign("ES256", &claims(&issuer, &server));
    assert_eq!(status(&server, &good, "/api/tree"), 200);
    let commented = crate::team_server::send(
        &server,
        &good,
        "POST",
        "/do/comment",
        "node=act-1&text=hello",
    );
    assert_eq!(commented.status, 303);
    let last = &project.json(&["log", "--limit", "1"])[0];
    assert_eq!(text(last, "by"), "human:anna@example.org");
    let called = server.ask_with(
        &good,
        "tools/call",
        json!({ "name": "where", "arguments": {} }),
    );
    assert_eq!(called.status, 200, "{called:?}");

    let mut other = claims(&issuer, &server);
    other["aud"] = json!("https://other.example");
    let other = issuer.sign("ES256", &other);
    assert_eq!(status(&server, &other, "/api/tree"), 401);
    // A browser keeps no access token: a cookie would outlive it.
    assert_eq!(status(&server, "", &format!("/?token={good}")), 401);
    assert_eq!(status(&server, &server.token, "/api/tree"), 200, "our own");
    drop(server);

    let refused = project.refused(&["serve", "--no-token", "--port", "0"]);
    assert!(
        refused.stderr.contains("admits every client"),
        "{}",
        refused.stderr
    );
    project.ok(&["team", "issuer", "remove"]);
    assert_eq!(
        project.json(&["team", "issuer", "show"])["issuer"],
        json!(null)
    );
    let server = Server::start(&project, &[]);
    let late = issuer.sign("ES256", &claims(&issuer, &server));
    assert_eq!(status(&server, &late, "/api/tree"), 401);
}

#[test]
fn an_agent_trusts_no_issuer_and_an_address_in_the_open_is_refused() {
    let project = planned();
    let agent = [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "s1")];
    for words in [
        &["team", "issuer", "trust", "https://id.example.org"][..],
        &["team", "issuer", "remove"],
    ] {
        let refused = run_with(&project, &agent, words);
        assert_eq!(refused.code, 1, "{}", refused.stdout);
        assert!(refused.stderr.contains("by a person"), "{}", refused.stderr);
    }
    for (words, part) in [
        (["http://id.example.org", "--scope", "x=read"], "https://"),
        (["id.example.org", "--scope", "x=read"], "https://"),
        (
            ["https://id.example.org", "--scope", "x=root"],
            "NAME=SCOPE",
        ),
        (
            ["https://id.example.org", "--scope", "a\"b=read"],
            "NAME=SCOPE",
        ),
    ] {
        let all: Vec<&str> = ["team", "issuer", "trust"]
            .into_iter()
            .chain(words)
            .collect();
        let refused = project.run(&all);
        assert_eq!(refused.code, 2, "{words:?}: {}", refused.stdout);
        assert!(
            refused.stderr.contains(part),
            "{words:?}: {}",
            refused.stderr
        );
    }
    assert_eq!(
        project.json(&["team", "issuer", "show"])["issuer"],
        json!(null)
    );
}
