//! `tl where` after any use of git: the TDD cycle is the one that the history of HEAD has.

use serde_json::{Value, json};
use testkit::{Project, Session};

use crate::{as_session, json_as, tickets};

const SCENARIOS: usize = 12;

/// What `tl where` says about the cycle, or what a history leads to.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    completed: usize,
    scenario: Option<String>,
    /// The step being worked on: one further than the last commit.
    cycle: Option<&'static str>,
}

/// A project whose ticket `017a` has many scenarios, with commits from before it is entered.
fn entered_ticket() -> Project {
    let project = tickets();
    let scenarios: String = (1..=SCENARIOS)
        .map(|number| format!("## Scenario: Case {number:02}\nGiven\n\n"))
        .collect();
    project.write("tickets/017a-loc/test-definitions.md", scenarios);
    assert!(project.shell(
        "git add -A && git commit -q -m 'docs: cases' && git branch side \
         && echo 1 > src/early && git add src && git commit -q -m 'test: early' \
         && echo 2 > src/early && git commit -q -am 'feat: early'"
    ));
    as_session(&project, "s", &["focus", "enter", "017a"]);
    project
}

/// Returns the output of git.
fn git(project: &Project, arguments: &str) -> String {
    assert!(
        project.shell(&format!("git {arguments} > .git/answer")),
        "git {arguments}"
    );
    project.read(".git/answer")
}

/// Folds `git log` of HEAD, written down as simply as possible.
fn fold_log(project: &Project, base: &str) -> Shown {
    let read = |range: &str| -> Vec<(String, String, String)> {
        let format = "--topo-order --reverse --no-merges --format='%H|%at|%s|%b%x00'";
        let records = git(project, &format!("log {format} {range}"));
        let fields = |record: &str| {
            let mut parts = record.trim_start().splitn(4, '|').map(str::to_owned);
            let (hash, time) = (parts.next().expect("a known form"), parts.next()?);
            let (subject, body) = (parts.next()?, parts.next()?);
            let reverted = body.split_once("This reverts commit ");
            let reverted = reverted.map(|(_, rest)| rest.chars().take(40).collect::<String>());
            Some((
                hash,
                format!("{time} {subject}"),
                reverted.unwrap_or_default(),
            ))
        };
        records.split('\0').filter_map(fields).collect()
    };
    let early: Vec<String> = read(&format!("HEAD..{base}"))
        .into_iter()
        .map(|(_, change, _)| change)
        .collect();
    let mut list: Vec<(String, String, String, bool)> = Vec::new();
    for (hash, change, reverted) in read(&format!("{base}..HEAD")) {
        if early.contains(&change) || list.iter().any(|one| one.1 == change) {
            continue;
        }
        let subject = change.split_once(' ').expect("a known form").1.to_owned();
        let quoted = subject
            .strip_prefix("Revert \"")
            .map(|rest| rest.trim_end_matches('"').to_owned())
            .or_else(|| {
                let rest = subject.strip_prefix("Reapply \"")?;
                Some(format!("Revert \"{}", rest.trim_end_matches('"')))
            });
        let is_target = |one: &(String, String, String, bool)| {
            one.3
                && quoted.as_ref().is_some_and(|quoted| {
                    one.1
                        .split_once(' ')
                        .expect("a known form")
                        .1
                        .trim_end_matches('"')
                        == quoted
                })
        };
        let target = list
            .iter()
            .position(|one| one.0 == reverted)
            .or_else(|| list.iter().rposition(is_target));
        if let Some(target) = target {
            list[target].3 = false;
            let restored = std::mem::take(&mut list[target].2);
            for one in &mut list {
                one.3 |= one.0 == restored;
            }
        }
        let target = target.map_or_else(String::new, |target| list[target].0.clone());
        list.push((hash, change, target, true));
    }
    let (mut completed, mut last) = (0, None);
    for (_, change, ..) in list.iter().filter(|one| one.3) {
        let subject = change.split_once(' ').expect("a known form").1;
        match (subject.split(':').next().expect("a known form"), last) {
            ("test", Some("feat")) => (completed, last) = (completed + 1, Some("test")),
            ("refactor", Some("feat")) => (completed, last) = (completed + 1, None),
            ("test", _) => last = Some("test"),
            ("feat", _) => last = Some("feat"),
            _ => {}
        }
    }
    let is_open = completed < SCENARIOS;
    Shown {
        completed: completed.min(SCENARIOS),
        scenario: is_open.then(|| format!("case-{:02}", completed + 1)),
        cycle: is_open.then_some(match last {
            None => "red",
            Some("test") => "green",
            Some(_) => "refactor",
        }),
    }
}

fn shown(project: &Project) -> Shown {
    let view = json_as(project, "s", &["where"]);
    let (ticket, tdd) = (&view["stack"][1], &view["stack"][2]);
    let words = ["red", "green", "refactor"];
    Shown {
        completed: usize::try_from(ticket["scenariosCompleted"].as_u64().expect("a known form"))
            .expect("a known form"),
        scenario: tdd["scenario"].as_str().map(str::to_owned),
        cycle: words.into_iter().find(|word| tdd["cycle"] == json!(word)),
    }
}

/// Returns a command of git for a random number.
fn random_command(random: u64, number: usize) -> String {
    let write = format!("echo {number} > src/{number} && git add src");
    let back = random >> 8 & 3;
    let kind = ["test", "feat", "refactor", "test", "feat", "docs"]
        [usize::try_from((random >> 16) % 6).expect("a known form")];
    match random % 20 {
        0..8 => format!("{write} && git commit -q -m '{kind}: {number}'"),
        8 | 9 => format!("{write} && git commit -q --amend -m '{kind}: {number}'"),
        10 => "git commit -q --amend --no-edit --allow-empty".to_owned(),
        11 => format!("git reset -q --hard HEAD~{back}"),
        12 => "git reset -q --soft HEAD~1".to_owned(),
        13 | 14 => format!("git revert --no-edit HEAD~{back}"),
        15 => "git switch -q side || git switch -q main".to_owned(),
        16 => "git switch -q main || git switch -q side".to_owned(),
        17 => "git rebase -q side".to_owned(),
        18 => format!("git cherry-pick side~{}", back.min(1)),
        _ => "git merge -q --no-edit side".to_owned(),
    }
}

#[test]
fn the_cycle_is_the_one_that_the_history_has() {
    for seed in 1..=3_u64 {
        let project = entered_ticket();
        let session = project.session("s");
        let base = git(&project, "rev-parse HEAD").trim().to_owned();
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut commands = Vec::new();
        for number in 0..40 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bits = random >> 20;
            let command = random_command(bits, number);
            // What cannot be applied is given up, as a person would.
            let command = format!(
                "({command}) || {{ git rebase --abort; git cherry-pick --abort; git revert --abort; git merge --abort; git reset -q --hard; }}"
            );
            commands.push(command.clone());
            // Half of it is done where no hook sees it.
            if bits >> 30 & 1 == 0 {
                let _ = session.shell_unasked(&command);
            } else {
                project.shell(&command);
            }
            assert_eq!(
                shown(&project),
                fold_log(&project, &base),
                "seed {seed}: {commands:#?}\n{}",
                git(&project, "log --graph --oneline --all")
            );
        }
    }
}

fn cycle(project: &Project) -> Value {
    json_as(project, "s", &["where"])["stack"][2]["cycle"].clone()
}

fn commit(session: &Session<'_>, subject: &str) {
    let command = format!("echo '{subject}' >> src/main.rs && git commit -q -am '{subject}'");
    let _ = session.shell_unasked(&command);
}

#[test]
fn a_reset_or_revert_takes_the_step_back() {
    let project = tickets();
    as_session(&project, "s", &["focus", "enter", "017a"]);
    let session = project.session("s");
    commit(&session, "test: a");
    commit(&session, "feat: a");
    assert_eq!(cycle(&project), json!("refactor"));
    let told = session.shell("git reset -q --hard HEAD~1");
    let told = told.context().unwrap_or_default();
    assert!(told.contains("loc-tracking is red"), "{told}");
    assert_eq!(cycle(&project), json!("green"));
    commit(&session, "feat: b");
    let _ = session.shell("git revert --no-edit HEAD");
    assert_eq!(cycle(&project), json!("green"));
    let _ = session.shell("git revert --no-edit HEAD");
    assert_eq!(cycle(&project), json!("refactor"));
    commit(&session, "refactor: b");
    let scenario =
        || json_as(&project, "s", &["ticket", "scenario", "list", "017a"])["scenarios"][0].clone();
    assert_eq!(scenario()["progress"], json!("complete"));
    // Without a hook, and back again: the tree shows the same as the position.
    assert!(project.shell("git reset -q --hard HEAD~1"));
    assert_eq!(scenario()["progress"], json!("active"));
    let _ = session.shell("touch built");
    assert_eq!(
        project.json(&["show", "017a/loc-tracking"])["progress"],
        json!("active")
    );
}

#[test]
fn a_commit_of_a_colleague_is_not_a_step() {
    let project = tickets();
    assert!(project.shell("git config user.email test@example.org"));
    as_session(&project, "s", &["focus", "enter", "017a"]);
    assert!(project.shell(
        "echo x > src/x && git add src && GIT_COMMITTER_EMAIL=ann@example.org git commit -q -m 'test: theirs'"
    ));
    assert_eq!(cycle(&project), json!("red"));
    assert!(project.shell("echo y > src/y && git add src && git commit -q -m 'test: ours'"));
    assert_eq!(cycle(&project), json!("green"));
}

#[test]
fn commits_belong_to_the_ticket_that_was_entered_when_they_were_made() {
    let project = tickets();
    project.write(
        "tickets/017b-phases/test-definitions.md",
        "## Scenario: Other\nGiven\n",
    );
    let session = project.session("s");
    as_session(&project, "s", &["focus", "enter", "017a"]);
    commit(&session, "test: a");
    as_session(&project, "s", &["focus", "enter", "017b"]);
    commit(&session, "test: b");
    commit(&session, "feat: b");
    let cycles = |ticket: &str| {
        json_as(&project, "s", &["ticket", "scenario", "list", ticket])["scenarios"][0]["cycle"]
            .clone()
    };
    assert_eq!(
        (cycles("017a"), cycles("017b")),
        (json!("red"), json!("green"))
    );
    as_session(&project, "s", &["focus", "enter", "017a"]);
    commit(&session, "feat: a");
    assert_eq!(
        (cycles("017a"), cycles("017b")),
        (json!("green"), json!("green"))
    );
}

/// A scenario that was closed by hand stays closed, and keeps its commits.
#[test]
fn a_scenario_done_by_hand_stays_done_whatever_the_history_does() {
    let project = tickets();
    as_session(&project, "s", &["focus", "enter", "017a"]);
    let session = project.session("s");
    commit(&session, "test: a");
    commit(&session, "feat: a");
    as_session(&project, "s", &["ticket", "scenario", "done"]);
    commit(&session, "test: b");
    let view = json_as(&project, "s", &["where"]);
    assert_eq!(
        (&view["stack"][2]["scenario"], &view["stack"][2]["cycle"]),
        (&json!("threshold-gate"), &json!("green"))
    );
    let _ = session.shell("git reset -q --hard HEAD~3");
    let view = json_as(&project, "s", &["where"]);
    assert_eq!(
        (
            &view["stack"][1]["scenariosCompleted"],
            &view["stack"][2]["cycle"]
        ),
        (&json!(1), &json!("red"))
    );
}
