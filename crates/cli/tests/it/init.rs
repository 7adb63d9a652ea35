//! `tl init`

use serde_json::json;

use crate::{assert_refused, empty, finished, names_in, story};
use testkit::Project;

#[test]
fn a_new_project_shows_what_was_made() {
    let project = empty();
    let output = project.ok(&["init"]);
    for part in [
        "is a Throughline project",
        "made .throughline/config.toml",
        "made .throughline/.gitignore",
        "made .throughline/state.db",
        "story: act → chapter → scene",
        "tl plan",
    ] {
        assert!(
            output.stdout.contains(part),
            "no `{part}` in:\n{}",
            output.stdout
        );
    }
    for file in ["config.toml", ".gitignore", "state.db", "journal.jsonl"] {
        assert!(
            project.root().join(".throughline").join(file).is_file(),
            "{file}"
        );
    }
    assert_eq!(names_in(&project, "."), [".throughline"], "nothing else");
}

#[test]
fn twice_is_safe() {
    let project = story();
    project.plan_story();
    project.write(
        ".throughline/config.toml",
        "# mine\nprofiles = [\"story\"]\n",
    );
    let before = project.json(&["tree"]);
    let outcome = project.json(&["init"]);
    assert_eq!(outcome["made"], json!([]));
    assert_eq!(
        outcome["kept"],
        json!([
            ".throughline/config.toml",
            ".throughline/config.schema.json",
            ".throughline/.gitignore",
            ".throughline/state.db"
        ])
    );
    assert_eq!(
        project.read(".throughline/config.toml"),
        "# mine\nprofiles = [\"story\"]\n"
    );
    assert_eq!(project.json(&["tree"]), before);
    project.ok(&["init", "--profile", "story"]);
}

#[test]
fn json_says_the_same() {
    let project = empty();
    let outcome = project.json(&["init", "--profile", "story,tickets"]);
    assert_eq!(
        crate::keys(&outcome),
        ["kept", "made", "profiles", "project", "success"]
    );
    assert_eq!(outcome["success"], json!(true));
    assert_eq!(outcome["profiles"], json!(["story", "tickets"]));
    let guides = ["DISCOVERY", "SCENARIOS", "DECOMPOSITION", "TDD", "DONE"];
    let mut made = vec![
        ".throughline/config.toml".to_owned(),
        ".throughline/config.schema.json".to_owned(),
        ".throughline/.gitignore".to_owned(),
    ];
    made.extend(guides.map(|name| format!(".throughline/phases/{name}.md")));
    made.push(".throughline/state.db".to_owned());
    assert_eq!(outcome["made"], json!(made));
    assert_eq!(outcome["kept"], json!([]));
}

#[test]
fn every_built_in_profile_works() {
    for profile in [
        "story",
        "tickets",
        "trail",
        "milestones",
        "story,tickets,trail,milestones",
    ] {
        let project = empty();
        project.ok(&["init", "--profile", profile]);
        for command in ["status", "tree", "plan", "next", "check"] {
            project.ok(&[command]);
        }
    }
}

#[test]
fn an_unknown_profile_leaves_nothing_behind() {
    let project = empty();
    assert_refused(
        &project,
        &["init", "--profile", "storry"],
        "invalid",
        &[
            "no profile `storry`",
            "story, tickets, trail, milestones",
            "did you mean `story`?",
        ],
    );
    assert_refused(
        &project,
        &["init", "--profile", "story,nonsense"],
        "invalid",
        &["no profile `nonsense`"],
    );
    assert_refused(
        &project,
        &["init", "--profile", "../../etc/passwd"],
        "invalid",
        &["is not a profile name"],
    );
    assert_eq!(names_in(&project, "."), Vec::<String>::new());
    project.ok(&["init"]);
}

#[test]
fn an_unknown_profile_does_not_harm_a_profile_already_written() {
    let project = empty();
    project.write(".throughline/profiles/course.toml", "name = \"course\"\n");
    assert_eq!(project.run(&["init", "--profile", "nonsense"]).code, 1);
    assert_eq!(
        project.read(".throughline/profiles/course.toml"),
        "name = \"course\"\n"
    );
    project.ok(&["init", "--profile", "story"]);
    assert_eq!(
        project.json(&["status"])["profiles"],
        json!(["story"]),
        "the failed try left no config behind"
    );
}

#[test]
fn another_profile_for_an_existing_project_says_where_to_write_it() {
    let project = story();
    assert_refused(
        &project,
        &["init", "--profile", "tickets"],
        "refused",
        &[
            "this is a project already, and its profiles are story",
            "tl config set profiles story,tickets",
        ],
    );
}

#[test]
fn the_directory_may_be_named() {
    let project = empty();
    std::fs::create_dir(project.root().join("novel")).expect("a directory");
    project.ok(&["--project", "novel", "init"]);
    assert!(
        project
            .root()
            .join("novel/.throughline/config.toml")
            .is_file()
    );
    assert_eq!(names_in(&project, "."), ["novel"]);
}

#[test]
fn a_read_only_directory_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let project = empty();
    std::fs::set_permissions(project.root(), std::fs::Permissions::from_mode(0o555))
        .expect("permissions");
    let bound = std::fs::File::create(project.root().join("probe")).is_err();
    let output = project.run(&["init"]);
    std::fs::set_permissions(project.root(), std::fs::Permissions::from_mode(0o755))
        .expect("permissions");
    if bound {
        assert_eq!(output.code, 1);
        assert!(
            output.stderr.contains("cannot write in"),
            "{}",
            output.stderr
        );
    }
}

#[test]
fn without_a_home_there_is_a_clear_error() {
    let project = empty();
    let mut command = project.command(&["init"]);
    command.env_remove("THROUGHLINE_HOME");
    let output = finished(&mut command);
    assert_eq!(output.code, 1, "{}", output.stdout);
    assert!(
        output.stderr.contains("THROUGHLINE_HOME"),
        "{}",
        output.stderr
    );
    assert_eq!(names_in(&project, "."), Vec::<String>::new());
}

#[test]
fn the_home_is_found_in_the_usual_places() {
    for (name, below) in [
        ("HOME", ".local/state/throughline/stores"),
        ("XDG_STATE_HOME", "throughline/stores"),
    ] {
        let project: Project = empty();
        let home = project.root().join("somewhere");
        let mut command = project.command(&["init"]);
        command.env_remove("THROUGHLINE_HOME").env(name, &home);
        let output = finished(&mut command);
        assert_eq!(output.code, 0, "{}", output.stderr);
        assert_eq!(
            std::fs::read_dir(home.join(below))
                .expect("a folder")
                .count(),
            1,
            "{name}"
        );
    }
}
