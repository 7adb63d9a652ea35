//! Ways to claim that something is done without the work: each is refused, or reported and without effect.

use std::fmt::Write as _;

use serde_json::json;
use testkit::{Output, Project, Session};

use crate::doc::planned_search;
use crate::mcp::{Client, ERAS};
use crate::reconcile::committed;
use crate::{as_session, newest_operation, run_with, tickets};

/// One way to claim that a node is done.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) project: fn() -> Project,
    /// Makes the claim, and returns everything that was printed.
    pub(crate) claim: fn(&Project) -> String,
    /// The node that must not be complete afterwards.
    pub(crate) node: &'static str,
    /// Part of the refusal or report.
    pub(crate) expected: &'static str,
}

/// Runs a command and returns what it printed.
pub(crate) fn run(project: &Project, arguments: &[&str]) -> String {
    let Output { stdout, stderr, .. } = project.run(arguments);
    stdout + &stderr
}

/// Replaces text in a file, and returns what the next command reports about it.
pub(crate) fn edit(project: &Project, file: &str, from: &str, to: &str) -> String {
    let text = project.read(file);
    assert!(text.contains(from), "{file}: {text}");
    project.write(file, text.replace(from, to));
    run(project, &["status"])
}

pub(crate) const TICKET: &str = "tickets/017a-loc/ticket.md";
pub(crate) const SCENARIO: &str = "017a/loc-tracking";

/// A project with evidence of `017b`, and the ticket ready to be finished.
pub(crate) fn with_evidence(arguments: &[&str]) -> Project {
    let project = tickets();
    project.ok(&["ticket", "phase", "017b", "implement"]);
    let mut all = vec!["evidence", "add", "017b"];
    all.extend(arguments);
    project.ok(&all);
    project
}

pub(crate) fn finish_017b(project: &Project) -> String {
    let _ = project.run(&["evidence", "run", "017b"]);
    run(project, &["ticket", "phase", "017b", "done"])
}

/// Commits in a session that works on a scenario, and then claims that it is done.
pub(crate) fn commit_and_finish(project: &Project, subjects: &[&str]) -> String {
    project.ok(&["focus", "enter", SCENARIO]);
    for (number, subject) in subjects.iter().enumerate() {
        project.write("src/work.rs", format!("// {number}\n"));
        assert!(project.shell(&format!("git add -A && git commit -q -m '{subject}'")));
    }
    run(project, &["ticket", "scenario", "done", SCENARIO])
}

pub(crate) fn test_first() -> Project {
    let project = tickets();
    project.configure("policy.gates.test_first", "\"block\"");
    project
}

fn frozen() -> Project {
    let project = planned_search();
    project.ok(&["doc", "freeze"]);
    project
}

const WAYS: &[Way] = &[
    Way {
        name: "progress of a ticket with open scenarios",
        project: tickets,
        claim: |project| run(project, &["progress", "017a", "complete"]),
        node: "017a",
        expected: "scenario `017/017a/loc-tracking` is open",
    },
    Way {
        name: "last phase of a ticket with open scenarios",
        project: tickets,
        claim: |project| run(project, &["ticket", "phase", "017a", "done"]),
        node: "017a",
        expected: "tl focus enter 017/017a/loc-tracking",
    },
    Way {
        name: "the phase written into the file",
        project: tickets,
        claim: |project| edit(project, TICKET, "phase: implement", "phase: done"),
        node: "017a",
        expected: "it does not count as complete",
    },
    Way {
        name: "the status written into the file",
        project: tickets,
        claim: |project| edit(project, TICKET, "status: ready", "status: done"),
        node: "017a",
        expected: "it does not count as complete",
    },
    Way {
        name: "another word for it in the file",
        project: tickets,
        claim: |project| edit(project, TICKET, "status: ready", "status: Resolved"),
        node: "017a",
        expected: "it does not count as complete",
    },
    Way {
        name: "an agent's edit of the file",
        project: tickets,
        claim: |project| {
            let session = project.session("s");
            let _ = session.start("startup");
            let _ = session.read(TICKET);
            let text = project
                .read(TICKET)
                .replace("status: ready", "status: done");
            let (_, after) = session.write(TICKET, &text);
            after.and_then(|after| after.context()).unwrap_or_default()
        },
        node: "017a",
        expected: "`017a` is not done: scenario `017/017a/loc-tracking` is open",
    },
    Way {
        name: "a shell command that edits and commits",
        project: tickets,
        claim: |project| {
            let session = project.session("s");
            let _ = session.start("startup");
            let command = format!(
                "sed -i 's/^status: .*/status: done/' {TICKET} && git commit -qam 'docs: done'"
            );
            session.shell(&command).context().unwrap_or_default()
        },
        node: "017a",
        expected: "`017a` is not done",
    },
    Way {
        name: "the tool of an MCP client",
        project: tickets,
        claim: |project| {
            let mut client = Client::start(project, ERAS[0], &[]);
            let request = json!({ "ticket": "017a", "phase": "done" });
            let answer = client.call("ticket_phase", request).to_string();
            client.end();
            answer
        },
        node: "017a",
        expected: "is not done",
    },
    Way {
        name: "a parent with open children",
        project: tickets,
        claim: |project| run(project, &["progress", "017", "complete"]),
        node: "017",
        expected: "`017/017a` is pending",
    },
    Way {
        name: "the last phase of a parent with open children",
        project: tickets,
        claim: |project| run(project, &["ticket", "phase", "017", "done"]),
        node: "017",
        expected: "tl focus enter 017/017b",
    },
    Way {
        name: "from the first phase to the last",
        project: tickets,
        claim: |project| run(project, &["ticket", "phase", "017b", "done"]),
        node: "017b",
        expected: "implement comes before done",
    },
    Way {
        name: "an agent's reason to skip a phase",
        project: tickets,
        claim: |project| {
            run(
                project,
                &["ticket", "phase", "017b", "done", "--reason", "trust me"],
            )
        },
        node: "017b",
        expected: "a person skips it",
    },
    Way {
        name: "a new ticket that says it is done",
        project: tickets,
        claim: |project| {
            let head = "---\nid: '099'\nphase: done\nstatus: done\n---\n\n# Ready made\n";
            project.write("tickets/099-made/ticket.md", head);
            project.write("tickets/099-made/test-definitions.md", "Scenario: one\n");
            run(project, &["status"])
        },
        node: "099",
        expected: "`099` is not done: scenario `099/one` is open",
    },
    Way {
        name: "evidence that never ran",
        project: || with_evidence(&["--", "true"]),
        claim: |project| run(project, &["ticket", "phase", "017b", "done"]),
        node: "017b",
        expected: "it has not run yet",
    },
    Way {
        name: "evidence that failed",
        project: || with_evidence(&["--", "false"]),
        claim: finish_017b,
        node: "017b",
        expected: "it failed",
    },
    Way {
        name: "evidence of other content",
        project: || with_evidence(&["--", "true"]),
        claim: |project| {
            project.ok(&["evidence", "run", "017b"]);
            project.write("src/main.rs", "fn main() { todo() }\n");
            run(project, &["progress", "017b", "complete"])
        },
        node: "017b",
        expected: "its inputs changed since",
    },
    Way {
        name: "an empty report",
        project: || with_evidence(&["--file", "report.md"]),
        claim: |project| {
            project.write("report.md", "");
            finish_017b(project)
        },
        node: "017b",
        expected: "`report.md` exists: it failed",
    },
    Way {
        name: "a review that nobody held",
        project: || with_evidence(&["--review", "017b/code"]),
        claim: finish_017b,
        node: "017b",
        expected: "review 017b/code passed: it failed",
    },
    Way {
        name: "a test that never failed",
        project: || with_evidence(&["--test", "one", "--", "echo", "test one ... ok"]),
        claim: finish_017b,
        node: "017b",
        expected: "it was never seen to fail",
    },
    Way {
        name: "a test that is skipped",
        project: || with_evidence(&["--test", "one", "--", "echo", "test one ... ignored"]),
        claim: finish_017b,
        node: "017b",
        expected: "it failed",
    },
    Way {
        name: "a test that does not exist",
        project: || with_evidence(&["--test", "one", "--", "echo", "0 tests"]),
        claim: finish_017b,
        node: "017b",
        expected: "test `one` passes in `echo 0 tests`: it failed",
    },
    Way {
        name: "a scenario whose last commit is the failing test",
        project: tickets,
        claim: |project| commit_and_finish(project, &["test: loc tracking"]),
        node: SCENARIO,
        expected: "its last commit is a failing test",
    },
    Way {
        name: "a scenario that nobody touched",
        project: test_first,
        claim: |project| commit_and_finish(project, &[]),
        node: SCENARIO,
        expected: "it has no commit and no evidence",
    },
    Way {
        name: "an implementation without a test",
        project: test_first,
        claim: |project| commit_and_finish(project, &["feat: loc tracking"]),
        node: SCENARIO,
        expected: "no failing test was committed before `feat: loc tracking`",
    },
    Way {
        name: "a refactoring that ends a cycle without a test",
        project: test_first,
        claim: |project| {
            commit_and_finish(project, &["feat: loc tracking", "refactor: loc tracking"])
        },
        node: SCENARIO,
        expected: "no failing test was committed before",
    },
    Way {
        name: "a review that has not ended",
        project: tickets,
        claim: |project| {
            let check = ["--check", "it holds", "--severity", "MUST"];
            project.ok(&[&["review", "add", "--of", "017/017b"], &check[..]].concat());
            run(project, &["progress", "017b", "complete"])
        },
        node: "017b",
        expected: "tl review status --of 017/017b",
    },
    Way {
        name: "a ticket before the one it needs",
        project: tickets,
        claim: |project| {
            let file = "tickets/045-поиск/ticket.md";
            edit(
                project,
                file,
                "status: ready",
                "status: ready\nneeds: ['017b']",
            );
            run(project, &["progress", "045", "complete"])
        },
        node: "045",
        expected: "it needs `017/017b`, which is not complete",
    },
    Way {
        name: "a finished ticket that gets another child",
        project: tickets,
        claim: |project| {
            project.ok(&["progress", "017b", "complete"]);
            run(project, &["ticket", "new", "The rest", "--parent", "017b"])
        },
        node: "017b",
        expected: "`017b` is open again",
    },
    Way {
        name: "a finished ticket that gets a scenario",
        project: tickets,
        claim: |project| {
            project.ok(&["progress", "017b", "complete"]);
            project.write(
                "tickets/017b-phases/test-definitions.md",
                "Scenario: late\n",
            );
            run(project, &["status"])
        },
        node: "017b",
        expected: "`017b` is open again, because `late` is open",
    },
    Way {
        name: "an agent's override of the gate",
        project: tickets,
        claim: |project| {
            let mut said = run(
                project,
                &["gate", "override", "done", "017a", "--reason", "it is"],
            );
            let _ = write!(said, "{}", run(project, &["progress", "017a", "complete"]));
            said
        },
        node: "017a",
        expected: "a gate is overridden by a person",
    },
    Way {
        name: "a milestone without evidence",
        project: frozen,
        claim: |project| run(project, &["progress", "add-search/M-001", "complete"]),
        node: "add-search/M-001",
        expected: "tl evidence propose add-search/M-001",
    },
    Way {
        name: "a milestone whose files changed after the proof",
        project: frozen,
        claim: |project| {
            project.write("src/index.rs", "fn build() {}\n");
            project.ok(&["evidence", "add", "add-search/M-001", "--", "true"]);
            project.ok(&["evidence", "run", "add-search/M-001"]);
            project.write("src/index.rs", "fn build() { todo() }\n");
            run(project, &["progress", "add-search/M-001", "complete"])
        },
        node: "add-search/M-001",
        expected: "its inputs changed since",
    },
    Way {
        name: "a milestone before the one it needs",
        project: frozen,
        claim: |project| {
            project.ok(&["evidence", "add", "add-search/M-002", "--", "true"]);
            project.ok(&["evidence", "run", "add-search/M-002"]);
            run(project, &["progress", "add-search/M-002", "complete"])
        },
        node: "add-search/M-002",
        expected: "it needs `add-search/M-001`",
    },
    Way {
        name: "a plan with open milestones",
        project: frozen,
        claim: |project| run(project, &["progress", "add-search", "complete"]),
        node: "add-search",
        expected: "`add-search/M-001` is pending",
    },
    Way {
        name: "a wave with open milestones",
        project: frozen,
        claim: |project| {
            project.ok(&["flow", "start", "executor"]);
            project.ok(&["flow", "done"]);
            project.ok(&["flow", "done"]);
            run(project, &["flow", "done"])
        },
        node: "add-search/M-001",
        expected: "M-001 is pending",
    },
    Way {
        name: "the execution of a plan that is not frozen",
        project: planned_search,
        claim: |project| run(project, &["flow", "start", "executor"]),
        node: "add-search",
        expected: "`add-search` is not frozen",
    },
    Way {
        name: "a ticket for which nothing was done",
        project: test_first,
        claim: |project| {
            project.ok(&["ticket", "phase", "017b", "implement"]);
            run(project, &["ticket", "phase", "017b", "done"])
        },
        node: "017b",
        expected: "it has no scenario and no evidence, and no session changed a file for it",
    },
    Way {
        name: "a frozen plan with a diff that is none",
        project: planned_search,
        claim: |project| {
            project.write("a.diff", "garbage\n");
            project.ok(&[
                "doc",
                "add-change",
                "--intent",
                "CI-002",
                "--diff",
                "a.diff",
            ]);
            run(project, &["doc", "freeze"])
        },
        node: "add-search",
        expected: "CC-002: not a unified diff",
    },
    Way {
        name: "commits that change no file",
        project: tickets,
        claim: |project| {
            let session = at_scenario(project);
            let mut told = String::new();
            for step in ["test", "feat", "refactor"] {
                let command = format!("git commit -q --allow-empty -m '{step}: loc tracking'");
                told += &session.shell(&command).context().unwrap_or_default();
            }
            told
        },
        node: SCENARIO,
        expected: "`feat: loc tracking` changes no file, so it is no step",
    },
    Way {
        name: "a ticket whose children are dropped",
        project: tickets,
        claim: |project| {
            drop_child(project, "tickets/017a-loc/ticket.md");
            drop_child(project, "tickets/017b-phases/ticket.md");
            run(project, &["progress", "017", "complete"])
        },
        node: NOT_HIDDEN,
        expected: "`017` is not done: it has no scenario and no evidence",
    },
    Way {
        name: "a ticket without a child that is dropped",
        project: tickets,
        claim: |project| {
            project.ok(&["progress", "017b", "complete"]);
            drop_child(project, "tickets/017a-loc/ticket.md");
            run(project, &["progress", "017", "complete"])
        },
        node: NOT_HIDDEN,
        expected: "`017` is complete without `017a` (dropped)",
    },
    Way {
        name: "a ticket whose child is part of another",
        project: tickets,
        claim: |project| {
            project.ok(&["progress", "017b", "complete"]);
            edit(project, TICKET, "parent: '017'", "parent: '045'");
            run(project, &["progress", "017", "complete"])
        },
        node: NOT_HIDDEN,
        expected: "`017` is complete without `017a` (not below it any more)",
    },
    Way {
        name: "scenarios deleted in an earlier phase",
        project: tickets,
        claim: |project| {
            project.ok(&["ticket", "phase", "017a", "define-behavior"]);
            std::fs::remove_file(project.root().join("tickets/017a-loc/test-definitions.md"))
                .expect("there are scenarios");
            for phase in ["scenario-gate", "decomposition", "implement"] {
                project.ok(&["ticket", "phase", "017a", phase]);
            }
            run(project, &["ticket", "phase", "017a", "done"])
        },
        node: NOT_HIDDEN,
        expected: "`017a` is not done: it has no scenario and no evidence",
    },
    Way {
        name: "a child moved to another folder",
        project: tickets,
        claim: |project| {
            project.write(
                "tickets/050-top/ticket.md",
                "---\nid: '050'\n---\n\n# Top\n",
            );
            project.write(
                "tickets/050a-part/ticket.md",
                "---\nid: 050a\nparent: '050'\n---\n\n# Part\n",
            );
            project.ok(&["status"]);
            assert!(project.shell(
                "mkdir -p tickets/archive && mv tickets/050a-part tickets/archive/ && git add -A"
            ));
            run(project, &["progress", "050", "complete"])
        },
        node: "050",
        expected: "`050a` is part of it and was deleted before it was done",
    },
    Way {
        name: "two scenarios replaced by one",
        project: tickets,
        claim: |project| {
            let file = "tickets/017a-loc/test-definitions.md";
            project.write(file, "Scenario: LOC tracking\n\nScenario: Second\n");
            project.ok(&["status"]);
            project.write(file, "Scenario: trivial\n");
            project.ok(&["ticket", "scenario", "done", "017a/trivial"]);
            run(project, &["ticket", "phase", "017a", "done"])
        },
        node: "017a",
        expected: "was deleted before it was done",
    },
    Way {
        name: "commits of plans alone",
        project: tickets,
        claim: |project| {
            project.ok(&["focus", "enter", SCENARIO]);
            for subject in ["test: a", "feat: a", "refactor: a"] {
                assert!(project.shell(&format!(
                    "echo x >> {TICKET} && git add -A && git commit -q -m '{subject}'"
                )));
            }
            run(project, &["progress", "017a", "complete"])
        },
        node: "017a",
        expected: "scenario `017/017a/loc-tracking` is open",
    },
    Way {
        name: "commits of file modes alone",
        project: tickets,
        claim: |project| {
            project.ok(&["focus", "enter", SCENARIO]);
            for (mode, subject) in [("+x", "test: a"), ("-x", "feat: a"), ("+x", "refactor: a")] {
                assert!(project.shell(&format!(
                    "chmod {mode} src/main.rs && git commit -qam '{subject}'"
                )));
            }
            run(project, &["progress", "017a", "complete"])
        },
        node: "017a",
        expected: "scenario `017/017a/loc-tracking` is open",
    },
    Way {
        name: "a report of blanks",
        project: || with_evidence(&["--file", "report.md"]),
        claim: |project| {
            project.write("report.md", " \n\n");
            finish_017b(project)
        },
        node: "017b",
        expected: "`report.md` exists: it failed",
    },
    Way {
        name: "scenarios deleted with a commit",
        project: tickets,
        claim: |project| {
            let session = project.session("s");
            let _ = session.start("startup");
            let _ = session.shell(
                "git rm -q tickets/017a-loc/test-definitions.md && git commit -q -m 'docs: tidy'",
            );
            run(project, &["ticket", "phase", "017a", "done"])
        },
        node: "017a",
        expected: "scenario `017/017a/loc-tracking` was deleted before it was done",
    },
    Way {
        name: "a new ticket without scenarios that says it is done",
        project: tickets,
        claim: |project| {
            let head = "---\nid: '099'\nstatus: done\n---\n\n# Ready made\n";
            project.write("tickets/099-made/ticket.md", head);
            run(project, &["status"])
        },
        node: NOT_HIDDEN,
        expected: "`099` is not done: it has no scenario and no evidence",
    },
    Way {
        name: "a new ticket that says it is done before what it needs",
        project: tickets,
        claim: |project| {
            let head = "---\nid: '099'\nstatus: done\nneeds: ['017b']\n---\n\n# Ready made\n";
            project.write("tickets/099-made/ticket.md", head);
            run(project, &["status"])
        },
        node: "099",
        expected: "it needs `017b`, which is not complete",
    },
    Way {
        name: "a finished ticket that is written and committed at once",
        project: tickets,
        claim: |project| {
            let session = project.session("s");
            let _ = session.start("startup");
            let command = "mkdir tickets/099-made && cd tickets/099-made \
                && printf -- '---\\nid: 099\\nstatus: done\\n---\\n\\n# Made\\n' > ticket.md \
                && printf 'Scenario: one\\n' > test-definitions.md && git add -A . && git commit -q -m 'docs: made'";
            session.shell(command).context().unwrap_or_default()
        },
        node: "099",
        expected: "`099` is not done: scenario `099/one` is open",
    },
    Way {
        name: "evidence that cannot fail",
        project: || with_evidence(&["--", "sh", "-c", "cargo test || true"]),
        claim: finish_017b,
        node: NOT_HIDDEN,
        expected: "whatever was done: it proves nothing",
    },
    Way {
        name: "a test that fails and passes with the same files",
        project: tickets,
        claim: |project| {
            project.ok(&["ticket", "phase", "017b", "implement"]);
            let script = "echo test one ... ${OUTCOME:-FAILED}; test -n \"$OUTCOME\"";
            project.ok(&[
                "evidence", "add", "017b", "--test", "one", "--", "sh", "-c", script,
            ]);
            let _ = project.run(&["evidence", "run", "017b"]);
            let _ = run_with(project, &[("OUTCOME", "ok")], &["evidence", "run", "017b"]);
            run(project, &["progress", "017b", "complete"])
        },
        node: "017b",
        expected: "it was never seen to fail without the change",
    },
    Way {
        name: "evidence about a file that does not exist",
        project: || with_evidence(&["--input", "nowhere", "--", "test", "-d", "."]),
        claim: |project| {
            let said = run(project, &["evidence", "run", "017b"]);
            said + &run(project, &["progress", "017b", "complete"])
        },
        node: "017b",
        expected: "no file matches the input `nowhere`",
    },
    Way {
        name: "failed evidence that is taken back",
        project: || with_evidence(&["--", "false"]),
        claim: |project| {
            let _ = project.run(&["evidence", "run", "017b"]);
            let newest = newest_operation(project).to_string();
            let said = run(project, &["undo", &newest, "--yes"]);
            let _ = project.run(&["progress", "017b", "complete"]);
            said
        },
        node: "017b",
        expected: "cannot be undone by an agent: `false` exits with 0 failed",
    },
    Way {
        name: "a milestone for which no file was changed",
        project: frozen_repository,
        claim: |project| {
            project.ok(&[
                "evidence",
                "add",
                "add-search/M-001",
                "--",
                "test",
                "-d",
                ".",
            ]);
            project.ok(&["evidence", "run", "add-search/M-001"]);
            run(project, &["progress", "add-search/M-001", "complete"])
        },
        node: "add-search/M-001",
        expected: "`CI-001` is not carried out: `src/index.rs` is as it was when the plan was frozen",
    },
    Way {
        name: "an intent for which no file was changed",
        project: frozen_repository,
        claim: |project| {
            run(
                project,
                &["progress", "add-search/M-001/CI-001", "complete"],
            )
        },
        node: "add-search/M-001/CI-001",
        expected: "`CI-001` is not carried out",
    },
    Way {
        name: "the approval of another plan than the frozen one",
        project: frozen_repository,
        claim: |project| {
            let plan = ".throughline/plans/add-search/plan.json";
            let said = edit(project, plan, "Nothing can be found.", "Nothing.");
            said + &run(project, &["approve", "add-search"])
        },
        node: "add-search",
        expected: "was changed after it was frozen",
    },
];

/// For claims that are reported and count all the same: a node that is not complete.
pub(crate) const NOT_HIDDEN: &str = "045";

fn drop_child(project: &Project, file: &str) {
    let _ = edit(project, file, "status: ready", "status: cancelled");
}

/// A session that works on the scenario.
fn at_scenario(project: &Project) -> Session<'_> {
    let session = project.session("s");
    let _ = session.start("startup");
    as_session(project, "s", &["focus", "enter", SCENARIO]);
    session
}

/// A frozen plan in a repository.
fn frozen_repository() -> Project {
    let project = planned_search();
    committed(&project);
    project.ok(&["doc", "freeze"]);
    project
}

#[test]
fn every_way_to_claim_done_without_the_work_is_refused_or_told() {
    assert!(WAYS.len() >= 50);
    check_ways(WAYS);
}

/// Tries every way, and fails with those that pass silently.
pub(crate) fn check_ways(ways: &[Way]) {
    let mut failures = Vec::new();
    for way in ways {
        let project = (way.project)();
        let said = (way.claim)(&project);
        let progress = project.json(&["show", way.node])["progress"].clone();
        if !said.contains(way.expected) || progress == json!("complete") {
            failures.push(format!("{}: {progress}\n{said}", way.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n---\n"));
}
