//! `tl flow`: the workflows played from a wish to a repository that agrees with its plan, with scripted roles.

use serde_json::{Value, json};
use testkit::{Output, Project};

use crate::doc::BATCH;
use crate::reconcile::{committed, git};
use crate::{assert_refused, newest_operation, planned, run_with, story, text, texts};

pub(crate) const DOC: &str = "add-search";

/// A role of a workflow, in a session of its own.
pub(crate) struct Role<'p> {
    project: &'p Project,
    session: &'static str,
}

impl Role<'_> {
    fn run(&self, arguments: &[&str]) -> Output {
        run_with(
            self.project,
            &[("THROUGHLINE_SESSION", self.session)],
            arguments,
        )
    }

    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(
            output.code, 0,
            "{} tl {arguments:?}\n{}{}",
            self.session, output.stdout, output.stderr
        );
        output.stdout
    }

    fn refused(&self, arguments: &[&str], part: &str) {
        let output = self.run(arguments);
        assert_eq!(
            output.code, 1,
            "{} tl {arguments:?}\n{}",
            self.session, output.stdout
        );
        assert!(
            output.stderr.contains(part),
            "{} tl {arguments:?}: {}",
            self.session,
            output.stderr
        );
    }
}

/// The roles, each a session.
pub(crate) struct Cast<'p> {
    pub(crate) orchestrator: Role<'p>,
    architect: Role<'p>,
    pub(crate) developer: Role<'p>,
    pub(crate) writer: Role<'p>,
    pub(crate) reviewer: Role<'p>,
}

impl<'p> Cast<'p> {
    pub(crate) fn of(project: &'p Project) -> Self {
        let role = |session| Role { project, session };
        Self {
            orchestrator: role("orchestrator"),
            architect: role("architect"),
            developer: role("developer"),
            writer: role("writer"),
            reviewer: role("reviewer"),
        }
    }

    /// Reviews a phase: the checks fail for the given number of iterations and then pass. `fix` is what the author does about it.
    pub(crate) fn review(&self, author: &Role<'_>, iterations: u32, fix: &dyn Fn(u32)) {
        for (check, severity) in [
            ("it is right", "MUST"),
            ("it is clear", "SHOULD"),
            ("it is short", "COULD"),
        ] {
            self.reviewer.ok(&[
                "review",
                "add",
                "--check",
                check,
                "--severity",
                severity,
                "--scope",
                "M-001",
            ]);
        }
        for iteration in 1.. {
            let fails = iteration <= iterations;
            let status: Value =
                serde_json::from_str(&self.reviewer.ok(&["--json", "review", "status"]))
                    .expect("JSON");
            assert_eq!(status["iteration"], json!(iteration), "{status}");
            self.reviewer.refused(&["flow", "done"], "no verdict on");
            for id in texts(&status["todo"]) {
                let finding = format!("wrong in iteration {iteration}");
                let mut arguments =
                    vec!["review", "verdict", id, if fails { "fail" } else { "pass" }];
                if fails {
                    arguments.extend(["--finding", &finding]);
                }
                self.reviewer.ok(&arguments);
            }
            self.reviewer.ok(&["flow", "done"]);
            self.orchestrator.refused(&["flow", "done"], "is a gate");
            if !fails {
                self.orchestrator
                    .refused(&["flow", "fail"], "no finding blocks the gate");
                self.orchestrator.ok(&["flow", "pass"]);
                return;
            }
            self.orchestrator
                .refused(&["flow", "pass"], "blocking finding");
            let back: Value =
                serde_json::from_str(&self.orchestrator.ok(&["--json", "flow", "fail"]))
                    .expect("JSON");
            let blocking = texts(&back["review"]["blocking"]).len();
            assert_eq!(
                blocking,
                if iteration <= 2 { 3 } else { 2 },
                "iteration {iteration}: {back}"
            );
            let prompt = author.ok(&["flow", "next"]);
            assert!(
                prompt.contains(&format!("│     wrong in iteration {iteration}")),
                "{prompt}"
            );
            assert!(
                prompt.contains(&format!("Iteration {}", iteration + 1)),
                "{prompt}"
            );
            fix(iteration);
            author.ok(&["flow", "done"]);
        }
    }
}

fn step(project: &Project) -> String {
    let flows = project.json(&["flow", "status"]);
    flows
        .as_array()
        .and_then(|flows| flows.first())
        .map(|flow| text(flow, "step").to_owned())
        .unwrap_or_default()
}

/// From a wish to a frozen plan.
fn plan(project: &Project) {
    plan_from_batch(project, BATCH);
}

/// From a wish to a frozen plan, with the architect's edits as a batch.
pub(crate) fn plan_from_batch(project: &Project, batch: &str) {
    let cast = Cast::of(project);
    let Cast {
        orchestrator,
        architect,
        developer,
        writer,
        ..
    } = &cast;
    assert!(
        orchestrator
            .ok(&["flow", "start", "planner", "--new", "Add search"])
            .contains("step 1 of 11: Begin")
    );
    assert!(
        orchestrator
            .ok(&["flow", "next"])
            .contains("# Planner: step 1 of 11, Begin")
    );
    orchestrator.refused(&["flow", "pass"], "is not a gate");
    orchestrator.ok(&["flow", "done"]);
    orchestrator.refused(&["flow", "done"], "context.json is not written yet");
    project.write(
        &format!(".throughline/plans/{DOC}/context.json"),
        r#"{"task_spec": ["find words"], "user_quotes": "quick"}"#,
    );
    orchestrator.refused(&["flow", "done"], "/user_quotes (line 1): expected a list");
    project.write(
        &format!(".throughline/plans/{DOC}/context.json"),
        r#"{"task_spec": ["find words"], "user_quotes": ["make it quick"]}"#,
    );
    orchestrator.ok(&["flow", "done"]);

    assert_eq!(step(project), "plan-design-execute");
    // The frozen context is what the later roles know of the user: another text stops the workflow.
    let context = format!(".throughline/plans/{DOC}/context.json");
    let frozen = project.read(&context);
    project.write(&context, r#"{"task_spec": ["something else"]}"#);
    for command in ["next", "done"] {
        architect.refused(&["flow", command], "was changed after it was frozen");
        architect.refused(
            &["flow", command],
            &format!("next: tl doc restore --doc {DOC}"),
        );
    }
    orchestrator.refused(&["flow", "start", "executor"], "is not frozen");
    orchestrator.ok(&["doc", "restore"]);
    assert_eq!(project.read(&context), frozen);
    let prompt = architect.ok(&["flow", "next"]);
    assert!(
        prompt.contains("make it quick") && prompt.contains("tl doc add-milestone --name TEXT"),
        "{prompt}"
    );
    assert!(!prompt.contains("tl doc add-change"), "not the architect's");
    architect.refused(&["flow", "done"], "there is no milestone yet");
    let without_changes: String = batch
        .lines()
        .filter(|line| !line.contains("add-change"))
        .map(|line| format!("{line}\n"))
        .collect();
    project.write("design.jsonl", &without_changes);
    architect.ok(&["doc", "apply", "design.jsonl"]);
    architect.refused(
        &[
            "doc",
            "add-change",
            "--intent",
            "CI-001",
            "--diff",
            "design.jsonl",
        ],
        "is not for the architect",
    );
    architect.refused(&["doc", "freeze"], "is not for the architect");
    architect.refused(
        &["review", "add", "--check", "c", "--severity", "must"],
        "is not for the architect",
    );
    architect.ok(&["flow", "done"]);
    cast.reviewer.refused(
        &["doc", "set", "M-001", "name=x", "--version", "1"],
        "is not for the reviewer",
    );
    // Three failing iterations: first everything counts, in the third only MUST and SHOULD.
    cast.review(architect, 3, &|iteration| {
        let name = format!("name=Index {iteration}");
        architect.ok(&[
            "doc",
            "set",
            "M-001",
            &name,
            "--version",
            &iteration.to_string(),
        ]);
    });

    assert_eq!(step(project), "plan-code-execute");
    assert!(
        !project
            .root()
            .join(format!(".throughline/plans/{DOC}/qr-plan-design.json"))
            .exists(),
        "gone with its cycle"
    );
    developer.refused(
        &["doc", "add-decision", "--decision", "a", "--reasoning", "b"],
        "is not for the developer",
    );
    developer.refused(&["flow", "done"], "CI-001 has no code change");
    project.write("a.diff", "@@ -1 +1 @@\n-// full\n+fn build() {}\n");
    developer.ok(&[
        "doc",
        "add-change",
        "--intent",
        "CI-001",
        "--diff",
        "a.diff",
    ]);
    let output = developer.run(&["doc", "validate"]);
    assert!(
        output
            .stdout
            .contains("CC-001: the hunk at line 1 of the diff does not apply"),
        "{output:?}"
    );
    developer.ok(&["doc", "remove", "CC-001", "--version", "1"]);
    project.write("a.diff", "@@ -1 +1 @@\n-// empty\n+fn build() {}\n");
    for intent in ["CI-001", "CI-002"] {
        developer.ok(&[
            "doc",
            "add-change",
            "--intent",
            intent,
            "--diff",
            "a.diff",
            "--why",
            "the index follows the files",
        ]);
    }
    developer.ok(&["flow", "done"]);
    cast.review(developer, 1, &|_| {
        developer.ok(&[
            "doc",
            "set",
            "CC-002",
            "context_lines=// empty",
            "--version",
            "1",
        ]);
    });

    assert_eq!(step(project), "plan-docs-execute");
    writer.ok(&[
        "doc",
        "add-doc",
        "--milestone",
        "M-001",
        "--place",
        "module",
        "--text",
        "The index of words.",
    ]);
    writer.refused(&["flow", "done"], "M-002 has no documentation");
    writer.ok(&[
        "doc",
        "add-doc",
        "--milestone",
        "M-002",
        "--place",
        "module",
        "--text",
        "Queries of the index.",
    ]);
    writer.ok(&["flow", "done"]);
    assert!(
        project
            .read(&format!(".throughline/plans/{DOC}/plan.md"))
            .contains("The index of words.")
    );
    cast.review(writer, 0, &|_| {});
    let plan = project.json(&["doc", "show"]);
    assert!(plan["frozen_at"].is_string(), "the last gate freezes it");
    assert!(
        project
            .json(&["flow", "status"])
            .as_array()
            .is_some_and(Vec::is_empty)
    );
    let way = project.json(&["flow", "status", "--for", DOC]);
    assert_eq!(
        (
            text(&way[0], "state"),
            way[0]["way"].as_array().map(Vec::len)
        ),
        ("finished", Some(11 + 3 * 3 + 3))
    );
    orchestrator.refused(&["flow", "start", "planner", "--for", DOC], "is frozen");
}

/// Writes the planned documentation into the files of the milestones, in other words.
pub(crate) fn document_milestones(project: &Project) {
    for (file, comment) in [
        ("src/index.rs", "// An index of all words."),
        ("src/query.rs", "// Queries that the index answers."),
    ] {
        project.write(file, format!("{comment}\n{}", project.read(file)));
    }
}

#[test]
fn from_a_wish_to_a_repository_that_agrees_with_the_plan() {
    let project = story();
    for file in ["src/index.rs", "src/query.rs"] {
        project.write(file, "// empty\n");
    }
    committed(&project);
    plan(&project);
    let cast = Cast::of(&project);
    let Cast {
        orchestrator,
        developer,
        writer,
        reviewer,
        ..
    } = &cast;

    orchestrator.ok(&["flow", "start", "executor"]);
    assert_refused(
        &project,
        &["flow", "start", "executor"],
        "refused",
        &["already under way on `add-search`"],
    );
    orchestrator.ok(&["flow", "done"]);
    orchestrator.refused(&["flow", "take"], "hands out no milestones");
    orchestrator.ok(&["flow", "done"]);
    for (wave, milestone, other, file) in [
        (1, "M-001", "M-002", "src/index.rs"),
        (2, "M-002", "M-001", "src/query.rs"),
    ] {
        let next: Value =
            serde_json::from_str(&developer.ok(&["--json", "flow", "next"])).expect("JSON");
        assert_eq!(
            (text(&next, "step"), &next["wave"]),
            ("impl-execute", &json!(wave))
        );
        assert_eq!(
            next["wave_milestones"],
            json!([{ "milestone": milestone, "progress": "pending", "claimed_by": null }])
        );
        let prompt = text(&next, "prompt");
        assert!(
            prompt.contains(&format!("Carry out wave {wave}")) && prompt.contains("+fn build() {}"),
            "{prompt}"
        );
        assert!(
            !prompt.contains(&format!("│ {other} ")),
            "only what this wave needs: {prompt}"
        );
        developer.refused(&["flow", "done"], &format!("{milestone} is pending"));
        let node = format!("{DOC}/{milestone}");
        // The wave is handed out: a milestone goes to the session that takes it, and to no other.
        assert_eq!(developer.ok(&["flow", "take"]), format!("{node}\n"));
        assert_eq!(
            developer.ok(&["flow", "take"]),
            format!("{node}\n"),
            "its own"
        );
        writer.refused(
            &["flow", "take"],
            &format!("no milestone of wave {wave} is free"),
        );
        writer.refused(&["claim", &node], "is claimed by developer");
        writer.refused(&["flow", "apply", milestone], "is claimed by developer");
        developer.refused(&["flow", "apply", other], &format!("is not in wave {wave}"));
        assert_eq!(
            developer.ok(&["flow", "apply", milestone]),
            format!("{file}\n")
        );
        assert_eq!(project.read(file), "fn build() {}\n");
        assert_eq!(
            developer.ok(&["flow", "apply", milestone]),
            "",
            "the file has it already"
        );
        developer.refused(&["progress", &node, "complete"], "it needs evidence");
        developer.ok(&["evidence", "add", &node, "--", "grep", "build", file]);
        developer.ok(&["evidence", "run", &node]);
        git(&project, &["add", "-A", "src"]);
        git(&project, &["commit", "-q", "-m", milestone]);
        developer.ok(&["progress", &node, "complete"]);
        developer.ok(&["flow", "done"]);
    }
    assert_eq!(step(&project), "impl-code-qr");
    cast.review(developer, 2, &|iteration| {
        project.write("src/index.rs", format!("fn build() {{}} // {iteration}\n"));
        // What proved the milestone is old now.
        developer.ok(&["evidence", "run", "add-search/M-001"]);
    });
    writer.refused(
        &["flow", "done"],
        "the planned module comment of M-001 is not in src/index.rs: tl doc show M-001",
    );
    document_milestones(&project);
    for milestone in ["M-001", "M-002"] {
        developer.ok(&["evidence", "run", &format!("{DOC}/{milestone}")]);
    }
    writer.ok(&["flow", "done"]);
    cast.review(writer, 0, &|_| {});
    assert_eq!(step(&project), "reconcile");
    assert!(
        reviewer
            .ok(&["flow", "next"])
            .contains("Run `tl doc reconcile`")
    );
    for stray in ["design.jsonl", "a.diff"] {
        std::fs::remove_file(project.root().join(stray)).expect("removed");
    }
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "M-001 M-002"]);
    let report = project.json(&["doc", "reconcile"]);
    assert_eq!(report["intents_without_changes"], json!([]), "{report}");
    assert_eq!(report["changes_without_intents"], json!([]), "{report}");
    assert_eq!(report["carried_out"], json!(2));
    assert_eq!(
        (&report["criteria_without_evidence"], &report["ok"]),
        (&json!([]), &json!(true)),
        "{report}"
    );
    assert_eq!(project.run(&["doc", "reconcile"]).code, 0);
    reviewer.ok(&["flow", "done"]);
    assert_eq!(
        project.json(&["flow", "status", "--for", DOC])[0]["state"],
        json!("finished")
    );
    project.ok(&["check"]);
}

#[test]
fn a_check_that_never_passes_goes_to_a_person_and_the_workflow_waits() {
    let project = story();
    project.configure("policy.review.cap", "2");
    project.write(".throughline/workflows/spike.toml", SPIKE);
    project.ok(&["flow", "start", "spike", "--for", "idea"]);
    project.ok(&["flow", "done", "--for", "idea"]);
    let of = ["--of", "idea/look"];
    for (check, severity) in [("true", "MUST"), ("nice", "SHOULD")] {
        project.ok(&[
            "review",
            "add",
            "--check",
            check,
            "--severity",
            severity,
            of[0],
            of[1],
        ]);
    }
    for iteration in 1..=2 {
        for id in ["qa-001", "qa-002"] {
            project.ok(&[
                "review",
                "verdict",
                id,
                "fail",
                "--finding",
                "no",
                of[0],
                of[1],
            ]);
        }
        project.ok(&["flow", "done"]);
        assert_refused(
            &project,
            &["review", "conclude", of[0], of[1]],
            "refused",
            &["concluded by its workflow's gate"],
        );
        let output = project.run(&["flow", "fail"]);
        assert_eq!(
            output.code,
            if iteration == 1 { 0 } else { 3 },
            "{}",
            output.stderr
        );
        if iteration == 1 {
            project.ok(&["flow", "done"]);
        } else {
            assert!(
                output
                    .stdout
                    .contains("a person has to decide about qa-001"),
                "{}",
                output.stdout
            );
        }
    }
    assert_eq!(step(&project), "gate", "it stays where it is");
    let again = project.run(&["--json", "flow", "pass"]);
    assert_eq!(again.code, 3);
    let value: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(
        (texts(&value["waits_for_person"]), &value["success"]),
        (vec!["qa-001"], &json!(false))
    );
    let view = project.json(&["review", "status", of[0], of[1]]);
    assert_eq!(texts(&view["escalated"]), ["qa-001"]);
    assert_eq!(
        view["items"][1]["resolution"]["kind"],
        json!("accepted"),
        "a SHOULD is accepted at the cap, with its reason"
    );
    assert_refused(
        &project,
        &[
            "review", "accept", "qa-001", "--reason", "fine", of[0], of[1],
        ],
        "refused",
        &["only a person can accept a finding, in a terminal or on the dashboard"],
    );
    let aborted = project.json(&["flow", "abort"]);
    assert_eq!(text(&aborted, "state"), "aborted");
    assert_refused(
        &project,
        &["flow", "next"],
        "not-found",
        &["no workflow is under way here"],
    );
}

const SPIKE: &str = r#"name = "spike"
title = "Spike"
subject = "anything"

[[role]]
name = "scout"
text = "You look around."
may = ["review add", "review verdict"]

[[step]]
name = "look"
role = "scout"
phase = "look"
prompt = "Look at {subject}."

[[step]]
name = "judge"
role = "scout"
kind = "review"
phase = "look"
gives = ["checks"]
prompt = "Judge it."

[[step]]
name = "gate"
role = "scout"
kind = "gate"
phase = "look"
on_fail = "look"
prompt = "Decide."
"#;

#[test]
fn workflows_of_ones_own_and_their_mistakes() {
    let project = story();
    project.write(".throughline/workflows/spike.toml", SPIKE);
    let list = project.ok(&["flow", "list"]).stdout;
    for part in [
        "executor",
        "planner  Planner, 11 steps  built in",
        "spike  Spike, 3 steps  .throughline/workflows/spike.toml",
        "story-planning",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    assert_refused(
        &project,
        &["flow", "start", "spike"],
        "invalid",
        &["needs a subject", "--for NAME"],
    );
    assert_refused(
        &project,
        &["flow", "start", "spikes", "--for", "x"],
        "not-found",
        &["did you mean `spike`?"],
    );
    assert_refused(
        &project,
        &["flow", "start", "../x", "--for", "x"],
        "not-found",
        &["there is no workflow `../x`"],
    );
    assert_refused(
        &project,
        &["flow", "start", "planner"],
        "not-found",
        &["there is no plan document yet"],
    );
    project.ok(&["flow", "start", "spike", "--for", "idea"]);
    assert!(
        project
            .ok(&["flow", "next"])
            .stdout
            .contains("Look at idea.")
    );
    project.ok(&["flow", "start", "spike", "--for", "other"]);
    assert_refused(
        &project,
        &["flow", "next"],
        "invalid",
        &["several workflows are under way", "--for idea --flow spike"],
    );
    project.write(
        ".throughline/workflows/spike.toml",
        SPIKE.replace("kind = \"gate\"", "kind = \"gat\""),
    );
    assert_refused(
        &project,
        &["flow", "next", "--for", "idea"],
        "invalid",
        &[
            ".throughline/workflows/spike.toml:27: `step.kind`",
            "`work`, `review`, `gate`",
        ],
    );
    assert!(
        project
            .ok(&["flow", "list"])
            .stdout
            .contains("`gat` is not allowed")
    );
    project.write(
        ".throughline/workflows/spike.toml",
        SPIKE
            .replace("name = \"look\"\nrole", "name = \"peer\"\nrole")
            .replace("on_fail = \"look\"", "on_fail = \"peer\""),
    );
    assert_refused(
        &project,
        &["flow", "next", "--for", "idea"],
        "conflict",
        &["at step `look`, which the workflow `spike` no longer has"],
    );
    project.ok(&["flow", "abort", "--for", "idea"]);
    project.write(
        ".throughline/workflows/spike.toml",
        SPIKE.replace("name = \"spike\"", "name = \"other\""),
    );
    assert_refused(
        &project,
        &["flow", "start", "spike", "--for", "x"],
        "invalid",
        &["name and file must agree"],
    );
}

#[test]
fn a_story_is_planned_in_five_steps() {
    let project = planned();
    assert!(
        project
            .ok(&["flow", "start", "story-planning", "--for", "chapter 2"])
            .stdout
            .contains("act-1/chapter-02")
    );
    for title in [
        "Explore",
        "Imagine alternatives",
        "Choose the path",
        "Detail",
    ] {
        let prompt = project.ok(&["flow", "next"]).stdout;
        assert!(
            prompt.contains(title) && prompt.contains("# Plan chapter `act-1/chapter-02`"),
            "{prompt}"
        );
        project.ok(&["flow", "done"]);
    }
    assert_refused(
        &project,
        &["flow", "done"],
        "refused",
        &["the plan of `act-1/chapter-02` is not written yet"],
    );
    project.write("acts/act-1/chapters/chapter-02/plan.md", "# Chapter 2\n");
    assert!(project.ok(&["flow", "done"]).stdout.contains("finished"));
    assert_refused(
        &project,
        &["flow", "start", "story-planning", "--for", "volume 7 b"],
        "invalid",
        &["is not a node"],
    );
}

#[test]
fn every_move_is_an_operation_and_can_be_taken_back() {
    let project = story();
    project.ok(&["flow", "start", "planner", "--new", "Add search"]);
    let before = newest_operation(&project);
    project.ok(&["flow", "done"]);
    assert_eq!(newest_operation(&project), before + 1);
    project.ok(&["undo"]);
    assert_eq!(step(&project), "plan-init");
    assert!(
        project
            .ok(&["log"])
            .stdout
            .contains("plan-init of add-search: done")
    );
}

#[test]
fn a_review_file_changed_by_hand_is_reported_not_overwritten() {
    let project = story();
    let path = format!(".throughline/plans/{DOC}/qr-plan-design.json");
    project.ok(&["doc", "new", "Add search"]);
    let of = ["--of", "add-search/plan-design"];
    project.ok(&[
        "review",
        "add",
        "--check",
        "c",
        "--severity",
        "must",
        of[0],
        of[1],
    ]);
    let file: Value = serde_json::from_str(&project.read(&path)).expect("JSON");
    assert_eq!(
        (text(&file, "phase"), text(&file["items"][0], "status")),
        ("plan-design", "TODO")
    );
    let edited = project.read(&path).replace("TODO", "PASS");
    project.write(&path, &edited);
    assert_refused(
        &project,
        &["review", "verdict", "qa-001", "pass", of[0], of[1]],
        "conflict",
        &["was changed outside", "use the commands instead"],
    );
    assert_eq!(project.read(&path), edited);
    std::fs::remove_file(project.root().join(&path)).expect("removed");
    project.ok(&["review", "verdict", "qa-001", "pass", of[0], of[1]]);
    project.ok(&["undo"]);
    project.ok(&["review", "verdict", "qa-001", "pass", of[0], of[1]]);
    assert!(project.read(&path).contains("PASS"));
    project.ok(&["review", "conclude", of[0], of[1]]);
    assert!(!project.root().join(&path).exists());
}
