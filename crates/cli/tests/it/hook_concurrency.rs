//! Sixteen hooks at once: none fails, none is lost.

use serde_json::{Value, json};
use testkit::{Answer, Project};

use crate::planned;

const AT_ONCE: u32 = 16;

/// A story whose hooks wait as long as it takes: sixteen unoptimised processes on a busy machine are
/// slower than an agent's, and these tests are about what is kept.
fn patient_project() -> Project {
    planned().with_environment("THROUGHLINE_HOOK_DEADLINE_MS", "20000")
}

fn chapter(number: u32) -> String {
    format!("acts/act-1/chapters/chapter-{number:02}/plan.md")
}

/// Runs one closure for each number, all at once.
fn at_once(each: impl Fn(u32) -> Vec<Answer> + Sync) -> Vec<(u32, Answer)> {
    let barrier = std::sync::Barrier::new(AT_ONCE as usize);
    std::thread::scope(|scope| {
        let (each, barrier) = (&each, &barrier);
        let threads: Vec<_> = (1..=AT_ONCE)
            .map(|number| {
                scope.spawn(move || {
                    barrier.wait();
                    each(number)
                })
            })
            .collect();
        let numbers = 1..=AT_ONCE;
        let answers = threads.into_iter().zip(numbers);
        answers
            .flat_map(|(thread, number)| {
                thread
                    .join()
                    .expect("no panic")
                    .into_iter()
                    .map(move |one| (number, one))
            })
            .collect()
    })
}

#[track_caller]
fn none_failed(project: &Project, answers: &[(u32, Answer)]) {
    for (number, answer) in answers {
        assert_eq!(
            (answer.code, answer.stderr.as_str(), answer.block()),
            (0, "", None),
            "{number}: {answer:?}"
        );
    }
    let ledger = project.ledger();
    assert!(
        ledger.iter().all(|line| line["outcome"] != "fault"),
        "{ledger:?}"
    );
    assert!(!project.root().join(".throughline/hook-faults").exists());
}

/// Returns how often a node of that alias was added, as the journal has it.
fn added(project: &Project, alias: &str) -> usize {
    let journal = project.read(".throughline/journal.jsonl");
    let operations = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    operations
        .flat_map(|line| line["op"]["facts"].as_array().cloned().unwrap_or_default())
        .filter(|fact| fact["fact"] == "node-added" && fact["node"]["alias"] == alias)
        .count()
}

#[test]
fn sixteen_plans_written_at_once_are_all_recorded_once() {
    let project = patient_project();
    let input = |number: u32| json!({ "file_path": project.root().join(chapter(number + 10)), "content": "# New\n" });
    let answers = at_once(|number| {
        project.write(&chapter(number + 10), "# New\n");
        vec![
            project
                .session(&format!("s{number}"))
                .after("Write", &input(number)),
        ]
    });
    none_failed(&project, &answers);
    for number in 1..=AT_ONCE {
        assert_eq!(
            added(&project, &format!("chapter-{}", number + 10)),
            1,
            "chapter {}",
            number + 10
        );
        assert_eq!(
            project.status(&format!("act-1/chapter-{}", number + 10)),
            "draft"
        );
    }
    assert_eq!(project.ledger().len(), AT_ONCE as usize);
    // Each session knows what it wrote, and only that.
    let answers = at_once(|number| {
        vec![
            project
                .session(&format!("s{number}"))
                .before("Write", &input(number)),
        ]
    });
    none_failed(&project, &answers);
    let next = project.session("s1").before("Write", &input(2));
    assert!(
        next.block()
            .is_some_and(|reason| reason.contains("has not read it")),
        "{next:?}"
    );
    project.ok(&["state", "repair"]);
    project.ok(&["check"]);
}

#[test]
fn reads_of_one_session_at_once_are_all_remembered() {
    let project = patient_project();
    for number in 1..=AT_ONCE {
        project.write(&chapter(number + 10), format!("# Chapter {number}\n"));
    }
    project.ok(&["status"]);
    let file = |number: u32| project.root().join(chapter(number + 10));
    let answers = at_once(|number| {
        vec![
            project
                .session("s")
                .after("Read", &json!({ "file_path": file(number) })),
        ]
    });
    none_failed(&project, &answers);
    let _ = project.session("s").read(Project::ACT);
    for number in 1..=AT_ONCE {
        let answer = project.session("s").before(
            "Write",
            &json!({ "file_path": file(number), "content": "# New\n" }),
        );
        assert!(answer.is_silent(), "{number}: {answer:?}");
    }
}

/// Several times: what goes wrong only when processes meet does not go wrong every time.
#[test]
fn sixteen_sessions_with_everything_at_once() {
    (0..5).for_each(|_| everything_at_once());
}

fn everything_at_once() {
    let project = patient_project();
    let answers = at_once(|number| {
        let session = project.session(&format!("s{number}"));
        match number % 4 {
            0 => {
                let (before, after) = session.write(&chapter(number + 10), "# New\n");
                [Some(before), after].into_iter().flatten().collect()
            }
            1 => vec![session.start("startup"), session.read(Project::ACT)],
            2 => vec![session.shell(&format!(
                "mkdir -p {0} && echo x > {0}/plan.md",
                chapter(number + 10).trim_end_matches("/plan.md")
            ))],
            _ => vec![
                session.prompt("go on"),
                session.before("Bash", &json!({ "command": "ls" })),
                session.stop(),
            ],
        }
    });
    none_failed(&project, &answers);
    for number in (1..=AT_ONCE).filter(|number| number % 2 == 0) {
        assert_eq!(
            added(&project, &format!("chapter-{}", number + 10)),
            1,
            "chapter {}",
            number + 10
        );
    }
    for number in (1..=AT_ONCE).filter(|number| number % 4 == 1) {
        let input =
            json!({ "file_path": project.root().join(Project::ACT), "content": crate::ACT_EDITED });
        let answer = project
            .session(&format!("s{number}"))
            .before("Write", &input);
        assert_eq!(answer.block(), None, "s{number} has read the act");
    }
    // Two lines of a write, three of a start with reading, two of a command, three of a prompt, a command and a stop.
    let before = project
        .ledger()
        .iter()
        .filter(|line| line["tool"] != "write" || line["event"] != "tool-about-to-run")
        .count();
    let writes = project
        .ledger()
        .iter()
        .filter(|line| line["tool"] == "write" && line["event"] == "tool-about-to-run")
        .count();
    assert_eq!(
        writes, 8,
        "four of them, and four that were asked about just now"
    );
    assert_eq!(before, 4 + 12 + 8 + 12);
    project.ok(&["state", "repair"]);
    project.ok(&["check"]);
}

/// The same call told by two hooks at the same moment.
#[test]
fn one_write_told_by_sixteen_hooks_is_recorded_once() {
    let project = patient_project();
    project.write(&chapter(20), "# New\n");
    let session = project.session("s");
    let (event, fields) = session.call(
        false,
        "Write",
        &json!({ "file_path": project.root().join(chapter(20)), "content": "# New\n" }),
    );
    let answers = at_once(|_| vec![project.session("s").event(event, fields.clone())]);
    none_failed(&project, &answers);
    assert_eq!(added(&project, "chapter-20"), 1);
    assert_eq!(
        answers
            .iter()
            .filter(|(_, answer)| !answer.is_silent())
            .count(),
        1,
        "said once"
    );
    assert_eq!(project.ledger().len(), AT_ONCE as usize);
}
