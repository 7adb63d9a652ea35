//! Working copies of one shared state: reading writes nothing for others, texts are submitted.

use testkit::{Database, Project};

use crate::remote::Team;
use crate::serve::Server;
use crate::team_server::{send, token};
use crate::{ACT_EDITED, machine_on};

const STATED: &str = "\n## Stakes\nAll of it.\n";

fn operation_count(project: &Project) -> usize {
    project
        .json(&["log", "--limit", "100000"])
        .as_array()
        .expect("a log")
        .len()
}

/// Two machines with the same approved story.
fn two_copies(database: &Database) -> (Project, Project) {
    let (here, there) = (machine_on(database, "story"), machine_on(database, "story"));
    here.plan_story();
    for plan in [Project::ACT, Project::CHAPTER, Project::SCENE] {
        there.write(plan, here.read(plan));
    }
    (here, there)
}

fn remove(project: &Project, plan: &str) {
    std::fs::remove_file(project.root().join(plan)).expect("it was there");
}

/// Returns the differences of a copy as `kind node`.
fn differences(project: &Project) -> Vec<String> {
    list_differences(&project.json(&["status"]))
}

fn list_differences(view: &serde_json::Value) -> Vec<String> {
    let Some(list) = view["copy_differences"].as_array() else {
        return Vec::new();
    };
    list.iter()
        .map(|one| {
            format!(
                "{} {}",
                one["kind"].as_str().unwrap_or_default(),
                one["node"].as_str().unwrap_or_default()
            )
        })
        .collect()
}

#[test]
fn a_copy_that_differs_is_seen_by_its_reader_alone() {
    let database = Database::new();
    let (here, there) = two_copies(&database);
    let before = operation_count(&here);
    there.write(Project::ACT, there.read(Project::ACT) + STATED);
    remove(&there, Project::SCENE);
    there.write(
        "acts/act-2/strategic-plan.md",
        "# Act 2\n\n## Goal\nThe end.\n",
    );
    for _ in 0..2 {
        assert_eq!(there.status("act-1"), "draft");
        assert_eq!(there.status("chapter-01"), "requires-revalidation");
        assert_eq!(there.status("act-2"), "draft");
        assert_eq!(here.status("act-1"), "approved");
        assert_eq!(here.status("scene-0101"), "approved");
        assert!(here.run(&["show", "act-2"]).code != 0);
    }
    for words in [&["tree"][..], &["next"], &["check"], &["show", "act-1"]] {
        there.ok(words);
    }
    assert_eq!(operation_count(&there), before, "looking is no operation");
    assert_eq!(
        differences(&there),
        [
            "changed act-1",
            "missing act-1/chapter-01/scene-0101",
            "new act-2"
        ]
    );
    assert_eq!(differences(&here), [""; 0]);
    let told = there.ok(&["status"]).stdout;
    assert!(told.contains("Your copy differs in 3 plans"), "{told}");
    let listed = there.ok(&["submit", "--dry-run"]).stdout;
    assert!(listed.contains("to submit changed act-1"), "{listed}");
    assert_eq!(operation_count(&there), before);
}

#[test]
fn a_submitted_text_is_the_teams_and_a_missing_file_is_not() {
    let database = Database::new();
    let (here, there) = two_copies(&database);
    let text = there.read(Project::ACT) + STATED;
    there.write(Project::ACT, &text);
    remove(&there, Project::SCENE);
    there.ok(&["submit"]);
    // The other copy is behind now, and sees what the team has.
    assert_eq!(here.status("act-1"), "draft");
    assert_eq!(here.status("chapter-01"), "requires-revalidation");
    assert_eq!(differences(&here), ["outdated act-1"]);
    assert_eq!(differences(&there), ["missing act-1/chapter-01/scene-0101"]);
    let before = operation_count(&here);
    let refused = here.run(&["approve", "act-1"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("older than the team's text"),
        "{refused:?}"
    );
    assert_eq!(operation_count(&here), before, "a refusal submits nothing");
    here.write(Project::ACT, &text);
    here.ok(&["approve", "act-1"]);
    assert_eq!(there.status("act-1"), "approved");
    // Named, a missing file is deleted for all.
    assert_ne!(here.status("scene-0101"), "invalid");
    there.ok(&["submit", "scene-0101"]);
    assert_eq!(here.status("scene-0101"), "invalid");
}

#[test]
fn an_approval_submits_the_text_it_is_about_and_says_so() {
    let database = Database::new();
    let (here, there) = two_copies(&database);
    there.write(Project::ACT, there.read(Project::ACT) + STATED);
    there.write(
        Project::CHAPTER,
        there.read(Project::CHAPTER) + "\nNot part of it.\n",
    );
    let approved = there.ok(&["approve", "act-1"]);
    assert!(
        approved
            .stderr
            .contains("submitted your text, which the team did not have: changed: act-1"),
        "{}",
        approved.stderr
    );
    assert_eq!(here.status("act-1"), "approved");
    assert_eq!(differences(&there), ["changed act-1/chapter-01"]);
}

#[test]
fn two_servers_on_differing_copies_write_nothing() {
    let database = Database::new();
    let (here, there) = two_copies(&database);
    there.write(Project::ACT, there.read(Project::ACT) + STATED);
    remove(&there, Project::SCENE);
    let reader = token(&here, "human:anna", "read");
    let before = operation_count(&here);
    let servers = [Server::start(&here, &[]), Server::start(&there, &[])];
    for _ in 0..10 {
        for server in &servers {
            for page in ["/api/tree", "/api/nodes/act-1"] {
                let reply = send(server, &reader, "GET", page, "");
                assert_eq!(reply.status, 200, "{page}");
                assert!(!reply.body.contains("Stakes"), "the team's text is shown");
            }
        }
    }
    assert_eq!(operation_count(&here), before);
}

/// The state of a server belongs to its own copy until another one sends something.
#[test]
fn a_servers_own_copy_is_one_of_several() {
    let team = Team::start();
    let (anna, bob) = (team.laptop(), team.laptop());
    anna.write(
        "acts/act-2/strategic-plan.md",
        "# Act 2\n\n## Goal\nThe end.\n",
    );
    anna.ok(&["submit"]);
    let before = operation_count(&anna);
    for copy in [&bob, &team.project] {
        assert_eq!(copy.status("act-2"), "draft", "known without the file");
        copy.ok(&["status"]);
    }
    bob.write(Project::ACT, ACT_EDITED);
    assert_eq!(bob.status("act-1"), "draft");
    assert_eq!(anna.status("act-1"), "approved");
    assert_eq!(operation_count(&anna), before);
}

#[test]
fn the_dashboard_names_the_plans_in_which_its_copy_differs() {
    let team = Team::start();
    let anna = team.laptop();
    let reader = token(&team.project, "human:eve", "read");
    let server = Server::start(&team.project, &[]);
    let get = |path: &str| send(&server, &reader, "GET", path, "").body;
    let differing = || -> Vec<String> {
        let now: serde_json::Value = serde_json::from_str(&get("/api/now")).expect("JSON");
        list_differences(&now)
    };
    assert_eq!(differing(), Vec::<String>::new());
    assert!(!get("/now").contains("copy differs"));
    anna.write(
        "acts/act-2/strategic-plan.md",
        "# Act 2\n\n## Goal\nThe end.\n",
    );
    anna.ok(&["submit"]);
    assert_eq!(differing(), ["missing act-2"]);
    let before = operation_count(&anna);
    let text = team.project.read(Project::ACT);
    team.project.write(Project::ACT, ACT_EDITED);
    assert_eq!(differing(), ["changed act-1", "missing act-2"]);
    let page = get("/now");
    for words in [
        "Your copy differs in 2 plans",
        "tl submit; 1 only behind: git pull",
    ] {
        assert!(page.contains(words), "{page}");
    }
    team.project.write(Project::ACT, text);
    assert_eq!(differing(), ["missing act-2"]);
    assert_eq!(operation_count(&anna), before);
}

#[test]
fn a_read_token_reads_although_its_copy_differs() {
    let team = Team::start();
    let secret = token(&team.project, "human:eve", "read");
    let reader = team.laptop_with(&team.url(), &secret);
    reader.write(Project::ACT, ACT_EDITED);
    assert_eq!(reader.status("act-1"), "draft");
    let told = reader.ok(&["status"]).stdout;
    assert!(told.contains("Your copy differs in 1 plan"), "{told}");
    let refused = reader.run(&["submit"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("read-only"),
        "{refused:?}"
    );
}
