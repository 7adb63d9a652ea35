//! Faults of our own: the agent goes on, or is stopped where the gate asks for it; it is noted once and told once.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::{Answer, Project, Session};

use crate::{Event, planned, statuses};

const CHAPTER_2: &str = "acts/act-1/chapters/chapter-02/plan.md";
const NOT_A_RULE: &str = "This is an error in Throughline, not a rule.";

pub(crate) fn state(project: &Project, name: &str) -> PathBuf {
    project.root().join(".throughline").join(name)
}

pub(crate) fn faults(project: &Project) -> Vec<Value> {
    project
        .ledger()
        .into_iter()
        .filter(|line| line["outcome"] == "fault")
        .collect()
}

pub(crate) fn may_write(project: &Project, session: &Session<'_>, path: &str) -> Answer {
    session.before(
        "Write",
        &json!({ "file_path": project.root().join(path), "content": "# New\n" }),
    )
}

/// A hook must end well whatever happens.
#[track_caller]
pub(crate) fn ended_well(what: &str, answer: &Answer) {
    assert_eq!(
        (answer.code, answer.stderr.as_str()),
        (0, ""),
        "{what}: {answer:?}"
    );
    let _ = answer.json();
}

// Faults that are repaired on the way.

fn remove_database(project: &Project) {
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = fs::remove_file(state(project, name));
    }
}

/// Overwrites the middle of a file.
pub(crate) fn scribble(project: &Project, name: &str) {
    let path = state(project, name);
    let Ok(mut bytes) = fs::read(&path) else {
        return;
    };
    let length = bytes.len();
    bytes[length / 8..].fill(b'x');
    project.write(&format!(".throughline/{name}"), bytes);
}

#[test]
fn damaged_state_is_mended_and_the_gates_are_right() {
    let cases: [(&str, Event<'_>); 6] = [
        ("overwritten", &|project| {
            scribble(project, "state.db");
            scribble(project, "state.db-wal");
        }),
        ("rubbish", &|project| {
            remove_database(project);
            project.write(
                ".throughline/state.db",
                "this is not a database".repeat(500),
            );
        }),
        ("emptied", &|project| {
            remove_database(project);
            project.write(".throughline/state.db", "");
        }),
        ("missing", &remove_database),
        ("no journal", &|project| {
            fs::remove_file(state(project, "journal.jsonl")).expect("removed")
        }),
        ("a journal of rubbish", &|project| {
            scribble(project, "journal.jsonl")
        }),
    ];
    for (what, damage) in cases {
        // The scene may be written below its chapter; a chapter of the second act may not.
        let project = planned();
        project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
        project.ok(&["status"]);
        let before = statuses(&project);
        let session = project.session("s");
        damage(&project);
        let answer = may_write(&project, &session, "acts/act-2/chapters/chapter-01/plan.md");
        ended_well(what, &answer);
        let reason = answer
            .block()
            .unwrap_or_else(|| panic!("{what}: passed: {answer:?}"));
        assert!(
            reason.contains("its parent `act-2` is a draft"),
            "{what}: {reason}"
        );
        damage(&project);
        let (allowed, after) = session.write(CHAPTER_2, "# Chapter 2\n");
        ended_well(what, &allowed);
        let after = after.unwrap_or_else(|| panic!("{what}: blocked: {allowed:?}"));
        ended_well(what, &after);
        damage(&project);
        ended_well(what, &session.start("startup"));
        assert_eq!(
            faults(&project),
            Vec::<Value>::new(),
            "{what} is repaired, so it is not a fault"
        );
        let mut expected = before;
        expected.insert(2, "act-1/chapter-02 draft".to_owned());
        expected.sort();
        let mut found = statuses(&project);
        found.sort();
        assert_eq!(found, expected, "{what}");
        assert!(
            state(&project, "logs/tl.log").is_file(),
            "{what}: repaired, and not reported"
        );
    }
}

/// A later version has been here; it says that we may still read and write.
#[test]
fn a_newer_format_that_we_may_use_is_used() {
    let project = planned();
    let Some(()) = sqlite(&project, "connection.execute('PRAGMA user_version = 99')") else {
        return;
    };
    let session = project.session("s");
    ended_well("a start", &session.start("startup"));
    let (allowed, after) = session.write(CHAPTER_2, "# Chapter 2\n");
    ended_well("before", &allowed);
    ended_well("after", &after.expect("the act is approved"));
    assert_eq!(faults(&project), Vec::<Value>::new());
    assert_eq!(project.status("chapter-02"), "draft");
}

// Faults that cannot.

/// Runs a line of Python on the project's database. `None` where there is no Python with SQLite.
#[expect(
    clippy::disallowed_methods,
    reason = "a test needs another program at the database"
)]
pub(crate) fn sqlite(project: &Project, line: &str) -> Option<()> {
    let script = format!(
        "import sqlite3, sys\nconnection = sqlite3.connect(sys.argv[1], isolation_level=None)\n{line}\nconnection.close()\n"
    );
    let output = Command::new("python3")
        .args(["-c", &script])
        .arg(state(project, "state.db"))
        .output()
        .ok()?;
    output.status.success().then_some(())
}

/// Another process that holds the database until it is dropped.
pub(crate) struct Lock {
    child: Child,
}

impl Lock {
    /// `whole`: nobody can even read. `None` where there is no Python with SQLite.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test needs another program at the database"
    )]
    pub(crate) fn hold(project: &Project, whole: bool) -> Option<Self> {
        let script = "import sqlite3, sys\n\
                      connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                      if sys.argv[2] == 'whole': connection.execute('PRAGMA locking_mode = EXCLUSIVE')\n\
                      connection.execute('BEGIN EXCLUSIVE')\n\
                      print('held', flush=True)\n\
                      sys.stdin.read()\n";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .arg(state(project, "state.db"))
            .arg(if whole { "whole" } else { "write" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take()?)
            .read_line(&mut line)
            .ok()?;
        let lock = Self { child };
        (line == "held\n").then_some(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A hook that does not wait long for another writer.
pub(crate) fn impatient<'p>(project: &'p Project, id: &str) -> Session<'p> {
    project
        .session(id)
        .with_environment("THROUGHLINE_HOOK_DEADLINE_MS", "400")
}

/// What is wrong, until it is dropped.
pub(crate) enum Wrong {
    Locked(Lock),
    Repairable(Box<dyn Fn()>),
}

impl Wrong {
    pub(crate) fn repair(self) {
        match self {
            Self::Locked(lock) => drop(lock),
            Self::Repairable(repair) => repair(),
        }
    }
}

/// Replaces a file until it is repaired.
pub(crate) fn replaced(project: &Project, name: &str, text: &str) -> Wrong {
    let path = state(project, name);
    let before = fs::read(&path).expect("a file");
    project.write(&format!(".throughline/{name}"), text);
    Wrong::Repairable(Box::new(move || {
        fs::remove_file(&path).expect("removed");
        let mut file = fs::File::create(&path).expect("a file");
        std::io::Write::write_all(&mut file, &before).expect("written");
    }))
}

/// Breaks the settings of a project that were never good before.
fn break_settings(project: &Project, text: &str) -> Wrong {
    let _ = fs::remove_file(state(project, "last-good-config.toml"));
    replaced(project, "config.toml", text)
}

/// Whether it is the notice about a fault, complete.
pub(crate) fn is_fault_notice(text: &str) -> bool {
    text.starts_with("Throughline: ")
        && text.contains("its gates may not be checked")
        && text.contains("\n  next: ")
        && !text.contains("@WHY@")
}

type Fault = fn(&Project) -> Option<Wrong>;

/// Makes the state require a later version, with a checksum that matches.
pub(crate) fn require_later_version(
    project: &Project,
    min_reader: u32,
    min_writer: u32,
) -> Option<()> {
    let script = r"
import struct, zlib
names = 'store_id, min_reader, min_writer, head, head_hash, journal_size, next_node, node_total'
row = list(connection.execute('SELECT ' + names + ' FROM store').fetchone())
row[1:3] = required
def packed(value):
    if isinstance(value, int):
        return b'\x01' + struct.pack('<q', value)
    tag, value = (b'\x03', value.encode()) if isinstance(value, str) else (b'\x04', value)
    return tag + struct.pack('<Q', len(value)) + value
total = zlib.crc32(b''.join(packed(value) for value in row))
connection.execute('UPDATE store SET min_reader = ?, min_writer = ?, sum = ?', (*required, total))
connection.execute('PRAGMA user_version = 99')
";
    sqlite(
        project,
        &format!("required = [{min_reader}, {min_writer}]\n{script}"),
    )
}

const FAULTS: [(&str, Fault); 7] = [
    ("only a later version may read the state", |project| {
        let (path, kept) = (state(project, "state.db"), project.root().join("kept.db"));
        fs::copy(&path, &kept).expect("copied");
        require_later_version(project, 99, 99)?;
        Some(Wrong::Repairable(Box::new(move || {
            fs::rename(&kept, &path).expect("put back")
        })))
    }),
    ("the state is locked", |project| {
        Lock::hold(project, true).map(Wrong::Locked)
    }),
    ("the settings are broken", |project| {
        Some(break_settings(project, "[policy\nthis is not TOML"))
    }),
    ("the settings have an unknown word", |project| {
        Some(break_settings(
            project,
            "[policy.gates]\nhierarchy = \"perhaps\"\n",
        ))
    }),
    ("there is no such profile", |project| {
        Some(break_settings(project, "profiles = [\"nope\"]\n"))
    }),
    ("the database is a folder", |project| {
        remove_database(project);
        let path = state(project, "state.db");
        fs::create_dir(&path).expect("a folder");
        Some(Wrong::Repairable(Box::new(move || {
            fs::remove_dir(&path).expect("removed")
        })))
    }),
    ("the database is another program's", |project| {
        remove_database(project);
        sqlite(
            project,
            "connection.execute('PRAGMA application_id = 7'); connection.execute('CREATE TABLE t (x)')",
        )?;
        let path = state(project, "state.db");
        Some(Wrong::Repairable(Box::new(move || {
            fs::remove_file(&path).expect("removed")
        })))
    }),
];

/// Every event of a session while something is wrong: none fails, none is stopped for our fault, each is
/// noted, and told where its answer is read.
#[test]
fn a_fault_lets_the_agent_go_on_and_is_noted() {
    let mut failed = Vec::new();
    for (what, break_it) in FAULTS {
        let project = planned();
        let session = impatient(&project, "s");
        let Some(wrong) = break_it(&project) else {
            continue;
        };
        let chapter =
            json!({ "file_path": project.root().join(CHAPTER_2), "content": "# Chapter 2\n" });
        let events: [(&str, Answer); 7] = [
            ("a start", session.start("startup")),
            ("a prompt", session.prompt("go on")),
            ("before a new plan", session.before("Write", &chapter)),
            ("after a new plan", session.after("Write", &chapter)),
            (
                "after a command",
                session.after("Bash", &json!({ "command": "make" })),
            ),
            (
                "before a compaction",
                session.event("PreCompact", json!({ "trigger": "auto" })),
            ),
            ("a stop", session.stop()),
        ];
        for (event, answer) in &events {
            ended_well(event, answer);
            let told = answer.context().is_some_and(|text| is_fault_notice(&text));
            let shown = answer.json()["systemMessage"]
                .as_str()
                .is_some_and(is_fault_notice);
            let is_right = match *event {
                "a start" | "a prompt" => told && shown && answer.block().is_none(),
                "a stop" => !told && shown && answer.block().is_none(),
                _ => answer.is_silent(),
            };
            if !is_right {
                failed.push(format!("{what}, {event}: {answer:?}"));
            }
        }
        let noted = faults(&project);
        if noted.len() != events.len()
            || noted
                .iter()
                .any(|line| line["fault"].as_str().is_none_or(str::is_empty))
        {
            failed.push(format!(
                "{what}: {} of {} noted: {noted:?}",
                noted.len(),
                events.len()
            ));
        }
        if what == "the state is locked" {
            // What has nothing to do with plans is not even asked about.
            for answer in [
                may_write(&project, &session, "notes.md"),
                session.before("Bash", &json!({ "command": "ls" })),
            ] {
                assert!(answer.is_silent(), "{answer:?}");
            }
            assert_eq!(faults(&project).len(), events.len(), "{what}");
        }
        wrong.repair();
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A lost plan cannot be derived from anything: what exists is not overwritten unseen.
#[test]
fn a_fault_stops_who_would_overwrite_a_plan() {
    let mut failed = Vec::new();
    for (what, break_it) in FAULTS {
        let project = planned();
        let session = impatient(&project, "s");
        let Some(wrong) = break_it(&project) else {
            continue;
        };
        let answer = may_write(&project, &session, Project::ACT);
        ended_well(what, &answer);
        match answer.block() {
            None => failed.push(format!("{what}: passed")),
            Some(reason) => {
                for part in [
                    "read-before-write gate",
                    "`act-1`",
                    NOT_A_RULE,
                    "\n  next: ",
                ] {
                    if !reason.contains(part) {
                        failed.push(format!("{what}: no `{part}` in {reason}"));
                    }
                }
                if reason.contains("@WHY@") || reason.starts_with("Throughline (") {
                    failed.push(format!("{what}: looks like a rule: {reason}"));
                }
            }
        }
        if faults(&project).len() != 1 {
            failed.push(format!("{what}: noted {:?}", faults(&project)));
        }
        wrong.repair();
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A typed command is ours, so it fails when we do, and says so.
#[test]
fn a_fault_stops_a_typed_command() {
    let project = planned();
    let session = impatient(&project, "s");
    let Some(lock) = Lock::hold(&project, true) else {
        return;
    };
    for prompt in ["/plan-chapter 2", "/approve-plan act 1"] {
        let answer = session.prompt(prompt);
        ended_well(prompt, &answer);
        let reason = answer
            .block()
            .unwrap_or_else(|| panic!("{prompt}: {answer:?}"));
        assert!(reason.contains(NOT_A_RULE), "{reason}");
    }
    let answer = session.prompt("/compact");
    ended_well("/compact", &answer);
    assert_eq!(answer.block(), None);
    drop(lock);
}

#[test]
fn a_fault_is_told_once_at_the_next_contact() {
    type Contact = fn(&Session<'_>) -> Answer;
    let contacts: [(&str, Contact); 2] = [
        ("a start", |session| session.start("startup")),
        ("a prompt", |session| session.prompt("go on")),
    ];
    for (name, contact) in contacts {
        let project = planned();
        let session = project.session("s");
        let wrong = break_settings(&project, "this is not TOML");
        for _ in 0..3 {
            ended_well(name, &may_write(&project, &session, CHAPTER_2));
        }
        wrong.repair();
        let told = contact(&session).context().unwrap_or_default();
        assert!(
            told.contains("3 checks could not be made"),
            "{name}: {told}"
        );
        assert!(told.contains("tl host doctor"), "{name}: {told}");
        for _ in 0..2 {
            let again = contact(&session).context().unwrap_or_default();
            assert!(
                !again.contains("could not be made"),
                "{name}, again: {again}"
            );
        }
        assert_eq!(faults(&project).len(), 3, "{name}: the ledger keeps them");
    }
}

/// Only what was really told may be forgotten.
#[test]
fn a_fault_is_not_forgotten_by_an_event_that_does_not_tell_it() {
    type Between = fn(&Project, &Session<'_>) -> Answer;
    let between: [(&str, Between); 4] = [
        ("the parent's plan is given", |project, session| {
            may_write(project, session, CHAPTER_2)
        }),
        ("a command's effects are told", |_, session| {
            session.shell(&format!("echo more >> {}", Project::ACT))
        }),
        ("a compaction", |_, session| {
            session.event("PreCompact", json!({ "trigger": "auto" }))
        }),
        ("a refused command", |_, session| {
            session.prompt("/plan-chapter 77777")
        }),
    ];
    let mut failed = Vec::new();
    for (name, happens) in between {
        let project = planned();
        let session = project.session("s");
        let wrong = break_settings(&project, "this is not TOML");
        ended_well(name, &may_write(&project, &session, CHAPTER_2));
        wrong.repair();
        let first = happens(&project, &session);
        ended_well(name, &first);
        let told = first.context().unwrap_or_default() + &first.block().unwrap_or_default();
        let later = session.prompt("go on").context().unwrap_or_default();
        if !told.contains("could not be made") && !later.contains("could not be made") {
            failed.push(format!("{name}: forgotten without having been told"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// What could not be seen while something was wrong is seen as soon as it is right again.
#[test]
fn what_a_fault_hid_is_made_up_for() {
    let project = planned();
    let session = impatient(&project, "s");
    let Some(lock) = Lock::hold(&project, false) else {
        return;
    };
    let answer = session.shell(&format!("echo more >> {}", Project::ACT));
    assert!(answer.is_silent(), "{answer:?}");
    assert_eq!(faults(&project).len(), 1, "{:?}", faults(&project));
    drop(lock);
    let told = session.prompt("go on").context().unwrap_or_default();
    assert!(told.contains("1 check could not be made"), "{told}");
    assert!(told.contains("changed: act-1"), "{told}");
    assert_eq!(project.status("scene-0101"), "requires-revalidation");
}

/// Another process writes; reading goes on all the while.
#[test]
fn while_somebody_else_writes_the_gates_are_asked_all_the_same() {
    let project = planned();
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.ok(&["status"]);
    let session = impatient(&project, "s");
    let Some(lock) = Lock::hold(&project, false) else {
        return;
    };
    let answer = may_write(&project, &session, "acts/act-2/chapters/chapter-01/plan.md");
    let reason = answer.block().expect("the second act is a draft");
    assert!(
        reason.contains("(hierarchy gate)") && !reason.contains("fault"),
        "{reason}"
    );
    let answer = may_write(&project, &session, Project::ACT);
    assert!(
        answer
            .block()
            .is_some_and(|reason| reason.contains("has not read it")),
        "{answer:?}"
    );
    drop(lock);
}

/// The gates were asked and have nothing against it; that a note cannot be kept is no reason to stop.
#[test]
fn a_note_that_cannot_be_kept_stops_nothing() {
    let project = planned();
    let session = impatient(&project, "s");
    let _ = session.read(Project::CHAPTER);
    let Some(lock) = Lock::hold(&project, false) else {
        return;
    };
    let answer = may_write(&project, &session, Project::CHAPTER);
    ended_well("read before", &answer);
    assert_eq!(answer.block(), None, "it was read, and the act is approved");
    drop(lock);
}

/// The act is edited, and the state cannot say so: a child is stopped, or at least it is noted that nobody knew.
#[test]
fn an_approval_of_another_text_does_not_count_while_nothing_can_be_recorded() {
    let project = planned();
    let session = impatient(&project, "s");
    let _ = session.read(Project::ACT);
    let Some(lock) = Lock::hold(&project, false) else {
        return;
    };
    project.write(Project::ACT, crate::ACT_EDITED);
    let answer = may_write(&project, &session, CHAPTER_2);
    ended_well("a child of a changed act", &answer);
    assert!(
        answer.block().is_some() || !faults(&project).is_empty(),
        "the old approval counted, and nobody knows"
    );
    drop(lock);
}

/// A plan was changed externally since it was read: overwriting it would lose that.
#[test]
fn a_plan_that_changed_is_not_overwritten_while_nothing_can_be_recorded() {
    let project = planned();
    let session = impatient(&project, "s");
    let _ = session.read(Project::ACT);
    let Some(lock) = Lock::hold(&project, false) else {
        return;
    };
    project.write(Project::ACT, crate::ACT_EDITED);
    let answer = may_write(&project, &session, Project::ACT);
    ended_well("a changed plan", &answer);
    assert!(
        answer.block().is_some(),
        "an external edit would be lost silently: {:?}",
        faults(&project)
    );
    drop(lock);
}

#[expect(
    clippy::disallowed_methods,
    reason = "there is no other way to make a file that hangs"
)]
fn made_fifo(path: &std::path::Path) -> bool {
    Command::new("mkfifo")
        .arg(path)
        .status()
        .is_ok_and(|status| status.success())
}

/// A disk that hangs must not hang the agent: here a file of git never gives an answer.
#[test]
fn a_hook_that_does_not_come_to_an_end_gives_up() {
    let project = planned();
    assert!(project.shell("git init -q ."));
    let head = project.root().join(".git/HEAD");
    fs::remove_file(&head).expect("removed");
    if !made_fifo(&head) {
        return;
    }
    let session = project
        .session("s")
        .with_environment("THROUGHLINE_HOOK_DEADLINE_MS", "60");
    let answer = may_write(&project, &session, CHAPTER_2);
    ended_well("a new plan", &answer);
    assert!(answer.is_silent(), "{answer:?}");
    let noted = faults(&project);
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert_eq!(noted[0]["fault"], "it took longer than 60 ms");
}

/// Our own files are regular ones: anything else is refused, and nothing waits for it.
#[test]
fn settings_that_are_no_regular_file_are_a_fault() {
    let project = planned();
    let settings = state(&project, "config.toml");
    fs::remove_file(&settings).expect("removed");
    if !made_fifo(&settings) {
        return;
    }
    let answer = may_write(&project, &project.session("s"), CHAPTER_2);
    ended_well("a new plan", &answer);
    let noted = faults(&project);
    assert_eq!(noted.len(), 1, "{noted:?}");
    let fault = noted[0]["fault"].as_str().unwrap_or_default();
    assert!(fault.contains("is not a regular file"), "{fault}");
}

#[test]
fn gates_named_in_the_settings_are_closed_by_a_fault() {
    let project = planned();
    project.configure("policy.gates.fail_closed", "[\"hierarchy\"]");
    let session = impatient(&project, "s");
    let Some(lock) = Lock::hold(&project, true) else {
        return;
    };
    let reason = may_write(&project, &session, CHAPTER_2)
        .block()
        .expect("closed");
    assert!(
        reason.contains("hierarchy gate") && reason.contains(NOT_A_RULE),
        "{reason}"
    );
    assert!(
        may_write(&project, &session, Project::ACT).is_silent(),
        "the other one is open now, and it has no parent"
    );
    drop(lock);
}

#[test]
fn a_gate_that_there_is_not_cannot_be_closed() {
    let project = planned();
    project.configure("policy.gates.fail_closed", "[\"read_before_write\"]");
    let output = project.run(&["status"]);
    assert_eq!(
        output.code, 1,
        "a typo here would open a gate in silence: {}",
        output.stdout
    );
    assert!(output.stderr.contains("fail_closed"), "{}", output.stderr);
}

#[test]
fn nonsense_on_standard_input_passes_and_is_noted() {
    let deep = "[".repeat(200_000);
    let inputs: [(&str, &[u8]); 10] = [
        ("nothing", b""),
        ("blanks", b" \n "),
        ("a word", b"nonsense"),
        ("null", b"null"),
        ("a list", b"[]"),
        ("a text", b"\"PreToolUse\""),
        (
            "half of it",
            b"{\"hook_event_name\": \"PreToolUse\", \"tool_input\": {",
        ),
        ("two of them", b"{} {}"),
        ("not UTF-8", b"{\"hook_event_name\": \"\xff\xfe\"}"),
        ("too deep", deep.as_bytes()),
    ];
    for host in [
        "claude-code",
        "cursor",
        "opencode",
        "codex",
        "gemini",
        "copilot",
    ] {
        let project = planned();
        // One host is enough for the others.
        let inputs = if host == "claude-code" {
            &inputs[..]
        } else {
            &inputs[..4]
        };
        for (index, (what, input)) in inputs.iter().enumerate() {
            let answer = project.hook_bytes(&[host], input, &[]);
            assert!(answer.is_silent(), "{host}, {what}: {answer:?}");
            let noted = faults(&project);
            assert_eq!(noted.len(), index + 1, "{host}, {what}: {noted:?}");
            let line = noted.last().expect("a line");
            assert_eq!(line["host"], host);
            assert!(
                line["fault"]
                    .as_str()
                    .is_some_and(|why| why.contains("could not be read")),
                "{host}, {what}: {line}"
            );
        }
        let told = project
            .session("s")
            .start("startup")
            .context()
            .unwrap_or_default();
        assert!(
            told.contains(&format!("{} checks could not be made", inputs.len())),
            "{host}: {told}"
        );
    }
}

#[test]
fn an_object_that_is_no_event_passes_and_is_no_fault() {
    let project = planned();
    for payload in [
        json!({}),
        json!({ "hook_event_name": 7 }),
        json!({ "hook_event_name": "Later" }),
        json!({ "a": {} }),
    ] {
        assert!(project.hook(&payload).is_silent(), "{payload}");
    }
    assert_eq!(faults(&project), Vec::<Value>::new());
    // A mark at the beginning, as some programs on Windows write it, is no nonsense.
    let payload = project
        .session("s")
        .payload("SessionStart", json!({ "source": "startup" }))
        .to_string();
    let answer = project.hook_bytes(
        &["claude-code"],
        format!("\u{feff}{payload}").as_bytes(),
        &[],
    );
    assert!(answer.context().is_some(), "{answer:?}");
}

#[test]
fn an_unknown_host_is_a_mistake_in_the_settings_and_told_to_who_made_it() {
    let project = planned();
    for arguments in [&["nope"][..], &[], &["Claude-Code"], &["claude"]] {
        let answer = project.hook_bytes(arguments, b"{}", &[]);
        assert_eq!(
            (answer.code, answer.stdout.as_str()),
            (1, ""),
            "{arguments:?}"
        );
        assert!(
            answer.stderr.contains("expected `tl hook HOST [EVENT]`"),
            "{arguments:?}: {}",
            answer.stderr
        );
        assert!(
            answer
                .stderr
                .contains("claude-code, cursor, opencode, codex, gemini, copilot"),
            "{}",
            answer.stderr
        );
    }
}

#[test]
fn state_that_came_from_elsewhere_is_told_and_stops_plan_writes_only() {
    let project = planned();
    // Another user's home: this state was never seen here.
    let home = project.root().with_file_name("another-home");
    let session = project
        .session("s")
        .with_environment("THROUGHLINE_HOME", home.to_str().expect("Unicode"));
    let told = |answer: &Answer| {
        answer
            .context()
            .is_some_and(|text| text.contains("tl state adopt"))
    };
    assert!(
        told(&session.prompt("go on")),
        "once in a session that was not seen to start"
    );
    let reminder = session.prompt("go on");
    assert!(told(&reminder), "and, in one line, at every prompt");
    assert_eq!(
        reminder.context().map(|text| text.lines().count()),
        Some(1),
        "{reminder:?}"
    );
    let answers = [
        session.after("Bash", &json!({ "command": "make" })),
        session.stop(),
    ];
    assert!(answers.iter().all(Answer::is_silent), "{answers:?}");
    let started = session.start("startup");
    assert!(told(&started), "and whenever one starts");
    assert!(
        started.stdout.contains("systemMessage"),
        "also to the person: {started:?}"
    );
    assert!(may_write(&project, &session, "src/a.rs").is_silent());
    let refusals = [
        may_write(&project, &session, CHAPTER_2),
        may_write(&project, &session, CHAPTER_2),
    ];
    for answer in refusals
        .into_iter()
        .chain([session.prompt("/approve-plan act 1")])
    {
        ended_well("a clone", &answer);
        let reason = answer
            .block()
            .unwrap_or_else(|| panic!("passed: {answer:?}"));
        assert!(
            reason.contains("not adopted")
                && reason.contains("ask the person to run `tl state adopt`"),
            "{reason}"
        );
    }
    assert_eq!(
        faults(&project),
        Vec::<Value>::new(),
        "nobody else has to hear of it"
    );
    assert!(
        !project
            .session("mine")
            .start("startup")
            .context()
            .unwrap_or_default()
            .contains("tl state adopt")
    );
    // There is no home at all.
    let session = project
        .session("s")
        .with_environment("THROUGHLINE_HOME", "");
    for answer in [
        session.start("startup"),
        session.prompt("go on"),
        session.stop(),
    ] {
        ended_well("no home", &answer);
        assert_eq!(answer.block(), None);
        assert!(answer.stdout.contains("set THROUGHLINE_HOME"), "{answer:?}");
    }
}

#[test]
fn a_file_where_the_ledger_should_be_stops_nothing() {
    let project = planned();
    fs::create_dir(state(&project, "hooks.jsonl")).expect("a folder");
    fs::create_dir(state(&project, "hook-faults")).expect("a folder");
    let session = project.session("s");
    ended_well(
        "nonsense",
        &project.hook_bytes(&["claude-code"], b"nonsense", &[]),
    );
    assert!(session.start("startup").context().is_some());
    let (before, after) = session.write(CHAPTER_2, "# Chapter 2\n");
    assert_eq!(before.block(), None);
    assert!(after.is_some_and(|after| after.context().is_some()));
}

// Disks.

/// A small file system of its own at a project's directory.
struct SmallDisk {
    at: PathBuf,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test mounts its own small disk"
)]
pub(crate) fn run(program: &str, arguments: &[&str], at: &std::path::Path) -> bool {
    Command::new(program)
        .args(arguments)
        .arg(at)
        .output()
        .is_ok_and(|output| output.status.success())
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &[], &self.at);
    }
}

/// Needs the right to mount; where there is none, nothing is shown and nothing fails.
#[test]
fn a_full_or_read_only_disk_stops_nobody() {
    let project = crate::empty();
    if !run(
        "mount",
        &["-t", "tmpfs", "-o", "size=900k", "tmpfs"],
        &project.root(),
    ) {
        return;
    }
    let disk = SmallDisk { at: project.root() };
    project.ok(&["init"]);
    project.plan_story();
    let session = project.session("s");
    let _ = session.read(Project::ACT);
    let all = |what: &str| {
        let chapter =
            json!({ "file_path": project.root().join(CHAPTER_2), "content": "# Chapter 2\n" });
        let answers = [
            session.start("startup"),
            session.prompt("go on"),
            session.before("Write", &chapter),
            session.after("Write", &chapter),
            session.after("Bash", &json!({ "command": "true" })),
            session.stop(),
        ];
        for answer in &answers {
            ended_well(what, answer);
            assert_eq!(answer.block(), None, "{what}");
        }
        // What can be known is known: this session has not read the scene.
        let answer = may_write(&project, &session, Project::SCENE);
        ended_well(what, &answer);
        assert!(answer.block().is_some(), "{what}: {answer:?}");
    };
    let filler = project.root().join("filler");
    let mut file = fs::File::create(&filler).expect("room for a name");
    assert!(std::io::Write::write_all(&mut file, &vec![0; 2_000_000]).is_err());
    drop(file);
    all("full");
    fs::remove_file(&filler).expect("removed");
    assert!(run("mount", &["-o", "remount,ro"], &disk.at));
    all("read-only");
}

/// The superuser is not bound by permissions: then there is nothing to see here.
#[test]
fn a_folder_that_may_not_be_written_stops_nobody() {
    use std::os::unix::fs::PermissionsExt;
    let project = planned();
    let folder = state(&project, "");
    let writable = fs::metadata(&folder).expect("a folder").permissions();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("permissions");
    let bound = fs::File::create(folder.join("probe")).is_err();
    let session = project.session("s");
    let answers = [
        session.start("startup"),
        session.prompt("go on"),
        may_write(&project, &session, CHAPTER_2),
        session.stop(),
    ];
    fs::set_permissions(&folder, writable).expect("permissions");
    for answer in answers.iter().filter(|_| bound) {
        ended_well("read-only", answer);
        assert_eq!(answer.block(), None);
    }
}

#[test]
fn a_host_without_context_at_prompts_is_told_of_a_foreign_state_by_its_next_call() {
    let project = planned();
    let home = project.root().with_file_name("another-home");
    let session = project
        .session_of("cursor", "s")
        .with_environment("THROUGHLINE_HOME", home.to_str().expect("Unicode"));
    let input = json!({ "command": "make" });
    for _ in 0..2 {
        let prompt = session.event("beforeSubmitPrompt", json!({ "prompt": "go on" }));
        assert_eq!(prompt.context(), None, "the host drops it");
        let told = [
            session.after("Shell", &input),
            session.after("Shell", &input),
        ];
        let told = told.map(|answer| answer.context().unwrap_or_default());
        assert!(told[0].contains("`tl state adopt`"), "{told:?}");
        assert_eq!(told[1], "", "once for each prompt");
    }
}
