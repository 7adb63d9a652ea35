//! `tl man`

use crate::{COMMANDS, assert_refused, empty, names_in};

#[test]
fn every_command_has_a_page() {
    let project = empty();
    let output = project.ok(&["man", "share/man1"]);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("share/man1"), "{}", output.stderr);
    let names = names_in(&project, "share/man1");
    assert!(names.contains(&"tl.1".to_owned()), "{names:?}");
    for command in COMMANDS {
        let name = format!("tl-{}.1", command.replace(' ', "-"));
        assert!(names.contains(&name), "no {name} in {names:?}");
        let page = project.read(&format!("share/man1/{name}"));
        assert!(page.contains("Examples:"), "{name} has no examples");
    }
    // Twice is fine.
    project.ok(&["man", "share/man1"]);
}

#[test]
fn a_file_in_the_way_is_told() {
    let project = empty();
    project.write("pages", "a file");
    assert_refused(
        &project,
        &["man", "pages"],
        "unavailable",
        &["cannot write in `pages`"],
    );
    assert_eq!(project.read("pages"), "a file");
}

#[test]
fn with_json_the_pages_are_listed() {
    let output = empty().ok(&["--json", "man", "pages"]);
    serde_json::from_str::<serde_json::Value>(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: `{}`", output.stdout));
}
