//! Every environment name, ours and those of seed 000.

use std::fs;

use crate::{
    assert_refused, binary, empty, finished, names_in, planned, run_with, statuses, story, text,
};
use testkit::Project;

fn made_with(environment: &[(&str, &str)]) -> Project {
    let mut project = Project::empty(binary());
    for (name, value) in environment {
        project = project.with_environment(name, value);
    }
    project.ok(&["init"]);
    project
}

#[test]
fn the_database_may_lie_elsewhere_in_the_project() {
    for name in ["THROUGHLINE_DATABASE", "PLANNING_STATE_DB_PATH"] {
        let project = made_with(&[(name, "workspace/planning-state.db")]);
        project.plan_story();
        assert!(
            project.root().join("workspace/planning-state.db").is_file(),
            "{name}"
        );
        assert!(
            !project.root().join(".throughline/state.db").exists(),
            "{name}"
        );
        assert_eq!(project.status("scene-0101"), "approved");
        project.ok(&["check"]);
    }
}

#[test]
fn the_mirror_may_lie_elsewhere_or_be_off() {
    for name in ["THROUGHLINE_MIRROR_DIRECTORY", "PLANNING_STATE_JSON_DIR"] {
        let project = made_with(&[(name, "workspace/planning-state/")]);
        project.plan_story();
        assert!(
            project
                .root()
                .join("workspace/planning-state/story/act-1.json")
                .is_file(),
            "{name}"
        );
        assert!(
            !project.root().join(".throughline/mirror").exists(),
            "{name}"
        );
    }
    for name in ["THROUGHLINE_MIRROR", "PLANNING_STATE_JSON_SYNC_ENABLED"] {
        for value in ["false", "0", "FALSE"] {
            let project = made_with(&[(name, value)]);
            project.plan_story();
            for command in ["check", "repair", "sync-hashes", "rebuild"] {
                project.ok(&[command]);
                assert!(
                    !project.root().join(".throughline/mirror/story").exists(),
                    "{name}={value}: tl {command}"
                );
            }
        }
    }
}

#[test]
fn the_mirror_may_be_behind_by_some_seconds() {
    for name in [
        "THROUGHLINE_MIRROR_INTERVAL_SECONDS",
        "PLANNING_STATE_JSON_SYNC_INTERVAL_SECONDS",
    ] {
        let project = made_with(&[(name, "3600")]);
        project.plan_story();
        project.ok(&["state", "repair"]);
        let file = ".throughline/mirror/story/act-1.json";
        let before = project.read(file);
        project.write(Project::ACT, crate::ACT_EDITED);
        project.ok(&["status"]);
        assert_eq!(project.read(file), before, "{name}: an hour has not passed");
        project.ok(&["state", "repair"]);
        assert_ne!(project.read(file), before, "{name}");
    }
}

#[test]
fn json_storage_lives_a_whole_life_without_a_database() {
    for name in ["THROUGHLINE_STORAGE", "PLANNING_STATE_STORAGE"] {
        let project = made_with(&[(name, "json")]);
        project.plan_story();
        let approved = statuses(&project);
        assert_eq!(
            approved,
            [
                "act-1 approved",
                "act-1/chapter-01 approved",
                "act-1/chapter-01/scene-0101 approved"
            ]
        );
        project.write(Project::ACT, crate::ACT_EDITED);
        assert_eq!(project.status("scene-0101"), "requires-revalidation");
        assert_eq!(
            text(&project.json(&["why", "scene-0101"]), "summary"),
            "`act-1` changed"
        );
        project.ok(&["approve", "act-1"]);
        project.ok(&["revalidate", "--all", "--keep"]);
        assert_eq!(statuses(&project), approved);
        project.ok(&["restore", "act-1", "-1"]);
        assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
        project.ok(&["undo"]);
        assert_eq!(project.read(Project::ACT), crate::ACT_EDITED);
        assert_eq!(statuses(&project), approved);
        project.ok(&["invalidate", "scene-0101", "--reason", "x"]);
        project.ok(&["undo"]);
        project.ok(&["check"]);
        let names = names_in(&project, ".throughline");
        assert!(
            !names.iter().any(|name| name.contains("state.db")),
            "{name}: {names:?}"
        );
    }
}

#[test]
fn json_storage_mends_itself_from_the_mirror() {
    let project = made_with(&[("THROUGHLINE_STORAGE", "json")]);
    project.plan_story();
    let before = project.json(&["tree"]);
    fs::remove_file(project.root().join(".throughline/journal.jsonl")).expect("removed");
    let output = project.ok(&["tree"]);
    assert!(output.stderr.contains("repaired: "), "{}", output.stderr);
    assert_eq!(project.json(&["tree"]), before);
}

#[test]
fn a_project_may_change_its_storage() {
    let project = planned();
    let before = statuses(&project);
    let json = [("THROUGHLINE_STORAGE", "json")];
    let output = run_with(&project, &json, &["progress", "scene-0101", "active"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    // Back in SQLite, what was done meanwhile is taken over.
    project.ok(&["state", "repair"]);
    assert_eq!(
        text(&project.json(&["show", "scene-0101"]), "progress"),
        "active"
    );
    assert_eq!(statuses(&project), before);
    project.ok(&["check"]);
}

#[test]
fn the_cascade_depth_is_limited() {
    for name in [
        "THROUGHLINE_CASCADE_MAX_DEPTH",
        "PLANNING_CASCADE_MAX_DEPTH",
    ] {
        let project = planned();
        project.write(Project::ACT, crate::ACT_EDITED);
        let output = run_with(&project, &[(name, "1")], &["approve", "act-1"]);
        assert_eq!(output.code, 1, "{name}");
        let output = run_with(&project, &[(name, "3")], &["approve", "act-1"]);
        assert_eq!(output.code, 0, "{name}: {}", output.stderr);
    }
}

#[test]
fn repairs_go_into_the_log_file() {
    for name in ["THROUGHLINE_LOG_FILE", "PLANNING_STATE_LOG_FILE"] {
        let project = made_with(&[(name, "workspace/logs/mcp-planning-state.log")]);
        fs::remove_file(project.root().join(".throughline/state.db")).expect("removed");
        project.ok(&["status"]);
        let log = project.read("workspace/logs/mcp-planning-state.log");
        assert_eq!(log.lines().count(), 1, "{log}");
        assert!(log.contains("rebuilt"), "{log}");
    }
}

#[test]
fn the_cache_time_is_accepted() {
    let project = planned();
    let output = run_with(
        &project,
        &[("PLANNING_STATE_CACHE_TTL_SECONDS", "30")],
        &["status"],
    );
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
}

#[test]
fn all_names_of_the_seed_together() {
    let project = made_with(&[
        ("PLANNING_STATE_STORAGE", "sqlite"),
        ("PLANNING_STATE_DB_PATH", "workspace/planning-state.db"),
        ("PLANNING_STATE_JSON_DIR", "workspace/planning-state/"),
        ("PLANNING_STATE_JSON_SYNC_ENABLED", "true"),
        ("PLANNING_STATE_JSON_SYNC_INTERVAL_SECONDS", "60"),
        ("PLANNING_CASCADE_MAX_DEPTH", "10"),
        ("PLANNING_STATE_CACHE_TTL_SECONDS", "30"),
        (
            "PLANNING_STATE_LOG_FILE",
            "workspace/logs/mcp-planning-state.log",
        ),
    ]);
    project.plan_story();
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_eq!(project.status("scene-0101"), "requires-revalidation");
}

#[test]
fn ours_wins_over_the_older_name_and_both_over_the_file() {
    let project = planned();
    project.write(
        ".throughline/config.toml",
        "profiles = [\"story\"]\n[policy]\ncascade_max_depth = 1\n",
    );
    project.write(Project::ACT, crate::ACT_EDITED);
    assert_eq!(project.run(&["approve", "act-1"]).code, 1);
    let older = ("PLANNING_CASCADE_MAX_DEPTH", "2");
    assert_eq!(
        run_with(
            &project,
            &[older, ("THROUGHLINE_CASCADE_MAX_DEPTH", "1")],
            &["approve", "act-1"]
        )
        .code,
        1
    );
    assert_eq!(
        run_with(
            &project,
            &[older, ("THROUGHLINE_CASCADE_MAX_DEPTH", "9")],
            &["approve", "act-1"]
        )
        .code,
        0
    );
}

#[test]
fn an_empty_value_is_no_value() {
    let project = planned();
    assert_eq!(
        run_with(
            &project,
            &[
                ("THROUGHLINE_STORAGE", ""),
                ("PLANNING_CASCADE_MAX_DEPTH", "")
            ],
            &["status"]
        )
        .code,
        0
    );
}

#[test]
fn a_wrong_value_names_the_variable_and_what_is_allowed() {
    let cases = [
        ("THROUGHLINE_STORAGE", "oracle", "`sqlite`, `json`"),
        ("PLANNING_STATE_STORAGE", "oracle", "`sqlite`, `json`"),
        ("THROUGHLINE_APPROVAL", "cats", "`anyone`, `human`"),
        ("THROUGHLINE_CASCADE", "shallow", "`precise`, `deep`"),
        ("THROUGHLINE_CASCADE_MAX_DEPTH", "many", "number"),
        ("PLANNING_CASCADE_MAX_DEPTH", "-1", "number"),
        (
            "THROUGHLINE_CONSISTENCY",
            "maybe",
            "`off`, `warn`, `require-force`",
        ),
        (
            "THROUGHLINE_BACKUPS",
            "maybe",
            "`always`, `approved`, `off`",
        ),
        ("THROUGHLINE_MAX_PLAN_BYTES", "4 MB", "number"),
        ("THROUGHLINE_MIRROR", "maybe", "`true`"),
        ("PLANNING_STATE_JSON_SYNC_ENABLED", "maybe", "`false`"),
        ("THROUGHLINE_MIRROR_INTERVAL_SECONDS", "soon", "number"),
        (
            "PLANNING_STATE_JSON_SYNC_INTERVAL_SECONDS",
            "soon",
            "number",
        ),
        ("THROUGHLINE_PROFILES", "storry", "did you mean `story`?"),
    ];
    let project = story();
    for (name, value, allowed) in cases {
        let output = run_with(&project, &[(name, value)], &["status"]);
        assert_eq!(output.code, 1, "{name}={value}");
        assert!(
            output.stderr.contains(allowed),
            "{name}={value}: {}",
            output.stderr
        );
        if name != "THROUGHLINE_PROFILES" {
            assert!(
                output.stderr.contains(name),
                "{name}={value}: {}",
                output.stderr
            );
        }
        assert!(
            output.stderr.contains(value),
            "{name}={value}: {}",
            output.stderr
        );
    }
}

#[test]
fn nothing_may_lie_outside_the_project() {
    let names = [
        "THROUGHLINE_DATABASE",
        "PLANNING_STATE_DB_PATH",
        "THROUGHLINE_LOG_FILE",
        "PLANNING_STATE_LOG_FILE",
        "THROUGHLINE_MIRROR_DIRECTORY",
        "PLANNING_STATE_JSON_DIR",
    ];
    let project = story();
    for name in names {
        for value in ["/tmp/elsewhere", "../elsewhere", "a/../../elsewhere"] {
            let output = run_with(&project, &[(name, value)], &["status"]);
            assert_eq!(output.code, 1, "{name}={value}");
            assert!(
                output.stderr.contains(value) && output.stderr.contains("outside the project"),
                "{name}: {}",
                output.stderr
            );
        }
    }
    project.write(".throughline/config.toml", "database = \"../x.db\"\n");
    assert_refused(
        &project,
        &["status"],
        "invalid",
        &["`../x.db` is outside the project"],
    );
}

#[test]
fn profiles_come_from_the_environment_too() {
    let project = empty();
    project.ok(&["init"]);
    let output = run_with(
        &project,
        &[("THROUGHLINE_PROFILES", "story, tickets")],
        &["status", "--json"],
    );
    assert!(
        output
            .stdout
            .contains("\"profiles\":[\"story\",\"tickets\"]"),
        "{}",
        output.stdout
    );
}

#[test]
fn the_size_of_a_plan_is_limited() {
    let project = planned();
    let small = [("THROUGHLINE_MAX_PLAN_BYTES", "30")];
    project.write(Project::SCENE, "# Scene 1.1, longer than thirty bytes\n");
    let output = run_with(&project, &small, &["show", "scene-0101", "--json"]);
    assert!(
        output.stdout.contains("\"status\":\"invalid\""),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .contains("more than policy.max_plan_bytes (30)"),
        "{}",
        output.stdout
    );
    let output = run_with(&project, &small, &["approve", "scene-0101"]);
    assert_eq!(output.code, 1);
    assert_eq!(
        project.status("scene-0101"),
        "draft",
        "with the usual limit it is read again"
    );
}

#[test]
fn the_time_zone_names_backups() {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    let mut command = project.command(&["versions", "act-1", "--json"]);
    command.env("TZ", "Asia/Tokyo");
    let output = finished(&mut command);
    let value: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    let (at, local) = (
        text(&value["versions"][0], "at"),
        text(&value["versions"][0], "timestamp"),
    );
    let hour = |text: &str| {
        text.get(11..13)
            .and_then(|hour| hour.parse::<u32>().ok())
            .expect("an hour")
    };
    assert_eq!((hour(at) + 9) % 24, hour(local), "{at} {local}");
}
