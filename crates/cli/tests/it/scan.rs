//! `tl trail scan`: the tree, in the exchange form of the design.

use crate::{keys, trail};

#[test]
fn the_fields_are_those_of_the_design() {
    let project = trail();
    let empty = project.json(&["trail", "scan"]);
    assert!(
        empty["root"].is_null() && empty["cursor"].is_null() && empty["version"] == 1,
        "{empty}"
    );
    project.ok(&["trail", "intent", "Построить вход"]);
    project.ok(&["trail", "map", "tactic", "JWT", "--status", "complete"]);
    let tree = project.json(&["trail", "scan"]);
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
    let drawn = project.ok(&["trail", "scan"]).stdout;
    assert!(
        drawn.contains("Построить вход (active)  ◀ you are here") && drawn.contains("✓"),
        "{drawn}"
    );
}
