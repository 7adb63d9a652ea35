//! `tl trail session`: list, show, archive.

use crate::{assert_refused, in_session, text, trail};

#[test]
fn sessions_are_listed_shown_and_archived() {
    let project = trail();
    project.ok(&["trail", "intent", "One"]);
    assert_eq!(
        in_session(&project, "s2", &["trail", "intent", "Two"]).code,
        0
    );
    let list = project.json(&["trail", "session", "list"]);
    assert_eq!(
        (text(&list[0], "trajectory"), text(&list[1], "trajectory")),
        ("Two", "One")
    );
    let stamp = text(&list[0], "stamp").to_owned();
    assert!(
        project
            .ok(&["trail", "session", "show", &stamp])
            .stdout
            .contains("intent: Two")
    );
    project.ok(&["trail", "session", "archive", &stamp]);
    assert_refused(
        &project,
        &["trail", "session", "archive", &stamp],
        "refused",
        &["already archived"],
    );
    assert_refused(
        &project,
        &["trail", "session", "show", "30141102026"],
        "not-found",
        &["no session"],
    );
    assert_refused(
        &project,
        &["trail", "session", "show", "nonsense"],
        "invalid",
        &["is not a stamp"],
    );
    let manifest: serde_json::Value =
        serde_json::from_str(&project.read(".throughline/sessions/manifest.json")).unwrap();
    assert_eq!(manifest["active_stamp"], list[1]["stamp"]);
    assert_eq!(manifest["sessions"][1]["status"], "archived");
}

#[test]
fn what_people_write_into_a_session_file_stays() {
    let project = trail();
    let file = text(&project.json(&["trail", "intent", "One"]), "session_file").to_owned();
    let edited = project
        .read(&file)
        .replace("anything goes. -->", "anything goes. -->\n\nmy own thought")
        + "\n## Mine\nkept\n";
    project.write(&file, edited);
    project.ok(&["trail", "map", "tactic", "More"]);
    let now = project.read(&file);
    assert!(
        now.contains("my own thought")
            && now.contains("## Mine\nkept")
            && now.contains("tactic: More"),
        "{now}"
    );
    // A missing file is written again; one that cannot be written does not stop the work.
    std::fs::remove_file(project.root().join(&file)).unwrap();
    project.ok(&["trail", "map", "tactic", "Again"]);
    assert!(project.read(&file).contains("tactic: More"));
    std::fs::remove_file(project.root().join(&file)).unwrap();
    std::fs::create_dir(project.root().join(&file)).unwrap();
    let output = project.ok(&["trail", "map", "tactic", "Still"]);
    assert!(
        output.stderr.contains("is not up to date"),
        "{}",
        output.stderr
    );
}
