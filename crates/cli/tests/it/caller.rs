//! Whose session a command belongs to, with real processes: a stand-in for a host, which runs hooks and shells.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use testkit::Project;

use crate::{as_session, binary, empty, text};

/// A host's process: it runs what it is told, one line after the other, as children of its own.
///
/// It is a shell under another name, so that it is known by nothing but its process.
struct StandInHost {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl StandInHost {
    fn start(project: &Project, environment: &[(&str, &str)]) -> Self {
        let program = project.user_directory().join("stand-in-host");
        if !program.exists() {
            std::fs::create_dir_all(project.user_directory()).unwrap();
            std::fs::copy(std::fs::canonicalize("/bin/sh").unwrap(), &program).unwrap();
        }
        let mut command = project.command_of(&program);
        command
            .envs(environment.iter().copied())
            .env("TL", binary());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (
            child.stdin.take(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        Self {
            child,
            input,
            output,
        }
    }

    /// Runs a line; returns what it wrote and how it ended.
    fn run(&mut self, line: &str) -> (String, i32) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}\necho \"::ended $?\"").unwrap();
        let mut written = String::new();
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "the host ended: {written}"
            );
            if let Some((before, code)) = line.split_once("::ended ") {
                written.push_str(before);
                return (written, code.trim().parse().unwrap());
            }
            written.push_str(&line);
        }
    }

    fn hook(&mut self, host: &str, event: &str, payload: &Value) {
        let (written, code) = self.run(&format!(
            "printf '%s' {} | \"$TL\" hook {host} {event}",
            quoted(&payload.to_string())
        ));
        assert_eq!(code, 0, "{written}");
    }
}

impl Drop for StandInHost {
    fn drop(&mut self) {
        // At the end of its input it ends.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The program's path, as a command line has it.
fn program() -> String {
    quoted(binary().to_str().unwrap())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A host: its name, how its events are called, its shell tool, and a variable it sets in every command.
struct HostWords {
    host: &'static str,
    start: &'static str,
    shell: &'static str,
    mark: &'static str,
    session: Option<&'static str>,
}

const HOSTS: [HostWords; 6] = [
    HostWords {
        host: "claude-code",
        start: "SessionStart",
        shell: "Bash",
        mark: "CLAUDECODE",
        session: Some("CLAUDE_CODE_SESSION_ID"),
    },
    HostWords {
        host: "codex",
        start: "SessionStart",
        shell: "Bash",
        mark: "CODEX_SANDBOX",
        session: Some("CODEX_SESSION_ID"),
    },
    HostWords {
        host: "gemini",
        start: "SessionStart",
        shell: "run_shell_command",
        mark: "GEMINI_CLI",
        session: Some("GEMINI_SESSION_ID"),
    },
    HostWords {
        host: "copilot",
        start: "sessionStart",
        shell: "bash",
        mark: "COPILOT_CLI",
        session: Some("COPILOT_AGENT_SESSION_ID"),
    },
    HostWords {
        host: "cursor",
        start: "sessionStart",
        shell: "Shell",
        mark: "CURSOR_AGENT",
        session: Some("THROUGHLINE_SESSION"),
    },
    HostWords {
        host: "opencode",
        start: "experimental.chat.system.transform",
        shell: "bash",
        mark: "OPENCODE",
        session: Some("THROUGHLINE_SESSION"),
    },
];

impl HostWords {
    fn start(&self, project: &Project, process: &mut StandInHost, session: &str) {
        let fields = match self.host {
            "opencode" => {
                json!({ "input": { "sessionID": session, "model": {} }, "output": { "system": ["You help."] } })
            }
            _ => json!({ "source": "startup" }),
        };
        let payload = project
            .session_of(self.host, session)
            .payload(self.start, fields);
        process.hook(self.host, self.start, &payload);
    }

    /// The hook before a shell command (or after it).
    fn shell_call(
        &self,
        project: &Project,
        process: &mut StandInHost,
        session: &str,
        before: bool,
        command: &str,
    ) {
        let session = project.session_of(self.host, session);
        let (name, fields) = session.call(before, self.shell, &json!({ "command": command }));
        let payload = session.payload(name, fields);
        process.hook(self.host, name, &payload);
    }
}

/// Ways to run a command of ours from an agent's shell; `ARGS` are its arguments, `PROGRAM` is its path.
const WAYS: [&str; 9] = [
    "tl ARGS",
    "PROGRAM ARGS",
    "env X=1 tl ARGS",
    "X=1 tl ARGS",
    "(tl ARGS)",
    "bash -lc 'PATH=\"$OWN_PATH\"; tl ARGS'",
    "cd . && tl ARGS && true",
    "printf 'tl ARGS\\n' > own-script.sh && sh ./own-script.sh",
    "shopt -s expand_aliases\nalias ours=tl\nours ARGS",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// What one session did, as it should be found.
#[derive(Default)]
struct Model {
    intents: Vec<String>,
    pending: Option<(String, String)>,
}

/// Runs two sessions at random against one another, and compares what was recorded of each.
fn interleave(host: &HostWords, seed: u64, one_process: bool, tells: bool) {
    let project = empty();
    project.ok(&["init", "--profile", "trail"]);
    let sessions = [
        format!("{}-a-{seed}", host.host),
        format!("{}-b-{seed}", host.host),
    ];
    let shims = project.user_directory().join("bin");
    std::fs::create_dir_all(&shims).unwrap();
    std::os::unix::fs::symlink(binary(), shims.join("tl")).unwrap();
    let path = format!("{}:/usr/bin:/bin", shims.display());
    let mut processes: Vec<StandInHost> = Vec::new();
    for session in sessions.iter().take(if one_process { 1 } else { 2 }) {
        let mut environment = vec![
            (host.mark, "1"),
            ("PATH", path.as_str()),
            ("OWN_PATH", path.as_str()),
        ];
        environment.extend(
            host.session
                .filter(|_| tells)
                .map(|name| (name, session.as_str())),
        );
        processes.push(StandInHost::start(&project, &environment));
    }
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut models = [Model::default(), Model::default()];
    for (index, session) in sessions.iter().enumerate() {
        let process = if one_process { 0 } else { index };
        host.start(&project, &mut processes[process], session);
    }
    for step in 0..14 {
        let index = random.below(2);
        let (session, process) = (&sessions[index], if one_process { 0 } else { index });
        match models[index].pending.take() {
            None => {
                let made = format!("aim {index} {step}");
                let words = format!("intent \"{made}\"");
                // One process for both sessions: only a command that hooks saw as it runs tells them apart.
                let ways = if one_process { &WAYS[..7] } else { &WAYS[..] };
                let way = ways[random.below(ways.len())]
                    .replace("ARGS", &words)
                    .replace("PROGRAM", &program());
                let way = if one_process {
                    format!("{way} # {session}")
                } else {
                    way
                };
                host.shell_call(&project, &mut processes[process], session, true, &way);
                models[index].pending = Some((way, made));
            }
            Some((command, made)) => {
                let (written, code) = processes[process]
                    .run(&format!("bash -c {} 2>&1 < /dev/null", quoted(&command)));
                assert_eq!(code, 0, "{}: {command}: {written}", host.host);
                host.shell_call(&project, &mut processes[process], session, false, &command);
                models[index].intents.push(made);
            }
        }
    }
    let log = project.json(&["log", "--limit", "500"]);
    for (session, model) in sessions.iter().zip(&models) {
        let by = format!("agent:{}/{session}", host.host);
        let mut found: Vec<String> = Vec::new();
        for operation in log
            .as_array()
            .unwrap()
            .iter()
            .filter(|operation| text(operation, "by") == by)
        {
            if text(operation, "channel") == "cli" && text(operation, "summary").contains("aim ") {
                found.push(text(operation, "summary").to_owned());
            }
        }
        found.reverse();
        assert_eq!(
            found.len(),
            model.intents.len(),
            "{by}: {found:?} {:?}\n{log}",
            model.intents
        );
        for (found, made) in found.iter().zip(&model.intents) {
            assert!(found.contains(made.as_str()), "{by}: {found} {made}");
        }
    }
    // Nobody else did anything but look.
    for operation in log.as_array().unwrap() {
        let is_aim = text(operation, "summary").contains("aim ");
        let known = sessions
            .iter()
            .any(|session| text(operation, "by") == format!("agent:{}/{session}", host.host));
        assert!(!is_aim || known, "{operation}");
    }
}

#[test]
fn two_sessions_of_every_host_in_two_processes_keep_their_own() {
    for (seed, host) in (1..).zip(&HOSTS) {
        interleave(host, seed, false, false);
        interleave(host, seed + 20, false, true);
    }
}

#[test]
fn two_sessions_in_one_host_process_keep_their_own() {
    for (seed, host) in (40..).zip(&HOSTS) {
        interleave(host, seed, true, false);
    }
}

/// Focus and claims, as the finding has it: both hooks come before both commands.
#[test]
fn the_second_hook_does_not_take_the_first_sessions_command() {
    for host in &HOSTS {
        for one_process in [false, true] {
            let project = crate::tickets();
            let mut processes = [(); 2].map(|()| StandInHost::start(&project, &[(host.mark, "1")]));
            host.start(&project, &mut processes[0], "a");
            let commands = ["017a", "045"]
                .map(|ticket| format!("{0} focus enter {ticket} && {0} claim {ticket}", program()));
            let of = |session: usize| if one_process { 0 } else { session };
            host.start(&project, &mut processes[of(1)], "b");
            for (index, session) in ["a", "b"].into_iter().enumerate() {
                host.shell_call(
                    &project,
                    &mut processes[of(index)],
                    session,
                    true,
                    &commands[index],
                );
            }
            for (index, command) in commands.iter().enumerate() {
                let (written, code) = processes[of(index)]
                    .run(&format!("bash -c {} 2>&1 < /dev/null", quoted(command)));
                assert_eq!(code, 0, "{}: {written}", host.host);
            }
            for (session, ticket) in [("a", "017a"), ("b", "045")] {
                let line = as_session(&project, session, &["where", "--flat"]).stdout;
                assert!(
                    line.contains(ticket),
                    "{} {one_process} {session}: {line}",
                    host.host
                );
                let log = project.json(&["log", "--limit", "500"]);
                let claim = log.as_array().unwrap().iter().find(|operation| {
                    text(operation, "verb") == "claim"
                        && text(operation, "summary").contains(ticket)
                });
                let by = claim.map(|claim| text(claim, "by").to_owned());
                assert_eq!(by, Some(format!("agent:{}/{session}", host.host)), "{log}");
            }
        }
    }
}

/// The same command of two sessions at once, in one process: nobody can tell whose it is, so it is nobody's.
#[test]
fn a_call_that_two_sessions_of_a_process_made_is_given_to_neither() {
    let project = crate::tickets();
    let host = &HOSTS[1];
    let mut process = StandInHost::start(&project, &[(host.mark, "1")]);
    let command = &format!("{} focus enter 045", program());
    for session in ["a", "b"] {
        host.start(&project, &mut process, session);
        host.shell_call(&project, &mut process, session, true, command);
    }
    let (written, code) = process.run(&format!("bash -c {} 2>&1 < /dev/null", quoted(command)));
    assert_eq!(code, 0, "{written}");
    for session in ["a", "b"] {
        let line = as_session(&project, session, &["where", "--flat"]).stdout;
        assert!(!line.contains("045"), "{session}: {line}");
    }
    // It is known all the same that the host's process ran it.
    let (written, _) = process.run("\"$TL\" where --flat");
    assert!(written.contains("045"), "{written}");
}

/// A host that is started within another inherits its variables: the nearer one is the caller.
#[test]
fn a_host_within_a_host_is_the_caller() {
    let project = crate::tickets();
    let (outer, inner) = (&HOSTS[0], &HOSTS[1]);
    let mut process = StandInHost::start(
        &project,
        &[
            (outer.mark, "1"),
            ("CLAUDE_CODE_SESSION_ID", "outer"),
            (inner.mark, "1"),
        ],
    );
    inner.start(&project, &mut process, "inner");
    let (written, code) = process.run("\"$TL\" focus enter 045 2>&1 < /dev/null");
    assert_eq!(code, 0, "{written}");
    assert!(
        as_session(&project, "inner", &["where", "--flat"])
            .stdout
            .contains("045")
    );
    assert_eq!(
        text(&project.json(&["log", "--limit", "1"])[0], "by"),
        "agent:codex/inner"
    );
}

/// Once the session is over, its process serves nobody.
#[test]
fn a_session_that_ended_is_nobodys_host() {
    let project = crate::tickets();
    let host = &HOSTS[1];
    let mut process = StandInHost::start(&project, &[(host.mark, "1")]);
    host.start(&project, &mut process, "a");
    let payload = project
        .session_of(host.host, "a")
        .payload("SessionEnd", json!({ "reason": "other" }));
    process.hook(host.host, "SessionEnd", &payload);
    let (written, code) = process.run("\"$TL\" focus enter 045 2>&1 < /dev/null");
    assert_eq!(code, 0, "{written}");
    assert_eq!(
        text(&project.json(&["log", "--limit", "1"])[0], "by"),
        "agent:codex/unknown"
    );
}
