//! A long session on a feature with two children and five scenarios, with a compaction, an amended
//! commit and a merged branch, and the session of the next day: what their hooks tell an agent, word for
//! word, what that costs in tokens, and that none of it is blocked.

use std::time::Duration;

use serde_json::json;
use testkit::{Answer, Project, Session};

use crate::{as_session, empty};

/// Maximum number of tokens that the hooks of the session may add, at four characters each.
const MAX_TOKENS: usize = 1_500;

/// A session that counts its calls and what it is told.
struct CountedSession<'p> {
    project: &'p Project,
    session: Session<'p>,
    calls: usize,
    /// The number of the call, and what was said.
    told: Vec<(usize, String)>,
    /// Whether commits are made in seconds of their own.
    is_slow: bool,
}

impl CountedSession<'_> {
    fn hear(&mut self, answer: &Answer) {
        assert_eq!(answer.block(), None, "call {}", self.calls);
        let context = answer.context().into_iter();
        self.told.extend(context.map(|text| (self.calls, text)));
    }

    /// Writes a file, with the hooks before and after.
    fn write(&mut self, path: &str, text: &str) {
        self.calls += 1;
        let (before, after) = self.session.write(path, text);
        self.hear(&before);
        if let Some(after) = after {
            self.hear(&after);
        }
    }

    /// Reads a file, which leaves nothing to be told before it.
    fn read(&mut self, path: &str) {
        self.calls += 1;
        let after = self.session.read(path);
        self.hear(&after);
    }

    /// Runs a command line.
    fn run(&mut self, command: &str) {
        self.calls += 1;
        let input = json!({ "command": command, "description": "run a command" });
        let before = self.session.before("Bash", &input);
        self.hear(&before);
        assert!(self.project.shell(command), "{command}");
        let after = self.session.after("Bash", &input);
        self.hear(&after);
    }

    /// Runs `tl` in the agent's shell.
    fn tl(&mut self, arguments: &[&str]) {
        self.calls += 1;
        let command = format!("tl {}", arguments.join(" "));
        let input = json!({ "command": command, "description": "run a command" });
        let before = self.session.before("Bash", &input);
        self.hear(&before);
        as_session(self.project, "s", arguments);
        let after = self.session.after("Bash", &input);
        self.hear(&after);
    }

    /// Work on a branch from before the last scenario, which is merged.
    fn merge_side_branch(&mut self) {
        self.run("git checkout -q -b side HEAD~3");
        self.write("docs/loc.md", "# Lines\n");
        self.commit("docs: lines");
        self.run("git checkout -q main && git merge -q --no-edit side");
    }

    /// Another session begins, in which the person goes on with what is there.
    fn continue_next_day(&mut self) {
        let _ = self
            .session
            .event("SessionEnd", json!({ "reason": "exit" }));
        self.session = self.project.session("next-day");
        let start = self.session.start("startup");
        self.hear(&start);
        let prompt = self.session.prompt("continue where we left off");
        self.hear(&prompt);
    }

    fn commit(&mut self, message: &str) {
        if self.is_slow {
            std::thread::sleep(Duration::from_millis(1_050));
        }
        self.run(&format!("git add -A && git commit -q -m '{message}'"));
    }

    /// One scenario: a failing test, the code, a better form, each committed.
    fn build_scenario(&mut self, ticket: &str, scenario: &str, number: usize) {
        let (test, code) = (format!("tests/s{number}.rs"), format!("src/s{number}.rs"));
        self.tl(&["focus", "enter", &format!("{ticket}/{scenario}")]);
        self.write(&test, "#[test]\nfn holds() {}\n");
        self.commit(&format!("test: {scenario}"));
        self.write(&code, "pub fn hold() {}\n");
        self.run("ls src");
        self.commit(&format!("feat: {scenario}"));
        self.read(&code);
        self.write(&code, "pub fn hold() -> bool { true }\n");
        self.commit(&format!("refactor: {scenario}"));
        if self.is_slow {
            std::thread::sleep(Duration::from_millis(1_050));
        }
        self.tl(&["focus", "exit"]);
    }
}

#[test]
fn a_long_session_is_told_little_and_blocked_nowhere() {
    let project = empty();
    assert!(project.shell("git init -q -b main ."));
    project.ok(&["init", "--profile", "tickets"]);
    assert!(project.shell("git add -A && git commit -q -m 'chore: start'"));
    let mut session = CountedSession {
        session: project.session("s"),
        project: &project,
        calls: 0,
        told: Vec::new(),
        is_slow: false,
    };
    let start = session.session.start("startup");
    session.hear(&start);
    let prompt = session.session.prompt("build the quality monitoring");
    session.hear(&prompt);
    session.tl(&["ticket", "new", "Quality monitoring"]);
    session.tl(&["focus", "enter", "001"]);
    session.read("tickets/001-quality-monitoring/ticket.md");
    session.commit("docs: the ticket");
    for phase in ["define-behavior", "scenario-gate", "decomposition"] {
        session.tl(&["ticket", "phase", "001", phase]);
        session.commit(&format!("docs: {phase}"));
    }
    session.tl(&["ticket", "split", "001", "LOC tracking", "Phase gates"]);
    session.read("tickets/001-quality-monitoring/ticket.md");
    let mut number = 0;
    let scenarios = [("001a", "loc-tracking", 3), ("001b", "phase-gates", 2)];
    for (ticket, slug, count) in scenarios {
        let names: Vec<String> = (1..=count).map(|one| format!("case-{one}")).collect();
        let text: String = names
            .iter()
            .map(|name| format!("## Scenario: {name}\nGiven it\n\n"))
            .collect();
        session.write(
            &format!("tickets/{ticket}-{slug}/test-definitions.md"),
            &format!("# Tests\n\n{text}"),
        );
        session.commit(&format!("docs: scenarios of {ticket}"));
        session.tl(&["ticket", "phase", ticket, "implement"]);
        session.commit(&format!("docs: {ticket} begins"));
        for name in names {
            number += 1;
            // The times of commits have seconds, and after an amend they say what belongs to which
            // scenario: this one is not built within one.
            session.is_slow = number == 2;
            session.build_scenario(ticket, &name, number);
            if number == 2 {
                session.run("git commit -q --amend -m 'refactor: case-2 with a better name'");
            }
            if number == 3 {
                let _ = session
                    .session
                    .event("PreCompact", json!({ "trigger": "auto" }));
                let compacted = session.session.start("compact");
                session.hear(&compacted);
            }
        }
        if ticket == "001a" {
            session.merge_side_branch();
        }
        session.tl(&["ticket", "phase", ticket, "done"]);
    }
    for node in ["001a", "001b"] {
        let shown = project.json(&["show", node]);
        assert_eq!(shown["progress"], json!("complete"), "{shown}");
    }
    session.continue_next_day();
    let characters: usize = session
        .told
        .iter()
        .map(|(_, told)| told.chars().count())
        .sum();
    assert_eq!(session.calls, 77);
    let lines = session.told.iter();
    let lines: Vec<String> = lines
        .map(|(call, told)| format!("[{call}] {told}"))
        .collect();
    insta::assert_snapshot!("long_session", lines.join("\n"));
    assert!(
        characters / 4 <= MAX_TOKENS,
        "{} tokens in {} calls:\n{}",
        characters / 4,
        session.calls,
        lines.join("\n---\n")
    );
}
