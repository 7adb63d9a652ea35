//! `tl config`

use serde_json::{Value, json};
use testkit::Project;

use crate::{assert_refused, empty, run_with, story, text};

const CONFIG: &str = ".throughline/config.toml";

fn setting(project: &Project, key: &str) -> Value {
    project.json(&["config", "get", key])
}

#[test]
fn list_shows_value_default_source_and_description() {
    let project = story();
    project.configure("tickets_folder", "\"билеты\"");
    let variables = [("THROUGHLINE_CASCADE_MAX_DEPTH", "7")];
    let listed = run_with(&project, &variables, &["config", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let find = |key: &str| {
        let found = listed["settings"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|one| one["key"] == key);
        found.unwrap_or_else(|| panic!("no {key}")).clone()
    };
    for (key, value, default, source) in [
        ("tickets_folder", json!("билеты"), json!("tickets"), "file"),
        (
            "policy.cascade_max_depth",
            json!(7),
            json!(10),
            "environment",
        ),
        (
            "policy.gates.loc",
            json!("block"),
            json!("block"),
            "default",
        ),
    ] {
        let found = find(key);
        assert_eq!(
            (&found["value"], &found["default"], text(&found, "source")),
            (&value, &default, source),
            "{key}"
        );
        assert!(!text(&found, "description").is_empty());
    }
    let shown = project.ok(&["config", "list"]).stdout;
    for part in [
        "tickets_folder = \"билеты\"  config.toml (default: \"tickets\")",
        "policy.gates.loc = \"block\"  default",
        "    Maximum number of uncommitted changed lines; `loc_patch_percent`",
        "    Allowed: `off`, `warn`, `block`",
    ] {
        assert!(shown.contains(part), "no `{part}` in:\n{shown}");
    }
    let gates = project.ok(&["config", "list", "policy.gates"]).stdout;
    assert!(gates.contains("policy.gates.loc =") && !gates.contains("policy.approval ="));
}

#[test]
fn get_prints_a_plain_value_and_an_unknown_key_gets_a_suggestion() {
    let project = story();
    assert_eq!(project.ok(&["config", "get", "storage"]).stdout, "sqlite\n");
    assert_eq!(
        project.ok(&["config", "get", "profiles"]).stdout,
        "[\"story\"]\n"
    );
    for (asked, near) in [
        ("approval", "policy.approval"),
        ("policy.gates.lok", "policy.gates.loc"),
        ("profils", "profiles"),
    ] {
        let expected = format!("there is no setting `{asked}`; did you mean `{near}`?");
        for arguments in [
            ["config", "get", asked].as_slice(),
            &["config", "set", asked, "x"],
        ] {
            assert_refused(
                &project,
                arguments,
                "invalid",
                &[&expected, "tl config list"],
            );
        }
    }
}

#[test]
fn set_keeps_comments_and_order() {
    let project = story();
    project.write(
        CONFIG,
        "# Наш роман\nprofiles = [\"story\"] # one\n\n[policy]\n# late at night\nbackups = \"off\"   # saves space\n\n[mirror]\nenabled = false\n",
    );
    project.ok(&["config", "set", "policy.backups", "approved"]);
    project.ok(&["config", "set", "policy.gates.loc", "warn"]);
    project.ok(&["config", "set", "tickets_folder", "работа/билеты"]);
    project.ok(&[
        "config",
        "set",
        "policy.signals.stuck_words",
        "тупик, по кругу",
    ]);
    let text = project.read(CONFIG);
    for part in [
        "# Наш роман\nprofiles = [\"story\"] # one\n",
        "tickets_folder = \"работа/билеты\"\n",
        "# late at night\nbackups = \"approved\"   # saves space\n",
        "[policy.gates]\nloc = \"warn\"\n",
        "stuck_words = [\"тупик\", \"по кругу\"]\n",
        "[mirror]\nenabled = false\n",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    assert_eq!(setting(&project, "policy.gates.loc")["value"], "warn");
    assert_eq!(setting(&project, "policy.gates.loc")["source"], "file");
    project.ok(&["config", "check"]);
    let same = project.ok(&["config", "set", "policy.backups", "approved"]);
    assert!(same.stdout.contains("unchanged"), "{}", same.stdout);
    assert_eq!(project.read(CONFIG), text);
}

/// Sections of every kind, and a file of comments only.
#[test]
fn set_works_in_any_form_of_the_file() {
    let project = story();
    for before in [
        "",
        "# nothing yet\n",
        "policy.approval = \"anyone\"\n",
        "policy = { approval = \"anyone\" }\n",
        "[policy]\napproval = \"anyone\"\n",
        "[policy.gates]\nloc = \"off\"\n",
    ] {
        project.write(CONFIG, before);
        project.ok(&["config", "set", "policy.cascade", "precise"]);
        project.ok(&["config", "set", "policy.approval", "anyone"]);
        assert_eq!(setting(&project, "policy.cascade")["value"], "precise");
        let text = project.read(CONFIG);
        for kept in before.lines().filter(|line| !line.contains('{')) {
            assert!(text.contains(kept), "no `{kept}` in:\n{text}");
        }
        let comments = text.starts_with('#');
        assert_eq!(comments, before.starts_with('#'), "{text}");
    }
}

#[test]
fn a_wrong_value_changes_nothing_and_names_what_is_allowed() {
    let project = story();
    let before = project.read(CONFIG);
    for (key, value, expected) in [
        (
            "policy.gates.loc",
            "blok",
            "expected one of `off`, `warn`, `block`; did you mean `block`?",
        ),
        ("policy.gates.loc", "стоп", "`стоп` is not allowed"),
        ("policy.max_plan_bytes", "много", "`много` is not a number"),
        ("policy.cascade_max_depth", "0", "expected a number from 1"),
        ("policy.signals.similar_percent", "300", "from 1 to 100"),
        ("mirror.enabled", "maybe", "expected one of `true`"),
        ("profiles", "", "`profiles` is empty"),
        ("profiles", "рассказ", "no profile `рассказ`"),
        ("policy.gates.fail_closed", "lok", "there is no gate `lok`"),
        ("database", "../elsewhere.db", "outside the project"),
    ] {
        assert_refused(
            &project,
            &["config", "set", key, value],
            "invalid",
            &[expected],
        );
        assert_eq!(project.read(CONFIG), before, "{key} {value}");
    }
}

#[test]
fn a_looser_policy_is_written_and_said_to_wait_for_a_person() {
    let project = story();
    let set = project.ok(&["config", "set", "policy.approval", "human"]);
    assert!(!set.stderr.contains("looser"), "{}", set.stderr);
    let set = project.ok(&["config", "set", "policy.gates.hierarchy", "off"]);
    assert!(
        set.stderr
            .contains("has no effect until a person accepts it")
            && set.stderr.contains("tl policy accept"),
        "{}",
        set.stderr
    );
    let found = setting(&project, "policy.gates.hierarchy");
    assert_eq!(
        (&found["value"], text(&found, "source")),
        (&json!("block"), "policy")
    );
}

#[test]
fn a_variable_that_wins_over_the_file_is_named() {
    let project = story();
    let set = run_with(
        &project,
        &[("THROUGHLINE_CASCADE", "deep")],
        &["config", "set", "policy.cascade", "precise"],
    );
    assert!(
        set.code == 0 && set.stderr.contains("THROUGHLINE_CASCADE is set"),
        "{set:?}"
    );
}

#[test]
fn check_lists_every_problem_with_its_line() {
    let project = story();
    assert!(
        project
            .ok(&["config", "check"])
            .stdout
            .contains("no problems")
    );
    project.write(
        CONFIG,
        "# one\nprofils = [\"story\"]\n\n[policy]\naproval = \"human\"\ncascade_max_depth = 0\n\n[policy.gates]\nloc = \"стоп\"\n[mirror]\nenabled = 1\n[\"ключ\"]\n",
    );
    let output = project.run(&["config", "check"]);
    assert_eq!(output.code, 3);
    for part in [
        "config.toml:2: unknown field `profils`",
        "config.toml:5: unknown field `aproval`",
        "did you mean `approval`?",
        "config.toml:6: `policy.cascade_max_depth`: `0` is not allowed: expected a number from 1",
        "config.toml:9: unknown variant `стоп`",
        "config.toml:11: invalid type",
        "config.toml:12: unknown field `ключ`",
        "6 problems",
    ] {
        assert!(
            output.stdout.contains(part),
            "no `{part}` in:\n{}",
            output.stdout
        );
    }
    project.write(CONFIG, "profiles = [\"story\"\n");
    assert_eq!(project.run(&["config", "check"]).code, 3);
    project.write(CONFIG, "");
    let variables = [("THROUGHLINE_STORAGE", "флешка")];
    let output = run_with(&project, &variables, &["config", "check"]);
    assert!(
        output.code == 3 && output.stdout.contains("THROUGHLINE_STORAGE: `флешка`"),
        "{output:?}"
    );
}

#[test]
fn edit_opens_the_editor_and_checks_what_it_wrote() {
    use std::os::unix::fs::PermissionsExt;
    let project = story();
    project.write("editor", "#!/bin/sh\necho \"$2\" >> \"$3\"\n");
    let editor = project.root().join("editor");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let edit = |line: &str| {
        let editor = format!("{} --wait {line}", editor.display());
        run_with(&project, &[("EDITOR", &editor)], &["config", "edit"])
    };
    let output = edit("tickets_folder=\"работа\"");
    assert!(
        output.code == 0 && output.stdout.contains("no problems"),
        "{output:?}"
    );
    assert_eq!(setting(&project, "tickets_folder")["value"], "работа");
    let output = edit("storrage=\"json\"");
    assert!(
        output.code == 3 && output.stdout.contains("did you mean `storage`?"),
        "{output:?}"
    );
    let output = run_with(&project, &[("VISUAL", "/no/such")], &["config", "edit"]);
    assert!(
        output.code == 1 && output.stderr.contains("cannot be started"),
        "{output:?}"
    );
}

#[test]
fn a_new_config_is_short_and_points_to_schema_and_reference() {
    let project = empty();
    project.ok(&["init", "--profile", "story,tickets"]);
    let text = project.read(CONFIG);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!(lines[0], "#:schema ./config.schema.json");
    assert!(lines[1].contains("`tl config list`"));
    assert!(lines[2].starts_with("project_id = \""));
    assert_eq!(lines[3], "profiles = [\"story\", \"tickets\"]");
    let schema = project.ok(&["config", "schema"]).stdout;
    assert_eq!(project.read(".throughline/config.schema.json"), schema);
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    assert!(
        schema["properties"]["policy"]["properties"]["gates"]["properties"]["loc"]["enum"]
            .is_array()
    );
}

/// Every snippet of the guides can be appended to what `tl init` wrote, with and without a host.
#[test]
fn a_documented_snippet_can_be_appended_to_a_new_config() {
    let guides = [
        include_str!("../../../../docs/guides/remote.md"),
        include_str!("../../../../docs/guides/tickets.md"),
        include_str!("../../../../docs/guides/first-story.md"),
        include_str!("../../../../docs/concepts/gates.md"),
    ];
    let mut snippets: Vec<&str> = guides
        .iter()
        .flat_map(|guide| guide.split("```toml\n").skip(1))
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(snippets.len() >= 2, "{snippets:?}");
    snippets.push("[policy.gates]\nloc = \"warn\"\n");
    for arguments in [
        ["init"].as_slice(),
        &["init", "--host", "claude-code", "--program", "tl"],
    ] {
        let project = empty();
        project.ok(arguments);
        let mut text = project.read(CONFIG);
        for snippet in &snippets {
            text.push_str(snippet);
            project.write(CONFIG, &text);
            let output = project.run(&["config", "check"]);
            assert_eq!(output.code, 0, "{snippet}\n{}", output.stdout);
        }
    }
    let project = story();
    let text = project.read(CONFIG) + "[policy]\ncascade = \"precise\"\n";
    project.write(CONFIG, text);
    project.ok(&["config", "check"]);
}

/// As written by `tl init` of older versions: every setting with its default.
#[test]
fn an_older_config_with_every_default_written_out_still_works() {
    let project = story();
    project.plan_story();
    let before = project.json(&["tree"]);
    let listed = project.json(&["config", "list"]);
    let mut text = String::new();
    let mut table = "";
    for setting in listed["settings"].as_array().expect("a list") {
        let (section, name) = self::text(setting, "key")
            .rsplit_once('.')
            .unwrap_or(("", self::text(setting, "key")));
        if section != table {
            text.push_str(&format!("\n[{section}]\n"));
            table = section;
        }
        let description = self::text(setting, "description");
        text.push_str(&format!(
            "\n# {description}\n{name} = {}\n",
            setting["value"]
        ));
    }
    project.write(CONFIG, text);
    assert_eq!(project.json(&["tree"]), before);
    project.ok(&["config", "check"]);
    project.ok(&["config", "set", "policy.gates.loc", "warn"]);
    assert_eq!(setting(&project, "policy.gates.loc")["value"], "warn");
}

#[test]
fn init_for_a_host_keeps_an_existing_policy_section_and_adds_no_second_one() {
    let project = empty();
    project.ok(&["init"]);
    let written = project.read(CONFIG) + "\n[policy]\nbackups = \"off\"\n";
    project.write(CONFIG, &written);
    project.ok(&["init", "--host", "claude-code"]);
    assert_eq!(project.read(CONFIG), written);
    project.ok(&["config", "check"]);
}

#[test]
fn settings_can_be_set_after_init_for_a_host() {
    let project = empty();
    project.ok(&["init", "--host", "claude-code"]);
    project.ok(&["config", "set", "policy.backups", "off"]);
    project.ok(&["config", "set", "policy.gates.loc", "block"]);
    project.ok(&["config", "check"]);
    let text = project.read(CONFIG);
    assert!(text.matches("[policy]").count() < 2, "{text}");
    assert_eq!(
        project.ok(&["config", "get", "policy.backups"]).stdout,
        "off\n"
    );
}
