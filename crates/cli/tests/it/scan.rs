//! `tl scan`: the tree, in the exchange form of the design.

use crate::{keys, trail};

#[test]
fn the_fields_are_those_of_the_design() {
    let project = trail();
    let empty = project.json(&["scan"]);
    assert!(
        empty["root"].is_null() && empty["cursor"].is_null() && empty["version"] == 1,
        "{empty}"
    );
    project.ok(&["intent", "Построить вход"]);
    project.ok(&["map", "tactic", "JWT", "--status", "complete"]);
    let tree = project.json(&["scan"]);
    assert_eq!(
        keys(&tree["root"]),
        [
            "children", "content", "created", "id", "level", "stamp", "status"
        ]
    );
    assert_eq!(
        keys(&tree["root"]["children"][0]),
        [
            "children",
            "completed",
            "content",
            "created",
            "id",
            "level",
            "stamp",
            "status"
        ]
    );
    assert_eq!(tree["cursor"], tree["root"]["id"]);
    let drawn = project.ok(&["scan"]).stdout;
    assert!(
        drawn.contains("Построить вход (active)  ◀ you are here") && drawn.contains("✓"),
        "{drawn}"
    );
}
