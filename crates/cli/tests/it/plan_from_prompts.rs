//! A plan from its first step to its last by the prompts alone: planned in the main worktree, carried out
//! by two agents in worktrees of their own, merged, and nothing is left to do.

#![expect(
    clippy::disallowed_methods,
    reason = "the files of worktrees beside the project"
)]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Output, Project};

use crate::reconcile::{committed, git};
use crate::{binary, finished, story, text, texts};

const DOC: &str = "add-search";

/// Two milestones of the first wave; a third that changes the file of the first again.
const DESIGN: &str = r#"{"do":"set","id":"overview","version":1,"fields":{"problem":"Nothing can be found.","approach":"An index."}}
{"do":"add-decision","decision":"BM25","reasoning":"needs no model","as":"rank"}
{"do":"add-milestone","name":"Index","files":["src/index.rs"],"acceptance_criteria":["words are mapped"],"tests":{"files":["tests/index.txt"]},"as":"index"}
{"do":"add-intent","milestone":"@index","file":"src/index.rs","behavior":"Maps words to places.","decision_refs":["@rank"]}
{"do":"add-milestone","name":"Query","files":["src/query.rs"],"acceptance_criteria":["a word is found"],"tests":{"skip_reason":"with the index"}}
{"do":"add-intent","milestone":"M-002","file":"src/query.rs","behavior":"Finds places."}
{"do":"add-milestone","name":"Ranking","files":["src/index.rs"],"acceptance_criteria":["places are ranked"],"depends_on":["@index"],"tests":{"skip_reason":"with the index"}}
{"do":"add-intent","milestone":"M-003","file":"src/index.rs","behavior":"Ranks places."}
"#;

/// Each code change: its intent, its file, its diff.
const DIFFS: [(&str, &str, &str); 4] = [
    (
        "CI-001",
        "src/index.rs",
        "@@ -1 +1,2 @@\n // empty\n+fn build() {}\n",
    ),
    (
        "CI-001",
        "tests/index.txt",
        "@@ -0,0 +1 @@\n+words are mapped\n",
    ),
    (
        "CI-002",
        "src/query.rs",
        "@@ -1 +1 @@\n-// empty\n+fn find() {}\n",
    ),
    (
        "CI-003",
        "src/index.rs",
        "@@ -1,2 +1,3 @@\n // empty\n fn build() {}\n+fn rank() {}\n",
    ),
];

/// A worktree with the sessions that work in it.
struct Worktree<'p> {
    project: &'p Project,
    directory: PathBuf,
}

impl Worktree<'_> {
    fn run(&self, session: &str, arguments: &[&str]) -> Output {
        let mut command = self.project.command(arguments);
        command
            .current_dir(&self.directory)
            .env("THROUGHLINE_SESSION", session);
        finished(&mut command)
    }

    #[track_caller]
    fn ok(&self, session: &str, arguments: &[&str]) -> String {
        let output = self.run(session, arguments);
        assert_eq!(
            output.code, 0,
            "{session} tl {arguments:?}\n{}{}",
            output.stdout, output.stderr
        );
        output.stdout
    }

    #[track_caller]
    fn refused(&self, session: &str, arguments: &[&str], part: &str) {
        let output = self.run(session, arguments);
        assert_ne!(output.code, 0, "{arguments:?}: {}", output.stdout);
        assert!(output.stderr.contains(part), "{}", output.stderr);
    }

    #[track_caller]
    fn json(&self, session: &str, arguments: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        serde_json::from_str(&self.ok(session, &all)).expect("JSON")
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = self.project.command_of(Path::new("git"));
        command
            .current_dir(&self.directory)
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
        let output = finished(command.args(arguments));
        assert_eq!(output.code, 0, "git {arguments:?}: {}", output.stderr);
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.directory.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.directory.join(file)).expect("read")
    }

    /// Passes the review and the gate that the run is at.
    fn pass_review(&self) {
        self.ok("reviewer", &["flow", "next"]);
        let add = ["review", "add", "--check", "it is right"];
        self.ok("reviewer", &[&add[..], &["--severity", "MUST"]].concat());
        let status = self.json("reviewer", &["review", "status"]);
        for id in texts(&status["todo"]) {
            self.ok("reviewer", &["review", "verdict", id, "pass"]);
        }
        self.ok("reviewer", &["flow", "done"]);
        self.ok("orchestrator", &["flow", "pass"]);
    }

    /// Starts the executor as `tl next` says, up to the step that hands out milestones.
    fn start_executor(&self, session: &str) {
        let next = self.json(session, &["next"]);
        let action = text(&next["ready"][0], "action");
        assert!(
            action.starts_with("tl flow start executor --for add-search"),
            "{next}"
        );
        self.ok(session, &["flow", "start", "executor", "--for", DOC]);
        for _ in 0..2 {
            self.ok(session, &["flow", "next"]);
            self.ok(session, &["flow", "done"]);
        }
    }

    /// Takes a milestone, and follows the executor's prompt to its completion.
    fn carry_out(&self, session: &str, test: &dyn Fn(), check: &[&str]) -> String {
        let node = self.ok(session, &["flow", "take"]).trim().to_owned();
        let milestone = node.rsplit('/').next().expect("a path").to_owned();
        test();
        let mut add = vec!["evidence", "add", &node, "--"];
        add.extend(check);
        self.ok(session, &add);
        self.ok(session, &["flow", "apply", &milestone]);
        self.ok(session, &["evidence", "run", &node]);
        self.commit(&milestone);
        self.ok(session, &["progress", &node, "complete"]);
        self.commit(&format!("{milestone}: complete"));
        milestone
    }
}

/// A repository with a plan that was frozen at the end of the planner's prompts.
fn planned() -> Project {
    let project = story();
    for file in ["src/index.rs", "src/query.rs"] {
        project.write(file, "// empty\n");
    }
    committed(&project);
    let main = main_of(&project);
    main.ok(
        "orchestrator",
        &["flow", "start", "planner", "--new", "Add search"],
    );
    main.ok("orchestrator", &["flow", "done"]);
    project.write(
        &format!(".throughline/plans/{DOC}/context.json"),
        r#"{"task_spec": ["find words"]}"#,
    );
    main.ok("orchestrator", &["flow", "done"]);
    project.write("design.jsonl", DESIGN);
    main.ok("architect", &["doc", "apply", "design.jsonl"]);
    std::fs::remove_file(project.root().join("design.jsonl")).expect("removed");
    main.ok("architect", &["flow", "done"]);
    main.pass_review();
    let prompt = main.ok("developer", &["flow", "next"]);
    assert!(
        prompt.contains("M-001 Index: src/index.rs; tests: tests/index.txt")
            && prompt.contains("add-change --intent CI-NNN [--file PATH] --diff"),
        "the tests to include, and how: {prompt}"
    );
    for (intent, file, diff) in DIFFS {
        project.write("a.diff", diff);
        let add = ["doc", "add-change", "--intent", intent, "--file", file];
        main.ok("developer", &[&add[..], &["--diff", "a.diff"]].concat());
    }
    std::fs::remove_file(project.root().join("a.diff")).expect("removed");
    let validation = main.json("developer", &["doc", "validate"]);
    assert_eq!(validation["problems"], json!([]), "not even a hint");
    main.ok("developer", &["flow", "done"]);
    main.pass_review();
    for (milestone, words) in [
        ("M-001", "The index of words."),
        ("M-002", "Queries of the index."),
        ("M-003", "Ranking of places."),
    ] {
        let add = [
            "doc",
            "add-doc",
            "--milestone",
            milestone,
            "--place",
            "module",
        ];
        let documented = |words| [&add[..], &["--text", words]].concat();
        if milestone == "M-003" {
            main.ok("writer", &documented("…"));
            main.refused("writer", &["flow", "done"], "M-003 has no documentation");
        }
        main.ok("writer", &documented(words));
    }
    main.ok("writer", &["flow", "done"]);
    main.pass_review();
    main.refused(
        "orchestrator",
        &["flow", "next"],
        "tl flow start executor --for add-search",
    );
    main.commit("plan");
    project
}

fn main_of(project: &Project) -> Worktree<'_> {
    Worktree {
        project,
        directory: project.root().to_owned(),
    }
}

/// Adds a worktree with a branch of its name.
fn add_worktree<'p>(project: &'p Project, folder: &Path, name: &str) -> Worktree<'p> {
    let directory = folder.join(name);
    let path = directory.display().to_string();
    git(project, &["worktree", "add", "-q", "-b", name, &path]);
    Worktree { project, directory }
}

#[test]
fn a_plan_is_carried_out_by_the_prompts_alone_and_nothing_is_left_to_do() {
    let project = planned();
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two] = ["one", "two"].map(|name| add_worktree(&project, folder.path(), name));
    one.start_executor("one");
    two.start_executor("two");
    // The tests are written first, as the prompt says: the diff finds them there.
    let write_test = || one.write("tests/index.txt", "words are mapped\n");
    let check = ["grep", "-q", "build", "src/index.rs"];
    assert_eq!(one.carry_out("one", &write_test, &check), "M-001");
    let check = ["grep", "-q", "find", "src/query.rs"];
    assert_eq!(two.carry_out("two", &|| {}, &check), "M-002");
    // The third milestone is of the next wave: nothing is offered that cannot be taken.
    let next = two.json("two", &["next"]);
    assert!(!next.to_string().contains("flow take"), "{next}");
    two.refused("two", &["flow", "take"], "tl claim --list");
    two.ok("two", &["claim", "--list"]);

    one.git(&["merge", "-q", "--no-edit", "two"]);
    one.ok("one", &["flow", "done"]);
    let check = ["grep", "-q", "rank", "src/index.rs"];
    assert_eq!(one.carry_out("one", &|| {}, &check), "M-003");
    // What the third changed in the file of the first is its own to prove.
    one.ok("one", &["flow", "done"]);
    one.pass_review();
    let prompt = one.ok("writer", &["flow", "next"]);
    assert!(
        prompt.contains("    tl evidence run DOCUMENT/M-NNN"),
        "{prompt}"
    );
    for (file, comment) in [
        (
            "src/index.rs",
            "// An index of all words, and the ranking of their places.\n",
        ),
        ("src/query.rs", "// Queries that the index answers.\n"),
    ] {
        let code = one.read(file);
        one.write(file, &format!("{comment}{code}"));
    }
    for milestone in ["M-001", "M-002", "M-003"] {
        one.ok(
            "writer",
            &["evidence", "run", &format!("{DOC}/{milestone}")],
        );
    }
    one.commit("documentation");
    one.ok("writer", &["flow", "done"]);
    one.pass_review();
    one.ok("reviewer", &["doc", "reconcile"]);
    one.ok("reviewer", &["flow", "done"]);
    one.commit("the end");

    git(&project, &["merge", "-q", "--no-edit", "one"]);
    assert_eq!(project.json(&["next"])["ready"], json!([]));
    let report = project.json(&["doc", "reconcile"]);
    assert_eq!(report["ok"], json!(true), "{report}");
    assert_eq!(project.json(&["show", DOC])["progress"], json!("complete"));
    for milestone in ["M-001", "M-002", "M-003"] {
        let node = format!("{DOC}/{milestone}");
        let shown = project.json(&["show", &node]);
        assert_eq!(shown["status"], json!("approved"), "{shown}");
        let evidence = project.json(&["evidence", "show", &node]);
        assert_eq!(evidence["proved"], json!(true), "{evidence}");
    }
    assert_eq!(project.json(&["claim", "--list"]), json!([]));
    project.ok(&["check"]);
}

#[test]
fn a_plan_is_not_complete_in_a_worktree_without_its_changes() {
    let project = planned();
    let folder = tempfile::tempdir().expect("a folder");
    let one = add_worktree(&project, folder.path(), "one");
    // Accepting what was taken over already is no error.
    one.ok("one", &["doc", "validate", "--accept", "--doc", DOC]);
    one.start_executor("one");
    one.write("tests/index.txt", "words are mapped\n");
    let node = format!("{DOC}/M-001");
    one.ok(
        "one",
        &["evidence", "add", &node, "--", "test", "-f", "src/lib.rs"],
    );
    one.ok("one", &["evidence", "run", &node]);
    one.refused(
        "one",
        &["progress", &node, "complete"],
        "`CI-001` is not carried out: `src/index.rs` is as it was when the plan was frozen",
    );
    one.write("src/index.rs", "// empty\nfn build() {}\n");
    std::fs::remove_file(one.directory.join("tests/index.txt")).expect("removed");
    one.ok("one", &["evidence", "run", &node]);
    one.refused(
        "one",
        &["progress", &node, "complete"],
        "its test file `tests/index.txt` does not exist",
    );
    let report = one.run("one", &["doc", "reconcile"]).stdout;
    assert!(
        report.contains("## Tests that do not exist\n\n- M-001 `tests/index.txt`"),
        "{report}"
    );
}

#[test]
fn a_new_worktree_knows_what_is_complete_and_proved() {
    let project = planned();
    let folder = tempfile::tempdir().expect("a folder");
    let one = add_worktree(&project, folder.path(), "one");
    one.start_executor("one");
    let check = ["grep", "-q", "build", "src/index.rs"];
    one.carry_out("one", &|| {}, &check);
    git(&project, &["merge", "-q", "--no-edit", "one"]);
    // Received with the merge: the plan stays approved by its freeze.
    let shown = project.json(&["show", &format!("{DOC}/M-001")]);
    assert_eq!(
        (&shown["progress"], &shown["status"]),
        (&json!("complete"), &json!("approved")),
        "{shown}"
    );
    let statuses = project.ok(&["tree"]).stdout;
    assert!(
        !statuses.contains("draft") && !statuses.contains("stale"),
        "{statuses}"
    );

    let two = add_worktree(&project, folder.path(), "two");
    two.start_executor("two");
    let node = format!("{DOC}/M-001");
    assert_eq!(
        two.json("two", &["show", &node])["progress"],
        json!("complete")
    );
    let evidence = two.json("two", &["evidence", "show", &node]);
    assert_eq!(evidence["proofs"][0]["standing"], "fresh", "{evidence}");
    let check = ["grep", "-q", "find", "src/query.rs"];
    assert_eq!(two.carry_out("two", &|| {}, &check), "M-002");
    // The first was committed before this worktree was made; the third changes the same file.
    let report = two.run("two", &["--json", "doc", "reconcile"]).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["intents_without_changes"], json!([]), "{report}");
    assert_eq!(
        report["criteria_without_evidence"],
        json!([{ "milestone": "M-003", "criteria": ["places are ranked"] }]),
        "{report}"
    );
}

#[test]
fn a_completion_that_comes_without_its_changes_is_told() {
    let project = planned();
    let folder = tempfile::tempdir().expect("a folder");
    let one = add_worktree(&project, folder.path(), "one");
    one.start_executor("one");
    let check = ["grep", "-q", "build", "src/index.rs"];
    one.carry_out("one", &|| {}, &check);
    // The decision alone: its commit has no code.
    git(&project, &["cherry-pick", "-x", "one"]);
    let output = project.run(&["status"]);
    assert!(
        output.stderr.contains("`CI-001` is not carried out")
            && output.stderr.contains("came with git as complete"),
        "{output:?}"
    );
    let main = main_of(&project);
    main.start_executor("main");
    main.refused("main", &["flow", "done"], "CI-001 is not carried out");
}

#[test]
fn a_frozen_plan_that_was_edited_is_not_taken_over() {
    let project = planned();
    let folder = tempfile::tempdir().expect("a folder");
    let plan = format!(".throughline/plans/{DOC}/plan.json");
    let accept = ["doc", "validate", "--accept", "--doc", DOC];
    for (name, is_committed) in [("one", false), ("two", true)] {
        let one = add_worktree(&project, folder.path(), name);
        let frozen = one.read(&plan);
        one.write(&plan, &frozen.replace("words are mapped", "nothing"));
        if is_committed {
            one.commit("another plan");
        }
        let status = one.ok(name, &["doc", "list"]);
        assert!(status.contains(DOC), "{status}");
        one.refused(name, &accept, "was changed after it was frozen");
        // A plan that was made a draft by hand is the same edit.
        let draft: Vec<&str> = frozen
            .lines()
            .filter(|line| !line.contains("\"frozen_at\""))
            .collect();
        one.write(&plan, &draft.join("\n"));
        one.refused(name, &accept, "was changed after it was frozen");
        one.refused(
            name,
            &["flow", "start", "executor"],
            "tl doc validate --accept",
        );
        one.write(&plan, &frozen);
        one.ok(name, &["flow", "start", "executor", "--for", DOC]);
        // The context it was designed with is frozen as well.
        one.write(
            &format!(".throughline/plans/{DOC}/context.json"),
            r#"{"task_spec": ["something else"]}"#,
        );
        one.refused(name, &["flow", "next"], "was changed after it was frozen");
        one.ok(name, &["doc", "restore", "--doc", DOC]);
        one.ok(name, &["flow", "next"]);
    }
}

#[test]
fn a_draft_that_is_frozen_elsewhere_is_taken_over_as_frozen() {
    let project = Project::empty(binary());
    git(&project, &["init", "-q", "-b", "main"]);
    project.ok(&["init", "--profile", "milestones"]);
    let main = main_of(&project);
    main.ok("main", &["doc", "new", "Add search"]);
    main.commit("a draft");
    let folder = tempfile::tempdir().expect("a folder");
    let one = add_worktree(&project, folder.path(), "one");
    // What nobody froze is not taken over without a word, but named with the command.
    let next = one.run("one", &["flow", "next"]);
    let accept = "tl doc validate --accept --doc add-search";
    assert!(next.stderr.contains(accept), "{next:?}");
    one.ok("one", &["doc", "validate", "--accept", "--doc", DOC]);

    project.write("design.jsonl", DESIGN);
    main.ok("main", &["doc", "apply", "design.jsonl"]);
    main.ok("main", &["doc", "freeze"]);
    main.commit("frozen");
    one.git(&["merge", "-q", "--no-edit", "main"]);
    one.start_executor("one");
    let shown = one.json("one", &["show", &format!("{DOC}/M-003")]);
    assert_eq!(shown["status"], json!("approved"), "{shown}");
}
