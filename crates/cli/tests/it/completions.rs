//! `tl completions`

use testkit::Project;

use crate::{ACT_EDITED, empty, finished, planned, story, two_acts};

const NONE: [&str; 0] = [];

/// Returns what the completion of fish offers for the last of these words.
fn complete(project: &Project, words: &[&str]) -> Vec<String> {
    let mut arguments = vec!["--", "tl"];
    arguments.extend(words);
    let mut command = project.command(&arguments);
    let output = finished(command.env("TL_COMPLETE", "fish"));
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{words:?}");
    let lines = output.stdout.lines();
    lines
        .filter_map(|line| line.split('\t').next())
        .filter(|value| !value.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_shell_gets_a_script_that_calls_the_program() {
    let project = empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = project.ok(&["completions", shell]);
        assert!(output.stdout.contains("TL_COMPLETE"), "{shell}");
        assert_eq!(output.stderr, "", "{shell}");
    }
    assert_eq!(crate::names_in(&project, "."), Vec::<String>::new());
}

#[test]
fn commands_and_members_of_groups_are_completed() {
    let project = empty();
    assert_eq!(complete(&project, &["appr"]), ["approve"]);
    assert_eq!(complete(&project, &["trail", "sc"]), ["scan"]);
    // Former names are not offered.
    assert_eq!(complete(&project, &["inten"]), Vec::<String>::new());
}

#[test]
fn nodes_are_completed_by_name_path_id_and_title() {
    let project = planned();
    assert_eq!(complete(&project, &["show", "ch"]), ["chapter-01"]);
    assert_eq!(
        complete(&project, &["show", "act-1/ch"]),
        ["act-1/chapter-01", "act-1/chapter-01/scene-0101"]
    );
    assert_eq!(complete(&project, &["show", "chapter", ""]), ["01"]);
    project.write(
        Project::ACT,
        ACT_EDITED.replace("# Act 1", "# Акт первый: Возвращение"),
    );
    project.ok(&["status"]);
    assert_eq!(complete(&project, &["approve", "возвр"]), ["act-1"]);
}

#[test]
fn every_argument_that_is_a_node_is_completed_where_it_stands() {
    let project = two_acts();
    let first = "act-1/chapter-01/scene-0101";
    let chapters = ["act-1/chapter-01", "act-2/chapter-01"];
    for option in ["--under", "--before", "--after"] {
        let line = ["move", first, option, "chap"];
        assert_eq!(complete(&project, &line), chapters, "{option}");
        let line = ["move", option, "chap"];
        assert_eq!(complete(&project, &line), chapters, "{option}");
    }
    assert_eq!(
        complete(&project, &["move", first, "--under", "act", ""]),
        ["1", "2"]
    );
    // The parent is complete: what follows is the plan that is moved.
    assert_eq!(
        complete(&project, &["move", "--under", "act-2", "chap"]),
        chapters
    );
    assert_eq!(complete(&project, &["move", first, "--was", "chap"]), NONE);
    assert_eq!(complete(&project, &["merge", first, "chap"]), chapters);
    assert_eq!(complete(&project, &["merge", "act", "1", "chap"]), chapters);
    assert_eq!(
        complete(&project, &["merge", "act-1", "act", ""]),
        ["1", "2"]
    );
    assert_eq!(
        complete(&project, &["merge", "act-1", "act-2", "chap"]),
        NONE
    );
    assert_eq!(complete(&project, &["approve", "act-1", "chap"]), chapters);
    let except = ["approve", "--below", "act-1", "--except", first, "chap"];
    assert_eq!(complete(&project, &except), chapters);
    assert_eq!(complete(&project, &["insert", "chap"]), chapters);
    let under = ["insert", "chapter", "1", "--under", "act-2"];
    assert_eq!(complete(&project, &under)[0], "act-2");
    let gate = ["gate", "override", "shrink", "chap"];
    assert_eq!(complete(&project, &gate), chapters);
    assert_eq!(complete(&project, &["gate", "override", "shr"]), ["shrink"]);
    assert_eq!(
        complete(&project, &["add", "chapter", "--under", "act-2"])[0],
        "act-2"
    );
    assert_eq!(complete(&project, &["show", "act-1", "chap"]), NONE);
}

#[test]
fn versions_operations_and_settings_are_completed() {
    let project = planned();
    let versions = project.json(&["versions", "act-1"]);
    let hash = versions["versions"][0]["version_hash"]
        .as_str()
        .expect("a hash");
    let offered = complete(&project, &["diff", "act-1", ""]);
    assert_eq!(offered, [hash.get(..8).expect("a long hash")]);
    assert_eq!(complete(&project, &["restore", "act", "1", ""]), offered);
    assert!(complete(&project, &["undo", ""]).contains(&"1".to_owned()));
    assert_eq!(
        complete(&project, &["config", "get", "policy.gates.lo"]),
        [
            "policy.gates.loc",
            "policy.gates.loc_limit",
            "policy.gates.loc_patch_percent",
            "policy.gates.loc_task_percent",
            "policy.gates.loc_exclude"
        ]
    );
}

#[test]
fn completion_is_silent_where_there_is_no_state() {
    assert_eq!(complete(&empty(), &["show", ""]), Vec::<String>::new());
    let project = story();
    project.write(".throughline/config.toml", "not = [ TOML");
    assert_eq!(complete(&project, &["show", ""]), Vec::<String>::new());
    project.write(".throughline/state.db", "not a database");
    assert_eq!(complete(&project, &["show", ""]), Vec::<String>::new());
}

#[test]
fn an_unknown_shell_lists_the_known_ones() {
    let output = empty().run(&["completions", "csh"]);
    assert_eq!(output.code, 2);
    assert!(
        output.stderr.contains("bash") && output.stderr.contains("fish"),
        "{}",
        output.stderr
    );
}
