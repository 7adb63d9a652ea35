//! What somebody with a token may try to send to a team server, and what becomes of it.

use domain::ids::Digest32;
use domain::ports::Clock;
use serde_json::{Value, json};
use store::SystemClock;

use crate::remote::Team;

/// A server's history, as somebody sees it who goes on with it by hand.
struct Forger<'t> {
    team: &'t Team,
    head: u64,
    hash: String,
}

impl<'t> Forger<'t> {
    fn of(team: &'t Team) -> Self {
        let (status, answer) = team.request("GET", "/api/team/operations?after=1000000", &team.token, "");
        assert_eq!(status, 200, "{answer}");
        let greeting: Value = serde_json::from_str(answer.lines().next().unwrap_or_default()).expect("a greeting");
        let hash = greeting["headHash"].as_str().expect("a hash").to_owned();
        Self { team, head: greeting["head"].as_u64().expect("a number"), hash }
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
        let hash = Digest32::of(&[&prev.0[..], body.as_bytes()].concat());
        let line = format!("{{\"op\":{body},\"texts\":{{}},\"prev\":\"{prev}\",\"hash\":\"{hash}\"}}\n");
        self.send_line(&line)
    }

    fn send_line(&self, line: &str) -> (u16, String) {
        let head = json!({ "after": self.head, "hash": self.hash });
        self.team.request("POST", "/api/team/operations", &self.team.token, &format!("{head}\n{line}"))
    }
}

fn now() -> String {
    SystemClock.now().to_string()
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
        (json!({ "by": "human:bob" }), 403, "it says it is by `human:bob`"),
        (json!({ "by": "system", "verb": "approve" }), 403, "a person's word"),
        (json!({ "by": "agent:claude-code/1", "verb": "undo" }), 403, "a person's word"),
        (json!({ "facts": draft }), 403, "by the rules it is `approved`"),
        (json!({ "at": "2020-01-01T00:00:00Z" }), 403, "it is dated 2020"),
        (json!({ "id": forger.head + 2 }), 409, "was expected"),
        (json!({ "facts": [{ "fact": "made-up" }] }), 400, "cannot be read"),
    ] {
        let (found, answer) = forger.send(fields.clone());
        assert!(found == status && answer.contains(why), "{fields}: {found} {answer}");
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
    assert!(found == 409 && answer.contains("overtaken"), "{answer}");
    assert_eq!(Forger::of(&team).head, forger.head + 1);
    team.project.ok(&["check"]);
}
