//! Whose word counts: an agent with a shell cannot loosen the policy, rewrite the history or act as a person unnoticed.
//!
//! What it can do with a trick (a terminal of its own, a forged hook event) is in `docs/concepts/trust.md`.

use testkit::Project;

use crate::remote::Team;
use crate::serve::Server;
use crate::{ACT_EDITED, ACT_TEXT, run_with, story, text, texts};

const AGENT: &[(&str, &str)] = &[("CLAUDECODE", "1")];

/// A project with policy `human` and an act that is a draft.
fn human_project() -> Project {
    let project = story();
    set_approval(&project, "human");
    project.write(Project::ACT, ACT_TEXT);
    project.ok(&["status"]);
    project
}

fn set_approval(project: &Project, word: &str) {
    project.configure("policy.approval", &format!("\"{word}\""));
}

fn kinds(project: &Project) -> Vec<String> {
    let check = project.json(&["check"]);
    let findings = check["findings"].as_array().expect("a list").clone();
    findings
        .iter()
        .map(|finding| text(finding, "kind").to_owned())
        .collect()
}

#[test]
fn an_agent_that_edits_the_policy_still_cannot_approve_and_it_is_reported() {
    let project = human_project();
    set_approval(&project, "anyone");
    let output = run_with(&project, AGENT, &["approve", "act-1"]);
    assert_eq!(output.code, 1, "{}", output.stdout);
    assert!(
        output.stderr.contains("only a person may approve here"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("tl policy accept"),
        "{}",
        output.stderr
    );
    assert_eq!(project.status("act-1"), "draft");
    assert_eq!(kinds(&project), ["policy-not-accepted"]);
    assert_eq!(project.run(&["check"]).code, 3);
    assert_eq!(project.run(&["host", "doctor"]).code, 3);
    let briefing = project.session("s").start("startup");
    assert!(
        briefing
            .context()
            .is_some_and(|told| told.contains("looser than the policy in force")),
        "{briefing:?}"
    );
    let policy = project.json(&["policy"]);
    assert_eq!(text(&policy["waiting"][0], "key"), "policy.approval");
    set_approval(&project, "human");
    assert_eq!(project.run(&["check"]).code, 0);
}

#[test]
fn an_agents_approval_from_before_does_not_count_under_human() {
    let project = story();
    project.write(Project::ACT, ACT_TEXT);
    assert_eq!(run_with(&project, AGENT, &["approve", "act-1"]).code, 0);
    assert_eq!(project.status("act-1"), "approved");
    set_approval(&project, "human");
    assert_eq!(project.status("act-1"), "draft");
    let why = project.ok(&["why", "act-1"]).stdout;
    assert!(
        why.contains("only a person's approval counts here"),
        "{why}"
    );
    let log = project.ok(&["log", "--limit", "1"]).stdout;
    assert!(
        log.contains("policy.approval: \"anyone\" → \"human\""),
        "{log}"
    );
    assert_eq!(project.run(&["check"]).code, 0);
    let person = project.run_as_person("mara", "y\n", &["approve", "act-1"]);
    assert_eq!(person.code, 0, "{}", person.stdout);
    assert_eq!(project.status("act-1"), "approved");
}

#[test]
fn a_person_accepts_a_looser_policy_at_a_terminal_and_nobody_else() {
    let project = human_project();
    set_approval(&project, "anyone");
    for environment in [&[][..], AGENT] {
        let output = run_with(&project, environment, &["policy", "accept"]);
        assert_eq!(output.code, 1, "{}", output.stdout);
        assert!(
            output.stderr.contains("in their own terminal"),
            "{}",
            output.stderr
        );
    }
    let no = project.run_as_person("mara", "n\n", &["policy", "accept"]);
    assert_eq!(no.code, 1, "{}", no.stdout);
    assert_eq!(kinds(&project), ["policy-not-accepted"]);
    let yes = project.run_as_person("mara", "y\n", &["policy", "accept"]);
    assert_eq!(yes.code, 0, "{}", yes.stdout);
    assert!(
        yes.stdout
            .contains("policy.approval: \"human\" → \"anyone\""),
        "{}",
        yes.stdout
    );
    assert_eq!(project.run(&["check"]).code, 0);
    let log = project.json(&["log", "--limit", "1"]);
    assert_eq!(
        (text(&log[0], "verb"), text(&log[0], "by")),
        ("policy", "human:mara")
    );
    // The terminal shows both streams; the answer for programs is one line of JSON.
    let again = project.run_as_person("mara", "", &["policy", "accept", "--json"]);
    assert!(
        again.stdout.contains("\"accepted\": []"),
        "{}",
        again.stdout
    );
    assert!(!again.stdout.contains('✓'), "{}", again.stdout);
    assert_eq!(run_with(&project, AGENT, &["approve", "act-1"]).code, 0);
    assert_eq!(project.status("act-1"), "approved");
    assert_eq!(project.run(&["undo", "--to", "1"]).code, 1);
}

#[test]
fn a_gate_that_is_switched_off_in_the_file_holds_until_a_person_accepts_it() {
    let project = human_project();
    project.configure("policy.gates.hierarchy", "\"off\"");
    let (before, _) = project
        .session("s")
        .write(Project::CHAPTER, "# Chapter 1\n");
    assert!(before.block().is_some(), "{before:?}");
    assert_eq!(kinds(&project), ["policy-not-accepted"]);
}

#[test]
fn under_anyone_the_file_is_followed_as_it_is() {
    let project = story();
    project.configure("policy.gates.hierarchy", "\"off\"");
    project.write(Project::ACT, ACT_TEXT);
    project.ok(&["status"]);
    let (before, _) = project
        .session("s")
        .write(Project::CHAPTER, "# Chapter 1\n");
    assert!(before.block().is_none(), "{before:?}");
    assert_eq!(project.run(&["check"]).code, 0);
}

#[test]
fn a_state_made_again_in_the_same_directory_inherits_the_policy() {
    let project = human_project();
    std::fs::remove_dir_all(project.root().join(".throughline")).expect("removed");
    project.ok(&["init"]);
    project.ok(&["status"]);
    assert_eq!(run_with(&project, AGENT, &["approve", "act-1"]).code, 1);
    assert_eq!(kinds(&project), ["policy-not-accepted"]);
}

#[test]
fn acts_of_a_person_are_refused_to_agents_and_scripts_under_human() {
    let project = human_project();
    let backup = project.root().join("b.tlbackup").display().to_string();
    project.ok(&["state", "backup", &backup]);
    let acts: [&[&str]; 5] = [
        &["state", "restore", &backup, "--yes"],
        &["state", "adopt", "--yes"],
        &["state", "rebuild"],
        &[
            "team",
            "token",
            "create",
            "x",
            "--as",
            "human:mara",
            "--scope",
            "approve",
        ],
        &["serve", "--port", "0"],
    ];
    for environment in [&[][..], AGENT] {
        for act in acts {
            let output = run_with(&project, environment, act);
            assert_eq!(output.code, 1, "{act:?}: {}", output.stdout);
            assert!(
                output.stderr.contains("needs a person"),
                "{act:?}: {}",
                output.stderr
            );
        }
    }
    for act in &acts[..4] {
        let output = project.run_as_person("mara", "", act);
        assert_eq!(output.code, 0, "{act:?}: {}", output.stdout);
    }
}

/// The file is what an agent can edit, so it must not decide who is asked for.
#[test]
fn acts_of_a_person_are_refused_while_the_file_is_looser() {
    let project = human_project();
    let backup = project.root().join("b.tlbackup").display().to_string();
    project.ok(&["state", "backup", &backup]);
    set_approval(&project, "anyone");
    let acts: [&[&str]; 6] = [
        &["state", "restore", &backup, "--yes"],
        &["state", "adopt", "--yes"],
        &["state", "rebuild"],
        &["state", "quarantine", "--restore", "1"],
        &[
            "team",
            "token",
            "create",
            "x",
            "--as",
            "human:mara",
            "--scope",
            "approve",
        ],
        &["serve", "--port", "0"],
    ];
    for environment in [&[][..], AGENT] {
        for act in acts {
            let output = run_with(&project, environment, act);
            assert_eq!(output.code, 1, "{act:?}: {}", output.stdout);
            assert!(
                output.stderr.contains("needs a person"),
                "{act:?}: {}",
                output.stderr
            );
        }
    }
    // Nor while it cannot be read at all.
    project.write(".throughline/config.toml", "policy.approval = [");
    let output = run_with(&project, AGENT, &["state", "adopt", "--yes"]);
    assert!(
        output.stderr.contains("needs a person"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_profile_that_drops_the_need_for_approvals_has_no_effect_until_a_person_accepts_it() {
    let project = human_project();
    let planned = run_with(&project, AGENT, &["plan", "chapter", "1"]);
    assert_eq!(planned.code, 1, "{}", planned.stdout);
    let looser = domain::profile::BUILT_IN_PROFILES
        .iter()
        .find(|(name, _)| *name == "story")
        .map(|(_, text)| {
            text.replace(
                "title = \"Story\"",
                "title = \"Story\"\napproval = \"optional\"\ngates = [\"claim\"]",
            )
        })
        .expect("built in");
    project.write(".throughline/profiles/story.toml", looser);
    let planned = run_with(&project, AGENT, &["plan", "chapter", "1"]);
    assert_eq!(planned.code, 1, "{}", planned.stdout);
    assert!(
        planned.stderr.contains("profile story: approval"),
        "{}",
        planned.stderr
    );
    let (written, _) = project.session("s").write(Project::CHAPTER, "# Chapter\n");
    assert!(written.block().is_some(), "{written:?}");
    assert_eq!(
        kinds(&project),
        ["policy-not-accepted", "policy-not-accepted"]
    );
    let accepted = project.run_as_person("mara", "y\n", &["policy", "accept"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stdout);
    assert_eq!(run_with(&project, AGENT, &["plan", "chapter", "1"]).code, 0);
    assert!(kinds(&project).is_empty());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "an agent forges a file")]
fn a_forged_backup_is_judged_by_the_policy_in_force() {
    let project = human_project();
    let copy = project.root().join("../copy");
    copy_directory(&project.root(), &copy);
    let forged = copy.join(".throughline/config.toml");
    // Another user directory: there nothing is pinned, so that the copy can be approved by an agent.
    let config = std::fs::read_to_string(&forged)
        .expect("read")
        .replace("approval = \"human\"", "approval = \"anyone\"");
    std::fs::write(&forged, config).expect("written");
    let file = project.root().join("forged.tlbackup").display().to_string();
    let home = project.root().join("../other-home").display().to_string();
    let elsewhere = copy.display().to_string();
    for arguments in [
        &["state", "adopt", "--yes"][..],
        &["approve", "act-1"],
        &["state", "backup", &file],
    ] {
        let mut all = vec!["--project", elsewhere.as_str()];
        all.extend(arguments);
        let _ = run_with(
            &project,
            &[("THROUGHLINE_HOME", &home), ("CLAUDECODE", "1")],
            &all,
        );
    }
    assert!(std::path::Path::new(&file).exists());
    assert_eq!(
        run_with(&project, AGENT, &["state", "restore", &file, "--yes"]).code,
        1
    );
    let restored = project.run_as_person("mara", "", &["state", "restore", &file, "--yes"]);
    assert_eq!(restored.code, 0, "{}", restored.stdout);
    assert_eq!(project.status("act-1"), "draft");
    assert_eq!(project.run(&["check"]).code, 0);
}

fn copy_directory(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy_directory(&entry.path(), &target),
            false => std::fs::copy(entry.path(), &target)
                .map(drop)
                .expect("copied"),
        }
    }
}

#[test]
fn the_refusal_names_who_can_approve_and_not_the_agents_own_next_command() {
    let project = human_project();
    let refused = run_with(&project, AGENT, &["--json", "approve", "act-1"]);
    let error: serde_json::Value = serde_json::from_str(&refused.stdout).expect("JSON");
    for step in texts(&error["error"]["next_steps"]) {
        assert!(
            step.contains("/approve-plan act-1") && step.contains("the person"),
            "{step}"
        );
    }
    for arguments in [
        &["plan", "chapter", "1"][..],
        &["status"],
        &["why", "act-1"],
        &["brief"],
    ] {
        let output = run_with(&project, AGENT, arguments);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains("next: tl approve"), "{arguments:?}: {all}");
        assert!(all.contains("/approve-plan act-1"), "{arguments:?}: {all}");
    }
}

#[test]
fn a_new_project_with_a_host_leaves_approvals_to_people() {
    let project = crate::empty();
    project.ok(&["init", "--host", "claude-code", "--program", "tl"]);
    assert!(
        project
            .read(".throughline/config.toml")
            .contains("\npolicy.approval = \"human\"\n")
    );
    project.write(Project::ACT, ACT_TEXT);
    assert_eq!(run_with(&project, AGENT, &["approve", "act-1"]).code, 1);
    // A project that exists keeps its policy.
    let older = story();
    older.ok(&["init", "--host", "claude-code", "--program", "tl"]);
    assert!(
        !older
            .read(".throughline/config.toml")
            .contains("\npolicy.approval = \"human\"\n")
    );
}

#[test]
fn an_older_state_put_back_is_reported_until_a_person_accepts_it() {
    let project = story();
    project.plan_story();
    let (home, aside) = (
        project.root().join(".throughline"),
        project.root().join("../aside"),
    );
    copy_directory(&home, &aside);
    project.ok(&["invalidate", "act-1", "--reason", "no"]);
    let known = project.json(&["log", "--limit", "1"])[0]["operation"]
        .as_u64()
        .expect("a number");
    std::fs::remove_dir_all(&home).expect("removed");
    copy_directory(&aside, &home);

    let shown = project.run(&["status"]);
    assert_eq!(shown.code, 0);
    assert!(
        shown.stderr.contains("the history was rolled back"),
        "{}",
        shown.stderr
    );
    assert!(
        shown
            .stderr
            .contains(&format!("this user saw operation {known}")),
        "{}",
        shown.stderr
    );
    assert_eq!(kinds(&project), ["history-changed"]);
    assert_eq!(project.run(&["host", "doctor"]).code, 3);
    let briefing = project.session("s").start("startup");
    assert!(
        briefing
            .context()
            .is_some_and(|told| told.contains("rolled back")),
        "{briefing:?}"
    );
    // Work goes on, and does not make it true.
    project.ok(&["comment", "act-1", "-m", "one"]);
    project.ok(&["comment", "act-1", "-m", "two"]);
    assert_eq!(kinds(&project), ["history-changed"]);
    assert_eq!(
        run_with(&project, AGENT, &["check", "--accept-history"]).code,
        1
    );
    let accepted = project.run_as_person("mara", "y\n", &["check", "--accept-history"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stdout);
    assert_eq!(project.run(&["check"]).code, 0);
    let log = project.json(&["log", "--limit", "1"]);
    assert!(
        text(&log[0], "summary").starts_with("accept the history"),
        "{log}"
    );
}

#[test]
fn a_rewritten_journal_is_reported() {
    let project = story();
    project.write(Project::ACT, ACT_TEXT);
    assert_eq!(run_with(&project, AGENT, &["approve", "act-1"]).code, 0);
    let journal = project.read(".throughline/journal.jsonl");
    project.write(
        ".throughline/journal.jsonl",
        rechained(&journal.replace("agent:claude-code/unknown", "human:mara")),
    );
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = std::fs::remove_file(project.root().join(".throughline").join(file));
    }
    let shown = project.run(&["show", "act-1"]);
    assert!(
        shown.stderr.contains("the history was rewritten"),
        "{}",
        shown.stderr
    );
    assert!(kinds(&project).contains(&"history-changed".to_owned()));
}

/// Makes the hashes of a journal fit its lines again, as an attacker would.
fn rechained(journal: &str) -> String {
    use domain::ids::Digest32;
    let (header, lines) = journal.split_once('\n').expect("a header");
    let store: serde_json::Value = serde_json::from_str(header).expect("JSON");
    let mut prev =
        Digest32::of_bytes(format!("throughline-journal 1 {}", text(&store, "store")).as_bytes());
    let mut all = format!("{header}\n");
    for line in lines.lines() {
        let (op, rest) = line
            .strip_prefix("{\"op\":")
            .and_then(|line| line.split_once(",\"texts\":"))
            .expect("a line");
        let (texts, _) = rest.split_once(",\"prev\":").expect("texts");
        let mut bytes = prev.0.to_vec();
        bytes.extend_from_slice(op.as_bytes());
        let hash = Digest32::of_bytes(&bytes);
        all.push_str(&format!(
            "{{\"op\":{op},\"texts\":{texts},\"prev\":\"{prev}\",\"hash\":\"{hash}\"}}\n"
        ));
        prev = hash;
    }
    all
}

#[test]
fn the_users_files_about_trust_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let project = human_project();
    for folder in ["policies", "heads", "stores"] {
        let folder = project.user_directory().join(folder);
        let mode =
            |path: &std::path::Path| path.metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700, "{folder:?}");
        for entry in std::fs::read_dir(&folder).expect("a directory") {
            assert_eq!(mode(&entry.expect("an entry").path()), 0o600, "{folder:?}");
        }
    }
}

/// Sends the dashboard's form that approves the act, with the token the server printed.
fn approve_by_form(project: &Project, server: &Server) -> u16 {
    let version = text(&project.json(&["show", "act-1"]), "version_hash").to_owned();
    let (host, bearer) = (
        format!("127.0.0.1:{}", server.port),
        format!("Bearer {}", server.token),
    );
    let headers = [
        ("host", host.as_str()),
        ("authorization", bearer.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    server
        .send_to(
            "/do/approve",
            "POST",
            &headers,
            &format!("node=act-1&version={version}"),
        )
        .status
}

#[test]
fn a_server_without_decisions_does_not_act_as_a_person() {
    let project = human_project();
    let server = Server::start(&project, &["--no-decisions"]);
    assert_eq!(approve_by_form(&project, &server), 403);
    assert_eq!(project.status("act-1"), "draft");
}

#[test]
fn a_server_that_an_agent_started_does_not_act_as_a_person_under_any_policy() {
    let project = story().with_environment("CLAUDECODE", "1");
    project.write(Project::ACT, ACT_TEXT);
    project.ok(&["status"]);
    let server = Server::start(&project, &[]);
    assert_eq!(approve_by_form(&project, &server), 403);
    assert_eq!(project.status("act-1"), "draft");
}

#[test]
fn on_a_laptop_the_servers_policy_decides_whatever_its_own_file_says() {
    let team = Team::start();
    let laptop = team.laptop_with(&team.url(), &team.token);
    set_approval(&team.project, "human");
    team.project.ok(&["status"]);
    // What a script of the tests approved does not count any more, there and here.
    assert_eq!(team.project.status("act-1"), "draft");
    assert_eq!(laptop.status("act-1"), "draft");
    laptop.write(Project::ACT, ACT_EDITED);
    let refused = laptop.run(&["approve", "act-1"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(
        refused.stderr.contains("only a person may approve here"),
        "{}",
        refused.stderr
    );
    let policy = laptop.json(&["policy"]);
    assert!(
        policy["values"][0]["from"]
            .as_str()
            .is_some_and(|from| from.contains("server")),
        "{policy}"
    );
    assert_eq!(laptop.run(&["policy", "accept"]).code, 1);
    assert_eq!(laptop.status("act-1"), "draft");
}

#[test]
fn two_clones_of_one_project_have_a_history_each() {
    let project = story();
    project.plan_story();
    let clone = project.root().join("../clone");
    copy_directory(&project.root(), &clone);
    for file in ["state.db", "state.db-wal", "state.db-shm", "journal.jsonl"] {
        let _ = std::fs::remove_file(clone.join(".throughline").join(file));
    }
    let elsewhere = clone.display().to_string();
    for _ in 0..2 {
        project.ok(&["comment", "act-1", "-m", "more"]);
        let shown = project.run(&["--project", &elsewhere, "status"]);
        assert!(!shown.stderr.contains("history"), "{}", shown.stderr);
        assert_eq!(project.run(&["check"]).code, 0);
    }
}
