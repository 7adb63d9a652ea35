//! Two real processes and one piece of work: only one of them asks the model, the other is told who does.

use std::process::{Child, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use testkit::{Output, Project};

use crate::model_server::ModelServer;
use crate::story_loop::{sound_answer, twelve_scenes, with_dialect};

/// A model that answers nothing before it is let: the number of its questions, and whether it answers.
struct Gate {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    const fn closed() -> Self {
        Self {
            state: Mutex::new((0, false)),
            changed: Condvar::new(),
        }
    }

    fn answer(&self, prompt: &str) -> String {
        let mut state = self.state.lock().expect("a value");
        state.0 += 1;
        self.changed.notify_all();
        while !state.1 {
            state = self.changed.wait(state).expect("a value");
        }
        drop(state);
        sound_answer(prompt)
    }

    fn open(&self) {
        self.state.lock().expect("a value").1 = true;
        self.changed.notify_all();
    }

    fn questions(&self) -> usize {
        self.state.lock().expect("a value").0
    }

    /// Waits until the model is asked.
    fn wait_for_question(&self, process: &mut Child) {
        let deadline = Instant::now() + Duration::from_secs(120);
        let mut state = self.state.lock().expect("a value");
        while state.0 == 0 {
            assert!(Instant::now() < deadline, "the model was not asked");
            let ended = process.try_wait().expect("a process");
            assert!(ended.is_none(), "it ended before it asked: {ended:?}");
            let wait = Duration::from_millis(100);
            state = self.changed.wait_timeout(state, wait).expect("a value").0;
        }
    }
}

fn start(project: &Project, arguments: &[&str]) -> Child {
    let mut command = project.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Asserts that a command names who works on something, and since when.
fn assert_told(refused: &Output, what: &str, holder: &Child) {
    assert_eq!(refused.code, 1, "{refused:?}");
    let process = format!("process {}", holder.id());
    for part in [what, &process, " since 20", "when it is done", "kill "] {
        assert!(refused.stderr.contains(part), "`{part}`: {refused:?}");
    }
}

#[test]
fn a_scene_is_paid_for_by_one_of_two_processes() {
    static GATE: Gate = Gate::closed();
    let server = ModelServer::start(|prompt| GATE.answer(prompt));
    let project = with_dialect(twelve_scenes(), 0, &server.url);
    project.ok(&["status"]);
    let mut first = start(&project, &["story", "run", "--scenes", "1"]);
    GATE.wait_for_question(&mut first);
    let scene = "`act-1/chapter-01/scene-0101` is being written by shell";
    assert_told(&project.run(&["story", "run"]), scene, &first);
    let named = project.run(&["story", "write", "scene-0101"]);
    assert_told(&named, scene, &first);
    assert_told(&project.run(&["story", "write", "--next"]), scene, &first);
    let tick = project.run(&["story", "tick"]);
    assert_told(&tick, "tick 1 is being planned by shell", &first);
    // What is only looked at, costs nothing.
    project.ok(&["story", "tick", "--dry-run", "--show-prompt"]);
    assert_eq!(GATE.questions(), 1);
    GATE.open();
    let ended = first.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{ended:?}");
    // The lease is over: the next run goes on with the next scene.
    let next = project.ok(&["story", "run", "--scenes", "1"]);
    assert!(next.stdout.contains("scene-0102"), "{next:?}");
    assert!(!next.stdout.contains("scene-0101"), "{next:?}");
}

#[test]
fn the_lease_of_a_killed_process_ends_with_it() {
    static GATE: Gate = Gate::closed();
    let server = ModelServer::start(|prompt| GATE.answer(prompt));
    let project = with_dialect(twelve_scenes(), 1, &server.url);
    project.ok(&["status"]);
    let mut first = start(&project, &["story", "tick"]);
    GATE.wait_for_question(&mut first);
    let dry = project.run(&["story", "tick", "--dry-run"]);
    assert_told(&dry, "tick 1 is being planned by shell", &first);
    first.kill().expect("it runs");
    first.wait().expect("it is over");
    GATE.open();
    let next = project.ok(&["story", "tick"]);
    assert!(next.stdout.contains("tick 1 done"), "{next:?}");
    assert_eq!(GATE.questions(), 2);
}

#[test]
fn a_scene_is_paid_for_in_one_of_two_worktrees() {
    static GATE: Gate = Gate::closed();
    let server = ModelServer::start(|prompt| GATE.answer(prompt));
    let project = with_dialect(twelve_scenes(), 2, &server.url);
    let git = "git init -q -b main . && git config user.email a@b && git config user.name a";
    assert!(project.shell(git));
    project.ok(&["status"]);
    assert!(
        project.shell(
            "git add -A && git commit -q -m start && git worktree add -q ../beside -b beside"
        )
    );
    let beside = project
        .root()
        .join("../beside")
        .canonicalize()
        .expect("a folder");
    let run_beside = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        let ended = command.current_dir(&beside).output().expect("it starts");
        Output {
            code: ended.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&ended.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
        }
    };
    run_beside(&["state", "adopt", "--yes"]);
    let mut first = start(&project, &["story", "run", "--scenes", "1"]);
    GATE.wait_for_question(&mut first);
    let place = format!("{}, branch main", project.root().display());
    let told = run_beside(&["story", "run"]);
    assert_told(
        &told,
        "`act-1/chapter-01/scene-0101` is being written by shell",
        &first,
    );
    assert!(told.stderr.contains(&place), "{told:?}");
    let tick = run_beside(&["story", "tick"]);
    assert_told(&tick, "tick 1 is being planned by shell", &first);
    assert_eq!(GATE.questions(), 1);
    GATE.open();
    let ended = first.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{ended:?}");
    let next = run_beside(&["story", "tick"]);
    assert!(next.stdout.contains("tick 1 done"), "{next:?}");
}
