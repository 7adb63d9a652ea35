//! Several worktrees of one repository: claims, ids and live sessions are shared.

#![expect(
    clippy::disallowed_methods,
    reason = "a test makes working trees of its own"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Output, Project};

use crate::{binary, finished};

/// A repository with tickets 001 and 002 committed, and worktrees beside it.
struct Repository {
    project: Project,
}

impl Repository {
    fn new() -> Self {
        let project = Project::empty(binary());
        assert!(
            project.shell(
                "git init -q -b main . && git config user.email a@b && git config user.name a"
            )
        );
        project.ok(&["init", "--profile", "tickets"]);
        for (id, title) in [("001", "one"), ("002", "two")] {
            project.write(
                &format!("tickets/{id}-{title}/ticket.md"),
                format!("---\nid: '{id}'\nphase: implement\n---\n# {title}\n"),
            );
        }
        project.ok(&["status"]);
        assert!(project.shell("git add -A && git commit -q -m start"));
        Self { project }
    }

    fn main(&self) -> PathBuf {
        self.project.root()
    }

    /// Adds a worktree with a branch of its name, and adopts it.
    fn add_worktree(&self, path: &str, branch: &str) -> PathBuf {
        assert!(
            self.project
                .shell(&format!("git worktree add -q {path} -b {branch}"))
        );
        let folder = self
            .main()
            .join(path)
            .canonicalize()
            .expect("the worktree exists");
        // A worktree starts from the committed files; the first command builds its state.
        let first = self.run(&folder, "setup", &["status"]);
        if first.code != 0 {
            let adopted = self.run(&folder, "setup", &["state", "adopt", "--yes"]);
            assert_eq!(adopted.code, 0, "{first:?} {adopted:?}");
        }
        folder
    }

    fn command(&self, folder: &Path, session: &str, arguments: &[&str]) -> Command {
        let mut command = self.project.command(arguments);
        command
            .current_dir(folder)
            .env("CLAUDECODE", "1")
            .env("CLAUDE_CODE_SESSION_ID", session);
        command
    }

    fn run(&self, folder: &Path, session: &str, arguments: &[&str]) -> Output {
        finished(&mut self.command(folder, session, arguments))
    }

    fn ok(&self, folder: &Path, session: &str, arguments: &[&str]) -> Output {
        let output = self.run(folder, session, arguments);
        assert_eq!(output.code, 0, "{arguments:?} {output:?}");
        output
    }

    fn json(&self, folder: &Path, session: &str, arguments: &[&str]) -> Value {
        let all: Vec<&str> = ["--json"].iter().chain(arguments).copied().collect();
        let output = self.run(folder, session, &all);
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {output:?}"))
    }

    fn ready(&self, folder: &Path, session: &str) -> Vec<String> {
        let view = self.json(folder, session, &["next"]);
        let list = view["ready"].as_array().expect("a list");
        list.iter()
            .map(|one| one["path"].as_str().expect("a path").to_owned())
            .collect()
    }

    /// Sends a hook event of Claude Code from a worktree.
    fn hook(&self, folder: &Path, session: &str, name: &str, fields: Value) -> Value {
        let mut payload = json!({ "session_id": session, "cwd": folder, "hook_event_name": name });
        for (key, value) in fields.as_object().expect("fields") {
            payload[key] = value.clone();
        }
        let mut command = self.command(folder, session, &["hook", "claude-code"]);
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut input = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut input, payload.to_string().as_bytes()).expect("it reads");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        assert!(output.stderr.is_empty(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }

    /// Writes a file as an agent does, with the events before and after; returns both answers.
    fn write(&self, folder: &Path, session: &str, file: &str, text: &str) -> (Value, Value) {
        let path = folder.join(file);
        let fields = json!({
            "tool_name": "Write",
            "tool_input": { "file_path": path, "content": text },
        });
        let before = self.hook(folder, session, "PreToolUse", fields.clone());
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        std::fs::write(&path, text).expect("the file can be written");
        (before, self.hook(folder, session, "PostToolUse", fields))
    }

    fn claims_file(&self) -> PathBuf {
        self.main().join(".git/throughline/claims.json")
    }
}

#[test]
fn a_node_claimed_in_one_worktree_is_refused_in_another() {
    let repository = Repository::new();
    let (main, beside) = (
        repository.main(),
        repository.add_worktree("../beside", "beside"),
    );
    let below = repository.add_worktree(".claude/worktrees/agent-1", "agent-1");
    repository.ok(&main, "s1", &["claim", "001"]);
    for folder in [&beside, &below] {
        let refused = repository.run(folder, "s2", &["claim", "001"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains("`001` is claimed by s1 (")
                && refused.stderr.contains("branch main"),
            "{refused:?}"
        );
        assert!(!repository.ready(folder, "s2").contains(&"001".to_owned()));
        assert!(repository.ready(folder, "s2").contains(&"002".to_owned()));
        let claims = repository.json(folder, "s2", &["claim", "--list"]);
        assert_eq!(claims[0]["branch"], "main", "{claims}");
    }
    // The same session id in another worktree (a subagent) is another holder.
    assert_eq!(repository.run(&beside, "s1", &["claim", "001"]).code, 1);
    repository.ok(&main, "s1", &["release", "001"]);
    repository.ok(&below, "s2", &["claim", "001"]);
    assert_eq!(repository.run(&main, "s1", &["claim", "001"]).code, 1);
    let log = repository.ok(&main, "s1", &["log"]).stdout;
    assert!(log.contains("001 is claimed by s1"), "{log}");
}

#[test]
fn of_eight_processes_in_two_worktrees_exactly_one_gets_the_node() {
    let repository = Repository::new();
    let (main, beside) = (
        repository.main(),
        repository.add_worktree("../beside", "beside"),
    );
    for node in ["001", "002"] {
        let barrier = std::sync::Barrier::new(8);
        let codes: Vec<i32> = std::thread::scope(|scope| {
            let (repository, barrier) = (&repository, &barrier);
            let threads: Vec<_> = (0..8)
                .map(|number| {
                    let folder = if number % 2 == 0 { &main } else { &beside };
                    scope.spawn(move || {
                        barrier.wait();
                        repository
                            .run(folder, &format!("s{number}"), &["claim", node])
                            .code
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .collect()
        });
        let winners = codes.iter().filter(|code| **code == 0).count();
        let refused = codes.iter().filter(|code| **code == 1).count();
        assert_eq!((winners, refused), (1, 7), "{node}: {codes:?}");
    }
    let claims = repository.json(&main, "s0", &["claim", "--list"]);
    assert_eq!(claims.as_array().map(Vec::len), Some(2), "{claims}");
    // Tokens are fencing tokens of the repository: no two claims share one.
    assert_ne!(claims[0]["token"], claims[1]["token"]);
}

#[test]
fn the_claims_of_a_removed_worktree_end_also_if_its_name_is_used_again() {
    let repository = Repository::new();
    let beside = repository.add_worktree("../beside", "beside");
    repository.ok(&beside, "s2", &["claim", "001"]);
    assert_eq!(
        repository
            .run(&repository.main(), "s1", &["claim", "001"])
            .code,
        1
    );
    assert!(
        repository
            .project
            .shell("git worktree remove --force ../beside")
    );
    assert_eq!(
        repository.json(&repository.main(), "s1", &["claim", "--list"]),
        json!([])
    );
    repository.add_worktree("../beside", "again");
    assert_eq!(
        repository.json(&repository.main(), "s1", &["claim", "--list"]),
        json!([])
    );
    repository.ok(&repository.main(), "s1", &["claim", "001"]);
}

#[test]
fn two_worktrees_never_hand_out_the_same_ticket_id() {
    let repository = Repository::new();
    let (main, beside) = (
        repository.main(),
        repository.add_worktree("../beside", "beside"),
    );
    let ids: Vec<String> = std::thread::scope(|scope| {
        let repository = &repository;
        let threads: Vec<_> = (0..6)
            .map(|number| {
                let folder = if number % 2 == 0 { &main } else { &beside };
                scope.spawn(move || {
                    let title = format!("Ticket {number}");
                    let view = repository.json(folder, "s", &["ticket", "new", &title]);
                    view["id"].as_str().expect("an id").to_owned()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), 6, "{ids:?}");
    let taken = repository.run(&beside, "s", &["ticket", "new", "x", "--id", "005"]);
    assert_eq!(taken.code, 1, "{taken:?}");
}

#[test]
fn reading_creates_no_coordination_files() {
    let repository = Repository::new();
    let _ = std::fs::remove_dir_all(repository.main().join(".git/throughline"));
    for arguments in [
        &["status"][..],
        &["next"],
        &["where"],
        &["claim", "--list"],
        &["overlap"],
        &["tree"],
    ] {
        repository.ok(&repository.main(), "s1", arguments);
    }
    for name in ["claims.json", "coordination.lock", "sessions", "ids"] {
        let path = repository.main().join(".git/throughline").join(name);
        assert!(!path.exists(), "{name}");
    }
}

#[test]
fn the_claims_are_private_and_leaves_the_tree_clean() {
    use std::os::unix::fs::PermissionsExt;
    let repository = Repository::new();
    let before = repository
        .project
        .command_of(Path::new("git"))
        .args(["status", "--porcelain"])
        .output()
        .expect("git")
        .stdout;
    repository.ok(&repository.main(), "s1", &["claim", "001"]);
    let mode = |path: &Path| {
        std::fs::metadata(path)
            .expect("it exists")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&repository.claims_file()), 0o600);
    assert_eq!(
        mode(repository.claims_file().parent().expect("a folder")),
        0o700
    );
    let listed = String::from_utf8(before).expect("UTF-8");
    assert!(!listed.contains("coordination"), "{listed}");
}

#[test]
fn a_claim_in_a_read_only_repository_holds_here_and_says_so() {
    let repository = Repository::new();
    // A file where the directory belongs: root ignores permissions.
    let folder = repository.main().join(".git/throughline");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::write(&folder, "").expect("a file");
    let claimed = repository.ok(&repository.main(), "s1", &["claim", "001"]);
    assert!(
        claimed
            .stderr
            .contains("not shared with the other worktrees"),
        "{claimed:?}"
    );
    assert_eq!(
        repository
            .run(&repository.main(), "s2", &["claim", "001"])
            .code,
        1
    );
    repository.ok(&repository.main(), "s2", &["status"]);
}

#[test]
fn damaged_claims_are_replaced() {
    let repository = Repository::new();
    repository.ok(&repository.main(), "s1", &["claim", "001"]);
    std::fs::write(repository.claims_file(), "not claims").expect("written");
    repository.ok(&repository.main(), "s2", &["status"]);
    repository.ok(&repository.main(), "s2", &["claim", "002"]);
    assert_eq!(
        repository
            .run(&repository.main(), "s1", &["claim", "002"])
            .code,
        1
    );
}

#[test]
fn undoing_a_claim_frees_the_node_in_every_worktree() {
    let repository = Repository::new();
    let beside = repository.add_worktree("../beside", "beside");
    let claim = repository.json(&repository.main(), "s1", &["claim", "001"]);
    let operation = claim["operation"].to_string();
    repository.ok(&repository.main(), "s1", &["undo", &operation]);
    repository.ok(&beside, "s2", &["claim", "001"]);
}

#[test]
fn a_claim_follows_its_node_through_a_move_a_renumbering_and_an_undo() {
    let repository = Repository::new();
    let main = repository.main();
    repository.project.write(
        "tickets/001a-part/ticket.md",
        "---\nid: '001a'\nparent: '001'\nphase: implement\n---\n# part\n",
    );
    assert!(
        repository
            .project
            .shell("git add -A && git commit -q -m part")
    );
    let beside = repository.add_worktree("../beside", "beside");
    let claimed = |folder: &Path| -> Vec<String> {
        let list = repository.json(folder, "s9", &["claim", "--list"]);
        let list = list.as_array().expect("a list").clone();
        list.iter()
            .map(|one| one["node"].as_str().expect("a node").to_owned())
            .collect()
    };
    repository.ok(&main, "s1", &["claim", "001a"]);
    assert_eq!(claimed(&main), ["001/001a"]);

    // The parent gets another id: the path of the claimed node changes with it.
    let renumbered = repository.json(&main, "s1", &["renumber", "001", "050"]);
    assert_eq!(claimed(&main).len(), 1);
    let path = claimed(&main).remove(0);
    assert!(path.starts_with("050/"), "{path}");
    // Nobody else gets it under its new name, in any worktree that has it.
    let refused = repository.run(&main, "s2", &["claim", &path]);
    assert_eq!(refused.code, 1, "{refused:?}");
    // In the other worktree nothing was renamed; the claim is listed there too.
    assert_eq!(claimed(&beside), claimed(&main));
    // The session releases what it claimed, by the present name.
    let operation = renumbered["operation"].to_string();
    repository.ok(&main, "s1", &["undo", &operation]);
    assert_eq!(claimed(&main), ["001/001a"]);
    repository.ok(&main, "s1", &["release", "001a"]);
    assert!(claimed(&main).is_empty());

    // Moved by hand.
    repository.ok(&main, "s1", &["claim", "002"]);
    assert!(repository.project.shell(
        "git mv tickets/002-two tickets/060-two && sed -i \"s/id: '002'/id: '060'/\" tickets/060-two/ticket.md"
    ));
    // Only its own id changed in the text, so it is the same ticket.
    repository.ok(&main, "s1", &["status"]);
    assert_eq!(claimed(&main), ["060"]);
    repository.ok(&main, "s1", &["release", "060"]);
}

#[test]
fn a_killed_claim_leaves_no_node_claimed_twice_or_for_ever() {
    let repository = Repository::new();
    let beside = repository.add_worktree("../beside", "beside");
    for delay in [1, 3, 6, 10, 15, 25] {
        let mut child = repository
            .command(&repository.main(), "s1", &["claim", "001"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(delay));
        let _ = child.kill();
        let _ = child.wait();
        let other = repository.run(&beside, "s2", &["claim", "001"]);
        let mine = repository.run(&repository.main(), "s1", &["claim", "001"]);
        assert_eq!(other.code + mine.code, 1, "{delay} ms: {other:?} {mine:?}");
        let (holder, folder) = if mine.code == 0 {
            ("s1", repository.main())
        } else {
            ("s2", beside.clone())
        };
        repository.ok(&folder, holder, &["release", "001"]);
    }
}

#[test]
fn status_and_overlap_name_the_sessions_of_other_worktrees() {
    let repository = Repository::new();
    let beside = repository.add_worktree("../beside", "beside");
    let _ = repository.hook(
        &beside,
        "s2",
        "SessionStart",
        json!({ "source": "startup" }),
    );
    repository.ok(&beside, "s2", &["focus", "enter", "001", "--claim"]);
    repository.write(&beside, "s2", "src/a.rs", "fn a() {}\n");
    let others = repository.json(&repository.main(), "s1", &["status"])["other_sessions"].clone();
    assert_eq!(others.as_array().map(Vec::len), Some(1), "{others}");
    assert_eq!(others[0]["session"], "s2");
    assert_eq!(others[0]["branch"], "beside");
    assert_eq!(others[0]["focus"], "001");
    assert_eq!(others[0]["holds"], json!(["001"]));
    assert_eq!(others[0]["files"], json!(["src/a.rs"]));
    let told = repository.ok(&repository.main(), "s1", &["overlap"]).stdout;
    assert!(told.contains("s2") && told.contains("on beside"), "{told}");
    // A session that ended is not listed; its claim still holds.
    let _ = repository.hook(&beside, "s2", "SessionEnd", json!({}));
    let others = repository.json(&repository.main(), "s1", &["status"])["other_sessions"].clone();
    assert_eq!(others[0]["holds"], json!(["001"]), "{others}");
    assert_eq!(others[0]["files"], Value::Null);
}

#[test]
fn a_session_is_told_once_that_another_one_changed_the_file() {
    let repository = Repository::new();
    let beside = repository.add_worktree("../beside", "beside");
    let main = repository.main();
    let context = |answer: &Value| {
        answer["hookSpecificOutput"]["additionalContext"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let (first, _) = repository.write(&beside, "s2", "src/a.rs", "fn a() {}\n");
    assert!(!context(&first).contains("has changed"), "{first}");
    let (before, _) = repository.write(&main, "s1", "src/a.rs", "fn a() { }\n");
    assert!(
        context(&before).contains("session s2")
            && context(&before).contains("has changed `src/a.rs` too"),
        "{before}"
    );
    let (again, _) = repository.write(&main, "s1", "src/a.rs", "fn a() {  }\n");
    assert!(!context(&again).contains("has changed"), "{again}");
    let (other, _) = repository.write(&main, "s1", "src/b.rs", "fn b() {}\n");
    assert!(!context(&other).contains("has changed"), "{other}");
}

#[test]
fn a_write_to_a_plan_that_a_session_in_another_worktree_claimed_is_blocked() {
    let repository = Repository::new();
    let beside = repository.add_worktree("../beside", "beside");
    repository.ok(&beside, "s2", &["claim", "001"]);
    let input = json!({
        "tool_name": "Edit",
        "tool_input": {
            "file_path": repository.main().join("tickets/001-one/ticket.md"),
            "old_string": "# one", "new_string": "# One",
        },
    });
    let answer = repository.hook(&repository.main(), "s1", "PreToolUse", input);
    let reason = answer["hookSpecificOutput"]["permissionDecisionReason"].to_string();
    assert!(reason.contains("s2"), "{answer}");
}

#[test]
fn overlap_predicts_conflicts_between_branches_that_change_the_same_plan() {
    let repository = Repository::new();
    let beside = repository.add_worktree("../beside", "beside");
    let ticket = |folder: &Path, text: &str| {
        std::fs::write(
            folder.join("tickets/001-one/ticket.md"),
            format!("---\nid: '001'\nphase: implement\n---\n# {text}\n"),
        )
        .expect("written");
    };
    ticket(&repository.main(), "here");
    assert!(repository.project.shell("git commit -qam here"));
    ticket(&beside, "there");
    assert!(
        repository
            .project
            .shell("git -C ../beside commit -qam there")
    );
    let objects = || {
        let mut command = repository.project.command_of(Path::new("git"));
        finished(command.args(["count-objects"])).stdout
    };
    let before = objects();
    let view = repository.json(&repository.main(), "s1", &["overlap"]);
    assert_eq!(view["problems"], Value::Null, "{view}");
    let conflict = &view["conflicts"][0];
    assert_eq!(
        conflict["plans"],
        json!(["tickets/001-one/ticket.md"]),
        "{view}"
    );
    let pair: BTreeSet<&str> = ["branch", "with"]
        .iter()
        .filter_map(|key| conflict[key].as_str())
        .collect();
    assert_eq!(pair, BTreeSet::from(["beside", "main"]), "{view}");
    assert_eq!(
        before,
        objects(),
        "predicting writes nothing to the repository"
    );
}

#[test]
fn a_ticket_finished_in_a_worktree_is_finished_after_the_merge_and_in_a_clone() {
    let repository = Repository::new();
    let main = repository.main();
    // HEAD was seen, as in every repository that is in use.
    repository.project.write(
        "tickets/002-two/ticket.md",
        "---\nid: '002'\n---\n# Second\n",
    );
    repository.ok(&main, "t", &["status"]);
    assert!(
        repository
            .project
            .shell("git commit -q -a -m 'docs: second'")
    );
    let beside = repository.add_worktree("../beside", "beside");
    let in_beside = |command: &str| {
        let email = "export GIT_COMMITTER_EMAIL=a@b";
        let shell = format!("{email} && cd '{}' && {command}", beside.display());
        assert!(repository.project.shell(&shell), "{command}");
    };
    in_beside("printf 'Scenario: one\\n\\nScenario: two\\n' > tickets/001-one/test-definitions.md");
    in_beside("git add -A && git commit -q -m 'docs: scenarios'");
    repository.ok(&beside, "s", &["focus", "enter", "001"]);
    for scenario in ["one", "two"] {
        for step in ["test", "feat", "refactor"] {
            in_beside(&format!(
                "echo {step} {scenario} >> work.rs && git add -A && git commit -q -m '{step}: {scenario}'"
            ));
        }
    }
    repository.ok(&beside, "s", &["ticket", "phase", "001", "done"]);
    in_beside("git add -A && git commit -q -m 'docs: done'");

    assert!(repository.project.shell("git merge -q beside"));
    assert!(repository.project.shell("git clone -q . ../clone"));
    let clone = main.join("../clone");
    for folder in [&main, &beside, &clone] {
        let seen = repository.ok(folder, "t", &["status"]).stderr;
        assert!(!seen.contains("is not done"), "{seen}");
        let shown = repository
            .ok(folder, "t", &["--json", "tree", "001"])
            .stdout;
        let complete = shown.matches("\"progress\":\"complete\"").count();
        assert_eq!(complete, 3, "{}: {shown}", folder.display());
    }
}

#[test]
fn a_status_that_did_not_count_is_told_where_a_clone_believes_it() {
    let repository = Repository::new();
    let main = repository.main();
    repository
        .project
        .write("tickets/001-one/test-definitions.md", "Scenario: one\n");
    repository.ok(&main, "s", &["status"]);
    assert!(
        repository
            .project
            .shell("sed -i 's/^phase: .*/phase: done/' tickets/001-one/ticket.md && git add -A")
    );
    let refused = repository.ok(&main, "s", &["status"]).stderr;
    assert!(
        refused.contains("`001` is not done: scenario `001/one` is open"),
        "{refused}"
    );
    assert!(
        repository
            .project
            .shell("git commit -q -m 'docs: done' && git clone -q . ../clone")
    );
    let told = repository
        .ok(&main.join("../clone"), "t", &["status"])
        .stderr;
    assert!(
        told.contains("`001` came finished with git and counts as complete"),
        "{told}"
    );
}
