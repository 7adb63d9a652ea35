//! What needs what, and what is ready.

use domain::needs::{Needs, find_ready_nodes};
use domain::node::Progress;
use domain::profile::built_in_profile;
use domain::tree::Tree;
use testkit::parse_tree;

/// Lines of `alias: needs …` and `alias = progress` over a tree of approved nodes.
fn check(tree: &str, notes: &str, expected_ready: &[&str], expected_problems: &[&str]) {
    let mut nodes: Vec<_> = parse_tree(tree).nodes().cloned().collect();
    for line in notes.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some((alias, needs)) = line.split_once(':') {
            let node = nodes.iter_mut().find(|node| node.alias == alias).unwrap();
            node.description.needs = needs
                .split(',')
                .map(|name| name.trim().to_owned())
                .collect();
        } else if let Some((alias, word)) = line.split_once('=') {
            let node = nodes
                .iter_mut()
                .find(|node| node.alias == alias.trim())
                .unwrap();
            node.progress = Progress::ALL
                .into_iter()
                .find(|progress| progress.as_str() == word.trim())
                .unwrap();
        }
    }
    let tree = Tree::new(nodes);
    let needs = Needs::from_tree(&tree, &[built_in_profile("story").unwrap()]);
    let found: Vec<String> = find_ready_nodes(&tree, &needs, &|_| true)
        .iter()
        .map(|node| node.alias.clone())
        .collect();
    assert_eq!(found, expected_ready);
    let problems: Vec<String> = needs.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, expected_problems);
}

const STORY: &str = "
act-1 approved
  chapter-01 approved
    scene-0101 approved
    scene-0102 approved
  chapter-02 approved
    scene-0201 draft
";

#[test]
fn the_deepest_open_work_is_ready() {
    check(STORY, "", &["scene-0101", "scene-0102"], &[]);
    check(STORY, "scene-0101 = complete", &["scene-0102"], &[]);
    check(
        STORY,
        "scene-0101 = complete\nscene-0102 = complete",
        &["chapter-01"],
        &[],
    );
    check(STORY, "scene-0101 = blocked", &["scene-0102"], &[]);
}

#[test]
fn what_is_needed_comes_first() {
    check(STORY, "scene-0101: scene-0102", &["scene-0102"], &[]);
    check(
        STORY,
        "scene-0101: scene 0102\nscene-0102 = complete",
        &["scene-0101"],
        &[],
    );
    check(STORY, "chapter-01: chapter-02", &[], &[]);
}

#[test]
fn circles_are_refused() {
    check(
        STORY,
        "scene-0101: scene-0102\nscene-0102: scene-0101",
        &["scene-0102"],
        &[
            "`act-1/chapter-01/scene-0102` cannot need `scene-0101`: scene-0102 needs scene-0101 needs scene-0102",
        ],
    );
    check(
        STORY,
        "scene-0101: scene-0101",
        &["scene-0101", "scene-0102"],
        &["`act-1/chapter-01/scene-0101` cannot need `scene-0101`: scene-0101 needs scene-0101"],
    );
}

#[test]
fn unknown_and_ambiguous_names_are_told() {
    check(
        STORY,
        "scene-0101: scene-0999",
        &["scene-0101", "scene-0102"],
        &["`act-1/chapter-01/scene-0101` needs `scene-0999`, but there is no such node"],
    );
    let two_acts = "act-1 approved\n  chapter-01 approved\nact-2 approved\n  chapter-01 approved\n  chapter-02 approved\nact-3 approved\n";
    check(
        two_acts,
        "chapter-02: chapter-01",
        &["chapter-01", "chapter-01", "act-3"],
        &[],
    );
    check(
        two_acts,
        "act-3: chapter-01",
        &["chapter-01", "chapter-01", "chapter-02", "act-3"],
        &["`act-3` needs `chapter-01`, which could be any of act-1/chapter-01, act-2/chapter-01"],
    );
}

#[test]
fn ids_in_needs_are_text_however_they_are_written() {
    for (value, expected) in [
        ("[002]", vec!["002"]),
        ("002", vec!["002"]),
        (
            "[ 002, \"003\", 017a, 1e3 ] # two of them",
            vec!["002", "003", "017a", "1e3"],
        ),
        (
            "\n  - 002   # the first\n  - '003'\n  - chapter 4",
            vec!["002", "003", "chapter 4"],
        ),
    ] {
        let text = format!("---\nid: 004\nneeds: {value}\n---\n# Four\n");
        let front = domain::front_matter::parse_front_matter(&text);
        assert_eq!(front.get_list("needs"), expected, "{value}");
    }
}
