//! A plan from its first step to its last, carried out by two agents in worktrees of their own.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::Project;

use crate::doc::BATCH;
use crate::flow::{Cast, DOC, document_milestones, plan_from_batch};
use crate::mcp::{Client, ERAS};
use crate::reconcile::{committed, git};
use crate::serve::Server;
use crate::{finished, story, text, texts};

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

/// An agent with nothing but MCP, in a worktree: over standard streams, or over HTTP.
enum Connection {
    Streams(Client),
    Http(Server),
}

impl Connection {
    #[track_caller]
    fn call_whole(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = match self {
            Self::Streams(client) => client.ask("tools/call", params),
            Self::Http(server) => server.ask("tools/call", params).message(),
        };
        assert!(answer["result"].is_object(), "{tool} {arguments}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool, listed or not.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let inner = json!({ "tool": tool, "arguments": arguments });
        let result = self.call_whole("call_tool", &inner);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    fn step(&mut self, how: &str) -> Value {
        self.call("flow_move", json!({ "how": how, "subject": DOC }))
    }

    /// Starts the executor, up to the step that hands out milestones.
    fn start_executor(&mut self) {
        let start = json!({ "how": "start", "workflow": "executor", "subject": DOC });
        self.call("flow_move", start);
        self.step("done");
        self.step("done");
    }

    /// Passes the present review.
    fn pass_review(&mut self) {
        let check = json!({ "check": "it is right", "severity": "MUST" });
        self.call("review_check", check);
        let status = self.call("review_status", json!({}));
        for item in texts(&status["todo"]) {
            self.call("review_verdict", json!({ "item": item, "verdict": "pass" }));
        }
        self.step("done");
        self.step("pass");
    }
}

/// An agent with nothing but MCP, and the host that commits for it.
struct McpAgent<'p> {
    host: Agent<'p>,
    tools: Connection,
}

impl McpAgent<'_> {
    /// Takes a milestone, and follows the executor's prompt to its completion. Returns the milestone.
    fn carry_out(&mut self) -> String {
        let taken = self.tools.step("take");
        let (milestone, session) = (text(&taken, "milestone").to_owned(), &taken["session"]);
        let node = format!("{DOC}/{milestone}");
        let apply = json!({ "milestone": milestone, "subject": DOC, "session": session });
        let applied = self.tools.call("flow_apply", apply);
        let file = texts(&applied["files"])[0].to_owned();
        let proof = match &self.tools {
            Connection::Streams(_) => json!({ "command": ["grep", "-q", "build", file] }),
            // A server runs no commands for clients that may be elsewhere.
            Connection::Http(_) => json!({ "file": file }),
        };
        let mut add = json!({ "action": "add", "node": node });
        for (key, value) in proof.as_object().expect("a proof") {
            add[key] = value.clone();
        }
        self.tools.call("plan_prove", add);
        let run = json!({ "action": "run", "node": node });
        self.tools.call("plan_prove", run);
        self.host.git(&["add", "-A"]);
        let message = format!("{milestone}: {file}");
        self.host.git(&["commit", "-q", "-m", &message]);
        let complete = json!({ "node": node, "progress": "complete" });
        self.tools.call("plan_progress", complete);
        self.host.git(&["add", "-A"]);
        let message = format!("{milestone}: complete");
        self.host.git(&["commit", "-q", "-m", &message]);
        milestone
    }
}

fn ready(project: &Project) -> Value {
    project.json(&["next"])["ready"].clone()
}

/// A repository with a frozen plan of two milestones in one wave.
fn planned_repository() -> Project {
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
    project
}

/// Adds a worktree for each session, with a branch of its name.
fn add_worktrees<'p>(project: &'p Project, folder: &Path) -> [Agent<'p>; 2] {
    ["one", "two"].map(|session| {
        let directory = folder.join(session);
        let path = directory.display().to_string();
        git(project, &["worktree", "add", "-q", "-b", session, &path]);
        Agent {
            project,
            directory,
            session,
        }
    })
}

#[test]
fn two_agents_with_nothing_but_mcp_carry_out_a_plan_in_worktrees() {
    for era in ERAS {
        let project = planned_repository();
        let mut orchestrator = Connection::Streams(Client::start(&project, era, &[]));
        orchestrator.start_executor();
        git(&project, &["add", "-A"]);
        git(&project, &["commit", "-q", "-m", "plan"]);
        let folder = tempfile::tempdir().expect("a folder");
        let mut agents = add_worktrees(&project, folder.path()).map(|host| {
            let tools = match host.session {
                "one" => Connection::Streams(Client::start_in(&project, &host.directory, era)),
                _ => Connection::Http(Server::start_in(&project, &host.directory, &[])),
            };
            McpAgent { host, tools }
        });
        for agent in &mut agents {
            agent.tools.start_executor();
        }
        let mut taken: Vec<String> = std::thread::scope(|scope| {
            let started = agents
                .each_mut()
                .map(|agent| scope.spawn(|| agent.carry_out()));
            started
                .map(|agent| agent.join().expect("the agent ends"))
                .to_vec()
        });
        taken.sort();
        assert_eq!(taken, ["M-001", "M-002"], "each has a milestone of its own");
        for branch in ["one", "two"] {
            git(&project, &["merge", "-q", "--no-edit", branch]);
        }
        orchestrator.step("done");
        orchestrator.pass_review();
        document_milestones(&project);
        for milestone in &taken {
            let run = json!({ "action": "run", "node": format!("{DOC}/{milestone}") });
            orchestrator.call("plan_prove", run);
        }
        git(&project, &["commit", "-q", "-a", "-m", "documentation"]);
        orchestrator.step("done");
        orchestrator.pass_review();
        let report = orchestrator.call("doc_reconcile", json!({ "document": DOC }));
        assert_eq!(report["ok"], json!(true), "{report}");
        orchestrator.step("done");
        let next = orchestrator.call("work_next", json!({}));
        assert_eq!(next["ready"], json!([]), "nothing is handed out again");
        for milestone in taken {
            let node = json!({ "node": format!("{DOC}/{milestone}") });
            let evidence = orchestrator.call("plan_evidence", node);
            assert_eq!(evidence["proved"], json!(true), "{evidence}");
        }
        project.ok(&["check"]);
    }
}

#[test]
fn two_agents_in_worktrees_carry_out_a_plan_and_nothing_is_left_to_do() {
    let project = planned_repository();
    let cast = Cast::of(&project);
    cast.orchestrator.ok(&["flow", "start", "executor"]);
    cast.orchestrator.ok(&["flow", "done"]);
    cast.orchestrator.ok(&["flow", "done"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "plan"]);

    let folder = tempfile::tempdir().expect("a folder");
    let agents = add_worktrees(&project, folder.path());
    for agent in &agents {
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
    document_milestones(&project);
    for milestone in ["M-001", "M-002"] {
        cast.developer
            .ok(&["evidence", "run", &format!("{DOC}/{milestone}")]);
    }
    git(&project, &["commit", "-q", "-a", "-m", "documentation"]);
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
