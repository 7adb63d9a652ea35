//! Bad input: a clear error, and nothing changed.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::{assert_refused, planned, statuses, story, text};
use testkit::Project;

#[test]
fn a_plan_that_cannot_be_read_is_invalid_and_says_why() {
    let cases: &[(&str, &[u8], &str)] = &[
        ("binary", b"# Act\0\x01\x02", "binary"),
        ("not UTF-8", b"# Act \xff\xfe", "not UTF-8"),
        ("Latin-1", b"# R\xe9sum\xe9\n", "byte 4"),
        ("UTF-16", b"\xff\xfe#\0 \0A\0", "not UTF-8"),
    ];
    for (what, bytes, why) in cases {
        let project = planned();
        project.write(Project::CHAPTER, bytes);
        let view = project.json(&["show", "chapter-01"]);
        assert_eq!(text(&view, "status"), "invalid", "{what}");
        let reason = text(&view, "invalidation_reason");
        assert!(
            reason.contains("cannot be read") && reason.contains(why),
            "{what}: {reason}"
        );
        assert_eq!(
            project.status("scene-0101"),
            "requires-revalidation",
            "{what}"
        );
        assert_refused(
            &project,
            &["approve", "chapter-01", "--force"],
            "refused",
            &["cannot be read", "UTF-8"],
        );
        assert_refused(
            &project,
            &["plan", "scene", "0102"],
            "refused",
            &["is `invalid`"],
        );
        assert_eq!(
            fs::read(project.root().join(Project::CHAPTER)).expect("still there"),
            *bytes,
            "{what}"
        );
        // The last good version comes back.
        project.ok(&["restore", "chapter-01", "-1"]);
        assert_eq!(
            statuses(&project)[1..],
            [
                "act-1/chapter-01 approved",
                "act-1/chapter-01/scene-0101 approved"
            ],
            "{what}"
        );
    }
}

#[test]
fn a_new_unreadable_plan_is_in_the_tree() {
    let project = story();
    project.write(Project::ACT, b"\0");
    assert_eq!(statuses(&project), ["act-1 invalid"]);
    assert_refused(
        &project,
        &["approve", "act-1"],
        "refused",
        &["cannot be read"],
    );
}

#[test]
fn an_empty_plan_is_a_plan() {
    let project = story();
    project.write(Project::ACT, "");
    assert_eq!(statuses(&project), ["act-1 draft"]);
    project.ok(&["approve", "act-1"]);
}

#[test]
fn links_are_not_followed_wherever_they_lead() {
    let project = planned();
    let outside = project
        .root()
        .parent()
        .expect("a parent")
        .join("outside.md");
    fs::copy(project.root().join(Project::SCENE), &outside).expect("a copy");
    project.write("inside.md", project.read(Project::SCENE));
    let targets = [
        outside.clone(),
        project.root().join("inside.md"),
        project.root().join("nowhere.md"),
    ];
    for target in targets {
        let file = project.root().join(Project::SCENE);
        fs::remove_file(&file).expect("removed");
        symlink(&target, &file).expect("a link");
        let view = project.json(&["show", "scene-0101"]);
        assert_eq!(text(&view, "status"), "invalid", "{}", target.display());
        assert!(
            text(&view, "invalidation_reason").contains("link"),
            "{view}"
        );
        assert_refused(&project, &["approve", "scene-0101"], "refused", &["link"]);
        let before = fs::read(&target).ok();
        assert_refused(
            &project,
            &["restore", "scene-0101", "-1"],
            "refused",
            &[Project::SCENE],
        );
        assert_eq!(
            fs::read(&target).ok(),
            before,
            "nothing is written through a link"
        );
        assert!(
            fs::symlink_metadata(&file).expect("the link").is_symlink(),
            "the link stays"
        );
    }
}

#[test]
fn a_linked_folder_is_not_followed_either() {
    for inside in [true, false] {
        let project = planned();
        let chapters = project.root().join("acts/act-1/chapters");
        let moved = if inside {
            project.root().join("elsewhere")
        } else {
            project.root().parent().expect("a parent").join("elsewhere")
        };
        fs::rename(&chapters, &moved).expect("moved");
        symlink(&moved, &chapters).expect("a link");
        assert_eq!(
            statuses(&project),
            [
                "act-1 approved",
                "act-1/chapter-01 invalid",
                "act-1/chapter-01/scene-0101 invalid"
            ],
            "inside: {inside}"
        );
        let reason = text(
            &project.json(&["show", "chapter-01"]),
            "invalidation_reason",
        )
        .to_owned();
        assert!(reason.contains("link"), "{reason}");
        assert_refused(&project, &["restore", "chapter-01", "-1"], "refused", &[]);
        assert_eq!(
            fs::read_dir(&moved).expect("a folder").count(),
            1,
            "nothing was written there"
        );
    }
}

#[test]
fn a_new_plan_in_a_linked_folder_is_no_plan() {
    let project = story();
    let outside = project.root().parent().expect("a parent").join("other");
    fs::create_dir_all(&outside).expect("a folder");
    project.write("../other/strategic-plan.md", "# Secret\n");
    fs::create_dir_all(project.root().join("acts")).expect("a folder");
    symlink(&outside, project.root().join("acts/act-1")).expect("a link");
    let tree = project.ok(&["tree"]);
    assert!(!tree.stdout.contains("Secret"), "{}", tree.stdout);
    for line in statuses(&project) {
        assert_eq!(line, "act-1 invalid");
    }
}

#[test]
fn backups_do_not_follow_links() {
    let project = planned();
    let outside = project.root().parent().expect("a parent").join("other");
    fs::create_dir_all(&outside).expect("a folder");
    symlink(&outside, project.root().join("acts/act-1/backups")).expect("a link");
    project.write(Project::ACT, crate::ACT_EDITED);
    let output = project.run(&["show", "act-1"]);
    assert_eq!(
        fs::read_dir(&outside).expect("a folder").count(),
        0,
        "nothing is written through a link"
    );
    assert!(
        output.stderr.contains("acts/act-1/backups"),
        "it is told: {}",
        output.stderr
    );
}

#[test]
fn a_folder_or_a_pipe_in_place_of_a_plan_does_not_hang() {
    let project = planned();
    fs::remove_file(project.root().join(Project::SCENE)).expect("removed");
    fs::create_dir(project.root().join(Project::SCENE)).expect("a folder");
    assert_eq!(project.status("scene-0101"), "invalid");
    let reason = project.json(&["show", "scene-0101"])["invalidation_reason"].clone();
    assert!(
        reason.as_str().expect("a reason").contains("folder")
            || reason.as_str().expect("a reason").contains("regular file"),
        "{reason}"
    );
}

#[test]
fn a_misplaced_scene_is_told_and_not_taken() {
    let project = planned();
    let before = statuses(&project);
    let path = "acts/act-1/chapters/chapter-01/scenes/scene-0907-blueprint.md";
    project.write(path, "# Lost\n");
    let output = project.ok(&["tree"]);
    assert!(
        output.stderr.contains(path) && output.stderr.contains("scene-0107-blueprint.md"),
        "{}",
        output.stderr
    );
    assert_eq!(statuses(&project), before);
}

#[test]
fn a_broken_config_names_line_key_and_what_is_allowed() {
    let cases: &[(&str, &[&str])] = &[
        (
            "# one\nprofils = [\"story\"]\n",
            &[
                ".throughline/config.toml:2",
                "`profils`",
                "did you mean `profiles`?",
            ],
        ),
        (
            "[policy]\n\ncascad = \"deep\"\n",
            &[
                ".throughline/config.toml:3",
                "`cascad`",
                "did you mean `cascade`?",
            ],
        ),
        (
            "[policy]\napproval = \"cats\"\n",
            &[
                ".throughline/config.toml:2",
                "`cats`",
                "`anyone`",
                "`human`",
            ],
        ),
        (
            "[mirror]\nenabled = \"yes\"\n",
            &[".throughline/config.toml:2", "boolean"],
        ),
        (
            "storage = \"oracle\"\n",
            &[
                ".throughline/config.toml:1",
                "`oracle`",
                "`sqlite`",
                "`json`",
            ],
        ),
        ("profiles = [\"story\"\n", &[".throughline/config.toml:"]),
        (
            "profiles = [\"sotry\"]\n",
            &["no profile `sotry`", "did you mean `story`?"],
        ),
        (
            "[polcy]\n",
            &[".throughline/config.toml:1", "did you mean `policy`?"],
        ),
    ];
    let project = planned();
    let good = project.read(".throughline/config.toml");
    let before = crate::fingerprint(&project);
    for (config, parts) in cases {
        project.write(".throughline/config.toml", config);
        for arguments in [
            ["status"].as_slice(),
            &["approve", "act-1"],
            &["state", "rebuild"],
            &["init"],
        ] {
            assert_refused(&project, arguments, "invalid", parts);
        }
    }
    project.write(".throughline/config.toml", good);
    assert_eq!(crate::fingerprint(&project), before);
}

#[test]
fn a_config_that_is_no_text_is_told() {
    let project = planned();
    project.write(".throughline/config.toml", b"\xff\xfe");
    let output = project.refused(&["status"]);
    assert!(
        output.stderr.contains(".throughline/config.toml"),
        "{}",
        output.stderr
    );
    fs::remove_file(project.root().join(".throughline/config.toml")).expect("removed");
    project.ok(&["status"]);
}

#[test]
fn broken_front_matter_is_a_warning_with_its_line() {
    let project = planned();
    project.write(
        Project::SCENE,
        "---\ntitle: Fine\nneeds: [a, b\n---\n# Scene\n",
    );
    assert_eq!(project.status("scene-0101"), "draft");
    let output = project.ok(&["approve", "scene-0101"]);
    assert!(
        output.stderr.contains("warning: front matter, line "),
        "{}",
        output.stderr
    );
    let check = project.run(&["check", "--json"]);
    assert_eq!(check.code, 3);
    assert!(
        check.stdout.contains("\"kind\":\"front-matter\"") && check.stdout.contains("line "),
        "{}",
        check.stdout
    );
}

#[test]
fn front_matter_that_never_ends_is_text() {
    let project = planned();
    project.write(Project::SCENE, "---\nneeds: scene-0909\n# Scene\n");
    let view = project.json(&["show", "scene-0101"]);
    assert_eq!(view["needs"], json!([]));
}

#[test]
fn odd_names_are_answered_not_crashed_on() {
    let project = planned();
    let long = "x".repeat(5000);
    for name in [
        "",
        " ",
        "/",
        "//",
        "..",
        "../act-1",
        "act-1/",
        "-",
        "\u{1b}[31m",
        "акт-1",
        "🎭",
        "act-99999999999999999999",
        "%s",
        &long,
    ] {
        let output = project.run(&["show", "--", name]);
        assert!(
            output.code == 1 || (output.code == 0 && name == "act-1/"),
            "{name:?}: {} {}",
            output.code,
            output.stderr
        );
        assert!(
            !output.stderr.contains("panicked") && !output.stderr.contains('\u{1b}'),
            "{name:?}: {}",
            output.stderr
        );
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let project = planned();
    let mut command = project.command(&["tree"]);
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
