//! The token store: the same in both databases, isolated by project, and not part of a rebuild.

use domain::authorization::Scope;
use domain::ids::Principal;
use domain::ports::{Store, TokenEntry, TokenStore};
use domain::settings::Storage;
use domain::token::{AuditEntry, NewToken, Token, TokenState, cookie_value, secret_hash};
use store::{QuarantineReason, ReplacementCause, StoreDump};
use testkit::{Database, timestamp};

use crate::Place;

fn entry(name: &str, secret: &str) -> TokenEntry {
    TokenEntry {
        new: NewToken::try_new(name, "human:anna", Scope::Approve).unwrap(),
        hash: secret_hash(secret),
        cookie: secret_hash(&cookie_value(secret)),
        at: timestamp(1),
        by: Principal::Human("admin".to_owned()),
        expires_at: Some(timestamp(100)),
    }
}

fn line(action: &str, at: u32) -> AuditEntry {
    AuditEntry {
        at: timestamp(at.into()),
        principal: Some(Principal::Human("anna".to_owned())),
        token: Some(1),
        action: action.to_owned(),
        outcome: "done".to_owned(),
        detail: String::new(),
        from: "192.0.2.1".to_owned(),
        trace: None,
        times: 1,
    }
}

fn book(store: &dyn Store) -> Box<dyn TokenStore + '_> {
    store.token_store().expect("a book")
}

fn told(store: &dyn Store) {
    let first = book(store).add_token(&entry("laptop", "tl_one")).unwrap();
    let second = book(store).add_token(&entry("desk", "tl_two")).unwrap();
    assert!(first.id < second.id);
    assert_eq!(
        book(store).list_tokens().unwrap(),
        [first.clone(), second.clone()]
    );
    assert!(
        book(store).add_token(&entry("again", "tl_one")).is_err(),
        "a secret is one token's"
    );

    book(store)
        .append_audit_log(&[], &[(first.id, timestamp(5))])
        .unwrap();
    book(store)
        .append_audit_log(&[], &[(first.id, timestamp(3))])
        .unwrap();
    let used = Token {
        last_used_at: Some(timestamp(5)),
        ..first.clone()
    };
    assert_eq!(book(store).list_tokens().unwrap()[0], used);

    let revoked = book(store)
        .revoke_token(second.id, timestamp(7))
        .unwrap()
        .unwrap();
    assert_eq!(revoked.state_at(timestamp(7)), TokenState::Revoked);
    let again = book(store)
        .revoke_token(second.id, timestamp(9))
        .unwrap()
        .unwrap();
    assert_eq!(
        again.revoked_at,
        Some(timestamp(7)),
        "it is taken back once"
    );
    assert_eq!(
        book(store).revoke_token(99_999, timestamp(9)).unwrap(),
        None
    );
    assert_eq!(book(store).list_unrevoked_tokens().unwrap(), [used]);

    let lines: Vec<AuditEntry> = (1..=5)
        .map(|at| line(&format!("action {at}"), at))
        .collect();
    book(store).append_audit_log(&lines, &[]).unwrap();
    let actions = |most| -> Vec<String> {
        book(store)
            .read_audit_log(most)
            .unwrap()
            .into_iter()
            .map(|line| line.action)
            .collect()
    };
    assert_eq!(actions(2), ["action 5", "action 4"]);
    book(store).prune_audit_log(timestamp(2), 100).unwrap();
    assert_eq!(actions(9).len(), 4);
    book(store).prune_audit_log(timestamp(0), 3).unwrap();
    assert_eq!(actions(9), ["action 5", "action 4", "action 3"]);
    assert_eq!(
        book(store).read_audit_log(1).unwrap(),
        [line("action 5", 5)]
    );
}

#[test]
fn sqlite_keeps_a_book() {
    let place = Place::new(Storage::Sqlite);
    told(&*place.open());
}

#[test]
fn postgres_keeps_a_book_for_each_project() {
    for plain in [false, true] {
        let database = Database::new();
        let url = if plain {
            database.url_of_plain_user()
        } else {
            database.url()
        };
        let (one, two) = (
            Place::shared(&url, "one").open(),
            Place::shared(&url, "two").open(),
        );
        told(&*one);
        assert_eq!(book(&*two).list_tokens().unwrap(), []);
        assert_eq!(book(&*two).read_audit_log(10).unwrap(), []);
        assert_eq!(book(&*two).revoke_token(1, timestamp(1)).unwrap(), None);
        told(&*two);
        assert!(
            book(&*one).store_time().unwrap().is_some(),
            "tokens end by the database's clock"
        );
    }
}

#[test]
fn json_keeps_none() {
    assert!(Place::new(Storage::Json).open().token_store().is_none());
}

/// Replaces the state by an empty one, as `tl state rebuild` does.
fn start_from_scratch(place: &Place) {
    let empty =
        store::empty_successor_state(&place.layout(), place.storage, &place.known()).unwrap();
    let cause = ReplacementCause {
        command: "rebuild",
        reason: QuarantineReason::Replaced,
        why: "a test".to_owned(),
        now: timestamp(1),
    };
    let cargo = StoreDump::from_store(&empty).unwrap();
    store::replace_state(
        &place.layout(),
        place.storage,
        &place.known(),
        &cargo,
        &cause,
    )
    .unwrap();
}

#[test]
fn it_outlives_a_rebuild() {
    let database = Database::new();
    for place in [
        Place::new(Storage::Sqlite),
        Place::shared(&database.url(), "one"),
    ] {
        let store = place.open();
        told(&*store);
        let (tokens, lines) = (
            book(&*store).list_tokens().unwrap(),
            book(&*store).read_audit_log(10).unwrap(),
        );
        drop(store);
        let same = |store: &dyn Store| {
            assert_eq!(book(store).list_tokens().unwrap(), tokens);
            assert_eq!(book(store).read_audit_log(10).unwrap(), lines);
        };
        // A row without its sum, so that there is something to rebuild.
        let bad = "INSERT INTO record (kind, key, body, sum) VALUES ('count', 'x', '{}', 0)";
        if place.storage == Storage::Sqlite {
            rusqlite::Connection::open(place.layout().database)
                .unwrap()
                .execute(bad, [])
                .unwrap();
        }
        let (rebuilt, recoveries) = place.try_open(Some("a test")).unwrap();
        assert!(recoveries[0].message.contains("rebuilt"), "{recoveries:?}");
        same(&*rebuilt);
        drop(rebuilt);
        start_from_scratch(&place);
        same(&*place.open());
        let next = book(&*place.open())
            .add_token(&entry("third", "tl_three"))
            .unwrap();
        assert!(next.id > tokens[1].id, "a number is not given twice");
    }
}

/// Discarding another user's state also discards its tokens.
#[test]
fn tokens_of_a_foreign_store_are_not_taken_over() {
    let place = Place::new(Storage::Sqlite);
    told(&*place.open());
    std::fs::remove_dir_all(place.root().join("user")).unwrap();
    start_from_scratch(&place);
    assert_eq!(book(&*place.open()).list_tokens().unwrap(), []);
}
