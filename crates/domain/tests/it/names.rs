//! How nodes are named: patterns, short forms, look-up, suggestions.

use domain::node_reference::{NodeReference, Unresolved};
use domain::profile::{AliasPattern, FilePattern, Profile, built_in_profile};

fn story() -> Vec<Profile> {
    vec![built_in_profile("story").unwrap()]
}

#[test]
fn aliases_are_read_in_every_form() {
    let story = built_in_profile("story").unwrap();
    let check = |level: &str, text: &str, expected: Result<(&str, Option<u32>), &str>| {
        let found = story.find_level(level).unwrap().read_alias(text);
        match expected {
            Ok((alias, parent)) => {
                let found = found.unwrap_or_else(|error| panic!("{level} {text}: {error}"));
                assert_eq!(
                    (found.alias.as_str(), found.parent_number),
                    (alias, parent),
                    "{level} {text}"
                );
            }
            Err(message) => assert_eq!(found.unwrap_err().to_string(), message, "{level} {text}"),
        }
    };
    check("act", "1", Ok(("act-1", None)));
    check("act", "act-10", Ok(("act-10", None)));
    check("act", "ACT-2", Ok(("act-2", None)));
    check("act", "11", Ok(("act-11", None)));
    check(
        "act",
        "0",
        Err("`0` is not a valid act: the number must be 1–999"),
    );
    check(
        "act",
        "x",
        Err("`x` is not a valid act: expected `act-4` or `4`"),
    );
    check("chapter", "2", Ok(("chapter-02", None)));
    check("chapter", "chapter-2", Ok(("chapter-02", None)));
    check("chapter", "chapter-02", Ok(("chapter-02", None)));
    check("chapter", "100", Ok(("chapter-100", None)));
    check("chapter", "0", Ok(("chapter-00", None)));
    check("chapter", "Prologue", Ok(("prologue", None)));
    check("chapter", "Эпилог", Ok(("эпилог", None)));
    check("chapter", "interlude-4", Ok(("interlude-04", None)));
    check(
        "chapter",
        "interlude",
        Err("`interlude` is not a valid chapter: expected `chapter-04` or `04`"),
    );
    check("scene", "10001", Ok(("scene-10001", Some(100))));
    check("scene", "prologue-01", Ok(("scene-prologue-01", None)));
    check(
        "chapter",
        "-1",
        Err("`-1` is not a valid chapter: expected `chapter-04` or `04`"),
    );
    check("scene", "0204", Ok(("scene-0204", Some(2))));
    check("scene", "204", Ok(("scene-0204", Some(2))));
    check("scene", "scene-0204", Ok(("scene-0204", Some(2))));
    check(
        "scene",
        "4",
        Err("`4` is not a valid scene: expected `scene-0204` or `0204`"),
    );
    check(
        "scene",
        "04",
        Err("`04` is not a valid scene: expected `scene-0204` or `0204`"),
    );
    check(
        "scene",
        "02044",
        Err("`02044` is not a valid scene: expected `scene-0204` or `0204`"),
    );
    check(
        "scene",
        "0200",
        Err("`0200` is not a valid scene: the number must be 1–99"),
    );
    check(
        "scene",
        "",
        Err("`` is not a valid scene: expected `scene-0204` or `0204`"),
    );
    check(
        "scene",
        "９９",
        Err("`９９` is not a valid scene: expected `scene-0204` or `0204`"),
    );
}

#[test]
fn ids_and_names() {
    let tickets = built_in_profile("tickets").unwrap();
    let ticket = tickets.find_level("ticket").unwrap();
    assert_eq!(ticket.read_alias("017a").unwrap().number, Some(17));
    assert!(ticket.read_alias("017a-login").is_err());
    assert!(ticket.read_alias("../x").is_err());
    let scenario = tickets.find_level("scenario").unwrap();
    assert_eq!(
        scenario.read_alias("вход-по-паролю").unwrap().alias,
        "вход-по-паролю"
    );
    for bad in ["a/b", "a b", "..", ".", "", "a\u{0}"] {
        assert!(scenario.read_alias(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn patterns_say_what_is_allowed() {
    let check = |text: &str, expected: &str| {
        assert_eq!(AliasPattern::parse(text).unwrap_err(), expected, "{text}")
    };
    let all = "expected `{n}`, `{n:2}` (padded to two digits), `{parent.n:2}`, `{id}` (letters and digits) or `{name}`";
    check(
        "part",
        &format!("no placeholder for the node's own name: {all}"),
    );
    check("part-{x}", &format!("unknown placeholder `{{x}}`: {all}"));
    check("part-{n}{n}", "`{n}` may appear only once");
    check("part-{n", "unclosed `{`");
    check("part-n}", "unmatched `}`");
    check("a b-{n}", "an alias cannot contain a slash or whitespace");
    check(
        "x{parent.n}{n:2}",
        "`{parent.n}` needs a width, as in `{parent.n:2}`",
    );
    check(
        "x{parent.n:2}{n}",
        "after `{parent.n:2}` the own number needs a width, as in `{n:2}`",
    );
    check(
        "x{parent.n:2}-{n:2}",
        "`{parent.n:2}` must come right before `{n:2}`",
    );
    check("x{n:two}", "`two` is not a width: expected 1 to 9 digits");

    let check = |text: &str, expected: &str| {
        assert_eq!(FilePattern::parse(text).unwrap_err(), expected, "{text}")
    };
    check(
        "/etc/{alias}",
        "expected a relative path of a file, with `/` between its parts",
    );
    check(
        "a/{alias}/",
        "expected a relative path of a file, with `/` between its parts",
    );
    check(
        "../{alias}.md",
        "a file must be below its folder: no empty part, no `.` and no `..`",
    );
    check(
        "a/plan.md",
        "no `{alias}`: expected it in the part that differs from node to node",
    );
    check(
        "a/{alias}{slug}.md",
        "a separator is needed between `{alias}` and `{slug}`, as in `{alias}-{slug}`",
    );
    check(
        "{slug}/{alias}.md",
        "`{slug}` may appear only beside the first `{alias}`",
    );
    check(
        "{alias}/{who}.md",
        "unknown placeholder `{who}`: expected `{alias}` or `{slug}`",
    );
}

#[test]
fn files_are_found_and_placed() {
    let pattern = FilePattern::parse("scenes/{alias}-blueprint.md").unwrap();
    assert_eq!(pattern.listing_folder("acts/act-1"), "acts/act-1/scenes");
    assert_eq!(
        pattern.alias_in("scene-0204-blueprint.md"),
        Some("scene-0204")
    );
    assert_eq!(pattern.alias_in("scene-0204.md"), None);
    assert_eq!(
        pattern.file_for("acts/act-1", "scene-0204"),
        "acts/act-1/scenes/scene-0204-blueprint.md"
    );
    let pattern = FilePattern::parse("tickets/{alias}-{slug}/ticket.md").unwrap();
    assert_eq!(pattern.alias_in("017a-log-in"), Some("017a"));
    assert_eq!(pattern.alias_in("017a"), Some("017a"));
    assert_eq!(
        pattern.file_at("", "017a-log-in", "017a"),
        "tickets/017a-log-in/ticket.md"
    );
    assert_eq!(pattern.file_for("", "018"), "tickets/018/ticket.md");
}

#[test]
fn references_are_written_out_and_picked() {
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let read = |text: &str| {
        let words = words(text);
        let (reference, rest) = NodeReference::parse_words(&words, &story()).unwrap();
        (reference.joined_name(), rest.join(" "))
    };
    assert_eq!(read("chapter-2"), ("chapter-02".to_owned(), String::new()));
    assert_eq!(read("chapter 2"), ("chapter-02".to_owned(), String::new()));
    assert_eq!(
        read("Chapter 2 -1"),
        ("chapter-02".to_owned(), "-1".to_owned())
    );
    assert_eq!(
        read("act-2/chapter-2"),
        ("act-2/chapter-02".to_owned(), String::new())
    );
    assert_eq!(
        read("scene 204 3f2a"),
        ("scene-0204".to_owned(), "3f2a".to_owned())
    );
    assert_eq!(
        read("chapter-02 -1"),
        ("chapter-02".to_owned(), "-1".to_owned())
    );
    assert!(matches!(
        NodeReference::parse_words(&[], &story()),
        Err(Unresolved::Nothing)
    ));
    assert!(matches!(
        NodeReference::parse_single_word("/", &story()),
        Err(Unresolved::Nothing)
    ));

    let paths = ["act-1/chapter-02".to_owned(), "act-2/chapter-02".to_owned()];
    let pick = |name: &str| {
        NodeReference::parse_single_word(name, &story())
            .unwrap()
            .pick_matching_path(&paths, || {
                vec!["act-1".to_owned(), "act-1/chapter-02".to_owned()]
            })
    };
    assert_eq!(pick("act-2/chapter-02"), Ok(1));
    assert_eq!(
        pick("chapter-02"),
        Err(Unresolved::Ambiguous {
            name: "chapter-02".to_owned(),
            candidates: paths.to_vec()
        })
    );
    assert_eq!(
        pick("chaptr-02"),
        Err(Unresolved::NotFound {
            name: "chaptr-02".to_owned(),
            near: vec!["chapter-02".to_owned()]
        })
    );
}
