//! Ways to claim that something is done by changing what "done" is measured by: the words of files, the
//! evidence and its decisions, what a ticket is made of, and the history.

use serde_json::json;

use crate::claims_of_done::{
    NOT_HIDDEN, SCENARIO, TICKET, Way, check_ways, commit_and_finish, edit, finish_017b, run,
    test_first, with_evidence,
};
use crate::mcp::{Client, ERAS};
use crate::tickets;
use testkit::Project;

const SCENARIOS: &str = "tickets/017a-loc/test-definitions.md";

fn with_failed_evidence() -> Project {
    let project = with_evidence(&[
        "--input",
        "src/main.rs",
        "--",
        "grep",
        "-q",
        "done",
        "src/main.rs",
    ]);
    let _ = project.run(&["evidence", "run", "017b"]);
    project
}

fn with_passed_evidence() -> Project {
    let project = with_evidence(&[
        "--input",
        "src/main.rs",
        "--",
        "grep",
        "-q",
        "main",
        "src/main.rs",
    ]);
    project.ok(&["evidence", "run", "017b"]);
    project
}

/// Tickets that a command has seen.
fn known_tickets() -> Project {
    let project = tickets();
    project.ok(&["status"]);
    project
}

fn finished_017b() -> Project {
    let project = tickets();
    project.ok(&["progress", "017b", "complete"]);
    project
}

/// Deletes the decision files, and claims that `017b` is done.
fn delete_decisions(project: &Project) -> String {
    assert!(project.shell("rm -r .throughline/decisions/*"));
    let said = run(project, &["status"]);
    assert!(
        said.contains("the file of a decision made here is gone"),
        "{said}"
    );
    run(project, &["progress", "017b", "complete"])
}

const WAYS: &[Way] = &[
    Way {
        name: "the phase in another spelling",
        project: tickets,
        claim: |project| edit(project, TICKET, "phase: implement", "Phase: DONE"),
        node: "017a",
        expected: "it does not count as complete",
    },
    Way {
        name: "another word for the last phase",
        project: tickets,
        claim: |project| {
            edit(
                project,
                TICKET,
                "phase: implement",
                "phase: 'Completed '  # now",
            )
        },
        node: "017a",
        expected: "it does not count as complete",
    },
    Way {
        name: "a phase over several lines",
        project: tickets,
        claim: |project| edit(project, TICKET, "phase: implement", "phase: >-\n  done"),
        node: "017a",
        expected: "it does not count as complete",
    },
    Way {
        name: "a phase that nobody knows",
        project: tickets,
        claim: |project| edit(project, TICKET, "phase: implement", "phase: shipped!"),
        node: "017a",
        expected: "`phase: shipped!` of `017a` is not known and is ignored; known: intake,",
    },
    Way {
        name: "a status that nobody knows",
        project: tickets,
        claim: |project| edit(project, TICKET, "status: ready", "status: ✅"),
        node: "017a",
        expected: "`status: ✅` of `017a` is not known and is ignored",
    },
    Way {
        name: "a failure whose decision is deleted",
        project: with_failed_evidence,
        claim: delete_decisions,
        node: "017b",
        expected: "it failed",
    },
    Way {
        name: "a stale pass whose decision is deleted",
        project: with_passed_evidence,
        claim: |project| {
            project.write("src/main.rs", "fn other() {}\n");
            delete_decisions(project)
        },
        node: "017b",
        expected: "it has not run yet",
    },
    Way {
        name: "evidence whose decision is deleted with a commit",
        project: with_failed_evidence,
        claim: |project| {
            assert!(project.shell("git add -A && git commit -qm 'docs: evidence'"));
            project.ok(&["status"]);
            assert!(
                project.shell("git rm -qr .throughline/decisions && git commit -qm 'docs: tidy'")
            );
            run(project, &["progress", "017b", "complete"])
        },
        node: "017b",
        expected: "it failed",
    },
    Way {
        name: "evidence that is a file of before",
        project: || with_evidence(&["--file", "src/main.rs"]),
        claim: finish_017b,
        node: NOT_HIDDEN,
        expected: "`src/main.rs` exists, whatever was done: it proves nothing",
    },
    Way {
        name: "a finished ticket of another name that takes the scenarios",
        project: known_tickets,
        claim: |project| {
            assert!(project.shell("git mv tickets/017a-loc tickets/046-loc"));
            project.write(
                "tickets/046-loc/ticket.md",
                "---\nid: '046'\nphase: done\nstatus: done\n---\n\n# LOC\n",
            );
            run(project, &["status"])
        },
        node: "046",
        expected: "`046` is open again, because `commit-clears` is open",
    },
    Way {
        name: "a scenario that is moved to another ticket",
        project: known_tickets,
        claim: |project| {
            assert!(project.shell(&format!("mv {SCENARIOS} tickets/017b-phases/")));
            run(project, &["status"])
        },
        node: NOT_HIDDEN,
        expected: "`loc-tracking` is not done and no longer part of `017a`; it is part of `017b`",
    },
    Way {
        name: "a scenario without steps",
        project: tickets,
        claim: |project| {
            project.write(SCENARIOS, "Scenario: LOC tracking\n  Given a file\n");
            project.ok(&["status"]);
            project.write(SCENARIOS, "Scenario: LOC tracking\n");
            run(project, &["status"])
        },
        node: SCENARIO,
        expected: "scenario `loc-tracking` is not done and has no steps any more",
    },
    Way {
        name: "a need that is given up",
        project: tickets,
        claim: |project| {
            let file = "tickets/045-поиск/ticket.md";
            let _ = edit(
                project,
                file,
                "status: ready",
                "status: ready\nneeds: ['017b']",
            );
            edit(project, file, "\nneeds: ['017b']", "")
        },
        node: NOT_HIDDEN,
        expected: "`045` no longer needs `017b`, which is not complete",
    },
    Way {
        name: "an open ticket that is merged into a finished one",
        project: finished_017b,
        claim: |project| run(project, &["merge", "017a", "017b"]),
        node: "017b",
        expected: "`017b` is open again, because `017a` is open",
    },
    Way {
        name: "an open child that is removed",
        project: finished_017b,
        claim: |project| run(project, &["remove", "017a"]),
        node: NOT_HIDDEN,
        expected: "`017a` was removed before it was done",
    },
    Way {
        name: "an open ticket that is moved below a finished one",
        project: finished_017b,
        claim: |project| run(project, &["move", "017a", "--under", "017b"]),
        node: "017b",
        expected: "`017b` is open again, because `017a` is open",
    },
    Way {
        name: "a file of scenarios under another name",
        project: known_tickets,
        claim: |project| {
            assert!(project.shell(&format!("git mv {SCENARIOS} tickets/017a-loc/tests.md")));
            run(project, &["progress", "017a", "complete"])
        },
        node: "017a",
        expected: "scenario `017/017a/loc-tracking` was deleted before it was done",
    },
    Way {
        name: "a test commit that is amended to the implementation",
        project: test_first,
        claim: |project| {
            let _ = commit_and_finish(project, &["test: loc tracking"]);
            project.write("src/work.rs", "// works\n");
            assert!(project.shell("git commit -qa --amend -m 'feat: loc tracking'"));
            run(project, &["ticket", "scenario", "done", SCENARIO])
        },
        node: SCENARIO,
        expected: "no failing test was committed before `feat: loc tracking`",
    },
    Way {
        name: "evidence of another branch",
        project: with_passed_evidence,
        claim: |project| {
            assert!(
                project.shell(
                    "git add -A && git commit -qm 'docs: evidence' && git checkout -qb other"
                )
            );
            project.write("src/main.rs", "fn main() { other() }\n");
            assert!(project.shell("git commit -qam 'feat: other'"));
            run(project, &["progress", "017b", "complete"])
        },
        node: "017b",
        expected: "its inputs changed since",
    },
    Way {
        name: "a test under another name",
        project: || {
            let script = "echo test ${NAME:-one} ... ok";
            with_evidence(&["--test", "two", "--", "sh", "-c", script])
        },
        claim: finish_017b,
        node: "017b",
        expected: "it failed",
    },
    Way {
        name: "the progress tool of an MCP client",
        project: tickets,
        claim: |project| {
            let mut client = Client::start(project, ERAS[0], &[]);
            let request = json!({ "node": "017a", "progress": "complete" });
            let answer = client.call("plan_progress", request).to_string();
            client.end();
            answer
        },
        node: "017a",
        expected: "is not done",
    },
    Way {
        name: "a checkout there and back",
        project: known_tickets,
        claim: |project| {
            assert!(project.shell("git checkout -qb done"));
            let text = project
                .read(TICKET)
                .replace("status: ready", "status: done");
            project.write(TICKET, text);
            assert!(project.shell(
                "git commit -qam 'docs: done' && git checkout -q - && git checkout -q done"
            ));
            run(project, &["status"])
        },
        node: "017a",
        expected: "`017a` is not done",
    },
];

#[test]
fn every_detour_to_done_is_refused_or_told() {
    check_ways(WAYS);
}
