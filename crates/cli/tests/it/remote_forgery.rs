//! Forged operations sent to a team server with a valid token, and how the server reacts.

use std::time::{Duration, Instant};

use domain::ids::Digest32;
use domain::ports::Clock;
use serde_json::{Value, json};
use store::SystemClock;
use testkit::Project;

use crate::hook_faults::sqlite;
use crate::remote::Team;
use crate::{ACT_EDITED, run_with, text};

/// A server's history, for a client that appends operations by hand.
struct Forger<'t> {
    team: &'t Team,
    head: u64,
    hash: String,
}

impl<'t> Forger<'t> {
    fn of(team: &'t Team) -> Self {
        let (status, answer) =
            team.request("GET", "/api/team/operations?after=1000000", &team.token, "");
        assert_eq!(status, 200, "{answer}");
        let greeting: Value =
            serde_json::from_str(answer.lines().next().unwrap_or_default()).expect("a greeting");
        let hash = greeting["headHash"].as_str().expect("a hash").to_owned();
        Self {
            team,
            head: greeting["head"].as_u64().expect("a number"),
            hash,
        }
    }

    /// Sends an operation with these fields over those of a harmless one.
    fn send(&self, fields: Value) -> (u16, String) {
        let mut operation = json!({
            "id": self.head + 1,
            "at": now(),
            "by": "human:анна",
            "channel": "cli",
            "verb": "comment",
            "summary": "forged",
            "facts": [],
        });
        for (key, value) in fields.as_object().expect("fields") {
            operation[key] = value.clone();
        }
        let body = operation.to_string();
        let prev: Digest32 = self.hash.parse().expect("a hash");
        let hash = Digest32::of_bytes(&[&prev.0[..], body.as_bytes()].concat());
        let line =
            format!("{{\"op\":{body},\"texts\":{{}},\"prev\":\"{prev}\",\"hash\":\"{hash}\"}}\n");
        self.send_line(&line)
    }

    fn send_line(&self, line: &str) -> (u16, String) {
        let head = json!({ "after": self.head, "hash": self.hash });
        self.team.request(
            "POST",
            "/api/team/operations",
            &self.team.token,
            &format!("{head}\n{line}"),
        )
    }
}

fn now() -> String {
    SystemClock.now().to_string()
}

#[test]
fn the_exchange_is_what_its_description_says() {
    let team = Team::start();
    let (_, description) = team.request("GET", "/api/openapi.json", &team.token, "");
    let description: Value = serde_json::from_str(&description).expect("a description");
    let fits = |name: &str, value: &str| {
        let schema = json!({ "$ref": format!("#/components/schemas/{name}"), "components": description["components"] });
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let value: Value = serde_json::from_str(value).expect("JSON");
        let wrong: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}\n{value}");
    };
    let (_, answer) = team.request("GET", "/api/team/operations?after=0", &team.token, "");
    let mut lines = answer.lines();
    fits("Greeting", lines.next().expect("a greeting"));
    assert!(lines.clone().count() > 2, "{answer}");
    lines.for_each(|line| fits("JournalLine", line));
    let forger = Forger::of(&team);
    fits(
        "Sending",
        &json!({ "after": forger.head, "hash": forger.hash }).to_string(),
    );
    let elsewhere = format!("/api/team/operations?after=1&hash={}", "0".repeat(64));
    let (diverged, what) = team.request("GET", &elsewhere, &team.token, "");
    fits("Receipt", &what);
    let ((kept, first), (conflict, second)) = (
        forger.send(json!({})),
        forger.send(json!({ "summary": "late" })),
    );
    fits("Receipt", &first);
    fits("Receipt", &second);
    assert_eq!(
        [diverged, kept, conflict],
        [409, 200, 409],
        "{what} {first} {second}"
    );
    let (refused, why) = forger.send_line("{");
    fits("Failure", &why);
    assert_eq!(refused, 400);
}

#[test]
fn what_was_made_up_is_refused_and_nothing_is_kept() {
    let team = Team::start();
    let forger = Forger::of(&team);
    let standing = |status: &str| json!({ "status": status });
    let draft = json!([{
        "fact": "standings-changed",
        "groups": [{ "before": standing("approved"), "after": standing("draft"), "nodes": [1] }],
    }]);
    for (fields, status, why) in [
        (
            json!({ "by": "human:bob" }),
            403,
            "it says it is by `human:bob`",
        ),
        (
            json!({ "by": "system", "verb": "approve" }),
            403,
            "only a person may decide this",
        ),
        (
            json!({ "by": "agent:claude-code/1", "verb": "undo" }),
            403,
            "only a person may decide this",
        ),
        (
            json!({ "facts": draft }),
            403,
            "by the rules it is `approved`",
        ),
        (
            json!({ "at": "2020-01-01T00:00:00Z" }),
            403,
            "it is dated 2020",
        ),
        (json!({ "id": forger.head + 2 }), 409, "expected operation"),
        (
            json!({ "facts": [{ "fact": "made-up" }] }),
            400,
            "cannot be parsed",
        ),
        (
            json!({ "summary": "use ghp_0123456789abcdefghijABCDEFGHIJ012345" }),
            403,
            "it holds 1 secret (github token)",
        ),
    ] {
        let (found, answer) = forger.send(fields.clone());
        assert!(
            found == status && answer.contains(why),
            "{fields}: {found} {answer}"
        );
    }
    let (found, answer) = forger.send_line("{\"op\":{}");
    assert!(found == 400 && answer.contains("cut off"), "{answer}");
    let (found, _) = team.request("POST", "/api/team/operations", "tl_wrong", "{}");
    assert_eq!(found, 401);
    assert_eq!(Forger::of(&team).head, forger.head);
    team.project.ok(&["check"]);
    // The same by hand, but true, is as good as by `tl`; and only once.
    let (found, answer) = forger.send(json!({ "summary": "честно" }));
    assert_eq!(found, 200, "{answer}");
    let (found, answer) = forger.send(json!({ "summary": "слишком поздно" }));
    assert!(found == 409 && answer.contains("\"conflict\""), "{answer}");
    assert_eq!(Forger::of(&team).head, forger.head + 1);
    team.project.ok(&["check"]);
}

#[test]
fn a_token_is_good_for_what_it_says_and_in_no_other_name() {
    let team = Team::start();
    let laptop = |name: &str, principal: &str, scope: &str| {
        let given = team.project.json(&[
            "team", "token", "create", name, "--as", principal, "--scope", scope,
        ]);
        team.laptop_with(&team.url(), text(&given, "secret"))
    };
    let anna = laptop("Анна", "human:Анна", "approve");
    let ci = laptop("ci", "agent:ci/1", "agent");
    let guest = laptop("guest", "human:guest", "read");
    let by = |project: &Project| text(&project.json(&["log", "--limit", "1"])[0], "by").to_owned();
    for project in [&anna, &ci] {
        project.ok(&["comment", "act-1", "--message", "слово"]);
    }
    assert_eq!(by(&guest), "agent:ci/1", "who may look sees it");
    let looked = guest.run(&["comment", "act-1", "--message", "I, too"]);
    assert!(
        looked.code == 1 && looked.stderr.contains("token is read-only"),
        "{}",
        looked.stderr
    );
    ci.write(Project::ACT, ACT_EDITED);
    anna.write(Project::ACT, ACT_EDITED);
    let decided = ci.run(&["approve", "act-1"]);
    assert!(
        decided.code == 1 && decided.stderr.contains("only a person may decide this"),
        "{}",
        decided.stderr
    );
    assert_eq!(ci.status("act-1"), "draft");
    anna.ok(&["approve", "act-1"]);
    assert_eq!(
        (ci.status("act-1").as_str(), by(&ci).as_str()),
        ("approved", "human:Анна")
    );
    // Her agent does not decide for her, although it has her token.
    let last = anna.json(&["log", "--limit", "1"])[0]["operation"].to_string();
    let agent = run_with(
        &anna,
        &[("CLAUDECODE", "1"), ("THROUGHLINE_SESSION", "s7")],
        &["undo", &last],
    );
    assert!(
        agent.code == 1 && agent.stderr.contains("`agent:claude-code/s7`"),
        "{}",
        agent.stderr
    );
    let log = ci.json(&["log", "--limit", "100"]);
    let names: Vec<&str> = log
        .as_array()
        .expect("a log")
        .iter()
        .map(|one| text(one, "by"))
        .collect();
    assert!(
        !names.contains(&"human:guest") && !names.contains(&"agent:claude-code/s7"),
        "{names:?}"
    );
    // A token that was taken back is worth nothing, also for looking.
    team.project.ok(&["team", "token", "revoke", "1"]);
    let begun = Instant::now();
    loop {
        let refused = anna.run(&["show", "act-1"]);
        if refused.code != 0 {
            assert!(
                refused.stderr.contains("rejects this token"),
                "{}",
                refused.stderr
            );
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it still counts");
    }
}

#[test]
fn a_row_that_cannot_be_read_is_not_reported_as_another_history() {
    let team = Team::start();
    let (_, history) = team.request("GET", "/api/team/operations?after=0", &team.token, "");
    let first: Value =
        serde_json::from_str(history.lines().nth(1).expect("an operation")).expect("JSON");
    let damage = r#"connection.execute("UPDATE operation SET prev = x'00' WHERE id = 1")"#;
    if sqlite(&team.project, damage).is_none() {
        return;
    }
    let place = format!("/api/team/operations?after=1&hash={}", text(&first, "hash"));
    let (status, answer) = team.request("GET", &place, &team.token, "");
    // The damaged row is repaired from the journal, and the replica goes on from its place.
    assert_eq!(status, 200, "{answer}");
}
