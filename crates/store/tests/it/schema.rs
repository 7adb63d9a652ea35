//! The migrations make exactly the checked-in schema.

use domain::settings::Storage;

use crate::Place;

/// `UPDATE_SCHEMA=1` writes the file anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "a switch for the person who changes the schema")]
fn migrations_make_the_checked_in_schema() {
    let place = Place::new(Storage::Sqlite);
    let connection = rusqlite::Connection::open(place.layout().database).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name",
        )
        .unwrap();
    let parts: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let found = parts.iter().map(|sql| format!("{sql};\n")).collect::<Vec<_>>().join("\n");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.sqlite.sql");
    if std::env::var("UPDATE_SCHEMA").is_ok() {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        found,
        "run with UPDATE_SCHEMA=1 after a new migration"
    );
}

/// One-shot processes depend on a SQLite that does not lose committed pages.
#[test]
fn sqlite_is_new_enough() {
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}
