//! `tl evidence`

use serde_json::{Value, json};

use crate::mcp::{Client, ERAS, structured};
use crate::{assert_refused, text, tickets};

fn standing(project: &testkit::Project) -> Value {
    project.json(&["evidence", "show", "017b"])["proofs"][0]["standing"].clone()
}

#[test]
fn a_command_proves_what_its_inputs_were() {
    let project = tickets();
    project.ok(&[
        "evidence",
        "add",
        "017b",
        "--input",
        "src",
        "--",
        "test",
        "-f",
        "src/main.rs",
    ]);
    assert_eq!(standing(&project), json!("open"));
    assert_refused(
        &project,
        &["progress", "017b", "complete"],
        "refused",
        &["is not done", "tl evidence run 017/017b"],
    );
    let ran = project.run(&["evidence", "run", "017b"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(standing(&project), json!("fresh"));
    project.write("src/deep/other.rs", "x\n");
    assert_eq!(standing(&project), json!("stale"));
    assert_refused(
        &project,
        &["progress", "017b", "complete"],
        "refused",
        &["changed since"],
    );
    project.ok(&["evidence", "run", "017b"]);
    // What is no input changes nothing.
    project.write("README.md", "x\n");
    project.ok(&["progress", "017b", "complete"]);
}

#[test]
fn a_command_that_fails_is_shown_with_its_words() {
    let project = tickets();
    project.ok(&[
        "evidence",
        "add",
        "017b",
        "--",
        "sh",
        "-c",
        "echo broken; exit 3",
    ]);
    let ran = project.run(&["evidence", "run", "017b"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stdout.contains("failed")
            && ran.stdout.contains("exit code 3")
            && ran.stdout.contains("broken"),
        "{ran:?}"
    );
    assert_refused(
        &project,
        &["progress", "017b", "complete"],
        "refused",
        &["it failed"],
    );
    project.ok(&["ticket", "phase", "017b", "implement"]);
    assert_refused(
        &project,
        &["ticket", "phase", "017b", "done"],
        "refused",
        &["it failed"],
    );
}

#[test]
fn without_inputs_the_content_of_the_repository_is_the_input() {
    let project = tickets();
    project.ok(&["evidence", "add", "017b", "--", "true"]);
    project.ok(&["evidence", "run", "017b"]);
    assert_eq!(standing(&project), json!("fresh"));
    project.write("src/main.rs", "fn main() { }\n");
    assert_eq!(standing(&project), json!("stale"));
    project.ok(&["evidence", "run", "017b"]);
    // What was proved is the content, and a commit does not change it.
    assert!(project.shell("git add -A && git commit -q -m 'feat: x'"));
    assert_eq!(standing(&project), json!("fresh"));
    assert!(project.shell("git commit -q --allow-empty -m 'chore: y'"));
    project.ok(&["ticket", "phase", "017b", "implement"]);
    assert_eq!(standing(&project), json!("fresh"), "a plan is no input");
    project.write("src/new.rs", "x\n");
    assert_eq!(standing(&project), json!("stale"));
}

/// The test of a scenario is evidence of its own once it was seen to fail.
#[test]
fn a_test_that_was_red_and_is_green_proves_its_scenario() {
    let project = tickets();
    project.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let proposal = project
        .ok(&["evidence", "propose", "017a/loc-tracking"])
        .stdout;
    assert_eq!(
        proposal,
        "tl evidence add 017/017a/loc-tracking --test loc-tracking -- cargo test loc_tracking\n"
    );
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    project.write(
        "run.sh",
        format!(
            "echo token {secret}; seq 1 4000; echo \"test codes::loc_tracking ... $(cat result)\"\n"
        ),
    );
    project.ok(&[
        "evidence",
        "add",
        "017a/loc-tracking",
        "--test",
        "LOC tracking",
        "--input",
        "result",
        "--",
        "sh",
        "run.sh",
    ]);
    let run = || {
        let _ = project.run(&["evidence", "run", "017a/loc-tracking"]);
        project.json(&["evidence", "show", "017a/loc-tracking"])["proofs"][0].clone()
    };
    project.write("result", "ok");
    let proof = run();
    assert_eq!(proof["standing"], json!("never-failed"), "{proof}");
    assert_refused(
        &project,
        &["ticket", "scenario", "done", "017a/loc-tracking"],
        "refused",
        &["never seen to fail"],
    );
    project.write("result", "FAILED");
    assert_eq!(run()["standing"], json!("failed"));
    project.write("result", "ok");
    let proof = run();
    assert_eq!(proof["standing"], json!("fresh"), "{proof}");
    let output = text(&proof["result"], "output").to_owned();
    assert!(
        output.len() <= 4096 && output.ends_with("... ok\n"),
        "{output}"
    );
    let journal = project.read(".throughline/journal.jsonl");
    assert!(!journal.contains(&secret), "recorded output is masked");
    project.ok(&["ticket", "scenario", "done", "017a/loc-tracking"]);
}

#[test]
fn files_and_wrong_proofs() {
    let project = tickets();
    project.ok(&["evidence", "add", "017b", "--file", "docs/report.md"]);
    assert_eq!(project.run(&["evidence", "run", "017b"]).code, 3);
    project.write("docs/report.md", "done\n");
    project.ok(&["evidence", "run", "017b"]);
    assert_eq!(standing(&project), json!("fresh"));
    assert_refused(
        &project,
        &["evidence", "run", "017a"],
        "not-found",
        &["nothing is declared"],
    );
    assert_refused(
        &project,
        &["evidence", "add", "017a"],
        "invalid",
        &["expected a command, --test, --file or --review"],
    );
    assert_refused(
        &project,
        &["evidence", "add", "017a", "--file", "../x"],
        "invalid",
        &["outside the project"],
    );
    assert_refused(
        &project,
        &["evidence", "add", "017a", "--file", "/etc/passwd"],
        "invalid",
        &["outside"],
    );
    let missing = project.json(&["evidence", "add", "017a", "--", "no-such-program"]);
    assert_eq!(text(&missing, "node"), "017/017a");
    let ran = project.run(&["evidence", "run", "017a"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("cannot run `no-such-program`"),
        "{ran:?}"
    );
}

#[test]
fn a_profile_can_ask_for_evidence() {
    let project = crate::empty();
    let profile = "name = \"jobs\"\n[[level]]\nname = \"job\"\nroot = true\nalias = \"{name}\"\nfile = \"jobs/{alias}.md\"\nevidence = \"required\"\n";
    project.write(".throughline/profiles/jobs.toml", profile);
    project.ok(&["init", "--profile", "jobs"]);
    project.write("jobs/one.md", "# One\n");
    assert_refused(
        &project,
        &["progress", "one", "complete"],
        "refused",
        &["needs evidence", "tl evidence propose one"],
    );
    project.ok(&["evidence", "add", "one", "--", "true"]);
    project.ok(&["evidence", "run", "one"]);
    project.ok(&["progress", "one", "complete"]);
}

#[test]
fn where_the_gate_only_warns_everything_can_be_completed() {
    let project = tickets();
    project.write(
        ".throughline/config.toml",
        "profiles = [\"tickets\"]\n[policy.gates]\ndone = \"warn\"\n",
    );
    project.ok(&["evidence", "add", "017b", "--", "false"]);
    project.ok(&["ticket", "phase", "017b", "implement"]);
    let phase = project.run(&["ticket", "phase", "017b", "done"]);
    assert!(
        phase.code == 0 && phase.stderr.contains("is not done"),
        "{phase:?}"
    );
    assert_eq!(project.json(&["show", "017b"])["progress"], "complete");
}

#[test]
fn a_client_that_started_the_program_runs_what_it_declared() {
    let project = tickets();
    for era in ERAS {
        let mut client = Client::start(&project, era, &[]);
        let declared = json!({ "action": "add", "node": "017b", "command": ["touch", "ran"], "inputs": ["src"] });
        client.call("plan_prove", declared);
        let ran = client.call("plan_prove", json!({ "action": "run", "node": "017b" }));
        assert_eq!(structured(&ran)["proved"], json!(true), "{ran}");
        std::fs::remove_file(project.root().join("ran")).expect("it was run");
        client.end();
    }
}

/// A report of an earlier run proves nothing when the command failed before it wrote one.
#[test]
fn a_report_that_this_run_did_not_write_does_not_count() {
    let project = tickets();
    project.write(
        "build.sh",
        "grep -q broken src/main.rs && exit 1\nmkdir -p reports\nif grep -q works src/main.rs; then \
         echo \"<testcase name='loc tracking' time='$(date +%N)'/>\"; else \
         echo \"<testcase name='loc tracking' time='$(date +%N)'><failure/></testcase>\"; fi > reports/a.xml\n",
    );
    project.ok(&[
        "evidence",
        "add",
        SCENARIO,
        "--test",
        "loc tracking",
        "--report",
        "reports",
        "--",
        "sh",
        "build.sh",
    ]);
    let run = |source: &str| {
        project.write("src/main.rs", source);
        let _ = project.run(&["evidence", "run", SCENARIO]);
        project.json(&["evidence", "show", SCENARIO])["proofs"][0].clone()
    };
    assert_eq!(run("fn main() {}\n")["standing"], json!("failed"));
    // The report is not ignored by git, and differs with every run: it is a result, not an input.
    assert_eq!(run("fn main() { works() }\n")["standing"], json!("fresh"));
    let broken = run("fn main() { broken() }\n");
    assert_eq!(broken["standing"], json!("failed"), "{broken}");
    assert!(
        broken["result"]["output"]
            .as_str()
            .is_some_and(|output| output.contains("no report was written")),
        "{broken}"
    );
}

/// A command that changes its own inputs is stale at once; the file is named.
#[test]
fn a_file_that_the_command_writes_is_named_when_it_makes_its_result_stale() {
    let project = tickets();
    project.ok(&[
        "evidence",
        "add",
        "017b",
        "--",
        "sh",
        "-c",
        "date +%N > cov.out",
    ]);
    let ran = project.run(&["evidence", "run", "017b"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stdout.contains("`cov.out`") && ran.stdout.contains(".gitignore"),
        "{ran:?}"
    );
    assert_eq!(standing(&project), json!("stale"));
    project.write(".gitignore", "cov.out\n");
    project.ok(&["evidence", "run", "017b"]);
    assert_eq!(standing(&project), json!("fresh"));
}

const SCENARIO: &str = "017a/loc-tracking";
