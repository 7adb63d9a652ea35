//! The JSON vocabulary: exact keys, as seed 000 and the contract give them.

use serde_json::{Value, json};

use crate::{keys, planned, run_with, text};
use testkit::Project;

/// A chapter that is stale, an invalid act: every optional field has something to say.
fn busy() -> Project {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project
}

#[test]
fn get_entity_state() {
    let project = busy();
    for node in ["act-1", "chapter-01", "scene-0101"] {
        let view = project.json(&["show", node]);
        assert_eq!(
            keys(&view),
            [
                "approval",
                "children",
                "created_at",
                "entity_id",
                "entity_type",
                "file_path",
                "invalidated_at",
                "invalidation_reason",
                "needs",
                "parent_id",
                "parent_version_hash",
                "path",
                "profile",
                "progress",
                "status",
                "title",
                "updated_at",
                "version_hash",
            ]
        );
        assert_eq!(
            keys(&view["approval"]),
            ["at", "by", "holds", "version_hash", "warnings"]
        );
    }
}

#[test]
fn get_entity_state_comes_first_and_in_the_seeds_order() {
    let output = planned().ok(&["show", "chapter-01", "--json"]);
    let order = [
        "entity_id",
        "entity_type",
        "status",
        "version_hash",
        "parent_id",
        "parent_version_hash",
        "children",
        "file_path",
        "created_at",
        "updated_at",
        "invalidation_reason",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|key| output.stdout.find(&format!("\"{key}\":")).expect("the key"))
        .collect();
    assert!(places.is_sorted(), "{}", output.stdout);
    assert_eq!(
        output.stdout.lines().count(),
        1,
        "one value on one line in a pipe"
    );
}

#[test]
fn an_act_without_parent_has_nulls() {
    let project = planned();
    let act = project.json(&["show", "act-1"]);
    assert_eq!(
        (act["parent_id"].clone(), act["parent_version_hash"].clone()),
        (json!(null), json!(null))
    );
    let chapter = project.json(&["show", "chapter-01"]);
    assert_eq!(chapter["parent_version_hash"], act["version_hash"]);
}

#[test]
fn statuses_are_the_seeds_words() {
    let project = busy();
    project.ok(&["invalidate", "scene-0101", "--reason", "x"]);
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.ok(&["approve", "act-2"]);
    let found: Vec<String> = ["act-1", "act-2", "chapter-01", "scene-0101"]
        .map(|node| project.status(node))
        .to_vec();
    assert_eq!(
        found,
        ["draft", "approved", "requires-revalidation", "invalid"]
    );
}

#[test]
fn get_children_status() {
    let view = busy().json(&["children", "act-1"]);
    assert_eq!(keys(&view), ["children", "status_counts", "total_children"]);
    assert_eq!(
        keys(&view["status_counts"]),
        ["approved", "draft", "invalid", "requires-revalidation"]
    );
    assert_eq!(
        keys(&view["children"][0]),
        ["entity_id", "entity_type", "file_path", "status", "title"]
    );
}

#[test]
fn cascade_invalidate() {
    let project = planned();
    let view = project.json(&["invalidate", "act-1", "--reason", "x"]);
    assert_eq!(
        keys(&view),
        [
            "invalidated_entities",
            "operation",
            "reinstated_entities",
            "success"
        ]
    );
    assert_eq!(
        keys(&view["invalidated_entities"][0]),
        [
            "entity_id",
            "entity_type",
            "new_status",
            "path",
            "previous_status"
        ]
    );

    let project = busy();
    project.ok(&["approve", "act-1"]);
    project.ok(&["revalidate", "--all", "--keep"]);
    let view = project.json(&["restore", "act-1", "-1"]);
    assert_eq!(
        keys(&view["cascade"]),
        [
            "invalidated_entities",
            "operation",
            "reinstated_entities",
            "success"
        ]
    );
    assert_eq!(
        keys(&view["cascade"]["invalidated_entities"][0]),
        [
            "entity_id",
            "entity_type",
            "new_status",
            "path",
            "previous_status"
        ]
    );
}

#[test]
fn approve_entity() {
    let view = busy().json(&["approve", "act-1"]);
    assert_eq!(
        keys(&view),
        [
            "changed_entities",
            "entity_id",
            "message",
            "operation",
            "path",
            "success",
            "version_hash",
            "warnings"
        ]
    );
}

#[test]
fn get_hierarchy_tree() {
    let view = busy().json(&["tree", "act-1"]);
    let expected = [
        "children",
        "entity_id",
        "entity_type",
        "file_path",
        "path",
        "progress",
        "status",
        "title",
        "version_hash",
    ];
    assert_eq!(keys(&view), expected);
    assert_eq!(keys(&view["children"][0]["children"][0]), expected);
}

#[test]
fn the_other_views() {
    let project = busy();
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["status"],
            &[
                "attention",
                "last_operation",
                "levels",
                "nodes",
                "profiles",
                "status_counts",
            ],
        ),
        (&["next"], &["problems", "ready", "total"]),
        (&["plan"], &["entries"]),
        (
            &["plan", "act", "2"],
            &[
                "entity_id",
                "entity_type",
                "exists",
                "file_path",
                "parent_id",
                "path",
                "prompt",
            ],
        ),
        (
            &["why", "scene-0101"],
            &[
                "chain",
                "diff",
                "next_steps",
                "operation",
                "path",
                "status",
                "summary",
            ],
        ),
        (
            &["revalidate", "chapter-01"],
            &[
                "choices",
                "current_parent_hash",
                "entity_id",
                "entity_type",
                "file_path",
                "parent_changes",
                "path",
                "reason",
                "title",
                "version_hash",
                "warnings",
            ],
        ),
        (&["versions", "act-1"], &["entity_id", "path", "versions"]),
        (
            &["diff", "act-1"],
            &["newer", "older", "sections", "unified"],
        ),
        (&["check"], &["findings", "nodes", "ok"]),
        (
            &["state", "sync-hashes"],
            &["nodes", "operation", "success", "summary"],
        ),
        (
            &["state", "repair"],
            &["actions", "operations", "remaining", "success"],
        ),
        (
            &["state", "rebuild"],
            &["forgotten", "levels", "nodes", "status_counts", "success"],
        ),
        (
            &["state", "adopt", "--yes"],
            &[
                "attention",
                "last_operation",
                "levels",
                "nodes",
                "profiles",
                "status_counts",
            ],
        ),
        (
            &["init"],
            &["kept", "made", "profiles", "project", "success"],
        ),
    ];
    for (arguments, expected) in cases {
        assert_eq!(
            keys(&project.json(arguments)),
            *expected,
            "tl {arguments:?}"
        );
    }
    for arguments in [["tree"].as_slice(), &["log"], &["revalidate", "--all"]] {
        assert!(project.json(arguments).is_array(), "tl {arguments:?}");
    }
}

#[test]
fn errors() {
    let project = planned();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["show", "act-9"], 1, "not-found"),
        (&["plan", "act", "9999"], 1, "invalid"),
        (&["revalidate", "act-1"], 1, "refused"),
        (&["show"], 2, "usage"),
    ];
    for (arguments, code, kind) in cases {
        let mut all = arguments.to_vec();
        all.push("--json");
        let output = project.run(&all);
        assert_eq!(output.code, *code, "tl {arguments:?}");
        let value: Value = serde_json::from_str(&output.stdout).expect("JSON");
        assert_eq!(keys(&value), ["error"]);
        assert_eq!(keys(&value["error"]), ["kind", "message", "next_steps"]);
        assert_eq!(text(&value["error"], "kind"), *kind, "tl {arguments:?}");
        assert_eq!(output.stderr, "", "said once, on stdout: tl {arguments:?}");
    }
}

#[test]
fn a_broken_config_is_an_error_like_any_other() {
    let project = planned();
    project.write(".throughline/config.toml", "storrage = \"json\"\n");
    let output = project.run(&["status", "--json"]);
    assert_eq!(output.code, 1);
    let value: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(keys(&value["error"]), ["kind", "message", "next_steps"]);
}

#[test]
fn paths_are_relative_to_the_project() {
    let project = busy();
    let root = project.root();
    let root = root.to_str().expect("Unicode");
    for arguments in [
        ["show", "act-1"].as_slice(),
        &["tree"],
        &["children", "act-1"],
        &["status"],
        &["versions", "act-1"],
        &["why", "scene-0101"],
        &["revalidate", "--all"],
        &["plan", "act", "2"],
        &["log"],
        &["check"],
        &["restore", "act-1", "-1"],
        &["undo"],
        &["state", "repair"],
    ] {
        let text = project.json(arguments).to_string();
        assert!(!text.contains(root), "tl {arguments:?}: {text}");
    }
}

#[test]
fn what_was_noticed_does_not_disturb_the_json() {
    let project = busy();
    let output = project.ok(&["tree", "--json"]);
    assert!(output.stderr.contains("noticed"), "{}", output.stderr);
    serde_json::from_str::<Value>(&output.stdout).expect("JSON");
}

#[test]
fn the_flag_may_stand_before_or_after_the_command() {
    let project = planned();
    assert_eq!(
        project.ok(&["--json", "tree"]).stdout,
        project.ok(&["tree", "--json"]).stdout
    );
}

#[test]
fn no_escape_codes_in_pipes_with_or_without_no_color() {
    let project = busy();
    for arguments in [
        ["tree"].as_slice(),
        &["status"],
        &["show", "act-1"],
        &["why", "scene-0101"],
        &["diff", "act-1"],
        &["log"],
        &["revalidate", "--all"],
        &["versions", "act-1"],
        &["show", "act-9"],
    ] {
        let mut command = project.command(arguments);
        command.env_remove("NO_COLOR");
        let bare = crate::finished(&mut command);
        let plain = run_with(
            &project,
            &[
                ("NO_COLOR", "1"),
                ("TERM", "xterm-256color"),
                ("COLORTERM", "truecolor"),
            ],
            arguments,
        );
        for output in [bare, plain] {
            assert!(
                !output.stdout.contains('\u{1b}') && !output.stderr.contains('\u{1b}'),
                "tl {arguments:?}"
            );
        }
    }
}

#[test]
fn control_bytes_of_a_plan_reach_nobodys_terminal() {
    let project = planned();
    project.write(
        Project::ACT,
        "# Act \u{1b}[31mred\u{7}\n\n\u{1b}]0;title\u{7}\u{202e}text\n",
    );
    for arguments in [
        ["tree"].as_slice(),
        &["show", "act-1"],
        &["status"],
        &["diff", "act-1"],
        &["why", "scene-0101"],
    ] {
        let output = project.ok(arguments);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(
            !all.contains('\u{1b}') && !all.contains('\u{7}') && !all.contains('\u{202e}'),
            "tl {arguments:?}: {all:?}"
        );
    }
}
