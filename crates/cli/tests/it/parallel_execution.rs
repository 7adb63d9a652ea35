//! A plan from its first step to its last, carried out by two agents in worktrees of their own.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::Project;

use crate::doc::BATCH;
use crate::flow::{Cast, DOC, plan_from_batch};
use crate::reconcile::{committed, git};
use crate::{finished, story};

/// An agent in a worktree.
struct Agent<'p> {
    project: &'p Project,
    directory: PathBuf,
    session: &'static str,
}

impl Agent<'_> {
    fn ok(&self, arguments: &[&str]) -> String {
        let mut command = self.project.command(arguments);
        command
            .current_dir(&self.directory)
            .env("THROUGHLINE_SESSION", self.session);
        let output = finished(&mut command);
        assert_eq!(
            output.code, 0,
            "{} tl {arguments:?}\n{}{}",
            self.session, output.stdout, output.stderr
        );
        output.stdout
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = self.project.command_of(Path::new("git"));
        command
            .current_dir(&self.directory)
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
        let output = finished(command.args(arguments));
        assert_eq!(output.code, 0, "git {arguments:?}: {}", output.stderr);
    }

    /// Takes a milestone, and follows the executor's prompt to its completion. Returns the milestone.
    fn carry_out(&self) -> String {
        let node = self.ok(&["flow", "take"]).trim().to_owned();
        let milestone = node.rsplit('/').next().expect("a path").to_owned();
        let file = self.ok(&["flow", "apply", &milestone]).trim().to_owned();
        self.ok(&["evidence", "add", &node, "--", "grep", "-q", "build", &file]);
        self.ok(&["evidence", "run", &node]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", &format!("{milestone}: {file}")]);
        self.ok(&["progress", &node, "complete"]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", &format!("{milestone}: complete")]);
        milestone
    }
}

fn ready(project: &Project) -> Value {
    project.json(&["next"])["ready"].clone()
}

#[test]
fn two_agents_in_worktrees_carry_out_a_plan_and_nothing_is_left_to_do() {
    let project = story();
    for file in ["src/index.rs", "src/query.rs"] {
        project.write(file, "// empty\n");
    }
    committed(&project);
    // Neither milestone needs the other: both are in the first wave.
    plan_from_batch(&project, &BATCH.replace("\"depends_on\":[\"@index\"],", ""));
    for stray in ["design.jsonl", "a.diff"] {
        std::fs::remove_file(project.root().join(stray)).expect("removed");
    }
    let cast = Cast::of(&project);
    cast.orchestrator.ok(&["flow", "start", "executor"]);
    cast.orchestrator.ok(&["flow", "done"]);
    cast.orchestrator.ok(&["flow", "done"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "plan"]);

    let folder = tempfile::tempdir().expect("a folder");
    let agents = ["one", "two"].map(|session| {
        let directory = folder.path().join(session);
        let path = directory.display().to_string();
        git(&project, &["worktree", "add", "-q", "-b", session, &path]);
        Agent {
            project: &project,
            directory,
            session,
        }
    });
    for agent in &agents {
        agent.ok(&["doc", "validate", "--accept", "--doc", DOC]);
        agent.ok(&["flow", "start", "executor", "--for", DOC]);
        agent.ok(&["flow", "done"]);
        agent.ok(&["flow", "done"]);
    }
    let mut taken: Vec<String> = std::thread::scope(|scope| {
        let started: Vec<_> = agents
            .iter()
            .map(|agent| scope.spawn(|| agent.carry_out()))
            .collect();
        started
            .into_iter()
            .map(|agent| agent.join().expect("the agent ends"))
            .collect()
    });
    taken.sort();
    assert_eq!(taken, ["M-001", "M-002"], "each has a milestone of its own");

    for branch in ["one", "two"] {
        git(&project, &["merge", "-q", "--no-edit", branch]);
    }
    // Progress and proofs came with the branches: a proof is about the content of the milestone's
    // files, which the merge left as it was.
    for milestone in ["M-001", "M-002"] {
        let node = format!("{DOC}/{milestone}");
        assert_eq!(
            project.json(&["show", &node])["progress"],
            json!("complete")
        );
        let evidence = project.json(&["evidence", "show", &node]);
        assert_eq!(evidence["proofs"][0]["standing"], "fresh", "{evidence}");
    }
    cast.developer.ok(&["flow", "done"]);
    cast.review(&cast.developer, 0, &|_| {});
    cast.writer.ok(&["flow", "done"]);
    cast.review(&cast.writer, 0, &|_| {});
    cast.reviewer.ok(&["flow", "done"]);

    assert_eq!(ready(&project), json!([]), "nothing is handed out again");
    assert_eq!(project.json(&["show", DOC])["progress"], json!("complete"));
    let report = project.json(&["doc", "reconcile"]);
    assert_eq!(report["ok"], json!(true), "{report}");
    for milestone in ["M-001", "M-002"] {
        let evidence = project.json(&["evidence", "show", &format!("{DOC}/{milestone}")]);
        assert_eq!(evidence["proved"], json!(true), "{evidence}");
    }
    project.ok(&["check"]);
}
