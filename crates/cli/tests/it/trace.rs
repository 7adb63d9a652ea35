//! `tl trail trace`: everything with a stamp.

use crate::{assert_refused, text, trail};

#[test]
fn one_stamp_finds_everything() {
    let project = trail();
    assert!(project.shell("git init -q . && git config user.name x && git config user.email x@y"));
    let stamp = text(&project.json(&["trail", "intent", "Build auth"]), "stamp").to_owned();
    project.ok(&["note", "add", "--pin", "JWT holds"]);
    project.ok(&["note", "add", "about jose"]);
    assert!(project.shell(&format!(
        "git commit -q --allow-empty -m '[{stamp}] middleware complete'"
    )));
    project.ok(&["trail", "compact"]);
    let found = project.json(&["trail", "trace", &stamp]);
    assert_eq!(text(&found["nodes"][0], "content"), "Build auth");
    assert_eq!(text(&found["sessions"][0], "stamp"), stamp);
    assert_eq!(text(&found["anchors"][0], "text"), "JWT holds");
    assert_eq!(text(&found["notes"][0], "text"), "about jose");
    assert!(text(&found["commits"][0], "text").contains("middleware complete"));
    assert_eq!(found["archives"].as_array().map(Vec::len), Some(2));
    let printed = project.ok(&["trail", "trace", &stamp]).stdout;
    for title in [
        "Nodes", "Sessions", "Log", "Anchors", "Notes", "Commits", "Archives",
    ] {
        assert!(printed.contains(title), "{printed}");
    }
    assert!(
        project
            .ok(&["trail", "trace", "3014110226"])
            .stderr
            .contains("nothing found with stamp 30141102026")
    );
    assert_refused(
        &project,
        &["trail", "trace", "yesterday"],
        "invalid",
        &["is not a stamp"],
    );
}
