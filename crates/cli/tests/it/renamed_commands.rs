//! Former command names: they work, and name the present one.

use crate::{empty, story, text, trail};

/// A former name, and the present one.
const RENAMED: &[(&str, &str)] = &[
    ("adopt", "state adopt"),
    ("anchor add", "note add --pin"),
    ("anchor list", "note list --pinned"),
    ("backup", "state backup"),
    ("compact", "trail compact"),
    ("doctor", "host doctor"),
    ("drift", "trail drift"),
    ("generation", "story generation"),
    ("intent", "trail intent"),
    ("join", "team join"),
    ("leave", "team leave"),
    ("llm", "story model"),
    ("map", "trail map"),
    ("mem recall", "note find"),
    ("mem save", "note add"),
    ("mem shelves", "note shelves"),
    ("memory", "story memory"),
    ("migrate", "trail migrate"),
    ("novel compile", "story compile"),
    ("novel new", "story new"),
    ("novel stats", "story stats"),
    ("prune", "trail prune"),
    ("rate", "trail rate"),
    ("rebuild", "state rebuild"),
    ("reconcile", "doc reconcile"),
    ("repair", "state repair"),
    ("replay", "host replay"),
    ("restore-backup", "state restore"),
    ("scan", "trail scan"),
    ("scenario", "ticket scenario"),
    ("secret", "state secret"),
    ("session", "trail session"),
    ("sync-hashes", "state sync-hashes"),
    ("think-back", "trail back"),
    ("tick", "story tick"),
    ("token", "team token"),
    ("trace", "trail trace"),
    ("uninstall", "host uninstall"),
    ("write", "story write"),
];

#[test]
fn every_former_name_runs_the_present_command() {
    let project = empty();
    for (former, present) in RENAMED {
        // With an argument that no command takes: parsed, and run by none.
        let run = |name: &str| {
            let mut words: Vec<&str> = name.split(' ').collect();
            words.push("--frobnicate");
            project.run(&words)
        };
        let (old, new) = (run(former), run(present));
        let notice = format!("`tl {former}` is now `tl {present}`\n");
        assert_eq!(old.stderr, format!("{notice}{}", new.stderr), "tl {former}");
        assert_eq!((old.code, new.code), (2, 2), "tl {former}");
        assert!(
            new.stderr.contains("--frobnicate"),
            "tl {present}: {}",
            new.stderr
        );
    }
}

#[test]
fn former_names_have_the_help_of_the_present_ones() {
    let project = empty();
    for (former, present) in RENAMED {
        let words: Vec<&str> = former.split(' ').chain(["--help"]).collect();
        // Options are no command: `tl note add --pin` has the help of `tl note add`.
        let present: Vec<&str> = present
            .split(' ')
            .filter(|word| !word.starts_with('-'))
            .collect();
        let output = project.ok(&words);
        assert_eq!(output.stderr, "", "tl {former}");
        assert_eq!(
            output.stdout,
            project.ok(&[&["help"][..], &present].concat()).stdout,
            "tl {former}"
        );
    }
    assert_eq!(
        project.ok(&["help", "mem"]).stdout,
        project.ok(&["help", "note"]).stdout
    );
}

#[test]
fn a_former_name_does_its_work() {
    let project = trail();
    let output = project.ok(&["mem", "save", "JWT with jose"]);
    assert_eq!(output.stderr, "`tl mem save` is now `tl note add`\n");
    assert!(output.stdout.starts_with("saved as "), "{}", output.stdout);
    project.ok(&["anchor", "add", "JWT only"]);
    let found = project.json(&["mem", "recall", "jwt"]);
    assert_eq!(found.as_array().expect("a list").len(), 2);
    let anchors = project.json(&["anchor", "list"]);
    assert_eq!(text(&anchors[0], "text"), "JWT only");
    let listed = project.ok(&["repair", "--list-quarantine"]);
    assert_eq!(listed.stdout, "the quarantine is empty\n");
}

#[test]
fn json_and_present_names_print_no_notice() {
    let project = story();
    let output = project.ok(&["--json", "mem", "shelves"]);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("[]\n", "")
    );
    assert_eq!(project.ok(&["note", "shelves"]).stderr, "");
}
