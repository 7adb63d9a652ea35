//! The migrations make exactly the checked-in schema.

use std::collections::BTreeMap;

use domain::settings::Storage;

use crate::Place;

/// `UPDATE_SCHEMA=1` rewrites the file.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the person who changes the schema"
)]
fn migrations_make_the_checked_in_schema() {
    let place = Place::new(Storage::Sqlite);
    let connection = rusqlite::Connection::open(place.layout().database).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name",
        )
        .unwrap();
    let parts: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let found = parts
        .iter()
        .map(|sql| format!("{sql};\n"))
        .collect::<Vec<_>>()
        .join("\n");
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
    assert!(
        rusqlite::version_number() >= 3_051_003,
        "{}",
        rusqlite::version()
    );
}

/// Both databases have the same migrations, tables and columns.
#[test]
fn postgres_has_the_tables_of_sqlite() {
    let steps = |engine: &str| {
        let folder = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    // The names and ids of projects are PostgreSQL's alone: a SQLite file is one project's.
    let of_projects = |name: &std::ffi::OsString| name == "0002_project_id.sql";
    let shared: Vec<_> = steps("postgres")
        .into_iter()
        .filter(|name| !of_projects(name))
        .collect();
    assert_eq!(steps("sqlite"), shared);

    type Tables = BTreeMap<String, Vec<(String, String, bool)>>;
    let place = Place::new(Storage::Sqlite);
    let connection = rusqlite::Connection::open(place.layout().database).unwrap();
    let sql = "SELECT t.name, c.name, c.type, c.\"notnull\" OR c.pk > 0 FROM sqlite_schema AS t, pragma_table_info(t.name) AS c \
               WHERE t.type = 'table' AND t.name NOT LIKE 'search%' ORDER BY t.name, c.cid";
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut expected = Tables::new();
    while let Some(row) = rows.next().unwrap() {
        let kind = match row.get::<_, String>(2).unwrap().as_str() {
            "INTEGER" => "bigint",
            "BLOB" => "bytea",
            _ => "text",
        };
        let column = (row.get(1).unwrap(), kind.to_owned(), row.get(3).unwrap());
        expected
            .entry(row.get(0).unwrap())
            .or_default()
            .push(column);
    }
    // What one row is in SQLite is one for each project here.
    expected
        .get_mut("store")
        .unwrap()
        .retain(|(name, ..)| name != "one");

    let database = testkit::Database::new();
    drop(Place::shared(&database.url(), "story").open());
    let sql = "SELECT table_name::TEXT, column_name::TEXT, data_type::TEXT, is_nullable = 'NO' \
               FROM information_schema.columns WHERE table_schema = 'throughline' \
               AND table_name NOT IN ('project', 'migration', 'searched') ORDER BY table_name, ordinal_position";
    let mut found = Tables::new();
    for row in database.client().query(sql, &[]).unwrap() {
        found
            .entry(row.get(0))
            .or_default()
            .push((row.get(1), row.get(2), row.get(3)));
    }
    for (table, columns) in &mut found {
        assert_eq!(columns.remove(0).0, "project", "{table}");
    }
    found
        .get_mut("operation")
        .unwrap()
        .retain(|(name, ..)| name != "writer");
    found
        .get_mut("stamp")
        .unwrap()
        .retain(|(name, ..)| name != "place");
    assert_eq!(found, expected);
}
