//! Commands that write project files, killed or failing at a system call: the operation comes first, the files after it.

use std::process::{Command, Stdio};

use testkit::Project;

use crate::{empty, newest_operation, planned, statuses, tickets};

/// System calls by which a command changes what is on disk. strace counts each of them by itself.
const WRITES: [&str; 7] = [
    "write",
    "fsync",
    "fdatasync",
    "renameat",
    "linkat",
    "unlinkat",
    "mkdirat",
];

/// What became of a command.
struct Faulty {
    code: Option<i32>,
    answer: String,
    told: String,
}

/// Runs a command with a fault injected by strace; `None` where there is no strace, which is said.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "strace starts the program; a skipped test says so"
)]
fn with_fault(project: &Project, fault: &str, arguments: &[&str]) -> Option<Faulty> {
    let plain = project.command(arguments);
    let name = fault.split(':').next().unwrap_or_default();
    let mut traced = Command::new("strace");
    traced.args([
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &format!("trace={name}"),
        "-e",
        &format!("inject={fault}"),
    ]);
    traced
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear();
    if let Some(directory) = plain.get_current_dir() {
        traced.current_dir(directory);
    }
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => traced.env(name, value),
            None => traced.env_remove(name),
        };
    }
    match traced.stdin(Stdio::null()).output() {
        Ok(output) => Some(Faulty {
            code: output.status.code(),
            answer: String::from_utf8_lossy(&output.stdout).into_owned(),
            told: String::from_utf8_lossy(&output.stderr).into_owned(),
        }),
        Err(error) => {
            eprintln!("skipped: strace cannot be run here ({error})");
            None
        }
    }
}

/// Kills a command at each of its writing system calls in turn, each time in the same project as it is now, and looks what
/// `verify` finds then.
fn kill_everywhere(project: &Project, arguments: &[&str], verify: &dyn Fn(&str)) {
    let shell = |command: &str| assert!(project.shell(command), "{command}");
    let (root, user) = (project.root(), project.user_directory());
    let (root, user) = (root.display(), user.display());
    shell(&format!(
        "mkdir -p '{user}'; cp -a '{root}' '{user}-root'; cp -a '{user}' '{user}-user'"
    ));
    let mut points = 0;
    for call in WRITES {
        for at in 1.. {
            shell(&format!(
                "find '{root}' '{user}' -mindepth 1 -delete; cp -a '{user}-root/.' '{root}'; cp -a '{user}-user/.' '{user}'"
            ));
            match with_fault(project, &format!("{call}:signal=KILL:when={at}"), arguments) {
                None => return,
                // It ended before that call.
                Some(Faulty { code: Some(0), .. }) => break,
                // Its caller got the result: a repeated command is intended.
                Some(Faulty { answer, .. }) if !answer.is_empty() => {}
                Some(_) => verify(&format!("{call} {at}")),
            }
            points += 1;
            assert!(at < 200, "`{arguments:?}` does not come to its end");
        }
    }
    assert!(points > 5, "only {points} points were tried");
}

fn documents(project: &Project) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(project.root().join(".throughline/plans"))
        .map(|entries| {
            entries
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

/// Says what was recorded by the system: what the program took for an edit.
fn noticed(project: &Project) -> usize {
    project
        .read(".throughline/journal.jsonl")
        .matches("\"verb\":\"observe\"")
        .count()
}

fn two_versions() -> Project {
    let project = planned();
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["approve", "act-1"]);
    project
}

#[test]
fn a_killed_restore_is_done_whole_or_not_at_all_and_never_twice() {
    let project = two_versions();
    let observed = noticed(&project);
    kill_everywhere(&project, &["restore", "act-1", "-1"], &|at| {
        project.ok(&["status"]);
        assert_eq!(
            noticed(&project),
            observed,
            "point {at}: our own write was taken for an edit"
        );
        let _ = project.run(&["restore", "act-1", "-1"]);
        assert_eq!(
            project.read(Project::ACT),
            crate::ACT_TEXT,
            "point {at}: the repeated command did the opposite"
        );
        project.ok(&["check"]);
    });
}

#[test]
fn a_killed_split_makes_no_child_twice() {
    let split = ["ticket", "split", "045", "Left", "Right"];
    let project = tickets();
    kill_everywhere(&project, &split, &|at| {
        project.ok(&["status"]);
        let _ = project.run(&split);
        let children: Vec<String> = statuses(&project)
            .into_iter()
            .filter(|line| line.starts_with("045/"))
            .collect();
        let recorded = project
            .read(".throughline/journal.jsonl")
            .matches("split 045 into")
            .count();
        assert_eq!(
            (children.len(), recorded),
            (2, 1),
            "point {at}: {children:?}"
        );
    });
}

#[test]
fn a_killed_change_of_a_document_never_locks_it() {
    let project = empty();
    project.ok(&["init", "--profile", "milestones"]);
    project.ok(&["doc", "new", "Add search"]);
    let add = [
        "doc",
        "add-decision",
        "--decision",
        "Use an index",
        "--reasoning",
        "It is fast",
    ];
    kill_everywhere(&project, &add, &|at| {
        let shown = project.run(&["doc", "show"]);
        assert_eq!(shown.code, 0, "point {at}: {}", shown.stderr);
        let _ = project.run(&add);
        let shown = project.ok(&["doc", "show"]).stdout;
        assert!(shown.contains("Use an index"), "point {at}: {shown}");
    });
}

#[test]
fn a_killed_workflow_start_makes_no_second_document() {
    let project = empty();
    project.ok(&["init", "--profile", "milestones"]);
    let start = ["flow", "start", "planner", "--new", "Gamma"];
    kill_everywhere(&project, &start, &|at| {
        let _ = project.run(&start);
        project.ok(&["flow", "next"]);
        let recorded = project
            .read(".throughline/journal.jsonl")
            .matches("on the new plan document")
            .count();
        assert_eq!(
            documents(&project).len(),
            recorded,
            "point {at}: {:?}",
            documents(&project)
        );
        assert_eq!(recorded, 1, "point {at}");
    });
}

#[test]
fn a_restore_whose_journal_cannot_be_synced_changes_no_file() {
    for error in ["EIO", "ENOSPC"] {
        let project = two_versions();
        let before = newest_operation(&project);
        let Some(Faulty { code, told, .. }) = with_fault(
            &project,
            &format!("fdatasync:error={error}:when=1"),
            &["restore", "act-1", "-1"],
        ) else {
            return;
        };
        assert_ne!(code, Some(0), "{told}");
        assert_eq!(
            project.read(Project::ACT),
            crate::ACT_EDITED,
            "{error}: {told}"
        );
        assert_eq!(newest_operation(&project), before, "{error}");
        project.ok(&["check"]);
    }
}

#[test]
fn a_file_that_cannot_be_written_after_the_commit_is_told_and_completed_later() {
    let project = two_versions();
    let before = newest_operation(&project);
    let Some(Faulty { code, told, .. }) = with_fault(
        &project,
        "renameat:error=ENOSPC:when=1+",
        &["restore", "act-1", "-1"],
    ) else {
        return;
    };
    assert_ne!(code, Some(0), "{told}");
    assert!(
        told.contains(&format!("recorded as operation {}", before + 1)),
        "{told}"
    );
    assert!(told.contains("the next command completes it"), "{told}");
    let next = project.ok(&["status"]);
    assert!(
        next.stderr.contains("its files are written now"),
        "{}",
        next.stderr
    );
    assert_eq!(project.read(Project::ACT), crate::ACT_TEXT);
    assert_eq!(newest_operation(&project), before + 1);
}

#[test]
fn a_read_error_while_restoring_never_ends_in_success_with_another_text() {
    for at in (1..140).step_by(3) {
        let project = two_versions();
        let Some(Faulty { code, told, .. }) = with_fault(
            &project,
            &format!("pread64:error=EIO:when={at}"),
            &["restore", "act-1", "-1"],
        ) else {
            return;
        };
        if code == Some(0) {
            assert_eq!(
                project.read(Project::ACT),
                crate::ACT_TEXT,
                "point {at}: {told}"
            );
        }
    }
}

#[test]
fn processes_that_make_tickets_at_once_get_an_id_each() {
    const PROCESSES: usize = 8;
    const TICKETS: usize = 4;
    let project = empty();
    project.ok(&["init", "--profile", "tickets"]);
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let project = &project;
            scope.spawn(move || {
                for ticket in 0..TICKETS {
                    project.ok(&["ticket", "new", &format!("Ticket {process} {ticket}")]);
                }
            });
        }
    });
    let known = statuses(&project);
    assert_eq!(known.len(), PROCESSES * TICKETS, "{known:?}");
    let folders = std::fs::read_dir(project.root().join("tickets"))
        .unwrap()
        .count();
    assert_eq!(folders, PROCESSES * TICKETS);
    project.ok(&["check"]);
}

#[test]
fn two_tickets_with_one_id_are_told_and_found_by_check() {
    let project = tickets();
    project.ok(&["status"]);
    project.write(
        "tickets/045-other/ticket.md",
        "---\nid: '045'\nphase: intake\n---\n\n# Other\n",
    );
    let shown = project.ok(&["tree"]);
    assert!(
        shown.stderr.contains("tickets/045-other/ticket.md"),
        "{}",
        shown.stderr
    );
    assert!(
        shown.stderr.contains("duplicate id `045`"),
        "{}",
        shown.stderr
    );
    let found = project.run(&["check"]);
    assert_eq!(found.code, 3, "{}", found.stdout);
    assert!(
        found.stdout.contains("duplicate id `045`"),
        "{}",
        found.stdout
    );
}

#[test]
fn a_ticket_that_is_refused_leaves_no_folder() {
    let project = tickets();
    let refused = project.run(&["ticket", "new", "Again", "--id", "045"]);
    assert_ne!(refused.code, 0);
    let folders = std::fs::read_dir(project.root().join("tickets"))
        .unwrap()
        .count();
    assert_eq!(folders, 4);
}
