//! `tl state backup`

use testkit::Project;

use crate::story;

#[test]
fn a_backup_is_whole_and_said_to_be() {
    let project = story();
    project.plan_story();
    let output = project.ok(&["state", "backup", "novel.tlbackup"]);
    assert!(output.stdout.contains("verified"), "{output:?}");
    let view = project.json(&["state", "backup", "novel.tlbackup"]);
    let log = project.json(&["log"]);
    assert_eq!(view["operations"], log[0]["operation"], "{view} {log}");
    assert!(
        project
            .root()
            .join("novel.tlbackup")
            .metadata()
            .unwrap()
            .len()
            > 0
    );
}

#[test]
fn without_a_state_there_is_nothing_to_write() {
    let project = Project::empty(std::path::Path::new(env!("CARGO_BIN_EXE_tl")));
    assert_ne!(project.run(&["state", "backup", "novel.tlbackup"]).code, 0);
    let project = story();
    assert_ne!(
        project
            .run(&["state", "backup", "no/such/folder/novel.tlbackup"])
            .code,
        0
    );
}
