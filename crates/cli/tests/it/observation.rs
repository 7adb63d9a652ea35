//! What happened to plan files is noticed, whichever way it happened.

#![expect(
    clippy::disallowed_methods,
    reason = "a test replaces files as git does"
)]

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::{Event, newest_operation, planned, statuses, story};
use testkit::Project;

fn modified(project: &Project, path: &str) -> SystemTime {
    fs::metadata(project.root().join(path))
        .expect("a file")
        .modified()
        .expect("a time")
}

fn set_modified(project: &Project, path: &str, at: SystemTime) {
    let file = fs::File::options()
        .write(true)
        .open(project.root().join(path))
        .expect("a file");
    file.set_modified(at).expect("a new time");
}

#[test]
fn touching_a_file_changes_nothing() {
    let project = planned();
    let before = crate::fingerprint(&project);
    set_modified(
        &project,
        Project::ACT,
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
    );
    assert_eq!(crate::fingerprint(&project), before);
    project.write(Project::ACT, project.read(Project::ACT));
    assert_eq!(crate::fingerprint(&project), before);
}

/// Two copies of the same plans with the same approvals: in one the files' times are in the order
/// of the tree, in the other they are reversed, and a third looked after every edit.
#[test]
fn copies_with_reversed_file_times_show_the_same_statuses() {
    let second = "acts/act-1/chapters/chapter-02/plan.md";
    let edits = [
        (Project::ACT, crate::ACT_EDITED),
        (Project::CHAPTER, "# Chapter 1, rewritten\n"),
        (second, "# Chapter 2\n"),
    ];
    let base = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let copies = [[1, 2, 3], [3, 2, 1]].map(|hours| {
        let project = planned();
        for ((path, text), hour) in edits.iter().zip(hours) {
            project.write(path, text);
            set_modified(&project, path, base + Duration::from_secs(3_600 * hour));
        }
        project
    });
    let attentive = planned();
    for (path, text) in [
        (second, "# Chapter 2, a first try\n"),
        edits[1],
        edits[0],
        edits[2],
    ] {
        attentive.write(path, text);
        attentive.ok(&["status"]);
    }
    let undecided = [
        "act-1 draft",
        "act-1/chapter-01 requires-revalidation",
        "act-1/chapter-01/scene-0101 requires-revalidation",
        "act-1/chapter-02 requires-revalidation",
    ];
    let decided = [
        "act-1 approved",
        "act-1/chapter-01 draft",
        "act-1/chapter-01/scene-0101 requires-revalidation",
        "act-1/chapter-02 draft",
    ];
    for project in copies.iter().chain([&attentive]) {
        assert_eq!(statuses(project), undecided);
        project.ok(&["approve", "act-1"]);
        assert_eq!(statuses(project), decided);
        project.ok(&["check"]);
    }
}

#[test]
fn a_formatting_only_edit_changes_no_status() {
    let original = crate::ACT_TEXT;
    let forms = [
        original.replace('\n', "\r\n"),
        original.replace('\n', "   \n"),
        original.replace("\n\n", "\n\n\n\n"),
        original.trim_end().to_owned(),
        format!("{original}\n\n\n"),
        format!("\u{feff}{original}"),
    ];
    for form in forms {
        let project = planned();
        let before = project.json(&["show", "act-1"]);
        project.write(Project::ACT, &form);
        let after = project.json(&["show", "act-1"]);
        assert_ne!(after["version_hash"], before["version_hash"], "{form:?}");
        assert_eq!(after["approval"]["holds"], json!(true), "{form:?}");
        assert_eq!(
            statuses(&project),
            [
                "act-1 approved",
                "act-1/chapter-01 approved",
                "act-1/chapter-01/scene-0101 approved"
            ],
            "{form:?}"
        );
    }
}

#[test]
fn every_way_of_editing_is_noticed() {
    let in_place = |project: &Project| project.write(Project::ACT, crate::ACT_EDITED);
    let appended = |project: &Project| {
        use std::io::Write;
        let mut file = fs::File::options()
            .append(true)
            .open(project.root().join(Project::ACT))
            .expect("a file");
        file.write_all(b"\nOne more line.\n").expect("written");
    };
    let renamed_over = |project: &Project| {
        project.write("acts/act-1/new.md", crate::ACT_EDITED);
        fs::rename(
            project.root().join("acts/act-1/new.md"),
            project.root().join(Project::ACT),
        )
        .expect("renamed");
    };
    let removed_and_made_anew = |project: &Project| {
        fs::remove_file(project.root().join(Project::ACT)).expect("removed");
        project.write(Project::ACT, crate::ACT_EDITED);
    };
    let same_size_same_time = |project: &Project| {
        let at = modified(project, Project::ACT);
        project.write(Project::ACT, crate::ACT_TEXT.replace("Begin.", "Began."));
        set_modified(project, Project::ACT, at);
    };
    let an_older_file_moved_here = |project: &Project| {
        project.write("acts/act-1/new.md", crate::ACT_EDITED);
        set_modified(
            project,
            "acts/act-1/new.md",
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000),
        );
        fs::rename(
            project.root().join("acts/act-1/new.md"),
            project.root().join(Project::ACT),
        )
        .expect("renamed");
    };
    let folder_swapped = |project: &Project| {
        let root = project.root();
        crate::copy_directory(&root.join("acts/act-1"), &root.join("acts/copy"), &|_| {
            false
        });
        project.write("acts/copy/strategic-plan.md", crate::ACT_EDITED);
        fs::rename(root.join("acts/act-1"), root.join("old")).expect("renamed");
        fs::rename(root.join("acts/copy"), root.join("acts/act-1")).expect("renamed");
    };
    let ways: [(&str, Event<'_>); 7] = [
        ("in place", &in_place),
        ("appended", &appended),
        ("renamed over", &renamed_over),
        ("removed and created again", &removed_and_made_anew),
        ("same size, same time", &same_size_same_time),
        ("an older file moved here", &an_older_file_moved_here),
        ("the folder swapped", &folder_swapped),
    ];
    for (way, edit) in ways {
        let project = planned();
        assert_eq!(project.status("act-1"), "approved");
        edit(&project);
        assert_eq!(
            statuses(&project),
            [
                "act-1 draft",
                "act-1/chapter-01 requires-revalidation",
                "act-1/chapter-01/scene-0101 requires-revalidation"
            ],
            "{way}"
        );
    }
}

#[test]
fn many_edits_right_after_each_other_are_all_noticed() {
    let project = story();
    for turn in 0..20 {
        // The same size every time: only the content tells.
        project.write(Project::ACT, format!("# Act 1\n\nturn {turn:02}\n"));
        let title = project.json(&["versions", "act-1"]);
        assert_eq!(
            title["versions"].as_array().expect("a list").len(),
            turn + 1
        );
    }
}

#[test]
fn what_was_noticed_is_told_on_stderr() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let output = project.ok(&["show", "act-1"]);
    let operation = newest_operation(&project);
    assert_eq!(
        output.stderr,
        format!("noticed changed: act-1 → 2 plans to revalidate (operation {operation})\n")
    );
    assert_eq!(project.ok(&["show", "act-1"]).stderr, "", "told once");
}

#[test]
fn a_child_sees_its_parents_edit() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_eq!(
        project.status("scene-0101"),
        "requires-revalidation",
        "without looking at the act first"
    );
}

#[test]
fn a_deleted_file_is_invalid_until_it_comes_back() {
    let project = planned();
    let text = project.read(Project::CHAPTER);
    fs::remove_file(project.root().join(Project::CHAPTER)).expect("removed");
    assert_eq!(
        statuses(&project),
        [
            "act-1 approved",
            "act-1/chapter-01 invalid",
            "act-1/chapter-01/scene-0101 requires-revalidation"
        ]
    );
    let reason = project.json(&["show", "chapter-01"])["invalidation_reason"].clone();
    assert_eq!(reason, json!("the plan file is missing"));
    project.write(Project::CHAPTER, text);
    assert_eq!(
        statuses(&project),
        [
            "act-1 approved",
            "act-1/chapter-01 approved",
            "act-1/chapter-01/scene-0101 approved"
        ]
    );
}

#[test]
fn a_folder_without_a_plan_counts_only_with_plans_below() {
    let project = planned();
    fs::create_dir_all(project.root().join("acts/act-2")).expect("a folder");
    fs::create_dir_all(project.root().join("acts/act-1/chapters/chapter-07/scenes"))
        .expect("a folder");
    assert_eq!(statuses(&project).len(), 3, "empty folders are nothing");

    project.write("acts/act-2/chapters/chapter-01/plan.md", "# Early\n");
    assert_eq!(
        statuses(&project)[3..],
        [
            "act-2 invalid".to_owned(),
            "act-2/chapter-01 requires-revalidation".to_owned()
        ]
    );
}

#[test]
fn other_files_are_nobodys_business() {
    let project = planned();
    let before = statuses(&project);
    for path in [
        "acts/act-1/notes.md",
        "acts/notes/strategic-plan.md",
        "acts/act-01/strategic-plan.md",
        "acts/act-1111/strategic-plan.md",
        "acts/act-1/chapters/chapter-1/plan.md",
        "acts/act-1/chapters/chapter-01/scenes/scene-0102.md",
        "acts/act-1/chapters/chapter-01/content/scene-0101.md",
        "README.md",
    ] {
        project.write(path, "# Something\n");
    }
    assert_eq!(statuses(&project), before);
}

#[test]
fn a_renumbered_folder_keeps_its_nodes() {
    let project = planned();
    let root = project.root();
    fs::rename(
        root.join("acts/act-1/chapters/chapter-01"),
        root.join("acts/act-1/chapters/chapter-02"),
    )
    .expect("renamed");
    let found = statuses(&project);
    assert!(
        found.contains(&"act-1/chapter-02 approved".to_owned()),
        "{found:?}"
    );
    assert!(
        !found.iter().any(|line| line.contains("chapter-01 ")),
        "{found:?}"
    );
}

#[test]
fn several_processes_notice_one_edit_once() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let children: Vec<_> = (0..6)
        .map(|_| {
            let mut command = project.command(&["tree"]);
            command
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped());
            command.spawn().expect("the program starts")
        })
        .collect();
    let mut noticed = 0;
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("act-1  ○ draft"));
        noticed += said.matches("noticed").count();
    }
    assert_eq!(noticed, 1);
    assert_eq!(crate::names_in(&project, "acts/act-1/backups").len(), 1);
    project.ok(&["check"]);
}

/// A look that takes up what was seen before misses nothing that a look at everything finds.
#[test]
fn a_look_after_a_shell_command_leaves_nothing_to_be_noticed() {
    type Step = fn(&Project);
    let steps: [Step; 12] = [
        |it| it.write(Project::ACT, crate::ACT_EDITED),
        |it| it.write(Project::ACT, crate::ACT_TEXT),
        |it| it.write("acts/act-1/chapters/chapter-02/plan.md", "# Two\n"),
        |it| it.write("acts/act-1/chapters/chapter-02/plan.md", "# Two, again\n"),
        |it| it.write("acts/act-2/strategic-plan.md", "# Second act\n"),
        |it| {
            drop(fs::remove_file(
                it.root().join("acts/act-1/chapters/chapter-02/plan.md"),
            ))
        },
        |it| drop(fs::remove_dir_all(it.root().join("acts/act-2"))),
        |it| {
            drop(fs::rename(
                it.root().join("acts/act-2"),
                it.root().join("acts/act-3"),
            ))
        },
        |it| drop(it.run(&["undo"])),
        |it| drop(it.run(&["progress", "act-1/chapter-01", "active"])),
        |it| drop(it.run(&["approve", "act-1"])),
        |it| it.write("acts/act-1/notes.txt", "no plan\n"),
    ];
    for seed in 1..=4_u64 {
        let project = planned();
        let session = project.session("s");
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for round in 0..14 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let step = usize::try_from(random >> 33).expect("a small number") % steps.len();
            steps[step](&project);
            if random & (1 << 20) != 0 {
                // Long enough for stamps to be trusted.
                std::thread::sleep(Duration::from_millis(60));
            }
            let _ = session.shell("sh -c true");
            let seen = newest_operation(&project);
            project.ok(&["tree"]);
            assert_eq!(
                newest_operation(&project),
                seen,
                "seed {seed}, round {round}, step {step}"
            );
        }
        assert!(
            project.root().join(".throughline/looks.bin").exists(),
            "nothing was ever taken up"
        );
    }
}

/// Many edits at once, as after a checkout: comparing only the changed files records the same
/// operations as a scan without the cache.
#[test]
fn many_edits_are_recorded_as_by_a_scan_without_the_cache() {
    let file = |number: usize| {
        let (chapter, scene) = (number / 10 + 1, number % 10 + 1);
        let folder = format!("acts/act-1/chapters/chapter-{chapter:02}/scenes");
        format!("{folder}/scene-{chapter:02}{scene:02}-blueprint.md")
    };
    let make = || {
        let project = planned();
        for number in 0..120 {
            if number % 10 == 0 {
                let plan = file(number).replace("scenes/", "");
                let plan = format!("{}/plan.md", plan.rsplit_once('/').expect("a folder").0);
                project.write(&plan, format!("# Chapter {number}\n"));
            }
            project.write(&file(number), format!("# Scene {number}\n"));
        }
        project.ok(&["status"]);
        // Long enough for stamps to be trusted; the second look is cached.
        std::thread::sleep(Duration::from_millis(60));
        project.ok(&["status"]);
        project.ok(&["status"]);
        project
    };
    let (cached, scanned) = (make(), make());
    let cache = |it: &Project| it.root().join(".throughline/looks.bin");
    let mut random = 7_u64;
    let mut draw = move |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).expect("a small number") % below
    };
    for round in 0..8 {
        assert!(cache(&cached).exists(), "nothing was ever cached");
        let edited: Vec<usize> = (0..draw(30) + 1).map(|_| draw(120)).collect();
        let kind = draw(6);
        for project in [&cached, &scanned] {
            for number in &edited {
                let text = format!("# Scene {number}, text {}\n", (round + number) % 3);
                // Replaced as git does it: the folder's times change too.
                let path = project.root().join(file(*number));
                let _ = fs::remove_file(&path);
                fs::write(&path, text).expect("written");
            }
            match kind {
                0 => project.write("acts/act-1/chapters/chapter-20/plan.md", "# Later\n"),
                1 => drop(fs::remove_file(project.root().join(file(edited[0])))),
                2 => project.write(Project::ACT, format!("# Act, round {round}\n")),
                3 => project.write("acts/act-1/chapters/chapter-01/notes.txt", "no plan\n"),
                _ => {}
            }
        }
        fs::remove_file(cache(&scanned)).expect("removed");
        let show = |it: &Project| {
            it.ok(&["next"]);
            let log = it.json(&["log", "--limit", "1"]);
            (
                log[0]["summary"].clone(),
                newest_operation(it),
                statuses(it),
            )
        };
        assert_eq!(show(&cached), show(&scanned), "round {round}, {edited:?}");
        let seen = newest_operation(&cached);
        cached.ok(&["tree"]);
        assert_eq!(newest_operation(&cached), seen, "something was left");
        for project in [&cached, &scanned] {
            std::thread::sleep(Duration::from_millis(60));
            project.ok(&["status"]);
            project.ok(&["status"]);
        }
    }
}

/// A recorded edit keeps a readable copy of the text before, in a folder that no plan can be in: it is no
/// reason to scan everything again.
#[test]
fn the_look_after_a_recorded_edit_finds_everything_as_it_was() {
    use std::os::unix::fs::MetadataExt as _;
    let project = planned();
    project.write(Project::ACT, "# Act\n\nFirst.\n");
    project.ok(&["status"]);
    for text in ["Second.", "Third."] {
        // Long enough for stamps to be trusted.
        std::thread::sleep(Duration::from_millis(60));
        project.ok(&["status"]);
        project.write(Project::ACT, format!("# Act\n\n{text}\n"));
        std::thread::sleep(Duration::from_millis(60));
        project.ok(&["status"]);
        let cache = project.root().join(".throughline/looks.bin");
        let written = || fs::metadata(&cache).expect("it is there").ino();
        let recorded = written();
        project.ok(&["status"]);
        // A scan of everything replaces the file.
        assert_eq!(written(), recorded, "{text}");
    }
    assert_eq!(crate::names_in(&project, "acts/act-1/backups").len(), 3);
}
