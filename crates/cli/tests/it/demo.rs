//! `tl demo`

use crate::{assert_refused, empty, finished, names_in, story};

#[test]
fn the_demo_walks_the_whole_life() {
    let project = empty();
    let output = project.ok(&["demo", "tour"]);
    for part in [
        "$ tl init",
        "$ tl plan act 1",
        "(refused, as it should be)",
        "$ tl approve act 1",
        "$ tl why scene 0101",
        "↻ stale",
        "$ tl revalidate chapter 1 --keep",
        "$ tl restore act 1 -1",
        "$ tl plan act 1 | head -12",
        "$ tl undo",
        "$ tl check",
        "Throughline (hierarchy gate): ",
        "tl serve --open",
        "tl wait chapter 2 && tl plan scene 0201",
        "What to try next",
        "tl status",
    ] {
        assert!(
            output.stdout.contains(part),
            "no `{part}` in:\n{}",
            output.stdout
        );
    }
    assert!(
        !output.stdout.contains('\u{1b}') && !output.stderr.contains('\u{1b}'),
        "no colour in a pipe"
    );
    let mut tree = project.command(&["--project", "tour", "tree"]);
    assert_eq!(finished(&mut tree).code, 0);
    let mut check = project.command(&["--project", "tour", "check"]);
    assert_eq!(finished(&mut check).code, 0);
}

#[test]
fn what_it_says_to_try_next_works() {
    for (kind, folder) in [("story", "tour"), ("code", "tour/shop")] {
        let project = empty();
        let output = project.ok(&["demo", kind, "tour"]);
        let tips: Vec<&str> = output
            .stdout
            .lines()
            .skip_while(|line| *line != "What to try next")
            .skip(1)
            .take_while(|line| !line.is_empty())
            .collect();
        let commands: Vec<Vec<&str>> = tips
            .iter()
            .filter_map(|tip| tip.trim().strip_prefix("tl "))
            // A server does not end.
            .filter(|rest| !rest.starts_with("serve"))
            .map(|rest| {
                rest.split("  ")
                    .next()
                    .unwrap_or_default()
                    .split(' ')
                    .collect()
            })
            .collect();
        assert!(commands.len() >= 3, "{tips:?}");
        for words in commands {
            let mut command = project.command(&words);
            command.current_dir(project.root().join(folder));
            let output = finished(&mut command);
            assert_eq!(output.code, 0, "tl {words:?}: {}", output.stderr);
        }
        assert!(output.stdout.contains("In your own project"), "{kind}");
    }
}

#[test]
fn the_demo_for_code_shows_a_block_a_cycle_and_a_worktree() {
    let project = empty();
    let output = project.ok(&["demo", "code", "tour"]);
    for part in [
        "$ tl ticket new 'Discount codes'",
        "Throughline (loc gate): 401 changed lines are not committed; the limit is 400",
        "expected 45, got 50",
        "001 › a-known-code-lowers-the-price [green] 0/2",
        "001 › an-unknown-code-changes-nothing [red] 1/2",
        "`001` is not done: scenario `001/an-unknown-code-changes-nothing` is open",
        "`001` is claimed by",
    ] {
        assert!(
            output.stdout.contains(part) || output.stderr.contains(part),
            "no `{part}` in:\n{}{}",
            output.stdout,
            output.stderr
        );
    }
    assert_eq!(names_in(&project, "tour"), ["beside", "shop"]);
}

#[test]
fn without_git_the_demo_for_code_leaves_nothing_behind() {
    let project = empty();
    let mut command = project.command(&["demo", "code", "tour"]);
    let output = finished(command.env("PATH", "/nonexistent"));
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("needs git"), "{output:?}");
    assert_eq!(names_in(&project, "."), Vec::<String>::new());
}

#[test]
fn the_demo_ends_with_commands_that_can_be_pasted() {
    let project = empty();
    let output = project.ok(&["demo", "Мой дом"]);
    let enter = format!("cd '{}/Мой дом'", project.root().display());
    assert!(output.stdout.contains(&enter), "{}", output.stdout);
    assert!(output.stdout.contains("alias tl="), "{}", output.stdout);
}

#[test]
fn without_a_name_a_free_one_is_taken() {
    let project = empty();
    project.ok(&["demo"]);
    project.ok(&["demo"]);
    assert_eq!(
        names_in(&project, "."),
        ["throughline-demo", "throughline-demo-2"]
    );
}

#[test]
fn an_existing_project_is_refused_and_left_alone() {
    let project = story();
    project.plan_story();
    let before = crate::fingerprint(&project);
    let root = project.root();
    for place in [".", root.to_str().expect("Unicode")] {
        assert_refused(
            &project,
            &["demo", place],
            "refused",
            &["is a project already", "tl demo SOME_NEW_DIRECTORY"],
        );
    }
    assert_eq!(crate::fingerprint(&project), before);
}

#[test]
fn a_directory_with_files_in_it_keeps_them() {
    let project = empty();
    project.write("tour/acts/act-1/strategic-plan.md", "# My own act\n");
    let output = project.run(&["demo", "tour"]);
    assert_eq!(
        project.read("tour/acts/act-1/strategic-plan.md"),
        "# My own act\n",
        "the demo needs a new directory"
    );
    assert_eq!(output.code, 1, "{}", output.stdout);
}

#[test]
fn with_json_the_demo_prints_json() {
    let project = empty();
    let output = project.ok(&["--json", "demo", "tour"]);
    serde_json::from_str::<serde_json::Value>(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {}",
            output.stdout.chars().take(200).collect::<String>()
        )
    });
}

#[test]
fn the_demo_leaves_the_directory_it_was_started_in_alone() {
    let project = empty();
    project.write("notes.md", "mine\n");
    project.ok(&["demo", "tour"]);
    assert_eq!(names_in(&project, "."), ["notes.md", "tour"]);
}
