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
        "made .throughline/config.toml, config.schema.json, .gitignore, state.db",
        "story: act → chapter → scene",
        "for code: tl init --profile tickets",
        "Next:  tl plan",
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
fn a_second_init_adds_profiles_and_keeps_the_comments_of_the_settings() {
    let project = story();
    let before = project.read(".throughline/config.toml");
    project.write(".throughline/config.toml", format!("# mine\n{before}"));
    let outcome = project.json(&["init", "--profile", "tickets,story"]);
    assert_eq!(outcome["profiles"], json!(["story", "tickets"]));
    assert_eq!(outcome["added_profiles"], json!(["tickets"]));
    let after = project.read(".throughline/config.toml");
    assert!(after.starts_with("# mine\n"), "{after}");
    assert_eq!(
        project.json(&["status"])["profiles"],
        json!(["story", "tickets"])
    );
    project.ok(&["ticket", "new", "Search by title"]);
    // An unknown one changes nothing.
    assert_eq!(project.run(&["init", "--profile", "nonsense"]).code, 1);
    assert_eq!(project.read(".throughline/config.toml"), after);
}

#[test]
fn what_is_in_the_directory_decides_about_the_profiles() {
    for (file, profiles, because) in [
        ("Cargo.toml", json!(["tickets", "trail"]), "Cargo.toml"),
        ("app/main.py", json!(["tickets", "trail"]), "app/main.py"),
        ("a/b/c.go", json!(["tickets", "trail"]), "a/b/c.go"),
        ("node_modules/x/index.js", json!(["story"]), ""),
        ("src/main.py", json!(["tickets", "trail"]), "src/"),
        (
            ".beads/issues.jsonl",
            json!(["tickets", "trail"]),
            ".beads/",
        ),
        ("acts/act-1/strategic-plan.md", json!(["story"]), "acts/"),
        ("Глава 1.md", json!(["story"]), "Глава 1.md"),
    ] {
        let project = empty();
        project.write(file, "text\n");
        let outcome = project.json(&["init"]);
        assert_eq!(outcome["profiles"], profiles, "{file}");
        assert_eq!(outcome["chosen_because"].as_str().unwrap_or(""), because);
    }
}

#[test]
fn code_is_offered_the_first_ticket_in_ten_lines() {
    let project = empty();
    project.write("Cargo.toml", "[package]\n");
    project.write(".beads/issues.jsonl", "{}\n");
    project.write("openspec/project.md", "# Project\n");
    let output = project.ok(&["init", "--host", "claude-code", "--program", "tl"]);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert!(lines.len() <= 10, "{}", output.stdout);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("because of Cargo.toml"))
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains("Claude Code: made .claude/settings.json"))
    );
    assert!(
        lines
            .last()
            .is_some_and(|line| line.contains("tl ticket new"))
    );
    for tool in [
        "`.beads/` has issues of Beads",
        "`openspec/` has plans of OpenSpec",
    ] {
        assert!(output.stderr.contains(tool), "{}", output.stderr);
    }
}

#[test]
fn a_repository_that_has_settings_of_hosts_is_told_in_ten_lines() {
    let project = empty();
    project.write("Cargo.toml", "[package]\n");
    project.write(
        ".claude/settings.json",
        "{\n  \"permissions\": { \"allow\": [\"Bash(ls)\"] }\n}\n",
    );
    project.write(".mcp.json", "{ \"mcpServers\": {} }\n");
    project.write(".cursor/hooks.json", "{ \"version\": 1, \"hooks\": {} }\n");
    let output = project.ok(&["init", "--host", "claude-code,cursor", "--program", "tl"]);
    assert!(output.stdout.lines().count() <= 10, "{}", output.stdout);
    for part in [
        "Claude Code: made 13 commands; changed .claude/settings.json, .mcp.json",
        "changed .cursor/hooks.json",
        "the former files are in .throughline/host-backups/",
    ] {
        assert!(
            output.stdout.contains(part),
            "no `{part}`: {}",
            output.stdout
        );
    }
}

#[test]
fn the_next_command_is_that_of_the_state() {
    let draft = empty();
    draft.write("acts/act-1/strategic-plan.md", "# One\n");
    let next = |project: &Project, arguments: &[&str]| {
        let output = project.ok(arguments).stdout;
        let line = output.lines().find(|line| line.starts_with("Next:"));
        line.unwrap_or_default().to_owned()
    };
    assert!(next(&draft, &["init"]).contains("tl approve act-1"));

    let tickets = empty();
    tickets.write("Cargo.toml", "[package]\n");
    assert!(next(&tickets, &["init"]).contains("tl ticket new"));
    tickets.ok(&["ticket", "new", "Search by title"]);
    assert!(next(&tickets, &["init"]).contains("tl focus enter 001"));

    let manuscript = empty();
    manuscript.write("Мой дом/Глава 1.md", "One.\n");
    manuscript.write("Мой дом/Глава 2.md", "Two.\n");
    assert!(next(&manuscript, &["init"]).contains("tl import 'Мой дом'"));
    manuscript.ok(&["import", "Мой дом"]);
    assert!(next(&manuscript, &["init"]).contains("tl approve chapter-01"));

    let other = empty();
    other.write("novel.odt", "PK");
    assert!(
        next(&other, &["init"])
            .contains("tl import novel.docx   after you saved novel.odt as DOCX")
    );
}

#[test]
fn a_profile_that_was_chosen_wrongly_can_be_dropped_as_the_output_says() {
    let project = empty();
    project.ok(&["init"]);
    let output = project.ok(&["init", "--profile", "tickets"]);
    assert!(
        output
            .stdout
            .contains("added tickets in .throughline/config.toml")
            && !output.stdout.contains("kept .throughline/config.toml"),
        "{}",
        output.stdout
    );
    let (_, command) = output
        .stderr
        .split_once("no plans here are of story; to drop what you do not use: tl ")
        .unwrap_or_else(|| panic!("{}", output.stderr));
    let words: Vec<&str> = command
        .lines()
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    project.ok(&words);
    assert_eq!(project.json(&["status"])["profiles"], json!(["tickets"]));
}

#[test]
fn hooks_are_not_installed_from_a_cache_that_is_emptied() {
    let project = empty();
    let folder = project.user_directory().join(".npm/_npx/1f/bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("tl");
    std::fs::copy(crate::binary(), &program).expect("a copy");
    assert!(project.shell(&format!(
        "'{}' init --host claude-code 2> refused; test $? = 1",
        program.display()
    )));
    let refused = project.read("refused");
    assert!(
        refused.contains("in the cache of npx")
            && refused.contains("npm install --global throughline"),
        "{refused}"
    );
    assert!(!project.root().join(".throughline").exists());
    assert!(!project.root().join(".claude").exists());
}

#[test]
fn a_planning_tool_is_named_until_a_profile_covers_it() {
    let project = empty();
    project.write("package.json", "{}\n");
    project.write("specs/cart.spec.js", "\n");
    assert!(!project.ok(&["init"]).stderr.contains("Spec Kit"));
    project.write("specs/001-login/spec.md", "# Login\n");
    let told = project.ok(&["init"]).stderr;
    assert!(
        told.contains("`specs/` has plans of Spec Kit") && told.contains("https://"),
        "{told}"
    );
    project.write(
        ".throughline/profiles/spec-kit.toml",
        "name = \"spec-kit\"\n[[level]]\nname = \"spec\"\nroot = true\nalias = \"{name}\"\nfile = \"specs/{alias}/spec.md\"\n",
    );
    let covered = project.ok(&["init", "--profile", "spec-kit"]).stderr;
    assert!(!covered.contains("Spec Kit"), "{covered}");
}

#[test]
fn a_dry_run_lists_what_would_be_made_and_changes_nothing() {
    let project = empty();
    project.write("go.mod", "module x\n");
    let output = project.ok(&["init", "--dry-run", "--host", "claude-code"]);
    for part in [
        "would be a Throughline project",
        "tickets: ",
        "would make .throughline/config.toml",
        "Claude Code: would make .claude/settings.json",
        "Nothing was changed.",
    ] {
        assert!(output.stdout.contains(part), "{}", output.stdout);
    }
    assert_eq!(names_in(&project, "."), ["go.mod"]);
    assert_eq!(
        project
            .run(&["init", "--dry-run", "--profile", "nonsense"])
            .code,
        1
    );
    project.ok(&["init"]);
    let outcome = project.json(&["init", "--dry-run", "--profile", "milestones"]);
    assert_eq!(outcome["added_profiles"], json!(["milestones"]));
    assert_eq!(
        project.json(&["status"])["profiles"],
        json!(["tickets", "trail"])
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

#[test]
fn in_a_part_of_a_project_the_project_is_meant() {
    let project = empty();
    project.write("package.json", "{}\n");
    project.write("src/cart.js", "\n");
    project.ok(&["init"]);
    let inside = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        finished(command.current_dir(project.root().join("src")))
    };
    let again = inside(&["init", "--profile", "story"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(
        again
            .stderr
            .contains("for one of its own: tl --project . init"),
        "{again:?}"
    );
    assert!(!project.root().join("src/.throughline").exists());
    assert!(
        project
            .read(".throughline/config.toml")
            .contains("\"story\"")
    );
    assert_eq!(inside(&["--project", ".", "init"]).code, 0);
    assert!(project.root().join("src/.throughline").exists());
}

#[test]
fn a_folder_of_a_repository_is_judged_by_its_root_too() {
    let project = empty();
    assert!(project.shell("git init -q . && mkdir -p docs/план"));
    project.write("Cargo.toml", "[package]\n");
    let mut command = project.command(&["init"]);
    let output = finished(command.current_dir(project.root().join("docs/план")));
    assert!(output.stdout.contains("tickets: ticket"), "{output:?}");
    assert!(
        output.stderr.contains("the repository begins at") && output.stderr.contains("init"),
        "{output:?}"
    );
}

#[test]
fn a_named_directory_has_to_be_one() {
    let project = empty();
    project.write("notes.txt", "text\n");
    let file = project.run(&["--project", "notes.txt", "init"]);
    assert!(
        file.stderr.contains("it is a file, not a directory"),
        "{file:?}"
    );
    let missing = project.run(&["--project", "роман", "init"]);
    assert!(
        missing.stderr.contains("next: mkdir -p 'роман'"),
        "{missing:?}"
    );
}

#[test]
fn the_commands_of_a_host_fit_the_profiles() {
    let project = empty();
    project.write("Cargo.toml", "[package]\n");
    project.ok(&["init", "--host", "claude-code", "--program", "tl"]);
    let commands = project.root().join(".claude/commands");
    for (name, is_there) in [("ticket", true), ("where", true), ("plan-act", false)] {
        assert_eq!(
            commands.join(format!("{name}.md")).exists(),
            is_there,
            "{name}"
        );
    }
    let doctor = project.run(&["host", "doctor", "--json"]).stdout;
    assert!(
        !doctor.contains("missing, changed or out of date"),
        "{doctor}"
    );
    // A profile that is added brings its own.
    project.ok(&[
        "init",
        "--profile",
        "story",
        "--host",
        "claude-code",
        "--program",
        "tl",
    ]);
    assert!(commands.join("plan-act.md").exists());
}
